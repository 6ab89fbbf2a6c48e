import type { ModelInfo } from "../../core/types"; export function ModelView(props: { model: ModelInfo }) { return <main>{props.model.name}</main>; }
