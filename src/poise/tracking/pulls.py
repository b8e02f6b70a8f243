"""Numbers of the list of tracking that the compiled core finds too."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.native import compiled


@compiled(
    "const word bodies[e], const real turns[b][4], const real speeds[b][6], const real wanted[e][4], "
    "const real spins[e][3], const real stiffness[e], real pulls[m][3]"
)
def turning_pulls(bodies, turns, speeds, wanted, spins, stiffness, pulls):  # type: ignore[no-untyped-def]
    """Angular accelerations that draw bodies to orientations, critically damped [rad/s²].

    Args:
        bodies: Those that are drawn, none of them the world, shape (E,).
        turns: Orientations of all bodies, shape (B, 4).
        speeds: Their velocities, angular ones first [rad/s], shape (B, 6).
        wanted: Orientations that are drawn to, shape (E, 4).
        spins: Angular velocities there [rad/s], shape (E, 3).
        stiffness: Of each [1/s²], shape (E,).
        pulls: Where the rows of these bodies are written; the first row is body 1's, shape (M, 3).
    """
    off = rotations.to_rotation_vector(rotations.multiply(wanted, rotations.conjugate(turns[bodies])))
    k = stiffness[:, None]
    pulls[bodies - 1] = k * off + 2.0 * np.sqrt(k) * (spins - speeds[bodies, :3])


@compiled("const word bodies[v], const real motions[v][6], const real coms[b][3], const real weights[b], real out[v]")
def carrying_torques(bodies, motions, coms, weights, out):  # type: ignore[no-untyped-def]
    """Torques of joints that carry what hangs on them against gravity [N m].

    Args:
        bodies: Of each dof, shape (V,).
        motions: Of each dof, about the center of mass of the tree on body 1, angular first, shape (V, 6).
        coms: Centers of mass of what hangs on each body [m], shape (B, 3).
        weights: Of that [N], shape (B,).
        out: Of each dof, shape (V,).
    """
    arms = coms[bodies] - coms[1]
    out[:] = weights[bodies] * (motions[:, 5] + motions[:, 0] * arms[:, 1] - motions[:, 1] * arms[:, 0])
