"""A clip run live over real sockets: it answers to hands, sliders and buttons, whoever else is looking."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("websockets")

import poise
from poise.core.errors import InvalidValue
from poise.filter import rising
from poise.filter.forces import Hand
from poise.filter.simulate import Live
from poise.phases import carried_ground
from poise.phases.floor import carrying_last
from poise.phases.travel import in_place_velocity
from poise.show.live import LiveRun
from poise.show.live_clip import ChangingGround, Hill, LiveClip, clip_moment
from poise.show.page import has_page
from poise.show.protocol import STATE, Moment, layout_of, state_numbers
from poise.show.viewer import Viewer
from poise.terrain import Terrain
from poise.terrain.ground import PlacedGround, sample
from tests.clips import MOTIONS, needs_motions, sample_clip
from tests.live_pages import Page, State

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")


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
    motion = sample_clip("walk")
    character = poise.Character.fit(motion)
    viewer = Viewer(is_opened=False)
    run = LiveRun(LiveClip(motion, character), viewer)
    results: list[poise.SimulationResult | None] = []
    thread = threading.Thread(target=lambda: results.append(run.play()))
    thread.start()
    page = Page(viewer, bodies=21)
    page.until(lambda s: s.time > 0.1)
    made = Running(run, viewer, page, character, results)
    yield made
    start = again(made)
    chest = character.roles["chest"]
    grabs = sum(w["type"] == "grabbed" for w in page.words)
    page.ask(type="grab", track=0, body=chest, point=[0, 0, 0], target=(start.positions[chest] + 0.3).tolist())
    held = page.until(lambda s: sum(w["type"] == "grabbed" for w in page.words) > grabs)
    page.until(lambda s: s.time > held.time + 0.3)
    run.stop()
    thread.join(60.0)
    assert not thread.is_alive()
    assert results[0] is not None
    (arrow,) = poise.scene_of(results[0], physics=False).arrows  # what was felt can be recorded
    assert arrow.body == chest
    assert np.linalg.norm(arrow.force, axis=1).max() > 50.0
    viewer.close()


def again(live: Running) -> State:
    """Start the round anew, paused until that is seen: a busy machine may skip its first moments."""
    live.page.ask(type="pause", on=True)
    live.page.ask(type="restart")
    live.page.until(lambda s: s.time < 0.2)
    live.page.ask(type="pause", on=False)
    return live.page.until(lambda s: s.time > 0.3)


def test_a_hand_drags_the_figure_and_lets_go(live: Running) -> None:
    start = again(live)
    chest = live.character.roles["chest"]
    target = start.positions[chest] + np.array([0.7, 0.0, 0.0])  # as far as it comes back from at once
    grabs = sum(w["type"] == "grabbed" for w in live.page.words)
    live.page.ask(type="grab", track=0, body=chest, point=[0, 0, 0.1], target=target.tolist())
    held = live.page.until(lambda s: sum(w["type"] == "grabbed" for w in live.page.words) > grabs)
    moved = live.page.until(lambda s: s.time > held.time + 0.5)
    assert moved.positions[chest, 0] > start.positions[chest, 0] + 0.1
    live.page.ask(type="release")
    # it steps out of the way first, then comes back to its path
    back = live.page.until(
        lambda s: s.positions[chest, 0] < moved.positions[chest, 0] - 0.05 or s.time > moved.time + 15
    )
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


@pytest.mark.long
def test_one_slider_at_a_time_makes_the_ground(live: Running) -> None:
    again(live)
    live.page.ask(type="set", name="slope", value=5)
    live.page.ask(type="set", name="stairs", value=0.15)
    live.page.until(lambda s: any(w.get("values", {}).get("stairs") == 0.15 for w in live.page.words))
    said = [w["values"] for w in live.page.words if w["type"] == "status"][-1]
    assert (said["slope"], said["stairs"], said["roughness"]) == (0.0, 0.15, 0.0)
    here = live.page.state()
    later = live.page.until(lambda s: s.time > here.time + 2.5)
    assert later.positions[0, 2] > here.positions[0, 2] + 0.25  # it climbs
    live.page.ask(type="set", name="stairs", value=0)


def test_two_pages_see_the_same_and_both_may_push(live: Running) -> None:
    again(live)
    other = Page(live.viewer, bodies=21)
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
    flat = Terrain.flat(0.4)
    ground = ChangingGround(flat)
    here = np.array([2.0, 3.0, 1.3])
    ground.change(Hill(slope=20.0), here, 0.5)
    ahead = here[:2] + 0.5 * np.array([np.cos(0.5), np.sin(0.5)])
    height = ground.current.heights(np.stack([here[:2], ahead]))
    np.testing.assert_allclose(height, [0.4, 0.4 + 0.5 * np.tan(np.radians(20.0))])
    ground.change(Hill(roughness=0.3), np.array([*ahead, 0.0]), 0.5)
    assert ground.current.heights(ahead[None])[0] == pytest.approx(height[1])


def test_a_round_keeps_its_last_ground_if_the_others_lay_as_high_under_it() -> None:
    motion = sample_clip("walk")
    start, far = motion.world[0][0, 0], motion.world[0][-1, 0]
    heading = float(np.arctan2(*(far - start)[1::-1]))
    ground = ChangingGround(Terrain.flat().placed(origin=start[:2], heading=heading, ground=0.0))
    flat = ground.current
    here = motion.world[0][len(motion.times) // 2, 0]
    ground.change(Hill(stairs=0.1), here, heading)
    stairs, until = ground.current, float(motion.times[len(motion.times) // 2])
    kept = carried_ground(carrying_last(motion, [(0.0, flat), (until, stairs)]))
    assert kept is not None
    ahead = here[None, :2] + np.outer([-1.0, 2.0, 5.0], (far - start)[:2] / np.linalg.norm((far - start)[:2]))
    np.testing.assert_allclose(kept.heights(ahead), stairs.heights(ahead), atol=1e-9)
    assert stairs.heights(ahead)[-1] > 0.2
    ground.change(Hill(slope=20.0), here, heading)  # slopes go on behind the figure
    assert carried_ground(carrying_last(motion, [(0.0, flat), (until, ground.current)])) is None
    assert carried_ground(carrying_last(motion, [(0.0, flat)])) is None


def test_compiled_code_is_told_of_new_ground() -> None:
    ground = ChangingGround(Terrain.flat(0.4))
    relief, points = PlacedGround(ground, Terrain.flat().place), np.array([[2.3, 3.2], [2.6, 3.9]])
    for hill in (Hill(), Hill(roughness=0.3), Hill(slope=20.0)):
        ground.change(hill, np.array([2.0, 3.0, 1.3]), 0.5)
        relief.move_to(0.0)
        heights, normals = np.zeros(2), np.zeros((2, 3))
        sample(relief.block, points, heights, normals)
        np.testing.assert_allclose(heights, ground.current.heights(points), atol=1e-12)
        np.testing.assert_allclose(normals, ground.current.sample(points).normal, atol=1e-9)


def test_a_viewer_says_what_is_missing() -> None:
    with Viewer(is_opened=False) as viewer:
        with pytest.raises(poise.InvalidValue, match="show"):
            viewer.update(0.0, [])
        assert viewer.url.startswith("http://127.0.0.1:")
        assert "<iframe" in viewer._repr_html_()


def test_a_notebook_that_shows_a_viewer_late_is_told_what_pages_are_told() -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed (pip install -e '.[dev]')")
    motion = sample_clip("walk").frames(np.arange(3))
    scene = replace(poise.scene_of_motion(motion), overlays=(), plots=(), timeline=())
    with Viewer(is_opened=False) as viewer:
        viewer.show(scene)
        viewer.update(0.5, [(scene.tracks[0].positions[1], scene.tracks[0].orientations[1])])
        viewer.say(type="status", paused=True)
        viewer._repr_mimebundle_()
        assert viewer._inline is not None
        for timer in [t for t in threading.enumerate() if isinstance(t, threading.Timer)]:
            timer.join()
        widget = viewer._inline.widget
        assert widget.scene
        assert STATE.unpack_from(widget.state)[4] == 0.5
        assert json.loads(widget.greeting) == {"type": "status", "paused": True}


def test_a_view_is_a_page_that_stands_alone(tmp_path: Any) -> None:
    motion = sample_clip("walk").frames(np.arange(60))
    seen = poise.view(motion, is_opened=False)
    inline = seen._repr_html_()
    assert inline.count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in inline
    assert "srcdoc=" in inline
    page = seen.save(tmp_path / "walk.html")
    assert page.stat().st_size < 1.2e6


def test_a_hand_acts_where_it_holds(live: Running) -> None:
    """Its force on the joints is that of a force at the held place, so it turns what it holds."""
    chest, hands = live.character.roles["chest"], list[Hand]()
    still = sample_clip("walk").frames(np.arange(30))
    point = np.array([0.0, 0.25, 0.1])

    def watch(run: Live) -> bool:
        state = run.figure.state
        place = state.body_place(chest + 1, point)
        if not hands:
            target = place + np.array([0.2, 0.0, 0.0])
            hands.append(Hand("chest", chest, point, target, live.character.mass, run.time))
            run.push(hands[0])  # pyright: ignore[reportArgumentType]  # a force like Push and Pull
            return True
        assert run.figure.last is not None
        external, force = run.figure.last.step.external, hands[0].force
        assert np.linalg.norm(force) > 50.0
        expected = state.body_jacobian(chest + 1, place).T @ force
        np.testing.assert_allclose(external, expected, atol=1e-9 * np.abs(external).max())
        return run.time < 0.3

    poise.simulate(still, live.character, watch=watch)
    at = [t for t, _ in hands[0].history]
    assert at[0] == pytest.approx(hands[0].start)
    assert at[-1] > 0.25
    assert np.allclose(np.diff(at), at[1] - at[0])  # in every step, none left out


@pytest.mark.parametrize(("file", "kept"), [("a.vrma", "a-live-1.glb"), ("a.c3d", "a-live-1.bvh")])
def test_the_button_keeps_what_is_only_read_as_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, kept: str
) -> None:
    from poise.cli.outcome import keep_round

    monkeypatch.chdir(tmp_path)
    result = poise.simulate(sample_clip("walk", 0.1))
    assert result.motion.source is not None
    read = replace(result.motion, source=replace(result.motion.source, path=file))
    assert f"Kept as {kept}" in keep_round(replace(result, motion=read))
    assert poise.load(tmp_path / kept).frame_count == read.frame_count


def test_the_button_keeps_what_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A push, then the button: a clip and a recording of the round so far lie in the folder, and the run goes on."""
    from poise.cli.outcome import keep_round

    monkeypatch.chdir(tmp_path)
    motion = sample_clip("walk")
    character = poise.Character.fit(motion)
    viewer = Viewer(is_opened=False)
    run = LiveRun(LiveClip(motion, character), viewer, keep_round)
    thread = threading.Thread(target=run.play)
    thread.start()
    try:
        page = Page(viewer, bodies=21)
        page.until(lambda s: s.time > 0.2)
        page.ask(type="set", name="stairs", value=0.15)
        page.ask(type="push", track=0, body=character.roles["chest"], force=[200, 0, 0], seconds=0.1)
        page.until(lambda s: s.time > 0.9)
        page.ask(type="set", name="keep", value=True)
        page.until(lambda s: any(w["type"] == "kept" for w in page.words))
        (said,) = [w["what"] for w in page.words if w["type"] == "kept"]
        assert said == "Kept as walk-live-1.bvh and walk-live-1.html."
        kept = poise.load("walk-live-1.bvh")
        assert 0.5 < kept.duration < 6.0
        ground = carried_ground(kept)
        assert ground is not None
        assert ground.spec.startswith("stairs:0.15")
        assert b"poise-recording" in Path("walk-live-1.html").read_bytes()
        page.until(lambda s: s.time < 0.5)  # it has begun again
    finally:
        run.stop()
        thread.join(60.0)
        viewer.close()


def test_marks_of_a_figure_that_gets_up_are_those_of_its_pose() -> None:
    motion = sample_clip("walk")
    steps: list[Moment] = []

    def watch(live: Live) -> bool:
        figure = live.figure
        steps.append(clip_moment(figure, figure.q, [], time=live.time, is_paused=False))
        if len(steps) < 5:
            return True
        figure.q = figure.q + 0.5 * (np.arange(len(figure.q)) == 2)  # half a meter up
        figure.rising = rising.begin(figure.q, None, figure.q, figure.character)
        steps.append(clip_moment(figure, figure.q, [], time=live.time, is_paused=False))
        return False

    poise.simulate(motion, poise.Character.fit(motion), watch=watch)
    stands, rises = steps[-2:]
    assert any(stands.rows)
    assert np.isfinite(stands.overlays[3]).any()
    assert not any(rises.rows)
    assert not np.isfinite(rises.overlays[3]).any()
    assert rises.values[3] - stands.values[3] == pytest.approx(0.5, abs=0.05)
    assert rises.overlays[0][0, 2] - stands.overlays[0][0, 2] == pytest.approx(0.5, abs=0.05)


@pytest.mark.long
@needs_motions
def test_a_clip_that_walks_on_the_spot_goes_ahead_over_ground_that_rests() -> None:
    motion = poise.load(MOTIONS / "gltf/cesium_man.gltf")
    slide = in_place_velocity(motion)
    assert np.linalg.norm(slide) > 0.5
    source = LiveClip(motion, poise.Character.fit(motion))
    source.begin()
    assert source.scene().title == "cesium_man.gltf"
    steps: list[float] = []

    def watch() -> bool:
        steps.append(source.time)
        return len(steps) < 60

    result = source.play(watch)
    path = result.motion.world[0][:, 0, :2]
    assert path[-1] - path[0] == pytest.approx(-slide[:2] * result.motion.duration, abs=0.1)
    assert result.report["floor_velocity_m_s"] == [0.0, 0.0, 0.0]
    assert in_place_velocity(result.motion) == pytest.approx(np.zeros(3))  # what is kept travels, too


@pytest.mark.long
@needs_motions
def test_a_figure_with_a_skin_is_shown_in_it_and_held_by_its_joints() -> None:
    motion = poise.load(MOTIONS / "gltf/cesium_man.gltf")
    character = poise.Character.fit(motion)
    source = LiveClip(motion, character)
    source.begin()
    scene = source.scene()
    assert all(track.skinned is not None for track in scene.tracks)
    held: list[Hand] = []
    last: list[Moment] = []
    steps: list[float] = []

    def watch() -> bool:
        steps.append(source.time)
        if len(steps) == 2:
            body = character.bodies[3]
            place = source.moment([], is_paused=False).poses[0][0][body.joint]
            held.append(source.grab(0, body.joint, np.zeros(3), place + np.array([0.0, 0.5, 0.0])))
            assert held[0].body == body.name
        last[:] = [source.moment(held, is_paused=False)]
        state_numbers(last[0], layout_of(scene))
        return len(steps) < 30

    source.play(watch)
    (places, _), (clip, _) = last[0].poses
    assert places.shape == (motion.skeleton.joint_count, 3)
    assert 0.01 < np.linalg.norm(places - clip, axis=1).max() < 0.6
    with pytest.raises(InvalidValue):
        source.grab(0, 999, np.zeros(3), np.zeros(3))
