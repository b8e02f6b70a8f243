"""The pages that list what there is, held to it: every module, every command, every link."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from poise.cli.app import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "poise"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])


def words_of_layers() -> dict[str, str]:
    """What docs/architecture.md says of the modules of each layer."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = page.split("## Modules\n")[1].split("\n## ")[0]
    parts = re.split(r"\n- `(\w+)/`:", section)
    return dict(zip(parts[1::2], parts[2::2]))


def test_the_architecture_names_every_module() -> None:
    words = words_of_layers()
    modules = [p.relative_to(SOURCE) for p in sorted(SOURCE.rglob("*.py")) if not p.name.startswith("_")]
    inside = [m for m in modules if len(m.parts) > 1]
    assert len(inside) > 100
    unnamed = [m.as_posix() for m in inside if f"`{m.stem}`" not in words.get(m.parts[0], "")]
    assert not unnamed


def test_the_architecture_names_no_module_that_is_gone() -> None:
    gone = [
        f"{layer}/{name}"
        for layer, words in words_of_layers().items()
        for name in re.findall(r"`(\w+)`", words)
        if not list((SOURCE / layer).rglob(f"{name}.py"))
    ]
    assert not gone


def test_the_readme_shows_every_command() -> None:
    import poise.cli  # noqa: F401  # registers them

    group = typer.main.get_command(app)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = page.split("| command | does |")[1].split("\n\n")[0]
    missing = [name for name in group.commands if f"`poise {name}" not in table]  # pyright: ignore[reportAttributeAccessIssue]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    lost = [t for t in targets if "://" not in t and not (page.parent / t).exists()]
    assert not lost
