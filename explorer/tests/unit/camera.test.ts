import assert from "node:assert/strict";
import { test } from "node:test";
import { dataX, dataY, fitted, panned, resized, screenX, screenY, zoomed } from "../../src/scatter/camera";
import { PointIndex } from "../../src/scatter/point-index";

const extent = { x0: -2, x1: 2, y0: 0, y1: 1 };
const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);

test("pixels and data are inverse to each other", () => {
  const camera = fitted(extent, 800, 600, false);
  near(dataX(camera, screenX(camera, 0.7)), 0.7);
  near(dataY(camera, screenY(camera, 0.3)), 0.3);
});

test("everything is seen at first, with equal scales if asked for", () => {
  const camera = fitted(extent, 800, 600, true);
  assert.equal(camera.sx, camera.sy);
  assert.ok(screenX(camera, -2) > 0 && screenX(camera, 2) < 800 && screenY(camera, 1) > 0 && screenY(camera, 0) < 600);
});

test("zoom keeps the place under the pointer, pan moves it along", () => {
  const camera = fitted(extent, 800, 600, false);
  const [x, y] = [dataX(camera, 123), dataY(camera, 456)];
  const closer = zoomed(camera, 3, 123, 456);
  near(screenX(closer, x), 123);
  near(screenY(closer, y), 456);
  near(screenX(panned(closer, 10, -5), x), 133);
  near(screenY(panned(closer, 10, -5), y), 451);
  near(dataX(resized(closer, 400, 300), 200), closer.x);
});

test("the nearest point is found, hidden ones are not", () => {
  const xs = Float32Array.from([0, 1, 1.1, NaN]);
  const ys = Float32Array.from([0.5, 0.5, 0.5, 0.5]);
  const index = new PointIndex(xs, ys, extent);
  assert.equal(index.nearest(1.04, 0.5, 0.5, 0.5, Uint8Array.from([1, 1, 1, 1])), 1);
  assert.equal(index.nearest(1.04, 0.5, 0.5, 0.5, Uint8Array.from([1, 0, 1, 1])), 2);
  assert.equal(index.nearest(-1, 0.5, 0.2, 0.2, Uint8Array.from([1, 1, 1, 1])), null);
});
