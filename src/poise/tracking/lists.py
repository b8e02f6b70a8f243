"""The one list of performance tracking, for the step problem of the filter and the goals.

| what | form | target |
|---|---|---|
| root wrench | constraint, zero (soft where it cannot hold) | nobody holds the root |
| center of mass, pelvis, ends of support limbs | place and turn | the actor's, retargeted |
| ends of targeted limbs | place and turn | the actor's, retargeted |
| angular momentum | its rate | fades |
| pose | joint accelerations | the standing pose |
| free limbs | joint torques of springs, at the end of the step | the standing pose |

Source: [Tracking]_ sections 5 and 6; weights, and what was changed, are in docs/tracking_method.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from poise.body.character import Character, torque_limits
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.typing import Array, Flags, Index
from poise.core.units import GRAVITY
from poise.filter import falling
from poise.filter.preset import Bounds
from poise.filter.quasi_physical import AtRest, JointLimits
from poise.physics import State
from poise.physics.mujoco_backend import Model
from poise.step import AtLeast, Equal, Objective, Step, Within
from poise.step import quantities as y
from poise.terrain import Terrain
from poise.tracking.pulls import carrying_torques, turning_pulls
from poise.tracking.retarget import Role, dofs_of, end_body

Terms = tuple[Sequence[Objective], Sequence[Equal | AtLeast | Within]]
CARRYING = 1.6
"""Joints of a leg hold the whole weight so many times [1]. Chosen, without a source."""
CATCHING_TRUNK, CATCHING_NECK, CATCHING_STIFF, HELD_TURN = 10.0, 30.0, 4.0, 4.0
"""Pelvis and trunk of a character that catches itself, and its neck, weigh so much more, and turn so much more stiffly;
the last is for one that is held [1]. Chosen on pushes of adult and child; that of the neck, on child and raptor."""
CATCHING_COM, FADING = 0.3, 5.0
"""Its center of mass weighs so much of the usual [1], its angular momentum fades so fast [1/s]."""
STANDING_SPIN, CATCHING_SPIN = 0.1, 10.0
"""Where the actor stands, the rate of the angular momentum over the inertia weighs so much, and so much more of one
that catches itself [1]: on two feet, a trunk that turns keeps the balance."""
ON_GROUND, RETURN_SHARE = 0.03, 0.3
"""Contact points this near the lowest one of a limb that stands are its sole, for a leg of 0.82 m [m]. One that is in
the ground comes out by the second, a part of its depth, in a step [1]."""


@dataclass(frozen=True)
class Settings:
    """Weights [1] on accelerations in m/s² and rad/s² for a leg of 0.82 m, stiffnesses [1/s²] of critical servos.

    Attributes:
        com: Acceleration of the center of mass over the ground; `com_gain` see `poise.tracking.balance`.
        pelvis, pelvis_stiffness: Height of the pelvis; its place over the ground counts `pelvis_along` of that.
        pelvis_turn, pelvis_turn_stiffness: Its orientation.
        support, support_stiffness: Place of the end of a support limb; `support_turn` its orientation.
        held: Points of a standing foot: they stop, by the share `hold` of their velocity a step, and go down to the
            ground with `hold_stiffness`; the place of the foot then counts a tenth.
        height_stiffness: Of the height of the pelvis.
        targeted, targeted_stiffness: Place of the end of a targeted limb; `targeted_turn` its orientation.
        knee: Knees of a leg that swings, bent as far as its way from hip to end needs; with `support_stiffness`.
        pose_support, pose_targeted, pose_trunk: Joints of these limbs; `pose_stiffness` of all.
        momentum: Rate of the angular momentum over √(mass · inertia) while the actor steps, where it stands
            `STANDING_SPIN`; it fades with `momentum_rate` [1/s].
        tail_frequency, tail_damping: Spring of free limbs [rad/s], [1]; `tail` its weight.
        root: Weight of the root's wrench where it is soft, over mass² (force) and inertia² (moment).
        step_reach: How far a foot may be placed off its target to catch the body, in legs.
        reach: How far out of what touches the ground the force may be asked for, in legs.
        friction: Coulomb coefficient.
        strength: Largest torques, over those of a strong person of that mass and size [1].
        responsiveness: Stiffness of pelvis and hands, relative to the default [1]. Above 1 they follow closer.

    Example:
        >>> settings = poise.tracking.Settings(responsiveness=1.5)
        >>> tracker = poise.tracking.PerformanceTracker(character, character, settings=settings)
    """

    com: float = 50.0
    com_gain: float = 1.0
    pelvis: float = 10.0
    pelvis_along: float = 0.005
    pelvis_stiffness: float = 25.0
    height_stiffness: float = 100.0
    pelvis_turn: float = 0.3
    pelvis_turn_stiffness: float = 25.0
    support: float = 0.3
    support_stiffness: float = 400.0
    support_turn: float = 0.06
    targeted: float = 0.1
    targeted_stiffness: float = 100.0
    targeted_turn: float = 0.01
    knee: float = 0.02
    pose_support: float = 0.005
    pose_targeted: float = 0.01
    pose_trunk: float = 0.2
    pose_stiffness: float = 60.0
    momentum: float = 10.0
    momentum_rate: float = 2.0
    tail: float = 1.0
    tail_frequency: float = 18.0
    tail_damping: float = 1.0
    held: float = 30.0
    hold: float = 0.5
    hold_stiffness: float = 400.0
    root: float = 100.0
    step_reach: float = 0.7
    reach: float = 0.03
    friction: float = 0.8
    strength: float = 1.0
    responsiveness: float = 1.0


def settings_of(character: Character) -> Settings:
    """The usual settings, with the weights of the character's file.

    Raises:
        InvalidValue: if the file names a weight that there is not.
    """
    known = {f.name for f in fields(Settings)}
    unknown = [name for name in character.weights if name not in known]
    if unknown:
        raise InvalidValue(f"There is no weight {unknown[0]!r} of tracking. Weights: {', '.join(sorted(known))}.")
    return Settings(**character.weights)


class Targets(NamedTuple):
    """What a pose of the actor asks for: the pelvis, the center of mass, then the end of each driven limb, as rows.

    Attributes:
        place, velocity, acceleration: [m], [m/s], [m/s²], shape (T, 3).
        turn: Orientations, shape (T, 4).
        spin: Angular velocities in the world [rad/s], shape (T, 3).
        held: Whether the end stands, shape (T,).
    """

    place: Array
    velocity: Array
    acceleration: Array
    turn: Array
    spin: Array
    held: Flags
    knees: Knees | None = None


class Knees(NamedTuple):
    """How the knees of swinging legs should be bent: a straight leg cannot be lifted by its end alone.

    Attributes:
        dofs: Of the knees, shape (K,).
        turn: How far they are from there [rad], shape (K,).
        rate: How fast that should change [rad/s], shape (K,).
    """

    dofs: Index
    turn: Array
    rate: Array


class Ground(NamedTuple):
    """The ground under the contact points: how far they are above it [m], shape (P,), and its normals (P, 3)."""

    gap: Array
    normal: Array


def ground_under(state: State, count: int, terrain: Terrain | None, floor: float, time: float) -> Ground:
    """The ground under the first `count` contact points of a state, which are put against it.

    Args:
        state: Of the character.
        count: Of its contact points.
        terrain: Level at `floor` [m] if None.
        floor: Height of level ground [m].
        time: When [s]; ground may move.
    """
    if terrain is None:
        up = np.zeros((count, 3))
        up[:, 2] = 1.0
        return Ground(state.points[:count, 2] - floor, up)
    state.touch(np.ascontiguousarray(terrain.sample(state.centers[:, :2], time).normal))
    found = terrain.sample(state.points[:count, :2], time)
    gap = (state.points[:count, 2] - found.height) * found.normal[:, 2]
    return Ground(gap, np.ascontiguousarray(found.normal))


class Lists:
    """Makes the lists of steps; what does not change is prepared once.

    Attributes:
        ends: Body in the model of the end of each driven limb, shape (E,).
        free: First dof and the one after the last of each free limb.
        pose: What joints are drawn to, shape (nq,): the standing pose, or a style's.
        kinds: What each dof belongs to: "support", "targeted", "free" or "trunk".
        joint_limits: Of the joints; widened to the standing pose.
    """

    def __init__(
        self,
        character: Character,
        model: Model,
        roles: Sequence[Role],
        settings: Settings,
        standing: Array,
        inertia: float,
        first_end: int,
    ) -> None:
        self.character, self.model, self.settings, self.standing = character, model, settings, standing
        self.pose, self.inertia, self._weights = standing, inertia, model.subtree_masses * GRAVITY
        driven = [role for role in roles if role.actor]
        self.ends = np.array([end_body(character, role.limb) + 1 for role in driven], dtype=np.int64)
        self._end_points = np.arange(first_end, first_end + len(driven))
        self._is_support = np.array([role.kind == "support" for role in driven])
        self.dof_weight, self._held_longer = np.zeros(model.nv), falling.held_longer(character, model)
        self.free: dict[str, tuple[int, int]] = {}
        self._joint_weights(roles)
        self._strength = np.maximum(torque_limits(character), self._carrying_strength(roles))
        self.joint_limits = JointLimits(character, Bounds(near_angle=10.0, near_ground=0.0, return_share=0.2))
        self._rest = AtRest(standing, np.zeros(model.nv), np.zeros(model.nv))
        self._allocate(first_end)
        self.set_weights(settings)

    def set_weights(self, settings: Settings) -> None:
        """Take other weights."""
        s = self.settings = settings
        if not 0.0 <= s.friction < math.inf:
            raise InvalidValue(f"friction is {s.friction}; give a finite coefficient of zero or more.")
        keen = s.responsiveness
        self._end_weight = np.where(self._is_support, s.support, s.targeted)
        self._end_stiffness = np.where(self._is_support, s.support_stiffness, keen * s.targeted_stiffness)[:, None]
        self._turn_now[self.ends - 1] = np.where(self._is_support, s.support_turn, s.targeted_turn)[:, None]
        self._pelvis_stiffness = np.array([keen * s.pelvis_stiffness, keen * s.pelvis_stiffness, s.height_stiffness])
        self.dof_weight[:3] = s.pelvis * np.array([s.pelvis_along, s.pelvis_along, 1.0])
        self.dof_weight[3:6] = s.pelvis_turn
        kinds = {"support": s.pose_support, "targeted": s.pose_targeted, "free": 1e-3, "trunk": s.pose_trunk}
        self.dof_weight[6:] = [kinds[kind] for kind in self.kinds[6:]]
        self.limits = s.strength * self._strength
        self._weak = 100.0 / np.maximum(self.limits, 1e-6) ** 2
        self._terms: dict[bool, Terms] = {False: self._made(is_held=False), True: self._made(is_held=True)}

    def _joint_weights(self, roles: Sequence[Role]) -> None:
        """The part of each dof, and the dofs of each free limb."""
        character = self.character
        self.kinds = ["trunk"] * self.model.nv
        parts = {role.limb: role.kind for role in roles}
        for limb in character.limbs:
            kind = parts.get(limb.name)
            if kind is None:
                continue
            dofs = [d for b in limb.bodies for d in dofs_of(character, b)]
            for d in dofs:
                self.kinds[d] = kind
            if kind == "free" and dofs == list(range(dofs[0], dofs[-1] + 1)):
                self.free[limb.name] = (dofs[0], dofs[-1] + 1)
            elif kind == "free":
                for b in limb.bodies:
                    own = dofs_of(character, b)
                    self.free[f"{limb.name}: {character.bodies[b].name}"] = (own[0], own[-1] + 1)

    def _carrying_strength(self, roles: Sequence[Role]) -> Array:
        """Torques of joints that carry the character on one sole [N m], shape (nv − 6,): weight times arm.

        The arm goes to the furthest point of the sole, or to the center of mass. Strengths of people say nothing of one
        who walks on its toes, where the toe joint is the ankle, or whose hips are wide.
        """
        character, out = self.character, np.zeros(self.model.nv)
        state = State(self.model).at(self.standing, np.zeros(self.model.nv))
        weight = CARRYING * character.mass * GRAVITY
        for limb in (x for x in character.limbs if any(r.limb == x.name and r.kind == "support" for r in roles)):
            points = np.array([i for i, p in enumerate(character.contact_points) if p.body in limb.bodies], np.int64)
            if not len(points):
                continue
            heights = state.points[points, 2]
            sole = points[heights < heights.min() + ON_GROUND * character.leg_scale]
            above = set(limb.bodies)
            for i in sole.tolist():  # what is above all of them
                chain, body = set[int](), character.contact_points[i].body
                while body >= 0:
                    chain.add(body)
                    body = character.bodies[body].parent
                above &= chain
            for body in above:
                ends = np.concatenate([state.points[sole, :2], state.com()[None, :2]])
                arms = ends - state.data.xpos[body + 1, :2]
                out[dofs_of(character, body)] = weight * np.sqrt((arms**2).sum(axis=1)).max()
        return out[6:]

    def _allocate(self, points: int) -> None:
        """Room for what changes from step to step; the terms of both lists refer to it, and are made once."""
        nv, bodies, ends = self.model.nv, self.model.body_count - 1, len(self.ends)
        self._points = np.concatenate([self._end_points, np.arange(points)])
        self._point_axes = np.tile(np.eye(3), (ends + points, 1, 1))
        self._normals = np.zeros((points, 1, 3))
        self._under, self._over = np.full(points, -np.inf), np.arange(points)
        limits = self.joint_limits.most
        self._limit_rows, self._limit_lower = np.zeros((limits, nv)), np.full(limits, -np.inf)
        self._dof_pull, self._dof_now, self._wrench = np.zeros(nv), np.zeros(nv), np.zeros(6)
        self._com_pull, self._com_weight, self._spin_fade, self._spin_weight = (np.zeros(n) for n in (2, 2, 3, 3))
        self.is_free = np.array([kind == "free" for kind in self.kinds])
        bones = [b for limb in self.character.limbs if limb.kind == "neck" for b in limb.bodies]
        neck = [d for b in bones for d in dofs_of(self.character, b) if self.kinds[d] == "targeted"]
        self._upright = np.where([k == "trunk" and d > 2 for d, k in enumerate(self.kinds)], CATCHING_TRUNK, 1.0)
        self._upright[neck] = CATCHING_NECK
        self._place_pull, self._place_weight = np.zeros((ends + points, 3)), np.zeros((ends + points, 3))
        self._turn_pull, self._turn_now = np.zeros((bodies, 3)), np.zeros((bodies, 3))
        self._spring_pull, self._spring_weight, self._damping = np.zeros(nv), np.zeros(nv), np.zeros(nv)

    def _made(self, *, is_held: bool) -> Terms:
        """The list without or with a force at the root."""
        s = self.settings
        objectives = [
            Objective(y.JointAcceleration(), self._dof_pull, self._dof_now, "pelvis and pose"),
            Objective(y.ComAcceleration("xy"), self._com_pull, self._com_weight, "center of mass"),
            Objective(
                y.PointAcceleration(self._points, self._point_axes),
                self._place_pull.reshape(-1),
                self._place_weight.reshape(-1),
                "ends of limbs, standing feet",
            ),
            Objective(
                y.BodyAngularAcceleration(), self._turn_pull.reshape(-1), self._turn_now.reshape(-1), "turns of ends"
            ),
        ]
        if s.momentum:
            weight = self._spin_weight
            objectives.append(Objective(y.AngularMomentumRate(), self._spin_fade, weight, "angular momentum"))
        strength, first = [], 6
        for name, (begin, end) in sorted(self.free.items(), key=lambda item: item[1]):
            torque = y.JointTorque((begin, end), self._damping[begin:end])
            target, weight = self._spring_pull[begin:end], self._spring_weight[begin:end]
            objectives.append(Objective(torque, target, weight, name))
            strength += [self._within(y.JointTorque((first, begin)))] if begin > first else []
            strength.append(self._within(torque))
            first = end
        strength += [self._within(y.JointTorque((first, self.model.nv)))] if first < self.model.nv else []
        objectives.append(Objective(y.ContactCoefficients(), 0.0, 1e-7, "contact coefficients"))
        constraints: list[Equal | AtLeast | Within] = [
            AtLeast(y.PointAcceleration(self._over, self._normals), self._under, 10.0, "ground"),
            AtLeast(y.JointAcceleration(along=self._limit_rows), self._limit_lower, 1.0, "joint limits"),
            *strength,
        ]
        if is_held:
            objectives.append(Objective(y.RootWrench(), 0.0, self._wrench, "root wrench"))
        else:
            constraints.insert(0, Equal(y.RootWrench(), 0.0, "root wrench"))
        return tuple(objectives), tuple(constraints)

    def _within(self, torque: y.JointTorque) -> Within:
        """Torques within the strength of the joints; those of a spring at the end of the step."""
        first, end = torque.dofs
        assert end is not None
        most = self.limits[first - 6 : end - 6]
        return Within(torque, -most, most, self._weak[first - 6 : end - 6], "torque limits")

    def following(
        self,
        step: Step,
        q: Array,
        v: Array,
        targets: Targets,
        pull: Array,
        ground: Ground,
        held: Index,
        softness: float,
        alarm: float,
        stillness: float,
    ) -> Terms:
        """The list of a step that follows the actor. It is the same in every step, with other numbers.

        Args:
            step: The step.
            q, v: Of the character.
            targets: Of this pose.
            pull: Acceleration of the center of mass over the ground [m/s²], shape (2,).
            ground: Under the contact points.
            held: Contact points of standing feet that carry.
            softness: 0 for nobody at the root, 1 for the soft root; above, it is held by that much more.
            alarm: How much the character catches itself by steps of its own, 0 … 1.
            stillness: How much its actor stands, 0 … 1.
        """
        s, state = self.settings, step.state
        self._joints(state, q, v, targets, softness, alarm)
        self._com_pull[:], self._com_weight[:] = pull, s.com * CATCHING_COM**alarm
        self._places(state, targets, ground, held, step.dt)
        self._turns(state, targets)
        light = STANDING_SPIN * CATCHING_SPIN**alarm / self.inertia
        spin = s.momentum / self.model.subtree_masses[1]
        self._spin_weight[:] = (spin + stillness * (light - spin)) / self.inertia
        self._spin_fade[:] = -(s.momentum_rate * (1.0 - stillness) + FADING * alarm) * state.data.angular_momentum(1)
        if self.free:
            self._springs(step, q, v)
        self._bounds(step, q, v, ground)
        if softness > 0.0:
            self._wrench[:3] = s.root / (softness * self.model.subtree_masses[1] ** 2)
            self._wrench[3:] = s.root / (softness * self.inertia**2)
        return self._terms[softness > 0.0]

    def _joints(self, state: State, q: Array, v: Array, targets: Targets, softness: float, alarm: float) -> None:
        """Pelvis and pose, which are accelerations of single dofs."""
        s, pull, weight = self.settings, self._dof_pull, self._dof_now
        pull[:] = s.pose_stiffness * self.model.difference(q, self.pose, 1.0)
        pull -= (2.0 * math.sqrt(s.pose_stiffness)) * v
        k = self._pelvis_stiffness
        pull[:3] = targets.acceleration[0] + k * (targets.place[0] - state.data.xpos[1])
        pull[:3] += 2.0 * np.sqrt(k) * (targets.velocity[0] - v[:3])
        back = rotations.conjugate(q[3:7])
        off = rotations.to_rotation_vector(rotations.multiply(back, targets.turn[0]))
        stiffness = s.responsiveness * s.pelvis_turn_stiffness * CATCHING_STIFF**alarm
        stiffness *= HELD_TURN if softness > 1.0 else 1.0
        spin = rotations.rotate(back, targets.spin[0])
        pull[3:6] = stiffness * off + 2.0 * math.sqrt(stiffness) * (spin - v[3:6])
        weight[:] = self.dof_weight
        if alarm > 0.0:
            weight *= self._upright**alarm
        if targets.knees is not None:
            dofs, turn, rate = targets.knees
            pull[dofs] = s.support_stiffness * turn + 2.0 * math.sqrt(s.support_stiffness) * (rate - v[dofs])
            weight[dofs] = s.knee
        if softness > 0.0:  # what is held is held to the actor's way
            weight[:3] = s.pelvis
            weight[3:6] *= 1.0 + 9.0 * min(softness, 1.0)

    def _places(self, state: State, targets: Targets, ground: Ground, held: Index, dt: float) -> None:
        """Ends of limbs, and points of standing feet; other contact points weigh nothing."""
        s, ends, count = self.settings, self._end_points, len(self._end_points)
        pull, weight, k = self._place_pull, self._place_weight, self._end_stiffness
        pull[:count] = targets.acceleration[2:] + k * (targets.place[2:] - state.points[ends])
        pull[:count] += 2.0 * np.sqrt(k) * (targets.velocity[2:] - state.point_velocities[ends])
        weight[:count] = (self._end_weight * np.where(targets.held[2:], 0.1, 1.0))[:, None]
        weight[count:] = 0.0
        pull[count + held] = (-s.hold / dt) * state.point_velocities[held]
        pull[count + held] -= (s.hold_stiffness * ground.gap[held])[:, None] * ground.normal[held]
        weight[count + held] = s.held

    def _turns(self, state: State, targets: Targets) -> None:
        data, stiffness = state.data, self._end_stiffness.reshape(-1)
        turning_pulls(self.ends, data.xquat, data.cvel, targets.turn[2:], targets.spin[2:], stiffness, self._turn_pull)

    def _springs(self, step: Step, q: Array, v: Array) -> None:
        """Springs of the free limbs, τ = g + K (rest − q) − D v at the end of the step, K = I ω², D = 2 ζ I ω."""
        s, state = self.settings, step.state
        off = self.model.difference(q, self.pose, 1.0)
        inertia = state.M.diagonal()
        stiffness = inertia * s.tail_frequency**2
        self._damping[:] = 2.0 * s.tail_damping * s.tail_frequency * inertia + step.dt * stiffness
        carried = np.empty(self.model.nv)
        carrying_torques(self.model.dof_body, state.data.cdof, state.data.subtree_com, self._weights, carried)
        self._spring_pull[:] = carried + stiffness * off - self._damping * v
        self._spring_weight[:] = s.tail / inertia**2

    def _bounds(self, step: Step, q: Array, v: Array, ground: Ground) -> None:
        """Not into the ground and within the limits of the joints, where they are near: −∞ is not a bound."""
        state, dt = step.state, step.dt
        normal, count = ground.normal, len(ground.gap)
        self._normals[:, 0] = normal
        speed = (normal * state.point_velocities[:count]).sum(axis=1)
        np.multiply(RETURN_SHARE / dt * ground.gap + speed, -1.0 / dt, out=self._under)
        self._under[ground.gap >= 0.08 * self.character.leg_scale] = -np.inf
        limits, rows = self.joint_limits, self._limit_rows
        near = limits.fill(q, v, self._rest, dt, rows, self._limit_lower) if limits.most else 0
        self._limit_lower[near:] = -np.inf

    # --- falling

    def falling(self, step: Step, q: Array, v: Array, fall: falling.Fall, ground: Ground) -> Terms:
        """The list of a figure that has lost its balance: nobody holds it, and its muscles let go."""
        state, count = step.state, len(ground.gap)
        held, low = self._held_longer, 0.012 * self.character.leg_scale
        touches = np.append(ground.gap < low, np.zeros(state.model.point_count - count, np.bool_))
        error, near = self.model.difference(q, fall.q, 1.0), falling.nearness(ground.gap, low, self.character.leg_scale)
        bears, tension = falling.bearing(self.model, state, near), falling.tension(fall, held)
        pull = falling.joint_accelerations(error, v, falling.sinking(self.model, state, bears), tension)
        pull[:6] = [0.0, 0.0, -GRAVITY, 0.0, 0.0, 0.0]  # the root falls freely, but for what the constraint says
        weight = np.concatenate([np.full(6, 1e-6), falling.tone(v, fall, held)])
        objectives = [Objective(y.JointAcceleration(), pull, weight, "muscles")]
        touching = np.flatnonzero(touches)
        if len(touching):
            axes = np.broadcast_to(np.eye(3), (len(touching), 3, 3)).copy()
            lying = np.ones(len(touching), dtype=np.bool_)
            pull, _ = falling.resting_accelerations(state.point_velocities[touching], axes, lying)
            objectives.append(Objective(y.PointAcceleration(touching, axes), pull, 1.0, "what lies"))
        if step.contacts.count:
            objectives.append(Objective(y.ContactCoefficients(), 0.0, 1e-7, "contact coefficients"))
        self._bounds(step, q, v, ground)
        bounds = [term for term in self._terms[False][1] if term.name != "torque limits"]
        return objectives, [*bounds, self._within(y.JointTorque((6, self.model.nv)))]
