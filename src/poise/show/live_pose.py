"""A pose tool in a page: hands, feet and other bodies are dragged to places and stay, the body follows with weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, q_to_motion
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit import Poser
from poise.filter.forces import Hand
from poise.show.live import body_at, body_of, push_of, seen_poses
from poise.show.motion_scene import LIVE_VERTICES, skins_on
from poise.show.protocol import Moment
from poise.show.result_scene import GOAL_COLOR
from poise.show.scene import GOALS, Control, Points, Scene, Skinned, Track
from poise.terrain import Terrain
from poise.tracking.live import LiveResult

MOST_PINS = 12
"""Bodies that are drawn as held at once."""
LONGEST = 600.0
"""A round ends after so long [s]."""
STAYS, FREE = "stays there", "is free again"

CONTROLS = (
    Control("after", "A body that you let go of", "choice", STAYS, choices=(STAYS, FREE)),
    Control("free", "Free all bodies", "button"),
)
"""What the page can set."""


class LivePose:
    """A figure in a pose whose bodies are dragged to places; a `Source`.

    Args:
        character: The figure.
        q: The pose that it begins in, shape (nq,).
        drawn: A motion of the character's own file, for its skin.
        title: Of the page.
    """

    controls = CONTROLS

    def __init__(self, character: Character, q: Array, *, drawn: Motion | None = None, title: str = "pose") -> None:
        self._character, self._start, self._drawn, self._title = character, q, drawn, title
        self._skins = skins_on(character, drawn, most=LIVE_VERTICES)
        self._after = STAYS
        self.begin()

    @property
    def time(self) -> float:
        return self._poser.time

    def begin(self) -> None:
        self._poser = Poser(self._character, self._start)
        self._hands: dict[str, Hand] = {}

    def play(self, watch: Callable[[], bool]) -> LiveResult:
        poser, poses, is_complete = self._poser, [self._poser.q], True
        try:
            while is_complete and poser.time < LONGEST:
                self._follow()
                poses.append(poser.step())
                is_complete = watch()
        except KeyboardInterrupt:
            is_complete = False
        places = {name: place.tolist() for name, place in poser.places.items()}
        report: dict[str, Any] = {"schema": "poise.pose/1", "interrupted": not is_complete, "places": places}
        times = poser.dt * np.arange(len(poses), dtype=np.float64)
        return LiveResult(self._character, np.array(poses), times, report, self._drawn)

    def scene(self) -> Scene:
        character, q = self._character, self._poser.q[None]
        track = Track("figure", character, *body_poses(character, q))
        if self._skins:
            track = replace(track, skinned=Skinned(self._skins, *q_to_motion(character, q, np.zeros(1)).world))
        none = np.full((1, MOST_PINS, 3), np.nan)
        pins = Points("held place", GOALS, GOAL_COLOR, none, 0.1 * character.leg_length, "cross")
        return Scene(
            np.array([self.time]), (track,), Terrain.flat(character.floor), title=self._title, overlays=(pins,)
        )

    def is_changed(self) -> bool:
        return False

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        del hands
        poser = self._poser
        places, turns = seen_poses(self._character, poser.q, is_skinned=bool(self._skins))
        pins = np.full((MOST_PINS, 3), np.nan)
        held = list(poser.places.values())[:MOST_PINS]
        pins[: len(held)] = np.reshape(held, (-1, 3))
        return Moment(poser.time, ((places[0], turns[0]),), (pins,), (), is_paused)

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        index = body_at(self._character, body, is_skinned=bool(self._skins))
        name = body_of(self._character, track, index)
        self._poser.let_go(name)
        self._poser.drag(name, target, point.tolist())
        self._hands[name] = Hand(name, index, point, target, self._character.mass, self.time)
        return self._hands[name]

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        index = body_at(self._character, body, is_skinned=bool(self._skins))
        name = body_of(self._character, track, index)
        self._poser.push(push_of(name, force, self.time, seconds))
        return name

    def set(self, name: str, value: float | bool | str) -> None:
        if name == "free":
            self._poser.let_go()
            self._hands = {}
        else:
            self._after = str(value)

    def _follow(self) -> None:
        """Goals go where the hands are; one that let go leaves its body there, or frees it."""
        for name, hand in list(self._hands.items()):
            if hand.is_held:
                self._poser.drag(name, hand.target, hand.point.tolist())
                continue
            if self._after == FREE:
                self._poser.let_go(name)
            del self._hands[name]
