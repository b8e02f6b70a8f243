"""Figures and things over time: what is drawn as a body."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from poise.body.character import Capsule, Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array

Color = tuple[float, float, float]

SOLID_COLOR: Color = (0.93, 0.63, 0.29)
"""Color of a figure that nobody gave a color."""

GHOST_COLOR: Color = (0.25, 0.45, 0.65)
"""Color of a reference that nobody gave a color."""

PROP_COLOR: Color = (0.55, 0.52, 0.47)
"""Color of a thing that nobody gave a color."""


@dataclass(frozen=True)
class Style:
    """How a figure is drawn.

    Attributes:
        kind: "solid", or "ghost" for a translucent figure that only shows where something would have been.
        color: Red, green, blue in 0 … 1 of the trunk; left limbs are drawn lighter, right limbs darker.
    """

    kind: str = "solid"
    color: Color = SOLID_COLOR

    def __post_init__(self) -> None:
        if self.kind not in ("solid", "ghost"):
            raise InvalidValue(f"Style kind {self.kind!r} is unknown. Use 'solid' or 'ghost'.")


SOLID = Style()
GHOST = Style("ghost", GHOST_COLOR)


@dataclass(frozen=True)
class Skin:
    """A textured mesh that hangs on a figure's joints.

    Attributes:
        name: What it is called.
        vertices: In the mesh's own frame, any unit, shape (V, 3).
        indices: Triangles, shape (F, 3).
        joints: Skeleton joint of each influence, shape (V, 4).
        weights: Their weights, rows sum to 1, shape (V, 4).
        inverse_binds: From the mesh's frame to each joint's frame, meters, shape (J, 4, 4).
        uvs: Texture coordinates, v downwards, shape (V, 2), or None.
        texture: Bytes of a PNG or JPEG, or None.
        texture_type: Its MIME type.
        color: Where there is no texture.
    """

    name: str
    vertices: npt.NDArray[np.float32]
    indices: npt.NDArray[np.int64]
    joints: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float32]
    inverse_binds: Array
    uvs: npt.NDArray[np.float32] | None = None
    texture: bytes | None = None
    texture_type: str = ""
    color: Color = (0.8, 0.8, 0.8)


@dataclass(frozen=True)
class Skinned:
    """What a figure's skins need to be drawn: the pose of every joint, those without a body too.

    Attributes:
        skins: The meshes.
        positions: Origin of each of the skeleton's J joints in the world frame [m], shape (T, J, 3).
        orientations: Orientation of each joint, unit wxyz, shape (T, J, 4).
    """

    skins: tuple[Skin, ...]
    positions: Array
    orientations: Array


@dataclass(frozen=True)
class Track:
    """One figure over time.

    Attributes:
        name: What it is called in a legend, such as "simulated" or "reference".
        character: Its B bodies.
        positions: Origin of each body in the world frame [m], shape (T, B, 3).
        orientations: Orientation of each body in the world frame, unit wxyz, shape (T, B, 4).
        style: How it is drawn.
        skinned: Its skin, or None.
        view: Index of the part of the page it is seen in, where there are several.
    """

    name: str
    character: Character
    positions: Array
    orientations: Array
    style: Style = SOLID
    skinned: Skinned | None = None
    view: int = 0

    def __post_init__(self) -> None:
        _check_poses(f"Track {self.name!r}", self.positions, self.orientations, len(self.character.bodies))
        if self.skinned is not None:
            joints = self.character.skeleton.joint_count
            _check_poses(f"The skin of {self.name!r}", self.skinned.positions, self.skinned.orientations, joints)


@dataclass(frozen=True)
class Ball:
    """A sphere in the frame of its body [m]."""

    center: Array
    radius: float


@dataclass(frozen=True)
class Box:
    """A box in the frame of its body: its center [m], half its sides [m], its turn (unit wxyz)."""

    center: Array
    half: Array
    rotation: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0]))


@dataclass(frozen=True)
class Cylinder:
    """A rod with flat ends in the frame of its body [m]."""

    start: Array
    end: Array
    radius: float


@dataclass(frozen=True)
class Mesh:
    """Triangles in the frame of their body: vertices (V, 3) [m] and indices (F, 3)."""

    vertices: Array
    indices: npt.NDArray[np.int64]


Shape = Capsule | Ball | Box | Cylinder | Mesh


@dataclass(frozen=True)
class Prop:
    """A rigid thing over time: a ball, a crate, a handrail.

    Attributes:
        name: What it is called.
        shapes: What it is made of.
        positions: Its origin in the world frame [m], shape (T, 3), or (1, 3) for a thing that stands still.
        orientations: Unit wxyz, shape (T, 4) or (1, 4).
        color: Red, green, blue in 0 … 1.
        mass: [kg], 0 if it does not matter.
        is_draggable: A hand may take it in the live page.
        is_clear: Drawn as a veil through which figures are seen, such as a wall before them.
    """

    name: str
    shapes: tuple[Shape, ...]
    positions: Array
    orientations: Array
    color: Color = PROP_COLOR
    mass: float = 0.0
    is_draggable: bool = False
    is_clear: bool = False

    def __post_init__(self) -> None:
        _check_poses(f"Prop {self.name!r}", self.positions[:, None], self.orientations[:, None], 1)


def _check_poses(what: str, positions: Array, orientations: Array, bodies: int) -> None:
    frames = len(positions)
    if positions.shape != (frames, bodies, 3) or orientations.shape != (frames, bodies, 4):
        raise InvalidValue(
            f"{what}: positions {positions.shape} and orientations {orientations.shape} do "
            f"not fit {bodies} bodies. Give (T, {bodies}, 3) and (T, {bodies}, 4)."
        )
    if not (np.isfinite(positions).all() and np.isfinite(orientations).all()):
        good = np.isfinite(positions).all(axis=(1, 2)) & np.isfinite(orientations).all(axis=(1, 2))
        raise InvalidValue(f"{what} is not finite from frame {int(np.argmin(good))} on.")
