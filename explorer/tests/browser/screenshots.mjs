// Pictures of every view in light, dark and phone width, and the moving picture of a fit, in the folder that is named:
//   FLOWGMM_BIN=... npm run screenshots -- FOLDER [MODEL DATA [MODEL DATA]]
// Without models, those of the tests are made.
import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { makeModels } from "./fixtures.mjs";
import { launch, needs, open, scratch, serve } from "./lib.mjs";

const { program, browser: path } = needs();
const [folder = "shots", ...given] = process.argv.slice(2);
await mkdir(folder, { recursive: true });

const LOOKS = {
  light: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.5, colorScheme: "light" },
  dark: { viewport: { width: 1440, height: 900 }, deviceScaleFactor: 1.5, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, colorScheme: "light", isMobile: true, hasTouch: true },
};

await scratch(async (scratchFolder) => {
  let pairs = [];
  for (let i = 0; i + 1 < given.length; i += 2) pairs.push([given[i], given[i + 1]]);
  if (pairs.length === 0) {
    const made = await makeModels(program, join(scratchFolder, "models"));
    pairs = [
      [made.table.model, made.table.data],
      [made.images.model, made.images.data],
    ];
  }
  const browser = await launch(path);
  for (const [model, data] of pairs) {
    const server = await serve(program, [model, "--data", data]);
    const name = basename(model).replace(/\.[^.]*$/, "");
    try {
      for (const [look, options] of Object.entries(LOOKS)) {
        for (const view of ["map", "latent", "features", "model"]) {
          const { page, context, errors } = await open(browser, server.base, options);
          await page.goto(`${server.base}/#/${view}/${encodeURIComponent(name)}${view === "map" ? "?row=7" : ""}`);
          await page.locator("main").waitFor();
          await page.waitForTimeout(3500);
          if (view === "latent") await page.getByLabel("Place on the path").fill("70");
          await page.waitForTimeout(300);
          await page.screenshot({ path: join(folder, `${view}-${name}-${look}.png`), fullPage: look === "phone" });
          if (errors.length > 0) console.log(view, look, errors);
          await context.close();
        }
      }
      if (model !== pairs[0][0]) continue;
      for (const [look, options] of Object.entries(LOOKS)) {
        for (const [toy, compare] of [
          ["moons", 0],
          ["pinwheel", 1],
          ["circles", 1],
        ]) {
          const { page, context } = await open(browser, server.base, options);
          await page.goto(`${server.base}/#/playground?toy=${toy}&compare=${compare}`);
          await page.getByText(/\d+ points/).waitFor();
          await page.getByRole("button", { name: "Fit", exact: true }).click();
          await page.locator(".readout", { hasText: "finished" }).waitFor({ timeout: 120_000 });
          await page.waitForTimeout(200);
          await page.screenshot({ path: join(folder, `playground-${toy}-${look}.png`), fullPage: look === "phone" });
          await context.close();
        }
      }
    } finally {
      await server.stop();
    }
  }
  await browser.close();
});
