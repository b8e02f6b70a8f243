"""Pictures by MuJoCo's offscreen renderer, with no model of the figures: capsules go straight into its scene."""

from __future__ import annotations

import functools
import importlib
import logging
import os
import subprocess
import sys
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.show.camera import FIELD_OF_VIEW, Shot, grid_cell
from poise.show.ground import Patch, ground_patch
from poise.show.look import ARROW_COLOR, BACKGROUND, GROUND, GROUND_LINE, GROUND_OTHER, SHADOW, DrawnBox, Still
from poise.show.scene import Color, Scene

Array = npt.NDArray[np.float64]
Picture = npt.NDArray[np.uint8]

log = logging.getLogger(__name__)

PROBE_SECONDS = 30.0
"""A GL that has not drawn one picture after this long [s] counts as none."""

_THIN = 0.01  # thickness of a flat shadow in parts of its capsule: none at all would leave it without normals

_PROBE = """
import os, sys
os.environ["MUJOCO_GL"] = "disabled"
import importlib, numpy, mujoco
context = importlib.import_module("mujoco." + sys.argv[1]).GLContext(64, 64)
context.make_current()
model = mujoco.MjModel.from_xml_string(
    "<mujoco><visual><global offwidth='64' offheight='64'/></visual><worldbody>"
    "<geom size='1' rgba='1 0 0 1'/></worldbody></mujoco>")
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
gl = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, gl)
scene, camera = mujoco.MjvScene(model, 10), mujoco.MjvCamera()
camera.distance = 5.0
mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene)
picture, box = numpy.zeros((64, 64, 3), numpy.uint8), mujoco.MjrRect(0, 0, 64, 64)
mujoco.mjr_render(box, scene, gl)
mujoco.mjr_readPixels(picture, None, box, gl)
sys.stdout.write("drawn" if picture[32, 32, 0] > picture[1, 1, 0] else "empty")
sys.stdout.flush()
os._exit(0)
"""


def gl_platforms() -> tuple[str, ...]:
    """Names of MuJoCo's GL platforms worth trying here, best first; MUJOCO_GL picks one, or none with "disabled"."""
    wish = os.environ.get("MUJOCO_GL", "").strip().lower()
    if wish in ("disable", "disabled", "off", "false", "0"):
        return ()
    if wish in ("egl", "osmesa", "glfw", "cgl"):
        return (wish,)
    if sys.platform == "linux":
        shown = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
        return ("egl", "osmesa", "glfw") if shown else ("egl", "osmesa")
    return ("cgl", "glfw") if sys.platform == "darwin" else ("glfw",)


@functools.cache
def probe() -> tuple[str | None, str]:
    """Which GL platform draws here, tried once per process, each in a process of its own.

    A broken GL does not raise, it crashes or hangs; only another process can find that out and live.

    Returns:
        The platform's name, or None, and a sentence that says what was found.
    """
    if not gl_platforms():
        return None, "GL is switched off (MUJOCO_GL)."
    failed = []
    for platform in gl_platforms():
        try:
            done = subprocess.run(
                [sys.executable, "-c", _PROBE, platform],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failed.append(f"{platform}: nothing drawn after {PROBE_SECONDS:.0f} s")
            continue
        except OSError as error:
            failed.append(f"{platform}: {error}")
            continue
        if done.returncode == 0 and done.stdout == b"drawn":
            return platform, f"MuJoCo draws through {platform}."
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        failed.append(f"{platform}: {lines[-1][:160] if lines else f'exit code {done.returncode}'}")
    return None, "No GL to draw with (" + "; ".join(failed) + ")."


class GLPainter:
    """Draws stills of one scene in one size through MuJoCo; a context manager, since it holds a GL context.

    Args:
        scene: What is seen; its terrain becomes a mesh, or an endless plane where it is flat.
        platform: As found by `probe`.
        width: Of a picture [px].
        height: Of a picture [px].
        heading: Direction of travel [deg], along which the ground is sampled.
        view: About how high the pictures are at the figure [m]; fog, far plane and grid scale with it.
        samples: Anti-aliasing samples per pixel, 0 for none.
        finer: Drawn this many times larger and scaled down; with software GL, 2 without samples costs less than
            4 samples do.
    """

    def __init__(
        self,
        scene: Scene,
        platform: str,
        width: int,
        height: int,
        *,
        heading: float = 0.0,
        view: float = 2.0,
        samples: int = 4,
        finer: int = 1,
    ) -> None:
        mujoco: Any = importlib.import_module("mujoco")
        width, height = width * finer, height * finer
        self._mj, self._finer, self._view_height = mujoco, finer, view
        self._scene = scene
        self._patch: Patch | None = None if scene.terrain.is_flat else ground_patch(scene, heading, 0.5 * view)
        self._level = float(scene.terrain.sample(np.zeros((1, 2)), float(scene.times[0])).height[0])
        self._model: Any = self._build(width, height, samples, view)
        self._data: Any = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._gl: Any = None
        self._context: Any = importlib.import_module("mujoco." + platform).GLContext(width, height)
        try:
            self._context.make_current()
            self._gl = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except BaseException:
            self._context.free()
            raise
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._gl)
        capsules = 2 * sum(len(b.capsules) for t in scene.tracks for b in t.character.bodies)
        capsules += 26 * sum(len(p.shapes) for p in scene.props)  # a box is drawn by its twelve edges
        self._view: Any = mujoco.MjvScene(self._model, capsules + 2 * len(scene.arrows) + 6 * len(scene.overlays) + 50)
        self._view.flags[mujoco.mjtRndFlag.mjRND_FOG] = 1
        self._view.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = int(self._patch is not None)
        self._camera: Any = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        self._option: Any = mujoco.MjvOption()
        self._box: Any = mujoco.MjrRect(0, 0, width, height)
        self._buffer: Picture = np.zeros((height, width, 3), dtype=np.uint8)

    def __enter__(self) -> GLPainter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the GL context back."""
        if self._gl is not None:
            self._context.make_current()
            self._gl.free()
            self._context.free()
            self._gl = None

    def paint(self, still: Still, shot: Shot) -> Picture:
        """One picture, shape (height, width, 3), rows from the top."""
        mj, camera, view = self._mj, self._camera, self._view
        self._context.make_current()  # several painters may take turns
        if self._patch is not None and not self._scene.terrain.is_static:
            self._move_ground(still.time)
        camera.lookat[:] = shot.target
        camera.distance, camera.azimuth, camera.elevation = shot.distance, shot.azimuth, shot.elevation
        self._data.light_xpos[0] = shot.target + np.array([0.0, 0.0, 4.0 * shot.height])
        mj.mjv_updateScene(self._model, self._data, self._option, None, camera, mj.mjtCatBit.mjCAT_ALL, view)
        for start, end, radius, color in zip(still.starts, still.ends, still.radii, still.colors):
            self._add(mj.mjtGeom.mjGEOM_CAPSULE, start, end, radius, color)
            if self._patch is None and color[3] > 0.999:
                self._add_shadow(start, end, radius)
        for box in still.boxes:
            self._add_box(box)
        for arrow in still.arrows:
            self._add(
                mj.mjtGeom.mjGEOM_ARROW, arrow.tail, arrow.tip, arrow.radius, np.array([*ARROW_COLOR, arrow.alpha])
            )
        mj.mjr_render(self._box, view, self._gl)
        mj.mjr_readPixels(self._buffer, None, self._box, self._gl)
        if self._finer == 1:
            return self._buffer[::-1].copy()
        from PIL import Image

        return np.asarray(Image.fromarray(self._buffer[::-1]).reduce(self._finer))

    def _add(self, kind: Any, start: Array, end: Array, radius: float, color: Array) -> None:
        if self._view.ngeom >= self._view.maxgeom:
            return
        mj, geom = self._mj, self._view.geoms[self._view.ngeom]
        if kind == mj.mjtGeom.mjGEOM_CAPSULE and float(np.linalg.norm(end - start)) < 1e-6:
            size = np.full(3, radius)
            mj.mjv_initGeom(geom, mj.mjtGeom.mjGEOM_SPHERE, size, start, np.eye(3).ravel(), color.astype(np.float32))
        else:
            mj.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), color.astype(np.float32))
            mj.mjv_connector(geom, kind, float(radius), start, end)
            if kind == mj.mjtGeom.mjGEOM_ARROW:
                geom.size[2] = 2.0 * float(np.linalg.norm(end - start))  # MuJoCo draws arrows half as long as it says
        geom.transparent = int(color[3] < 0.999)
        geom.specular, geom.shininess = 0.15, 0.3
        self._view.ngeom += 1

    def _add_box(self, box: DrawnBox) -> None:
        if self._view.ngeom >= self._view.maxgeom:
            return
        mj, geom = self._mj, self._view.geoms[self._view.ngeom]
        mj.mjv_initGeom(
            geom, mj.mjtGeom.mjGEOM_BOX, box.half, box.center, box.axes.ravel(), box.color.astype(np.float32)
        )
        geom.transparent = int(box.color[3] < 0.999)
        geom.specular, geom.shininess = 0.1, 0.2
        self._view.ngeom += 1

    def _add_shadow(self, start: Array, end: Array, radius: float) -> None:
        """A capsule pressed flat onto level ground: with software GL a third of the price of a shadow map."""
        place = self._view.ngeom
        self._add(self._mj.mjtGeom.mjGEOM_CAPSULE, start, end, radius, np.array([*SHADOW, 1.0]))
        if self._view.ngeom > place:
            geom = self._view.geoms[place]
            flat = np.diag([1.0, 1.0, _THIN])
            geom.mat[:] = flat @ np.asarray(geom.mat)
            low = min(float(start[2]), float(end[2])) - radius
            geom.pos[2] = self._level + _THIN * (float(geom.pos[2]) - low) + 0.0005 * self._view_height
            geom.specular = 0.0

    def _build(self, width: int, height: int, samples: int, view: float) -> Any:
        """A world with ground and light only."""
        patch, cell = self._patch, grid_cell(view)
        repeat = f"{1.0 / cell:.6g}"
        mesh = ""
        if patch is None:
            ground = f'<geom type="plane" size="0 0 1" pos="0 0 {self._level:.6f}" material="ground"/>'
        else:
            vertices = patch.vertices(self._scene, float(self._scene.times[0]))
            corners, faces = _quads(vertices)
            mesh = (
                f'<mesh name="ground" inertia="shell" vertex="{_text(corners)}" '
                f'texcoord="{_text(corners[:, :2] / cell)}" face="{" ".join(map(str, faces.ravel().tolist()))}"/>'
            )
            ground = '<geom type="mesh" mesh="ground" material="mesh_ground"/>'
        text = f"""
<mujoco>
  <statistic extent="{0.5 * view:.6g}" center="0 0 0"/>
  <visual>
    <global offwidth="{width}" offheight="{height}" fovy="{FIELD_OF_VIEW}"/>
    <quality shadowsize="1024" offsamples="{samples}" numslices="20" numstacks="10" numquads="4"/>
    <headlight ambient="0.42 0.42 0.42" diffuse="0.38 0.38 0.38" specular="0.05 0.05 0.05"/>
    <map znear="0.05" zfar="60" fogstart="9" fogend="26" shadowclip="2.5"/>
    <rgba fog="{_rgb(BACKGROUND)} 1" haze="{_rgb(BACKGROUND)} 1"/>
  </visual>
  <asset>
    <texture type="skybox" builtin="flat" rgb1="{_rgb(BACKGROUND)}" rgb2="{_rgb(BACKGROUND)}" width="64" height="64"/>
    <texture name="grid" type="2d" builtin="checker" mark="edge" width="512" height="512"
      rgb1="{_rgb(GROUND)}" rgb2="{_rgb(GROUND_OTHER)}" markrgb="{_rgb(GROUND_LINE)}"/>
    <material name="ground" texture="grid" texuniform="true" texrepeat="{repeat} {repeat}" specular="0"/>
    <material name="mesh_ground" texture="grid" specular="0"/>
    {mesh}
  </asset>
  <worldbody>
    <light directional="true" pos="0 0 4" dir="0 0 -1" castshadow="true" diffuse="0.42 0.42 0.42" specular="0 0 0"/>
    {ground.replace("<geom ", '<geom contype="0" conaffinity="0" ')}
  </worldbody>
</mujoco>"""
        return self._mj.MjModel.from_xml_string(text)

    def _move_ground(self, time: float) -> None:
        """Put the mesh where a moving terrain is now; MuJoCo keeps meshes in a frame of its own choosing."""
        assert self._patch is not None
        from poise.core import rotations

        model = self._model
        corners, _ = _quads(self._patch.vertices(self._scene, time))
        back = rotations.conjugate(np.asarray(model.mesh_quat[0]))
        model.mesh_vert[:] = rotations.rotate(back, corners - model.mesh_pos[0])
        self._mj.mjr_uploadMesh(model, self._gl, 0)


def _quads(vertices: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Corners (N, 3) and triangles (M, 3) of a grid (A, C, 3), every quad with corners of its own: edges stay sharp."""
    a, b = vertices[:-1, :-1], vertices[1:, :-1]
    c, d = vertices[1:, 1:], vertices[:-1, 1:]
    corners = np.stack([a, b, c, d], axis=2).reshape(-1, 3)
    first = 4 * np.arange(len(corners) // 4)[:, None]
    return corners, (first + np.array([0, 1, 2, 0, 2, 3])).reshape(-1, 3)


def _text(values: Array) -> str:
    return " ".join(f"{x:.7g}" for x in values.ravel().tolist())


def _rgb(color: Color) -> str:
    return " ".join(f"{x:.4f}" for x in color)
