"""Loops over bodies and points, and MuJoCo's functions: the compiled core, and NumPy beside it.

`p` is a block "Pose" of `native.fields`. Spatial vectors are MuJoCo's: (angular, linear), linear part at the center of
mass of the body's tree.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from poise.native import Block, compiled


def _engine(p: Block, name: str, *more: Any) -> None:
    """Call a function of MuJoCo by name."""
    kinds = [ctypes.c_int if isinstance(value, int) else ctypes.c_void_p for value in more]
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, *kinds)(p.engine.addresses[name])
    values = [value if isinstance(value, int) else value.ctypes.data for value in more]
    function(p.engine.addresses["model"], p.engine.addresses["data"], *values)


@compiled("Pose *p")
def move(p):
    """Kinematics and velocities by MuJoCo, of coordinates that have been written."""
    for name in ("mj_kinematics", "mj_comPos", "mj_comVel"):
        _engine(p, name)


@compiled("Pose *p")
def mass_and_bias(p):
    """M and the bias force of a state that was moved, by MuJoCo."""
    _engine(p, "mj_makeM")
    _engine(p, "mj_fullM", p.M)
    _engine(p, "mj_rne", 0, p.bias)


@compiled("Pose *p, const real a[n], real out[n]")
def inverse_dynamics(p, a, out):
    """Fill M a + bias by MuJoCo's recursion, shape (nv,)."""
    p.a[:] = a
    _engine(p, "mj_rne", 1, out)


@compiled("Pose *p, word root, real jacobian[3][n], real bias[3]")
def com_rows(p, root, jacobian, bias):
    """Fill the Jacobian of the center of mass of the tree on `root`, and its acceleration at a = 0."""
    dofs = p.tree_root[p.dof_body] == root
    share = np.where(dofs, p.subtree_masses[p.dof_body] / p.subtree_masses[root], 0.0)
    arms = p.subtree_com[p.dof_body] - p.subtree_com[root]
    jacobian[:] = (share[:, None] * (p.cdof[:, 3:] + np.cross(p.cdof[:, :3], arms))).T
    bias[:] = com_acceleration(p, root, p.body_biases)


def material(velocity: Any, acceleration: Any, arms: Any) -> Any:
    """Velocities v + ω × r and accelerations a + α × r + ω × (v + ω × r) of material points, shapes (K, 3)."""
    turn, spin = velocity[:, :3], acceleration[:, :3]
    v = velocity[:, 3:] + np.cross(turn, arms)
    return v, acceleration[:, 3:] + np.cross(spin, arms) + np.cross(turn, v)


def chain(p: Block, body: int) -> Any:
    """Dofs that move a body, shape (nv,), True where they do."""
    out = np.zeros(p.nv, dtype=np.bool_)
    while body > 0:
        out[p.dof_first[body] : p.dof_first[body] + p.dof_count[body]] = True
        body = p.parents[body]
    return out


@compiled("Pose *p, const real a[n], real out[m][6]")
def body_accelerations(p, a, out):
    """Spatial acceleration of each body, gravity left out: Σ (cdof a + cdof_dot v) along the chain, shape (B, 6)."""
    rates = p.cdof_dot * p.v[:, None] + p.cdof * a[:, None]
    for body in range(p.bodies):
        out[body] = rates[chain(p, body)].sum(axis=0)


@compiled("Pose *p", returns="word")
def place(p):
    """Move a state to the coordinates that have been written.

    Fills the accelerations of the bodies at a = 0 and the centers of the points; returns the first dof that is not
    finite, or −1. A coordinate that is not finite counts as dof 0.
    """
    if not np.isfinite(p.v).all():
        return int(np.argmin(np.isfinite(p.v)))
    if not np.isfinite(p.q).all():
        return 0
    move.twin(p)
    body_accelerations.twin(p, np.zeros(p.nv), p.body_biases)
    axes = p.xmat.reshape(-1, 3, 3)[p.point_body]
    p.centers[:] = p.xpos[p.point_body] + np.einsum("pij,pj->pi", axes, p.point_offsets)
    return -1


@compiled("Pose *p, const real normals[n][3]")
def touch(p, normals):
    """Places center − radius · normal of the points, and how they move, shapes (P, 3)."""
    p.places[:] = p.centers - p.point_radii[:, None] * normals
    point_motion.twin(p, p.point_body, p.places, p.body_biases, p.velocities, p.point_biases)


@compiled(
    "Pose *p, const word bodies[k], const real places[k][3], const real accelerations[m][6], real velocities[k][3],"
    "real out[k][3]"
)
def point_motion(p, bodies, places, accelerations, velocities, out):
    """Velocity and acceleration of material points of bodies, whose spatial accelerations are given, shapes (K, 3)."""
    arms = places - p.subtree_com[p.tree_root[bodies]]
    velocities[:], out[:] = material(p.cvel[bodies], accelerations[bodies], arms)


@compiled("Pose *p, const word bodies[k], const real places[k][3], real out[r][n]")
def point_jacobians(p, bodies, places, out):
    """Jacobian of the velocity of material points, shape (3 K, nv): column j is v_j + ω_j × (place − o)."""
    out[:] = 0.0
    for i, (body, at) in enumerate(zip(bodies, places, strict=True)):
        own, arm = chain(p, body), at - p.subtree_com[p.tree_root[body]]
        out[3 * i : 3 * i + 3, own] = (p.cdof[own, 3:] + np.cross(p.cdof[own, :3], arm)).T


@compiled("Pose *p, const word points[k], const real axes[k][m][3], real rows[r][n], real constants[r]")
def point_rows(p, points, axes, rows, constants):
    """Rows axes · J (K m, nv) and axes · bias (K m,) of contact points along axes (K, m, 3)."""
    jacobians = np.empty((3 * len(points), p.nv))
    point_jacobians.twin(p, p.point_body[points], p.places[points], jacobians)
    rows[:] = np.matmul(axes, jacobians.reshape(len(points), 3, -1)).reshape(len(rows), -1)
    constants[:] = np.einsum("kmc,kc->km", axes, p.point_biases[points]).ravel()


@compiled("Pose *p, const word bodies[k], const real places[k][3], const real forces[k][3], real out[n]")
def point_torques(p, bodies, places, forces, out):
    """Generalized force Σ Jᵀ f of forces (K, 3) on bodies at places (K, 3), shape (nv,)."""
    jacobians = np.empty((3 * len(bodies), p.nv))
    point_jacobians.twin(p, bodies, places, jacobians)
    out[:] = forces.ravel() @ jacobians


def com_acceleration(p: Block, root: int, accelerations: Any) -> Any:
    """Acceleration of the center of mass of the tree on `root` [m/s²], shape (3,)."""
    own = np.flatnonzero(p.tree_root == root)
    masses, arms = p.body_masses[own], p.xipos[own] - p.subtree_com[root]
    return masses @ material(p.cvel[own], accelerations[own], arms)[1] / masses.sum()
