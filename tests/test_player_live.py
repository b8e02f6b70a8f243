"""The live page in a real browser: what moves comes in, what the viewer does goes out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import poise
from poise.show.scene import Control, Plot, Points, Row, Scene, Series, Vectors
from poise.terrain import Terrain
from tests.chromium import needs_browser, opened, pixels, still, until
from tests.clips import first_cases, sample_clip
from tests.record_figures import sliding_track

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from poise.show.viewer import Viewer

pytestmark = [needs_browser]
pytest.importorskip("websockets", reason="the extra 'studio' is not installed")

ONCE = np.array([0.0])


def live_scene(title: str = "Live") -> Scene:
    figure = sliding_track(ONCE)
    return Scene(
        ONCE,
        (figure,),
        Terrain.flat(),
        title=title,
        overlays=(Points("com", "com", (0.5, 0.1, 0.8), figure.positions[:, :1], size=0.1),),
        plots=(Plot("Height", "m", (Series("z", (0.5, 0.1, 0.8), np.zeros(1)),)),),
        controls=(Control("slope", "Slope", low=-30.0, high=30.0, step=1.0, unit="deg"),),
    )


class Feed:
    """Sends a figure that stands wherever `place` says, 50 times a second, and keeps what the pages ask for."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer
        self.place = np.zeros(3)
        self.time = 0.0
        self.paused = False
        self.commands: list[Any] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        viewer.show(live_scene())
        self._thread.start()

    def _run(self) -> None:
        track = sliding_track(ONCE)
        while not self._ended.wait(0.02):
            self.time += 0.02
            places = track.positions[0] + self.place
            poses = [(places, track.orientations[0])]
            self.viewer.update(
                self.time, poses, overlays=[places[:1]], values=[float(places[0, 2])], is_paused=self.paused
            )
            self.commands += self.viewer.commands()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def asked(self, kind: str, seconds: float = 60.0, until: Callable[[Any], bool] = lambda fields: True) -> Any:
        """The fields of the last command of a kind, once there is one that will do."""
        last = time.monotonic() + seconds
        while time.monotonic() < last:
            found = [c for c in self.commands if c.kind == kind]
            if found and until(found[-1].fields):
                return found[-1].fields
            time.sleep(0.02)
        raise AssertionError(f"no {kind!r} among {[c.kind for c in self.commands]}")


@contextmanager
def fed(**viewer: Any) -> Iterator[Feed]:
    with poise.Viewer(is_opened=False, **viewer) as view:
        feed = Feed(view)
        try:
            yield feed
        finally:
            feed.stop()


def test_states_are_drawn_and_acknowledged(browser: Browser) -> None:
    with fed() as feed, opened(browser, feed.viewer.url) as page:
        until(page, "window.poise.stats.acks > 5")
        counts = page.evaluate("window.poise.stats")
        assert counts["scenes"] == 1
        assert 0 <= counts["frames"] - counts["acks"] <= 1
        feed.place = np.array([0.0, 0.5, 0.0])
        until(page, "Math.abs(window.poise.pose('hips')[1] - 0.5) < 1e-6")
        before = pixels(page)
        assert len(np.unique(before.reshape(-1, 3), axis=0)) > 100
        assert page.evaluate("window.poise.state.live")
        assert "0.8" in page.inner_text("#plots") or page.is_hidden("#plots")


def test_a_body_is_dragged_by_the_mouse(browser: Browser) -> None:
    with fed() as feed, opened(browser, feed.viewer.url) as page:
        x, y = page.evaluate("window.poise.project('hips')")
        page.mouse.move(x, y - 20)
        page.mouse.down()
        taken = feed.asked("grab")
        assert (taken["track"], taken["body"]) == (0, 0)
        start = np.array(taken["target"])
        # the held point is in the body's frame: on the surface of the trunk
        assert np.linalg.norm(np.array(taken["point"]) + np.array([0.0, 0.0, 0.8]) - start) < 1e-3
        page.mouse.move(x + 120, y - 20, steps=5)
        far = feed.asked("move", until=lambda fields: bool(np.linalg.norm(np.array(fields["target"]) - start) > 0.2))
        moved = np.array(far["target"])
        view = page.evaluate("window.poise.view")
        away = np.array(view["target"]) - np.array(view["eye"])
        assert abs((moved - start) @ away) / np.linalg.norm(away) < 0.02  # across the view, not into it
        assert not any(c.kind == "release" for c in feed.commands)
        page.mouse.up()
        feed.asked("release")
        # a drag on the empty ground turns the camera and asks for nothing
        feed.commands.clear()
        eye = page.evaluate("window.poise.view.eye")
        page.mouse.move(60, 500)
        page.mouse.down()
        page.mouse.move(160, 480, steps=4)
        page.mouse.up()
        until(page, f"Math.hypot(...window.poise.view.eye.map((v, k) => v - {eye}[k])) > 0.1")
        assert not feed.commands


def test_a_click_a_path_and_keys_lead_where_the_ground_is_a_control(browser: Browser) -> None:
    sliders = [Control(name, name, value=0.5, low=-90.0, high=90.0, step=0.1) for name in ("speed", "turn")]
    with fed() as feed:
        feed.viewer.show(replace(live_scene(), controls=(*sliders, Control("there", "Walk there", "ground", ""))))
        with opened(browser, feed.viewer.url) as page:
            until(page, "document.querySelector('#controls').innerText.includes('Walk there')")
            x, y = page.evaluate("window.poise.project('hips')")
            page.mouse.click(x + 150, y + 120)
            asked = feed.asked("set", until=lambda fields: fields["name"] == "there")
            place = np.array([float(v) for v in asked["value"].split(",")])
            assert 0.3 < np.linalg.norm(place) < 10.0
            feed.commands.clear()
            page.mouse.move(x + 120, y + 90)
            page.mouse.down()
            page.mouse.move(x + 250, y + 60, steps=4)
            page.mouse.up()  # turned the camera
            page.wait_for_timeout(300)
            assert not feed.commands
            page.keyboard.down("Shift")
            page.mouse.move(x - 150, y + 120)
            page.mouse.down()
            page.mouse.move(x + 200, y + 120, steps=12)
            page.mouse.up()
            page.keyboard.up("Shift")
            drawn = feed.asked("set", until=lambda fields: fields["name"] == "there")["value"].split()
            assert len(drawn) > 3
            page.keyboard.down("a")
            feed.asked("set", until=lambda fields: fields == {"name": "turn", "value": 60.0})
            page.keyboard.up("a")
            feed.asked("set", until=lambda fields: fields == {"name": "turn", "value": 0.0})
            page.keyboard.press("w")
            feed.asked("set", until=lambda fields: fields == {"name": "speed", "value": 0.6})
            # what the server says of the press before is late, and takes nothing back
            feed.viewer.say(type="status", paused=False, speed=1.0, values={"speed": 0.5}, ended=False)
            page.wait_for_timeout(200)
            page.keyboard.press("w")
            feed.asked("set", until=lambda fields: fields == {"name": "speed", "value": 0.7})


def test_buttons_and_sliders_speak(browser: Browser) -> None:
    with fed() as feed, opened(browser, feed.viewer.url) as page:
        page.click("#go-play")
        assert feed.asked("pause") == {"on": True}
        feed.paused = True
        until(page, "document.querySelector('#go-play').dataset.icon === 'play'")
        page.click("#go-on")
        feed.asked("step")
        page.click("#go-loop")
        feed.asked("restart")
        page.select_option("#speed", "0.5")
        assert feed.asked("speed") == {"value": 0.5}
        slider = page.locator("input[data-control=slope]")
        slider.focus()
        slider.press("ArrowRight")
        assert feed.asked("set") == {"name": "slope", "value": 1.0}
        feed.viewer.say(type="status", paused=True, speed=1.0, values={"slope": 12}, ended=False)
        page.locator("#views").click(position={"x": 5, "y": 5})
        until(page, "document.querySelector('input[data-control=slope]').value === '12'")


@pytest.mark.long
def test_two_pages_see_the_same_and_a_new_scene_keeps_the_camera(browser: Browser) -> None:
    wide = (1280, 640)  # with plots
    with fed() as feed, opened(browser, feed.viewer.url, size=wide) as one, opened(browser, feed.viewer.url) as other:
        feed.place = np.array([0.3, 0.0, 0.0])
        for page in (one, other):
            until(page, "Math.abs(window.poise.pose('hips')[0] - 0.3) < 1e-6")
        one.evaluate("window.poise.layer('com', false)")
        distance = "Math.hypot(...window.poise.view.eye.map((v, k) => v - window.poise.view.target[k]))"
        one.mouse.move(450, 250)
        one.mouse.wheel(0, 400)
        still(one, distance)
        before, known = one.evaluate(distance), one.evaluate("window.poise.time")
        feed.viewer.show(live_scene("Another"))
        until(one, "document.querySelector('#title').textContent === 'Another'")
        assert one.evaluate(distance) == pytest.approx(before, rel=0.05)
        assert not one.is_checked("#layers input[data-layer=com]")
        until(one, f"window.poise.time > {known} + 0.2")
        left = "document.querySelector('.u-over').getBoundingClientRect().left"
        assert one.evaluate(f"window.poise.plotPlace(0, {known})[0] > {left}"), "the plots go on"


@pytest.mark.long
def test_it_comes_back_after_the_server_starts_again(browser: Browser) -> None:
    with fed(token="a-token-for-this-test-only") as feed:
        url = feed.viewer.url
        port = int(url.split(":")[2].split("/")[0])
        with browser.new_context() as held:
            page: Page = held.new_page()
            page.goto(url)
            page.evaluate("window.poise.ready")
            feed.stop()
            feed.viewer.close()
            until(page, "!document.querySelector('#notice').hidden")
            with fed(port=port, token="a-token-for-this-test-only"):
                until(page, "window.poise.stats.scenes === 2 && document.querySelector('#notice').hidden")


def test_a_live_page_shows_contacts_looks_back_and_goes_on(browser: Browser) -> None:
    """Twenty states of a figure that moves 10 cm each; its foot stands in the first ten."""
    track = sliding_track(ONCE)
    rows = (Row("left leg", (0.9, 0.6, 0.2)),)
    with poise.Viewer(is_opened=False) as viewer, opened(browser, viewer.url, is_ready=False) as page:
        viewer.show(Scene(ONCE, (track,), Terrain.flat(), title="Live", timeline=rows))
        for k in range(20):
            places = track.positions[0] + np.array([0.1 * k, 0.0, 0.0])
            viewer.update(0.1 * k, [(places, track.orientations[0])], rows=(k < 10,))
            until(page, f"window.poise.stats.frames === {k + 1}")
        (row,) = page.evaluate("window.poise.rows")
        assert row["name"] == "left leg"
        np.testing.assert_allclose([span[:2] for span in row["spans"]], [[0.0, 0.9]], atol=1e-6)
        place = "window.poise.pose('hips')[0]"
        newest = page.evaluate(place)
        page.evaluate("window.poise.seek(0.52)")
        assert page.evaluate("window.poise.time") == pytest.approx(0.5)
        assert page.evaluate(place) == pytest.approx(newest - 1.4, abs=1e-5)
        assert "1.40 s ago" in page.inner_text("#notice")
        assert any(c.kind == "pause" and c.fields == {"on": True} for c in viewer.commands())
        page.keyboard.press("ArrowRight")
        assert page.evaluate("window.poise.time") == pytest.approx(0.6)
        x, y = page.evaluate("window.poise.project('hips')")  # what is past cannot be held
        page.mouse.move(x, y - 20)
        page.mouse.down()
        page.mouse.up()
        page.keyboard.press(" ")
        assert page.evaluate(place) == pytest.approx(newest, abs=1e-5)
        assert page.is_hidden("#notice")
        page.wait_for_timeout(100)
        assert not any(c.kind == "grab" for c in viewer.commands())


@pytest.mark.long
def test_the_force_of_a_hand_stands_beside_it(browser: Browser) -> None:
    track = sliding_track(ONCE)
    hidden = np.full((1, 2, 3), np.nan)
    hand = Vectors("hand", "pushes", (0.8, 0.1, 0.2), hidden, hidden, "N", 0.001)
    with poise.Viewer(is_opened=False) as viewer, opened(browser, viewer.url, is_ready=False) as page:
        viewer.show(Scene(ONCE, (track,), Terrain.flat(), overlays=(hand,)))

        def update(at: float, force: list[float]) -> None:
            arrows = np.full((2, 6), np.nan)
            arrows[0] = [0.0, 0.0, 1.0, *force]
            viewer.update(at, [(track.positions[0], track.orientations[0])], overlays=[arrows])

        update(0.0, [0.0, 0.0, 0.0])
        until(page, "window.poise.stats.frames === 1")
        x, y = page.evaluate("window.poise.project('hips')")
        page.mouse.move(x, y - 20)
        page.mouse.down()
        update(0.1, [120.0, 0.0, 160.0])
        until(page, "window.poise.stats.frames === 2")
        assert page.inner_text("#tip") == "hips · 200 N ≈ 20.4 kg"
        page.mouse.up()
        assert page.is_hidden("#tip")


@pytest.mark.long
def test_a_dragged_figure_answers(browser: Browser) -> None:
    """The whole way: mouse, socket, spring, simulation, and the pose that comes back."""
    from poise.show.live import LiveRun
    from poise.show.live_clip import LiveClip

    motion = sample_clip("walk")
    character = poise.Character.fit(motion)
    chest = character.bodies[character.roles["chest"]].name
    with poise.Viewer(is_opened=False) as viewer:
        run = LiveRun(LiveClip(motion, character), viewer)
        playing = threading.Thread(target=run.play, daemon=True)
        playing.start()
        gap = f"""Math.hypot(...window.poise.pose('simulated', '{chest}').slice(0, 3)
            .map((v, k) => v - window.poise.pose('original', '{chest}')[k]))"""
        try:
            with opened(browser, viewer.url) as page:
                until(page, "window.poise.stats.frames > 3", seconds=60)
                assert page.evaluate(gap) < 0.01
                x, y = page.evaluate("name => window.poise.project(name)", chest)
                page.mouse.move(x, y - 5)
                page.mouse.down()
                page.mouse.move(x + 150, y - 30, steps=6)
                until(page, f"{gap} > 0.04", seconds=60)
                page.mouse.up()
        finally:
            run.stop()
            playing.join(30)


@first_cases(1, "moves", [True, False])
def test_ground_that_moves_moves_in_a_live_page(browser: Browser, tmp_path: Any, moves: bool) -> None:
    """A platform comes up by 40 cm between two states of a figure that stands still."""
    keys = tmp_path / "lift.csv"
    keys.write_text(f"time,x,y,z\n0,0,0,0\n1,0,0,{0.4 if moves else 0.0}\n", encoding="utf-8")
    track = sliding_track(ONCE)
    terrain = Terrain.platform(keys).placed(origin=(0.0, 0.0), heading=0.0, ground=0.0)
    with poise.Viewer(is_opened=False) as viewer, opened(browser, viewer.url, is_ready=False) as page:
        viewer.show(Scene(ONCE, (track,), terrain, title="Lift"))
        seen = []
        for time_ in (0.0, 1.0):
            viewer.update(time_, [(track.positions[0], track.orientations[0])])
            until(page, f"window.poise.stats.frames > 0 && window.poise.time === {time_}")
            seen.append(pixels(page))
    changed = (np.abs(seen[0].astype(int) - seen[1]).max(axis=2) > 8).mean()
    assert changed > 0.02 if moves else changed == 0.0  # the sunken legs and the lines of the grid


@pytest.mark.long
def test_on_a_narrow_page_the_controls_hide_nothing_of_the_scene(browser: Browser) -> None:
    with fed() as feed, opened(browser, feed.viewer.url, size=(390, 780)) as page:
        until(page, "window.poise.stats.acks > 2")
        views, controls = (
            page.evaluate(
                f"(r => [r.left, r.top, r.right, r.bottom])(document.querySelector('{name}').getBoundingClientRect())"
            )
            for name in ("#views", "#controls")
        )
        assert controls[3] > controls[1]  # it is shown
        assert views[3] <= controls[1] + 1.0
        assert views[3] - views[1] > 300.0
        until(
            page,
            "document.querySelector('#views canvas').clientHeight === document.querySelector('#views').clientHeight",
        )


@pytest.mark.long
@pytest.mark.parametrize("size", [(700, 450), (390, 800)])
def test_on_a_small_page_the_controls_of_a_walk_are_not_cut(browser: Browser, size: tuple[int, int]) -> None:
    names = ("Speed", "Direction, left of ahead", "Turn to the left")
    controls = (
        *(Control(name, name, low=-1.0, high=1.0) for name in names),
        Control("ground", "Click on the ground to walk there; draw a path with Shift. W A S D steer.", kind="ground"),
        Control("drive", "walker is driven by", kind="choice", value="walking", choices=("walking", "nothing")),
        Control("keep", "Keep what happened, and start again", kind="button"),
    )
    with fed() as feed:
        feed.viewer.show(replace(live_scene(), controls=controls))
        with opened(browser, feed.viewer.url, size=size) as page:
            until(page, "window.poise.stats.acks > 2 && document.querySelector('#controls button')")
            cut = page.evaluate("(c => c.scrollHeight - c.clientHeight)(document.querySelector('#controls'))")
            assert cut <= 1
