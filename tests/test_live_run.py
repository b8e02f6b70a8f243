"""A clip run live over real sockets: it answers to hands, sliders and buttons, whoever else is looking."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("websockets")
from websockets.sync.client import ClientConnection, connect

import poise
from poise.record.page import has_page
from poise.studio.ground import ChangingGround, Hill
from poise.studio.live import LiveRun
from poise.studio.protocol import ACK, STATE
from poise.studio.viewer import Viewer
from poise.terrain import Terrain

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")


@dataclass
class State:
    """What a page reads from a state: its time and the poses of the figure."""

    time: float
    is_paused: bool
    positions: np.ndarray


class Page:
    """A page without a screen: acknowledges every state at once."""

    def __init__(self, viewer: Viewer) -> None:
        address = viewer.url.split("/?")[0]
        socket = viewer.url.replace("http://", "ws://").replace("/?", "/ws?")
        self.socket: ClientConnection = connect(socket, origin=address, max_size=None, legacy=True)  # type: ignore[arg-type]
        self.words: list[dict[str, Any]] = []
        self.scenes = 0

    def state(self) -> State:
        while True:
            message = self.socket.recv(timeout=60.0)
            if isinstance(message, str):
                self.words.append(json.loads(message))
            elif message[0] == 0:
                self.scenes += 1
            else:
                _, flags, _, sequence, at, _ = STATE.unpack_from(message)
                self.socket.send(ACK.pack(1, sequence))
                numbers = np.frombuffer(message, "<f4", offset=STATE.size)
                return State(at, bool(flags & 1), numbers[: 21 * 7].reshape(21, 7)[:, :3])

    def until(self, holds: Callable[[State], object]) -> State:
        end = time.monotonic() + 60.0
        while not holds(state := self.state()):
            assert time.monotonic() < end, "it never came"
        return state

    def ask(self, **words: Any) -> None:
        self.socket.send(json.dumps(words))


@dataclass
class Running:
    """A live run in its own thread, and a page that looks at it."""

    run: LiveRun
    viewer: Viewer
    page: Page
    character: poise.Character
    results: list[poise.SimulationResult | None]


@pytest.fixture(scope="module")
def live() -> Iterator[Running]:
    motion = poise.load(poise.sample_path("walk"))
    character = poise.Character.fit(motion)
    viewer = Viewer(is_opened=False)
    run = LiveRun(motion, character, viewer)
    results: list[poise.SimulationResult | None] = []
    thread = threading.Thread(target=lambda: results.append(run.play()))
    thread.start()
    page = Page(viewer)
    page.until(lambda s: s.time > 0.1)
    made = Running(run, viewer, page, character, results)
    yield made
    start = again(made)
    chest = character.roles["chest"]
    page.ask(type="grab", track=0, body=chest, point=[0, 0, 0], target=(start.positions[chest] + 0.3).tolist())
    page.until(lambda s: s.time > start.time + 0.3)
    run.stop()
    thread.join(60.0)
    assert not thread.is_alive()
    assert results[0] is not None
    (arrow,) = poise.scene_of(results[0], physics=False).arrows  # what was felt can be recorded
    assert arrow.body == chest
    assert np.linalg.norm(arrow.force, axis=1).max() > 50.0
    viewer.close()


def again(live: Running) -> State:
    """Start the round anew and wait until it has begun."""
    live.page.ask(type="restart")
    live.page.until(lambda s: s.time < 0.2)
    return live.page.until(lambda s: s.time > 0.3)


def test_a_hand_drags_the_figure_and_lets_go(live: Running) -> None:
    start = again(live)
    chest = live.character.roles["chest"]
    target = start.positions[chest] + np.array([1.2, 0.0, 0.0])
    live.page.ask(type="grab", track=0, body=chest, point=[0, 0, 0.1], target=target.tolist())
    moved = live.page.until(lambda s: s.time > start.time + 0.8)
    assert moved.positions[chest, 0] > start.positions[chest, 0] + 0.15
    live.page.ask(type="release")
    back = live.page.until(lambda s: s.time > moved.time + 2.0)
    assert back.positions[chest, 0] < moved.positions[chest, 0] - 0.05
    assert {"grabbed", "released"} <= {w["type"] for w in live.page.words}


def test_it_pauses_steps_and_goes_on(live: Running) -> None:
    again(live)
    live.page.ask(type="pause", on=True)
    paused = live.page.until(lambda s: s.is_paused)
    live.page.ask(type="step")
    stepped = live.page.until(lambda s: s.time > paused.time)
    assert stepped.time - paused.time == pytest.approx(1.0 / 60.0, abs=1e-6)
    assert stepped.is_paused
    live.page.ask(type="pause", on=False)
    live.page.until(lambda s: not s.is_paused and s.time > stepped.time + 0.1)


def test_a_slider_tilts_the_ground_under_the_figure(live: Running) -> None:
    again(live)
    scenes = live.page.scenes
    live.page.ask(type="set", name="slope", value=12)
    live.page.until(lambda s: live.page.scenes > scenes)
    here = live.page.state()
    later = live.page.until(lambda s: s.time > here.time + 1.5)
    assert later.positions[0, 2] > here.positions[0, 2] + 0.1  # it climbs
    live.page.ask(type="set", name="slope", value=0)
    live.page.ask(type="set", name="slope", value=1000)
    live.page.ask(type="set", name="no such thing", value=1)
    live.page.ask(type="set", name="physicality", value=-1)
    live.page.until(lambda s: any(w.get("values", {}).get("physicality") == -1 for w in live.page.words))
    refused = [w["why"] for w in live.page.words if w["type"] == "refused"]
    assert any("Slope is 1000" in w for w in refused)
    assert any("no such thing" in w for w in refused)


def test_two_pages_see_the_same_and_both_may_push(live: Running) -> None:
    again(live)
    other = Page(live.viewer)
    here, there = live.page.state(), other.until(lambda s: s.time > 0.3)
    assert there.positions.shape == here.positions.shape
    other.ask(type="push", track=0, body=live.character.roles["chest"], force=[300, 0, 0], seconds=0.2)
    live.page.until(lambda s: any(w["type"] == "mark" and "300 N" in w["label"] for w in live.page.words))
    other.ask(type="grab", track=1, body=0, point=[0, 0, 0], target=[0, 0, 0])  # the ghost cannot be held
    other.until(lambda s: any(w["type"] == "refused" for w in other.words))
    other.socket.close()


def test_rubbish_does_not_stop_it(live: Running) -> None:
    here = again(live)
    for rubbish in ("{", "[]", '{"type": "grab"}', '{"type": "move", "target": [1, 2, 1e300]}'):
        live.page.socket.send(rubbish)
    live.page.socket.send(b"\x07")
    live.page.until(lambda s: s.time > here.time + 0.3)
    assert sum(w["type"] == "refused" for w in live.page.words) >= 5


def test_new_ground_meets_the_old_where_the_figure_is() -> None:
    flat = Terrain.flat().placed(origin=(0.0, 0.0), heading=0.0, ground=0.4)
    ground = ChangingGround(flat)
    here = np.array([2.0, 3.0, 1.3])
    ground.change(Hill(slope=20.0), here, 0.5)
    ahead = here[:2] + 0.5 * np.array([np.cos(0.5), np.sin(0.5)])
    height = ground.current.heights(np.stack([here[:2], ahead]))
    np.testing.assert_allclose(height, [0.4, 0.4 + 0.5 * np.tan(np.radians(20.0))])
    ground.change(Hill(roughness=0.3), np.array([*ahead, 0.0]), 0.5)
    assert ground.current.heights(ahead[None])[0] == pytest.approx(height[1])


def test_a_viewer_says_what_is_missing() -> None:
    with Viewer(is_opened=False) as viewer:
        with pytest.raises(poise.InvalidValue, match="show"):
            viewer.update(0.0, [])
        assert viewer.url.startswith("http://127.0.0.1:")
        assert "<iframe" in viewer._repr_html_()


def test_a_view_is_a_page_that_stands_alone(tmp_path: Any) -> None:
    motion = poise.load(poise.sample_path("walk")).frames(np.arange(60))
    seen = poise.view(motion, is_opened=False)
    inline = seen._repr_html_()
    assert inline.count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in inline
    assert "srcdoc=" in inline
    page = seen.save(tmp_path / "walk.html")
    assert page.stat().st_size < 1.2e6
