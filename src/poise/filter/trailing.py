"""How the turn of a limb that swings runs outward along it: a tail follows joint by joint, and late."""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array
from poise.native import Block

TRAILS, DAMPED = 14.0, 0.4
"""Each joint of a tail follows the one before it like a spring of this frequency, for a leg of 0.82 m [rad/s], and
damping ratio; by trial."""


def swung(k: Block) -> Array:
    """Turn of every body by the swing of its limb, its rate and that one's rate, shape (bodies, 9).

    A body takes its share of its limb's turn. In a tail only the first one does at once; u, the turn of each other,
    follows u₀, its share over that of the body before it times that one's turn: ü = ω² (u₀ − u) − 2 ζ ω u̇, implicitly.
    """
    turns = np.append(k.turns, np.zeros((1, 9)), axis=0)
    out, dt = k.swing_share[:, None] * turns[k.limb_of], k.dt
    for b in np.flatnonzero(k.trails):
        before, w = k.inward[b], k.trails[b]
        asked = k.swing_share[b] / k.swing_share[before] * out[before, :3]
        turn, rate = k.swings[b, :3], k.swings[b, 3:6]
        square, friction = w * w, 2.0 * DAMPED * w
        change = (square * (asked - turn - dt * rate) - friction * rate) / (1.0 + dt * friction + dt * dt * square)
        rate = rate + dt * change
        out[b] = np.concatenate([turn + dt * rate, rate, change])
    return out


def is_calm(k: Block, least: float) -> bool:
    """No tail swings any more."""
    return bool(np.abs(k.swings[k.trails > 0.0, :6]).max(initial=0.0) < least)
