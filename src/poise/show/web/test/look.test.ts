import assert from "node:assert/strict";
import { test } from "node:test";
import * as THREE from "three";
import { firstShot, lookOf, place } from "../src/camera";
import { isWithin, span as seen } from "../src/curves";
import { viewOf, type CurveOverlay, type Header, type Track } from "../src/format";
import { readOptions } from "../src/options";
import { legendOf } from "../src/panels";
import { bareBodies } from "../src/figure";
import { besideLine, readable, span } from "../src/plots";
import { Rows, visible } from "../src/rows";
import { gridCell } from "../src/terrain";
import { tickStep } from "../src/timeline";

test("options: the address wins over the file, unknown words change nothing", () => {
  const usual = readOptions({});
  assert.deepEqual([usual.ui, usual.shadows, usual.theme, usual.t, usual.view], [true, null, "auto", null, ""]);
  const asked = readOptions({ theme: "dark", shadows: false, t: 1 }, "?t=2.5&ui=0", "#theme=light&dpr=x");
  assert.deepEqual([asked.theme, asked.shadows, asked.t, asked.ui, asked.dpr], ["light", false, 2.5, false, null]);
});

test("ticks of the ruler are round and leave room", () => {
  assert.deepEqual([[10, 640], [10, 6400], [300, 640], [1, 64]].map(([d, w]) => tickStep(d, w)), [1, 0.1, 50, 1]);
  assert.equal(tickStep(0, 640), 0.001);
});

test("grids fit the figure: 1 m for people, 0.1 m for mice", () => {
  assert.deepEqual([1.7, 0.7, 0.12, 12].map(gridCell), [1, 1, 0.1, 10]);
});

test("the legend counts things that differ in their number alone", () => {
  const track = (name: string, style: "solid" | "ghost", red = 1) => ({ name, style, color: [red, 0, 0], layer: "", bodies: [] }) as Track;
  const tracks = [track("figure", "solid"), track("hold 1", "solid", 0.5), track("wall", "ghost"), track("hold 12", "solid", 0.5), track("hold 2", "ghost", 0.5)];
  assert.deepEqual(legendOf(tracks).map(({ name }) => name), ["figure", "hold × 2", "wall", "hold 2"]);
  assert.deepEqual(legendOf([track("02_01", "solid"), track("02_04", "solid", 0.2)]).map(({ name }) => name), ["02_01", "02_04"]);
});

test("numbers in plots", () => {
  assert.deepEqual([0, 123.4, 12.34, 1.234, -0.1234, null, Number.NaN].map(readable), ["0", "123", "12.3", "1.23", "−0.123", "–", "–"]);
});

test("the range of a plot keeps zero where it is near and is never empty", () => {
  assert.equal(span(0, 5)[0], 0);
  assert.equal(span(1, 5)[0], 0);
  assert.ok(span(4, 5)[0] > 3.5);
  const [low, high] = span(2, 2);
  assert.ok(low < 2 && high > 2);
  assert.ok(span(0, 1, [[2, "limit"]])[1] > 2);
  assert.ok(span(0, 1, [[50, "limit"]])[1] < 2);
});

test("a plot of what stands still shows no rounding", () => {
  assert.deepEqual(span(-3e-13, 4e-12, [], "deg").map((x) => +x.toFixed(3)), [0, 1.06]);
  const [low, high] = span(0.9, 0.9 + 1e-9, [], "m");
  assert.ok(low < 0.896 && high > 0.904 && high - low < 0.02);
  assert.ok(span(700, 703, [], "N")[1] - span(700, 703, [], "N")[0] > 20); // noise is not scaled to full height
  const moved = span(-0.02, 0.03, [], "kg m/s", 0.2); // a small creature's
  assert.ok(moved[1] < 0.04 && moved[0] > -0.03);
});

test("rows between frames; a hidden neighbor is not blended in", () => {
  const places = new Rows([0, 0, 0, 2, 2, 2], [2, 1, 3]);
  const shown = new Rows([1, 0], [2, 1]);
  const out = new Float32Array(3);
  const at = { before: 0, after: 1, blend: 0.25 };
  places.read(at, out);
  assert.deepEqual([...out], [0.5, 0.5, 0.5]);
  places.read(at, out, shown);
  assert.deepEqual([...out], [0, 0, 0]);
  assert.equal(visible(at, 0, shown, out), true);
  assert.equal(visible({ ...at, blend: 0.75 }, 0, shown, out), false);
  assert.equal(visible(at, 0, undefined, Float32Array.of(Number.NaN, 0, 0)), false);
  new Rows([7, 8, 9], [1, 1, 3]).read({ before: 40, after: 41, blend: 0.5 }, out);
  assert.deepEqual([...out], [7, 8, 9]);
});

test("curves: always, the past, a trail, and only in their span", () => {
  const times = [0, 1, 2, 3];
  const curve = (more: object) => ({ kind: "curve", ...more }) as CurveOverlay;
  assert.deepEqual(seen(curve({}), times, 4, 1), [0, 4]);
  assert.deepEqual(seen(curve({ show: "past" }), times, 4, 1.5), [0, 2]);
  assert.deepEqual(seen(curve({ show: "trail", trail: 1.2 }), times, 4, 2.5), [2, 3]);
  assert.deepEqual(seen(curve({ from: 2, to: 3 }), times, 4, 1), [0, 0]);
  assert.equal(isWithin({ from: 1 }, 0.5), false);
  assert.equal(isWithin({}, 0.5), true);
});

test("the first view holds every figure below the words, whatever its proportions", () => {
  const shapes: [string, number[]][] = [
    ["a person", [0.3, 0.2, 1.8]],
    ["with a tail of 4 m", [6, 0.5, 1]],
    ["a tower", [0.3, 0.3, 5]],
    ["a crab", [0.4, 2.5, 0.3]],
    ["a mouse", [0.08, 0.02, 0.03]],
  ];
  for (const [what, [x, y, z]] of shapes) {
    for (const [width, height] of [[1280, 720], [400, 800], [900, 300]]) {
      for (const view of ["quarter", "side", "top", "behind"]) {
        const corner = (k: number) => new THREE.Vector3(k & 1 ? x : 0, k & 2 ? y : 0, k & 4 ? z : 0);
        const points = [0, 1, 2, 3, 4, 5, 6, 7].map(corner);
        const forward = lookOf(30, view);
        const { target, distance } = firstShot(points, forward, 0.5 * z, width, height, 28);
        const camera = new THREE.PerspectiveCamera(28, width / height, 0.01, 1000);
        camera.up.set(0, 0, 1);
        place(camera, target, forward, distance);
        camera.updateMatrixWorld();
        for (const point of points) {
          const seen = point.clone().project(camera);
          const [px, py] = [(0.5 + 0.5 * seen.x) * width, (0.5 - 0.5 * seen.y) * height];
          assert.ok(px > 20 && px < width - 20 && py > 55 && py < height - 15, `${what}, ${view}: ${px} ${py}`);
        }
      }
    }
  }
});

test("what names no view takes its track's", () => {
  const header = { views: ["a", "b"], tracks: [{ view: 0 }, { view: 1 }] } as unknown as Header;
  assert.deepEqual([viewOf(header, {}), viewOf(header, { track: 1 }), viewOf(header, { view: 9 })], [0, 1, 1]);
});

test("bodies without skin are drawn where a skin covers the smaller part, such as a head alone", () => {
  const bodies = [0, 1, 2, 3, 4];
  assert.deepEqual(bareBodies(bodies, []), []);
  assert.deepEqual(bareBodies(bodies, [new Set([4])]), [0, 1, 2, 3]);
  assert.deepEqual(bareBodies(bodies, [new Set([4]), new Set([0, 1])]), [], "two feet without weights are no bare figure");
});

test("words beside a level line stand where no curve goes through them", () => {
  const flat = (y: number): [number, number][] => [0, 50, 100, 150, 200].map((x) => [x, y]);
  const at = (curves: ([number, number] | null)[][]) => besideLine(curves, [0, 200], 50, 40, 10);
  assert.deepEqual(at([]), { left: 160, base: 47, isFree: true });
  assert.deepEqual(at([flat(43)]), { left: 160, base: 61, isFree: true }, "below it");
  assert.equal(at([[[150, 43], [200, 55]], flat(0)]).left, 3, "at the other end");
  assert.equal(at([flat(43), flat(57)]).isFree, false);
  assert.equal(at([[null, [190, 43], null]]).base, 61, "a lone value counts");
});
