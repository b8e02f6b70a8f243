"""How a falling figure breaks its fall: hands go to the ground ahead of it, and what bears it lets its trunk down.

People who fall backward squat while their feet still bear them, and give with their arms once the hands are down. So
pelvis, chest and head are asked to come down no faster than they can be stopped until they lie, and braked no harder
than limbs can. What is not borne just falls: the ground pushes only what touches it, and nobody holds the root.
"""

from __future__ import annotations

import math

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.core.units import GRAVITY

HASTE, HURRY, HASTIEST = 12.0, 6.0, 30.0
"""Frequency with which hands go to the ground in a fall backward [1/s]; else it is this [1] over the time until the
chest lies there, if that is more, up to this [1/s]."""
AHEAD, BEHIND = (0.45, 0.22), (0.3, 0.35)
"""Where the hands go, and in a fall backward: before the chest along its way, and to each side of it [m], for a leg of
0.82 m. Straight behind the back they would prop up the trunk with shoulders and elbows at their limits."""
BELOW = 0.35
"""They go so far below the chest, until they are at the ground [m], for a leg of 0.82 m."""
BRAKED, SOFTLY = 0.25, 0.5
"""The trunk comes down so that it can be stopped with the first part of gravity [1], and lands at the second speed
[m/s], for a leg of 0.82 m."""
STRONGEST, BY_ARMS = 1.2, 3.0
"""Limbs bear at most so many weights of the trunk [1]: the first by legs; the second for chest and head with hands on
the ground."""
PROMPT = 0.1
"""The speed at which the trunk comes down is corrected within so long, for a leg of 0.82 m [s]."""
LIES = 0.12
"""A trunk lies with its joints so high above the ground [m], for a leg of 0.82 m."""
PARTS = {"pelvis": 0.5, "chest": 0.5, "head": 0.1}
"""How much each part counts, of the weight of a trunk that is let down [1]."""
PROPPED, UPPER = 0.35, 0.07
"""How much the upper end of a chest counts that arms prop up after a fall backward [1]; it lies so much higher than
`LIES` [m], for a leg of 0.82 m."""


def hand_target(
    chest: Array,
    way: Array,
    back: float,
    side: float,
    ground: float,
    scale: float,
    reach: tuple[float, float] = AHEAD,
    below: float = BELOW,
) -> Array:
    """Where a hand goes to break the fall [m], shape (3,).

    Args:
        chest: [m], shape (3,).
        way, back: Where it falls to, shape (2,), and how far backward, 0 … 1; see `Fall`.
        side: 1 for the hand on the left of the way, −1 for the other.
        ground: Height of the ground [m].
        scale: Leg length / 0.82 m.
        reach: As `AHEAD`, where the figure does not fall backward.
        below: As `BELOW`.
    """
    out = np.array([-way[1], way[0]])
    ahead, aside = (a + back * (b - a) for a, b in zip(reach, BEHIND, strict=True))
    place = chest[:2] + scale * (ahead * way + side * aside * out)
    # no arm reaches the ground from above; it goes ahead of the chest and down with it
    return np.array([*place, max(ground, float(chest[2]) - below * scale)])


def haste(height: float, speed: float, scale: float, back: float) -> float:
    """Frequency with which hands go to the ground [1/s]: the higher the sooner the chest lands, but not on the back.

    Args:
        height, speed: Of the chest above the ground [m], and upward [m/s].
        scale: Leg length / 0.82 m.
        back: How far backward the figure falls, 0 … 1.
    """
    drop = max(height - LIES * scale, 0.0)
    left = (speed + math.sqrt(speed**2 + 2.0 * GRAVITY * drop)) / GRAVITY
    hurried = min(max(HASTE, HURRY / max(left, 1e-3)), HASTIEST)
    return HASTE + max(0.0, 1.0 - 2.0 * back) * (hurried - HASTE)


def hand_acceleration(target: Array, place: Array, velocity: Array, frequency: float) -> Array:
    """Acceleration asked of a hand towards its target [m/s²], shape (3,), limited to 8 g.

    Args:
        target, place: [m], shape (3,).
        velocity: Of the hand against the chest [m/s], shape (3,).
        frequency: See `haste` [1/s].
    """
    pull = frequency**2 * (target - place) - 2.0 * frequency * velocity
    return pull * min(1.0, 8.0 * GRAVITY / max(float(np.linalg.norm(pull)), 1e-9))


def side_of_left(character: Character, places: Array, way: Array) -> float:
    """1 where the left shoulder is on the left of a way (2,), −1 where it is on its right, as in a fall backward.

    Args:
        character: The bodies.
        places: Of the bodies [m], shape (B, 3).
        way: Horizontal.
    """
    left, right = (character.roles.get(f"{side}_shoulder") for side in ("left", "right"))
    if left is None or right is None:
        return 1.0
    x, y, _ = places[left] - places[right]
    return 1.0 if x * -way[1] + y * way[0] >= 0.0 else -1.0


def descent(height: float, speed: float, scale: float, strongest: float) -> float:
    """Upward acceleration asked of a part of the trunk [m/s²]: a = (u − v) / T + b, −g ≤ a ≤ (s − 1) g.

    Braked by b, a part with the speed u = −√(w² + 2 b (z − z₀)) lands with the speed w at z₀, the height of a trunk
    that lies. T is `PROMPT`, b is `BRAKED` times gravity, w is `SOFTLY`.

    Args:
        height: Above the ground, z [m].
        speed: Upward, v [m/s].
        scale: Leg length / 0.82 m.
        strongest: How many times its weight limbs bear at most, s [1].
    """
    left, braking = max(height - LIES * scale, 0.0), BRAKED * GRAVITY
    wanted = -math.sqrt(SOFTLY**2 * scale + 2.0 * braking * left)
    asked = (wanted - speed) / (PROMPT * math.sqrt(scale)) + braking
    return min(max(asked, -GRAVITY), (strongest - 1.0) * GRAVITY)


def above(height: float, scale: float) -> float:
    """1 for a part of the trunk that is still well above the ground, 0 for one that lies."""
    return min(max(height / (LIES * scale) - 1.0, 0.0), 1.0)
