"""Reactions differ by where a push meets the figure and by what the figure is doing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from benchmarks.alive import slide

from poise.body import Character
from poise.body.posing import body_poses, body_positions, joint_deviations, motion_to_q
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.units import GRAVITY
from poise.filter.apart import closing_legs, go_on
from poise.filter.bracing import above, descent, haste
from poise.filter.falling import (
    BEARING_JOINTS,
    Fall,
    bearing,
    begun,
    calmness,
    held_longer,
    kept,
    lands,
    limp_dofs,
    limpness,
    nearness,
    presses,
    sinking,
    slip_directions,
    tension,
    yielding,
)
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Push
from poise.filter.giving import Give, GivingBody, Hit, Trunk, advance, giving_body, strengths
from poise.filter.goal import PENDULUM
from poise.filter.preset import Preset, load_preset
from poise.filter.quasi_physical import AtRest, JointLimits, Physicality
from poise.filter.report import SimulationResult
from poise.filter.sensing import EASES
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.filter.swinging import keep_in_reach, pass_by
from poise.native.library import library
from poise.phases.travel import direction_of_travel
from poise.physics import State
from poise.physics.collisions import CapsulePairs
from poise.physics.mujoco_backend import model_of
from poise.terrain import Terrain
from tests.clips import first_cases
from tests.filter_runs import falling, walk
from tests.test_filter import assert_exact, glitched
from tests.test_push import held

Array = npt.NDArray[np.float64]
START = 0.3


def pushed(body: str, x: float, y: float, z: float, lasts: float = 0.2) -> SimulationResult:
    motion, character = walk()
    return simulate(motion, character, pushes=[Push(body, (x, y, z), START, lasts)])


def ways(run: SimulationResult) -> Array:
    """Of the bodies' places against the undisturbed ones [m], from the push on, shape (S, B, 3)."""
    off = body_positions(run.character, run.q) - body_positions(run.character, run.reference_q)
    return off[round(START / run.report["dt"]) :]


def giving() -> GivingBody:
    _, character = walk()
    preset = load_preset("recommended")
    return giving_body(character, model_of(character).q_rest(), preset.giving, preset.pose, preset.weights)


def test_a_hit_hand_flies_and_the_trunk_follows_later() -> None:
    _, character = walk()
    hand, hip = ways(pushed("left_hand", 0.0, 300.0, 0.0)), ways(pushed("pelvis", 0.0, 300.0, 0.0))
    wrist = character.roles["left_hand"]
    assert np.linalg.norm(hand[:, wrist] - hand[:, 0], axis=1).max() >= 0.08
    at_end = round(0.2 * 60.0)
    assert np.linalg.norm(hand[at_end, 0]) <= 0.6 * np.linalg.norm(hip[at_end, 0])
    assert np.linalg.norm(hand[:, 0], axis=1).max() >= 0.5 * np.linalg.norm(hip[:, 0], axis=1).max(), "momentum is owed"


def without_balance() -> Preset:
    preset = load_preset("recommended")
    return replace(preset, giving=replace(preset.giving, balance=0.0))


def test_what_hangs_on_a_pushed_chest_stays_behind_and_swings_past() -> None:
    """By their inertia, and by the neck and shoulders that hold them as springs."""
    motion, character = walk()
    run = simulate(motion, character, pushes=[Push("chest", (0.0, 300.0, 0.0), START)], preset=without_balance())
    roles, dt = run.character.roles, run.report["dt"]
    off = ways(run)[:, :, 1]
    early, late = slice(0, round(0.22 / dt)), slice(round(0.3 / dt), round(0.8 / dt))
    for part, trails, passes in (("left_hand", 0.03, 0.03), ("right_hand", 0.03, 0.02)):
        against = off[:, roles[part]] - off[:, roles["chest"]]
        assert against[early].min() <= -trails, part
        assert against[late].max() >= passes, part
    head = _tilt(run, "head")  # about the axis along which the push would turn it
    assert head[early].min() <= np.radians(-3.0)
    assert head[late].max() >= np.radians(5.0)


@first_cases(2, "way", [(1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)])
def test_arms_go_outward_to_keep_the_balance(way: tuple[float, float]) -> None:
    """The walk goes along −y: its left is at +x."""
    motion, character = walk()
    apart, push = [], Push("chest", (300.0 * way[0], 300.0 * way[1], 0.0), START)
    for with_ in (load_preset("recommended"), without_balance()):
        run = simulate(motion, character, pushes=[push], preset=with_)
        off = ways(run)[round(0.25 / run.report["dt"]) : round(0.5 / run.report["dt"]), :, 0]
        apart.append(off[:, character.roles["left_hand"]] - off[:, character.roles["right_hand"]])
    assert (apart[0] - apart[1]).min() >= 0.03


def _tilt(run: SimulationResult, role: str) -> Array:
    """Turn of a body in the world against the undisturbed one, about −x [rad], from the push on."""
    b, c = run.character.roles[role], run.character
    here, there = body_poses(c, run.q)[1][:, b], body_poses(c, run.reference_q)[1][:, b]
    turn = rotations.to_rotation_vector(rotations.multiply(here, rotations.conjugate(there)))
    return -turn[round(START / run.report["dt"]) :, 0]


def test_places_of_a_push_are_told_apart() -> None:
    """Of unrelated reactions the distance over the size is 1.4, of the same ones 0."""
    shapes = []
    for body in ("chest", "pelvis", "head", "left_hand"):
        off = ways(pushed(body, 0.0, 300.0, 0.0))
        shapes.append(off[:, 1:] - off[:, :1])
    for i, one in enumerate(shapes):
        for other in shapes[i + 1 :]:
            size = max(np.sqrt(np.mean(one**2)), np.sqrt(np.mean(other**2)))
            assert np.sqrt(np.mean((one - other) ** 2)) / size >= 0.35


def test_a_load_from_above_bends_the_knees_and_a_lift_raises_the_hips() -> None:
    _, character = walk()
    knees = [character.roles["left_knee"], character.roles["right_knee"]]
    down, up = pushed("chest", 0.0, 0.0, -1000.0), pushed("chest", 0.0, 0.0, 1000.0)
    assert joint_deviations(character, down.reference_q, down.q)[:, knees].max() >= 10.0
    assert -0.2 <= ways(down)[:, 0, 2].min() <= -0.05
    assert ways(up)[:, 0, 2].max() >= 0.02
    assert np.abs(ways(down)[-1]).max() <= 0.01


def test_a_planted_foot_passes_the_force_to_the_ground() -> None:
    start = START + 0.05
    foot = min(("left_foot", "right_foot"), key=lambda role: _height(role, start))
    assert np.abs(ways(pushed(foot, 0.0, 300.0, 0.0))).max() <= 0.25 * np.abs(ways(pushed("chest", 0, 300.0, 0))).max()


def _height(role: str, time: float) -> float:
    motion, character = walk()
    calm = simulate(motion, character)
    k = round(time / calm.report["dt"])
    return float(body_positions(character, calm.q[k : k + 1])[0, character.roles[role], 2])


def test_a_kicked_swing_foot_flies() -> None:
    """It moved by 4 mm against the pelvis, as the goal and the foot's target held it."""
    motion, character = longer(2.5)
    for body, least, most in (("right_foot", 0.12, 0.4), ("pelvis", -0.05, 0.05)):
        run = simulate(motion, character, pushes=[Push(body, (0.0, 300.0, 0.0), 1.0, 0.2)])
        off = body_positions(character, run.q) - body_positions(character, run.reference_q)
        first, last = round(1.0 / run.report["dt"]), round(1.3 / run.report["dt"])
        own = off[first:last, character.roles["right_foot"], 1] - off[first:last, 0, 1]
        assert least <= own.max() <= most


@pytest.mark.parametrize(
    ("body", "way", "start", "most"), [("pelvis", -300.0, 1.34, 0.0035), ("right_foot", 300.0, 1.0, 0.008)]
)
def test_a_foot_stays_where_it_has_landed(body: str, way: float, start: float, most: float) -> None:
    """The kicked one comes down at 3 m/s and must stop; it was drawn back by 1 cm."""
    motion, character = longer(2.5)
    assert slide(simulate(motion, character, pushes=[Push(body, (way, 0.0, 0.0), start, 0.2)])) <= most


@pytest.mark.parametrize(("way", "most"), [(-600.0, 0.07), (600.0, 0.05), (-720.0, 0.07)])
def test_a_foot_that_the_hips_leave_behind_lifts(way: float, most: float) -> None:
    """The walk goes along −y. Toes of the leg that stood were dragged by 30, 12 and 14 cm."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("chest", (0.0, way, 0.0), 0.8)])
    assert run.report["events"][0]["outcome"] == "stepped"
    assert slide(run) <= most


def legs_part(run: SimulationResult) -> float:
    """Least gap between the shins and feet of two legs of a run [m]."""
    pairs, state = CapsulePairs([run.character]), State(model_of(run.character))
    one, other = (
        np.isin(bodies, _bodies_of(run.character, limb)[1:])
        for bodies, limb in ((pairs.first_body, "left_leg"), (pairs.second_body, "right_leg"))
    )
    least = np.inf
    for q in run.q:
        state.move_to(q, np.zeros(run.character.nv))
        gaps = pairs.gaps_at(np.flatnonzero(one & other), state.data.xpos, state.data.xmat)
        least = min(least, float(gaps.min()))
    return least


@pytest.mark.parametrize(("way", "start"), [(300.0, 1.0), (-300.0, 1.34)])
def test_a_foot_that_must_cross_the_standing_leg_goes_around_it(
    way: float, start: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk goes along −y: the push is from the side of the swinging leg, which went through the standing one."""
    motion, character = longer(2.5)
    preset = load_preset("recommended")
    without = replace(preset, apart=replace(preset.apart, weight=0.0))
    push = [Push("pelvis", (way, 0.0, 0.0), start, 0.2)]
    around, led = (legs_part(simulate(motion, character, pushes=push, preset=p)) for p in (preset, without))
    monkeypatch.setattr("poise.filter.sensing.PASSES", 1e-6)
    through, kept = (legs_part(simulate(motion, character, pushes=push, preset=p)) for p in (without, preset))
    assert through < -0.05
    assert around > -0.025
    assert around > through + 0.04
    assert around > kept + 0.004, "its way is bent"
    assert led > through + 0.005, "without the bound that keeps legs apart, too"


def test_a_foot_above_a_clip_that_is_below_the_floor_is_in_the_air() -> None:
    """A foot that the clip holds under the floor was lifted, put elsewhere, and counted as sliding by 13 cm."""
    motion, character = walk(2.5)
    run = simulate(motion, character)
    sunk, lifted = run.reference_q.copy(), run.q.copy()
    sunk[:, 2] -= 0.1
    lifted[:, 2] -= 0.05
    lifted[:, 0] += 0.1 * np.sin(5.0 * run.report["dt"] * np.arange(len(lifted)))
    assert slide(replace(run, q=lifted, reference_q=sunk)) == 0.0
    sunk[:, 2] += 0.05
    assert slide(replace(run, q=lifted, reference_q=sunk)) > 0.03


def test_a_foot_whose_landing_the_clip_does_not_show_is_let_go_at_once() -> None:
    """Pinned to a goal that jumps, the toe of its last step jerked at 212 m/s²; the clip's own is 49."""
    motion, character = longer(5.0)
    strict = Options(physicality=Physicality(is_strict=True))
    run = simulate(motion, character, pushes=[Push("chest", (-274.0, -17.0, 0.0), 0.9, 0.2)], options=strict)
    dt = run.report["dt"]
    jerk = np.linalg.norm(np.diff(body_positions(character, run.q), 2, axis=0), axis=2) / dt**2
    assert jerk[round(4.6 / dt) :].max() <= 100.0


@pytest.mark.parametrize("lands", [0.0, 0.2, 0.5])
def test_a_swinging_foot_passes_the_standing_one_on_its_own_side(lands: float) -> None:
    """It swings 0.8 m along y and stands 0.2 m to the right; asked to land so far to the left, it is half way there
    where it passes. It lands no farther across than a step allows.
    """
    _, character = walk()
    figure = SimulatedCharacter(
        character, load_preset("recommended"), Terrain.flat(), Options(), dt=1.0 / 60.0, floor=character.floor
    )
    figure.start(figure.model.q_rest(), np.zeros(figure.model.nv))
    f = figure.problem
    foot, other = np.split(f.grouped, f.group_ends[:-1])[:2]
    r = SimpleNamespace(flags=np.zeros(len(f.offset), np.bool_), landings=np.zeros((len(f.offset), 3)))
    r.point_velocities, r.progress = np.zeros((len(f.offset), 3)), np.full(len(f.offset), 0.5)
    r.times_to_contact = np.full(len(f.offset), 0.2)
    r.landings[foot, :2] = 0.2, 0.4
    values = {name: getattr(f, name).copy() for name in ("left_at", "left_with", "foot_shift", "base", "point_goal")}
    b = SimpleNamespace(**values, reference=r, is_planned=False, is_at_goal=False, feet=2, dt=1.0 / 60.0)
    b.pose = SimpleNamespace(places=np.zeros((len(f.offset), 3)))
    b.left_at[foot], b.left_with[:], b.moved = (0.2, -0.4), 0.0, np.zeros(9)
    b.foot_shift[foot], b.base[other] = (-lands, 0.0), 0.0
    b.held, b.stands, b.swings_for = r.flags.copy(), r.flags.copy(), np.full(len(f.offset), 1.0)
    b.stands[other], b.grouped, b.group_ends = True, f.grouped, f.group_ends
    b.leaving_time, b.pass_width, b.pass_cross = 0.08, 0.11, 0.12
    b.shift_rates, b.bent_share = np.zeros((len(f.offset), 2)), np.zeros(len(f.offset))
    b.point_goal[foot] = b.point_goal[other] = 0.0
    b.point_goal[foot, 0] = 0.2 - 0.5 * lands
    pass_by(b)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(b.point_goal[foot, 0], max(0.2 - 0.5 * lands, 0.11), atol=1e-9)
    assert (b.bent_share[foot] > 0.0).all() == (lands > 0.1)
    b.point_goal[foot, :2] = 0.2 - lands, 0.4
    pass_by(b)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(b.point_goal[foot, 0], max(0.2 - lands, -0.12), atol=1e-9)


@pytest.mark.parametrize("left", [0.1, 0.02, 0.0])
def test_an_offset_goes_outward_no_faster_than_the_leg_has_length_left(left: float) -> None:
    """A foot that was to land behind the hips after a push from there went back at 1.7 m/s, and its knee snapped."""
    _, character = walk()
    figure = SimulatedCharacter(
        character, load_preset("recommended"), Terrain.flat(), Options(), dt=1.0 / 60.0, floor=character.floor
    )
    figure.start(figure.model.q_rest(), np.zeros(figure.model.nv))
    figure.state.move_to(figure.model.q_rest(), np.zeros(figure.model.nv))
    f = figure.problem
    p, count = f.pose, len(f.offset)
    foot = np.split(f.grouped, f.group_ends[:-1])[0]
    at = p.xpos[f.hip] - p.xpos[f.ankle] + p.places
    hanging = 0.8 * f.straight[foot]
    names = ("straight", "hip", "ankle", "bent", "least_reach", "foresight", "loosening", "braking_time")
    b = SimpleNamespace(**{name: getattr(f, name) for name in names}, pose=p, is_stepping=False)
    b.reference, b.held = SimpleNamespace(progress=np.ones(count)), np.zeros(count, np.bool_)
    b.point_goal, b.point_goal_v, b.shift_rates = at.copy(), np.zeros((count, 3)), np.zeros((count, 2))
    b.point_goal[foot, 2] -= hanging
    b.point_goal[foot, 1] -= np.sqrt(f.straight[foot] ** 2 - hanging**2) - left
    b.shift_rates[foot, 1], b.point_goal_v[foot, 1] = -1.7, -2.0
    keep_in_reach(b)  # pyright: ignore[reportArgumentType]
    # its own speed of 0.3 m/s against the hips stays
    np.testing.assert_allclose(b.point_goal_v[foot, 1], -np.clip(left / f.braking_time, 0.3, 2.0), atol=1e-9)
    np.testing.assert_allclose(b.point_goal_v[foot, 0], 0.0, atol=1e-9)


def near_legs() -> Iterator[tuple[SimulatedCharacter, State]]:
    """The walker in poses in which its legs come nearer than they should, and another state of it."""
    _, character = walk()
    figure = SimulatedCharacter(
        character, load_preset("recommended"), Terrain.flat(), Options(), dt=1.0 / 60.0, floor=character.floor
    )
    state, other, rng = figure.state, State(figure.model), np.random.default_rng(3)
    for _ in range(60):
        for some in (state, other):
            turned, v = rng.normal(scale=0.3, size=character.nv), rng.normal(size=character.nv)
            some.move_to(state.model.integrate(state.model.q_rest(), turned, 1.0), v)
        figure.problem.stands[:] = np.isin(state.point_body, _bodies_of(character, "right_leg"))
        if closing_legs(figure.legs, figure.problem):
            yield figure, other


def test_legs_that_come_near_slow_down_the_sooner_the_nearer_they_are() -> None:
    """Stopped within a step from afar, a shin turned the ankle by 46 degrees."""
    clear: list[float] = []
    overlapping: list[float] = []
    for figure, _ in near_legs():
        legs = figure.legs
        for k in range(closing_legs(legs, figure.problem)):
            gap, slower = legs.gaps[k], legs.lower[k] + legs.bias[k]
            if gap > legs.clear and slower > 0.0:
                clear.append((-np.sqrt(2.0 * legs.braking * gap) - legs.rate[k]) / slower)
            elif gap < 0.0 and slower > 0.0:
                overlapping.append((min(-gap / legs.dt, legs.parting) - legs.rate[k]) / slower)
    assert min(len(clear), len(overlapping)) > 3
    np.testing.assert_allclose(clear, 0.0315, rtol=1e-3)  # 0.03 s, for a longer leg
    np.testing.assert_allclose(overlapping, 1.0 / 60.0, rtol=1e-9)


@pytest.mark.skipif(library() is None, reason="there is no C compiler here")
def test_legs_that_come_near_are_found_as_by_the_twin() -> None:
    seen = 0
    for figure, other in near_legs():
        seen += 1
        found = []
        legs = figure.legs
        for close, go in ((closing_legs, go_on), (closing_legs.twin, go_on.twin)):
            count = close(legs, figure.problem)
            rows, lower = legs.rows[:count].copy(), legs.lower.copy()
            go(legs, other.pose)
            assert (legs.lower[:count] <= lower[:count]).all()
            found.append((rows, lower, legs.lower.copy(), legs.holds.copy()))
        for ours, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-7)
    assert seen > 8


def test_a_leg_that_stands_does_not_give_way_to_one_that_swings() -> None:
    figure, _ = next(near_legs())
    rows, character = figure.legs.rows[: figure.legs.count], figure.character
    left, right = (character.v_addresses[character.roles[hip]] for hip in ("left_hip", "right_hip"))
    assert np.abs(rows[:, left : left + 3]).max() > 0.1
    assert not rows[:, right : right + 3].any()


def test_hip_and_knee_take_a_foot_away_and_not_its_ankle() -> None:
    for figure, _ in near_legs():
        ankle = figure.character.v_addresses[figure.character.roles["left_foot"]]
        assert not figure.legs.rows[: figure.legs.count, ankle : ankle + 3].any()


def _bodies_of(character: Character, limb: str) -> Array:
    return np.array(next(x.bodies for x in character.limbs if x.name == limb)) + 1


@first_cases(1, "lead", [0.5, 0.4])
def test_the_next_foot_of_a_walk_lands_by_the_capture_point(lead: float) -> None:
    """ξ = x + ẋ / ω against the landing foot, both less the undisturbed walk: in people the slope is 1; it was 2."""
    motion, character = longer(2.5)
    model, lands, places = model_of(character), 1.28, []
    state, foot = State(model), character.roles["right_foot"]
    for newtons in (0.0, -240.0, -120.0, 120.0, 240.0):
        push = Push("chest", (0.0, newtons, 0.0), lands - lead, 0.1)
        run = simulate(motion, character, pushes=[push] if newtons else [])
        dt = run.report["dt"]
        k = round(lands / dt)
        state.move_to(run.q[k], model.difference(run.q[k], run.q[k + 1], dt))
        xi = state.com() + state.com_jacobian() @ state.v / (PENDULUM / np.sqrt(character.leg_scale))
        places.append((xi[1], body_positions(character, run.q[k + 3 : k + 4])[0, foot, 1]))
    xi, feet = (np.array(places[1:]) - places[0]).T
    assert np.abs(xi).max() >= 0.04
    assert 0.8 <= np.polyfit(xi, feet, 1)[0] <= 1.2


def test_flight_keeps_what_a_push_gave() -> None:
    """Nothing touches: momentum and spin stay until the landing, which moves."""
    motion, character = walk()
    run = simulate(
        falling(motion, 3.0, 0.75, fps=120.0), character, pushes=[Push("chest", (0.0, 300.0, 0.0), 0.1, 0.1)]
    )
    model, dt = model_of(character), run.report["dt"]
    state = State(model)
    given = []
    for k in (round(0.22 / dt), round(0.6 / dt)):
        pair = []
        for q in (run.q, run.reference_q):
            v = model.difference(q[k], q[k + 1], dt)
            state.move_to(q[k], v)
            pair.append(np.concatenate([(state.com_jacobian() @ v)[:2], state.data.angular_momentum(model.roots[0])]))
        given.append(pair[0] - pair[1])
    early, late = given
    assert early[1] == pytest.approx(30.0 / character.mass, rel=0.02)
    assert np.linalg.norm(late[:2] - early[:2]) <= 0.01 * np.linalg.norm(early[:2])
    assert np.linalg.norm(late[2:] - early[2:]) <= 0.05 * np.linalg.norm(early[2:])
    assert np.linalg.norm(early[2:]) >= 1.0


def test_the_limb_keeps_what_the_trunk_does_not_get() -> None:
    """Momentum of the limb and of the trunk together is that of the force, however the spring shares it."""
    body = giving()
    settings = load_preset("recommended").giving
    limb = next(limb for limb in body.limbs if not limb.is_leg)
    places, dt, force = np.zeros((len(body.limb_of), 3)), 0.005, np.array([0.0, 200.0, 0.0])
    places[limb.bodies[-1]] = [limb.reach, 0.0, 0.0]
    hit = Hit(limb.bodies[-1], places[limb.bodies[-1]], force)
    give, trunk = Give.none(body), np.zeros(3)
    k = body.limbs.index(limb)
    stands = np.zeros(len(body.limbs), dtype=np.bool_)
    for _ in range(40):
        give, reached = advance(give, body, settings, [hit], places, stands, 0.0, dt, Trunk.at_rest(body))
        trunk += dt * sum(h.force for h in reached.hits) / (body.mass - limb.mass)
    # the limb's own speed is the trunk's and its speed against it
    momentum = (body.mass - limb.mass) * trunk + limb.mass * (trunk + give.speeds[k])
    assert momentum == pytest.approx(40 * dt * force, rel=1e-6)
    assert give.ways[k, 1] > 0.05


def test_what_gives_holds_again_and_nothing_gives_undisturbed() -> None:
    motion, character = walk()
    assert_exact(simulate(motion, character))
    body, settings = giving(), load_preset("recommended").giving
    stands = np.zeros(len(body.limbs), dtype=np.bool_)
    places = np.zeros((len(body.limb_of), 3))
    give, onset = Give.none(body), {}
    arm = next(limb for limb in body.limbs if len(limb.bodies) == 3)
    hit = Hit(arm.bodies[-1], np.array([arm.reach, 0.0, 0.0]), np.array([0.0, 300.0, 0.0]))
    for k in range(40):
        give, _ = advance(give, body, settings, [hit], places, stands, 0.0, 0.005, Trunk.at_rest(body))
        for b in arm.bodies:
            if give.amounts[b] > 0.3:
                onset.setdefault(b, k)
    assert onset[arm.bodies[2]] < onset[arm.bodies[1]] < onset[arm.bodies[0]], "from the hit inward"
    assert strengths(give, body, settings, np.zeros(len(places)))[arm.bodies[0]] < 0.1
    for _ in range(1000):
        give, _ = advance(give, body, settings, [], places, stands, 0.0, 0.005, Trunk.at_rest(body))
    assert give.is_at_rest


def test_a_leg_holds_again_before_an_arm() -> None:
    """It has to land."""
    body, settings = giving(), load_preset("recommended").giving
    stands, places = np.zeros(len(body.limbs), dtype=np.bool_), np.zeros((len(body.limb_of), 3))
    leg = next(limb for limb in body.limbs if limb.is_leg)
    arm = next(limb for limb in body.limbs if not limb.is_leg)
    give, left = Give.none(body), []
    hits = [Hit(limb.bodies[-1], np.array([limb.reach, 0.0, 0.0]), np.array([0.0, 300.0, 0.0])) for limb in (leg, arm)]
    for k in range(80):
        give, _ = advance(give, body, settings, hits if k < 40 else [], places, stands, 0.0, 0.005, Trunk.at_rest(body))
        if k in (39, 79):
            left.append([give.amounts[limb.bodies[-1]] for limb in (leg, arm)])
    assert left[1] == pytest.approx([left[0][0] * 0.5 ** (0.2 / 0.2), left[0][1] * 0.5 ** (0.2 / 0.35)], rel=1e-6)
    assert give.loose[body.limbs.index(leg)] < give.loose[body.limbs.index(arm)]


def longer(seconds: float) -> tuple[Motion, Character]:
    """The bundled walk from its start, and the character fitted to it."""
    return walk(seconds)


def heights(run: SimulationResult) -> Array:
    """Of the center of mass above the floor [m], shape (S,)."""
    state = State(model_of(run.character))
    return np.array([state.at(q, np.zeros(run.character.nv)).com()[2] for q in run.q]) - run.character.floor


def test_a_trunk_that_was_thrown_by_a_blow_on_the_head_comes_back_slowly() -> None:
    """Level in the air, it stood upright again within 0.25 s, thrown back at 180°/s by what stopped it."""
    motion, character = longer(3.0)
    run = simulate(motion, character, pushes=[Push("head", (0.0, 600.0, 0.0), START, 0.2)])
    chest = character.roles["chest"]
    pose, reference = (body_poses(character, q)[1][:, chest] for q in (run.q, run.reference_q))
    turned = np.degrees(rotations.angle_between(reference, pose))
    assert turned.max() > 35.0
    assert (turned[:-1] - turned[1:]).max() * 60.0 < 110.0


@pytest.mark.parametrize(("newtons", "outcome"), [(300.0, "held"), (600.0, "stepped"), (1500.0, "fallen")])
def test_a_push_is_held_or_stepped_after_or_ends_in_a_fall(newtons: float, outcome: str) -> None:
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("chest", (0.0, newtons, 0.0), START, 0.2)])
    event = run.report["events"][0]
    assert event["outcome"] == outcome
    high = heights(run)
    if outcome == "fallen":
        assert high[-1] < 0.4 * high[0]
        speed = np.linalg.norm(np.diff(body_positions(character, run.q)[-30:], axis=0), axis=2).max() * 60.0
        assert speed < 0.2, "it lies still: a limb may still sink"
    else:
        assert high.min() > 0.8 * high[0]
        assert event["com_back_s"] is not None


@first_cases(
    1,
    ("body", "way"),
    [("chest", (0.0, 1000.0)), ("chest", (1000.0, 0.0)), ("chest", (-1000.0, 0.0)), ("head", (-443.0, -1001.0))],
)
def test_a_fall_gains_no_energy_and_comes_to_rest(body: str, way: tuple[float, float]) -> None:
    """Energy beyond the work of muscles; it rose by 23 J in the last one, where friction drove a foot that slid."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push(body, (*way, 0.0), START, 0.2)])
    fall = run.report["fall"]
    assert run.report["events"][0]["outcome"] == "fallen"
    assert fall["unexplained_rise_J"] < 5.0
    assert fall["still_after_s"] is not None
    assert fall["still_after_s"] < 3.0
    high = body_positions(character, run.q)[..., 2] - character.floor
    highest = max(high[-1, [0, character.roles["chest"]]])
    assert highest < 0.2, "it lies flat, no bridge and no headstand; tense to the end, up to 24 cm"
    down = int(np.argmax(high[:, character.roles["chest"]] < 0.3))
    names = ("chest", "head", *(f"{s}_{x}" for x in ("elbow", "knee", "hand", "foot") for s in ("left", "right")))
    limbs = [0, *(character.roles[name] for name in names)]
    assert high[down + 60, limbs].mean() < 0.13, (
        "it lies limp on the ground; it propped itself on hands and feet, 14 cm"
    )


@pytest.mark.long
def test_legs_of_a_fallen_figure_stay_low() -> None:
    """Limp arms dropped the trunk at once, and that threw the legs up."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("chest", (1200.0, 0.0, 0.0), 1.0, 0.2)])
    high = body_positions(character, run.q)[..., 2] - character.floor
    feet = [character.roles[f"{side}_foot"] for side in ("left", "right")]
    down = int(np.argmax(high[:, character.roles["head"]] < 0.35))
    assert run.report["events"][0]["outcome"] == "fallen"
    assert np.count_nonzero(high[down:, feet].max(axis=1) > 0.5) < 6


@pytest.mark.long
def test_a_figure_that_falls_backward_lies_down_between_its_arms() -> None:
    """It ended propped on arms straight behind its back, with the chest 18 cm above the ground."""
    motion, character = longer(4.5)
    x, y = -1200.0 * direction_of(motion)
    run = simulate(motion, character, pushes=[Push("pelvis", (x, y, 0.0), 1.0, 0.2)])
    assert run.report["events"][0]["outcome"] == "fallen"
    high = body_positions(character, run.q)[..., 2] - character.floor
    assert high[-1, character.roles["chest"]] < 0.13


def test_arms_do_not_prop_up_a_chest_for_good() -> None:
    """It half sat on them to the end, with the neck at 36 cm."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("pelvis", (0.0, 1200.0, 0.0), 1.0, 0.2)])
    assert run.report["events"][0]["outcome"] == "fallen"
    high = body_positions(character, run.q)[..., 2] - character.floor
    assert high[-1, character.roles["neck"]] < 0.25


@pytest.mark.long
def test_a_head_does_not_fold_under_the_chest_in_a_fall() -> None:
    """Its neck turned by 103°."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("chest", (1000.0, 0.0, 0.0), 1.0, 0.2)])
    assert run.report["events"][0]["outcome"] == "fallen"
    head, chest = character.roles["head"], character.roles["chest"]
    turns = (body_poses(character, q)[1] for q in (run.q, run.reference_q))
    pose, reference = (rotations.multiply(rotations.conjugate(x[:, chest]), x[:, head]) for x in turns)
    assert np.degrees(rotations.angle_between(reference, pose)).max() < 88.0


def direction_of(motion: Motion) -> Array:
    """In which a motion travels, a unit vector, shape (2,)."""
    heading = direction_of_travel(motion)
    return np.array([np.cos(heading), np.sin(heading)])


def test_hands_keep_to_their_sides_in_a_fall_backward() -> None:
    """They crossed behind the back, and the chest fell on them at 5 m/s. The walk goes along −y."""
    motion, character = longer(2.5)
    x, y = -1000.0 * direction_of(motion)
    run = simulate(motion, character, pushes=[Push("chest", (x, y, 0.0), 1.0, 0.2)])
    assert run.report["events"][0]["outcome"] == "fallen"
    places = body_positions(character, run.q)
    hands, shoulders = (
        [places[:, character.roles[f"{side}_{x}"]] for side in ("left", "right")] for x in ("hand", "shoulder")
    )
    lands = int(np.argmax(np.minimum(*hands)[:, 2] < character.floor + 0.08))
    assert (hands[0] - hands[1])[lands, :2] @ (shoulders[0] - shoulders[1])[lands, :2] > 0.0


def test_hands_hurry_the_more_the_sooner_the_chest_lands_but_not_behind_the_back() -> None:
    rates = [haste(height, -1.0, 1.0, 0.0) for height in (2.0, 0.8, 0.4, 0.13)]
    assert rates[0] == haste(0.4, -1.0, 1.0, 0.6) == 12.0
    assert rates == sorted(rates)
    assert rates[1] == pytest.approx(6.0 / 0.284, rel=1e-3), "0.68 m from 1 m/s take 0.28 s"
    assert rates[3] == haste(0.05, 0.0, 1.0, 0.0) == 30.0, "one that lies has no time left"
    assert haste(0.8, -1.0, 1.0, 0.25) == pytest.approx(0.5 * (12.0 + rates[1]))


def test_a_trunk_is_let_down_as_far_as_limbs_can() -> None:
    assert descent(0.9, 0.0, 1.0, 1.2) == -GRAVITY, "it just falls, until it comes down too fast to be stopped"
    assert descent(0.9, -4.0, 1.0, 1.2) == pytest.approx(0.2 * GRAVITY), "limbs bear no more"
    assert -GRAVITY < descent(0.3, -1.2, 1.0, 3.0) < 2.0 * GRAVITY
    assert [above(height, 1.0) for height in (0.1, 0.18, 0.5)] == pytest.approx([0.0, 0.5, 1.0])


def test_arms_that_bear_a_fallen_figure_yield_near_the_ground_where_they_touch_it() -> None:
    _, character = walk()
    model = model_of(character)
    arms, none = limp_dofs(character, BEARING_JOINTS), np.zeros(model.nv)
    elbow, knee = (character.v_addresses[character.roles[f"left_{name}"]] for name in ("elbow", "knee"))
    assert arms[elbow]
    assert not arms[knee]
    hand = model.point_body == character.roles["left_hand"] + 1
    bears = bearing(model, State(model).at(model.q_rest(), np.zeros(model.nv)), hand.astype(float))
    assert bears[elbow]
    assert not bears[knee]
    assert yielding(0.5, 0.0) == 0.0 < yielding(0.5, 0.0, low=1.0), "one that props itself up tires"
    assert [yielding(*x) for x in ((0.4, 0.0), (0.28, 0.0), (0.1, 0.0), (0.1, 0.4), (0.1, 2.0))] == pytest.approx(
        [0.0, 0.5, 1.0, 0.5, 0.0]
    ), "not while the chest comes down fast"
    fall, limp = Fall(model.q_rest(), np.array([1.0, 0.0]), high=0.0, low=0.3), limp_dofs(character)
    tense, loose = (limpness(none, fall, none, limp, np.where(arms, part, 0.0)) for part in (0.0, 1.0))
    assert tense.torque[elbow] == 0.0 < loose.torque[elbow]
    assert loose.pose[elbow] == 0.0 < tense.pose[elbow]
    assert loose.rate[elbow] > tense.rate[elbow]


def test_a_knee_on_the_ground_bears_the_thigh_and_leaves_the_shank_to_fall() -> None:
    _, character = walk()
    model = model_of(character)
    hip, knee = (character.v_addresses[character.roles[f"left_{name}"]] for name in ("hip", "knee"))
    state = State(model).at(model.q_rest(), np.zeros(model.nv))
    places = state.points - state.data.xpos[character.roles["left_knee"] + 1]
    at_knee, on_foot = np.zeros((2, model.point_count), dtype=np.bool_)
    at_knee[np.argmin(np.linalg.norm(places, axis=1))] = True
    on_foot[model.point_body == character.roles["left_foot"] + 1] = True
    for touches, shank in ((at_knee, False), (on_foot, True)):
        bears = bearing(model, state, touches.astype(float))
        assert bears[hip]
        assert bears[knee] == shank


def test_a_hand_just_above_the_ground_sinks_slowly() -> None:
    """A hand that left the ground by a millimeter fell at once with its arm, and a figure that lay twitched."""
    _, character = walk()
    model = model_of(character)
    state = State(model).at(model.q_rest(), np.zeros(model.nv))
    first, end = (character.v_addresses[character.roles[f"left_{name}"]] for name in ("shoulder", "hand"))
    hand, sinks = model.point_body == character.roles["left_hand"] + 1, []
    for height in (0.0, 0.001, 0.005, 0.1):
        gaps = np.where(hand, 0.005 + height, 1.0)
        bears = bearing(model, state, nearness(gaps, 0.005, character.leg_scale))
        sinks.append(float(np.abs(sinking(model, state, bears)[first:end]).max()))
    assert sinks[0] == 0.0
    assert 0.0 < sinks[1] < 0.15 * sinks[3]
    assert sinks[1] < sinks[2] < sinks[3]


def test_a_shank_in_the_air_comes_down_after_a_fall() -> None:
    """Its foot whipped up as the trunk landed, and stood 0.2 m above its knee for half a second."""
    motion, character = longer(3.0)
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, np.radians(60.0)]))
    x, y, _ = (1000.0 * rotations.rotate(turn, np.array([*direction_of(motion), 0.0]))).tolist()
    strict = Options(physicality=Physicality(is_strict=True))
    run = simulate(motion, character, pushes=[Push("chest", (x, y, 0.0), 1.0, 0.2)], options=strict)
    assert run.report["events"][0]["outcome"] == "fallen"
    high = body_positions(character, run.q)[..., 2] - character.floor
    down = int(np.argmax(high[:, 0] < 0.45 * character.leg_scale))
    feet, knees = ([character.roles[f"{side}_{x}"] for side in ("left", "right")] for x in ("foot", "knee"))
    up = (high[down:, feet] > high[down:, knees] + 0.15 * character.leg_scale).any(axis=1)
    assert np.count_nonzero(up) < 12


def test_hips_and_knees_go_limp_after_a_fall_and_settle_later() -> None:
    _, character = walk()
    model = model_of(character)
    limp, held, still = limp_dofs(character), held_longer(character, model), np.zeros(model.nv)
    fall = Fall(model.q_rest(), np.array([1.0, 0.0]), high=0.0)
    knee, elbow, foot = (character.v_addresses[character.roles[f"left_{name}"]] for name in ("knee", "elbow", "foot"))
    assert limp[knee]
    assert not limp[elbow]
    assert not limp[foot]
    assert not limp[:6].any()
    high, down, later = (
        limpness(still, fall._replace(high=high, low=low), held, limp, still)
        for high, low in ((1.0, 0.0), (0.0, 0.6), (0.0, 2.0))
    )
    assert high.torque[knee] == later.torque[knee] == 0.0
    assert down.torque[knee] > 0.0
    assert down.pose[knee] == 0.0
    assert high.pose[knee] == later.pose[knee] > 0.0
    assert [calmness(fall._replace(low=low)) for low in (0.5, 1.25, 2.0)] == [0.0, 0.5, 1.0]
    fast = limpness(np.full(model.nv, 8.0), fall._replace(low=0.6), held, limp, still)
    assert fast.rate[knee] > 2.0 * down.rate[knee]


@pytest.mark.long
def test_a_head_is_let_down_after_a_fall_and_does_not_drop() -> None:
    """A neck without muscles lets it fall the last 5 cm at more than 1 m/s."""
    motion, character = longer(4.5)
    run = simulate(motion, character, pushes=[Push("chest", (0.0, 1300.0, 0.0), START, 0.2)])
    assert run.report["events"][0]["outcome"] == "fallen"
    head = body_positions(character, run.q)[:, character.roles["head"], 2]
    last = int(np.flatnonzero(head > head[-1] + 0.05)[-1])
    assert 30.0 * (head[last] - head[last + 2]) < 0.7


def test_a_chin_goes_to_the_chest_in_a_fall_backward_alone() -> None:
    """The walk goes along −y."""
    motion, character = walk()
    q, head = motion_to_q(character, motion)[0], character.roles["head"]
    places, turns = (x[0] for x in body_poses(character, q[None]))
    up = rotations.rotate(rotations.conjugate(turns[head]), np.array([0.0, 0.0, 1.0]))
    back, ahead = (
        rotations.rotate(body_poses(character, fall.q[None])[1][0, head], up)
        for fall in (begun(character, q, np.array([0.0, y, -1.0]), places) for y in (1.0, -1.0))
    )
    assert back[1] < -0.5
    assert abs(back[0]) < 0.2, "not aside"
    assert ahead[2] == pytest.approx(1.0)


def test_neck_and_arms_let_go_last_and_then_entirely() -> None:
    _, character = walk()
    model = model_of(character)
    held = held_longer(character, model)
    fall = Fall(model.q_rest(), np.array([1.0, 0.0]), high=0.0)
    neck, arm, leg = (
        next(character.v_addresses[limb.bodies[-1]] for limb in character.limbs if limb.kind == kind)
        for kind in ("neck", "arm", "leg")
    )
    now, later = (tension(fall._replace(low=low), held) for low in (0.2, 1.0))
    assert now[neck] > now[arm] > now[leg] == 0.0
    assert not later.any()


def test_a_step_of_a_fall_adds_neither_energy_nor_momentum() -> None:
    """In free flight momentum changes by the weight alone and spin not at all, however fast limbs turn."""
    motion, character = walk()
    model, dt = model_of(character), 1.0 / 60.0
    root, random = model.roots[0], np.random.default_rng(5)
    for _ in range(8):
        v = random.normal(scale=3.0, size=model.nv)
        state = State(model).at(motion_to_q(character, motion)[0], v)
        a: Array = np.asarray(np.linalg.solve(state.M, -state.bias), dtype=np.float64)
        moved = v + dt * a
        q = model.integrate(state.q, moved, dt)
        out, after = kept(state, a, q, moved, dt, 0.0), State(model)

        def momenta(s: State, speed: Array) -> Array:
            return np.concatenate(
                [s.mass(root) * s.com_jacobian(root) @ speed, s.angular_momentum_rows(root)[0] @ speed]
            )

        def energy(s: State, speed: Array) -> float:
            return 0.5 * float(speed @ s.M @ speed) + GRAVITY * s.mass(root) * float(s.com(root)[2])

        asked = momenta(state, v) - [0.0, 0.0, dt * GRAVITY * state.mass(root), 0.0, 0.0, 0.0]
        after.at(q, moved)
        assert np.abs(momenta(after, moved) - asked).max() > 0.1, "the plain step does"
        assert momenta(after, out) == pytest.approx(asked, abs=1e-8)
        assert energy(after, out) <= energy(state, v) + 1e-8


def test_energy_of_the_ground_in_a_limp_leg_is_taken_from_it_in_one_step() -> None:
    """A straight leg's toes met the ground at 3 m/s: its knee turned aside at 21 rad/s and gained 11 J in a step."""
    motion, character = walk()
    model, dt = model_of(character), 1.0 / 60.0
    v = np.zeros(model.nv)
    v[character.v_addresses[character.roles["left_knee"]] :][:3] = [9.0, 0.0, -21.0]
    state = State(model).at(motion_to_q(character, motion)[0], v)
    a: Array = np.asarray(np.linalg.solve(state.M, -state.bias), dtype=np.float64)
    q, excess = model.integrate(state.q, v + dt * a, dt), 0.5 * 0.5 * float(v @ state.M @ v)
    energies = []
    for work in (0.0, excess):
        out = kept(state, a, q, v + dt * a, dt, -work)
        energies.append(0.5 * float(out @ State(model).at(q, out).M @ out))
    assert energies[0] - energies[1] == pytest.approx(excess, rel=0.1)


def test_what_leaves_the_ground_is_not_pushed_by_it() -> None:
    up, rises = np.tile([0.0, 0.0, 1.0], (4, 1)), np.array([-1.0, 1.0, 1.0, 1.0])
    velocities = rises[:, None] * up
    pressed = presses(velocities, up, np.array([0.01, 0.01, -0.01, -0.1]), 18.0)
    assert pressed.tolist() == [True, False, False, True], "what is deep is to come out faster"


def test_the_ground_does_not_push_a_foot_in_the_air() -> None:
    """A foot that hovered 3 cm up in a step was kicked by 2500 N as the fall began: 15 J in one frame."""
    up, rises = np.tile([0.0, 0.0, 1.0], (4, 1)), np.array([0.0, -1.5, 0.0, 1.5])
    landed = lands(rises[:, None] * up, up, np.array([0.029, 0.029, 0.01, 0.01]), 1.0 / 60.0, 0.03)
    assert landed.tolist() == [False, True, True, False], "one that comes down in this step lands"


def test_friction_of_a_fall_is_against_the_way_of_what_slides() -> None:
    ways = slip_directions(np.array([[3.0, 0.0, -1.0], [0.1, 0.0, 0.0]]), np.tile([0.0, 0.0, 1.0], (2, 1)))
    assert ways.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_a_joint_past_its_limit_stops_there_in_a_fall() -> None:
    """The clip goes on meanwhile; where limits were widened by its pose, elbows twitched as that came home."""
    motion, character = walk()
    q, limits = motion_to_q(character, motion)[0], JointLimits(character, load_preset("recommended").bounds)
    elbow, still = character.roles["left_elbow"], np.zeros(character.nv)
    at, past = character.q_addresses[elbow], q.copy()
    kind = character.bodies[elbow].limits
    assert kind is not None
    turn = np.asarray(kind.twist_upper + 0.1) * np.asarray(kind.axis)
    past[at : at + 4] = rotations.multiply(np.asarray(kind.rest), rotations.from_rotation_vector(turn))
    rows, lower = np.empty((limits.most, limits.nv)), np.empty(limits.most)
    here = limits.fill(past, still, AtRest(q, still, still), 1.0 / 60.0, rows, lower)
    assert lower[:here].max() > 50.0, "it is brought back to the limit, by a clip that keeps it"
    here = limits.fill(past, still, AtRest(past, still, still), 1.0 / 60.0, rows, lower)
    assert lower[:here].max() < 1e-3


def test_joints_of_a_kicked_leg_ease_into_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ankle ran into them and was stopped in one step, with 2.4 times the worst jerk of the clip."""
    motion, character = longer(2.5)
    parts: dict[str, list[float]] = {"right_foot": [], "left_foot": [], "right_elbow": []}
    end = SimulatedCharacter.end

    def seen(self: SimulatedCharacter, *given: Any) -> Array:
        out = end(self, *given)
        for role, own in parts.items():
            own.append(self.problem.limit_part[self.limits.names.index(character.bodies[character.roles[role]].name)])
        return out

    monkeypatch.setattr(SimulatedCharacter, "end", seen)
    dt = simulate(motion, character, pushes=[Push("right_foot", (0.0, 300.0, 0.0), 1.0, 0.2)]).report["dt"]
    assert min(parts["left_foot"] + parts["right_elbow"]) == 1.0
    part = min(parts["right_foot"])
    assert part <= 1.5 / (1.0 + EASES / dt)
    assert parts["right_foot"][round(0.9 / dt)] == 1.0

    limits, still, v = JointLimits(character, load_preset("recommended").bounds), *np.zeros((2, character.nv))
    knee, q = character.roles["right_knee"], motion_to_q(character, motion)[0]
    kind = character.bodies[knee].limits
    assert kind is not None
    at, dofs = character.q_addresses[knee], character.v_addresses[knee] + np.arange(3)
    turn = (kind.bend_upper - 0.1) * np.asarray(kind.swing_axis)
    q[at : at + 4] = rotations.multiply(np.asarray(kind.rest), rotations.from_rotation_vector(turn))
    v[dofs] = 10.0 * np.asarray(kind.swing_axis)
    limits.arrays["limit_part"][:] = part
    rows, lower = np.empty((limits.most, limits.nv)), np.empty(limits.most)
    count = limits.fill(q, v, AtRest(motion_to_q(character, motion)[0], still, still), dt, rows, lower)
    bends = rows[:count][:, dofs] @ v[dofs] < -9.0
    assert lower[:count][bends] == pytest.approx((10.0 * dt - part * 0.1) / dt**2, rel=1e-3)


def test_a_standing_figure_steps_to_where_it_can_come_to_rest() -> None:
    from tests.test_push import held

    motion, character = walk()
    still = held(motion, 0, 4.5)
    run = simulate(still, character, pushes=[Push("chest", (0.0, 600.0, 0.0), START, 0.2)])
    assert run.report["events"][0]["outcome"] == "stepped"
    feet = [character.roles["left_foot"], character.roles["right_foot"]]
    off = (body_positions(character, run.q) - body_positions(character, run.reference_q))[:, feet]
    assert off[..., 1].max(axis=0) == pytest.approx(np.full(2, off[..., 1].max()), abs=0.15), "both feet go"
    assert off[..., 1].max() >= 0.3
    assert off[..., 2].max() >= 0.04, "a foot lifts before it moves"
    assert np.abs(off[-1, :, :2]).max() <= 0.03, "and goes home"


def test_a_figure_that_nothing_guides_falls_where_it_would_step() -> None:
    motion, character = longer(3.0)
    push = Push("chest", (0.0, 600.0, 0.0), START, 0.2)
    run = simulate(motion, character, pushes=[push], options=Options(goal="none"))
    assert run.report["events"][0]["outcome"] == "fallen"
    assert heights(run)[-1] < 0.5 * heights(run)[0], "and does not rise again by itself"


@pytest.mark.long
def test_a_person_gets_up_over_hands_and_knees() -> None:
    """It rose with dead arms, and hung in the air over its knees."""
    motion, character = longer(6.0)
    push = Push("chest", (0.0, 1500.0, 0.0), START, 0.2)
    run = simulate(motion, character, pushes=[push], options=Options(after="blend"))
    places = body_positions(character, run.q) - [0.0, 0.0, character.floor]
    lies = int(np.flatnonzero(heights(run) < 0.4 * heights(run)[0])[-1])
    rises = places[lies : lies + round(1.2 / run.report["dt"]), :, 2]
    hands = rises[:, [character.roles["left_hand"], character.roles["right_hand"]]].max(axis=1)
    pelvis, chest = rises[:, 0], rises[:, character.roles["chest"]]
    kneels = (np.abs(pelvis - chest) < 0.15) & (pelvis > 0.3 * character.leg_length) & (hands < 0.25)
    assert kneels.any(), "on hands and knees, its trunk level"


@first_cases(1, "by_clip", [False, True])
def test_a_fallen_figure_gets_up_where_it_lies_and_goes_back(by_clip: bool) -> None:
    motion, character = longer(8.0)
    push, options = Push("chest", (0.0, 1500.0, 0.0), START, 0.2), Options(after="path" if by_clip else "blend")
    get_up = motion.cut(0.0, 0.5) if by_clip else None  # any clip of the skeleton that ends standing
    run = simulate(motion, character, pushes=[push], options=options, get_up=get_up)
    assert run.report["events"][0]["outcome"] == "fallen"
    high = heights(run)
    assert high.min() < 0.4 * high[0]
    assert high[-1] > 0.85 * high[0]
    k = int(np.flatnonzero(high < 0.4 * high[0])[-1])
    # it stays where it lay while it gets up: nothing flies
    root = run.q[:, :2]
    assert np.linalg.norm(np.diff(root[k:], axis=0), axis=1).max() * 60.0 < 3.0
    # and stands on its feet where it has come to: with the places of before its legs flew
    assert joint_deviations(character, run.q[k:-1], run.q[k + 1 :]).max() < 30.0


def test_a_glitch_does_not_drop_the_figure_into_the_hill() -> None:
    motion, character = walk()
    bad = glitched(motion, character.bodies[character.roles["left_toe"]].name, 60)
    slope = Terrain.slope(15.0)
    calm, odd = simulate(motion, character, terrain=slope), simulate(bad, character, terrain=slope)
    assert odd.report["solver"]["fallbacks"]["glitch_carried"] >= 2
    assert np.abs(calm.q - odd.q)[:, 2].max() <= 0.02


def test_a_lift_takes_the_load_off_the_feet_and_the_heels_rise() -> None:
    """Every point of the soles held the straight legs to the ground: 0.9 weights up raised the hips by 2 mm."""
    motion, character = walk()
    feet, toes = ([character.roles[f"{side}_{part}"] for side in ("left", "right")] for part in ("foot", "toe"))
    low = body_positions(character, motion_to_q(character, motion))[:, feet, 2].max(axis=1)
    still = held(motion, int(low.argmin()), 1.5)
    up = Push("chest", (0.0, 0.0, 0.9 * 9.81 * character.mass), START, 0.2)
    run = simulate(still, character, pushes=[up])
    off = ways(run)[:, :, 2]
    assert 0.025 <= off[:, 0].max() <= 0.08, "the hips"
    assert off[:, feet].max(axis=0).min() >= 0.01, "both heels"
    assert off[:, toes].max() <= 0.5 * off[:, feet].max(), "the toes stay"
    assert np.abs(off[-1]).max() <= 0.01


def test_a_pair_of_forces_turns_the_figure_and_moves_it_nowhere() -> None:
    motion, character = walk()
    shoulders = [character.roles[f"{side}_shoulder"] for side in ("left", "right")]
    places = body_positions(character, motion_to_q(character, motion))[:, shoulders, :2]
    right = (places[:, 1] - places[:, 0])[round(START * motion.fps)]
    forward = np.array([-right[1], right[0]]) / np.linalg.norm(right)
    size = 0.3 * 9.81 * character.mass
    pair = [
        Push(f"{side}_elbow", (way * size * forward[0], way * size * forward[1], 0.0), START, 0.2)
        for side, way in (("left", 1.0), ("right", -1.0))
    ]
    off = ways(simulate(motion, character, pushes=pair))[:, :, :2]
    assert (off[:, shoulders[0]] @ forward).max() >= 0.03, "the left shoulder goes ahead"
    assert (off[:, shoulders[1]] @ forward).min() <= -0.03, "the right one back"
    assert np.linalg.norm(off[:, 0], axis=1).max() <= 0.02
