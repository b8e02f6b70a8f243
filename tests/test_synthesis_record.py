"""Recordings of synthesized runs: what their scenes say, and pages of them in a real browser."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import poise
from poise.body.posing import body_positions
from poise.core.units import GRAVITY
from poise.goals.conditions import For, Lying, Not
from poise.goals.objectives import ComOver, Land, Still
from poise.goals.state_machine import ControlState, Part, StateMachine
from poise.show.motion_scene import skins_of
from poise.show.scene import Points, Polygon, Scene, Vectors
from poise.show.synthesis_scene import GONE, scene_of_synthesis
from poise.synthesis.behaviors.balance import POSTURE
from poise.synthesis.run import SynthesisResult
from poise.synthesis.scene_file import scene_of
from tests import clips
from tests.chromium import PATH, needs_browser, opened, seek

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOM = """
schema = "poise.scene/1"
[[walls]]
name = "wall"
place = [0.9, 0.0, 1.2]
facing = [-1.0, 0.0, 0.0]
[[boxes]]
name = "crate"
place = [-0.9, 0.0, 0.2]
sides = [0.4, 0.6, 0.3]
[[bars]]
name = "bar"
start = [0.0, -1.0, 2.3]
end = [0.0, 1.0, 2.3]
[[balls]]
name = "ball"
[[events]]
throw = "ball"
time = 0.1
place = [2.0, 1.5, 1.2]
velocity = [-4.0, 0.0, 2.0]
[[events]]
remove = "wall"
time = 0.3
[[events]]
move = "bar"
keys = [{ time = 0.1 }, { time = 0.4, shift = [0.2, 0.0, 0.0] }]
"""
BREATHING = StateMachine(
    "breathing", (ControlState("in", (Still(0.001),), For(0.2), ("out",)), ControlState("out", (Still(0.001),)))
)


@cache
def made() -> SynthesisResult:
    """Half a second of standing, shoved a little, in a room with everything; a machine works inside the state."""
    machine = StateMachine(
        "stand", (ControlState("stand", (ComOver(0.3), *POSTURE, Land(0.2)), Not(Lying()), inside=(Part(BREATHING),)),)
    )
    push = poise.Push("chest", (40.0, 0.0, 0.0), 0.1, 0.1)
    return poise.synthesize(machine, pushes=[push], seconds=0.5, scene=scene_of(ROOM))


@cache
def shown() -> Scene:
    return scene_of_synthesis(made())


def test_the_figure_is_where_it_was() -> None:
    scene, result = shown(), made()
    assert len(scene.times) == 51
    assert scene.tracks[0].positions == pytest.approx(body_positions(result.character, result.q))
    assert scene.title == "poise synthesize stand · chest 40 0 0 N @0.1+0.1"


def test_a_camera_looks_past_walls_and_a_title_says_what_was_changed() -> None:
    behind = poise.synthesize("wall", options={"wall.distance": 0.5, "wall.direction": -90.0}, seconds=0.02)
    seen = scene_of_synthesis(behind)
    assert seen.title == "poise synthesize wall · wall.distance=0.5 · wall.direction=-90"
    assert seen.camera == "back", "a quarter and a side view would look through the wall to the right"
    assert scene_of_synthesis(poise.synthesize("wall", seconds=0.02)).camera == "side"
    assert scene_of_synthesis(poise.synthesize("balance", seconds=0.02)).camera == "quarter"


def test_things_stand_move_and_go() -> None:
    props = {p.name: p for p in shown().props}
    assert list(props) == ["wall", "crate", "bar", "ball"]
    wall, crate, bar, ball = props.values()
    assert wall.is_clear
    assert wall.positions[29] == pytest.approx([0.9, 0.0, 1.2])
    assert (wall.positions[30:, 2] == GONE).all()
    assert not crate.is_clear
    assert len(crate.shapes) == 6
    assert crate.positions.shape == (1, 3)
    assert bar.positions[-1] - bar.positions[0] == pytest.approx([0.2, 0.0, 0.0])
    assert ball.positions[5] == pytest.approx([2.0, 1.5, 1.2])
    # free flight from 0.1 s on, by steps of 0.01 s
    t = 0.01 * (40 - 10)
    fallen = 0.5 * GRAVITY * t * (t + 0.01)
    assert ball.positions[40] == pytest.approx([2.0 - 4.0 * t, 1.5, 1.2 + 2.0 * t - fallen], abs=1e-6)


def test_forces_and_polygon_are_those_of_the_solver() -> None:
    scene, result = shown(), made()
    weight = result.character.mass * GRAVITY
    forces = next(o for o in scene.overlays if isinstance(o, Vectors))
    assert np.nansum(forces.vectors[5, :, 2]) == pytest.approx(weight, rel=0.02)
    polygon = next(o for o in scene.overlays if isinstance(o, Polygon))
    com = next(o for o in scene.overlays if isinstance(o, Points) and o.name.startswith("center of mass"))
    # drawn where three points press; on its heels alone a figure has none
    pressing = (result.trace.forces[:, :, 2] > 1.0).sum(axis=1)
    drawn = np.asarray(np.isfinite(polygon.vertices).all(axis=(1, 2)))
    assert drawn.any()
    assert (pressing[drawn[:-1]] >= 3).all()
    k = int(np.flatnonzero(drawn)[-1])
    assert polygon.vertices[k, :, 2] == pytest.approx(0.0, abs=1e-3)
    low, high = polygon.vertices[k].min(axis=0), polygon.vertices[k].max(axis=0)
    assert (low[:2] < com.positions[k, 0, :2]).all()
    assert (com.positions[k, 0, :2] < high[:2]).all()
    assert high[1] - low[1] > 0.2, "both feet"


def test_the_timeline_tells_states_pushes_and_events() -> None:
    rows = {r.name: r for r in shown().timeline}
    assert rows["states"].spans == ((0.0, pytest.approx(0.5), "stand"),)
    inside = rows["states inside"].spans
    assert [word for _, _, word in inside] == ["in", "out"]
    assert inside[0][1] == pytest.approx(0.2, abs=0.0101)
    assert rows["pushes"].spans == ((0.1, pytest.approx(0.2), "chest, 40 N"),)
    assert [word for _, word in rows["events"].marks] == ["ball is thrown", "wall is gone"]
    assert [p.name for p in shown().plots][:2] == [
        "Height of the center of mass",
        "Largest torque, in parts of its limit",
    ]
    assert shown().plots[3].series[0].values.max() < 1e-6


def test_two_figures_have_their_own_tracks_and_rows() -> None:
    scene = scene_of_synthesis(poise.synthesize("hands", seconds=0.05))
    assert [t.name for t in scene.tracks] == ["child", "adult"]
    assert {"child: states", "adult: states"} <= {r.name for r in scene.timeline}
    assert [s.name for s in scene.plots[0].series] == ["child", "adult"]
    assert scene.plots[0].series[0].values[0] < scene.plots[0].series[1].values[0]


def test_a_strip_without_a_browser_shows_figure_and_things(tmp_path: Path) -> None:
    from PIL import Image

    from poise.show import record

    made_of = {}
    for name, scene in (("all", shown()), ("bare", replace(shown(), props=()))):
        record(scene, tmp_path / f"{name}.png", times=[0.2], painter="plain", camera="quarter")
        made_of[name] = np.asarray(Image.open(tmp_path / f"{name}.png").convert("RGB")).astype(int)
    assert (np.abs(made_of["all"] - made_of["bare"]).max(axis=2) > 20).sum() > 200


@needs_browser
def test_a_recording_opens_with_everything_in_it(browser: Browser, tmp_path: Path) -> None:
    from poise.show import record

    path = tmp_path / "run.html"
    record(shown(), path)
    with opened(browser, path) as page:
        state = page.evaluate("window.poise.state")
        assert (state["tracks"], state["duration"]) == (5, pytest.approx(0.5))
        seek(page, 0.2)
        for k, prop in enumerate(shown().props):
            place = prop.positions[20 if len(prop.positions) > 1 else 0]
            drawn = np.array(page.evaluate("k => window.poise.pose(k, 0)", k + 1))
            assert drawn[:3] == pytest.approx(place, abs=2e-4), prop.name
        seek(page, 0.45)
        assert page.evaluate("window.poise.pose(1, 0)")[2] == pytest.approx(GONE, abs=0.01)
        page.click("#tool-layers")
        layers = {b.get_attribute("data-layer") for b in page.query_selector_all("#layers input")}
        assert {"figure", "com", "support", "forces", "pushes"} <= layers


@pytest.mark.long
@needs_browser
def test_the_browser_draws_while_other_files_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    """`-o out.bvh --record out.png` writes both or none; the page that is drawn from must be there at once."""
    from poise.io.files import all_or_none
    from poise.show import record

    monkeypatch.setenv("POISE_BROWSER", str(PATH))
    with all_or_none():
        record(shown(), tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000
    assert not caplog.records
    assert not recwarn.list


@clips.needs_motions
def test_a_figure_of_a_file_with_a_skin_is_recorded_and_saved_in_it(tmp_path: Path) -> None:
    man = poise.load(clips.MOTIONS / "gltf" / "cesium_man.gltf")
    result = poise.synthesize("balance", poise.Character.fit(man), drawn=man, seconds=0.05)
    (track,) = scene_of_synthesis(result).tracks
    assert track.skinned is not None
    assert track.skinned.positions == pytest.approx(result.motion.world[0])
    poise.save(result.motion, tmp_path / "stands.glb")
    assert skins_of(poise.load(tmp_path / "stands.glb"))
    bare = poise.synthesize("balance", poise.Character.fit(man), seconds=0.01)
    assert scene_of_synthesis(bare).tracks[0].skinned is None
