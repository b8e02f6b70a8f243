"""Where a motion goes, whether it goes round, and going round again."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.core.units import HUMAN_LEG
from poise.phases.glitches import glitch_frames
from poise.phases.points import body_points, is_armature, leg_length, pelvis, runs, velocities

TRAVEL = 0.5
"""A motion goes somewhere if it gets this many leg lengths away from its start [1]."""
AHEAD = 2.5
"""Where a motion goes is read off this many leg lengths from its start [1]."""
SLIDE, SLIDE_STEADY, SLIDE_ALONG = 0.25, 0.7, 0.7
"""Feet slide as on a treadmill if the lowest point moves at this speed [m/s], for a leg of 0.82 m, on the whole in
one direction: mean velocity over mean speed, or share of the frames in which it goes within this cosine of it [1]."""
AT_FLOOR, AT_FLOOR_OFTEN = 0.03, 0.3
"""Points up to this height above the lowest level carry the body [leg lengths]; a swinging foot is higher. If they do
so only once, it must be in this share of the frames [1]."""
RESTS, OFTEN_AT_REST = 0.3, 0.6
"""The floor rests if a low point moves slower than the first, as a share of the slide, in more than the second of the
frames [1]."""
ALL_AHEAD = 0.2
"""If all points at the floor go against the slide in this share of the frames that have any [1], the body goes to and
fro and nothing walks: while a foot swings ahead, another one stands."""
FEWEST = 8
"""Fewer frames show no walk [1]."""
STANCE_BAND, STANCE_SPREAD = 0.08, (0.15, 0.05)
"""A point that stands is at most so high above the lowest level [leg lengths], and its velocity stays within this share
of its speed [1] and this speed more [m/s], for a leg of 0.82 m."""
STANCE_SHARE, STANCE_LONGER = 0.5, 2.0
"""Standing feet slide in more than this share of the frames, and in so many times more than feet that swing low move
at one velocity [1]."""
LOOP_ANGLE, LOOP_TURN_RATE = math.radians(6.0), 3.0
"""Ends agree if the poses do to this angle [rad, rms], and how joints turn to this rate [rad/s, rms] or as much as
they turn by there."""
CLOSED = math.radians(0.5)
"""Ends of a cycle that was closed on purpose are no further off [rad, rms]."""
AT_REST = 0.5
"""A figure whose joints turn more slowly than this stands still [rad/s, rms]."""
SAME_ANGLE = math.radians(0.1)
"""Ends this near to each other were made to meet [rad, rms]."""
ASKED_ANGLE = math.radians(15.0)
"""Ends this near to each other are brought together for whoever asks for rounds [rad, rms]."""
LABELED_ANGLE = math.radians(20.0)
"""The same where the file says that it loops [rad, rms]."""


@dataclass(frozen=True)
class Loop:
    """How the last frame of a motion joins the first.

    Attributes:
        is_loop: True if playing it again and again shows no seam worth speaking of.
        offset: What one round moves the body by, in the frame of the start heading at the origin [m], shape (3,).
        turn: What one round turns it by about the vertical [rad].
        repeats_first: True if the last frame is the first one over again; else the next round begins a frame later.
        mismatch: Root mean square angle between the ends, or between the last and the first less one step [rad].
        rate: How fast the joints turn at the ends, root mean square [rad/s].
        reason: In words.
    """

    is_loop: bool
    offset: Array
    turn: float
    repeats_first: bool
    mismatch: float
    rate: float
    reason: str

    @property
    def is_closed(self) -> bool:
        """True if its ends meet: it was made to go on with its own start, or to come back to it."""
        return self.is_loop and self.mismatch < CLOSED

    @property
    def is_cycle(self) -> bool:
        """True if its ends meet in motion, as those of a walk do; a jump that begins and ends at rest is none."""
        return self.is_closed and self.rate > AT_REST


def root_path(motion: Motion) -> Array:
    """World positions of the pelvis in the frames outside glitches, shape (F', 3) [m]."""
    path = motion.world[0][:, pelvis(motion.skeleton)]
    good = ~glitch_frames(motion)
    return path[good] if good.any() else path


def in_place_velocity(motion: Motion) -> Array:
    """Velocity of the ground under a motion that walks on the spot, shape (3,) [m/s]; zeros for all others.

    The lowest joint or tip of each frame is where the body stands, and in a loop all that are at the lowest level. If
    that slides at a steady speed in one direction, while the pelvis stays where it is, the motion is that of a
    treadmill. A single limb is not enough: a tail that swings below a flying body is not a foot. Nor does anything walk
    where a low point stands still, or where the whole body lunges and comes back. Toes that swing may dip below those
    that stand: if low points keep one velocity the other way for much longer, that is the stance.
    """
    if "in_place_velocity" not in motion.found:
        motion.found["in_place_velocity"] = _in_place_velocity(motion)
    return motion.found["in_place_velocity"].copy()


def off_the_spot(motion: Motion) -> Motion:
    """A motion that walks on the spot moved ahead as fast as its feet slide back; any other as it is."""
    slide = in_place_velocity(motion)
    if not np.any(slide):
        return motion
    moved = motion.translations.copy()
    moved[:, 0] -= motion.times[:, None] * slide
    return replace(motion, translations=moved, source=None)


def _in_place_velocity(motion: Motion) -> Array:
    path = root_path(motion)
    still = np.zeros(3)
    if motion.frame_count < FEWEST:
        return still
    leg = leg_length(motion.skeleton)
    positions, joints = body_points(motion)
    is_body = np.array([not is_armature(motion, j) for j in joints.tolist()])
    positions, joints = positions[:, is_body], joints[is_body]
    velocity = velocities(positions, motion.times)
    good = np.flatnonzero(~glitch_frames(motion))
    if 2 * len(good) < motion.frame_count or len(good) < FEWEST:  # a short, quick cycle as drawn
        good = np.arange(motion.frame_count)
    height, flat = positions[good, :, 2], velocity[good, :, :2]
    lowest = height.min(axis=1)
    under = np.zeros(height.shape, dtype=bool)
    under[np.arange(len(good)), np.argmin(height, axis=1)] = True
    ways = [under]
    at_floor, band = (height < np.percentile(lowest, 10.0) + share * leg for share in (AT_FLOOR, STANCE_BAND))
    # if it goes round, what is at the floor tells it, too, though the body flies between
    if find_loop(motion).mismatch < LOOP_ANGLE:
        ways.insert(0, at_floor)
    size = leg / HUMAN_LEG
    least = SLIDE * min(size, math.sqrt(size))  # a small figure may be one drawn at another scale
    for under in ways:
        sliding = flat[under]
        pace = float(np.median(np.linalg.norm(sliding, axis=1)))
        mean = np.median(sliding, axis=0)
        speed = float(np.linalg.norm(mean))
        carried = float(np.linalg.norm(path[-1, :2] - path[0, :2])) / max(motion.duration, 1e-9)
        way = (sliding @ mean) > SLIDE_ALONG * speed * np.linalg.norm(sliding, axis=1)
        steady = max(speed / max(pace, 1e-9), float(np.mean(way)))  # a foot that swings low goes the other way, fast
        slides = speed > least and steady > SLIDE_STEADY and carried < 0.25 * speed
        often = _is_often(under)  # a hand that sweeps the ground once is not a foot
        if not (slides and often and _are_limbs(motion, joints[under.any(axis=0)])):
            continue
        stance = _longer_the_other_way(flat[band], np.nonzero(band)[0], mean, size)
        if stance is not None and np.linalg.norm(stance) > least:
            return np.array([stance[0], stance[1], 0.0])
        if _walks(flat, at_floor, mean):
            return np.array([mean[0], mean[1], 0.0])
    return still


def _walks(velocity: Array, at_floor: Flags, slide: Array) -> bool:
    """Whether points at the floor may carry a body over a floor that slides by: none stands, and not all go ahead."""
    speed = float(np.linalg.norm(slide))
    stands = (at_floor & (np.linalg.norm(velocity, axis=2) < RESTS * speed)).any(axis=1)
    ahead = at_floor & (velocity @ slide < -0.5 * speed**2)
    to_and_fro = float(np.mean((ahead == at_floor).all(axis=1)[at_floor.any(axis=1)]))
    return float(np.mean(stands)) < OFTEN_AT_REST and (to_and_fro < ALL_AHEAD or not _is_often(at_floor))


def _is_often(points: Flags) -> bool:
    """Whether any of some points, flags (F, N), is there in several spells, or in one for long."""
    times = np.asarray(points.any(axis=1))
    return len(runs(times)) > 1 or float(np.mean(times)) > AT_FLOOR_OFTEN


def _longer_the_other_way(velocity: Array, frames: npt.NDArray[np.int64], slide: Array, size: float) -> Array | None:
    """Velocity against `slide` that low points keep much longer than any along it [m/s], shape (2,); None if none.

    Args:
        velocity: Level velocities of low points [m/s], shape (N, 2).
        frames: The frame of each, shape (N,).
        slide: Velocity found from the lowest points [m/s], shape (2,).
        size: Of the figure, 1 for a leg of 0.82 m.
    """
    aligned, speed = velocity @ slide, np.linalg.norm(velocity, axis=1)
    least = SLIDE_ALONG * speed * np.linalg.norm(slide)
    along, _ = _kept_longest(velocity[aligned > least], frames[aligned > least], size)
    against, stance = _kept_longest(velocity[-aligned > least], frames[-aligned > least], size)
    is_longer = against > STANCE_LONGER * along and against > STANCE_SHARE * len(np.unique(frames))
    return stance if is_longer else None


def _kept_longest(velocity: Array, frames: npt.NDArray[np.int64], size: float) -> tuple[int, Array]:
    """In how many frames points keep the velocity that they keep longest, and that velocity [m/s], shape (2,)."""
    best, found = 0, np.zeros(2)
    share, more = STANCE_SPREAD
    for one in velocity[:: max(1, len(velocity) // 200)]:
        near = np.linalg.norm(velocity - one, axis=1) < share * np.linalg.norm(one) + more * size
        count = len(np.unique(frames[near]))
        if count > best:
            best, found = count, np.median(velocity[near], axis=0)
    return best, found


def _are_limbs(motion: Motion, joints: npt.NDArray[np.int64]) -> bool:
    """Whether joints are those of several chains, of one with a twin on the other side, or of the trunk; no tail."""
    skeleton, apart = motion.skeleton, sorted(set(joints.tolist()))
    if any(a not in skeleton.ancestors(b) for k, b in enumerate(apart) for a in apart[:k]):
        return True
    sides = {j for pair in _sides(motion) for j in pair}
    return any(j in sides or 2 * len(skeleton.carried_by(j)) > skeleton.joint_count for j in apart)


def is_in_place(motion: Motion) -> bool:
    """True if the motion walks or runs on the spot: its standing feet slide backwards under a body that stays."""
    return bool(np.any(in_place_velocity(motion)))


def facing(motion: Motion) -> float:
    """Where the body looks at the start: the heading square to the line from its right to its left [rad].

    Left and right follow from the joints' names, and failing that by the toes; the first second counts.
    """
    positions, _ = motion.world
    first = _first_second(motion)
    across = np.zeros(2)
    for left, right in _sides(motion):
        across += (positions[first, left, :2] - positions[first, right, :2]).mean(axis=0)
    if np.linalg.norm(across) > 1e-6:
        return math.atan2(-across[0], across[1])
    ahead = np.zeros(2)
    for site in motion.skeleton.end_sites:
        tip = motion.end_positions(site)[first]
        low = tip[:, 2].mean() < positions[first, pelvis(motion.skeleton), 2].mean()
        if low:
            ahead += (tip - positions[first, site.joint])[:, :2].mean(axis=0)
    return math.atan2(ahead[1], ahead[0]) if np.linalg.norm(ahead) > 1e-6 else 0.0


def direction_of_travel(motion: Motion) -> float:
    """Heading in which the motion goes, counterclockwise from world +x [rad].

    Toward the first place AHEAD leg lengths away, or the farthest where it never gets that far, so that clips that
    come back have the direction of their way out. A motion on the spot goes against its sliding feet; one that goes
    nowhere goes where it faces.
    """
    slide = in_place_velocity(motion)
    if np.any(slide):
        return math.atan2(-slide[1], -slide[0])
    path = root_path(motion)[:, :2]
    away = path - path[0]
    distance = np.linalg.norm(away, axis=1)
    leg = leg_length(motion.skeleton)
    if distance.max() < TRAVEL * leg:
        return facing(motion)
    far = int(np.argmax(distance >= min(AHEAD * leg, float(distance.max()))))
    return math.atan2(away[far, 1], away[far, 0])


def find_loop(motion: Motion) -> Loop:
    """Whether and how the end of a motion joins its start.

    Compared are the poses without place and heading, and how fast the joints turn. A file that says it loops is
    believed if its ends are not far apart; one that says it does not is believed, too.
    """
    label = motion.source.loop if motion.source is not None else None
    if motion.frame_count < 4:
        return Loop(False, np.zeros(3), 0.0, True, math.inf, 0.0, "fewer than four frames")
    root = pelvis(motion.skeleton)
    positions, orientations = motion.world
    turn = float(rotations.yaw_between(orientations[0, root], orientations[-1, root]))
    ends = _pose_distance(motion, 0, -1, turn)
    near = (0, 1, motion.frame_count - 3, motion.frame_count - 2)
    step = float(np.median([_pose_distance(motion, k, k + 1, None) for k in near]))
    # ends that do not quite meet say little about the heading: a straight walk must not turn a little every round
    if abs(turn) < 3.0 * ends + math.radians(1.0):
        turn = 0.0
        ends = _pose_distance(motion, 0, -1, turn)
    repeats = ends < 0.5 * step or ends < 1e-6 or (label is True and ends > 1.5 * step)
    dt = motion.dt
    mismatch = ends if repeats else max(0.0, ends - step)
    start_rate, end_rate = _turn_rates(motion, 0, dt), _turn_rates(motion, motion.frame_count - 2, dt)
    rate = float(np.sqrt(np.mean(np.sum((start_rate - end_rate) ** 2, axis=1))))
    usual = float(np.sqrt(np.mean(np.sum(start_rate**2 + end_rate**2, axis=1)) / 2.0))
    agree = mismatch < LOOP_ANGLE and rate < max(LOOP_TURN_RATE, usual) and ends < 3.0 * step + math.radians(1.0)
    agree = agree or (repeats and mismatch < SAME_ANGLE)
    is_loop = label is not False and (agree or (label is True and mismatch < LABELED_ANGLE))
    if not repeats:  # one step beyond the last frame, as the step before it went
        turn += float(rotations.yaw_between(orientations[-2, root], orientations[-1, root])) if turn else 0.0
    place = positions[-1, root] + (0.0 if repeats else 1.0) * (positions[-1, root] - positions[-2, root])
    c, s = math.cos(turn), math.sin(turn)
    moved = place - np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ positions[0, root]
    moved[2] = 0.0
    said = {True: "; the file says it loops", False: "; the file says it does not loop", None: ""}[label]
    reason = f"the ends differ by {math.degrees(ends):.1f}° rms at {math.degrees(step):.1f}° a frame{said}"
    return Loop(bool(is_loop), moved, turn, bool(repeats), float(mismatch), step / dt, reason)


def loops(motion: Motion) -> bool:
    """True if the motion can be played again and again; see `find_loop`."""
    return find_loop(motion).is_loop


def repeat(motion: Motion, count: int, *, blend: float = 0.2) -> Motion:
    """The motion `count` times in a row, each round where the last one ended, turned as the last one turned.

    What is left between the ends is taken out of the last `blend` seconds of every round but the last, so that the
    seam does not jump; the height of the body is kept, not summed up.

    Args:
        motion: A motion that loops.
        count: Rounds, at least 1.
        blend: Time over which the ends are made to meet [s].

    Raises:
        InvalidValue: if it does not loop, or count is less than 1.
    """
    if count < 1:
        raise InvalidValue(f"A motion cannot be repeated {count} times; give at least 1.")
    loop = find_loop(motion)
    if not loop.is_loop and not (loop.mismatch < ASKED_ANGLE and motion.frame_count >= 4):
        raise InvalidValue(
            f"This motion does not loop: {loop.reason}. Hold its last pose instead, or cut it to a cycle."
        )
    last = motion.frame_count - 1 if loop.repeats_first else motion.frame_count
    period = float(motion.times[-1]) + (0.0 if loop.repeats_first else motion.dt)
    seamless = _meeting(motion, loop, period, blend)
    times, moved, turned = [], [], []
    place, heading = np.zeros(3), 0.0
    for round_number in range(count):
        final = round_number == count - 1
        piece = motion if final else seamless
        keep = motion.frame_count if final else last
        lift = rotations.from_rotation_vector(np.array([0.0, 0.0, heading]))
        translations, joint_rotations = piece.translations[:keep].copy(), piece.rotations[:keep].copy()
        translations[:, 0] = rotations.rotate(lift, translations[:, 0]) + place
        joint_rotations[:, 0] = rotations.multiply(lift, joint_rotations[:, 0])
        times.append(motion.times[:keep] + round_number * period)
        moved.append(translations)
        turned.append(joint_rotations)
        place = place + rotations.rotate(lift, loop.offset)
        heading += loop.turn
    source = motion.source
    if source is not None:
        source = source.of_frames(np.concatenate([np.arange(len(t)) for t in times]))
    return replace(
        motion,
        times=np.concatenate(times),
        translations=np.concatenate(moved),
        rotations=np.concatenate(turned),
        source=source,
    )


def with_rounds(motion: Motion, loop: Loop, count: int) -> Motion:
    """A loop with the last `count` frames of the round before it and the first of the round after, seams as they are.

    Args:
        motion: The loop, of more than `count` frames.
        loop: How it goes round.
        count: Frames on either side; their times go on from those of the motion.
    """
    frames = motion.frame_count
    last = frames - 1 if loop.repeats_first else frames
    period = float(motion.times[-1] - motion.times[0]) + (0.0 if loop.repeats_first else motion.dt)
    wanted = np.arange(-count, frames + count)
    index = np.where(wanted < 0, wanted + last, np.where(wanted < frames, wanted, wanted - last))
    rounds = np.where(wanted < 0, -1.0, np.where(wanted < frames, 0.0, 1.0))
    lift = rotations.from_rotation_vector(np.array([0.0, 0.0, loop.turn]))
    translations, turned = motion.translations[index].copy(), motion.rotations[index].copy()
    after, before = rounds > 0.0, rounds < 0.0
    translations[after, 0] = rotations.rotate(lift, translations[after, 0]) + loop.offset
    turned[after, 0] = rotations.multiply(lift, turned[after, 0])
    back = rotations.conjugate(lift)
    translations[before, 0] = rotations.rotate(back, translations[before, 0] - loop.offset)
    turned[before, 0] = rotations.multiply(back, turned[before, 0])
    times = motion.times[index] + rounds * period
    return replace(motion, times=times, translations=translations, rotations=turned, source=None)


def _meeting(motion: Motion, loop: Loop, period: float, blend: float) -> Motion:
    """The motion with its last `blend` seconds bent so that it runs into its own first frame."""
    lift = rotations.from_rotation_vector(np.array([0.0, 0.0, loop.turn]))
    goal_place, goal_turn = motion.translations[0].copy(), motion.rotations[0].copy()
    goal_place[0] = rotations.rotate(lift, goal_place[0]) + loop.offset
    goal_turn[0] = rotations.multiply(lift, goal_turn[0])
    if loop.repeats_first:
        ahead_place, ahead_turn = motion.translations[-1], motion.rotations[-1]
    else:
        ahead_place = 2.0 * motion.translations[-1] - motion.translations[-2]
        step = rotations.multiply(rotations.conjugate(motion.rotations[-2]), motion.rotations[-1])
        ahead_turn = rotations.multiply(motion.rotations[-1], step)
    left = np.clip((motion.times - (period - blend)) / max(blend, 1e-9), 0.0, 1.0)
    share = rotations.eased(left)[:, None, None]
    error = rotations.to_rotation_vector(rotations.multiply(rotations.conjugate(ahead_turn), goal_turn))
    translations = motion.translations + share * (goal_place - ahead_place)
    turned = rotations.multiply(motion.rotations, rotations.from_rotation_vector(share * error))
    return replace(motion, translations=translations, rotations=turned, source=None)


def _pose_distance(motion: Motion, a: int, b: int, turn: float | None) -> float:
    """Root mean square angle between two frames' joints [rad]; the root counts after `turn` about the vertical."""
    first, second = motion.rotations[a].copy(), motion.rotations[b]
    if turn is not None:
        first[0] = rotations.multiply(rotations.from_rotation_vector(np.array([0.0, 0.0, turn])), first[0])
    return float(np.sqrt(np.mean(rotations.angle_between(first, second) ** 2)))


def _turn_rates(motion: Motion, frame: int, dt: float) -> Array:
    """How the joints turn from this frame to the next, in their own frames [rad/s], shape (J, 3)."""
    step = rotations.multiply(rotations.conjugate(motion.rotations[frame]), motion.rotations[frame + 1])
    return rotations.to_rotation_vector(step) / dt


def _first_second(motion: Motion) -> npt.NDArray[np.int64]:
    """Frames of the first second outside glitches, or the first frame."""
    frames = np.flatnonzero((motion.times <= 1.0) & ~glitch_frames(motion))
    return frames if len(frames) else np.array([0])


def _sides(motion: Motion) -> list[tuple[int, int]]:
    """Pairs of joints whose names differ by left and right alone."""
    # a number at the end is the exporter's: b_LeftHand_011 and b_RightHand_08 are a pair
    names = {re.sub(r"[_.]?\d+$", "", name.lower()): j for j, name in enumerate(motion.skeleton.names)}
    names |= {name.lower(): j for j, name in enumerate(motion.skeleton.names)}
    pairs: list[tuple[int, int]] = []
    for name, j in names.items():
        others = [name.replace("left", "right", 1)]
        if name.startswith("l"):
            others.append("r" + name[1:])
        for mark in ("_l", ".l", "-l"):
            if name.endswith(mark):
                others.append(name[:-1] + "r")
            others.append(name.replace(mark + mark[0], mark[0] + "r" + mark[0], 1))
        match = next((names[o] for o in others if o != name and o in names), None)
        if match is not None:
            pairs.append((j, match))
    return pairs
