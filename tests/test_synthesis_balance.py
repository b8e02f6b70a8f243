"""Figures that stay upright by goals alone: standing, pushes in place, protective steps, ice, a child."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from poise.body.character import figure
from poise.body.posing import body_positions
from poise.filter.forces import Push
from poise.goals.observation import Observation
from poise.goals.polygon import nearest_inside
from poise.goals.stepping import STRIDE, choose_step, landing
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.figure import Settings
from poise.synthesis.records import WorldStep
from poise.synthesis.run import SynthesisResult, synthesize, world_of
from poise.synthesis.world import World
from tests.clips import first_cases


def pushed(
    behavior: str, x: float, y: float, *, child: bool = False, seconds: float = 2.2, literal: bool = False
) -> SynthesisResult:
    """A figure pushed at the chest for 0.1 s soon after the start; a child in proportion to its mass."""
    who = figure("child") if child else figure()
    share = who.mass / 70.0
    push = Push("chest", (share * x, share * y, 0.0), 1.0 if literal else 0.3, 0.1)
    return synthesize(behavior, who, pushes=[push], seconds=seconds, settings=Settings(is_literal=literal))


@cache
def stepped() -> SynthesisResult:
    return pushed("step", 300.0, 0.0)


def stands(result: SynthesisResult) -> bool:
    """Upright, whole, honest: nobody held it, nothing sank, no solver gave up, and it has nearly come to rest."""
    report = result.report
    return (
        report["fell"] is None
        and result.is_complete
        and report["root_residual_max"]["force_N"] < 1e-6
        and report["penetration_max_m"] < 5e-4
        and report["contact_work_ratio"] < 0.02
        and report["solver"]["failures"] == 0
        and float(np.abs(result.v[-1, :2]).max()) < 0.3
    )


def test_a_figure_stands_still_over_its_feet() -> None:
    result = synthesize("step", seconds=2.0)
    assert stands(result)
    assert result.report["steps_taken"] == 0
    assert np.abs(result.v[-1]).max() < 0.05
    assert np.abs(result.q[-1, :3] - result.q[0, :3]).max() < 0.12  # it shifts its weight to the middle of its soles


@first_cases(1, ("x", "y"), [(150.0, 0.0), (0.0, 150.0), (-75.0, 0.0)], ids=["back", "side", "front"])
def test_the_papers_own_weights_hold_pushes_in_place(x: float, y: float) -> None:
    result = pushed("balance", x, y, literal=True, seconds=4.0)  # a fall over the heels takes 2 s and more
    assert result.report["fell"] is None
    assert result.report["contact_work_ratio"] < 5e-3, "loaded heels follow the shins up and down"
    assert result.report["solver"]["failures"] == 0
    height = result.q[:, 2]
    assert height[-1] > 0.95 * height[0]
    assert np.abs(result.v[-1, :2]).max() < 0.1, "at rest, not on its way down"


def test_a_hard_push_is_answered_with_a_step_that_way() -> None:
    result = stepped()
    assert stands(result)
    assert result.report["steps_taken"] >= 1
    assert result.q[-1, 0] > 0.25
    first = next(v for v in result.visits if v.name == "take step")
    assert first.start > 0.3 + 0.2 - 1e-9, "a step before the reaction delay is over"


def test_torques_are_held_through_the_reaction_delay() -> None:
    setup = BEHAVIORS["step"].setup()
    world = world_of(setup)
    world.push(Push("chest", (300.0, 0.0, 0.0), 0.05, 0.1))
    torques: list[np.ndarray] = []
    for _ in range(30):
        world.step()
        torque = world.figures[0].torque
        assert torque is not None
        torques.append(torque)
    band = world.settings.band * world.figures[0].strength
    start = torques[4]
    assert (np.abs(np.array(torques[5:25]) - start) <= band + 1e-6).all()
    assert (np.abs(torques[29] - start) > band).any()


@pytest.mark.long
def test_pushes_from_the_side_and_from_the_front() -> None:
    for x, y in ((0.0, 300.0), (-300.0, 0.0)):
        result = pushed("step", x, y, seconds=3.0)  # the other foot is brought up as well
        assert stands(result)
        assert result.report["steps_taken"] >= 1


@first_cases(1, ("x", "y"), [(250.0, -300.0), (-300.0, 250.0)])
def test_nothing_sinks_in_a_fall(x: float, y: float) -> None:
    push = Push("chest", (x, y, 0.0), 0.2, 0.1)
    result = synthesize("balance", pushes=[push], seconds=1.7)
    assert result.report["fell"] is not None
    assert result.report["penetration_max_m"] < 5e-4
    assert result.report["body_penetration_max_m"] < 1e-3
    assert result.report["solver"]["failures"] == 0


def apart(result: SynthesisResult) -> float:
    """How far apart the feet of a run come [m]."""
    places = body_positions(result.character, result.q)
    feet = [result.character.body_index(f"{side}_foot") for side in ("left", "right")]
    return float(np.linalg.norm((places[:, feet[0]] - places[:, feet[1]])[:, :2], axis=1).max())


def test_a_step_lifts_its_foot_before_it_goes_and_lands_softly() -> None:
    result = stepped()
    assert stands(result)
    trace, weight = result.trace, 9.81 * result.character.mass
    own = trace.owners == 0
    assert float(trace.forces[:, own, 2].sum(axis=1).max()) < 2.2 * weight, "3.3 body weights from a stiff leg"
    start = next(round(v.start / 0.01) for v in result.visits if v.name == "take step")
    points = trace.points[start : start + 12, trace.points[start, :, 2] < 0.001]  # soles
    moved = np.linalg.norm(points[..., :2] - points[0, :, :2], axis=2)
    low = points[..., 2] < points[0, :, 2] + 0.004
    assert float(moved[low].max()) < 0.02, "7 cm where a straight leg swings"


def slipped(behavior: str, friction: float) -> tuple[SynthesisResult, float, float]:
    """A pushed figure, and how far loaded feet moved along the ground: all of it, and what spent its friction [m]."""
    way, slid, before = 0.0, 0.0, np.zeros(0, dtype=np.bool_)

    def watch(step: WorldStep) -> None:
        nonlocal way, slid, before
        forces = step.forces[: len(step.touching)]
        loaded = np.linalg.norm(forces, axis=1) > 20.0
        spent = np.linalg.norm(forces[:, :2], axis=1) > 0.98 * friction * forces[:, 2]
        if len(before) == len(loaded):
            along = np.linalg.norm(step.ways[: len(loaded), :2], axis=1)
            way += float(along[loaded & before].max(initial=0.0))
            slid += float(along[loaded & before & spent].max(initial=0.0))
        before = loaded

    def begin(world: World) -> None:
        if watch not in world.watchers:
            world.watchers.append(watch)

    push = Push("chest", (300.0, 0.0, 0.0), 0.3, 0.1)
    result = synthesize(behavior, pushes=[push], seconds=2.2, options={"alive": False}, on_step=begin)
    assert stands(result)
    return result, way, slid


def test_on_ice_steps_are_smaller_and_feet_slip() -> None:
    ice, _, slid = slipped("ice", 0.2)
    assert ice.report["cone_violation_max_N"] < 1e-6
    assert ice.report["steps_taken"] >= 1
    assert apart(ice) < 0.95 * apart(stepped())
    assert slid > 0.001, "by millimeters"


@pytest.mark.long
def test_a_foot_that_stands_stays_where_it_is() -> None:
    _, way, _ = slipped("step", 1.0)
    assert way < 0.002, "3 mm while a point's velocity was taken half a step off"


@pytest.mark.long
def test_a_hard_shove_on_ice_makes_feet_slide_by_centimeters() -> None:
    push = Push("chest", (440.0, 0.0, 0.0), 0.5, 0.1)
    result = synthesize("ice", pushes=[push], seconds=2.5, options={"alive": False})
    assert result.report["fell"] is None
    soles, loaded = result.trace.points, result.trace.forces[:, :, 2] > 20.0
    ways = np.linalg.norm(np.diff(soles[:, :, :2], axis=0), axis=2)
    assert float(np.where(loaded[1:] & loaded[:-1], ways, 0.0).sum(axis=0).max()) > 0.05


@pytest.mark.long
def test_a_child_steps_with_the_same_weights() -> None:
    result = pushed("step", 300.0, 0.0, child=True)
    assert stands(result)
    assert result.report["steps_taken"] >= 1


def observation_of(velocity: tuple[float, float], behavior: str = "step", name: str = "adult") -> Observation:
    """What a standing figure sees whose whole body moves at this velocity [m/s]."""
    world = world_of(BEHAVIORS[behavior].setup(), figure(name))
    world.step()
    views: list[Observation] = []
    world.v = world.v.copy()
    world.v[:2] = velocity
    seen = type(world)._observe

    def keep(*arguments: object) -> Observation:
        views.append(seen(*arguments))  # type: ignore[arg-type]
        return views[-1]

    world._observe = keep.__get__(world)  # type: ignore[method-assign]
    world.step()
    return replace(views[0], memory={})


@pytest.mark.parametrize("name", ["adult", "child"])
def test_a_step_lands_beyond_where_the_capture_point_goes(name: str) -> None:
    observed = observation_of((1.1, 0.0), name=name)
    place, miss = landing(observed, "left", 0.25)
    pushing = nearest_inside(observed.state.points[observed.body.feet["right"], :2], observed.capture_point)
    goes = pushing + (observed.capture_point - pushing) * np.exp(0.25 * observed.pendulum)
    way = goes - observed.place(observed.body.feet["right"])[:2]
    size = float(np.linalg.norm(way))
    assert size > 0.3 * observed.body.scale, "far enough to land all of it beyond"
    assert place[0] == pytest.approx(goes[0] + STRIDE.beyond * observed.body.scale * way[0] / size, abs=1e-6)
    assert miss < 0.15


def test_the_foot_on_the_falling_side_steps() -> None:
    for sideways, foot in ((0.8, "left"), (-0.8, "right")):
        observed = observation_of((0.0, sideways))
        choose_step(observed)
        assert observed.memory["swing"] == foot


def test_a_step_on_ice_lands_nearer() -> None:
    far, near = (landing(observation_of((1.5, 0.0), behavior), "left", 0.25)[0][0] for behavior in ("step", "ice"))
    assert far > near + 0.1
