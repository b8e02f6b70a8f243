"""What an answer asks of the joints and the ground."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from poise import compiled
from poise.compiled import SUMS, Table, shared
from poise.light import borrow, flags, give_back, index, larger, light, matrix, vector
from poise.physics import kernels
from poise.physics.kernels import inverse_dynamics
from poise.step.step import Step

Array = npt.NDArray[np.float64]


def balance(step: Step, a: Array, coefficients: Array) -> tuple[Array, Array, float]:
    """Torque τ = M a + bias − Bᵀ λ − τ_ext (nv,), contact forces (K, 3), and how far inverse dynamics differ [N, N m].

    The last is the largest |inverse dynamics − M a − bias|, the first by recursion over the bodies. `Step.torque` and
    `Step.forces` are the plain twins.
    """
    state, columns = step.state, step.columns
    torque, forces = np.empty(step.nv), np.zeros((step.contacts.count, 3))
    arrays = (
        state.M, state.bias, columns.share, columns.first, columns.width, columns.map, step.external, step.directions,
        step.owner, a, coefficients, state.data.inverse_dynamics(a), torque, forces,
    )  # fmt: skip
    table = Table([np.ascontiguousarray(array) for array in arrays])
    sizes = np.zeros(12, dtype=np.int64)
    sizes[4], sizes[8:11] = len(forces), (step.nv, columns.map.shape[1], len(coefficients))
    return torque, forces, balance_table(table.at, sizes)


@njit(**SUMS)
def finish(at, sizes):
    """`balance_table` of a usual problem, after inverse dynamics.

    Fills also which bounds act, and which coefficients of all points are positive.
    """
    at, sizes = light(at), light(sizes)
    touching, n, points, count = sizes[4], sizes[10], sizes[2], sizes[12]
    taken, slacks, acting = flags(at[14], count), vector(at[15], count), flags(at[16], count)
    touched, positive, x = index(at[17], touching), flags(at[18], 4 * points), vector(at[10], n)
    for i in range(count):
        acting[i] = taken[i] and slacks[i] <= 0.0
    for i in range(4 * points):
        positive[i] = False
    for i in range(n):
        positive[4 * touched[i // 4] + i % 4] = x[i] > 0.0
    inverse_dynamics(index(at[19], 11), vector(at[9], sizes[8]), at[11])
    return balance_table(at, sizes)


@shared(**SUMS)
def balance_table(at, sizes):
    """Fill torque and forces; returns the largest |inverse − M a − bias|. Sizes as in `assemble`."""
    at, sizes = light(at), light(sizes)
    count, nv, c, n = sizes[4], sizes[8], sizes[9], sizes[10]
    M, bias, share, first, width = (
        matrix(at[0], nv, nv),
        vector(at[1], nv),
        matrix(at[2], n, 6),
        index(at[3], n),
        index(at[4], n),
    )
    acts, external, directions = matrix(at[5], nv, c), vector(at[6], nv), matrix(at[7], n, 3)
    owner, a, x, inverse = index(at[8], n), vector(at[9], nv), vector(at[10], n), vector(at[11], nv)
    torque, forces = vector(at[12], nv), matrix(at[13], count, 3)
    left, u = 0.0, borrow(c)
    for e in range(c):
        u[e] = 0.0
    for k in range(count):
        for e in range(3):
            forces[k, e] = 0.0
    for i in range(n):
        if x[i] != 0.0:
            for e in range(width[i]):
                u[first[i] + e] += x[i] * share[i, e]
            for e in range(3):
                forces[owner[i], e] += x[i] * directions[i, e]
    for i in range(nv):
        s = bias[i]
        for j in range(nv):
            s += M[i, j] * a[j]
        left = larger(left, abs(inverse[i] - s))
        for j in range(c):
            s -= acts[i, j] * u[j]
        torque[i] = s - external[i]
    give_back(u)
    return left


finish = compiled.calls(finish, str(kernels.__file__))
