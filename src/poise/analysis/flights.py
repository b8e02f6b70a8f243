"""What each time in the air says: gravity, straightness, and whether momentum is kept."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from poise.core.typing import Array
from poise.core.units import GRAVITY, HUMAN_LEG

TINY = 0.05
"""A mean momentum below this share of its natural scale is no divisor: errors are then given as shares of the scale."""
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
        linear_scale, angular_scale: What they were divided by [kg m/s], [kg m²/s].
        angular_is_tiny: True where the mean is no divisor and the natural scale m √(g h) h stands in.
        linear_is_tiny: The same of the horizontal momentum, with m √(g h); h is the leg length.
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
    linear_scale: float
    angular_scale: float
    angular_is_tiny: bool
    linear_is_tiny: bool

    @property
    def duration(self) -> float:
        """Time from its first to its last frame [s]."""
        return self.end_s - self.start_s


def fit_flight(
    first: int, last: int, *, times: Array, com: Array, linear: Array, angular: Array, mass: float, leg_length: float,
) -> FlightFit:  # fmt: skip
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
        first, last, float(times[first]), float(times[last]), start, velocity, gravity, gravity / GRAVITY,
        _gravity_error(t, deviation[:, 2], COM_DRIFT * leg_length / HUMAN_LEG), residual,
        float(path[:, 2].max() - min(path[0, 2], path[-1, 2])), length, track,
        far / length if length > TINY * leg_length else float("nan"),
        linear_error, (L - mean) / L_by, float(p_by), float(L_by), bool(L_tiny), bool(p_tiny),
    )  # fmt: skip


def fit_parabola(t: Array, path: Array) -> tuple[Array, Array, float, Array]:
    """Least-squares r(t) = a + t b − ½ t² γ ẑ through places (n, 3) at times (n,) from 0.

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
