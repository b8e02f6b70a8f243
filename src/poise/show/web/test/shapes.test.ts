import assert from "node:assert/strict";
import { test } from "node:test";
import { capsule } from "../src/shapes";
import { gridMesh } from "../src/terrain";

type Place = [number, number, number];

const corner = (places: ArrayLike<number>, i: number): Place => [places[3 * i], places[3 * i + 1], places[3 * i + 2]];
const minus = (a: Place, b: Place): Place => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a: Place, b: Place): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a: Place, b: Place): Place => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** Volume inside of triangles that look outward. */
function volume(places: ArrayLike<number>, triangles: ArrayLike<number>): number {
  let sum = 0;
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => corner(places, triangles[t + k]));
    sum += dot(a, cross(b, c)) / 6;
  }
  return sum;
}

const CAPSULES: [Place, Place, number][] = [
  [[0, 0, 0], [0, 0, 1], 0.1],
  [[1, 2, 3], [1.3, 1.6, 3.2], 0.05],
  [[0, 0, 0], [-0.4, 0, 0], 0.2],
  [[2, 0, 1], [2, 0, 1], 0.3],
];

test("a capsule is everywhere one radius from its axis, looks outward, and is closed", () => {
  for (const [start, end, radius] of CAPSULES) {
    const { places, normals, triangles } = capsule(start, end, radius);
    const axis = minus(end, start);
    const length = Math.hypot(...axis);
    for (let i = 0; i < places.length / 3; i++) {
      const at = corner(places, i);
      const along = length ? Math.min(1, Math.max(0, dot(minus(at, start), axis) / length ** 2)) : 0;
      const foot: Place = [start[0] + along * axis[0], start[1] + along * axis[1], start[2] + along * axis[2]];
      const away = minus(at, foot);
      assert.ok(Math.abs(Math.hypot(...away) - radius) < 1e-6);
      assert.ok(dot(away, corner(normals, i)) > 0.999 * radius);
    }
    const ideal = Math.PI * radius ** 2 * (length + (4 / 3) * radius);
    const found = volume(places, triangles);
    assert.ok(found < ideal && found > 0.97 * ideal, `${found} of ${ideal}`);
  }
});

test("a grid of heights: places, normals of a slope, triangles that look up", () => {
  const [along, across, heading] = [[0, 1, 3], [-1, 0, 2, 2.5], 0.7];
  const heights = along.flatMap((a) => across.map((c) => 0.5 + 0.3 * a - 0.2 * c));
  const { places, normals, triangles } = gridMesh(along, across, heights, [5, 6], heading);
  const [c, s] = [Math.cos(heading), Math.sin(heading)];
  assert.ok(Math.hypot(...minus(corner(places, 4 + 2), [5 + c - 2 * s, 6 + s + 2 * c, 0.4])) < 1e-6);
  const size = Math.hypot(0.3, 0.2, 1);
  const normal: Place = [(-0.3 * c - 0.2 * s) / size, (-0.3 * s + 0.2 * c) / size, 1 / size];
  for (let i = 0; i < 12; i++) assert.ok(Math.hypot(...minus(corner(normals, i), normal)) < 1e-6);
  assert.equal(triangles.length, 6 * 2 * 3);
  let area = 0;
  for (let t = 0; t < triangles.length; t += 3) {
    const [p, q, r] = [0, 1, 2].map((k) => corner(places, triangles[t + k]));
    const up = cross(minus(q, p), minus(r, p));
    assert.ok(up[2] > 0);
    area += up[2] / 2;
  }
  assert.ok(Math.abs(area - 3 * 3.5) < 1e-5); // seen from above
});
