"""Scenes as TOML: what they say of things and events, and what is refused in words."""

from __future__ import annotations

import numpy as np
import pytest

from poise.core.errors import FileFormatError
from poise.core.units import GRAVITY
from poise.goals.surroundings import Faces, Scene, Surface
from poise.synthesis.scene_file import scene_of

ROOM = """
schema = "poise.scene/1"

[options]
wall.distance = 0.6

[floor]
friction = 0.8
size = [4.0, 2.0]

[[walls]]
name = "wall"
place = ["$wall.distance", 0.0, 1.2]
facing = [-2.0, 0.0, 0.0]
size = [3.0, 2.4]

[[boxes]]
name = "crate"
place = [-0.8, 0.0, 0.3]
sides = [0.4, 0.6, 0.2]

[[holds]]
name = "knob"
place = [0.5, 0.3, 1.8]
friction = 0.7
facing = [3.0, 0.0, 4.0]

[[bars]]
name = "bar"
start = [0.0, -1.0, 2.1]
end = [0.0, 1.0, 2.1]

[[balls]]
name = "ball"
radius = 0.1
mass = 0.5
harmful = true

[[events]]
move = ["floor", "crate", "bar"]
about = [0.0, 0.0, 4.0]
keys = [{ time = 1.0 }, { time = 2.0, shift = [0.1, 0.0, 0.0], turn = [0.0, 90.0, 0.0] }]

[[events]]
remove = "wall"
time = 1.5

[[events]]
throw = "ball"
time = 0.3
place = [3.0, 0.2, 1.2]
to = [0.0, 0.1, 1.3]
flight = 0.4
"""


def named(scene: Scene, name: str) -> Surface:
    return next(s for s in scene.surfaces if s.name == name)


def test_a_file_says_what_stands_where() -> None:
    scene = scene_of(ROOM)
    wall, floor = named(scene, "wall"), named(scene, "floor")
    assert (wall.origin, wall.normal, wall.until) == ((0.6, 0.0, 1.2), (-1.0, 0.0, 0.0), 1.5)
    assert floor.friction == 0.8
    assert scene_of(ROOM, {"wall.distance": 0.9}).surfaces[1].origin == (0.9, 0.0, 1.2)
    assert [h.name for h in scene.holds] == ["knob", "bar"]
    assert (scene.hold("knob").normal, scene.hold("knob").friction) == ((0.6, 0.0, 0.8), 0.7)
    bar = scene.hold("bar")
    assert (bar.place, bar.axis, bar.half_length) == ((0.0, 0.0, 2.1), (0.0, 1.0, 0.0), 1.0)
    assert scene_of('schema = "poise.scene/1"') == Scene()
    assert scene_of('schema = "poise.scene/1"\nfloor = false').surfaces == ()


def test_sides_lie_where_the_file_says() -> None:
    """A point belongs to a face as far as the thing reaches, whatever the face's own axes are."""
    faces = Faces.at(scene_of(ROOM).surfaces, 0.0)
    names = [s.name for s in scene_of(ROOM).surfaces]

    def over(name: str, *place: float) -> bool:
        return bool(faces.heights(np.array([place]))[names.index(name), 0] < 1.0)

    assert over("floor", 1.9, 0.0, 0.0)
    assert not over("floor", 0.0, 1.1, 0.0)
    assert over("wall", 0.6, 1.4, 1.2)
    assert not over("wall", 0.6, 0.0, 2.5)
    assert over("crate top", -0.8, 0.28, 0.4)
    assert not over("crate top", -0.55, 0.0, 0.4)
    assert over("crate front", -0.6, 0.28, 0.38)
    assert not over("crate front", -0.6, 0.0, 0.5)
    assert over("crate left", -0.62, 0.3, 0.3)


def test_a_rigid_thing_turns_as_one() -> None:
    """A quarter turn about a point 4 m up, and 0.1 m ahead: all that moves lies where one rigid body would."""
    scene = scene_of(ROOM)
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    pivot, shift = np.array([0.0, 0.0, 4.0]), np.array([0.1, 0.0, 0.0])
    faces = Faces.at(scene.surfaces, 5.0)
    for k, surface in enumerate(scene.surfaces):
        if surface.name == "wall":
            continue
        assert faces.origins[k] == pytest.approx(pivot + turn @ (np.array(surface.origin) - pivot) + shift, abs=1e-12)
        assert faces.frames[k, 2] == pytest.approx(turn @ np.array(surface.normal), abs=1e-12)
    assert scene.hold("bar").middle(5.0) == pytest.approx(pivot + turn @ np.array([0.0, 0.0, -1.9]) + shift)
    assert named(scene, "wall").movement is None


def test_a_box_alone_turns_about_its_middle() -> None:
    text = ROOM.replace('["floor", "crate", "bar"]\nabout = [0.0, 0.0, 4.0]', '"crate"')
    scene = scene_of(text)
    faces = Faces.at(scene.surfaces, 5.0)
    own = [k for k, s in enumerate(scene.surfaces) if s.name.startswith("crate")]
    assert faces.origins[own].mean(axis=0) == pytest.approx([-0.7, 0.0, 0.3])
    top = next(k for k in own if scene.surfaces[k].name == "crate top")
    assert faces.origins[top] == pytest.approx([-0.6, 0.0, 0.3])  # it looks ahead now


def test_a_thrown_ball_passes_where_it_is_thrown_to() -> None:
    ball = scene_of(ROOM).balls[0]
    after = np.array(ball.place) + 0.4 * np.array(ball.velocity) - [0.0, 0.0, 0.5 * GRAVITY * 0.4**2]
    assert after == pytest.approx([0.0, 0.1, 1.3])
    assert (ball.at, ball.radius, ball.mass, ball.harmful) == (0.3, 0.1, 0.5, True)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("poise.scene/1", "poise.scene/2", ["schema", "poise.scene/1"]),
        ("[[walls]]", "[[wals]]", ["'wals'", "Did you mean 'walls'"]),
        ("facing = [-2.0, 0.0, 0.0]", "facing = [0.0, 0.0, 0.0]", ["wall 'wall'", "facing", "nowhere"]),
        ("facing = [-2.0, 0.0, 0.0]", "facin = 1", ["wall 'wall'", "'facin'", "Did you mean 'facing'"]),
        ("size = [3.0, 2.4]", "size = [3.0, -1.0]", ["wall 'wall'", "size", "positive"]),
        ("friction = 0.8", "friction = -0.8", ["'floor'", "friction", "zero or more"]),
        ('"$wall.distance"', '"$wall.dist"', ["'wall.dist'", "Did you mean 'wall.distance'"]),
        ("sides = [0.4, 0.6, 0.2]", "sides = [0.4, 0.0, 0.2]", ["box 'crate'", "sides", "positive"]),
        ('name = "crate"', 'name = "wall"', ["two things", "'wall'"]),
        ('name = "knob"', 'name = "bar"', ["two things", "'bar'"]),
        ('name = "knob"', 'name = "floor"', ["more than once", "'floor'"]),
        ("end = [0.0, 1.0, 2.1]", "end = [0.0, -1.0, 2.1]", ["bar 'bar'", "begins where it ends"]),
        ('remove = "wall"', 'remove = "wal"', ["event 2", "'wal'", "Things: floor, wall, crate, knob, bar"]),
        ('remove = "wall"', 'take = "wall"', ["event 2", "remove, move, throw"]),
        ("time = 1.5", "time = -1.5", ["event 2", "'time'", "zero or more"]),
        ("{ time = 2.0,", "{ time = 0.5,", ["event 1", "must rise"]),
        ("{ time = 1.0 }", "{ tiem = 1.0 }", ["event 1", "key 1", "'tiem'"]),
        ('throw = "ball"', 'throw = "rock"', ["event 3", "'rock'", "Balls: ball"]),
        ("flight = 0.4", "", ["event 3", "velocity", "flight"]),
        ("flight = 0.4", "flight = 0.0", ["event 3", "'flight'", "positive"]),
        ("mass = 0.5", "mass = -0.5", ["event 3", "mass -0.5"]),
        ("mass = 0.5", 'mass = "heavy"', ["ball 'ball'", "'mass'", "a number"]),
        ("[floor]", "[floor", ["not TOML"]),
    ],
)
def test_what_a_file_gets_wrong_is_said(before: str, after: str, told: list[str]) -> None:
    assert before in ROOM
    with pytest.raises(FileFormatError) as caught:
        scene_of(ROOM.replace(before, after, 1), path="room.toml")
    message = str(caught.value)
    assert message.startswith("room.toml")
    assert not [word for word in told if word not in message], message


def test_a_ball_that_nobody_throws_and_an_unknown_option_are_said() -> None:
    with pytest.raises(FileFormatError, match="ball 'ball': nothing throws it"):
        scene_of(ROOM.split("[[events]]\nthrow")[0])
    with pytest.raises(FileFormatError, match=r"option 'wall'.*wall\.distance"):
        scene_of(ROOM, {"wall": 1.0})
