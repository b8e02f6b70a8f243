"""Impulses at contacts between bodies that answer them in their own ways: exact Coulomb cones, one solve a step.

With u = A p + g the relative velocities at the end of the step, less the wanted ones, and p the impulses, each contact
asks for

    p ∈ K,   ũ = u + (μ |u_t|, 0, 0) ∈ K*,   p · ũ = 0,   K = {|p_t| ≤ μ p_n}:

what does not separate pushes, what sticks stays inside its cone, what slides is held back against its way. The term
μ |u_t| (De Saxcé) makes the cone of a sliding contact that of Coulomb. A = Σ J B Jᵀ over the trees, where B is M⁻¹ of a
body and the response of a figure, which is not symmetric, see `poise.step.solve`.

Two points that are joined, as in a chain, are a contact of negative friction: any p, and u = 0.

Contacts are swept (projected Gauss-Seidel) until they rest, or often enough. Contacts that are linked to a figure or a
chain, also through other bodies, are solved exactly, since sweeps stall with light bodies under a foot: by Newton's
method in a few steps, after sweeps where it fails at first, or by splitting (Douglas and Rachford) at last. Neither
needs symmetry. Source: [Levine2012]_ section 3. Deviates: the paper uses sweeps only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.native import compiled
from poise.physics.touching import Touches

SWEEPS, MANY, SETTLED = 20, 500, 1e-5
"""Sweeps over all contacts, most sweeps over those that are not solved exactly, and the change of a contact in a sweep
below which it rests [m/s]."""
LARGEST = 128
"""Most contacts that are solved exactly."""
FEW, TURNS_AT_ONCE, TOLERANCE = 300, 25, 1e-5
"""Turns of splitting before Newton's method tries again, how many there are between two choices of its step, and the
velocity at which both end [m/s]."""
QUICK, STEPS, GOOD = 12, 60, 1e-4
"""Most steps of Newton's method from the impulses of the step before, most of it after sweeps, and the velocity below
which no splitting is needed then [m/s]."""
SOFT = np.array([0.002, 0.006, 0.006])
"""Added to the diagonal of A along the normal and the tangents, over the mass of a figure [1]: contacts that say the
same share their load, and what is wedged between a foot and the ground is not held with any force it takes."""


class Impulses(NamedTuple):
    """The answer of a step.

    Attributes:
        p: Impulses along the rows of each contact [N s], shape (K, 3).
        v: Velocities of all trees after them, shape (nv,).
        residual: How far each contact is from its law, as a velocity [m/s], shape (K,); one at its largest impulse
            obeys it.
    """

    p: Array
    v: Array
    residual: Array

    @staticmethod
    def none(count: int, v: Array) -> Impulses:
        """No impulse at so many contacts."""
        return Impulses(np.zeros((count, 3)), v, np.zeros(count))


def solve_contacts(
    touches: Touches,
    answers: Array,
    first: Index,
    width: Index,
    exact: Flags,
    v: Array,
    wanted: Array,
    start: Array,
    largest: Array,
    mass: float,
    islands: Sequence[Index] | None = None,
) -> Impulses:
    """Impulses at all contacts of a step.

    Args:
        touches: The contacts, K of them.
        answers: Change of velocity per unit impulse along each row, shape (K, 2, 3, W).
        first, width: First dof and number of dofs of each tree, shape (T,).
        exact: Trees whose contacts, and all that are linked to them, are solved exactly, shape (T,).
        v: Velocities without contact, shape (nv,).
        wanted: Relative velocity along each row that counts as zero [m/s], shape (K, 3).
        start: Impulses to begin with, shape (K, 3).
        largest: Largest impulse along the normal [N s], shape (K,); contacts that need more may overlap.
        mass: Of a figure [kg].
        islands: Contacts of each group that is solved exactly, where known (`islands_of`).
    """
    K, soft = len(touches.gaps), SOFT / mass
    if not K:
        return Impulses.none(0, v)
    trees, friction = touches.trees, touches.friction
    given = trees, first, width, touches.rows, answers, wanted, friction, largest
    islands = [own for own in (islands_of(trees, exact) if islands is None else islands) if len(own) <= LARGEST]
    is_linked = len(islands) == 1 and len(islands[0]) == K
    p, now, residual = start.copy(), v.copy(), np.empty(K)
    awake, later = np.ones(len(first), dtype=np.bool_), np.zeros(len(first), dtype=np.bool_)
    if is_linked or not islands:
        room = np.empty(18 * K**2 + 36 * K if is_linked else 7 * K)
        limits = SWEEPS, MANY, SETTLED, QUICK, TOLERANCE
        if settle_contacts(*given, soft, is_linked, *limits, now, p, residual, room, awake, later) >= 0:
            return Impulses(p, now, residual)
        p[:] = start
    diagonal = np.empty((K, 3))
    contact_diagonals(trees, touches.rows, answers, diagonal)
    g = (_speeds(touches, first, width, v) - wanted).ravel()
    apply_impulses(trees, first, width, answers, p, now)
    sweep_contacts(*given, diagonal, soft, SWEEPS, SETTLED, now, p, awake, later)
    for own in islands:  # solved below
        awake[trees[own][trees[own] >= 0]] = False
    if awake.any():
        sweep_contacts(*given, diagonal, soft, MANY, SETTLED, now, p, awake, later)
    for own in islands:
        A = _dense(touches, answers, width, own, soft)
        p[own] = exactly(A, g.reshape(K, 3)[own].ravel(), friction[own], largest[own], p[own], start[own])
    now = v.copy()
    apply_impulses(trees, first, width, answers, p, now)
    u = _speeds(touches, first, width, now) - wanted
    law_residuals(u, p, friction, diagonal.mean(axis=1), largest, residual)
    return Impulses(p, now, residual)


@compiled(
    "const word trees[k][2], const word first[t], const word width[t], const real rows[k][2][3][w],"
    "const real answers[k][2][3][w], const real wanted[k][3], const real friction[k], const real largest[k],"
    "const real soft[3], word is_linked, word sweeps, word many, real settled, word quick, real tolerance, real v[nv],"
    "real p[k][3], real residual[k], real room[m], flag awake[t], flag later[t]",
    returns="word",
)
def settle_contacts(
    trees, first, width, rows, answers, wanted, friction, largest, soft, is_linked, sweeps, many, settled, quick,
    tolerance, v, p, residual, room, awake, later,
):  # fmt: skip
    """The whole solve where all contacts are swept, or all are linked to a figure and Newton's method finds them.

    v are velocities without contact, p the impulses to begin with; it fills in those after. Returns −1 where Newton's
    method fails, v as they were.
    """
    K, diagonal, u = len(friction), np.empty((len(friction), 3)), np.empty((len(friction), 3))
    given = trees, first, width, rows, answers, wanted, friction, largest
    contact_diagonals(trees, rows, answers, diagonal)
    if is_linked:
        A = np.empty((K, 3, K, 3))
        delassus(trees, width, rows, answers, A)
        A = A.reshape(3 * K, -1)
        A[np.diag_indices(3 * K)] += np.tile(soft, K)
        contact_speeds(trees, first, width, rows, v, u)
        if newton(A, (u - wanted).ravel(), friction, largest, quick, tolerance, p, room) < 0:
            return -1
        apply_impulses(trees, first, width, answers, p, v)
    else:
        apply_impulses(trees, first, width, answers, p, v)
        awake[:] = True
        sweep_contacts(*given, diagonal, soft, sweeps, settled, v, p, awake, later)
        if awake.any():
            sweep_contacts(*given, diagonal, soft, many, settled, v, p, awake, later)
    contact_speeds(trees, first, width, rows, v, u)
    law_residuals(u - wanted, p, friction, diagonal.mean(axis=1), largest, residual)
    return 0


def _dense(touches: Touches, answers: Array, width: Index, own: Index, soft: Array) -> Array:
    """A of some of the contacts, with their softness, shape (3 N, 3 N)."""
    A = np.empty((len(own), 3, len(own), 3))
    delassus(touches.trees[own], width, touches.rows[own], answers[own], A)
    A = A.reshape(3 * len(own), -1)
    A[np.diag_indices(len(A))] += np.tile(soft, len(own))
    return A


def exactly(A: Array, g: Array, friction: Array, largest: Array, *starts: Array) -> Array:
    """Impulses (K, 3) of a dense problem: by Newton's method from each start in turn, or after some splitting.

    What Newton's method brings below `GOOD` is taken.
    """
    room, tried = np.empty(2 * len(g) ** 2 + 12 * len(g)), []

    def is_found(p: Array) -> bool:
        tried.append(p.copy())
        found = newton(A, g, friction, largest, STEPS, TOLERANCE, tried[-1], room) >= 0
        return found or bool(natural_residual(A, g, friction, tried[-1], largest).max() < GOOD)

    starts = tuple(p for p in starts if np.isfinite(p).all())  # sweeps may go astray
    if any(is_found(p) for p in starts) or is_found(split(A, g, friction, tried[0], largest, turns=FEW)):
        return tried[-1]
    tried.append(split(A, g, friction, tried[-1], largest))
    return min(tried, key=lambda p: natural_residual(A, g, friction, p, largest).max())


def islands_of(trees: Index, exact: Flags) -> list[Index]:
    """Contacts of each group of trees that are linked to each other and to one that is solved exactly, as indices."""
    label, group = np.empty(len(trees), dtype=np.int64), np.empty(len(exact), dtype=np.int64)
    label_islands(trees, exact, label, group)
    return [np.flatnonzero(label == one) for one in np.unique(label[label >= 0])]


def _speeds(touches: Touches, first: Index, width: Index, v: Array) -> Array:
    u = np.empty((len(touches.gaps), 3))
    contact_speeds(touches.trees, first, width, touches.rows, v, u)
    return u


def split(
    A: Array, g: Array, friction: Array, start: Array, largest: Array | None = None, *, turns: int = 1000
) -> Array:
    """Solve the contact problem of a dense A (3 K, 3 K), which need not be symmetric; impulses (K, 3).

    Each contact is scaled by one number, which keeps its cone round; the step of the splitting follows the two
    residuals. Contacts without friction, such as joint limits, take one row instead of three.
    """
    K = len(friction)
    largest = np.full(K, np.inf) if largest is None else largest
    order = np.argsort(friction == 0.0, kind="stable")  # those without friction last
    cones = int((friction != 0.0).sum())
    sizes = np.where(np.arange(K) < cones, 3, 1)
    rows = np.concatenate([(3 * order[:cones, None] + np.arange(3)).ravel(), 3 * order[cones:]])
    A, g, friction, largest = A[np.ix_(rows, rows)], g[rows], friction[order], largest[order]
    mean = np.add.reduceat(A.diagonal(), np.cumsum(sizes) - sizes) / sizes
    scale = 1.0 / np.sqrt(np.maximum(mean, 1e-9))
    each = np.repeat(scale, sizes)
    scaled, right = A * np.outer(each, each), g * each
    rho, done, changes = 0.1, 0, 0
    z = start.ravel()[rows] / each
    y, room, left = -(scaled @ z + right), np.empty(2 * len(rows)), np.empty(2)
    inverse = np.linalg.inv(scaled + rho * np.eye(len(rows)))
    while done < turns:
        done += split_cones(
            inverse, right, friction, largest / scale, scale, cones, rho, TURNS_AT_ONCE, TOLERANCE, y, z, room, left
        )
        if left.max() < TOLERANCE:
            break
        better = float(np.sqrt(left[0] / max(left[1], 1e-14)))
        if changes < 12 and not 1.0 / 3.0 < better < 3.0:
            rho, changes = min(max(rho * better, 1e-5), 1e4), changes + 1
            inverse = np.linalg.inv(scaled + rho * np.eye(len(rows)))
    out = np.zeros(3 * K)
    out[rows] = z * each
    return out.reshape(-1, 3)


@compiled(
    "const word trees[k][2], const word first[t], const word width[t], const real rows[k][2][3][w],"
    "const real answers[k][2][3][w], const real wanted[k][3], const real friction[k], const real largest[k],"
    "const real diagonal[k][3],"
    "const real soft[3], word sweeps, real tolerance, real v[nv], real p[k][3], flag awake[t], flag later[t]",
    returns="word",
)
def sweep_contacts(
    trees, first, width, rows, answers, wanted, friction, largest, diagonal, soft, sweeps, tolerance, v, p, awake, later
):
    """Bring every contact in turn to its own law, so many times; returns how often.

    Contacts of trees that are not awake rest: a tree stays awake while an impulse on it changes its contact by more
    than the tolerance [m/s] in a sweep. Both
    tangents take the larger of their diagonals, without which the resting point is not Coulomb's.
    """

    def along(i, r):
        own = [(s, t) for s, t in enumerate(trees[i]) if t >= 0]
        return sum(rows[i, s, r, : width[t]] @ v[first[t] : first[t] + width[t]] for s, t in own)

    def push(i, r, impulse):
        for s, t in enumerate(trees[i]):
            if t >= 0:
                v[first[t] : first[t] + width[t]] += impulse * answers[i, s, r, : width[t]]

    for sweep in range(sweeps):
        later[:] = False
        for i, d in enumerate(diagonal + soft):
            own = trees[i][trees[i] >= 0]
            if not d[0] > 1e-12 or not awake[own].any():
                continue
            old = p[i].copy()
            p[i, 0] = old[0] - (along(i, 0) - wanted[i, 0] + soft[0] * old[0]) / d[0]
            if friction[i] >= 0.0:
                p[i, 0] = min(largest[i], max(0.0, p[i, 0]))
            push(i, 0, p[i, 0] - old[0])
            across = max(d[1], d[2])
            if across > 1e-12:
                following = [p[i, r] - (along(i, r) - wanted[i, r] + soft[r] * old[r]) / across for r in (1, 2)]
                size, most = float(np.hypot(*following)), friction[i] * p[i, 0]
                p[i, 1:] = np.array(following) * (most / size if size > most and friction[i] >= 0.0 else 1.0)
            for r in (1, 2):
                push(i, r, p[i, r] - old[r])
            if np.max(np.abs(p[i] - old) * d) >= tolerance:
                later[own] = True
        awake[:] = later
        if not later.any():
            return sweep + 1
    return sweeps


@compiled(
    "const real A[n][n], const real g[n], const real friction[k], const real largest[k], word most, real tolerance,"
    "real p[k][3], real room[m]",
    returns="word",
)
def newton(A, g, friction, largest, most, tolerance, p, room):
    """Newton's method for p = P(p − (A p + g) / d): P clips normals, and tangents onto the disc of their friction.

    A step that does not bring the residual down is halved, and taken whole if that is no better; the following steps
    are damped until whole ones bring it down (chosen on one seed of rubble). p is left at the best seen; returns the
    number of steps, or −1 if they do not get within the tolerance [m/s]. Source: Alart and Curnier 1991. Deviates: the
    damping.
    """
    del room
    K, n = len(friction), len(g)
    d = np.maximum(np.einsum("kiki->k", A.reshape(K, 3, K, 3)) / 3.0, 1e-9)

    def look(p):
        y = p - (A @ p.ravel() + g).reshape(K, 3) / d[:, None]
        joined, size = friction < 0.0, np.hypot(y[:, 1], y[:, 2])
        normal = np.where(joined, y[:, 0], np.clip(y[:, 0], 0.0, largest))
        radius = np.where(joined, size, friction * normal)
        part = np.where(size > radius, radius / np.where(size > 0.0, size, 1.0), 1.0)
        wrong = p - np.column_stack([normal, part[:, None] * y[:, 1:]])
        return y, size, radius, wrong, float(np.square(wrong * d[:, None]).sum())

    now = p.copy()
    y, size, radius, wrong, merit = look(now)
    best, damping = np.inf, 0.0
    for turn in range(most + 1):
        worst = float(np.abs(wrong * d[:, None]).max())
        if worst < best:
            best, p[:] = worst, now
        if worst < tolerance:
            return turn
        if turn == most or not np.isfinite(worst):
            break
        D = np.zeros((K, 3, 3))
        follows = (friction < 0.0) | ((y[:, 0] > 0.0) & (y[:, 0] < largest))
        D[:, 0, 0] = follows
        for i in range(K):
            if size[i] <= radius[i]:
                D[i, 1, 1] = D[i, 2, 2] = 1.0
            elif radius[i] > 0.0:
                way = y[i, 1:] / size[i]
                D[i, 1:, 1:] = radius[i] / size[i] * (np.eye(2) - np.outer(way, way))
                D[i, 1:, 0] = friction[i] * follows[i] * way
        M = np.eye(n) + np.einsum("kij,kjn->kin", D, (A / np.repeat(d, 3)[:, None]).reshape(K, 3, n)).reshape(n, n)
        for i in range(K):
            M[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] -= D[i]
        follows_row = np.repeat((friction < 0.0) | ((y[:, 0] > 0.0) & (friction > 0.0)), 3)
        follows_row[::3] = follows
        M[np.diag_indices(n)] += damping * follows_row  # the others go where they are sent
        try:
            step = np.linalg.solve(M, -wrong.ravel()).reshape(K, 3)
        except np.linalg.LinAlgError:
            break
        last, tried = merit, now + step
        y, size, radius, wrong, merit = look(tried)
        if merit < last:
            damping *= 0.5
        else:
            whole, half = merit, now + 0.5 * step
            seen = look(half)
            if seen[-1] < max(last, whole):
                tried, (y, size, radius, wrong, merit) = half, seen
            damping = min(max(2.0 * damping, 3e-3), 0.1)
        now = tried
    return -1


@compiled(
    "const real inverse[n][n], const real g[n], const real friction[k], const real largest[k], const real scale[k],"
    "word cones, real rho, word most,"
    "real tolerance, real y[n], real z[n], real room[m], real left[2]",
    returns="word",
)
def split_cones(inverse, g, friction, largest, scale, cones, rho, most, tolerance, y, z, room, left):
    """Turns of the splitting with one step ρ; returns how many. z are impulses, −y velocities, both scaled.

    The first contacts, so many, have three rows each; the others, without friction, have one.

    x = (A + ρ)⁻¹ (ρ z + y − g − s), z the point of the cones nearest to x − y / ρ, y less ρ (x − z); s is μ |u_t|.
    """
    del room
    end = 3 * cones
    each = np.concatenate([np.repeat(scale[:cones], 3), scale[cones:]])
    for turn in range(most):
        right = rho * z + y - g
        right[:end:3] -= np.maximum(friction[:cones], 0.0) * np.hypot(y[1:end:3], y[2:end:3])
        x = inverse @ right
        near = x - y / rho
        following = np.concatenate([
            project(near[:end].reshape(-1, 3), friction[:cones], largest[:cones]).ravel(),
            np.clip(near[end:], 0.0, largest[cones:]),
        ])  # fmt: skip
        gap = x - following
        left[:] = np.max(np.abs(gap) / each), np.max(rho * np.abs(following - z) / each)
        z[:] = following
        y -= rho * gap
        if left.max() < tolerance:
            return turn + 1
    return most


def project(p: Array, friction: Array, largest: Array | None = None) -> Array:
    """The points of the cones |p_t| ≤ μ p_n nearest to p, shape (K, 3); cut off where they are larger than allowed.

    Where μ is negative two points are joined: any impulse may act.
    """
    normal, size = p[:, 0], np.hypot(p[:, 1], p[:, 2])
    onto = np.where(friction * size <= -normal, 0.0, (normal + friction * size) / (1.0 + friction**2))
    inside = (size <= friction * normal) & (normal >= 0.0)  # without friction both may be zero
    part = np.divide(friction * onto, size, out=np.zeros_like(size), where=size > 0.0)
    out = np.where(inside[:, None], p, np.column_stack([onto, part * p[:, 1], part * p[:, 2]]))
    if largest is not None:
        out[:, 0] = np.minimum(out[:, 0], largest)
        size, held = np.hypot(out[:, 1], out[:, 2]), friction * out[:, 0]
        out[:, 1:] *= np.divide(held, size, out=np.ones_like(size), where=size > held)[:, None]
    return np.where(friction[:, None] < 0.0, p, out)


def natural_residual(A: Array, g: Array, friction: Array, p: Array, largest: Array | None = None) -> Array:
    """How far impulses (K, 3) are from the law of each contact, as a velocity [m/s], shape (K,)."""
    K, out = len(friction), np.empty(len(friction))
    mean = A.diagonal().reshape(K, 3).mean(axis=1)
    largest = np.full(K, np.inf) if largest is None else largest
    law_residuals((A @ p.ravel() + g).reshape(-1, 3), p, friction, mean, largest, out)
    return out


@compiled(
    "const real u[k][3], const real p[k][3], const real friction[k], const real mean[k], const real largest[k],"
    "real out[k]"
)
def law_residuals(u, p, friction, mean, largest, out):
    """How far each contact is from its law at velocities u, as a velocity; mean is that of its diagonal of A."""
    mean = np.maximum(mean, 1e-9)[:, None]
    wrong = u.copy()
    wrong[:, 0] += np.maximum(friction, 0.0) * np.hypot(u[:, 1], u[:, 2])
    out[:] = np.max(np.abs(mean * (p - project(p - wrong / mean, friction, largest))), axis=1)


@compiled("const word trees[k][2], const real rows[k][2][3][w], const real answers[k][2][3][w], real diagonal[k][3]")
def contact_diagonals(trees, rows, answers, diagonal):
    """The diagonal of A, three numbers a contact."""
    diagonal[:] = np.einsum("ksrw,ksrw,ks->kr", rows, answers, trees >= 0)


@compiled("const word trees[k][2], const flag is_figure[t], word label[k], word group[t]")
def label_islands(trees, is_figure, label, group):
    """Number the groups of trees that contacts link to each other and to a figure; −1 is a contact of no such group.

    The number is that of the first tree of the group; `group` is filled with that of every tree.
    """
    group[:] = np.arange(len(group))
    for pair in trees:
        own = group[pair[pair >= 0]]
        if len(own) == 2 and own[0] != own[1]:
            group[group == own.max()] = own.min()
    linked = np.isin(group, group[is_figure])
    label[:] = [next((group[t] for t in pair if t >= 0 and linked[t]), -1) for pair in trees]


@compiled(
    "const word trees[k][2], const word width[t], const real rows[k][2][3][w], const real answers[k][2][3][w],"
    "real A[k][3][k][3]"
)
def delassus(trees, width, rows, answers, A):
    """A = Σ J B Jᵀ over the trees."""
    A[:] = 0.0
    for i, j, s, r in np.argwhere(
        (trees[:, None, :, None] == trees[None, :, None, :]) & (trees >= 0)[:, None, :, None]
    ):
        w = width[trees[i, s]]
        A[i, :, j] += rows[i, s, :, :w] @ answers[j, r, :, :w].T


@compiled("const word trees[k][2], const word first[t], const word width[t], const real rows[k][2][3][w],"
          "const real v[nv], real u[k][3]")  # fmt: skip
def contact_speeds(trees, first, width, rows, v, u):
    """Relative velocities u = J v."""
    u[:] = 0.0
    for i, s in np.argwhere(trees >= 0):
        t = trees[i, s]
        u[i] += rows[i, s, :, : width[t]] @ v[first[t] : first[t] + width[t]]


@compiled("const word trees[k][2], const word first[t], const word width[t], const real answers[k][2][3][w],"
          "const real p[k][3], real v[nv]")  # fmt: skip
def apply_impulses(trees, first, width, answers, p, v):
    """Add what impulses do to the velocities: v += B Jᵀ p."""
    for i, s in np.argwhere(trees >= 0):
        t = trees[i, s]
        v[first[t] : first[t] + width[t]] += p[i] @ answers[i, s, :, : width[t]]
