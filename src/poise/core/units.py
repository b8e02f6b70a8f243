"""Constants and conversions; everything inside Poise is SI, Z up, quaternions wxyz."""

from __future__ import annotations

GRAVITY = 9.81
"""Standard gravity used everywhere [m/s²]."""

HUMAN_LEG = 0.82
"""Leg of a grown person [m]. Lengths of settings are for this leg and go with a character's own."""

CMU_UNIT = (1.0 / 0.45) * 0.0254
"""Meters per unit of the CMU database (ASF/AMC and the BVH releases made from it) [m]."""

UNITS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "ft": 0.3048, "cmu": CMU_UNIT}
"""Names a user may give for a length unit, in meters."""


def kilograms(mass: float) -> str:
    """A mass in words: "62.4 kg", "55,341,444 kg"."""
    return f"{mass:,.0f} kg" if mass >= 1000.0 else f"{mass:.4g} kg"
