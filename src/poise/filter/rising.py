"""How a figure that lies comes back to the clip: by a clip of getting up, or by blending, where it lies.

Both are poses, not physics: the lying pose turns into the first frame of the clip and its last frame into the
reference. Without such a clip the lying pose turns into the reference: of a person on hands and knees first and in a
squat next. The lowest contact point stays on the ground meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, body_positions, interpolate_q
from poise.core import rotations
from poise.core.typing import Array
from poise.physics import State
from poise.terrain import Terrain

JOIN = 0.6
"""A clip of getting up is joined to the lying pose, and to the reference, in so long [s]."""
BLEND = 2.7
"""Without one the figure turns into the reference in so long [s]."""
STAGES = (0.0, 1.0), (0.8, 1.7), (1.5, BLEND)
"""Meanwhile it turns onto hands and knees, then into a squat, then into the reference: from when to when each [s]."""
KNEELING, SQUATTING = (1.6, 2.1, 2.0, 1.0), (0.75, 2.1, 2.1, 0.35)
"""Poses on the way: how far the trunk leans forward, hips and knees bend [rad]; how far arms reach down, 0 … 1."""
CROUCH = 1.3, 1.7
"""Bend of hips and knees half way up of a figure without two legs and two arms [rad]."""
REST = 1.0
"""It lies still so long before it gets up [s]."""


@dataclass(frozen=True)
class Rising:
    """A figure on its way up.

    Attributes:
        start: The lying pose, shape (nq,).
        clip: Poses of getting up, placed where it lies, shape (F, nq); none where it blends.
        keys: Poses on the way without such a clip, on hands and knees and in a squat, each (nq,); none for others than
            people.
        place: Where the figure has come to against the reference's own place, horizontally [m], shape (2,).
        since: [s].
    """

    start: Array
    clip: Array | None
    keys: tuple[Array, ...]
    place: Array
    since: float = 0.0

    def duration(self, dt: float) -> float:
        """Of all of it [s]."""
        return BLEND if self.clip is None else 2.0 * JOIN + dt * (len(self.clip) - 1)


def begin(q: Array, clip: Array | None, reference: Array, character: Character) -> Rising:
    """Get up from a pose (nq,) by the frames of a clip (F, nq), turned and moved to where the figure lies.

    Args:
        q: The pose, shape (nq,).
        clip: Of getting up, shape (F, nq); none blends.
        reference: Of the clip that is run, now, shape (nq,).
        character: The bodies.
    """
    if clip is None:
        return Rising(q.copy(), None, _keys(character, q, reference), q[:2] - reference[:2])
    placed = clip.copy()
    turn = rotations.multiply(q[3:7], rotations.conjugate(clip[0, 3:7]))
    size = max(float(np.hypot(turn[0], turn[3])), 1e-9)
    upright = np.array([turn[0] / size, 0.0, 0.0, turn[3] / size])
    placed[:, :3] = rotations.rotate(upright, clip[:, :3] - clip[0, :3] * [1.0, 1.0, 0.0])
    placed[:, :2] += q[:2]
    placed[:, 3:7] = rotations.multiply(upright, clip[:, 3:7])
    return Rising(q.copy(), placed, (), placed[-1, :2] - reference[:2])


def later(rising: Rising, way: Array, dt: float) -> Rising:
    """One step later, in which the reference went a way [m], shape (2,): the more it stands the more it goes along."""
    goes = _eased(_joining(rising, dt))
    return replace(rising, place=rising.place - (1.0 - goes) * way, since=rising.since + dt)


def _joining(rising: Rising, dt: float) -> float:
    """Part of the last blend, into the reference, that is done."""
    if rising.keys:
        return _stage(2, rising.since)
    if rising.clip is None:
        return rising.since / BLEND
    return (rising.since - JOIN - dt * (len(rising.clip) - 1)) / JOIN


def _eased(part: float) -> float:
    return rotations.eased(min(max(part, 0.0), 1.0))


def pose(rising: Rising, reference: Array, character: Character, dt: float, depth: Callable[[Array], float]) -> Array:
    """The pose now, shape (nq,).

    Args:
        rising: Since when and how.
        reference: Of the clip now, shape (nq,).
        character: The bodies.
        dt: Time between the frames of the clip of getting up [s].
        depth: How deep the deepest contact point of a pose (nq,) is in the ground [m]; negative above it.
    """
    clip, t = rising.clip, rising.since
    last = rising.start if clip is None else clip[-1]
    there = reference.copy()
    there[:2] += rising.place
    if rising.keys:
        q = rising.start
        for k, key in enumerate((*rising.keys, there)):
            q = _between(character, q, key, _stage(k, t))
    elif clip is None:
        part = _joining(rising, dt)
        q = crouched(character, _between(character, rising.start, there, part), 4.0 * part * (1.0 - part))
    elif t < JOIN:
        q = _between(character, rising.start, clip[0], t / JOIN)
    elif t < JOIN + dt * (len(clip) - 1):
        q = clip[min(round((t - JOIN) / dt), len(clip) - 1)].copy()
    else:
        q = _between(character, last, there, _joining(rising, dt))
    q[2] += depth(q)
    return q


def _stage(k: int, since: float) -> float:
    """Part of a stage that is over."""
    start, end = STAGES[k]
    return min(max((since - start) / (end - start), 0.0), 1.0)


def _keys(character: Character, q: Array, reference: Array) -> tuple[Array, ...]:
    """The poses on hands and knees and in a squat where a figure lies, each (nq,); none for others than people.

    On hands and knees its head stays on the side where it lies; squatting it faces as the reference does.
    """
    roles, kinds = character.roles, [limb.kind for limb in character.limbs]
    hips = [roles.get(name) for name in ("left_hip", "right_hip")]
    if kinds.count("leg") != 2 or kinds.count("arm") != 2 or None in (*hips, roles.get("head")):
        return ()
    left, right = (body_positions(character, reference[None])[0, b] for b in hips)
    aside = (left - right) * [1.0, 1.0, 0.0]
    aside /= max(float(np.linalg.norm(aside)), 1e-9)
    lying = body_positions(character, q[None])[0]
    head = lying[roles["head"]] - lying[0]
    turn = math.atan2(head[1], head[0]) - math.atan2(-aside[0], aside[1])  # it faces along (y, −x) of what is left
    around = rotations.from_rotation_vector(np.array([0.0, 0.0, turn]))
    out = []
    for yaw, (lean, hip, knee, reach) in ((around, KNEELING), (np.array([1.0, 0.0, 0.0, 0.0]), SQUATTING)):
        pose = _bent_legs(character, reference, (hip, knee), from_rest=True)
        pose[:3] = *q[:2], reference[2]
        tipped = rotations.multiply(rotations.from_rotation_vector(lean * aside), reference[3:7])
        pose[3:7] = rotations.multiply(yaw, tipped)
        out.append(_reaching_down(character, pose, reach))
    return tuple(out)


def _reaching_down(character: Character, q: Array, part: float) -> Array:
    """A pose (nq,) with the arms turned downward by a part of the way, at their first joint that can."""
    for limb in character.limbs:
        if limb.kind != "arm":
            continue
        collars = character.roles.get("left_collar"), character.roles.get("right_collar")
        shoulder = next((b for b in limb.bodies if b not in collars and character.bodies[b].kind == "ball"), -1)
        if shoulder in (-1, limb.bodies[-1]):
            continue
        places, turns = (x[0] for x in body_poses(character, q[None]))
        arm = places[limb.bodies[-1]] - places[shoulder]
        down = rotations.between(arm, np.array([0.0, 0.0, -1.0]))
        own = rotations.from_rotation_vector(part * rotations.to_rotation_vector(down))
        parent, at = turns[character.bodies[shoulder].parent], character.q_addresses[shoulder]
        q[at : at + 4] = rotations.multiply(rotations.conjugate(parent), rotations.multiply(own, turns[shoulder]))
    return q


def crouched(character: Character, q: Array, part: float) -> Array:
    """A pose (nq,) with hips and knees bent further by a part of a crouch: nobody rises like a board."""
    hip, knee = CROUCH
    return _bent_legs(character, q, (max(part, 0.0) * hip, max(part, 0.0) * knee), from_rest=False)


def _bent_legs(character: Character, q: Array, angles: tuple[float, float], *, from_rest: bool) -> Array:
    """A pose (nq,) with hips and knees bent further by these angles [rad], from where they are or from rest."""
    out = q.copy()
    for limb in character.limbs:
        if limb.kind != "leg":
            continue
        for body, angle in zip(limb.bodies, angles, strict=False):
            limits, at = character.bodies[body].limits, character.q_addresses[body]
            if limits is None:
                continue
            if character.bodies[body].kind == "hinge":
                start = 0.0 if from_rest else float(out[at])
                out[at] = start + angle * (1.0 if limits.twist_upper > -limits.twist_lower else -1.0)
            elif character.bodies[body].kind == "ball":
                rest = np.asarray(limits.rest)
                turn = rotations.from_rotation_vector(angle * np.asarray(limits.swing_axis))
                own = np.array([1.0, 0.0, 0.0, 0.0])
                if not from_rest:
                    own = rotations.multiply(rotations.conjugate(rest), q[at : at + 4])
                out[at : at + 4] = rotations.multiply(rest, rotations.multiply(turn, own))
    return out


def _between(character: Character, first: Array, second: Array, part: float) -> Array:
    return interpolate_q(character, np.array([0.0, 1.0]), np.stack([first, second]), np.array([_eased(part)]))[0]


def depth(state: State, terrain: Terrain, time: float, q: Array) -> float:
    """How deep the deepest contact point of a pose (nq,) is in the ground [m], by a state that is moved there."""
    state.move_to(q, np.zeros(state.model.nv))
    state.touch()
    ground = terrain.heights(state.points[:, :2], time)
    return float((ground - state.points[:, 2]).max())
