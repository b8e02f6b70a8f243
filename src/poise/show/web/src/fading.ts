/** A ground without an end: its material melts into the background away from what is looked at, and bears a grid. */
import * as THREE from "three";

/** Shared by all materials that fade; set before each view is drawn. */
export const fading = {
  background: { value: new THREE.Color() },
  focus: { value: new THREE.Vector3() },
  reach: { value: 10 },
};

export interface Grid {
  /** Side of a square [m]. */
  cell: number;
  color: { value: THREE.Color };
}

/** Makes a material fade with distance from the focus, and draws a grid of lines on it where one is given. */
export function withFading<M extends THREE.Material>(material: M, grid?: Grid): M {
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, {
      uBackground: fading.background,
      uFocus: fading.focus,
      uReach: fading.reach,
      uCell: { value: grid?.cell ?? 1 },
      uLine: grid?.color ?? { value: new THREE.Color() },
    });
    shader.vertexShader = shader.vertexShader
      .replace("#include <common>", "#include <common>\nvarying vec3 vPlace;")
      .replace("#include <project_vertex>", "#include <project_vertex>\nvPlace = (modelMatrix * vec4(transformed, 1.0)).xyz;");
    const lines = `
      vec3 facet = normalize(cross(dFdx(vPlace), dFdy(vPlace)));
      vec2 at = vPlace.xy / uCell;
      vec2 wide = fwidth(at);
      vec2 near = abs(fract(at - 0.5) - 0.5) / max(wide, vec2(1e-5));
      vec2 on = (1.0 - smoothstep(0.2, 1.3, near)) * (1.0 - smoothstep(0.05, 0.35, wide));
      float line = max(on.x, on.y) * smoothstep(0.25, 0.6, abs(facet.z));
      gl_FragColor.rgb = mix(gl_FragColor.rgb, uLine, line * 0.85);`;
    shader.fragmentShader = shader.fragmentShader
      .replace(
        "#include <common>",
        "#include <common>\nvarying vec3 vPlace; uniform vec3 uBackground, uFocus, uLine; uniform float uReach, uCell;",
      )
      .replace(
        "#include <colorspace_fragment>",
        `${grid ? lines : ""}
        float away = smoothstep(0.25, 1.0, distance(vPlace.xy, uFocus.xy) / uReach);
        gl_FragColor.rgb = mix(gl_FragColor.rgb, uBackground, away);
        #include <colorspace_fragment>`,
      );
  };
  material.customProgramCacheKey = () => `fading${grid ? "-grid" : ""}`;
  return material;
}
