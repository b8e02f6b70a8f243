/** The character in space: bones, bodies, handles of the chosen one, the skin, the center of mass over the ground. */
import * as THREE from "three";
import { withFading } from "../fading";
import type { Palette } from "../palette";
import { capsule } from "../shapes";
import { Stage } from "../stage";
import { type Body, type Rod, type State, limbOf } from "./state";

/** How near to a bone counts as on it [px]. */
const NEAR = 13;
const HANDLE = 11;

export interface Handle {
  capsule: number;
  part: "start" | "end" | "radius";
  place: THREE.Vector3;
}

const ROLE_COLORS: Record<string, [string, string]> = {
  support: ["#2aa574", "#4fc893"],
  targeted: ["#3f82d8", "#7ab3ff"],
  free: ["#dd8424", "#f0a04b"],
};

export class Scene {
  readonly stage: Stage;
  handles: Handle[] = [];
  private state: State | null = null;
  private palette!: Palette;
  private chosen = -1;
  private marked: number[] = [];
  private readonly things = new THREE.Group();
  private readonly skin = new THREE.Group();
  private readonly ground = new THREE.Group();
  private line = { value: new THREE.Color() };
  private size = 0;
  private floor = 0;

  constructor(private readonly box: HTMLElement, dpr: number) {
    this.stage = new Stage(box, { shadows: null, antialias: null, pixelRatio: dpr });
  }

  paint(palette: Palette): void {
    this.palette = palette;
    this.line.value.set(palette.line);
    this.stage.paint(palette);
    if (this.state) this.draw();
  }

  show(state: State, chosen: number): void {
    this.state = state;
    this.chosen = chosen;
    if (!this.size) this.begin(state);
    this.draw();
  }

  choose(joint: number): void {
    this.chosen = joint;
    this.draw();
  }

  /** Bones that a gesture is about to reach. */
  mark(joints: number[]): void {
    if (joints.join() === this.marked.join()) return;
    this.marked = joints;
    this.draw();
  }

  private begin(state: State): void {
    const box = new THREE.Box3();
    for (const { place } of [...state.joints, ...state.ends]) box.expandByPoint(new THREE.Vector3(...place));
    const span = box.getSize(new THREE.Vector3());
    this.size = Math.max(span.x, span.y, span.z, 1e-3);
    this.floor = box.min.z;
    const middle = box.getCenter(new THREE.Vector3());
    this.stage.reset(1, this.size, 0, this.palette);
    const { content } = this.stage.views[0];
    content.add(this.things, this.skin, this.ground);
    const plane = new THREE.Mesh(
      new THREE.CircleGeometry(30 * this.size, 48),
      withFading(new THREE.MeshStandardMaterial({ color: this.palette.ground, roughness: 1 }), {
        cell: 10 ** Math.round(Math.log10(0.3 * this.size)),
        color: this.line,
      }),
    );
    plane.name = "ground";
    plane.position.set(middle.x, middle.y, this.floor - 0.012 * this.size);
    plane.receiveShadow = true;
    this.ground.add(plane);
    // seen from half ahead, on its left
    const { camera, controls } = this.stage;
    controls.target.copy(middle);
    const wide = Math.max(span.z, Math.hypot(span.x, span.y) / Math.max(this.box.clientWidth / Math.max(this.box.clientHeight, 1), 0.5));
    const far = (0.66 * wide) / Math.tan((0.5 * camera.fov * Math.PI) / 180) + 0.3 * this.size;
    const way = this.facing(state);
    camera.position.copy(middle).addScaledVector(way, far);
    controls.update();
  }

  /** From where the character is seen best: from the side it is narrow to, a little above. */
  private facing(state: State): THREE.Vector3 {
    const legs = state.limbs.filter((l) => l.kind === "leg" && l.joints.length);
    const left = legs.find((l) => l.name.startsWith("left"));
    const right = legs.find((l) => l.name.startsWith("right"));
    let across = new THREE.Vector3(0, 1, 0);
    if (left && right) {
      across = new THREE.Vector3(...state.joints[left.joints[0]].place).sub(new THREE.Vector3(...state.joints[right.joints[0]].place));
    }
    across.z = 0;
    if (across.lengthSq() < 1e-12) across.set(0, 1, 0);
    across.normalize();
    const ahead = new THREE.Vector3(across.y, -across.x, 0);
    return ahead.multiplyScalar(0.55).addScaledVector(across, 0.8).add(new THREE.Vector3(0, 0, 0.26)).normalize();
  }

  /** The file's skin: places of corners and triangles. */
  dress(places: Float32Array, index: Uint32Array): void {
    this.skin.clear();
    if (!places.length) return;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
    geometry.setIndex(new THREE.BufferAttribute(index, 1));
    geometry.computeVertexNormals();
    const material = new THREE.MeshStandardMaterial({ color: "#a9b4c0", transparent: true, opacity: 0.22, depthWrite: false, side: THREE.DoubleSide });
    const mesh = new THREE.Mesh(geometry, material);
    mesh.renderOrder = 2;
    this.skin.add(mesh);
    this.stage.invalidate();
  }

  private color(joint: number): string {
    const limb = this.state && limbOf(this.state, joint);
    const pair = limb && ROLE_COLORS[limb.role];
    return pair ? pair[this.palette.isDark ? 1 : 0] : this.palette.isDark ? "#8b98a6" : "#97a3af";
  }

  private draw(): void {
    const { state, things } = this;
    if (!state) return;
    for (const child of [...things.children]) {
      (child as THREE.Mesh).geometry?.dispose();
      things.remove(child);
    }
    const plane = this.ground.children[0] as THREE.Mesh;
    (plane.material as THREE.MeshStandardMaterial).color.set(this.palette.ground);
    const withBody = new Set(state.bodies.map((b) => b.joint));
    for (const body of state.bodies) this.drawBody(body);
    const dot = new THREE.SphereGeometry(0.011 * this.size, 12, 8);
    const place = (j: number) => new THREE.Vector3(...state.joints[j].place);
    const bones = new THREE.BufferGeometry();
    const ends: THREE.Vector3[] = [];
    state.joints.forEach((joint, j) => {
      if (joint.parent >= 0) ends.push(place(joint.parent), place(j));
      const isMarked = this.marked.includes(j);
      const tint = isMarked || j === this.chosen ? this.palette.accent : withBody.has(j) ? this.palette.ink : this.palette.faint;
      const ball = new THREE.Mesh(dot, this.flat(tint, withBody.has(j) || isMarked ? 1 : 0.65));
      ball.position.copy(place(j));
      ball.scale.setScalar(j === this.chosen || isMarked ? 1.7 : withBody.has(j) ? 1 : 0.75);
      ball.renderOrder = 5;
      things.add(ball);
    });
    for (const end of state.ends) ends.push(place(end.joint), new THREE.Vector3(...end.place));
    bones.setFromPoints(ends);
    const lines = new THREE.LineSegments(bones, new THREE.LineBasicMaterial({ color: this.palette.ink, transparent: true, opacity: 0.5, depthTest: false }));
    lines.renderOrder = 4;
    things.add(lines);
    this.drawMass();
    this.drawHandles();
    this.stage.invalidate();
  }

  private flat(color: string, opacity = 1): THREE.MeshBasicMaterial {
    return new THREE.MeshBasicMaterial({ color, transparent: true, opacity, depthTest: false });
  }

  private drawBody(body: Body): void {
    const joint = this.state!.joints[body.joint];
    for (const rod of body.capsules) {
      const { places, normals, triangles } = capsule(rod.start, rod.end, rod.radius);
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
      geometry.setAttribute("normal", new THREE.BufferAttribute(normals, 3));
      geometry.setIndex(Array.from(triangles));
      const isChosen = body.joint === this.chosen;
      const material = new THREE.MeshStandardMaterial({
        color: this.color(body.joint),
        roughness: 0.75,
        transparent: true,
        opacity: isChosen ? 0.95 : 0.78,
        emissive: isChosen ? this.palette.accent : "#000000",
        emissiveIntensity: 0.25,
      });
      const mesh = new THREE.Mesh(geometry, material);
      mesh.position.set(...joint.place);
      mesh.quaternion.set(joint.turn[1], joint.turn[2], joint.turn[3], joint.turn[0]);
      mesh.castShadow = true;
      this.things.add(mesh);
    }
  }

  /** The center of mass, and the line from it to the ground. */
  private drawMass(): void {
    const at = new THREE.Vector3(...this.state!.com);
    const ball = new THREE.Mesh(new THREE.SphereGeometry(0.02 * this.size, 16, 12), this.flat("#8a3ffc", 0.9));
    ball.position.copy(at);
    ball.renderOrder = 6;
    const down = new THREE.BufferGeometry().setFromPoints([at, new THREE.Vector3(at.x, at.y, this.floor)]);
    const line = new THREE.Line(down, new THREE.LineBasicMaterial({ color: "#8a3ffc", depthTest: false, transparent: true, opacity: 0.7 }));
    const ring = new THREE.Mesh(new THREE.RingGeometry(0.018 * this.size, 0.03 * this.size, 24), this.flat("#8a3ffc", 0.9));
    ring.position.set(at.x, at.y, this.floor);
    for (const thing of [line, ring]) thing.renderOrder = 6;
    this.things.add(ball, line, ring);
  }

  private drawHandles(): void {
    const { state } = this;
    this.handles = [];
    const body = state!.bodies.find((b) => b.joint === this.chosen);
    if (!body) return;
    body.capsules.forEach((rod, k) => {
      const start = this.toWorld(body.joint, rod.start);
      const end = this.toWorld(body.joint, rod.end);
      const middle = start.clone().lerp(end, 0.5);
      this.handles.push({ capsule: k, part: "end", place: end });
      if (end.distanceTo(start) > 1e-6) this.handles.push({ capsule: k, part: "start", place: start });
      this.handles.push({ capsule: k, part: "radius", place: middle.clone().addScaledVector(this.aside(start, end), rod.radius) });
    });
    for (const handle of this.handles) {
      const shape = handle.part === "radius" ? new THREE.OctahedronGeometry(0.02 * this.size) : new THREE.SphereGeometry(0.016 * this.size, 14, 10);
      const mesh = new THREE.Mesh(shape, this.flat(handle.part === "radius" ? "#e0486a" : "#f5b301"));
      mesh.position.copy(handle.place);
      mesh.renderOrder = 8;
      this.things.add(mesh);
    }
  }

  /** Across a capsule as the camera sees it. */
  private aside(start: THREE.Vector3, end: THREE.Vector3): THREE.Vector3 {
    const look = this.stage.camera.getWorldDirection(new THREE.Vector3());
    const across = end.clone().sub(start).cross(look);
    if (across.lengthSq() < 1e-12) across.set(0, 0, 1).cross(look);
    return across.normalize();
  }

  toWorld(joint: number, local: number[]): THREE.Vector3 {
    const { place, turn } = this.state!.joints[joint];
    return new THREE.Vector3(...local).applyQuaternion(new THREE.Quaternion(turn[1], turn[2], turn[3], turn[0])).add(new THREE.Vector3(...place));
  }

  toLocal(joint: number, world: THREE.Vector3): number[] {
    const { place, turn } = this.state!.joints[joint];
    const back = new THREE.Quaternion(turn[1], turn[2], turn[3], turn[0]).invert();
    return world.clone().sub(new THREE.Vector3(...place)).applyQuaternion(back).toArray();
  }

  /** A capsule with one handle moved to a place on the page. */
  moved(rod: Rod, joint: number, handle: Handle, x: number, y: number): Rod | null {
    const ray = this.stage.ray(x, y);
    if (!ray) return null;
    const look = this.stage.camera.getWorldDirection(new THREE.Vector3());
    const at = ray.caster.ray.intersectPlane(new THREE.Plane().setFromNormalAndCoplanarPoint(look, handle.place), new THREE.Vector3());
    if (!at) return null;
    if (handle.part !== "radius") return { ...rod, [handle.part]: this.toLocal(joint, at) };
    const start = this.toWorld(joint, rod.start);
    const end = this.toWorld(joint, rod.end);
    const near = new THREE.Line3(start, end).closestPointToPoint(at, true, new THREE.Vector3());
    return { ...rod, radius: Math.max(1e-3 * this.size, near.distanceTo(at)) };
  }

  /** Shows a body with other capsules until the server has answered. */
  preview(joint: number, capsules: Rod[]): void {
    const body = this.state?.bodies.find((b) => b.joint === joint);
    if (!body) return;
    body.capsules = capsules;
    this.draw();
  }

  project(joint: number): [number, number] | null {
    return this.state ? this.stage.project(new THREE.Vector3(...this.state.joints[joint].place), 0) : null;
  }

  projectHandle(k: number): [number, number] | null {
    return this.handles[k] ? this.stage.project(this.handles[k].place, 0) : null;
  }

  handleAt(x: number, y: number): Handle | null {
    const distance = (h: Handle) => {
      const at = this.stage.project(h.place, 0);
      return at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
    };
    const near = this.handles.filter((h) => distance(h) < HANDLE).sort((a, b) => distance(a) - distance(b));
    return near[0] ?? null;
  }

  /** The bone at a place on the page: a joint near it, else the bone, else the body under it. */
  jointAt(x: number, y: number, near = NEAR): number {
    const { state } = this;
    if (!state) return -1;
    const seen = state.joints.map((_, j) => this.project(j));
    let best = -1;
    let least = near;
    seen.forEach((at, j) => {
      const off = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (off < least) [best, least] = [j, off];
    });
    if (best >= 0) return best;
    least = 0.6 * near;
    state.joints.forEach(({ parent }, j) => {
      const [a, b] = [parent >= 0 ? seen[parent] : null, seen[j]];
      if (!a || !b) return;
      const along = [b[0] - a[0], b[1] - a[1]];
      const part = ((x - a[0]) * along[0] + (y - a[1]) * along[1]) / Math.max(along[0] ** 2 + along[1] ** 2, 1e-9);
      if (part < 0 || part > 1) return;
      const off = Math.hypot(a[0] + part * along[0] - x, a[1] + part * along[1] - y);
      if (off < least) [best, least] = [parent, off];
    });
    return best >= 0 ? best : this.bodyAt(x, y);
  }

  private bodyAt(x: number, y: number): number {
    const ray = this.stage.ray(x, y);
    if (!ray) return -1;
    let best = -1;
    let least = Infinity;
    for (const body of this.state!.bodies) {
      for (const rod of body.capsules) {
        const [a, b] = [this.toWorld(body.joint, rod.start), this.toWorld(body.joint, rod.end)];
        const off = Math.sqrt(ray.caster.ray.distanceSqToSegment(a, b));
        const far = ray.caster.ray.origin.distanceTo(a.lerp(b, 0.5));
        if (off < rod.radius && far < least) [best, least] = [body.joint, far];
      }
    }
    return best;
  }
}
