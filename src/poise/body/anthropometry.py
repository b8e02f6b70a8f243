"""How heavy and how thick: mass shares, radii and inertias of body segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise.body.parts import Capsule
from poise.core.errors import InvalidValue
from poise.core.typing import Array

DE_LEVA = {
    "head": 0.0694,
    "upper_trunk": 0.1596,
    "middle_trunk": 0.1633,
    "lower_trunk": 0.1117,
    "upper_arm": 0.0271,
    "forearm": 0.0162,
    "hand": 0.0061,
    "thigh": 0.1416,
    "shin": 0.0433,
    "foot": 0.0137,
}
"""Share of the whole mass of each segment of a man, head with neck; arms and legs count twice. Source: de Leva, P.
(1996), "Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters", J. Biomechanics 29(9), table 4."""

RADII = {
    "pelvis": (0.095, 0.35),
    "spine": (0.095, 0.8),
    "chest": (0.1, 0.6),
    "neck": (0.05, 0.6),
    "head": (0.085, 0.45),
    "collar": (0.05, 0.35),
    "upper_arm": (0.045, 0.16),
    "forearm": (0.036, 0.14),
    "hand": (0.028, 0.16),
    "thigh": (0.075, 0.18),
    "shin": (0.05, 0.125),
    "foot": (0.035, 0.25),
    "toe": (0.022, 0.35),
    "tail": (0.03, 0.18),
    "other": (0.03, 0.18),
}
"""Radius of each part: of a person 2.3 m from toe to fingertip [m], and as a share of the part's own bone."""

PERSON_MASS, PERSON_HEIGHT = 70.0, 1.7
"""Mass of a human-sized figure when none is given [kg], and the height that belongs to it [m]."""

PERSON_HEIGHTS = (1.35, 2.1)
"""Heights called human-sized [m]; the mass outside them goes with (height / 1.7 m)³."""

DENSITY = 1000.0
"""Of a body [kg/m³]; people's is 985 to 1065. No figure is heavier than what its skin encloses."""

FATTER = 8.0
"""Drawn spiders, crabs, beetles and fish enclose about so many times what animals of their length weigh [1]."""

LEAST_FILLED = 0.1
"""A skin that encloses less than this share of the mass of its size is open [1]."""

LEAST_SHARE = 0.004
"""No body is lighter than this share of the whole: a lighter one makes the mass matrix ill-conditioned."""


def default_mass(height: float, *, two_legged: bool = True, volume: float | None = None) -> float:
    """Mass when none is given [kg]: 70 kg for a two-legged, human-sized figure, else 70 kg · (height / 1.7)³.

    Those others are no heavier than what their skin encloses: a tall hat weighs little. An open skin encloses nothing.

    Args:
        height: Stature stretched out: leg, spine, neck and head [m].
        two_legged: False for figures on four legs, whose mass always goes with the cube of their size.
        volume: Of the skin [m³]; None where it is not known.
    """
    low, high = PERSON_HEIGHTS
    if two_legged and low <= height <= high:
        return PERSON_MASS
    mass, drawn = PERSON_MASS * (height / PERSON_HEIGHT) ** 3, DENSITY * (volume or 0.0)
    return min(mass, drawn) if drawn > LEAST_FILLED * mass else mass


def beast_mass(volume: float) -> float:
    """Mass of what is shaped like no person and no quadruped, such as a spider or a fish [kg]: 1000 kg/m³ V / FATTER.

    Args:
        volume: Of the skin [m³].
    """
    return DENSITY * volume / FATTER


def radius_of(part: str, length: float, scale: float) -> float:
    """Radius of a part's capsule [m]: a share of its bone, kept between 0.6 and 1.25 times a scaled person's.

    Args:
        part: A name in `RADII`.
        length: Length of its bone [m].
        scale: Size of the figure against a person.
    """
    person, share = RADII[part]
    return float(np.clip(share * length, 0.6 * person * scale, 1.25 * person * scale))


RULES = ("auto", "anthropometric", "length")
"""How a mass can be shared among the bodies."""


def shares(
    rule: str, parts: Sequence[str], sides: Sequence[str], lengths: Sequence[float], *, two_legged: bool
) -> Array:
    """Mass shares by a rule: people by the table, all others by bone length; or either where it is asked for."""
    if rule == "length" or (rule == "auto" and not (two_legged and is_person(parts, sides))):
        return shares_by_length(lengths)
    return shares_by_table(parts, sides, lengths)


def shares_by_length(lengths: Sequence[float]) -> Array:
    """Mass shares in proportion to the length of each body's bones, none below `LEAST_SHARE`; they sum to 1."""
    weights = np.asarray(lengths, dtype=np.float64)
    return _with_floor(weights / weights.sum())


def shares_by_table(parts: Sequence[str], sides: Sequence[str], lengths: Sequence[float]) -> Array:
    """Mass shares of a two-legged figure with arms by `DE_LEVA`; a segment of several bodies is split by bone length.

    The pelvis takes the lower trunk; spine, chest and collars share the middle and upper trunk; neck and head share
    the head. A forearm, shin or foot without a hand, foot or toe body takes that segment's mass as well.

    Raises:
        InvalidValue: if the figure has no legs and arms on both sides: the table is for people.
    """
    lacking = _lacking(parts, sides)
    if lacking:
        raise InvalidValue(f'Anthropometric masses are for people; this figure has no {lacking}. Use masses="length".')
    trunk = DE_LEVA["upper_trunk"] + DE_LEVA["middle_trunk"]
    pools: list[tuple[float, list[int]]] = [(DE_LEVA["lower_trunk"], _those(parts, sides, ("pelvis",), None))]
    pools.append((trunk, _those(parts, sides, ("spine", "chest", "collar"), None)))
    pools.append((DE_LEVA["head"], _those(parts, sides, ("neck", "head"), None)))
    for side in ("left", "right"):
        pools.append((DE_LEVA["upper_arm"], _those(parts, sides, ("upper_arm",), side)))
        pools.append((DE_LEVA["thigh"], _those(parts, sides, ("thigh",), side)))
        for upper, end, ends in (("forearm", "hand", ("hand",)), ("shin", "foot", ("foot", "toe"))):
            tip = _those(parts, sides, ends, side)
            pools.append((DE_LEVA[upper] + (0.0 if tip else DE_LEVA[end]), _those(parts, sides, (upper,), side)))
            pools.append((DE_LEVA[end], tip))
    shares = np.zeros(len(parts))
    for share, members in pools:
        own = np.array([lengths[i] for i in members])
        for i, length in zip(members, own):
            shares[i] += share * length / own.sum()
    return _with_floor(shares / shares.sum())


def is_person(parts: Sequence[str], sides: Sequence[str]) -> bool:
    """True if the figure has the limbs of `DE_LEVA`, both sides of each."""
    return not _lacking(parts, sides)


def _lacking(parts: Sequence[str], sides: Sequence[str]) -> str:
    """The first limb of a person that the figure lacks, in words; empty if none."""
    for part in ("thigh", "shin", "upper_arm", "forearm"):
        for side in ("left", "right"):
            if not any(p == part and s == side for p, s in zip(parts, sides)):
                return f"{side} {part.replace('_', ' ')}"
    return ""


def _those(parts: Sequence[str], sides: Sequence[str], wanted: tuple[str, ...], side: str | None) -> list[int]:
    return [i for i, (p, s) in enumerate(zip(parts, sides)) if p in wanted and (side is None or s == side)]


def _with_floor(shares: Array) -> Array:
    low = shares < LEAST_SHARE
    raised = np.where(low, LEAST_SHARE, shares)
    rest = 1.0 - LEAST_SHARE * low.sum()
    raised[~low] *= rest / raised[~low].sum()
    return raised


def capsule_inertia(capsules: Sequence[Capsule], mass: float) -> tuple[Array, Array]:
    """Center of mass [m] (3,) and inertia about it [kg m²] (3, 3) of capsules of one uniform density.

    A capsule of radius r and rod length L is a cylinder of mass m_c and two half balls of mass m_b together; about its
    middle, along the rod m_c r²/2 + m_b 2r²/5, across it m_c (L²/12 + r²/4) + m_b (2r²/5 + L²/4 + 3Lr/8).
    Capsules may overlap; each counts whole.

    Args:
        capsules: At least one.
        mass: Their total mass [kg].
    """
    volumes = np.array([_volume(c) for c in capsules])
    shares = mass * volumes / volumes.sum()
    middles = np.array([0.5 * (c.start + c.end) for c in capsules])
    com = shares @ middles / mass
    inertia = np.zeros((3, 3))
    for capsule, share, middle in zip(capsules, shares, middles):
        arm = middle - com
        inertia += _one_capsule(capsule, float(share)) + share * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return com, inertia


def _volume(capsule: Capsule) -> float:
    length = float(np.linalg.norm(capsule.end - capsule.start))
    return np.pi * capsule.radius**2 * (length + 4.0 / 3.0 * capsule.radius)


def _one_capsule(capsule: Capsule, mass: float) -> Array:
    rod = capsule.end - capsule.start
    length, r = float(np.linalg.norm(rod)), capsule.radius
    balls = mass * (4.0 / 3.0 * np.pi * r**3) / _volume(capsule)
    cylinder = mass - balls
    along = cylinder * r**2 / 2.0 + balls * 2.0 * r**2 / 5.0
    across = cylinder * (length**2 / 12.0 + r**2 / 4.0)
    across += balls * (2.0 * r**2 / 5.0 + length**2 / 4.0 + 3.0 * length * r / 8.0)
    u = rod / length if length > 1e-12 else np.array([0.0, 0.0, 1.0])
    return across * np.eye(3) + (along - across) * np.outer(u, u)
