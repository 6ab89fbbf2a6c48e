/** The playground: draw, fit, watch. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, messageOf } from "../../core/api";
import { replaceRoute } from "../../core/route";
import type { Settings } from "../../core/types";
import { Failure, Switch } from "../../ui/parts";
import { useLatest } from "../../ui/hooks";
import { DEFAULTS, addressOf, addressed } from "./address";
import { BrushControls, DataControls, SettingControls, type ToyChoice } from "./controls";
import { type Brush, DataPanel, LatentPanel } from "./panel";
import { BLANK_BOX, type Box, EMPTY, type Points, added, boxOf, erased, obstacle, summary, usedClasses } from "./points";
import { Run } from "./run";
import { SharingButtons, useSharing } from "./sharing";
import { Transport } from "./transport";

const REPLAY_MS = 45;

export function Playground() {
  const start = useRef(addressed());
  const [toy, setToy] = useState<ToyChoice>(start.current.toy);
  const [points, setPoints] = useState<Points>(start.current.drawn ?? EMPTY);
  const [box, setBox] = useState<Box>(start.current.drawn ? boxOf(start.current.drawn.xy) : BLANK_BOX);
  const [past, setPast] = useState<Points[]>([]);
  const [brush, setBrush] = useState<Brush>({ kind: "label", k: 0 });
  const [classes, setClasses] = useState(Math.max(2, ...usedClasses(start.current.drawn?.labels ?? []).map((k) => k + 1)));
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
      const data = await get<{ points: [number, number][]; labels: (number | null)[]; truth?: number[] | null }>(
        `/playground/toys/${wanted.name}?${query}`,
        signal,
      );
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
    const far =
      Math.abs(covered.x0 - box.x0) +
      Math.abs(covered.x1 - box.x1) +
      Math.abs(covered.y0 - box.y0) +
      Math.abs(covered.y1 - box.y1);
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

  const sharing = useSharing({
    panels,
    run,
    frame,
    points,
    address: () => addressOf(toy, settings, compare),
    onFilm: (index) => {
      setPlaying(false);
      setFollowing(false);
      setAt(index);
    },
    onFilmed: () => setFollowing(true),
  });

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
          <SharingButtons sharing={sharing} />
        </div>
        {failed && <Failure message={failed} />}
        <div class={`stagegrid${two ? " two" : ""}`}>
          <div class="panels" ref={panels}>
            <DataPanel
              {...common}
              title={two ? "All points" : "Data x"}
              subtitle="data and decision regions"
              frame={frame}
              box={box}
              brush={brush}
              onDraw={draw}
              onStroke={() => setPast((old) => [...old.slice(-49), points])}
            />
            {two && (
              <DataPanel
                {...common}
                title="Labels alone"
                subtitle="unlabelled points unused"
                frame={alone}
                box={box}
                brush={null}
              />
            )}
            <LatentPanel
              {...common}
              title={two ? "All points" : "Latent z = f(x)"}
              subtitle={two ? "latent space z = f(x)" : "a Gaussian for each class"}
              frame={frame}
            />
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
        The flow <i>f</i> is invertible: it bends the plane until each class lies on a Gaussian of its own (rings at one and two
        standard deviations, + its mean). Where the tint fades, the model is unsure.
      </p>
      {props.two && (
        <p>
          Unlabelled points say where the data are, so the boundary keeps out of their way. With labels alone it goes anywhere.
        </p>
      )}
    </div>
  );
}
