"""Servos that follow an actor, weights that can be compared, and the ways between a clip and coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.body import fit
from poise.body.posing import motion_to_q, q_to_motion
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.edit import scale
from poise.physics import State, model_of, trajectory
from poise.step import Contacts, Equal, Objective, Quantity, Step, follow, servo, solve_step, unit_weight
from poise.step import quantities as y
from tests.filter_runs import walk

DT = 1.0 / 120.0


def followers(model_points: int) -> dict[str, Quantity]:
    """One of each kind that can follow."""
    points = np.array([0, model_points - 1])
    slant = np.array([[0.6, 0.0, 0.8]])
    return {
        "place": y.PlaceAcceleration("left_hand", np.array([0.02, 0.1, 0.0])),
        "place along": y.PlaceAcceleration("left_hand", along=slant),
        "turn": y.BodyAngularAcceleration("head"),
        "turns": y.BodyAngularAcceleration(),
        "axis": y.AxisAcceleration("head", np.array([0.0, 0.0, 1.0])),
        "points": y.PointAcceleration(points, np.tile(np.eye(3), (2, 1, 1))),
        "root": y.JointAcceleration((0, 6)),
        "pose": y.JointAcceleration((6, None)),
        "combined": y.JointAcceleration(along=np.ones((1, 66))),
        "com": y.ComAcceleration("xz"),
        "com along": y.ComAcceleration(along=(0.6, 0.0, 0.8)),
        "com without": y.ComAcceleration(without=(3,)),
    }


def pair() -> tuple[State, State, np.ndarray]:
    """A state in a walk, storage for an actor, and a velocity."""
    motion, character = walk()
    clip, model = trajectory(motion, character, DT), model_of(character)
    v = np.random.default_rng(1).normal(size=model.nv)
    return State(model).at(clip.q[40], v), State(model), v


@pytest.mark.parametrize("name", list(followers(2)))
def test_an_error_is_what_moving_makes(name: str) -> None:
    state, actor, v = pair()
    quantity = followers(state.model.point_count)[name]
    if name == "combined":
        quantity = y.JointAcceleration(along=np.ones((1, state.model.nv)))
    actor.at(state.model.integrate(state.q, v, 1e-6), v)
    moved = quantity.error(state, actor) / 1e-6
    assert np.abs(moved - quantity.rows(Step(state, dt=DT)).on_a @ v).max() < 1e-3  # of the second order in 1e-6


def test_the_rates_of_a_quantity_are_those_of_its_rows() -> None:
    state, _, v = pair()
    a = np.random.default_rng(2).normal(size=state.model.nv)
    step = Step(state, dt=DT)
    every = {**followers(state.model.point_count), "momentum": y.AngularMomentumRate()}
    every["combined"] = y.JointAcceleration(along=np.ones((1, state.model.nv)))
    for name, quantity in every.items():
        rows, (velocity, acceleration) = quantity.rows(step), quantity.rates(state, a)
        assert np.allclose(velocity, rows.on_a @ v, rtol=0.0, atol=1e-10), name
        assert np.allclose(acceleration, rows.on_a @ a + rows.c, rtol=0.0, atol=1e-9), name


def test_a_servo_with_a_wrong_shape_is_rejected() -> None:
    state, _, _ = pair()
    with pytest.raises(InvalidValue, match=r"error has shape \(2,\); PlaceAcceleration has 3 rows"):
        servo(Step(state, dt=DT), y.PlaceAcceleration("left_hand"), np.zeros(2), frequency=5.0)


def test_in_the_actors_state_the_actors_acceleration_is_asked_for() -> None:
    state, actor, v = pair()
    actor.at(state.q, v)
    a = np.random.default_rng(2).normal(size=state.model.nv)
    step = Step(state, dt=DT)
    for quantity in (*list(followers(state.model.point_count).values())[:8], y.AngularMomentumRate()):
        objective = follow(step, quantity, actor, a, frequency=20.0)
        rows = quantity.rows(step)
        assert np.abs(objective.target - rows.on_a @ a - rows.c).max() < 1e-9


def test_a_servo_reaches_its_target_as_fast_as_it_says() -> None:
    motion, character = walk()
    model = model_of(character)
    state, q, v = State(model), motion_to_q(character, motion)[0], np.zeros(model.nv)
    goal = state.at(q, v).body_place("left_hand") + np.array([0.0, 0.05, 0.1])
    off = [np.linalg.norm(goal - state.body_place("left_hand"))]
    for _ in range(60):
        step = Step(state.at(q, v), dt=DT)
        error = goal - state.body_place("left_hand")
        objectives = [
            servo(step, y.PlaceAcceleration("left_hand"), error, frequency=10.0, weight=1e3),
            Objective(y.JointAcceleration(), -10.0 * v, 1e-6),
        ]
        v = v + DT * solve_step(step, objectives, [Equal(y.JointAcceleration((0, 6)), 0.0)]).a
        q = model.integrate(q, v, DT)
        off.append(np.linalg.norm(goal - state.at(q, v).body_place("left_hand")))
    half = float(np.argmax(np.array(off) < 0.5 * off[0])) * DT
    assert abs(half - 0.168) < 0.02  # (1 + ω t) e^(−ω t) = 1/2 at ω t = 1.68; less than two steps off
    assert off[-1] < 0.05 * off[0]


def test_what_cannot_be_followed_is_refused() -> None:
    state, actor, v = pair()
    step, a = Step(state, dt=DT), np.zeros(state.model.nv)
    actor.at(state.q, v)
    with pytest.raises(InvalidValue, match="RootWrench has no position"):
        follow(step, y.RootWrench(), actor, a, frequency=10.0)
    with pytest.raises(InvalidValue, match=r"unstable in steps of 8\.33 ms. Give at most 98\.4 rad/s"):
        follow(step, y.JointAcceleration(), actor, a, frequency=100.0)
    follow(step, y.JointAcceleration(), actor, a, frequency=98.4)
    with pytest.raises(InvalidValue, match="frequency -1"):
        follow(step, y.JointAcceleration(), actor, a, frequency=-1.0)
    with pytest.raises(InvalidValue, match="No body 'left_paw'"):
        follow(step, y.PlaceAcceleration("left_paw"), actor, a, frequency=10.0)
    with pytest.raises(InvalidValue, match="no body 99"):
        y.PlaceAcceleration(99).rows(step)


def test_unit_weights_go_with_mass_and_size() -> None:
    """Twice the size is eight times the mass: what counts newtons weighs 1 / 64, what counts meters the same."""
    motion, _ = walk()
    weights = []
    for clip in (motion, scale(motion, 2.0).motion):
        character = fit(clip, masses="length")
        model = model_of(character)
        state = State(model).at(motion_to_q(character, clip)[0], np.zeros(model.nv))
        step = Step(state, Contacts.on_floor(state, character.floor, within=0.04 * character.leg_scale), dt=DT)
        quantities = (
            y.ComAcceleration(), y.PlaceAcceleration("left_hand"), y.BodyAngularAcceleration("head"),
            y.RootWrench(), y.ContactCoefficients(), y.AngularMomentumRate(),
        )  # fmt: skip
        units = [unit_weight(step, quantity, length=character.leg_length) for quantity in quantities]
        weights.append([*units, character.mass, character.leg_length])
    one, two = np.array(weights)
    mass, leg = two[-2:] / one[-2:]
    grown = two[:-2] / one[:-2]
    assert np.abs(grown[:3] / [1.0, 1.0, leg**2] - 1.0).max() < 0.01
    assert abs(grown[4] * mass**2 - 1.0) < 1e-9
    assert abs(grown[5] * (mass * leg) ** 2 - 1.0) < 0.05
    assert 0.2 < one[0] <= 1.0  # a center of mass is moved by all
    with pytest.raises(InvalidValue, match="ContactForce does not depend on"):
        unit_weight(Step(state, dt=DT), y.ContactForce(np.array([0])), length=1.0)


def test_a_trajectory_is_what_integration_makes_of_it() -> None:
    motion, character = walk()
    clip, model = trajectory(motion, character, DT), model_of(character)
    q, v = clip.q[0], clip.v[0]
    for k in range(len(clip.times) - 1):
        v = v + DT * clip.a[k]
        q = model.integrate(q, v, DT)
        assert np.abs(q - clip.q[k + 1]).max() < 1e-9
    with pytest.raises(InvalidValue, match="less than two steps"):
        trajectory(motion, character, 10.0)
    with pytest.raises(InvalidValue, match="positive time"):
        trajectory(motion, character, 0.0)


def test_a_trajectory_bridges_a_glitch() -> None:
    motion, character = walk()
    turned = motion.rotations.copy()
    knee = character.bodies[character.body_index("left_knee")].joint
    flip = rotations.from_rotation_vector(np.array([2.5, 0.0, 0.0]))
    turned[30, knee] = rotations.multiply(turned[30, knee], flip)
    clean, mended = (trajectory(m, character, DT) for m in (motion, replace(motion, rotations=turned)))
    most = np.abs(clean.a).max()
    assert np.abs(mended.a).max() < 3.0 * most  # the flip alone asks for 2.5 rad in a frame: 9,000 rad/s²
    assert np.degrees(rotations.angle_between(mended.q[:, 3:7], clean.q[:, 3:7])).max() < 1.0


def test_coordinates_become_a_motion_and_back() -> None:
    motion, character = walk()
    q = motion_to_q(character, motion)
    for source in (None, motion):
        made = q_to_motion(character, q, motion.times, source)
        assert np.abs(motion_to_q(character, made) - q).max() < 1e-9
    assert q_to_motion(character, q, 0.5).times[2] == 1.0
    with pytest.raises(InvalidValue, match="needs"):
        q_to_motion(character, q[:, :5], 0.1)
    with pytest.raises(InvalidValue, match="91 frames of source"):
        q_to_motion(character, q[:5], 0.1, motion)


def test_contacts_on_a_floor() -> None:
    state, *_ = pair()
    lowest = float(state.points[:, 2].min())
    contacts = Contacts.on_floor(state, lowest, within=1e-6)
    assert contacts.points.tolist() == [int(np.argmin(state.points[:, 2]))]
    assert Contacts.on_floor(state, lowest - 1.0).count == 0
