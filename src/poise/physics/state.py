"""Everything a step needs to know of one state (q, v): mass matrix, bias, points, center of mass; clips as states."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poise.body.character import Character
from poise.body.posing import motion_to_q
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.native import Block
from poise.phases.glitches import glitch_frames
from poise.physics import bodies as loops
from poise.physics.mujoco_backend import Data, Model, model_of


class State:
    """Storage that is moved from state to state; its arrays hold for the state last moved to.

    The only changing thing here on purpose: a frame must not allocate. `generation` counts the moves, so a step made
    on an earlier state can tell that it is stale.

    Example:
        >>> state = State(model).at(clip.q[0], clip.v[0])
        >>> com = state.com()  # [m]

    Attributes:
        is_complete: Mass matrix and bias are those of (q, v); a step asks for that.
        q, v: Coordinates (nq,) and velocities (nv,).
        M, bias: Mass matrix (nv, nv) and Coriolis-and-gravity force (nv,).
        centers: Centers of the contact points in the world [m], shape (P, 3).
        points: The touching points, center − radius · normal [m], shape (P, 3).
        point_velocities: [m/s], shape (P, 3).
        point_biases: Acceleration of each point at a = 0 [m/s^2], shape (P, 3).
        body_biases: Spatial acceleration (angular, linear) of each body at a = 0, shape (B, 6).
        point_body, point_offsets: Body of each point (P,) and its place there (P, 3): the model's own, but where the
            model has rovers, whose bodies and places change.
        pose: The block "Pose" of all these, for the compiled core.
        kept: Storage that others keep for this state, by name.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.data: Data = model.data()
        self.generation, self.is_complete = 0, False
        P, nv = model.point_count, model.nv
        self.q, self.v = model.q_rest(), np.zeros(nv)
        self.M, self.bias = self.data.M, self.data.bias
        self.centers, self.points = np.zeros((P, 3)), np.zeros((P, 3))
        self.point_velocities, self.point_biases = np.zeros((P, 3)), np.zeros((P, 3))
        self.body_biases = np.zeros((model.body_count, 6))
        self.point_body, self.point_offsets = model.point_body, model.point_offsets
        if model.rovers:
            self.point_body, self.point_offsets = self.point_body.copy(), self.point_offsets.copy()
        m, d = model, self.data
        self.pose = Block(
            "Pose",
            {"nq": m.nq, "nv": nv, "bodies": m.body_count, "points": P},
            {
                "engine": d.block,
                "parents": m.parents,
                "tree_root": m.tree_root,
                "dof_first": m.dof_first,
                "dof_count": m.dof_count,
                "dof_body": m.dof_body,
                "body_masses": m.body_masses,
                "subtree_masses": m.subtree_masses,
                "point_body": self.point_body,
                "point_offsets": self.point_offsets,
                "point_radii": m.point_radii,
                "q": d.qpos,
                "v": d.qvel,
                "a": d.qacc,
                "M": d.M,
                "bias": d.bias,
                "xpos": d.xpos,
                "xmat": d.xmat,
                "xquat": d.xquat,
                "xipos": d.xipos,
                "subtree_com": d.subtree_com,
                "cdof": d.cdof,
                "cdof_dot": d.cdof_dot,
                "cvel": d.cvel,
                "body_biases": self.body_biases,
                "centers": self.centers,
                "places": self.points,
                "velocities": self.point_velocities,
                "point_biases": self.point_biases,
            },
        )
        self.kept: dict[str, Block] = {}
        self._com_rows: tuple[int, dict[int, tuple[Array, Array]]] = (-1, {})
        self._accelerations = -1, b"", self.body_biases
        self._up = np.zeros((P, 3))
        self._up[:, 2] = 1.0

    def move_to(self, q: Array, v: Array) -> None:
        """Kinematics at (q, v): body poses and point centers. `touch` completes the rest.

        Raises:
            InvalidValue: if q or v has another shape, or is not finite; names the first bad joint.
        """
        m = self.model
        if np.shape(q) != (m.nq,) or np.shape(v) != (m.nv,):
            raise InvalidValue(f"q and v have shapes {np.shape(q)} and {np.shape(v)}; give ({m.nq},) and ({m.nv},).")
        self.begin(q, v)
        if loops.place(self.pose) >= 0:
            wrong = np.concatenate([m.q_body[~np.isfinite(q)], m.dof_body[~np.isfinite(v)]])
            raise InvalidValue(f"The state is not finite, first at joint {m.body_name(int(wrong.min()))!r}.")

    def begin(self, q: Array, v: Array) -> None:
        """The part of `move_to` before `bodies.place`, for the compiled core."""
        self.q, self.v = q, v
        self.generation += 1
        self.is_complete = False
        self.data.write(q, v)

    def touch(self, normals: Array | None = None) -> None:
        """Place the points against the surface normals below them (default: up), shape (P, 3)."""
        loops.touch(self.pose, self._up if normals is None else normals)

    def place_rovers(self, first: int, bodies: Index, places: Array) -> Index:
        """Put roving points on bodies, at places in the world; they move with the bodies until put anew.

        Call it after `move_to`, before or after `touch`; steps made before it are stale. A rover on body 0, the world,
        stands still: no velocity, no Jacobian.

        Args:
            first: Which rover is the first to be put, from 0.
            bodies: Body of each, shape (K,).
            places: In the world [m], shape (K, 3).

        Returns:
            Index of each among the points, shape (K,).

        Raises:
            InvalidValue: if there are not so many rovers.
        """
        m, count = self.model, len(bodies)
        if not (first >= 0 and first + count <= m.rovers):
            raise InvalidValue(
                f"Rovers {first} to {first + count - 1} were to be placed; this model has {m.rovers}. "
                "Give Model or model_of_scene more."
            )
        start = m.point_count - m.rovers + first
        end = start + count
        if count:
            self.generation += 1
            here, d = slice(start, end), self.data
            m.require_bodies(bodies)
            bodies, places = np.asarray(bodies, dtype=np.int64), np.asarray(places, dtype=np.float64)
            arms = places - d.xpos[bodies]
            self.point_body[here], self.centers[here], self.points[here] = bodies, places, places
            self.point_offsets[here] = np.einsum("kec,ke->kc", d.xmat.reshape(-1, 3, 3)[bodies], arms)
            velocities, biases = self.point_velocities[here], self.point_biases[here]
            loops.point_motion(self.pose, bodies, places, self.body_biases, velocities, biases)
        return np.arange(start, end, dtype=np.int64)

    def complete(self) -> None:
        """Mass matrix and bias force of the state."""
        loops.mass_and_bias(self.pose)
        self.is_complete = True

    @property
    def point_jacobians(self) -> Array:
        """Jacobian of the velocity of each touching point, shape (3 P, nv)."""
        out = np.empty((3 * self.model.point_count, self.model.nv))
        loops.point_jacobians(self.pose, self.point_body, self.points, out)
        return out

    def at(self, q: Array, v: Array) -> State:
        """Move to (q, v) above level ground and complete: the short way for examples and tests."""
        self.move_to(q, v)
        self.touch()
        self.complete()
        return self

    # --- the center of mass and momenta of one tree, and single places on bodies

    def mass(self, root: int) -> float:
        """Mass of the tree on `root` [kg]."""
        return float(self.model.subtree_masses[root])

    def com(self, root: int = 1) -> Array:
        """Center of mass of the tree on `root` in the world [m], shape (3,)."""
        return self.data.subtree_com[root].copy()

    def com_jacobian(self, root: int = 1) -> Array:
        """Jacobian of that center of mass, shape (3, nv)."""
        return self.com_rows(root)[0]

    def com_without(self, root: int, bodies: tuple[int, ...]) -> Array:
        """Center of mass of the tree on `root` with some bodies left out [m], shape (3,)."""
        total = self.mass(root)
        moment = total * self.com(root)
        for body in bodies:
            moment -= self.model.body_masses[body] * self.data.xipos[body]
            total -= float(self.model.body_masses[body])
        return moment / total

    def com_velocity(self, root: int = 1) -> Array:
        """Velocity of the center of mass of the tree on `root` [m/s], shape (3,).

        Of a free tree: its momentum, which stands in the rows of M v of the root's translation, over its mass.
        """
        first = int(self.model.dof_first[root])
        if self.model.dof_count[root] != 6 or not self.is_complete:
            return self.com_jacobian(root) @ self.v
        return self.M[first : first + 3] @ self.v / self.mass(root)

    def com_bias(self, root: int = 1) -> Array:
        """Acceleration of that center of mass at a = 0 [m/s^2], shape (3,)."""
        return self.com_rows(root)[1]

    def com_rows(self, root: int = 1) -> tuple[Array, Array]:
        """`com_jacobian` and `com_bias` in one; made once for a state, and read-only."""
        generation, known = self._com_rows
        if generation != self.generation:
            known = {}
            self._com_rows = self.generation, known
        if root not in known:
            self.model.require_bodies(np.array([root]))
            jacobian, bias = np.empty((3, self.model.nv)), np.empty(3)
            loops.com_rows(self.pose, root, jacobian, bias)
            for array in (jacobian, bias):
                array.setflags(write=False)
            known[root] = jacobian, bias
        return known[root]

    def point_rows(self, points: Index, axes: Array) -> tuple[Array, Array]:
        """Rows axes · J (K m, nv) and axes · bias (K m,) of contact points (K,) along axes (K, m, 3)."""
        count = axes.shape[0] * axes.shape[1]
        self.model.require_points(points, "Rows of points")
        rows, bias = np.empty((count, self.model.nv)), np.empty(count)
        loops.point_rows(self.pose, points, axes, rows, bias)
        return rows, bias

    def body_jacobian(self, body: int | str, place: Array) -> Array:
        """Jacobian of the velocity of the material point of `body` at `place` (world, (3,)) [m], shape (3, nv)."""
        body = self.model.body(body)
        out = np.empty((3, self.model.nv))
        loops.point_jacobians(self.pose, np.array([body]), np.reshape(np.asarray(place, dtype=np.float64), (1, 3)), out)
        return out

    def body_accelerations(self, a: Array) -> Array:
        """Spatial acceleration (angular, linear) of each body where the joints accelerate by a (nv,), shape (B, 6).

        Without gravity; the linear part is that of the point of the body at the center of mass of its tree.
        """
        generation, known, out = self._accelerations
        key = a.tobytes()
        if generation != self.generation or known != key:
            out = np.empty((self.model.body_count, 6))
            loops.body_accelerations(self.pose, a, out)
            out.setflags(write=False)
            self._accelerations = self.generation, key, out
        return out

    def body_point_motion(self, body: int | str, place: Array, a: Array | None = None) -> tuple[Array, Array]:
        """Velocity and acceleration of the material point of `body` at `place`, where the joints accelerate by a
        (default: 0), shapes (3,).
        """
        body = self.model.body(body)
        velocity, acceleration = np.empty((1, 3)), np.empty((1, 3))
        place = np.reshape(np.asarray(place, dtype=np.float64), (1, 3))
        accelerations = self.body_biases if a is None else self.body_accelerations(a)
        loops.point_motion(self.pose, np.array([body]), place, accelerations, velocity, acceleration)
        return velocity[0], acceleration[0]

    def body_velocities(self, bodies: Index, places: Array) -> Array:
        """Velocities of the material points of bodies (K,) at places in the world (K, 3) [m], [m/s], shape (K, 3)."""
        self.model.require_bodies(bodies)
        velocities, biases = np.empty(places.shape), np.empty(places.shape)
        loops.point_motion(self.pose, bodies, places, self.body_biases, velocities, biases)
        return velocities

    def body_rows(self, body: int | str, places: Array) -> tuple[Array, Array]:
        """Jacobians (K, 3, nv) of the velocities of material points of `body` at places (K, 3) in the world [m], and
        their accelerations at a = 0, shape (K, 3).
        """
        body = self.model.body(body)
        bodies = np.full(len(places), body)
        out = np.empty((3 * len(places), self.model.nv))
        velocities, biases = np.empty(places.shape), np.empty(places.shape)
        loops.point_jacobians(self.pose, bodies, places, out)
        loops.point_motion(self.pose, bodies, places, self.body_biases, velocities, biases)
        return out.reshape(-1, 3, self.model.nv), biases

    def body_place(self, body: int | str, offset: Array | None = None) -> Array:
        """World position of a place given in a body's frame [m], shape (3,); of the body's joint by default."""
        body = self.model.body(body)
        if offset is None:
            return self.data.xpos[body].copy()
        return self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ offset

    def body_offset(self, body: int | str, place: Array) -> Array:
        """A place in the world as one in a body's frame [m], shape (3,): what `body_place` undoes."""
        body = self.model.body(body)
        return self.data.xmat[body].reshape(3, 3).T @ (place - self.data.xpos[body])

    def external_torque(self, body: int | str, place: Array, force: Array) -> Array:
        """Generalized force Jᵀ f of a force [N] on a body at a place in the world [m], shape (nv,)."""
        body = self.model.body(body)
        out = np.empty(self.model.nv)
        places, forces = (np.reshape(np.asarray(x, dtype=np.float64), (1, 3)) for x in (place, force))
        loops.point_torques(self.pose, np.array([body]), places, forces, out)
        return out

    def points_torque(self, points: Index, forces: Array) -> Array:
        """Generalized force Σ Jᵀ f of forces (K, 3) [N] on contact points (K,), shape (nv,)."""
        out = np.empty(self.model.nv)
        loops.point_torques(self.pose, self.point_body[points], self.points[points], forces, out)
        return out

    def angular_momentum_rows(self, root: int = 1) -> tuple[Array, Array]:
        """Rate of a free tree's angular momentum about its center of mass, as rows on the accelerations (3, nv) and its
        value at a = 0 [N m], shape (3,).

        It is the moment about the center of mass of all that acts on the tree, so it stands in the equations of motion
        of its root: with force F (world axes) and moment N (root's axes) there, dL/dt = R N + (x − c) × F; gravity acts
        at c.

        Raises:
            InvalidValue: if the tree hangs on the world by a joint.
        """
        m, d = self.model, self.data
        if m.dof_count[root] != 6:
            raise InvalidValue(
                f"{m.body_name(root)!r} is attached to the world; angular momentum is that of a free figure."
            )
        first, (x, y, z) = int(m.dof_first[root]), (d.xpos[root] - d.subtree_com[root]).tolist()
        across = np.empty((3, 6))
        across[:, :3], across[:, 3:] = ((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)), d.xmat[root].reshape(3, 3)
        return across @ self.M[first : first + 6], across @ self.bias[first : first + 6]


class Trajectory(NamedTuple):
    """A character's coordinates over equal steps, as integration would make them: v ← v + Δt a, q ← q ⊕ Δt v.

    Example:
        >>> from poise.physics import trajectory
        >>> clip = trajectory(motion, character, 1 / 60)
        >>> assert clip.q.shape == (len(clip.times), character.nq)

    Attributes:
        times: [s], shape (F,).
        q: Coordinates, shape (F, nq).
        v: Velocities, shape (F, nv).
        a: Accelerations, shape (F, nv); a[k] leads from frame k to k + 1, and the last is zero.
    """

    times: Array
    q: Array
    v: Array
    a: Array


def trajectory(motion: Motion, character: Character, dt: float) -> Trajectory:
    """What a clip asks for in each step of length dt, to be followed by servos.

    Frames come from splines through the clip's own. Frames with glitches (flips, pops, inserted rest poses) are left
    out first, so that the splines bridge them.

    Example:
        >>> from poise.physics import State, model_of, trajectory
        >>> clip = trajectory(motion, character, dt=1.0 / 120.0)
        >>> actor = State(model_of(character)).at(clip.q[0], clip.v[0])

    Args:
        motion: The clip.
        character: Whose coordinates.
        dt: Length of a step [s].

    Raises:
        InvalidValue: if dt is not positive, or the clip is shorter than two steps.
    """
    if not dt > 0.0:
        raise InvalidValue(f"A step lasts {dt} s; give a positive time.")
    times = dt * np.arange(int(np.floor(motion.duration / dt + 1e-6)) + 1, dtype=np.float64)
    if len(times) < 3:
        raise InvalidValue(f"The clip lasts {motion.duration:.3g} s, less than two steps of {dt:.3g} s.")
    good = ~glitch_frames(motion)
    if not good.all() and good.sum() >= 3:
        kept = {"translations": motion.translations[good], "rotations": motion.rotations[good]}
        motion = replace(motion, times=motion.times[good], source=None, **kept)
    q = motion_to_q(character, motion.resampled(times + motion.times[0]))
    v = velocities(model_of(character), q, dt)
    return Trajectory(times, q, v, np.diff(v, axis=0, append=v[-1:]) / dt)


def velocities(model: Model, q: Array, dt: float) -> Array:
    """v_k = (q_k ⊖ q_{k−1}) / dt on the rotation group, [Levine2012]_ eq. (4), shape (F, nv); v_0 = v_1, so a_0 = 0."""
    v = np.zeros((len(q), model.nv))
    for k in range(1, len(q)):
        v[k] = model.difference(q[k - 1], q[k], dt)
    if len(q) > 1:
        v[0] = v[1]
    return v
