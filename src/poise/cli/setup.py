"""`poise setup`: bodies, limbs and roles of a character, by mouse and keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from poise.cli import options
from poise.cli.app import app, note, note_warnings, output_path
from poise.cli.options import argument, option
from poise.core.errors import FileFormatError, InvalidValue

if TYPE_CHECKING:
    from poise.body import Character
    from poise.core.motion import Motion


@app.command()
def setup(
    file: Annotated[
        Path,
        argument("CHARACTER", "Any file with a skeleton, or a character (TOML)."),
    ],
    output: Annotated[
        Path | None,
        option(
            "OUT.toml",
            "Character file, written after every edit. Default: named like CHARACTER, in the current folder. A "
            "character file is edited in place.",
            "-o",
            "--output",
            panel=options.OUTPUT,
        ),
    ] = None,
    mass: options.Mass = None,
    skeleton: options.Skeleton = None,
    clip: options.Clip = None,
    unit: options.SourceUnit = None,
    up: options.SourceUp = None,
    height: options.Height = None,
    port: options.Port = 0,
    headless: options.Headless = False,
    overwrite: options.Overwrite = False,
) -> None:
    """Set up a character in the browser: its bodies, and which limb of an actor drives which of its limbs.

    The page opens with a proposal. Every edit is written to the character file at once. Ctrl-C ends.

    Example: [bold]poise setup raptor.glb -o rex.toml[/bold]
    """
    from poise.show.setup import SetupPage, SetupSession

    is_character = file.suffix.lower() == ".toml"
    target = output or (file if is_character else Path(file.stem).with_suffix(".toml"))
    if target.suffix.lower() != ".toml":
        raise InvalidValue(f"{target} is not a .toml file; a character is saved as TOML.")
    character, motion = open_character(file, mass=mass, skeleton=skeleton, clip=clip, unit=unit, up=up, height=height)
    if target.exists() and not (is_character and target.resolve() == file.resolve()) and not overwrite:
        character = _continued(target, character)
    elif not is_character:
        output_path(target, inputs=[file], overwrite=overwrite)
    session = SetupSession(character, target, motion=motion, title=f"Set up {file.stem}")
    if session.saved:
        raise InvalidValue(session.saved)
    with SetupPage(session, port=port, is_opened=not headless) as page:
        note(f"Set-up at {page.url} (kept in {target}; Ctrl-C ends)")
        page.play()
    if session.saved:
        session.save()  # there may be space again
    if session.saved:
        raise InvalidValue(f"The last edits are lost: {session.saved}")
    note(f"{target}: {len(session.setup.parts)} bodies, {len(session.setup.limbs)} limbs")


def open_character(
    file: Path,
    *,
    mass: float | None = None,
    skeleton: Path | None = None,
    clip: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    height: str | None = None,
) -> tuple[Character, Motion | None]:
    """A character from any file with a skeleton, and its motion where it has one; of several clips the first."""
    import poise.io
    from poise.body import fit, load_character

    if file.suffix.lower() == ".toml":
        if mass is not None:
            raise InvalidValue("--mass is for fitting; edit the masses of a character on the page.")
        return load_character(file), None
    size: dict[str, Any] = {"unit": unit, "up": up, "height": height}
    try:
        motion = poise.io.load(file, skeleton=skeleton, clip=options.clip_key(clip), **size)
    except FileFormatError as refusal:
        if "load_skeleton" in refusal.cure:
            bare = poise.io.load_skeleton(file, skeleton=skeleton, **size)
            return fit(bare, mass=mass), None
        if clip is not None or not ("--clip" in str(refusal) or "clip=" in str(refusal)):
            raise
        motion = poise.io.load(file, skeleton=skeleton, clip=0, **size)
    note_warnings(motion)
    return fit(motion, mass=mass), motion


def _continued(target: Path, character: Character) -> Character:
    """The character that was kept before, if it is of the same skeleton.

    Raises:
        InvalidValue: if it is of another.
    """
    from poise.body import load_character

    kept = load_character(target)
    if kept.skeleton.names != character.skeleton.names:
        raise InvalidValue(f"{target} is a character of another skeleton. Give another -o, or --overwrite.")
    note(f"Continuing with {target}; --overwrite starts over.")
    return kept
