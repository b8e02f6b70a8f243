"""What the actor does, pose after pose: rows for the targets and soles, with rates, on the actor's floor."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

import numpy as np

from poise.body.character import Character
from poise.core.typing import Array
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.tracking.calibration import limb_points, standing_at, standing_pose
from poise.tracking.retarget import Retargeter, end_body
from poise.tracking.smooth import Known, Rows, Smoother, Soles, no_faster

BEGINNING = 6
"""Least number of first poses that are taken as they are, to measure the actor's velocity; noise needs more."""
REMEMBERED = 0.4
"""Where roles change, the targets of a live actor begin with its poses of so long [s]."""
KNOWN_SPEED = 3
"""So many first poses of a live actor do not say how fast its feet are."""


class ActorMotion:
    """Poses of the actor, retargeted and smoothed.

    Args:
        actor: Who moves.
        limbs: Of the actor, which stand.
        pose: The first one, shape (nq,); the actor stands there, facing as it does now.
        standing: Coordinates of the standing actor, shape (nq,); found if not given, see `standing_pose`.
        floor: Height of its floor [m]; what its soles come down to if not given.
        dt: Time between poses [s].
        every: So many poses make one frame of the actor.

    Attributes:
        floor: Height of the actor's floor [m].
        standing: How it stands.
        rows: Of the targets on the character's scale: the pelvis, the center of mass, the ends of driven limbs.
        soles: Of `limbs`, on the actor's scale.
        scale: Its leg over that of a person [1].
        pose_count: How many poses it has seen.
    """

    rows: Rows
    soles: Rows

    def __init__(
        self,
        actor: Character,
        limbs: Sequence[str],
        pose: Array,
        *,
        standing: Array | None,
        floor: float | None,
        dt: float,
        every: int,
    ) -> None:
        self.actor, self.dt, self.every = actor, dt, every
        self._state, self._still = State(model_of(actor)), np.zeros(actor.nv)
        self._floor_is_given = floor is not None
        self._set_limbs(limbs)
        self._first = self._places(pose).copy()
        self.floor = float(self._sole_places(self._first)[:, 2].min()) if floor is None else floor
        self._rest = standing_pose(actor, pose[None]) if standing is None else standing
        self.standing = standing_at(actor, self._rest, limbs, self.floor, self._first)
        self.scale = self.standing.leg / 0.95
        self.pose_count = 0
        self._heading, self._turned = math.nan, 0.0
        self._detour: tuple[Array, Array, Array] | None = None
        self._recent = deque[tuple[Array, float]](maxlen=math.ceil(REMEMBERED / dt))

    def _set_limbs(self, limbs: Sequence[str]) -> None:
        self.limbs = tuple(limbs)
        self._points = [limb_points(self.actor, limb) for limb in limbs]
        self._ends = [end_body(self.actor, limb) for limb in limbs]

    def stand_on(self, limbs: Sequence[str], standing: Array | None) -> None:
        """Other limbs stand from now on; ways are still counted from where the actor stood at first.

        Args:
            limbs: Of the actor.
            standing: Coordinates of the standing actor, shape (nq,); as before if not given.
        """
        self._set_limbs(limbs)
        self._rest = self._rest if standing is None else standing
        self.standing = standing_at(self.actor, self._rest, limbs, self.floor, self._first)

    def retarget(self, retargeter: Retargeter, feet: Sequence[int], recorded: Array | None) -> None:
        """Say how poses become rows: at first, and again where roles change.

        Args:
            retargeter: From this actor to the character.
            feet: Rows of the character's feet, which are smoothed less.
            recorded: All poses that will be seen, shape (F, nq), where they are known in advance.
        """
        self._retargeter = retargeter
        self._recorded: tuple[Known, Known] | None = None
        self._live: tuple[Smoother, Soles] | None = None
        if recorded is not None:
            first = max(0, self.pose_count - len(self._recent))
            headings = np.unwrap([retargeter.heading(self._places(pose)) for pose in recorded])
            facing = no_faster(headings, retargeter.fastest_turn * self.dt)
            turned = (facing - headings)[first:].tolist()
            rows, soles = zip(*map(self._measure, recorded[first:], turned), strict=True)
            known = (Known(np.array(rows), self.dt, self.every), Known(np.array(soles), self.dt, self.every))
            if self._detour is not None:
                known[0].move(1, *(x[first:] for x in self._detour))
            self._recorded = self.rows, self.soles = known
            for _ in self._recent:
                known[0].advance()
                known[1].advance()
            return
        count = 2 + sum(bool(role.actor) for role in retargeter.roles)
        smoother = Smoother(count, self.dt, self.scale, self.every, feet)
        self._live = self.rows, self.soles = smoother, Soles(self.dt, self.scale, self.every)
        for pose, turned in self._recent:
            self._add(smoother, self.soles, pose, turned)

    def _add(self, smoother: Smoother, soles: Soles, pose: Array, turned: float) -> None:
        rows, places = self._measure(pose, turned)
        smoother.add(rows)
        soles.add(places)

    def advance(self, pose: Array) -> None:
        """Go on to the next pose (nq,); a recorded actor's next one is known."""
        if self._live is not None:
            self._turn(self._retargeter.heading(self._places(pose)))
            self._add(*self._live, pose, self._turned)
        self._recent.append((pose, self._turned))
        for known in self._recorded or ():
            known.advance()
        if not self._floor_is_given:
            lowest = float(self.soles.x[:, 2].min())
            # down within 0.05 s, up within 25 s: soles in the air say little
            rate = 0.05 if lowest < self.floor else 25.0
            self.floor += (1.0 - math.exp(-self.dt / rate)) * (lowest - self.floor)
        self.pose_count += 1

    def rewind(self) -> None:
        """Go back before the first pose of a recorded actor."""
        self.pose_count = 0
        self._recent.clear()
        for known in self._recorded or ():
            known.rewind()

    def lead(self, place: Array, velocity: Array, acceleration: Array) -> None:
        """Let the center of mass of a recorded actor go beside its way [m, m/s, m/s²], each of shape (F, 2)."""
        assert self._recorded is not None
        self._detour = place, velocity, acceleration
        self._recorded[0].move(1, place, velocity, acceleration)

    @property
    def is_led(self) -> bool:
        """Whether `lead` was called."""
        return self._detour is not None

    @property
    def is_young(self) -> bool:
        """Whether too few poses were seen to say how the actor moves; never of a recorded one."""
        return self._live is not None and (self._live[0].is_young or self.pose_count <= BEGINNING)

    @property
    def knows_speeds(self) -> bool:
        """Whether enough poses were seen to say how fast feet are."""
        return self._live is None or self.pose_count > KNOWN_SPEED

    def _turn(self, heading: float) -> None:
        """Let the character of a live actor face another way [rad], no faster than its legs can step."""
        if self.pose_count:
            self._turned -= math.remainder(heading - self._heading, math.tau)
            rest = abs(self._turned) - self._retargeter.fastest_turn * self.dt
            self._turned = math.copysign(max(0.0, rest), self._turned)
        self._heading = heading

    def _places(self, pose: Array) -> Array:
        """Places of the actor's bodies in a pose [m], shape (B, 3)."""
        self._state.move_to(pose, self._still)
        self._state.touch()
        return self._state.data.xpos[1:]

    def _measure(self, pose: Array, turned: float) -> tuple[Array, Array]:
        """Rows of the targets for a pose, places and turns (T, 7), and of its soles (S, 3).

        Args:
            pose: Of the actor, shape (nq,).
            turned: How far the character faces to the left of the actor [rad].
        """
        places, data = self._places(pose), self._state.data
        place, turn = self._retargeter.targets(places, data.xquat[1:], data.subtree_com[1], turned)
        return np.concatenate([place, turn], axis=1), self._sole_places(places)

    def _sole_places(self, places: Array) -> Array:
        """Means of the contact points of each limb, at the height of the lowest [m]; its end without any."""
        out = np.empty((len(self.limbs), 3))
        for k, (own, end) in enumerate(zip(self._points, self._ends, strict=True)):
            if not len(own):
                out[k] = places[end]
                continue
            at = self._state.points[own]
            out[k] = at.sum(axis=0) / len(own)
            out[k, 2] = at[:, 2].min()
        return out
