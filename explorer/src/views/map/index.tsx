/** The map: every row as a point. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, messageOf, modelPath, post } from "../../core/api";
import { cell, plural } from "../../core/format";
import { classColour } from "../../core/palette";
import { href, replaceRoute, route } from "../../core/route";
import { useShade } from "../../core/theme";
import type { Mark, ModelInfo } from "../../core/types";
import type { Extent } from "../../scatter/camera";
import { MISSING, type Range, codesToBytes, maskOf, rangeOf, toBytes } from "../../scatter/numbers";
import { DIMMED, HIDDEN, SHOWN } from "../../scatter/points";
import { useLoad } from "../../ui/hooks";
import { NoRows } from "../../ui/needs-model";
import { Failure, Segmented, Waiting } from "../../ui/parts";
import { classNames, colourTable } from "./colours";
import { FILTERED_FIELDS, MapControls } from "./controls";
import { type Key, MapData, columnKey, keyName } from "./data";
import { Labelling } from "./labelling";
import type { Badge, PlaceName } from "./overlay";
import { Plot, type Tool } from "./plot";
import { Selection } from "./selection";
import { TrustCardView } from "./trust";

export function MapView(props: { model: ModelInfo }) {
  const { model } = props;
  const [version, setVersion] = useState(0);
  const opened = useLoad(model.data ? `${model.name}/${version}` : null, (signal) => MapData.open(model, signal));
  if (!model.data) return <NoRows what="The map" model={model} />;
  if (opened.state === "failed") return <Failure message={opened.message} onRetry={() => setVersion((n) => n + 1)} />;
  if (!opened.value) return <Waiting>Loading {plural(model.data.rows, "row")}…</Waiting>;
  return <LoadedMap model={model} data={opened.value} version={version} onRefitted={() => setVersion((n) => n + 1)} />;
}

function LoadedMap(props: { model: ModelInfo; data: MapData; version: number; onRefitted: () => void }) {
  const { model, data } = props;
  const shade = useShade();
  const n = data.info.rows;
  const asked = useMemo(() => route.get().query, []);
  const [xKey, setX] = useState<Key>(known(data, asked.get("x")) ?? "x");
  const [yKey, setY] = useState<Key>(known(data, asked.get("y")) ?? "y");
  const [colour, setColour] = useState<Key>(known(data, asked.get("colour")) ?? "class");
  const [tool, setTool] = useState<Tool>("move");
  const [brushes, setBrushes] = useState<Record<Key, Range>>({});
  const [extra, setExtra] = useState<Key[]>([]);
  const [hidden, setHidden] = useState<ReadonlySet<number>>(new Set());
  const [chosen, setChosen] = useState<number | null>(rowAsked(asked.get("row"), n));
  const [lassoed, setLassoed] = useState<number[]>([]);
  const [marks, setMarks] = useState<Map<number, string | null>>(new Map());
  const [problem, setProblem] = useState<string | null>(null);
  const [loadedCount, setLoadedCount] = useState(0);
  const latent = xKey === "x" && yKey === "y";

  // What is seen first comes first; the rest follows.
  useEffect(() => {
    let gone = false;
    void (async () => {
      for (const key of [xKey, yKey, colour, ...extra, ...FILTERED_FIELDS, "label"]) {
        if (gone || data.have(key) || (!key.startsWith("column/") && !data.info.fields.includes(key))) continue;
        try {
          await data.load(key);
          setLoadedCount((c) => c + 1);
        } catch (error) {
          if (!gone) setProblem(messageOf(error));
        }
      }
    })();
    return () => void (gone = true);
  }, [data, xKey, yKey, colour, extra]);

  useEffect(() => {
    get<{ labels: Mark[] }>(`${modelPath(model.name)}/labels`).then(
      ({ labels }) => setMarks(new Map(labels.map((mark) => [mark.row, mark.class]))),
      () => undefined,
    );
  }, [data]);
  useEffect(() => {
    replaceRoute(
      href("map", model.name, {
        x: latent ? null : xKey,
        y: latent ? null : yKey,
        colour: colour === "class" ? null : colour,
        row: chosen,
      }),
    );
  }, [xKey, yKey, colour, chosen]);

  const xs = data.have(xKey) ?? data.have("x")!;
  const ys = data.have(yKey) ?? data.have("y")!;
  const classes = data.have("class")!;
  const values = data.have(colour);
  const extent = useMemo((): Extent => {
    const [x, y] = [rangeOf(xs, 0.0005, 0.9995), rangeOf(ys, 0.0005, 0.9995)];
    const [px, py] = [0.04 * (x.high - x.low), 0.04 * (y.high - y.low)];
    return { x0: x.low - px, x1: x.high + px, y0: y.low - py, y1: y.high + py };
  }, [xs, ys]);

  const categories = data.categories(colour);
  const range = useMemo(() => (values && !categories ? rangeOf(values, 0.01, 0.99) : { low: 0, high: 1 }), [values, colour]);
  const entries = useMemo(() => {
    const out = new Uint8Array(n);
    if (!values) out.fill(MISSING);
    else if (categories) codesToBytes(values, out);
    else toBytes(values, range, out);
    return out;
  }, [values, colour, range]);
  const table = useMemo(() => colourTable(categories?.length ?? null, shade), [categories?.length, colour, shade]);

  const active = Object.entries(brushes).filter(([key]) => data.have(key));
  const [mask, left] = useMemo(() => {
    const out = new Uint8Array(n);
    const passing = maskOf(
      n,
      active.map(([key, brush]) => ({ values: data.have(key)!, ...brush })),
      classes,
      hidden,
      out,
    );
    return [out, passing] as const;
  }, [brushes, hidden, data, active.length]);
  const states = useMemo(() => {
    const out = new Uint8Array(n);
    const rest = lassoed.length > 0 ? DIMMED : SHOWN;
    for (let i = 0; i < n; i++) out[i] = mask[i] === 0 ? HIDDEN : rest;
    for (const row of lassoed) if (mask[row] !== 0) out[row] = SHOWN;
    return out;
  }, [mask, lassoed]);

  const names = useMemo(
    () => (colour === "class" && model.classes.length > 1 ? classNames(model.classes, classes, xs, ys) : []),
    [xs, ys, classes, colour],
  );
  const shownNames = useMemo(
    () => names.filter((name) => !hidden.has(name.k)).map((name): PlaceName => ({ ...name, colour: classColour(name.k, shade) })),
    [names, hidden, shade],
  );
  const badges = useMemo(
    () =>
      [...marks]
        .flatMap(([row, value]): Badge[] =>
          value === null || row >= n ? [] : [{ row, colour: classColour(model.classes.indexOf(value), shade) }],
        )
        .slice(0, 2000),
    [marks, shade],
  );

  const mark = (rows: number[], value: string | null) => {
    const fresh = new Map(marks);
    for (const row of rows) fresh.set(row, value);
    setMarks(fresh);
    setProblem(null);
    post(`${modelPath(model.name)}/labels`, { labels: rows.map((row) => ({ row, class: value })) }).catch((error) =>
      setProblem(messageOf(error)),
    );
  };
  const describe = (row: number) => {
    const parts = [`Row ${row}`, model.classes[classes[row]] ?? ""];
    if (colour !== "class" && values)
      parts.push(`${keyName(colour)} ${categories ? (categories[values[row]] ?? "none") : cell(values[row])}`);
    return parts.filter(Boolean).join(" · ");
  };

  return (
    <main class="mapview">
      <h1 class="hidden">Map of {model.name}</h1>
      <MapControls
        data={data}
        shown={{ x: xKey, y: yKey, colour }}
        onShown={(next) => {
          setX(next.x);
          setY(next.y);
          setColour(next.colour);
        }}
        range={range}
        mask={mask}
        left={left}
        filters={{ brushes, extra, hidden }}
        onFilters={(next) => {
          setBrushes(next.brushes);
          setExtra(next.extra);
          setHidden(next.hidden);
        }}
      />
      <div class="middle">
        <div class="toolbar">
          <Segmented
            label="Tool"
            value={tool}
            options={[
              ["move", "Move"],
              ["lasso", "Lasso"],
            ]}
            onChange={setTool}
          />
          <span class="why">
            {tool === "lasso"
              ? "Draw around rows to select them."
              : "Drag to move, scroll to zoom, click a row; Shift and drag for a lasso."}
          </span>
        </div>
        {problem && <Failure message={problem} />}
        {model.data?.samples && (
          <p class="why aside">
            These rows were drawn by the model itself. To see yours: <code>flowgmm serve {model.name}.flow --data train.csv</code>
          </p>
        )}
        {model.warnings?.map((warning) => (
          <p key={warning} class="why aside">
            {warning}
          </p>
        ))}
        <Plot
          xs={xs}
          ys={ys}
          extent={extent}
          square={latent}
          xName={latent ? null : keyName(xKey)}
          yName={latent ? null : keyName(yKey)}
          entries={entries}
          states={states}
          mask={mask}
          table={table}
          names={shownNames}
          badges={badges}
          chosen={chosen}
          tool={tool}
          onPick={setChosen}
          onLasso={setLassoed}
          describe={describe}
        />
        <p class="hidden" role="status">
          {loadedCount > 0 ? `${plural(left, "row")} shown` : ""}
        </p>
      </div>
      <aside class="details" aria-label="Rows and labels">
        {lassoed.length > 0 && (
          <Selection
            model={model}
            rows={lassoed}
            classes={classes}
            onClear={() => setLassoed([])}
            onMark={mark}
            onRow={setChosen}
          />
        )}
        {chosen !== null && chosen < n ? (
          <TrustCardView
            model={model}
            row={chosen}
            version={props.version}
            mark={marks.has(chosen) ? marks.get(chosen) : undefined}
            onMark={(value) => mark([chosen], value)}
            onRow={setChosen}
            onClose={() => setChosen(null)}
          />
        ) : (
          lassoed.length === 0 && (
            <section class="empty">
              <h2>Rows</h2>
              <p class="why">
                Click a point for its trust card: probabilities, prediction set, nearest labelled rows, and what would change its
                class.
              </p>
            </section>
          )
        )}
        <Labelling
          model={model}
          marks={marks}
          version={props.version}
          chosen={chosen}
          onRow={setChosen}
          onMark={mark}
          onRefitted={props.onRefitted}
        />
      </aside>
    </main>
  );
}

function known(data: MapData, key: string | null): Key | null {
  if (key === null) return null;
  if (data.info.fields.includes(key)) return key;
  return data.info.columns.some((name) => columnKey(name) === key) ? key : null;
}

function rowAsked(text: string | null, n: number): number | null {
  const row = Number(text);
  return text !== null && Number.isInteger(row) && row >= 0 && row < n ? row : null;
}
