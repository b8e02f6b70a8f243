"""What a push does: to figures of any size, to figures that hover, and how feet that were moved come back."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from poise.body import Character, fit
from poise.body.posing import body_positions, joint_deviations, motion_to_q
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.filter import report
from poise.filter.forces import Push
from poise.filter.preset import load_preset
from poise.filter.report import SimulationResult
from poise.filter.setup import Options
from poise.filter.simulate import Live, simulate
from poise.filter.steps import SteppingBack
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from tests.clips import first_cases, sample_clip
from tests.filter_runs import walk
from tests.test_filter import assert_exact, glitched

Array = npt.NDArray[np.float64]


def held(motion: Motion, frame: int, seconds: float, lift: float = 0.0, fps: float = 60.0) -> Motion:
    """One pose of a motion, held for a while, so much above where it was [m]."""
    times = np.arange(round(seconds * fps)) / fps
    places = np.repeat(motion.translations[frame : frame + 1], len(times), axis=0)
    places[:, 0, 2] += lift
    turns = np.repeat(motion.rotations[frame : frame + 1], len(times), axis=0)
    return replace(motion, times=times, translations=places, rotations=turns, source=None)


def shove(character: Character, start: float = 0.2, x: float = 1.0, y: float = 0.0) -> Push:
    """0.44 body weights at the chest for 0.2 s."""
    return Push("chest", (0.44 * 9.81 * character.mass * x, 0.44 * 9.81 * character.mass * y, 0.0), start, 0.2)


@functools.cache
def scaled(size: float) -> tuple[Motion, Character]:
    """The walk of a figure so many times as large."""
    motion, _ = walk()
    tips = tuple(replace(tip, offset=size * tip.offset) for tip in motion.skeleton.end_sites)
    bigger = replace(motion.skeleton, offsets=size * motion.skeleton.offsets, end_sites=tips)
    grown = replace(motion, skeleton=bigger, translations=size * motion.translations, source=None)
    return grown, fit(grown)


def test_a_hovering_figure_comes_back() -> None:
    """In the air nothing but the root can bring a figure back, and it does what it did in the reference."""
    motion, character = walk()
    still = held(motion, 20, 1.6, lift=1.0)
    up = Push("chest", (0.0, 0.0, 0.44 * 9.81 * character.mass), 0.2, 0.2)
    result = simulate(still, character, pushes=[up], options=Options(goal="com-xy"))
    off = np.abs(result.q - result.reference_q)[:, 2]
    assert 0.03 <= off.max() <= 0.12
    assert off[-1] <= 0.02
    assert result.report["events"][0]["root_peak_deg"] <= 1.0


def test_a_push_moves_figures_of_any_size_by_the_same_part_of_the_leg() -> None:
    moved = []
    for size in (0.3, 1.0, 20.0):
        motion, character = scaled(size)
        event = simulate(motion, character, pushes=[shove(character, 0.3)]).report["events"][0]
        moved.append((event["com_excursion_max_m"] / character.leg_length, event["root_peak_deg"]))
    assert moved[0][0] == pytest.approx(moved[1][0], rel=0.05)
    assert moved[2][0] == pytest.approx(moved[1][0], rel=0.05)


def test_centers_of_mass_of_carried_frames_are_true() -> None:
    motion, character = walk()
    elbow = character.bodies[character.body_index("left_elbow")].name
    poses: list[Array] = []

    def watch(live: Live) -> None:
        poses.append(live.figure.q.copy())

    bad = glitched(motion, elbow, 45)
    result = simulate(bad, character, pushes=[shove(character)], watch=watch)
    told = np.array(result.report["per_frame"]["com_m"])
    state = State(model_of(character))
    true = np.array([state.at(q, np.zeros(character.nv)).com() for q in result.q])
    assert result.report["solver"]["fallbacks"]["glitch_carried"] >= 2
    assert np.abs(told - true).max() <= 1e-9


def test_a_foot_that_landed_off_its_place_steps_back() -> None:
    """In a pose that is held after a shove nothing else would bring it home."""
    motion, character = walk()
    pose = held(motion, 30, 3.4)
    lifted = replace(
        pose,
        times=np.arange(pose.frame_count + 31) / 60.0,
        translations=np.concatenate([motion.translations[:31], pose.translations]),
        rotations=np.concatenate([motion.rotations[:31], pose.rotations]),
    )
    feet = [i for i, p in enumerate(character.contact_points) if p.part == "foot"]
    offsets: list[Array] = []

    def watch(live: Live) -> None:
        last = live.figure.last
        assert last is not None
        off = np.where(last.reference.flags[feet, None], (live.figure.state.points - last.reference.points)[feet], 0.0)
        offsets.append(off[:, :2])

    result = simulate(lifted, character, pushes=[shove(character, 0.2, y=0.5)], watch=watch)
    size = np.linalg.norm(np.array(offsets), axis=2).max(axis=1)
    assert size.max() > 0.04
    assert size[-1] <= 0.005
    assert joint_deviations(character, result.reference_q, result.q)[-1].max() <= 0.5
    # one at a time: some foot always carries
    assert min(result.report["per_frame"]["contacts"][60:-1]) >= 1
    assert_exact(simulate(lifted, character))


def test_numbers_that_kernels_use_are_in_the_preset_and_do_what_they_say() -> None:
    motion, character = walk(1.0)
    plain = load_preset("recommended")
    report = simulate(motion, character, preset=plain).report
    for name in ("bounds.return_share", "bounds.near_ground", "goal.sway_arms", "ground.lean_neck", "stepping.height"):
        assert name in report["settings"]
    stiff = replace(plain, goal=replace(plain.goal, sway_arms=1.0, sway_pelvis=0.0))
    push = shove(character)
    turns = []
    for preset in (plain, stiff):
        result = simulate(motion, character, preset=preset, pushes=[push])
        turns.append(joint_deviations(character, result.reference_q, result.q).max(axis=0))
    assert turns[1][0] < 0.6 * turns[0][0], "the pelvis takes no part of the turn"


def test_a_weak_arm_gives_and_comes_back() -> None:
    motion, character = walk(1.0)
    arms = [b for limb in character.limbs if limb.kind == "arm" for b in limb.bodies]
    weak = tuple(replace(b, strength=0.05) if i in arms else b for i, b in enumerate(character.bodies))
    push = Push("left_hand", (0.0, 60.0, 0.0), 0.3, 0.2)
    turned = []
    for figure in (character, replace(character, bodies=weak)):
        assert_exact(simulate(motion, figure))
        result = simulate(motion, figure, pushes=[push])
        turned.append(joint_deviations(character, result.reference_q, result.q)[:, arms].max(axis=1))
    assert turned[1].max() > 3.0 * turned[0].max()
    assert turned[1][-1] < 0.6 * turned[1].max()


def stepped(x: float, y: float, sinking: float | None = None) -> tuple[Character, float, Array]:
    """A figure that stands and is shoved with so many times 0.44 weights, and steps: its bodies' places."""
    motion, character = walk()
    preset = load_preset("recommended")
    if sinking is not None:
        preset = replace(preset, goal=replace(preset.goal, sinking=sinking))
    run = simulate(held(motion, 43, 1.5), character, pushes=[shove(character, x=x, y=y)], preset=preset)
    assert run.report["events"][0]["outcome"] == "stepped"
    return character, run.report["dt"], body_positions(character, run.q)


@pytest.mark.parametrize(("x", "y"), [(0.0, 2.0), (0.0, -2.0), (2.0, 0.0), (-2.0, 0.0)])
def test_the_foot_that_catches_hurries_and_the_other_follows_in_its_time(x: float, y: float) -> None:
    character, dt, bodies = stepped(x, y)
    feet = [character.roles["left_foot"], character.roles["right_foot"]]
    speeds = np.linalg.norm(np.diff(bodies[:, feet], axis=0), axis=2) / dt
    first = int(np.argmin(np.argmax(speeds > 1.0, axis=0)))
    assert speeds[:, first].max() > 1.3 * speeds[:, 1 - first].max()
    assert speeds[:, 1 - first].max() < 1.1 * load_preset("recommended").protective.brisk


@pytest.mark.long
def test_a_step_is_as_long_as_what_ankles_and_hips_cannot_hold() -> None:
    """From none at all, without a jump: a step was 0.3 legs long, or none."""
    motion, character = walk()
    still, ways = held(motion, 43, 3.0), []
    for part in np.linspace(0.8, 1.4, 13):
        run = simulate(still, character, pushes=[shove(character, x=part)])
        off = body_positions(character, run.q) - body_positions(character, run.reference_q)
        ways.append(np.linalg.norm(off[:, [character.roles["left_foot"], character.roles["right_foot"]], :2], axis=2))
    longest = np.array([way.max() for way in ways]) / character.leg_length
    assert longest[0] < 0.01
    assert longest[-1] > 0.15
    assert np.diff(longest).min() > -0.01
    assert np.diff(longest).max() < 0.08
    assert max(way[-1].max() for way in ways) < 0.01 * character.leg_length, "and all come home"


def shoved_standing(aside: float, ahead: float, seconds: float) -> tuple[SimulationResult, Array, Array]:
    """A figure that stands for so long and is shoved hard: its run, places of both feet, shape (S, 2, 3), and the
    horizontal direction from the right one to the left one.
    """
    motion, character = walk()
    feet = [character.roles["left_foot"], character.roles["right_foot"]]
    first = body_positions(character, motion_to_q(character, motion)[:1])[0, feet]
    across = (first[0] - first[1])[:2] / np.linalg.norm((first[0] - first[1])[:2])
    x, y = (2.4 * (aside * across + ahead * np.array([-across[1], across[0]]))).tolist()
    run = simulate(held(motion, 0, seconds), character, pushes=[shove(character, x=x, y=y)])
    return run, body_positions(character, run.q)[:, feet], across


def lifts(heights: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Frames in which a foot leaves the ground, and which one, by heights over where each stood [m], shape (S, 2)."""
    frames, feet = np.nonzero(np.diff((heights > 0.025).astype(int), axis=0) > 0)
    return frames, feet


@first_cases(2, "aside, ahead", [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])
def test_what_one_step_does_not_catch_takes_more(aside: float, ahead: float) -> None:
    """One foot went 65 cm at once, the other closed; home it went while a foot was in the air."""
    run, at, _ = shoved_standing(aside, ahead, 3.0)
    dt = run.report["dt"]
    frames, moved = lifts(at[:, :, 2] - at[0, :, 2])
    away = np.linalg.norm((run.q - run.reference_q)[:, :2], axis=1)
    begins = int(np.argmax(away))
    caught = moved[frames < begins]
    assert len(caught) >= (3 if aside else 2)
    assert (np.diff(caught) != 0).all(), "left, right, left"
    apart = at[:, 0, :2] - at[:, 1, :2] - (at[0, 0] - at[0, 1])[:2]
    assert np.linalg.norm(apart[:begins], axis=1).max() < 0.55, "none was 65 cm beyond the other"
    still = at[begins] - at[begins - 3]
    assert np.abs(still).max() / (3 * dt) < 0.1, "both feet stand when the way home begins"


@first_cases(2, "way", [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])
def test_a_figure_walks_home_with_feet_in_turn_that_do_not_cross(way: tuple[float, float]) -> None:
    """It lunged half a meter aside with one foot, and closed with the other. The way is aside and ahead."""
    run, at, across = shoved_standing(*way, 5.0)
    apart = (at[:, 0, :2] - at[:, 1, :2]) @ across
    assert apart.min() > 0.6 * apart[0]
    dt, away = run.report["dt"], np.linalg.norm((run.q - run.reference_q)[:, :2], axis=1)
    begins = int(np.argmax(away))
    home = at[begins:]
    frames, moved = lifts(home[:, :, 2] - at[0, :, 2])
    assert len(moved) >= 3
    assert (np.diff(moved) != 0).all(), "left, right, left"
    assert np.diff(frames).min() * dt > 0.35, "one after the other"
    assert (np.linalg.norm(np.diff(run.q[begins:, :2], axis=0), axis=1) / dt).max() < 0.9
    assert np.abs(home[-1] - at[0]).max() < 0.01


def test_a_walk_drifts_home_and_does_not_stretch_the_leg_that_is_left_behind() -> None:
    """It went home at 1 m/s with arms thrown out, and pulled at a straight leg with 2.2 times its weight."""
    motion, character = walk(4.5)
    for x, y in ((2.65, 0.0), (0.0, 2.65)):
        run = simulate(motion, character, pushes=[shove(character, 0.3, x=x, y=y)])
        assert run.report["events"][0]["outcome"] == "stepped"
        assert run.report["root_residual"]["force_max_N"] < 1.8 * 9.81 * character.mass
        off = (run.q - run.reference_q)[:, :2]
        speed = np.linalg.norm(np.diff(off, axis=0), axis=1) / run.report["dt"]
        late = round(1.6 / run.report["dt"])
        assert np.linalg.norm(off[late]) > 0.2, "it is still away"
        assert speed[late:].max() < 0.6


@first_cases(1, ("start", "y"), [(0.8, -800.0), (1.0, -800.0), (1.2, -800.0), (0.8, 600.0)])
def test_a_foot_that_its_hip_leaves_behind_is_let_go_before_the_leg_is_straight(start: float, y: float) -> None:
    """Held at its place at the end of a straight leg it pulled with 3 weights, and the knee snapped through."""
    motion, character = walk(4.5)
    run = simulate(motion, character, pushes=[Push("chest", force=(0.0, y, 0.0), start=start, duration=0.2)])
    assert run.report["root_residual"]["force_max_N"] < 9.81 * character.mass
    places, dt = body_positions(character, run.q), run.report["dt"]
    snaps = np.linalg.norm(np.diff(places, 2, axis=0), axis=2)[round((start + 0.25) / dt) :] / dt**2
    assert snaps.max() < 250.0


@pytest.mark.parametrize("x", [-2.0, 2.0])
def test_hips_sink_in_a_protective_step(x: float) -> None:
    character, dt, bodies = stepped(x, 0.0)
    _, _, stiff = stepped(x, 0.0, sinking=0.0)
    after = slice(round(0.5 / dt), round(0.8 / dt))  # the push is over and the first foot has landed
    assert bodies[after, 0, 2].mean() < stiff[after, 0, 2].mean() - 0.01 * character.leg_length


def test_a_trunk_hit_twice_as_hard_turns_less_than_twice_as_far_and_does_not_spring_back() -> None:
    motion, character = walk()
    pose = held(motion, 43, 1.5)

    def turn(weights: float) -> tuple[float, float]:
        turns: list[Array] = []

        def watch(live: Live) -> None:
            turns.append(live.figure.goal.turn[0].copy())

        simulate(pose, character, pushes=[Push("head", (-weights * 9.81 * character.mass, 0.0, 0.0), 0.2)], watch=watch)
        size = np.linalg.norm(turns, axis=1)
        way = turns[int(size.argmax())] / size.max()
        return float(size.max()), float(-(np.array(turns) @ way).min())

    (light, _), (hard, back) = turn(0.44), turn(0.88)
    assert hard < 1.5 * light
    assert back < 0.24 * hard


def test_a_foot_that_cannot_land_in_time_where_it_is_needed_lands_later() -> None:
    """A walk pushed late in a swing: soon after, one foot on the ground is near the capture point."""
    motion, c = walk(1.8)
    result = simulate(motion, c, pushes=[Push("chest", (0.0, -11.4 * c.mass, 0.0), 1.12, 0.2)])
    state, dt = State(model_of(c)), result.report["dt"]
    feet = np.array([p.part == "foot" for p in c.contact_points])
    k = round(1.5 / dt)
    com = np.array([state.at(q, np.zeros(c.nv)).com() for q in result.q[k - 1 : k + 2]])
    xi = com[1, :2] + (com[2] - com[0])[:2] / (2.0 * dt) / np.sqrt(9.81 / (com[1, 2] - c.floor))
    state.move_to(result.q[k], np.zeros(c.nv))
    state.touch()
    low = state.points[feet & (state.points[:, 2] - c.floor < 0.035 * c.leg_scale), :2]
    assert result.report["events"][0]["outcome"] == "stepped"
    assert np.linalg.norm(low - xi, axis=1).min() < 0.2 * c.leg_scale  # 0.45 where it lands in the clip's time


def test_a_foot_that_lands_later_comes_to_rest_before_it_is_down() -> None:
    """It moved along the ground until it was down: by 6.8 cm while it was lower than 3."""
    motion, c = walk(2.0)
    result = simulate(motion, c, pushes=[Push("chest", (0.0, -10.0 * c.mass, 0.0), 1.1, 0.2)])
    state, dt = State(model_of(c)), result.report["dt"]
    heels = [i for i, point in enumerate(c.contact_points) if point.name.startswith("RightFoot.heel")]
    places: list[Array] = []
    for q in result.q[round(1.35 / dt) : round(1.6 / dt)]:
        state.move_to(q, np.zeros(c.nv))
        state.touch()
        places.append(state.points[heels].copy())
    ways = np.array(places)
    for i in range(len(heels)):
        low = ways[ways[:, i, 2] - c.floor < 0.03 * c.leg_scale, i, :2]
        assert np.linalg.norm(low - low[-1], axis=1).max() < 0.058 * c.leg_scale  # 0.05


def test_a_push_after_the_end_is_told_in_python_too() -> None:
    clip = sample_clip("walk", 0.3)
    with pytest.warns(MotionWarning, match="'chest' starts at 9 s, but the clip ends at 0.3"):
        simulate(clip, pushes=[Push("chest", (0.0, 100.0, 0.0), start=9.0)])


def test_a_foot_that_steps_comes_down_where_it_is_although_the_goal_goes_on() -> None:
    """It went along with the goal until it stood, and skidded by 4 cm."""
    preset, dt = load_preset("recommended"), 0.01
    stepping = SteppingBack(preset.stepping, preset.protective, ((0,), (1,)), 1, 2, 1.0)
    offsets, flags = np.zeros((2, 3)), np.ones(2, dtype=np.bool_)
    seen = np.array([[1.0, 1.0, np.inf, 0.3], [1.0, 1.0, np.inf, 0.0]])
    places, lifts = [], []
    for k in range(100):
        step = stepping.advance(offsets, flags, seen, (0.3 + 0.3 * k * dt, 0.0), 0.0, dt)
        if step is None:
            break
        places.append(offsets[0, 0])
        lifts.append(step.lift[0])
    assert max(lifts) > 0.01
    assert places[-3] == places[-1], "before it is down it is over its place"
    assert offsets[0, 0] == places[-1]


def test_a_report_does_not_depend_on_how_many_frames_are_measured_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def told(at_once: int) -> dict[str, object]:
        monkeypatch.setattr(report, "FRAMES_AT_ONCE", at_once)
        clip, shove = sample_clip("walk", 1.5), Push("chest", force=(0.0, 1500.0, 0.0), start=0.4, duration=0.2)
        data = simulate(clip, pushes=[shove]).report.data
        assert data["fall"] is not None, "else nobody falls, and one of the cases is not tried"
        return {key: data[key] for key in ("contact", "root_residual", "per_frame", "fall")}

    many, one = told(64), told(1)
    assert one == many


def test_a_push_runs_out_along_a_tail() -> None:
    hound = sample_clip("quadruped").cut(0.0, 4.0)
    shoved = simulate(hound, pushes=[Push("Hips", (500.0, 0.0, 0.0), start=0.8, duration=0.2)])
    character = fit(hound)
    turned = joint_deviations(character, motion_to_q(character, hound), motion_to_q(character, shoved.motion))
    tail = [[body.name for body in character.bodies].index(name) for name in ("Tail", "Tail1", "Tail2")]
    peaks = turned[:, tail].argmax(axis=0) / 60.0
    assert turned[:, tail].max(axis=0).min() > 15.0  # it bends all along
    assert 0.06 < peaks[1] - peaks[0] < 0.2
    assert 0.06 < peaks[2] - peaks[1] < 0.2
    assert turned[-1, tail].max() < 1.0
