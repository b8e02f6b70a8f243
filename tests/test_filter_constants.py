"""Constants that no preset changes: what each is for, so that it is not changed unnoticed."""

from __future__ import annotations

import numpy as np
import pytest

from poise.filter.forces import PointGoal, Push
from poise.filter.setup import Options
from poise.filter.simulate import Live, simulate
from tests.filter_runs import walk


def test_a_figure_that_is_pressed_down_bends_as_far_as_its_goal_goes() -> None:
    """`RISE`: with a tenth of it the legs hold the hips at half the way."""
    motion, character = walk()
    asked: list[float] = []

    def look(live: Live) -> None:
        asked.append(live.figure.goal.height)

    load = Push("chest", (0.0, 0.0, -900.0), 0.5, 0.3)
    result = simulate(motion, character, pushes=[load], watch=look)
    way = (result.q - result.reference_q)[:, 2].min()
    assert min(asked) < -0.1
    assert way == pytest.approx(min(asked), rel=0.15)


def test_constraints_that_conflict_give_way_by_little() -> None:
    """`FALLBACK_WEIGHT`: of two hard goals for one hand and the center of mass, none is missed by more than it must."""
    motion, character = walk(0.8)
    place = motion.world[0][30, character.body_index("left_hand")]
    pair = tuple(PointGoal("left_hand", (place[0] + x, place[1], place[2]), 0.3, 0.3) for x in (0.0, 0.04))
    result = simulate(motion, character, options=Options(goal="com-xy", goal_points=pair))
    assert result.report["solver"]["fallbacks"]["goal_soft"] > 10
    assert result.report["goal_error_max_m"] < 7e-5


def test_a_goal_far_out_of_reach_pulls_no_harder_than_one_at_arm_s_length() -> None:
    """`LARGEST_WAY`: a tenth of it hardly moves the hand; without it the figure is torn along."""
    motion, character = walk(1.0)
    body = character.body_index("left_hand")
    x, y, z = motion.world[0][30, body].tolist()
    far = PointGoal("left_hand", (x + 1.5, y + 0.45, z), 0.3, 0.4, is_hard=False)
    result = simulate(motion, character, options=Options(goal_points=(far,)))
    way = np.linalg.norm(result.motion.world[0][:, body] - motion.world[0][:, body], axis=1).max()
    assert 0.2 < way < 0.5
