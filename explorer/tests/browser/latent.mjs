// Paths and samples.
import assert from "node:assert/strict";
import { HOSTILE_COLUMN } from "./fixtures.mjs";

export const tests = {
  "the row follows the slider between two rows, with its probabilities": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/latent/flowers`);
      const slider = page.getByLabel("Place on the path");
      await slider.waitFor();
      const value = () => page.locator(".tracks tr", { hasText: HOSTILE_COLUMN }).locator("td").last().textContent();
      const seen = new Set();
      for (const at of ["0", "40", "80", "128"]) {
        await slider.fill(at);
        seen.add(await value());
      }
      assert.ok(seen.size > 2, `values ${[...seen].join(", ")}`);
      const first = await page.locator(".now").textContent();
      await slider.fill("0");
      assert.notEqual(await page.locator(".now").textContent(), first, "probabilities do not follow");
      assert.equal(await page.locator(".along canvas").count(), 2);
      await axe();
    },
  },

  "across the boundary the class changes, and towards a class mean its probability grows": {
    on: "table",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/latent/flowers?from=7&kind=boundary`);
      const slider = page.getByLabel("Place on the path");
      await slider.waitFor();
      const likeliest = () =>
        page.locator(".now .probabilities li").evaluateAll((items) => {
          const p = items.map((item) => parseFloat(item.querySelector(".value").textContent));
          return items[p.indexOf(Math.max(...p))].querySelector(".name").textContent;
        });
      await slider.fill("0");
      const before = await likeliest();
      await slider.fill("128");
      const after = await likeliest();
      assert.ok(before.length > 0 && after.length > 0);
      await page.getByRole("button", { name: "Towards a class" }).click();
      await page.getByLabel("Class", { exact: true }).first().selectOption("plain");
      await slider.fill("128");
      await page.waitForFunction(() => {
        const item = [...document.querySelectorAll(".now .probabilities li")].find(
          (li) => li.querySelector(".name").textContent === "plain",
        );
        return item && parseFloat(item.querySelector(".value").textContent) > 50;
      });
      await page.getByRole("button", { name: "Play" }).click();
      await page.waitForTimeout(400);
      await page.getByRole("button", { name: "Pause" }).click();
    },
  },

  "samples follow the class and the temperature": {
    on: "table",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/latent/flowers`);
      const rows = page.locator(".samples tbody tr");
      await rows.nth(5).waitFor();
      await page.locator(".samples select").selectOption("plain");
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".samples tbody td:first-child")].every((cell) => cell.textContent === "plain"),
      );
      await page.getByLabel("Temperature").fill("0");
      await page.waitForFunction(
        () => new Set([...document.querySelectorAll(".samples tbody tr")].map((row) => row.textContent)).size === 1,
      );
      await page.getByLabel("Temperature").fill("1");
      await page.waitForFunction(
        () => new Set([...document.querySelectorAll(".samples tbody tr")].map((row) => row.textContent)).size > 5,
      );
    },
  },

  "images follow the slider": {
    on: "images",
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/latent/digits`);
      const picture = page.locator(".picture.big");
      await picture.waitFor({ timeout: 30_000 });
      const slider = page.getByLabel("Place on the path");
      const looks = new Set();
      for (const at of ["0", "64", "128"]) {
        await slider.fill(at);
        await page.waitForTimeout(60);
        looks.add((await picture.screenshot()).toString("base64"));
      }
      assert.equal(looks.size, 3, "the picture does not follow");
      await page.locator(".samples .picture").nth(20).waitFor();
      await axe();
    },
  },
};
