// Draw and fit, pause and step, scrub back, compare.
import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { colours } from "./lib.mjs";

const panel = (page, i) => page.locator(".panel canvas").nth(i);
const steps = async (page) => Number((await page.locator(".scrub output").textContent()).match(/step (\d+)/)?.[1] ?? -1);

async function toy(page, name) {
  await page.getByRole("button", { name, exact: true }).click();
  await page.getByText(/\d+ points, \d+ with a label/).waitFor();
}

async function setSteps(page, value) {
  await page.getByLabel("Steps", { exact: true }).fill(String(value));
}

async function finished(page, timeout = 90_000) {
  await page.locator(".readout", { hasText: "finished" }).waitFor({ timeout });
}

export const tests = {
  "two moons are fitted, and more points than the labels alone are right": {
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/playground?toy=moons&labels=10&compare=1`);
      await page.getByText(/500 points, 10 with a label, 2 classes/).waitFor();
      await axe();
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await finished(page);
      assert.equal(await page.locator(".panel").count(), 4);
      for (let i = 0; i < 4; i++) assert.ok((await colours(panel(page, i))) > 20, `panel ${i} is empty`);
      const scores = (await page.locator(".score").allTextContents()).map((text) => parseFloat(text));
      assert.equal(scores.length, 2);
      assert.ok(scores[0] > 95, `all points: ${scores[0]} % right`);
      await axe();
    },
  },

  "a fit is paused, stepped, scrubbed back, resumed and stopped": {
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/playground?toy=circles&compare=0`);
      await page.getByText(/500 points/).waitFor();
      await setSteps(page, 5000);
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await page.waitForFunction(() => Number(document.querySelector(".scrub input")?.max ?? 0) > 5);
      await page.getByRole("button", { name: "Pause" }).click();
      await page.locator(".readout", { hasText: "paused" }).waitFor();
      await page.waitForTimeout(500);
      const held = await steps(page);
      await page.waitForTimeout(700);
      assert.equal(await steps(page), held, "a paused fit goes on");
      await page.getByRole("button", { name: "Step" }).click();
      await page.waitForFunction(
        (was) => Number(document.querySelector(".scrub output").textContent.match(/step (\d+)/)?.[1]) > was,
        held,
      );
      const before = await panel(page, 0).screenshot();
      await page.getByLabel("Time: frame shown").fill("0");
      assert.ok((await steps(page)) < 5, "the first frame is not that of the beginning");
      assert.notDeepEqual(await panel(page, 0).screenshot(), before, "the first frame looks like the last");
      await page.getByRole("button", { name: "Latest" }).click();
      const latest = await steps(page);
      assert.ok(latest > held);
      await page.getByRole("button", { name: "Resume" }).click();
      await page.waitForFunction(
        (was) => Number(document.querySelector(".scrub output").textContent.match(/step (\d+)/)?.[1]) > was + 50,
        latest,
      );
      await page.getByRole("button", { name: "Stop" }).click();
      await page.locator(".readout", { hasText: "stopped" }).waitFor();
      await page.getByRole("button", { name: "Replay" }).click();
      await page.waitForFunction(() => Number(document.querySelector(".scrub input").value) > 2);
    },
  },

  "points of three classes are drawn, some unlabelled, undone, erased, and fitted": {
    options: { permissions: ["clipboard-read", "clipboard-write"] },
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/playground`);
      await page.getByRole("button", { name: "Clear all" }).click();
      await page.getByText("No points yet").waitFor();
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await page
        .getByRole("alert")
        .getByText(/Draw some points/)
        .waitFor();
      const box = await panel(page, 0).boundingBox();
      const at = (u, v) => [box.x + u * box.width, box.y + v * box.height];
      const trail = async (from, to) => {
        await page.mouse.move(...at(...from));
        await page.mouse.down();
        await page.mouse.move(...at(...to), { steps: 20 });
        await page.mouse.up();
      };
      await trail([0.15, 0.2], [0.4, 0.2]);
      await page.getByRole("button", { name: "Class 2" }).click();
      await trail([0.6, 0.2], [0.85, 0.2]);
      await page.getByRole("button", { name: "One more class" }).click();
      await trail([0.4, 0.8], [0.6, 0.8]);
      await page.getByRole("button", { name: "Unlabelled" }).click();
      for (const [from, to] of [
        [
          [0.1, 0.25],
          [0.45, 0.3],
        ],
        [
          [0.55, 0.25],
          [0.9, 0.3],
        ],
        [
          [0.35, 0.7],
          [0.65, 0.75],
        ],
      ])
        await trail(from, to);
      const text = await page.locator(".summary").textContent();
      const [, n] = text.match(/(\d+) points, (\d+) with a label, 3 classes/);
      assert.ok(Number(n) > 60, text);
      await page.getByRole("button", { name: "Undo" }).click();
      assert.ok(parseInt(await page.locator(".summary").textContent()) < Number(n));
      await page.getByRole("button", { name: "Erase" }).click();
      const kept = parseInt(await page.locator(".summary").textContent());
      await trail([0.15, 0.2], [0.2, 0.2]);
      assert.ok(parseInt(await page.locator(".summary").textContent()) < kept);
      await setSteps(page, 300);
      await page.getByRole("button", { name: "Fit", exact: true }).click();
      await finished(page);
      assert.ok((await colours(panel(page, 1))) > 20, "the latent panel is empty");
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save picture" }).click();
      assert.equal((await saved).suggestedFilename(), "flowgmm-playground.png");
      const film = page.waitForEvent("download", { timeout: 60_000 });
      await page.getByRole("button", { name: "Save film" }).click();
      const file = await film;
      assert.match(file.suggestedFilename(), /^flowgmm-playground\.(webm|mp4)$/);
      assert.ok((await stat(await file.path())).size > 20_000, "the film is empty");
      const summary = await page.locator(".summary").textContent();
      await page.getByRole("button", { name: "Copy link" }).click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      const link = await page.evaluate(() => navigator.clipboard.readText());
      await page.goto("about:blank");
      await page.goto(link);
      await page.getByText(summary).waitFor();
    },
  },

  "the keyboard draws, too": {
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/playground`);
      await page.getByRole("button", { name: "Clear all" }).click();
      await panel(page, 0).focus();
      for (const key of ["ArrowLeft", "ArrowLeft", "Enter", "2", "ArrowRight", "ArrowUp", " ", "0", "ArrowDown", "Enter"])
        await page.keyboard.press(key);
      await page.getByText("3 points, 2 with a label, 2 classes").waitFor();
    },
  },

  "every toy is fitted with its own settings, and its address brings them back": {
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/playground?compare=0`);
      for (const [name, classes] of [
        ["Pinwheel", 5],
        ["Eight Gaussians", 3],
        ["Circles", 2],
      ]) {
        await toy(page, name);
        await page.getByText(new RegExp(`${classes} classes`)).waitFor();
        await setSteps(page, 200);
        await page.getByRole("button", { name: /^Fit/ }).click();
        await finished(page);
      }
      await page.getByLabel("Consistency").fill("0.5");
      await page.getByLabel("Coupling layers").fill("4");
      await page.getByLabel("EM for the mixture").check();
      await page.getByRole("button", { name: /^Fit/ }).click();
      await finished(page);
      const address = page.url();
      assert.match(address, /toy=circles.*consistency=0\.5.*em=1|toy=circles.*em=1/);
      await page.goto("about:blank");
      await page.goto(address);
      await page.getByText(/500 points/).waitFor();
      assert.equal(await page.getByLabel("Coupling layers").inputValue(), "4");
      assert.ok(await page.getByLabel("EM for the mixture").isChecked());
    },
  },

  "a fit works by touch on a phone": {
    options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/playground?toy=moons&steps=300`);
      await page.getByText(/500 points/).waitFor();
      await page.getByRole("button", { name: "Fit", exact: true }).tap();
      await finished(page);
      assert.ok((await colours(panel(page, 0))) > 20);
      await panel(page, 0).tap({ position: { x: 40, y: 40 } });
      await page.getByText(/501 points/).waitFor();
      await axe();
    },
  },
};
