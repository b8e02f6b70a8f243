"""How heavy and how thick: mass shares, radii and inertias of body segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from poise.character.character import Capsule

Array = npt.NDArray[np.float64]


def capsule_inertia(capsules: Sequence[Capsule], mass: float) -> tuple[Array, Array]:
    """Center of mass [m] (3,) and inertia about it [kg m²] (3, 3) of capsules of one uniform density.

    A capsule of radius r and rod length L: cylinder of volume π r² L and two half balls of together 4/3 π r³; about its
    middle, along the rod I = m_c r²/2 + m_b 2r²/5, across it m_c (L²/12 + r²/4) + m_b (2r²/5 + L²/4 + 3 L r/8).
    Capsules may overlap; each counts whole.

    Args:
        capsules: At least one.
        mass: Their total mass [kg].
    """
    volumes = np.array(
        [np.pi * c.radius**2 * (np.linalg.norm(c.end - c.start) + 4.0 / 3.0 * c.radius) for c in capsules]
    )
    shares = mass * volumes / volumes.sum()
    middles = np.array([0.5 * (c.start + c.end) for c in capsules])
    com = shares @ middles / mass
    inertia = np.zeros((3, 3))
    for capsule, share, middle in zip(capsules, shares, middles):
        arm = middle - com
        inertia += _one_capsule(capsule, float(share)) + share * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return com, inertia


def _one_capsule(capsule: Capsule, mass: float) -> Array:
    rod = capsule.end - capsule.start
    length, r = float(np.linalg.norm(rod)), capsule.radius
    cylinder, balls = np.pi * r**2 * length, 4.0 / 3.0 * np.pi * r**3
    m_c, m_b = mass * cylinder / (cylinder + balls), mass * balls / (cylinder + balls)
    along = m_c * r**2 / 2.0 + m_b * 2.0 * r**2 / 5.0
    across = m_c * (length**2 / 12.0 + r**2 / 4.0) + m_b * (2.0 * r**2 / 5.0 + length**2 / 4.0 + 3.0 * length * r / 8.0)
    u = rod / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    return across * np.eye(3) + (along - across) * np.outer(u, u)
