"""Contacts as a user edits them: for each contact point, the times from and to which it touches.

A report of a repair has them under "contacts", and that report, edited, is read back:

    "contacts": {"LeftFoot.heel": ["0:0.42", "1.1:1.5"], "LeftHand": ["0.8:1.2"]}

Times are in seconds, first and last frame of the touch. A name is a contact point, or a body or role, which means all
of its points. What is not named does not touch. A touch such as "0.8:1.2 grip" holds on: its force may also pull.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from poise.body.character import Character
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.core.typing import Array, Flags
from poise.io.files import parse_json, read_text
from poise.phases.points import runs

Touches = Mapping[str, list[str]]
"""By name, the touches of a point, a body or a role as "start:end" [s]."""


GRIP = "grip"
"""Behind the times of a touch that may pull."""


def touches_of(flags: Flags, times: Array, character: Character, grips: Flags | None = None) -> dict[str, list[str]]:
    """Flags (F, P) as text, without points that never touch. `grips` are those that may pull.

    Example:
        >>> touches_of(seen.touch.flags, motion.times, character)
        {'LeftFoot.heel': ['0:0.42', '1.1:1.5']}
    """
    if grips is None:
        grips = np.zeros_like(flags)
    kinds = ((flags & ~grips, ""), (flags & grips, f" {GRIP}"))
    return {
        point.name: [
            f"{round(times[a], 4):.10g}:{round(times[b], 4):.10g}{word}"
            for kind, word in kinds
            for a, b in runs(kind[:, i])
        ]
        for i, point in enumerate(character.contact_points)
        if flags[:, i].any()
    }


def flags_of(touches: Touches, times: Array, character: Character, *, only_grips: bool = False) -> Flags:
    """Which contact point touches in which frame, shape (F, P). Times between frames mean the nearest one.

    Args:
        touches: By name, as `touches_of` gives them.
        times: Of the frames [s], shape (F,).
        character: P contact points.

    Raises:
        UnknownName: if a name is not a contact point, body or role.
        InvalidValue: if a touch cannot be read, ends before it starts, or lies outside of the clip.

    Example:
        >>> flags = flags_of({"LeftHand": ["0.8:1.2"]}, motion.times, character)
    """
    flags = np.zeros((len(times), len(character.contact_points)), dtype=np.bool_)
    for name, spans in touches.items():
        points = _points(character, name)
        for text in spans:
            start, end, is_grip = _span(name, text, times)
            if is_grip or not only_grips:
                flags[start : end + 1, points] = True
    return flags


def load_touches(path: str | PathLike[str]) -> dict[str, list[str]]:
    """The "contacts" of a repair's report or of a JSON file of the same form.

    Example:
        >>> import json, pathlib
        >>> pathlib.Path("touches.json").write_text(json.dumps({"contacts": {"left_foot": ["0:0.4"]}}))
        >>> touches = poise.edit.load_touches("touches.json")  # for poise.edit.repair(motion, contacts=touches)

    Raises:
        FileFormatError: if there are none, or they have another form.
    """
    data = parse_json(Path(path), read_text(Path(path)))
    found = cast(dict[str, Any], data).get("contacts") if isinstance(data, dict) else None
    if not isinstance(found, dict):
        raise FileFormatError(
            "There are no contacts in it.", path=path, cure='Give the report of a repair, or {"contacts": {…}}.'
        )
    for name, spans in cast(dict[str, Any], found).items():
        if not isinstance(spans, list) or not all(isinstance(s, str) for s in cast(list[Any], spans)):
            raise FileFormatError(
                f"The contacts of {name!r} are {spans!r}.", path=path, cure='Give a list such as ["0:0.42", "1.1:1.5"].'
            )
    return cast(dict[str, list[str]], found)


def _points(character: Character, name: str) -> list[int]:
    """Contact points of this name, or those of the body or role of this name."""
    own = [i for i, p in enumerate(character.contact_points) if p.name == name]
    if own:
        return own
    try:
        body = character.body_index(name)
    except UnknownName as error:
        known = ", ".join(p.name for p in character.contact_points)
        raise UnknownName(f"Contacts name {name!r}: it is not a contact point ({known}). {error}") from None
    own = [i for i, p in enumerate(character.contact_points) if p.body == body]
    if not own:
        having = sorted({character.bodies[p.body].name for p in character.contact_points})
        raise InvalidValue(f"Contacts name {name!r}, which has none. Bodies with contact points: {', '.join(having)}.")
    return own


def _span(name: str, text: str, times: Array) -> tuple[int, int, bool]:
    """First and last frame of a touch, and whether it may pull."""
    words = text.split()
    is_grip = words[1:] == [GRIP]
    parts = (words[0] if is_grip else text).split(":")
    try:
        start, end = (float(p) for p in parts)
    except ValueError:
        start = end = math.nan
    if not (math.isfinite(start) and math.isfinite(end)):
        raise InvalidValue(
            f"The touch {text!r} of {name!r} cannot be read; give seconds, such as '0.5:1.2', or "
            f"'0.5:1.2 {GRIP}' for a touch that may pull."
        )
    if end < start:
        raise InvalidValue(f"The touch {text!r} of {name!r} ends before it starts; give START:END in seconds.")
    if end < times[0] or start > times[-1]:
        raise InvalidValue(
            f"The touch {text!r} of {name!r} is outside of the clip, which goes from {times[0]:g} to {times[-1]:g} s."
        )
    first, last = (int(np.argmin(np.abs(times - t))) for t in (start, end))
    return first, last, is_grip
