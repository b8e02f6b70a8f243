"""`poise demo`: what a newcomer gets from one command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import poise
from poise.show.arrays import read_recording
from poise.show.page import has_page

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder the demo made, and what it said; run as a user runs it."""
    folder = tmp_path_factory.mktemp("demo") / "a new folder"
    command = [sys.executable, "-m", "poise", "demo", "--out", str(folder), "--headless"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_it_writes_a_clip_a_report_a_strip_and_a_recording(shown: tuple[Path, str]) -> None:
    folder, said = shown
    files = sorted(p.name for p in folder.iterdir())
    recording = "demo.html" if has_page() else "demo.gif"
    assert files == [recording, "report.json", "strip.png", "walk_shoved.bvh"], "and no leftovers"
    for name in files:
        assert name in said or name.startswith("report")
    assert (folder / recording).stat().st_size < (1.2e6 if has_page() else 3e6)
    with Image.open(folder / "strip.png") as strip:
        assert strip.width > 1000
        assert np.asarray(strip.convert("RGB")).std() > 10.0
    if has_page():
        seen = read_recording(folder / recording)
        assert [t["name"] for t in seen.header["tracks"]] == ["simulated", "original"]
        assert seen.header["timeline"][0]["name"] == "pushes"
    else:
        with Image.open(folder / recording) as film:
            assert getattr(film, "n_frames", 1) > 60


def test_the_walk_is_visibly_shoved_and_stays_on_the_ground(shown: tuple[Path, str]) -> None:
    folder, _ = shown
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["schema"] == "poise.simulate/1"
    for event in report["events"]:
        assert 0.1 < event["com_excursion_max_m"] < 0.3
    assert report["contact"]["penetration_p95_m"] < 0.02
    assert report["contact"]["float_p95_m"] < 0.03
    assert report["solver"]["failures"] == 0


def test_the_moved_clip_drops_back_into_the_tool_it_came_from(shown: tuple[Path, str]) -> None:
    folder, _ = shown
    moved, source = poise.load(folder / "walk_shoved.bvh"), poise.load(poise.sample_path("walk"))
    assert moved.skeleton.names == source.skeleton.names
    assert moved.frame_count == source.frame_count
    assert moved.fps == pytest.approx(source.fps)
    assert np.abs(moved.rotations - source.rotations).max() > 0.1
