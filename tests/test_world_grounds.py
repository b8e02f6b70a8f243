"""Bodies on uneven and moving ground, bodies that go a given way, and figures that follow a stream of poses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.world import Clip, Ragdoll, Stream, World
from tests.clips import first_cases, sample_clip


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip("walk", 4.0)


@pytest.fixture(scope="module")
def person(walk: Motion) -> poise.Character:
    return poise.Character.fit(walk)


BALL = (
    '<mujoco><worldbody><geom type="plane" size="9 9 1"/><body name="ball" pos="2 0.3 {z}"><freejoint/>'
    '<geom size="0.1"/></body></worldbody></mujoco>'
)


@first_cases(1, "spec", ["slope:12", "stairs:0.2,0.6", "step:0.3", "rough:0.4,3"])
def test_bodies_rest_on_the_terrain(spec: str) -> None:
    terrain = poise.Terrain.parse(spec)
    world = World("rubble:12,2", terrain=terrain)
    world.step()
    places, turns = world.track[-1]
    for thing in world.things():
        body = world.bodies.names.index(f"scene/{thing.name}")
        (kind, size, *_), place = thing.shapes[0], places[body]
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
        if kind == "capsule":
            corners = np.array([[0.0, 0.0, size[1]], [0.0, 0.0, -size[1]]])
        own = place + poise.core.rotations.rotate(turns[body], corners)
        gaps = own[:, 2] - terrain.heights(own[:, :2]) - (size[0] if kind == "capsule" else 0.0)
        assert -0.03 < gaps.min() < 0.04, thing.name  # a grid of 10 cm follows bumps to a centimeter or two


@pytest.mark.long
@pytest.mark.parametrize("spec", ["slope:10", "rough:0.3,1"])
def test_a_walk_among_rubble_goes_up_a_hill(spec: str, person: poise.Character, walk: Motion) -> None:
    terrain = poise.Terrain.parse(spec)
    clip = walk.cut(0.0, 1.2)
    result = poise.simulate(clip, person, terrain=terrain, world=World("rubble:10,1"))
    told = result.report["scene"]
    assert told["momentum_error_max_Ns"] < 1e-9
    assert told["contact_residual_p95_m_s"] < 5e-3
    assert told["penetration_p95_m"] < 0.01
    assert told["contacts_mean"] > 5.0  # they lie on the ground, and did not fall through it
    far = '<mujoco><worldbody><body pos="9 9 9"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>'
    alone = poise.simulate(clip, person, terrain=terrain, fps=1.0 / result.report["dt"])
    among = poise.simulate(clip, person, terrain=terrain, world=World(far))
    assert np.abs(alone.q - among.q).max() < 1e-9  # where nothing touches it, the walk is that without bodies


@pytest.mark.long
def test_a_clip_walks_and_a_ragdoll_lies_on_a_slope(person: poise.Character, walk: Motion) -> None:
    terrain = poise.Terrain.slope(8)
    q = poise.motion_to_q(person, walk)[20].copy()
    q[:3] += np.array([-2.0, 0.0, 0.0]) - [*q[:2], 0.0]
    q[2] += float(terrain.heights(q[None, :2])[0])
    figures = {
        "ada": Clip(walk, person, place=(2.0, 1.0), heading=0.0),
        "doll": Ragdoll(person, q),
    }
    world = World(figures=figures, terrain=terrain)
    start = {f.name: f.poses[0].copy() for f in world.figures}
    for _ in range(150):
        world.step()
    now = {f.name: f.poses[-1] for f in world.figures}
    ground = {name: float(terrain.heights(q[None, :2])[0]) for name, q in now.items()}
    assert now["ada"][0] > start["ada"][0] + 1.0
    assert abs(now["ada"][2] - ground["ada"] - start["ada"][2] + terrain.heights(start["ada"][None, :2])[0]) < 0.1
    assert 0.0 < now["doll"][2] - ground["doll"] < 0.4


KEYS = [[0.0, 0.0, 0.0, 0.0], [0.5, 0.3, 0.1, 0.0], [1.0, 0.3, 0.1, 0.2]]


def test_a_platform_carries_what_lies_on_it() -> None:
    world = World(BALL.format(z=0.15).replace('size="0.1"', 'type="box" size="0.1 0.1 0.1"'),
                  terrain=poise.Terrain.platform(KEYS))  # fmt: skip
    start = world.things()[0].positions[0]
    for _ in range(130):
        world.step()
    moved = world.things()[0].positions[-1] - start
    assert moved == pytest.approx([0.3, 0.1, 0.2], abs=0.01)
    report = world.report()
    assert report["energy_exchanged_J"] > 1.0  # the lift worked on it
    assert report["energy_error_max_J"] < 0.05 * report["energy_exchanged_J"]


SCENE = """
schema = "poise.scene/1"
[[boxes]]
name = "table"
place = [2.0, 0.0, 0.4]
sides = [1.0, 1.0, 0.1]
[[bodies]]
name = "crate"
place = [2.0, 0.0, 0.6]
sides = [0.2, 0.2, 0.2]
mass = 3.0
[[events]]
move = "table"
keys = [{time = 0.1}, {time = 0.8, shift = [0.0, 0.3, 0.1], turn = [0, 0, 45]}]
"""


def test_a_box_that_rests_is_not_placed_anew_and_asking_who_touches_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "lift.toml"
    file.write_text(SCENE, encoding="utf-8")
    world = World(file)
    world.step()
    bodies, (table,) = world.bodies, [k for k, name in enumerate(world.bodies.names) if name.endswith("table")]
    place, turn = (array[table].copy() for array in bodies.places())
    bodies.carry(table, place, turn)
    bodies.move(world.q, world.v)
    bodies.carry(table, place, turn)
    assert bodies.is_placed
    bodies.doze([bodies.names.index("scene/crate")])
    calm = bodies.calm.copy()
    first, second = bodies.touches(), bodies.touches()
    assert len(first.gaps)
    assert all(np.array_equal(*pair) for pair in zip(first, second))
    assert np.array_equal(bodies.calm, calm)
    bodies.carry(table, place + 0.01, turn)
    assert not bodies.is_placed


def test_a_box_that_an_event_moves_carries_a_crate(tmp_path: Path) -> None:
    file = tmp_path / "lift.toml"
    file.write_text(SCENE, encoding="utf-8")
    world = World(file)
    for _ in range(100):
        world.step()
    things = {t.name: t for t in world.things()}
    crate = things["crate"].positions
    assert crate[-1] - crate[0] == pytest.approx([0.0, 0.3, 0.1], abs=0.01)
    turned = poise.core.rotations.angle_between(things["crate"].orientations[0], things["crate"].orientations[-1])
    assert np.degrees(turned) == pytest.approx(45.0, abs=2.0)
    file.write_text(SCENE.replace('move = "table"', 'move = "floor"'), encoding="utf-8")
    with pytest.raises(FileFormatError, match="platform:FILE"):
        World(file)


def test_a_stream_of_poses_comes_back_one_step_late(person: poise.Character, walk: Motion) -> None:
    own = walk.resampled(np.arange(0.0, 1.0, 0.01))
    poses = poise.motion_to_q(person, own)
    world = World(figures={"ada": Stream(person, poses[0])})
    for pose in poses[1:]:
        world.step({"ada": pose})
    done = np.array(world.figure("ada").poses)
    alone = poise.QuasiPhysicalFilter(person, 0.01)
    answers = [alone.step(pose) for pose in poses]
    expected: list[Array] = [answer for answer in answers if answer is not None]
    assert np.abs(done[1:] - np.array(expected)).max() < 1e-12
    crate = BALL.format(z=0.3).replace('size="0.1"', 'type="box" size="0.3 0.3 0.3" mass="20"')
    ahead = poses[60, :2]
    among = World(crate.replace("2 0.3", f"{ahead[0]} {ahead[1]}"), figures={"ada": Stream(person, poses[0])})
    for pose in poses[1:]:
        among.step({"ada": pose})
    assert np.abs(np.array(among.figure("ada").poses)[-1] - done[-1]).max() > 0.02  # it ran into the crate
    for _ in range(30):
        world.step()  # held
    assert np.abs(np.array(world.figure("ada").poses)[-1, :2] - poses[-1, :2]).max() < 0.05
    world.drive("ada", Ragdoll())
    with pytest.raises(InvalidValue, match="follows no stream"):
        world.step({"ada": poses[0]})
    with pytest.raises(UnknownName):
        world.step({"eve": poses[0]})
