"""A clip run live: in real time, again and again, with hands in it, until somebody stops it."""

from __future__ import annotations

import logging
import math
import time as clock
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.character.character import Character
from poise.errors import InvalidValue, SimulationDiverged
from poise.methods.quasi_physical import Physicality
from poise.motion import Motion
from poise.phases.travel import direction_of_travel, loops, repeat
from poise.sim.filter import Machine, Options
from poise.sim.forces import Push
from poise.sim.hand import Hand
from poise.sim.result import SimulationResult
from poise.sim.simulate import Live, simulate
from poise.spatial import rotations
from poise.studio.ground import ChangingGround, Hill
from poise.studio.live_scene import CONTROLS, live_moment, live_scene
from poise.studio.protocol import Command
from poise.studio.viewer import Viewer
from poise.terrain import Terrain
from poise.units import HUMAN_LEG

Array = npt.NDArray[np.float64]

log = logging.getLogger(__name__)

LONGEST = 60.0
"""A clip that loops is played for this long before it starts again [s]."""

BEHIND = 0.25
"""A run that is this far behind the clock gives up catching up [s]."""

IDLE = 0.01
"""How long a paused run sleeps between looks at what the pages ask for [s]."""

FARTHEST = 7.0
"""Ground is laid anew when the figure is so far from where it was laid [m, for a leg of 0.82 m]."""

REST = 1.0
"""A run that fell apart starts again after this long [s]."""

SETTLE = 0.15
"""New ground is laid at most so often while a slider moves [s]."""


class LiveRun:
    """A clip that runs while pages watch and reach into it.

    Args:
        motion: The clip; one that loops is played on and on.
        character: The figure.
        viewer: Where it is shown.
        terrain: The ground at first.
        options: Of the run; physicality is set by the pages.
        run: Further arguments of `poise.simulate`.
    """

    def __init__(
        self, motion: Motion, character: Character, viewer: Viewer, *, terrain: Terrain | None = None,
        options: Options | None = None, **run: Any,
    ) -> None:  # fmt: skip
        rounds = int(LONGEST / max(motion.duration, motion.dt)) if loops(motion) else 1
        self._motion = repeat(motion, rounds) if rounds > 1 else motion
        self._character, self._viewer, self._run = character, viewer, run
        self._options = options or Options()
        self._heading = direction_of_travel(motion)
        start, floor = motion.world[0][0, 0], run.get("floor")
        self._floor = character.floor if floor is None else float(floor)
        self._first = (terrain or Terrain.flat()).placed(
            origin=(float(start[0]), float(start[1])), heading=self._heading, ground=self._floor
        )
        self._ground = ChangingGround(self._first)
        self._hands: dict[int, Hand] = {}
        self._values: dict[str, float | bool | str] = {c.name: c.value for c in CONTROLS}
        self._paused, self._steps, self._speed = False, 0, 1.0
        self._again, self._stopped = False, False
        self._machine: Machine | None = None
        self._poses: Array = np.zeros((0, 0))
        self._anchor = (0.0, 0.0)
        self._laid: float | None = None
        self._shown_at = np.zeros(2)
        self._last: SimulationResult | None = None
        self.behind = 0.0

    def stop(self) -> None:
        """End the run after its next step."""
        self._stopped = True

    def play(self, is_over: Callable[[], bool] = lambda: False) -> SimulationResult | None:
        """Run until stopped (or Ctrl-C); the last round's result, None if none was begun.

        Args:
            is_over: Asked after every step; True ends the run.
        """
        try:
            result = self._rounds(is_over)
        except KeyboardInterrupt:  # between rounds; within one the run itself keeps what is done
            result = self._last
        self._viewer.say(**self._status(ended=True))
        return result

    def _rounds(self, is_over: Callable[[], bool]) -> SimulationResult | None:
        while not self._stopped and not is_over():
            self._again = False
            self._begin()
            try:
                self._last = self._round(is_over)
            except SimulationDiverged as error:
                log.warning("The run fell apart and starts again: %s", error)
                self._viewer.say(type="mark", row="events", time=0.0, label="fell apart, started again")
                clock.sleep(REST)
                continue
            if not self._last.is_complete and not self._again:
                break
        return self._last

    def _round(self, is_over: Callable[[], bool]) -> SimulationResult:
        from poise.character.posing import motion_to_q

        self._poses = motion_to_q(self._character, self._motion)
        options = replace(self._options, physicality=self._physicality())

        def watch(live: Live) -> bool:
            self._after_step(live)
            while self._paused and not self._steps and not self._again and not self._stopped and not is_over():
                clock.sleep(IDLE)
                self._obey(live)
            self._steps = max(self._steps - 1, 0)
            return not (self._again or self._stopped or is_over())

        return simulate(
            self._motion, self._character, terrain=Terrain(self._ground), options=options, watch=watch, **self._run
        )  # fmt: skip

    def _begin(self) -> None:
        """Show the start of a round."""
        self._hands.clear()
        self._machine = None
        self._ground.current = self._first
        self._lay(self._motion.world[0][0, 0])
        self._show()
        self._anchor = (clock.monotonic(), 0.0)
        self._viewer.say(**self._status())

    def _show(self) -> None:
        from poise.character.posing import motion_to_q

        q = motion_to_q(self._character, self._motion.frames(np.arange(1)))[0] if self._machine is None else None
        pose = self._machine.q if q is None and self._machine is not None else q
        assert pose is not None
        self._shown_at = pose[:2].copy()
        source = self._motion.source
        title = source.path.replace("\\", "/").rsplit("/", 1)[-1] if source else "live"
        controls = tuple(replace(c, value=self._values[c.name]) for c in CONTROLS)
        self._viewer.show(live_scene(self._character, pose, self._ground.current, title=title, controls=controls))

    # --- after every step

    def _after_step(self, live: Live) -> None:
        machine = self._machine = live.machine
        self._obey(live)
        orientations = machine.state.data.xquat[1:]
        for hand in self._hands.values():
            body = self._character.bodies[hand.index]
            hand.lever = rotations.rotate(orientations[hand.index], hand.point - body.com)
        self._send(live)
        self._keep_time(live.time)

    def _send(self, live: Live) -> None:
        rate = 1.0 / self._motion.dt
        frame = min(round(live.time * rate), len(self._poses) - 1)
        moment = live_moment(
            live.machine, self._poses[frame], [h for h in self._hands.values() if h.is_held],
            time=live.time, is_paused=self._paused,
        )  # fmt: skip
        self._viewer.update(
            moment.time, moment.poses, overlays=moment.overlays, values=moment.values, is_paused=moment.is_paused
        )

    def _keep_time(self, time: float) -> None:
        """Sleep until the clock has come as far as the simulation; one that is late stays late."""
        wall, simulated = self._anchor
        ahead = (time - simulated) / self._speed - (clock.monotonic() - wall)
        self.behind = max(0.0, -ahead)
        if ahead > 0.0:
            clock.sleep(ahead)
        elif ahead < -BEHIND:
            self._anchor = (clock.monotonic(), time)

    # --- what the pages ask for

    def _obey(self, live: Live) -> None:
        for command in self._viewer.commands():
            try:
                self._do(command, live)
            except InvalidValue as error:
                log.warning("Page %d: %s", command.page, error)
                self._viewer.say(type="refused", why=str(error))
        far = FARTHEST * self._character.leg_length / HUMAN_LEG
        if np.linalg.norm(live.machine.q[:2] - self._shown_at) > far:
            self._show()
        if self._laid is not None and clock.monotonic() - self._laid > SETTLE:
            self._laid = None
            self._lay(live.machine.q[:3])
            self._show()

    def _do(self, command: Command, live: Live) -> None:
        f, hand = command.fields, self._hands.get(command.page)
        if command.kind == "grab":
            self._release(command.page, live.time)
            index = self._body(f)
            name = self._character.bodies[index].name
            held = Hand(name, index, f["point"], f["target"], self._character.mass, live.time)
            self._hands[command.page] = held
            live.push(held)  # pyright: ignore[reportArgumentType]  # a force like Push and Pull
            self._viewer.say(
                type="grabbed", track=0, body=index, point=f["point"].tolist(), target=f["target"].tolist()
            )
        elif command.kind == "move":
            if hand is not None:
                hand.target = f["target"]
        elif command.kind == "release":
            self._release(command.page, live.time)
        elif command.kind == "push":
            name = self._character.bodies[self._body(f)].name
            force = f["force"]
            live.push(Push(name, (float(force[0]), float(force[1]), float(force[2])), live.time, f["seconds"]))
            label = f"{name}, {np.linalg.norm(force):.0f} N"
            self._viewer.say(type="mark", row="pushes", time=live.time, label=label)
        elif command.kind == "step":
            self._steps += int(self._paused)
        elif command.kind == "restart":
            self._again, self._paused = True, False
        else:
            self._set(command)
            self._anchor = (clock.monotonic(), live.time)
            self._viewer.say(**self._status())
            self._send(live)

    def _set(self, command: Command) -> None:
        """Pause, speed, and the named values."""
        f = command.fields
        if command.kind == "pause":
            self._paused = f["on"]
            return
        if command.kind == "speed":
            self._speed = f["value"]
            return
        known = next((c for c in CONTROLS if c.name == f["name"]), None)
        value = f["value"]
        if known is None or isinstance(value, str | bool):
            raise InvalidValue(f"No value {f['name']!r}. Values: {', '.join(c.name for c in CONTROLS)}.")
        if not known.low <= value <= known.high:
            raise InvalidValue(f"{known.label} is {value:g}; {known.low:g} to {known.high:g} is allowed.")
        self._values[known.name] = value
        if known.name == "physicality":
            assert self._machine is not None
            self._machine.options = replace(self._machine.options, physicality=self._physicality())
        elif self._laid is None:
            self._laid = clock.monotonic()

    def _release(self, page: int, time: float) -> None:
        hand = self._hands.pop(page, None)
        if hand is not None:
            hand.let_go(time)
            self._viewer.say(type="released")

    def _body(self, fields: dict[str, Any]) -> int:
        index = fields["body"]
        if fields["track"] != 0 or not index < len(self._character.bodies):
            raise InvalidValue(f"Only the bodies 0 to {len(self._character.bodies) - 1} of track 0 can be held.")
        return index

    def _physicality(self) -> Physicality:
        """The run's own, times ten to the power of the slider."""
        knob, power = self._options.physicality, float(self._values["physicality"])
        if knob.is_off or knob.is_strict:
            return knob
        return replace(knob, factor=knob.factor * math.pow(10.0, power))

    def _lay(self, position: Array) -> None:
        hill = Hill(float(self._values["slope"]), float(self._values["roughness"]))
        if hill.slope or hill.roughness or self._ground.current is not self._first:
            self._ground.change(hill, np.asarray(position), self._heading)

    def _status(self, *, ended: bool = False) -> dict[str, Any]:
        return {
            "type": "status", "paused": self._paused, "speed": self._speed, "values": dict(self._values),
            "ended": ended,
        }  # fmt: skip
