// Drives every view of the page in Chromium, on the program under test: FLOWGMM_BIN=target/release/flowgmm npm run test:browser
// An argument runs only the tests whose name contains it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { makeModels } from "./fixtures.mjs";
import { launch, needs, open, scratch, serve } from "./lib.mjs";
import * as playground from "./playground.mjs";
import * as map from "./map.mjs";
import * as latent from "./latent.mjs";
import * as features from "./features.mjs";
import * as model from "./model.mjs";
import * as page from "./page.mjs";

const { program, browser: path } = needs();
const only = process.argv[2] ?? "";
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const failed = await scratch(async (folder) => {
  const began = Date.now();
  const made = await makeModels(program, process.env.FLOWGMM_TEST_MODELS ?? join(folder, "models"));
  console.log(`models made in ${((Date.now() - began) / 1000).toFixed(0)} s`);
  const servers = {};
  const browser = await launch(path);
  const failures = [];
  try {
    servers.none = await serve(program, []);
    servers.table = await serve(program, [made.table.model, "--data", made.table.data]);
    servers.images = await serve(program, [made.images.model, "--data", made.images.data, "--labels", made.images.labels]);
    servers.token = await serve(program, [made.table.model, "--data", made.table.data, "--token", "open sesame"]);
    for (const group of [page, playground, map, latent, features, model]) {
      for (const [name, test] of Object.entries(group.tests)) {
        if (!name.includes(only)) continue;
        const start = Date.now();
        const server = servers[test.on ?? "none"];
        const opened = await open(browser, server.base, test.options ?? {});
        try {
          await test.run({ ...opened, base: server.base, servers, axe: () => faults(opened.page), made });
          assert.deepEqual(opened.errors, [], "errors on the page");
          console.log(`ok      ${name} (${Date.now() - start} ms)`);
        } catch (error) {
          failures.push(name);
          console.log(`FAILED  ${name}\n${indent(error.stack ?? String(error))}`);
          if (opened.errors.length > 0) console.log(indent(opened.errors.join("\n")));
          if (process.env.FLOWGMM_SHOTS)
            await opened.page.screenshot({ path: join(process.env.FLOWGMM_SHOTS, `failed-${failures.length}.png`) });
        } finally {
          await opened.context.close();
        }
      }
    }
  } finally {
    await browser.close();
    for (const server of Object.values(servers)) await server.stop();
  }
  return failures;
});

if (failed.length > 0) {
  console.log(`${failed.length} failed: ${failed.join(", ")}`);
  process.exit(1);
}
console.log("all browser tests passed");

/** Serious and critical faults of accessibility on the page as it is. */
async function faults(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  const told = serious.map(
    (v) =>
      `${v.id}: ${v.help} (${v.nodes
        .slice(0, 3)
        .map((n) => `${n.target.join(" ")} ${n.failureSummary?.split("\n")[1]?.trim() ?? ""}`)
        .join("; ")})`,
  );
  assert.deepEqual(told, [], "accessibility faults");
}

function indent(text) {
  return text
    .split("\n")
    .map((line) => `        ${line}`)
    .join("\n");
}
