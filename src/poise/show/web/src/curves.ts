/** Lines through the world with ticks, and words beside them. */
import * as THREE from "three";
import { Line2 } from "three/addons/lines/Line2.js";
import { LineGeometry } from "three/addons/lines/LineGeometry.js";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import type { Bracket } from "./clock";
import type { CurveOverlay, LabelOverlay } from "./format";
import { type Mark, flat, tint } from "./marks";
import type { Palette } from "./palette";

const LABEL_HEIGHT = 24; // px
const LABEL_RIM = 4; // px between words and the edge of the picture
const NARROW = 1.6; // widths of the words
const TRAIL = 1.5; // seconds a trail is long where the recording does not say

/** Whether a time lies in the span in which something is drawn. */
export function isWithin(thing: { from?: number; to?: number }, time: number): boolean {
  return time >= (thing.from ?? -Infinity) - 1e-9 && time <= (thing.to ?? Infinity) + 1e-9;
}

/** Vertices of a curve that are seen at a time, as a range of indices [first, last). */
export function span(overlay: CurveOverlay, times: ArrayLike<number> | null, count: number, time: number): [number, number] {
  const show = overlay.show ?? "always";
  if (!isWithin(overlay, time)) return [0, 0];
  if (show === "always" || !times) return [0, count];
  let last = 0;
  while (last < count && times[last] <= time + 1e-9) last++;
  if (show === "past") return [0, last];
  let first = last;
  while (first > 0 && times[first - 1] >= time - (overlay.trail ?? TRAIL)) first--;
  return [first, last];
}

/** Most vertices that lie within `seconds` of each other. */
function longest(times: ArrayLike<number>, seconds: number): number {
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[first] < times[last] - seconds) first++;
    most = Math.max(most, last - first + 2);
  }
  return Math.min(most, times.length);
}

export class Curve implements Mark {
  readonly group = new THREE.Group();
  private readonly line: Line2;
  private readonly dots: THREE.InstancedMesh | null = null;
  private readonly isTrail: boolean;

  constructor(
    private readonly overlay: CurveOverlay,
    private readonly vertices: Float32Array,
    private readonly times: Float32Array | null,
    size: number,
  ) {
    const count = vertices.length / 3;
    const color = tint(overlay.color);
    const look = { color: color.getHex(), linewidth: overlay.ticks ? 2.5 : 3, dashed: overlay.dashed ?? false };
    // transparent even where it hides all, so that its veil is no other program
    const material = new LineMaterial({ ...look, dashSize: 0.03 * size, gapSize: 0.02 * size, transparent: true });
    const veiled = material.clone();
    veiled.depthFunc = THREE.GreaterDepth;
    veiled.depthWrite = false;
    veiled.opacity = 0.3;
    const geometry = new LineGeometry();
    this.isTrail = overlay.show === "trail" && times !== null;
    const room = this.isTrail ? longest(times!, overlay.trail ?? TRAIL) : count;
    if (count > 1) geometry.setPositions(vertices.slice(0, 3 * Math.max(2, room)));
    this.line = new Line2(geometry, material);
    if (overlay.dashed) this.line.computeLineDistances();
    const behind = new Line2(geometry, veiled);
    behind.renderOrder = 20;
    this.line.frustumCulled = behind.frustumCulled = false;
    this.group.add(this.line, behind);
    if (overlay.ticks) {
      const dot = new THREE.SphereGeometry(0.0075 * size, 12, 8);
      this.dots = new THREE.InstancedMesh(dot, flat(color), count);
      this.dots.frustumCulled = false;
      const place = new THREE.Matrix4();
      for (let i = 0; i < count; i++) {
        this.dots.setMatrixAt(i, place.makeTranslation(vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]));
      }
      this.group.add(this.dots);
    }
  }

  at(_frame: Bracket, time: number): void {
    const count = this.vertices.length / 3;
    const [first, last] = span(this.overlay, this.times, count, time);
    this.group.visible = last - first > 1;
    if (!this.group.visible) return;
    if (this.isTrail) this.cut(first, last);
    this.line.geometry.instanceCount = last - first - 1;
    if (this.dots) this.dots.count = last;
  }

  /** Writes the segments of a range of vertices to the front of the strip. */
  private cut(first: number, last: number): void {
    const strip = (this.line.geometry.attributes.instanceStart as THREE.InterleavedBufferAttribute).data;
    for (let i = first; i < last - 1; i++) {
      strip.array.set(this.vertices.subarray(3 * i, 3 * i + 6), 6 * (i - first));
    }
    strip.needsUpdate = true;
  }
}

/** Words in the world that always face the eye and keep their size on the screen. */
export class Label implements Mark {
  readonly group: THREE.Sprite;
  private aspect = 1;

  constructor(private readonly overlay: LabelOverlay) {
    this.group = new THREE.Sprite(
      new THREE.SpriteMaterial({ sizeAttenuation: false, depthTest: false, transparent: true }),
    );
    this.group.position.fromArray(overlay.position);
    this.group.renderOrder = 30;
  }

  /** Draws the words anew in the colors of a look, at the size they have on the screen. */
  paint(palette: Palette, ratio: number): void {
    const canvas = document.createElement("canvas");
    const context = canvas.getContext("2d")!;
    const font = "600 13px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
    context.font = font;
    const width = Math.ceil(context.measureText(this.overlay.text).width) + 18;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(LABEL_HEIGHT * ratio);
    context.scale(ratio, ratio);
    context.font = font;
    context.globalAlpha = 0.86;
    context.fillStyle = palette.panel;
    context.beginPath();
    context.roundRect(0, 0, width, LABEL_HEIGHT, 7);
    context.fill();
    context.globalAlpha = 1;
    context.fillStyle = `#${tint(this.overlay.color).lerp(new THREE.Color(palette.ink), 0.45).getHexString()}`;
    context.textBaseline = "middle";
    context.fillText(this.overlay.text, 9, LABEL_HEIGHT / 2 + 1);
    const { material } = this.group;
    material.map?.dispose();
    material.map = new THREE.CanvasTexture(canvas);
    material.map.colorSpace = THREE.SRGBColorSpace;
    material.map.generateMipmaps = false;
    material.map.minFilter = THREE.LinearFilter;
    material.needsUpdate = true;
    this.aspect = width / LABEL_HEIGHT;
  }

  /** Keeps the words their size and inside a picture of so many pixels, smaller where it is narrower than they are. */
  fit(camera: THREE.PerspectiveCamera, width: number, height: number): void {
    const tall = 2 * Math.tan((0.5 * camera.fov * Math.PI) / 180);
    const room = Math.max(1, width - 2 * LABEL_RIM);
    const high = Math.min(LABEL_HEIGHT, room / this.aspect);
    this.group.scale.set((high / height) * tall * this.aspect, (high / height) * tall, 1);
    const at = this.group.getWorldPosition(new THREE.Vector3()).project(camera);
    const [x, y] = [0.5 * (1 + at.x) * width, 0.5 * (1 - at.y) * height];
    const wide = high * this.aspect;
    const into = (place: number, length: number, side: number) =>
      Math.min(Math.max(place, LABEL_RIM), Math.max(LABEL_RIM, side - LABEL_RIM - length));
    // to the right of its place and as high, but where that would be cut
    const left = into(x + 0.04 * wide, wide, width);
    // in a narrow still the words would lie on the figure: they go below it
    const top = room < NARROW * LABEL_HEIGHT * this.aspect ? height - high - 2 * LABEL_RIM : into(y - 0.5 * high, high, height);
    this.group.center.set((x - left) / wide, 1 - (y - top) / high);
  }

  at(_frame: Bracket, time: number): void {
    this.group.visible = isWithin(this.overlay, time);
  }
}
