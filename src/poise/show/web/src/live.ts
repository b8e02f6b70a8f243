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

export class Live implements Transport {
  readonly connection: Connection;
  private readonly controls: Controls;
  private isPaused = false;
  private events: TimelineRow[] = [];
  private moved = 0;

  constructor(
    private readonly app: App,
    address: string,
    private readonly drawn: () => void,
  ) {
    this.controls = new Controls($("controls"), (name, value) => this.connection.send({ type: "set", name, value }));
    $("app").classList.add("is-live");
    setIcon($("go-loop"), "restart");
    $("go-loop").title = "Start again (R)";
    $("go-loop").removeAttribute("aria-pressed");
    $("go-back").hidden = true;
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
    this.events = pack.header.timeline.map((row) => ({ ...row, spans: [...(row.spans ?? [])], marks: [...(row.marks ?? [])] }));
    this.controls.fill(pack.header.controls);
  }

  private state(state: State): Promise<void> {
    const { world } = this.app;
    if (!world) return Promise.resolve();
    const { values } = state;
    let at = 0;
    for (const source of world.sources) {
      const { pose } = source as LivePoses;
      pose.set(values.subarray(at, at + pose.length));
      at += pose.length;
    }
    for (const { mark } of world.marks) at += mark.live?.(values, at) ?? 0;
    this.app.clock.time = state.time;
    this.app.plots.push(state.time, values, at);
    this.app.timeline.set(this.events, Math.max(0, state.time - LIVE_SPAN), Math.max(LIVE_SPAN, state.time));
    const isFirst = !world.hasPoses;
    world.hasPoses = true;
    if (isFirst) world.show();
    this.app.moved();
    if (isFirst) this.app.home();
    this.app.pointer.follow();
    $("now").textContent = clockText(state.time);
    this.paused(state.isPaused);
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

  private paused(isPaused: boolean): void {
    this.isPaused = isPaused;
    setIcon($("go-play"), isPaused ? "play" : "pause");
  }

  private text(message: Record<string, unknown>): void {
    if (message.type === "status") {
      this.paused(message.paused === true);
      this.controls.values((message.values ?? {}) as Record<string, unknown>);
      if (message.speed !== undefined) ($("speed") as HTMLSelectElement).value = String(message.speed);
      this.app.notice(message.ended === true ? "The simulation has ended." : "");
    } else if (message.type === "mark") {
      const row = this.events.find((r) => r.name === message.row);
      const mark: [number, string] = [Number(message.time), String(message.label ?? "")];
      if (row) row.marks = [...(row.marks ?? []), mark].slice(-500);
      else this.events.push({ name: String(message.row), color: [0.84, 0.15, 0.24], marks: [mark] });
    } else if (message.type === "refused" || message.type === "kept") {
      this.app.notice(String(message.why ?? message.what ?? "Refused."));
      setTimeout(() => this.app.notice(""), 4000);
    }
  }

  play(): void {
    this.connection.send({ type: "pause", on: !this.isPaused });
  }

  step(): void {
    if (!this.isPaused) this.connection.send({ type: "pause", on: true });
    this.connection.send({ type: "step" });
  }

  speed(value: number): void {
    this.connection.send({ type: "speed", value });
  }

  loopOrRestart(): void {
    this.connection.send({ type: "restart" });
  }
}
