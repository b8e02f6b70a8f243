"""Small non-negative least squares by an active set (Lawson and Hanson 1974), warm-started."""

from __future__ import annotations

import math

from numba import njit

from poise.compiled import INNER_SUMS, SUMS, shared
from poise.light import address_of, borrow, flags, give_back, index, larger, matrix, smaller, vector


@njit(**INNER_SUMS)
def _factorize(H, passive, known, count, chol, work):
    """Rows from `known` on of the Cholesky factor of H_PP, in `work` one over its diagonal; False if not positive."""
    for i in range(known, count):
        p = passive[i]
        for j in range(i + 1):
            s = H[p, passive[j]]
            for k in range(j):
                s -= chol[i, k] * chol[j, k]
            if j < i:
                chol[i, j] = s * work[j]
            elif s > 0.0:
                work[i] = 1.0 / math.sqrt(s)
            else:
                return False
    return True


@njit(**INNER_SUMS)
def _substitute(f, passive, count, chol, work, z):
    """Fill z = −H_PP⁻¹ f_P."""
    for i in range(count):
        s = -f[passive[i]]
        for k in range(i):
            s -= chol[i, k] * z[k]
        z[i] = s * work[i]
    for i in range(count - 1, -1, -1):
        z[i] *= work[i]
        for k in range(i):
            z[k] -= chol[i, k] * z[i]


@njit(**INNER_SUMS)
def _entering(H, f, passive, count, is_passive, refused, tolerance, x, gradient):
    """The coordinate that wants to grow most, or −1."""
    n = f.shape[0]
    for i in range(n):
        gradient[i] = f[i]
    for k in range(count):
        p = passive[k]
        for i in range(n):
            gradient[i] += H[p, i] * x[p]
    best, worst = -1, -tolerance
    for i in range(n):
        if not is_passive[i] and i != refused and gradient[i] < worst:
            best, worst = i, gradient[i]
    return best


@shared(**SUMS)
def nonnegative(H, f, warm, x):
    """Min ½ xᵀH x + fᵀx, x ≥ 0, by an active set; returns the number of solves, or −1 if it cycled.

    `warm` marks the coordinates expected to be positive; H must be positive definite.
    """
    n = f.shape[0]
    borrowed = borrow(n * (n + 5))
    solves = _solve(H, f, warm, x, address_of(borrowed))
    give_back(borrowed)
    return solves


@njit(**INNER_SUMS)
def _solve(H, f, warm, x, at):
    """`nonnegative`, with room for n (n + 5) numbers at an address."""
    n = f.shape[0]
    row = 8 * n
    passive, is_passive = index(at, n), flags(at + row, n)
    work, z, gradient = vector(at + 2 * row, n), vector(at + 3 * row, n), vector(at + 4 * row, n)
    chol = matrix(at + 5 * row, n, n)
    tolerance = 0.0
    count = 0
    for i in range(n):
        tolerance = larger(tolerance, abs(f[i]))
        x[i], is_passive[i] = 0.0, False
        if warm[i]:
            passive[count] = i
            count += 1
    tolerance = 1e-12 * (1.0 + tolerance)
    solves, known = 0, 0  # leading rows of the factor that still hold
    entering, refused = -1, -1
    is_warm = True  # first throw out what comes out negative until the rest stands
    while solves < 10 * n + 50:
        if count > 0:
            solves += 1
            is_positive = _factorize(H, passive, known, count, chol, work)
            kept = 0
            if is_positive:
                _substitute(f, passive, count, chol, work, z)
            if is_warm:
                known = count if is_positive else 0
                for i in range(count if is_positive else 0):
                    if z[i] > 0.0:
                        passive[kept] = passive[i]
                        kept += 1
                    else:
                        known = smaller(known, i)
                is_warm = kept < count and kept > 0
                count = kept
                if is_warm:
                    continue
                for i in range(count):
                    x[passive[i]], is_passive[passive[i]] = z[i], True
            elif not is_positive or (entering >= 0 and z[count - 1] <= 0.0):
                # dependent, or rounding only: this coordinate does not want to grow
                p = passive[count - 1]
                x[p], is_passive[p] = 0.0, False
                count -= 1
                known = smaller(known, count)
                refused = p
            else:
                known, entering = count, -1
                step = 1.0
                for k in range(count):
                    if z[k] <= 0.0:
                        xp = x[passive[k]]
                        step = smaller(step, xp / (xp - z[k]))
                for k in range(count):
                    p = passive[k]
                    x[p] += step * (z[k] - x[p])
                    if step >= 1.0 or x[p] > 1e-14 * (1.0 + abs(z[k])):
                        passive[kept] = p
                        kept += 1
                    else:
                        x[p], is_passive[p] = 0.0, False
                        known = smaller(known, k)
                count = kept
                if step < 1.0 and count > 0:
                    continue
        is_warm = False
        best = _entering(H, f, passive, count, is_passive, refused, tolerance, x, gradient)
        if best < 0:
            return solves
        passive[count], is_passive[best] = best, True
        count += 1
        entering, refused = best, -1
    return -1
