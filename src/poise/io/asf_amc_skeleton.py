"""The ASF half of ASF/AMC: bones with a direction, a length and an axis frame, turned into a skeleton.

An ASF bone b starts at its parent's tip and ends at its own, `length · direction` further on. Its channels turn it
in its own axis frame C, so that in frames aligned with the world at rest its local rotation is C R C⁻¹: identity
when every channel is zero. Joint j of the skeleton is bone j; the tip of a last bone is an end site.

Source: the Acclaim ASF/AMC description (Lander, "Working with Motion Capture File Formats", 1998) and the CMU files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.core.typing import Array
from poise.io.files import read_bytes

MAX_BYTES = 8_000_000
"""No skeleton file is larger; a larger one is refused before it is read."""

ROOT_DOFS = ("tx", "ty", "tz", "rx", "ry", "rz")


@dataclass(frozen=True)
class AsfBone:
    """One bone as the file states it.

    Attributes:
        name: Its name.
        direction: Unit direction at rest in the file's world frame, shape (3,).
        length: In file units.
        axis: Orientation C of its axis frame at rest, unit wxyz, shape (4,).
        dofs: Its channels in file order, such as ("rx", "rz").
        limits: Lower and upper bound per channel, in the file's angle unit; empty if it states none.
        line: Where it begins in the file.
    """

    name: str
    direction: Array
    length: float
    axis: Array
    dofs: tuple[str, ...]
    limits: tuple[tuple[float, float], ...]
    line: int


@dataclass(frozen=True)
class AsfDocument:
    """An ASF file.

    Attributes:
        path: The file.
        text: Its text, to be written again as it stands.
        length: What `:units length` says; 1 if the file has none.
        degrees: True if angles are in degrees.
        root_dofs: Order of the root's six numbers.
        root_letters: Order in which the root's rotations are applied, such as "XYZ".
        position, orientation: Of the root at rest [file units], wxyz.
        bones: All bones but the root, parents first.
        parents: Index of each bone's parent in `bones`, -1 for the root.
        is_sorted: False where the file's own order had children before parents.
    """

    path: str
    text: str
    length: float
    degrees: bool
    root_dofs: tuple[str, ...]
    root_letters: str
    position: Array
    orientation: Array
    bones: tuple[AsfBone, ...]
    parents: tuple[int, ...]
    is_sorted: bool = True

    @property
    def unit(self) -> float:
        """Meters per file unit: (1 / length) inches, the CMU formula [m]."""
        return 0.0254 / self.length


def static_euler(letters: str, degrees: Array) -> Array:
    """Unit quaternions (..., 4) of turns about fixed axes, first letter first: "XYZ" gives Rz Ry Rx."""
    return rotations.from_euler(letters[::-1], np.asarray(degrees, dtype=np.float64)[..., ::-1])


def skeleton_of(document: AsfDocument, *, unit: float, turn: Array) -> Skeleton:
    """The skeleton of an ASF file.

    Args:
        document: The parsed file.
        unit: Meters per file unit.
        turn: Turn from the file's world to Poise's, carried by the root, unit wxyz.

    Returns:
        Joint 0 is the root, joint j + 1 is bone j; its origin is its parent's tip.
    """
    bones = document.bones
    tips = [unit * b.length * b.direction for b in bones]
    parents = np.array([-1, *(p + 1 for p in document.parents)], dtype=np.int64)
    offsets = np.array([np.zeros(3), *(np.zeros(3) if p < 0 else tips[p] for p in document.parents)])
    offsets[0] = rotations.rotate(turn, unit * document.position)
    rest = np.tile(rotations.IDENTITY, (len(parents), 1))
    rest[0] = turn
    scale = np.pi / 180.0 if document.degrees else 1.0
    hinges: dict[int, Hinge] = {}
    for i, bone in enumerate(bones):
        if len(bone.dofs) == 1 and bone.dofs[0][0] == "r":
            axis = rotations.rotate(bone.axis, np.eye(3)["xyz".index(bone.dofs[0][1])])
            lower, upper = bone.limits[0] if bone.limits else (-np.inf, np.inf)
            hinges[i + 1] = Hinge(axis=axis, lower=scale * lower, upper=scale * upper)
    has_child = set(document.parents)
    return Skeleton(
        names=("root", *(b.name for b in bones)),
        parents=parents,
        offsets=offsets,
        rest_rotations=rest,
        end_sites=tuple(EndSite(i + 1, tips[i], f"{b.name} tip") for i, b in enumerate(bones) if i not in has_child),
        hinges=hinges,
        translating=frozenset({0, *(i + 1 for i, b in enumerate(bones) if any(d[0] == "t" for d in b.dofs))}),
        fixed=frozenset(i + 1 for i, b in enumerate(bones) if not any(d[0] == "r" for d in b.dofs)),
    )


def parse_asf(path: Path) -> AsfDocument:
    """Read an ASF file.

    Raises:
        FileFormatError: with the line, if the file is not a complete ASF skeleton.
    """
    text = read_bytes(path, limit=MAX_BYTES).decode("utf-8", errors="replace")
    parser = _Parser(path, text)
    for section, lines in parser.sections():
        parser.read_section(section, lines)
    return parser.document()


@dataclass
class _Line:
    number: int
    tokens: list[str]
    text: str


@dataclass
class _Parser:
    """What has been read so far; one instance per file."""

    path: Path
    text: str
    units: dict[str, _Line] = field(default_factory=dict)
    root: dict[str, _Line] = field(default_factory=dict)
    bones: dict[str, AsfBone] = field(default_factory=dict)
    parent_of: dict[str, str] = field(default_factory=dict)
    sections_seen: set[str] = field(default_factory=set)
    last_line: int = 0

    def fault(self, problem: str, line: _Line | None, cure: str = "") -> FileFormatError:
        at = self.last_line if line is None else line.number
        seen = None if line is None else line.text.strip()
        return FileFormatError(
            problem, path=self.path, line=at, text=seen, cure=cure or "Get the file again from its source."
        )

    def sections(self) -> Iterator[tuple[_Line, list[_Line]]]:
        """Each section's opening line and the lines under it."""
        opening: _Line | None = None
        body: list[_Line] = []
        for number, text in enumerate(self.text.splitlines(), start=1):
            self.last_line = number
            tokens = text.split("#", 1)[0].split()
            if not tokens:
                continue
            line = _Line(number, tokens, text)
            if tokens[0].startswith(":"):
                if opening is not None:
                    yield opening, body
                opening, body = line, []
            elif opening is None:
                raise self.fault("This is not an ASF skeleton: text stands before the first ':section'.", line)
            else:
                body.append(line)
        if opening is None:
            raise self.fault("This file is empty; an ASF skeleton has ':root', ':bonedata' and ':hierarchy'.", None)
        yield opening, body

    def read_section(self, opening: _Line, body: list[_Line]) -> None:
        name = opening.tokens[0].lower()
        if name in (":root", ":bonedata", ":hierarchy", ":units"):
            if name in self.sections_seen:
                raise self.fault(f"Section {name} stands here a second time.", opening)
            self.sections_seen.add(name)
        if name == ":units":
            self.units = {line.tokens[0].lower(): line for line in body}
        elif name == ":root":
            self.root = {line.tokens[0].lower(): line for line in body}
        elif name == ":bonedata":
            for block in self.blocks(body, opening):
                self.read_bone(block)
        elif name == ":hierarchy":
            for block in self.blocks(body, opening):
                self.read_hierarchy(block[1:])

    def blocks(self, body: list[_Line], opening: _Line) -> Iterator[list[_Line]]:
        """The begin … end blocks of a section, without the `end`."""
        block: list[_Line] | None = None
        for line in body:
            word = line.tokens[0].lower()
            if word == "begin":
                if block is not None:
                    raise self.fault(
                        f"'begin' inside the block that line {block[0].number} began; its 'end' is missing.", line
                    )
                block = [line]
            elif word == "end":
                if block is None:
                    raise self.fault("'end' without 'begin'.", line)
                yield block
                block = None
            elif block is None:
                raise self.fault(f"Section {opening.tokens[0]} holds 'begin' … 'end' blocks only.", line)
            else:
                block.append(line)
        if block is not None:
            raise self.fault(f"The file ends inside the block that line {block[0].number} began.", None)

    def numbers(self, line: _Line, tokens: list[str], count: int, *, infinite: bool = False) -> list[float]:
        if len(tokens) < count:
            raise self.fault(f"{line.tokens[0]!r} needs {count} number(s) and has {len(tokens)}.", line)
        try:
            found = [float(w) for w in tokens[:count]]
        except ValueError:
            raise self.fault(f"{line.tokens[0]!r} needs {count} number(s).", line) from None
        if any("_" in w for w in tokens[:count]) or not (infinite or np.isfinite(found).all()) or np.isnan(found).any():
            raise self.fault(f"{line.tokens[0]!r} holds something that is not a finite number.", line)
        return found

    def letters(self, line: _Line, tokens: list[str]) -> str:
        order = tokens[0].upper() if tokens else "XYZ"
        if sorted(order) != ["X", "Y", "Z"]:
            raise self.fault("An axis order names X, Y and Z once each, such as XYZ.", line)
        return order

    def dofs(self, line: _Line, tokens: list[str]) -> tuple[str, ...]:
        dofs = tuple(w.lower() for w in tokens)
        unknown = [d for d in dofs if d not in ROOT_DOFS]
        if unknown:
            raise self.fault(
                f"Channel {unknown[0]!r} is not one of {', '.join(ROOT_DOFS)}; bones keep their length here.",
                line,
                "Export the clip with bones of fixed length.",
            )
        if len(set(dofs)) != len(dofs):
            raise self.fault("A channel is named twice.", line)
        return dofs

    def read_bone(self, block: list[_Line]) -> None:
        keys: dict[str, _Line] = {}
        limits: list[tuple[float, float]] = []
        in_limits = False
        for line in block[1:]:
            key = line.tokens[0].lower()
            if key == "limits" or (in_limits and key.startswith("(")):
                in_limits = True
                tokens = (
                    " ".join(line.tokens[1 if key == "limits" else 0 :]).replace("(", " ").replace(")", " ").split()
                )
                pairs = self.numbers(line, tokens, 2 * max(1, len(tokens) // 2), infinite=True)
                limits += list(zip(pairs[::2], pairs[1::2], strict=True))
            elif key in keys:
                raise self.fault(f"{key!r} appears twice in one bone.", line)
            else:
                in_limits = False
                keys[key] = line
        for key in ("name", "direction", "length"):
            if key not in keys:
                raise self.fault(f"This bone has no {key!r}.", block[0])
        if len(keys["name"].tokens) < 2:
            raise self.fault("'name' needs a name.", keys["name"])
        name = keys["name"].tokens[1]
        if name in self.bones or name == "root":
            raise self.fault(f"Bone {name!r} stands here a second time.", keys["name"])
        direction = np.array(self.numbers(keys["direction"], keys["direction"].tokens[1:], 3))
        length = self.numbers(keys["length"], keys["length"].tokens[1:], 1)[0]
        if length < 0.0:
            raise self.fault("A bone's length cannot be negative.", keys["length"])
        if length > 0.0 and abs(float(np.linalg.norm(direction)) - 1.0) > 1e-2:
            raise self.fault("A bone's direction has length 1.", keys["direction"])
        axis, letters = np.zeros(3), "XYZ"
        if "axis" in keys:
            tokens = keys["axis"].tokens[1:]
            axis = np.array(self.numbers(keys["axis"], tokens, 3))
            letters = self.letters(keys["axis"], tokens[3:])
        dofs = self.dofs(keys["dof"], keys["dof"].tokens[1:]) if "dof" in keys else ()
        if limits and len(limits) != len(dofs):
            raise self.fault(f"Bone {name!r} has {len(dofs)} channels and {len(limits)} pairs of limits.", block[0])
        for (lower, upper), dof in zip(limits, dofs):
            if lower > upper:
                raise self.fault(f"The limits of {dof} run from {lower} down to {upper}.", block[0])
        axis_frame = static_euler(letters, axis if self.is_degrees() else np.degrees(axis))
        self.bones[name] = AsfBone(name, direction, length, axis_frame, dofs, tuple(limits), block[0].number)

    def read_hierarchy(self, lines: list[_Line]) -> None:
        for line in lines:
            parent, *children = line.tokens
            for word in line.tokens:
                if word != "root" and word not in self.bones:
                    raise self.fault(f"The hierarchy names bone {word!r}, which ':bonedata' lacks.", line)
            for child in children:
                if child in self.parent_of or child == "root":
                    raise self.fault(f"Bone {child!r} has two parents.", line)
                self.parent_of[child] = parent

    def is_degrees(self) -> bool:
        line = self.units.get("angle")
        word = "deg" if line is None else " ".join(line.tokens[1:]).lower()
        if not word.startswith(("deg", "rad")):
            raise self.fault("'angle' is deg or rad.", line)
        return word.startswith("deg")

    def document(self) -> AsfDocument:
        for section in (":root", ":bonedata", ":hierarchy"):
            if section not in self.sections_seen:
                raise self.fault(f"The file ends without section {section}.", None)
        length = 1.0
        if "length" in self.units:
            line = self.units["length"]
            length = self.numbers(line, line.tokens[1:], 1)[0]
            if length <= 0.0:
                raise self.fault("'length' must be positive.", line)
        degrees = self.is_degrees()
        root_dofs = ROOT_DOFS
        if "order" in self.root:
            root_dofs = self.dofs(self.root["order"], self.root["order"].tokens[1:])
            if sorted(root_dofs) != sorted(ROOT_DOFS):
                raise self.fault("The root's order names TX TY TZ RX RY RZ once each.", self.root["order"])
        letters = self.letters(self.root["axis"], self.root["axis"].tokens[1:]) if "axis" in self.root else "XYZ"
        position, orientation = np.zeros(3), np.zeros(3)
        if "position" in self.root:
            position = np.array(self.numbers(self.root["position"], self.root["position"].tokens[1:], 3))
        if "orientation" in self.root:
            orientation = np.array(self.numbers(self.root["orientation"], self.root["orientation"].tokens[1:], 3))
        order, is_sorted = self.sorted_bones()
        place = {name: i for i, name in enumerate(order)}
        return AsfDocument(
            path=str(self.path),
            text=self.text,
            length=length,
            degrees=degrees,
            root_dofs=root_dofs,
            root_letters=letters,
            position=position,
            orientation=static_euler(letters, orientation if degrees else np.degrees(orientation)),
            bones=tuple(self.bones[name] for name in order),
            parents=tuple(place.get(self.parent_of[name], -1) for name in order),
            is_sorted=is_sorted,
        )

    def sorted_bones(self) -> tuple[list[str], bool]:
        """Bones in file order if parents come first there, else in hierarchy order; and whether file order was kept."""
        for name, bone in self.bones.items():
            if name not in self.parent_of:
                raise FileFormatError(
                    f"Bone {name!r} has no parent: the hierarchy does not name it.",
                    path=self.path,
                    line=bone.line,
                    cure="Add it to ':hierarchy' or remove it.",
                )
        children: dict[str, list[str]] = {}
        for name in self.bones:
            children.setdefault(self.parent_of[name], []).append(name)
        reached: list[str] = []
        stack = ["root"]
        while stack:
            name = stack.pop()
            reached += [name] if name != "root" else []
            stack += reversed(children.get(name, []))
        if len(reached) != len(self.bones):
            lost = next(n for n in self.bones if n not in set(reached))
            raise FileFormatError(
                f"Bone {lost!r} cannot be reached from the root: the hierarchy runs in a circle.",
                path=self.path,
                line=self.bones[lost].line,
                cure="Mend ':hierarchy'.",
            )
        seen = {"root"}
        for name in self.bones:
            if self.parent_of[name] not in seen:
                return reached, False
            seen.add(name)
        return list(self.bones), True


# --- another size ----------------------------------------------------------------------------------------------

_LENGTH = re.compile(r"^(\s*length\s+)(\S+)", re.IGNORECASE)
_POSITION = re.compile(r"^(\s*position\s+)(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


def sized(document: AsfDocument, factor: float) -> AsfDocument:
    """The skeleton `factor` times as large, in the same unit: every bone's length and the root's place [1].

    Nothing else of the text changes, so that tools which take lengths as they stand see the size, too.
    """
    section, lines = "", []
    for line in document.text.splitlines(keepends=True):
        tokens = line.split()
        if tokens and tokens[0].startswith(":"):
            section = tokens[0].lower()
        if section == ":bonedata":
            line = _LENGTH.sub(lambda m: f"{m[1]}{factor * float(m[2])!r}", line)
        elif section == ":root":
            line = _POSITION.sub(lambda m: m[1] + " ".join(repr(factor * float(m[k])) for k in (2, 3, 4)), line)
        lines.append(line)
    return replace(
        document,
        text="".join(lines),
        position=factor * document.position,
        bones=tuple(replace(bone, length=factor * bone.length) for bone in document.bones),
    )
