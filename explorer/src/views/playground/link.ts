/** Drawn points in an address: 5 bytes each (x and y as 16-bit places in a box, and the label), in base64url. */
import { bytesOf } from "../../core/bytes";
import { BLANK_BOX, type Box, type Points } from "./points";

/** More would make addresses that programs cut off. */
export const MOST_IN_LINK = 600;
const NONE = 255;

export function toLink(points: Points): string | null {
  const n = points.xy.length;
  if (n === 0 || n > MOST_IN_LINK) return null;
  const box = boxAround(points.xy);
  const bytes = new Uint8Array(16 + 5 * n);
  const view = new DataView(bytes.buffer);
  [box.x0, box.x1, box.y0, box.y1].forEach((v, i) => view.setFloat32(4 * i, v, true));
  points.xy.forEach(([x, y], i) => {
    view.setUint16(16 + 5 * i, place(x, box.x0, box.x1), true);
    view.setUint16(18 + 5 * i, place(y, box.y0, box.y1), true);
    view.setUint8(20 + 5 * i, points.labels[i] ?? NONE);
  });
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** `null` for what is no such text: addresses come from strangers. */
export function fromLink(text: string): Points | null {
  let bytes: Uint8Array;
  try {
    bytes = bytesOf(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return null;
  }
  const n = (bytes.length - 16) / 5;
  if (!Number.isInteger(n) || n < 1 || n > MOST_IN_LINK) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [x0, x1, y0, y1] = [0, 4, 8, 12].map((at) => view.getFloat32(at, true));
  const sane = [x0, x1, y0, y1].every((v) => Number.isFinite(v) && Math.abs(v) < 1e5) && x1 > x0 && y1 > y0;
  if (!sane) return null;
  const points: Points = { xy: [], labels: [], truth: null, toy: null };
  for (let i = 0; i < n; i++) {
    const label = view.getUint8(20 + 5 * i);
    if (label !== NONE && label > 7) return null;
    points.xy.push([
      x0 + (view.getUint16(16 + 5 * i, true) / 65535) * (x1 - x0),
      y0 + (view.getUint16(18 + 5 * i, true) / 65535) * (y1 - y0),
    ]);
    points.labels.push(label === NONE ? null : label);
  }
  return points;
}

const place = (v: number, low: number, high: number) => Math.round(65535 * Math.min(1, Math.max(0, (v - low) / (high - low))));

function boxAround(xy: [number, number][]): Box {
  const inside = xy.every(([x, y]) => x >= BLANK_BOX.x0 && x <= BLANK_BOX.x1 && y >= BLANK_BOX.y0 && y <= BLANK_BOX.y1);
  if (inside) return BLANK_BOX;
  const [xs, ys] = [xy.map((p) => p[0]), xy.map((p) => p[1])];
  return { x0: Math.min(...xs) - 1e-3, x1: Math.max(...xs) + 1e-3, y0: Math.min(...ys) - 1e-3, y1: Math.max(...ys) + 1e-3 };
}
