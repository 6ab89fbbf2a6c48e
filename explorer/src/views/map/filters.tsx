/** Histograms to brush: drag over the bars, or move either end with the sliders below. */
import { useMemo, useRef } from "preact/hooks";
import { short } from "../../core/format";
import { useInk } from "../../core/theme";
import { useDrawing } from "../../plot/canvas";
import { type Range, histogram, rangeOf } from "../../scatter/numbers";
import { useSize } from "../../ui/hooks";

const BINS = 48;
const HEIGHT = 46;

export function HistogramFilter(props: {
  name: string;
  values: Float32Array | null;
  mask: Uint8Array | null;
  brush: Range | null;
  onBrush: (range: Range | null) => void;
  onRemove?: () => void;
}) {
  const [attach, { width }] = useSize<HTMLDivElement>();
  const ink = useInk();
  const from = useRef(0);
  const { values, mask, brush } = props;
  const range = useMemo(() => (values ? rangeOf(values, 0.001, 0.999) : { low: 0, high: 1 }), [values]);
  const all = useMemo(() => (values ? histogram(values, range, BINS, null) : null), [values, range]);
  const left = useMemo(() => (values && mask ? histogram(values, range, BINS, mask) : null), [values, range, mask]);
  const canvas = useDrawing(
    width,
    HEIGHT,
    (context) => {
      if (!all) return;
      const top = Math.max(1, ...all);
      const wide = width / BINS;
      const bar = (counts: Uint32Array, colour: string) => {
        context.fillStyle = colour;
        counts.forEach((n, b) => {
          const h = n === 0 ? 0 : Math.max(1, (n / top) * (HEIGHT - 2));
          context.fillRect(b * wide, HEIGHT - h, Math.max(1, wide - 1), h);
        });
      };
      bar(all, ink.line);
      bar(left ?? all, ink.quiet);
      if (!brush) return;
      const [a, b] = [toPixel(brush.low), toPixel(brush.high)];
      context.fillStyle = ink.text;
      context.globalAlpha = 0.09;
      context.fillRect(a, 0, b - a, HEIGHT);
      context.globalAlpha = 1;
      context.fillRect(a, 0, 1.5, HEIGHT);
      context.fillRect(b - 1.5, 0, 1.5, HEIGHT);
    },
    [all, left, brush, ink],
  );
  const span = range.high - range.low;
  const toPixel = (v: number) => Math.min(width, Math.max(0, ((v - range.low) / span) * width));
  const toValue = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    return range.low + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * span;
  };
  const set = (low: number, high: number) => {
    // The ends of the histogram stand for everything beyond them.
    const open = {
      low: low <= range.low + 1e-9 * span ? -Infinity : low,
      high: high >= range.high - 1e-9 * span ? Infinity : high,
    };
    props.onBrush(open.low === -Infinity && open.high === Infinity ? null : open);
  };
  const [low, high] = [Math.max(range.low, brush?.low ?? -Infinity), Math.min(range.high, brush?.high ?? Infinity)];
  return (
    <div class="filter">
      <div class="head">
        <span class="name">{props.name}</span>
        {brush ? (
          <button type="button" class="quiet" onClick={() => props.onBrush(null)}>
            {short(low)} to {short(high)} ×
          </button>
        ) : (
          props.onRemove && (
            <button type="button" class="quiet" onClick={props.onRemove}>
              Remove
            </button>
          )
        )}
      </div>
      <div ref={attach}>
        {values ? (
          <canvas
            ref={canvas}
            style={{ width: `${width}px`, height: `${HEIGHT}px` }}
            role="img"
            aria-label={`Histogram of ${props.name} from ${short(range.low)} to ${short(range.high)}`}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              from.current = toValue(event);
            }}
            onPointerMove={(event) => {
              if (event.buttons === 0) return;
              const to = toValue(event);
              if (Math.abs(to - from.current) > 0.01 * span) set(Math.min(from.current, to), Math.max(from.current, to));
            }}
            onPointerUp={(event) => Math.abs(toValue(event) - from.current) <= 0.01 * span && props.onBrush(null)}
          />
        ) : (
          <div class="loading" />
        )}
      </div>
      <div class="ends">
        <input
          type="range"
          aria-label={`${props.name}: at least`}
          min={range.low}
          max={range.high}
          step={span / 200}
          value={low}
          aria-valuetext={short(low)}
          onInput={(event) => set(Math.min(event.currentTarget.valueAsNumber, high), high)}
        />
        <input
          type="range"
          aria-label={`${props.name}: at most`}
          min={range.low}
          max={range.high}
          step={span / 200}
          value={high}
          aria-valuetext={short(high)}
          onInput={(event) => set(low, Math.max(event.currentTarget.valueAsNumber, low))}
        />
      </div>
    </div>
  );
}
