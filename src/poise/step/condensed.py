"""The fast path: accelerations eliminated, a non-negative least-squares problem in x = (λ, s) left.

With the rows weighted into Q, b, C, S, f the problem reads

    min ½ aᵀQ a − aᵀ(b + C x) + ½ xᵀS x + fᵀx    subject to  G a + D x = g,  x ≥ 0.

Q = UᵀU; Y = U⁻ᵀ[b, C, Gᵀ]; the columns of G are made orthonormal; what is left in x is solved by an active set
(Lawson and Hanson 1974), warm-started. All compiled code of the step lives in this file.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from poise.step.lapack import call

_OPTIONS = {"cache": True, "error_model": "numpy"}

SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED = 0, 1, 2, 3


@njit(**_OPTIONS)
def _solve_passive(H, f, passive, count, chol, z):
    """z = −H_PP⁻¹ f_P by Cholesky; True if H_PP is positive."""
    for i in range(count):
        for j in range(i + 1):
            s = H[passive[i], passive[j]]
            for k in range(j):
                s -= chol[i, k] * chol[j, k]
            if i == j:
                if s <= 0.0:
                    return False
                chol[i, i] = np.sqrt(s)
            else:
                chol[i, j] = s / chol[j, j]
    for i in range(count):
        s = -f[passive[i]]
        for k in range(i):
            s -= chol[i, k] * z[k]
        z[i] = s / chol[i, i]
    for i in range(count - 1, -1, -1):
        s = z[i]
        for k in range(i + 1, count):
            s -= chol[k, i] * z[k]
        z[i] = s / chol[i, i]
    return True


@njit(**_OPTIONS)
def nonnegative(H, f, warm, x):
    """min ½ xᵀH x + fᵀx, x ≥ 0, by an active set; returns the number of solves, or −1 if it cycled.

    `warm` marks the coordinates expected to be positive; H must be positive definite.
    """
    n = f.shape[0]
    passive = np.empty(n, np.int64)
    chol = np.empty((n, n))
    z = np.empty(n)
    gradient = np.empty(n)
    is_passive = np.zeros(n, np.bool_)
    scale = 0.0
    for i in range(n):
        scale = max(scale, abs(f[i]))
    tolerance = 1e-12 * (1.0 + scale)
    count = 0
    for i in range(n):
        x[i] = 0.0
        if warm[i]:
            passive[count] = i
            count += 1
    solves = 0
    # warm start: throw out what comes out negative until the rest stands
    while count > 0:
        solves += 1
        if not _solve_passive(H, f, passive, count, chol, z):
            count = 0
            break
        kept = 0
        for i in range(count):
            if z[i] > 0.0:
                passive[kept] = passive[i]
                kept += 1
        if kept == count:
            break
        count = kept
    for i in range(count):
        x[passive[i]] = z[i]
        is_passive[passive[i]] = True
    refused = -1
    while solves < 10 * n + 50:
        for i in range(n):
            gradient[i] = f[i]
        for k in range(count):
            p = passive[k]
            xp = x[p]
            for i in range(n):
                gradient[i] += H[p, i] * xp
        best, worst = -1, -tolerance
        for i in range(n):
            if not is_passive[i] and i != refused and gradient[i] < worst:
                best, worst = i, gradient[i]
        if best < 0:
            return solves
        is_passive[best] = True
        passive[count] = best
        count += 1
        first = True
        refused = -1
        while True:
            solves += 1
            if not _solve_passive(H, f, passive, count, chol, z):
                is_passive[best] = False
                count -= 1
                refused = best
                break
            if first and z[count - 1] <= 0.0:
                # rounding only: this coordinate does not want to grow
                is_passive[best] = False
                count -= 1
                refused = best
                break
            first = False
            step = 1.0
            for k in range(count):
                if z[k] <= 0.0:
                    ratio = x[passive[k]] / (x[passive[k]] - z[k])
                    step = min(step, ratio)
            for k in range(count):
                p = passive[k]
                x[p] += step * (z[k] - x[p])
            if step >= 1.0:
                break
            kept = 0
            for k in range(count):
                p = passive[k]
                if x[p] > 1e-14 * (1.0 + abs(z[k])):
                    passive[kept] = p
                    kept += 1
                else:
                    x[p] = 0.0
                    is_passive[p] = False
            count = kept
            if count == 0 or solves > 10 * n + 50:
                break
    return -1


@njit(**_OPTIONS)
def solve(A, X, w, r, coupled, Q_direct, b_direct, x_weight, x_target, G, D, g, warm, dsyrk, dpotrf, dtrsm, a, x, residuals):
    """Condense and solve; fills a (nv,), x (n,) and residuals (4,): primal, dual, gap, solves. Returns a status.

    A (m, nv), w, r (m,): rows Σ w (A a + X x − r)²; the first `coupled` of them have X (coupled, n).
    Q_direct (upper triangle), b_direct: parts given in normal form. x_weight, x_target (n,): Σ x_weight (x − x_target)².
    """
    rows, nv = A.shape
    n = X.shape[1]
    k = G.shape[0]
    lower, plain = np.array([76], np.uint8), np.array([78], np.uint8)
    one = np.ones(1)
    size = np.empty(4, np.int32)
    # Q = AᵀWA + Q_direct in the upper triangle of C order, which is Fortran's lower triangle
    weighted = np.empty((rows, nv))
    b = b_direct.copy()
    for i in range(rows):
        root, wr = np.sqrt(w[i]), w[i] * r[i]
        for j in range(nv):
            weighted[i, j] = root * A[i, j]
            b[j] += wr * A[i, j]
    Q = Q_direct.copy()
    size[0], size[1] = nv, rows
    if rows > 0:
        call(
            dsyrk,
            (
                lower.ctypes.data, plain.ctypes.data, size.ctypes.data, size[1:].ctypes.data, one.ctypes.data,
                weighted.ctypes.data, size.ctypes.data, one.ctypes.data, Q.ctypes.data, size.ctypes.data,
            ),
        )  # fmt: skip
    # right sides, one per row: b, the rows of G, the columns of C
    Y = np.empty((1 + k + n, nv))
    Y[0] = b
    for i in range(k):
        Y[1 + i] = G[i]
    S = np.zeros((n, n))
    f = np.zeros(n)
    if n > 0:
        XW = np.empty((n, coupled))
        Xt = np.empty((n, coupled))
        for i in range(coupled):
            for c in range(n):
                Xt[c, i] = X[i, c]
                XW[c, i] = -w[i] * X[i, c]
        if coupled > 0:
            Y[1 + k :] = np.dot(XW, A[:coupled])
            S = -np.dot(XW, Xt.T)
            f = np.dot(XW, r[:coupled])
        else:
            Y[1 + k :] = 0.0
        for c in range(n):
            S[c, c] += x_weight[c]
            f[c] -= x_weight[c] * x_target[c]
    factor = Q.copy()
    size[2] = 0
    call(dpotrf, (lower.ctypes.data, size.ctypes.data, factor.ctypes.data, size.ctypes.data, size[2:].ctypes.data))
    if size[2] != 0 or not np.isfinite(factor[nv - 1, nv - 1]):
        return NOT_POSITIVE
    raw = Y.copy()
    size[1] = Y.shape[0]
    call(
        dtrsm,
        (
            lower.ctypes.data, lower.ctypes.data, plain.ctypes.data, plain.ctypes.data, size.ctypes.data,
            size[1:].ctypes.data, one.ctypes.data, factor.ctypes.data, size.ctypes.data, Y.ctypes.data, size.ctypes.data,
        ),
    )  # fmt: skip
    y = Y[0]
    # orthonormal basis of the constraint rows: L⁻¹Gᵀ = U R, and t(x) = R⁻ᵀ(g − D x) = t0 − T x
    U = Y[1 : 1 + k]
    t0 = g.copy()
    T = D.copy()
    for i in range(k):
        before = np.sqrt(np.dot(U[i], U[i]))
        for _ in range(2):
            for j in range(i):
                s = np.dot(U[i], U[j])
                for c in range(nv):
                    U[i, c] -= s * U[j, c]
                t0[i] -= s * t0[j]
                for c in range(n):
                    T[i, c] -= s * T[j, c]
        length = np.sqrt(np.dot(U[i], U[i]))
        if length <= 1e-9 * before:
            return DEPENDENT
        for c in range(nv):
            U[i, c] /= length
        t0[i] /= length
        for c in range(n):
            T[i, c] /= length
    solution = np.empty(nv)
    solves = 0
    if n > 0:
        C = Y[1 + k :]
        P = C.copy()
        Uc = np.zeros((k, n))
        yp = y.copy()
        for i in range(k):
            s = np.dot(U[i], y)
            for c in range(nv):
                yp[c] -= s * U[i, c]
            for c in range(n):
                Uc[i, c] = np.dot(U[i], C[c])
                for j in range(nv):
                    P[c, j] -= Uc[i, c] * U[i, j]
        H = S - np.dot(P, P.T)
        h = f - np.dot(P, yp)
        for i in range(k):
            ub = np.dot(U[i], y)
            for c in range(n):
                h[c] += T[i, c] * (ub - t0[i]) - Uc[i, c] * t0[i]
                for e in range(n):
                    H[c, e] += T[i, c] * T[i, e] + T[i, c] * Uc[i, e] + Uc[i, c] * T[i, e]
        solves = nonnegative(H, h, warm, x)
        if solves < 0:
            return CYCLED
        solution[:] = yp + np.dot(x, P)
        for i in range(k):
            t = t0[i] - np.dot(T[i], x)
            for c in range(nv):
                solution[c] += t * U[i, c]
    else:
        solution[:] = y
        for i in range(k):
            s = t0[i] - np.dot(U[i], y)
            for c in range(nv):
                solution[c] += s * U[i, c]
    # a = U⁻¹ y with the upper triangle of C order
    for i in range(nv - 1, -1, -1):
        s = solution[i]
        for c in range(i + 1, nv):
            s -= factor[i, c] * a[c]
        a[i] = s / factor[i, i]
    _certify(Q, raw, S, f, G, D, g, a, x, residuals)
    residuals[3] = solves
    # keep arrays whose addresses were handed out alive until here
    if weighted.shape[0] < 0 or lower[0] == 0 or plain[0] == 0 or one[0] == 0.0:
        return CYCLED
    return SOLVED


@njit(**_OPTIONS)
def _certify(Q, raw, S, f, G, D, g, a, x, residuals):
    """Relative KKT residuals of (a, x): primal, dual, and complementarity (the duality gap of this problem)."""
    nv, n, k = Q.shape[0], f.shape[0], G.shape[0]
    gradient = np.empty(nv)
    scale = 1e-300
    for i in range(nv):
        s = -raw[0, i]
        for j in range(nv):
            s += (Q[i, j] if i <= j else Q[j, i]) * a[j]
        for c in range(n):
            s -= raw[1 + k + c, i] * x[c]
        gradient[i] = s
        scale = max(scale, abs(raw[0, i]))
    # multipliers of the equalities by least squares on the gradient: GGᵀ η = −G gradient
    eta = np.zeros(k)
    if k > 0:
        GG = np.dot(G, G.T)
        for i in range(k):
            GG[i, i] *= 1.0 + 1e-14
        eta = np.linalg.solve(GG, -np.dot(G, gradient))
    dual = 0.0
    for i in range(nv):
        s = gradient[i]
        for e in range(k):
            s += eta[e] * G[e, i]
        dual = max(dual, abs(s))
    residuals[1] = dual / scale
    primal, gap = 0.0, 0.0
    xscale, total = 1e-300, 1e-300
    for c in range(n):
        xscale = max(xscale, abs(f[c]))
    for c in range(n):
        s = f[c]
        for e in range(n):
            s += S[c, e] * x[e]
        for i in range(nv):
            s -= raw[1 + k + c, i] * a[i]
        for e in range(k):
            s += eta[e] * D[e, c]
        if x[c] > 0.0:
            residuals[1] = max(residuals[1], abs(s) / xscale)
        else:
            residuals[1] = max(residuals[1], -s / xscale)
        primal = max(primal, -x[c])
        gap += abs(x[c] * s)
        total += abs(x[c] * f[c])
    for i in range(k):
        s = -g[i]
        for j in range(nv):
            s += G[i, j] * a[j]
        for c in range(n):
            s += D[i, c] * x[c]
        primal = max(primal, abs(s) / (1.0 + abs(g[i])))
    residuals[0] = primal
    residuals[2] = gap / total
