/** Addresses: #/view/model?key=value, so that every state worth sending has a link. */
import { store } from "./store";

export const VIEWS = ["playground", "map", "latent", "features", "model"] as const;
export type View = (typeof VIEWS)[number];

export interface Route {
  view: View;
  model: string | null;
  query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view, model] = path.split("/").map(decode);
  const known = (VIEWS as readonly string[]).includes(view) ? (view as View) : "playground";
  return { view: known, model: model || null, query: new URLSearchParams(query) };
}

export function href(view: View, model?: string | null, query?: Record<string, string | number | null>): string {
  const kept = Object.entries(query ?? {}).filter(([, value]) => value !== null) as [string, string | number][];
  const search = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  return `#/${view}${model ? `/${encodeURIComponent(model)}` : ""}${search ? `?${search}` : ""}`;
}

export const route = store<Route>(parseRoute(typeof location === "undefined" ? "" : location.hash));

export function listenToAddress(): void {
  addEventListener("hashchange", () => route.set(parseRoute(location.hash)));
}

/** Keeps the address bar in step without a new entry in the history. */
export function replaceRoute(next: string): void {
  history.replaceState(null, "", next);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
