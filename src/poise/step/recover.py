"""The second half of a condensed solve: from x = (λ, s) back to accelerations, and the proof; see `condensed`."""

from __future__ import annotations

import numpy as np
from numba import njit

# sums may be reordered, which lets them run on vector units; nan and inf keep their meaning
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}

SOLVED, NOT_POSITIVE, MORE = 0, 1, 4


@njit(**_OPTIONS)
def recover(
    Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, share, first, width, x_weight, x_target, chosen, U, Y, N, x, z,
    a, slacks, taken, residuals,
):  # fmt: skip
    """From x to a (nv,) and slacks; returns a status.

    Bounds that the answer breaks are added to `taken`. Where there is none, the relative KKT residuals of the answer in
    the problem as it was given are filled: primal, dual, and complementarity (the duality gap of this problem).
    """
    nv, c, k, more, n = U.shape[0], f.shape[0], g.shape[0], chosen.shape[0], first.shape[0]
    size = c + more
    for e in range(c):
        z[e] = 0.0
    for i in range(n):
        if x[i] != 0.0:
            for e in range(width[i]):
                z[first[i] + e] += x[i] * share[i, e]
    for e in range(size):
        if e >= c:
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
                value += X[i, e] * z[e]
            # written so that nan is taken in and fails; so does a weight below zero
            if not (value >= -1e-9 * (1.0 + abs(lower[i])) and bound_weight[i] >= 0.0):
                taken[i] = True
                status = MORE
    if status == MORE:
        return MORE
    # the certificate
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
        slope[e] = f[e] + S[e, e] * z[e]
    for e in range(c):
        s = 0.0
        for i in range(nv):
            gradient[i] -= C[e, i] * z[e]
            s += C[e, i] * a[i]
        for d in range(e + 1, c):
            slope[e] += S[e, d] * z[d]
            slope[d] += S[e, d] * z[e]
        slope[e] -= s
        pushed[e] = s
    for m in range(lower.shape[0]):
        if taken[m]:
            s = -lower[m] - slacks[m]
            for i in range(nv):
                s += J[m, i] * a[i]
            for e in range(X.shape[1]):
                s += X[m, e] * z[e]
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
            s += D[e, j] * z[j]
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
    return SOLVED
