"""One call: the dynamics of a clip, all frames at once, and what its flights say of gravity, arc and momentum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from types import NoneType

import numpy as np

from poise.analysis.forces import Forces, Touching, inverse_dynamics, touching
from poise.analysis.momentum import (
    BodyMotion,
    Momentum,
    body_motion,
    center_of_mass,
    composite_inertia,
    momentum,
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
from poise.body.character import Character, fit
from poise.body.posing import require_same_skeleton
from poise.core.errors import InvalidValue, require
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.goals.surroundings import Scene
from poise.phases.flights import PUSHED, airborne_frames, flight_spans
from poise.phases.floor import hips_over
from poise.phases.glitches import Glitch, find_glitches, glitch_frames
from poise.phases.points import body_points
from poise.terrain import Terrain

TINY = 0.05
"""Where the mean momentum is below this share of its natural scale, errors are given as shares of the scale instead."""
COM_DRIFT = 0.002
"""How far the model's center of mass drifts from a body's own within a flight, for a leg of 0.82 m [m]."""


@dataclass(frozen=True)
class FlightFit:
    """One time in the air, against a free body.

    Positions are those of the clip as it stands; momenta are of the filtered motion.

    Attributes:
        first, last: Its first and last frame: the frames after take-off and before landing.
        start_s, end_s: Their times [s].
        start: Place of the fitted parabola at `start_s` [m], shape (3,).
        velocity: Its velocity there [m/s], shape (3,).
        gravity: Downward acceleration of the least-squares parabola [m/s^2].
        gravity_g: The same over 9.81: [ShapiroLee2011]_ table 1.
        gravity_error: How far `gravity` may be off [m/s^2]: the standard error by the scatter about the parabola, and
            8 δ / T² for a modeled center of mass that is COM_DRIFT off the true one: a flight of 0.1 s tells little.
        residual: Root mean square distance of the height from the parabola [m].
        rise: Height of the highest frame above the lower end [m].
        track_length: Length of the ground line from the first to the last frame [m].
        track: Distance of each frame from that line [m], shape (n,); from the first frame where the line is tiny.
        track_error: `track` at its largest over the line's length; nan where the path is (nearly) vertical.
        linear_error: (p − p̄) / ‖p̄‖ of the horizontal momentum, then (p_z − fitted) / m, shape (n, 3).
        angular_error: (L − L̄) / ‖L̄‖ per axis, shape (n, 3); over `angular_scale` where ‖L̄‖ is tiny.
        angular_scale: What that was divided by [kg m²/s].
        angular_is_tiny: True where the mean is not a divisor and the natural scale m √(g h) h stands in.
        linear_is_tiny: The same of the horizontal momentum, with m √(g h); h is the leg length.

    Example:
        >>> flight = poise.analyze(poise.load(poise.sample_path("hover_hop"))).flights[0]
        >>> assert flight.gravity_g < 0.8
    """

    first: int
    last: int
    start_s: float
    end_s: float
    start: Array
    velocity: Array
    gravity: float
    gravity_g: float
    gravity_error: float
    residual: float
    rise: float
    track_length: float
    track: Array
    track_error: float
    linear_error: Array
    angular_error: Array
    angular_scale: float
    angular_is_tiny: bool
    linear_is_tiny: bool

    @property
    def duration(self) -> float:
        """Time from its first to its last frame [s]."""
        return self.end_s - self.start_s


def fit_flight(
    first: int, last: int, *, times: Array, com: Array, linear: Array, angular: Array, mass: float, leg_length: float
) -> FlightFit:
    """Measure the flight between two frames, both included.

    The path r(t) = a + t b + ½ t² g of [ShapiroLee2011]_ eq. (1) is fitted by least squares with g free along the
    vertical. Deviates: the printed factor M of the gravity term is dropped.

    Args:
        first, last: Frames.
        times: Of all frames [s], shape (F,).
        com: Center of mass of all frames [m], shape (F, 3).
        linear, angular: Momenta of all frames [kg m/s], [kg m²/s], shape (F, 3).
        mass: [kg].
        leg_length: Natural length of the character [m].

    Example:
        >>> clip = poise.analyze(motion, character)
        >>> given = {"times": clip.times, "com": clip.com, "mass": clip.mass, "leg_length": character.leg_length}
        >>> p, L = clip.momentum.linear, clip.momentum.angular
        >>> flight = poise.analysis.fit_flight(3, 9, **given, linear=p, angular=L)
    """
    span = slice(first, last + 1)
    t, path = times[span] - times[first], com[span]
    start, velocity, gravity, deviation = fit_parabola(t, path)
    residual = float(np.sqrt(np.mean(deviation[:, 2] ** 2)))
    length, track = _track(path)
    p, L = linear[span], angular[span]
    p_scale, L_scale = mass * math.sqrt(GRAVITY * leg_length), mass * math.sqrt(GRAVITY * leg_length) * leg_length
    level, mean = p[:, :2].mean(axis=0), L.mean(axis=0)
    p_size, L_size = math.hypot(*level), math.hypot(*mean)
    p_tiny, L_tiny = p_size < TINY * p_scale, L_size < TINY * L_scale
    p_by, L_by = p_scale if p_tiny else p_size, L_scale if L_tiny else L_size
    falling = mass * (velocity[2] - gravity * t)
    linear_error = np.column_stack([(p[:, :2] - level), p[:, 2] - falling]) / p_by
    far = float(track.max(initial=0.0))
    return FlightFit(
        first,
        last,
        float(times[first]),
        float(times[last]),
        start,
        velocity,
        gravity,
        gravity / GRAVITY,
        _gravity_error(t, deviation[:, 2], COM_DRIFT * leg_length / HUMAN_LEG),
        residual,
        float(path[:, 2].max() - min(path[0, 2], path[-1, 2])),
        length,
        track,
        far / length if length > TINY * leg_length else float("nan"),
        linear_error,
        (L - mean) / L_by,
        float(L_by),
        bool(L_tiny),
        bool(p_tiny),
    )


def fit_parabola(t: Array, path: Array) -> tuple[Array, Array, float, Array]:
    """Least-squares r(t) = a + t b − ½ t² γ ẑ through places (n, 3) at times (n,) from 0.

    Example:
        >>> t = np.linspace(0.0, 0.4, 10)
        >>> fall = np.stack([t, 0.0 * t, 1.0 - 0.5 * 9.81 * t**2], axis=1)
        >>> fitted = poise.analysis.fit_parabola(t, fall)

    Returns:
        a [m], b [m/s], γ [m/s^2] and path − r(t) [m], shape (n, 3). With fewer than three frames γ is 0.
    """
    basis = np.stack([np.ones_like(t), t], axis=1)
    level = np.linalg.lstsq(basis, path, rcond=None)[0]
    start, velocity, gravity = level[0], level[1], 0.0
    if len(t) > 2:
        # centered, so that the three columns are far from dependent
        upright = np.linalg.lstsq(np.column_stack([basis, -0.5 * t * t]), path[:, 2], rcond=None)[0]
        start[2], velocity[2], gravity = upright
    curve = start + t[:, None] * velocity
    curve[:, 2] -= 0.5 * gravity * t * t
    return start, velocity, float(gravity), path - curve


def _gravity_error(t: Array, deviation: Array, drift: float) -> float:
    """How far the fitted gravity may be off [m/s^2]; inf where nothing is left over to tell."""
    n = len(t)
    if n < 4:
        return float("inf")
    basis = np.stack([np.ones(n), t, -0.5 * t * t], axis=1)
    covariance = np.linalg.inv(basis.T @ basis) * float(deviation @ deviation) / (n - 3)
    return float(np.hypot(np.sqrt(covariance[2, 2]), 8.0 * drift / t[-1] ** 2))


def _track(path: Array) -> tuple[float, Array]:
    """Length of the ground line between the ends, and each frame's distance from it [m]; from its start if tiny."""
    level = path[:, :2] - path[0, :2]
    line = level[-1]
    length = float(np.linalg.norm(line))
    if length < 1e-9:
        return length, np.linalg.norm(level, axis=1)
    along = np.clip(level @ line / length**2, 0.0, 1.0)
    return length, np.linalg.norm(level - along[:, None] * line, axis=1)


@dataclass(frozen=True, repr=False)
class Analysis:
    """The dynamics of a clip; arrays are per frame, in the world frame, SI units.

    What costs time (contact forces and what follows from them) is computed at first use.

    Example:
        >>> clip = poise.analyze(motion)
        >>> drift = clip.com[-1] - clip.com[0]

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
        scene: What stands around, where it was given.
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
    scene: Scene | None = None

    def __repr__(self) -> str:
        """One line: the arrays would fill a terminal."""
        count, seconds = self.motion.frame_count, self.motion.duration
        return f"Analysis({count} frames, {seconds:.2f} s, {self.mass:.1f} kg, {int(self.is_airborne.sum())} in flight)"

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
            self.momentum.com,
            self.forces,
            self.touch,
            self.character,
            is_flat=self.terrain.is_flat,
            friction=self.friction,
            gravity=self.gravity,
        )

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
    def hips(self) -> Array:
        """Height of the pelvis over the ground below it [m], shape (F,)."""
        return hips_over(self.motion, self.terrain)

    @cached_property
    def flights(self) -> tuple[FlightFit, ...]:
        """Each time in the air, measured against a free body."""
        return tuple(
            fit_flight(
                first,
                last,
                times=self.times,
                com=self.com,
                linear=self.momentum.linear,
                angular=self.momentum.angular,
                mass=self.mass,
                leg_length=self.character.leg_length,
            )
            for first, last in flight_spans(self.is_airborne, self.times)
        )

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
    scene: Scene | None = None,
) -> Analysis:
    """The dynamics of a clip: momentum, energy, contacts, forces, pressure, flights.

    Example:
        >>> clip = poise.analyze(motion, character)
        >>> highest = clip.com[:, 2].max()

    Args:
        motion: F frames.
        character: Fitted to the motion if not given.
        floor: Height of the ground [m]; the character's own if not given. Not with a terrain.
        terrain: The ground as it lies (made by `Terrain.placed`); flat at `floor` if not given.
        filter_hz: Cut-off of the low-pass before differences [Hz]; "auto" fits it to the size, None filters nothing.
        contacts: Which contact point touches in which frame, shape (F, P); found if not given.
        friction: Coulomb coefficient.
        gravity: Downward [m/s^2]; 0 for a clip in space.
        scene: Walls, boxes, bars and holds that may bear load, too; its floor does not count.

    Raises:
        InvalidValue: if the character belongs to another skeleton, or an argument makes no sense.
    """
    require(Motion, motion=motion)
    require(Character, NoneType, character=character)
    require(Terrain, NoneType, terrain=terrain)
    character = fit(motion) if character is None else character
    require_same_skeleton(character, motion)
    if not gravity >= 0.0 or not friction >= 0.0:
        raise InvalidValue(f"gravity is {gravity} and friction {friction}; give zero or more for both.")
    require(Real, NoneType, floor=floor)
    floor = character.floor if floor is None else float(floor)
    ground = Terrain.flat(floor) if terrain is None else terrain
    filter = choose_filter(filter_hz, fps=motion.fps, leg_length=character.leg_length)
    airborne = airborne_frames(motion, ground=_ground_heights(motion, ground))
    touch = touching(motion, character, terrain=ground, contacts=contacts, airborne=airborne, scene=scene)
    airborne &= ~touch.carries.any(axis=1)
    com = center_of_mass(motion, character)
    _drop_pushed(airborne, com, motion.times)
    glitches = find_glitches(motion)
    weights, breaks = _seams(motion, glitches, airborne)
    bodies = body_motion(motion, character, filter, weights, breaks)
    return Analysis(
        motion,
        character,
        ground,
        floor,
        gravity,
        friction,
        filter,
        com,
        bodies,
        momentum(bodies, character, gravity=gravity),
        touch,
        glitches,
        glitch_frames(motion, glitches=glitches),
        airborne,
        scene,
    )


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
