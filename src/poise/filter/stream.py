"""The online form: one pose in, one simulated pose out, nothing known of the future but the next pose."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from poise.body.character import Character
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Force
from poise.filter.preset import Preset, load_preset
from poise.filter.reference import ReferenceBuilder
from poise.filter.sensing import Asked, Given
from poise.filter.setup import Options
from poise.filter.stages import NOT_TRIED, crowd_of, usual_steps
from poise.terrain import Terrain


class QuasiPhysicalFilter:
    """A pose stream in, plausible reactions out; the input untouched while nothing disturbs it.

    Example:
        >>> live = poise.QuasiPhysicalFilter(character, dt=motion.dt)
        >>> live.push(push)
        >>> answers = [live.step(pose) for pose in poise.motion_to_q(character, motion)]

    Args:
        character: The character.
        dt: Time between poses [s].
        terrain: Placed terrain; flat at the character's floor by default.
        preset: Name of a preset or the preset itself.
        options: Goal, physicality, friction and so on.

    Raises:
        InvalidValue: if the preset's servos are unstable at this dt.
    """

    def __init__(
        self,
        character: Character,
        dt: float,
        terrain: Terrain | None = None,
        *,
        preset: str | Preset = "recommended",
        options: Options | None = None,
    ) -> None:
        if not (math.isfinite(dt) and dt > 0.0):
            raise InvalidValue(f"dt is {dt} s; give the positive time between two poses.")
        preset = load_preset(preset) if isinstance(preset, str) else preset
        require_stable(preset, dt)
        options = options or Options()
        if terrain is None:
            terrain = Terrain.flat(character.floor)
        self.figure = SimulatedCharacter(character, preset, terrain, options, dt=dt, floor=character.floor)
        self._builder = ReferenceBuilder(
            self.figure.model,
            dt=dt,
            friction=options.friction,
            without=self.figure.goal_without,
            scale=self.figure.scale,
        )
        self._builder.estimate(character.floor, character.leg_length, preset.end_effector.contact_time)
        self.reset()

    def reset(self) -> None:
        """Begin again: the next pose is the first, pushes are gone, and nothing is left of the poses before."""
        self._poses: list[Array] = []
        self._touches: list[tuple[npt.NDArray[np.bool_], Array] | None] = []
        self._previous_v: Array | None = None
        self._pushes: list[Force] = []
        self._answer: Array | None = None
        self._builder.reset()
        figure = self.figure
        figure.start(figure.model.q_rest(), np.zeros(figure.model.nv))

    def push(self, push: Force) -> None:
        """Add a push or pull; its start counts from the first pose. Works at any time."""
        push.body_of(self.figure.character)
        self._pushes.append(push)

    @property
    def time(self) -> float:
        """Time of the simulated pose last answered [s]; a push that starts now is felt in the next one."""
        return self.figure.time

    def step(
        self, pose: Array, *, flags: npt.NDArray[np.bool_] | None = None, times_to_contact: Array | None = None
    ) -> Array | None:
        """Give the next reference pose; get the simulated pose before it, or None on the first call.

        Args:
            pose: Coordinates q of the character (see `poise.body.posing.motion_to_q`), shape (nq,).
            flags: Contact points that touch in this pose, if known, shape (P,); else those with no time left.
            times_to_contact: Time until each point touches [s], if known, shape (P,).
        """
        now = self._take(pose, flags, times_to_contact)
        if now is None:
            return None if self._answer is None else self._answer.copy()
        return self._advance(now)

    def ask(self, pose: Array, pushes: Sequence[Force]) -> Asked | None:
        """Give the next pose; the step that is due then, for whoever solves it together with others (`poise.World`).

        Args:
            pose: As for `step`.
            pushes: What pushes and pulls in this step, besides the filter's own.

        Returns:
            What `figure.move` takes; None for the first two poses, and where the figure was moved without a step.
        """
        now = self._take(pose)
        if now is None:
            return None
        self._builder.finish(now.reference)
        return self.figure.ask(now._replace(pushes=[*now.pushes, *pushes]))

    def _take(
        self, pose: Array, flags: npt.NDArray[np.bool_] | None = None, times_to_contact: Array | None = None
    ) -> Given | None:
        """Take in the next pose, as for `step`; what the due step is given, with its reference not filled in."""
        pose = np.array(pose, dtype=np.float64)
        if pose.shape != (self.figure.model.nq,):
            raise InvalidValue(f"A pose has {self.figure.model.nq} coordinates; this one has shape {pose.shape}.")
        if not np.isfinite(pose).all():
            raise InvalidValue(f"Coordinate {int(np.argmin(np.isfinite(pose)))} of the pose is not finite.")
        points = self.figure.model.point_count
        if times_to_contact is not None and flags is None:
            flags = np.asarray(times_to_contact) <= 0.0
        for name, given in (("flags", flags), ("times_to_contact", times_to_contact)):
            if given is not None and np.shape(given) != (points,):
                raise InvalidValue(f"{name} has shape {np.shape(given)}; give one per contact point, ({points},).")
        self._poses.append(pose)
        self._touches.append(
            None
            if flags is None
            else (flags, np.where(flags, 0.0, np.inf) if times_to_contact is None else times_to_contact)
        )
        if len(self._poses) == 1:
            return None
        if len(self._poses) == 2 and self._answer is None:
            v = self.figure.model.difference(self._poses[0], self._poses[1], self.figure.dt)
            self.figure.start(self._poses[0], v)
            self._settle()
            self._answer = self.figure.q.copy()
            self._previous_v = v
            return None
        return self._due()

    def _settle(self) -> None:
        """Stand on the ground before the first answer, as a clip run does."""
        pose, still = self._poses[0], np.zeros(self.figure.model.nv)
        self.figure.settle(self._builder.frame(pose, still, still))

    def flush(self) -> Array:
        """The simulated pose of the last reference pose; the stream is over."""
        if not self._poses:
            raise InvalidValue("The stream had no pose; call step first.")
        if self._answer is None:
            return self._poses[0].copy()
        return self._advance(self._due())

    def _due(self) -> Given:
        """What the step is given from the oldest pose kept to the one after it."""
        figure = self.figure
        now, following = self._poses[0], self._poses[1]
        v = self._previous_v
        assert v is not None
        following_v = figure.model.difference(now, following, figure.dt)
        reference = self._builder.write(now, v, (following_v - v) / figure.dt, touching=self._touches[0])
        active = [p for p in self._pushes if p.is_on(figure.time)]
        self._previous_v = following_v
        del self._poses[0], self._touches[0]
        return Given(reference, following, following_v, active)

    def _advance(self, now: Given) -> Array:
        """Answer for the step that is due."""
        self._builder.finish(now.reference)
        self._answer = self.figure.advance(now)
        return self._answer.copy()

    def _end(self, now: Given, reached: int) -> Array:
        """The same for a step that was begun together with those of others, and came so far; its reference is made."""
        self._answer = self.figure.end(now, reached)
        return self._answer.copy()


def step_all(
    filters: Sequence[QuasiPhysicalFilter], poses: Sequence[Array] | Array, *, threads: int | None = None
) -> list[Array | None]:
    """Give each of many filters its next pose, on threads of this process; the same answers as one after the other.

    Example:
        >>> crowd = [poise.QuasiPhysicalFilter(character, dt=1.0 / 50.0) for _ in range(3)]
        >>> answers = poise.step_all(crowd, [path[0], path[5], path[10]])

    Args:
        filters: The filters, each once.
        poses: The next pose of each, as for `QuasiPhysicalFilter.step`.
        threads: How many; as many as there are processors by default.

    Raises:
        InvalidValue: if there are not as many poses as filters, or a filter stands there twice.
        SimulationDiverged: as `step` does; the other filters have made their step by then.
    """
    if len(poses) != len(filters):
        raise InvalidValue(f"{len(filters)} filters and {len(poses)} poses; give one pose for each filter.")
    if len(set(map(id, filters))) < len(filters):
        raise InvalidValue("One filter appears twice in the list; a filter makes one step at a time.")
    count = max(1, min(len(filters), threads or os.cpu_count() or 1))
    parts = 1 if count == 1 else min(len(filters), PARTS * count)
    out: list[Array | None] = [None] * len(filters)
    failures: list[Exception] = []

    def some(first: int) -> None:
        begun: list[tuple[int, Given]] = []
        for k in range(first, len(filters), parts):
            own = filters[k]
            try:
                now = own._take(poses[k])
                if now is None:
                    out[k] = None if own._answer is None else own._answer.copy()
                elif own.figure.begin(now):
                    begun.append((k, now))
                else:
                    own._builder.finish(now.reference)
                    out[k] = own._end(now, NOT_TRIED)
            except Exception as error:  # the others go on
                failures.append(error)
        crowd = crowd_of([(filters[k]._builder.actor, filters[k].figure.stages) for k, _ in begun])
        usual_steps(crowd)  # without the interpreter lock
        for (k, now), reached in zip(begun, crowd.reached.tolist(), strict=True):
            try:
                out[k] = filters[k]._end(now, reached)
            except Exception as error:
                failures.append(error)

    if count == 1:
        some(0)
    else:
        list(_pool(count).map(some, range(parts)))
    if failures:
        raise failures[0]
    return out


PARTS = 6
"""Parts of a crowd for each thread: while one thread prepares a part in Python, others are in the core."""


@functools.cache
def _pool(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, thread_name_prefix="poise")


def require_stable(preset: Preset, dt: float) -> None:
    """Raise InvalidValue if one of the preset's servos alone is unstable at this step length [s]."""
    for name, servo in (("pose", preset.pose), ("end_effector", preset.end_effector)):
        if not servo.is_stable(dt):
            raise InvalidValue(
                f"At {1.0 / dt:.1f} Hz the {name} servo of preset {preset.name!r} (frequency {servo.frequency}, "
                f"damping {servo.damping}) is unstable: 2 ω ζ Δt + (ω Δt)² must stay below 4. Use a higher --fps; "
                "resample a motion whose poses you give yourself: "
                "`motion.resampled(numpy.arange(0.0, motion.duration, 1 / 60))`."
            )
