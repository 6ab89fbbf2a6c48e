/** Class probabilities as bars; of many classes, the likeliest. */
import { percent } from "../core/format";
import { classColour } from "../core/palette";
import { useShade } from "../core/theme";

export function Probabilities(props: {
  classes: string[];
  values: number[];
  set?: string[] | null;
  most?: number;
  keepOrder?: boolean;
}) {
  const shade = useShade();
  const order = props.values.map((_, k) => k);
  if (!props.keepOrder) order.sort((a, b) => props.values[b] - props.values[a]);
  const shown = order.slice(0, props.most ?? (props.keepOrder ? order.length : 5));
  const rest = order.slice(shown.length).reduce((sum, k) => sum + props.values[k], 0);
  return (
    <ul class="probabilities">
      {shown.map((k) => (
        <li key={k} class={props.set?.includes(props.classes[k]) ? "plausible" : undefined}>
          <span class="name">{props.classes[k]}</span>
          <span class="bar" aria-hidden="true">
            <i style={{ width: `${100 * props.values[k]}%`, background: classColour(k, shade) }} />
          </span>
          <span class="value">{percent(props.values[k], 1)}</span>
        </li>
      ))}
      {order.length > shown.length && (
        <li class="rest">
          <span class="name">{order.length - shown.length} others</span>
          <span class="bar" />
          <span class="value">{percent(rest, 1)}</span>
        </li>
      )}
    </ul>
  );
}
