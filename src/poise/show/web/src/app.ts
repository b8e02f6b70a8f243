/** The page as a whole: a world on the stage, a clock or a live line, and what the viewer touches. */
import * as THREE from "three";
import { firstShot, lookOf, place } from "./camera";
import { fillChoices } from "./choices";
import { Clock, clockText } from "./clock";
import { setIcon } from "./icons";
import type { Options } from "./options";
import type { Pack } from "./pack";
import { DARK, LIGHT, type Palette, firstPalette, paint, remember, remembered } from "./palette";
import { fillHelp, fillLayers, fillLegend } from "./panels";
import { Plots } from "./plots";
import { Pointer } from "./pointer";
import { Stage } from "./stage";
import { Timeline } from "./timeline";
import { Label } from "./curves";
import { warm } from "./warm";
import { World } from "./world";

/** Time constant with which the camera of a live scene comes along [s]. */
const LIVE_CALM = 0.25;

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

export const $ = (id: string): HTMLElement => document.getElementById(id)!;

export class App {
  readonly stage: Stage;
  readonly timeline = new Timeline($("timeline"));
  readonly plots = new Plots($("plots"));
  readonly pointer: Pointer;
  world: World | null = null;
  clock = new Clock(0, 0);
  palette: Palette;
  follow = true;
  /** Called when the viewer asks to play, pause or go on by frames; a live page sends it to the server. */
  play: () => void = () => this.toggle();
  /** Called when the viewer goes to a time by the bar or a plot; a live page looks back. */
  scrub: (time: number) => void = (time) => {
    this.pause();
    void this.seek(time);
  };
  private lastTick = 0;
  private ticking = 0;
  private loading: Promise<void> | null = null;
  private readonly anchor = new THREE.Vector3();
  private anchored = false;
  private isClimb = false;
  private paced = 0;

  constructor(private readonly options: Options) {
    this.palette = options.theme === "auto" ? firstPalette() : options.theme === "dark" ? DARK : LIGHT;
    this.stage = new Stage($("views"), {
      shadows: options.shadows,
      antialias: options.aa,
      pixelRatio: options.dpr ?? Math.min(2, devicePixelRatio),
    });
    warm(this.stage);
    this.pointer = new Pointer(this.stage, () => this.world, $("tip"));
    this.stage.prepare = (...args) => this.prepare(...args);
    this.timeline.seek = this.plots.seek = (time) => this.scrub(time);
    $("app").classList.toggle("is-bare", !options.ui);
    paint(this.palette);
  }

  /** Shows a scene in place of the one before; camera and layers stay where there was one. */
  async show(pack: Pack): Promise<void> {
    const world = await World.build(pack);
    const { header } = pack;
    const before = this.world;
    if (before) for (const [name, on] of before.layersOn) if (world.layersOn.has(name)) world.layersOn.set(name, on);
    if (before && world.isLive) world.takeOver(before);
    this.world = world;
    const start = world.times[0];
    this.clock = new Clock(start, world.times[world.times.length - 1]);
    if (this.options.t !== null && !before) this.clock.seek(this.options.t);
    await world.load(this.clock.time);
    if (!before) this.firstPlots(header.plots.length);
    // all that takes room stands before the stage asks how much is left, or it would draw twice
    this.words();
    this.timeline.set(header.timeline, this.clock.start, this.clock.end);
    this.timeline.paint(this.palette);
    this.stage.reset(header.views?.length || 1, header.size, (header.heading * Math.PI) / 180, this.palette);
    this.stage.edge = (focus) => world.terrain.room(focus);
    world.addTo(this.stage);
    world.paint(this.palette);
    world.seek(this.clock.time);
    if (!before) {
      this.isClimb = !world.isLive && (await world.climbs());
      this.home();
    } else if (world.isLive && world.terrain.hasEdges && !before.terrain.hasEdges) {
      this.isClimb = true; // from in front stairs that rise show no risers
      this.home();
    }
    this.moved();
    this.stage.draw();
    $("app").classList.remove("is-loading");
    $("app").classList.toggle("is-still", !world.isLive && this.clock.end <= this.clock.start);
    if (!before) performance.mark("poise-first-picture");
    await this.plots.load(pack, world.times);
    this.plots.paint(this.palette);
    this.plots.at(this.clock.time);
  }

  private words(): void {
    const header = this.world!.header;
    $("title").textContent = header.title;
    if (header.title) document.title = `${header.title} · Poise`;
    fillLegend($("legend"), header);
    fillLayers($("layers"), header, this.world!.isOn, (name, on) => this.layer(name, on));
    fillChoices($("choices"), header, (name, on) => this.layer(name, on));
    fillHelp($("help"), header, this.world!.isLive);
    $("tool-layers").hidden = header.layers.length === 0;
    $("tool-plots").hidden = header.plots.length === 0;
    for (const old of document.querySelectorAll(".view-name, .view-rule")) old.remove();
    const views = header.views ?? [];
    views.forEach((name, k) => {
      const label = document.createElement("div");
      label.className = "view-name";
      label.textContent = name;
      label.style.setProperty("--part", `${(100 * k) / views.length}%`);
      label.style.setProperty("--end", `${100 - (100 * (k + 1)) / views.length}%`);
      $("stage").append(label);
      if (!k) return;
      const rule = document.createElement("div");
      rule.className = "view-rule";
      rule.style.setProperty("--part", `${(100 * k) / views.length}%`);
      $("stage").append(rule);
    });
  }

  /** Whether there is room and wish for plots; asked before the first picture, so that it need not make room later. */
  private firstPlots(count: number): void {
    const wide = matchMedia("(min-width: 1000px)").matches;
    const wish = remembered("plots");
    $("plots").hidden = !count || !this.options.ui || !(wish ? wish === "1" && wide : wide);
    $("tool-plots").setAttribute("aria-pressed", String(!$("plots").hidden));
  }

  /** The first view: all figures and what they carry, below the title. */
  home(): void {
    const world = this.world!;
    const { header } = world;
    this.anchored = world.anchor(0, this.clock.time, this.anchor);
    const points = world.outline(this.clock.time);
    if (!points.length) points.push(new THREE.Vector3(0, 0, 0), new THREE.Vector3(0, 0, header.size));
    const { camera, controls, partWidth, pixelHeight } = this.stage;
    const forward = lookOf(header.heading, this.options.view || (this.isClimb ? "behind" : "quarter"));
    const shot = firstShot(points, forward, header.size, partWidth, pixelHeight, camera.fov);
    place(camera, shot.target, forward, shot.distance);
    controls.target.copy(shot.target);
    controls.update();
    this.stage.invalidate();
  }

  /** Moves the camera along with what it follows. */
  private goAlong(): void {
    const world = this.world!;
    const at = new THREE.Vector3();
    if (!world.anchor(0, this.clock.time, at)) return;
    if (world.isLive && this.anchored) at.lerpVectors(this.anchor, at, this.pace());
    if (this.follow && this.anchored) {
      const way = at.clone().sub(this.anchor);
      this.stage.camera.position.add(way);
      this.stage.controls.target.add(way);
    }
    this.anchor.copy(at);
    this.anchored = true;
    if (!this.follow) return;
    const other = new THREE.Vector3();
    this.stage.views.forEach((view, k) => {
      if (k && world.anchor(k, this.clock.time, other)) view.shift.copy(other).sub(at);
    });
  }

  /** How much of its way the camera goes with one state of a live scene: all of it after a jump in time. */
  private pace(): number {
    const passed = this.clock.time - this.paced;
    this.paced = this.clock.time;
    return passed < 0 || passed > 1 ? 1 : 1 - Math.exp(-passed / LIVE_CALM);
  }

  /** Words in the scene keep their size on the screen, and inside it. */
  private prepare(view: number, camera: THREE.PerspectiveCamera, width: number, height: number): void {
    for (const { mark, view: own } of this.world?.marks ?? []) {
      if (mark instanceof Label && own === view) mark.fit(camera, width, height);
    }
  }

  /** Goes to a time [s] and draws it. */
  async seek(time: number): Promise<void> {
    this.clock.seek(time);
    const wanted = this.clock.time;
    if (!this.moved()) {
      await (this.loading = this.world!.load(wanted));
      if (this.clock.time !== wanted) return;
      this.moved();
    }
    this.stage.draw();
  }

  /** Puts everything to the clock's time; false where frames are still packed. */
  moved(): boolean {
    const world = this.world;
    if (!world || !world.seek(this.clock.time)) return false;
    void world.load(this.clock.time); // what the camera and the next frames will need
    this.goAlong();
    this.pointer.drawString();
    this.timeline.at(this.clock.time);
    this.plots.at(this.clock.time);
    $("now").textContent = clockText(this.clock.time);
    $("end").textContent = world.isLive ? "" : `/ ${clockText(this.clock.end)}`;
    this.stage.invalidate();
    return true;
  }

  toggle(): void {
    this.clock.toggle();
    this.buttons();
    this.lastTick = performance.now();
    if (this.clock.isPlaying && !this.ticking) this.ticking = requestAnimationFrame((now) => this.tick(now));
  }

  pause(): void {
    if (this.clock.isPlaying) this.toggle();
  }

  private tick(now: number): void {
    this.ticking = 0;
    const elapsed = Math.min(0.25, Math.max(0, (now - this.lastTick) / 1000));
    this.lastTick = now;
    if (this.clock.advance(elapsed) && !this.moved() && !this.loading) {
      this.loading = this.world!.load(this.clock.time).finally(() => (this.loading = null));
    }
    if (this.clock.isPlaying) this.ticking = requestAnimationFrame((later) => this.tick(later));
    else this.buttons();
  }

  step(count: number): void {
    if (!this.world) return;
    this.pause();
    this.clock.step(this.world.times, count);
    void this.seek(this.clock.time);
  }

  layer(name: string, on: boolean): void {
    if (!this.world) return;
    this.world.layersOn.set(name, on);
    this.world.show();
    for (const box of $("layers").querySelectorAll("input")) if (box.dataset.layer === name) box.checked = on;
    this.stage.invalidate();
  }

  theme(): void {
    this.palette = this.palette.isDark ? LIGHT : DARK;
    remember("theme", this.palette.isDark ? "dark" : "light");
    paint(this.palette);
    this.stage.paint(this.palette);
    this.world?.paint(this.palette);
    this.timeline.paint(this.palette);
    this.plots.paint(this.palette);
  }

  togglePlots(): void {
    $("plots").hidden = !$("plots").hidden;
    remember("plots", $("plots").hidden ? "0" : "1");
    $("tool-plots").setAttribute("aria-pressed", String(!$("plots").hidden));
    this.plots.paint(this.palette);
  }

  buttons(): void {
    setIcon($("go-play"), this.clock.isPlaying ? "pause" : "play");
    if (!this.world?.isLive) $("go-loop").setAttribute("aria-pressed", String(this.clock.loop));
    $("tool-follow").setAttribute("aria-pressed", String(this.follow));
  }

  /** A line to the viewer over the scene; empty to take it away. */
  notice(text: string): void {
    $("notice").textContent = text;
    $("notice").hidden = !text;
  }
}
