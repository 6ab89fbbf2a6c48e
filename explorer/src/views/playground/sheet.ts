/** The panels as one picture, or a film of all frames, to send to somebody. */
import { INK, type Ink, shade } from "../../core/theme";

const COLUMNS = 2;

/** Draws the canvases of an area side by side, with a line of text below. */
export function compose(area: HTMLElement, sheet: HTMLCanvasElement, text: string): void {
  const canvases = [...area.querySelectorAll("canvas")];
  const context = sheet.getContext("2d");
  if (canvases.length === 0 || !context) return;
  const size = canvases[0].width;
  const [gap, foot] = [Math.round(size / 36), Math.round(size / 14)];
  const rows = Math.ceil(canvases.length / COLUMNS);
  // Even sizes: video encoders want them.
  const [w, h] = [even(COLUMNS * size + (COLUMNS + 1) * gap), even(rows * size + (rows + 1) * gap + foot)];
  if (sheet.width !== w || sheet.height !== h) {
    sheet.width = w;
    sheet.height = h;
  }
  const ink: Ink = INK[shade.get()];
  context.fillStyle = ink.page;
  context.fillRect(0, 0, w, h);
  canvases.forEach((canvas, i) => {
    const [x, y] = [gap + (i % COLUMNS) * (size + gap), gap + Math.floor(i / COLUMNS) * (size + gap)];
    context.fillStyle = ink.panel;
    context.fillRect(x, y, size, size);
    context.drawImage(canvas, x, y, size, size);
  });
  context.fillStyle = ink.quiet;
  context.font = `${Math.round(foot * 0.42)}px "Inter Variable", Inter, system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.fillText(text, gap, h - foot / 2 - gap / 4);
}

const even = (n: number) => n + (n % 2);

/** The video format that this browser writes; `null` if none. */
export function filmType(): { mime: string; ending: string } | null {
  if (typeof MediaRecorder === "undefined") return null;
  const kinds = [
    ["video/webm;codecs=vp9", "webm"],
    ["video/webm", "webm"],
    ["video/mp4", "mp4"],
  ];
  const found = kinds.find(([mime]) => MediaRecorder.isTypeSupported(mime));
  return found ? { mime: found[0], ending: found[1] } : null;
}

/** Films a sheet while `show` brings one frame after another onto it. */
export async function film(
  sheet: HTMLCanvasElement,
  mime: string,
  frames: number,
  show: (frame: number) => Promise<void>,
): Promise<Blob> {
  await show(0);
  const recorder = new MediaRecorder(sheet.captureStream(25), { mimeType: mime, videoBitsPerSecond: 4_000_000 });
  const parts: Blob[] = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const ended = new Promise((resolve) => (recorder.onstop = resolve));
  recorder.start();
  for (let i = 0; i < frames; i++) {
    await show(i);
    await new Promise((go) => setTimeout(go, 40));
  }
  await new Promise((go) => setTimeout(go, 900));
  recorder.stop();
  await ended;
  return new Blob(parts, { type: mime });
}

/** The frames of a film of n: more of the beginning, where most happens. */
export function moments(n: number, most: number): number[] {
  const wanted = Math.min(n, most);
  const found = Array.from({ length: wanted }, (_, i) => Math.round((n - 1) * (wanted === 1 ? 1 : i / (wanted - 1)) ** 1.8));
  return [...new Set(found)];
}
