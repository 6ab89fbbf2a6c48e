/** The page: a bar with the views and the models, and the view that the address names. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { adoptToken } from "./core/api";
import { VIEWS, href, listenToAddress, route } from "./core/route";
import { useStore } from "./core/store";
import { startTheme } from "./core/theme";
import { loadModels, models } from "./core/models";
import { Shell } from "./ui/shell";
import { NeedsModel } from "./ui/needs-model";
import { Waiting } from "./ui/parts";
import { Playground } from "./views/playground";
import { MapView } from "./views/map";
import { LatentView } from "./views/latent";
import { FeaturesView } from "./views/features";
import { ModelView } from "./views/model";
import "./style/main.css";

function Page() {
  const { view, model } = useStore(route);
  const loaded = useStore(models);
  useEffect(() => void loadModels(), []);
  useEffect(() => {
    document.title = `${view[0].toUpperCase()}${view.slice(1)} · flowgmm`;
  }, [view]);
  // Without an address, the first thing to see is the map of the model that was given, or the playground.
  const [bare, setBare] = useState(location.hash.length < 3);
  useEffect(() => {
    if (!bare || loaded.state === "loading") return;
    if (loaded.state === "ready" && loaded.value.length > 0) location.replace(href("map", loaded.value[0].name));
    setBare(false);
  }, [loaded.state]);
  if (bare) return <Shell>{loaded.state === "loading" ? <Waiting>Asking for the models…</Waiting> : null}</Shell>;
  const inner = {
    playground: () => <Playground />,
    map: () => (
      <NeedsModel view="map" name={model}>
        {(found) => <MapView key={found.name} model={found} />}
      </NeedsModel>
    ),
    latent: () => (
      <NeedsModel view="latent" name={model}>
        {(found) => <LatentView key={found.name} model={found} />}
      </NeedsModel>
    ),
    features: () => (
      <NeedsModel view="features" name={model}>
        {(found) => <FeaturesView key={found.name} model={found} />}
      </NeedsModel>
    ),
    model: () => (
      <NeedsModel view="model" name={model}>
        {(found) => <ModelView key={found.name} model={found} />}
      </NeedsModel>
    ),
  } satisfies Record<(typeof VIEWS)[number], () => unknown>;
  return <Shell>{inner[view]()}</Shell>;
}

adoptToken();
startTheme();
listenToAddress();
render(<Page />, document.getElementById("app")!);
