"""Arguments of another kind than is needed, refused with how to get the right one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.filter.forces import Pull, Push
from poise.goals.surroundings import Scene
from poise.synthesis.settings import Settings

NEEDED: dict[str, tuple[type, str]] = {
    "character": (Character, "poise.Character.fit(poise.load(FILE)), or poise.body.figure.figure('child')"),
    "scene": (Scene, "a scene file's path, or poise.synthesis.load_scene(FILE)"),
    "clip": (Motion, "poise.load(FILE)"),
    "settings": (Settings, "poise.synthesis.Settings(...)"),
}


def require_kinds(*, pushes: Sequence[Any], **given: Any) -> None:
    """Refuse what is of another kind than a run needs.

    Raises:
        InvalidValue: naming the argument, what was seen, and how to make what is needed.
    """
    for name, value in given.items():
        kind, cure = NEEDED[name]
        if value is not None and not isinstance(value, kind):
            raise InvalidValue(f"{name} is {value!r}, which is no {kind.__name__}; give {cure}.")
    for push in pushes:
        if not isinstance(push, Push | Pull):
            raise InvalidValue(f"pushes holds {push!r}, which is no Push; give poise.Push('chest', (100.0, 0.0, 0.0)).")
