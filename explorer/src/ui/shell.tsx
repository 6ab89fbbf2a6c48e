/** The frame around every view. */
import type { ComponentChildren } from "preact";
import { VIEWS, href, route } from "../core/route";
import { useStore } from "../core/store";
import { models } from "../core/models";
import { choice, shade } from "../core/theme";

const NAMES = { playground: "Playground", map: "Map", latent: "Latent", features: "Features", model: "Model" } as const;

export function Shell(props: { children: ComponentChildren }) {
  const { view, model } = useStore(route);
  const loaded = useStore(models);
  const list = loaded.state === "ready" ? loaded.value : [];
  const current = list.find((m) => m.name === model)?.name ?? list[0]?.name ?? null;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}>
        Skip to the view
      </a>
      <header class="topbar">
        <a class="wordmark" href={href("playground")}>
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path class="one" d="M3 14a7 7 0 0 1 12 0" />
            <path class="two" d="M9 10a7 7 0 0 0 12 0" />
          </svg>
          flowgmm
        </a>
        <nav aria-label="Views">
          {VIEWS.map((name) => (
            <a
              key={name}
              href={href(name, name === "playground" ? null : current)}
              aria-current={name === view ? "page" : undefined}
            >
              {NAMES[name]}
            </a>
          ))}
        </nav>
        <div class="end">
          {list.length > 0 && (
            <label class="picker">
              <span class="hidden">Model</span>
              <select
                value={current ?? ""}
                onChange={(event) => (location.hash = href(view === "playground" ? "map" : view, event.currentTarget.value))}
              >
                {list.map((m) => (
                  <option key={m.name} value={m.name}>
                    {m.name}
                  </option>
                ))}
              </select>
            </label>
          )}
          <ThemeButton />
        </div>
      </header>
      <div id="content" tabIndex={-1}>
        {props.children}
      </div>
    </>
  );
}

function ThemeButton() {
  const now = useStore(shade);
  const other = now === "dark" ? "light" : "dark";
  return (
    <button
      type="button"
      class="theme"
      aria-label={`Switch to ${other} colours`}
      title={`Switch to ${other} colours`}
      onClick={() => choice.set(other)}
    >
      <svg viewBox="0 0 20 20" aria-hidden="true">
        <circle cx="10" cy="10" r="6.5" />
        <path d="M10 3.5a6.5 6.5 0 0 1 0 13z" />
      </svg>
    </button>
  );
}
