/** A straight line in latent space, decoded: the whole path is fetched once, so that the slider has nothing to wait for. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { modelPath, post } from "../../core/api";
import { short } from "../../core/format";
import { classColour } from "../../core/palette";
import { useInk, useShade } from "../../core/theme";
import type { ModelInfo, PathEnd, PathPoint } from "../../core/types";
import { LineChart } from "../../plot/chart";
import { useLoad } from "../../ui/hooks";
import { Failure, Waiting } from "../../ui/parts";
import { PictureView, paint, pixelsOf } from "../../ui/picture";
import { Probabilities } from "../../ui/probabilities";
import { Tracks } from "./tracks";

const STEPS = 129;
const STRIP = 9;

export function PathView(props: { model: ModelInfo; from: PathEnd; to: PathEnd; startAt: number }) {
  const { model } = props;
  const key = JSON.stringify([model.name, props.from, props.to]);
  const loaded = useLoad(key, async (signal) => {
    const answer = await post<{ points: PathPoint[] }>(
      `${modelPath(model.name)}/path`,
      { from: props.from, to: props.to, steps: STEPS },
      signal,
    );
    if (answer.points.length === 0) throw new Error("The server sent a path without points.");
    return answer.points;
  });
  if (loaded.state === "failed") return <Failure message={loaded.message} />;
  if (!loaded.value) return <Waiting>Decoding the path…</Waiting>;
  return <Walk key={model.name} model={model} points={loaded.value} startAt={props.startAt} />;
}

function Walk(props: { model: ModelInfo; points: PathPoint[]; startAt: number }) {
  const { model, points } = props;
  const shade = useShade();
  const ink = useInk();
  const last = points.length - 1;
  const [at, setAt] = useState(Math.round(props.startAt * last));
  const [playing, setPlaying] = useState(false);
  const i = Math.min(at, last);
  const point = points[i];
  const t = useMemo(() => points.map((p) => p.t), [points]);
  const density = useMemo(() => [{ name: "log p(x)", colour: ink.text, x: t, y: points.map((p) => p.log_p) }], [points, ink]);
  const shown = useMemo(() => likeliest(points, 6), [points]);
  const curves = useMemo(
    () =>
      shown.map((k) => ({
        name: model.classes[k],
        colour: classColour(k, shade),
        x: t,
        y: points.map((p) => p.probabilities[k]),
      })),
    [points, shown, shade],
  );
  useEffect(() => {
    if (!playing) return;
    let direction = 1;
    const timer = setInterval(() => {
      setAt((old) => {
        if (old + direction > last || old + direction < 0) direction = -direction;
        return Math.min(last, Math.max(0, old + direction));
      });
    }, 30);
    return () => clearInterval(timer);
  }, [playing, last]);
  const seek = (x: number) => {
    setPlaying(false);
    setAt(Math.round(((x - t[0]) / (t[last] - t[0] || 1)) * last));
  };
  const images = points[0].image !== undefined && points[0].image !== null;
  return (
    <div class="walk">
      <div class="decoded">
        {images ? <FollowingPicture points={points} at={i} /> : <Tracks model={model} points={points} at={i} />}
        {images && (
          <div class="strip" aria-hidden="true">
            {Array.from({ length: STRIP }, (_, s) => Math.round((s * last) / (STRIP - 1))).map((s) => (
              <button
                key={s}
                type="button"
                tabIndex={-1}
                onClick={() => setAt(s)}
                class={Math.abs(s - i) <= last / STRIP / 2 ? "near" : ""}
              >
                <PictureView picture={points[s].image!} label="" size="fill" />
              </button>
            ))}
          </div>
        )}
        <div class="slide">
          <button type="button" aria-pressed={playing} onClick={() => setPlaying(!playing)}>
            {playing ? "Pause" : "Play"}
          </button>
          <input
            type="range"
            id="path-slider"
            aria-label="Place on the path"
            min={0}
            max={last}
            step={1}
            value={i}
            aria-valuetext={`t = ${point.t.toFixed(2)}`}
            onInput={(event) => (setPlaying(false), setAt(event.currentTarget.valueAsNumber))}
          />
          <output>t = {point.t.toFixed(2)}</output>
        </div>
      </div>
      <div class="along">
        <div class="now">
          <Probabilities classes={model.classes} values={point.probabilities} most={4} keepOrder={model.classes.length <= 4} />
          <p class="why">
            log p(x) = <b>{short(point.log_p, 4)}</b>
          </p>
        </div>
        <LineChart
          label="Class probabilities along the path"
          xName="t"
          yName="class probability"
          lines={curves}
          cursor={point.t}
          xRange={[t[0], t[last]]}
          yRange={[0, 1]}
          height={168}
          onPick={seek}
        />
        <LineChart
          label="log p(x) along the path"
          xName="t"
          yName="log p(x)"
          lines={density}
          cursor={point.t}
          xRange={[t[0], t[last]]}
          height={150}
          onPick={seek}
        />
      </div>
    </div>
  );
}

/** The image at the slider, painted straight from decoded pixels. */
function FollowingPicture(props: { points: PathPoint[]; at: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pixels = useMemo(() => props.points.map((p) => pixelsOf(p.image!)), [props.points]);
  const { height, width, channels } = props.points[0].image!;
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, height, width, channels, pixels[props.at]);
  }, [pixels, props.at]);
  return (
    <canvas
      ref={canvas}
      class="picture big"
      width={width}
      height={height}
      role="img"
      aria-label="Image at this place of the path"
    />
  );
}

/** The classes that are probable anywhere on the path, at most `most` of them, in their order. */
export function likeliest(points: { probabilities: number[] }[], most: number): number[] {
  const best = points[0].probabilities.map((_, k) => [k, Math.max(...points.map((p) => p.probabilities[k]))] as const);
  return best
    .sort((a, b) => b[1] - a[1])
    .filter(([, p], i) => i < 2 || p > 0.02)
    .slice(0, most)
    .map(([k]) => k)
    .sort((a, b) => a - b);
}
