"""`poise track --live`: a page shows the actor as a ghost, drags the character, and changes roles while it runs."""

from __future__ import annotations

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
from poise.tracking.run import recorded_actor
from tests.live_pages import Page, playing

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")


@dataclass
class Running:
    source: LiveTracking
    follower: Tracking
    page: Page

    def words(self, kind: str) -> list[dict]:
        return [w for w in self.page.words if w["type"] == kind]


@pytest.fixture
def live() -> Iterator[Running]:
    actor, child = recorded_actor(poise.load(poise.sample_path("walk"))), figure("child")
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
    before = live.page.state()
    live.page.ask(type="set", name="role left_arm", value="free")
    after = live.page.until(lambda s: {r.limb: r.kind for r in live.follower.roles}["left_arm"] == "free")
    assert after.time >= before.time  # it went on, and did not begin again
    own = len(live.follower.character.bodies)
    jump = live.page.state().positions[:own] - after.positions[:own]
    assert np.abs(jump).max() < 0.1


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
    at, felt = live.follower.time, len(hand.history)  # type: ignore[attr-defined]
    page.until(lambda s: s.time > at + 0.7 or s.time < at)
    assert len(hand.history) > felt  # type: ignore[attr-defined]
    page.ask(type="release")
    page.until(lambda s: live.words("released"))


def test_an_actor_over_the_wire_appears_when_it_is_heard() -> None:
    walk, child = poise.load(poise.sample_path("walk")), figure("child")
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
        page.until(lambda s: s.time > 0.3)
        assert page.scenes == 2  # the second has the ghost
        run.stop()
        thread.join(60.0)
        sink.close()
        page.socket.close()
    assert not thread.is_alive()


def test_another_actor_without_the_limb_of_a_role_is_followed_all_the_same() -> None:
    actor, child = recorded_actor(poise.load(poise.sample_path("walk"))).character, figure("child")
    follower = Tracking(child)
    follower.set_actor(actor)
    follower.set_roles([Role(r.limb, "targeted", "neck") if r.limb == "left_arm" else r for r in follower.roles])
    follower.set_actor(replace(actor, limbs=tuple(limb for limb in actor.limbs if limb.name != "neck")))
    roles = {role.limb: role for role in follower.roles}
    assert roles["left_arm"].actor == "left_arm"
    assert roles["neck"].kind == "free"
