"""How long a unit is and how fast the frames follow each other: both at once, for a fall or a step shows their product.

A length of x units is x·u meters and n frames last n/f seconds. A free fall of a units/frame² is a·u·f² m/s², which is
9.81 on Earth; a step of n frames on a leg of L units has the dimensionless frequency (f / n) √(L u / g), which people
of every size keep (Froude). So a wrong unit and a wrong rate look alike to each witness, and differ to all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from poise.core.units import GRAVITY, HUMAN_LEG, UNITS
from poise.intake.figure import Array, Figure, busiest_frequency, fastest_fall, find_gait, find_swing, least_gravity
from poise.intake.table import Table, Testimony, weigh

COMMON_RATES = (12.0, 15.0, 24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 90.0, 100.0, 120.0, 144.0, 200.0, 240.0)
"""Frame rates in use [1/s]."""
CAPTURED = 120.0
"""The rate of most optical captures, which programs label with the rate of their scene [1/s]."""
UNIT_WORDS = {
    "m": "meters", "dm": "decimeters", "cm": "centimeters", "mm": "millimeters", "inch": "inches", "ft": "feet",
    "cmu": "the CMU unit",
}  # fmt: skip
PEOPLE = ((0.72, HUMAN_LEG, 0.10), (0.13, 0.6, 0.25), (0.15, HUMAN_LEG, 0.8))
"""Share, leg [m] and spread of its logarithm of grown people, of small ones, and of everything else with legs."""
RECORDED = (0.12, 2.2)
"""Legs of figures that are recorded, from a cat to an elephant [m]."""
OF_PEOPLE = (0.4, 1.3)
"""Legs of people, from four years on [m]."""
WALK_FREQUENCY, WALK_STEP, WALK_POWER = 0.52, 0.83, 0.25
"""A walk with steps of WALK_STEP leg lengths has the dimensionless frequency WALK_FREQUENCY; longer steps are quicker,
with this power. The correctly labeled walks of the test clips keep to it within 25 %, but for a sleepwalker's."""
RUN_FREQUENCY = 0.7
"""The same of runs, which keep to it within 30 %."""

SWING, SWING_LENGTH, SWING_POWER = 1.6, 1.5, 0.25
"""A foot swings for this dimensionless time over SWING_LENGTH leg lengths, walking or running; longer swings take
longer, with this power. Most of the correctly labeled test clips keep to it within 25 %."""

ALOFT = 0.25
"""In a run both feet move in at least this share of the time in which one does: nothing carries the body then [1]."""
RUN_FALL, RUN_FALL_SPREAD = 0.85, 0.35
"""The body of a runner falls with at least the first [g] for a moment; spread of the logarithm below it [1]. Correctly
labeled runs begin at 0.9 g."""
WALK_HOLD, HOLD_POWER, RUN_HOLD = 1.65, -0.6, 1.4
"""A walk with steps of WALK_STEP leg lengths may be played WALK_HOLD times as fast until its feet no longer hold the
body, longer steps less, with HOLD_POWER; a run RUN_HOLD times [1]."""
HOLD_SPREAD, RUN_SPREAD = 0.25, 0.25
"""Spreads of their logarithms [1]."""


@dataclass(frozen=True)
class Scale:
    """One way to read lengths and times: meters per unit, and frames per second."""

    unit: float
    fps: float


def scale_candidates(
    label: float, units: Mapping[str, float], rates: Mapping[float, float], meters: Mapping[str, float], any_rate: bool
) -> tuple[list[Scale], Array]:
    """Every unit with every rate, and how usual each pair is.

    Args:
        label: The rate the file states [1/s].
        units: How usual each unit is, by name.
        rates: How usual rates other than the label's are, as factors of it.
        meters: Length of each of these units [m].
        any_rate: True if any common rate is possible.
    """
    usual = {_common(label * factor): share for factor, share in rates.items()}
    for rate in COMMON_RATES if any_rate else ():
        if 0.24 < rate / label < 5.1 and not any(abs(rate - r) < 0.02 * r for r in (label, *usual)):
            usual[rate] = max(0.002, 0.2 * max(rates.values(), default=0.0) if rate == CAPTURED else 0.0)
    usual[label] = 1.0 - sum(usual.values())
    pairs = [(Scale(meters[name], rate), a * b) for name, a in units.items() for rate, b in usual.items()]
    return [scale for scale, _ in pairs], np.array([share for _, share in pairs])


def leg_is_a_leg(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale]:
    """Most figures are grown people; their legs hardly differ. Of beasts that is no evidence."""
    leg, trust = figure.leg, figure.anatomy.personhood
    likely = [_of_a_leg(leg * c.unit, trust) for c in candidates]

    def why(scale: Scale) -> str:
        return f"{figure.anatomy.size_words} {leg * scale.unit:.2f} m in {_unit_words(scale.unit)}"

    return Testimony("leg", np.array(likely), why)


def bodies_are_of_a_size(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """What walks and is recorded has legs between a cat's and an elephant's, and a person has those of one.

    A toy of a person has none that any unit makes a person's; then this says nothing.
    """
    if not figure.anatomy.legs:
        return None
    least, most = OF_PEOPLE if figure.anatomy.is_person else RECORDED
    sizes = [figure.leg * c.unit for c in candidates]
    likely = [1.0 if least < size < most else 0.02 for size in sizes]
    return Testimony("its size", np.array(likely), lambda c: "")


def flights_fall(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """What nothing carries falls with 9.81 m/s²."""
    falls = np.array([fall for _, _, fall in figure.stances(up).flights]) if figure.moves else np.array([])
    if not len(falls):
        return None
    typical = float(np.exp(np.median(np.log(falls)))) * figure.leg
    certain = min(len(falls), 3)

    def gravity(scale: Scale) -> float:
        return typical * scale.unit * scale.fps**2

    likely = [_bell(math.log(gravity(c) / GRAVITY), ((0.6, 0.15), (0.4, 0.6))) ** certain for c in candidates]
    count = f"{len(falls)} flights fall" if len(falls) > 1 else "1 flight falls"
    return Testimony(
        "flights",
        np.array(likely),
        lambda c: f"{count} with {gravity(c):.1f} m/s² in {_unit_words(c.unit)} at {c.fps:.4g} Hz",
    )


def nothing_falls_faster(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """Nobody falls faster than free fall."""
    fastest = _fastest(figure, up)
    seen = [fastest(c) for c in candidates]
    if all(s is None for s in seen):
        return None
    likely = [1.0 if s is None else math.exp(-0.5 * (max(0.0, s - 1.25) / 0.5) ** 2) for s in seen]

    def why(scale: Scale) -> str:
        fall = fastest(scale)
        if fall is None:
            return ""
        reason = f"the body falls with up to {fall:.2f} g in {_unit_words(scale.unit)} at {scale.fps:.4g} Hz"
        return reason + (", faster than anything falls" if fall > 1.25 else "")

    return Testimony("free fall", np.maximum(likely, 0.02), why)


def runners_fall(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """Between the steps of a run nothing carries the body, so it falls; what is played too slowly hangs in the air."""
    gait = find_gait(figure)
    if gait is None or gait.legs != 2 or gait.aloft < ALOFT:
        return None
    fastest = _fastest(figure, up)
    seen = [fastest(c) for c in candidates]
    if any(s is None for s in seen):
        return None
    short = [max(0.0, math.log(RUN_FALL / max(s or 0.0, 1e-3))) / RUN_FALL_SPREAD for s in seen]

    def why(scale: Scale) -> str:
        fall = fastest(scale) or 0.0
        reason = f"it runs and falls with {fall:.2f} g between its steps at {scale.fps:.4g} Hz"
        return reason + (", too slowly" if fall < 0.5 * RUN_FALL else "")

    return Testimony("runs", np.exp(-0.5 * np.square(short)), why)


def _fastest(figure: Figure, up: str) -> Callable[[Scale], float | None]:
    """How fast the body falls at its fastest under each candidate [g]; None where the clip is too short to tell."""
    found: dict[int, float | None] = {}

    def fastest(scale: Scale) -> float | None:
        window = round(0.42 * math.sqrt(figure.leg * scale.unit / GRAVITY) * scale.fps)
        if window not in found:
            found[window] = fastest_fall(figure, up, min(window, 200))
        fall = found[window]
        return None if fall is None else fall * figure.leg * scale.unit * scale.fps**2 / GRAVITY

    return fastest


def steps_keep_time(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """Legs of every size step at the same dimensionless frequency for steps of the same length, and swing as long.

    Cadence and swing of one gait are one evidence: a slow walker is slow in both, so their mean is judged.
    """
    gait, swing = find_gait(figure), find_swing(figure, up)
    if gait is None and swing is None:
        return None
    on_foot = gait is not None and gait.on_foot
    swings = SWING * (swing.length / SWING_LENGTH) ** SWING_POWER if swing else SWING
    usual = WALK_FREQUENCY * (gait.length / WALK_STEP) ** WALK_POWER if gait and on_foot else RUN_FREQUENCY
    # spreads of the logarithm if it is faster and slower than usual; sneaking and strolling are commoner than scurrying
    fast, slow = (0.22, 0.4) if gait else (0.22, 0.6)
    if gait and on_foot:
        fast, slow = (0.18 if gait.walks else 0.24), 0.25  # a dance on the spot is quicker
    if gait:  # whoever turns or stops takes some quick steps
        fast = math.hypot(fast, gait.spread)

    def pace(scale: Scale) -> float:
        return scale.fps * math.sqrt(figure.leg * scale.unit / GRAVITY)

    def beside(scale: Scale) -> float:
        found = [math.log(2.0 * pace(scale) / gait.stride / usual)] if gait else []
        return float(np.mean(found + ([math.log(pace(scale) * swings / swing.time)] if swing else [])))

    def likely(scale: Scale) -> float:
        near, far = (fast, 0.5) if beside(scale) > 0.0 else (slow, 0.8)
        return _bell(beside(scale), ((0.95, near), (0.05, far)))

    def why(scale: Scale) -> str:
        leg = f"at {scale.fps:.4g} Hz on a leg of {figure.leg * scale.unit:.2f} m"
        time = math.sqrt(figure.leg * scale.unit / GRAVITY)
        reasons = []
        if gait:
            reasons.append(
                f"{120.0 * scale.fps / gait.stride:.0f} steps a minute {leg}; "
                f"{60.0 * usual / time:.0f} are usual for steps of that length"
            )
        if swing:
            where = "" if gait else f" {leg}"
            reasons.append(f"a foot swings for {swing.time / scale.fps:.2f} s{where}, {swings * time:.2f} s are usual")
        return "; ".join(reasons)

    return Testimony("steps", np.array([likely(c) for c in candidates]), why)


def feet_hold_the_body(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """How much faster a gait could be played until its feet no longer hold the body, beside what is usual.

    A slow walker keeps the weight over its feet. A quick walk that is played slowly has it as far beside them as ever,
    so the two differ, though both step slowly.
    """
    gait, least = find_gait(figure), least_gravity(figure, up)
    if gait is None or least is None:
        return None
    usual, spread = RUN_HOLD, RUN_SPREAD
    if gait.walks:
        usual, spread = WALK_HOLD * (gait.length / WALK_STEP) ** HOLD_POWER, HOLD_SPREAD

    def faster(scale: Scale) -> float:
        return math.sqrt(GRAVITY / (least * figure.leg * scale.unit)) / scale.fps

    likely = [_bell(math.log(faster(c) / usual), ((0.95, spread), (0.05, 3.0 * spread))) for c in candidates]
    return Testimony(
        "balance",
        np.array(likely),
        lambda c: f"its feet would hold it up to {faster(c):.2g} × the speed, {usual:.2g} × is usual of such steps",
    )


def bodies_are_slow(figure: Figure, up: str, candidates: Sequence[Scale]) -> Testimony[Scale] | None:
    """The motion of joints has little beyond a certain frequency, which goes with the size of the body."""
    frequency = busiest_frequency(figure)
    gait = find_gait(figure)
    if frequency is None or frequency == 0.0 or (gait and (gait.walks or not gait.on_foot)):  # steps tell it better
        return None

    def seen(scale: Scale) -> float:
        return frequency * scale.fps * math.sqrt(figure.leg * scale.unit / GRAVITY)

    likely = [_bell(math.log(seen(c) / 0.65), ((0.5, 0.4), (0.5, 1.5))) for c in candidates]
    return Testimony(
        "rhythm", np.array(likely), lambda c: f"nine tenths of the motion lie below {frequency * c.fps:.1f} Hz"
    )


Witness = Callable[[Figure, str, Sequence[Scale]], Testimony[Scale] | None]
WITNESSES: tuple[Witness, ...] = (
    leg_is_a_leg,
    bodies_are_of_a_size,
    flights_fall,
    nothing_falls_faster,
    runners_fall,
    steps_keep_time,
    feet_hold_the_body,
    bodies_are_slow,
)
"""Everyone who is asked how long a unit is and how fast the frames follow each other."""
OF_TIME: tuple[Witness, ...] = (flights_fall, steps_keep_time, feet_hold_the_body, bodies_are_slow)
"""Those who are asked where the size is not in question. Drawn figures often fall too fast; flights say it once."""


def weigh_scale(
    figure: Figure, up: str, candidates: Sequence[Scale], prior: Array, witnesses: Sequence[Witness] = WITNESSES
) -> Table[Scale]:
    """Units and rates with what every witness says of them."""
    return weigh(candidates, prior, [witness(figure, up, candidates) for witness in witnesses])


def unit_name(unit: float) -> str | None:
    """The name under which a unit is known, None for a number of its own."""
    return next((name for name, meters in UNITS.items() if abs(meters - unit) < 1e-6 * meters), None)


def _common(rate: float) -> float:
    """The common rate that a printed frame time means, else the rate as it is [1/s]."""
    return min((r for r in COMMON_RATES if abs(r - rate) < 0.005 * r), key=lambda r: abs(r - rate), default=rate)


def _unit_words(unit: float) -> str:
    name = unit_name(unit)
    return UNIT_WORDS[name] if name else f"units of {unit:.4g} m"


def _of_a_leg(leg: float, trust: float) -> float:
    """How usual a leg of this length is [m]."""
    people = sum(share * _normal(math.log(max(leg, 1e-12) / usual), spread) for share, usual, spread in PEOPLE)
    return trust * people + (1.0 - trust) * _normal(math.log(max(leg, 1e-12) / HUMAN_LEG), 1.0)


def _bell(x: float, parts: Sequence[tuple[float, float]]) -> float:
    """Mixture of normal densities about 0: share and spread of each."""
    return sum(share * _normal(x, spread) for share, spread in parts)


def _normal(x: float, spread: float) -> float:
    return math.exp(-0.5 * (x / spread) ** 2) / spread
