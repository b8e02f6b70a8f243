/** Geometry of a body: its capsules, boxes and meshes in one piece, colored by corner. */
import * as THREE from "three";
import type { Body, Color, Shape } from "./format";
import type { Pack } from "./pack";

const UP = new THREE.Vector3(0, 1, 0);
const AROUND = 24; // corners of a ring
const RINGS = 6; // rings from the rim of a cap to its pole

/** Corners and triangles of one shape in its body's frame. */
interface Part {
  places: Float32Array;
  normals: Float32Array;
  triangles: ArrayLike<number>;
  color: Color;
}

/** All shapes of a body as one geometry in the body's frame, or null for a body without any. */
export async function bodyGeometry(pack: Pack, body: Body, color: Color): Promise<THREE.BufferGeometry | null> {
  if (!body.shapes.length) return null;
  const parts = await Promise.all(body.shapes.map((shape) => partOf(pack, shape, shape.color ?? body.color ?? color)));
  const corners = parts.reduce((sum, part) => sum + part.places.length / 3, 0);
  const count = parts.reduce((sum, part) => sum + part.triangles.length, 0);
  const places = new Float32Array(3 * corners);
  const normals = new Float32Array(3 * corners);
  const colors = new Float32Array(3 * corners);
  const index = new Uint32Array(count);
  let corner = 0;
  let at = 0;
  for (const part of parts) {
    places.set(part.places, 3 * corner);
    normals.set(part.normals, 3 * corner);
    const tint = new THREE.Color().setRGB(...part.color, THREE.SRGBColorSpace).toArray();
    for (let i = 0; i < part.places.length; i++) colors[3 * corner + i] = tint[i % 3];
    for (let i = 0; i < part.triangles.length; i++) index[at++] = part.triangles[i] + corner;
    corner += part.places.length / 3;
  }
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
  geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
  geometry.setAttribute("color", new THREE.BufferAttribute(colors, 3));
  geometry.setIndex(new THREE.BufferAttribute(index, 1));
  return geometry;
}

async function partOf(pack: Pack, shape: Shape, color: Color): Promise<Part> {
  switch (shape.kind) {
    case "capsule":
      return { ...capsule(shape.start, shape.end, shape.radius), color };
    case "sphere":
      return { ...capsule(shape.center, shape.center, shape.radius), color };
    case "cylinder": {
      const start = new THREE.Vector3(...shape.start);
      const along = new THREE.Vector3(...shape.end).sub(start);
      const length = along.length();
      const made = new THREE.CylinderGeometry(shape.radius, shape.radius, length, 36);
      made.applyQuaternion(new THREE.Quaternion().setFromUnitVectors(UP, along.divideScalar(length || 1)));
      const middle = start.addScaledVector(along, length / 2);
      return taken(made.translate(middle.x, middle.y, middle.z), color);
    }
    case "box": {
      const [x, y, z] = shape.half;
      const [w, qx, qy, qz] = shape.rotation;
      const made = new THREE.BoxGeometry(2 * x, 2 * y, 2 * z);
      made.applyQuaternion(new THREE.Quaternion(qx, qy, qz, w));
      return taken(made.translate(...shape.center), color);
    }
    case "mesh": {
      const made = new THREE.BufferGeometry();
      made.setAttribute("position", new THREE.BufferAttribute(await pack.floats(shape.vertices), 3));
      made.setIndex([...(await pack.array(shape.indices)).values]);
      const flat = made.toNonIndexed();
      flat.computeVertexNormals();
      return taken(flat, color);
    }
  }
}

function taken(made: THREE.BufferGeometry, color: Color): Part {
  const places = made.attributes.position.array as Float32Array;
  const normals = made.attributes.normal.array as Float32Array;
  const triangles = made.index?.array ?? Array.from({ length: places.length / 3 }, (_, i) => i);
  return { places, normals, triangles, color };
}

/** Rings of unit directions from one pole of a ball to the other, along z; the rim stands twice, once for each cap. */
const RING_WAYS: [number, number][] = Array.from({ length: 2 * RINGS + 2 }, (_, k) => {
  const angle = ((k <= RINGS ? k : k - 1) / RINGS - 1) * (Math.PI / 2);
  return [Math.cos(angle), Math.sin(angle)];
});

const RING_TRIANGLES: number[] = [];
for (let ring = 0; ring + 1 < RING_WAYS.length; ring++) {
  for (let k = 0; k < AROUND; k++) {
    const a = ring * (AROUND + 1) + k;
    const b = a + AROUND + 1;
    if (ring > 0) RING_TRIANGLES.push(a, a + 1, b + 1); // at a pole one of the two is not a triangle
    if (ring + 2 < RING_WAYS.length) RING_TRIANGLES.push(a, b + 1, b);
  }
}

/** A capsule; where both ends are one place, a ball. */
export function capsule(start: readonly number[], end: readonly number[], radius: number): Omit<Part, "color"> {
  const axis = new THREE.Vector3(end[0] - start[0], end[1] - start[1], end[2] - start[2]);
  if (axis.lengthSq() < 1e-12) axis.set(0, 0, 1);
  axis.normalize();
  const side = new THREE.Vector3(Math.abs(axis.x) < 0.9 ? 1 : 0, Math.abs(axis.x) < 0.9 ? 0 : 1, 0).cross(axis).normalize();
  const other = new THREE.Vector3().crossVectors(axis, side);
  const [ax, ay, az] = axis.toArray();
  const corners = RING_WAYS.length * (AROUND + 1);
  const places = new Float32Array(3 * corners);
  const normals = new Float32Array(3 * corners);
  let at = 0;
  RING_WAYS.forEach(([wide, high], ring) => {
    const center = ring <= RINGS ? start : end;
    for (let k = 0; k <= AROUND; k++, at += 3) {
      const angle = (2 * Math.PI * k) / AROUND;
      const [c, s] = [wide * Math.cos(angle), wide * Math.sin(angle)];
      normals[at] = c * side.x + s * other.x + high * ax;
      normals[at + 1] = c * side.y + s * other.y + high * ay;
      normals[at + 2] = c * side.z + s * other.z + high * az;
      for (let i = 0; i < 3; i++) places[at + i] = center[i] + radius * normals[at + i];
    }
  });
  return { places, normals, triangles: RING_TRIANGLES };
}
