"""Contacts of one step: which points push on what, and in which directions they may push."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Index, checked
from poise.physics import Model, State
from poise.step.system import NO_SUCH_POINT, enlarge, packed, spread, system_of


class Columns(NamedTuple):
    """A few columns u through which the coefficients λ act on the joints: Bᵀ λ = map u, u = Σ_i λ_i share_i.

    The points of one body push through one wrench, so there are at most six columns a body; a body with one or two
    points gets three a point instead, its force.

    Attributes:
        share: What each coefficient adds to `width` columns from `first` on, shape (n, 6).
        first, width: Per coefficient, shape (n,).
        map: Generalized force of each column, shape (nv, c).
    """

    share: Array
    first: Index
    width: Index
    map: Array

    @staticmethod
    def plain(force_map: Array) -> Columns:
        """One column for each coefficient, from B (n, nv)."""
        n = len(force_map)
        share = np.zeros((n, 6))
        share[:, 0] = 1.0
        return Columns(share, np.arange(n), np.ones(n, dtype=np.int64), np.ascontiguousarray(force_map.T))

    def force_map(self) -> Array:
        """B, shape (n, nv)."""
        if (self.width == 1).all():
            return self.map.T[self.first] * self.share[:, :1]
        out = np.zeros((len(self.first), len(self.map)))
        for i, (first, width) in enumerate(zip(self.first, self.width, strict=True)):
            out[i] = self.map[:, first : first + width] @ self.share[i, :width]
        return out

    def mean_diagonal(self, weights: Array) -> float:
        """Mean diagonal of B W Bᵀ for a diagonal W, shape (nv,)."""
        total = 0.0
        for at in np.unique(self.first):
            own = self.share[self.first == at, : self.width[self.first == at][0]]
            block = self.map[:, at : at + own.shape[1]]
            total += float(np.sum((own @ (block.T * weights) @ block) * own))
        return total / max(len(self.first), 1)


def tangents(normals: Array) -> tuple[Array, Array]:
    """Two unit tangents per unit normal, shapes (K, 3); for an upward normal they are x and y."""
    normals = np.asarray(normals)
    # the part of x orthogonal to the normal; of y where the normal is close to x
    steep = np.abs(normals[:, 0]) > 0.9
    axis = np.where(steep[:, None], np.array([0.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    first: Array = axis - normals * np.sum(axis * normals, axis=1, keepdims=True)
    first /= np.sqrt(np.sum(first * first, axis=1, keepdims=True))
    second = normals[:, [1, 2, 0]] * first[:, [2, 0, 1]] - normals[:, [2, 0, 1]] * first[:, [1, 2, 0]]
    return first, second


@dataclass(frozen=True)
class Contacts:
    """Points in contact, with their cones.

    The force on contact k is f = V λ with λ ≥ 0. For a plain contact the four columns of V are n ± μ t1 and n ± μ t2:
    a pyramid inside the round cone, as in [Levine2012]_ section 3. A grip is three pairs of opposed columns.

    Example:
        >>> contacts = Contacts.at(state, [state.model.points[0].name], friction=0.6)
        >>> step = Step(state, contacts, dt=0.01)

    Attributes:
        points: Index of each touching point in the model, shape (K,).
        normals: Unit surface normals, away from the surface, shape (K, 3).
        friction: Coulomb coefficient μ ≥ 0, one for all or one each, shape (K,).
        others: Index of the point that is pushed back, -1 for the world, shape (K,).
        grips: True where the contact also pulls, shape (K,).
        slips: Unit direction in which the point slides, zero where it does not, shape (K, 3); a sliding contact has one
            column n − μ slip, [Jain2009]_ eq. (12).
    """

    points: Index
    normals: Array
    friction: float | Array = 0.8
    others: Index | None = None
    grips: npt.NDArray[np.bool_] | None = None
    slips: Array | None = None

    def __post_init__(self) -> None:
        f = self.friction
        low, high = (f, f) if isinstance(f, (int, float)) else (np.min(f, initial=0.0), np.max(f, initial=0.0))
        if not (low >= 0.0 and high < math.inf):
            raise InvalidValue(f"Friction is {self.friction}; give a finite coefficient of zero or more.")
        for name, value in (("points", self.points), ("others", self.others)):
            if not (value is None or (isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim == 1)):
                raise InvalidValue(
                    f"Contacts: {name} is {value!r}; give an array of indices, or names to Contacts.at(state, names)."
                )
        shape = len(self.points), 3
        checked(self.normals, shape, f"Contacts: normals of {shape[0]} contacts")
        if (np.abs(np.einsum("ij,ij->i", self.normals, self.normals) - 1.0) > 1e-6).any():
            raise InvalidValue(f"Contacts: normals have lengths {np.linalg.norm(self.normals, axis=1)}; give 1.")
        if not isinstance(f, (int, float)):
            checked(f, shape[:1], "Contacts: friction")
        for name, value, own in (("others", self.others, 1), ("grips", self.grips, 1), ("slips", self.slips, 2)):
            if value is not None and np.shape(value) != shape[:own]:
                raise InvalidValue(f"Contacts: {name} has shape {np.shape(value)}; give {shape[:own]}.")

    @staticmethod
    def at(
        state: State, points: Sequence[int | str], normals: Array | None = None, *, friction: float = 0.8
    ) -> Contacts:
        """Contacts of points that go by name or index, on level ground if no normals are given.

        Example:
            >>> heels = [point.name for point in model.points if "heel" in point.name]
            >>> contacts = Contacts.at(state, heels)

        Args:
            state: The state.
            points: Names or indices, as in `state.model.points`.
            normals: Unit surface normals, shape (K, 3).
            friction: Coulomb coefficient.

        Raises:
            InvalidValue: if there is no such point, or normals are of another shape.
        """
        index = state.model.point_indices(tuple(points), "Contacts")
        return Contacts(index, np.tile([0.0, 0.0, 1.0], (len(index), 1)) if normals is None else normals, friction)

    @staticmethod
    def on_floor(state: State, floor: float, *, within: float = 0.02, friction: float = 0.8) -> Contacts:
        """The contact points of a state that are near level ground.

        Example:
            >>> step = Step(state, Contacts.on_floor(state, character.floor), dt=0.01)

        Args:
            state: The state.
            floor: Height of the ground [m].
            within: Points at most so far above it touch [m].
            friction: Coulomb coefficient.
        """
        points = np.flatnonzero(state.points[:, 2] < floor + within)
        return Contacts(points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), friction)

    @staticmethod
    def found(model: Model, points: Index, normals: Array, friction: float) -> Contacts:
        """Plain contacts of points that the core found to touch: they are not checked again, which takes longer than
        finding them.
        """
        made = object.__new__(Contacts)
        made.__dict__.update(points=points, normals=normals, friction=friction, known_to=model)
        return made

    @staticmethod
    def none() -> Contacts:
        """No contact at all."""
        return _NONE

    @property
    def count(self) -> int:
        return len(self.points)

    @property
    def is_plain(self) -> bool:
        """All with the world, none a grip or sliding."""
        return self.others is None and self.grips is None and self.slips is None

    def columns(self, state: State) -> tuple[Array, Index, Columns]:
        """`directions`, and what the coefficients act through; compiled where all are plain ones with the world."""
        if not self.is_plain:
            directions, owner = self.directions()
            return directions, owner, Columns.plain(self.force_map(state, directions, owner))
        s, count = system_of(state), self.count
        for name, needed in (("touching", count), ("n", 4 * count), ("c", 3 * count)):
            s = enlarge(state, name, needed)
        s.touching, s.friction[:count] = count, self.friction
        s.contact_points[:count], s.normals[:count] = self.points, self.normals
        if spread(s) == NO_SUCH_POINT:
            state.model.require_points(self.points, "Contacts")
        n, c = s.n, s.c
        acts = packed(s.acts, state.model.nv, c).copy()
        columns = Columns(s.share[:n].copy(), s.first[:n].copy(), s.width[:n].copy(), acts)
        return s.directions[:n].copy(), s.owner[:n].copy(), columns

    def directions(self) -> tuple[Array, Index]:
        """Columns of V as rows, shape (n, 3), and the contact each belongs to, shape (n,)."""
        first, second = tangents(self.normals)
        friction = self.friction if isinstance(self.friction, (int, float)) else self.friction[:, None]
        edges = np.empty((self.count, 4, 3))
        for k, side in enumerate((friction * first, friction * second)):
            edges[:, 2 * k], edges[:, 2 * k + 1] = self.normals + side, self.normals - side
        if self.grips is None and self.slips is None:
            return edges.reshape(-1, 3), np.repeat(np.arange(self.count), 4)
        grips = np.zeros(self.count, dtype=np.bool_) if self.grips is None else self.grips
        slips = np.zeros((self.count, 3)) if self.slips is None else self.slips
        slides = np.any(slips, axis=1)
        frames = np.stack([self.normals, first, second], axis=1)
        rows = np.concatenate([frames, -frames], axis=1)
        plain, slides = ~(grips | slides), slides & ~grips
        rows[plain, :4] = edges[plain]
        rows[slides, 0] = (self.normals - friction * slips)[slides]
        widths = np.where(grips, 6, np.where(slides, 1, 4))
        return rows[np.arange(6) < widths[:, None]], np.repeat(np.arange(self.count), widths)

    def force_map(self, state: State, directions: Array, owner: Index) -> Array:
        """Vᵀ J: generalized force per unit of each coefficient, shape (n, nv)."""
        points, axes = np.asarray(self.points, dtype=np.int64), directions[:, None, :]
        if self.grips is None and self.slips is None:  # four each
            axes = directions.reshape(-1, 4, 3)
        else:
            points = points[owner]
        out = state.point_rows(points, axes)[0]
        if self.others is not None:
            others = np.asarray(self.others, dtype=np.int64)[owner]
            if len(joined := np.flatnonzero(others >= 0)):
                out[joined] -= state.point_rows(others[joined], directions[joined, None, :])[0]
        return out


_NONE = Contacts(np.zeros(0, dtype=np.int64), np.zeros((0, 3)))
