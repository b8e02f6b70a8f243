/** A scene on the stage: figures, ground and marks built from a pack, and moved to a time. */
import * as THREE from "three";
import { bracket } from "./clock";
import { Curve, Label } from "./curves";
import { Figure, ghosts } from "./figure";
import { type Header, type Overlay, viewOf } from "./format";
import { type Held, type Mark, Points, Polygon, Vectors } from "./marks";
import type { Pack } from "./pack";
import type { Palette } from "./palette";
import { LivePoses, type PoseSource, RecordedPoses, poseOf } from "./poses";
import { Rows } from "./rows";
import type { Stage } from "./stage";
import { Terrain } from "./terrain";

/** Seconds before and after over which the camera smooths the path of what it follows. */
const CALM = 0.4;

/** Heights of a figure from which on another one is not part of the first view. */
const FAR = 4;

interface PlacedMark {
  mark: Mark;
  overlay: Overlay;
  view: number;
}

export class World {
  readonly figures: Figure[];
  readonly sources: PoseSource[] = [];
  readonly marks: PlacedMark[] = [];
  readonly times: Float64Array;
  readonly terrain: Terrain;
  readonly layersOn = new Map<string, boolean>();
  /** Poses are known; in a live scene they are from its first state on. */
  hasPoses = false;
  private readonly scratch: Float32Array[];

  private constructor(
    readonly pack: Pack,
    times: Float64Array,
  ) {
    const { header } = pack;
    this.times = times;
    this.figures = header.tracks.map((track, k) => new Figure(track, k, viewOf(header, track)));
    this.scratch = header.tracks.map(poseOf);
    for (const track of header.tracks) {
      this.sources.push(header.times ? new RecordedPoses(pack, track, times) : new LivePoses(poseOf(track), track.root));
    }
    for (const layer of header.layers) this.layersOn.set(layer.name, layer.on);
    this.terrain = new Terrain(header);
  }

  get header(): Header {
    return this.pack.header;
  }

  get isLive(): boolean {
    return this.header.times === null;
  }

  static async build(pack: Pack): Promise<World> {
    const { header } = pack;
    const times = header.times ? Float64Array.from(await pack.floats(header.times)) : new Float64Array([0]);
    const world = new World(pack, times);
    world.hasPoses = !world.isLive;
    await Promise.all([
      world.terrain.build(pack),
      ...world.figures.map((figure) => figure.build(pack)),
      ...header.overlays.map(async (overlay, k) => {
        world.marks[k] = { mark: await buildMark(pack, overlay, times, header), overlay, view: viewOf(header, overlay) };
      }),
    ]);
    return world;
  }

  /** Begins with the poses of a live scene before this one, as far as the figures are the same. */
  takeOver(before: World): void {
    this.sources.forEach((source, k) => {
      const old = before.sources[k];
      if (source instanceof LivePoses && old instanceof LivePoses && old.pose.length === source.pose.length) {
        source.pose.set(old.pose);
      }
    });
    this.hasPoses = before.hasPoses;
  }

  /** Puts everything onto a stage whose views are there already. */
  addTo(stage: Stage): void {
    const content = stage.views.map((view) => view.content);
    for (const figure of this.figures) content[figure.view].add(figure.group);
    for (const { mark, view } of this.marks) content[view].add(holder(mark));
    this.terrain.addTo(content);
    this.show();
  }

  paint(palette: Palette): void {
    this.terrain.paint(palette);
    ghosts.lift.value = palette.isDark ? 2.4 : 1;
    for (const { mark } of this.marks) if (mark instanceof Label) mark.paint(palette, devicePixelRatio);
  }

  readonly isOn = (layer: string): boolean => this.layersOn.get(layer) ?? true;

  /** Shows the layers that are on. */
  show(): void {
    for (const figure of this.figures) {
      figure.show(this.isOn);
      figure.group.visible = this.hasPoses;
    }
    for (const { mark, overlay } of this.marks) holder(mark).visible = this.isOn(overlay.layer);
    this.terrain.show(this.isOn);
  }

  /** Unpacks what a picture at a time needs. */
  async load(time: number): Promise<void> {
    await Promise.all(this.sources.flatMap((s) => [s.load(time), s.load(time - CALM), s.load(time + CALM)]));
  }

  /** Moves everything to a time; false if frames of it are not unpacked yet, and then nothing moves. */
  seek(time: number): boolean {
    for (const [k, source] of this.sources.entries()) {
      if (!source.sample(time, this.scratch[k])) return false;
    }
    this.figures.forEach((figure, k) => {
      figure.pose.set(this.scratch[k]);
      figure.apply();
    });
    const frame = bracket(this.times, time);
    this.terrain.at(this.times, time);
    if (!this.isLive) for (const { mark } of this.marks) mark.at(frame, time);
    return true;
  }

  /** True if the followed figure climbs by more than a fifth of its height. */
  async climbs(): Promise<boolean> {
    const last = this.times[this.times.length - 1];
    await this.load(last);
    const [a, b] = [new THREE.Vector3(), new THREE.Vector3()];
    return this.anchor(0, this.times[0], a) && this.anchor(0, last, b) && b.z - a.z > 0.2 * this.header.size;
  }

  /**
   * Points around all that is drawn of the solid figures now, those of other views moved to where the first one looks
   * [m]. Who is far from the figure that is followed is left out.
   */
  outline(time: number): THREE.Vector3[] {
    const [first, other] = [new THREE.Vector3(), new THREE.Vector3()];
    this.anchor(0, time, first);
    return this.figures.flatMap((figure) => {
      if (figure.track.style === "ghost" || figure.track.layer === "props" || !this.isOn(figure.track.layer)) return [];
      if (!figure.view && figure.place(0).distanceTo(first) > FAR * this.header.size) return [];
      const points = figure.outline();
      if (figure.view && this.anchor(figure.view, time, other)) for (const point of points) point.add(first).sub(other);
      return points;
    });
  }

  /** The figure a view follows. */
  followed(view: number): Figure | null {
    const named = this.figures[this.header.follow];
    if (named?.view === view) return named;
    return this.figures.find((f) => f.view === view && f.track.style === "solid") ?? null;
  }

  /** Where the followed figure is, without its quick moves: a tent over the seconds around a time. */
  anchor(view: number, time: number, out: THREE.Vector3): boolean {
    const figure = this.followed(view);
    if (!figure) return false;
    const source = this.sources[figure.index];
    const [first, last] = [this.times[0], this.times[this.times.length - 1]];
    const steps = this.isLive ? 0 : 8;
    const [place, mirror] = [new Float32Array(3), new Float32Array(3)];
    let total = 0;
    out.set(0, 0, 0);
    for (let i = -steps; i <= steps; i++) {
      const weight = 1 + steps - Math.abs(i);
      const t = time + (steps ? (CALM * i) / steps : 0);
      const within = Math.min(Math.max(t, first), last);
      if (!source.root(within, place)) continue;
      // beyond its ends a path goes on as it came, so that the camera does not lag there
      if (within !== t && first !== last) {
        if (!source.root(2 * within - t, mirror)) continue;
        for (let k = 0; k < 3; k++) place[k] = 2 * place[k] - mirror[k];
      }
      out.x += weight * place[0];
      out.y += weight * place[1];
      out.z += weight * place[2];
      total += weight;
    }
    if (total) out.divideScalar(total);
    return total > 0;
  }

}

/** The object that a layer hides; a mark itself hides its group by time. */
function holder(mark: Mark): THREE.Object3D {
  if (!mark.group.userData.holder) {
    const group = new THREE.Group();
    group.add(mark.group);
    mark.group.userData.holder = group;
  }
  return mark.group.userData.holder as THREE.Group;
}

async function buildMark(pack: Pack, overlay: Overlay, times: Float64Array, header: Header): Promise<Mark> {
  const rows = (ref?: Parameters<typeof Rows.load>[1]) => (ref ? Rows.load(pack, ref) : Promise.resolve(undefined));
  switch (overlay.kind) {
    case "points": {
      const held: Held = { places: await rows(overlay.positions), shown: await rows(overlay.shown) };
      return new Points(overlay, held);
    }
    case "vectors": {
      const [places, vectors, shown] = await Promise.all([overlay.points, overlay.vectors, overlay.shown].map(rows));
      return new Vectors(overlay, { places, vectors, shown });
    }
    case "polygon":
      return new Polygon(overlay, { places: await rows(overlay.vertices), shown: await rows(overlay.shown) });
    case "curve": {
      const own = overlay.times ? await pack.floats(overlay.times) : null;
      const vertices = await pack.floats(overlay.vertices);
      const isOnePerFrame = !own && vertices.length === 3 * times.length && header.times !== null;
      return new Curve(overlay, vertices, own ?? (isOnePerFrame ? Float32Array.from(times) : null), header.size);
    }
    case "label":
      return new Label(overlay);
  }
}
