/** What is drawn over the figures: points, arrows and polygons that change with time. */
import * as THREE from "three";
import type { Bracket } from "./clock";
import type { Color, PointsOverlay, PolygonOverlay, VectorsOverlay } from "./format";
import { Rows, visible } from "./rows";

/** An overlay on the stage. */
export interface Mark {
  group: THREE.Object3D;
  /** Puts it where it is at a time of the recording. */
  at(frame: Bracket, time: number): void;
  /** Puts it where a live message says; returns how many numbers it took. */
  live?(values: Float32Array, from: number): number;
}

export interface Held {
  places?: Rows;
  vectors?: Rows;
  shown?: Rows;
}

export function tint(color: Color): THREE.Color {
  return new THREE.Color().setRGB(...color, THREE.SRGBColorSpace);
}

/** What balls and arrows are made of. It counts as transparent even where it hides all, so that its veil is no other program. */
export function lit(color: THREE.Color, emissiveIntensity: number): THREE.Material {
  return new THREE.MeshLambertMaterial({ color, emissive: color, emissiveIntensity, transparent: true });
}

/** What flat marks are made of. */
export function flat(color: THREE.Color, opacity = 1): THREE.MeshBasicMaterial {
  // in one pass: what is flat has no back to be drawn before its front
  return new THREE.MeshBasicMaterial({ color, side: THREE.DoubleSide, transparent: true, opacity, forceSinglePass: true });
}

/** A material seen at full strength in front and faintly through what hides it. */
export function withVeil(mesh: THREE.Mesh, strength: number): THREE.Object3D {
  const hidden = mesh.clone();
  const material = (mesh.material as THREE.Material).clone();
  material.depthFunc = THREE.GreaterDepth;
  material.depthWrite = false;
  material.transparent = true;
  material.opacity *= strength;
  hidden.material = material;
  hidden.renderOrder = 20;
  if (mesh instanceof THREE.InstancedMesh) (hidden as THREE.InstancedMesh).instanceMatrix = mesh.instanceMatrix;
  const group = new THREE.Group();
  group.add(mesh, hidden);
  return group;
}

const ZERO = new THREE.Matrix4().makeScale(0, 0, 0);

function many(geometry: THREE.BufferGeometry, material: THREE.Material, count: number): THREE.InstancedMesh {
  const mesh = new THREE.InstancedMesh(geometry, material, Math.max(1, count));
  mesh.frustumCulled = false;
  for (let i = 0; i < mesh.count; i++) mesh.setMatrixAt(i, ZERO);
  return mesh;
}

export class Points implements Mark {
  readonly group: THREE.Object3D;
  readonly now: Float32Array;
  private readonly mesh: THREE.InstancedMesh;
  private readonly count: number;

  constructor(
    readonly overlay: PointsOverlay,
    private readonly held: Held,
  ) {
    this.count = held.places ? held.places.width / 3 : (overlay.count ?? 0);
    this.now = new Float32Array(3 * this.count).fill(Number.NaN);
    const half = overlay.size / 2;
    const color = tint(overlay.color);
    const isFlat = overlay.mark !== "ball";
    const material = isFlat ? flat(color) : lit(color, 0.25);
    material.depthWrite = !isFlat;
    const geometry =
      overlay.mark === "ball"
        ? new THREE.SphereGeometry(half, 24, 16)
        : overlay.mark === "ring"
          ? ring(half)
          : cross(half);
    if (isFlat) geometry.translate(0, 0, 0.004);
    this.mesh = many(geometry, material, this.count);
    if (isFlat) this.mesh.renderOrder = 5;
    this.group = withVeil(this.mesh, isFlat ? 0.25 : 0.6);
  }

  at(frame: Bracket): void {
    this.held.places?.read(frame, this.now, this.held.shown);
    this.put((i) => visible(frame, i, this.held.shown, this.now));
  }

  live(values: Float32Array, from: number): number {
    this.now.set(values.subarray(from, from + this.now.length));
    this.put((i) => !Number.isNaN(this.now[3 * i]));
    return this.now.length;
  }

  private put(isShown: (i: number) => boolean): void {
    const place = new THREE.Matrix4();
    this.group.visible = false;
    for (let i = 0; i < this.count; i++) {
      const shown = isShown(i);
      this.group.visible ||= shown;
      if (shown) place.makeTranslation(this.now[3 * i], this.now[3 * i + 1], this.now[3 * i + 2]);
      else this.now[3 * i] = Number.NaN;
      this.mesh.setMatrixAt(i, shown ? place : ZERO);
    }
    this.mesh.instanceMatrix.needsUpdate = true;
  }
}

function ring(half: number): THREE.BufferGeometry {
  return new THREE.RingGeometry(0.72 * half, half, 40);
}

/** Four arms around a square. (three's own shapes would bring a triangulation along.) */
function cross(half: number): THREE.BufferGeometry {
  const w = 0.22 * half;
  const corners = [
    [w, w], [w, half], [-w, half], [-w, w], [-half, w], [-half, -w],
    [-w, -w], [-w, -half], [w, -half], [w, -w], [half, -w], [half, w],
  ];
  const squares = [[0, 3, 6, 9], [0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9], [9, 10, 11, 0]];
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.Float32BufferAttribute(corners.flatMap(([x, y]) => [x, y, 0]), 3));
  geometry.setAttribute("normal", new THREE.Float32BufferAttribute(corners.flatMap(() => [0, 0, 1]), 3));
  geometry.setIndex(squares.flatMap(([a, b, c, d]) => [a, b, c, a, c, d]));
  return geometry.rotateZ(Math.PI / 4);
}

const HEAD_LENGTH = 4.2; // in widths of the shaft
const HEAD_WIDTH = 2.5;
/** No arrow is longer, in widths of the shaft: one and a half to two legs. A longer one would leave the picture. */
const LONGEST = 50;
/** A shaft and a head of radius and length 1, for all arrows. */
let SHAFT: THREE.BufferGeometry | undefined;
let HEAD: THREE.BufferGeometry | undefined;
const UP = new THREE.Vector3(0, 1, 0);

export class Vectors implements Mark {
  readonly group = new THREE.Group();
  readonly now: Float32Array;
  readonly starts: Float32Array;
  private readonly shafts: THREE.InstancedMesh;
  private readonly heads: THREE.InstancedMesh;
  private readonly count: number;
  private readonly wide: number; // radius of the shafts

  constructor(
    readonly overlay: VectorsOverlay,
    private readonly held: Held,
  ) {
    this.count = held.vectors ? held.vectors.width / 3 : (overlay.count ?? 0);
    this.now = new Float32Array(3 * this.count).fill(Number.NaN);
    this.starts = new Float32Array(3 * this.count).fill(Number.NaN);
    const color = tint(overlay.color);
    const material = lit(color, 0.35);
    const r = overlay.width / 2;
    SHAFT ??= new THREE.CylinderGeometry(1, 1, 1, 14).translate(0, 0.5, 0);
    HEAD ??= new THREE.ConeGeometry(HEAD_WIDTH, 1, 20).translate(0, 0.5, 0);
    this.shafts = many(SHAFT, material, this.count);
    this.heads = many(HEAD, material, this.count);
    this.wide = r;
    this.group.add(withVeil(this.shafts, 0.28), withVeil(this.heads, 0.6));
  }

  at(frame: Bracket): void {
    this.held.places?.read(frame, this.starts, this.held.shown);
    this.held.vectors?.read(frame, this.now, this.held.shown);
    this.put((i) => visible(frame, i, this.held.shown, this.starts));
  }

  live(values: Float32Array, from: number): number {
    for (let i = 0; i < this.count; i++) {
      for (let k = 0; k < 3; k++) {
        this.starts[3 * i + k] = values[from + 6 * i + k];
        this.now[3 * i + k] = values[from + 6 * i + 3 + k];
      }
    }
    this.put((i) => !Number.isNaN(this.starts[3 * i]));
    return 6 * this.count;
  }

  private put(isShown: (i: number) => boolean): void {
    const { scale, width, tip } = this.overlay;
    const along = new THREE.Vector3();
    const start = new THREE.Vector3();
    const turn = new THREE.Quaternion();
    const size = new THREE.Vector3();
    const matrix = new THREE.Matrix4();
    this.group.visible = false;
    for (let i = 0; i < this.count; i++) {
      along.fromArray(this.now, 3 * i).multiplyScalar(scale).clampLength(0, LONGEST * width);
      const length = along.length();
      if (!isShown(i) || !(length > 0.3 * width)) {
        this.shafts.setMatrixAt(i, ZERO);
        this.heads.setMatrixAt(i, ZERO);
        continue;
      }
      this.group.visible = true;
      start.fromArray(this.starts, 3 * i);
      if (tip === "start") start.sub(along);
      const head = Math.min(HEAD_LENGTH * width * 0.5, 0.6 * length);
      turn.setFromUnitVectors(UP, along.divideScalar(length));
      this.shafts.setMatrixAt(i, matrix.compose(start, turn, size.set(this.wide, length - head, this.wide)));
      start.addScaledVector(along, length - head);
      this.heads.setMatrixAt(i, matrix.compose(start, turn, size.set(this.wide, head, this.wide)));
    }
    this.shafts.instanceMatrix.needsUpdate = this.heads.instanceMatrix.needsUpdate = true;
  }
}

export class Polygon implements Mark {
  readonly group = new THREE.Group();
  private readonly now: Float32Array;
  private readonly places: THREE.BufferAttribute;

  constructor(
    overlay: PolygonOverlay,
    private readonly held: Held,
  ) {
    const corners = held.places ? held.places.width / 3 : (overlay.count ?? 3);
    this.now = new Float32Array(3 * corners);
    this.places = new THREE.BufferAttribute(new Float32Array(3 * corners), 3);
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", this.places);
    geometry.setIndex(Array.from({ length: Math.max(0, corners - 2) }, (_, i) => [0, i + 1, i + 2]).flat());
    const color = tint(overlay.color);
    const face = flat(color, 0.32);
    face.depthWrite = false;
    const fill = new THREE.Mesh(geometry, face);
    const edge = new THREE.LineLoop(geometry, flat(color));
    edge.geometry = new THREE.BufferGeometry().setAttribute("position", this.places);
    fill.frustumCulled = edge.frustumCulled = false;
    fill.renderOrder = edge.renderOrder = 4;
    this.group.add(fill, edge);
  }

  at(frame: Bracket): void {
    const { places, shown } = this.held;
    // corners of two frames do not belong together: the nearer frame's polygon
    const whole = { ...frame, blend: frame.blend > 0.5 ? 1 : 0 };
    places?.read(whole, this.now);
    this.put(visible(whole, 0, shown, this.now));
  }

  live(values: Float32Array, from: number): number {
    this.now.set(values.subarray(from, from + this.now.length));
    this.put(!Number.isNaN(this.now[0]));
    return this.now.length;
  }

  private put(isShown: boolean): void {
    this.group.visible = isShown;
    if (!isShown) return;
    const array = this.places.array as Float32Array;
    array.set(this.now);
    for (let i = 2; i < array.length; i += 3) array[i] += 0.004; // above the ground it lies on
    this.places.needsUpdate = true;
  }
}
