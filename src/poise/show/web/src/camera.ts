/** Where the camera stands at first. */
import * as THREE from "three";

/** Direction the camera looks from the direction of travel, and up (+) or down (-) [deg]: as in poise.show. */
export const VIEWS: Record<string, [number, number]> = {
  side: [90, -8],
  front: [180, -8],
  back: [0, -8],
  quarter: [125, -11],
  behind: [52, -9], // for stairs and slopes: a climb seen from above shows no risers
  top: [90, -89],
};

/** What of a picture's height words and buttons at its upper edge take, and the rim that stays free elsewhere [px]. */
const [HEAD, RIM] = [64, 24];

/** Direction in which a named view looks; unknown names are the quarter view. */
export function lookOf(heading: number, view: string): THREE.Vector3 {
  const [azimuth, elevation] = VIEWS[view] ?? VIEWS.quarter;
  const az = ((heading + azimuth) * Math.PI) / 180;
  const el = (elevation * Math.PI) / 180;
  return new THREE.Vector3(Math.cos(el) * Math.cos(az), Math.cos(el) * Math.sin(az), Math.sin(el));
}

/**
 * Where to look and from how far so that all of the points are in the picture, in its middle, below the words at its
 * upper edge. At least a figure of a given height fits: with room to move.
 */
export function firstShot(
  points: THREE.Vector3[],
  forward: THREE.Vector3,
  size: number,
  width: number,
  height: number,
  fieldOfView: number,
): { target: THREE.Vector3; distance: number } {
  const right = new THREE.Vector3(forward.y, -forward.x, 0).normalize();
  const up = right.clone().cross(forward);
  const box = new THREE.Box3().setFromPoints(points);
  const target = box.getCenter(new THREE.Vector3());
  const tall = Math.tan((0.5 * fieldOfView * Math.PI) / 180);
  const free = (px: number, side: number) => Math.max(0.5, 1 - (2 * px) / side);
  const [top, below, beside] = [tall * free(HEAD, height), tall * free(RIM, height), (tall * width * free(RIM, width)) / height];
  let distance = (0.9 * size) / tall;
  for (let pass = 0; pass < 4; pass++) {
    // seen from the target: how far the picture must go up, down and aside at each point's depth
    let [high, low] = [-Infinity, Infinity];
    let near = 0;
    for (const point of points) {
      const at = point.clone().sub(target);
      const depth = at.dot(forward);
      near = Math.max(near, Math.abs(at.dot(right)) / beside - depth, at.dot(up) / top - depth, -at.dot(up) / below - depth);
      const seen = at.dot(up) / (1 + depth / distance);
      [high, low] = [Math.max(high, seen), Math.min(low, seen)];
    }
    distance = Math.max((0.9 * size) / tall, 1.08 * near);
    // what is drawn stands in the middle of the part that is free
    const middle = 0.5 * (top - below) * distance;
    target.addScaledVector(up, 0.5 * (high + low) - middle);
  }
  return { target, distance };
}

/** Puts a camera before a target. */
export function place(camera: THREE.PerspectiveCamera, target: THREE.Vector3, forward: THREE.Vector3, distance: number): void {
  camera.position.copy(target).addScaledVector(forward, -distance);
  camera.lookAt(target);
}
