"""What a goal is, and the two forms of every goal.

With a horizon H it asks for the acceleration that arrives if it is held so long, x + H ẋ + H² ẍ / 2 = x₀,

    ẍ = (x₀ − x − H ẋ) 2 / H²,

so that how fast (H) and how important (weight) are separate; asked anew in every step that is a spring with a damping
ratio of 1 / √2. In the paper's literal form it asks the next step itself to be there, w ‖x + Δt ẋ⁺ − x₀‖², in
accelerations ẍ = (x₀ − x − Δt ẋ) / Δt² with weight w Δt⁴.

The same numbers serve figures of all sizes: horizons go with the time in which a leg swings, and turning is measured at
the end of a leg (Froude's similarity), so that a child moves as a grown-up does, only sooner.

Source: [Jain2009]_ sections 4 … 6, appendix B. Deviates: a point's J̇ v, which appendix B leaves out, is kept.

The memory of a state machine holds values that actions write, and that goals and conditions read. Topics: "swing"
(which foot steps and which carries), "seconds" (how long a step takes), "hands" (that go to walls), "mover" (the limb
that climbs on), "hand" (that takes another's), "holds" (what hands and feet reach for).
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from poise.core import rotations
from poise.core.typing import Array
from poise.goals.observation import Observation
from poise.step import AtLeast, Objective, Quantity
from poise.step.quantities import AxisAcceleration, JointAcceleration, PlaceAcceleration

HORIZON = 0.1
"""How soon a goal wants to be met when it does not say [s]."""
LARGEST_TURN = np.pi / 3.0
"""An axis turns to a direction by way of others that are no farther from it than this [rad]."""
UP = np.array([0.0, 0.0, 1.0])
"""Unit direction against gravity in the world."""


class Goal(abc.ABC):
    """One goal of a controller, as data."""

    @abc.abstractmethod
    def objectives(self, observed: Observation) -> Sequence[Objective | AtLeast]:
        """What it adds to this step: objectives, and bounds that have a weight."""


def toward(
    observed: Observation,
    quantity: Quantity,
    error: Array,
    speed: Array,
    weight: Array | float,
    horizon: Array | float,
    label: str,
    max_acceleration: float = np.inf,
) -> Objective:
    """The objective that brings an error x₀ − x to zero, in the form that the run uses.

    Args:
        observed: Says which form, and Δt.
        quantity: The acceleration ẍ.
        error: x₀ − x, one number a row.
        speed: ẋ.
        weight: Of the acceleration with a horizon (a grown-up's, where something turns), of the place itself in the
            literal form.
        horizon: H of a grown-up [s]; for others in proportion to their `tempo`.
        label: Name in reports.
        max_acceleration: Largest acceleration asked for.
    """
    if observed.is_literal:
        dt = observed.dt
        return Objective(quantity, (error - dt * speed) / dt**2, np.asarray(weight) * dt**4, label)
    horizon = horizon * observed.body.tempo
    desired = (error - horizon * speed) * (2.0 / horizon**2)
    if max_acceleration < np.inf and (size := float(np.linalg.norm(desired))) > max_acceleration:
        desired = desired * (max_acceleration / size)
    return Objective(quantity, desired, _in_legs(observed, quantity, weight), label)


def slowing(
    observed: Observation, quantity: Quantity, change: Array, weight: Array | float, horizon: float, label: str
) -> Objective:
    """The objective that brings a change of velocity about: within H, a grown-up's, or in this step if literal."""
    if observed.is_literal:
        return Objective(quantity, change / observed.dt, np.asarray(weight) * observed.dt**2, label)
    return Objective(quantity, change / (horizon * observed.body.tempo), _in_legs(observed, quantity, weight), label)


def _in_legs(observed: Observation, quantity: Quantity, weight: Array | float) -> Array | float:
    """The weight of a goal; what turns counts by what the end of a leg would do, since short figures turn faster."""
    return weight * observed.body.scale**2 if isinstance(quantity, (JointAcceleration, AxisAcceleration)) else weight


def place_toward(
    observed: Observation, body: int, offset: Array, place: Array, weight: float, horizon: float
) -> Objective:
    """A place on a body goes to a point of the world."""
    state, model_body = observed.state, observed.body.root + body
    here = state.body_place(model_body, offset)
    velocity, _ = state.body_point_motion(model_body, here)
    return toward(observed, PlaceAcceleration(model_body, offset), place - here, velocity, weight, horizon, "reach")


def axis_toward(
    observed: Observation, body: int, axis: Array, desired: Array, weight: float, horizon: float, label: str
) -> Objective:
    """An axis of a body turns to a unit direction of the world; only the part across that direction counts.

    An axis that is farther away than `LARGEST_TURN` first turns by so much: the part across vanishes upside down too.
    """
    data, model_body = observed.state.data, observed.body.root + body
    u = data.xmat[model_body].reshape(3, 3) @ axis
    turn = data.cvel[model_body, :3]
    speed = cross(turn, u)
    if float(u @ desired) < np.cos(LARGEST_TURN):
        aside = desired - float(u @ desired) * u
        size = float(np.sqrt(aside @ aside))
        aside = aside / size if size > 1e-6 else _square_to(*u.tolist())[0]
        desired = np.cos(LARGEST_TURN) * u + np.sin(LARGEST_TURN) * aside
    across = _square_to(*desired.tolist())
    return toward(
        observed, AxisAcceleration(model_body, axis, across), -across @ u, across @ speed, weight, horizon, label
    )


@lru_cache
def _square_to(x: float, y: float, z: float) -> Array:
    """Two unit directions square to a third and to each other, shape (2, 3)."""
    desired = np.array([x, y, z])
    first = rotations.perpendicular(desired)
    across = np.stack([first, cross(desired, first)])
    across.setflags(write=False)
    return across


def cross(a: Array, b: Array) -> Array:
    """The cross product of two vectors; NumPy's own takes ten times as long for three numbers."""
    (ax, ay, az), (bx, by, bz) = a.tolist(), b.tolist()
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def bodies_named(observed: Observation, name: str) -> list[int]:
    """Bodies behind a name of `body.BODIES`, a role or a body's name. A head need not be a body of its own."""
    index = observed.body.character.body_index
    if name == "head" and name not in observed.body.character.indices:
        return [observed.body.head]
    if name == "arms":
        sides = [hand.removesuffix("_hand") for hand in observed.memory.get("hands", ())]
        return [index(f"{side}_{part}") for side in sides for part in ("shoulder", "elbow", "hand")]
    if name == "feet":
        return [index("left_foot"), index("right_foot")]
    if name in ("swing leg", "stance leg"):
        side = observed.memory.get(name.removesuffix(" leg"))
        return [index(f"{side}_{part}") for part in ("hip", "knee", "foot")] if side else []
    if name == "swing knee":
        side = observed.memory.get("swing")
        return [index(f"{side}_knee")] if side else []
    if name in ("swing", "stance"):
        side = observed.memory.get(name)
        return [index(f"{side}_foot")] if side else []
    return [index(name)]


Kind = TypeVar("Kind", bound=type)
Function = TypeVar("Function", bound=Callable[..., None])

NAMED = {
    "swing": "swing",
    "stance": "swing",
    "swing leg": "swing",
    "swing knee": "swing",
    "stance leg": "swing",
    "heel": "swing",
    "mover": "mover",
    "hands": "hands",
    "arms": "hands",
    "loose arms": "hands",
}
"""Parts of the body that are stored in the memory, and under which topic."""

_READS: dict[type, tuple[tuple[str, ...], str]] = {}
_WRITES: dict[Callable[..., None], tuple[str, ...]] = {}


def reads(*topics: str, unless: str = "") -> Callable[[Kind], Kind]:
    """Declare which topics a goal or condition needs; with the setting named by `unless` it needs none."""

    def note(kind: Kind) -> Kind:
        _READS[kind] = (topics, unless)
        return kind

    return note


def writes(*topics: str) -> Callable[[Function], Function]:
    """Declare which topics an action writes."""

    def note(action: Function) -> Function:
        _WRITES[action] = topics
        return action

    return note


def read_by(thing: Any) -> list[str]:
    """Topics that a goal or condition needs, for parts named in its settings too."""
    needed: list[str] = []
    for kind in type(thing).__mro__:
        topics, unless = _READS.get(kind, ((), ""))
        if not (unless and getattr(thing, unless)):
            needed += topics
    for value in (getattr(thing, f.name) for f in fields(thing)) if is_dataclass(thing) else ():
        names = value if isinstance(value, tuple) else (value,)
        needed += [NAMED[n] for n in names if isinstance(n, str) and n in NAMED]
    return list(dict.fromkeys(needed))


def written_by(action: Callable[..., None]) -> tuple[str, ...] | None:
    """Topics that an action writes; None for one that does not declare them."""
    return _WRITES.get(getattr(action, "func", action))


def writers(topic: str) -> list[Callable[..., None]]:
    """The actions that write a topic, in the order of their definition."""
    return [action for action, topics in _WRITES.items() if topic in topics]


def state_key(machine: str) -> str:
    """Key in the memory under which a machine notes its present state."""
    return f"state of {machine}"
