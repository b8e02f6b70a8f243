"""The support region of points at different heights: small linear programs, asked in many directions.

The coefficients λ ≥ 0 of the friction pyramids that add up to a wanted force, Σ λ_j w_j = f, form a polyhedron with
three equations. Every λ in it moves the place where the force would have to act by d(λ), linear in λ; the region is the
convex polygon of all d. Its corners are found as in Bretl and Lall (2008): the farthest point in a direction is a
linear program, and an edge of the polygon found so far is real if nothing lies beyond it. All frames take each step
together; the tests hold it to another solver.
"""

from __future__ import annotations

import numpy as np

from poise.analysis.forces import pyramid_edges
from poise.analysis.momentum import cross
from poise.core.typing import Array, Flags, Index

MOST_CORNERS = 32
"""Corners a region has at most."""
CHUNK = 1024
"""Frames whose regions are found at once."""


def regions(
    points: Array,
    normals: Array,
    flags: Flags,
    place: Array,
    force: Array,
    moment: Array,
    *,
    friction: float,
    tolerance: float,
) -> tuple[Array, Index]:
    """Support region of every frame: where, around 0, the demanded force could act and still be given.

    Args:
        points, normals: Carrying points and the ground there, shape (F, P, 3).
        flags: Which of them carry, shape (F, P).
        place: About which the moment is demanded [m], shape (F, 3).
        force, moment: Demanded; f_z is not zero [N], [N m], shape (F, 3).
        friction: Coulomb coefficient.
        tolerance: To which corners are found [m].

    Returns:
        Corners d [m], counterclockwise, shape (F, MOST_CORNERS, 2), and their counts (F,); −1 where no forces add up.
    """
    corners, counts = np.zeros((len(flags), MOST_CORNERS, 2)), np.zeros(len(flags), dtype=np.int64)
    carried = np.flatnonzero(flags.any(axis=1))
    for start in range(0, len(carried), CHUNK):
        at = carried[start : start + CHUNK]
        most = int(flags[at].sum(axis=1).max())
        which = np.argsort(~flags[at], axis=1, kind="stable")[:, :most]  # the carrying points first
        used = np.repeat(np.take_along_axis(flags[at], which, axis=1), 4, axis=1)
        f, edges = force[at], pyramid_edges(normals[at[:, None], which], friction)
        turning = cross((points[at[:, None], which] - place[at, None])[:, :, None], edges)
        # d = (−m_y, m_x) / f_z, m = r × w: the shift of the force's line that a coefficient balances
        reach = np.stack([-turning[..., 1], turning[..., 0]], axis=-1) / f[:, 2, None, None, None]
        programs = _Programs(edges.reshape(len(at), -1, 3), used, reach.reshape(len(at), -1, 2), f)
        found, count = _outline(programs, tolerance)
        own = np.stack([moment[at, 1], -moment[at, 0]], axis=1) / f[:, 2:]
        is_corner = np.arange(MOST_CORNERS) < count[:, None]
        corners[at] = np.where(is_corner[..., None], found + own[:, None], 0.0)
        counts[at] = np.where(programs.is_feasible, count, -1)
    return corners, counts


def _outline(programs: _Programs, tolerance: float) -> tuple[Array, Index]:
    """Corners of each frame's region (F, MOST_CORNERS, 2), counterclockwise, and how many (F,)."""
    frames = len(programs.is_feasible)
    corners, counts = np.zeros((frames, MOST_CORNERS, 2)), np.zeros(frames, dtype=np.int64)
    able = np.flatnonzero(programs.is_feasible)
    for direction in ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)):
        new, is_found = programs.farthest(able, np.tile(direction, (len(able), 1)))
        last = np.maximum(counts[able] - 1, 0)
        is_new = np.abs(new - corners[able, last]).sum(axis=1) > tolerance
        is_new &= np.abs(new - corners[able, 0]).sum(axis=1) > tolerance
        taken = is_found & (is_new | (counts[able] == 0))
        corners[able[taken], counts[able[taken]]] = new[taken]
        counts[able[taken]] += 1
    edge = np.zeros(frames, dtype=np.int64)  # the corner at which the edge begins that is looked at
    slots = np.arange(MOST_CORNERS)
    while True:
        k = np.flatnonzero((counts > 1) & (edge < counts) & (counts < MOST_CORNERS))
        if not len(k):
            return corners, counts
        first = corners[k, edge[k]]
        way = corners[k, (edge[k] + 1) % counts[k]] - first
        length = np.linalg.norm(way, axis=1)
        outward = np.stack([way[:, 1], -way[:, 0]], axis=1) / np.where(length > 0.0, length, 1.0)[:, None]
        new, is_found = programs.farthest(k, outward)
        is_beyond = is_found & (length > tolerance) & (((new - first) * outward).sum(axis=1) > tolerance)
        edge[k[~is_beyond]] += 1
        k, new = k[is_beyond], new[is_beyond]
        # the corners behind the edge move up, and the new one stands between
        source = slots - (slots > edge[k, None] + 1)
        corners[k] = np.take_along_axis(corners[k], source[..., None], axis=1)
        corners[k, edge[k] + 1] = new
        counts[k] += 1


class _Programs:
    """One linear program a frame over λ ≥ 0, Σ λ_j w_j = f, solved by the simplex method from the last basis.

    Args:
        columns: w, shape (F, n, 3).
        used: Which columns there are, shape (F, n).
        reach: d of each coefficient, shape (F, n, 2).
        force: f, shape (F, 3).

    Attributes:
        is_feasible: Frames in which some λ adds up to f, shape (F,).
    """

    def __init__(self, columns: Array, used: Flags, reach: Array, force: Array) -> None:
        frames, n = used.shape
        # three artificial columns make a first basis; then they are driven out
        artificial = np.eye(3) * np.where(force >= 0.0, 1.0, -1.0)[:, None, :]
        self.columns = np.concatenate([columns, np.swapaxes(artificial, 1, 2)], axis=1)
        self.used = np.concatenate([used, np.ones((frames, 3), dtype=np.bool_)], axis=1)
        self.reach, self.force = reach, force
        self.basis = np.tile(np.arange(n, n + 3), (frames, 1))
        everyone = np.arange(frames)
        cost = np.concatenate([np.zeros((frames, n)), np.full((frames, 3), -1.0)], axis=1)
        _, value = self._maximize(everyone, cost)
        self.is_feasible = value >= -1e-9 * np.abs(force).sum(axis=1)
        self.used[:, n:] = False
        for b in range(3):  # an artificial column left at zero is exchanged for any that keeps the basis regular
            k = np.flatnonzero(self.is_feasible & (self.basis[:, b] >= n))
            if len(k):
                inverse = _inverse(np.swapaxes(self.columns[k[:, None], self.basis[k]], 1, 2))[0]
                fits = (np.abs(np.matmul(self.columns[k], inverse[:, b, :, None])[..., 0]) > 1e-9) & self.used[k]
                self.is_feasible[k] = fits.any(axis=1)
                self.basis[k, b] = np.argmax(fits, axis=1)

    def farthest(self, frames: Index, direction: Array) -> tuple[Array, Flags]:
        """Farthest d(λ) of some frames (K,) in directions (K, 2), shape (K, 2), and where there is one (K,)."""
        cost = np.zeros(self.used[frames].shape)
        cost[:, :-3] = np.matmul(self.reach[frames], direction[..., None])[..., 0]
        x, value = self._maximize(frames, cost)
        basis = np.minimum(self.basis[frames], self.reach.shape[1] - 1)
        return (self.reach[frames[:, None], basis] * x[..., None]).sum(axis=1), np.isfinite(value)

    def _maximize(self, frames: Index, cost: Array) -> tuple[Array, Array]:
        """Maximize cost · λ (K, n) in some frames: coefficients of the basis (K, 3), values (K,); nan if unbounded."""
        x, value = np.zeros((len(frames), 3)), np.full(len(frames), np.nan)
        left = np.arange(len(frames))
        for turn in range(60 + 4 * cost.shape[1]):
            if not len(left):
                break
            k = frames[left]
            basis, W = self.basis[k], self.columns[k]
            inverse, is_regular = _inverse(np.swapaxes(W[np.arange(len(k))[:, None], basis], 1, 2))
            own = np.take_along_axis(cost[left], basis, axis=1)
            now = np.matmul(inverse, self.force[k][..., None])[..., 0]
            prices = np.matmul(own[:, None], inverse)
            gains = np.where(self.used[k], cost[left] - np.matmul(W, np.swapaxes(prices, 1, 2))[..., 0], -1.0)
            # Bland's rule ends what the steepest column may turn in circles
            enter = np.argmax(gains > 1e-10, axis=1) if turn > 40 else np.argmax(gains, axis=1)
            is_best = gains[np.arange(len(k)), enter] <= 1e-10
            done = is_best & is_regular
            x[left[done]] = now[done]
            value[left[done]] = (own * now)[done].sum(axis=1)
            step = np.matmul(inverse, W[np.arange(len(k)), enter][..., None])[..., 0]
            is_blocking = step > 1e-12
            ratio = np.where(is_blocking, np.maximum(now, 0.0) / np.where(is_blocking, step, 1.0), np.inf)
            least = ratio == ratio.min(axis=1, keepdims=True)
            leave = np.argmin(np.where(least, basis, np.iinfo(np.int64).max), axis=1)
            going = ~is_best & is_regular & is_blocking.any(axis=1)
            self.basis[k[going], leave[going]] = enter[going]
            left = left[going]
        return x, value


def _inverse(matrices: Array) -> tuple[Array, Flags]:
    """Inverses of matrices (K, 3, 3) by cofactors, and which of them are regular (K,)."""
    a, b, c = matrices[:, 0], matrices[:, 1], matrices[:, 2]
    rows = np.stack([cross(b, c), cross(c, a), cross(a, b)], axis=2)
    determinant = (a * rows[:, :, 0]).sum(axis=1)
    is_regular = np.abs(determinant) > 1e-12
    return rows / np.where(is_regular, determinant, 1.0)[:, None, None], is_regular
