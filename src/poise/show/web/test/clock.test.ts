import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock, bracket, clockText, nearest } from "../src/clock";

const times = [0, 0.1, 0.2, 0.4];

test("a time lies between its frames, and the ends hold", () => {
  assert.deepEqual(bracket(times, -1), { before: 0, after: 1, blend: 0 });
  assert.deepEqual(bracket(times, 0.4), { before: 2, after: 3, blend: 1 });
  assert.deepEqual(bracket(times, 9), { before: 2, after: 3, blend: 1 });
  const { before, after, blend } = bracket(times, 0.3);
  assert.deepEqual([before, after], [2, 3]);
  assert.ok(Math.abs(blend - 0.5) < 1e-12);
  assert.deepEqual(bracket([5], 7), { before: 0, after: 0, blend: 0 });
});

test("the nearest frame", () => {
  assert.deepEqual([-1, 0.04, 0.06, 0.29, 0.31, 7].map((t) => nearest(times, t)), [0, 0, 1, 2, 3, 3]);
});

test("the clock runs at its speed, loops, and stops at the end without a loop", () => {
  const clock = new Clock(1, 3);
  assert.equal(clock.advance(1), false);
  clock.toggle();
  clock.speed = 0.5;
  clock.advance(1);
  assert.equal(clock.time, 1.5);
  clock.advance(4);
  assert.equal(clock.time, 1.5); // 3.5 is half a second after the end
  clock.loop = false;
  clock.advance(100);
  assert.equal(clock.time, 3);
  assert.equal(clock.isPlaying, false);
  clock.toggle();
  assert.equal(clock.time, 1);
});

test("steps go to frames, and from between two to the neighbor", () => {
  const clock = new Clock(0, 0.4);
  const after = (time: number, count: number) => {
    clock.seek(time);
    clock.step(times, count);
    return clock.time;
  };
  assert.deepEqual([after(0, 1), after(0.1, 1), after(0.15, 1), after(0.15, -1)], [0.1, 0.2, 0.2, 0.1]);
  assert.deepEqual([after(0.4, 1), after(0, -1), after(0.4, -1), after(0.2, -1)], [0.4, 0, 0.2, 0.1]);
});

test("times as people read them", () => {
  assert.deepEqual([0, 3.256, 59.999, 63.2, -0.5].map(clockText), ["0.00 s", "3.26 s", "1:00.00", "1:03.20", "−0.50 s"]);
});
