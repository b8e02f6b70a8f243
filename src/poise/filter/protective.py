"""What a figure does that is pushed farther than its ankles and hips can carry: it steps, and past that it falls.

A push leaves the center of mass displaced by x at a speed ẋ. As an inverted pendulum of frequency ω it comes to rest
over the capture point ξ = x + ẋ / ω, and nowhere else without a step. While ξ is near, the goal's spring brings the
figure back. Farther off the goal rests at ξ and the feet step after it; so does a walk, whose next foot lands as far
out as ξ says. When it has stood there for a while the resting place goes home at a walking pace, and the feet follow.
Farther off than two steps it falls. Source: Hof, Vermerris and Gjaltema 2010 for the place of the foot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from poise.filter.preset import Protective

Pair = tuple[float, float]

PENDULUM = 3.3
"""Frequency of a standing person as an inverted pendulum [1/s]; figures of any size fall and step in the same time."""


@dataclass(frozen=True)
class Recovery:
    """What a figure does about a push.

    Attributes:
        rest: Where its goal comes to rest, against the reference [m].
        since: How long since it last had to be moved outward [s].
        steps: It takes protective steps.
        falls: It fell.
        landing: By how much more than the goal a swinging foot's landing place is moved [m].
    """

    rest: Pair = (0.0, 0.0)
    since: float = math.inf
    steps: bool = False
    falls: bool = False
    landing: Pair = (0.0, 0.0)


def recover(
    recovery: Recovery, settings: Protective, shift: Pair, velocity: Pair, ground: Pair, leg_length: float, dt: float,
    *, returns: bool = True, is_guided: bool = True,
) -> Recovery:  # fmt: skip
    """One step later.

    Args:
        recovery: Before.
        settings: How far is held and how far is stepped.
        shift, velocity: Of the goal against the reference [m], [m/s].
        ground: Where the ground has carried the reference's place [m].
        leg_length: [m].
        dt: [s].
        returns: Go home again after stepping.
        is_guided: Something keeps the figure up; else it takes no step and falls where it would take one.
    """
    scale = leg_length / 0.82
    w = PENDULUM
    capture = tuple(shift[e] - ground[e] + velocity[e] / w for e in range(2))
    rest, since, steps = recovery.rest, recovery.since + dt, recovery.steps
    ahead = tuple(capture[e] - rest[e] for e in range(2))
    far = math.hypot(*capture)
    if math.hypot(*ahead) > settings.hold * leg_length and far > math.hypot(*rest):
        rest, since, steps = (capture[0], capture[1]), 0.0, True
    elif steps and since < settings.settling and far > math.hypot(*rest):
        rest = capture[0], capture[1]  # the push goes on
    elif steps and returns and since > settings.settling:
        size = math.hypot(*rest)
        left = max(0.0, size - dt * settings.pace * scale)
        rest = (rest[0] * left / size, rest[1] * left / size) if left else (0.0, 0.0)
    is_thrown = math.hypot(*rest) > math.hypot(*recovery.rest)
    longest = (settings.longest if is_guided else settings.hold) * leg_length
    falls = recovery.falls or (is_thrown and math.hypot(*rest) > longest)
    wanted = tuple((rest[e] + ground[e] - shift[e]) if steps else settings.foot * velocity[e] / w for e in range(2))
    part = dt / (settings.bending + dt)
    landing = tuple(recovery.landing[e] + part * (wanted[e] - recovery.landing[e]) for e in range(2))
    if max(map(abs, (*landing, *wanted))) < 1e-6:
        landing = 0.0, 0.0
    steps = steps and (rest != (0.0, 0.0) or since < settings.settling)
    return replace(recovery, rest=rest, since=since, steps=steps, falls=falls, landing=(landing[0], landing[1]))
