"""Whole analyses: flights of real jumps, phases, measures, objects, animals, walls of bad data."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest

from poise.analysis import KINDS, Analysis, analyze, implied_scale, measures, pose_difference
from poise.analysis.measures import normalized_jerk
from poise.body import fit
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.io import load
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip

Array = npt.NDArray[np.float64]


def retimed(motion: Motion, factor: float) -> Motion:
    return replace(motion, times=factor * motion.times, source=None)


def in_hertz(name: str, fps: float | None) -> Analysis:
    motion = load(MOTIONS / name)
    return analyze(motion if fps is None else retimed(motion, motion.fps / fps))


def thrown_ball(spin: float) -> Motion:
    """A ball that lies, flies and lies again."""
    t = np.arange(91) / 60.0
    s = np.clip(t - 0.25, 0.0, 1.0)
    place = np.stack([2.0 * s, 0.0 * s, 0.1 + 0.5 * 9.81 * s * (1.0 - s)], axis=1)
    turns = rotations.from_rotation_vector(spin * s[:, None] * np.array([0.0, 1.0, 0.0]))
    skeleton = Skeleton(("ball",), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None].copy())
    return Motion(skeleton, t, place[:, None], turns[:, None])


def test_an_object_of_one_joint_is_measured_like_a_character() -> None:
    analysis = analyze(thrown_ball(9.0))
    (flight,) = analysis.flights
    assert flight.gravity == pytest.approx(9.81, abs=1e-6)
    assert flight.track_error < 1e-9
    assert np.abs(flight.linear_error).max() < 1e-6
    assert np.abs(flight.angular_error).max() < 1e-3
    kinds = [p.kind for p in analysis.phases]
    assert kinds == ["single", "flight", "single"]
    assert measures(analysis).penetration.shape[0] == 91


@needs_motions
@first_cases(
    1,
    ("name", "fps", "told"),
    [
        ("asf_amc/02_04.amc", None, 1),
        ("bvh/cmu_3dsmax/143_05.bvh", 60.0, 2),
        ("bvh/cmu_3dsmax/143_31.bvh", 60.0, 0),
        ("bvh/accad/Female1_D6_CartWheel.bvh", None, 0),
    ],
)
def test_captured_jumps_fall_with_the_earths_gravity(name: str, fps: float | None, told: int) -> None:
    flights = in_hertz(name, fps).flights
    sure = [f for f in flights if f.gravity_error < 0.05 * 9.81]
    assert len(sure) == told
    for flight in sure:
        assert flight.gravity_g == pytest.approx(1.0, abs=0.05)
        assert flight.residual < 0.004
    for flight in flights:  # short ones tell less, and say so
        assert abs(flight.gravity - 9.81) < 2.0 * flight.gravity_error


@needs_motions
def test_a_jump_seen_at_twice_its_rate_is_that_of_a_small_body_and_retiming_cures_it() -> None:
    wrong = in_hertz("bvh/cmu_3dsmax/143_05.bvh", None)
    scale = implied_scale(wrong)
    assert scale.size == pytest.approx(0.25, rel=0.1)
    assert scale.confidence > 0.99
    cured = analyze(retimed(wrong.motion, scale.retime), wrong.character)
    assert abs(np.log(implied_scale(cured).size)) < 0.05
    assert "own size" in str(implied_scale(cured))
    assert "slower" in str(scale)


def test_the_hop_no_physics_allows_is_seen() -> None:
    analysis = analyze(sample_clip("hover_hop"))
    (flight,) = analysis.flights
    assert flight.gravity_g < 0.3
    assert implied_scale(analysis).size > 3.0


def test_a_walk_is_single_and_double_support_in_turn() -> None:
    analysis = analyze(sample_clip("walk"))
    kinds = [p.kind for p in analysis.phases]
    assert set(kinds) == {"single", "double"}
    assert all(a != b for a, b in pairwise(kinds))
    singles = [p.supports for p in analysis.phases if p.kind == "single"]
    assert all(a != b for a, b in pairwise(singles))
    assert sum(p.last - p.first + 1 for p in analysis.phases) == analysis.motion.frame_count
    assert analysis.phases[2].inside_ratio > 0.5
    first = analysis.touch.times(analysis.times)[0]
    assert first[0] in analysis.touch.names
    assert first[1] <= first[2]


@needs_motions
def test_capture_noise_does_not_tear_phases_apart() -> None:
    jumps = in_hertz("bvh/cmu_3dsmax/143_05.bvh", 60.0)
    kinds = [(p.kind, p.last - p.first + 1) for p in jumps.phases]
    assert [k for k, _ in kinds].count("flight") == 3
    assert kinds[0] == ("double", 120)  # standing and crouching, before the first jump
    assert len(kinds) < 14
    roll = in_hertz("deepmimic/humanoid3d_roll.txt", None)
    assert not any(p.kind == "flight" for p in roll.phases)  # it lies on its back
    walk = in_hertz("asf_amc/02_01.amc", None)  # on a floor that the capture tilted by 2 cm a meter
    assert {p.kind for p in walk.phases} == {"single", "double"}


def test_a_trot_stands_on_diagonal_legs_and_its_pressure_is_less_steady() -> None:
    dog, walk = analyze(sample_clip("quadruped")), analyze(sample_clip("walk"))
    doubles = [set(p.supports) for p in dog.phases if p.kind == "double"]
    assert {"left_hind_leg", "right_front_leg"} in doubles
    assert {"right_hind_leg", "left_front_leg"} in doubles
    inside = [np.mean(a.support.error[a.support.is_loaded] <= 0.0) for a in (dog, walk)]
    assert inside[0] < inside[1]


def test_pressure_is_not_defined_in_the_air() -> None:
    analysis = analyze(sample_clip("hover_hop"))
    flight = analysis.phase == KINDS.index("flight")
    assert flight.any()
    for values in (analysis.support.cop, analysis.support.zmp):
        assert np.isnan(values[flight]).all()
    assert np.isnan(analysis.support.error[flight]).all()
    assert not analysis.support.is_loaded[flight].any()
    assert not analysis.forces.contact[flight].any()


def test_sliding_sinking_floating_and_bent_joints_are_measured() -> None:
    motion = sample_clip("walk")
    character = fit(motion, masses="auto")
    clean = measures(analyze(motion, character))
    dt = motion.dt
    moved = motion.translations.copy()
    moved[:, 0, 1] += 0.1 * motion.times  # 0.1 m/s sideways
    slid = measures(analyze(replace(motion, translations=moved, source=None), character))
    assert slid.slide_mm_per_frame == pytest.approx(100.0 * dt, rel=0.25)
    assert clean.slide_mm_per_frame < 0.4 * slid.slide_mm_per_frame
    moved = motion.translations.copy()
    moved[:, 0, 2] -= 0.04
    assert measures(analyze(replace(motion, translations=moved, source=None), character)).penetration.max() > 0.035
    moved[:, 0, 2] += 0.065
    assert measures(analyze(replace(motion, translations=moved, source=None), character)).floating.max() > 0.02
    bent = motion.rotations.copy()
    knee = next(b for b in character.bodies if b.name.lower().startswith("leftleg") or "shin" in b.name.lower())
    bent[100, knee.joint] = rotations.multiply(
        bent[100, knee.joint], rotations.from_rotation_vector(np.array([0.0, 0.0, 1.5]))
    )
    odd = measures(analyze(replace(motion, rotations=bent, source=None), character))
    assert odd.limit_excess[100].max() > 0.3
    assert clean.limit_excess.max() < 1e-6
    assert odd.joint_speed[100:102].max() > 2.0 * clean.joint_speed.max()


@pytest.mark.parametrize("fps", [60.0, 240.0])
@pytest.mark.parametrize("length", [0.3, 1.2])
def test_the_reach_of_least_jerk_has_720_at_any_rate_and_length(fps: float, length: float) -> None:
    steps = round(0.4 * fps)
    s = np.clip(np.arange(-5, steps + 6) / steps, 0.0, 1.0)
    reach = length * (10.0 * s**3 - 15.0 * s**4 + 6.0 * s**5)
    positions = reach[:, None, None] * np.array([1.0, 0.0, 0.0])
    found = normalized_jerk(positions, np.arange(len(s)) / fps, shortest=0.1)
    # the window that holds just the reach; differences over three frames blunt the jerk's steps at both ends
    assert found[5 + steps // 2, 0] == pytest.approx(720.0, rel=8.0 / fps)


def test_pose_differences() -> None:
    motion = sample_clip("walk")
    moved = motion.translations.copy()
    moved[:, 0, 0] += 0.05
    apart = pose_difference(motion, replace(motion, translations=moved))
    assert apart.global_mm == pytest.approx(50.0)
    assert apart.aligned_mm == pytest.approx(0.0, abs=1e-9)
    assert apart.angle_deg == 0.0


@needs_motions
def test_a_t_pose_in_front_does_not_reach_into_the_motion() -> None:
    motion = load(MOTIONS / "bvh/cmu_motionbuilder/02_01.bvh")
    analysis = analyze(motion)
    assert analysis.is_glitch[0]
    clean = analyze(motion.frames(np.arange(1, motion.frame_count)), analysis.character)
    assert np.allclose(analysis.momentum.linear[5:], clean.momentum.linear[4:], atol=1e-6 * analysis.mass)


def test_single_frames_and_empty_contacts_are_fine() -> None:
    motion = sample_clip("walk")
    character = fit(motion)
    for count in (1, 2, 3, 4):
        analysis = analyze(motion.frames(np.arange(count)), character)
        assert analysis.forces.contact.shape[0] == count
        assert len(analysis.phases) >= 1
        assert measures(analysis).jitter.shape == (count,)
        assert implied_scale(analysis).confidence >= 0.0
    bare = replace(character, contact_points=())
    analysis = analyze(motion, bare)
    weight = analysis.mass * 9.81
    assert np.median(np.linalg.norm(analysis.forces.residual_force, axis=1)) == pytest.approx(weight, rel=0.2)
