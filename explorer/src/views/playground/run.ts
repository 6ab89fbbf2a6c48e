/** One fit on the playground: its frames, where it stands, and the commands it takes. */
import { isAbort, lines, messageOf, post } from "../../core/api";
import { bytesOf, floatsOf } from "../../core/bytes";
import type { FrameLine, Settings, Started } from "../../core/types";
import type { Grid } from "../../plot/regions";
import { type Box, type Points, nearest, usedClasses } from "./points";

export interface Frame {
  index: number;
  step: number;
  of: number;
  loss: number | null;
  accuracy: number | null;
  readonly grid: Grid;
  readonly latent: Float32Array;
  means: [number, number][];
}

export type Status = "starting" | "training" | "paused" | "finished" | "stopped" | "failed";

type Line = FrameLine | { finished: unknown } | { error: { message: string } };

export class Run {
  status: Status = "starting";
  message = "";
  job: string | null = null;
  started: Started | null = null;
  readonly all: Frame[] = [];
  readonly alone: Frame[] = [];
  private truth: number[] | null = null;
  private readonly control = new AbortController();

  constructor(private readonly changed: () => void) {}

  async start(points: Points, box: Box, settings: Settings, compare: boolean): Promise<void> {
    try {
      const order = usedClasses(points.labels);
      this.truth = points.truth?.every((k) => order.includes(k)) ? points.truth.map((k) => order.indexOf(k)) : null;
      const request = {
        points: points.xy,
        labels: points.labels.map((label) => (label === null ? null : order.indexOf(label))),
        truth: this.truth,
        bounds: [box.x0, box.x1, box.y0, box.y1],
        settings,
        labels_alone: compare,
      };
      this.started = await post<Started>("/playground", request, this.control.signal);
      this.job = this.started.job;
      this.become("training");
      for await (const line of lines<Line>(`/playground/${this.job}/frames?from=0`, this.control.signal)) this.take(line);
      if (this.status === "training" || this.status === "paused") this.become("finished");
    } catch (error) {
      if (isAbort(error)) return;
      this.message = messageOf(error);
      this.become("failed");
    }
  }

  async command(name: "pause" | "resume" | "step" | "stop"): Promise<void> {
    if (!this.job) return;
    if (name === "pause" && this.status === "training") this.become("paused");
    if (name === "resume" && this.status === "paused") this.become("training");
    if (name === "stop" && this.live()) this.become("stopped");
    await post(`/playground/${this.job}/${name}`, {}).catch((error) => {
      if (!this.live()) return;
      this.message = messageOf(error);
      this.become("failed");
    });
  }

  /** Ends the fit, and the stream of its frames. */
  drop(): void {
    if (this.live()) void this.command("stop");
    this.control.abort();
  }

  live(): boolean {
    return this.status === "starting" || this.status === "training" || this.status === "paused";
  }

  /** The frame of labels alone at a step. */
  aloneAt(step: number): Frame | null {
    return lastUpTo(this.alone, step);
  }

  private take(line: Line): void {
    if ("error" in line) {
      this.message = line.error.message;
      return this.become("failed");
    }
    if ("finished" in line) return this.become(this.status === "stopped" ? "stopped" : "finished");
    const frame = decoded(line);
    if (frame.accuracy === null && this.truth) frame.accuracy = shareRight(frame, this.truth);
    (line.alone ? this.alone : this.all).push(frame);
    this.changed();
  }

  private become(status: Status): void {
    this.status = status;
    this.changed();
  }
}

/** The last of frames sorted by step whose step is not beyond the given one. */
export function lastUpTo<T extends { step: number }>(frames: T[], step: number): T | null {
  let [low, high] = [0, frames.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (frames[middle].step <= step) low = middle + 1;
    else high = middle;
  }
  return frames[low - 1] ?? frames[0] ?? null;
}

/** Share of points whose nearest Gaussian is that of their true class. */
export function shareRight(frame: { latent: Float32Array; means: [number, number][] }, truth: number[]): number {
  const right = truth.filter((k, i) => nearest(frame.means, frame.latent[2 * i], frame.latent[2 * i + 1]) === k).length;
  return right / Math.max(1, truth.length);
}

/** Numbers are decoded when they are first looked at: frames may come faster than they are shown. */
function decoded(line: FrameLine): Frame {
  const { grid, latent, accuracy, ...rest } = line;
  let [region, image]: [Grid | null, Float32Array | null] = [null, null];
  return {
    ...rest,
    accuracy: accuracy ?? null,
    get grid() {
      region ??= { ...grid, classes: bytesOf(grid.classes), certainty: bytesOf(grid.certainty) };
      return region;
    },
    get latent() {
      image ??= floatsOf(latent);
      return image;
    },
  };
}
