"""MVNX, the XML of Xsens MVN: turns and places of body segments in the world. Read only.

A file says of each segment where its joints are in its own frame (`pos_b`, before version 4 `pos_s`), of each joint
which two segments it connects, and of each frame the world orientation (wxyz) and place of all segments, in meters,
Z up. In the "identity" frame all segments are turned like the world. Source: MVN User Manual, MV0319P, chapter on MVNX.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from xml.parsers import expat

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import EndSite, Skeleton
from poise.core.typing import Array
from poise.io.files import file_size
from poise.io.format import door_turn

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "mvnx"
EXTENSIONS = (".mvnx",)

TEXTS = ("pos_b", "pos_s", "connector1", "connector2", "orientation", "position")
"""Elements whose text is read; all others are passed over."""
LONGEST = 1 << 20
"""No text of one element has more letters than this."""
CURE = "Export it again from Xsens MVN (File, Export, MVNX), with orientation and position."
RIGID = 5e-3
"""A segment farther than this from its joint is mentioned in a warning [m]; 2 mm are usual."""


@dataclass
class _Recording:
    """What was read so far.

    Attributes:
        points: Points of each segment in its own frame [m], by segment and point.
        joints: Segment and point of the parent's side, then of the child's, for each joint.
        turns, places: World orientations and places of all segments, one array a frame.
        numbers: Number of each frame.
    """

    fps: float = 0.0
    name: str = ""
    points: dict[str, dict[str, Array]] = field(default_factory=dict)
    joints: list[tuple[tuple[str, str], tuple[str, str]]] = field(default_factory=list)
    turns: list[Array] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def matches(path: Path, head: bytes) -> bool:
    """True for XML whose first element is `mvnx`."""
    return b"<mvnx" in head


def read(path: Path, options: ReadOptions) -> Motion:
    """Read a recording.

    Raises:
        FileFormatError: if it is not a complete MVNX file, or holds no frames.
    """
    found = _parse(path)
    if not found.turns:
        raise FileFormatError("It holds no frame of type 'normal'.", path=path, cure=CURE)
    parents, joints, left_out = _tree(path, found)
    names = list(found.points)
    index = {name: k for k, name in enumerate(names)}
    columns = [index[name] for name in parents]
    turns = rotations.normalize(np.stack(found.turns))[:, columns]
    unit, turn = options.unit or 1.0, door_turn(options.up or "z")
    places = unit * np.stack(found.places)[:, columns]
    skeleton = _skeleton(found, parents, joints, unit)

    above = skeleton.parents
    local = turns.copy()
    local[:, 1:] = rotations.multiply(rotations.conjugate(turns[:, above[1:]]), turns[:, 1:])
    moved = np.repeat(skeleton.offsets[None], len(turns), axis=0)
    local[:, 0] = rotations.multiply(turn, turns[:, 0])
    moved[:, 0] = rotations.rotate(turn, places[:, 0])

    fps = options.fps or found.fps
    numbers = np.array(found.numbers)
    is_counted = len(numbers) == len(turns) and bool((np.diff(numbers) > 0).all())
    times = (numbers - numbers[0] if is_counted else np.arange(len(turns))) / fps
    motion = Motion(skeleton, times.astype(np.float64), moved, local)
    warnings = []
    if left_out:
        warnings.append(f"Segments that no joint connects to the body are left out: {', '.join(left_out[:5])}.")
    expected = rotations.rotate(turn, places)
    distance = float(np.linalg.norm(motion.world[0] - expected, axis=-1).max())
    if distance > RIGID * unit:
        warnings.append(
            f"In the file, segments are up to {100 * distance:.1f} cm away from their joints; here they stay on them."
        )
    known = Evidence(unit, 1.0, "MVNX is in meters" if options.unit is None else "as its user says")
    source = Source(
        str(path),
        NAME,
        "MVNX",
        unit=unit,
        up=options.up or "z",
        fps=fps,
        evidence={"unit": known, "up": Evidence(options.up or "z", 1.0, "MVNX has Z up")},
        warnings=tuple(warnings),
        clips=(found.name or path.stem,),
    )
    return replace(motion, source=source).placed(*motion.world)


def _parse(path: Path) -> _Recording:
    """All segments, joints and frames of a file, read as it streams by; entities are refused."""
    file_size(path)
    found = _Recording()
    parser = expat.ParserCreate()
    at: dict[str, Any] = {"segment": "", "point": "", "sides": [], "text": None, "letters": 0, "is_frame": False}

    def refuse(*_: Any) -> NoReturn:
        raise FileFormatError("It declares XML entities, which no MVNX needs.", path=path, cure=CURE)

    def start(tag: str, attributes: dict[str, str]) -> None:
        if tag == "subject" and not found.points:
            with suppress(ValueError):
                found.fps = float(attributes.get("frameRate", "nan"))
            found.name = attributes.get("label", "")
        elif tag == "segment":
            at["segment"] = attributes.get("label", "")
            found.points.setdefault(at["segment"], {})
        elif tag == "point":
            at["point"] = attributes.get("label", "")
        elif tag == "joint":
            at["sides"] = []
        elif tag == "frame":
            at["is_frame"] = attributes.get("type", "normal") == "normal"
            if at["is_frame"] and attributes.get("index", "").isdecimal():
                found.numbers.append(int(attributes["index"]))
        at["text"] = [] if tag in TEXTS else None
        at["letters"] = 0

    def letters(text: str) -> None:
        if at["text"] is not None:
            at["letters"] += len(text)
            if at["letters"] > LONGEST:
                raise FileFormatError("One of its elements is longer than any frame.", path=path, cure=CURE)
            at["text"].append(text)

    def end(tag: str) -> None:
        if tag not in TEXTS or at["text"] is None:
            return
        text, at["text"] = "".join(at["text"]), None
        if tag in ("pos_b", "pos_s"):
            found.points.setdefault(at["segment"], {})[at["point"]] = _numbers(text, 3)[0]
        elif tag in ("connector1", "connector2"):
            segment, _, point = text.strip().partition("/")
            at["sides"].append((segment, point))
            if len(at["sides"]) == 2:
                found.joints.append((at["sides"][0], at["sides"][1]))
        elif at["is_frame"]:
            width = 4 if tag == "orientation" else 3
            rows = _numbers(text, width)
            if len(rows) != len(found.points):
                problem = f"{tag} of a frame has {len(rows)} segments; the file names {len(found.points)}."
                raise FileFormatError(problem, path=path, line=parser.CurrentLineNumber, cure=CURE)
            (found.turns if tag == "orientation" else found.places).append(rows)

    def _numbers(text: str, width: int) -> Array:
        try:
            values = np.array(text.split(), dtype=np.float64).reshape(-1, width)
        except ValueError:
            values = np.full((1, width), np.nan)
        if not np.isfinite(values).all() or (width == 4 and not (np.abs((values**2).sum(axis=1) - 1.0) < 0.1).all()):
            what = "quaternions of length 1" if width == 4 else "places"
            problem = f"These are not {what} (sets of {width} numbers)."
            raise FileFormatError(problem, path=path, line=parser.CurrentLineNumber, text=text[:60], cure=CURE)
        return values

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = letters, refuse
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        raise FileFormatError(f"The XML is damaged: {error}.", path=path, cure=CURE) from error
    if not (np.isfinite(found.fps) and 0.0 < found.fps <= 1e5):
        raise FileFormatError(f"Its frameRate is {found.fps:g}.", path=path, cure=CURE)
    if len(found.places) != len(found.turns):
        problem = f"{len(found.turns)} frames have an orientation and {len(found.places)} a position."
        raise FileFormatError(problem, path=path, cure=CURE)
    return found


def _tree(path: Path, found: _Recording) -> tuple[dict[str, str], dict[str, Array], list[str]]:
    """Each segment's parent ("" for the root), parents first; where it hangs on it; and segments not connected."""
    hangs = {child[0]: (parent, child) for parent, child in found.joints if child[0] in found.points}
    roots = [name for name in found.points if name not in hangs]
    if not hangs or not roots:
        raise FileFormatError("Its joints connect no segments.", path=path, cure=CURE)
    children: dict[str, list[str]] = {}
    for name in found.points:
        if name in hangs:
            children.setdefault(hangs[name][0][0], []).append(name)
    root = max(roots, key=lambda name: len(children.get(name, ())))
    parents, places = {root: ""}, {root: np.zeros(3)}
    waiting = [root]
    while waiting:
        above = waiting.pop()
        for name in children.get(above, ()):
            (_, point), (_, own) = hangs[name]
            if point not in found.points[above]:
                raise FileFormatError(f"Segment {above!r} has no point {point!r}.", path=path, cure=CURE)
            parents[name] = above
            places[name] = found.points[above][point] - found.points[name].get(own, np.zeros(3))
            waiting.append(name)
    in_order = [name for name in found.points if name in parents]
    place = {name: k for k, name in enumerate(in_order)}
    if any(parents[name] and place[parents[name]] > place[name] for name in in_order):
        in_order = list(parents)
    return (
        {name: parents[name] for name in in_order},
        {name: places[name] for name in in_order},
        [name for name in found.points if name not in parents],
    )


def _skeleton(found: _Recording, parents: dict[str, str], places: dict[str, Array], unit: float) -> Skeleton:
    names = list(parents)
    index = {name: k for k, name in enumerate(names)}
    tips = []
    for name in names:
        points = found.points[name]
        if name not in parents.values() and points:
            tip = max(points, key=lambda label: float(np.linalg.norm(points[label])))
            tips.append(EndSite(index[name], unit * points[tip], tip))
    return Skeleton(
        names=tuple(names),
        parents=np.array([index[p] if p else -1 for p in parents.values()], dtype=np.int64),
        offsets=unit * np.array(list(places.values())),
        rest_rotations=np.tile([1.0, 0.0, 0.0, 0.0], (len(names), 1)),
        end_sites=tuple(tips),
    )
