"""Blows far beyond what a person is dealt: a run that diverges at its own rate begins again with shorter steps."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from tests.clips import first_cases, sample_clip

BLOWS = [
    poise.Push("chest", (0.0, 0.0, 6000.0), 0.1, 0.3),
    poise.Push("chest", (-261.0, 70.0, 3441.0), 0.46, 0.29),
]


@first_cases(1, "blow", BLOWS, ids=lambda blow: f"{blow.force[2]:.0f} N")
def test_a_blow_that_diverges_is_simulated_with_shorter_steps(blow: poise.Push) -> None:
    motion = sample_clip("walk", 1.5)
    with pytest.raises(poise.SimulationDiverged):
        poise.simulate(motion, pushes=[blow], fps=60.0)
    result = poise.simulate(motion, pushes=[blow])
    assert result.is_complete
    assert result.report.data["dt"] < 1.0 / 100.0
    assert np.isfinite(result.motion.rotations).all()
    assert np.abs(result.motion.translations).max() < 20.0


@pytest.mark.long
def test_a_fall_that_once_gained_energy_gains_none() -> None:
    motion = poise.load(poise.sample_path("walk"), height="1.07m").cut(0.0, 3.0)  # 12 J at its own rate on one machine
    result = poise.simulate(motion, pushes=[poise.Push("chest", (794.0, 97.5, 0.0), 0.5, 0.2)])
    mass = poise.Character.fit(motion).mass
    assert result.report["fall"]["unexplained_rise_J"] < max(5.0 * mass / 70.0, 1.0)


def test_a_fall_that_gains_energy_is_simulated_with_shorter_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    motion = sample_clip("walk", 0.9)
    push = poise.Push("chest", (1500.0, 0.0, 0.0), 0.1, 0.2)
    own = poise.simulate(motion, pushes=[push]).report
    assert own["fall"]["unexplained_rise_J"] < 5.0
    assert own["dt"] == pytest.approx(1.0 / 60.0)
    monkeypatch.setattr("poise.filter.simulate.UNEXPLAINED", -1.0)  # every fall gains more than that
    monkeypatch.setattr("poise.filter.simulate.FINEST_RATE", 240.0)
    assert poise.simulate(motion, pushes=[push]).report["dt"] == pytest.approx(1.0 / 240.0)


def test_a_run_whose_rate_is_given_keeps_it() -> None:
    motion = sample_clip("walk", 0.5)
    assert poise.simulate(motion, pushes=[poise.Push("chest", (100.0, 0.0, 0.0), 0.1)]).report.data[
        "dt"
    ] == pytest.approx(1.0 / 60.0)


def test_a_figure_that_weighs_grams_is_told_of_its_size() -> None:
    motion = poise.load(poise.sample_path("walk"), height="4cm").cut(0.0, 0.5)
    with pytest.raises(poise.SimulationDiverged, match=r"It weighs 0\.\d+ kg; if it is larger, give `height`"):
        poise.simulate(motion, pushes=[poise.Push("chest", (300.0, 0.0, 0.0), 0.2, 0.2)])
