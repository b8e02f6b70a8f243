"""The figure that examples 6 and 7 begin with: it stands in its rest pose, arms hanging as in the walk."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import poise
from poise.physics import Model, State
from poise.physics.mujoco_backend import model_of


def standing_figure() -> tuple[poise.Character, Model, npt.NDArray[np.float64]]:
    """Character, its model, and coordinates with the soles on the floor, shape (nq,)."""
    motion = poise.load(poise.sample_path("walk"))
    character = poise.Character.fit(motion)
    model, q = model_of(character), poise.motion_to_q(character, motion)[0]
    for body in {b for limb in character.limbs if limb.kind != "arm" for b in limb.bodies if b > 0}:
        at = character.q_addresses[body]
        q[at : at + 4] = motion.skeleton.rest_rotations[character.bodies[body].joint]
    q[2] -= State(model).at(q, np.zeros(model.nv)).points[:, 2].min() - character.floor
    return character, model, q
