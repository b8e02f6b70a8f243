"""The ground a clip was made for, as its own file carries it: facts that JSON holds, and a line of text."""

from __future__ import annotations

import json
import math
from typing import Any

from poise.core.motion import Ground

KINDS = ("flat", "slope", "step", "stairs", "rough")
"""Grounds that are carried along: those that need no file of their own."""
LONGEST = 400
"""No ground takes more letters [1]."""


def ground_facts(ground: Ground | None) -> dict[str, Any] | None:
    """A ground as JSON holds it; None for none, and for one that lives in a file of its own."""
    if ground is None or _kind(ground.spec) not in KINDS:
        return None
    numbers = [float(n) for n in (*ground.origin, ground.heading, ground.height)]
    return {"spec": ground.spec, "origin": numbers[:2], "heading": numbers[2], "height": numbers[3]}


def ground_from(facts: Any) -> Ground | None:
    """The ground that such facts describe; None if they describe none. Nobody vouches for what a file says."""
    try:
        if not isinstance(facts["spec"], str) or len(facts["spec"]) > 100 or _kind(facts["spec"]) not in KINDS:
            return None
        numbers = [float(n) for n in (*facts["origin"], facts["heading"], facts["height"])]
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if len(numbers) != 4 or not all(math.isfinite(n) and abs(n) < 1e6 for n in numbers):
        return None
    return Ground(facts["spec"], (numbers[0], numbers[1]), numbers[2], numbers[3])


def ground_noted(animations: list[dict[str, Any]], index: int) -> Ground | None:
    """The ground noted beside one animation of a glTF."""
    extras = animations[index].get("extras") if index < len(animations) else None
    note = extras.get("poise") if isinstance(extras, dict) else None
    return ground_from(note.get("ground")) if isinstance(note, dict) else None


def ground_text(ground: Ground | None) -> str:
    """A ground in one line of plain letters; empty for none."""
    facts = ground_facts(ground)
    return "" if facts is None else json.dumps(facts, separators=(",", ":"))


def ground_of_text(text: str) -> Ground | None:
    """The ground of such a line; None if it is none."""
    if not text or len(text) > LONGEST:
        return None
    try:
        return ground_from(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _kind(spec: str) -> str:
    return spec.partition(":")[0].partition("@")[0]
