import type { ModelInfo } from "../../core/types"; export function LatentView(props: { model: ModelInfo }) { return <main>{props.model.name}</main>; }
