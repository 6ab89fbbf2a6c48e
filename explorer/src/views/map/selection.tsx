/** The rows inside a lasso. */
import { count, plural } from "../../core/format";
import { classColour } from "../../core/palette";
import { useShade } from "../../core/theme";
import type { ModelInfo } from "../../core/types";

/** More rows are no labels given by hand. */
const MOST_LABELLED = 10_000;

export function Selection(props: {
  model: ModelInfo;
  rows: number[];
  classes: Float32Array;
  onClear: () => void;
  onMark: (rows: number[], value: string | null) => void;
  onRow: (row: number) => void;
}) {
  const { model, rows } = props;
  const shade = useShade();
  const counts = model.classes.map(() => 0);
  for (const row of rows) counts[props.classes[row]]++;
  const top = counts
    .map((c, k) => [k, c] as const)
    .filter(([, c]) => c > 0)
    .sort((a, b) => b[1] - a[1]);
  return (
    <section class="selection" aria-labelledby="selection-heading">
      <header>
        <h2 id="selection-heading">{plural(rows.length, "row")} selected</h2>
        <button type="button" class="quiet" onClick={props.onClear}>
          Clear
        </button>
      </header>
      <ul class="probabilities">
        {top.slice(0, 6).map(([k, c]) => (
          <li key={k}>
            <span class="name">{model.classes[k]}</span>
            <span class="bar" aria-hidden="true">
              <i style={{ width: `${(100 * c) / rows.length}%`, background: classColour(k, shade) }} />
            </span>
            <span class="value">{count(c)}</span>
          </li>
        ))}
      </ul>
      {rows.length <= MOST_LABELLED && (
        <>
          <h3>Label all of them</h3>
          <div class="labels" role="group" aria-label="Label the selected rows">
            {model.classes.map((name, k) => (
              <button key={name} type="button" onClick={() => props.onMark(rows, name)}>
                <i class="dot" style={{ background: classColour(k, shade) }} />
                {name}
              </button>
            ))}
          </div>
        </>
      )}
      <p class="why">
        <button type="button" class="quiet" onClick={() => props.onRow(rows[0])}>
          Open row {rows[0]}
        </button>
      </p>
    </section>
  );
}
