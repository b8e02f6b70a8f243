"""Frame rates that the motion contradicts: steps, swings and falls, and what must not be accused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import poise.io
from poise.core import rotations
from poise.core.motion import Evidence, Motion, Source
from poise.core.units import GRAVITY
from poise.intake import Custom, read_as
from poise.intake import table as tables
from poise.intake.figure import Figure, find_gait, find_swing, least_gravity
from poise.intake.reading import _rate, agrees_on, doubted
from poise.intake.scale import Scale, runners_fall, scale_candidates, steps_keep_time
from tests.clips import MOTIONS, needs_motions, sample_clip


def walk() -> Motion:
    return replace(sample_clip("walk"), source=None)


def told(motion: Motion) -> object:
    """The rate told for a clip in meters with Z up, None if its label is believed."""
    reading = read_as(motion, Custom("files", {"z": 1.0}, {"m": 1.0}, given_up="z", given_unit=1.0))
    return reading.evidence["implied_fps"].value if "implied_fps" in reading.evidence else None


def test_one_swing_shows_a_rate_twice_too_fast() -> None:
    motion = walk().frames(np.arange(50))
    assert find_gait(Figure(motion)) is None
    assert find_swing(Figure(motion), "z") is not None
    assert told(motion) is None
    assert told(replace(motion, times=motion.times / 2.0)) == pytest.approx(60.0, rel=0.01)


def test_feet_that_rise_and_fall_more_than_they_go_ahead_take_no_steps() -> None:
    motion = walk().frames(np.arange(50))
    swing = find_swing(Figure(motion), "z")
    assert swing is not None

    def swings_with(share: float) -> int:
        """In how many of 20 cases a swing is found where the whole body rises for ten frames, ever later."""
        rise, count = share * swing.length * Figure(motion).leg, 0
        for first in range(0, 40, 2):
            places = motion.translations.copy()
            places[:, 0, 2] += rise * np.clip((np.arange(50) - first) / 10.0, 0.0, 1.0)
            count += find_swing(Figure(replace(motion, translations=places)), "z") is not None
        return count

    assert swings_with(0.4) > 15  # 18; 20 where no swing is too steep
    assert swings_with(1.6) < 13  # 10; 19


@pytest.mark.parametrize("speed", [0.5, 2.0])
def test_a_walk_at_another_speed_has_its_feet_beside_it(speed: float) -> None:
    motion = walk()
    assert told(replace(motion, times=motion.times / speed)) == pytest.approx(60.0, rel=0.01)


def test_the_less_gravity_the_sooner_feet_lose_a_body_and_its_size_and_way_up_do_not_matter() -> None:
    motion = walk()
    leg = Figure(motion).leg
    least = least_gravity(Figure(motion), "z")
    assert least is not None
    faster = math.sqrt(GRAVITY / (least * leg)) / motion.fps
    assert 1.3 < faster < 2.0  # as a usual walk: see WALK_HOLD
    turn = np.array([math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0])  # z up becomes y up
    places, turned = motion.translations.copy(), motion.rotations.copy()
    places[:, 0], turned[:, 0] = rotations.rotate(turn, places[:, 0]), rotations.multiply(turn, turned[:, 0])
    lying = replace(motion, translations=places, rotations=turned)
    assert least_gravity(Figure(lying), "y") == pytest.approx(least, rel=1e-6)
    still = replace(
        motion,
        translations=motion.translations[np.full(80, 20)],
        rotations=motion.rotations[np.full(80, 20)],
        times=motion.times[:80],
    )
    assert least_gravity(Figure(still), "z") is None


def test_what_a_flight_blurs_says_nothing_of_a_runners_feet() -> None:
    motion = walk().frames(np.arange(0, walk().frame_count, 6))
    assert least_gravity(Figure(motion), "z") is not None
    gait = find_gait(Figure(motion))
    assert gait is not None
    assert gait.walks
    motion.found["gait"] = replace(gait, aloft=0.4)  # the same frames as those of a run, whose stances end in flights
    assert least_gravity(Figure(motion), "z") is None


def test_a_run_that_hangs_in_the_air_is_played_too_slowly() -> None:
    motion = walk()
    gait = find_gait(Figure(motion))
    assert gait is not None
    scales = [Scale(1.0, motion.fps * factor) for factor in (0.5, 1.0, 2.0)]
    assert runners_fall(Figure(motion), "z", scales) is None  # nothing falls in a walk
    turns = 2.0 * math.pi * motion.fps / (0.5 * gait.stride)  # 2 π times a second's steps
    moved = motion.translations.copy()
    moved[:, 0, 2] += GRAVITY / turns**2 * np.cos(turns * motion.times)
    runs = replace(motion, translations=moved)
    runs.found["gait"] = replace(gait, aloft=0.4)
    seen = runners_fall(Figure(runs), "z", scales)
    assert seen is not None
    slow, right, fast = seen.likelihood
    assert slow < 0.1
    assert right > 0.7
    assert fast > 0.7
    assert "too slowly" in seen.reason(scales[0])
    assert "too slowly" not in seen.reason(scales[1])


def test_uneven_steps_are_less_of_a_reason_to_call_them_too_quick() -> None:
    def steps(spread: float) -> float:
        motion = walk()
        gait = find_gait(Figure(motion))
        assert gait is not None
        motion.found["gait"] = replace(gait, aloft=0.4, spread=spread)
        even = steps_keep_time(Figure(motion), "z", (Scale(1.0, motion.fps), Scale(1.0, 2.0 * motion.fps)))
        assert even is not None
        return float(even.support[1] - even.support[0])

    assert steps(0.04) < steps(0.3) < 0.0


def test_a_rate_needs_more_than_one_kind_of_evidence() -> None:
    motion = walk()
    assert not agrees_on(motion, 2.0 * motion.fps)
    assert agrees_on(replace(motion, times=2.0 * motion.times), motion.fps)


@needs_motions
@pytest.mark.parametrize("name", ["143_32", "143_40", "141_25"])
def test_a_walk_at_half_its_rate_is_told(name: str) -> None:
    motion = poise.io.load(next(root for root in MOTIONS.parent.rglob(f"{name}.bvh")))
    right = Motion(motion.skeleton, motion.times * (motion.fps / 60.0), motion.translations, motion.rotations)
    assert told(right) is None
    assert told(replace(right, times=right.times * 2.0)) == pytest.approx(60.0, rel=0.01)


def test_the_rate_of_captures_is_likelier_than_others() -> None:
    candidates, prior = scale_candidates(25.0, {"m": 1.0}, {2.0: 0.05}, {"m": 1.0}, True)
    share = dict(zip([c.fps for c in candidates], prior, strict=True))
    assert share[120.0] > 2.0 * share[90.0] > 0.0
    assert prior.sum() == pytest.approx(1.0)


@needs_motions
def test_captures_of_120_hz_in_a_scene_of_25_are_told() -> None:
    motion = poise.io.load(MOTIONS / "asf_amc/02_03.amc")
    slow = Motion(motion.skeleton, motion.times * 4.8, motion.translations, motion.rotations)
    assert told(slow) == pytest.approx(120.0, rel=0.01)


def test_steps_to_and_fro_are_no_walk() -> None:
    gait = find_gait(Figure(walk()))
    assert gait is not None
    assert gait.walks
    dance = replace(gait, ahead=-0.3)
    assert dance.on_foot
    assert not dance.walks


def hop(gravity: float) -> Motion:
    """A drawn figure that hops twice, falling with that many m/s²."""
    first_pose, count, rate = walk(), 60, 30.0
    skeleton = first_pose.skeleton
    times = np.arange(count) / rate
    height = np.zeros(count)
    for first in (8, 32):
        t = (np.arange(14) - 6.5) / rate
        height[first : first + 14] = np.maximum(0.5 * gravity * ((7.0 / rate) ** 2 - t**2), 0.0)
    moved = np.repeat(first_pose.translations[:1], count, axis=0)
    moved[:, 0, 2] += height
    turned = np.repeat(first_pose.rotations[:1], count, axis=0)
    swing = rotations.from_rotation_vector(np.outer(0.2 * np.sin(6.0 * times), [0.0, 1.0, 0.0]))
    for name in ("Spine", "LeftArm", "RightArm"):
        if name in skeleton.names:
            joint = skeleton.names.index(name)
            turned[:, joint] = rotations.multiply(turned[:, joint], swing)
    evidence = {"fps": Evidence(rate, 1.0, "key times")}
    source = Source("hop.glb", "gltf", "glTF", unit=1.0, up="y", fps=rate, evidence=evidence)
    return Motion(skeleton, times, moved, turned, source=source)


def test_a_drawn_hop_that_falls_too_fast_keeps_the_rate_of_its_keys() -> None:
    motion = doubted(hop(40.0), given_size=False, given_fps=False)
    assert motion.source is not None
    assert "implied_fps" not in motion.source.evidence


def test_a_label_that_fits_badly_but_better_than_every_other_rate_is_believed() -> None:
    scales = scale_candidates(30.0, {"m": 1.0}, {0.5: 1.0, 2.0: 1.0, 4.0: 1.0}, {"m": 1.0}, True)
    candidates = [scale for scale in scales[0] if scale.fps in (30.0, 15.0, 60.0, 120.0)]

    def said(label: float) -> dict[str, Evidence]:
        chances = np.array([label if scale.fps == 30.0 else (1.0 - label) / 3.0 for scale in candidates])
        evidence: dict[str, Evidence] = {}
        _rate(30.0, Custom("files", {}, {}), tables.weigh(candidates, chances, []), evidence, [])
        return evidence

    assert len(candidates) == 4
    assert "implied_fps" not in said(0.45)
    assert "implied_fps" in said(0.1)
