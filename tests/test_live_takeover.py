"""Another live actor takes over: it is read beside the steps, and the first pose of the new one is quickly found."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from poise.body.character import Character, figure
from poise.body.posing import body_poses, motion_to_q
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.tracking.followers import Tracking
from poise.tracking.live import CALIBRATE, run_live
from poise.tracking.protocols import LivePose, LiveSource
from poise.tracking.run import RATE
from tests.clips import sample_clip

WALK = sample_clip("walk")
MET = round(CALIBRATE * RATE)


class Slow:
    """A follower that gives the actor back; while `may_go_on` is not set, it gets ready for none."""

    def __init__(self) -> None:
        self.character = Character.fit(WALK.skeleton)
        self.may_go_on, self.skeletons = threading.Event(), list[Skeleton]()
        self.steps = 0

    def meet(self, actor: Character, pose: Array | None = None) -> Callable[[], None]:
        assert self.may_go_on.wait(10.0)
        return lambda: self.skeletons.append(actor.skeleton)

    def step(self, pose: Array, still: float = 0.0) -> Array:
        self.steps += 1
        return pose

    def report(self) -> dict[str, Any]:
        return {}


def test_steps_go_on_while_a_new_actor_is_read() -> None:
    follower, other = Slow(), replace(WALK.skeleton)  # another object, thus another actor
    follower.may_go_on.set()
    asked, blocked = 0, list[int]()

    def at(now: float, dt: float) -> SimpleNamespace:
        nonlocal asked
        asked += 1
        skeleton = WALK.skeleton if not follower.skeletons or follower.steps < 10 else other
        if follower.steps == 10:
            follower.may_go_on.clear()
        if follower.steps == 10 + 2 * MET:  # it was not waited for
            blocked.append(len(follower.skeletons))
            follower.may_go_on.set()
        pose = LivePose(skeleton, WALK.translations[0], WALK.rotations[0], now, asked)
        return SimpleNamespace(pose=pose, is_held=False, buffered=0.0)

    source = cast(LiveSource, SimpleNamespace(at=at, wait=lambda until: threading.Event().wait(1e-3), report=dict))
    run_live(source, follower, is_over=lambda: len(follower.skeletons) == 2 or asked > 3000)
    assert blocked == [1]
    assert [skeleton is known for skeleton, known in zip(follower.skeletons, (WALK.skeleton, other))] == [True, True]


def test_a_follower_that_is_ready_begins_as_one_that_is_not() -> None:
    actor = Character.fit(WALK.skeleton)
    q = motion_to_q(actor, WALK)
    first, ready = Tracking(figure("child")), Tracking(figure("child"))
    first.set_actor(actor)
    ready.meet(actor, q[12])()
    assert first.tracker is not None
    assert ready.tracker is not None
    assert first.tracker.actor_floor is None
    assert ready.tracker.actor_floor is not None  # it has seen the actor
    for follower in (first, ready):
        follower.step(q[16])
    character = first.tracker.character
    places, others = (body_poses(character, x.q[None])[0][0] for x in (first, ready))
    assert np.linalg.norm(places[0, :2] - others[0, :2]) < 0.1  # ways count from where it was seen first
    off = np.linalg.norm((places - places[0] * [1, 1, 0]) - (others - others[0] * [1, 1, 0]), axis=1)
    knees = np.array([b.name in ("LeftLeg", "RightLeg") for b in character.bodies])
    assert off[~knees].max() < 0.015
    assert off[knees].max() < 0.06  # a leg that is nearly straight bends by 20° for 6 mm of its length
