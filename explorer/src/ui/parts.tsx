/** Small parts of every view: sliders, choices, states of waiting and failing. */
import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function Slider(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  show?: string;
  hint?: string;
  disabled?: boolean;
  onInput: (value: number) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} title={props.hint}>
        {props.label}
      </label>
      <output for={id}>{props.show ?? props.value}</output>
      <input
        id={id}
        type="range"
        min={props.min}
        max={props.max}
        step={props.step}
        value={props.value}
        disabled={props.disabled}
        aria-valuetext={props.show}
        onInput={(event) => props.onInput(event.currentTarget.valueAsNumber)}
      />
    </div>
  );
}

export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  hideLabel?: boolean;
  onChange: (value: T) => void;
}) {
  const id = useId();
  return (
    <div class="choice">
      <label for={id} class={props.hideLabel ? "hidden" : undefined}>
        {props.label}
      </label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value as T)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Switch(props: { label: string; checked: boolean; hint?: string; onChange: (on: boolean) => void }) {
  return (
    <label class="switch" title={props.hint}>
      <input type="checkbox" checked={props.checked} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      <span>{props.label}</span>
    </label>
  );
}

/** One of several, as a row of buttons. */
export function Segmented<T extends string>(props: {
  label: string;
  value: T | null;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <div class="segmented" role="group" aria-label={props.label}>
      {props.options.map(([value, text]) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function NumberInput(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  onChange: (value: number) => void;
}) {
  const id = useId();
  const commit = (text: string) => {
    const value = Math.round(Number(text));
    if (text !== "" && Number.isFinite(value)) props.onChange(Math.min(props.max, Math.max(props.min, value)));
  };
  return (
    <div class="number">
      <label for={id}>{props.label}</label>
      <input
        id={id}
        type="number"
        min={props.min}
        max={props.max}
        value={props.value}
        onChange={(event) => commit(event.currentTarget.value)}
      />
    </div>
  );
}

export function Notice(props: { title: string; children?: ComponentChildren; action?: ComponentChildren }) {
  return (
    <div class="notice">
      <h2>{props.title}</h2>
      {props.children}
      {props.action}
    </div>
  );
}

export function Failure(props: { message: string; onRetry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>{props.message}</p>
      {props.onRetry && (
        <button type="button" onClick={props.onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Waiting(props: { children: ComponentChildren }) {
  return (
    <p class="waiting" role="status">
      <span class="spinner" aria-hidden="true" />
      {props.children}
    </p>
  );
}

export function Progress(props: { label: string; done: number; total: number }) {
  const known = props.total > 0;
  return (
    <div class="progress">
      <progress aria-label={props.label} max={known ? props.total : undefined} value={known ? props.done : undefined} />
      <span>{props.label}</span>
    </div>
  );
}
