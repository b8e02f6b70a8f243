/** Reads a pack: header, blobs and arrays, as docs/scene_format.md has it. Nothing here needs a page. */
import type { ArrayRef, Header } from "./format";

const MAGIC = "POISESC1";
const HEADER_LIMIT = 32e6;
const BLOB_LIMIT = 2 ** 28;
const WHOLE_LIMIT = 2 ** 30;
const MOST_BODIES = 4096;
const MOST_POSES = 40e6;
const MOST_VERTICES = 4e6;

/** Bytes that are not a pack, or one this page cannot read; the message is for the viewer. */
export class PackError extends Error {}

export interface Table {
  /** Values in row-major order. */
  values: Float32Array | Uint8Array | Uint16Array | Uint32Array;
  shape: number[];
}

export class Pack {
  private readonly inflated = new Map<number, Promise<Uint8Array>>();

  private constructor(
    readonly header: Header,
    private readonly bytes: Uint8Array,
    private readonly base: number,
  ) {}

  /** Opens a pack: reads its header, leaves the blobs packed. */
  static async open(bytes: Uint8Array): Promise<Pack> {
    if (bytes.length < 16 || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) {
      throw new PackError("This is not a Poise recording.");
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const packed = view.getUint32(8, true);
    const raw = view.getUint32(12, true);
    if (raw > HEADER_LIMIT || 16 + packed > bytes.length) throw new PackError("The recording is cut short or damaged.");
    const json = await inflate(bytes.subarray(16, 16 + packed), raw);
    const header = JSON.parse(new TextDecoder().decode(json)) as Header;
    if (header.format !== "poise.scene") throw new PackError("This is not a Poise recording.");
    if (header.version > 1) {
      throw new PackError(`The recording has format ${header.version}; this page reads 1. Open it with a newer Poise.`);
    }
    for (const key of ["layers", "tracks", "terrain", "overlays", "timeline", "plots", "controls"] as const) header[key] ??= [];
    requireWithin(header);
    const base = 16 + packed;
    if (header.blobs.reduce((sum, [, length, raw]) => sum + (raw || length), 0) > WHOLE_LIMIT) {
      throw new PackError("The recording is too large for a page.");
    }
    for (const [offset, length, rawLength] of header.blobs) {
      if (base + offset + length > bytes.length || offset < 0 || length < 0 || rawLength > BLOB_LIMIT) {
        throw new PackError("The recording is cut short or damaged.");
      }
    }
    return new Pack(header, bytes, base);
  }

  /** Bytes of a blob, unpacked once. */
  blob(index: number): Promise<Uint8Array> {
    let found = this.inflated.get(index);
    if (!found) {
      const [offset, length, raw] = this.header.blobs[index];
      const stored = this.bytes.subarray(this.base + offset, this.base + offset + length);
      found = raw === 0 ? Promise.resolve(stored) : inflate(stored, raw);
      this.inflated.set(index, found);
    }
    return found;
  }

  /** Numbers of an array of the header. */
  async array(ref: ArrayRef): Promise<Table> {
    const bytes = await this.blob(ref.blob);
    this.inflated.delete(ref.blob); // the numbers are kept by whoever asked
    return { values: numbers(bytes, ref), shape: ref.shape };
  }

  /** Floats of an array of the header. */
  async floats(ref: ArrayRef): Promise<Float32Array> {
    const { values } = await this.array(ref);
    return values instanceof Float32Array ? values : Float32Array.from(values);
  }
}

/** Refuses a header that describes more than a page should hold. */
function requireWithin({ tracks, terrain, times }: Header): void {
  const bodies = tracks.flatMap((track) => track.bodies);
  const meshes = [...tracks.flatMap((track) => track.skins ?? []), ...bodies.flatMap((body) => body.shapes), ...terrain];
  const vertices = meshes.reduce((sum, mesh) => sum + ("vertices" in mesh ? mesh.vertices.shape[0] : 0), 0);
  const poses = (times?.shape[0] ?? 0) * bodies.length;
  if (bodies.length > MOST_BODIES || poses > MOST_POSES || vertices > MOST_VERTICES) {
    throw new PackError("The recording is too large for a page.");
  }
}

/** Unpacks a zlib stream of known length; bytes above the length are refused. */
export async function inflate(packed: Uint8Array, length: number): Promise<Uint8Array> {
  const { readable, writable } = new DecompressionStream("deflate");
  const writer = writable.getWriter();
  // the reading end reports what goes wrong
  writer.write(packed as BufferSource).catch(() => {});
  writer.close().catch(() => {});
  const reader = readable.getReader();
  const whole = new Uint8Array(length);
  let filled = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new PackError("The recording is damaged: a part of it does not unpack.");
    });
    if (done) break;
    if (filled + value.length > length) throw new PackError("The recording is damaged: a part is longer than it says.");
    whole.set(value, filled);
    filled += value.length;
  }
  if (filled !== length) throw new PackError("The recording is damaged: a part is shorter than it says.");
  return whole;
}

/** Turns the bytes of a blob into the numbers an array of the header says they are. */
export function numbers(bytes: Uint8Array, ref: ArrayRef): Table["values"] {
  const count = ref.shape.reduce((product, n) => product * n, 1);
  if (ref.kind === "packed") return unpackIntegers(bytes, ref, count);
  const size = { f32: 4, u8: 1, u16: 2, u32: 4 }[ref.kind];
  if (bytes.length !== count * size) throw new PackError("The recording is damaged: an array has the wrong length.");
  const own = bytes.byteOffset % size === 0 ? bytes : bytes.slice();
  switch (ref.kind) {
    case "f32":
      return new Float32Array(own.buffer, own.byteOffset, count);
    case "u8":
      return own;
    case "u16":
      return new Uint16Array(own.buffer, own.byteOffset, count);
    case "u32":
      return new Uint32Array(own.buffer, own.byteOffset, count);
  }
}

function unpackIntegers(bytes: Uint8Array, ref: ArrayRef, count: number): Float32Array {
  const { step = 1, order = 0, planes = 1 } = ref;
  const rows = ref.shape[0];
  const columns = rows === 0 ? 0 : count / rows;
  if (bytes.length !== count * planes) throw new PackError("The recording is damaged: an array has the wrong length.");
  const values = new Float32Array(count);
  for (let column = 0; column < columns; column++) {
    let last = 0;
    let beforeLast = 0;
    for (let row = 0; row < rows; row++) {
      const at = column * rows + row;
      let u = 0;
      for (let plane = 0; plane < planes; plane++) u |= bytes[plane * count + at] << (8 * plane);
      const n = (u >>> 1) ^ -(u & 1);
      const x = order === 0 ? n : order === 1 ? (last + n) | 0 : (2 * last - beforeLast + n) | 0;
      beforeLast = last;
      last = x;
      values[row * columns + column] = x * step;
    }
  }
  return values;
}

/** Bytes of a base64 text, without the white space around it. */
export function fromBase64(text: string): Uint8Array {
  const native = Uint8Array as unknown as { fromBase64?: (text: string) => Uint8Array };
  if (native.fromBase64) return native.fromBase64(text);
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
