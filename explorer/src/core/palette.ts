/**
 * Colours of classes and of numbers.
 *
 * The first seven classes have the colours of Okabe and Ito, which people with any colour vision tell apart; further classes
 * differ from them in lightness. Where points are few, classes differ in shape as well. Numbers have a scale that grows evenly
 * in lightness (after viridis).
 */
import type { Shade } from "./theme";

export type Rgb = [number, number, number];

const LIGHT = [
  "#0072b2",
  "#e08700",
  "#009e73",
  "#c45a9a",
  "#3fa7e0",
  "#d04a02",
  "#b8a800",
  "#5b4bb5",
  "#7a1f4f",
  "#4f5b66",
  "#8c6d1f",
  "#1f7a8c",
];
const DARK = [
  "#4ba3e3",
  "#f0a63a",
  "#2cc295",
  "#e08cc0",
  "#8cd0f5",
  "#f07a3c",
  "#e8dc4a",
  "#9d8df0",
  "#c9648f",
  "#a3b0bc",
  "#c8a24a",
  "#5ec0d2",
];

export const UNLABELLED: Record<Shade, string> = { light: "#7d838a", dark: "#8d949c" };

export function classColour(k: number, shade: Shade): string {
  const colours = shade === "dark" ? DARK : LIGHT;
  return colours[((k % colours.length) + colours.length) % colours.length];
}

export function rgb(hex: string): Rgb {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

export function withAlpha(hex: string, alpha: number): string {
  const [r, g, b] = rgb(hex);
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

const STOPS: Rgb[] = [
  [68, 1, 84],
  [70, 50, 126],
  [54, 92, 141],
  [39, 127, 142],
  [31, 161, 135],
  [74, 193, 109],
  [159, 218, 58],
  [253, 231, 37],
];

/** The colour of t in 0..=1. */
export function scale(t: number): Rgb {
  const at = Math.min(1, Math.max(0, t)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(at));
  const f = at - i;
  return [0, 1, 2].map((c) => Math.round(STOPS[i][c] * (1 - f) + STOPS[i + 1][c] * f)) as Rgb;
}

export const css = ([r, g, b]: Rgb) => `rgb(${r}, ${g}, ${b})`;
