"""What a figure sees and can reach: field of view, limbs, walls, holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.body.character import figure
from poise.goals.body import body_of
from poise.goals.observation import MARGIN, Observation, reachable, sees, socket
from poise.goals.surroundings import Hold, Movement, Scene, Surface
from poise.goals.walls import HandsFree, near_hands
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.run import world_of


def observation_of(
    *holds: Hold,
    walls: tuple[Surface, ...] = (),
    time: float = 0.0,
    name: str = "adult",
    velocity: tuple[float, float] = (0.0, 0.0),
) -> Observation:
    """What a standing figure sees that faces +x, its left is +y, and moves as a whole with a velocity [m/s]."""
    world = world_of(BEHAVIORS["balance"].setup(), figure(name))
    v = world.v.copy()
    v[:2] = velocity
    state = world.state.at(world.q, v)
    count = len(figure(name).contact_points)
    body = body_of(figure(name), state)
    return Observation(
        body, state, time, 0.01, 0.0, np.zeros(count, np.bool_), np.ones(count), np.zeros((count, 3)), False, False,
        scene=Scene((Surface("floor"), *walls), holds),
    )  # fmt: skip


def wall(distance: float, name: str = "wall", **more: object) -> Surface:
    """A wall ahead."""
    return replace(Surface(name, (distance, 0.0, 1.25), (-1.0, 0.0, 0.0), (4.0, 2.5)), **more)


def test_what_is_ahead_below_and_beside_is_seen_and_what_is_behind_is_not() -> None:
    observed = observation_of()
    assert sees(observed, np.array([2.0, 0.0, 1.5]))
    assert sees(observed, np.array([0.05, 0.0, 0.0]))
    assert sees(observed, np.array([0.0, 1.0, 1.5]))
    assert not sees(observed, np.array([-2.0, 0.0, 1.5]))
    assert not sees(observed, np.array([2.0, 2.0, 1.5]), field=0.3)


def test_a_limb_is_as_long_as_its_parts_and_hangs_from_shoulder_or_hip() -> None:
    observed = observation_of()
    arm, leg = socket(observed, "left_hand"), socket(observed, "left_foot")
    assert arm.length == pytest.approx(0.28 + 0.25 + 0.5 * 0.1564, abs=0.002)
    assert leg.length == pytest.approx(0.41 + 0.40 + 0.067, abs=0.01)
    assert arm.place[1] == pytest.approx(0.18, abs=0.01)
    assert socket(observed, "left").length == leg.length
    assert socket(observation_of(name="child"), "left_hand").length == pytest.approx(arm.length * 1.2 / 1.7, rel=0.05)


def test_walls_are_in_reach_up_to_the_length_of_the_arm_less_a_margin() -> None:
    shoulder = socket(observation_of(), "left_hand")
    far = shoulder.place[0] + (1.0 - MARGIN) * shoulder.length
    near = reachable(observation_of(walls=(wall(far - 0.01),)), "left_hand")
    assert [w.name for w in near] == ["wall"]
    assert near[0].kind == "wall"
    assert near[0].place[0] == pytest.approx(far - 0.01)
    assert near[0].normal == pytest.approx([-1.0, 0.0, 0.0])
    assert near[0].stretch <= 1.0 - MARGIN + 1e-9
    assert not reachable(observation_of(walls=(wall(far + 0.01),)), "left_hand")
    assert not reachable(observation_of(walls=(wall(0.4),)), "left_foot"), "feet do not push walls"


def test_what_is_not_seen_is_not_listed_unless_asked_for() -> None:
    behind = Surface("wall", (-0.4, 0.0, 1.25), (1.0, 0.0, 0.0), (4.0, 2.5))
    observed = observation_of(walls=(behind,))
    assert not reachable(observed, "left_hand")
    assert [w.name for w in reachable(observed, "left_hand", is_blind=True)] == ["wall"]


def test_the_nearest_thing_comes_first_and_what_is_gone_or_has_moved_away_is_not_listed() -> None:
    near, far = Hold("near", (0.2, 0.2, 1.0)), Hold("far", (0.4, 0.2, 1.2))
    bar = Hold("bar", (0.3, 0.0, 1.6), axis=(0.0, 1.0, 0.0), half_length=0.5)
    found = reachable(observation_of(far, bar, near), "left_hand")
    assert [(w.name, w.kind) for w in found] == [("near", "hold"), ("far", "hold"), ("bar", "bar")]
    assert found[2].place[1] == pytest.approx(observation_of().middle(observation_of().part("left_hand"))[0][1]), (
        "bars are met anywhere"
    )
    assert [w.name for w in reachable(observation_of(replace(near, until=1.0), far, time=1.0), "left_hand")] == ["far"]
    gone = Movement((0.0, 1.0), ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)))
    assert not reachable(observation_of(walls=(wall(0.4, movement=gone),), time=1.0), "left_hand")
    assert reachable(observation_of(walls=(wall(0.4, movement=gone),)), "left_hand")


def test_the_hand_on_the_side_to_which_a_figure_falls_goes_to_a_wall_there() -> None:
    left = Surface("left wall", (0.0, 0.5, 1.25), (0.0, -1.0, 0.0), (4.0, 2.5))
    right = Surface("right wall", (0.0, -0.4, 1.25), (0.0, 1.0, 0.0), (4.0, 2.5))
    for aside, hand, name in ((-0.5, "right_hand", "right wall"), (0.5, "left_hand", "left wall")):
        chosen = near_hands(observation_of(walls=(left, right), velocity=(0.0, aside)))
        assert {h: within.name for h, within in chosen.items()} == {hand: name}
    assert not near_hands(observation_of(velocity=(0.0, 0.5)))


def test_a_second_hand_goes_along_only_where_its_way_is_about_as_long() -> None:
    for turn, hands in ((0.0, {"left_hand", "right_hand"}), (0.3, {"left_hand"}), (-0.3, {"right_hand"})):
        x, y = float(np.cos(turn)), float(np.sin(turn))
        ahead = Surface("wall", (0.4 * x, 0.4 * y, 1.25), (-x, -y, 0.0), (4.0, 2.5))
        observed = observation_of(walls=(ahead,), velocity=(0.8, 0.0))
        assert all(reachable(observed, f"{side}_hand") for side in ("left", "right"))
        assert set(near_hands(observed)) == hands


def test_hands_are_free_until_one_has_rested_on_a_wall_for_a_while() -> None:
    condition, memory = HandsFree(0.5), {}

    def free(time: float, *, touches: bool, distance: float = 0.4, time_in_state: float = 9.0) -> bool:
        observed = replace(
            observation_of(walls=(wall(distance),), time=time), memory=memory, time_in_state=time_in_state
        )
        observed.touching[observed.part("left_hand")] = touches
        return condition.holds(observed)

    assert free(1.0, touches=False)
    assert free(1.4, touches=True)
    assert not free(1.6, touches=True)
    assert free(1.6, touches=True, time_in_state=0.1), "a state that has just begun goes on"
    assert free(1.7, touches=True, distance=3.0), "what it touches is not a wall"
    assert free(2.1, touches=True)
