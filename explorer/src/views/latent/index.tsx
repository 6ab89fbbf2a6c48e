/** Latent space: paths between rows, to a class, across the boundary; and samples. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { floats, modelPath } from "../../core/api";
import { href, replaceRoute, route } from "../../core/route";
import type { ModelInfo, PathEnd } from "../../core/types";
import { useLoad } from "../../ui/hooks";
import { Choice, Notice, NumberInput, Segmented, Waiting } from "../../ui/parts";
import { PathView } from "./path";
import { SamplesView } from "./samples";

const KINDS = [
  ["row", "Row to row"],
  ["class", "Towards a class"],
  ["boundary", "Across the boundary"],
] as const;
type Kind = (typeof KINDS)[number][0];

export function LatentView(props: { model: ModelInfo }) {
  const { model } = props;
  const n = model.data?.rows ?? 0;
  // The classes of the rows give a first pair worth walking between.
  const classes = useLoad(n > 0 ? model.name : null, (signal) => floats(`${modelPath(model.name)}/map/class`, signal));
  return (
    <main class="latentview">
      <h1>Latent space of {model.name}</h1>
      <p class="lead">
        The flow is invertible, so every point of latent space is a {model.kind === "images" ? "picture" : "row"}. Move along a
        straight line there, and watch what it decodes to.
      </p>
      {n === 0 ? (
        <Notice title="No rows to start from">
          <p>Paths begin at a row. Start the server with data to walk between rows; samples below need none.</p>
        </Notice>
      ) : classes.state === "loading" && !classes.value ? (
        <Waiting>Reading the rows…</Waiting>
      ) : (
        <Paths model={model} n={n} classes={classes.value} />
      )}
      <SamplesView model={model} />
    </main>
  );
}

function Paths(props: { model: ModelInfo; n: number; classes: Float32Array | null }) {
  const { model, n } = props;
  const asked = useMemo(() => route.get().query, []);
  const first = useMemo(() => pair(props.classes, n), [props.classes]);
  const [kind, setKind] = useState<Kind>(KINDS.find(([k]) => k === asked.get("kind"))?.[0] ?? "row");
  const [a, setA] = useState(within(asked.get("from"), n) ?? first[0]);
  const [b, setB] = useState(within(asked.get("to"), n) ?? first[1]);
  const [target, setTarget] = useState(
    model.classes.find((name) => name === asked.get("class")) ?? model.classes[Math.min(1, model.classes.length - 1)],
  );
  useEffect(() => {
    replaceRoute(
      href("latent", model.name, { kind, from: a, to: kind === "row" ? b : null, class: kind === "class" ? target : null }),
    );
  }, [kind, a, b, target]);
  const any = () => Math.floor(Math.random() * n);
  const from: PathEnd = { row: a };
  const to: PathEnd = kind === "row" ? { row: b } : kind === "class" ? { class: target } : { boundary_of: a };
  return (
    <section aria-label="Path">
      <div class="row-of-fields">
        <Segmented label="Kind of path" value={kind} options={KINDS} onChange={setKind} />
        <NumberInput label={kind === "row" ? "Row A" : "Row"} value={a} min={0} max={n - 1} onChange={setA} />
        {kind === "row" && <NumberInput label="Row B" value={b} min={0} max={n - 1} onChange={setB} />}
        {kind === "class" && (
          <Choice
            label="Class"
            value={target}
            options={model.classes.map((name) => [name, name] as const)}
            onChange={setTarget}
          />
        )}
        <button type="button" onClick={() => (setA(any()), kind === "row" && setB(any()))}>
          Any {kind === "row" ? "two rows" : "row"}
        </button>
      </div>
      <PathView model={model} from={from} to={to} startAt={kind === "boundary" ? 0.5 : 0} />
    </section>
  );
}

/** Two rows of different classes. */
function pair(classes: Float32Array | null, n: number): [number, number] {
  const other = classes?.findIndex((k) => k !== classes[0]) ?? -1;
  return [0, other > 0 ? other : Math.min(1, n - 1)];
}

function within(text: string | null, n: number): number | null {
  const row = Number(text);
  return text !== null && Number.isInteger(row) && row >= 0 && row < n ? row : null;
}
