"""What is seen, as plain data: figures over time, the ground, pushes, what is drawn over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from poise.body.character import Capsule, Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import world_pose
from poise.core.typing import Array
from poise.show.scene.overlays import Choices, Control, Curve, Label, Layer, Overlay, Plot, Points, Polygon, Row

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.terrain import Terrain


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
        color: Where there is no texture; it multiplies `colors`.
        colors: Of the vertices, linear light (0 … 1), shape (V, 3), or None.
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
    colors: npt.NDArray[np.float32] | None = None


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


@dataclass(frozen=True)
class Arrow:
    """A push or a pull on a body while it lasts.

    Attributes:
        track: Index of the figure in `Scene.tracks`.
        body: Index of the body.
        start_s: When it begins, in scene time [s].
        end_s: When it ends [s].
        force: Force in the world frame [N], shape (3,), or one per time of the scene, shape (T, 3).
        offset: Where it acts, in the body's frame [m], shape (3,).
        pulls: The arrow leaves the body instead of ending at it.
    """

    track: int
    body: int
    start_s: float
    end_s: float
    force: Array
    offset: Array
    pulls: bool = False


@dataclass(frozen=True)
class Scene:
    """Figures, things, ground and pushes over one span of time, and what is drawn over them.

    Attributes:
        times: Time of each frame [s], rising, shape (T,).
        tracks: The figures; the first solid one is what a camera follows.
        terrain: The ground.
        arrows: Pushes and pulls.
        title: One line, or empty.
        props: Rigid things.
        overlays: Points, vectors, polygons, curves, labels.
        timeline: Rows under the timeline.
        plots: Values over time.
        layers: What can be shown and hidden; a layer something names but that is not here is called by its name.
        controls: What a live page can set.
        notes: Short lines on where it comes from.
        views: Names of the parts of the page, each with its own tracks and overlays; empty for one.
        camera: From where pictures show it best, a name of `record.VIEWS`.
        choices: Several results, of which the page shows one at a time, or None.
    """

    times: Array
    tracks: tuple[Track, ...]
    terrain: Terrain
    arrows: tuple[Arrow, ...] = ()
    title: str = ""
    props: tuple[Prop, ...] = ()
    overlays: tuple[Overlay, ...] = ()
    timeline: tuple[Row, ...] = ()
    plots: tuple[Plot, ...] = ()
    layers: tuple[Layer, ...] = ()
    controls: tuple[Control, ...] = ()
    notes: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    camera: str = "side"
    choices: Choices | None = None

    def __post_init__(self) -> None:
        frames = len(self.times)
        if frames == 0 or self.times.shape != (frames,) or (np.diff(self.times) <= 0.0).any():
            raise InvalidValue(f"Scene times must be rising, at least one; got shape {self.times.shape}.")
        if not self.tracks:
            raise InvalidValue("A scene needs at least one track; none was given.")
        for t in self.tracks:
            if len(t.positions) != frames:
                raise InvalidValue(f"Track {t.name!r} has {len(t.positions)} frames, the scene {frames} times.")
        for a in self.arrows:
            if not 0 <= a.track < len(self.tracks):
                raise InvalidValue(f"An arrow names track {a.track}; the scene has tracks 0 … {len(self.tracks) - 1}.")
            bodies = self.tracks[a.track].character.bodies
            if not 0 <= a.body < len(bodies):
                raise InvalidValue(f"An arrow names body {a.body}; the character has bodies 0 … {len(bodies) - 1}.")
            if np.shape(a.force) not in ((3,), (frames, 3)):
                raise InvalidValue(f"An arrow's force has shape {np.shape(a.force)}; give (3,) or ({frames}, 3).")
        for p in self.props:
            if len(p.positions) not in (1, frames):
                raise InvalidValue(f"Prop {p.name!r} has {len(p.positions)} frames, the scene {frames} times.")
        for o in self.overlays:
            if isinstance(o, Curve | Label):
                continue
            length = len(o.vertices if isinstance(o, Polygon) else o.positions if isinstance(o, Points) else o.points)
            if length not in (1, frames):
                raise InvalidValue(f"Overlay {o.name!r} has {length} frames, the scene {frames} times.")
        for plot in self.plots:
            for line in plot.series:
                if np.shape(line.values) != (frames,):
                    raise InvalidValue(
                        f"Series {line.name!r} of plot {plot.name!r} has shape {np.shape(line.values)}; "
                        f"give one value a frame, ({frames},)."
                    )

    @property
    def duration(self) -> float:
        """From the first to the last time [s]."""
        return float(self.times[-1] - self.times[0])

    def bracket(self, time: float) -> tuple[int, int, float]:
        """Frames before and after a time [s], and how far between them it lies (0 … 1); ends hold."""
        if len(self.times) == 1:
            return 0, 0, 0.0
        after = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, len(self.times) - 1))
        span = self.times[after] - self.times[after - 1]
        return after - 1, after, float(np.clip((time - self.times[after - 1]) / span, 0.0, 1.0))

    def pose(self, track: int, time: float) -> tuple[Array, Array]:
        """Body positions (B, 3) [m] and orientations (B, 4) of one figure at a time [s], linear between frames."""
        before, after, blend = self.bracket(time)
        t = self.tracks[track]
        positions = (1.0 - blend) * t.positions[before] + blend * t.positions[after]
        a, b = t.orientations[before], t.orientations[after]
        b = np.where(np.sum(a * b, axis=-1, keepdims=True) < 0.0, -b, b)
        return positions, rotations.normalize((1.0 - blend) * a + blend * b)

    def force(self, arrow: Arrow, time: float) -> Array:
        """Force of an arrow at a time [N], shape (3,), whether or not it acts then."""
        force = np.asarray(arrow.force, dtype=np.float64)
        if force.ndim == 1:
            return force
        before, after, blend = self.bracket(time)
        return (1.0 - blend) * force[before] + blend * force[after]


def file_name(motion: Motion, otherwise: str = "motion") -> str:
    """Name of the file a motion was read from, without its folder, and of its clip; `otherwise` where it was made."""
    if motion.source is None:
        return otherwise
    return motion.source.path.replace("\\", "/").rsplit("/", 1)[-1] + clip_word(motion)


def clip_word(motion: Motion) -> str:
    """The short end of the clip's name, after a dot, where its file holds several: " · Run"; else ""."""
    source = motion.source
    if source is None or len(source.clips) < 2 or not 0 <= source.clip < len(source.clips):
        return ""
    return f" · {source.clips[source.clip].rpartition('|')[2]}"


def track_of_motion(
    motion: Motion,
    character: Character,
    *,
    name: str = "reference",
    style: Style = SOLID,
    skins: tuple[Skin, ...] = (),
) -> Track:
    """A motion as a figure: every body where its joint is.

    Args:
        motion: F frames of the character's own skeleton.
        character: Bodies on that skeleton.
        name: What the track is called.
        style: How it is drawn.
        skins: Meshes that hang on the motion's skeleton.

    Returns:
        The track, one pose for each of `motion.times`.

    Raises:
        InvalidValue: if the motion's skeleton has other joints than the character's.
    """
    if motion.skeleton.names != character.skeleton.names:
        raise InvalidValue(
            f"The motion has {motion.skeleton.joint_count} joints that are not the {character.skeleton.joint_count} of "
            "the character. Fit the character to this motion's skeleton."
        )
    positions, orientations = world_pose(motion.skeleton, motion.translations, motion.rotations)
    joints = [b.joint for b in character.bodies]
    skinned = Skinned(skins, positions, orientations) if skins else None
    return Track(name, character, positions[:, joints], orientations[:, joints], style, skinned)
