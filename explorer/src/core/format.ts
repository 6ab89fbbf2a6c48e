/** Numbers and names for people. */
import type { Cell } from "./types";

export function short(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : trimmed(value, digits);
  return text.replace("-", "−").replace("e+", "e");
}

export function percent(share: number | null | undefined, digits = 1): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "–";
  return `${(100 * share).toFixed(digits)} %`;
}

export const count = (n: number) => n.toLocaleString("en-US").replace(/,/g, "\u202f");

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function cell(value: Cell | undefined): string {
  if (value === null || value === undefined) return "missing";
  if (typeof value === "number") return short(value, 4);
  return String(value);
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.round(seconds))} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** Round numbers that divide a range into about n parts. */
export function ticks(low: number, high: number, n: number): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [];
  const raw = (high - low) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999) ?? 10 * power;
  const found: number[] = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return found;
}

function trimmed(value: number, digits: number): string {
  const size = Math.floor(Math.log10(Math.abs(value)));
  const text = value.toFixed(Math.min(8, Math.max(0, digits - 1 - size)));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
