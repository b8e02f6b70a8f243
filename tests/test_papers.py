"""docs/papers.md and the code name the same things."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")


def test_every_function_named_exists() -> None:
    names = re.findall(r"\| `(poise\.[\w.]+)` \|", PAGE)
    assert len(names) > 10
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                thing = import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for attribute in parts[cut:]:
                thing = getattr(thing, attribute)
            break


def test_every_citation_in_the_code_has_a_row() -> None:
    rows = {tuple(r.split(".")[:2]) for r in re.findall(r"\| `(poise\.[\w.]+)` \|", PAGE)}
    for path in (ROOT / "src").rglob("*.py"):
        for key in re.findall(r"\[(\w+)\]_", path.read_text(encoding="utf-8")):
            assert f"**[{key}]**" in PAGE, f"{path.name} cites {key}"
        if re.search(r"\[(Levine2012|ShapiroLee2011|Jain2009)\]_", path.read_text(encoding="utf-8")):
            module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            cited = any(module.startswith(".".join(r)) for r in rows)
            assert cited, f"{module} cites the paper; name its equation in docs/papers.md"
