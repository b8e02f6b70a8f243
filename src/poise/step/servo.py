"""Servos: objectives that draw a quantity to a target or after an actor, and weights that can be compared.

    desired = ẍ* + 2 ζ ω (ẋ* − ẋ) + ω² (x* − x)

with the target's position x*, velocity ẋ* and acceleration ẍ*. `rates` of a quantity give its velocity, ẋ = A v, so the
same formula serves points, orientations, single joints, the center of mass and the angular momentum.
"""

from __future__ import annotations

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.physics import State
from poise.step.problem import Objective
from poise.step.quantities import Quantity
from poise.step.step import Step


def servo(
    step: Step,
    quantity: Quantity,
    error: Array | float,
    *,
    velocity: Array | float = 0.0,
    acceleration: Array | float = 0.0,
    frequency: float,
    damping: float = 1.0,
    weight: Array | float = 1.0,
    label: str = "",
) -> Objective:
    """An objective that draws a quantity to a target: PD control with feed-forward.

    Example:
        >>> over_feet = support_center - state.com()[:2]
        >>> objective = servo(step, ComAcceleration("xy"), over_feet, frequency=3.0, weight=20.0)

    Args:
        step: The step.
        quantity: What is drawn, an acceleration.
        error: x* − x, one number a row [m, rad].
        velocity: ẋ* of the target, in the rows of the quantity [m/s, rad/s].
        acceleration: ẍ* of the target [m/s², rad/s²].
        frequency: ω, how fast the error goes [rad/s]; half of it is left after 1.7 / ω.
        damping: ζ; 1 is critical.
        weight, label: Of the objective.

    Raises:
        InvalidValue: if steps of this length make the servo unstable, or a shape is wrong.
    """
    _require_stable(frequency, damping, step.dt)
    now = quantity.rates(step.state, np.zeros(step.nv))[0]
    for what, given in (("error", error), ("velocity", velocity), ("acceleration", acceleration)):
        if np.shape(given) not in ((), (1,), now.shape):
            raise InvalidValue(
                f"servo: {what} has shape {np.shape(given)}; {type(quantity).__name__} has {len(now)} rows. Give one "
                "number a row, or one for all."
            )
    target = acceleration + 2.0 * damping * frequency * (velocity - now) + frequency**2 * np.asarray(error)
    return Objective(quantity, target, weight, label)


def follow(
    step: Step,
    quantity: Quantity,
    actor: State,
    acceleration: Array,
    *,
    frequency: float,
    damping: float = 1.0,
    weight: Array | float = 1.0,
    label: str = "",
) -> Objective:
    """An objective that draws a quantity after an actor, another state of the same model: `servo` with feed-forward.

    A character in the actor's own state is asked for the actor's own acceleration, so an undisturbed step copies it.

    Example:
        >>> actor = State(model).at(clip.q[k], clip.v[k])
        >>> objective = follow(step, PlaceAcceleration("left_hand"), actor, clip.a[k], frequency=15.0)

    Args:
        step: The step.
        quantity: What follows. Places, points, orientations, axes, joints, the center of mass and the angular momentum
            can; a quantity of your own can if it has `error`.
        actor: The actor in this step, complete.
        acceleration: Its accelerations [m/s², rad/s²], shape (nv,); see `poise.physics.state`.
        frequency, damping: As in `servo`.
        weight, label: Of the objective.

    Raises:
        InvalidValue: if the quantity has no position to follow, or steps of this length make the servo unstable.
    """
    error, (velocity, rate) = quantity.error(step.state, actor), quantity.rates(actor, acceleration)
    return servo(
        step,
        quantity,
        error,
        velocity=velocity,
        acceleration=rate,
        frequency=frequency,
        damping=damping,
        weight=weight,
        label=label,
    )


def unit_weight(step: Step, quantity: Quantity, *, length: float) -> float:
    """The weight at which a quantity counts as much as others of their own unit weight.

    Weights of a list differ by orders of magnitude, because a torque is counted in N m and a head's turn in rad/s².
    This is 1 / s², where s is the size (root mean square over the rows) that the quantity has when every degree of
    freedom accelerates by 1 m/s², or turns by 1 / length. A quantity of contact forces alone has the size of the
    figure's mass times 1 m/s². Multiply it by a share: 1 for what matters most, 0.01 for what decides the rest.

    Example:
        >>> weight = 0.1 * unit_weight(step, AngularMomentumRate(), length=character.leg_length)
        >>> objective = follow(step, AngularMomentumRate(), actor, a, frequency=3.0, weight=weight)

    Args:
        step: A step in a usual pose; the weight may be kept for the whole run.
        quantity: The quantity.
        length: Of a leg [m].

    Raises:
        InvalidValue: if the quantity does not depend on the unknowns in this step.
    """
    rows, model = quantity.rows(step), step.state.model
    is_root = np.zeros(step.nv, dtype=np.bool_)
    for root in model.roots:
        first = int(model.dof_first[root])
        is_root[first : first + 3] = model.dof_count[root] == 6
    on_a = rows.on_a * np.where(is_root, 1.0, 1.0 / length)
    size = float(np.sum(on_a**2))
    if size == 0.0 and rows.on_lambda is not None:
        size = float(np.sum(rows.on_lambda**2)) * step.state.mass(model.roots[0]) ** 2
    if size == 0.0:
        raise InvalidValue(
            f"{type(quantity).__name__} does not depend on accelerations or contact forces in this step."
        )
    return len(rows.c) / size


def _require_stable(frequency: float, damping: float, dt: float) -> None:
    """Raise InvalidValue unless v ← v + Δt ẍ, x ← x + Δt v converges: 4 ζ ω Δt + (ω Δt)² < 4."""
    if not (frequency >= 0.0 and damping >= 0.0):
        raise InvalidValue(f"A servo of frequency {frequency} and damping {damping}; give numbers of zero or more.")
    x = frequency * dt
    if 4.0 * damping * x + x * x >= 4.0:
        most = 2.0 * (np.sqrt(damping**2 + 1.0) - damping) / dt
        raise InvalidValue(
            f"A servo of {frequency:g} rad/s with damping {damping:g} is unstable in steps of {1e3 * dt:.3g} ms. "
            f"Give at most {0.99 * most:.3g} rad/s, or shorter steps."
        )
