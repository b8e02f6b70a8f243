/** What the server says of the character, and small questions about it. */

export interface Joint {
  name: string;
  parent: number;
  place: [number, number, number];
  /** w x y z. */
  turn: [number, number, number, number];
}

export interface Rod {
  start: number[];
  end: number[];
  radius: number;
}

export interface Body {
  joint: number;
  kind: string;
  mass: number;
  density: number;
  inertia: number[];
  contact: boolean;
  capsules: Rod[];
  limits: Record<string, [number | null, number | null]> | null;
}

export interface Limb {
  name: string;
  kind: string;
  joints: number[];
  role: string;
  actor: string;
}

export interface State {
  title: string;
  file: string;
  saved: string;
  undo: number;
  redo: number;
  root: number;
  joints: Joint[];
  ends: { joint: number; place: [number, number, number] }[];
  bodies: Body[];
  limbs: Limb[];
  actor: string[];
  checks: { name: string; text: string; cure: string; limb: string }[];
  mass: number;
  com: [number, number, number];
}

export const ROLES = ["support", "targeted", "free"] as const;

/** A name as people say it. */
export const said = (name: string): string => name.replaceAll("_", " ");

export const limbOf = (state: State, joint: number): Limb | undefined => state.limbs.find((l) => l.joints.includes(joint));

export const bodyOf = (state: State, joint: number): Body | undefined => state.bodies.find((b) => b.joint === joint);

/** Bones on the way from one to another. */
export function way(state: State, first: number, last: number): number[] {
  const up = (j: number): number[] => (j < 0 ? [] : [j, ...up(state.joints[j].parent)]);
  const [a, b] = [up(first), up(last)];
  const shared = a.find((j) => b.includes(j)) ?? -1;
  const part = (line: number[]) => line.slice(0, Math.max(0, line.indexOf(shared)));
  return [...part(a), shared, ...part(b).reverse()].filter((j) => j >= 0);
}

/** The bone that the arrow keys go to. */
export function neighbor(state: State, joint: number, key: string): number {
  const kids = (j: number) => state.joints.flatMap((one, k) => (one.parent === j ? [k] : []));
  if (joint < 0) return state.root;
  const { parent } = state.joints[joint];
  if (key === "ArrowUp") return parent >= 0 ? parent : joint;
  if (key === "ArrowDown") return kids(joint)[0] ?? joint;
  const line = parent < 0 ? [joint] : kids(parent);
  const at = line.indexOf(joint) + (key === "ArrowRight" ? 1 : -1);
  return line[(at + line.length) % line.length];
}
