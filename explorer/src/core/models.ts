/** The models that the server has. */
import { get, messageOf } from "./api";
import { store } from "./store";
import type { ModelInfo } from "./types";

export type Models = { state: "loading" } | { state: "ready"; value: ModelInfo[] } | { state: "failed"; message: string };

export const models = store<Models>({ state: "loading" });

export async function loadModels(): Promise<void> {
  try {
    models.set({ state: "ready", value: await get<ModelInfo[]>("/models") });
  } catch (error) {
    models.set({ state: "failed", message: messageOf(error) });
  }
}
