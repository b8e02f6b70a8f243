/** The binary messages of a live scene, as docs/scene_format.md has them. */
export interface State {
  isPaused: boolean;
  scene: number;
  sequence: number;
  time: number;
  /** When the server made it [ms since 1970]. */
  stamp: number;
  /** Poses, then overlays, then plotted numbers. */
  values: Float32Array;
}

export const SCENE = 0;
export const STATE = 1;
const SCENE_HEAD = 8;
const STATE_HEAD = 24;

/** The pack inside a scene message. */
export function scenePack(message: ArrayBuffer): Uint8Array {
  return new Uint8Array(message, SCENE_HEAD);
}

export function readState(message: ArrayBuffer): State {
  const view = new DataView(message);
  return {
    isPaused: (view.getUint8(1) & 1) !== 0,
    scene: view.getUint16(2, true),
    sequence: view.getUint32(4, true),
    time: view.getFloat64(8, true),
    stamp: view.getFloat64(16, true),
    values: new Float32Array(message, STATE_HEAD),
  };
}

/** The acknowledgement of a state. */
export function acknowledgement(sequence: number): ArrayBuffer {
  const bytes = new ArrayBuffer(8);
  const view = new DataView(bytes);
  view.setUint8(0, STATE);
  view.setUint32(4, sequence, true);
  return bytes;
}

/** Seconds to wait before the n-th attempt to connect again. */
export function retryDelay(attempt: number): number {
  return Math.min(4, 0.5 * 2 ** attempt);
}
