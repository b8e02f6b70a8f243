"""What the physics of a character leaves out of a motion; all of it comes back with the motion unchanged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion

TURNS = np.radians(0.5)
"""A joint turns if it ever does by more than this [rad]."""
STRETCH = 0.02
"""A bone stretches if its length leaves the simulated one by more than this share of a leg [1]."""


@dataclass(frozen=True)
class LeftOut:
    """What is carried along instead of being simulated.

    Attributes:
        carried: Moving joints without a body: they keep their own rotation on the body that carries them.
        stretched: Bodies whose bone changes its length, and by how much at most [m]; simulated at their median.
        is_figure: False if the character has neither legs nor arms.
    """

    carried: tuple[str, ...]
    stretched: dict[str, float]
    is_figure: bool

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a user should know, in words."""
        said = []
        if not self.is_figure:
            said.append(
                "No legs and no arms were found: this is no figure, and what is told of a body's motion may not apply."
            )
        if self.carried:
            said.append(f"{len(self.carried)} moving joints keep their own turns: {_some(self.carried)}.")
        if self.stretched:
            worst = max(self.stretched, key=lambda name: self.stretched[name])
            said.append(
                f"Bones that stretch are simulated at their usual length: {_some(tuple(self.stretched))}; "
                f"{worst} by up to {100.0 * self.stretched[worst]:.3g} cm."
            )
        return tuple(said)


def left_out(character: Character, motion: Motion) -> LeftOut:
    """What a character's bodies do not hold of a motion of its skeleton."""
    skeleton, places = character.skeleton, motion.world[0]
    simulated = {body.joint for body in character.bodies}
    turn = rotations.angle_between(motion.rotations, motion.rotations[:1]).max(axis=0)
    root = character.bodies[0].joint
    above = {root, *skeleton.ancestors(root)}
    carried = [j for j in range(skeleton.joint_count) if j not in simulated | above and turn[j] > TURNS]
    stretched = {}
    for body in character.bodies[1:]:
        apart = np.linalg.norm(places[:, body.joint] - places[:, character.bodies[body.parent].joint], axis=-1)
        most = float(np.abs(apart - np.linalg.norm(body.offset)).max())
        if most > STRETCH * character.leg_length:
            stretched[body.name] = most
    is_figure = any(limb.kind in ("leg", "arm") for limb in character.limbs)
    return LeftOut(tuple(skeleton.names[j] for j in carried), stretched, is_figure)


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
