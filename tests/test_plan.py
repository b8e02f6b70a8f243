"""The plan over known ground: smooth curves with bounds, and where feet and body go."""

from __future__ import annotations

import numpy as np
import pytest

from poise.body import fit
from poise.body.posing import joint_deviations, motion_to_q
from poise.filter.curve import BOUND_WEIGHT, HOLD, smoothest
from poise.filter.filter import SimulatedCharacter
from poise.filter.plan import GroundPlan, Track, rates, starts_level
from poise.filter.plan_feet import (
    FALL_SPEED,
    SHIFT_COST,
    Footholds,
    footholds,
    headroom,
    stances,
)
from poise.filter.preset import load_preset
from poise.filter.reference import ClipSchedule, ReferenceBuilder
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.phases.travel import direction_of_travel
from poise.physics.state import velocities
from poise.terrain import Terrain
from tests.clips import sample_clip

DT = 1.0 / 60.0


def test_between_supports_the_curve_is_a_beam() -> None:
    """Clamped over two frames at both ends, the minimum of ∫ẍ² is the cubic 3 s² − 2 s³."""
    n = 61
    weights = np.zeros(n)
    weights[[0, 1, -2, -1]] = HOLD
    targets = np.zeros(n)
    targets[-2:] = 1.0
    x = smoothest(targets, weights, np.ones(n), DT)
    s = (np.arange(n) - 0.5) / (n - 2.0)
    # the discrete beam differs from the cubic by the order of the spacing squared
    assert np.abs(x - (3.0 * s**2 - 2.0 * s**3))[1:-1].max() < 2e-3


def test_bounds_hold_and_cost_nothing_where_they_are_idle() -> None:
    n = 200
    weights = np.full(n, 0.15**-4)
    lower = np.full(n, -1.0)
    free = smoothest(np.zeros(n), weights, np.ones(n), DT, lower)
    assert np.abs(free).max() < 1e-12
    lower[80:120] = 0.5
    x = smoothest(np.zeros(n), weights, np.ones(n), DT, lower)
    assert (lower - x).max() < 1e-4
    assert x.max() < 0.6  # no overshoot to speak of: the targets hold it down
    assert np.abs(x[[0, -1]]).max() < 1e-2


def test_a_jumping_bound_still_converges() -> None:
    """Bounds that jump made plain active sets cycle; the answer must be a minimum: no step from it improves."""
    rng = np.random.default_rng(4)
    n = 150
    lower = np.where(rng.random(n) < 0.2, rng.uniform(0.0, 0.5, n), -np.inf)
    weights = np.full(n, 50.0)
    x = smoothest(np.zeros(n), weights, np.ones(n), DT, lower)
    assert (lower - x).max() < 1e-3

    def cost(y: np.ndarray) -> float:
        broken = np.maximum(lower - y, 0.0)
        bend = np.diff(y, 2) / DT**2
        return float(bend @ bend + weights @ y**2 + BOUND_WEIGHT * (broken @ broken))

    least = cost(x)
    for size in (1e-3, 1e-5):
        for k in range(0, n, 7):  # one frame, and everything from a frame on, up and down
            for way in (np.eye(n)[k], (np.arange(n) >= k).astype(float)):
                assert cost(x + size * way) >= least * (1.0 - 1e-9)
                assert cost(x - size * way) >= least * (1.0 - 1e-9)
    assert cost(1.01 * x) > least


def test_rates_are_those_of_the_reference() -> None:
    x = np.linspace(0.0, 1.0, 20) ** 2
    v, a = rates(x, DT)
    moved = x.copy()
    for k in range(1, 19):
        moved[k + 1] = moved[k] + DT * (v[k] + DT * a[k])
    assert np.abs(moved - x)[2:].max() < 1e-12


@pytest.fixture(scope="module")
def walk():
    motion = sample_clip("walk")
    return motion, fit(motion)


def _plan(walk, ground: str | Terrain) -> tuple[GroundPlan, ClipSchedule, Terrain, SimulatedCharacter]:
    motion, character = walk
    q = motion_to_q(character, motion)
    terrain = (Terrain.parse(ground) if isinstance(ground, str) else ground).placed(
        origin=motion.world[0][0, 0, :2], heading=direction_of_travel(motion), ground=character.floor
    )
    machine = SimulatedCharacter(
        character, load_preset("recommended"), terrain, Options(), dt=motion.dt, floor=character.floor
    )
    builder = ReferenceBuilder(machine.model, dt=motion.dt, friction=0.8)
    v = velocities(machine.model, q, motion.dt)
    schedule = ClipSchedule(builder, q, v, dt=motion.dt, floor=character.floor, leg_length=character.leg_length)
    plan = machine.plan(schedule.track)
    assert plan is not None
    return plan, schedule, terrain, machine


def test_standing_points_are_planned_on_the_ground(walk) -> None:
    plan, schedule, terrain, _ = _plan(walk, "slope:20")
    flags, points = schedule.flags, schedule.track.points
    flags = flags.copy()
    flags[:2] = False  # the start is the settled pose
    ground = terrain.heights(points[flags][:, :2]) - schedule.track.floor
    assert np.abs(plan.offsets[flags][:, 2] - ground).max() < 1e-4


def test_every_stance_lies_on_one_tread(walk) -> None:
    plan, schedule, terrain, machine = _plan(walk, "stairs:0.2,0.6")
    for foot in machine.footing.feet:
        index = np.array(foot)
        for k in np.flatnonzero(schedule.flags[:, index].any(axis=1)):
            on = index[schedule.flags[k, index]]
            places = schedule.track.points[k, on, :2] + plan.offsets[k, on, :2]
            assert np.ptp(terrain.heights(places)) < 1e-6, f"frame {k}"


def test_swinging_feet_clear_the_risers(walk) -> None:
    plan, schedule, terrain, machine = _plan(walk, "stairs:0.2,0.6")
    index = np.array([i for foot in machine.footing.feet for i in foot])
    places = schedule.track.points[:, index] + plan.offsets[:, index]
    gaps = places[..., 2] - terrain.heights(places[..., :2].reshape(-1, 2)).reshape(places.shape[:2])
    own = schedule.track.points[:, index, 2] - schedule.track.floor
    assert (np.minimum(own, 0.0) - gaps)[2:].max() < 2e-3


def test_heel_and_toes_rise_together_and_before_the_riser(walk) -> None:
    """Each point by its own times, a lifted heel would be on its way up already and turn the toes down."""
    plan, schedule, _, machine = _plan(walk, "stairs:0.17,0.30")
    for foot in machine.footing.feet:
        heights = plan.offsets[:, list(foot), 2]
        assert np.ptp(heights, axis=1).max() < 1e-5
        # a foot that waits for its rise needs 9 g at most; at once over the edge it took 62
        assert np.abs(np.diff(heights[:, 0], 2)).max() / schedule.track.dt**2 < 100.0


def test_feet_keep_whole_on_narrow_stairs(walk) -> None:
    """Toes flipped by 73° in a frame where heel and toes went to other treads at other times."""
    motion, character = walk
    run = simulate(motion, character, terrain=Terrain.stairs(0.17, 0.30))
    assert joint_deviations(character, run.q[:-1], run.q[1:]).max() < 15.0


def test_a_leg_does_not_fold_up_on_a_ledge_that_the_body_has_left(walk) -> None:
    plan, schedule, _, _ = _plan(walk, Terrain.step(-0.6 * walk[1].leg_length))
    gone = schedule.flags & ~plan.flags
    assert gone.any()
    assert not (plan.flags & ~schedule.flags).any(), "it lets go early, and never touches longer"
    stands = plan.flags.any(axis=1) == schedule.flags.any(axis=1)
    assert stands.all(), "the other foot stands by then"


def _stances(plan: GroundPlan, schedule: ClipSchedule, terrain: Terrain, machine: SimulatedCharacter) -> list:
    """Foot, frames, footholds and the planned shift along the stairs of every stance."""
    track, reach, found = schedule.track, 0.25 * machine.scale, []
    for foot in machine.footing.feet:
        standing = np.asarray(schedule.flags[:, list(foot)].any(axis=1))
        for span in stances(standing, track.dt):
            places = footholds(track, machine.character, terrain, foot, span, reach)
            found.append((foot, span, places, plan.offsets[span, foot[0], :2] @ terrain.forward))
    return found


def test_no_standing_leg_leans_through_a_tall_step(walk) -> None:
    """The nearest foothold would have a knee pass through the edge; the planned one has not."""
    met = 0
    for distance in (1.0, 1.2, 1.4, 1.6, 1.8, 2.0):
        ground = Terrain.step(0.5 * walk[1].leg_length / 0.82, distance=distance)
        plan, schedule, terrain, machine = _plan(walk, ground)
        for _, _, places, shift in _stances(plan, schedule, terrain, machine):
            taken = int(np.argmin(np.abs(places.shifts - shift.mean())))
            assert np.ptp(shift) < 1e-5
            if places.leaning.min() < 1e-9:
                assert places.leaning[taken] < 0.02 * machine.scale
            met += places.leaning[0] > 0.05 * machine.scale
    assert met  # else the step was nowhere in the way, and nothing was seen


def test_a_foot_that_has_no_room_on_any_tread_is_blocked_and_stays(walk) -> None:
    plan, schedule, terrain, machine = _plan(walk, Terrain.stairs(0.1, 0.1, distance=-2.0))
    every = _stances(plan, schedule, terrain, machine)
    for _, _, places, shift in every:
        assert places.blocked == np.inf
        assert np.abs(shift).max() < 1e-4
    assert every


def test_of_footholds_the_nearest_free_one_is_taken() -> None:
    shifts = np.array([0.02, -0.1, 0.2])
    free, none = np.zeros(3), np.zeros(3)
    assert Footholds(shifts, free, none, none).best == 0.02
    assert Footholds(shifts, np.array([0.05, 0.0, 0.0]), none, none).best == -0.1
    # a centimeter in the way is borne where the next place is farther than it is worth
    assert Footholds(shifts, np.array([0.9 * 0.08 * SHIFT_COST, 0.0, 0.0]), none, none).best == 0.02


def test_a_hip_has_more_room_above_a_foot_that_is_nearer(walk) -> None:
    _, schedule, terrain, machine = _plan(walk, "slope:5")
    foot, track = machine.footing.feet[0], schedule.track
    room = headroom(track, machine.character, terrain, foot, slice(None), np.array([[-0.1], [0.0], [0.1]]))
    ankle = machine.character.contact_points[foot[0]].body
    thigh = next(x for x in machine.character.limbs if ankle in x.bodies).bodies[0]
    ahead = (track.bodies[:, ankle] - track.bodies[:, thigh])[:, :2] @ terrain.forward
    assert (room[1] > -1e-9).all()  # as the clip has it, the leg reaches
    assert (room[0] > room[1])[ahead > 0.1].all()
    assert (room[2] > room[1])[ahead < -0.1].all()
    assert (ahead > 0.1).any()
    assert (ahead < -0.1).any()


def test_a_foot_needs_time_to_come_down(walk) -> None:
    """A point slides forward at 1 m/s and stands from x = 1 on; it has passed a drop of 0.4 m some way before that."""
    _, schedule, _, machine = _plan(walk, "slope:5")
    frames, (foot, dt) = 120, (machine.footing.feet[0], 0.01)
    points = np.zeros((frames, schedule.flags.shape[1], 3))
    points[:, foot, 0] = np.minimum(dt * np.arange(frames), 1.0)[:, None]
    flags = np.zeros(points.shape[:2], dtype=bool)
    flags[100:, foot] = True
    bodies = np.zeros((frames, len(machine.character.bodies), 3))
    track = Track(points, flags, bodies, bodies[:, 0], 0.0, dt)
    drop, behind = 0.4, 0.1
    terrain = Terrain.step(-drop, distance=1.0 - behind).placed(origin=(0.0, 0.0), heading=0.0)
    places = footholds(track, machine.character, terrain, foot, slice(100, frames), 0.3)
    speed = FALL_SPEED * machine.scale**0.5
    beyond = places.shifts + behind  # the edge was passed so long ago, at 1 m/s
    on_lower = beyond > 0.0
    expected = np.maximum(drop - speed * beyond, 0.0)
    # the last frame before the edge is up to one frame earlier
    assert np.abs(places.hurry - expected)[on_lower].max() < 1.01 * speed * dt
    assert on_lower.any()
    assert places.hurry[on_lower].max() > 0.1


def test_nothing_is_planned_for_level_ground(walk) -> None:
    motion, character = walk
    machine = SimulatedCharacter(
        character, load_preset("recommended"), Terrain.flat(), Options(), dt=motion.dt, floor=character.floor
    )
    _, schedule, _, _ = _plan(walk, "slope:5")
    assert machine.plan(schedule.track) is None


def test_ground_that_begins_far_away_changes_nothing(walk) -> None:
    motion, character = walk
    run = simulate(motion, character, terrain=Terrain.step(0.5, distance=1e3))
    assert run.report["deviation"]["joint_angle_max_deg"] < 1e-6
    assert run.report["deviation"]["root_position_max_m"] < 1e-9


def test_starts_level_looks_at_low_points_only(walk) -> None:
    terrain = Terrain.step(0.2, distance=0.5).placed(origin=(0.0, 0.0), heading=0.0)
    assert starts_level(np.array([[0.0, 0.0, 0.1], [1.0, 0.0, 1.5]]), terrain, 0.0, 1.0)
    assert not starts_level(np.array([[0.0, 0.0, 0.1], [1.0, 0.0, 0.5]]), terrain, 0.0, 1.0)


@pytest.mark.parametrize(
    ("spec", "penetration", "floating"), [("slope:20", 0.02, 0.03), ("stairs:0.2,0.6", 0.05, 0.05)]
)
def test_the_sample_walk_meets_the_bars(walk, spec: str, penetration: float, floating: float) -> None:
    contact = simulate(*walk, terrain=Terrain.parse(spec)).report["contact"]
    assert contact["penetration_p95_m"] <= penetration
    assert contact["float_p95_m"] <= floating
