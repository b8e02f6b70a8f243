"""What each limb of a character does: carry it, follow a limb of the actor, or swing freely."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from poise.body.character import Character, Limb
from poise.core.errors import InvalidValue, UnknownName

KINDS = ("support", "targeted", "free")


@dataclass(frozen=True)
class Role:
    """The part of one limb.

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

    Of a character with more legs than the actor, the hind pair takes the actor's legs; the other pairs take them too,
    crosswise, so that a fore leg steps with the hind leg of the other side (a trot). What a limb of the character's
    file says goes before all that.
    """
    theirs = {limb.name: limb for limb in actor.limbs}
    legs = [limb.name for limb in actor.limbs if limb.kind == "leg"]
    found: list[Role] = []
    for limb in character.limbs:
        if limb.role and (limb.role == "free" or limb.actor in theirs):  # the character's file says so
            found.append(Role(limb.name, limb.role, "" if limb.role == "free" else limb.actor))
        elif limb.kind == "leg":
            found.append(Role(limb.name, "support", _leg(limb.name, legs)))
        elif limb.kind in ("arm", "neck") and limb.name in theirs:
            found.append(Role(limb.name, "targeted", limb.name))
        elif limb.kind != "spine":
            found.append(Role(limb.name, "free"))
    return tuple(found)


def parse_roles(text: str, character: Character, actor: Character) -> tuple[Role, ...]:
    """Roles as a user types them, over those that are proposed: "tail=free, left_leg<-right_leg, neck<-head".

    `limb<-limb` drives a limb by one of the actor's: legs and what stands on the ground as support, others as targeted;
    `limb=support`, `limb=targeted` and `limb=free` say it outright.

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
        >>> rex = poise.tracking.with_roles(poise.load_character("rex.toml"), "tail=free, left_leg<-left_leg")
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


def _leg(name: str, legs: list[str]) -> str:
    """The actor's leg that drives a leg: that of its side, or across for fore legs."""
    side = "left" if "left" in name else "right"
    if "fore" in name or "front" in name:
        side = "right" if side == "left" else "left"
    return next((leg for leg in legs if side in leg), legs[0] if legs else "")


def _limb(character: Character, name: str, whose: str) -> Limb:
    for limb in character.limbs:
        if limb.name == name.lower():
            return limb
    names = [limb.name for limb in character.limbs]
    close = difflib.get_close_matches(name.lower(), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UnknownName(f"The {whose} has no limb {name!r}.{hint} Limbs: {', '.join(names)}.")
