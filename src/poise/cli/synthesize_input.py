"""What the command line of `poise synthesize` brings: options, scene, figure, clip; and what of it changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poise.cli.app import note, note_warnings
from poise.core.errors import FileFormatError, InvalidValue

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.core.motion import Motion
    from poise.filter.forces import Push
    from poise.goals.machine import Machine
    from poise.synthesis.behaviors.behavior import Behavior

BUILT_IN = ("adult", "child")


def changes(behavior: Behavior, scene: Path | None, words: list[str] | None, seed: int | None) -> dict[str, Any]:
    """The options and the scene as --set, --seed and --scene have them; a name may be the behavior's or the scene's."""
    from poise.synthesis.behaviors.option import Option, named
    from poise.synthesis.scene_file import load_scene, scene_options

    of_scene = {} if scene is None else {k: Option(v) for k, v in scene_options(scene).items()}
    known = {**of_scene, **behavior.declared}
    changed: dict[str, Any] = {}
    for word in words or ():
        name, equals, text = word.partition("=")
        name, text = name.strip(), text.strip()
        if not equals or not name or not text:
            raise InvalidValue(f"Cannot read --set {word!r}. Write NAME=VALUE, such as --set friction=0.5.")
        changed[name] = named(known, name, behavior.name).checked(f"--set {name}", text)
    if seed is not None:
        if "seed" in changed:
            raise InvalidValue("--seed and --set seed say the same twice; give one of them.")
        if "seed" in known:
            changed["seed"] = known["seed"].checked("--seed", seed)
        else:
            note(f"warning: nothing in {behavior.name!r} is drawn by chance, so --seed changes nothing.")
    return {
        "options": {k: v for k, v in changed.items() if k in behavior.declared},
        "scene": None if scene is None else load_scene(scene, {k: v for k, v in changed.items() if k in of_scene}),
    }


def require_length(seconds: float | None) -> None:
    """Refuse a length that is none."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0.0):
        raise InvalidValue(f"--seconds is {seconds:g}; give a positive number.")


def tell_useless(
    behavior: Behavior, pushes: Sequence[Push], arguments: dict[str, Any], *, is_clip_given: bool
) -> None:  # fmt: skip
    """Warn of what changes nothing: a clip that nobody follows, a goal without its clip, pushes after the end."""
    from poise.synthesis.behaviors import BEHAVIORS

    setup = behavior.setup(arguments["options"], is_literal=arguments["settings"].is_literal)
    if is_clip_given and not follows(setup.roles[0].machine):
        note(f"warning: {behavior.name!r} has no goal Follow, so nothing of --clip but its skeleton is used.")
    if not is_clip_given and behavior.name not in BEHAVIORS and follows(setup.roles[0].machine):
        note(f"warning: {behavior.name!r} has a goal Follow and no clip to follow; give --clip FILE.")
    end = arguments["seconds"] or setup.seconds
    for push in pushes:
        if push.start >= end:
            note(f"warning: the push on {push.body} at {push.start:g} s is after the end at {end:g} s; see --seconds.")


def follows(machine: Machine) -> bool:
    """Whether a controller has a goal that follows a clip, in a machine inside too."""
    from poise.goals.following import Follow

    return any(
        any(isinstance(wish, Follow) for wish in (*state.wishes, *state.musts))
        or any(follows(part.machine) for part in state.inside)
        for state in machine.states
    )


def figure_of(which: str) -> Character:
    """A built-in figure, a character file, or one fitted to the skeleton of any file that has one."""
    from poise.body.figure import figure

    if which in BUILT_IN:
        return figure(which)
    path, clip = _file_and_clip(which)
    if not path.exists():
        raise InvalidValue(f"--character is {which!r}, which is no file. Built-in figures: {', '.join(BUILT_IN)}.")
    if path.suffix.lower() == ".toml":
        from poise.body import load_character

        return load_character(path)
    from poise.body import fit

    return fit(_loaded(path, clip))


def captured(which: Path) -> Motion:
    """A motion to follow, FILE or FILE@CLIP; what its reader found is told."""
    motion = _loaded(*_file_and_clip(str(which)))
    note_warnings(motion)
    return motion


def _file_and_clip(which: str) -> tuple[Path, str | None]:
    """FILE, or FILE@CLIP of a file with several; a file of the whole name goes before."""
    file, at, clip = which.rpartition("@")
    return (Path(which), None) if Path(which).exists() or not (at and Path(file).exists()) else (Path(file), clip)


def _loaded(path: Path, clip: str | None) -> Motion:
    import poise.io
    from poise.cli.options import clip_key

    try:
        return poise.io.load(path, clip=clip_key(clip))
    except FileFormatError as error:
        if "--clip" not in error.cure:
            raise
        cure = f"Choose one as FILE@NAME or FILE@INDEX, such as {path.name}@0."
        raise FileFormatError(error.problem, path=path, cure=cure) from error
