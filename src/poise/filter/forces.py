"""What acts on a figure from outside: pushes, pulls, point goals, a hand that drags it, and bodies around it.

A point goal gives a place on a body its own target, such as a hand held on a rail. A hand that drags is a spring from
where a body was grabbed to the mouse. Bodies around the figure are simulated by `poise.world`.
"""

from __future__ import annotations

import abc
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import ClassVar, Protocol

import numpy as np

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.physics import State
from poise.step import Constraint, Objective, Step


def acts(start: float, duration: float, time: float) -> bool:
    """True from the first step that begins at or after `start` until `duration` is over [s]."""
    return start - 1e-9 <= time < start + duration - 1e-9


class Force(abc.ABC):
    """Something that acts on a place of a body for a while.

    Attributes:
        body: A joint's own name or a role.
        start, duration: [s].
        kind: What a report calls it.
        is_solved_for: The step finds the force itself; here it is only felt.
    """

    body: str
    start: float
    duration: float
    kind: ClassVar[str] = "push"
    is_solved_for: ClassVar[bool] = False

    @property
    @abc.abstractmethod
    def offset(self) -> Array | None:
        """Where it acts, in the body's frame [m], shape (3,); None is the center of mass."""

    @abc.abstractmethod
    def is_on(self, time: float) -> bool:
        """Whether it acts in the step that begins now [s]."""

    @abc.abstractmethod
    def is_over(self, time: float) -> bool:
        """Whether it acts neither in the step that begins now nor in a later one [s]."""

    @abc.abstractmethod
    def body_of(self, character: Character) -> int:
        """Index of the body it acts on."""

    @abc.abstractmethod
    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        """Force now [N], shape (3,).

        Args:
            place, velocity: Of the place it acts on, in the world [m], [m/s], shape (3,).
            time: [s].
            mass: Of the body [kg].
        """


class _Planned(Force):
    """A force known in advance, on the center of mass of a body by name."""

    @property
    def offset(self) -> Array | None:
        return None

    def is_on(self, time: float) -> bool:
        return acts(self.start, self.duration, time)

    def is_over(self, time: float) -> bool:
        return time >= self.start + self.duration - 1e-9

    def body_of(self, character: Character) -> int:
        return character.body_index(self.body)


@dataclass(frozen=True)
class Push(_Planned):
    """A constant force on the center of mass of a body.

    Example:
        >>> push = poise.Push("chest", (0.0, 150.0, 0.0), start=0.1, duration=0.1)
        >>> result = poise.simulate(motion, character, pushes=[push])

    Attributes:
        body: A joint's own name or a role.
        force: [N], world frame, (3,).
        start, duration: [s].
    """

    body: str
    force: tuple[float, float, float]
    start: float = 0.0
    duration: float = 0.2

    def __post_init__(self) -> None:
        _check(self.force, self.start, self.duration, "force")

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del place, velocity, time, mass
        return np.array(self.force, dtype=np.float64)


@dataclass(frozen=True)
class Pull(_Planned):
    """A spring from a body's center of mass to a fixed point, critically damped for the body's own mass.

    Example:
        >>> rope = poise.Pull("chest", (1.0, 0.0, 1.5), stiffness=200.0, duration=0.2)
        >>> result = poise.simulate(motion, character, pushes=[rope])

    Attributes:
        body: A joint's own name or a role.
        point: [m], world frame, (3,).
        stiffness: [N/m].
        start, duration: [s].
    """

    kind: ClassVar[str] = "pull"

    body: str
    point: tuple[float, float, float]
    stiffness: float
    start: float = 0.0
    duration: float = math.inf

    def __post_init__(self) -> None:
        _check(self.point, self.start, self.duration, "point")
        if not self.stiffness > 0.0 or not math.isfinite(self.stiffness):
            raise InvalidValue(f"A pull needs a positive stiffness [N/m], not {self.stiffness}.")

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        del time
        damping = 2.0 * math.sqrt(self.stiffness * mass)
        return self.stiffness * (np.array(self.point) - place) - damping * velocity


def felt(state: State, character: Character, forces: Iterable[Force], time: float, also: Array | None) -> Array | None:
    """Generalized force of the pushes that act now plus `also`, shape (nv,); None if nothing acts.

    Args:
        state: Of the character.
        character: Who is pushed.
        forces: Pushes and pulls.
        time: Now [s].
        also: Generalized force of what acts besides, shape (nv,).
    """
    out = also
    for force in (f for f in forces if f.is_on(time)):
        body = force.body_of(character) + 1
        place = state.data.xipos[body].copy() if force.offset is None else state.body_place(body, force.offset)
        speed = state.body_point_motion(body, place)[0]
        push = force.force_at(place, speed, time, float(state.model.body_masses[body]))
        torque = state.external_torque(body, place, push)
        out = torque if out is None else out + torque
    return out


def _check(vector: tuple[float, float, float], start: float, duration: float, what: str) -> None:
    if len(vector) != 3 or not all(isinstance(x, Real) and math.isfinite(x) for x in vector):
        raise InvalidValue(f"The {what} {vector} is not three finite numbers.")
    if not (math.isfinite(start) and start >= 0.0) or not duration > 0.0:
        raise InvalidValue(
            f"Start {start} s and duration {duration} s: give a start of zero or more and a positive duration."
        )


_WHEN = re.compile(r"^@(?P<start>[^+]+)(\+(?P<duration>.+))?$")


def parse_push(text: str) -> Push:
    """Read "BODY FX FY FZ @START+DURATION" in newtons and seconds; the name may hold spaces.

    Raises:
        InvalidValue: with the form that is wanted.
    """
    body, numbers, start, duration = _parse(text, 3, "BODY FX FY FZ @START+DURATION")
    return Push(body, (numbers[0], numbers[1], numbers[2]), start, 0.2 if duration is None else duration)


def parse_pull(text: str) -> Pull:
    """Read "BODY X Y Z STIFFNESS @START+DURATION" in meters, newtons per meter, seconds; the name may hold spaces."""
    body, numbers, start, duration = _parse(text, 4, "BODY X Y Z STIFFNESS @START+DURATION")
    return Pull(
        body, (numbers[0], numbers[1], numbers[2]), numbers[3], start, math.inf if duration is None else duration
    )


def _parse(text: str, count: int, form: str) -> tuple[str, list[float], float, float | None]:
    words = text.split()
    when = _WHEN.match(words[-1]) if words else None
    try:
        if when is None or len(words) < count + 2:
            raise ValueError
        numbers = [float(w) for w in words[-1 - count : -1]]
        start = float(when["start"])
        duration = None if when["duration"] is None else float(when["duration"])
    except ValueError:
        raise InvalidValue(f"Cannot read {text!r}. Write it as {form!r}, for example {_EXAMPLES[count]!r}.") from None
    return " ".join(words[: -1 - count]), numbers, start, duration


_EXAMPLES = {3: "chest 300 0 0 @1.0+0.2", 4: "left_hand 0.4 0.3 1.2 500 @1.0+2"}


@dataclass(frozen=True)
class PointGoal:
    """A place on a body that goes to a target, critically damped, and stays.

    Example:
        >>> goal = poise.PointGoal("left_hand", (0.5, 0.2, 1.1), start=0.2, is_hard=False)
        >>> result = poise.simulate(motion, character, options=poise.Options(goal_points=(goal,)))

    Attributes:
        body: A joint's own name or a role.
        target: World place [m] (3,); or one for each frame of the clip or stream, shape (F, 3); or (times [s] (N,),
            places (N, 3)), from the first frame on; or a function of time [s] that gives one. Between given places
            the target moves on a cubic spline, before the first and after the last it rests.
        start, duration: When it acts [s].
        offset: The place in the body's frame [m]; the joint itself by default.
        is_hard: A constraint of the step; soft goals give way to others.
    """

    body: str
    target: tuple[float, float, float] | Array | tuple[Array, Array] | Callable[[float], Array]
    start: float = 0.0
    duration: float = math.inf
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    is_hard: bool = True

    def __post_init__(self) -> None:
        if callable(self.target) or (len(self.target) == 3 and np.ndim(self.target[0]) == 0):
            return
        if isinstance(self.target, tuple) and len(self.target) == 2:
            object.__setattr__(self, "target", _path(self.body, *self.target))
        elif np.ndim(self.target) != 2 or np.shape(self.target)[1] != 3:
            raise InvalidValue(
                f"The goal of {self.body!r} has a target of shape {np.shape(self.target)}; give a place (3,), one for "
                "each frame (F, 3), (times, places), or a function of time."
            )

    def timed(self, times: Array | float) -> PointGoal:
        """The goal with a place per frame bound to the frames' times; any other goal as it is.

        Args:
            times: Of the frames [s], shape (F,), or the time between two [s].

        Raises:
            InvalidValue: if there are not as many places as frames.
        """
        if callable(self.target) or np.ndim(self.target) != 2:
            return self
        places = np.asarray(self.target)
        own = times * np.arange(len(places)) if isinstance(times, float | int) else times - times[0]
        return replace(self, target=(own, places))

    def is_on(self, time: float) -> bool:
        return acts(self.start, self.duration, time)

    def place(self, time: float) -> Array:
        """Target now [m], shape (3,)."""
        value = np.asarray(self.target(time) if callable(self.target) else self.target, dtype=np.float64)
        if value.shape != (3,) or not np.isfinite(value).all():
            raise InvalidValue(f"The goal of {self.body!r} at {time:.3f} s is {value}; give three finite meters.")
        return value


def _path(body: str, times: Array, places: Array) -> Callable[[float], Array]:
    """Places over time as a function: a cubic spline, at rest before and after."""
    times, places = np.asarray(times, dtype=np.float64), np.asarray(places, dtype=np.float64)
    if times.ndim != 1 or places.shape != (len(times), 3) or not len(times):
        raise InvalidValue(
            f"The goal of {body!r} has times of shape {times.shape} and places of shape {places.shape}; give (N,) and "
            "(N, 3), as many places as times or frames."
        )
    if not (np.isfinite(times).all() and np.isfinite(places).all() and (np.diff(times) > 0.0).all()):
        raise InvalidValue(f"The goal of {body!r} needs finite places at finite times that rise.")
    if len(times) == 1:
        return lambda time: places[0]
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(times, places)
    return lambda time: np.asarray(spline(min(max(time, times[0]), times[-1])))


_FORM = "JOINT X,Y,Z [@START+DURATION]"


def parse_goal(text: str) -> PointGoal:
    """Read "JOINT X,Y,Z [@START+DURATION]" in meters and seconds; the name may hold spaces.

    Raises:
        InvalidValue: with the form that is wanted.
    """
    match = re.match(r"^(?P<body>.+)\s+(?P<place>[^\s@]+)(\s+@(?P<start>[^+\s]+)(\+(?P<duration>\S+))?)?\s*$", text)
    try:
        if match is None:
            raise ValueError
        x, y, z = (float(w) for w in match["place"].split(","))
        start = 0.0 if match["start"] is None else float(match["start"])
        duration = math.inf if match["duration"] is None else float(match["duration"])
    except ValueError:
        raise InvalidValue(
            f"Cannot read {text!r}. Write it as {_FORM!r}, for example 'left_hand 0.4,0.3,1.1 @1+2'."
        ) from None
    return PointGoal(match["body"].strip(), (x, y, z), start, duration)


STIFFNESS = 12.0
"""Pull of a hand [1/s^2]: force for each meter, over the mass of the figure; 840 N/m on a person."""

DAMPING = 0.25
"""Damping of a hand: that of a quarter of the figure."""

STRONGEST = 0.8
"""Largest force of a hand, in weights of the figure: enough to drag it off its way, not to tear it apart."""

CARRYING = 400.0
"""Pull of a hand that carries a whole thing [1/s^2]: the thing's weight lengthens its spring by 2.5 cm."""

STRONGEST_CARRYING = 12.0
"""Largest force of such a hand, in weights of the thing."""


@dataclass
class Hand(Force):
    """A force that follows a hand until it lets go; it acts where the body is held, and remembers itself.

    Attributes:
        body: Name of the body that is held.
        index: Its index.
        point: Where it is held, in the body's frame [m], shape (3,).
        target: Where the hand is now, in the world frame [m], shape (3,).
        total: Mass of the figure, or of the thing that is held [kg].
        start: When it was grabbed [s].
        stiffness: Force for each meter, over `total` [1/s^2].
        damping: In parts of what damps `total` critically.
        strongest: Largest force, in weights of `total`.
        duration: How long it was held [s]; infinite while it is.
        force: What it pulled with last [N], shape (3,).
        place: Where the held place was last, in the world frame [m], shape (3,); NaN before the first step.
        history: Time [s] and force [N] of every step.
    """

    kind: ClassVar[str] = "pull"

    body: str
    index: int
    point: Array
    target: Array
    total: float
    start: float
    stiffness: float = STIFFNESS
    damping: float = DAMPING
    strongest: float = STRONGEST
    duration: float = math.inf
    force: Array = field(default_factory=lambda: np.zeros(3))
    place: Array = field(default_factory=lambda: np.full(3, np.nan))
    history: list[tuple[float, Array]] = field(default_factory=list)

    @property
    def offset(self) -> Array:
        return self.point

    @property
    def is_held(self) -> bool:
        return math.isinf(self.duration)

    def let_go(self, time: float) -> None:
        """End it [s]."""
        self.duration = max(time - self.start, 1e-6)

    def is_on(self, time: float) -> bool:
        del time
        return self.is_held

    def is_over(self, time: float) -> bool:
        del time
        return not self.is_held

    def body_of(self, character: Character) -> int:
        del character
        return self.index

    def force_at(self, place: Array, velocity: Array, time: float, mass: float) -> Array:
        """A damped spring, held to its largest force [N]."""
        del mass
        stiffness = self.stiffness * self.total
        damping = 2.0 * math.sqrt(self.stiffness) * self.damping * self.total
        force = stiffness * (self.target - place) - damping * velocity
        size, most = float(np.linalg.norm(force)), self.strongest * GRAVITY * self.total
        self.force = force * min(1.0, most / size) if size > 0.0 else force
        self.place = place
        self.history.append((time, self.force))
        return self.force

    def forces(self, times: Array) -> Array:
        """Force at times [s] (T,), zero while it did not hold [N], shape (T, 3)."""
        if not self.history:
            return np.zeros((len(times), 3))
        own = np.array([t for t, _ in self.history])
        values = np.array([f for _, f in self.history])
        return np.stack([np.interp(times, own, values[:, k], left=0.0, right=0.0) for k in range(3)], axis=1)


def carrying(thing: str, target: Array, mass: float, start: float) -> Hand:
    """A hand that carries a whole thing by its middle: stiffer than one that drags a figure, critically damped.

    Args:
        thing: Its name.
        target: Where the hand is, in the world frame [m], shape (3,).
        mass: Of the thing [kg].
        start: When it was taken [s].
    """
    return Hand(thing, 0, np.zeros(3), target, mass, start, CARRYING, 1.0, STRONGEST_CARRYING)


@dataclass(frozen=True)
class Thing:
    """A body around the figure over time.

    Attributes:
        name: What it is called.
        shapes: Kind, half sizes, place (3,) and turn (4,) in its frame, see `poise.physics.collisions.Shape`.
        positions, orientations: At every simulated time, shapes (S, 3) [m] and (S, 4), or (1, …) for what stands still.
        mass: [kg], 0 for what never moves.
    """

    name: str
    shapes: tuple[tuple[str, Array, Array, Array], ...]
    positions: Array
    orientations: Array
    mass: float


@dataclass(frozen=True)
class Companion:
    """Another figure beside the one that is simulated.

    Attributes:
        name, character: What it is called, and its body.
        q: Poses at every simulated time, shape (S, nq).
        drawn: A motion of the figure's own file, for its skin.
        touches: Contact points that carry, see `report.touched_points`, shape (S, P).
    """

    name: str
    character: Character
    q: Array
    drawn: Motion | None = None
    touches: Flags | None = None


class Surroundings(Protocol):
    """Bodies that a figure may run into."""

    @property
    def felt(self) -> Sequence[Force]:
        """Their forces on the figure in the last step."""
        ...

    def meet(
        self, step: Step, objectives: Sequence[Objective], constraints: Sequence[Constraint]
    ) -> tuple[Sequence[Objective], Sequence[Constraint], Array]:
        """The lists of a step as they are to be solved, and the force of the bodies on the figure, shape (nv,)."""
        ...

    def advance(self, q: Array, v: Array) -> None:
        """Go on with the figure at its next pose (nq,) and velocity (nv,)."""
