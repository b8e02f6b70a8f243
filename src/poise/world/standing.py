"""A clip whose figure is held, or sees that it will be: when it slows, waits, comes to a stand and goes on.

In every step: `sense` what holds the figure, decide how the clip goes on (`go_on`), tell the figure's goal (`hold`). It
stands in a pose in which every leg is as it stands below the body in the middle of its own step (`Stands`). There it
breathes and sways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Force
from poise.filter.goal import smooth
from poise.filter.reference import Touch
from poise.filter.sensing import feet_of
from poise.filter.simulate import Playback
from poise.native import Block
from poise.physics import Model
from poise.physics.mujoco_sight import Look
from poise.world.steering import Room, way_round

LAGS, STOPS = 0.03, 0.15
"""The clip of a figure that is held back slows down once the root, or the middle of the feet, is the first distance
behind the clip's. At the second distance it comes to a stand [m]."""
HELD = 3.0
"""A figure counts as held back for so long after the last touch [s]."""
STRIDES = 0.4
"""While a foot is in the air, a clip runs at no less than this part of its speed [1]."""
EASED = 0.05
"""Half-life of changes of a clip's speed [s]."""
TRAVELS = 0.3
"""A clip that travels no faster than this never slows down [m/s]."""
PUSHES, YIELDS = 0.35, 0.3
"""What yields is pushed on: a figure that still goes at the second number, a part of its clip's speed [1], comes to a
stand at the first distance [m], not at `STOPS`."""
PACE = 0.05
"""Half-life with which the speed of a figure is smoothed for this [s]."""
COMES, NEAR, BACK, FAR = 0.3, 0.04, 0.3, 0.7
"""A figure comes to its stand within the first time. One that only sees something waits with it until the second is
left of its clip: its root still moves, and feet that are brought to their stand would slide with it. It looks in its
clip for a place to stand from the third back on, and as far ahead as the fourth [s]."""
SLOW, CALM = 0.15, 0.1
"""A figure that is held is calm once it has moved along its way no faster than the first number [m/s] for the second
[s]; it may still rebound before."""
SETTLES = 0.2
"""Half-life with which a held figure that moves so slowly stops leaning toward where its clip would be [s]."""
LEANS = 0.1
"""A figure that stands leans no farther off its feet than this [m]."""
WAITS, ROOM, HEAVY = 0.3, 0.35, 0.25
"""A figure that is held goes on if nothing has touched it for the first time [s]. It stands no nearer than the second
to what it sees in its way [m], from the root; what is lighter than the third, a part of its mass, does not count."""
SPARE = 0.1
"""Its last step becomes longer by the room that is left before what it sees, less this, for a leg of 0.82 m [m]."""
LOW = 0.2
"""What meets a figure lower than this over the ground, a part of its leg's length [1], trips it and neither stops nor
slows its clip; by trial. A clip that waits takes away the stride that would catch the figure."""
LOOKS, BRAKES = 0.05, 0.3
"""It looks ahead once in the first time [s]. It begins to come to a stand at least the second before it [s]."""
UNHURRIED = 0.15
"""Half-life of changes of a clip's speed where nothing touched the figure [s]."""


class Stands(NamedTuple):
    """Where a clip may come to a stand.

    Attributes:
        frames: Of the clip, in order, shape (S,).
        poses: In which the figure stands there, shape (S, nq).
        points: Places of the contact points then [m], shape (S, P, 3).
        flags: Points on which it stands, shape (S, P).
        life: What the pose changes where the center of mass sways ahead and aside [m], and the chest breathes [rad],
            on feet that stay, shape (S, nv, 3).
    """

    frames: Index
    poses: Array
    points: Array
    flags: Flags
    life: Array

    def next(self, frame: float, dt: float, since: float = -BACK) -> int:
        """Index of the first stand from `since` [s] to `FAR` after a frame; −1 for none."""
        ahead = self.frames - frame
        k = int(np.searchsorted(ahead, since / dt))
        return k if k < len(ahead) and ahead[k] * dt < FAR else -1

    def blend(self, model: Model, pose: Array, going: Going, life: Array) -> Array:
        """A pose of the clip (nq,), as far in the stand as the figure has come, with its life (3,), see `alive`."""
        stand = self.poses[going.stop].copy()
        stand[:7] = pose[:7]
        stand[2] = self.poses[going.stop, 2]
        stand = model.integrate(stand, self.life[going.stop] @ life, 1.0)
        return model.integrate(pose, model.difference(pose, stand, 1.0), smooth(going.share)[0])

    def beyond(self, playback: Playback, going: Going, bent: Array) -> Array:
        """How far beyond its place in the clip, which is bent aside (2,), the figure will stand [m], shape (2,)."""
        there = playback.pose(max(going.frame, float(self.frames[going.stop])))
        return there[:2] + bent - self.poses[going.stop, :2]

    def away(self, playback: Playback, going: Going, bent: Array) -> Array:
        """How far its feet are from where they are to stand, horizontally [m], shape (2,)."""
        k, down = going.stop, self.flags[going.stop]
        feet = playback.figure.problem.pose.places[down, :2] - self.points[k, down, :2]
        return feet.mean(axis=0) - self.beyond(playback, going, bent)

    def touch(self, k: int, left: float, down: Flags, shift: Array) -> Touch:
        """Contacts of a figure that will stand in so many seconds.

        Args:
            k: In which stand.
            left: Until then [s].
            down: Points that are on the ground now and stay there, shape (P,).
            shift: How far beyond the place of the stand in the clip it will be, horizontally [m], shape (2,).
        """
        flags = self.flags[k]
        touches = flags & (down | (left <= 0.0))
        times = np.where(touches, 0.0, np.where(flags, left, np.inf))
        progress = np.where(touches, 1.0, 0.0)
        return Touch(touches, times, self.points[k] + np.append(shift, 0.0), progress, np.where(touches, np.inf, 0.0))


class Memory(NamedTuple):
    """What a figure that plays a clip remembers of the steps before.

    Attributes:
        untouched: Time since something last pushed it back [s].
        pace: Its speed along its way, smoothed [m/s].
        calm: For how long it has hardly moved [s].
        is_blocked: It saw something in its way.
        looked: Time since it last looked [s].
        aside: How far to the left of its clip it goes, round what it saw [m].
        nearer: How far ahead of its clip it comes to its stand, so as to be near what it saw [m].
    """

    untouched: float = math.inf
    pace: float = 0.0
    calm: float = 0.0
    is_blocked: bool = False
    looked: float = math.inf
    aside: float = 0.0
    nearer: float = 0.0


class Going(NamedTuple):
    """How a clip goes on; one step hands it to the next.

    Attributes:
        frame, rate: Place in the clip after the step, and frames that the step goes on.
        is_plain: The step goes from frame to frame of the clip.
        is_held: Something holds the figure, and its clip waits.
        stop, share: Which of the stands it comes to, −1 for none, and how far it has come into it, 0 … 1.
        memory: What the figure remembers.
    """

    frame: float = 0.0
    rate: float = 1.0
    is_plain: bool = True
    is_held: bool = False
    stop: int = -1
    share: float = 0.0
    memory: Memory = Memory()


class Sensed(NamedTuple):
    """What a figure that plays a clip senses in a step.

    Attributes:
        frame: Place in the clip.
        way: Where the clip goes, horizontally, of length 1, shape (2,).
        speed: Of the clip along its way [m/s].
        pace: Of the figure along it [m/s].
        behind: How far it is behind its clip [m]: its root or its feet, whichever are farther.
        is_pushed_back: Something pushes it against its way.
        is_blocked: It sees something in its way.
        looked: Time since it last looked [s].
        aside: How far to the left of its clip it goes, round what it sees [m].
        nearer: How far ahead of its clip there is room for it at its next stand [m].
        are_feet_down: All feet touch the ground in the clip, or in the stand.
        has_fallen: It falls, lies or gets up.
    """

    frame: float
    way: Array
    speed: float
    pace: float
    behind: float
    is_pushed_back: bool
    is_blocked: bool
    looked: float
    aside: float
    nearer: float
    are_feet_down: bool
    has_fallen: bool


def sense(
    playback: Playback,
    before: Going,
    forces: Sequence[Force],
    stands: Stands | None,
    room: Room,
    *,
    bent: float,
    sees: bool,
) -> Sensed:
    """What holds a figure that plays a clip, and what it sees.

    Args:
        playback: The clip and its figure.
        before: How the clip went on so far.
        forces: What acts on the figure.
        stands: Where it may stand.
        room: How far ahead of it something is.
        bent: How far to the left the clip is bent [m].
        sees: It goes round what it sees.
    """
    figure, frame = playback.figure, min(before.frame, float(playback.frame_count - 2))
    k, half = int(frame), round(0.25 / playback.dt)
    path = playback.q[[max(k - half, 0), min(k + half, playback.frame_count - 1)], :2]
    way = (path[1] - path[0]) / (2.0 * half * playback.dt)
    speed = float(np.hypot(*way))
    way = way / max(speed, 1e-9)
    nothing = np.zeros(3)
    high = [f for f in forces if f.is_solved_for and _height(f, figure) > low_for(figure)]
    touches = [f.force_at(nothing, nothing, 0.0, 0.0) for f in high]
    is_pushed_back = bool(touches) and float(np.sum(touches, axis=0)[:2] @ way) < 0.0
    looked, is_blocked, aside = before.memory.looked + playback.dt, before.memory.is_blocked, before.memory.aside
    nearer = 0.0
    if looked >= LOOKS - 1e-9 and speed > 0.0 and figure.fall is None:
        looked = 0.0
        has_come = before.share == 1.0
        walks = stands is not None and len(stands.frames) > 0 and speed > TRAVELS * figure.scale
        if sees and walks and (has_come or not before.is_held):
            aside = way_round(playback, frame, aside, bent, stands=has_come, room=room)
        is_blocked, nearer = _look_ahead(playback, before, frame, stands, way, aside - bent, room)
    behind = 0.0
    if not before.is_held and before.memory.untouched < HELD:
        points = np.concatenate(feet_of(figure.character))
        feet = (playback.track.points[k, points, :2] - figure.problem.pose.places[points, :2]).mean(axis=0)
        behind = max(float(lag @ way) for lag in (playback.q[k, :2] - figure.q[:2], feet))
    return Sensed(
        frame,
        way,
        speed,
        float(figure.v[:2] @ way),
        behind,
        is_pushed_back,
        is_blocked,
        looked,
        aside,
        nearer,
        bool((figure.problem.groups_seen[: figure.goal.values.feet, 0] > 0.0).all()),
        figure.fall is not None,
    )


def low_for(figure: SimulatedCharacter) -> float:
    """Height up to which what is met only trips a figure [m]."""
    ground = float(figure.terrain.heights(figure.q[None, :2], figure.time)[0])
    return ground + LOW * figure.character.leg_length


def _height(force: Force, figure: SimulatedCharacter) -> float:
    """Height of the place where a force acts [m]."""
    body, state = force.body_of(figure.character) + 1, figure.state
    return float(state.data.xpos[body, 2] if force.offset is None else state.body_place(body, force.offset)[2])


def _look_ahead(
    playback: Playback,
    before: Going,
    frame: float,
    stands: Stands | None,
    way: Array,
    aside: float,
    room: Room,
) -> tuple[bool, float]:
    """Whether something is in the way of a figure before it could come to its next stand but one, and `Sensed.nearer`.

    A figure that stands goes on only with room for one more, or it would stop again at once. Without stands, whether
    something is within `ROOM`. It looks along the line on which it will be, `aside` of its clip's.
    """
    figure, dt, far, seconds, beyond = playback.figure, playback.dt, 0.0, 0.0, 0.0
    k = -1
    if stands is not None:
        waits = before.is_held and before.stop >= 0
        k = before.stop + 2 if waits else stands.next(frame, dt, BRAKES)
    if stands is not None and k >= 0:  # else it cannot come to a stand soon, and need not know
        k = min(k + 1, len(stands.frames) - 1)
        seconds = max(0.0, dt * (float(stands.frames[k]) - frame))
        chord = playback.q[stands.frames[k], :2] - playback.pose(frame)[:2]
        far = float(np.hypot(*chord))
        beyond = float(np.hypot(*(playback.q[stands.frames[k], :2] - playback.q[stands.frames[k - 1], :2])))
        way = chord / far if far > 0.0 else way
    reach = far + ROOM * figure.scale
    off = 0.0
    if aside and not before.is_held:
        off = aside - float((figure.goal.shift - figure.goal.ground) @ (-way[1], way[0]))
    free = room(Look(way, reach, seconds, off))
    nearer = float(figure.goal.rest @ way) + max(0.0, free - reach + beyond - SPARE * figure.scale)
    return free < reach, nearer


def go_on(before: Going, seen: Sensed, stands: Stands | None, *, dt: float, scale: float) -> Going:
    """How the clip goes on: slower where something holds the figure back.

    A clip that went on would move the feet backward under a figure that cannot follow. So it waits, and comes to a
    stand once the figure hardly moves: one that still rebounds needs its stride to stay up.

    Args:
        before: How it went on so far.
        seen: What the figure senses.
        stands: Where it may stand, once it was held.
        dt: Of the step [s].
        scale: Of lengths and speeds.
    """
    memory = before.memory
    untouched = 0.0 if seen.is_pushed_back else memory.untouched + dt
    pace = memory.pace + (1.0 - 0.5 ** (dt / PACE)) * (seen.pace - memory.pace)
    is_held, stop, wanted, nearer = before.is_held, before.stop, 1.0, memory.nearer
    if is_held:
        waited = not seen.is_pushed_back and untouched > WAITS
        if seen.has_fallen or (waited and not seen.is_blocked):
            is_held, untouched = False, math.inf
    elif seen.is_blocked and stands is not None and seen.speed > TRAVELS * scale and not seen.has_fallen:
        stop = stands.next(seen.frame, dt, BRAKES)
        is_held, nearer = stop >= 0, seen.nearer
    elif seen.speed > TRAVELS * scale and untouched < HELD and not seen.has_fallen:
        most = PUSHES if pace > YIELDS * seen.speed else STOPS
        wanted = min(1.0, max(0.0, (most * scale - seen.behind) / ((most - LAGS) * scale)))
        if not wanted:
            is_held, stop = True, before.stop if before.share else -1
    calm = memory.calm + dt if abs(pace) < SLOW * scale else 0.0
    if is_held and stop < 0 and stands is not None and calm > CALM:
        stop = stands.next(seen.frame, dt)
    eased = 0.5 ** (dt / (EASED if untouched < HELD else UNHURRIED))
    if is_held and stands is not None and stop >= 0:
        left = max(0.0, float(stands.frames[stop]) - seen.frame)
        rate = min(left * (1.0 - eased), max(before.rate, STRIDES))
    else:
        wanted = 0.0 if is_held else wanted
        wanted = wanted if seen.are_feet_down else max(wanted, STRIDES)
        rate = wanted + eased * (before.rate - wanted)
        rate = wanted if abs(rate - wanted) < 1e-3 else rate
    frame, share = seen.frame + rate, before.share
    if stands is not None and stop >= 0:
        comes = is_held and (stands.frames[stop] - frame) * dt < (COMES if untouched < HELD else NEAR)
        share = min(1.0, max(0.0, share + (1.0 if comes else -1.0) * dt / COMES))
    is_plain = rate == 1.0 and not before.share and not share and seen.frame.is_integer()
    memory = Memory(untouched, pace, calm, seen.is_blocked, seen.looked, seen.aside, nearer if is_held else 0.0)
    return Going(frame, rate, is_plain, is_held, stop, share, memory)


def hold(goal: Block, before: Going, going: Going, away: Array | None, *, dt: float, returns: bool) -> None:
    """Let the goal of a held figure rest where the figure is, near its feet once it stands.

    There is no way back to where its clip would be.

    Args:
        goal: Of the figure.
        before, going: How its clip went on before this step, and in it.
        away: How far its feet are from where its clip stands, horizontally [m], shape (2,), if it stands.
        dt: Of the step [s].
        returns: A figure that is held no more goes home after stepping.
    """
    if going.is_held:
        goal.values.returns = goal.values.is_returning = False
        if going.memory.calm > 0.0 and not going.memory.aside:
            place = goal.shift - goal.ground
            if away is not None:
                lean = away - place
                place = place + max(0.0, 1.0 - LEANS * goal.scale / max(float(np.hypot(*lean)), 1e-9)) * lean
            goal.rest += (1.0 - 0.5 ** (dt / SETTLES)) * (place - goal.rest)
    elif before.is_held:
        goal.values.returns = returns
