// The card.
import assert from "node:assert/strict";

export const tests = {
  "the card says what was decided and why, and how exactly the flow inverts": {
    on: "table",
    run: async ({ page, base, axe }) => {
      await page.goto(`${base}/#/model/flowers`);
      await page.getByRole("heading", { name: "Decisions, and why" }).waitFor({ timeout: 60_000 });
      assert.ok((await page.locator(".decisions tr").count()) > 3);
      await page.getByText("Training rows:").waitFor();
      await page.getByText(/of \d+ held-out labels right/).waitFor();
      await page.getByRole("img", { name: /Reliability diagram/ }).waitFor();
      await page.getByRole("img", { name: "Loss over training steps" }).waitFor();
      await axe();
    },
  },

  "the card of images counts pixels": {
    on: "images",
    run: async ({ page, base }) => {
      await page.goto(`${base}/#/model/digits`);
      await page.getByRole("heading", { name: "Certificate" }).waitFor({ timeout: 60_000 });
      assert.equal(await page.locator(".shares li .name").count(), 10);
    },
  },
};
