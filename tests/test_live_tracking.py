"""`poise track --live`: a page shows the actor as a ghost, drags the character, and changes roles while it runs."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

pytest.importorskip("websockets")

import poise
from poise.body.character import figure
from poise.body.posing import body_poses
from poise.show.live import LiveRun
from poise.show.live_tracking import LiveTracking
from poise.show.page import has_page
from poise.show.viewer import Viewer
from poise.tracking.followers import Tracking
from poise.tracking.live import play, run_live
from poise.tracking.protocols import LivePose, LiveSink, LiveSource
from poise.tracking.retarget import Role
from poise.tracking.run import RATE, recorded_actor
from tests import clips
from tests.clips import first_cases, sample_clip
from tests.live_pages import Page, playing

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")


FAST = 6.0
"""A foot of a child that swings is slower than this [m/s]."""


@dataclass
class Running:
    source: LiveTracking
    follower: Tracking
    page: Page

    def words(self, kind: str) -> list[dict]:
        return [w for w in self.page.words if w["type"] == kind]


@pytest.fixture
def live() -> Iterator[Running]:
    actor, child = recorded_actor(sample_clip("walk")), figure("child")
    follower = Tracking(child, recorded=actor)
    source = LiveTracking(follower, partial(play, actor, follower))
    with playing(source, bodies=len(child.bodies)) as (page, _):
        page.bodies += len(actor.character.bodies)  # the ghost is there now
        yield Running(source, follower, page)


def test_the_ghost_stands_beside_and_the_slider_moves_it(live: Running) -> None:
    count = len(live.follower.character.bodies)
    seen = live.page.until(lambda s: len(s.positions) > count)
    apart = float(np.linalg.norm((seen.positions[count] - seen.positions[0])[:2]))
    assert apart == pytest.approx(1.5 * live.follower.character.leg_length, abs=0.1)
    live.page.ask(type="set", name="beside", value=3.0)
    live.page.until(lambda s: np.linalg.norm((s.positions[count] - s.positions[0])[:2]) > 2.8)


def test_roles_change_while_it_runs(live: Running) -> None:
    own, seen = len(live.follower.character.bodies), [live.page.state()]
    live.page.ask(type="set", name="role left_arm", value="free")
    after = live.page.until(
        lambda s: seen.append(s) or {r.limb: r.kind for r in live.follower.roles}["left_arm"] == "free"
    )
    live.page.until(lambda s: seen.append(s) or s.time > after.time + 0.5 or s.time < after.time)
    for a, b in itertools.pairwise(s for s in seen if s.time <= after.time + 0.5):
        assert b.time >= a.time  # it went on, and did not begin again
        far = float(np.linalg.norm(b.positions[:own] - a.positions[:own], axis=1).max())
        assert far < FAST * (b.time - a.time) + 0.15, f"a body jumped {100 * far:.0f} cm at {b.time:.2f} s"


def test_roles_that_leave_nobody_to_stand_on_are_refused_and_shown_as_they_were(live: Running) -> None:
    page = live.page
    page.ask(type="set", name="role left_leg", value="free")
    page.until(lambda s: {r.limb: r.kind for r in live.follower.roles}["left_leg"] == "free")
    page.ask(type="set", name="role right_leg", value="free")
    page.until(lambda s: live.words("refused"))
    assert "support" in live.words("refused")[0]["why"]
    page.until(lambda s: live.words("status") and page.words[-1]["type"] == "status")
    assert page.words[-1]["values"]["role right_leg"] == "stands with right_leg"
    assert {r.limb: r.kind for r in live.follower.roles}["right_leg"] == "support"


@first_cases(1, "is_live", [False, True], ids=["recorded", "live"])
def test_a_character_goes_on_walking_when_roles_change(is_live: bool) -> None:
    actor, child = recorded_actor(sample_clip("walk")), figure("child")

    def run(change: str) -> tuple[np.ndarray, Tracking]:
        follower, ways = Tracking(child, recorded=None if is_live else actor), []
        follower.set_actor(actor.character)
        for k, pose in enumerate(actor.poses[: int(1.3 * RATE)]):
            if change and k == int(0.8 * RATE):
                follower.set_roles([Role(r.limb, "free") if r.limb == change else r for r in follower.roles])
            ways.append(follower.step(pose)[:3].copy())
        return RATE * np.diff(ways, axis=0)[int(0.7 * RATE) :], follower

    usual, changed = run("")[0], run("left_arm")
    np.testing.assert_allclose(changed[0], usual, atol=0.1)  # an arm weighs little; a pelvis that stops is 0.9 m/s off
    tracker = changed[1].tracker
    assert tracker is not None
    assert tracker.lists.free
    assert tracker.counts.beginning_steps < 0.4 * RATE  # none after the change
    assert not tracker.counts.fallback_steps


def test_a_hand_that_holds_keeps_holding_through_new_roles(live: Running) -> None:
    page = live.page
    body = live.follower.character.roles["chest"]
    place = page.state().positions[body].astype(float)
    target = (place + np.array([0.0, 0.5, 0.2])).tolist()
    page.ask(type="grab", track=0, body=body, point=[0.0, 0.0, 0.0], target=target)
    page.until(lambda s: live.words("grabbed"))
    page.ask(type="set", name="role left_arm", value="free")
    page.until(lambda s: {r.limb: r.kind for r in live.follower.roles}["left_arm"] == "free")
    (hand,) = live.follower._forces
    begun = page.state().time + 0.05
    page.until(lambda s: s.time > begun or s.time < begun - 0.7)
    felt, end = len(hand.history), begun + 0.5  # type: ignore[attr-defined]
    last = page.until(lambda s: s.time > end or s.time < begun)
    assert last.time > end, "the clip ended; hold earlier"
    pulled = [float(np.linalg.norm(force)) for _, force in hand.history[felt:]]  # type: ignore[attr-defined]
    assert len(pulled) > 0.4 * RATE  # every step, not one more by chance
    assert min(pulled) > 1.0
    page.ask(type="release")
    page.until(lambda s: live.words("released"))


@pytest.mark.long
def test_planned_pushes_act_after_new_roles_and_those_that_are_over_are_forgotten() -> None:
    actor, child = recorded_actor(sample_clip("walk")), figure("child")

    def run(*pushes: poise.Push) -> Tracking:
        follower = Tracking(child, recorded=actor, pushes=pushes)
        follower.set_actor(actor.character)
        for k, pose in enumerate(actor.poses[actor.begin :][: int(1.6 * RATE)]):
            if k == int(0.3 * RATE):
                follower.set_roles([Role(r.limb, "free") if r.limb == "left_arm" else r for r in follower.roles])
            follower.step(pose)
        return follower

    after, across = poise.Push("chest", (0.0, 60.0, 0.0), 1.0, 0.2), poise.Push("chest", (0.0, 20.0, 0.0), 0.2, 1.0)
    still = run().q[1]
    assert run(after).q[1] > still + 0.01
    whole, half = run(across).q[1] - still, run(replace(across, duration=0.1)).q[1] - still
    assert whole > 1.3 * half > 0.0  # it goes on after the change
    follower = run()
    for _ in range(20):
        follower.push(poise.Push("chest", (0.0, 1.0, 0.0), 0.0, 0.1))  # long over
    assert len(follower._forces) == 1


@clips.needs_motions
def test_what_a_page_keeps_has_the_skin_of_its_character() -> None:
    actor = recorded_actor(sample_clip("walk", 0.5))
    man = poise.load(clips.MOTIONS / "gltf" / "cesium_man.gltf")
    follower = Tracking(poise.Character.fit(man), recorded=actor)
    source = LiveTracking(follower, partial(play, actor, follower), drawn=man)
    source.begin()
    kept = source.play(lambda: True).motion
    assert kept.frame_count > 10
    assert kept.source is not None
    assert man.source is not None
    assert kept.source.path == man.source.path  # names the files
    assert len(kept.source.document.meshes) == len(man.source.document.meshes) > 0


def test_a_paused_page_goes_on_listening_to_the_actor() -> None:
    walk, child = sample_clip("walk"), figure("child")
    follower = Tracking(child)
    with LiveSource("poise:0") as wire, Viewer(is_opened=False) as viewer:
        source = LiveTracking(follower, partial(run_live, wire, follower))
        run = LiveRun(source, viewer, keeps_time=True, listen=lambda seconds: wire.wait(time.monotonic() + seconds))
        results: list = []
        thread = threading.Thread(target=lambda: results.append(run.play(lambda: source.is_over)), daemon=True)
        thread.start()
        page = Page(viewer, bodies=len(child.bodies))
        sink = LiveSink(f"poise:127.0.0.1:{wire.receiver.port}")  # type: ignore[union-attr]
        sent = 0

        def send(seconds: float) -> None:
            nonlocal sent
            for _ in range(round(seconds / walk.dt)):
                k = sent % walk.frame_count
                sink.send(
                    LivePose(walk.skeleton, walk.translations[k], walk.rotations[k], sent * walk.dt, sent, "walk")
                )
                sent += 1
                time.sleep(walk.dt)

        send(1.0)
        page.until(lambda s: s.time > 0.3)
        page.ask(type="pause", on=True)
        page.until(lambda s: s.is_paused)
        heard = wire.report()["packets"]
        send(0.7)
        last = time.monotonic() + 60.0  # however busy the machine is
        while wire.report()["packets"] <= heard + 0.6 * 0.7 / walk.dt:
            assert time.monotonic() < last, "it does not listen"
            time.sleep(0.02)
        page.ask(type="pause", on=False)
        page.until(lambda s: not s.is_paused)
        run.stop()
        thread.join(60.0)
        sink.close()
        page.socket.close()
    assert not thread.is_alive()


@pytest.mark.long
def test_an_actor_over_the_wire_appears_when_it_is_heard() -> None:
    walk, child = sample_clip("walk"), figure("child")
    follower = Tracking(child)
    with LiveSource("poise:0") as wire, Viewer(is_opened=False) as viewer:
        source = LiveTracking(follower, partial(run_live, wire, follower))
        run = LiveRun(source, viewer, keeps_time=True)
        thread = threading.Thread(target=lambda: run.play(lambda: source.is_over), daemon=True)
        thread.start()
        page = Page(viewer, bodies=len(child.bodies))
        still = page.state()  # nobody yet: it stands, and the page has it
        assert follower.actor is None
        assert np.allclose(still.positions, body_poses(child, follower.q[None])[0][0], atol=1e-5)
        sink = LiveSink(f"poise:127.0.0.1:{wire.receiver.port}")  # type: ignore[union-attr]
        for k in range(walk.frame_count):
            sink.send(LivePose(walk.skeleton, walk.translations[k], walk.rotations[k], k * walk.dt, k, "walk"))
            time.sleep(walk.dt)
        page.until(lambda s: s.time > 0.3 and page.scenes > 1)  # a second scene: with the ghost
        run.stop()
        thread.join(60.0)
        sink.close()
        page.socket.close()
    assert not thread.is_alive()


def test_another_actor_without_the_limb_of_a_role_is_followed_all_the_same() -> None:
    actor, child = recorded_actor(sample_clip("walk")).character, figure("child")
    follower = Tracking(child)
    follower.set_actor(actor)
    follower.set_roles([Role(r.limb, "targeted", "neck") if r.limb == "left_arm" else r for r in follower.roles])
    follower.set_actor(replace(actor, limbs=tuple(limb for limb in actor.limbs if limb.name != "neck")))
    roles = {role.limb: role for role in follower.roles}
    assert roles["left_arm"].actor == "left_arm"
    assert roles["neck"].kind == "free"
