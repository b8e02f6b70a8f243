/** Shaders that nearly every scene needs, given to the graphics card before the scene is unpacked: both work at once. */
import * as THREE from "three";
import { figureMaterials } from "./figure";
import { flat, lit } from "./marks";
import { type Stage, View } from "./stage";
import { groundMaterial } from "./terrain";

/**
 * Has the programs of figures, ground and marks compiled. A program is found again by what it is made from, so these
 * things must be made of the same materials, with the same lights and attributes, as those of a world.
 */
export function warm(stage: Stage): void {
  const { scene, camera } = new View(1, 0, stage.hasShadows);
  const { solid, ghost, depth } = figureMaterials(1);
  const ground = groundMaterial(true, { cell: 1, color: { value: new THREE.Color() } });
  for (const material of [solid, ghost, depth, ground]) scene.add(new THREE.Mesh(corner(), material));
  const color = new THREE.Color();
  scene.add(new THREE.InstancedMesh(corner(), lit(color, 0.25), 1), new THREE.InstancedMesh(corner(), flat(color), 1));
  scene.add(new THREE.Mesh(corner("position"), flat(color)));
  stage.renderer.compile(scene, camera);
}

function corner(...names: string[]): THREE.BufferGeometry {
  const geometry = new THREE.BufferGeometry();
  for (const name of names.length ? names : ["position", "normal", "color"]) {
    geometry.setAttribute(name, new THREE.BufferAttribute(new Float32Array(9), 3));
  }
  return geometry;
}
