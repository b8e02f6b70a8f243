/** A track on the stage: solid or ghost bodies, and the skin over them. */
import * as THREE from "three";
import type { Track } from "./format";
import { tint } from "./marks";
import type { Pack } from "./pack";
import { STRIDE, poseOf } from "./poses";
import { bodyGeometry } from "./shapes";
import { type SkinMesh, loadSkin } from "./skin";

/** How many times lighter than their color ghosts are drawn: a dark veil before a dark ground is none. */
export const ghosts = { lift: { value: 1 } };

/** How dense a veil is where it is seen face on, and one of a clear plate such as a wall. */
const [VEIL, PLATE] = [0.13, 0.26];

export class Figure {
  readonly group = new THREE.Group();
  readonly meshes: (THREE.Mesh | null)[] = [];
  readonly pose: Float32Array;
  private skins: SkinMesh[] = [];
  /** Bodies that no skin covers, where a skin covers only a part of the figure, such as a head alone. */
  private bare = new Set<number>();
  private readonly shapes = new THREE.Group();
  private readonly skinGroup = new THREE.Group();

  constructor(
    readonly track: Track,
    readonly index: number,
    readonly view: number,
  ) {
    this.pose = poseOf(track);
    this.group.add(this.shapes, this.skinGroup);
  }

  async build(pack: Pack): Promise<void> {
    const { track } = this;
    const { size } = pack.header;
    const isPlate = track.bodies.every((body) => body.shapes.every((shape) => shape.kind === "box"));
    const materials = figureMaterials(size, isPlate ? PLATE : VEIL);
    // nobody knows which side of a given mesh is its outer one
    if (track.bodies.some((body) => body.shapes.some((s) => s.kind === "mesh"))) materials.solid.side = THREE.DoubleSide;
    const isGhost = track.style === "ghost";
    const geometries = await Promise.all(track.bodies.map((body) => bodyGeometry(pack, body, track.color)));
    geometries.forEach((geometry, b) => {
      if (!geometry) return void this.meshes.push(null);
      const mesh = new THREE.Mesh(geometry, isGhost ? materials.ghost : materials.solid);
      mesh.castShadow = mesh.receiveShadow = track.style === "solid";
      mesh.frustumCulled = false; // a figure is what is looked at
      mesh.userData = { track: this.index, body: b };
      if (isGhost) {
        // a ghost is one veil, not many: what is nearest to the eye is found first, then drawn once
        const depth = new THREE.Mesh(geometry, materials.depth);
        depth.frustumCulled = false;
        depth.renderOrder = 10;
        mesh.renderOrder = 11;
        mesh.add(depth);
        if (isPlate) mesh.add(this.edges(geometry));
      }
      this.meshes.push(mesh);
      this.shapes.add(mesh);
    });
    this.skins = await Promise.all((track.skins ?? []).map((skin) => loadSkin(pack, track, skin)));
    for (const skin of this.skins) this.skinGroup.add(skin.mesh);
    const bodies = this.meshes.flatMap((mesh, b) => (mesh ? [b] : []));
    this.bare = new Set(bareBodies(bodies, this.skins.map((skin) => skin.covered)));
  }

  /** The edges of a clear plate: seen face on it is next to nothing. */
  private edges(geometry: THREE.BufferGeometry): THREE.LineSegments {
    const color = tint(this.track.color).multiplyScalar(0.6);
    const lines = new THREE.LineSegments(new THREE.EdgesGeometry(geometry), new THREE.LineBasicMaterial({ color, transparent: true, opacity: 0.7 }));
    lines.frustumCulled = false;
    lines.renderOrder = 12;
    return lines;
  }

  /** Which layers show; a figure with skin has its shapes in a layer of their own. */
  show(isOn: (layer: string) => boolean): void {
    const { layer } = this.track;
    this.skinGroup.visible = isOn(layer);
    const isAll = this.skins.length ? isOn(`${layer}.shapes`) : isOn(layer);
    this.meshes.forEach((mesh, b) => mesh && (mesh.visible = isAll || (isOn(layer) && this.bare.has(b))));
  }

  /** Puts every body where `pose` says. */
  apply(): void {
    this.meshes.forEach((mesh, b) => {
      if (!mesh) return;
      const at = b * STRIDE;
      mesh.position.fromArray(this.pose, at);
      mesh.quaternion.set(this.pose[at + 4], this.pose[at + 5], this.pose[at + 6], this.pose[at + 3]);
    });
    for (const skin of this.skins) skin.apply(this.pose);
  }

  /** Points around all that is drawn of it, as it stands now [m]. */
  outline(): THREE.Vector3[] {
    const skin = this.skins.flatMap((s) => s.outline());
    const bodies = this.meshes.flatMap((mesh, b) => {
      if (!mesh || (this.skins.length && !this.bare.has(b))) return [];
      mesh.geometry.boundingBox ?? mesh.geometry.computeBoundingBox();
      mesh.updateMatrixWorld();
      const { min, max } = mesh.geometry.boundingBox!;
      const corner = (k: number) => new THREE.Vector3(k & 1 ? max.x : min.x, k & 2 ? max.y : min.y, k & 4 ? max.z : min.z);
      return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => corner(k).applyMatrix4(mesh.matrixWorld));
    });
    return [...skin, ...bodies];
  }

  /** Place of a body's origin in the world [m]. */
  place(body: number): THREE.Vector3 {
    return new THREE.Vector3().fromArray(this.pose, body * STRIDE);
  }
}

/** Bodies to draw beside skins: those that no vertex hangs on, where they are more than half of all; else none. */
export function bareBodies(bodies: number[], covered: Set<number>[]): number[] {
  if (!covered.length) return [];
  const bare = bodies.filter((b) => !covered.some((c) => c.has(b)));
  return 2 * bare.length > bodies.length ? bare : [];
}

/** What figures of a scene of a given size [m] are drawn with; one of each kind for all of them. */
export function figureMaterials(size: number, face = VEIL): { solid: THREE.Material; ghost: THREE.Material; depth: THREE.Material } {
  return {
    solid: new THREE.MeshLambertMaterial({ vertexColors: true }), // a third of the shader of a physical one, hardly another look
    ghost: ghost(0.025 * size, face),
    depth: depthOnly(0.025 * size),
  };
}

/**
 * A ghost's vertices. For the depth test it stands a little behind where it is, so that a solid figure in the very
 * same pose hides it instead of mixing with it.
 */
const BEHIND = `
  varying vec3 vNormal, vEye, vTint;
  uniform float uBehind;
  void main() {
    vec4 place = modelViewMatrix * vec4(position, 1.0);
    vNormal = normalMatrix * normal;
    vEye = -place.xyz;
    vTint = color;
    gl_Position = projectionMatrix * place;
    vec4 back = projectionMatrix * vec4(place.xy, place.z - uBehind, 1.0);
    gl_Position.z = back.z / back.w * gl_Position.w;
  }`;

function depthOnly(behind: number): THREE.Material {
  return new THREE.ShaderMaterial({
    colorWrite: false,
    vertexColors: true,
    uniforms: { uBehind: { value: behind } },
    vertexShader: BEHIND,
    fragmentShader: "void main() { gl_FragColor = vec4(1.0); }",
  });
}

/** A veil: thin where seen face on, dense at the rim. */
function ghost(behind: number, face: number): THREE.Material {
  return new THREE.ShaderMaterial({
    transparent: true,
    depthWrite: false,
    vertexColors: true,
    uniforms: { uBehind: { value: behind }, uLift: ghosts.lift, uFace: { value: face } },
    vertexShader: BEHIND,
    fragmentShader: `
      varying vec3 vNormal, vEye, vTint;
      uniform float uLift, uFace;
      void main() {
        float rim = 1.0 - abs(dot(normalize(vNormal), normalize(vEye)));
        gl_FragColor = vec4(min(vTint * uLift, vec3(1.0)), mix(uFace, 0.72, rim * rim));
        #include <colorspace_fragment>
      }`,
  });
}
