/** The mouse and the finger over the scene: names on hover, and a grip on a body where a simulation runs. */
import * as THREE from "three";
import type { Figure } from "./figure";
import { PUSH } from "./palette";
import { readable } from "./plots";
import type { Stage } from "./stage";
import type { World } from "./world";

export interface Grip {
  track: number;
  body: number;
  /** In the body's frame [m]. */
  point: THREE.Vector3;
  /** In the world [m]. */
  target: THREE.Vector3;
}

/** Places of a path are so far apart [m], and no more than that; a click moves by fewer pixels. */
const APART = 0.25;
const MOST = 60;
const CLICK = 5;

export interface Hit {
  track: number;
  body: number;
  point: THREE.Vector3;
}

/** What is under a place on the page. */
export function pick(stage: Stage, world: World, x: number, y: number): Hit | null {
  const ray = stage.ray(x, y);
  if (!ray) return null;
  const figures = world.figures.filter((f) => f.view === ray.index && isSeen(world, f));
  for (const figure of figures) figure.group.updateMatrixWorld(); // they may have moved since the last picture
  const meshes = figures.flatMap((f) => f.meshes.filter((m): m is THREE.Mesh => m !== null));
  for (const hit of ray.caster.intersectObjects(meshes, false)) {
    const { track, body } = hit.object.userData;
    return { track, body, point: hit.point };
  }
  return null;
}

function isSeen(world: World, figure: Figure): boolean {
  const { layer, skins } = figure.track;
  return world.isOn(layer) || (!!skins?.length && world.isOn(`${layer}.shapes`));
}

export class Pointer {
  /** Called when a grip begins, moves and ends (null); nothing is gripped while it is not set. */
  grip: ((grip: Grip | null, isNew: boolean) => void) | null = null;
  /** Called with places on the ground: one that was clicked, or a path drawn with Shift; see `Control`. */
  ground: ((places: number[][]) => void) | null = null;
  held: Grip | null = null;
  /** Places of the path that is drawn, or the one that was pressed. */
  private drawn: THREE.Vector3[] = [];
  private readonly path = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: PUSH }));
  private isDrawing = false;
  private pressed: [number, number] = [0, 0];
  /** Nothing can be gripped now: what is seen is past. */
  isClosed = false;
  /** Distance of what is held from the camera's plane [m], and where the mouse is. */
  private depth = 0;
  private at: [number, number] = [0, 0];
  private waiting = 0;
  private readonly string: THREE.Line;

  constructor(
    private readonly stage: Stage,
    private readonly world: () => World | null,
    private readonly tip: HTMLElement,
  ) {
    const { canvas } = stage;
    const geometry = new THREE.BufferGeometry().setFromPoints([new THREE.Vector3(), new THREE.Vector3()]);
    this.string = new THREE.Line(geometry, new THREE.LineBasicMaterial({ color: PUSH, depthTest: false }));
    this.string.frustumCulled = false;
    this.string.renderOrder = 40;
    // before the orbit sees it, so that a grip does not turn the camera as well
    canvas.addEventListener("pointerdown", (event) => this.down(event), true);
    canvas.addEventListener("pointermove", (event) => this.move(event), true);
    for (const name of ["pointerup", "pointercancel"] as const) {
      canvas.addEventListener(name, (event) => this.up(event), true);
    }
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  private down(event: PointerEvent): void {
    this.tip.hidden = true;
    const world = this.world();
    if (!this.grip || this.isClosed || !world || event.button !== 0 || !event.isPrimary) return;
    const hit = pick(this.stage, world, event.clientX, event.clientY);
    if (!hit && this.ground) this.press(event);
    if (!hit || world.header.tracks[hit.track].bodies[hit.body].draggable === false) return;
    const figure = world.figures[hit.track];
    if (figure.track.style === "ghost" && figure.track.layer !== "props") return; // a clear door can be held
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.controls.enabled = false;
    const mesh = figure.meshes[hit.body]!;
    const view = this.stage.views[figure.view];
    const { camera } = view;
    this.depth = hit.point.clone().sub(camera.position).dot(camera.getWorldDirection(new THREE.Vector3()));
    this.at = [event.clientX, event.clientY];
    const point = mesh.worldToLocal(hit.point.clone());
    this.held = { track: hit.track, body: hit.body, point, target: hit.point.clone() };
    view.scene.add(this.string);
    this.grip(this.held, true);
    this.drawString();
  }

  /** A place on the ground is pressed; with Shift a path begins there. */
  private press(event: PointerEvent): void {
    const place = this.below(event);
    if (!place) return;
    this.pressed = [event.clientX, event.clientY];
    this.drawn = [place];
    if (!event.shiftKey) return;
    event.stopImmediatePropagation();
    this.stage.canvas.setPointerCapture(event.pointerId);
    this.stage.controls.enabled = false;
    this.isDrawing = true;
  }

  /** Place of level ground under the mouse [m]. */
  private below(event: PointerEvent): THREE.Vector3 | null {
    const ray = this.stage.ray(event.clientX, event.clientY);
    const ground = new THREE.Plane(new THREE.Vector3(0, 0, 1)); // height 0, as in every world
    return ray?.caster.ray.intersectPlane(ground, new THREE.Vector3()) ?? null;
  }

  private draw(event: PointerEvent): void {
    event.stopImmediatePropagation();
    const place = this.below(event);
    const last = this.drawn[this.drawn.length - 1];
    if (!place || place.distanceTo(last) < APART || this.drawn.length >= MOST) return;
    this.drawn.push(place);
    this.path.geometry.dispose();
    this.path.geometry = new THREE.BufferGeometry().setFromPoints(this.drawn.map((p) => p.clone().setZ(p.z + 0.02)));
    this.path.frustumCulled = false;
    this.stage.ray(event.clientX, event.clientY)?.view.scene.add(this.path);
    this.stage.invalidate();
  }

  /** What was pressed or drawn is told; a drag that turned the camera is neither. */
  private walkThere(event: PointerEvent): void {
    const isClick = Math.hypot(event.clientX - this.pressed[0], event.clientY - this.pressed[1]) < CLICK;
    if (this.isDrawing) this.stage.controls.enabled = true;
    this.path.removeFromParent(); // the simulation shows where it goes
    if (event.type === "pointerup" && (this.isDrawing || isClick)) this.ground?.(this.drawn.map((p) => [p.x, p.y]));
    this.drawn = [];
    this.isDrawing = false;
    this.stage.invalidate();
  }

  private move(event: PointerEvent): void {
    if (this.isDrawing) return this.draw(event);
    if (this.held) {
      event.stopImmediatePropagation();
      this.at = [event.clientX, event.clientY];
      // once a picture is often enough for the simulation
      this.waiting ||= requestAnimationFrame(() => {
        this.waiting = 0;
        this.follow();
      });
    } else if (event.pointerType !== "touch" && !event.buttons && !this.waiting) {
      const { clientX, clientY } = event;
      this.waiting = requestAnimationFrame(() => {
        this.waiting = 0;
        this.name(clientX, clientY);
      });
    }
  }

  /** Moves the far end of the spring to the mouse, as far from the camera as it was taken: the camera goes along too. */
  follow(): void {
    const ray = this.held && this.stage.ray(...this.at);
    if (!this.held || !ray) return;
    const { camera } = ray.view;
    const away = camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(
      away,
      camera.position.clone().addScaledVector(away, this.depth),
    );
    if (ray.caster.ray.intersectPlane(plane, this.held.target)) this.grip?.(this.held, false);
    this.drawString();
  }

  private up(event: PointerEvent): void {
    if (this.drawn.length) return this.walkThere(event);
    if (!this.held) {
      if (event.pointerType === "touch" && event.type === "pointerup") this.name(event.clientX, event.clientY);
      return;
    }
    event.stopImmediatePropagation();
    this.held = null;
    this.tip.hidden = true;
    this.string.removeFromParent();
    this.stage.controls.enabled = true;
    this.grip?.(null, false);
    this.stage.invalidate();
  }

  /** Shows the name of the body under the mouse. */
  name(x: number, y: number): void {
    const world = this.world();
    const hit = world && pick(this.stage, world, x, y);
    this.tip.hidden = !hit;
    this.stage.canvas.style.cursor = hit && this.grip ? "grab" : "";
    if (!hit) return;
    const track = world.header.tracks[hit.track];
    const { name } = track.bodies[hit.body];
    this.tip.textContent = world.figures.length > 1 && name !== track.name ? `${name} · ${track.name}` : name;
    const box = this.stage.canvas.getBoundingClientRect();
    this.tip.style.left = `${x - box.left}px`;
    this.tip.style.top = `${y - box.top}px`;
  }

  /** Writes beside the mouse how hard what is held is pulled [N]. */
  pulls(force: number): void {
    const world = this.world();
    if (!this.held || !world) return;
    const { name } = world.header.tracks[this.held.track].bodies[this.held.body];
    this.tip.textContent = `${name} · ${Math.round(force)} N ≈ ${readable(force / 9.81)} kg`;
    const box = this.stage.canvas.getBoundingClientRect();
    this.tip.style.left = `${this.at[0] - box.left}px`;
    this.tip.style.top = `${this.at[1] - box.top}px`;
    this.tip.hidden = false;
  }

  /** The line from the held point to the mouse. */
  drawString(): void {
    const world = this.world();
    const mesh = this.held && world?.figures[this.held.track]?.meshes[this.held.body];
    if (!this.held || !mesh) return;
    mesh.updateMatrixWorld();
    const from = mesh.localToWorld(this.held.point.clone());
    const places = this.string.geometry.attributes.position as THREE.BufferAttribute;
    places.setXYZ(0, from.x, from.y, from.z);
    places.setXYZ(1, this.held.target.x, this.held.target.y, this.held.target.z);
    places.needsUpdate = true;
    this.stage.invalidate();
  }
}
