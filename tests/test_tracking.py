"""An actor drives a character of another shape: roles, retargeting, standing feet, nobody at the root."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.body.character import Limb, figure
from poise.body.posing import body_poses, interpolate_q
from poise.cli.app import run
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.show.arrays import read_recording
from poise.step import Step, StepResult, solve_step
from poise.tracking import PerformanceTracker, parse_roles, propose_roles
from poise.tracking.actor import ActorMotion
from poise.tracking.calibration import bend_of, put_on, standing_pose
from poise.tracking.lists import settings_of
from poise.tracking.retarget import STEPPING, Retargeter, Role, Standing, center_of_mass, end_body, heading, yaw_turn
from poise.tracking.run import TrackResult, track
from poise.tracking.smooth import Known, Smoother, calmed, no_faster
from tests import clips
from tests.clips import first_cases, sample_clip
from tests.oracle import Oracle


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip("walk")


@pytest.fixture(scope="module")
def walker(walk: Motion) -> poise.Character:
    return poise.Character.fit(walk)


@pytest.fixture(scope="module")
def walked(walk: Motion) -> TrackResult:
    return track(walk, figure("child"))


def test_limbs_take_the_part_of_their_like(walker: poise.Character) -> None:
    roles = {role.limb: role for role in propose_roles(figure("child"), walker)}
    assert (roles["left_leg"].kind, roles["left_leg"].actor) == ("support", "left_leg")
    assert (roles["right_arm"].kind, roles["right_arm"].actor) == ("targeted", "right_arm")
    assert "spine" not in roles


def test_legs_of_a_spider_stand_while_the_others_swing(walker: poise.Character) -> None:
    """From behind, every second pair takes the actor's legs crosswise; all legs of a side at once would tip it over."""
    ends = [f"{k}{side}" for k in range(4) for side in "LR"]
    names = ["Body", *(f"Leg{end}" for end in ends), *(f"Foot{end}" for end in ends)]
    hips = [(0.3 * k, y, 0.0) for k in (0, 2, 1, 3) for y in (0.3, -0.3)]  # in no order
    offsets = np.array([(0.0, 0.0, 0.5), *hips, *((0.0, np.sign(y) * 0.4, -0.5) for _, y, _ in hips)])
    parents = np.array([-1, *[0] * 8, *range(1, 9)])
    skeleton = Skeleton(tuple(names), parents, offsets, np.tile([1.0, 0.0, 0.0, 0.0], (17, 1)))
    spider = poise.Character.fit(skeleton)
    body = {one.name: k for k, one in enumerate(spider.bodies)}
    sides = {"L": "left", "R": "right"}
    limbs = tuple(Limb(f"{sides[side]}_leg.{k}", "leg", (body[f"Leg{k}{side}"],)) for k in range(4) for side in "LR")
    roles = {role.limb: role.actor for role in propose_roles(replace(spider, limbs=limbs), walker)}
    assert [roles[f"left_leg.{k}"] for k in (0, 2, 1, 3)] == ["left_leg", "right_leg", "left_leg", "right_leg"]
    assert [roles[f"right_leg.{k}"] for k in (0, 2, 1, 3)] == ["right_leg", "left_leg", "right_leg", "left_leg"]


def test_a_run_that_diverges_is_stopped_and_told(walk: Motion, walker: poise.Character) -> None:
    poses = poise.motion_to_q(walker, walk.cut(0.0, 0.2))
    tracker = PerformanceTracker(figure("child"), walker, dt=1.0 / walk.fps, recorded=poses)
    for q in poses[:3]:
        tracker.step(q)
    tracker.v[:3] = 1e6
    tracker.step(poses[3])
    assert tracker.counts.carried == 1
    assert np.linalg.norm(tracker.v[:3]) < 50.0


def test_roles_are_read_as_they_are_typed(walker: poise.Character) -> None:
    text = "left_arm=free, right_arm <- left_leg, neck<-right_arm"
    roles = {role.limb: (role.kind, role.actor) for role in parse_roles(text, figure("child"), walker)}
    assert roles["left_arm"] == ("free", "")
    assert roles["right_arm"] == ("support", "left_leg")
    assert roles["neck"] == ("targeted", "right_arm")
    assert roles["left_leg"] == ("support", "left_leg")


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("tail=free", UnknownName, "left_leg"),
        ("left_lag=free", UnknownName, "Did you mean 'left_leg'"),
        ("left_leg=carried", InvalidValue, "support, targeted, free"),
        ("left_leg", InvalidValue, "tail=free"),
        ("left_leg<-tail", UnknownName, "actor"),
    ],
)
def test_roles_that_cannot_be_read_say_why(
    text: str, error: type[Exception], said: str, walker: poise.Character
) -> None:
    with pytest.raises(error, match=said):
        parse_roles(text, figure("child"), walker)


def test_nobody_to_stand_on_is_refused(walker: poise.Character) -> None:
    roles = parse_roles("left_leg=free, right_leg=free", figure("child"), walker)
    with pytest.raises(InvalidValue, match="support"):
        PerformanceTracker(figure("child"), walker, roles=roles)


def test_an_actor_without_legs_is_named_as_the_cause(walker: poise.Character) -> None:
    limbs = tuple(dataclasses.replace(limb, kind="other") if limb.kind == "leg" else limb for limb in walker.limbs)
    with pytest.raises(InvalidValue, match="No legs were found in the actor"):
        PerformanceTracker(figure("child"), dataclasses.replace(walker, limbs=limbs))


def test_limbs_above_the_hips_cannot_carry(walk: Motion, walker: poise.Character) -> None:
    roles = parse_roles("left_leg<-neck, left_leg=support, right_leg=free", figure("child"), walker)
    with pytest.raises(InvalidValue, match=r"cannot stand on neck: .* its hips are 0\.\d+ m below"):
        PerformanceTracker(figure("child"), walker, roles=roles).step(poise.motion_to_q(walker, walk)[0])


def test_a_giant_is_asked_for_its_size(
    walk: Motion, walker: poise.Character, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sized(times: float) -> poise.Character:
        skeleton = replace(step.skeleton, offsets=times * step.skeleton.offsets)
        return poise.Character.fit(replace(step, skeleton=skeleton, translations=times * step.translations))

    step = walk.cut(0.0, 0.6)

    with pytest.raises(InvalidValue, match=r"2\.7 times as long as the actor's.*`height` 2m"):
        PerformanceTracker(sized(2.7), walker)
    PerformanceTracker(sized(2.3), walker)
    who = tmp_path / "large.toml"
    poise.save_character(sized(1.8), who)
    run(["track", str(poise.sample_path("walk")), "-c", str(who), "--end", "0.3", "-o", str(tmp_path / "out.bvh")])
    assert "1.8 times as long" in " ".join(capsys.readouterr().err.split())


def test_retargeting_to_oneself_changes_nothing(walk: Motion, walker: poise.Character) -> None:
    poses = poise.motion_to_q(walker, walk)
    places, turns = body_poses(walker, poses)
    # both stand as in one frame, wherever that is: the soles' level and the way they face are the same
    standing = Standing.of(walker, places[100], turns[100], walker.floor)
    roles = propose_roles(walker, walker)
    retargeter = Retargeter(walker, roles, standing, standing)
    for k in (100, 130, 180):
        com = center_of_mass(walker, places[k], turns[k])
        place, turn = retargeter.targets(places[k], turns[k], com)
        np.testing.assert_allclose(place[0], places[k, 0], atol=1e-9)
        np.testing.assert_allclose(place[1], com, atol=1e-9)
        for row, role in enumerate((role for role in roles if role.actor), start=2):
            end = end_body(walker, role.limb)
            np.testing.assert_allclose(place[row], places[k, end], atol=1e-9)
            # the feet stand level in the standing pose, which the actor's drawn ones need not
            same = np.abs(turn[row] @ turns[k, end])
            assert same == pytest.approx(1.0, abs=1e-9)


def on_four_legs(theirs: Standing, ahead: float) -> tuple[Standing, list[Role]]:
    """A creature of a person's size with legs of 1 m, two of them so far ahead of the others [m], and their roles."""
    along = rotations.rotate(yaw_turn(theirs.yaw), np.array([ahead, 0.0, 0.0]))
    across = rotations.rotate(yaw_turn(theirs.yaw), np.array([0.0, 0.15, 0.0]))
    under = theirs.pelvis * [1.0, 1.0, 0.0] + [0.0, 0.0, theirs.floor]
    other = {"left": "right", "right": "left"}
    ends = {f"{side}_leg": under + sign * across for side, sign in (("left", 1.0), ("right", -1.0))}
    ends |= {f"{side}_fore": ends[f"{side}_leg"] + along for side in other}
    lengths, still = dict.fromkeys(ends, 1.0), np.array([1.0, 0.0, 0.0, 0.0])
    roles = [Role(f"{s}_leg", "support", f"{s}_leg") for s in other]
    roles += [Role(f"{s}_fore", "support", f"{other[s]}_leg") for s in other]
    return replace(theirs, ends=ends, end_turns=dict.fromkeys(ends, still), bases=ends, lengths=lengths), roles


@first_cases(1, "is_live", [True, False])
def test_a_long_body_turns_no_faster_than_its_legs_step(walk: Motion, walker: poise.Character, is_live: bool) -> None:
    """An actor turns by 180 degrees in 0.5 s: two legs follow at once, four as fast as their feet go around."""
    q = poise.motion_to_q(walker, walk)[100]
    places, turns = (x[0] for x in body_poses(walker, q[None]))
    theirs = Standing.of(walker, places, turns, walker.floor)
    ours, roles = on_four_legs(theirs, 1.2)
    dt, time = 1.0 / 120.0, np.arange(840) / 120.0
    spun = np.stack([yaw_turn(a) for a in np.pi * np.clip((time - 3.0) / 0.5, 0.0, 1.0)])
    poses = np.tile(q, (840, 1))
    poses[:, :3] = theirs.com + rotations.rotate(spun, q[:3] - theirs.com)
    poses[:, 3:7] = rotations.multiply(spun, q[3:7])

    def faced(retargeter: Retargeter) -> np.ndarray:
        motion = ActorMotion(walker, ["left_leg"], q, standing=q, floor=walker.floor, dt=dt, every=1)
        motion.retarget(retargeter, [2, 3], None if is_live else poses)
        found = []
        for pose in poses:
            motion.advance(pose)
            found.append(rotations.yaw_to(theirs.turn, motion.rows.turns[0]))
        return np.unwrap(found)

    person = faced(Retargeter(walker, propose_roles(walker, walker), theirs, theirs))
    most = 0.2 if is_live else 0.05  # rates of a live actor overshoot
    assert np.diff(person).max() / dt == pytest.approx(2.0 * np.pi, rel=most)
    retargeter = Retargeter(walker, roles, theirs, ours)
    farthest = max(np.linalg.norm((end - ours.com)[:2]) for end in ours.ends.values())
    assert retargeter.fastest_turn == pytest.approx(STEPPING / farthest)
    creature = faced(retargeter)
    assert np.abs(np.diff(creature)).max() == pytest.approx(retargeter.fastest_turn * dt, rel=most)
    assert creature[[0, -1]] == pytest.approx(person[[0, -1]], abs=1e-3)


def test_angles_that_are_slow_enough_come_back_and_others_as_near_as_can_be() -> None:
    slow = 0.1 * np.sin(np.arange(200) / 20.0)
    assert np.array_equal(no_faster(slow, 0.006), slow)
    jump = np.where(np.arange(200) < 100, 0.0, 1.0)
    found = no_faster(jump, 0.02)
    assert np.abs(np.diff(found)).max() == pytest.approx(0.02)
    assert np.abs(found - jump).max() == pytest.approx(0.5, abs=0.02)  # half before, half after
    assert found[[0, 199]] == pytest.approx([0.0, 1.0])


def test_feet_of_four_legs_keep_their_own_width(walk: Motion, walker: poise.Character) -> None:
    """Feet under the actor's hips are those of the standing creature; 6 cm closer are so by the ratio, here 1.

    It does not matter how far apart the feet of the actor's rest pose are drawn.
    """
    places, turns = (x[100] for x in body_poses(walker, poise.motion_to_q(walker, walk)))
    theirs = Standing.of(walker, places, turns, walker.floor)
    across = rotations.rotate(yaw_turn(theirs.yaw), np.array([0.0, 1.0, 0.0]))
    ours, roles = on_four_legs(theirs, 0.0)
    narrow = places.copy()
    for name, sign in (("left_leg", 1.0), ("right_leg", -1.0)):
        narrow[end_body(walker, name)] = theirs.under_hip(name) - sign * 0.03 * across
    for drawn_apart in (0.0, 0.3):
        sides = (("left_leg", 1.0), ("right_leg", -1.0))
        drawn = {name: theirs.ends[name] + sign * drawn_apart * across for name, sign in sides}
        retargeter = Retargeter(walker, roles, replace(theirs, ends={**theirs.ends, **drawn}), ours)
        place, _ = retargeter.targets(narrow, turns, center_of_mass(walker, narrow, turns))
        assert (place[2] - place[3]) @ across == pytest.approx(0.24, abs=1e-6)
        assert (place[4] - place[5]) @ across == pytest.approx(0.24, abs=1e-6)


def test_a_rest_pose_with_legs_apart_stands_as_high_as_with_legs_together() -> None:
    adult = figure("adult")
    together = standing_pose(adult)
    apart = together.copy()
    for name, angle in (("left_leg", 0.3), ("right_leg", -0.3)):
        hip = next(limb.bodies[0] for limb in adult.limbs if limb.name == name)
        at = adult.q_addresses[hip]
        tilt = rotations.from_rotation_vector(np.array([angle, 0.0, 0.0]))
        apart[at : at + 4] = rotations.multiply(tilt, apart[at : at + 4])
    found = []
    for q in (together, apart):
        q = put_on(adult, q, ["left_leg", "right_leg"], 0.0)
        places, turns = (x[0] for x in body_poses(adult, q[None]))
        found.append(Standing.of(adult, places, turns, 0.0))
    first, second = found
    assert abs(second.ends["left_leg"][1] - first.ends["left_leg"][1]) > 0.15
    # the ankles of tilted feet are a little higher
    assert second.pelvis[2] == pytest.approx(first.pelvis[2], abs=0.015)
    assert second.leg == pytest.approx(first.leg, abs=0.015)
    for name in ("left_arm", "neck"):
        off, there = second.ends[name] - second.pelvis, first.ends[name] - first.pelvis
        np.testing.assert_allclose(off, there, atol=1e-9)


def test_a_creature_turns_about_its_center_of_mass(walk: Motion, walker: poise.Character) -> None:
    """The pelvis of a four-legged one is far behind: an actor that turns on the spot must not carry it around that."""
    q = poise.motion_to_q(walker, walk)[100]
    places, turns = (x[0] for x in body_poses(walker, q[None]))
    theirs = Standing.of(walker, places, turns, walker.floor)
    ahead = rotations.rotate(yaw_turn(theirs.yaw), np.array([0.4, 0.0, 0.0]))
    ours = replace(theirs, com=theirs.com + ahead)
    retargeter = Retargeter(walker, propose_roles(walker, walker), theirs, ours)
    begin, _ = retargeter.targets(places, turns, theirs.com)
    np.testing.assert_allclose(begin[:2, :2], [ours.pelvis[:2], ours.com[:2]], atol=1e-9)  # it begins where it stands
    back, half = theirs.com * [1.0, 1.0, 0.0], yaw_turn(np.pi)
    turned = back + rotations.rotate(half, places - back)
    place, _ = retargeter.targets(turned, rotations.multiply(half, turns), theirs.com)
    np.testing.assert_allclose(place[1], begin[1], atol=1e-9)
    about = ours.com * [1.0, 1.0, 0.0]
    np.testing.assert_allclose(place[0], about + rotations.rotate(half, begin[0] - about), atol=1e-9)


def test_targets_do_not_depend_on_where_the_actor_stands(walk: Motion, walker: poise.Character) -> None:
    poses = poise.motion_to_q(walker, walk)[100:104]
    moved = poses.copy()
    moved[:, :2] = moved[:, :2] @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + [3.0, -2.0]
    quarter = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    moved[:, 3:7] = rotations.multiply(np.broadcast_to(quarter, (len(moved), 4)), moved[:, 3:7])
    child = figure("child")
    found = []
    for given in (poses, moved):
        tracker = PerformanceTracker(child, walker, actor_floor=walker.floor)
        for pose in given:
            tracker.step(pose)
        found.append(tracker.q.copy())
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_who_stands_lets_the_character_stand(walker: poise.Character) -> None:
    tracker = PerformanceTracker(figure("child"), walker, actor_floor=None)
    pose = standing_pose(walker)
    for _ in range(120):
        tracker.step(pose)
    begin = tracker.q.copy()
    for _ in range(120):
        tracker.step(pose)
    assert np.abs(tracker.v).max() < 0.2  # it has come to rest
    assert np.linalg.norm(tracker.q[:3] - begin[:3]) < 0.02
    assert all(foot.stands for foot in tracker.feet.values())
    assert tracker.counts.fallback_steps == 0
    assert max(tracker.counts.root_force) < 1e-6


def test_a_child_walks_as_the_actor_does(walk: Motion, walker: poise.Character, walked: TrackResult) -> None:
    report = walked.report
    assert report["schema"] == "poise.track/1"
    assert report["complete"]
    assert walked.motion.frame_count == walk.frame_count
    assert report["fallback_steps"] == 0
    assert report["root_residual"]["force_max_N"] < 1e-6
    # about twice of what was measured: 0.7 cm/s, 1.3 mm, 3 cm
    assert report["stance_slip_p95_m_s"] < 0.03
    assert report["held_slip_p95_m_s"] is None  # the root is never held
    assert report["penetration_p95_m"] < 0.004
    assert report["swing_error_median_m"] < 0.06
    child = figure("child")
    theirs, ours = poise.motion_to_q(walker, walk), poise.motion_to_q(child, walked.motion)
    way = np.linalg.norm(theirs[-1, :2] - theirs[0, :2])
    own = np.linalg.norm(ours[-1, :2] - ours[0, :2])
    ratio = child.leg_length / walker.leg_length
    # it is placed to balance, and goes further than the actor: 15 % were measured
    assert own == pytest.approx(ratio * way, rel=0.25)
    assert report["way_off_m"] == pytest.approx(abs(own - ratio * way), abs=0.5)


def test_nobody_holds_the_root(walk: Motion, walker: poise.Character, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo's inverse dynamics, less the contact forces on the feet, leaves nothing at the root of a hard step."""
    child = figure("child")
    poses = poise.motion_to_q(walker, walk)
    times = walk.times[0] + np.arange(90) / 120.0
    tracker = PerformanceTracker(child, walker, actor_floor=walker.floor)
    oracle, left = Oracle(tracker.model), []

    def solved(step: Step, *lists: Any, **how: Any) -> StepResult:
        result = solve_step(step, *lists, **how)
        needed = oracle.of(step.state).inverse(result.a)
        for point, force in zip(step.contacts.points, result.forces, strict=True):
            body = child.contact_points[int(point)].body + 1
            needed -= oracle.applied(body, step.state.points[point], force)
        left.append(float(np.abs(needed[:6]).max()))
        return result

    monkeypatch.setattr("poise.tracking.tracker.solve_step", solved)
    for pose in interpolate_q(walker, walk.times, poses, times):
        tracker.step(pose)
    assert len(left) == tracker.counts.steps > 60
    assert tracker.counts.fallback_steps == 0
    assert max(left) < 1e-6


def test_the_row_of_the_angular_momentum_lowers_its_rate(walk: Motion, walked: TrackResult) -> None:
    child = figure("child")
    without = track(walk, child, settings=replace(settings_of(child), momentum=0.0)).report
    with_it = walked.report["angular_momentum_rate_rms_N_m"]
    assert with_it < 0.6 * without["angular_momentum_rate_rms_N_m"]


def test_the_soft_root_says_what_it_needs(walk: Motion, walker: poise.Character) -> None:
    poses = poise.motion_to_q(walker, walk)
    times = np.arange(60) / 120.0
    tracker = PerformanceTracker(figure("child"), walker, root="soft", actor_floor=walker.floor)
    for pose in interpolate_q(walker, walk.times, poses, walk.times[0] + times):
        tracker.step(pose)
    assert tracker.counts.fallback_steps == 0  # it is not a fallback
    assert max(tracker.counts.root_force) > 1e-3


def test_a_figure_that_is_none_is_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    words = ["track", str(poise.sample_path("walk")), "-c", "raptor", "-o", str(tmp_path / "out.bvh")]
    code = (
        f"import sys; from poise.cli.app import run; done = run({words});"
        "sys.exit(done + 10 * ('poise.body.character' in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ran.returncode == 2, ran.stderr
    assert "scripts/make_creatures.py" in ran.stderr


def test_the_command_writes_what_it_says(tmp_path: Path, walk: Motion) -> None:
    clip, out, report = tmp_path / "walk.bvh", tmp_path / "child.bvh", tmp_path / "child.json"
    poise.save(walk.cut(walk.times[0], walk.times[59]), clip)
    code = run(["track", str(clip), "-c", "child", "-o", str(out), "--report", str(report), "--roles", "neck=free"])
    assert code == 0
    assert poise.load(out).frame_count == 60
    data = json.loads(report.read_text(encoding="utf-8"))
    assert data["schema"] == "poise.track/1"
    assert "neck" in data["free_limbs"]


@first_cases(1, "ground", ["slope:8", "flat"])
def test_the_page_shows_the_ground_that_was_walked_on(tmp_path: Path, walk: Motion, ground: str) -> None:
    """The floor of the character's own file lies elsewhere."""
    clip, who, page = tmp_path / "walk.bvh", tmp_path / "child.toml", tmp_path / "child.html"
    poise.save(walk.cut(walk.times[0], walk.times[0] + 2.0), clip)
    poise.save_character(replace(figure("child"), floor=-0.7), who)
    assert run(["track", str(clip), "-c", str(who), "--terrain", ground, "--record", str(page)]) == 0
    seen = read_recording(page)
    (weight,) = (p["series"][-1] for p in seen.header["plots"] if p["name"] == "Weight on the ground")
    assert np.mean(seen.array(weight["values"]) > 0.2) > 0.8  # in body weights


def test_a_root_that_is_held_often_gets_a_warning(
    tmp_path: Path, walk: Motion, capsys: pytest.CaptureFixture[str]
) -> None:
    """A walk five times as fast: without a force at its root the child falls."""
    clip = tmp_path / "walk.bvh"
    for speed, is_held in ((1.0, False), (5.0, True)):
        part = walk.cut(walk.times[0], walk.times[0] + 2.0)
        poise.save(replace(part, times=part.times / speed), clip)
        code = run(["track", str(clip), "-c", "child", "--report", str(tmp_path / "child.json"), "--overwrite"])
        assert code == 0
        assert ("warning: the root was held" in " ".join(capsys.readouterr().err.split())) == is_held


def trembling(motion: Motion, size: float, seed: int) -> Motion:
    """The motion with white noise on the place of its root in every frame [m]."""
    moved = motion.translations.copy()
    moved[:, 0] += np.random.default_rng(seed).normal(0.0, size, (len(moved), 3))
    return replace(motion, translations=moved)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_trembling_actor_does_not_throw_the_child(walk: Motion, walker: poise.Character, seed: int) -> None:
    shaken = trembling(walk.cut(0.0, 3.0), 0.005, seed)
    report = track(shaken, figure("child"), actor_character=walker, root="strict").report
    assert report["complete"]
    assert report["root_residual"]["force_max_N"] < 1e-6
    assert report["stance_slip_p95_m_s"] < 0.05


def test_a_recorded_actor_is_calmed_and_a_clean_one_left_alone(walk: Motion, walker: poise.Character) -> None:
    q = poise.motion_to_q(walker, walk)
    assert calmed(walker, q, walk.fps).q is q
    noisy = q.copy()
    noisy[:, :3] += np.random.default_rng(3).normal(0.0, 0.005, (len(q), 3))
    calm = calmed(walker, noisy, walk.fps)
    assert calm.noise == pytest.approx(0.005, rel=0.3)
    assert calm.cutoff is not None
    assert 4.0 <= calm.cutoff < 0.45 * walk.fps
    errors = [float(np.sqrt(np.mean(np.diff(x[:, :3] - q[:, :3], axis=0) ** 2))) * walk.fps for x in (noisy, calm.q)]
    assert errors[1] < 0.1 < errors[0]  # 0.06 m/s of noise, and what is lost of the motion
    np.testing.assert_allclose(np.linalg.norm(calm.q[:, 3:7], axis=1), 1.0, atol=1e-12)


def test_pushes_and_ground_reach_the_character(walk: Motion, walker: poise.Character) -> None:
    cut, child = walk.cut(0.0, 1.5), figure("child")
    push = poise.Push("chest", (0.0, 60.0, 0.0), start=0.5, duration=0.1)
    with pytest.raises(UnknownName, match="nose"):
        track(cut, child, actor_character=walker, pushes=[poise.Push("nose", (1.0, 0.0, 0.0))])
    plain = track(cut, child, actor_character=walker)
    pushed = track(cut, child, actor_character=walker, pushes=[push], terrain=poise.Terrain.slope(8.0))
    assert pushed.report["complete"]
    way = float(np.linalg.norm(pushed.q[-1, :2] - pushed.q[0, :2]))
    climbed = float(pushed.q[-1, 2] - pushed.q[0, 2]) - float(plain.q[-1, 2] - plain.q[0, 2])
    assert climbed == pytest.approx(np.tan(np.radians(8.0)) * way, rel=0.25)
    before = round(0.5 * 120.0) - 1
    flat = track(cut, child, actor_character=walker, pushes=[push])
    np.testing.assert_allclose(flat.q[before], plain.q[before], atol=1e-9)
    assert np.linalg.norm(flat.q[before + 30, :3] - plain.q[before + 30, :3]) > 0.01


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--fps", "20"], "50"),
        (["--root", "loose"], "strict"),
        (["--friction", "-1"], "friction"),
        (["--push", "chest 1 2"], "chest 1 2"),
        (["--style", "sad=very"], "sad=1"),
        (["--style", "sad=1"], "rest poses"),
        (["--terrain", "swamp"], "terrain"),
        (["--start", "9", "--end", "8"], "between 9 s and 8 s"),
    ],
)
def test_bad_options_get_one_sentence(
    given: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run(["track", str(poise.sample_path("walk")), "-c", "child", "-o", str(tmp_path / "x.bvh"), *given])
    seen = capsys.readouterr()
    assert code == 2
    assert said in (seen.out + seen.err).lower()


def test_the_actor_is_smoothed_without_lag() -> None:
    dt, out = 1.0 / 120.0, []
    smoother = Smoother(1, dt, 1.0)
    random = np.random.default_rng(1)
    for k in range(240):
        place = np.array([[0.5 * 3.0 * (k * dt) ** 2, 0.0, 0.0]])
        noisy = place + random.normal(0.0, 0.005, (1, 3))
        smoother.add(np.concatenate([noisy, [[1.0, 0.0, 0.0, 0.0]]], axis=1))
        out.append((smoother.x[0, 0] - place[0, 0], smoother.v[0, 0] - 3.0 * k * dt))
    late = np.array(out[60:])
    assert np.abs(late[:, 0].mean()) < 0.001  # an even acceleration leaves no lag
    assert late[:, 0].std() < 0.004
    assert late[:, 1].std() < 0.12  # differences of the poses would say 0.85 m/s


def test_rates_of_a_recording_come_from_before_and_after() -> None:
    dt = 1.0 / 120.0
    t = dt * np.arange(60)[:, None, None]
    places = 1.0 + 2.0 * t + 1.5 * t * t
    turns = rotations.from_rotation_vector(np.multiply([0.0, 0.0, 3.0], t, dtype=np.float64))
    turns[30:] *= -1.0  # the same orientations
    known = Known(np.concatenate([np.broadcast_to(places, (60, 1, 3)), turns], axis=2), dt)
    for k in range(60):
        known.advance()
        np.testing.assert_allclose(known.x[0, :3], 1.0 + 2.0 * k * dt + 1.5 * (k * dt) ** 2, atol=1e-12)
        np.testing.assert_allclose(known.v[0, :3], 2.0 + 3.0 * k * dt, atol=1e-9)
        np.testing.assert_allclose(known.a[0, :3], 3.0, atol=1e-7)
        np.testing.assert_allclose(known.spins[0], [0.0, 0.0, 3.0], atol=0.01)


@pytest.mark.parametrize("who", ["child", "walker"])
def test_a_leg_bends_as_far_as_its_way_from_hip_to_foot_needs(who: str, walker: poise.Character) -> None:
    character = figure("child") if who == "child" else walker
    standing = standing_pose(character)
    bend = bend_of(character, "left_leg", standing)
    assert bend is not None
    leg = next(limb for limb in character.limbs if limb.name == "left_leg")
    for length in bend.lengths[0] * np.array([0.6, 0.8, 0.95]):
        q = standing.copy()
        q[bend.at] = bend.knees_at(length)
        places = body_poses(character, q[None])[0][0]
        hip, foot = places[leg.bodies[0]], places[end_body(character, "left_leg")]
        assert np.linalg.norm(foot - hip) == pytest.approx(length, rel=2e-3)
        # knees point ahead, so the foot comes back
        ahead = rotations.rotate(yaw_turn(heading(character, places)), np.array([1.0, 0.0, 0.0]))
        assert (foot - hip) @ ahead < -0.02


def test_a_recorded_actor_is_followed_closer_than_a_live_one(walk: Motion, walker: poise.Character) -> None:
    times = np.arange(round(1.5 * 120.0)) / 120.0
    poses = interpolate_q(walker, walk.times, poise.motion_to_q(walker, walk), times)
    off = []
    for recorded in (None, poses):
        tracker = PerformanceTracker(walker, walker, actor_floor=walker.floor, actor_rate=walk.fps, recorded=recorded)
        way = []
        for pose in poses:
            way.append(tracker.step(pose)[:3] - tracker.targets.place[0])
        off.append(np.median(np.linalg.norm(np.array(way[60:]), axis=1)))
    assert off[1] < 0.6 * off[0]  # a third was measured


@pytest.mark.long
def test_what_cannot_be_held_falls_lies_and_gets_up(walker: poise.Character) -> None:
    tracker = PerformanceTracker(figure("child"), walker, root="strict")
    pose = standing_pose(walker)
    for _ in range(60):
        tracker.step(pose)
    push = np.zeros(tracker.model.nv)
    push[:2] = 250.0
    modes, heights, speeds = [], [], []
    for k in range(120 * 8):
        tracker.step(pose, push if k < 48 else None)
        modes.append(tracker.mode)
        heights.append(tracker.q[2])
        speeds.append(np.abs(tracker.v).max())
    assert tracker.counts.falls == 1
    assert "falling" in modes
    assert "rising" in modes
    assert modes[-1] == "following"
    assert min(heights) < 0.5 * heights[0]
    assert heights[-1] == pytest.approx(heights[0], rel=0.1)
    assert max(speeds) < 40.0
    assert max(tracker.counts.root_force) < 1e-6


@pytest.mark.long
@clips.needs_motions
def test_the_result_keeps_the_skin_of_its_character(
    tmp_path: Path, walk: Motion, capsys: pytest.CaptureFixture[str]
) -> None:
    """Meshes, weights and joints of the drawn file come back; of a character file the glTF beside it counts.

    A file without clips keeps them too, and of one with several clips the first will do.
    """
    clip, drawn = tmp_path / "walk.bvh", tmp_path / "man.glb"
    poise.save(walk.cut(0.5, 0.8), clip)
    man = poise.load(clips.MOTIONS / "gltf" / "cesium_man.gltf")
    poise.save(man, drawn)
    poise.save_character(poise.Character.fit(man), drawn.with_suffix(".toml"))
    theirs = meshes_of(man)
    assert theirs
    still, several = tmp_path / "still.gltf", tmp_path / "several.gltf"
    content = json.loads((clips.MOTIONS / "gltf" / "cesium_man.gltf").read_text(encoding="utf-8"))
    (clip_of_man,) = content.pop("animations")
    still.write_text(json.dumps(content), encoding="utf-8")
    several.write_text(
        json.dumps(content | {"animations": [clip_of_man | {"name": n} for n in "ab"]}), encoding="utf-8"
    )
    for who in (drawn, drawn.with_suffix(".toml"), still, several):
        out = tmp_path / f"tracked {who.name}.glb"
        assert run(["track", str(clip), "-c", str(who), "-o", str(out)]) in (0, 1)
        tracked = poise.load(out, clip=0)
        assert tracked.duration == pytest.approx(0.3, abs=0.02)
        ours = meshes_of(tracked)
        assert len(ours) == len(theirs)
        for mine, its in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine.positions, its.positions)
            np.testing.assert_array_equal(mine.weights, its.weights)
            np.testing.assert_array_equal(mine.joints, its.joints)
        turned = rotations.angle_between(tracked.rotations[-1], man.rotations[0]).max()
        assert turned > 0.1  # it moves
        assert ("clip 'a'" in capsys.readouterr().err) == (who == several)


def meshes_of(motion: Motion) -> tuple[Any, ...]:
    assert motion.source is not None
    return motion.source.document.meshes


def test_a_style_bows_the_head_and_blends_while_it_runs(walk: Motion, walker: poise.Character) -> None:
    child = figure("child")
    names = [body.name for body in child.bodies]
    head, spine = child.roles["head"], child.roles["chest"]
    bowed = {names[b]: rotations.from_rotation_vector(np.array([0.0, 0.5, 0.0])) for b in (head, spine)}
    child = replace(child, rest_poses={"sad": bowed})
    poses, heights = poise.motion_to_q(walker, walk), {}
    times = walk.times[0] + np.arange(180) / 120.0
    for style in ({}, {"sad": 0.0}, {"sad": 1.0}):
        tracker = PerformanceTracker(child, walker, actor_floor=walker.floor)
        seen = []
        for k, pose in enumerate(interpolate_q(walker, walk.times, poses, times)):
            if k == 60 and style:
                tracker.set_style(style)
            seen.append(body_poses(child, tracker.step(pose)[None])[0][0, head])
        assert tracker.counts.fallback_steps == 0
        heights[str(style)] = np.array(seen)
    plain, none, sad = heights.values()
    np.testing.assert_allclose(none, plain, atol=1e-9)  # no share, no change
    np.testing.assert_allclose(sad[:60], plain[:60], atol=1e-12)
    assert np.abs(sad[62] - plain[62]).max() < 0.02  # blended, not jumped
    assert np.mean(plain[120:, 2] - sad[120:, 2]) > 0.01  # 1.9 cm were measured
    with pytest.raises(UnknownName, match="sad"):
        tracker.set_style({"glad": 1.0})


def redrawn(motion: Motion, turns: dict[str, np.ndarray]) -> Motion:
    """The same motion of a skeleton that is drawn with some joints, and all below them, turned in the rest pose."""
    skeleton = motion.skeleton
    rest, rotated = skeleton.rest_rotations.copy(), motion.rotations.copy()
    for name, turn in turns.items():
        rest[skeleton.names.index(name)] = rotations.multiply(turn, rest[skeleton.names.index(name)])
    return replace(motion, skeleton=replace(skeleton, rest_rotations=rest), rotations=rotated)


def test_arms_point_as_the_actors_do_however_its_rest_pose_holds_them(walk: Motion) -> None:
    hanging = [rotations.from_rotation_vector(np.array([0.0, sign * 1.2, 0.0])) for sign in (1.0, -1.0)]
    drawn = redrawn(walk, {"LeftArm": hanging[0], "RightArm": hanging[1]})
    found = []
    for actor in (walk, drawn):
        theirs = poise.Character.fit(actor)
        tracker = PerformanceTracker(figure("child"), theirs, actor_floor=theirs.floor)
        for pose in poise.motion_to_q(theirs, actor)[:8]:
            tracker.step(pose)
        found.append(tracker.targets)
    np.testing.assert_allclose(found[1].place, found[0].place, atol=0.01)


def test_a_rest_pose_that_does_not_stand_is_replaced_by_a_frame_that_does(walk: Motion) -> None:
    over = rotations.from_rotation_vector(np.array([np.pi, 0.0, 0.0]))
    upside_down = redrawn(walk, {name: over for name in ("LeftUpLeg", "RightUpLeg")})
    theirs = poise.Character.fit(upside_down)
    poses = poise.motion_to_q(theirs, upside_down)
    stands = standing_pose(theirs, poses)
    places = body_poses(theirs, np.stack([stands, standing_pose(theirs)]))[0]
    feet = [theirs.roles[name] for name in ("left_foot", "right_foot")]
    assert (places[0, feet, 2] < places[0, 0, 2] - 0.7).all()
    assert (places[1, feet, 2] > places[1, 0, 2]).all()
    assert track(upside_down.cut(0.0, 1.0), figure("child")).report["fallback_steps"] == 0


def test_legs_drawn_apart_count_as_long_as_they_hang(walk: Motion, walker: poise.Character) -> None:
    apart = [rotations.from_rotation_vector(np.array([0.0, sign * 0.3, 0.0])) for sign in (-1.0, 1.0)]
    drawn = redrawn(walk, {"LeftUpLeg": apart[0], "RightUpLeg": apart[1]})
    legs = []
    for actor in (walk, drawn):
        theirs = poise.Character.fit(actor)
        places, turns = (x[0] for x in body_poses(theirs, standing_pose(theirs)[None]))
        low = min(places[theirs.roles[name], 2] for name in ("left_foot", "right_foot"))
        legs.append(Standing.of(theirs, places, turns, float(low)).leg)
    assert legs[1] == pytest.approx(legs[0], rel=0.01)


def test_an_actor_on_the_spot_is_moved_ahead(walk: Motion) -> None:
    moved = walk.translations.copy()
    way = (moved[-1, 0] - moved[0, 0]) * [1.0, 1.0, 0.0]
    moved[:, 0] -= walk.times[:, None] / walk.duration * way
    spot = replace(walk, translations=moved, source=None)
    result = track(spot.cut(0.0, 2.0), figure("child"))
    assert result.report["off_the_spot_m_s"] == pytest.approx(float(np.linalg.norm(way)) / walk.duration, rel=0.15)
    assert result.report["fallback_steps"] == 0
    assert track(walk.cut(0.0, 1.0), figure("child")).report["off_the_spot_m_s"] == 0.0


def test_a_prior_draws_joints_to_its_examples(walk: Motion, walker: poise.Character) -> None:
    """Examples that bow make the character bow; its feet still go where the actor's go."""
    child, cut = figure("child"), walk.cut(0.0, 1.5)
    plain = track(cut, child, actor_character=walker)
    chest = child.bodies[child.roles["chest"]].joint
    turns = plain.motion.rotations.copy()
    bow = poise.core.rotations.from_rotation_vector(np.array([0.0, 0.5, 0.0]))
    turns[:, chest] = poise.core.rotations.multiply(turns[:, chest], bow)
    bowed = dataclasses.replace(plain.motion, rotations=turns)
    found = track(cut, child, actor_character=walker, prior=[bowed])
    assert found.report["complete"]
    off = poise.core.rotations.angle_between(found.motion.rotations[30:, chest], plain.motion.rotations[30:, chest])
    assert np.degrees(np.median(off)) > 10.0
    left = poise.core.rotations.angle_between(found.motion.rotations[30:, chest], turns[30:, chest])
    assert np.median(left) < 0.35
    with pytest.raises(poise.PoiseError, match="clips of the character itself"):
        track(cut, child, actor_character=walker, prior=[dataclasses.replace(walk)])


def test_a_rest_pose_that_is_a_stride_is_replaced_by_a_pose_of_the_clip(walk: Motion) -> None:
    walker = poise.Character.fit(walk)
    assert not walker.rest_poses  # its rest pose stands
    q = poise.motion_to_q(walker, walk)
    places, _ = body_poses(walker, q)
    ankles = places[:, [end_body(walker, leg) for leg in ("left_leg", "right_leg")]]
    apart = np.linalg.norm(ankles[:, 0] - ankles[:, 1], axis=-1)
    middle = int(np.argmax(apart))
    odd = replace(walk, skeleton=replace(walk.skeleton, rest_rotations=walk.rotations[middle].copy()))
    stands = poise.Character.fit(odd)
    strider = replace(stands, rest_poses={})
    assert set(stands.rest_poses) == {"standing"}
    for character, least, most in ((strider, 0.5, 2.0), (stands, 0.0, 0.35)):
        places, _ = body_poses(character, standing_pose(character)[None])
        ankles = places[0, [end_body(character, leg) for leg in ("left_leg", "right_leg")]]
        assert least < np.linalg.norm(ankles[0] - ankles[1]) / character.leg_length < most
