"""Physical quantities that are affine in the unknowns of one step."""

from __future__ import annotations

from poise.step.quantities.bodies import AxisAcceleration, BodyAngularAcceleration, PlaceAcceleration
from poise.step.quantities.contact import (
    ContactAcceleration,
    ContactCoefficients,
    ContactForce,
    PointAcceleration,
)
from poise.step.quantities.joints import JointAcceleration, JointTorque, RootWrench
from poise.step.quantities.momentum import AngularMomentumRate, ComAcceleration
from poise.step.quantity import Quantity

__all__ = [
    "AngularMomentumRate",
    "AxisAcceleration",
    "BodyAngularAcceleration",
    "ComAcceleration",
    "ContactAcceleration",
    "ContactCoefficients",
    "ContactForce",
    "JointAcceleration",
    "JointTorque",
    "PlaceAcceleration",
    "PointAcceleration",
    "Quantity",
    "RootWrench",
]
