"""Where all joints are in the world, as one compiled loop: `skeleton.world_pose` is the plain twin."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.core.motion import Motion

Array = npt.NDArray[np.float64]


@njit(cache=True, error_model="numpy")
def _world(parents, translations, rotations, places, turns):
    """Places (F, J, 3) and orientations (F, J, 4) from those in the parents' frames; parents come first."""
    for k in range(translations.shape[0]):
        for j in range(translations.shape[1]):
            p = parents[j]
            x, y, z = translations[k, j, 0], translations[k, j, 1], translations[k, j, 2]
            e, f, g, h = rotations[k, j, 0], rotations[k, j, 1], rotations[k, j, 2], rotations[k, j, 3]
            if p < 0:
                places[k, j, 0], places[k, j, 1], places[k, j, 2] = x, y, z
                turns[k, j, 0], turns[k, j, 1], turns[k, j, 2], turns[k, j, 3] = e, f, g, h
                continue
            w, a, b, c = turns[k, p, 0], turns[k, p, 1], turns[k, p, 2], turns[k, p, 3]
            s, t, u = 2.0 * (b * z - c * y), 2.0 * (c * x - a * z), 2.0 * (a * y - b * x)
            places[k, j, 0] = places[k, p, 0] + (x + w * s + (b * u - c * t))
            places[k, j, 1] = places[k, p, 1] + (y + w * t + (c * s - a * u))
            places[k, j, 2] = places[k, p, 2] + (z + w * u + (a * t - b * s))
            turns[k, j, 0] = w * e - a * f - b * g - c * h
            turns[k, j, 1] = w * f + a * e + b * h - c * g
            turns[k, j, 2] = w * g - a * h + b * e + c * f
            turns[k, j, 3] = w * h + a * g - b * f + c * e


def posed(motion: Motion) -> Motion:
    """The same motion with its `world` known: what an edit has just made, and looks at next."""
    translations = np.array(motion.translations, dtype=np.float64, order="C")
    rotations = np.array(motion.rotations, dtype=np.float64, order="C")
    places, turns = np.empty_like(translations), np.empty_like(rotations)
    parents = np.array(motion.skeleton.parents, dtype=np.int64)
    _world(parents, translations, rotations, places, turns)
    return motion.placed(places, turns)
