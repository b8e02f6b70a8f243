"""Clips and short runs that the tests of the filter share."""

from __future__ import annotations

import functools
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.body import Character, fit
from poise.core import rotations
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.io import load
from poise.samples import sample_path
from tests.clips import MOTIONS

Array = npt.NDArray[np.float64]


@functools.cache
def clip(name: str) -> tuple[Motion, Character]:
    """A bundled sample by name, or a real clip by its path; "path@clip" for one of several."""
    path, _, number = name.partition("@")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotionWarning)
        motion = load(MOTIONS / path if "/" in path else sample_path(path), clip=number or None)
        return motion, fit(motion)


@functools.cache
def walk(seconds: float = 1.5) -> tuple[Motion, Character]:
    """The first steps of the bundled walk, and the character fitted to the whole of it."""
    motion, character = clip("walk")
    return motion.cut(0.0, seconds), character


def turned(motion: Motion, degrees: float) -> Motion:
    """The motion in a world turned about the vertical through the origin."""
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, np.radians(degrees)]))
    places, orientations = motion.translations.copy(), motion.rotations.copy()
    places[:, 0] = rotations.rotate(turn, places[:, 0])
    orientations[:, 0] = rotations.multiply(turn, orientations[:, 0])
    return replace(motion, translations=places, rotations=orientations, source=None)


def falling(motion: Motion, height: float, seconds: float, fps: float = 60.0) -> Motion:
    """The first pose of a motion, let go at a height and falling freely."""
    times = np.arange(round(seconds * fps)) / fps
    places = np.repeat(motion.translations[:1], len(times), axis=0)
    places[:, 0, 2] += height - 0.5 * 9.81 * times**2
    return replace(
        motion,
        times=times,
        translations=places,
        rotations=np.repeat(motion.rotations[:1], len(times), axis=0),
        source=None,
    )


def available(path: str) -> bool:
    return (MOTIONS / Path(path.partition("@")[0])).is_file()
