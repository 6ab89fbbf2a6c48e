/** Labels given here: suggestions, the list, the table to take away, and the fit anew. */
import { useEffect, useRef, useState } from "preact/hooks";
import { download, isAbort, lines, messageOf, modelPath, post, remove } from "../../core/api";
import { duration, plural, short } from "../../core/format";
import { loadModels } from "../../core/models";
import { classColour } from "../../core/palette";
import { useShade } from "../../core/theme";
import type { JobLine, Mark, ModelInfo, Suggestion } from "../../core/types";
import { Failure, Progress } from "../../ui/parts";
import { Probabilities } from "../../ui/probabilities";

export function Labelling(props: {
  model: ModelInfo;
  marks: Map<number, string | null>;
  version: number;
  chosen: number | null;
  onRow: (row: number) => void;
  onMark: (rows: number[], value: string | null) => void;
  onRefitted: () => void;
}) {
  const { model, marks } = props;
  const shade = useShade();
  const path = modelPath(model.name);
  const [suggestions, setSuggestions] = useState<Suggestion[] | null>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const [job, setJob] = useState<{ id: string; line: JobLine } | null>(null);
  const [done, setDone] = useState<string | null>(null);
  const control = useRef(new AbortController());
  useEffect(() => {
    control.current = new AbortController();
    return () => control.current.abort();
  }, []);
  useEffect(() => setSuggestions(null), [props.version]);

  const trying = async (work: () => Promise<void>) => {
    setProblem(null);
    try {
      await work();
    } catch (error) {
      if (!isAbort(error)) setProblem(messageOf(error));
    }
  };
  const suggest = () =>
    trying(async () => {
      setBusy(true);
      try {
        const answer = await post<Suggestion[] | { suggestions: Suggestion[] }>(
          `${path}/label-next`,
          { n: 8 },
          control.current.signal,
        );
        setSuggestions(Array.isArray(answer) ? answer : answer.suggestions);
      } finally {
        setBusy(false);
      }
    });
  const refit = () =>
    trying(async () => {
      setDone(null);
      const labels: Mark[] = [...marks].map(([row, value]) => ({ row, class: value }));
      const { job: id } = await post<{ job: string }>(`${path}/refit`, { labels, seed: 0 }, control.current.signal);
      setJob({ id, line: { phase: "starting" } });
      try {
        for await (const line of lines<JobLine>(`/jobs/${encodeURIComponent(id)}`, control.current.signal)) {
          if (line.error) throw new Error(line.error.message);
          if (line.finished) {
            setDone(`Refitted with ${plural(marks.size, "new label")}.`);
            await loadModels();
            props.onRefitted();
          } else setJob({ id, line });
        }
      } finally {
        setJob(null);
      }
    });

  return (
    <section class="labelling" aria-labelledby="label-heading">
      <h2 id="label-heading">Labels</h2>
      {problem && <Failure message={problem} />}
      <div class="brushes">
        <button type="button" disabled={busy} onClick={() => void suggest()}>
          Label these next
        </button>
        <button type="button" class="quiet" onClick={() => void trying(() => download(`${path}/table.csv`, `${model.name}.csv`))}>
          Download table
        </button>
      </div>
      {suggestions && suggestions.length === 0 && <p class="why">No row is worth a question: all have labels.</p>}
      {suggestions && suggestions.length > 0 && (
        <ol class="suggestions">
          {suggestions.map((s) => (
            <li key={s.row} class={s.row === props.chosen ? "chosen" : undefined}>
              <button type="button" class="quiet" onClick={() => props.onRow(s.row)}>
                Row {s.row}
              </button>
              <span class="why">
                {marks.has(s.row)
                  ? (marks.get(s.row) ?? "no label")
                  : (s.why ?? (s.score !== undefined ? `score ${short(s.score)}` : ""))}
              </span>
              {s.row === props.chosen ? (
                <div class="labels">
                  {model.classes.map((name, k) => (
                    <button
                      key={name}
                      type="button"
                      aria-pressed={marks.get(s.row) === name}
                      onClick={() => props.onMark([s.row], name)}
                    >
                      <i class="dot" style={{ background: classColour(k, shade) }} />
                      {name}
                    </button>
                  ))}
                </div>
              ) : (
                <Probabilities classes={model.classes} values={s.probabilities} most={2} />
              )}
            </li>
          ))}
        </ol>
      )}
      <p class="why">
        {marks.size === 0 ? "Click a row, or draw a lasso, to give labels." : `${plural(marks.size, "label")} given here.`}
      </p>
      {job ? (
        <>
          <Progress label={progressText(job.line)} done={job.line.done ?? 0} total={job.line.total ?? 0} />
          <button
            type="button"
            class="quiet"
            onClick={() => void remove(`/jobs/${encodeURIComponent(job.id)}`).catch(() => undefined)}
          >
            Cancel
          </button>
        </>
      ) : (
        <div class="brushes">
          <button type="button" class="primary" disabled={marks.size === 0} onClick={() => void refit()}>
            Refit
          </button>
          {done && (
            <button type="button" onClick={() => void trying(() => download(`${path}/file`, `${model.name}.flow`))}>
              Download model
            </button>
          )}
        </div>
      )}
      {done && (
        <p class="why" role="status">
          {done}
        </p>
      )}
    </section>
  );
}

function progressText(line: JobLine): string {
  const parts = [line.phase ?? "working"];
  if (line.loss !== null && line.loss !== undefined) parts.push(`loss ${short(line.loss)}`);
  if (line.seconds_left !== null && line.seconds_left !== undefined) parts.push(`about ${duration(line.seconds_left)} left`);
  return parts.join(" · ");
}
