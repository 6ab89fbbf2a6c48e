/** The trust card of a row: what speaks for and against its prediction. */
import { get, modelPath } from "../../core/api";
import { cell, percent, short } from "../../core/format";
import { classColour } from "../../core/palette";
import { href } from "../../core/route";
import { useShade } from "../../core/theme";
import type { ModelInfo, TrustCard } from "../../core/types";
import { useLoad } from "../../ui/hooks";
import { Failure, Waiting } from "../../ui/parts";
import { PictureView } from "../../ui/picture";
import { Probabilities } from "../../ui/probabilities";
import { RowTable } from "../../ui/row-table";

export function TrustCardView(props: {
  model: ModelInfo;
  row: number;
  version: number;
  mark: string | null | undefined;
  onMark: (value: string | null) => void;
  onRow: (row: number) => void;
  onClose: () => void;
}) {
  const { model, row } = props;
  const shade = useShade();
  const loaded = useLoad(`${model.name}/${row}/${props.version}`, (signal) =>
    get<TrustCard>(`${modelPath(model.name)}/rows/${row}`, signal),
  );
  const card = loaded.value;
  const given = props.mark !== undefined ? props.mark : (card?.label ?? null);
  return (
    <article class="trust" aria-label={`Row ${row}`}>
      <header>
        <h2>
          Row {row} {card?.name !== undefined && <small>{/^\d+$/.test(card.name) ? `line ${card.name}` : card.name}</small>}
        </h2>
        <button type="button" class="quiet" onClick={props.onClose}>
          Close
        </button>
      </header>
      {loaded.state === "failed" && <Failure message={loaded.message} />}
      {!card && loaded.state === "loading" && <Waiting>Reading the row…</Waiting>}
      {card && (
        <>
          <div class="verdict">
            {card.image && <PictureView picture={card.image} label={`Image of row ${row}`} size="medium" />}
            <div>
              <p class="class">
                <i class="dot" style={{ background: classColour(model.classes.indexOf(card.class), shade) }} />
                {card.class}
              </p>
              <p class="why">{verdict(card)}</p>
              {card.class_by_flow !== undefined && card.class_by_flow !== card.class && (
                <p class="why">The flow alone says {card.class_by_flow}.</p>
              )}
            </div>
          </div>
          <Probabilities classes={model.classes} values={card.probabilities} set={card.set} />
          <dl class="facts">
            <dt title="A p-value: near 0 for rows unlike the training rows">Typicality</dt>
            <dd>{short(card.typicality)}</dd>
            <dt>log p(x)</dt>
            <dd>{short(card.log_p, 4)}</dd>
            <dt title="Latent distance to the decision boundary, in standard deviations">Distance to the boundary</dt>
            <dd>{short(card.boundary)}</dd>
            <dt>Prediction set</dt>
            <dd>{predictionSet(card.set)}</dd>
          </dl>
          <h3>Label</h3>
          <div class="labels" role="group" aria-label="Give this row a label">
            {model.classes.map((name, k) => (
              <button key={name} type="button" aria-pressed={given === name} onClick={() => props.onMark(name)}>
                <i class="dot" style={{ background: classColour(k, shade) }} />
                {name}
              </button>
            ))}
            <button type="button" aria-pressed={given === null} onClick={() => props.onMark(null)}>
              none
            </button>
          </div>
          {card.counterfactual && (
            <>
              <h3>
                What would make it <b>{card.counterfactual.class}</b>
              </h3>
              {card.counterfactual.image && card.image && (
                <div class="pair">
                  <PictureView picture={card.image} label="As it is" size="medium" />
                  <span aria-hidden="true">→</span>
                  <PictureView picture={card.counterfactual.image} label={`As ${card.counterfactual.class}`} size="medium" />
                </div>
              )}
              {card.counterfactual.changes && card.counterfactual.changes.length > 0 && (
                <table>
                  <tbody>
                    {card.counterfactual.changes.slice(0, 8).map((change) => (
                      <tr key={change.column}>
                        <th scope="row">{change.column}</th>
                        <td class="figure">{cell(change.from)}</td>
                        <td>→</td>
                        <td class="figure">{cell(change.to)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
              <p>
                <a href={href("latent", model.name, { from: row, kind: "boundary" })}>Walk across the boundary</a>
              </p>
            </>
          )}
          {card.nearest.length > 0 && (
            <>
              <h3>Nearest labelled rows</h3>
              <ul class="nearest">
                {card.nearest.map((near) => (
                  <li key={near.row}>
                    <button type="button" class="quiet" onClick={() => props.onRow(near.row)}>
                      {near.image && <PictureView picture={near.image} label={`Row ${near.row}`} size="small" />}
                      <i class="dot" style={{ background: classColour(model.classes.indexOf(near.class), shade) }} />
                      {near.class}, row {near.row}
                    </button>
                    <small>{short(near.distance)} away</small>
                  </li>
                ))}
              </ul>
            </>
          )}
          {card.row && (
            <details open={Object.keys(card.row).length <= 12}>
              <summary>Columns</summary>
              <RowTable row={card.row} />
            </details>
          )}
        </>
      )}
    </article>
  );
}

function verdict(card: TrustCard): string {
  const p = percent(Math.max(...card.probabilities), 1);
  if (card.typicality !== null && card.typicality < 0.02) return `${p} probable, but unlike the training rows`;
  if (card.set && card.set.length > 1) return `${p} probable; ${card.set.length} classes are plausible`;
  if (card.set && card.set.length === 0) return `${p} probable; among the rows the model is least sure of`;
  return `${p} probable`;
}

/** A prediction set in words. An empty one is no alarm: it belongs to a model that is right more often than its sets promise. */
function predictionSet(set: string[] | null): string {
  if (set === null) return "too few labels for one";
  if (set.length > 0) return set.join(", ");
  return "empty: the model is right more often than its sets promise, and rows it is least sure of get no class. Look at this one";
}
