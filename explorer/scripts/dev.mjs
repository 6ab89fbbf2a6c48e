// For work on the page: serves dist/ as it is now, and passes the rest on to a running `flowgmm serve`.
//   node scripts/dev.mjs http://127.0.0.1:8080 [PORT]
import { createServer, request as ask } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");
const TYPES = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  woff2: "font/woff2",
};

/** Listens at a port (0: any); files of the page come with the headers that the server gives its own. */
export async function dev(target, port = 0) {
  const { headers } = await fetch(`${target}/`);
  const policy = headers.get("content-security-policy") ?? "";
  const server = createServer(async (request, answer) => {
    const path = new URL(request.url, target).pathname;
    const name = path === "/" ? "index.html" : path.slice(1);
    const file = /^[\w.]+$/.test(name) ? await readFile(join(dist, name)).catch(() => null) : null;
    if (file) {
      answer
        .writeHead(200, {
          "content-type": TYPES[name.split(".").pop()] ?? "text/plain",
          "content-security-policy": policy,
          "cache-control": "no-store",
        })
        .end(file);
      return;
    }
    const { host: _host, origin, ...rest } = request.headers;
    const passed = ask(
      target + request.url,
      { method: request.method, headers: { ...rest, ...(origin ? { origin: target } : {}) } },
      (reply) => {
        answer.writeHead(reply.statusCode, reply.headers);
        reply.pipe(answer);
      },
    );
    passed.on("error", () => answer.destroy());
    answer.on("close", () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise((ready) => server.listen(port, "127.0.0.1", ready));
  return { base: `http://127.0.0.1:${server.address().port}`, stop: () => (server.closeAllConnections(), server.close()) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { base } = await dev(process.argv[2] ?? "http://127.0.0.1:8080", Number(process.argv[3] ?? 8124));
  console.log(`page at ${base}`);
}
