import assert from "node:assert/strict";
import { test } from "node:test";
import { LineSplitter, bytesOf, floatsOf } from "../../src/core/bytes";
import { cell, percent, short, ticks } from "../../src/core/format";
import { href, parseRoute } from "../../src/core/route";
import { classColour, rgb, scale } from "../../src/core/palette";

test("lines are put together across pieces", () => {
  const splitter = new LineSplitter();
  assert.deepEqual(splitter.push('{"a":1}\n{"b"'), ['{"a":1}']);
  assert.deepEqual(splitter.push(":2}\n\n"), ['{"b":2}']);
  assert.deepEqual(splitter.push("last"), []);
  assert.deepEqual(splitter.end(), ["last"]);
});

test("base64 holds bytes and little-endian floats", () => {
  assert.deepEqual([...bytesOf("AQL/")], [1, 2, 255]);
  const floats = Float32Array.from([1.5, -2]);
  assert.deepEqual(floatsOf(Buffer.from(floats.buffer).toString("base64")), floats);
});

test("addresses and routes are inverse to each other, whatever a model is called", () => {
  const name = 'a/b?c#d <img src=x onerror="1">';
  const found = parseRoute(href("map", name, { x: "column/a&b", y: null, row: 3 }));
  assert.equal(found.view, "map");
  assert.equal(found.model, name);
  assert.equal(found.query.get("x"), "column/a&b");
  assert.equal(found.query.get("y"), null);
  assert.equal(found.query.get("row"), "3");
  assert.equal(parseRoute("#/nowhere").view, "playground");
  assert.equal(parseRoute("#/map/%E0%A4%A").model, "%E0%A4%A");
});

test("numbers are short, absent ones a dash", () => {
  assert.equal(short(0.000012345), "1.23e−5");
  assert.equal(short(-1234.5), "−1235");
  assert.equal(short(0.5), "0.5");
  assert.equal(short(100), "100");
  assert.equal(short(null), "–");
  assert.equal(short(Infinity), "∞");
  assert.equal(percent(0.9876), "98.8 %");
  assert.equal(cell(null), "missing");
});

test("ticks are round and within the range", () => {
  assert.deepEqual(
    ticks(0, 1, 5).map((t) => t.toFixed(2)),
    ["0.00", "0.20", "0.40", "0.60", "0.80", "1.00"],
  );
  assert.deepEqual(ticks(3, 3, 5), []);
  for (const t of ticks(-7.3, 12.9, 4)) assert.ok(t >= -7.3 && t <= 12.9);
});

test("the first eight classes differ in colour, and numbers grow in lightness", () => {
  for (const shade of ["light", "dark"] as const) {
    const colours = Array.from({ length: 8 }, (_, k) => rgb(classColour(k, shade)));
    for (let i = 0; i < 8; i++)
      for (let j = 0; j < i; j++)
        assert.ok(Math.hypot(...colours[i].map((v, c) => v - colours[j][c])) > 40, `classes ${i} and ${j}`);
  }
  const light = ([r, g, b]: number[]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  for (let i = 0; i < 20; i++) assert.ok(light(scale((i + 1) / 20)) > light(scale(i / 20)));
});
