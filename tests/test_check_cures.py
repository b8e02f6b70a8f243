"""Each flaw made in a clip is found, and the cure that the finding names removes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

import poise
from poise.analysis import Analysis, analyze
from poise.analysis.measures import implied_scale
from poise.check.air import scale_of
from poise.check.balance import judged_frames, stands_beside
from poise.check.clip import findings_of, judge, on_ground
from poise.check.finding import FLAWS, Finding, doubts
from poise.check.gravity import aimed_gravity, apex_change, gravity_cures, retimed_intervals
from poise.check.ground import feet
from poise.check.library import facts_of
from poise.check.profile import Limit, load_profile
from poise.check.report import Wanted
from poise.check.whole import pace, steps_of
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.edit import ballistic, ground, repair, spin
from poise.edit.mend import Cures
from poise.intake.anatomy import height_of
from poise.phases.floor import carrying, laid_under
from poise.terrain import Terrain
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip
from tests.planted import hang

REALISTIC = load_profile("realistic")


def findings(motion: Motion, name: str | None = None) -> list[Finding]:
    clip = analyze(motion)
    found = judge(clip, REALISTIC)
    return [f for f in found if name is None or f.name == name]


@pytest.fixture(scope="module")
def jump() -> Motion:
    """A captured jump, upright and long: 0.52 s in the air."""
    return poise.load(MOTIONS / "asf_amc" / "02_04.amc").cut(0.5, 2.2)


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip("walk")


def numbers(text: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+(?:\.\d+)?", text)]


def retimed(motion: Motion, factor: float) -> Motion:
    return replace(motion, times=motion.times * factor, source=None)


def sized(motion: Motion, factor: float) -> Motion:
    """A figure so many times as tall, at the same frame rate."""
    skeleton = motion.skeleton.scaled(factor)
    return replace(motion, skeleton=skeleton, translations=motion.translations * factor, source=None)


def moved(motion: Motion, shift: np.ndarray) -> Motion:
    """The root moved by (F, 3)."""
    translations = motion.translations.copy()
    translations[:, 0] += shift
    return replace(motion, translations=translations, source=None)


@needs_motions
def test_what_is_right_passes(jump: Motion, walk: Motion) -> None:
    assert not [f for f in findings(jump) if f.fails]
    assert not findings(walk)


# flights


def test_cures_of_gravity_are_the_closed_forms() -> None:
    limit = Limit(0.7, 1.4)
    assert aimed_gravity(2.8, limit) == pytest.approx(math.sqrt(1.4))
    count = retimed_intervals(20, 2.8, limit)
    assert count is not None
    assert limit.allows(2.8 * (20 / count) ** 2)
    # the smallest whole number of frames that does is not far
    assert not limit.allows(2.8 * (20 / (count - 3)) ** 2)
    bend = apex_change(20, 1 / 60, 2.8, limit)
    path_bend = 2.8 * 9.81 * (20 / 60) ** 2 / 8
    assert (path_bend + bend) / path_bend == pytest.approx(aimed_gravity(2.8, limit) / 2.8, rel=1e-3)
    cures = gravity_cures(100, 120, 1 / 60, 2.8, limit, 0.82)
    assert [c.cost for c in cures] == sorted(c.cost for c in cures)
    assert any("lengthen the flight 21→" in c.text for c in cures)
    assert any("call gravity 2.8" in c.text for c in cures)
    # 2.5 s in the air at a third of gravity: 2.5 m of path, which nobody leaps to, are made 8 m
    assert [c.text.split()[0] for c in gravity_cures(0, 150, 1 / 60, 0.33, limit, 0.82)] == ["shorten", "call"]
    assert [c.text.split()[0] for c in gravity_cures(0, 40, 1 / 60, 0.33, limit, 0.82)] == ["raise", "shorten", "call"]
    assert gravity_cures(0, 150, 1 / 60, 0.0, limit, 0.82) == ()
    # 1 frame too short to be cured by whole frames: not offered
    assert retimed_intervals(2, 5.0, Limit(0.98, 1.02)) is None


@needs_motions
def test_a_flight_that_falls_too_fast_is_cured_by_its_frames_and_by_its_apex(jump: Motion) -> None:
    fast = retimed(jump, 0.72)
    (found,) = findings(fast, "gravity")
    assert found.measure == pytest.approx(1.0 / 0.72**2, rel=0.08)
    assert found.threshold == REALISTIC["gravity"].most
    first, last = found.frames[0]
    texts = {c.text.split()[0]: c.text for c in found.cures}
    # lengthen: frames of the flight spread over as many as it says
    before, after = (int(n) for n in re.findall(r"(\d+)→(\d+)", texts["lengthen"])[0])
    assert before == last - first + 1
    stretch = np.interp(np.arange(fast.frame_count), [first, last], [0.0, (after - before) * fast.dt])
    longer = replace(fast, times=fast.times + stretch)
    assert not findings(longer, "gravity")
    assert analyze(longer).flights[0].gravity_g == pytest.approx(numbers(texts["lengthen"])[2], rel=0.08)
    # lower the apex: a parabola that is zero at the ends taken off
    span = (fast.times - fast.times[first]) / (fast.times[last] - fast.times[first])
    down = numbers(texts["lower"])[0] / 100.0
    bump = np.where((span > 0) & (span < 1), 4.0 * down * span * (1.0 - span), 0.0)
    lower = moved(fast, -bump[:, None] * np.array([0.0, 0.0, 1.0]))
    assert not findings(lower, "gravity")


@needs_motions
def test_a_flight_that_nobody_could_make_is_a_contact_that_was_not_found(jump: Motion) -> None:
    flight = max(analyze(jump).flights, key=lambda f: f.duration)
    first, last = flight.first, flight.last
    t = np.clip((np.arange(jump.frame_count) - first) / (last - first), 0.0, 1.0)[:, None]
    high = moved(jump, 2.0 * 4.0 * t * (1.0 - t) * np.array([0.0, 0.0, 1.0]))
    slow = replace(high, times=high.times + 2.0 * t[:, 0])
    (found,) = [f for f in findings(slow) if f.name in ("contacts", "gravity")]
    assert found.name == "contacts"
    assert "nobody leaps 2" in found.sentence
    assert not found.cures
    clip = analyze(slow)
    assert implied_scale(clip).gravity_g < 0.7
    assert math.isnan(scale_of(clip).gravity_g)  # a size is not told by it, either


@needs_motions
def test_a_doubled_rate_is_found_and_read_away() -> None:
    path = MOTIONS / "bvh" / "cmu_3dsmax" / "143_05.bvh"
    found = findings(poise.load(path))
    (rate,) = [f for f in found if f.name == "frame-rate"]
    assert not [f for f in found if f.name in ("gravity", "balance", "drift")]  # one cause, told once
    (option,) = re.findall(r"--source-fps (\d+)", rate.cures[0].text)
    cured = poise.load(path, fps=float(option))
    assert not [f for f in findings(cured) if f.fails]


@needs_motions
def test_a_path_off_its_parabola_is_cured_by_lowering_the_hips(jump: Motion) -> None:
    flight = analyze(jump).flights[0]
    t = np.clip((np.arange(jump.frame_count) - flight.first) / (flight.last - flight.first), 0.0, 1.0)
    wave = 0.12 * np.sin(2.0 * np.pi * t) ** 3
    bent = moved(jump, wave[:, None] * np.array([0.0, 0.0, 1.0]))
    (found,) = findings(bent, "arc")
    assert "poise edit ballistic" in found.cures[1].text
    size, frame = numbers(found.cures[0].text)[:2]
    shift = wave[int(frame)]
    assert size / 100.0 == pytest.approx(abs(shift), rel=0.5)
    assert found.cures[0].text.startswith("lower" if shift > 0 else "raise")
    assert not findings(moved(bent, -wave[:, None] * np.array([0.0, 0.0, 1.0])), "arc")


@needs_motions
def test_a_flight_that_stops_in_the_air_drifts_and_one_that_curves_leaves_its_track(jump: Motion) -> None:
    flight = analyze(jump).flights[0]
    t = np.clip((np.arange(jump.frame_count) - flight.first) / (flight.last - flight.first), 0.0, 1.0)
    along = 0.5 * (1.0 - (1.0 - t) ** 2)  # fast at first, at rest at the end
    assert findings(moved(jump, along[:, None] * np.array([1.0, 0.0, 0.0])), "drift")
    back = 0.7 * np.sin(np.pi * t)[:, None] * np.array([1.0, 0.0, 0.0])
    (turned,) = findings(moved(jump, back), "drift")
    assert re.search(r"turns back in the air: \d.* m/s backward at frame", turned.sentence), "-1.79 m/s is no speed"
    even = 0.5 * t
    straight = moved(jump, even[:, None] * np.array([1.0, 0.0, 0.0]))
    assert not findings(straight, "drift")
    aside = 0.1 * np.sin(np.pi * t)
    (found,) = findings(moved(straight, aside[:, None] * np.array([0.0, 1.0, 0.0])), "track")
    assert numbers(found.cures[0].text)[0] == pytest.approx(10.0, abs=4.0)


@needs_motions
def test_a_turn_put_into_the_air_is_a_spin(jump: Motion) -> None:
    flight = analyze(jump).flights[0]
    t = np.clip((np.arange(jump.frame_count) - flight.first) / (flight.last - flight.first), 0.0, 1.0)
    angle = math.radians(60.0) * np.sin(np.pi * t) ** 2  # there and back: nothing in the air can do that
    turned = jump.rotations.copy()
    turn = rotations.from_rotation_vector(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    (found,) = findings(replace(jump, rotations=turned, source=None), "spin")
    way = re.match("turn (left|right) the whole body", found.cures[0].text)
    assert way is not None
    degrees, frame = numbers(found.cures[0].text)[:2]
    # it turned left by 60 degrees in the middle of the flight: undone it is well, up to the steady part
    assert way.group(1) == "right"
    assert degrees == pytest.approx(60.0, abs=6.0)
    assert frame == pytest.approx((flight.first + flight.last) / 2, abs=3)


def twisted(jump: Motion, degrees: float) -> Motion:
    """The jump with the body turned about the vertical in the air, and back."""
    flight = analyze(jump).flights[0]
    t = np.clip((np.arange(jump.frame_count) - flight.first) / (flight.last - flight.first), 0.0, 1.0)
    turn = math.radians(degrees) * np.sin(np.pi * t)[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
    out = jump.rotations.copy()
    out[:, 0] = rotations.multiply(rotations.from_rotation_vector(turn), out[:, 0])
    return replace(jump, rotations=out, source=None)


@needs_motions
def test_a_twist_is_as_far_off_steady_spin_as_the_edit_says_and_its_cure_cures_it(jump: Motion) -> None:
    clip = twisted(jump, 25.0)
    (found,) = findings(clip, "spin")
    span = re.search(r"poise edit spin --flight (\d+):(\d+)", found.cures[0].text)
    assert span is not None
    first, last = int(span[1]), int(span[2])
    result, report = spin(clip, flights=[(first, last)])
    assert found.measure == pytest.approx(report["before"]["flights"][0]["turn_off_steady_max_deg"], rel=1e-6)
    turned = np.degrees(rotations.angle_between(clip.rotations[:, 0], result.rotations[:, 0]))
    degrees, frame = numbers(found.cures[0].text)[:2]
    assert turned[int(frame)] == pytest.approx(degrees, abs=0.5)
    assert not findings(replace(result, source=None), "spin")


@pytest.mark.long
@needs_motions
def test_cures_that_take_long_are_named_and_tried_when_asked(jump: Motion) -> None:
    clip = analyze(twisted(jump, 25.0))
    named, tried = (judge(clip, REALISTIC, scale=implied_scale(clip), trials=trials) for trials in (None, Cures()))
    (not_tried,) = [c.text for f in named if f.name == "spin" for c in f.cures if "--by pose" in c.text]
    assert "--try-cures" in not_tried
    assert not [c for f in tried for c in f.cures if "--try-cures" in c.text]
    # what was tried is offered with what it leaves, or not at all
    for text in (c.text for f in tried if f.name == "spin" for c in f.cures if "--by pose" in c.text):
        assert re.search(r"leaves [\d.]+°", text)


@needs_motions
def test_turning_over_is_no_fault_of_the_body_that_was_guessed() -> None:
    flip = poise.load(MOTIONS / "deepmimic" / "humanoid3d_backflip.txt")
    assert not [f for f in findings(flip) if f.fails and f.name in ("spin", "arc", "track", "drift", "balance")]


@needs_motions
def test_hands_that_carry_make_no_flights() -> None:
    motions2 = MOTIONS.parent / "motions2" / "bvh" / "144_01.bvh"
    if not motions2.is_file():
        pytest.skip("the second set of clips is not here")
    found = findings(poise.load(motions2))
    assert not [f for f in found if f.name in ("gravity", "arc")]
    assert [f for f in found if f.name == "contacts" and not f.fails and not f.cures]


# the ground


@needs_motions
@pytest.mark.parametrize(("lean", "fails"), [(5.0, False), (20.0, True)])
def test_balance_fails_only_where_the_figure_stands_beside_its_feet(lean: float, fails: bool) -> None:
    motion = poise.load(MOTIONS / "bvh" / "accad" / "Female1_A01_Stand.bvh")
    clip = analyze(motion)
    pivot = np.array([*clip.com[0, :2], clip.floor])
    turn = rotations.from_rotation_vector(np.array([0.0, math.radians(lean), 0.0]))
    turned, places = motion.rotations.copy(), motion.translations.copy()
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    places[:, 0] = pivot + rotations.rotate(turn, places[:, 0] - pivot)
    found = findings(replace(motion, rotations=turned, translations=places, source=None), "balance")
    assert any(f.fails for f in found) == fails
    if fails:
        assert "stands still with its weight beside its feet" in found[0].sentence
        leaning = analyze(replace(motion, rotations=turned, translations=places, source=None))
        judged = judged_frames(leaning)
        assert stands_beside(leaning, judged)
        tip = np.zeros_like(leaning.touch.flags)  # the lowest place of a body that hangs
        tip[:, leaning.touch.flags.sum(axis=0).argmax()] = True
        assert not stands_beside(replace(leaning, touch=replace(leaning.touch, flags=tip)), judged)


@needs_motions
def test_a_figure_may_stand_on_a_heel_that_no_bone_shows() -> None:
    motion = poise.load(MOTIONS / "bvh" / "accad" / "Female1_A01_Stand.bvh")
    character = poise.Character.fit(motion)
    balls = tuple(p for p in character.contact_points if "heel" not in p.name)
    assert len(balls) == len(character.contact_points) - 4
    clip = analyze(motion, replace(character, contact_points=balls))
    assert not stands_beside(clip, judged_frames(clip))


def test_a_walk_with_bent_legs_tells_no_pace(walk: Motion) -> None:
    clip = analyze(retimed(walk, 0.5))
    assert pace(clip) is not None
    higher = poise.Terrain.flat(clip.floor + 0.2)  # the hips are so much lower over it
    assert pace(replace(clip, terrain=higher)) is None


def test_a_touch_that_flickers_is_no_step(walk: Motion) -> None:
    clip = analyze(walk)
    steps, swings = steps_of(clip)
    flags = clip.touch.flags.copy()
    for columns in feet(clip).values():
        on = np.flatnonzero(flags[:, columns].any(axis=1))
        inside = [f for f in on[5:-5] if {f - 1, f + 1} <= set(on)]
        flags[np.ix_(inside[::7], columns)] = False
    torn = replace(clip, touch=replace(clip.touch, flags=flags))
    assert (flags != clip.touch.flags).any()
    assert steps_of(torn)[0] == pytest.approx(steps, abs=2.1 * walk.dt)
    assert steps_of(torn)[1] == pytest.approx(swings, abs=2.1 * walk.dt)
    known, told = (facts_of(c, implied_scale(clip), "walk").values["step"] for c in (clip, torn))
    assert told == pytest.approx(known, abs=2.1 * walk.dt)


def test_a_walk_whose_steps_are_those_of_no_one_plays_at_the_wrong_speed(walk: Motion) -> None:
    assert not findings(walk, "frame-rate")
    for factor, rate in ((0.5, 30), (2.0, 120)):
        (found,) = findings(retimed(walk, factor), "frame-rate")
        fps = 60.0 / factor
        assert f"--source-fps {fps * found.measure:g}" in found.cures[0].text
        assert fps * found.measure == pytest.approx(60.0), rate


@needs_motions
@pytest.mark.parametrize(("size", "names"), [(0.5, ("gravity",)), (2.0, ("gravity", "size"))])
def test_a_height_that_makes_a_grown_person_is_the_first_cure_of_what_falls_wrong(
    jump: Motion, size: float, names: tuple[str, ...]
) -> None:
    far = sized(jump, size)
    for name in names:
        (found,) = findings(far, name)
        cure = re.search(r"say so: --height (\d+\.\d+)m", found.cures[0].text)
        assert cure is not None, name
        tall = float(cure.group(1))
        assert not findings(sized(far, tall / height_of(far)), name)
    grown = findings(retimed(jump, 1.3), "gravity")  # legs that are a person's: the timing is wrong
    assert grown
    assert not any("--height" in c.text for f in grown for c in f.cures)


def test_what_needs_a_floor_warns_where_the_floor_is_not_known(walk: Motion) -> None:
    clip = analyze(walk, floor=analyze(walk).floor + 0.12)
    unsure, sure = (
        judge(clip, REALISTIC, scale=implied_scale(clip), unsure=doubts(clip, is_floor_given=given))
        for given in (False, True)
    )
    assert not [f for f in unsure if f.name == "penetration" and f.fails]
    assert all("floor" in f.doubt for f in unsure if f.name == "penetration")
    assert [f for f in sure if f.name == "penetration" and f.fails]


def test_a_foot_that_slides_is_found_and_pinned(walk: Motion) -> None:
    assert not findings(walk, "skate")
    clip = analyze(walk)
    columns = [i for i, s in enumerate(clip.touch.supports) if s == "left_leg"]
    on = np.asarray(clip.touch.flags[:, columns].any(axis=1))
    first = int(np.flatnonzero(on[1:] & ~on[:-1])[1]) + 1
    last = first + int(np.argmin(on[first:])) - 1
    t = np.clip((np.arange(walk.frame_count) - first) / (last - first), 0.0, 1.0)
    slide = 0.15 * t[:, None] * np.array([0.0, 1.0, 0.0])
    found = [f for f in findings(moved(walk, slide), "skate") if f.where == "left_leg"]
    assert found
    assert found[0].measure > REALISTIC["skate"].most
    (span,) = [f for f in found[0].frames if f[0] <= (first + last) // 2 <= f[1]]
    assert span[0] == pytest.approx(first, abs=4)
    text = next(c.text for c in found[0].cures if c.text.startswith("move the hips"))
    back = numbers(text)[0] / 100.0
    # the body goes back with the foot over the named frames
    mended = moved(moved(walk, slide), -back * t[:, None] * np.array([0.0, 1.0, 0.0]))
    assert not [f for f in findings(mended, "skate") if f.where == "left_leg"]


def test_a_clip_that_glides_has_no_foot_that_stands(walk: Motion) -> None:
    glide = 2.0 * (walk.times / walk.times[-1])[:, None] * walk.times[-1] * np.array([0.0, 1.0, 0.0])
    found = findings(moved(walk, glide), "skate")
    assert any("No foot stands" in f.sentence for f in found)


def test_a_clip_in_the_floor_is_raised_by_what_is_said(walk: Motion) -> None:
    low = analyze(walk)
    t = np.exp(-(((np.arange(walk.frame_count) - 60) / 6.0) ** 2))
    sunk = moved(walk, -0.1 * t[:, None] * np.array([0.0, 0.0, 1.0]))
    found = findings(sunk, "penetration")
    assert found
    worst = max(found, key=lambda f: f.measure)
    assert worst.measure == pytest.approx(0.1, abs=0.02)
    raised, frame = numbers(worst.cures[0].text)[:2]
    assert abs(frame - 60) < 8
    assert not findings(moved(sunk, raised / 100.0 * t[:, None] * np.array([0.0, 0.0, 1.0])), "penetration")
    assert low.floor == pytest.approx(analyze(sunk).floor, abs=0.01)


def test_a_clip_that_hovers_for_a_while_floats(walk: Motion) -> None:
    frames = np.arange(walk.frame_count)
    lift = 0.12 * np.clip(np.minimum(frames - 60, 140 - frames) / 10.0, 0.0, 1.0)
    found = findings(moved(walk, lift[:, None] * np.array([0.0, 0.0, 1.0])), "float")
    assert found
    assert found[0].measure == pytest.approx(0.12, abs=0.03)
    assert re.search("lower the", found[0].cures[0].text)


@first_cases(1, "speed", [0.04, 0.15, -0.4, 1.0])
def test_a_walk_that_goes_through_the_air_fails_and_its_cure_mends_it(walk: Motion, speed: float) -> None:
    lifted = moved(walk, speed * walk.times[:, None] * np.array([0.0, 0.0, 1.0]))
    (found,) = findings(lifted, "rise")
    assert found.fails
    assert found.measure == pytest.approx(abs(speed) * walk.duration, rel=0.15)
    pace = numbers(found.cures[0].text)[0] * (1.0 if "hips up" in found.cures[0].text else -1.0)
    assert not findings(moved(lifted, pace * walk.times[:, None] * np.array([0.0, 0.0, 1.0])), "rise")
    assert "poise edit ground" in found.cures[0].text
    assert not [f for f in findings(ground(lifted).motion) if f.fails]


@first_cases(1, "ground", ["slope:4", "stairs:0.05,0.3"])
def test_a_walk_up_a_ground_that_nobody_knows_does_not_go_through_the_air(walk: Motion, ground: str) -> None:
    up = replace(poise.simulate(walk, terrain=poise.Terrain.parse(ground)).motion, source=None)
    assert np.ptp(up.world[0][:, 0, 2]) > 0.3
    assert not findings(up, "rise")


@needs_motions
def test_a_figure_without_knees_is_not_sent_to_an_edit_that_refuses_it() -> None:
    clip = poise.load(MOTIONS.with_name("motions2") / "gltf" / "boxman.glb", clip="jump_running")
    found = findings(clip, "penetration")
    assert found
    assert not [f for f in found if f.fails]  # without ankles, where its soles are is guessed
    assert not [c for f in found for c in f.cures if "poise edit" in c.text]
    with pytest.raises(InvalidValue, match="no leg with a knee"):
        ground(clip)


def test_a_figure_that_rides_a_lift_is_only_warned_of(walk: Motion) -> None:
    stands = replace(walk, translations=walk.translations.copy(), rotations=walk.rotations.copy(), source=None)
    stands.translations[:], stands.rotations[:] = walk.translations[60], walk.rotations[60]
    (found,) = findings(moved(stands, 0.3 * walk.times[:, None] * np.array([0.0, 0.0, 1.0])), "rise")
    assert not found.fails


@pytest.mark.long
@needs_motions
def test_feet_that_were_grounded_slide_no_further_where_none_stands() -> None:
    roll = poise.load(MOTIONS / "deepmimic" / "humanoid3d_roll.txt")
    (before,) = [f for f in findings(roll, "skate") if f.where == "feet"]
    for after in findings(ground(roll).motion, "skate"):  # the pinned foot is cured
        assert after.where == "feet"
        assert after.measure <= 1.03 * before.measure  # each on a figure that is fitted to its own clip


# capture


@needs_motions
def test_a_flip_is_found_and_turned_back() -> None:
    motion = poise.load(MOTIONS / "asf_amc" / "02_01.amc")
    joint = motion.skeleton.index("lfemur")
    turned = motion.rotations.copy()
    turned[200:, joint] = rotations.multiply(
        turned[200:, joint], rotations.from_rotation_vector(np.array([0.0, 0.0, math.radians(120.0)]))
    )
    (found,) = findings(replace(motion, rotations=turned, source=None), "glitch")
    assert found.where == "lfemur"
    assert found.frames == ((199, 200),)
    degrees, frame = numbers(found.cures[0].text)[:2]
    assert degrees == pytest.approx(120.0, abs=3.0)
    turned[int(frame) :, joint] = rotations.multiply(
        turned[int(frame) :, joint], rotations.from_rotation_vector(np.array([0.0, 0.0, -math.radians(degrees)]))
    )
    assert not findings(replace(motion, rotations=turned, source=None), "glitch")


@needs_motions
def test_a_round_eye_that_turns_onto_itself_is_not_seen() -> None:
    motion = poise.load(MOTIONS.with_name("motions2") / "gltf" / "cyberpunk_Enemy_2Legs.glb", clip="Run")
    eye = motion.skeleton.names.index("Eye")

    def fails(degrees: float) -> bool:
        turned = motion.rotations.copy()
        turn = rotations.from_rotation_vector(np.radians([degrees, 0.0, 0.0]))
        turned[8, eye] = rotations.multiply(turned[7, eye], turn)
        return any(f.fails for f in findings(replace(motion, rotations=turned), "glitch"))

    assert not fails(180.0)
    assert fails(130.0)
    assert not [f for f in findings(motion) if f.fails]


@needs_motions
def test_a_rest_pose_in_front_is_cut_off_where_it_is_said() -> None:
    path = MOTIONS / "bvh" / "cmu_motionbuilder" / "02_01.bvh"
    motion = poise.load(path)
    (found,) = findings(motion, "glitch")
    (start,) = re.findall(r"--start ([\d.]+)", found.cures[0].text)
    cut = motion.cut(float(start), motion.duration)
    assert cut.frame_count == motion.frame_count - 1
    assert not findings(cut, "glitch")


@needs_motions
def test_shaking_is_smoothed_by_the_cut_off_that_is_said(jump: Motion) -> None:
    random = np.random.default_rng(7)
    noise = 0.02 * random.standard_normal((jump.frame_count, jump.skeleton.joint_count, 3))
    kernel = np.ones(5) / 5.0
    noise = np.apply_along_axis(lambda x: np.convolve(x, kernel, mode="same"), 0, noise) * 6.0
    shaken = jump.rotations.copy()
    shaken = rotations.multiply(shaken, rotations.from_rotation_vector(noise))
    (found,) = findings(replace(jump, rotations=shaken, source=None), "jerk")
    assert re.search(r"low-pass at [\d.]+ Hz", found.cures[0].text)


def test_at_the_rates_of_drawings_noise_shakes_and_an_abrupt_change_does_not(walk: Motion) -> None:
    drawn = walk.resampled(np.arange(0.0, walk.duration, 1.0 / 24.0))
    noise = np.random.default_rng(4).normal(size=(drawn.frame_count, 3)) * 0.02
    (found,) = findings(moved(drawn, noise), "jerk")
    assert "Joints shake" in found.sentence
    frame = np.arange(drawn.frame_count)
    steps = 0.3 * (frame // 12 + np.clip(frame % 12 / 3.0, 0.0, 1.0))[:, None] * np.array([1.0, 0.0, 0.0])
    still = replace(drawn, rotations=np.repeat(drawn.rotations[:1], len(frame), axis=0), source=None)
    still = replace(still, translations=np.repeat(drawn.translations[:1], len(frame), axis=0))
    assert not findings(moved(still, steps), "jerk")  # goes from drawing to drawing, and stops there


@needs_motions
def test_a_joint_that_whirls_is_too_fast(jump: Motion) -> None:
    joint = jump.skeleton.index("lhumerus")
    turned = jump.rotations.copy()
    angle = np.cumsum(np.where((np.arange(jump.frame_count) > 60) & (np.arange(jump.frame_count) < 72), 0.7, 0.0))
    turned[:, joint] = rotations.multiply(
        turned[:, joint], rotations.from_rotation_vector(angle[:, None] * np.array([0.0, 0.0, 1.0]))
    )
    (found,) = findings(replace(jump, rotations=turned, source=None), "joint-speed")
    assert found.where == "lhumerus"
    assert found.measure == pytest.approx(0.7 * jump.fps, rel=0.3)


# invariance


@needs_motions
def test_heading_and_size_do_not_matter(jump: Motion) -> None:
    fast = retimed(jump, 0.72)
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 2.0]))
    translations, turned = fast.translations.copy(), fast.rotations.copy()
    translations[:, 0] = rotations.rotate(turn, translations[:, 0]) + np.array([3.0, -7.0, 0.0])
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    one = findings(fast)
    two = findings(replace(fast, translations=translations, rotations=turned, source=None))
    assert [(f.name, f.sentence, [c.text for c in f.cures]) for f in one] == [
        (f.name, f.sentence, [c.text for c in f.cures]) for f in two
    ]


def test_every_finding_has_a_name_in_the_list() -> None:
    assert set(REALISTIC.limits) == set(FLAWS)


@needs_motions
def test_every_command_that_is_offered_cures_what_it_is_offered_for(jump: Motion) -> None:
    flight = analyze(jump).flights[0]
    t = np.clip((np.arange(jump.frame_count) - flight.first) / (flight.last - flight.first), 0.0, 1.0)
    aside = 0.1 * np.sin(np.pi * t)[:, None] * np.array([0.0, 1.0, 0.0])
    clip = moved(twisted(jump, 25.0), aside)
    tried = []
    for found in findings(clip):
        for command in dict.fromkeys(re.findall(r"poise edit (\w+)(?: --flight (\d+):(\d+))?", str(found.cures))):
            tool, first, last = command
            if tool == "repair":  # it makes the finding smaller, within its budget; test_repair.py holds it to that
                continue
            edits = {"spin": spin, "ballistic": ballistic, "ground": ground}
            how = {"flights": [(int(first), int(last))]} if first else {}
            result = edits[tool](clip, **how).motion
            assert not [f for f in findings(result) if (f.name, f.where) == (found.name, found.where)], command
            tried.append(tool)
    assert {"spin", "ballistic"} <= set(tried)


@needs_motions
def test_a_flight_that_hangs_gets_frames_and_no_repair_that_is_refused() -> None:
    slow = hang("high jump", np.random.default_rng(1)).motion
    (found,) = findings(slow, "gravity")
    (command,) = re.findall(r"poise edit (\w+) --flight (\d+):(\d+)", str(found.cures))
    assert command[0] == "ballistic"
    assert "which needs flights that fall as they should" in str(found.tried)
    assert not findings(ballistic(slow, flights=[(int(command[1]), int(command[2]))]).motion)
    with pytest.raises(InvalidValue, match="a repair would hide that"):
        repair(slow)


@dataclass(frozen=True)
class Repairs(Cures):
    """Cures whose repair ends as given."""

    outcome: tuple[float, float, float, float] | None = None

    def repaired(self, clip: Analysis) -> tuple[float, float, float, float] | None:
        return self.outcome


@pytest.mark.long
def test_what_cures_nothing_is_said_and_findings_about_forces_are_repaired_whether_they_fail_or_not() -> None:
    clip = analyze(ballistic(sample_clip("hover_hop")).motion)

    def judged(trials: Repairs | None) -> dict[str, Finding]:
        return {f.name: f for f in judge(clip, REALISTIC, scale=implied_scale(clip), trials=trials)}

    named, mended, vain = judged(None), judged(Repairs(outcome=(0.3, 0.1, 5.0, 0.02))), judged(Repairs())
    assert not named["root-residual"].fails
    assert named["balance"].measure < 0.2  # of the time in which it stands beside its feet, not of the whole clip
    for name in ("balance", "root-residual"):
        assert "not tried" in named[name].cures[-1].text
        assert "from 30 to 10.0 % of the weight" in mended[name].cures[-1].text
        assert not any("repair" in c.text for c in vain[name].cures)
        assert "repairing the whole clip (poise edit repair)" in vain[name].tried
    # the closed forms are worked out without a word
    assert not any("play it" in c.text for c in named["balance"].cures)
    assert "playing it slower" in " ".join(named["balance"].tried)
    assert named["balance"].as_json()["tried"] == list(named["balance"].tried)


def test_a_foot_that_slides_far_down_a_slope_fails_as_on_level_ground(walk: Motion) -> None:
    laid = laid_under(Terrain.parse("slope:-25"), walk, analyze(walk).floor)
    places = walk.translations.copy()
    places[:, 0, 2] += laid.heights(places[:, 0, :2]) - laid.ground
    slides = 0.4 * np.clip(walk.times - walk.times[-1] + 1.5, 0.0, None)  # over the last second and a half
    places[:, 0, :2] += slides[:, None] * np.array([-laid.forward[1], laid.forward[0]])
    down = carrying(replace(walk, translations=places), laid)
    clip = on_ground(down, Wanted())
    np.testing.assert_allclose(clip.hips, analyze(walk).hips, atol=1e-9)
    assert float(clip.motion.world[0][-1, 0, 2] - clip.floor) < 0.5  # below the level where the slope begins
    assert any(f.name == "skate" and f.fails for f in findings_of(down))
