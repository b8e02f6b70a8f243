/** Geometry of a body: its capsules, boxes and meshes in one piece, colored by corner. */
import * as THREE from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";
import type { Body, Color, Shape } from "./format";
import type { Pack } from "./pack";

const UP = new THREE.Vector3(0, 1, 0);

/** All shapes of a body as one geometry in the body's frame, or null for a body without any. */
export async function bodyGeometry(pack: Pack, body: Body, color: Color): Promise<THREE.BufferGeometry | null> {
  const parts: THREE.BufferGeometry[] = [];
  for (const shape of body.shapes) {
    const part = await shapeGeometry(pack, shape);
    part.deleteAttribute("uv");
    parts.push(tinted(part, shape.color ?? body.color ?? color));
  }
  if (!parts.length) return null;
  return parts.length === 1 ? parts[0] : mergeGeometries(parts);
}

/** One shape in its body's frame; every geometry is without an index, so that they merge. */
async function shapeGeometry(pack: Pack, shape: Shape): Promise<THREE.BufferGeometry> {
  switch (shape.kind) {
    case "capsule":
    case "cylinder": {
      const start = new THREE.Vector3(...shape.start);
      const along = new THREE.Vector3(...shape.end).sub(start);
      const length = along.length();
      if (shape.kind === "capsule" && length < 1e-6) return ball(start, shape.radius);
      const made =
        shape.kind === "capsule"
          ? new THREE.CapsuleGeometry(shape.radius, length, 10, 36)
          : new THREE.CylinderGeometry(shape.radius, shape.radius, length, 36);
      made.applyQuaternion(new THREE.Quaternion().setFromUnitVectors(UP, along.divideScalar(length || 1)));
      const middle = start.addScaledVector(along, length / 2);
      return made.translate(middle.x, middle.y, middle.z).toNonIndexed();
    }
    case "sphere":
      return ball(new THREE.Vector3(...shape.center), shape.radius);
    case "box": {
      const [x, y, z] = shape.half;
      const [w, qx, qy, qz] = shape.rotation;
      const made = new THREE.BoxGeometry(2 * x, 2 * y, 2 * z);
      made.applyQuaternion(new THREE.Quaternion(qx, qy, qz, w));
      return made.translate(...shape.center).toNonIndexed();
    }
    case "mesh": {
      const made = new THREE.BufferGeometry();
      made.setAttribute("position", new THREE.BufferAttribute(await pack.floats(shape.vertices), 3));
      made.setIndex([...(await pack.array(shape.indices)).values]);
      const flat = made.toNonIndexed();
      flat.computeVertexNormals();
      return flat;
    }
  }
}

function ball(center: THREE.Vector3, radius: number): THREE.BufferGeometry {
  return new THREE.SphereGeometry(radius, 36, 20).translate(center.x, center.y, center.z).toNonIndexed();
}

function tinted(geometry: THREE.BufferGeometry, color: Color): THREE.BufferGeometry {
  const tint = new THREE.Color().setRGB(...color, THREE.SRGBColorSpace);
  const count = geometry.attributes.position.count;
  const colors = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) tint.toArray(colors, 3 * i);
  geometry.setAttribute("color", new THREE.BufferAttribute(colors, 3));
  return geometry;
}
