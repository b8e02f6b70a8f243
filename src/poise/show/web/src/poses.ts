/** Where every body of a track is at a time: chunks unpacked when looked at, the chain walked, frames blended. */
import { bracket } from "./clock";
import type { Track } from "./format";
import type { Pack } from "./pack";

/** Numbers of a body in a pose: x y z, then the quaternion w x y z. */
export const STRIDE = 7;

/** A place for a track's pose. */
export function poseOf(track: Track): Float32Array {
  const pose = new Float32Array(track.bodies.length * STRIDE);
  for (let b = 0; b < track.bodies.length; b++) pose[b * STRIDE + 3] = 1;
  return pose;
}

/** What gives poses of a track by time. */
export interface PoseSource {
  /** Writes the pose at a time; false if its frames are not unpacked yet. */
  sample(time: number, pose: Float32Array): boolean;
  /** Writes the place of the root at a time, three numbers; false if its frames are not unpacked yet. */
  root(time: number, place: Float32Array): boolean;
  /** Unpacks what the pose at a time needs. */
  load(time: number): Promise<void>;
}

/** Poses of a recorded track. */
export class RecordedPoses implements PoseSource {
  private readonly chunks = new Map<number, { orientations: Float32Array; positions: Float32Array }>();
  private readonly underWay = new Map<number, Promise<void>>();
  private readonly moving: number[];
  private readonly before: Float32Array;
  private readonly after: Float32Array;
  private readonly whole: Float32Array;

  constructor(
    private readonly pack: Pack,
    private readonly track: Track,
    private readonly times: Float64Array,
  ) {
    this.moving = track.bodies.map((body, b) => (body.offset ? -1 : b)).filter((b) => b >= 0);
    this.before = poseOf(track);
    this.after = poseOf(track);
    this.whole = poseOf(track);
  }

  get chunkCount(): number {
    return this.chunks.size;
  }

  async load(time: number): Promise<void> {
    const { before, after } = bracket(this.times, time);
    const chunk = this.track.frames!.chunk;
    await Promise.all([this.loadChunk(Math.floor(before / chunk)), this.loadChunk(Math.floor(after / chunk))]);
  }

  private loadChunk(index: number): Promise<void> {
    let running = this.underWay.get(index);
    if (!running) {
      running = this.unpack(index);
      this.underWay.set(index, running);
    }
    return running;
  }

  private async unpack(index: number): Promise<void> {
    const frames = this.track.frames!;
    const orientations = await this.pack.floats(frames.orientations[index]);
    const positions = frames.positions.length ? await this.pack.floats(frames.positions[index]) : new Float32Array(0);
    this.chunks.set(index, { orientations, positions });
  }

  sample(time: number, pose: Float32Array): boolean {
    const { before, after, blend } = bracket(this.times, time);
    if (!this.frame(before, this.before)) return false;
    if (blend < 1e-6) {
      pose.set(this.before);
      return true;
    }
    if (!this.frame(after, this.after)) return false;
    blendPoses(this.before, this.after, blend, pose);
    return true;
  }

  root(time: number, place: Float32Array): boolean {
    const body = this.track.root ?? 0;
    const at = this.moving.indexOf(body);
    if (at < 0) {
      if (!this.sample(time, this.whole)) return false;
      place.set(this.whole.subarray(body * STRIDE, body * STRIDE + 3));
      return true;
    }
    const { before, after, blend } = bracket(this.times, time);
    const { chunk } = this.track.frames!;
    const [first, second] = [before, after].map((frame) => this.chunks.get(Math.floor(frame / chunk))?.positions);
    if (!first || !second) return false;
    const [a, b] = [before, after].map((frame) => 3 * (this.moving.length * (frame % chunk) + at));
    for (let k = 0; k < 3; k++) place[k] = (1 - blend) * first[a + k] + blend * second[b + k];
    return true;
  }

  /** Writes the pose of one frame: stored places, and the others along their chain. */
  private frame(index: number, pose: Float32Array): boolean {
    const { chunk } = this.track.frames!;
    const held = this.chunks.get(Math.floor(index / chunk));
    if (!held) return false;
    const row = index % chunk;
    const { bodies } = this.track;
    for (let b = 0; b < bodies.length; b++) {
      const from = (row * bodies.length + b) * 4;
      const to = b * STRIDE + 3;
      for (let k = 0; k < 4; k++) pose[to + k] = held.orientations[from + k];
      normalize(pose, to);
    }
    this.moving.forEach((b, p) => {
      const from = (row * this.moving.length + p) * 3;
      for (let k = 0; k < 3; k++) pose[b * STRIDE + k] = held.positions[from + k];
    });
    for (let b = 0; b < bodies.length; b++) {
      const { offset, parent } = bodies[b];
      if (offset) place(pose, parent * STRIDE, offset, b * STRIDE);
    }
    return true;
  }
}

/** Poses as they come: the last one is the only one. */
export class LivePoses implements PoseSource {
  constructor(
    readonly pose: Float32Array,
    private readonly body = 0,
  ) {}

  sample(_time: number, pose: Float32Array): boolean {
    pose.set(this.pose);
    return true;
  }

  root(_time: number, place: Float32Array): boolean {
    place.set(this.pose.subarray(this.body * STRIDE, this.body * STRIDE + 3));
    return true;
  }

  async load(): Promise<void> {}
}

/** Positions linear, quaternions linear and normalized: the rule of `Scene.pose` in Python. */
export function blendPoses(a: Float32Array, b: Float32Array, blend: number, out: Float32Array): void {
  for (let at = 0; at < out.length; at += STRIDE) {
    for (let k = 0; k < 3; k++) out[at + k] = (1 - blend) * a[at + k] + blend * b[at + k];
    let dot = 0;
    for (let k = 3; k < STRIDE; k++) dot += a[at + k] * b[at + k];
    const sign = dot < 0 ? -1 : 1;
    for (let k = 3; k < STRIDE; k++) out[at + k] = (1 - blend) * a[at + k] + sign * blend * b[at + k];
    normalize(out, at + 3);
  }
}

function normalize(values: Float32Array, at: number): void {
  const norm = Math.hypot(values[at], values[at + 1], values[at + 2], values[at + 3]) || 1;
  for (let k = 0; k < 4; k++) values[at + k] /= norm;
}

/** Writes parent place + parent turn · offset. */
function place(pose: Float32Array, parent: number, offset: readonly number[], to: number): void {
  const [px, py, pz] = rotate(pose, parent + 3, offset);
  pose[to] = pose[parent] + px;
  pose[to + 1] = pose[parent + 1] + py;
  pose[to + 2] = pose[parent + 2] + pz;
}

/** A vector turned by the unit quaternion w x y z at `at`. */
export function rotate(values: ArrayLike<number>, at: number, v: readonly number[]): [number, number, number] {
  const w = values[at];
  const x = values[at + 1];
  const y = values[at + 2];
  const z = values[at + 3];
  const tx = 2 * (y * v[2] - z * v[1]);
  const ty = 2 * (z * v[0] - x * v[2]);
  const tz = 2 * (x * v[1] - y * v[0]);
  return [
    v[0] + w * tx + y * tz - z * ty,
    v[1] + w * ty + z * tx - x * tz,
    v[2] + w * tz + x * ty - y * tx,
  ];
}
