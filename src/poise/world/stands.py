"""The poses in which a clip may come to a stand: where, at once for the whole clip; each pose when it comes near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core import rotations
from poise.core.typing import Array, Flags, Index
from poise.filter.sensing import feet_of
from poise.filter.simulate import Playback
from poise.physics import State
from poise.world.living import least_moves, swaying
from poise.world.standing import Stands

BELOW = 0.15
"""A foot stands below the body if it is no farther ahead or behind than this part of the leg's length [1]."""
BENDS, CLOSE, ROUNDS = 0.2, 1e-3, 24
"""In each round that brings the feet of a stand apart, no joint turns more than the first number [rad]: legs that are
straight or cross far would turn by whole turns. Below the second a round is the last, and so is the third."""
STIFF = 0.1
"""What a turn of a leg's joint costs that its clip never makes, a part of the largest inertia of the joints [1]; by
trial."""
LEVEL = 0.02
"""A figure stands only where each foot comes so close to the ground, and nothing is deeper in it [m]."""
SAME = 1e-9
"""Two figures play one clip, each in its own place, if their poses differ by no more than this besides [m or 1]."""


class Steps(NamedTuple):
    """The steps of a clip.

    Attributes:
        frames: The middles of all of them, in order, shape (N,); none where a leg takes no step.
        own: The middles of each foot's.
    """

    frames: Index
    own: tuple[Index, ...]


class Finder:
    """Finds the stands of a clip one by one, each once for all figures that play it in their own places.

    Attributes:
        steps: Of the clip, found when first asked for.
    """

    def __init__(self, playback: Playback) -> None:
        self._playback = playback
        self._steps: Steps | None = None
        self._stands: list[Stands] = []  # in as many of the steps, one or none each

    @property
    def steps(self) -> Steps:
        if self._steps is None:
            self._steps = steps_of(self._playback, self._playback.figure.character)
        return self._steps

    def stands(self, playback: Playback, some: range) -> Stands:
        """Where a figure that plays the clip may come to a stand, in the middle of some of its steps."""
        own, character = self._playback, self._playback.figure.character
        for k in range(len(self._stands), some.stop):
            self._stands.append(stands_of(own, character, self.steps, range(k, k + 1)))
        found = [_moved(self._stands[k], own, playback) for k in some]
        return Stands(*(np.concatenate(parts) for parts in zip(_none(own), *found, strict=True)))

    def plays(self, playback: Playback) -> bool:
        """Whether a figure plays the clip, turned about the vertical and moved."""
        own, q = self._playback, playback.q
        if playback.figure.character is not own.figure.character or q.shape != own.q.shape or playback.dt != own.dt:
            return False
        if playback.track.floor != own.track.floor or not np.array_equal(playback.track.flags, own.track.flags):
            return False
        moved = _moved_poses(own.q, own.q[0], q[0])
        turned = np.abs(np.einsum("fc,fc->f", moved[:, 3:7], q[:, 3:7]))  # either sign is one rotation
        differ = np.abs(moved - q)[:, [0, 1, 2, *range(7, q.shape[1])]].max()
        return float(differ) < SAME and float(turned.min()) > 1.0 - SAME and abs(q[0, 2] - own.q[0, 2]) < SAME


def finder_of(playback: Playback, known: Sequence[Finder]) -> Finder:
    """The known finder for the clip that a figure plays, or a new one."""
    return next((finder for finder in known if finder.plays(playback)), None) or Finder(playback)


def _none(playback: Playback) -> Stands:
    """No stands of the figure of a clip."""
    return stands_of(playback, playback.figure.character, Steps(np.zeros(0, dtype=np.int64), ()), range(0))


def _moved(stands: Stands, own: Playback, other: Playback) -> Stands:
    """Stands of a figure as those of another that plays the same clip in another place."""
    if other is own or not len(stands.frames):
        return stands
    a, b = own.q[stands.frames[0]], other.q[stands.frames[0]]
    turn, life = rotations.multiply(b[3:7], rotations.conjugate(a[3:7])), stands.life.copy()
    life[:, :3] = np.einsum("ij,sjk->sik", rotations.to_matrix(turn), life[:, :3])
    points = rotations.rotate(turn, stands.points - a[:3]) + b[:3]
    return stands._replace(poses=_moved_poses(stands.poses, a, b), points=points, life=life)


def _moved_poses(poses: Array, a: Array, b: Array) -> Array:
    """Poses (S, nq), turned and moved as one pose (nq,) to another."""
    turn, out = rotations.multiply(b[3:7], rotations.conjugate(a[3:7])), poses.copy()
    out[:, :3] = rotations.rotate(turn, poses[:, :3] - a[:3]) + b[:3]
    out[:, 3:7] = rotations.multiply(turn, poses[:, 3:7])
    return out


def steps_of(playback: Playback, character: Character) -> Steps:
    """The steps in whose middle the clip of a figure may come to a stand, if every leg takes steps."""
    track, legs = playback.track, [limb for limb in character.limbs if limb.kind == "leg"]
    feet = [list(foot) for foot in feet_of(character)]
    own = tuple(_middles(track.flags[:, foot], track.points[:, foot], track.com, character) for foot in feet)
    frames = np.unique(np.concatenate([*own, np.zeros(0, dtype=np.int64)]))
    if len(feet) < 2 or len(legs) != len(feet) or not all(len(middles) for middles in own):
        frames = frames[:0]
    return Steps(frames, own)


def stands_of(playback: Playback, character: Character, found: Steps, some: range) -> Stands:
    """Where the clip of a figure may come to a stand, in the middle of some of its steps.

    There the foot that swings passes the one that stands; in the pose it has come down beside it. Where it cannot,
    there is no stand. Trunk and arms are as in the middle of all poses of the two steps before, or of the first two:
    arms that swing hang, those that are held out stay.
    """
    track, legs = playback.track, [limb.bodies for limb in character.limbs if limb.kind == "leg"]
    feet, steps, frames = feet_of(character), found.own, found.frames[some.start : some.stop]
    poses, flags = playback.q[frames], np.zeros((len(frames), track.flags.shape[1]), dtype=np.bool_)
    points, life = np.zeros((*flags.shape, 3)), np.zeros((len(frames), playback.v.shape[1], 3))
    above = [k for k in range(1, len(character.bodies)) if not any(k in leg for leg in legs)]
    for s, frame in enumerate(frames.tolist()):
        state = State(playback.figure.model)
        first = max(some.start + s - 2, 0)
        cycle = slice(found.frames[first], found.frames[min(first + 2, len(found.frames) - 1)] + 1)
        around, price = playback.q[cycle], _price(playback.v[cycle], legs, character)
        for body in above:
            at = _coordinates(character, body)
            poses[s, at] = _middle(around[:, at])
        for bodies, foot, own in zip(legs, feet, steps, strict=True):
            middle = int(own[np.abs(own - frame).argmin()])
            for body in bodies:
                at = _coordinates(character, body)
                poses[s, at] = playback.q[middle, at]
            flags[s, list(foot)] = track.flags[middle, list(foot)]
        way = playback.q[min(frame + 1, len(playback.q) - 1), :2] - playback.q[max(frame - 1, 0), :2]
        ahead = np.append(way, 0.0) / max(float(np.hypot(*way)), 1e-9)
        stance = next(k for k, own in enumerate(steps) if frame in own)
        for _ in range(ROUNDS):
            apart = _apart(
                state.at(poses[s], np.zeros(len(life[s]))), playback.points(poses[s]), legs, feet, stance, ahead, price
            )
            most = float(np.abs(apart[3:]).max())
            poses[s] = playback.figure.model.integrate(poses[s], apart * min(1.0, BENDS / max(most, 1e-9)), 1.0)
            if most < CLOSE:
                break
        places = playback.points(poses[s])
        up = track.floor - places[flags[s], 2].min()
        poses[s, 2] += up
        points[s] = places + np.array([0.0, 0.0, up])
        now = state.at(poses[s], np.zeros(len(life[s])))
        life[s] = swaying(now, np.flatnonzero(flags[s]), ahead, character.roles.get("chest", 0) + 1)
    up = points[:, :, 2] - track.floor
    off = np.abs([up[:, list(foot)].min(axis=1) for foot in feet]).max(axis=0, initial=0.0)
    good = (off < LEVEL * playback.figure.scale) & (up.min(axis=1, initial=0.0) > -LEVEL * playback.figure.scale)
    return Stands(frames[good], poses[good], points[good], flags[good], life[good])


def _apart(
    state: State,
    places: Array,
    legs: Sequence[Sequence[int]],
    feet: Sequence[Sequence[int]],
    stance: int,
    ahead: Array,
    price: Array,
) -> Array:
    """What a pose changes so that its feet stand as far apart as its hips, as low as the stance foot, shape (nv,).

    The pelvis tilts and turns over the foot that stands, so legs that come each from the middle of their own step
    cross. The root may only sink; all else moves as little as it can, measured by its inertia and its price (`STIFF`).
    """
    aside = np.array([-ahead[1], ahead[0], 0.0])
    hips = [state.data.xpos[leg[0] + 1] for leg in legs]
    out = [(places[list(foot)].mean(axis=0) - hip) @ aside for hip, foot in zip(hips, feet, strict=True)]
    low = [places[list(foot), 2].min() for foot in feet]
    moves = [(out[stance] - out[k]) * aside + np.array([0.0, 0.0, low[stance] - low[k]]) for k in range(len(feet))]
    points, free = np.concatenate(feet), np.array([2, *range(6, len(state.M))])
    rows, _ = state.point_rows(points, np.tile(np.eye(3), (len(points), 1, 1)))
    change = np.zeros(len(state.M))
    wanted = np.concatenate(np.repeat(moves, [len(foot) for foot in feet], axis=0))
    M = state.M + STIFF * float(np.diag(state.M)[6:].max()) * price
    change[free] = least_moves(M[np.ix_(free, free)], rows[:, free]) @ wanted
    return change


def _coordinates(character: Character, body: int) -> slice:
    """Where the coordinates of a joint are in a pose."""
    at = character.q_addresses[body]
    return slice(at, at + (1 if character.bodies[body].kind == "hinge" else 4))


def _middle(turns: Array) -> Array:
    """The middle of a joint's coordinates over some poses, shape (F, 1) or (F, 4)."""
    if turns.shape[1] == 1:
        return np.asarray(turns.mean(axis=0))
    middle = (np.where(turns @ turns[0] < 0.0, -1.0, 1.0)[:, None] * turns).mean(axis=0)
    return np.asarray(middle / np.linalg.norm(middle))


def _price(v: Array, legs: Sequence[Sequence[int]], character: Character) -> Array:
    """What turns of the legs' joints cost, by how little the clip (F, nv) turns them so, 0 … 1, shape (nv, nv).

    The joint of a knee may turn about any axis, though a knee bends about one; its clip says which.
    """
    price = np.zeros((v.shape[1], v.shape[1]))
    for body in {body for leg in legs for body in leg}:
        at = character.v_addresses[body]
        own = slice(at, at + (1 if character.bodies[body].kind == "hinge" else 3))
        used = v[:, own].T @ v[:, own]
        price[own, own] = np.eye(len(used)) - used / max(float(np.linalg.norm(used, 2)), 1e-9)
    return price


def _middles(flags: Flags, points: Array, com: Array, character: Character) -> Index:
    """Frames in which a foot, whose points (F, N, 3) touch as flags (F, N) say, stands below the center of mass."""
    touches = flags.any(axis=1)
    out = points.mean(axis=1)[:, :2] - com[:, :2]
    way = np.gradient(com[:, :2], axis=0)
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
    away = np.abs(np.einsum("fc,fc->f", out, way))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], touches, [False]]).astype(np.int64)))
    middles = [a + int(away[a:b].argmin()) for a, b in edges.reshape(-1, 2).tolist()]
    return np.array([k for k in middles if away[k] < BELOW * character.leg_length], dtype=np.int64)
