import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import type { ArrayRef } from "../src/format";
import { Pack, PackError, fromBase64, numbers } from "../src/pack";

/** Integers as the format packs them: the plain way, for comparison. */
function packed(table: number[][], order: 0 | 1 | 2, planes: number): Uint8Array {
  const [rows, columns] = [table.length, table[0].length];
  const bytes = new Uint8Array(rows * columns * planes);
  for (let c = 0; c < columns; c++) {
    for (let r = 0; r < rows; r++) {
      const x = (k: number) => (k < 0 ? 0 : table[k][c]);
      const n = order === 0 ? x(r) : order === 1 ? x(r) - x(r - 1) : x(r) - 2 * x(r - 1) + x(r - 2);
      const u = n < 0 ? -2 * n - 1 : 2 * n;
      for (let p = 0; p < planes; p++) bytes[p * rows * columns + c * rows + r] = Math.floor(u / 256 ** p) & 255;
    }
  }
  return bytes;
}

function container(header: object, blobs: Uint8Array[] = []): Uint8Array {
  const json = new TextEncoder().encode(JSON.stringify(header));
  const small = deflateSync(json);
  const whole = new Uint8Array(16 + small.length + blobs.reduce((n, b) => n + b.length, 0));
  whole.set(new TextEncoder().encode("POISESC1"));
  new DataView(whole.buffer).setUint32(8, small.length, true);
  new DataView(whole.buffer).setUint32(12, json.length, true);
  whole.set(small, 16);
  let at = 16 + small.length;
  for (const blob of blobs) {
    whole.set(blob, at);
    at += blob.length;
  }
  return whole;
}

const scene = { format: "poise.scene", version: 1, blobs: [], title: "x" };

test("integers come back in every order, negative and large ones too", () => {
  const table = [[1, -70000], [-3, 70001], [8000000, 2], [-8000000, 3], [0, -1]];
  for (const order of [0, 1, 2] as const) {
    const ref: ArrayRef = { blob: 0, shape: [5, 2], kind: "packed", step: 0.5, order, planes: 4 };
    assert.deepEqual(Array.from(numbers(packed(table, order, 4), ref)), table.flat().map((x) => x / 2));
  }
});

test("plain numbers of each kind, also from bytes that are not aligned", () => {
  const bytes = new Uint8Array([9, 0, 0, 128, 63, 0, 0, 0, 64]).subarray(1);
  assert.deepEqual(Array.from(numbers(bytes, { blob: 0, shape: [2], kind: "f32" })), [1, 2]);
  assert.deepEqual(Array.from(numbers(bytes, { blob: 0, shape: [4], kind: "u16" })), [0, 16256, 0, 16384]);
  assert.throws(() => numbers(bytes, { blob: 0, shape: [3], kind: "f32" }), PackError);
});

test("a pack opens, and its blobs are read when asked for", async () => {
  const raw = packed([[1], [2], [3]], 1, 1);
  const small = deflateSync(raw);
  const ref: ArrayRef = { blob: 0, shape: [3, 1], kind: "packed", step: 0.25, order: 1, planes: 1 };
  const pack = await Pack.open(container({ ...scene, blobs: [[0, small.length, raw.length]], times: ref }, [small]));
  assert.equal(pack.header.title, "x");
  assert.deepEqual(Array.from(await pack.floats(ref)), [0.25, 0.5, 0.75]);
  assert.deepEqual(pack.header.controls, []);
});

test("what is not a pack, newer, cut short or damaged is refused with a sentence", async () => {
  const refused = (bytes: Uint8Array, why: RegExp) =>
    assert.rejects(Pack.open(bytes), (error: Error) => error instanceof PackError && why.test(error.message));
  await refused(new Uint8Array(3), /not a Poise recording/);
  await refused(new Uint8Array(64), /not a Poise recording/);
  await refused(container({ ...scene, version: 2 }), /newer Poise/);
  await refused(container({ ...scene, format: "other" }), /not a Poise recording/);
  await refused(container({ ...scene, blobs: [[0, 99, 99]] }), /cut short/);
  await refused(container({ ...scene, blobs: Array(9).fill([0, 0, 2 ** 27]) }), /too large/);
  await refused(container({ ...scene, times: { blob: 0, shape: [5e7], kind: "f32" }, tracks: [{ bodies: [{ shapes: [] }] }] }), /too large/);
  const whole = container(scene);
  await refused(whole.subarray(0, whole.length - 4), /cut short|damaged/);
  const longer = whole.slice();
  new DataView(longer.buffer).setUint32(12, 7, true);
  await refused(longer, /longer than it says/);
});

test("base64 with white space around it", () => {
  assert.deepEqual(Array.from(fromBase64("\n AQID \n")), [1, 2, 3]);
});
