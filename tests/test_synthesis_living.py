"""The living layer: arms that balance, sway of quiet standing, and nothing of it where it is switched off."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body.posing import body_positions
from poise.filter.forces import Push
from poise.goals.living import Sway
from poise.goals.objectives import ComOver
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.controller_file import controller_of, controller_text
from poise.synthesis.run import SynthesisResult, synthesize


def swung(result: SynthesisResult, since: float, until: float) -> float:
    """Largest turn of an upper arm against its direction at the start of a push [deg]."""
    places = body_positions(result.character, result.q)
    largest = 0.0
    for side in ("left", "right"):
        shoulder, elbow = (result.character.body_index(f"{side}_{part}") for part in ("shoulder", "elbow"))
        arm = places[:, elbow] - places[:, shoulder]
        arm /= np.linalg.norm(arm, axis=1, keepdims=True)
        first, last = round(since / 0.01), round(until / 0.01)
        largest = max(largest, float(np.degrees(np.arccos(np.clip(arm[first:last] @ arm[first], -1.0, 1.0))).max()))
    return largest


def pushed(*, alive: bool, heading: float = 0.0) -> SynthesisResult:
    way = np.radians(heading)
    push = Push("chest", (150.0 * float(np.cos(way)), 150.0 * float(np.sin(way)), 0.0), 0.5, 0.1)
    return synthesize("balance", pushes=[push], seconds=1.2, options={"alive": alive})


@pytest.mark.parametrize("heading", [0.0, 150.0])
def test_arms_balance_a_push(heading: float) -> None:
    assert 5.0 < swung(pushed(alive=True, heading=heading), 0.5, 1.1) < 25.0


def test_arms_hang_where_the_layer_is_off() -> None:
    assert swung(pushed(alive=False), 0.5, 1.1) < 4.0


def test_a_quiet_figure_sways_by_millimeters_and_its_seed_says_how() -> None:
    first, again, other = (
        synthesize("step", seconds=seconds, options={"seed": seed}).trace.com[:, 0, :2]
        for seed, seconds in ((1, 2.6), (1, 1.0), (2, 1.0))
    )
    assert np.array_equal(first[: len(again)], again)
    assert np.abs(first[: len(other)] - other).max() > 1e-3
    assert 1e-3 < np.ptp(first[100:], axis=0).max() < 0.03


@pytest.mark.long
@pytest.mark.parametrize("name", ["balance", "step"])
def test_quiet_standing_is_that_of_people(name: str) -> None:
    """Against the least and largest of the young adults in [SantosDuarte2016]_ (docs/synthesis.md), eyes open."""
    from scipy.signal import butter, sosfiltfilt  # half a second to import

    trace = synthesize(name, seconds=45.0, options={"seed": 11}).trace
    pressed = trace.forces[500:, :, 2:]
    cop = 1e3 * (pressed * trace.points[500:, :, :2]).sum(axis=1) / pressed.sum(axis=1)
    cop = sosfiltfilt(butter(2, 0.2, output="sos"), cop, axis=0)
    rms, speed = cop.std(axis=0), np.abs(np.diff(cop, axis=0)).mean(axis=0) / 0.01
    assert np.all((rms > [2.8, 1.1]) & (rms < [8.9, 5.6])), rms
    assert np.all((speed > [3.6, 1.8]) & (speed < [18.5, 6.7])), speed


def test_a_file_says_about_what_a_figure_sways() -> None:
    """A goal within a goal is written and read back, by `alive` in both controllers."""
    machine = BEHAVIORS["balance"].setup({"seed": 3}).roles[0].machine
    again = controller_of(controller_text(machine)).setup().roles[0].machine
    assert again == machine
    assert Sway(ComOver(0.3), seed=3) in again.state("balance").goals
