"""No edit costs more than the fault it mends, on the bundled hop."""

from __future__ import annotations

import numpy as np
import pytest

from poise.edit import Scope, ballistic, spin
from poise.edit.legs import find_legs, knee_flexion
from tests.edit_clips import hop


@pytest.mark.parametrize("centimeters", [0.3, 1.1, 3.0])
def test_a_small_correction_of_a_flight_turns_knees_little(centimeters: float) -> None:
    motion, character = hop()
    most = ballistic(motion, character, keep="timing", verify=False).report["changed"]["root_position_max_m"]
    edited = ballistic(motion, character, keep="timing", scope=Scope(0.01 * centimeters / most), verify=False)
    assert edited.report["changed"]["root_position_max_m"] == pytest.approx(0.01 * centimeters, rel=0.05)
    # legs that were nearly straight once turned 42° for 1.1 cm
    for leg in find_legs(character, motion):
        turned = np.abs(knee_flexion(leg, edited.motion) - knee_flexion(leg, motion)).max()
        assert np.degrees(turned) < 3.0


def test_limbs_do_not_swing_far_for_a_spin_that_is_nearly_steady() -> None:
    motion, character = hop()
    whole = spin(motion, character, by="pose", verify=False).report
    before, after = (whole[k]["flights"][0]["turn_off_steady_max_deg"] for k in ("before", "after"))
    assert whole["changed"]["joint_angle_max_deg"] < 8.0 * (before - after)
    # what is left after turning the whole figure almost steady is too little for an arm
    steady = spin(motion, character, by="root", scope=Scope(0.97), verify=False).motion
    rest = spin(steady, character, by="pose", verify=False).report
    before, after = (rest[k]["flights"][0]["turn_off_steady_max_deg"] for k in ("before", "after"))
    assert before < 1.5
    assert rest["changed"]["joint_angle_max_deg"] <= 8.0 * max(before - after, 0.0)
