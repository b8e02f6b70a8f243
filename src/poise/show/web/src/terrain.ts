/** The ground: grids of heights and meshes with edges, still or moving. */
import * as THREE from "three";
import { bracket } from "./clock";
import { type Grid, fading, withFading } from "./fading";
import { type Ground, type Header, viewOf } from "./format";
import type { Pack } from "./pack";
import type { Palette } from "./palette";

/** Side of the grid's squares [m] for a figure of a given height [m]: 1 m for people, 0.1 m for mice. */
export function gridCell(size: number): number {
  return 10 ** Math.round(Math.log10(Math.max(size, 1e-6) / 2));
}

/** How many times lighter than level faces steep ones are: risers turn away from the light. */
const [STEEP_LIGHT, STEEP_DARK] = [1, 5];

interface Piece {
  group: THREE.Group;
  /** Faces of which steep ones are told from level ones by their shade. */
  steep?: THREE.BufferGeometry;
  layer: string;
  /** The one view it is in, or null: in all of them. */
  view: number | null;
  moves?: { positions: Float32Array; orientations: Float32Array; times?: Float32Array };
}

export class Terrain {
  private readonly pieces: Piece[] = [];
  private readonly bounds = new THREE.Box3();
  private readonly line = { value: new THREE.Color() };
  private readonly materials: THREE.MeshLambertMaterial[] = [];
  private readonly edges: THREE.LineBasicMaterial;

  constructor(private readonly header: Header) {
    this.edges = withFading(new THREE.LineBasicMaterial());
  }

  async build(pack: Pack): Promise<void> {
    for (const ground of this.header.terrain) {
      const group = new THREE.Group();
      const isGrid = ground.kind === "grid";
      const geometry = isGrid ? await gridGeometry(pack, ground) : await meshGeometry(pack, ground);
      const material = groundMaterial(isGrid, { cell: gridCell(this.header.size), color: this.line });
      this.materials.push(material);
      geometry.computeBoundingBox();
      geometry.boundingSphere = geometry.boundingBox!.getBoundingSphere(new THREE.Sphere()); // near enough, and at once
      this.bounds.union(geometry.boundingBox!);
      if (!isGrid) material.vertexColors = true;
      const mesh = new THREE.Mesh(geometry, material);
      mesh.receiveShadow = true;
      mesh.frustumCulled = false; // where it is seen at all it is seen in part
      mesh.castShadow = !isGrid;
      material.polygonOffset = true; // marks and shadows that lie on it win
      material.polygonOffsetFactor = material.polygonOffsetUnits = 1;
      group.add(mesh);
      if (!isGrid) group.add(new THREE.LineSegments(new THREE.EdgesGeometry(geometry, 25), this.edges));
      this.pieces.push({
        group,
        steep: isGrid ? undefined : geometry,
        layer: ground.layer ?? "terrain",
        view: ground.view === undefined ? null : viewOf(this.header, ground),
        moves: ground.poses && {
          positions: await pack.floats(ground.poses.positions),
          orientations: await pack.floats(ground.poses.orientations),
          times: ground.poses.times && (await pack.floats(ground.poses.times)),
        },
      });
    }
  }

  addTo(content: THREE.Group[]): void {
    for (const piece of [...this.pieces]) {
      content[piece.view ?? 0].add(piece.group);
      if (piece.view !== null) continue;
      for (const other of content.slice(1)) {
        const group = piece.group.clone();
        other.add(group);
        this.pieces.push({ ...piece, group });
      }
    }
  }

  /** True where it has steps and edges. */
  get hasEdges(): boolean {
    return this.pieces.some((piece) => piece.steep);
  }

  /** How far the ground reaches from a place in every direction [m]; infinite where there is none. */
  room(focus: THREE.Vector3): number {
    const { min, max } = this.bounds;
    if (this.bounds.isEmpty()) return Infinity;
    return Math.min(focus.x - min.x, max.x - focus.x, focus.y - min.y, max.y - focus.y);
  }

  paint(palette: Palette): void {
    for (const material of this.materials) material.color.set(palette.ground);
    for (const piece of this.pieces) if (piece.steep) shadeSteep(piece.steep, palette.isDark ? STEEP_DARK : STEEP_LIGHT);
    this.line.value.set(palette.line);
    this.edges.color.set(palette.line).lerp(new THREE.Color(palette.ink), palette.isDark ? 0.45 : 0.25);
    fading.background.value.set(palette.background);
  }

  show(isOn: (layer: string) => boolean): void {
    for (const piece of this.pieces) piece.group.visible = isOn(piece.layer);
  }

  /** Moves what moves. */
  at(times: ArrayLike<number>, time: number): void {
    for (const { group, moves } of this.pieces) {
      if (!moves) continue;
      const { before, after, blend } = bracket(moves.times ?? times, time);
      const { positions: p, orientations: q } = moves;
      group.position.fromArray(p, 3 * before).lerp(new THREE.Vector3().fromArray(p, 3 * after), blend);
      group.quaternion.copy(turn(q, before).slerp(turn(q, after), blend));
    }
  }
}

/** What ground is drawn with: grids are smooth and seen from above, meshes have faces and no outer side. */
export function groundMaterial(isGrid: boolean, grid: Grid): THREE.MeshLambertMaterial {
  return withFading(new THREE.MeshLambertMaterial({ side: isGrid ? THREE.FrontSide : THREE.DoubleSide, flatShading: !isGrid }), grid);
}

function turn(q: Float32Array, row: number): THREE.Quaternion {
  return new THREE.Quaternion(q[4 * row + 1], q[4 * row + 2], q[4 * row + 3], q[4 * row]).normalize();
}

async function gridGeometry(pack: Pack, ground: Ground & { kind: "grid" }): Promise<THREE.BufferGeometry> {
  const [along, across, heights] = await Promise.all([ground.along, ground.across, ground.heights].map((ref) => pack.floats(ref)));
  const { places, normals, triangles } = gridMesh(along, across, heights, ground.origin, ground.heading);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  geometry.setIndex(new THREE.BufferAttribute(triangles, 1));
  return geometry;
}

/** Corners, normals (from the slope between neighbors) and triangles of a grid of heights. */
export function gridMesh(
  along: ArrayLike<number>,
  across: ArrayLike<number>,
  heights: ArrayLike<number>,
  origin: readonly number[],
  heading: number,
): { places: Float32Array; normals: Float32Array; triangles: Uint32Array } {
  const [c, s] = [Math.cos(heading), Math.sin(heading)];
  const [rows, columns] = [along.length, across.length];
  const places = new Float32Array(3 * rows * columns);
  const normals = new Float32Array(3 * rows * columns);
  const triangles = new Uint32Array(6 * (rows - 1) * (columns - 1));
  let to = 0;
  for (let a = 0, at = 0; a < rows; a++) {
    const [back, on] = [Math.max(a - 1, 0), Math.min(a + 1, rows - 1)];
    for (let k = 0; k < columns; k++, at++) {
      const [left, right] = [Math.max(k - 1, 0), Math.min(k + 1, columns - 1)];
      places[3 * at] = origin[0] + along[a] * c - across[k] * s;
      places[3 * at + 1] = origin[1] + along[a] * s + across[k] * c;
      places[3 * at + 2] = heights[at];
      const rise = (heights[on * columns + k] - heights[back * columns + k]) / (along[on] - along[back]);
      const tilt = (heights[a * columns + right] - heights[a * columns + left]) / (across[right] - across[left]);
      const size = Math.sqrt(1 + rise * rise + tilt * tilt);
      normals[3 * at] = (-rise * c + tilt * s) / size;
      normals[3 * at + 1] = (-rise * s - tilt * c) / size;
      normals[3 * at + 2] = 1 / size;
      if (!a || !k) continue;
      const [p, q, r] = [at - columns - 1, at - columns, at - 1];
      triangles[to] = triangles[to + 3] = p;
      triangles[to + 1] = r;
      triangles[to + 2] = triangles[to + 4] = at;
      triangles[to + 5] = q;
      to += 6;
    }
  }
  return { places, normals, triangles };
}

async function meshGeometry(pack: Pack, ground: Ground & { kind: "mesh" }): Promise<THREE.BufferGeometry> {
  const shared = new THREE.BufferGeometry();
  shared.setAttribute("position", new THREE.BufferAttribute(await pack.floats(ground.vertices), 3));
  shared.setIndex([...(await pack.array(ground.indices)).values]);
  const geometry = shared.toNonIndexed(); // each face has a normal and a shade of its own
  geometry.computeVertexNormals();
  const { count } = geometry.attributes.position;
  geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(3 * count).fill(1), 3));
  return geometry;
}

/** Gives the steep faces of a ground a shade. */
function shadeSteep(geometry: THREE.BufferGeometry, shade: number): void {
  const { normal, color } = geometry.attributes;
  for (let i = 0; i < normal.count; i++) {
    const value = Math.abs(normal.getZ(i)) < 0.5 ? shade : 1;
    color.setXYZ(i, value, value, value);
  }
  color.needsUpdate = true;
}
