"""The clip sets of the bars: computed from the clips alone, printed, and frozen before any tuning."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from poise.body import Character, fit
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.io import load
from poise.phases.contacts import contact_flags, contact_limits
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_points, velocities
from poise.phases.travel import is_in_place, loops, repeat

MOTIONS = Path(os.environ.get("POISE_MOTIONS", Path(__file__).parents[1].parent / "shared" / "motions"))
GLTF_CLIPS = {"Fox.glb": (0, 1, 2), "cesium_man.gltf": (0,), "greenman.glb": (0, 1, 2, 3)}
SKELETONS = {"humanoid3d.txt", "dog3d.txt", "02.asf", "hopturn.txt", "MANIFEST.md"}


@dataclass(frozen=True)
class Clip:
    """A clip with its character and the sets it belongs to."""

    name: str
    motion: Motion
    character: Character
    is_grounded: bool
    is_push: bool


def clips() -> Iterator[Clip]:
    """Every clip with a skeleton; the mislabelled ones in both readings."""
    for path in sorted(MOTIONS.rglob("*")):
        if (
            path.suffix not in {".bvh", ".amc", ".txt", ".glb", ".gltf"}
            or path.name in SKELETONS
            or "licen" in str(path)
        ):
            continue
        for index in GLTF_CLIPS.get(path.name, (None,)):
            rates: tuple[float | None, ...] = (None, 60.0) if path.name.startswith("143_") else (None,)
            for rate in rates:
                name = path.stem + ("" if index is None else f"#{index}") + ("" if rate is None else "@60")
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        yield classify(name, load(path, clip=index, fps=rate))
                except PoiseError as error:
                    print(f"not read: {name}: {error}")


def classify(name: str, motion: Motion) -> Clip:
    """Fit a character and say which sets the clip belongs to."""
    character = fit(motion)
    points, _ = body_points(motion)
    limit, speed_limit = contact_limits(
        velocities(motion.world[0][:, [character.bodies[0].joint]], motion.times)[:, 0], character.leg_length
    )
    low = points[..., 2] - character.floor
    touching = contact_flags(
        points, velocities(points, motion.times), low, height_limit=3.0 * limit, speed_limit=2.0 * speed_limit
    ).any(axis=1)
    grounded = not is_in_place(motion) and float(touching.mean()) >= 0.5
    push = grounded and not glitch_frames(motion).any() and motion.duration >= 1.0
    return Clip(name, motion, character, grounded, push)


def lasting(motion: Motion, seconds: float) -> Motion:
    """The motion, looped with its travel or holding its last pose, so that it lasts at least so long."""
    if motion.duration >= seconds:
        return motion
    if loops(motion):
        motion = repeat(motion, int(np.ceil(seconds / motion.duration)) + 1)
        return motion
    count = int(np.ceil((seconds - motion.duration) * motion.fps)) + 1
    times = np.concatenate([motion.times, motion.times[-1] + motion.dt * np.arange(1, count + 1)])
    index = np.concatenate([np.arange(motion.frame_count), np.full(count, motion.frame_count - 1)])
    source = None if motion.source is None else replace(motion.source, document=None)
    return replace(
        motion, times=times, translations=motion.translations[index], rotations=motion.rotations[index], source=source
    )
