"""JSON from a file nobody vouches for: bounded in size and depth, no key twice, finite numbers only, plain errors."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

from poise.core.errors import FileFormatError

MAX_VALUES = 2_500_000
"""Most values of one text; each takes up to a hundred bytes once parsed."""

_LARGE = re.compile(r"[eE]\+?\d{3}|\d{300}")
"""What a number too large for a float is written with; a text without it needs no check of each number."""


def parse_json(path: Path | str, text: str) -> Any:
    """Content of a JSON text.

    Raises:
        FileFormatError: with line and column where there is one, if it is not JSON, repeats a key of one object,
            holds NaN, Infinity or a number too large, is nested too deeply, or has more values than any motion needs.
    """
    if not text.strip():
        raise FileFormatError("The file is empty.", path=path, line=1, cure="Get it again from its source.")
    values = text.count(",") + text.count("[") + text.count("{")
    if values > MAX_VALUES:
        raise FileFormatError(
            f"The JSON has about {values} values; at most {MAX_VALUES} are read.",
            path=path,
            cure="Cut it into shorter clips.",
        )
    try:
        number = _finite if _LARGE.search(text) else None
        return json.loads(text, parse_constant=_refuse, parse_float=number, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        lines = error.doc.splitlines()
        seen = lines[error.lineno - 1].strip() if error.lineno <= len(lines) else None
        raise FileFormatError(
            f"This is not JSON: {error.msg}.",
            path=path,
            line=error.lineno,
            column=error.colno,
            text=seen,
            cure="It may be cut off: get it again.",
        ) from None
    except RecursionError:
        raise FileFormatError("The JSON is nested too deeply.", path=path, cure="Check what file this is.") from None
    except ValueError as error:
        raise FileFormatError(f"This JSON is not usable: {error}.", path=path, cure="Mend that place.") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [k for k, _ in pairs]
        twice = next(n for i, n in enumerate(names) if n in set(names[:i]))
        raise ValueError(f"key {twice!r} stands twice in one object")
    return found
