"""The filter on clips: exact when undisturbed, physical when pushed, honest about what it could not do."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.alive import scene
from benchmarks.recovery import standing

from poise.body import fit
from poise.body.posing import body_positions, joint_deviations, motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue, SimulationDiverged, UnknownName
from poise.core.motion import Motion
from poise.filter import targets
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import PointGoal, Pull, Push
from poise.filter.preset import load_preset
from poise.filter.quasi_physical import Attempt, Physicality, StepRecord, attempt
from poise.filter.report import SimulationResult
from poise.filter.setup import Options
from poise.filter.simulate import Live, simulate
from poise.io import load
from poise.terrain import Terrain
from tests.clips import MOTIONS, first_cases, needs_motions
from tests.filter_runs import clip, falling, turned, walk

Array = npt.NDArray[np.float64]

SHOVE = Push("chest", (300.0, 0.0, 0.0), start=0.3, duration=0.2)
"""0.44 body weights sideways to the walk, which goes along −y."""

REAL = (
    "asf_amc/02_01.amc",  # 120 Hz, hinges, two glitched frames
    "deepmimic/humanoid3d_spinkick.txt",  # hinge knees and elbows, in the air
    "deepmimic/humanoid3d_roll.txt",  # touches with everything
    "gltf/cesium_man.gltf",  # unequal frame times
    "nc/dog3d_pace.txt",  # four legs, 26 frames a second
    "bvh/accad/Female1_D6_CartWheel.bvh",  # on hands
)


def assert_exact(result: SimulationResult) -> None:
    """Nothing moved: 1e-9° and 1e-12 m, in coordinates and in the source's own frames; measured 1e-11° and 5e-14 m."""
    reference = motion_to_q(result.character, result.source.resampled(result.times))
    assert np.array_equal(reference, result.reference_q)
    assert joint_deviations(result.character, reference, result.q).max() <= 1e-9
    assert np.abs(result.q[:, :3] - reference[:, :3]).max() <= 1e-12
    assert result.motion.frame_count == result.source.frame_count
    assert np.degrees(rotations.angle_between(result.motion.rotations, result.source.rotations)).max() <= 1e-9
    assert np.abs(result.motion.translations - result.source.translations).max() <= 1e-12
    solver = result.report["solver"]
    assert solver["failures"] == 0
    assert all(count == 0 for name, count in solver["fallbacks"].items() if name != "glitch_carried")
    glitched = solver["fallbacks"]["glitch_carried"]
    assert solver["solves"] == len(result.times) - 1 - glitched
    assert result.report["contact"]["penetration_max_m"] <= 1e-9


def solved_steps(motion: Motion, look: Callable[[StepRecord], None], **arguments: object) -> SimulationResult:
    """A run whose every solved step is looked at while its state still holds."""
    seen = [0]

    def watch(live: Live) -> None:
        last = live.figure.last
        if last is not None and last.frame >= seen[0]:
            seen[0] = last.frame + 1
            look(last)

    result = simulate(motion, watch=watch, **arguments)  # type: ignore[arg-type]
    assert seen[0] > 0
    return result


# --- undisturbed


@first_cases(2, "name", ["walk", "quadruped", "hover_hop"])
def test_undisturbed_samples_come_back_exactly(name: str) -> None:
    assert_exact(simulate(*clip(name)))


@needs_motions
@first_cases(2, "name", REAL)
def test_undisturbed_clips_come_back_exactly(name: str) -> None:
    assert_exact(simulate(*clip(name)))


@pytest.mark.parametrize(
    "options",
    [
        Options(goal="none"),
        Options(goal="moving"),
        Options(goal_without=("left_hand", "right_hand", "head")),
        Options(physicality=Physicality(factor=5.0)),
        Options(physicality=Physicality(is_off=True)),
        Options(friction=0.3),
        Options(hard_contact=True),
        Options(readable=True),
    ],
    ids=["no goal", "moving goal", "goal without", "physicality 5", "off", "friction", "hard", "readable"],
)
def test_undisturbed_under_every_option(options: Options) -> None:
    motion, character = walk(0.7)
    assert_exact(simulate(motion, character, options=options))


def test_undisturbed_with_the_paper_s_preset_and_another_rate() -> None:
    motion, character = walk(0.7)
    assert_exact(simulate(motion, character, preset="paper", fps=120.0))
    assert_exact(simulate(motion, character, fps=100.0))


@pytest.mark.parametrize(
    "terrain",
    [
        pytest.param(Terrain.step(0.5, distance=50.0)),
        pytest.param(Terrain.stairs(0.2, 0.4, distance=50.0)),
        Terrain.platform([[0.0, 0.0, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0]]),
    ],
    ids=["step", "stairs", "platform at rest"],
)
def test_undisturbed_with_terrain_far_away(terrain: Terrain) -> None:
    """The branch for terrain runs, and finds the ground of the clip."""
    motion, character = walk(0.8)
    assert not terrain.is_flat
    assert_exact(simulate(motion, character, terrain=terrain))


def test_undisturbed_in_a_turned_world() -> None:
    motion, character = walk(0.7)
    assert_exact(simulate(turned(motion, 37.0), character))


def test_floor_that_is_not_where_it_is_thought_moves_nothing() -> None:
    motion, character = walk(0.7)
    result = simulate(motion, character, floor=character.floor - 0.3)
    assert_exact(result)
    assert result.report["ground_m"] == pytest.approx(character.floor - 0.3)


# --- disturbed


def test_a_shove_is_seen_and_fades() -> None:
    motion, character = clip("walk")
    result = simulate(motion.cut(0.0, 4.5), character, pushes=[SHOVE])
    event = result.report["events"][0]
    assert 0.05 <= event["com_excursion_max_m"] <= 0.20
    assert event["com_back_s"] <= 2.5
    assert event["joint_peak_deg"] > 2.0
    deviation = joint_deviations(character, result.reference_q, result.q)
    before = result.times <= SHOVE.start + 1e-9
    assert deviation[before].max() <= 1e-9
    assert deviation[-1].max() <= 1.0
    assert result.report["solver"]["failures"] == 0


def test_turning_the_world_turns_the_answer() -> None:
    """By right angles, which the four edges of a friction cone share with the world's axes."""
    motion, character = walk()
    force = np.array([260.0, 150.0, 20.0])
    plain = simulate(motion, character, pushes=[Push("chest", tuple(force), 0.3)])
    for degrees in (90.0, 180.0):
        turn = rotations.from_rotation_vector(np.array([0.0, 0.0, np.radians(degrees)]))
        push = Push("chest", tuple(rotations.rotate(turn, force)), 0.3)
        other = simulate(turned(motion, degrees), character, pushes=[push])
        assert joint_deviations(character, plain.reference_q, plain.q).max() > 2.0
        # rounding of the turned input, carried through 72 steps of a stable run
        assert np.abs(other.q[:, 7:] - plain.q[:, 7:]).max() <= 1e-7
        assert np.abs(other.q[:, :3] - rotations.rotate(turn, plain.q[:, :3])).max() <= 1e-7


@first_cases(1, "terrain", [None, Terrain.slope(15.0), Terrain.rough(0.2, 3)], ids=["flat", "slope", "rough"])
def test_fast_path_equals_the_readable_one_over_pushed_frames(terrain: Terrain | None) -> None:
    motion, character = walk(1.0)
    runs = [
        simulate(motion, character, terrain=terrain, pushes=[SHOVE], options=Options(readable=readable))
        for readable in (False, True)
    ]
    fast, plain = runs
    assert fast.report["solver"]["name"] == "active set"
    assert plain.report["solver"]["name"] == "daqp"
    moved = np.abs(plain.q - plain.reference_q).max()
    assert moved > 0.02
    assert np.abs(fast.q - plain.q).max() <= 1e-6 * moved
    for run in runs:
        assert run.report["solver"]["failures"] == 0
        assert run.report["solver"]["dual_residual_max"] <= 1e-6


def test_forces_balance_at_every_step_and_the_cones_hold() -> None:
    motion, character = walk(1.0)
    gravity = np.array([0.0, 0.0, -9.81])
    contacts: list[int] = []

    def look(last: StepRecord) -> None:
        step, result = last.step, last.result
        mass = step.state.mass(1)
        time = last.frame / 60.0
        push = np.array(SHOVE.force) if SHOVE.is_on(time) else np.zeros(3)
        acceleration = step.state.com_jacobian() @ result.a + step.state.com_bias()
        forces = result.forces.sum(axis=0) + result.torque[:3] + push + mass * gravity
        assert np.abs(mass * acceleration - forces).max() <= 1e-6
        assert np.abs(step.external).max() > 0.0 or not push.any()
        normal = np.einsum("ki,ki->k", result.forces, step.contacts.normals)
        tangent = np.linalg.norm(result.forces - normal[:, None] * step.contacts.normals, axis=1)
        assert (tangent <= 0.8 * normal + 1e-9).all()
        assert (result.coefficients >= 0.0).all()
        assert result.certificate.holds()
        contacts.append(step.contacts.count)

    solved_steps(motion, look, character=character, pushes=[SHOVE])
    assert max(contacts) >= 4


def test_strength_changes_the_reaction_and_not_the_clip() -> None:
    motion, character = walk(1.0)
    plain = simulate(motion, character, pushes=[SHOVE])
    for factor, least in ((0.05, 0.3), (20.0, 0.02)):
        bodies = tuple(replace(b, strength=factor * b.strength) for b in character.bodies)
        other = replace(character, bodies=bodies)
        assert_exact(simulate(motion, other))
        difference = joint_deviations(character, plain.q, simulate(motion, other, pushes=[SHOVE]).q)
        assert difference[plain.times <= SHOVE.start].max() <= 1e-9
        assert difference.max() > least


def test_the_path_of_a_shoved_figure_is_an_objective_and_before_the_shove_a_constraint() -> None:
    """Weighed, it spares the root a part of its largest force, 119 N; with a weight of 0 it is a constraint."""
    motion, character = walk()
    usual = load_preset("recommended")
    hard = replace(usual, weights=replace(usual.weights, goal=0.0))
    soft, firm = (simulate(motion, character, pushes=[SHOVE], preset=preset) for preset in (usual, hard))
    most, before_it = (run.report["root_residual"]["force_max_N"] for run in (soft, firm))
    assert most < 0.92 * before_it, "measured 0.87"
    assert soft.report["goal_error_max_m"] < 0.01
    before = soft.times <= SHOVE.start
    assert np.array_equal(soft.q[before], firm.q[before])


def test_goals_differ_in_what_they_let_a_shove_do() -> None:
    motion, character = walk()
    runs = {
        goal: simulate(motion, character, pushes=[SHOVE], options=Options(goal=goal))
        for goal in ("com-xy", "moving", "none", "auto")
    }
    excursion = {goal: run.report["events"][0]["com_excursion_max_m"] for goal, run in runs.items()}
    assert excursion["com-xy"] <= 0.005
    assert excursion["moving"] >= 0.04
    assert excursion["none"] >= 0.02
    assert np.array_equal(runs["auto"].q, runs["moving"].q)
    assert runs["com-xy"].report["goal_error_max_m"] <= 0.005
    assert runs["moving"].report["goal_error_max_m"] <= 0.01
    assert runs["none"].report["goal_error_max_m"] is None


def test_physicality_is_a_knob() -> None:
    """More of it: less help at the root while something pushes, and a larger reaction."""
    motion, character = walk()
    help_at_root: list[float] = []
    reaction: list[float] = []
    for knob in (Physicality(is_off=True), Physicality(0.2), Physicality(), Physicality(5.0)):
        result = simulate(motion, character, pushes=[SHOVE], options=Options(goal="com-xy", physicality=knob))
        force = np.array(result.report["per_frame"]["root_force_N"])
        pushed = (result.times >= 0.3 - 1e-9) & (result.times < 0.5 - 1e-9)
        help_at_root.append(float(np.sqrt(np.mean(force[pushed] ** 2))))
        reaction.append(result.report["deviation"]["joint_angle_max_deg"])
    # off, with the center of mass held, is the pose itself: the root takes the whole push
    assert help_at_root[0] == pytest.approx(300.0, abs=0.1)
    assert reaction[0] <= 1e-6
    assert help_at_root == sorted(help_at_root, reverse=True)
    assert reaction == sorted(reaction)
    assert help_at_root[-1] < 0.95 * help_at_root[-2]


def test_the_baseline_stays_in_bounds() -> None:
    motion, character = walk()
    for pushes in ([], [SHOVE]):
        result = simulate(motion, character, pushes=pushes, options=Options(engine="pd"))
        assert result.report["deviation"]["body_position_max_m"] < 1.0
        assert result.report["solver"]["failures"] == 0
        # rounding: torques of all joints are held, and NumPy's elimination of the worst step leaves 9e-7, too
        assert result.report["solver"]["dual_residual_max"] <= 5e-6


def test_strict_leaves_nothing_to_the_ghost() -> None:
    motion, character = walk(0.8)
    wrenches: list[float] = []
    options = Options(physicality=Physicality(is_strict=True))
    solved_steps(
        motion,
        lambda last: wrenches.append(float(np.abs(last.result.torque[:6]).max())),
        character=character,
        options=options,
    )
    assert max(wrenches) <= 1e-6


@needs_motions
def test_strict_walks_on_its_own_feet_to_the_end() -> None:
    """Its feet land by where the body goes; at the clip's own places they let it drift off and fall."""
    motion, character = clip("bvh/accad/Female1_B15_WalkTurnAround180.bvh")
    run = simulate(motion, character, options=Options(physicality=Physicality(is_strict=True)))
    off = (run.q - run.reference_q)[:, :3]
    assert np.linalg.norm(off[:, :2], axis=1).max() <= 0.15
    assert np.abs(off[:, 2]).max() <= 0.05


@pytest.mark.long
@needs_motions
def test_strict_walks_for_thirteen_seconds() -> None:
    """Asked back to its own way in the world, the center of mass went faster than a foot can stop, and it fell."""
    motion = load(MOTIONS / "bvh/cmu_3dsmax/143_32.bvh", fps=60.0)
    character = fit(motion)
    run = simulate(motion, character, options=Options(physicality=Physicality(is_strict=True)))
    off = (run.q - run.reference_q)[:, :3]
    assert np.linalg.norm(off[:, :2], axis=1).max() <= 0.5
    assert np.abs(off[:, 2]).max() <= 0.08


def test_a_hand_that_is_hit_gives_way_where_nobody_holds_the_root() -> None:
    """The arm was held as if nothing had hit it, 1° off its pose, and the whole body took the blow."""
    motion, character = walk(2.0)
    hand = character.body_index("left_hand")
    options = Options(physicality=Physicality(is_strict=True))
    run = simulate(motion, character, pushes=[Push("left_hand", (100.0, 0.0, 0.0), 0.8, 0.2)], options=options)
    away = np.diff(body_positions(character, run.q)[:, [0, hand]], axis=1)[:, 0]
    own = np.diff(body_positions(character, run.reference_q)[:, [0, hand]], axis=1)[:, 0]
    assert np.linalg.norm(away - own, axis=1).max() > 0.1
    assert run.report["events"][0]["outcome"] == "held"


def strictly_pushed(newtons: float, side: float) -> SimulationResult:
    """A figure that stands, its root held by nobody, pushed at the chest so far round from ahead to the left [deg]."""
    figure, angle = standing(scene("walk", 1), 4.0), np.radians(side)
    push = figure.force(newtons, np.cos(angle) * figure.ahead + np.sin(angle) * figure.aside)
    options = Options(physicality=Physicality(is_strict=True))
    return simulate(figure.motion, figure.character, pushes=[Push("chest", push, 0.5, 0.2)], options=options)


@first_cases(1, "side", [0.0, 90.0, 180.0, 270.0])
def test_strict_steps_where_its_body_would_come_to_rest(side: float) -> None:
    """Feet that stood in the clip never left the ground, and it toppled like a plank."""
    run = strictly_pushed(300.0, side)
    assert run.report["events"][0]["outcome"] == "stepped"
    assert (run.q - run.reference_q)[:, 2].min() > -0.15
    assert np.abs(run.q[-1] - run.q[-10]).max() < 0.05


@needs_motions
@first_cases(1, ("force", "second"), [((-275.0, 0.0), 0.9), ((200.0, 10.0), 1.2)])
def test_a_strict_walk_crosses_its_feet_to_catch_itself(force: tuple[float, float], second: float) -> None:
    """Nothing else can; it fell with its feet on one spot where the clip's steps were kept from crossing."""
    motion = load(MOTIONS / "bvh" / "cmu_motionbuilder" / "02_01.bvh")
    options = Options(physicality=Physicality(is_strict=True))
    run = simulate(motion, fit(motion), pushes=[Push("chest", (*force, 0.0), second, 0.2)], options=options)
    assert run.report["events"][0]["outcome"] == "stepped"


@first_cases(1, ("force", "side"), [(450.0, 90.0), (600.0, 180.0)])
def test_strict_gains_no_energy_where_it_falls_after_a_step(force: float, side: float) -> None:
    """The ground kicked the foot that was still in the air: 15 J in the first frame of each."""
    run = strictly_pushed(force, side)
    assert run.report["events"][0]["outcome"] == "fallen"
    assert run.report["fall"]["unexplained_rise_J"] < 5.0


@first_cases(1, "force", [900.0, -900.0])
def test_strict_falls_where_its_body_sinks_and_does_not_walk_on_while_it_lies(force: float) -> None:
    """It tumbled on for meters, legs walking in the air, until a rule for pushed figures said that it falls."""
    motion, character = walk(4.5)
    options = Options(physicality=Physicality(is_strict=True))
    run = simulate(motion, character, pushes=[Push("chest", (force, 0.0, 0.0), 1.0, 0.2)], options=options)
    assert run.report["events"][0]["outcome"] == "fallen"
    places = body_positions(character, run.q)
    height = places[:, [0, character.body_index("chest")], 2].max(axis=1) - character.floor
    down = int(np.argmax(height < 0.38))
    assert 0 < run.times[down] - 1.0 < 1.5
    assert np.linalg.norm(places[-1, 0, :2] - places[down, 0, :2]) < 1.0
    assert np.linalg.norm(places[-1] - places[-20], axis=1).max() < 0.05
    assert run.report["fall"]["unexplained_rise_J"] < 5.0


@first_cases(6, "role", sorted(walk()[1].roles))
def test_every_role_can_be_pushed(role: str) -> None:
    motion, character = walk(0.5)
    result = simulate(motion, character, pushes=[Push(role, (40.0, 30.0, 20.0), 0.1, 0.1)])
    event = result.report["events"][0]
    assert event["body"] == role
    assert event["joint_peak_deg"] > 0.01
    assert event["com_excursion_max_m"] < 0.1
    assert result.report["solver"]["failures"] == 0


def test_a_pull_brings_the_hand_nearer() -> None:
    motion, character = walk()
    hand = character.body_index("left_hand")
    places = body_positions(character, simulate(motion, character).q)[:, hand]
    point = places[-1] + np.array([0.4, 0.0, 0.3])
    pulled = simulate(motion, character, pushes=[Pull("left_hand", tuple(point), 300.0, start=0.2)])
    ends = body_positions(character, pulled.q)[:, hand]
    assert np.linalg.norm(ends[-1] - point) < np.linalg.norm(places[-1] - point) - 0.02


def test_a_push_from_python_while_it_runs() -> None:
    motion, character = walk(1.0)

    def watch(live: Live) -> None:
        if abs(live.time - 0.3) < 1e-9:
            live.push(Push("chest", SHOVE.force, live.time, 0.2))

    live, known = simulate(motion, character, watch=watch), simulate(motion, character, pushes=[SHOVE])
    # the push is not known before it comes, in neither
    assert np.array_equal(live.q, known.q)
    assert [e["start"] for e in live.report["events"]] == [pytest.approx(0.3)]


def test_stopping_a_run_keeps_what_is_done() -> None:
    motion, character = walk()
    result = simulate(motion, character, watch=lambda live: live.time < 0.5)
    assert not result.is_complete
    assert result.times[-1] == pytest.approx(0.5, abs=0.02)
    assert result.motion.frame_count == len(result.times)


def test_amount_only_and_freeze() -> None:
    motion, character = walk(1.0)
    whole = simulate(motion, character, pushes=[SHOVE])
    assert np.array_equal(simulate(motion, character, pushes=[SHOVE], amount=0.0).q, whole.reference_q)
    half = joint_deviations(character, whole.reference_q, simulate(motion, character, pushes=[SHOVE], amount=0.5).q)
    full = joint_deviations(character, whole.reference_q, whole.q)
    assert np.allclose(half, 0.5 * full, atol=1e-6)
    head = character.body_index("head")
    frozen = simulate(motion, character, pushes=[SHOVE], freeze=["head"])
    assert joint_deviations(character, whole.reference_q, frozen.q)[:, head].max() <= 1e-9 < full[:, head].max()
    only = joint_deviations(character, whole.reference_q, simulate(motion, character, pushes=[SHOVE], only=["head"]).q)
    assert np.allclose(only[:, head], full[:, head], atol=1e-9)
    assert np.delete(only, head, axis=1).max() <= 1e-9


# --- closed form


def test_free_fall_with_a_shove_is_a_parabola() -> None:
    """Strict and without a goal, in the air: nothing but gravity and the push moves the center of mass."""
    motion, character = walk()
    drop = falling(motion, height=6.0, seconds=0.7)
    options = Options(goal="none", physicality=Physicality(is_strict=True))
    push = Push("pelvis", (90.0, 40.0, 0.0), 0.1, 0.1)
    momentum: list[Array] = []

    def look(last: StepRecord) -> None:
        state, a = last.step.state, last.result.a
        acceleration = state.com_jacobian() @ a + state.com_bias()
        pushed = np.array(push.force) if push.is_on(last.frame / 60.0) else np.zeros(3)
        expected = np.array([0.0, 0.0, -9.81]) + pushed / character.mass
        assert np.abs(acceleration - expected).max() <= 1e-9
        assert last.step.contacts.count == 0
        momentum.append(state.data.angular_momentum(1))

    result = solved_steps(drop, look, character=character, options=options, pushes=[push])
    com = np.array(result.report["per_frame"]["com_m"])[:-1]
    t = result.times[: len(com)]
    impulse = np.array(push.force) * push.duration / character.mass
    after = t >= 0.25
    drift = com[after] - com[after][0]
    fall = t[after] - t[after][0]
    # the run's first velocity is the mean of its first interval, and the step is semi-implicit
    k, dt = np.arange(len(com)), 1.0 / 60.0
    parabola = -0.5 * 9.81 * dt**2 * k - 9.81 * dt**2 * k * (k + 1) / 2
    # what is left is the curvature of the joints' own way within a step
    assert np.abs(drift[:, :2] - fall[:, None] * impulse[:2]).max() <= 0.005
    assert np.abs(com[:, 2] - com[0, 2] - parabola).max() <= 0.005
    spin = np.array(momentum)[after[: len(momentum)]]
    assert np.abs(spin - spin[0]).max() <= 0.02 * np.abs(spin).max() + 1e-6


# --- what cannot be solved, and what should not be


def glitched(motion: Motion, joint: str, frame: int) -> Motion:
    """One joint turned by a right angle in one frame."""
    bad = motion.rotations.copy()
    j = motion.skeleton.index(joint)
    turn = rotations.from_rotation_vector(np.array([0.0, np.pi / 2, 0.0]))
    bad[frame, j] = rotations.multiply(bad[frame, j], turn)
    return replace(motion, rotations=bad, source=None)


def test_glitched_frames_are_carried_counted_and_still_exact() -> None:
    motion, character = walk()
    elbow = character.bodies[character.body_index("left_elbow")].name
    bad = glitched(motion, elbow, 45)
    result = simulate(bad, character)
    assert_exact(result)
    count = result.report["solver"]["fallbacks"]["glitch_carried"]
    assert 2 <= count <= 8
    assert 1 <= result.report["contact"]["glitch_frames"] <= count
    assert result.report["solver"]["failures"] == 0


def test_a_length_of_a_leg_from_numpy_does_not_end_a_strict_run(monkeypatch: pytest.MonkeyPatch) -> None:
    motion, character = walk()
    monkeypatch.setattr(targets, "SUNK", np.float64(targets.SUNK))
    options = Options(physicality=Physicality(is_strict=True))
    assert len(simulate(motion.cut(0.0, 0.3), character, options=options).q) > 10


def test_a_deviation_is_carried_through_glitched_frames() -> None:
    motion, character = walk()
    elbow = character.bodies[character.body_index("left_elbow")].name
    shoved = simulate(glitched(motion, elbow, 45), character, pushes=[SHOVE])
    clean = simulate(motion, character, pushes=[SHOVE])
    deviation = joint_deviations(character, shoved.reference_q, shoved.q).max(axis=1)
    usual = joint_deviations(character, clean.reference_q, clean.q).max(axis=1)
    assert shoved.report["solver"]["fallbacks"]["glitch_carried"] >= 2
    assert deviation[44:60].max() <= 1.5 * usual[44:60].max()
    # it fades over the bad frames, by the preset's half-life
    assert deviation[48] == pytest.approx(deviation[43] * 0.5 ** (5.0 / 60.0 / 0.1), rel=0.05)


def test_a_push_that_falls_on_glitches_alone_is_said_to_be_lost() -> None:
    motion, character = walk()
    elbow = character.bodies[character.body_index("left_elbow")].name
    bad, at = glitched(motion, elbow, 45), float(motion.times[45])
    short = Push("chest", force=(300.0, 0.0, 0.0), start=at, duration=0.017)
    event = simulate(bad, character, pushes=[short]).report["events"][0]
    assert not event["is_felt"]
    assert event["glitched_s"] > 0.0
    assert event["com_back_s"] is None
    between = simulate(bad, character, pushes=[replace(short, start=at + 0.004, duration=0.008)]).report["events"][0]
    assert not between["is_felt"], "it begins and ends within one step"
    partly = simulate(bad, character, pushes=[replace(short, start=at - 0.1, duration=0.2)]).report["events"][0]
    assert partly["is_felt"]
    assert 0.0 < partly["glitched_s"] < partly["duration"]
    whole = simulate(motion, character, pushes=[short]).report["events"][0]
    assert whole["is_felt"]
    assert whole["glitched_s"] == 0.0


@needs_motions
def test_a_clip_that_begins_with_glitches_stands_up_in_its_first_true_pose() -> None:
    """Stood up in its T-pose, the feet of the next pose are deep in the slope, and the ground throws it up 30 cm."""
    motion, character = clip("bvh/cmu_daz/05_20-daz.bvh")
    result = simulate(motion, character, terrain=Terrain.slope(20.0), watch=lambda live: live.time < 0.5)
    assert result.report["solver"]["fallbacks"]["glitch_carried"] >= 5  # the T-pose and the jump from it
    rise = (result.q - result.reference_q)[:, 2]
    assert rise.min() > 0.0
    assert rise.max() < 0.15
    assert result.report["contact"]["penetration_max_m"] < 0.03


def test_goals_that_conflict_are_softened_and_counted() -> None:
    motion, character = walk(0.5)
    hand = body_positions(character, motion_to_q(character, motion))[20, character.body_index("left_hand")]
    goals = tuple(PointGoal("left_hand", hand + np.array([0.0, 0.0, up]), start=0.2) for up in (0.2, 0.1))
    result = simulate(motion, character, options=Options(goal_points=goals))
    solver = result.report["solver"]
    late = int((result.times[:-1] >= 0.2 - 1e-9).sum())
    assert solver["fallbacks"]["goal_soft"] == late == solver["failures"]
    assert solver["fallbacks"]["carried"] == 0
    assert sum(solver["conflicts"].values()) == late
    assert all("goal of left_hand" in names for names in solver["conflicts"])
    far = PointGoal("left_hand", (5.0, 0.0, 1.0), start=0.2)
    beyond = simulate(motion, character, options=Options(goal_points=(far,))).report["solver"]
    assert beyond["conflicts"] == {"goal of left_hand: out of reach": late}
    assert beyond["failures"] == 0


def test_goals_that_say_the_same_twice_are_solved_by_the_full_program() -> None:
    motion, character = walk(0.5)
    goals = tuple(PointGoal("left_hand", (0.3, -0.2, 1.1), start=0.2) for _ in range(2))
    twice = simulate(motion, character, options=Options(goal_points=goals))
    once = simulate(motion, character, options=Options(goal_points=goals[:1]))
    solver = twice.report["solver"]
    assert solver["fallbacks"]["daqp"] == int((twice.times[:-1] >= 0.2 - 1e-9).sum())
    assert solver["fallbacks"]["goal_soft"] == 0
    assert np.abs(twice.q - once.q).max() <= 1e-6


def test_two_steps_without_an_answer_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """No list of the filter is known that has no answer once it is softened, so the solver is told to fail."""
    motion, character = walk(0.5)
    failing, begin = set[int](), SimulatedCharacter.begin
    calls = itertools.count()

    def failed(*args: Any, **kwargs: Any) -> Attempt:
        return Attempt(None, "none") if next(calls) in failing else attempt(*args, **kwargs)

    monkeypatch.setattr("poise.filter.filter.attempt", failed)
    monkeypatch.setattr(SimulatedCharacter, "begin", lambda self, now: begin(self, now) and False)
    failing.add(3)
    once = simulate(motion, character)
    assert once.report["solver"]["fallbacks"]["carried"] == 1
    assert np.abs(once.q - simulate(motion, character).q).max() <= 1e-9, "nothing pushed it"
    calls = itertools.count()
    failing.add(4)
    with pytest.raises(SimulationDiverged, match="two steps in a row") as caught:
        simulate(motion, character)
    assert caught.value.frame == 4


def test_weights_that_leave_the_joints_free_are_refused() -> None:
    weights = load_preset("recommended").weights
    assert replace(weights, pose=0.0).joint_torque > 0.0
    with pytest.raises(InvalidValue, match="nothing determines the joints"):
        replace(weights, pose=0.0, joint_torque=0.0)


def test_a_hand_held_while_shoved() -> None:
    motion, character = walk()
    hand = character.body_index("left_hand")
    still = simulate(motion, character)
    rail = tuple(body_positions(character, still.q)[30, hand])
    goal = PointGoal("left_hand", rail, start=0.0)
    result = simulate(motion.cut(0.0, 1.0), character, pushes=[SHOVE], options=Options(goal_points=(goal,)))
    ends = body_positions(character, result.q)[:, hand]
    assert np.linalg.norm(ends[-1] - rail) <= 0.01
    assert result.report["solver"]["fallbacks"]["goal_soft"] == 0
    path = PointGoal("left_hand", lambda t: np.array(rail) + np.array([0.0, 0.1 * t, 0.0]), is_hard=False)
    moved = simulate(motion.cut(0.0, 1.0), character, options=Options(goal_points=(path,)))
    assert np.linalg.norm(body_positions(character, moved.q)[-1, hand] - path.place(1.0)) <= 0.15


def test_hard_contact_keeps_points_out_of_the_ground() -> None:
    motion, character = walk(1.0)
    hard = simulate(motion, character, terrain=Terrain.slope(10.0), options=Options(hard_contact=True))
    assert hard.report["contact"]["penetration_max_m"] <= 0.01


def test_rates_at_which_the_gains_are_unstable_are_refused() -> None:
    motion, character = walk(0.5)
    with pytest.raises(InvalidValue, match="unstable"):
        simulate(motion, character, fps=20.0)
    with pytest.raises(InvalidValue, match="rate above 0"):
        simulate(motion, character, fps=0.0)


@pytest.mark.parametrize(
    "broken",
    [
        lambda: Push("chest", (np.nan, 0.0, 0.0)),
        lambda: Push("chest", (1.0, 0.0, 0.0), start=np.inf),
        lambda: Push("chest", (1.0, 0.0, 0.0), duration=0.0),
        lambda: Pull("chest", (0.0, 0.0, 0.0), stiffness=-1.0),
        lambda: simulate(*walk(0.5), amount=1.5),
        lambda: simulate(*walk(0.5), options=Options(goal_points=(PointGoal("head", lambda t: np.full(3, np.nan)),))),
        lambda: simulate(*walk(0.5), options=Options(friction=-0.1)),
        lambda: simulate(*walk(0.5), options=Options(goal="sideways")),
        lambda: simulate(*walk(0.5), options=Options(engine="magic")),
        lambda: simulate(*walk(0.5), options=Options(physicality=Physicality(-1.0))),
        lambda: simulate(*walk(0.5), options=Options(physicality=Physicality(np.nan))),
    ],
)
def test_arguments_that_make_no_sense_are_refused(broken: Callable[[], object]) -> None:
    with pytest.raises(InvalidValue):
        broken()


def test_bodies_that_are_not_there_are_refused() -> None:
    with pytest.raises(UnknownName, match="wing"):
        simulate(*walk(0.5), pushes=[Push("wing", (1.0, 0.0, 0.0))])
    with pytest.raises(UnknownName, match="wing"):
        simulate(*walk(0.5), options=Options(goal_points=(PointGoal("wing", (0.0, 0.0, 1.0)),)))
