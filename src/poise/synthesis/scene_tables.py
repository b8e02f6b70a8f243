"""What a scene file may say of each kind of thing: the keys of its tables, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.goals.surroundings import Triple


@dataclass(frozen=True)
class FloorTable:
    """[floor]: level; without a size it has no end."""

    name: str = "floor"
    friction: float = 1.0
    place: Triple = (0.0, 0.0, 0.0)
    size: tuple[float, float] = (np.inf, np.inf)


@dataclass(frozen=True)
class WallTable:
    """[[walls]]: flat, seen from the side it faces; any direction, so that it may be a slope."""

    name: str
    place: Triple
    facing: Triple
    size: tuple[float, float] = (2.0, 2.4)
    friction: float = 1.0


@dataclass(frozen=True)
class BoxTable:
    """[[boxes]]: its middle and its sides along x, y and z."""

    name: str
    place: Triple
    sides: Triple
    friction: float = 1.0


@dataclass(frozen=True)
class HoldTable:
    """[[holds]]: a knob that a hand closes around and a foot stands on, where it carries: up, or as it faces."""

    name: str
    place: Triple
    radius: float = 0.02
    friction: float = 1.0
    facing: Triple = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class BarTable:
    """[[bars]]: a rod between two places, held anywhere along it."""

    name: str
    start: Triple
    end: Triple
    radius: float = 0.015


@dataclass(frozen=True)
class BallTable:
    """[[balls]]: rests in the air until an event throws it."""

    name: str
    radius: float = 0.034
    mass: float = 0.058
    harmful: bool = False


@dataclass(frozen=True)
class KeyTable:
    """One key of a movement: displacement, and turn as a rotation vector in degrees."""

    time: float
    shift: Triple = (0.0, 0.0, 0.0)
    turn: Triple = (0.0, 0.0, 0.0)
