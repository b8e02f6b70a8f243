/** Types of the header of a pack and of the live messages: docs/scene_format.md as TypeScript. */
export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number];
export type Color = [number, number, number];

export interface ArrayRef {
  blob: number;
  shape: number[];
  kind: "f32" | "u8" | "u16" | "u32" | "packed";
  step?: number;
  order?: 0 | 1 | 2;
  planes?: number;
}

export type Shape = { color?: Color } & (
  | { kind: "capsule" | "cylinder"; start: Vec3; end: Vec3; radius: number }
  | { kind: "sphere"; center: Vec3; radius: number }
  | { kind: "box"; center: Vec3; half: Vec3; rotation: Quat }
  | { kind: "mesh"; vertices: ArrayRef; indices: ArrayRef }
);

export interface Body {
  name: string;
  parent: number;
  color?: Color;
  offset?: Vec3;
  shapes: Shape[];
  com?: Vec3;
  draggable?: boolean;
}

export interface Skin {
  name: string;
  vertices: ArrayRef;
  normals?: ArrayRef;
  indices: ArrayRef;
  joints: ArrayRef;
  weights: ArrayRef;
  inverse_binds: ArrayRef;
  uvs?: ArrayRef;
  colors?: ArrayRef;
  texture?: { blob: number; type: string };
  color?: Color;
}

export interface Track {
  name: string;
  layer: string;
  style: "solid" | "ghost";
  color: Color;
  mass?: number;
  view?: number;
  bodies: Body[];
  /** The pelvis among them, which the camera goes along with; the first where it is not said. */
  root?: number;
  skins?: Skin[];
  frames?: { chunk: number; orientations: ArrayRef[]; positions: ArrayRef[] };
}

export interface Poses {
  positions: ArrayRef;
  orientations: ArrayRef;
  /** In a live scene: when each pose is [s]. */
  times?: ArrayRef;
}

export type Ground = { layer?: string; view?: number; poses?: Poses } & (
  | { kind: "grid"; origin: [number, number]; heading: number; along: ArrayRef; across: ArrayRef; heights: ArrayRef }
  | { kind: "mesh"; vertices: ArrayRef; indices: ArrayRef }
);

interface OverlayBase {
  name: string;
  layer: string;
  color: Color;
  track?: number;
  view?: number;
}
export type PointsOverlay = OverlayBase & {
  kind: "points";
  positions?: ArrayRef;
  shown?: ArrayRef;
  count?: number;
  size: number;
  mark: "ball" | "ring" | "cross";
  names?: string[];
};
export type VectorsOverlay = OverlayBase & {
  kind: "vectors";
  points?: ArrayRef;
  vectors?: ArrayRef;
  shown?: ArrayRef;
  count?: number;
  unit?: string;
  scale: number;
  width: number;
  tip: "end" | "start";
};
export type PolygonOverlay = OverlayBase & { kind: "polygon"; vertices?: ArrayRef; shown?: ArrayRef; count?: number };
export type CurveOverlay = OverlayBase & {
  kind: "curve";
  vertices: ArrayRef;
  times?: ArrayRef;
  show?: "always" | "past" | "trail";
  trail?: number;
  from?: number;
  to?: number;
  ticks?: boolean;
  dashed?: boolean;
};
export type LabelOverlay = OverlayBase & { kind: "label"; text: string; position: Vec3; from?: number; to?: number };
export type Overlay = PointsOverlay | VectorsOverlay | PolygonOverlay | CurveOverlay | LabelOverlay;

export interface TimelineRow {
  name: string;
  color: Color;
  spans?: [number, number, string][];
  marks?: [number, string][];
}

export interface Series {
  name: string;
  color: Color;
  dashed?: boolean;
  values?: ArrayRef;
  shown?: ArrayRef;
}

export interface Plot {
  name: string;
  unit: string;
  series: Series[];
  lines?: [number, string][];
}

export interface Control {
  name: string;
  label: string;
  kind: "slider" | "toggle" | "choice" | "button" | "ground";
  unit?: string;
  low?: number;
  high?: number;
  step?: number;
  /** The value is the power of ten of what is shown. */
  power?: boolean;
  value?: number | boolean | string;
  choices?: string[];
}

/** Several results; each point's layer shows one of them. */
export interface Choices {
  title: string;
  x_label: string;
  y_label: string;
  points: { layer: string; x: number; y: number; label: string }[];
  chosen: number;
}

export interface Header {
  format: string;
  version: number;
  blobs: [number, number, number][];
  title: string;
  made_by?: string;
  notes?: string[];
  views?: string[];
  times: ArrayRef | null;
  follow: number;
  heading: number;
  size: number;
  layers: { name: string; label: string; on: boolean }[];
  tracks: Track[];
  terrain: Ground[];
  overlays: Overlay[];
  timeline: TimelineRow[];
  plots: Plot[];
  controls: Control[];
  choices?: Choices;
}

/** The view (half of the page) that something belongs to. */
export function viewOf(header: Header, thing: { view?: number; track?: number }): number {
  const wished = thing.view ?? (thing.track === undefined ? 0 : (header.tracks[thing.track]?.view ?? 0));
  return Math.min(Math.max(0, wished), Math.max(1, header.views?.length ?? 1) - 1);
}
