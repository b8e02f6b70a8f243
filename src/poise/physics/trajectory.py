"""A clip as coordinates, velocities and accelerations over equal steps."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.body.posing import motion_to_q
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.phases.glitches import glitch_frames
from poise.physics.mujoco_backend import Model, model_of


class Trajectory(NamedTuple):
    """A character's coordinates over equal steps, as integration would make them: v ← v + Δt a, q ← q ⊕ Δt v.

    Attributes:
        times: [s], shape (F,).
        q: Coordinates, shape (F, nq).
        v: Velocities, shape (F, nv).
        a: Accelerations, shape (F, nv); a[k] leads from frame k to k + 1, and the last is zero.
    """

    times: Array
    q: Array
    v: Array
    a: Array


def trajectory(motion: Motion, character: Character, dt: float) -> Trajectory:
    """What a clip asks for in each step of length dt, to be followed by servos.

    Frames come from splines through the clip's own. Frames with glitches (flips, pops, inserted rest poses) are left
    out first, so that the splines bridge them.

    Example:
        >>> clip = trajectory(motion, character, dt=1.0 / 120.0)
        >>> actor = State(model_of(character)).at(clip.q[0], clip.v[0])

    Args:
        motion: The clip.
        character: Whose coordinates.
        dt: Length of a step [s].

    Raises:
        InvalidValue: if dt is not positive, or the clip is shorter than two steps.
    """
    if not dt > 0.0:
        raise InvalidValue(f"A step lasts {dt} s; give a positive time.")
    times = dt * np.arange(int(np.floor(motion.duration / dt + 1e-6)) + 1, dtype=np.float64)
    if len(times) < 3:
        raise InvalidValue(f"The clip lasts {motion.duration:.3g} s, less than two steps of {dt:.3g} s.")
    good = ~glitch_frames(motion)
    if not good.all() and good.sum() >= 3:
        kept = {"translations": motion.translations[good], "rotations": motion.rotations[good]}
        motion = replace(motion, times=motion.times[good], source=None, **kept)
    q = motion_to_q(character, motion.resampled(times + motion.times[0]))
    v = velocities(model_of(character), q, dt)
    return Trajectory(times, q, v, np.diff(v, axis=0, append=v[-1:]) / dt)


def velocities(model: Model, q: Array, dt: float) -> Array:
    """v_k = (q_k ⊖ q_{k−1}) / dt on the rotation group, [Levine2012]_ eq. (4), shape (F, nv); v_0 = v_1, so a_0 = 0."""
    v = np.zeros((len(q), model.nv))
    for k in range(1, len(q)):
        v[k] = model.difference(q[k - 1], q[k], dt)
    if len(q) > 1:
        v[0] = v[1]
    return v
