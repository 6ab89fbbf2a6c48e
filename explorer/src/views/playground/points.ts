/** The points of a playground: where they are, and their labels. */
import { plural } from "../../core/format";
import type { ToyName } from "../../core/types";

export interface Points {
  xy: [number, number][];
  labels: (number | null)[];
  /** The true classes of a toy, which the model never sees. */
  truth: number[] | null;
  toy: ToyName | null;
}

export interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export const EMPTY: Points = { xy: [], labels: [], truth: null, toy: null };
export const BLANK_BOX: Box = { x0: -3, x1: 3, y0: -3, y1: 3 };
export const MOST_POINTS = 4000;

export function added(points: Points, xy: [number, number][], label: number | null): Points {
  const room = xy.slice(0, Math.max(0, MOST_POINTS - points.xy.length));
  return { xy: [...points.xy, ...room], labels: [...points.labels, ...room.map(() => label)], truth: null, toy: null };
}

/** Without the points within a radius of a place. */
export function erased(points: Points, x: number, y: number, radius: number): Points {
  const kept = points.xy.map(([px, py]) => (px - x) ** 2 + (py - y) ** 2 > radius * radius);
  if (kept.every(Boolean)) return points;
  return { xy: points.xy.filter((_, i) => kept[i]), labels: points.labels.filter((_, i) => kept[i]), truth: null, toy: null };
}

/** The class numbers in use, densely renumbered: a fit has no empty classes. */
export function usedClasses(labels: (number | null)[]): number[] {
  return [...new Set(labels.filter((label): label is number => label !== null))].sort((a, b) => a - b);
}

/** A square around the points, with a margin. */
export function boxOf(xy: [number, number][]): Box {
  if (xy.length === 0) return BLANK_BOX;
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of xy) {
    x0 = Math.min(x0, x);
    x1 = Math.max(x1, x);
    y0 = Math.min(y0, y);
    y1 = Math.max(y1, y);
  }
  const half = 0.575 * Math.max(x1 - x0, y1 - y0, 1e-3);
  const [cx, cy] = [(x0 + x1) / 2, (y0 + y1) / 2];
  return { x0: cx - half, x1: cx + half, y0: cy - half, y1: cy + half };
}

/** The number of the nearest mean. */
export function nearest(means: [number, number][], x: number, y: number): number {
  let [best, distance] = [0, Infinity];
  means.forEach(([mx, my], k) => {
    const d = (mx - x) ** 2 + (my - y) ** 2;
    if (d < distance) [best, distance] = [k, d];
  });
  return best;
}

/** Why a fit is not possible yet, in words; `null` if it is. */
export function obstacle(points: Points): string | null {
  const classes = usedClasses(points.labels).length;
  if (points.xy.length === 0) return "Draw some points, or take a toy.";
  if (classes === 0) return "Give some points a label: choose a class and draw.";
  if (classes === 1) return "Labels of a second class are needed.";
  if (points.xy.length < 10) return "A few more points, please: ten at least.";
  return null;
}

/** How many points, labels and classes. */
export function summary(points: Points): string {
  const labelled = points.labels.filter((label) => label !== null).length;
  if (points.xy.length === 0) return "No points yet";
  return `${plural(points.xy.length, "point")}, ${labelled} with a label, ${plural(usedClasses(points.labels).length, "class", "classes")}`;
}
