"""A figure as controllers speak of it: feet, hands, trunk, head, and the pose it likes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.body.character import Body as CharacterBody
from poise.body.character import Character, torque_limits
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags, Index
from poise.filter.falling import limp_dofs
from poise.physics import State

SIDES = ("left", "right")

FEET = {
    "left": "the left foot",
    "right": "the right foot",
    "both": "both feet",
    "swing": "the foot that an action chose to move",
    "stance": "the foot that carries then",
}
"""Names of feet that goals and conditions accept as `foot`, and what each is."""
PARTS = {
    **FEET,
    "left_foot": "the left foot",
    "right_foot": "the right foot",
    "left_hand": "the left hand",
    "right_hand": "the right hand",
    "mover": "the hand or foot that `climb` moves",
    "hands": "the hands chosen before",
    "arms": "these hands with their elbows",
    "loose arms": "these without the first point of each hand that touches",
    "trailing": "heels that the center of mass has left behind",
    "heel": "the heel of the foot that carries",
    "body": "all that can touch",
}
"""Names of parts that goals, conditions and `releases` accept; a body's name or role is one, too."""
BODIES = {
    "feet": "both feet",
    "swing": "the foot that an action chose to move",
    "stance": "the foot that carries then",
    "swing leg": "hip, knee and foot of that side",
    "stance leg": "the same of the other",
    "arms": "shoulder, elbow and hand of the hands that were chosen",
}
"""Names of several bodies that goals accept as `bodies`, `only` and `without`; a body's name or role is one, too."""


@dataclass(frozen=True)
class Body:
    """The parts of a figure that controllers speak of.

    Attributes:
        character: Its bodies.
        index: Which tree of the model it is.
        root: The model's body of its root; its body b is the model's `root + b`.
        joints: First dof of its joints, and the one after the last; the six before are its root's.
        rest: The pose it likes to return to, shape (nq,).
        feet: Contact points of each foot by side, "left" and "right".
        hands: The same of the hands.
        points: All its contact points.
        com_height: Height of the center of mass over the soles in the rest pose [m].
        up_axes: Axis of each body that points up in the rest pose, in its own frame, shape (B, 3).
        left_axes: The same of the axis that points to its left.
        rest_turns: How each body is turned in the world in the rest pose, shape (B, 3, 3).
        tips: Far end of each body in its own frame [m], shape (B, 3).
        forward: Direction the root faces at rest, in the world, unit, shape (3,).
        head: Body that looks: the head, else the chest, else the root.
        face: Direction the head faces at rest, in its own frame, shape (3,).
        arms: Contact points of each arm by side, hand and elbow.
        trunk: Bodies that are part of no arm or leg.
        stance: Distance of the feet at rest [m].
        strength: Largest torque of each dof of the joints [N m].
    """

    character: Character
    index: int
    root: int
    joints: tuple[int, int]
    rest: Array
    feet: dict[str, Index]
    hands: dict[str, Index]
    points: Index
    com_height: float
    up_axes: Array
    left_axes: Array
    rest_turns: Array
    tips: Array
    forward: Array
    head: int
    face: Array
    arms: dict[str, Index]
    trunk: list[int]
    stance: float
    strength: Array

    @cached_property
    def soles(self) -> Index:
        """Contact points of both feet."""
        return np.concatenate([self.feet[side] for side in SIDES])

    @cached_property
    def limp(self) -> Flags:
        """Dofs of the joints that go limp in a fall; see `limp_dofs`."""
        return limp_dofs(self.character)[6:]

    @property
    def scale(self) -> float:
        """Leg length against a grown-up's; lengths of settings are multiplied by it."""
        return self.character.leg_scale

    @property
    def tempo(self) -> float:
        """Time that a leg takes to swing, against a grown-up's; times and speeds of settings are multiplied by it.

        A figure half as long that does all √2 times as fast moves alike (Froude's number is the same), and asks for the
        same accelerations.
        """
        return float(np.sqrt(self.scale))


def body_of(character: Character, state: State, index: int = 0, first_point: int = 0) -> Body:
    """The parts of a figure, found from its limbs and contact points.

    Args:
        character: With two legs.
        state: Completed where the figure stands in the pose it likes, soles on the ground.
        index: Which tree of the model it is.
        first_point: The model's index of its first contact point.

    Raises:
        InvalidValue: if it has no left and right foot.
    """
    feet = {side: first_point + contact_points(character, f"{side}_foot", "foot") for side in SIDES}
    if any(not len(points) for points in feet.values()):
        raise InvalidValue(
            "Motion from goals needs a figure with a left and a right foot; this one has none. Roles: "
            f"{', '.join(sorted(character.roles)) or 'none'}."
        )
    hands = {side: first_point + contact_points(character, f"{side}_hand", "hand") for side in SIDES}
    model = state.model
    root = model.roots[index]
    end = root + len(character.bodies)
    turns = state.data.xmat[root:end].reshape(-1, 3, 3)
    first = int(model.dof_first[root])
    soles = state.points[np.concatenate([feet[side] for side in SIDES])]
    left = soles[: len(feet["left"]), :2].mean(axis=0) - soles[len(feet["left"]) :, :2].mean(axis=0)
    forward = np.array([left[1], -left[0], 0.0]) / np.linalg.norm(left)
    roles = character.roles
    head = roles.get("head", roles.get("neck", roles.get("chest", 0)))
    return Body(
        character,
        index,
        root,
        (first + 6, first + character.nv),
        state.q.copy(),
        feet,
        hands,
        first_point + np.arange(len(character.contact_points)),
        float(state.com(root)[2] - soles[:, 2].min()),
        turns[:, 2, :].copy(),
        np.einsum("bji,j->bi", turns, np.array([-forward[1], forward[0], 0.0])),
        turns.copy(),
        np.array([_tip(body) for body in character.bodies]),
        forward,
        head,
        turns[head].T @ forward,
        {side: first_point + contact_points(character, f"{side}_shoulder") for side in SIDES},
        _trunk(character),
        float(np.linalg.norm(left)),
        torque_limits(character),
    )


def contact_points(character: Character, role: str, part: str = "") -> Index:
    """Contact points of a part, or of any, that lie on a role's body or beyond it."""
    if role not in character.roles:
        return np.zeros(0, dtype=np.int64)
    beyond = character.carried(character.roles[role])
    found = [i for i, p in enumerate(character.contact_points) if part in ("", p.part) and p.body in beyond]
    return np.array(found, dtype=np.int64)


def _trunk(character: Character) -> list[int]:
    roots = [f"{side}_{root}" for side in SIDES for root in ("shoulder", "hip")]
    limbs = {b for root in roots if root in character.roles for b in character.carried(character.roles[root])}
    return [i for i in range(len(character.bodies)) if i not in limbs]


def _tip(body: CharacterBody) -> Array:
    ends = [c.end for c in body.capsules]
    return max(ends, key=lambda end: float(np.linalg.norm(end))) if ends else np.zeros(3)
