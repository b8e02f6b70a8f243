"""What an answer asks of the joints and the ground."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from poise.step.step import Step

Array = npt.NDArray[np.float64]


def balance(step: Step, a: Array, coefficients: Array) -> tuple[Array, Array, float]:
    """Torque τ = M a + bias − Bᵀ λ − τ_ext (nv,), contact forces (K, 3), and how far inverse dynamics differ [N, N m].

    The last is the largest |inverse dynamics − M a − bias|, the first by recursion over the bodies. `Step.torque` and
    `Step.forces` are the plain twins.
    """
    state, columns = step.state, step.columns
    torque, forces = np.empty(step.nv), np.zeros((step.contacts.count, 3))
    left = _balance(
        state.M, state.bias, columns.share, columns.first, columns.width, columns.map, step.external, step.directions,
        step.owner, a, coefficients, state.data.inverse_dynamics(a), torque, forces,
    )  # fmt: skip
    return torque, forces, left


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _balance(
    M, bias, share, first, width, acts, external, directions, owner, a, x, inverse, torque, forces
):  # fmt: skip
    """Fill torque and forces; returns the largest |inverse − M a − bias|."""
    nv, left, u = a.shape[0], 0.0, np.zeros(acts.shape[1])
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            for e in range(width[i]):
                u[first[i] + e] += x[i] * share[i, e]
            for e in range(3):
                forces[owner[i], e] += x[i] * directions[i, e]
    for i in range(nv):
        s = bias[i]
        for j in range(nv):
            s += M[i, j] * a[j]
        left = max(left, abs(inverse[i] - s))
        for c in range(acts.shape[1]):
            s -= acts[i, c] * u[c]
        torque[i] = s - external[i]
    return left
