"""DeepMimic's character file: a JSON tree of joints, each hung on its parent by a point and three angles.

The frame of joint j in its parent's is T(Attach) R(AttachTheta) R(q_j): q_j is a quaternion for a spherical joint
and a turn about the joint's own z axis for a revolute one (cKinTree of the DeepMimic repository). The root's
attach point is not used there, nor here.

The JSON is read with a bound on size and depth.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.files import parse_json, read_text

MAX_BYTES = 40_000_000
"""A motion of this size has about 40,000 frames, ten minutes; more is refused before it is read."""


def load_json(path: Path) -> tuple[str, Any]:
    """Text and content of a JSON file.

    Raises:
        FileFormatError: with line and column, if it is not JSON.
    """
    text = read_text(path, limit=MAX_BYTES)
    return text, parse_json(path, text)


def frame_table(path: Path, text: str, rows: Any, width: int | None) -> Array:
    """The list "Frames" as an array, shape (F, width); width None takes the first frame's.

    Raises:
        FileFormatError: with frame and line, if a frame is short, long, or holds anything but finite numbers.
    """
    if not isinstance(rows, list) or not rows:
        raise FileFormatError("There is no frame in 'Frames'.", path=path, cure="Check that the clip is complete.")
    for index, row in enumerate(rows):
        wanted = width if width is not None else (len(rows[0]) if isinstance(rows[0], list) else 0)
        if not isinstance(row, list) or not set(map(type, row)) <= {int, float}:
            raise _frame_fault(path, text, index, "is not a list of numbers")
        if len(row) != wanted:
            raise _frame_fault(path, text, index, f"has {len(row)} numbers; {wanted} belong to one")
    try:
        table = np.array(rows, dtype=np.float64)
    except (OverflowError, ValueError):
        table = np.full((1, 1), np.nan)
    if not np.isfinite(table).all():
        bad = 0 if table.shape[0] != len(rows) else int(np.argmin(np.isfinite(table).all(axis=1)))
        raise _frame_fault(path, text, bad, "holds a number too large to be one")
    return table


def _frame_fault(path: Path, text: str, index: int, problem: str) -> FileFormatError:
    return FileFormatError(
        f"Frame {index} {problem}.",
        path=path,
        line=frame_line(text, index),
        cure="Get the clip again, or name the character it belongs to with --skeleton.",
    )


def frame_line(text: str, index: int) -> int:
    """Line on which frame `index` of the list "Frames" opens, from 1."""
    at = text.find("[", text.find('"Frames"'))
    for _ in range(index + 1):
        following = text.find("[", at + 1)
        if following < 0:
            break
        at = following
    return text.count("\n", 0, max(at, 0)) + 1


SIZES = {"spherical": 4, "revolute": 1, "fixed": 0}
"""How many numbers of a frame a joint of each kind takes; the root takes seven."""


@dataclass(frozen=True)
class CharacterJoint:
    """One joint: its kind ("root", "spherical", "revolute" or "fixed"), where it hangs, and its limits [rad]."""

    name: str
    kind: str
    parent: int
    offset: Array
    rest: Array
    lower: float
    upper: float

    @property
    def size(self) -> int:
        """How many numbers of a frame belong to it."""
        return 7 if self.kind == "root" else SIZES[self.kind]


@dataclass(frozen=True)
class CharacterDocument:
    """A character file.

    Attributes:
        path: The file.
        text: Its text, to be written again as it stands.
        joints: In file order.
        tips: Joint index and place in its frame [file units] of each chain's end, from the body shapes.
        mass: Sum of the bodies' masses [kg], 0 if there are none.
    """

    path: str
    text: str
    joints: tuple[CharacterJoint, ...]
    tips: tuple[tuple[int, Array], ...]
    mass: float

    @property
    def width(self) -> int:
        """Numbers of one frame of a motion, its duration included."""
        return 1 + sum(j.size for j in self.joints)


def parse_character(path: Path) -> CharacterDocument:
    """Read a DeepMimic character file.

    Raises:
        FileFormatError: naming the joint, if it is not one.
    """
    return _parsed(path, *load_json(path))


def sized(character: CharacterDocument, factor: float) -> CharacterDocument:
    """The character `factor` times as large: places of joints, bodies and drawn shapes, and the shapes' own sizes.

    Masses grow by `factor` cubed, as those of one density do. Gains and torque limits of the file's controllers stay:
    they belong to a controller that was trained.
    """
    data = json.loads(character.text)
    shapes = [data.get(key) for key in ("BodyDefs", "DrawShapeDefs")]
    rows = [*data["Skeleton"]["Joints"], *(row for shape in shapes if isinstance(shape, list) for row in shape)]
    for row in rows:
        if not isinstance(row, dict):
            continue
        for key in ("AttachX", "AttachY", "AttachZ", "Param0", "Param1", "Param2"):
            if isinstance(row.get(key), (int, float)):
                row[key] = factor * row[key]
        if isinstance(row.get("Mass"), (int, float)):
            row["Mass"] = factor**3 * row["Mass"]
    return _parsed(Path(character.path), json.dumps(data, indent=1, ensure_ascii=False) + "\n", data)


def _parsed(path: Path, text: str, data: Any) -> CharacterDocument:
    skeleton = data.get("Skeleton") if isinstance(data, dict) else None
    rows = skeleton.get("Joints") if isinstance(skeleton, dict) else None
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(
            "This is not a DeepMimic character file: it has no 'Skeleton' with 'Joints'.",
            path=path,
            cure="Name the right character file with --skeleton.",
        )
    joints = tuple(_joint(path, index, row) for index, row in enumerate(rows))
    bodies = data.get("BodyDefs", [])
    if not isinstance(bodies, list):
        raise FileFormatError("'BodyDefs' is not a list.", path=path, cure="Get the file again from its source.")
    return CharacterDocument(str(path), text, joints, _tips(path, joints, bodies), _mass(path, bodies))


def skeleton_of(character: CharacterDocument, *, unit: float, turn: Array) -> Skeleton:
    """The skeleton of a character: revolute joints are hinges about their own z axis, fixed ones do not turn.

    Args:
        character: The parsed file.
        unit: Meters per file unit.
        turn: Turn from the file's world to Poise's, carried by the root, unit wxyz.
    """
    joints = character.joints
    rest = np.array([j.rest for j in joints])
    rest[0] = rotations.multiply(turn, rest[0])
    return Skeleton(
        names=tuple(j.name for j in joints),
        parents=np.array([j.parent for j in joints], dtype=np.int64),
        offsets=unit * np.array([j.offset for j in joints]),
        rest_rotations=rest,
        end_sites=tuple(EndSite(j, unit * tip, f"{joints[j].name} tip") for j, tip in character.tips),
        hinges={
            k: Hinge(axis=np.array([0.0, 0.0, 1.0]), lower=j.lower, upper=j.upper)
            for k, j in enumerate(joints)
            if j.kind == "revolute"
        },
        fixed=frozenset(k for k, j in enumerate(joints) if j.kind == "fixed"),
    )


def _joint(path: Path, index: int, row: Any) -> CharacterJoint:
    if not isinstance(row, dict):
        raise FileFormatError(f"Joint {index} is not a JSON object.", path=path, cure="Get the file again.")
    name = row.get("Name", f"joint{index}")
    if not isinstance(name, str):
        raise FileFormatError(f"The name of joint {index} is not a text.", path=path, cure="Get the file again.")
    parent, kind = row.get("Parent", -1), row.get("Type")
    if type(parent) is not int or not (parent == -1 if index == 0 else 0 <= parent < index):
        raise FileFormatError(
            f"Joint {name!r} (number {index}) hangs on {parent!r}; joint 0 is the only root and parents come first.",
            path=path,
            cure="Mend 'Parent'.",
        )
    if index == 0:
        kind = "root"
    elif not isinstance(kind, str) or kind not in SIZES:
        raise FileFormatError(
            f"Joint {name!r} is of type {kind!r}; readable are {', '.join(SIZES)}.",
            path=path,
            cure="A planar or prismatic joint has no place in a Poise skeleton: replace it.",
        )
    values = {key: _number(path, f"{key} of joint {name!r}", row.get(key, 0.0)) for key in _ATTACH}
    offset = np.array([values[f"Attach{c}"] for c in "XYZ"])
    theta = np.array([values[f"AttachTheta{c}"] for c in "XYZ"])
    lower = _number(path, f"LimLow0 of joint {name!r}", row.get("LimLow0", 1.0))
    upper = _number(path, f"LimHigh0 of joint {name!r}", row.get("LimHigh0", 0.0))
    if lower > upper:  # DeepMimic's way to say: no limit
        lower, upper = -np.inf, np.inf
    return CharacterJoint(
        name=name,
        kind=kind,
        parent=parent,
        offset=np.zeros(3) if index == 0 else offset,
        rest=_rotation(theta),
        lower=lower,
        upper=upper,
    )


_ATTACH = tuple(f"{kind}{c}" for kind in ("Attach", "AttachTheta") for c in "XYZ")


def _rotation(theta: Array) -> Array:
    """Rz Ry Rx of three angles [rad], as cMathUtil::RotateMat has it."""
    return rotations.from_euler("ZYX", np.degrees(theta[::-1]))


def _number(path: Path, what: str, value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) < 1e6:
        raise FileFormatError(
            f"{what} is not a number of sensible size.", path=path, text=str(value)[:120], cure="Correct it."
        )
    return float(value)


def _mass(path: Path, bodies: list[Any]) -> float:
    return sum(_number(path, "Mass of a body", b.get("Mass", 0.0)) for b in bodies if isinstance(b, dict))


def _tips(path: Path, joints: tuple[CharacterJoint, ...], bodies: list[Any]) -> tuple[tuple[int, Array], ...]:
    """The far end of each last joint's body: of a box or capsule along its long axis, of a sphere along the bone."""
    has_child = {j.parent for j in joints}
    found = []
    for index, body in enumerate(bodies[: len(joints)]):
        if index in has_child or not isinstance(body, dict):
            continue
        numbers = {
            k: _number(path, f"{k} of body {index}", body.get(k, 0.0)) for k in (*_ATTACH, "Param0", "Param1", "Param2")
        }
        center = np.array([numbers[f"Attach{c}"] for c in "XYZ"])
        turned = _rotation(np.array([numbers[f"AttachTheta{c}"] for c in "XYZ"]))
        size = np.array([numbers[f"Param{k}"] for k in range(3)])
        shape = body.get("Shape")
        if shape == "sphere":
            along = center if np.linalg.norm(center) > 1e-9 else joints[index].offset
            length = float(np.linalg.norm(along))
            reach = 0.5 * size[0] * along / length if length > 0.0 else np.zeros(3)
        elif shape == "box":
            reach = rotations.rotate(turned, 0.5 * np.where(np.arange(3) == np.argmax(size), size, 0.0))
        elif shape in ("capsule", "cylinder"):
            cap = 0.5 * size[0] if shape == "capsule" else 0.0
            reach = rotations.rotate(turned, np.array([0.0, 0.5 * size[1] + cap, 0.0]))
        else:
            continue
        near, far = center - reach, center + reach
        found.append((index, far if np.linalg.norm(far) >= np.linalg.norm(near) else near))
    return tuple(found)
