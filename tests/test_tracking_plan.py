"""The center of mass is led so that the force on the ground stays within the character's own soles."""

from __future__ import annotations

import math

import numpy as np

from poise.body.character import figure
from poise.body.posing import motion_to_q
from poise.tracking.plan import FARTHEST, detour_of
from poise.tracking.run import recorded_actor
from poise.tracking.tracker import PerformanceTracker
from tests.clips import sample_clip

RATE, DT = 3.5, 1.0 / 120.0


def test_a_detour_ends_where_the_force_comes_back() -> None:
    """Δx follows its own accelerations, needs the force where it was moved to, and does not run away."""
    moved = np.zeros((480, 2))
    moved[120:180, 0] = 0.05
    place, velocity, acceleration = detour_of(moved, RATE, DT)
    assert np.abs(place - acceleration / RATE**2 - moved).max() < 1e-12
    assert np.abs(np.diff(place, axis=0) / DT - velocity[:-1]).max() < 0.02 * np.abs(velocity).max()
    capture = place + velocity / RATE
    assert capture[:120, 0].min() > 0.0  # it begins before the force moves
    assert np.all(np.diff(capture[:120, 0]) > 0.0)
    assert np.abs(capture[180:]).max() < 1e-12  # and has come back when the force does
    assert abs(place[-1, 0]) < 1e-3
    still = detour_of(np.full((480, 2), 0.03), RATE, DT)
    ahead = 0.03 * (1.0 - math.exp(-RATE * 4.0))
    assert abs(still.place[0, 0] - ahead) < 1e-9  # over the place where the force stays


def test_the_future_of_a_recorded_actor_moves_the_center_of_mass_alone() -> None:
    actor = recorded_actor(sample_clip("walk", 1.5))
    child = figure("child")
    given = actor.since(actor.begin)
    led = PerformanceTracker(child, actor.character, floor=0.0, **given)
    live = PerformanceTracker(child, actor.character, floor=0.0, **{**given, "recorded": None})
    strict = PerformanceTracker(child, actor.character, floor=0.0, root="strict", **given)
    places = []
    for tracker in (led, live, strict):
        tracker.prepare(actor.poses[0])
        assert tracker._generator is not None
        motion = tracker._generator.motion
        assert motion.pose_count == 0
        motion.advance(actor.poses[0])
        places.append(motion.rows.x[:, :2].copy())
    off = np.abs(places[0] - places[1]).max(axis=1)
    assert 1e-4 < off[1] < FARTHEST * child.leg_length
    assert np.delete(off, 1).max() < 1e-9
    assert np.abs(places[2] - places[1]).max() < 1e-9  # a root that is never held is not led


def test_a_run_is_the_same_a_second_time() -> None:
    """Planning ahead leaves nothing behind in the tracker: steps begin at the first pose."""
    actor = recorded_actor(sample_clip("walk", 0.5))
    child, out = figure("child"), []
    for _ in range(2):
        tracker = PerformanceTracker(child, actor.character, floor=0.0, **actor.since(actor.begin))
        out.append(np.array([tracker.step(pose) for pose in actor.poses]))
    assert np.array_equal(out[0], out[1])
    first = motion_to_q(actor.character, sample_clip("walk", 0.5))[0]
    assert np.abs(actor.poses[0] - first).max() < 1e-9
