/** A value that components watch. */
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(next: T | ((old: T) => T)): void;
  watch(listener: () => void): () => void;
}

export function store<T>(first: T): Store<T> {
  let value = first;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      const changed = typeof next === "function" ? (next as (old: T) => T)(value) : next;
      if (Object.is(changed, value)) return;
      value = changed;
      for (const listener of [...listeners]) listener();
    },
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export function useStore<T>(source: Store<T>): T {
  const [value, setValue] = useState(source.get());
  useEffect(() => {
    const update = () => setValue(() => source.get());
    update();
    return source.watch(update);
  }, [source]);
  return value;
}
