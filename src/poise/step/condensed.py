"""The fast path: accelerations eliminated, a non-negative least-squares problem in x = (λ, s) left.

With the rows weighted into Q, b, C, S, f the problem reads

    min ½ aᵀQ a − aᵀ(b + C x) + ½ xᵀS x + fᵀx    subject to  G a + D x = g,  x ≥ 0.

Q = UᵀU; Y = U⁻ᵀ[b, Gᵀ, C]; the columns of G are made orthonormal; what is left in x is solved by an active set
(Lawson and Hanson 1974), warm-started. A soft bound is left out until an answer breaks it; then its row and its slack s
are taken in and the step is solved again. All compiled code that solves lives in this file;
friction pyramids are in `cones`.

Matrices are in C order; a symmetric one is kept in its upper triangle, which is the lower one in LAPACK's eyes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from poise.step.lapack import call, limit_threads

# sums may be reordered, which lets them run on vector units; nan and inf keep their meaning
_OPTIONS = {"cache": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}

SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED = 0, 1, 2, 3
_ROUNDS = 12


@njit(**_OPTIONS)
def _solve_passive(H, f, passive, count, kept, chol, z):
    """Z = −H_PP⁻¹ f_P by Cholesky, of which the first `kept` rows are known; True if H_PP is positive."""
    for i in range(kept, count):
        p = passive[i]
        for j in range(i):
            s = H[p, passive[j]]
            for k in range(j):
                s -= chol[i, k] * chol[j, k]
            chol[i, j] = s / chol[j, j]
        s = H[p, p]
        for k in range(i):
            s -= chol[i, k] * chol[i, k]
        if not s > 0.0:
            return False
        chol[i, i] = np.sqrt(s)
    for i in range(count):
        s = -f[passive[i]]
        for k in range(i):
            s -= chol[i, k] * z[k]
        z[i] = s / chol[i, i]
    for i in range(count - 1, -1, -1):
        z[i] /= chol[i, i]
        for k in range(i):
            z[k] -= chol[i, k] * z[i]
    return True


@njit(**_OPTIONS)
def nonnegative(H, f, warm, x):
    """Min ½ xᵀH x + fᵀx, x ≥ 0, by an active set; returns the number of solves, or −1 if it cycled.

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
    known = 0  # leading rows of the factor that still hold
    # warm start: throw out what comes out negative until the rest stands
    while count > 0:
        solves += 1
        if not _solve_passive(H, f, passive, count, known, chol, z):
            count, known = 0, 0
            break
        known = count
        kept = 0
        for i in range(count):
            if z[i] > 0.0:
                passive[kept] = passive[i]
                kept += 1
            else:
                known = min(known, i)
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
            is_positive = _solve_passive(H, f, passive, count, known, chol, z)
            if not is_positive or (first and z[count - 1] <= 0.0):
                # dependent, or rounding only: this coordinate does not want to grow
                is_passive[best] = False
                count -= 1
                known = min(known, count)
                refused = best
                break
            known = count
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
                    known = min(known, k)
            count = kept
            if count == 0 or solves > 10 * n + 50:
                break
    return -1


@njit(**_OPTIONS)
def _syrk(dsyrk, A, factor, Q):
    """Q += factor AᵀA, upper triangle, A (m, n)."""
    if A.shape[0] == 0:
        return
    letters = np.array([76, 78], np.uint8)  # L, N
    size = np.array([A.shape[1], A.shape[0]], np.int32)
    scale = np.array([factor, 1.0])
    call(
        dsyrk,
        (
            letters.ctypes.data, letters[1:].ctypes.data, size.ctypes.data, size[1:].ctypes.data, scale.ctypes.data,
            A.ctypes.data, size.ctypes.data, scale[1:].ctypes.data, Q.ctypes.data, size.ctypes.data,
        ),
    )  # fmt: skip
    _keep(letters, size, scale)


@njit(**_OPTIONS)
def _syrk_rows(dsyrk, A, factor, Q):
    """Q += factor A Aᵀ, upper triangle, A (n, m)."""
    if A.shape[1] == 0:
        return
    letters = np.array([76, 84], np.uint8)  # L, T
    size = np.array([A.shape[0], A.shape[1]], np.int32)
    scale = np.array([factor, 1.0])
    call(
        dsyrk,
        (
            letters.ctypes.data, letters[1:].ctypes.data, size.ctypes.data, size[1:].ctypes.data, scale.ctypes.data,
            A.ctypes.data, size[1:].ctypes.data, scale[1:].ctypes.data, Q.ctypes.data, size.ctypes.data,
        ),
    )  # fmt: skip
    _keep(letters, size, scale)


@njit(**_OPTIONS)
def _product(dgemm, A, B):
    """A (m, c) times the first c rows of B (…, n)."""
    out = np.zeros((A.shape[0], B.shape[1]))
    letters = np.array([78], np.uint8)
    size = np.array([B.shape[1], A.shape[0], A.shape[1]], np.int32)
    scale = np.array([1.0, 0.0])
    n, m, c = size.ctypes.data, size[1:].ctypes.data, size[2:].ctypes.data
    call(
        dgemm,
        (
            letters.ctypes.data, letters.ctypes.data, n, m, c, scale.ctypes.data, B.ctypes.data, n, A.ctypes.data, c,
            scale[1:].ctypes.data, out.ctypes.data, n,
        ),
    )  # fmt: skip
    _keep(letters, size, scale)
    return out


@njit(**_OPTIONS)
def _factor(dpotrf, dtrsm, U, Y):
    """U ← the upper factor of U = UᵀU, and each row y of Y ← U⁻ᵀy; True if U was positive."""
    letters = np.array([76, 78], np.uint8)
    size = np.array([U.shape[0], Y.shape[0], 0], np.int32)
    one = np.ones(1)
    low, plain = letters.ctypes.data, letters[1:].ctypes.data
    nv, count, info = size.ctypes.data, size[1:].ctypes.data, size[2:].ctypes.data
    call(dpotrf, (low, nv, U.ctypes.data, nv, info))
    is_positive = size[2] == 0 and np.isfinite(U[U.shape[0] - 1, U.shape[0] - 1])
    if is_positive:
        call(
            dtrsm, (low, low, plain, plain, nv, count, one.ctypes.data, U.ctypes.data, nv, Y.ctypes.data, nv)
        )  # fmt: skip
    _keep(letters, size, one)
    return is_positive


@njit(**_OPTIONS)
def _keep(letters, size, scale):
    """Keep arrays whose addresses were handed out alive until here."""
    if letters.shape[0] + size.shape[0] + scale.shape[0] < 0:
        raise ValueError


@njit(**_OPTIONS)
def set_threads(addresses, count):
    """Limit BLAS to some threads; the number before, or 0 where it has no such limit."""
    return limit_threads(addresses[3], count) if addresses[3] != 0 else 0


@njit(**_OPTIONS)
def solve(
    A, XT, w, r, soft_J, soft_XT, soft_w, soft_r, taken, Q_direct, b_direct, x_weight, x_target, G, D, g, warm,
    addresses, a, x, slacks, residuals,
):  # fmt: skip
    """Solve a step; fills a (nv,), x (n,), slacks and residuals (4,): primal, dual, gap, solves. Returns a status.

    Rows Σ w (A a + X x − r)²; XT = Xᵀ (n, c) belongs to the first c rows, the others have none. Soft bounds
    soft_w (soft_J a + soft_X x − s − soft_r)²; those flagged in `taken` are in from the start, those that turn out to
    be needed are added to it; slacks (k,) is filled for them. Q_direct (upper triangle), b_direct: parts in normal
    form. Σ x_weight (x − x_target)².
    """
    rows, nv = A.shape
    n, coupled = XT.shape
    bounds, k = soft_w.shape[0], g.shape[0]
    dsyrk = addresses[0]
    weighted, roots = np.empty((rows, nv)), np.sqrt(w)
    b = b_direct.copy()
    for i in range(rows):
        root, wr = roots[i], w[i] * r[i]
        for j in range(nv):
            weighted[i, j] = root * A[i, j]
            b[j] += wr * A[i, j]
    Q = Q_direct.copy()
    _syrk(dsyrk, weighted, 1.0, Q)
    # S = Xᵀ W X, f = −Xᵀ W r, C = −Xᵀ W A (one row per unknown in x)
    S, f = np.zeros((n, n)), np.zeros(n)
    C = np.zeros((n, nv))
    if n > 0 and coupled > 0:
        weighted_X = np.empty((n, coupled))
        for i in range(n):
            for j in range(coupled):
                weighted_X[i, j] = -roots[j] * XT[i, j]
                f[i] += roots[j] * r[j] * weighted_X[i, j]
        _syrk_rows(dsyrk, weighted_X, 1.0, S)
        C = _product(addresses[4], weighted_X, weighted)
    for i in range(n):
        if not (x_weight[i] >= 0.0 and np.isfinite(x_weight[i] * x_target[i])):
            return NOT_POSITIVE
        S[i, i] += x_weight[i]
        f[i] -= x_weight[i] * x_target[i]
    residuals[3] = 0.0
    for _ in range(_ROUNDS):
        more = 0
        for i in range(bounds):
            more += taken[i]
        chosen = np.flatnonzero(taken)
        size = n + more
        z, z_warm = np.zeros(size), np.zeros(size, np.bool_)
        Z_S, Z_f, Z_D = np.zeros((size, size)), np.empty(size), np.zeros((k, size))
        right = np.empty((1 + k + size, nv))
        # element by element: numba compiles assignment of whole arrays ten times as long
        for i in range(n):
            z_warm[i], Z_f[i] = warm[i], f[i]
            for j in range(n):
                Z_S[i, j] = S[i, j]
            for j in range(nv):
                right[1 + k + i, j] = C[i, j]
        for i in range(k):
            for j in range(n):
                Z_D[i, j] = D[i, j]
            for j in range(nv):
                right[1 + i, j] = G[i, j]
        for j in range(nv):
            right[0, j] = b[j]
        Z_Q = Q.copy()
        if more > 0:
            rows_in = np.empty((more, nv))
            for m in range(more):
                c = chosen[m]
                root = np.sqrt(soft_w[c])
                wr = soft_w[c] * soft_r[c]
                for j in range(nv):
                    rows_in[m, j] = root * soft_J[c, j]
                    right[0, j] += wr * soft_J[c, j]
                    right[1 + k + n + m, j] = soft_w[c] * soft_J[c, j]
                Z_S[n + m, n + m] = soft_w[c]
                Z_f[n + m] = wr
                if soft_XT.shape[0] > 0:
                    _couple(soft_XT[:, c], soft_J[c], soft_w[c], wr, n, n + m, Z_S, Z_f, right[1 + k :])
            _syrk(dsyrk, rows_in, 1.0, Z_Q)
        status = _condense(Z_Q, right, Z_S, Z_f, G, Z_D, g, z_warm, addresses, a, z, residuals)
        if status != SOLVED:
            return status
        for i in range(n):
            x[i] = z[i]
        for m in range(more):
            slacks[chosen[m]] = z[n + m]
        # a bound left out must hold by itself; one that does not is taken in
        is_missing = False
        for i in range(bounds):
            if not taken[i]:
                value = -soft_r[i]
                for j in range(nv):
                    value += soft_J[i, j] * a[j]
                if soft_XT.shape[0] > 0:
                    for j in range(n):
                        value += soft_XT[j, i] * x[j]
                # written so that nan is taken in and fails; so does a weight below zero
                if not (value >= -1e-9 * (1.0 + abs(soft_r[i])) and soft_w[i] >= 0.0):
                    taken[i] = True
                    is_missing = True
        if not is_missing:
            return SOLVED
    return CYCLED


@njit(**_OPTIONS)
def _couple(X, J, weight, wr, n, slack, S, f, C):
    """Add the part of one soft bound's row on the first n unknowns, and of its slack with them."""
    for i in range(n):
        f[i] -= X[i] * wr
        for j in range(i, n):
            S[i, j] += weight * X[i] * X[j]
        S[i, slack] -= weight * X[i]
        for j in range(J.shape[0]):
            C[i, j] -= weight * X[i] * J[j]


@njit(**_OPTIONS)
def _dot(A, i, B, j):
    s = 0.0
    for c in range(A.shape[1]):
        s += A[i, c] * B[j, c]
    return s


@njit(**_OPTIONS)
def _condense(Q, right, S, f, G, D, g, warm, addresses, a, x, residuals):
    """One round: right holds b, the rows of G, the columns of C as rows. Fills a, x, residuals; returns a status."""
    nv, n, k = Q.shape[0], f.shape[0], g.shape[0]
    U, Y = Q.copy(), right.copy()
    if not _factor(addresses[1], addresses[2], U, Y):
        return NOT_POSITIVE
    y = Y[0]
    # orthonormal basis N of the constraint rows: U⁻ᵀGᵀ = N R, and t(x) = R⁻ᵀ(g − D x) = t0 − T x
    N = Y[1 : 1 + k]
    t0, T = g.copy(), D.copy()
    for i in range(k):
        before = np.sqrt(_dot(N, i, N, i))
        for _ in range(2):
            for j in range(i):
                s = _dot(N, i, N, j)
                t0[i] -= s * t0[j]
                for c in range(nv):
                    N[i, c] -= s * N[j, c]
                for c in range(n):
                    T[i, c] -= s * T[j, c]
        length = np.sqrt(_dot(N, i, N, i))
        if length <= 1e-9 * before:
            return DEPENDENT
        t0[i] /= length
        for c in range(nv):
            N[i, c] /= length
        for c in range(n):
            T[i, c] /= length
    # y and the columns of C without their parts along N
    P = Y[1 + k :]
    NC, Ny = np.empty((k, n)), np.empty(k)
    for i in range(k):
        Ny[i] = _dot(N, i, Y, 0)
        for c in range(nv):
            y[c] -= Ny[i] * N[i, c]
        for c in range(n):
            s = 0.0
            for j in range(nv):
                s += N[i, j] * P[c, j]
            NC[i, c] = s
            for j in range(nv):
                P[c, j] -= s * N[i, j]
    residuals_solves = 0
    if n > 0:
        H, h = S.copy(), f.copy()
        _syrk_rows(addresses[0], P, -1.0, H)
        for c in range(n):
            s = 0.0
            for j in range(nv):
                s += P[c, j] * y[j]
            h[c] -= s
            for i in range(k):
                h[c] += T[i, c] * (Ny[i] - t0[i]) - NC[i, c] * t0[i]
                for e in range(c, n):
                    H[c, e] += T[i, c] * T[i, e] + T[i, c] * NC[i, e] + NC[i, c] * T[i, e]
            for e in range(c):
                H[c, e] = H[e, c]
        residuals_solves = nonnegative(H, h, warm, x)
        if residuals_solves < 0:
            return CYCLED
        for c in range(n):
            if x[c] != 0.0:
                for j in range(nv):
                    y[j] += x[c] * P[c, j]
    for i in range(k):
        t = t0[i]
        for c in range(n):
            t -= T[i, c] * x[c]
        for j in range(nv):
            y[j] += t * N[i, j]
    for i in range(nv - 1, -1, -1):
        s = y[i]
        for c in range(i + 1, nv):
            s -= U[i, c] * a[c]
        a[i] = s / U[i, i]
    for i in range(nv):
        if not np.isfinite(a[i]):
            return NOT_POSITIVE
    _certify(Q, right, S, f, G, D, g, a, x, residuals)
    residuals[3] += residuals_solves
    return SOLVED


@njit(**_OPTIONS)
def _certify(Q, right, S, f, G, D, g, a, x, residuals):
    """Relative KKT residuals of (a, x): primal, dual, and complementarity (the duality gap of this problem)."""
    nv, n, k = Q.shape[0], f.shape[0], g.shape[0]
    gradient = np.empty(nv)
    scale = 1e-300
    for i in range(nv):
        gradient[i] = -right[0, i]
        scale = max(scale, abs(right[0, i]), abs(Q[i, i] * a[i]))
    for i in range(nv):
        s = Q[i, i] * a[i]
        for j in range(i + 1, nv):
            s += Q[i, j] * a[j]
            gradient[j] += Q[i, j] * a[i]
        gradient[i] += s
    for c in range(n):
        if x[c] != 0.0:
            for i in range(nv):
                gradient[i] -= right[1 + k + c, i] * x[c]
    # multipliers of the equalities by least squares on the gradient: GGᵀ η = −G gradient, by elimination
    eta, GG = np.empty(k), np.empty((k, k))
    for e in range(k):
        eta[e] = 0.0
        for i in range(nv):
            eta[e] -= G[e, i] * gradient[i]
        for d in range(k):
            GG[e, d] = _dot(G, e, G, d)
        GG[e, e] *= 1.0 + 1e-14
    for e in range(k):
        for d in range(e + 1, k):
            part = GG[d, e] / GG[e, e]
            eta[d] -= part * eta[e]
            for c in range(e, k):
                GG[d, c] -= part * GG[e, c]
    for e in range(k - 1, -1, -1):
        for d in range(e + 1, k):
            eta[e] -= GG[e, d] * eta[d]
        eta[e] /= GG[e, e]
    for e in range(k):
        for i in range(nv):
            gradient[i] += eta[e] * G[e, i]
    dual = 0.0
    for i in range(nv):
        dual = max(dual, abs(gradient[i]))
    dual /= scale
    slope = f.copy()
    xscale, total = 1e-300, 1e-300
    for c in range(n):
        if x[c] != 0.0:
            for e in range(c):
                slope[e] += S[e, c] * x[c]
            for e in range(c, n):
                slope[e] += S[c, e] * x[c]
    for c in range(n):
        s = 0.0
        for i in range(nv):
            s += right[1 + k + c, i] * a[i]
        slope[c] -= s
        xscale = max(xscale, abs(f[c]), abs(s))
    for e in range(k):
        for c in range(n):
            slope[c] += eta[e] * D[e, c]
            xscale = max(xscale, abs(eta[e] * D[e, c]))
    primal, gap = 0.0, 0.0
    for c in range(n):
        s = slope[c]
        dual = max(dual, (abs(s) if x[c] > 0.0 else -s) / xscale)
        primal = max(primal, -x[c])
        gap += abs(x[c] * s)
        total += abs(x[c]) * xscale
    for i in range(k):
        s = -g[i]
        for j in range(nv):
            s += G[i, j] * a[j]
        for c in range(n):
            s += D[i, c] * x[c]
        primal = max(primal, abs(s) / (1.0 + abs(g[i])))
    residuals[0] = primal
    residuals[1] = dual
    residuals[2] = gap / total


@njit(**_OPTIONS)
def recover(M, bias, force_map, external, directions, owner, contacts, a, x, inverse):
    """Torque τ = M a + bias − Bᵀ λ − τ_ext (nv,), contact forces (K, 3), and the largest |inverse − M a − bias|."""
    torque, forces = bias.copy(), np.zeros((contacts, 3))
    left = 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[0]):
            s += M[i, j] * a[j]
        torque[i] += s
        left = max(left, abs(inverse[i] - torque[i]))
        torque[i] -= external[i]
    for c in range(x.shape[0]):
        if x[c] != 0.0:
            for i in range(a.shape[0]):
                torque[i] -= force_map[c, i] * x[c]
            for e in range(3):
                forces[owner[c], e] += directions[c, e] * x[c]
    return torque, forces, left
