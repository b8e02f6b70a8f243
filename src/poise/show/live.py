"""A run in real time, again and again, with hands in it, until somebody stops it; and what can run so: a `Source`."""

from __future__ import annotations

import logging
import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, q_to_motion
from poise.core.errors import InvalidValue, SimulationDiverged, StepInfeasible
from poise.core.typing import Array
from poise.filter.forces import Hand, Push
from poise.show.protocol import Command, Moment
from poise.show.scene import Control, Scene
from poise.show.viewer import Viewer

log = logging.getLogger(__name__)


class Round(Protocol):
    """What one round of a run left: a result that says whether it came to its end."""

    @property
    def is_complete(self) -> bool:
        """False if it was interrupted."""
        ...


R = TypeVar("R", bound=Round, covariant=True)


class Source(Protocol[R]):
    """A run that `LiveRun` shows: the filter on a clip (`LiveClip`), a synthesized behavior, anything else that steps.

    Bodies are named as in the scene: track k, body i; things (`Scene.props`) are the tracks after the figures, with
    one body. The order of calls is `begin`, `scene`, `play`; within `play`, between two steps, `is_changed`, `scene`,
    `moment`, `grab`, `push` and `set`.
    """

    @property
    def controls(self) -> tuple[Control, ...]:
        """What the pages can set, with the values it has at first; asked again with every new scene."""
        ...

    @property
    def time(self) -> float:
        """Simulated time of this round [s]."""
        ...

    def begin(self) -> None:
        """Go back to the start; values that were set stay."""
        ...

    def play(self, watch: Callable[[], bool]) -> R:
        """One round from the start.

        Args:
            watch: Called after every step; False ends the round, and what is done is kept.
        """
        ...

    def scene(self) -> Scene:
        """What there is; its first frame says where. `controls` need not be in it."""
        ...

    def is_changed(self) -> bool:
        """True if `scene` must be shown anew: other ground, another thing. Asked between steps and while it stands."""
        ...

    def moment(self, hands: Sequence[Hand], *, is_paused: bool) -> Moment:
        """The state now, in the layout of the scene shown last.

        Args:
            hands: Those that hold something, to be drawn.
            is_paused: To be passed on.
        """
        ...

    def grab(self, track: int, body: int, point: Array, target: Array) -> Hand:
        """A hand that holds a body from now on, felt from the next step.

        Args:
            track, body: What is held.
            point: Where, in the body's frame [m], shape (3,).
            target: Where the hand is, in the world frame [m], shape (3,).

        Raises:
            InvalidValue: if that cannot be held.
        """
        ...

    def push(self, track: int, body: int, force: Array, seconds: float) -> str:
        """Push a body from now on; its name.

        Args:
            track, body: What is pushed.
            force: In the world frame [N], shape (3,).
            seconds: How long [s].

        Raises:
            InvalidValue: if that cannot be pushed.
        """
        ...

    def set(self, name: str, value: float | bool | str) -> Mapping[str, float | bool | str] | None:
        """Set a control, to a value its `Control` allows; the values of other controls that changed with it.

        Raises:
            InvalidValue: if it cannot be set now.
        """
        ...


def body_of(character: Character, track: int, body: int) -> str:
    """Name of a body of the one figure, which is track 0.

    Raises:
        InvalidValue: if it is another track's, or there is no such body.
    """
    if track != 0 or not 0 <= body < len(character.bodies):
        raise InvalidValue(f"Only the bodies 0 to {len(character.bodies) - 1} of track 0 can be held.")
    return character.bodies[body].name


def body_at(character: Character, part: int, *, is_skinned: bool) -> int:
    """The body of what a page counts, −1 for none: joints of the skeleton where it draws a skin, else bodies."""
    if not is_skinned:
        return part
    return next((k for k, body in enumerate(character.bodies) if body.joint == part), -1)


def push_of(body: str, force: Array, time: float, seconds: float) -> Push:
    """The push [N] (3,) of a page on a body, from a time on [s]."""
    x, y, z = force.tolist()
    return Push(body, (x, y, z), time, seconds)


def seen_poses(character: Character, q: Array, *, is_skinned: bool) -> tuple[Array, Array]:
    """Places (1, N, 3) [m] and orientations (1, N, 4) of what a page counts, in a pose (nq,)."""
    return q_to_motion(character, q[None], np.zeros(1)).world if is_skinned else body_poses(character, q[None])


def allowed(controls: Sequence[Control], name: str, value: float | bool | str) -> float | bool | str:
    """The value, if there is such a control and it takes it.

    Raises:
        InvalidValue: with what is allowed.
    """
    control = next((c for c in controls if c.name == name), None)
    if control is None:
        raise InvalidValue(f"No value {name!r}. Values: {', '.join(c.name for c in controls) or 'none'}.")
    if control.kind == "slider":
        if isinstance(value, bool | str):
            raise InvalidValue(f"{control.label} is {value!r}; give a number.")
        if not control.low <= value <= control.high:
            raise InvalidValue(f"{control.label} is {value:g}; {control.low:g} to {control.high:g} is allowed.")
    elif control.kind == "toggle" and not isinstance(value, bool):
        raise InvalidValue(f"{control.label} is {value!r}; give true or false.")
    elif control.kind == "choice" and value not in control.choices:
        raise InvalidValue(f"{control.label} is {value!r}; choose one of {', '.join(control.choices)}.")
    elif control.kind == "ground":
        places_of(control, value)
    return value


def places_of(control: Control, value: float | bool | str) -> Array:
    """The places on the ground that the text of a control says [m], shape (N, 2).

    Raises:
        InvalidValue: if it says none.
    """
    try:
        places = np.array([[float(x) for x in place.split(",")] for place in str(value).split()])
    except ValueError:
        places = np.zeros((0, 0))
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise InvalidValue(f"{control.label} is {value!r}; give places in meters, such as '1.5,2 1.5,3'.")
    return places


BEHIND = 0.25
"""A run that is this far behind the clock gives up catching up [s]."""

IDLE = 0.01
"""How long a paused run sleeps between looks at what the pages ask for [s]."""

PICTURE = 0.015
"""A source that keeps time itself is shown at most so often [s]: what it sends on goes before pictures."""

KEEP = Control("keep", "Keep what happened, and start again", kind="button")
"""The button that ends a round and keeps it as files."""

REST = 1.0
"""A run that fell apart starts again after this long [s]."""


class LiveRun(Generic[R]):
    """A run that goes on while pages watch and reach into it.

    Args:
        source: What runs.
        viewer: Where it is shown.
        keeper: Keeps the result of a round, up to now, when the page's button asks for it; says where, in one line.
        keeps_time: Whether the source itself waits for the clock, as one does that follows a live actor.
        listen: Called again and again while the run is paused, with how long [s]; an actor who is not heard is lost.

    Attributes:
        behind: How late the simulation is [s].
    """

    def __init__(
        self,
        source: Source[R],
        viewer: Viewer,
        keeper: Callable[[R], str] | None = None,
        *,
        keeps_time: bool = False,
        listen: Callable[[float], None] = clock.sleep,
    ) -> None:
        self._source, self._viewer, self._keeper, self._keeps_time = source, viewer, keeper, keeps_time
        self._listen = listen
        self._must_keep, self._kept_as = False, ""
        self._hands: dict[int, Hand] = {}
        self._values: dict[str, float | bool | str] = {}
        self._sent = -math.inf
        self._paused, self._steps, self._speed = False, 0, 1.0
        self._again, self._stopped = False, False
        self._anchor = (0.0, 0.0)
        self._last: R | None = None
        self.behind = 0.0

    def stop(self) -> None:
        """End the run after its next step."""
        self._stopped = True

    def play(self, is_over: Callable[[], bool] = lambda: False) -> R | None:
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

    def _rounds(self, is_over: Callable[[], bool]) -> R | None:
        def is_ended() -> bool:
            return self._again or self._stopped or is_over()

        def watch() -> bool:
            self._after_step()
            while self._paused and not self._steps and not is_ended():
                self._listen(IDLE)
                self._obey()
            self._steps = max(self._steps - 1, 0)
            return not is_ended()

        while not self._stopped and not is_over():
            self._again = False
            self._begin()
            try:
                self._last = self._source.play(watch)
            except (SimulationDiverged, StepInfeasible) as error:
                log.warning("The simulation diverged and starts again: %s", error)
                self._viewer.say(type="mark", row="events", time=0.0, label="diverged, started again")
                clock.sleep(REST)
                continue
            if self._must_keep and self._keeper is not None:
                self._must_keep, self._kept_as = False, self._keeper(self._last)
            if not self._last.is_complete and not self._again:
                break
        return self._last

    def _begin(self) -> None:
        """Show the start of a round."""
        self._hands.clear()
        self._source.begin()
        self._show()
        self._anchor = (clock.monotonic(), 0.0)
        self._viewer.say(**self._status())
        if self._kept_as:
            self._viewer.say(type="kept", what=self._kept_as)
            self._kept_as = ""

    def _show(self) -> None:
        own = self._source.controls if self._keeper is None else (*self._source.controls, KEEP)
        for c in own:
            if c.kind != "button":
                self._values.setdefault(c.name, c.value)
        controls = tuple(replace(c, value=self._values.get(c.name, c.value)) for c in own)
        self._viewer.show(replace(self._source.scene(), controls=controls))

    # --- after every step

    def _after_step(self) -> None:
        self._obey()
        if not self._keeps_time:
            self._send()
            self._keep_time(self._source.time)
        elif clock.monotonic() - self._sent > PICTURE:
            self._send()
            self._sent = clock.monotonic()

    def _send(self) -> None:
        held = [h for h in self._hands.values() if h.is_held]
        moment = self._source.moment(held, is_paused=self._paused)
        self._viewer.update(
            moment.time,
            moment.poses,
            overlays=moment.overlays,
            values=moment.values,
            is_paused=moment.is_paused,
            rows=moment.rows,
        )
        if not moment.controls.items() <= self._values.items():
            self._values.update(moment.controls)
            self._viewer.say(**self._status())

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

    def _obey(self) -> None:
        commands = self._viewer.commands()
        for command in commands:
            try:
                self._do(command)
            except InvalidValue as error:
                log.warning("Page %d: %s", command.page, error)
                self._viewer.say(type="refused", why=str(error))
                self._viewer.say(**self._status())  # the page shows what was refused
        if self._source.is_changed():
            self._show()
            self._send()
        elif commands and self._paused:
            self._send()

    def _do(self, command: Command) -> None:
        f, hand, now = command.fields, self._hands.get(command.page), self._source.time
        if command.kind == "grab":
            self._release(command.page)
            self._hands[command.page] = self._source.grab(f["track"], f["body"], f["point"], f["target"])
            self._viewer.say(
                type="grabbed", track=f["track"], body=f["body"], point=f["point"].tolist(), target=f["target"].tolist()
            )
        elif command.kind == "move":
            if hand is not None:
                hand.target = f["target"]
        elif command.kind == "release":
            self._release(command.page)
        elif command.kind == "push":
            name = self._source.push(f["track"], f["body"], f["force"], f["seconds"])
            label = f"{name}, {np.linalg.norm(f['force']):.0f} N"
            self._viewer.say(type="mark", row="pushes", time=now, label=label)
        elif command.kind == "step":
            self._steps += int(self._paused)
        elif command.kind == "restart":
            self._again, self._paused = True, False
        elif command.kind == "set" and f["name"] == KEEP.name and self._keeper is not None:
            self._must_keep, self._again, self._paused = True, True, False
        else:
            if command.kind == "pause":
                self._paused = f["on"]
            elif command.kind == "speed":
                self._speed = f["value"]
            else:
                value = allowed(self._source.controls, f["name"], f["value"])
                others = self._source.set(f["name"], value) or {}
                self._values.update({f["name"]: value, **others})
            self._anchor = (clock.monotonic(), now)
            self._viewer.say(**self._status())

    def _release(self, page: int) -> None:
        hand = self._hands.pop(page, None)
        if hand is not None:
            hand.let_go(self._source.time)
            self._viewer.say(type="released")

    def _status(self, *, ended: bool = False) -> dict[str, Any]:
        return {
            "type": "status",
            "paused": self._paused,
            "speed": self._speed,
            "values": dict(self._values),
            "ended": ended,
        }
