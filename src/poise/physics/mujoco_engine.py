"""MuJoCo's own forward simulation of a model, with its own contacts: for controllers that are to run on it.

What Poise computes for itself never comes from here.
"""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from poise.core.errors import InvalidValue, SimulationDiverged
from poise.core.typing import Array, Index
from poise.physics.mujoco_backend import Model


@dataclass(frozen=True)
class Slab:
    """A flat face that pushes back in the engine's own simulation.

    Attributes:
        origin: Its middle [m], shape (3,).
        frame: Rows: directions of its width, of its height, and its normal, shape (3, 3).
        half: Half of width and height [m]; inf for a plane without end.
        depth: Thickness of the matter behind it [m].
        friction: Coulomb coefficient.
    """

    origin: Array
    frame: Array
    half: tuple[float, float]
    depth: float
    friction: float


class Engine:
    """MuJoCo's own forward simulation of a model: joint torques in, motion out, with its contacts, not Poise's.

    Contact points are spheres against slabs, chosen capsules meet each other. Contacts are MuJoCo's soft ones with
    elliptic cones, so stiff that a standing figure sinks in by a few hundredths of a millimeter. What strikes a slab
    goes deeper, for only what is inside is pushed out: by about v (Δt + STIFF / 3), half a millimeter at 1 m/s.

    Attributes:
        timestep, time: [s].
        forces: Mean force of the slabs on each contact point in the last `advance` [N], shape (P, 3).
        depth: Deepest that anything sank into a slab [m]; `overlap` the same of body against body.
        work: What contacts have put in [J]: force times way, summed over each `advance` and contact, the positive ones.
    """

    SKIN = 0.002
    """Spheres are so much larger than the contact points, and slabs so much lower, that a point is a sphere too [m]."""
    STIFF, GRIPPING = 0.00075, 10.0
    """Time in which a contact pushes out [s], and how much harder friction is than that. MuJoCo asks for two time steps
    or more; with two a hand that comes to a wall chatters and goes more than twice as deep as with three."""

    def __init__(
        self,
        model: Model,
        slabs: Sequence[Slab],
        *,
        damping: Array | None = None,
        pairs: Index | None = None,
        friction: float = 0.5,
        timestep: float = 0.00025,
    ) -> None:
        """Build the simulation, at rest in the model's rest pose.

        Args:
            model: Bodies and contact points.
            slabs: What pushes on the contact points.
            damping: Of each dof, taken implicitly [N m s], shape (nv,).
            pairs: Capsules that push on each other, two indices in the order of the model's bodies, shape (N, 2).
            friction: Between bodies.
            timestep: [s].
        """
        if not 0.0 < timestep <= 0.5 * self.STIFF + 1e-12:
            raise InvalidValue(f"The engine's time step is {timestep} s; give one above 0, up to {0.5 * self.STIFF} s.")
        spec = mujoco.MjSpec.from_string(model.xml)
        spec.option.timestep = timestep
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = self.GRIPPING
        soft = {"solref": [self.STIFF, 1.0], "solimp": [0.9, 0.98, 0.001, 0.5, 2.0]}
        for geom in spec.geoms:
            geom.contype = geom.conaffinity = 0
        for slab in slabs:
            _add_slab(spec.worldbody, slab, self.SKIN, soft)
        for k, point in enumerate(model.points):
            if point.body == 0:
                continue
            spec.body(model.body_name(point.body)).add_geom(
                name=f"point {k}",
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[point.radius + self.SKIN, 0.0, 0.0],
                pos=list(point.offset),
                mass=0.0,
                contype=1,
                conaffinity=0,
            )
        names = model.geom_names
        for first, second in () if pairs is None else pairs.tolist():
            spec.add_pair(
                geomname1=names[first],
                geomname2=names[second],
                condim=3,
                friction=[friction, friction, 0.005, 1e-4, 1e-4],
                **soft,
            )
        self._m = m = spec.compile()
        self._d = mujoco.MjData(m)
        self.timestep, self.time, self.depth, self.overlap, self.work = timestep, 0.0, 0.0, 0.0, 0.0
        self.forces: Array = np.zeros((model.point_count, 3))
        if damping is not None:
            m.dof_damping[:] = damping
        self._slab = np.zeros(m.ngeom, dtype=np.bool_)
        self._slab[: len(slabs)] = True
        self._point = np.full(m.ngeom, -1)
        for k, point in enumerate(model.points):
            if point.body:
                self._point[m.geom(f"point {k}").id] = k

    @property
    def q(self) -> Array:
        """Coordinates, shape (nq,)."""
        return self._d.qpos.copy()

    @property
    def v(self) -> Array:
        """Velocities, shape (nv,)."""
        return self._d.qvel.copy()

    def place(self, q: Array, v: Array) -> None:
        """Set the state."""
        mujoco.mj_resetData(self._m, self._d)
        self._d.qpos[:], self._d.qvel[:] = q, v

    def advance(self, torque: Array, seconds: float, pushes: Sequence[tuple[int, Array, Array]] = ()) -> None:
        """Simulate for a time with generalized forces (nv,) and pushes that stay the same.

        Args:
            torque: On every dof [N, N m].
            seconds: A multiple of the time step.
            pushes: Body, place in the world at the start of this time [m], force [N]; the place moves with the body.

        Raises:
            SimulationDiverged: if the state is no longer finite; `frame` is the time step.
        """
        m, d = self._m, self._d
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        d.xfrc_applied[:] = 0.0
        for body, place, force in pushes:
            d.xfrc_applied[body, :3] += force
            d.xfrc_applied[body, 3:] += np.cross(place - d.xipos[body], force)
        d.qfrc_applied[:] = torque
        self.forces[:] = 0.0
        count = round(seconds / self.timestep)
        work = np.zeros((m.ngeom, m.ngeom))
        for _ in range(count):
            before = d.qvel.copy()
            _step_quietly(m, d)
            self.time += self.timestep
            if any(d.warning[w].number for w in _BAD):
                raise SimulationDiverged(
                    f"MuJoCo's simulation became unstable after {self.time:.3f} s. Give it a shorter time step.",
                    frame=round(self.time / self.timestep),
                    reason="not finite",
                )
            self._note(1.0 / count, 0.5 * (before + d.qvel), work)
        self.work += float(np.maximum(work, 0.0).sum())

    def _note(self, share: float, v: Array, work: Array) -> None:
        """Take in the contacts of the last time step; their work is added to that of each pair of geoms.

        Work is force times mean velocity, which is what the kinetic energy changes by.
        """
        d, contact = self._d, self._d.contact
        acts = contact.efc_address >= 0
        if not acts.any():
            return
        one, two = contact.geom[acts].T
        depth, on_slab = -contact.dist[acts], self._slab[one] | self._slab[two]
        self.depth = max(self.depth, float(depth[on_slab].max(initial=0.0)))
        self.overlap = max(self.overlap, float(depth[~on_slab].max(initial=0.0)))
        speeds = np.empty(d.nefc)
        mujoco.mj_mulJacVec(self._m, d, speeds, v)
        # along the contact's own axes: its normal, which leads from the first geom to the second, and two across
        rows = contact.efc_address[acts][:, None] + np.arange(3)
        forces = d.efc_force[rows]
        np.add.at(work, (one, two), self.timestep * np.einsum("kc,kc->k", forces, speeds[rows]))
        first = self._slab[one]
        forces = np.einsum("kc,kcx->kx", forces, contact.frame[acts].reshape(-1, 3, 3))
        forces *= np.where(first, share, -share)[:, None]  # the force is on the second
        points = np.where(first, self._point[two], self._point[one])
        np.add.at(self.forces, points[on_slab], forces[on_slab])


_BAD = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)


def _step_quietly(m: mujoco.MjModel, d: mujoco.MjData) -> None:
    """One time step; what MuJoCo warns of is counted, not written to a file in the working directory."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(_say_nothing)
    try:
        mujoco.mj_step(m, d)
    finally:
        mujoco.set_mju_user_warning(before)


def _say_nothing(_: str) -> None:
    pass


def _add_slab(world: Any, slab: Slab, skin: float, soft: dict[str, list[float]]) -> None:
    turn = np.empty(4)
    mujoco.mju_mat2Quat(turn, slab.frame.T.ravel())
    down = slab.origin - skin * slab.frame[2]
    common = {"quat": turn, "contype": 0, "conaffinity": 1, "priority": 1, "condim": 3, **soft}
    common["friction"] = [slab.friction, 0.005, 1e-4]
    if np.isinf(slab.half).all():
        world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10.0, 10.0, 1.0], pos=down, **common)
    else:
        half = [*np.minimum(slab.half, 100.0), 0.5 * slab.depth]
        middle = down - 0.5 * slab.depth * slab.frame[2]
        world.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=half, pos=middle, **common)
