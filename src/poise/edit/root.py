"""Moving and turning a whole figure by the one joint that carries it; no other joint angle changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array


def move_root(motion: Motion, root: int, shift: Array) -> Motion:
    """The motion with the figure moved by `shift` [m] (F, 3) in the world; a frame without one keeps its numbers."""
    local = shift
    parent = int(motion.skeleton.parents[root])
    if parent >= 0:
        local = rotations.rotate(rotations.conjugate(motion.world[1][:, parent]), shift)
    translations = motion.translations.copy()
    translations[:, root] += local
    result = replace(motion, translations=translations)
    # where everything then is follows from where it was, which is known already or soon asked for
    positions, orientations = motion.world
    carried = motion.skeleton.carried_by(root)
    placed = positions.copy()
    placed[:, carried] += shift[:, None, :]
    return result.placed(placed, orientations.copy())


def turn_root(motion: Motion, root: int, turn: Array, center: Array) -> Motion:
    """The motion with the figure turned in the world by `turn` (F, 4) about `center` (F, 3) [m].

    Frames whose turn is the identity keep their numbers.
    """
    positions, orientations = motion.world
    moved = center + rotations.rotate(turn, positions[:, root] - center)
    turned = rotations.multiply(turn, orientations[:, root])
    parent = int(motion.skeleton.parents[root])
    if parent >= 0:
        back = rotations.conjugate(orientations[:, parent])
        moved, turned = rotations.rotate(back, moved - positions[:, parent]), rotations.multiply(back, turned)
    changed = (np.abs(turn[:, 1:]) > 1e-15).any(axis=1)
    translations, joint_rotations = motion.translations.copy(), motion.rotations.copy()
    translations[changed, root] = moved[changed]
    joint_rotations[changed, root] = rotations.normalize(turned[changed])
    return replace(motion, translations=translations, rotations=joint_rotations)
