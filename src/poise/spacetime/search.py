"""The search of a repair: ever more weight on what contacts cannot give, as long as the limits hold.

Each weight gives a point of the curve of "how physical" against "how much changed".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.spacetime.balance import REACH, Look, Problem, look
from poise.spacetime.newton import improve
from poise.spacetime.style import gaze_turns

WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Weights of what is left of force and moment, from the least change to the most physical."""
ROUNDS = 1, 2
"""Gauss-Newton steps at each weight of the search, which begins where the last one ended, and once it is chosen."""
GAIN = 0.98
"""Share of what is left, below which another weight is worth its change [1]."""
ENOUGH = 0.005
"""What is left may be this much; less would change the clip for nothing that can be seen [1], as `Point.left`."""
SHARE, HOPELESS = 0.6, 0.5
"""A repair that leaves more than SHARE of what was missing, or a force above HOPELESS weights, is none [1]."""
TIGHTER = 8
"""Times that offsets beyond the budget are made dearer, at most."""
PERSON = 70.0
"""Moments are reported for a figure of this mass [kg]."""


@dataclass(frozen=True)
class Point:
    """One choice between physical and unchanged.

    Attributes:
        weight: Of what is left of force and moment.
        force: What is left, root mean square over frames, as a share of the weight [1].
        moment: The same for a figure of 70 kg [N m].
        joint, joint_max: Turn of the joints, root mean square over joints and frames and largest [rad].
        root, root_max: Shift of the root, the same [m].
        slip: Way of standing points from where they stand, root mean square [m].
        change: Of all offsets together, root mean square over frames; 3 cm of the root (by leg) or 5° of one joint
            count as 1.
    """

    weight: float
    force: float
    moment: float
    joint: float
    joint_max: float
    root: float
    root_max: float
    slip: float
    change: float

    @property
    def left(self) -> float:
        """Force and moment that are left together [1]."""
        return together(self.force, self.moment)

    def report(self) -> dict[str, float]:
        """As the report has it."""
        return {
            "weight": self.weight,
            "force_rms": self.force,
            "moment_rms_Nm": self.moment,
            "joint_change_rms_deg": math.degrees(self.joint),
            "joint_change_max_deg": math.degrees(self.joint_max),
            "root_change_rms_m": self.root,
            "root_change_max_m": self.root_max,
            "stance_slip_rms_m": self.slip,
            "change": self.change,
        }


def together(force: float, moment: float) -> float:
    """A force as a share of the weight and a moment for a figure of 70 kg [N m] as one number [1]."""
    return force + moment / (PERSON * GRAVITY * REACH)


class Limits(NamedTuple):
    """What may change at most: each offset [m, rad], shape (N,), and the head's turn in the world [rad]."""

    offsets: Array
    gaze: float


def search(problem: Problem, start: Look, limits: Limits) -> tuple[list[Array], list[Point]]:
    """Coefficients from the least change to the most physical within the limits, and what is to be seen of each."""
    states, curve = [start.coefficients], [point_of(problem, start, 0.0)]
    state = start
    for weight in WEIGHTS:
        if curve[-1].left < ENOUGH:
            break
        tried = within(problem, state, weight, limits)
        seen = point_of(problem, tried, weight)
        if seen.left < GAIN * curve[-1].left:
            state = tried
            states.append(tried.coefficients)
            curve.append(seen)
        elif len(curve) > 1:
            break  # more weight buys nothing any more
    return states, curve


def is_in_vain(before: Point, after: Point) -> bool:
    """Whether the clip is hardly more physical than before, so that its change buys nothing."""
    return after.left > SHARE * before.left or after.force > HOPELESS


def within(problem: Problem, state: Look, weight: float, limits: Limits, rounds: int = ROUNDS[0]) -> Look:
    """Steps at one weight; offsets beyond the budget become dearer until they keep it."""
    price = problem.price
    for _ in range(rounds):
        state = improve(problem, state, weight, price)
    for _ in range(TIGHTER):
        over = _excess(problem, state, limits)
        if over.max() <= 1.0:
            return state
        price = price * np.maximum(1.0, 1.1 * over) ** 2
        state = improve(problem, state, weight, price)
    worst = float(_excess(problem, state, limits).max())
    if worst > 1.0:  # by a hair: all offsets give way
        state = look(problem, state.coefficients / worst)
    return state


def _excess(problem: Problem, state: Look, limits: Limits) -> Array:
    """How far each offset of each frame is beyond its limit: 1 is all that is allowed, shape (K, N).

    A head that turns too far in the world counts for all joints that carry it.
    """
    over = np.zeros_like(state.offsets)
    figure, share = problem.figure, state.offsets / limits.offsets
    groups = [slice(0, 3), *(figure.columns(b) for b in range(len(figure.parents)))]
    for columns in groups:
        over[:, columns] = np.linalg.norm(share[:, columns], axis=1)[:, None]
    body = problem.head
    turned = np.linalg.norm(gaze_turns(state.pose, body, problem.looked), axis=1) / limits.gaze
    while body >= 0:
        columns = figure.columns(body)
        over[:, columns] = np.maximum(over[:, columns], turned[:, None])
        body = int(figure.parents[body])
    return over


def point_of(problem: Problem, state: Look, weight: float) -> Point:
    """What a state of the search leaves, and how much it changes."""
    figure = problem.figure
    left = (state.carried.left / problem.scale)[problem.is_open[1:-1]]
    per_person = PERSON / figure.mass
    turns = (
        np.stack([np.linalg.norm(state.offsets[:, figure.columns(b)], axis=1) for b in range(1, len(figure.parents))])
        if len(figure.parents) > 1
        else np.zeros((1, len(figure.times)))
    )
    moved = np.linalg.norm(state.offsets[:, :3], axis=1)
    return Point(
        weight,
        _rms(left[:, :3]) / (figure.mass * max(problem.gravity, 1e-9)),
        per_person * _rms(left[:, 3:]),
        float(np.sqrt(np.mean(turns**2))),
        float(turns.max()),
        _rms(moved[:, None]),
        float(moved.max()),
        _slip_of(problem, state),
        float(np.sqrt(np.mean(np.sum(state.offsets**2 / problem.plain, axis=1)))),
    )


def _slip_of(problem: Problem, state: Look) -> float:
    count = len(problem.character.contact_points)
    stands = problem.stands[:, :count] & problem.is_open[:, None]
    ways = (state.pose.points - problem.anchors)[:, :count][stands]
    return _rms(ways) if len(ways) else 0.0


def _rms(rows: Array) -> float:
    """Root mean square of the lengths of rows (K, n)."""
    return float(np.sqrt(np.mean(np.sum(np.square(rows), axis=1)))) if len(rows) else 0.0
