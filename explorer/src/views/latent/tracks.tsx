/** A row of a table as one track per column: where the value is now, and where the path begins and ends. */
import { useMemo } from "preact/hooks";
import { cell } from "../../core/format";
import type { Cell, ModelInfo, PathPoint } from "../../core/types";

export function Tracks(props: { model: ModelInfo; points: PathPoint[]; at: number }) {
  const { model, points } = props;
  const names = useMemo(() => Object.keys(points[0].row ?? {}), [points]);
  const ranges = useMemo(() => names.map((name) => span(model, name, points)), [names, points]);
  const [first, now, last] = [points[0].row ?? {}, points[props.at].row ?? {}, points[points.length - 1].row ?? {}];
  return (
    <table class="tracks">
      <thead>
        <tr>
          <th scope="col">Column</th>
          <th scope="col">
            <span class="hidden">Place in the column's range</span>
          </th>
          <th scope="col" class="figure">
            Value
          </th>
        </tr>
      </thead>
      <tbody>
        {names.map((name, j) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="track">
              {ranges[j] && (
                <div>
                  <i class="from" style={{ left: place(first[name], ranges[j]!) }} />
                  <i class="to" style={{ left: place(last[name], ranges[j]!) }} />
                  <i class="here" style={{ left: place(now[name], ranges[j]!) }} />
                </div>
              )}
            </td>
            <td class="figure">{cell(now[name])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The range of a column: that of the data, widened to what the path reaches; `null` if it holds no numbers. */
function span(model: ModelInfo, name: string, points: PathPoint[]): [number, number] | null {
  const values = points.map((p) => p.row?.[name]).filter((v): v is number => typeof v === "number" && Number.isFinite(v));
  if (values.length === 0) return null;
  const column = model.columns.find((c) => c.name === name);
  const low = Math.min(...values, column?.min ?? Infinity);
  const high = Math.max(...values, column?.max ?? -Infinity);
  return high > low ? [low, high] : [low - 0.5, low + 0.5];
}

function place(value: Cell | undefined, [low, high]: [number, number]): string {
  if (typeof value !== "number" || !Number.isFinite(value)) return "0%";
  return `${(100 * (value - low)) / (high - low)}%`;
}
