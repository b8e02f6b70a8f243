"""Presets: every weight and gain of the filter, as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

from poise.core.errors import FileFormatError, InvalidValue, UnknownName, did_you_mean
from poise.io.files import parse_toml, read_text


@dataclass(frozen=True)
class Weights:
    """Weights of the objectives; units in the preset's file.

    Raises:
        InvalidValue: if neither the pose nor the joint torques have a weight: nothing would determine the joints.
    """

    root_wrench: float
    joint_torque: float
    pose: float
    end_effector: float
    goal: float
    coefficients: float
    bounds: float

    def __post_init__(self) -> None:
        if not max(self.pose, self.joint_torque) > 0.0:
            raise InvalidValue(
                f"The weights of pose and joint_torque are {self.pose:g} and {self.joint_torque:g}: nothing determines "
                "the joints. Give one of them a positive weight."
            )


@dataclass(frozen=True)
class Servo:
    """An acceleration servo: a = a* + damping · frequency · Δv + frequency² · Δx, as in [Levine2012]_ 2.4."""

    frequency: float
    damping: float

    @property
    def stiffness(self) -> float:
        """Factor on the position error [1/s²]."""
        return self.frequency**2

    @property
    def speed(self) -> float:
        """Factor on the velocity error [1/s]."""
        return self.frequency * self.damping

    def is_stable(self, dt: float) -> bool:
        """True if the explicit step of this servo alone is stable: speed Δt + stiffness Δt² / 2 < 2."""
        return 2.0 * self.speed * dt + self.stiffness * dt * dt < 4.0


@dataclass(frozen=True)
class EndEffector(Servo):
    """How end effectors are tracked, [Levine2012]_ 2.5."""

    contact_time: float
    contact_height: float
    look_ahead: float
    clearance: float
    clearance_time: float
    foothold_shift: float
    holding: float


@dataclass(frozen=True)
class Stepping:
    """How a limb that stands off its place after a push steps back."""

    distance: float
    height: float
    duration: float
    pause: float


@dataclass(frozen=True)
class ContactLimits:
    """When a point counts as touching."""

    height: float
    speed: float


@dataclass(frozen=True)
class Bounds:
    """When joint limits and the ground get rows in a step, and how fast what is past them comes back."""

    near_angle: float
    near_ground: float
    return_share: float


@dataclass(frozen=True)
class Apart:
    """How legs keep from each other where something pushes; nothing with a weight of 0."""

    weight: float
    near: float
    braking: float
    parting: float


@dataclass(frozen=True)
class Goal:
    """The moving goal and the trunk that turns under a push."""

    frequency: float
    point_frequency: float
    vertical_frequency: float
    lowest: float
    highest: float
    sinking: float
    tipping: float
    sway_gain: float
    twist_gain: float
    sway_frequency: float
    sway_damping: float
    sway_limit: float
    sway_inertia: float
    sway_pivot: float
    sway_pelvis: float
    sway_arms: float


@dataclass(frozen=True)
class Giving:
    """How limbs give way to a force; see `giving`."""

    firmness: float
    neck_firmness: float
    taper: float
    damping: float
    stretch: float
    lever: float
    neck_lever: float
    balance: float
    spread: float
    yield_share: float
    leg_share: float
    fastest: float
    onset: float
    halflife: float
    leg_halflife: float
    planting: float


@dataclass(frozen=True)
class Protective:
    """When a pushed figure steps and when it falls; see `protective`."""

    hold: float
    longest: float
    ankle: float
    reach: float
    left: float
    bending: float
    late: float
    far: float
    height: float
    duration: float
    swift: float
    brisk: float
    settling: float
    stride: float
    striding: float
    drift: float
    lean: float
    pace: float


@dataclass(frozen=True)
class Ground:
    """How the body follows the ground."""

    frequency: float
    lean: float
    lean_frequency: float
    lean_pelvis: float
    lean_neck: float
    lean_arms: float
    lean_tail: float
    lies_below: float
    stands_above: float


@dataclass(frozen=True)
class Glitch:
    """How the deviation is carried through frames that cannot be trusted."""

    halflife: float


@dataclass(frozen=True)
class PdGains:
    """Gains of the baseline `--engine pd`."""

    joint_frequency: float
    root_frequency: float
    damping: float


@dataclass(frozen=True)
class Preset:
    """Every weight and gain of the quasi-physical filter.

    Example:
        >>> preset = poise.load_preset("recommended")
        >>> soft = dataclasses.replace(preset, weights=dataclasses.replace(preset.weights, pose=1.0))
    """

    name: str
    weights: Weights
    pose: Servo
    end_effector: EndEffector
    stepping: Stepping
    contact: ContactLimits
    bounds: Bounds
    apart: Apart
    goal: Goal
    giving: Giving
    protective: Protective
    ground: Ground
    glitch: Glitch
    pd: PdGains

    def settings(self) -> dict[str, float]:
        """All values by dotted name, for reports."""
        return {
            f"{section.name}.{f.name}": getattr(getattr(self, section.name), f.name)
            for section in fields(self)
            if section.name != "name"
            for f in fields(getattr(self, section.name))
        }


_SECTIONS: dict[str, type] = {
    "weights": Weights,
    "pose": Servo,
    "end_effector": EndEffector,
    "stepping": Stepping,
    "contact": ContactLimits,
    "bounds": Bounds,
    "apart": Apart,
    "goal": Goal,
    "giving": Giving,
    "protective": Protective,
    "ground": Ground,
    "glitch": Glitch,
    "pd": PdGains,
}


def preset_names() -> tuple[str, ...]:
    """Names of the presets that come with Poise."""
    folder = resources.files("poise.presets")
    return tuple(sorted(f.name[:-5] for f in folder.iterdir() if f.name.endswith(".toml")))


def load_preset(name: str | Path) -> Preset:
    """A preset by name ("recommended", "paper") or from a TOML file of the same shape.

    Example:
        >>> preset = poise.load_preset("paper")
        >>> result = poise.simulate(motion, character, preset=preset)

    Raises:
        UnknownName: if there is no such preset or file.
        FileFormatError: if a value is missing, unknown, or no number.
    """
    if str(name) in preset_names():
        text, where = (resources.files("poise.presets") / f"{name}.toml").read_text(encoding="utf-8"), str(name)
    elif Path(name).is_file():
        text, where = read_text(Path(name)), str(name)
    else:
        hint = did_you_mean(str(name), preset_names())
        raise UnknownName(f"No preset {str(name)!r}.{hint} Presets: {', '.join(preset_names())}; or give a TOML file.")
    data = parse_toml(text, where)
    unknown = sorted(set(data) - set(_SECTIONS))
    if unknown:
        raise FileFormatError(f"unknown section {unknown[0]!r}; sections: {', '.join(_SECTIONS)}.", path=where)
    sections: dict[str, Any] = {}
    for section, kind in _SECTIONS.items():
        values = data.get(section, {})
        if not isinstance(values, dict):
            raise FileFormatError(f"{section} is {values!r}; write a section [{section}].", path=where)
        names = [f.name for f in fields(kind)]
        wrong = set(values) ^ set(names)
        if wrong:
            raise FileFormatError(
                f"section [{section}] needs exactly {', '.join(names)}; check {', '.join(sorted(wrong))}.", path=where
            )
        for key, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < math.inf:
                raise FileFormatError(f"{section}.{key} is {value!r}; give a number of zero or more.", path=where)
        sections[section] = kind(**{k: float(v) for k, v in values.items()})
    return Preset(Path(where).stem, **sections)
