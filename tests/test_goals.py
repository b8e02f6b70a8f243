"""Point goals: targets that stay, that come one a frame, with times, or from a function; and how they are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from poise.body.posing import body_positions, motion_to_q
from poise.core.errors import InvalidValue
from poise.filter.forces import PointGoal
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.show.look import Look
from poise.show.result_scene import scene_of
from tests.filter_runs import walk

Array = npt.NDArray[np.float64]


def waved(seconds: float = 1.0) -> tuple[Array, Array]:
    """Times, and places that lie 5 cm beside where the left hand of the walk goes and wave up and down."""
    motion, character = walk(seconds)
    hand = body_positions(character, motion_to_q(character, motion))[:, character.body_index("left_hand")]
    wave = 0.03 * np.sin(4.0 * motion.times)[:, None] * [0.0, 0.0, 1.0]
    return motion.times, hand + np.array([0.0, 0.05, 0.0]) + wave


def test_places_per_frame_with_times_and_from_a_function_say_the_same() -> None:
    motion, character = walk(1.0)
    times, places = waved()
    answers = []
    for target in (places, (times, places), PointGoal("left_hand", (times, places)).place):
        goal = PointGoal("left_hand", target)
        result = simulate(motion, character, fps=120.0, options=Options(goal_points=(goal,)))
        hand = body_positions(character, result.q)[:, character.body_index("left_hand")]
        answers.append(result.q)
        late = result.times > 0.6
        wanted = np.stack([np.interp(result.times, times, places[:, c]) for c in range(3)], axis=1)
        assert np.abs(hand - wanted)[late].max() <= 0.004
    assert np.array_equal(answers[0], answers[1])
    assert np.abs(answers[1] - answers[2]).max() <= 1e-12


def test_a_target_rests_before_its_first_and_after_its_last_time() -> None:
    goal = PointGoal("left_hand", (np.array([1.0, 2.0]), np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])))
    assert goal.place(0.0) == pytest.approx([0.0, 0.0, 1.0])
    assert goal.place(1.5) == pytest.approx([0.5, 0.0, 1.0])
    assert goal.place(9.0) == pytest.approx([1.0, 0.0, 1.0])
    assert PointGoal("left_hand", (np.zeros(1), np.ones((1, 3)))).place(3.0) == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "target",
    [
        np.zeros((4, 2)),
        (np.arange(3.0), np.zeros((4, 3))),
        (np.array([0.0, 2.0, 1.0]), np.zeros((3, 3))),
        (np.arange(2.0), np.array([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]])),
        (np.zeros(0), np.zeros((0, 3))),
    ],
    ids=["two columns", "too few times", "times that fall", "not finite", "empty"],
)
def test_targets_that_are_none_are_refused(target: Any) -> None:
    with pytest.raises(InvalidValue, match="left_hand"):
        PointGoal("left_hand", target)


def test_as_many_places_as_frames_or_none() -> None:
    motion, character = walk(1.0)
    _, places = waved()
    with pytest.raises(InvalidValue, match="as many places as times or frames"):
        simulate(motion, character, options=Options(goal_points=(PointGoal("left_hand", places[:-1]),)))


def test_pictures_mark_goals_while_they_act() -> None:
    motion, character = walk(1.0)
    times, places = waved()
    goal = PointGoal("left_hand", (times, places), start=0.4, duration=0.3)
    result = simulate(motion, character, options=Options(goal_points=(goal,)))
    look = Look(scene_of(result))
    before, during, after = (look.still(t) for t in (0.2, 0.5, 0.9))
    assert len(during.radii) == len(before.radii) + 3 == len(after.radii) + 3
    middle = 0.5 * (during.starts[-3:] + during.ends[-3:])
    k = int(np.argmin(np.abs(times - 0.5)))
    assert np.abs(middle - places[k]).max() <= 1e-6
