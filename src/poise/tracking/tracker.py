"""Performance tracking, one pose after the other: an actor's pose in, a character's pose out.

    pose → retargeted, smoothed (actor) → standing feet held (targets) → list (lists) → step → pose

A character that is lost falls by `lists.falling` and gets up where it lies when the actor stands still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.rotations import eased
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.filter import falling, rising
from poise.filter.forces import Force, felt
from poise.physics import State
from poise.step import Contacts, Step, StepResult, solve_step
from poise.terrain import Terrain
from poise.tracking.actor import ActorMotion
from poise.tracking.balance import held_pull
from poise.tracking.calibration import (
    Posing,
    Style,
    bend_of,
    driven_arms,
    foot_of,
    inertia_of,
    model_with_ends,
    pose_at,
    put_on,
    standing_pose,
    style_of,
    unlocked,
    velocity_at,
    with_arms_of,
)
from poise.tracking.lists import RETURN_SHARE, Ground, Lists, Settings, Targets, ground_under, settings_of
from poise.tracking.losing import Counts, is_lost, off_targets, softness_after
from poise.tracking.plan import plan_ahead
from poise.tracking.prior import LIKENING, PosePrior
from poise.tracking.retarget import Retargeter, Role, Standing, propose_roles, require_size
from poise.tracking.stance import Foot, carrying_points, pelvis_drop, settle
from poise.tracking.targets import HELD_LOWEST, STYLING, TargetGenerator

ROOTS = ("hard", "soft", "strict")
NEAR = 0.012
"""Points this near the ground may carry, for a leg of 0.82 m [m]."""
BEGINNING_ROUNDS = 4
"""Rounds in which a pose is moved on to the targets while a run begins; the first pose may take 200."""
JOINING = 0.5
"""A character that another actor takes over comes to the new one's pose within so long [s]."""
STANDING_SPEED, STANDING_TIME = 0.3, 0.4
"""An actor whose pelvis is slower [m/s], for a leg of 0.82 m, and for so long [s], stands still."""
FASTEST, DIVERGED = 40.0, 50.0
"""Joints are not let turn faster [rad/s]. A root that is faster [m/s], for a leg of 0.82 m, has diverged: it stops."""


class PerformanceTracker:
    """Follows an actor pose by pose.

    Args:
        character: What is driven.
        actor: The actor's character, or its skeleton.
        dt: Time between poses and of a step [s]; up to 1/60 holds.
        roles: Of the character's limbs; proposed if not given.
        settings: Weights.
        root: "hard": no force acts at the root, except in steps that would lose the character; these are counted.
            "strict": never; the character falls instead. "soft": a small force may act at the root in every step.
        standing: Coordinates of the standing character, shape (nq,); the skeleton's rest pose if not given.
        actor_standing: The same of the actor; its skeleton's rest pose if that stands, else its first pose.
        actor_floor: Height of the actor's floor [m]; found while it runs if not given.
        floor: Height of the character's floor [m].
        actor_rate: Frames a second of the actor [1/s], where poses between them are interpolated; 1/dt if not given.
        recorded: All poses that `step` will be given, shape (F, nq of the actor), of one who is not live: rates are
            then taken from before and after, and nothing comes late.
        terrain: The character's ground; level at `floor` if not given.
        prior: Examples of its poses, to which joints are drawn.

    Attributes:
        q, v: Coordinates and velocities of the character.
        targets: Of the last pose; rows are the pelvis, the center of mass, and `rows` of driven limbs.
        is_beginning: Whether it only takes the actor's poses yet, to see how fast the actor is.
        mode: "following", "falling" or "rising".
        touching, contact_forces: Contact points that touched in the last step, shape (N,), and what pushed them [N],
            shape (N, 3).

    Example:
        >>> tracker = poise.tracking.PerformanceTracker(character, character, dt=motion.dt)
        >>> pose = tracker.step(poise.motion_to_q(character, motion)[0])
    """

    def __init__(
        self,
        character: Character,
        actor: Character | Skeleton,
        *,
        dt: float = 1.0 / 120.0,
        roles: Sequence[Role] | None = None,
        settings: Settings | None = None,
        root: str = "hard",
        standing: Array | None = None,
        actor_standing: Array | None = None,
        actor_floor: float | None = None,
        floor: float = 0.0,
        terrain: Terrain | None = None,
        actor_rate: float | None = None,
        recorded: Array | None = None,
        prior: PosePrior | None = None,
    ) -> None:
        if root not in ROOTS:
            raise InvalidValue(f"root is {root!r}; give {', '.join(ROOTS)}.")
        if not 0.0 < dt <= 1.0 / 50.0:
            raise InvalidValue(f"dt is {dt:g} s; give up to 0.02 s. Slower actors are interpolated.")
        self.character = character
        self.actor = actor if isinstance(actor, Character) else Character.fit(actor)
        require_size(character, self.actor)
        self.dt, self._actor_floor, self.terrain = dt, actor_floor, terrain
        self.floor = floor if terrain is None else terrain.ground
        self._every = 1 if actor_rate is None else max(1, round(1.0 / (dt * actor_rate)))
        self.settings = settings or settings_of(character)
        self._set_roles(propose_roles(character, self.actor) if roles is None else roles)
        self.root = root
        self.standing = standing_pose(character) if standing is None else standing.copy()
        self._actor_standing = actor_standing
        self._point_count = len(character.contact_points)
        self.q, self.v = self.standing.copy(), np.zeros(self.model.nv)
        self._forces: list[Force] = []
        self.time, self.counts, self.mode = 0.0, Counts(), "following"
        self.touching, self.contact_forces = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        self.scale = character.leg_scale
        self.feet: dict[str, Foot] = {}
        self._style: Style | None = None
        self._shares: dict[str, float] = {}
        self.prior = prior
        self._still_since, self.is_beginning, self.softness = 0.0, True, 1.0 if root == "soft" else 0.0
        self._joined: Array | None = None
        self._fall: falling.Fall | None = None
        self._rising: tuple[rising.Rising, Array] | None = None
        self._generator: TargetGenerator | None = None
        self._recorded = recorded

    @property
    def is_held(self) -> bool:
        """Whether a force at the root brings the character back that would be lost; see `root`."""
        return self.root == "hard" and self.softness > 0.0

    @property
    def facing(self) -> tuple[float, float]:
        """Where the actor and the character face as they stand [rad]; zero before the first pose."""
        if self._generator is None:
            return 0.0, 0.0
        return self._generator.motion.standing.yaw, self._generator.retargeter.ours.yaw

    @property
    def actor_floor(self) -> float | None:
        """Height of the actor's floor [m], given or found; None before the first pose of one that was not given."""
        return self._actor_floor if self._generator is None else self._generator.motion.floor

    def push(self, force: Force) -> None:
        """Let a push or pull act on the character; its start counts from the first pose [s].

        Raises:
            UnknownName: if the character has no such body.
        """
        force.body_of(self.character)
        self._forces = [*(f for f in self._forces if not f.is_over(self.time)), force]

    def set_weights(self, settings: Settings) -> None:
        """Follow by other weights and stiffnesses from the next step on."""
        self.settings = settings
        if self._generator is not None:
            self.lists.set_weights(settings)

    def set_style(self, style: Mapping[str, float]) -> None:
        """Let the character hold itself otherwise: shares of its rest poses by name, blended in within half a second.

        Joints and free limbs are drawn to that pose; ends of targeted limbs are shifted as it shifts them.

        Raises:
            UnknownName: if the character's file has no such rest pose.

        Example:
            >>> tracker.set_style({"sad": 0.8})
        """
        self._style, self._shares = style_of(self.character, self.standing, self.roles, self.rows, style), dict(style)

    def join(self, q: Array) -> None:
        """Begin in a pose (nq,) in which the character is already, and come to the actor's within half a second."""
        self._joined = q.copy()

    @property
    def shift(self) -> Array:
        """How far the character is off the actor's way, by the steps that kept it on its feet [m], shape (2,)."""
        return np.zeros(2) if self._generator is None else self._generator.shift.copy()

    def step(self, pose: Array, external: Array | None = None) -> Array:
        """Coordinates of the character (nq,) for the actor's (its nq,).

        Args:
            pose: Of the actor.
            external: Generalized force of pushes on the character, shape (nv,).
        """
        generator = self._generator or self._begin(pose)
        (motion := generator.motion).advance(pose)
        self.targets = self._next_targets(generator)
        self.counts.steps += 1
        out = None
        joins = self._joined is not None and self.time < JOINING
        is_first = motion.pose_count == 1
        if self.is_beginning and (joins or motion.is_young or is_first):
            # the first poses say where it begins and how fast
            if is_first:
                self.q = self._there(self.q)
            self.q = pose_at(self._posing, self.targets, self.q, 200 if is_first else BEGINNING_ROUNDS)
            self.q[2] += max(0.0, self._depth(self.q))
            self.v = velocity_at(self._posing, self.targets, self.q)
            if self._joined is not None:  # what it is off at first fades while it moves along
                if is_first:
                    self._joined = self.model.difference(self.q, self._joined, 1.0)
                rest = 1.0 - eased(min(1.0, (self.time + self.dt) / JOINING))
                out = self.model.integrate(self.q, rest * self._joined, 1.0)
            self.counts.steps -= 1
            self.counts.beginning_steps += 1
        elif self.mode == "following":
            self.is_beginning = False
            self._follow(generator, external)
        elif self.mode == "falling":
            self._fall_on(generator, external)
        else:
            self._rise_on(generator)
        self.time += self.dt
        return self.q.copy() if out is None else out

    # --- beginning

    def prepare(self, pose: Array) -> None:
        """Find the first pose before the first step, since that takes long, for a pose (nq,) like the actor's first."""
        generator = self._begin(pose)
        generator.motion.advance(pose)
        self.targets = self._next_targets(generator)
        near = pose_at(self._posing, self.targets, self._there(self.standing), 200)
        self._begin(pose)
        self.q = near

    def _begin(self, pose: Array) -> TargetGenerator:
        """Count ways and turns from how both stand, the actor where it is now and facing as it does."""
        motion = ActorMotion(
            self.actor,
            [role.actor for role in self._supports],
            pose,
            standing=self._actor_standing,
            floor=self._actor_floor,
            dt=self.dt,
            every=self._every,
        )
        generator = self._arrange(motion)
        self.q = self.standing.copy()
        return generator

    def set_roles(self, roles: Sequence[Role], actor_standing: Array | None = None) -> None:
        """Give the limbs other roles from the next step on; the character goes on from where it is, as fast as it is.

        Args:
            roles: Of the character's limbs.
            actor_standing: How the actor stands by these roles, shape (nq,); as before if not given.

        Raises:
            InvalidValue: if no limb would carry the character; the roles before stay.
        """
        self._set_roles(roles)
        if self._generator is None:
            self._actor_standing = self._actor_standing if actor_standing is None else actor_standing
            return
        before, pose, feet = self._generator, self.lists.pose, self.feet
        before.motion.stand_on([role.actor for role in self._supports], actor_standing)
        generator = self._arrange(before.motion)
        self.lists.pose = pose
        for limb, foot in self.feet.items():
            if limb in feet and feet[limb].driver == foot.driver:
                foot.go_on(feet[limb])
        generator.go_on(before)
        if self._shares:
            self.set_style(self._shares)

    def _set_roles(self, roles: Sequence[Role]) -> None:
        """What depends on the roles alone."""
        supports = [role for role in roles if role.kind == "support" and role.actor]
        if not supports:
            if not any(limb.kind == "leg" for limb in self.actor.limbs):
                names = ", ".join(limb.name for limb in self.actor.limbs) or "none"
                raise InvalidValue(
                    f"No legs were found in the actor (its limbs: {names}), so nothing carries the character. "
                    "If one of them is a leg, say so: left_leg<-LIMB, left_leg=support."
                )
            raise InvalidValue("No limb of the character is support; give one a role such as left_leg<-left_leg.")
        self.roles, self._supports = tuple(roles), supports
        driven = [role for role in self.roles if role.actor]
        self.rows = {role.limb: 2 + k for k, role in enumerate(driven)}
        self.model = model_with_ends(self.character, driven)
        self.state = State(self.model)

    def _arrange(self, motion: ActorMotion) -> TargetGenerator:
        """What depends on the roles and on how both stand."""
        character, supports = self.character, self._supports
        self.standing = put_on(character, self.standing, [role.limb for role in supports], self.floor)
        arms = driven_arms(character, self.actor, self.roles)
        alike = with_arms_of(character, self.standing, arms, motion.standing)
        places, turns = (x[0] for x in body_poses(character, alike[None]))
        ours = Standing.of(character, places, turns, self.floor)
        retargeter = Retargeter(self.actor, self.roles, motion.standing, ours, arms)
        inertia = inertia_of(self.state.at(self.standing, np.zeros(self.model.nv)))
        self.lists = Lists(character, self.model, self.roles, self.settings, self.standing, inertia, self._point_count)
        self.feet = {r.limb: foot_of(character, r, self.rows[r.limb], ours, places, turns, self.dt) for r in supports}
        bends = {r.limb: bend for r in supports if (bend := bend_of(character, r.limb, self.standing)) is not None}
        stiff = np.where([kind in ("trunk", "free") for kind in self.lists.kinds[6:]], 2.0, 0.2)
        carry = np.array([role.kind == "support" for role in self.roles if role.actor])
        lists, state = self.lists, self.state
        self._posing = Posing(
            self.model, state, lists.ends, carry, stiff, self.standing, self._ground, lists.joint_limits
        )
        motion.retarget(retargeter, [foot.row for foot in self.feet.values()], self._recorded)
        self._generator = generator = TargetGenerator(
            motion, retargeter, self.feet, bends, self.dt, self.floor, self.terrain
        )
        # led, more fall whose root is never held
        if self._recorded is not None and not motion.is_led and self.root != "strict":
            motion.lead(*plan_ahead(generator, self._recorded))
        return generator

    def _there(self, q: Array) -> Array:
        """A pose (nq,) where the pelvis should be."""
        return unlocked(self._posing, np.concatenate([self.targets.place[0], self.targets.turn[0], q[7:]]))

    def _next_targets(self, generator: TargetGenerator) -> Targets:
        """Targets for the actor's present pose; joints are drawn nearer to the pose of a style."""
        style, prior = self._style, self.prior
        if style is not None or prior is not None:
            pose = self.standing if style is None else style.pose
            if prior is not None:  # springs of free limbs stay
                way = prior.near(self.model.difference(self.standing, self.q, 1.0))
                pose = self.model.integrate(pose, np.where(self.lists.is_free, 0.0, way), 1.0)
            part = 1.0 if self.is_beginning else 1.0 - math.exp(-self.dt / (STYLING if prior is None else LIKENING))
            towards = self.model.difference(self.lists.pose, pose, 1.0)
            towards[:6] = 0.0
            self.lists.pose = self.model.integrate(self.lists.pose, part * towards, 1.0)
        shifts = None if style is None else style.shifts
        return generator.advance(self.time, shifts, is_beginning=self.is_beginning)

    def _ground(self) -> Ground:
        return ground_under(self.state, self._point_count, self.terrain, self.floor, self.time)

    # --- steps

    def _follow(self, generator: TargetGenerator, external: Array | None) -> None:
        """One step that follows the targets."""
        self.state.at(self.q, self.v)
        ground = self._ground()
        touching = self.state.points[np.flatnonzero(ground.gap < 2.0 * NEAR * self.scale), :2]
        com, speed = self.state.data.subtree_com[1], self.state.com_velocity()[:2]
        generator.is_held = self.is_held
        pull = generator.balance(com, speed, self._level_of(ground), touching, self.settings)
        settle(self.feet.values(), self.state, ground.gap, NEAR * self.scale)
        self._watch(generator)
        step = self._step(ground, felt(self.state, self.character, self._forces, self.time, external))
        goal = self.targets
        held, stands = carrying_points(self.feet.values(), goal.place, goal.turn, ground.gap, NEAR * self.scale)
        if generator.is_held:  # a leg that does not reach its foot would pull the pelvis down: it drags the foot along
            for foot in self.feet.values():
                if pelvis_drop([foot], goal.place, goal.turn[0]) > HELD_LOWEST * generator.retargeter.ours.leg:
                    held = np.setdiff1d(held, foot.points)
        self.targets = self.targets._replace(held=stands)
        knees = generator.bend_knees(self.model, self.q, self.state.data.xpos[1], self.targets)
        self.targets = self.targets._replace(knees=knees)
        result = None
        if self.is_held:
            pull = held_pull(goal.place[1], goal.velocity[1], goal.acceleration[1], com, speed)
        alarm, stillness = generator.alarm, generator.stillness
        for softness in dict.fromkeys((self.softness, 1.0)):
            try:
                terms = self.lists.following(
                    step, self.q, self.v, self.targets, pull, ground, held, softness, alarm, stillness
                )
                result = solve_step(step, *terms, costs=False)
                break
            except StepInfeasible:
                if self.root == "strict":
                    break
        self.counts.fallback_steps += self.is_held or (result is None and self.root != "soft")
        self._move(step, result)

    def _step(self, ground: Ground, external: Array | None) -> Step:
        low = np.flatnonzero(ground.gap < NEAR * self.scale)
        contacts = Contacts.found(self.model, low, ground.normal[low], self.settings.friction)
        return Step(self.state, contacts, dt=self.dt, external=external)

    def _move(self, step: Step, result: StepResult | None) -> None:
        """Advance the state by what was solved; without a solution it is carried on, slower."""
        self.touching, self.contact_forces = step.contacts.points[:0], np.zeros((0, 3))
        if result is not None:
            self.touching, self.contact_forces = step.contacts.points, result.forces
            self.counts.root_force.append(math.sqrt(float(result.torque[:3] @ result.torque[:3])))
            self.v = self.v + self.dt * result.a
        else:
            self.counts.carried += 1
            self.v = 0.9 * self.v
        np.maximum(np.minimum(self.v[6:], FASTEST), -FASTEST, out=self.v[6:])
        if not math.hypot(*self.v[:3]) < DIVERGED * math.sqrt(self.scale):
            self.counts.carried += 1
            self.v = np.zeros(self.model.nv)
        self.q = self.model.integrate(self.q, self.v, self.dt)

    def _level_of(self, ground: Ground) -> float:
        """Mean height of the ground under the contact points [m]."""
        return float(np.mean(self.state.points[: len(ground.gap), 2] - ground.gap)) if len(ground.gap) else self.floor

    def _watch(self, generator: TargetGenerator) -> None:
        """Hold the root while the character is about to be lost; let it fall where that is not allowed."""
        leg, goal = generator.retargeter.ours.leg, self.targets
        off = off_targets(self.state.data.xpos[1], self.q[3:7], goal.place[0], goal.turn[0], generator.sunk, leg)
        self.counts.see(off.low, off.lean, self.dt)
        if self.root == "hard":
            self.softness = softness_after(self.softness, off, generator.unsteady, self.dt)
        if is_lost(off, self.softness, self.root):
            self.counts.falls, self.mode, self._still_since = self.counts.falls + 1, "falling", 0.0
            speed, places = self.state.com_velocity(), self.state.data.xpos[1:]
            self._fall = falling.begun(self.character, self.q, speed, places)

    # --- falling and rising

    def _fall_on(self, generator: TargetGenerator, external: Array | None) -> None:
        """One step of a fall; it gets up when it has lain for a while and the actor stands still."""
        assert self._fall is not None
        state = self.state.at(self.q, self.v)
        ground = self._ground()
        height = float(generator.retargeter.ours.com[2]) - self.floor
        low = np.flatnonzero(ground.gap < NEAR * self.scale)
        speeds = state.point_velocities[low]
        low = low[falling.presses(speeds, ground.normal[low], ground.gap[low], RETURN_SHARE / self.dt)]
        contacts = Contacts(low, ground.normal[low], self.settings.friction)
        pushed = felt(state, self.character, self._forces, self.time, external)
        step = Step(state, contacts, dt=self.dt, external=pushed)
        result = None
        with suppress(StepInfeasible):
            terms = self.lists.falling(step, self.q, self.v, self._fall, ground)
            result = solve_step(step, *terms, costs=False)
        speed = float(np.linalg.norm(state.com_velocity()))
        high = falling.highness(float(state.com()[2]) - self._level_of(ground), height)
        self._fall = falling.later(self._fall, speed, high, self.dt)
        self.counts.fallen_steps += 1
        self._move(step, result)
        fast = float(np.linalg.norm(self.targets.velocity[0])) / math.sqrt(self.scale)
        self._still_since = self._still_since + self.dt if fast < STANDING_SPEED else 0.0
        if self._fall.rested > rising.REST and self._still_since > STANDING_TIME:
            self._begin_rising(generator)

    def _begin_rising(self, generator: TargetGenerator) -> None:
        """Get up where it lies, into the actor's pose."""
        self.mode = "rising"
        generator.restart_at(self.q[:2])
        self.targets = self._next_targets(generator)
        pose = pose_at(self._posing, self.targets, self._there(self.standing), 200)
        self._rising = (rising.begin(self.q, None, pose, self.character), pose)

    def _rise_on(self, generator: TargetGenerator) -> None:
        assert self._rising is not None
        state, pose = self._rising
        self.touching, self.contact_forces = self.touching[:0], np.zeros((0, 3))
        before, self.q = self.q, rising.pose(state, pose, self.character, self.dt, self._depth)
        self.v = self.model.difference(before, self.q, self.dt)
        self.counts.rising_steps += 1
        self._rising = (state := rising.later(state, np.zeros(2), self.dt)), pose
        if state.since >= state.duration(self.dt):
            generator.restart_at(self.q[:2])
            self.v = np.zeros(self.model.nv)
            self.mode, self._fall, self._rising = "following", None, None
            self.softness = 1.0 if self.root == "soft" else 0.0

    def _depth(self, q: Array) -> float:
        """How deep the deepest contact point of a pose (nq,) is in the ground [m]; negative above it."""
        self.state.move_to(q, np.zeros(self.model.nv))
        self.state.touch()
        gap = self._ground().gap
        return -float(gap.min()) if len(gap) else 0.0
