"""The answer of one step, with its own proof."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array


class Certificate(NamedTuple):
    """How well the answer satisfies the conditions of optimality; all relative but the last.

    Attributes:
        primal: Largest violation of a constraint or of λ ≥ 0, against 1 + the size of its right-hand side.
        dual: Largest residual of stationarity, against the largest term in it.
        gap: Complementarity Σ |x · gradient| over x = (λ, s), against Σ |x| times the largest term of the gradient.
        dynamics: Largest difference between M a + bias of the answer and inverse dynamics by recursion [N, N m].
    """

    primal: float
    dual: float
    gap: float
    dynamics: float

    def holds(self, tolerance: float = 1e-6) -> bool:
        """True if primal, dual and gap are below the tolerance and everything is finite."""
        return (
            max(self.primal, self.dual, self.gap) <= tolerance
            and np.isfinite([self.primal, self.dual, self.gap, self.dynamics]).all().item()
        )


class StepResult(NamedTuple):
    """The answer of one step; owns its arrays.

    Attributes:
        a: Joint accelerations, shape (nv,).
        coefficients: Contact-cone coefficients λ ≥ 0 [N], shape (n,).
        torque: Generalized force joints and root must supply [N m, N], shape (nv,).
        forces: Force of each contact in the world [N], shape (K, 3).
        certificate: Its proof.
        solver: "active set", or "daqp".
        solves: Small systems solved inside.
        bounds_active: Which rows of the soft bounds act (their slack is zero), in the order of the constraints; of a
            `Within` first the lower ones.
        costs: Cost of each objective by name; empty unless asked for.
    """

    a: Array
    coefficients: Array
    torque: Array
    forces: Array
    certificate: Certificate
    solver: str
    solves: int
    bounds_active: npt.NDArray[np.bool_]
    costs: Mapping[str, float] = MappingProxyType({})
