"""The figure that a command is given as WHO: built in, a character file, or any file that has a skeleton."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from poise.cli.app import note, note_warnings
from poise.core.errors import FileFormatError, InvalidValue, NoMotion

if TYPE_CHECKING:
    from poise.body.character import Character
    from poise.cli.options import Reading
    from poise.core.motion import Motion

BUILT_IN = ("adult", "child")


@dataclass(frozen=True)
class Figure:
    """What a command reads of a figure.

    Attributes:
        character: Its bodies, limits and contact points.
        drawn: A motion of the file that draws it, for its skin: the file itself, or the glTF beside a character file.
        motion: The clip that it was fitted to; None for a figure without one.
    """

    character: Character
    drawn: Motion | None = None
    motion: Motion | None = None


def require_figure(which: str) -> None:
    """Refuse a figure that is neither built in nor a file, before anything is loaded."""
    if which not in BUILT_IN and not file_and_clip(which)[0].exists():
        raise InvalidValue(
            f"{which!r} is no figure: there is no such file. Built-in figures: {', '.join(BUILT_IN)}. "
            "Any other needs its own file: a character, or one with a skeleton. "
            "scripts/make_creatures.py draws a raptor, an alien and a cat (docs/tracking.md, Creatures from a script)."
        )


def read_figure(which: str, height: str | None = None, *, flag: str = "--height") -> Figure:
    """A built-in figure, a character file, or one fitted to the skeleton of any file that has one, read once.

    Args:
        which: The name, FILE or FILE@CLIP.
        height: How tall the figure of the file is; its own size by default.
        flag: The option that says this height, for warnings.

    Raises:
        InvalidValue: for what is no figure, and for a height of one that has its own.
    """
    from poise.io.format import WITH_SCENES

    require_figure(which)
    if which in BUILT_IN:
        if height is not None:
            raise InvalidValue(f"{which!r} has its own height; {flag} is for the figure of a file. Leave it out.")
        from poise.body.character import figure

        return Figure(figure(which))
    path, clip = file_and_clip(which)
    if path.suffix.lower() == ".toml":
        if height is not None:
            raise InvalidValue(
                f"{path} says how large its figure is, so {flag} cannot. Make it anew: poise character FILE "
                f"--height {height} -o {shlex.quote(str(path))} --overwrite."
            )
        from poise.body import load_character

        beside = next((p for p in (path.with_suffix(".glb"), path.with_suffix(".gltf")) if p.exists()), None)
        return Figure(load_character(path), None if beside is None else _any_clip_or_rest(beside))
    from poise.body import fit

    is_drawn = path.suffix.lower() in WITH_SCENES
    try:
        motion = _loaded(path, clip, height, is_any=True)
    except NoMotion:
        from poise.io import load_at_rest

        still = load_at_rest(path, height=height)
        return Figure(fit(still.skeleton), still if is_drawn else None)
    _note_doubts_of_size(motion, which, flag)
    return Figure(fit(motion), motion if is_drawn else None, motion)


def _any_clip_or_rest(path: Path) -> Motion:
    """A motion of a file, to draw its skin."""
    from poise.io import load, load_at_rest

    try:
        return load(path, clip=0)
    except FileFormatError:  # no clip, or one that cannot be read
        return load_at_rest(path)


def _note_doubts_of_size(motion: Motion, which: str, flag: str) -> None:
    """What the reader doubts of a figure's size, and where it can be said."""
    for sentence in motion.source.warnings if motion.source else ():
        if "--height" not in sentence and "--unit" not in sentence:
            continue
        path, clip = file_and_clip(which)
        clips = motion.source.clips if motion.source else ()
        if clip is None and len(clips) > 1:
            clip = clips[0]
        chosen = "" if clip is None else f" --clip {shlex.quote(str(clip))}"
        by_unit = (
            f" (--unit is an option of `poise character {shlex.quote(str(path))}{chosen} -o figure.toml`.)"
            if "--unit" in sentence
            else ""
        )
        note(f"warning: {path.name}: {sentence.replace('--height', flag)}{by_unit}")


def captured(which: Path, height: str | None = None) -> Motion:
    """A motion to follow, FILE or FILE@CLIP; what its reader found is printed."""
    motion = _loaded(*file_and_clip(str(which)), height)
    note_warnings(motion)
    return motion


def file_and_clip(which: str) -> tuple[Path, str | int | None]:
    """FILE, or FILE@CLIP of a file with several clips."""
    from poise.io.format import file_and_clip as parts

    return parts(which)


def any_clip(path: Path, how: Reading) -> Motion:
    """A motion to fit a figure to, as `_loaded` chooses it, read with the options of a command."""
    if how.clip is None and file_and_clip(str(path))[1] is None:
        try:
            return how.load(path)
        except FileFormatError as error:
            if "--clip" not in error.cure:
                raise
            return _told_first(replace(how, clip="0").load(path), path)
    return how.load(path)


def _loaded(path: Path, clip: str | int | None, height: str | None, *, is_any: bool = False) -> Motion:
    """A clip of a file. If it holds several, none is named and any will do, the first one, with a note."""
    import poise.io

    try:
        return poise.io.load(path, clip=clip, height=height)
    except FileFormatError as error:
        if "--clip" not in error.cure:
            raise
        if clip is None and is_any:
            return _told_first(poise.io.load(path, clip=0, height=height), path)
        cure = f"Choose one as FILE@NAME or FILE@INDEX, such as {path.name}@0."
        raise FileFormatError(error.problem, path=path, cure=cure) from error


def _told_first(first: Motion, path: Path) -> Motion:
    """The first of several clips, after a note that it was taken."""
    if first.source is not None:
        name = first.source.clips[0]
        note(f"The figure is fitted to clip {name!r}; {path.name}@NAME or @INDEX fits it to another.")
    return first
