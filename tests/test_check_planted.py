"""Faults of known size, planted in clean clips, are caught, named rightly and placed rightly; clean clips pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.analysis import analyze
from poise.check.air import mass_error_bend
from poise.check.capture import _impulses, _second
from poise.check.clip import check_motion, findings_of
from poise.check.finding import doubts
from poise.check.ground import _rests
from poise.check.profile import ROOT, load_profile
from poise.check.report import Wanted
from poise.core import rotations
from tests.clips import first_cases, needs_motions
from tests.edit_clips import hop
from tests.planted import FAULTS, JUMPS, WALKS, analyzed, bulge, clean, findings, is_caught, turned
from tests.test_limbs import ARMS, LEGS, TRUNK, both, figure

CAUGHT = 0.95
"""Share of all planted faults that a check must catch [1]."""
CAUGHT_EACH = 0.75
"""And of each kind: a bulge may go against the bow that a captured path has anyway."""


@needs_motions
@first_cases(3, "name", [*WALKS, *JUMPS])
def test_clean_clips_pass(name: str) -> None:
    failing = [f for f in findings(clean(name)) if f.fails]
    if name == "dance":  # it has a spike of its own, in the capture
        failing = [f for f in failing if f.name != "glitch"]
    assert not failing


@pytest.mark.long
@needs_motions
@pytest.mark.parametrize(("count", "every"), [(1, 2), pytest.param(3, 1, marks=pytest.mark.long)])
def test_planted_faults_are_caught(count: int, every: int) -> None:
    """Each fault in every so many clips, at as many random places."""
    caught: dict[str, tuple[int, int]] = {}
    for number, (fault, (plant, names)) in enumerate(FAULTS.items()):
        seeds = range(1 if "speed" in fault else count)
        seen = [
            is_caught(plant(name, np.random.default_rng([number, place, seed])))
            for place, name in enumerate(names)
            if place % every == number % every
            for seed in seeds
        ]
        caught[fault] = sum(seen), len(seen)
    share = sum(a for a, _ in caught.values()) / sum(b for _, b in caught.values())
    assert share >= CAUGHT, caught
    assert all(a >= CAUGHT_EACH * b for a, b in caught.values()), caught


@needs_motions
def test_a_bulge_against_the_bow_of_a_turning_flight_is_caught() -> None:
    """The dance turns by 150° in the air, and its path bows by 2 cm as that of a mass center modeled wrongly would."""
    clip = analyzed("dance")
    (flight,) = [f for f in clip.flights if f.duration > 0.3]
    count = flight.last - flight.first + 1
    turns = clip.motion.world[1][flight.first : flight.last + 1, clip.character.bodies[0].joint]
    turns = rotations.multiply(turns, rotations.conjugate(turns[:1]))
    carried = rotations.rotate(turns, np.array([0.0, 0.0, 0.06]))[:, :2]
    even = np.linspace(0.0, 1.0, count)[:, None]
    bent = carried - carried[:1] - even * (carried[-1:] - carried[:1])
    left = bent - mass_error_bend(clip, flight, bent)
    assert np.linalg.norm(left, axis=1).max() < 0.4 * np.linalg.norm(bent, axis=1).max()
    found = {is_caught(bulge("dance", np.random.default_rng([3, 3, seed]))) for seed in (901, 902)}  # to either side
    assert found == {True}


@pytest.mark.parametrize("fault", [f for f, (_, names) in FAULTS.items() if "sample" in names])
def test_faults_in_the_bundled_walk_are_caught(fault: str) -> None:
    plant, _ = FAULTS[fault]
    assert is_caught(plant("sample", np.random.default_rng([9, list(FAULTS).index(fault)])))


def test_a_limb_that_bends_fast_at_30_frames_a_second_hides_no_spike_and_a_kick_is_none() -> None:
    turn = 2.0 * np.pi * 2.2 * np.arange(60) / 30.0
    times = np.arange(60) / 30.0
    path = np.zeros((60, 3))  # bends by 2.7 cm from frame to frame
    path[:, 0], path[:, 1] = 0.25 * np.cos(turn), 0.25 * np.sin(turn)
    assert not _impulses(_second(times, path), 0.035)
    thrown = path.copy()
    thrown[30, 2] += 0.05
    ((frame, size),) = _impulses(_second(times, thrown), 0.035)
    assert frame + 1 == 30
    assert size == pytest.approx(0.05, abs=1e-3)
    kicked = path.copy()
    kicked[:, 2] = 0.15 * np.maximum(np.arange(60) - 30, 0)  # at 4.5 m/s
    assert not _impulses(_second(times, kicked), 0.035)


def test_a_foot_that_slides_fast_for_a_moment_and_slower_beside_it_takes_no_dragging_step() -> None:
    fastness = np.full(80, 0.7)
    fastness[40:43] = 1.2
    assert _rests(fastness, 5, 75, 7) == [(5, 75)]
    assert _rests(np.where(fastness > 1.0, fastness, 0.2), 5, 75, 7) == [(5, 39), (43, 75)]


def test_a_floor_that_nothing_comes_down_to_is_not_known() -> None:
    motion, floor = clean("sample"), analyze(clean("sample")).floor
    assert not findings_of(motion, floor=floor)
    high = analyze(motion, floor=floor - 0.06)
    assert "floor" in doubts(high).reasons
    assert "Balance and the force at the hips are not judged: it is not clear where" in doubts(high).unjudged[0]
    assert check_motion(high, load_profile(ROOT), "high", Wanted()).unjudged == doubts(high).unjudged
    assert not doubts(analyze(motion)).unjudged
    assert "floor" not in doubts(analyze(motion)).reasons


def test_a_quick_shuffle_between_two_rests_is_a_step_that_drags_and_no_slide() -> None:
    fast = np.zeros(60)
    fast[30:34] = 2.0
    assert _rests(fast, 10, 50, 3) == [(10, 29), (34, 50)]
    # fast up to an end of the touch, or beside a rest too short to judge: one slide
    assert _rests(fast, 10, 33, 3) == [(10, 33)]
    assert _rests(fast, 27, 50, 3) == [(27, 50)]


def test_flights_whose_take_off_was_not_seen_do_not_fail() -> None:
    motion, character = hop()
    floor = analyze(motion, character).floor
    seen = [f for f in findings_of(motion, character, floor=floor) if f.name == "gravity"]
    assert seen
    assert all(f.fails for f in seen)
    # on a floor 20 cm below the feet nobody can say when they leave it
    unseen = findings_of(motion, character, floor=floor - 0.2)
    assert not [f for f in unseen if f.fails and f.name in ("gravity", "arc", "track", "drift", "spin")]


@pytest.mark.parametrize("others", [0, 4])
def test_a_joint_that_flips_fails_a_drawn_clip_unless_the_whole_pose_changes(others: int) -> None:
    walk = clean("sample")
    every = walk.frames(np.arange(0, walk.frame_count, 2))  # 30 Hz, as clips are drawn
    frames = np.arange(every.frame_count, dtype=np.float64)[:, None]
    flip = np.where(frames >= 60, 1.0, 0.0) * np.array([2.3, 0.0, 0.0])
    flipped = turned(every, every.skeleton.names.index("RightArm"), flip)
    for name in ("LeftArm", "LeftForeArm", "LeftUpLeg", "LeftLeg")[:others]:
        turn = np.clip(frames - 58.0, 0.0, 3.0) * np.array([0.0, 0.6, 0.0])
        flipped = turned(flipped, every.skeleton.names.index(name), turn)
    found = [f for f in findings(flipped) if f.name == "glitch" and f.where == "RightArm"]
    assert [f.fails for f in found] == [others == 0]


@pytest.mark.parametrize(("axis", "fails"), [((0.0, 1.0, 0.0), True), ((1.0, 0.0, 0.0), False)])
def test_a_limb_may_swing_where_a_drawn_clip_was_cut_but_not_twist(axis: tuple[float, ...], fails: bool) -> None:
    walk = clean("sample")
    drawn = walk.frames(np.arange(0, walk.frame_count, 2))
    shin = drawn.skeleton.names.index("LeftLeg")
    bone = drawn.skeleton.offsets[drawn.skeleton.names.index("LeftFoot")]
    assert abs(bone[1]) > 0.9 * np.linalg.norm(bone)  # so the first axis is along it
    own = rotations.rotate(drawn.rotations[-1, shin], 2.0 * np.array(axis))  # in the parent's frame
    last = np.arange(drawn.frame_count)[:, None] == drawn.frame_count - 1
    found = findings(turned(drawn, shin, np.where(last, own, 0.0)))
    assert [f.fails for f in found if f.name == "glitch"] == [fails]


@pytest.mark.parametrize("has_feet", [True, False])
def test_legs_without_a_joint_at_the_ankle_are_not_surely_in_the_floor(has_feet: bool) -> None:
    shins = both(
        ("thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
    )
    rows, tips = [*TRUNK, *ARMS, *shins], both(("", "shin.*", (0.0, 0.0, -0.45)))
    if has_feet:
        rows, tips = [*TRUNK, *ARMS, *LEGS], both(("", "toe.*", (0.06, 0.0, 0.0)))
    still = figure(rows, [], ends=tips)
    places = still.translations.copy()
    places[20:22, 0, 2] -= 0.15  # in two frames the whole figure is 15 cm lower
    reasons = doubts(analyze(replace(still, translations=places))).reasons
    assert ("ankle" in reasons.get("floor", "")) == (not has_feet)
    assert "floor" not in doubts(analyze(still)).reasons  # nothing is below it
