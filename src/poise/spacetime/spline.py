"""Offsets over time as cubic splines, and the linear system of their coefficients.

A coefficient matters for four knots' time, and the six rows of a frame see its two neighbors too. So the normal
equations of the coefficients are a band of S blocks: H[c, d] is the block of coefficients c + d (rows) and c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import cholesky, solve_triangular

from poise.core.typing import Array, Flags, Index


@dataclass(frozen=True)
class Spline:
    """A cubic B-spline with evenly spaced knots over a time.

    Attributes:
        start: First time [s].
        spacing: Of the knots [s].
        count: Coefficients, M.
    """

    start: float
    spacing: float
    count: int

    @classmethod
    def over(cls, start: float, end: float, spacing: float, least: float = 0.0) -> Spline:
        """Knots at most `spacing` and at least `least` apart, where they can be, one of them at each end."""
        pieces = int(np.ceil((end - start) / spacing - 1e-9))
        pieces = max(2, min(pieces, int((end - start) / least + 1e-9)) if least else pieces)
        return cls(start, (end - start) / pieces, pieces + 3)

    def first(self, times: Array) -> Index:
        """First of the four coefficients that matter at each time."""
        piece = np.floor((times - self.start) / self.spacing + 1e-9).astype(np.int64)
        return np.clip(piece, 0, self.count - 4)

    def support(self) -> tuple[Array, Array]:
        """First and last time at which each coefficient matters [s], shapes (M,)."""
        first = self.start + self.spacing * (np.arange(self.count, dtype=np.float64) - 3)
        return first, first + 4.0 * self.spacing

    def values(self, times: Array, order: int = 0) -> Array:
        """Weights of the four coefficients from `first` on, for the value or a derivative, shape (K, 4)."""
        knots = self.start + self.spacing * (np.arange(self.count + 4) - 3)
        first = self.first(times)
        inside = np.clip(times, self.start, self.start + self.spacing * (self.count - 3))
        out = np.empty((len(times), 4))
        for k in range(4):
            # the k-th coefficient of each time: a spline of one coefficient, moved along
            base = BSpline.basis_element(knots[:5] - knots[0], extrapolate=False)
            base = base.derivative(order) if order else base
            at = np.clip(inside - knots[first + k], 0.0, 4.0 * self.spacing * (1.0 - 1e-12))
            out[:, k] = base(at)
        return np.nan_to_num(out)

    def evaluate(self, coefficients: Array, times: Array) -> Array:
        """Value at times (K,) of coefficients (M, N), shape (K, N)."""
        first, weights = self.first(times), self.values(times)
        return sum(weights[:, k, None] * coefficients[first + k] for k in range(4))  # pyright: ignore


def fades(spline: Spline, ends: Array, s: float) -> tuple[Index, Array]:
    """What a spline costs that goes on beyond the first and the last time and fades out there, as in a longer one.

    The least of ∫ x² + (s² x'')² dt beyond an end is √2 s x² + 2 s² x x' + √2 s³ x'², the cost of a linear-quadratic
    regulator that begins with the end's own x and x' (away from it).

    Args:
        spline: Over a time.
        ends: The first and the last time [s], or none, shape (E,).
        s: Time of bending [s].

    Returns:
        First of the four coefficients that matter at each end, shape (E,); their squares [s], shape (E, 4, 4).
    """
    out = np.array([-1.0, 1.0])[: len(ends)]
    x, v = spline.values(ends), out[:, None] * spline.values(ends, 1)
    both = x[:, :, None] * v[:, None]
    squares = np.sqrt(2.0) * s * (x[:, :, None] * x[:, None] + s**2 * v[:, :, None] * v[:, None])
    return spline.first(ends), squares + s**2 * (both + np.swapaxes(both, 1, 2))


def solve_band(H: Array, gradient: Array, is_free: Flags) -> Array:
    """The step y of coefficients: H y = −gradient, where those that are not free stay at zero. Overwrites H.

    Args:
        H: The band, lower half of a symmetric matrix: shape (M, S, N, N), zero beyond the last coefficient.
        gradient: Shape (M, N), or several of them, (M, N, R).
        is_free: Shape (M,).

    Raises:
        numpy.linalg.LinAlgError: if the system is not positive definite.
    """
    count, span, size, _ = H.shape
    for c in np.flatnonzero(~is_free):
        H[c, 0] = np.eye(size)
        H[c, 1:] = 0.0
        for d in range(1, min(span, c + 1)):
            H[c - d, d] = 0.0
    y = -gradient
    y[~is_free] = 0.0
    for start in range(0, count, span - 1):
        _eliminate(H, start, min(span - 1, count - start))
    below = H[:, 1:].reshape(count, -1, size)
    for c in range(count):
        y[c] = solve_triangular(H[c, 0], y[c], lower=True, check_finite=False)
        later = y[c + 1 : c + span]
        later -= (below[c, : len(later) * size] @ y[c]).reshape(later.shape)
    for c in range(count - 1, -1, -1):
        later = y[c + 1 : c + span]
        later = later.reshape(-1, *y.shape[2:])
        y[c] -= below[c, : len(later)].T @ later
        y[c] = solve_triangular(H[c, 0], y[c], lower=True, trans=1, check_finite=False)
    return y


def solve_loop(H: Array, gradient: Array, is_free: Flags, turn: Array, lag: int) -> Array:
    """As `solve_band`, where coefficients a round apart are the same but for a turn: y_{k + lag} = R y_k.

    With these rows as C y = 0: y = y₀ − H⁻¹ Cᵀ (C H⁻¹ Cᵀ)⁻¹ C y₀, y₀ = −H⁻¹ gradient. Overwrites H.

    Args:
        H, gradient, is_free: As for `solve_band`.
        turn: R, shape (N, N).
        lag: Coefficients of a round, fewer than M.
    """
    count, size = gradient.shape
    ties = count - lag
    sides = np.zeros((count, size, 1 + ties * size))
    sides[:, :, 0] = gradient
    for k in range(ties):
        columns = slice(1 + k * size, 1 + (k + 1) * size)
        sides[k, :, columns] += turn.T
        sides[k + lag, :, columns] -= np.eye(size)
    y = solve_band(H, sides, is_free)
    gaps = (y[lag:] - np.einsum("ij,kjr->kir", turn, y[:ties])).reshape(ties * size, -1)
    return y[:, :, 0] - y[:, :, 1:] @ np.linalg.lstsq(gaps[:, 1:], gaps[:, 0], rcond=None)[0]


def _eliminate(H: Array, start: int, many: int) -> None:
    """Put the Cholesky factor of `many` coefficients from `start` on in their place, and take them out of the next."""
    span, size = H.shape[1:3]
    width = many * size
    dense = np.zeros((width, width))
    for q in range(many):
        for r in range(q, many):
            dense[r * size : (r + 1) * size, q * size : (q + 1) * size] = H[start + q, r - q]
    # the lower half in rows is the upper half in columns, which LAPACK takes without a copy
    upper = cholesky(dense.T, lower=False, overwrite_a=True, check_finite=False)
    for q in range(many):
        for r in range(q, many):
            H[start + q, r - q] = upper[q * size : (q + 1) * size, r * size : (r + 1) * size].T
    rest = min(span - 1, len(H) - start - many)
    solved: list[Array] = []
    for r in range(rest):  # coefficient start + many + r sees those from start + r on
        coupling = np.concatenate([H[start + q, many + r - q].T for q in range(r, many)])
        triangle = upper[r * size :, r * size :]
        solved.append(solve_triangular(triangle, coupling, trans=1, lower=False, check_finite=False))
        for q in range(r, many):
            H[start + q, many + r - q] = solved[r][(q - r) * size : (q - r + 1) * size].T
    for q in range(many if rest else 0):
        seeing = min(q + 1, rest)
        seen = np.concatenate([solved[r][(q - r) * size : (q - r + 1) * size] for r in range(seeing)], axis=1)
        square = seen.T @ seen
        for u in range(seeing):
            for r in range(u, seeing):
                H[start + many + u, r - u] -= square[r * size : (r + 1) * size, u * size : (u + 1) * size]
