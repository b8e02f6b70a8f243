"""Contacts between bodies as values: which of the engine's count, who sleeps, and how free bodies answer impulses.

The functions here take the arrays of MuJoCo's contacts and of its sparse Jacobian (`efc_…`) as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.typing import Array, Flags, Index
from poise.native import compiled

NEAR = 0.04
"""A contact of the same two bodies so near an earlier one starts from its impulse [m]."""


class Touches(NamedTuple):
    """Contacts between bodies, and between bodies and figures, K of them.

    Attributes:
        places: In the world [m], shape (K, 3).
        frames: Rows: normal from the first body to the second, and two tangents, shape (K, 3, 3).
        gaps: Distance, negative where they overlap [m], shape (K,).
        friction: Coulomb coefficients, shape (K,).
        bodies: The two bodies of the world's model, shape (K, 2).
        trees: Which tree each of them belongs to, −1 for what never moves, shape (K, 2).
        rows: Relative velocity (along the normal, then two tangents) per unit velocity of each dof of those trees,
            shape (K, 2, 3, W); trees with fewer dofs than W leave the rest zero.
    """

    places: Array
    frames: Array
    gaps: Array
    friction: Array
    bodies: Index
    trees: Index
    rows: Array

    def forces(self, p: Array) -> Array:
        """Impulses (K, 3) along the rows as those on the second body, in the world, shape (K, 3)."""
        return np.einsum("kji,kj->ki", self.frames, p, dtype=np.float64)

    def of(self, own: Index, width: Index) -> Touches:
        """Some of the contacts; the last dofs of the rows, which none of their trees has, are left out.

        Args:
            own: Which of them, shape (N,).
            width: Number of dofs of each tree, shape (T,).
        """
        most = int(width[self.trees[own]][self.trees[own] >= 0].max(initial=1))
        return Touches._make([*(array[own] for array in self[:-1]), self.rows[own, ..., :most]])


@compiled("const word trees[k][2], const real inverse[t][6][6], const real rows[k][2][3][w], real answers[k][2][3][w]")
def answer_free(trees, inverse, rows, answers):
    """M⁻¹ Jᵀ of trees that are one free body each; the last of the inverses, for what never moves, is zero."""
    n = min(6, rows.shape[-1])
    answers[..., :n] = np.einsum("ksri,ksij->ksrj", rows[..., :n], inverse[trees][..., :n, :n])


@compiled(
    "const word body[g], const word tree[g], const word root[b], const real rates[b][6], const real places[g][3],"
    "const real com[b][3], const real sizes[g], real speeds[g], real fastest[t]"
)
def geom_speeds(body, tree, root, rates, places, com, sizes, speeds, fastest):
    """How fast a point of each geom, and of each tree, moves at most [m/s]; the last tree is what never moves.

    The rates are spatial velocities of the bodies (angular, linear), at the center of mass of their tree.
    """
    turn, linear = rates[body, :3], rates[body, 3:]
    moves = linear + np.cross(turn, places - com[root[body]])
    speeds[:] = np.linalg.norm(moves, axis=1) + sizes * np.linalg.norm(turn, axis=1)
    fastest[:] = 0.0
    np.maximum.at(fastest, tree, speeds)


@compiled(
    "const int addresses[c], const int geoms[c][2], const real distances[c], const real speeds[e], const real thick[g],"
    "const word body[g], const word tree[g], const word width[w], const flag has_shifted[b], const flag may_sleep[t],"
    "const real fastest[t], real slow, real after, real margin, real dt, real calm[t], flag sleeps[t], word known[c],"
    "real gaps[c], word counts[2], real deepest[1]",
    returns="word",
)
def find_awake(
    addresses, geoms, distances, speeds, thick, body, tree, width, has_shifted, may_sleep, fastest, slow, after, margin,
    dt, calm, sleeps, known, gaps, counts, deepest,
):  # fmt: skip
    """Which contacts of the engine count in a step, and who sleeps; returns how many of them are awake.

    A contact counts if its gap is below the margin [m] now, or will be a step later at the speed at which it closes.
    `calm` counts how long each tree has been slower than `slow` [s], [m/s]. Trees that may sleep rest once they have
    been calm for `after` [s], and `find_sleepers` says which of them sleep. `known` and `gaps` get the contacts with a
    tree that is awake, and their gaps [m]; `counts` how many the others are, and the most dofs of a tree that is awake
    or touches one; `deepest` the deepest overlap of the others [m].
    """
    found = np.flatnonzero(addresses >= 0)
    own = geoms[found]
    near = distances[found] + (thick[own[:, 0]] + thick[own[:, 1]])
    reached = near + dt * np.minimum(speeds[addresses[found]], 0.0) < margin
    found, own, near = found[reached], own[reached], near[reached]
    calm[:] = np.where(fastest < slow, calm + dt, 0.0)
    trees, shifts = tree[own], has_shifted[body[own]].any(axis=1)
    find_sleepers(trees, shifts, may_sleep & (calm >= after), sleeps)
    quiet = sleeps[trees].all(axis=1)
    counts[0], deepest[0] = quiet.sum(), np.max(-near[quiet], initial=0.0)
    count, trees = int((~quiet).sum()), trees[~quiet]
    known[:count], gaps[:count] = found[~quiet], near[~quiet]
    counts[1] = width[trees[trees >= 0]].max(initial=1)
    return count


def find_sleepers(trees: Index, shifts: Flags, rests: Flags, sleeps: Flags) -> None:
    """Trees that rest and touch something, with all that they touch; the last stands for what never moves, and sleeps.

    A contact that shifts wakes its trees.
    """
    sleeps[:] = False
    sleeps[trees] = rests[trees]
    woken = trees[shifts]
    sleeps[woken[woken >= 0]] = False
    pairs = trees[(trees >= 0).all(axis=1)]
    while len(mixed := pairs[sleeps[pairs].any(axis=1) & ~sleeps[pairs].all(axis=1)]):
        sleeps[mixed] = False
    sleeps[-1] = True


@compiled(
    "const word known[k], const int addresses[c], const int geoms[c][2], const real points[c][3],"
    "const real axes[c][9], const real slides[c][5], const int starts[e], const int counts[e], const real values[j],"
    "const int columns[j], const word body[g], const word tree[g], const real centers[g][3], const flag is_convex[g],"
    "const word tree_of_dof[d], const word first[t], real places[k][3], real frames[k][3][3], real friction[k],"
    "word bodies[k][2], word trees[k][2], real rows[k][2][3][w], flag is_pierced[k]",
    returns="word",
)
def fill_touches(
    known, addresses, geoms, points, axes, slides, starts, counts, values, columns, body, tree, centers, is_convex,
    tree_of_dof, first, places, frames, friction, bodies, trees, rows, is_pierced,
):  # fmt: skip
    """Fill the fields of `Touches` from the engine's contacts and its sparse Jacobian.

    Two bodies of one tree share the first block. Returns how many contacts are pierced: both bodies are convex, and the
    normal points from the middle of the second one to that of the first.
    """
    geoms = geoms[known]
    places[:], frames[:], friction[:] = points[known], axes[known].reshape(-1, 3, 3), slides[known, 0]
    bodies[:], trees[:] = body[geoms], tree[geoms]
    numbers = (addresses[known][:, None] + np.arange(3)).ravel()
    counts, starts = counts[numbers].astype(np.int64), starts[numbers].astype(np.int64)
    row = np.repeat(np.arange(len(counts)), counts)
    entry = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
    dof = columns[entry]
    own, k = tree_of_dof[dof], row // 3
    rows[:] = 0.0
    rows[k, (own != trees[k, 0]).astype(np.int64), row % 3, dof - first[own]] = values[entry]
    trees[trees[:, 0] == trees[:, 1], 1] = -1
    between = centers[geoms[:, 1]] - centers[geoms[:, 0]]
    is_pierced[:] = (np.einsum("kj,kj->k", frames[:, 0], between) < 0.0) & is_convex[geoms].all(axis=1)
    return int(is_pierced.sum())


def frame_along(way: Array) -> Array:
    """Unit vector along a way (3,), and two tangents, as rows, shape (3, 3)."""
    normal = way / np.linalg.norm(way)
    tangent = rotations.perpendicular(normal)
    return np.array([normal, tangent, np.cross(normal, tangent)], dtype=np.float64)


def remembered(touches: Touches, before: Touches | None, p: Array) -> Array:
    """Impulses to start from: of the nearest contact of the same two bodies in the step before, shape (K, 3)."""
    out = np.zeros((len(touches.gaps), 3))
    if before is not None:
        taken = np.zeros(len(p), dtype=np.bool_)
        head, following = np.empty(len(p) + 1, dtype=np.int64), np.empty(len(p), dtype=np.int64)
        remember(touches.bodies, touches.places, before.bodies, before.places, p, NEAR, taken, head, following, out)
    return out


@compiled(
    "const word bodies[k][2], const real places[k][3], const word before[m][2], const real places_before[m][3],"
    "const real impulses[m][3], real near, flag taken[m], word head[h], word following[m], real p[k][3]"
)
def remember(bodies, places, before, places_before, impulses, near, taken, head, following, p):
    """Fill p with the impulse of the nearest contact of the same bodies that no other has taken, or zero.

    The compiled one finds the bodies by lists, whose heads and followers need room.
    """
    del head, following
    taken[:], p[:] = False, 0.0
    for i, place in enumerate(places):
        away = np.abs(places_before - place).max(axis=1)
        away[taken | (before != bodies[i]).any(axis=1)] = np.inf
        if len(away) and away.min() < near:
            j = int(np.argmin(away))
            taken[j], p[i] = True, impulses[j]
