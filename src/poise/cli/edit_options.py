"""Options that edits share, and what their words mean."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from poise.cli.app import note
from poise.core.errors import InvalidValue
from poise.core.units import GRAVITY

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

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
