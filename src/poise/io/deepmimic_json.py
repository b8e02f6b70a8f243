"""JSON as DeepMimic and its descendants write it, read with a bound on size and depth and with plain errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from poise.core.errors import FileFormatError
from poise.core.typing import Array
from poise.io.files import read_text
from poise.io.json_text import parse_json

MAX_BYTES = 40_000_000
"""A motion of this size has about 40,000 frames, ten minutes; more is refused before it is read."""


def load_json(path: Path) -> tuple[str, Any]:
    """Text and content of a JSON file.

    Raises:
        FileFormatError: with line and column, if it is not JSON.
    """
    text = read_text(path, limit=MAX_BYTES)
    return text, parse_json(path, text)


def frame_table(path: Path, text: str, rows: Any, width: int | None) -> Array:
    """The list "Frames" as an array, shape (F, width); width None takes the first frame's.

    Raises:
        FileFormatError: with frame and line, if a frame is short, long, or holds anything but finite numbers.
    """
    if not isinstance(rows, list) or not rows:
        raise FileFormatError("There is no frame in 'Frames'.", path=path, cure="Check that the clip is complete.")
    for index, row in enumerate(rows):
        wanted = width if width is not None else (len(rows[0]) if isinstance(rows[0], list) else 0)
        if not isinstance(row, list) or not set(map(type, row)) <= {int, float}:
            raise _frame_fault(path, text, index, "is not a list of numbers")
        if len(row) != wanted:
            raise _frame_fault(path, text, index, f"has {len(row)} numbers; {wanted} belong to one")
    try:
        table = np.array(rows, dtype=np.float64)
    except (OverflowError, ValueError):
        table = np.full((1, 1), np.nan)
    if not np.isfinite(table).all():
        bad = 0 if table.shape[0] != len(rows) else int(np.argmin(np.isfinite(table).all(axis=1)))
        raise _frame_fault(path, text, bad, "holds a number too large to be one")
    return table


def _frame_fault(path: Path, text: str, index: int, problem: str) -> FileFormatError:
    return FileFormatError(
        f"Frame {index} {problem}.",
        path=path,
        line=frame_line(text, index),
        cure="Get the clip again, or name the character it belongs to with --skeleton.",
    )


def frame_line(text: str, index: int) -> int:
    """Line on which frame `index` of the list "Frames" opens, from 1."""
    at = text.find("[", text.find('"Frames"'))
    for _ in range(index + 1):
        following = text.find("[", at + 1)
        if following < 0:
            break
        at = following
    return text.count("\n", 0, max(at, 0)) + 1
