/** Finds the point nearest to a place among a million: a grid of cells, filled by counting. */
import type { Extent } from "./camera";

const SIDE = 512;

export class PointIndex {
  private readonly start: Uint32Array;
  private readonly rows: Uint32Array;

  constructor(
    private readonly xs: Float32Array,
    private readonly ys: Float32Array,
    private readonly extent: Extent,
  ) {
    const cells = new Int32Array(xs.length);
    this.start = new Uint32Array(SIDE * SIDE + 1);
    for (let i = 0; i < xs.length; i++) {
      cells[i] = this.cell(xs[i], ys[i]);
      if (cells[i] >= 0) this.start[cells[i] + 1]++;
    }
    for (let c = 0; c < SIDE * SIDE; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice();
    this.rows = new Uint32Array(xs.length);
    for (let i = 0; i < xs.length; i++) if (cells[i] >= 0) this.rows[next[cells[i]]++] = i;
  }

  /** The nearest row within reach, in data units of either direction; rows that the mask hides do not count. */
  nearest(x: number, y: number, reachX: number, reachY: number, mask: Uint8Array): number | null {
    const [c0, c1] = [this.column(x - reachX), this.column(x + reachX)];
    const [r0, r1] = [this.line(y - reachY), this.line(y + reachY)];
    let [best, distance] = [-1, 1];
    let looked = 0;
    for (let r = r0; r <= r1; r++) {
      for (let c = c0; c <= c1; c++) {
        const cell = r * SIDE + c;
        for (let at = this.start[cell]; at < this.start[cell + 1]; at++) {
          const i = this.rows[at];
          if (mask[i] === 0) continue;
          const d = ((this.xs[i] - x) / reachX) ** 2 + ((this.ys[i] - y) / reachY) ** 2;
          if (d < distance) [best, distance] = [i, d];
          // A view of everything has thousands of points under the pointer: any of them will do.
          if (++looked > 40_000) return best < 0 ? null : best;
        }
      }
    }
    return best < 0 ? null : best;
  }

  private cell(x: number, y: number): number {
    if (x !== x || y !== y) return -1;
    return this.line(y) * SIDE + this.column(x);
  }

  private column(x: number): number {
    const { x0, x1 } = this.extent;
    return Math.min(SIDE - 1, Math.max(0, Math.floor(((x - x0) / (x1 - x0)) * SIDE)));
  }

  private line(y: number): number {
    const { y0, y1 } = this.extent;
    return Math.min(SIDE - 1, Math.max(0, Math.floor(((y - y0) / (y1 - y0)) * SIDE)));
  }
}
