"""Small non-negative least squares by an active set (Lawson and Hanson 1974), warm-started."""

from __future__ import annotations

import numpy as np

from poise.core.typing import Array, Flags
from poise.native import compiled


def least_nonnegative(H: Array, f: Array, warm: Flags) -> tuple[Array, int]:
    """Min ½ xᵀH x + fᵀx, x ≥ 0, shape (n,), and the number of solves, −1 if it cycled.

    Args:
        H: Positive definite, shape (n, n).
        f: Shape (n,).
        warm: Coordinates expected to be positive, shape (n,); changes the time, not the answer.
    """
    n = len(f)
    x, room = np.zeros(n), np.empty(n * (n + 6))
    solves = nonnegative(np.ascontiguousarray(H), f, warm, x, room)
    return x, solves


@compiled("const real H[n][n], const real f[n], const flag warm[n], real x[n], real room[most]", returns="word")
def nonnegative(H, f, warm, x, room):
    """Fill x as `least_nonnegative` does; returns the number of solves."""
    del room
    n, solves = len(f), 0
    x[:] = 0.0
    passive, refused = np.flatnonzero(warm).tolist(), -1

    def at(chosen: list[int]) -> Array | None:
        try:
            factor = np.linalg.cholesky(H[np.ix_(chosen, chosen)])
        except np.linalg.LinAlgError:
            return None
        return -np.linalg.solve(factor.T, np.linalg.solve(factor, f[chosen]))

    # first throw out what comes out negative until the rest stands
    while passive:
        solves += 1
        z = at(passive)
        if z is None:
            passive = []
        elif (z > 0.0).all():
            x[passive] = z
            break
        else:
            passive = [p for p, value in zip(passive, z, strict=True) if value > 0.0]
    while solves < 10 * n + 50:
        gradient = f + H @ x
        gradient[passive] = np.inf
        if refused >= 0:
            gradient[refused] = np.inf
        # coordinates differ in unit: each slope is as exact as what it is the sum of
        gradient[gradient >= -1e-12 * (np.abs(f) + np.abs(H) @ x)] = np.inf
        if not np.isfinite(gradient).any():
            return solves
        entering = int(np.argmin(gradient))
        passive, refused = [*passive, entering], -1
        while passive:
            solves += 1
            z = at(passive)
            if z is None or (passive[-1] == entering and z[-1] <= 0.0 and x[entering] == 0.0):
                x[entering], refused = 0.0, entering  # dependent, or rounding only: it does not want to grow
                passive.pop()
                break
            now = x[passive]
            bad = z <= 0.0
            step = float(np.min(now[bad] / (now[bad] - z[bad]), initial=1.0))
            x[passive] = now + step * (z - now)
            out = [p for p, v in zip(passive, z, strict=True) if step < 1.0 and x[p] <= 1e-14 * (1.0 + abs(v))]
            x[out] = 0.0
            passive = [p for p in passive if p not in out]
            if step >= 1.0:
                break
    return -1
