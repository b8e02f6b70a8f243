"""`spin`: the momentum between frames, its Jacobian against central differences, and what the edit promises."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from poise.analysis import analyze, center_of_mass
from poise.analysis.angular_momentum import Tumble, frame_jacobians, momentum_between, turns_for
from poise.body.character import Character
from poise.body.limits import limit_angles
from poise.check.ground import ground_findings
from poise.check.profile import load_profile
from poise.core import rotations
from poise.core.errors import BudgetExceeded, InvalidValue, PoiseError, UnknownName
from poise.core.motion import Motion
from poise.edit import Budget, Scope, spin
from poise.edit.flight import SETTLING
from poise.edit.legs import Leg, find_legs, knee_flexion
from poise.edit.planting import points_of
from poise.edit.spin_pose import DEAR, _axes, _posed, swing_jacobians
from tests.clips import everywhere, first_cases, needs_motions
from tests.edit_clips import FLIGHTS, clip, hop, tumbling, turned_about_z

Array = np.ndarray


def flight() -> tuple[Tumble, int, int]:
    motion, character = hop()
    return Tumble.of(motion, character, 36, 66), 36, 66


def test_a_body_that_tumbles_freely_keeps_its_angular_momentum_to_second_order() -> None:
    errors = []
    for fps in (60.0, 120.0):
        motion, character, momentum = tumbling(int(fps / 2), fps)
        seen = momentum_between(Tumble.of(motion, character, 0, motion.frame_count - 1))
        errors.append(np.abs(seen - momentum).max() / np.linalg.norm(momentum))
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)  # Δt²


def test_the_momentum_is_that_of_the_analysis() -> None:
    motion, character, momentum = tumbling()
    found = analyze(motion, character, filter_hz=None).momentum.angular
    between = momentum_between(Tumble.of(motion, character, 0, motion.frame_count - 1))
    np.testing.assert_allclose(
        0.5 * (between[1:] + between[:-1]), found[1:-1], atol=3e-3 * float(np.linalg.norm(momentum))
    )


def test_the_jacobian_of_equation_5_is_that_of_central_differences() -> None:
    tumble, _, _ = flight()
    n, h = len(tumble.times), 1e-6
    turn = rotations.from_rotation_vector(np.random.default_rng(2).normal(size=(n, 3)))
    tumble = tumble.turned(turn)
    for side, jacobian in enumerate(frame_jacobians(tumble)):
        for axis in range(3):
            step = np.zeros((n, 3))
            step[side::2, axis] = h  # frames of one parity: each interval feels one of its two
            ends = [momentum_between(tumble.turned(rotations.from_rotation_vector(s * step))) for s in (1.0, -1.0)]
            measured = ((ends[0] - ends[1]) / (2.0 * h))[::2]
            np.testing.assert_allclose(measured, jacobian[::2, :, axis], atol=2e-7 * np.abs(jacobian).max())


def test_the_jacobian_is_the_composite_inertia_over_the_time_step_and_half_the_momentum() -> None:
    motion, character, momentum = tumbling(fps=1200.0, frames=20)
    tumble = Tumble.of(motion, character, 0, 19)
    earlier, later = frame_jacobians(tumble)
    dt = tumble.steps[0]
    inertia = 0.5 * (tumble.inertias[:-1, 0] + tumble.inertias[1:, 0])
    for jacobian, sign in ((earlier, -1.0), (later, 1.0)):
        symmetric = 0.5 * (jacobian + np.swapaxes(jacobian, 1, 2))
        np.testing.assert_allclose(symmetric, sign * inertia / dt, atol=2e-3 * np.abs(inertia).max() / dt)
        x, y, z = momentum
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        skew = 0.5 * (jacobian - np.swapaxes(jacobian, 1, 2))
        np.testing.assert_allclose(skew, np.broadcast_to(-0.5 * cross, skew.shape), atol=2e-2 * np.abs(cross).max())


@pytest.mark.parametrize("fixed", [(0,), (12,), (30,), (0, 30), (0, 11, 20), (5, 30)])
def test_turns_give_a_constant_momentum_and_leave_the_fixed_frames(fixed: tuple[int, ...]) -> None:
    tumble, _, _ = flight()
    asked = np.array([1.0, 6.0, -2.0])
    turn, target, _ = turns_for(tumble, asked, fixed)
    np.testing.assert_allclose(turn[list(fixed)], np.tile(rotations.IDENTITY, (len(fixed), 1)), atol=1e-12)
    seen = momentum_between(tumble.turned(turn))
    np.testing.assert_allclose(seen, target, atol=1e-7)
    np.testing.assert_allclose(seen[: fixed[0]], np.tile(asked, (fixed[0], 1)), atol=1e-7)
    np.testing.assert_allclose(seen[fixed[-1] :], np.tile(asked, (30 - fixed[-1], 1)), atol=1e-7)
    for one, other in pairwise(fixed):
        assert np.ptp(target[one:other], axis=0).max() == 0.0


def test_any_damping_comes_to_the_same_turns() -> None:
    tumble, _, _ = flight()
    asked = np.array([1.0, 6.0, -2.0])
    whole, _, few = turns_for(tumble, asked, (0,))
    damped, _, many = turns_for(tumble, asked, (0,), damping=0.6)
    np.testing.assert_allclose(rotations.angle_between(whole, damped), 0.0, atol=1e-6)
    assert many > few


def test_a_body_that_already_keeps_its_momentum_is_left_alone() -> None:
    motion, character, _ = tumbling()
    result, report = spin(motion, character, flights=[(0, motion.frame_count - 1)])
    assert report["changed"]["joint_angle_max_deg"] < 0.1  # the error of Δt² that there is to take out
    assert np.abs(center_of_mass(result, character) - center_of_mass(motion, character)).max() < 1e-12


@first_cases(1, "momentum", ["mean", "takeoff", np.array([0.0, 5.0, 1.0])], ids=["mean", "takeoff", "given"])
def test_by_the_root_nothing_but_the_root_turns_and_the_path_stays(momentum: str | Array) -> None:
    motion, character = hop()
    result, report = spin(motion, character, momentum=momentum)
    (flight,) = report["after"]["flights"]
    assert flight["angular_momentum_spread_kg_m2_s"] < 1e-6
    assert flight["momentum_error_max_kg_m2_s"] < 1e-6
    a, b = flight["frames"]
    moved = center_of_mass(result, character) - center_of_mass(motion, character)
    np.testing.assert_allclose(moved[a : b + 1], 0.0, atol=1e-9)
    np.testing.assert_allclose(moved, 0.0, atol=1e-3)  # beside it, legs that bend carry a little of it along
    assert np.array_equal(result.rotations[a : b + 1, 1:], motion.rotations[a : b + 1, 1:])
    assert np.array_equal(result.rotations[: a + 1], motion.rotations[: a + 1])


def test_the_analysis_finds_the_momentum_constant() -> None:
    motion, character = hop()
    before = analyze(motion, character, filter_hz=None).flights[0]
    result = spin(motion, character, flights=[(before.first, before.last)]).motion
    after = analyze(result, character, filter_hz=None).flights[0]
    assert np.abs(after.angular_error).max() < 0.05 * np.abs(before.angular_error).max()


def test_priority_frames_survive() -> None:
    motion, character = hop()
    a, b = spin(motion, character).report["after"]["flights"][0]["frames"]
    middle = (a + b) // 2
    result, report = spin(motion, character, priority=[a, middle, b], momentum="takeoff")
    for frame in (a, middle, b):
        assert rotations.angle_between(result.rotations[frame], motion.rotations[frame]).max() < 1e-9
    assert any("constant that joins them" in note for note in report["notes"])
    same = np.r_[0:a, b : motion.frame_count]
    assert np.array_equal(result.rotations[same], motion.rotations[same])


def test_world_rotation_does_not_matter() -> None:
    motion, character = hop()
    other = turned_about_z(motion, 1.1, np.array([-1.0, 4.0, 0.0]))
    lift = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.1]))
    one = spin(motion, character, flights=[(36, 128)]).motion
    two = spin(other, character, flights=[(36, 128)]).motion
    assert rotations.angle_between(two.rotations[:, 0], rotations.multiply(lift, one.rotations[:, 0])).max() < 1e-7


def test_amount_budget_and_wrong_use() -> None:
    motion, character = hop()
    assert spin(motion, character, scope=Scope(0.0)).motion is motion
    whole, half = (spin(motion, character, scope=Scope(x)).report["changed"] for x in (1.0, 0.5))
    assert half["joint_angle_max_deg"] == pytest.approx(0.5 * whole["joint_angle_max_deg"], rel=0.05)
    with pytest.raises(BudgetExceeded, match="turns"):
        spin(motion, character, budget=Budget.parse("root 0.01deg"))
    with pytest.raises(InvalidValue, match="in no flight"):
        spin(motion, character, priority=[2])
    with pytest.raises(InvalidValue, match="mean, takeoff or three"):
        spin(motion, character, momentum="max")
    with pytest.raises(UnknownName, match="Limbs:"):
        spin(motion, character, by="pose", limbs=["wing"])
    with pytest.raises(InvalidValue, match="by='pose'"):
        spin(motion, character, limbs=["arm"])
    with pytest.raises(PoiseError, match="nearer to the clip's own"):
        spin(motion, character, momentum=np.array([0.0, 1e6, 0.0]))


def test_the_jacobian_of_a_swing_is_that_of_central_differences() -> None:
    motion, character = hop()
    piece = motion.frames(np.arange(36, 46))
    axes = _axes(character, ())
    width = sum(len(a.axes) for a in axes)
    tumble = Tumble.of(piece, character, 0, 9)
    h = 1e-6
    for side, jacobian in enumerate(swing_jacobians(tumble, piece, character, axes)):
        for k in range(width):
            ends = []
            for sign in (h, -h):
                step = np.zeros((10, width))
                step[side::2, k] = sign
                moved = _posed(piece, character, piece.rotations, axes, step)[0]
                ends.append(momentum_between(Tumble.of(moved, character, 0, 9)))
            measured = ((ends[0] - ends[1]) / (2.0 * h))[::2]
            np.testing.assert_allclose(measured, jacobian[::2, :, k], atol=1e-6 * np.abs(jacobian).max())


def test_by_the_pose_limbs_swing_within_their_limits_and_the_trunk_stays() -> None:
    motion, character = hop()
    result, report = spin(motion, character, by="pose")
    (old,), (new,) = report["before"]["flights"], report["after"]["flights"]
    assert new["angular_momentum_spread_kg_m2_s"] < 0.6 * old["angular_momentum_spread_kg_m2_s"]
    np.testing.assert_allclose(center_of_mass(result, character), center_of_mass(motion, character), atol=1e-9)
    swung = {n for n, a in report["changed"]["joints_deg"].items() if a > 1e-3}
    arms = {character.bodies[b].name for limb in character.limbs if limb.kind == "arm" for b in limb.bodies}
    assert swung
    assert swung <= arms
    for frame in new["frames"]:
        assert np.array_equal(result.rotations[frame], motion.rotations[frame])
    for body in character.bodies:
        if body.limits is not None and body.kind == "ball" and body.name in swung:
            angles = limit_angles(body.limits, result.rotations[:, body.joint])
            low = [body.limits.twist_lower, body.limits.bend_lower, body.limits.side_lower]
            high = [body.limits.twist_upper, body.limits.bend_upper, body.limits.side_upper]
            assert (angles >= np.array(low) - 1e-6).all()
            assert (angles <= np.array(high) + 1e-6).all()


def _touching_beside(motion: Motion, character: Character, a: int, b: int) -> dict[Leg, Array]:
    """Frames outside of a flight in which a point of a leg's foot touches, as the analysis has it."""
    touch = analyze(motion, character, filter_hz=None).touch
    beside = np.r_[0:a, b + 1 : motion.frame_count]
    return {
        leg: beside[touch.flags[beside][:, points_of(character, leg, touch)].any(axis=1)]
        for leg in find_legs(character, motion)
    }


def _keeps_feet(motion: Motion, character: Character, a: int, b: int) -> None:
    result, report = spin(motion, character, flights=[(a, b)], momentum="takeoff", priority=[(a + b) // 2])
    before, after = motion.world, result.world
    near = np.abs(after[0] - before[0]).max(axis=(1, 2)) > 1e-3
    hidden = 0
    for leg, frames in _touching_beside(motion, character, a, b).items():
        settled = [f for f in frames if min(abs(motion.times[f] - motion.times[[a, b]])) > 1.2 * SETTLING]
        np.testing.assert_allclose(after[0][settled, leg.foot], before[0][settled, leg.foot], atol=1e-6)
        turned = rotations.angle_between(after[1][settled, leg.foot], before[1][settled, leg.foot])
        assert turned.max(initial=0.0) < 1e-6
        hidden += int(near[settled].sum())
        # and no knee jumps for it
        added = knee_flexion(leg, result) - knee_flexion(leg, motion)
        assert np.abs(np.diff(added)).max() < np.radians(5.0)
    assert hidden > 0  # the body does turn while these feet stand
    assert report["kept"]["feet_error_settled_max_m"] < 1e-6
    ends = [
        float(np.linalg.norm(after[0][f, leg.foot] - before[0][f, leg.foot], axis=1).max(initial=0.0))
        for leg, f in _touching_beside(motion, character, a, b).items()
    ]
    assert report["kept"]["feet_error_max_m"] >= max(ends) - 1e-9  # those that touch at once slide, and it says so
    assert report["kept"]["com_path_beside_max_m"] < 2e-3


def test_feet_that_touch_beside_the_flight_stay_where_they_were() -> None:
    motion, character = hop()
    _keeps_feet(motion, character, 36, 128)


@needs_motions
def test_feet_stay_after_a_real_kick() -> None:
    motion, character = clip("spin kick")
    _keeps_feet(motion, character, 34, 54)


@needs_motions
def test_a_backflip_slides_no_further_at_its_landing_than_before() -> None:
    motion, character = clip("backflip")
    result = spin(motion, character).motion
    seen = [
        {f.where: (f.frames, f.measure)
         for f in ground_findings(analyze(m, character), load_profile("realistic")) if f.name == "skate"}
        for m in (motion, result)
    ]  # fmt: skip
    assert seen[0].keys() == seen[1].keys()
    for where, (frames, far) in seen[0].items():
        assert seen[1][where][0] == frames
        assert seen[1][where][1] == pytest.approx(far, abs=0.003)


@first_cases(2, "name", everywhere(["hop", *FLIGHTS]))
def test_real_flights(name: str) -> None:
    motion, character = clip(name)
    result, report = spin(motion, character)
    for new in report["after"]["flights"]:
        assert new["angular_momentum_spread_kg_m2_s"] < 1e-6
    assert report["kept"]["com_path_error_max_m"] < 1e-9
    assert report["kept"]["joint_angle_in_flight_max_deg"] == 0.0
    assert report["kept"]["com_path_beside_max_m"] < 1e-3
    assert report["kept"]["feet_error_settled_max_m"] < 1e-6
    swung = spin(motion, character, by="pose", verify=False).report
    assert swung["kept"]["com_path_error_max_m"] < 1e-9
    # a flight is swung where that takes much of its unevenness for little, and else left as it was, with a word
    spread, off = "angular_momentum_spread_kg_m2_s", "turn_off_steady_max_deg"
    gained = 0.0
    for old, new in zip(swung["before"]["flights"], swung["after"]["flights"]):
        if new[spread] == pytest.approx(old[spread], rel=1e-9):
            named = f"{old['frames'][0]}:{old['frames'][1]}"
            assert any(named in note for note in swung["notes"])
        else:
            assert new[spread] < 0.75 * old[spread]
            gained = max(gained, old[off] - new[off])
    assert swung["changed"]["joint_angle_max_deg"] <= DEAR * gained + 1e-9
    assert result.frame_count == motion.frame_count


@needs_motions
def test_a_turn_that_fades_beside_a_flip_stays_below_what_it_was_in_flight() -> None:
    motion, character = clip("backflip")
    result, report = spin(motion, character)
    first, last = report["before"]["flights"][0]["frames"]
    turned = rotations.angle_between(motion.rotations[:, 0], result.rotations[:, 0])
    assert turned[last + 1 :].max() < 1.3 * turned[last]
    assert turned[first : last + 1].max() == turned.max()


def test_the_measure_of_steady_spin_is_the_turn_that_is_made_and_none_is_left() -> None:
    motion, character = hop()
    result, report = spin(motion, character)
    (old,), (new,) = report["before"]["flights"], report["after"]["flights"]
    first, last = old["frames"]
    turned = rotations.angle_between(motion.rotations[:, 0], result.rotations[:, 0])
    assert np.degrees(turned[first : last + 1].max()) == pytest.approx(old["turn_off_steady_max_deg"], rel=1e-9)
    assert new["turn_off_steady_max_deg"] < 1e-6
