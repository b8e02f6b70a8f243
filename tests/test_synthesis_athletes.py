"""Athletes hop and run: flights follow each other, nobody holds them, and the speed is the one asked for."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from poise.cli.synthesized import summarize_synthesis
from poise.core.units import GRAVITY
from poise.goals.course import begin_track, course, lean_in
from poise.goals.running import LAG, LONGER, MOST_AHEAD, Bounce, PlaceFoot, keep_leg, land, swap_legs, time_on_ground
from poise.synthesis.run import SynthesisResult, synthesize
from poise.synthesis.world import World
from tests.clips import first_cases
from tests.test_synthesis_balance import observation_of


def flights(result: SynthesisResult) -> list[tuple[float, float]]:
    """When each flight began and ended [s], after the start."""
    return [(v.start, v.end) for v in result.visits if v.name == "flight" and v.start > 1.0]


def require_physics(result: SynthesisResult) -> None:
    assert result.report["fell"] is None
    assert result.report["root_residual_max"]["force_N"] < 1e-6
    assert result.report["cone_violation_max_N"] < 1e-6
    assert result.report["penetration_max_m"] < 5e-4
    assert result.report["solver"]["failures"] == 0


def test_the_hopper_hops_on_one_leg() -> None:
    idle = 0.0

    def look(world: World) -> None:
        nonlocal idle
        if world.time > 1.0:
            idle = max(idle, float(world.forces[world.figure().body.feet["right"], 2].sum()))

    result = synthesize("hopper", seconds=2.6, on_step=look)
    require_physics(result)
    assert len(flights(result)) >= 3  # one takes 0.43 s
    assert idle < 1.0  # N


@first_cases(1, "seconds, steps, speed", [(3.6, 7, 1.1), (6.0, 13, 2.0)])  # a step takes 0.31 s
def test_the_runner_runs_on_both_legs(seconds: float, steps: int, speed: float) -> None:
    tilts: list[float] = []
    pelvis: list[float] = []
    loads: list[float] = []
    aside: list[float] = []
    swing: list[float] = []
    twist: list[float] = []

    def look(world: World) -> None:
        figure = world.figure()
        body = figure.body
        if world.time > 1.5:
            at = {role: world.state.data.xpos[body.root + b] for role, b in body.character.roles.items()}
            for side, sign in (("left", 1.0), ("right", -1.0)):
                arm = at[f"{side}_elbow"] - at[f"{side}_shoulder"]
                aside.append(sign * float(arm[1]))
                swing.append(float(np.degrees(np.arctan2(arm[0], -arm[2]))))
            across = at["left_shoulder"] - at["right_shoulder"]
            twist.append(float(np.degrees(np.arctan2(across[0], across[1]))))
            head, turns = body.character.roles["head"], world.state.data.xmat.reshape(-1, 3, 3)
            tilts.append(float(turns[body.root + head, 2] @ body.up_axes[head]))
            pelvis.append(float(world.state.data.xpos[body.root, 2]))
            if figure.controller.state.name in ("compression", "thrust"):
                loads.append(float(world.forces[body.soles, 2].sum()) / (body.character.mass * GRAVITY))

    result = synthesize("run", seconds=seconds, on_step=look)
    require_physics(result)
    assert np.degrees(np.arccos(min(tilts))) < 20.0, "its head hung by up to 90°, then by 35°"
    assert min(pelvis) > 0.72, "it ran in a squat, its pelvis down to 0.60 m of 0.90 m"
    assert np.mean(np.array(loads) < 0.6) < 0.03, "a foot pushed along the ground slid, and did not bear"
    assert min(aside) > 0.06, "elbows came to 2 cm, and forearms hit belly and thighs"
    assert np.ptp(swing) > 45.0, "upper arms swung by 20°, and the chest twisted by up to 80° instead"
    assert np.abs(twist).max() < 30.0  # deg
    assert len(flights(result)) >= steps
    ahead = result.q[:, 0]
    assert ahead[-1] - ahead[-101] == pytest.approx(speed, abs=0.3)  # m in the last second; it gathers speed to 2 m/s
    assert np.abs(result.q[:, 1]).max() < 0.6


@pytest.mark.long
def test_a_fast_runner_keeps_its_speed() -> None:
    result = synthesize("run", options={"speed": 2.75}, seconds=12.0)
    require_physics(result)
    ahead = result.q[:, 0]
    assert (ahead[-1] - ahead[-501]) / 5.0 == pytest.approx(2.75, rel=0.1)  # it fell after 7 s


@pytest.mark.long
def test_a_runner_that_pushes_at_its_toes_spares_its_knees() -> None:
    torques: list[float] = []

    def look(world: World) -> None:
        figure = world.figure()
        body = figure.body
        if world.time > 4.0 and figure.torque is not None:
            knees = [body.character.v_addresses[body.character.roles[f"{side}_knee"]] - 6 for side in ("left", "right")]
            torques.append(float(np.abs(figure.torque[knees]).max()) / body.character.mass)

    result = synthesize("run", options={"speed": 1.5}, seconds=9.0, on_step=look)
    require_physics(result)
    assert np.percentile(torques, 98) < 3.6, "3.9 N m for each kg where it pushes at the middle of its sole"


def test_flights_get_longer_above_2_meters_a_second() -> None:
    rising: list[float] = []
    for time in (0.0, 100.0):
        observed = replace(observation_of((0.0, 0.0), "run"), time=time)
        bounce = Bounce(1.0, 0.11, 0.06, height=1.02, speed=3.0)
        rising.append(float(np.asarray(bounce.objectives(observed)[0].target)[2]) + GRAVITY)
    stiff = [((0.5 * GRAVITY * t) ** 2 + 2.0 * GRAVITY * 0.06) for t in (0.11, 0.11 + LONGER)]
    assert rising[1] / rising[0] == pytest.approx(stiff[1] / stiff[0], rel=0.02)


@pytest.mark.long
def test_the_hopper_hops_ahead() -> None:
    result = synthesize("hopper", options={"speed": 0.8}, seconds=12.0)
    require_physics(result)
    ahead = result.q[:, 0]
    assert (ahead[-1] - ahead[-501]) / 5.0 == pytest.approx(0.8, rel=0.15)


def test_a_mass_on_a_spring_is_on_the_ground_as_long_as_it_says() -> None:
    flight, sinks, dt = 0.2, 0.08, 1e-5
    landing = 0.5 * GRAVITY * flight
    stiffness = (landing**2 + 2.0 * GRAVITY * sinks) / sinks**2
    height, speed, lowest, time = 0.0, -landing, 0.0, 0.0
    while height <= 0.0:
        speed += dt * (-stiffness * height - GRAVITY)
        height += dt * speed
        lowest, time = min(lowest, height), time + dt
    assert lowest == pytest.approx(-sinks, rel=1e-3)
    assert time == pytest.approx(time_on_ground(flight, sinks), rel=1e-3)


def test_a_figure_that_is_too_fast_puts_its_foot_farther_ahead() -> None:
    place = PlaceFoot(1.0, 0.17, 0.055, gain=0.1)
    for speed in (0.0, 1.0):  # nothing is asked for yet, so that all of it is too fast
        observed = observation_of((speed, 0.0), "run")
        swap_legs(observed)
        tempo = observed.body.tempo
        ahead = float((place.target(observed, "left", 0.0) - observed.com[:2])[0])
        wanted = (0.5 * time_on_ground(0.17, 0.055) + LAG + 0.1) * tempo * float(observed.com_velocity[0])
        assert ahead == pytest.approx(wanted, abs=1e-9)


def test_a_track_bends_and_who_runs_on_it_leans_in() -> None:
    for radius in (6.0, -6.0):
        observed = observation_of((2.0, 0.0), "run")
        assert np.array_equal(course(observed), observed.body.forward)
        assert not lean_in(observed).any()
        begin_track(observed, radius)
        np.testing.assert_allclose(course(observed), observed.body.forward, atol=1e-12)
        scale, inward = observed.body.scale, math.copysign(1.0, radius)
        speed = float(observed.com_velocity[0])
        np.testing.assert_allclose(lean_in(observed), [0.0, speed**2 / (radius * scale * GRAVITY)], rtol=1e-6)
        x, y, own = observed.memory["track"]
        observed.memory["track"] = (x, y - inward, own)  # the figure is 1 m outside of it now, or inside
        assert course(observed)[1] * inward < 0.0
        observed.memory["track"] = (x, y + inward, own)
        assert course(observed)[1] * inward > 0.0
        observed.memory["track"] = (x - abs(own), y - own, own)  # it is a quarter further on
        np.testing.assert_allclose(course(observed), [0.0, inward, 0.0], atol=0.01)


@pytest.mark.long
@pytest.mark.parametrize("radius", [6.0, -6.0])
def test_a_runner_runs_round_a_bend(radius: float) -> None:
    result = synthesize("run", options={"radius": radius}, seconds=9.0)
    require_physics(result)
    own = radius * result.character.leg_scale
    away = result.q[:, :2] - result.q[0, :2] - [0.0, own]
    assert np.abs(np.hypot(*away.T)[300:] - abs(own)).max() < 0.8
    turned = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    assert math.copysign(1.0, radius) * (turned[-1] - turned[0]) > math.radians(80.0)


def test_a_figure_that_never_gets_as_fast_as_asked_learns_only_so_much() -> None:
    observed = observation_of((1.0, 0.0), "run")
    for _ in range(100):
        swap_legs(observed)
        land(observed)
    assert observed.memory["ahead"] == pytest.approx(MOST_AHEAD * observed.body.scale)


def test_legs_change_for_the_runner_and_stay_for_the_hopper() -> None:
    observed = observation_of((0.0, 0.0), "run")
    swap_legs(observed)
    first = observed.memory["stance"]
    swap_legs(observed)
    assert observed.memory["stance"] != first
    assert observed.memory["swing"] == first
    keep_leg(observed)
    assert observed.memory["swing"] == first


def test_a_runner_that_is_too_slow_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    result = synthesize("run", options={"speed": 2.0}, seconds=1.5)  # it has begun to gather speed
    summarize_synthesis(result, None)
    assert re.search(r"asked for: 2 m/s.*; it is \d+ % short of that", capsys.readouterr().out)
