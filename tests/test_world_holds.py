"""Figures that hold each other: joined hands, who pulls whom, holds in scene files."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.world import Clip, Goals, Hold, World

CRATE = '<body name="crate" pos="0.2 -0.45 0.6"><freejoint/><geom type="box" size="0.1 0.1 0.6" mass="5"/></body>'
GROUND = '<geom type="plane" size="20 20 1"/>'


@pytest.fixture(scope="module")
def walk() -> Motion:
    return poise.load(poise.sample_path("walk.bvh"))


def pair(walk: Motion, scene: str | None = None) -> World:
    figures = {
        "ada": Clip(walk, place=(0.0, 0.0), heading=0.0, sees=False),
        "bob": Goals("step", place=(0.35, -0.7), heading=0.0),
    }
    return World(scene, figures=figures)


def apart(world: World) -> float:
    bodies, (ada, bob) = world.bodies, world.figures
    one = bodies.point(bodies.figure_body[0] + ada.character.body_index("RightHand"), None)[0]
    other = bodies.point(bodies.figure_body[1] + bob.character.body_index("left_hand"), None)[0]
    return float(np.linalg.norm(one - other))


def test_one_pulls_the_other_by_the_hand(walk: Motion) -> None:
    world, free = pair(walk), pair(walk)
    for _ in range(45):
        world.step()
        free.step()
    world.hold("ada", Hold("RightHand", "bob", "left_hand"))
    gaps, speeds, before = [], [], world.v.copy()
    for _ in range(330):
        world.step()
        free.step()
        gaps.append(apart(world))
        speeds.append(float(np.abs(world.v - before)[world.bodies.figure_v[1]][:3].max()))
        before = world.v.copy()
    bob, alone = (w.q[w.bodies.figure_q[1]] for w in (world, free))
    ada, goes = (w.q[w.bodies.figure_q[0]] for w in (world, free))
    assert alone[0] < 0.5, "by itself it stays"
    assert bob[0] > alone[0] + 0.4, "it is pulled along"
    assert bob[2] > 0.75, "on its feet"
    assert ada[0] < goes[0] - 0.5, "and holds the other one back"
    assert max(gaps[60:]) < 0.12, "hand in hand"
    assert max(speeds) < 0.5, "without a jerk"
    report = world.report()
    assert report["contact_residual_p95_m_s"] < 1e-2


def test_hands_that_hold_get_opposite_impulses(walk: Motion) -> None:
    world = pair(walk)
    for _ in range(45):
        world.step()
    world.hold("ada", Hold("RightHand", "bob", "left_hand"))
    worst = 0.0
    for _ in range(60):
        world.step()
        touches = world._touches  # pyright: ignore[reportPrivateUsage]
        assert touches is not None
        joined = np.flatnonzero(touches.friction < 0.0)
        assert len(joined) == 1
        rows = touches.rows[joined[0]]
        moves = [rows[side, :, : world.bodies.width[touches.trees[joined[0], side]]][:, :3] for side in (0, 1)]
        worst = max(worst, float(np.abs(moves[0] + moves[1]).max()))  # a push on one root is the opposite on the other
    assert worst < 1e-12


def test_a_figure_lets_go_and_holds_a_body(walk: Motion) -> None:
    world = pair(walk, f"<mujoco><worldbody>{GROUND}{CRATE}</worldbody></mujoco>")
    crate = world.bodies.names.index("scene/crate")
    with pytest.raises(InvalidValue, match="to hold it"):
        world.hold("ada", Hold("Head", "crate"))
    with pytest.raises(UnknownName, match="Figures and bodies: ada, bob, crate"):
        world.hold("ada", Hold("RightHand", "nobody"))
    with pytest.raises(InvalidValue, match="cannot hold itself"):
        world.hold("ada", Hold("RightHand", "ada", "LeftHand"))
    while world.time < 0.4:
        world.step()
    before = world.save()
    hand = world.figures[0].character.body_index("RightHand") + world.bodies.figure_body[0]
    world.bodies.join(hand, crate, np.array([world.bodies.point(b, None)[0] for b in (hand, crate)]))
    for _ in range(60):
        world.step()
    q = world.q.copy()
    world.hold("ada", Hold("RightHand", "crate", lets_go=True))
    assert not len(world.bodies.apart)
    for _ in range(10):
        world.step()
    world.restore(before)
    assert not len(world.bodies.apart)
    world.bodies.move(world.q, world.v)
    world.bodies.join(hand, crate, np.array([world.bodies.point(b, None)[0] for b in (hand, crate)]))
    for _ in range(60):
        world.step()
    assert np.array_equal(world.q, q)


SCENE = """
schema = "poise.scene/1"

[[figures]]
name = "ada"
clip = "walk.bvh"
place = [0.0, 0.0]
heading = 0
sees = false

[[figures]]
name = "bob"
behavior = "step"
place = [0.35, -0.7]

[[events]]
hold = "bob"
body = "left_hand"
by = "ada"
hand = "RightHand"
time = 0.45
until = 0.6
"""


def test_a_scene_file_says_who_holds_whom(tmp_path: Path, walk: Motion) -> None:
    poise.save(walk, tmp_path / "walk.bvh")
    file = tmp_path / "scene.toml"
    file.write_text(SCENE, encoding="utf-8")
    world, joins = World(file), []
    for _ in range(70):
        world.step()
        joins.append(len(world.bodies.apart))
    assert [joins[k] for k in (40, 50, 65)] == [0, 1, 0]
    for wrong, words in (
        ('by = "ada"', 'by = "eve"'),
        ('hold = "bob"', 'hold = "eve"'),
        ('hand = "RightHand"', 'hand = "Paw"'),
    ):
        file.write_text(SCENE.replace(wrong, words), encoding="utf-8")
        with pytest.raises(FileFormatError, match=words.rpartition('"')[0].rpartition('"')[2]):
            World(file)


def test_a_figure_throws_a_ball_at_one_that_walks(
    tmp_path: Path, walk: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(__file__).parents[1] / "examples" / "controllers"
    for name in ("throw.toml", "throw_scene.toml"):
        shutil.copy(folder / name, tmp_path)
    poise.save(walk, tmp_path / "walk.bvh")
    monkeypatch.chdir(tmp_path)
    world = World("throw_scene.toml")
    bodies, bob = world.bodies, world.figure("bob").driver
    ball, speed = bodies.names.index("scene/ball"), bodies.coordinates("ball")[1]
    hand = bodies.figure_body[1] + world.figure("bob").character.body_index("RightHand")
    apart, hit, thrown = [], None, np.zeros(3)
    while world.time < 2.0:
        world.step()
        if world.time < 1.4:
            apart.append(float(np.linalg.norm(bodies.point(hand, None)[0] - world.track[-1][0][ball])))
            thrown = world.v[speed : speed + 3].copy()
        if hit is None and world.figure("ada").felt:
            hit = world.time
    assert max(apart[30:]) < 0.1, "it lies in the hand"
    assert 3.8 < thrown[0] < 5.2, "2.1 m in half a second"
    assert 2.0 < thrown[2] < 4.0
    assert hit is not None
    assert 1.6 < hit < 2.0
    assert world.v[speed] < 3.5, "it bounces off"
    assert isinstance(bob, Goals)
    assert bob.fell is None
