"""Cycles of locomotion cut out of clips: when each leg stands, where the body goes, which way it faces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from poise.analysis.forces import touching
from poise.body.anatomy import side_of, twins_of, without_side
from poise.body.character import Character, fit
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton, world_pose
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.phases import (
    contact_flags,
    contact_limits,
    direction_of_travel,
    facing,
    find_loop,
    off_the_spot,
    repeat,
)
from poise.phases.points import pelvis, runs, velocities
from poise.terrain import Terrain

PHASES = 64
"""Phases at which a cycle is stored."""
AHEAD = math.radians(15.0)
"""Who goes this near to where the body faces, goes ahead [rad]."""
SHORTEST, LONGEST = 0.2, 2.5
"""How long a cycle may last, for a leg of 0.82 m [s]."""
CLOSED = math.radians(12.0)
"""Ends of a cycle that differ by more than this are not a cycle [rad, rms over the joints]."""
STANDING_SPEED = 0.04
"""A body stands if it moves slower than this, as a share of √(g · leg) [1]."""
SHORTEST_STAND, LONGEST_STAND = 0.3, 4.0
"""How long a stand has to last to be used, and how much of it is, for a leg of 0.82 m [s]."""
STAND_RATE = 30.0
"""Frames of a stand, for a leg of 0.82 m [1/s]."""
ROUNDS = 3
"""A clip that loops is played so often, to find cycles across its seam."""
GAP = 0.06
"""A leg that lifts for less than this has not lifted, for a leg of 0.82 m [s]."""
MOST_SLIDE = 0.5
"""A standing foot that slides more than this share of the velocity does not stand [1]."""
LIMP = 0.15
"""Legs of two that step at most so far off half a cycle are brought to it [1]."""
LOW, SLOW = 0.12, 0.25
"""A foot touches below this part of the height it swings through, and of the speed it swings at [1]."""
SYMMETRIC = 0.06
"""How far the rest pose may be from its mirror image for clips to be mirrored, as a share of the leg [1]."""


@dataclass(frozen=True, eq=False)
class Cycle:
    """One cycle as seen from the particle that it follows, which moves and turns steadily.

    Attributes:
        translations: Of the joints in their parents; of joint 0 in the particle's frame (x ahead, y left, z up from the
            floor), shape (PHASES, J, 3) [m]. The last phase is followed by the first.
        rotations: The same, shape (PHASES, J, 4).
        velocity: Ahead and to the left [m/s], and turning to the left [rad/s], shape (3,).
        rate: Cycles in a second [1/s].
        middle: Phase in the middle of each leg's stance, 0 … 1, shape (L,).
        duty: Part of the cycle in which each leg stands, 0 … 1, shape (L,).
        carried: Velocity ahead and to the left at which the particle would have to go for the standing foot of each leg
            not to slide [m/s], shape (L, 2). That of the particle where feet do not slide.
    """

    translations: Array
    rotations: Array
    velocity: Array
    rate: float
    middle: Array
    duty: Array
    carried: Array


@dataclass(frozen=True, eq=False)
class Clip:
    """A clip that goes somewhere, seen as its feet see it.

    Attributes:
        motion: Over ground: a clip on the spot moves ahead as fast as its feet slide back.
        legs: When each leg touches, shape (F, L).
        heading: Of the pelvis [rad], not wrapped, shape (F,).
        place: Of the pelvis over the ground [m], shape (F, 2).
        floor: Height of the floor [m].
        feet: For each leg, the points of its foot: joint and place in the joint's frame [m].
    """

    motion: Motion
    feet: list[list[tuple[int, Array]]]
    legs: Flags
    heading: Array
    place: Array
    floor: float


def clips_of(motions: Sequence[Motion], character: Character) -> list[Clip]:
    """The clips with contacts and headings; a heading of 0 faces world +x.

    Args:
        motions: Of one skeleton.
        character: Fitted to all of them.
    """
    ahead = [over_ground(m) for m in motions]
    root = pelvis(character.skeleton)
    reference = ahead[0].world[1][0, root]
    raw = [np.unwrap(rotations.yaw_between(reference, m.world[1][:, root])) for m in ahead]
    # what the reference faces: each clip says it of its first second
    said = []
    for motion, heading in zip(ahead, raw, strict=True):
        faces, goes = facing(motion), direction_of_travel(motion)
        # one that goes about where it faces, goes ahead
        faces = goes if abs(math.remainder(goes - faces, 2.0 * math.pi)) < AHEAD else faces
        said.append(faces - float(np.mean(heading[motion.times <= 1.0])))
    offset = math.atan2(float(np.mean(np.sin(said))), float(np.mean(np.cos(said))))
    return [_clip(m, h + offset, character) for m, h in zip(ahead, raw, strict=True)]


def over_ground(motion: Motion) -> Motion:
    """The motion moved ahead as fast as its feet slide back, and repeated if it loops: cycles go over the seam."""
    return off_the_spot(repeat(motion, ROUNDS) if find_loop(motion).is_loop else motion)


def _clip(motion: Motion, heading: Array, character: Character) -> Clip:
    floor = fit(motion).floor
    touch = touching(motion, character, terrain=Terrain.flat(floor))
    place = motion.world[0][:, pelvis(motion.skeleton)]
    height_limit, speed_limit = contact_limits(velocities(place, motion.times), character.leg_length)
    speed = np.linalg.norm(touch.velocities, axis=-1)
    # drawn feet slide and float: what counts as low and slow goes with how high and fast each foot swings
    low = touch.gaps.min(axis=0)
    flags = contact_flags(
        touch.points,
        touch.velocities,
        touch.gaps - np.maximum(low, 0.0),
        height_limit=np.maximum(height_limit, LOW * np.ptp(touch.gaps, axis=0)),
        speed_limit=np.maximum(speed_limit, SLOW * np.percentile(speed, 95, axis=0)),
    )
    shortest = round(GAP * min(1.0, math.sqrt(character.leg_scale)) / motion.dt)
    legs, feet = [], []
    for limb in (b.name for b in character.limbs if b.kind == "leg"):
        mine = [i for i, name in enumerate(touch.supports) if name == limb and touch.is_foot[i]]
        legs.append(_without_gaps(np.asarray(flags[:, mine].any(axis=1)), shortest))
        points = [character.contact_points[i] for i in mine]
        feet.append([(character.bodies[p.body].joint, p.offset) for p in points])
    return Clip(motion, feet, np.stack(legs, axis=1), heading, place[:, :2], floor)


def _without_gaps(flags: Flags, longest: int) -> Flags:
    out = flags.copy()
    for first, last in runs(~flags):
        if last - first + 1 <= longest and first > 0 and last < len(flags) - 1:
            out[first : last + 1] = True
    return out


def cycles_of(clip: Clip, size: float) -> list[Cycle]:
    """The cycles of a clip, each from the middle of a stance of one leg to the middle of its next.

    Those of all legs are given, with phase 0 in the middle of the first leg's stance.

    Args:
        clip: The clip.
        size: Leg length over 0.82 m [1]; times go with its root.
    """
    # drawn giants step as quickly as people
    quick, slow = min(1.0, math.sqrt(size)), max(1.0, math.sqrt(size))
    shortest, longest, dt = SHORTEST * quick, LONGEST * slow, clip.motion.dt
    found = []
    for leg in range(clip.legs.shape[1]):
        stances = [(a, b) for a, b in runs(clip.legs[:, leg]) if a > 0 and b < len(clip.legs) - 1]
        for (a, b), (c, d) in pairwise(stances):
            start, period = 0.5 * (a + b) * dt, 0.5 * (c + d - a - b) * dt
            if shortest <= period <= longest and max(b - a, d - c) * dt < 0.9 * period:
                cycle = _cycle(clip, start, period)
                found += [] if cycle is None else [cycle]
    return found


def _cycle(clip: Clip, start: float, period: float) -> Cycle | None:
    """One cycle with its ends made to meet; None if they are too far apart."""
    grid = np.arange(PHASES + 1) / PHASES
    times = start + period * grid
    middle, duty = _stances(clip, times[:-1], grid[:-1])
    if duty.min() == 0.0:
        return None
    if len(middle) == 2:
        # two legs step half a cycle apart in all examples
        other = float(middle[np.argmax(np.abs(np.remainder(middle + 0.5, 1.0) - 0.5))])
        if abs(other - 0.5) < LIMP:
            times = start + period * np.interp(grid, [0.0, 0.5, 1.0], [0.0, other, 1.0])
            middle, duty = _stances(clip, times[:-1], grid[:-1])
    motion = clip.motion.resampled(times)
    heading, turn = _steady(np.interp(times, clip.motion.times, clip.heading), grid)
    place = np.stack([np.interp(times, clip.motion.times, clip.place[:, k]) for k in range(2)], axis=1)
    # ∫ R(heading) v dt = displacement, for a steady v in the turning frame
    c, s = (0.5 * (f(heading)[1:] + f(heading)[:-1]).mean() for f in (np.cos, np.sin))
    velocity = np.linalg.solve(np.array([[c, -s], [s, c]]), (place[-1] - place[0]) / period)
    path = _path(heading, velocity, period)
    path += (place - path)[:-1].mean(axis=0)
    back = rotations.from_rotation_vector(-heading[:, None] * np.array([0.0, 0.0, 1.0]))
    translations, turned = motion.translations.copy(), rotations.continuous(motion.rotations)
    from_path = translations[:, 0] - np.column_stack([path, np.full(len(path), clip.floor)])
    translations[:, 0] = rotations.rotate(back, from_path)
    turned[:, 0] = rotations.multiply(back, turned[:, 0])
    if np.sqrt(np.mean(rotations.angle_between(turned[0], turned[-1]) ** 2)) > CLOSED:
        return None
    ramp = (grid - 0.5)[:, None, None]
    turned = rotations.continuous(turned)
    translations = translations - ramp * (translations[-1] - translations[0])
    turned = rotations.normalize(turned - ramp * (turned[-1] - turned[0]))
    whole = np.array([velocity[0], velocity[1], turn / period])
    shift = round(middle[0] * PHASES)
    cycle = Cycle(
        np.roll(translations[:-1], -shift, axis=0),
        np.roll(turned[:-1], -shift, axis=0),
        whole,
        1.0 / period,
        np.remainder(middle - shift / PHASES, 1.0),
        duty,
        np.tile(velocity, (len(duty), 1)),
    )
    return replace(cycle, carried=_carried(cycle, clip))


def _carried(cycle: Cycle, clip: Clip) -> Array:
    """See `Cycle.carried`: by the point of each foot that slides least in the middle half of its stance."""
    positions, orientations = world_pose(clip.motion.skeleton, cycle.translations, cycle.rotations)
    ahead, aside, turn = cycle.velocity
    out = cycle.carried.copy()
    for leg, points in enumerate(clip.feet):
        count = max(3, round(0.5 * cycle.duty[leg] * PHASES))
        frames = (round(cycle.middle[leg] * PHASES) + np.arange(count) - count // 2) % PHASES
        slides = []
        for joint, offset in points:
            p = (positions[frames, joint] + rotations.rotate(orientations[frames, joint], offset))[:, :2]
            moves = np.polyfit(np.arange(count) / (PHASES * cycle.rate), p, 1)[0]
            x, y = p.mean(axis=0)
            slides.append(np.array([ahead - turn * y, aside + turn * x]) + moves)
        least = min(slides, key=lambda slide: float(np.hypot(*slide)))
        if np.hypot(*least) < MOST_SLIDE * np.hypot(ahead, aside):
            out[leg] -= least
    return out


def _steady(heading: Array, grid: Array) -> tuple[Array, float]:
    """The heading that turns as far in the cycle, but steadily, and how far [rad]."""
    turn = float(heading[-1] - heading[0])
    line = turn * grid
    return line + float((heading - line)[:-1].mean()), turn


def _path(heading: Array, velocity: Array, period: float) -> Array:
    """Where a particle of steady velocity in the turning frame goes [m], from 0, shape (n, 2)."""
    c, s = np.cos(heading), np.sin(heading)
    world = np.stack([c * velocity[0] - s * velocity[1], s * velocity[0] + c * velocity[1]], axis=1)
    steps = 0.5 * (world[1:] + world[:-1]) * (period / (len(heading) - 1))
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])


def _stances(clip: Clip, times: Array, grid: Array) -> tuple[Array, Array]:
    """Middle and part of each leg's stance, shape (L,) each; a leg never down stands for a moment of no length."""
    index = np.clip(np.searchsorted(clip.motion.times, times - 0.5 * clip.motion.dt), 0, len(clip.legs) - 1)
    down = clip.legs[index].astype(np.float64)
    angle = 2.0 * np.pi * grid[:, None]
    middle = np.arctan2((down * np.sin(angle)).sum(axis=0), (down * np.cos(angle)).sum(axis=0)) / (2.0 * np.pi)
    return np.remainder(middle, 1.0), down.mean(axis=0)


def stand_of(clip: Clip, leg: float) -> Motion | None:
    """The longest time in which all legs are down and the body is still, in the particle's frame; None if too short."""
    size = math.sqrt(leg / HUMAN_LEG)
    motion = clip.motion
    speed = np.linalg.norm(velocities(clip.place, motion.times), axis=1)
    still = clip.legs.all(axis=1) & (speed < STANDING_SPEED * math.sqrt(GRAVITY * leg))
    spans = sorted(runs(still), key=lambda s: s[0] - s[1])
    if not spans or (spans[0][1] - spans[0][0]) * motion.dt < SHORTEST_STAND * min(1.0, size):
        return None
    first, last = spans[0]
    # away from the steps before and after
    margin = int(0.15 * (last - first))
    start, end = motion.times[first + margin], motion.times[last - margin]
    end = min(end, start + LONGEST_STAND * size)
    times = np.arange(start, end, size / STAND_RATE)
    cut = motion.resampled(times)
    heading = float(np.interp(times, motion.times, clip.heading).mean())
    place = np.array([np.interp(times, motion.times, clip.place[:, k]).mean() for k in range(2)])
    back = rotations.from_rotation_vector(np.array([0.0, 0.0, -heading]))
    translations, turned = cut.translations.copy(), cut.rotations.copy()
    translations[:, 0] = rotations.rotate(back, translations[:, 0] - np.array([*place, clip.floor]))
    turned[:, 0] = rotations.multiply(back, turned[:, 0])
    return replace(cut, times=times - times[0], translations=translations, rotations=turned, source=None)


def mirrored(motion: Motion) -> Motion | None:
    """The motion as a mirror shows it, left for right; None for a skeleton whose rest pose is not symmetric.

    A joint's turn from rest is reflected and given to its twin: R'_j = S R_k R_k,rest⁻¹ S R_j,rest in the world. Joints
    that the file moves go to the reflected places of their twins.
    """
    skeleton = motion.skeleton
    found = _symmetry(skeleton)
    if found is None:
        return None
    twin, normal = found
    _, rest = skeleton.rest
    positions, orientations = motion.world
    turn = rotations.multiply(orientations, rotations.conjugate(rest))[:, twin]
    # a reflected turn: its axis goes to the other side of the plane, and turns the other way
    turn = turn.copy()
    turn[..., 1:] = -_reflected(turn[..., 1:], normal)
    world = rotations.multiply(turn, rest)
    places = _reflected(positions[:, twin], normal)
    parents = skeleton.parents
    translations, turned = motion.translations.copy(), world.copy()
    for j in range(skeleton.joint_count):
        parent = int(parents[j])
        if parent < 0:
            translations[:, j] = places[:, j]
            continue
        back = rotations.conjugate(world[:, parent])
        turned[:, j] = rotations.multiply(back, world[:, j])
        if np.abs(np.ptp(motion.translations[:, twin[j]], axis=0)).max() > 1e-6:
            translations[:, j] = rotations.rotate(back, places[:, j] - places[:, parent])
    return replace(motion, translations=translations, rotations=rotations.normalize(turned), source=None)


def _reflected(x: Array, normal: Array) -> Array:
    return x - 2.0 * (x @ normal)[..., None] * normal


def _symmetry(skeleton: Skeleton) -> tuple[Index, Array] | None:
    """Twin of each joint (its own where it has none) and the normal of the plane between the sides, shape (3,)."""
    sided = {(side_of(n), without_side(n)): j for j, n in enumerate(skeleton.names) if side_of(n)}
    twins = dict(twins_of(skeleton.names))
    for (side, name), j in sided.items():
        if (other := sided.get(("right" if side == "left" else "left", name))) is not None:
            twins[j] = (side, other)
    positions, _ = skeleton.rest
    left = [(j, other) for j, (side, other) in twins.items() if side == "left"]
    across = np.array([positions[a] - positions[b] for a, b in left]).reshape(-1, 3).sum(axis=0)
    across[2] = 0.0
    if np.linalg.norm(across) < 1e-6:
        return None
    normal = across / np.linalg.norm(across)
    twin: Index = np.arange(skeleton.joint_count)
    for j, (_, other) in twins.items():
        twin[j] = other
    center = positions[pelvis(skeleton)]
    image = _reflected(positions - center, normal)[twin] + center
    reach = float(np.linalg.norm(np.ptp(positions, axis=0)))
    off = float(np.abs(image - positions).max())
    return (twin, normal) if off < SYMMETRIC * reach else None
