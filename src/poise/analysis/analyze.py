"""One call: the dynamics of a clip, all frames at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from poise.analysis.flights import FlightFit, fit_flight, fit_parabola
from poise.analysis.forces import Forces, inverse_dynamics
from poise.analysis.momentum import (
    BodyMotion,
    Momentum,
    body_motion,
    center_of_mass,
    composite_inertia,
    momentum,
    require_same_skeleton,
)
from poise.analysis.smoothing import LowPass, choose_filter
from poise.analysis.support import (
    KINDS,
    Support,
    SupportPhase,
    kind_per_frame,
    steady_supports,
    support,
    support_phases,
    supporting,
)
from poise.analysis.touching import Touching, touching
from poise.body.character import Character
from poise.body.fit import fit
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.phases.flights import PUSHED, airborne_frames, flight_spans
from poise.phases.glitches import Glitch, find_glitches, glitch_frames
from poise.phases.points import body_points
from poise.terrain import Terrain


@dataclass(frozen=True)
class Analysis:
    """The dynamics of a clip; arrays are per frame, in the world frame, SI units.

    What costs time (contact forces and what follows from them) is computed at first use.

    Attributes:
        motion, character: What was analyzed.
        terrain: The ground as it lies.
        floor: Height of its level [m].
        gravity: Downward [m/s^2].
        friction: Coulomb coefficient of the contact forces.
        filter: Low-pass before differences.
        com: Center of mass of the frames as they stand, unfiltered [m], shape (F, 3).
        bodies: How the bodies move, filtered.
        momentum: Momentum and energy, whole and per body.
        touch: Contact points and their flags.
        glitches: Faults of capture.
        is_glitch: Frames whose accelerations nobody should follow, shape (F,).
        is_airborne: Frames in flight, shape (F,).
    """

    motion: Motion
    character: Character
    terrain: Terrain
    floor: float
    gravity: float
    friction: float
    filter: LowPass
    com: Array
    bodies: BodyMotion
    momentum: Momentum
    touch: Touching
    glitches: tuple[Glitch, ...]
    is_glitch: Flags
    is_airborne: Flags

    @property
    def times(self) -> Array:
        """Time of each frame [s], shape (F,)."""
        return self.motion.times

    @property
    def mass(self) -> float:
        """[kg]."""
        return self.character.mass

    @cached_property
    def inertia(self) -> Array:
        """Composite inertia about the center of mass [kg m²], shape (F, 3, 3)."""
        return composite_inertia(self.bodies, self.character)

    @cached_property
    def forces(self) -> Forces:
        """Contact forces, joint torques, root residual."""
        return inverse_dynamics(
            self.bodies, self.momentum, self.touch, self.character, friction=self.friction, gravity=self.gravity
        )

    @cached_property
    def support(self) -> Support:
        """Center of pressure, zero-moment point, support polygon."""
        return support(
            self.momentum.com, self.forces, self.touch, self.character,
            is_flat=self.terrain.is_flat, friction=self.friction, gravity=self.gravity,
        )  # fmt: skip

    @property
    def support_names(self) -> tuple[str, ...]:
        """Limbs, or bodies that belong to none, that can carry."""
        return supporting(self.touch)[0]

    @cached_property
    def supports(self) -> Flags:
        """Which of `support_names` carry in each frame, without short gaps and touches, shape (F, S)."""
        return steady_supports(self.touch, self.is_airborne, self.times)

    @cached_property
    def phase(self) -> Index:
        """Index into `KINDS` of each frame, shape (F,)."""
        return kind_per_frame(self.supports, self.is_airborne)

    @cached_property
    def phases(self) -> tuple[SupportPhase, ...]:
        """Flight, single, double, … support, in order."""
        return support_phases(self.support_names, self.supports, self.is_airborne, self.support, self.times)

    @cached_property
    def flights(self) -> tuple[FlightFit, ...]:
        """Each time in the air, measured against a free body."""
        return tuple(
            fit_flight(
                first, last, times=self.times, com=self.com, linear=self.momentum.linear,
                angular=self.momentum.angular, mass=self.mass, leg_length=self.character.leg_length,
            )
            for first, last in flight_spans(self.is_airborne, self.times)
        )  # fmt: skip

    def support_polygon(self, frame: int) -> Array:
        """Corners of the support region of a frame, counterclockwise from above [m], shape (n, 3); see `support`."""
        return self.support.polygon[frame, : self.support.corners[frame]]


def analyze(
    motion: Motion,
    character: Character | None = None,
    *,
    floor: float | None = None,
    terrain: Terrain | None = None,
    filter_hz: float | str | None = "auto",
    contacts: Flags | None = None,
    friction: float = 0.8,
    gravity: float = GRAVITY,
) -> Analysis:
    """The dynamics of a clip: momentum, energy, contacts, forces, pressure, flights.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        floor: Height of the ground [m]; the character's own if not given. Not with a terrain.
        terrain: The ground as it lies (made by `Terrain.placed`); flat at `floor` if not given.
        filter_hz: Cut-off of the low-pass before differences [Hz]; "auto" fits it to the size, None filters nothing.
        contacts: Which contact point touches in which frame, shape (F, P); found if not given.
        friction: Coulomb coefficient.
        gravity: Downward [m/s^2]; 0 for a clip in space.

    Raises:
        InvalidValue: if the character belongs to another skeleton, or an argument makes no sense.
    """
    character = fit(motion) if character is None else character
    require_same_skeleton(character, motion)
    if not gravity >= 0.0 or not friction >= 0.0:
        raise InvalidValue(f"gravity is {gravity} and friction {friction}; give zero or more for both.")
    floor = character.floor if floor is None else float(floor)
    ground = Terrain.flat(floor) if terrain is None else terrain
    filter = choose_filter(filter_hz, fps=motion.fps, leg_length=character.leg_length)
    airborne = airborne_frames(motion, ground=_ground_heights(motion, ground))
    touch = touching(motion, character, terrain=ground, contacts=contacts, airborne=airborne)
    airborne &= ~touch.carries.any(axis=1)
    com = center_of_mass(motion, character)
    _drop_pushed(airborne, com, motion.times)
    glitches = find_glitches(motion)
    weights, breaks = _seams(motion, glitches, airborne)
    bodies = body_motion(motion, character, filter, weights, breaks)
    return Analysis(
        motion, character, ground, floor, gravity, friction, filter,
        com, bodies, momentum(bodies, character, gravity=gravity),
        touch, glitches, glitch_frames(motion, glitches=glitches), airborne,
    )  # fmt: skip


def _drop_pushed(airborne: Flags, com: Array, times: Array) -> None:
    """Take out of `airborne` the times in which the center of mass is pushed up by something the skeleton lacks."""
    for first, last in flight_spans(airborne, times):
        span = slice(first, last + 1)
        if fit_parabola(times[span] - times[first], com[span])[2] < PUSHED:
            airborne[span] = False


def _seams(motion: Motion, glitches: tuple[Glitch, ...], airborne: Flags) -> tuple[Array | None, tuple[int, ...]]:
    """How far each frame is believed, and where nothing is filtered across.

    Spikes and frozen frames are bridged. The clip is broken where a flight begins and ends, after a rest pose in front,
    and at flips and jumps; later stretches of fewer than three frames stay with what follows.
    """
    bridged = [g for g in glitches if g.kind in ("spike", "frozen")]
    weights = (~glitch_frames(motion, glitches=bridged)).astype(np.float64) if bridged else None
    wanted = {f for first, last in flight_spans(airborne, motion.times) for f in (first, last + 1)}
    wanted |= {g.last for g in glitches if g.kind in ("flip", "jump")}
    lead = max((g.last + 1 for g in glitches if g.kind == "t-pose"), default=0)
    breaks = [lead] if lead else []
    for b in sorted(wanted):
        if b - max([0, *breaks]) >= 3 and motion.frame_count - b >= 3:
            breaks.append(b)
    return weights, tuple(breaks)


def _ground_heights(motion: Motion, ground: Terrain) -> Array:
    """Height of the ground under the points of `body_points` [m], shape (F, N) or a number where it is level."""
    if ground.is_flat:
        return np.array(ground.ground)
    places = body_points(motion)[0][:, :, :2]
    if ground.is_static:
        return ground.heights(places.reshape(-1, 2)).reshape(places.shape[:2])
    return np.stack([ground.heights(p, float(t)) for p, t in zip(places, motion.times)])


__all__ = ["KINDS", "Analysis", "analyze"]
