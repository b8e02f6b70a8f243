"""`mend` takes planted faults out and adds none; `clean`; and every edit checks itself."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.check.clip import findings_of
from poise.core import rotations
from poise.core.errors import BudgetExceeded
from poise.core.motion import Motion
from poise.edit import Budget, Edited, Scope, ballistic, clean, ground, mend, retime, spin
from poise.edit.mend import Job, Mender
from poise.edit.mend import _tried as tried
from poise.edit.report import new_findings
from poise.phases.travel import find_loop
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip
from tests.edit_clips import hop
from tests.planted import FAULTS, findings, moved, pop, root_spike, sink, slide, turned
from tests.planted import clean as clip

MENDED = ("root pop 5 cm", "root spike 5 cm", "limb spike 5 cm", "half speed", "double speed", "slide 15 cm")
"""Faults in the bundled walk that one tool or another takes out."""


def failing(motion: Motion) -> list[str]:
    return [f.name for f in findings(motion) if f.fails]


@pytest.mark.parametrize(("amount", "tries"), [(0.06, 2), (0.045, 1)])
def test_less_than_a_twentieth_of_an_edit_is_not_made(amount: float, tries: int) -> None:
    """A tool that may do so much of its edit is asked for a little less of it, or left if that is too little."""
    asked: list[float] = []

    def work(job: Job) -> Edited:
        asked.append(job.scope.amount)
        raise BudgetExceeded("It turns too far.", seen={}, allowed={}, amount=amount)

    job = Job(sample_clip("walk", 0.1), None, (), Scope(), None, None)
    made, _, _, why = tried(Mender("ground", (), work), job, ())
    assert made is None
    assert asked[:2] == [1.0, pytest.approx(0.98 * amount)][:tries]
    assert ("Too little of it would be left" in why) == (tries == 1)


@first_cases(1, "fault", MENDED)
def test_a_planted_fault_is_taken_out_and_none_put_in(fault: str) -> None:
    plant, _ = FAULTS[fault]
    planted = plant("sample", np.random.default_rng([3, list(FAULTS).index(fault)]))
    assert planted.name in failing(planted.motion)
    result, report = mend(planted.motion)
    assert not failing(result)
    assert [s["done"] for s in report["steps"]] == [True]
    assert report["steps"][0]["for"] == [planted.name]
    assert report["before"]["findings"][0]["name"] == planted.name
    assert report["after"]["findings"] == []


@needs_motions
@first_cases(1, "fault", ["sideways bulge 5 cm", "air turn 10°", "hang"])
def test_faults_of_flights_are_taken_out(fault: str) -> None:
    plant, names = FAULTS[fault]
    planted = plant(names[0], np.random.default_rng([3, 3]))
    assert planted.name in failing(planted.motion)
    result, report = mend(planted.motion)
    assert not failing(result), report["notes"]


@needs_motions
def test_a_spin_is_turned_no_more_than_it_takes() -> None:
    plant, names = FAULTS["air turn 10°"]
    motion = plant(names[0], np.random.default_rng([3, 3])).motion
    result, report = mend(motion, only=["spin"])
    (step,) = (s for s in report["steps"] if s["done"])
    assert step["tool"] == "spin"
    assert 0.0 < step["amount"] < 0.9
    assert "spin" not in failing(result)


def test_a_clip_without_faults_is_left_as_it_is() -> None:
    motion = clip("sample")
    result, report = mend(motion)
    assert result is motion
    assert report["steps"] == []
    assert "nothing" in report["notes"][0]


@pytest.mark.long
def test_the_time_base_comes_first_and_two_faults_go_one_by_one() -> None:
    planted = slide("sample", np.random.default_rng(5)).motion
    both = replace(planted, times=planted.times * 2.0)
    result, report = mend(both)
    assert [s["tool"] for s in report["steps"] if s["done"]] == ["rate", "ground"]
    assert not failing(result)
    assert result.fps == pytest.approx(60.0)


@pytest.mark.long
def test_a_budget_is_kept_and_less_is_done_for_it() -> None:
    planted = slide("sample", np.random.default_rng(5)).motion
    whole = mend(planted).report
    budget = Budget(joint=0.5 * np.radians(whole["changed"]["joint_angle_max_deg"]))
    _, report = mend(planted, budget=budget)
    assert np.radians(report["changed"]["joint_angle_max_deg"]) <= budget.joint * (1.0 + 1e-6)


def test_a_budget_of_nothing_leaves_the_clip_and_says_why() -> None:
    planted = slide("sample", np.random.default_rng(5)).motion
    none, report = mend(planted, budget=Budget(joint=0.0, root=0.0))
    assert none is planted
    assert not report["steps"][0]["done"]
    assert "budget" in report["steps"][0]["why_not"]


def test_what_was_tried_in_vain_is_not_tried_again_on_the_same_motion() -> None:
    motion = FAULTS["flip 120°"][0]("sample", np.random.default_rng([5, 1])).motion
    notes = mend(motion).report["notes"]
    assert sum(note.startswith("ground for skate") for note in notes) == 1


def test_what_is_left_is_named_with_joint_and_frames() -> None:
    motion = FAULTS["flip 120°"][0]("sample", np.random.default_rng([5, 1])).motion
    report = mend(motion, only=["size"]).report
    left = report["after"]["findings"]
    assert left
    told = [n for n in report["notes"] if n.startswith("Left: ")]
    assert all(n.startswith(f"Left: {f['sentence']}.") for f, n in zip(left[:3], told, strict=True))
    assert any(". By hand: turn " in n and "or blend over it from frame" in n for n in told)


@pytest.mark.long
@needs_motions
def test_a_swing_that_turns_limbs_far_more_than_the_body_says_so() -> None:
    motion = FAULTS["air turn 10°"][0]("leaps", np.random.default_rng([5, 1])).motion
    notes = spin(motion, by="pose").report["notes"]
    assert any("--by root turns the figure as a whole" in note for note in notes)


@pytest.mark.parametrize("keeps", [True, False])
def test_a_cycle_keeps_its_length_where_flights_need_not_be_much_higher(
    keeps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hops there and back, a quarter too slow; a flight of 0.7 s would have to be 22 cm higher."""
    hops = ballistic(*hop(), verify=False).motion
    there = np.r_[18 : hops.frame_count, hops.frame_count - 2 : 17 : -1]
    cycle = Motion(
        hops.skeleton,
        1.25 * hops.dt * np.arange(len(there), dtype=np.float64),
        hops.translations[there],
        hops.rotations[there],
    )
    assert find_loop(cycle).is_cycle
    from_rest_to_rest = find_loop(sample_clip("hover_hop"))
    assert from_rest_to_rest.is_closed
    assert not from_rest_to_rest.is_cycle
    monkeypatch.setattr(sys.modules["poise.edit.mend"], "RAISED", 0.3 if keeps else 0.1)
    edited = mend(cycle, only=("gravity",))
    assert edited.report["steps"][0]["done"]
    assert (edited.motion.frame_count == cycle.frame_count) is keeps


def test_only_what_is_named_is_mended() -> None:
    random = np.random.default_rng(5)
    planted = slide("sample", random).motion
    _, report = mend(planted, only=("glitch",))
    assert report["steps"] == []


def test_clean_takes_out_what_was_put_in() -> None:
    motion = clip("sample")
    random = np.random.default_rng(2)
    spiked = root_spike("sample", random)
    result, _ = clean(spiked.motion)
    apart = np.abs(result.world[0] - motion.world[0]).max()
    assert apart < 0.01  # 1 cm at most of the 5, from the way between two frames
    popped = pop("sample", random)
    result, report = clean(popped.motion)
    assert "glitch" not in failing(result)
    assert report["changed"]["root_position_max_m"] == pytest.approx(0.05, abs=0.005)


def test_a_flip_there_and_back_is_turned_back_between() -> None:
    motion = clip("sample")
    joint = motion.skeleton.index("LeftArm")
    frames = np.arange(motion.frame_count)
    flip = np.zeros((motion.frame_count, 3))
    flip[(frames >= 100) & (frames < 180), 2] = np.radians(150.0)
    flipped = turned(motion, joint, flip)
    assert "glitch" in failing(flipped)
    result, _ = clean(flipped)
    assert "glitch" not in failing(result)


def test_pairs_of_flips_are_found_among_others_and_those_near_the_end_are_turned_back() -> None:
    motion = clip("sample")
    joint = motion.skeleton.index("LeftArm")
    frames = np.arange(motion.frame_count)
    flip = np.zeros((motion.frame_count, 3))
    flip[frames >= 60, 0] = np.radians(80.0)  # this one stays
    flip[(frames >= 100) & (frames < 180), 2] = np.radians(150.0)
    (found,) = findings_of(clean(turned(motion, joint, flip)).motion)
    assert (found.name, found.frames) == ("glitch", ((59, 60),))
    flip[:] = 0.0
    flip[frames >= motion.frame_count - 20, 2] = np.radians(150.0)
    assert "glitch" not in failing(clean(turned(motion, joint, flip)).motion)


def test_a_frame_left_out_is_no_fault_where_the_times_say_so() -> None:
    motion = clip("sample")
    fast = replace(motion, translations=motion.translations + [[[8.0, 0.0, 0.0]]] * motion.times[:, None, None])
    kept = np.delete(np.arange(motion.frame_count), [121])
    dropped = fast.frames(kept)
    assert "glitch" not in failing(dropped)
    assert "glitch" in failing(replace(dropped, times=motion.times[: len(kept)]))


def test_every_edit_says_what_is_new_and_offers_less() -> None:
    motion = clip("sample")
    _, report = ground(slide("sample", np.random.default_rng(5)).motion)
    assert report["check"]["new"] == []
    assert [f["name"] for f in report["check"]["before"]] == ["skate"]
    assert report["check"]["after"] == []
    # an edit that harms: a hop at three times gravity where the figure walks
    harmed = ballistic(motion, flights=[(60, 100)], keep="timing", gravity=30.0)
    assert harmed.report["check"]["new"]
    assert "something new" in harmed.report["notes"][-1]
    assert "--amount" in harmed.report["notes"][-1] or "No part" in harmed.report["notes"][-1]
    assert not ballistic(motion, flights=[(60, 100)], keep="timing", gravity=30.0, verify=False).report.data.get(
        "check"
    )


def test_a_flight_made_so_short_that_its_limbs_hurry_is_said() -> None:
    hop = sample_clip("hover_hop")
    short = ballistic(hop, verify=False).report
    assert short["hurried"]["after_m_s2"] > 4.0 * short["hurried"]["before_m_s2"]
    assert sum("Limbs hurry" in note for note in short["notes"]) == 1
    assert ballistic(hop, keep="timing", verify=False).report["hurried"] is None
    mended = mend(hop, only=("gravity",)).report
    assert any("Limbs hurry" in note and "--only" in note for note in mended["notes"])


def test_edits_warn_of_a_wrong_rate() -> None:
    motion = clip("sample")
    fast = sink("sample", np.random.default_rng(1)).motion
    fast = replace(fast, times=motion.times * 0.5)
    _, report = ground(fast)
    assert any("wrong speed" in note and "--source-fps" in note for note in report["notes"])


@pytest.mark.long
@needs_motions
def test_a_clip_retimed_to_its_label_is_no_longer_told_to_be_at_another_rate() -> None:
    motion = poise.load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_24.bvh")
    assert "frame-rate" in failing(motion)
    assert "frame-rate" not in failing(retime(motion, factor=2.0).motion)


def test_new_findings_are_those_that_were_not_there_or_are_worse() -> None:
    small, large = (findings_of(moved(clip("sample"), -depth * _dip()), floor=0.0) for depth in (0.11, 0.15))
    assert not new_findings(small, small)
    assert {f.name for f in new_findings(small, large)} == {"penetration"}
    assert not new_findings(large, small)
    assert {f.name for f in new_findings([], small)} == {"penetration"}


def _dip() -> np.ndarray:
    motion = clip("sample")
    t = np.exp(-(((motion.times - 3.0) / 0.15) ** 2))
    return t[:, None] * np.array([0.0, 0.0, 1.0])


def test_mend_on_the_command_line(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from poise.cli.app import run

    path, out, report = tmp_path / "slide.bvh", tmp_path / "mended.bvh", tmp_path / "mended.json"
    poise.save(slide("sample", np.random.default_rng(5)).motion, path)
    assert run(["edit", "mend", str(path), "-o", str(out), "--report", str(report)]) == 0
    assert "1 failing finding before, 0 after" in capsys.readouterr().out
    assert run(["check", str(out)]) == 0
    assert '"schema": "poise.edit/1"' in report.read_text(encoding="utf-8")


def test_a_knee_that_changes_sides_is_turned_back_and_its_foot_stays() -> None:
    """As some captures have it: for a second the thigh is turned by half about the line to the ankle."""
    motion = clip("sample")
    names, inside = motion.skeleton.names, slice(60, 120)
    hip, knee, ankle = (names.index(n) for n in ("LeftUpLeg", "LeftLeg", "LeftFoot"))
    places, turns = motion.world
    line = places[inside, ankle] - places[inside, hip]
    half = rotations.from_rotation_vector(np.pi * line / np.linalg.norm(line, axis=1, keepdims=True))
    above = turns[inside, motion.skeleton.parents[hip]]
    turned = motion.rotations.copy()
    turned[inside, hip] = rotations.multiply(rotations.conjugate(above), rotations.multiply(half, turns[inside, hip]))
    flipped = replace(motion, rotations=turned)
    bearing = rotations.conjugate(flipped.world[1][inside, knee])
    turned[inside, ankle] = rotations.multiply(bearing, turns[inside, ankle])  # the foot points as it did
    flipped = replace(motion, rotations=turned)
    assert np.abs(flipped.world[0][:, ankle] - places[:, ankle]).max() < 1e-9
    assert "glitch" in failing(flipped)
    result, report = clean(flipped)
    assert "glitch" not in failing(result)
    assert report["after"]["glitches"] == 0
    assert np.abs(result.world[0][:, ankle] - places[:, ankle]).max() < 1e-6
    assert rotations.angle_between(result.world[1][:, ankle], turns[:, ankle]).max() < 1e-6
    # the knee is on its side again: it was up to 20 cm away
    assert np.abs(result.world[0][:, knee] - places[:, knee]).max() < 0.02
