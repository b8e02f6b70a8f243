"""How a clip goes on among bodies, step by step: a frame a step, and slower where something holds its figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from poise.core.typing import Array
from poise.filter.forces import Force
from poise.filter.reference import Touch
from poise.filter.sensing import Given
from poise.filter.simulate import Playback
from poise.physics.mujoco_sight import Look
from poise.world.bending import bent, bent_on, hips_of, straight
from poise.world.living import alive
from poise.world.standing import COMES, FAR, HEAVY, Going, Sensed, Stands, go_on, hold, low_for, sense
from poise.world.stands import Finder
from poise.world.steering import Room, steer

AHEAD = 3
"""Stands beyond the one at which a figure may stop, that it asks about: whether there is room to go on to them."""


class Pacing:
    """Says what each step of a clip's figure is given.

    Args:
        playback: The clip and its figure.
        room: How far ahead of its root the first thing in its way is [m], see `Sight.distance`.
        sees: Whether the figure stops before what is heavy and in its way; else it looks only while something holds it.
        returns: A figure that is held no more goes home after stepping.
        seed: Of what it does by chance.
        finder: Of the stands of its clip; a new one if not given.

    Attributes:
        going: How the clip goes on: its frame, and whether it is held.
    """

    def __init__(
        self,
        playback: Playback,
        room: Room,
        *,
        sees: bool,
        returns: bool,
        seed: int,
        finder: Finder | None = None,
    ) -> None:
        self.going = Going()
        self._playback, self._room_ahead = playback, room
        self._sees, self._returns, self._seed = sees, returns, seed
        self._poses: tuple[Array, Array] | None = None  # of the step before and of this one, where not the clip's
        self._finder = finder or Finder(playback)
        # found when the figure first looks, or something first holds it, in as many steps of its clip as `_tried`
        self._stands: Stands | None = None
        self._tried = 0
        self._hips = hips_of(playback.figure.character)
        self._bend, self._left = straight(playback.figure.character), np.zeros(2)
        # by how much the bend moves the points of the clip [m], and how much of it in the last step
        self._shift, self._shift_step = np.zeros((2, playback.track.flags.shape[1], 2))

    def advance(self, pushes: Sequence[Force], touches: Sequence[Force]) -> Given:
        """Move the clip on by one step; what the figure is given for it.

        Args:
            pushes: What pushes and pulls the figure now; they come back in the answer.
            touches: Forces of what it touches, which hold it back.
        """
        playback, figure, before = self._playback, self._playback.figure, self.going
        if before.is_held or self._sees:
            self._find_stands(before.frame)
        seen = sense(playback, before, touches, self._stands, self._room, bent=self._bend.aside, sees=self._sees)
        self.going = going = go_on(before, seen, self._stands, dt=playback.dt, scale=figure.scale)
        was_bent = not self._bend.is_none
        self._bend_on(going, seen)
        aside = self._bend.aside * self._left
        away = self._stands.away(playback, going, aside) if self._stands is not None and going.share == 1.0 else None
        hold(figure.goal, before, going, away, dt=playback.dt, returns=self._returns)
        if going.is_held and going.memory.nearer and going.share < 1.0 and not going.memory.calm:
            steer(figure.goal, seen.way, going.memory.nearer, playback.dt)  # a longer last step
        elif going.memory.aside and (going.share == 1.0 or not (going.is_held or self._bends)):
            left = np.array([-seen.way[1], seen.way[0]])
            steer(figure.goal, left, going.memory.aside - self._bend.aside, playback.dt)
        elif before.memory.aside and not going.memory.aside:
            figure.goal.values.returns = self._returns  # back on its clip's line
        given, self._poses = self._given(before, going, pushes, was_bent=was_bent)
        return given

    @property
    def _bends(self) -> bool:
        """Whether the clip itself goes round things. Over uneven ground only its goal does: the plan is not bent."""
        return bool(self._hips) and self._playback.figure.terrain.is_flat

    def _bend_on(self, going: Going, seen: Sensed) -> None:
        """Bend the clip on to where its figure goes aside."""
        playback, bend, goal = self._playback, self._bend, self._playback.figure.goal
        goes_aside = bool(going.memory.aside) and not going.is_held
        if not self._bends or seen.has_fallen or (bend.is_none and not goes_aside):
            return
        self._left = left = np.array([-seen.way[1], seen.way[0]])
        wanted = bend.aside
        if not going.is_held:
            wanted = going.memory.aside - float(goal.rest @ left) if going.memory.aside else 0.0
        self._bend = bent_on(
            bend, wanted, playback.figure.character, playback.touch(going.frame), going.rate * seen.speed,
            drift=float(goal.values.drift), dt=playback.dt,
        )  # fmt: skip

    def _find_stands(self, frame: float) -> None:
        """Find the stands that a figure may need at a frame of its clip: it looks as far as `AHEAD` of them."""
        playback, finder = self._playback, self._finder
        if self._stands is None:
            self._stands = finder.stands(playback, range(0))
        last = frame + FAR / playback.dt
        while self._tried < len(finder.steps.frames) and np.count_nonzero(self._stands.frames > last) < AHEAD:
            more = finder.stands(playback, range(self._tried, self._tried + 1))
            joined: list[Any] = [np.concatenate(pair) for pair in zip(self._stands, more, strict=True)]
            self._stands = Stands(*joined)
            self._tried += 1

    def _given(
        self, before: Going, going: Going, pushes: Sequence[Force], *, was_bent: bool
    ) -> tuple[Given, tuple[Array, Array] | None]:
        """What the filter is given for a step, and the poses of the step before and of this one (None: the clip's).

        `was_bent` says whether the clip was bent in the step before.
        """
        playback, frame = self._playback, going.frame - going.rate
        is_bent = was_bent or not self._bend.is_none or self._shift_step.any()
        if going.is_plain and not is_bent and (self._poses is None or before.is_plain):
            return playback.at(int(frame), pushes), None
        earlier, now = self._poses or (playback.pose(frame - 1.0), playback.pose(frame))
        pose, touch = self._slowed(before, going)
        if is_bent:
            pose = self._bend_pose(pose)
        slides = self._shift_step if is_bent else None
        return playback.between((earlier, now, pose), frame, going.rate, pushes, touch, slides), (now, pose)

    def _slowed(self, before: Going, going: Going) -> tuple[Array, Touch | None]:
        """The pose after a step of a clip that may come to a stand, and its contacts (None: the clip's)."""
        playback, stands = self._playback, self._stands
        pose, touch = playback.pose(going.frame), None
        if stands is None or not (before.share or going.share):
            return pose, touch
        if going.is_held and before.share > 0.5:
            down = playback.track.flags[int(going.frame - going.rate)]
            beyond = stands.beyond(playback, going, self._bend.aside * self._left)
            touch = stands.touch(going.stop, (1.0 - before.share) * COMES, down, beyond)
        life = alive(playback.figure.time, self._seed, playback.figure.scale)
        return stands.blend(playback.figure.model, pose, going, life), touch

    def _bend_pose(self, own: Array) -> Array:
        """The pose of a step on the bent way; notes how far that moves its contact points."""
        playback = self._playback
        pose = bent(playback.figure.character, own, self._bend, self._left)
        playback.figure.footing.keep(self._shift_step)
        shift = (playback.points(pose) - playback.points(own))[:, :2]
        self._shift, self._shift_step = shift, shift - self._shift
        return pose

    def _room(self, look: Look) -> float:
        """How far ahead of the figure the first thing in its way is that is neither light nor low [m]."""
        if not self._sees and not self.going.is_held:
            return look.reach
        figure = self._playback.figure
        return self._room_ahead(look._replace(least=HEAVY * figure.mass, low=low_for(figure)))
