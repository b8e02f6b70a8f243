"""Figures and what is around them as one model of the engine: who may touch whom."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np

from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.physics.collisions import Shape
from poise.physics.mujoco_backend import Model

SCENE, POINTS, FIRST = 1, 2, 4
"""Collision groups: bodies of the scene, contact points of figures that meet the ground here, and the first figure, of
which each has a group of its own. A figure meets bodies and other figures; the ground is known to its own step."""
MOST_FIGURES = 28
"""Figures that one world holds."""
SKIN = 0.001
"""A contact point that is not a ball is one of so small a radius for the engine [m]."""
STEPPED_ON = 5
"""Boxes of a scene in this group of geoms are ground to figures, which step on them."""
GROUND = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
"""Kinds of geoms that are ground where they belong to the world itself."""


def compile_scene(
    figures: Sequence[Model], scene: str, ground: str, margin: float, friction: float, pairs: Sequence[Index]
) -> tuple[Any, list[tuple[list[str], Array]]]:
    """The engine's model of figures and a scene, and the points at which bodies of the scene are joined.

    The arguments are those of `mujoco_bodies.Bodies`. A join is two names and places in their frames [m], shape (2, 3).

    Raises:
        InvalidValue: as `Bodies` does.
    """
    if len(figures) > MOST_FIGURES:
        raise InvalidValue(f"{len(figures)} figures in one world; it holds {MOST_FIGURES} at most.")
    everyone = sum(FIRST << k for k in range(len(figures)))
    spec = mujoco.MjSpec()
    spec.option.gravity = [0.0, 0.0, -GRAVITY]
    for k, model in enumerate(figures):
        spec.attach(
            _figure(model, k, everyone, friction, pairs[k] if k < len(pairs) else None),
            prefix=f"{k}/",
            frame=spec.worldbody.add_frame(),
        )
    try:
        around = mujoco.MjSpec.from_string(scene)
    except ValueError as error:
        raise InvalidValue(f"MuJoCo cannot read this scene: {error}") from error
    if around.tendons or any(e.type != mujoco.mjtEq.mjEQ_CONNECT for e in around.equalities):
        raise InvalidValue(
            "The scene has tendons, or equality constraints other than connect, which are not simulated. Leave "
            "them out, or join bodies by connect, hinges and slides."
        )
    joins = _taken_joins(around)
    own = [geom for geom in around.geoms if geom.parent.name == "world" and geom.type in GROUND]
    _let_meet(around.geoms, SCENE | everyone, margin)
    _let_meet([geom for geom in around.geoms if geom.group == STEPPED_ON], SCENE | POINTS, margin)
    if ground:
        for geom in own:
            around.delete(geom)
        below = mujoco.MjSpec.from_string(ground)
        _let_meet(below.geoms, SCENE | POINTS, margin)
        for k, geom in enumerate(below.geoms):
            geom.name = str(k)
        below.option.timestep = spec.option.timestep
        spec.attach(below, prefix="ground/", frame=spec.worldbody.add_frame())
    else:
        _let_meet(own, SCENE | POINTS, margin)
    around.option.timestep = spec.option.timestep  # nobody uses it
    spec.attach(around, prefix="scene/", frame=spec.worldbody.add_frame())
    spec.option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_ISLAND)  # `contacts` finds its own
    spec.option.cone, spec.option.jacobian = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtJacobian.mjJAC_SPARSE
    try:
        m = spec.compile()
    except ValueError as error:
        raise InvalidValue(f"MuJoCo cannot compile this scene: {error}") from error
    return m, joins


def is_tread(m: Any) -> Flags:
    """Which geoms of a model are boxes that figures step on."""
    # names of figures' bodies begin with the number of the figure
    is_of_scene = np.array([not m.body(int(b)).name[:1].isdigit() for b in m.geom_bodyid], dtype=np.bool_)
    return is_of_scene & (m.geom_group == STEPPED_ON) & (m.geom_type == mujoco.mjtGeom.mjGEOM_BOX)


def meets_some(m: Any, figure: int, geoms: Index, meets: Flags) -> bool:
    """Set which of some geoms of the scene (N,) a figure meets, shape (N,); whether that is new."""
    group, old = FIRST << figure, m.geom_conaffinity[geoms]
    new = np.where(meets, old | group, old & ~group)
    m.geom_conaffinity[geoms] = new
    np.bitwise_or.at(m.body_conaffinity, m.geom_bodyid[geoms], new)  # the engine skips pairs of bodies by these
    return not np.array_equal(old, new)


def _let_meet(geoms: Iterable[Any], affinity: int, margin: float) -> None:
    for geom in geoms:
        geom.contype, geom.conaffinity, geom.condim = SCENE, affinity, 3
        geom.margin = max(geom.margin, margin)


def _taken_joins(scene: mujoco.MjSpec) -> list[tuple[list[str], Array]]:
    """The points at which bodies of a scene are joined: the two names, and places in their frames [m], shape (2, 3).

    They are taken out of the scene, and what is joined does not collide.
    """
    if not scene.equalities:
        return []
    try:
        m = scene.compile()
    except ValueError as error:
        raise InvalidValue(f"MuJoCo cannot compile this scene: {error}") from error
    out = []
    for k in range(m.neq):
        names = [m.body(int(b)).name for b in (m.eq_obj1id[k], m.eq_obj2id[k])]
        out.append((names, m.eq_data[k, :6].reshape(2, 3).copy()))
        if "world" not in names:
            scene.add_exclude(bodyname1=names[0], bodyname2=names[1])
    for join in list(scene.equalities):
        scene.delete(join)
    return out


def _figure(model: Model, number: int, everyone: int, friction: float, pairs: Index | None) -> mujoco.MjSpec:
    """A figure as it takes part: capsules that meet bodies and other figures, and a ball at each contact point."""
    spec, group = mujoco.MjSpec.from_string(model.xml), FIRST << number
    spec.option.timestep = mujoco.MjSpec().option.timestep
    for geom in spec.geoms:
        geom.contype, geom.conaffinity, geom.friction[0] = group, everyone, friction
    for k, point in enumerate(model.points):
        spec.body(model.body_name(point.body)).add_geom(
            name=f"point {k}",
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=[max(point.radius, SKIN), 0.0, 0.0],
            pos=list(point.offset),
            mass=0.0,
            contype=POINTS,
            conaffinity=0,
            friction=[friction, 0.005, 1e-4],
        )
    own = model.geom_bodies
    may = set() if pairs is None else {tuple(sorted(pair)) for pair in own[pairs].tolist()}
    bodies = sorted(set(own.tolist()))
    for k, first in enumerate(bodies):
        for second in bodies[k + 1 :]:
            if (first, second) not in may:
                spec.add_exclude(bodyname1=model.body_name(first), bodyname2=model.body_name(second))
    return spec


def shapes_of(m: Any, first: int) -> tuple[Shape, ...]:
    """The shapes of a model's bodies from the first of the scene on, and of what never moves, without ground."""
    kinds = {
        int(mujoco.mjtGeom.mjGEOM_SPHERE): "sphere",
        int(mujoco.mjtGeom.mjGEOM_BOX): "box",
        int(mujoco.mjtGeom.mjGEOM_CAPSULE): "capsule",
        int(mujoco.mjtGeom.mjGEOM_CYLINDER): "cylinder",
        int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): "ellipsoid",
        int(mujoco.mjtGeom.mjGEOM_MESH): "mesh",
    }
    return tuple(
        Shape(
            int(m.geom_bodyid[g]), kinds[int(m.geom_type[g])], _size_of(m, g), m.geom_pos[g].copy(),
            m.geom_quat[g].copy(),
        )
        for g in range(m.ngeom)
        if int(m.geom_type[g]) in kinds
        and m.geom_bodyid[g] not in range(1, first)
        and not m.geom(g).name.startswith("ground/")
    )  # fmt: skip


def _size_of(m: Any, geom: int) -> Array:
    """Size of a geom (3,), or the corners of its mesh (N, 3) [m]."""
    mesh = int(m.geom_dataid[geom])
    if m.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
        return m.geom_size[geom].copy()
    first = int(m.mesh_vertadr[mesh])
    return m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])].astype(np.float64)
