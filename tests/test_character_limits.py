"""Swing-twist angles and the ranges fitted to a clip."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poise.body import clamp_rotation, fit, limit_angles
from poise.body.character import Character, Limits
from poise.body.limits import from_limit_angles
from poise.core import rotations
from poise.core.skeleton import Skeleton
from tests.character_figures import PERSON, PERSON_ENDS, motion, person, skeleton

angle = st.floats(-3.0, 3.0)
part = st.floats(-1.0, 1.0)


def some_limits(seed: int = 3) -> Limits:
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    rest = rotations.normalize(rng.normal(size=4))
    return Limits(rest, axis, rotations.perpendicular(axis), -0.5, 0.5, -0.2, 1.5, -0.1, 0.1)


def limits_of(character: Character, role: str) -> Limits:
    limits = character.bodies[character.roles[role]].limits
    assert limits is not None
    return limits


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine drawing is slow
@given(twist=angle, bend=st.floats(-2.1, 2.1), side=st.floats(-2.1, 2.1), seed=st.integers(0, 50))
def test_angles_and_rotation_are_inverse(twist: float, bend: float, side: float, seed: int) -> None:
    limits = some_limits(seed)
    angles = np.array([twist, bend, side])  # a swing of at most 2.97 rad, short of the singular half turn
    np.testing.assert_allclose(limit_angles(limits, from_limit_angles(limits, angles)), angles, atol=1e-9)


def test_a_turn_about_each_axis_is_that_angle_alone() -> None:
    limits = some_limits()
    side_axis = np.cross(limits.axis, limits.swing_axis)
    for n, axis in enumerate((limits.axis, limits.swing_axis, side_axis)):
        turn = rotations.multiply(limits.rest, rotations.from_rotation_vector(0.7 * axis))
        np.testing.assert_allclose(limit_angles(limits, turn), 0.7 * np.eye(3)[n], atol=1e-12)


def test_sign_of_a_quaternion_does_not_matter() -> None:
    limits = some_limits()
    turn = rotations.normalize(np.random.default_rng(1).normal(size=(20, 4)))
    np.testing.assert_allclose(limit_angles(limits, -turn), limit_angles(limits, turn), atol=1e-12)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # on a busy machine drawing is slow
@given(a=part, b=part, c=part)
def test_clamping_brings_outside_in_and_leaves_inside_alone(a: float, b: float, c: float) -> None:
    limits = some_limits()
    turn = from_limit_angles(limits, np.array([1.5 * a, 2.0 * b, c]))
    clamped = clamp_rotation(limits, turn)
    twist, bend, side = limit_angles(limits, clamped)
    slack = 1e-9
    assert limits.twist_lower - slack <= twist <= limits.twist_upper + slack
    assert limits.bend_lower - slack <= bend <= limits.bend_upper + slack
    assert limits.side_lower - slack <= side <= limits.side_upper + slack
    inside = from_limit_angles(limits, np.array([0.4 * a, 0.15 * b, 0.09 * c]))
    np.testing.assert_array_equal(clamp_rotation(limits, inside), inside)


def test_mean_of_rotations_is_their_middle() -> None:
    axis = np.array([0.0, 0.6, 0.8])
    turns = rotations.from_rotation_vector(np.array([[-0.4], [0.1], [0.6]]) * axis)
    signs = np.array([[1.0], [-1.0], [1.0]])
    assert rotations.angle_between(rotations.mean(signs * turns), rotations.from_rotation_vector(0.1 * axis)) < 0.02


def bent(joint: str, axis: tuple[float, float, float], degrees: float) -> Character:
    """A person one joint of whom bends about an axis between 20° and `degrees`."""
    angles = np.radians(np.linspace(20.0, degrees, 60))
    return fit(motion(person(), {joint: angles[:, None] * np.array(axis)}))


def test_a_knee_bends_backward_and_only_so() -> None:
    # the figure faces +X: a turn about +Y swings a hanging shank to -X, backward
    knee = limits_of(bent("LeftLeg", (0.0, 1.0, 0.0), 90.0), "left_knee")
    angles = limit_angles(knee, rotations.from_rotation_vector(np.array([0.0, np.radians(60.0), 0.0])))
    np.testing.assert_allclose(np.degrees(angles), [0.0, 60.0, 0.0], atol=1e-6)
    assert np.degrees(knee.bend_lower) == pytest.approx(0.0)
    assert np.degrees(knee.bend_upper) >= 140.0
    assert np.degrees(knee.side_upper - knee.side_lower) <= 12.0
    assert np.degrees(knee.twist_upper - knee.twist_lower) <= 30.0


def test_a_straight_knee_still_knows_which_way_it_folds() -> None:
    for character in (fit(person()), fit(motion(person(), {}))):
        knee, elbow = limits_of(character, "right_knee"), limits_of(character, "left_elbow")
        back = rotations.from_rotation_vector(np.array([0.0, 0.5, 0.0]))
        assert limit_angles(knee, back)[1] == pytest.approx(0.5, abs=1e-9)
        # a left arm held out along +Y folds forward, to +X, by a turn about -Z
        ahead = rotations.from_rotation_vector(np.array([0.0, 0.0, -0.5]))
        assert limit_angles(elbow, ahead)[1] == pytest.approx(0.5, abs=1e-9)


def test_the_clip_decides_the_bend_axis_of_an_elbow() -> None:
    # an elbow that folds upward in this clip, about +X
    elbow = limits_of(bent("LeftForeArm", (1.0, 0.0, 0.0), 100.0), "left_elbow")
    fold = rotations.from_rotation_vector(np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(limit_angles(elbow, fold), [0.0, 1.0, 0.0], atol=1e-6)


def test_overextension_is_allowed_as_far_as_the_clip_goes() -> None:
    angles = np.radians(np.linspace(-8.0, 60.0, 60))
    character = fit(motion(person(), {"LeftLeg": angles[:, None] * np.array([0.0, 1.0, 0.0])}))
    assert np.degrees(limits_of(character, "left_knee").bend_lower) == pytest.approx(-10.5, abs=0.11)


def test_every_pose_of_a_wild_clip_is_inside() -> None:
    rng = np.random.default_rng(5)
    joints = ("Spine", "Chest", "Neck", "LeftArm", "LeftForeArm", "RightUpLeg", "RightLeg", "RightFoot", "LeftHand")
    steps = np.linspace(0.0, 2.0 * np.pi, 60)[:, None]
    clip = motion(person(), {j: 1.3 * np.sin(steps + rng.uniform(0, 6, 3)) * rng.normal(size=3) for j in joints})
    character = fit(clip)
    for body in character.bodies[1:]:
        assert body.limits is not None
        local = clip.rotations[:, body.joint]
        if clip.skeleton.names[int(clip.skeleton.parents[body.joint])].endswith("HipJoint"):
            continue
        limits = body.limits
        angles = limit_angles(limits, local)
        lower = np.array([limits.twist_lower, limits.bend_lower, limits.side_lower])
        upper = np.array([limits.twist_upper, limits.bend_upper, limits.side_upper])
        assert np.degrees(angles - lower).min() >= 2.0, body.name
        assert np.degrees(upper - angles).min() >= 2.0, body.name


def test_a_hinge_keeps_its_axis_and_takes_the_clip_in() -> None:
    figure = person(hinges={"LeftLeg": (0.0, 1.0, 0.0)})
    angles = np.radians(np.linspace(-5.0, 165.0, 60))
    character = fit(motion(figure, {"LeftLeg": angles[:, None] * np.array([0.0, 1.0, 0.0])}))
    body = character.bodies[character.roles["left_knee"]]
    assert body.kind == "hinge"
    assert body.limits is not None
    np.testing.assert_array_equal(body.axis, [0.0, 1.0, 0.0])
    assert np.degrees(body.limits.twist_upper) == pytest.approx(167.5, abs=0.01)
    assert np.degrees(body.limits.twist_lower) <= -7.5
    assert character.nv == fit(person()).nv - 2


def necked(count: int, length: float = 0.1) -> Skeleton:
    """A person whose neck and head are so many joints, with a neck so long [m]."""
    names = ["Head", "Neck", "Neck1", "Neck2"][:count][::-1]
    before = [row for row in PERSON if row[0] not in ("Neck", "Head")]
    parents = ["Chest", *names]
    rows = [(name, parents[i], (0.0, 0.0, 0.25 if i == 0 else length / (count - 1))) for i, name in enumerate(names)]
    return skeleton((*before[:3], *rows, *before[3:]), PERSON_ENDS)


@pytest.mark.parametrize(("count", "bend"), [(1, 60.0), (2, 32.5), (4, 16.3)])
def test_joints_of_a_neck_share_one_range(count: int, bend: float) -> None:
    """Each had ±60°, so a neck of three folded the head under the chest in falls, by up to 180°."""
    character = fit(motion(necked(count), {}))
    neck = next(limb for limb in character.limbs if limb.kind == "neck")
    assert len(neck.bodies) == count
    for body in neck.bodies:
        limits = character.bodies[body].limits
        assert limits is not None
        assert np.degrees([limits.bend_lower, limits.bend_upper]) == pytest.approx([-bend, bend], abs=0.11)


def neck_bends(skeleton: Skeleton) -> list[float]:
    """How far the joints of its neck may bend [deg]."""
    character = fit(motion(skeleton, {}))
    neck = next(limb for limb in character.limbs if limb.kind == "neck")
    limits = [limits for body in neck.bodies if (limits := character.bodies[body].limits) is not None]
    assert len(limits) == len(neck.bodies)
    return [float(np.degrees(each.bend_upper)) for each in limits]


def test_a_longer_neck_bends_more() -> None:
    """A swan's neck had the range of a person's; now it grows with the length, up to that of each joint alone."""
    one = neck_bends(necked(4, 0.2))  # a person's, at its longest
    long, longer, longest = (neck_bends(necked(4, length)) for length in (0.5, 1.0, 4.0))
    assert one == pytest.approx([16.3] * 4, abs=0.11)
    assert 1.3 * one[0] < long[0] < 0.8 * longer[0]
    assert longer == pytest.approx([longer[0]] * 4)
    assert longest == pytest.approx([60.0] * 4, abs=0.11)
    assert neck_bends(necked(2, 0.4))[0] == pytest.approx(2.0 * neck_bends(necked(4, 0.4))[0], abs=0.2)
