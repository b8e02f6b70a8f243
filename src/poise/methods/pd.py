"""The baseline of the paper's comparison: proportional-derivative torques on every joint and on the root.

    τ = bias + diag(M) (ω² Δq + 2 ζ ω Δv),   contact points stopped as far as their cones allow

Source: [Levine2012]_ section 4, "Importance of Minimization". It is the same step problem with another list: the torques
are a constraint, and the contact forces that are left free stop the points that touch. Nothing minimizes the root force.
"""

from __future__ import annotations

import numpy as np

from poise.control.preset import PdGains
from poise.control.reference import ReferenceFrame
from poise.step import Constraint, Equal, Objective, Step
from poise.step.quantities import ContactCoefficients, JointAcceleration, JointTorque, PointAcceleration


def proportional_derivative(
    step: Step, reference: ReferenceFrame, gains: PdGains
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one step of the baseline."""
    state = step.state
    frequency = np.full(step.nv, gains.joint_frequency)
    frequency[:6] = gains.root_frequency
    error = state.model.difference(state.q, reference.q, 1.0)
    wish = frequency**2 * error + 2.0 * gains.damping * frequency * (reference.v - state.v)
    torque = state.bias + np.diag(state.M) * wish
    mass = state.mass(state.model.roots[0])
    objectives = [Objective(JointAcceleration(), 0.0, 1e-9 * mass, "nothing else")]
    points = step.contacts.points
    if points.size:
        stop = -state.point_velocities[points] / step.dt
        axes = np.tile(np.eye(3), (points.size, 1, 1))
        objectives.append(Objective(PointAcceleration(points, axes), stop.ravel(), mass, "stop contacts"))
        objectives.append(Objective(ContactCoefficients(), np.zeros(step.coefficient_count), 1e-6, "contact coefficients"))
    return objectives, [Equal(JointTorque(), torque, "servo torques")]
