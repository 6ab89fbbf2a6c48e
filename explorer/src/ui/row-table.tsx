/** The columns of a row. */
import { cell } from "../core/format";
import type { Row } from "../core/types";

export function RowTable(props: { row: Row }) {
  return (
    <table class="row">
      <tbody>
        {Object.entries(props.row).map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="figure">{cell(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
