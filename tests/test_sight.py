"""What a figure sees ahead of it: leaving out what is far away changes no answer."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.native.library import library
from poise.physics import mujoco_sight
from poise.physics.mujoco_backend import model_of
from poise.physics.mujoco_bodies import Bodies
from poise.physics.mujoco_sight import Look, Sight, first_met, meets
from tests.clips import sample_clip

needs_core = pytest.mark.skipif(library() is None, reason="there is no C compiler here")

FREE = '<body name="{}" pos="{}"><freejoint/><geom type="box" size="0.3 0.2 0.5" mass="{}"/></body>'
SCENE = (
    '<mujoco><worldbody><geom type="plane" size="20 20 1"/><geom type="box" size="0.1 0.4 1" pos="1.6 1.9 1"/>'
    '<body name="door" pos="-1.3 0.2 1"><joint type="hinge" axis="0 0 1" pos="0 -0.5 0"/>'
    '<geom type="box" size="0.03 0.5 1" mass="12"/></body><geom type="capsule" size="0.1 0.7" pos="-1.2 -1.1 1"/>'
    + FREE.format("heavy", "1.4 -0.7 0.5", 60)
    + FREE.format("light", "0.7 0.9 0.5", 4)
    + FREE.format("comes", "0.2 -2.6 0.5", 60)
    + "</worldbody></mujoco>"
)


@pytest.fixture(scope="module")
def crowd() -> Bodies:
    """Two persons among walls, a door and crates, one of which slides on."""
    walk = sample_clip("walk", 1.0)
    person = poise.Character.fit(walk)
    bodies = Bodies([model_of(person)] * 2, SCENE)
    q, v, pose = bodies.q.copy(), np.zeros(bodies.nv), poise.motion_to_q(person, walk)[20]
    for figure, place in zip(bodies.figure_q, ((0.0, 0.0), (0.9, 2.0))):
        q[figure] = [*place, *pose[2:]]
    v[bodies.coordinates("comes")[1] + 1] = 1.0
    bodies.move(q, v)
    return bodies


def one_by_one(sight: Sight, bodies: Bodies, look: Look) -> float:
    """The first thing, where every part is moved toward every geom of the scene."""
    met: dict[int, list[tuple[float, float]]] = {}
    weights, (m, d), line = bodies.weights(), bodies.engine, np.zeros(6)
    ahead, aside = sight._ahead, look.left * np.array([-look.way[1], look.way[0], 0.0])
    ahead.geom_xpos[:], ahead.geom_xmat[:] = d.geom_xpos, d.geom_xmat
    for other in sight._others[0].tolist():
        body = int(bodies.geom_body[other])
        moves = look.seconds * bodies.paces()[m.body_treeid[body]]
        way = look.reach * look.way - moves
        most = float(np.hypot(*way))
        for part in sight._own[0].tolist():
            place = d.geom_xpos[part] + aside
            gone = meets(sight._engine, ahead.geom_xpos, part, other, place, way / most, most, bool(look.left), line)
            if gone >= 0.0:
                weight = bodies.resistance(body, line[3:], look.way) if np.isnan(weights[body]) else weights[body]
                place = line[3:5] + min(1.0, gone / most) * moves
                met.setdefault(body, []).append((float((place - bodies.q[:2]) @ look.way), weight))
    found = [min(far for far, _ in own) for own in met.values() if min(weight for _, weight in own) >= look.least]
    return max(0.0, min([look.reach, *found]))


@pytest.mark.parametrize("left", [0.0, -0.5, 0.3])
@pytest.mark.parametrize("seconds", [0.0, 2.0])
@pytest.mark.parametrize("core", [pytest.param(True, marks=needs_core), False])
def test_what_is_left_out_changes_nothing(
    crowd: Bodies, left: float, seconds: float, core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sight, seen = Sight(crowd), []
    monkeypatch.setattr(mujoco_sight, "first_met", first_met if core else first_met.twin)
    for angle in np.linspace(0.0, 2.0 * np.pi, 25):
        look = Look(np.array([np.cos(angle), np.sin(angle)]), 2.0, seconds, left, 20.0)
        seen.append(sight.distance(0, look, crowd.paces()))
        assert seen[-1] == pytest.approx(one_by_one(sight, crowd, look), abs=1e-12)
    assert len(np.unique(seen)) > 6, "else nothing stands in its way"


def test_the_light_and_the_low_do_not_count(crowd: Bodies) -> None:
    sight, paces, heavy, light = Sight(crowd), crowd.paces(), np.array([0.89, -0.45]), np.array([0.61, 0.79])
    assert sight.distance(0, Look(heavy / np.hypot(*heavy), 2.0, least=20.0), paces) < 1.3
    assert sight.distance(0, Look(heavy / np.hypot(*heavy), 2.0, least=80.0), paces) == 2.0
    assert sight.distance(0, Look(heavy / np.hypot(*heavy), 2.0, least=20.0, low=1.1), paces) == 2.0
    assert sight.distance(0, Look(light / np.hypot(*light), 1.0, least=20.0), paces) == 1.0
    assert sight.distance(0, Look(light / np.hypot(*light), 1.0, least=3.0), paces) < 0.9


@needs_core
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0])
def test_a_look_without_a_way_ends(crowd: Bodies, bad: float) -> None:
    sight, paces = Sight(crowd), crowd.paces()
    for numbers in ([bad, bad], [1.0, bad]):
        assert 0.0 <= sight.distance(0, Look(np.array(numbers), 2.0, 1.0, 0.2), paces) <= 2.0
        assert not np.isnan(sight.distance(0, Look(np.array([1.0, 0.0]), 2.0, bad, 0.2), paces))
