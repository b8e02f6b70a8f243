/** The canvas: one or two views of the world, one orbit for both, drawn only when something has changed. */
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import type { Palette } from "./palette";
import { fading } from "./fading";

export interface StageOptions {
  /** null: where a graphics card draws; without one they take longer than all else together. */
  shadows: boolean | null;
  antialias: boolean | null;
  pixelRatio: number;
}

/** A camera given from outside: places [m] and the vertical field of view [deg]. */
export interface Eye {
  eye: [number, number, number];
  target: [number, number, number];
  fov: number;
}

const FIELD_OF_VIEW = 28;

/** One world: the whole canvas, or a half of it. */
export class View {
  readonly scene = new THREE.Scene();
  readonly content = new THREE.Group();
  readonly camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.05, 500);
  /** How far this view's camera stands from the orbit's own. */
  readonly shift = new THREE.Vector3();
  private readonly sky = new THREE.HemisphereLight();
  private readonly sun = new THREE.DirectionalLight();
  private readonly rim = new THREE.DirectionalLight();
  private readonly sunward = new THREE.Vector3();
  private readonly rimward = new THREE.Vector3();

  constructor(
    readonly size: number,
    heading: number,
    shadows: boolean,
  ) {
    this.camera.up.set(0, 0, 1);
    this.sky.position.set(0, 0, 1);
    const turn = new THREE.Matrix4().makeRotationZ(heading);
    this.sunward.set(0.95, -0.7, 1.5).applyMatrix4(turn).normalize();
    this.rimward.set(-0.9, 1.2, 0.7).applyMatrix4(turn).normalize();
    this.sun.castShadow = shadows;
    this.sun.shadow.mapSize.set(2048, 2048);
    const reach = 2.6 * size;
    Object.assign(this.sun.shadow.camera, { left: -reach, right: reach, bottom: -reach, top: reach, near: 0.1, far: 14 * size });
    this.sun.shadow.radius = 4;
    this.sun.shadow.bias = -0.0004;
    this.sun.shadow.normalBias = 0.012 * size;
    this.scene.add(this.content, this.sky, this.sun, this.sun.target, this.rim, this.rim.target);
  }

  paint(palette: Palette): void {
    this.scene.background = new THREE.Color(palette.background);
    this.sky.color.set(palette.sky);
    this.sky.groundColor.set(palette.bounce);
    this.sky.intensity = palette.isDark ? 1.1 : 1.3;
    this.sun.color.set("#fffaf2");
    this.sun.intensity = palette.isDark ? 2.2 : 2.1;
    this.rim.color.set(palette.isDark ? "#8fb8ff" : "#dfeaff");
    this.rim.intensity = palette.isDark ? 1.1 : 0.5;
  }

  /** Light comes along with what is looked at, so that its shadow is always sharp. */
  light(focus: THREE.Vector3): void {
    // in steps of a shadow pixel: a shadow that slides by less than one shimmers
    const step = (5.2 * this.size) / 2048;
    const at = focus.clone().divideScalar(step).round().multiplyScalar(step);
    for (const [lamp, way] of [
      [this.sun, this.sunward],
      [this.rim, this.rimward],
    ] as const) {
      lamp.target.position.copy(at);
      lamp.position.copy(at).addScaledVector(way, 7 * this.size);
    }
  }
}

export class Stage {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(FIELD_OF_VIEW, 1, 0.05, 500);
  readonly controls: OrbitControls;
  views: View[] = [];
  /** Called before each view of a picture is drawn, with its camera and its size [px]. */
  prepare: (view: number, camera: THREE.PerspectiveCamera, width: number, height: number) => void = () => {};
  /** Called after each picture. */
  drawn: () => void = () => {};
  pictures = 0;
  /** How far the ground reaches from a place in every direction [m]. */
  edge: (focus: THREE.Vector3) => number = () => Infinity;
  /** Where `picture` looks from; null: where the viewer does. */
  eye: Eye | null = null;
  /** Nobody looks: only `picture` draws. */
  isFilming = false;
  private wanted = 0;
  private width = 1;
  private height = 1;
  readonly hasShadows: boolean;

  constructor(
    private readonly box: HTMLElement,
    options: StageOptions,
  ) {
    const { canvas, context, isFine } = openCanvas(options.antialias);
    this.renderer = new THREE.WebGLRenderer({ canvas, context });
    this.renderer.setPixelRatio(options.pixelRatio);
    this.hasShadows = options.shadows ?? isFine;
    this.renderer.shadowMap.enabled = this.hasShadows;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.autoClear = false;
    this.renderer.debug.checkShaderErrors = false; // asking waits until they are compiled
    box.append(this.renderer.domElement);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.enableDamping = true;
    this.controls.dampingFactor = 0.18;
    this.controls.maxPolarAngle = 0.495 * Math.PI;
    this.controls.addEventListener("change", () => this.invalidate());
    this.renderer.domElement.addEventListener("webglcontextrestored", () => this.invalidate());
    new ResizeObserver(() => this.resize()).observe(box);
  }

  get canvas(): HTMLCanvasElement {
    return this.renderer.domElement;
  }

  /** Empties the stage and gives it `count` views of a world of a given size. */
  reset(count: number, size: number, heading: number, palette: Palette): void {
    for (const view of this.views) dispose(view.scene);
    this.views = Array.from({ length: count }, () => new View(size, heading, this.hasShadows));
    for (const camera of [this.camera, ...this.views.map((v) => v.camera)]) {
      camera.near = 0.02 * size;
      camera.far = 300 * size;
    }
    this.controls.minDistance = 0.4 * size;
    this.controls.maxDistance = 60 * size;
    this.paint(palette);
    this.resize();
  }

  paint(palette: Palette): void {
    for (const view of this.views) view.paint(palette);
    fading.background.value.set(palette.background);
    this.invalidate();
  }

  /** Asks for a picture, once. */
  invalidate(): void {
    if (!this.wanted) this.wanted = requestAnimationFrame(() => this.tick());
  }

  private tick(): void {
    const isGliding = this.controls.update();
    this.draw();
    if (isGliding) this.invalidate();
  }

  /** Draws now. */
  draw(): void {
    cancelAnimationFrame(this.wanted);
    this.wanted = 0;
    if (this.isFilming) return;
    this.render(this.width, this.height);
    this.pictures += 1;
    this.drawn();
  }

  private render(width: number, height: number, eye: Eye | null = null): void {
    const { renderer } = this;
    renderer.setScissorTest(false);
    renderer.clear();
    renderer.setScissorTest(this.views.length > 1);
    this.views.forEach((view, k) => {
      const { x, y, w, h } = this.part(k, width, height);
      const { camera } = view;
      const focus = new THREE.Vector3(...(eye?.target ?? this.controls.target.toArray())).add(view.shift);
      this.aim(view, w / h, eye);
      this.prepare(k, camera, w, h);
      view.light(focus);
      fading.focus.value.copy(focus);
      const wish = Math.max(9 * view.size, 3.2 * camera.position.distanceTo(focus));
      fading.reach.value = Math.min(wish, Math.max(2.5 * view.size, this.edge(focus)));
      renderer.setViewport(x, height - y - h, w, h); // counted from below
      renderer.setScissor(x, height - y - h, w, h);
      renderer.clear();
      renderer.render(view.scene, camera);
    });
  }

  /** Puts a view's camera where the orbit's stands, or where it is sent to. */
  private aim(view: View, aspect: number, eye: Eye | null = null): void {
    const { camera, shift } = view;
    camera.position.copy(eye ? new THREE.Vector3(...eye.eye) : this.camera.position).add(shift);
    camera.quaternion.copy(this.camera.quaternion);
    if (eye) camera.lookAt(new THREE.Vector3(...eye.target).add(shift));
    camera.fov = eye?.fov ?? FIELD_OF_VIEW;
    camera.aspect = aspect;
    camera.updateProjectionMatrix();
    camera.updateMatrixWorld();
  }

  /** The box of one view in a picture: halves beside each other, or above each other where it is taller than wide. */
  private part(k: number, width = this.width, height = this.height): { x: number; y: number; w: number; h: number } {
    const count = this.views.length;
    if (height > width) {
      const h = Math.floor(height / count);
      return { x: 0, y: k * h, w: width, h: k === count - 1 ? height - k * h : h };
    }
    const w = Math.floor(width / count);
    return { x: k * w, y: 0, w: k === count - 1 ? width - k * w : w, h: height };
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.box;
    if (!clientWidth || !clientHeight || (clientWidth === this.width && clientHeight === this.height)) return;
    this.width = clientWidth;
    this.height = clientHeight;
    this.renderer.setSize(clientWidth, clientHeight);
    this.box.parentElement?.classList.toggle("is-stacked", clientHeight > clientWidth);
    this.invalidate();
  }

  /** Width of one view [CSS px]. */
  get partWidth(): number {
    return this.part(0).w;
  }

  get pixelHeight(): number {
    return this.part(0).h;
  }

  /** Where a point of the world stands on the page [CSS px], or null behind the camera. */
  project(point: THREE.Vector3, k: number): [number, number] | null {
    const view = this.views[k];
    const { x, y, w, h } = this.part(k);
    this.aim(view, w / h); // it may have moved since the last picture
    const at = point.clone().project(view.camera);
    if (at.z > 1 || at.z < -1) return null;
    const box = this.canvas.getBoundingClientRect();
    return [box.left + x + ((at.x + 1) / 2) * w, box.top + y + ((1 - at.y) / 2) * h];
  }

  /** The view under a place on the page and the ray into it. */
  ray(pageX: number, pageY: number): { view: View; index: number; caster: THREE.Raycaster } | null {
    const box = this.canvas.getBoundingClientRect();
    const x = pageX - box.left;
    const y = pageY - box.top;
    if (x < 0 || y < 0 || x >= this.width || y >= this.height) return null;
    const inside = (_: View, k: number) => {
      const part = this.part(k);
      return x >= part.x && x < part.x + part.w && y >= part.y && y < part.y + part.h;
    };
    const index = this.views.findIndex(inside);
    if (index < 0) return null;
    const part = this.part(index);
    this.aim(this.views[index], part.w / part.h);
    const caster = new THREE.Raycaster();
    const ndc = new THREE.Vector2((2 * (x - part.x)) / part.w - 1, 1 - (2 * (y - part.y)) / part.h);
    caster.setFromCamera(ndc, this.views[index].camera);
    return { view: this.views[index], index, caster };
  }

  /** A PNG of the views in a given size, as a data URL. */
  picture(width: number, height: number): string {
    const { canvas, renderer } = this;
    const ratio = renderer.getPixelRatio();
    if (ratio !== 1 || canvas.width !== width || canvas.height !== height) {
      renderer.setPixelRatio(1);
      renderer.setSize(width, height, false);
    }
    this.render(width, height, this.eye);
    const url = canvas.toDataURL("image/png");
    if (this.isFilming) return url;
    renderer.setPixelRatio(ratio);
    renderer.setSize(this.width, this.height);
    this.render(this.width, this.height);
    return url;
  }
}

/** A canvas to draw on: with smooth edges where they are wished for or, if nothing is said, where a graphics card draws. */
function openCanvas(antialias: boolean | null): { canvas: HTMLCanvasElement; context: WebGL2RenderingContext; isFine: boolean } {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("webgl2", { antialias: antialias ?? false, stencil: false, powerPreference: "high-performance" });
  if (!context) throw new Error("WebGL is missing");
  const isFine = hasGraphicsCard(context);
  if (antialias !== null || !isFine) return { canvas, context, isFine };
  context.getExtension("WEBGL_lose_context")?.loseContext();
  return { ...openCanvas(true), isFine };
}

/** True where a graphics card draws and not the processor. */
function hasGraphicsCard(context: WebGL2RenderingContext): boolean {
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const name = String(context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  return !/llvmpipe|softpipe|swiftshader|software|basic render/i.test(name);
}

/** Frees what a part of a scene holds on the graphics card. */
export function dispose(root: THREE.Object3D): void {
  root.traverse((object) => {
    const { geometry, material } = object as THREE.Mesh;
    geometry?.dispose();
    for (const m of material ? [material].flat() : []) {
      (m as THREE.MeshStandardMaterial).map?.dispose();
      m.dispose();
    }
  });
}
