"""Whatever Poise writes it reads back as it was: axis, unit, rate, frames, names and places, in every format."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MotionWarning
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton
from tests.clips import MOTIONS, first_cases, needs_motions

FORMATS = ("bvh", "npz", "glb", "gltf", "usda", "usdc")
OWN = {".amc": "amc", ".txt": "txt"}
"""Formats that are written only of what was read from them, by the extension that was read."""
EVEN_ONLY = ("bvh",)
"""Formats with one frame time for a whole clip."""


def assert_comes_back(motion: Motion, path: Path, *, clip: int | None = None) -> None:
    poise.save(motion, path)
    back = poise.load(path, clip=clip)
    assert back.frame_count == motion.frame_count
    assert back.times == pytest.approx(motion.times - motion.times[0], rel=1e-6, abs=1e-6)
    assert back.fps == pytest.approx(motion.fps, rel=1e-6)
    place = {name: j for j, name in enumerate(back.skeleton.names)}
    if len(place) == len(back.skeleton.names):
        assert sorted(place) == sorted(motion.skeleton.names)  # BVH names parents first, branch by branch
        order = [place[name] for name in motion.skeleton.names]
    else:
        order = list(range(back.skeleton.joint_count))
    size = 1.0 + float(np.abs(motion.world[0]).max())
    assert np.abs(back.world[0][:, order] - motion.world[0]).max() < 1e-5 * size
    source, read = motion.source, back.source
    assert read is not None
    if source is not None and source.format == read.format:
        assert read.up == source.up
        assert read.unit == pytest.approx(source.unit, rel=1e-9)


def figure(frames: int, times: np.ndarray, *, lying: bool, seed: int = 0) -> Motion:
    """A figure of a few joints that turns at random; `lying` on its side all the time, as no reader would guess."""
    draw = np.random.default_rng(seed)
    names = ("Hips", "Left Leg", "Left:Foot", "Right Leg", "Right:Foot", "Chëst")
    offsets = np.array([[0, 0, 0.9], [0, 0.1, 0], [0, 0, -0.8], [0, -0.1, 0], [0, 0, -0.8], [0, 0, 0.5]])
    skeleton = Skeleton(
        names, np.array([-1, 0, 1, 0, 3, 0]), offsets, np.tile(rotations.IDENTITY, (6, 1)),
        tuple(EndSite(j, np.array([0.1, 0, 0.2]), f"{j} end") for j in (2, 4, 5)),
        translating=frozenset({0}),
    )  # fmt: skip
    wave = draw.normal(size=(6, 3)) * np.sin(np.linspace(0, 9, frames))[:, None, None] * 0.4
    turned = rotations.from_rotation_vector(wave)
    if lying:
        turned[:, 0] = rotations.multiply(rotations.from_rotation_vector(np.array([1.5, 0.2, 0.0])), turned[:, 0])
    moved = np.tile(offsets, (frames, 1, 1))
    moved[:, 0] += np.cumsum(draw.normal(size=(frames, 3)) * 0.002, axis=0)
    return Motion(skeleton, times, moved, turned)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("lying", [False, True])
@first_cases(
    2, ("frames", "fps"), [(1, 24.0), (40, 23.976), (2, 60.0), (5221, 120.0), (300, 119.88), (900, 1000.0), (12, 0.5)]
)
def test_a_motion_comes_back(tmp_path: Path, suffix: str, lying: bool, frames: int, fps: float) -> None:
    motion = figure(frames, np.arange(frames) / fps, lying=lying)
    if frames == 1:
        poise.save(motion, tmp_path / "one.npz")  # a single frame has the rate of its file
        motion = poise.load(tmp_path / "one.npz", fps=fps)
    assert_comes_back(motion, tmp_path / f"a.{suffix}")


@pytest.mark.parametrize("suffix", [f for f in FORMATS if f not in EVEN_ONLY])
def test_uneven_frames_come_back(tmp_path: Path, suffix: str) -> None:
    times = np.cumsum(np.random.default_rng(3).uniform(0.005, 0.05, 200))
    assert_comes_back(figure(200, times - times[0], lying=False), tmp_path / f"a.{suffix}")


@first_cases(2, "unit", ["cm", 0.0371, "m", "mm", "inch", "cmu"])
@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_a_bvh_keeps_the_unit_and_axis_it_was_written_in(tmp_path: Path, unit: str | float, up: str) -> None:
    motion = figure(30, np.arange(30) / 30.0, lying=True)
    poise.save(motion, tmp_path / "a.bvh", unit=unit, up=up)
    back = poise.load(tmp_path / "a.bvh")
    assert back.source is not None
    assert back.source.up == up
    assert np.abs(back.world[0] - motion.world[0]).max() < 1e-5
    # whoever says otherwise is believed
    said = poise.load(tmp_path / "a.bvh", unit="m", up="y").source
    assert said is not None
    assert (said.unit, said.up) == (1.0, "y")
    # and the blanks that say it are blanks to others
    text = (tmp_path / "a.bvh").read_text(encoding="utf-8")
    assert [w for w in text.split() if w.startswith("0.03333")] == ["0.0333333333"]


@first_cases(1, "name", ["walk", "hover_hop", "quadruped"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_sample_comes_back(tmp_path: Path, name: str, suffix: str) -> None:
    motion = poise.load(poise.sample_path(name))
    assert_comes_back(motion, tmp_path / f"a.{suffix}")
    # what was said of the file holds for what is written of it
    lying = poise.load(poise.sample_path(name), up="x", unit=0.5)
    assert_comes_back(lying, tmp_path / f"b.{suffix}")


READ = (".bvh", ".amc", ".txt", ".glb", ".gltf", ".vrma", ".npz", ".mvnx", ".c3d", ".usda", ".usdc", ".usdz")
LONGEST = 1500
"""Frames of a clip that go through all formats; what comes after them is cut off."""


def clips() -> Iterator[Path]:
    for folder in (MOTIONS, MOTIONS.with_name("motions2")):
        for path in (p for p in sorted(folder.rglob("*")) if p.parent.name != "licences"):
            if path.suffix.lower() in READ:
                yield path


@pytest.mark.long
@needs_motions
@pytest.mark.parametrize("path", list(clips()) if MOTIONS.is_dir() else [], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_clip_comes_back(tmp_path: Path, path: Path) -> None:
    index, motion, why = None, None, ""
    for index in (None, 0):
        try:
            motion = poise.load(path, clip=index)
            break
        except FileFormatError as error:
            why = str(error).replace(os.fspath(path), path.name)
    if motion is None:
        pytest.skip(why)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotionWarning)
        if motion.frame_count > LONGEST:
            motion = motion.cut(0.0, float(motion.times[LONGEST - 1]))
        kind = path.suffix.lower()
        for suffix in (*FORMATS, *([OWN[kind]] if kind in OWN else [])):
            is_own = suffix[:2] == kind[1:3]
            try:
                assert_comes_back(motion, tmp_path / f"a.{suffix}", clip=index if is_own else None)
            except InvalidValue as error:
                assert "evenly spaced" in str(error)  # noqa: PT017
