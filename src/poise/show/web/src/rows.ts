/** Arrays over time, read between frames. */
import type { Bracket } from "./clock";
import type { ArrayRef } from "./format";
import type { Pack } from "./pack";

/** A table with one row a frame, or a single row for what never changes. */
export class Rows {
  readonly width: number;
  readonly count: number;

  constructor(
    readonly values: ArrayLike<number>,
    shape: readonly number[],
  ) {
    this.count = shape[0];
    this.width = shape.slice(1).reduce((product, n) => product * n, 1);
  }

  static async load(pack: Pack, ref: ArrayRef): Promise<Rows> {
    const { values, shape } = await pack.array(ref);
    return new Rows(values, shape);
  }

  /** Linear between the two frames; where one of them is hidden, the other alone. */
  read(at: Bracket, out: Float32Array, shown?: Rows, each = 3): void {
    const a = this.row(at.before);
    const b = this.row(at.after);
    for (let i = 0; i < this.width; i++) {
      const item = Math.floor(i / each);
      const hasA = !shown || shown.flag(at.before, item);
      const hasB = !shown || shown.flag(at.after, item);
      const blend = hasA === hasB ? at.blend : hasA ? 0 : 1;
      const [x, y] = [this.values[a + i], this.values[b + i]];
      out[i] = blend === 0 ? x : blend === 1 ? y : (1 - blend) * x + blend * y;
    }
  }

  /** Whether item `item` is shown at a frame. */
  flag(frame: number, item: number): boolean {
    return this.values[this.row(frame) + Math.min(item, this.width - 1)] !== 0;
  }

  private row(frame: number): number {
    return (this.count === 1 ? 0 : Math.min(frame, this.count - 1)) * this.width;
  }
}

/** Whether each item is shown at the frame nearest to a time; NaN places are never shown. */
export function visible(at: Bracket, item: number, shown: Rows | undefined, places: Float32Array, each = 3): boolean {
  if (Number.isNaN(places[item * each])) return false;
  return !shown || shown.flag(at.blend > 0.5 ? at.after : at.before, item);
}
