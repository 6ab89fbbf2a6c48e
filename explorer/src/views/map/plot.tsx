/** The points themselves: pan, zoom, lasso, pointing at one. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { rgb } from "../../core/palette";
import { route } from "../../core/route";
import { useInk, useShade } from "../../core/theme";
import { type Camera, type Extent, dataX, dataY, fitted, panned, resized, zoomed } from "../../scatter/camera";
import { rowsInside } from "../../scatter/numbers";
import { PointIndex } from "../../scatter/point-index";
import { type PointRenderer, hasGraphicsCard } from "../../scatter/points";
import { PlainRenderer } from "../../scatter/plain";
import { WebGlRenderer } from "../../scatter/webgl";
import { useSize } from "../../ui/hooks";
import { type Badge, type PlaceName, drawOverlay } from "./overlay";

export type Tool = "move" | "lasso";

export function Plot(props: {
  xs: Float32Array;
  ys: Float32Array;
  extent: Extent;
  square: boolean;
  xName: string | null;
  yName: string | null;
  entries: Uint8Array;
  states: Uint8Array;
  mask: Uint8Array;
  table: Uint8Array;
  names: PlaceName[];
  badges: Badge[];
  chosen: number | null;
  tool: Tool;
  onPick: (row: number | null) => void;
  onLasso: (rows: number[]) => void;
  describe: (row: number) => string;
}) {
  const [attach, { width, height }] = useSize<HTMLDivElement>();
  const shade = useShade();
  const ink = useInk();
  const points = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<PointRenderer | null>(null);
  const camera = useRef<Camera | null>(null);
  const home = useRef(1);
  const lasso = useRef<[number, number][]>([]);
  const hover = useRef<number | null>(null);
  const pointers = useRef(new Map<number, { x: number; y: number }>());
  const travelled = useRef(0);
  const moving = useRef(false);
  const rest = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const queued = useRef(false);
  const lastFrame = useRef(0);
  const [said, setSaid] = useState<{ text: string; x: number; y: number } | null>(null);
  const index = useMemo(() => ({ made: null as PointIndex | null }), [props.xs, props.ys]);
  const now = useRef(props);
  now.current = props;

  const paint = () => {
    queued.current = false;
    const c = camera.current;
    if (!c || !renderer.current || !above.current) return;
    const began = performance.now();
    const drawn = renderer.current.draw(c, Math.min(2, devicePixelRatio || 1), moving.current, c.sx / home.current);
    above.current.dataset.drawn = String(drawn);
    if (moving.current) {
      // Between frames that follow each other the clock shows what a frame costs, whoever draws it.
      const since = began - lastFrame.current;
      if (since < 200) renderer.current.learn(since);
      lastFrame.current = began;
    }
    const { xs, ys, xName, yName, names, badges, chosen } = now.current;
    drawOverlay(above.current, c, ink, {
      xs,
      ys,
      axes: xName === null ? null : [xName, yName ?? ""],
      names,
      badges,
      hover: hover.current,
      chosen,
      lasso: lasso.current,
    });
  };
  const request = () => {
    if (queued.current) return;
    queued.current = true;
    requestAnimationFrame(paint);
  };
  const stir = () => {
    moving.current = true;
    clearTimeout(rest.current);
    rest.current = setTimeout(settle, 160);
    request();
  };
  const settle = () => {
    // As long as the hand holds the map, it moves.
    if (pointers.current.size > 0) {
      rest.current = setTimeout(settle, 160);
      return;
    }
    moving.current = false;
    lastFrame.current = 0;
    request();
  };

  useEffect(() => {
    if (!points.current) return;
    const forced = route.get().query.get("renderer");
    const shaders = forced === "webgl" || (forced !== "plain" && hasGraphicsCard());
    renderer.current = (shaders ? WebGlRenderer.on(points.current) : null) ?? PlainRenderer.on(points.current);
    points.current.dataset.renderer = renderer.current instanceof WebGlRenderer ? "webgl" : "plain";
    return () => {
      renderer.current?.destroy();
      renderer.current = null;
      clearTimeout(rest.current);
    };
  }, []);
  useEffect(() => {
    renderer.current?.setPlaces(props.xs, props.ys, props.extent);
    camera.current = null;
    hover.current = null;
  }, [props.xs, props.ys]);
  useEffect(() => {
    if (width < 2 || height < 2) return;
    if (camera.current) camera.current = resized(camera.current, width, height);
    else {
      camera.current = fitted(props.extent, width, height, props.square);
      home.current = camera.current.sx;
    }
    request();
  }, [width, height, props.xs, props.ys, props.square]);
  useEffect(() => {
    renderer.current?.setLooks(props.entries, props.states);
    request();
  }, [props.entries, props.states, props.xs, props.ys]);
  useEffect(() => {
    renderer.current?.setTable(props.table, rgb(ink.panel));
    request();
  }, [props.table, ink]);
  useEffect(request, [props.chosen, props.badges, props.names, props.xName, props.yName, shade]);

  const reset = () => {
    if (width < 2) return;
    camera.current = fitted(props.extent, width, height, props.square);
    home.current = camera.current.sx;
    request();
  };
  const place = (event: MouseEvent) => {
    const box = points.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const at = (x: number, y: number): number | null => {
    const c = camera.current;
    if (!c) return null;
    index.made ??= new PointIndex(props.xs, props.ys, props.extent);
    return index.made.nearest(dataX(c, x), dataY(c, y), 12 / c.sx, 12 / c.sy, props.mask);
  };
  const zoom = (factor: number, x: number, y: number) => {
    if (!camera.current) return;
    const wanted =
      Math.min(4000, Math.max(0.3, (camera.current.sx / home.current) * factor)) / (camera.current.sx / home.current);
    camera.current = zoomed(camera.current, wanted, x, y);
    stir();
  };

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    const p = place(event);
    above.current?.setPointerCapture(event.pointerId);
    pointers.current.set(event.pointerId, p);
    travelled.current = 0;
    lasso.current = (props.tool === "lasso" || event.shiftKey) && pointers.current.size === 1 ? [[p.x, p.y]] : [];
    setSaid(null);
  };
  const move = (event: PointerEvent) => {
    const p = place(event);
    const old = pointers.current.get(event.pointerId);
    if (!old) {
      if (moving.current) return;
      const row = at(p.x, p.y);
      if (row !== hover.current) {
        hover.current = row;
        request();
      }
      setSaid(row === null ? null : { text: props.describe(row), x: p.x, y: p.y });
      return;
    }
    const [dx, dy] = [p.x - old.x, p.y - old.y];
    travelled.current += Math.abs(dx) + Math.abs(dy);
    const others = [...pointers.current.entries()].filter(([id]) => id !== event.pointerId);
    if (others.length === 1 && camera.current) {
      const [, still] = others[0];
      const factor = Math.hypot(p.x - still.x, p.y - still.y) / Math.max(8, Math.hypot(old.x - still.x, old.y - still.y));
      lasso.current = [];
      camera.current = panned(camera.current, dx / 2, dy / 2);
      zoom(factor, (p.x + still.x) / 2, (p.y + still.y) / 2);
    } else if (lasso.current.length > 0) {
      lasso.current.push([p.x, p.y]);
      request();
    } else if (camera.current) {
      camera.current = panned(camera.current, dx, dy);
      stir();
    }
    pointers.current.set(event.pointerId, p);
  };
  const up = (event: PointerEvent) => {
    if (!pointers.current.delete(event.pointerId)) return;
    const p = place(event);
    const drawn = lasso.current;
    lasso.current = [];
    const c = camera.current;
    if (c && drawn.length > 3 && travelled.current > 12) {
      const polygon = drawn.map(([x, y]): [number, number] => [dataX(c, x), dataY(c, y)]);
      props.onLasso(rowsInside(polygon, props.xs, props.ys, props.mask));
    } else if (travelled.current < 6) {
      props.onPick(at(p.x, p.y));
    }
    request();
  };
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const p = place(event);
    zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0018)), p.x, p.y);
  };
  useEffect(() => {
    const element = above.current;
    element?.addEventListener("wheel", wheel, { passive: false });
    return () => element?.removeEventListener("wheel", wheel);
  });
  const key = (event: KeyboardEvent) => {
    const c = camera.current;
    if (!c) return;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [60, 0],
      ArrowRight: [-60, 0],
      ArrowUp: [0, 60],
      ArrowDown: [0, -60],
    };
    if (moves[event.key]) {
      camera.current = panned(c, ...moves[event.key]);
      stir();
    } else if (event.key === "+" || event.key === "=") zoom(1.4, c.width / 2, c.height / 2);
    else if (event.key === "-") zoom(1 / 1.4, c.width / 2, c.height / 2);
    else if (event.key === "0") reset();
    else if (event.key === "Enter") props.onPick(at(c.width / 2, c.height / 2));
    else if (event.key === "Escape") props.onPick(null);
    else return;
    event.preventDefault();
  };

  return (
    <div class={`plot ${props.tool}`} ref={attach}>
      <canvas ref={points} aria-hidden="true" />
      <canvas
        ref={above}
        tabIndex={0}
        role="application"
        aria-label="Map of the rows. Arrow keys move, plus and minus zoom, 0 shows everything, Enter opens the row in the middle."
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onPointerLeave={() => ((hover.current = null), setSaid(null), request())}
        onDblClick={reset}
        onKeyDown={key}
      />
      {said && (
        <div class="tip" style={{ left: `${Math.min(said.x + 14, Math.max(0, width - 190))}px`, top: `${said.y + 16}px` }}>
          {said.text}
        </div>
      )}
      <div class="zoom">
        <button type="button" aria-label="Zoom in" onClick={() => zoom(1.6, width / 2, height / 2)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => zoom(1 / 1.6, width / 2, height / 2)}>
          −
        </button>
        <button type="button" aria-label="Show everything" onClick={reset}>
          <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M2 2h5v2H4v3H2zM9 2h5v5h-2V4H9zM2 9h2v3h3v2H2zM12 9h2v5H9v-2h3z" />
          </svg>
        </button>
      </div>
    </div>
  );
}
