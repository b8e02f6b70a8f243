"""Swinging from a bar: grips that hold, arcs, and the paper's three cases."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from poise.body.character import figure, hold_points
from poise.body.limits import limit_angles
from poise.core import rotations
from poise.goals.swinging import arc_about
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.behaviors.swing import BAR
from poise.synthesis.poses import hanging
from poise.synthesis.prepared import limber
from poise.synthesis.report import _swing as swing_angle
from poise.synthesis.run import Settings, SynthesisResult, synthesize

LEFT = np.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize(("feet", "hangs"), [(0.0, True), (29.0, True), (31.0, False)])
def test_a_figure_hangs_while_its_feet_carry_little_of_what_its_hands_do(feet: float, hangs: bool) -> None:
    forces = np.array([[0.0, 0.0, 100.0], [0.0, 0.0, feet]])
    body = SimpleNamespace(feet={"left": np.array([1])})
    step: Any = SimpleNamespace(
        grips=[SimpleNamespace(figure=0, part="left_hand", point=0)],
        cast=SimpleNamespace(figures=[SimpleNamespace(body=body)]),
        point_forces=forces,
        state=SimpleNamespace(centers=np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])),
    )
    angle = swing_angle(step, 0, np.array([0.5, 0.0, 1.5], dtype=np.float32))
    assert angle == pytest.approx(45.0) if hangs else np.isnan(angle)


def test_an_arc_is_measured_about_the_line_through_the_grips() -> None:
    for angle in (-2.0, -0.4, 0.0, 0.3, 1.5):
        com = np.array([np.sin(angle), 0.3, -np.cos(angle)])
        ahead = np.array([np.cos(angle), 0.0, np.sin(angle)])
        found = arc_about([np.array([0.0, 0.2, 0.0]), np.array([0.0, -0.2, 0.0])], LEFT, com, 2.0 * ahead)
        assert found.angle == pytest.approx(angle)
        assert found.speed == pytest.approx(2.0)
        assert found.ahead == pytest.approx(ahead)


def test_an_arc_comes_as_far_as_its_energy_takes_it() -> None:
    speed = np.sqrt(2.0 * 9.81 * (1.0 - np.cos(0.8)))
    found = arc_about([np.zeros(3)], LEFT, np.array([0.0, 0.0, -1.0]), np.array([speed, 0.0, 0.0]))
    assert found.reach == pytest.approx(0.8, abs=1e-3)


def test_a_hanging_figure_holds_the_bar_with_both_hands_inside_its_limits() -> None:
    who = limber(figure("adult"))
    model = model_of(who)
    for angle in (0.0, 1.0):
        q = hanging(who, np.array(BAR.place), angle)
        state = State(model).at(q, np.zeros(model.nv))
        hands = state.centers[[hold_points(who, f"{side}_hand")[0] for side in ("left", "right")]]
        assert hands[:, [0, 2]] == pytest.approx(np.tile([0.0, 2.6], (2, 1)), abs=1e-9)
        below = state.com() - np.array(BAR.place)
        assert np.arctan2(below[0], -below[2]) == pytest.approx(angle, abs=0.06)
    for i, body in enumerate(who.bodies):
        if body.kind == "ball" and body.limits is not None:
            at = who.q_addresses[i]
            twist, bend, side = limit_angles(body.limits, q[at : at + 4])
            assert body.limits.twist_lower < twist < body.limits.twist_upper
            assert body.limits.bend_lower < bend < body.limits.bend_upper
            assert body.limits.side_lower < side < body.limits.side_upper


def test_shoulders_reach_overhead_and_not_as_far_back() -> None:
    who = limber(figure("adult"))
    shoulder = who.bodies[who.roles["left_shoulder"]]
    limits = shoulder.limits
    assert limits is not None
    forward = np.radians([[180.0], [200.0], [-50.0], [-70.0]]) * -LEFT
    overhead, beyond, back, further = limit_angles(limits, rotations.from_rotation_vector(forward))[:, 1]
    assert overhead < limits.bend_upper < beyond
    assert further < limits.bend_lower < back


def swing(seconds: float, *, is_literal: bool = False, **options: float) -> SynthesisResult:
    return synthesize("swing", seconds=seconds, options=options, settings=Settings(is_literal=is_literal))


def require_sound(result: SynthesisResult) -> None:
    """Grips hold, nothing but the bar carries the figure, and the bar does no work."""
    report = result.report
    assert report["grip_drift_max_m"] < 1e-3
    assert report["root_residual_max"]["force_N"] < 1e-6
    assert report["contact_work_ratio"] < 0.02
    assert report["solver"]["failures"] == 0
    assert report["fell"] is None


def test_a_swing_grows_from_rest() -> None:
    result = swing(5.0)
    require_sound(result)
    assert result.report["swing_max_deg"] > 15.0
    swings = result.report["swings_deg"]
    assert swings[-1] > swings[1] > 5.0


@pytest.mark.long
def test_a_coordinated_swing_grows_further() -> None:
    result = swing(6.0, coordinated=1.0, start=45.0)
    require_sound(result)
    swings = result.report["swings_deg"]
    assert 60.0 < swings[-1] > swings[0]


@pytest.mark.long
@pytest.mark.parametrize("coordinated", [pytest.param(0.0, marks=pytest.mark.long), 1.0])
def test_the_papers_swing_from_high_decays_and_holds_with_straight_legs(coordinated: float) -> None:
    result = swing(6.0, is_literal=True, start=60.0, coordinated=coordinated)
    require_sound(result)
    if coordinated:
        assert sum(result.report["swings_deg"][-2:]) / 2.0 > 55.0, "back and forward"
    else:
        assert result.report["swings_deg"][-1] < 52.0
