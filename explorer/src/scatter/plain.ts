/**
 * Points drawn by the page itself into pixels, for browsers without WebGL 2 and for those that only imitate it: without a graphics
 * card, a plain loop is several times as fast as shaders that are emulated.
 */
import type { Camera, Extent } from "./camera";
import { shuffled } from "./numbers";
import { DIMMED, HIDDEN, type PointRenderer, nextBudget, pointLook } from "./points";

export class PlainRenderer implements PointRenderer {
  budget = Infinity;
  private order: Uint32Array = new Uint32Array(0);
  private places: Float32Array = new Float32Array(0);
  private look: Uint8Array = new Uint8Array(0);
  private table: Uint8Array = new Uint8Array(1024);
  private ground: [number, number, number] = [255, 255, 255];
  private image: ImageData | null = null;
  private shown = 0;

  private constructor(private readonly context: CanvasRenderingContext2D) {}

  static on(canvas: HTMLCanvasElement): PlainRenderer | null {
    const context = canvas.getContext("2d", { alpha: false });
    return context ? new PlainRenderer(context) : null;
  }

  setPlaces(xs: Float32Array, ys: Float32Array, _extent: Extent): void {
    const n = xs.length;
    if (this.order.length !== n) {
      this.order = shuffled(n);
      this.places = new Float32Array(2 * n);
      this.look = new Uint8Array(2 * n);
    }
    for (let i = 0; i < n; i++) {
      this.places[2 * i] = xs[this.order[i]];
      this.places[2 * i + 1] = ys[this.order[i]];
    }
  }

  setLooks(entries: Uint8Array, states: Uint8Array): void {
    this.shown = 0;
    for (let i = 0; i < this.order.length; i++) {
      const row = this.order[i];
      this.look[2 * i] = entries[row];
      this.look[2 * i + 1] = states[row];
      if (states[row] !== HIDDEN) this.shown++;
    }
  }

  setTable(colours: Uint8Array, ground: [number, number, number]): void {
    this.table = colours;
    this.ground = ground;
  }

  draw(camera: Camera, ratio: number, moving: boolean, zoom: number): number {
    const { canvas } = this.context;
    const [w, h] = [Math.max(1, Math.round(camera.width * ratio)), Math.max(1, Math.round(camera.height * ratio))];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    if (!this.image || this.image.width !== w || this.image.height !== h) this.image = this.context.createImageData(w, h);
    const drawn = Math.floor(moving ? Math.min(this.order.length, this.budget) : this.order.length);
    const look = pointLook(Math.max(1, this.shown), camera.width * camera.height, zoom);
    const { places, look: looks } = this;
    const scene = {
      x: w / 2 - camera.x * camera.sx * ratio,
      y: h / 2 + camera.y * camera.sy * ratio,
      sx: camera.sx * ratio,
      sy: -camera.sy * ratio,
    };
    plot(this.image.data, w, h, places, looks, drawn, scene, this.table, this.ground, look.size * ratio, look.alpha);
    this.context.putImageData(this.image, 0, 0);
    return drawn;
  }

  learn(milliseconds: number): void {
    this.budget = nextBudget(this.budget, this.order.length, milliseconds);
  }

  destroy(): void {
    this.image = null;
  }
}

/** Paints points over a ground, each blended onto what is there. */
export function plot(
  out: Uint8ClampedArray,
  w: number,
  h: number,
  places: Float32Array,
  looks: Uint8Array,
  n: number,
  scene: { x: number; y: number; sx: number; sy: number },
  table: Uint8Array,
  ground: [number, number, number],
  size: number,
  alpha: number,
): void {
  const whole = new Uint32Array(out.buffer, out.byteOffset, w * h);
  whole.fill((255 << 24) | (ground[2] << 16) | (ground[1] << 8) | ground[0]);
  const side = Math.max(1, Math.round(size));
  const stamp = disc(side);
  const reach = side >> 1;
  const strengths = new Uint16Array(768);
  for (let c = 0; c < 256; c++) {
    const a = 256 * alpha * (table[4 * c + 3] / 255);
    strengths[256 + c] = a;
    strengths[512 + c] = 0.12 * a;
  }
  for (let i = 0; i < n; i++) {
    const state = looks[2 * i + 1];
    if (state === HIDDEN) continue;
    const px = (places[2 * i] * scene.sx + scene.x) | 0;
    const py = (places[2 * i + 1] * scene.sy + scene.y) | 0;
    // Also leaves out what has no place: NaN became 0 and is told apart below.
    if (px < reach || py < reach || px >= w - reach - 1 || py >= h - reach - 1) continue;
    if (places[2 * i] !== places[2 * i] || places[2 * i + 1] !== places[2 * i + 1]) continue;
    const entry = looks[2 * i];
    const a = strengths[(state === DIMMED ? 512 : 256) + entry];
    const [r, g, b] = [table[4 * entry], table[4 * entry + 1], table[4 * entry + 2]];
    const corner = (py - reach) * w + px - reach;
    for (let s = 0; s < stamp.length; s += 3) {
      const at = 4 * (corner + stamp[s + 1] * w + stamp[s]);
      const strength = (a * stamp[s + 2]) >> 8;
      out[at] += ((r - out[at]) * strength) >> 8;
      out[at + 1] += ((g - out[at + 1]) * strength) >> 8;
      out[at + 2] += ((b - out[at + 2]) * strength) >> 8;
    }
  }
}

/** Column, row and coverage (of 256) of the pixels of a disc of a diameter; a square if it is small. */
export function disc(side: number): Int32Array {
  const found: number[] = [];
  const middle = (side - 1) / 2;
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const covered = side < 3 ? 1 : Math.min(1, Math.max(0, side / 2 + 0.5 - Math.hypot(x - middle, y - middle)));
      if (covered > 0) found.push(x, y, Math.round(256 * covered));
    }
  }
  return Int32Array.from(found);
}
