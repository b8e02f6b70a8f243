"""When a state of a controller applies: conditions as data, true while the state may go on."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np

from poise.goals.goal import reads, state_key
from poise.goals.observation import Observation
from poise.goals.polygon import distance_inside, nearest_inside


class Condition(abc.ABC):
    """True while a state applies; a condition may write the memory."""

    @abc.abstractmethod
    def holds(self, observed: Observation) -> bool:
        """Whether the state may go on."""


@dataclass(frozen=True)
class Always(Condition):
    """The state never fails."""

    def holds(self, observed: Observation) -> bool:
        return True


@dataclass(frozen=True)
class For(Condition):
    """The state lasts so long [s]."""

    seconds: float

    def holds(self, observed: Observation) -> bool:
        return observed.time_in_state < self.seconds


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

    def holds(self, observed: Observation) -> bool:
        if (
            observed.is_delayed
            or observed.time - observed.memory.get("placed", -1e9) < self.settle * observed.body.tempo
        ):
            return True
        feet, near = observed.body.feet.values(), self.near * observed.body.scale
        if any(observed.load(p) < 0.01 * observed.weight and observed.gaps[p].max() > near for p in feet):
            return False  # a foot hangs: it is put down by a step
        points = observed.near_ground("both", self.near * observed.body.scale)
        place = observed.com[:2] if self.literal else observed.capture_point
        return len(points) < 3 or distance_inside(points, place) >= self.margin * observed.body.scale


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

    def holds(self, observed: Observation) -> bool:
        return (
            observed.time_in_state <= self.seconds * observed.body.tempo
            and observed.load(observed.part(self.part)) > self.force * observed.weight
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

    def holds(self, observed: Observation) -> bool:
        if "seconds" not in observed.memory:
            return False  # there is nothing to step on
        seconds = observed.memory["seconds"]
        if observed.time_in_state < self.share * seconds:
            return True
        foot = observed.foot("swing")
        landed = observed.load(foot) > self.force * observed.weight or int(observed.touching[foot].sum()) >= self.points
        if landed or observed.time_in_state > seconds + self.late * observed.body.tempo:
            observed.memory["placed"] = observed.time
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

    def holds(self, observed: Observation) -> bool:
        return not Lying(self.height).holds(observed) and self.also.holds(observed)


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

    def holds(self, observed: Observation) -> bool:
        height = float(observed.com[2]) - observed.ground_height
        if height < self.height * observed.body.com_height:
            return True
        if (
            height > self.sinking * observed.body.com_height
            or observed.com_velocity[2] > -self.fast * observed.body.tempo
            or observed.grips
        ):
            return False
        feet = observed.state.points[observed.foot("both"), :2]
        return float(np.linalg.norm(nearest_inside(feet, observed.capture_point) - observed.capture_point)) > (
            self.past * observed.body.scale
        )


@dataclass(frozen=True)
class Touching(Condition):
    """A part of the body touches a floor, a wall or a box.

    Attributes:
        part: A hand or foot ("left_hand", "swing", …), or a body by its name or role ("pelvis").
        thing: Name of what it touches; anything if it is empty.
    """

    part: str
    thing: str = ""

    def holds(self, observed: Observation) -> bool:
        return bool(observed.touches(self.part, self.thing).any())


@dataclass(frozen=True)
class On(Condition):
    """Both feet stand on something, and carry the figure.

    Attributes:
        thing: Name of a floor or box.
        load: Least force on each foot, in parts of body weight.
    """

    thing: str
    load: float = 0.1

    def holds(self, observed: Observation) -> bool:
        return all(
            observed.touches(f"{side}_foot", self.thing).any() and observed.load(points) > self.load * observed.weight
            for side, points in observed.body.feet.items()
        )


@dataclass(frozen=True)
class Near(Condition):
    """A part of the body is near something.

    Attributes:
        part: As in `Touching`.
        thing: Name of a floor, wall, box, hold or ball.
        distance: From the middle of the part's contact points, in a grown-up [m].
    """

    part: str
    thing: str
    distance: float = 0.15

    def holds(self, observed: Observation) -> bool:
        middle = observed.place(observed.points_of(self.part))
        away = observed.nearest_place(self.thing, middle) - middle
        return float(np.linalg.norm(away)) < self.distance * observed.body.scale


@dataclass(frozen=True)
class Holds(Condition):
    """A hand or foot has closed around something, or stands on a hold.

    Attributes:
        part: "left_hand", "right_hand", "left_foot" or "right_foot".
        thing: Name of a hold, a bar or a ball; anything if it is empty.
    """

    part: str
    thing: str = ""

    def holds(self, observed: Observation) -> bool:
        held = observed.grips.get(observed.named(self.part))
        return held is not None and self.thing in ("", held)


@dataclass(frozen=True)
class Happened(Condition):
    """An event has happened to a thing: it was thrown, taken away, or has begun to move; or the figure was pushed.

    Attributes:
        event: Name of the ball, hold, floor, wall or box; or "push".
    """

    event: str

    def holds(self, observed: Observation) -> bool:
        if self.event == "push":
            if observed.is_delayed:
                observed.memory["pushed"] = True
            return observed.memory.get("pushed", False)
        scene, now = observed.scene, observed.time
        own = [scene.surfaces[k] for k in observed.faces_of(self.event)]
        still = [*own, *(h for h in scene.holds if h.name == self.event)]
        return any(b.is_free for b in observed.balls if b.ball.name == self.event) or any(
            not x.exists(now) or (x.movement is not None and now >= x.movement.times[0]) for x in still
        )


@dataclass(frozen=True)
class AllOf(Condition):
    """Every one of them holds; all are asked, in this order, since some take notes."""

    of: tuple[Condition, ...]

    def holds(self, observed: Observation) -> bool:
        return all([condition.holds(observed) for condition in self.of])


@dataclass(frozen=True)
class AnyOf(Condition):
    """One of them holds; none is asked after the first that does."""

    of: tuple[Condition, ...]

    def holds(self, observed: Observation) -> bool:
        return any(condition.holds(observed) for condition in self.of)


@dataclass(frozen=True)
class Not(Condition):
    """It does not hold."""

    of: Condition

    def holds(self, observed: Observation) -> bool:
        return not self.of.holds(observed)


@dataclass(frozen=True)
class InState(Condition):
    """A machine, such as one inside the state, is in one of some states; or it is not at work yet.

    Attributes:
        machine: Its name.
        states: Names of its states.
    """

    machine: str
    states: tuple[str, ...]

    def holds(self, observed: Observation) -> bool:
        now = observed.memory.get(state_key(self.machine))
        return now is None or now in self.states


@dataclass(frozen=True)
class Reached(Condition):
    """A machine is in one of some states; false until it is, so that `Not` of it waits for it.

    Attributes:
        machine: Its name.
        states: Names of its states.
    """

    machine: str
    states: tuple[str, ...]

    def holds(self, observed: Observation) -> bool:
        return observed.memory.get(state_key(self.machine)) in self.states
