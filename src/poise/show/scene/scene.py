"""What is seen, as plain data: figures over time, the ground, pushes, what is drawn over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import world_pose
from poise.core.typing import Array
from poise.show.scene.overlays import Control, Curve, Label, Layer, Overlay, Plot, Points, Polygon, Row
from poise.show.scene.tracks import SOLID, Prop, Skin, Skinned, Style, Track

if TYPE_CHECKING:
    from poise.core.motion import Motion
    from poise.terrain import Terrain


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
    """Name of the file a motion was read from, without its folder; `otherwise` where it was made."""
    return motion.source.path.replace("\\", "/").rsplit("/", 1)[-1] if motion.source else otherwise


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
