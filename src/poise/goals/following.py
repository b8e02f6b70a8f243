"""A captured clip as a goal, so that synthesis and tracking mix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body.character import V_SIZES
from poise.goals.view import View
from poise.goals.wish import HORIZON, Wish, bodies_named, toward
from poise.step import Objective
from poise.step.quantities import JointAcceleration


@dataclass(frozen=True)
class Follow(Wish):
    """Joints go where the clip's are now, as fast as they move there; the last pose is held. Nothing without a clip.

    Attributes:
        weight: Against joint accelerations.
        horizon: [s].
        without: Bodies left free, as in `Pose`; "stance leg" is the whole leg that carries.
    """

    weight: float
    horizon: float = HORIZON
    without: tuple[str, ...] = ()

    def objectives(self, view: View) -> list[Objective]:
        clip = view.clip
        if clip is None:
            return []
        state, character = view.state, view.body.character
        first, end = view.body.joints
        q, v = clip.at(view.time)
        wanted = state.q.copy()
        wanted[view.coordinates] = q
        error = state.model.difference(state.q, wanted, 1.0)[first:end]
        weight = np.full(len(error), self.weight)
        for name in self.without:
            for body in bodies_named(view, name):
                if body > 0:
                    at = character.v_addresses[body] - 6
                    weight[at : at + V_SIZES[character.bodies[body].kind]] = 0.0
        speed = state.v[first:end] - v[6:]
        return [toward(view, JointAcceleration((first, end)), error, speed, weight, self.horizon, "follow")]
