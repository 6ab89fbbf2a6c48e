/** x(alpha) for a row of images or of table rows at once. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { cell } from "../../core/format";
import type { Column, Picture, Row } from "../../core/types";
import { PictureView, paint, pixelsOf } from "../../ui/picture";
import { ALPHAS, alphaText } from "./alphas";

const ZERO = ALPHAS.indexOf(0);

export function MovedPictures(props: { images: Picture[][]; rows: number[]; at: number; onAlpha: (alpha: number) => void }) {
  const { images, rows, at } = props;
  const pixels = useMemo(() => images.map((row) => row.map(pixelsOf)), [images]);
  const film = ALPHAS.map((_, i) => i).filter((i) => (i - ZERO) % 4 === 0);
  return (
    <section class="moved" aria-label="Images as the feature moves">
      <div class="pairs">
        {images.map((row, i) => (
          <figure key={rows[i]}>
            <PictureView picture={row[ZERO]} label={`Image ${rows[i]} as it is`} size="fill" />
            <Following shape={row[0]} pixels={pixels[i]} at={at} label={`Image ${rows[i]} at ${alphaText(ALPHAS[at])}`} />
          </figure>
        ))}
      </div>
      <p class="why">Above, the images as they are; below, at {alphaText(ALPHAS[at])} σ.</p>
      {images.length > 0 && (
        <div class="film">
          {film.map((i) => (
            <button key={i} type="button" class={i === at ? "near" : ""} onClick={() => props.onAlpha(ALPHAS[i])} aria-label={`Set ${alphaText(ALPHAS[i])}`}>
              <PictureView picture={images[0][i]} label="" size="fill" />
              <span>{ALPHAS[i] === 0 ? "0" : ALPHAS[i] > 0 ? `+${ALPHAS[i]}` : `−${-ALPHAS[i]}`}</span>
            </button>
          ))}
        </div>
      )}
    </section>
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

export function MovedRows(props: { columns: Column[]; tables: Row[][]; rows: number[]; at: number }) {
  const { tables, rows, at } = props;
  const names = Object.keys(tables[0]?.[0] ?? {});
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
                  const [before, after] = [row[ZERO][name], row[at][name]];
                  const same = cell(before) === cell(after);
                  return (
                    <td key={rows[i]} class={`figure${same ? " same" : ""}`}>
                      {same ? cell(before) : <><small>{cell(before)} →</small> {cell(after)}</>}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p class="why">Each row at {alphaText(ALPHAS[at])} σ; what changes is shown with its old value.</p>
    </section>
  );
}
