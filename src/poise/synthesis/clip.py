"""A captured motion that a controller follows: placed where figures stand, at any time.

Its mean heading is turned to +x, its feet are at the origin in the first frame, and its floor is at height zero.
Places of parts are low-passed, since a goal adds their acceleration.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.interpolate import CubicSpline

from poise.analysis.smoothing import choose_filter, smooth
from poise.body.character import Character
from poise.body.posing import body_poses, interpolate_q, motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.goals.body import contact_points
from poise.phases.contacts import contact_flags, contact_limits
from poise.physics import Model, State
from poise.physics.mujoco_backend import model_of

SPAN = 0.01
"""Velocities are differences over this time [s]."""
PARTS = {f"{side}_{part}": part for side in ("left", "right") for part in ("hand", "foot")}
"""What `place` knows, with the part of the body that its contact points belong to; and "com"."""
LOWEST = 0.1
"""The floor is where the lowest sole is in this share of the frames or below [1]."""


class MotionClip:
    """A motion of a character at any time, its ends held; see `goals.observation.Clip`."""

    def __init__(self, motion: Motion, character: Character) -> None:
        """Take a motion.

        Args:
            motion: Of the character's own skeleton.
            character: Who follows it.

        Raises:
            InvalidValue: if the motion is another skeleton's.
        """
        if motion.skeleton.names != character.skeleton.names:
            raise InvalidValue(
                f"The clip moves a skeleton of {len(motion.skeleton.names)} joints, the figure has another of "
                f"{len(character.skeleton.names)}. Fit the figure to the clip's own skeleton."
            )
        self.character = character
        self._model: Model = model_of(character)
        self.times = motion.times - motion.times[0]
        self._in_file = motion_to_q(character, motion)

    def at(self, time: float) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) at a time [s]; the root is where the file has it."""
        return self._at(self._in_file, time)

    def _at(self, q: Array, time: float) -> tuple[Array, Array]:
        ends = np.clip([time - SPAN / 2.0, time, time + SPAN / 2.0], 0.0, self.times[-1])
        before, now, after = interpolate_q(self.character, self.times, q, ends)
        span = float(ends[2] - ends[0])
        return now, self._model.difference(before, after, span) if span > 0.0 else np.zeros(self.character.nv)

    @property
    def start(self) -> tuple[Array, Array]:
        """Coordinates (nq,) and velocities (nv,) of the first frame as placed, no sole in the floor."""
        q, v = self._at(self.q, 0.0)
        q = q.copy()
        q[2] += max(0.0, -float(self._soles[0, :, 2].min()))
        return q, v

    @cached_property
    def q(self) -> Array:
        """Coordinates of all frames as placed, shape (F, nq)."""
        q = self._in_file.copy()
        soles = self._points_of(q)[:, self._feet]
        turn = rotations.from_rotation_vector(np.array([0.0, 0.0, -np.arctan2(*self.heading[::-1])]))
        middle = np.array([*soles[0].mean(axis=0)[:2], np.quantile(soles[:, :, 2].min(axis=1), LOWEST)])
        q[:, :3] = rotations.rotate(turn, q[:, :3] - middle)
        q[:, 3:7] = rotations.multiply(turn, q[:, 3:7])
        return q

    @cached_property
    def headings(self) -> Array:
        """Where the hips face in each frame of the file, unit, shape (F, 2)."""
        places, roles = body_poses(self.character, self._in_file)[0], self.character.roles
        left = places[:, roles["left_hip"], :2] - places[:, roles["right_hip"], :2]
        ahead = np.stack([left[:, 1], -left[:, 0]], axis=1)
        return ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)

    @property
    def heading(self) -> Array:
        """The mean of it, unit, shape (2,)."""
        mean = self.headings.mean(axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-9)

    def place(self, part: str, time: float) -> tuple[Array, Array, Array]:
        """Where a part is, how fast it moves and accelerates: [m], [m/s], [m/s²], shapes (3,).

        Args:
            part: A name of `PARTS`, or "com".
            time: [s]; at rest before the first and after the last frame.
        """
        spline, inside = self._paths[part], 0.0 <= time <= self.times[-1]
        at = float(np.clip(time, 0.0, self.times[-1]))
        return spline(at), spline(at, 1) * inside, spline(at, 2) * inside

    def facing(self, time: float) -> Array:
        """Where the hips face at a time [s], against their mean heading, which is +x; unit, shape (2,)."""
        x, y = self.heading
        ahead = np.array([np.interp(time, self.times, axis) for axis in self.headings.T])
        turned = np.array([[x, y], [-y, x]]) @ ahead
        return turned / max(float(np.linalg.norm(turned)), 1e-9)

    def stands(self, side: str, time: float) -> bool:
        """Whether a foot, "left" or "right", is on the ground at a time [s]."""
        return bool(self.standing[side][int(np.abs(self.times - time).argmin())])

    @cached_property
    def standing(self) -> dict[str, Flags]:
        """Whether each foot is on the ground in each frame, by side, shape (F,)."""
        out: dict[str, Flags] = {}
        still = np.zeros((1, 3))
        root = np.gradient(self.q[:, :3], self.times, axis=0) if len(self.times) > 1 else still
        height, speed = contact_limits(root, self.character.leg_length)
        for side in ("left", "right"):
            own = self._soles[:, np.isin(self._feet, self._own(f"{side}_foot"))]
            velocities = np.gradient(own, self.times, axis=0) if len(self.times) > 1 else np.zeros_like(own)
            gaps = own[:, :, 2] - np.quantile(own[:, :, 2].min(axis=1), LOWEST)  # a drawn foot may hover as it stands
            flags = contact_flags(own, velocities, gaps, height_limit=height, speed_limit=speed)
            out[side] = np.asarray(flags.any(axis=1))
        return out

    @cached_property
    def _paths(self) -> dict[str, CubicSpline]:
        state, still = State(self._model), np.zeros(self._model.nv)
        owners = np.array([p.body for p in self.character.contact_points])
        own = {part: points for part in PARTS if len(points := self._own(part))}
        own = {part: points[owners[points] == owners[points[0]]] for part, points in own.items()}  # of its first body
        places: dict[str, list[Array]] = {part: [] for part in (*own, "com")}
        for q in self.q:
            state.at(q, still)
            places["com"].append(state.com())
            for part, points in own.items():
                places[part].append(state.centers[points].mean(axis=0))
        fps = 1.0 / float(np.median(np.diff(self.times))) if len(self.times) > 1 else 1.0
        lowpass = choose_filter("auto", fps=fps, leg_length=self.character.leg_length)
        return {
            part: CubicSpline(self.times, smooth(lowpass, self.times, np.array(path))) for part, path in places.items()
        }

    @cached_property
    def _soles(self) -> Array:
        return self._points_of(self.q)[:, self._feet]

    @property
    def _feet(self) -> Index:
        return np.concatenate([self._own("left_foot"), self._own("right_foot")])

    def _own(self, part: str) -> Index:
        """Contact points of a part."""
        return contact_points(self.character, part, PARTS[part])

    def _points_of(self, q: Array) -> Array:
        """Contact points in frames of coordinates (F, nq), shape (F, P, 3)."""
        state, still = State(self._model), np.zeros(self._model.nv)
        return np.array([state.at(each, still).points.copy() for each in q])
