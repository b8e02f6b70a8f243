"""No edit costs more than the fault it mends, on the bundled hop and on one with nearly straight legs."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body.character import Character
from poise.body.posing import root_mover
from poise.core.motion import Motion
from poise.edit import Scope, ballistic, spin
from poise.edit.legs import find_legs, knee_flexion, move_root, reach, solve_legs
from tests.edit_clips import hop

SPAN = (36, 128)
"""The flight of the hop."""


def straight() -> tuple[Motion, Character]:
    """The hop with its root so high that the leg that is more stretched is nearly straight; feet stay."""
    motion, character = hop()
    legs, places = find_legs(character, motion), motion.world[0]
    lift = np.full(motion.frame_count, np.inf)
    for leg in legs:
        away = places[:, leg.foot] - places[:, leg.hip]
        drop = np.sqrt(np.maximum((0.999 * reach(leg, motion)) ** 2 - (away[:, :2] ** 2).sum(axis=1), 0.0))
        lift = np.minimum(lift, drop + away[:, 2])
    higher = move_root(motion, root_mover(character), lift[:, None] * np.array([0.0, 0.0, 1.0]))
    feet = {leg: (places[:, leg.foot], motion.world[1][:, leg.foot]) for leg in legs}
    return solve_legs(higher, feet, np.arange(motion.frame_count)), character


@pytest.mark.parametrize(("centimeters", "degrees"), [(0.3, 1.0), (1.1, 3.0), (3.0, 4.5)])
def test_a_small_correction_turns_nearly_straight_knees_little(centimeters: float, degrees: float) -> None:
    motion, character = straight()
    whole = ballistic(motion, character, flights=[SPAN], keep="timing", verify=False).report
    scope = Scope(0.01 * centimeters / whole["changed"]["root_position_max_m"])
    result = ballistic(motion, character, flights=[SPAN], keep="timing", scope=scope, verify=False).motion
    # such knees once turned 42° for 1.1 cm
    for leg in find_legs(character, motion):
        turned = np.abs(knee_flexion(leg, result) - knee_flexion(leg, motion)).max()
        assert np.degrees(turned) < degrees


def test_limbs_that_cannot_take_most_of_a_spin_do_not_swing() -> None:
    motion, character = hop()
    result, report = spin(motion, character, by="pose", limbs=["neck"], verify=False)
    assert result is motion or report["changed"]["joint_angle_max_deg"] == 0.0
    assert "not worth it" in " ".join(report["notes"])
    # arms can take a good part, and turn by no more than eight times what they mend
    arms = spin(motion, character, by="pose", verify=False).report
    before, after = (arms[k]["flights"][0]["turn_off_steady_max_deg"] for k in ("before", "after"))
    assert 0.0 < arms["changed"]["joint_angle_max_deg"] < 8.0 * (before - after)
