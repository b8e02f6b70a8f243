"""What a run of the filter never changes: the character, how it is to react, and what follows from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.filter.giving import GivingBody, giving_body
from poise.filter.options import Options
from poise.filter.preset import Preset
from poise.physics import Model
from poise.physics.from_character import model_of
from poise.terrain import Terrain


@dataclass(frozen=True)
class Setup:
    """What every stage of a step may read.

    Attributes:
        character, preset, terrain, options: As given.
        dt: Length of a step [s].
        floor: Height of the reference's own floor [m].
        model: The character's model.
        scale: Leg length / 0.82 m.
        mass: Of the figure [kg].
        giving: The limbs that give way to a push.
        strengths: Of the joints, by body of the model, shape (B,).
        hanging: Mass that hangs on each dof, times the strength of a weak joint [kg] and [kg m²], shape (nv,).
        goal_without: Bodies (of the model) that the goal leaves out.
        is_quadruped: It stands on four legs.
    """

    character: Character
    preset: Preset
    terrain: Terrain
    options: Options
    dt: float
    floor: float
    model: Model
    scale: float
    mass: float
    giving: GivingBody
    strengths: Array
    hanging: Array
    goal_without: tuple[int, ...]
    is_quadruped: bool

    @classmethod
    def of(
        cls, character: Character, preset: Preset, terrain: Terrain, options: Options, *, dt: float, floor: float
    ) -> Setup:
        """From what a run is given."""
        model, scale = model_of(character), character.leg_scale
        strengths = np.array([1.0, *(body.strength for body in character.bodies)])
        held = (model.subtree_masses * np.minimum(strengths, 1.0))[model.dof_body]
        return cls(
            character, preset, terrain, options, dt, floor, model, scale, float(model.subtree_masses[model.roots[0]]),
            giving_body(character, model.q_rest(), preset.giving, preset.pose, preset.weights), strengths,
            held * np.where(np.arange(model.nv) < 3, 1.0, scale**2),
            tuple(sorted({character.body_index(name) + 1 for name in options.goal_without})),
            sum(limb.kind == "leg" for limb in character.limbs) >= 4,
        )  # fmt: skip

    @property
    def bound_weight(self) -> float:
        """Weight of the ground as a bound [kg]; of joint limits times `scale` squared."""
        return self.preset.weights.bounds * self.mass

    def upright(self, height: float) -> float:
        """1 for a figure that stands on two legs with its center of mass so high, 0 for one that lies or has four."""
        ground = self.preset.ground
        if ground.lean == 0.0:
            return 1.0
        height = (height - self.floor) / self.character.leg_length
        part = (height - ground.lies_below) / (ground.stands_above - ground.lies_below)
        return 0.0 if self.is_quadruped else min(max(float(part), 0.0), 1.0)

    def lean(self, height: float) -> tuple[float, float]:
        """How much of its share in a slope's turn each body takes with the center of mass so high, and how far the
        whole figure lies along the slope: the upright lean uphill a little, others lie along it.
        """
        lean = self.preset.ground.lean
        if lean == 0.0:
            return 0.0, 0.0
        if self.is_quadruped:
            return -1.0, 0.0
        stands = self.upright(height)
        return stands * lean, 1.0 - stands
