"""How a synthesizer works, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.core.errors import InvalidValue, UnknownName
from poise.goals.lists import Weights

ENGINES = ("poise", "mujoco")
"""Who can move the figures."""


@dataclass(frozen=True)
class Settings:
    """How a synthesizer works.

    Attributes:
        dt: Length of a step [s].
        responsiveness: Scales all goals against torque change, [Jain2009]_ 7.1.
        delay: How long after a push, a hit or a lost support the muscles cannot answer [s].
        band: How far torques may change in that time, in parts of their limits.
        torque_limits: Whether joints are limited.
        is_literal: The paper's own form of goals.
        engine: Who moves the figures: "poise", the step's own integration, or "mujoco", its forward simulation with its
            own contacts, to which the figures' torques are given; see `synthesis.engine`.
        weights: Of everything that is no goal; by default those of the form.
    """

    dt: float = 0.01
    responsiveness: float = 1.0
    delay: float = 0.2
    band: float = 0.05
    torque_limits: bool = True
    is_literal: bool = False
    engine: str = "poise"
    weights: Weights | None = None

    def __post_init__(self) -> None:
        for name in ("dt", "responsiveness", "band"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InvalidValue(f"{name} is {value}; give a positive number.")
        if not (np.isfinite(self.delay) and self.delay >= 0.0):
            raise InvalidValue(f"delay is {self.delay} s; give zero or more.")
        if self.engine not in ENGINES:
            raise UnknownName(f"No engine {self.engine!r}. Engines: {', '.join(ENGINES)}.")
