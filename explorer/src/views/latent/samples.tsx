/** New rows or images, drawn from the Gaussian of a class and decoded; the temperature scales its spread. */
import { useEffect, useState } from "preact/hooks";
import { isAbort, messageOf, modelPath, post } from "../../core/api";
import { cell, short } from "../../core/format";
import { classColour } from "../../core/palette";
import { useShade } from "../../core/theme";
import type { ModelInfo, Samples } from "../../core/types";
import { useLatest } from "../../ui/hooks";
import { Choice, Failure, Slider, Waiting } from "../../ui/parts";
import { PictureView } from "../../ui/picture";

export function SamplesView(props: { model: ModelInfo }) {
  const { model } = props;
  const shade = useShade();
  const images = model.kind === "images";
  const [wanted, setWanted] = useState("");
  const [temperature, setTemperature] = useState(images ? 0.8 : 1);
  const [seed, setSeed] = useState(0);
  const [samples, setSamples] = useState<Samples | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const ask = useLatest(async (body: { class?: string; n: number; temperature: number; seed: number }, signal) => {
    try {
      setSamples(await post<Samples>(`${modelPath(model.name)}/sample`, body, signal));
      setProblem(null);
    } catch (error) {
      if (!isAbort(error)) setProblem(messageOf(error));
    }
  });
  useEffect(
    () => ask({ ...(wanted === "" ? {} : { class: wanted }), n: images ? 40 : 10, temperature, seed }),
    [wanted, temperature, seed],
  );
  return (
    <section class="samples" aria-labelledby="samples-heading">
      <h2 id="samples-heading">New {images ? "images" : "rows"}</h2>
      <div class="row-of-fields">
        <Choice
          label="Class"
          value={wanted}
          options={[["", "any class"], ...model.classes.map((name) => [name, name] as const)]}
          onChange={setWanted}
        />
        <Slider
          label="Temperature"
          value={temperature}
          min={0}
          max={1.5}
          step={0.05}
          show={temperature.toFixed(2)}
          onInput={setTemperature}
          hint="0 is the mean of the class, 1 the model's own spread"
        />
        <button type="button" onClick={() => setSeed(seed + 1)}>
          Draw again
        </button>
      </div>
      {problem && <Failure message={problem} />}
      {!samples && !problem && <Waiting>Drawing…</Waiting>}
      {samples?.images && (
        <div class="sheet">
          {samples.images.map((picture, i) => (
            <PictureView key={i} picture={picture} label={`Sample of ${samples.classes[i]}`} size="fill" />
          ))}
        </div>
      )}
      {samples?.rows && samples.rows.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Rows that were drawn">
          <table>
            <thead>
              <tr>
                <th scope="col">Class</th>
                {Object.keys(samples.rows[0]).map((name) => (
                  <th key={name} scope="col" class="figure">
                    {name}
                  </th>
                ))}
                <th scope="col" class="figure">
                  log p(x)
                </th>
              </tr>
            </thead>
            <tbody>
              {samples.rows.map((row, i) => (
                <tr key={i}>
                  <td>
                    <i class="dot" style={{ background: classColour(model.classes.indexOf(samples.classes[i]), shade) }} />
                    {samples.classes[i]}
                  </td>
                  {Object.keys(samples.rows![0]).map((name) => (
                    <td key={name} class="figure">
                      {cell(row[name])}
                    </td>
                  ))}
                  <td class="figure">{short(samples.log_p[i], 4)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
