/** The shapes of explorer/API.md. */

export interface Picture {
  height: number;
  width: number;
  channels: number;
  /** Base64 of u8, height x width x channels. */
  pixels: string;
}

export type Cell = number | string | boolean | null;
export type Row = Record<string, Cell>;

/** A row of a table, or an image. */
export interface Decoded {
  row?: Row | null;
  image?: Picture | null;
}

export interface Column {
  name: string;
  kind: string;
  min?: number | null;
  max?: number | null;
  categories?: string[] | null;
}

export interface ModelInfo {
  name: string;
  kind: "table" | "matrix" | "images";
  classes: string[];
  columns: Column[];
  dim: number;
  image: { height: number; width: number; channels: number } | null;
  layers: LayerInfo[];
  /** `samples`: the model drew them itself, for want of data. */
  data: { rows: number; labelled: number; name: string; samples?: boolean } | null;
  /** Why there are no rows to look at. */
  data_error?: string | null;
  warnings?: string[];
  has_forest: boolean;
}

export interface LayerInfo {
  index?: number;
  name: string;
  channels: number;
  height?: number | null;
  width?: number | null;
  mean?: number[];
  sigma?: number[];
}

export interface MapInfo {
  rows: number;
  fields: string[];
  columns: string[];
  version?: number;
  map?: { explained?: number[] | number | null } | null;
}

export interface Neighbour {
  row: number;
  class: string;
  distance: number;
  image?: Picture | null;
}

export interface Change {
  column: string;
  from: Cell;
  to: Cell;
}

export interface Counterfactual extends Decoded {
  class: string;
  changes?: Change[];
  distance?: number | null;
}

export interface TrustCard extends Decoded {
  /** Its line in the file, or the name of the image. */
  name?: string;
  /** The class by the flow alone, to which log p(x) and the boundary belong. */
  class_by_flow?: string;
  label: string | null;
  class: string;
  probabilities: number[];
  set: string[] | null;
  log_p: number;
  typicality: number | null;
  boundary: number | null;
  nearest: Neighbour[];
  counterfactual: Counterfactual | null;
}

export type PathEnd = { row: number } | { class: string } | { boundary_of: number };

export interface PathPoint extends Decoded {
  t: number;
  log_p: number;
  probabilities: number[];
}

export interface Samples {
  rows?: Row[] | null;
  images?: Picture[] | null;
  log_p: number[];
  classes: string[];
}

export interface Suggestion {
  row: number;
  score?: number;
  why?: string;
  class: string;
  probabilities: number[];
}

export interface Mark {
  row: number;
  class: string | null;
}

export interface JobLine {
  phase?: string;
  done?: number;
  total?: number;
  loss?: number | null;
  seconds_left?: number | null;
  finished?: { model?: string; version?: number };
  error?: { kind: string; message: string };
}

export interface Histogram {
  edges: number[];
  counts: number[];
  mean: number;
  sigma: number;
}

export type ToyName = "moons" | "circles" | "pinwheel" | "eight-gaussians";

export interface Settings {
  steps: number;
  r: number;
  couplings: number;
  hidden: number;
  consistency: number;
  em: boolean;
  learning_rate: number;
  seed: number;
}

export interface Started {
  job: string;
  points: [number, number][];
  labels: (number | null)[];
  truth?: number[] | null;
  classes: string[];
}

export interface FrameLine {
  index: number;
  step: number;
  of: number;
  loss: number | null;
  accuracy?: number | null;
  alone: boolean;
  grid: { w: number; h: number; x0: number; x1: number; y0: number; y1: number; classes: string; certainty: string };
  latent: string;
  means: [number, number][];
}
