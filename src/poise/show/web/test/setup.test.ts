import assert from "node:assert/strict";
import { test } from "node:test";
import { type State, neighbor, way } from "../src/setup/state";

/** Hips with two legs of two bones. */
const joints = [-1, 0, 1, 0, 3].map((parent, j) => ({ name: `j${j}`, parent, place: [0, 0, 0], turn: [1, 0, 0, 0] }));
const state = { joints, root: 0 } as unknown as State;

test("the way between two bones goes over the one they share", () => {
  assert.deepEqual(way(state, 2, 4), [2, 1, 0, 3, 4]);
  assert.deepEqual(way(state, 0, 2), [0, 1, 2]);
  assert.deepEqual(way(state, 2, 2), [2]);
});

test("arrow keys go up, down and aside, and nowhere at the ends", () => {
  assert.equal(neighbor(state, -1, "ArrowDown"), 0);
  assert.equal(neighbor(state, 0, "ArrowDown"), 1);
  assert.equal(neighbor(state, 1, "ArrowRight"), 3);
  assert.equal(neighbor(state, 1, "ArrowLeft"), 3);
  assert.equal(neighbor(state, 2, "ArrowDown"), 2);
  assert.equal(neighbor(state, 0, "ArrowUp"), 0);
});
