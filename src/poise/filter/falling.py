"""Targets of a figure that has lost its balance: what bears it lets it down (`bracing`), then muscles let go.

Nobody holds the root any more. Knees and hips are asked to bend, ever less as the figure comes down; so is the neck in
a fall backward. Then hips and knees go limp under what they bear, and limbs in the air sink by their own weight, slowed
down by tissue, until they lie; arms let the trunk down the last bit. After a second limp joints settle where they are.
What touches the ground is asked to stay where it is, as far as friction can.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poise.body.character import V_SIZES, Character
from poise.body.posing import body_poses
from poise.core import rotations
from poise.core.typing import Array, Flags
from poise.core.units import GRAVITY
from poise.physics import Model, State
from poise.step import Step, StepResult

TENSE = 8.0
"""Frequency of the pose servo of a figure that has just lost its balance; one that lies has none [1/s]."""
BRAKE = 8.0
"""How fast joints slow down by themselves [1/s]."""
TONE = 0.2
"""Factor on the weight of the pose while the figure falls."""
SLACK, BRISK = 0.01, 2.0
"""Part of it that is left of a joint that lies still, and speed of a joint that has all of it [rad/s]."""
FASTEST_SINKING = 60.0
"""A light limb sinks no faster than so [rad/s²]."""
BENT = {"knee": 0.9, "hip": 0.35, "hip backward": 0.9}
"""How far knees and hips bend in a fall [rad]."""
TUCKED = 0.7
"""How far the neck bends forward in a fall backward, chin to the chest, so that the head lands later [rad]."""
STOP = 0.05
"""What touches the ground is asked to stop within so long [s]."""
HELD, LETTING = {"neck": 0.6, "arm": 0.3}, 0.4
"""Neck and arms of a figure that has come down are held by this part of its muscles, and let go in so long [s]."""
LIMP_JOINTS, BEARING_JOINTS = ("hip", "knee"), ("shoulder", "elbow")
"""Joints that go limp as a figure comes down, and joints that yield near the ground: roles, of both sides."""
PIVOT = 0.5
"""A point that is nearer to a joint than this part of the way to the center of mass of what hangs there bears nothing
of it [1]."""
ALOFT = 0.01
"""What hangs on a joint sinks by its whole weight only so high above the ground [m], for a leg of 0.82 m."""
LIMP, TISSUE, QUICK = 0.02, 6.0, 1.0
"""Weight of a limp joint's torque against the pose of a falling figure [1]; rate at which tissue slows it down [1/s],
twice as much at this speed [rad/s]."""
HASTY = 4.0
"""A limp joint as fast as this is slowed down by all of its muscles [rad/s]."""
NEAR = 0.36, 0.2
"""Elbows and shoulders that bear something begin to yield with the chest so high above the ground, and yield wholly
with it so high [m], for a leg of 0.82 m: a forearm above a trunk that lies."""
TIRING = 0.5
"""These heights grow at this speed once a figure that props itself up has come down: its arms tire [m/s]."""
LOWERED, LOADED = 0.8, 5.0
"""They yield the less the faster the chest moves, up to this speed [m/s], and are slowed down more by this factor [1]:
a trunk that drops throws the legs up."""
LYING, CALMING = 1.0, 0.5
"""After so long on the ground limp joints stiffen; this takes so long [s]."""
SETTLING = 0.3
"""So long after it has come down, joints that are not limp begin to follow more firmly what they are asked [s]."""
LEAVING = 0.1
"""A point that rises faster than this from the ground is not pushed by it [m/s]."""
ON_GROUND = 0.5
"""A falling figure's point touches the ground when it is lower than this part of the preset's contact height."""
SLIDING = 0.3
"""Friction only slows down a point that slides faster than this [m/s]."""
SLOWED = 0.5
"""Part of their speed that joints lose in a step at most, for energy that no force gave."""
SLOW = 0.05
"""A figure whose center of mass moves slower than this [m/s] while it lies has come to rest."""


class Fall(NamedTuple):
    """A fall that has begun.

    Attributes:
        q: The pose that the joints go to while it comes down, shape (nq,).
        way: Horizontal way of the fall, a unit vector, shape (2,).
        since: How long ago [s].
        rested: How long it has lain still [s].
        high: How high it still is; see `highness`.
        low: How long it has been down [s].
        back: How far it falls backward, 0 … 1.
    """

    q: Array
    way: Array
    since: float = 0.0
    rested: float = 0.0
    high: float = 1.0
    low: float = 0.0
    back: float = 0.0


def highness(height: float, standing: float) -> float:
    """1 for a figure with its center of mass as high as it stands, 0 for one that lies.

    Args:
        height, standing: Of the center of mass above the ground, now and when it stood [m].
    """
    return min(max((height / max(standing, 1e-9) - 0.3) / 0.5, 0.0), 1.0)


def held_longer(character: Character, model: Model) -> Array:
    """Part of the muscles that still act on every dof just after the figure came down, shape (nv,).

    Zero except for neck and arms, so that the head does not drop.
    """
    held = np.zeros(model.body_count)
    for limb in character.limbs:
        held[[b + 1 for b in limb.bodies]] = HELD.get(limb.kind, 0.0)
    return held[model.dof_body]


def tension(fall: Fall, held: Array) -> Array:
    """How far muscles still act on every dof, 0 … 1, shape (nv,): see `highness` and `held_longer`."""
    return np.maximum(fall.high, held * max(0.0, 1.0 - fall.low / LETTING))


def calmness(fall: Fall) -> float:
    """How far a figure that lies has settled: 0 until `LYING` after it came down, 1 from `CALMING` later."""
    return min(max((fall.low - LYING) / CALMING, 0.0), 1.0)


def joint_accelerations(error: Array, velocity: Array, weight: Array, high: Array) -> Array:
    """Acceleration asked of every dof: to the pose of the fall while it comes down, then as limbs sink, shape (nv,).

    Args:
        error: The pose of the fall less the present one, shape (nv,).
        velocity: Shape (nv,).
        weight: Acceleration by the weight of what hangs on each joint; see `sinking`, shape (nv,).
        high: See `tension`, shape (nv,).
    """
    w = high * TENSE
    return w * w * np.clip(error, -1.0, 1.0) - (2.0 * w + BRAKE) * velocity + (1.0 - high) * weight


def nearness(gaps: Array, band: float, scale: float) -> Array:
    """How near the ground each point is, shape (K,): 1 on it, 0 from `ALOFT` above it.

    Args:
        gaps: To the ground [m], shape (K,).
        band: Below it a point touches [m].
        scale: Leg length / 0.82 m.
    """
    return np.clip(1.0 - (gaps - band) / (ALOFT * scale), 0.0, 1.0)


def bearing(model: Model, state: State, near: Array) -> Array:
    """How near the ground what hangs on each dof is, 0 … 1, shape (nv,): 1 where something of it lies there.

    A point that touches near a joint bears nothing of what hangs on it: a knee on the ground leaves the shank to fall.

    Args:
        model, state: Of the figure.
        near: Of the first contact points, those that can touch; see `nearness`, shape (K,).
    """
    data, lies = state.data, np.zeros(model.body_count)
    lever = PIVOT * np.linalg.norm(data.subtree_com - data.xpos, axis=1)
    for point in np.flatnonzero(near):
        body = int(model.point_body[point])
        far = near[point] * (np.linalg.norm(data.xpos - state.points[point], axis=1) > lever)
        while body > 0:
            lies[body] = max(lies[body], far[body])
            body = int(model.parents[body])
    return lies[model.dof_body]


def sinking(model: Model, state: State, bears: Array) -> Array:
    """Acceleration that each joint would have by the weight of what hangs on it alone [rad/s²], shape (nv,).

    That is (c − x) × m g over the inertia about each axis, with the center of mass c of all that hangs on a joint at x;
    zero where anything of that lies on the ground. Just above it there is only a part, so that a hand which leaves the
    ground by a millimeter settles again and does not twitch.

    Args:
        model, state: Of the figure.
        bears: See `bearing`, shape (nv,).
    """
    data = state.data
    turn = np.cross(data.subtree_com - data.xpos, [0.0, 0.0, -GRAVITY]) * model.subtree_masses[:, None]
    out = np.einsum("dc,dc->d", turn[model.dof_body], data.cdof[:, :3]) / state.M.diagonal()
    out[:6] = 0.0
    return np.clip(out, -FASTEST_SINKING, FASTEST_SINKING) * (1.0 - bears)


class Limpness(NamedTuple):
    """How joints let go.

    Attributes:
        pose: Factor on the weight of the pose, shape (nv,).
        torque: Weight of the torque against that of the pose of a joint that moves alone, shape (nv,).
        rate: At which tissue slows down joints [1/s], shape (nv,).
    """

    pose: Array
    torque: Array
    rate: Array


def limp_dofs(character: Character, names: tuple[str, ...] = LIMP_JOINTS) -> Flags:
    """Dofs of hips and knees, or of other joints by role, which let go of the weight they bear, shape (nv,).

    Limp arms, or forelegs, would drop the trunk at once, and that throws the legs up: they yield only near the ground.
    """
    limp = np.zeros(character.nv, dtype=np.bool_)
    for body in (character.roles.get(f"{side}_{name}") for side in ("left", "right") for name in names):
        if body is not None:
            first = character.v_addresses[body]
            limp[first : first + V_SIZES[character.bodies[body].kind]] = True
    return limp


def trunk_dofs(character: Character, model: Model) -> Flags:
    """Dofs of spine and neck, shape (nv,)."""
    bodies = [b + 1 for limb in character.limbs if limb.kind in ("spine", "neck") for b in limb.bodies]
    return np.isin(model.dof_body, bodies) & (np.arange(model.nv) >= 6)


def yielding(height: float, speed: float, low: float = 0.0) -> float:
    """How far arms that bear something yield, 0 … 1: near the ground, and only as the chest comes down slowly.

    The longer a figure that has come down props itself up, the higher above the ground its arms yield.

    Args:
        height: Of the chest above the ground [m], for a leg of 0.82 m.
        speed: Of the chest [m/s].
        low: How long the figure has been down [s].
    """
    near = (NEAR[0] + TIRING * low - height) / (NEAR[0] - NEAR[1])
    return min(max(near, 0.0), 1.0) * max(1.0 - speed / LOWERED, 0.0)


def limpness(velocity: Array, fall: Fall, held: Array, limp: Flags, arms: Array) -> Limpness:
    """How joints let go as the figure comes down: hips and knees give way under what lies on them, arms when it is low.

    A leg that does not lie on the ground is not limp, so that its foot does not whip up as the trunk lands.

    Their torque is then asked to be τ = −d v⁺, that of tissue, until they settle. All other joints only follow the
    acceleration asked of them: the ground would shake limp feet.

    Args:
        velocity: Shape (nv,).
        fall: As it is.
        held: See `held_longer`, shape (nv,).
        limp: Those of `limp_dofs` that bear something, shape (nv,); see `bearing`.
        arms: How far each dof of an arm yields, zero for others, shape (nv,); see `yielding`.
    """
    calm, speed, loose = calmness(fall), np.abs(velocity), limp + arms
    pose = np.concatenate([np.ones(6), tone(velocity, fall, held)])
    pose += loose * (TONE * np.clip(fall.high + calm + speed / HASTY, 0.0, 1.0) - pose)
    torque = loose * LIMP * (1.0 - fall.high) * (1.0 - calm)
    return Limpness(pose, torque, TISSUE * (1.0 + speed / QUICK) * (1.0 + arms * (LOADED - 1.0)))


def tone(velocity: Array, fall: Fall, held: Array) -> Array:
    """Factor on the weight of the pose of every joint, shape (nv − 6,): one that lies still is left to its weight.

    A joint that moves is slowed down with full weight, else light limbs would whirl; so is all that has settled.
    `limpness` has another one for limp joints.
    """
    settled = np.maximum(0.0, fall.low - SETTLING - LETTING * (held[6:] > 0.0))
    return TONE * np.clip(tension(fall, held)[6:] + SLACK + np.abs(velocity[6:]) / BRISK + settled, 0.0, 1.0)


def bent(character: Character, q: Array, back: float) -> Array:
    """The pose (nq,) of a fall: that in which it begins with knees and hips bent, the hips more in a fall backward.

    Args:
        character: The bodies.
        q: The pose in which it begins, shape (nq,).
        back: How far it falls backward, 0 … 1.
    """
    out = q.copy()
    for limb in character.limbs:
        if limb.kind != "leg":
            continue
        angles = (BENT["hip"] + back * (BENT["hip backward"] - BENT["hip"]), BENT["knee"])
        for body, angle in zip(limb.bodies, angles, strict=False):
            limits, at = character.bodies[body].limits, character.q_addresses[body]
            if limits is None:
                continue
            if character.bodies[body].kind == "hinge":
                out[at] = angle if limits.twist_upper > -limits.twist_lower else -angle
            elif character.bodies[body].kind == "ball":
                turn = rotations.from_rotation_vector(angle * np.asarray(limits.swing_axis))
                out[at : at + 4] = rotations.multiply(np.asarray(limits.rest), turn)
    return out


def tucked(character: Character, q: Array, ahead: Array) -> Array:
    """A pose (nq,) with the neck bent ahead.

    Args:
        character: The bodies.
        q: The pose, shape (nq,).
        ahead: Where to, horizontal, shape (2,); by `TUCKED` for a unit vector, by less for a shorter one.
    """
    out, (places, turns) = q.copy(), (x[0] for x in body_poses(character, q[None]))
    for limb in character.limbs:
        if limb.kind != "neck":
            continue
        up = places[limb.bodies[-1]] - places[character.bodies[limb.bodies[0]].parent]
        turn = np.cross(up / max(float(np.linalg.norm(up)), 1e-9), [*ahead, 0.0])
        turn *= TUCKED / len(limb.bodies)
        for body in limb.bodies:
            if character.bodies[body].kind == "ball":
                at, own = character.q_addresses[body], rotations.rotate(rotations.conjugate(turns[body]), turn)
                out[at : at + 4] = rotations.multiply(q[at : at + 4], rotations.from_rotation_vector(own))
    return out


def resting_accelerations(velocities: Array, axes: Array, touches: Flags) -> tuple[Array, Array]:
    """Accelerations asked of contact points along their axes [m/s²], and how much they matter [1], shapes (3 P,).

    Args:
        velocities: Of the points against the ground [m/s], shape (P, 3).
        axes: Shape (P, 3, 3).
        touches: Shape (P,).
    """
    along = np.einsum("pec,pc->pe", axes, velocities)
    shares = np.repeat(touches.astype(np.float64), 3)
    return (-along / STOP).ravel(), shares


def presses(velocities: Array, normals: Array, gaps: Array, fastest: float) -> Flags:
    """Points that the ground may push: on it, and not leaving it, shape (K,). Else it would throw what leaves it.

    Args:
        velocities: Against the ground [m/s], shape (K, 3).
        normals: Of the ground, shape (K, 3).
        gaps: To the ground [m], shape (K,).
        fastest: One that is in the ground comes out of it by this part of its depth in a second [1/s].
    """
    leaving = np.einsum("kc,kc->k", velocities, normals)
    return leaving < np.maximum(LEAVING, -fastest * gaps)


def unthrown(velocities: Array, normals: Array, dt: float) -> Array:
    """Fastest acceleration off the ground that points on it may have [m/s²], shape (K,).

    A point that comes down may stop, and one that rises may go on rising; none is thrown up. Without this bound the
    ground would give the impulse that stops a joint at its limit, and a knee that lands would gain energy.

    Args:
        velocities: Against the ground [m/s], shape (K, 3).
        normals: Of the ground, shape (K, 3).
        dt: [s].
    """
    leaving = np.einsum("kc,kc->k", velocities, normals)
    return (np.maximum(leaving, 0.0) + LEAVING - leaving) / dt


def lands(velocities: Array, normals: Array, gaps: Array, dt: float, band: float) -> Flags:
    """Points that are on the ground by the end of this step, shape (K,). Else the ground would push a foot in the air.

    Args:
        velocities: Against the ground [m/s], shape (K, 3).
        normals: Of the ground, shape (K, 3).
        gaps: To the ground [m], shape (K,).
        dt: [s].
        band: Contact height of the preset for this figure [m]; see `ON_GROUND`.
    """
    return gaps + dt * np.einsum("kc,kc->k", velocities, normals) < ON_GROUND * band


def slip_directions(velocities: Array, normals: Array) -> Array:
    """Unit direction in which each point slides, zero where it stands, shape (K, 3).

    Friction then acts against this way, so that it never drives a point on.
    Source: [Jain2009]_ eq. (12).

    Args:
        velocities: Against the ground [m/s], shape (K, 3).
        normals: Of the ground, shape (K, 3).
    """
    along = velocities - np.einsum("kc,kc->k", velocities, normals)[:, None] * normals
    speed = np.linalg.norm(along, axis=1, keepdims=True)
    return np.where(speed > SLIDING, along / np.maximum(speed, 1e-12), 0.0)


def work_of_forces(step: Step, result: StepResult, ground_velocities: Array) -> float:
    """Work of all forces in a step, Δt (M a + b)ᵀ (v + Δt a / 2) [J], less what the ground gives beyond its own motion.

    Ground that stands still gives none.

    Args:
        step, result: A step and its solution.
        ground_velocities: Of the ground at each contact point of the figure [m/s], shape (P, 3).
    """
    state, dt = step.state, step.dt
    forces, way = state.M @ result.a + state.bias, dt * (state.v + 0.5 * dt * result.a)
    own = dt * float((result.forces * ground_velocities[step.contacts.points]).sum())
    by_ground = float((forces - result.torque - step.external) @ way) - own
    return float(forces @ way) - max(0.0, by_ground)


def kept(state: State, a: Array, q: Array, v: Array, dt: float, work: float) -> Array:
    """Velocity (nv,) after a step of a fall, with the momentum and energy that forces give it, not the time step.

    The root moves so that momentum and spin h = H v are h⁺ = h + Δt ḣ. Then joints slow down, the root so that these
    stay, by a factor 1 + s where energy has risen beyond the work of all forces:
    s (1 + s / 2) dᵀ M d = −gain for the motion d of joints without momentum, s ≥ −SLOWED.
    Source: projection on an invariant, Hairer, Lubich, Wanner 2006, IV.4.

    Args:
        state: In which the step began.
        a: Its acceleration, shape (nv,).
        q, v: After it, shapes (nq,), (nv,).
        dt: [s].
        work: Of all forces in the step [J]; see `work_of_forces`.
    """
    root = state.model.roots[0]
    total, after = state.mass(root), State(state.model).at(q, v)
    (com, com_bias), (spin, spin_bias) = state.com_rows(root), state.angular_momentum_rows(root)
    asked = np.concatenate(
        [total * (com @ (state.v + dt * a) + dt * com_bias), spin @ (state.v + dt * a) + dt * spin_bias]
    )
    rows = np.concatenate([total * after.com_jacobian(root), after.angular_momentum_rows(root)[0]])
    out, inner = v.copy(), v.copy()
    out[:6] = np.linalg.solve(rows[:, :6], asked - rows[:, 6:] @ v[6:])
    inner[:6] = -np.linalg.solve(rows[:, :6], rows[:, 6:] @ v[6:])
    rise = GRAVITY * total * float(after.com(root)[2] - state.com(root)[2])
    gain = 0.5 * float(out @ after.M @ out) - 0.5 * float(state.v @ state.M @ state.v) + rise - work
    most = max(float(inner @ after.M @ inner), 1e-9)
    return out - min(1.0 - math.sqrt(min(max(0.0, 1.0 - 2.0 * gain / most), 1.0)), SLOWED) * inner


def later(fall: Fall, speed: float, high: float, dt: float) -> Fall:
    """One step later, with the center of mass at this speed [m/s]."""
    lies = high < 0.5 and speed < SLOW
    rested, low = fall.rested + dt if lies else 0.0, fall.low + dt if high < 0.2 else 0.0
    return fall._replace(since=fall.since + dt, rested=rested, high=high, low=low)


def begun(character: Character, q: Array, velocity: Array, places: Array) -> Fall:
    """A fall that begins.

    Args:
        character: The bodies.
        q: The pose now, shape (nq,).
        velocity: Of the center of mass [m/s], shape (3,).
        places: Of the bodies [m], shape (B, 3).
    """
    size, facing = math.hypot(velocity[0], velocity[1]), np.array([1.0, 0.0])
    hips = [character.roles.get(name) for name in ("left_hip", "right_hip")]
    if hips[0] is not None and hips[1] is not None:
        x, y, _ = (places[hips[0]] - places[hips[1]]).tolist()
        facing = np.array([y, -x]) / max(math.hypot(x, y), 1e-9)
    way = velocity[:2] / size if size > 1e-6 else facing
    back = max(0.0, -float(way @ facing))
    return Fall(tucked(character, bent(character, q, back), back * facing), way, back=back)
