"""One foot, reaching, hands that hold one another, clips that are followed."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body.character import Character, ball
from poise.body.posing import q_to_motion
from poise.core.errors import InvalidValue
from poise.filter.forces import Push
from poise.goals.objectives import ComHeight, ComOver, Facing, Follow, Reach, Still, Upright
from poise.goals.reaching import Circle
from poise.goals.state_machine import ControlState, StateMachine
from poise.synthesis.behaviors import BEHAVIORS, Role, Scenario
from poise.synthesis.report import Audit
from poise.synthesis.run import MotionClip, SynthesisResult, synthesize, world_of
from poise.synthesis.world import World
from tests.clips import MOTIONS, first_cases, needs_motions


def is_sound(result: SynthesisResult) -> None:
    """Nobody holds a root, nothing sinks, no step was without solution."""
    report = result.report
    assert report["root_residual_max"]["force_N"] < 1e-6
    assert report["penetration_max_m"] < 5e-4
    assert report["body_penetration_max_m"] < 1e-3
    assert report["cone_violation_max_N"] < 1e-6
    assert report["solver"]["failures"] == 0


@pytest.mark.parametrize("left", [pytest.param(1.0, marks=pytest.mark.long), 0.0])
def test_the_foot_lifts_only_after_the_weight_has_moved(left: float) -> None:
    stance = "left" if left else "right"
    loads: list[tuple[str, float, float]] = []

    def look(world: World) -> None:
        figure = world.figures[0]
        feet = figure.body.feet
        swing = feet["right" if left else "left"]
        load = float(np.linalg.norm(world.forces[swing].sum(axis=0)))
        loads.append((figure.controller.state.name, load, float(world.state.points[swing, 2].min())))
        assert figure.controller.memory["stance"] == stance

    result = synthesize("one-foot", seconds=2.0, options={"left": left}, on_step=look)
    is_sound(result)
    assert result.figures[0].fell is None
    assert [v.name for v in result.visits] == ["shift", "lift"]
    lifting = [i for i, (name, _, _) in enumerate(loads) if name == "lift"]
    before = [load for name, load, _ in loads if name == "shift"]
    assert before[0] > 250.0  # it began on both feet
    assert before[-1] < 210.0  # and had moved its weight
    assert loads[lifting[-1]][2] > 0.08
    assert loads[lifting[-1]][1] == 0.0


@pytest.mark.parametrize("height", [pytest.param(0.12, marks=pytest.mark.long), 0.25])
def test_the_foot_does_not_scrape_and_goes_as_high_as_asked(height: float) -> None:
    result = synthesize("one-foot", seconds=3.0, options={"height": height})
    toe = [k for k, p in enumerate(result.character.contact_points) if p.name.startswith("RightFoot")]
    points = result.trace.points[:, toe].astype(float)
    start = points[0]
    touches = points[..., 2] < start[:, 2] + 0.002
    scraped = np.linalg.norm(points[..., :2] - start[:, :2], axis=2)[touches].max()
    assert scraped < 0.01, "12 cm where its toes hung"
    assert (points[-1, :, 2] - start[:, 2]).min() == pytest.approx(height, rel=0.15), "half of it, with hanging toes"


def test_a_hand_tracks_a_point_that_moves_to_a_centimeter() -> None:
    errors: list[float] = []

    def look(world: World) -> None:
        figure = world.figures[0]
        circle = next(w for w in figure.controller.state.goals if isinstance(w, Circle))
        center = figure.controller.memory["reach center"]
        angle = 2.0 * np.pi * world.time / circle.period
        # the state is complete for the time before the step
        angle -= 2.0 * np.pi * world.settings.dt / circle.period
        side = np.array([0.0, 1.0, 0.0])
        target = center + circle.radius * (np.cos(angle) * side + np.sin(angle) * np.array([0.0, 0.0, 1.0]))
        hand = world.state.centers[figure.body.hands["right"]].mean(axis=0)
        errors.append(float(np.linalg.norm(hand - target)))

    result = synthesize("reach", seconds=2.5, on_step=look)
    is_sound(result)
    assert max(errors[100:]) < 0.01
    assert errors[0] > 0.1


def held(*, grip: bool) -> SynthesisResult:
    push = Push("chest", (-60.0, 0.0, 0.0), 0.5, 0.1)
    return synthesize("hands", seconds=2.6, options={"grip": grip, "step": False}, pushes=[push])


@pytest.mark.long
def test_a_child_takes_the_grown_ups_hand_and_does_not_fall() -> None:
    alone, together = held(grip=False), held(grip=True)
    assert alone.figures[0].fell is not None
    assert together.figures[0].fell is None
    assert together.figures[1].fell is None
    is_sound(together)
    assert together.report["grip_drift_max_m"] < 1e-3
    support = together.report["supports"][0]
    assert support["figure"] == "child"
    assert support["object"].startswith("adult:")
    assert support["time"] > 0.7  # it began apart, and reached after its delay


@first_cases(1, "push", [(0.0, 100.0, 0.0), (-100.0, 0.0, 0.0)], ids=["toward", "back"])
def test_a_child_that_is_pushed_hard_steps_and_takes_the_hand(push: tuple[float, float, float]) -> None:
    result = synthesize("hands", seconds=2.4, pushes=[Push("chest", push, 0.5, 0.1)])
    is_sound(result)
    assert [f.character.mass for f in result.figures] == [24.0, 70.0]
    assert [f.fell for f in result.figures] == [None, None]
    assert result.report["steps_taken"] > 0
    assert result.report["supports"][0]["object"].startswith("adult:")
    assert result.report["grip_drift_max_m"] < 1e-3
    assert result.report["losses"] == []


@pytest.mark.long
def test_hands_that_are_torn_apart_open_and_that_is_told() -> None:
    world = world_of(BEHAVIORS["hands"].setup({"step": False}))
    audit = Audit()
    world.watchers.append(audit)
    world.push(Push("chest", (-60.0, 0.0, 0.0), 0.5, 0.1))
    while not world.grips:
        world.step()
    grip, mass = world.grips[0], world.figures[0].character.mass
    for name, way in (("child", -1.0), ("adult", 1.0)):
        world.push(Push("chest", (0.0, way * 40.0 * 9.81 * mass, 0.0), world.time, 0.05), name)
    for _ in range(5):
        if not world.losses:
            world.step()
    assert [(x.figure, x.body, x.what, x.why) for x in world.losses] == [("child", grip.part, grip.what, "slipped")]
    assert not world.grips
    assert all(figure.is_delayed(world.time) for figure in world.figures)
    assert audit.grip_drift < 1e-3


def test_two_figures_feel_one_another_and_nothing_else() -> None:
    """What holds the child is what pulls the grown-up: no momentum from nowhere while the hands hold."""
    setup = BEHAVIORS["hands"].setup({"step": False})
    world = world_of(setup)
    world.push(Push("chest", (-60.0, 0.0, 0.0), 0.5, 0.1))
    for _ in range(250):
        world.step()
        if world.grips and world.grips[0].force.any():
            break
    assert world.grips
    result = world.step()
    feet = world.forces.copy()
    for grip in world.grips:
        feet[grip.point] = 0.0
    state, pull = world.state, np.zeros(3)
    for figure in world.figures:
        jacobian, bias = state.com_rows(figure.body.root)
        pull += figure.character.mass * (jacobian @ result.a + bias - world.cast.model.gravity)
    np.testing.assert_allclose(pull, feet.sum(axis=0), atol=1e-6)
    assert np.linalg.norm(world.grips[0].force) > 5.0


def test_a_user_moves_a_goal_while_it_runs() -> None:
    def look(world: World) -> None:
        height = 1.3 if world.time > 0.6 else 0.9
        world.figures[0].goals["hand"] = Reach(3.0, "right_hand", (0.4, -0.25, height))

    result = synthesize("balance", seconds=1.6, on_step=look)
    is_sound(result)
    role = result.character.roles["right_hand"]
    joint = result.character.bodies[role].joint
    heights = result.motion.world[0][:, joint, 2]
    assert heights[-1] - heights[55] > 0.2


@needs_motions
def test_a_captured_pose_is_followed_while_the_figure_balances() -> None:
    from poise.io import load

    motion = load(MOTIONS / "bvh/cmu_motionbuilder/02_01.bvh")
    character = Character.fit(motion)
    goals = (
        ComOver(0.3), Upright(0.1, ("chest",)), Upright(0.2, ("pelvis",)), Facing(0.2), ComHeight(0.3), Still(0.001),
        Follow(0.02, 0.1, ("left_hip", "left_knee", "left_foot", "right_hip", "right_knee", "right_foot")),
    )  # fmt: skip
    setup = Scenario((Role(StateMachine("follow", (ControlState("follow", goals),))),))
    world = world_of(setup, character, clip=motion)
    for _ in range(60):
        world.step()
    figure = world.figures[0]
    assert figure.clip is not None
    q, _ = figure.clip.at(world.time)
    elbow = character.q_addresses[character.roles["left_elbow"]]
    start = world_of(setup, character, clip=motion).q
    kind = character.bodies[character.roles["left_elbow"]].kind
    size = 4 if kind == "ball" else 1
    part = slice(elbow, elbow + size)
    assert np.linalg.norm(world.q[part] - q[part]) < 0.3 * np.linalg.norm(start[part] - q[part]) + 0.02


def test_a_clip_of_another_skeleton_is_refused() -> None:
    setup = BEHAVIORS["balance"].setup({})
    world = world_of(setup)
    figure = world.figures[0]
    motion = q_to_motion(figure.character, np.tile(world.q, (2, 1)), 0.01)
    assert MotionClip(motion, figure.character).at(0.0)[0].shape == (figure.character.nq,)
    thing = ball("ball", 0.1, 1.0)
    with pytest.raises(InvalidValue, match="skeleton"):
        MotionClip(motion, thing)
