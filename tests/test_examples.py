"""Every example runs by itself without a screen, passes its own check, and keeps the form of the gallery."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))

WITHOUT_FILTER = ("08_own_method", "13_balance")
"""They prove that the step problem is general: nothing of the filter may be in them."""


def test_the_two_proofs_are_there() -> None:
    assert set(WITHOUT_FILTER) <= {path.stem for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_has_the_form_of_the_gallery(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 80
    tree = ast.parse(text)
    title, _, prose = (ast.get_docstring(tree) or "").partition("\n\n")
    assert title
    assert "\n" not in title
    assert len(prose) > 100
    assert any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "check" in calls


@pytest.mark.parametrize("stem", WITHOUT_FILTER)
def test_the_proofs_know_only_dynamics_and_step(stem: str) -> None:
    tree = ast.parse((FOLDER / f"{stem}.py").read_text(encoding="utf-8"))
    used = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    reached = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not reached & {"simulate", "QuasiPhysicalFilter", "Options", "Preset"}
    allowed = {"__future__", "pathlib", "poise", "poise.physics", "poise.show", "poise.step"}
    assert used <= allowed


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example_runs_without_a_screen(path: Path, tmp_path: Path) -> None:
    if path.stem == "19_rerun" and find_spec("rerun") is None:
        pytest.skip("needs Rerun: pip install rerun-sdk")
    surroundings = {**os.environ, "TMPDIR": str(tmp_path), "TEMP": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, str(path), "--headless"], cwd=tmp_path, env=surroundings, capture_output=True, text=True,
        encoding="utf-8", timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()
