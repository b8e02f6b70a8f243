"""What turns an actor's poses into a character's, one after the other: `Tracking` and `Filtering`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from poise.body.character import Character
from poise.body.posing import body_poses, interpolate_q
from poise.core import rotations
from poise.core.errors import InvalidValue, PoiseError
from poise.core.rotations import eased
from poise.core.typing import Array
from poise.filter.forces import Force, Pull, Push
from poise.filter.setup import Options
from poise.filter.stream import QuasiPhysicalFilter
from poise.terrain import Terrain
from poise.tracking.calibration import standing_pose, styled_pose
from poise.tracking.lists import Settings, settings_of
from poise.tracking.protocols.playout import PAUSE
from poise.tracking.retarget import Role, heading, parse_roles, propose_roles, yaw_turn
from poise.tracking.run import RATE, RecordedActor
from poise.tracking.tracker import PerformanceTracker

EASE = 0.8
"""Time in which an actor whose stream is silent is brought to stand at ease, and back [s]."""
TOO_FAST = 15.0
"""A root of a person's size that is faster than this has flown off [m/s]."""
LOST_FOR = 10.0
"""A character that has lain on the ground for so long begins again where it was [s]."""


class Follower(Protocol):
    """What turns an actor's poses into a character's."""

    @property
    def character(self) -> Character:
        """What moves."""
        ...

    def meet(self, actor: Character, pose: Array | None = None) -> Callable[[], None]:
        """Get ready for an actor, in any thread. A call of what this returns lets it begin, or take over, at once.

        Args:
            actor: Who.
            pose: About where it will be, shape (nq,).
        """
        ...

    def step(self, pose: Array, still: float = 0.0) -> Array | None:
        """Coordinates of the character for the actor's; None while there are none yet.

        Args:
            pose: Of the actor, shape (nq,).
            still: For so long the stream has been silent, and this is its last pose [s].
        """
        ...

    def report(self) -> dict[str, Any]: ...


class Tracking:
    """A character of another shape follows: `PerformanceTracker`, whose roles, style and weights may change meanwhile.

    Args:
        character: What is driven.
        roles: Of its limbs, or as they are typed ("tail=free").
        settings, root, terrain: See `PerformanceTracker`.
        style: Shares of rest poses by name, see `PerformanceTracker.set_style`.
        pushes: They count their start from the first pose.
        recorded: The actor, if it is not live: all its poses are known then.

    Attributes:
        q: Coordinates of the character now, shape (nq,).
        pose: The actor's that `q` answers, shape (its nq,); None before the first.
        time: Since the first pose [s].
        tracker: What follows now; None before an actor was met.
    """

    def __init__(
        self,
        character: Character,
        *,
        roles: Sequence[Role] | str = "",
        settings: Settings | None = None,
        root: str = "hard",
        terrain: Terrain | None = None,
        style: Mapping[str, float] | None = None,
        pushes: Sequence[Force] = (),
        recorded: RecordedActor | None = None,
    ) -> None:
        self.character = character
        self.settings = settings or settings_of(character)
        self.terrain = terrain
        self._roles, self._root, self._recorded = roles, root, recorded
        self._style, self._pushes = dict(style or {}), tuple(pushes)
        for push in self._pushes:
            push.body_of(character)
        self.begin()
        if self._style:
            styled_pose(character, self.q, self._style)  # refuses what there is not

    def begin(self) -> None:
        """Stand as at first, before any actor; roles, style and weights stay."""
        self.tracker: PerformanceTracker | None = None
        self.restarts, self._steps = 0, 0
        self._counts: list[Any] = []
        self._forces: list[Force] = []
        self._actor: Character | None = None
        self._neutral: Array = np.zeros(0)
        self._rested, self._lost = 0.0, 0
        self.q, self.pose = standing_pose(self.character), None

    @property
    def time(self) -> float:
        return self._steps / RATE

    @property
    def roles(self) -> tuple[Role, ...]:
        """Of the character's limbs; none before an actor was met."""
        return () if self.tracker is None else self.tracker.roles

    @property
    def style(self) -> dict[str, float]:
        """Shares of rest poses by name [1]."""
        return dict(self._style)

    @property
    def actor(self) -> Character | None:
        """Who is followed."""
        return self._actor

    def set_actor(self, actor: Character) -> None:
        """An actor begins, or another one takes over."""
        self.meet(actor)()

    def meet(self, actor: Character, pose: Array | None = None) -> Callable[[], None]:
        asked, tracker, neutral = self._roles, self._tracker_for(actor, pose), grounded(actor, standing_pose(actor))

        def take() -> None:
            self._take(actor, tracker if self._roles is asked else self._tracker_for(actor, pose), neutral)

        return take

    def _tracker_for(self, actor: Character, pose: Array | None) -> PerformanceTracker:
        roles = self._roles_for(actor)
        before, standing = self.tracker, standing_pose(self.character)
        if before is not None:  # the character goes on from where it is, facing as it does
            turn = rotations.multiply(before.q[3:7], rotations.conjugate(before.standing[3:7]))
            standing[3:7] = rotations.multiply(yaw_turn(2.0 * math.atan2(turn[3], turn[0])), standing[3:7])
            standing[:2] = before.q[:2]
        recorded = self._recorded
        if recorded is None:
            about: dict[str, Any] = {"actor_standing": matched_standing_pose(actor, self.character, roles)}
        else:
            about = recorded.since(recorded.begin + self._steps)
        tracker = PerformanceTracker(
            self.character,
            actor,
            dt=1.0 / RATE,
            roles=roles,
            settings=self.settings,
            root=self._root,
            standing=standing,
            terrain=self.terrain,
            **about,
        )
        if pose is not None:
            tracker.prepare(pose)
        return tracker

    def _take(self, actor: Character, tracker: PerformanceTracker, neutral: Array) -> None:
        before, self.tracker = self.tracker, tracker
        if tracker.settings is not self.settings:
            tracker.set_weights(self.settings)
        if actor is not self._actor:
            self.pose = None
        self._actor, self._neutral, self._rested, self._lost = actor, neutral, 0.0, 0
        self._counts.append(tracker.counts)
        self._forces = list(self._pushes) if before is None else still_to_act(self._forces, before.time)
        for force in self._forces:
            tracker.push(force)
        if self._style:
            tracker.set_style(self._style)
        if before is not None:
            tracker.join(self.q)

    def step(self, pose: Array, still: float = 0.0) -> Array:
        assert self.tracker is not None
        self.pose = self._at_rest(pose, still)
        q = self.tracker.step(self.pose)
        self._steps += 1
        fast = float(np.abs(self.tracker.v[:3]).max()) > TOO_FAST * math.sqrt(self.character.leg_scale)
        self._lost = self._lost + 1 if self.tracker.mode == "falling" else 0
        if fast or not np.isfinite(q).all() or self._lost > LOST_FOR * RATE:
            self._begin_anew()
            return self.q.copy()
        self.q = q
        return q

    def push(self, force: Force) -> None:
        """Let a push or pull act; its start counts as `tracker.time`."""
        assert self.tracker is not None
        self.tracker.push(force)
        self._forces = [f for f in self._forces if not f.is_over(self.tracker.time)]
        self._forces.append(force)

    def set_style(self, style: Mapping[str, float]) -> None:
        """Blend another style in, see `PerformanceTracker.set_style`; it stays with the next actor."""
        if self.tracker is not None:
            self.tracker.set_style(style)
        self._style = dict(style)

    def set_weights(self, settings: Settings) -> None:
        """Follow by other weights; they stay with the next actor."""
        self.settings = settings
        if self.tracker is not None:
            self.tracker.set_weights(settings)

    def set_roles(self, roles: Sequence[Role]) -> None:
        """Give the limbs other roles; the character goes on from where it is, on its feet.

        Raises:
            InvalidValue: if no limb would carry the character; the roles before stay.
        """
        before, self._roles = self._roles, tuple(roles)
        if self._actor is None or self.tracker is None:
            return
        found, standing = self._roles_for(self._actor), None
        if self._recorded is None:
            standing = matched_standing_pose(self._actor, self.character, found)
        try:
            self.tracker.set_roles(found, standing)
        except InvalidValue:
            self._roles = before
            raise

    def _roles_for(self, actor: Character) -> tuple[Role, ...]:
        """The roles asked for; where this actor has not the limb that drives, the one proposed."""
        if isinstance(self._roles, str):
            return parse_roles(self._roles, self.character, actor)
        theirs = {limb.name for limb in actor.limbs}
        proposed = {role.limb: role for role in propose_roles(self.character, actor)}
        return tuple(
            role if not role.actor or role.actor in theirs else proposed.get(role.limb, Role(role.limb, "free"))
            for role in self._roles
        )

    def _at_rest(self, pose: Array, still: float) -> Array:
        """The actor's pose; where nothing has come for a while, standing at ease: nobody can stay in mid-stride."""
        assert self._actor is not None
        goal = 1.0 if still > PAUSE else 0.0
        step = 1.0 / (RATE * EASE)
        self._rested += max(-step, min(step, goal - self._rested))
        if self._rested <= 0.0:
            return pose
        neutral = self._neutral.copy()
        facing = heading(self._actor, body_poses(self._actor, pose[None])[0][0])
        own = heading(self._actor, body_poses(self._actor, neutral[None])[0][0])
        neutral[3:7] = rotations.multiply(yaw_turn(facing - own), neutral[3:7])
        neutral[:2] = pose[:2]
        assert self.tracker is not None
        neutral[2] += self.tracker.actor_floor or 0.0
        part = eased(self._rested)
        poses = np.stack([pose, neutral])
        return interpolate_q(self._actor, np.array([0.0, 1.0]), poses, np.array([part]))[0]

    def _begin_anew(self) -> None:
        """The character is lost: it stands where it was last seen, and begins again."""
        assert self.tracker is not None
        assert self._actor is not None
        self.restarts += 1
        before, place = self.tracker, self.q[:2].copy()
        before.q[:], before.v[:] = before.standing, 0.0
        before.q[:2] = place
        self.q = before.q.copy()
        self.set_actor(self._actor)

    def report(self) -> dict[str, Any]:
        tracker = self.tracker
        if tracker is None:
            return {"steps": 0}
        forces = [f for counts in self._counts for f in counts.root_force]
        return {
            "complete": all(t.is_complete for t in self._counts) and not self.restarts,
            "steps": sum(t.steps for t in self._counts),
            "restarts": self.restarts,
            "fallback_steps": int(sum(t.fallback_steps for t in self._counts)),
            "crumpled_steps": sum(t.crumpled_steps for t in self._counts),
            "carried_steps": sum(t.carried for t in self._counts),
            "root_residual": {"force_max_N": max(forces, default=0.0)},
            "roles": [{"limb": r.limb, "kind": r.kind, "actor": r.actor or None} for r in tracker.roles],
        }


def still_to_act(forces: Sequence[Force], time: float) -> list[Force]:
    """What is not over at a time, for a tracker whose own time begins there [s]; a hand holds until it lets go."""
    return [
        replace(f, start=max(f.start - time, 0.0), duration=f.duration - max(time - f.start, 0.0))
        if isinstance(f, Push | Pull)
        else f
        for f in forces
        if not f.is_over(time)
    ]


def matched_standing_pose(actor: Character, character: Character, roles: Sequence[Role]) -> Array:
    """How the actor stands when its arms point as the character's do, coordinates (nq,).

    Streams give a T-pose or none; characters rest in poses of all kinds. What hands do is counted from poses that are
    alike.
    """
    q, ours = standing_pose(actor), standing_pose(character)
    there = [x[0] for x in body_poses(character, ours[None])]
    limbs = {limb.name: limb.bodies for limb in character.limbs}
    theirs = {limb.name: limb.bodies for limb in actor.limbs}
    about = yaw_turn(heading(actor, body_poses(actor, q[None])[0][0]) - heading(character, there[0]))
    for role in roles:
        if role.kind != "targeted" or not role.actor:
            continue
        chain = theirs[role.actor]
        first = next((b for b in chain if "collar" not in _role_of(actor, b)), chain[0])
        last = chain[-1]
        if actor.bodies[first].kind != "ball" or first == last:
            continue
        places, turned = (x[0] for x in body_poses(actor, q[None]))
        bodies = limbs[role.limb]
        wanted = there[0][bodies[-1]] - there[0][bodies[0]]
        way = places[last] - places[first]
        if min(float(np.linalg.norm(wanted)), float(np.linalg.norm(way))) < 1e-6:
            continue
        turn = rotations.between(way, rotations.rotate(about, wanted))
        parent = turned[actor.bodies[first].parent]
        local = rotations.multiply(rotations.conjugate(parent), rotations.multiply(turn, turned[first]))
        at = actor.q_addresses[first]
        q[at : at + 4] = local
    return q


def _role_of(character: Character, body: int) -> str:
    return next((role for role, b in character.roles.items() if b == body), "")


def grounded(character: Character, q: Array) -> Array:
    """The same pose with its lowest contact point at height zero."""
    places, turned = (x[0] for x in body_poses(character, q[None]))
    low = [
        float(places[p.body][2] + rotations.rotate(turned[p.body], p.offset)[2] - p.radius)
        for p in character.contact_points
    ]
    out = q.copy()
    out[2] -= min(low, default=float(places[:, 2].min()))
    return out


class Filtering:
    """The actor itself passes the quasi-physical filter.

    Args:
        options, terrain, pushes: As for `poise.simulate`; a push counts its start from the first pose.
        mass: Of the actor [kg].
    """

    def __init__(
        self,
        *,
        options: Options | None = None,
        terrain: Terrain | None = None,
        pushes: Sequence[Force] = (),
        mass: float | None = None,
        preset: str = "recommended",
    ) -> None:
        self._options, self._terrain, self._pushes, self._mass = options, terrain, tuple(pushes), mass
        self._preset = preset
        self.filter: QuasiPhysicalFilter | None = None
        self.divergences = 0

    @property
    def character(self) -> Character:
        if self.filter is None:
            raise InvalidValue("There is no actor yet.")
        return self.filter.figure.character

    def meet(self, actor: Character, pose: Array | None = None) -> Callable[[], None]:
        if self._mass is not None:
            actor = Character.fit(actor.skeleton, mass=self._mass)
        new = QuasiPhysicalFilter(actor, 1.0 / RATE, self._terrain, preset=self._preset, options=self._options)

        def take() -> None:
            for push in self._pushes if self.filter is None else ():
                new.push(push)
            self.filter = new

        return take

    def step(self, pose: Array, still: float = 0.0) -> Array | None:
        assert self.filter is not None
        try:
            return self.filter.step(pose)
        except PoiseError:  # it begins again with the next pose
            self.divergences += 1
            self.filter.reset()
            return None

    def report(self) -> dict[str, Any]:
        return {"divergences": self.divergences}
