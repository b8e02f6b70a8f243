"""What poses a character usually takes, learned from examples: its joints are drawn to the examples nearest to it.

A small local model, without training: with x the way of all joints from the standing pose to the present one, and x_k
those of the examples,

    m(x) = Σ w_k x_k / Σ w_k,  w_k = exp(−|x − x_k|² / 2 h²)

and h the median distance of an example to its fifth neighbor (Nadaraya and Watson 1964). The paper names a pose prior
as future work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from poise.body.character import Character
from poise.body.posing import motion_to_q
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.physics.mujoco_backend import model_of

MOST, NEIGHBOR = 400, 5
"""So many examples are kept; the width goes by this neighbor."""
LIKENING = 0.05
"""Joints are drawn to the examples with this time constant [s]."""


@dataclass(frozen=True)
class PosePrior:
    """Examples of poses; see the head of this file.

    Attributes:
        ways: Of all dofs from the standing pose, shape (E, nv) [rad]; zero at the root.
        width: h [rad].
    """

    ways: Array = field(repr=False)
    width: float

    @classmethod
    def of(cls, character: Character, clips: Sequence[Motion], standing: Array) -> PosePrior:
        """Learn from clips of the character itself.

        Args:
            character: Whose.
            clips: Of its skeleton.
            standing: How it stands, shape (nq,).

        Raises:
            InvalidValue: if there is no clip, or one is of another skeleton.
        """
        for clip in clips:
            if clip.skeleton.names != character.skeleton.names:
                raise InvalidValue(
                    f"A prior is learned from clips of the character itself; one has other joints "
                    f"({len(clip.skeleton.names)}, the character {len(character.skeleton.names)}). Track it onto the "
                    "character first, and give the result."
                )
        if not clips:
            raise InvalidValue("A prior needs one clip of the character or more.")
        q, model = np.concatenate([motion_to_q(character, clip) for clip in clips]), model_of(character)
        chosen = q[np.unique(np.linspace(0, len(q) - 1, min(len(q), MOST)).round().astype(np.int64))]
        ways = np.array([model.difference(standing, pose, 1.0) for pose in chosen])
        ways[:, :6] = 0.0
        apart = np.sort(np.linalg.norm(ways[:, None] - ways[None], axis=2), axis=1)
        width = float(np.median(apart[:, min(NEIGHBOR, len(ways) - 1)]))
        return cls(ways, max(width, 0.05))

    def near(self, way: Array) -> Array:
        """The mean of the examples near a pose: m(x), shape (nv,)."""
        off = np.sum((self.ways - way)[:, 6:] ** 2, axis=1)
        weights = np.exp((off.min() - off) / (2.0 * self.width**2))
        return (weights @ self.ways) / float(weights.sum())
