"""What a set-up lacks for its character to stand and be driven, each with the smallest cure; and all edits by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.tracking.calibration import lowest_points, standing_pose
from poise.tracking.retarget import center_of_mass, heading
from poise.tracking.setup.model import (
    ACTOR_LIMBS,
    DENSITIES,
    Chain,
    Setup,
    assigned,
    begin,
    cleared,
    filled,
    reshaped,
    scaled_limb,
    volume,
    with_body,
    with_contact,
    with_density,
    with_mass,
    with_role,
    with_weight,
    without_body,
    without_limb,
)

LOW = 0.06
"""Contact points this near the lowest one stand on the ground, in leg lengths."""
SHORT = 0.12
"""A carrying limb that ends so far over the ground does not reach it, in leg lengths."""
HEAVY = 1.0
"""Free limbs that weigh more than this times all the rest are too heavy [1]."""
LIGHT = 0.25
"""What a cure makes of them, of the whole."""
FACTORS = (0.15, 4.0)
"""A cure makes limbs this much lighter or heavier at most [1]."""


@dataclass(frozen=True)
class Check:
    """One thing that is wrong.

    Attributes:
        name: Which check.
        text: What is wrong, in words.
        cure: What would mend it, in words; "" where nothing small does.
        edits: The cure, edit by edit.
        limb: The limb it is about, if it is about one.
    """

    name: str
    text: str
    cure: str = ""
    edits: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
    limb: str = ""


def find_checks(setup: Setup) -> tuple[Check, ...]:
    """All that is wrong, the most basic first."""
    found: list[Check] = []
    moving = [c for c in setup.limbs if c.kind != "spine"]
    supports = [c for c in moving if c.role == "support"]
    if not supports:
        found.append(_nobody_stands(moving))
    for limb in moving:
        if limb.role != "free" and not limb.actor:
            found.append(_nobody_drives(setup, limb))
    character = setup.character
    heavy = _too_heavy(setup, character)
    found += heavy
    for limb in supports:
        found += _too_short(character, limb)
    if supports and not heavy:
        found += _off_balance(setup, character)
    return tuple(found)


def _nobody_stands(moving: list[Chain]) -> Check:
    legs = [c for c in moving if c.kind == "leg"]
    text = "No limb carries the character: none is a support limb."
    if not legs:
        return Check("nobody_stands", text + " Drag the actor's legs onto the limbs it stands on.")
    used = {c.actor for c in moving}
    free = [a for a, kind in ACTOR_LIMBS.items() if kind == "leg" and a not in used]
    edits = [{"do": "role", "limb": c.name, "role": "support", "actor": _like(c, free)} for c in legs]
    return Check("nobody_stands", text, f"Let {_listed([c.name for c in legs])} carry it", tuple(edits))


def _nobody_drives(setup: Setup, limb: Chain) -> Check:
    used = {c.actor for c in setup.limbs}
    wanted = "leg" if limb.role == "support" else limb.kind
    left = [a for a, kind in ACTOR_LIMBS.items() if a not in used and (kind == wanted or limb.role == "targeted")]
    left.sort(key=lambda a: (ACTOR_LIMBS[a] != wanted, limb.name.partition("_")[0] not in a))
    text = f"Nobody drives {_said(limb.name)}, a {limb.role} limb." if limb.role else f"{_said(limb.name)} has no role."
    if limb.role and left:
        edit = {"do": "role", "limb": limb.name, "role": limb.role, "actor": left[0]}
        return Check("nobody_drives", text, f"Let the actor's {_said(left[0])} drive it", (edit,), limb.name)
    edit = {"do": "role", "limb": limb.name, "role": "free"}
    return Check("nobody_drives", text, "Let it swing freely", (edit,), limb.name)


def _too_heavy(setup: Setup, character: Character) -> list[Check]:
    masses = {c.name: sum(setup.parts[j].body.mass for j in c.joints if j in setup.parts) for c in setup.limbs}
    free = [c for c in setup.limbs if c.role == "free"]
    total = sum(masses[c.name] for c in free)
    rest = character.mass - total
    if not free or total <= HEAVY * rest:
        return []
    factor = LIGHT / (1.0 - LIGHT) * rest / total
    names = _listed([c.name for c in free])
    verb = "weighs" if len(free) == 1 else "weigh"
    text = f"{names.capitalize()} {verb} {total:.3g} kg, more than all the rest ({rest:.3g} kg)."
    edits = tuple({"do": "scale", "limb": c.name, "factor": factor} for c in free)
    return [Check("too_heavy", text, f"Make {names} {100 * (1 - factor):.0f} % lighter", edits)]


def _posed(character: Character) -> tuple[Array, Array]:
    places, turned = body_poses(character, standing_pose(character)[None])
    return places[0], turned[0]


def _points(character: Character, places: Array, turned: Array, bodies: set[int]) -> Array:
    """Lowest places of the contact points of some bodies, shape (n, 3)."""
    own = [i for i, p in enumerate(character.contact_points) if p.body in bodies]
    return lowest_points(character, places, turned, np.array(own, dtype=np.int64))


def _too_short(character: Character, limb: Chain) -> list[Check]:
    """A carrying limb whose end stays over the ground even if it is stretched down."""
    places, turned = _posed(character)
    carrying = [x for x in character.limbs if x.role == "support"]
    own = next((x for x in carrying if x.name == limb.name), None)
    if own is None:
        return []
    ground = min(
        (float(at[:, 2].min()) for x in carrying if len(at := _points(character, places, turned, set(x.bodies)))),
        default=float(places[:, 2].min()),
    )
    lengths = [float(np.linalg.norm(character.bodies[b].offset)) for b in own.bodies[1:]]
    ends = [float(np.linalg.norm(p.offset)) + p.radius for p in character.contact_points if p.body == own.bodies[-1]]
    capsules = [float(np.linalg.norm(c.end)) + c.radius for c in character.bodies[own.bodies[-1]].capsules]
    reach = sum(lengths) + max(ends or capsules, default=0.0)
    gap = float(places[own.bodies[0], 2]) - ground - reach
    if gap < SHORT * character.leg_length:
        return []
    text = f"{_said(limb.name).capitalize()} cannot reach the ground: stretched down it ends {_length(gap)} over it."
    edit = {"do": "role", "limb": limb.name, "role": "targeted", "actor": limb.actor}
    return [Check("too_short", text, "Let it follow the actor's limb without standing on it", (edit,), limb.name)]


def _off_balance(setup: Setup, character: Character) -> list[Check]:
    """The center of mass at rest must lie over the soles; the cure is a lighter or heavier limb."""
    places, turned = _posed(character)
    bodies = {b for x in character.limbs if x.role == "support" for b in x.bodies}
    points = _points(character, places, turned, bodies)
    if not len(points):
        return []
    low = points[points[:, 2] < points[:, 2].min() + LOW * character.leg_length]
    masses = np.array([b.mass for b in character.bodies])
    centers = places + rotations.rotate(turned, np.array([b.com for b in character.bodies]))
    com = center_of_mass(character, places, turned)
    off = _outside(low[:, :2], com[:2])
    size = float(np.linalg.norm(off))
    if size < 0.01 * character.leg_length:
        return []
    way = _way(character, places, off)
    text = f"At rest the center of mass lies {_length(size)} {way} the soles; it would tip over."
    along = -off / size
    wanted = float(com[:2] @ along) + size + 0.02 * character.leg_length  # a little inside
    levers = []
    for limb in character.limbs:
        if limb.role != "support" and limb.kind != "spine":
            index = list(limb.bodies)
            mass = float(masses[index].sum())
            levers.append((mass * (float((masses[index] @ centers[index])[:2] @ along) / mass - wanted), limb.name))
    levers.sort(key=lambda item: -abs(item[0]))
    missing = float(masses.sum()) * (wanted - float(com[:2] @ along))
    changes: list[tuple[str, float]] = []
    for lever, name in levers:  # by the longest lever first, as far as it may go
        if missing <= 0.0 or abs(lever) < 1e-9:
            break
        low, high = _range(setup, name)
        factor = min(max(1.0 + missing / lever, low), high)
        if abs(factor - 1.0) > 1e-3:
            missing -= (factor - 1.0) * lever
            changes.append((name, factor))
    if missing > 1e-9 * float(masses.sum()) or not changes:
        return [Check("off_balance", text + " Change masses, or give it a rest pose that stands.")]
    alike: dict[str, list[str]] = {}
    for name, factor in changes:
        change = f"{100 * abs(1 - factor):.0f} % {'lighter' if factor < 1 else 'heavier'}"
        alike.setdefault(change, []).append(name)
    words = [f"{_listed(names)} {change}" for change, names in alike.items()]
    edits = tuple({"do": "scale", "limb": n, "factor": f} for n, f in changes)
    return [Check("off_balance", text, f"Make {', '.join(words)}", edits, changes[0][0])]


def _range(setup: Setup, name: str) -> tuple[float, float]:
    """How much lighter and heavier a limb may become [1]."""
    limb = next(c for c in setup.limbs if c.name == name)
    bodies = [setup.parts[j].body for j in limb.joints if j in setup.parts]
    densities = [b.mass / volume(b.capsules) for b in bodies]
    low, high = DENSITIES[0] / min(densities), DENSITIES[1] / max(densities)
    return min(1.0, max(FACTORS[0], 1.001 * low)), max(1.0, min(FACTORS[1], 0.999 * high))


def _outside(points: Array, at: Array) -> Array:
    """From the nearest place of the convex hull of points (n, 2) to a place outside of it; zero inside."""
    hull = _hull(points)
    count = len(hull)
    if count >= 3:
        sides = np.roll(hull, -1, axis=0) - hull
        cross = sides[:, 0] * (at - hull)[:, 1] - sides[:, 1] * (at - hull)[:, 0]
        if (cross >= 0.0).all():
            return np.zeros(2)
    best, nearest = math.inf, hull[0]
    for k in range(count):
        a, b = hull[k], hull[(k + 1) % count]
        way = b - a
        part = float(np.clip((at - a) @ way / max(float(way @ way), 1e-12), 0.0, 1.0))
        near = a + part * way
        if (size := float(np.linalg.norm(at - near))) < best:
            best, nearest = size, near
    return at - nearest


def _hull(points: Array) -> Array:
    """Corners of the convex hull, counterclockwise."""
    order = sorted({(round(float(x), 9), round(float(y), 9)) for x, y in points})
    if len(order) < 3:
        return np.array(order)

    def half(row: list[tuple[float, float]]) -> list[tuple[float, float]]:
        out: list[tuple[float, float]] = []
        for x, y in row:
            while len(out) > 1 and (
                (out[-1][0] - out[-2][0]) * (y - out[-2][1]) - (out[-1][1] - out[-2][1]) * (x - out[-2][0]) <= 0.0
            ):
                out.pop()
            out.append((x, y))
        return out[:-1]

    return np.array(half(order) + half(order[::-1]))


def _way(character: Character, places: Array, off: Array) -> str:
    """Where something lies, as seen by the character."""
    yaw = heading(character, places)
    ahead = float(off @ np.array([math.cos(yaw), math.sin(yaw)]))
    left = float(off @ np.array([-math.sin(yaw), math.cos(yaw)]))
    if abs(ahead) >= abs(left):
        return "ahead of" if ahead > 0.0 else "behind"
    return "to the left of" if left > 0.0 else "to the right of"


def _length(meters: float) -> str:
    return f"{100.0 * meters:.0f} cm" if meters < 1.0 else f"{meters:.2f} m"


def _said(name: str) -> str:
    return name.replace("_", " ")


def _listed(names: list[str]) -> str:
    words = [_said(n) for n in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _like(limb: Chain, left: list[str]) -> str:
    """An actor's limb of the same side that is left; else any."""
    same = [a for a in left if a.partition("_")[0] == limb.name.partition("_")[0]]
    return (same or left or ["left_leg"])[0]


# --- edits as a page or a script words them


def _number(given: Mapping[str, Any], name: str) -> float:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e6:
        raise InvalidValue(f"{name} is not a number.")
    return float(value)


def _index(given: Mapping[str, Any], name: str) -> int:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 65536:
        raise InvalidValue(f"{name} is not an index.")
    return value


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or len(value) > 100:
        raise InvalidValue(f"{name} is not a name.")
    return value


def _place(given: Mapping[str, Any], name: str) -> Array:
    value = given.get(name)
    if not isinstance(value, list) or len(value) != 3:
        raise InvalidValue(f"{name} is not a list of three numbers.")
    return np.array([_number({name: x}, name) for x in value])


EDITS: dict[str, Callable[[Setup, Mapping[str, Any]], Setup]] = {
    "body": lambda s, e: with_body(s, _index(e, "joint")),
    "remove": lambda s, e: without_body(s, _index(e, "joint")),
    "fill": lambda s, e: filled(s, _index(e, "from"), _index(e, "to")),
    "all": lambda s, e: begin(replace(s.proposal, weights=s.weights, rest_poses=s.rest_poses)),
    "clear": lambda s, e: cleared(s),
    "capsule": lambda s, e: reshaped(
        s, _index(e, "joint"), _index(e, "index"), _place(e, "start"), _place(e, "end"), _number(e, "radius")
    ),
    "mass": lambda s, e: with_mass(s, _index(e, "joint"), _number(e, "kg")),
    "density": lambda s, e: with_density(s, _index(e, "joint"), _number(e, "kg_m3")),
    "scale": lambda s, e: scaled_limb(s, _text(e, "limb"), _number(e, "factor")),
    "contact": lambda s, e: with_contact(s, _index(e, "joint"), touches=bool(e.get("on"))),
    "assign": lambda s, e: assigned(s, _index(e, "joint"), _text(e, "actor")),
    "role": lambda s, e: with_role(s, _text(e, "limb"), _text(e, "role"), _text({"actor": "", **e}, "actor")),
    "drop": lambda s, e: without_limb(s, _text(e, "limb")),
    "weight": lambda s, e: with_weight(s, _text(e, "name"), _number(e, "value")),
}
"""What can be done, by name."""


def edited(setup: Setup, edit: Mapping[str, Any]) -> Setup:
    """The setup after one edit, such as {"do": "assign", "joint": 12, "actor": "left_leg"}.

    Raises:
        InvalidValue: what is wrong with it, in words that may be shown.
    """
    do = edit.get("do")
    change = EDITS.get(do) if isinstance(do, str) else None
    if change is None:
        raise InvalidValue(f"There is no edit {str(do)[:40]!r}. Edits: {', '.join(EDITS)}.")
    return change(setup, edit)
