"""Two-bone legs: against their definitions, and what a solved leg keeps."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.body.character import Character
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import world_pose
from poise.edit.legs import REACH, STRAIGHT, Leg, find_legs, knee_flexion, reach, solve_legs
from poise.edit.retime import BUMP, FALL, _inverse, _value
from tests.clips import everywhere, sample_clip
from tests.edit_clips import clip

Array = np.ndarray


def _clip(name: str) -> tuple[Motion, Character]:
    return clip(name)


def _plain(leg: Leg, motion: Motion) -> tuple[Array, Array, Array, Array, Array]:
    """Knee to hip, knee to foot, bend axis, flexion, and the leg's length with the knee straight."""
    positions, orientations = motion.world
    u, w = (positions[:, j] - positions[:, leg.knee] for j in (leg.hip, leg.foot))
    axis = rotations.rotate(orientations[:, leg.axis_joint], leg.axis)
    if not leg.is_hinge:
        plane = np.cross(-u, w) / (np.linalg.norm(u, axis=1) * np.linalg.norm(w, axis=1))[:, None]
        side = np.where(np.sum(plane * axis, axis=1) < 0.0, -1.0, 1.0)[:, None]
        axis = side * plane + STRAIGHT * axis
        axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    flat_u, flat_w = (x - np.sum(x * axis, axis=1, keepdims=True) * axis for x in (u, w))
    flexion = np.arctan2(np.sum(np.cross(-flat_u, flat_w) * axis, axis=1), -np.sum(flat_u * flat_w, axis=1))
    straight = rotations.rotate(rotations.from_rotation_vector(-flexion[:, None] * axis), w)
    return u, w, axis, flexion, np.linalg.norm(straight - u, axis=1)


@pytest.mark.parametrize("name", everywhere(["hop", "backflip", "high jump"]))
def test_bends_and_turns_are_those_of_their_definitions(name: str) -> None:
    motion, character = _clip(name)
    shift = 0.03 * np.random.default_rng(1).normal(size=(motion.frame_count, 3))
    frames = np.arange(motion.frame_count)
    for leg in find_legs(character, motion):
        u, w, axis, flexion, longest = _plain(leg, motion)
        np.testing.assert_allclose(knee_flexion(leg, motion), flexion, atol=1e-12)
        np.testing.assert_allclose(reach(leg, motion), REACH * longest, atol=1e-12)
        bend = 0.2 + 0.1 * np.cos(frames)
        goal, turn = motion.world[0][:, leg.foot] + shift, motion.world[1][:, leg.foot]
        result = solve_legs(motion, {leg: (goal, turn)}, frames, {leg: bend})
        bent = rotations.from_rotation_vector(bend[:, None] * axis)
        foot, way = rotations.rotate(bent, w) - u, goal - motion.world[0][:, leg.hip]
        place = way * (np.linalg.norm(foot, axis=1) / np.linalg.norm(way, axis=1))[:, None]
        np.testing.assert_allclose(result.world[0][:, leg.foot] - result.world[0][:, leg.hip], place, atol=1e-9)
        hip = np.stack([rotations.between(a, b) for a, b in zip(foot, way)])
        np.testing.assert_allclose(
            rotations.angle_between(
                result.world[1][:, leg.knee],
                rotations.multiply(hip, rotations.multiply(bent, motion.world[1][:, leg.knee])),
            ),
            0.0,
            atol=1e-7,
        )


@pytest.mark.parametrize("name", everywhere(["hop", "backflip", "high jump"]))
def test_a_solved_foot_is_at_its_place_and_keeps_its_orientation(name: str) -> None:
    motion, character = _clip(name)
    legs = find_legs(character, motion)
    rise = np.array([0.0, 0.0, 0.05])
    targets = {leg: (motion.world[0][:, leg.foot] + rise, motion.world[1][:, leg.foot]) for leg in legs}
    result = solve_legs(motion, targets, np.arange(5, motion.frame_count))
    for plain, told in zip(world_pose(motion.skeleton, result.translations, result.rotations), result.world):
        np.testing.assert_allclose(told, plain, atol=1e-12)
    assert np.array_equal(result.rotations[:5], motion.rotations[:5])
    for leg in legs:
        far = np.linalg.norm(targets[leg][0] - motion.world[0][:, leg.hip], axis=1)
        near = (far < reach(leg, motion))[5:]
        np.testing.assert_allclose(result.world[0][5:, leg.foot][near], targets[leg][0][5:][near], atol=1e-9)
        if leg.foot_turns:
            assert rotations.angle_between(result.world[1][:, leg.foot], targets[leg][1]).max() < 1e-7


def test_a_part_of_a_clip_is_where_its_slowness_says() -> None:
    slowness = 0.7 * FALL + 0.05 * BUMP
    slowness[0] += 1.0
    shares = np.linspace(0.0, 1.0, 37)[1:]
    seen = _inverse(slowness, shares)
    fine = np.linspace(0.0, 1.0, 200_001)
    rate = _value(slowness, fine)
    np.testing.assert_allclose(rate, np.polynomial.polynomial.polyval(fine, slowness), atol=1e-12)
    whole = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]))])
    np.testing.assert_allclose(np.interp(seen, fine, whole / whole[-1]), shares, atol=1e-9)


def test_a_foot_that_must_go_to_the_other_side_of_its_hip_gets_there() -> None:
    """Half a turn has no least axis: the plane in which the leg bends says which it takes."""
    motion = sample_clip("walk").frames(np.arange(3))
    (leg, *_) = find_legs(poise.Character.fit(motion), motion)
    positions, orientations = motion.world
    hip = positions[:, leg.hip]
    opposite = 2.0 * hip - positions[:, leg.foot]
    result = solve_legs(motion, {leg: (opposite, orientations[:, leg.foot])}, np.arange(3))
    assert np.isfinite(result.rotations).all()
    np.testing.assert_allclose(result.world[0][:, leg.foot], opposite, atol=1e-9)
