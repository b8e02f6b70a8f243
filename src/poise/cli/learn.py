"""`poise synthesize learn`: the weights of a controller's goals, found from a captured clip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import note, out, output_paths
from poise.cli.options import argument, option
from poise.core.errors import InvalidValue

learner = typer.Typer(rich_markup_mode="rich", add_completion=False)
"""Of one command, which `synthesize` hands over to when its first word is "learn"."""


@learner.command("learn")
def learn(
    clip: Annotated[Path, argument("CLIP", "A clip that stands, reaches or walks (or FILE@CLIP).")],
    output: Annotated[Path, option("MINE.toml", "The controller file.", "-o", "--output", show_default=False)],
    held_out: Annotated[
        Path | None,
        option("CLIP", "A clip that only the weights found are tried on.", "--held-out"),
    ] = None,
    start: options.Start = None,
    end: options.End = None,
    tries: Annotated[int, option("N", "How many sets of weights are tried.")] = 64,
    seed: Annotated[int, option("N", "Random seed of the search.")] = 0,
    overwrite: options.Overwrite = False,
) -> None:
    """Find the weights of goals with which a figure moves most like a clip, and write them as a controller file.

    The clip says where hands, feet and center of mass go; the rest of the body follows from the weights.
    MINE.toml.tries keeps every try, so that the same command goes on where it was stopped.

    Example: [bold]poise synthesize learn reach.bvh -o mine.toml --held-out other.bvh[/bold]
    """
    from poise.cli.synthesize import captured
    from poise.io.format import file_and_clip
    from poise.synthesis.learning import learn as learn_weights

    if output.suffix.lower() != ".toml":
        raise InvalidValue(f"learn writes a controller file; give -o mine.toml, not {output}.")
    files = [file_and_clip(str(name))[0] for name in (clip, held_out) if name is not None]
    output_paths((output,), "-o", inputs=files, overwrite=overwrite)
    motion = options.part_of(captured(clip), start, end)
    other = None if held_out is None else captured(held_out)

    def tell(number: int, cost: float, least: float) -> None:
        note(f"try {number} of {tries}: cost {cost:.3f}, least so far {least:.3f}")

    log = output.with_name(output.name + ".tries")
    name = None if start is None and end is None else f"{clip.name} ({motion.duration:.2f} s from {start or 0.0:g} s)"
    found = learn_weights(motion, held_out=other, name=name, tries=tries, seed=seed, log=log, on_try=tell)
    found.save(output)
    for title, before, after in (
        ("learned from", found.before, found.after),
        ("held out", found.held_before, found.held_after),
    ):
        if before is not None:
            out().print(f"{title} {before.clip}: {before} at the start, {after} now", markup=False)
    out().print(f"{output}: poise synthesize {output} --clip {clip} -o out.bvh runs it.", markup=False)


def command() -> Any:
    """The command as Click's."""
    return typer.main.get_command(learner)
