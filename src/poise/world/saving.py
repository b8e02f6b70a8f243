"""A running world as it was: everything that changes, kept and put back to the last bit."""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core.motion import Motion
from poise.native import Block
from poise.physics.mujoco_backend import Model
from poise.terrain import Terrain

NEVER = (Model, Character, Motion, Terrain, str, bytes, int, float, bool, complex, type(None), type, FunctionType)
"""What never changes, or is a value."""


class Saved(NamedTuple):
    """Everything that a world, and what drives its figures, held at one time; for `World.restore` of the same world.

    Attributes:
        time: Of the world [s].
        kept: Objects that change, each with its contents.
    """

    time: float
    kept: list[tuple[Any, Any]]


def save(root: Any) -> list[tuple[Any, Any]]:
    """All that can be reached from an object and changes, with copies of its contents."""
    seen: dict[int, Any] = {}
    kept: list[tuple[Any, Any]] = []
    left = [root]
    while left:
        thing = left.pop()
        if id(thing) in seen or isinstance(thing, NEVER):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, np.ndarray):
            if thing.dtype == object:
                left += thing.ravel().tolist()
            elif thing.flags.writeable:
                kept.append((thing, thing.copy()))
        elif isinstance(thing, list | deque | set):
            kept.append((thing, type(thing)(thing)))
            left += thing
        elif isinstance(thing, dict):
            kept.append((thing, dict(thing)))
            left += [*thing.keys(), *thing.values()]
        elif isinstance(thing, tuple | frozenset):
            left += thing
        elif isinstance(thing, Block):
            own = dict(thing.__dict__)
            kept.append((thing, (own, ctypes.string_at(thing.address, ctypes.sizeof(thing.values)))))
            left += own.values()
        elif _is_ours(thing):
            own = dict(thing.__dict__)
            left += own.values()
            if not _is_frozen(thing):
                kept.append((thing, own))
    return kept


def restore(kept: list[tuple[Any, Any]]) -> None:
    """Put everything back as it was."""
    for thing, contents in kept:
        if isinstance(thing, np.ndarray):
            thing[...] = contents
        elif isinstance(thing, list | deque):
            thing.clear()
            thing.extend(contents)
        elif isinstance(thing, set | dict):
            thing.clear()
            thing.update(contents)
        elif isinstance(thing, Block):
            own, numbers = contents
            thing.__dict__.clear()
            thing.__dict__.update(own)
            ctypes.memmove(thing.address, numbers, len(numbers))
        else:
            thing.__dict__.clear()
            thing.__dict__.update(contents)


def _is_ours(thing: Any) -> bool:
    """Whether it is an object of this library with attributes. A frozen one counts: what it holds may change."""
    module = type(thing).__module__
    is_ours = module.startswith("poise.") and not module.startswith("poise.native")
    return is_ours and hasattr(thing, "__dict__")


def _is_frozen(thing: Any) -> bool:
    """Whether it is a dataclass whose attributes cannot be set."""
    kind = type(thing)
    return is_dataclass(kind) and kind.__dataclass_params__.frozen  # pyright: ignore[reportAttributeAccessIssue]
