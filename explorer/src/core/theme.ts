/** Light, dark, or as the system says. */
import { store, useStore } from "./store";

export type Choice = "system" | "light" | "dark";
export type Shade = "light" | "dark";
const KEY = "flowgmm-theme";

const query = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");
export const choice = store<Choice>(stored());
export const shade = store<Shade>(resolved());

/** Colours that canvases need; the same as in the style sheet. */
export interface Ink {
  page: string;
  panel: string;
  text: string;
  quiet: string;
  faint: string;
  line: string;
  accent: string;
}

export const INK: Record<Shade, Ink> = {
  light: {
    page: "#fafaf8",
    panel: "#ffffff",
    text: "#16181b",
    quiet: "#5a6068",
    faint: "#8a9098",
    line: "#e2e3e0",
    accent: "#16181b",
  },
  dark: {
    page: "#101214",
    panel: "#17191c",
    text: "#eceef0",
    quiet: "#a4abb3",
    faint: "#747b84",
    line: "#2a2e33",
    accent: "#f2f4f6",
  },
};

export function startTheme(): void {
  const apply = () => {
    shade.set(resolved());
    document.documentElement.dataset.theme = shade.get();
  };
  query?.addEventListener("change", apply);
  choice.watch(() => {
    localStorage.setItem(KEY, choice.get());
    apply();
  });
  apply();
}

export const useShade = () => useStore(shade);
export const useInk = () => INK[useStore(shade)];

function resolved(): Shade {
  const wanted = choice.get();
  if (wanted !== "system") return wanted;
  return query?.matches ? "dark" : "light";
}

function stored(): Choice {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "system";
  } catch {
    return "system";
  }
}
