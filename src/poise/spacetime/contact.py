"""The contact forces that carry a motion best, in every frame at once, and what they leave."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from poise.analysis.momentum import cross
from poise.core.typing import Array, Flags

RIDGE = 1e-4
"""Weight of ‖λ‖² against the mean square of a column: spreads the load where points leave it open [1]."""


@dataclass(frozen=True)
class Carried:
    """Contact forces of K frames.

    Attributes:
        forces: On each point [N], shape (K, P, 3).
        left: Scaled force and moment that they do not give, shape (K, 6).
        root: L with L Lᵀ = 1 − W (Wᵀ W + ε)⁻¹ Wᵀ, W the acting columns: Lᵀ takes the six rows of a change to what
            the acting forces cannot take over, shape (K, 6, 6).
    """

    forces: Array
    left: Array
    root: Array


def carry(wanted: Array, arms: Array, normals: Array, may: Flags, friction: float, scale: Array) -> Carried:
    """Forces V λ, λ ≥ 0, at the points that may touch, with least ‖wanted − W λ‖² + ε ‖λ‖².

    Args:
        wanted: Force [N] and moment about the center of mass [N m], shape (K, 6).
        arms: From the center of mass to the points [m], shape (K, P, 3).
        normals: Of the ground there, shape (K, P, 3).
        may: Which may touch, shape (K, P).
        friction: Coulomb coefficient; the cone is a pyramid of four edges.
        scale: Multiplies the six rows, shape (6,).
    """
    frames, count = may.shape
    edges = _edges(normals, friction)
    columns = scale * np.concatenate([edges, np.cross(arms[:, :, None], edges)], axis=-1)
    forces, left = np.zeros((frames, count, 3)), scale * wanted
    root = np.broadcast_to(np.eye(6), (frames, 6, 6)).copy()
    for k in np.flatnonzero(may.any(axis=1)):
        touching = np.flatnonzero(may[k])
        W = columns[k, touching].reshape(-1, 6).T
        ridge = RIDGE * float(np.square(W).sum()) / W.shape[1]
        tall = np.concatenate([W, math.sqrt(ridge) * np.eye(W.shape[1])])
        best, _ = nnls(tall, np.concatenate([left[k], np.zeros(W.shape[1])]))
        forces[k, touching] = np.einsum("pe,pei->pi", best.reshape(-1, 4), edges[k, touching])
        left[k] -= W @ best
        acting = W[:, best > 0.0]
        root[k] = np.linalg.cholesky(np.linalg.inv(np.eye(6) + acting @ acting.T / ridge))
    return Carried(forces, left, root)


def _edges(normals: Array, friction: float) -> Array:
    """Edges n ± μ t of the friction pyramids, shape (K, P, 4, 3)."""
    helper = np.where(np.abs(normals[..., :1]) < 0.9, np.eye(3)[0], np.eye(3)[1])
    first = cross(normals, helper)
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = cross(normals, first)
    sides = np.stack([first, -first, second, -second], axis=-2)
    return normals[..., None, :] + friction * sides
