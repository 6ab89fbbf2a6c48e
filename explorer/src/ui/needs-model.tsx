/** A view of a model, or why there is none. */
import type { ComponentChildren } from "preact";
import { loadModels, models } from "../core/models";
import { type View, href } from "../core/route";
import { useStore } from "../core/store";
import type { ModelInfo } from "../core/types";
import { Failure, Notice, Waiting } from "./parts";

export function NeedsModel(props: { view: View; name: string | null; children: (model: ModelInfo) => ComponentChildren }) {
  const loaded = useStore(models);
  if (loaded.state === "loading") return <Waiting>Asking for the models…</Waiting>;
  if (loaded.state === "failed") return <Failure message={loaded.message} onRetry={() => void loadModels()} />;
  if (loaded.value.length === 0) {
    return (
      <Notice
        title="No model yet"
        action={
          <a class="button" href={href("playground")}>
            Go to the playground
          </a>
        }
      >
        <p>This view shows a model that was fitted. Fit one and open it with its data:</p>
        <pre>
          <code>{"flowgmm fit train.csv --label species --model iris.flow\nflowgmm serve iris.flow --data train.csv"}</code>
        </pre>
      </Notice>
    );
  }
  const found = props.name === null ? loaded.value[0] : loaded.value.find((model) => model.name === props.name);
  if (!found) {
    return (
      <Notice title="There is no such model">
        <p>
          The server has no model called <code>{props.name}</code>. It has:
        </p>
        <ul>
          {loaded.value.map((model) => (
            <li key={model.name}>
              <a href={href(props.view, model.name)}>{model.name}</a>
            </li>
          ))}
        </ul>
      </Notice>
    );
  }
  return <>{props.children(found)}</>;
}

/** For views that need rows: what to do when the server has none. */
export function NoRows(props: { what: string; model: ModelInfo }) {
  return (
    <Notice title="No rows to show">
      {props.model.data_error && <p class="failure">{props.model.data_error}</p>}
      <p>{props.what} needs rows. Start the server with the table or the images:</p>
      <pre>
        <code>{`flowgmm serve ${props.model.name}.flow --data train.csv`}</code>
      </pre>
    </Notice>
  );
}
