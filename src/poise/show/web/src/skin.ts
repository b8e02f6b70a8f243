/** A textured mesh that follows a track's bodies as a glTF skin does. */
import * as THREE from "three";
import type { Skin, Track } from "./format";
import type { Pack } from "./pack";
import { STRIDE } from "./poses";

/** About how many vertices tell how large a skin is. */
const OUTLINE = 1500;

export interface SkinMesh {
  mesh: THREE.SkinnedMesh;
  /** Bodies that its vertices hang on. */
  covered: Set<number>;
  apply(pose: Float32Array): void;
  /** Some of its vertices where they are now [m]. */
  outline(): THREE.Vector3[];
}

export async function loadSkin(pack: Pack, track: Track, skin: Skin): Promise<SkinMesh> {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(await pack.floats(skin.vertices), 3));
  geometry.setAttribute("skinIndex", new THREE.Uint16BufferAttribute((await pack.array(skin.joints)).values, 4));
  geometry.setAttribute("skinWeight", new THREE.BufferAttribute(await pack.floats(skin.weights), 4));
  if (skin.uvs) geometry.setAttribute("uv", new THREE.BufferAttribute(await pack.floats(skin.uvs), 2));
  if (skin.colors) geometry.setAttribute("color", new THREE.BufferAttribute(await pack.floats(skin.colors), 3));
  geometry.setIndex(new THREE.BufferAttribute(Uint32Array.from((await pack.array(skin.indices)).values), 1));
  if (skin.normals) geometry.setAttribute("normal", new THREE.BufferAttribute(await pack.floats(skin.normals), 3));
  else geometry.computeVertexNormals();

  const map = skin.texture ? await loadTexture(pack, skin.texture) : null;
  const color = new THREE.Color().setRGB(...(skin.color ?? (map ? [1, 1, 1] : track.color)), THREE.SRGBColorSpace);
  const isGhost = track.style === "ghost";
  // a ghost leans to its track's color: before the same skin in gray a gray veil is none
  if (isGhost) color.lerp(new THREE.Color().setRGB(...track.color, THREE.SRGBColorSpace), 0.6);
  const material = new THREE.MeshStandardMaterial({
    color,
    map,
    vertexColors: skin.colors !== undefined,
    roughness: 0.75,
    metalness: 0,
    side: THREE.DoubleSide,
    forceSinglePass: true,
    transparent: isGhost,
    opacity: isGhost ? 0.42 : 1,
    // where it is in the very pose of a solid figure that one hides it
    polygonOffset: isGhost,
    polygonOffsetFactor: 2,
    polygonOffsetUnits: 40,
  });

  const binds = await pack.floats(skin.inverse_binds);
  const bones = track.bodies.map(() => {
    const bone = new THREE.Bone();
    bone.matrixAutoUpdate = bone.matrixWorldAutoUpdate = false;
    return bone;
  });
  const inverses = bones.map((_, b) => new THREE.Matrix4().fromArray(binds, 16 * b).transpose()); // three: column-major
  const mesh = new THREE.SkinnedMesh(geometry, material);
  mesh.bindMode = THREE.DetachedBindMode;
  mesh.bind(new THREE.Skeleton(bones, inverses), new THREE.Matrix4());
  mesh.frustumCulled = false;
  mesh.castShadow = mesh.receiveShadow = !isGhost;
  mesh.raycast = () => {}; // the shapes below are picked; a skin would be bent vertex by vertex for it

  if (isGhost) {
    // one veil, not many: what is nearest to the eye is found first, then drawn once
    const only = material.clone();
    only.colorWrite = false;
    only.map = null;
    const depth = new THREE.SkinnedMesh(geometry, only);
    depth.bindMode = THREE.DetachedBindMode;
    depth.bind(mesh.skeleton, new THREE.Matrix4());
    depth.frustumCulled = false;
    depth.raycast = () => {};
    depth.renderOrder = 10;
    mesh.renderOrder = 11;
    material.depthWrite = false;
    mesh.add(depth);
  }

  const { skinIndex, skinWeight } = geometry.attributes;
  const covered = new Set<number>();
  for (let i = 0; i < skinWeight.array.length; i++) if (skinWeight.array[i] > 0.3) covered.add(skinIndex.array[i]);

  const place = new THREE.Vector3();
  const turn = new THREE.Quaternion();
  const size = new THREE.Vector3(1, 1, 1);
  return {
    mesh,
    covered,
    apply(pose) {
      bones.forEach((bone, b) => {
        const at = b * STRIDE;
        place.fromArray(pose, at);
        turn.set(pose[at + 4], pose[at + 5], pose[at + 6], pose[at + 3]);
        bone.matrixWorld.compose(place, turn, size);
      });
    },
    outline() {
      const step = Math.max(1, Math.floor(geometry.attributes.position.count / OUTLINE));
      const found: THREE.Vector3[] = [];
      for (let i = 0; i < geometry.attributes.position.count; i += step) {
        found.push(mesh.getVertexPosition(i, new THREE.Vector3()));
      }
      return found;
    },
  };
}

async function loadTexture(pack: Pack, texture: { blob: number; type: string }): Promise<THREE.Texture> {
  const bytes = await pack.blob(texture.blob);
  const image = await createImageBitmap(new Blob([bytes as BlobPart], { type: texture.type }), {
    colorSpaceConversion: "none",
    premultiplyAlpha: "none",
  });
  const map = new THREE.Texture(image);
  map.flipY = false;
  map.colorSpace = THREE.SRGBColorSpace;
  map.wrapS = map.wrapT = THREE.RepeatWrapping;
  map.anisotropy = 4;
  map.generateMipmaps = true;
  map.minFilter = THREE.LinearMipmapLinearFilter;
  map.needsUpdate = true;
  return map;
}
