"""What makes a walk a walk and a run a run: which feet are down when, and how kinetic and potential energy go together.

A walk vaults over its legs like an inverted pendulum: kinetic energy is least where the body is highest, and each turns
into the other. A run bounces like a pogo stick: both are least in the middle of a stance, and legs store the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poise.analysis.analyze import Analysis, analyze
from poise.analysis.forces import Touching, touching
from poise.body.character import Character
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.phases.points import pelvis, runs, velocities
from poise.phases.travel import in_place_velocity, loops, repeat
from poise.terrain import Terrain

SHORTEST = 1.0
"""No stride is shorter than this, in √(leg / g) [1]; sprints have 1.4, walks 3.6."""
STAYS, STEPS_OUT = 0.1, 0.25
"""A clip whose hips stay within the first while a foot leaves the second, both in legs, goes on the spot [1]."""
FOOT_AT_REST, IDLES = 0.1, 0.5
"""If a foot stands, slower than the first [√(g leg)], in the second share of the frames [1], it idles or kicks."""
LEAST_SPEED = 0.05
"""A clip slower than this over whole strides, in √(g leg), has no gait [1]."""


LOOPED = 4
"""Times that a loop without a whole stride is played."""
FLIES, RUNS = 0.02, 0.55
"""A run is in the air for more than the first part of the time, with duty factors below the second [1]: feet of
captured clips are seen to touch a little too long."""
GROUNDED, BOUNCES = 0.6, 0.2
"""A grounded run has a duty factor below the first and recovers less than the second [1]; walks recover about 0.6."""
TURNS = 0.7
"""A gait whose ends are nearer than this part of its path goes around [1]."""


@dataclass(frozen=True)
class Exchange:
    """How the energies of a center of mass go together over whole strides.

    Attributes:
        forward_work: Σ of rises of ½ m v², v the horizontal speed [J].
        vertical_work: Σ of rises of m g z + ½ m v_z² [J].
        external_work: Σ of rises of their sum [J].
        recovery: Share of the first two that the body saves by turning one into the other [1]: 1 for an ideal
            pendulum, 0 where both rise and fall together.
        congruity: Share of the time in which kinetic and potential energy both rise or both fall [1].
        correlation: Of kinetic and potential energy: −1 out of phase (pendulum), +1 in phase (pogo stick) [1].

    Example:
        >>> exchange = poise.analysis.gait(poise.analyze(poise.load(poise.sample_path("walk")))).exchange
        >>> assert 0.2 < exchange.recovery < 0.4
    """

    forward_work: float
    vertical_work: float
    external_work: float
    recovery: float
    congruity: float
    correlation: float


@dataclass(frozen=True)
class Gait:
    """How a clip goes from foot to foot, over whole strides; NaN where the clip does not tell.

    Attributes:
        kind: "walk" where no foot leaves the ground before another is on it, "run" where the body is in the air between
            steps, "grounded run" where it never is and yet bounces, "other" without whole strides or travel.
        strides: Whole strides that were measured.
        speed: Over the ground [m/s].
        froude: v² / (g leg) [1].
        duty_factor: Share of its stride that a foot is on the ground, mean of all feet and strides [1].
        double_support: Share of the time in which two feet or more are on the ground [1].
        flight: Share of the time in which nothing is [1].
        stride_seconds, stride_length: From a foot's landing to its next one [s], [m].
        exchange: Of kinetic and potential energy.
        internal_work: Σ of rises of each limb's kinetic energy beside the center of mass [J].
        transport: (external + internal work) / (m g distance), the mechanical cost of transport [1].

    Example:
        >>> gait = poise.analysis.gait(poise.analyze(poise.load(poise.sample_path("walk"))))
        >>> steps_per_second = 2.0 / gait.stride_seconds
    """

    kind: str
    strides: int
    speed: float
    froude: float
    duty_factor: float
    double_support: float
    flight: float
    stride_seconds: float
    stride_length: float
    exchange: Exchange | None
    internal_work: float
    transport: float

    def as_json(self) -> dict[str, object]:
        """The fields of poise.check/1 under `gait`; null where the clip does not tell."""
        found: dict[str, object] = {
            "kind": self.kind,
            "strides": self.strides,
            "speed_m_s": self.speed,
            "froude": self.froude,
            "duty_factor": self.duty_factor,
            "double_support": self.double_support,
            "flight": self.flight,
            "stride_s": self.stride_seconds,
            "stride_m": self.stride_length,
        }
        each = self.exchange
        found |= {
            "recovery": each.recovery if each else math.nan,
            "congruity": each.congruity if each else math.nan,
            "energy_correlation": each.correlation if each else math.nan,
            "external_work_J": each.external_work if each else math.nan,
            "internal_work_J": self.internal_work,
            "cost_of_transport": self.transport,
        }
        return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in found.items()}


def energy_exchange(com: Array, velocity: Array, mass: float, gravity: float = GRAVITY) -> Exchange:
    """How kinetic and potential energy of a center of mass go together.

    recovery = (W_f + W_v − W_ext) / (W_f + W_v), each W the sum of the rises of an energy over whole strides.

    Args:
        com: Its place over whole strides [m], shape (F, 3).
        velocity: Over the ground [m/s], shape (F, 3).
        mass: [kg].
        gravity: Downward [m/s²].

    Example:
        >>> clip = poise.analysis.analyze(poise.load(poise.sample_path("walk")))
        >>> round(poise.analysis.energy_exchange(clip.com, clip.momentum.com_velocity, clip.mass).recovery, 2)
        0.25

    Source: Cavagna, Thys and Zamboni 1976, J. Physiol. 262 (external work, recovery); Ahn, Furrow and Biewener 2004,
    J. Exp. Biol. 207 (congruity: the share of time in which both energies change in the same sense).
    """
    forward = 0.5 * mass * np.sum(velocity[:, :2] ** 2, axis=1)
    potential = mass * gravity * com[:, 2]
    vertical = potential + 0.5 * mass * velocity[:, 2] ** 2
    kinetic = forward + 0.5 * mass * velocity[:, 2] ** 2
    w_forward, w_vertical, w_external = (_rises(e) for e in (forward, vertical, forward + vertical))
    whole = w_forward + w_vertical
    steps = np.diff(kinetic) * np.diff(potential)
    spread = float(np.std(kinetic) * np.std(potential))
    together = float(np.mean((kinetic - kinetic.mean()) * (potential - potential.mean())))
    return Exchange(
        w_forward,
        w_vertical,
        w_external,
        (whole - w_external) / whole if whole > 0.0 else math.nan,
        float(np.mean(steps > 0.0)),
        together / spread if spread > 0.0 else math.nan,
    )


def gait(clip: Analysis, *, is_repeated: bool = False) -> Gait:
    """The gait of a clip: duty factor, double support, flight, Froude number, energies, cost of transport.

    All of it is measured from the first landing to the last one of the foot that lands most often: whole strides, so
    that energies end where they began. A clip on the spot is measured over the ground that its feet imply.

    Args:
        clip: Its dynamics.
        is_repeated: It holds a loop several times already; a loop with less than a whole stride is repeated else.

    Example:
        >>> poise.analysis.gait(poise.analysis.analyze(poise.load(poise.sample_path("walk")))).kind
        'walk'

    Source: Alexander 1989, Physiol. Rev. 69 (duty factor: walks above 0.5, runs below; Froude number: people change
    from walk to run near 0.5); Cavagna and Kaneko 1977, J. Physiol. 268 (internal work: limbs beside the center of
    mass, no transfer between limbs); Alexander 2003, Principles of Animal Locomotion (cost of transport; here of
    mechanical work, which knows nothing of muscles' efficiency).
    """
    legs = [k for k, name in enumerate(clip.support_names) if name in _legs(clip)]
    on = clip.supports[:, legs] if legs else np.zeros((clip.motion.frame_count, 0), dtype=np.bool_)
    landed = [np.flatnonzero(on[1:, k] & ~on[:-1, k]) + 1 for k in range(on.shape[1])]
    most = max(landed, key=len, default=np.zeros(0, dtype=np.int64))
    if len(most) < 2:
        is_cycle = clip.motion.frame_count > 4 and loops(clip.motion)
        return gait(_played_again(clip), is_repeated=True) if is_cycle and not is_repeated else _none()
    span = slice(int(most[0]), int(most[-1]) + 1)
    times = clip.times[span]
    seconds = float(times[-1] - times[0])
    drift = in_place_velocity(clip.motion)
    velocity = clip.momentum.com_velocity[span] - drift
    way = clip.momentum.com[span, :2] - np.multiply.outer(times - times[0], drift[:2])
    leg = clip.character.leg_length
    speed = float(np.linalg.norm(way[-1] - way[0])) / seconds
    path = float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum()) / seconds
    speed = path if speed < TURNS * path else speed
    is_known = clip.gravity > 0.0 and (bool(drift.any()) or not is_on_the_spot(clip))
    if not is_known or speed < LEAST_SPEED * math.sqrt(clip.gravity * leg):
        return _none()
    if seconds / (len(most) - 1) < SHORTEST * math.sqrt(leg / clip.gravity):
        return _none()
    duty = _duty_factor(on, landed, clip.times)
    count = on[span].sum(axis=1)
    flight = float(clip.is_airborne[span].mean())
    exchange = energy_exchange(clip.momentum.com[span], velocity, clip.mass, clip.gravity)
    internal = _internal_work(clip, span)
    strides = len(most) - 1
    distance = speed * seconds
    return Gait(
        _kind(len(legs), duty, flight, exchange),
        strides,
        speed,
        speed**2 / (clip.gravity * leg),
        duty,
        float((count > 1).mean()),
        flight,
        seconds / strides,
        distance / strides,
        exchange,
        internal,
        (exchange.external_work + internal) / (clip.mass * clip.gravity * distance),
    )


def _played_again(clip: Analysis) -> Analysis:
    return analyze(
        repeat(clip.motion, LOOPED),
        clip.character,
        floor=clip.floor if clip.terrain.is_flat else None,
        terrain=None if clip.terrain.is_flat else clip.terrain,
        friction=clip.friction,
        gravity=clip.gravity,
    )


def _legs(clip: Analysis) -> set[str]:
    return {limb.name for limb in clip.character.limbs if limb.kind == "leg"}


def _kind(legs: int, duty: float, flight: float, exchange: Exchange) -> str:
    """By definition, a run of two legs has duty factors below one half; a grounded one shows by its energies."""
    if legs > 2:  # a trot may have flights or none, and so may a walk of six legs: energies tell
        return "walk" if flight == 0.0 and exchange.correlation < 0.0 else "run"
    if flight > FLIES and duty < RUNS:
        return "run"
    bounces = exchange.congruity > 0.5 and exchange.recovery < BOUNCES
    return "grounded run" if duty < GROUNDED and bounces else "walk"


def _duty_factor(on: Flags, landed: Sequence[Index], times: Array) -> float:
    """Mean over all feet and strides of the time from landing to lift-off over that from landing to landing."""
    shares = []
    for k, frames in enumerate(landed):
        stances = {a: b for a, b in runs(on[:, k])}
        for a, b in zip(frames[:-1].tolist(), frames[1:].tolist()):
            shares.append(float((times[stances[a] + 1] - times[a]) / (times[b] - times[a])))
    return float(np.mean(shares)) if shares else math.nan


def _internal_work(clip: Analysis, span: slice) -> float:
    """Rises of the kinetic energy of each limb, and of the rest, beside the center of mass [J]."""
    masses = np.array([b.mass for b in clip.character.bodies])
    own = clip.bodies.velocities[span]
    beside = own - clip.momentum.com_velocity[span, None]
    energy = clip.momentum.body_kinetic[span] + 0.5 * masses * (np.sum(beside**2, axis=2) - np.sum(own**2, axis=2))
    limbs = [list(limb.bodies) for limb in clip.character.limbs if limb.kind in ("leg", "arm", "tail", "wing")]
    rest = [b for b in range(len(masses)) if not any(b in limb for limb in limbs)]
    return sum(_rises(energy[:, bodies].sum(axis=1)) for bodies in [*limbs, rest])


def _rises(energy: Array) -> float:
    """Sum of the rises of an energy [J]."""
    return float(np.maximum(np.diff(energy), 0.0).sum())


def _none() -> Gait:
    nan = math.nan
    return Gait("other", 0, nan, nan, nan, nan, nan, nan, nan, None, nan, nan)


def is_on_the_spot(clip: Analysis) -> bool:
    """True if the hips stay where they are while feet go and none stands, as in loops for games and on treadmills."""
    return goes_on_the_spot(clip.motion, clip.character, clip.touch)


def goes_on_the_spot(motion: Motion, character: Character, touch: Touching | None = None) -> bool:
    """Whether a motion of a character goes on the spot, see `is_on_the_spot`; its touches are found where not given."""
    leg = character.leg_length
    if np.any(in_place_velocity(motion)):
        return True
    hips = motion.world[0][:, pelvis(motion.skeleton), :2]
    if motion.frame_count < 2 or float(np.ptp(hips, axis=0).max()) > STAYS * leg:
        return False
    touch = touch or touching(motion, character, terrain=Terrain.flat(character.floor))
    feet = touch.points[:, touch.is_foot]
    if not feet.shape[1] or float(np.ptp(feet[..., :2], axis=0).max()) < STEPS_OUT * leg:
        return False
    speed = np.linalg.norm(velocities(feet, motion.times), axis=2)
    return float(np.mean((speed < FOOT_AT_REST * math.sqrt(GRAVITY * leg)).any(axis=1))) < IDLES
