/** Class shares with their intervals. */
import { percent } from "../../core/format";
import { classColour } from "../../core/palette";
import { useShade } from "../../core/theme";

export function Shares(props: { classes: string[]; shares: number[]; intervals: [number, number][] }) {
  const shade = useShade();
  const top = Math.max(0.01, ...props.shares, ...props.intervals.map((i) => i[1]));
  return (
    <ul class="probabilities shares">
      {props.shares.map((share, k) => (
        <li key={k}>
          <span class="name">{props.classes[k]}</span>
          <span class="bar">
            <i style={{ width: `${(100 * share) / top}%`, background: classColour(k, shade) }} />
            {props.intervals[k] && (
              <b
                style={{
                  left: `${(100 * props.intervals[k][0]) / top}%`,
                  width: `${(100 * (props.intervals[k][1] - props.intervals[k][0])) / top}%`,
                }}
              />
            )}
          </span>
          <span class="value">{percent(share, 1)}</span>
        </li>
      ))}
      {props.intervals.length > 0 && <li class="rest">Lines are 95 % intervals.</li>}
    </ul>
  );
}
