"""Live messages (docs/scene_format.md): states out, commands in. What is malformed never leaves this file."""

from __future__ import annotations

import json
import math
import struct
import time as clock
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.show.scene import Scene

MAX_MESSAGE = 4096
"""Largest message a page may send [bytes]."""

LARGEST = 1e6
"""Largest number a page may send, in size."""

RATE, BURST = 240.0, 480.0
"""Messages a page may send: so many a second, and so many at once."""

MAX_REFUSED = 100
"""After so many malformed messages a page is sent away."""

STATE = struct.Struct("<BBHIdd")
"""Head of a state: kind, flags, scene number, sequence number, time [s], stamp [ms since 1970]."""

ACK = struct.Struct("<B3xI")
"""An acknowledgement: kind, sequence number."""

SCENE_HEAD = bytes(8)
"""Head of a scene: kind 0 and padding, so that what follows is aligned."""


@dataclass(frozen=True)
class Command:
    """What a page asks for.

    Attributes:
        kind: "grab", "move", "release", "push", "pause", "step", "restart", "speed" or "set".
        fields: Its values, checked.
        page: Which page asked.
    """

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    page: int = 0


@dataclass(frozen=True)
class Layout:
    """How many numbers a state of a live scene has.

    Attributes:
        bodies: Of each track, the things after the figures.
        overlays: Kind and count of each overlay that moves.
        series: Lines of all plots.
        rows: Rows of the timeline.
    """

    bodies: tuple[int, ...]
    overlays: tuple[tuple[str, int], ...]
    series: int
    rows: int = 0

    @property
    def size(self) -> int:
        """Numbers in a state."""
        widths = {"vectors": 6}
        return (
            7 * sum(self.bodies) + sum(n * widths.get(kind, 3) for kind, n in self.overlays) + self.series + self.rows
        )


@dataclass(frozen=True)
class Moment:
    """One state of a live scene, in the order of its layout.

    Attributes:
        time: [s].
        poses: Positions (B, 3) [m] and orientations (B, 4) of each track.
        overlays: Arrays (N, 3) of points and polygons, (N, 6) of vectors: place and vector. NaN hides.
        values: One number for each line of each plot.
        is_paused: The run stands still.
        rows: For each row of the timeline, whether what it tells lasts now.
        controls: Values of controls that the run itself has changed, by name.
    """

    time: float
    poses: tuple[tuple[Array, Array], ...]
    overlays: tuple[Array, ...] = ()
    values: tuple[float, ...] = ()
    is_paused: bool = False
    rows: tuple[bool, ...] = ()
    controls: Mapping[str, float] = field(default_factory=dict)


def layout_of(scene: Scene) -> Layout:
    """The layout of a live scene, of its first frame."""
    from poise.show.look import push_overlays
    from poise.show.scene import Points, Polygon, Vectors

    bodies = [len(t.character.bodies) if t.skinned is None else t.character.skeleton.joint_count for t in scene.tracks]
    overlays: list[tuple[str, int]] = []
    for o in (*push_overlays(scene), *scene.overlays):
        if isinstance(o, Points):
            overlays.append(("points", o.positions.shape[1]))
        elif isinstance(o, Vectors):
            overlays.append(("vectors", o.points.shape[1]))
        elif isinstance(o, Polygon):
            overlays.append(("polygon", o.vertices.shape[1]))
    return Layout(
        (*bodies, *[1] * len(scene.props)),
        tuple(overlays),
        sum(len(p.series) for p in scene.plots),
        len(scene.timeline),
    )


def state_numbers(moment: Moment, layout: Layout) -> bytes:
    """The numbers of a state, without its head.

    Raises:
        InvalidValue: if they are not as many as the layout says.
    """
    parts = [np.concatenate([p, q], axis=1).ravel() for p, q in moment.poses]
    parts += [np.asarray(o, dtype=np.float64).ravel() for o in moment.overlays]
    parts += [np.asarray(x, dtype=np.float64) for x in (moment.values, moment.rows)]
    numbers = np.concatenate(parts).astype("<f4")
    if len(numbers) != layout.size:
        raise InvalidValue(f"A state has {len(numbers)} numbers; the scene that is shown needs {layout.size}.")
    return numbers.tobytes()


def state_message(numbers: bytes, *, time: float, is_paused: bool, scene: int, sequence: int) -> bytes:
    """A state as it goes out; the stamp is now."""
    head = STATE.pack(1, int(is_paused), scene & 0xFFFF, sequence & 0xFFFFFFFF, time, 1000.0 * clock.time())
    return head + numbers


def read_ack(message: bytes) -> int:
    """Sequence number of an acknowledgement.

    Raises:
        InvalidValue: if it is none.
    """
    if len(message) != ACK.size or message[0] != 1:
        raise InvalidValue(f"A binary message of {len(message)} bytes is not an acknowledgement.")
    return int(ACK.unpack(message)[1])


def read_command(message: str, page: int = 0) -> Command:
    """A command of a page.

    Raises:
        InvalidValue: what is wrong with it, in words that may be shown to the page.
    """
    try:
        data = json.loads(message)
    except (ValueError, RecursionError):
        raise InvalidValue("The message is not JSON.") from None
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise InvalidValue("The message is not an object with a type.")
    wanted = _FIELDS.get(data["type"])
    if wanted is None:
        raise InvalidValue(f"There is no message of type {data['type'][:40]!r}. Types: {', '.join(_FIELDS)}.")
    return Command(data["type"], {name: read(name, data.get(name)) for name, read in wanted.items()}, page)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue(f"{name} is not a number.")
    if not abs(value) <= LARGEST or not math.isfinite(value):  # an int too large for a float fails the first
        raise InvalidValue(f"{name} is not finite, or beyond {LARGEST:g}.")
    return float(value)


def _index(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 65536:
        raise InvalidValue(f"{name} is not an index.")
    return value


def _place(name: str, value: Any) -> Array:
    if not isinstance(value, list) or len(value) != 3:
        raise InvalidValue(f"{name} is not a list of three numbers.")
    return np.array([_number(name, x) for x in value])


def _speed(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0.05 <= number <= 4.0:
        raise InvalidValue(f"{name} is {number:g}; 0.05 to 4 is allowed.")
    return number


def _seconds(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0.0 < number <= 60.0:
        raise InvalidValue(f"{name} is {number:g}; above 0 and up to 60 is allowed.")
    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(f"{name} is neither true nor false.")
    return value


LONGEST_TEXT = 1000
"""Characters of a value that a page sets, at most."""


def _name(name: str, value: Any, longest: int = 100) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise InvalidValue(f"{name} is not a name.")
    return value


def _value(name: str, value: Any) -> float | bool | str:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _name(name, value, LONGEST_TEXT)
    return _number(name, value)


_FIELDS: dict[str, dict[str, Callable[[str, Any], Any]]] = {
    "grab": {"track": _index, "body": _index, "point": _place, "target": _place},
    "move": {"target": _place},
    "release": {},
    "push": {"track": _index, "body": _index, "force": _place, "seconds": _seconds},
    "pause": {"on": _flag},
    "step": {},
    "restart": {},
    "speed": {"value": _speed},
    "set": {"name": _name, "value": _value},
}


class Meter:
    """Counts a page's messages against the allowed rate."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self._rate, self._burst, self._left, self._last = rate, burst, burst, clock.monotonic()

    def take(self, now: float | None = None) -> bool:
        """Count one message; False if it is one too many."""
        now = clock.monotonic() if now is None else now
        self._left = min(self._burst, self._left + self._rate * max(now - self._last, 0.0)) - 1.0
        self._last = now
        if self._left < 0.0:
            self._left = 0.0
            return False
        return True
