"""What a run of the filter never changes: the character, the options, and what follows from both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags
from poise.filter.falling import BEARING_JOINTS, held_longer, limp_dofs, trunk_dofs
from poise.filter.forces import PointGoal
from poise.filter.giving import GivingBody, giving_body
from poise.filter.preset import Preset
from poise.filter.quasi_physical import Physicality
from poise.filter.reference import ReferenceFrame
from poise.physics import Model
from poise.physics.mujoco_backend import model_of
from poise.step import Certificate, Constraint, Objective, Step
from poise.terrain import Terrain

GOALS = ("auto", "com-xy", "moving", "none")
ENGINES = ("qp", "pd")
AFTER = ("path", "stay", "blend")


OwnTerms = Callable[[Step, ReferenceFrame], Sequence[Objective | Constraint]]
"""Makes objectives and constraints of one's own for one step."""


def own_terms(
    makers: Sequence[OwnTerms], step: Step, reference: ReferenceFrame
) -> tuple[list[Objective], list[Constraint]]:
    """One's own objectives and constraints of a step.

    Raises:
        InvalidValue: if a function does not return a list.
    """
    terms: list[Objective | Constraint] = []
    for make in makers:
        made: object = make(step, reference)
        if not isinstance(made, Sequence):
            raise InvalidValue(f"A function of Options(objectives=...) returned {made!r}; return a list of terms.")
        terms += made
    return [t for t in terms if isinstance(t, Objective)], [t for t in terms if not isinstance(t, Objective)]


@dataclass(frozen=True)
class Options:
    """How a run is to be made; the defaults are those of `poise simulate`.

    Example:
        >>> options = poise.Options(friction=0.4, physicality=poise.Physicality(factor=2.0))
        >>> result = poise.simulate(motion, character, options=options)

    Attributes:
        goal: "auto" (moving when anything pushes or the ground moves, else com-xy), "com-xy", "moving" or "none".
        goal_points: Places on bodies with targets of their own.
        goal_without: Joints or roles whose bodies are left out of the goal's center of mass.
        physicality: The knob.
        friction: Coulomb coefficient.
        hard_contact: No point goes below the ground, as hard rows (slower).
        readable: Solve every step with the readable path.
        engine: "qp", or "pd" for the baseline of the paper's comparison.
        plans_ahead: A clip's way over ground that rests is planned from all of it; else, as in a stream, from what lies
            just ahead.
        after: What a figure does that has stepped or fallen: "path" (goes back to the clip's way, and lies where it
            fell), "stay" (goes on beside it) or "blend" (goes back, and gets up by blending).
        objectives: Your own objectives and constraints: functions of the step and the reference, called in every step;
            what they return joins the filter's list. For example, a head that stays level:

                def level(step: Step, reference: ReferenceFrame) -> list[Objective | Constraint]:
                    return [Objective(AxisAcceleration(head, up), target, 20.0, "level head")]
    """

    goal: str = "auto"
    goal_points: tuple[PointGoal, ...] = ()
    goal_without: tuple[str, ...] = ()
    physicality: Physicality = field(default_factory=Physicality)
    friction: float = 0.8
    hard_contact: bool = False
    readable: bool = False
    engine: str = "qp"
    plans_ahead: bool = True
    after: str = "path"
    objectives: tuple[OwnTerms, ...] = ()

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("goal", self.goal, GOALS),
            ("engine", self.engine, ENGINES),
            ("return", self.after, AFTER),
        ):
            if value not in allowed:
                raise InvalidValue(f"{name} is {value!r}; give one of {', '.join(allowed)}.")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise InvalidValue(f"friction is {self.friction}; give a finite number of zero or more.")

    @property
    def is_usual(self) -> bool:
        """The core may do all stages of a step."""
        is_own = self.readable or self.hard_contact or self.physicality.is_strict or bool(self.goal_without)
        return self.engine == "qp" and not is_own


@dataclass
class Counts:
    """What the solver did, for the report."""

    solves: int = 0
    failures: int = 0
    fallbacks: dict[str, int] = field(
        default_factory=lambda: {"daqp": 0, "goal_soft": 0, "carried": 0, "glitch_carried": 0}
    )
    conflicts: dict[str, int] = field(default_factory=dict)
    primal: float = 0.0
    dual: float = 0.0
    dynamics: float = 0.0
    in_a_row: int = 0

    def conflict(self, name: str) -> None:
        """Count constraints that could not hold."""
        self.conflicts[name] = self.conflicts.get(name, 0) + 1

    def count(self, proof: Certificate) -> None:
        """Take in one solved step."""
        primal, dual, _, dynamics = proof
        self.solves += 1
        self.primal, self.dual = max(self.primal, primal), max(self.dual, dual)
        self.dynamics = max(self.dynamics, dynamics)


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
        held, limp, arms: What of a figure that has fallen is held for a while, what goes limp, and what of it yields
            near the ground, shapes (nv,); see `held_longer` and `limp_dofs`.
        trunk: Dofs of spine and neck, shape (nv,).
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
    held: Array
    limp: Flags
    arms: Flags
    trunk: Flags
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
            character,
            preset,
            terrain,
            options,
            dt,
            floor,
            model,
            scale,
            float(model.subtree_masses[model.roots[0]]),
            giving_body(character, model.q_rest(), preset.giving, preset.pose, preset.weights),
            strengths,
            held * np.where(np.arange(model.nv) < 3, 1.0, scale**2),
            held_longer(character, model),
            limp_dofs(character),
            limp_dofs(character, BEARING_JOINTS),
            trunk_dofs(character, model),
            tuple(sorted({character.body_index(name) + 1 for name in options.goal_without})),
            sum(limb.kind == "leg" for limb in character.limbs) >= 4,
        )

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
