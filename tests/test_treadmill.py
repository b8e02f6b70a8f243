"""Clips that walk on the spot: simulated as what they are, a walk seen by somebody who goes beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body import fit
from poise.body.posing import joint_deviations
from poise.cli.app import run as run_command
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.filter.forces import Force
from poise.filter.treadmill import Treadmill
from poise.world import Clip
from tests.clips import sample_clip

VELOCITY = {"walk": np.array([0.0, -1.07, 0.0]), "quadruped": np.array([0.0, -1.45, 0.0])}
"""Of the samples, from their first to their last frame [m/s]."""


def sample(name: str) -> Motion:
    return replace(sample_clip(name), source=None).cut(0.0, 3.0)


def on_the_spot(name: str) -> Motion:
    motion = sample(name)
    moved = motion.translations.copy()
    moved[:, 0] -= motion.times[:, None] * VELOCITY[name]
    return replace(motion, translations=moved)


def run(motion: Motion, *forces: Force) -> poise.SimulationResult:
    return poise.simulate(motion, pushes=forces)


def reaction(result: poise.SimulationResult) -> tuple[np.ndarray, np.ndarray]:
    """Turns of joints [deg] and way of the root [m] away from the clip."""
    turned = joint_deviations(result.character, result.reference_q, result.q)
    return turned, result.q[:, :3] - result.reference_q[:, :3]


@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_a_walk_without_its_travel_has_the_same_contacts_and_reacts_as_with_it(name: str) -> None:
    assert Treadmill.under(on_the_spot(name)).velocity == pytest.approx(-VELOCITY[name], abs=1e-3)
    assert not Treadmill.under(sample(name)).moves
    push = poise.Push("chest", (200.0, 100.0, 0.0), start=0.5)
    there, here = run(sample(name), push), run(on_the_spot(name), push)
    assert here.report["per_frame"]["contacts"] == there.report["per_frame"]["contacts"]
    for own, other in zip(reaction(here), reaction(there)):
        # the speed is that of its feet, to 1e-6; degrees and meters
        assert own == pytest.approx(other, abs=1e-3)
    assert np.abs(reaction(here)[1]).max() > 0.01
    assert here.report["root_residual"]["force_max_N"] == pytest.approx(
        there.report["root_residual"]["force_max_N"], rel=1e-3
    )
    assert here.report["floor_velocity_m_s"] == pytest.approx((-VELOCITY[name]).tolist(), abs=1e-3)
    assert there.report["floor_velocity_m_s"] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("after", "seconds"), [("path", 3.2), ("blend", 6.6)])
def test_under_a_figure_that_fell_the_floor_stops(after: str, seconds: float) -> None:
    whole = replace(sample_clip("walk"), source=None).cut(0.0, seconds)
    moved = whole.translations.copy()
    moved[:, 0] -= whole.times[:, None] * VELOCITY["walk"]
    motion = replace(whole, translations=moved)
    push = poise.Push("chest", (1200.0, 0.0, 0.0), start=0.6)
    result = poise.simulate(motion, pushes=(push,), options=poise.Options(after=after))
    fall, dt = result.report["fall"], result.report["dt"]
    still = fall["start"] + fall["still_after_s"]
    hips = result.q[:, :3]
    lies = (result.times > still) & (result.times < still + 0.3)
    assert np.ptp(hips[lies], axis=0).max() < 0.02
    if after == "path":  # but for the floor it falls as it does on its way, and that stops without a jolt
        along = poise.simulate(whole, pushes=(push,)).q[:, :3]
        assert np.abs(np.diff(hips - along, n=2, axis=0)).max() / dt < 2.5 * 1.07 * dt  # [m/s]
    if after == "blend":  # up again it walks on the spot, beside its clip
        assert hips[-1, 2] > 0.8
        assert np.abs(hips[-15:, 1] - hips[-1, 1]).max() < 0.1
    assert result.report["deviation"]["root_position_max_m"] < 2.0
    excursion = np.array(result.report["per_frame"]["com_m"]) - result.report["per_frame"]["com_reference_m"]
    assert np.abs(excursion[:, 1]).max() < 1.5  # 5.9 with a floor that never stops


def test_in_a_world_its_feet_slide_and_that_is_said_or_it_goes_ahead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    motion = on_the_spot("walk")
    with pytest.warns(MotionWarning, match=r"walks on the spot.* at 1\.07 m/s\. .*travels = true"):
        Clip(motion)
    poise.save(motion, tmp_path / "spot.npz")
    for travels in (False, True):
        text = f'schema = "poise.scene/1"\n[[figures]]\nname = "ada"\nclip = "spot.npz"\ntravels = {travels}\n'
        (tmp_path / "street.toml").write_text(text.replace("T", "t").replace("F", "f"))
        words = ["world", str(tmp_path / "street.toml"), "-o", str(tmp_path / "ada.bvh"), "--seconds", "1"]
        assert run_command([*words, "--overwrite"]) == 0
        assert ("walks on the spot" in capsys.readouterr().err) == (not travels)
        hips = poise.load(tmp_path / "ada.bvh").world[0][:, 0]
        way = float(np.linalg.norm((hips[-1] - hips[0])[:2]))
        assert way == pytest.approx(1.07 if travels else 0.0, abs=0.15)  # hips also sway
    words = ["simulate", str(tmp_path / "spot.npz"), "-o", str(tmp_path / "out.bvh"), "--scene", "rubble:3,1"]
    assert run_command(words) == 0
    assert "feet slide on the floor of the scene" in capsys.readouterr().err


def test_what_comes_back_stays_on_the_spot() -> None:
    motion = on_the_spot("walk")
    result = run(motion)
    assert np.abs(result.motion.translations - motion.translations).max() < 1e-9
    assert np.abs(result.q - result.reference_q).max() < 1e-9
    places = np.array(result.report["per_frame"]["com_m"])
    assert np.abs(places[:, :2] - result.q[: len(places), :2]).max() < 0.3


def test_ropes_and_goals_are_tied_to_places_beside_the_treadmill() -> None:
    motion = on_the_spot("walk")
    character = fit(motion)
    joint = character.bodies[character.body_index("right_hand")].joint
    place = motion.world[0][0, joint] + np.array([0.0, 0.1, 0.1])
    goal = poise.PointGoal("right_hand", (float(place[0]), float(place[1]), float(place[2])), start=0.3)
    held = poise.simulate(motion, options=poise.Options(goal_points=(goal,)))
    assert np.linalg.norm(held.motion.world[0][-1, joint] - place) < 0.02
    rope = poise.Pull("hips", (0.3, 0.0, 1.0), stiffness=500.0, start=0.3)
    pulled = run(motion, rope)
    moved = pulled.q[:, :2] - pulled.reference_q[:, :2]
    # toward the rope's end, and not after a place that is left behind by a meter a second
    assert moved[-1, 0] > 0.02
    assert np.abs(moved[:, 1]).max() < 0.1
