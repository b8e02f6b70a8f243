"""Hard falls: pushes far beyond what a figure can answer, on any body, end on the ground, at rest and in one piece."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body.character import figure
from poise.body.posing import body_positions
from poise.filter.forces import Push
from poise.synthesis.run import SynthesisResult, synthesize
from tests.clips import first_cases

FALLS = [
    ("balance", "adult", "left_elbow", (-326.0, 98.0, -13.0)),
    ("balance", "adult", "right_hand", (-73.0, -457.0, -41.0)),
    ("step", "child", "left_shoulder", (-486.0, 254.0, -20.0)),
    ("step", "child", "left_foot", (271.0, -155.0, 4.0)),
    ("ice", "adult", "pelvis", (0.0, 600.0, 0.0)),
]


@first_cases(1, ("behavior", "who", "body", "force"), FALLS)
def test_hard_falls_keep_to_the_bars(behavior: str, who: str, body: str, force: tuple[float, float, float]) -> None:
    result = synthesize(behavior, figure(who), pushes=[Push(body, force, 0.2, 0.1)], seconds=1.5)
    report = result.report
    assert result.is_complete
    assert report["fell"] is not None
    assert report["penetration_max_m"] < 5e-4
    assert report["body_penetration_max_m"] < 1e-3
    assert report["root_residual_max"]["force_N"] < 1e-6
    assert report["solver"]["failures"] == 0
    assert report["solver"]["fallbacks"].get("bounds made soft", 0) <= 1, "narrow torque bands have a solution"


@pytest.mark.parametrize("way", [0.0, *(pytest.param(way, marks=pytest.mark.long) for way in (1.6, 2.6, 4.4))])
def test_a_fall_dies_out(way: float) -> None:
    force = (500.0 * float(np.cos(way)), 500.0 * float(np.sin(way)), 0.0)
    result = synthesize("balance", pushes=[Push("chest", force, 0.2, 0.1)], seconds=4.0)
    energy, fell = result.report["energy"], result.report["fell"]
    assert fell is not None
    assert energy["unexplained_rise_max_J"] < 5.0, "nothing but muscles and pushes puts energy in"
    assert energy["at_rest_since"] is not None
    assert energy["at_rest_since"] < fell + 3.0
    heights = result.trace.com[round(fell / 0.01) :, 0, 2]
    assert (heights - np.minimum.accumulate(heights)).max() < 0.05, "it does not leap up again"


def test_the_energy_of_a_standing_figure_is_told() -> None:
    result = synthesize("balance", pushes=[Push("chest", (100.0, 0.0, 0.0), 0.1, 0.1)], seconds=0.5)
    energy = result.report["energy"]
    mass, height = result.character.mass, float(result.trace.com[0, 0, 2])
    assert energy["start_J"] == pytest.approx(mass * 9.81 * height, rel=1e-2)
    assert energy["rise_after_fall_max_J"] is None, "it has not fallen"
    assert energy["unexplained_rise_max_J"] < 0.5


@pytest.mark.long
def test_a_figure_that_fell_sideways_lies_relaxed() -> None:
    result = synthesize("balance", pushes=[Push("chest", (0.0, 450.0, 0.0), 0.2, 0.1)], seconds=4.0)
    assert result.report["fell"] is not None
    assert np.abs(result.v[-10:]).max() < 2.0, "nearly at rest; 20 rad/s where a pose was held"
    assert highest_foot(result) < 0.35, "no leg is held in the air"
    assert result.trace.effort[-1, 0] < 0.1, "and nothing strains"


def test_a_blow_on_the_head_puts_no_energy_into_the_fall_after_it() -> None:
    """Legs that were held straight pushed the figure, bent far back, upright again first: 15 J from nothing."""
    result = synthesize("balance", pushes=[Push("head", (-400.0, 0.0, 0.0), 0.2, 0.1)], seconds=2.0)
    assert result.report["fell"] is not None
    assert result.report["energy"]["unexplained_rise_max_J"] < 5.0


def highest_foot(result: SynthesisResult) -> float:
    """Height of the higher ankle at the end [m]."""
    places = body_positions(result.character, result.q[-1:])[0]
    return max(float(places[result.character.body_index(f"{side}_foot"), 2]) for side in ("left", "right"))


def test_ligaments_stop_a_joint_and_never_push_it_on() -> None:
    """An arm that whips past its limit: ligaments that could push where a joint turns back already gave it 27 J."""
    result = synthesize("ice", pushes=[Push("head", (537.97, 98.46, 0.0), 0.2, 0.1)], seconds=0.8)
    assert result.report["fell"] is not None
    assert result.report["energy"]["unexplained_rise_max_J"] < 5.0
