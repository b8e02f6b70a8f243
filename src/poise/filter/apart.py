"""Legs go around each other instead of through: a soft bound of the one step problem.

Two capsules with the gap g, and the normal n from the second to the first where they are nearest, are after a step

    g + Δt n·(v₁ − v₂) + Δt² n·(J₁ a + b₁ − J₂ a − b₂)

apart, to first order. They may approach each other no faster than they can still stop, √(2 A g) with the braking A, nor
faster than the reference does then; legs that are in each other come apart slowly. A leg that stands does not give way
to one that swings. So the foot of a walk that is shoved across its standing leg passes in front of that leg, as
people's does.
"""

from __future__ import annotations

import itertools

import numpy as np

from poise.body.character import Character
from poise.core.typing import Flags
from poise.filter.preset import Apart
from poise.filter.quasi_physical import Moving
from poise.native import Block, compiled
from poise.physics import State
from poise.physics.bodies import point_motion
from poise.physics.capsules import CapsulePairs, near_capsules
from poise.step import AtLeast
from poise.step.quantities import JointAcceleration

FAST = 30.0
"""Legs that could only meet with a larger acceleration need no row, for a leg of 0.82 m [m/s²]."""


class Legs:
    """The pairs of capsules on two different legs of a figure, below their thighs.

    Attributes:
        pairs: These pairs.
        weight: Of the bound [kg].
        block: The block "Legs" of `native.fields`.
    """

    def __init__(
        self, character: Character, state: State, settings: Apart, *, dt: float, scale: float, mass: float
    ) -> None:
        self._state, self._mirror = state, State(state.model)
        self._legs = [tuple(b + 1 for b in limb.bodies) for limb in character.limbs if limb.kind == "leg"]
        both = {(a, b) for one, other in itertools.permutations(self._legs, 2) for a in one[1:] for b in other[1:]}
        pairs = CapsulePairs([character])
        kept = [pair in both for pair in zip(pairs.first_body.tolist(), pairs.second_body.tolist(), strict=True)]
        self.pairs, self.weight = pairs.chosen(np.flatnonzero(kept)), settings.weight * mass
        given = {
            "pose": state.pose, "pair": self.pairs.pairs, "body": pairs.capsule_body, "starts": pairs.starts,
            "ends": pairs.ends, "radii": pairs.radii,
        }  # fmt: skip
        self.block = l = Block("Legs", {"pairs": len(self.pairs.pairs), "capsules": len(pairs.radii)}, given)
        l.dt, l.near, l.braking, l.parting, l.fast = dt, settings.near, settings.braking, settings.parting, FAST
        for name in ("near", "braking", "parting", "fast"):
            setattr(l, name, scale * getattr(l, name))

    def come_near(self) -> int:
        """How many come nearer than they should; the leading ones of the block."""
        return closing_legs(self.block) if self.weight > 0.0 and len(self.pairs.pairs) else 0

    def bound(self, count: int, reference: Moving, stands: Flags) -> AtLeast:
        """What keeps these from each other.

        Args:
            count: From `come_near`.
            reference: The undisturbed figure, whose legs may go on as they do.
            stands: Contact points that stand, shape (P,).
        """
        l, pairs, state, points = self.block, self.pairs, self._state, self._state.model.point_body
        self._mirror.move_to(reference.q, reference.v + l.dt * reference.a)
        at = l.at[:count]
        own = pairs.rates_at(at, self._mirror)
        least = np.minimum(l.least[:count], own - 1e-9)
        rows, lower = np.empty((count, state.model.nv)), (least - l.rates[:count]) / l.dt
        held = {body for leg in self._legs if stands[np.isin(points, leg)].any() for body in leg}
        for k, (one, other) in enumerate(
            zip(pairs.first_body[at].tolist(), pairs.second_body[at].tolist(), strict=True)
        ):
            first, moved = state.body_rows(one, l.firsts[k : k + 1])
            second, carried = state.body_rows(other, l.seconds[k : k + 1])
            gives, yields = one not in held or other in held, other not in held or one in held
            rows[k] = l.normals[k] @ (gives * first[0] - yields * second[0])
            lower[k] -= float(l.normals[k] @ (moved[0] - carried[0]))
        return AtLeast(JointAcceleration(along=rows), lower, self.weight, "legs apart")


@compiled("Legs *l", returns="word")
def closing_legs(l):
    """Find the legs that approach each other so fast that they may not stop in time, or are in each other; how many."""
    p = l.pose
    near = near_capsules.twin(
        l.pair, l.body, l.starts, l.ends, l.radii, p.xpos, p.xmat, l.near, l.lines, l.at, l.gaps, l.firsts, l.seconds,
        l.normals,
    )  # fmt: skip
    velocities = []
    for side, places in enumerate((l.firsts[:near], l.seconds[:near])):
        moved = np.empty((2, near, 3))
        point_motion.twin(p, l.body[l.pair[l.at[:near], side]], places, p.body_biases, *moved)
        velocities.append(moved[0])
    rates, gaps = np.sum(l.normals[:near] * (velocities[0] - velocities[1]), axis=1), l.gaps[:near]
    speed = np.sqrt(2.0 * l.braking * np.maximum(gaps, 0.0))
    least = np.where(gaps > 0.0, -speed, np.minimum(-gaps / l.dt, l.parting))
    kept = np.flatnonzero(rates - l.dt * l.fast < least)
    count = len(kept)
    for array in (l.at, l.gaps, l.firsts, l.seconds, l.normals):
        array[:count] = array[kept]
    l.rates[:count], l.least[:count] = rates[kept], least[kept]
    return count
