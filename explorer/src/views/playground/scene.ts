/** What the panels of the playground show: figure 1 of the paper (data and decision regions) and figure 2 (the latent image). */
import { UNLABELLED, classColour, withAlpha } from "../../core/palette";
import type { Ink, Shade } from "../../core/theme";
import { marker } from "../../plot/marker";
import { type Frame2, type Grid, drawRegions, toX, toY } from "../../plot/regions";
import { type Box, type Points, nearest } from "./points";
import type { Frame } from "./run";

export interface Look {
  shade: Shade;
  ink: Ink;
  /** Colour and shape of each class of the fit: the class number it was drawn with. */
  classes: number[];
}

export function drawData(
  context: CanvasRenderingContext2D,
  size: number,
  box: Box,
  points: Points,
  frame: Frame | null,
  look: Look,
  showUnlabelled: boolean,
): void {
  const f: Frame2 = { ...box, width: size, height: size };
  if (frame)
    drawRegions(
      context,
      frame.grid,
      f,
      look.classes.map((k) => classColour(k, look.shade)),
      withAlpha(look.ink.text, 0.55),
    );
  const small = dotSize(points.xy.length, size);
  if (showUnlabelled) {
    const path = new Path2D();
    points.xy.forEach(([x, y], i) => {
      if (points.labels[i] === null) dot(path, toX(f, x), toY(f, y), small);
    });
    context.fillStyle = withAlpha(UNLABELLED[look.shade], frame ? 0.62 : 0.8);
    context.fill(path);
  }
  labelled(context, points, look, size, (i) => [toX(f, points.xy[i][0]), toY(f, points.xy[i][1])], false);
}

export function drawLatent(
  context: CanvasRenderingContext2D,
  size: number,
  points: Points,
  frame: Frame | null,
  look: Look,
  showUnlabelled: boolean,
): void {
  if (!frame || frame.means.length === 0) return;
  const f: Frame2 = { ...latentBox(frame.means), width: size, height: size };
  const colours = look.classes.map((k) => classColour(k, look.shade));
  drawRegions(context, latentGrid(frame.means), f, colours, withAlpha(look.ink.text, 0.35));
  const scale = size / (f.x1 - f.x0);
  frame.means.forEach(([x, y], k) => {
    for (const radius of [1, 2]) {
      context.beginPath();
      context.arc(toX(f, x), toY(f, y), radius * scale, 0, 2 * Math.PI);
      context.lineWidth = radius === 1 ? 1.25 : 0.75;
      context.strokeStyle = withAlpha(colours[k] ?? look.ink.faint, 0.7);
      context.stroke();
    }
  });
  const small = dotSize(points.xy.length, size);
  if (showUnlabelled) {
    const paths = frame.means.map(() => new Path2D());
    points.xy.forEach((_, i) => {
      if (points.labels[i] !== null) return;
      const [x, y] = [frame.latent[2 * i], frame.latent[2 * i + 1]];
      dot(paths[nearest(frame.means, x, y)], toX(f, x), toY(f, y), small);
    });
    paths.forEach((path, k) => {
      context.fillStyle = withAlpha(colours[k] ?? look.ink.faint, 0.6);
      context.fill(path);
    });
  }
  labelled(context, points, look, size, (i) => [toX(f, frame.latent[2 * i]), toY(f, frame.latent[2 * i + 1])], true);
  context.lineWidth = 1.5;
  context.strokeStyle = look.ink.text;
  for (const [x, y] of frame.means) {
    const [px, py] = [toX(f, x), toY(f, y)];
    context.beginPath();
    context.moveTo(px - 4, py);
    context.lineTo(px + 4, py);
    context.moveTo(px, py - 4);
    context.lineTo(px, py + 4);
    context.stroke();
  }
}

function labelled(
  context: CanvasRenderingContext2D,
  points: Points,
  look: Look,
  size: number,
  place: (i: number) => [number, number],
  thin: boolean,
): void {
  const many = points.labels.reduce<number>((n, label) => n + (label === null ? 0 : 1), 0) > 60;
  const r = (many ? 3.2 : 5.2) * Math.min(1, Math.max(0.6, size / 340)) * (thin && many ? 0.9 : 1);
  points.labels.forEach((label, i) => {
    if (label === null) return;
    const [x, y] = place(i);
    context.beginPath();
    marker(context, label, x, y, r);
    context.fillStyle = classColour(label, look.shade);
    context.fill();
    context.lineWidth = many ? 0.9 : 1.6;
    context.strokeStyle = look.ink.panel;
    context.stroke();
    if (!many) {
      context.lineWidth = 0.8;
      context.strokeStyle = look.ink.text;
      context.beginPath();
      marker(context, label, x, y, r + 0.7);
      context.stroke();
    }
  });
}

function dot(path: Path2D, x: number, y: number, r: number): void {
  path.moveTo(x + r, y);
  path.arc(x, y, r, 0, 2 * Math.PI);
}

function dotSize(n: number, size: number): number {
  return Math.max(1.2, Math.min(3, (size / 200) * Math.sqrt(300 / Math.max(60, n))));
}

/** A square that holds the Gaussians of all classes. */
export function latentBox(means: [number, number][]): Box {
  const n = Math.max(1, means.length);
  const cx = means.reduce((s, m) => s + m[0], 0) / n;
  const cy = means.reduce((s, m) => s + m[1], 0) / n;
  const reach = Math.max(0, ...means.map(([x, y]) => Math.max(Math.abs(x - cx), Math.abs(y - cy))));
  const half = reach + 3.4;
  return { x0: cx - half, x1: cx + half, y0: cy - half, y1: cy + half };
}

const kept = new Map<string, Grid>();

/** The posterior of unit Gaussians around the means, equally common. */
export function latentGrid(means: [number, number][]): Grid {
  const key = JSON.stringify(means);
  const known = kept.get(key);
  if (known) return known;
  const [w, h] = [72, 72];
  const box = latentBox(means);
  const classes = new Uint8Array(w * h);
  const certainty = new Uint8Array(w * h);
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      const x = box.x0 + ((j + 0.5) / w) * (box.x1 - box.x0);
      const y = box.y0 + ((i + 0.5) / h) * (box.y1 - box.y0);
      const k = nearest(means, x, y);
      const own = (means[k][0] - x) ** 2 + (means[k][1] - y) ** 2;
      const total = means.reduce((s, m) => s + Math.exp(0.5 * (own - (m[0] - x) ** 2 - (m[1] - y) ** 2)), 0);
      classes[i * w + j] = k;
      certainty[i * w + j] = Math.round(255 / total);
    }
  }
  const grid = { w, h, ...box, classes, certainty };
  // Means may move with every frame: only the last ones are worth keeping.
  if (kept.size > 7) kept.clear();
  kept.set(key, grid);
  return grid;
}
