"""Inverse dynamics: the contact forces that explain a motion best, the joint torques, and what is left at the root.

Contact forces act only where a point touches; which points do, frame by frame, is found here too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poise.analysis.momentum import BodyMotion, Momentum, cross
from poise.analysis.smoothing import derivatives
from poise.body.character import Character
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.goals.surroundings import Faces, Hold, Scene
from poise.phases.contacts import contact_flags, contact_limits
from poise.phases.points import pelvis, runs, velocities
from poise.phases.travel import in_place_velocity
from poise.terrain import Terrain

OFF_GROUND = 0.03
"""In flight every contact point is higher than this, for a leg of 0.82 m [m]."""
GRIP_SPEED = 1.0
"""A hand at a bar holds it up to this speed: it turns about the bar, and fingers of a capture are off by it [m/s]."""
LOST_HEIGHT = 3.0
"""Where nothing touches, a point lower than so many height limits may still carry [1]."""


@dataclass(frozen=True)
class Touching:
    """The P contact points of a character over F frames, of the motion as it stands (unfiltered).

    Attributes:
        names: Of the points.
        supports: Name of the limb each point belongs to ("left_leg"), or of its body where it belongs to none.
        is_foot: True for points of feet, shape (P,).
        points: World place [m], shape (F, P, 3).
        velocities: Against the ground [m/s], shape (F, P, 3).
        gaps: Distance to the ground along its normal [m], negative inside it, shape (F, P).
        normals: Of the ground there, shape (F, P, 3).
        flags: True while the point touches, shape (F, P): low and slow, as `phases.contact_flags` has it.
        grips: Points of hands that touch a bar or a hold of a scene, which they can pull, too, shape (F, P).
        carries: Points that may bear load, shape (F, P): those that touch and, where none does and the body is in no
            flight, those that come nearest to touching (a toe that rolls off, a sole on a floor the capture tilted).

    Example:
        >>> touch = poise.analyze(motion, character).touch
        >>> landings = [(point, first) for point, first, _ in touch.times(motion.times)]
    """

    names: tuple[str, ...]
    supports: tuple[str, ...]
    is_foot: Flags
    points: Array
    velocities: Array
    gaps: Array
    normals: Array
    flags: Flags
    grips: Flags
    carries: Flags

    def times(self, times: Array) -> tuple[tuple[str, float, float], ...]:
        """Every touch as (point, first, last time [s]), by point and time; `times` are those of the frames (F,)."""
        found: list[tuple[str, float, float]] = []
        for i, name in enumerate(self.names):
            found += [(name, float(times[a]), float(times[b])) for a, b in runs(self.flags[:, i])]
        return tuple(found)


def touching(
    motion: Motion,
    character: Character,
    *,
    terrain: Terrain,
    contacts: Flags | None = None,
    airborne: Flags | None = None,
    scene: Scene | None = None,
) -> Touching:
    """The contact points of a clip: where they are, how they move, when they touch (see `phases.contact_flags`).

    Example:
        >>> touch = poise.analysis.touching(motion, character, terrain=poise.Terrain.flat())

    Args:
        motion: F frames.
        character: P contact points.
        terrain: The ground as it lies (see `Terrain.placed`).
        contacts: Flags (F, P) to take instead of finding them.
        airborne: Frames in which no joint is near the ground, shape (F,); in those of them in which no contact point
            is below OFF_GROUND, none carries. Without them the points alone decide.
        scene: What stands around, besides the ground (see `gaps_to`).

    Raises:
        InvalidValue: if `contacts` has another shape.
    """
    positions, orientations = motion.world
    count, frames = len(character.contact_points), motion.frame_count
    centers = np.zeros((frames, count, 3))
    for i, p in enumerate(character.contact_points):
        joint = character.bodies[p.body].joint
        centers[:, i] = positions[:, joint] + rotations.rotate(orientations[:, joint], p.offset)
    radii = np.array([p.radius for p in character.contact_points])
    gaps, normals, ground, is_hold = gaps_to(terrain, centers, radii, motion.times, scene)
    is_grip = is_hold & np.array([p.part == "hand" for p in character.contact_points], dtype=np.bool_)
    points = centers - radii[:, None] * normals
    drift = in_place_velocity(motion) if scene is None else np.zeros(3)  # what has a place in a room walks on no belt
    # beside a bar or an edge the touching place jumps about a sphere that hardly moves
    moving = derivatives(points if scene is None else centers, motion.times)[0] - ground - drift
    if contacts is not None or not count:
        flags = np.zeros((frames, 0), dtype=np.bool_) if contacts is None else np.asarray(contacts, dtype=np.bool_)
        carries = flags
        if flags.shape != (frames, count):
            raise InvalidValue(f"contacts has shape {flags.shape}; give a flag per frame and point, {(frames, count)}.")
    else:
        root = velocities(positions[:, pelvis(motion.skeleton)], motion.times) - drift
        height_limit, speed_limit = contact_limits(root, character.leg_length)
        limits = np.where(is_grip, np.maximum(speed_limit, GRIP_SPEED), speed_limit)
        flags = contact_flags(points, moving, gaps, height_limit=height_limit, speed_limit=limits)
        off = gaps.min(axis=1) > OFF_GROUND * character.leg_scale
        lost = ~flags.any(axis=1) & ~(off if airborne is None else off & airborne)
        carries = flags.copy()
        carries[lost] = _nearest_to_touching(gaps[lost], moving[lost], height_limit, speed_limit[lost])
    return Touching(
        tuple(p.name for p in character.contact_points),
        support_names(character),
        np.array([p.part == "foot" for p in character.contact_points], dtype=np.bool_),
        points,
        moving,
        gaps,
        normals,
        flags,
        flags & is_grip,
        carries,
    )


def _nearest_to_touching(gaps: Array, moving: Array, height_limit: float, speed_limit: Array) -> Flags:
    """Points that come nearest to the limits of a touch, shape (F, P).

    Nearness is height over its limit plus speed over its limit. Taken are the best point of a frame, if it is lower
    than LOST_HEIGHT limits, and those of its height (to a third of the limit) that are nearly as good.
    """
    height = np.maximum(gaps, 0.0) / height_limit
    score = height + np.linalg.norm(moving, axis=-1) / speed_limit
    score = np.where(height < LOST_HEIGHT, score, np.inf)
    best = np.argmin(score, axis=1)
    rows = np.arange(len(best))
    low = height[rows, best]
    alike = (score <= 1.5 * score[rows, best][:, None]) & (height <= low[:, None] + 1.0 / 3.0)
    return alike & np.isfinite(score)


def support_names(character: Character) -> tuple[str, ...]:
    """What each contact point belongs to: its leg or arm, else its body."""
    owner = {b: limb.name for limb in character.limbs if limb.kind in ("leg", "arm") for b in limb.bodies}
    return tuple(owner.get(p.body, character.bodies[p.body].name) for p in character.contact_points)


def gaps_to(
    terrain: Terrain, centers: Array, radii: Array, times: Array, scene: Scene | None = None
) -> tuple[Array, Array, Array, Flags]:
    """What each sphere is nearest to: the ground, or a thing of a scene.

    Args:
        terrain: The ground as it lies.
        centers: Of the spheres [m], shape (F, P, 3).
        radii: [m], shape (P,).
        times: Of the frames [s], shape (F,).
        scene: What stands around and never moves; its own floors without end do not count.

    Returns:
        Distance [m], negative inside, (F, P); normal and velocity there, (F, P, 3); True at bars and holds, (F, P).

    Raises:
        InvalidValue: if a thing of the scene moves.
    """
    height, normals, velocity = _ground_under(terrain, centers, times)
    gaps = (centers[:, :, 2] - height) * normals[:, :, 2] - radii
    is_hold = np.zeros(gaps.shape, dtype=np.bool_)
    if scene is None:
        return gaps, normals, velocity, is_hold
    moving = {s.solid or s.name for s in scene.surfaces if s.movement} | {h.name for h in scene.holds if h.movement}
    if moving:
        raise InvalidValue(
            f"The scene moves {', '.join(sorted(moving))}; contacts are found only on what stands still. Leave the "
            "events out that move it."
        )
    normals, velocity, flat = normals.copy(), velocity.copy(), centers.reshape(-1, 3)
    for thing in (*scene.surfaces, *scene.holds):
        if isinstance(thing, Hold):
            away = flat - np.array(thing.middle(0.0))
            along = np.array(thing.axis or (0.0, 0.0, 0.0))
            away -= np.clip(away @ along, -thing.half_length, thing.half_length)[:, None] * along
            far = np.linalg.norm(away, axis=1)
            own, normal = far - thing.radius, away / np.maximum(far, 1e-9)[:, None]
        elif np.isfinite(thing.size).any():
            own, normal = Faces.at([thing], 0.0).heights(flat)[0], np.broadcast_to(thing.normal, flat.shape)
        else:
            continue
        own = own.reshape(gaps.shape) - radii
        nearer = (np.abs(own) < np.abs(gaps)) & (times < thing.until)[:, None]
        gaps[nearer], normals[nearer] = own[nearer], normal.reshape(centers.shape)[nearer]
        velocity[nearer], is_hold[nearer] = 0.0, isinstance(thing, Hold)
    return gaps, normals, velocity, is_hold


def _ground_under(terrain: Terrain, centers: Array, times: Array) -> tuple[Array, Array, Array]:
    """Height (F, P), normal and velocity (F, P, 3) of the ground under points (F, P, 3)."""
    frames, count = centers.shape[:2]
    if terrain.is_static:
        surface = terrain.sample(centers.reshape(-1, 3)[:, :2])
        shape = (frames, count)
        return surface.height.reshape(shape), surface.normal.reshape(*shape, 3), surface.velocity.reshape(*shape, 3)
    each = [terrain.sample(centers[k, :, :2], float(times[k])) for k in range(frames)]
    return np.stack([s.height for s in each]), np.stack([s.normal for s in each]), np.stack([s.velocity for s in each])


REGULARIZATION = 1e-5
"""Weight of ‖λ‖² against the mean square of a column's wrench: spreads the load where points leave it open [1]."""
MOST_ITERATIONS = 60
"""Newton steps for the contact forces of a frame, at most."""
SHORTEST_STEP = 1e-9
"""Part of a Newton step below which nothing is gained any more [1]."""
CHUNK = 512
"""Frames whose contact forces are solved at once."""


@dataclass(frozen=True)
class Forces:
    """What acts on and inside a character over F frames, world axes.

    Attributes:
        demanded: Force that the motion asks of the world, m (c̈ − g) [N], shape (F, 3).
        demanded_moment: Moment it asks about the center of mass, Ḣ [N m], shape (F, 3).
        contact: Force on each contact point [N], shape (F, P, 3); zero where it does not touch.
        residual_force: What the contacts cannot give [N], shape (F, 3).
        residual_moment: The same about the root body's joint [N m], shape (F, 3).
        joint_torques: Moment that the parent exerts on each body about its joint [N m], shape (F, B, 3); that of the
            root body is `residual_moment`.
        joint_forces: Force that the parent exerts on each body [N], shape (F, B, 3).

    Example:
        >>> forces = poise.analyze(motion, character).forces
        >>> pressed = forces.contact.sum(axis=1)[:, 2]
    """

    demanded: Array
    demanded_moment: Array
    contact: Array
    residual_force: Array
    residual_moment: Array
    joint_torques: Array
    joint_forces: Array


def inverse_dynamics(
    bodies: BodyMotion,
    whole: Momentum,
    touch: Touching,
    character: Character,
    *,
    friction: float = 0.8,
    gravity: float = GRAVITY,
) -> Forces:
    """Best contact forces and the joint torques that go with them.

    Contact forces are V λ, λ ≥ 0, with the friction pyramids of `step.contacts.Contacts`, and minimize
    ‖force residual‖² + ‖moment residual about the center of mass / leg length‖² + a small weight on ‖λ‖²
    ([Levine2012]_ 2.3 takes them the same way, about the root and for a leg of 1 m). Torques follow by Newton and
    Euler from the tips to the root.

    Args:
        bodies: How the bodies move.
        whole: Their momentum.
        touch: Which points touch.
        character: Masses and inertias.
        friction: Coulomb coefficient.
        gravity: Downward [m/s^2].

    Example:
        >>> clip = poise.analyze(motion, character)
        >>> forces = poise.analysis.inverse_dynamics(clip.bodies, clip.momentum, clip.touch, character)
    """
    lift = np.array([0.0, 0.0, gravity])
    demanded = whole.linear_rate + character.mass * lift
    contact = contact_forces(
        touch.points,
        touch.normals,
        touch.carries,
        whole.com,
        demanded,
        whole.angular_rate,
        friction=friction,
        length=character.leg_length,
    )
    masses = np.array([b.mass for b in character.bodies])
    force = masses[:, None] * (bodies.accelerations + lift)
    moment = whole.body_angular_rate + cross(bodies.com - bodies.joints, force)
    for i, p in enumerate(character.contact_points):
        at = np.flatnonzero(touch.carries[:, i])
        if len(at):
            push = contact[at, i]
            force[at, p.body] -= push
            moment[at, p.body] -= cross(touch.points[at, i] - bodies.joints[at, p.body], push)
    for b in range(len(character.bodies) - 1, 0, -1):
        parent = character.bodies[b].parent
        force[:, parent] += force[:, b]
        moment[:, parent] += moment[:, b] + cross(bodies.joints[:, b] - bodies.joints[:, parent], force[:, b])
    return Forces(demanded, whole.angular_rate, contact, force[:, 0].copy(), moment[:, 0].copy(), moment, force)


def contact_forces(
    points: Array,
    normals: Array,
    flags: Flags,
    com: Array,
    force: Array,
    moment: Array,
    *,
    friction: float,
    length: float,
    regularization: float = REGULARIZATION,
) -> Array:
    """Forces in the friction pyramids of touching points that come nearest to a wanted force and moment.

    min over x ≥ 0 of ½‖b − Wᵀx‖² + ½ε‖x‖², with b = (force, moment / length) and a row of W for each edge of a pyramid,
    has many unknowns and only six rows. It is solved in its dual, the residual r of six numbers:
    min ½‖r‖² − bᵀr + ‖max(0, W r)‖² / 2ε, convex and piecewise quadratic; then x = max(0, W r) / ε.

    Args:
        points, normals: Of the ground under the points, shape (F, P, 3).
        flags: Which points touch, shape (F, P).
        com: Where the moment is taken about [m], shape (F, 3).
        force, moment: Wanted [N], [N m], shape (F, 3).
        friction: Coulomb coefficient.
        length: What moments are divided by [m].
        regularization: ε against the mean square of the rows of W [1].

    Returns:
        Forces [N], shape (F, P, 3), zero where a point does not touch.
    """
    out = np.zeros(points.shape)
    touched = np.flatnonzero(flags.any(axis=1))
    most = int(flags.sum(axis=1).max(initial=0))
    b = np.concatenate([force, moment / length], axis=1)
    for start in range(0, len(touched), CHUNK):  # so many frames at once as stay in the processor's caches
        at = touched[start : start + CHUNK]
        # the touching points of each frame first, as many columns as the busiest frame needs
        which = np.argsort(~flags[at], axis=1, kind="stable")[:, :most]
        used = np.take_along_axis(flags[at], which, axis=1)
        edges = pyramid_edges(normals[at[:, None], which], friction) * used[..., None, None]
        arms = (points[at[:, None], which] - com[at, None])[:, :, None]
        W = np.concatenate([edges, cross(arms, edges) / length], axis=3).reshape(len(at), 4 * most, 6)
        weight = 4.0 * used.sum(axis=1) / (regularization * (W**2).sum(axis=(1, 2)))
        r = _least_residual(W, b[at], weight)
        x = weight[:, None] * np.maximum(np.matmul(W, r[..., None])[..., 0], 0.0)
        out[at[:, None], which] = (x.reshape(len(at), most, 4)[..., None] * edges).sum(axis=2)
    return out


def pyramid_edges(normals: Array, friction: float) -> Array:
    """Edges n ± μ t₁, n ± μ t₂ of the friction pyramids about normals (..., 3), shape (..., 4, 3).

    The tangents are those of `step.cones`: the part of x orthogonal to the normal, of y where it is close to x.
    """
    near_x = np.abs(normals[..., :1]) > 0.9
    axis = np.where(near_x, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    first = axis - (axis * normals).sum(axis=-1, keepdims=True) * normals
    first /= np.linalg.norm(first, axis=-1, keepdims=True)
    second = cross(normals, first)
    return normals[..., None, :] + friction * np.stack([first, -first, second, -second], axis=-2)


def _least_residual(W: Array, b: Array, weight: Array) -> Array:
    """Minimize ½‖r‖² − bᵀr + weight/2 ‖max(0, W r)‖² by Newton with halved steps, shape (F, 6); W (F, n, 6), b (F, 6).

    Frames that are done drop out of the work.
    """
    left = np.arange(len(b))
    square = (b**2).sum(axis=1)
    # begin where b, shortened, is best
    along = weight * (np.maximum(np.matmul(W, b[..., None])[..., 0], 0.0) ** 2).sum(axis=1)
    r = b * (square / np.where(square > 0.0, square + along, 1.0))[:, None]

    def value_at(r: Array, at: Index) -> Array:
        pushed = np.maximum(np.matmul(W[at], r[..., None])[..., 0], 0.0)
        return ((0.5 * r - b[at]) * r).sum(axis=1) + 0.5 * weight[at] * (pushed**2).sum(axis=1)

    value = value_at(r, left)
    for _ in range(MOST_ITERATIONS):
        # gradient r − b + weight Wₐᵀ Wₐ r, and Hessian 1 + weight Wₐᵀ Wₐ with the rows that push
        rows = W[left]
        pushed = np.matmul(rows, r[left, :, None])[..., 0]
        rows = np.where((pushed > 0.0)[..., None], rows, 0.0)
        scaled = weight[left, None, None] * np.swapaxes(rows, 1, 2)
        gradient = r[left] - b[left] + np.matmul(scaled, pushed[..., None])[..., 0]
        going = (gradient**2).sum(axis=1) > 1e-20 * square[left]
        left, gradient, rows, scaled = left[going], gradient[going], rows[going], scaled[going]
        if not len(left):
            break
        step = -np.linalg.solve(np.eye(6) + np.matmul(scaled, rows), gradient[..., None])[..., 0]
        descent = (gradient * step).sum(axis=1)
        part, better = np.ones(len(left)), np.full(len(left), np.inf)
        trying = np.arange(len(left))
        while len(trying):
            at = left[trying]
            better[trying] = value_at(r[at] + part[trying, None] * step[trying], at)
            too_far = better[trying] > value[at] + 1e-4 * part[trying] * descent[trying]
            trying = trying[too_far & (part[trying] >= SHORTEST_STEP)]
            part[trying] *= 0.5
        improved = better < value[left]  # else only rounding is left
        left = left[improved]
        r[left] += part[improved, None] * step[improved]
        value[left] = better[improved]
    return r
