"""Options that all edits share, what their words mean, and how an edit is run and its result written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from poise.cli import options
from poise.cli.app import note, note_warnings, out, output_paths, print_json, waiting
from poise.cli.outcome import draw, require_kinds
from poise.errors import BudgetExceeded, InvalidValue
from poise.units import GRAVITY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from poise.character.character import Character
    from poise.edit import Budget, Edited, Scope
    from poise.motion import Motion

    Array = npt.NDArray[np.float64]

Output = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="OUT", help="The edited motion; the extension says the format.", show_default=False
    ),
]
CharacterFile = Annotated[
    Path | None, typer.Option("--character", metavar="FILE", help="Character as TOML; default: fitted to the clip.")
]
Amount = Annotated[float, typer.Option("--amount", metavar="0…1", help="Part of the change that is kept.")]
Interval = Annotated[
    str | None, typer.Option("--interval", metavar="S:E", help="Seconds between which anything may change.")
]
Blend = Annotated[
    float, typer.Option("--blend", metavar="SECONDS", help="How long a change comes and goes at borders.")
]
BudgetText = Annotated[
    str | None,
    typer.Option("--budget", metavar="'joint 3deg, root 2cm'", help="Refuse (exit 1) to change more than this."),
]
ReportFile = Annotated[Path | None, typer.Option("--report", metavar="OUT.json", help="What was changed, as JSON.")]
RecordFile = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Before as a ghost, after solid: .html, .mp4, .gif or .png."),
]
Flight = Annotated[
    list[str] | None,
    typer.Option("--flight", metavar="A:B|all", help="First and last frame of a flight; repeatable. Default: all."),
]

BARE_GRAVITY = 4.0
"""A gravity without a unit is in g up to this, as `poise check` prints it, and in m/s^2 above."""


@dataclass(frozen=True)
class Common:
    """What every edit is told."""

    file: Path
    output: Path
    character: Path | None
    skeleton: Path | None
    clip: str | None
    unit: str | None
    up: str | None
    source_fps: float | None
    amount: float
    interval: str | None
    blend: float
    budget: str | None
    report: Path | None
    record: Path | None
    overwrite: bool
    json: bool

    def check_outputs(self) -> None:
        """Refuse what could not be written at the end."""
        output_paths(
            (self.output, self.report, self.record), "-o, --report and --record",
            inputs=(self.file, self.skeleton, self.character), overwrite=self.overwrite,
        )  # fmt: skip


Tool = Callable[["Motion", "Character | None", "Scope", "Budget | None"], "Edited"]


def run_edit(common: Common, tool: Tool) -> None:
    """Read the clip, edit it, write what was asked for, and say what happened.

    Raises:
        InvalidValue: if an option makes no sense or a file would be written over.
        Exit: with 1 if the budget refuses the edit; then the report says so and nothing else is written.
    """
    motion, character, scope, budget = prepare(common)
    try:
        with waiting("Editing (the first run on a machine compiles)"):
            edited = tool(motion, character, scope, budget)
    except BudgetExceeded as error:
        if common.report is not None:
            error.report.data["refused"] = str(error)
            error.report.save(common.report)
        note(str(error))
        raise typer.Exit(1) from error
    write(common, motion, edited)


def prepare(common: Common) -> tuple[Motion, Character | None, Scope, Budget | None]:
    """Check what was asked for before anything is computed; read the clip and the character."""
    from poise.edit import Budget, Scope

    common.check_outputs()
    interval = None if common.interval is None else pair("--interval", common.interval)
    scope = Scope(common.amount, interval, common.blend)
    budget = None if common.budget is None else Budget.parse(common.budget)
    require_kinds(common.output, common.record)
    import poise.io

    motion = poise.io.load(
        common.file, skeleton=common.skeleton, clip=options.clip_key(common.clip), unit=common.unit, up=common.up,
        fps=common.source_fps,
    )  # fmt: skip
    note_warnings(motion)
    character = None
    if common.character is not None:
        from poise.character import load_character

        character = load_character(common.character)
    return motion, character, scope, budget


def write(common: Common, motion: Motion, edited: Edited) -> None:
    """The edited motion, its report and its recording; a few lines for a person, or JSON."""
    import poise.io

    poise.io.save(edited.motion, common.output)
    if common.report is not None:
        edited.report.save(common.report)
    if common.record is not None:
        from poise.record.edit_scene import scene_of_edit

        has_layers = common.record.suffix.lower() in (".html", ".htm")
        draw(scene_of_edit(motion, edited.motion, edited.report.data, physics=has_layers), common.record)
    if common.json:
        print_json(edited.report.data)
    else:
        summarize(common.output, edited.report.data)


def summarize(output: Path, data: dict[str, Any]) -> None:
    """What happened, in a few lines a person reads."""
    changed = data["changed"]
    lines = [f"{output}: {data['frames']} frames, {data['duration_s']:.4g} s"]
    if not changed["frames"] and not changed.get("time_max_s") and changed.get("size", 1.0) == 1.0:
        lines.append("Nothing was changed.")
    else:
        what = f"Changed {changed['frames']} frames"
        if changed["joint"]:
            what += f": joints up to {changed['joint_angle_max_deg']:.2f}° ({changed['joint']})"
        if changed["root_position_max_m"]:
            what += f", root up to {100 * changed['root_position_max_m']:.2f} cm"
        if changed.get("time_max_s"):
            what += f", time up to {abs(changed['time_max_s']):.3g} s"
        lines.append(what)
    for key in ("flights",):
        pairs = zip(data["before"].get(key, []), data["after"].get(key, []))
        lines += [_flight_line(b, a) for b, a in pairs]
    plain = {k: v for k, v in data["before"].items() if isinstance(v, (int, float))}
    lines += [
        f"{k.replace('_', ' ')}: {_number(v)} → {_number(data['after'][k])}"
        for k, v in plain.items()
        if k in data["after"] and _number(v) != _number(data["after"][k])
    ]
    lines += data["notes"]
    for line in lines:
        out().print(line, markup=False)


def _flight_line(before: dict[str, Any], after: dict[str, Any]) -> str:
    words = [f"Flight {before['frames'][0]}:{before['frames'][1]}"]
    if after["frames"] != before["frames"]:
        words.append(f"now {after['frames'][0]}:{after['frames'][1]}")
    names = (
        ("gravity_g", "gravity", "g"), ("path_error_max_m", "off its path", "m"), ("rise_m", "rise", "m"),
        ("angular_momentum_spread_kg_m2_s", "angular momentum varies by", "kg m²/s"),
    )  # fmt: skip
    words += [f"{w} {_number(before[k])} → {_number(after[k])} {u}" for k, w, u in names if k in before]
    return ", ".join(words)


def _number(x: float | None) -> str:
    return "–" if x is None else "0" if abs(x) < 1e-9 else f"{x:.3g}"


def pair(name: str, text: str) -> tuple[float, float]:
    """Two numbers with a colon between.

    Raises:
        InvalidValue: naming the option.
    """
    parts = text.split(":")
    try:
        first, second = (float(p) for p in parts)
    except ValueError:
        raise InvalidValue(f"{name} is {text!r}; give two numbers with a colon between, such as 0.5:1.2.") from None
    return first, second


def vector(name: str, text: str | None) -> Array | None:
    """Three numbers with commas between, or None.

    Raises:
        InvalidValue: naming the option.
    """
    import numpy as np

    if text is None:
        return None
    try:
        numbers = np.array([float(p) for p in text.split(",")])
    except ValueError:
        numbers = np.zeros(0)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise InvalidValue(f"{name} is {text!r}; give three numbers such as 0,1.5,0.9 (Z up, meters).")
    return numbers


def flights_of(texts: list[str] | None) -> str | list[tuple[int, int]]:
    """What --flight says: "all", or pairs of frames.

    Raises:
        InvalidValue: if a text is no pair of frame numbers.
    """
    if not texts or texts == ["all"]:
        return "all"
    found: list[tuple[int, int]] = []
    for text in (t for whole in texts for t in whole.split(",")):
        match = re.fullmatch(r"\s*(\d+)\s*:\s*(\d+)\s*", text)
        if match is None:
            raise InvalidValue(f"--flight is {text!r}; give frames such as 120:131, or all.")
        found.append((int(match[1]), int(match[2])))
    return found


def frames_of(name: str, text: str | None) -> tuple[int, ...]:
    """Frame numbers with commas between.

    Raises:
        InvalidValue: naming the option.
    """
    if not text:
        return ()
    try:
        return tuple(int(p) for p in text.split(","))
    except ValueError:
        raise InvalidValue(f"{name} is {text!r}; give frame numbers such as 120,131.") from None


def gravity_of(text: str | None) -> float | Array | None:
    """A gravity in m/s^2: "1.3" or "1.3g" times 9.81, "1.62m/s2", or a vector "0,0,-9.81" in m/s^2.

    A bare number above 4 is m/s^2 and a note says so: nothing is meant to fall with 9.81 g.

    Raises:
        InvalidValue: if it cannot be read.
    """
    if text is None:
        return None
    if "," in text:
        return vector("--gravity", text)
    match = re.fullmatch(r"\s*([0-9.]+(?:e-?\d+)?)\s*(g|m/s2|m/s\^2|m/s²)?\s*", text, re.IGNORECASE)
    try:
        number = float(match[1]) if match else math.nan
    except ValueError:
        number = math.nan
    if match is None or not math.isfinite(number):
        raise InvalidValue(f"--gravity is {text!r}; give 1.3 (times 9.81 m/s²), 1.62m/s2, or 0,0,-9.81.")
    if match[2] is None and number > BARE_GRAVITY:
        note(f"--gravity {text} is taken as {number:g} m/s²; write {text}g for {number:g} times 9.81 m/s².")
        return number
    return number * (GRAVITY if match[2] is None or match[2].lower() == "g" else 1.0)
