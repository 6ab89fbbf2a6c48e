/** x(alpha) for a row of images or of table rows at once. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { cell } from "../../core/format";
import type { Picture, Row } from "../../core/types";
import { PictureView, paint, pixelsOf } from "../../ui/picture";
import { ALPHAS, alphaText, nearestAlpha } from "./alphas";

/** Rows, each at every one of the alphas. */
export interface Moved {
  /** What was asked for. */
  key: string;
  alphas: number[];
  images?: Picture[][] | null;
  rows?: Row[][] | null;
}

export function MovedPictures(props: { moved: Moved; rows: number[]; alpha: number }) {
  const { moved, rows } = props;
  const images = moved.images!;
  const pixels = useMemo(() => images.map((row) => row.map(pixelsOf)), [images]);
  const [zero, at] = [nearestAlpha(moved.alphas, 0), nearestAlpha(moved.alphas, props.alpha)];
  return (
    <section class="moved" aria-label="Images as the feature moves">
      <div class="pairs">
        {images.map((row, i) => (
          <figure key={i}>
            <PictureView picture={row[zero]} label={`Image ${rows[i]} as it is`} size="fill" />
            <Following shape={row[0]} pixels={pixels[i]} at={at} label={`Image ${rows[i]} at ${alphaText(moved.alphas[at])}`} />
          </figure>
        ))}
      </div>
      <p class="why">Above, the images as they are; below, at {alphaText(props.alpha)} σ.</p>
    </section>
  );
}

/** The first image over the whole range of alpha. */
export function Film(props: { moved: Moved | null; stale: boolean; alpha: number; onAlpha: (alpha: number) => void }) {
  const first = props.moved?.images?.[0];
  const shown = ALPHAS.map((_, i) => i).filter((i) => Number.isInteger(ALPHAS[i]));
  return (
    <div class={`film${props.stale ? " stale" : ""}`}>
      {shown.map((i) => (
        <button
          key={i}
          type="button"
          class={ALPHAS[i] === props.alpha ? "near" : ""}
          onClick={() => props.onAlpha(ALPHAS[i])}
          aria-label={`Set ${alphaText(ALPHAS[i])}`}
        >
          {first ? <PictureView picture={first[i]} label="" size="fill" /> : <span class="blank" />}
          <span>{ALPHAS[i] === 0 ? "0" : ALPHAS[i] > 0 ? `+${ALPHAS[i]}` : `−${-ALPHAS[i]}`}</span>
        </button>
      ))}
    </div>
  );
}

function Following(props: { shape: Picture; pixels: Uint8Array[]; at: number; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { height, width, channels } = props.shape;
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, height, width, channels, props.pixels[props.at]);
  }, [props.pixels, props.at]);
  return <canvas ref={canvas} class="picture fill moving" width={width} height={height} role="img" aria-label={props.label} />;
}

export function MovedRows(props: { moved: Moved; rows: number[]; alpha: number }) {
  const { moved, rows } = props;
  const tables = moved.rows!;
  const names = Object.keys(tables[0]?.[0] ?? {});
  const [zero, at] = [nearestAlpha(moved.alphas, 0), nearestAlpha(moved.alphas, props.alpha)];
  return (
    <section class="moved" aria-label="Rows as the feature moves">
      <div class="scroll" tabIndex={0} role="region" aria-label="Rows as they are, and moved">
        <table>
          <thead>
            <tr>
              <th scope="col">Column</th>
              {rows.map((row) => (
                <th key={row} scope="col" class="figure">
                  Row {row}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {tables.map((row, i) => {
                  const [before, after] = [row[zero][name], row[at][name]];
                  const same = cell(before) === cell(after);
                  return (
                    <td key={rows[i]} class={`figure${same ? " same" : ""}`}>
                      {same ? (
                        cell(before)
                      ) : (
                        <>
                          <small>{cell(before)} →</small> {cell(after)}
                        </>
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="why">Each row at {alphaText(props.alpha)} σ; what changes is shown with its old value.</p>
    </section>
  );
}
