"""Performance tracking, one pose after the other: an actor's pose in, a character's pose out.

    pose → targets (retarget) → smoothed (smooth) → standing feet held (stance) → list (lists) → step → pose

A character that is lost falls by `lists.falling` and gets up where it lies when the actor stands still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, interpolate_q
from poise.core import rotations
from poise.core.errors import InvalidValue, StepInfeasible
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.core.units import GRAVITY
from poise.filter import falling, rising
from poise.filter.forces import Force
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.step import Contacts, Step, StepResult, solve_step
from poise.terrain import Terrain
from poise.tracking.balance import Sway, balance, must_carry, off_soles, restlessness
from poise.tracking.calibration import (
    Bend,
    Posing,
    Style,
    bend_of,
    driven_arms,
    foot_of,
    in_style,
    limb_points,
    model_with_ends,
    pose_at,
    put_on,
    standing_at,
    standing_pose,
    style_of,
    velocity_at,
    with_arms_of,
)
from poise.tracking.lists import Ground, Knees, Lists, Settings, Targets, settings_of
from poise.tracking.retarget import Retargeter, Role, Standing, end_body, propose_roles
from poise.tracking.smooth import Known, Smoother, Soles
from poise.tracking.stance import HIGH, Foot, Goal, Sinking, carrying_points, pelvis_drop

ROOTS = ("hard", "soft", "strict")
NEAR = 0.012
"""Points this near the ground may carry, for a leg of 0.82 m [m]."""
ASTRAY, TILTED = 0.35, 0.7
"""Where the pelvis is further from its target than this, in legs, or tilted further [rad], the root is held softly."""
CAUGHT = 0.6
"""It is held too where a foot would have to go further than this to catch the body, in legs."""
HARDEST, HELD_STIFFNESS = 1e3, 36.0
"""How much more than the soft root a root may be held [1], and the stiffness of its way [1/s²]."""
LOST, STRICTLY_LOST = 2.3, 1.8
"""So many times `ASTRAY` or `TILTED`, and the character falls; the second for a root that is never held [1]."""
BEGINNING = 6
"""Least number of first poses that are taken as they are, to measure the actor's velocity; noise needs more."""
KNOWN_SPEED = 3
"""So many first poses of a live actor do not say how fast its feet are."""
JOINING = 0.5
"""A character that another actor takes over comes to the new one's pose within so long [s]."""
STILL, STILL_TIME = 0.3, 0.4
"""An actor whose pelvis is slower [m/s], for a leg of 0.82 m, and for so long [s], stands still."""
STYLING = 0.2
"""Time constant with which a style is blended in [s]."""
CARRIED = 0.05
"""Where the force on the actor acts is averaged over so long [s]."""
LEANING = 0.2
"""The center of mass is brought over the soles within so long [s]."""
RISING = 0.2
"""Targets rise with the ground under the feet within so long [s]."""
LOWEST = 0.3
"""The pelvis is lowered by so many legs at the most, for legs to reach their feet."""
FASTEST, DIVERGED = 40.0, 50.0
"""Joints are not let turn faster [rad/s]. A root that is faster [m/s], for a leg of 0.82 m, has diverged: it stops."""


@dataclass
class Counts:
    """What a run counts."""

    beginning_steps: int = 0
    steps: int = 0
    fallback_steps: int = 0
    carried: int = 0
    falls: int = 0
    fallen_steps: int = 0
    rising_steps: int = 0
    root_force: list[float] = field(default_factory=list)


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

    Attributes:
        q, v: Coordinates and velocities of the character.
        targets: Of the last pose; rows are the pelvis, the center of mass, and `rows` of driven limbs.
        is_beginning: Whether it only takes the actor's poses yet, to see how fast the actor is.
        mode: "following", "falling" or "rising".
        touching, contact_forces: Contact points that touched in the last step, shape (N,), and what pushed them [N],
            shape (N, 3).

    Example:
        >>> tracker = PerformanceTracker(raptor, actor, dt=motion.dt)
        >>> poses = [tracker.step(q) for q in poise.motion_to_q(actor, motion)]
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
    ) -> None:
        if root not in ROOTS:
            raise InvalidValue(f"root is {root!r}; give {', '.join(ROOTS)}.")
        if not 0.0 < dt <= 1.0 / 50.0:
            raise InvalidValue(f"dt is {dt:g} s; give up to 0.02 s. Slower actors are interpolated.")
        self.character = character
        self.actor = actor if isinstance(actor, Character) else Character.fit(actor)
        self.dt, self.actor_floor, self.terrain = dt, actor_floor, terrain
        self.floor = floor if terrain is None else terrain.ground
        self._every = 1 if actor_rate is None else max(1, round(1.0 / (dt * actor_rate)))
        self.settings = settings or settings_of(character)
        self.roles = tuple(propose_roles(character, self.actor) if roles is None else roles)
        if not any(role.kind == "support" and role.actor for role in self.roles):
            raise InvalidValue("No limb of the character is support; give one a role such as left_leg<-left_leg.")
        self.root = root
        self.standing = standing_pose(character) if standing is None else standing.copy()
        self._actor_standing = actor_standing
        driven = [role for role in self.roles if role.actor]
        self.rows = {role.limb: 2 + k for k, role in enumerate(driven)}
        self._point_count = len(character.contact_points)
        self.model = model_with_ends(character, driven)
        self.state = State(self.model)
        self._actor_state = State(model_of(self.actor))
        self._actor_still = np.zeros(self.actor.nv)
        self.q, self.v = self.standing.copy(), np.zeros(self.model.nv)
        self._forces: list[Force] = []
        self.time, self.counts, self.mode, self._poses = 0.0, Counts(), "following", 0
        self.touching, self.contact_forces = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        self.scale = character.leg_scale
        self.feet: dict[str, Foot] = {}
        self._lean, self._force = np.zeros(2), np.zeros(2)
        self._style: Style | None = None
        self._styled = np.zeros((2 + len(self.rows), 6))
        self._shift, self._catch, self._rise, self._sinking = np.zeros(2), np.zeros(2), 0.0, Sinking()
        self.softness = 1.0 if root == "soft" else 0.0
        self._still_since, self.is_beginning = 0.0, True
        self._joined: Array | None = None
        self._fall: falling.Fall | None = None
        self._rising: tuple[rising.Rising, Array] | None = None
        self._bends: dict[str, Bend] = {}
        self._bent: dict[str, Array] = {}
        self._retargeter: Retargeter | None = None
        self._recorded = recorded
        self._known: tuple[Known, ...] = ()
        self._live: tuple[Smoother, Soles] | None = None

    @property
    def has_fallen(self) -> bool:
        """Whether it fell, once or more often."""
        return self.counts.falls > 0

    @property
    def facing(self) -> tuple[float, float]:
        """Where the actor and the character face as they stand [rad]; zero before the first pose."""
        return (0.0, 0.0) if self._retargeter is None else (self._retargeter.theirs.yaw, self._retargeter.ours.yaw)

    def push(self, force: Force) -> None:
        """Let a push or pull act on the character; its start counts from the first pose [s].

        Raises:
            UnknownName: if the character has no such body.
        """
        force.body_of(self.character)
        self._forces.append(force)

    def set_weights(self, settings: Settings) -> None:
        """Follow by other weights and stiffnesses from the next step on."""
        self.settings = settings
        if self._retargeter is not None:
            self.lists.set_weights(settings)

    def set_style(self, style: Mapping[str, float]) -> None:
        """Let the character hold itself otherwise: shares of its rest poses by name, blended in within half a second.

        Joints and free limbs are drawn to that pose; ends of targeted limbs are shifted as it shifts them.

        Raises:
            UnknownName: if the character's file has no such rest pose.

        Example:
            >>> tracker.set_style({"sad": 0.8})
        """
        self._style = style_of(self.character, self.standing, self.roles, self.rows, style)

    def join(self, q: Array) -> None:
        """Begin in a pose (nq,) in which the character is already, and come to the actor's within half a second."""
        self._joined = q.copy()

    @property
    def shift(self) -> Array:
        """How far the character is off the actor's way, by the steps that kept it on its feet [m], shape (2,)."""
        return self._shift.copy()

    def step(self, pose: Array, external: Array | None = None) -> Array:
        """Coordinates of the character (nq,) for the actor's (its nq,).

        Args:
            pose: Of the actor.
            external: Generalized force of pushes on the character, shape (nv,).
        """
        if self._retargeter is None:
            self._begin(pose)
        if self._live is not None:
            smoother, soles = self._live
            at, sole_at = self._wanted(pose)
            smoother.add(at)
            soles.add(sole_at)
        for rows in self._known:
            rows.advance()
        self._find_floor()
        self.targets = self._cleaned()
        self.counts.steps += 1
        out = None
        joins = self._joined is not None and self.time < JOINING
        is_young = self._live is not None and (self._live[0].is_young or self._poses < BEGINNING)
        if self.is_beginning and (joins or is_young or not self._poses):
            # the first poses say where it begins and how fast
            self.q = pose_at(
                self._posing, self.targets, self.q if self._poses else self._there(), 12 if self._poses else 200
            )
            self.q[2] += max(0.0, self._depth(self.q))
            self.v = velocity_at(self._posing, self.targets, self.q)
            self._poses += 1
            if self._joined is not None:
                part = min(1.0, (self.time + self.dt) / JOINING)
                ends, part = np.stack([self._joined, self.q]), part * part * (3.0 - 2.0 * part)
                out = interpolate_q(self.character, np.array([0.0, 1.0]), ends, np.array([part]))[0]
            self.counts.steps -= 1
            self.counts.beginning_steps += 1
        elif self.mode == "following":
            self.is_beginning = False
            self._follow(external)
        elif self.mode == "falling":
            self._fall_on(external)
        else:
            self._rise_on()
        self.time += self.dt
        return self.q.copy() if out is None else out

    # --- beginning

    def _begin(self, pose: Array) -> None:
        """Count ways and turns from how both stand, the actor where it is now and facing as it does."""
        if self._actor_standing is None:
            self._actor_standing = standing_pose(self.actor, pose[None])
        places = self._actor_at(pose)
        supports = [role for role in self.roles if role.kind == "support" and role.actor]
        self._actor_points = {role.limb: limb_points(self.actor, role.actor) for role in supports}
        self._actor_ends = {role.limb: end_body(self.actor, role.actor) for role in supports}
        self._floor_is_found = self.actor_floor is not None
        if self.actor_floor is None:
            points = self._actor_state.points
            self.actor_floor = min(float(self._sole(role.limb, points, places)[2]) for role in supports)
        driven = [role.actor for role in supports]
        theirs = standing_at(self.actor, self._actor_standing, driven, self.actor_floor, places)
        self.standing = put_on(self.character, self.standing, [role.limb for role in supports], self.floor)
        arms = driven_arms(self.character, self.actor, self.roles)
        alike = with_arms_of(self.character, self.standing, arms, theirs)
        own_places, own_turns = (x[0] for x in body_poses(self.character, alike[None]))
        ours = Standing.of(self.character, own_places, own_turns, self.floor)
        self._retargeter = Retargeter(self.actor, self.roles, theirs, ours, arms)
        self.state.at(self.standing, np.zeros(self.model.nv))
        off = self.state.data.xipos[1:] - self.state.com()
        inertia = float(np.sum(self.model.body_masses[1:] * np.sum(off**2, axis=1)) * 2.0 / 3.0)
        self.lists = Lists(
            self.character, self.model, self.roles, self.settings, self.standing, inertia, self._point_count
        )
        for role in supports:
            row = self.rows[role.limb]
            self.feet[role.limb] = foot_of(self.character, role.limb, row, ours, own_places, own_turns, self.dt)
            if (bend := bend_of(self.character, role.limb, self.standing)) is not None:
                self._bends[role.limb] = bend
        kinds = {role.limb: role.kind for role in self.roles}
        stiff = np.where([kind in ("trunk", "free") for kind in self.lists.kinds[6:]], 2.0, 0.2)
        carry = np.array([kinds[limb] == "support" for limb in self.rows])
        self._posing = Posing(self.model, self.state, self.lists.ends, carry, stiff, self.standing)
        self.q = self.standing.copy()
        if self._recorded is not None:
            rows, soles = zip(*(self._wanted(at) for at in self._recorded), strict=True)
            self._known = (Known(np.array(rows), self.dt, self._every), Known(np.array(soles), self.dt, self._every))
            self._smoother, self._soles = self._known
            return
        scale, swift = theirs.leg / 0.95, [foot.row for foot in self.feet.values()]
        self._live = (
            Smoother(2 + len(self.rows), self.dt, scale, self._every, swift),
            Soles(self.dt, scale, self._every),
        )
        self._smoother, self._soles = self._live

    def _there(self) -> Array:
        """The standing pose where the pelvis should be."""
        q = self.standing.copy()
        q[:3], q[3:7] = self.targets.place[0], self.targets.turn[0]
        return q

    # --- targets

    def _actor_at(self, pose: Array) -> Array:
        """Places of the actor's bodies in a pose [m], shape (B, 3)."""
        self._actor_state.move_to(pose, self._actor_still)
        self._actor_state.touch()
        return self._actor_state.data.xpos[1:]

    def _wanted(self, pose: Array) -> tuple[Array, Array]:
        """Rows of the targets for a pose of the actor, places and turns (T, 7), and of its soles (S, 3)."""
        assert self._retargeter is not None
        places, data = self._actor_at(pose), self._actor_state.data
        place, turn = self._retargeter.targets(places, data.xquat[1:], data.subtree_com[1])
        soles = [self._sole(limb, self._actor_state.points, places) for limb in self.feet]
        return np.concatenate([place, turn], axis=1), np.array(soles)

    def _sole(self, limb: str, points: Array, places: Array) -> Array:
        """Mean of the contact points of an actor's limb, at the height of the lowest [m]; its end without any."""
        own = self._actor_points[limb]
        if not len(own):
            return places[self._actor_ends[limb]].copy()
        at = points[own]
        out = at.sum(axis=0) / len(own)
        out[2] = at[:, 2].min()
        return out

    def _find_floor(self) -> None:
        """The actor's floor, where it was not given: what its soles come down to."""
        if self._floor_is_found:
            return
        assert self.actor_floor is not None
        lowest = float(self._soles.x[:, 2].min())
        # down within 0.05 s, up within 25 s: soles in the air say little
        rate = 0.05 if lowest < self.actor_floor else 25.0
        self.actor_floor += (1.0 - math.exp(-self.dt / rate)) * (lowest - self.actor_floor)

    def _cleaned(self) -> Targets:
        """Targets with standing feet held, and all of them where the feet really are."""
        retargeter, smooth = self._retargeter, self._smoother
        assert retargeter is not None
        assert self.actor_floor is not None
        count = 2 + len(self.rows)
        place, velocity, acceleration = smooth.x[:count, :3].copy(), smooth.v[:count, :3].copy(), smooth.a[:count, :3]
        acceleration, turn, spin = acceleration.copy(), smooth.turns[:count], smooth.spins[:count]
        place[:, 2] -= retargeter.ratio * (self.actor_floor - retargeter.theirs.floor)
        held = np.zeros(count, dtype=np.bool_)
        heights = self._ground_under(np.array([place[foot.row, :2] + foot.shift for foot in self.feet.values()]))
        place[:, :2] += self._shift
        scale = retargeter.theirs.leg / 0.95
        carrying = self._must_carry()
        for k, foot in enumerate(self.feet.values()):
            row = foot.row
            # a live actor's first poses do not say how fast it is
            begins = self.is_beginning and (self._live is None or self._poses >= KNOWN_SPEED)
            speed = self._soles.v[k]
            over = foot.over(float(self._soles.x[k, 2]) - self.actor_floor, speed, scale, begins=begins)
            goal = Goal(place[row], velocity[row], acceleration[row], turn[row], spin[row])
            goal.place[:2] += foot.shift - self._shift
            goal.velocity[:2] += foot.drift
            # a foot's target is no lower than the actor's sole is over its floor
            if goal.place[2] < self.floor + foot.height:
                goal.place[2] = self.floor + foot.height + max(0.0, over) * retargeter.ratio
            goal.place[2] += heights[k] - self.floor
            goal.turn = foot.leveled(over, speed, scale, goal, begins=begins)
            carries = foot is carrying and over < HIGH * scale
            others = any(foot is not other and other.stands and other.has_landed for other in self.feet.values())
            foot.decide(over, speed, scale, goal, heights[k], others=others, carries=carries, begins=begins)
            goal = foot.hold(goal)
            place[row], velocity[row], acceleration[row] = goal.place, goal.velocity, goal.acceleration
            turn[row], spin[row] = goal.turn, goal.spin
        if self.terrain is not None:
            climbed = (1.0 - math.exp(-self.dt / RISING)) * (float(np.mean(heights)) - self.floor - self._rise)
            self._rise += climbed
            rows = np.array([row for row in range(count) if row not in {foot.row for foot in self.feet.values()}])
            place[rows, 2] += self._rise
            velocity[rows, 2] += climbed / self.dt
        if self._style is not None:
            self._blend_style(self._style)
            place, turn = in_style(place, turn, self._styled)
        drop = min(pelvis_drop(self.feet.values(), place, turn[0]), LOWEST * retargeter.ours.leg)
        self._sinking = Sinking(drop) if self.is_beginning else self._sinking.toward(drop, self.dt)
        place[0, 2] -= self._sinking.depth
        velocity[0, 2] -= self._sinking.speed
        acceleration[0, 2] -= self._sinking.acceleration
        stand = [place[foot.row, :2] + foot.arms() for foot in self.feet.values() if foot.stands]
        if stand:
            off = off_soles(place[1, :2], velocity[1, :2], np.concatenate(stand))
            self._lean += (1.0 if self.is_beginning else 1.0 - math.exp(-self.dt / LEANING)) * (off - self._lean)
        place[1, :2] -= self._lean
        return Targets(place, velocity, acceleration, turn, spin, held)

    def _must_carry(self) -> Foot | None:
        """The foot that the actor's weight must be on though it seems not to stand."""
        assert self._retargeter is not None
        smooth, leg = self._smoother, self._retargeter.ours.leg
        rate = GRAVITY / max(float(smooth.x[1, 2]) - self.floor, 0.3 * leg)
        force = smooth.x[1, :2] - smooth.a[1, :2] / rate
        self._force += (1.0 if self.is_beginning else 1.0 - math.exp(-self.dt / CARRIED)) * (force - self._force)
        return must_carry(self._force, tuple(self.feet.values()), smooth.x[:, :2], leg)

    def _blend_style(self, style: Style) -> None:
        """Come nearer to a style: the pose that joints are drawn to, and the shifts of targets."""
        part = 1.0 if self.is_beginning else 1.0 - math.exp(-self.dt / STYLING)
        towards = self.model.difference(self.lists.pose, style.pose, 1.0)
        towards[:6] = 0.0
        self.lists.pose = self.model.integrate(self.lists.pose, part * towards, 1.0)
        self._styled += part * (style.shifts - self._styled)

    def _ground_under(self, places: Array) -> list[float]:
        """Height of the character's ground under places (K, 2) [m]."""
        if self.terrain is None:
            return [self.floor] * len(places)
        return self.terrain.heights(places, self.time).tolist()

    def _ground(self) -> Ground:
        """The ground under the contact points of the state, which are put against it."""
        count = self._point_count
        if self.terrain is None:
            normal = np.zeros((count, 3))
            normal[:, 2] = 1.0
            return Ground(self.state.points[:count, 2] - self.floor, normal)
        self.state.touch(np.ascontiguousarray(self.terrain.sample(self.state.centers[:, :2], self.time).normal))
        found = self.terrain.sample(self.state.points[:count, :2], self.time)
        gap = (self.state.points[:count, 2] - found.height) * found.normal[:, 2]
        return Ground(gap, np.ascontiguousarray(found.normal))

    # --- steps

    def _felt(self, external: Array | None) -> Array | None:
        """Generalized force of all pushes that act now, shape (nv,)."""
        out, state = external, self.state
        for force in self._forces:
            if not force.is_on(self.time):
                continue
            body = force.body_of(self.character) + 1
            place = state.data.xipos[body].copy() if force.offset is None else state.body_place(body, force.offset)
            speed = state.body_point_motion(body, place)[0]
            push = force.force_at(place, speed, self.time, float(self.model.body_masses[body]))
            felt = state.external_torque(body, place, push)
            out = felt if out is None else out + felt
        return out

    def _follow(self, external: Array | None) -> None:
        """One step that follows the targets."""
        self.state.at(self.q, self.v)
        ground = self._ground()
        pull = self._balance(ground)
        self._settle(ground)
        self._watch()
        step = self._step(ground, self._felt(external))
        held, stands = carrying_points(
            self.character, self.feet, self.targets.place, self.targets.turn, ground.gap, NEAR * self.scale
        )
        self.targets = self.targets._replace(held=stands)
        self.targets = self.targets._replace(knees=self._knees())
        result = None
        if self.softness > 0.0 and self.root == "hard":
            pull = self._held_pull()
        for softness in dict.fromkeys((self.softness, 1.0)):
            try:
                terms = self.lists.following(step, self.q, self.v, self.targets, pull, ground, held, softness)
                result = solve_step(step, *terms, costs=False)
                break
            except StepInfeasible:
                if self.root == "strict":
                    break
        self.counts.fallback_steps += self.root != "soft" and (self.softness > 0.0 or result is None)
        self._move(step, result)

    def _held_pull(self) -> Array:
        """What is asked of the center of mass where the root is held: the actor's way."""
        goal, k = self.targets, HELD_STIFFNESS
        off = goal.place[1, :2] - self.state.data.subtree_com[1][:2]
        slow = goal.velocity[1, :2] - (self.state.com_jacobian() @ self.v)[:2]
        return goal.acceleration[1, :2] + k * off + 2.0 * math.sqrt(k) * slow

    def _step(self, ground: Ground, external: Array | None) -> Step:
        low = np.flatnonzero(ground.gap < NEAR * self.scale)
        contacts = Contacts(low, ground.normal[low], self.settings.friction)
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
        self.v[6:] = np.clip(self.v[6:], -FASTEST, FASTEST)
        if not np.linalg.norm(self.v[:3]) < DIVERGED * math.sqrt(self.scale):
            self.counts.carried += 1
            self.v = np.zeros(self.model.nv)
        self.q = self.model.integrate(self.q, self.v, self.dt)

    def _knees(self) -> Knees | None:
        """How the knees of legs that swing should be bent, for their ends to be where they should."""
        swinging = {name: foot for name, foot in self.feet.items() if not self.targets.held[foot.row]}
        hips = {name: rotations.rotate(self.q[3:7], foot.hip) for name, foot in self.feet.items()}
        ways = {
            name: self.targets.place[foot.row] - self.state.data.xpos[1] - hips[name]
            for name, foot in self.feet.items()
        }
        before, self._bent = (
            self._bent,
            {name: bend.knees_at(float(np.linalg.norm(ways[name]))) for name, bend in self._bends.items()},
        )
        found = [
            bend.toward(self.model, self.q, before.get(name, self._bent[name]), self._bent[name], self.dt)
            for name, bend in self._bends.items()
            if name in swinging
        ]
        return Knees(*(np.concatenate(part) for part in zip(*found, strict=True))) if found else None

    def _balance(self, ground: Ground) -> Array:
        """What is asked of the center of mass over the ground [m/s²], shape (2,).

        On the way swinging feet are placed to catch the body, and everything follows where feet really stand.
        """
        assert self._retargeter is not None
        ours, theirs, smooth, s = self._retargeter.ours, self._retargeter.theirs, self._smoother, self.settings
        com, speed = self.state.data.subtree_com[1], (self.state.com_jacobian() @ self.v)[:2]
        under = self._level_of(ground)
        own = Sway(com[:2].copy(), speed, np.zeros(2), max(float(com[2]) - under, 0.3 * ours.leg))
        height = self._retargeter.ratio * float(theirs.com[2] - theirs.floor)
        # the acceleration of one that rests is noise
        acceleration = restlessness(smooth.v[1, :2]) * smooth.a[1, :2]
        wanted = Sway(smooth.x[1, :2], smooth.v[1, :2], acceleration, height)
        wanted = wanted._replace(place=wanted.place - self._lean)
        touching = self.state.points[np.flatnonzero(ground.gap < 2.0 * NEAR * self.scale), :2]
        feet = tuple(self.feet.values())
        found = balance(
            own,
            wanted,
            feet,
            smooth.x[:, :2],
            self._shift,
            self._catch,
            touching,
            leg=ours.leg,
            dt=self.dt,
            gain=s.com_gain,
            reach=s.reach,
            step_reach=s.step_reach,
        )
        self._shift, self._catch = found.placed.shift, found.catch
        for foot, shift, drift in zip(feet, found.placed.shifts, found.placed.drifts, strict=True):
            foot.shift, foot.drift = shift, drift
        return found.pull

    def _level_of(self, ground: Ground) -> float:
        """Mean height of the ground under the contact points [m]."""
        return float(np.mean(self.state.points[: len(ground.gap), 2] - ground.gap)) if len(ground.gap) else self.floor

    def _settle(self, ground: Ground) -> None:
        """A foot that has come down is held where it is and as it faces, not where it should have come down."""
        for limb, foot in self.feet.items():
            if not foot.stands or foot.has_landed:
                continue
            if not len(foot.points) or ground.gap[foot.points].min() < NEAR * self.scale:
                foot.has_landed = True
                off = self.state.data.xpos[end_body(self.character, limb) + 1][:2] - foot.place[:2]
                foot.shift = foot.shift + off
                foot.place[:2] += off
                foot.face(self.state.data.xquat[end_body(self.character, limb) + 1])

    def _watch(self) -> None:
        """Hold the root softly while the character is about to be lost; let it fall where that is not allowed."""
        assert self._retargeter is not None
        leg, goal = self._retargeter.ours.leg, self.targets
        off = float(np.linalg.norm(goal.place[0] - self.state.data.xpos[1])) / leg
        tilt = 2.0 * math.acos(min(1.0, abs(float(self.q[3:7] @ goal.turn[0]))))
        danger = max(off / ASTRAY, tilt / TILTED)
        if self.root == "hard":
            if max(danger, float(np.linalg.norm(self._catch)) / (CAUGHT * leg)) > 1.0:
                self.softness = min(HARDEST, max(1.0, self.softness * math.exp(self.dt / 0.03)))
            elif danger < 0.4:
                self.softness = self.softness * math.exp(-self.dt / 0.05) if self.softness > 0.1 else 0.0
        is_held = self.root == "hard" and self.softness < HARDEST  # it may still be saved
        if danger > (STRICTLY_LOST if self.root == "strict" else LOST) and not is_held:
            self._begin_fall()

    # --- falling and rising

    def _begin_fall(self) -> None:
        self.counts.falls += 1
        self.mode = "falling"
        self._fall = falling.begun(self.character, self.q, self.state.com_jacobian() @ self.v, self.state.data.xpos[1:])
        self._still_since = 0.0

    def _fall_on(self, external: Array | None) -> None:
        """One step of a fall; it gets up when it has lain for a while and the actor stands still."""
        assert self._fall is not None
        assert self._retargeter is not None
        state = self.state.at(self.q, self.v)
        ground = self._ground()
        height = float(self._retargeter.ours.com[2]) - self.floor
        low = np.flatnonzero(ground.gap < NEAR * self.scale)
        low = low[falling.presses(state.point_velocities[low], ground.normal[low], ground.gap[low])]
        contacts = Contacts(low, ground.normal[low], self.settings.friction)
        step = Step(state, contacts, dt=self.dt, external=self._felt(external))
        result = None
        try:
            terms = self.lists.falling(step, self.q, self.v, self._fall, ground)
            result = solve_step(step, *terms, costs=False)
        except StepInfeasible:
            pass
        speed = float(np.linalg.norm(state.com_jacobian() @ self.v))
        high = falling.highness(float(state.com()[2]) - self._level_of(ground), height)
        self._fall = falling.later(self._fall, speed, high, self.dt)
        self.counts.fallen_steps += 1
        self._move(step, result)
        fast = float(np.linalg.norm(self.targets.velocity[0])) / math.sqrt(self.scale)
        self._still_since = self._still_since + self.dt if fast < STILL else 0.0
        if self._fall.rested > rising.REST and self._still_since > STILL_TIME:
            self._begin_rising()

    def _begin_rising(self) -> None:
        """Get up where it lies, into the actor's pose."""
        self.mode = "rising"
        self._place_at(self.q[:2])
        self.targets = self._cleaned()
        pose = pose_at(self._posing, self.targets, self._there(), 200)
        self._rising = (rising.begin(self.q, None, pose), pose)

    def _place_at(self, where: Array) -> None:
        """Let all targets follow from a place (2,), standing on no foot."""
        self._shift = where - self._smoother.x[0, :2]
        self._catch = np.zeros(2)
        for foot in self.feet.values():
            foot.stands, foot.share, foot.shift, foot.drift = False, 0.0, self._shift.copy(), np.zeros(2)

    def _rise_on(self) -> None:
        assert self._rising is not None
        state, pose = self._rising
        self.touching, self.contact_forces = self.touching[:0], np.zeros((0, 3))
        before = self.q
        self.q = rising.pose(state, pose, self.character, self.dt, self._depth)
        self.v = self.model.difference(before, self.q, self.dt)
        self.counts.rising_steps += 1
        state = rising.later(state, np.zeros(2), self.dt)
        self._rising = (state, pose)
        if state.since >= state.duration(self.dt):
            self._place_at(self.q[:2])
            self.v = np.zeros(self.model.nv)
            self.mode, self._fall, self._rising = "following", None, None
            self.softness = 1.0 if self.root == "soft" else 0.0

    def _depth(self, q: Array) -> float:
        """How deep the deepest contact point of a pose (nq,) is in the ground [m]; negative above it."""
        self.state.move_to(q, np.zeros(self.model.nv))
        self.state.touch()
        gap = self._ground().gap
        return -float(gap.min()) if len(gap) else 0.0
