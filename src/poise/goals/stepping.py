"""Protective steps: which foot, where to and how long, by a short look ahead.

Over the step that is about to be taken the figure is an inverted pendulum that pushes at one point p of its stance
foot; its capture point ξ moves away from there, ξ(T) = p + (ξ − p) e^{ωT}. Both feet and a few durations are tried;
the pair is taken whose foot lands nearest to where the figure can come to rest.

Source: [Jain2009]_ 6.1.2. Deviates: "farther from the center of mass" crosses the legs in a shove from the side and
"the center of mass midway between the feet" gains nothing over standing: foot, place and time are looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.goals.memory import reads, writes
from poise.goals.polygon import nearest_inside
from poise.goals.sense import clear_of_walls
from poise.goals.swing_foot import outward, swing_foot
from poise.goals.view import View
from poise.goals.wish import Wish
from poise.step import Objective

Array = npt.NDArray[np.float64]

STEEPEST = 1.5
"""How far legs may lean between the feet of a step, in angles of friction: ice makes small steps."""
MISSED = 4.0
"""What it costs to land 1 m short of where the capture point goes; 1 s costs `SLOW`, 1 m/s of haste `HASTY`."""
SLOW, HASTY = 0.3, 0.1
OTHER = {"left": "right", "right": "left"}


@dataclass(frozen=True)
class Stride:
    """What a step may be; lengths [m], times [s] and speeds [m/s] are a grown-up's, for others in proportion.

    Attributes:
        durations: Times a step may take [s].
        beyond: How far past the capture point the foot lands, so that the figure comes to rest between its feet.
        longest, widest, narrowest: Bounds of the way from the stance foot ahead and to the side.
        speed: Mean speed of the foot above which a step counts as hard [m/s].
    """

    durations: tuple[float, ...] = (0.2, 0.25, 0.3)
    beyond: float = 0.08
    longest: float = 0.75
    widest: float = 0.85
    narrowest: float = 0.13
    speed: float = 2.0


STRIDE = Stride()


def landing(view: View, swing: str, seconds: float, stride: Stride = STRIDE) -> tuple[Array, float]:
    """Where a foot should stand after so many seconds [m], (2,), and how far from its support the capture point is."""
    scale = view.body.scale
    stance = view.body.feet[OTHER[swing]]
    middle = view.place(stance)[:2]
    push = nearest_inside(view.state.points[stance, :2], view.capture_point)
    goal = push + (view.capture_point - push) * np.exp(view.pendulum * seconds)
    way = goal - middle
    size = float(np.linalg.norm(way))
    way *= 1.0 + stride.beyond * scale * min(1.0, size / (0.3 * scale)) / max(size, 1e-9)
    ahead, out = view.heading, outward(view, swing)
    # legs that lean by much more than the angle of friction slip apart when the figure stands between them
    far = STEEPEST * 2.0 * view.friction * view.body.com_height
    widest, longest = min(stride.widest * scale, far), min(stride.longest * scale, far)
    aside = float(np.clip(way @ out, stride.narrowest * scale, widest))
    forward = float(np.clip(way @ ahead, -longest, longest))
    place = clear_of_walls(view, middle + aside * out + forward * ahead)
    soles = view.state.points[stance, :2]
    support = np.concatenate([soles, soles + place - middle])
    return place, float(np.linalg.norm(nearest_inside(support, goal) - goal))


@writes("swing", "seconds")
def choose_step(view: View) -> None:
    """Remember which foot shall step and for how long: memory "swing", "stance" and "seconds"."""
    best, scale, tempo = np.inf, view.body.scale, view.body.tempo
    for swing in OTHER:
        if not view.touching[view.body.feet[OTHER[swing]]].any():
            continue  # it stands on this one
        here = view.place(view.body.feet[swing])[:2]
        for seconds in STRIDE.durations:
            place, miss = landing(view, swing, tempo * seconds)
            speed = float(np.linalg.norm(place - here)) / (tempo * seconds)
            cost = MISSED * miss / scale + SLOW * seconds + HASTY * max(0.0, speed / tempo - STRIDE.speed)
            if cost < best:
                best = cost
                view.memory.update(swing=swing, stance=OTHER[swing], seconds=tempo * seconds)


@writes()
def begin_step(view: View) -> None:
    """Remember how high the swing foot is where it starts [m]: memory "rise"."""
    if "swing" in view.memory:
        view.memory["rise"] = max(0.0, float(view.place(view.foot("swing"))[2]) - view.ground_height_below("stance"))


@reads("swing", "seconds")
@dataclass(frozen=True)
class StepTo(Wish):
    """The swing foot goes to its landing place, along the path of least acceleration, lifted on its way.

    Attributes:
        weight: Against the foot's acceleration.
        lift: Height of the foot's path [m].
        horizon: Of the height, and the least of the way, of a grown-up [s].
        haste: Largest acceleration asked of the foot [m/s²].
    """

    weight: float
    lift: float = 0.06
    horizon: float = 0.05
    haste: float = 120.0

    def objectives(self, view: View) -> list[Objective]:
        foot = swing_foot(view)
        if foot is None:
            return []
        place, velocity, seconds = foot.place, foot.velocity, view.memory["seconds"]
        goal, horizon = self.target(view), self.horizon * view.body.tempo
        left = max(seconds - view.since, 2.0 * horizon)
        across = 6.0 * (goal - place[:2]) / left**2 - 4.0 * velocity[:2] / left
        if view.since > seconds - 0.02:
            across = -velocity[:2] / horizon
        phase, rate = view.since / seconds, np.pi / seconds
        lift = self.lift * view.body.scale
        if phase < 1.0:
            height, speed = lift * np.sin(np.pi * phase) ** 2, lift * rate * np.sin(2.0 * np.pi * phase)
            bend = 2.0 * lift * rate**2 * np.cos(2.0 * np.pi * phase)
        else:
            height, speed, bend = -0.02 * view.body.scale, -0.2 * view.body.tempo, 0.0
        height += view.ground_height_below("stance") + view.memory.get("rise", 0.0) * (1.0 - min(phase, 1.0)) ** 2
        speed -= 2.0 * view.memory.get("rise", 0.0) * max(0.0, 1.0 - phase) / seconds
        up = bend + 2.0 / horizon**2 * (height - place[2]) + 2.0 / horizon * (speed - velocity[2])
        size = float(np.linalg.norm(across))
        across *= min(1.0, self.haste / max(size, 1e-9))
        wished = np.array([*across, np.clip(up, -0.5 * self.haste, 0.5 * self.haste)])
        return [Objective(foot.quantity, wished, self.weight, "step")]

    def target(self, view: View) -> Array:
        """Where the swing foot shall stand [m], shape (2,)."""
        left = max(0.0, view.memory["seconds"] - view.since)
        return landing(view, view.memory["swing"], left)[0]
