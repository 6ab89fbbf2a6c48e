/** Which part of the plane is seen: its centre, and pixels per unit in either direction. */

export interface Camera {
  x: number;
  y: number;
  /** Pixels per unit. */
  sx: number;
  sy: number;
  width: number;
  height: number;
}

export interface Extent {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

/** The whole extent, with a margin; the same scale in both directions if `square`. */
export function fitted(extent: Extent, width: number, height: number, square: boolean): Camera {
  const margin = 0.06;
  let sx = (width * (1 - 2 * margin)) / (extent.x1 - extent.x0 || 1);
  let sy = (height * (1 - 2 * margin)) / (extent.y1 - extent.y0 || 1);
  if (square) sx = sy = Math.min(sx, sy);
  return { x: (extent.x0 + extent.x1) / 2, y: (extent.y0 + extent.y1) / 2, sx, sy, width, height };
}

export const screenX = (c: Camera, x: number) => c.width / 2 + (x - c.x) * c.sx;
export const screenY = (c: Camera, y: number) => c.height / 2 - (y - c.y) * c.sy;
export const dataX = (c: Camera, px: number) => c.x + (px - c.width / 2) / c.sx;
export const dataY = (c: Camera, py: number) => c.y - (py - c.height / 2) / c.sy;

export function panned(c: Camera, dx: number, dy: number): Camera {
  return { ...c, x: c.x - dx / c.sx, y: c.y + dy / c.sy };
}

/** Zoomed around a pixel, which keeps its place. */
export function zoomed(c: Camera, factor: number, px: number, py: number): Camera {
  const [x, y] = [dataX(c, px), dataY(c, py)];
  const next = { ...c, sx: c.sx * factor, sy: c.sy * factor };
  return { ...next, x: x - (px - c.width / 2) / next.sx, y: y + (py - c.height / 2) / next.sy };
}

export function resized(c: Camera, width: number, height: number): Camera {
  if (c.width === width && c.height === height) return c;
  const factor = Math.min(width / c.width, height / c.height) || 1;
  return { ...c, sx: c.sx * factor, sy: c.sy * factor, width, height };
}
