"""A character that walks at any velocity asked for: its poses by velocity and phase, one at a time.

`Walking` drives a figure of a world with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from poise.body.character import Character, fit
from poise.body.posing import apply_deviation, motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.edit.legs import solve_legs
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Force, Push
from poise.filter.preset import Preset
from poise.filter.setup import Options
from poise.locomotion.cycles import PHASES, STAND_RATE
from poise.locomotion.examples import Locomotion
from poise.locomotion.life import Life
from poise.terrain import Terrain
from poise.world import Driver, Stream
from poise.world.drivers import Lists

FREQUENCY = 4.0
"""How quickly the velocity follows what is asked, for a leg of 0.82 m [rad/s]."""
FASTER = 1.5
"""Most that playback is sped up to make up for a velocity that no example has [1]."""
TOO_FAST = 1.5
"""A velocity beyond this many times that of the fastest example is cut back to it [1]."""
ARRIVED = 0.15
"""A goal this near is reached, as a share of the leg [1]."""
SLOWING = 1.0
"""How long before a goal a figure slows down, for a leg of 0.82 m [s]."""
STEER = 2.5
"""Turn rate for each radian that a goal lies aside, for a leg of 0.82 m [1/s]."""


@dataclass(frozen=True)
class Retrieved:
    """What the examples say at one velocity and phase.

    Attributes:
        row: The blended pose: rotations (J · 4), then translations that change; not yet of unit length.
        rate: How fast the phase goes on [1/s], corrected for the velocity asked.
        turn: Turning that the pose has at that rate [rad/s].
        carried: Velocity at which the feet of each leg do not slide then: ahead, left [m/s], shape (L, 2).
        weights: Of the cycles, shape (N,); they sum to 1.
    """

    row: Array
    rate: float
    turn: float
    carried: Array
    weights: Array


def retrieve(examples: Locomotion, velocity: Array, phase: float, stood: float = 0.0) -> Retrieved:
    """The pose at a velocity and a phase, blended from all examples.

    Weights are wᵢ = dᵢ exp(−‖θ − θᵢ‖² / 2σᵢ²), normalized, with dᵢ smaller where examples crowd. Pose and phase rate
    are blended alike. A velocity slower than the examples is shared out between size and speed of the steps,
    √(v / v_q) each: the pose lies that far between the stand and the cycle. A faster one speeds up
    playback, φ̇* = φ̇ v / v_q.

    Example:
        >>> pose = poise.locomotion.retrieve(examples, np.array([1.0, 0.0, 0.0]), phase=0.25)

    Args:
        examples: The controller.
        velocity: Ahead and to the left [m/s], turning to the left [rad/s], shape (3,).
        phase: 0 … 1.
        stood: Time in the stand [s].

    Source: [Levine2012]_ appendix A. Deviates: σᵢ and dᵢ follow how far apart the examples are; a turn counts in the
    norms as if it moved a point a leg length away; slow steps are smaller, too, while the paper only slows them down;
    the speed-up is at most FASTER.
    """
    asked = velocity * examples.scale
    speed = math.sqrt(asked @ asked)
    near, sums, least = examples.tables
    # a slow walk looks like the slowest one in its direction, but smaller
    x, y, z = asked * (least / speed) if 1e-9 < speed < least else asked
    exponent = near @ np.array([1.0, x, y, z, x * x + y * y + z * z])
    weights = np.exp(exponent - exponent.max())
    weights /= weights.sum()
    blended = weights @ sums
    ratio = speed / float(blended[1])
    size = min(1.0, math.sqrt(ratio))
    speed_up = min(ratio / max(size, 1e-9), FASTER)
    at = (phase % 1.0) * PHASES
    k = int(at)
    part = at - k
    cycles, stand = examples.poses
    row = (size * (1.0 - part)) * (weights @ cycles[k])
    row += (size * part) * (weights @ cycles[k + 1])
    row += (1.0 - size) * stand[_there_and_back(stood, len(stand), examples)]
    share = size * speed_up
    return Retrieved(
        row, speed_up * float(blended[0]), share * float(blended[2]), share * blended[3:].reshape(-1, 2), weights
    )


def _there_and_back(time: float, count: int, examples: Locomotion) -> int:
    """Frame of a stand that is played there and back again."""
    if count == 1:
        return 0
    frame = int(time * STAND_RATE / examples.tempo) % (2 * count - 2)
    return frame if frame < count else 2 * count - 2 - frame


@dataclass(frozen=True)
class Pose:
    """One pose of a walk, in the world.

    Example:
        >>> pose = poise.locomotion.Walker(examples).step(velocity=(1.0, 0.0))
        >>> root = pose.translations[0]  # [m]

    Attributes:
        translations: Of the joints in their parents [m], shape (J, 3).
        rotations: The same, shape (J, 4).
    """

    translations: Array
    rotations: Array


class Walker:
    """A walking character: asked for a velocity, it answers with its next pose.

    A particle carries the figure. Its velocity follows what is asked like a critically damped spring; a push changes it
    at once. It has no path to go back to.

    Example:
        >>> pose = poise.locomotion.Walker(examples, dt=1 / 60).step(velocity=(1.0, 0.0), turn=0.2)

    Args:
        examples: From `build` or `load`.
        dt: Time between poses [s].
        place: Where it starts [m], shape (2,).
        heading: Where it faces, counterclockwise from world +x [rad].

    Attributes:
        place, heading: Of the particle, as above.
        velocity: Of the particle: ahead, to the left [m/s], turning left [rad/s], shape (3,).
        phase: Of the cycle, 0 … 1.
        frequency: ω of the spring that leads the velocity to what is asked [rad/s].

    Raises:
        InvalidValue: if dt is not positive.
    """

    def __init__(
        self, examples: Locomotion, dt: float = 1.0 / 60.0, *, place: Sequence[float] = (0.0, 0.0), heading: float = 0.0
    ) -> None:
        if not (math.isfinite(dt) and dt > 0.0):
            raise InvalidValue(f"dt is {dt} s; give the positive time between two poses.")
        self.examples, self.dt = examples, dt
        self.place, self.heading = np.array(place, dtype=np.float64), float(heading)
        self.velocity, self._alpha = np.zeros(3), np.zeros(3)
        self.phase, self._stood = 0.25, 0.0
        self.frequency = FREQUENCY / examples.tempo

    def push(self, change: Sequence[float] | Array) -> None:
        """Change the velocity at once, by a vector in the world [m/s], shape (2,): impulse over mass."""
        change = np.asarray(change, dtype=np.float64)
        if change.shape != (2,) or not np.isfinite(change).all():
            raise InvalidValue(f"A push changes the velocity by two finite numbers; {change} was given.")
        c, s = math.cos(self.heading), math.sin(self.heading)
        self.velocity[:2] += np.array([[c, s], [-s, c]]) @ change

    def step(self, velocity: Sequence[float] | Array, turn: float = 0.0) -> Pose:
        """The next pose.

        Args:
            velocity: Asked for: ahead and to the left [m/s], shape (2,).
            turn: Asked for: turning to the left [rad/s].

        Raises:
            InvalidValue: if these are not finite.

        Source: [Levine2012]_ appendix A: α += Δt (ω² (v̄ − v) − 2 ω α), v += Δt α. Deviates: printed are v − v̄, which
        runs away, and ω for 2 ω, which swings; and Δt in v̇* = v̇ + Δt α, whose units do not agree.
        """
        wanted = np.array([*velocity, turn], dtype=np.float64)
        if wanted.shape != (3,) or not np.isfinite(wanted).all():
            raise InvalidValue(f"Velocity {velocity} and turn {turn}: give two finite numbers and one.")
        wanted = self._possible(wanted)
        omega, dt = self.frequency, self.dt
        self._alpha += dt * (omega**2 * (wanted - self.velocity) - 2.0 * omega * self._alpha)
        self.velocity += dt * self._alpha
        middle = self.heading + 0.5 * dt * self.velocity[2]
        c, s = math.cos(middle), math.sin(middle)
        self.place += dt * np.array([[c, -s], [s, c]]) @ self.velocity[:2]
        self.heading += dt * self.velocity[2]
        self._stood += dt
        found = retrieve(self.examples, self.velocity, self.phase, self._stood)
        self.phase = (self.phase + dt * found.rate) % 1.0
        found = retrieve(self.examples, self.velocity, self.phase, self._stood)
        return self._placed(found)

    def _possible(self, wanted: Array) -> Array:
        speed, most = float(np.hypot(*wanted[:2])), TOO_FAST * self.examples.fastest
        if speed > most:
            wanted = wanted * np.array([most / speed, most / speed, 1.0])
        return wanted

    def _placed(self, found: Retrieved) -> Pose:
        """The pose with its feet where they do not slide, put where the particle is."""
        skeleton = self.examples.motion.skeleton
        joints, moving = skeleton.joint_count, self.examples.moving
        turned = rotations.normalize(found.row[: 4 * joints].reshape(joints, 4))
        translations = self.examples.motion.translations[0].copy()
        translations[moving] = found.row[4 * joints :].reshape(-1, 3)
        motion = Motion(skeleton, np.zeros(1), translations[None], turned[None])
        motion = self._stepping(motion, found)
        translations, turned = motion.translations[0].copy(), motion.rotations[0].copy()
        lift = rotations.from_rotation_vector(np.array([0.0, 0.0, self.heading]))
        translations[0] = rotations.rotate(lift, translations[0]) + np.array([*self.place, 0.0])
        turned[0] = rotations.multiply(lift, turned[0])
        return Pose(translations, turned)

    def _stepping(self, motion: Motion, found: Retrieved) -> Motion:
        """The pose with longer, shorter, sideways or turning steps, where the blended ones do not go as fast as asked.

        What the pose lacks in velocity, r, a standing foot makes up for: it moves back by r t from the middle of its
        stance, and swings ahead again in the air.
        """
        if found.rate < 1e-3:
            return motion
        lack, turning = self.velocity[:2] - found.carried, float(self.velocity[2]) - found.turn
        around = found.weights @ np.exp(2j * np.pi * self.examples.middle)
        middle, duty = np.angle(around) / (2.0 * np.pi), found.weights @ self.examples.duty
        positions, orientations = motion.world
        targets = {}
        for k, leg in self.examples.legs.items():
            when = _stride(float((self.phase - middle[k]) % 1.0), float(duty[k])) / found.rate
            turn = rotations.from_rotation_vector(np.array([0.0, 0.0, -turning * when]))
            place = rotations.rotate(turn, positions[0, leg.foot]) - np.array([*(lack[k] * when), 0.0])
            targets[leg] = (place[None], rotations.multiply(turn, orientations[0, leg.foot])[None])
        return solve_legs(motion, targets, np.array([0]))


def _stride(since: float, duty: float) -> float:
    """How far a foot is through its stance, in cycles from the middle, and back again through its swing.

    Args:
        since: Phase since the middle of the stance, 0 … 1.
        duty: Part of the cycle that the foot stands.

    Returns:
        −duty/2 at touch-down to duty/2 at lift-off with slope 1; in the air a cubic that joins both ends smoothly.
    """
    duty = min(max(duty, 0.05), 0.95)
    half = 0.5 * duty
    if since <= half:
        return since
    if since >= 1.0 - half:
        return since - 1.0
    swing = 1.0 - duty
    s = (since - half) / swing
    return half * (1.0 - 2.0 * rotations.eased(s)) + swing * s * (1.0 - s) * (1.0 - 2.0 * s)


Command = tuple[tuple[float, float], float]
"""What is asked for: velocity ahead and to the left [m/s], turning to the left [rad/s]."""
Commands = Callable[["Walker", float], Command | None]
"""Gives the command before every pose, for the walker and the time [s]; None ends the walk."""


@dataclass(frozen=True)
class Toward:
    """Points on the ground to walk to. The walker slows down before the last one and stops there.

    Example:
        >>> square = poise.locomotion.walk(examples, poise.locomotion.Toward([(2, 0), (2, 2)], 1.4), seconds=20.0)

    Args:
        points: Places to go to, in order [m], shape (n, 2), n ≥ 1.
        speed: On the way [m/s], positive.
        rest: How long it stands there before the walk ends [s].

    Raises:
        InvalidValue: if a number is not finite, there is no point, or the speed is not positive.
    """

    points: Sequence[Sequence[float]] | Array
    speed: float
    rest: float = 1.0

    def __post_init__(self) -> None:
        points = np.asarray(self.points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or not len(points) or not np.isfinite(points).all():
            raise InvalidValue(f"Points have the shape {points.shape}; give one or more places of two finite numbers.")
        if not (math.isfinite(self.speed) and self.speed > 0.0 and math.isfinite(self.rest)):
            raise InvalidValue(
                f"Speed {self.speed} m/s and rest {self.rest} s; give a positive speed and a finite rest."
            )

    def begin(self) -> Commands:
        """The commands of one walk from the first point on."""
        points = np.array(self.points, dtype=np.float64)
        passed, arrived = 0, math.inf

        def command(walker: Walker, time: float) -> Command | None:
            nonlocal passed, arrived
            leg, size = walker.examples.leg_length, walker.examples.tempo
            while passed < len(points) - 1 and np.linalg.norm(points[passed] - walker.place) < 0.5 * leg:
                passed += 1
            away = points[passed] - walker.place
            distance = float(np.linalg.norm(away))
            if distance < ARRIVED * leg and passed == len(points) - 1:
                arrived = min(arrived, time)
                return None if time - arrived > self.rest + size else ((0.0, 0.0), 0.0)
            aside = math.remainder(math.atan2(away[1], away[0]) - walker.heading, 2.0 * math.pi)
            left = distance + float(np.linalg.norm(np.diff(points[passed:], axis=0), axis=1).sum())
            # turn first, then go; slow down before the end
            speed = min(self.speed, left / (SLOWING * size)) * max(0.0, math.cos(aside)) ** 2
            return (speed * math.cos(aside), speed * math.sin(aside)), float(np.clip(STEER * aside / size, -2.0, 2.0))

        return command


def walk(
    examples: Locomotion,
    command: Commands | Toward,
    seconds: float,
    *,
    dt: float = 1.0 / 60.0,
    pushes: Sequence[Force] = (),
    mass: float | None = None,
) -> Motion:
    """A walk as a motion.

    Example:
        >>> ahead = poise.locomotion.walk(examples, lambda walker, time: ((1.4, 0.0), 0.0), seconds=5.0)

    Args:
        examples: The controller.
        command: Points to walk to; or a function that is asked for a command before every pose, with the walker and
            the time [s]. None ends the walk.
        seconds: Longest time [s].
        dt: Time between poses [s].
        pushes: Forces that change the velocity: by force · dt / mass each step.
        mass: Of the figure [kg]; if not given, that of a character fitted to the examples.

    Raises:
        InvalidValue: if the walk would have fewer than two poses, a number is not finite, or the mass is not positive.
    """
    if not (math.isfinite(seconds) and seconds >= dt):
        raise InvalidValue(f"A walk of {seconds} s at {dt:g} s a pose; give a longer, finite time.")
    if mass is not None and not (math.isfinite(mass) and mass > 0.0):
        raise InvalidValue(f"The mass is {mass} kg; give a positive, finite one, or none to take that of the examples.")
    figure = fit(examples.motion, mass=mass)
    ask = command.begin() if isinstance(command, Toward) else command
    walker = Walker(examples, dt)
    poses, going = list[Pose](), list[tuple[Array, float]]()
    for k in range(round(seconds / dt) + 1):
        asked = ask(walker, k * dt)
        if asked is None and len(poses) > 1:
            break
        for push in pushes:
            if push.is_on(k * dt):
                force = push.force_at(np.array([*walker.place, 0.0]), np.zeros(3), k * dt, figure.mass)
                walker.push(force[:2] * dt / figure.mass)
        poses.append(walker.step(*(asked or ((0.0, 0.0), 0.0))))
        going.append((walker.velocity.copy(), walker.heading))
    translations, turned = (np.array([getattr(p, name) for p in poses]) for name in ("translations", "rotations"))
    times: Array = np.arange(len(poses), dtype=np.float64) * dt
    motion = Motion(examples.motion.skeleton, times, translations, rotations.continuous(turned))
    life, plain = Life(examples, figure), motion_to_q(figure, motion)
    lively = np.array([life.enliven(q, *how, t) for q, how, t in zip(plain, going, times)])
    return apply_deviation(figure, motion, plain, lively)


def scripted(rows: Sequence[Sequence[float]]) -> Commands:
    """The command of a script.

    Example:
        >>> command = poise.locomotion.scripted([[0.0, 1.0], [2.0, 1.5, 0.0, 30.0]])  # time, speed, direction, turn

    Args:
        rows: From when [s], speed [m/s], direction from ahead to the left [rad], turning to the left [rad/s]; by time.
    """

    def command(walker: Walker, time: float) -> Command:
        del walker
        _, speed, direction, turn = next((r for r in reversed(rows) if r[0] <= time + 1e-9), (0.0, 0.0, 0.0, 0.0))
        return (speed * math.cos(direction), speed * math.sin(direction)), turn

    return command


class Walking(Driver):
    """A figure that goes as fast as you say, through the quasi-physical filter.

    Example:
        >>> ada = poise.locomotion.Walking(examples)
        >>> world = poise.World("rubble:20,1", figures={"ada": ada})
        >>> ada.velocity, ada.turn = (1.2, 0.0), 0.3

    What pushes it, and what it runs into, changes the velocity of the controller as well, and the filter adds what the
    body does about it. Source: [Levine2012]_ appendix A.

    Args:
        examples: From `build` or `load`.
        character: Fitted to the examples if not given.
        place: Where it starts [m], shape (2,).
        heading: Where it faces, counterclockwise from +x [rad].
        preset: Name of a preset, or the preset.
        options: Of the filter.

    Attributes:
        examples: Of the controller.
        velocity: Asked for: ahead and to the left [m/s].
        turn: Asked for: turning to the left [rad/s].
        walker: The controller, once the figure has begun.
    """

    def __init__(
        self,
        examples: Locomotion,
        character: Character | None = None,
        *,
        place: Sequence[float] = (0.0, 0.0),
        heading: float = 0.0,
        preset: str | Preset = "recommended",
        options: Options | None = None,
    ) -> None:
        self.character = fit(examples.motion) if character is None else character
        self.examples, self._place, self._heading = examples, place, heading
        self._preset, self._options = preset, options
        self.velocity, self.turn = (0.0, 0.0), 0.0

    def begin(self, character: Character, dt: float, terrain: Terrain, start: tuple[Array, Array] | None) -> None:
        self._figure, place, heading = character, self._place, self._heading
        if start is not None:
            ahead = self._q(Walker(self.examples, dt).step((0.0, 0.0)))
            place, heading = start[0][:2].tolist(), rotations.yaw_to(ahead[3:7], start[0][3:7])
        self.walker = Walker(self.examples, dt, place=place, heading=heading)
        first = self._q(self.walker.step((0.0, 0.0)))
        self._stream = Stream(character, first, preset=self._preset, options=self._options)
        self._stream.begin(character, dt, terrain, start)
        self._life, self._time = Life(self.examples, character, self.seed), 0.0
        self.q, self.v = self._stream.q, self._stream.v

    @property
    def simulated(self) -> SimulatedCharacter:
        return self._stream.simulated

    def _q(self, pose: Pose) -> Array:
        one = Motion(self.examples.motion.skeleton, np.zeros(1), pose.translations[None], pose.rotations[None])
        return motion_to_q(self._figure, one)[0]

    def ask(self, forces: Sequence[Force]) -> Lists | None:
        walker, still = self.walker, np.zeros(3)
        for force in forces:
            if isinstance(force, Push) or force.is_solved_for:
                impulse = walker.dt * force.force_at(still, still, 0.0, self._figure.mass)
                walker.push(impulse[:2] / self._figure.mass)
        self._time += walker.dt
        pose = self._q(walker.step(self.velocity, self.turn))
        self._stream.give(self._life.enliven(pose, walker.velocity, walker.heading, self._time))
        lists = self._stream.ask(forces)
        self.q, self.v = self._stream.q, self._stream.v
        return lists

    def move(self, lists: Lists, force: Array) -> None:
        self._stream.move(lists, force)
        self.q, self.v = self._stream.q, self._stream.v
