import type { ModelInfo } from "../../core/types"; export function FeaturesView(props: { model: ModelInfo }) { return <main>{props.model.name}</main>; }
