"""A hand that reaches into a running simulation: a spring from where a body was grabbed to the mouse."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter.forces import Force

STIFFNESS = 12.0
"""Pull of a hand [1/s^2]: force for each meter, over the mass of the figure; 840 N/m on a person."""

DAMPING = 0.25
"""Damping of a hand: that of a quarter of the figure."""

STRONGEST = 0.8
"""Largest force of a hand, in weights of the figure: enough to drag it off its way, not to tear it apart."""

CARRYING = 400.0
"""Pull of a hand that carries a whole thing [1/s^2]: the thing's weight lengthens its spring by 2.5 cm."""

STRONGEST_CARRYING = 12.0
"""Largest force of such a hand, in weights of the thing."""


@dataclass
class Hand(Force):
    """A force that follows a hand until it lets go; it acts where the body is held, and remembers itself.

    Attributes:
        body: Name of the body that is held.
        index: Its index.
        point: Where it is held, in the body's frame [m], shape (3,).
        target: Where the hand is now, in the world frame [m], shape (3,).
        total: Mass of the figure, or of the thing that is held [kg].
        start: When it was grabbed [s].
        stiffness: Force for each meter, over `total` [1/s^2].
        damping: In parts of what damps `total` critically.
        strongest: Largest force, in weights of `total`.
        duration: How long it was held [s]; infinite while it is.
        force: What it pulled with last [N], shape (3,).
        place: Where the held place was last, in the world frame [m], shape (3,); NaN before the first step.
        history: Time [s] and force [N] of every step.
    """

    kind: ClassVar[str] = "pull"

    body: str
    index: int
    point: Array
    target: Array
    total: float
    start: float
    stiffness: float = STIFFNESS
    damping: float = DAMPING
    strongest: float = STRONGEST
    duration: float = math.inf
    force: Array = field(default_factory=lambda: np.zeros(3))
    place: Array = field(default_factory=lambda: np.full(3, np.nan))
    history: list[tuple[float, Array]] = field(default_factory=list)

    @property
    def offset(self) -> Array:
        return self.point

    @property
    def is_held(self) -> bool:
        return math.isinf(self.duration)

    def let_go(self, time: float) -> None:
        """End it [s]."""
        self.duration = max(time - self.start, 1e-6)

    def is_on(self, time: float) -> bool:
        del time
        return self.is_held

    def body_of(self, character: Character) -> int:
        del character
        return self.index

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        """A damped spring, held to its largest force [N]."""
        del mass
        stiffness = self.stiffness * self.total
        damping = 2.0 * math.sqrt(self.stiffness) * self.damping * self.total
        force = stiffness * (self.target - place) - damping * velocity
        size, most = float(np.linalg.norm(force)), self.strongest * GRAVITY * self.total
        self.force = force * min(1.0, most / size) if size > 0.0 else force
        self.place = place
        self.history.append((time, self.force))
        return self.force

    def forces(self, times: Array) -> Array:
        """Force at times [s] (T,), zero while it did not hold [N], shape (T, 3)."""
        if not self.history:
            return np.zeros((len(times), 3))
        own = np.array([t for t, _ in self.history])
        values = np.array([f for _, f in self.history])
        return np.stack([np.interp(times, own, values[:, k], left=0.0, right=0.0) for k in range(3)], axis=1)


def carrying(thing: str, target: Array, mass: float, start: float) -> Hand:
    """A hand that carries a whole thing by its middle: stiffer than one that drags a figure, critically damped.

    Args:
        thing: Its name.
        target: Where the hand is, in the world frame [m], shape (3,).
        mass: Of the thing [kg].
        start: When it was taken [s].
    """
    return Hand(thing, 0, np.zeros(3), target, mass, start, CARRYING, 1.0, STRONGEST_CARRYING)
