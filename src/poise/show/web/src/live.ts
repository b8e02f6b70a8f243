/** A page fed by a running simulation. */
import { $, type App } from "./app";
import { Connection } from "./connection";
import { clockText } from "./clock";
import { Pack } from "./pack";
import { Controls } from "./panels";
import { LivePoses } from "./poses";
import type { Transport } from "./keys";
import { setIcon } from "./icons";
import type { State } from "./messages";
import type { TimelineRow } from "./format";
import { LIVE_SPAN } from "./plots";

/** Moves of a grip sent per second at most; the server sends a page away that says too much. */
const MOVES = 80;

/** What lasts is sent anew with every state; a gap longer than this ends it [s]. */
const GAP = 0.2;

/** Name of the arrows of hands in a live scene. */
const HAND = "hand";

/** A key changes the speed by so much [m/s], and turns as fast as the second number while it is down [°/s]. */
const FASTER = 0.1;
const TURNS = 60;

export class Live implements Transport {
  readonly connection: Connection;
  private readonly controls: Controls;
  private isPaused = false;
  private rows: TimelineRow[] = [];
  /** Rows that the states fill: those the scene came with. */
  private filled = 0;
  private moved = 0;
  /** The states of the last seconds, the newest last. */
  private past: State[] = [];
  /** Which of them is seen; null: the newest. */
  private seen: number | null = null;

  constructor(
    private readonly app: App,
    address: string | null,
    private readonly drawn: () => void,
  ) {
    this.controls = new Controls($("controls"), (name, value) => this.connection.send({ type: "set", name, value }));
    $("app").classList.add("is-live");
    setIcon($("go-loop"), "restart");
    $("go-loop").title = "Start again (R)";
    $("go-loop").removeAttribute("aria-pressed");
    $("go-back").title = "A moment back (←)";
    $("go-on").title = "A moment on (→)";
    app.scrub = (time) => this.lookBack(nearestState(this.past, time));
    app.pointer.grip = (grip, isNew) => {
      if (!grip) return this.connection.send({ type: "release" });
      const target = grip.target.toArray();
      if (isNew) this.connection.send({ type: "grab", track: grip.track, body: grip.body, point: grip.point.toArray(), target });
      else if (performance.now() - this.moved > 1000 / MOVES) {
        this.moved = performance.now();
        this.connection.send({ type: "move", target });
      }
    };
    this.connection = new Connection(address, {
      scene: (bytes) => this.scene(bytes),
      state: (state) => this.state(state),
      text: (message) => this.text(message),
      line: (isUp) => app.notice(isUp ? "" : "The simulation has gone. Waiting for it to come back …"),
    });
  }

  private async scene(bytes: Uint8Array): Promise<void> {
    const pack = await Pack.open(bytes);
    await this.app.show(pack);
    const { timeline } = pack.header;
    const names = (rows: TimelineRow[]) => rows.map((row) => row.name).join("\n");
    // the same rows go on over new ground; what pages were sent stays below them
    if (names(timeline) !== names(this.rows.slice(0, this.filled))) {
      this.filled = timeline.length;
      this.rows = timeline.map((row) => ({ ...row, spans: [...(row.spans ?? [])], marks: [...(row.marks ?? [])] }));
      this.past = [];
    }
    this.controls.fill(pack.header.controls);
    const ground = pack.header.controls.find((control) => control.kind === "ground");
    const text = (places: number[][]) => places.map((place) => place.map((x) => x.toFixed(2)).join(",")).join(" ");
    this.app.pointer.ground = ground ? (places) => this.connection.send({ type: "set", name: ground.name, value: text(places) }) : null;
  }

  private state(state: State): Promise<void> {
    const last = this.past[this.past.length - 1];
    if (last && (state.time < last.time || state.values.length !== last.values.length)) this.begin();
    if (last?.time === state.time) this.past.pop(); // while it stands still the newest counts
    this.past.push(state);
    while (this.past[0].time < state.time - LIVE_SPAN) {
      this.past.shift();
      if (this.seen !== null) this.seen = Math.max(0, this.seen - 1);
    }
    this.fill(state, last?.time ?? state.time);
    const { world } = this.app;
    this.paused(state.isPaused);
    if (!world || this.seen !== null) return Promise.resolve();
    this.put(state, true);
    if (document.hidden) return Promise.resolve(this.drawn());
    return new Promise((resolve) => {
      const before = this.app.stage.drawn;
      this.app.stage.drawn = () => {
        this.app.stage.drawn = before;
        before();
        this.drawn();
        resolve();
      };
      this.app.stage.invalidate();
    });
  }

  /** A round begins: what was before it is not part of its time. */
  private begin(): void {
    this.past = [];
    this.now();
    for (const row of this.rows) [row.spans, row.marks] = [[], []];
  }

  /** Goes on with the spans of what lasts. */
  private fill(state: State, before: number): void {
    const from = state.values.length - this.filled;
    this.rows.forEach((row, k) => {
      const spans = (row.spans ??= []);
      while (spans.length && spans[0][1] < state.time - LIVE_SPAN) spans.shift();
      if (k >= this.filled || !(state.values[from + k] > 0.5)) return;
      const last = spans[spans.length - 1];
      if (last && last[1] >= before - 1e-9 && state.time - last[1] < GAP) last[1] = state.time;
      else spans.push([state.time, state.time, ""]);
    });
  }

  /** Puts the page to a state; only a new one is plotted. */
  private put(state: State, isNew: boolean): void {
    const { app } = this;
    const world = app.world!;
    const { values } = state;
    let at = 0;
    for (const source of world.sources) {
      const { pose } = source as LivePoses;
      pose.set(values.subarray(at, at + pose.length));
      at += pose.length;
    }
    let pull = 0;
    for (const { mark, overlay } of world.marks) {
      const count = mark.live?.(values, at) ?? 0;
      if (overlay.kind === "vectors" && overlay.name === HAND) pull = sizeOf(values.subarray(at, at + count));
      at += count;
    }
    app.clock.time = state.time;
    if (isNew) app.plots.push(state.time, values, at);
    const newest = this.past[this.past.length - 1].time;
    app.timeline.set(this.rows, Math.max(0, newest - LIVE_SPAN), Math.max(LIVE_SPAN, newest));
    const isFirst = !world.hasPoses;
    world.hasPoses = true;
    if (isFirst) world.show();
    app.moved();
    if (isFirst) app.home();
    app.pointer.follow();
    app.pointer.pulls(pull);
    $("now").textContent = clockText(state.time);
  }

  /** Stops the run and shows one of its last states. */
  private lookBack(index: number): void {
    if (!this.app.world?.hasPoses || !this.past.length) return;
    if (!this.isPaused) this.connection.send({ type: "pause", on: true });
    this.seen = Math.min(Math.max(index, 0), this.past.length - 1);
    const state = this.past[this.seen];
    this.app.pointer.isClosed = true;
    this.put(state, false);
    const ago = this.past[this.past.length - 1].time - state.time;
    this.app.notice(ago > 0 ? `${clockText(ago)} ago. Space goes on from now.` : "");
    this.app.stage.draw();
  }

  /** Back to what is. */
  private now(): void {
    if (this.seen === null) return;
    this.seen = null;
    this.app.pointer.isClosed = false;
    this.app.notice("");
    if (this.past.length) this.put(this.past[this.past.length - 1], false);
  }

  private paused(isPaused: boolean): void {
    this.isPaused = isPaused;
    setIcon($("go-play"), isPaused ? "play" : "pause");
  }

  private text(message: Record<string, unknown>): void {
    if (message.type === "status") {
      this.paused(message.paused === true);
      this.controls.values((message.values ?? {}) as Record<string, unknown>);
      if (message.speed !== undefined) ($("speed") as HTMLSelectElement).value = String(message.speed);
      if (message.ended === true) this.app.notice("The simulation has ended.");
      else if (this.seen === null) this.app.notice("");
    } else if (message.type === "mark") {
      const row = this.rows.find((r) => r.name === message.row);
      const mark: [number, string] = [Number(message.time), String(message.label ?? "")];
      if (row) row.marks = [...(row.marks ?? []), mark].slice(-500);
      else this.rows.push({ name: String(message.row), color: [0.84, 0.15, 0.24], marks: [mark] });
    } else if (message.type === "refused" || message.type === "kept") {
      this.app.notice(String(message.why ?? message.what ?? "Refused."));
      setTimeout(() => this.app.notice(""), 4000);
    }
  }

  play(): void {
    this.now();
    this.connection.send({ type: "pause", on: !this.isPaused });
  }

  step(count: number): void {
    const newest = this.past.length - 1;
    const at = this.seen ?? newest;
    if (count < 0 || at < newest) {
      this.lookBack(at + count);
      if (this.seen === newest) this.now();
      return;
    }
    this.now();
    if (!this.isPaused) this.connection.send({ type: "pause", on: true });
    this.connection.send({ type: "step" });
  }

  speed(value: number): void {
    this.connection.send({ type: "speed", value });
  }

  lead(key: string, isDown: boolean): boolean {
    if (!this.app.pointer.ground) return false;
    if (key === "a" || key === "d") return this.controls.slide("turn", isDown ? (key === "a" ? TURNS : -TURNS) : 0);
    if (key !== "w" && key !== "s") return false;
    return !isDown || this.controls.slide("speed", key === "w" ? FASTER : -FASTER, true);
  }

  loopOrRestart(): void {
    this.now();
    this.connection.send({ type: "restart" });
  }
}

/** Index of the state nearest to a time. */
export function nearestState(states: { time: number }[], time: number): number {
  let best = 0;
  states.forEach((state, k) => Math.abs(state.time - time) < Math.abs(states[best].time - time) && (best = k));
  return best;
}

/** Sum of the sizes of the arrows among places and vectors in turn; hidden ones count nothing. */
export function sizeOf(arrows: Float32Array): number {
  let sum = 0;
  for (let i = 0; i + 5 < arrows.length; i += 6) {
    const size = Math.hypot(arrows[i + 3], arrows[i + 4], arrows[i + 5]);
    if (Number.isFinite(size)) sum += size;
  }
  return sum;
}
