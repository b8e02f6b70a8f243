"""How the answer of a step changes with a force that is not among its unknowns.

A figure among bodies answers their contact forces by its own lists: a = a₀ + B F for a generalized force F, where B
comes from the same objectives and constraints that give a₀. Source: [Levine2012]_ eq. (7). Deviates: the contacts with
the ground stay unknowns of the step; those that push keep pushing and those that do not stay out, so B holds until one
of them changes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.core.typing import Array
from poise.step.constraint import Constraint
from poise.step.objective import Objective
from poise.step.result import StepResult
from poise.step.solve import solve_step
from poise.step.step import Step
from poise.step.system import form_of, packed, share_matrix, system_of


def respond(
    step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint], jacobian: Array
) -> tuple[StepResult, Array]:
    """The answer of a step without a further force, and how its accelerations change per unit of it.

        result, change = respond(step, objectives, constraints, jacobian)
        a = result.a + change @ force                       # with forces (m,) along the rows of the Jacobian

    Args:
        step: State, contacts and known external forces.
        objectives, constraints: The lists; all bounds are soft.
        jacobian: Rows along which forces act, shape (m, nv).

    Returns:
        The answer, and B Jᵀ, shape (nv, m).

    Raises:
        StepInfeasible: as `solve_step`.
    """
    result = solve_step(step, objectives, constraints, costs=False)
    if not len(jacobian):
        return result, np.zeros((step.nv, 0))
    s = system_of(step.state)
    nv, n, c, k = step.nv, s.values.n, s.values.c, s.values.k
    form = form_of(s)[:, :-1].copy()
    acting = s.acting[: s.values.bounds].astype(np.bool_)
    if acting.any():
        rows = np.zeros((int(acting.sum()), len(form)))
        rows[:, :nv] = s.J[: s.values.bounds][acting]
        if s.values.is_coupled:
            rows[:, nv + k :] = packed(s.X, s.values.bounds, c)[acting]
        form += (rows.T * s.bound_weight[: s.values.bounds][acting]) @ rows
    # coefficients that push are free, the others stay zero
    pushing = result.coefficients > 0.0
    share = share_matrix(s)[pushing]
    to_form = np.zeros((len(form), nv + k + len(share)))
    to_form[: nv + k, : nv + k] = np.eye(nv + k)
    to_form[nv + k :, nv + k :] = share.T
    own = to_form.T @ form @ to_form
    own[nv + k :, nv + k :] += np.diag(s.weight[:n][pushing])
    # a force is a part of the torque's target
    felt = s.torque_weight[:, None] * jacobian.T
    right = np.zeros((len(own), len(jacobian)))
    right[:nv] = step.state.M @ felt
    right[nv + k :] = -share @ (packed(s.acts, nv, c).T @ felt)
    change: Array = np.linalg.solve(own, right)[:nv].astype(np.float64, copy=False)
    return result, change
