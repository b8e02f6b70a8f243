"""How a figure that lies comes back to the clip: by a clip of getting up, or by blending, where it lies.

Both are poses, not physics: the lying pose turns into the first frame of the clip and its last frame into the
reference, or the lying pose into the reference at once. The lowest contact point stays on the ground meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.body.posing import interpolate_q
from poise.core import rotations

Array = npt.NDArray[np.float64]

JOIN = 0.6
"""A clip of getting up is joined to the lying pose, and to the reference, in so long [s]."""
BLEND = 2.0
"""Without one the figure turns into the reference in so long [s]."""
REST = 1.0
"""It lies still so long before it gets up [s]."""


@dataclass(frozen=True)
class Rising:
    """A figure on its way up.

    Attributes:
        start: The lying pose, shape (nq,).
        clip: Poses of getting up, placed where it lies, shape (F, nq); none where it blends.
        since: [s].
    """

    start: Array
    clip: Array | None
    since: float = 0.0

    def duration(self, dt: float) -> float:
        """Of all of it [s]."""
        return BLEND if self.clip is None else 2.0 * JOIN + dt * (len(self.clip) - 1)


def begin(q: Array, clip: Array | None) -> Rising:
    """Get up from a pose (nq,) by the frames of a clip (F, nq), turned and moved to where the figure lies."""
    if clip is None:
        return Rising(q.copy(), None)
    placed = clip.copy()
    turn = rotations.multiply(q[3:7], rotations.conjugate(clip[0, 3:7]))
    size = max(float(np.hypot(turn[0], turn[3])), 1e-9)
    upright = np.array([turn[0] / size, 0.0, 0.0, turn[3] / size])
    placed[:, :3] = rotations.rotate(upright, clip[:, :3] - clip[0, :3] * [1.0, 1.0, 0.0])
    placed[:, :2] += q[:2]
    placed[:, 3:7] = rotations.multiply(upright, clip[:, 3:7])
    return Rising(q.copy(), placed)


def later(rising: Rising, dt: float) -> Rising:
    """One step later."""
    return replace(rising, since=rising.since + dt)


def pose(rising: Rising, reference: Array, character: Character, dt: float, depth: Callable[[Array], float]) -> Array:
    """The pose now, shape (nq,).

    Args:
        rising: Since when and how.
        reference: Of the clip now, shape (nq,).
        character: The bodies.
        dt: Time between the frames of the clip of getting up [s].
        depth: How deep the deepest contact point of a pose (nq,) is in the ground [m]; negative above it.
    """
    clip, t = rising.clip, rising.since
    last = rising.start if clip is None else clip[-1]
    there = reference.copy()
    there[:2] = last[:2]
    if clip is None:
        q = _between(character, rising.start, there, t / BLEND)
    elif t < JOIN:
        q = _between(character, rising.start, clip[0], t / JOIN)
    elif t < JOIN + dt * (len(clip) - 1):
        q = clip[min(round((t - JOIN) / dt), len(clip) - 1)].copy()
    else:
        q = _between(character, last, there, (t - JOIN - dt * (len(clip) - 1)) / JOIN)
    q[2] += depth(q)
    return q


def _between(character: Character, first: Array, second: Array, part: float) -> Array:
    s = min(max(part, 0.0), 1.0)
    s = s * s * (3.0 - 2.0 * s)
    return interpolate_q(character, np.array([0.0, 1.0]), np.stack([first, second]), np.array([s]))[0]
