"""No length is hidden in the filter: a figure K times as large, on ground K times as large under K times the gravity,
does the same."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body import fit, mjcf
from poise.core.motion import Motion
from poise.edit.scale import scale
from poise.filter import filter as advancing
from poise.filter import giving, plan_footholds, sensing
from poise.filter.forces import Push
from poise.filter.options import Options
from poise.filter.simulate import simulate
from poise.io import load
from poise.phases import contacts
from poise.samples import sample_path
from poise.terrain import Terrain

SIZE = 64.0


@pytest.mark.parametrize(
    ("ground", "ahead", "pushed"), [("slope", True, True), ("stairs", True, False), ("stairs", False, False)]
)
def test_a_figure_of_any_size_does_the_same(
    ground: str, ahead: bool, pushed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = load(sample_path("walk"))
    motion = motion.frames(np.arange(motion.frame_count // 2))
    runs = []
    for size in (1.0, SIZE):
        larger: Motion = scale(motion, size, keep_time=True).motion
        for module, name, share in (
            (mjcf, "GRAVITY", size),
            (giving, "GRAVITY", size),
            (sensing, "GRAVITY", size),
            (advancing, "GRAVITY", size),
            # both are speeds of the ground's gravity, so they go with the root of lengths: the rest is the gravity's
            (contacts, "SPEED_LIMIT", size**0.5),
            (plan_footholds, "FALL_SPEED", size**0.5),
        ):
            monkeypatch.setattr(module, name, share * getattr(module, name))
        character = fit(larger)
        terrain = Terrain.slope(15.0)
        if ground == "stairs":
            terrain = Terrain.stairs(0.2 * size, 0.6 * size, distance=0.6 * size)
        force = 4.0 * size * character.mass
        pushes = [Push("chest", (0.5 * force, force, 0.0), 0.2, 0.1)] if pushed else []
        options = Options(goal="com-xy", plans_ahead=ahead)
        run = simulate(larger, character, terrain=terrain, pushes=pushes, options=options)
        q = run.q.copy()
        q[:, :3] /= size
        runs.append((q, run))
        monkeypatch.undo()
    (q, run), (large_q, large) = runs
    assert np.abs(run.q - run.reference_q).max() > 0.05  # something happened
    # rounding, and what it grows to where contacts come and go
    assert np.abs(q - large_q).max() < 1e-5
    for name in ("penetration_p95_m", "float_p95_m"):
        assert large.report["contact"][name] / SIZE == pytest.approx(run.report["contact"][name], abs=1e-6)
