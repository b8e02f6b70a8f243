"""The file that talks to MuJoCo: model, kinematics, mass matrix, bias force, integration.

Its forward simulation is in `mujoco_engine`.

MuJoCo's conventions are Poise's: q = [root position, root quaternion, then per joint a quaternion or an angle],
v in the tangent space (root linear velocity in world axes, angular velocities in the body's own frame).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from poise.body.character import Character
from poise.body.mjcf import prefixes, scene_mjcf
from poise.core.errors import InvalidValue, PoiseError
from poise.core.typing import Array, Index
from poise.native import Block
from poise.native.fields import BLOCKS

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types


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

    Body 0 is the world. `tree_root[b]` is the body of b's tree that is attached to the world. One model may hold
    several trees (characters). Arrays follow MuJoCo's order.

    Example:
        >>> assert model.nv == character.nv and model.body_name(0) == "world"

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
        names: Bodies by name, and by further names such as roles.
    """

    def __init__(
        self, xml: str, points: Sequence[Point] = (), rovers: int = 0, names: Mapping[str, int] | None = None
    ) -> None:
        if rovers < 0:
            raise InvalidValue(f"A model with {rovers} roving points; give a count of zero or more.")
        points = (*points, *(Point(f"rover {k + 1}", 0, (0.0, 0.0, 0.0)) for k in range(rovers)))
        try:
            self._m = mujoco.MjModel.from_xml_string(xml)
        except ValueError as error:
            said = " ".join(str(error).removeprefix("Error: ").split())
            raise InvalidValue(
                f"MuJoCo cannot compute with this model: {said}. Bodies may be too small or too light for it: read the "
                "file with another unit or size (--unit, --height), or give more mass."
            ) from error
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
        self.names = {self.body_name(b): b for b in range(self.body_count)} | dict(names or {})
        self.point_body: Index = np.array([p.body for p in points], dtype=np.int64)
        self.point_offsets: Array = np.array([p.offset for p in points], dtype=np.float64).reshape(-1, 3)
        self.point_radii: Array = np.array([p.radius for p in points], dtype=np.float64)
        self._chains: dict[int, Index] = {}
        self._named_points: dict[tuple[int | str, ...], Index] = {}
        self.roots: tuple[int, ...] = tuple(b for b in range(1, self.body_count) if self.parents[b] == 0)

    @property
    def point_count(self) -> int:
        return len(self.points)

    def body(self, body: int | str) -> int:
        """Index of a body given by its index, its name or its role ("left_hand"), checked.

        Raises:
            InvalidValue: if there is no such body; names those there are.
        """
        if not isinstance(body, str):
            if not 0 <= body < self.body_count:
                self.require_bodies(np.array([body]))
            return body
        found = self.names.get(body, self.names.get(body.lower()))
        if found is None:
            names = ", ".join(self.body_name(b) for b in range(1, self.body_count))
            raise InvalidValue(f"No body {body!r} in the model. Bodies: {names}.")
        return found

    def point_indices(self, points: Index | tuple[int | str, ...], whose: str) -> Index:
        """Indices of contact points given by index or name, checked.

        Raises:
            InvalidValue: if there is no such point; names those there are.
        """
        if isinstance(points, np.ndarray):
            self.require_points(points, whose)
            return points
        known = self._named_points.get(points)
        if known is None:
            own = {point.name: k for k, point in enumerate(self.points)}
            for name in points:
                if isinstance(name, str) and name not in own:
                    names = ", ".join(own) or "none"
                    raise InvalidValue(f"{whose}: there is no contact point {name!r}. The model's points: {names}.")
            known = np.array([own[name] if isinstance(name, str) else name for name in points], dtype=np.int64)
            self.require_points(known, whose)
            known.setflags(write=False)
            self._named_points[points] = known
        return known

    def tree(self, of: int) -> int:
        """The body on which a tree hangs, by the number of the tree, checked."""
        if not 0 <= of < len(self.roots):
            raise InvalidValue(f"There is no tree {of}; this model has {len(self.roots)}, counted from 0.")
        return self.roots[of]

    def dofs(self, dofs: tuple[int, int | None], whose: str) -> tuple[int, int]:
        """First dof and the one after the last, checked; None is all that follow."""
        first, end = dofs[0], self.nv if dofs[1] is None else dofs[1]
        if not 0 <= first <= end <= self.nv:
            raise InvalidValue(f"{whose}: dofs {first} to {end} were asked for; this model has {self.nv}, from 0.")
        return first, end

    def require_points(self, points: Index, whose: str) -> None:
        """Raise InvalidValue unless these are contact points, 0 … P − 1; names whose they are."""
        if (point := _outside(points, self.point_count)) is not None:
            names = ", ".join(f"{k} {p.name}" for k, p in enumerate(self.points)) or "none"
            raise InvalidValue(f"{whose}: there is no contact point {point}. The model's points: {names}.")

    def require_bodies(self, bodies: Index) -> None:
        """Raise InvalidValue unless these are bodies, 0 (the world) … B − 1."""
        if (body := _outside(bodies, self.body_count)) is not None:
            names = ", ".join(f"{b} {self.body_name(b)}" for b in range(1, self.body_count))
            raise InvalidValue(f"There is no body {body}. The model's bodies: 0 world, {names}.")

    def chain(self, body: int) -> Index:
        """Dofs that move a body, in order."""
        known = self._chains.get(body)
        if known is None:
            dofs: list[int] = []
            above = body
            while above > 0:
                first = int(self.dof_first[above])
                dofs += range(first, first + int(self.dof_count[above]))
                above = int(self.parents[above])
            known = self._chains[body] = np.array(sorted(dofs), dtype=np.int64)
            known.setflags(write=False)
        return known

    def body_name(self, body: int) -> str:
        """Name of a body."""
        return str(mujoco.mj_id2name(self._m, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}")

    @property
    def geom_names(self) -> tuple[str, ...]:
        """Names of the shapes, in the order of the bodies."""
        return tuple(self._m.geom(k).name for k in range(self._m.ngeom))

    @property
    def geom_bodies(self) -> Index:
        """Body of each shape, in the same order."""
        return self._m.geom_bodyid.astype(np.int64)

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


def _outside(indices: Index, count: int) -> int | None:
    """The first of some indices that is not one of 0 … count − 1, or None."""
    every = np.asarray(indices).ravel().tolist()  # faster than NumPy's own for a few, and there are few
    if not every or (min(every) >= 0 and max(every) < count):
        return None
    return next(int(i) for i in every if not 0 <= i < count)


def _functions() -> dict[str, int]:
    """Addresses of MuJoCo's functions that the block "Engine" names."""
    names = tuple(field.name for field in BLOCKS["Engine"] if field.name.startswith("mj_"))
    # a library's symbols are found through one that depends on it, on Windows only through itself
    beside = sorted(Path(mujoco.__file__).parent.glob("*mujoco*.dll"))
    for place in (Path(mujoco._functions.__file__), *beside):
        library = ctypes.CDLL(str(place))
        if all(hasattr(library, name) for name in names):
            return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names}
    raise PoiseError(
        f"MuJoCo's functions {', '.join(names)} are not in its library. Install its own wheel: pip install mujoco"
    )


_FUNCTIONS = _functions()


def engine_block(m: mujoco.MjModel, d: mujoco.MjData) -> Block:
    """A model and a state of it for the compiled core."""
    return Block("Engine", {}, {"model": m._address, "data": d._address, **_FUNCTIONS})


class Data:
    """MuJoCo's storage for one state; the arrays below are views that stay valid and change with every `move_to`.

    Attributes:
        qpos, qvel, qacc: Coordinates, velocities, accelerations.
        block: The engine for the compiled core.
    """

    def __init__(self, m: mujoco.MjModel) -> None:
        d = mujoco.MjData(m)
        self._m, self._d = m, d
        self.qpos, self.qvel, self.qacc = d.qpos, d.qvel, d.qacc
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
        self.block = engine_block(m, d)

    def write(self, q: Array, v: Array) -> None:
        """The coordinates alone, for compiled code that does the rest."""
        self.qpos[:] = q
        self.qvel[:] = v

    def move_to(self, q: Array, v: Array) -> None:
        """Kinematics and velocities at (q, v)."""
        m, d = self._m, self._d
        self.write(q, v)
        mujoco.mj_kinematics(m, d)
        mujoco.mj_comPos(m, d)
        mujoco.mj_comVel(m, d)

    def mass_and_bias(self) -> None:
        """Fill M (nv, nv) and the bias force (Coriolis and gravity, nv) for the state last moved to."""
        m, d = self._m, self._d
        mujoco.mj_makeM(m, d)
        mujoco.mj_fullM(m, d, self.M)
        mujoco.mj_rne(m, d, 0, self.bias)

    def bias_force(self) -> Array:
        """The bias force alone, for the state last moved to, shape (nv,)."""
        out = np.empty(self._m.nv)
        mujoco.mj_rne(self._m, self._d, 0, out)
        return out

    def inverse_dynamics(self, a: Array, out: Array | None = None) -> Array:
        """M a + bias by recursive Newton-Euler, shape (nv,); into `out` if it is given."""
        self.qacc[:] = a
        out = np.empty(self._m.nv) if out is None else out
        mujoco.mj_rne(self._m, self._d, 1, out)
        return out

    def angular_momentum(self, root: int) -> Array:
        """Angular momentum of a tree about its center of mass [kg m²/s], shape (3,)."""
        mujoco.mj_subtreeVel(self._m, self._d)
        return self.subtree_angular_momentum[root].copy()


def model_of(character: Character) -> Model:
    """Bodies 1 … B of the model are the character's bodies 0 … B−1; points are its contact points, in order.

    Example:
        >>> from poise.physics import model_of
        >>> assert model_of(character).nv == character.nv
    """
    return model_of_scene((character,))


def model_of_scene(characters: Sequence[Character], rovers: int = 0, *, names: Sequence[str] | None = None) -> Model:
    """One model of several characters: their bodies, coordinates and contact points in order, then the rovers.

    A thing that flies is a character too, see `character.thing`.

    Example:
        >>> from poise.physics import model_of_scene
        >>> pair = model_of_scene([character, character], names=["ann", "bob"])

    Args:
        characters: One at least.
        rovers: How many roving points there are besides, see `State.place_rovers`.
        names: Of the characters. Where there are several, names of bodies and points start with "name/"; by default
            "1/", "2/", …

    Raises:
        InvalidValue: if there is no character, or not one name for each.
    """
    points: list[Point] = []
    aliases: dict[str, int] = {}
    first = 1
    xml = scene_mjcf(characters, names=names)
    for character, prefix in zip(characters, prefixes(characters, names), strict=True):
        for p in character.contact_points:
            offset = (float(p.offset[0]), float(p.offset[1]), float(p.offset[2]))
            points.append(Point(prefix + p.name, first + p.body, offset, p.radius))
        aliases |= {(prefix + name).lower(): first + body for name, body in character.indices.items()}
        first += len(character.bodies)
    return Model(xml, points, rovers, aliases)
