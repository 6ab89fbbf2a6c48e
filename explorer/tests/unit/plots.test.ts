import assert from "node:assert/strict";
import { test } from "node:test";
import { extent, valueAt } from "../../src/plot/chart";
import { boundaries, paintTint } from "../../src/plot/regions";
import { added, boxOf, erased, nearest, obstacle, usedClasses } from "../../src/views/playground/points";
import { latentGrid } from "../../src/views/playground/scene";
import { lastUpTo, shareRight } from "../../src/views/playground/run";
import { likeliest } from "../../src/views/latent/path";
import { MOST_IN_LINK, fromLink, toLink } from "../../src/views/playground/link";
import { moments } from "../../src/views/playground/sheet";
import { reliability } from "../../src/views/model/calibration";

/** Two halves, class 0 on the left. */
function halves(w: number, h: number) {
  const classes = new Uint8Array(w * h).map((_, i) => (i % w < w / 2 ? 0 : 1));
  return { w, h, x0: 0, x1: 1, y0: 0, y1: 1, classes, certainty: new Uint8Array(w * h).fill(230) };
}

test("the boundary of two halves is the line between them, without the frame", () => {
  const lines = boundaries(halves(20, 20), 2);
  assert.equal(lines.length, 1);
  for (const [x, y] of lines[0]) {
    assert.ok(Math.abs(x - 10) < 0.51, `x ${x}`);
    assert.ok(y >= 0 && y <= 20);
  }
  assert.deepEqual(boundaries({ ...halves(8, 8), classes: new Uint8Array(64) }, 2).flat(), []);
});

test("the tint fades where the model is unsure, and the first row is at the bottom", () => {
  const grid = { ...halves(2, 2), classes: Uint8Array.from([0, 0, 1, 1]), certainty: Uint8Array.from([255, 128, 255, 128]) };
  const out = new Uint8ClampedArray(16);
  paintTint(out, grid, ["#ff0000", "#0000ff"]);
  assert.deepEqual([...out.slice(0, 3)], [0, 0, 255]);
  assert.deepEqual([...out.slice(8, 11)], [255, 0, 0]);
  assert.ok(out[3] > 3 * out[7]);
});

test("points are added, erased and counted", () => {
  const some = added(
    added(
      { xy: [], labels: [], truth: null, toy: null },
      [
        [0, 0],
        [1, 1],
      ],
      3,
    ),
    [[5, 5]],
    null,
  );
  assert.deepEqual(some.labels, [3, 3, null]);
  assert.deepEqual(usedClasses(some.labels), [3]);
  assert.equal(erased(some, 1, 1, 0.5).xy.length, 2);
  assert.equal(erased(some, 9, 9, 0.5), some);
  assert.match(obstacle(some) ?? "", /second class/);
  const box = boxOf(some.xy);
  assert.ok(box.x0 < 0 && box.x1 > 5 && Math.abs(box.x1 - box.x0 - (box.y1 - box.y0)) < 1e-9);
});

test("in latent space a place belongs to the nearest mean, half and half between two", () => {
  const means: [number, number][] = [
    [-3, 0],
    [3, 0],
  ];
  assert.equal(nearest(means, -1, 5), 0);
  const grid = latentGrid(means);
  const middle = grid.certainty[36 * grid.w + 36];
  assert.ok(middle < 200 && middle >= 127, `certainty ${middle}`);
  assert.equal(grid.certainty[36 * grid.w + 20], 255);
  assert.equal(shareRight({ means, latent: Float32Array.from([-3, 0, 3, 0, 2, 1]) }, [0, 1, 0]), 2 / 3);
});

test("the frame of a step is the last one up to it", () => {
  const frames = [0, 10, 20].map((step) => ({ step }));
  assert.equal(lastUpTo(frames, 15)?.step, 10);
  assert.equal(lastUpTo(frames, 99)?.step, 20);
  assert.equal(lastUpTo(frames, -1)?.step, 0);
  assert.equal(lastUpTo([], 1), null);
});

test("a line has values between its points and none outside", () => {
  const line = { x: [0, 1, 3], y: [0, 10, 30] };
  assert.equal(valueAt(line, 2), 20);
  assert.equal(valueAt(line, 4), null);
  assert.equal(valueAt({ x: [], y: [] }, 0), null);
  assert.deepEqual(extent([[1, NaN, 3]], 1), [1, 3]);
});

test("of a path the classes that matter anywhere are shown", () => {
  const points = [{ probabilities: [0.98, 0.005, 0.01, 0.005] }, { probabilities: [0.01, 0.005, 0.98, 0.005] }];
  assert.deepEqual(likeliest(points, 6), [0, 2]);
});

test("reliability compares confidence with the share that is right", () => {
  const found = reliability(
    Float32Array.from([0, 0, 1, 1]),
    Float32Array.from([0, 1, 1, NaN]),
    Float32Array.from([0.95, 0.95, 0.55, 0.99]),
    10,
  );
  assert.equal(found.n, 3);
  assert.equal(found.accuracy, 2 / 3);
  const last = found.bins[found.bins.length - 1];
  assert.equal(last.n, 2);
  assert.equal(last.right, 0.5);
  assert.ok(Math.abs(last.confidence - 0.95) < 1e-6);
});

test("drawn points survive a link, and strangers' texts do not become points", () => {
  const points = {
    xy: [
      [-2.5, 1],
      [0.25, 0],
      [2.999, -3],
    ] as [number, number][],
    labels: [0, null, 7],
    truth: null,
    toy: null,
  };
  const text = toLink(points)!;
  assert.match(text, /^[\w-]+$/);
  const back = fromLink(text)!;
  assert.deepEqual(back.labels, points.labels);
  back.xy.forEach(([x, y], i) => assert.ok(Math.hypot(x - points.xy[i][0], y - points.xy[i][1]) < 2e-4));
  const far = { ...points, xy: points.xy.map(([x, y]): [number, number] => [100 * x, y]) };
  fromLink(toLink(far)!)!.xy.forEach(([x], i) => assert.ok(Math.abs(x - far.xy[i][0]) < 0.02));
  for (const bad of ["", "!!", "AAAA", text.slice(3), text.replace(/.$/, ""), "A".repeat(400_000)])
    assert.equal(fromLink(bad), null);
  assert.equal(toLink({ ...points, xy: Array(MOST_IN_LINK + 1).fill([0, 0]) }), null);
});

test("a film shows the beginning in detail, and ends with the end", () => {
  const shown = moments(300, 50);
  assert.equal(shown[0], 0);
  assert.equal(shown.at(-1), 299);
  assert.ok(shown[10] < 30);
  assert.deepEqual(moments(2, 50), [0, 1]);
});
