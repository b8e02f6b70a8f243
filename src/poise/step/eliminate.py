"""The first half of a condensed solve: accelerations eliminated, a problem in x = (λ, s) left; see `condensed`."""

from __future__ import annotations

import numpy as np
from numba import njit

from poise.step.lapack import call, limit_threads

# sums may be reordered, which lets them run on vector units; nan and inf keep their meaning
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}

SOLVED, NOT_POSITIVE, DEPENDENT = 0, 1, 2


@njit(**_OPTIONS)
def eliminate(
    Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, share, first, width, x_weight, x_target, chosen, addresses,
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
    threads = limit_threads(addresses[3], 1) if addresses[3] != 0 else 0
    call(addresses[1], (low, order, U.ctypes.data, order, info))
    is_positive = sizes[2] == 0 and np.isfinite(U[nv - 1, nv - 1])
    if is_positive:
        call(addresses[2], (low, low, plain, plain, order, count, one, U.ctypes.data, order, Y.ctypes.data, order))
    if threads > 1:
        limit_threads(addresses[3], threads)
    if not is_positive:
        return NOT_POSITIVE
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
        threads = limit_threads(addresses[3], 1) if addresses[3] != 0 else 0
        call(addresses[0], (low, turned, wide, order, scale[1:].ctypes.data, P.ctypes.data, order, one, Z.ctypes.data,
                            wide))  # fmt: skip
        if threads > 1:
            limit_threads(addresses[3], threads)
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
