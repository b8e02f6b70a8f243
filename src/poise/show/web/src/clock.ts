/** Where a recording stands in time: play, pause, speed, loop, step. Knows nothing of pages or frames. */
export class Clock {
  time: number;
  isPlaying = false;
  speed = 1;
  loop = true;

  constructor(
    readonly start: number,
    readonly end: number,
  ) {
    this.time = start;
  }

  get duration(): number {
    return this.end - this.start;
  }

  /** Goes to a time [s], held within the recording. */
  seek(time: number): void {
    this.time = Math.min(this.end, Math.max(this.start, time));
  }

  /** Starts or stops; at the end it starts over. */
  toggle(): void {
    this.isPlaying = !this.isPlaying;
    if (this.isPlaying && this.time >= this.end) this.time = this.start;
  }

  /** Lets `elapsed` seconds of the viewer's time pass; true if the time shown has changed. */
  advance(elapsed: number): boolean {
    if (!this.isPlaying || this.duration <= 0) return false;
    let next = this.time + elapsed * this.speed;
    if (next > this.end) {
      if (this.loop) next = this.start + ((next - this.start) % this.duration);
      else {
        next = this.end;
        this.isPlaying = false;
      }
    }
    this.time = next;
    return true;
  }

  /** Goes `count` frames on (or back), to the time of a frame; stops playing. */
  step(times: ArrayLike<number>, count: number): void {
    this.isPlaying = false;
    const here = bracket(times, this.time);
    const whole = here.blend > 1e-6 && here.blend < 1 - 1e-6;
    let frame = here.blend >= 1 - 1e-6 ? here.after : here.before;
    if (whole && count < 0) frame += 1;
    frame = Math.min(times.length - 1, Math.max(0, frame + count));
    this.seek(times[frame]);
  }
}

export interface Bracket {
  before: number;
  after: number;
  /** How far between the two (0 … 1). */
  blend: number;
}

/** Frames before and after a time among rising times; the ends hold. The same rule as `Scene.bracket` in Python. */
export function bracket(times: ArrayLike<number>, time: number): Bracket {
  const last = times.length - 1;
  if (last < 1) return { before: 0, after: 0, blend: 0 };
  let low = 0;
  let high = last; // the first frame later than `time`, at least 1, at most the last
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] > time) high = middle;
    else low = middle + 1;
  }
  const after = Math.max(1, high);
  const before = after - 1;
  const blend = (time - times[before]) / (times[after] - times[before]);
  return { before, after, blend: Math.min(1, Math.max(0, blend)) };
}

/** The frame nearest to a time. */
export function nearest(times: ArrayLike<number>, time: number): number {
  const { before, after, blend } = bracket(times, time);
  return blend > 0.5 ? after : before;
}

/** "3.25 s", or "1:03.25" from a minute on. */
export function clockText(time: number): string {
  const sign = time < -0.005 ? "−" : "";
  const t = Math.abs(time);
  if (t < 59.995) return `${sign}${t.toFixed(2)} s`;
  const minutes = Math.floor((t + 0.005) / 60);
  return `${sign}${minutes}:${Math.max(0, t - 60 * minutes).toFixed(2).padStart(5, "0")}`;
}
