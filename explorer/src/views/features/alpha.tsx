/** The histogram of a channel's activations, with alpha as a handle on it. */
import { useEffect, useState } from "preact/hooks";
import { short } from "../../core/format";
import { withAlpha } from "../../core/palette";
import { useInk } from "../../core/theme";
import type { Histogram } from "../../core/types";
import { FONT, useDrawing } from "../../plot/canvas";
import { useSize } from "../../ui/hooks";
import { Failure } from "../../ui/parts";
import { REACH, alphaText } from "./alphas";

const HEIGHT = 112;
const BASE = 92;

export function AlphaHistogram(props: {
  histogram: Histogram | null;
  failed: string | null;
  alpha: number;
  onAlpha: (alpha: number) => void;
}) {
  const [attach, { width }] = useSize<HTMLDivElement>();
  const ink = useInk();
  const { histogram, alpha } = props;
  const toX = (a: number) => 8 + ((a + REACH) / (2 * REACH)) * (width - 16);
  const canvas = useDrawing(
    width,
    HEIGHT,
    (context) => {
      context.font = FONT;
      context.textAlign = "center";
      context.fillStyle = ink.quiet;
      for (let a = -REACH + 1; a < REACH; a += 2) context.fillText(a === 0 ? "0" : `${short(a)}σ`, toX(a), HEIGHT - 5);
      if (histogram && histogram.sigma > 0) {
        const top = Math.max(1, ...histogram.counts);
        histogram.counts.forEach((n, b) => {
          const [a0, a1] = [
            (histogram.edges[b] - histogram.mean) / histogram.sigma,
            (histogram.edges[b + 1] - histogram.mean) / histogram.sigma,
          ];
          if (a1 < -REACH || a0 > REACH) return;
          const h = (n / top) * (BASE - 8);
          context.fillStyle = withAlpha(ink.faint, 0.55);
          context.fillRect(toX(a0), BASE - h, Math.max(1, toX(a1) - toX(a0) - 0.5), h);
        });
      }
      context.strokeStyle = ink.faint;
      context.beginPath();
      context.moveTo(0, BASE + 0.5);
      context.lineTo(width, BASE + 0.5);
      context.stroke();
      context.fillStyle = ink.text;
      context.globalAlpha = 0.12;
      context.fillRect(Math.min(toX(0), toX(alpha)), 4, Math.abs(toX(alpha) - toX(0)), BASE - 4);
      context.globalAlpha = 1;
      context.fillRect(toX(alpha) - 1, 2, 2, BASE - 2);
      context.beginPath();
      context.arc(toX(alpha), BASE, 6, 0, 2 * Math.PI);
      context.fill();
    },
    [histogram, alpha, ink],
  );
  const [dragging, setDragging] = useState(false);
  useEffect(() => {
    if (!dragging) return;
    const end = () => setDragging(false);
    addEventListener("pointerup", end);
    return () => removeEventListener("pointerup", end);
  }, [dragging]);
  const drag = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    setDragging(true);
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const a = ((event.clientX - box.left - 8) / (width - 16)) * 2 * REACH - REACH;
    props.onAlpha(Math.min(REACH, Math.max(-REACH, Math.round(4 * a) / 4)));
  };
  return (
    <div class="alpha">
      <div class="head">
        <label for="alpha-slider">Shift</label>
        <output for="alpha-slider">{alphaText(alpha)} σ</output>
      </div>
      {props.failed && <Failure message={props.failed} />}
      <div ref={attach}>
        <canvas
          ref={canvas}
          style={{ width: `${width}px`, height: `${HEIGHT}px` }}
          role="img"
          aria-label="Histogram of the channel's activations, in standard deviations"
          onPointerDown={drag}
          onPointerMove={drag}
        />
      </div>
      <input
        id="alpha-slider"
        type="range"
        min={-REACH}
        max={REACH}
        step={0.25}
        value={alpha}
        aria-valuetext={`${alphaText(alpha)} standard deviations`}
        onInput={(event) => props.onAlpha(event.currentTarget.valueAsNumber)}
      />
      {histogram && (
        <p class="why">
          mean {short(histogram.mean)}, σ {short(histogram.sigma)}
        </p>
      )}
    </div>
  );
}
