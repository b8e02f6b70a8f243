"""`ballistic`: the center of mass on its path, what is kept, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.analysis import center_of_mass
from poise.body.posing import root_mover
from poise.core import rotations
from poise.core.errors import BudgetExceeded, InvalidValue
from poise.edit import Budget, PathTarget, Scope, ballistic, path_between
from poise.edit.legs import find_legs, knee_flexion
from tests.clips import MOTIONS, everywhere, first_cases, needs_motions
from tests.edit_clips import FLIGHTS, ball, clip, hop, turned_about_z

EXACT = 1e-9  # the promise [m]


def test_timing_kept_the_path_is_exact_and_nothing_but_the_root_moves_in_flight() -> None:
    motion, character = hop()
    result, report = ballistic(motion, character, keep="timing")
    (flight,) = report["after"]["flights"]
    a, b = flight["frames"]
    before, after = center_of_mass(motion, character), center_of_mass(result, character)
    t = motion.times[a : b + 1] - motion.times[a]
    path = path_between(before[a], before[b], float(t[-1]))
    np.testing.assert_allclose(after[a : b + 1], path.position(t), atol=EXACT)
    assert np.array_equal(result.rotations[a : b + 1], motion.rotations[a : b + 1])
    assert np.array_equal(result.times, motion.times)
    assert flight["gravity_g"] == pytest.approx(1.0, abs=1e-9)
    assert flight["track_error"] < 1e-9
    assert flight["linear_momentum_error"] < 1e-9


def test_ends_kept_the_flight_takes_the_frames_that_its_own_path_needs() -> None:
    motion, character = hop()
    result, report = ballistic(motion, character)
    (old,), (new,) = report["before"]["flights"], report["after"]["flights"]
    assert old["gravity_g"] < 0.3
    assert new["gravity_g"] == pytest.approx(1.0, abs=1e-9)
    steps = [f["frames"][1] - f["frames"][0] for f in (old, new)]
    # half a frame of rounding, and no more: a clip's frames are where they are
    assert steps[1] == pytest.approx(steps[0] * np.sqrt(old["gravity_g"]), abs=0.51)
    before, after = center_of_mass(motion, character), center_of_mass(result, character)
    for k in (0, 1):
        np.testing.assert_allclose(after[new["frames"][k]], before[old["frames"][k]], atol=EXACT)
    # what lies beyond the borders is the source's own frames, bit for bit
    same = old["frames"][0] - 15
    assert np.array_equal(result.rotations[:same], motion.rotations[:same])
    assert np.array_equal(result.rotations[-20:], motion.rotations[-20:])
    assert np.array_equal(result.translations[-20:], motion.translations[-20:])


def test_feet_stay_where_they_stood_and_velocity_runs_into_the_flight() -> None:
    motion, character = hop()
    result, report = ballistic(motion, character, keep="timing", gravity=3.0)
    a, b = report["after"]["flights"][0]["frames"]
    outside = np.r_[0 : a + 1, b : motion.frame_count]
    for leg in find_legs(character, motion):
        moved = result.world[0][outside, leg.foot] - motion.world[0][outside, leg.foot]
        assert np.abs(moved).max() < 0.002
        turned = rotations.angle_between(result.world[1][outside, leg.foot], motion.world[1][outside, leg.foot])
        assert turned.max() < 1e-7
    com = center_of_mass(result, character)
    plain = ballistic(motion, character, keep="timing", gravity=3.0, scope=Scope(blend=0.0)).motion
    kinked = center_of_mass(plain, character)

    def kink(x: np.ndarray, k: int) -> float:
        """Change of velocity from one frame to the next, gravity left out [m/s]."""
        return float(np.linalg.norm(np.diff(x[k - 1 : k + 2], 2, axis=0)) * motion.fps)

    assert kink(com, a) < 0.5 * kink(kinked, a)
    assert kink(com, b) < 0.5 * kink(kinked, b)


def test_an_amount_of_zero_is_the_motion_itself_and_half_goes_half_way() -> None:
    motion, character = hop()
    assert ballistic(motion, character, scope=Scope(0.0)).motion is motion
    assert ballistic(motion, character, scope=Scope(0.0)).report["changed"]["frames"] == 0
    whole = ballistic(motion, character, keep="timing").motion
    half = ballistic(motion, character, keep="timing", scope=Scope(0.5)).motion
    root = root_mover(character)
    a, b = 40, 110
    np.testing.assert_allclose(
        half.translations[a:b, root] - motion.translations[a:b, root],
        0.5 * (whole.translations[a:b, root] - motion.translations[a:b, root]),
        atol=1e-12,
    )


def test_an_object_with_one_joint_is_an_object() -> None:
    motion = ball()
    result, report = ballistic(motion, flights=[(0, 39)])
    t = result.times
    assert result.duration == pytest.approx(motion.duration * np.sqrt(4.0 / 9.81), abs=0.5 / 30)
    path = path_between(motion.translations[0, 0], motion.translations[-1, 0], float(t[-1]))
    np.testing.assert_allclose(result.translations[:, 0], path.position(t), atol=EXACT)
    assert report["after"]["flights"][0]["gravity_g"] == pytest.approx(1.0, abs=1e-9)
    sideways = ballistic(motion, flights=[(0, 39)], keep="timing", gravity=2.0, up=np.array([0.0, 1.0, 0.0])).motion
    bend = np.diff(sideways.translations[:, 0], 2, axis=0) * 30.0**2
    np.testing.assert_allclose(bend, np.tile([0.0, -2.0, 0.0], (38, 1)), atol=1e-9)


@first_cases(
    2,
    "target",
    [
        PathTarget(end=np.array([1.4, 0.2, 1.1]), duration=0.5),
        PathTarget(start=np.array([0.0, 0.1, 1.2])),
        PathTarget(start_velocity=np.array([1.0, 0.0, 2.0]), duration=0.4),
        PathTarget(end_velocity=np.array([1.0, 0.0, -3.0])),
        PathTarget(end=np.array([1.4, 0.2, 1.1]), end_velocity=np.array([1.0, 0.0, -3.0])),
        PathTarget(end=np.array([1.4, 0.2, 1.1]), start_velocity=np.array([1.0, 0.0, 3.0])),
    ],
    ids=["end", "start", "start velocity", "end velocity", "end and its velocity", "end and start velocity"],
)
def test_a_path_that_is_asked_for_is_followed_and_the_rest_of_the_clip_comes_along(target: PathTarget) -> None:
    motion, character = hop()
    result, report = ballistic(motion, character, target=target)
    (path,), (flight,) = report["paths"], report["after"]["flights"]
    a, b = flight["frames"]
    com = center_of_mass(result, character)
    np.testing.assert_allclose(com[a], path["start_m"], atol=EXACT)
    np.testing.assert_allclose(com[b], path["end_m"], atol=EXACT)
    assert flight["gravity_g"] == pytest.approx(1.0, abs=1e-9)
    for name in ("start", "end", "start_velocity", "end_velocity"):
        if getattr(target, name) is not None:
            unit = "_m_s" if "velocity" in name else "_m"
            np.testing.assert_allclose(path[name + unit], getattr(target, name), atol=1e-9)
    if target.duration is not None:
        assert path["duration_s"] == pytest.approx(target.duration, abs=0.51 / 60)
    # the end of the clip stands by its landing as it did
    kept = ballistic(motion, character, target=PathTarget(duration=path["duration_s"])).motion
    moved = result.world[0][-1] - kept.world[0][-1]
    assert np.ptp(moved, axis=0).max() < 1e-12


def test_world_rotation_and_place_do_not_matter() -> None:
    motion, character = hop()
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 0.7]))
    other = turned_about_z(motion, 0.7, np.array([3.0, -2.0, 0.0]))
    one = ballistic(motion, character, flights=[(36, 128)]).motion
    two = ballistic(other, character, flights=[(36, 128)]).motion
    np.testing.assert_allclose(
        two.world[0], rotations.rotate(turn, one.world[0]) + np.array([3.0, -2.0, 0.0]), atol=1e-9
    )


def test_a_budget_is_kept_or_refused_with_the_reason_and_an_amount_that_keeps_it() -> None:
    motion, character = hop()
    with pytest.raises(BudgetExceeded, match=r"root .* in frame \d+; the budget allows 2 cm") as refused:
        ballistic(motion, character, keep="timing", budget=Budget.parse("joint 3deg, root 2cm"))
    assert 0.0 < refused.value.amount < 0.1
    part = Scope(refused.value.amount)
    kept = ballistic(motion, character, keep="timing", scope=part, budget=Budget(root=0.02))
    assert kept.report["changed"]["root_position_max_m"] <= 0.02


def test_what_cannot_be_done_is_refused() -> None:
    motion, character = hop()
    with pytest.raises(InvalidValue, match="No flight"):
        ballistic(motion.cut(0.0, 0.4), character)
    with pytest.raises(InvalidValue, match="not in this clip"):
        ballistic(motion, character, flights=[(100, 9999)])
    with pytest.raises(InvalidValue, match="overlap"):
        ballistic(motion, character, flights=[(10, 40), (30, 60)])
    with pytest.raises(InvalidValue, match="no timing changes that to"):
        ballistic(motion, character, gravity=0.0)
    with pytest.raises(InvalidValue, match="twice"):
        PathTarget(start=np.zeros(3), end=np.zeros(3), start_velocity=np.zeros(3))
    with pytest.raises(InvalidValue, match="ends"):
        ballistic(motion, character, keep="both")


@pytest.mark.parametrize("keep", ["ends", "timing"])
@first_cases(3, "name", everywhere(["hop", *FLIGHTS]))
def test_real_flights(name: str, keep: str) -> None:
    motion, character = clip(name)
    result, report = ballistic(motion, character, keep=keep)
    for flight in report["after"]["flights"]:
        assert flight["gravity_g"] == pytest.approx(1.0, abs=1e-6)
        assert flight["path_error_max_m"] < EXACT
        assert flight["linear_momentum_error"] < 1e-6
    assert report["kept"]["feet_error_max_m"] < 0.0021
    assert report["kept"]["joint_angle_in_flight_max_deg"] < 1e-6
    assert report["kept"]["path_error_max_m"] < EXACT
    for leg in find_legs(character, motion):
        assert knee_flexion(leg, result).min() > min(0.0, knee_flexion(leg, motion).min()) - 0.02


@needs_motions
@first_cases(1, "keep", ["ends", "timing"])
def test_the_more_of_it_the_nearer_to_the_path(keep: str) -> None:
    motion = poise.load(MOTIONS / "bvh" / "cmu_daz" / "05_20-daz.bvh").cut(6.0, 8.0)
    character = poise.Character.fit(motion, masses="auto")
    off = [
        ballistic(motion, character, keep=keep, scope=Scope(amount=part)).report["after"]["flights"][0]
        for part in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    errors = [flight["path_error_max_m"] for flight in off]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-9
    gravities = [abs(flight["gravity_g"] - 1.0) for flight in off]
    assert gravities == sorted(gravities, reverse=True)
