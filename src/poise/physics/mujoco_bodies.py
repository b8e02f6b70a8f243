"""Figures and bodies in one engine model: which of them touch, and what an impulse at a contact does to the bodies.

MuJoCo finds the contacts, their Jacobians and the bodies' inertia. Which impulses act is for `poise.world` to say, and
how a figure answers them is for whoever drives it.
"""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np

from poise.core.typing import Array, Flags, Index
from poise.physics.collisions import feet, stiffness
from poise.physics.mujoco_backend import Model
from poise.physics.mujoco_scene import FIRST, GROUND, POINTS, compile_scene, shapes_of
from poise.physics.touching import Touches, answer_free, fill_touches, find_awake, frame_along, geom_speeds

SLEEPS_AFTER = 0.5
"""Bodies that rest for so long sleep [s]: contacts among them are left out until something touches them."""
FIRM_AFTER = 0.3
"""A join that begins while the scene moves is firm after this time [s]: a hand that takes hold does so gently."""
SLOW = 0.5
"""A body rests where no point of it moves faster than this, times the margin [1/s]."""


class Bodies:
    """The bodies of a scene and the figures among them, in one model of the engine.

    Figures come first, with the coordinates and in the order of their own models, of one tree each; `move` puts
    everything in its place.

    Args:
        figures: Model of each figure.
        scene: MJCF text of what is around them. A plane or height field of its world is ground.
        ground: MJCF text of ground that takes the place of the scene's own.
        margin: Bodies nearer than this count as touching, now or as fast as they move, a step later [m].
        dt: Length of a step [s].
        friction: Coulomb coefficient of the figures; of two that touch the larger counts.
        pairs: For each figure, pairs of its capsules that may touch each other where it is a ragdoll, by their order in
            its model, shape (N, 2).

    Attributes:
        nq, nv: Coordinates and dofs of the whole.
        first, width: First dof and number of dofs of each tree, shape (T,).
        is_figure: Which trees are figures, shape (T,).
        is_exact: Trees whose contacts are solved exactly: figures, and bodies that are joined at points, shape (T,).
        apart: How far joined points are from each other, in the contacts last asked for [m], shape (J, 3).
        firmness: How firm each join is by now, from 0 to 1, shape (J,).
        slips: By how much the velocities of joined points differed when the join began [m/s], shape (J, 3).
        figure_of: Figure of each tree, whose trees come first, −1 for others and for what never moves, shape (T + 1,).
        figure_q, figure_v: Coordinates and dofs of each figure.
        figure_body: First body of each figure.
        q, v: Coordinates and velocities, views of the engine's.
        is_placed: The engine's places and contacts are those of q and v; set it to False to have `move` find them anew.
        calm: How long each tree has rested [s], shape (T + 1,).
        is_asleep: Trees that `doze` found asleep, and what never moves, shape (T + 1,): `touches` leaves them out.
        asleep_count, asleep_depth: Number of contacts among these, and their deepest overlap [m].
        names: Of the bodies, in the engine's order.
        masses: Of the bodies [kg].
        shapes: Of everything but figures and ground.
        solid: Geoms of the parts of each figure, without its feet.

    Raises:
        InvalidValue: if the scene is not MJCF, or holds tendons or equality constraints other than connect; if there
            are too many figures.
    """

    def __init__(
        self,
        figures: Sequence[Model],
        scene: str,
        *,
        ground: str = "",
        margin: float = 0.01,
        dt: float = 0.01,
        friction: float = 0.8,
        pairs: Sequence[Index] = (),
    ) -> None:
        self._m, joins = compile_scene(figures, scene, ground, margin, friction, pairs)
        m = self._m
        self._d = d = mujoco.MjData(m)
        self._margin, self._dt, self._margins = margin, dt, m.geom_margin.copy()
        self.calm: Array = np.zeros(len(m.tree_dofadr) + 1)
        self.is_asleep: Flags = np.zeros(len(self.calm), dtype=np.bool_)
        self.asleep_count, self.asleep_depth, self._widest = 0, 0.0, 1
        self._known, self._gaps = np.zeros(0, dtype=np.int64), np.zeros(0)  # contacts of the engine, from `doze`
        self._addresses, self._pairs = np.zeros(0, dtype=np.int32), np.zeros((0, 2), dtype=np.int32)
        self._has_shifted: Flags = np.zeros(m.nbody, dtype=np.bool_)
        self._speeds, self._fastest = np.zeros(m.ngeom), np.zeros(len(self.calm))
        self._sizes = np.where(np.isin(m.geom_type, GROUND), 0.0, m.geom_rbound)
        self.is_placed = False
        self.nq, self.nv, self.q, self.v = int(m.nq), int(m.nv), d.qpos, d.qvel
        self.first, self.width = m.tree_dofadr.astype(np.int64), m.tree_dofnum.astype(np.int64)
        ends_q = np.cumsum([0, *(model.nq for model in figures)]).tolist()
        ends_v = np.cumsum([0, *(model.nv for model in figures)]).tolist()
        ends = np.cumsum([1, *(model.body_count - 1 for model in figures)]).tolist()
        self.figure_q = tuple(slice(*pair) for pair in pairwise(ends_q))
        self.figure_v = tuple(slice(*pair) for pair in pairwise(ends_v))
        self.figure_body: tuple[int, ...] = tuple(ends[:-1])
        self.is_figure: Flags = self.first < ends_v[-1]
        self.figure_of: Index = np.append(np.where(self.is_figure, np.arange(len(self.first)), -1), -1)
        self.names = tuple(m.body(b).name for b in range(m.nbody))
        self.masses: Array = m.body_mass.copy()
        self.geom_body: Index = m.geom_bodyid.astype(np.int64)
        self._with_geoms = np.flatnonzero(m.body_geomnum)  # the geoms of a body follow each other
        self._root = m.body_rootid.astype(np.int64)
        self.gravity: Array = m.opt.gravity.copy()
        self.shapes = shapes_of(m, ends[-1])
        self._is_convex = ~np.isin(m.geom_type, GROUND)
        self._tree_of_dof = m.dof_treeid.astype(np.int64)
        self._tree_of_body = np.array([m.body_treeid[b] for b in range(m.nbody)], dtype=np.int64)
        self._tree_of_geom = self._tree_of_body[self.geom_body]
        moves = np.flatnonzero(~self.is_figure)
        kind = m.jnt_type[m.dof_jntid[self.first[moves]]] if len(moves) else np.zeros(0)
        # one free body: its angular bias is left out, which makes small things spin without end at 10 ms
        is_free = (kind == int(mujoco.mjtJoint.mjJNT_FREE)) & (self.width[moves] == 6)
        self._free, self._jointed = moves[is_free], moves[~is_free]
        self._is_free: Flags = np.isin(np.arange(len(self.first) + 1), self._free)
        self._walks = np.flatnonzero(self._is_free | np.append(self.is_figure, False))
        self._walk_dofs = self.first[self._walks][:, None] + np.arange(2)
        self._free_dofs = self.first[self._free][:, None] + np.arange(6)
        known = [0 if name == "world" else m.body(f"scene/{name}").id for names, _ in joins for name in names]
        places = np.array([places for _, places in joins]).reshape(-1, 2, 3)
        self._know_joins(np.array(known, dtype=np.int64).reshape(-1, 2), places)
        self._helping, self._toward = np.zeros((len(self._free), 6, 6)), np.zeros((len(self._free), 6))
        self._guided: list[int] = []
        self._entries = np.zeros(len(d.M) + 1)  # of the mass matrix, and the zero of all that it does not hold
        entry = {
            (dof, int(m.M_colind[at])): at
            for dof in range(m.nv)
            for at in range(m.M_rowadr[dof], m.M_rowadr[dof] + m.M_rownnz[dof])
        }
        none = len(d.M)

        def block(tree: int) -> Index:
            dofs = range(self.first[tree], self.first[tree] + self.width[tree])
            return np.array([[entry.get((max(i, j), min(i, j)), none) for j in dofs] for i in dofs], dtype=np.int64)

        self._free_block = np.array([block(t) for t in self._free], dtype=np.int64).reshape(-1, 6, 6)
        self._blocks = self._known_blocks = np.zeros((len(self._free), 6, 6))
        self._inverse = np.zeros((len(self.first) + 1, 6, 6))
        self._block = {int(t): block(t) for t in self._jointed}
        self._loose_bodies = np.flatnonzero(np.append(~self.is_figure, False)[self._tree_of_body])
        self._thick = np.zeros(m.ngeom)
        self.solid: list[Index] = []
        self._own_geoms: list[tuple[Index, Index]] = []
        for k, model in enumerate(figures):
            points = np.array([m.geom(f"{k}/point {i}").id for i in range(model.point_count)], dtype=np.int64)
            own = np.flatnonzero((self.geom_body >= ends[k]) & (self.geom_body < ends[k + 1]))
            capsules = np.setdiff1d(own, points)
            is_foot = feet(model.parents, np.array([p.body for p in model.points], dtype=np.int64))
            self.solid.append(capsules[~is_foot[self.geom_body[capsules] - ends[k] + 1]])
            self._own_geoms.append((capsules, points))
            m.body_contype[ends[k] : ends[k + 1]] |= POINTS  # the engine skips pairs of bodies by these
            self._thick[points] = m.geom_size[points, 0] - model.point_radii

    @property
    def engine(self) -> tuple[Any, Any]:
        """The engine's model and state, for comparisons."""
        return self._m, self._d

    @property
    def tree_count(self) -> int:
        return len(self.first)

    def join(self, first: int, second: int, places: Array) -> None:
        """Join two bodies from now on, each at its place in the world [m] (2, 3); they may be parts of figures.

        Within `FIRM_AFTER` the places come together, and the difference of their speeds fades evenly.
        """
        ends = np.array([self.offset(body, place) for body, place in zip((first, second), places)])
        one, other = (self.point(body, end)[1] @ self.v for body, end in zip((first, second), ends))
        joined = np.concatenate([self._join_bodies, [[first, second]]])
        self._know_joins(joined, np.concatenate([self._join_places, ends[None]]))
        self.firmness[-1], self.slips[-1] = 0.0, other - one

    def firm_joins(self) -> None:
        """Make joins that are not firm yet firmer, by a step."""
        self.firmness = np.minimum(self.firmness + self._dt / FIRM_AFTER, 1.0)

    def part(self, first: int, second: int) -> None:
        """Let two bodies go that `join` has joined."""
        kept = (self._join_bodies != [first, second]).any(axis=1)
        self._know_joins(self._join_bodies[kept], self._join_places[kept])

    def _know_joins(self, bodies: Index, places: Array) -> None:
        """Take over which bodies are joined (J, 2), and where in their frames [m] (J, 2, 3)."""
        self._join_bodies, self._join_places, self._join_trees = bodies, places, self._tree_of_body[bodies]
        self._widest_join = int(self.width[self._join_trees[self._join_trees >= 0]].max(initial=1))
        self.is_exact = self.is_figure.copy()
        self.is_exact[self._join_trees[self._join_trees >= 0]] = True
        count = len(bodies)
        self.apart, self.slips, self.firmness = np.zeros((count, 3)), np.zeros((count, 3)), np.ones(count)
        self._may_sleep: Flags = self._is_free & ~np.append(self.is_exact, False)
        self._joined, self._joined_side = np.nonzero(np.isin(self._join_trees, self._free))
        self._joined_to = np.searchsorted(self._free, self._join_trees[self._joined, self._joined_side])

    def is_loose(self, body: int) -> bool:
        """Whether a body moves by physics and is not part of a figure."""
        tree = int(self._tree_of_body[body])
        return tree >= 0 and not bool(self.is_figure[tree])

    def coordinates(self, name: str) -> tuple[int, int]:
        """First coordinate and first dof of a body of the scene, which has a joint of its own."""
        joint = int(self._m.body(f"scene/{name}").jntadr[0])
        return int(self._m.jnt_qposadr[joint]), int(self._m.jnt_dofadr[joint])

    def let_meet(self, figure: int, *, ground: bool) -> None:
        """Whether a figure meets ground and itself here, as a ragdoll does, or knows them in its own step."""
        self.is_placed = False
        solid = self.solid[figure]
        capsules, points = self._own_geoms[figure]
        group = FIRST << figure
        self._m.geom_contype[points] = POINTS if ground else 0
        self._m.geom_contype[solid] = group | (POINTS if ground else 0)
        affinity = self._m.geom_conaffinity[capsules]
        self._m.geom_conaffinity[capsules] = affinity | group if ground else affinity & ~group

    def carry(self, body: int, place: Array, turn: Array) -> None:
        """Where a body that is moved from outside (mocap) is from now on: place [m] (3,), unit wxyz (4,)."""
        k = int(self._m.body_mocapid[body])
        is_there = np.array_equal(self._d.mocap_pos[k], place) and np.array_equal(self._d.mocap_quat[k], turn)
        self._has_shifted[body] = not is_there
        if not is_there:
            self._d.mocap_pos[k], self._d.mocap_quat[k] = place, turn
            self.is_placed = False

    def move(self, q: Array, v: Array) -> None:
        """Put figures and bodies at coordinates (nq,) and velocities (nv,), unless they are there."""
        if self.is_placed and np.array_equal(self.q, q) and np.array_equal(self.v, v):
            return
        self.q[:], self.v[:], self.is_placed = q, v, True
        m, d = self._m, self._d
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_makeM, mujoco.mj_comVel, mujoco.mj_passive):
            stage(m, d)
        # what is fast is met from farther away, so that it does not begin inside
        body, tree = self.geom_body, self._tree_of_geom
        geom_speeds(
            body, tree, self._root, d.cvel, d.geom_xpos, d.subtree_com, self._sizes, self._speeds, self._fastest
        )
        m.geom_margin[:] = self._margins + self._dt * self._speeds
        m.body_margin[self._with_geoms] = np.maximum.reduceat(m.geom_margin, m.body_geomadr[self._with_geoms])
        for stage in (mujoco.mj_collision, mujoco.mj_makeConstraint, mujoco.mj_referenceConstraint):
            stage(m, d)
        mujoco.mj_rne(m, d, 0, d.qfrc_bias)
        self._entries[:-1] = d.M
        self._blocks = self._entries[self._free_block]

    def doze(self, busy: Sequence[int]) -> None:
        """Find who sleeps in the step that begins, and the contacts that are left. Call it once a step, after `move`.

        Bodies that touch each other sleep and wake together: one that moves, a figure, or ground that shifts wakes all.

        Args:
            busy: Bodies that something else pushes, which do not sleep.
        """
        d, contact = self._d, self._d.contact
        may_sleep = self._may_sleep
        if busy:
            may_sleep = may_sleep.copy()
            may_sleep[self._tree_of_body[list(busy)]] = False
        # copies: a field of the engine's records has gaps between its values
        self._addresses, self._pairs, gaps = contact.efc_address.copy(), contact.geom.copy(), contact.dist.copy()
        counts, deepest, known = np.empty(2, dtype=np.int64), np.empty(1), np.empty(len(gaps), dtype=np.int64)
        near = np.empty(len(gaps))
        count = find_awake(
            self._addresses, self._pairs, gaps, d.efc_vel, self._thick, self.geom_body, self._tree_of_geom,
            self.width, self._has_shifted, may_sleep, self._fastest, SLOW * self._margin, SLEEPS_AFTER, self._margin,
            self._dt, self.calm, self.is_asleep, known, near, counts, deepest,
        )  # fmt: skip
        self._known, self._gaps = known[:count], near[:count]
        self.asleep_count, self._widest = counts.tolist()
        self.asleep_depth = float(deepest[0])

    def touches(self) -> Touches:
        """Contacts that `doze` left; then the points at which bodies are joined, with friction −1."""
        contacts = self._contacts()
        count = len(self._join_bodies)
        if not count:
            return contacts
        places, rows = np.empty((count, 2, 3)), np.zeros((count, 2, 3, contacts.rows.shape[-1]))
        for k, s in np.ndindex(count, 2):
            body, tree = int(self._join_bodies[k, s]), int(self._join_trees[k, s])
            places[k, s], own = self.point(body, self._join_places[k, s])
            if tree >= 0:
                rows[k, s, :, : self.width[tree]] = (2 * s - 1) * own[:, self._dofs(tree)]
        self.apart = places[:, 1] - places[:, 0]
        trees = self._join_trees.copy()
        for k in np.flatnonzero((trees[:, 0] == trees[:, 1]) & (trees[:, 0] >= 0)):
            rows[k, 0] += rows[k, 1]
            rows[k, 1], trees[k, 1] = 0.0, -1
        joined = Touches(
            places[:, 0],
            np.tile(np.eye(3), (count, 1, 1)),
            np.zeros(count),
            np.full(count, -1.0),
            self._join_bodies,
            trees,
            rows,
        )
        return Touches._make(np.concatenate(pair) for pair in zip(contacts, joined))

    def _contacts(self) -> Touches:
        d, contact, K = self._d, self._d.contact, len(self._known)
        own = Touches(
            np.empty((K, 3)), np.empty((K, 3, 3)), self._gaps, np.empty(K), np.empty((K, 2), dtype=np.int64),
            np.empty((K, 2), dtype=np.int64), np.empty((K, 2, 3, max(self._widest, self._widest_join))),
        )  # fmt: skip
        is_pierced = np.empty(K, dtype=np.bool_)
        places, frames, friction = contact.pos.copy(), contact.frame.copy(), contact.friction.copy()
        if fill_touches(
            self._known, self._addresses, self._pairs, places, frames, friction,
            d.efc_J_rowadr, d.efc_J_rownnz, d.efc_J, d.efc_J_colind, self.geom_body, self._tree_of_geom, d.geom_xpos,
            self._is_convex, self._tree_of_dof, self.first, own.places, own.frames, own.friction, own.bodies, own.trees,
            own.rows, is_pierced,
        ):  # fmt: skip
            # what is thin may be pierced: then the engine's normals change sides, or point to both, so bodies part from
            # middle to middle
            for k in np.flatnonzero(is_pierced):
                first, second = self._pairs[self._known[k]]
                frame = frame_along(d.geom_xpos[second] - d.geom_xpos[first])
                own.rows[k], own.frames[k] = frame @ own.frames[k].T @ own.rows[k], frame
        return own

    def stiffen(self, forces: Array) -> None:
        """Let joined bodies resist turning in this step as the forces at their joints make them, see `stiffness`.

        Args:
            forces: Of the step before [N], shape (J, 3).
        """
        self._helping[:], self._toward[:], self._guided = 0.0, 0.0, []
        k, s = self._joined, self._joined_side
        if not len(k):
            return
        bodies = self._join_bodies[k, s]
        lever = self._join_places[k, s] - self._m.body_ipos[bodies]
        turned = np.einsum("kji,kj->ki", self._d.xmat[bodies].reshape(-1, 3, 3), (2 * s - 1)[:, None] * forces[k])
        self._helping[:, 3:, 3:] = self._dt**2 * stiffness(turned, lever, self._joined_to, len(self._free))
        self._toward[:] = -np.einsum("tij,tj->ti", self._helping, self.v[self._free_dofs]) / self._dt

    def guide(self, body: int, share: float, a: Array, *, turns: bool) -> None:
        """Let a helper force S (a − acceleration) act on a free body in this step, S the share of its mass matrix.

        Call it after `stiffen`.

        Args:
            body: Its index.
            share: Of its mass matrix, by which the body gets heavier against what keeps it from its goal.
            a: Acceleration of its six dofs that it aims at, shape (6,).
            turns: Its orientation is helped, too.
        """
        k = int(np.flatnonzero(self._free == self._tree_of_body[body])[0])
        own = np.arange(6) < (6 if turns else 3)
        S = share * self._blocks[k] * np.outer(own, own)
        self._helping[k] += S
        self._toward[k] += S @ a
        self._guided.append(k)

    def help(self, v: Array) -> tuple[float, float]:
        """Work [J] and impulse [N s] of the helper forces of a step that ends at velocities (nv,)."""
        dt = self._dt
        if not self._guided:
            return 0.0, 0.0
        own = self._free_dofs[self._guided]
        before, after = self.v[own], v[own]
        force = self._toward[self._guided] - np.einsum("tij,tj->ti", self._helping[self._guided], after - before) / dt
        impulse = dt * np.linalg.norm(force[:, :3], axis=1).sum()
        return 0.5 * dt * float((force * (before + after)).sum()), float(impulse)

    def is_free(self, body: int) -> bool:
        """Whether a body is one free body by itself."""
        return int(self._tree_of_body[body]) in self._free.tolist()

    def falling(self, forces: Array) -> Array:
        """Velocities (nv,) that the bodies have after a step without any contact; those of figures stay.

        Args:
            forces: Generalized forces that act besides gravity, shape (nv,).
        """
        d, v, dt = self._d, self.v.copy(), self._dt
        v[self._free_dofs[:, :3]] += dt * self.gravity
        if self.is_asleep[:-1].any():
            v[self._free_dofs[self.is_asleep[self._free]]] = 0.0
        if forces.any() or self._toward.any() or self._helping.any():
            acts, fall = self._toward + forces[self._free_dofs], np.append(self.gravity, np.zeros(3))
            for k in np.flatnonzero(acts.any(axis=1) | self._helping.any(axis=(1, 2))).tolist():
                dofs, M = self._free_dofs[k], self._blocks[k]
                v[dofs] = self.v[dofs] + dt * np.linalg.solve(M + self._helping[k], M @ fall + acts[k])
        for tree, block in self._block.items():
            dofs = self._dofs(tree)
            acts = d.qfrc_passive[dofs] - d.qfrc_bias[dofs] + forces[dofs]
            v[dofs] += dt * np.linalg.solve(self._entries[block], acts)
        return v

    def _dofs(self, tree: int) -> slice:
        return slice(int(self.first[tree]), int(self.first[tree] + self.width[tree]))

    def answers(self, touches: Touches) -> Array:
        """How velocities of the bodies' trees change per unit impulse along each row: M⁻¹ Jᵀ, shape (K, 2, 3, W).

        Those of figures are left zero: who drives them answers for them.
        """
        out = np.zeros_like(touches.rows)
        blocks = self._blocks + self._helping
        new = np.flatnonzero((blocks != self._known_blocks).any(axis=(1, 2)))  # none if all turn about their center
        if len(new):
            self._known_blocks, self._inverse = blocks, self._inverse.copy()
            self._inverse[self._free[new]] = np.linalg.inv(blocks[new])
        answer_free(touches.trees, self._inverse, touches.rows, out)
        for tree, block in self._block.items():
            k, side = np.nonzero(touches.trees == tree)
            w = len(block)
            out[k, side, :, :w] = touches.rows[k, side][..., :w] @ np.linalg.inv(self._entries[block])
        return out

    def after(self, q: Array, v: Array) -> Array:
        """Coordinates q ⊕ v dt a step later, shape (nq,)."""
        out = q.copy()
        mujoco.mj_integratePos(self._m, out, v, self._dt)
        return out

    def weights(self) -> Array:
        """Mass that each body has against a push, wherever it is pushed [kg]; NaN for a hinged one, see `resistance`.

        It is infinite for what never moves or is part of a figure, a rope or a chain.
        """
        tree = self._tree_of_body
        is_fixed = (tree < 0) | np.append(self.is_exact, True)[tree]
        return np.where(is_fixed, np.inf, np.where(self._is_free[tree], self.masses, np.nan))

    def resistance(self, body: int, place: Array, way: Array) -> float:
        """Mass that a hinged body has against a push at a place (3,) along a horizontal way (2,) [kg]."""
        tree = int(self._tree_of_body[body])
        along = way @ self.point(body, self.offset(body, place))[1][:2, self._dofs(tree)]
        return 1.0 / max(float(along @ np.linalg.solve(self._entries[self._block[tree]], along)), 1e-12)

    def paces(self) -> Array:
        """How fast each tree goes that moves freely, horizontally [m/s], shape (T + 1, 2); 0 for others."""
        out = np.zeros((len(self._is_free), 2))
        out[self._walks] = self.v[self._walk_dofs]
        return out

    def offset(self, body: int, place: Array) -> Array:
        """A place in the world as one in a body's frame [m], shape (3,)."""
        return self._d.xmat[body].reshape(3, 3).T @ (place - self._d.xpos[body])

    def point(self, body: int, offset: Array | None) -> tuple[Array, Array]:
        """A point of a body, its center of mass if no offset (3,) in its frame: its place [m] (3,), and its velocity
        per unit velocity of each dof, shape (3, nv).
        """
        d = self._d
        place = d.xipos[body].copy() if offset is None else d.xpos[body] + d.xmat[body].reshape(3, 3) @ offset
        rows = np.zeros((3, self.nv))
        mujoco.mj_jac(self._m, d, rows, None, place, body)
        return place, rows

    def momentum(self, v: Array) -> Array:
        """Linear momentum of the loose bodies, with what helper forces take of it, at velocities (nv,), shape (3,)."""
        inertia = self._blocks[:, :3] + self._helping[:, :3]
        return (inertia @ v[self._free_dofs][..., None]).sum(axis=0)[:, 0]

    def impulses(self, touches: Touches, p: Array) -> tuple[Array, Array]:
        """Sums of impulses [N s], shapes (3,): of loose bodies on figures, and of all but figures on loose bodies."""
        each = touches.forces(p)
        is_figure = np.append(self.is_figure, False)[touches.trees]
        is_free = self._is_free[touches.trees]
        on_figures = is_figure & is_free[:, ::-1]
        others = is_free & ~is_figure[:, ::-1]
        sign = np.array([-1.0, 1.0])
        return (on_figures @ sign) @ each, (others @ sign) @ each

    def work(self, touches: Touches, p: Array, k: Index, side: Index, v: Array) -> float:
        """Work of impulses of the contacts k on the body at that side, moving at mean velocities v (nv,) [J]."""
        total = 0.0
        for i, s, tree in zip(k, side, touches.trees[k, side]):
            if tree >= 0:
                w = self.width[tree]
                total += float(p[i] @ (touches.rows[i, s, :, :w] @ v[self.first[tree] : self.first[tree] + w]))
        return total

    def places(self) -> tuple[Array, Array]:
        """Places (B, 3) [m] and orientations (B, 4) of all bodies in the state last moved to."""
        return self._d.xpos.copy(), self._d.xquat.copy()

    def energy(self) -> float:
        """Kinetic and potential energy of the bodies in the state last moved to, without the figures [J]."""
        v = self.v[self._free_dofs]
        kinetic = 0.5 * float(np.vdot(v, self._blocks @ v[..., None]))
        for tree, block in self._block.items():
            v = self.v[self._dofs(tree)]
            kinetic += 0.5 * float(v @ self._entries[block] @ v)
        bodies = self._loose_bodies
        return kinetic - float(self.masses[bodies] @ self._d.xipos[bodies] @ self.gravity)
