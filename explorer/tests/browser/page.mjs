// The frame around the views: addresses, themes, narrow screens, hostile names, servers without a model.
import assert from "node:assert/strict";
import { HOSTILE_CLASS } from "./fixtures.mjs";

const VIEWS = ["Map", "Latent", "Features", "Model"];

export const tests = {
  "without a model, the playground opens and the other views say what to do": {
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/`);
      await page.getByRole("heading", { name: "Playground" }).waitFor({ state: "attached" });
      for (const view of VIEWS) {
        await page.getByRole("link", { name: view, exact: true }).click();
        await page.getByText("No model yet").waitFor();
        await page.getByText("flowgmm serve iris.flow").waitFor();
      }
      await axe();
    },
  },

  "with a model, its map opens first, and each view by keyboard": {
    on: "table",
    run: async ({ page, base }) => {
      await page.goto(`${base}/`);
      await page.waitForURL(/#\/map\/flowers/);
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the view");
      for (let i = 0; i < 4; i++) await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.textContent), "Latent");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Latent space of flowers" }).waitFor();
    },
  },

  "a model that is not there is said so": {
    on: "table",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/map/${encodeURIComponent("<b>nobody</b>")}`);
      await page.getByText("There is no such model").waitFor();
      await page.getByText("<b>nobody</b>").waitFor();
      assert.equal(await page.locator("#content b").count(), 0);
    },
  },

  "names of classes and columns stay text in every view": {
    on: "table",
    run: async ({ page, base }) => {
      for (const view of ["map", "latent", "features", "model"]) {
        await page.goto(`${base}/#/${view}/flowers`);
        await page
          .getByText(view === "features" ? "<script>alert(2)</script>" : HOSTILE_CLASS)
          .first()
          .waitFor({ state: "attached" });
        assert.equal(await page.locator("#app img, #app script").count(), 0, `elements made of names in ${view}`);
      }
    },
  },

  "a server with a token shows its models to those who bring it": {
    on: "token",
    run: async ({ page, base, errors }) => {
      await page.goto(`${base}/#/map`);
      await page.getByRole("alert").waitFor();
      errors.splice(0); // the browser itself reports every answer of 401
      await page.goto("about:blank");
      await page.goto(`${base}/#token=open%20sesame`);
      await page.waitForURL(/#\/map\/flowers/);
      await page.locator(".filter canvas").nth(3).waitFor();
      assert.ok(!page.url().includes("sesame"), "the token stays in the address");
      await page.getByRole("link", { name: "Model", exact: true }).click();
      const saved = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download the explain page" }).click({ timeout: 60_000 });
      assert.match((await saved).suggestedFilename(), /\.html$/);
    },
  },

  "light, dark and back": {
    options: { colorScheme: "dark" },
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/`);
      const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
      assert.equal(await theme(), "dark");
      await axe();
      await page.getByRole("button", { name: "Switch to light colours" }).click();
      assert.equal(await theme(), "light");
      await page.reload();
      assert.equal(await theme(), "light");
      await page.getByRole("button", { name: "Switch to dark colours" }).click();
      assert.equal(await theme(), "dark");
    },
  },

  "every view can be read in the dark, too": {
    on: "table",
    options: { colorScheme: "dark" },
    run: async ({ page, base, axe }) => {
      for (const view of ["map/flowers?row=3", "latent/flowers", "features/flowers", "model/flowers"]) {
        await page.goto(`${base}/#/${view}`);
        await page.locator("main h1").waitFor({ state: "attached" });
        await page.waitForTimeout(1200);
        await axe();
      }
    },
  },

  "nothing is wider than a phone": {
    on: "table",
    options: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
    run: async ({ page, base }) => {
      for (const view of ["playground", "map/flowers", "latent/flowers", "features/flowers", "model/flowers"]) {
        await page.goto(`${base}/#/${view}`);
        await page.locator("main").waitFor();
        await page.waitForTimeout(400);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= 390, `${view} is ${width} pixels wide`);
      }
    },
  },

  "the explain page is shown without its scripts being run in ours": {
    on: "table",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/model/flowers`);
      await page.getByRole("button", { name: "Show it here" }).click();
      const frame = page.frameLocator("iframe.explain");
      await frame.locator("h1").first().waitFor({ timeout: 60_000 });
    },
  },
};
