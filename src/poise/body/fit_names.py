"""What joint names hint at; geometry and motion decide."""

from __future__ import annotations

import re

_FINGERS = "finger|thumb|index|middle|ring|pinky|pinkie|metacarpal"
_ASIDE = (
    f"{_FINGERS}|eye|jaw|brow|eyebrow|lip|tongue|teeth|cheek|ear|nose|hair|bang|bun|ponytail|braid|"
    "breast|skirt|cape|cloth|twist|roll|weapon|prop"
)
_CONTROL = "helper|socket|ik|pole|target|nub|end"
_LIMB = {
    "leg": "leg|legs|thigh|calf|shin|knee|hip|hips|foot|feet|ankle|toe|toes|femur|tibia|upleg|paw|hoof",
    "arm": "arm|arms|forearm|shoulder|elbow|wrist|hand|hands|humerus|radius|clavicle|collar|shldr|upperarm|lowerarm",
    "head": "head|skull|face",
    "neck": "neck|neck1|lowerneck|upperneck",
    "tail": "tail",
    "other": "wing|wings|fin|fins|flipper|flippers|antenna|mandible|horn|claw",
    "trunk": "torso|chest|abdomen|spine|back|body|pelvis|belly|waist",
}


def words(name: str) -> tuple[str, ...]:
    """Lower-case words of a joint's name, its namespace dropped: "mixamorig:LeftUpLeg" gives ("left", "up", "leg")."""
    name = re.split(r"[:|]", name)[-1]
    name = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", name)
    return tuple(w for w in re.split(r"[^a-zA-Z]+", name.lower()) if w)


def side_of(name: str) -> str:
    """The side a name claims: "left", "right", or "" when it claims none."""
    parts = words(name)
    for side in ("left", "right"):
        if side in parts or side[0] in parts or "".join(parts).startswith(side):
            return side
    joined = "".join(parts)
    anatomical = "femur|tibia|foot|toes|hipjoint|clavicle|humerus|radius|wrist|hand|fingers|thumb|thigh|shin|hip"
    if match := re.match(rf"([lr])({anatomical})", joined):
        return {"l": "left", "r": "right"}[match.group(1)]
    return ""


def without_side(name: str) -> str:
    """The name with its side taken out, so that mirrored joints give the same text."""
    parts = [w for w in words(name) if w not in ("left", "right", "l", "r")]
    joined = "".join(parts)
    joined = re.sub(r"^(left|right)", "", joined)
    return joined[1:] if side_of(name) and len(parts) == len(words(name)) and joined[:1] in "lr" else joined


def is_aside(name: str, *, has_skin: bool = False) -> bool:
    """True for fingers, faces, hair, twist bones, sockets and the like, by name alone.

    Args:
        name: The joint's.
        has_skin: Its skin shows that it is no mere control, whatever it is called: a foot named "IK foot" is a foot.
    """
    words_aside = _ASIDE if has_skin else f"{_ASIDE}|{_CONTROL}"
    # "rear" is no ear, and a "middle leg" no finger
    found = [w for w in words(name) if w != "rear" and re.fullmatch(rf"[lr]?({words_aside})(s|base)?", w)]
    return bool(found) and not ("leg" in words(name) and set(found) <= {"middle", "ring", "index"})


def is_end(name: str) -> bool:
    """True for a joint that only marks where a bone ends: "toe_end", "HeadNub"."""
    return bool({"end", "nub", "tip", "site"} & set(words(name)))


def is_finger(name: str) -> bool:
    """True for the joints of a finger."""
    return any(re.fullmatch(rf"[lr]?({_FINGERS})s?", w) for w in words(name))


def stem(name: str) -> str:
    """The name without its numbers, the same for the pieces of a divided bone: "upperarm01.L", "DEF-thigh.L.001"."""
    return re.sub(r"[^a-z]", "", name.lower())


def hints(name: str) -> frozenset[str]:
    """Kinds of limb the name speaks of: any of "leg", "arm", "head", "neck", "tail", "trunk", "other"."""
    found = set()
    joined = "".join(words(name))
    for kind, pattern in _LIMB.items():
        if any(re.fullmatch(rf"[lr]?({pattern})", w) for w in words(name)) or re.fullmatch(
            rf"[lr]?({pattern})(left|right)?", joined
        ):
            found.add(kind)
    if "leg" in found and "trunk" in found and set(words(name)) & {"back"}:
        found.discard("trunk")  # a hind leg
    if "arm" in found and "forearm" in joined:
        found.discard("leg")
    return frozenset(found)
