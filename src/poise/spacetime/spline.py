"""Functions of time as cubic B-splines, and least squares for them, solved block by block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import cholesky, solve_triangular

from poise.core.typing import Array, Flags, Index

SPAN = 5
"""Coefficients that three neighboring frames see, where knots are at least two frames apart."""
BLOCK = SPAN - 1
"""Coefficients of a block of the system: those that see each other lie in neighboring blocks."""


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
    def over(cls, start: float, end: float, spacing: float) -> Spline:
        """Knots at most `spacing` apart, one of them at each end."""
        pieces = max(2, int(np.ceil((end - start) / spacing - 1e-9)))
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


class BlockSystem:
    """Normal equations H y = −g of spline coefficients (M, N), as blocks of BLOCK coefficients beside each other.

    What three neighboring frames say reaches SPAN coefficients at most, so H is block tridiagonal and is factored from
    the first block to the last.
    """

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.width = BLOCK * size
        blocks = -(-count // BLOCK)
        self.diagonal = np.zeros((blocks, self.width, self.width))
        self.below = np.zeros((blocks - 1, self.width, self.width))
        self.gradient = np.zeros((blocks * BLOCK, size))

    def add(self, first: int, square: Array, gradient: Array) -> None:
        """Add squares (W N, W N) and a gradient (W, N) for coefficients first … first + W − 1, W ≤ SPAN."""
        block, row = divmod(first, BLOCK)
        row *= self.size
        here = min(len(square), self.width - row)
        self.diagonal[block, row : row + here, row : row + here] += square[:here, :here]
        if here < len(square):
            rest = len(square) - here
            self.below[block, :rest, row:] += square[here:, :here]
            self.diagonal[block + 1, :rest, :rest] += square[here:, here:]
        self.gradient[first : first + len(gradient)] += gradient

    def solve(self, is_free: Flags) -> Array:
        """The step y (M, N); coefficients that are not free (M,) stay at zero. The system is used up.

        Raises:
            numpy.linalg.LinAlgError: if the system is not positive definite.
        """
        free = np.zeros(len(self.gradient), dtype=np.bool_)
        free[: self.count] = is_free
        mask = np.repeat(free, self.size).reshape(len(self.diagonal), self.width)
        right = np.where(free[:, None], -self.gradient, 0.0).reshape(mask.shape)
        for block, keep in enumerate(mask):
            held = np.flatnonzero(~keep)
            self.diagonal[block, held] = 0.0
            self.diagonal[block, :, held] = 0.0
            self.diagonal[block, held, held] = 1.0
            if block:
                self.below[block - 1, held] = 0.0
                coupling = self.below[block - 1]
                coupling[:, ~mask[block - 1]] = 0.0
                carried = solve_triangular(self.diagonal[block - 1], coupling.T, lower=True, check_finite=False)
                self.below[block - 1] = carried.T
                self.diagonal[block] -= carried.T @ carried
                right[block] -= carried.T @ right[block - 1]
            self.diagonal[block] = cholesky(self.diagonal[block], lower=True, check_finite=False)
            right[block] = solve_triangular(self.diagonal[block], right[block], lower=True, check_finite=False)
        for block in range(len(mask) - 1, -1, -1):
            if block + 1 < len(mask):
                right[block] -= self.below[block].T @ right[block + 1]
            right[block] = solve_triangular(self.diagonal[block], right[block], lower=True, trans=1, check_finite=False)
        return right.reshape(-1, self.size)[: self.count]
