"""Feet of a tracked character, where they land and stand, and how a run begins."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.body.character import figure
from poise.core import rotations
from poise.core.motion import Motion
from poise.tracking import PerformanceTracker
from poise.tracking.balance import (
    Return,
    Sway,
    alarm_of,
    balance,
    calm_return,
    must_carry,
    recovery_steps,
    stillness_of,
)
from poise.tracking.calibration import standing_pose
from poise.tracking.losing import FIRST, Counts, Off, softness_after
from poise.tracking.run import recorded_actor
from poise.tracking.smooth import calmed
from poise.tracking.stance import Foot, Goal, Trunk, leans, pelvis_drop
from poise.tracking.targets import TargetGenerator
from tests.clips import first_cases, sample_clip

LEVEL = np.array([1.0, 0.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def walk() -> Motion:
    return sample_clip("walk")


@pytest.fixture(scope="module")
def walker(walk: Motion) -> poise.Character:
    return poise.Character.fit(walk)


def a_foot() -> Foot:
    points = np.zeros(0, dtype=np.int64)
    return Foot(2, points, np.zeros((0, 3)), LEVEL, 0.08, np.zeros(3), 0.9, 1.0, 1.0 / 120.0)


def test_a_foot_lands_where_it_is_placed_not_beyond() -> None:
    """How fast a foot is moved to catch the body says nothing of where it will be: that ends where it is placed."""
    foot, drift = a_foot(), np.array([0.9, -0.6])
    foot.drift = drift
    goal = Goal(np.array([0.2, 0.1, 0.1]), np.array([*drift, -0.1]), np.zeros(3), LEVEL, np.zeros(3))
    foot.decide(0.02, np.array([0.0, 0.0, -0.1]), 1.0, goal, 0.0, others=True)
    assert foot.stands
    np.testing.assert_allclose(foot.place[:2], [0.2, 0.1], atol=1e-9)
    still = a_foot()  # what the actor's foot does by itself goes on
    still.decide(0.02, np.array([0.0, 0.0, -0.4]), 1.0, goal, 0.0, others=True)
    np.testing.assert_allclose(still.place[:2], [0.2 + 0.05 * 0.9, 0.1 - 0.05 * 0.6], atol=1e-9)


def a_leg(row: int, hip: tuple[float, float, float], reach: float) -> Foot:
    return Foot(row, np.zeros(0, dtype=np.int64), np.zeros((0, 3)), LEVEL, 0.0, np.array(hip), reach, 1.0, 1.0 / 120.0)


def test_shoulders_sink_where_front_legs_do_not_reach() -> None:
    """Hips stay as high as hind legs let them; on two legs there are no shoulders that stand."""
    feet = {"left_hind": a_leg(2, (0.0, 0.1, 0.0), 0.6), "right_hind": a_leg(3, (0.0, -0.1, 0.0), 0.6)}
    assert Trunk.of(feet, LEVEL, 0.0, 0.5) is None
    feet |= {"left_fore": a_leg(4, (0.6, 0.1, 0.0), 0.5), "right_fore": a_leg(5, (0.6, -0.1, 0.0), 0.5)}
    trunk = Trunk.of(feet, LEVEL, 0.0, 0.5)
    assert trunk is not None
    places = np.array([[0.0, 0.0, 0.5], [0.3, 0.0, 0.5], [0, 0.1, 0], [0, -0.1, 0], [0.8, 0.1, 0], [0.5, -0.1, 0]])
    assert pelvis_drop(feet.values(), places, LEVEL) == pytest.approx(0.5 - np.sqrt(0.5**2 - 0.2**2))  # 4 cm
    depth, pitch = trunk.lowered(feet, places, LEVEL)
    assert depth == 0.0
    assert pitch > 0.05
    pitched = rotations.from_rotation_vector(pitch * trunk.across)
    assert pelvis_drop(feet.values(), places, pitched) < 0.002
    places[4, 0] = 1.05  # further than the trunk may pitch
    depth, pitch = trunk.lowered(feet, places, LEVEL)
    assert depth > 0.02
    assert np.tan(pitch) == pytest.approx(0.3)


def test_a_foot_that_rests_above_the_floor_stands() -> None:
    """Recordings have feet that rest some centimeters above the floor; one that is only slow and high does not."""
    at_rest = Goal(np.array([0.0, 0.1, 0.17]), np.zeros(3), np.zeros(3), LEVEL, np.zeros(3))
    for height, stands in ((0.09, True), (0.2, False)):
        foot = a_foot()
        for _ in range(60):
            over = foot.over(height, np.zeros(3), 1.0, begins=False)
            foot.decide(over, np.zeros(3), 1.0, at_rest, 0.0, others=True)
        assert foot.stands is stands
    assert a_foot().over(0.09, np.zeros(3), 1.0, begins=True) == 0.0
    assert a_foot().over(0.09, np.array([0.5, 0.0, 0.0]), 1.0, begins=True) == 0.09


def test_a_foot_of_an_actor_that_begins_lies_flat() -> None:
    """Rigs draw feet with the toes up: a run that began so stood on its heels and fell forward."""
    turn = poise.core.rotations.from_rotation_vector(np.array([0.0, -0.4, 0.0]))
    goal = Goal(np.zeros(3), np.zeros(3), np.zeros(3), turn, np.zeros(3))
    np.testing.assert_allclose(a_foot().leveled(0.0, np.zeros(3), 1.0, goal, begins=True), LEVEL, atol=1e-9)
    assert a_foot().leveled(0.0, np.zeros(3), 1.0, goal, begins=False)[2] < -0.1


def test_the_foot_under_the_weight_carries() -> None:
    """Where no standing foot explains the force on the actor, the nearest other foot must carry it."""
    left, right = a_foot(), a_foot()
    left.stands, right.row = True, 3
    places = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.15], [0.0, -0.15]])
    assert must_carry(np.array([0.0, -0.1]), (left, right), places, 0.9) is right
    assert must_carry(np.array([0.0, 0.1]), (left, right), places, 0.9) is None
    right.stands = True
    assert must_carry(np.array([0.0, -0.1]), (left, right), places, 0.9) is None
    left.stands = right.stands = False
    assert must_carry(np.array([0.0, 0.1]), (left, right), places, 0.9) is left


def test_a_low_foot_that_rises_slowly_lands_where_no_other_carries() -> None:
    """The floor of a recording is not level to the millimeter; with both feet in the air the character fell."""
    goal = Goal(np.array([0.0, 0.1, 0.08]), np.zeros(3), np.zeros(3), LEVEL, np.zeros(3))
    for others in (True, False):
        foot = a_foot()
        foot.decide(-0.03, np.array([0.1, 0.0, 0.14]), 1.0, goal, 0.0, others=others)
        assert foot.stands is not others


def two_feet() -> tuple[Foot, Foot]:
    """A left and a right foot that have stood for a while, 0.3 m apart, each with one point of a sole."""
    feet = (a_foot(), a_foot())
    for foot, side, row in zip(feet, ("left", "right"), (2, 3), strict=True):
        foot.row, foot.driver, foot.hip = row, side, np.array([0.0, 0.1 if side == "left" else -0.1, 0.0])
        foot.stands = foot.has_landed = True
        foot.rested, foot.sole = 1.0, np.zeros((1, 3))
    return feet


@pytest.mark.parametrize(
    ("velocity", "steps"), [((0.1, 0.0), None), ((0.0, -1.2), "right"), ((0.0, 1.2), "left"), ((1.2, 0.1), "right")]
)
def test_a_recovery_step_goes_where_the_body_falls(velocity: tuple[float, float], steps: str | None) -> None:
    """The capture point of then lies between the feet, four fifths of the way to the new one; feet do not cross."""
    feet, places = two_feet(), np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.15], [0.0, -0.15]])
    wanted = Sway(np.zeros(2), np.zeros(2), np.zeros(2), 0.9)
    own = wanted._replace(velocity=np.array(velocity))
    made = recovery_steps(
        feet, own, wanted, places, np.zeros(2), places[2:], LEVEL, leg=0.9, dt=1.0 / 120.0, step_reach=2.0
    )
    found = {foot.driver: step for foot, step in zip(feet, made, strict=True) if step is not None}
    assert set(found) == ({steps} if steps else set())
    if steps:
        step = found[steps]
        error, other = own.velocity / own.rate, places[3 if steps == "left" else 2]
        delta = np.array([0.0, np.clip(error[1], other[1], other[1])])  # the one point that remains
        grown = delta + (error - delta) * np.exp(own.rate * step.total)
        assert step.shift[0] == pytest.approx(1.25 * grown[0], abs=1e-9)
        landed = places[2 if steps == "left" else 3] + step.shift
        np.testing.assert_allclose(landed, other + 1.25 * (grown - other), atol=1e-9)
        assert (places[2, 1] + step.shift[1] if steps == "left" else places[2, 1]) > (
            places[3, 1] if steps == "left" else places[3, 1] + step.shift[1]
        )


def test_feet_of_a_held_character_go_under_it() -> None:
    """They went to where it would fall, targets followed them, and it ran after its own targets until it was lost."""
    own = Sway(np.array([0.1, 0.0]), np.array([3.0, 0.0]), np.zeros(2), 0.9)
    wanted = Sway(np.zeros(2), np.zeros(2), np.zeros(2), 0.9)
    targets = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.1], [0.0, -0.1]])
    for held_off, stands, least, most in (
        (None, False, 0.5, 0.6),
        (own.place, False, 0.1, 0.1),
        (own.place, True, 0.1, 0.1),
    ):
        catch, shift, feet = np.zeros(2), np.zeros(2), two_feet()
        feet[0].stands = stands
        for _ in range(60):
            found = balance(
                own,
                wanted,
                feet,
                targets,
                np.zeros(2),
                catch,
                targets[2:],
                leg=0.8,
                dt=1.0 / 120.0,
                gain=1.0,
                reach=0.03,
                step_reach=0.7,
                held_off=held_off,
            )
            catch, shift = found.catch, found.placed.shift
        assert least - 1e-3 < catch[0] < most + 1e-3
        # the way of one that is held goes with its body while a foot swings, then to where its feet stand
        assert bool(shift[0] > 0.003) == (held_off is not None and not stands)
    own = wanted._replace(place=np.array([0.05, 0.0]), velocity=np.array([1.2, 0.0]))
    made = [
        recovery_steps(
            two_feet(),
            own,
            wanted,
            targets,
            np.zeros(2),
            targets[2:],
            LEVEL,
            leg=0.9,
            dt=0.01,
            step_reach=2.0,
            is_held=x,
        )
        for x in (False, True)
    ]
    free, held = (next(step.shift[0] for step in steps if step is not None) for steps in made)
    assert free > 0.3
    assert held == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("away", "tilt", "low", "unsteady", "end"),
    [(1.5, 0.0, 0.0, 0.0, True), (1.5, 0.0, 0.0, 0.2, False), (0.9, 0.0, 0.0, 0.2, True), (0.9, 0.0, 0.0, 0.5, False),
     (0.0, 1.5, 0.0, 0.0, False), (0.0, 0.0, 0.2, 0.0, False)],
)  # fmt: skip
def test_a_held_root_is_let_go_once_the_character_is_steady(
    away: float, tilt: float, low: float, unsteady: float, *, end: bool
) -> None:
    """One that stood far from its targets with its weight on its feet was held for seconds, by no force at all."""
    off, softness = Off(away, tilt, low, 0.0), 2.0 * FIRST
    for _ in range(30):
        softness = softness_after(softness, off, unsteady, 1.0 / 120.0)
    assert (softness == 0.0) is end
    # one that fades is not held on, though it is not steady again
    unsteady_again = Off(0.5, 0.0, 0.0, 0.0)
    assert 0.0 < softness_after(0.5 * FIRST, unsteady_again, 1.0, 1.0 / 120.0) < 0.5 * FIRST


@pytest.mark.parametrize(("speed", "swung", "lands"), [(1.6, 0.3, True), (1.6, 0.1, False), (0.8, 0.3, False)])
def test_a_foot_comes_down_early_where_the_actor_lands_too_late(speed: float, swung: float, lands: bool) -> None:
    """It then waits for the actor's foot, half a second at the most."""
    feet, places = two_feet(), np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.15], [0.0, -0.15]])
    foot, dt, swings = feet[1], 1.0 / 120.0, np.array([1.0, 0.0, 0.2])
    foot.stands, foot.has_landed, foot.rested, foot.swung = False, False, 0.0, swung
    wanted = Sway(np.zeros(2), np.zeros(2), np.zeros(2), 0.9)
    own = wanted._replace(velocity=np.array([speed, 0.0]))
    made = recovery_steps(feet, own, wanted, places, np.zeros(2), places[2:3], LEVEL, leg=0.9, dt=dt, step_reach=2.0)
    assert made[0] is None
    assert (made[1] is not None) is lands
    if not lands:
        return
    foot.recovery = made[1]
    goal, steps = Goal(np.array([0.3, -0.15, 0.3]), swings, np.zeros(3), LEVEL, np.zeros(3)), 0
    while foot.recovery is not None:
        foot.recovery = foot.recovery.later(dt, foot.recovery.shift)
        foot.decide(0.2, swings, 1.0, goal, 0.0, others=True)
        steps += 1
    assert foot.stands
    assert steps * dt == pytest.approx(0.12 * np.sqrt(0.9 / 0.82), abs=2.0 * dt)
    for _ in range(50):
        foot.decide(0.2, swings, 1.0, goal, 0.0, others=True)
    assert foot.stands
    for _ in range(15):
        foot.decide(0.2, swings, 1.0, goal, 0.0, others=True)
    assert not foot.stands


@pytest.mark.parametrize(("rested", "stillness"), [(0.3, 0.0), (0.5, 0.5), (0.7, 1.0)])
def test_an_actor_stands_once_no_foot_has_moved_for_a_while(rested: float, stillness: float) -> None:
    feet = two_feet()
    feet[0].rested, feet[1].rested = 9.0, rested
    assert stillness_of(feet, 0.82) == pytest.approx(stillness)


@pytest.mark.parametrize("root", ["hard", "strict"])
@first_cases(1, "way", [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)])
def test_a_pushed_character_whose_actor_stands_takes_a_step(
    walker: poise.Character, way: tuple[float, float], root: str
) -> None:
    """Nobody holds the root, and the actor does not step: the character does, and stays up."""
    child, still = figure("child"), standing_pose(walker)
    tracker = PerformanceTracker(child, walker, root=root, recorded=np.repeat(still[None], 330, 0))
    size = 0.7 * child.mass / 0.2
    tracker.push(poise.Push("chest", (size * way[0], size * way[1], 0.0), 0.5, 0.2))
    before = {}
    for k in range(330):
        tracker.step(still)
        if k == 50:
            before = {limb: foot.shift.copy() for limb, foot in tracker.feet.items()}
    assert not tracker.counts.falls
    assert tracker.counts.fallback_steps == 0
    assert max(tracker.counts.root_force) < 1e-6
    stepped = [float(np.linalg.norm(foot.shift - before[limb])) for limb, foot in tracker.feet.items()]
    assert max(stepped) > 0.08


def test_a_pushed_character_keeps_its_head_up(walker: poise.Character) -> None:
    """The neck is not what catches the body: it hung by 34° for a quarter of a second."""
    child, still = figure("child"), standing_pose(walker)
    tracker = PerformanceTracker(child, walker, root="strict", recorded=np.repeat(still[None], 260, 0))
    tracker.push(poise.Push("chest", (-0.8 * child.mass / 0.2, 0.0, 0.0), 0.5, 0.2))
    chest, head = child.roles["chest"] + 1, child.roles["head"] + 1
    turns = []
    for _ in range(260):
        tracker.step(still)
        both = tracker.state.data.xquat[[chest, head]]
        turns.append(poise.core.rotations.multiply(poise.core.rotations.conjugate(both[0]), both[1]))
    bowed = poise.core.rotations.angle_between(np.array(turns[40:]), np.broadcast_to(turns[40], (220, 4)))
    assert np.degrees(bowed.max()) < 10.0


def test_a_step_is_calm(walker: poise.Character) -> None:
    """The trunk stays upright; after the step the feet come together again, and the character stands still."""
    child, still = figure("child"), standing_pose(walker)
    tracker = PerformanceTracker(child, walker, root="strict", recorded=np.repeat(still[None], 660, 0))
    tracker.push(poise.Push("chest", (0.0, 0.6 * child.mass / 0.2, 0.0), 0.5, 0.2))
    chest, tilts, apart = child.roles["chest"] + 1, [], []
    for _ in range(660):
        tracker.step(still)
        tilts.append(tracker.state.data.xquat[chest].copy())
        left, right = (foot.shift for foot in tracker.feet.values())
        apart.append(float(np.linalg.norm(left - right)))
    up = poise.core.rotations.rotate(
        poise.core.rotations.multiply(np.array(tilts), poise.core.rotations.conjugate(tilts[0])),
        np.array([0.0, 0.0, 1.0]),
    )
    assert not tracker.counts.falls
    assert np.degrees(np.arccos(up[:, 2].min())) < 25.0
    assert apart[-1] < 0.06 < 0.5 * max(apart)
    assert np.abs(tracker.v[:3]).max() < 0.05


def test_a_calm_step_ends_when_balance_is_lost() -> None:
    """Weight shifts for a foot that is far off; a lost balance ends that, and nothing begins before all is still."""
    feet = two_feet()
    feet[0].shift = np.array([0.3, 0.0])
    assert calm_return(None, 0.1, 0.0, feet, 0.9, 0.01) is None
    assert calm_return(None, 0.5, 0.0, feet, 0.9, 0.01) == Return("left")
    assert calm_return(Return("left"), 0.5, 0.3, feet, 0.9, 0.01) is None
    feet[1].stands = False  # the actor lifts the foot that would stay
    assert calm_return(Return("left"), 0.5, 0.0, feet, 0.9, 0.01) is None
    feet[1].stands = True
    feet[0].shift = np.zeros(2)
    assert calm_return(None, 0.5, 0.0, feet, 0.9, 0.01) is None


def test_a_character_whose_actor_walks_is_not_alarmed() -> None:
    feet = two_feet()
    assert alarm_of(0.0, 0.3, feet, 0.9, 0.1) > 0.9
    assert alarm_of(0.0, 0.01, feet, 0.9, 0.1) == 0.0
    feet[1].rested = 0.1
    assert alarm_of(0.0, 0.3, feet, 0.9, 0.1) == 0.0


def test_a_run_that_begins_with_the_feet_apart_does_not_begin_by_falling(walk: Motion, walker: poise.Character) -> None:
    """The pelvis is as low as its legs need it from the first step on; it need not be pulled there."""
    poses = poise.motion_to_q(walker, walk.cut(1.0, 2.5))
    downward = []
    for begin in range(0, 60, 10):
        tracker = PerformanceTracker(figure("child"), walker, dt=1.0 / walk.fps, recorded=poses[begin:])
        for q in poses[begin : begin + 4]:
            tracker.step(q)
            downward.append(float(tracker.targets.acceleration[0, 2]))
    assert min(downward) > -9.81


def test_a_calmed_recording_is_calm_at_its_ends_too(walk: Motion, walker: poise.Character) -> None:
    q = poise.motion_to_q(walker, walk)
    ends = []
    for seed in range(24):
        noisy = q.copy()
        noisy[:, :3] += np.random.default_rng(seed).normal(0.0, 0.005, (len(q), 3))
        ends.append(calmed(walker, noisy, walk.fps).q[[0, -1], :3])
    assert float(np.std(ends, axis=0).mean()) < 0.0045  # of 5 mm


def test_a_character_that_is_down_but_has_not_fallen_is_not_complete(
    walker: poise.Character, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pelvis that stays far lower than the actor's is a crumpled character; a short dip is none."""
    counts = Counts()
    for low, lean, steps, complete in (
        (0.3, 0.0, 20, True),
        (0.1, 0.5, 1, True),
        (0.0, 0.7, 20, True),
        (0.3, 0.0, 20, False),
    ):
        for _ in range(steps):
            counts.see(low, lean, 0.01)
        assert counts.is_complete is complete
    still = standing_pose(walker)
    for lowered, complete in ((0.0, True), (0.3, False)):
        tracker = PerformanceTracker(walker, walker, actor_standing=still)
        monkeypatch.setattr(TargetGenerator, "sunk", lowered * walker.leg_length)
        for _ in range(60):
            tracker.step(still)
        assert not tracker.counts.falls
        assert tracker.counts.is_complete is complete


def test_a_turn_about_the_vertical_is_no_lean() -> None:
    turned = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.2]))
    tilted = rotations.multiply(turned, rotations.from_rotation_vector(np.array([0.0, 0.4, 0.0])))
    assert leans(LEVEL, turned) == pytest.approx(0.0, abs=1e-6)
    assert leans(LEVEL, tilted) == pytest.approx(0.4)


@pytest.mark.parametrize("frame", [25, 90])
def test_a_run_begins_on_the_ground_though_the_toes_of_a_foot_leave_it(
    walk: Motion, walker: poise.Character, frame: int
) -> None:
    """A foot that leaves the ground is pitched and its toes bend: straight ones lifted the whole body by up to 5 cm."""
    poses = poise.motion_to_q(walker, walk)[frame:]
    tracker = PerformanceTracker(walker, walker, dt=walk.dt, recorded=poses)
    tracker.step(poses[0])
    tracker.state.at(tracker.q, tracker.v)
    standing = [foot for foot in tracker.feet.values() if foot.stands]
    assert standing
    for foot in standing:
        assert tracker.state.points[foot.points, 2].min() < 0.005


@first_cases(1, "start", [0.3, 0.0, 0.75])
def test_a_run_begins_with_knees_that_bend_as_they_can(walk: Motion, walker: poise.Character, start: float) -> None:
    """They began bent backward by up to 40 degrees, and the first step threw the body up by 20 times gravity."""
    given = recorded_actor(walk.cut(start, start + 0.2))
    tracker = PerformanceTracker(walker, given.character, root="strict", floor=0.0, **given.since(given.begin))
    tracker.step(given.poses[given.begin])
    limits = tracker.lists.joint_limits
    now, still = limits.angles(tracker.q), limits.angles(tracker.standing)
    past = np.maximum(np.minimum(limits.lower, still) - now, now - np.maximum(limits.upper, still))
    assert past.max() < 0.1
    tracker.state.at(tracker.q, tracker.v)
    low = tracker.state.points[:, 2] < 1e-3
    assert tracker.state.point_velocities[low, 2].min() > -0.01
    before = tracker.v.copy()
    tracker.step(given.poses[given.begin + 1])
    assert not tracker.is_beginning
    changed = np.abs(tracker.v - before) / tracker.dt
    assert changed[:3].max() < 15.0
    assert changed[6:].max() < 500.0


def test_a_trunk_on_four_legs_does_not_bow_as_deep_as_a_person() -> None:
    trunk = Trunk(("a",), ("b",), 0.5, 0.0, np.array([0.0, 1.0, 0.0]))
    ahead = rotations.from_rotation_vector(np.array([0.0, 0.0, 0.7]))
    for pitch, kept in ((0.2, 0.2), (0.8, 0.3), (-0.8, -0.3)):
        turn = rotations.multiply(ahead, rotations.from_rotation_vector(np.array([0.0, pitch, 0.0])))
        spin = rotations.rotate(ahead, np.array([0.0, 2.0, 0.0])) + np.array([0.0, 0.0, 1.0])
        bounded, left = trunk.bounded(turn, spin, LEVEL)
        off = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(ahead), bounded))
        np.testing.assert_allclose(off, [0.0, kept, 0.0], atol=1e-9)
        np.testing.assert_allclose(left, spin if pitch == kept else [0.0, 0.0, 1.0], atol=1e-9)
