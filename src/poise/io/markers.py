"""Recordings of markers, TRC and C3D: places without a skeleton. They can be viewed, not moved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Motion
from poise.core.typing import Array
from poise.core.units import UNITS
from poise.io.c3d_file import AGAIN, read_points
from poise.io.files import read_text
from poise.io.format import door_turn

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "markers"
EXTENSIONS = (".trc", ".c3d")

NO_SKELETON = (
    "`poise view` shows them. To move them, fit a skeleton to them in the program that recorded them (or in OpenSim, "
    "Mokka or Blender) and export BVH, or glTF."
)
UNSURE = 0.6
"""Confidence in an up axis or a unit that the file does not state [1]."""
USUAL_UNIT = 0.001
"""Meters per unit of a file that states none."""


@dataclass(frozen=True)
class Markers:
    """Places of markers over time.

    Attributes:
        names: Of each marker.
        times: Of each frame [s], rising from 0, shape (F,).
        places: In the world, Z up [m], shape (F, N, 3); NaN where a marker was not seen.
        fps: As the file states it [1/s].
        unit: Meters per file unit.
        up: The file's up axis.
        evidence: How sure unit and axis are.
    """

    names: tuple[str, ...]
    times: Array
    places: Array
    fps: float
    unit: float
    up: str
    evidence: dict[str, Evidence]


def matches(path: Path, head: bytes) -> bool:
    """True for the first words of a TRC, or the mark in a C3D's second byte."""
    if head.lstrip().startswith(b"PathFileType"):
        return True
    return path.suffix.lower() == ".c3d" and head[1:2] == b"\x50"


def read(path: Path, options: ReadOptions) -> Motion:
    """Refuse: markers are not a skeleton.

    Raises:
        FileFormatError: always.
    """
    raise FileFormatError("It holds positions of markers and no skeleton.", path=path, cure=NO_SKELETON)


def describe(path: Path, options: ReadOptions) -> dict[str, Any]:
    """What `poise info` says of a recording of markers."""
    found = read_markers(path, options)
    lost = float(np.isnan(found.places).any(axis=2).mean())
    seen = f"{len(found.names)} markers, {lost:.1%} of their places lost: {', '.join(found.names[:8])}"
    return {
        "dialect": path.suffix[1:].upper(),
        "frames": len(found.times),
        "fps": found.fps,
        "duration_s": float(found.times[-1]),
        "unit_m": found.unit,
        "up": found.up,
        "evidence": found.evidence,
        "reason": f"{seen}{', …' if len(found.names) > 8 else ''}. They are not a skeleton: {NO_SKELETON}",
    }


def read_markers(path: Path, options: ReadOptions) -> Markers:
    """Read a recording of markers.

    Raises:
        FileFormatError: with the line, if it is not what it should be.
    """
    names, places, fps, unit, up = (_c3d if path.suffix.lower() == ".c3d" else _trc)(path)
    if not len(names) or not len(places):
        raise FileFormatError("It holds no marker, or no frame.", path=path, cure=AGAIN)
    if not np.isfinite(places).any():
        raise FileFormatError("No marker is seen in any frame.", path=path, cure=AGAIN)
    fps, factor = options.fps or fps, options.unit or _unit(unit)
    if factor is None or not (np.isfinite(fps) and fps > 0.0):
        problem = f"Its unit is {unit!r} and its rate {fps:g}."
        raise FileFormatError(problem, path=path, cure="Give --unit and --source-fps.")
    if options.unit is not None:
        known = Evidence(factor, 1.0, "as its user says")
    elif unit:
        known = Evidence(factor, 1.0, f"the file says {unit}")
    else:
        known = Evidence(factor, UNSURE, "such files are nearly always in millimeters; this one says nothing")
    evidence = {"unit": known}
    if options.up is not None:
        up, sure, why = options.up, 1.0, "as its user says"
    elif up:
        sure, why = 0.9, "the file's vertical screen axis"
    else:
        up, why = _upright(places)
        sure = UNSURE
    evidence["up"] = Evidence(up, sure, why)
    turned = rotations.rotate(door_turn(up), factor * places)
    return Markers(tuple(names), np.arange(len(places)) / fps, turned, fps, factor, up, evidence)


def _unit(words: str) -> float | None:
    """Meters per unit; None for an unknown one. Some files cut the word short: "mete"."""
    starts = {"met": 1.0, "cent": 0.01, "mill": 0.001}
    spelled = next((meters for start, meters in starts.items() if words.lower().startswith(start)), None)
    return UNITS.get(words.lower(), spelled) if words else USUAL_UNIT


def _upright(places: Array) -> tuple[str, str]:
    """The axis along which the lowest marker keeps its height: people stay on the ground."""
    lowest = np.nanmin(np.where(np.isfinite(places), places, np.inf), axis=1)
    lowest = lowest[np.isfinite(lowest).all(axis=1)]
    heights = np.nanmedian(places[:, :, 1:], axis=(0, 1)) - np.median(lowest[:, 1:], axis=0)
    spread = lowest[:, 1:].std(axis=0) / np.maximum(heights, 1e-9)
    axis = "yz"[int(np.argmin(spread))]
    return axis, f"along {axis} the lowest marker keeps its height best; the file does not say"


def _trc(path: Path) -> tuple[list[str], Array, float, str, str]:
    """Names, places in file units, rate, unit and up axis ("": not stated) of a TRC."""
    lines = read_text(path).splitlines()
    mark = "\t" if "\t" in "".join(lines[:4]) else ","

    def refuse(problem: str, line: int) -> NoReturn:
        text = lines[line - 1][:60] if 0 < line <= len(lines) else ""
        raise FileFormatError(problem, path=path, line=line, text=text, cure=AGAIN)

    if len(lines) < 6:
        refuse("It ends within its heading.", max(len(lines), 1))
    fields, values = ([f.strip() for f in line.split(mark)] for line in lines[1:3])
    fields, filled = [f for f in fields if f], [f for f in values if f]  # some put two marks between two values
    facts = dict(zip(fields, filled if len(filled) == len(fields) else values))
    try:
        fps, count = float(facts["DataRate"]), int(facts["NumMarkers"])
    except (KeyError, ValueError):
        refuse("It states no DataRate and NumMarkers.", 3)
    # some put a marker's name above its first coordinate, some above its second
    names = [f.strip() for f in lines[3].split(mark)[2:] if f.strip()]
    if len(names) > count or not 0 < count <= 10_000:
        refuse(f"It states {count} markers and names {len(names)}.", 4)
    names += [f"marker {k + 1}" for k in range(len(names), count)]
    rows = []
    for number, line in enumerate(lines[5:], 6):
        fields = line.split(mark)
        if not line.strip() or not fields[0].strip():
            continue
        values = (fields[2:] + [""] * (3 * count))[: 3 * count]
        try:
            rows.append([float(v) if v.strip() else np.nan for v in values])
        except ValueError:
            refuse("A place is not a number.", number)
    return names, np.array(rows).reshape(len(rows), count, 3), fps, facts.get("Units", ""), ""


def _c3d(path: Path) -> tuple[list[str], Array, float, str, str]:
    """The same of a C3D."""
    found = read_points(path)
    up = found.up.lower().lstrip("+")
    return list(found.names), found.places, found.fps, found.unit, up if up in ("x", "y", "z", "-x", "-y", "-z") else ""
