"""The page's pure modules, by their own unit tests in node; no browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[1] / "src" / "poise" / "show" / "web"

needs_node = pytest.mark.skipif(shutil.which("npm") is None, reason="there is no node on this machine")


def npm(*words: str) -> str:
    done = subprocess.run(
        ["npm", *words], cwd=WEB, capture_output=True, text=True, encoding="utf-8", timeout=300, shell=os.name == "nt"
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="session")
def packages() -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        npm("ci", "--no-audit", "--no-fund")


@needs_node
def test_units_pass(packages: None) -> None:
    said = npm("test")
    assert "# fail 0" in said
    assert "# pass 0" not in said


@needs_node
def test_types_hold(packages: None) -> None:
    npm("run", "check")
