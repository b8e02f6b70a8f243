"""How a run of the filter is to be made, and what its solver did."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from poise.core.errors import InvalidValue
from poise.filter.goals import PointGoal
from poise.filter.quasi_physical import Physicality
from poise.filter.reference import ReferenceFrame
from poise.step import Certificate, Constraint, Objective, Step

GOALS = ("auto", "com-xy", "moving", "none")
ENGINES = ("qp", "pd")
AFTER = ("path", "stay", "blend")


OwnTerms = Callable[[Step, ReferenceFrame], Sequence[Objective | Constraint]]
"""Makes objectives and constraints of one's own for one step."""


@dataclass(frozen=True)
class Options:
    """How a run is to be made; the defaults are those of `poise simulate`.

    Attributes:
        goal: "auto" (moving when anything pushes or the ground moves, else com-xy), "com-xy", "moving" or "none".
        goal_points: Places on bodies with targets of their own.
        goal_without: Joints or roles whose bodies are left out of the goal's center of mass.
        physicality: The knob.
        friction: Coulomb coefficient.
        hard_contact: No point goes below the ground, as hard rows (slower: the full program).
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
            ("goal", self.goal, GOALS), ("engine", self.engine, ENGINES), ("return", self.after, AFTER),
        ):  # fmt: skip
            if value not in allowed:
                raise InvalidValue(f"{name} is {value!r}; give one of {', '.join(allowed)}.")
        if not (math.isfinite(self.friction) and self.friction >= 0.0):
            raise InvalidValue(f"friction is {self.friction}; give a finite number of zero or more.")


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
