"""Poses in which a figure that walks may stop: every leg as it stands below the body in the middle of its own step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array, Flags, Index
from poise.filter.reference import Touch
from poise.filter.sensing import feet_of
from poise.filter.simulate import Playback

BELOW = 0.15
"""A foot stands below the body if it is no farther ahead or behind than this part of the leg's length [1]."""


class Stands(NamedTuple):
    """Where a clip may come to a stand.

    Attributes:
        frames: Of the clip, in order, shape (S,).
        poses: In which the figure stands there, shape (S, nq).
        points: Places of the contact points then [m], shape (S, P, 3).
        flags: Points on which it stands, shape (S, P).
    """

    frames: Index
    poses: Array
    points: Array
    flags: Flags

    def touch(self, k: int, left: float) -> Touch:
        """Contacts of a figure that will stand in so many seconds."""
        flags, count = self.flags[k], len(self.flags[k])
        times = np.where(flags, left, np.inf)
        touches = flags & (left <= 0.0)
        progress = np.where(touches, 1.0, 0.0)
        return Touch(touches, times, self.points[k], progress, np.where(touches, np.inf, np.zeros(count)))


def stands_of(playback: Playback, character: Character) -> Stands:
    """Where the clip of a figure may come to a stand: once in the middle of each step, if every leg takes steps.

    There the foot that swings passes the one that stands; in the pose it has come down beside it.
    """
    track, legs = playback.track, [limb.bodies for limb in character.limbs if limb.kind == "leg"]
    feet = feet_of(character)
    steps = [_middles(track.flags[:, list(foot)], track.points[:, list(foot)], track.com, character) for foot in feet]
    frames = np.unique(np.concatenate([*steps, np.zeros(0, dtype=np.int64)]))
    if len(feet) < 2 or len(legs) != len(feet) or not all(len(own) for own in steps):
        frames = frames[:0]
    poses, flags = playback.q[frames], np.zeros((len(frames), track.flags.shape[1]), dtype=np.bool_)
    points = np.zeros((*flags.shape, 3))
    for s, frame in enumerate(frames.tolist()):
        for bodies, foot, own in zip(legs, feet, steps, strict=True):
            middle = int(own[np.abs(own - frame).argmin()])
            for body in bodies:
                at = character.q_addresses[body]
                end = at + (1 if character.bodies[body].kind == "hinge" else 4)
                poses[s, at:end] = playback.q[middle, at:end]
            flags[s, list(foot)] = track.flags[middle, list(foot)]
        places = playback.points(poses[s])
        up = track.floor - places[flags[s], 2].min()
        poses[s, 2] += up
        points[s] = places + np.array([0.0, 0.0, up])
    return Stands(frames, poses, points, flags)


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
