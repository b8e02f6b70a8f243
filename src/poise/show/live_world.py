"""A world as a live page shows it: figures and bodies dragged and pushed, figures that let go and come back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.core.units import HUMAN_LEG
from poise.filter.forces import Hand, carrying
from poise.filter.report import Report
from poise.locomotion import Toward, Walking
from poise.locomotion.walker import TOO_FAST, Commands
from poise.show.live import body_at, body_of, places_of, push_of, seen_poses
from poise.show.live_clip import hand_arrows, hands_mark
from poise.show.protocol import Moment
from poise.show.result_scene import scene_of_world
from poise.show.scene import Color, Control, Points, Scene
from poise.show.world_scene import props_of_thing
from poise.world import Clip, Driver, Goals, Ragdoll, Stream, World
from poise.world.drivers import Figure

LONGEST = 60.0
"""A round is so long where nobody says [s]."""
THERE = Control("there", "Click on the ground to walk there; draw a path with Shift. W A S D steer.", "ground", "")
"""Where to walk, of a world with figures that walk."""
DOTS, APART = 60, 0.25
"""The way to a place is shown by at most so many dots, no nearer to each other than the second [m]."""
WAY_COLOR: Color = (0.48, 0.25, 0.72)
GONE = 8.0
"""A page is shown the ground anew once a figure has gone so far, for a leg of 0.82 m; it ends 6 m farther on [m]."""


@dataclass(frozen=True)
class WorldRun:
    """What a round of a world left.

    Attributes:
        world: As it is at the end.
        motion: What its first figure did.
        report: Schema "poise.world/1": its figures, and under "scene" its bodies.
        is_complete: False if it was interrupted.
    """

    world: World
    motion: Motion
    report: Report
    is_complete: bool


class LiveWorld:
    """A world that runs on and on; a `Source`.

    Args:
        world: At its start, with a figure at least; a round begins there.
        seconds: Length of a round [s].
        title: Of the page.
    """

    def __init__(self, world: World, *, seconds: float = LONGEST, title: str = "") -> None:
        if not world.figures:
            raise InvalidValue("This world has no figure. Give a clip, or a scene file with [[figures]].")
        self._world, self._seconds, self._title = world, seconds, title
        self._drivers = {figure.name: figure.driver for figure in world.figures}
        self._start = world.save()
        self._set: dict[str, str] = {}
        self._skinned: set[str] = set()
        self._walkers = [driver for driver in self._drivers.values() if isinstance(driver, Walking)]
        self._walk_controls: tuple[Control, ...] = _where(self._walkers[0]) if self._walkers else ()
        self._walk_values = {c.name: float(c.value) for c in self._walk_controls}
        self._pace = self._walk_values.get("speed") or (self._walkers[0].examples.walk if self._walkers else 0.0)
        self._there: list[tuple[Walking, Commands]] = []  # those on their way to a place
        self._way = np.zeros((0, 2))  # dots still ahead on the way, the place itself last
        bodies = dict.fromkeys(shape.body for shape in world.bodies.shapes)
        things = zip(bodies, world.things(len(world.track) - 1))
        self._scene_bodies = [body for body, thing in things for _ in props_of_thing(thing)]  # one a track

    @property
    def controls(self) -> tuple[Control, ...]:
        """Where to walk; and for each figure what drives it: its own driver, goals to stand by, or nothing."""
        drive = (
            Control(f"drive {name}", f"{name} is driven by", "choice", _kind(driver), choices=_choices(driver))
            for name, driver in self._drivers.items()
        )
        return (*self._walk_controls, *([THERE] if self._walkers else []), *drive)

    @property
    def time(self) -> float:
        return self._world.time

    def begin(self) -> None:
        self._world.restore(self._start)
        for name, value in self._set.items():
            self._drive(name, value)
        if self._walkers:
            self._lead()

    def play(self, watch: Callable[[], bool]) -> WorldRun:
        world, is_complete = self._world, True
        try:
            while is_complete and world.time < self._seconds - 1e-9:
                self._go_there()
                world.step()
                self._drop_passed_dots()
                is_complete = watch()
        except KeyboardInterrupt:
            is_complete = False
        return WorldRun(world, world.motion(world.figures[0].name), _report(world), is_complete)

    def scene(self) -> Scene:
        scene = scene_of_world(self._world, title=self._title, is_now=True)
        self._skinned = {track.name for track in scene.tracks if track.skinned is not None}
        self._shown = self._places()
        return replace(scene, overlays=(hands_mark(self._world.figures[0].character), *_way_marks(self._walkers)))

    def is_changed(self) -> bool:
        longest = max(figure.character.leg_length for figure in self._world.figures)
        gone = np.linalg.norm(self._places() - self._shown, axis=1).max()
        return bool(gone > GONE * max(1.0, longest / HUMAN_LEG))

    def _places(self) -> Array:
        """Where the figures are, horizontally [m], shape (F, 2)."""
        return np.array([figure.poses[-1][:2] for figure in self._world.figures])

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        world = self._world
        poses = [seen_poses(f.character, f.poses[-1], is_skinned=f.name in self._skinned) for f in world.figures]
        places, turns = world.track[-1]
        figures = ((own[0], turned[0]) for own, turned in poses)
        things = ((places[b : b + 1], turns[b : b + 1]) for b in self._scene_bodies)
        marks = (hand_arrows(hands), *(self._way_places() if self._walkers else ()))
        return Moment(world.time, (*figures, *things), marks, (), is_paused, controls=dict(self._walk_values))

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        world, figures = self._world, self._world.figures
        if track < len(figures):
            figure = figures[track]
            body = self._part(figure, body)
            name = body_of(figure.character, 0, body)
            held = Hand(name, body, point, target, figure.character.mass, world.time)
            world.push(figure.name, held)
            return held
        name, mass = self._name_and_mass(track)
        held = replace(carrying(name, target, mass, world.time), point=point)
        world.push(name, held)
        return held

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        world, figures = self._world, self._world.figures
        if track < len(figures):
            figure = figures[track]
            name, whose = body_of(figure.character, 0, self._part(figure, body)), figure.name
        else:
            name = whose = self._name_and_mass(track)[0]
        world.push(whose, push_of(name, force, world.time, seconds))
        return name

    def set(self, name: str, value: float | bool | str) -> Mapping[str, float] | None:
        if name == THERE.name:
            speed = self._walk_values["speed"] or self._pace
            places = places_of(THERE, value)
            self._there = [(one, Toward(places, speed).begin()) for one in self._walkers]
            self._way = _dots(np.vstack([self._walkers[0].walker.place, places]))
            self._drop_passed_dots()
            self._walk_values |= {"speed": speed, "direction": 0.0, "turn": 0.0}
            return self._walk_values
        if name in self._walk_values:
            self._walk_values[name] = float(value)
            self._pace = self._walk_values["speed"] or self._pace
            self._lead()
            return None
        whose = name.removeprefix("drive ")
        self._drive(whose, str(value))
        self._set[whose] = str(value)
        if value == _kind(self._drivers[whose]):
            del self._set[whose]
        return None

    def _part(self, figure: Figure, part: int) -> int:
        return body_at(figure.character, part, is_skinned=figure.name in self._skinned)

    def _go_there(self) -> None:
        """Lead those that are on their way to a place; who has stood there for a while stays."""
        for one, command in tuple(self._there):
            asked = command(one.walker, self._world.time)
            one.velocity, one.turn = asked or ((0.0, 0.0), 0.0)
            if asked is None:
                self._there.remove((one, command))
        if len(self._way) and not any(one.turn or any(one.velocity) for one, _ in self._there):
            self._way = self._way[:0]
            self._walk_values["speed"] = 0.0

    def _lead(self) -> None:
        """Ask those that walk for the velocity that the page shows."""
        self._there, self._way = [], self._way[:0]
        for driver in self._walkers:
            aside, speed = math.radians(self._walk_values["direction"]), self._walk_values["speed"]
            driver.velocity = speed * math.cos(aside), speed * math.sin(aside)
            driver.turn = math.radians(self._walk_values["turn"])

    def _drop_passed_dots(self) -> None:
        """Remove the dots that the first walker has reached."""
        for one in self._walkers[:1]:
            near = 0.5 * one.examples.leg_length
            while len(self._way) > 1 and np.linalg.norm(self._way[0] - one.walker.place) < near:
                self._way = self._way[1:]

    def _way_places(self) -> tuple[Array, Array]:
        """Where the place to walk to, and the dots on the way there, are [m], shapes (1, 3) and (DOTS, 3)."""
        marks, way = np.full((DOTS + 1, 3), np.nan), self._way[::-1]
        marks[: len(way), :2], marks[: len(way), 2] = way, self._world.terrain.heights(way, self._world.time)
        return marks[:1], marks[1:]

    def _drive(self, whose: str, value: str) -> None:
        own = self._drivers[whose]
        assert own is not None
        character = self._world.figure(whose).character
        driver: Driver = (
            own if value == _kind(own) else Ragdoll() if value == "nothing" else Goals("balance", character)
        )
        self._world.drive(whose, driver)

    def _name_and_mass(self, track: int) -> tuple[str, float]:
        """Name and mass [kg] of the body of the scene that is this track."""
        world, k = self._world, track - len(self._world.figures)
        if not 0 <= k < len(self._scene_bodies) or not world.bodies.is_loose(self._scene_bodies[k]):
            raise InvalidValue("Only figures and bodies that move by physics can be held and pushed.")
        return world.bodies.names[self._scene_bodies[k]].removeprefix("scene/"), float(
            world.bodies.masses[self._scene_bodies[k]]
        )


def _report(world: World) -> Report:
    """What figures and bodies did; of one that goals drive its states too, as in the report of `poise.synthesize`."""
    figures: dict[str, Any] = {}
    for figure in world.figures:
        own: dict[str, Any] = {"driver": _kind(figure.driver), "mass": figure.character.mass}
        if isinstance(figure.driver, Goals):
            states = [{"name": v.name, "start": v.start, "end": v.end} for v in figure.driver.visits]
            own |= {"fell": figure.driver.fell, "states": states}
        figures[figure.name] = own
    return Report({"schema": "poise.world/1", "seconds": world.time, "figures": figures, "scene": world.report()})


def _where(driver: Walking) -> tuple[Control, ...]:
    """How fast and where to: what the page asks of a figure that walks."""
    most = math.floor(10.0 * TOO_FAST * driver.examples.fastest) / 10.0
    speed = round(float(np.hypot(*driver.velocity)), 2)
    return (
        Control("speed", "Speed", value=speed, unit="m/s", low=0.0, high=most, step=0.05),
        Control("direction", "Direction, left of ahead", value=0.0, unit="°", low=-180.0, high=180.0, step=5.0),
        Control("turn", "Turn to the left", value=0.0, unit="°/s", low=-120.0, high=120.0, step=5.0),
    )


def _way_marks(walkers: Sequence[Walking]) -> tuple[Points, ...]:
    """A ring where those that walk are to stand, and dots on the way there, still hidden."""
    if not walkers:
        return ()
    size, none = walkers[0].examples.leg_length, np.full((1, DOTS, 3), np.nan)
    ring = Points("place to walk to", "way", WAY_COLOR, none[:, :1], 0.5 * size, "ring")
    return ring, Points("way there", "way", WAY_COLOR, none, 0.07 * size)


def _dots(places: Array) -> Array:
    """Places along a line through places (N, 2), from a dot's distance after its start to its end, shape (M, 2)."""
    lengths = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(places, axis=0), axis=1)))
    count = int(np.clip(lengths[-1] // APART, 1, DOTS + 1))
    along = lengths[-1] * np.arange(1, count + 1) / count
    return np.stack([np.interp(along, lengths, places[:, k]) for k in range(2)], axis=1)


def _kind(driver: Driver | None) -> str:
    kinds = {Clip: "clip", Stream: "stream", Goals: "goals", Walking: "walking"}
    return kinds.get(type(driver), "nothing")  # type: ignore[arg-type]


def _choices(driver: Driver | None) -> tuple[str, ...]:
    own = _kind(driver)
    return (own, *(kind for kind in ("goals", "nothing") if kind != own))
