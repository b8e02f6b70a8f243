"""The banded least-squares system of limbs that swing over all frames of a flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.analysis.angular_momentum import Tumble, body_jacobians
from poise.analysis.bodies import center_of_mass
from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array, Index

SWING_WEIGHT = 3e-4
"""Price of a swing of a radian for 0.05 s, against squared momentum error over its scale m √(g h) h [1]."""
SMOOTH_WEIGHT = 3e-3
"""Price of bending the swing's course in time, second differences over (0.05 s)² [1]."""


@dataclass(frozen=True)
class SwingAxis:
    """One degree of freedom of the swing: a joint and its axis in the parent body's frame, or a whole ball."""

    body: int
    carried: tuple[int, ...]
    axes: Array


def swing_jacobians(
    tumble: Tumble, piece: Motion, character: Character, axes: tuple[SwingAxis, ...]
) -> tuple[Array, Array]:
    """How the momentum between frames answers to swings of the earlier and of the later one, (n − 1, 3, width) each."""
    positions, orientations = piece.world
    com = center_of_mass(piece, character)
    spin_earlier, spin_later = body_jacobians(tumble)
    before, after = tumble.places[:-1], tumble.places[1:]
    dt = tumble.steps[:, None, None]
    columns: tuple[list[Array], list[Array]] = ([], [])
    for a in axes:
        body = character.bodies[a.body]
        index = list(a.carried)
        pivot = positions[:, body.joint] - com
        m = tumble.masses[index]
        lever = tumble.places[:, index] - pivot[:, None]
        one = np.eye(3)
        # a turn φ of the later frame moves its bodies by φ × lever: m r × (φ × d') = m ((r·d') 1 − d' rᵀ) φ
        outer = np.einsum("b,fbi,fbj->fij", m, lever[1:], before[:, index])
        later = np.trace(outer, axis1=1, axis2=2)[:, None, None] * one - outer
        outer = np.einsum("b,fbi,fbj->fij", m, lever[:-1], after[:, index])
        earlier = outer - np.trace(outer, axis1=1, axis2=2)[:, None, None] * one
        parent = character.bodies[body.parent].joint if body.parent >= 0 else 0
        above = int(piece.skeleton.parents[body.joint])
        frame = orientations[:, above] if above >= 0 else orientations[:, parent]
        world = rotations.rotate(frame[:, None], a.axes[None])
        columns[0].append(np.matmul(earlier / dt + spin_earlier[:, index].sum(axis=1), np.swapaxes(world[:-1], 1, 2)))
        columns[1].append(np.matmul(later / dt + spin_later[:, index].sum(axis=1), np.swapaxes(world[1:], 1, 2)))
    return np.concatenate(columns[0], axis=2), np.concatenate(columns[1], axis=2)


def gauss_newton(
    tumble: Tumble,
    piece: Motion,
    character: Character,
    axes: tuple[SwingAxis, ...],
    error: Array,
    scale: float,
    free: Index,
    price: Array,
    total: Array,
) -> Array:
    """The swing's next step for every frame, shape (n, width)."""
    from scipy.linalg import solveh_banded

    earlier, later = (j / scale for j in swing_jacobians(tumble, piece, character, axes))
    n, width = total.shape
    place = np.full(n, -1)
    place[free] = np.arange(len(free))
    band = price.copy()
    right = -banded_times(price, total[free].reshape(-1))
    for k in range(n - 1):
        blocks = [(place[k], earlier[k]), (place[k + 1], later[k])]
        for i, (p, J) in enumerate(blocks):
            if p < 0:
                continue
            right[p * width : (p + 1) * width] -= J.T @ error[k]
            for o, K in blocks[i:]:
                if o >= 0:
                    _add_block(band, p * width, o * width, J.T @ K)
    step = np.zeros_like(total)
    step[free] = solveh_banded(band, right, check_finite=False).reshape(-1, width)
    return step


def swing_price(times: Array, free: Index, width: int) -> Array:
    """Upper band of the quadratic price of a swing over the free frames: its size, and its second differences."""
    n, count = len(times), len(free)
    place = np.full(n, -1)
    place[free] = np.arange(count)
    band = np.zeros((3 * width, count * width))
    dt = float(np.median(np.diff(times)))
    band[-1] += SWING_WEIGHT * dt / 0.05
    weight = SMOOTH_WEIGHT * SWING_WEIGHT * (0.05 / dt) ** 3
    for k in range(1, n - 1):
        rows = [(place[k - 1], 1.0), (place[k], -2.0), (place[k + 1], 1.0)]
        for p, x in rows:
            for o, y in rows:
                if 0 <= p <= o:
                    _add_block(band, p * width, o * width, weight * x * y * np.eye(width))
    return band


def _add_block(band: Array, row: int, column: int, block: Array) -> None:
    """Add a square block at (row, column ≥ row) to a symmetric matrix in upper band form."""
    size, depth = len(block), len(band) - 1
    for j in range(size):
        top = size if column > row else j + 1
        i = np.arange(top)
        band[depth + row + i - (column + j), column + j] += block[i, j]


def banded_times(band: Array, x: Array) -> Array:
    """A symmetric matrix in upper band form times a vector."""
    depth = len(band) - 1
    out = band[depth] * x
    for offset in range(1, depth + 1):
        above = band[depth - offset, offset:]
        out[:-offset] += above * x[offset:]
        out[offset:] += above * x[:-offset]
    return out
