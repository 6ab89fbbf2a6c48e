/** What the colours mean; classes can be shown and hidden. */
import { useEffect, useRef } from "preact/hooks";
import { count, short } from "../../core/format";
import { classColour, css, scale } from "../../core/palette";
import { useShade } from "../../core/theme";
import type { Range } from "../../scatter/numbers";

export function Legend(props: {
  name: string;
  categories: string[] | null;
  counts: number[] | null;
  range: Range;
  hidden: ReadonlySet<number> | null;
  onToggle: (k: number) => void;
}) {
  const shade = useShade();
  const ramp = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = ramp.current?.getContext("2d");
    if (!context) return;
    for (let i = 0; i < 128; i++) {
      context.fillStyle = css(scale(shade === "dark" ? 0.12 + (0.88 * i) / 127 : (0.94 * i) / 127));
      context.fillRect(i, 0, 1, 1);
    }
  }, [shade, props.categories === null]);
  if (props.categories === null) {
    return (
      <div class="ramp">
        <canvas ref={ramp} width={128} height={1} role="img" aria-label={`Colours of ${props.name}`} />
        <span>{short(props.range.low)}</span>
        <span>{short(props.range.high)}</span>
      </div>
    );
  }
  const { hidden } = props;
  return (
    <ul class="legend">
      {props.categories.slice(0, 24).map((name, k) => (
        <li key={k}>
          {hidden ? (
            <button
              type="button"
              class="quiet"
              aria-pressed={!hidden.has(k)}
              onClick={() => props.onToggle(k)}
              title={hidden.has(k) ? "Show" : "Hide"}
            >
              <i
                class={`dot${hidden.has(k) ? " off" : ""}`}
                style={{ background: hidden.has(k) ? "transparent" : classColour(k, shade), borderColor: classColour(k, shade) }}
              />
              <span class="name">{name}</span>
            </button>
          ) : (
            <span class="entry">
              <i class="dot" style={{ background: classColour(k, shade) }} />
              <span class="name">{name}</span>
            </span>
          )}
          {props.counts && <small>{count(props.counts[k])}</small>}
        </li>
      ))}
      {props.categories.length > 24 && <li class="why">and {props.categories.length - 24} more</li>}
    </ul>
  );
}
