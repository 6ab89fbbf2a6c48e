/** A canvas in CSS pixels, sharp on every screen. */
import { useLayoutEffect, useRef } from "preact/hooks";

export function sharp(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  context?.clearRect(0, 0, width, height);
  return context;
}

/** A canvas that is drawn again whenever something it shows has changed. */
export function useDrawing(width: number, height: number, draw: (context: CanvasRenderingContext2D) => void, changes: unknown[]) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // Before the browser paints, so that what is drawn is never a frame late.
  useLayoutEffect(() => {
    if (!canvas.current || width < 2 || height < 2) return;
    const context = sharp(canvas.current, width, height);
    if (context) draw(context);
  }, [width, height, ...changes]);
  return canvas;
}

export const FONT = '11px "Inter Variable", Inter, system-ui, sans-serif';
