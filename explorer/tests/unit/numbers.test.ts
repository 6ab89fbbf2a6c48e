import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MISSING,
  codesToBytes,
  histogram,
  insidePolygon,
  maskOf,
  rangeOf,
  rowsInside,
  shuffled,
  toBytes,
} from "../../src/scatter/numbers";

test("the range of all finite numbers, and of quantiles", () => {
  const values = Float32Array.from([NaN, 3, -1, 2, Infinity, -Infinity]);
  assert.deepEqual(rangeOf(values), { low: -1, high: 3 });
  const many = Float32Array.from({ length: 1001 }, (_, i) => i);
  assert.deepEqual(rangeOf(many, 0.1, 0.9), { low: 100, high: 900 });
});

test("a constant column has a range that is not empty", () => {
  const { low, high } = rangeOf(Float32Array.from([4, 4, 4]));
  assert.ok(low < 4 && high > 4);
  assert.deepEqual(rangeOf(new Float32Array(0)), { low: 0, high: 1 });
});

test("numbers become bytes, missing ones the last", () => {
  const out = new Uint8Array(5);
  toBytes(Float32Array.from([0, 0.5, 1, NaN, 7]), { low: 0, high: 1 }, out);
  assert.deepEqual([...out], [0, 127, 254, MISSING, 254]);
  codesToBytes(Float32Array.from([2, NaN, 0, 254, 1]), out);
  assert.deepEqual([...out], [2, MISSING, 0, 254, 1]);
});

test("every number within the range is counted once", () => {
  const values = Float32Array.from([0, 0.1, 0.99, 1, 2, NaN]);
  assert.deepEqual([...histogram(values, { low: 0, high: 1 }, 2, null)], [2, 2]);
  assert.deepEqual([...histogram(values, { low: 0, high: 1 }, 2, Uint8Array.from([0, 1, 0, 1, 1, 1]))], [1, 1]);
});

test("a row passes when all filters and its class let it", () => {
  const a = Float32Array.from([1, 2, 3, NaN]);
  const b = Float32Array.from([1, 1, 9, 1]);
  const out = new Uint8Array(4);
  const filters = [
    { values: a, low: 1, high: 3 },
    { values: b, low: -Infinity, high: 5 },
  ];
  assert.equal(maskOf(4, filters, null, new Set(), out), 2);
  assert.deepEqual([...out], [1, 1, 0, 0]);
  assert.equal(maskOf(4, filters, Float32Array.from([0, 1, 0, 0]), new Set([1]), out), 1);
  assert.deepEqual([...out], [1, 0, 0, 0]);
});

test("the order of drawing is a permutation whose prefixes are fair", () => {
  const order = shuffled(10_000);
  assert.equal(new Set(order).size, 10_000);
  const mean = order.slice(0, 1000).reduce((s, v) => s + v, 0) / 1000;
  assert.ok(Math.abs(mean - 5000) < 500, `mean of the first tenth ${mean}`);
  assert.deepEqual(order, shuffled(10_000));
});

test("a lasso holds what is inside, holes of a bent one excepted", () => {
  const bent: [number, number][] = [
    [0, 0],
    [4, 0],
    [4, 4],
    [2, 1],
    [0, 4],
  ];
  assert.ok(insidePolygon(bent, 1, 1));
  assert.ok(!insidePolygon(bent, 2, 3));
  const rows = rowsInside(
    bent,
    Float32Array.from([1, 2, 3.5, 9, 1]),
    Float32Array.from([1, 3, 1, 9, 1]),
    Uint8Array.from([1, 1, 1, 1, 0]),
  );
  assert.deepEqual(rows, [0, 2]);
});
