"""What the filter knows of the undisturbed motion at one instant.

One rule makes an undisturbed run exact: every reference quantity comes from the same linear formulas as the simulated
one. With J*, J̇*v* taken at (q*, v*), the reference velocity of a point is J*v* and its acceleration J*a* + J̇*v*, not
differences of positions. Then a = a*, λ = λ* makes every residual zero.

When points touch is known for a clip and estimated for a stream.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.core.typing import Array, Flags
from poise.filter.plan import Track
from poise.native import Block, compiled
from poise.native.fields import BLOCKS
from poise.phases.contacts import (
    TRAVEL_SHARE,
    contact_flags,
    contact_limits,
    time_to_contact_estimate,
    times_to_contact,
)
from poise.physics import Model, State, bodies
from poise.step.contacts import Contacts
from poise.step.system import nonnegative


class Touch(NamedTuple):
    """What is known of the contacts at one instant, shapes as in `ReferenceFrame`."""

    flags: Flags
    times_to_contact: Array
    landings: Array
    progress: Array
    times_to_lift: Array


class ReferenceFrame(NamedTuple):
    """The undisturbed character at one step; clip and stream both yield it, and methods see nothing else.

    Attributes:
        q, v, a: Coordinates (nq,), velocities and accelerations (nv,): [Levine2012]_ eqs. (4), (5) on the rotation
            group.
        orientations: Body orientations in the world, shape (B, 4); body 0 is the world.
        angular_velocities, angular_accelerations: Of the bodies, in the world [rad/s], [rad/s^2], shape (B, 3).
        points, point_velocities, point_accelerations: Of the contact points, [m] …, shape (P, 3).
        com, com_acceleration: Of the center of mass that the goal guides, shape (3,).
        subtree_coms: Centers of mass of each body with all that hangs on it [m], shape (B, 3).
        flags: Which points touch in the reference, shape (P,).
        times_to_contact: Time until each point touches [s]; 0 while it does, inf if never, shape (P,).
        landings: Where each point will touch next in the reference [m], shape (P, 3); nan where unknown.
        progress: Part of each point's swing that is over, 0 … 1, shape (P,); 1 while it touches.
        times_to_lift: Time until each point no longer touches [s]; 0 while it does not, inf if ever after, shape (P,).
        torque: τ*, the torque left when the touching points carry what they can, shape (nv,).
        coefficients: λ* of every point, zero where it does not touch, shape (P, 4).
        address: Where the block "Reference" of all these lies, for the compiled core.
    """

    q: Array
    v: Array
    a: Array
    orientations: Array
    angular_velocities: Array
    angular_accelerations: Array
    points: Array
    point_velocities: Array
    point_accelerations: Array
    com: Array
    com_acceleration: Array
    subtree_coms: Array
    flags: Flags
    times_to_contact: Array
    landings: Array
    progress: Array
    times_to_lift: Array
    torque: Array
    coefficients: Array
    address: int

    @property
    def kind(self) -> str:
        """The block it is."""
        return "Reference"


_TOGETHER = 64
"""So many frames share their storage: rows of the same arrays, which are never written to twice."""


class ReferenceBuilder:
    """Makes reference frames; keeps storage and the last active set, nothing else.

    `frame` is `write`, then `finish`; between the two the core may fill frames of many figures.

    Args:
        model: The character's model.
        dt: Step length [s].
        friction: Coulomb coefficient; the same as the simulation's, else the undisturbed run is not exact.
        without: Bodies left out of the goal's center of mass.
        regularization: Weight of ‖λ*‖² relative to the mean diagonal of the small problem.
        scale: Leg length / 0.82 m; moments count over so many meters against forces.

    Attributes:
        actor: The block "Actor" of `native.fields`.
    """

    def __init__(
        self,
        model: Model,
        *,
        dt: float,
        friction: float,
        without: tuple[int, ...] = (),
        regularization: float = 1e-6,
        scale: float = 1.0,
    ) -> None:
        self.model, self.dt, self.friction, self.regularization = model, dt, friction, regularization
        self.without = without
        self._state = State(model)
        up = np.zeros((model.point_count, 3))
        up[:, 2] = 1.0
        cone = Contacts(np.arange(model.point_count), up, friction).directions()[0]
        most = 4 * model.point_count
        sizes = {"nv": model.nv, "bodies": model.body_count, "points": model.point_count, "most": most}
        sizes["most_room"] = most * (most + 10) + 64
        given = {"pose": self._state.pose, "directions": np.ascontiguousarray(cone.reshape(-1, 4, 3))}
        self.actor = Block("Actor", sizes, given)
        self.actor.root, self.actor.regularization, self.actor.length = model.roots[0], regularization, scale
        self._frames: Iterator[tuple[Any, ...]] = iter(())

    def reset(self) -> None:
        """Forget which coefficients acted last."""
        self.actor.warm[:] = False

    def estimate(self, floor: float, leg_length: float, contact_time: float) -> None:
        """From now on contacts are estimated, as a stream needs it.

        Args:
            floor: Height of the reference's own floor [m].
            leg_length: Limits of height and speed scale with it [m].
            contact_time: A landing is known so long before [s].
        """
        s, (height, speed) = self.actor, contact_limits(np.zeros((1, 3)), leg_length)
        s.estimates, s.floor, s.contact_time, s.travel_share = True, floor, contact_time, TRAVEL_SHARE
        s.height_limit, s.least_speed = height, float(speed[0, 0])

    def kinematics(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Positions [m] and velocities [m/s] of the contact points at (q, v), shapes (P, 3)."""
        self._state.move_to(q, v)
        self._state.touch()
        return self._state.points.copy(), self._state.point_velocities.copy()

    def body_places(self) -> Array:
        """Places of the bodies' joints [m] in the pose last given to `kinematics`, shape (B − 1, 3)."""
        return self._state.data.xpos[1:].copy()

    def com(self) -> Array:
        """Center of mass [m] in the pose last given to `kinematics`, shape (3,)."""
        return self._state.com(self.model.roots[0]).copy()

    def frame(
        self, q: Array, v: Array, a: Array, touch: Touch | None = None, *, touching: tuple[Flags, Array] | None = None
    ) -> ReferenceFrame:
        """The reference at (q, v, a).

        Args:
            q, v, a: Coordinates and their rates.
            touch: Contacts; estimated where none are given.
            touching: Which points touch and when others will [s], shapes (P,), where that is known and the rest is not.
        """
        return self.finish(self.write(q, v, a, touch, touching=touching))

    def write(
        self, q: Array, v: Array, a: Array, touch: Touch | None = None, *, touching: tuple[Flags, Array] | None = None
    ) -> ReferenceFrame:
        """A frame that holds what `frame` is given, and nothing else yet."""
        values = next(self._frames, None)
        if values is None:
            self._frames = _storage(self.model)
            values = next(self._frames)
        frame = ReferenceFrame._make(values)
        frame.q[:], frame.v[:], frame.a[:] = q, v, a
        if touch is not None:
            for name, given in zip(Touch._fields, touch, strict=True):
                getattr(frame, name)[:] = given
        elif touching is not None:
            frame.flags[:], frame.times_to_contact[:] = touching
        self.actor.values.knows_touch = touching is not None
        return frame

    def finish(self, frame: ReferenceFrame) -> ReferenceFrame:
        """Fill in the rest of a frame that was written."""
        m, s = self.model, self._state
        if not reference_frame(self.actor, frame):
            s.move_to(frame.q, frame.v)  # says which joint
        if not self.without:
            return frame
        root, com_acceleration = m.roots[0], frame.com_acceleration
        frame.com[:] = s.com_without(root, self.without)
        total = s.mass(root)
        com_acceleration *= total
        for body in self.without:
            share = float(m.body_masses[body])
            com_acceleration -= share * self._place_acceleration(body)
            total -= share
        com_acceleration /= total
        return frame

    def _place_acceleration(self, body: int) -> Array:
        """Acceleration of a body's center of mass in the frame being made [m/s^2]."""
        velocity, acceleration, s = np.empty((1, 3)), np.empty((1, 3)), self._state
        place = s.data.xipos[body : body + 1]
        bodies.point_motion(s.pose, np.array([body]), place, self.actor.cacc, velocity, acceleration)
        return acceleration[0]


@compiled("Actor *s, Reference *r", returns="word")
def reference_frame(s, r):
    """Fill a frame, from orientations on, at its (q, v, a); 0 where they are not finite.

    τ* and λ*: the touching points take as much of the root wrench as their cones allow, [Levine2012]_ 2.3. Deviates: λ*
    is regularized, since four and more points a foot leave it undetermined; moments count over a `length` [m].
    """
    p = s.pose
    if not (np.isfinite(r.q).all() and np.isfinite(r.v).all()):
        return 0
    p.q[:], p.v[:] = r.q, r.v
    bodies.place.twin(p)
    bodies.inverse_dynamics.twin(p, r.a, s.needed)
    bodies.body_accelerations.twin(p, r.a, s.cacc)
    r.orientations[:], r.angular_velocities[:], r.angular_accelerations[:] = p.xquat, p.cvel[:, :3], s.cacc[:, :3]
    r.points[:] = p.centers - p.point_radii[:, None] * np.array([0.0, 0.0, 1.0])
    bodies.point_motion.twin(p, p.point_body, r.points, s.cacc, r.point_velocities, r.point_accelerations)
    r.subtree_coms[:] = p.subtree_com
    r.com[:], r.com_acceleration[:] = p.subtree_com[s.root], bodies.com_acceleration(p, s.root, s.cacc)
    if s.estimates:
        _estimate_touch(s, r)
    # force in world axes, moment about the root in its axes
    touching, scale = np.flatnonzero(r.flags), np.array([1.0, 1.0, 1.0, *[1.0 / s.length] * 3])
    forces = s.directions[touching]
    moments = np.cross((r.points[touching] - p.xpos[s.root])[:, None], forces) @ p.xmat[s.root].reshape(3, 3)
    wrenches = np.concatenate([forces, moments], axis=2).reshape(-1, 6) * scale
    H = wrenches @ wrenches.T
    H += s.regularization * np.trace(H) / max(len(H), 1) * np.eye(len(H))
    x, warm = np.empty(len(H)), s.warm.reshape(-1, 4)
    # any λ* keeps the run exact: τ* takes what is left
    if nonnegative.twin(H, -wrenches @ (s.needed[:6] * scale), warm[touching].ravel(), x, None) < 0:
        x[:] = 0.0
    r.coefficients[:] = 0.0
    r.coefficients[touching] = x.reshape(-1, 4)
    warm[:] = r.coefficients > 0.0
    bodies.point_torques.twin(
        p, p.point_body, r.points, np.einsum("pc,pce->pe", r.coefficients, s.directions), r.torque
    )
    r.torque[:] = s.needed - r.torque
    return 1


def _estimate_touch(s: Block, r: ReferenceFrame) -> None:
    """Contacts of a streamed frame: low and slow points touch, others will after height over downward speed. A landing
    is known only when it is near. Nobody knows when a streamed foot lifts; while the root rests it is not soon.
    """
    v, heights, speed = r.point_velocities, r.points[:, 2] - s.floor, math.hypot(*r.v[:2])
    slow = max(s.least_speed, s.travel_share * speed)
    touches = (heights < s.height_limit) & (np.linalg.norm(v, axis=1) < slow)
    times = np.where(v[:, 2] < 0.0, time_to_contact_estimate(heights, v[:, 2], 10.0 * s.contact_time), np.inf)
    times[touches] = 0.0
    near = times < s.contact_time
    if not s.knows_touch:
        r.flags[:], r.times_to_contact[:] = touches, times
    r.landings[:] = np.where(near[:, None], r.points + np.where(near, times, 0.0)[:, None] * v, np.nan)
    r.progress[:] = np.where(touches, 1.0, np.where(near, 1.0 - times / s.contact_time, 0.0))
    r.times_to_lift[:] = np.where(touches & (speed < 0.5 * slow), np.inf, 0.0)


def _storage(m: Model) -> Iterator[tuple[Any, ...]]:
    """Values for the next frames, in the order of `ReferenceFrame`."""
    extents = {"nq": m.nq, "nv": m.nv, "bodies": m.body_count, "points": m.point_count}
    arrays = []
    for field in BLOCKS["Reference"]:
        shape = [int(extent) if extent.isdigit() else extents[extent] for extent in field.shape.split(", ")]
        arrays.append(np.empty((_TOGETHER, *shape), dtype=np.bool_ if field.kind == "flag" else np.float64))
    steps = np.array([array.strides[0] for array in arrays])
    at = np.arange(_TOGETHER)[:, None] * steps + np.array([array.ctypes.data for array in arrays])
    addresses = (at.ctypes.data + at.strides[0] * np.arange(_TOGETHER)).tolist()
    # a frame keeps its own row of `at` alive
    return zip(*arrays, (_Address(address, at) for address in addresses), strict=True)


class _Address(int):
    """An address, and what lies there."""

    kept: npt.NDArray[np.int64]

    def __new__(cls, value: int, kept: npt.NDArray[np.int64]) -> _Address:
        made = super().__new__(cls, value)
        made.kept = kept
        return made


class ClipSchedule:
    """Contacts of a whole clip, found from the motion of its points.

    Attributes:
        flags: Touching in the reference, shape (F, P).
        track: What a plan over the ground must know.
    """

    def __init__(
        self, builder: ReferenceBuilder, q: Array, v: Array, *, dt: float, floor: float, leg_length: float
    ) -> None:
        frames, count = len(q), builder.model.point_count
        points, velocities = np.zeros((frames, count, 3)), np.zeros((frames, count, 3))
        bodies, com = np.zeros((frames, builder.model.body_count - 1, 3)), np.zeros((frames, 3))
        for k in range(frames):
            points[k], velocities[k] = builder.kinematics(q[k], v[k])
            bodies[k], com[k] = builder.body_places(), builder.com()
        heights = points[:, :, 2] - floor
        height_limit, speed_limit = contact_limits(v[:, :3], leg_length)
        flags = contact_flags(points, velocities, heights, height_limit=height_limit, speed_limit=speed_limit)
        # what may push in the simulation is what is nearer than the same height: the reference must not reach further
        self.flags: Flags = flags & (heights < height_limit)
        self.track = Track(points, self.flags, bodies, com, floor, dt)
        self._find_swings()

    def _find_swings(self) -> None:
        track = self.track
        times = track.dt * np.arange(len(track.points), dtype=np.float64)
        self._times, self._lifts = times_to_contact(self.flags, times), times_to_contact(~self.flags, times)
        self._landings, self._progress = _swings(self.flags, track.points)

    def let_go(self, flags: Flags) -> None:
        """Take over the contacts of a plan, which lets feet go early, shape (F, P)."""
        if not np.array_equal(flags, self.flags):
            self.flags, self.track = flags, replace(self.track, flags=flags)
            self._find_swings()

    def touch(self, k: int) -> Touch:
        """Contacts of frame k."""
        return Touch(self.flags[k], self._times[k], self._landings[k], self._progress[k], self._lifts[k])


def _swings(flags: Flags, points: Array) -> tuple[Array, Array]:
    """Landing place of each swing and the part of it that is over, shapes (F, P, 3) and (F, P)."""
    frames, count = flags.shape
    landings = np.full((frames, count, 3), np.nan)
    progress = np.ones((frames, count))
    index = np.arange(frames)
    for i in range(count):
        touching = flags[:, i]
        following = np.minimum.accumulate(np.where(touching, index, frames)[::-1])[::-1]
        before = np.maximum.accumulate(np.where(touching, index, -1))
        known = ~touching & (following < frames)
        landings[known, i] = points[following[known], i]
        landings[touching, i] = points[touching, i]
        start = np.maximum(before, 0)
        span = np.maximum(following - start, 1)
        progress[known, i] = ((index - start) / span)[known]
    return landings, progress
