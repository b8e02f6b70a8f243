"""Walking and running told apart: closed forms of energy exchange, and gaits of generated and captured clips."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import poise
from poise.analysis import analyze, energy_exchange, gait
from poise.analysis.gait import goes_on_the_spot
from poise.body import fit
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.units import GRAVITY
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip

MASS, SPEED, RISE = 70.0, 1.4, 0.02


def path(sign: float, phase: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """A center of mass that goes up and down, its kinetic energy the mirror image (−1) or the same wave (+1)."""
    t = np.linspace(0.0, 1.0, 2001)  # two whole steps
    turn = 4.0 * math.pi * t
    height = RISE * np.cos(turn)
    lift = -RISE * 4.0 * math.pi * np.sin(turn)
    forward = np.sqrt(SPEED**2 + sign * 2.0 * GRAVITY * RISE * np.cos(turn + phase) - lift**2)
    com = np.stack([SPEED * t, 0.0 * t, 1.0 + height], axis=1)
    return com, np.stack([forward, 0.0 * t, lift], axis=1)


def test_an_inverted_pendulum_recovers_all() -> None:
    seen = energy_exchange(*path(-1.0), MASS)
    assert seen.recovery == pytest.approx(1.0, abs=1e-6)
    assert seen.correlation == pytest.approx(-1.0, abs=1e-6)
    assert seen.congruity == 0.0
    assert seen.external_work == pytest.approx(0.0, abs=1e-6)


def test_a_pogo_stick_recovers_nothing() -> None:
    seen = energy_exchange(*path(1.0), MASS)
    assert seen.correlation == pytest.approx(1.0, abs=1e-6)
    assert seen.congruity == pytest.approx(1.0, abs=0.01)
    # the vertical speed's own share of the energy is out of step with both and saves a little
    assert seen.recovery < 0.1
    # kinetic + potential energy is 2 m g RISE cos: it rises twice by twice its amplitude
    assert seen.external_work == pytest.approx(8.0 * MASS * GRAVITY * RISE, rel=1e-3)


def test_a_quarter_out_of_phase_recovers_as_two_sines_do() -> None:
    # two equal waves a quarter apart add to one of √2: 1 − √2 / 2
    com, velocity = path(-1.0, math.pi / 2.0)
    kinetic = 0.5 * MASS * np.sum(velocity**2, axis=1)
    potential = MASS * GRAVITY * com[:, 2]
    assert np.ptp(kinetic) == pytest.approx(np.ptp(potential), rel=1e-6)
    level = np.sqrt(2.0 * kinetic / MASS)[:, None] * np.array([1.0, 0.0, 0.0])
    assert energy_exchange(com, level, MASS).recovery == pytest.approx(1.0 - math.sqrt(0.5), rel=1e-3)


def test_the_bundled_walk_walks() -> None:
    seen = gait(analyze(sample_clip("walk")))
    assert seen.kind == "walk"
    assert seen.strides >= 3
    assert seen.flight == 0.0
    # of two legs, duty factor β leaves 2 β − 1 of the time on both
    assert seen.double_support == pytest.approx(2.0 * seen.duty_factor - 1.0, abs=0.03)
    assert seen.froude == pytest.approx(seen.speed**2 / (GRAVITY * 0.87), rel=0.15)
    assert 0.02 < seen.transport < 0.3
    assert seen.stride_length == pytest.approx(seen.speed * seen.stride_seconds, rel=1e-9)


def test_a_clip_that_stands_has_no_gait() -> None:
    walk = sample_clip("walk").frames(np.arange(40))
    still = replace(
        walk,
        translations=np.repeat(walk.translations[:1], 40, axis=0),
        rotations=np.repeat(walk.rotations[:1], 40, axis=0),
    )
    seen = gait(analyze(still))
    assert seen.kind == "other"
    assert seen.as_json()["duty_factor"] is None


@needs_motions
@first_cases(
    2,
    ("name", "rate", "kind"),
    [
        ("bvh/cmu_motionbuilder/02_01.bvh", None, "walk"),
        ("bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh", None, "walk"),
        ("deepmimic/humanoid3d_walk.txt", None, "walk"),  # a loop of one stride, played again
        ("asf_amc/02_03.amc", None, "run"),
        ("bvh/cmu_3dsmax/143_01.bvh", 60.0, "run"),
    ],
)
def test_captured_walks_recover_and_runs_bounce(name: str, rate: float | None, kind: str) -> None:
    seen = gait(analyze(poise.load(MOTIONS / name, fps=rate)))
    assert seen.kind == kind
    assert seen.exchange is not None
    if kind == "walk":
        assert seen.duty_factor > 0.5
        assert seen.froude < 0.5
        assert seen.exchange.recovery > 0.4
        assert seen.exchange.correlation < 0.0
    else:
        assert seen.duty_factor < 0.5
        assert seen.froude > 0.5
        assert seen.exchange.recovery < 0.2
        assert seen.exchange.correlation > 0.0


def test_swinging_legs_under_hips_that_stay_go_on_the_spot_and_a_kick_does_not() -> None:
    whole = sample_clip("walk")
    character = fit(whole)
    thighs = [character.bodies[limb.bodies[0]].joint for limb in character.limbs if limb.kind == "leg"]
    moved, turned = (np.repeat(values[:1], 60, axis=0) for values in (whole.translations, whole.rotations))
    motion = Motion(whole.skeleton, np.arange(60) / 30.0, moved, turned)

    def swung(*which: int) -> Motion:
        turned = motion.rotations.copy()
        for side, joint in zip((1.0, -1.0), which):
            angle = side * 0.6 * np.sin(2.0 * np.pi * 1.5 * motion.times)
            over = rotations.from_rotation_vector(np.outer(angle, (1.0, 0.0, 0.0)))
            turned[:, joint] = rotations.multiply(over, turned[:, joint])
        return replace(motion, rotations=turned)

    assert len(thighs) == 2
    assert goes_on_the_spot(swung(*thighs), character)
    assert not goes_on_the_spot(swung(thighs[0]), character)
