/** The numbers behind the map: one array for each field or column, fetched when it is first needed. */
import { floats, get, modelPath } from "../../core/api";
import type { MapInfo, ModelInfo } from "../../core/types";

/** A field such as "certainty", or a column of the data as "column/NAME". */
export type Key = string;

export const FIELD_NAMES: Record<string, string> = {
  class: "Class",
  label: "Label",
  certainty: "Certainty",
  log_p: "log p(x)",
  typicality: "Typicality",
  boundary: "Distance to the boundary",
};

export const columnKey = (name: string): Key => `column/${name}`;

export function keyName(key: Key): string {
  return key.startsWith("column/") ? key.slice(7) : (FIELD_NAMES[key] ?? key);
}

export class MapData {
  private readonly arrays = new Map<Key, Float32Array>();
  private readonly loading = new Map<Key, Promise<Float32Array>>();

  private constructor(
    readonly model: ModelInfo,
    readonly info: MapInfo,
    private readonly signal: AbortSignal,
  ) {}

  static async open(model: ModelInfo, signal: AbortSignal): Promise<MapData> {
    const info = await get<MapInfo>(`${modelPath(model.name)}/map`, signal);
    const data = new MapData(model, info, signal);
    await Promise.all(["x", "y", "class"].map((key) => data.load(key)));
    return data;
  }

  have(key: Key): Float32Array | null {
    return this.arrays.get(key) ?? null;
  }

  load(key: Key): Promise<Float32Array> {
    const known = this.arrays.get(key);
    if (known) return Promise.resolve(known);
    const under = this.loading.get(key);
    if (under) return under;
    const path = key.startsWith("column/") ? `column/${encodeURIComponent(key.slice(7))}` : key;
    const started = floats(`${modelPath(this.model.name)}/map/${path}`, this.signal).then((values) => {
      if (values.length !== this.info.rows)
        throw new Error(`The server sent ${values.length} values of ${keyName(key)} for ${this.info.rows} rows.`);
      this.arrays.set(key, values);
      return values;
    });
    this.loading.set(key, started);
    started.catch(() => this.loading.delete(key));
    return started;
  }

  /** The categories of a column of categories. */
  categories(key: Key): string[] | null {
    if (key === "class" || key === "label") return this.model.classes;
    const column = this.model.columns.find((c) => columnKey(c.name) === key);
    return column?.categories?.length ? column.categories : null;
  }
}
