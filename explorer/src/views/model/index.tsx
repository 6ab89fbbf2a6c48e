/** The model: what it is, what was decided and why, and how far to trust it. */
import { useState } from "preact/hooks";
import { download, get, hasToken, messageOf, modelPath } from "../../core/api";
import { count, percent, plural, short } from "../../core/format";
import { useInk } from "../../core/theme";
import type { ModelInfo } from "../../core/types";
import { LineChart } from "../../plot/chart";
import { useLoad } from "../../ui/hooks";
import { Failure, Waiting } from "../../ui/parts";
import { Calibration } from "./calibration";
import { type CardAnswer, certificateLines, historyOf } from "./card";
import { Shares } from "./shares";

export function ModelView(props: { model: ModelInfo }) {
  const { model } = props;
  const ink = useInk();
  const [problem, setProblem] = useState<string | null>(null);
  const loaded = useLoad(model.name, (signal) => get<CardAnswer>(`${modelPath(model.name)}/card`, signal));
  const card = loaded.value;
  const history = card ? historyOf(card) : [];
  return (
    <main class="modelview">
      <header class="title">
        <h1>{model.name}</h1>
        <div class="brushes">
          {!hasToken() && (
            <a class="button" href={`/api/v1${modelPath(model.name)}/page`} target="_blank" rel="noopener">
              Open the explain page
            </a>
          )}
          <button
            type="button"
            onClick={() =>
              download(`${modelPath(model.name)}/file`, `${model.name}.flow`).catch((error) => setProblem(messageOf(error)))
            }
          >
            Download model
          </button>
        </div>
      </header>
      <p class="lead">{lead(model)}</p>
      {problem && <Failure message={problem} />}
      {loaded.state === "failed" && <Failure message={loaded.message} />}
      {!card && loaded.state === "loading" && <Waiting>Measuring how exactly the flow inverts…</Waiting>}
      {card && (
        <div class="cards">
          <div class="column">
            <Evidence card={card} />
            <Calibration model={model} />
            {history.length > 1 && (
              <section class="box">
                <h2>Training</h2>
                <LineChart
                  label="Loss over training steps"
                  xName="steps"
                  yName="loss"
                  lines={[{ name: "loss", colour: ink.text, x: history.map((r) => r.step), y: history.map((r) => r.loss) }]}
                  share={0.92}
                  height={160}
                />
              </section>
            )}
          </div>
          <div class="column">
            <section class="box">
              <h2>How common each class is</h2>
              <Shares
                classes={card.classes ?? model.classes}
                shares={card.class_shares ?? []}
                intervals={card.class_share_intervals ?? []}
              />
            </section>
            <section class="box">
              <h2>Certificate</h2>
              <p class="why">A flow is only as good as its inverse. Measured, not assumed:</p>
              <ul class="plain">
                {certificateLines(card.certificates).map((line) => (
                  <li key={line.what}>
                    <b>{line.what}</b> {line.text}
                  </li>
                ))}
              </ul>
            </section>
            <section class="box">
              <h2>Card</h2>
              <dl class="facts">
                {facts(card, model).flatMap(([name, value]) => [<dt key={`${name}:`}>{name}</dt>, <dd key={name}>{value}</dd>])}
              </dl>
              {card.config !== undefined && card.config !== null && (
                <details>
                  <summary>Every setting</summary>
                  <pre tabIndex={0} role="region" aria-label="Every setting">
                    <code>{JSON.stringify(card.config, null, 2)}</code>
                  </pre>
                </details>
              )}
            </section>
          </div>
          <Decisions card={card} />
          <section class="box wide">
            <h2>Explain page</h2>
            <ExplainPage model={model} />
          </section>
        </div>
      )}
    </main>
  );
}

function Evidence(props: { card: CardAnswer }) {
  const { evidence } = props.card;
  return (
    <section class="box">
      <h2>Held-out labels</h2>
      {evidence ? (
        <>
          <p class="big">
            {percent(evidence.accuracy)} <small>of {plural(evidence.n, "held-out label")} right</small>
          </p>
          <dl class="facts">
            <dt>The flow alone</dt>
            <dd>{percent(evidence.flow_accuracy)}</dd>
            {evidence.forest_accuracy !== null && evidence.forest_accuracy !== undefined && (
              <>
                <dt>The trees alone</dt>
                <dd>{percent(evidence.forest_accuracy)}</dd>
              </>
            )}
            <dt>Weight of the flow</dt>
            <dd>{percent(evidence.flow_weight, 0)}</dd>
            <dt title="What differences of log-densities are divided by, so that probabilities are honest">
              Calibration: temperature
            </dt>
            <dd>{short(evidence.temperature ?? props.card.temperature)}</dd>
          </dl>
        </>
      ) : (
        <>
          <p class="why">Too few labels to hold any out: how right the model is has not been measured.</p>
          <dl class="facts">
            <dt>Calibration: temperature</dt>
            <dd>{short(props.card.temperature)}</dd>
          </dl>
        </>
      )}
    </section>
  );
}

function Decisions(props: { card: CardAnswer }) {
  const decisions = props.card.decisions ?? [];
  return (
    <section class="box wide">
      <h2>Decisions, and why</h2>
      {decisions.length === 0 ? (
        <p class="why">Every setting was given: nothing was decided by the recipe.</p>
      ) : (
        <table class="decisions">
          <tbody>
            {decisions.map((decision, i) => (
              <tr key={i}>
                <th scope="row">{decision.what}</th>
                <td>
                  <b>{decision.choice}</b>
                </td>
                <td>{decision.why}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function ExplainPage(props: { model: ModelInfo }) {
  const [open, setOpen] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  if (hasToken()) {
    // A frame cannot carry the token.
    return (
      <>
        {problem && <Failure message={problem} />}
        <button
          type="button"
          onClick={() =>
            download(`${modelPath(props.model.name)}/page`, `${props.model.name}.html`).catch((error) =>
              setProblem(messageOf(error)),
            )
          }
        >
          Download the explain page
        </button>
      </>
    );
  }
  if (!open) {
    return (
      <>
        <p class="why">Calibration curve, prediction sets, paths, counterfactuals, what to label next: the library's own page.</p>
        <button type="button" onClick={() => setOpen(true)}>
          Show it here
        </button>
      </>
    );
  }
  return (
    <iframe
      class="explain"
      sandbox="allow-scripts"
      title={`Explain page of ${props.model.name}`}
      src={`/api/v1${modelPath(props.model.name)}/page`}
    />
  );
}

function lead(model: ModelInfo): string {
  const what = {
    table: `rows of ${plural(model.columns.length, "column")}`,
    matrix: `rows of ${plural(model.dim, "number")}`,
    images: model.image ? `images of ${model.image.height} × ${model.image.width}` : "images",
  }[model.kind];
  const data = model.data ? ` ${plural(model.data.rows, "row")} of data, ${count(model.data.labelled)} with a label.` : "";
  return `A model of ${what} and ${plural(model.classes.length, "class", "classes")}${model.has_forest ? ", a flow with experts beside it" : ", by a flow alone"}.${data}`;
}

function facts(card: CardAnswer, model: ModelInfo): [string, string][] {
  const found: [string, string | null | undefined][] = [
    ["Parameters", card.parameters === undefined ? null : count(card.parameters)],
    ["Layers", model.layers.length > 0 ? String(model.layers.length) : null],
    ["Labelled training rows", card.n_labelled === undefined ? null : count(card.n_labelled)],
    ["Unlabelled training rows", card.n_unlabelled === undefined ? null : count(card.n_unlabelled)],
    ["Preprocessing", card.preprocessing],
    ["log p(x) is", card.likelihood],
    ["Seed", card.seed === undefined ? null : String(card.seed)],
    ["Fitted by", card.version === undefined ? null : `flowgmm ${card.version}`],
    ["Digest of the training rows", card.data_hash?.slice(0, 16)],
  ];
  return found.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== undefined && fact[1] !== "");
}
