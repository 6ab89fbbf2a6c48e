/**
 * What a channel does (paper, section 6.3 and figure 4d): x(alpha) = f_{:l}^-1(f_{:l}(x) + alpha sigma_c delta_c).
 *
 * All values of alpha that the slider has are fetched for all rows at once, so that dragging shows exact pictures without waiting.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, modelPath, post } from "../../core/api";
import { href, replaceRoute, route } from "../../core/route";
import type { Histogram, LayerInfo, ModelInfo } from "../../core/types";
import { useLoad } from "../../ui/hooks";
import { NoRows } from "../../ui/needs-model";
import { Choice, Failure, NumberInput, Slider, Waiting } from "../../ui/parts";
import { AlphaHistogram } from "./alpha";
import { ALPHAS, REACH } from "./alphas";
import { Film, type Moved, MovedPictures, MovedRows } from "./moved";
import { Wall } from "./wall";

export function FeaturesView(props: { model: ModelInfo }) {
  const { model } = props;
  const loaded = useLoad(model.data ? model.name : null, (signal) =>
    get<{ layers: LayerInfo[] }>(`${modelPath(model.name)}/features`, signal),
  );
  if (!model.data) return <NoRows what="What features do" model={model} />;
  if (loaded.state === "failed") return <Failure message={loaded.message} />;
  if (!loaded.value) return <Waiting>Collecting the statistics of every channel…</Waiting>;
  if (loaded.value.layers.length === 0) return <Failure message="This model has no layers to look into." />;
  return <Features model={model} layers={loaded.value.layers.map((layer, i) => ({ ...layer, index: layer.index ?? i + 1 }))} />;
}

function Features(props: { model: ModelInfo; layers: (LayerInfo & { index: number })[] }) {
  const { model, layers } = props;
  const n = model.data!.rows;
  const images = model.kind === "images";
  const asked = useMemo(() => route.get().query, []);
  const [layer, setLayer] = useState(layers.find((l) => String(l.index) === asked.get("layer")) ?? bestLayer(layers));
  const [channel, setChannel] = useState(Math.min(Number(asked.get("channel")) || 0, layer.channels - 1));
  const [place, setPlace] = useState<[number, number] | null>(null);
  const [alpha, setAlpha] = useState(Math.min(REACH, Math.max(-REACH, Number(asked.get("alpha") ?? 2) || 0)));
  const [firstRow, setFirstRow] = useState(0);
  const rows = useMemo(() => Array.from({ length: Math.min(n, images ? 8 : 6) }, (_, i) => (firstRow + i) % n), [n, firstRow]);
  const path = modelPath(model.name);
  const spatial = (layer.height ?? 1) * (layer.width ?? 1) > 1;
  const histogram = useLoad(`${model.name}/${layer.index}/${channel}`, (signal) =>
    get<Histogram>(`${path}/features/${layer.index}/${channel}/histogram`, signal),
  );
  const key = JSON.stringify([model.name, layer.index, channel, place, rows]);
  const ask = (alphas: number[]) => async (signal: AbortSignal) => ({
    key,
    alphas,
    ...(await post<Omit<Moved, "key" | "alphas">>(
      `${path}/features`,
      { layer: layer.index, channel, place, alphas, rows },
      signal,
    )),
  });
  // What is seen at once comes first: the rows as they are and at this alpha; then all values of alpha.
  const first = useLoad(key, ask([0, alpha]));
  const all = useLoad(first.state === "ready" && first.value.key === key ? key : null, ask(ALPHAS));
  const moved = all.value?.key === key ? all.value : (first.value ?? all.value);
  const failed = first.state === "failed" ? first.message : all.state === "failed" ? all.message : null;
  useEffect(() => {
    replaceRoute(href("features", model.name, { layer: layer.index, channel, alpha }));
  }, [layer, channel, alpha]);
  const choose = (index: string) => {
    const next = layers.find((l) => String(l.index) === index)!;
    setLayer(next);
    setChannel((c) => Math.min(c, next.channels - 1));
    setPlace(null);
  };
  return (
    <main class="featuresview">
      <h1>Features of {model.name}</h1>
      <p class="lead">
        Move one channel of one layer by α standard deviations and invert the layers before it. No optimisation: x(α) is exact,
        and immediate.
      </p>
      <div class="bench">
        <aside class="controls">
          <Choice
            label="Layer"
            value={String(layer.index)}
            options={layers.map((l) => [String(l.index), layerName(l)] as const)}
            onChange={choose}
          />
          <Slider
            label="Channel"
            value={channel}
            min={0}
            max={layer.channels - 1}
            step={1}
            show={`${channel} (0 to ${layer.channels - 1})`}
            disabled={layer.channels < 2}
            onInput={setChannel}
          />
          <AlphaHistogram
            histogram={histogram.value}
            failed={histogram.state === "failed" ? histogram.message : null}
            alpha={alpha}
            onAlpha={setAlpha}
          />
          {spatial && <PlaceGrid height={layer.height!} width={layer.width!} place={place} onPlace={setPlace} />}
          <NumberInput label={images ? "First image" : "First row"} value={firstRow} min={0} max={n - 1} onChange={setFirstRow} />
        </aside>
        <div class="results">
          {failed && <Failure message={failed} />}
          {!moved && !failed && <Waiting>Inverting…</Waiting>}
          {moved?.images && <MovedPictures moved={moved} rows={rows} alpha={alpha} />}
          {images && <Film moved={all.value} stale={all.value?.key !== key} alpha={alpha} onAlpha={setAlpha} />}
          {moved?.rows && <MovedRows moved={moved} rows={rows} alpha={alpha} />}
          <Wall model={model} layer={layer} row={rows[0]} alpha={alpha} channel={channel} onChannel={setChannel} />
        </div>
      </div>
    </main>
  );
}

function PlaceGrid(props: {
  height: number;
  width: number;
  place: [number, number] | null;
  onPlace: (place: [number, number] | null) => void;
}) {
  const { height, width, place } = props;
  const move = (event: KeyboardEvent) => {
    const steps: Record<string, [number, number]> = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    const [y, x] = place ?? [height >> 1, width >> 1];
    props.onPlace([Math.min(height - 1, Math.max(0, y + step[0])), Math.min(width - 1, Math.max(0, x + step[1]))]);
  };
  const pick = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const [y, x] = [
      Math.floor(((event.clientY - box.top) / box.height) * height),
      Math.floor(((event.clientX - box.left) / box.width) * width),
    ];
    props.onPlace([Math.min(height - 1, Math.max(0, y)), Math.min(width - 1, Math.max(0, x))]);
  };
  return (
    <div class="place">
      <div class="head">
        <span>Place</span>
        <span class="value">{place ? `row ${place[0]}, column ${place[1]}` : "everywhere"}</span>
      </div>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        tabIndex={0}
        role="application"
        aria-label="Place on the image. Arrow keys move it."
        onPointerDown={pick}
        onPointerMove={pick}
        onKeyDown={move}
      >
        {Array.from({ length: width - 1 }, (_, i) => (
          <line key={`x${i}`} x1={i + 1} x2={i + 1} y1={0} y2={height} />
        ))}
        {Array.from({ length: height - 1 }, (_, i) => (
          <line key={`y${i}`} y1={i + 1} y2={i + 1} x1={0} x2={width} />
        ))}
        {place ? (
          <rect class="on" x={place[1]} y={place[0]} width={1} height={1} />
        ) : (
          <rect class="on all" x={0} y={0} width={width} height={height} />
        )}
      </svg>
      <button type="button" class="quiet" aria-pressed={place === null} onClick={() => props.onPlace(null)}>
        Everywhere
      </button>
    </div>
  );
}

function layerName(layer: LayerInfo & { index: number }): string {
  const area = (layer.height ?? 1) * (layer.width ?? 1);
  const shape = area > 1 ? `${layer.channels} × ${layer.height} × ${layer.width}` : String(layer.channels);
  return `${layer.index}  ${layer.name} (${shape})`;
}

/** A deep layer that still has places, or the last one. */
function bestLayer(layers: (LayerInfo & { index: number })[]): LayerInfo & { index: number } {
  const spatial = layers.filter((l) => (l.height ?? 1) * (l.width ?? 1) > 1);
  return spatial[spatial.length - 1] ?? layers[layers.length - 1];
}
