"""Space-time problems against closed forms, exact momentum, and independent code."""

from __future__ import annotations

import json
import pickle
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poise.analysis.momentum import body_motion, momentum
from poise.analysis.smoothing import LowPass
from poise.cli.app import run
from poise.core.errors import InvalidValue, MissingExtra, UnknownName
from poise.core.units import GRAVITY
from poise.spacetime import Answer, BSplines, Problem, SpacetimeUnsolved, solve
from poise.spacetime.problem import casadi
from poise.spacetime.ready import LAMP, person

END, MASS = np.array([2.0, 0.0, 1.0]), 2.0


@cache
def lamp(**options: float | str) -> Answer:
    return solve("luxo", **options)


def closed_energy(seconds: float = 1.0) -> float:
    """E = m² (12 |b − a|² / T³ + g² T) of the best flight from rest to rest."""
    return MASS**2 * (12.0 * float(END @ END) / seconds**3 + GRAVITY**2 * seconds)


def test_the_error_of_the_particle_falls_with_the_square_of_the_step() -> None:
    errors = []
    for knots in (11, 31, 101):
        solution = solve("particle", knots=knots).solution
        s = solution.times[:, None]
        errors.append(np.abs(solution.values["position"] - END * (3.0 * s**2 - 2.0 * s**3)).max())
    slopes = np.diff(np.log(errors)) / np.diff(np.log([0.1, 1.0 / 30.0, 0.01]))
    np.testing.assert_allclose(slopes, 2.0, atol=0.1)


@pytest.mark.parametrize("splines", [0, 16])
def test_the_energy_of_the_particle_is_the_closed_form(splines: int) -> None:
    solution = solve("particle", knots=301, splines=splines).solution
    assert solution.cost == pytest.approx(closed_energy(), rel=1e-5)


def test_without_rest_at_the_ends_the_best_thrust_is_none() -> None:
    assert np.abs(solve("particle", resting=False).solution.values["thrust"]).max() < 1e-9


def test_least_fuel_is_thrust_coast_brake() -> None:
    """Without gravity: t = (T − √(T² − 4 d m / f)) / 2 of full thrust f at each end."""
    solution = solve("particle", objective="fuel", gravity=0.0, end=(2.0, 0.0, 0.0), knots=61).solution
    time = 0.5 * (1.0 - np.sqrt(1.0 - 4.0 * 2.0 * MASS / 60.0))
    assert solution.cost == pytest.approx(2.0 * 60.0 * time, rel=0.01)
    thrust = np.linalg.norm(solution.values["thrust"], axis=1)
    assert thrust[[0, 1, 2, -3, -2, -1]] == pytest.approx(60.0, rel=1e-3)
    assert thrust[7:-7].max() < 0.1


def test_the_mass_of_the_particle_is_that_of_its_character() -> None:
    answer = solve("particle", mass=5.0)
    assert answer.character.mass == pytest.approx(5.0)


def test_the_person_has_the_masses_of_the_table() -> None:
    """The hands and feet, too: the table's shares sum to one."""
    for legs in (1, 2):
        assert person(legs).mass == pytest.approx(70.0, rel=1e-3)


def test_gates_are_passed_obstacles_and_wind_heeded() -> None:
    gate, ball = (1.0, 0.5, 1.0), ((1.0, 0.2, 0.5), 0.3)
    answer = solve("particle", gates=((0.5, gate),), obstacles=(ball,), wind=(3.0, 0.0, 0.0), drag=0.5)
    path = answer.solution.values["position"]
    np.testing.assert_allclose(path[50], gate, atol=1e-7)
    assert np.linalg.norm(path - np.array(ball[0]), axis=1).min() > 0.3 - 1e-5
    calm = solve("particle", drag=0.5).solution.cost
    assert solve("particle", wind=(3.0, 0.0, 0.0), drag=0.5).solution.cost < calm  # it blows the way it goes


def test_a_planet_pulls_what_flies_by() -> None:
    planet = np.array([1.0, 1.0, 0.5])
    solution = solve("particle", resting=False, planets=((tuple(planet), 3.0),)).solution
    assert np.abs(solution.values["thrust"]).max() < 1e-5
    path = solution.values["position"]
    away = planet - path[1:-1]
    pull = 3.0 * away / (np.sum(away**2, axis=1, keepdims=True) + 0.01) ** 1.5
    np.testing.assert_allclose(np.diff(path, 2, axis=0) / 1e-4, pull - [0.0, 0.0, GRAVITY], atol=1e-4)


def test_a_problem_of_your_own() -> None:
    problem = Problem(1.0, 101)
    x, f = problem.function("x", 1, BSplines(12, is_resting=True)), problem.function("f", 1)
    problem.require("Newton", 2.0 * x.acceleration - f.value)
    problem.require("ends", casadi().horzcat(x.value[0], x.value[-1] - 1.0))
    problem.minimize("energy", problem.integral(f.value**2))
    assert problem.solve().cost == pytest.approx(48.0, rel=1e-3)


@pytest.mark.long
def test_the_lamp_falls_with_gravity_and_keeps_its_spin() -> None:
    checks = lamp().checks
    assert checks["flight_gravity"] == pytest.approx(-GRAVITY, rel=1e-9)
    assert checks["flight_spin_drift"] < 1e-8


@pytest.mark.long
def test_another_guess_gives_the_same_jump() -> None:
    cost = lamp().solution.cost
    assert lamp(guess="line").solution.cost == pytest.approx(cost, rel=0.01)
    assert lamp(guess="nothing").solution.cost == pytest.approx(cost, rel=0.01)


@pytest.mark.long
def test_the_way_over_an_obstacle_does_not_depend_on_the_guess() -> None:
    answer = lamp(obstacle=0.3)
    assert lamp(obstacle=0.3, guess="line").solution.cost == pytest.approx(answer.solution.cost, rel=0.01)
    q = answer.solution.values["q"].T
    for point in ((0.09, -0.03), (-0.09, -0.03)):
        x, z = LAMP.point(q, "base", point)
        assert (((x - 0.25) / 0.05) ** 2 + (z / 0.3) ** 2).min() > 1.0 - 1e-5
    assert answer.solution.cost > 1.01 * lamp().solution.cost


@pytest.mark.long
def test_muscles_are_a_change_of_variables_and_splines_of_them_cost_more() -> None:
    muscles, few = lamp(stiffness=5.0), lamp(stiffness=5.0, splines=30)
    assert muscles.solution.cost == pytest.approx(lamp().solution.cost, rel=0.01)
    assert few.solution.cost > 1.01 * muscles.solution.cost
    q, set_points = few.solution.values["q"], few.solution.values["set_point"]
    np.testing.assert_allclose(few.solution.values["torque"], 5.0 * (set_points - np.diff(q[:, 2:])), atol=1e-9)


@pytest.mark.long
def test_the_cost_converges_with_the_step() -> None:
    costs = [lamp(step=h).solution.cost for h in (0.02, 0.01)]
    assert costs[1] == pytest.approx(costs[0], rel=0.05)


def test_contacts_stand_push_and_stick() -> None:
    answer = lamp()
    q, values = answer.solution.values["q"].T, answer.solution.values
    for k, stance in enumerate(answer.task.stances):
        held = LAMP.point(q[:, stance.first : stance.last + 1], "base", stance.points[0])
        np.testing.assert_allclose(held, np.broadcast_to(np.array(stance.place)[:, None], held.shape), atol=1e-6)
        forces = values[f"force {k}"]
        assert (forces[:, 1::2] > -1e-4).all()
        assert (np.abs(forces[:, 0]) <= 0.8 * forces[:, 1::2].sum(axis=1) + 1e-4).all()


@pytest.mark.long
def test_momentum_follows_the_forces_by_independent_code() -> None:
    """Center of mass and angular momentum by the analysis of any clip, which knows only bodies and rotations."""
    answer = lamp(step=0.01)
    values, times = answer.solution.values, answer.solution.times
    seen = momentum(body_motion(answer.motion, answer.character, LowPass(np.inf)), answer.character)
    np.testing.assert_allclose(seen.com[:, [0, 2]], values["q"][:, :2], atol=1e-9)
    q = values["q"].T
    moment = np.zeros(len(times))
    for k, stance in enumerate(answer.task.stances):
        for i, point in enumerate(stance.points):
            arm = LAMP.point(q, stance.link, point) - q[:2]
            force = values[f"force {k}"][:, 2 * i : 2 * i + 2]
            moment += arm[0] * force[:, 1] - arm[1] * force[:, 0]
    spin = LAMP.angular_momentum(q, 0.01)
    np.testing.assert_allclose(np.diff(spin), 0.01 * moment[1:-1], atol=1e-6)
    first, last = answer.task.flight or (0, 0)
    np.testing.assert_allclose(-seen.angular[first + 3 : last - 2, 1], spin[first + 3 : last - 2], rtol=0.03)


@pytest.mark.long
@pytest.mark.parametrize(("name", "turn"), [("jump", 0.0), ("somersault", 2.0 * np.pi)])
def test_a_person_jumps_and_turns(name: str, turn: float) -> None:
    answer = solve(name)
    q = answer.solution.values["q"]
    np.testing.assert_allclose(q[-1, 2:] - q[0, 2:], turn, atol=1e-6)
    assert answer.checks["flight_gravity"] == pytest.approx(-GRAVITY, rel=1e-6)
    assert answer.checks["force_max"] < 6.0
    assert max(answer.solution.violation.values()) < 1e-5


@pytest.mark.long
def test_a_stride_repeats_with_left_and_right_changed() -> None:
    q = solve("stride", speed=3.0).solution.values["q"]
    np.testing.assert_allclose(q[-1, 2:], q[0, 2:][[0, 1, 5, 6, 7, 2, 3, 4]], atol=1e-6)
    assert q[-1, 0] - q[0, 0] == pytest.approx(3.0 * 0.32, abs=1e-6)


def test_an_impossible_problem_names_what_is_broken() -> None:
    with pytest.raises(SpacetimeUnsolved, match="is broken by") as caught:
        solve("particle", objective="fuel", thrust_limit=5.0)
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.violation["Newton"] > 1e-3
    assert error.values["thrust"].shape == (101, 3)
    assert error.iterations > 0
    assert error.status in str(error)
    with pytest.raises(UnknownName, match="Did you mean 'luxo'"):
        solve("lux")
    with pytest.raises(InvalidValue, match="has no option 'distanc'"):
        solve("luxo", distanc=1.0)
    with pytest.raises(InvalidValue, match="5 knots"):
        solve("particle", knots=3)
    with pytest.raises(UnknownName, match="No guess"):
        solve("stride", guess="ballistic")


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(MissingExtra, match=r"poise\[spacetime\]"):
        solve("particle")


def test_the_command_writes_clip_report_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip, report, page = (tmp_path / n for n in ("luxo.bvh", "luxo.json", "luxo.html"))
    words = ["spacetime", "luxo", "--set", "distance=0.4", "--guess", "line"]
    assert run([*words, "-o", str(clip), "--report", str(report), "--record", str(page)]) == 0
    assert "cost" in capsys.readouterr().out
    found = json.loads(report.read_text())
    assert found["schema"] == "poise.spacetime/1"
    assert found["guess"] == "line"
    assert found["checks"]["flight_gravity"] == pytest.approx(-GRAVITY, rel=1e-6)
    assert b"poise-recording" in page.read_bytes()
    import poise

    q = poise.load(clip)
    assert q.translations[-1, 0, 0] - q.translations[0, 0, 0] == pytest.approx(0.4, abs=1e-4)


def test_the_command_lists_problems_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spacetime", "--list"]) == 0
    text = capsys.readouterr().out
    for word in ("particle", "somersault", "stride", "obstacle", "thrust_limit"):
        assert word in text
    assert run(["spacetime", "luxo", "--set", "distance"]) == 2


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("luxo", {"distance": "4m"}, "finite number, such as 0.5"),
        ("luxo", {"distance": float("nan")}, "finite number"),
        ("luxo", {"name": "x"}, "no option 'name'"),
        ("luxo", {"guess": 3.0}, "give a word"),
        ("particle", {"end": (1.0, 2.0)}, "give 3 numbers"),
        ("particle", {"objective": "fule"}, "energy or fuel"),
    ],
)
def test_options_of_the_wrong_kind_are_refused_in_words(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidValue, UnknownName), match=words):
        solve(name, **options)
