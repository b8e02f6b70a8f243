"""Where the floor of a clip lies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from poise.core.motion import Evidence, Motion
from poise.core.units import HUMAN_LEG
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_points, leg_length, velocities
from poise.phases.travel import in_place_velocity

Array = npt.NDArray[np.float64]


def find_floor(motion: Motion) -> Evidence:
    """Height of the floor in the clip's world frame: what the body stands on when it is slowest.

    The lowest joint or tip of each frame is taken with its speed; the floor is the median height of the slowest
    quarter of them, glitched frames left out. It lies where the skeleton's lowest joints or tips touch: a
    skeleton that ends at the ankles has a sole below it that only a character knows. Under a motion on the spot the
    floor moves with the standing feet.

    Returns:
        The height [m], with confidence: how well the slowest quarter agrees, and how slow it is.
    """
    positions, _ = body_points(motion)
    good = ~glitch_frames(motion)
    if good.sum() < 3:
        good[:] = True
    scale = leg_length(motion.skeleton) / HUMAN_LEG
    lowest = np.argmin(positions[:, :, 2], axis=1)
    frames = np.arange(len(positions))
    height = positions[frames, lowest, 2]
    ground = in_place_velocity(motion)
    speed = np.linalg.norm(velocities(positions, motion.times)[frames, lowest] - ground, axis=-1)
    height, speed = height[good], speed[good]
    slow = np.argsort(speed, kind="stable")[: max(1, (len(speed) + 3) // 4)]
    floor = float(np.median(height[slow]))
    spread = float(np.median(np.abs(height[slow] - floor)))
    pace = float(np.median(speed[slow]))
    agreement = 1.0 / (1.0 + (spread / (0.03 * scale)) ** 2)
    stillness = 1.0 / (1.0 + (pace / (1.0 * np.sqrt(scale))) ** 2)
    few = min(1.0, len(slow) / 5.0)
    reason = (
        f"median height of the lowest point over the slowest {len(slow)} of {len(height)} frames; "
        f"they agree to {100.0 * spread:.1f} cm and move at {pace:.2f} m/s"
    )
    return Evidence(floor, round(float(agreement * stillness * few), 3), reason)
