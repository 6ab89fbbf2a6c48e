/** Are 90 of 100 predictions right that have a certainty of 90 %? On the labelled rows that the server has. */
import { floats, modelPath } from "../../core/api";
import { percent, plural } from "../../core/format";
import { useInk } from "../../core/theme";
import type { ModelInfo } from "../../core/types";
import { FONT, useDrawing } from "../../plot/canvas";
import { useLoad, useSize } from "../../ui/hooks";
import { Failure, Waiting } from "../../ui/parts";

const LEAST = 20;

export interface Reliability {
  n: number;
  accuracy: number;
  /** Mean difference between certainty and share right, weighted by rows (ECE). */
  error: number;
  bins: { low: number; high: number; n: number; confidence: number; right: number }[];
}

/** Bins of equal width that hold a row at least; rows without a label do not count. */
export function reliability(predicted: Float32Array, labels: Float32Array, certainty: Float32Array, bins: number): Reliability {
  const sums = Array.from({ length: bins }, () => ({ n: 0, confidence: 0, right: 0 }));
  let [n, right] = [0, 0];
  for (let i = 0; i < labels.length; i++) {
    if (Number.isNaN(labels[i]) || !(certainty[i] >= 0)) continue;
    const bin = sums[Math.min(bins - 1, Math.floor(certainty[i] * bins))];
    const hit = predicted[i] === labels[i] ? 1 : 0;
    bin.n++;
    bin.confidence += certainty[i];
    bin.right += hit;
    n++;
    right += hit;
  }
  const kept = sums.flatMap((s, b) =>
    s.n === 0 ? [] : [{ low: b / bins, high: (b + 1) / bins, n: s.n, confidence: s.confidence / s.n, right: s.right / s.n }],
  );
  const error = kept.reduce((sum, b) => sum + (b.n / Math.max(1, n)) * Math.abs(b.confidence - b.right), 0);
  return { n, accuracy: right / Math.max(1, n), error, bins: kept };
}

export function Calibration(props: { model: ModelInfo }) {
  const { model } = props;
  const [attach, { width }] = useSize<HTMLDivElement>();
  const ink = useInk();
  const loaded = useLoad(model.data ? model.name : null, async (signal) => {
    const [predicted, labels, certainty] = await Promise.all(
      ["class", "label", "certainty"].map((field) => floats(`${modelPath(model.name)}/map/${field}`, signal)),
    );
    return reliability(predicted, labels, certainty, 10);
  });
  const found = loaded.value;
  const height = 210;
  const pad = { left: 42, right: 22, top: 16, bottom: 30 };
  const canvas = useDrawing(
    width,
    height,
    (context) => {
      if (!found) return;
      const x = (v: number) => pad.left + v * (width - pad.left - pad.right);
      const y = (v: number) => height - pad.bottom - v * (height - pad.top - pad.bottom);
      context.font = FONT;
      context.fillStyle = ink.quiet;
      context.strokeStyle = ink.line;
      for (const v of [0, 0.5, 1]) {
        context.textAlign = "right";
        context.textBaseline = "middle";
        context.fillText(percent(v, 0), pad.left - 6, y(v));
        context.textAlign = "center";
        context.textBaseline = "alphabetic";
        context.fillText(percent(v, 0), x(v), height - 12);
        context.beginPath();
        context.moveTo(pad.left, Math.round(y(v)) + 0.5);
        context.lineTo(width - pad.right, Math.round(y(v)) + 0.5);
        context.stroke();
      }
      context.strokeStyle = ink.faint;
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(x(0), y(0));
      context.lineTo(x(1), y(1));
      context.stroke();
      context.setLineDash([]);
      context.fillStyle = ink.text;
      for (const bin of found.bins) {
        context.beginPath();
        context.arc(
          x(bin.confidence),
          y(bin.right),
          Math.max(3, Math.min(11, 1.5 + 16 * Math.sqrt(bin.n / found.n) * 0.6)),
          0,
          2 * Math.PI,
        );
        context.globalAlpha = 0.85;
        context.fill();
        context.globalAlpha = 1;
      }
    },
    [found, ink],
  );
  return (
    <section class="box">
      <h2>Calibration</h2>
      {!model.data && (
        <p class="why">
          Needs rows with labels: start the server with <code>--data</code>.
        </p>
      )}
      {loaded.state === "failed" && <Failure message={loaded.message} />}
      {model.data && !found && loaded.state === "loading" && <Waiting>Scoring the labelled rows…</Waiting>}
      {found && found.n < LEAST && (
        <p class="why">Only {plural(found.n, "labelled row")}: too few to say whether probabilities are honest.</p>
      )}
      {found && found.n >= LEAST && (
        <p class="why">
          Share right against certainty on {plural(found.n, "labelled row")}; on the dashed line, probabilities are honest. Mean
          gap {percent(found.error)}. Rows that the model was fitted to flatter it.
        </p>
      )}
      <div ref={attach}>
        {found && found.n >= LEAST && (
          <canvas
            ref={canvas}
            style={{ width: `${width}px`, height: `${height}px` }}
            role="img"
            aria-label={`Reliability diagram, mean gap ${percent(found.error)}`}
          />
        )}
      </div>
    </section>
  );
}
