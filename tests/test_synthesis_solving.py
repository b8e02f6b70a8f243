"""What gives way where the rows of a synthesized step cannot all hold, and that it is counted and told."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body.character import torque_limits
from poise.core.units import GRAVITY
from poise.goals.lists import Held, Touching, Weights
from poise.goals.objectives import ComHeight
from poise.physics import Model, State
from poise.physics.mujoco_backend import Point
from poise.step import Equal, StepResult
from poise.step.quantities import RootWrench
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.records import SolverCounts
from poise.synthesis.run import synthesize, world_of
from poise.synthesis.settling import Problem, solve
from poise.synthesis.world import World

MU, TILT = 3.0, np.radians(60.0)
"""Painlevé's rod: with so much friction, at this slope, a point that slides one way cannot stay on the ground."""


def rod_on_the_ground(way: float) -> tuple[StepResult, str, SolverCounts]:
    """A step of a rod of 1 kg and 2 m that leans along +x on its lower end, which slides along x this way [m/s]."""
    inertia = '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.3333333333 0.3333333333"/>'
    body = f'<body name="rod"><freejoint/>{inertia}</body>'
    xml = f'<mujoco><option gravity="0 0 {-GRAVITY}"/><worldbody>{body}</worldbody></mujoco>'
    model = Model(xml, [Point("end", 1, (-1.0, 0.0, 0.0))])
    q, v, dt = model.q_rest(), np.zeros(6), 0.01
    q[:3] = [0.0, 0.0, np.sin(TILT)]
    q[3:7] = [np.cos(TILT / 2.0), 0.0, -np.sin(TILT / 2.0), 0.0]
    v[0] = way
    counts, one, no_joints = SolverCounts(), np.zeros(1), np.zeros(6, dtype=np.bool_)
    root = Equal(RootWrench(), 0.0, "root wrench")
    problem = Problem(State(model).at(q, v), dt, [], [root], np.zeros(6), Weights(), counts, dt, no_joints, np.zeros(6))
    touching = Touching(
        np.array([0]), np.array([-1]), np.array([[0.0, 0.0, 1.0]]), np.array([[way, 0.0, 0.0]]), one, one,
        np.zeros((1, 3)), np.zeros(1),
        np.array([dt]), np.zeros(1, dtype=np.bool_),
    )  # fmt: skip
    nothing = Held(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 3)), np.zeros((0, 3)))
    slips = np.array([[np.sign(way), 0.0, 0.0]])
    result, change = solve(problem, touching, nothing, np.array([MU]), slips)
    return result, change, counts


def test_a_sliding_rod_is_carried_by_the_friction_of_its_way() -> None:
    result, change, counts = rod_on_the_ground(1.0)
    cosine, sine = np.cos(TILT), np.sin(TILT)
    # a force λ (n − μ t) on the end accelerates it by λ (1 + 3 c (c + μ s)) / m upward
    carried = GRAVITY / (1.0 + 3.0 * cosine * (cosine + MU * sine))
    assert result.forces[0] == pytest.approx([-MU * carried, 0.0, carried], rel=1e-4, abs=1e-6)
    assert (change, counts.solves, counts.failures) == ("", 1, 0)


def test_a_rod_that_cannot_slide_that_way_sticks_and_that_is_told() -> None:
    result, change, counts = rod_on_the_ground(-1.0)
    assert (change, counts.solves, counts.failures) == ("sliding made sticking", 1, 0)
    x, _, z = result.forces[0]
    assert z > 0.0
    assert abs(x) < MU * z * (1.0 - 1e-3), "inside the cone, where sliding would be on its edge"
    # the end neither sinks nor is held: what is left of gravity is the root's own fall
    assert result.a[2] == pytest.approx(z - GRAVITY, abs=1e-6)


def test_a_goal_that_must_be_met_and_cannot_gives_way_and_the_report_tells() -> None:
    def ask(world: World) -> None:
        world.figures[0].constraints["up"] = ComHeight(1.0, height=3.0)

    result = synthesize("balance", seconds=0.3, on_step=ask, options={"alive": False})
    solver, report = result.report["solver"], result.report
    assert solver["fallbacks"] == {"goals made soft": 29}, "in every step after the first"
    assert solver["failures"] == 0
    assert report["slack"]["goal: com height"] > 10.0, "of hundreds of m/s² most is missed"
    assert report["slack_used_max"] == max(report["slack"].values())
    # what holds at any price: nobody holds the root, and the ground bears
    assert report["root_residual_max"]["force_N"] < 1e-6
    assert report["penetration_max_m"] < 5e-4
    assert result.q[-1, 2] > result.q[0, 2] + 0.03, "it does what it can: it goes up on its toes"


def test_effort_is_that_of_the_joint_nearest_to_its_limit() -> None:
    who = world_of(BEHAVIORS["balance"].setup()).figures[0]
    assert who.effort == 0.0
    limits = torque_limits(who.character)
    who.torque = 0.2 * limits
    who.torque[[3, 7]] = 0.5 * limits[3], -0.8 * limits[7]
    assert who.effort == pytest.approx(0.8)
