"""`ground` and the legs that it solves: reach, knees, locked feet, and that twice is once."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.analysis import analyze, implied_scale, measures
from poise.analysis.forces import touching
from poise.check.clip import findings_of, on_ground
from poise.check.library import measures_of
from poise.check.report import Wanted
from poise.core import rotations
from poise.core.errors import BudgetExceeded
from poise.core.motion import Motion
from poise.core.skeleton import world_pose
from poise.core.units import HUMAN_LEG
from poise.edit import Budget, Scope, ground
from poise.edit.legs import find_legs, knee_flexion, move_root, reach, solve_legs
from poise.edit.planting import between
from poise.edit.report import TORN
from poise.edit.retime import FLAT
from poise.phases.contacts import skating_frames
from poise.phases.floor import carrying, laid_under
from poise.phases.points import runs
from poise.terrain import Terrain
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip

KNEE_SPEED = 230.0
"""What is added to a knee changes by no more than this [deg/s]; a knee itself reaches about 600 in a run."""


def walk() -> Motion:
    return sample_clip("walk", 2.2)


def skating(motion: Motion) -> Motion:
    """The walk on feet that slip: its root drifts, and dips into the floor."""
    t = motion.times
    drift = np.stack([0.12 * np.sin(2.0 * t), 0.05 * t, 0.015 * np.sin(5.0 * t)], axis=1)
    return move_root(motion, 0, drift)


@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_feet_go_where_they_are_sent_and_keep_their_orientation(name: str) -> None:
    motion = sample_clip(name, 1.0)
    legs = find_legs(poise.Character.fit(motion), motion)
    assert len(legs) == (2 if name == "walk" else 4)
    positions, orientations = motion.world
    t = motion.times[:, None]
    sent = np.concatenate([0.03 * np.sin(7.0 * t), 0.02 * np.cos(5.0 * t), 0.04 + 0.02 * np.sin(9.0 * t)], axis=1)
    sent *= poise.Character.fit(motion).leg_length / 0.82
    targets = {leg: (positions[:, leg.foot] + sent, orientations[:, leg.foot]) for leg in legs}
    result = solve_legs(motion, targets, np.arange(motion.frame_count))
    for leg in legs:
        np.testing.assert_allclose(result.world[0][:, leg.foot], targets[leg][0], atol=1e-9)
        assert rotations.angle_between(result.world[1][:, leg.foot], orientations[:, leg.foot]).max() < 1e-7
        # bones keep their length because only rotations changed; knees stay on their side and do not jump
        before, after = knee_flexion(leg, motion), knee_flexion(leg, result)
        assert after.min() > min(0.0, before.min()) - 1e-9
        assert np.abs(np.diff(after)).max() < np.abs(np.diff(before)).max() + 0.1
    untouched = [j for j in range(motion.skeleton.joint_count) if not any(j in (k.hip, k.knee, k.foot) for k in legs)]
    assert np.array_equal(result.rotations[:, untouched], motion.rotations[:, untouched])


@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_known_poses_are_those_that_would_be_computed(name: str) -> None:
    motion = sample_clip(name, 0.5)
    shift = np.stack([np.sin(motion.times), 0.1 * motion.times, np.cos(motion.times)], axis=1)
    known = move_root(motion, 0, shift)
    plain = world_pose(known.skeleton, known.translations, known.rotations)
    np.testing.assert_allclose(known.world[0], plain[0], atol=1e-12)
    np.testing.assert_allclose(known.world[1], plain[1], atol=1e-13)


def test_a_foot_that_stays_leaves_the_leg_bit_for_bit() -> None:
    motion = walk()
    legs = find_legs(poise.Character.fit(motion), motion)
    positions, orientations = motion.world
    targets = {leg: (positions[:, leg.foot], orientations[:, leg.foot]) for leg in legs}
    result = solve_legs(motion, targets, np.arange(motion.frame_count))
    assert np.array_equal(result.rotations, motion.rotations)


def test_a_foot_out_of_reach_comes_as_near_as_the_leg_is_long() -> None:
    motion = walk()
    leg = find_legs(poise.Character.fit(motion), motion)[0]
    positions, orientations = motion.world
    away = positions[:, leg.foot] - positions[:, leg.hip]
    target = positions[:, leg.hip] + 3.0 * away
    result = solve_legs(motion, {leg: (target, orientations[:, leg.foot])}, np.arange(motion.frame_count))
    got = result.world[0][:, leg.foot] - result.world[0][:, leg.hip]
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), reach(leg, motion), rtol=2e-4)
    assert np.abs(knee_flexion(leg, result)).max() < 0.05
    np.testing.assert_allclose(np.cross(got, away), 0.0, atol=1e-9)


def test_locked_feet_stand_still_and_nothing_sinks_in() -> None:
    motion = skating(walk())
    character = poise.Character.fit(walk(), masses="auto")
    result, report = ground(motion, character, floor=character.floor)
    before, after = report["before"], report["after"]
    assert after["foot_slide_mm_per_frame"] < 0.5 * before["foot_slide_mm_per_frame"]
    assert before["penetration_max_m"] > 0.01
    assert after["penetration_max_m"] < 0.005  # what `poise check` lets pass
    assert report["kept"]["foot_angle_max_deg"] < 1e-6
    assert report["kept"]["knees_bend_the_right_way"]
    arms = [motion.skeleton.index(n) for n in motion.skeleton.names if "Arm" in n]
    assert np.array_equal(result.rotations[:, arms], motion.rotations[:, arms])


def test_twice_is_once() -> None:
    motion = skating(walk())
    once = ground(motion)
    assert once.report["changed"]["frames"] > 0
    assert ground(once.motion).motion is once.motion
    character = poise.Character.fit(motion)
    own = ground(motion, character).motion
    assert ground(own, character).motion is own


@pytest.mark.parametrize("way", [(0.0, 0.0, -0.04), (0.06, 0.0, 0.0)])
def test_a_cycle_stays_a_cycle(way: tuple[float, float, float]) -> None:
    """Feet slip or sink around the seam of a walk that goes round; what is done there is the same on both sides."""
    cycle = poise.load(poise.sample_path("walk"))
    cycle = cycle.resampled(np.linspace(0.0, cycle.duration, 201))
    from_seam = np.minimum(cycle.times, cycle.duration - cycle.times)
    edited = ground(move_root(cycle, 0, np.clip(1.0 - from_seam / 0.4, 0.0, 1.0)[:, None] * way), verify=False).motion
    apart = np.degrees(rotations.angle_between(edited.rotations[0], edited.rotations[-1]))
    assert apart.max() < 1e-6
    assert edited.world[0][0, 0, 2] == pytest.approx(edited.world[0][-1, 0, 2], abs=1e-9)
    assert not np.allclose(edited.rotations[0], cycle.rotations[0], atol=1e-3)


def test_amount_interval_and_budget() -> None:
    motion = skating(walk())
    character = poise.Character.fit(walk(), masses="auto")
    assert ground(motion, character, scope=Scope(0.0)).motion is motion
    part = ground(motion, character, scope=Scope(interval=(0.5, 1.5))).motion
    outside = (motion.times < 0.49) | (motion.times > 1.51)
    assert np.array_equal(part.rotations[outside], motion.rotations[outside])
    assert np.array_equal(part.translations[outside], motion.translations[outside])
    with pytest.raises(BudgetExceeded, match="amount of about"):
        ground(motion, character, budget=Budget.parse("joint 0.5deg"))


def test_what_is_held_stays_and_what_lies_between_is_smooth() -> None:
    times = np.linspace(0.0, 2.0, 121)
    held = ((times > 0.3) & (times < 0.6)) | ((times > 0.75) & (times < 1.0)) | (times > 1.8)
    values = np.where(times < 0.7, 1.0, np.where(times < 1.2, -2.0, 0.5))[:, None]
    out = between(times, values, held, 0.2)
    assert np.array_equal(out[held], values[held])
    assert runs(held) == ((19, 35), (46, 59), (109, 120))
    assert np.abs(np.diff(out, 2, axis=0)).max() < 0.3  # a jump of 3 would show as 3
    assert out[70:95].max() == 0.0
    assert out[80] == 0.0  # faded to nothing between stances that are far apart


def test_one_definition_of_skating() -> None:
    gaps = np.full((5, 2), 0.049)
    moving = np.zeros((5, 2, 3))
    moving[:, 0, 0] = 0.51
    assert skating_frames(gaps, moving, HUMAN_LEG).tolist() == [False, True, True, True, True]
    assert not skating_frames(gaps, moving * 0.95, HUMAN_LEG).any()
    assert skating_frames(gaps, moving * 0.95, HUMAN_LEG, speed=0.2).sum() == 4
    gaps[2, 0] = 0.051  # neither this frame nor the next has two low ones on end
    assert skating_frames(gaps, moving, HUMAN_LEG).tolist() == [False, True, False, False, True]
    # four times as large, twice as fast
    assert skating_frames(4.0 * gaps, 2.0 * moving, 4.0 * HUMAN_LEG).tolist() == [False, True, False, False, True]


@needs_motions
@first_cases(
    1,
    ("path", "last"),
    [
        ("bvh/accad/Female1_B15_WalkTurnAround180.bvh", None),
        ("bvh/cmu_motionbuilder/05_20-mb.bvh", 1.0),
        ("asf_amc/02_01.amc", None),
        ("deepmimic/humanoid3d_spinkick.txt", None),
    ],
)
def test_what_is_added_to_knees_changes_smoothly(path: str, last: float | None) -> None:
    """Heel strikes, hyperextended knees, a spoiled frame, a first frame in T-pose."""
    motion = poise.load(MOTIONS / path)
    motion = motion if last is None else motion.cut(0.0, last)
    result = ground(motion).motion
    for leg in find_legs(poise.Character.fit(motion, masses="auto"), motion, arms=True):
        added = np.degrees(knee_flexion(leg, result) - knee_flexion(leg, motion))
        assert np.abs(np.diff(added)).max() * motion.fps < KNEE_SPEED


@needs_motions
@first_cases(1, "name", ["humanoid3d_crawl", "humanoid3d_getup_facedown"])
def test_knees_hands_and_trunks_come_out_of_the_floor(name: str) -> None:
    motion = poise.load(MOTIONS / "deepmimic" / f"{name}.txt")
    character = poise.Character.fit(motion, masses="auto")
    others = [i for i, p in enumerate(character.contact_points) if p.part != "foot"]
    floor = poise.Terrain.flat(character.floor)
    result = ground(motion, character, floor=character.floor).motion
    before, after = (touching(m, character, terrain=floor).gaps[:, others].min() for m in (motion, result))
    assert before < -0.013
    assert after > -0.0125 * character.leg_length / 0.82


@needs_motions
@first_cases(
    1,
    ("path", "fps"),
    [
        ("bvh/cmu_3dsmax/143_05.bvh", 60.0),
        ("bvh/cmu_3dsmax/131_01.bvh", None),
        ("bvh/accad/Female1_B15_WalkTurnAround180.bvh", None),
        ("deepmimic/humanoid3d_walk.txt", None),
        ("nc/dog3d_pace.txt", None),
    ],
)
def test_real_clips(path: str, fps: float | None) -> None:
    motion = poise.load(MOTIONS / path, fps=fps)
    motion = motion.cut(0.0, 3.0)
    result, report = ground(motion)
    assert report["after"]["foot_slide_mm_per_frame"] < 0.75 * report["before"]["foot_slide_mm_per_frame"]
    # feet are put within 4.5 mm, other parts within 12 mm, of soles and a floor that a check then fits anew
    assert report["after"]["penetration_max_m"] < 0.012
    assert report["kept"]["knees_bend_the_right_way"]
    assert ground(replace(result, source=None)).report["changed"]["frames"] == 0


def test_feet_come_out_of_the_slope_that_a_clip_carries() -> None:
    motion = sample_clip("walk", 2.5)
    laid = laid_under(Terrain.parse("slope:6"), motion, analyze(motion).floor)
    places = motion.translations.copy()
    places[:, 0, 2] += laid.heights(places[:, 0, :2], 0.0) - laid.ground
    upward = carrying(replace(motion, translations=places), laid)

    def deepest(clip: Motion) -> float:
        touch = on_ground(clip, Wanted()).touch
        return -float(touch.gaps[:, touch.is_foot].min())

    edited = ground(upward)
    assert deepest(upward) > 0.015
    assert deepest(edited.motion) < 0.005
    assert edited.report["before"]["penetration_max_m"] > edited.report["after"]["penetration_max_m"]
    assert edited.report["changed"]["joint_angle_max_deg"] < 30.0  # a straight knee bends by 28° to be 3 % shorter


def test_before_and_after_are_what_a_check_measures() -> None:
    motion = skating(walk())
    result, report = ground(motion)
    for clip, told in ((motion, report["before"]), (result, report["after"])):
        analysis = analyze(clip)
        seen = measures_of(analysis, measures(analysis), implied_scale(analysis))
        assert told["penetration_max_m"] == seen["penetration_max_m"]
        assert told["float_max_m"] == seen["float_max_m"]
        assert told["skating_ratio"] == seen["skating_ratio"]
        assert told["foot_slide_mm_per_frame"] == seen["slide_mm_per_frame"]


@pytest.mark.long
@needs_motions
def test_a_fox_of_sixty_meters_is_cautioned_and_one_of_sixty_centimeters_is_not() -> None:
    path = MOTIONS / "gltf" / "Fox.glb"
    large, small = (ground(poise.load(path, clip="Run", unit=unit)).report for unit in (None, "cm"))
    assert "few creatures have" in large["notes"][0]
    assert "--unit cm" in large["notes"][0]
    assert not [note for note in small["notes"] if "creatures" in note or "turns by" in note]
    # judged as a giant, its knees turned by 73° and its skin tore
    assert large["changed"]["joint_angle_max_deg"] < 45.0
    assert large.data.get("check", {"skin_stretch": 0.0})["skin_stretch"] < TORN  # unchecked where nothing changed


def test_a_motion_that_was_moved_shares_no_array_with_the_one_before() -> None:
    motion = walk()
    moved = move_root(motion, 0, np.ones((motion.frame_count, 3)))
    for before, after in zip(motion.world, moved.world):
        assert not np.shares_memory(before, after)
    with pytest.raises(ValueError, match="read-only"):
        FLAT[0] = 2.0


def test_a_body_that_hovers_comes_down_and_one_that_stands_stays() -> None:
    """The sample walk raised by 10 cm for four tenths of its time, as a whole; the rest of it stays as it was."""
    motion = walk()
    share = np.linspace(0.0, 1.0, motion.frame_count)
    up = 0.1 * np.clip(np.minimum((share - 0.4) / 0.05, (0.8 - share) / 0.05), 0.0, 1.0)
    raised = move_root(motion, 0, up[:, None] * np.array([0.0, 0.0, 1.0]))
    assert any(f.name == "float" and f.fails for f in findings_of(raised))
    mended = ground(raised).motion
    assert not [f for f in findings_of(mended) if f.name in ("float", "penetration")]
    off = mended.world[0][:, 0, 2] - motion.world[0][:, 0, 2]
    assert np.abs(off).max() < 0.05  # at the ends of the rise, where it is smoothed
    again = ground(mended).motion
    assert np.abs(again.world[0] - mended.world[0]).max() < 0.002


@pytest.mark.long
@needs_motions
def test_a_body_whose_knees_carry_it_is_not_lowered_and_lifted_by_turns() -> None:
    """The crawl's root got jumps of 12 cm: it went down for the hands and up for the knees, more in each round."""
    clip = poise.load(MOTIONS.with_name("motions2") / "bvh" / "Female1_A11_CrawlForward.bvh").cut(0.0, 12.0)
    edited = ground(clip)
    assert not edited.report["check"]["new"]
    root = edited.motion.world[0][:, 0] - clip.world[0][:, 0]
    assert np.abs(np.diff(root, axis=0)).max() < 0.06  # 0.091
    # its toes drag, as they may: locked, they turned a leg by 64°
    assert edited.report["changed"]["joint_angle_max_deg"] < 25.0
    assert edited.report["kept"]["rounds"] < 20  # 42
    assert ground(replace(edited.motion, source=None)).report["changed"]["frames"] == 0


def test_where_a_joint_turns_far_the_edit_says_how_much_of_it_turns_none_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["poise.edit.ground"], "FAR", 6.0)
    clip = walk()
    away = np.stack([0.3 * np.sin(3.0 * clip.times), 0.0 * clip.times, 0.0 * clip.times], axis=1)
    slid = move_root(skating(clip), 0, away)
    (offer,) = [note for note in ground(slid, verify=False).report["notes"] if "turns by" in note]
    found = re.search(r"--amount ([0-9.]+) no joint turns by more than 3°", offer)
    assert found is not None
    less = ground(slid, scope=Scope(amount=float(found[1])), verify=False).report
    assert 2.5 < less["changed"]["joint_angle_max_deg"] < 3.05
