"""A locomotion controller as data: cycles by velocity and phase, made from clips, kept in one file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from poise.body.character import Character, fit
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import world_pose
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.legs import Leg, find_legs, solve_legs
from poise.locomotion.cycles import PHASES, Cycle, clips_of, cycles_of, mirrored, stand_of

KEY = "locomotion"
"""Name under which the table of a controller stands in its file."""
MEAN_STAND = "the mean pose of the slowest walk is used instead"
"""What a file notes that was built when a stand was still the mean pose of a walk: its figure crouches, arms ahead."""
MOST = 64
"""Examples that are kept at most; of more, those closest to others are left out."""
WIDTH = 0.1
"""Least width of a kernel, as a share of √(g · leg) [1]."""
APART = 0.3
"""Width of a kernel, as a share of the way to the nearest example that is farther than the least width [1]."""
OTHER_BONES = 0.3
"""Clips whose skeletons differ in more than this share of the joints are of different figures [1]."""
ALIKE = 0.01
"""Cycles nearer to each other than this are one, as a share of √(g · leg) [1]."""
SLOW_WALK = 0.05
"""Speed below which nothing walks ahead, as a share of √(g · leg) [1]."""
SMALL_STEP = 0.5
"""Speed of the steps made for directions without example, as a share of the slowest walk's [1]."""


@dataclass(frozen=True, eq=False)
class Locomotion:
    """Examples of how a figure moves at each velocity, ready for `Walker`.

    Example:
        >>> examples = poise.locomotion.build([poise.load(poise.sample_path("walk"))])
        >>> examples.save("walker.npz")

    The examples are frames of one motion, so that the file is one that any command reads. N cycles of PHASES frames
    come first, then the S frames of a stand. Joint 0 is placed as seen from the particle that the figure follows.

    Attributes:
        motion: All frames.
        velocities: For which velocity each cycle is meant: ahead and to the left [m/s], turning left [rad/s], (N, 3).
        carried: Velocity at which the feet of each leg do not slide: ahead, to the left [m/s], shape (N, L, 2).
        turns: How fast each cycle turns; those that were made up do not [rad/s], shape (N,).
        rates: Cycles in a second [1/s], shape (N,).
        middle: Phase of the middle of each leg's stance, shape (N, L).
        duty: Part of the cycle in which each leg stands, shape (N, L).
        legs: Legs that can be bent, by number of the leg.
        leg_length: Hip to sole [m].
        notes: What was made up, in sentences.
    """

    motion: Motion
    velocities: Array
    carried: Array
    turns: Array
    rates: Array
    middle: Array
    duty: Array
    legs: dict[int, Leg]
    leg_length: float
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of cycles, N."""
        return len(self.rates)

    @cached_property
    def tempo(self) -> float:
        """Times go with the root of the size: 1 for a leg of 0.82 m [1]."""
        return math.sqrt(self.leg_length / HUMAN_LEG)

    @cached_property
    def scale(self) -> Array:
        """What makes velocities and turning comparable: a turn of 1 rad/s counts as a leg length a second, (3,)."""
        return np.array([1.0, 1.0, self.leg_length])

    @cached_property
    def fastest(self) -> float:
        """Speed of the fastest example [m/s]."""
        return float(np.linalg.norm(self.velocities[:, :2], axis=1).max())

    @cached_property
    def walk(self) -> float:
        """Speed of the slowest example that goes straight ahead [m/s]."""
        return float(self.velocities[_slowest(self.velocities, self.leg_length), 0])

    @cached_property
    def poses(self) -> tuple[Array, Array]:
        """Rows of numbers that are blended: joint rotations, then translations that change.

        Quaternions of one joint lie in one hemisphere, so that their weighted sum is a mean.

        Returns:
            Of the cycles, shape (PHASES + 1, N, D), the last row the first again, and of the stand, shape (S, D).
        """
        count, joints = self.motion.frame_count, self.motion.skeleton.joint_count
        turned = self.motion.rotations.copy()
        turned[np.sum(turned * self.reference, axis=-1) < 0.0] *= -1.0
        moved = self.motion.translations[:, self.moving]
        rows = np.concatenate([turned.reshape(count, 4 * joints), moved.reshape(count, -1)], axis=1)
        cycles = rows[: self.count * PHASES].reshape(self.count, PHASES, -1).transpose(1, 0, 2)
        return np.ascontiguousarray(np.concatenate([cycles, cycles[:1]])), rows[self.count * PHASES :].copy()

    @cached_property
    def reference(self) -> Array:
        """A mean rotation of each joint, shape (J, 4)."""
        return rotations.mean(self.motion.rotations)

    @cached_property
    def moving(self) -> Index:
        """Joints that are moved, not only turned."""
        spread = np.ptp(self.motion.translations, axis=0).max(axis=1)
        spread[0] = np.inf
        return np.flatnonzero(spread > 1e-6 * self.leg_length)

    @cached_property
    def tables(self) -> tuple[Array, Array, float]:
        """What is asked of every example at once.

        Returns:
            Rows whose product with (1, θ, ‖θ‖²) is the logarithm of a weight, shape (N, 5), with θ in the units of
            `scale`; rate, how far the example is from rest, turn, and what it carries, shape (N, 3 + 2 L); and the
            least such distance at which examples are asked, that of the slowest walk [m/s].
        """
        at = self.velocities * self.scale
        apart = np.linalg.norm(at[:, None] - at[None], axis=2)
        least = WIDTH * math.sqrt(GRAVITY * self.leg_length)
        other = np.where(apart > least, apart, np.inf).min(axis=1, initial=np.inf)
        width = np.maximum(least, np.where(np.isfinite(other), APART * other, least))
        crowd = np.exp(-0.5 * (apart / least) ** 2).sum(axis=1)
        square = np.sum(at * at, axis=1, keepdims=True)
        near = np.concatenate([square, -2.0 * at, np.ones_like(square)], axis=1) / (-2.0 * width[:, None] ** 2)
        near[:, 0] -= np.log(crowd)
        carried = self.carried.reshape(self.count, -1)
        sums = np.concatenate([self.rates[:, None], np.sqrt(square), self.turns[:, None], carried], axis=1)
        return near, sums, self.walk

    def save(self, path: str | Path) -> None:
        """Write the controller: a Poise motion (.npz) whose header holds the table."""
        import poise.io

        poise.io.save(self.motion, path)


def build(clips: Sequence[Motion], *, mirror: bool = True) -> Locomotion:
    """A locomotion controller from example clips of one skeleton.

    Cycles are found by contact (`cycles_of`); clips on the spot count as moving over ground. Where no clip goes back,
    sideways or turns in place, small steps are made up: back is the slowest walk played backwards, the others lift the
    feet as the mean of both does. Where no clip stands, a stand is made from the slowest walk, see `_made_stand`.

    Example:
        >>> clips = [poise.load(poise.sample_path("walk"))]
        >>> walker = poise.locomotion.Walker(poise.locomotion.build(clips))
        >>> pose = walker.step(velocity=(1.4, 0.0), turn=0.3)

    Args:
        clips: Walks, runs, turns, sidesteps, stands; of one skeleton.
        mirror: Use every clip mirrored, too, if the skeleton is symmetric.

    Raises:
        InvalidValue: if the skeletons differ, or no clip holds a whole cycle.

    Source: [Levine2012]_ appendix A. Deviates: turning is a third parameter beside the velocity; velocities are those
    of whole cycles whose ends were made to meet, so that their rate of change is zero; frames are interpolated to
    common phases once, not at every retrieval.
    """
    motions = _one_skeleton(clips)
    character = fit(motions)
    if not any(limb.kind == "leg" for limb in character.limbs):
        raise InvalidValue("This figure has no legs; locomotion needs feet that touch the ground.")
    mirrors = [mirrored(m) for m in motions] if mirror else []
    found = clips_of([*motions, *(m for m in mirrors if m is not None)], character)
    cycles = [c for clip in found for c in cycles_of(clip, character.leg_scale)]
    if not cycles or max(c.velocity[0] for c in cycles) < SLOW_WALK * math.sqrt(GRAVITY * character.leg_length):
        raise InvalidValue(
            "No clip holds a whole cycle that goes ahead: from one stance of a leg to its next, ending as it began. "
            "Give clips with at least two steps of each leg, or short clips that loop."
        )
    notes: list[str] = []
    cycles = _thinned(cycles, character.leg_length)
    stands = [s for clip in found if (s := stand_of(clip, character.leg_length)) is not None]
    slowest = cycles[_slowest(np.array([c.velocity for c in cycles]), character.leg_length)]
    if stands:
        # one posture, not a mean of several
        best = max(stands, key=lambda s: s.duration)
        stand = best.translations, best.rotations
    else:
        stand = _made_stand(slowest, character, motions[0])
        notes.append("no clip stands still: the stand is made from the slowest walk")
    turns = [c.velocity[2] for c in cycles]
    made = _made_up(cycles, slowest, character.leg_length, notes)
    turns += [0.0] * len(made)
    legs = find_legs(character, motions[0])
    names = [limb.name for limb in character.limbs if limb.kind == "leg"]
    return _put_together([*cycles, *made], turns, stand, {names.index(x.name): x for x in legs}, character, notes)


def _one_skeleton(clips: Sequence[Motion]) -> list[Motion]:
    """The clips on the skeleton of the first; where a file puts its root at rest does not matter."""
    if not clips:
        raise InvalidValue("No clips were given; a controller needs at least one walk.")
    first, out = clips[0].skeleton, []
    for clip in clips:
        own = clip.skeleton
        same = own.names == first.names and np.array_equal(own.parents, first.parents)
        # where controls rest may differ from clip to clip of one file; of another person, hardly a bone is the same
        odd = same and np.abs(own.offsets - first.offsets).max(axis=1) > 1e-3 * np.abs(first.offsets).max()
        if not same or np.mean(odd) > OTHER_BONES:
            name = clip.source.path if clip.source else "a clip"
            raise InvalidValue(f"{name} has another skeleton than the first clip; give clips of one figure.")
        out.append(replace(clip, skeleton=first))
    return out


def _thinned(cycles: list[Cycle], leg: float) -> list[Cycle]:
    """At most MOST cycles, none like another; of the two nearest to each other in velocity, one goes first."""
    at = np.array([c.velocity for c in cycles]) * np.array([1.0, 1.0, leg])
    apart = np.linalg.norm(at[:, None] - at[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    kept = list(range(len(cycles)))
    while len(kept) > 1:
        near = apart[np.ix_(kept, kept)].min(axis=1)
        if len(kept) <= MOST and near.min() > ALIKE * math.sqrt(GRAVITY * leg):
            break
        del kept[int(np.argmin(near))]
    return [cycles[k] for k in kept]


def _slowest(velocities: Array, leg: float) -> int:
    """The slowest example that goes straight ahead, (N, 3) given; of like ones the one that turns least."""
    x, aside = velocities[:, 0], np.abs(velocities[:, 1]) + leg * np.abs(velocities[:, 2])
    straight = (x > 2.0 * aside) & (x > SLOW_WALK * math.sqrt(GRAVITY * leg))
    if not straight.any():
        straight = x == x.max()
    like = straight & (x < 1.3 * x[straight].min())
    return int(np.argmin(np.where(like, aside, np.inf)))


def _made_stand(cycle: Cycle, character: Character, motion: Motion) -> tuple[Array, Array]:
    """A pose that stands: the mean pose of a walk, with legs and arms as they are when they are longest.

    Each leg is as in the middle of its stance, each foot below its hip and beside the other. The pelvis is higher than
    it is then: half of what the legs stretch further elsewhere in the walk is added. Each arm hangs, as where its hand
    is lowest.

    Args:
        cycle: Of the walk.
        character: Whose limbs these are.
        motion: A clip of the skeleton.

    Returns:
        Translations (1, J, 3) [m] and rotations (1, J, 4).
    """
    skeleton = character.skeleton
    translations = cycle.translations.mean(axis=0)
    turned = rotations.normalize(rotations.continuous(cycle.rotations).mean(axis=0))
    places, turns = world_pose(skeleton, cycle.translations, cycle.rotations)
    phases = np.round(cycle.middle * PHASES).astype(np.int64) % PHASES
    names = [limb.name for limb in character.limbs if limb.kind == "leg"]
    for limb in character.limbs:
        if limb.kind == "arm":
            first, last = (character.bodies[b].joint for b in (limb.bodies[0], limb.bodies[-1]))
            hangs, arm = int(np.argmin(places[:, last, 2] - places[:, first, 2])), skeleton.carried_by(first)
            turned[arm] = cycle.rotations[hangs, arm]
    legs = [leg for leg in find_legs(character, motion) if leg.name in names]
    stances = {leg: int(phases[names.index(leg.name)]) for leg in legs}
    translations[0, 2] = np.mean([cycle.translations[k, 0, 2] for k in stances.values()])
    pose = Motion(skeleton, np.zeros(1), translations[None], turned[None])
    ways = {leg: places[:, leg.hip] - places[:, leg.foot] for leg in legs}
    ahead = -np.mean([ways[leg][k, 0] for leg, k in stances.items()])
    lengths = {leg: np.linalg.norm(ways[leg], axis=1) for leg in legs}
    longer = [0.5 * (lengths[leg].max() + lengths[leg][k]) for leg, k in stances.items()]
    hips = pose.world[0][0]
    translations[0, 2] += min(
        math.sqrt(max(length**2 - ahead**2, 0.0)) - (hips[leg.hip, 2] - places[k, leg.foot, 2])
        for (leg, k), length in zip(stances.items(), longer, strict=True)
    )
    pose = replace(pose, translations=translations[None])
    hips, targets = pose.world[0][0], {}
    for leg, k in stances.items():
        joints = skeleton.carried_by(leg.hip)
        turned[joints] = cycle.rotations[k, joints]
        place = np.array([hips[leg.hip, 0] + ahead, hips[leg.hip, 1], places[k, leg.foot, 2]])
        targets[leg] = place[None], turns[k, leg.foot][None]
    solved = solve_legs(replace(pose, rotations=turned[None]), targets, np.array([0]))
    return translations[None], solved.rotations


def _made_up(cycles: list[Cycle], walk: Cycle, leg: float, notes: list[str]) -> list[Cycle]:
    """Small steps for directions that no example goes."""
    velocities = np.array([c.velocity for c in cycles]) * np.array([1.0, 1.0, leg])
    back = (-np.arange(PHASES)) % PHASES
    reverse = replace(
        walk,
        translations=walk.translations[back],
        rotations=walk.rotations[back],
        carried=-walk.carried,
        velocity=np.array([-walk.velocity[0], 0.0, 0.0]),
        middle=np.remainder(-walk.middle, 1.0),
    )
    step = SMALL_STEP * float(walk.velocity[0])
    near = rotations.continuous(np.stack([walk.rotations, reverse.rotations]))
    lifting = replace(
        walk,
        translations=0.5 * (walk.translations + reverse.translations),
        rotations=rotations.normalize(near.mean(axis=0)),
        carried=np.zeros_like(walk.carried),
    )
    made: list[Cycle] = []
    wanted = {
        "goes back": [(-walk.velocity[0], 0.0, 0.0)],
        "goes sideways": [(0.0, step, 0.0), (0.0, -step, 0.0)],
        "turns in place": [(0.0, 0.0, step / leg), (0.0, 0.0, -step / leg)],
    }
    for name, places in wanted.items():
        for place in places:
            way = np.array(place) * np.array([1.0, 1.0, leg])
            size = float(np.linalg.norm(way))
            cosine = velocities @ way / (np.linalg.norm(velocities, axis=1) * size + 1e-9)
            if (cosine > 0.8).any():
                continue
            note = f"no clip {name}: steps are made from the slowest walk"
            if note not in notes:
                notes.append(note)
            made.append(reverse if name == "goes back" else replace(lifting, velocity=np.array(place)))
    return made


def _put_together(
    cycles: list[Cycle],
    turns: list[float],
    stand: tuple[Array, Array],
    legs: dict[int, Leg],
    character: Character,
    notes: list[str],
) -> Locomotion:
    table = {
        "phases": PHASES,
        "leg_length": character.leg_length,
        "velocities": [c.velocity.tolist() for c in cycles],
        "carried": [c.carried.tolist() for c in cycles],
        "turns": [float(t) for t in turns],
        "rates": [c.rate for c in cycles],
        "middle": [c.middle.tolist() for c in cycles],
        "duty": [c.duty.tolist() for c in cycles],
        "legs": {
            str(k): [x.name, x.hip, x.knee, x.foot, x.axis.tolist(), x.axis_joint, x.is_hinge, x.foot_turns]
            for k, x in legs.items()
        },
        "notes": notes,
    }
    translations = np.concatenate([*(c.translations for c in cycles), stand[0]])
    turned = np.concatenate([*(c.rotations for c in cycles), stand[1]])
    size = math.sqrt(character.leg_length / HUMAN_LEG)
    source = Source("", "npz", "", unit=1.0, up="z", fps=PHASES / size)
    source = replace(source, evidence={KEY: Evidence(table, 1.0, "made by poise.locomotion.build")})
    times = np.arange(len(translations)) * size / PHASES
    return of_motion(Motion(character.skeleton, times, translations, turned, source))


def load(path: str | Path) -> Locomotion:
    """Read a controller that `Locomotion.save` wrote.

    Example:
        >>> examples.save("walker.npz")  # of poise.locomotion.build
        >>> again = poise.locomotion.load("walker.npz")

    Raises:
        FileFormatError: if the file is no such controller, or its parts do not fit together.
    """
    import poise.io

    motion = poise.io.load(path)
    try:
        return of_motion(motion)
    except (InvalidValue, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(
            f"This file holds no locomotion controller: {error}",
            path=path,
            cure="Make one: poise locomotion build CLIPS -o walker.npz",
        ) from error


def of_motion(motion: Motion) -> Locomotion:
    """The controller that a motion's evidence describes, with every size checked."""
    if motion.source is None or KEY not in motion.source.evidence:
        raise InvalidValue("its header has no table of examples.")
    table = motion.source.evidence[KEY].value
    rates = _numbers(table, "rates", (None,))
    count, joints = len(rates), motion.skeleton.joint_count
    middle = _numbers(table, "middle", (count, None))
    duty = _numbers(table, "duty", middle.shape)
    if table["phases"] != PHASES or motion.frame_count <= count * PHASES or count == 0 or (rates <= 0.0).any():
        raise InvalidValue(f"{motion.frame_count} frames do not hold {count} cycles of {PHASES} and a stand.")
    legs: dict[int, Leg] = {}
    for key, (name, hip, knee, foot, axis, axis_joint, is_hinge, foot_turns) in table["legs"].items():
        used = [int(x) for x in (hip, knee, foot, axis_joint)]
        if not all(0 <= j < joints for j in used) or not 0 <= int(key) < middle.shape[1] or len(axis) != 3:
            raise InvalidValue(f"leg {name!r} names joints {used} of {joints}.")
        hip, knee, foot, axis_joint = used
        direction = np.array(axis, dtype=np.float64)
        legs[int(key)] = Leg(str(name), hip, knee, foot, direction, axis_joint, bool(is_hinge), bool(foot_turns))
    leg = float(table["leg_length"])
    if not (math.isfinite(leg) and leg > 0.0):
        raise InvalidValue(f"the leg length is {leg}.")
    velocities = _numbers(table, "velocities", (count, 3))
    carried, turns = _numbers(table, "carried", (*middle.shape, 2)), _numbers(table, "turns", (count,))
    notes = tuple(map(str, table["notes"]))
    return Locomotion(motion, velocities, carried, turns, rates, middle, duty, legs, leg, notes)


def _numbers(table: dict[str, Any], name: str, shape: tuple[int | None, ...]) -> Array:
    values = np.array(table[name], dtype=np.float64)
    if values.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, values.shape, strict=True)):
        raise InvalidValue(f"{name!r} has shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InvalidValue(f"{name!r} holds a value that is not finite.")
    return values
