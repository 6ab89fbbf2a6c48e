/** Arrays of a million numbers: ranges, bytes for colours, histograms, masks. Pure, so that tests can hold them. */

export interface Range {
  low: number;
  high: number;
}

/** Range of the finite numbers between two quantiles, from a sample of at most 20,000 of them. */
export function rangeOf(values: Float32Array, from = 0, to = 1): Range {
  const stride = Math.max(1, Math.floor(values.length / 20_000));
  const kept: number[] = [];
  if (from === 0 && to === 1) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < values.length; i++) {
      const v = values[i];
      if (v < low && v !== -Infinity) low = v;
      if (v > high && v !== Infinity) high = v;
    }
    return widened(low, high);
  }
  for (let i = 0; i < values.length; i += stride) if (Number.isFinite(values[i])) kept.push(values[i]);
  kept.sort((a, b) => a - b);
  if (kept.length === 0) return { low: 0, high: 1 };
  const at = (q: number) => kept[Math.min(kept.length - 1, Math.max(0, Math.round(q * (kept.length - 1))))];
  return widened(at(from), at(to));
}

function widened(low: number, high: number): Range {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return { low: 0, high: 1 };
  if (high > low) return { low, high };
  const pad = Math.abs(low) > 0 ? 0.5 * Math.abs(low) : 0.5;
  return { low: low - pad, high: high + pad };
}

export const MISSING = 255;

/** Numbers as 0..=254 within a range; 255 where there is none. */
export function toBytes(values: Float32Array, range: Range, out: Uint8Array): void {
  const scale = 254 / (range.high - range.low);
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v !== v) out[i] = MISSING;
    else {
      const t = (v - range.low) * scale;
      out[i] = t <= 0 ? 0 : t >= 254 ? 254 : (t + 0.5) | 0;
    }
  }
}

/** Codes as bytes; 255 for none, and codes beyond 254 start again. */
export function codesToBytes(codes: Float32Array, out: Uint8Array): void {
  for (let i = 0; i < codes.length; i++) out[i] = codes[i] === codes[i] ? codes[i] % 255 : MISSING;
}

export function histogram(values: Float32Array, range: Range, bins: number, mask: Uint8Array | null): Uint32Array {
  const counts = new Uint32Array(bins);
  const scale = bins / (range.high - range.low);
  for (let i = 0; i < values.length; i++) {
    if (mask && mask[i] === 0) continue;
    const v = values[i];
    if (!(v >= range.low && v <= range.high)) continue;
    const b = ((v - range.low) * scale) | 0;
    counts[b === bins ? bins - 1 : b]++;
  }
  return counts;
}

export interface Filter {
  values: Float32Array;
  low: number;
  high: number;
}

/** Rows that pass every filter and whose class is shown: 1, else 0. Returns how many pass. */
export function maskOf(
  n: number,
  filters: Filter[],
  classes: Float32Array | null,
  hidden: ReadonlySet<number>,
  out: Uint8Array,
): number {
  out.fill(1, 0, n);
  for (const { values, low, high } of filters) {
    for (let i = 0; i < n; i++) if (!(values[i] >= low && values[i] <= high)) out[i] = 0;
  }
  if (classes && hidden.size > 0) {
    const gone = new Uint8Array(256);
    for (const k of hidden) gone[k & 255] = 1;
    for (let i = 0; i < n; i++) if (gone[classes[i] & 255]) out[i] = 0;
  }
  let left = 0;
  for (let i = 0; i < n; i++) left += out[i];
  return left;
}

/** The order that points are drawn in: shuffled, so that any prefix is a fair sample. */
export function shuffled(n: number): Uint32Array {
  const order = new Uint32Array(n);
  let state = 0x9e3779b9;
  for (let i = 0; i < n; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 4294967296) * (i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  return order;
}

/** Whether a place is inside a polygon, by the number of edges a ray crosses. */
export function insidePolygon(polygon: [number, number][], x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i];
    const [xj, yj] = polygon[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/** Rows inside a polygon that the mask lets through. */
export function rowsInside(polygon: [number, number][], xs: Float32Array, ys: Float32Array, mask: Uint8Array): number[] {
  const [x0, x1] = [Math.min(...polygon.map((p) => p[0])), Math.max(...polygon.map((p) => p[0]))];
  const [y0, y1] = [Math.min(...polygon.map((p) => p[1])), Math.max(...polygon.map((p) => p[1]))];
  const found: number[] = [];
  for (let i = 0; i < xs.length; i++) {
    if (mask[i] === 0 || !(xs[i] >= x0 && xs[i] <= x1 && ys[i] >= y0 && ys[i] <= y1)) continue;
    if (insidePolygon(polygon, xs[i], ys[i])) found.push(i);
  }
  return found;
}
