"""The tables of a scene file, and what their values may be."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field

from poise.synthesis.toml_schema import Number, Pair, Table, Text, Triple

RUBBLE_SIZES, MOST_SIZE = (0.04, 0.12), 2.0
"""Least and largest side of a piece of rubble where a scene does not say it, and the largest one that it may say, for a
leg of 0.82 m [m]."""
RUBBLE_DENSITY = 700.0
"""Of rubble, as wood [kg/m³]."""


def _positive(sizes: tuple[float, ...]) -> Any:
    if min(sizes) <= 0.0:
        raise ValueError("give positive lengths")
    return sizes


def _direction(facing: tuple[float, float, float]) -> tuple[float, float, float]:
    length = float(np.linalg.norm(facing))
    if length < 1e-9:
        raise ValueError("it points nowhere; give the direction that it faces")
    x, y, z = (v / length for v in facing)
    return x, y, z


def _above_zero(length: float) -> float:
    if not 0.0 < length < np.inf:
        raise ValueError("give a positive number")
    return length


def _size_range(sizes: tuple[float, float]) -> tuple[float, float]:
    if not 0.0 < sizes[0] <= sizes[1] <= MOST_SIZE:
        raise ValueError(f"give the least and the largest length, above 0 and up to {MOST_SIZE:g} m")
    return sizes


def _mass_range(masses: tuple[float, float]) -> tuple[float, float]:
    if not 0.0 < masses[0] <= masses[1]:
        raise ValueError("give the least and the largest mass, above 0 kg")
    return masses


def _time(time: float) -> float:
    if not 0.0 <= time < np.inf:
        raise ValueError("give a time of zero or more")
    return time


def _flight(time: float) -> float:
    if not 0.0 < time < np.inf:
        raise ValueError("give a positive time")
    return time


def _friction(friction: float) -> float:
    if not friction >= 0.0:
        raise ValueError("give zero or more")
    return friction


Size = Annotated[Pair, AfterValidator(_positive)]
Direction = Annotated[Triple, AfterValidator(_direction)]
Time = Annotated[Number, AfterValidator(_time)]
Friction = Annotated[Number, AfterValidator(_friction)]


class FloorTable(Table):
    """[floor]: level; without a size it has no end."""

    name: Text = "floor"
    friction: Friction = 1.0
    place: Triple = (0.0, 0.0, 0.0)
    size: Size = (np.inf, np.inf)


class WallTable(Table):
    """[[walls]]: flat, seen from the side it faces; any direction, so that it may be a slope."""

    name: Text
    place: Triple
    facing: Direction
    size: Size = (2.0, 2.4)
    friction: Friction = 1.0


class BoxTable(Table):
    """[[boxes]]: its middle and its sides along x, y and z. Figures step on one that is `ground`."""

    name: Text
    place: Triple
    sides: Annotated[Triple, AfterValidator(_positive)]
    friction: Friction = 1.0
    ground: bool = False


class HoldTable(Table):
    """[[holds]]: a knob that a hand closes around and a foot stands on, where it carries: up, or as it faces."""

    name: Text
    place: Triple
    radius: Number = 0.02
    friction: Friction = 1.0
    facing: Direction = (0.0, 0.0, 1.0)


class BarTable(Table):
    """[[bars]]: a rod between two places, held anywhere along it."""

    name: Text
    start: Triple
    end: Triple
    radius: Number = 0.015


class BallTable(Table):
    """[[balls]]: rests in the air until an event throws it."""

    name: Text
    radius: Number = 0.034
    mass: Number = 0.058
    harmful: bool = False


class HingeTable(Table):
    """A hinge of a body: the direction of its axis, and a place on it, in the world."""

    axis: Direction
    place: Triple


class BodyTable(Table):
    """[[bodies]]: what moves by physics: a box, a ball, a capsule or a cylinder; free, on a hinge or on a slide.

    Figures step on a box that is `ground`.
    """

    name: Text
    place: Triple
    turn: Triple = (0.0, 0.0, 0.0)
    sides: Annotated[Triple, AfterValidator(_positive)] | None = None
    radius: Annotated[Number, AfterValidator(_above_zero)] | None = None
    length: Annotated[Number, AfterValidator(_above_zero)] | None = None
    round_ends: bool = True
    mass: Annotated[Number, AfterValidator(_above_zero)]
    friction: Friction = 0.8
    hinge: HingeTable | None = None
    slide: Direction | None = None
    ground: bool = False


class RopeTable(Table):
    """[[ropes]]: pieces joined end to end between two places: round ones, or with a width the planks of a bridge.

    Figures step on planks that are `ground`.
    """

    name: Text
    start: Triple
    end: Triple
    pieces: Annotated[int, Field(ge=1, le=60)] = 10
    mass: Annotated[Number, AfterValidator(_above_zero)]
    radius: Annotated[Number, AfterValidator(_above_zero)] = 0.02
    width: Annotated[Number, AfterValidator(_above_zero)] | None = None
    slack: Annotated[Number, Field(ge=0.0, le=1.0)] = 0.02
    hangs_free: bool = False
    friction: Friction = 0.8
    ground: bool = False


class RubbleTable(Table):
    """[rubble]: loose pieces on the way of the figure, with sides from the first to the second size.

    They weigh what their density says, or from the first to the second mass; a "mesh" is a stone.
    """

    count: int
    seed: int = 0
    sizes: Annotated[Pair, AfterValidator(_size_range)] = RUBBLE_SIZES
    density: Annotated[Number, AfterValidator(_above_zero)] = RUBBLE_DENSITY
    mass: Annotated[Pair, AfterValidator(_mass_range)] | None = None
    shape: Literal["mixed", "box", "bar", "mesh"] = "mixed"


class KeyTable(Table):
    """One key of a movement: displacement, and turn as a rotation vector in degrees."""

    time: Number
    shift: Triple = (0.0, 0.0, 0.0)
    turn: Triple = (0.0, 0.0, 0.0)


class RemoveTable(Table):
    """An event that takes things away."""

    remove: Text | list[Text]
    time: Time


class MoveTable(Table):
    """An event that moves things from key to key."""

    move: Text | list[Text]
    keys: tuple[KeyTable, ...] = ()
    about: Triple | None = None


class ThrowTable(Table):
    """An event that throws a ball: its velocity, or where it goes and for how long."""

    throw: Text
    time: Time
    place: Triple
    velocity: Triple | None = None
    to: Triple | None = None
    flight: Annotated[Number, AfterValidator(_flight)] | None = None


class SceneTable(Table):
    """A scene file."""

    schema_: Text = Field(alias="schema")
    name: Text = ""
    options: dict[str, Any] = Field(default_factory=dict)
    floor: FloorTable | Literal[False] = FloorTable()
    walls: tuple[WallTable, ...] = ()
    boxes: tuple[BoxTable, ...] = ()
    holds: tuple[HoldTable, ...] = ()
    bars: tuple[BarTable, ...] = ()
    balls: tuple[BallTable, ...] = ()
    bodies: tuple[BodyTable, ...] = ()
    ropes: tuple[RopeTable, ...] = ()
    rubble: RubbleTable | None = None
    figures: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = ()
