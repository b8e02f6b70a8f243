import assert from "node:assert/strict";
import { test } from "node:test";
import type { Track } from "../src/format";
import type { Pack } from "../src/pack";
import { LivePoses, RecordedPoses, blendPoses, rotate } from "../src/poses";

const HALF = Math.SQRT1_2;

/** Two chunks of two frames: a root that moves along x, and a child one meter along the root's x. */
function recorded(root?: number) {
  const tables = [
    Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, HALF, 0, 0, HALF, 1, 0, 0, 0),
    Float32Array.of(2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0), // not of length one: normalized when read
    Float32Array.of(0, 0, 0, 1, 0, 0),
    Float32Array.of(2, 0, 0, 3, 0, 0),
  ];
  const asked: number[] = [];
  const pack = {
    floats: async ({ blob }: { blob: number }) => {
      asked.push(blob);
      return tables[blob];
    },
  } as unknown as Pack;
  const array = (blob: number) => ({ blob, shape: [], kind: "f32" as const });
  const track = {
    root,
    bodies: [
      { name: "root", parent: -1, shapes: [] },
      { name: "child", parent: 0, offset: [1, 0, 0], shapes: [] },
    ],
    frames: { chunk: 2, orientations: [array(0), array(1)], positions: [array(2), array(3)] },
  } as unknown as Track;
  return { poses: new RecordedPoses(pack, track, Float64Array.of(0, 1, 2, 3)), asked };
}

const near = (a: ArrayLike<number>, b: number[]) => {
  assert.equal(a.length, b.length);
  b.forEach((x, i) => assert.ok(Math.abs(a[i] - x) < 1e-6, `${i}: ${a[i]} is not ${x}`));
};

test("only the chunks that are looked at are unpacked", async () => {
  const { poses, asked } = recorded();
  const pose = new Float32Array(14);
  assert.equal(poses.sample(0, pose), false);
  await poses.load(0.5);
  assert.deepEqual(asked.sort(), [0, 2]);
  assert.equal(poses.sample(0.5, pose), true);
  assert.equal(poses.sample(2.5, pose), false);
  await poses.load(1.5); // needs both
  assert.deepEqual(asked.sort(), [0, 1, 2, 3]);
});

test("the root is the body that the track names", async () => {
  const place = new Float32Array(3);
  for (const [root, wanted] of [[undefined, [1, 0, 0]], [0, [1, 0, 0]], [1, [1, 1, 0]]] as [number | undefined, number[]][]) {
    const { poses } = recorded(root);
    await poses.load(1);
    assert.equal(poses.root(1, place), true);
    near(place, wanted);
  }
  const pose = Float32Array.of(0, 0, 0, 1, 0, 0, 0, 5, 6, 7, 1, 0, 0, 0);
  new LivePoses(pose, 1).root(0, place);
  near(place, [5, 6, 7]);
});

test("children follow along the chain, and quaternions are normalized", async () => {
  const { poses } = recorded();
  await poses.load(1.5);
  const pose = new Float32Array(14);
  poses.sample(0, pose);
  near(pose, [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0]);
  poses.sample(1, pose); // a quarter turn about z: the child stands along y
  near(pose, [1, 0, 0, HALF, 0, 0, HALF, 1, 1, 0, 1, 0, 0, 0]);
  poses.sample(2, pose);
  near(pose.subarray(3, 7), [1, 0, 0, 0]);
});

test("between frames places are linear and turns of either sign go the short way", () => {
  const a = Float32Array.of(0, 0, 0, 1, 0, 0, 0);
  const b = Float32Array.of(2, 4, 6, -HALF, 0, 0, -HALF);
  const out = new Float32Array(7);
  blendPoses(a, b, 0.5, out);
  near(out, [1, 2, 3, Math.cos(Math.PI / 8), 0, 0, Math.sin(Math.PI / 8)]);
});

test("a turn about each axis", () => {
  near(rotate([HALF, 0, 0, HALF], 0, [1, 0, 0]), [0, 1, 0]);
  near(rotate([HALF, HALF, 0, 0], 0, [0, 1, 0]), [0, 0, 1]);
  near(rotate([HALF, 0, HALF, 0], 0, [0, 0, 1]), [1, 0, 0]);
});
