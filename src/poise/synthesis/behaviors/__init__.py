"""What `poise synthesize NAME` can do: each behavior is a controller, its surroundings and its options."""

from __future__ import annotations

from poise.synthesis.behaviors.athletes import HOPPER, RUN
from poise.synthesis.behaviors.balance import BALANCE, ICE, ONE_FOOT, STEP
from poise.synthesis.behaviors.behavior import Behavior, Role, Scenario
from poise.synthesis.behaviors.cable_car import CABLE_CAR
from poise.synthesis.behaviors.climb import CLIMB
from poise.synthesis.behaviors.dodge import DODGE
from poise.synthesis.behaviors.hands import HANDS, REACH
from poise.synthesis.behaviors.swing import SWING
from poise.synthesis.behaviors.wall import WALL

BEHAVIORS: dict[str, Behavior] = {
    b.name: b for b in (BALANCE, ONE_FOOT, STEP, ICE, WALL, DODGE, HANDS, REACH, CLIMB, SWING, CABLE_CAR, HOPPER, RUN)
}

__all__ = ["BEHAVIORS", "Behavior", "Role", "Scenario"]
