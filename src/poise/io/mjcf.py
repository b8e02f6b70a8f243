"""MJCF robots: a skeleton whose joints are a MuJoCo model's hinges, in the model's own order. Meshes are not read."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, NoMotion
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.files import read_text
from poise.io.format import door_turn, turned_at_door

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "mjcf"
EXTENSIONS = (".xml",)
MAX_BYTES = 16_000_000
ROOT_JOINT = 0
"""Index of the root in the skeleton of a robot."""
OFF_AXIS = np.radians(0.1)
"""A hinge turned about another axis by more than this [rad] is not a pose of the robot."""
UNUSED = (
    "meshes", "hfields", "materials", "textures", "skins", "flexes", "pairs", "excludes", "sensors", "actuators",
    "tendons", "equalities", "keys",
)  # fmt: skip
"""Parts of a model that a skeleton does not need."""


@dataclass(frozen=True)
class Robot:
    """A robot as its MJCF describes it.

    Attributes:
        skeleton: A joint for each hinge, named like it, and one for each body without; its root is the robot's.
        hinges: Joint of the skeleton of each hinge, in the model's order, shape (H,).
        hinge_names: Their names in the model.
        bodies: Joint of the skeleton that carries each body, in the model's order, shape (B,).
        body_names: Their names in the model.
        body_offsets: Where each body's own frame is in that joint's frame [m], shape (B, 3).
    """

    skeleton: Skeleton
    hinges: tuple[int, ...]
    hinge_names: tuple[str, ...]
    bodies: tuple[int, ...]
    body_names: tuple[str, ...]
    body_offsets: Array

    def motion(self, times: Array, place: Array, turn: Array, angles: Array) -> Motion:
        """A motion of the robot.

        Args:
            times: [s], shape (F,).
            place: Of the root in the world [m], shape (F, 3).
            turn: Of the root, unit wxyz, shape (F, 4).
            angles: Of the hinges [rad], shape (F, H).

        Raises:
            InvalidValue: if the angles are not one for each hinge.
        """
        if np.ndim(angles) != 2 or angles.shape[1] != len(self.hinges):
            seen = angles.shape[1] if np.ndim(angles) == 2 else np.shape(angles)
            raise InvalidValue(f"There are {seen} joint angles in a frame; the robot has {len(self.hinges)} hinges.")
        moved = np.repeat(self.skeleton.offsets[None], len(times), axis=0)
        turned = np.repeat(self.skeleton.rest_rotations[None], len(times), axis=0)
        moved[:, ROOT_JOINT], turned[:, ROOT_JOINT] = place, rotations.normalize(turn)
        for column, joint in enumerate(self.hinges):
            about = rotations.from_rotation_vector(angles[:, column, None] * self.skeleton.hinges[joint].axis)
            turned[:, joint] = rotations.multiply(self.skeleton.rest_rotations[joint], about)
        return Motion(self.skeleton, times, moved, turned)

    def angles(self, motion: Motion) -> Array:
        """Angles of the hinges in a motion of this robot, continuous over time [rad], shape (F, H).

        Raises:
            InvalidValue: if the motion has other joints, or turns one about another axis than its own.
        """
        if motion.skeleton.names != self.skeleton.names:
            raise InvalidValue(
                "The motion's joints are not the robot's. Let the robot follow it: poise.tracking.robots.follow."
            )
        out = np.zeros((motion.frame_count, len(self.hinges)))
        for column, joint in enumerate(self.hinges):
            about = rotations.multiply(
                rotations.conjugate(self.skeleton.rest_rotations[joint]), motion.rotations[:, joint]
            )
            axis = self.skeleton.hinges[joint].axis
            out[:, column] = np.unwrap(rotations.twist_angle(about, axis))
            across = about[:, 1:] - np.outer(about[:, 1:] @ axis, axis)
            off = 2.0 * np.arcsin(np.clip(np.linalg.norm(across, axis=1), 0.0, 1.0))
            if off.max() > OFF_AXIS:
                raise InvalidValue(
                    f"Hinge {self.hinge_names[column]!r} is turned {np.degrees(off.max()):.1f}° off its axis in frame "
                    f"{int(off.argmax())}; the robot cannot do that."
                )
        return out

    def body_poses(self, motion: Motion) -> tuple[Array, Array]:
        """World places (F, B, 3) [m] and orientations wxyz (F, B, 4) of the model's bodies."""
        places, turns = (a[:, self.bodies] for a in motion.world)
        return places + rotations.rotate(turns, self.body_offsets), turns


def matches(path: Path, head: bytes) -> bool:
    """True for XML whose first element is `mujoco`."""
    return b"<mujoco" in head


def read(path: Path, options: ReadOptions) -> Motion:
    """Refuse: a model holds no motion.

    Raises:
        FileFormatError: always.
    """
    problem = "This is a robot or scene without motion."
    raise NoMotion(problem, path=path, motion="for a motion name a clip of it, with this file as --skeleton")


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a robot."""
    return turned_at_door(read_robot(path).skeleton.scaled(options.unit or 1.0), door_turn(options.up or "z"))


def read_robot(path: Path) -> Robot:
    """Read the robot of an MJCF file: of several trees, the one with most bodies.

    Raises:
        FileFormatError: if MuJoCo refuses the file, it names other files to include, or holds no tree of hinges.
    """
    text = read_text(path, limit=MAX_BYTES)
    if "<include" in text:
        raise FileFormatError(
            "It includes other files.", path=path, cure="Name the file of the robot itself, or write it out as one."
        )
    m = _compiled(path, text)
    roots = [b for b in range(1, m.nbody) if m.body_parentid[b] == 0]
    trees = {r: [b for b in range(1, m.nbody) if m.body_rootid[b] == r] for r in roots}
    if not trees:
        raise FileFormatError("It holds no body.", path=path, cure="Name the file of a robot.")
    tree = max(trees.values(), key=len)
    names: list[str] = []
    parents: list[int] = []
    offsets: list[Array] = []
    rests: list[Array] = []
    hinges: dict[int, Hinge] = {}
    fixed: set[int] = set()
    hinge_names: list[str] = []
    carrier: dict[int, int] = {}
    inside: dict[int, Array] = {}  # of each body, where its joint is in its own frame
    for body in tree:
        above = int(m.body_parentid[body])
        parent = carrier.get(above, -1)
        rest = m.body_quat[body].copy()
        joints = range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body])
        moving = [j for j in joints if int(m.jnt_type[j]) != 0]  # 0: free, the root's
        for j in moving:
            if int(m.jnt_type[j]) != 3:
                kind = {1: "a ball", 2: "a slide"}.get(int(m.jnt_type[j]), "no hinge")
                problem = f"Joint {m.joint(j).name!r} is {kind}; robots with hinges are read."
                raise FileFormatError(problem, path=path, cure="Put hinges in its place.")
        at = np.zeros(3)
        place = m.body_pos[body] - inside.get(above, np.zeros(3))
        if parent < 0 or not moving:
            if parent >= 0:
                fixed.add(len(names))
            names.append(m.body(body).name or f"body {body}")
            parents.append(parent)
            offsets.append(place.copy())
            rests.append(rest)
            place, rest = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        for j in moving:
            anchor = m.jnt_pos[j].copy()
            hinges[len(names)] = Hinge(
                m.jnt_axis[j].copy(), *(m.jnt_range[j].tolist() if m.jnt_limited[j] else (-np.inf, np.inf))
            )
            hinge_names.append(m.joint(j).name or f"joint {j}")
            first = len(parents) == 0 or j == moving[0]
            parents.append(len(names) - 1 if not first or parent < 0 else parent)
            offsets.append(place + rotations.rotate(rest, anchor) if first else anchor - at)
            rests.append(rest if first else np.array([1.0, 0.0, 0.0, 0.0]))
            names.append(hinge_names[-1].removesuffix("_joint"))
            at = anchor
        carrier[body], inside[body] = len(names) - 1, at
    if not hinges:
        raise FileFormatError("No joint of it turns.", path=path, cure="Name the file of a robot with hinges.")
    ends = [(b, _tip(m, b)) for b in tree if b not in m.body_parentid[tree]]
    tips = tuple(EndSite(carrier[b], tip - inside[b]) for b, tip in ends if tip is not None)
    skeleton = Skeleton(
        tuple(names),
        np.array(parents),
        np.array(offsets),
        np.array(rests),
        tips,
        hinges,
        fixed=frozenset(fixed),
        mass=float(m.body_mass[tree].sum()),
    )
    return Robot(
        skeleton,
        tuple(hinges),
        tuple(hinge_names),
        tuple(carrier[b] for b in tree),
        tuple(m.body(b).name for b in tree),
        np.array([-inside[b] for b in tree]),
    )


def _tip(m: Any, body: int) -> Array | None:
    """Where a last body ends in its own frame: the middle of the shapes that are farthest from its origin."""
    shapes = range(m.body_geomadr[body], m.body_geomadr[body] + m.body_geomnum[body])
    places = np.array([m.geom_pos[g] for g in shapes]).reshape(-1, 3)
    away = np.linalg.norm(places, axis=1)
    return places[away > 0.95 * away.max()].mean(axis=0) if len(places) and away.max() > 1e-6 else None


def _compiled(path: Path, text: str) -> Any:
    """The model without what only draws or acts, so that no other file is opened."""
    mujoco: Any = importlib.import_module("mujoco")  # its stubs lack much
    try:
        spec = mujoco.MjSpec.from_string(text)
        unread = (mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_SDF)
        for geom in list(spec.geoms):
            if geom.type in unread:
                spec.delete(geom)
            else:
                geom.material = ""
        for group in UNUSED:
            for part in list(getattr(spec, group)):
                spec.delete(part)
        spec.compiler.boundmass = max(spec.compiler.boundmass, 1e-6)
        spec.compiler.boundinertia = max(spec.compiler.boundinertia, 1e-9)
        return spec.compile()
    except (ValueError, RuntimeError, mujoco.FatalError) as error:
        first = str(error).strip().splitlines()[0][:160]
        raise FileFormatError(
            f"MuJoCo refuses it: {first}.", path=path, cure="Give a MuJoCo model (.xml), or mend it."
        ) from error
