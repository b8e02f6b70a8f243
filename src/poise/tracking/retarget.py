"""From an actor's pose to places that a character of another size and shape should reach.

Roles say what each limb does: carry the character, follow a limb of the actor, or swing freely.

Pelvis and feet move by the actor's ways times the ratio of the legs, and turn about the center of mass. Two feet stand
at the actor's width; those of more legs at their own, and legs that follow one of the other side go out where it goes
out. Hands and head move against the pelvis by the ratio of their limbs. Turns are those of the actor against a standing
pose, put on the character's own. `poise.tracking.smooth` then gives velocities and accelerations.

Source: [Tracking]_ section 5, equation (2). Deviates: ways of hands and head are taken in the pelvis's frame (taken in
the world, a hand leaves the body after a meter); the head's ratio is capped.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from poise.body.character import Character, Limb
from poise.body.posing import body_poses, motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue, UnknownName
from poise.core.motion import Motion
from poise.core.typing import Array

KINDS = ("support", "targeted", "free")


@dataclass(frozen=True)
class Role:
    """The part of one limb.

    Example:
        >>> role = poise.tracking.Role("left_leg", "support", actor="left_leg")

    Attributes:
        limb: Name of the character's limb.
        kind: "support" (it stands where the actor's limb stands), "targeted" (its end follows the actor's) or "free"
            (it moves because the body does).
        actor: Name of the actor's limb that drives it; "" for free ones.
    """

    limb: str
    kind: str
    actor: str = ""

    def __str__(self) -> str:
        return f"{self.limb}<-{self.actor}" if self.actor else f"{self.limb}={self.kind}"


def propose_roles(character: Character, actor: Character) -> tuple[Role, ...]:
    """Roles by the limbs' kinds: legs carry, arms and necks follow their like, tails and others are free.

    Of a character with more legs than the actor, the hind pair takes the actor's legs, the pair before it takes them
    crosswise, the next does not, and so on: a fore leg steps with the hind leg of the other side (a trot), and half of
    a spider's legs stand while the other half swings. What a limb of the character's file says goes before all that.

    Example:
        >>> roles = poise.tracking.propose_roles(character, character)
        >>> assert any(role.kind == "support" for role in roles)
    """
    crossed = _crossed(character)
    theirs = {limb.name: limb for limb in actor.limbs}
    legs = [limb.name for limb in actor.limbs if limb.kind == "leg"]
    found: list[Role] = []
    for limb in character.limbs:
        if limb.role and (limb.role == "free" or limb.actor in theirs):  # the character's file says so
            found.append(Role(limb.name, limb.role, "" if limb.role == "free" else limb.actor))
        elif limb.kind == "leg":
            found.append(Role(limb.name, "support", _leg(limb.name, legs, limb.name in crossed)))
        elif limb.kind in ("arm", "neck") and limb.name in theirs:
            found.append(Role(limb.name, "targeted", limb.name))
        elif limb.kind != "spine":
            found.append(Role(limb.name, "free"))
    return tuple(found)


def parse_roles(text: str, character: Character, actor: Character) -> tuple[Role, ...]:
    """Roles as a user types them, over those that are proposed: "tail=free, left_leg<-right_leg, neck<-head".

    `limb<-limb` drives a limb by one of the actor's: legs and what stands on the ground as support, others as targeted;
    `limb=support`, `limb=targeted` and `limb=free` say it outright.

    Example:
        >>> roles = poise.tracking.parse_roles("left_arm<-right_arm", character, character)

    Raises:
        UnknownName: if a limb is none of the character's or the actor's.
        InvalidValue: if a part cannot be read, or a limb is driven by nobody.
    """
    roles = {role.limb: role for role in propose_roles(character, actor)}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        if "<-" in part:
            name, theirs = (word.strip() for word in part.split("<-", 1))
            limb, other = _limb(character, name, "character"), _limb(actor, theirs, "actor")
            kind = "support" if other.kind == "leg" else "targeted"
            roles[limb.name] = Role(limb.name, kind, other.name)
        elif "=" in part:
            name, kind = (word.strip() for word in part.split("=", 1))
            limb = _limb(character, name, "character")
            if kind not in KINDS:
                raise InvalidValue(f"Role {part!r}: {kind!r} is none of {', '.join(KINDS)}.")
            driver = roles[limb.name].actor if limb.name in roles else ""
            if kind != "free" and not driver:
                raise InvalidValue(f"Role {part!r} names no actor limb; write {limb.name}<-LIMB.")
            roles[limb.name] = Role(limb.name, kind, "" if kind == "free" else driver)
        else:
            raise InvalidValue(f"Role {part!r} cannot be read. Write 'tail=free' or 'left_leg<-left_leg'.")
    return tuple(roles.values())


def with_roles(character: Character, roles: str | Sequence[Role] = "") -> Character:
    """The character with roles written into its limbs, as its file keeps them.

    Args:
        character: Any.
        roles: As a user types them, over those that are proposed for a person as the actor; or the roles themselves.

    Example:
        >>> rex = poise.tracking.with_roles(poise.load_character("raptor.toml"), "left_leg<-left_leg")
        >>> poise.save_character(rex, "rex.toml")
    """
    if isinstance(roles, str):
        from poise.body.character import figure

        roles = parse_roles(roles, character, figure("adult"))
    given = {role.limb: role for role in roles}
    limbs = tuple(
        replace(limb, role=given[limb.name].kind, actor=given[limb.name].actor) if limb.name in given else limb
        for limb in character.limbs
    )
    return replace(character, limbs=limbs)


BIG, LARGEST = 1.6, 2.5
"""Legs so many times as long as the actor's: a character stays behind and bent; beyond the second it is refused."""


def require_size(character: Character, actor: Character) -> None:
    """Refuse a character that is too large for the pace of the actor: its weight does not let it move so fast.

    Raises:
        InvalidValue: if its legs are more than `LARGEST` times as long as the actor's.
    """
    ours, theirs = character.leg_length, actor.leg_length
    if ours > LARGEST * theirs:
        raise InvalidValue(
            f"The character's legs are {ours / theirs:.1f} times as long as the actor's ({ours:.3g} m and "
            f"{theirs:.3g} m); at most {LARGEST:g} times is allowed, since a larger one cannot move at the actor's "
            "pace. Give the one whose size is wrong a height as its file is read: --height 2m (poise track has "
            "--character-height for the character)."
        )


def _crossed(character: Character) -> set[str]:
    """Legs that take the actor's leg of the other side: on each side every second one, from behind."""
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    if len(legs) < 3:
        return set()
    skeleton = character.skeleton
    still = Motion(skeleton, np.zeros(1), skeleton.offsets[None].copy(), skeleton.rest_rotations[None].copy())
    places = body_poses(character, motion_to_q(character, still))[0][0]
    ahead = rotations.rotate(yaw_turn(heading(character, places)), np.array([1.0, 0.0, 0.0]))
    legs.sort(key=lambda limb: float(places[limb.bodies[0]] @ ahead))
    return {limb.name for side in ("left", "right") for limb in [leg for leg in legs if side in leg.name][1::2]}


def _leg(name: str, legs: list[str], is_crossed: bool) -> str:
    """The actor's leg that drives a leg: that of its side, or of the other."""
    side = "left" if ("left" in name) != is_crossed else "right"
    return next((leg for leg in legs if side in leg), legs[0] if legs else "")


def _limb(character: Character, name: str, whose: str) -> Limb:
    for limb in character.limbs:
        if limb.name == name.lower():
            return limb
    names = [limb.name for limb in character.limbs]
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownName(f"The {whose} has no limb {name!r}.{hint} Limbs: {', '.join(names)}.")


STEEP = 0.8
"""Soles that are further from level than this in the standing pose are not taken for flat feet [rad]."""
APART = 0.5
"""Legs that stand out farther than this, over their height, do so in the creature's own stance [1]."""
STEPPING = 1.25
"""In a turn of a long body its feet go so many lengths of a leg a second around the center of mass, as
fast as a person walks calmly [1/s]."""
LARGEST_RATIO = 1.3
"""Necks of skeletons are drawn with many lengths: no limb is driven further than this times the actor's way [1]."""


@dataclass(frozen=True)
class Standing:
    """A figure that stands: what ways and turns are counted from.

    Legs that the rest pose draws apart hang straight down: pelvis, arms and head are higher by that.

    Attributes:
        pelvis: Place of the root body [m], shape (3,).
        turn: Its orientation, wxyz.
        yaw: Where it faces [rad].
        ends: Place of the end of each limb [m].
        end_turns: Orientation of the last body of each limb.
        com: Center of mass [m], shape (3,).
        floor: Height of the floor [m].
        leg: Mean height of the hips over the floor if legs that stand apart hung straight down; of the pelvis without
            legs [m].
        bases: Place of the first body of each limb [m].
        lengths: Of each limb [m].
        stands_apart: Whether its legs stand out from the body as those of a spider do.
    """

    pelvis: Array
    turn: Array
    yaw: float
    ends: dict[str, Array]
    end_turns: dict[str, Array]
    com: Array
    floor: float
    leg: float
    bases: dict[str, Array]
    lengths: dict[str, float]
    stands_apart: bool

    @classmethod
    def of(cls, character: Character, places: Array, turns: Array, floor: float) -> Standing:
        """From the places (B, 3) and orientations (B, 4) of the bodies of a figure that stands."""
        ends = {limb.name: end_body(character, limb.name) for limb in character.limbs}
        lengths = {
            limb.name: float(sum(np.linalg.norm(character.bodies[b].offset) for b in limb.bodies[1:]))
            for limb in character.limbs
        }
        end_places = {name: places[b].copy() for name, b in ends.items()}
        end_turns = {name: turns[b].copy() for name, b in ends.items()}
        for limb in character.limbs:
            if limb.kind == "leg":
                end_turns[limb.name], height = _flat(character, ends[limb.name], end_turns[limb.name])
                if height is not None:
                    end_places[limb.name][2] = floor + height
        yaw = heading(character, places)
        bases = {limb.name: places[limb.bodies[0]].copy() for limb in character.limbs}
        legs = [limb.name for limb in character.limbs if limb.kind == "leg"]
        top = np.mean([bases[name][2] for name in legs]) if legs else places[0, 2]
        ways = [_into(yaw_turn(yaw), bases[name] - end_places[name]) for name in legs]
        # rest poses are drawn with feet apart; legs that stand out farther are a creature's own
        apart = any(way[2] < 1e-6 or abs(way[1]) > APART * way[2] for way in ways)
        higher = 0.0 if apart or not ways else max(math.hypot(way[1], way[2]) - float(way[2]) for way in ways)
        up = np.array([0.0, 0.0, higher])
        return cls(
            places[0] + up,
            turns[0].copy(),
            yaw,
            {name: end if name in legs else end + up for name, end in end_places.items()},
            end_turns,
            center_of_mass(character, places, turns) + up,
            floor,
            float(top) - floor + higher,
            {name: base + up for name, base in bases.items()},
            lengths,
            apart,
        )

    def under_hip(self, leg: str) -> Array:
        """Place of the end of a leg [m], shape (3,), to the side as far as its hip, unless the figure stands apart.

        How far apart a person walks does not depend on how far apart the feet of the rest pose are drawn.
        """
        if self.stands_apart:
            return self.ends[leg]
        across = rotations.rotate(yaw_turn(self.yaw), np.array([0.0, 1.0, 0.0]))
        return self.ends[leg] + ((self.bases[leg] - self.ends[leg]) @ across) * across


def dofs_of(character: Character, body: int) -> list[int]:
    """Dofs of the joint of a body."""
    first = character.v_addresses[body]
    last = character.v_addresses[body + 1] if body + 1 < len(character.bodies) else character.nv
    return list(range(first, last))


def end_body(character: Character, limb: str) -> int:
    """The body at the end of a limb: the foot of a leg, the last of others.

    Toes follow a foot. Of a leg that walks on its toes, whose foot has no contact points, it is the body with the most.
    """
    chosen = next(item for item in character.limbs if item.name == limb)
    if chosen.kind == "leg":
        feet = [b for role, b in character.roles.items() if role.endswith("foot") and b in chosen.bodies]
        touching = [p.body for p in character.contact_points if p.body in chosen.bodies and p.part != "ankle"]
        if feet and (feet[0] in touching or not touching):
            return feet[0]
        if feet:
            return max(chosen.bodies, key=touching.count)
    return chosen.bodies[-1]


def _flat(character: Character, body: int, turn: Array) -> tuple[Array, float | None]:
    """A foot as it stands flat, facing as it does: the sole level, and how high its joint is then [m].

    Rest poses are drawn with feet that point down or roll; what the sole is, its contact points say. A sole that is
    further than `STEEP` from level is left as it is.
    """
    points = [p for p in character.contact_points if p.body == body]
    if len(points) < 3:
        return turn, None
    at = rotations.rotate(turn, np.stack([p.offset for p in points]))
    _, sizes, axes = np.linalg.svd(at - at.mean(axis=0))
    normal = axes[2] if axes[2][2] >= 0.0 else -axes[2]
    if sizes[1] < 1e-3 or normal[2] < math.cos(STEEP):
        return turn, None
    across = np.cross(normal, [0.0, 0.0, 1.0])
    size = float(np.linalg.norm(across))
    if size > 1e-9:
        level = rotations.from_rotation_vector(across / size * math.atan2(size, normal[2]))
        turn = rotations.multiply(level, turn)
        at = rotations.rotate(turn, np.stack([p.offset for p in points]))
    return turn, float(np.max(np.array([p.radius for p in points]) - at[:, 2]))


def center_of_mass(character: Character, places: Array, turns: Array) -> Array:
    """Of bodies at places (B, 3) with orientations (B, 4) [m], shape (3,)."""
    masses = np.array([b.mass for b in character.bodies])
    centers = places + rotations.rotate(turns, np.stack([b.com for b in character.bodies]))
    return masses @ centers / masses.sum()


def heading(character: Character, places: Array) -> float:
    """Where a figure faces [rad]: across the line from its right hip to its left; along the spine on four legs."""
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    left = [places[limb.bodies[0]] for limb in legs if "left" in limb.name]
    right = [places[limb.bodies[0]] for limb in legs if "right" in limb.name]
    if not left or not right:
        return 0.0
    across = np.mean(left, axis=0) - np.mean(right, axis=0)
    return math.atan2(-across[0], across[1])


class Retargeter:
    """Places and turns of the character's targets for a pose of the actor.

    Every target is one row: the pelvis, the center of mass, then the end of each driven limb in the order of `roles`.

        place = base + gain R(about) (actor's place − reference) + R(facing) offset

    where base and reference are where both stood, or for targeted limbs where both pelvises are now.

    Args:
        actor: Who drives.
        roles: Of the character's limbs.
        theirs, ours: How they stand.
        arms: The character's arms that an arm drives: they stand as the actor's, see `with_arms_of`.

    Attributes:
        roles: Of the limbs that are driven.
        theirs, ours: How they stand.
        ratio: The character's legs over the actor's.
        fastest_turn: How fast its feet can follow a turn of the body [rad/s].
    """

    def __init__(
        self, actor: Character, roles: Sequence[Role], theirs: Standing, ours: Standing, arms: Collection[str] = ()
    ) -> None:
        self.roles = tuple(role for role in roles if role.actor)
        self.theirs, self.ours = theirs, ours
        self.ratio = ours.leg / theirs.leg
        self.actor_ends = np.array([end_body(actor, role.actor) for role in self.roles], dtype=np.int64)
        self._hips = _hips(actor)
        self._about = yaw_turn(ours.yaw - theirs.yaw)
        to_ours, to_theirs = yaw_turn(ours.yaw), yaw_turn(theirs.yaw)
        begin, their_begin = _under(ours), _under(theirs)
        own_com, their_com = _into(to_ours, ours.com - begin), _into(to_theirs, theirs.com - their_begin)
        gains = [self.ratio, self.ratio]
        rest = ours.pelvis - begin - self.ratio * (theirs.pelvis - their_begin)
        offsets = [np.array([0.0, 0.0, rest[2]]), own_com - self.ratio * their_com]
        turns = [(theirs.turn, ours.turn), (theirs.turn, ours.turn)]
        legs = sum(role.kind == "support" for role in self.roles)
        for role in self.roles:
            turns.append((theirs.end_turns[role.actor], ours.end_turns[role.limb]))
            if role.kind == "support":
                offset = _into(to_ours, ours.ends[role.limb] - begin)
                offset -= self.ratio * _into(to_theirs, theirs.under_hip(role.actor) - their_begin)
                if legs < 3 and ("left" in role.limb) == ("left" in role.actor) and not ours.stands_apart:
                    offset[1] = 0.0  # two feet go at the actor's width, under the body
                gains.append(self.ratio)
                offsets.append(offset)
                continue
            gain = ours.lengths[role.limb] / max(theirs.lengths[role.actor], 1e-6)
            gains.append(min(gain, LARGEST_RATIO * self.ratio))
            # arms are counted from the shoulder, others from where their ends rest
            first, second = (theirs.bases, ours.bases) if role.limb in arms else (theirs.ends, ours.ends)
            rest = _into(to_ours, second[role.limb] - ours.pelvis)
            offsets.append(rest - gains[-1] * _into(to_theirs, first[role.actor] - theirs.pelvis))
        self.gains, self.offsets = np.array(gains)[:, None], np.array(offsets)
        # a creature turns about its center of mass, not about its pelvis, which on four legs is far behind
        center = np.array([*self.offsets[1, :2], 0.0])
        self.offsets[[True, True, *(role.kind == "support" for role in self.roles)]] -= center
        self._mirrored, self._beside = list[int](), list[float]()  # legs that follow one of the other side
        for row, role in enumerate(self.roles, start=2):
            if role.kind == "support" and ("left" in role.limb) != ("left" in role.actor) and legs > 2:
                self._mirrored.append(row)
                self._beside.append(float(_into(to_theirs, theirs.under_hip(role.actor) - theirs.pelvis)[1]))
        steps = [
            ours.lengths[role.limb] / max(float(np.linalg.norm((ours.ends[role.limb] - ours.com)[:2])), 1e-6)
            for role in self.roles
            if role.kind == "support"
        ]
        is_long = legs > 2 or ours.stands_apart
        self.fastest_turn = STEPPING * min(steps, default=math.inf) if is_long else math.inf
        self.is_targeted = np.array([False, False, *(role.kind != "support" for role in self.roles)])
        back = rotations.conjugate(np.array([first for first, _ in turns]))
        put = rotations.multiply(back, rotations.conjugate(self._about))
        self._put_on = rotations.multiply(put, np.array([second for _, second in turns]))
        self._from, self._to = their_begin, begin + rotations.rotate(to_ours, center)
        self._turned = _yaw_matrix(ours.yaw - theirs.yaw)

    def heading(self, places: Array) -> float:
        """Where the character would face as the actor does, for the places (B, 3) of its bodies [rad]."""
        across = self._hips @ places
        return math.atan2(-across[0], across[1]) + self.ours.yaw - self.theirs.yaw

    def targets(self, places: Array, turns: Array, com: Array, turned: float = 0.0) -> tuple[Array, Array]:
        """Places (T, 3) and turns (T, 4) of the targets.

        Args:
            places, turns: Of the actor's bodies, shapes (B, 3), (B, 4).
            com: Its center of mass [m], shape (3,).
            turned: How far the character faces to the left of where the actor does [rad].
        """
        count = 2 + len(self.roles)
        at, oriented = np.empty((count, 3)), np.empty((count, 4))
        at[0], at[1], at[2:] = places[0], com, places[self.actor_ends]
        oriented[:2], oriented[2:] = turns[0], turns[self.actor_ends]
        from_there = np.where(self.is_targeted[:, None], places[0], self._from)
        moved = self.gains * ((at - from_there) @ self._turned.T)
        heading = self.heading(places)
        if turned:
            moved[self.is_targeted] = moved[self.is_targeted] @ _yaw_matrix(turned).T
        moved += self.offsets @ _yaw_matrix(heading + turned).T
        if self._mirrored:
            across = _yaw_matrix(heading)[:, 1]
            beside = ((at[self._mirrored] - places[0]) @ self._turned.T) @ across - self._beside
            moved[self._mirrored] -= np.outer(2.0 * self.ratio * beside, across)
        moved += self._to
        moved[self.is_targeted] += moved[0] - self._to
        about = rotations.multiply(yaw_turn(turned), self._about) if turned else self._about
        return moved, rotations.multiply(rotations.multiply(about, oriented), self._put_on)


def _under(standing: Standing) -> Array:
    return np.array([*standing.pelvis[:2], standing.floor])


def _hips(character: Character) -> Array:
    """A row (B,) that takes the way from the right hips to the left ones out of places (B, 3)."""
    out = np.zeros(len(character.bodies))
    legs = [limb for limb in character.limbs if limb.kind == "leg"]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        own = [limb.bodies[0] for limb in legs if side in limb.name]
        for body in own:
            out[body] += sign / len(own)
    return out


def _yaw_matrix(angle: float) -> Array:
    """Rotation about the vertical by an angle [rad], shape (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def yaw_turn(angle: float) -> Array:
    """Rotation about the vertical by an angle [rad], wxyz."""
    return np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])


def _into(frame: Array, way: Array) -> Array:
    return rotations.rotate(rotations.conjugate(frame), way)
