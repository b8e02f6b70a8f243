"""Faults of known size, planted in clean clips, are caught, named rightly and placed rightly; clean clips pass."""

from __future__ import annotations

import numpy as np
import pytest

from tests.clips import needs_motions
from tests.planted import FAULTS, JUMPS, WALKS, clean, findings, is_caught

SEEDS = 3
CAUGHT = 0.95
"""Share of all planted faults that a check must catch [1]."""
CAUGHT_EACH = 0.75
"""And of each kind: a bulge may go against the bow that a captured path has anyway."""


@needs_motions
@pytest.mark.parametrize("name", [*WALKS, *JUMPS])
def test_clean_clips_pass(name: str) -> None:
    failing = [f for f in findings(clean(name)) if f.fails]
    if name == "dance":  # it has a spike of its own, in the capture
        failing = [f for f in failing if f.name != "glitch"]
    assert not failing


@needs_motions
def test_planted_faults_are_caught() -> None:
    caught: dict[str, tuple[int, int]] = {}
    for number, (fault, (plant, names)) in enumerate(FAULTS.items()):
        seeds = range(1 if "speed" in fault else SEEDS)
        seen = [
            is_caught(plant(name, np.random.default_rng([number, place, seed])))
            for place, name in enumerate(names)
            for seed in seeds
        ]
        caught[fault] = sum(seen), len(seen)
    share = sum(a for a, _ in caught.values()) / sum(b for _, b in caught.values())
    assert share >= CAUGHT, caught
    assert all(a >= CAUGHT_EACH * b for a, b in caught.values()), caught


@pytest.mark.parametrize("fault", [f for f, (_, names) in FAULTS.items() if "sample" in names])
def test_faults_in_the_bundled_walk_are_caught(fault: str) -> None:
    plant, _ = FAULTS[fault]
    assert is_caught(plant("sample", np.random.default_rng([9, list(FAULTS).index(fault)])))
