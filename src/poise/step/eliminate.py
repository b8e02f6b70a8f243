"""The first half of a condensed solve: accelerations eliminated, a problem in x = (λ, s) left; see `condensed`."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from poise.compiled import INNER_SUMS, call
from poise.light import address_of, index, kept, matrix
from poise.step.algebra import add, dot, fill, put_rows
from poise.step.lapack import limit_threads


@njit(**INNER_SUMS)
def take_in(Q, b, S, f, C, G, J, X, lower, bound_weight, chosen, U, Y, Z, z):
    """Fill U, Z, z and Y, rows b, G, C and one for each bound, with the problem and what chosen bounds add to it."""
    c, k = f.shape[0], G.shape[0]
    put_rows(Q, U, 0)
    put_rows(G, Y, 1)
    put_rows(C, Y, 1 + k)
    y = Y[0]
    for i in range(b.shape[0]):
        y[i] = b[i]
    for e in range(z.shape[0]):
        fill(0.0, Z[e])
        z[e] = 0.0
    for e in range(c):
        z[e] = f[e]
        for d in range(e, c):
            Z[e, d] = S[e, d]
    for m in range(chosen.shape[0]):
        at, row = chosen[m], Y[1 + k + c + m]
        w, rows, columns = bound_weight[at], J[at], X[at]
        wr = w * lower[at]
        Z[c + m, c + m], z[c + m] = w, wr
        for i in range(row.shape[0]):
            wx = w * rows[i]
            row[i] = wx
            if wx != 0.0:
                y[i] += wr * rows[i]
                add(wx, rows, U[i])  # its upper triangle alone counts
        for e in range(columns.shape[0]):
            wx = w * columns[e]
            if wx != 0.0:
                z[e] -= wr * columns[e]
                Z[e, c + m] -= wx
                add(wx, columns, Z[e])
                add(-wx, rows, Y[1 + k + e])


@njit(**INNER_SUMS)
def factorize(U, Y, addresses):
    """U ← the upper factor of U = UᵀU, and each row y of Y ← U⁻ᵀ y; False where U is not positive definite."""
    nv = U.shape[0]
    low, plain, one = kept(np.uint8(76)), kept(np.uint8(78)), kept(1.0)
    order, count, info = kept(np.int32(nv)), kept(np.int32(Y.shape[0])), kept(0)
    threads = limit_threads(addresses[3], 1) if addresses[3] != 0 else 0
    call(addresses[1], (low, order, address_of(U), order, info))
    is_positive = index(info, 1)[0] == 0 and math.isfinite(U[nv - 1, nv - 1])
    if is_positive:
        call(addresses[2], (low, low, plain, plain, order, count, one, address_of(U), order, address_of(Y), order))
    if threads > 1:
        limit_threads(addresses[3], threads)
    return is_positive


@njit(**INNER_SUMS)
def subtract_square(P, Z, addresses):
    """Z ← Z − P Pᵀ, upper triangle."""
    low, turned, minus, one = kept(np.uint8(76)), kept(np.uint8(84)), kept(-1.0), kept(1.0)
    wide, order = kept(np.int32(Z.shape[0])), kept(np.int32(P.shape[1]))
    threads = limit_threads(addresses[3], 1) if addresses[3] != 0 else 0
    call(addresses[0], (low, turned, wide, order, minus, address_of(P), order, one, address_of(Z), wide))
    if threads > 1:
        limit_threads(addresses[3], threads)


@njit(**INNER_SUMS)
def orthonormalize(Y, D, g, N):
    """Rows 1 … k of Y ← an orthonormal basis; N ← t0 and T of t(z) = R⁻ᵀ(g − D z) = t0 − T z; False if dependent."""
    for i in range(g.shape[0]):
        row, t = Y[1 + i], N[i]
        fill(0.0, t)
        t[0] = g[i]
        for e in range(D.shape[1]):
            t[2 + e] = D[i, e]
        before = dot(row, row)
        for _ in range(2):
            for j in range(i):
                s = -dot(row, Y[1 + j])
                add(s, Y[1 + j], row)
                add(s, N[j], t)
        length = dot(row, row)
        if length <= 1e-18 * before:
            return False
        length = 1.0 / math.sqrt(length)
        for p in range(row.shape[0]):
            row[p] *= length
        for e in range(t.shape[0]):
            t[e] *= length
    return True


@njit(**INNER_SUMS)
def project(Y, N, Z, z, addresses):
    """Take the parts along the constraints out of y and P; fill Z = S − P Pᵀ + what t(z) adds and z = f − P y + …."""
    k, size = N.shape[0], z.shape[0]
    P, y = Y[1 + k :], Y[0]
    for i in range(k):
        basis, t = Y[1 + i], N[i]
        t[1] = dot(basis, y)
        add(-t[1], basis, y)
        for e in range(size):
            s = dot(basis, P[e])
            add(-s, basis, P[e])
            t[2 + size + e] = s
    if size > 0:
        subtract_square(P, Z, addresses)
    for e in range(size):
        s, row = dot(P[e], y), Z[e]
        for i in range(k):
            t = N[i]
            own, along = t[2 + e], t[2 + size + e]
            s += along * t[0] - own * (t[1] - t[0])
            for d in range(e, size):
                row[d] += own * (t[2 + d] + t[2 + size + d]) + along * t[2 + d]
        z[e] -= s
        for d in range(e + 1, size):
            Z[d, e] = row[d]


@njit(**INNER_SUMS)
def to_coefficients(share, first, width, weight, target, z, Z, H, h, spare):
    """From columns z = (u, s) to x = (λ, s): fills H and h; at `spare` there is room for n (size + 5) numbers."""
    n, size = weight.shape[0], z.shape[0]
    more = h.shape[0] - n
    # six columns wherever a coefficient acts: what it has less is zero in `share`, so these may lie beyond the last
    half = matrix(spare, n, size + 5)
    for i in range(n):
        row, own, at, s = half[i], share[i], first[i], 0.0
        fill(0.0, row)
        for e in range(width[i]):
            s += own[e] * z[at + e]
            add(own[e], Z[at + e], row)
        h[i] = s - weight[i] * target[i]
        for j in range(i + 1):
            at = first[j]
            s = share[j, 0] * row[at] + share[j, 1] * row[at + 1] + share[j, 2] * row[at + 2]
            s += share[j, 3] * row[at + 3] + share[j, 4] * row[at + 4] + share[j, 5] * row[at + 5]
            H[i, j], H[j, i] = s, s
        H[i, i] += weight[i]
        for m in range(more):
            H[i, n + m] = H[n + m, i] = row[size - more + m]
    for m in range(more):
        at = size - more + m
        h[n + m] = z[at]
        for d in range(more):
            H[n + m, n + d] = Z[at, size - more + d]
