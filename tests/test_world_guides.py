"""Objects with goals of their own: they get there, answer what stands in their way, and tell what help they had."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.world import Guide, World
from tests.clips import first_cases

WORLD = (
    '<mujoco><worldbody><geom type="plane" size="20 20 1"/>'
    '<body name="ball" pos="0 0 0.12"><freejoint/><geom size="0.12" mass="0.6"/></body>'
    '<body name="crate" pos="3 0 0.15"><freejoint/><geom type="box" size="0.15 0.15 0.15" mass="4"/></body>'
    '<body name="door" pos="0 5 1"><joint type="hinge" axis="0 0 1"/>'
    '<geom type="box" size="0.4 0.02 0.9" mass="9"/></body>'
    "{}</worldbody></mujoco>"
)
HOOP = (4.0, 0.0, 3.05)
WALL = '<geom type="box" pos="2 0 2" size="0.1 2 4"/>'


def after(world: World, name: str, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Place and orientation of a body after a time."""
    for _ in range(round(seconds / world.dt)):
        world.step()
    body = world.bodies.names.index(f"scene/{name}")
    return world.track[-1][0][body], world.track[-1][1][body]


@first_cases(1, ("help", "off"), [(0.5, 0.15), (1.0, 0.02), (10.0, 1e-4)])
def test_a_ball_reaches_the_hoop_with_less_left_the_more_it_is_helped(help: float, off: float) -> None:
    world = World(WORLD.format(""))
    world.guide("ball", Guide(HOOP, by=1.2, help=help))
    place, _ = after(world, "ball", 1.2)
    assert np.linalg.norm(place - HOOP) < off
    told = world.report()
    assert told["helper_impulse_Ns"] > 0.6 * 4.0  # it had to get going
    assert told["energy_error_max_J"] < 0.1 * told["helper_impulse_Ns"]  # 1 % of its work at 10 m/s, which is counted


def test_a_ball_on_its_way_needs_no_help() -> None:
    world = World(WORLD.format(""))
    q, v = world.bodies.coordinates("ball")
    n = 120  # the engine falls by n (n + 1) / 2 steps of g dt^2
    start, gravity = world.q[q : q + 3], world.bodies.gravity
    world.v[v : v + 3] = (np.array(HOOP) - start - 0.5 * n * (n + 1) * world.dt**2 * gravity) / (n * world.dt)
    world.guide("ball", Guide(HOOP, by=1.2))
    place, _ = after(world, "ball", 1.2)
    np.testing.assert_allclose(place, HOOP, atol=1e-9)
    assert world.report()["helper_impulse_Ns"] < 1e-9


def test_a_crate_lands_on_its_face() -> None:
    world = World(WORLD.format(""))
    world.guide("crate", Guide((3.4, 0.3, 0.16), by=0.6, turn=(0.5 * np.pi, 0.0, 0.0), help=10.0))
    place, turn = after(world, "crate", 1.0)
    np.testing.assert_allclose(place[:2], (3.4, 0.3), atol=0.02)
    assert abs(turn[0]) == pytest.approx(np.sqrt(0.5), abs=0.01)  # 90 degrees


def test_a_wall_keeps_a_ball_from_its_goal_and_nothing_is_lost() -> None:
    world = World(WORLD.format(WALL))
    world.guide("ball", Guide((4.0, 0.0, 1.0), by=1.2))
    place, _ = after(world, "ball", 1.2)
    assert place[0] < 1.9
    told = world.report()
    assert told["momentum_error_max_Ns"] < 1e-10
    assert told["penetration_max_m"] < 0.02


def test_a_body_with_a_goal_is_heavier_to_what_touches_it() -> None:
    world = World(WORLD.format(""))
    world.step()
    ball = world.bodies.names.index("scene/ball")
    bodies = world.bodies
    bodies.doze([ball])
    touches = bodies.touches()
    own = (touches.bodies == ball).any(axis=1)
    assert own.any()
    before = bodies.answers(touches)
    bodies.guide(ball, 3.0, np.zeros(6), turns=True)
    np.testing.assert_allclose(bodies.answers(touches)[own], 0.25 * before[own], rtol=1e-12)
    np.testing.assert_array_equal(bodies.answers(touches)[~own], before[~own])


def test_a_world_with_goals_goes_on_as_it_did_once_restored() -> None:
    world = World(WORLD.format(""))
    world.guide("ball", Guide(HOOP, by=0.5))
    after(world, "ball", 0.2)
    before = world.save()
    first = after(world, "ball", 0.4)
    world.restore(before)
    for one, other in zip(first, after(world, "ball", 0.4)):
        np.testing.assert_array_equal(one, other)


FILE = """schema = "poise.scene/1"
[[balls]]
name = "ball"
radius = 0.12
mass = 0.6
[[events]]
throw = "ball"
time = 0.1
place = [0, 0, 2]
velocity = [3, 0, 4]
[[events]]
guide = "ball"
time = 0.1
place = [3.5, 0.4, 3.05]
by = 1.1
help = 3
"""
DOOR = """[[bodies]]
name = "door"
place = [0, 5, 1]
sides = [0.8, 0.04, 1.8]
mass = 9
hinge = {axis = [0, 0, 1], place = [0, 5, 1]}
[[events]]
guide = "door"
time = 0.1
place = [0, 5, 1]
by = 1.0
[[balls]]"""


def test_a_scene_file_guides_a_thrown_ball(tmp_path: Path) -> None:
    path = tmp_path / "hoop.toml"
    path.write_text(FILE, encoding="utf-8")
    place, _ = after(World(path), "ball", 1.1)
    np.testing.assert_allclose(place, (3.5, 0.4, 3.05), atol=0.01)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('guide = "ball"', 'guide = "bal"'), "there is no body 'bal'. Did you mean 'ball'"),
        (("by = 1.1", "by = 0.1"), "its goal is for 0.1 s, but it begins at 0.1 s"),
        (("help = 3", "help = 0"), "give a number above 0, up to 1000"),
        (("help = 3", "help = 2000"), "give a number above 0, up to 1000"),
        (("[[balls]]", DOOR), "'door' does not move freely"),
        (("[[balls]]", DOOR.replace(", place = [0, 5, 1]}", "}")), "key 'place' is missing. Keys: axis, place."),
        (("help = 3", "turn = [0, 90]"), "it has 2 items; 3 are needed"),
    ],
)
def test_goals_of_scene_files_that_make_no_sense_are_refused(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    path = tmp_path / "hoop.toml"
    path.write_text(FILE.replace(*change), encoding="utf-8")
    with pytest.raises(FileFormatError) as caught:
        World(path)
    assert words in str(caught.value).replace("\n", " ")


def test_goals_that_make_no_sense_are_refused() -> None:
    world = World(WORLD.format(""))
    with pytest.raises(UnknownName, match=r"No body 'bal' in the scene\. Bodies: ball, crate, door"):
        world.guide("bal", Guide(HOOP, by=1.0))
    with pytest.raises(InvalidValue, match="does not move freely"):
        world.guide("door", Guide(HOOP, by=1.0))
    for fields in ({"help": 0.0}, {"by": np.nan}, {"turn": (0.0, np.inf, 0.0)}):
        with pytest.raises(InvalidValue):
            Guide(**{"place": HOOP, "by": 1.0, **fields})
    assert poise.world.Guide is Guide


def test_the_example_reaches_its_hoop_and_its_crate_lands_on_its_face() -> None:
    file = Path(__file__).parents[1] / "examples" / "controllers" / "hoop_scene.toml"
    world = World(file)
    ball, crate = (world.bodies.names.index(f"scene/{name}") for name in ("ball", "crate"))
    for _ in range(150):
        world.step()
    assert world.track[110][0][ball] == pytest.approx([3.0, 0.0, 3.2], abs=0.02)
    places, turns = world.track[-1]
    assert places[crate] == pytest.approx([1.2, 1.2, 0.15], abs=0.02)
    assert abs(turns[crate][0]) > 0.999
