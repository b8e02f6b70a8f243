"""Every Python snippet of README and docs runs; where a block of output follows, it is what was printed.

So does the scene file of the README.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path
from textwrap import dedent

import pytest

from poise.cli.app import run
from poise.samples import sample_path

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n *```\n(.*?)```)?", re.S)


def _snippets() -> list[tuple[str, str, str]]:
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, match in enumerate(_BLOCK.finditer(path.read_text(encoding="utf-8"))):
            found.append((f"{path.name}-{number}", dedent(match[1]), dedent(match[2] or "")))
    return found


SLOW = ("locomotion.md", "repair.md", "spacetime.md", "synthesis.md", "world.md")
"""Pages whose snippets take long; what they show is tested where it is made."""


def test_the_readme_has_snippets() -> None:
    assert sum(name.startswith("README") for name, _, _ in _snippets()) >= 2


def test_the_scene_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (scene,) = re.findall(r"```toml\n(schema.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    (tmp_path / "street.toml").write_text(scene, encoding="utf-8")
    shutil.copy(sample_path("walk"), tmp_path / "walk.bvh")
    monkeypatch.chdir(tmp_path)
    assert run(["world", "street.toml", "--seconds", "0.1", "--save-figure", "bob=bob.bvh"]) == 0
    said = capsys.readouterr()
    assert "ada, bob; 1 body" in said.out + said.err


@pytest.mark.parametrize(
    ("name", "code", "output"),
    [pytest.param(*s, id=s[0], marks=[pytest.mark.long] if s[0].startswith(SLOW) else []) for s in _snippets()],
)
def test_snippet(name: str, code: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), {"__name__": name})
    if output:
        assert printed.getvalue() == output
