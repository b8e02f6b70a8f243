"""`poise setup`: bodies, limbs and roles of a character, by mouse and keyboard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from poise.cli import options
from poise.cli.app import app, note, output_path
from poise.cli.options import argument, option
from poise.core.errors import FileFormatError, InvalidValue, NoMotion

if TYPE_CHECKING:
    from poise.body import Character
    from poise.core.motion import Motion


@app.command()
@options.grouped
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
    reading: options.Reading = options.READ_AS_IS,
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
    character, motion = open_character(file, reading, mass=mass)
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
    file: Path, reading: options.Reading = options.READ_AS_IS, *, mass: float | None = None
) -> tuple[Character, Motion | None]:
    """A character from any file with a skeleton, and its motion: of several clips the first, without one at rest."""
    from poise.body import fit, load_character

    if file.suffix.lower() == ".toml":
        if mass is not None:
            raise InvalidValue("--mass is for fitting; edit the masses of a character on the page.")
        return load_character(file), None
    try:
        motion = reading.load(file)
    except NoMotion:
        motion = reading.load_at_rest(file)
        return fit(motion.skeleton, mass=mass), motion
    except FileFormatError as refusal:
        if reading.clip is not None or not ("--clip" in str(refusal) or "clip=" in str(refusal)):
            raise
        motion = replace(reading, clip="0").load(file)
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
