// Small models to look at, made with the program under test: a table with hostile names, and handwritten digits as images.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export const HOSTILE_CLASS = "<img src=x onerror=alert(1)>";
export const HOSTILE_COLUMN = "<script>alert(2)</script>";

/** A generator of uniform numbers with a seed (mulberry32). */
export function uniform(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function normal(draw) {
  return Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
}

/** A table of n rows in three classes, of which one in twenty has a label. */
export function table(n, seed) {
  const draw = uniform(seed);
  const classes = [HOSTILE_CLASS, "plain", '"quoted" & co'];
  const centres = [
    [1.5, 0.2, 60],
    [4.3, 1.3, 95],
    [5.7, 2.1, 130],
  ];
  const quote = (text) => `"${text.replaceAll('"', '""')}"`;
  const lines = [[HOSTILE_COLUMN, "width", "height", "kind"].map(quote).join(",")];
  for (let i = 0; i < n; i++) {
    const k = Math.floor(3 * draw());
    const bend = normal(draw);
    const cells = [
      centres[k][0] + 0.45 * bend,
      centres[k][1] + 0.12 * bend * bend + 0.12 * normal(draw),
      centres[k][2] + 9 * normal(draw),
    ];
    lines.push([...cells.map((v) => v.toFixed(4)), i % 20 === 0 ? quote(classes[k]) : ""].join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Fits the models in a folder; returns their files and their data. */
export async function makeModels(program, folder) {
  await mkdir(folder, { recursive: true });
  const at = (name) => join(folder, name);
  const made = {
    table: { model: at("flowers.flow"), data: at("flowers.csv") },
    images: { model: at("digits.flow"), data: at("digits.idx3"), labels: at("digits.idx1") },
  };
  // A folder that was named by FLOWGMM_TEST_MODELS may hold them already.
  if (existsSync(made.table.model) && existsSync(made.images.model)) return made;
  const quiet = { maxBuffer: 1 << 26 };
  await writeFile(at("flowers.csv"), table(1200, 1));
  await run(
    program,
    ["fit", at("flowers.csv"), "--label", "kind", "--steps", "400", "--model", at("flowers.flow"), "--quiet"],
    quiet,
  );
  await run(program, ["demo", "digits", "--out", at("demo"), "--quiet"], quiet);
  await digits(at("demo/digits-train.csv"), at);
  const images = [
    "fit",
    at("digits.idx3"),
    "--labels",
    at("digits.idx1"),
    "--unlabelled",
    at("more.idx3"),
    "--steps",
    "150",
    "--model",
    at("digits.flow"),
    "--quiet",
  ];
  await run(program, images, quiet);
  return made;
}

/** The digits of the demo, 8 x 8 with values of 0 to 16, as IDX files. */
async function digits(csv, at) {
  const [, ...lines] = (await readFile(csv, "utf8")).trim().split("\n");
  const rows = lines.map((line) => line.split(","));
  const labelled = rows.filter((row) => row[64] !== "");
  const images = (of) =>
    Buffer.concat([
      header(3, [of.length, 8, 8]),
      Buffer.from(of.flatMap((row) => row.slice(0, 64).map((v) => Math.min(255, Math.round((255 * Number(v)) / 16))))),
    ]);
  await writeFile(at("digits.idx3"), images(labelled));
  await writeFile(
    at("digits.idx1"),
    Buffer.concat([header(1, [labelled.length]), Buffer.from(labelled.map((row) => Number(row[64])))]),
  );
  await writeFile(at("more.idx3"), images(rows.filter((row) => row[64] === "")));
}

function header(dimensions, sizes) {
  const bytes = Buffer.alloc(4 + 4 * sizes.length);
  bytes[2] = 8;
  bytes[3] = dimensions;
  sizes.forEach((size, i) => bytes.writeUInt32BE(size, 4 + 4 * i));
  return bytes;
}
