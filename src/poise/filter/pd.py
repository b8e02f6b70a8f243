"""The baseline of the paper's comparison: proportional-derivative torques on every joint and on the root.

    τ = bias + diag(M) (ω² Δq' + 2 ζ ω Δv'),   contact points stopped as far as their cones allow

The errors Δq', Δv' are those at the end of the step (stable PD, Tan, Liu and Turk 2011), affine in a like any quantity;
with the errors of now the explicit step is unstable at 120 Hz.

Source: [Levine2012]_ section 4, "Importance of Minimization". It is the same step problem with another list: the
torques are a constraint, and the contact forces that are left free stop the points that touch. Nothing minimizes the
root force.
"""

from __future__ import annotations

import numpy as np

from poise.filter.preset import PdGains
from poise.filter.reference import ReferenceFrame
from poise.step import Constraint, Equal, Objective, Step
from poise.step.quantities import ContactCoefficients, JointAcceleration, JointTorque, PointAcceleration

REST = 1e-9
"""Weight of accelerations that nothing else decides, times the total mass [kg]: it makes the answer unique."""
LIGHT = 1e-6
"""Weight of the contact coefficients [1/kg]: redundant points share their load."""


def proportional_derivative(
    step: Step, reference: ReferenceFrame, gains: PdGains
) -> tuple[list[Objective], list[Constraint]]:
    """Objectives and constraints of one step of the baseline."""
    state = step.state
    frequency = np.full(step.nv, gains.joint_frequency)
    frequency[:6] = gains.root_frequency
    error = state.model.difference(state.q, reference.q, 1.0)
    stiffness = np.diag(state.M) * frequency**2
    damping = np.diag(state.M) * 2.0 * gains.damping * frequency + step.dt * stiffness
    torque = (
        state.bias
        + stiffness * (error + step.dt * (reference.v - state.v))
        + (damping - step.dt * stiffness) * (reference.v + step.dt * reference.a - state.v)
    )
    mass = state.mass(state.model.roots[0])
    objectives = [Objective(JointAcceleration(), 0.0, REST * mass, "nothing else")]
    points = step.contacts.points
    if points.size:
        stop = -state.point_velocities[points] / step.dt
        axes = np.tile(np.eye(3), (points.size, 1, 1))
        objectives.append(Objective(PointAcceleration(points, axes), stop.ravel(), mass, "stop contacts"))
        objectives.append(Objective(ContactCoefficients(), 0.0, LIGHT, "contact coefficients"))
    return objectives, [Equal(JointTorque(damping=damping), torque, "servo torques")]
