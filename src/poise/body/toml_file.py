"""Characters as TOML that a person can edit: written by hand-sized rules, read strictly."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from poise.body.anthropometry import capsule_inertia
from poise.body.character import Body, Capsule, Character, Limits
from poise.body.mjcf import to_mjcf
from poise.body.parts import unique_names
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.skeleton import Skeleton
from poise.io.files import read_text, write_atomically
from poise.io.toml_text import parse_toml, quoted

SCHEMA = "poise.character/1"
MAX_BYTES = 4_000_000
"""Largest character file that is read [bytes]."""

_HEAD = """\
# A Poise character. Lengths in meters, masses in kilograms, angles in degrees, rotations as quaternions w x y z.
# Every place is in the frame of its own body (a joint's frame). Center of mass and inertia follow from mass and
# capsules unless a body gives its own `com` and `inertia` (rows of a 3 x 3 matrix about the center of mass).
# `strength` divides the weight of a joint's torque. Limits: rotation = rest · swing · twist; `twist` is about `axis`,
# `bend` and `side` are the swing about `swing_axis` and about axis × swing_axis.
"""


def save_character(character: Character, path: str | os.PathLike[str]) -> None:
    """Write a character as TOML, or as MJCF where the name ends in .xml; loading the TOML gives the same numbers.

    An existing file is replaced when the new one is whole.

    Raises:
        InvalidValue: if the name ends in neither .toml nor .xml.
        UnreadableFile: if it cannot be written there.
    """
    target = Path(path)
    if target.suffix.lower() not in (".toml", ".xml"):
        raise InvalidValue(f"Cannot tell the format of {target.name!r}. Name the file *.toml or *.xml (MJCF).")
    text = to_mjcf(character) if target.suffix.lower() == ".xml" else to_toml(character)
    write_atomically(target, text.encode("utf-8"))


def load_character(path: str | os.PathLike[str]) -> Character:
    """Read a character from TOML.

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is no TOML, or holds a key or value that is not allowed; the message names file, key and
            what is allowed.
    """
    source = Path(path)
    return from_toml(read_text(source, limit=MAX_BYTES), path=source)


def to_toml(character: Character) -> str:
    """A character as TOML text."""
    bodies = unique_names(b.name for b in character.bodies)
    joints = unique_names(character.skeleton.names)
    out = [_HEAD, f'schema = "{SCHEMA}"', f"leg_length = {_number(character.leg_length)}"]
    out += [f"floor = {_number(character.floor)}  # height of the clip's floor", "", "[roles]"]
    out += [f"{_key(role)} = {quoted(bodies[i])}" for role, i in character.roles.items()]
    if character.weights:
        out += ["", "[weights]", *(f"{_key(name)} = {_number(x)}" for name, x in character.weights.items())]
    for name, turns in character.rest_poses.items():
        out += ["", f"[rest_poses.{_key(name)}]", *(f"{_key(body)} = {_vector(q)}" for body, q in turns.items())]
    for limb in character.limbs:
        out += ["", "[[limbs]]", f"name = {quoted(limb.name)}", f"kind = {quoted(limb.kind)}"]
        out.append(f"bodies = [{', '.join(quoted(bodies[i]) for i in limb.bodies)}]")
        out += [f"{key} = {quoted(value)}" for key, value in (("role", limb.role), ("actor", limb.actor)) if value]
    for i, body in enumerate(character.bodies):
        out += ["", "[[bodies]]", f"name = {quoted(body.name)}", f"joint = {quoted(joints[body.joint])}"]
        out += _body_lines(body, bodies[body.parent] if i else None)
    for point in character.contact_points:
        out += ["", "[[contact_points]]", f"name = {quoted(point.name)}", f"body = {quoted(bodies[point.body])}"]
        out += [
            f"offset = {_vector(point.offset)}",
            f"radius = {_number(point.radius)}",
            f"part = {quoted(point.part)}",
        ]
    out += _skeleton_lines(character.skeleton, joints)
    return "\n".join(out) + "\n"


def _body_lines(body: Body, parent: str | None) -> list[str]:
    out = [] if parent is None else [f"parent = {quoted(parent)}"]
    out += [f"kind = {quoted(body.kind)}", f"mass = {_number(body.mass)}", f"strength = {_number(body.strength)}"]
    out.append(f"offset = {_vector(body.offset)}")
    out.append(f"capsules = [{', '.join(_capsule(c) for c in body.capsules)}]")
    if not _follows_from_capsules(body):
        out.append(f"com = {_vector(body.com)}")
        out.append(f"inertia = [{', '.join(_vector(row) for row in body.inertia)}]")
    if body.axis is not None:
        out.append(f"axis = {_vector(body.axis)}")
    if body.rest_rotation is not None:
        out.append(f"rest_rotation = {_vector(body.rest_rotation)}")
    if body.limits is not None:
        out += ["[bodies.limits]", *_limit_lines(body.limits)]
    return out


def _follows_from_capsules(body: Body) -> bool:
    if not body.capsules:
        return False
    com, inertia = capsule_inertia(body.capsules, body.mass)
    return np.array_equal(com, body.com) and np.array_equal(inertia, body.inertia)


def _limit_lines(limits: Limits) -> list[str]:
    out = [f"{name} = {_vector(getattr(limits, name))}" for name in ("rest", "axis", "swing_axis")]
    for name in ("twist", "bend", "side"):
        low, high = getattr(limits, f"{name}_lower"), getattr(limits, f"{name}_upper")
        out.append(f"{name} = [{_degrees(low)}, {_degrees(high)}]")
    return out


def _skeleton_lines(skeleton: Skeleton, joints: tuple[str, ...]) -> list[str]:
    out: list[str] = []
    for j, name in enumerate(skeleton.names):
        out += ["", "[[joints]]", f"name = {quoted(name)}"]
        if j:
            out.append(f"parent = {quoted(joints[int(skeleton.parents[j])])}")
        out += [f"offset = {_vector(skeleton.offsets[j])}", f"rest_rotation = {_vector(skeleton.rest_rotations[j])}"]
        if hinge := skeleton.hinges.get(j):
            low, high = _degrees(hinge.lower), _degrees(hinge.upper)
            out.append(f"hinge = {{ axis = {_vector(hinge.axis)}, range = [{low}, {high}] }}")
        if j in skeleton.translating and j:
            out.append("translating = true")
        if j in skeleton.fixed:
            out.append("fixed = true")
    for site in skeleton.end_sites:
        out += ["", "[[end_sites]]", f"name = {quoted(site.name)}", f"joint = {quoted(joints[site.joint])}"]
        out.append(f"offset = {_vector(site.offset)}")
    return out


def _capsule(capsule: Capsule) -> str:
    start, end = _vector(capsule.start), _vector(capsule.end)
    return f"{{ start = {start}, end = {end}, radius = {_number(capsule.radius)} }}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quoted(name)


def _number(x: float) -> str:
    return repr(float(x))


def _vector(x: Iterable[float]) -> str:
    return f"[{', '.join(_number(v) for v in x)}]"


def _degrees(x: float) -> str:
    """The shortest decimal degrees that read back as the same radians, or the nearest where there is none."""
    if not np.isfinite(x):
        return repr(float(x))
    for digits in range(1, 17):
        given = round(float(np.degrees(x)), digits)
        if float(np.radians(given)) == float(x):
            return repr(given)
    return repr(float(np.degrees(x)))


def from_toml(text: str, *, path: str | os.PathLike[str] = "character.toml") -> Character:
    """A character from TOML text; `path` is what errors call it.

    Raises:
        FileFormatError: as `load_character`.
    """
    from poise.body.toml_schema import character_from_tables

    tables = parse_toml(text, path)
    if tables.get("schema") != SCHEMA:
        raise FileFormatError(
            f"schema is {tables.get('schema')!r}; this version reads {SCHEMA!r}.",
            path=path,
            cure="Give a file that `poise character FILE -o OUT.toml` wrote.",
        )
    return character_from_tables(tables, path)
