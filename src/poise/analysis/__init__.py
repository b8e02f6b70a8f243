"""What the physics of a clip says: momentum, forces, pressure, flights, and measures of quality. It changes nothing."""

from __future__ import annotations

from poise.analysis.analyze import Analysis, FlightFit, analyze, fit_flight, fit_parabola
from poise.analysis.forces import Forces, Touching, inverse_dynamics, touching
from poise.analysis.gait import Exchange, Gait, energy_exchange, gait
from poise.analysis.measures import (
    ImpliedScale,
    Measures,
    PoseDifference,
    Standing,
    implied_scale,
    measures,
    pose_difference,
    standing,
    unlikely_leg,
)
from poise.analysis.momentum import BodyMotion, Momentum, body_motion, center_of_mass, composite_inertia, momentum
from poise.analysis.smoothing import LowPass, choose_filter, smooth
from poise.analysis.support import KINDS, Support, SupportPhase, support

__all__ = [
    "KINDS",
    "Analysis",
    "BodyMotion",
    "Exchange",
    "FlightFit",
    "Forces",
    "Gait",
    "ImpliedScale",
    "LowPass",
    "Measures",
    "Momentum",
    "PoseDifference",
    "Standing",
    "Support",
    "SupportPhase",
    "Touching",
    "analyze",
    "body_motion",
    "center_of_mass",
    "choose_filter",
    "composite_inertia",
    "energy_exchange",
    "fit_flight",
    "fit_parabola",
    "gait",
    "implied_scale",
    "inverse_dynamics",
    "measures",
    "momentum",
    "pose_difference",
    "smooth",
    "standing",
    "support",
    "touching",
    "unlikely_leg",
]
