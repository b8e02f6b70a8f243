"""Feet of a tracked character, where they land and stand, and how a run begins."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.body.character import figure
from poise.core.motion import Motion
from poise.tracking import PerformanceTracker
from poise.tracking.balance import must_carry
from poise.tracking.smooth import calmed
from poise.tracking.stance import Foot, Goal

LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def walk() -> Motion:
    return poise.load(poise.sample_path("walk"))


@pytest.fixture(scope="module")
def walker(walk: Motion) -> poise.Character:
    return poise.Character.fit(walk)


def a_foot() -> Foot:
    points = np.zeros(0, dtype=np.int64)
    return Foot(2, points, np.zeros((0, 3)), LEVEL, 0.08, np.zeros(3), 0.9, 1.0, 1.0 / 120.0)


def test_a_foot_lands_where_it_is_placed_not_beyond() -> None:
    """How fast a foot is moved to catch the body says nothing of where it will be: that ends where it is placed."""
    foot, drift = a_foot(), np.array([0.9, -0.6])
    foot.drift = drift
    goal = Goal(np.array([0.2, 0.1, 0.1]), np.array([*drift, -0.1]), np.zeros(3), LEVEL, np.zeros(3))
    foot.decide(0.02, np.array([0.0, 0.0, -0.1]), 1.0, goal, 0.0, others=True)
    assert foot.stands
    np.testing.assert_allclose(foot.place[:2], [0.2, 0.1], atol=1e-9)
    still = a_foot()  # what the actor's foot does by itself goes on
    still.decide(0.02, np.array([0.0, 0.0, -0.4]), 1.0, goal, 0.0, others=True)
    np.testing.assert_allclose(still.place[:2], [0.2 + 0.05 * 0.9, 0.1 - 0.05 * 0.6], atol=1e-9)


def test_a_foot_that_rests_above_the_floor_stands() -> None:
    """Recordings have feet that rest some centimeters above the floor; one that is only slow and high does not."""
    at_rest = Goal(np.array([0.0, 0.1, 0.17]), np.zeros(3), np.zeros(3), LEVEL, np.zeros(3))
    for height, stands in ((0.09, True), (0.2, False)):
        foot = a_foot()
        for _ in range(60):
            over = foot.over(height, np.zeros(3), 1.0, begins=False)
            foot.decide(over, np.zeros(3), 1.0, at_rest, 0.0, others=True)
        assert foot.stands is stands
    assert a_foot().over(0.09, np.zeros(3), 1.0, begins=True) == 0.0
    assert a_foot().over(0.09, np.array([0.5, 0.0, 0.0]), 1.0, begins=True) == 0.09


def test_a_foot_of_an_actor_that_begins_lies_flat() -> None:
    """Rigs draw feet with the toes up: a run that began so stood on its heels and fell forward."""
    turn = poise.core.rotations.from_rotation_vector(np.array([0.0, -0.4, 0.0]))
    goal = Goal(np.zeros(3), np.zeros(3), np.zeros(3), turn, np.zeros(3))
    np.testing.assert_allclose(a_foot().leveled(0.0, np.zeros(3), 1.0, goal, begins=True), LEVEL, atol=1e-9)
    assert a_foot().leveled(0.0, np.zeros(3), 1.0, goal, begins=False)[2] < -0.1


def test_the_foot_under_the_weight_carries() -> None:
    """Where no standing foot explains the force on the actor, the nearest other foot must carry it."""
    left, right = a_foot(), a_foot()
    left.stands, right.row = True, 3
    places = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.15], [0.0, -0.15]])
    assert must_carry(np.array([0.0, -0.1]), (left, right), places, 0.9) is right
    assert must_carry(np.array([0.0, 0.1]), (left, right), places, 0.9) is None
    right.stands = True
    assert must_carry(np.array([0.0, -0.1]), (left, right), places, 0.9) is None


def test_a_run_that_begins_with_the_feet_apart_does_not_begin_by_falling(walk: Motion, walker: poise.Character) -> None:
    """The pelvis is as low as its legs need it from the first step on; it need not be pulled there."""
    poses = poise.motion_to_q(walker, walk.cut(1.0, 2.5))
    downward = []
    for begin in range(0, 60, 10):
        tracker = PerformanceTracker(figure("child"), walker, dt=1.0 / walk.fps, recorded=poses[begin:])
        for q in poses[begin : begin + 4]:
            tracker.step(q)
            downward.append(float(tracker.targets.acceleration[0, 2]))
    assert min(downward) > -9.81


def test_a_calmed_recording_is_calm_at_its_ends_too(walk: Motion, walker: poise.Character) -> None:
    q = poise.motion_to_q(walker, walk)
    ends = []
    for seed in range(24):
        noisy = q.copy()
        noisy[:, :3] += np.random.default_rng(seed).normal(0.0, 0.005, (len(q), 3))
        ends.append(calmed(walker, noisy, walk.fps).q[[0, -1], :3])
    assert float(np.std(ends, axis=0).mean()) < 0.0045  # of 5 mm
