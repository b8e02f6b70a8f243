"""The clips that scripts draw for the gallery, and the scenes around them."""

from __future__ import annotations

import runpy
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import GRAVITY

ROOT = Path(__file__).parents[1]
SCENES = ROOT / "examples" / "scenes"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        return runpy.run_path(str(ROOT / "scripts" / "make_clips.py"))
    finally:
        sys.path.remove(str(ROOT / "scripts"))


@pytest.mark.long
def test_a_walker_is_hit_by_balls_and_walks_on() -> None:
    walk = poise.load(poise.sample_path("walk"))
    hit = poise.simulate(walk, world=poise.World(SCENES / "balls.toml"))
    moved = np.linalg.norm(hit.motion.translations[:, 0] - walk.translations[:, 0], axis=1)
    first, second = moved[round(1.35 * 60) : round(2.5 * 60)].max(), moved[round(2.7 * 60) : round(4.0 * 60)].max()
    assert moved[: round(1.3 * 60)].max() < 2e-3
    assert 0.04 < first < 0.2
    assert second < first
    assert moved[-1] < 0.02


@pytest.mark.long
def test_two_bump_in_a_doorway_and_get_through(tmp_path: Path) -> None:
    for file in (SCENES / "bump.toml", poise.sample_path("walk")):
        shutil.copy(file, tmp_path)
    world = poise.World(tmp_path / "bump.toml")
    for _ in range(500):
        world.step()
    report = world.report()
    assert report["contacts_mean"] > 0.2  # they touch
    assert report["penetration_max_m"] < 0.035
    ada, bob = (world.motion(name).translations[-1, 0] for name in ("ada", "bob"))
    assert ada[0] > 3.0  # beyond the door
    assert bob[0] < 2.0
    assert min(ada[2], bob[2]) > 0.8


def drawn(script: dict[str, Any], name: str, folder: Path) -> Motion:
    """A clip as its file is read."""
    figure, translations, local, fps = script["AUTHORS"][name]()
    path = folder / f"{name}.bvh"
    script["bvh"].write(path, script["bvh"].text(figure.skeleton, script["bvh"].channels(translations, local), fps))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the rate: water brakes the glide, and nothing falls so
        return poise.load(path)


def test_a_dive_flies_as_gravity_asks(script: dict[str, Any]) -> None:
    made = sys.modules["samples.dive"]
    figure, translations, local, fps = script["AUTHORS"]["dive"]()
    masses, paths = sys.modules["samples.figure"].particles(figure, translations, local)
    com = np.einsum("p,fpi->fi", masses, paths)
    leaves, enters = round(made.LEAVES * fps) + 1, int(np.flatnonzero(com[:, 1] > made.SURFACE + made.REACH)[-1])
    acceleration = np.diff(com[leaves:enters], n=2, axis=0) * fps**2
    np.testing.assert_allclose(acceleration, np.tile([0.0, -GRAVITY, 0.0], (len(acceleration), 1)), atol=0.02)
    about = paths - com[:, None]
    momentum = np.einsum("p,fpi->fi", masses, np.cross(about[1:-1], 0.5 * fps * (about[2:] - about[:-2])))
    flying = momentum[leaves : enters - 1, 0]
    assert np.ptp(flying) < 0.06 * flying.mean()  # as the differences of frames see it
    turned = np.unwrap(rotations.to_euler("XYZ", local[:, 0])[:, 0], period=360.0)
    assert abs(turned[-1] - 540.0) < 2.0


def com_path(character: poise.Character, motion: Motion) -> Array:
    """Center of mass in every frame [m], shape (F, 3)."""
    places, turns = body_poses(character, poise.motion_to_q(character, motion))
    masses = np.array([body.mass for body in character.bodies])
    coms = places + rotations.rotate(turns, np.array([body.com for body in character.bodies]))
    return np.einsum("b,fbi->fi", masses / masses.sum(), coms)


@pytest.mark.long
def test_a_diver_meets_a_pile_and_keeps_momentum_in_the_air(script: dict[str, Any], tmp_path: Path) -> None:
    dive = drawn(script, "dive", tmp_path)
    character = poise.Character.fit(dive)
    met = poise.simulate(dive, character, world=poise.World(SCENES / "foam.toml"), floor=0.0)
    before = slice(0, round(2.4 * 60))
    moved = np.abs(met.motion.translations - dive.translations)[before, 0]
    assert moved.max() < 2e-3  # the board does not touch it
    assert met.report["deviation"]["root_position_max_m"] > 0.1  # the pile does
    assert met.report["scene"]["momentum_error_max_Ns"] < 1e-9
    push = poise.Push("Spine1", (200.0, 0.0, 0.0), start=1.75, duration=0.15)
    pushed = poise.simulate(dive, character, pushes=[push], floor=0.0)
    aside = (com_path(character, pushed.motion) - com_path(character, dive))[:, 0]
    speed = np.diff(aside)[round(1.95 * 60) : round(2.6 * 60)] * 60.0
    np.testing.assert_allclose(speed, 200.0 * 0.15 / character.mass, rtol=0.1)


def test_no_recording_overwrites_what_it_reads() -> None:
    pytest.importorskip("mkdocs")
    gallery = runpy.run_path(str(ROOT / "scripts" / "docs_gallery.py"))
    for show in gallery["SHOWS"]:
        assert f"{show.name}{gallery['_ending'](show)}" not in show.command.split(), show.name
