"""Prints the oldest versions that pyproject.toml promises, one `name==version` a line, for `make floors`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def floors(text: str) -> list[str]:
    """The lower bound of every dependency and of every extra that users install, as exact versions."""
    project = tomllib.loads(text)["project"]
    groups = project["optional-dependencies"].items()
    extras = [r for name, group in groups if name not in ("all", "dev", "docs") for r in group]
    found: list[str] = []
    for requirement in (*project["dependencies"], *extras):
        match = re.match(r"([\w-]+)>=([\d.]+)", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} has no lower bound: write name>=version.")
        name, version = match.groups()
        found.append(f"{name}=={version}" + ".0" * (2 - version.count(".")))
    return found


if __name__ == "__main__":
    sys.stdout.write("\n".join(floors(PROJECT.read_text(encoding="utf-8"))) + "\n")
