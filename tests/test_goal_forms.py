"""The two forms of a goal as closed forms, and what makes goals fit figures of any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.body.character import figure, torque_limits, torque_of
from poise.core.units import HUMAN_LEG
from poise.goals.body import body_of
from poise.goals.goal import slowing, toward
from poise.goals.observation import Observation
from poise.step import Objective
from poise.step.quantities import ComAcceleration
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.run import world_of

ERROR, SPEED, WEIGHT = np.array([0.3, -0.2, 0.1]), np.array([1.0, 0.5, -2.0]), 7.0


def observation_of(*, is_literal: bool) -> Observation:
    """What a figure sees before anything has happened."""
    world = world_of(BEHAVIORS["balance"].setup(), figure())
    count = len(world.touching)
    return Observation(
        body_of(world.figures[0].character, world.state), world.state, 0.0, 0.01, 0.0, world.touching, np.ones(count),
        world.forces, False, is_literal,
    )  # fmt: skip


def cost(objective: Objective, a: np.ndarray) -> float:
    """What an objective on an acceleration costs: its weighted squares."""
    return float((np.asarray(objective.weight) * (a - objective.target) ** 2).sum())


def test_the_literal_form_is_the_papers_squared_error_of_the_next_step() -> None:
    observed, quantity = observation_of(is_literal=True), ComAcceleration()
    place = toward(observed, quantity, ERROR, SPEED, WEIGHT, 0.3, "place", max_acceleration=1.0)
    speed = slowing(observed, quantity, ERROR, WEIGHT, 0.3, "speed")
    for a in np.random.default_rng(1).normal(scale=100.0, size=(5, 3)):
        # w ‖x + Δt ẋ⁺ − x₀‖² and w ‖ẋ⁺ − (ẋ + change)‖², with ẋ⁺ = ẋ + Δt ẍ
        left = ERROR - observed.dt * (SPEED + observed.dt * a)
        assert cost(place, a) == pytest.approx(WEIGHT * float(left @ left))
        left = ERROR - observed.dt * a
        assert cost(speed, a) == pytest.approx(WEIGHT * float(left @ left))


def test_with_a_horizon_the_wished_acceleration_arrives_when_it_is_over() -> None:
    observed, quantity = observation_of(is_literal=False), ComAcceleration()
    horizon = 0.3 * observed.body.tempo
    desired = toward(observed, quantity, ERROR, SPEED, WEIGHT, 0.3, "place")
    assert horizon * SPEED + 0.5 * horizon**2 * desired.target == pytest.approx(ERROR)
    assert desired.weight == WEIGHT
    changed = slowing(observed, quantity, ERROR, WEIGHT, 0.3, "speed")
    assert horizon * changed.target == pytest.approx(ERROR)
    least = toward(observed, quantity, ERROR, SPEED, WEIGHT, 0.3, "place", max_acceleration=2.0)
    assert np.linalg.norm(least.target) == pytest.approx(2.0)
    assert np.cross(least.target, desired.target) == pytest.approx(0.0, abs=1e-9)
    assert float(np.dot(least.target, desired.target)) > 0.0


def test_lengths_go_with_the_leg_and_torques_with_mass_and_leg() -> None:
    adult, child = figure(), figure("child")
    world = world_of(BEHAVIORS["balance"].setup(), child)
    assert world.figures[0].body.scale == pytest.approx(child.leg_length / HUMAN_LEG)
    assert world.figures[0].body.scale < 0.8
    assert world.figures[0].body.tempo == pytest.approx(np.sqrt(child.leg_length / HUMAN_LEG))
    ratio = child.mass * child.leg_length / (adult.mass * adult.leg_length)
    assert torque_of(100.0, child) / torque_of(100.0, adult) == pytest.approx(ratio)
    grown, small = (np.sort(torque_limits(who)) for who in (adult, child))
    assert small == pytest.approx(ratio * grown, rel=1e-9)
    heavy = replace(adult, bodies=tuple(replace(b, mass=2.0 * b.mass) for b in adult.bodies))
    assert torque_limits(heavy) == pytest.approx(2.0 * torque_limits(adult))
