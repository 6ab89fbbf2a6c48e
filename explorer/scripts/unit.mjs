// Runs tests/unit/*.test.ts: bundled by esbuild, run by Node's own test runner.
import { spawnSync } from "node:child_process";
import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const build = join(root, "build/unit");
await rm(build, { recursive: true, force: true });
const names = (await readdir(join(root, "tests/unit"))).filter((name) => name.endsWith(".test.ts"));
await esbuild.build({
  absWorkingDir: root,
  entryPoints: names.map((name) => `tests/unit/${name}`),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  jsx: "automatic",
  jsxImportSource: "preact",
  outdir: build,
  outExtension: { ".js": ".mjs" },
  logLevel: "warning",
});
const files = names.map((name) => join(build, name.replace(/\.ts$/, ".mjs")));
process.exit(spawnSync(process.execPath, ["--test", ...files], { stdio: "inherit" }).status ?? 1);
