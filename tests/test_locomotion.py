"""Walking at velocities asked for: cycles, blending, control of the velocity, standing feet, files, commands."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.locomotion import slide
from typer.testing import CliRunner

import poise
from poise.body.character import Character, fit
from poise.cli import app
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Evidence, Motion
from poise.filter.forces import Push
from poise.locomotion import Locomotion, Toward, Walker, build, load, retrieve, scripted, walk
from poise.locomotion.cycles import PHASES, clips_of, cycles_of, mirrored
from poise.locomotion.examples import KEY, MEAN_STAND
from poise.phases.points import pelvis
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip


@pytest.fixture(scope="module")
def clip() -> Motion:
    return sample_clip("walk")


@pytest.fixture(scope="module")
def examples(clip: Motion) -> Locomotion:
    return build([clip])


@pytest.fixture(scope="module")
def beast() -> Locomotion:
    return build([sample_clip("quadruped")])


@pytest.fixture(scope="module")
def figure(examples: Locomotion) -> Character:
    return fit(examples.motion)


def straight(examples: Locomotion, speed: float, seconds: float = 6.0, turn: float = 0.0) -> Motion:
    """A walk at one speed, from its fourth second on."""
    return walk(examples, scripted([(0.0, speed, 0.0, turn)]), seconds).cut(3.0, seconds)


def mean_velocity(motion: Motion) -> np.ndarray:
    place = motion.world[0][:, pelvis(motion.skeleton), :2]
    return (place[-1] - place[0]) / motion.duration


def test_cycles_have_the_speed_of_the_clip(clip: Motion) -> None:
    character = fit(clip)
    found = cycles_of(clips_of([clip], character)[0], character.leg_scale)
    assert len(found) >= 2
    place = clip.world[0][:, pelvis(clip.skeleton), :2]
    speed = np.linalg.norm(np.diff(place, axis=0), axis=1).sum() / clip.duration
    assert np.median([np.hypot(*c.velocity[:2]) for c in found]) == pytest.approx(speed, rel=0.15)
    for cycle in found:
        # the first leg is in the middle of its stance at phase 0, the other half a cycle later
        assert abs(math.remainder(cycle.middle[0], 1.0)) < 0.04
        assert abs(cycle.middle[1] - 0.5) < 0.1


def test_a_cycle_closes(examples: Locomotion) -> None:
    """No pop at the seam: the step over it is as large as those beside it."""
    turned = examples.motion.rotations[: examples.count * PHASES].reshape(examples.count, PHASES, -1, 4)
    steps = rotations.angle_between(turned, np.roll(turned, -1, axis=1)).max(axis=2)
    assert (steps[:, -1] < 1.5 * steps[:, :-1].max(axis=1)).all()


def test_an_example_alone_comes_back(clip: Motion) -> None:
    """At its own velocity and at a stored phase, one example is its own blend."""
    made = build([clip], mirror=False)
    k = int(np.argmax(np.linalg.norm(made.velocities - np.median(made.velocities, axis=0), axis=1)))
    one = made.poses[0][:, k]
    near = retrieve(made, made.velocities[k], 10 / PHASES)
    share = near.weights[k]
    others = np.delete(near.weights, k) @ np.delete(made.poses[0][10], k, axis=0)
    assert np.abs(near.row - share * one[10] - others).max() < 1e-9
    assert near.weights.sum() == pytest.approx(1.0)


def test_between_two_phases_is_the_mean(examples: Locomotion) -> None:
    v = np.array([examples.walk, 0.0, 0.0])
    first, middle, last = (retrieve(examples, v, p / PHASES).row for p in (PHASES - 1, PHASES - 0.5, PHASES))
    assert np.abs(middle - 0.5 * (first + last)).max() < 1e-12


def test_velocity_follows_without_swinging(examples: Locomotion) -> None:
    """Critically damped: (1 + ω t) e^(−ω t) of the change is left after a time t."""
    walker, speeds = Walker(examples, 1.0 / 240.0), []
    for _ in range(480):
        walker.step((1.0, 0.0))
        speeds.append(walker.velocity[0])
    omega = walker.frequency
    times = np.arange(1, 481) / 240.0
    assert np.abs(np.array(speeds) - (1.0 - (1.0 + omega * times) * np.exp(-omega * times))).max() < 0.02
    assert max(speeds) <= 1.0 + 1e-6


def test_a_push_moves_the_path_for_good(examples: Locomotion) -> None:
    walker = Walker(examples)
    for _ in range(120):
        walker.step((1.0, 0.0))
    walker.push((0.0, 0.8))
    for _ in range(240):
        walker.step((1.0, 0.0))
    aside = walker.place[1]
    assert walker.velocity == pytest.approx([1.0, 0.0, 0.0], abs=0.01)
    for _ in range(120):
        walker.step((1.0, 0.0))
    # 0.8 m/s that fall off critically damped go 0.8 · 2 / ω
    assert aside == pytest.approx(1.6 / walker.frequency, rel=0.1)
    assert walker.place[1] == pytest.approx(aside, abs=1e-3)


@first_cases(1, "who, share", [(who, share) for who in ("examples", "beast") for share in (0.5, 1.0, 1.4)])
def test_speed_asked_is_reached(who: str, share: float, request: pytest.FixtureRequest) -> None:
    made: Locomotion = request.getfixturevalue(who)
    speed = share * made.walk
    got = mean_velocity(straight(made, speed))
    assert got[0] == pytest.approx(speed, rel=0.1)
    assert abs(got[1]) < 0.1 * speed


def test_standing_feet_hardly_slide(examples: Locomotion, figure: Character) -> None:
    """The sample's feet stand perfectly still; a blend of its steps may slide by 5 mm in a second."""
    assert slide(straight(examples, examples.walk, 8.0), figure) < 0.005


@pytest.mark.long
@needs_motions
def test_standing_feet_slide_no_more_than_the_captured_ones() -> None:
    captured = poise.load(MOTIONS / "asf_amc" / "02_01.amc")
    made = build([captured])
    figure = fit(made.motion)
    assert slide(straight(made, made.walk, 8.0), figure) < 1.2 * slide(captured, figure)


def test_legs_make_up_for_what_the_pose_lacks(examples: Locomotion, figure: Character) -> None:
    """Walking aside with steps made up: without the legs' part, the feet would slide as fast as the body goes."""
    speed = 0.4 * examples.walk
    motion = walk(examples, scripted([(0.0, speed, math.pi / 2, 0.0)]), 8.0).cut(3.0, 8.0)
    assert mean_velocity(motion)[1] == pytest.approx(speed, rel=0.1)
    assert slide(motion, figure) < 0.5 * speed


@pytest.mark.long
def test_it_turns_in_place(examples: Locomotion) -> None:
    motion = walk(examples, scripted([(0.0, 0.0, 0.0, 1.0)]), 8.0)
    walker = Walker(examples)
    for _ in range(480):
        walker.step((0.0, 0.0), 1.0)
    assert walker.heading == pytest.approx(8.0 - 2.0 / walker.frequency, abs=0.05)
    place = motion.world[0][:, pelvis(motion.skeleton), :2]
    assert np.linalg.norm(place - place[0], axis=1).max() < 0.25


def test_it_stands_when_asked(examples: Locomotion) -> None:
    motion = walk(examples, scripted([(0.0, examples.walk, 0.0, 0.0), (3.0, 0.0, 0.0, 0.0)]), 8.0)
    last = motion.cut(7.0, 8.0).world[0]
    assert np.ptp(last, axis=0).max() < 0.05


@pytest.mark.long
def test_a_stand_is_no_statue(examples: Locomotion, figure: Character) -> None:
    stood = walk(examples, scripted([(0.0, 1.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0)]), 14.0).cut(5.0, 14.0)
    places, names = stood.world[0], stood.skeleton.names
    hips = places[:, names.index("Hips")]
    assert 0.01 < np.ptp(hips[:, :2], axis=0).max() < 0.12  # it shifts its weight
    assert np.abs(np.diff(hips, n=2, axis=0)).max() * 60**2 < 1.0  # smoothly [m/s²]
    for foot in ("LeftToeBase", "RightToeBase", "LeftFoot", "RightFoot"):
        assert np.ptp(places[:, names.index(foot)], axis=0).max() < 0.002


@pytest.mark.long
def test_it_walks_to_places(examples: Locomotion) -> None:
    places = [(2.0, 0.0), (2.0, 2.0)]
    way = Toward(places, examples.walk)
    motion = walk(examples, way, 30.0)
    assert motion.duration < 20.0
    path = motion.world[0][:, pelvis(motion.skeleton), :2]
    for place in places:
        assert np.linalg.norm(path - place, axis=1).min() < 0.6
    assert np.linalg.norm(path[-1] - places[-1]) < 0.3
    # a value: a second walk along it is the same
    assert np.array_equal(walk(examples, way, 30.0).rotations, motion.rotations)


@pytest.mark.parametrize("points", [[], [(1.0, 2.0, 3.0)], [(math.nan, 0.0)]])
def test_places_are_checked_where_they_are_given(points: list[tuple[float, ...]]) -> None:
    with pytest.raises(InvalidValue, match="one or more places"):
        Toward(points, 1.0)
    with pytest.raises(InvalidValue, match="positive speed"):
        Toward([(1.0, 0.0)], 0.0)


def test_a_push_needs_no_mass(examples: Locomotion) -> None:
    """Without a mass, that of a character fitted to the examples counts."""
    shove = Push("chest", (0.0, 300.0, 0.0), 0.5, 0.2)
    ahead = scripted([(0.0, examples.walk, 0.0, 0.0)])
    shoved, named = (
        walk(examples, ahead, 1.0, pushes=[shove], mass=mass) for mass in (None, fit(examples.motion).mass)
    )
    assert np.array_equal(shoved.translations, named.translations)
    assert np.abs(shoved.translations - walk(examples, ahead, 1.0).translations).max() > 0.05
    with pytest.raises(InvalidValue, match="positive, finite"):
        walk(examples, ahead, 1.0, pushes=[shove], mass=math.inf)


@pytest.mark.long
def test_nothing_pops_when_the_command_changes(examples: Locomotion) -> None:
    """No joint turns faster in any frame than 2.5 times the fastest of the clip's own walk."""
    rows = [
        (0.0, 1.0, 0.0, 0.0),
        (2.0, 1.2, 0.0, 1.5),
        (4.0, 0.6, math.pi, 0.0),
        (6.0, 0.5, 1.5, 0.0),
        (8.0, 0.0, 0.0, 1.0),
    ]
    motion = walk(examples, scripted(rows), 10.0)
    calm = straight(examples, examples.walk)
    fastest = [rotations.angle_between(m.rotations[1:], m.rotations[:-1]).max() for m in (motion, calm)]
    assert fastest[0] < 2.5 * fastest[1]


def test_a_mirror_twice_changes_nothing(clip: Motion) -> None:
    once = mirrored(clip)
    assert once is not None
    twice = mirrored(once)
    assert twice is not None
    assert np.abs(twice.world[0] - clip.world[0]).max() < 1e-9
    # what went to the left goes to the right
    assert np.abs(once.world[0] - clip.world[0]).max() > 0.05


def test_a_controller_survives_its_file(examples: Locomotion, tmp_path: Path) -> None:
    examples.save(tmp_path / "walker.npz")
    again = load(tmp_path / "walker.npz")
    first, second = (Walker(x).step((1.0, 0.2), 0.3) for x in (examples, again))
    assert np.array_equal(first.rotations, second.rotations)
    assert again.notes == examples.notes


def test_other_files_are_refused(clip: Motion, examples: Locomotion, tmp_path: Path) -> None:
    poise.save(clip, tmp_path / "clip.npz")
    with pytest.raises(FileFormatError, match="no locomotion controller"):
        load(tmp_path / "clip.npz")
    # fewer frames than the table says
    poise.save(examples.motion.frames(np.arange(PHASES)), tmp_path / "short.npz")
    with pytest.raises(FileFormatError, match="do not hold"):
        load(tmp_path / "short.npz")


@pytest.mark.parametrize(("name", "value"), [("carried", [[1.0]]), ("rates", []), ("duty", "x"), ("legs", {"0": [1]})])
def test_a_table_that_does_not_fit_is_refused(examples: Locomotion, name: str, value: object, tmp_path: Path) -> None:
    source = examples.motion.source
    assert source is not None
    from dataclasses import replace

    table = source.evidence["locomotion"]
    broken = replace(table, value={**table.value, name: value})
    motion = replace(examples.motion, source=replace(source, evidence={"locomotion": broken}))
    poise.save(motion, tmp_path / "broken.npz")
    with pytest.raises(FileFormatError):
        load(tmp_path / "broken.npz")


def test_clips_without_cycles_are_refused(clip: Motion) -> None:
    with pytest.raises(InvalidValue, match="whole cycle"):
        build([clip.cut(0.0, 0.3)])
    with pytest.raises(InvalidValue, match="another skeleton"):
        build([clip, sample_clip("quadruped")])


def test_commands_build_and_walk(tmp_path: Path) -> None:
    run = CliRunner()
    walker, out = tmp_path / "walker.npz", tmp_path / "out.bvh"
    done = run.invoke(app, ["locomotion", "build", str(poise.sample_path("walk")), "-o", str(walker)])
    assert done.exit_code == 0, done.output
    script = tmp_path / "script.txt"
    script.write_text("0 1.0  # ahead\n0.3 0.5 90\n\n0.6 0\n")
    done = run.invoke(app, ["walk", str(walker), "-o", str(out), "--script", str(script)])
    assert done.exit_code == 0, done.output
    assert poise.load(out).duration == pytest.approx(3.6, abs=0.1)
    script.write_text("0 1.0\n1 fast\n")
    done = run.invoke(app, ["walk", str(walker), "-o", str(out), "--script", str(script), "--overwrite"])
    assert isinstance(done.exception, FileFormatError)
    assert done.exception.line == 2
    done = run.invoke(app, ["walk", str(walker), "-o", str(out), "--speed", "30", "--overwrite"])
    assert isinstance(done.exception, InvalidValue)


@pytest.mark.long
def test_a_shoved_walker_goes_on(tmp_path: Path) -> None:
    """The filter follows the controller aside: it ends on the new path, not on the old one."""
    run = CliRunner()
    walker, out = tmp_path / "walker.npz", tmp_path / "out.npz"
    build([sample_clip("walk")]).save(walker)
    push = ["--push", "chest 0 250 0 @1+0.2", "--seconds", "4"]
    done = run.invoke(app, ["walk", str(walker), "-o", str(out), *push])
    assert done.exit_code == 0, done.output
    path = poise.load(out).world[0][:, 0]
    assert path[-1, 1] > 0.15
    assert path[:, 2].min() > 0.7 * path[0, 2]


def test_a_walker_built_before_a_stand_was_made_is_told(examples: Locomotion, tmp_path: Path) -> None:
    file, old = tmp_path / "walker.npz", tmp_path / "old.npz"
    examples.save(file)
    source = examples.motion.source
    assert source is not None
    table = source.evidence[KEY].value | {"notes": [f"no clip stands still: {MEAN_STAND}"]}
    replace(
        examples, motion=replace(examples.motion, source=replace(source, evidence={KEY: Evidence(table, 1.0, "")}))
    ).save(old)
    for which, is_told in ((file, False), (old, True)):
        words = ["walk", str(which), "-o", str(tmp_path / f"{which.stem}.bvh"), "--seconds", "0.2"]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert ("built by an earlier version" in " ".join(done.output.split())) == is_told
