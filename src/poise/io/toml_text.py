"""TOML that a person wrote: read into tables, or refused with the line that is wrong; and text as it is written."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from poise.core.errors import FileFormatError

MAX_TEXT = 2_000_000
"""Longest text that is parsed [characters]."""

MAX_DEPTH = 32
"""Most parts of a dotted key. The parser takes time and memory by the square of their number."""

_KEY_PART = re.compile(r"[^\n=,{}\[\]#]*[^\s=,{}\[\]#][^\n=,{}\[\]#]*")


def quoted(text: str) -> str:
    """A text as a TOML string, in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_toml(text: str, path: object) -> dict[str, Any]:
    """The tables of a TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: if it is no TOML, with line, column and the line's text; if it is too long or nested too deep.
    """
    if len(text) > MAX_TEXT:
        raise FileFormatError(f"The text has {len(text)} characters; at most {MAX_TEXT} are read.", path=path)
    _check_depth(text, path)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        line, column = (int(place.group(1)), int(place.group(2))) if place else (None, None)
        lines = text.splitlines()
        shown = lines[line - 1] if line is not None and line <= len(lines) else None
        problem = f"This is no TOML: {re.sub(r' [(]at .*[)]$', '', str(error))}."
        raise FileFormatError(problem, path=path, line=line, column=column, text=shown) from error
    except RecursionError as error:
        raise FileFormatError("Its tables are nested too deep.", path=path) from error
    except ValueError as error:  # a whole number of thousands of digits
        raise FileFormatError(f"A value cannot be used: {error}.", path=path) from error


def _check_depth(text: str, path: object) -> None:
    """Refuse keys of very many parts before they are parsed."""
    line, parts = 1, 1
    for part in text.split("."):
        parts = parts + 1 if _KEY_PART.fullmatch(part) else 1
        line += part.count("\n")
        if parts > MAX_DEPTH:
            raise FileFormatError(
                f"A key has more than {MAX_DEPTH} parts.", path=path, line=line, cure="Use shorter keys."
            )
