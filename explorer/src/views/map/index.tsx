import type { ModelInfo } from "../../core/types"; export function MapView(props: { model: ModelInfo }) { return <main>{props.model.name}</main>; }
