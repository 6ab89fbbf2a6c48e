import assert from "node:assert/strict";
import { test } from "node:test";
import { dataX, dataY, fitted, panned, resized, screenX, screenY, zoomed } from "../../src/scatter/camera";
import { disc, plot } from "../../src/scatter/plain";
import { DIMMED, HIDDEN, SHOWN, nextBudget, pointLook } from "../../src/scatter/points";
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

test("points are painted where they are, hidden ones and those without a place are not", () => {
  const [w, h] = [8, 8];
  const out = new Uint8ClampedArray(4 * w * h);
  const table = new Uint8Array(1024);
  table.set([0, 0, 0, 255], 0);
  const places = Float32Array.from([2, 2, 5, 5, NaN, 3, 6, 2, 100, 100]);
  const looks = Uint8Array.from([0, SHOWN, 0, HIDDEN, 0, SHOWN, 0, DIMMED, 0, SHOWN]);
  plot(out, w, h, places, looks, 5, { x: 0, y: 0, sx: 1, sy: 1 }, table, [255, 255, 255], 1, 1);
  const dark = Array.from({ length: w * h }, (_, i) => out[4 * i])
    .map((v, i) => [v, i % w, i >> 3])
    .filter(([v]) => v < 255);
  assert.equal(dark.length, 2);
  assert.deepEqual(dark[0].slice(1), [2, 2]);
  assert.ok(dark[0][0] < 5);
  assert.deepEqual(dark[1].slice(1), [6, 2]);
  assert.ok(dark[1][0] > 200, "a dimmed point is faint");
});

test("a small point is a square, a large one a disc", () => {
  assert.deepEqual([...disc(2)], [0, 0, 256, 1, 0, 256, 0, 1, 256, 1, 1, 256]);
  const area = disc(9)
    .filter((_, i) => i % 3 === 2)
    .reduce((sum, weight) => sum + weight / 256, 0);
  assert.ok(Math.abs(area - Math.PI * 4.5 ** 2) < 1.5, `area ${area}`);
});

test("the budget falls when frames are slow, grows when they are quick, and never below a sample", () => {
  assert.equal(nextBudget(Infinity, 200_000, 60), 150_000);
  assert.equal(Math.round(nextBudget(100_000, 200_000, 10)), 115_000);
  assert.equal(nextBudget(20_000, 200_000, 500), 20_000);
  assert.equal(nextBudget(Infinity, 200_000, 10), Infinity);
});

test("more points are smaller and fainter", () => {
  const [few, many] = [pointLook(1000, 800_000, 1), pointLook(1_000_000, 800_000, 1)];
  assert.ok(few.size > many.size && few.alpha > many.alpha);
  assert.ok(pointLook(1_000_000, 800_000, 50).size > many.size);
});
