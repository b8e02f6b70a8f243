"""Terrain from the words of a command line."""

from __future__ import annotations

import math
import os

from poise.core.errors import InvalidValue
from poise.terrain.terrain import Terrain

ALLOWED = (
    "flat, slope:DEG, step:HEIGHT, stairs:RISE,TREAD, rough:HEIGHT,SEED[,MAXSLOPE], image:FILE,SIZE,HEIGHT, mesh:FILE, "
    "platform:FILE, each with an optional @HEADING in degrees"
)
ARGUMENTS = {
    "flat": (0, 0),
    "slope": (1, 1),
    "step": (1, 1),
    "stairs": (2, 2),
    "rough": (2, 3),
    "image": (3, 3),
    "mesh": (1, 1),
    "platform": (1, 1),
}
"""Fewest and most arguments of each kind."""


def parse(spec: str) -> Terrain:
    """The terrain that a specification names.

    The kind ends at the first colon, so Windows paths keep theirs. Numbers are split off a file's name from the
    right, so the name may hold commas. `@HEADING` is what follows the last @ if it is a number and no file of the
    whole name exists.

    Args:
        spec: Such as `slope:20`, `stairs:0.2,0.6@90` or `image:hills.png,20,1.5`.

    Raises:
        InvalidValue: if it is none of the allowed forms, or a number is out of range.
        FileFormatError: if its file cannot be read.
    """
    kind, colon, rest = spec.strip().partition(":")
    heading = None
    if not colon:
        kind, heading = _split_heading(kind)
    else:
        rest, heading = _split_heading(rest)
    kind = kind.strip().lower()
    if kind not in ARGUMENTS:
        raise _wrong(spec, f"there is no terrain {kind!r}")
    low, high = ARGUMENTS[kind]
    if kind in ("image", "mesh", "platform"):
        words = rest.rsplit(",", high - 1)
    else:
        words = rest.split(",") if rest.strip() else []
    if not low <= len(words) <= high or any(not word.strip() for word in words) or (colon and not words):
        raise _wrong(spec, f"{kind} takes {low if low == high else f'{low} to {high}'} values")
    try:
        terrain = _build(kind, words, spec)
        return terrain if heading is None else terrain.toward(heading)
    except InvalidValue as error:
        if str(error).startswith("Terrain "):
            raise
        raise _wrong(spec, str(error).rstrip(".")) from error


def _build(kind: str, words: list[str], spec: str) -> Terrain:
    if kind == "flat":
        return Terrain.flat()
    if kind == "mesh":
        return Terrain.mesh(words[0])
    if kind == "platform":
        return Terrain.platform(words[0])
    if kind == "image":
        return Terrain.image(words[0], _number(words[1], spec), _number(words[2], spec))
    if kind == "rough":
        if not words[1].strip().isdecimal():
            raise _wrong(spec, f"the seed {words[1]!r} is not a whole number from 0")
        slope = _number(words[2], spec) if len(words) == 3 else None
        return Terrain.rough(_number(words[0], spec), int(words[1]), slope)
    numbers = [_number(word, spec) for word in words]
    return {"slope": Terrain.slope, "step": Terrain.step, "stairs": Terrain.stairs}[kind](*numbers)


def _split_heading(text: str) -> tuple[str, float | None]:
    before, at, after = text.rpartition("@")
    if not at or os.path.exists(text):
        return text, None
    try:
        return before, float(after)
    except ValueError:
        return text, None


def _number(word: str, spec: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _wrong(spec, f"{word.strip()!r} is not a number")
    return value


def _wrong(spec: str, problem: str) -> InvalidValue:
    return InvalidValue(f"Terrain {spec!r}: {problem}. Allowed: {ALLOWED}.")
