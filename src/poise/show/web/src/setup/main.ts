/** The set-up page: bodies on bones, and which limb of an actor drives which of the character's. The server keeps all. */
import * as THREE from "three";
import { Connection } from "../connection";
import { DARK, LIGHT, type Palette, firstPalette, paint, remember } from "../palette";
import { type Handle, Scene } from "./scene";
import { $, KEYS, drawHelp, drawPerson, showPanels } from "./panels";
import { type Rod, type State, bodyOf, limbOf, neighbor, said, way } from "./state";

/** A press that moves less is a click [px]. */
const CLICK = 5;
/** How near to a bone a dragged limb may be let go [px]. */
const DROP = 34;

type Gesture =
  | { kind: "bone"; joint: number; x: number; y: number; isDrag: boolean }
  | { kind: "handle"; joint: number; handle: Handle; rods: Rod[]; last: Rod | null }
  | { kind: "limb"; actor: string; chip: HTMLElement };

class Page {
  state: State | null = null;
  chosen = -1;
  answers = 0;
  private gesture: Gesture | null = null;
  private palette: Palette = firstPalette();
  private readonly scene: Scene;
  private readonly line: Connection;
  private noticeTimer = 0;

  constructor(socket: string, drawn: () => void) {
    const dpr = Number(new URLSearchParams(location.hash.slice(1)).get("dpr")) || Math.min(devicePixelRatio, 2);
    this.scene = new Scene($("views"), dpr);
    paint(this.palette);
    this.scene.paint(this.palette);
    this.scene.stage.drawn = () => this.labels();
    drawHelp();
    drawPerson(
      (actor, event) => this.grab(actor, event),
      (actor) => this.give(actor),
    );
    this.bind();
    this.line = new Connection(socket, {
      scene: async (pack) => this.dress(pack),
      state: async () => {},
      text: (message) => {
        this.hear(message);
        drawn();
      },
      line: (isUp) => (isUp ? this.notice("") : this.notice("The server has ended or cannot be reached. Nothing is lost.", true)),
    });
  }

  private hear(message: Record<string, unknown>): void {
    if (message.type === "refused") return this.notice(String(message.why));
    if (message.type !== "setup") return;
    this.state = message as unknown as State;
    if (this.chosen >= this.state.joints.length) this.chosen = -1;
    this.scene.show(this.state, this.chosen);
    showPanels(this.state, this.chosen, this.act, (j) => this.choose(j));
    this.answers += 1;
  }

  private dress(pack: Uint8Array): void {
    const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength);
    const [corners, index] = [view.getUint32(0, true), view.getUint32(4, true)];
    const own = pack.slice(8);
    this.scene.dress(new Float32Array(own.buffer, 0, 3 * corners), new Uint32Array(own.buffer, 12 * corners, index));
  }

  readonly act = (edit: Record<string, unknown>): void => this.line.send(edit);

  choose(joint: number): void {
    this.chosen = joint;
    if (!this.state) return;
    this.scene.choose(joint);
    showPanels(this.state, joint, this.act, (j) => this.choose(j));
  }

  private give(actor: string): void {
    if (this.chosen < 0) return this.notice("Choose a bone first: click it, or use the arrow keys.");
    this.act({ do: "assign", joint: this.chosen, actor });
  }

  private notice(text: string, stays = false): void {
    $("notice").textContent = text;
    $("notice").hidden = !text;
    clearTimeout(this.noticeTimer);
    if (text && !stays) this.noticeTimer = window.setTimeout(() => ($("notice").hidden = true), 6000);
  }

  /** Names of limbs over the character. */
  private labels(): void {
    const { state } = this;
    if (!state) return;
    const box = $("stage").getBoundingClientRect();
    const spans: HTMLElement[] = [];
    const taken: [number, number][] = [];
    for (const limb of state.limbs) {
      if (limb.kind === "spine") continue;
      const at = this.scene.project(limb.joints[limb.joints.length - 1]);
      if (!at) continue;
      // labels that would lie on each other are moved apart
      let y = at[1] - 18;
      while (taken.some(([tx, ty]) => Math.abs(tx - at[0]) < 130 && Math.abs(ty - y) < 20)) y += 21;
      taken.push([at[0], y]);
      const span = document.createElement("span");
      span.className = `is-${limb.role}`;
      const driver = limb.actor === "neck" ? "head" : said(limb.actor);
      span.textContent = limb.role === "free" ? `${said(limb.name)}: free` : `${said(limb.name)} ← ${driver || "nobody"}`;
      span.style.left = `${at[0] - box.left}px`;
      span.style.top = `${y - box.top}px`;
      spans.push(span);
    }
    $("labels").replaceChildren(...spans);
  }

  private tip(text: string, x: number, y: number): void {
    const box = $("stage").getBoundingClientRect();
    $("tip").hidden = !text;
    $("tip").textContent = text;
    $("tip").style.left = `${x - box.left}px`;
    $("tip").style.top = `${y - box.top}px`;
  }

  // --- gestures

  private grab(actor: string, event: PointerEvent): void {
    event.preventDefault();
    const chip = document.createElement("div");
    chip.id = "drag";
    chip.textContent = actor === "neck" ? "head" : said(actor);
    document.body.append(chip);
    this.gesture = { kind: "limb", actor, chip };
    this.drag(event);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0 || !this.state) return;
    const handle = this.scene.handleAt(event.clientX, event.clientY);
    const body = handle && bodyOf(this.state, this.chosen);
    if (handle && body) {
      this.gesture = { kind: "handle", joint: this.chosen, handle, rods: body.capsules, last: null };
    } else {
      const joint = this.scene.jointAt(event.clientX, event.clientY);
      if (joint < 0) return;
      this.gesture = { kind: "bone", joint, x: event.clientX, y: event.clientY, isDrag: false };
    }
    this.scene.stage.controls.enabled = false;
    event.preventDefault();
  }

  private drag(event: PointerEvent): void {
    const { gesture, state } = this;
    const [x, y] = [event.clientX, event.clientY];
    if (!state) return;
    if (!gesture) {
      if (event.target !== this.scene.stage.canvas) return this.tip("", x, y);
      const joint = this.scene.jointAt(x, y);
      return this.tip(joint >= 0 ? state.joints[joint].name : "", x, y);
    }
    if (gesture.kind === "bone") {
      gesture.isDrag ||= Math.hypot(x - gesture.x, y - gesture.y) > CLICK;
      const joint = this.scene.jointAt(x, y);
      if (gesture.isDrag) this.scene.mark(joint >= 0 ? way(state, gesture.joint, joint) : [gesture.joint]);
      this.tip(joint >= 0 ? state.joints[joint].name : "", x, y);
    } else if (gesture.kind === "handle") {
      const rod = this.scene.moved(gesture.rods[gesture.handle.capsule], gesture.joint, gesture.handle, x, y);
      if (!rod) return;
      gesture.last = rod;
      this.scene.preview(gesture.joint, gesture.rods.map((old, k) => (k === gesture.handle.capsule ? rod : old)));
    } else {
      gesture.chip.style.transform = `translate(${x + 12}px, ${y + 8}px)`;
      const joint = this.over(x, y);
      const limb = joint >= 0 ? limbOf(state, joint) : undefined;
      this.scene.mark(joint < 0 ? [] : (limb?.joints ?? [joint]));
      this.tip(joint >= 0 ? (limb ? said(limb.name) : state.joints[joint].name) : "", x, y);
    }
  }

  /** The bone that a limb would be let go on. */
  private over(x: number, y: number): number {
    const box = this.scene.stage.canvas.getBoundingClientRect();
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) return -1;
    return this.scene.jointAt(x, y, DROP);
  }

  private release(event: PointerEvent): void {
    const { gesture, state } = this;
    if (!gesture || !state) return;
    const [x, y] = [event.clientX, event.clientY];
    if (gesture.kind === "bone") {
      const joint = gesture.isDrag ? this.scene.jointAt(x, y) : gesture.joint;
      if (!gesture.isDrag) {
        this.choose(joint);
        if (!bodyOf(state, joint)) this.act({ do: "body", joint });
      } else if (joint >= 0 && joint !== gesture.joint) {
        this.choose(joint);
        this.act({ do: "fill", from: gesture.joint, to: joint });
      }
    } else if (gesture.kind === "handle") {
      const { last } = gesture;
      if (last) this.act({ do: "capsule", joint: gesture.joint, index: gesture.handle.capsule, start: last.start, end: last.end, radius: last.radius });
    } else {
      const joint = this.over(x, y);
      if (joint >= 0) {
        this.choose(joint);
        this.act({ do: "assign", joint, actor: gesture.actor });
      }
    }
    this.stop();
  }

  private stop(): void {
    if (this.gesture?.kind === "limb") this.gesture.chip.remove();
    if (this.gesture?.kind === "handle" && this.state) this.scene.show(this.state, this.chosen);
    this.gesture = null;
    this.scene.mark([]);
    this.scene.stage.controls.enabled = true;
    $("tip").hidden = true;
  }

  private bind(): void {
    // before the orbit hears of it
    this.scene.stage.canvas.addEventListener("pointerdown", (event) => this.press(event), { capture: true });
    addEventListener("pointermove", (event) => this.drag(event));
    addEventListener("pointerup", (event) => this.release(event));
    addEventListener("pointercancel", () => this.stop());
    addEventListener("keydown", (event) => this.key(event));
    for (const [id, edit] of Object.entries({ undo: "undo", redo: "redo", all: "all", clear: "clear" })) {
      $(id).addEventListener("click", () => this.act({ do: edit }));
    }
    $("look").addEventListener("click", () => this.turnLight());
    $("help-button").addEventListener("click", () => this.help());
  }

  private turnLight(): void {
    this.palette = this.palette.isDark ? LIGHT : DARK;
    remember("theme", this.palette.isDark ? "dark" : "light");
    paint(this.palette);
    this.scene.paint(this.palette);
  }

  private help(): void {
    $("help").hidden = !$("help").hidden;
    $("help-button").setAttribute("aria-expanded", String(!$("help").hidden));
  }

  private key(event: KeyboardEvent): void {
    const { state, chosen } = this;
    const field = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (!state || field || event.altKey) return;
    const isCommand = event.ctrlKey || event.metaKey;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    let edit: Record<string, unknown> | null = null;
    const body = chosen >= 0 ? bodyOf(state, chosen) : undefined;
    if (isCommand && key === "z") edit = { do: event.shiftKey ? "redo" : "undo" };
    else if (isCommand && key === "y") edit = { do: "redo" };
    else if (isCommand && key === "s") edit = { do: "state" };
    else if (isCommand) return;
    else if (key.startsWith("Arrow")) this.choose(neighbor(state, chosen, key));
    else if (KEYS[key]) return this.give(KEYS[key]);
    else if (key === "Escape") {
      if (this.gesture) this.stop();
      else this.choose(-1);
    } else if (key === "b" && chosen >= 0) edit = { do: body ? "remove" : "body", joint: chosen };
    else if (key === "Delete" && body) edit = { do: "remove", joint: chosen };
    else if ((key === "+" || key === "=" || key === "-") && body) {
      const rod = body.capsules[0];
      if (rod) edit = { do: "capsule", joint: chosen, index: 0, start: rod.start, end: rod.end, radius: rod.radius * (key === "-" ? 1 / 1.1 : 1.1) };
    } else if ((key === "[" || key === "]") && body) edit = { do: "mass", joint: chosen, kg: body.mass * (key === "[" ? 1 / 1.1 : 1.1) };
    else if (key === "g" && body) edit = { do: "contact", joint: chosen, on: !body.contact };
    else if (key === "c" && state.checks.some((c) => c.cure)) edit = { do: "cure", check: state.checks.findIndex((c) => c.cure) };
    else if (key === "a") edit = { do: "all" };
    else if (key === "d") this.turnLight();
    else if (key === "?") this.help();
    else return;
    event.preventDefault();
    if (edit) this.act(edit);
  }

  /** For scripts and tests. */
  hook(ready: Promise<void>) {
    const page = this;
    return {
      ready,
      get state() {
        return page.state;
      },
      get chosen() {
        return page.chosen;
      },
      get answers() {
        return page.answers;
      },
      joint: (name: string) => page.state!.joints.findIndex((j) => j.name === name),
      project: (name: string) => page.scene.project(page.state!.joints.findIndex((j) => j.name === name)),
      handles: () => page.scene.handles.map((h, k) => ({ part: h.part, at: page.scene.projectHandle(k) })),
      /** Where the camera stands and looks [m]. */
      view: () => ({ eye: page.scene.stage.camera.position.toArray(), target: page.scene.stage.controls.target.toArray() }),
      jointAt: (x: number, y: number) => page.scene.jointAt(x, y),
    };
  }
}

THREE.Object3D.DEFAULT_UP.set(0, 0, 1);
const { socket } = JSON.parse(document.getElementById("poise-live")?.textContent ?? '{"socket": ""}');
let drawn: () => void;
const ready = new Promise<void>((resolve) => (drawn = resolve));
try {
  const page = new Page(socket, drawn!);
  (window as unknown as { poiseSetup: unknown }).poiseSetup = page.hook(ready);
} catch (error) {
  console.error(error);
  const notice = document.getElementById("notice")!;
  notice.textContent = "This browser gives the page no WebGL. Try another one, or turn on hardware acceleration.";
  notice.hidden = false;
}
