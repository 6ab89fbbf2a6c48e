/** What to draw with, and the settings of the fit. */
import { classColour } from "../../core/palette";
import { useShade } from "../../core/theme";
import type { Settings, ToyName } from "../../core/types";
import { marker } from "../../plot/marker";
import { Slider, Switch } from "../../ui/parts";
import type { Brush } from "./panel";

export const TOYS: readonly (readonly [ToyName, string])[] = [
  ["moons", "Two moons"],
  ["circles", "Circles"],
  ["pinwheel", "Pinwheel"],
  ["eight-gaussians", "Eight Gaussians"],
];

export interface ToyChoice {
  name: ToyName | null;
  labels: number;
  rows: number;
}

export function DataControls(props: { toy: ToyChoice; onToy: (toy: ToyChoice) => void }) {
  const { toy } = props;
  return (
    <section aria-labelledby="data-heading">
      <h2 id="data-heading">Data</h2>
      <div class="toys" role="group" aria-label="Toy problems">
        {TOYS.map(([name, text]) => (
          <button
            key={name}
            type="button"
            aria-pressed={toy.name === name}
            onClick={() => props.onToy({ ...toy, name, labels: defaultLabels(name) })}
          >
            <ToyIcon name={name} />
            {text}
          </button>
        ))}
      </div>
      {toy.name && (
        <>
          <Slider
            label="Labels"
            value={toy.labels}
            min={2}
            max={100}
            step={1}
            onInput={(labels) => props.onToy({ ...toy, labels })}
            hint="How many of the points carry a label"
          />
          <Slider
            label="Points"
            value={toy.rows}
            min={100}
            max={2000}
            step={50}
            onInput={(rows) => props.onToy({ ...toy, rows })}
          />
        </>
      )}
    </section>
  );
}

export function defaultLabels(name: ToyName): number {
  return name === "eight-gaussians" ? 16 : name === "pinwheel" ? 15 : 10;
}

export function BrushControls(props: {
  classes: number;
  brush: Brush;
  canUndo: boolean;
  onClasses: (n: number) => void;
  onBrush: (brush: Brush) => void;
  onUndo: () => void;
  onClear: () => void;
}) {
  const shade = useShade();
  const { brush } = props;
  return (
    <section aria-labelledby="draw-heading">
      <h2 id="draw-heading">Draw</h2>
      <div class="brushes" role="group" aria-label="Brush">
        {Array.from({ length: props.classes }, (_, k) => (
          <button
            key={k}
            type="button"
            class="swatch"
            aria-pressed={brush.kind === "label" && brush.k === k}
            aria-label={`Class ${k + 1}`}
            title={`Class ${k + 1} (key ${k + 1})`}
            onClick={() => props.onBrush({ kind: "label", k })}
          >
            <svg viewBox="-8 -8 16 16" aria-hidden="true">
              <path d={markerPath(k)} fill={classColour(k, shade)} />
            </svg>
          </button>
        ))}
        {props.classes < 8 && (
          <button
            type="button"
            class="swatch"
            aria-label="One more class"
            title="One more class"
            onClick={() => props.onClasses(props.classes + 1)}
          >
            +
          </button>
        )}
      </div>
      <div class="brushes" role="group" aria-label="Brush without a class">
        <button
          type="button"
          aria-pressed={brush.kind === "unlabelled"}
          title="Key 0"
          onClick={() => props.onBrush({ kind: "unlabelled" })}
        >
          <i class="unlabelled-dot" /> Unlabelled
        </button>
        <button
          type="button"
          aria-pressed={brush.kind === "erase"}
          title="Key e"
          onClick={() => props.onBrush({ kind: "erase" })}
        >
          Erase
        </button>
      </div>
      <div class="brushes">
        <button type="button" class="quiet" disabled={!props.canUndo} onClick={props.onUndo}>
          Undo
        </button>
        <button type="button" class="quiet" onClick={props.onClear}>
          Clear all
        </button>
      </div>
    </section>
  );
}

export function SettingControls(props: {
  settings: Settings;
  compare: boolean;
  onSettings: (settings: Settings) => void;
  onCompare: (on: boolean) => void;
}) {
  const { settings } = props;
  const change = (part: Partial<Settings>) => props.onSettings({ ...settings, ...part });
  return (
    <section aria-labelledby="settings-heading">
      <h2 id="settings-heading">Model</h2>
      <Switch
        label="Compare with labels alone"
        checked={props.compare}
        onChange={props.onCompare}
        hint="Fits a second model to the labelled points only"
      />
      <Slider
        label="Consistency"
        value={settings.consistency}
        min={0}
        max={3}
        step={0.1}
        show={settings.consistency.toFixed(1)}
        onInput={(consistency) => change({ consistency })}
        hint="Weight of the consistency term: two perturbed views of a point should get the same class (paper, section 4)"
      />
      <Slider
        label="Distance of means r"
        value={settings.r}
        min={0.5}
        max={8}
        step={0.1}
        show={settings.r.toFixed(1)}
        onInput={(r) => change({ r })}
        hint="How far from the origin the Gaussians of the classes are"
      />
      <Slider
        label="Coupling layers"
        value={settings.couplings}
        min={2}
        max={16}
        step={1}
        onInput={(couplings) => change({ couplings })}
        hint="Affine coupling layers of the flow (RealNVP)"
      />
      <Slider label="Steps" value={settings.steps} min={100} max={5000} step={100} onInput={(steps) => change({ steps })} />
      <Switch
        label="EM for the mixture"
        checked={settings.em}
        onChange={(em) => change({ em })}
        hint="Means and shares of the mixture by expectation–maximisation instead of fixed"
      />
      <details>
        <summary>More settings</summary>
        <Slider
          label="Hidden units"
          value={settings.hidden}
          min={8}
          max={256}
          step={8}
          onInput={(hidden) => change({ hidden })}
        />
        <Slider
          label="Learning rate"
          value={Math.log10(settings.learning_rate)}
          min={-4}
          max={-1.5}
          step={0.05}
          show={settings.learning_rate.toPrecision(2)}
          onInput={(log) => change({ learning_rate: Number((10 ** log).toPrecision(2)) })}
        />
        <Slider label="Seed" value={settings.seed} min={0} max={99} step={1} onInput={(seed) => change({ seed })} />
      </details>
    </section>
  );
}

function ToyIcon(props: { name: ToyName }) {
  const paths: Record<ToyName, string> = {
    moons: "M2 10a5 5 0 0 1 10 0M8 8a5 5 0 0 0 10 0",
    circles: "M10 2a7 7 0 1 0 .01 0M10 6a3 3 0 1 0 .01 0",
    pinwheel: "M10 9q4-2 3-7M11 9q4 2 7-1M11 11q-1 5 3 7M9 11q-4 2-4 6M9 9Q5 8 2 11",
    "eight-gaussians": "M10 2h.01M15.6 4.4h.01M18 10h.01M15.6 15.6h.01M10 18h.01M4.4 15.6h.01M2 10h.01M4.4 4.4h.01",
  };
  return (
    <svg viewBox="0 0 20 20" class={props.name === "eight-gaussians" ? "dots" : ""} aria-hidden="true">
      <path d={paths[props.name]} />
    </svg>
  );
}

/** The shape of a class as SVG. */
function markerPath(k: number): string {
  const parts: string[] = [];
  const n = (v: number) => v.toFixed(2);
  marker(
    {
      moveTo: (x, y) => void parts.push(`M${n(x)} ${n(y)}`),
      lineTo: (x, y) => void parts.push(`L${n(x)} ${n(y)}`),
      closePath: () => void parts.push("Z"),
      rect: (x, y, w, h) => void parts.push(`M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}Z`),
      arc: (x, y, r) =>
        void parts.push(`M${n(x - r)} ${n(y)}a${n(r)} ${n(r)} 0 1 0 ${n(2 * r)} 0a${n(r)} ${n(r)} 0 1 0 ${n(-2 * r)} 0Z`),
    },
    k,
    0,
    0,
    5,
  );
  return parts.join("");
}
