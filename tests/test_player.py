"""Recordings in a real browser, from a file, with the network off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.show.pack import pack
from poise.show.page import recording_page
from poise.show.scene import (
    GHOST,
    Box,
    Curve,
    Label,
    Layer,
    Plot,
    Points,
    Polygon,
    Prop,
    Row,
    Scene,
    Series,
    Style,
    Vectors,
)
from poise.terrain import Terrain
from tests.chromium import needs_browser, opened, pixels, projected, seek, still, until
from tests.clips import first_cases, sample_clip
from tests.record_figures import sliding_track

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_browser

TIMES = np.linspace(0.0, 4.0, 241)
PURPLE = (0.55, 0.1, 0.75)


def written(scene: Scene, folder: Path, name: str = "page.html") -> Path:
    path = folder / name
    path.write_text(recording_page(pack(scene), scene.title), encoding="utf-8")
    return path


def everything(title: str = "Everything") -> Scene:
    """A figure that slides over flat ground with one of each thing that is drawn."""
    figure = sliding_track(TIMES, speed=0.5)
    center = figure.positions[:, 0]
    count = len(TIMES)
    ground = center * [1.0, 1.0, 0.0]
    square = ground[:, None] + 0.3 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    still = np.tile(rotations.IDENTITY, (1, 1))
    overlays = (
        Points("com", "com", PURPLE, center[:, None], size=0.1),
        Points("cop", "cop", (0.1, 0.6, 0.7), ground[:, None], size=0.2, mark="ring"),
        Vectors(
            "forces", "forces", (0.1, 0.6, 0.4), ground[:, None], np.tile([0.0, 0.0, 700.0], (count, 1, 1)), "N", 1e-3
        ),
        Polygon("support", "support", (0.2, 0.7, 0.5), square),
        Curve("trail", "com", PURPLE, center, TIMES, "trail"),
        Curve(
            "arc", "flights", (0.9, 0.5, 0.1), center[:40] + np.array([0.0, 0.5, 0.5]), span=(0.0, 2.0), has_ticks=True
        ),
        Label("+3 frames", "flights", (0.2, 0.4, 0.8), center[20] + np.array([0.0, 0.0, 1.0]), (0.0, 2.0)),
    )
    return Scene(
        TIMES,
        (figure, sliding_track(TIMES, speed=0.4, name="reference", style=GHOST)),
        Terrain.flat(),
        title=title,
        props=(Prop("crate", (Box(np.zeros(3), np.full(3, 0.2)),), np.array([[1.0, 1.0, 0.2]]), still),),
        overlays=overlays,
        timeline=(
            Row("left foot", (0.9, 0.7, 0.4), spans=((0.5, 1.5, "contact"),)),
            Row("events", (0.8, 0.1, 0.2), marks=((2.0, "push"),)),
        ),
        plots=(
            Plot("Place", "m", (Series("x", (0.9, 0.5, 0.1), center[:, 0]),), ((1.0, "one meter"),)),
            Plot("Gap", "", (Series("a", (0.1, 0.1, 0.1), np.where(TIMES < 2.0, TIMES, np.nan)),)),
        ),
        layers=(Layer("com", "Center of mass"), Layer("flights", "Flights", False)),
        notes=("made by a test",),
    )


@first_cases(1, "what", ["#tool-theme", "#go-loop", "#speed", "#layers input"])
def test_space_plays_whatever_was_clicked_last(browser: Browser, tmp_path: Path, what: str) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        page.keyboard.press("l")
        page.focus(what)
        page.keyboard.press(" ")
        page.wait_for_function("window.poise.state.playing")
        page.keyboard.press(" ")
        page.wait_for_function("!window.poise.state.playing")


def test_a_recording_opens_from_a_file_without_network(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        assert page.title() == "Everything · Poise"
        assert page.inner_text("#title") == "Everything"
        state = page.evaluate("window.poise.state")
        assert state == {"time": 0, "duration": pytest.approx(4.0), "playing": False, "tracks": 3, "live": False}
        assert page.evaluate("performance.getEntriesByType('resource').length") == 0


@pytest.mark.long
def test_opening_draws_once_and_only_the_plots_in_sight(browser: Browser, tmp_path: Path) -> None:
    line = Series("x", (0.9, 0.5, 0.1), np.sin(TIMES))
    scene = replace(everything(), plots=tuple(Plot(f"plot {k}", "m", (line,)) for k in range(8)))
    drawn = "document.querySelectorAll('.uplot').length"
    with opened(browser, written(scene, tmp_path), size=(1280, 640)) as page:
        page.wait_for_timeout(100)  # what would draw again does so with the next picture
        assert page.evaluate("window.poise.stats.pictures") == 1
        assert 2 <= page.evaluate(drawn) <= 4
        assert page.evaluate("document.querySelectorAll('.plot').length") == 3
        page.click(".more")
        assert page.evaluate("document.querySelectorAll('.plot').length") == 8
        assert page.evaluate(drawn) < 8
        assert page.inner_text(".plot:last-child b") == "0"
        seek(page, TIMES[94])  # near a quarter turn
        assert page.inner_text(".plot:last-child b") == "1.000"  # words need no curve
        page.evaluate("document.querySelector('#plots').scrollTop = 9999")
        until(page, f"{drawn} === 8")


@pytest.mark.long
def test_the_button_for_more_plots_is_in_sight_on_a_low_page(browser: Browser, tmp_path: Path) -> None:
    line = Series("x", (0.9, 0.5, 0.1), np.sin(TIMES))
    scene = replace(everything(), plots=tuple(Plot(f"plot {k}", "m", (line,)) for k in range(8)))
    with opened(browser, written(scene, tmp_path), size=(1280, 480)) as page:
        below = "const [a, b] = ['.more', '#plots'].map(s => document.querySelector(s).getBoundingClientRect().bottom)"
        assert page.evaluate(f"(() => {{ {below}; return a - b; }})()") <= 0.5
        assert page.inner_text(".more") == "Show 5 more"


@pytest.mark.long
def test_shaders_asked_for_ahead_are_those_that_are_used(browser: Browser, tmp_path: Path) -> None:
    figure = sliding_track(TIMES, speed=0.5)
    ghost = sliding_track(TIMES, speed=0.4, name="reference", style=GHOST)
    ball = Points("com", "com", PURPLE, figure.positions[:, :1], size=0.1)
    ring = replace(ball, name="cop", mark="ring")
    square = Polygon("support", "support", PURPLE, figure.positions[:, :4])
    scene = Scene(TIMES, (figure, ghost), Terrain.flat(), overlays=(ball, ring, square))
    for options in ("shadows=0&aa=0", "shadows=1&aa=1"):
        with opened(browser, written(scene, tmp_path), options=options) as page:
            # a figure, a ghost and its depth, the ground, a ball, a ring, a square; shadows have one of their own
            assert page.evaluate("window.poise.stats.programs") == (8 if "shadows=1" in options else 7)


def test_joints_stand_where_kinematics_says(browser: Browser, tmp_path: Path) -> None:
    motion = sample_clip("walk")
    result = poise.simulate(motion, terrain=Terrain.rough(0.2, 3), pushes=[poise.Push("chest", (300.0, 0.0, 0.0), 1.0)])
    scene = poise.scene_of(result)
    with opened(browser, written(scene, tmp_path)) as page:
        for moment in (0.0, 1.3719, 4.0):
            seek(page, moment)
            for k, track in enumerate(scene.tracks):
                places, turns = scene.pose(k, moment)
                ask = "([what, k, n]) => [...Array(n).keys()].map(b => window.poise[what](k, b))"
                seen, drawn = (np.array(page.evaluate(ask, [what, k, len(places)])) for what in ("project", "pose"))
                names = [b.name for b in track.character.bodies]
                np.testing.assert_allclose(drawn[:, :3], places, atol=2e-4, err_msg=str(names))
                # two unit quaternions an angle apart differ by half of it, and the pack promises 0.01 degrees
                apart = np.minimum(*(np.linalg.norm(drawn[:, 3:] - sign * turns, axis=1) for sign in (1, -1)))
                assert apart.max() < 0.5 * np.radians(0.012)
                np.testing.assert_allclose(seen, projected(page, places), atol=1.0)


def test_the_figure_is_drawn_where_it_stands_and_hides_with_its_layer(browser: Browser, tmp_path: Path) -> None:
    orange = sliding_track(TIMES, style=Style("solid", (0.95, 0.45, 0.05)))
    with opened(browser, written(Scene(TIMES, (orange,), Terrain.flat()), tmp_path)) as page:
        seek(page, 2.0)
        width, height = page.evaluate("window.poise.view.box.slice(2)")
        x, y = page.evaluate("window.poise.project('hips')")
        before = pixels(page, int(width), int(height))
        red, _, blue = before[int(y), int(x)].astype(int)
        assert red > blue + 80
        assert page.evaluate("([x, y]) => window.poise.pick(x, y)", [x, y]) == {"track": 0, "body": 0}
        assert page.evaluate("window.poise.pick(5, 5)") is None
        page.evaluate("window.poise.layer('figure', false)")
        red, _, blue = pixels(page, int(width), int(height))[int(y), int(x)].astype(int)
        assert abs(red - blue) < 40


def changed(one: np.ndarray, other: np.ndarray) -> int:
    """How many pixels of two pictures differ."""
    return int((np.abs(one.astype(int) - other).max(axis=2) > 12).sum())


def test_every_layer_shows_something_and_its_box_hides_it(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path), size=(500, 340)) as page:
        seek(page, 1.0)
        page.click("#tool-layers")
        boxes = page.query_selector_all("#layers input")
        names = [b.get_attribute("data-layer") for b in boxes]
        assert {"figure", "reference", "com", "cop", "forces", "support", "flights"} <= set(names)
        before = pixels(page)
        for name, box in zip(names, boxes, strict=True):
            was_on = box.is_checked()
            assert was_on == (name != "flights")
            box.click()
            after = pixels(page)
            assert changed(before, after) > 20, name
            box.click()
            assert changed(before, pixels(page)) == 0, name


def test_the_timeline_and_the_plots_seek(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path), size=(1280, 700)) as page:
        place = page.evaluate("window.poise.plotPlace(0, 3)")
        page.mouse.click(*place)
        until(page, "Math.abs(window.poise.time - 3) < 0.02")
        assert float(page.inner_text(".plot b")) == pytest.approx(1.5, abs=0.02)  # x = 0.5 m/s · 3 s
        # hovering says the value there without going there
        x, y = page.evaluate("window.poise.plotPlace(0, 1)")
        page.mouse.move(x, y)
        until(page, "document.querySelector('.plot b').textContent.startsWith('0.5')")
        assert abs(page.evaluate("window.poise.time") - 3.0) < 0.02
        # the timeline, dragged from a quarter to three quarters
        box = page.locator("#timeline").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 10)
        page.mouse.down()
        first = page.evaluate("window.poise.time")
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 10, steps=4)
        page.mouse.up()
        last = page.evaluate("window.poise.time")
        assert last - first == pytest.approx(0.5 * 4.0 * box["width"] / (box["width"] - 80), rel=0.1)


@pytest.mark.long
def test_words_beside_a_flight_are_never_cut(browser: Browser, tmp_path: Path) -> None:
    """Wherever their place is in the picture, and however small it is, their box is whole within it."""
    figure = sliding_track(TIMES, speed=0.0)
    places = [[x, 0.0, z] for x in (-0.6, 0.0, 0.6) for z in (0.1, 1.0, 1.9)]
    words = "92 frames, ballistic 34 (−58) · 0.14 g"
    labels = tuple(Label(words, f"at {place}", (0.0, 0.0, 0.0), np.array(place)) for place in places)
    layers = tuple(Layer(label.layer, label.layer, is_on=False) for label in labels)
    scene = Scene(TIMES, (figure,), Terrain.flat(), overlays=labels, layers=layers)
    with opened(browser, written(scene, tmp_path), options="dpr=1&shadows=0&aa=0&theme=dark") as page:
        for size in ((900, 560), (200, 300)):
            without = pixels(page, *size).astype(int)
            for layer in layers:
                page.evaluate("name => window.poise.layer(name, true)", layer.name)
                changed = np.abs(pixels(page, *size) - without).max(axis=2) > 4
                page.evaluate("name => window.poise.layer(name, false)", layer.name)
                rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
                assert len(rows), f"the words {layer.name} are not in the picture"
                assert min(rows[0], columns[0]) > 1, (layer.name, size)
                assert rows[-1] < size[1] - 2, (layer.name, size)
                assert columns[-1] < size[0] - 2, (layer.name, size)


def test_keys(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        frame = 4.0 / 240

        def after(*keys: str) -> float:
            for key in keys:
                page.keyboard.press(key)
            return page.evaluate("window.poise.time")

        assert after("ArrowRight", "ArrowRight") == pytest.approx(2 * frame, abs=1e-5)
        assert after("ArrowLeft") == pytest.approx(frame, abs=1e-5)
        assert after("Shift+ArrowRight") == pytest.approx(frame + 0.1, abs=1e-5)
        assert after("End") == pytest.approx(4.0, abs=1e-5)
        assert after("Home") == 0.0
        page.keyboard.press("Space")
        until(page, "window.poise.time > 0.05")
        page.keyboard.press("Space")
        stopped = page.evaluate("window.poise.state")
        assert not stopped["playing"]
        theme = page.evaluate("document.documentElement.dataset.theme")
        page.keyboard.press("d")
        assert page.evaluate("document.documentElement.dataset.theme") != theme


@pytest.mark.long
def test_a_still_page_draws_nothing(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        seek(page, 1.0)
        still(page, "window.poise.stats.pictures")


@pytest.mark.long
def test_names_show_on_hover(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        x, y = page.evaluate("window.poise.project(0, 'left_foot')")
        page.mouse.move(x, y)
        page.wait_for_selector("#tip:not([hidden])")
        assert page.inner_text("#tip") == "left_foot · figure"
        page.mouse.move(*page.evaluate("window.poise.project(2, 0)"))
        until(page, "document.querySelector('#tip').textContent === 'crate'")  # and not "crate · crate"


@pytest.mark.long
def test_two_views_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    from dataclasses import replace

    tracks = (sliding_track(TIMES, name="a"), replace(sliding_track(TIMES, speed=-2.0, name="b"), view=1))
    scene = Scene(TIMES, tracks, Terrain.flat(), views=("first", "second"))
    with opened(browser, written(scene, tmp_path)) as page:
        seek(page, 2.0)
        (left, _), (right, _) = (page.evaluate("k => window.poise.project(k, 0)", k) for k in (0, 1))
        width = page.evaluate("window.poise.view.box[2]")
        # each in the middle of its half, however far they have walked apart
        assert left == pytest.approx(0.25 * width, abs=0.06 * width)
        assert right == pytest.approx(0.75 * width, abs=0.06 * width)
        for k in (0, 1):
            x, y = page.evaluate("k => window.poise.project(k, 0)", k)
            assert page.evaluate("([x, y]) => window.poise.pick(x, y)", [x, y])["track"] == k
        assert page.locator(".view-name").all_inner_texts() == ["first", "second"]
    # on a narrow page they stand above each other
    with opened(browser, tmp_path / "page.html", size=(400, 800)) as page:
        seek(page, 2.0)
        places = [page.evaluate("k => window.poise.project(k, 0)", k) for k in (0, 1)]
        assert abs(places[0][0] - places[1][0]) < 30
        assert places[1][1] - places[0][1] > 200
        assert [page.evaluate("([x, y]) => window.poise.pick(x, y)", p)["track"] for p in places] == [0, 1]


@pytest.mark.long
def test_a_picture_takes_its_size_and_its_camera(browser: Browser, tmp_path: Path) -> None:
    with opened(browser, written(everything(), tmp_path)) as page:
        assert pixels(page, 320, 180).shape == (180, 320, 3)
        usual = pixels(page)
        page.evaluate("window.poise.camera({eye: [0, -3, 1], target: [0, 0, 1], fov: 20})")
        assert changed(pixels(page), usual) > 5000
        page.evaluate("window.poise.camera(null)")
        assert changed(pixels(page), usual) == 0


def test_five_minutes_at_120_hz_scrub(browser: Browser, tmp_path: Path) -> None:
    times = np.arange(36_000) / 120.0
    scene = Scene(times, (sliding_track(times, speed=0.3),), Terrain.flat())
    with opened(browser, written(scene, tmp_path)) as page:
        for moment in (299.0, 0.5, 150.0):
            seek(page, moment)
            x = page.evaluate("window.poise.pose(0, 'hips')[0]")
            assert x == pytest.approx(0.3 * moment, abs=1e-3)
        # what lies between was never unpacked
        assert page.evaluate("window.poise.chunks") <= 12


def test_a_phone_shows_it_whole(browser: Browser, tmp_path: Path) -> None:
    path = written(everything("A rather long title that a narrow screen must break into lines"), tmp_path)
    with opened(browser, path, size=(360, 640), has_touch=True, is_mobile=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        for name in ("#go-play", "#tool-layers", "#timeline"):
            box = page.locator(name).bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
            assert box["y"] + box["height"] <= 640
        page.tap("#go-play")
        until(page, "window.poise.time > 0.02")
