// How quick the page is in Chromium with software rendering; writes JSON.
//   FLOWGMM_BIN=... npm run measure -- OUT.json [MODEL DATA [LABELS]]
// MODEL and DATA are of images (the MNIST preset, say); without them the digits of the tests are taken.
// MEASURE_ROWS (1000000) are the rows of the large map.
import { execFile } from "node:child_process";
import { open as openFile, writeFile } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { makeModels, table } from "./fixtures.mjs";
import { launch, needs, open, scratch, serve } from "./lib.mjs";

const { program, browser: path } = needs();
const [out = "explorer-latency.json", imageModel, imageData, imageLabels] = process.argv.slice(2);
const MOST = Number(process.env.MEASURE_ROWS ?? 1_000_000);
const run = promisify(execFile);

const found = await scratch(async (folder) => {
  const made = await makeModels(program, join(folder, "models"));
  const images = imageModel ? { model: imageModel, data: imageData, labels: imageLabels } : made.images;
  const results = { cores: cpus().length, load_before: loadavg()[0], viewport: "1440 x 900", rendering: "SwiftShader" };
  const browser = await launch(path);
  const on = async (args, work) => {
    const began = Date.now();
    const server = await serve(program, args);
    const started = (Date.now() - began) / 1000;
    const opened = await open(browser, server.base);
    try {
      return await work(opened.page, server.base, started);
    } finally {
      await opened.context.close();
      await server.stop();
    }
  };
  results.table_slider_ms = await on([made.table.model, "--data", made.table.data], async (page, base) => {
    await page.goto(`${base}/#/latent/flowers`);
    return slides(page, "#path-slider", ".tracks tbody");
  });
  console.log("table slider", results.table_slider_ms);
  const name = basename(images.model).replace(/\.[^.]*$/, "");
  await on([images.model, "--data", images.data, ...(images.labels ? ["--labels", images.labels] : [])], async (page, base) => {
    await page.goto(`${base}/#/latent/${name}`);
    results.image_slider_ms = await slides(page, "#path-slider", "canvas.picture.big");
    console.log("image slider", results.image_slider_ms);
    await page.goto(`${base}/#/features/${name}`);
    await page.locator(".picture.moving").nth(3).waitFor({ timeout: 120_000 });
    results.feature_drag_ms = await slides(page, "#alpha-slider", "canvas.picture.moving");
    console.log("feature drag", results.feature_drag_ms);
    results.feature_channel_ms = await channels(page);
    console.log("feature channel", results.feature_channel_ms);
  });
  results.playground = await on([], (page, base) => training(page, base));
  console.log("playground", results.playground);
  for (const rows of [200_000, MOST]) {
    const file = join(folder, `rows-${rows}.csv`);
    await large(file, rows);
    results[`map_${rows}`] = await on([made.table.model, "--data", file], (page, base, started) =>
      panning(page, base, rows, started),
    );
    console.log(`map of ${rows} rows`, results[`map_${rows}`]);
  }
  await browser.close();
  results.load_after = loadavg()[0];
  results.version = (await run(program, ["--version"])).stdout.trim();
  return results;
});
await writeFile(out, `${JSON.stringify(found, null, 2)}\n`);
console.log(`written to ${out}`);

/**
 * From a key pressed on a slider to the paint that shows it, by the browser's own Event Timing (steps of 8 ms; what takes less than
 * 16 ms is counted as 16): median and 95th percentile of 150 presses, and how many of them changed the picture.
 */
async function slides(page, slider, picture) {
  await page.locator(picture).first().waitFor({ timeout: 120_000 });
  await page.waitForTimeout(1500);
  await page.evaluate(
    ([slider, picture]) => {
      const input = document.querySelector(slider);
      input.value = input.min;
      input.dispatchEvent(new Event("input", { bubbles: true }));
      window.entries = [];
      new PerformanceObserver((list) => window.entries.push(...list.getEntries())).observe({
        type: "event",
        durationThreshold: 16,
      });
      window.shown = () => {
        const element = document.querySelector(picture);
        return element instanceof HTMLCanvasElement ? element.toDataURL() : element.textContent;
      };
    },
    [slider, picture],
  );
  await page.locator(slider).focus();
  let changes = 0;
  let before = await page.evaluate(() => window.shown());
  const PRESSES = 150;
  for (let i = 0; i < PRESSES; i++) {
    await page.keyboard.press(i % 40 < 30 ? "ArrowRight" : "ArrowLeft");
    const after = await page.evaluate(() => window.shown());
    if (after !== before) changes++;
    before = after;
    await page.waitForTimeout(5 + (i % 17));
  }
  await page.waitForTimeout(500);
  const slow = await page.evaluate(() => {
    const longest = new Map();
    for (const entry of window.entries) {
      if (!["keydown", "input"].includes(entry.name)) continue;
      longest.set(entry.startTime, Math.max(longest.get(entry.startTime) ?? 0, entry.duration));
    }
    return [...longest.values()];
  });
  const times = [...slow, ...Array(Math.max(0, PRESSES - slow.length)).fill(16)];
  return { ...quantiles(times), changes };
}

/** From choosing another channel to its pictures, a request included. */
async function channels(page) {
  const times = await page.evaluate(async () => {
    const input = [...document.querySelectorAll(".field input")].find((i) =>
      i.closest(".field").textContent.startsWith("Channel"),
    );
    const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
    const frame = () => new Promise((go) => requestAnimationFrame(go));
    const shown = () => [...document.querySelectorAll("canvas.picture.moving")].map((c) => c.toDataURL()).join();
    const times = [];
    for (let i = 1; i <= Math.min(20, Number(input.max)); i++) {
      const before = shown();
      const began = performance.now();
      set.call(input, String(i));
      input.dispatchEvent(new Event("input", { bubbles: true }));
      while (shown() === before && performance.now() - began < 3000) await frame();
      times.push(performance.now() - began);
      await new Promise((go) => setTimeout(go, 50));
    }
    return times;
  });
  return quantiles(times);
}

/** Frames shown in a second while both fits train. */
async function training(page, base) {
  await page.goto(`${base}/#/playground?toy=moons&compare=1&steps=3000`);
  await page.getByText(/500 points/).waitFor();
  await page.evaluate(() => {
    window.shown = [];
    const output = document.querySelector(".scrub output");
    new MutationObserver(() => window.shown.push(performance.now())).observe(output, {
      characterData: true,
      childList: true,
      subtree: true,
    });
  });
  const began = Date.now();
  await page.getByRole("button", { name: "Fit", exact: true }).click();
  await page.locator(".readout", { hasText: "finished" }).waitFor({ timeout: 300_000 });
  const seconds = (Date.now() - began) / 1000;
  const times = await page.evaluate(() => window.shown);
  const gaps = times.slice(1).map((t, i) => t - times[i]);
  return {
    seconds,
    frames_shown: times.length,
    frames_a_second: round((1000 * (times.length - 1)) / (times.at(-1) - times[0])),
    gap_ms: quantiles(gaps),
  };
}

/** Time to load, and frames a second while a hand drags the map. */
async function panning(page, base, rows, started) {
  const began = Date.now();
  await page.goto(`${base}/#/map/flowers`);
  await page.waitForFunction((n) => Number(document.querySelector(".plot canvas:last-of-type")?.dataset.drawn ?? 0) === n, rows, {
    timeout: 180_000,
  });
  const first = (Date.now() - began) / 1000;
  await page.locator(".filter canvas").nth(3).waitFor({ timeout: 180_000 });
  const all = (Date.now() - began) / 1000;
  await page.waitForTimeout(2000);
  const drag = () =>
    page.evaluate(async () => {
      const canvas = document.querySelector(".plot canvas:last-of-type");
      const box = canvas.getBoundingClientRect();
      const send = (kind, x, y, buttons) =>
        canvas.dispatchEvent(
          new PointerEvent(kind, {
            pointerId: 1,
            button: 0,
            buttons,
            clientX: box.left + x,
            clientY: box.top + y,
            bubbles: true,
          }),
        );
      canvas.setPointerCapture = () => undefined;
      send("pointerdown", 300, 300, 1);
      const gaps = [];
      const points = [];
      let last = performance.now();
      for (let i = 0; i < 150; i++) {
        send("pointermove", 300 + 120 * Math.sin(i / 12), 300 + 80 * Math.cos(i / 9), 1);
        const now = await new Promise((go) => requestAnimationFrame(go));
        gaps.push(performance.now() - last);
        last = performance.now();
        points.push(Number(canvas.dataset.drawn));
        void now;
      }
      send("pointerup", 300, 300, 0);
      return { gaps, points };
    });
  await drag();
  await page.waitForTimeout(800);
  const { gaps, points } = await drag();
  const mean = gaps.reduce((a, b) => a + b, 0) / gaps.length;
  return {
    server_start_s: round(started),
    first_picture_s: round(first),
    everything_loaded_s: round(all),
    pan_frames_a_second: round(1000 / mean),
    pan_frame_ms: quantiles(gaps),
    points_drawn_while_panning: Math.round(points.reduce((a, b) => a + b, 0) / points.length),
  };
}

async function large(file, rows) {
  const handle = await openFile(file, "w");
  const CHUNK = 100_000;
  for (let i = 0; i * CHUNK < rows; i++) {
    const text = table(Math.min(CHUNK, rows - i * CHUNK), 100 + i);
    await handle.write(i === 0 ? text : text.slice(text.indexOf("\n") + 1));
  }
  await handle.close();
}

function quantiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (q) => round(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]);
  return { median: at(0.5), p95: at(0.95), worst: round(sorted[sorted.length - 1]), n: sorted.length };
}

function round(value) {
  return Math.round(100 * value) / 100;
}
