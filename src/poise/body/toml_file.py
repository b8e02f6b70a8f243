"""Characters as TOML that a person can edit: short when written, checked strictly when read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from poise.body.anthropometry import capsule_inertia
from poise.body.character import Body, Capsule, Character, ContactPoint, Limb, Limits
from poise.body.mjcf import to_mjcf
from poise.body.parts import unique_names
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.files import parse_toml, quoted, read_text, write_atomically

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

    Example:
        >>> poise.save_character(character, "walker.toml")
        >>> poise.save_character(character, "walker.xml")  # for MuJoCo

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

    Example:
        >>> poise.save_character(character, "walker.toml")
        >>> character = poise.load_character("walker.toml")

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it is not TOML, or holds a key or value that is not allowed; the message names file, key and
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
    tables = parse_toml(text, path)
    if tables.get("schema") != SCHEMA:
        raise FileFormatError(
            f"schema is {tables['schema']!r}; this version reads {SCHEMA!r}."
            if "schema" in tables
            else "It names no schema, so it is no character file.",
            path=path,
            cure="Give a file that `poise character FILE -o OUT.toml` wrote.",
        )
    return character_from_tables(tables, path)


Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
Triple = tuple[Finite, Finite, Finite]
Quad = tuple[Finite, Finite, Finite, Finite]
Range = tuple[float, float]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _CapsuleTable(_Table):
    start: Triple
    end: Triple
    radius: Positive


class _LimitsTable(_Table):
    rest: Quad
    axis: Triple
    swing_axis: Triple
    twist: Range
    bend: Range
    side: Range


class _BodyTable(_Table):
    name: str
    joint: str
    parent: str | None = None
    kind: Literal["free", "ball", "hinge"]
    mass: Positive
    strength: Positive = 1.0
    offset: Triple = (0.0, 0.0, 0.0)
    capsules: list[_CapsuleTable] = []
    com: Triple | None = None
    inertia: tuple[Triple, Triple, Triple] | None = None
    axis: Triple | None = None
    rest_rotation: Quad | None = None
    limits: _LimitsTable | None = None


class _PointTable(_Table):
    name: str
    body: str
    offset: Triple
    radius: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
    part: Literal["foot", "ankle", "hand", "knee", "elbow", "head", "trunk", "thing"]


class _LimbTable(_Table):
    name: str
    kind: Literal["leg", "arm", "spine", "neck", "tail", "other"]
    bodies: list[str]
    role: Literal["", "support", "targeted", "free"] = ""
    actor: Annotated[str, Field(max_length=100)] = ""


class _HingeTable(_Table):
    axis: Triple
    range: Range = (-np.inf, np.inf)


class _JointTable(_Table):
    name: str
    parent: str | None = None
    offset: Triple
    rest_rotation: Quad = (1.0, 0.0, 0.0, 0.0)
    hinge: _HingeTable | None = None
    translating: bool = False
    fixed: bool = False


class _EndTable(_Table):
    name: str = "End Site"
    joint: str
    offset: Triple


class _CharacterTable(_Table):
    schema_: str = Field(alias="schema")
    leg_length: Positive
    floor: Finite = 0.0
    roles: dict[str, str]
    weights: dict[str, Finite] = {}
    rest_poses: dict[str, dict[str, Quad]] = {}
    limbs: list[_LimbTable] = []
    bodies: Annotated[list[_BodyTable], Field(min_length=1)]
    contact_points: list[_PointTable] = []
    joints: Annotated[list[_JointTable], Field(min_length=1)]
    end_sites: list[_EndTable] = []


def character_from_tables(tables: dict[str, Any], path: str | os.PathLike[str]) -> Character:
    """A character from parsed TOML.

    Raises:
        FileFormatError: with the key that is wrong and what is allowed there.
    """
    try:
        table = _CharacterTable.model_validate(tables)
    except ValidationError as error:
        first = error.errors()[0]
        raise FileFormatError(
            f"{_where(first['loc'])}: {_problem(first)}",
            path=path,
            text=_shown_input(first),
            cure=f"{error.error_count() - 1} more errors follow." if error.error_count() > 1 else "",
        ) from error
    return _Builder(table, path).character()


def _where(place: tuple[int | str, ...]) -> str:
    words = ""
    for part in place:
        words += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if words else ''}{part}"
    return words or "the file"


def _problem(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return "no such key is allowed here."
    if error["type"] == "missing":
        return "this key is missing."
    return f"{error['msg']}."


def _shown_input(error: Any) -> str | None:
    return None if error["type"] == "missing" else repr(error["input"])


class _Builder:
    """Turns checked tables into a character; the one place that knows names from indices."""

    def __init__(self, table: _CharacterTable, path: str | os.PathLike[str]) -> None:
        self.table, self.path = table, path
        self.joints = unique_names(j.name for j in table.joints)
        self.bodies = unique_names(b.name for b in table.bodies)

    def character(self) -> Character:
        table = self.table
        skeleton = self._skeleton()
        bodies = tuple(self._body(i, b, skeleton) for i, b in enumerate(table.bodies))
        points = tuple(
            ContactPoint(
                p.name, self._body_of(p.body, f"contact_points[{n + 1}]"), np.array(p.offset), p.radius, p.part
            )
            for n, p in enumerate(table.contact_points)
        )
        limbs = tuple(
            Limb(
                limb.name,
                limb.kind,
                tuple(self._body_of(b, f"limbs[{n + 1}]") for b in limb.bodies),
                limb.role,
                limb.actor,
            )
            for n, limb in enumerate(table.limbs)
        )
        roles = {role: self._index(self.bodies, b, f"roles.{role}") for role, b in table.roles.items()}
        doubled = [n for n in unique_names(p.name for p in points) if n not in {p.name for p in points}]
        if doubled:
            twice = doubled[0].rsplit(".", 1)[0]
            self._refuse("contact_points", f"two points are called {twice!r}; names must differ.")
        poses = {
            name: {
                self.bodies[self._index(self.bodies, b, f"rest_poses.{name}")]: self._unit(q, f"rest_poses.{name}.{b}")
                for b, q in turns.items()
            }
            for name, turns in table.rest_poses.items()
        }
        try:
            return Character(
                skeleton, bodies, points, limbs, roles, table.leg_length, table.floor, dict(table.weights), poses
            )
        except InvalidValue as error:
            raise FileFormatError(str(error), path=self.path) from error

    def _skeleton(self) -> Skeleton:
        rows = self.table.joints
        parents = [
            -1 if j.parent is None else self._index(self.joints, j.parent, f"joints[{n + 1}].parent")
            for n, j in enumerate(rows)
        ]
        hinges = {n: self._hinge(j.hinge, f"joints[{n + 1}].hinge") for n, j in enumerate(rows) if j.hinge is not None}
        sites = tuple(
            EndSite(self._index(self.joints, s.joint, f"end_sites[{n + 1}].joint"), np.array(s.offset), s.name)
            for n, s in enumerate(self.table.end_sites)
        )
        try:
            return Skeleton(
                tuple(j.name for j in rows),
                np.array(parents, dtype=np.int64),
                np.array([j.offset for j in rows], dtype=np.float64),
                np.array([self._unit(j.rest_rotation, f"joints[{n + 1}].rest_rotation") for n, j in enumerate(rows)]),
                sites,
                hinges,
                frozenset({0} | {n for n, j in enumerate(rows) if j.translating}),
                frozenset(n for n, j in enumerate(rows) if j.fixed),
            )
        except InvalidValue as error:
            raise FileFormatError(f"joints: {error}", path=self.path) from error

    def _body(self, n: int, table: _BodyTable, skeleton: Skeleton) -> Body:
        key = f"bodies[{n + 1}]"
        joint = self._index(self.joints, table.joint, f"{key}.joint")
        parent = -1 if table.parent is None else self._index(self.bodies, table.parent, f"{key}.parent")
        if (n == 0) != (parent < 0) or (n == 0) != (table.kind == "free"):
            self._refuse(key, 'the first body, and only it, has kind "free" and no parent.')
        if parent >= n:
            self._refuse(f"{key}.parent", "a parent must come before its children.")
        if n and self.joint_of(parent) not in skeleton.ancestors(joint):
            self._refuse(f"{key}.joint", f"joint {table.joint!r} is not below the joint of its parent body.")
        if (table.kind == "hinge") != (table.axis is not None):
            self._refuse(f"{key}.axis", 'a body of kind "hinge" needs an axis; other kinds have none.')
        capsules = tuple(Capsule(np.array(c.start), np.array(c.end), c.radius) for c in table.capsules)
        if (table.com is None) != (table.inertia is None):
            self._refuse(key, "give both com and inertia, or neither to have them follow from the capsules.")
        if table.com is not None and table.inertia is not None:
            com, inertia = np.array(table.com), np.array(table.inertia)
            self._check_inertia(inertia, f"{key}.inertia")
        elif capsules:
            com, inertia = capsule_inertia(capsules, table.mass)
        else:
            self._refuse(key, "a body needs capsules, or its own com and inertia.")
        return Body(
            table.name,
            joint,
            parent,
            np.array(table.offset),
            table.kind,
            table.mass,
            com,
            inertia,
            capsules,
            None if table.axis is None else self._unit(table.axis, f"{key}.axis"),
            None if table.limits is None else self._limits(table.limits, f"{key}.limits"),
            table.strength,
            None if table.rest_rotation is None else self._unit(table.rest_rotation, f"{key}.rest_rotation"),
        )

    def joint_of(self, body: int) -> int:
        """Index of a body's joint."""
        return self._index(self.joints, self.table.bodies[body].joint, f"bodies[{body + 1}].joint")

    def _limits(self, table: _LimitsTable, key: str) -> Limits:
        axis, swing = self._unit(table.axis, f"{key}.axis"), self._unit(table.swing_axis, f"{key}.swing_axis")
        if abs(float(axis @ swing)) > 1e-6:
            self._refuse(f"{key}.swing_axis", "it must be orthogonal to axis.")
        twist, bend, side = (self._range(getattr(table, n), f"{key}.{n}") for n in ("twist", "bend", "side"))
        return Limits(self._unit(table.rest, f"{key}.rest"), axis, swing, *twist, *bend, *side)

    def _range(self, degrees: Range, key: str) -> tuple[float, float]:
        low, high = (float(np.radians(d)) for d in degrees)
        if not low <= high:
            self._refuse(key, f"{degrees[0]} … {degrees[1]} is not a range: the lower end comes first.")
        return low, high

    def _unit(self, given: tuple[float, ...], key: str) -> Array:
        values = np.array(given, dtype=np.float64)
        length = float(np.linalg.norm(values))
        if length < 1e-6:
            self._refuse(key, f"{list(given)} has no direction.")
        return values if abs(length - 1.0) < 1e-9 else values / length

    def _check_inertia(self, inertia: Array, key: str) -> None:
        low, middle, high = np.linalg.eigvalsh(0.5 * (inertia + inertia.T))
        if not np.allclose(inertia, inertia.T) or low <= 0.0 or low + middle < high * (1.0 - 1e-9):
            allowed = "it must be symmetric and positive, with no moment above the sum of the other two."
            self._refuse(key, f"this is not an inertia: {allowed}")

    def _hinge(self, table: _HingeTable, key: str) -> Hinge:
        return Hinge(self._unit(table.axis, f"{key}.axis"), *self._range(table.range, f"{key}.range"))

    def _body_of(self, name: str, key: str) -> int:
        return self._index(self.bodies, name, f"{key}.{'body' if key.startswith('contact') else 'bodies'}")

    def _index(self, names: tuple[str, ...], name: str, key: str) -> int:
        if name not in names:
            self._refuse(key, f"there is no {name!r}. Allowed: {', '.join(names[:60])}.")
        return names.index(name)

    def _refuse(self, key: str, problem: str) -> NoReturn:
        raise FileFormatError(f"{key}: {problem}", path=self.path)
