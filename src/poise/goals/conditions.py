"""When a state of a controller applies: conditions as data, true while the state may go on."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from poise.goals.memory import reads
from poise.goals.polygon import distance_inside, nearest_inside
from poise.goals.view import View


class Condition(abc.ABC):
    """True while a state applies; a condition may note what it saw in the view's memory."""

    @abc.abstractmethod
    def holds(self, view: View) -> bool:
        """Whether the state may go on."""


@dataclass(frozen=True)
class Always(Condition):
    """The state never fails."""

    def holds(self, view: View) -> bool:
        return True


@dataclass(frozen=True)
class For(Condition):
    """The state lasts so long [s]."""

    seconds: float

    def holds(self, view: View) -> bool:
        return view.since < self.seconds


@dataclass(frozen=True)
class Balanced(Condition):
    """The figure can come to rest over its feet: [Jain2009]_ 6.1.1, with the capture point for the center of mass.

    Attributes:
        near: Points at most this far over the ground count as support [m].
        margin: How far inside the polygon the point must lie [m].
        settle: Time after a step in which the state holds anyway [s].
        literal: Judge by the center of mass itself, as the paper does.
    """

    near: float = 0.03
    margin: float = 0.0
    settle: float = 0.15
    literal: bool = False

    def holds(self, view: View) -> bool:
        if view.is_delayed or view.time - view.memory.get("placed", -1e9) < self.settle * view.body.tempo:
            return True
        feet, near = view.body.feet.values(), self.near * view.body.scale
        if any(view.load(p) < 0.01 * view.weight and view.gaps[p].max() > near for p in feet):
            return False  # a foot hangs: it is put down by a step
        points = view.near_ground("both", self.near * view.body.scale)
        place = view.com[:2] if self.literal else view.capture_point
        return len(points) < 3 or distance_inside(points, place) >= self.margin * view.body.scale


@dataclass(frozen=True)
class Loaded(Condition):
    """A foot still carries weight, and not for longer than `seconds`.

    Attributes:
        part: Whose weight.
        force: Weight under which it counts as free, in parts of body weight.
        seconds: When the figure stops waiting [s].
    """

    part: str = "swing"
    force: float = 0.044
    seconds: float = 0.04

    def holds(self, view: View) -> bool:
        return (
            view.since <= self.seconds * view.body.tempo and view.load(view.part(self.part)) > self.force * view.weight
        )


@reads("swing", "seconds")
@dataclass(frozen=True)
class Stepping(Condition):
    """The swing foot is on its way: until it bears weight, or `late` after its time [s].

    Attributes:
        share: Part of the step's time in which the foot cannot have landed yet.
        force: Weight that tells that it has, in parts of body weight; so do enough points.
        points: Least number of its points that touch.
        late: When the figure stops waiting [s].
    """

    share: float = 0.6
    force: float = 0.3
    points: int = 3
    late: float = 0.25

    def holds(self, view: View) -> bool:
        if "seconds" not in view.memory:
            return False  # there is nothing to step on
        seconds = view.memory["seconds"]
        if view.since < self.share * seconds:
            return True
        foot = view.foot("swing")
        landed = view.load(foot) > self.force * view.weight or int(view.touching[foot].sum()) >= self.points
        if landed or view.since > seconds + self.late * view.body.tempo:
            view.memory["placed"] = view.time
            return False
        return True


@dataclass(frozen=True)
class Standing(Condition):
    """The center of mass is high enough to stand, and another condition holds as well.

    Attributes:
        also: The other condition.
        height: In parts of the height at rest.
    """

    also: Condition
    height: float = 0.65

    def holds(self, view: View) -> bool:
        return not Lying(self.height).holds(view) and self.also.holds(view)


@dataclass(frozen=True)
class Lying(Condition):
    """The center of mass is too low to stand, or on its way there past help.

    Attributes:
        height: In parts of the height at rest.
        sinking: Height under which a figure falls whose capture point is `past` its feet and that sinks `fast`.
        past: How far outside the polygon of its feet [m].
        fast: [m/s].
    """

    height: float = 0.65
    sinking: float = 0.85
    past: float = 0.3
    fast: float = 0.4

    def holds(self, view: View) -> bool:
        height = float(view.com[2]) - view.ground_height
        if height < self.height * view.body.com_height:
            return True
        if (
            height > self.sinking * view.body.com_height
            or view.com_velocity[2] > -self.fast * view.body.tempo
            or view.grips
        ):
            return False
        feet = view.state.points[view.foot("both"), :2]
        return float(np.linalg.norm(nearest_inside(feet, view.capture_point) - view.capture_point)) > (
            self.past * view.body.scale
        )
