"""No length is hidden in the filter: a figure K times as large, on ground K times as large under K times the gravity,
does the same."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from poise.body import fit, save_character
from poise.body.posing import other_size
from poise.check.clip import check_file
from poise.check.profile import load_profile
from poise.check.report import Wanted
from poise.core import units
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.edit.scale import scale
from poise.filter import plan_feet
from poise.filter.forces import Push
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.io import load, read_options, save
from poise.phases import contacts
from poise.terrain import Terrain
from tests.clips import sample_clip

SIZE = 64.0


STAIRS = {"stairs": (0.2, 0.6), "narrow": (0.17, 0.3), "ledges": (-0.3, 0.4)}
"""Rise and tread of stairs [m]: on narrow ones feet must wait for their rise, on ledges a leg must let go."""


@pytest.mark.parametrize(
    ("ground", "ahead", "pushed"),
    [
        ("slope", True, True), ("stairs", True, False), ("stairs", False, False), ("narrow", True, False),
        ("ledges", True, False),
    ],
)  # fmt: skip
def test_a_figure_of_any_size_does_the_same(
    ground: str, ahead: bool, pushed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = sample_clip("walk")
    motion = motion.frames(np.arange(motion.frame_count // 2))
    runs = []
    for size in (1.0, SIZE):
        larger: Motion = scale(motion, size, keep_time=True).motion
        for module in [m for n, m in sys.modules.items() if n.startswith("poise.") and n != units.__name__]:
            if "GRAVITY" in vars(module):
                monkeypatch.setattr(module, "GRAVITY", size * units.GRAVITY)
        for module, name, share in (
            # speeds of the ground's gravity go with the root of lengths, so the rest is the gravity's
            (contacts, "SPEED_LIMIT", size**0.5),
            (plan_feet, "FALL_SPEED", size**0.5),
            (plan_feet, "SPEED", size**0.5),
            (plan_feet, "HASTE", size),
        ):
            monkeypatch.setattr(module, name, share * getattr(module, name))
        character = fit(larger)
        terrain = Terrain.slope(15.0)
        if ground in STAIRS:
            rise, tread = STAIRS[ground]
            terrain = Terrain.stairs(rise * size, tread * size, distance=0.6 * size)
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
    assert np.abs(q - large_q).max() < 1e-6
    for name in ("penetration_p95_m", "float_p95_m"):
        assert large.report["contact"][name] / SIZE == pytest.approx(run.report["contact"][name], abs=1e-6)


def test_a_character_read_in_another_unit_than_its_clip_is_told(tmp_path: Path) -> None:
    """A rig and its clip that say no unit, one read in inches and one in centimeters."""
    clip, rig = tmp_path / "clip.bvh", tmp_path / "rig.toml"
    walk = sample_clip("walk")
    save(walk.frames(np.arange(40)), clip)
    motion = load(clip, unit="cm")
    large = fit(load(clip, unit="inch"))
    save_character(large, rig)
    words = "2.54 times as long as those of the motion, as if one had been read in inches and the other in centimeters"
    assert words in other_size(large, motion)
    assert "only 0.394 times" in other_size(fit(motion), load(clip, unit="inch"))
    assert other_size(fit(motion), motion) == ""
    with pytest.warns(MotionWarning, match=words):
        simulate(motion, large)
    (report,) = check_file(clip, load_profile("realistic"), read_options(unit="cm"), Wanted(character=rig))
    assert words in report.notes[-1]
