// Builds explorer/dist: one script, one style sheet, one font, one page, and the digests of the sources they were made from.
//
//   node scripts/build.mjs            writes dist/
//   node scripts/build.mjs --check    fails if dist/ is not what the sources give
//   node scripts/build.mjs --watch    writes again whenever a source changes
//
// dist/sources.sha256 has the format of sha256sum, so that a test without npm can tell that dist/ is stale.
import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { watch } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import esbuild from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const dist = join(root, "dist");
const FONT = "node_modules/@fontsource-variable/inter";

/** The files that dist/ is made from, sorted by name. */
export async function sources() {
  const found = ["index.html", "package.json", "package-lock.json", "tsconfig.json", "scripts/build.mjs"];
  const walk = async (folder) => {
    for (const entry of await readdir(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) await walk(path);
      else found.push(path);
    }
  };
  await walk("src");
  return found.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

/** Name and bytes of every built file. */
async function built() {
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: { app: "src/main.tsx" },
    bundle: true,
    minify: true,
    format: "esm",
    target: ["es2022"],
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: "dist",
    write: false,
    legalComments: "none",
    charset: "utf8",
    loader: { ".woff2": "file" },
    assetNames: "[name]",
    external: ["/inter.woff2"],
    logLevel: "warning",
  });
  const files = new Map();
  for (const file of result.outputFiles) files.set(file.path.slice(dist.length + 1), Buffer.from(file.contents));
  files.set("index.html", await readFile(join(root, "index.html")));
  files.set("inter.woff2", await readFile(join(root, FONT, "files/inter-latin-wght-normal.woff2")));
  files.set("licences.txt", Buffer.from(await licences()));
  const digests = [];
  for (const path of await sources()) {
    digests.push(
      `${createHash("sha256")
        .update(await readFile(join(root, path)))
        .digest("hex")}  ${path}\n`,
    );
  }
  files.set("sources.sha256", Buffer.from(digests.join("")));
  return files;
}

/** The licences of what the bundle contains. */
async function licences() {
  const parts = [];
  for (const name of ["preact", "d3-contour", "d3-array", "internmap", "@fontsource-variable/inter"]) {
    const text = await readFile(join(root, "node_modules", name, "LICENSE"), "utf8");
    parts.push(`${name}\n${"=".repeat(name.length)}\n\n${text.trim()}\n`);
  }
  return parts.join("\n\n");
}

async function write() {
  const files = await built();
  await rm(dist, { recursive: true, force: true });
  await mkdir(dist, { recursive: true });
  let total = 0;
  for (const [name, bytes] of files) {
    await writeFile(join(dist, name), bytes);
    total += bytes.length;
  }
  console.log(`dist: ${files.size} files, ${(total / 1024).toFixed(0)} KiB`);
}

async function check() {
  const files = await built();
  const stale = [];
  for (const [name, bytes] of files) {
    const kept = await readFile(join(dist, name)).catch(() => null);
    if (!kept || !kept.equals(bytes)) stale.push(name);
  }
  for (const name of await readdir(dist)) if (!files.has(name)) stale.push(name);
  if (stale.length > 0) {
    console.error(`explorer/dist is stale (${stale.join(", ")}): run "npm run build" in explorer/ and commit dist/`);
    process.exit(1);
  }
  console.log("dist is up to date");
}

if (process.argv.includes("--check")) {
  await check();
} else {
  await write();
  if (process.argv.includes("--watch")) {
    let timer;
    watch(join(root, "src"), { recursive: true }, () => {
      clearTimeout(timer);
      timer = setTimeout(() => write().catch((e) => console.error(e.message)), 60);
    });
  }
}
