"""Things as characters of one body: what can be thrown at a figure."""

from __future__ import annotations

import numpy as np

from poise.body.character import Body, Capsule, Character, ContactPoint
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import Skeleton


def ball(name: str, radius: float, mass: float) -> Character:
    """A solid ball: one free body around its middle, one sphere, and its middle as the one contact point.

    Args:
        name: Of the body, and of the point.
        radius: [m].
        mass: [kg]; its inertia is 2/5 mass radius².

    Raises:
        InvalidValue: if radius or mass is not a positive number.
    """
    for what, value in (("radius", radius), ("mass", mass)):
        if not (np.isfinite(value) and value > 0.0):
            raise InvalidValue(f"Ball {name!r} has {what} {value}; give a positive number.")
    middle = np.zeros(3)
    body = Body(
        name=name, joint=0, parent=-1, offset=middle, kind="free", mass=mass, com=middle,
        inertia=0.4 * mass * radius**2 * np.eye(3), capsules=(Capsule(middle, middle, radius),),
    )  # fmt: skip
    return Character(
        skeleton=Skeleton((name,), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None].copy()),
        bodies=(body,),
        contact_points=(ContactPoint(name, 0, middle, radius, "thing"),),
        limbs=(),
        roles={},
        leg_length=radius,
    )
