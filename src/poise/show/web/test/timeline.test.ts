import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelineRow } from "../src/format";
import { stateColors } from "../src/timeline";

const row = (...spans: [number, number, string][]): TimelineRow => ({ name: "states", color: [1, 0.5, 0], spans });

test("states that follow one another have colors of their own, the same wherever they come again", () => {
  const colors = stateColors(row([0, 1, "balance"], [1, 1.4, "step"], [1.4, 2, "balance"], [2, 3, "fallen"]))!;
  assert.deepEqual([...colors.keys()], ["balance", "step", "fallen"]);
  assert.deepEqual(colors.get("balance"), [1, 0.5, 0]);
  assert.equal(new Set([...colors.values()].map(String)).size, 3);
});

test("what is on and off keeps the color of its row", () => {
  assert.equal(stateColors(row([0, 1, "push of chest"], [2, 3, "push of head"])), null);
  assert.equal(stateColors(row([0, 1, ""], [1, 2, ""])), null);
  assert.equal(stateColors({ name: "empty", color: [0, 0, 0] }), null);
});
