"""Every Python snippet of README and docs runs; where a block of output follows, it is what was printed."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?", re.S)


def _snippets() -> list[tuple[str, str, str]]:
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for number, match in enumerate(_BLOCK.finditer(path.read_text(encoding="utf-8"))):
            found.append((f"{path.name}-{number}", match[1], match[2] or ""))
    return found


SLOW = ("locomotion.md", "repair.md", "spacetime.md", "synthesis.md", "world.md")
"""Pages whose snippets take long; what they show is tested where it is made."""


def test_the_readme_has_snippets() -> None:
    assert sum(name.startswith("README") for name, _, _ in _snippets()) >= 2


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
