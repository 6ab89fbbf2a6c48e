/** Images on canvases, so that pixels stay pixels. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { bytesOf } from "../core/bytes";
import type { Picture } from "../core/types";

export function pixelsOf(picture: Picture): Uint8Array {
  return bytesOf(picture.pixels);
}

/** Paints pixels, height x width x channels, on a canvas of the same size. */
export function paint(canvas: HTMLCanvasElement, height: number, width: number, channels: number, pixels: Uint8Array): void {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  if (!context) return;
  const image = context.createImageData(width, height);
  const out = image.data;
  for (let i = 0, n = width * height; i < n; i++) {
    const at = i * channels;
    out[4 * i] = pixels[at];
    out[4 * i + 1] = pixels[channels >= 3 ? at + 1 : at];
    out[4 * i + 2] = pixels[channels >= 3 ? at + 2 : at];
    out[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

export function PictureView(props: { picture: Picture; label: string; size?: "small" | "medium" | "large" | "fill" }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { height, width, channels } = props.picture;
  const pixels = useMemo(() => pixelsOf(props.picture), [props.picture]);
  useLayoutEffect(() => {
    if (canvas.current) paint(canvas.current, height, width, channels, pixels);
  }, [pixels, height, width, channels]);
  // Without a label it is decoration: what it belongs to has a name of its own.
  const said = props.label === "" ? ({ "aria-hidden": "true" } as const) : ({ role: "img", "aria-label": props.label } as const);
  return <canvas ref={canvas} class={`picture ${props.size ?? "medium"}`} {...said} width={width} height={height} />;
}
