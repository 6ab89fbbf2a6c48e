/** Requests to the server this page came from, and to nobody else. */
import { LineSplitter, littleEndianFloats } from "./bytes";

/** An answer that is an error, in the server's words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
  ) {
    super(message);
  }
}

const ROOT = "/api/v1";
const TOKEN = "flowgmm-token";

/** A server with a token is opened as /#token=T: T is kept for this tab, and leaves the address bar. */
export function adoptToken(): void {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(TOKEN, decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname);
}

/** Whether requests carry a token, which links and frames cannot. */
export const hasToken = () => sessionStorage.getItem(TOKEN) !== null;

export const modelPath = (model: string) => `/models/${encodeURIComponent(model)}`;

export function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return send(path, { signal }).then((answer) => answer.json() as Promise<T>);
}

export function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const request = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal };
  return send(path, request).then(async (answer) => {
    const text = await answer.text();
    return (text === "" ? {} : JSON.parse(text)) as T;
  });
}

export async function remove(path: string): Promise<void> {
  await send(path, { method: "DELETE" });
}

export async function floats(path: string, signal?: AbortSignal): Promise<Float32Array> {
  const answer = await send(path, { signal });
  return littleEndianFloats(await answer.arrayBuffer());
}

export async function text(path: string, signal?: AbortSignal): Promise<string> {
  return (await send(path, { signal })).text();
}

/** The lines of a stream of JSON objects, as they come. */
export async function* lines<T>(path: string, signal?: AbortSignal): AsyncGenerator<T> {
  const answer = await send(path, { signal, headers: { accept: "application/x-ndjson" } });
  if (!answer.body) return;
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  const splitter = new LineSplitter();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const found = done ? splitter.end() : splitter.push(decoder.decode(value, { stream: true }));
      for (const line of found) yield JSON.parse(line) as T;
      if (done) return;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Saves an answer as a file. */
export async function download(path: string, name: string): Promise<void> {
  const answer = await send(path, {});
  saveBlob(await answer.blob(), name);
}

export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("authorization", `Bearer ${token}`);
  let answer: Response;
  try {
    answer = await fetch(ROOT + path, { ...init, headers });
  } catch (cause) {
    if ((cause as Error).name === "AbortError") throw cause;
    throw new ApiError(0, "unreachable", "The server does not answer. Is flowgmm serve still running?");
  }
  if (answer.ok) return answer;
  const body = (await answer.json().catch(() => null)) as { error?: { kind?: string; message?: string } } | null;
  const message = body?.error?.message ?? `The server answered ${answer.status} ${answer.statusText}`.trim();
  throw new ApiError(answer.status, body?.error?.kind ?? "unknown", message);
}

export const isAbort = (error: unknown) => error instanceof Error && error.name === "AbortError";
export const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
