"""How a file is read: what it says, what its format's custom is and what its motion shows, weighed and explained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from poise.core.motion import Evidence, Motion, Source
from poise.core.units import HUMAN_LEG, UNITS
from poise.intake.anatomy import Anatomy, height_of
from poise.intake.figure import AXES, Figure
from poise.intake.scale import OF_TIME, UNIT_WORDS, Scale, scale_candidates, unit_name, weigh_scale
from poise.intake.table import Answer, Table
from poise.intake.up import ALONG_AXIS, weigh_stated, weigh_up

SURE = 0.6
"""Below this probability a reading is asked for [1]."""
WEIGHED = ("bvh", "npz")
"""Formats whose readers ask for everything themselves, and Poise's own."""
SIZES = (0.4, 0.82)
"""Legs of the sizes that a figure may move like [m]: a dog's or a child's, and a grown person's."""
USUAL_HEIGHTS = (0.2, 2.6)
"""Heights of figures on two legs that raise no question [m]."""
SMALLEST_PERSON = 0.6
"""An upright figure with legs and arms, by name, raises a question below this height: nobody so small walks [m]."""
PERSON_LEGS = (0.3, 1.2)
"""Thigh and shank of people, children too, that raise no question [m]."""
GROWN_LEGS = (0.6, 1.1)
"""Thigh and shank of grown people; a person with other ones who moves like a grown one raises a question [m]."""
MOVES_AS_GROWN = 0.8
"""A person moves like a grown one if falls and steps make a grown person's legs at least so probable [1]."""
TALLEST_BEAST = 3.6
"""Height of an elephant's back, the tallest of other figures that raises no question [m]."""
PERSON = "a grown person has 0.82 m"
"""What a leg is compared with, in the reasons for a unit."""
MISLABELED = {0.5: 0.01, 2.0: 0.01}
"""How often a rate is wrong where the file gives each key its time, as factors of it: hardly ever [1]."""
AGREED = 0.73
"""Two rates that are as usual agree with what else shows the rate if one is so likely [1]: odds of e to 1."""
UP_DOUBTED = 0.5
"""A stated axis is doubted below this probability [1]."""
DOUBTED = 0.6
"""A stated rate is doubted below this probability [1]."""


@dataclass(frozen=True)
class Custom:
    """What is usual for a kind of file, and what its user says.

    Attributes:
        kind: The files, such as "BVH files".
        up: How often which axis is up.
        units: How often which unit is meant, by its name in `UNITS`.
        rates: How often the data have another rate than the label's, as factors of it.
        stated: Where the rate stands and what it is, in words.
        given_up, given_unit, given_fps: The user's word.
    """

    kind: str
    up: Mapping[str, float]
    units: Mapping[str, float]
    rates: Mapping[float, float] = field(default_factory=lambda: {0.5: 0.05, 2.0: 0.05, 0.25: 0.01})
    stated: str = ""
    given_up: str | None = None
    given_unit: float | None = None
    given_fps: float | None = None


@dataclass(frozen=True)
class Reading:
    """How a file is read.

    Attributes:
        up: Its up axis.
        unit: Meters per file unit.
        fps: Frames per second: the user's word or the file's label, never a guess.
        evidence: What was decided, how sure and why, by name.
        warnings: What to ask the user.
    """

    up: str
    unit: float
    fps: float
    evidence: dict[str, Evidence]
    warnings: tuple[str, ...]


def read_as(motion: Motion, custom: Custom) -> Reading:
    """Decide how a motion is read that stands in its file's own units and axes.

    What the user says is taken. A stated frame rate is doubted in words but kept. An axis or unit of which the
    evidence is not sure is the one of the format's custom, and asked for.
    """
    figure = Figure(motion)
    evidence: dict[str, Evidence] = {}
    warnings: list[str] = []
    up = custom.given_up or _up(figure, custom, evidence, warnings)
    if custom.given_up:
        evidence["up"] = Evidence(up, 1.0, "given by the user")
    unit = _scale(figure, up, custom, evidence, warnings)
    return Reading(up, unit, custom.given_fps or motion.fps, evidence, tuple(warnings))


def doubted(
    motion: Motion, *, axes: tuple[str, ...] = AXES, given_up: bool = False, given_size: bool, given_fps: bool
) -> Motion:
    """The motion with what speaks against the axis, the size and the rate it was read with.

    For formats that state their unit and axis; what its reader weighed already, and what nobody stated, is left alone.
    Neither is changed by itself: what the format's standard says holds, and another is offered. So all clips of a file
    are read alike, whether they show the fault or not.

    Args:
        motion: As it was read.
        axes: What its file calls the world's axes, in the order of AXES.
        given_up, given_size, given_fps: What the user said; it is not doubted.
    """
    source = motion.source
    if source is None or source.format in WEIGHED:
        return motion
    evidence, warnings = dict(source.evidence), list(source.warnings)
    figure = Figure(motion, axes)
    if not given_up:
        _doubt_up(figure, evidence, warnings)
    tall = height_of(motion)
    if not given_size and (doubt := size_doubt(figure.anatomy, tall)):
        warnings.append(doubt)
    if figure.anatomy.legs and motion.frame_count > 1 and not given_fps:
        _doubt_rate(figure, source, evidence, warnings)
    judged = replace(source, evidence=evidence, warnings=tuple(warnings))
    return replace(motion, source=judged).placed(*motion.world)


def doubted_rate(motion: Motion) -> Evidence | None:
    """The rate that fits a motion better than its own, which no file states; None where its own may be right."""
    figure = Figure(motion)
    evidence: dict[str, Evidence] = {}
    if figure.anatomy.legs and motion.frame_count > 1:
        table = _rate_at_any_size(figure, "z", 1.0, Custom("", {}, {}).rates, True)
        _rate(motion.fps, Custom("motions", {}, {}), table, evidence, [])
    return evidence.get("implied_fps")


def agrees_on(motion: Motion, fps: float) -> bool:
    """True if a motion's frames fit this rate better than their own by more than one kind of evidence [1/s]."""
    figure = Figure(motion)
    if not figure.anatomy.legs:
        return False
    table = _rate_at_any_size(figure, "z", 1.0, {fps / motion.fps: 0.5}, False)
    label = table.chance_of(lambda s: s.fps == motion.fps)
    return len(table.testimonies) > 1 and 1.0 - label > AGREED


def asked_again(motion: Motion) -> Motion:
    """A motion whose poses come at other times than in its file: a doubt of its frame rate is weighed anew."""
    source = motion.source
    if source is None or "implied_fps" not in source.evidence:
        return motion
    evidence, doubt = dict(source.evidence), doubted_rate(motion)
    evidence.pop("implied_fps")
    if doubt is not None:
        evidence["implied_fps"] = doubt
    return replace(motion, source=replace(source, evidence=evidence))


def size_doubt(anatomy: Anatomy, tall: float) -> str:
    """The sentence for a figure of a height [m] that few have; "" for any other."""
    people = len(anatomy.legs) == 2
    low = SMALLEST_PERSON if people and _is_upright(anatomy) else USUAL_HEIGHTS[0]
    if low <= tall <= (USUAL_HEIGHTS[1] if people else TALLEST_BEAST):
        return ""
    return (
        f"The figure is {tall:.3g} m tall in the unit of its file. Its physics is that of a body of this size: "
        f"{'slow falls, and pushes that hardly move it' if tall > 1.0 else 'fast falls, and pushes that throw it'}. "
        f"Say how tall it is meant to be with --height, such as --height {'1.8m' if people else '1m'}, "
        "or its unit with --unit."
    )


def _is_upright(anatomy: Anatomy) -> bool:
    """Whether a figure with arms, by name, has its head above its hips at rest; a dog may have arms by name, too."""
    if not anatomy.by_name or len(anatomy.arms) != 2 or anatomy.head is None:
        return False
    rest = anatomy.skeleton.rest[0]
    trunk = rest[anatomy.head] - rest[[leg.first for leg in anatomy.legs]].mean(axis=0)
    return float(trunk[2]) > ALONG_AXIS * float(np.linalg.norm(trunk))


def _doubt_up(figure: Figure, evidence: dict[str, Evidence], warnings: list[str]) -> None:
    table = weigh_stated(figure)
    if table is None or "up" not in evidence:
        return
    answer, chance = table.ask(lambda axis: axis, "z"), table.chance_of(lambda axis: axis == "z")
    if chance > UP_DOUBTED or answer.value == "z":
        return
    stated, up = evidence["up"], figure.named(str(answer.value))
    evidence["up"] = Evidence(stated.value, round(chance, 2), f"{stated.reason}; {up} is likelier: {answer.sentence}")
    warnings.append(f"The figure lies in the axes of its file ({answer.sentence}). If it should stand, give --up {up}.")


def _doubt_rate(figure: Figure, source: Source, evidence: dict[str, Evidence], warnings: list[str]) -> None:
    label = figure.motion.fps
    table = _rate_at_any_size(figure, "z", 1.0, MISLABELED, True)
    stated = source.evidence["fps"].reason if "fps" in source.evidence else f"the file says {label:.6g} Hz"
    _rate(label, Custom(source.format, {}, {}, stated=stated), table, evidence, warnings)


def _rate_at_any_size(
    figure: Figure, up: str, unit: float, rates: Mapping[float, float], any_rate: bool
) -> Table[Scale]:
    """The rate of a figure whose size is in doubt: what steps too fast is too large as often as too fast."""
    sizes, meters = {"stated": 1.0}, {"stated": unit}
    for leg in SIZES:
        if abs(math.log(leg / (unit * figure.leg))) > 0.5:
            sizes[f"leg of {leg} m"], meters[f"leg of {leg} m"] = 0.3, leg / figure.leg
    sizes = {name: share / sum(sizes.values()) for name, share in sizes.items()}
    candidates, prior = scale_candidates(figure.motion.fps, sizes, rates, meters, any_rate)
    return weigh_scale(figure, up, candidates, prior, OF_TIME)


def _up(figure: Figure, custom: Custom, evidence: dict[str, Evidence], warnings: list[str]) -> str:
    answer = weigh_up(figure, custom.up, f"{custom.kind} are").ask(lambda axis: axis)
    up, reason = str(answer.value), answer.sentence
    usual = max(custom.up, key=lambda axis: custom.up[axis])
    if answer.confidence < SURE and up != usual:
        reason = f"the custom of {custom.kind}; {up} is the likelier, but not surely ({reason})"
        up = usual
    if answer.confidence < SURE:
        warnings.append(f"The up axis is a guess, {up}. Give another with --up; poise info says why.")
    sure = answer.confidence if up == answer.value else 1.0 - answer.confidence
    evidence["up"] = Evidence(up, round(sure, 2), reason or f"the custom of {custom.kind}")
    return up


def _scale(figure: Figure, up: str, custom: Custom, evidence: dict[str, Evidence], warnings: list[str]) -> float:
    """The unit; what the frames say of the rate is reported, too."""
    label = figure.motion.fps
    units = custom.units if custom.given_unit is None else {"given": 1.0}
    meters = UNITS if custom.given_unit is None else {"given": custom.given_unit}
    rates = custom.rates if custom.given_fps is None else {}
    has_rate = figure.motion.frame_count > 1
    candidates, prior = scale_candidates(label, units, rates if has_rate else {}, meters, custom.given_fps is None)
    table = weigh_scale(figure, up, candidates, prior)
    unit = _unit(figure, custom, table.ask(lambda s: s.unit), table.best, evidence, warnings)
    if has_rate:
        if custom.given_unit is None:
            warnings += _question_of_size(figure, up, unit, label)
        if _is_odd_person(figure, unit):
            table = _rate_at_any_size(figure, up, unit, rates, custom.given_fps is None)
        _rate(label, custom, table, evidence, warnings)
    return unit


def _unit(
    figure: Figure, custom: Custom, answer: Answer, best: Scale, evidence: dict[str, Evidence], warnings: list[str]
) -> float:
    size = f"{figure.anatomy.size_words} {figure.leg:.4g} units, so"
    if custom.given_unit is not None:
        name = unit_name(custom.given_unit)
        words = f" ({UNIT_WORDS[name]})" if name else ""
        evidence["unit"] = Evidence(
            custom.given_unit, 1.0, f"given by the user{words}; {size} {figure.leg * custom.given_unit:.2f} m; {PERSON}"
        )
        return custom.given_unit
    unit, confidence = best.unit, answer.confidence
    usual = UNITS[max(custom.units, key=lambda name: custom.units[name])]
    if confidence < SURE and (not figure.anatomy.legs or _is_odd_person(figure, unit)):
        unit, confidence = usual, min(0.4, confidence)
    others = "; ".join(r for r in answer.reasons if "thigh and shank" not in r and "its size" not in r)
    doubts = "; ".join(r for r in answer.doubts if "thigh and shank" not in r and "its size" not in r)
    reason = f"{UNIT_WORDS[unit_name(unit) or 'm']}: {size} {figure.leg * unit:.2f} m; {PERSON}"
    reason += f"; {others}" if others else ""
    reason += f"; against it: {doubts}" if doubts else ""
    evidence["unit"] = Evidence(unit, round(confidence, 2), reason)
    if confidence < SURE:
        legs = f", for legs of {figure.leg * unit:.2f} m" if figure.anatomy.legs else ""
        warnings.append(
            f"The unit is a guess, {UNIT_WORDS[unit_name(unit) or 'm']}{legs}. Give another with --unit, or the "
            "figure's size with --height 1.8m; poise info says why."
        )
    elif _is_odd_person(figure, unit):
        warnings.append(
            f"Its legs are {figure.leg * unit:.3g} m long in {UNIT_WORDS[unit_name(unit) or 'm']}, which no person's "
            "are; it falls as fast as a body of that size. Give its height with --height, such as "
            "--height 1.8m, or its unit with --unit."
        )
    return unit


def _question_of_size(figure: Figure, up: str, unit: float, fps: float) -> list[str]:
    """A warning where a person's legs are not a grown person's but its falls and steps are; else nothing."""
    leg = figure.leg * unit
    if not figure.anatomy.is_person or GROWN_LEGS[0] < leg < GROWN_LEGS[1] or _is_odd_person(figure, unit):
        return []
    grown = Scale(HUMAN_LEG / figure.leg, fps)
    table = weigh_scale(figure, up, [Scale(unit, fps), grown], np.array([0.5, 0.5]), OF_TIME)
    answer = table.ask(lambda scale: scale.unit)
    if answer.value != grown.unit or answer.confidence < MOVES_AS_GROWN:
        return []
    return [
        f"Its legs of {leg:.2f} m in {UNIT_WORDS[unit_name(unit) or 'm']} are not a grown person's, but it moves as one"
        " does; its physics is that of a body of this size. Say how tall it is with --height, such as --height 1.7m."
    ]


def _is_odd_person(figure: Figure, unit: float) -> bool:
    """True for a person with legs that no person has."""
    return figure.anatomy.is_person and not PERSON_LEGS[0] < figure.leg * unit < PERSON_LEGS[1]


def _rate(
    label: float,
    custom: Custom,
    table: Table[Scale],
    evidence: dict[str, Evidence],
    warnings: list[str],
) -> None:
    stated = custom.stated or f"the file says {label:.6g} Hz"
    if custom.given_fps is not None:
        evidence["fps"] = Evidence(custom.given_fps, 1.0, f"given by the user; {stated}")
        return
    answer, chance = table.ask(lambda s: s.fps, label), table.chance_of(lambda s: s.fps == label)
    # a label that fits badly, but no other rate fits better, is not doubted
    if chance >= DOUBTED or answer.confidence <= chance:
        reasons = "; ".join(answer.reasons[:2]) if answer.value == label else ""
        evidence["fps"] = Evidence(label, round(chance, 2), f"{stated}{'; ' if reasons else ''}{reasons}")
        return
    rate = float(answer.value)  # pyright: ignore[reportArgumentType]
    evidence["fps"] = Evidence(label, round(chance, 2), f"{stated}; {rate:.6g} Hz is likelier: {answer.sentence}")
    evidence["implied_fps"] = Evidence(rate, round(answer.confidence, 2), answer.sentence)
    warnings.append(
        f"The frame rate of {label:.4g} Hz contradicts the motion, {rate:.4g} Hz fits it: {answer.sentence}. If these "
        f"are data of {rate:.4g} Hz, give --source-fps {rate:.4g}."
    )
