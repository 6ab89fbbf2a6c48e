/** The playground: draw, fit, watch. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, messageOf, saveBlob } from "../../core/api";
import { plural } from "../../core/format";
import { href, replaceRoute, route } from "../../core/route";
import type { Settings, ToyName } from "../../core/types";
import { INK, shade } from "../../core/theme";
import { Failure, Switch } from "../../ui/parts";
import { useLatest } from "../../ui/hooks";
import { BrushControls, DataControls, SettingControls, TOYS, type ToyChoice, defaultLabels } from "./controls";
import { type Brush, DataPanel, LatentPanel } from "./panel";
import { BLANK_BOX, type Box, EMPTY, type Points, added, boxOf, erased, obstacle, usedClasses } from "./points";
import { Run } from "./run";
import { Transport } from "./transport";

const DEFAULTS: Settings = { steps: 1000, r: 3, couplings: 6, hidden: 64, consistency: 1, em: false, learning_rate: 0.003, seed: 0 };
const REPLAY_MS = 45;

export function Playground() {
  const start = useRef(addressed());
  const [toy, setToy] = useState<ToyChoice>(start.current.toy);
  const [points, setPoints] = useState<Points>(EMPTY);
  const [box, setBox] = useState<Box>(BLANK_BOX);
  const [past, setPast] = useState<Points[]>([]);
  const [brush, setBrush] = useState<Brush>({ kind: "label", k: 0 });
  const [classes, setClasses] = useState(2);
  const [settings, setSettings] = useState<Settings>(DEFAULTS);
  const [compare, setCompare] = useState(start.current.compare);
  const [showUnlabelled, setShowUnlabelled] = useState(true);
  const [run, setRun] = useState<Run | null>(null);
  const [at, setAt] = useState(0);
  const [following, setFollowing] = useState(true);
  const [playing, setPlaying] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [, redraw] = useState(0);
  const panels = useRef<HTMLDivElement>(null);

  const drop = useCallback(() => {
    setRun((old) => {
      old?.drop();
      return null;
    });
    setAt(0);
    setPlaying(false);
    setProblem(null);
  }, []);

  const loadToy = useLatest(async (wanted: ToyChoice & { seed: number }, signal) => {
    if (!wanted.name) return;
    try {
      const query = new URLSearchParams({ labels: String(wanted.labels), rows: String(wanted.rows), seed: String(wanted.seed) });
      const data = await get<{ points: [number, number][]; labels: (number | null)[]; truth?: number[] | null }>(`/playground/toys/${wanted.name}?${query}`, signal);
      setPoints({ xy: data.points, labels: data.labels, truth: data.truth ?? null, toy: wanted.name });
      setBox(boxOf(data.points));
      setClasses((n) => Math.max(n, ...usedClasses(data.labels).map((k) => k + 1)));
    } catch (error) {
      setProblem(messageOf(error));
    }
  });

  useEffect(() => {
    get<Partial<Settings>>("/playground/defaults").then(
      (given) => setSettings({ ...DEFAULTS, ...given, ...start.current.settings }),
      () => setSettings({ ...DEFAULTS, ...start.current.settings }),
    );
  }, []);

  useEffect(() => {
    if (!toy.name) return;
    drop();
    loadToy({ ...toy, seed: settings.seed });
  }, [toy.name, toy.labels, toy.rows, settings.seed]);

  useEffect(() => () => setRun((old) => (old?.drop(), null)), []);

  useEffect(() => {
    if (toy.name) replaceRoute(addressOf(toy, settings, compare));
  }, [toy, settings, compare]);

  const frames = run?.all ?? [];
  const shown = following ? Math.max(0, frames.length - 1) : Math.min(at, Math.max(0, frames.length - 1));
  const frame = frames[shown] ?? null;
  const alone = run && frame ? run.aloneAt(frame.step) : null;

  // The panel shows what the regions cover.
  const covered = frame?.grid;
  useEffect(() => {
    if (!covered) return;
    const far = Math.abs(covered.x0 - box.x0) + Math.abs(covered.x1 - box.x1) + Math.abs(covered.y0 - box.y0) + Math.abs(covered.y1 - box.y1);
    if (far > 0.01 * (box.x1 - box.x0)) setBox({ x0: covered.x0, x1: covered.x1, y0: covered.y0, y1: covered.y1 });
  }, [run?.job, frames.length > 0]);

  // Replay of frames that are here already.
  useEffect(() => {
    if (!playing || !run) return;
    const timer = setInterval(() => {
      setAt((old) => {
        if (old + 1 >= run.all.length) {
          setPlaying(false);
          setFollowing(true);
          return old;
        }
        return old + 1;
      });
    }, REPLAY_MS);
    return () => clearInterval(timer);
  }, [playing, run]);

  const fit = () => {
    const blocked = obstacle(points);
    setProblem(blocked);
    if (blocked) return;
    run?.drop();
    let queued = false;
    const next = new Run(() => {
      // Frames may come faster than the screen shows them.
      if (queued) return;
      queued = true;
      requestAnimationFrame(() => {
        queued = false;
        redraw((n) => n + 1);
      });
    });
    setRun(next);
    setAt(0);
    setFollowing(true);
    setPlaying(false);
    void next.start(points, box, settings, compare);
  };

  const edit = (change: (old: Points) => Points) => {
    drop();
    setToy((old) => (old.name ? { ...old, name: null } : old));
    setPoints(change);
  };
  const draw = (xy: [number, number][]) => {
    if (brush.kind === "erase") {
      const radius = 0.03 * (box.x1 - box.x0);
      edit((old) => xy.reduce((kept, [x, y]) => erased(kept, x, y, radius), old));
    } else {
      edit((old) => added(old, xy, brush.kind === "label" ? brush.k : null));
    }
  };

  const keys = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    if (event.key === "z" && event.ctrlKey) return undo();
    if (event.ctrlKey) return;
    if (/^[1-8]$/.test(event.key)) {
      const k = Number(event.key) - 1;
      setClasses((n) => Math.max(n, k + 1));
      setBrush({ kind: "label", k });
    } else if (event.key === "0") setBrush({ kind: "unlabelled" });
    else if (event.key === "e") setBrush({ kind: "erase" });
    else if (event.key === "f") fit();
  };
  const undo = () => {
    const last = past[past.length - 1];
    if (!last) return;
    setPast(past.slice(0, -1));
    edit(() => last);
  };

  const used = useMemo(() => usedClasses(points.labels), [points]);
  const common = { points, classes: used, showUnlabelled };
  const two = compare && (run === null || run.alone.length > 0 || run.live());
  const failed = problem ?? (run?.status === "failed" ? run.message : null);
  return (
    <main class="playground" onKeyDown={keys}>
      <h1 class="hidden">Playground</h1>
      <aside class="controls">
        <DataControls toy={toy} onToy={setToy} />
        <BrushControls
          classes={classes}
          brush={brush}
          canUndo={past.length > 0}
          onClasses={(n) => (setClasses(n), setBrush({ kind: "label", k: n - 1 }))}
          onBrush={setBrush}
          onUndo={undo}
          onClear={() => (setPast([...past, points]), edit(() => EMPTY), setBox(BLANK_BOX))}
        />
        <SettingControls settings={settings} compare={compare} onSettings={setSettings} onCompare={setCompare} />
      </aside>
      <div class="stage">
        <div class="fitbar">
          <button type="button" class="primary" onClick={fit} title="Key f">
            {run ? "Fit again" : "Fit"}
          </button>
          {run?.live() && (
            <button type="button" onClick={() => void run.command("stop")}>
              Stop
            </button>
          )}
          <p class="summary">{summary(points)}</p>
          <Switch label="Show unlabelled" checked={showUnlabelled} onChange={setShowUnlabelled} />
          <button type="button" class="quiet" disabled={!frame} onClick={() => panels.current && savePicture(panels.current)}>
            Save picture
          </button>
        </div>
        {failed && <Failure message={failed} />}
        <div class={`stagegrid${two ? " two" : ""}`}>
          <div class="panels" ref={panels}>
            <DataPanel {...common} title={two ? "All points" : "Data x"} subtitle="data and decision regions" frame={frame} box={box} brush={brush} onDraw={draw} onStroke={() => setPast((old) => [...old.slice(-49), points])} />
            {two && <DataPanel {...common} title="Labels alone" subtitle="unlabelled points unused" frame={alone} box={box} brush={null} />}
            <LatentPanel {...common} title={two ? "All points" : "Latent z = f(x)"} subtitle={two ? "latent space z = f(x)" : "a Gaussian for each class"} frame={frame} />
            {two && <LatentPanel {...common} title="Labels alone" subtitle="latent space z = f(x)" frame={alone} />}
          </div>
          <div class="beside">
            <Transport
              run={run}
              at={shown}
              following={following && !playing}
              playing={playing}
              wide={two}
              onSeek={(index) => (setPlaying(false), setFollowing(false), setAt(index))}
              onLive={() => (setPlaying(false), setFollowing(true))}
              onPause={() => (playing ? setPlaying(false) : void run?.command("pause"))}
              onPlay={() => {
                if (run?.status === "paused") {
                  setFollowing(true);
                  void run.command("resume");
                  return;
                }
                setAt(following || shown >= frames.length - 1 ? 0 : shown);
                setFollowing(false);
                setPlaying(true);
              }}
              onStep={() => {
                if (run?.status === "paused" && shown >= frames.length - 1) {
                  setFollowing(true);
                  void run.command("step");
                } else {
                  setFollowing(false);
                  setAt(Math.min(frames.length - 1, shown + 1));
                }
              }}
            />
            <Reading two={two} />
          </div>
        </div>
      </div>
    </main>
  );
}

function Reading(props: { two: boolean }) {
  return (
    <div class="reading">
      <p>
        The flow <i>f</i> is invertible: it bends the plane until each class lies on a Gaussian of its own (rings at one and two standard deviations, + its mean). Where the tint fades, the model is unsure.
      </p>
      {props.two && <p>Unlabelled points say where the data are, so the boundary keeps out of their way. With labels alone it goes anywhere.</p>}
    </div>
  );
}

function summary(points: Points): string {
  const labelled = points.labels.filter((label) => label !== null).length;
  if (points.xy.length === 0) return "No points yet";
  return `${plural(points.xy.length, "point")}, ${labelled} with a label, ${plural(usedClasses(points.labels).length, "class", "classes")}`;
}

/** The panels side by side as one PNG. */
function savePicture(area: HTMLElement): void {
  const canvases = [...area.querySelectorAll("canvas")];
  if (canvases.length === 0) return;
  const [size, gap] = [canvases[0].width, Math.round(canvases[0].width / 40)];
  const columns = 2;
  const rows = Math.ceil(canvases.length / columns);
  const sheet = document.createElement("canvas");
  sheet.width = columns * size + (columns + 1) * gap;
  sheet.height = rows * size + (rows + 1) * gap;
  const context = sheet.getContext("2d");
  if (!context) return;
  const ink = INK[shade.get()];
  context.fillStyle = ink.page;
  context.fillRect(0, 0, sheet.width, sheet.height);
  canvases.forEach((canvas, i) => {
    const [x, y] = [gap + (i % columns) * (size + gap), gap + Math.floor(i / columns) * (size + gap)];
    context.fillStyle = ink.panel;
    context.fillRect(x, y, size, size);
    context.drawImage(canvas, x, y, size, size);
  });
  sheet.toBlob((blob) => blob && saveBlob(blob, "flowgmm-playground.png"));
}

/** What the address asks for: #/playground?toy=moons&labels=10&r=3. */
function addressed(): { toy: ToyChoice; settings: Partial<Settings>; compare: boolean } {
  const { query, view } = route.get();
  const asked = view === "playground" ? query : new URLSearchParams();
  const given = TOYS.find(([toy]) => toy === asked.get("toy"))?.[0];
  const name: ToyName = given ?? "moons";
  const settings: Partial<Settings> = {};
  for (const key of ["steps", "r", "couplings", "hidden", "consistency", "learning_rate", "seed"] as const) {
    const text = asked.get(key);
    if (text !== null && Number.isFinite(Number(text))) settings[key] = Number(text);
  }
  if (asked.has("em")) settings.em = asked.get("em") === "1";
  const whole = (text: string | null, otherwise: number, low: number, high: number) => {
    const value = Math.round(Number(text));
    return text !== null && value >= low && value <= high ? value : otherwise;
  };
  return {
    toy: { name, labels: whole(asked.get("labels"), defaultLabels(name), 2, 100), rows: whole(asked.get("rows"), 500, 100, 2000) },
    settings,
    compare: asked.has("compare") ? asked.get("compare") === "1" : false,
  };
}

function addressOf(toy: ToyChoice, settings: Settings, compare: boolean): string {
  const { em, ...numbers } = settings;
  const kept = Object.fromEntries(Object.entries(numbers).filter(([key, value]) => typeof value === "number" && key in DEFAULTS));
  return href("playground", null, { toy: toy.name, labels: toy.labels, rows: toy.rows, ...kept, em: em ? 1 : 0, compare: compare ? 1 : 0 });
}
