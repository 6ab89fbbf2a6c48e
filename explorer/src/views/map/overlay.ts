/** What lies over the points: axes, names of classes, given labels, the row in hand, the lasso. */
import { short, ticks } from "../../core/format";
import type { Ink } from "../../core/theme";
import { FONT, sharp } from "../../plot/canvas";
import { type Camera, dataX, dataY, screenX, screenY } from "../../scatter/camera";

export interface Badge {
  row: number;
  colour: string;
}

export interface PlaceName {
  text: string;
  x: number;
  y: number;
  colour: string;
}

export interface Overlay {
  xs: Float32Array;
  ys: Float32Array;
  /** Names of the columns, if these are the axes. */
  axes: [string, string] | null;
  names: PlaceName[];
  badges: Badge[];
  hover: number | null;
  chosen: number | null;
  /** In pixels. */
  lasso: [number, number][];
}

const BOLD = FONT.replace("11px", "600 12px");
const LONGEST_NAME = 24;

export function drawOverlay(canvas: HTMLCanvasElement, c: Camera, ink: Ink, shown: Overlay): void {
  const context = sharp(canvas, c.width, c.height);
  if (!context) return;
  const at = (row: number): [number, number] => [screenX(c, shown.xs[row]), screenY(c, shown.ys[row])];
  if (shown.axes) drawAxes(context, c, ink, shown.axes);
  for (const badge of shown.badges) {
    disc(context, at(badge.row), 5.5);
    context.fillStyle = badge.colour;
    context.fill();
    stroke(context, ink.panel, 2);
    disc(context, at(badge.row), 7);
    stroke(context, ink.text, 1);
  }
  drawNames(context, c, ink, shown.names);
  for (const [row, weight] of [
    [shown.hover, 1.5],
    [shown.chosen, 2.5],
  ] as const) {
    if (row === null) continue;
    disc(context, at(row), 8);
    stroke(context, ink.panel, weight + 2);
    stroke(context, ink.text, weight);
  }
  if (shown.lasso.length > 1) drawLasso(context, ink, shown.lasso);
}

function disc(context: CanvasRenderingContext2D, [x, y]: [number, number], r: number): void {
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
}

function stroke(context: CanvasRenderingContext2D, colour: string, width: number): void {
  context.lineWidth = width;
  context.strokeStyle = colour;
  context.stroke();
}

function drawNames(context: CanvasRenderingContext2D, c: Camera, ink: Ink, names: PlaceName[]): void {
  context.font = BOLD;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = ink.panel;
  context.fillStyle = ink.text;
  for (const name of names) {
    const [x, y] = [screenX(c, name.x), screenY(c, name.y)];
    const text = name.text.length > LONGEST_NAME ? `${name.text.slice(0, LONGEST_NAME - 1)}…` : name.text;
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

function drawLasso(context: CanvasRenderingContext2D, ink: Ink, lasso: [number, number][]): void {
  context.beginPath();
  lasso.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
  context.closePath();
  context.globalAlpha = 0.1;
  context.fillStyle = ink.text;
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash([5, 4]);
  stroke(context, ink.text, 1.25);
  context.setLineDash([]);
}

function drawAxes(context: CanvasRenderingContext2D, c: Camera, ink: Ink, [across, up]: [string, string]): void {
  context.font = FONT;
  context.fillStyle = ink.quiet;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (const x of ticks(dataX(c, 0), dataX(c, c.width), Math.max(2, c.width / 130))) {
    const at = Math.round(screenX(c, x)) + 0.5;
    if (at < 40 || at > c.width - 20) continue;
    context.beginPath();
    context.moveTo(at, c.height - 22);
    context.lineTo(at, c.height - 18);
    stroke(context, ink.line, 1);
    context.fillText(short(x), at, c.height - 4);
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const y of ticks(dataY(c, c.height), dataY(c, 0), Math.max(2, c.height / 90))) {
    const at = Math.round(screenY(c, y)) + 0.5;
    if (at > 30 && at < c.height - 30) context.fillText(short(y), 8, at);
  }
  context.font = BOLD;
  context.fillStyle = ink.text;
  context.textAlign = "right";
  context.fillText(`${across} →`, c.width - 10, c.height - 34);
  context.textAlign = "left";
  context.fillText(`↑ ${up}`, 8, 14);
}
