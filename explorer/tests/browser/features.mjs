// Dragging alpha, choosing layers, channels and places, the wall.
import assert from "node:assert/strict";

export const tests = {
  "images follow alpha on the histogram and by the slider": {
    on: "images",
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/features/digits`);
      const moving = page.locator(".picture.moving");
      await moving.nth(7).waitFor({ timeout: 60_000 });
      const look = async () => (await page.locator(".pairs").screenshot()).toString("base64");
      const histogram = await page.locator(".alpha canvas").boundingBox();
      const y = histogram.y + 40;
      await page.mouse.move(histogram.x + histogram.width * 0.5, y);
      await page.mouse.down();
      const looks = new Set();
      for (const share of [0.5, 0.65, 0.8, 0.95]) {
        await page.mouse.move(histogram.x + histogram.width * share, y, { steps: 3 });
        await page.waitForTimeout(50);
        looks.add(await look());
      }
      await page.mouse.up();
      assert.ok(looks.size >= 3, `${looks.size} different pictures while dragging`);
      await page.getByLabel("Shift").fill("0");
      await page.waitForTimeout(60);
      const pixels = await page
        .locator(".pairs figure")
        .first()
        .locator("canvas")
        .evaluateAll((all) => all.map((c) => c.toDataURL()));
      assert.equal(pixels[0], pixels[1], "at alpha = 0 the image is not the one that it was");
      await axe();
    },
  },

  "a layer, a channel and a place can be chosen, and a wall shows all channels": {
    on: "images",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/features/digits`);
      await page.locator(".picture.moving").nth(7).waitFor({ timeout: 60_000 });
      const options = await page
        .getByLabel("Layer", { exact: true })
        .locator("option")
        .evaluateAll((all) => all.map((o) => o.value));
      assert.ok(options.length > 3, `${options.length} layers`);
      await page.locator(".wall .sheet button").first().waitFor();
      await page.locator(".wall .sheet button").nth(1).click();
      await page.waitForFunction(() => location.hash.includes("channel=1"));
      const place = page.getByRole("application", { name: /Place on the image/ });
      if ((await place.count()) > 0) {
        await place.click();
        await page.getByText(/^row \d+, column \d+$/).waitFor();
        await place.press("ArrowLeft");
        await page.getByRole("button", { name: "Everywhere" }).click();
        await page.getByText("everywhere", { exact: true }).waitFor();
      }
      await page.getByLabel("Layer", { exact: true }).selectOption(options[options.length - 1]);
      await page.waitForFunction((layer) => location.hash.includes(`layer=${layer}`), options[options.length - 1]);
      await page.locator(".picture.moving").nth(7).waitFor();
    },
  },

  "columns of a table follow alpha": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/features/flowers`);
      await page.locator(".moved table").waitFor({ timeout: 30_000 });
      const text = () => page.locator(".moved tbody").textContent();
      await page.getByLabel("Shift").fill("0");
      const before = await text();
      await page.getByLabel("Shift").fill("3");
      assert.notEqual(await text(), before);
      await page.locator(".wall tbody tr").nth(3).waitFor();
      await axe();
    },
  },
};
