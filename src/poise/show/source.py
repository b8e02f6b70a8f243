"""What a live page can show: anything that steps, says what is seen of it, and takes what the pages ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.filter.hand import Hand
from poise.show.protocol import Moment
from poise.show.scene import Control, Scene

Array = npt.NDArray[np.float64]


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
        """What the pages can set, with the values it has at first."""
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
        """Push a body from now on; what it is called.

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
    return value
