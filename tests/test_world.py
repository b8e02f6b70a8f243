"""Figures among bodies: contact law, answers of figures, momentum and energy, walls, crates, rubble."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import poise
from poise.cli.app import app
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion
from poise.native import library
from poise.physics.mujoco_bodies import Bodies
from poise.physics.touching import answer_free, fill_touches, find_awake, geom_speeds, remember
from poise.show.scene import Mesh
from poise.show.world_scene import props_of_thing
from poise.step import AtLeast, Constraint, Equal, Objective, Step
from poise.step.quantities import BodyAngularAcceleration, JointAcceleration, JointTorque, RootWrench
from poise.step.solve import respond, solve_step
from poise.world import World, contacts, read_scene, rubble
from poise.world.contacts import natural_residual, project, split, split_cones, sweep_contacts
from tests.clips import first_cases, sample_clip
from tests.figures import FIGURES, random_state

PLANE = '<geom type="plane" size="20 20 1" friction="0.5 0.005 0.0001"/>'


def scene(*bodies: str) -> str:
    return f"<mujoco><worldbody>{PLANE}{''.join(bodies)}</worldbody></mujoco>"


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip("walk", 3.0)


def heading(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Where a clip begins, and which way it goes, shapes (2,)."""
    character = poise.Character.fit(motion)
    q = poise.motion_to_q(character, motion)
    way = q[-1, :2] - q[0, :2]
    return q[0, :2], way / np.linalg.norm(way)


def cube(name: str, half: float, mass: float, place: np.ndarray) -> str:
    at = f"{place[0]} {place[1]} {half}"
    return (
        f'<body name="{name}" pos="{at}"><freejoint/><geom type="box" size="{half} {half} {half}" mass="{mass}" '
        'friction="0.5 0.005 0.0001"/></body>'
    )


def random_problem(rng: np.random.Generator, K: int, skew: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A contact problem that has an answer, with an operator that is not symmetric."""
    root = rng.normal(size=(3 * K, 3 * K + 2))
    other = rng.normal(size=(3 * K, 3 * K))
    A = root @ root.T / K + skew * (other - other.T) + 0.05 * np.eye(3 * K)
    return A, rng.normal(size=3 * K), rng.uniform(0.1, 1.0, K)


@pytest.mark.parametrize("seed", range(12))
def test_newton_finds_the_impulses_that_splitting_finds(seed: int) -> None:
    A, g, friction = random_problem(np.random.default_rng(seed), 8, 0.02)
    largest = np.full(8, np.inf)
    p = contacts.exactly(A, g, friction, largest, np.zeros((8, 3)))
    assert natural_residual(A, g, friction, p).max() < 2e-5
    assert np.allclose(p, split(A, g, friction, np.zeros((8, 3))), atol=1e-3)  # both end at 1e-5 m/s


@pytest.mark.parametrize("seed", range(6))
def test_splitting_finds_impulses_that_obey_the_law(seed: int) -> None:
    A, g, friction = random_problem(np.random.default_rng(seed), 6, 0.3)
    p = split(A, g, friction, np.zeros((6, 3)))
    assert natural_residual(A, g, friction, p).max() < 1e-4
    # what the law says, in words: inside the cone; nothing approaches; nothing pushes that separates
    u = (A @ p.ravel() + g).reshape(-1, 3)
    assert (np.hypot(p[:, 1], p[:, 2]) <= friction * p[:, 0] + 1e-6).all()
    assert (u[:, 0] > -1e-3).all()
    assert np.abs(p[:, 0] * u[:, 0]).max() < 1e-2
    slides = (np.hypot(u[:, 1], u[:, 2]) > 1e-2) & (p[:, 0] > 1e-2)
    against = np.sum(p[:, 1:] * u[:, 1:], axis=1)[slides]
    assert (against <= -0.99 * (friction * p[:, 0] * np.hypot(u[:, 1], u[:, 2]))[slides]).all()


def test_splitting_takes_contacts_without_friction_in_any_order() -> None:
    A, g, friction = random_problem(np.random.default_rng(5), 6, 0.3)
    friction[[1, 4]] = 0.0
    largest = np.array([np.inf, 0.1, np.inf, np.inf, np.inf, np.inf])
    p = split(A, g, friction, np.ones((6, 3)), largest)
    assert natural_residual(A, g, friction, p, largest).max() < 1e-4
    assert not p[[1, 4], 1:].any()
    assert p[[0, 2, 3, 5], 1:].any(axis=1).any()


def test_projection_is_the_nearest_point_of_the_cone() -> None:
    rng = np.random.default_rng(0)
    p, friction = rng.normal(size=(200, 3)), rng.uniform(0.1, 1.5, 200)
    onto = project(p, friction)
    assert project(np.array([[-1.0, 0.0, 0.0]]), np.zeros(1)).tolist() == [[0.0, 0.0, 0.0]]  # no friction pulls
    assert (np.hypot(onto[:, 1], onto[:, 2]) <= friction * onto[:, 0] + 1e-12).all()
    # of many points of the cone none is nearer
    for _ in range(200):
        other = rng.normal(size=(200, 3))
        other[:, 0] = np.hypot(other[:, 1], other[:, 2]) / friction + np.abs(other[:, 0])
        assert (np.linalg.norm(p - onto, axis=1) <= np.linalg.norm(p - other, axis=1) + 1e-12).all()


@pytest.mark.skipif(library() is None, reason="there is no C compiler here")
def test_compiled_contacts_equal_their_twins() -> None:
    rng = np.random.default_rng(3)
    K, first, width = 5, np.array([0, 4, 10]), np.array([4, 6, 6])
    trees = np.array([[0, 1], [1, 2], [2, -1], [-1, 0], [1, -1]])
    rows, answers = rng.normal(size=(K, 2, 3, 6)), np.zeros((K, 2, 3, 6))
    answers[:] = 0.3 * rows
    diagonal = np.einsum("ksrw,ksrw->kr", rows, answers)
    largest = np.array([np.inf, 0.2, np.inf, 0.5, 0.1])
    given = (
        trees,
        first,
        width,
        rows,
        answers,
        rng.normal(size=(K, 3)),
        np.array([0.3, 0.0, 0.9, -1.0, 0.2]),  # one is joined
        largest,
        diagonal,
    )
    v, p = rng.normal(size=16), np.abs(rng.normal(size=(K, 3)))
    both = []
    for call in (sweep_contacts, sweep_contacts.twin):
        own = v.copy(), p.copy(), np.array([True, False, True]), np.zeros(3, dtype=np.bool_)
        call(*given, contacts.SOFT, 7, 1e-2, *own)
        both.append(np.concatenate([x.ravel() for x in own]))
    assert np.allclose(*both, rtol=1e-10, atol=1e-10)
    for is_linked in (False, True):
        both, found = [], []
        for call in (contacts.settle_contacts, contacts.settle_contacts.twin):
            own, room = (v.copy(), np.zeros((K, 3)), np.full(K, np.nan)), np.empty(18 * K**2 + 36 * K)
            awake = np.zeros((2, 3), dtype=np.bool_)
            found.append(call(*given[:8], 1e-6 * contacts.SOFT, is_linked, 20, 30, 1e-2, 60, 1e-8, *own, room, *awake))
            both.append(np.concatenate([x.ravel() for x in own]))
        assert found == [0, 0]
        assert np.allclose(*both, rtol=1e-7, atol=1e-7)
        assert not is_linked or both[0][-K:].max() < 1e-6  # the law holds
    A, g, friction = random_problem(rng, K, 0.2)
    friction[3:], rows = 0.0, 3 * K - 4  # the last two take one row each
    inverse, scale = np.linalg.inv(A[:rows, :rows] + 0.5 * np.eye(rows)), rng.uniform(0.5, 2.0, K)
    friction[:1] = -1.0
    both = []
    for call in (split_cones, split_cones.twin):
        y, z, left = np.sin(np.arange(1.0 * rows)), np.cos(np.arange(1.0 * rows)), np.zeros(2)
        call(inverse, g[:rows], friction, largest, scale, 3, 0.5, 9, 1e-12, y, z, np.empty(2 * rows), left)
        both.append(np.concatenate([y, z, left]))
    assert np.allclose(*both, rtol=1e-10, atol=1e-10)
    damped = 0
    for seed in range(24):
        A, g, friction = random_problem(np.random.default_rng(seed), K, 0.2 if seed < 8 else 5.0)
        friction[seed % K], friction[(seed + 2) % K] = 0.0, -1.0
        both, turns = [], []
        for call in (contacts.newton, contacts.newton.twin):
            p = np.zeros((K, 3))
            turns.append(call(A, g, friction, largest, 20, 1e-9, p, np.empty(2 * len(g) ** 2 + 12 * len(g))))
            both.append(p)
        assert turns[0] == turns[1]
        damped += turns[0] > 10 or turns[0] < 0
        assert np.allclose(*both, rtol=1e-7, atol=1e-7)
    assert damped  # some take steps that are damped
    pairs = np.array([[0, 1], [0, 1], [1, 2], [0, 2]])
    places, before = rng.uniform(0.0, 0.02, (4, 3)), rng.uniform(0.0, 0.02, (3, 3))
    both, impulses = [], rng.normal(size=(3, 3))
    for call in (remember, remember.twin):
        out = np.full((4, 3), np.nan)
        taken, head, following = np.zeros(3, dtype=np.bool_), *np.empty((2, 3), dtype=np.int64)
        call(pairs, places, pairs[[1, 0, 2]], before, impulses, 0.04, taken, head, following, out)
        both.append(out)
    assert np.array_equal(*both)
    owner, both = np.array([1, 2, 2, 0]), []
    rates, spots, com = rng.normal(size=(3, 6)), rng.normal(size=(4, 3)), rng.normal(size=(3, 3))
    for call in (geom_speeds, geom_speeds.twin):
        speeds, fastest = np.zeros(4), np.zeros(3)
        call(owner, np.array([0, 1, 1, -1]), np.array([0, 1, 1]), rates, spots, com, np.full(4, 0.3), speeds, fastest)
        both.append(np.append(speeds, fastest))
    assert np.allclose(*both, rtol=1e-12)


@pytest.mark.skipif(library() is None, reason="there is no C compiler here")
def test_compiled_operators_equal_their_twins() -> None:
    rng = np.random.default_rng(5)
    K, first, width = 6, np.array([0, 8, 14, 20]), np.array([8, 6, 6, 6])
    trees = np.array([[1, 2], [0, 1], [2, -1], [-1, 3], [3, -1], [-1, 0]])
    rows, answers = rng.normal(size=(2, K, 2, 3, 8))
    v, p, inverse = rng.normal(size=26), rng.normal(size=(K, 3)), rng.normal(size=(5, 6, 6))
    inverse[4] = 0.0
    is_figure = np.array([True, False, False, False])
    mean, largest = rng.uniform(0.1, 2.0, K), np.array([np.inf, 0.3, np.inf, 0.1, np.inf, 1.0])
    friction = np.array([0.5, 0.8, 0.0, 1.0, -1.0, 0.3])
    both = []
    for pick in (lambda f: f, lambda f: f.twin):
        A, u, moved, free = np.empty((K, 3, K, 3)), np.empty((K, 3)), v.copy(), np.zeros((K, 2, 3, 8))
        label, group = np.empty(K, dtype=np.int64), np.empty(4, dtype=np.int64)
        diagonal, residual = np.empty((K, 3)), np.empty(K)
        pick(contacts.contact_diagonals)(trees, rows, answers, diagonal)
        pick(contacts.law_residuals)(v[:18].reshape(K, 3), p, friction, mean, largest, residual)
        pick(contacts.delassus)(trees, width, rows, answers, A)
        pick(contacts.contact_speeds)(trees, first, width, rows, v, u)
        pick(contacts.apply_impulses)(trees, first, width, answers, p, moved)
        pick(answer_free)(trees, inverse, rows, free)
        pick(contacts.label_islands)(trees, is_figure, label, group)
        assert label.tolist() == [0, 0, 0, -1, -1, 0]  # 0, 1 and 2 are linked; 3 only lies on the ground
        assert group.tolist() == [0, 0, 0, 3]
        both.append(np.concatenate([x.ravel() for x in (A, u, moved, free, diagonal, residual)]))
    assert np.allclose(*both, rtol=1e-12, atol=1e-12)


@pytest.mark.skipif(library() is None, reason="there is no C compiler here")
def test_contacts_of_the_engine_are_taken_in_as_by_the_twins() -> None:
    rng = np.random.default_rng(7)
    # trees 0 to 7 and what never moves; the body of a geom is one more than its tree
    links = np.array([[0, 1], [1, 2], [3, -1], [4, 3], [5, -1], [-1, 6], [7, 7], [0, 2], [6, 2]])
    tree = np.array([*range(8), -1])
    body, geoms, count = tree + 1, np.where(links < 0, 8, links).astype(np.int32), len(links)
    rests, width = np.array([1, 1, 0, 1, 1, 1, 1, 1, 0], dtype=np.bool_), np.array([8, 6, 6, 6, 6, 6, 6, 6])
    has_shifted = np.zeros(9, dtype=np.bool_)
    has_shifted[6] = True  # the body of tree 5
    addresses = np.array([0, 3, 6, 9, 12, 15, 18, -1, 21], dtype=np.int32)  # one is left out by the engine
    gaps, speeds = rng.uniform(-0.01, 0.005, count), rng.normal(size=24)
    gaps[8], speeds[21], thick = 0.05, -1.0, np.linspace(0.0, 0.003, 9)  # too far away, even as fast as it closes
    both = []
    for call in (find_awake, find_awake.twin):
        calm, sleeps, known, near = np.full(9, 0.5), np.zeros(9, dtype=np.bool_), np.zeros(9, np.int64), np.zeros(9)
        counts, deepest, fastest = np.zeros(2, np.int64), np.zeros(1), np.array([0, 0, 0, 0, 0, 0, 0, 1.0, 0])
        awake = call(
            addresses, geoms, gaps, speeds, thick, body, tree, width, has_shifted, rests, fastest, 0.1, 0.4, 0.02, 0.01,
            calm, sleeps, known, near, counts, deepest,
        )  # fmt: skip
        both.append(np.concatenate([x[:awake] for x in (known, near)] + [calm, sleeps, counts, deepest]))
    assert np.allclose(*both, rtol=1e-12, atol=1e-15)
    # 2 does not rest and wakes what it touches, also at one remove; 5 was shifted, and 7 is not calm
    assert sleeps.tolist() == [False, False, False, True, True, False, True, False, True]
    assert known[:awake].tolist() == [0, 1, 4, 6]
    assert counts.tolist() == [3, 8]
    # one entry of each row of each side that moves, the first dof of its tree
    first = np.cumsum(width) - width
    sides = [sorted({t for t in pair if t >= 0}) for pair in links.tolist()]
    columns = np.array([first[t] for own in sides for _ in range(3) for t in own], dtype=np.int32)
    lengths = np.repeat([len(own) for own in sides], 3).astype(np.int32)
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    addresses, known = np.arange(0, 3 * count, 3, dtype=np.int32), np.array([0, 2, 5, 6, 8])
    engine = np.random.default_rng(8).normal(size=(count, 20))[:, :17]  # as in MuJoCo's own records, with gaps
    both = []
    for call in (fill_touches, fill_touches.twin):
        filled = [np.empty((5, *shape)) for shape in ((3,), (3, 3), ())] + [*np.empty((2, 5, 2), dtype=np.int64)]
        rows, is_pierced = np.full((5, 2, 3, 8), np.nan), np.zeros(5, dtype=np.bool_)
        pierced = call(
            known, addresses, geoms, engine[:, :3], engine[:, 3:12], engine[:, 12:], starts, lengths, np.cos(columns),
            columns, body, tree, engine[:, :3], tree != 2, np.repeat(np.arange(8), width), first, *filled, rows,
            is_pierced,
        )  # fmt: skip
        assert 0 < pierced < 5
        both.append(np.concatenate([x.ravel() for x in (*filled, rows, is_pierced)]))
    assert np.array_equal(*both)


CONSTRAINTS: dict[str, list[Constraint]] = {
    "none": [],
    "strict root": [Equal(RootWrench(), 0.0)],
    "a servo": [],  # damped torques, as many as the figure has
    "damped": [],  # the same as an objective
}


@pytest.mark.parametrize("kind", CONSTRAINTS)
@pytest.mark.parametrize("figure", FIGURES)
def test_the_answer_of_a_figure_changes_as_told(figure: str, kind: str) -> None:
    state = random_state(FIGURES[figure](), 4)
    rng = np.random.default_rng(1)
    nv = state.model.nv
    objectives = [
        Objective(JointTorque((0, None)), rng.normal(size=nv), rng.uniform(0.1, 1.0, nv)),
        Objective(BodyAngularAcceleration(), rng.normal(size=3 * (state.model.body_count - 1)), 0.3),
        Objective(JointAcceleration((0, 3)), rng.normal(size=3), 2.0),
    ]
    constraints = CONSTRAINTS[kind]
    if kind == "a servo":
        constraints = [Equal(JointTorque((6, None), damping=rng.uniform(0.1, 1.0, nv - 6)), 0.3)]
    if kind == "damped":
        weights = rng.uniform(0.1, 1.0, nv)
        objectives[0] = Objective(JointTorque((0, None), damping=rng.uniform(20.0, 90.0, nv)), 0.3, weights)
    jacobian, force = rng.normal(size=(4, nv)), rng.normal(size=4)
    step = Step(state, dt=0.01)
    with pytest.raises(InvalidValue, match="hard bound acts"):
        respond(step, objectives, [AtLeast(JointAcceleration((0, 1)), 900.0)], jacobian)
    result, change = respond(step, objectives, constraints, jacobian)
    pushed = solve_step(Step(state, dt=0.01, external=force @ jacobian), objectives, constraints)
    assert np.allclose(result.a + change @ force, pushed.a, rtol=1e-8, atol=1e-8)
    assert np.abs(pushed.a - result.a).max() > 1e-3


def test_a_block_rests_slides_and_stops() -> None:
    world = World(scene(cube("block", 0.1, 2.0, np.array([0.0, 0.0]))), friction=0.5)
    world.step()
    place = float(world.q[0])
    world.v[:] = [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    for _ in range(100):
        world.step()
    way = float(world.q[0]) - place
    assert way == pytest.approx(2.0**2 / (2.0 * 0.5 * 9.81), rel=0.05)  # v² / (2 μ g); time steps are 10 ms
    assert np.abs(world.v).max() < 1e-3
    assert abs(float(world.q[2]) - 0.1) < 2e-3
    assert world.bodies.energy() == pytest.approx(2.0 * 9.81 * 0.1, rel=0.03)


def test_what_is_fast_is_met_before_it_is_inside() -> None:
    """A cube that covers 8 cm a step, a wall of 20 cm: it stops at the wall, where it went in by centimeters."""
    wall = '<geom type="box" pos="0.713 0 0.5" size="0.1 1 0.5"/>'
    world = World(scene(cube("block", 0.1, 2.0, np.array([0.0, 0.0]))).replace("</worldbody>", wall + "</worldbody>"))
    world.v[0] = 8.0
    for _ in range(30):
        world.step()
    assert float(world.q[0]) < 0.513 + 1e-3
    assert world.report()["penetration_max_m"] < 2e-3  # at rest it overlaps by about 1 mm


def test_what_rests_sleeps_until_it_is_touched() -> None:
    """One cube on another: both lie still to the last bit; the upper one falls when the lower one is pulled away."""
    low, high = cube("low", 0.1, 2.0, np.array([0.0, 0.0])), cube("high", 0.1, 2.0, np.array([0.0, 0.0]))
    world = World(scene(low, high.replace("0.0 0.0 0.1", "0.0 0.0 0.3")))
    for _ in range(30):
        world.step()
    assert world.bodies.is_asleep.all()
    assert world.report()["contacts_mean"] > 7.0  # four points each
    before = world.q.copy()
    for _ in range(20):
        world.step()
    assert np.array_equal(world.q, before)
    world.push("low", poise.Push("low", (300.0, 0.0, 0.0), start=world.time, duration=0.3))
    for _ in range(4):
        world.step()
    assert not world.bodies.is_asleep[:-1].any()  # while it still lies on the other
    for _ in range(100):
        world.step()
    _, at = world.bodies.coordinates("high")
    assert float(world.q[2 + world.bodies.coordinates("high")[0]]) < 0.2
    assert np.abs(world.v[at : at + 6]).max() < 0.1


@first_cases(2, "seed", range(6))
def test_a_bar_through_a_board_comes_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.uniform([0.04, 0.02, 0.04], [0.06, 0.03, 0.06])
    board, turn = (" ".join(map(str, numbers)) for numbers in (sizes, rng.normal(size=4)))
    both = scene(
        f'<body pos="0 0 0.3"><freejoint/><geom type="box" size="{board}" density="700"/></body>',
        f'<body pos="0.01 0.005 0.31" quat="{turn}"><freejoint/>'
        '<geom type="capsule" size="0.04 0.065" density="700"/></body>',
    )
    world = World(both)
    for _ in range(50):
        world.step()
    told = world.report()
    # at most what a body at rest may overlap, and some that is still coming out
    assert told["penetration_max_m"] < 5e-3
    assert told["contact_residual_p95_m_s"] < 1e-3


@pytest.mark.long
def test_rubble_is_kicked_and_nothing_is_lost(walk: Motion) -> None:
    result = poise.simulate(walk.cut(0.0, 2.2), world=World("rubble:25,3"))
    told = result.report["scene"]
    assert told["bodies"] == 25
    assert len(result.things) == 25
    moved = [np.linalg.norm(t.positions[-1] - t.positions[0]) for t in result.things]
    assert sum(m > 0.02 for m in moved) >= 1
    assert told["momentum_error_max_Ns"] < 1e-10
    # contact-rich runs take another path on another machine; most rise by less than a hundredth
    assert told["energy_error_max_J"] <= 0.1 * told["energy_exchanged_J"]
    assert told["penetration_p95_m"] < 0.006
    assert told["penetration_max_m"] < 0.06
    assert np.isfinite(result.q).all()
    # it reacts and still follows
    assert 0.0 < result.report["deviation"]["joint_angle_rms_deg"] < 20.0


def test_the_same_seed_gives_the_same_bits(walk: Motion) -> None:
    one, two = (poise.simulate(walk.cut(0.0, 0.8), world=World("rubble:25,3")) for _ in range(2))
    assert one.report["scene"]["contacts_mean"] > 1.0
    assert np.array_equal(one.q, two.q)
    assert all(np.array_equal(a.positions, b.positions) for a, b in zip(one.things, two.things, strict=True))


def test_where_nothing_touches_nothing_changes(walk: Motion) -> None:
    clip = walk.cut(0.0, 1.0)
    away = cube("far", 0.2, 5.0, np.array([30.0, 0.0]))
    alone = poise.simulate(clip, fps=120.0)
    among = poise.simulate(clip, world=World(scene(away)), fps=120.0)
    assert np.array_equal(alone.q, among.q)


@pytest.mark.long
def test_a_wall_stops_and_a_light_crate_does_not(walk: Motion) -> None:
    start, way = heading(walk)
    place = start + 1.2 * way
    turn = np.degrees(np.arctan2(way[1], way[0]))
    wall = f'<geom name="wall" type="box" size="0.1 2 1.2" pos="{place[0]} {place[1]} 1.2" euler="0 0 {turn}"/>'
    stopped = poise.simulate(walk, world=World(scene(wall)))
    along = (stopped.q[:, :2] - start) @ way
    assert np.isfinite(stopped.q).all()
    assert along.max() < 1.2  # the pelvis stays before it
    crate = poise.simulate(walk, world=World(scene(cube("crate", 0.2, 5.0, place))))
    assert ((crate.q[-1, :2] - start) @ way) > 1.5
    assert np.linalg.norm(crate.things[0].positions[-1] - crate.things[0].positions[0]) > 0.3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rubble:many", "rubble:40,1"),
        ("rubble:0", "from 1 to"),
        ("stones", "rubble:COUNT,SEED"),
        ("<mujoco><worldbody><body><geom/></worldbody></mujoco>", "cannot read"),
    ],
)
def test_scenes_that_make_no_sense_are_refused(text: str, words: str) -> None:
    model = FIGURES["biped"]()
    with pytest.raises(InvalidValue, match=words):
        Bodies([model], text if "<" in text else read_scene(text).mjcf)


def test_bodies_welded_together_are_refused() -> None:
    text = (
        '<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/></body></worldbody>'
        '<equality><weld body1="a"/></equality></mujoco>'
    )
    with pytest.raises(InvalidValue, match="other than connect"):
        Bodies([FIGURES["biped"]()], text)


def chain(count: int) -> str:
    """Capsules in a level row at a height of 3 m, the first held at its end, as MJCF text."""
    pieces = "".join(
        f'<body name="{k}" pos="{0.2 * k + 0.1} 0 3" quat="0.7071067811865476 0 0.7071067811865476 0"><freejoint/>'
        '<geom type="capsule" size="0.02 0.1" mass="0.3"/></body>'
        for k in range(count)
    )
    joins = '<connect body1="world" body2="0" anchor="0 0 3"/>' + "".join(
        f'<connect body1="{k}" body2="{k + 1}" anchor="0 0 0.1"/>' for k in range(count - 1)
    )
    return f"<mujoco><worldbody>{PLANE}{pieces}</worldbody><equality>{joins}</equality></mujoco>"


def test_a_chain_swings_and_gains_no_energy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.world.world.SETTLING_TIME", 0.0)
    world = World(chain(6), dt=0.005)
    start = world.bodies.energy()
    energies, apart, low = [], [], np.inf
    for _ in range(300):
        world.step()
        energies.append(world.bodies.energy())
        apart.append(float(np.linalg.norm(world.bodies.apart, axis=1).max()))
        low = min(low, float(world.bodies.places()[0][-1, 2]))
    assert low < 2.1  # it swung down, 1.2 m long
    assert max(energies) <= start + 1e-9
    risen = max(np.array(energies) - np.minimum.accumulate(energies))
    assert risen < 0.01 * start  # what draws joined points together again
    assert max(apart) < 0.02
    before = world.save()
    world.step()
    once = world.q.copy()
    world.restore(before)
    world.step()
    assert np.array_equal(once, world.q)


def test_a_rope_bridge_carries_a_crate_and_a_rope_hangs(tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text(
        """
        schema = "poise.scene/1"
        [[ropes]]
        name = "bridge"
        start = [0, 0, 1]
        end = [2, 0, 1]
        pieces = 8
        mass = 2.5
        width = 0.8
        [[ropes]]
        name = "rope"
        start = [0, 2, 2.5]
        end = [1, 2, 2.5]
        pieces = 5
        mass = 0.1
        hangs_free = true
        [[bodies]]
        name = "crate"
        place = [1, 0, 1.2]
        sides = [0.4, 0.4, 0.4]
        mass = 30
        """
    )
    world = World(file)
    for _ in range(50):
        world.step()
    places = dict(zip(world.bodies.names, world.bodies.places()[0], strict=True))
    assert 0.7 < places["scene/crate"][2] < 1.2  # on the planks, which sag by 0.2 m
    assert world.report()["contact_residual_p95_m_s"] < 1e-3
    assert np.linalg.norm(world.bodies.apart, axis=1).max() < 0.005
    rope = places["scene/rope 5"] - (0.0, 2.0, 2.5)
    assert 0.5 < np.linalg.norm(rope) < 0.95  # it swings below its start, about 1 m long
    assert rope[2] < -0.1


@pytest.mark.long
def test_a_rope_that_a_walker_runs_into_stays_whole(tmp_path: Path, walk: Motion) -> None:
    place, way = heading(walk)
    ends = [np.append(place + way + side * np.array([-way[1], way[0]]), 0.9).tolist() for side in (-1.2, 1.2)]
    file = tmp_path / "rope.toml"
    file.write_text(
        f'schema = "poise.scene/1"\n[[ropes]]\nname = "rope"\nstart = {ends[0]}\nend = {ends[1]}\npieces = 16\n'
        "mass = 0.15\nradius = 0.015\nslack = 0.02\n"
    )
    world, apart = World(file), [0.0]
    poise.simulate(walk, world=world, watch=lambda _: apart.append(float(np.abs(world.bodies.apart).max())))
    assert max(apart) < 0.015  # light pieces that are pulled turn too far otherwise, and it stretches by 60 cm


@pytest.mark.parametrize(("key", "words"), [("end = [0, 0, 1]", "one place"), ("pieces = 0", "pieces")])
def test_a_rope_that_makes_no_sense_is_refused(tmp_path: Path, key: str, words: str) -> None:
    file = tmp_path / "rope.toml"
    fields = {"end": "end = [2, 0, 1]", "pieces": "pieces = 3"} | {key.split(" ", maxsplit=1)[0]: key}
    text = "\n".join(fields.values())
    file.write_text(f'schema = "poise.scene/1"\n[[ropes]]\nname = "r"\nstart = [0, 0, 1]\nmass = 1\n{text}\n')
    with pytest.raises(FileFormatError, match=words):
        World(file)


def test_rubble_depends_on_its_seed_alone() -> None:
    assert rubble(5, 1) == rubble(5, 1) != rubble(5, 2)


def test_rubble_is_as_large_and_as_heavy_as_its_table_says(tmp_path: Path) -> None:
    file = tmp_path / "stones.toml"
    file.write_text('schema = "poise.scene/1"\n[rubble]\ncount = 9\nseed = 1\nsizes = [0.2, 0.3]\ndensity = 2500\n')
    world = World(file)
    for thing in world.things():
        kind, size, _, _ = thing.shapes[0]
        least = 0.2**3 if kind == "box" else 0.1**2 * 0.2 * np.pi  # [m³]
        assert 0.099 < size.max() < 0.151
        assert thing.mass > 0.99 * 2500 * least, "as stone"
    for wrong in ("sizes = [0.3, 0.2]", "sizes = [0.0, 0.2]", "density = 0"):
        file.write_text(f'schema = "poise.scene/1"\n[rubble]\ncount = 2\n{wrong}\n')
        with pytest.raises(FileFormatError, match="give"):
            World(file)


def test_rubble_in_the_short_form_is_as_it_says(walk: Motion) -> None:
    world = World("rubble:12,1,size=0.05-0.2,mass=1-5,shape=mesh")
    things = world.things()
    assert {thing.shapes[0][0] for thing in things} == {"mesh"}
    assert 1.0 <= min(thing.mass for thing in things) < 2.0 < 4.0 < max(thing.mass for thing in things) <= 5.0
    widths = [float(np.ptp(thing.shapes[0][1], axis=0).max()) for thing in things]
    assert 0.05 < min(widths) < max(widths) < 0.2
    props = [prop for thing in things for prop in props_of_thing(thing)]
    for prop in props:  # a closed surface that faces outward
        (mesh,) = prop.shapes
        assert isinstance(mesh, Mesh)
        a, b, c = np.moveaxis(mesh.vertices[mesh.indices], 1, 0)
        assert np.einsum("ki,ki->k", np.cross(b - a, c - a), a - mesh.vertices.mean(axis=0)).min() > 0.0
    assert {thing.shapes[0][0] for thing in World("rubble:4,1,shape=bar").things()} == {"capsule"}
    result = poise.simulate(walk.cut(0.0, 1.2), world=world)
    moved = [np.linalg.norm(np.ptp(thing.positions, axis=0)) for thing in result.things]
    assert max(moved) > 0.05, "stones are kicked"
    assert result.report["scene"]["momentum_error_max_Ns"] < 1e-10


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rubble:4,1,size=0.3-0.1", "size: give the least and the largest"),
        ("rubble:4,1,mass=0-1", "mass: give the least"),
        ("rubble:4,1,shape=ball", "shape: "),
        ("rubble:4,1,color=red", "color"),
        ("rubble:size=0.1,4", "rubble:COUNT,SEED"),
        ("rubble:4,1,2", "rubble:COUNT,SEED"),
    ],
)
def test_rubble_that_is_none_says_what_can_be_said(text: str, words: str) -> None:
    with pytest.raises(InvalidValue, match=words):
        World(text)


def test_simulate_takes_a_scene(tmp_path: Path) -> None:
    out, report, page = tmp_path / "out.bvh", tmp_path / "out.json", tmp_path / "out.html"
    run = CliRunner().invoke(
        app,
        [
            "simulate", str(poise.sample_path("walk.bvh")), "-o", str(out), "--report", str(report), "--record",
            str(page), "--scene", "rubble:10,2", "--end", "1.5",
        ],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    told = json.loads(report.read_text(encoding="utf-8"))["scene"]
    assert {"contact_residual_p95_m_s", "penetration_p95_m", "momentum_error_max_Ns", "energy_error_max_J"} <= set(told)
    assert page.stat().st_size > 10_000


ROOM = """
schema = "poise.scene/1"
[floor]
friction = 0.8
[[walls]]
name = "wall"
place = [-3.0, 0.0, 1.0]
facing = [1.0, 0.0, 0.0]
size = [2.0, 2.0]
[[bodies]]
name = "a <door>"
place = [9.0, 0.0, 1.0]
sides = [0.04, 0.8, 1.9]
mass = 12.0
hinge = {axis = [0, 0, 1], place = [9.0, 0.4, 1.0]}
[[bodies]]
name = "pole"
place = [8.0, 0.0, 0.1]
turn = [0.0, 90.0, 0.0]
radius = 0.1
length = 0.8
mass = 1.0
[rubble]
count = 3
[[balls]]
name = "ball"
radius = 0.1
mass = 2.0
[[events]]
throw = "ball"
time = 0.2
place = [BALL]
to = [GOAL]
flight = 0.3
"""


def test_a_scene_file_holds_bodies_rubble_and_a_ball_that_hits(tmp_path: Path, walk: Motion) -> None:
    start, way = heading(walk)
    chest = np.append(start + 0.4 * way, 1.1)
    side = chest + 2.0 * np.array([-way[1], way[0], 0.0])
    file = tmp_path / "room.toml"
    text = ROOM.replace("BALL", ", ".join(map(str, side))).replace("GOAL", ", ".join(map(str, chest)))
    file.write_text(text, encoding="utf-8")
    world = World(file)
    result = poise.simulate(walk.cut(0.0, 1.0), world=world)
    assert len(result.things) == 6 + 1  # two bodies, three pieces, the ball, and what never moves
    ball = next(thing for thing in result.things if thing.name == "ball")
    dt = result.motion.duration / (len(ball.positions) - 1)
    step = np.linalg.norm(np.diff(ball.positions, axis=0), axis=1) / dt
    before = round(0.2 / dt)
    np.testing.assert_allclose(ball.positions[: before + 1], np.tile(side, (before + 1, 1)), atol=1e-12)
    assert step[before + 2] == pytest.approx(np.hypot(2.0 / 0.3, 0.5 * 9.81 * 0.3), rel=0.05)
    apart = np.linalg.norm(result.motion.world[0] - walk.cut(0.0, 1.0).world[0], axis=2)
    assert apart[: round(0.4 / result.motion.dt)].max() < 1e-6 < 0.01 < apart.max()
    assert world.report()["momentum_error_max_Ns"] < 1e-10
    assert world.report()["energy_error_max_J"] < 1.0
    pole = next(thing for thing in result.things if thing.name == "pole")
    assert pole.positions[-1, 2] == pytest.approx(0.1, abs=2e-3)  # it lies


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('name = "pole"', 'name = "wall"'), "two things are called 'wall'"),
        (("radius = 0.1\nlength", "length"), "its shape is not clear"),
        (("hinge =", "slide = [1, 0, 0]\nhinge ="), "a hinge and a slide"),
        (("mass = 12.0", "mass = -1.0"), "positive"),
        (("[[balls]]", '[[events]]\nremove = "wall"\ntime = 1.0\n[[balls]]'), "does not play"),
    ],
)
def test_a_scene_file_that_makes_no_sense_is_refused(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    file = tmp_path / "room.toml"
    assert change[0] in ROOM
    text = ROOM.replace("BALL", "0, 1, 1").replace("GOAL", "0, 0, 1")
    file.write_text(text.replace(*change, 1), encoding="utf-8")
    with pytest.raises(FileFormatError, match=words):
        read_scene(file)


def test_bodies_that_move_by_physics_are_no_scene_of_surfaces(tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    file.write_text(ROOM.replace("BALL", "0, 1, 1").replace("GOAL", "0, 0, 1"), encoding="utf-8")
    with pytest.raises(FileFormatError, match="poise synthesize --scene"):
        poise.synthesis.load_scene(file)


def test_what_stands_before_a_figure_is_clear(tmp_path: Path) -> None:
    file = tmp_path / "room.toml"
    file.write_text(
        'schema = "poise.scene/1"\n'
        '[[walls]]\nname = "wall"\nplace = [0, -3.0, 1.2]\nfacing = [0, 1, 0]\nsize = [3.0, 2.4]\n'
        '[[boxes]]\nname = "table"\nplace = [2, -3.0, 0.4]\nsides = [1.6, 0.8, 0.8]\n'
        '[[boxes]]\nname = "screen"\nplace = [2, 3.0, 0.9]\nsides = [0.1, 1.2, 1.8]\n'
        '[[bodies]]\nname = "door"\nplace = [4, 0, 1.0]\nsides = [0.04, 0.8, 1.98]\nmass = 12.0\n'
        '[[bodies]]\nname = "crate"\nplace = [4, 2, 0.3]\nsides = [0.6, 0.6, 0.6]\nmass = 4.0\n'
    )
    props = {p.name: p for thing in World(file).things() for p in props_of_thing(thing)}
    clear = {name: (prop.is_clear, len(prop.shapes)) for name, prop in props.items()}
    assert clear == {"world": (False, 1), "world: walls": (True, 2), "door": (True, 1), "crate": (False, 1)}
    still = tmp_path / "still.toml"  # nothing moves by physics: its plates are drawn, by the same rule
    still.write_text(file.read_text().partition("[[bodies]]")[0])
    plates = poise.scene_of(poise.synthesize("balance", scene=still, seconds=0.02)).props
    assert {p.name: p.is_clear for p in plates} == {"wall": True, "table": False, "screen": True}
