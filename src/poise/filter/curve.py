"""The smoothest curve through targets and between bounds: a banded least-squares problem."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solveh_banded

from poise.core.typing import Array

HOLD = 1e11
"""Weight of a target that must be met [1]."""
BOUND_WEIGHT = 1e10
"""Weight of a broken bound against that of a target of weight 1 [1]."""
STAGES = 4
"""The weight of bounds grows to its full value in so many stages, each by a factor of 100."""
RIDGE = 1e-12
"""Added to the diagonal, as a part of one plus its largest entry [1]: where targets are few, it can be solved."""
ROUNDS = 12
"""Most Newton steps a stage; few are needed."""


def smoothest(
    targets: Array,
    weights: Array,
    bends: Array,
    dt: float,
    lower: Array | None = None,
    upper: Array | None = None,
    bound_weight: float = BOUND_WEIGHT,
) -> Array:
    """Least Σ bends_k ((x_{k+1} − 2 x_k + x_{k−1}) / Δt²)² + weights_k (x_k − y_k)², bounds as one-sided targets.

    Where weights are zero the curve is a cubic, as a beam between its supports. Solved by Newton's method on the set
    of broken bounds, each step shortened until it improves; a ridge (RIDGE) is added.

    Args:
        targets: y [m], shape (F,).
        weights: Of the targets [1], shape (F,); not all zero.
        bends: Of the acceleration [s⁴], shape (F,).
        dt: Time between frames [s].
        lower, upper: Bounds [m], shape (F,); infinite where there is none.
        bound_weight: Weight of a broken bound [1].

    Returns:
        x [m], shape (F,).
    """
    n = len(targets)
    c = bends[1:-1] / dt**4
    band = np.zeros((3, n))  # upper form: band[2] is the diagonal
    if n > 2:
        band[2, :-2] += c
        band[2, 1:-1] += 4.0 * c
        band[2, 2:] += c
        band[1, 1:-1] -= 2.0 * c
        band[1, 2:] -= 2.0 * c
        band[0, 2:] += c
    diagonal = band[2] + weights + RIDGE * (1.0 + float(band[2].max()))
    lower = np.full(n, -np.inf) if lower is None else lower
    upper = np.full(n, np.inf) if upper is None else upper

    def broken(x: Array) -> Array:
        return np.maximum(lower - x, 0.0) - np.maximum(x - upper, 0.0)

    def cost(x: Array, weight: float) -> float:
        bend = float(c @ np.diff(x, 2) ** 2) if n > 2 else 0.0
        return bend + float(weights @ (x - targets) ** 2) + weight * float(broken(x) @ broken(x))

    band[2] = diagonal
    x = np.asarray(solveh_banded(band, weights * targets), dtype=np.float64)
    if not broken(x).any():
        return x
    for stage in range(STAGES):
        weight = bound_weight * 100.0 ** (stage + 1 - STAGES)
        for _ in range(ROUNDS):
            gap = broken(x)
            band[2] = diagonal + np.where(gap != 0.0, weight, 0.0)
            right = weights * targets + np.where(gap != 0.0, weight * (x + gap), 0.0)
            way = np.asarray(solveh_banded(band, right), dtype=np.float64) - x
            now, part = cost(x, weight), 1.0
            while part > 1e-3 and cost(x + part * way, weight) > now:
                part *= 0.5
            x = x + part * way
            if part * float(np.abs(way).max()) < 1e-9:
                break
    return x
