// A moving picture of the playground learning two moons: FLOWGMM_BIN=... node tests/browser/film.mjs OUT.gif (needs ffmpeg).
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { launch, needs, open, scratch, serve } from "./lib.mjs";

const { program, browser: path } = needs();
const [out = "explorer.gif", toy = "moons", theme = "light"] = process.argv.slice(2);
const run = promisify(execFile);

await scratch(async (folder) => {
  const server = await serve(program, []);
  const browser = await launch(path);
  try {
    const { page } = await open(browser, server.base, { viewport: { width: 1180, height: 900 }, colorScheme: theme });
    await page.goto(`${server.base}/#/playground?toy=${toy}&compare=0`);
    await page.getByText(/\d+ points/).waitFor();
    await page.getByRole("button", { name: "Fit", exact: true }).click();
    await page.locator(".readout", { hasText: "finished" }).waitFor({ timeout: 120_000 });
    const slider = page.getByLabel("Time: frame shown");
    const last = Number(await slider.getAttribute("max"));
    const box = await page.locator(".stagegrid").boundingBox();
    const clip = { x: box.x - 10, y: box.y - 8, width: box.width + 20, height: Math.min(box.height + 12, 892 - box.y) };
    // Most happens early: frames are taken evenly in the square root of time.
    const moments = Array.from({ length: 64 }, (_, i) => Math.round(last * (i / 63) ** 2.4));
    let n = 0;
    for (const moment of [...moments, ...Array(14).fill(last)]) {
      await slider.fill(String(moment));
      await page.waitForTimeout(40);
      await page.screenshot({ path: join(folder, `${String(n++).padStart(3, "0")}.png`), clip });
    }
    const filter =
      "scale=800:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=160:stats_mode=full[p];[b][p]paletteuse=dither=none:diff_mode=rectangle";
    await run("ffmpeg", ["-y", "-framerate", "14", "-i", join(folder, "%03d.png"), "-filter_complex", filter, "-loop", "0", out]);
  } finally {
    await browser.close();
    await server.stop();
  }
});
console.log(`written to ${out}`);
