"""Controllers written as files: places, touch and events as conditions, and the examples in `examples/controllers`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from poise.core.errors import UnknownName
from poise.filter.forces import Push
from poise.goals.body import BODIES, FEET, PARTS
from poise.goals.climbing import StepOnto
from poise.goals.conditions import Happened, Holds, Near, On, Touching
from poise.goals.goal import LARGEST_TURN, axis_toward, bodies_named
from poise.goals.observation import Observation
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Ball, Scene, Surface
from poise.synthesis.behaviors.behavior import Role, Scenario
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, synthesize, world_of
from poise.synthesis.scene_file import load_scene, scene_of

FOLDER = Path(__file__).parents[1] / "examples" / "controllers"
CRATE = 'schema = "poise.scene/1"\n[[boxes]]\nname = "crate"\nplace = [0.7, 0.0, 0.125]\nsides = [0.8, 0.8, 0.25]\n'


def run(name: str, *, pushes: tuple[Push, ...] = ()) -> SynthesisResult:
    scene = FOLDER / f"{name}_scene.toml"
    return synthesize(FOLDER / f"{name}.toml", scene=load_scene(scene) if scene.exists() else None, pushes=pushes)


def seen(scene: Scene, memory: dict | None = None, *, steps: int = 2) -> Observation:
    """What a standing figure observes after some steps."""
    scenario = Scenario((Role(StateMachine("m", (ControlState("s"),))),), scene)
    world = world_of(scenario, settings=Settings())
    found: list[Observation] = []
    observe = world._observe

    def keep(*arguments: object) -> Observation:
        found.append(observe(*arguments))  # type: ignore[arg-type]
        return found[-1]

    world._observe = keep  # type: ignore[method-assign]
    for _ in range(steps):
        world.step()
    found[-1].memory.update(memory or {})
    return found[-1]


def test_conditions_of_place_and_touch() -> None:
    observed = seen(scene_of(CRATE))
    assert On("floor").holds(observed)
    assert not On("crate").holds(observed)
    assert Touching("left_foot", "floor").holds(observed)
    assert Touching("right_foot").holds(observed)
    assert not Touching("left_foot", "crate").holds(observed)
    assert not Touching("pelvis").holds(observed)
    assert Near("left_foot", "floor", 0.05).holds(observed)
    # the toes are 9 cm before the crate, the middle of the foot is 22 cm
    assert Near("left_foot", "crate", 0.25).holds(observed)
    assert not Near("left_foot", "crate", 0.15).holds(observed)
    assert not Holds("left_hand").holds(observed)
    with pytest.raises(UnknownName, match=r"There is no 'crat'.*Things: floor, crate"):
        Touching("left_foot", "crat").holds(observed)


def test_events_that_happened() -> None:
    wall = Surface("wall", (2.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (2.0, 2.0), until=0.015)
    ball = Ball("ball", (3.0, 0.0, 2.0), (0.0, 0.0, 0.0), at=0.015)
    scene = Scene((Surface("floor"), wall), balls=(ball,))
    before, after = seen(scene), seen(scene, steps=4)
    for name in ("wall", "ball"):
        assert not Happened(name).holds(before)
        assert Happened(name).holds(after)
    assert not Happened("push").holds(after)
    after.is_delayed = True
    assert Happened("push").holds(after)
    after.is_delayed = False
    assert Happened("push").holds(after), "it is remembered"


def test_a_foot_goes_up_before_it_goes_across_an_edge() -> None:
    observed = seen(scene_of(CRATE), {"swing": "left", "stance": "right"})
    (goal,) = StepOnto(1.0, "crate").objectives(observed)
    target = np.asarray(goal.target)
    assert target[2] > 0.0
    assert abs(target[:2]).max() < 0.1 * target[2]
    wall = Surface("wall", (2.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (2.0, 2.0))
    with pytest.raises(UnknownName, match="no top"):
        StepOnto(1.0, "wall").objectives(seen(Scene((Surface("floor"), wall)), {"swing": "left", "stance": "right"}))


def test_an_axis_that_points_the_other_way_turns_by_way_of_others() -> None:
    """From standing on its head a body turns back; the part across the wished direction is zero there, too."""
    observed = seen(Scene())
    axis = observed.body.up_axes[0]
    goal = axis_toward(observed, 0, axis, np.array([0.0, 0.0, -1.0]), 1.0, 0.1, "down")
    horizon = 0.1 * observed.body.tempo
    assert np.linalg.norm(goal.target) == pytest.approx(np.sin(LARGEST_TURN) * 2.0 / horizon**2, rel=0.05)


@pytest.mark.parametrize("name", ["crate", "chair", "catch", "get_up"])
def test_examples_are_short(name: str) -> None:
    assert len((FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()) <= 60


def sound(result: SynthesisResult) -> bool:
    """Whether physics held: no force at the root, no depth, no energy from nowhere."""
    report = result.report
    energy = report["energy"]["unexplained_rise_max_J"]
    return report["root_residual_max"]["force_N"] < 1e-6 and report["penetration_max_m"] < 1e-3 and energy < 5.0


@pytest.mark.long
def test_climb_onto_a_crate_and_raise_both_arms() -> None:
    result = run("crate")
    assert [v.name for v in result.visits][-2:] == ["stand", "raise both arms"]
    assert result.report["fell"] is None
    assert sound(result), "a foot on the edge of a box is pushed out of its top alone"
    points, figure = result.trace.points[-1], result.figures[0]
    soles = [k for k, p in enumerate(figure.character.contact_points) if p.part == "foot"]
    hands = [k for k, p in enumerate(figure.character.contact_points) if p.name.endswith("fingers")]
    assert points[soles, 2] == pytest.approx(0.25, abs=0.01)
    assert points[hands, 2].min() > points[:, 2].max() - 0.1, "hands are highest"


@pytest.mark.long
def test_sit_down_and_stand_up() -> None:
    result = run("chair")
    assert [v.name for v in result.visits] == ["reach back", "sit down", "sit", "lean forward", "stand up"]
    assert result.report["fell"] is None, "who sits has not fallen"
    assert sound(result)
    assert any(s["body"] == "Hips" and s["object"] == "chair top" for s in result.report["supports"])
    com, soles = result.trace.com[:, 0, 2], result.trace.forces[:, :, 2]
    feet = [k for k, p in enumerate(result.character.contact_points) if p.part == "foot"]
    sitting = slice(320, 350)
    assert com[sitting].max() < 0.7
    assert soles[sitting][:, feet].sum(axis=1).max() < 0.75 * result.character.mass * 9.81, "the chair carries"
    assert com[-1] > 0.97 * com[0]


@pytest.mark.long
def test_catch_a_falling_ball() -> None:
    result = run("catch")
    assert [v.name for v in result.visits] == ["wait", "catch", "carry"]
    assert sound(result)
    assert result.report["losses"] == []
    assert result.report["fell"] is None
    places = result.balls[0].places
    assert places[-1, 2] > 0.8
    assert np.abs(np.diff(places[-50:], axis=0)).max() < 1e-3, "it is carried"
    feet = [k for k, p in enumerate(result.character.contact_points) if p.part == "foot"]
    weight = (result.character.mass + 2.0) * 9.81
    assert result.trace.forces[-50:, feet, 2].sum(axis=1) == pytest.approx(weight, rel=0.02)


@pytest.mark.long
def test_get_up_from_the_ground() -> None:
    result = run("get_up", pushes=(Push("chest", (250.0, 0.0, 0.0), 0.1, 0.1),))
    assert result.visits[-1].name == "stand up"
    assert result.report["fell"] is not None
    assert sound(result)
    com = result.trace.com[:, 0, 2]
    assert com.min() < 0.2
    assert com[-1] > 0.9 * com[0]
    assert np.abs(result.v[-1]).max() < 0.5, "it stands still"


def test_every_name_of_a_part_that_is_listed_is_accepted() -> None:
    observed = seen(Scene(), {"swing": "left", "stance": "right", "hands": ("left_hand",), "mover": "left_hand"})
    for name in FEET:
        assert len(observed.foot(name)), name
    for name in PARTS:
        assert len(observed.part(name)) or name == "trailing", name
    for name in BODIES:
        assert bodies_named(observed, name), name
    for role in observed.body.character.roles:
        assert bodies_named(observed, role) == [observed.body.character.roles[role]]
    with pytest.raises(UnknownName, match="Feet: left, right, both"):
        observed.part("middle_foot")
