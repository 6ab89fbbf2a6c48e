/** What every renderer of points does, and which of them suits the machine. */
import type { Camera, Extent } from "./camera";

/** What becomes of a row. */
export const HIDDEN = 0;
export const SHOWN = 1;
export const DIMMED = 2;

/** A frame that takes longer is too slow. */
const SLOWEST_MS = 24;
const FEWEST = 20_000;

/**
 * Points are kept in a shuffled order: while the user moves, only as many are drawn as the machine manages in a frame, and these are a
 * fair sample; when the hand rests, all of them are.
 */
export interface PointRenderer {
  /** Points that are drawn while the user moves. */
  budget: number;
  /** Places, [n] each; the extent holds nearly all of them. */
  setPlaces(xs: Float32Array, ys: Float32Array, extent: Extent): void;
  /** For each row the entry of the colour table and what becomes of it (`HIDDEN`, `SHOWN`, `DIMMED`). */
  setLooks(entries: Uint8Array, states: Uint8Array): void;
  /** 256 colours, RGBA, and the colour below them. */
  setTable(colours: Uint8Array, ground: [number, number, number]): void;
  /** Draws all points, or while the user moves as many as there is time for; returns how many. */
  draw(camera: Camera, ratio: number, moving: boolean, zoom: number): number;
  /** Fits the budget to the time that a frame of it took. */
  learn(milliseconds: number): void;
  destroy(): void;
}

export function nextBudget(budget: number, n: number, milliseconds: number): number {
  const now = Math.min(n, budget);
  if (milliseconds > SLOWEST_MS) return Math.max(FEWEST, now * 0.75);
  if (milliseconds < 0.75 * SLOWEST_MS && now < n) return now * 1.15;
  return budget;
}

/** Size in pixels and opacity of points, so that a thousand and a million of them both read as a density. */
export function pointLook(n: number, area: number, zoom: number): { size: number; alpha: number } {
  const room = Math.sqrt(area / n);
  const size = Math.min(9, Math.max(1.6, 0.46 * room) * Math.max(1, zoom) ** 0.35);
  const alpha = Math.min(0.9, Math.max(0.25, 0.15 * room) * Math.max(1, zoom) ** 0.3);
  return { size, alpha };
}

/** Whether there is WebGL 2 on a graphics card: drivers that emulate it on the processor say so in their name. */
export function hasGraphicsCard(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : gl.getParameter(gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
