/** Time: pause, one frame on, back to any frame that was. */
import { LineChart } from "../../plot/chart";
import { percent, short } from "../../core/format";
import { useInk } from "../../core/theme";
import type { Frame, Run } from "./run";

export function Transport(props: {
  run: Run | null;
  at: number;
  following: boolean;
  /** Whether there is room for the curve of accuracies, too. */
  wide: boolean;
  playing: boolean;
  onSeek: (at: number) => void;
  onLive: () => void;
  onPlay: () => void;
  onPause: () => void;
  onStep: () => void;
}) {
  const { run } = props;
  const ink = useInk();
  const frames = run?.all ?? [];
  const frame: Frame | undefined = frames[props.at];
  const moving = run?.status === "training" || run?.status === "starting";
  const last = Math.max(0, frames.length - 1);
  const lines = run
    ? [
        curve("all points", ink.text, run.all, false),
        ...(run.alone.length > 0 ? [curve("labels alone", ink.faint, run.alone, true)] : []),
      ]
    : [];
  const known = frames.length > 0 && frames[0].accuracy !== null;
  const scores =
    lines.length > 1 && known
      ? lines.map((line, i) => ({ ...line, y: (i === 0 ? run!.all : run!.alone).map((f) => f.accuracy ?? NaN) }))
      : [];
  return (
    <section class="transport" aria-label="Time">
      <div class="buttons">
        {moving || props.playing ? (
          <button type="button" onClick={props.onPause} disabled={!run || frames.length === 0}>
            <Icon d="M4 3h3v10H4zM9 3h3v10H9z" /> Pause
          </button>
        ) : (
          <button type="button" onClick={props.onPlay} disabled={!run || frames.length === 0}>
            <Icon d="M4 2.5v11l9-5.5z" /> {run?.status === "paused" ? "Resume" : "Replay"}
          </button>
        )}
        <button
          type="button"
          onClick={props.onStep}
          disabled={!run || moving || (run.status !== "paused" && props.at >= last)}
          title="One frame on"
        >
          <Icon d="M3 2.5v11l7-5.5zM11 3h2v10h-2z" /> Step
        </button>
        <button type="button" class="live" aria-pressed={props.following} onClick={props.onLive} disabled={frames.length === 0}>
          <i /> Latest
        </button>
        <span class="readout" role="status">
          {statusText(run)}
        </span>
      </div>
      <div class="scrub">
        <input
          type="range"
          aria-label="Time: frame shown"
          min={0}
          max={last}
          step={1}
          value={Math.min(props.at, last)}
          disabled={frames.length < 2}
          aria-valuetext={frame ? `step ${frame.step} of ${frame.of}` : undefined}
          onInput={(event) => props.onSeek(event.currentTarget.valueAsNumber)}
        />
        <output>{frame ? `step ${frame.step} of ${frame.of}` : "not fitted yet"}</output>
      </div>
      {frames.length > 0 && (
        <LineChart
          label={`Loss over steps, now ${short(frame?.loss ?? null)}`}
          xName="steps"
          yName="loss"
          lines={lines}
          cursor={frame?.step ?? null}
          xRange={[0, frame?.of ?? 1]}
          height={132}
          onPick={(step) => props.onSeek(nearestFrame(frames, step))}
        />
      )}
      {props.wide && scores.length > 0 && (
        <LineChart
          label={`Share of points predicted right over steps, now ${percent(frame?.accuracy)}`}
          xName="steps"
          yName="share right"
          lines={scores}
          cursor={frame?.step ?? null}
          xRange={[0, frame?.of ?? 1]}
          yRange={[0, 1]}
          height={132}
          onPick={(step) => props.onSeek(nearestFrame(frames, step))}
        />
      )}
    </section>
  );
}

function statusText(run: Run | null): string {
  switch (run?.status) {
    case undefined:
      return "";
    case "starting":
      return "starting…";
    case "training":
      return "training…";
    case "failed":
      return "";
    default:
      return run!.status;
  }
}

function curve(name: string, colour: string, frames: Frame[], dashed: boolean) {
  return { name, colour, dashed, x: frames.map((f) => f.step), y: frames.map((f) => f.loss ?? NaN) };
}

function nearestFrame(frames: Frame[], step: number): number {
  let best = 0;
  frames.forEach((f, i) => {
    if (Math.abs(f.step - step) < Math.abs(frames[best].step - step)) best = i;
  });
  return best;
}

function Icon(props: { d: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={props.d} />
    </svg>
  );
}
