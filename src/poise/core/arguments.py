"""Arguments of public functions: what is not of the kind needed is refused at once, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType

from poise.core.errors import InvalidValue

MADE_BY = {
    "Behavior": 'such as "balance" or the path of a controller file',
    "Character": "`poise.Character.fit(motion)` makes one, `poise.load_character(path)` reads one",
    "Force": 'such as `poise.Push("chest", (150.0, 0.0, 0.0), start=0.5)`',
    "Motion": "`poise.load(path)` reads one",
    "Pull": '`poise.Pull("chest", (1.0, 0.0, 1.5), stiffness=200.0)` is one',
    "Push": '`poise.Push("chest", (150.0, 0.0, 0.0), start=0.5)` is one',
    "Scene": "`poise.synthesis.load_scene(path)` reads one",
    "Settings": "`poise.synthesis.Settings(...)` is one",
    "Terrain": '`poise.Terrain.parse("slope:10")` makes one',
}
"""How to come by one of each kind."""


def require(*kinds: type, **given: object) -> None:
    """Refuse arguments that are of none of these kinds; `NoneType` among them lets one be left out.

    Example:
        >>> require(Motion, motion=motion, get_up=get_up)

    Raises:
        InvalidValue: with the argument's name, what was given, and how to make what is needed.
    """
    for name, value in given.items():
        if not isinstance(value, kinds):
            raise InvalidValue(f"{name} is {_shown(value)}; give {_wanted(kinds)}.")


def require_each(*kinds: type, **given: object) -> None:
    """Refuse arguments that are not a list of things of these kinds."""
    for name, values in given.items():
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
            raise InvalidValue(f"{name} is {_shown(values)}; give a list, each {_wanted(kinds)}.")
        for value in values:
            if not isinstance(value, kinds):
                raise InvalidValue(f"{name} holds {_shown(value)}; each must be {_wanted(kinds)}.")


def _shown(value: object) -> str:
    kind = type(value).__name__
    if value is None:
        return "None"
    return f"the {kind} {value!r:.60}" if isinstance(value, (str, bytes, int, float, complex)) else f"a {kind}"


def _wanted(kinds: tuple[type, ...]) -> str:
    kinds = tuple(kind for kind in kinds if kind is not NoneType)
    names = " or ".join(f"a {kind.__name__}" for kind in kinds)
    how = "; ".join(MADE_BY[kind.__name__] for kind in kinds if kind.__name__ in MADE_BY)
    return f"{names}: {how}" if how else names
