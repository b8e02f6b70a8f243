"""Floor, glitches, travel, loops and flights of real clips: what is there is found, what is real is left in peace."""

from __future__ import annotations

import math
import warnings
from functools import cache

import numpy as np
import pytest

from poise import phases
from poise.core.motion import Motion
from poise.io import load
from tests.clips import MOTIONS, first_cases, needs_motions

pytestmark = needs_motions

CMU = "bvh/cmu_3dsmax/"
FAST = [
    "bvh/accad/Female1_D6_CartWheel.bvh", "bvh/accad/Female1_A10_LieToCrouch.bvh", "bvh/other/bvh_example.bvh",
    CMU + "143_01.bvh", CMU + "143_04.bvh", CMU + "143_05.bvh", CMU + "143_24.bvh", CMU + "143_31.bvh",
    CMU + "143_32.bvh", CMU + "143_40.bvh", CMU + "143_41.bvh", "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh",
    "asf_amc/02_01.amc", "asf_amc/02_03.amc", "asf_amc/02_04.amc", "deepmimic/humanoid3d_backflip.txt",
    "deepmimic/humanoid3d_spinkick.txt", "deepmimic/humanoid3d_roll.txt", "deepmimic/humanoid3d_walk.txt",
]  # fmt: skip
MISLABELED = [CMU + "143_01.bvh", CMU + "143_05.bvh", CMU + "143_31.bvh"]


@cache
def clip(name: str) -> Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load(MOTIONS / name)


@first_cases(4, "name", FAST)
def test_fast_real_motion_is_no_glitch(name: str) -> None:
    assert phases.find_glitches(clip(name)) == ()


@first_cases(
    2,
    ("name", "count"),
    [
        ("bvh/cmu_motionbuilder/02_01.bvh", 1),
        ("bvh/cmu_motionbuilder/05_20-mb.bvh", 1),
        ("bvh/cmu_daz/05_20-daz.bvh", 4),
        ("bvh/accad/Female1_A01_Stand.bvh", 0),
        (CMU + "131_01.bvh", 0),
    ],
)
def test_rest_poses_in_front(name: str, count: int) -> None:
    assert phases.leading_rest_frames(clip(name)) == count


def test_the_flips_of_a_dance_are_found() -> None:
    motion = clip("bvh/cmu_motionbuilder/05_20-mb.bvh")
    found = [(g.kind, g.frame, motion.skeleton.names[g.joint]) for g in phases.find_glitches(motion)]
    for frame in (676, 679):
        assert ("flip", frame, "LeftUpLeg") in found
        assert ("flip", frame, "LeftFoot") in found
    flagged = phases.glitch_frames(motion)
    assert flagged[675:681].all()
    assert flagged.sum() < 0.02 * len(flagged) + 5


def test_a_thumb_that_flips_is_reported_and_does_not_count() -> None:
    motion = clip(CMU + "131_01.bvh")
    found = phases.find_glitches(motion)
    assert {motion.skeleton.names[g.joint] for g in found} == {"RThumb"}
    assert len(found) == 8
    assert not phases.glitch_frames(motion).any()


def test_the_broken_end_of_a_walk_is_found() -> None:
    motion = clip("bvh/accad/Female1_B15_WalkTurnAround180.bvh")
    assert {g.frame for g in phases.find_glitches(motion)} == {317}


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("bvh/accad/Female1_A01_Stand.bvh", 0.06, 0.09),
        ("asf_amc/02_01.amc", 0.0, 0.05),
        ("deepmimic/humanoid3d_crawl.txt", 0.02, 0.06),
        (CMU + "143_05.bvh", 0.03, 0.06),
    ],
)
def test_floors(name: str, low: float, high: float) -> None:
    found = phases.find_floor(clip(name))
    assert low < found.value < high
    assert found.confidence > 0.7


@pytest.mark.parametrize(
    ("name", "degrees"),
    [
        (CMU + "143_32.bvh", 0.0),
        (CMU + "143_40.bvh", 0.0),
        ("asf_amc/02_01.amc", -90.0),
        ("deepmimic/humanoid3d_walk.txt", 0.0),
    ],
)
def test_directions(name: str, degrees: float) -> None:
    assert math.degrees(phases.direction_of_travel(clip(name))) == pytest.approx(degrees, abs=5.0)


def test_a_sideways_walk_faces_across_its_way() -> None:
    motion = clip(CMU + "143_40.bvh")
    across = math.degrees(phases.facing(motion) - phases.direction_of_travel(motion))
    assert abs(math.remainder(across, 360.0)) == pytest.approx(90.0, abs=10.0)


@pytest.mark.parametrize("name", FAST)
def test_nothing_captured_walks_on_the_spot(name: str) -> None:
    assert not phases.is_in_place(clip(name))


def test_an_authored_cycle_walks_on_the_spot() -> None:
    pytest.importorskip("pygltflib")
    assert phases.is_in_place(clip("gltf/cesium_man.gltf"))


@pytest.mark.parametrize("name", ["walk", "backflip", "crawl", "roll"])
def test_labeled_loops_repeat_without_a_jump(name: str) -> None:
    motion = clip(f"deepmimic/humanoid3d_{name}.txt")
    assert phases.loops(motion)
    again = phases.repeat(motion, 3)
    speed, usual = (
        np.linalg.norm(np.diff(m.world[0], axis=0), axis=2) / np.diff(m.times)[:, None] for m in (again, motion)
    )
    assert speed.max() < 1.2 * usual.max()
    away = again.world[0][-1, 0] - again.world[0][0, 0]
    once = motion.world[0][-1, 0] - motion.world[0][0, 0]
    np.testing.assert_allclose(away[:2], 3.0 * once[:2], atol=0.12)
    np.testing.assert_allclose(again.world[0][0], motion.world[0][0])


@pytest.mark.parametrize(
    "name",
    [CMU + "143_01.bvh", "bvh/accad/Female1_D6_CartWheel.bvh", "deepmimic/humanoid3d_getup_facedown.txt"],
)
def test_what_does_not_loop(name: str) -> None:
    assert not phases.loops(clip(name))


@pytest.mark.parametrize("name", MISLABELED)
def test_mislabeled_clips_are_told(name: str) -> None:
    found = phases.implied_fps(clip(name))
    assert found.fps == 60.0
    assert found.confidence > 0.8


@pytest.mark.parametrize("name", [n for n in FAST if n not in MISLABELED] + ["bvh/cmu_motionbuilder/05_20-mb.bvh"])
def test_right_labels_are_left_in_peace(name: str) -> None:
    assert phases.implied_fps(clip(name)).confidence == 0.0


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("asf_amc/02_04.amc", 1),
        ("deepmimic/humanoid3d_spinkick.txt", 1),
        ("deepmimic/humanoid3d_backflip.txt", 1),
        ("bvh/accad/Female1_D6_CartWheel.bvh", 1),
        ("asf_amc/02_01.amc", 0),
        ("deepmimic/humanoid3d_roll.txt", 0),
        ("bvh/accad/Female1_A10_LieToCrouch.bvh", 0),
    ],
)
def test_flights_of_real_clips(name: str, count: int) -> None:
    found = phases.flights(clip(name))
    assert len(found) == count
    for flight in found:
        assert 0.8 * 9.81 < flight.gravity < 1.3 * 9.81
