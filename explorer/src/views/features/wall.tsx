/** All channels of a layer, each moved alone. */
import { useEffect, useState } from "preact/hooks";
import { isAbort, messageOf, modelPath, post } from "../../core/api";
import { cell } from "../../core/format";
import type { LayerInfo, ModelInfo, Picture, Row } from "../../core/types";
import { useLatest } from "../../ui/hooks";
import { Failure, Waiting } from "../../ui/parts";
import { PictureView } from "../../ui/picture";
import { alphaText } from "./alphas";

interface WallAnswer {
  /** How many there are; the wall may show fewer. */
  channels?: number;
  images?: Picture[] | null;
  rows?: Row[] | null;
  base?: Picture | Row | null;
}

export function Wall(props: {
  model: ModelInfo;
  layer: LayerInfo & { index: number };
  row: number;
  alpha: number;
  channel: number;
  onChannel: (channel: number) => void;
}) {
  const { model, layer } = props;
  const [answer, setAnswer] = useState<WallAnswer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = useLatest(async (body: { layer: number; row: number; alpha: number }, signal) => {
    try {
      setAnswer(await post<WallAnswer>(`${modelPath(model.name)}/features/wall`, body, signal));
      setProblem(null);
    } catch (error) {
      if (!isAbort(error)) setProblem(messageOf(error));
    }
  });
  useEffect(() => ask({ layer: layer.index, row: props.row, alpha: props.alpha }), [layer.index, props.row, props.alpha]);
  const shown = answer?.images?.length ?? answer?.rows?.length ?? 0;
  return (
    <section class="wall" aria-labelledby="wall-heading">
      <h2 id="wall-heading">
        All channels of the layer{" "}
        <small>
          {model.kind === "images" ? "image" : "row"} {props.row}, each channel alone at {alphaText(props.alpha)} σ
        </small>
      </h2>
      {problem && <Failure message={problem} />}
      {!answer && !problem && <Waiting>Inverting…</Waiting>}
      {answer?.images && (
        <div class="sheet">
          {answer.images.map((picture, c) => (
            <button
              key={c}
              type="button"
              aria-pressed={c === props.channel}
              aria-label={`Channel ${c}`}
              title={`Channel ${c}`}
              onClick={() => props.onChannel(c)}
            >
              <PictureView picture={picture} label="" size="fill" />
              <span>{c}</span>
            </button>
          ))}
        </div>
      )}
      {answer?.channels !== undefined && shown < answer.channels && (
        <p class="why">
          The first {shown} of {answer.channels} channels.
        </p>
      )}
      {answer?.rows && answer.rows.length > 0 && (
        <WallTable
          rows={answer.rows}
          base={(answer.base as Row | null) ?? null}
          channel={props.channel}
          onChannel={props.onChannel}
        />
      )}
    </section>
  );
}

function WallTable(props: { rows: Row[]; base: Row | null; channel: number; onChannel: (channel: number) => void }) {
  const names = Object.keys(props.rows[0]);
  const moved = (row: Row, name: string) => props.base !== null && cell(row[name]) !== cell(props.base[name]);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Channels by columns">
      <table>
        <thead>
          <tr>
            <th scope="col">Channel</th>
            {names.map((name) => (
              <th key={name} scope="col" class="figure">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.base && (
            <tr>
              <th scope="row">unmoved</th>
              {names.map((name) => (
                <td key={name} class="figure">
                  {cell(props.base![name])}
                </td>
              ))}
            </tr>
          )}
          {props.rows.map((row, c) => (
            <tr key={c}>
              <th scope="row">
                <button type="button" aria-pressed={c === props.channel} onClick={() => props.onChannel(c)}>
                  {c}
                </button>
              </th>
              {names.map((name) => (
                <td key={name} class={`figure ${moved(row, name) ? "" : "same"}`}>
                  {cell(row[name])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
