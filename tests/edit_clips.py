"""Clips for the tests of the edits: the bundled hop, a thrown ball, a rigid body that tumbles."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

import poise
from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton
from tests.clips import MOTIONS, sample_clip

Array = npt.NDArray[np.float64]

FLIGHTS = {
    "jumps": ("bvh/cmu_3dsmax/143_05.bvh", 60.0),
    "hops": ("bvh/cmu_3dsmax/143_31.bvh", 60.0),
    "run": ("asf_amc/02_03.amc", None),
    "high jump": ("asf_amc/02_04.amc", None),
    "cartwheel": ("bvh/accad/Female1_D6_CartWheel.bvh", None),
    "backflip": ("deepmimic/humanoid3d_backflip.txt", None),
    "spin kick": ("deepmimic/humanoid3d_spinkick.txt", None),
}
"""Real clips with flights, and the rate that their flights imply where the label is wrong [1/s]."""


@cache
def clip(name: str) -> tuple[Motion, Character]:
    """A real clip of `FLIGHTS` with its character, or the "hop"."""
    if name == "hop":
        return hop()
    path, fps = FLIGHTS[name]
    motion = poise.load(MOTIONS / path, fps=fps)
    return motion, Character.fit(motion, masses="auto")


@cache
def hop() -> tuple[Motion, Character]:
    """The bundled hop that no physics allows, from shortly before its flight to shortly after."""
    motion = sample_clip("hover_hop").cut(1.8, 4.6)
    return motion, Character.fit(motion, masses="auto")


def ball(frames: int = 40, fps: float = 30.0, gravity: float = 4.0) -> Motion:
    """An object with one joint, thrown under too weak a gravity."""
    t = np.arange(frames) / fps
    skeleton = Skeleton(("ball",), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None])
    path = np.stack([2.0 * t, 0.5 * t, 1.0 + 3.0 * t - 0.5 * gravity * t**2], axis=1)
    turned = rotations.from_rotation_vector(np.outer(t, [0.0, 3.0, 1.0]))
    return Motion(skeleton, t, path[:, None], turned[:, None])


def tumbling(frames: int = 60, fps: float = 120.0) -> tuple[Motion, Character, Array]:
    """A rigid body that tumbles freely about no principal axis, its character, and its angular momentum (3,).

    Euler's equations by Runge-Kutta in steps far below the frames'.
    """
    skeleton = Skeleton(
        ("plank",), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None], (EndSite(0, np.array([0.6, 0.1, 0.0])),)
    )
    fitted = Character.fit(skeleton, mass=12.0)
    inertia, com = fitted.bodies[0].inertia + np.diag([0.15, 0.3, 0.5]), fitted.bodies[0].com
    from dataclasses import replace

    character = replace(fitted, bodies=(replace(fitted.bodies[0], inertia=inertia),))
    momentum = inertia @ np.array([3.0, 4.0, 1.0])
    turn, turns = rotations.IDENTITY.copy(), []
    fine = 40
    h = 1.0 / (fps * fine)

    def rate(q: Array) -> Array:
        R = rotations.to_matrix(q)
        return R @ np.linalg.solve(inertia, R.T @ momentum)

    for k in range(frames * fine):
        if k % fine == 0:
            turns.append(turn)
        half = rotations.multiply(rotations.from_rotation_vector(0.5 * h * rate(turn)), turn)
        turn = rotations.normalize(rotations.multiply(rotations.from_rotation_vector(h * rate(half)), turn))
    times = np.arange(frames) / fps
    orientation = np.array(turns)
    path = np.stack([times, 0 * times, 2.0 + 2.0 * times - 4.905 * times**2], axis=1)
    places = path - rotations.rotate(orientation, com)
    return Motion(skeleton, times, places[:, None], orientation[:, None]), character, momentum


def turned_about_z(motion: Motion, angle: float, shift: Array) -> Motion:
    """The motion with its world turned about the vertical [rad] and moved [m]."""
    from dataclasses import replace

    lift = rotations.from_rotation_vector(np.array([0.0, 0.0, angle]))
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    translations[:, 0] = rotations.rotate(lift, translations[:, 0]) + shift
    turned[:, 0] = rotations.multiply(lift, turned[:, 0])
    return replace(motion, translations=translations, rotations=turned, source=None)
