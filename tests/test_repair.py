"""`repair`: its derivatives against central differences, its solver against a dense one, and what it promises."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import BSpline
from typer.testing import CliRunner

import poise
from poise.analysis import analyze
from poise.analysis.forces import gaps_to
from poise.analysis.momentum import body_motion, center_of_mass
from poise.analysis.smoothing import LowPass
from poise.body.character import Character, fit
from poise.body.posing import root_mover
from poise.check import air
from poise.check.clip import REPAIRED, findings_of
from poise.cli.app import run
from poise.core import rotations
from poise.core.errors import BudgetExceeded, FileFormatError, InvalidValue, UnknownName
from poise.core.motion import Ground, Motion, Source
from poise.core.typing import Array, Flags
from poise.edit import Budget, FlightChange, Scope, ballistic, load_touches, mend, repair, spin
from poise.edit.direct import directed, flight_notes
from poise.edit.flight import Figure as Flier
from poise.edit.flight import find_flights
from poise.edit.mend import Cures
from poise.edit.repair import NEAR_ENDS, SEAM_STAYS, left_of, measures
from poise.edit.report import Changes, report_of
from poise.edit.touches import flags_of
from poise.goals.surroundings import Hold, Movement, Scene, Surface
from poise.phases.floor import start_of
from poise.phases.travel import direction_of_travel, find_loop, repeat, with_rounds
from poise.show.arrays import read_recording
from poise.show.motion_scene import scene_of_edit
from poise.show.recording import record
from poise.spacetime import balance, search, style
from poise.spacetime.balance import Problem, cost, look, problem_of
from poise.spacetime.figure import Figure, carry, demand, demand_rows, exp_matrix, right_jacobian
from poise.spacetime.search import improve
from poise.spacetime.spline import Spline, fades, solve_band, solve_loop
from poise.spacetime.style import LEAST_CHANGE
from poise.synthesis import synthesize
from poise.terrain import Terrain
from tests.chromium import launched, needs_browser, opened
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip


def loaded(frames: int = 40) -> tuple[Motion, Character]:
    """The sample's first frames."""
    motion = sample_clip("walk")
    character = Character.fit(motion)
    kept = replace(
        motion, times=motion.times[:frames], translations=motion.translations[:frames],
        rotations=motion.rotations[:frames], source=None,
    )  # fmt: skip
    return kept, character


def shaken(motion: Motion, size: float, hertz: float = 3.0) -> Motion:
    """The motion with its root carried to and fro."""
    moved = motion.translations.copy()
    moved[:, 0, 0] += size * np.sin(2.0 * np.pi * hertz * motion.times)
    return replace(motion, translations=moved)


@pytest.fixture(scope="module")
def walk() -> tuple[Motion, Character]:
    """A walk that needs a repair."""
    motion, character = loaded()
    return shaken(motion, 0.006), character


def test_the_six_rows_have_the_derivatives_of_central_differences(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    figure = Figure.of(character, body_motion(motion, character, LowPass(math.inf)))
    random = np.random.default_rng(1)
    frames, points = motion.frame_count, len(character.contact_points)
    x = 0.05 * random.normal(size=(frames, figure.size))
    pushes = 100.0 * random.normal(size=(frames - 2, points, 3))

    def rows(offsets: np.ndarray) -> np.ndarray:
        pose = figure.pose(offsets)
        wanted = demand(figure, pose, 9.81)
        arms = pose.points[1:-1] - pose.com[1:-1, None]
        return np.concatenate(
            [wanted.force - pushes.sum(axis=1), wanted.moment - np.cross(arms, pushes).sum(axis=1)], axis=1
        )

    pose = figure.pose(x)
    given = demand_rows(figure, pose, demand(figure, pose, 9.81), slice(0, frames - 2), pushes)
    step, k = 1e-4, 20
    for lag, columns in zip((-1, 0, 1), given):
        scale = np.abs(columns[k]).max()
        for n in range(0, figure.size, 5):
            high, low = x.copy(), x.copy()
            high[k + 1 + lag, n] += step
            low[k + 1 + lag, n] -= step
            seen = (rows(high)[k] - rows(low)[k]) / (2.0 * step)
            # the differences themselves are good to (step)² times a third derivative
            assert np.abs(seen - columns[k, :, n]).max() < 1e-6 * scale


def test_contact_points_move_as_their_rows_say(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    figure = Figure.of(character, body_motion(motion, character, LowPass(math.inf)))
    x = 0.1 * np.random.default_rng(2).normal(size=(motion.frame_count, figure.size))
    rows, step = figure.point_rows(figure.pose(x), slice(0, motion.frame_count), 3), 1e-5
    for n in range(0, figure.size, 3):
        high, low = x.copy(), x.copy()
        high[:, n] += step
        low[:, n] -= step
        seen = (figure.pose(high).points[:, 3] - figure.pose(low).points[:, 3]) / (2.0 * step)
        assert np.abs(seen - rows[:, :, n]).max() < 1e-7


def test_the_moment_of_a_spinning_body_is_that_of_euler() -> None:
    """One free body: dL/dt = I ω̇ + ω × I ω, against second differences of its matrices."""
    dt, count = 1e-3, 5
    inertia = np.diag([0.2, 0.5, 0.6])
    second = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    spin, rate = np.array([1.0, -2.0, 0.7]), np.array([3.0, 1.0, -2.0])
    times = dt * np.arange(count, dtype=np.float64)
    at = times - times[2]
    vectors = at[:, None] * spin + 0.5 * at[:, None] ** 2 * rate
    figure = Figure(
        times, np.zeros((count, 3)), np.broadcast_to(np.eye(3), (count, 1, 3, 3)).copy(), np.zeros((count, 1, 3)),
        np.array([-1]), np.array([4.0]), np.zeros((1, 3)), second[None], np.array([3]), np.zeros((1, 3)),
        np.array([False]), 6, np.zeros(0, dtype=np.int64), np.zeros((0, 3)),
    )  # fmt: skip
    x = np.concatenate([np.zeros((count, 3)), vectors], axis=1)
    seen = demand(figure, figure.pose(x), 9.81)
    assert np.allclose(seen.force, [0.0, 0.0, 4.0 * 9.81])
    # at the middle frame the body lies as it is, with ω = spin and ω̇ = rate
    assert np.allclose(seen.moment[1], inertia @ rate + np.cross(spin, inertia @ spin), atol=1e-4)


def test_the_right_jacobian_is_the_derivative_of_the_exponential() -> None:
    random = np.random.default_rng(3)
    for vector in (random.normal(size=3), 1e-3 * random.normal(size=3), np.zeros(3)):
        for axis in np.eye(3):
            step = 1e-6
            turn = exp_matrix(vector).T @ exp_matrix(vector + step * axis)
            seen = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / (2 * step)
            assert np.allclose(seen, right_jacobian(vector) @ axis, atol=1e-5)


def test_the_spline_is_the_library_s() -> None:
    spline = Spline.over(0.0, 1.0, 0.13)
    random = np.random.default_rng(4)
    coefficients, times = random.normal(size=(spline.count, 2)), np.linspace(0.0, 1.0, 57)
    knots = spline.start + spline.spacing * (np.arange(spline.count + 4) - 3)
    other = BSpline(knots, coefficients, 3)
    assert np.allclose(spline.evaluate(coefficients, times), other(times), atol=1e-9)
    first = spline.first(times)
    bends = sum(spline.values(times, 2)[:, k, None] * coefficients[first + k] for k in range(4))
    assert np.allclose(bends, other(times, nu=2), atol=1e-6)


def test_what_a_spline_costs_beyond_its_ends_is_the_least_cost_of_fading_out() -> None:
    spline, s, dt = Spline.over(0.0, 1.0, 0.06), 0.05, 5e-4
    first, squares = fades(spline, np.array([0.0, 1.0]), s)
    some = np.random.default_rng(4).normal(size=spline.count)
    for e, (time, away) in enumerate(((0.0, -1.0), (1.0, 1.0))):
        c = some[first[e] : first[e] + 4]
        x = float(spline.values(np.array([time]))[0] @ c)
        v = away * float(spline.values(np.array([time]), 1)[0] @ c)
        # values every dt over ten times s, the first two of them given, with the least Σ dt (x² + (s² x'')²)
        count = 1000
        rows = np.sqrt(dt) * np.concatenate([np.eye(count), s**2 / dt**2 * np.diff(np.eye(count), n=2, axis=0)])
        given = rows[:, :2] @ [x, x + dt * v]
        rest = np.linalg.lstsq(rows[:, 2:], -given, rcond=None)[0]
        assert float(np.sum((rows[:, 2:] @ rest + given) ** 2)) == pytest.approx(float(c @ squares[e] @ c), rel=0.02)


@pytest.mark.parametrize("span", [5, 6])
def test_the_band_solver_is_a_dense_one(span: int) -> None:
    random = np.random.default_rng(5)
    count, size = 13, 3
    rows = np.zeros((count, 9, (count + span - 1) * size))
    for first in range(count):
        rows[first, :, first * size : (first + span) * size] = random.normal(size=(9, span * size))
    flat = rows[..., : count * size].reshape(-1, count * size)
    dense, gradient = flat.T @ flat, flat.T @ random.normal(size=len(flat))
    H = np.zeros((count, span, size, size))
    for c in range(count):
        for d in range(min(span, count - c)):
            H[c, d] = dense[(c + d) * size : (c + d + 1) * size, c * size : (c + 1) * size]
    free = np.ones(count, dtype=np.bool_)
    free[[0, 6]] = False
    kept = np.repeat(free, size)
    wanted = np.zeros(count * size)
    wanted[kept] = -np.linalg.solve(dense[np.ix_(kept, kept)], gradient[kept])
    assert np.allclose(solve_band(H, gradient.reshape(count, size), free).ravel(), wanted, atol=1e-8)


@first_cases(1, "fps", [16.0, 30.0, 60.0])
def test_the_step_begins_with_the_derivatives_of_the_cost(fps: float, monkeypatch: pytest.MonkeyPatch) -> None:
    motion, character = loaded(37)
    clip = replace(motion, times=np.arange(motion.frame_count) / fps)
    # without the ridge that spreads the load, the projected forces are those of least cost
    monkeypatch.setattr("poise.spacetime.figure.RIDGE", 1e-8)
    problem = problem_of(analyze(clip, character))
    seen = improve(problem, look(problem, np.zeros((problem.spline.count, problem.figure.size))), 10.0, problem.price)
    gradients: list[Array] = []

    def solved(H: Array, gradient: Array, is_free: Flags) -> Array:
        gradients.append(gradient)
        return np.zeros_like(gradient)

    monkeypatch.setattr("poise.spacetime.search.solve_band", solved)
    improve(problem, seen, 100.0, problem.price)
    used, step = np.flatnonzero(problem.is_used), 1e-5
    for c in (0, 1, 5, problem.spline.count - 2, problem.spline.count - 1):
        for n in (1, 5, 20):
            change = np.zeros_like(seen.coefficients)
            change[c, used[n]] = step
            costs = [
                cost(problem, look(problem, seen.coefficients + s * change), 100.0, problem.price) for s in (1, -1)
            ]
            assert gradients[0][c, n] == pytest.approx((costs[0] - costs[1]) / (4.0 * step), rel=1e-3, abs=1e-3)


def test_a_loop_is_solved_as_a_dense_system_with_ties() -> None:
    rng = np.random.default_rng(5)
    count, size, lag, span = 9, 2, 5, 5
    whole = np.zeros((count * size, count * size))
    for c in range(count - span + 1):  # squares of rows that see span coefficients each
        rows = rng.normal(size=(12, span * size))
        whole[c * size : (c + span) * size, c * size : (c + span) * size] += rows.T @ rows
    H = np.zeros((count, span, size, size))
    for c in range(count):
        for d in range(min(span, count - c)):
            H[c, d] = whole[(c + d) * size : (c + d + 1) * size, c * size : (c + 1) * size]
    gradient, turn = rng.normal(size=(count, size)), np.array([[0.0, -1.0], [1.0, 0.0]])
    y = solve_loop(H, gradient, np.ones(count, dtype=np.bool_), turn, lag)
    np.testing.assert_allclose(y[lag:], y[: count - lag] @ turn.T, atol=1e-9)
    free = np.eye(lag * size)  # the first round alone decides
    tied = np.concatenate([free, np.kron(np.eye(count - lag), turn) @ free[: (count - lag) * size]])
    expected = np.linalg.solve(tied.T @ whole @ tied, -tied.T @ gradient.ravel())
    np.testing.assert_allclose(y[:lag].ravel(), expected, atol=1e-9)


def test_offsets_of_drawn_clips_may_change_from_frame_to_frame() -> None:
    motion, character = loaded(37)
    for fps, spacing in ((60.0, 0.06), (24.0, 0.06), (12.0, 1.0 / 12.0)):
        problem = problem_of(analyze(replace(motion, times=np.arange(motion.frame_count) / fps), character))
        assert problem.spline.spacing == pytest.approx(spacing, rel=0.06)
        assert problem.windows[1].shape[-1] == (5 if fps > 40.0 else 6)


@pytest.mark.long
def test_a_loop_is_solved_with_a_knot_in_each_frame() -> None:
    walk = sample_clip("walk")
    some = slice(12, 144, 4)
    clip = replace(
        walk, times=np.arange(33) / 16.0, translations=walk.translations[some], rotations=walk.rotations[some],
        source=None,
    )  # fmt: skip
    loop = find_loop(clip)
    assert loop.is_loop
    assert not loop.repeats_first
    edited = repair(clip, verify=False)
    assert edited.report["chosen"]
    assert SEAM_STAYS not in edited.report["notes"]  # it went round, and no frame sees its outermost coefficients
    assert left_of(edited.report["after"]) < 0.5 * left_of(edited.report["before"])


@pytest.mark.long
@needs_motions
def test_a_loop_stays_a_loop_and_its_seam_is_mended() -> None:
    motion = poise.load(MOTIONS / "gltf" / "cesium_man.gltf")
    loop = find_loop(motion)
    rounds = with_rounds(motion, loop, 6)
    twice = repeat(motion, 2, blend=0.0)
    np.testing.assert_allclose(rounds.translations[6:], twice.translations[: rounds.frame_count - 6], atol=1e-12)
    np.testing.assert_allclose(rounds.times[6:], twice.times[: rounds.frame_count - 6], atol=1e-12)
    edited = repair(motion, verify=False)
    assert edited.report["after"]["force_rms"] < 0.3 * edited.report["before"]["force_rms"]
    assert any("It goes on the spot: force and moment are those of going at" in n for n in edited.report["notes"])
    ends = edited.motion.rotations[[0, -1]]
    assert float(rotations.angle_between(ends[0], motion.rotations[0]).max()) > 1e-3  # they change, and both alike
    assert float(rotations.angle_between(ends[0], ends[1]).max()) < 1e-6
    kept = repair(motion, exact=[0, motion.frame_count - 1], verify=False).motion
    assert np.array_equal(kept.rotations[[0, -1]], motion.rotations[[0, -1]])


@needs_motions
def test_a_seam_is_mended_where_keeping_the_ends_would_leave_more_over_three_rounds() -> None:
    motion = poise.load(MOTIONS / "gltf" / "cesium_man.gltf")
    turned, share = motion.rotations.copy(), np.clip((np.arange(motion.frame_count) - motion.frame_count + 4) / 3, 0, 1)
    for j in range(1, turned.shape[1]):  # a kink of 2° at the seam
        kink = rotations.from_rotation_vector(share[:, None] * np.radians(2.0) * np.array([(-1.0) ** j, 0.0, 0.0]))
        turned[:, j] = rotations.multiply(turned[:, j], kink)
    clip = replace(motion, rotations=turned, source=None)
    loop, last = find_loop(clip), clip.frame_count - 1
    assert loop.is_loop
    character = Character.fit(clip)
    edited = repair(clip, character, verify=False)
    assert not any("ends of the loop stay" in note for note in edited.report["notes"])
    floor = analyze(clip, character).floor
    seen = measures(analyze(with_rounds(edited.motion, loop, last - 1), character, floor=floor))
    after = edited.report["after"]
    assert {k: after[k] for k in seen} == pytest.approx(seen)
    assert left_of(seen) < 0.5 * left_of(edited.report["before"])


@pytest.mark.long
def test_the_ends_of_a_loop_stay_where_mending_its_seam_would_leave_more(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sample_clip("walk")
    clip = whole.cut(float(whole.times[12]), float(whole.times[143]))
    assert find_loop(clip).is_loop
    left = iter((1.0, 1.0, 0.0))  # with the seam mended, before, and with the ends kept
    monkeypatch.setattr(sys.modules["poise.edit.repair"], "left_of", lambda measured: next(left))
    edited = repair(clip, verify=False)
    assert SEAM_STAYS in edited.report["notes"]
    np.testing.assert_allclose(edited.motion.rotations[[0, -1]], clip.rotations[[0, -1]], atol=1e-9)
    assert edited.report["after"]["joint_change_max_deg"] > 0.1


def test_a_standing_figure_is_carried_and_a_flying_one_is_not() -> None:
    weight = np.array([[0.0, 0.0, 700.0, 0.0, 0.0, 0.0]] * 2)
    arms = np.array([[[0.1, 0.1, -1.0], [-0.1, 0.1, -1.0], [0.1, -0.1, -1.0], [-0.1, -0.1, -1.0]]] * 2)
    normals = np.broadcast_to([0.0, 0.0, 1.0], arms.shape)
    may = np.array([[True] * 4, [False] * 4])
    seen = carry(weight, arms, normals, may, 0.8, np.ones(6))
    assert np.abs(seen.left[0]).max() < 1.0
    assert np.allclose(seen.forces[0].sum(axis=0), weight[0, :3], atol=1.0)
    assert np.allclose(seen.left[1], weight[1])
    assert not seen.forces[1].any()


def test_a_step_makes_the_cost_smaller(walk: tuple[Motion, Character]) -> None:
    problem = problem_of(analyze(*walk))
    start = look(problem, np.zeros((problem.spline.count, problem.figure.size)))
    better = improve(problem, start, 100.0, problem.price)
    assert cost(problem, better, 100.0, problem.price) < 0.5 * cost(problem, start, 100.0, problem.price)


def test_a_repair_leaves_less_force_and_moment_and_keeps_its_budget(walk: tuple[Motion, Character]) -> None:
    budget = Budget.parse("joint 2deg, root 1cm")
    edited = repair(*walk, budget=budget)
    before, after = edited.report["before"], edited.report["after"]
    assert after["force_rms"] < 0.6 * before["force_rms"]
    assert after["moment_rms_Nm"] < 0.6 * before["moment_rms_Nm"]
    assert 0.0 < after["joint_change_max_deg"] <= 2.0 * (1 + 1e-9)
    assert 0.0 < after["root_change_max_m"] <= 0.01 * (1 + 1e-9)
    lefts = [point["force_rms"] for point in edited.report["curve"]]
    assert len(lefts) > 2
    assert lefts[-1] < lefts[0]


def test_limbs_and_joints_have_budgets_of_their_own(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    text = "joint 2deg, root 1cm, left_arm 0.3deg, head 0deg, right_arm 4deg"
    edited = repair(motion, character, budget=Budget.parse(text), verify=False)
    most = edited.report["changed"]["joints_deg"]
    names = character.skeleton.names
    limbs = {limb.name: [names[character.bodies[b].joint] for b in limb.bodies] for limb in character.limbs}
    assert 0.0 < max(most.get(n, 0.0) for n in limbs["left_arm"]) <= 0.3
    assert max(most.get(n, 0.0) for n in limbs["right_arm"]) <= 4.0
    head = character.bodies[character.roles["head"]].joint
    assert np.array_equal(edited.motion.rotations[:, head], motion.rotations[:, head])
    assert max(a for n, a in most.items() if n not in limbs["right_arm"]) <= 2.0
    with pytest.raises(UnknownName, match=r"wing.*not a limb \(.*left_arm"):
        repair(motion, character, budget=Budget.parse("wing 3deg"))


def test_an_edit_that_turns_one_joint_too_far_is_refused_by_that_joint_s_own_budget(
    walk: tuple[Motion, Character],
) -> None:
    motion, character = walk
    names = motion.skeleton.names
    arm = next(limb for limb in character.limbs if limb.name == "left_arm")
    joint = character.bodies[arm.bodies[1]].joint
    turned = motion.rotations.copy()
    turned[5, joint] = rotations.multiply(turned[5, joint], rotations.from_rotation_vector(np.array([0.1, 0.0, 0.0])))
    result = replace(motion, rotations=turned)
    made = Changes.between(motion, result, root_mover(character))
    what: dict[str, Any] = {
        "settings": {},
        "before": {},
        "after": {},
        "kept": {},
        "amount": 1.0,
        "character": character,
    }
    with pytest.raises(BudgetExceeded, match=f"turns '{names[joint]}' 5.73° in frame 5; the budget allows 5°"):
        report_of("test", motion, result, made, budget=Budget.parse("joint 20deg, left_arm 5deg"), **what)
    report_of("test", motion, result, made, budget=Budget.parse("joint 1deg, left_arm 6deg"), **what)


def test_a_root_without_a_budget_stays(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    edited = repair(motion, character, budget=Budget.parse("joint 3deg, root 0cm, root 0deg"), verify=False)
    assert np.array_equal(edited.motion.translations, motion.translations)
    root = character.bodies[0].joint
    assert np.array_equal(edited.motion.rotations[:, root], motion.rotations[:, root])
    assert not np.array_equal(edited.motion.rotations, motion.rotations)


def test_a_wrong_time_base_is_refused() -> None:
    with pytest.raises(InvalidValue, match="frame rate or its size is wrong"):
        repair(sample_clip("hover_hop").cut(2.2, 3.2))


@pytest.mark.parametrize(("share", "wrong"), [(0.02, False), (0.05, True), (-0.1, False)])
def test_what_may_hang_in_the_air_without_falling_has_no_wrong_rate(
    walk: tuple[Motion, Character], monkeypatch: pytest.MonkeyPatch, share: float, wrong: bool
) -> None:
    monkeypatch.setattr(air, "share_of_gravity", lambda seen: (share, 0.034))
    assert (air.wrong_gravity(analyze(walk[0], walk[1])) == share) is wrong


def test_a_time_base_that_only_short_flights_let_pass_is_named(
    walk: tuple[Motion, Character], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, clip = sys.modules["poise.edit.repair"], walk[0].cut(0.0, 0.15)
    monkeypatch.setattr(module, "MUCH", 0.0)
    said = []
    for share in (1.5, 1.2, math.nan, 0.2):
        monkeypatch.setattr(module, "share_of_gravity", lambda seen, share=share: (share, 0.3))
        said.append([n for n in repair(clip, walk[1], verify=False).report["notes"] if "times gravity" in n])
    assert said[1:] == [[], [], []]
    assert "--source-fps 49 " in said[0][0]


@pytest.mark.long
def test_a_wrong_time_base_may_be_trusted_and_a_smaller_budget_leaves_more() -> None:
    hop = sample_clip("hover_hop").cut(2.2, 3.2)
    left = [
        repair(hop, budget=Budget.parse(text), trust_time=True).report["after"]["force_rms"]
        for text in ("joint 6deg, root 10cm", "joint 0.5deg, root 5mm")
    ]
    assert 0.0 < left[0] < 0.9 * left[1]


@pytest.fixture(scope="module")
def window(walk: tuple[Motion, Character]) -> Motion:
    """The walk, repaired between frames 8 and 32."""
    motion, character = walk
    interval = (float(motion.times[8]), float(motion.times[32]))
    return repair(motion, character, scope=Scope(interval=interval)).motion


def test_what_is_outside_of_the_interval_stays_to_the_bit(walk: tuple[Motion, Character], window: Motion) -> None:
    motion, edited = walk[0], window
    start, end = motion.times[8], motion.times[32]
    outside = (motion.times <= start) | (motion.times >= end)
    assert np.array_equal(edited.rotations[outside], motion.rotations[outside])
    assert np.array_equal(edited.translations[outside], motion.translations[outside])
    assert not np.array_equal(edited.rotations, motion.rotations)


def test_exact_frames_and_frozen_joints_stay_to_the_bit(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    edited = repair(motion, character, exact=(17,), freeze=("head",), verify=False).motion
    assert np.array_equal(edited.rotations[17], motion.rotations[17])
    assert np.array_equal(edited.translations[17], motion.translations[17])
    head = character.bodies[character.roles["head"]].joint
    assert np.array_equal(edited.rotations[:, head], motion.rotations[:, head])
    jumps = np.abs(np.diff(edited.rotations - motion.rotations, axis=0)).max(axis=(1, 2))
    assert jumps[16:18].max() < 3.0 * np.median(jumps) + 1e-3  # the frame is met without a jump


@pytest.mark.long
def test_hands_and_feet_stay_nearer_than_offsets_alone_would_leave_them(
    walk: tuple[Motion, Character], monkeypatch: pytest.MonkeyPatch
) -> None:
    motion, character = walk
    ends = [
        character.bodies[character.roles[f"{side}_{end}"]].joint
        for side in ("left", "right")
        for end in ("hand", "foot")
    ]
    ways = []
    for price in (1e3, style.REACHED):
        for module in (balance, search):
            monkeypatch.setattr(module, "REACHED", price)
        edited = repair(motion, character, verify=False)
        off = np.linalg.norm(edited.motion.world[0][:, ends] - motion.world[0][:, ends], axis=2)
        ways.append(float(np.sqrt(np.mean(off**2))))
    assert ways[1] < 0.9 * ways[0]


@first_cases(1, "seconds, share", [(0.4, 0.6), (0.7, 0.5)])
def test_hands_that_are_kept_hardly_move(walk: tuple[Motion, Character], seconds: float, share: float) -> None:
    motion, character = walk[0].cut(0.0, seconds), walk[1]
    hand = character.bodies[character.roles["left_hand"]].joint
    ways = []
    for keep in ((), ("hands",)):
        edited = repair(motion, character, keep=keep, verify=False).motion
        ways.append(np.linalg.norm(edited.world[0][:, hand] - motion.world[0][:, hand], axis=1).max())
    assert ways[1] < share * ways[0]
    with pytest.raises(UnknownName, match="wing"):
        repair(motion, character, keep=("wing",))


def test_an_amount_of_nothing_gives_the_clip_back(walk: tuple[Motion, Character]) -> None:
    motion, character = walk[0].cut(0.0, 0.3), walk[1]
    edited = repair(motion, character, scope=Scope(amount=0.0), verify=False).motion
    assert np.array_equal(edited.rotations, motion.rotations)
    assert np.array_equal(edited.translations, motion.translations)


def test_the_command_writes_clip_and_report(tmp_path: Path) -> None:
    from poise.cli import app

    clip, out, report = tmp_path / "walk.bvh", tmp_path / "mended.bvh", tmp_path / "mended.json"
    poise.save(sample_clip("walk", 1.0), clip)
    words = ["--interval", "0.2:0.8", "--budget", "joint 2deg, root 1cm", "--keep", "hands", "--report", str(report)]
    done = CliRunner().invoke(app, ["edit", "repair", str(clip), "-o", str(out), *words])
    assert done.exit_code == 0, done.output
    assert "Force that contacts cannot give" in done.output
    assert poise.load(out).frame_count == poise.load(clip).frame_count
    assert '"curve"' in report.read_text()


KICK = "../motions2/asf_amc/HDM_bd_kickLFront1Reps_001_120.amc"
"""A kick with a hop, half of whose flight is not seen as one: no wrong time base."""


@needs_motions
@pytest.mark.parametrize(
    ("name", "fps", "span"),
    [
        # the last two of its three flights
        pytest.param("bvh/cmu_3dsmax/143_05.bvh", 60.0, (2.5, 4.6), marks=pytest.mark.long),
        pytest.param("bvh/cmu_3dsmax/143_05.bvh", 60.0, None, marks=pytest.mark.long),
        pytest.param("asf_amc/02_04.amc", None, None, marks=pytest.mark.long),
        pytest.param(
            KICK, None, None, marks=pytest.mark.skipif(not (MOTIONS / KICK).exists(), reason="no second set of clips")
        ),
    ],
)
def test_captured_jumps_become_physical_within_small_changes(
    name: str, fps: float | None, span: tuple[float, float] | None
) -> None:
    motion = poise.load(MOTIONS / name, fps=fps)
    after = repair(motion if span is None else motion.cut(*span)).report["after"]
    assert after["force_rms"] <= 0.1
    assert after["moment_rms_Nm"] <= 10.0
    assert after["joint_change_rms_deg"] <= 1.0
    assert after["joint_change_max_deg"] <= 6.0
    assert after["root_change_rms_m"] <= 0.03
    assert after["stance_slip_rms_m"] <= 0.0035  # the bar is 3 mm; the kick has 3.05 mm


@pytest.mark.long
def test_a_check_names_the_repair_and_tries_it_when_asked() -> None:
    hop = ballistic(sample_clip("hover_hop")).motion
    wanted = [f for f in findings_of(hop) if f.fails and f.name in REPAIRED]
    assert {"balance", "spin"} <= {f.name for f in wanted}
    shift = f"{6.0 * fit(hop).leg_scale:.2g} cm"  # as the root's budget goes with the leg
    assert all(f"within 6° and {shift}: poise edit repair (not tried" in f.cures[-1].text for f in wanted)
    clip = analyze(sample_clip("walk", 2.0))
    before, after, turn, shift = Cures().repaired(clip) or (0.0, 0.0, 0.0, 0.0)
    assert 0.0 < after < before
    assert 0.0 < turn <= 6.0
    assert 0.0 < shift <= 0.06 * clip.character.leg_scale


@pytest.mark.long
def test_mend_repairs_what_flights_and_spin_leave() -> None:
    edited = mend(sample_clip("hover_hop"))
    assert [step["tool"] for step in edited.report["steps"]] == ["ballistic", "spin", "repair"]
    assert edited.report["after"]["findings"] == []


def test_a_repair_says_how_far_it_is(walk: tuple[Motion, Character]) -> None:
    rounds: list[tuple[int, int]] = []
    repair(*walk, verify=False, on_round=lambda done, most: rounds.append((done, most)))
    assert rounds[0] == (0, 9)
    assert rounds[-1] == (9, 9)
    assert rounds == sorted(set(rounds))


def test_a_repair_that_is_interrupted_writes_nothing(
    walk: tuple[Motion, Character], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bar:
        """Ctrl-C in the third round."""

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def add_task(self, _: str, total: float | None) -> int:
            return 0

        def update(self, task: int, description: str, total: float, completed: int) -> None:
            if description == "Round 3 of at most 9":
                raise KeyboardInterrupt

    monkeypatch.setattr("poise.cli.edit_run.progress", lambda **_: Bar())
    clip, out = tmp_path / "clip.bvh", tmp_path / "out.bvh"
    poise.save(walk[0], clip)
    words = [
        "edit",
        "repair",
        str(clip),
        "-o",
        str(out),
        "--budget",
        "joint 3deg",
        "--report",
        str(tmp_path / "r.json"),
    ]
    assert run(words) == 130
    assert list(tmp_path.iterdir()) == [clip]


@pytest.mark.long
def test_contacts_of_a_report_are_read_back_and_what_they_leave_out_carries_nothing(
    walk: tuple[Motion, Character], tmp_path: Path
) -> None:
    motion, character = walk
    first = repair(motion, character, verify=False)
    found = first.report["contacts"]
    first.report.save(tmp_path / "report.json")
    read = load_touches(tmp_path / "report.json")
    assert read == found
    assert np.array_equal(
        flags_of(read, motion.times, character), analyze(motion, character).touch.flags
    )  # to the frame, in and out
    none = repair(motion, character, contacts={}, verify=False).report
    assert none["contacts"] == {}
    assert none["before"]["force_rms"] > 0.9  # nothing carries the weight
    by_hands = repair(motion, character, contacts={"left_hand": ["0:99"], "right_hand": ["0:99"]}, verify=False).report
    assert by_hands["before"]["force_rms"] < 0.1  # a bar at any height does


@pytest.mark.parametrize(
    ("touches", "words"),
    [
        ({"LeftHoof": ["0:1"]}, ["LeftHoof", "not a contact point", "LeftFoot"]),
        ({"left_foot": ["0.5"]}, ["'0.5'", "'0.5:1.2'"]),
        ({"left_foot": ["0.5:0.2"]}, ["ends before it starts"]),
        ({"left_foot": ["70:80"]}, ["outside of the clip"]),
    ],
)
def test_contacts_that_cannot_be_are_refused(
    walk: tuple[Motion, Character], touches: dict[str, list[str]], words: list[str]
) -> None:
    with pytest.raises((InvalidValue, UnknownName)) as error:
        repair(walk[0], walk[1], contacts=touches)
    for word in words:
        assert word in str(error.value)


def test_a_file_without_contacts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "contacts.json"
    for text, word in (("{}", "no contacts"), ('{"contacts": {"left_foot": "0:1"}}', "Give a list")):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=word):
            load_touches(path)


def test_the_report_does_not_write_over_the_contacts_that_were_read(tmp_path: Path) -> None:
    from poise.cli import app

    path = tmp_path / "contacts.json"
    path.write_text('{"contacts": {}}', encoding="utf-8")
    args = ["edit", "repair", str(poise.sample_path("walk")), "-o", str(tmp_path / "out.bvh"), "--overwrite"]
    done = CliRunner().invoke(app, [*args, "--contacts", str(path), "--report", str(path)])
    assert isinstance(done.exception, InvalidValue)
    assert "contacts.json is the input file" in str(done.exception)
    assert path.read_text(encoding="utf-8") == '{"contacts": {}}'


def test_a_grip_may_pull_and_a_touch_may_not(walk: tuple[Motion, Character]) -> None:
    motion, character = walk[0].cut(0.0, 0.3), walk[1]
    places = motion.translations.copy()
    places[:, 0, 2] -= 0.5 * 15.0 * motion.times**2
    falling = replace(motion, translations=places)  # with 15 m/s²: something must pull it down
    seen = []
    for text in ("0:99", "0:99 grip"):
        touches = {"left_hand": [text], "right_hand": [text]}
        seen.append(repair(falling, character, contacts=touches, trust_time=True, verify=False).report)
    left = [report["before"]["force_rms"] for report in seen]
    assert left[0] > 0.4  # 5.2 of 9.81 are missing
    assert left[1] < 0.1 * left[0]
    kept = seen[1]["contacts"]
    assert all(text.endswith(" grip") for texts in kept.values() for text in texts)
    assert flags_of(kept, motion.times, character, only_grips=True).any()
    with pytest.raises(InvalidValue, match=r"'0\.5:1\.2 grip'"):
        repair(motion, character, contacts={"left_hand": ["0:1 hold"]})


def test_a_repair_that_would_leave_more_than_it_found_leaves_the_clip(
    walk: tuple[Motion, Character], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["poise.edit.repair"]
    within = module.within  # of the search among the changed clip's touches

    def worse(*given: Any, **more: Any) -> Any:
        coefficients, point = within(*given, **more)
        return coefficients, replace(point, force=9.0)

    monkeypatch.setattr(module, "within", worse)
    edited = repair(*walk, budget=Budget.parse("joint 3deg"), verify=False)
    assert np.array_equal(edited.motion.rotations, walk[0].rotations)
    assert any("touches at other times" in note for note in edited.report["notes"])
    assert not any("the usual budget" in note for note in edited.report["notes"])


BAR = Scene(holds=(Hold("bar", (0.0, 0.0, 2.6), 0.016, (0.0, 1.0, 0.0), 0.6),))


@pytest.mark.long
def test_hands_at_a_bar_bear_a_swing_and_its_repair() -> None:
    swing = synthesize("swing", seconds=1.0).motion
    character = fit(swing)
    joints = [character.bodies[limb.bodies[0]].joint for limb in character.limbs if limb.kind == "leg"]
    turned = swing.rotations.copy()
    for joint in joints:
        turns = np.radians(8.0) * np.sin(14.0 * swing.times)[:, None] * [1.0, 0.0, 1.0]
        turned[:, joint] = rotations.multiply(turned[:, joint], rotations.from_rotation_vector(turns))
    hurt = replace(swing, rotations=turned)
    here: dict[str, Any] = {"floor": 0.0, "scene": BAR}
    own = measures(analyze(swing, character, **here))
    assert measures(analyze(swing, character, floor=0.0))["force_rms"] > 0.9  # nothing holds it
    assert own["force_rms"] < 0.02  # no root force made it; the low-pass takes something from the ends
    report = repair(hurt, character, trust_time=True, **here).report
    assert report["after"]["force_rms"] < 0.5 * report["before"]["force_rms"]
    assert {name for name in report["contacts"] if report["contacts"][name]} == {
        "LeftHand.fingers",
        "RightHand.fingers",
    }
    assert all(text.endswith(" grip") for texts in report["contacts"].values() for text in texts)
    with pytest.raises(InvalidValue, match="leave jump or scene out"):
        repair(hurt, character, jump="height +10%", trust_time=True, **here)


def test_things_of_a_scene_are_near_where_they_are() -> None:
    top = Surface("seat top", (0.0, 0.0, 0.5), size=(0.4, 0.4), depth=0.2, solid="seat")
    scene = Scene((Surface("floor", (0.0, 0.0, 0.3)), top), BAR.holds)
    centers = np.array([[[0.0, 0.0, 0.6], [0.0, 0.3, 0.6], [0.06, 0.2, 2.6], [1.0, 0.0, 0.05]]])
    gaps, normals, velocity, is_hold = gaps_to(Terrain.flat(0.0), centers, np.full(4, 0.02), np.zeros(1), scene)
    np.testing.assert_allclose(gaps, [[0.08, 0.58, 0.024, 0.03]], atol=1e-12)  # its own floor does not count
    np.testing.assert_allclose(normals[0], [[0, 0, 1], [0, 0, 1], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    assert is_hold.tolist() == [[False, False, True, False]]
    assert not velocity.any()
    moving = replace(top, movement=Movement((0.0,), ((0.0, 0.0, 0.0),)))
    with pytest.raises(InvalidValue, match="The scene moves seat"):
        gaps_to(Terrain.flat(0.0), centers, np.full(4, 0.02), np.zeros(1), Scene((moving,)))


def test_a_clip_on_a_slope_is_repaired_on_it(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    up = poise.simulate(motion, character, terrain=Terrain.parse("slope:12")).motion
    bare = replace(up, source=None)
    level = measures(analyze(bare, character))
    on_it = repair(bare, character, terrain="slope:12", verify=False).report
    assert on_it["before"]["force_rms"] < 0.7 * level["force_rms"]
    assert on_it["after"]["force_rms"] < 0.5 * on_it["before"]["force_rms"]
    start = start_of(bare)
    ground = Ground("slope:12", (float(start[0]), float(start[1])), direction_of_travel(bare), character.floor)
    carrying = replace(bare, source=Source("", "bvh", "", 1.0, "z", 60.0, ground=ground))
    by_itself = repair(carrying, character, verify=False).report
    assert by_itself["before"]["force_rms"] == pytest.approx(on_it["before"]["force_rms"], rel=0.2)


@pytest.mark.long
def test_the_first_stair_of_a_clip_carries_in_its_repair() -> None:
    motion = sample_clip("walk", 1.0)
    character = fit(motion)
    up = poise.simulate(motion, character, terrain=Terrain.parse("stairs:0.12,0.3")).motion
    report = repair(up, character, verify=False).report  # the clip carries its ground
    assert report["before"]["force_rms"] < 0.05
    assert report["after"]["force_rms"] < 0.5 * report["before"]["force_rms"]
    level = measures(analyze(replace(up, source=None), character))
    assert level["force_rms"] > 5.0 * report["before"]["force_rms"]


@pytest.mark.long
def test_a_clip_on_stairs_is_repaired_on_them() -> None:
    motion = sample_clip("walk", 3.0)
    character = fit(motion)
    up = poise.simulate(motion, character, terrain=Terrain.parse("stairs:0.12,0.6")).motion
    bare = replace(up, source=None)
    level = repair(bare, character, verify=False).report["before"]
    report = repair(bare, character, terrain="stairs:0.12,0.6", verify=False).report
    assert level["force_rms"] > 0.5  # on level ground the climbing body flies
    assert report["before"]["force_rms"] < 0.05
    assert report["after"]["force_rms"] < 0.5 * report["before"]["force_rms"]
    assert report["after"]["stance_slip_rms_m"] <= 0.003
    carried = repair(up, character, verify=False).report["before"]
    assert carried["force_rms"] == pytest.approx(report["before"]["force_rms"], abs=0.01)


def test_a_window_is_repaired_without_a_seam(walk: tuple[Motion, Character], window: Motion) -> None:
    motion, edited = walk[0], window

    def rates(order: int) -> np.ndarray:
        difference = edited.world[0] - motion.world[0]
        return np.abs(np.diff(difference, n=order, axis=0)).max(axis=(1, 2))

    # offsets, their speed and their acceleration begin and end at zero: no step is larger there than inside
    for order in (1, 2):
        steps = rates(order)
        assert max(steps[8 - order : 10].max(), steps[31 - order : 33].max()) <= 0.8 * steps.max()
        assert steps.max() > 0.0
    assert rates(1)[7] == 0.0


def test_a_heel_that_rolls_up_while_it_stands_is_not_pressed_flat(walk: tuple[Motion, Character]) -> None:
    seen = analyze(*walk)
    problem = problem_of(seen)
    middle = look(problem, np.zeros((problem.spline.count, problem.figure.size))).pose.points - problem.anchors
    # what stands is held where it is along the ground; its height stays that of the clip
    assert np.abs(middle[..., 2]).max() < 1e-9
    assert np.abs(middle[problem.stands][:, :2]).max() > 0.002


@pytest.mark.long
def test_the_ends_of_a_piece_move_as_they_do_in_the_longer_clip() -> None:
    motion, character = loaded(80)
    clip = shaken(motion, 0.02, 1.7)
    piece = clip.cut(float(clip.times[3]), float(clip.times[33]))
    budget = Budget.parse("joint 6deg, root 6cm")
    ways = []
    for one in (clip, piece):
        assert find_loop(one).mismatch > NEAR_ENDS  # the ends are free
        edited = repair(one, character, budget=budget, verify=False).motion
        ways.append(np.linalg.norm(edited.world[0] - one.world[0], axis=2).max(axis=1))
    whole, cut = ways
    assert cut[3:-3].max() > 0.025
    assert cut[0] == pytest.approx(whole[3], abs=0.0025)  # 6 mm; 11 where what is beyond the ends costs nothing
    assert cut[-1] == pytest.approx(whole[33], abs=0.0025)  # 9 mm; 13


def test_no_point_sinks_deeper_and_none_that_carries_lifts(walk: tuple[Motion, Character]) -> None:
    seen = analyze(*walk)
    problem = problem_of(seen)
    assert np.array_equal(np.isfinite(problem.lift), seen.touch.carries)
    below = replace(problem, room=np.full_like(problem.room, -0.02))  # as if each point were 2 cm too deep
    above = replace(problem, lift=np.full_like(problem.lift, -0.02))
    zero = np.zeros((problem.spline.count, problem.figure.size))

    def lifted(one: Problem) -> float:
        start = look(one, zero)
        better = improve(one, start, 1e-6, one.price)
        return float(np.where(one.stands, 0.0, better.pose.points[..., 2] - start.pose.points[..., 2]).mean())

    assert lifted(below) > lifted(problem) + 0.002
    assert lifted(above) < lifted(problem) - 0.002


@pytest.mark.long
@needs_motions
def test_what_carries_is_not_lifted() -> None:
    motion = poise.load(MOTIONS / "deepmimic" / "humanoid3d_getup_facedown.txt")
    character = fit(motion)
    seen = analyze(motion, character).touch
    after = analyze(repair(motion, character, verify=False).motion, character).touch
    higher = (after.gaps - np.maximum(seen.gaps, 0.0))[seen.carries]
    assert np.percentile(higher, 95) < 0.013  # [m]; 9 mm, and 20 mm where they may


@first_cases(1, "seconds, most", [(0.4, 3.5), (0.7, 2.5)])
def test_a_head_looks_where_it_looked(walk: tuple[Motion, Character], seconds: float, most: float) -> None:
    motion, character = shaken(walk[0].cut(0.0, seconds), 0.03), walk[1]
    edited = repair(motion, character, budget=Budget.parse("root 5mm"), verify=False)
    joint = character.bodies[character.roles["head"]].joint
    turned = rotations.angle_between(motion.world[1][:, joint], edited.motion.world[1][:, joint])
    assert edited.report["after"]["joint_change_max_deg"] > 2.0
    assert np.degrees(turned).max() < most  # 6° where that costs nothing


def test_a_body_that_stood_still_does_not_begin_to_bob(walk: tuple[Motion, Character]) -> None:
    motion, character = walk
    still = motion.translations.copy()
    still[:, 0, 2] = still[:, 0, 2].mean()
    clip = replace(motion, translations=still)
    ease = problem_of(analyze(clip, character)).ease
    assert ease[2] == LEAST_CHANGE < ease[0]
    bobbing = repair(clip, character, verify=False).motion.world[0][:, 0, 2] - still[:, 0, 2]
    assert 0.0 < np.abs(bobbing).max() < LEAST_CHANGE * 0.06 * character.leg_scale


def test_a_clip_that_no_small_change_makes_physical_is_left_alone_unless_a_budget_is_given(
    walk: tuple[Motion, Character],
) -> None:
    motion, character = walk[0].cut(0.0, 0.3), walk[1]
    clip = shaken(motion, 0.4)
    left = repair(clip, character)
    assert np.array_equal(left.motion.rotations, clip.rotations)
    assert left.report["chosen"] == 0
    assert len(left.report["curve"]) > 1
    assert any("left as it is" in note for note in left.report["notes"])
    asked = repair(clip, character, budget=Budget.parse("joint 3deg"), verify=False)
    assert asked.report["after"]["force_rms"] < left.report["before"]["force_rms"]


def test_ends_that_nearly_meet_stay_where_they_are() -> None:
    motion = sample_clip("walk")
    character = Character.fit(motion)
    # one round of the walk, less or more: how it was found does not matter, as long as it is no loop by the book
    best = None
    for last in range(40, motion.frame_count):
        piece = shaken(motion.cut(0.0, float(motion.times[last])), 0.006)
        loop = find_loop(piece)
        if not loop.is_loop and math.radians(3.0) < loop.mismatch < NEAR_ENDS:
            best = piece
            break
    assert best is not None
    edited = repair(best, character, verify=False)
    assert edited.report["after"]["joint_change_max_deg"] > 1.0
    for k in (0, -1):
        assert np.allclose(edited.motion.rotations[k], best.rotations[k], atol=1e-9)


@pytest.mark.long
@needs_browser
def test_a_click_on_a_point_of_the_curve_shows_the_clip_that_is_there(
    walk: tuple[Motion, Character], tmp_path: Path
) -> None:
    motion, character = shaken(walk[0], -0.02), walk[1]  # so that a choice hides what was before
    edited = repair(motion, character, verify=False)
    report = edited.report
    assert report["chosen"] == len(report["curve"]) - 1
    assert len(report.motions()) == len(report["curve"]) > 2
    assert np.array_equal(report.motions()[-1].rotations, edited.motion.rotations)
    least = Changes.between(motion, report.motions()[1]).root_moved.max()
    assert 0.0 < least < Changes.between(motion, edited.motion).root_moved.max()
    path = tmp_path / "repair.html"
    record(scene_of_edit(motion, edited.motion, report.data, choices=report.motions()), path)
    tracks = [t["name"] for t in read_recording(path).header["tracks"]]
    with launched() as browser, opened(browser, path) as page:
        dots = page.locator("#choices .dot")
        assert dots.count() == len(report["curve"])

        def seen() -> str:
            place = page.evaluate("window.poise.project(0, 'Hips')")
            return tracks[page.evaluate("([x, y]) => window.poise.pick(x, y)", place)["track"]]

        assert seen() == tracks[0]
        dots.nth(1).click()
        assert seen() == "choice 1"
        dots.nth(report["chosen"]).click()
        assert seen() == tracks[0]


@pytest.mark.long
def test_a_flight_that_is_made_higher_and_longer_falls_as_it_must() -> None:
    whole, character = hop()
    motion = whole.cut(2.0, 4.3)  # the flight, with what goes before it and comes after
    edited = repair(motion, character, jump="height +20%, length +10%, turn +90deg", trust_time=True, verify=False)
    flights = edited.report["flights"]
    assert flights
    for flight in flights:
        assert math.isclose(flight["rise_m"], 1.2 * flight["rise_before_m"], rel_tol=1e-9)
        # ballistics: with v = √(2 g h), up takes v / g; down is as long, but for the height of the landing
        assert abs(flight["duration_s"] / (2.0 * math.sqrt(2.0 * flight["rise_m"] / 9.81)) - 1.0) < 0.05
        assert abs(flight["gravity_after_m_s2"] / 9.81 - 1.0) < 0.02
        # flights have whole frames, and the repair keeps their paths
        assert abs(flight["rise_after_m"] / flight["rise_m"] - 1.0) < 0.04
        assert abs(flight["length_after_m"] / flight["length_m"] - 1.0) < 0.02
    assert heading(motion, edited.motion, character, -1) == pytest.approx(90.0 * len(flights), abs=7.0)
    # the clip hangs in the air: its feet cannot give all that the new take-off asks for
    assert edited.report["after"]["force_rms"] < 0.5
    assert edited.report["after"]["joint_change_max_deg"] <= 6.0 + 1e-6


def test_a_flight_that_is_made_higher_rises_so_and_falls_as_it_must() -> None:
    whole, character = hop()
    report = repair(whole.cut(2.5, 3.8), character, jump="height +20%", trust_time=True, verify=False).report
    (flight,) = report["flights"]
    assert math.isclose(flight["rise_m"], 1.2 * flight["rise_before_m"], rel_tol=1e-9)
    assert abs(flight["rise_after_m"] / flight["rise_m"] - 1.0) < 0.04
    assert abs(flight["gravity_after_m_s2"] / 9.81 - 1.0) < 0.02


def test_a_flight_that_does_not_come_near_what_was_asked_is_said_so() -> None:
    flight = {"start_s": 0.4, "length_before_m": 0.1, "length_m": 0.1, "length_after_m": 0.1, "gravity_after_m_s2": 9.8}
    short, near = (
        flight_notes([flight | {"rise_before_m": 0.3, "rise_m": 0.4, "rise_after_m": r}])[0] for r in (0.29, 0.37)
    )
    assert "not the flight that was asked for" in short
    assert "not the flight" not in near


@needs_motions
def test_a_flight_of_the_earth_becomes_one_of_the_moon() -> None:
    """The clip falls with 9.81 m/s²: that is no wrong frame rate, since the gravity that is given is the new one."""
    motion = poise.load(MOTIONS / "deepmimic" / "humanoid3d_backflip.txt")
    edited = repair(motion, jump="height +0%", gravity=1.62)
    (flight,) = edited.report["flights"]
    assert flight["gravity_after_m_s2"] == pytest.approx(1.62, rel=0.05)
    assert flight["duration_s"] > 2.0 * flight["duration_before_s"]


def hop() -> tuple[Motion, Character]:
    """The sample with one flight."""
    motion = sample_clip("hover_hop")
    return motion, Character.fit(motion)


def heading(before: Motion, after: Motion, character: Character, frame: int) -> float:
    """How far the root is turned about the vertical in a frame, before to after [deg]."""
    mover, ahead = root_mover(character), np.array([[1.0, 0.0, 0.0]])
    old, new = (rotations.rotate(m.world[1][[frame], mover], ahead)[0, :2] for m in (before, after))
    return float(np.degrees(np.arctan2(old[0] * new[1] - old[1] * new[0], old @ new)))


def test_half_a_turn_more_ends_half_a_turn_further_and_spins_steadily() -> None:
    motion, character = hop()
    for turn in (1.0, -1.0):
        turned, (flight,) = directed(motion, character, FlightChange(turn=turn * math.pi), 9.81)
        assert heading(motion, turned, character, 0) == pytest.approx(0.0, abs=0.1)
        assert abs(heading(motion, turned, character, -1)) == pytest.approx(180.0, abs=0.1)
        first, last = flight["frames"]
        seen = spin(turned, character, flights=[(first, last)], verify=False).report["before"]["flights"][0]
        assert seen["angular_momentum_spread_kg_m2_s"] < 1e-3
        assert turn * seen["angular_momentum_mean_kg_m2_s"][2] > 1.0  # to the left where it is positive


def test_a_heavier_body_is_lifted_by_the_same_work() -> None:
    motion, character = hop()
    (span,) = find_flights(motion, Flier.of(motion, character))
    com = center_of_mass(motion, character)[:, 2]
    push = com[span[0]] - com[: span[0] + 1][motion.times[: span[0] + 1] >= motion.times[span[0]] - 1.0].min()
    plain, heavy = (directed(motion, character, FlightChange(mass=m), 9.81)[1][0] for m in (1.0, 1.1))
    assert plain["rise_m"] == pytest.approx(plain["rise_before_m"], rel=1e-9)
    assert 1.1 * (heavy["rise_m"] + push) == pytest.approx(plain["rise_m"] + push, rel=1e-6)
    with pytest.raises(InvalidValue, match="hardly leave the ground"):
        directed(motion, character, FlightChange(mass=3.0), 9.81)


def test_flights_are_chosen_by_name_and_need_a_change() -> None:
    motion, character = hop()
    with pytest.raises(InvalidValue, match="jump"):
        repair(motion, character, flights=[(3, 9)], trust_time=True)
    with pytest.raises(InvalidValue, match="not in this clip"):
        repair(motion, character, flights=[(3, 9999)], jump="height +10%", trust_time=True)


def test_what_is_carried_is_not_made_to_fly_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a kick, where the foot that stands was not seen."""
    motion, character = hop()
    (span,) = find_flights(motion, Flier.of(motion, character))
    monkeypatch.setattr("poise.edit.flight.why_no_flight", lambda *_, **__: "LeftFoot stands still")
    with pytest.raises(InvalidValue, match="is not a flight: LeftFoot stands still"):
        repair(motion, character, jump="height +20%", trust_time=True)
    assert len(directed(motion, character, FlightChange(height=1.2), 9.81, [span])[1]) == 1


@pytest.mark.parametrize("text", ["height 20%", "hight +20%", "height +20%, height +10%", "height +900%", ""])
def test_a_change_of_flights_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="height"):
        FlightChange.parse(text)


def test_a_clip_without_a_flight_has_none_to_change(walk: tuple[Motion, Character]) -> None:
    with pytest.raises(InvalidValue, match="No flight"):
        repair(*walk, jump="height +20%", trust_time=True)
    with pytest.raises(InvalidValue, match="exact"):
        repair(*walk, jump="height +20%", trust_time=True, exact=(3,))
