"""Contacts between bodies as values, and how free bodies answer impulses at them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Index
from poise.native import compiled


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

    def of(self, own: Index, width: Index) -> Touches:
        """Some of the contacts; the last dofs of the rows, which none of their trees has, are left out.

        Args:
            own: Which of them, shape (N,).
            width: Number of dofs of each tree, shape (T,).
        """
        most = int(width[self.trees[own]][self.trees[own] >= 0].max(initial=1))
        return Touches._make([*(array[own] for array in self[:-1]), self.rows[own, ..., :most]])


class Shape(NamedTuple):
    """What a body looks like, in its frame.

    Attributes:
        body: Index of the body, 0 for what never moves.
        kind: "sphere", "box", "capsule", "cylinder" or "ellipsoid".
        size: Half of its sides, or radius and half length [m], shape (3,).
        place, turn: In the body's frame [m] (3,), unit wxyz (4,).
    """

    body: int
    kind: str
    size: Array
    place: Array
    turn: Array


@compiled("const word trees[k][2], const real inverse[t][6][6], const real rows[k][2][3][w], real answers[k][2][3][w]")
def answer_free(trees, inverse, rows, answers):
    """M⁻¹ Jᵀ of trees that are one free body each; the last of the inverses, for what never moves, is zero."""
    n = min(6, rows.shape[-1])
    answers[..., :n] = np.einsum("ksri,ksij->ksrj", rows[..., :n], inverse[trees][..., :n, :n])


def frame_along(way: Array) -> Array:
    """Unit vector along a way (3,), and two tangents, as rows, shape (3, 3)."""
    normal = way / np.linalg.norm(way)
    tangent = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    tangent /= np.linalg.norm(tangent)
    return np.array([normal, tangent, np.cross(normal, tangent)], dtype=np.float64)


def stiffness(forces: Array, levers: Array, owner: Index, count: int) -> Array:
    """How bodies that are pulled at points resist turning: K = Σ (f · r) 1 − (f rᵀ + r fᵀ) / 2 [N m], ≥ 0.

    Used implicitly, it keeps a light piece that is pulled hard at both ends from turning too far and back in each step.
    What forces that press would add is left out. Source: Andrews, Teichmann and Kövecses 2017, "Geometric stiffness for
    real-time constrained multibody dynamics". Deviates: K is made positive by its eigenvalues, not made diagonal.

    Args:
        forces: At each point, in the body's frame [N], shape (P, 3).
        levers: From the body's center of mass to the point [m], shape (P, 3).
        owner: Body of each point, shape (P,).
        count: Of bodies.

    Returns:
        In each body's frame, shape (count, 3, 3).
    """
    outer: Array = np.einsum("ki,kj->kij", forces, levers)
    total: Array = np.zeros((count, 3, 3))
    even = 0.5 * (outer + outer.transpose(0, 2, 1))
    np.add.at(total, owner, np.trace(outer, axis1=1, axis2=2)[:, None, None] * np.eye(3) - even)
    size, way = np.linalg.eigh(total)
    return np.einsum("tik,tk,tjk->tij", way, np.maximum(size, 0.0), way, dtype=np.float64)
