"""Pages of the docs site that are made from the source: the reference of all public names, and the list of examples.

A hook of mkdocs; `make docs` runs it. The reference lists what `__all__` lists, so it is always complete.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FAMILIES = ("", "io", "analysis", "edit", "synthesis", "locomotion", "physics", "step", "step.quantities")
"""Packages whose names are public, below `poise`."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    sys.path.insert(0, str(ROOT / "src"))
    pages = {f"reference/{(family or 'poise').replace('.', '_')}.md": reference(family) for family in FAMILIES}
    examples = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    pages["examples.md"] = examples.replace("](../docs/", "](")
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def reference(family: str) -> str:
    """The page of one package: a section for each public name, its text from the docstring."""
    package = ".".join(filter(None, ("poise", family)))
    module: Any = import_module(package)
    homes: dict[str, str] = getattr(module, "_HOMES", {})  # where a name is that is loaded at first use
    parts = [f"# {package}", (module.__doc__ or "").strip()]
    for name in sorted(module.__all__, key=str.lower):
        also = "" if family else next((f for f in FAMILIES if f and is_in(f, name, getattr(module, name))), "")
        if also:  # every name has its text once
            page = f"[poise.{also}]({also.replace('.', '_')}.md)"
            parts += [f"## {package}.{name}", f"The same as `poise.{also}.{name}`: see {page}."]
        else:
            heading = f"    options:\n      heading: {package}.{name}\n      heading_level: 2"
            parts += [f"::: {homes.get(name, package)}.{name}\n{heading}"]
    return "\n\n".join(parts) + "\n"


def is_in(family: str, name: str, thing: object) -> bool:
    """True if a family shows this thing under the same name."""
    module = import_module(f"poise.{family}")
    return name in module.__all__ and getattr(module, name) is thing
