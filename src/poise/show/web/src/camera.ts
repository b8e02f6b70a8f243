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

/**
 * Distance from which a figure of a given height and reach from the target stands well in the picture [m]: with room
 * to move in a wide picture, and cut nowhere, however long, wide or high it is.
 */
export function firstDistance(size: number, reach: number, aspect: number, fieldOfView: number, rise = 0): number {
  const tall = Math.max(1.8 * size, 2.5 * rise, 1.5 * reach, Math.max(1.35 * size, 3.4 * reach) / aspect);
  return (0.5 * tall) / Math.tan((0.5 * fieldOfView * Math.PI) / 180);
}

/** Puts a camera before a target. */
export function place(
  camera: THREE.PerspectiveCamera,
  target: THREE.Vector3,
  heading: number,
  view: string,
  distance: number,
): void {
  const [azimuth, elevation] = VIEWS[view] ?? VIEWS.quarter;
  const az = ((heading + azimuth) * Math.PI) / 180;
  const el = (elevation * Math.PI) / 180;
  const forward = new THREE.Vector3(Math.cos(el) * Math.cos(az), Math.cos(el) * Math.sin(az), Math.sin(el));
  camera.position.copy(target).addScaledVector(forward, -distance);
  camera.lookAt(target);
}
