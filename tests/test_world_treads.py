"""Figures that step on bodies: where the tops are, what feet press with, and walks over what tips, sags and rises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.native import library
from poise.show.result_scene import scene_of
from poise.show.scene import Vectors
from poise.show.world_scene import scene_of_world
from poise.terrain.ground import PlacedGround, ground_velocities, sample
from poise.terrain.shapes import AXES, BOX_SIZE, HALF, MIDDLE, SPIN, VELOCITY
from poise.terrain.tops import Tops, top_under
from poise.world import Clip, Ragdoll, World
from tests.clips import sample_clip

SEESAW = """
[[bodies]]
name = "seesaw"
place = [2.6, 0.0, 0.25]
turn = [0, -7, 0]               # its near end is low
sides = [3.2, 0.8, 0.06]
mass = 40.0
hinge = {axis = [0, 1, 0], place = [2.6, 0.0, 0.25]}
ground = true
"""
BRIDGE = """
[[boxes]]
name = "near bank"
place = [0.0, 0.0, 0.4]
sides = [3.0, 2.0, 0.8]
ground = true

[[boxes]]
name = "far bank"
place = [5.0, 0.0, 0.4]
sides = [3.0, 2.0, 0.8]
ground = true

[[ropes]]
name = "bridge"
start = [1.5, 0.0, 0.78]
end = [3.5, 0.0, 0.78]
pieces = 8
mass = 6.0
width = 1.0
slack = 0.01
ground = true
"""
STEPS = "".join(
    f'[[boxes]]\nname = "step {x}"\nplace = [{x}, 0.0, {h / 2}]\nsides = [0.8, 1.2, {h}]\nground = true\n'
    for x, h in ((1.6, 0.15), (2.4, 0.3), (3.2, 0.45), (4.0, 0.3), (4.8, 0.15))
)


@pytest.fixture(scope="module")
def walk() -> Motion:
    return poise.load(poise.sample_path("walk.bvh"))


def assert_goes_on_as_saved(world: World, steps: int) -> None:
    """What is saved and restored does the same again, to the last bit."""
    before = world.save()
    for _ in range(steps):
        world.step()
    q = world.q.copy()
    world.restore(before)
    for _ in range(steps):
        world.step()
    assert np.array_equal(world.q, q)


def world_of(tmp_path: Path, tables: str, walk: Motion, **driver: object) -> World:
    file = tmp_path / "scene.toml"
    file.write_text(f'schema = "poise.scene/1"\n{tables}', encoding="utf-8")
    ada = Clip(walk, place=(0.0, 0.0), heading=0.0, **driver)  # pyright: ignore[reportArgumentType]
    return World(file, figures={"ada": ada})


def depth_of_feet(world: World) -> float:
    """How deep the points of a standing figure are below its ground [m], at most."""
    figure = world.figures[0].simulated
    assert figure is not None
    return float(-figure.problem.gaps[figure.problem.stands].min(initial=0.0))


def boxes(count: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    out = np.zeros((count, BOX_SIZE))
    out[:, MIDDLE], out[:, HALF] = rng.normal(size=(count, 3)), rng.uniform(0.1, 1.5, (count, 3))
    turns = rotations.from_rotation_vector(0.5 * rng.normal(size=(count, 3)))
    out[:, AXES] = rotations.to_matrix(turns).reshape(count, 9)
    out[0, AXES] = np.eye(3).ravel()
    out[:, VELOCITY], out[:, SPIN] = np.split(rng.normal(size=(count, 6)), 2, axis=1)
    return out


def test_the_top_of_a_box_is_where_its_upper_side_is() -> None:
    tilt = np.radians(20.0)
    box = np.zeros((1, BOX_SIZE))
    box[0, MIDDLE], box[0, HALF] = (1.0, 0.0, 0.5), (1.0, 0.4, 0.1)
    box[0, AXES] = rotations.to_matrix(rotations.from_rotation_vector(np.array([0.0, -tilt, 0.0]))).ravel()
    x, below = np.array([1.0, 1.5, 1.0, 3.0, 1.0]), np.zeros(5)
    y = np.array([0.0, 0.0, 0.5, 0.0, 0.3])
    found, z, along, across = top_under(box, np.inf, x, y, below)
    assert found.tolist() == [0, 0, -1, -1, 0]
    assert np.allclose(z[found >= 0], 0.5 + 0.1 / np.cos(tilt) + (x[found >= 0] - 1.0) * np.tan(tilt))
    assert np.allclose(along[0], np.tan(tilt))
    assert not across.any()
    assert top_under(box, 0.55, x, y, below)[0].tolist() == [-1] * 5, "too high to step on"
    steep = box.copy()
    steep[0, AXES] = rotations.to_matrix(rotations.from_rotation_vector(np.array([0.0, -0.8, 0.0]))).ravel()
    assert (top_under(steep, np.inf, x, y, below)[0] < 0).all(), "too steep to stand on"


@pytest.mark.skipif(library is None, reason="needs the compiled core")
@pytest.mark.parametrize("spec", ["slope:7", "stairs:0.15,0.3", "rough:0.3,1"])
def test_tops_equal_the_twin_and_the_plain_ground(spec: str) -> None:
    base = poise.Terrain.parse(spec).placed(origin=(0.3, -0.2), heading=0.7, ground=0.1)
    ground = base.topped(boxes(6, 1), 0.4)
    shape = ground.shape
    assert isinstance(shape, Tops)
    shape.level = 1.0
    assert ground.bare == base
    block, points = PlacedGround(shape, ground.place).block, np.random.default_rng(2).normal(size=(400, 2)) * 1.5
    seen = []
    for twin in (False, True):
        height, normal, velocity = np.empty(400), np.empty((400, 3)), np.empty((400, 3))
        (sample.twin if twin else sample)(block, points, height, normal)
        (ground_velocities.twin if twin else ground_velocities)(block, points, velocity)
        seen.append((height, normal, velocity))
    seen.append(ground.sample(points))
    for function, outs in ((sample, [(400,), (400, 3)]), (ground_velocities, [(400, 3)])):
        high = np.column_stack([points, np.linspace(-1.0, 2.0, 400)])
        fast, plain = [np.empty(o) for o in outs], [np.empty(o) for o in outs]
        function(block, high, *fast)
        function.twin(block, high, *plain)
        for mine, theirs in zip(fast, plain, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)
    top = np.column_stack([points, seen[0][0]])
    assert (shape.under(top, 0.0) >= 0).mean() > 0.2
    assert (shape.under(top - np.array([0.0, 0.0, 2.5]), 0.0) < 0).all(), "beneath them"
    for other in seen[1:]:
        for mine, theirs in zip(seen[0], other, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_a_walker_tips_a_seesaw_and_walks_down_its_other_side(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, SEESAW, walk)
    angles, tops, depths = [], [], []
    for _ in range(420):
        world.step()
        angles.append(float(world.q[world.bodies.figure_q[0].stop]) + np.radians(-7.0))
        depths.append(depth_of_feet(world))
        tops.append(float(world.q[2]))
    roots = np.array(world.figures[0].poses)[1:, 0]
    before, after = (np.array(angles)[at] for at in ((roots > 1.4) & (roots < 2.4), roots > 3.2))
    assert np.ptp(before) < np.radians(0.5), "it lies on its near end"
    assert before[0] < np.radians(-5.0)
    assert after.min() > np.radians(5.0)
    assert max(tops) > 1.15, "the walker is on it"
    figure = world.figures[0].simulated
    assert figure is not None
    assert figure.fall is None
    assert roots[-1] > 4.3
    assert max(depths) < 0.03


TOO_HIGH = {
    "box": '[[boxes]]\nname = "b"\nplace = [2.6, 0.0, 0.2]\nsides = [1.6, 1.2, 0.4]\nground = true\n',
    "seesaw": SEESAW.replace("turn = [0, -7, 0]", "turn = [0, 7, 0]"),  # its near end is high
}


@pytest.mark.parametrize("name", TOO_HIGH)
def test_what_is_higher_than_a_step_is_in_the_way(tmp_path: Path, walk: Motion, name: str) -> None:
    world = world_of(tmp_path, TOO_HIGH[name], walk)
    figure = world.figures[0].simulated
    assert figure is not None
    hardest = 0.0
    for _ in range(400):
        world.step()
        if figure.last is not None:
            hardest = max(hardest, float(np.abs(figure.last.result.forces).sum()))
    assert hardest < 3000.0, "nothing lifts it"
    assert world.report()["penetration_max_m"] < 0.01
    assert abs(world.q[1]) > 0.5, "it goes round it"
    assert abs(world.q[2] - world.figures[0].poses[0][2]) < 0.05


def test_who_does_not_see_a_high_box_walks_against_it(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, TOO_HIGH["box"], walk, sees=False)
    for _ in range(300):
        world.step()
    assert 1.4 < world.q[0] < 1.9, "it is held back"
    assert_goes_on_as_saved(world, 20)


def test_a_rope_bridge_sags_under_a_walker(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, BRIDGE, walk)
    planks = [k for k, name in enumerate(world.bodies.names) if name.startswith("scene/bridge")]
    lowest, depths = [], []
    for _ in range(400):
        world.step()
        lowest.append(world.track[-1][0][planks, 2].min())
        depths.append(depth_of_feet(world))
    roots = np.array(world.figures[0].poses)[1:]
    empty, loaded = np.array(lowest)[roots[:, 0] < 1.0], np.array(lowest)[(roots[:, 0] > 2.0) & (roots[:, 0] < 3.0)]
    assert np.ptp(empty) < 0.02
    assert np.ptp(lowest) > 0.004, "it moves under the feet"
    on_it = (roots[:, 0] > 2.0) & (roots[:, 0] < 3.0)
    assert roots[on_it, 2].mean() < roots[roots[:, 0] < 1.0, 2].mean() - 0.05, "the walker is where it sags"
    assert loaded.min() > 0.55
    assert roots[-1, 0] > 4.0
    assert roots[-1, 2] > 1.6, "it is on the far bank"
    assert max(depths) < 0.06


def test_low_boxes_are_steps(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, STEPS, walk)
    levels, depths = [], []
    for _ in range(540):
        world.step()
        figure = world.figures[0].simulated
        assert figure is not None
        assert isinstance(figure.terrain.shape, Tops)
        levels.append(figure.terrain.shape.level)
        depths.append(depth_of_feet(world))
    assert {round(level, 2) for level in levels} == {0.0, 0.15, 0.3, 0.45}
    assert max(depths) < 0.03
    assert world.q[0] > 5.2
    assert abs(world.q[2] - world.figures[0].poses[0][2]) < 0.05, "down again"


def test_a_plank_gets_what_the_feet_press_with(tmp_path: Path, walk: Motion) -> None:
    plank = (
        '[[bodies]]\nname = "raft"\nplace = [1.2, 0.0, 0.06]\nsides = [2.0, 1.0, 0.12]\nmass = 30.0\nground = true\n'
    )
    world = world_of(tmp_path, plank, walk)
    bodies, body = world.bodies, world.bodies.names.index("scene/raft")
    _, first = bodies.coordinates("raft")
    mass, dt, worst, pressed_for = float(bodies.masses[body]), world.dt, 0.0, 0
    for _ in range(220):
        figure = world.figures[0].simulated
        assert figure is not None
        given = np.zeros(3)
        if figure.last is not None and figure.last.frame == figure.frame:  # as the figure's own step found them
            points = figure.last.step.contacts.points
            on = np.abs(figure.state.centers[points, 0] - bodies.q[bodies.coordinates("raft")[0]]) < 1.0
            given = -figure.last.result.forces[on].sum(axis=0)
        was = world.v[first : first + 3].copy()
        world.step()
        touches, p = world._touches, world._p  # pyright: ignore[reportPrivateUsage]
        assert touches is not None
        side = np.where(touches.bodies == body, np.array([-1.0, 1.0]), 0.0).sum(axis=1)
        from_ground = side @ touches.forces(p) if len(p) else np.zeros(3)
        gained = mass * (world.v[first : first + 3] - was)
        error = gained - dt * mass * bodies.gravity - dt * given - from_ground
        if given.any():
            pressed_for += 1
            worst = max(worst, float(np.abs(error).max()))
    assert pressed_for > 80
    assert worst < 1e-10
    assert max(pose[2] for pose in world.figures[0].poses) > 1.02


def test_a_clip_of_simulate_steps_on_bodies_too(tmp_path: Path, walk: Motion) -> None:
    file = tmp_path / "raft.toml"
    file.write_text(
        'schema = "poise.scene/1"\n[[bodies]]\nname = "raft"\nplace = [0.0, -2.2, 0.06]\nsides = [1.0, 2.0, 0.12]\n'
        "mass = 60.0\nground = true\n",
        encoding="utf-8",
    )
    result = poise.simulate(walk.cut(0.0, 2.2), world=World(file))
    assert np.ptp(result.q[:, 2]) > 0.1
    assert result.report["scene"]["bodies"] == 1
    assert result.terrain.is_flat


def test_a_world_with_treads_goes_on_as_it_did(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, SEESAW, walk)
    for _ in range(130):
        world.step()
    assert_goes_on_as_saved(world, 30)


def test_a_ragdoll_lies_on_treads(tmp_path: Path, walk: Motion) -> None:
    world = world_of(tmp_path, BRIDGE, walk)
    world.drive("ada", Ragdoll())
    for _ in range(150):
        world.step()
    assert 0.7 < world.q[2] < 1.3


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('[[bodies]]\nname = "ball"\nplace = [0, 0, 1]\nradius = 0.2\nmass = 1\nground = true\n', "only a box"),
        ('[[ropes]]\nname = "r"\nstart = [0, 0, 1]\nend = [1, 0, 1]\nmass = 1\nground = true\n', "only planks"),
    ],
)
def test_what_cannot_be_ground_is_refused(tmp_path: Path, table: str, words: str) -> None:
    file = tmp_path / "scene.toml"
    file.write_text(f'schema = "poise.scene/1"\n{table}', encoding="utf-8")
    with pytest.raises(FileFormatError, match=words):
        World(file)


def test_two_figures_share_a_bridge(tmp_path: Path) -> None:
    walk = sample_clip("walk", 3.0)
    file = tmp_path / "scene.toml"
    file.write_text(f'schema = "poise.scene/1"\n{BRIDGE}', encoding="utf-8")
    figures = {
        "ada": Clip(walk, place=(0.6, 0.0), heading=0.0),
        "bob": Clip(walk, place=(-0.6, 0.0), heading=0.0),
    }
    world = World(file, figures=figures)
    for _ in range(260):
        world.step()
    for figure in world.figures:
        simulated = figure.simulated
        assert simulated is not None
        assert simulated.fall is None
    assert world.q[world.bodies.figure_q[0]][0] > world.q[world.bodies.figure_q[1]][0] + 0.8


def test_a_platform_that_rocks_and_a_lift_carry_a_walker(tmp_path: Path, walk: Motion) -> None:
    rocker = """
[[bodies]]
name = "rocker"
place = [2.4, 0.0, 0.12]
sides = [3.0, 1.0, 0.06]
mass = 40.0
hinge = {axis = [1, 0, 0], place = [2.4, 0.0, 0.12]}
ground = true

[[boxes]]
name = "lift"
place = [5.4, 0.0, 0.07]
sides = [2.6, 2.0, 0.14]
ground = true

[[events]]
move = "lift"
keys = [{time = 4.0}, {time = 5.2, shift = [0.0, 0.3, 0.25], turn = [0, -6, 0]}]
"""
    world = world_of(tmp_path, rocker, walk)
    angles, depths = [], []
    for _ in range(520):
        world.step()
        angles.append(float(world.q[world.bodies.figure_q[0].stop]))
        depths.append(depth_of_feet(world))
    assert max(angles) > np.radians(3.0), "it rocks from foot to foot"
    assert min(angles) < np.radians(-3.0)
    assert max(depths) < 0.04
    figure = world.figures[0].simulated
    assert figure is not None
    assert figure.fall is None
    assert world.q[1] > 0.2, "the lift takes it aside"
    assert world.q[2] > 1.25, "and up"


def test_a_record_shows_what_bodies_carry(tmp_path: Path, walk: Motion) -> None:
    """On a platform the legs have rows, and a clip on it contact forces: contacts were sought on the level ground."""
    box = '[[boxes]]\nname = "platform"\nplace = [0.0, 0.0, 0.1]\nsides = [20.0, 20.0, 0.2]\nground = true\n'
    world = world_of(tmp_path, box, walk)
    for _ in range(100):
        world.step()
    rows = {row.name: row.spans for row in scene_of_world(world).timeline}
    for leg in ("left leg", "right leg"):
        assert sum(end - start for start, end, *_ in rows[leg]) > 0.3
    result = poise.simulate(walk.frames(np.arange(60)), world=World(tmp_path / "scene.toml"))
    assert result.touches is not None
    assert result.touches[5:].any(axis=1).mean() > 0.75
    scene = scene_of(result)
    force = next(o for o in scene.overlays if getattr(o, "name", "") == "contact force")
    assert isinstance(force, Vectors)
    assert np.mean(np.any(np.isfinite(force.vectors), axis=(1, 2))) > 0.75
