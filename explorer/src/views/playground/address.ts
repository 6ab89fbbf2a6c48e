/** The playground's state in the address: a toy or drawn points, and the settings. */
import { href, route } from "../../core/route";
import type { Settings, ToyName } from "../../core/types";
import { TOYS, type ToyChoice, defaultLabels } from "./controls";
import { fromLink } from "./link";
import type { Points } from "./points";

/** Where the server does not say its own. */
export const DEFAULTS: Settings = {
  steps: 1000,
  r: 3,
  couplings: 6,
  hidden: 64,
  consistency: 1,
  em: false,
  learning_rate: 0.003,
  seed: 0,
};

/** What the address asks for: #/playground?toy=moons&labels=10&r=3. */
export function addressed(): { toy: ToyChoice; drawn: Points | null; settings: Partial<Settings>; compare: boolean } {
  const { query, view } = route.get();
  const asked = view === "playground" ? query : new URLSearchParams();
  const given = TOYS.find(([toy]) => toy === asked.get("toy"))?.[0];
  const link = asked.get("points");
  const drawn = link === null ? null : fromLink(link);
  const name: ToyName = given ?? "moons";
  const settings: Partial<Settings> = {};
  for (const key of ["steps", "r", "couplings", "hidden", "consistency", "learning_rate", "seed"] as const) {
    const text = asked.get(key);
    if (text !== null && Number.isFinite(Number(text))) settings[key] = Number(text);
  }
  if (asked.has("em")) settings.em = asked.get("em") === "1";
  const whole = (text: string | null, otherwise: number, low: number, high: number) => {
    const value = Math.round(Number(text));
    return text !== null && value >= low && value <= high ? value : otherwise;
  };
  return {
    drawn,
    toy: {
      name: drawn ? null : name,
      labels: whole(asked.get("labels"), defaultLabels(name), 2, 100),
      rows: whole(asked.get("rows"), 500, 100, 2000),
    },
    settings,
    compare: asked.has("compare") ? asked.get("compare") === "1" : false,
  };
}

export function addressOf(toy: ToyChoice, settings: Settings, compare: boolean): string {
  const { em, ...numbers } = settings;
  const kept = Object.fromEntries(Object.entries(numbers).filter(([key, value]) => typeof value === "number" && key in DEFAULTS));
  const data: Record<string, string | number> = toy.name ? { toy: toy.name, labels: toy.labels, rows: toy.rows } : {};
  return href("playground", null, { ...data, ...kept, em: em ? 1 : 0, compare: compare ? 1 : 0 });
}
