// A test fixture, and nothing else: answers in the shapes of explorer/API.md with made-up numbers, so that the page can be worked
// on without a model. It learns nothing. `npm run build && npm run mock`, then http://127.0.0.1:8123.
// MOCK_ROWS sets the rows of the table (default 20000).
import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const dist = join(dirname(dirname(fileURLToPath(import.meta.url))), "dist");
const PORT = Number(process.env.PORT ?? 8123);
const ROWS = Number(process.env.MOCK_ROWS ?? 20000);
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'";

const random = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
const normal = (r) => Math.sqrt(-2 * Math.log(1 - r())) * Math.cos(2 * Math.PI * r());
const b64 = (typed) => Buffer.from(typed.buffer, typed.byteOffset, typed.byteLength).toString("base64");
const softmax = (v) => {
  const m = Math.max(...v);
  const e = v.map((x) => Math.exp(x - m));
  const s = e.reduce((a, b) => a + b, 0);
  return e.map((x) => x / s);
};

// The table: three classes in five columns.
const CLASSES = ["setosa", "<img src=x onerror=alert(1)>", "virginica"];
const COLUMNS = ["sepal length", "sepal width", "petal length", "petal width", "<script>bad</script>"];
const CENTRES = [
  [5, 3.4, 1.5, 0.3, 0],
  [5.9, 2.8, 4.3, 1.3, 1],
  [6.6, 3, 5.6, 2, 2],
];
const MEANS = [
  [-3, -1],
  [1, 2.5],
  [3.2, -2],
];
const table = (() => {
  const r = random(7);
  const columns = COLUMNS.map(() => new Float32Array(ROWS));
  const fields = Object.fromEntries(
    ["x", "y", "class", "label", "certainty", "log_p", "typicality", "boundary"].map((f) => [f, new Float32Array(ROWS)]),
  );
  for (let i = 0; i < ROWS; i++) {
    const k = Math.floor(r() * 3);
    for (let c = 0; c < 5; c++) columns[c][i] = CENTRES[k][c] + 0.35 * normal(r);
    fields.x[i] = MEANS[k][0] + normal(r);
    fields.y[i] = MEANS[k][1] + normal(r);
    const p = posterior([fields.x[i], fields.y[i]]);
    fields.class[i] = p.indexOf(Math.max(...p));
    fields.label[i] = r() < 0.02 ? k : NaN;
    fields.certainty[i] = Math.max(...p);
    fields.log_p[i] = -2 - 0.5 * Math.min(...MEANS.map((m) => (m[0] - fields.x[i]) ** 2 + (m[1] - fields.y[i]) ** 2));
    fields.typicality[i] = Math.exp(fields.log_p[i] + 2);
    fields.boundary[i] = Math.abs(normal(r)) * 2;
  }
  return { columns, fields };
})();
function posterior(z) {
  return softmax(MEANS.map((m) => -0.5 * ((m[0] - z[0]) ** 2 + (m[1] - z[1]) ** 2)));
}
const rowOf = (i) => Object.fromEntries(COLUMNS.map((c, j) => [c, table.columns[j][i]]));

// The images: blurred discs and bars of 12 x 12.
const SIDE = 12;
const IMAGES = 400;
const DIGITS = Array.from({ length: 10 }, (_, k) => String(k));
function picture(k, shift = 0, bend = 0) {
  const pixels = new Uint8Array(SIDE * SIDE);
  for (let y = 0; y < SIDE; y++)
    for (let x = 0; x < SIDE; x++) {
      const [u, v] = [(x - 5.5) / 5.5, (y - 5.5) / 5.5];
      const ring = Math.abs(Math.hypot(u * (1 + 0.05 * k), v) - 0.6 + 0.1 * bend * u);
      const bar = Math.abs(u * Math.cos(k) + v * Math.sin(k) + 0.2 * shift);
      pixels[y * SIDE + x] = 255 * Math.max(0, 1 - 3 * Math.min(k % 2 ? ring : bar + 0.2, bar));
    }
  return { height: SIDE, width: SIDE, channels: 1, pixels: b64(pixels) };
}
const LAYERS = [
  { index: 1, name: "squeeze", channels: 4, height: 6, width: 6 },
  { index: 2, name: "coupling, checkerboard", channels: 4, height: 6, width: 6 },
  { index: 3, name: "dense coupling", channels: 144, height: 1, width: 1 },
].map((l) => ({ ...l, mean: Array(l.channels).fill(0), sigma: Array(l.channels).fill(1) }));

const MODELS = [
  {
    name: "iris",
    kind: "table",
    classes: CLASSES,
    columns: COLUMNS.map((name) => ({ name, kind: "numeric", min: 0, max: 8 })),
    dim: 5,
    image: null,
    layers: [{ index: 1, name: "coupling", channels: 5, height: 1, width: 1 }],
    data: { rows: ROWS, labelled: Math.round(ROWS / 50), name: "iris.csv" },
    has_forest: true,
  },
  {
    name: "digits",
    kind: "images",
    classes: DIGITS,
    columns: [],
    dim: 144,
    image: { height: SIDE, width: SIDE, channels: 1 },
    layers: LAYERS,
    data: { rows: IMAGES, labelled: 50, name: "digits" },
    has_forest: false,
  },
];

// The playground: a kernel classifier that sharpens, and points that move to their mean.
const DEFAULTS = { steps: 600, r: 3, couplings: 6, hidden: 64, consistency: 1, em: false, learning_rate: 0.003, seed: 0 };
function toy(name, labels, rows, seed) {
  const r = random(seed + 1);
  const k = name === "moons" || name === "circles" ? 2 : name === "pinwheel" ? 5 : 8;
  const points = [],
    truth = [];
  for (let i = 0; i < rows; i++) {
    const c = i % k,
      u = r();
    truth.push(c);
    if (name === "moons")
      points.push(
        c
          ? [1 - Math.cos(Math.PI * u) + 0.08 * normal(r), 0.5 - Math.sin(Math.PI * u) + 0.08 * normal(r)]
          : [Math.cos(Math.PI * u) + 0.08 * normal(r), Math.sin(Math.PI * u) + 0.08 * normal(r)],
      );
    else if (name === "circles")
      points.push([(c ? 0.5 : 1) * Math.cos(6.28 * u) + 0.05 * normal(r), (c ? 0.5 : 1) * Math.sin(6.28 * u) + 0.05 * normal(r)]);
    else if (name === "pinwheel") {
      const d = 0.3 * normal(r) + 1,
        a = (6.28 * c) / k + 0.05 * normal(r) + 0.8 * d;
      points.push([d * Math.cos(a), d * Math.sin(a)]);
    } else points.push([2 * Math.cos((6.28 * c) / k) + 0.2 * normal(r), 2 * Math.sin((6.28 * c) / k) + 0.2 * normal(r)]);
  }
  return { points, truth, labels: truth.map((c, i) => (i < labels ? c : null)) };
}
const runs = new Map();
function frame(run, index, alone) {
  const { points, labels, k, steps } = run;
  const step = Math.round((index * steps) / run.frames);
  const sharp = 0.5 + (alone ? 3 : 12) * (step / steps);
  const means = Array.from({ length: k }, (_, c) => [3 * Math.cos((6.28 * c) / k), 3 * Math.sin((6.28 * c) / k)]);
  const labelled = points
    .map((p, i) => [p, alone ? labels[i] : (run.truth ?? labels)[i]])
    .filter(([, l]) => l !== null)
    .slice(0, 120);
  const at = (x, y) => {
    const v = Array(k).fill(1e-3);
    for (const [p, l] of labelled) v[l] += Math.exp(-sharp * ((p[0] - x) ** 2 + (p[1] - y) ** 2));
    const s = v.reduce((a, b) => a + b, 0);
    return v.map((q) => q / s);
  };
  const [w, h] = [60, 60];
  const b = run.bounds,
    classes = new Uint8Array(w * h),
    certainty = new Uint8Array(w * h);
  for (let i = 0; i < h; i++)
    for (let j = 0; j < w; j++) {
      const p = at(b[0] + ((j + 0.5) / w) * (b[1] - b[0]), b[2] + ((i + 0.5) / h) * (b[3] - b[2]));
      const m = Math.max(...p);
      classes[i * w + j] = p.indexOf(m);
      certainty[i * w + j] = Math.round(255 * m);
    }
  const latent = new Float32Array(points.length * 2),
    f = step / steps,
    r = random(3);
  points.forEach((p, i) => {
    const q = at(...p),
      c = q.indexOf(Math.max(...q));
    latent[2 * i] = (1 - f) * p[0] + f * (means[c][0] + normal(r));
    latent[2 * i + 1] = (1 - f) * p[1] + f * (means[c][1] + normal(r));
  });
  return {
    step,
    of: steps,
    loss: 2 + 3 * Math.exp((-5 * step) / steps) + 0.05 * Math.sin(step),
    accuracy: (alone ? 0.6 : 0.5) + (alone ? 0.2 : 0.48) * f,
    alone,
    grid: { w, h, x0: b[0], x1: b[1], y0: b[2], y1: b[3], classes: b64(classes), certainty: b64(certainty) },
    latent: b64(latent),
    means,
  };
}
const sleep = (ms) => new Promise((go) => setTimeout(go, ms));

let marks = [],
  version = 1;
const routes = [
  ["GET", /^\/models$/, () => MODELS],
  ["GET", /^\/models\/([^/]+)\/card$/, (m) => card(m[1])],
  [
    "GET",
    /^\/models\/([^/]+)\/map$/,
    (m) => ({
      rows: m[1] === "iris" ? ROWS : IMAGES,
      fields: Object.keys(table.fields),
      columns: m[1] === "iris" ? COLUMNS : [],
      version,
      map: { explained: [0.61, 0.24] },
    }),
  ],
  ["GET", /^\/models\/([^/]+)\/map\/column\/(.+)$/, (m) => table.columns[COLUMNS.indexOf(decodeURIComponent(m[2]))]],
  ["GET", /^\/models\/([^/]+)\/map\/(\w+)$/, (m) => table.fields[m[2]].subarray(0, m[1] === "iris" ? ROWS : IMAGES)],
  ["GET", /^\/models\/([^/]+)\/rows\/(\d+)$/, (m) => trust(m[1], Number(m[2]))],
  [
    "POST",
    /^\/models\/([^/]+)\/path$/,
    (m, body) => ({
      points: Array.from({ length: body.steps }, (_, i) => {
        const t = i / (body.steps - 1);
        const p = softmax(classesOf(m[1]).map((_, k) => (k === 0 ? 4 * (0.5 - t) : k === 1 ? 4 * (t - 0.5) : -3)));
        const what =
          m[1] === "iris"
            ? { row: Object.fromEntries(COLUMNS.map((c, j) => [c, CENTRES[0][j] * (1 - t) + CENTRES[1][j] * t])) }
            : { image: picture(3, 3 * t, 4 * t) };
        return { t, ...what, log_p: -3 - 4 * Math.sin(Math.PI * t), probabilities: p };
      }),
    }),
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/sample$/,
    (m, body) => {
      const r = random(body.seed),
        n = body.n,
        cs = classesOf(m[1]);
      const ks = Array.from({ length: n }, (_, i) => (body.class ? cs.indexOf(body.class) : i % cs.length));
      const what =
        m[1] === "iris"
          ? {
              rows: ks.map((k) =>
                Object.fromEntries(COLUMNS.map((c, j) => [c, CENTRES[k][j] + body.temperature * 0.3 * normal(r)])),
              ),
            }
          : { images: ks.map((k) => picture(k, body.temperature * normal(r), body.temperature * normal(r))) };
      return { ...what, log_p: ks.map(() => -4 - r()), classes: ks.map((k) => cs[k]) };
    },
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/label-next$/,
    (m, body) =>
      Array.from({ length: body.n }, (_, i) => ({
        row: i * 17 + 3,
        score: 1 / (i + 1),
        why: "near the decision boundary",
        class: classesOf(m[1])[0],
        probabilities: softmax(classesOf(m[1]).map((_, k) => (k < 2 ? 2 : 0))),
      })),
  ],
  [
    "GET",
    /^\/models\/([^/]+)\/features$/,
    (m) => ({
      layers:
        m[1] === "digits"
          ? LAYERS
          : [{ index: 1, name: "coupling", channels: 5, height: 1, width: 1, mean: [0, 0, 0, 0, 0], sigma: [1, 1, 1, 1, 1] }],
    }),
  ],
  [
    "GET",
    /^\/models\/([^/]+)\/features\/(\d+)\/(\d+)\/histogram$/,
    () => ({
      edges: Array.from({ length: 41 }, (_, i) => -4 + i / 5),
      counts: Array.from({ length: 40 }, (_, i) => Math.round(400 * Math.exp(-0.5 * (-3.9 + i / 5) ** 2))),
      mean: 0,
      sigma: 1,
    }),
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/features$/,
    (m, b) =>
      m[1] === "iris"
        ? {
            rows: b.rows.map((i) =>
              b.alphas.map((a) =>
                Object.fromEntries(COLUMNS.map((c, j) => [c, table.columns[j][i] + 0.3 * a * (j === b.channel)])),
              ),
            ),
          }
        : { images: b.rows.map((i) => b.alphas.map((a) => picture(i % 10, a, a * 0.5 + b.channel))) },
  ],
  [
    "POST",
    /^\/models\/([^/]+)\/features\/wall$/,
    (m, b) =>
      m[1] === "iris"
        ? {
            rows: COLUMNS.map((_, k) =>
              Object.fromEntries(COLUMNS.map((c, j) => [c, table.columns[j][b.row] + 0.3 * b.alpha * (j === k)])),
            ),
            base: rowOf(b.row),
          }
        : {
            images: Array.from({ length: LAYERS[b.layer - 1].channels }, (_, k) => picture(b.row % 10, b.alpha, k / 3)),
            base: picture(b.row % 10),
          },
  ],
  ["GET", /^\/models\/([^/]+)\/labels$/, () => ({ labels: marks })],
  [
    "POST",
    /^\/models\/([^/]+)\/labels$/,
    (_, b) => ({ labels: (marks = [...marks.filter((m) => !b.labels.some((n) => n.row === m.row)), ...b.labels]) }),
  ],
  ["POST", /^\/models\/([^/]+)\/refit$/, (m) => ({ job: `refit-${m[1]}` })],
  ["DELETE", /^\/jobs\/.+$/, () => ({})],
  ["GET", /^\/playground\/defaults$/, () => DEFAULTS],
  [
    "GET",
    /^\/playground\/toys\/([\w-]+)$/,
    (m, _, q) => toy(m[1], Number(q.get("labels") ?? 10), Number(q.get("rows") ?? 400), Number(q.get("seed") ?? 0)),
  ],
  [
    "POST",
    /^\/playground$/,
    (_, b) => {
      const data = b.toy
        ? toy(b.toy.name, b.toy.labels, b.toy.rows, b.toy.seed ?? 0)
        : { points: b.points, labels: b.labels, truth: null };
      const k = Math.max(...data.labels.map((l) => l ?? 0)) + 1;
      if (k < 2)
        return {
          status: 400,
          error: { kind: "data", message: "Labels of two classes at least are needed; there are labels of one." },
        };
      const xs = data.points.map((p) => p[0]),
        ys = data.points.map((p) => p[1]);
      const [cx, cy] = [(Math.max(...xs) + Math.min(...xs)) / 2, (Math.max(...ys) + Math.min(...ys)) / 2];
      const half = 0.575 * Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys), 2);
      const job = String(runs.size + 1);
      runs.set(job, {
        ...data,
        k,
        steps: b.settings.steps ?? 600,
        frames: 60,
        both: b.labels_alone,
        bounds: b.bounds ?? [cx - half, cx + half, cy - half, cy + half],
        paused: false,
        stopped: false,
        credit: 0,
      });
      return { job, ...data, classes: Array.from({ length: k }, (_, c) => `class ${c + 1}`) };
    },
  ],
  [
    "POST",
    /^\/playground\/(\w+)\/(pause|resume|step|stop)$/,
    (m) => {
      const run = runs.get(m[1]);
      if (m[2] === "pause") run.paused = true;
      if (m[2] === "resume") run.paused = false;
      if (m[2] === "step") run.credit += 1;
      if (m[2] === "stop") run.stopped = true;
      return {};
    },
  ],
];
const classesOf = (m) => (m === "iris" ? CLASSES : DIGITS);
function trust(m, i) {
  const cs = classesOf(m),
    iris = m === "iris";
  const p = iris ? posterior([table.fields.x[i], table.fields.y[i]]) : softmax(DIGITS.map((_, k) => (k === i % 10 ? 4 : 0)));
  const k = p.indexOf(Math.max(...p)),
    other = (k + 1) % cs.length;
  return {
    ...(iris ? { row: rowOf(i) } : { image: picture(i % 10) }),
    label: i % 50 === 0 ? cs[k] : null,
    class: cs[k],
    probabilities: p,
    set: p[k] > 0.9 ? [cs[k]] : [cs[k], cs[other]],
    log_p: -3.2,
    typicality: 0.42,
    boundary: 1.7,
    nearest: [10, 20, 30].map((row) => ({ row, class: cs[k], distance: row / 10 })),
    counterfactual: {
      class: cs[other],
      ...(iris ? { row: rowOf(i) } : { image: picture((i + 1) % 10) }),
      changes: iris
        ? [
            { column: COLUMNS[2], from: 1.4, to: 3.9 },
            { column: COLUMNS[4], from: 0.2, to: 1.3 },
          ]
        : [],
    },
  };
}
function card(m) {
  const cs = classesOf(m);
  return {
    classes: cs,
    likelihood: "density of the columns in their units",
    temperature: 1.12,
    class_shares: cs.map(() => 1 / cs.length),
    class_share_intervals: cs.map(() => [0.2, 0.45]),
    evidence: {
      n: 40,
      accuracy: 0.95,
      flow_accuracy: 0.93,
      forest_accuracy: 0.94,
      flow_weight: 0.6,
      temperature: 1.12,
      by_class: cs.map(() => ({ n: 10, hits: 9 })),
    },
    decisions: [
      { what: "couplings", choice: "8", why: "5 columns; deeper flows did not help on held-out labels" },
      {
        what: "teachers",
        choice: "label spreading, weight 0.7",
        why: "0.96 on held-out labels against 0.91 for a linear teacher",
      },
    ],
    preprocessing: "standardised",
    parameters: 41250,
    version: "0.9.0",
    format: 5,
    seed: 0,
    data_hash: "b3:0123",
    n_labelled: 400,
    n_unlabelled: 19600,
    config: { train: { steps: 2000 } },
    certificates: {
      training: { rows: 4096, round_trip: 2e-6, round_trip_f64: 1e-14, jacobians: 32, log_det: 3e-7 },
      samples: { rows: 256, round_trip: 2e-6, round_trip_f64: 1e-14, jacobians: 32, log_det: 3e-7 },
      data: null,
      images: null,
    },
    history: Array.from({ length: 60 }, (_, i) => ({
      epoch: i,
      step: 30 * i,
      loss: 4 + 3 * Math.exp(-i / 12),
      labelled_accuracy: 1 - Math.exp(-i / 5),
    })),
  };
}

createServer(async (request, answer) => {
  const url = new URL(request.url, "http://x");
  try {
    if (!url.pathname.startsWith("/api/v1")) {
      const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
      const type =
        { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", woff2: "font/woff2", txt: "text/plain" }[
          name.split(".").pop()
        ] ?? "application/octet-stream";
      const bytes = await readFile(join(dist, name));
      answer.writeHead(200, { "content-type": type, "content-security-policy": CSP, "cache-control": "no-store" }).end(bytes);
      return;
    }
    const path = url.pathname.slice(7);
    const stream = /^\/playground\/(\w+)\/frames$/.exec(path);
    if (stream) {
      const run = runs.get(stream[1]);
      answer.writeHead(200, { "content-type": "application/x-ndjson" });
      let index = Number(url.searchParams.get("from") ?? 0);
      for (let f = Math.floor(index / (run.both ? 2 : 1)); f <= run.frames && !run.stopped; f++) {
        while (run.paused && run.credit === 0 && !run.stopped && !answer.destroyed) await sleep(20);
        if (run.credit > 0) run.credit--;
        for (const alone of run.both ? [false, true] : [false])
          answer.write(JSON.stringify({ index: index++, ...frame(run, f, alone) }) + "\n");
        await sleep(60);
      }
      answer.end('{"finished":true}\n');
      return;
    }
    if (path.startsWith("/jobs/") && request.method === "GET") {
      answer.writeHead(200, { "content-type": "application/x-ndjson" });
      for (let i = 0; i <= 20; i++) {
        answer.write(
          JSON.stringify({ phase: "training", done: i * 50, total: 1000, loss: 4 - i / 10, seconds_left: (20 - i) / 8 }) + "\n",
        );
        await sleep(100);
      }
      version++;
      answer.end(JSON.stringify({ finished: { model: "iris", version } }) + "\n");
      return;
    }
    if (/\/page$/.test(path))
      return void answer.writeHead(200, { "content-type": "text/html" }).end("<h1>Explain page</h1><p>Of the fixture.</p>");
    if (/\/(table\.csv|file)$/.test(path)) return void answer.writeHead(200).end("row,class\n1,a\n");
    let text = "";
    for await (const part of request) text += part;
    for (const [method, pattern, handle] of routes) {
      const match = method === request.method && pattern.exec(path);
      if (!match) continue;
      const value = handle(match, text ? JSON.parse(text) : null, url.searchParams);
      if (value instanceof Float32Array)
        answer
          .writeHead(200, { "content-type": "application/octet-stream" })
          .end(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      else answer.writeHead(value?.error ? value.status : 200, { "content-type": "application/json" }).end(JSON.stringify(value));
      return;
    }
    answer
      .writeHead(404, { "content-type": "application/json" })
      .end(JSON.stringify({ error: { kind: "not_found", message: `There is no ${path}` } }));
  } catch (error) {
    if (!answer.headersSent) answer.writeHead(500, { "content-type": "application/json" });
    answer.end(JSON.stringify({ error: { kind: "internal", message: String(error) } }));
  }
}).listen(PORT, "127.0.0.1", () => console.log(`fixture at http://127.0.0.1:${PORT}`));
