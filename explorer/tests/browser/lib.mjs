// A browser, a server, and a page that tells every error it meets.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { dev } from "../../scripts/dev.mjs";

/** The status of a run that could not be made here, as for automake. */
export const SKIPPED = 77;

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/usr/bin/google-chrome-stable"];

export function browserPath() {
  if (process.env.CHROMIUM !== undefined) return process.env.CHROMIUM === "" ? null : process.env.CHROMIUM;
  return BROWSERS.find((path) => existsSync(path)) ?? null;
}

/** What this run needs: the program by FLOWGMM_BIN, and a Chromium. Says by name what is missing, and ends. */
export function needs() {
  const program = process.env.FLOWGMM_BIN;
  const browser = browserPath();
  if (!program || !existsSync(program)) skip("FLOWGMM_BIN does not name the flowgmm program");
  if (!browser || !existsSync(browser)) skip("there is no Chromium (set CHROMIUM, or install Debian's package chromium)");
  return { program, browser };
}

function skip(why) {
  console.error(`skipped: browser tests of the explorer, because ${why}`);
  process.exit(SKIPPED);
}

export async function launch(browser) {
  return chromium.launch({
    executablePath: browser,
    args: [
      "--headless",
      "--no-sandbox",
      // As on a machine without a graphics card: pages are put together by the processor, and WebGL is SwiftShader.
      "--disable-gpu",
      "--enable-unsafe-swiftshader",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A page, and the errors that it met: of the console, of scripts, of the content security policy, and requests that leave. */
export async function open(browser, base, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const errors = [];
  page.on("console", (message) => {
    // SwiftShader's driver remarks on reading pictures back, which is how a page without a graphics card is put together.
    if (message.text().includes("GL Driver Message")) return;
    if (message.type() === "error" || message.type() === "warning") errors.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => errors.push(`script: ${error.message}`));
  page.on("dialog", (dialog) => {
    errors.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:") && !url.startsWith("blob:"))
      errors.push(`request to elsewhere: ${url}`);
  });
  return { page, errors, context };
}

export async function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts `flowgmm serve`; resolves when it answers. */
export async function serve(program, args) {
  const port = await freePort();
  const child = spawn(program, ["serve", ...args, "--port", String(port), "--no-open"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said = (said + text).slice(-4000)));
  const base = `http://127.0.0.1:${port}`;
  for (let i = 0; i < 600; i++) {
    if (child.exitCode !== null) throw new Error(`flowgmm serve ${args.join(" ")} ended with ${child.exitCode}:\n${said}`);
    const answer = await fetch(`${base}/api/v1/models`).catch(() => null);
    if (answer?.ok || answer?.status === 401) {
      await answer.text();
      // EXPLORER_DIST=1 looks at dist/ as it is now, instead of the files inside the program.
      const page = process.env.EXPLORER_DIST === "1" ? await dev(base) : null;
      const end = async () => {
        page?.stop();
        await stop(child);
      };
      return { base: page?.base ?? base, pid: child.pid, said: () => said, stop: end };
    }
    await answer?.text().catch(() => "");
    await sleep(100);
  }
  await stop(child);
  throw new Error(`flowgmm serve did not answer within a minute:\n${said}`);
}

async function stop(child) {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await Promise.race([ended, sleep(15_000).then(() => child.kill("SIGKILL"))]);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A folder that goes away afterwards. */
export async function scratch(work) {
  const folder = await mkdtemp(join(tmpdir(), "flowgmm-explorer-"));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether a canvas shows anything: the number of distinct colours in a sample of its pixels. */
export async function colours(locator) {
  const png = await locator.screenshot();
  return locator.page().evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    const context = canvas.getContext("2d");
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, bitmap.width, bitmap.height);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4 * 7) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  }, png.toString("base64"));
}
