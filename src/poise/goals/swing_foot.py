"""The foot that a machine remembers as its "swing": where it is, which way is out, and how it is moved."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from poise.goals.view import View
from poise.step.quantities import PlaceAcceleration

Array = npt.NDArray[np.float64]


class SwingFoot(NamedTuple):
    """A foot in the air, or about to be.

    Attributes:
        side: "left" or "right".
        place, velocity: Of the middle of its sole [m], [m/s], shapes (3,).
        quantity: Acceleration of that middle.
    """

    side: str
    place: Array
    velocity: Array
    quantity: PlaceAcceleration


def swing_foot(view: View) -> SwingFoot | None:
    """The swing foot; None if the machine remembers none, since no state chose one."""
    side = view.memory.get("swing")
    if side is None:
        return None
    place, velocity = view.middle(view.foot("swing"))
    body = view.body.root + view.body.character.body_index(f"{side}_foot")
    return SwingFoot(side, place, velocity, PlaceAcceleration(body, view.state.body_offset(body, place)))


def outward(view: View, side: str) -> Array:
    """Unit direction in the plane from the middle of the figure to its left or right, shape (2,)."""
    ahead = view.heading
    return (1.0 if side == "left" else -1.0) * np.array([-ahead[1], ahead[0]])
