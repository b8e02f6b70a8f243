"""Sums over rows for compiled code. Written once, so that they are compiled once."""

from __future__ import annotations

from numba import njit

from poise.compiled import INNER_SUMS


@njit(**INNER_SUMS)
def dot(x, y):
    """Σ x_p y_p."""
    s = 0.0
    for p in range(x.shape[0]):
        s += x[p] * y[p]
    return s


@njit(**INNER_SUMS)
def add(s, x, y):
    """Make y into y + s x, as far as x goes."""
    for p in range(x.shape[0]):
        y[p] += s * x[p]


@njit(**INNER_SUMS)
def fill(s, y):
    """Fill y with s."""
    for p in range(y.shape[0]):
        y[p] = s


@njit(**INNER_SUMS)
def put_rows(A, B, first):
    """The rows of A into B from row `first` on."""
    for i in range(A.shape[0]):
        for p in range(A.shape[1]):
            B[first + i, p] = A[i, p]


@njit(**INNER_SUMS)
def times(A, x, y):
    """Make y into y + A x for a symmetric A given by its upper triangle."""
    for i in range(A.shape[0]):
        s = A[i, i] * x[i]
        for j in range(i + 1, A.shape[0]):
            s += A[i, j] * x[j]
            y[j] += A[i, j] * x[i]
        y[i] += s
