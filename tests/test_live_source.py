"""Anything that steps can be shown live: a crate on a spring beside a figure, with a slider, a switch, a choice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

pytest.importorskip("websockets")

from poise.core import rotations
from poise.core.errors import InvalidValue, SimulationDiverged
from poise.filter.forces import Hand
from poise.show.live import LiveRun, allowed
from poise.show.page import has_page
from poise.show.protocol import Moment
from poise.show.scene import Box, Control, Prop, Scene
from poise.show.viewer import Viewer
from poise.terrain import Terrain
from tests.live_pages import Page
from tests.record_figures import sliding_track

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")

DT, MASS = 0.02, 20.0
ONCE = np.zeros(1)


@dataclass(frozen=True)
class Ended:
    is_complete: bool
    steps: int


class Crate:
    """A crate on a weak spring; the figure only stands there. A `Source`."""

    controls = (
        Control("wind", "Wind", low=-10.0, high=10.0, unit="N"),
        Control("fixed", "Fixed", "toggle", False),
        Control("size", "Size", "choice", "small", choices=("small", "large")),
    )

    def __init__(self) -> None:
        self.figure = sliding_track(ONCE)
        self.values: dict[str, Any] = {}
        self.rounds, self.resized, self.diverges = 0, False, False
        self.begin()

    def begin(self) -> None:
        self.time, self.place, self.velocity = 0.0, np.array([1.0, 0.0, 0.25]), np.zeros(3)
        self.felt: list[Any] = []

    def play(self, watch: Callable[[], bool]) -> Ended:
        self.rounds += 1
        for step in range(10_000):
            force = np.array([self.values.get("wind", 0.0), 0.0, 0.0]) - 50.0 * (self.place - [1.0, 0.0, 0.25])
            for hand in self.felt:
                force = force + (hand.force_at(self.place, self.velocity, self.time, MASS) if hand.is_held else 0.0)
            self.velocity = 0.98 * self.velocity + DT * force / MASS
            self.place = self.place + DT * self.velocity
            self.time += DT
            if self.diverges:
                self.diverges = False
                raise SimulationDiverged("The crate flew off.", frame=3, reason="flew off")
            if not watch():
                return Ended(False, step)
        return Ended(True, 10_000)

    def scene(self) -> Scene:
        self.resized = False
        side = 0.4 if self.values.get("size") == "large" else 0.25
        shapes = (Box(np.zeros(3), np.full(3, side)),)
        crate = Prop("crate", shapes, self.place[None], rotations.IDENTITY[None], mass=MASS, is_draggable=True)
        return Scene(ONCE, (self.figure,), Terrain.flat(), title="Crate", props=(crate,))

    def is_changed(self) -> bool:
        return self.resized

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        poses = ((self.figure.positions[0], self.figure.orientations[0]), (self.place[None], rotations.IDENTITY[None]))
        return Moment(self.time, poses, is_paused=is_paused)

    def grab(self, track: int, body: int, point: np.ndarray, target: np.ndarray) -> Hand:
        if (track, body) != (1, 0):
            raise InvalidValue("Only the crate can be held.")
        self.felt.append(Hand("crate", 0, point, target, MASS, self.time))
        return self.felt[-1]

    def push(self, track: int, body: int, force: np.ndarray, seconds: float) -> str:
        self.velocity = self.velocity + seconds * force / MASS
        return "crate"

    def set(self, name: str, value: float | bool | str) -> None:
        self.values[name] = value
        self.resized |= name == "size"


@dataclass
class Running:
    crate: Crate
    run: LiveRun[Ended]
    page: Page


@pytest.fixture
def live() -> Iterator[Running]:
    crate, results = Crate(), list[Ended | None]()
    with Viewer(is_opened=False) as viewer:
        run = LiveRun(crate, viewer)
        thread = threading.Thread(target=lambda: results.append(run.play()))
        thread.start()
        page = Page(viewer, bodies=6)
        page.until(lambda s: s.time > 0.1)
        yield Running(crate, run, page)
        run.stop()
        thread.join(30.0)
        page.socket.close()
    assert results[0] is not None
    assert not results[0].is_complete


def test_a_thing_is_dragged(live: Running) -> None:
    live.page.ask(type="grab", track=1, body=0, point=[0, 0, 0], target=[1.0, 2.0, 0.25])
    live.page.until(lambda s: s.positions[5, 1] > 0.5)
    live.page.ask(type="grab", track=0, body=0, point=[0, 0, 0], target=[0, 0, 0])  # refused, and so lets go
    live.page.until(lambda s: any(w.get("why") == "Only the crate can be held." for w in live.page.words))
    assert not live.crate.felt[0].is_held
    assert [w["track"] for w in live.page.words if w["type"] == "grabbed"] == [1]


def test_named_values_reach_it_and_a_changed_scene_is_shown(live: Running) -> None:
    live.page.ask(type="set", name="wind", value=9.0)
    live.page.until(lambda s: s.positions[5, 0] > 1.02)
    scenes = live.page.scenes
    live.page.ask(type="set", name="size", value="large")
    live.page.ask(type="set", name="fixed", value=True)
    live.page.until(lambda s: live.page.scenes == scenes + 1)
    live.page.until(lambda s: any(w.get("values", {}).get("fixed") for w in live.page.words))
    status = [w for w in live.page.words if w["type"] == "status"][-1]
    assert status["values"] == {"wind": 9.0, "size": "large", "fixed": True}
    live.page.ask(type="set", name="size", value="huge")
    live.page.until(lambda s: any("choose one of small, large" in w.get("why", "") for w in live.page.words))
    assert live.crate.values["size"] == "large"


def test_a_round_that_falls_apart_begins_again_and_keeps_its_values(live: Running) -> None:
    live.page.ask(type="set", name="wind", value=3.0)
    live.page.until(lambda s: live.crate.values.get("wind") == 3.0)
    live.crate.diverges = True
    live.page.until(lambda s: any("diverged" in w.get("label", "") for w in live.page.words))
    live.page.until(lambda s: live.crate.rounds == 2 and s.time > 0.05)
    assert live.crate.values["wind"] == 3.0


def test_a_control_takes_what_it_says() -> None:
    slider, toggle, choice = Crate.controls
    ground = Control("there", "Walk there", "ground", "")
    assert allowed((ground,), "there", "1,2 3,-4.5") == "1,2 3,-4.5"
    assert allowed((slider,), "wind", -10.0) == -10.0
    assert allowed((toggle,), "fixed", True) is True
    assert allowed((choice,), "size", "large") == "large"
    for controls, name, value, said in (
        ((slider,), "wind", 10.1, "-10 to 10"),
        ((slider,), "wind", True, "a number"),
        ((toggle,), "fixed", 1.0, "true or false"),
        ((choice,), "size", "huge", "small, large"),
        ((ground,), "there", "1,2 3", "places in meters"),
        ((ground,), "there", "nan,2", "places in meters"),
        ((), "wind", 1.0, "Values: none"),
    ):
        with pytest.raises(InvalidValue, match=said):
            allowed(controls, name, value)
