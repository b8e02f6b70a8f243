"""The one file that talks to MuJoCo: model, kinematics, mass matrix, bias force, integration; its forward simulation.

MuJoCo's conventions are Poise's: q = [root position, root quaternion, then per joint a quaternion or an angle],
v in the tangent space (root linear velocity in world axes, angular velocities in the body's own frame).
"""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from poise.errors import InvalidValue, PoiseError

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

if mujoco.__version__ == "4.0.0":  # its sparse Newton factorization is wrong
    raise PoiseError(
        "MuJoCo 4.0.0 is installed; its solver gives wrong answers. Run: pip install 'mujoco>=3.17,!=4.0.0'  "
        "(3.17 or 4.0.1 and later work)."
    )


@dataclass(frozen=True)
class Point:
    """A named place on a body that may touch the world: center in the body's frame [m] and a radius [m]."""

    name: str
    body: int
    offset: tuple[float, float, float]
    radius: float = 0.0


class Model:
    """Bodies, joints and points; compiled once, never changed.

    Body 0 is the world. `tree_root[b]` is the body of b's tree that hangs on the world; one model may hold several
    trees (characters). Arrays follow MuJoCo's order.

    Attributes:
        nq, nv, body_count: Sizes.
        parents, tree_root: Per body, shape (B,).
        dof_first, dof_count: The dofs of each body's joint, shape (B,).
        dof_body: Body of each dof, shape (nv,).
        q_body: Body of each coordinate, shape (nq,).
        body_masses, subtree_masses: [kg], shape (B,).
        points: The contact points, in order.
        rovers: How many of them, the last ones, rove: a state places them on bodies, see `State.place_rovers`. Here
            they lie on the world, with no radius.
        point_body, point_offsets, point_radii: The points as arrays. A state has its own bodies and offsets.
        roots: Bodies on which a tree hangs.
    """

    def __init__(self, xml: str, points: Sequence[Point] = (), rovers: int = 0) -> None:
        if rovers < 0:
            raise InvalidValue(f"A model with {rovers} roving points; give a count of zero or more.")
        points = (*points, *(Point(f"rover {k + 1}", 0, (0.0, 0.0, 0.0)) for k in range(rovers)))
        try:
            self._m = mujoco.MjModel.from_xml_string(xml)
        except ValueError as error:
            raise InvalidValue(f"MuJoCo cannot compile this model: {error}") from error
        m = self._m
        # forces come from Poise's own step problem; the engine gives smooth dynamics only
        m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        self.xml = xml
        self.nq, self.nv, self.body_count = int(m.nq), int(m.nv), int(m.nbody)
        self.parents: Index = m.body_parentid.astype(np.int64)
        self.tree_root: Index = m.body_rootid.astype(np.int64)
        self.dof_first: Index = m.body_dofadr.astype(np.int64)
        self.dof_count: Index = m.body_dofnum.astype(np.int64)
        self.dof_body: Index = m.dof_bodyid.astype(np.int64)
        self.q_body: Index = np.repeat(m.jnt_bodyid, np.array([7, 4, 1, 1])[m.jnt_type]).astype(np.int64)
        self.body_masses: Array = m.body_mass.copy()
        self.subtree_masses: Array = m.body_subtreemass.copy()
        self.gravity: Array = m.opt.gravity.copy()
        self.points, self.rovers = points, rovers
        self.point_body: Index = np.array([p.body for p in points], dtype=np.int64)
        self.point_offsets: Array = np.array([p.offset for p in points], dtype=np.float64).reshape(-1, 3)
        self.point_radii: Array = np.array([p.radius for p in points], dtype=np.float64)
        self.roots: tuple[int, ...] = tuple(b for b in range(1, self.body_count) if self.parents[b] == 0)

    @property
    def point_count(self) -> int:
        return len(self.points)

    def body(self, name: str) -> int:
        """Index of the body with this name."""
        found = mujoco.mj_name2id(self._m, mujoco.mjtObj.mjOBJ_BODY, name)
        if found < 0:
            names = ", ".join(self.body_name(b) for b in range(1, self.body_count))
            raise InvalidValue(f"No body {name!r} in the model. Bodies: {names}.")
        return int(found)

    def body_name(self, body: int) -> str:
        """Name of a body."""
        return str(mujoco.mj_id2name(self._m, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}")

    def q_rest(self) -> Array:
        """The pose with all joints at zero, shape (nq,)."""
        return self._m.qpos0.copy()

    def data(self) -> Data:
        """Fresh storage for one state of this model."""
        return Data(self._m)

    def integrate(self, q: Array, v: Array, dt: float) -> Array:
        """The coordinates q ⊕ v dt, shape (nq,)."""
        out = q.copy()
        mujoco.mj_integratePos(self._m, out, v, dt)
        return out

    def difference(self, q0: Array, q1: Array, dt: float) -> Array:
        """(q1 ⊖ q0) / dt: the constant velocity that leads from q0 to q1, shape (nv,)."""
        out = np.empty(self.nv)
        mujoco.mj_differentiatePos(self._m, out, dt, q0, q1)
        return out


class Data:
    """MuJoCo's storage for one state; the arrays below are views that stay valid and change with every `move_to`."""

    def __init__(self, m: mujoco.MjModel) -> None:
        d = mujoco.MjData(m)
        self._m, self._d = m, d
        self._qpos, self._qvel, self._qacc = d.qpos, d.qvel, d.qacc
        self.xpos: Array = d.xpos
        self.xmat: Array = d.xmat
        self.xquat: Array = d.xquat
        self.xipos: Array = d.xipos
        self.subtree_com: Array = d.subtree_com
        self.cdof: Array = d.cdof
        self.cdof_dot: Array = d.cdof_dot
        self.cvel: Array = d.cvel
        self.subtree_angular_momentum: Array = d.subtree_angmom
        self.M: Array = np.zeros((m.nv, m.nv))
        self.bias: Array = np.zeros(m.nv)

    def move_to(self, q: Array, v: Array) -> None:
        """Kinematics and velocities at (q, v)."""
        m, d = self._m, self._d
        self._qpos[:] = q
        self._qvel[:] = v
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_comVel(m, d)

    def mass_and_bias(self) -> None:
        """Fill M (nv, nv) and the bias force (Coriolis and gravity, nv) for the state last moved to."""
        m, d = self._m, self._d
        mujoco.mj_makeM(m, d)
        mujoco.mj_fullM(m, d, self.M)
        mujoco.mj_rne(m, d, 0, self.bias)

    def inverse_dynamics(self, a: Array) -> Array:
        """M a + bias by recursive Newton-Euler, shape (nv,)."""
        self._qacc[:] = a
        out = np.empty(self._m.nv)
        mujoco.mj_rne(self._m, self._d, 1, out)
        return out

    def angular_momentum(self, root: int) -> Array:
        """Angular momentum of a tree about its center of mass [kg m²/s], shape (3,)."""
        mujoco.mj_subtreeVel(self._m, self._d)
        return self.subtree_angular_momentum[root].copy()

    def angular_momentum_matrix(self, root: int) -> Array:
        """The matrix that maps v to the tree's angular momentum about its center of mass, shape (3, nv)."""
        out = np.empty((3, self._m.nv))
        mujoco.mj_angmomMat(self._m, self._d, out, root)
        return out


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
    elliptic cones, so stiff that a standing figure sinks in by less than a tenth of a millimeter.

    Attributes:
        timestep: [s].
        forces: Mean force of the slabs on each contact point in the last `advance` [N], shape (P, 3).
        depth: Deepest that anything sank into a slab [m]; `overlap` the same of body against body.
    """

    SKIN = 0.002
    """Spheres are so much larger than the contact points, and slabs so much lower, that a point is a sphere too [m]."""
    STIFF, GRIPPING = 0.004, 10.0
    """Time in which a contact pushes out [s], no less than two time steps; how much harder friction is than that."""

    def __init__(
        self, model: Model, slabs: Sequence[Slab], *, damping: Array | None = None, pairs: Index | None = None,
        friction: float = 0.5, timestep: float = 0.001,
    ) -> None:  # fmt: skip
        """Build the simulation, at rest in the model's rest pose.

        Args:
            model: Bodies and contact points.
            slabs: What pushes on the contact points.
            damping: Of each dof, taken implicitly [N m s], shape (nv,).
            pairs: Capsules that push on each other, two indices in the order of the model's bodies, shape (N, 2).
            friction: Between bodies.
            timestep: [s].
        """
        if not 0.0 < timestep <= 0.5 * self.STIFF:
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
                name=f"point {k}", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[point.radius + self.SKIN, 0.0, 0.0],
                pos=list(point.offset), mass=0.0, contype=1, conaffinity=0,
            )  # fmt: skip
        for first, second in () if pairs is None else pairs.tolist():
            spec.add_pair(
                geomname1=model._m.geom(first).name, geomname2=model._m.geom(second).name, condim=3,
                friction=[friction, friction, 0.005, 1e-4, 1e-4], **soft,
            )  # fmt: skip
        self._m = m = spec.compile()
        self._d = mujoco.MjData(m)
        self.timestep, self.depth, self.overlap = timestep, 0.0, 0.0
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
        for _ in range(count):
            mujoco.mj_step(m, d)
            self._note(1.0 / count)

    def _note(self, share: float) -> None:
        """Take in the contacts of the last time step."""
        d, force = self._d, np.empty(6)
        for k in range(d.ncon):
            contact = d.contact[k]
            one, two = contact.geom
            if not (self._slab[one] or self._slab[two]):
                self.overlap = max(self.overlap, -float(contact.dist))
                continue
            self.depth = max(self.depth, -float(contact.dist))
            mujoco.mj_contactForce(self._m, d, k, force)
            # the normal leads from the first geom to the second, and the force is on the second
            sign, point = (1.0, self._point[two]) if self._slab[one] else (-1.0, self._point[one])
            self.forces[point] += sign * share * (contact.frame.reshape(3, 3).T @ force[:3])


def _add_slab(world: mujoco.MjsBody, slab: Slab, skin: float, soft: dict[str, list[float]]) -> None:
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
