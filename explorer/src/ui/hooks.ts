/** Hooks that several views use. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { isAbort, messageOf } from "../core/api";

export type Loaded<T> =
  { state: "loading"; value: T | null } | { state: "ready"; value: T } | { state: "failed"; value: T | null; message: string };

/** Loads something whenever a key changes; a newer key cancels the older request, and the last value stays meanwhile. */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>({ state: "loading", value: null });
  useEffect(() => {
    if (key === null) return;
    const control = new AbortController();
    setLoaded((old) => ({ state: "loading", value: old.value }));
    load(control.signal).then(
      (value) => !control.signal.aborted && setLoaded({ state: "ready", value }),
      (error) => {
        if (isAbort(error) || control.signal.aborted) return;
        setLoaded((old) => ({ state: "failed", value: old.value, message: messageOf(error) }));
      },
    );
    return () => control.abort();
  }, [key]);
  return loaded;
}

/** The size of an element, in CSS pixels. */
export function useSize<E extends HTMLElement>(): [(element: E | null) => void, { width: number; height: number }] {
  const [size, setSize] = useState({ width: 0, height: 0 });
  const observer = useRef<ResizeObserver | null>(null);
  const attach = useCallback((element: E | null) => {
    observer.current?.disconnect();
    if (!element) return;
    observer.current = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    });
    observer.current.observe(element);
  }, []);
  return [attach, size];
}

/** A function that sends only the newest of the calls that come while one is under way. */
export function useLatest<A>(work: (argument: A, signal: AbortSignal) => Promise<void>): (argument: A) => void {
  const running = useRef(false);
  const waiting = useRef<{ argument: A } | null>(null);
  const control = useRef(new AbortController());
  const current = useRef(work);
  current.current = work;
  useEffect(() => {
    control.current = new AbortController();
    return () => control.current.abort();
  }, []);
  return useCallback((argument: A) => {
    waiting.current = { argument };
    if (running.current) return;
    running.current = true;
    void (async () => {
      while (waiting.current && !control.current.signal.aborted) {
        const next = waiting.current.argument;
        waiting.current = null;
        await current.current(next, control.current.signal);
      }
      running.current = false;
    })();
  }, []);
}
