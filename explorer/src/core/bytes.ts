/** Numbers out of base64 and out of streams. */

export function bytesOf(base64: string): Uint8Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Little-endian single precision. */
export function floatsOf(base64: string): Float32Array {
  return littleEndianFloats(bytesOf(base64).buffer as ArrayBuffer);
}

export function littleEndianFloats(buffer: ArrayBuffer): Float32Array {
  if (LITTLE_ENDIAN) return new Float32Array(buffer, 0, buffer.byteLength >> 2);
  const view = new DataView(buffer);
  return Float32Array.from({ length: buffer.byteLength >> 2 }, (_, i) => view.getFloat32(4 * i, true));
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

/** Cuts a stream of text into lines; the last one needs no line end. */
export class LineSplitter {
  private rest = "";

  push(text: string): string[] {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    return parts.filter((line) => line.trim() !== "");
  }

  end(): string[] {
    const last = this.rest.trim();
    this.rest = "";
    return last === "" ? [] : [last];
  }
}
