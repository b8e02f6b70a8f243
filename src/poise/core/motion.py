"""A skeleton over time, and where it came from."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import EndSite, Skeleton, world_pose
from poise.core.typing import Array

if TYPE_CHECKING:
    from scipy.interpolate import CubicHermiteSpline, CubicSpline

MAX_TIME = 1e7
"""Latest time of a frame [s], about a hundred days."""
MAX_PLACE = 1e13
"""Farthest a joint may be from its parent [m]."""


@dataclass(frozen=True)
class Evidence:
    """One thing a reader had to guess: what it took, how sure it is (0 … 1), and why."""

    value: Any
    confidence: float
    reason: str


@dataclass(frozen=True)
class Ground:
    """The ground a clip was made for, as its file carries it along.

    Attributes:
        spec: How the command line says it, such as "slope:15".
        origin: Where it begins in the clip's world frame [m].
        heading: Direction in which it rises, counterclockwise from world +x [rad].
        height: Height of its level 0 [m].
    """

    spec: str
    origin: tuple[float, float]
    heading: float
    height: float


@dataclass(frozen=True)
class Source:
    """The file a motion was read from, kept so that what nobody changed is written back as it stood.

    Attributes:
        path: The file.
        format: Key of its format, such as "bvh".
        dialect: Which custom of that format, in words.
        unit: Meters per file unit.
        up: The file's up axis, "x", "y" or "z".
        fps: Frame rate the file states (or the custom of its format) [1/s].
        document: The format's own parsed document (channels, literal frame time, key times, …).
        evidence: What was guessed, by name: "unit", "up", "fps", "dialect", …
        warnings: Sentences a user should read; each names the option that cures it.
        clips: Names of all clips in the file.
        clip: Which of them this motion is.
        loop: True or False where the file says so, else None.
        ground: The ground the clip was made for, where its file carries it.
    """

    path: str
    format: str
    dialect: str
    unit: float
    up: str
    fps: float
    document: Any = None
    evidence: dict[str, Evidence] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    clips: tuple[str, ...] = ()
    clip: int = 0
    loop: bool | None = None
    ground: Ground | None = None

    def of_frames(self, index: npt.NDArray[np.int64]) -> Source:
        """This source for a motion of these frames; its document stays whole if the motion has others than the file."""
        values = getattr(self.document, "values", ())
        if len(values) and index.max(initial=-1) >= len(values):
            return self
        select = getattr(self.document, "select_frames", None)
        return replace(self, document=select(index) if select else None)


@dataclass(frozen=True)
class Motion:
    """A skeleton over time.

    Example:
        >>> motion = poise.load("walk.bvh").cut(0.0, 0.4)
        >>> print(motion.fps, motion.duration, motion.skeleton.names[0])

    Attributes:
        skeleton: The J joints.
        times: Time of each frame [s], rising from 0, shape (F,).
        translations: Translation of each joint in its parent's frame [m], shape (F, J, 3).
        rotations: Rotation of each joint in its parent's frame, unit wxyz, shape (F, J, 4).
        source: The file it was read from, or None.
    """

    skeleton: Skeleton
    times: Array
    translations: Array
    rotations: Array
    source: Source | None = None

    def __post_init__(self) -> None:
        frames, joints = len(self.times), self.skeleton.joint_count
        if frames == 0:
            raise InvalidValue("A motion needs at least one frame; none was given.")
        if self.translations.shape != (frames, joints, 3) or self.rotations.shape != (frames, joints, 4):
            raise InvalidValue(
                f"Motion arrays disagree: {frames} times, {joints} joints, translations {self.translations.shape}, "
                f"rotations {self.rotations.shape}. Give (F, J, 3) and (F, J, 4)."
            )
        for name, values in (("translation", self.translations), ("rotation", self.rotations)):
            if not np.isfinite(values).all():
                frame, joint = np.argwhere(~np.isfinite(values).all(axis=-1))[0]
                raise InvalidValue(
                    f"The {name} of joint {self.skeleton.names[joint]!r} in frame {frame} is not finite. "
                    "Correct the source; Poise never fills in values."
                )
        if (found := rotations.first_not_unit(self.rotations)) is not None:
            frame, joint = found
            raise InvalidValue(
                f"The rotation of joint {self.skeleton.names[joint]!r} in frame {frame} has "
                f"length {np.linalg.norm(self.rotations[found]):.6g}, not 1. Give unit quaternions, w first."
            )
        if np.abs(self.translations).max(initial=0.0) > MAX_PLACE:
            frame, joint = np.argwhere(np.abs(self.translations).max(axis=-1) > MAX_PLACE)[0]
            raise InvalidValue(
                f"Joint {self.skeleton.names[joint]!r} is more than {MAX_PLACE:g} m away in frame {frame}. "
                "Correct the source, or give its unit."
            )
        if not (np.abs(self.times) <= MAX_TIME).all():
            frame = int(np.argmin(np.abs(self.times) <= MAX_TIME))
            raise InvalidValue(
                f"Frame {frame} is at {self.times[frame]:g} s; times must be finite and below {MAX_TIME:g} s."
            )
        if frames > 1 and not (np.diff(self.times) > 0.0).all():
            raise InvalidValue("Frame times must increase; two frames have the same time or go backwards.")

    @property
    def frame_count(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time from the first to the last frame [s]."""
        return float(self.times[-1] - self.times[0])

    @cached_property
    def dt(self) -> float:
        """Median time between frames [s]; the source's stated frame time for a single frame."""
        if self.frame_count > 1:
            return float(np.median(np.diff(self.times)))
        return 1.0 / self.source.fps if self.source else 1.0 / 60.0

    @property
    def fps(self) -> float:
        """Frames per second, from `dt`."""
        return 1.0 / self.dt

    @property
    def is_uniform(self) -> bool:
        """True if all frames are equally far apart (to 0.1 %)."""
        return self.frame_count < 3 or bool(np.ptp(np.diff(self.times)) < 1e-3 * self.dt)

    @cached_property
    def world(self) -> tuple[Array, Array]:
        """Positions (F, J, 3) [m] and orientations (F, J, 4) of all joints in the world frame."""
        return world_pose(self.skeleton, self.translations, self.rotations)

    def placed(self, positions: Array, orientations: Array) -> Motion:
        """The same motion with the world positions of its joints given by a caller who knows them; see `world`.

        The arrays become the motion's own: give it ones that no other motion holds.
        """
        out = copy(self)
        out.__dict__["world"] = (positions, orientations)
        return out

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was once found of this motion, by name: kept because a motion never changes, and asked for often."""
        return {}

    def end_positions(self, site: EndSite) -> Array:
        """World position of an end site [m], shape (F, 3)."""
        positions, orientations = self.world
        return positions[:, site.joint] + rotations.rotate(orientations[:, site.joint], site.offset)

    def cut(self, start: float, end: float) -> Motion:
        """The frames with start ≤ time ≤ end [s], to a hundredth of a frame: files print their frame time rounded.

        Times start again at 0. The source document is dropped.

        Raises:
            InvalidValue: if nothing is left.
        """
        slack = 1e-9 + (0.01 * self.dt if self.frame_count > 1 else 0.0)
        keep = (self.times >= start - slack) & (self.times <= end + slack)
        if not keep.any():
            raise InvalidValue(f"No frame between {start:g} s and {end:.4g} s; the motion lasts {self.duration:.4g} s.")
        return self.frames(np.flatnonzero(keep))

    def with_skin_of(self, drawn: Motion | None) -> Motion:
        """The motion in the file that another was read from: saved as glTF it keeps that file's meshes and weights.

        Example:
            >>> result = poise.track(actor, spider)
            >>> poise.save(result.motion.with_skin_of(poise.load("spider.glb")), "tracked.glb")

        Args:
            drawn: Read from a file with a skin. Without one, or with other joints, the motion comes back as it is.
        """
        source = None if drawn is None or drawn.skeleton.names != self.skeleton.names else drawn.source
        if source is None or not getattr(source.document, "meshes", ()):
            return self
        of_none = source.of_frames(np.zeros(0, dtype=np.int64))
        kept = replace(of_none, fps=self.fps, evidence={}, warnings=(), loop=None, ground=None)
        return replace(self, source=kept)

    def frames(self, index: npt.NDArray[np.int64]) -> Motion:
        """The motion of these frames only (rising indices); times start again at 0."""
        source = self.source
        if source is not None and len(index) != self.frame_count:
            source = source.of_frames(index)
        times = self.times[index]
        return replace(
            self,
            times=times - times[0],
            translations=self.translations[index],
            rotations=self.rotations[index],
            source=source,
        )

    def resampled(self, times: Array, *, is_bounded: bool = False) -> Motion:
        """The motion at other times [s] (T,): C² splines through every frame, of positions and of rotations.

        The rotation spline is the cubic spline of sign-continuous quaternions, scaled to unit length: twice
        continuously differentiable and exact at the frames. (Slerp would put a torque spike at every key.)

        Args:
            times: Times of the new frames [s], shape (T,).
            is_bounded: Keep the splines from swinging beyond the frames around a sudden change, such as a flip between
                two keys, where they are then only once continuously differentiable. Where the change is gradual,
                nothing differs.
        """
        if np.ndim(times) != 1:
            raise InvalidValue(f"times is {times!r}; give all times [s], such as np.arange(0.0, 2.0, 0.01).")
        if self.frame_count < 3:
            blend = np.interp(times, self.times, np.arange(self.frame_count))
            index = np.clip(np.round(blend).astype(int), 0, self.frame_count - 1)
            return replace(
                self, times=np.asarray(times), translations=self.translations[index], rotations=self.rotations[index]
            )
        from scipy.interpolate import CubicSpline

        inside = np.clip(times, self.times[0], self.times[-1])
        # one spline for all that changes; most joints are only turned, and some not even that
        moving = np.flatnonzero((self.translations != self.translations[0]).any(axis=(0, 2)))
        turning = np.flatnonzero((self.rotations != self.rotations[0]).any(axis=(0, 2)))
        count = self.frame_count
        columns = np.concatenate(
            [
                self.translations[:, moving].reshape(count, -1),
                rotations.continuous(self.rotations[:, turning]).reshape(count, -1),
            ],
            axis=1,
        )
        spline = CubicSpline(self.times, columns)
        splined = (_bounded(spline, columns) if is_bounded else spline)(inside)
        moved = np.repeat(self.translations[:1], len(inside), axis=0)
        moved[:, moving] = splined[:, : 3 * len(moving)].reshape(len(inside), -1, 3)
        turned = np.repeat(self.rotations[:1], len(inside), axis=0)
        turned[:, turning] = rotations.normalize(splined[:, 3 * len(moving) :].reshape(len(inside), -1, 4))
        # at a frame the spline is exact only to rounding: put the frame's own numbers back
        nearest = np.clip(np.searchsorted(self.times, inside), 0, self.frame_count - 1)
        nearest = np.where(
            (nearest > 0) & (np.abs(self.times[nearest - 1] - inside) < np.abs(self.times[nearest] - inside)),
            nearest - 1,
            nearest,
        )
        same = np.abs(self.times[nearest] - inside) < 1e-9
        moved[same] = self.translations[nearest[same]]
        turned[same] = self.rotations[nearest[same]]
        return replace(self, times=np.asarray(times, dtype=np.float64), translations=moved, rotations=turned)


def _bounded(spline: CubicSpline, values: Array) -> CubicHermiteSpline:
    """The spline with slopes at most three times the lesser slope beside each frame.

    Then it stays between two frames where both lie on one rise or fall, and hardly leaves them at a turn.

    Source: J. M. Hyman, Accurate monotonicity preserving cubic interpolation, SIAM J. Sci. Stat. Comput. 4 (1983),
    eq. (2.6), the form that keeps turns.
    """
    from scipy.interpolate import CubicHermiteSpline

    size = np.abs(np.diff(values, axis=0) / np.diff(spline.x)[:, None])
    most = 3.0 * np.minimum(size[np.r_[0, : len(size)]], size[np.r_[: len(size), len(size) - 1]])
    return CubicHermiteSpline(spline.x, values, np.clip(spline(spline.x, 1), -most, most))
