"""What a wheel holds: core and finished page where they can be built, none and a sentence where they cannot.

Each wheel is built by pip from a copy of what git holds, as a user's machine would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed (pip install -e '.[dev]')")

ROOT = Path(__file__).parents[1]
DIST = "poise/show/web/dist"
ENOUGH = ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "THIRD_PARTY.md", "src/poise")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The package's source without anything built."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ENOUGH:
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, to, ignore=shutil.ignore_patterns("dist", "lib", "node_modules", "__pycache__")
            )
        else:
            shutil.copy(ROOT / name, to)
    return folder


def wheel(source: Path, path: str | None = None, **environment: str) -> tuple[int, str, list[str]]:
    """pip's exit code, what it said, and the names in the wheel; `path` replaces PATH."""
    words = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps", "--no-build-isolation", "-w", "out", "."]
    known = {k: v for k, v in os.environ.items() if k not in ("POISE_NATIVE", "POISE_PLAYER", "PIP_NO_INDEX", "CC")}
    known |= {"PATH": os.environ["PATH"] if path is None else path, **environment}
    done = subprocess.run(
        words, cwd=source, env=known, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=600
    )
    made = list((source / "out").glob("*.whl"))
    names = zipfile.ZipFile(made[0]).namelist() if made else []
    return done.returncode, done.stdout + done.stderr, names


@pytest.mark.long
def test_without_node_or_network_the_wheel_holds_no_page_and_says_so(source: Path) -> None:
    code, said, names = wheel(source, path="", PIP_NO_INDEX="1")
    assert code == 0, said
    assert "WITHOUT its player" in said
    assert "there is no node" in said
    assert "WITHOUT its compiled core: there is no C compiler" in said
    assert not [n for n in names if n.startswith("poise/native/lib/")]
    assert not [n for n in names if n.startswith("poise/show/web")]
    assert "poise/show/server.py" in names
    assert any(n.startswith("poise/samples/") or "walk" in n for n in names)


def test_where_the_core_is_required_and_cannot_be_built_the_build_fails(source: Path) -> None:
    code, said, names = wheel(source, path="", PIP_NO_INDEX="1", POISE_NATIVE="require")
    assert code != 0
    assert "The compiled core could not be built: there is no C compiler" in said
    assert not names


@pytest.mark.long
@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here")
def test_with_a_compiler_the_wheel_holds_the_core_and_is_for_any_python(source: Path) -> None:
    code, said, names = wheel(source, POISE_PLAYER="skip", POISE_NATIVE="require")
    assert code == 0, said
    assert [n for n in names if n.startswith("poise/native/lib/core-plain-")]
    assert [n for n in names if n.startswith("poise/native/c/")]  # changed sources are noticed there too
    (made,) = (source / "out").glob("*.whl")
    assert "-py3-none-" in made.name
    assert not made.name.endswith("-any.whl")


@pytest.mark.long
def test_where_the_page_is_required_and_cannot_be_built_the_build_fails(source: Path) -> None:
    code, said, names = wheel(source, path="", PIP_NO_INDEX="1", POISE_PLAYER="require")
    assert code != 0
    assert "The player's page could not be built: there is no node" in said
    assert not names


@pytest.mark.long
def test_a_page_that_is_there_and_fresh_travels_as_it_is(source: Path) -> None:
    """A source archive holds a finished page: nobody who installs from it needs node."""
    sys.path.insert(0, str(ROOT))
    try:
        from hatch_build import STAMP, WEB, fingerprint
    finally:
        sys.path.remove(str(ROOT))
    dist = source / WEB / "dist"
    dist.mkdir()
    (dist / "page.html").write_text("finished", encoding="utf-8")
    (dist / "notices.txt").write_text("thanks", encoding="utf-8")
    (dist / STAMP).write_text(fingerprint(source / WEB), encoding="utf-8")
    code, said, names = wheel(source, path="", PIP_NO_INDEX="1", POISE_PLAYER="require")
    assert code == 0, said
    assert {f"{DIST}/page.html", f"{DIST}/notices.txt"} <= set(names)
    shutil.rmtree(source / "out")
    (source / WEB / "src" / "clock.ts").write_text("// changed", encoding="utf-8")
    code, said, _ = wheel(source, path="", PIP_NO_INDEX="1", POISE_PLAYER="require")
    assert code != 0
    assert "could not be built" in said


@pytest.mark.long
@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm on this machine")
def test_with_node_the_wheel_holds_the_page_and_its_notices(source: Path) -> None:
    code, said, names = wheel(source)
    assert code == 0, said
    if "WITHOUT its player: `npm ci`" in said:
        pytest.skip("npm finds no packages: there is no network")
    assert {f"{DIST}/page.html", f"{DIST}/check.html", f"{DIST}/notices.txt"} <= set(names)
    assert not [n for n in names if "node_modules" in n or n.endswith(".ts")]
    (made,) = (source / "out").glob("*.whl")
    with zipfile.ZipFile(made) as held:
        notices = held.read(f"{DIST}/notices.txt").decode()
        page = held.read(f"{DIST}/page.html").decode()
        assert any(n.endswith("licenses/THIRD_PARTY.md") for n in names)
    for word in ("three ", "uplot ", "MIT"):
        assert word in notices
        assert word in page
    assert "<!--poise:data-->" in page
