"""The pages that list what there is, held to it: every module, every command, every link."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import typer

from poise.cli.app import app
from tests.test_layers import LAYERS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "poise"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")])


def test_the_architecture_lists_every_layer_in_the_order_of_imports() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("| layer | holds")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    assert [name for row in rows for name in re.findall(r"`(\w+)/?`", row)] == list(LAYERS)


def test_the_readme_shows_every_command() -> None:
    import poise.cli  # noqa: F401  # registers them

    group = typer.main.get_command(app)
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    table = page.split("| command | does |")[1].split("\n\n")[0]
    missing = [name for name in group.commands if f"`poise {name}" not in table]  # pyright: ignore[reportAttributeAccessIssue]
    assert not missing


def test_the_first_page_names_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \|", page.split("## Extras")[1], re.M)
    assert sorted(named) == sorted(extras.keys() - {"all", "docs", "dev"})


def test_packages_of_the_reference_say_what_is_public() -> None:
    page = (ROOT / "scripts" / "docs_pages.py").read_text(encoding="utf-8")
    families = ast.literal_eval(page.split("FAMILIES = ")[1].split("\n")[0])
    for family in families:
        assert import_module(".".join(filter(None, ("poise", family)))).__all__, family


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    # `make docs` writes the reference, and checks the links to it
    made = [t for t in targets if t.startswith(("reference/", "../reference/"))]
    lost = [t for t in targets if "://" not in t and t not in made and not (page.parent / t).exists()]
    assert not lost


def _anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\- ]", "", head.lower()).strip()) for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_headings(page: Path) -> None:
    links = re.findall(r"\]\(([\w./]*\.md)?#([^)\s]+)\)", page.read_text(encoding="utf-8"))
    lost = [f"{name}#{head}" for name, head in links if head not in _anchors(page.parent / name if name else page)]
    assert not lost


def test_pages_to_use_are_no_diary() -> None:
    """What was tried, and when, is in tried.md and bars.md; Blender's page says which version was tried by hand."""
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("  - Use:")[1].split("  - Understand:")[0]
    pages = [page for page in re.findall(r": (\w+\.md)", nav) if page != "blender.md"]
    assert len(pages) > 10
    diary = re.compile(r"\b20\d\d-\d\d-\d\d\b|\b[Ll]eft out \(|^#+ What was tried", re.MULTILINE)
    assert not [page for page in pages if diary.search((ROOT / "docs" / page).read_text(encoding="utf-8"))]


def test_the_architecture_names_functions_where_they_are() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"\| `(\w+)`(?: \(C\))? \| `([\w/]+\.py)` \|", page)
    assert len(rows) > 10
    wrong = [
        f"{name} is not in {path}"
        for name, path in rows
        if not (SOURCE / path).exists()
        or not re.search(rf"^\s*(def|class) {name}\b", (SOURCE / path).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    files = set(re.findall(r"`((?:\w+/)+\w+\.py)`", page))
    wrong += [f"there is no {f}" for f in files if not (SOURCE / f).exists() and not (ROOT / f).exists()]
    assert not wrong


def test_every_bar_names_a_command_that_is_there() -> None:
    """Rows of bars.md whose table has the column "command": a day, and a benchmark, a module or a test that exists.

    "same" and "…" mean the command of the row above.
    """
    from benchmarks.__main__ import NAMES

    root, rows, wrong = Path(__file__).parents[1], 0, []
    has_command = False
    for line in (root / "docs" / "bars.md").read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            has_command = False
        elif line.endswith("| command |"):
            has_command = True
        elif has_command and not line.startswith("|---"):
            rows += 1
            date = line.replace("\\|", "").split("|")[4:-3]
            is_dated = len(date) == 1 and re.fullmatch(r" \d\d-\d\d(, busy)? ", date[0]) is not None
            command = line.replace("\\|", "").rstrip(" |").rpartition("|")[2]
            benches = re.findall(r"`make bench ([a-z_ ]+)`", command)
            modules = re.findall(r"python -m (benchmarks[.][a-z_]+)", command)
            tests = re.findall(r"`pytest (tests/[a-z_]+[.]py)", command)
            known = all(name in NAMES for names in benches for name in names.split())
            known = known and all((root / f"{m.replace('.', '/')}.py").is_file() for m in modules)
            known = known and all((root / test).is_file() for test in tests)
            if (
                not is_dated
                or not known
                or not (benches or modules or tests or command.strip() == "same" or "`…" in command)
            ):
                wrong.append(line)
    assert rows > 50
    assert not wrong


COMMANDS = [p.stem for p in sorted((ROOT / "benchmarks").glob("*.py")) if "\nif __name__ ==" in p.read_text("utf-8")]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_benchmark_asked_for_help_does_not_run(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench = import_module(f"benchmarks.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as end:
        bench.main()
    assert end.value.code == 0
    assert (bench.__doc__ or "-").split()[0] in capsys.readouterr().out
