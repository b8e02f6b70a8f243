"""TOML that a person wrote: read into tables, or refused with the line that is wrong; and text as it is written."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from poise.core.errors import FileFormatError


def quoted(text: str) -> str:
    """A text as a TOML string, in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parse_toml(text: str, path: object) -> dict[str, Any]:
    """The tables of a TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: if it is no TOML, with line, column and the line's text; or nested too deep.
    """
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
