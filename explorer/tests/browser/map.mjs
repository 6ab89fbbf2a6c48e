// The map: colours, axes, filters, lasso, the trust card, labels and the fit anew.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { HOSTILE_CLASS, HOSTILE_COLUMN } from "./fixtures.mjs";
import { colours } from "./lib.mjs";

const plot = (page) => page.locator(".plot canvas").last();

async function opened(page, base, query = "") {
  await page.goto(`${base}/#/map/flowers${query}`);
  await page.getByText("1 200 rows").or(page.getByText("1\u202f200 rows")).first().waitFor();
  await page.locator(".filter canvas").nth(3).waitFor();
  await page.waitForTimeout(250);
}

/** A lasso around the middle of the map. */
async function lasso(page, reach = 0.4) {
  const box = await plot(page).boundingBox();
  const at = (angle) => [
    box.x + box.width * (0.5 + reach * Math.cos(angle)),
    box.y + box.height * (0.5 + reach * Math.sin(angle)),
  ];
  await page.mouse.move(...at(0));
  await page.mouse.down();
  for (let i = 1; i <= 24; i++) await page.mouse.move(...at((i / 24) * 2 * Math.PI));
  await page.mouse.up();
}

export const tests = {
  "all rows are drawn, in every colour and on any two columns": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await opened(page, base);
      assert.ok((await colours(page.locator(".plot"))) > 10, "the map is empty");
      await axe();
      for (const key of ["label", "certainty", "log_p", "typicality", "boundary", `column/${HOSTILE_COLUMN}`]) {
        await page.getByLabel("Coloured by").selectOption(key);
        await page.waitForTimeout(150);
        assert.ok((await colours(page.locator(".plot"))) > 4, `coloured by ${key}`);
      }
      await page.getByLabel("Across").selectOption(`column/${HOSTILE_COLUMN}`);
      await page.getByLabel("Up").selectOption("column/height");
      await page.waitForTimeout(300);
      assert.ok((await colours(page.locator(".plot"))) > 10, "columns are not drawn");
      assert.match(page.url(), /x=column/);
    },
  },

  "with a graphics card, shaders draw the same rows": {
    on: "table",
    run: async ({ page, base }) => {
      await opened(page, base, "?renderer=webgl");
      assert.equal(await page.locator(".plot canvas").first().getAttribute("data-renderer"), "webgl");
      assert.ok((await colours(page.locator(".plot"))) > 10, "the map is empty");
      await page.getByLabel("Coloured by").selectOption("certainty");
      await page.getByRole("button", { name: "Zoom in" }).click();
      await page.waitForTimeout(400);
      assert.ok((await colours(page.locator(".plot"))) > 4, "the map is empty after zooming");
      assert.equal(await plot(page).getAttribute("data-drawn"), "1200");
    },
  },

  "it moves and zooms by mouse, wheel, buttons and keys": {
    on: "table",
    run: async ({ page, base }) => {
      await opened(page, base);
      const look = async () => (await page.locator(".plot").screenshot()).toString("base64");
      const change = async (what, act) => {
        const before = await look();
        await act();
        await page.mouse.move(2, 2);
        await page.waitForTimeout(350);
        assert.notEqual(await look(), before, `${what} changes nothing`);
      };
      const box = await plot(page).boundingBox();
      const middle = [box.x + box.width / 2, box.y + box.height / 2];
      await change("dragging", async () => {
        await page.mouse.move(...middle);
        await page.mouse.down();
        await page.mouse.move(middle[0] + 90, middle[1] + 40, { steps: 5 });
        await page.mouse.up();
      });
      await change("the wheel", async () => {
        await page.mouse.move(...middle);
        await page.mouse.wheel(0, -400);
      });
      await change("the button", () => page.getByRole("button", { name: "Zoom out" }).click());
      await plot(page).focus();
      await change("an arrow key", () => page.keyboard.press("ArrowLeft"));
      await change("a double click", () => page.mouse.dblclick(middle[0] + 200, middle[1] + 200));
    },
  },

  "brushed histograms and hidden classes leave fewer rows": {
    on: "table",
    run: async ({ page, base }) => {
      await opened(page, base);
      const rows = async () =>
        Number((await page.locator(".controls h2 small").textContent()).split(" of ")[0].replace(/\D/g, ""));
      assert.equal(await rows(), 1200);
      const bars = await page.locator(".filter canvas").nth(1).boundingBox();
      await page.mouse.move(bars.x + bars.width * 0.5, bars.y + 20);
      await page.mouse.down();
      await page.mouse.move(bars.x + bars.width * 0.9, bars.y + 20, { steps: 8 });
      await page.mouse.up();
      const brushed = await rows();
      assert.ok(brushed > 0 && brushed < 1200, `${brushed} rows after brushing`);
      await page.getByRole("button", { name: "plain" }).first().click();
      assert.ok((await rows()) < brushed);
      await page.getByRole("button", { name: "plain" }).first().click();
      assert.equal(await rows(), brushed);
      await page.locator(".filter .head button").first().click();
      assert.equal(await rows(), 1200);
      await page.getByLabel("Filter by a column").selectOption("column/height");
      await page.getByLabel("height: at least").focus();
      for (let i = 0; i < 80; i++) await page.keyboard.press("ArrowRight");
      assert.ok((await rows()) < 1200);
    },
  },

  "a click opens the trust card of a row": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await opened(page, base);
      const name = page.locator(".trust h2");
      const box = await plot(page).boundingBox();
      for (let i = 0; i < 400 && (await name.count()) === 0; i++) {
        const [u, v] = [0.2 + 0.6 * ((i * 0.618) % 1), 0.2 + 0.6 * ((i * 0.414) % 1)];
        await page.mouse.click(box.x + u * box.width, box.y + v * box.height);
      }
      assert.match(await name.textContent(), /^Row \d+/);
      await page.getByText("Typicality").last().waitFor();
      await page.getByText("Prediction set", { exact: true }).waitFor();
      await page.getByText("Nearest labelled rows").waitFor();
      await page.getByText("What would make it").waitFor();
      const shares = await page.locator(".trust .probabilities .value").allTextContents();
      const sum = shares.reduce((total, text) => total + parseFloat(text), 0);
      assert.ok(Math.abs(sum - 100) < 0.4, `probabilities sum to ${sum} %`);
      assert.match(page.url(), /row=\d+/);
      await axe();
      const before = await name.textContent();
      await page.locator(".nearest button").last().click();
      await page.waitForFunction((old) => document.querySelector(".trust h2")?.textContent !== old, before);
      await page.getByRole("link", { name: "Walk across the boundary" }).click();
      await page.getByRole("heading", { name: /Latent space/ }).waitFor();
    },
  },

  "a lasso selects rows, which are labelled; the model is refitted with them and the table taken away": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await opened(page, base);
      await page.getByRole("button", { name: "Lasso" }).click();
      await lasso(page, 0.45);
      const heading = page.getByRole("heading", { name: /rows selected/ });
      await heading.waitFor();
      const n = Number((await heading.textContent()).replace(/\D/g, ""));
      assert.ok(n > 20, `${n} rows selected`);
      await axe();
      await page.getByRole("button", { name: "Clear", exact: true }).click();
      await page.getByRole("button", { name: "Label these next" }).click();
      await page.locator(".suggestions li").nth(3).waitFor({ timeout: 30_000 });
      for (let i = 0; i < 3; i++) {
        await page.locator(".suggestions li > button").nth(i).click();
        await page
          .locator(".suggestions li.chosen .labels button")
          .nth(i % 3)
          .click();
      }
      await page.getByText("3 labels given here.").waitFor();
      await page.reload();
      await page.getByText("3 labels given here.").waitFor();
      const started = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download table" }).click();
      const csv = await readFile(await (await started).path(), "utf8");
      assert.equal(csv.trim().split("\n").length, 1201);
      assert.ok(csv.includes(HOSTILE_CLASS));
      await page.getByRole("button", { name: "Refit" }).click();
      await page.locator(".labelling progress").waitFor();
      await page.getByText("Refitted with 3 new labels.").waitFor({ timeout: 120_000 });
      await page.waitForTimeout(500);
      assert.ok((await colours(page.locator(".plot"))) > 10, "the map is empty after the refit");
      const file = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download model" }).click();
      assert.equal((await file).suggestedFilename(), "flowers.flow");
    },
  },

  "images have cards with pictures": {
    on: "images",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/map/digits?row=3`);
      await page.locator(".trust .picture").first().waitFor({ timeout: 30_000 });
      assert.ok((await colours(page.locator(".trust .picture").first())) > 3, "the picture is empty");
      assert.ok((await colours(page.locator(".plot"))) > 10, "the map is empty");
    },
  },
};
