/** Decision regions: a tint that fades with the certainty, and the boundary as a line. */
import { contours } from "d3-contour";
import { rgb } from "../core/palette";

export interface Grid {
  w: number;
  h: number;
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  /** [h, w], first row at y0. */
  classes: Uint8Array;
  /** Largest posterior probability, 0..=255. */
  certainty: Uint8Array;
}

/** From data to pixels; y points up in the data and down on the screen. */
export interface Frame2 {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
  width: number;
  height: number;
}

export const toX = (f: Frame2, x: number) => ((x - f.x0) / (f.x1 - f.x0)) * f.width;
export const toY = (f: Frame2, y: number) => ((f.y1 - y) / (f.y1 - f.y0)) * f.height;

/** Boundaries of grids that were drawn before. */
const drawn = new WeakMap<Grid, [number, number][][]>();
const tint = typeof document === "undefined" ? null : document.createElement("canvas");

export function drawRegions(context: CanvasRenderingContext2D, grid: Grid, frame: Frame2, colours: string[], line: string): void {
  if (!tint) return;
  tint.width = grid.w;
  tint.height = grid.h;
  const small = tint.getContext("2d");
  if (!small) return;
  const image = small.createImageData(grid.w, grid.h);
  paintTint(image.data, grid, colours);
  small.putImageData(image, 0, 0);
  const [left, right] = [toX(frame, grid.x0), toX(frame, grid.x1)];
  const [top, bottom] = [toY(frame, grid.y1), toY(frame, grid.y0)];
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = "high";
  context.drawImage(tint, left, top, right - left, bottom - top);
  const path = new Path2D();
  let rings = drawn.get(grid);
  if (!rings) {
    rings = boundaries(grid, colours.length);
    drawn.set(grid, rings);
  }
  for (const ring of rings) {
    ring.forEach(([gx, gy], i) => {
      const x = left + (gx / grid.w) * (right - left);
      const y = bottom - (gy / grid.h) * (bottom - top);
      if (i === 0) path.moveTo(x, y);
      else path.lineTo(x, y);
    });
  }
  context.lineWidth = 1.25;
  context.lineJoin = "round";
  context.strokeStyle = line;
  context.stroke(path);
}

/** RGBA of every cell, first row at the top. */
export function paintTint(out: Uint8ClampedArray, grid: Grid, colours: string[]): void {
  const { w, h, classes, certainty } = grid;
  const chance = 1 / Math.max(2, colours.length);
  const table = colours.map(rgb);
  for (let i = 0; i < h; i++) {
    for (let j = 0; j < w; j++) {
      const from = (h - 1 - i) * w + j;
      const [r, g, b] = table[classes[from]] ?? [128, 128, 128];
      const sure = Math.max(0, (certainty[from] / 255 - chance) / (1 - chance));
      const to = 4 * (i * w + j);
      out[to] = r;
      out[to + 1] = g;
      out[to + 2] = b;
      out[to + 3] = 255 * (0.05 + 0.31 * sure * sure);
    }
  }
}

/** Lines between classes in units of cells, without the frame of the grid. */
export function boundaries(grid: Grid, n: number): [number, number][][] {
  const { w, h, classes, certainty } = grid;
  const found: [number, number][][] = [];
  const field = new Array<number>(w * h);
  // Of n classes, n - 1 have all the boundaries between them.
  for (let k = 0; k < n - 1; k++) {
    let any = false;
    for (let i = 0; i < w * h; i++) {
      // Between two classes the largest probability is a half: the field goes through zero there.
      const margin = Math.max(0.02, (2 * certainty[i]) / 255 - 1);
      field[i] = classes[i] === k ? margin : -margin;
      any ||= classes[i] === k;
    }
    if (!any) continue;
    const [shape] = contours().size([w, h]).thresholds([0])(blurred(field, w, h));
    for (const polygon of shape.coordinates) for (const ring of polygon) found.push(...inside(ring as [number, number][], w, h));
  }
  return found;
}

/** Weights 1 2 1 across and down, so that the boundary is a line and not the steps of the cells. */
function blurred(field: number[], w: number, h: number): number[] {
  const across = field.map((v, i) => (i % w === 0 || i % w === w - 1 ? v : (field[i - 1] + 2 * v + field[i + 1]) / 4));
  return across.map((v, i) => (i < w || i >= w * (h - 1) ? v : (across[i - w] + 2 * v + across[i + w]) / 4));
}

/** The stretches of a ring that do not lie on the frame of the grid. */
function inside(ring: [number, number][], w: number, h: number): [number, number][][] {
  const framed = ([x, y]: [number, number]) => x <= 0.5 || y <= 0.5 || x >= w - 0.5 || y >= h - 0.5;
  const parts: [number, number][][] = [];
  let part: [number, number][] = [];
  for (const point of ring) {
    if (framed(point)) {
      if (part.length > 0) parts.push([...part, point]);
      part = [point];
    } else {
      part.push(point);
    }
  }
  if (part.length > 1) parts.push(part);
  return parts.filter((p) => p.length > 2 || (p.length === 2 && !(framed(p[0]) && framed(p[1]))));
}
