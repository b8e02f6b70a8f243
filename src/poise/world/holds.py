"""Figures that hold each other, or a body of the scene: two bodies joined at the place where they meet.

A join is one more contact, which pulls as well as pushes. It is solved with all others, so each body gets the opposite
of what the other gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array
from poise.physics.mujoco_bodies import Bodies
from poise.world.drivers import Figure

REACH = 0.3
"""A figure can hold what is at most this far away, from middle to middle, for a leg of 0.82 m [m]."""

PALM = 0.04
"""Bodies are joined this far from their middles, for a leg of 0.82 m [m]."""


class Hold(NamedTuple):
    """One figure takes hold of another, or of a body of the scene, or lets go.

    Attributes:
        body: Of the figure, such as a hand.
        other: Name of the other figure or of the body of the scene.
        other_body: Of the other figure; "" for a body of the scene.
        lets_go: The hold ends.
    """

    body: str
    other: str
    other_body: str = ""
    lets_go: bool = False


def take_hold(bodies: Bodies, figures: Sequence[Figure], name: str, hold: Hold, scale: float) -> None:
    """Join two bodies, each where it points to the other, or let them go.

    Raises:
        UnknownName: if there is no such figure or body.
        InvalidValue: if they are too far apart, or both of one figure.
    """
    if name == hold.other:
        raise InvalidValue(f"{name!r} cannot hold itself.")
    first, second = _body(bodies, figures, name, hold.body), _body(bodies, figures, hold.other, hold.other_body)
    if hold.lets_go:
        bodies.part(first, second)
        return
    (one, _), (other, _) = bodies.point(first, None), bodies.point(second, None)
    apart = float(np.linalg.norm(other - one))
    if apart > REACH * scale:
        what = hold.other_body or hold.other
        raise InvalidValue(
            f"{hold.body!r} of {name!r} is {apart:.2f} m from {what!r}; to hold it, it has to be within "
            f"{REACH * scale:.2f} m."
        )
    toward = min(0.5, PALM * scale / max(apart, 1e-9)) * (other - one)
    bodies.join(first, second, np.array([one + toward, other - toward]))


def eased_joins(wanted: Array, firmness: Array, slips: Array) -> Array:
    """Relative velocities that count as zero [m/s], shape (K, 3), where joins that are not firm yet may slip.

    Args:
        wanted: The same for firm joins; joins come last.
        firmness, slips: See `Bodies`, shapes (J,) and (J, 3).
    """
    new, out = np.flatnonzero(firmness < 1.0), wanted.copy()
    rows, share = len(wanted) - len(firmness) + new, firmness[new, None]
    out[rows] = share * wanted[rows] + (1.0 - share) * slips[new]
    return out


def _body(bodies: Bodies, figures: Sequence[Figure], name: str, body: str) -> int:
    """Index of a figure's body, or of a body of the scene."""
    for figure, first in zip(figures, bodies.figure_body):
        if figure.name == name:
            return first + figure.character.body_index(body)
    if f"scene/{name}" in bodies.names and not body:
        return bodies.names.index(f"scene/{name}")
    known = [figure.name for figure in figures] + [n.removeprefix("scene/") for n in bodies.names if n[:6] == "scene/"]
    raise UnknownName(f"Nothing is called {name!r}. Figures and bodies: {', '.join(known) or 'none'}.")
