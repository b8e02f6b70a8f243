"""Performance tracking, one pose after the other: an actor's pose in, a character's pose out.

The list of every step, for the same step problem as the filter's and the goals':

| what | form | target |
|---|---|---|
| root wrench | constraint, zero (soft where it cannot hold) | nobody holds the root |
| pelvis, ends of support limbs | place and turn | the actor's, retargeted |
| ends of targeted limbs | place | the actor's, retargeted |
| angular momentum | its rate | fades |
| pose | joint accelerations | the standing pose |
| free limbs | joint torques of springs, at the end of the step | the standing pose |

Source: [Tracking]_ sections 5 and 6; weights, and what was changed, are in docs/tracking.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.body.torque_limits import torque_limits
from poise.core import rotations
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.skeleton import Skeleton
from poise.core.typing import Array, Index
from poise.core.units import GRAVITY
from poise.physics import State
from poise.physics.from_character import model_of
from poise.step import AtLeast, Contacts, Equal, Objective, Step, Within, solve_step
from poise.step import quantities as y
from poise.tracking.retarget import Retargeter, Standing, Target, end_body
from poise.tracking.roles import Role, propose_roles
from poise.tracking.stance import Stance

ROOTS = ("hard", "soft")
NEAR = 0.012
"""Points this near the ground may carry, for a leg of 0.82 m [m]."""
ASTRAY, TILTED = 0.35, 0.7
"""Where the pelvis is further from its target than this, in legs, or tilted further [rad], the root is held softly."""
LOST = 2.3
"""So many times `ASTRAY` or `TILTED`, and the character is lost [1]."""


@dataclass(frozen=True)
class Settings:
    """Weights [1] on accelerations in m/s² and rad/s² for a leg of 0.82 m, stiffnesses [1/s²] of critical servos.

    Attributes:
        com, com_stiffness: Place of the center of mass over the ground.
        pelvis, pelvis_stiffness: Height of the pelvis; its place over the ground counts `pelvis_along` of that.
        pelvis_turn, pelvis_turn_stiffness: Its orientation.
        support, support_stiffness: Place of the end of a support limb; `support_turn` its orientation.
        held: Points of a standing foot: they stop, by the share `hold` of their velocity a step, and go down to the
            ground with `hold_stiffness`; the place of the foot then counts a tenth.
        height_stiffness: Of the height of the pelvis.
        targeted, targeted_stiffness: Place of the end of a targeted limb.
        pose_support, pose_targeted, pose_trunk: Joints of these limbs; `pose_stiffness` of all.
        momentum: Rate of the angular momentum over the inertia at rest; it fades with `momentum_rate` [1/s].
        tail_frequency, tail_damping: Spring of free limbs [rad/s], [1]; `tail` its weight.
        root: Weight of the root's wrench where it is soft, over mass² (force) and inertia² (moment).
        step_reach: How far a foot may be placed off its target to catch the body, in legs.
        friction: Coulomb coefficient.
    """

    com: float = 10.0
    com_stiffness: float = 25.0
    pelvis: float = 1.0
    pelvis_along: float = 0.05
    pelvis_stiffness: float = 25.0
    height_stiffness: float = 100.0
    pelvis_turn: float = 0.3
    pelvis_turn_stiffness: float = 25.0
    support: float = 0.3
    support_stiffness: float = 400.0
    support_turn: float = 0.1
    targeted: float = 0.1
    targeted_stiffness: float = 100.0
    pose_support: float = 0.005
    pose_targeted: float = 0.01
    pose_trunk: float = 0.2
    pose_stiffness: float = 60.0
    momentum: float = 0.1
    momentum_rate: float = 0.0
    tail: float = 0.05
    tail_frequency: float = 12.0
    tail_damping: float = 1.0
    held: float = 30.0
    hold: float = 0.5
    hold_stiffness: float = 400.0
    root: float = 100.0
    step_reach: float = 0.4
    friction: float = 0.8


@dataclass
class Tally:
    """What a run counts."""

    steps: int = 0
    fallback_steps: int = 0
    carried: int = 0
    root_force: list[float] = field(default_factory=list)


class PerformanceTracker:
    """Follows an actor pose by pose.

    Args:
        character: What is driven.
        actor: The actor's character, or its skeleton.
        dt: Time between poses and of a step [s]; up to 1/60 holds.
        roles: Of the character's limbs; proposed if not given.
        settings: Weights.
        root: "hard": nobody holds the root, but in steps that would lose the character, which are counted; "soft": the
            root may be held a little throughout.
        standing: Coordinates of the standing character, shape (nq,); the skeleton's rest pose if not given.
        actor_standing: The same of the actor.
        actor_floor: Height of the actor's floor [m]; found while it runs if not given.
        floor: Height of the character's floor [m].

    Example:
        >>> tracker = PerformanceTracker(raptor, actor, dt=motion.dt)
        >>> poses = [tracker.step(q) for q in poise.motion_to_q(actor, motion)]
    """

    def __init__(
        self, character: Character, actor: Character | Skeleton, *, dt: float = 1.0 / 120.0,
        roles: Sequence[Role] | None = None, settings: Settings | None = None, root: str = "hard",
        standing: Array | None = None, actor_standing: Array | None = None, actor_floor: float | None = None,
        floor: float = 0.0,
    ) -> None:  # fmt: skip
        if root not in ROOTS:
            raise InvalidValue(f"root is {root!r}; give 'hard' or 'soft'.")
        if not 0.0 < dt <= 1.0 / 50.0:
            raise InvalidValue(f"dt is {dt:g} s; give up to 0.02 s. Slower actors are interpolated.")
        self.character = character
        self.actor = actor if isinstance(actor, Character) else Character.fit(actor)
        self.dt, self.floor, self.actor_floor = dt, floor, actor_floor
        self.settings = settings or settings_of(character)
        self.roles = tuple(propose_roles(character, self.actor) if roles is None else roles)
        if not any(role.kind == "support" and role.actor for role in self.roles):
            raise InvalidValue("No limb of the character is support; give one a role such as left_leg<-left_leg.")
        self.is_hard = root == "hard"
        self.standing = standing_pose(character) if standing is None else standing.copy()
        self._actor_standing = standing_pose(self.actor) if actor_standing is None else actor_standing.copy()
        self.model = model_of(character)
        self.state = State(self.model)
        self.q, self.v = self.standing.copy(), np.zeros(self.model.nv)
        self.time, self.tally, self.has_fallen, self._poses = 0.0, Tally(), False, 0
        self.scale = character.leg_scale
        self._retargeter: Retargeter | None = None
        self._limits = torque_limits(character)
        self.feet = {r.limb: _foot_points(character, r.limb) for r in self.roles if r.kind == "support"}
        self.stances: dict[str, Stance] = {}
        self._shift, self._foot_shift = np.zeros(2), {limb: np.zeros(2) for limb in self.feet}
        self._foot_speed = {limb: np.zeros(2) for limb in self.feet}
        self._has_landed = dict.fromkeys(self.feet, False)
        self._catch, self._soft = np.zeros(2), 0.0
        self._pose_weight, self._free = self._joint_weights()
        self._is_support = self._pose_weight == self.settings.pose_support
        self.targets: dict[str, Target] = {}

    def step(self, pose: Array) -> Array:
        """Coordinates of the character (nq,) for the actor's (its nq,)."""
        places, turns = (x[0] for x in body_poses(self.actor, np.asarray(pose, dtype=np.float64)[None]))
        is_first = self._retargeter is None
        if is_first:
            self._begin(places, turns)
        assert self._retargeter is not None
        raw = self._retargeter.targets(places, turns)
        soles = {role.limb: _lowest(self.actor, role.actor, places, turns) for role in self.roles if role.actor}
        self._find_floor([soles[limb] for limb in self.feet if limb in soles])
        self.targets = self._cleaned(raw, soles)
        if self._poses < 2:
            # the first two poses say where it begins and how fast
            self._pose_at(self.targets, 200 if is_first else 20)
            if not is_first:
                self.v = self._velocity_at(self.targets)
            self._poses += 1
            return self.q.copy()
        self._advance(self.targets)
        self.time += self.dt
        return self.q.copy()

    # --- beginning

    def _begin(self, places: Array, turns: Array) -> None:
        """Count ways and turns from how both stand, the actor where it is now and facing as it does."""
        from poise.tracking.retarget import heading, yaw_turn

        if self.actor_floor is None:
            self.actor_floor = min(
                float(_lowest(self.actor, role.actor, places, turns)[2])
                for role in self.roles
                if role.kind == "support"
            )
            self._floor_is_found = False
        else:
            self._floor_is_found = True
        still = [x[0] for x in body_poses(self.actor, self._actor_standing[None])]
        about = yaw_turn(heading(self.actor, places) - heading(self.actor, still[0]))
        there = rotations.rotate(about, still[0] - still[0][0])
        oriented = rotations.multiply(np.broadcast_to(about, still[1].shape), still[1])
        low = min(
            float(_lowest(self.actor, role.actor, there, oriented)[2]) for role in self.roles if role.kind == "support"
        )
        there = there + np.array([*places[0, :2], self.actor_floor - low])
        theirs = Standing.of(self.actor, there, oriented, self.actor_floor)
        ours_places, ours_turns = (x[0] for x in body_poses(self.character, self.standing[None]))
        lowest = min(float(_lowest(self.character, limb, ours_places, ours_turns)[2]) for limb in self.feet)
        ours_places = ours_places + np.array([0.0, 0.0, self.floor - lowest])
        self.standing = self.standing.copy()
        self.standing[2] += self.floor - lowest
        ours = Standing.of(self.character, ours_places, ours_turns, self.floor)
        for limb in self.feet:
            end = end_body(self.character, limb)
            ankle, turn = ours_places[end], ours_turns[end]
            chosen = [self.character.contact_points[int(i)] for i in self.feet[limb]]
            chosen = [p for p in chosen if p.body == end_body(self.character, limb)] or chosen
            under = [
                ours_places[p.body] + rotations.rotate(ours_turns[p.body], p.offset) - np.array([0.0, 0.0, p.radius])
                for p in chosen
            ]
            sole = rotations.rotate(rotations.conjugate(turn), np.array(under).reshape(-1, 3) - ankle)
            self.stances[limb] = Stance(sole, self.scale, self.dt)
        self._retargeter = Retargeter(self.character, self.actor, self.roles, theirs, ours, self.dt)
        self.state.at(self.standing, np.zeros(self.model.nv))
        arms = self.state.data.xipos[1:] - self.state.com()
        self._inertia = float(np.sum(self.model.body_masses[1:] * np.sum(arms**2, axis=1)) * 2.0 / 3.0)
        self.q = self.standing.copy()

    def _pose_at(self, targets: dict[str, Target], rounds: int = 60) -> None:
        """Bring the pose to the targets by damped least squares."""
        goal = targets["pelvis"]
        self.q = self.q.copy()
        self.q[:3], self.q[3:7] = goal.place, goal.turn
        stiff = np.where(self._pose_weight >= self.settings.pose_trunk, 2.0, 0.2)
        for _ in range(rounds):
            self.state.at(self.q, np.zeros(self.model.nv))
            rows, off = [10.0 * np.eye(6, self.model.nv)], [np.zeros(6)]
            rows[0][:2] = 10.0 * self.state.com_jacobian()[:2]
            off[0][:2] = 10.0 * (targets["com"].place - self.state.com())[:2]
            off[0][2] = 10.0 * (goal.place[2] - self.q[2])
            for role in self.roles:
                if role.limb in targets:
                    body = end_body(self.character, role.limb) + 1
                    place = self.state.data.xpos[body]
                    weight = 10.0 if role.kind == "support" else 1.0
                    rows.append(weight * self.state.body_jacobian(body, place))
                    off.append(weight * (targets[role.limb].place - place))
            rows.append(3.0 * np.eye(2, self.model.nv))
            off.append(3.0 * (goal.place - self.q[:3])[:2])
            rows.append(stiff[:, None] * np.eye(self.model.nv - 6, self.model.nv, 6))
            off.append(stiff * self.model.difference(self.q, self.standing, 1.0)[6:])
            A, b = np.concatenate(rows), np.concatenate(off)
            step = np.asarray(np.linalg.solve(A.T @ A + 0.02 * np.eye(self.model.nv), A.T @ b), dtype=np.float64)
            self.q = self.model.integrate(self.q, step.clip(-0.1, 0.1), 1.0)

    def _velocity_at(self, targets: dict[str, Target]) -> Array:
        """Velocities of the joints that move as the targets do, by damped least squares."""
        nv, goal = self.model.nv, targets["pelvis"]
        state = self.state.at(self.q, np.zeros(nv))
        spin = rotations.rotate(rotations.conjugate(self.q[3:7]), goal.spin)
        rows = [10.0 * state.com_jacobian()[:2], 10.0 * np.eye(4, nv, 2), 0.3 * np.eye(nv - 6, nv, 6)]
        off = [10.0 * targets["com"].velocity[:2], 10.0 * np.array([goal.velocity[2], *spin]), np.zeros(nv - 6)]
        for role in self.roles:
            if role.limb in targets:
                body = end_body(self.character, role.limb) + 1
                weight = 10.0 if role.kind == "support" else 1.0
                rows.append(weight * state.body_jacobian(body, state.data.xpos[body]))
                off.append(weight * targets[role.limb].velocity)
        A, b = np.concatenate(rows), np.concatenate(off)
        return np.asarray(np.linalg.solve(A.T @ A + 1e-6 * np.eye(nv), A.T @ b), dtype=np.float64)

    # --- one step

    def _find_floor(self, soles: list[Array]) -> None:
        """The actor's floor, where it was not given: what its soles come down to."""
        assert self.actor_floor is not None
        if self._floor_is_found or not soles:
            return
        lowest = min(float(sole[2]) for sole in soles)
        rate = 0.05 if lowest < self.actor_floor else 0.5
        self.actor_floor += (
            (1.0 - math.exp(-self.dt / rate))
            * (lowest - self.actor_floor)
            * (1.0 if lowest < self.actor_floor else 0.02)
        )

    def _cleaned(self, raw: dict[str, Target], soles: dict[str, Array]) -> dict[str, Target]:
        """Targets with standing feet held, and all of them where the feet really are."""
        assert self._retargeter is not None
        assert self.actor_floor is not None
        found = dict(raw)
        found["pelvis"] = _shifted(raw["pelvis"], self._shift)
        found["com"] = _shifted(raw["com"], self._shift)
        theirs = self._retargeter.theirs
        for role in self.roles:
            if role.limb not in raw:
                continue
            if role.kind != "support":
                found[role.limb] = _shifted(raw[role.limb], self._shift)
                continue
            wanted = _shifted(raw[role.limb], self._foot_shift[role.limb])
            wanted = replace(wanted, velocity=wanted.velocity + np.array([*self._foot_speed[role.limb], 0.0]))
            level, height = self._level(role.limb)
            wanted = _above(wanted, height, self._clearance(soles[role.limb], theirs))
            found[role.limb] = self.stances[role.limb].decide(
                soles[role.limb], self.actor_floor, wanted, theirs.leg / 0.85, level, height
            )
        return found

    def _clearance(self, sole: Array, theirs: Standing) -> float:
        """How far the actor's sole is off its floor, on the character's scale [m]."""
        assert self._retargeter is not None
        assert self.actor_floor is not None
        return max(0.0, float(sole[2]) - self.actor_floor) * self._retargeter.ratio

    def _level(self, limb: str) -> tuple[Array, float]:
        """How a foot stands facing along x, and the height of its joint then."""
        from poise.tracking.retarget import yaw_turn

        assert self._retargeter is not None
        ours = self._retargeter.ours
        return rotations.multiply(yaw_turn(-ours.yaw), ours.end_turns[limb]), float(ours.ends[limb][2])

    def _advance(self, targets: dict[str, Target]) -> None:
        """Solve one step and move on."""
        state = self.state.at(self.q, self.v)
        self._adapt(targets)
        self._settle(state)
        self._watch(targets)
        low = np.flatnonzero(state.points[:, 2] < self.floor + NEAR * self.scale)
        step = Step(state, Contacts(low, np.tile([0.0, 0.0, 1.0], (len(low), 1)), self.settings.friction), dt=self.dt)
        is_soft = not self.is_hard or self._soft > 0.0
        result = None
        try:
            result = solve_step(step, *self._lists(step, targets, is_soft=is_soft), costs=False)
        except StepInfeasible:
            try:
                is_soft = True
                result = solve_step(step, *self._lists(step, targets, is_soft=True), costs=False)
            except StepInfeasible:
                self.tally.carried += 1
        self.tally.steps += 1
        self.tally.fallback_steps += is_soft and self.is_hard
        if result is not None:
            self.tally.root_force.append(float(np.linalg.norm(result.torque[:3])))
            self.v = self.v + self.dt * result.a
        else:
            self.v = 0.9 * self.v
        self.v[6:] = np.clip(self.v[6:], -40.0, 40.0)
        self.q = self.model.integrate(self.q, self.v, self.dt)

    def _lists(
        self, step: Step, targets: dict[str, Target], *, is_soft: bool
    ) -> tuple[list[Objective], list[Equal | AtLeast | Within]]:
        """The one list of performance tracking."""
        s, state, model = self.settings, step.state, self.model
        objectives: list[Objective] = []
        goal = targets["pelvis"]
        place, turn = state.data.xpos[1], self.q[3:7]
        stiffness = np.array([s.pelvis_stiffness, s.pelvis_stiffness, s.height_stiffness])
        pull = goal.acceleration + stiffness * (goal.place - place)
        pull += 2.0 * np.sqrt(stiffness) * (goal.velocity - self.v[:3])
        weight = s.pelvis * np.array([s.pelvis_along, s.pelvis_along, 1.0])
        objectives.append(Objective(y.JointAcceleration((0, 3)), pull, weight, "pelvis"))
        goal = targets["com"]
        over, speed = state.com()[:2], (state.com_jacobian() @ self.v)[:2]
        pull = goal.acceleration[:2] + s.com_stiffness * (goal.place[:2] - over)
        pull += 2.0 * math.sqrt(s.com_stiffness) * (goal.velocity[:2] - speed)
        objectives.append(Objective(y.ComAcceleration("xy"), pull, s.com, "center of mass"))
        goal = targets["pelvis"]
        off = rotations.rotate(rotations.conjugate(turn), _turn_to(turn, goal.turn))
        spin = rotations.rotate(rotations.conjugate(turn), goal.spin)
        pull = s.pelvis_turn_stiffness * off + 2.0 * math.sqrt(s.pelvis_turn_stiffness) * (spin - self.v[3:6])
        objectives.append(Objective(y.JointAcceleration((3, 6)), pull, s.pelvis_turn, "pelvis turn"))
        for role in self.roles:
            if role.limb in targets:
                held = self._held_points(state, role, targets[role.limb])
                objectives += self._end_objectives(state, role, targets[role.limb], is_held=len(held) > 0)
                if len(held):
                    pull = -state.point_velocities[held] * s.hold / self.dt
                    pull[:, 2] -= s.hold_stiffness * (state.points[held, 2] - self.floor)
                    axes = np.broadcast_to(np.eye(3), (len(held), 3, 3))
                    hold = y.PointAcceleration(held, axes)
                    objectives.append(Objective(hold, pull.ravel(), s.held, f"{role.limb} held"))
        if s.momentum:
            scale = s.momentum / self._inertia**2
            fade = -s.momentum_rate * state.data.angular_momentum(1)
            objectives.append(Objective(y.AngularMomentumRate(), fade, scale, "angular momentum"))
        pose = s.pose_stiffness * model.difference(self.q, self.standing, 1.0)[6:]
        pose -= 2.0 * math.sqrt(s.pose_stiffness) * self.v[6:]
        objectives.append(Objective(y.JointAcceleration((6, None)), pose, self._pose_weight, "pose"))
        objectives += self._tails(state)
        if step.coefficient_count:
            objectives.append(Objective(y.ContactCoefficients(), 0.0, 1e-7, "contact coefficients"))
        constraints: list[Equal | AtLeast | Within] = []
        if is_soft:
            size = self._soft if self.is_hard else 1.0
            weight = np.repeat([s.root / self.model.subtree_masses[1] ** 2, s.root / self._inertia**2], 3)
            objectives.append(Objective(y.RootWrench(), 0.0, weight / max(size, 1e-3), "root wrench"))
        else:
            constraints.append(Equal(y.RootWrench(), 0.0, "root wrench"))
        near = np.flatnonzero(state.points[:, 2] < self.floor + 0.08 * self.scale)
        if len(near):
            gap = state.points[near, 2] - self.floor
            lower = -(0.3 * gap / self.dt + state.point_velocities[near, 2]) / self.dt
            up = np.tile([[[0.0, 0.0, 1.0]]], (len(near), 1, 1))
            constraints.append(AtLeast(y.PointAcceleration(near, up), lower, 10.0, "ground"))
        limits = self._limits
        weak = 1.0 / np.maximum(limits, 1e-6) ** 2
        constraints.append(Within(y.JointTorque((6, None)), -limits, limits, 100.0 * weak, "torque limits"))
        return objectives, constraints

    def _held_points(self, state: State, role: Role, target: Target) -> Index:
        """Points of a standing foot that carry: those its target has on the ground and that are there."""
        stance = self.stances.get(role.limb)
        if role.kind != "support" or stance is None or not stance.stands or stance.share < 0.5:
            return np.zeros(0, dtype=np.int64)
        points, end = self.feet[role.limb], end_body(self.character, role.limb)
        found = []
        for i in points:
            point = self.character.contact_points[int(i)]
            at = target.place + rotations.rotate(target.turn, point.offset)
            is_down = point.body != end or at[2] - point.radius < self.floor + NEAR * self.scale
            if is_down and state.points[i, 2] < self.floor + NEAR * self.scale:
                found.append(int(i))
        return np.array(found, dtype=np.int64)

    def _end_objectives(self, state: State, role: Role, target: Target, *, is_held: bool) -> list[Objective]:
        s, body = self.settings, end_body(self.character, role.limb) + 1
        weight, stiffness = (
            (s.support, s.support_stiffness) if role.kind == "support" else (s.targeted, s.targeted_stiffness)
        )
        if is_held:
            weight *= 0.1
        place = state.data.xpos[body]
        speed = state.body_point_motion(body, place)[0]
        pull = target.acceleration + stiffness * (target.place - place)
        pull += 2.0 * math.sqrt(stiffness) * (target.velocity - speed)
        found = [Objective(y.PlaceAcceleration(body, np.zeros(3)), pull, weight, role.limb)]
        if role.kind == "support":
            turn = state.data.xquat[body]
            spin = state.data.cvel[body, :3]
            off = stiffness * _turn_to(turn, target.turn) + 2.0 * math.sqrt(stiffness) * (target.spin - spin)
            for axis in np.eye(3)[:2]:
                # a unit axis u of the body turns with α × u + ω × (ω × u)
                along = rotations.rotate(turn, axis)
                rate = np.cross(off, along) + np.cross(spin, np.cross(spin, along))
                found.append(Objective(y.AxisAcceleration(body, axis), rate, 0.5 * s.support_turn, f"{role.limb} turn"))
        return found

    def _tails(self, state: State) -> list[Objective]:
        """Springs of the free limbs, τ = g + K (rest − q) − D v at the end of the step, K = I ω², D = 2 ζ I ω."""
        s, model = self.settings, self.model
        off = model.difference(self.q, self.standing, 1.0)
        found: list[Objective] = []
        for name, dofs in self._free.items():
            k = slice(*dofs)
            inertia = np.diag(state.M)[k]
            stiffness = inertia * s.tail_frequency**2
            damping = 2.0 * s.tail_damping * inertia * s.tail_frequency
            gravity = np.zeros(dofs[1] - dofs[0])
            for d in range(*dofs):
                body = int(model.dof_body[d])
                lever = state.body_jacobian(body, state.data.subtree_com[body])[2, d]
                gravity[d - dofs[0]] = model.subtree_masses[body] * GRAVITY * lever
            after = damping + self.dt * stiffness
            target = gravity + stiffness * off[k] - after * self.v[k]
            quantity = y.JointTorque(dofs, after)
            found.append(Objective(quantity, target, s.tail / inertia**2, name))
        return found

    def _adapt(self, targets: dict[str, Target]) -> None:
        """Place swinging feet where they catch the body, and let everything follow where feet really stand."""
        leg = self._retargeter.ours.leg if self._retargeter else 0.82
        height = self._retargeter.ours.com[2] - self.floor if self._retargeter else leg
        rate = math.sqrt(GRAVITY / max(height, 0.1 * leg))
        goal = targets["com"]
        place, speed = self.state.com()[:2], (self.state.com_jacobian() @ self.v)[:2]
        error = place - goal.place[:2] + (speed - goal.velocity[:2]) / rate
        size = float(np.hypot(*error))
        error *= min(1.0, self.settings.step_reach * leg / max(size, 1e-9))
        self._catch += (1.0 - math.exp(-self.dt / 0.06)) * (error - self._catch)
        standing = [limb for limb, stance in self.stances.items() if stance.stands]
        for limb, stance in self.stances.items():
            if not stance.stands:
                wanted = self._shift + self._catch
                moved = (1.0 - math.exp(-self.dt / 0.03)) * (wanted - self._foot_shift[limb])
                self._foot_shift[limb] = self._foot_shift[limb] + moved
                self._foot_speed[limb] = moved / self.dt
            else:
                self._foot_speed[limb] = np.zeros(2)
        if standing:
            mean = np.mean([self._foot_shift[limb] for limb in standing], axis=0)
            self._shift = self._shift + (1.0 - math.exp(-self.dt / 0.15)) * (mean - self._shift)

    def _settle(self, state: State) -> None:
        """A foot that has come down is held where it is, not where it should have come down."""
        for limb, stance in self.stances.items():
            is_down = bool(np.any(state.points[self.feet[limb], 2] < self.floor + NEAR * self.scale))
            if not stance.stands or stance.held is None:
                self._has_landed[limb] = False
            elif is_down and not self._has_landed[limb]:
                self._has_landed[limb] = True
                off = state.data.xpos[end_body(self.character, limb) + 1][:2] - stance.held.place[:2]
                self._foot_shift[limb] = self._foot_shift[limb] + off
                stance.held = _shifted(stance.held, off)

    def _watch(self, targets: dict[str, Target]) -> None:
        """Where the character is about to be lost the root is held softly, until it is back."""
        leg = self._retargeter.ours.leg if self._retargeter else 0.82
        goal = targets["pelvis"]
        off = float(np.linalg.norm(goal.place - self.state.data.xpos[1])) / leg
        up = rotations.multiply(self.q[3:7], rotations.conjugate(goal.turn))
        tilt = 2.0 * math.acos(min(1.0, abs(float(up[0]))))
        danger = max(off / ASTRAY, tilt / TILTED)
        if danger > 1.0:
            self._soft = 1.0
        elif danger < 0.4:
            self._soft = max(0.0, self._soft - self.dt / 0.3)
        self.has_fallen = self.has_fallen or danger > LOST

    def _joint_weights(self) -> tuple[Array, dict[str, tuple[int, int]]]:
        """Weight of the pose of each joint dof, and the dofs of each free limb."""
        s, character = self.settings, self.character
        weights = np.full(self.model.nv, s.pose_trunk)
        free: dict[str, tuple[int, int]] = {}
        kinds = {role.limb: role.kind for role in self.roles}
        for limb in character.limbs:
            kind = kinds.get(limb.name)
            dofs = [d for b in limb.bodies for d in _dofs(character, b)]
            if kind in ("support", "targeted"):
                weights[dofs] = s.pose_support if kind == "support" else s.pose_targeted
            elif kind == "free":
                weights[dofs] = 1e-3
                for b in limb.bodies:
                    own = _dofs(character, b)
                    free[f"{limb.name}: {character.bodies[b].name}"] = (own[0], own[-1] + 1)
        return weights[6:], free


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


def standing_pose(character: Character) -> Array:
    """Coordinates of how the character stands, shape (nq,): its rest pose "standing", else the skeleton's own."""
    from poise.body.posing import hinge_angle, motion_to_q
    from poise.core.motion import Motion

    skeleton = character.skeleton
    still = Motion(skeleton, np.zeros(1), skeleton.offsets[None].copy(), skeleton.rest_rotations[None].copy())
    q = motion_to_q(character, still)[0]
    names = [body.name for body in character.bodies]
    for name, turn in character.rest_poses.get("standing", {}).items():
        body = names.index(name)
        at = character.q_addresses[body]
        if character.bodies[body].kind == "hinge":
            axis = character.bodies[body].axis
            assert axis is not None
            q[at] = float(hinge_angle(axis, turn, character.bodies[body].rest_rotation))
        else:
            at += 3 if character.bodies[body].kind == "free" else 0
            q[at : at + 4] = turn
    return q


def _dofs(character: Character, body: int) -> list[int]:
    first = character.v_addresses[body]
    last = character.v_addresses[body + 1] if body + 1 < len(character.bodies) else character.nv
    return list(range(first, last))


def _foot_points(character: Character, limb: str) -> Index:
    bodies = next(item.bodies for item in character.limbs if item.name == limb)
    found = [i for i, p in enumerate(character.contact_points) if p.body in bodies]
    return np.array(found, dtype=np.int64)


def _lowest(character: Character, limb: str, places: Array, turns: Array) -> Array:
    """Mean of a limb's contact points, at the height of the lowest [m]; its end where it has none."""
    points = _foot_points(character, limb)
    if not len(points):
        return places[end_body(character, limb)].copy()
    chosen = [character.contact_points[int(i)] for i in points]
    at = np.stack([places[p.body] + rotations.rotate(turns[p.body], p.offset) for p in chosen])
    heights = at[:, 2] - np.array([p.radius for p in chosen])
    return np.array([*at[:, :2].mean(axis=0), heights.min()])


def _turn_to(turn: Array, wanted: Array) -> Array:
    """Rotation vector in the world from one orientation to another [rad]."""
    step = rotations.multiply(wanted, rotations.conjugate(turn))
    return rotations.to_rotation_vector(step if step[0] >= 0.0 else -step)


def _shifted(target: Target, shift: Array) -> Target:
    return replace(target, place=target.place + np.array([*shift, 0.0]))


def _above(target: Target, height: float, clearance: float) -> Target:
    """A foot's target no lower than the actor's sole is over its floor."""
    lift = max(0.0, height + clearance - target.place[2]) if target.place[2] < height else 0.0
    return replace(target, place=target.place + np.array([0.0, 0.0, lift]))
