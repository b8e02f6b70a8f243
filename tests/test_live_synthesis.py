"""`poise synthesize --live`: a figure that stands by goals is pushed and dragged in a page, and its knob is turned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("websockets")

import poise
from poise.core.errors import InvalidValue
from poise.filter.forces import CARRYING, Push, carrying
from poise.show.live_synthesis import LiveSynthesis
from poise.show.page import has_page
from poise.show.synthesis_scene import title_of
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.run import SynthesisResult
from poise.synthesis.scene_file import scene_of
from tests import clips
from tests.live_pages import Page, playing

pytestmark = pytest.mark.skipif(not has_page(), reason="the player is not built: npm ci && npm run build")

GYM = (
    'schema = "poise.scene/1"\n[[balls]]\nname = "ball"\nmass = 0.4\nradius = 0.1\n'
    '[[events]]\nthrow = "ball"\ntime = 50.0\nplace = [1.0, 0.6, 1.0]\nvelocity = [0.0, 0.0, 0.0]\n'
)
ROOM = 'schema = "poise.scene/1"\n[[walls]]\nname = "wall"\nplace = [1.2, 0.0, 1.0]\nfacing = [-1.0, 0.0, 0.0]\n'


@dataclass
class Running:
    source: LiveSynthesis
    page: Page
    results: list[SynthesisResult | None]


@pytest.fixture
def live() -> Iterator[Running]:
    yield from running(ROOM)


@pytest.fixture
def gym() -> Iterator[Running]:
    yield from running(GYM)


def running(scene: str) -> Iterator[Running]:
    source = LiveSynthesis(BEHAVIORS["balance"], scene=scene_of(scene))
    with playing(source, bodies=len(source._world.figures[0].character.bodies) + 1) as (page, results):
        yield Running(source, page, results)


def test_it_is_pushed_dragged_and_its_knob_turned(live: Running) -> None:
    page, source = live.page, live.source
    before = page.until(lambda s: s.time > 0.15)
    assert before.positions[-1] == pytest.approx([1.2, 0.0, 1.0], abs=1e-3), "the wall comes after the figure"
    hand = source._world.figures[0].character.body_index("left_hand")
    page.ask(type="grab", track=0, body=hand, point=[0, 0, 0], target=[0.4, 0.5, 1.4])
    page.until(lambda s: s.positions[hand, 2] > before.positions[hand, 2] + 0.05)
    page.ask(type="release")
    page.ask(type="push", track=0, body=0, force=[0.0, 120.0, 0.0], seconds=0.1)
    pushed = page.until(lambda s: any(w["type"] == "mark" for w in page.words))
    page.until(lambda s: s.positions[0, 1] > pushed.positions[0, 1] + 0.003)
    page.ask(type="set", name="responsiveness", value=-1.0)
    page.until(lambda s: source._world.settings.responsiveness < 0.11)
    page.ask(type="grab", track=1, body=0, point=[0, 0, 0], target=[0, 0, 0])
    page.until(lambda s: any("can be held" in w.get("why", "") for w in page.words))
    forces = [f for f in source._world.pushes if f.body == source._world.figures[0].character.bodies[hand].name]
    assert len(forces) == 1
    assert np.linalg.norm([force for _, force in forces[0].history], axis=1).max() > 10.0  # type: ignore[attr-defined]


def test_a_ball_is_carried_falls_when_it_is_let_go_and_is_not_thrown(gym: Running) -> None:
    page, source = gym.page, gym.source
    (ball,) = source._props()
    assert ball.is_draggable
    assert page.until(lambda s: s.time > 0.15).positions[-1] == pytest.approx([1.0, 0.6, 1.0], abs=1e-6)
    page.ask(type="grab", track=1, body=0, point=[0, 0, 0], target=[0.9, 0.8, 1.4])
    held = page.until(lambda s: np.linalg.norm(s.positions[-1] - [0.9, 0.8, 1.4]) < 0.04)
    still = page.until(lambda s: s.time > held.time + 0.5)
    sag = 9.81 / CARRYING
    assert still.positions[-1] == pytest.approx([0.9, 0.8, 1.4 - sag], abs=2e-3)
    page.ask(type="release")
    landed = page.until(lambda s: s.positions[-1, 2] < 0.12)
    rest = page.until(lambda s: s.time > landed.time + 0.2)
    assert rest.positions[-1] == pytest.approx([0.9, 0.8, 0.1], abs=5e-3), "it lies where it fell"
    page.ask(type="push", track=1, body=0, force=[1.0, 0.0, 0.0], seconds=0.1)
    page.until(lambda s: any("balls can be held" in w.get("why", "") for w in page.words))
    with pytest.raises(InvalidValue, match="Balls: ball"):
        source._world.carry(carrying("bowl", np.zeros(3), 1.0, 0.0), "bowl")


def test_what_pages_set_stays_in_the_next_round() -> None:
    source = LiveSynthesis(BEHAVIORS["balance"], seconds=0.03)
    assert [c.name for c in source.controls] == ["responsiveness", "torque_limits"]
    source.set("responsiveness", 1.0)
    source.set("torque_limits", False)
    source.begin()
    result = source.play(lambda: True)
    assert result.is_complete
    assert source._world.settings.responsiveness == pytest.approx(10.0)
    assert not source._world.settings.torque_limits
    with pytest.raises(InvalidValue):
        source.push(3, 0, np.zeros(3), 0.1)


@clips.needs_motions
def test_a_figure_with_a_skin_is_shown_in_it_and_held_by_its_joints() -> None:
    man = poise.load(clips.MOTIONS / "gltf" / "cesium_man.gltf")
    source = LiveSynthesis(BEHAVIORS["balance"], poise.Character.fit(man), drawn=man)
    source.begin()
    (track,) = source.scene().tracks
    assert track.skinned is not None
    ((places, _),) = source.moment([], is_paused=False).poses
    assert places == pytest.approx(track.skinned.positions[0])
    body = track.character.bodies[3]
    hand = source.grab(0, body.joint, np.zeros(3), places[body.joint])
    assert hand.body == body.name


def test_a_live_page_has_the_title_of_a_recording() -> None:
    push = Push("chest", (100.0, 0.0, 0.0), 0.0, 0.1)
    source = LiveSynthesis(BEHAVIORS["balance"], seconds=0.03, options={"friction": 0.5}, pushes=[push])
    title = source.scene().title
    assert title == "poise synthesize balance · chest 100 0 0 N @0+0.1 · friction=0.5"
    assert title_of(source.play(lambda: True)) == title
