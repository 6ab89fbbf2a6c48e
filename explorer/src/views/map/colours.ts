/** Colours and names on the map. */
import { UNLABELLED, classColour, rgb, scale } from "../../core/palette";
import type { Shade } from "../../core/theme";
import { MISSING } from "../../scatter/numbers";

/** 256 colours: of classes or categories, or of a scale; the last for rows that have none. */
export function colourTable(categories: number | null, shade: Shade): Uint8Array {
  const table = new Uint8Array(1024);
  for (let i = 0; i < 255; i++) {
    const [r, g, b] =
      categories !== null ? rgb(classColour(i, shade)) : scale(shade === "dark" ? 0.12 + (0.88 * i) / 254 : (0.94 * i) / 254);
    table.set([r, g, b, 255], 4 * i);
  }
  table.set([...rgb(UNLABELLED[shade]), 90], 4 * MISSING);
  return table;
}

/** How many rows that the mask lets through each category has. */
export function counted(values: Float32Array, mask: Uint8Array, n: number): number[] {
  const counts = new Array<number>(n).fill(0);
  for (let i = 0; i < values.length; i++) if (mask[i] !== 0 && values[i] < n) counts[values[i]]++;
  return counts;
}

/** Where the name of each class goes: the median of a sample of its rows. */
export function classNames(
  names: string[],
  classes: Float32Array,
  xs: Float32Array,
  ys: Float32Array,
): { text: string; k: number; x: number; y: number }[] {
  const stride = Math.max(1, Math.floor(classes.length / 50_000));
  const found = names.map(() => ({ x: [] as number[], y: [] as number[] }));
  for (let i = 0; i < classes.length; i += stride) {
    const own = found[classes[i]];
    if (own && Number.isFinite(xs[i]) && Number.isFinite(ys[i])) {
      own.x.push(xs[i]);
      own.y.push(ys[i]);
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1];
  return found.flatMap((own, k) => (own.x.length === 0 ? [] : [{ text: names[k], k, x: median(own.x), y: median(own.y) }]));
}
