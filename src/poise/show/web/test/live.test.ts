import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestState, sizeOf } from "../src/live";
import { acknowledgement, readState, retryDelay, scenePack } from "../src/messages";

test("a state message is read field by field", () => {
  const bytes = new ArrayBuffer(32);
  const view = new DataView(bytes);
  view.setUint8(0, 1);
  view.setUint8(1, 1);
  view.setUint16(2, 513, true);
  view.setUint32(4, 4000000000, true);
  view.setFloat64(8, 1.25, true);
  view.setFloat64(16, 1.7e12, true);
  view.setFloat32(24, 0.5, true);
  view.setFloat32(28, -2, true);
  const state = readState(bytes);
  assert.deepEqual({ ...state, values: Array.from(state.values) }, {
    isPaused: true, scene: 513, sequence: 4000000000, time: 1.25, stamp: 1.7e12, values: [0.5, -2],
  });
});

test("the acknowledgement names the state, and a scene's pack begins after eight bytes", () => {
  assert.deepEqual(Array.from(new Uint8Array(acknowledgement(0x01020304))), [1, 0, 0, 0, 4, 3, 2, 1]);
  assert.deepEqual(Array.from(scenePack(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 7, 8).buffer)), [7, 8]);
});

test("a lost line is tried again after 0.5, 1, 2, 4, 4 seconds", () => {
  assert.deepEqual([0, 1, 2, 3, 4].map(retryDelay), [0.5, 1, 2, 4, 4]);
});

test("looking back finds the nearest state, and hidden arrows pull nothing", () => {
  const states = [0, 0.1, 0.4].map((time) => ({ time }));
  assert.deepEqual([-1, 0.06, 0.2, 0.3, 9].map((t) => nearestState(states, t)), [0, 1, 1, 2, 2]);
  const none = Number.NaN;
  assert.equal(sizeOf(Float32Array.of(0, 0, 0, 3, 0, 4, none, none, none, none, none, none)), 5);
});
