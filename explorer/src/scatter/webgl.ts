/**
 * Points by WebGL 2: one vertex for each row, its colour looked up in a table of 256.
 *
 * Written out instead of taken from regl-scatterplot, because regl makes code out of strings at run time, which the page's
 * content security policy forbids.
 */
import type { Camera, Extent } from "./camera";
import { shuffled } from "./numbers";
import { HIDDEN, type PointRenderer, nextBudget, pointLook } from "./points";

const VERTEX = `#version 300 es
layout(location = 0) in vec2 place;
layout(location = 1) in vec4 look;
uniform vec2 scale;
uniform vec2 shift;
uniform float size;
uniform float alpha;
uniform sampler2D table;
flat out vec4 colour;
void main() {
  int state = int(look.y * 255.0 + 0.5);
  bool gone = state == 0;
  gl_Position = gone ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(place * scale + shift, 0.0, 1.0);
  gl_PointSize = size;
  vec4 found = texelFetch(table, ivec2(int(look.x * 255.0 + 0.5), 0), 0);
  float strength = alpha * found.a * (state == 2 ? 0.12 : 1.0);
  colour = vec4(found.rgb * strength, strength);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
flat in vec4 colour;
uniform float round;
out vec4 pixel;
void main() {
  if (round > 0.5) {
    vec2 from = gl_PointCoord - 0.5;
    if (dot(from, from) > 0.25) discard;
  }
  pixel = colour;
}`;

export class WebGlRenderer implements PointRenderer {
  private readonly gl: WebGL2RenderingContext;
  private readonly program: WebGLProgram;
  private readonly vertices: WebGLVertexArrayObject;
  private readonly places: WebGLBuffer;
  private readonly looks: WebGLBuffer;
  private readonly table: WebGLTexture;
  private readonly at: Record<"scale" | "shift" | "size" | "alpha" | "round" | "table", WebGLUniformLocation | null>;
  private order: Uint32Array = new Uint32Array(0);
  private look = new Uint8Array(0);
  private extent: Extent = { x0: 0, x1: 1, y0: 0, y1: 1 };
  private shown = 0;
  budget = Infinity;

  /** `null` if the browser has no WebGL 2. */
  static on(canvas: HTMLCanvasElement): WebGlRenderer | null {
    const gl = canvas.getContext("webgl2", {
      antialias: false,
      alpha: true,
      depth: false,
      stencil: false,
      premultipliedAlpha: true,
    });
    return gl ? new WebGlRenderer(gl) : null;
  }

  private constructor(gl: WebGL2RenderingContext) {
    this.gl = gl;
    this.program = program(gl);
    this.vertices = gl.createVertexArray()!;
    this.places = gl.createBuffer()!;
    this.looks = gl.createBuffer()!;
    this.table = gl.createTexture()!;
    const where = (name: string) => gl.getUniformLocation(this.program, name);
    this.at = {
      scale: where("scale"),
      shift: where("shift"),
      size: where("size"),
      alpha: where("alpha"),
      round: where("round"),
      table: where("table"),
    };
    gl.bindVertexArray(this.vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.places);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.looks);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.bindTexture(gl.TEXTURE_2D, this.table);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  /** The extent maps to -1..=1, so that single precision is enough at every zoom. */
  setPlaces(xs: Float32Array, ys: Float32Array, extent: Extent): void {
    const n = xs.length;
    if (this.order.length !== n) {
      this.order = shuffled(n);
      this.look = new Uint8Array(4 * n);
    }
    this.extent = extent;
    const { x0, x1, y0, y1 } = extent;
    const [kx, ky] = [2 / (x1 - x0), 2 / (y1 - y0)];
    const places = new Float32Array(2 * n);
    for (let i = 0; i < n; i++) {
      const row = this.order[i];
      const [x, y] = [xs[row], ys[row]];
      places[2 * i] = x === x && y === y ? (x - x0) * kx - 1 : 1e9;
      places[2 * i + 1] = x === x && y === y ? (y - y0) * ky - 1 : 1e9;
    }
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.places);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, places, this.gl.STATIC_DRAW);
  }

  setLooks(entries: Uint8Array, states: Uint8Array): void {
    const n = this.order.length;
    this.shown = 0;
    for (let i = 0; i < n; i++) {
      const row = this.order[i];
      this.look[4 * i] = entries[row];
      this.look[4 * i + 1] = states[row];
      if (states[row] !== HIDDEN) this.shown++;
    }
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.looks);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, this.look, this.gl.DYNAMIC_DRAW);
  }

  setTable(colours: Uint8Array, _ground: [number, number, number]): void {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, this.table);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
  }

  draw(camera: Camera, ratio: number, moving: boolean, zoom: number): number {
    const { gl } = this;
    const canvas = gl.canvas as HTMLCanvasElement;
    const [w, h] = [Math.max(1, Math.round(camera.width * ratio)), Math.max(1, Math.round(camera.height * ratio))];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const n = this.order.length;
    const drawn = moving ? Math.min(n, this.budget) : n;
    if (drawn === 0) return 0;
    const { x0, x1, y0, y1 } = this.extent;
    const [ux, uy] = [(x1 - x0) / 2, (y1 - y0) / 2];
    const [mx, my] = [(x0 + x1) / 2, (y0 + y1) / 2];
    const look = pointLook(Math.max(1, this.shown), camera.width * camera.height, zoom);
    const size = Math.max(1, look.size * ratio);
    gl.useProgram(this.program);
    gl.bindVertexArray(this.vertices);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.table);
    gl.uniform1i(this.at.table, 0);
    gl.uniform2f(this.at.scale, (2 * camera.sx * ux) / camera.width, (2 * camera.sy * uy) / camera.height);
    gl.uniform2f(
      this.at.shift,
      (2 * camera.sx * (mx - camera.x)) / camera.width,
      (2 * camera.sy * (my - camera.y)) / camera.height,
    );
    gl.uniform1f(this.at.size, size);
    gl.uniform1f(this.at.alpha, look.alpha);
    gl.uniform1f(this.at.round, size > 2.6 ? 1 : 0);
    gl.drawArrays(gl.POINTS, 0, Math.floor(drawn));
    return Math.floor(drawn);
  }

  learn(milliseconds: number): void {
    this.budget = nextBudget(this.budget, this.order.length, milliseconds);
  }

  destroy(): void {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}

function program(gl: WebGL2RenderingContext): WebGLProgram {
  const made = gl.createProgram()!;
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(`The shaders do not link: ${gl.getProgramInfoLog(made)}`);
  return made;
}
