"""A synthesized behavior as something a live page shows: figures dragged and pushed while they act by goals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core.errors import InvalidValue, SimulationDiverged
from poise.core.typing import Array
from poise.filter.forces import Hand, carrying
from poise.goals.surroundings import Ball
from poise.goals.surroundings import Scene as GoalScene
from poise.show.live import body_at, body_of, push_of, seen_poses
from poise.show.live_clip import contact_rows, figure_marks, figure_numbers, who_touches
from poise.show.look import FIGURE_COLORS
from poise.show.motion_scene import LIVE_VERTICES, skins_on
from poise.show.protocol import Moment
from poise.show.scene import Control, Plot, Prop, Scene, Series, Skinned, Style, Track
from poise.show.synthesis_scene import LAYERS, ground_of, props_at, run_title
from poise.synthesis.behaviors.behavior import Behavior
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, synthesize, world_of
from poise.synthesis.world import World

LONGEST = 60.0
"""A round is so long where nobody says [s]."""

CONTROLS = (
    Control("responsiveness", "How fast it corrects", low=-2.0, high=2.0, step=0.1, is_power=True),
    Control("torque_limits", "Torque limits", "toggle", True),
)
"""What the page can set; responsiveness is the power of ten that the run's own is multiplied by."""


class LiveSynthesis:
    """A behavior that runs by goals; a `Source`.

    Args:
        behavior: What it does.
        character: Who plays its first role.
        scene: What stands around instead of its own.
        settings: Of the run; what pages set comes on top.
        seconds: Length of a round [s].
        options: Of the behavior.
        run: Further arguments of `poise.synthesize`.
    """

    def __init__(
        self,
        behavior: Behavior,
        character: Character | None = None,
        *,
        scene: GoalScene | None = None,
        settings: Settings | None = None,
        seconds: float | None = None,
        options: Any = None,
        **run: Any,
    ) -> None:
        self._behavior, self._character, self._scene, self._run = behavior, character, scene, run
        self._settings, self._options, self._seconds = settings or Settings(), options, seconds or LONGEST
        self._values: dict[str, float | bool | str] = {c.name: c.value for c in self.controls}
        self._values["torque_limits"] = self._settings.torque_limits
        self.begin()

    @property
    def controls(self) -> tuple[Control, ...]:
        return tuple(
            replace(c, value=self._settings.torque_limits) if c.name == "torque_limits" else c for c in CONTROLS
        )

    @property
    def time(self) -> float:
        return self._world.time

    def begin(self) -> None:
        setup = self._behavior.setup(self._options, is_literal=self._settings.is_literal)
        clip = self._run.get("clip")
        who = Character.fit(clip) if clip is not None and self._character is None else self._character
        self._world = world_of(setup, who, scene=self._scene, clip=clip, settings=self._settings)
        self._skins = skins_on(self._world.figures[0].character, self._run.get("drawn") or clip, most=LIVE_VERTICES)

    def play(self, watch: Callable[[], bool]) -> SynthesisResult:
        def after(world: World) -> None:
            if world is not self._world:
                self._world = world
                self._apply()
            if not watch():
                raise KeyboardInterrupt

        result = synthesize(
            self._behavior,
            self._character,
            scene=self._scene,
            settings=self._settings,
            seconds=self._seconds,
            options=self._options,
            on_step=after,
            **self._run,
        )
        why = result.report["stopped"]
        if why not in (None, "interrupted"):
            raise SimulationDiverged(f"The run ended early: {why}", frame=len(result.q) - 1, reason=why)
        return result

    def scene(self) -> Scene:
        world = self._world
        tracks = [
            Track(f.name, f.character, *body_poses(f.character, world.q[None, f.coordinates]), Style(color=color))
            for f, color in zip(world.figures, FIGURE_COLORS * len(world.figures))
        ]
        if self._skins:
            tracks[0] = replace(tracks[0], skinned=Skinned(self._skins, *self._poses()[0]))
        one = np.zeros(1)
        plots = tuple(
            Plot(name, unit, (Series(world.figures[0].name, FIGURE_COLORS[0], one),))
            for name, unit in (
                ("Height of the center of mass", "m"),
                ("Largest torque, in parts of its limit", ""),
                ("Force that holds the root", "N"),
            )
        )
        chosen, settings = self._behavior.chosen(self._options), self._settings
        mass, pushes = world.figures[0].character.mass, list(self._run.get("pushes", ()))
        title = run_title(self._behavior.name, chosen, pushes, mass, settings.is_literal, asdict(settings))
        return Scene(
            np.array([world.time]),
            tuple(tracks),
            ground_of(world.scene),
            title=title,
            props=self._props(),
            overlays=figure_marks(world.figures[0].character),
            plots=plots,
            layers=LAYERS,
            timeline=contact_rows(world.figures[0].character),
        )

    def is_changed(self) -> bool:
        return False

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        world, first = self._world, self._world.figures[0]
        poses = self._poses()
        props = self._props()
        own = np.flatnonzero(world.touching[first.points])
        com = world.state.com(first.body.root)
        below = float(ground_of(world.scene).heights(com[None, :2])[0])
        numbers = figure_numbers(first.character, world.state, own, world.forces[own], hands, below=below)
        return Moment(
            world.time,
            (*((p[0], q[0]) for p, q in poses), *((p.positions, p.orientations) for p in props)),
            numbers,
            (float(com[2]), first.effort, float(np.linalg.norm(first.root_wrench[:3]))),
            is_paused,
            who_touches(first.character, own),
        )

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        world = self._world
        ball = self._ball(track)
        if ball is not None:
            # by its middle: a ball is drawn without its turns
            held = carrying(ball.name, target, ball.mass, world.time)
            world.carry(held, ball.name)
            return held
        (name, index), figure = self._body(track, body), world.figures[track]
        held = Hand(name, index, point, target, figure.character.mass, world.time)
        world.push(held, figure.name)
        return held

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        (name, _), world = self._body(track, body), self._world
        world.push(push_of(name, force, world.time, seconds), world.figures[track].name)
        return name

    def set(self, name: str, value: float | bool | str) -> None:
        self._values[name] = value
        self._apply()

    def _apply(self) -> None:
        """The run's own settings with what the pages set."""
        factor = math.pow(10.0, float(self._values["responsiveness"]))
        self._world.settings = replace(
            self._settings,
            responsiveness=self._settings.responsiveness * factor,
            torque_limits=bool(self._values["torque_limits"]),
        )

    def _body(self, track: int, body: int) -> tuple[str, int]:
        """Name and index of the body of what a page names: with a skin it counts joints."""
        figures = self._world.figures
        if not 0 <= track < len(figures):
            raise InvalidValue(
                f"Only the bodies of {', '.join(f.name for f in figures)} can be held and pushed; balls can be held."
            )
        character, is_skinned = figures[track].character, bool(self._skins) and track == 0
        index = body_at(character, body, is_skinned=is_skinned)
        return body_of(character, 0, index), index

    def _poses(self) -> list[tuple[Array, Array]]:
        """Of every figure, what the page counts: joints of the skeleton where it draws a skin, else bodies."""
        figures, q = self._world.figures, self._world.q
        skinned = figures[0] if self._skins else None
        return [seen_poses(f.character, q[f.coordinates], is_skinned=f is skinned) for f in figures]

    def _ball(self, track: int) -> Ball | None:
        """The ball that is this track; balls are the last things."""
        balls = self._world.scene.balls
        k = track - (len(self._world.figures) + len(self._props()) - len(balls))
        return balls[k] if 0 <= k < len(balls) else None

    def _props(self) -> tuple[Prop, ...]:
        world = self._world
        names = {b.name for b in world.scene.balls}
        props = props_at(world.scene, self._balls(), world.time)
        return tuple(replace(p, is_draggable=p.name in names) for p in props)

    def _balls(self) -> list[Array]:
        """Where the balls are [m], each (3,)."""
        return [self._world.q[at] for at in self._world.ball_places]
