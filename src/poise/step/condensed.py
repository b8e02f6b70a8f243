"""The fast path: accelerations eliminated, a non-negative least-squares problem in x = (λ, s) left.

In normal form, with z = (u, s), u = Σ λ_i share_i the columns contact forces act through, and s slacks of soft bounds,
the problem reads

    min ½ aᵀQ a − aᵀ(b + Cᵀz) + ½ zᵀS z + fᵀz + ½ Σ ε (λ − λ*)²    subject to  G a + D z = g,  λ ≥ 0, s ≥ 0.

Q = UᵀU; Y = U⁻ᵀ[b, Gᵀ, Cᵀ]; the columns of G are made orthonormal; what is left in x is solved by an active set. A soft
bound is left out until an answer breaks it; then its row and its slack s are taken in and the step is solved again.

Matrices are in C order; a symmetric one is kept in its upper triangle, which is the lower one in LAPACK's eyes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.step import lapack
from poise.step.active_set import nonnegative
from poise.step.condense import Condensed
from poise.step.lapack import call, limit_threads

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# sums may be reordered, which lets them run on vector units; nan and inf keep their meaning
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}

SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED, MORE = 0, 1, 2, 3, 4
_ROUNDS = 12
_ADDRESSES = lapack.addresses()


class Answer(NamedTuple):
    """What a solve found.

    Attributes:
        status: SOLVED, or why not.
        a, coefficients: Shapes (nv,), (n,).
        acting: Which bounds act: their slack is zero.
        residuals: Primal, dual, gap (see `Certificate`), and the number of small solves.
    """

    status: int
    a: Array
    coefficients: Array
    acting: Flags
    residuals: Array


def solve_condensed(problem: Condensed, warm: Flags, taken: Flags) -> Answer:
    """Solve a step.

    Args:
        problem: The step in normal form.
        warm: Coefficients expected to be positive, shape (n,).
        taken: Bounds that are in from the start; those that turn out to be needed are added to it.
    """
    normal, equal, bounds, weight, target = problem
    columns, (c, nv), n, k = normal.columns, normal.C.shape, len(weight), len(equal.g)
    a, u, residuals, slacks = np.empty(nv), np.empty(c), np.zeros(4), np.zeros(len(taken))
    x = np.zeros(n)
    threads = set_threads(_ADDRESSES, 1)
    status = MORE
    try:
        for _ in range(_ROUNDS):
            chosen = taken.nonzero()[0]
            more = len(chosen)
            U, Y = np.empty((nv, nv)), np.empty((1 + k + c + more, nv))
            N, H, h = np.empty((k, 2 + 2 * (c + more))), np.empty((n + more, n + more)), np.empty(n + more)
            z, x, start = np.empty(c + more), np.empty(n + more), np.zeros(n + more, dtype=np.bool_)
            status = _eliminate(
                normal.Q, normal.b, normal.S, normal.f, normal.C, *equal, *bounds, chosen, columns.share, columns.first,
                columns.width, weight, target, _ADDRESSES, U, Y, N, np.empty((c + more, c + more)),
                np.empty((n, c + more)), z, H, h,
            )  # fmt: skip
            if status != SOLVED:
                break
            start[:n] = warm
            solves = nonnegative(H, h, start, x)
            if solves < 0:
                status = CYCLED
                break
            residuals[3] += solves
            status = _recover(
                U, Y, N, columns.share, columns.first, columns.width, *bounds, chosen, x, z, a, u, slacks, taken,
            )  # fmt: skip
            if status != MORE:
                break
    finally:
        if threads > 1:
            set_threads(_ADDRESSES, threads)
    if status == SOLVED:
        _certify(
            normal.Q, normal.b, normal.S, normal.f, normal.C, *equal, *bounds, taken, columns.share, columns.first,
            columns.width, weight, target, a, u, x, slacks, residuals,
        )  # fmt: skip
    else:
        status = CYCLED if status == MORE else status
        x = np.zeros(n)
    return Answer(status, a, x[:n], taken & (slacks <= 0.0), residuals)


@njit(cache=True, error_model="numpy")
def set_threads(addresses, count):
    """Limit BLAS to some threads; the number before, or 0 where it has no such limit."""
    return limit_threads(addresses[3], count) if addresses[3] != 0 else 0


@njit(**_OPTIONS)
def _eliminate(
    Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, chosen, share, first, width, x_weight, x_target, addresses,
    U, Y, N, Z, half, z, H, h,
):  # fmt: skip
    """Bring a problem to min ½ xᵀH x + hᵀx; fills U, Y, N, H, h; returns a status.

    Y holds y, the rows of N (k) and of P (c + more) for z = (u, s); N holds t0, N y, and T, N Cᵀ by rows.
    """
    nv, c, k, more, n = Q.shape[0], f.shape[0], g.shape[0], chosen.shape[0], x_weight.shape[0]
    size = c + more
    for i in range(n):
        if not (x_weight[i] >= 0.0 and np.isfinite(x_weight[i] * x_target[i])):
            return NOT_POSITIVE
    # what the chosen bounds add
    for i in range(nv):
        Y[0, i] = b[i]
        for j in range(i, nv):
            U[i, j] = Q[i, j]
        for e in range(k):
            Y[1 + e, i] = G[e, i]
        for e in range(c):
            Y[1 + k + e, i] = C[e, i]
    for e in range(size):
        z[e] = f[e] if e < c else 0.0
        for d in range(e, size):
            Z[e, d] = S[e, d] if d < c else 0.0
    for m in range(more):
        at, row = chosen[m], 1 + k + c + m
        w, wr = bound_weight[at], bound_weight[at] * lower[at]
        Z[c + m, c + m], z[c + m] = w, wr
        for i in range(nv):
            wx = w * J[at, i]
            Y[row, i] = wx
            if wx != 0.0:
                Y[0, i] += wr * J[at, i]
                for j in range(i, nv):
                    U[i, j] += wx * J[at, j]
        for e in range(X.shape[1]):
            wx = w * X[at, e]
            if wx != 0.0:
                z[e] -= wr * X[at, e]
                Z[e, c + m] -= wx
                for d in range(e, c):
                    Z[e, d] += wx * X[at, d]
                for i in range(nv):
                    Y[1 + k + e, i] -= wx * J[at, i]
    # U ← the upper factor of U = UᵀU, and each row y of Y ← U⁻ᵀ y
    letters, sizes = np.array([76, 78, 84], np.uint8), np.array([nv, 1 + k + size, 0, size], np.int32)
    scale = np.array([1.0, -1.0])
    low, plain, turned = letters.ctypes.data, letters[1:].ctypes.data, letters[2:].ctypes.data
    order, count, info = sizes.ctypes.data, sizes[1:].ctypes.data, sizes[2:].ctypes.data
    one = scale.ctypes.data
    call(addresses[1], (low, order, U.ctypes.data, order, info))
    if sizes[2] != 0 or not np.isfinite(U[nv - 1, nv - 1]):
        return NOT_POSITIVE
    call(addresses[2], (low, low, plain, plain, order, count, one, U.ctypes.data, order, Y.ctypes.data, order))
    # orthonormal basis N of the constraint rows: U⁻ᵀGᵀ = N R, and t(z) = R⁻ᵀ(g − D z) = t0 − T z
    for i in range(k):
        N[i, 0] = g[i]
        for e in range(size):
            N[i, 2 + e] = D[i, e] if e < c else 0.0
        before = 0.0
        for p in range(nv):
            before += Y[1 + i, p] * Y[1 + i, p]
        for _ in range(2):
            for j in range(i):
                s = 0.0
                for p in range(nv):
                    s += Y[1 + i, p] * Y[1 + j, p]
                for p in range(nv):
                    Y[1 + i, p] -= s * Y[1 + j, p]
                N[i, 0] -= s * N[j, 0]
                for e in range(size):
                    N[i, 2 + e] -= s * N[j, 2 + e]
        length = 0.0
        for p in range(nv):
            length += Y[1 + i, p] * Y[1 + i, p]
        if length <= 1e-18 * before:
            return DEPENDENT
        length = 1.0 / np.sqrt(length)
        N[i, 0] *= length
        for p in range(nv):
            Y[1 + i, p] *= length
        for e in range(size):
            N[i, 2 + e] *= length
    # y and P without their parts along N
    for i in range(k):
        for e in range(1 + size):
            row = 0 if e == 0 else k + e
            s = 0.0
            for p in range(nv):
                s += Y[1 + i, p] * Y[row, p]
            for p in range(nv):
                Y[row, p] -= s * Y[1 + i, p]
            N[i, 1 if e == 0 else 1 + size + e] = s
    # Z ← S − P Pᵀ + what t(z) adds, whole; z ← f − P y + …
    if size > 0:
        P = Y[1 + k :]
        wide = sizes[3:].ctypes.data
        call(addresses[0], (low, turned, wide, order, scale[1:].ctypes.data, P.ctypes.data, order, one, Z.ctypes.data,
                            wide))  # fmt: skip
    for e in range(size):
        s = 0.0
        for p in range(nv):
            s += Y[1 + k + e, p] * Y[0, p]
        for i in range(k):
            t, along = N[i, 2 + e], N[i, 2 + size + e]
            s += along * N[i, 0] - t * (N[i, 1] - N[i, 0])
            for d in range(e, size):
                Z[e, d] += t * N[i, 2 + d] + t * N[i, 2 + size + d] + along * N[i, 2 + d]
        z[e] -= s
        for d in range(e + 1, size):
            Z[d, e] = Z[e, d]
    # from columns to coefficients
    for i in range(n):
        at, s = first[i], 0.0
        for e in range(size):
            half[i, e] = 0.0
        for e in range(width[i]):
            s += share[i, e] * z[at + e]
            for d in range(size):
                half[i, d] += share[i, e] * Z[at + e, d]
        h[i] = s - x_weight[i] * x_target[i]
        for j in range(i + 1):
            s = 0.0
            for e in range(width[j]):
                s += share[j, e] * half[i, first[j] + e]
            H[i, j], H[j, i] = s, s
        H[i, i] += x_weight[i]
        for m in range(more):
            H[i, n + m], H[n + m, i] = half[i, c + m], half[i, c + m]
    for m in range(more):
        h[n + m] = z[c + m]
        for d in range(more):
            H[n + m, n + d] = Z[c + m, c + d]
    if letters.shape[0] + sizes.shape[0] + scale.shape[0] < 0:  # keeps arrays whose addresses were handed out alive
        return NOT_POSITIVE
    return SOLVED


@njit(**_OPTIONS)
def _recover(U, Y, N, share, first, width, J, X, lower, bound_weight, chosen, x, z, a, u, slacks, taken):
    """From x to a (nv,), u (c,) and slacks; adds bounds that the answer breaks to `taken`; returns a status."""
    nv, c, k, more, n = U.shape[0], u.shape[0], N.shape[0], chosen.shape[0], first.shape[0]
    size = c + more
    for e in range(c):
        z[e] = 0.0
    for i in range(n):
        if x[i] != 0.0:
            for e in range(width[i]):
                z[first[i] + e] += x[i] * share[i, e]
    for e in range(size):
        if e < c:
            u[e] = z[e]
        else:
            z[e] = x[n + e - c]
            slacks[chosen[e - c]] = z[e]
        for p in range(nv):
            Y[0, p] += z[e] * Y[1 + k + e, p]
    for i in range(k):
        t = N[i, 0]
        for e in range(size):
            t -= N[i, 2 + e] * z[e]
        for p in range(nv):
            Y[0, p] += t * Y[1 + i, p]
    for i in range(nv - 1, -1, -1):
        s = Y[0, i]
        for j in range(i + 1, nv):
            s -= U[i, j] * a[j]
        a[i] = s / U[i, i]
        if not np.isfinite(a[i]):
            return NOT_POSITIVE
    # a bound left out must hold by itself; one that does not is taken in
    status = SOLVED
    for i in range(lower.shape[0]):
        if not taken[i]:
            value = -lower[i]
            for p in range(nv):
                value += J[i, p] * a[p]
            for e in range(X.shape[1]):
                value += X[i, e] * u[e]
            # written so that nan is taken in and fails; so does a weight below zero
            if not (value >= -1e-9 * (1.0 + abs(lower[i])) and bound_weight[i] >= 0.0):
                taken[i] = True
                status = MORE
    return status


@njit(**_OPTIONS)
def _certify(
    Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, taken, share, first, width, x_weight, x_target, a, u, x, slacks,
    residuals,
):  # fmt: skip
    """Relative KKT residuals of (a, x): primal, dual, and complementarity (the duality gap of this problem)."""
    nv, c, k, n = Q.shape[0], u.shape[0], g.shape[0], first.shape[0]
    gradient, slope, pushed, pulled = np.empty(nv), np.empty(c), np.empty(c), np.zeros(c)
    short = np.zeros(lower.shape[0])
    scale, x_scale, total, gap, dual = 1e-300, 1e-300, 1e-300, 0.0, 0.0
    for i in range(nv):
        gradient[i] = -b[i]
        scale = max(scale, abs(b[i]), abs(Q[i, i] * a[i]))
    for i in range(nv):
        s = Q[i, i] * a[i]
        for j in range(i + 1, nv):
            s += Q[i, j] * a[j]
            gradient[j] += Q[i, j] * a[i]
        gradient[i] += s
    for e in range(c):
        slope[e] = f[e] + S[e, e] * u[e]
    for e in range(c):
        s = 0.0
        for i in range(nv):
            gradient[i] -= C[e, i] * u[e]
            s += C[e, i] * a[i]
        for d in range(e + 1, c):
            slope[e] += S[e, d] * u[d]
            slope[d] += S[e, d] * u[e]
        slope[e] -= s
        pushed[e] = s
    for m in range(lower.shape[0]):
        if taken[m]:
            s = -lower[m] - slacks[m]
            for i in range(nv):
                s += J[m, i] * a[i]
            for e in range(X.shape[1]):
                s += X[m, e] * u[e]
            short[m] = s * bound_weight[m]
            x_scale = max(x_scale, abs(bound_weight[m] * lower[m]))
            for i in range(nv):
                gradient[i] += short[m] * J[m, i]
            for e in range(X.shape[1]):
                slope[e] += short[m] * X[m, e]
    # multipliers of the equalities by least squares on the gradient: GGᵀ η = −G gradient, by elimination
    eta, GG = np.empty(k), np.empty((k, k))
    for e in range(k):
        s = 0.0
        for i in range(nv):
            s -= G[e, i] * gradient[i]
        eta[e] = s
        for d in range(k):
            s = 0.0
            for i in range(nv):
                s += G[e, i] * G[d, i]
            GG[e, d] = s
        GG[e, e] *= 1.0 + 1e-14
    for e in range(k):
        for d in range(e + 1, k):
            part = GG[d, e] / GG[e, e]
            eta[d] -= part * eta[e]
            for j in range(e, k):
                GG[d, j] -= part * GG[e, j]
    primal = 0.0
    for e in range(k - 1, -1, -1):
        for d in range(e + 1, k):
            eta[e] -= GG[e, d] * eta[d]
        eta[e] /= GG[e, e]
        s = -g[e]
        for i in range(nv):
            gradient[i] += eta[e] * G[e, i]
            s += G[e, i] * a[i]
        for j in range(c):
            slope[j] += eta[e] * D[e, j]
            pulled[j] += eta[e] * D[e, j]
            s += D[e, j] * u[j]
        primal = max(primal, abs(s) / (1.0 + abs(g[e])))
    for i in range(nv):
        dual = max(dual, abs(gradient[i]) / scale)
    for i in range(n):
        wished, got, held = 0.0, 0.0, 0.0
        for e in range(width[i]):
            wished += share[i, e] * f[first[i] + e]
            got += share[i, e] * pushed[first[i] + e]
            held += share[i, e] * pulled[first[i] + e]
        x_scale = max(x_scale, abs(wished - x_weight[i] * x_target[i]), abs(got), abs(held))
    for i in range(n + lower.shape[0]):
        if i < n:
            s, size = x_weight[i] * (x[i] - x_target[i]), x[i]
            for e in range(width[i]):
                s += share[i, e] * slope[first[i] + e]
        else:
            s, size = -short[i - n], slacks[i - n]
        dual = max(dual, (abs(s) if size > 0.0 else -s) / x_scale)
        primal = max(primal, -size)
        gap += abs(size * s)
        total += abs(size) * x_scale
    residuals[0] = primal
    residuals[1] = dual
    residuals[2] = gap / total
