"""The second half of a condensed solve: from x = (λ, s) back to accelerations, and the proof; see `condensed`."""

from __future__ import annotations

import math

from numba import njit

from poise.compiled import INNER_SUMS
from poise.light import larger, matrix, vector
from poise.step.algebra import add, dot, fill, times


@njit(**INNER_SUMS)
def go_back(share, first, width, chosen, U, Y, N, x, z, a, slacks):
    """From x to z = (u, s) and a; False where a is not finite."""
    k, nv, n, size = N.shape[0], a.shape[0], first.shape[0], z.shape[0]
    c, y = size - chosen.shape[0], Y[0]
    fill(0.0, z)
    for i in range(n):
        if x[i] != 0.0:
            for e in range(width[i]):
                z[first[i] + e] += x[i] * share[i, e]
    for m in range(chosen.shape[0]):
        z[c + m] = x[n + m]
        slacks[chosen[m]] = x[n + m]
    for e in range(size):
        add(z[e], Y[1 + k + e], y)
    for i in range(k):
        add(N[i, 0] - dot(z, N[i][2:]), Y[1 + i], y)
    for i in range(nv - 1, -1, -1):
        a[i] = (y[i] - dot(a[i + 1 :], U[i][i + 1 :])) / U[i, i]
        if not math.isfinite(a[i]):
            return False
    return True


@njit(**INNER_SUMS)
def take_broken(J, X, lower, bound_weight, a, z, taken):
    """A bound left out must hold by itself: those that do not are taken in; False if there are any."""
    holds = True
    for i in range(lower.shape[0]):
        if not taken[i]:
            value = dot(a, J[i]) + dot(X[i], z) - lower[i]
            # written so that nan is taken in and fails; so does a weight below zero
            if not (value >= -1e-9 * (1.0 + abs(lower[i])) and bound_weight[i] >= 0.0):
                taken[i] = True
                holds = False
    return holds


@njit(**INNER_SUMS)
def multipliers(G, gradient, eta, GG):
    """Fill multipliers η (k,) of the equalities: GGᵀ η = −G gradient, by elimination; GG (k, k) is room."""
    k = G.shape[0]
    for e in range(k):
        eta[e] = -dot(G[e], gradient)
        for d in range(k):
            GG[e, d] = dot(G[e], G[d])
        GG[e, e] *= 1.0 + 1e-14
    for e in range(k):
        for d in range(e + 1, k):
            part = -GG[d, e] / GG[e, e]
            eta[d] += part * eta[e]
            add(part, GG[e], GG[d])
    for e in range(k - 1, -1, -1):
        eta[e] = (eta[e] - dot(eta[e + 1 :], GG[e][e + 1 :])) / GG[e, e]


@njit(**INNER_SUMS)
def certify(
    Q, b, S, f, C, G, D, g, J, X, lower, bound_weight, share, first, width, x_weight, x_target, x, z, a, slacks, taken,
    residuals, spare,
):  # fmt: skip
    """Relative KKT residuals of an answer in the problem as it was given: primal, dual, complementarity.

    At `spare` there is room for nv + 3 c + k (k + 1) numbers and one for each bound.
    """
    nv, c, n = a.shape[0], f.shape[0], first.shape[0]
    k = g.shape[0]
    gradient, short = vector(spare, nv), vector(spare + 8 * nv, lower.shape[0])
    at = spare + 8 * (nv + lower.shape[0])
    slope, pushed, pulled = vector(at, c), vector(at + 8 * c, c), vector(at + 16 * c, c)
    eta, GG = vector(at + 24 * c, k), matrix(at + 24 * c + 8 * k, k, k)
    scale, x_scale, primal, dual, gap = 1e-300, 1e-300, 0.0, 0.0, 0.0
    for i in range(nv):
        gradient[i] = -b[i]
        scale = larger(larger(scale, abs(b[i])), abs(Q[i, i] * a[i]))
    times(Q, a, gradient)
    u = z[:c]
    for e in range(c):
        add(-z[e], C[e], gradient)
        pushed[e] = dot(a, C[e])
        slope[e] = f[e] - pushed[e]
        pulled[e] = 0.0
    times(S, u, slope)
    for m in range(lower.shape[0]):
        short[m] = 0.0
        if taken[m]:
            short[m] = bound_weight[m] * (dot(a, J[m]) + dot(X[m], z) - lower[m] - slacks[m])
            x_scale = larger(x_scale, abs(bound_weight[m] * lower[m]))
            add(short[m], J[m], gradient)
            add(short[m], X[m], slope)
    multipliers(G, gradient, eta, GG)
    for e in range(k):
        add(eta[e], G[e], gradient)
        add(eta[e], D[e], slope)
        add(eta[e], D[e], pulled)
        primal = larger(primal, abs(dot(a, G[e]) + dot(u, D[e]) - g[e]) / (1.0 + abs(g[e])))
    for i in range(nv):
        dual = larger(dual, abs(gradient[i]) / scale)
    for i in range(n):
        wished, got, held = 0.0, 0.0, 0.0
        for e in range(width[i]):
            wished += share[i, e] * f[first[i] + e]
            got += share[i, e] * pushed[first[i] + e]
            held += share[i, e] * pulled[first[i] + e]
        x_scale = larger(larger(x_scale, abs(wished - x_weight[i] * x_target[i])), larger(abs(got), abs(held)))
    total = 1e-300
    for i in range(n + lower.shape[0]):
        if i < n:
            s, size = x_weight[i] * (x[i] - x_target[i]), x[i]
            for e in range(width[i]):
                s += share[i, e] * slope[first[i] + e]
        else:
            s, size = -short[i - n], slacks[i - n]
        dual = larger(dual, (abs(s) if size > 0.0 else -s) / x_scale)
        primal = larger(primal, -size)
        gap += abs(size * s)
        total += abs(size) * x_scale
    residuals[0], residuals[1], residuals[2] = primal, dual, gap / total
