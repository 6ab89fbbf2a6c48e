/** Lines over a common x, with a cursor; drawn on a canvas, and said in words to those who do not see it. */
import { useSize } from "../ui/hooks";
import { ticks, short } from "../core/format";
import { useInk } from "../core/theme";
import { FONT, useDrawing } from "./canvas";

export interface Line {
  name: string;
  colour: string;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  dashed?: boolean;
}

export function LineChart(props: {
  label: string;
  xName: string;
  yName: string;
  lines: Line[];
  cursor?: number | null;
  height?: number;
  xRange?: [number, number];
  yRange?: [number, number];
  /** Share of the values, from below, that the y axis holds: the rest are the wild beginnings of a fit. */
  share?: number;
  onPick?: (x: number) => void;
}) {
  const [attach, { width }] = useSize<HTMLElement>();
  const height = props.height ?? 150;
  const ink = useInk();
  const pad = { left: 46, right: 18, top: 10, bottom: 26 };
  const [x0, x1] =
    props.xRange ??
    extent(
      props.lines.map((line) => line.x),
      1,
    );
  const [y0, y1] =
    props.yRange ??
    padded(
      extent(
        props.lines.map((line) => line.y),
        props.share ?? 0.98,
      ),
    );
  const toX = (x: number) => pad.left + ((x - x0) / (x1 - x0 || 1)) * (width - pad.left - pad.right);
  const toY = (y: number) => height - pad.bottom - ((y - y0) / (y1 - y0 || 1)) * (height - pad.top - pad.bottom);
  const canvas = useDrawing(
    width,
    height,
    (context) => {
      context.font = FONT;
      context.lineWidth = 1;
      context.strokeStyle = ink.line;
      context.fillStyle = ink.quiet;
      context.textBaseline = "middle";
      context.textAlign = "right";
      for (const y of ticks(y0, y1, Math.max(2, Math.floor(height / 42)))) {
        const at = Math.round(toY(y)) + 0.5;
        context.beginPath();
        context.moveTo(pad.left, at);
        context.lineTo(width - pad.right, at);
        context.stroke();
        context.fillText(short(y), pad.left - 6, at);
      }
      context.textBaseline = "alphabetic";
      context.textAlign = "center";
      for (const x of ticks(x0, x1, Math.max(2, Math.floor(width / 110)))) context.fillText(short(x), toX(x), height - 10);
      context.save();
      context.beginPath();
      context.rect(pad.left, 0, width - pad.left - pad.right, height - pad.bottom + 1);
      context.clip();
      for (const line of props.lines) {
        context.beginPath();
        let drawing = false;
        for (let i = 0; i < line.x.length; i++) {
          const [x, y] = [toX(line.x[i]), toY(line.y[i])];
          if (!Number.isFinite(y)) {
            drawing = false;
            continue;
          }
          if (drawing) context.lineTo(x, y);
          else context.moveTo(x, y);
          drawing = true;
        }
        context.lineWidth = 1.75;
        context.lineJoin = "round";
        context.setLineDash(line.dashed ? [4, 3] : []);
        context.strokeStyle = line.colour;
        context.stroke();
      }
      context.setLineDash([]);
      if (props.cursor !== null && props.cursor !== undefined) {
        const at = Math.round(toX(props.cursor)) + 0.5;
        context.lineWidth = 1;
        context.strokeStyle = ink.text;
        context.beginPath();
        context.moveTo(at, 2);
        context.lineTo(at, height - pad.bottom);
        context.stroke();
        for (const line of props.lines) {
          const y = valueAt(line, props.cursor);
          if (y === null) continue;
          context.beginPath();
          context.arc(toX(props.cursor), toY(y), 3.5, 0, 2 * Math.PI);
          context.fillStyle = line.colour;
          context.fill();
          context.strokeStyle = ink.panel;
          context.stroke();
        }
      }
      context.restore();
    },
    [props.lines, props.cursor, x0, x1, y0, y1, ink],
  );
  const pick = (event: PointerEvent) => {
    if (!props.onPick || (event.type === "pointermove" && event.buttons === 0)) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const t = (event.clientX - box.left - pad.left) / (width - pad.left - pad.right);
    props.onPick(x0 + Math.min(1, Math.max(0, t)) * (x1 - x0));
  };
  return (
    <figure class="chart" ref={attach}>
      <figcaption>
        <span>
          {props.yName} <small>over {props.xName}</small>
        </span>
        {props.lines.length > 1 && (
          <span class="key">
            {props.lines.map((line) => (
              <span key={line.name}>
                <i style={{ background: line.colour }} />
                {line.name}
              </span>
            ))}
          </span>
        )}
      </figcaption>
      <canvas
        ref={canvas}
        role="img"
        aria-label={props.label}
        style={{ width: `${width}px`, height: `${height}px` }}
        onPointerDown={pick}
        onPointerMove={pick}
      />
    </figure>
  );
}

/** Value of a line at x, between its points; `null` outside. */
export function valueAt(line: { x: ArrayLike<number>; y: ArrayLike<number> }, x: number): number | null {
  const n = line.x.length;
  if (n === 0 || x < line.x[0] || x > line.x[n - 1]) return null;
  let [low, high] = [0, n - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (line.x[middle] <= x) low = middle;
    else high = middle;
  }
  const span = line.x[high] - line.x[low];
  const f = span > 0 ? (x - line.x[low]) / span : 0;
  const y = line.y[low] * (1 - f) + line.y[high] * f;
  return Number.isFinite(y) ? y : null;
}

/** Smallest and largest finite value; `share` < 1 leaves out the most extreme of them on the upper side. */
export function extent(series: ArrayLike<number>[], share: number): [number, number] {
  const values: number[] = [];
  for (const s of series) for (let i = 0; i < s.length; i++) if (Number.isFinite(s[i])) values.push(s[i]);
  if (values.length === 0) return [0, 1];
  values.sort((a, b) => a - b);
  const top = values[Math.min(values.length - 1, Math.ceil(share * values.length) - 1)] ?? values[values.length - 1];
  return top > values[0] ? [values[0], top] : [values[0] - 0.5, values[0] + 0.5];
}

function padded([low, high]: [number, number]): [number, number] {
  const pad = 0.06 * (high - low);
  return [low - pad, high + pad];
}
