/** The two kinds of panel: the data, which can be drawn on, and the latent space. */
import { useRef, useState } from "preact/hooks";
import { useInk, useShade } from "../../core/theme";
import { useDrawing } from "../../plot/canvas";
import { useSize } from "../../ui/hooks";
import type { Box, Points } from "./points";
import type { Frame } from "./run";
import { drawData, drawLatent } from "./scene";

export type Brush = { kind: "label"; k: number } | { kind: "unlabelled" } | { kind: "erase" };

interface Shown {
  title: string;
  subtitle: string;
  points: Points;
  frame: Frame | null;
  classes: number[];
  showUnlabelled: boolean;
}

export function DataPanel(
  props: Shown & { box: Box; brush: Brush | null; onDraw?: (xy: [number, number][]) => void; onStroke?: () => void },
) {
  const [attach, { width: size }] = useSize<HTMLDivElement>();
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const last = useRef<[number, number] | null>(null);
  const look = { shade: useShade(), ink: useInk(), classes: props.classes };
  const canvas = useDrawing(
    size,
    size,
    (context) => {
      drawData(context, size, props.box, props.points, props.frame, look, props.showUnlabelled);
      if (!cursor) return;
      const [x, y] = [
        ((cursor[0] - props.box.x0) / (props.box.x1 - props.box.x0)) * size,
        ((props.box.y1 - cursor[1]) / (props.box.y1 - props.box.y0)) * size,
      ];
      context.strokeStyle = look.ink.text;
      context.beginPath();
      context.arc(x, y, 8, 0, 2 * Math.PI);
      context.moveTo(x - 12, y);
      context.lineTo(x + 12, y);
      context.moveTo(x, y - 12);
      context.lineTo(x, y + 12);
      context.stroke();
    },
    [props.points, props.frame, props.box, props.showUnlabelled, props.classes, look.shade, cursor],
  );
  const drawable = props.onDraw !== undefined;
  const toData = (event: PointerEvent): [number, number] => {
    const area = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const [u, v] = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
    return [props.box.x0 + u * (props.box.x1 - props.box.x0), props.box.y1 - v * (props.box.y1 - props.box.y0)];
  };
  const down = (event: PointerEvent) => {
    if (!props.onDraw || event.button !== 0) return;
    (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    props.onStroke?.();
    last.current = toData(event);
    setCursor(null);
    props.onDraw([last.current]);
  };
  const move = (event: PointerEvent) => {
    if (!props.onDraw || !last.current || event.buttons === 0) return;
    const [x, y] = toData(event);
    const gap = ((props.brush?.kind === "label" ? 18 : 7) / size) * (props.box.x1 - props.box.x0);
    const [dx, dy] = [x - last.current[0], y - last.current[1]];
    const distance = Math.hypot(dx, dy);
    if (distance < gap) return;
    const n = Math.floor(distance / gap);
    const jitter = props.brush?.kind === "unlabelled" ? 1.1 * gap : 0.25 * gap;
    const fresh = Array.from({ length: n }, (_, i): [number, number] => {
      const t = (i + 1) / n;
      return [last.current![0] + t * dx + jitter * bell(), last.current![1] + t * dy + jitter * bell()];
    });
    last.current = [x, y];
    props.onDraw(fresh);
  };
  const key = (event: KeyboardEvent) => {
    if (!props.onDraw) return;
    const step = (props.box.x1 - props.box.x0) / (event.shiftKey ? 100 : 25);
    const [x, y] = cursor ?? [(props.box.x0 + props.box.x1) / 2, (props.box.y0 + props.box.y1) / 2];
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [-step, 0],
      ArrowRight: [step, 0],
      ArrowUp: [0, step],
      ArrowDown: [0, -step],
    };
    if (moves[event.key]) {
      const [dx, dy] = moves[event.key];
      setCursor([Math.min(props.box.x1, Math.max(props.box.x0, x + dx)), Math.min(props.box.y1, Math.max(props.box.y0, y + dy))]);
    } else if (event.key === "Enter" || event.key === " ") {
      props.onStroke?.();
      props.onDraw([[x, y]]);
    } else return;
    event.preventDefault();
  };
  return (
    <figure class="panel">
      <Caption title={props.title} subtitle={props.subtitle} frame={props.frame} />
      <div class="square" ref={attach}>
        <canvas
          ref={canvas}
          class={drawable ? "drawable" : ""}
          role={drawable ? "application" : "img"}
          aria-label={
            drawable
              ? `${props.title}: draw points. Arrow keys move the cursor, Enter places a point.`
              : `${props.title}, ${props.subtitle}`
          }
          tabIndex={drawable ? 0 : undefined}
          onPointerDown={down}
          onPointerMove={move}
          onPointerUp={() => (last.current = null)}
          onPointerCancel={() => (last.current = null)}
          onKeyDown={key}
          onBlur={() => setCursor(null)}
        />
        {props.points.xy.length === 0 && (
          <p class="hint">
            Draw here.
            <br />
            Click for a point, drag for a trail.
          </p>
        )}
      </div>
    </figure>
  );
}

export function LatentPanel(props: Shown) {
  const [attach, { width: size }] = useSize<HTMLDivElement>();
  const look = { shade: useShade(), ink: useInk(), classes: props.classes };
  const canvas = useDrawing(
    size,
    size,
    (context) => drawLatent(context, size, props.points, props.frame, look, props.showUnlabelled),
    [props.points, props.frame, props.showUnlabelled, props.classes, look.shade],
  );
  return (
    <figure class="panel">
      <Caption title={props.title} subtitle={props.subtitle} frame={null} />
      <div class="square" ref={attach}>
        <canvas ref={canvas} role="img" aria-label={`${props.title}, ${props.subtitle}`} />
        {!props.frame && <p class="hint">The flow will carry each point to the Gaussian of its class.</p>}
      </div>
    </figure>
  );
}

function Caption(props: { title: string; subtitle: string; frame: Frame | null }) {
  const accuracy = props.frame?.accuracy;
  return (
    <figcaption>
      <span>
        <b>{props.title}</b> <small>{props.subtitle}</small>
      </span>
      {accuracy !== null && accuracy !== undefined && (
        <span class="score" title="Share of all points, labelled or not, whose class is right">
          {(100 * accuracy).toFixed(1)} % right
        </span>
      )}
    </figcaption>
  );
}

/** Roughly normal; only where a hand draws. */
function bell(): number {
  return Math.random() + Math.random() + Math.random() - 1.5;
}
