"""`poise.synthesize`: goals in a scene, also where bodies move by physics."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from poise.synthesis import run
from poise.synthesis.scene_file import is_world
from poise.world.world import World

P = ParamSpec("P")
R = TypeVar("R")


def _in_worlds(plain: Callable[P, R]) -> Callable[P, R]:
    """The same function, which makes a `World` of a scene that needs one."""

    @functools.wraps(plain)
    def synthesize(*given: Any, **named: Any) -> R:
        scene = named.get("scene")
        if isinstance(scene, str | os.PathLike) and named.get("world") is None and is_world(scene):
            named |= {"scene": None, "world": World(scene)}
        return plain(*given, **named)

    return synthesize


synthesize = _in_worlds(run.synthesize)
