"""What every protocol gives: one pose of a skeleton, the same numbers as one frame of a clip."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array

MOST_JOINTS = 512
"""Joints of a live skeleton; more are refused."""
FARTHEST = 1e4
"""Farthest a joint of a live pose may be from its parent [m]."""
SAME_BONE = 0.02
"""Bones whose lengths differ by less belong to the same actor [m]."""


class PacketError(InvalidValue):
    """A packet that cannot be used. It is counted, never fatal."""


@dataclass(frozen=True)
class LivePose:
    """One pose of one actor.

    Attributes:
        skeleton: The J joints; the same object as long as the actor is the same.
        translations: Translation of each joint in its parent's frame [m], shape (J, 3).
        rotations: Rotation of each joint in its parent's frame, unit wxyz, shape (J, 4).
        time: On the sender's clock [s]; None if it sends none.
        number: The sender's count of frames; None if it sends none.
        actor: The sender's name for the actor.
    """

    skeleton: Skeleton
    translations: Array
    rotations: Array
    time: float | None = None
    number: int | None = None
    actor: str = ""

    def motion(self) -> Motion:
        """The pose as a clip of one frame."""
        return Motion(self.skeleton, np.zeros(1), self.translations[None], self.rotations[None])


class Decoder(abc.ABC):
    """Reads the packets of one sender, in the order in which they come."""

    @abc.abstractmethod
    def read(self, packet: bytes) -> list[LivePose]:
        """Poses that this packet completes.

        Raises:
            PacketError: if it is malformed.
        """

    def cut(self, received: bytearray) -> list[bytes]:
        """Whole packets from the front of a byte stream (TCP), taken out of it."""
        raise InvalidValue("This protocol comes as datagrams; there is no stream of it.")


class Encoder(abc.ABC):
    """Writes poses as packets."""

    @abc.abstractmethod
    def write(self, pose: LivePose) -> list[bytes]:
        """Packets that carry one pose."""


def numbers(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """Finite numbers of this shape, of a size that makes sense.

    Raises:
        PacketError: if they are not.
    """
    try:
        found = np.array(values, dtype=np.float64)
    except (ValueError, TypeError, OverflowError):
        raise PacketError(f"The {what} are not numbers.") from None
    if found.shape != shape:
        raise PacketError(f"The {what} have shape {found.shape}; {shape} is needed.")
    if not np.isfinite(found).all() or np.abs(found).max(initial=0.0) > FARTHEST:
        raise PacketError(f"The {what} are not finite, or beyond {FARTHEST:g}.")
    return found


def turns(values: Any, count: int, what: str = "rotations") -> Array:
    """Unit quaternions of any positive length, shape (count, 4), in the order given.

    Raises:
        PacketError: if they are not, or one has no length.
    """
    found = numbers(values, (count, 4), what)
    sizes = np.linalg.norm(found, axis=1, keepdims=True)
    if not (sizes > 1e-6).all():
        raise PacketError(f"One of the {what} has no length.")
    return found / sizes


def from_world(parents: Sequence[int], places: Array, world: Array) -> tuple[Array, Array]:
    """Translations and rotations in the parents' frames, of places (J, 3) and orientations (J, 4) in the world."""
    local_places, local_turns = places.copy(), world.copy()
    index = np.asarray(parents)
    below = index >= 0
    above = rotations.conjugate(world[index[below]])
    local_places[below] = rotations.rotate(above, places[below] - places[index[below]])
    local_turns[below] = rotations.multiply(above, world[below])
    return local_places, local_turns


class Skeletons:
    """Keeps one skeleton object for each actor, as long as its bones stay as they are."""

    def __init__(self) -> None:
        self._known: dict[str, Skeleton] = {}

    def of(
        self, actor: str, names: Sequence[str], parents: Sequence[int], offsets: Array, rests: Array | None = None
    ) -> Skeleton:
        """The skeleton of an actor; a new one where joints or lengths have changed.

        Raises:
            PacketError: if joints do not hang together.
        """
        known = self._known.get(actor)
        if known is not None and known.names == tuple(names) and list(parents) == known.parents.tolist():
            sizes = np.linalg.norm(offsets[1:], axis=1) - np.linalg.norm(known.offsets[1:], axis=1)
            if np.abs(sizes).max(initial=0.0) < SAME_BONE:
                return known
        if not 0 < len(names) <= MOST_JOINTS:
            raise PacketError(f"A skeleton of {len(names)} joints; 1 to {MOST_JOINTS} are allowed.")
        rests = np.tile(rotations.IDENTITY, (len(names), 1)) if rests is None else rests
        try:
            made = Skeleton(tuple(names), np.asarray(parents, dtype=np.int64), offsets.copy(), rests.copy())
        except (InvalidValue, ValueError, OverflowError) as error:
            raise PacketError(str(error)) from None
        if len(self._known) >= 16:
            self._known.clear()
        self._known[actor] = made
        return made
