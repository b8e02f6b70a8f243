"""Contacts, floor, glitches, travel, loops and flights of motions made by hand, where the answer is known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from poise import phases
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion, Source
from poise.core.skeleton import EndSite, Skeleton
from poise.phases.points import body_points
from tests.clips import sample_clip

Array = npt.NDArray[np.float64]


def biped() -> Skeleton:
    """A pelvis with two legs, a spine with two arms; legs of 0.82 m to the ankle, facing +x."""
    joints = {
        "Hips": (-1, (0.0, 0.0, 0.9)),
        "LeftUpLeg": (0, (0.0, 0.1, 0.0)),
        "LeftLeg": (1, (0.0, 0.0, -0.41)),
        "LeftFoot": (2, (0.0, 0.0, -0.41)),
        "RightUpLeg": (0, (0.0, -0.1, 0.0)),
        "RightLeg": (4, (0.0, 0.0, -0.41)),
        "RightFoot": (5, (0.0, 0.0, -0.41)),
        "Chest": (0, (0.0, 0.0, 0.4)),
        "LeftArm": (7, (0.0, 0.2, 0.0)),
        "RightArm": (7, (0.0, -0.2, 0.0)),
        "LeftThumb": (8, (0.0, 0.6, 0.0)),
    }
    ends = [EndSite(3, np.array([0.12, 0.0, -0.08])), EndSite(6, np.array([0.12, 0.0, -0.08]))]
    ends += [EndSite(7, np.array([0.0, 0.0, 0.2])), EndSite(9, np.array([0.0, -0.6, 0.0]))]
    ends += [EndSite(10, np.array([0.0, 0.03, 0.0]))]
    return Skeleton(
        tuple(joints),
        np.array([p for p, _ in joints.values()], dtype=np.int64),
        np.array([o for _, o in joints.values()]),
        np.tile(rotations.IDENTITY, (len(joints), 1)),
        tuple(ends),
    )


def turned(axis: tuple[float, float, float], angle: Array) -> Array:
    return rotations.from_rotation_vector(np.asarray(angle)[..., None] * np.array(axis))


def walk(
    *,
    seconds: float = 4.0,
    fps: float = 60.0,
    speed: float = 1.2,
    heading: float = 0.0,
    curve: float = 0.0,
    floor: float = 0.0,
) -> Motion:
    """Legs that swing once a second under a body that goes at `speed`, turning by `curve` [rad/s]."""
    skeleton = biped()
    times = np.arange(round(seconds * fps) + 1) / fps
    phase = 2.0 * np.pi * times
    translations = np.tile(skeleton.offsets, (len(times), 1, 1))
    turn = heading + curve * times
    step = speed * np.stack([np.cos(turn), np.sin(turn)], axis=1) / fps
    translations[:, 0, :2] = np.cumsum(step, axis=0) - step[0]
    translations[:, 0, 2] += floor + 0.01 * np.cos(2.0 * phase)
    poses = np.tile(rotations.IDENTITY, (len(times), skeleton.joint_count, 1))
    poses[:, 0] = turned((0.0, 0.0, 1.0), turn)
    for side, hip, arm in ((0.0, 1, 9), (np.pi, 4, 8)):
        leg = phase + side - 0.5 * np.sin(phase + side)  # stance lasts longer than swing
        poses[:, hip] = turned((0.0, 1.0, 0.0), 0.4 * np.sin(leg))
        poses[:, hip + 1] = turned((0.0, 1.0, 0.0), 0.5 * (1.0 - np.cos(leg)))
        poses[:, arm] = turned((0.0, 1.0, 0.0), 0.3 * np.sin(phase + side))
    return Motion(skeleton, times, translations, poses)


def stand(*, seconds: float = 2.0, fps: float = 60.0) -> Motion:
    skeleton = biped()
    times = np.arange(round(seconds * fps) + 1) / fps
    translations = np.tile(skeleton.offsets, (len(times), 1, 1))
    return Motion(skeleton, times, translations, np.tile(rotations.IDENTITY, (len(times), skeleton.joint_count, 1)))


def jumps(*, fps: float = 60.0, gravity: float = 9.81, count: int = 2) -> Motion:
    """Stand, fly for half a second, land; `count` times."""
    still = stand(seconds=2.0 * count, fps=fps)
    phase = still.times % 2.0
    flight = np.clip((phase - 1.0) / 0.5, 0.0, 1.0)
    translations = still.translations.copy()
    translations[:, 0, 2] += 0.5 * gravity * 0.25 * flight * (1.0 - flight)
    crouch = 0.3 * np.sin(np.pi * np.clip(phase / 1.0, 0.0, 1.0)) * (phase < 1.0)
    poses = still.rotations.copy()
    poses[:, 8] = turned((1.0, 0.0, 0.0), crouch)
    return replace(still, translations=translations, rotations=poses)


# contacts


def test_contacts_are_low_and_slow() -> None:
    height = np.array([[0.2, 0.02, 0.02, 0.02, 0.02, 0.2]]).T
    velocity = np.zeros((6, 1, 3))
    velocity[3, 0, 0] = 2.0
    flags = phases.contact_flags(
        np.zeros((6, 1, 3)), velocity, height, height_limit=0.03, speed_limit=0.35, min_frames=1
    )
    assert flags[:, 0].tolist() == [False, True, True, False, True, False]


def test_contacts_have_hysteresis_and_forget_noise() -> None:
    height = np.full((40, 2), 0.02)
    height[10:14, 0] = 0.04  # between the limit and 1.5 times it: still touching
    height[:, 1] = 0.2
    height[20, 1] = 0.0  # one frame alone
    height[30:36, 1] = 0.04  # never under the limit itself
    zero = np.zeros((40, 2, 3))
    flags = phases.contact_flags(zero, zero, height, height_limit=0.03, speed_limit=0.35)
    assert flags[:, 0].all()
    assert not flags[:, 1].any()
    height[25, 0] = 0.2  # a gap of one frame
    assert phases.contact_flags(zero, zero, height, height_limit=0.03, speed_limit=0.35)[:, 0].all()
    height[25:28, 0] = 0.2
    assert phases.contact_flags(zero, zero, height, height_limit=0.03, speed_limit=0.35)[:, 0].sum() == 37


def test_contact_limits_follow_size_and_speed() -> None:
    still, running = np.zeros((3, 3)), np.tile([5.0, 0.0, 0.0], (3, 1))
    height, speed = phases.contact_limits(still, 0.82)
    assert (height, speed.max()) == (pytest.approx(0.03), pytest.approx(0.35))
    assert speed.shape == (3, 1)
    assert phases.contact_limits(still, 3.28)[0] == pytest.approx(0.12)
    assert phases.contact_limits(still, 3.28)[1].max() == pytest.approx(0.7)
    assert phases.contact_limits(running, 0.82)[1].min() == pytest.approx(1.0)


def test_contact_arrays_must_agree() -> None:
    with pytest.raises(InvalidValue, match="disagree"):
        phases.contact_flags(
            np.zeros((3, 2, 3)), np.zeros((3, 2, 3)), np.zeros((3, 1)), height_limit=0.1, speed_limit=1.0
        )


def test_times_to_contact() -> None:
    flags = np.array([[False, False], [True, False], [False, False], [True, False]])
    times = np.array([0.0, 0.1, 0.3, 0.6])
    until = phases.times_to_contact(flags, times)
    np.testing.assert_allclose(until[:, 0], [0.1, 0.0, 0.3, 0.0])
    assert np.isinf(until[:, 1]).all()


def test_time_to_contact_of_a_stream() -> None:
    height, velocity = np.array([0.1, 0.1, 0.1, 0.0, -0.1, 5.0]), np.array([-1.0, 1.0, 0.0, 1.0, 0.0, -1.0])
    np.testing.assert_allclose(phases.time_to_contact_estimate(height, velocity, 0.4), [0.1, 0.4, 0.4, 0.0, 0.0, 0.4])


# floor


@pytest.mark.parametrize("floor", [0.0, -3.0, 1.5])
def test_floor_moves_with_the_clip(floor: float) -> None:
    base = phases.find_floor(walk())
    moved = phases.find_floor(walk(floor=floor))
    assert moved.value - base.value == pytest.approx(floor, abs=1e-9)
    assert moved.confidence == base.confidence


def test_floor_of_standing() -> None:
    found = phases.find_floor(stand())
    assert found.value == pytest.approx(0.9 - 0.82 - 0.08, abs=1e-12)
    assert found.confidence > 0.95


def test_floor_of_jumps_is_where_they_land() -> None:
    assert phases.find_floor(jumps()).value == pytest.approx(0.0, abs=1e-6)


def test_floor_of_a_capture_that_drifts_is_the_lowest_level_it_stands_on() -> None:
    still = stand()
    raised = still.translations.copy()
    raised[:, 0, 2] += 0.1 * np.clip((1.3 - still.times) / 0.2, 0.0, 1.0)  # for 1.1 s 10 cm higher than for 0.7 s
    found = phases.find_floor(replace(still, translations=raised))
    assert found.value == pytest.approx(0.0, abs=1e-6)
    assert found.confidence < phases.find_floor(still).confidence


def test_floor_is_not_where_the_joints_of_a_body_lie() -> None:
    still = stand()
    poses, places = still.rotations.copy(), still.translations.copy()
    lies = still.times > 1.2  # on its back, its spine 10 cm below the soles of feet that stand
    poses[lies, 0] = turned((0.0, 1.0, 0.0), np.full(int(lies.sum()), -0.5 * np.pi))
    places[lies, 0, 2] = -0.1
    floor = phases.find_floor(replace(still, translations=places, rotations=poses)).value
    assert floor == pytest.approx(0.0, abs=1e-6)


def test_leg_length_is_thigh_and_shank() -> None:
    assert phases.leg_length(biped()) == pytest.approx(0.82)


def test_leg_length_is_known_in_a_rest_pose_that_lies() -> None:
    """A file that is Z up may lie in its rest pose, and one whose bones follow their own axes has no pose at all."""
    back = rotations.from_rotation_vector(np.array([0.0, math.pi / 2, 0.0]))
    lying = replace(biped(), offsets=rotations.rotate(back, biped().offsets))
    assert phases.leg_length(lying) == pytest.approx(0.82)
    lengths = np.linalg.norm(biped().offsets, axis=1)
    along = replace(biped(), offsets=lengths[:, None] * np.array([0.0, 0.0, 1.0]))
    assert phases.leg_length(along) == pytest.approx(0.82)


def test_leg_length_is_that_of_legs_with_many_toes_and_with_a_helper_on_the_shank() -> None:
    named = {name: k for k, name in enumerate(biped().names)}
    names, parents, offsets = list(biped().names), biped().parents.tolist(), biped().offsets.tolist()
    for side in ("Left", "Right"):
        for toe in range(5):
            for bone in range(3):
                parents.append(named[f"{side}Foot"] if bone == 0 else len(names) - 1)
                names.append(f"{side}Toe{toe}{bone}")
                offsets.append([0.05, 0.02 * (toe - 2), -0.03])
        names.append(f"{side}Calf")
        parents.append(named[f"{side}Leg"])
        offsets.append([-0.05, 0.0, -0.1])
    turned = np.tile(rotations.IDENTITY, (len(names), 1))
    toes = Skeleton(tuple(names), np.array(parents), np.array(offsets), turned, biped().end_sites)
    assert phases.leg_length(toes) == pytest.approx(0.82)


# glitches


def spoiled(motion: Motion, frames: slice, joint: int, degrees: float) -> Motion:
    poses = motion.rotations.copy()
    poses[frames, joint] = rotations.multiply(
        poses[frames, joint], rotations.from_rotation_vector(np.radians([degrees, 0.0, 0.0]))
    )
    return replace(motion, rotations=poses)


def test_a_clean_motion_has_no_glitch() -> None:
    for motion in (walk(), walk(fps=24.0), walk(fps=240.0), walk(speed=0.0), stand(), jumps()):
        assert phases.find_glitches(motion) == ()
        assert not phases.glitch_frames(motion).any()


@pytest.mark.parametrize(("fps", "cycles"), [(30.0, 2.0), (60.0, 4.0), (120.0, 8.0)])
def test_a_frantic_motion_is_no_glitch(fps: float, cycles: float) -> None:
    motion = walk(fps=fps)
    poses = motion.rotations.copy()
    poses[:, 9] = turned((0.0, 1.0, 0.0), 1.2 * np.sin(2.0 * np.pi * cycles * motion.times))
    poses[:, 5] = turned((0.0, 1.0, 0.0), 2.4 * np.exp(-(((motion.times - 2.0) * cycles / 0.3) ** 2)))  # a kick
    assert phases.find_glitches(replace(motion, rotations=poses)) == ()


@pytest.mark.parametrize("fps", [60.0, 120.0])
@pytest.mark.parametrize("joint", [0, 2, 8])
def test_a_flip_is_found(fps: float, joint: int) -> None:
    (glitch,) = phases.find_glitches(spoiled(walk(fps=fps), slice(100, None), joint, 150.0))
    assert (glitch.kind, glitch.joint, glitch.frame, glitch.last) == ("flip", joint, 99, 100)
    assert glitch.size == pytest.approx(math.radians(150.0), abs=0.1)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_spike_is_found(width: int) -> None:
    motion = spoiled(walk(), slice(100, 100 + width), 2, 80.0)
    (glitch,) = phases.find_glitches(motion)
    assert (glitch.kind, glitch.joint, glitch.frame, glitch.last) == ("spike", 2, 100, 99 + width)
    flagged = np.flatnonzero(phases.glitch_frames(motion))
    assert flagged.min() == 99
    assert flagged.max() == 100 + width


def test_a_small_snap_is_found_only_where_it_stands_out() -> None:
    calm = spoiled(stand(), slice(None), 8, -70.0)  # arms down: standing in the rest pose would be a rest pose
    calm = spoiled(calm, slice(None), 9, 70.0)
    assert [g.kind for g in phases.find_glitches(spoiled(calm, slice(60, None), 2, 35.0))] == ["flip"]
    assert phases.find_glitches(spoiled(walk(), slice(60, None), 2, 12.0)) == ()


def test_a_teleport_and_a_displaced_frame_are_found() -> None:
    motion = walk()
    translations = motion.translations.copy()
    translations[100:, 0, 1] += 0.5
    (glitch,) = phases.find_glitches(replace(motion, translations=translations))
    assert (glitch.kind, glitch.frame, glitch.size) == ("jump", 99, pytest.approx(0.5, abs=0.01))
    translations = motion.translations.copy()
    translations[100:102, 0, 2] += 0.5
    (glitch,) = phases.find_glitches(replace(motion, translations=translations))
    assert (glitch.kind, glitch.frame, glitch.last) == ("spike", 100, 101)


def test_frozen_frames_are_found_and_a_hold_is_not() -> None:
    motion = walk()
    index = np.arange(motion.frame_count)
    index[100:106] = 99
    frozen = replace(motion, translations=motion.translations[index], rotations=motion.rotations[index])
    glitch, leap = phases.find_glitches(frozen)
    assert (glitch.kind, glitch.frame, glitch.last) == ("frozen", 99, 105)
    assert (leap.kind, leap.frame) == ("jump", 105)
    assert phases.glitch_frames(frozen)[99:106].all()
    # ease to a stop, hold, ease on
    ease = np.interp(np.arange(motion.frame_count), [0, 80, 160, 240], [0.0, 1.0, 1.0, 2.0])
    ease[:81] = 1.0 - (1.0 - np.linspace(0.0, 1.0, 81)) ** 2
    ease[160:] = 1.0 + np.linspace(0.0, 1.0, 81) ** 2
    poses = motion.rotations.copy()
    poses[:, 1:] = rotations.IDENTITY
    poses[:, 8] = turned((1.0, 0.0, 0.0), ease)
    held = replace(motion, rotations=poses, translations=np.tile(motion.translations[:1], (241, 1, 1)))
    assert phases.find_glitches(held) == ()


def t_posed(count: int, motion: Motion, *, ramp: int = 0) -> Motion:
    """`count` rest frames, then `ramp` frames that run into the motion at once."""
    poses, moved = motion.rotations.copy(), motion.translations.copy()
    poses[:, 8] = rotations.multiply(turned((1.0, 0.0, 0.0), np.full(len(poses), -1.3)), poses[:, 8])
    poses[:, 9] = rotations.multiply(turned((1.0, 0.0, 0.0), np.full(len(poses), 1.3)), poses[:, 9])
    for k in range(count + ramp):
        share = max(0.0, (k - count + 1) / (ramp + 1.0))
        step = rotations.to_rotation_vector(poses[count + ramp])
        poses[k] = rotations.from_rotation_vector(share * step)
        moved[k] = motion.skeleton.offsets
    return replace(motion, rotations=poses, translations=moved)


@pytest.mark.parametrize(("count", "ramp"), [(1, 0), (5, 0), (1, 2)])
def test_a_rest_pose_in_front_is_counted(count: int, ramp: int) -> None:
    motion = t_posed(count, walk(fps=120.0), ramp=ramp)
    assert phases.leading_rest_frames(motion) == count + ramp
    first = phases.find_glitches(motion)[0]
    assert (first.kind, first.frame, first.last) == ("t-pose", 0, count + ramp - 1)
    assert phases.leading_rest_frames(t_posed(0, walk(fps=120.0))) == 0


def test_a_hand_that_closes_leaves_no_rest_pose_in_front() -> None:
    """The rest pose of a model may be the first pose of its clip, and go on into it."""
    body = sample_clip("walk")
    hand, fingers = body.skeleton.names.index("LeftHand"), 12
    skeleton = replace(
        body.skeleton,
        names=(*body.skeleton.names, *(f"finger{k}" for k in range(fingers))),
        parents=np.append(body.skeleton.parents, np.full(fingers, hand)),
        offsets=np.concatenate([body.skeleton.offsets, np.full((fingers, 3), 0.02)]),
        rest_rotations=np.concatenate([body.rotations[0], np.tile(rotations.IDENTITY, (fingers, 1))]),
    )
    closed = turned((1.0, 0.0, 0.0), np.where(np.arange(body.frame_count) < 5, 0.0, 1.4))
    motion = Motion(
        skeleton,
        body.times,
        np.concatenate([body.translations, np.full((body.frame_count, fingers, 3), 0.02)], axis=1),
        np.concatenate([body.rotations, np.tile(closed[:, None], (1, fingers, 1))], axis=1),
    )
    assert phases.leading_rest_frames(motion) == 0


def test_a_thumb_does_not_stop_the_body() -> None:
    motion = spoiled(walk(), slice(100, None), 10, 170.0)
    assert [g.kind for g in phases.find_glitches(motion)] == ["flip"]
    assert not phases.glitch_frames(motion).any()
    assert phases.glitch_frames(motion, joints=[10]).any()
    assert not phases.glitch_frames(spoiled(walk(), slice(100, None), 2, 150.0), joints=[10]).any()


# travel


@pytest.mark.parametrize("heading", [0.0, 2.0, -3.0])
def test_direction_and_facing(heading: float) -> None:
    motion = walk(heading=heading)
    assert math.remainder(phases.direction_of_travel(motion) - heading, 2 * math.pi) == pytest.approx(0.0, abs=1e-6)
    assert math.remainder(phases.facing(motion) - heading, 2 * math.pi) == pytest.approx(0.0, abs=0.05)
    assert not phases.is_in_place(motion)


def test_who_goes_nowhere_faces_somewhere() -> None:
    assert phases.direction_of_travel(stand()) == pytest.approx(0.0, abs=1e-9)


def test_who_comes_back_went_somewhere() -> None:
    motion = walk(seconds=6.0, heading=0.5)
    there = np.concatenate([np.arange(181), np.arange(180)[::-1]])
    back = replace(motion, translations=motion.translations[there])
    assert phases.direction_of_travel(back) == pytest.approx(0.5, abs=1e-6)


def test_a_treadmill_is_seen() -> None:
    motion = walk(speed=0.0, heading=0.9)
    assert phases.is_in_place(motion)
    velocity = phases.in_place_velocity(motion)
    assert math.atan2(-velocity[1], -velocity[0]) == pytest.approx(0.9, abs=0.02)
    assert phases.direction_of_travel(motion) == pytest.approx(0.9, abs=0.02)
    assert not phases.is_in_place(stand())
    assert not phases.is_in_place(jumps())


@pytest.mark.parametrize("stance", [0.5, 0.15])
def test_a_treadmill_is_seen_though_trunk_and_feet_hang_on_an_armature_at_the_floor(stance: float) -> None:
    offsets = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.9], [0.0, 0.1, 0.05], [0.0, -0.1, 0.05]])
    names, unturned = ("Root", "Body", "Foot.L", "Foot.R"), np.tile([1.0, 0.0, 0.0, 0.0], (60, 4, 1))
    skin = np.array([0.0, 9.0, 5.0, 5.0])
    skeleton = Skeleton(names, np.array([-1, 0, 0, 0]), offsets, unturned[0], skin=skin)
    times = np.arange(60) / 30.0
    translations = np.tile(offsets, (60, 1, 1))
    for foot, phase in ((2, 0.0), (3, 0.5)):
        share = (times + phase) % 1.0
        swing = (share - stance) / (1.0 - stance)  # as far ahead as it slid back
        translations[:, foot, 0] = stance * np.where(share < stance, 0.5 - share / stance, swing - 0.5)
        translations[:, foot, 2] += np.where(share < stance, 0.0, 0.1 * np.sin(np.pi * swing))
    motion = Motion(skeleton, times, translations, unturned)
    assert phases.in_place_velocity(motion) == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)
    unknown = replace(skeleton, skin=None)  # a joint that stays and bears trunk and feet is enough
    assert phases.in_place_velocity(replace(motion, skeleton=unknown)) == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)
    body = replace(skeleton, skin=np.array([9.0, 9.0, 5.0, 5.0]))  # the lowest joint is one of the body, and stays
    assert phases.in_place_velocity(replace(motion, skeleton=body)) == pytest.approx(0.0)
    small = replace(motion, skeleton=replace(skeleton, offsets=0.002 * offsets), translations=0.002 * translations)
    assert phases.in_place_velocity(small) == pytest.approx([-0.002, 0.0, 0.0], abs=1e-6)  # 2 mm tall


# loops


@pytest.mark.parametrize("last", [60, 59])
def test_a_cycle_loops_with_or_without_its_last_frame(last: int) -> None:
    motion = walk(heading=0.4).frames(np.arange(last + 1))
    loop = phases.find_loop(motion)
    assert loop.is_loop
    assert phases.loops(motion)
    assert loop.repeats_first == (last == 60)
    np.testing.assert_allclose(loop.offset, [1.2 * math.cos(0.4), 1.2 * math.sin(0.4), 0.0], atol=1e-9)
    whole = walk(heading=0.4, seconds=3.0)
    again = phases.repeat(motion, 3)
    count = again.frame_count
    np.testing.assert_allclose(again.times, whole.times[:count], atol=1e-9)
    np.testing.assert_allclose(again.world[0], whole.world[0][:count], atol=6e-3 if last == 59 else 1e-9)


def test_a_cycle_on_a_curve_goes_round() -> None:
    motion = walk(curve=0.8).frames(np.arange(61))
    again, whole = phases.repeat(motion, 4), walk(curve=0.8)
    assert phases.find_loop(motion).turn == pytest.approx(0.8)
    np.testing.assert_allclose(again.world[0], whole.world[0], atol=1e-9)


def test_ends_that_differ_a_little_are_brought_together_for_whoever_asks() -> None:
    motion = walk().frames(np.arange(61))
    turned = motion.rotations.copy()
    bend = rotations.from_rotation_vector(np.array([0.0, np.radians(12.0), 0.0]))
    turned[30:, 1:] = rotations.multiply(turned[30:, 1:], np.broadcast_to(bend, turned[30:, 1:].shape))
    open_ended = replace(motion, rotations=turned)
    assert not phases.loops(open_ended)
    twice = phases.repeat(open_ended, 2)
    step = rotations.angle_between(twice.rotations[1:], twice.rotations[:-1])[55:65, 1:]
    assert step.max() < np.radians(6.0)  # the seam is blended, not jumped over


def test_what_does_not_close_does_not_loop() -> None:
    half = walk().frames(np.arange(31))
    assert not phases.loops(half)
    with pytest.raises(InvalidValue, match="does not loop"):
        phases.repeat(half, 2)
    with pytest.raises(InvalidValue, match="at least 1"):
        phases.repeat(walk().frames(np.arange(61)), 0)


def test_the_file_has_a_say_in_looping() -> None:
    cycle = walk().frames(np.arange(61))
    source = Source("walk.bvh", "bvh", "", 1.0, "z", 60.0)
    assert not phases.loops(replace(cycle, source=replace(source, loop=False)))
    rough = replace(walk().frames(np.arange(58)), source=replace(source, loop=True))
    assert phases.loops(rough)
    again = phases.repeat(rough, 3)
    step = rotations.angle_between(again.rotations[1:], again.rotations[:-1])
    assert step.max() < 1.5 * rotations.angle_between(rough.rotations[1:], rough.rotations[:-1]).max()  # no jump


def test_ends_that_do_not_quite_meet_are_made_to() -> None:
    cycle = walk().frames(np.arange(61))
    translations, poses = cycle.translations.copy(), cycle.rotations.copy()
    translations[-10:, 0, 2] += 0.03 * np.linspace(0.0, 1.0, 10)
    poses[-1, 8] = rotations.multiply(poses[-1, 8], rotations.from_rotation_vector(np.radians([0.5, 0.0, 0.0])))
    nearly = replace(cycle, translations=translations, rotations=poses)
    assert phases.find_loop(nearly).repeats_first
    again = phases.repeat(nearly, 3)
    assert again.frame_count == 181
    rise = np.abs(np.diff(again.translations[:, 0, 2]))
    assert rise[50:70].max() < 1.5 * rise[:50].max()  # the 3 cm are not one leap at the seam
    np.testing.assert_allclose(again.translations[60, 0, 2], cycle.translations[0, 0, 2], atol=1e-9)
    np.testing.assert_array_equal(again.rotations[-1, 8], poses[-1, 8])


# flights


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
def test_flights_and_their_gravity(fps: float) -> None:
    found = phases.flights(jumps(fps=fps))
    assert len(found) == 2
    for flight, start in zip(found, (1.0, 3.0)):
        assert flight.gravity == pytest.approx(9.81, rel=1e-6)
        assert flight.residual < 1e-9
        assert start <= flight.start_s < start + 0.1
        assert start + 0.4 < flight.end_s <= start + 0.5
        assert flight.frames == (round(flight.start_s * fps), round(flight.end_s * fps))


def test_standing_and_walking_do_not_fly() -> None:
    assert phases.flights(stand()) == ()
    assert phases.flights(walk()) == ()


def test_a_dancer_on_her_toes_does_not_fly() -> None:
    motion = stand(seconds=4.0)
    translations = motion.translations.copy()
    translations[120:180, 0, 2] += 0.1  # a second at 10 cm, quite still
    assert phases.flights(replace(motion, translations=translations)) == ()


def test_a_wrong_frame_rate_is_seen() -> None:
    right = phases.implied_fps(jumps(fps=60.0))
    assert (right.fps, right.confidence) == (pytest.approx(60.0), 0.0)
    motion = jumps(fps=60.0)
    twice = phases.implied_fps(replace(motion, times=0.5 * motion.times))
    assert twice.fps == 60.0
    assert twice.confidence > 0.75
    half = phases.implied_fps(replace(motion, times=2.0 * motion.times))
    assert half.fps == 60.0
    assert phases.implied_fps(jumps(gravity=5.0)).confidence == 0.0  # an animator's jump
    assert phases.implied_fps(walk()).confidence == 0.0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_few_frames_are_enough_to_be_asked_about(count: int) -> None:
    motion = walk().frames(np.arange(count))
    assert phases.find_glitches(motion) == ()
    assert phases.flights(motion) == ()
    assert not phases.loops(motion)
    assert not phases.is_in_place(motion)
    assert math.isfinite(phases.find_floor(motion).value)
    assert math.isfinite(phases.direction_of_travel(motion))
    assert phases.implied_fps(motion).confidence == 0.0


Array3 = npt.NDArray[np.float64]


def _toy(*, skin: dict[str, float], feet: Array3 | None = None, lift: float = 0.15) -> Motion:
    """A figure of an armature, a trunk with head and tail, and two legs, 40 frames of it at 20 Hz.

    Its feet run back under it at 1 m/s, half a cycle apart, and are lifted as they swing; or its tail alone swings, if
    `feet` is given as the tail's way.
    """
    names = ("root", "hips", "chest", "head", "tail", "thigh.l", "foot.l", "thigh.r", "foot.r", "pole")
    parents = (-1, 0, 1, 2, 1, 1, 5, 1, 7, 0)
    up = np.zeros((10, 3))
    up[[1, 2, 3, 4, 5, 6, 7, 8, 9]] = [
        (0, 0, 0.9), (0, 0, 0.3), (0, 0, 0.3), (0, -0.3, -0.1), (0.1, 0, 0), (0, 0, -0.85), (-0.1, 0, 0), (0, 0, -0.85),
        (0, 2.0, 0.4),
    ]  # fmt: skip
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (10, 1))
    shown = np.array([skin.get(name, 0.0) for name in names]) if skin else None
    skeleton = Skeleton(names, np.array(parents), up, rest, skin=shown)
    phase = np.arange(40) / 20.0
    moved = np.tile(up, (40, 1, 1))
    for joint, lag in ((6, 0.0), (8, 0.5)) if feet is None else ():
        turn = (phase + lag) % 1.0
        moved[:, joint, 1] += np.where(turn < 0.6, 0.3 - turn, 0.3 * np.cos(np.pi * (1.0 - turn) / 0.4))
        moved[:, joint, 2] += np.where(turn < 0.6, 0.0, lift * np.sin(np.pi * (turn - 0.6) / 0.4))
    if feet is not None:
        moved[:, 4] += feet
        moved[:, 1, 2] += 1.0
    return Motion(skeleton, phase, moved, np.tile(rest, (40, 1, 1)))


ALL: dict[str, float] = dict.fromkeys(("hips", "chest", "head", "tail", "thigh.l", "foot.l", "thigh.r", "foot.r"), 30.0)


def test_controls_are_told_by_the_skin_of_the_whole_figure() -> None:
    whole = phases.body_points(_toy(skin=ALL))[1].tolist()
    assert whole == [1, 2, 3, 4, 5, 6, 7, 8]  # the pelvis is the hips, and no pole belongs to the body
    head = phases.body_points(_toy(skin={"head": 500.0}))[1].tolist()
    assert {6, 8} <= set(head), "the skin of a head says nothing of the feet"


def test_feet_slide_back_and_a_tail_does_not() -> None:
    assert phases.is_in_place(_toy(skin=ALL))
    swing = np.zeros((40, 3))
    swing[:, 1] = 0.3 * np.sin(np.linspace(0.0, 4.0 * np.pi, 40))
    swing[:, 2] = -1.2 + 0.1 * np.cos(np.linspace(0.0, 4.0 * np.pi, 40))  # lowest, as a bee's, below its legs
    assert not phases.is_in_place(_toy(skin=ALL, feet=swing))


def _lunge(quick: int) -> Motion:
    """The same figure; its body goes ahead in some of 40 frames and slowly comes back, its feet with it."""
    motion = _toy(skin=ALL, feet=np.zeros((40, 3)))
    to_and_fro = np.concatenate([np.linspace(0.0, 0.6, quick, endpoint=False), np.linspace(0.6, 0.0, 40 - quick)])
    moved = motion.translations.copy()
    moved[:, 1, 1] += to_and_fro
    moved[:, 1, 2] -= 1.0 + 0.02 * np.sin(np.linspace(0.0, 4.0 * np.pi, 40))
    return replace(motion, translations=moved)


def test_a_body_that_lunges_and_comes_back_walks_nowhere() -> None:
    assert not phases.is_in_place(_lunge(9))


def test_a_body_that_lunges_over_feet_that_stand_walks_nowhere() -> None:
    motion = _toy(skin=ALL)
    moved = motion.translations.copy()
    moved[:, 8] = moved[0, 8]  # one foot stands, the other runs
    assert not phases.is_in_place(replace(motion, translations=moved))


def test_a_cycle_drawn_so_quickly_that_it_looks_like_glitches_runs_on_the_spot(monkeypatch: pytest.MonkeyPatch) -> None:
    assert phases.is_in_place(_toy(skin=ALL))
    monkeypatch.setattr("poise.phases.travel.glitch_frames", lambda motion: np.arange(motion.frame_count) > 6)
    assert phases.is_in_place(_toy(skin=ALL))


@pytest.mark.parametrize("dip", [0.02, 0.04, 0.06])
def test_toes_that_dip_below_the_stance_as_they_swing_are_not_what_stands(dip: float) -> None:
    slide = phases.in_place_velocity(_toy(skin=ALL, lift=-dip))
    assert slide == pytest.approx([0.0, -1.0, 0.0], abs=0.05)


def test_a_figure_with_thick_shoes_that_sits_on_a_seat_is_not_on_the_floor() -> None:
    toy = _toy(skin={name: share for name, share in ALL.items() if name != "tail"})
    names, parents = (*toy.skeleton.names, "tip.l", "tip.r"), np.concatenate([toy.skeleton.parents, [6, 8]])
    offsets = np.concatenate([toy.skeleton.offsets, [(0.0, 0.1, 0.0), (0.0, 0.1, 0.0)]])  # toes 15 cm above the root
    offsets[[6, 8], 2] = 0.15 - 0.9
    moved = np.tile(offsets, (40, 1, 1))
    moved[:, [6, 8]] = (0.0, -0.8, -0.1)  # legs ahead, on a seat
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (12, 1))
    assert toy.skeleton.skin is not None
    skin = np.append(toy.skeleton.skin, [1.0, 1.0])
    sits = Motion(Skeleton(names, parents, offsets, rest, skin=skin), toy.times, moved, np.tile(rest, (40, 1, 1)))
    assert phases.find_floor(sits).value == pytest.approx(0.15, abs=1e-6)


def test_a_control_below_the_feet_has_no_leg() -> None:
    toy = _toy(skin={}).skeleton
    names, parents = (*toy.names, "mark", "mark end"), np.concatenate([toy.parents, [0, 10]])
    offsets = np.concatenate([toy.offsets, [(0.0, 0.0, 0.01), (0.0, 0.0, -0.02)]])
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (12, 1))
    assert phases.leg_length(Skeleton(names, parents, offsets, rest)) == pytest.approx(phases.leg_length(toy))


def test_a_skin_that_stands_on_zero_at_rest_has_its_floor_there() -> None:
    """Soles are below the joints; a body that rests on a seat or below height 0 says otherwise."""
    still = stand()
    low = float(min(place[2] for place in body_points(still)[0][0]))
    for raised, sole, expected in (
        (0.0, 0.0, 0.0),
        (0.0, 0.3, 0.1),
        (0.3, 0.0, 0.4),
        (-0.3, 0.0, -0.2),
        (0.0, None, 0.1),
    ):
        offsets, places = still.skeleton.offsets.copy(), still.translations.copy()
        offsets[0, 2] += 0.1 - low - raised  # joints of the rest pose are at 0.1 m, those of the clip are raised
        places[:, 0, 2] += 0.1 - low
        offsets[0, 2] += raised
        places[:, 0, 2] += raised
        moved = replace(still, skeleton=replace(still.skeleton, offsets=offsets, sole=sole), translations=places)
        assert phases.find_floor(moved).value == pytest.approx(expected, abs=0.01), (raised, sole)
