"""DeepMimic JSON: frames with their own durations, for a character file that holds the joints.

A frame is [duration, root position, root quaternion wxyz, then per joint in the character's order a quaternion wxyz
or one hinge angle]. The last frame's duration is 0. Y up and meters.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, NoMotion
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.io.deepmimic_character import (
    CharacterDocument,
    frame_line,
    frame_table,
    load_json,
    parse_character,
    sized,
    skeleton_of,
)
from poise.io.files import write_atomically
from poise.io.format import SAME_UNIT, door_turn, given_by_caller, ground_facts, ground_from

if TYPE_CHECKING:
    from poise.io.format import ReadOptions


NAME = "deepmimic"
GROUND = "PoiseGround"
"""Key of the ground a clip was made for; other readers pass over keys that they do not know."""
EXTENSIONS = (".txt", ".json")

SAME_ANGLE = 2e-8
"""A rotation this close [rad] to the source's counts as unchanged and is written as the source's numbers."""
SAME_LENGTH = 1e-9
"""The same for the root's place [m]."""
UNIT_SLACK = 0.5
"""How far a quaternion's length may be from 1 before the file is taken to be wrong; blended keys reach 0.93."""


@dataclass(frozen=True)
class DeepMimicDocument:
    """A DeepMimic motion as it stands.

    Attributes:
        character: Its character file.
        header: Every key of the file but "Frames", in file order.
        values: All numbers, duration first, shape (F, C).
        unit, up: How they were read: meters per file unit, and the file's up axis.
    """

    character: CharacterDocument
    header: dict[str, Any]
    values: Array
    unit: float
    up: str

    def select_frames(self, index: npt.NDArray[np.int64]) -> DeepMimicDocument:
        """The same file with these frames only."""
        return replace(self, values=self.values[index])

    def sized(self, factor: float) -> DeepMimicDocument:
        """The same file for a character `factor` times as large."""
        return replace(self, character=sized(self.character, factor))

    def as_stated(self) -> DeepMimicDocument:
        """The same figure in meters, in which DeepMimic works, where it was read in another unit."""
        return self if abs(self.unit - 1.0) < SAME_UNIT else replace(self.sized(self.unit), unit=1.0)


def matches(path: Path, head: bytes) -> bool:
    """True for JSON text that holds "Frames" with durations, or a character's "Skeleton"."""
    if path.suffix.lower() not in EXTENSIONS:
        return False
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and any(
        key in head for key in (b'"Frames"', b'"Loop"', b'"LoopMode"', b'"FrameDuration"', b'"Skeleton"')
    )


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a character file."""
    return skeleton_of(parse_character(path), unit=options.unit or 1.0, turn=door_turn(options.up or "y"))


def read(path: Path, options: ReadOptions) -> Motion:
    """Read a clip with the character file beside it, or the one of `options.skeleton`.

    Raises:
        FileFormatError: with frame and line, if the clip or the character is not what it should be.
    """
    text, data = load_json(path)
    if isinstance(data, dict) and "Skeleton" in data and "Frames" not in data:
        problem = "This file holds a character and no motion."
        raise NoMotion(problem, path=path, motion="for a motion name the clip that moves it")
    if not isinstance(data, dict) or "Frames" not in data:
        raise FileFormatError("This JSON has no 'Frames'.", path=path, cure="Name a DeepMimic motion file.")
    if "FrameDuration" in data:
        facts = describe(path, options)
        raise FileFormatError(
            f"{facts['reason']} It has {facts['frames']} frames at {facts['fps']:.4g} fps.",
            path=path,
            cure="Retarget it in the tool it came from and export BVH or glTF.",
        )
    rows = data["Frames"]
    width = len(rows[0]) if isinstance(rows, list) and rows and isinstance(rows[0], list) else 0
    character = find_character(path, options.skeleton, width)
    values = frame_table(path, text, rows, character.width)
    times, fps = _times(path, text, values, options.fps)
    stretch = _check_quaternions(path, text, values, character)
    document = DeepMimicDocument(
        character=character,
        header={k: v for k, v in data.items() if k != "Frames"},
        values=values,
        unit=options.unit or 1.0,
        up=options.up or "y",
    )
    translations, turned = _pose(document)
    loop = {"wrap": True, "none": False}.get(str(data.get("Loop", "")).lower())
    return Motion(
        skeleton=skeleton_of(character, unit=document.unit, turn=door_turn(document.up)),
        times=times,
        translations=translations,
        rotations=turned,
        source=Source(
            path=str(path),
            format=NAME,
            dialect="DeepMimic",
            unit=document.unit,
            up=document.up,
            fps=fps,
            document=document,
            evidence=_evidence(character, values, loop, stretch, options),
            clips=(path.stem,),
            ground=ground_from(document.header.get(GROUND)),
            loop=loop,
        ),
    )


def _evidence(
    character: CharacterDocument, values: Array, loop: bool | None, stretch: float, options: ReadOptions
) -> dict[str, Evidence]:
    steps = values[:-1, 0]
    rate, said = 60.0, "a single frame says nothing; 60 is assumed"
    if len(steps):
        rate = float(1.0 / np.median(steps))
        varies = float(np.ptp(steps)) > 1e-9
        said = (
            f"frame durations vary, {steps.min():g} … {steps.max():g} s" if varies else "all frame durations are equal"
        )
    named = "named by the caller" if options.skeleton else "the character whose joints take this many numbers a frame"
    found = {
        "skeleton": Evidence(Path(character.path).name, 1.0 if options.skeleton else 0.9, named),
        "unit": Evidence(1.0, 0.95, "DeepMimic works in meters"),
        "up": Evidence("y", 0.95, "DeepMimic is Y up"),
        "fps": Evidence(rate, 1.0 if len(steps) else 0.3, said),
        "loop": Evidence(loop, 1.0 if loop is not None else 0.0, "key 'Loop' of the file"),
        "end_sites": Evidence(len(character.tips), 0.7, "the far ends of the last bodies' shapes"),
        "rest_pose": Evidence("all rotations identity", 1.0, "attach points and angles of the character file"),
        "quaternions": Evidence(stretch, 1.0, "largest distance of a length from 1; each is scaled to 1 when read"),
    }
    return found | given_by_caller(options)


def _times(path: Path, text: str, values: Array, fps: float | None) -> tuple[Array, float]:
    """Times of all frames [s] from the durations, and the rate of the median one; `fps` overrides both."""
    if fps:
        return np.arange(len(values)) / fps, fps
    steps = values[:-1, 0]
    if (bad := np.flatnonzero(~(steps > 0.0))).size or values[-1, 0] < 0.0:
        frame = int(bad[0]) if bad.size else len(values) - 1
        raise FileFormatError(
            f"Frame {frame} has duration {values[frame, 0]:g} s; only the last may be 0, none negative.",
            path=path,
            line=frame_line(text, frame),
            cure="Correct the duration, or give --source-fps to override them all.",
        )
    return np.concatenate([[0.0], np.cumsum(steps)]), float(1.0 / np.median(steps)) if len(steps) else 60.0


def _check_quaternions(path: Path, text: str, values: Array, character: CharacterDocument) -> float:
    """The largest distance of a quaternion's length from 1, which must stay below `UNIT_SLACK`."""
    column, worst = 1, 0.0
    for joint in character.joints:
        start = column + (3 if joint.kind == "root" else 0)
        column += joint.size
        if joint.size in (7, 4):
            length = np.linalg.norm(values[:, start : start + 4], axis=1)
            if (bad := np.flatnonzero(np.abs(length - 1.0) > UNIT_SLACK)).size:
                raise FileFormatError(
                    f"The quaternion of joint {joint.name!r} in frame {bad[0]} has length {length[bad[0]]:.3g}, not 1.",
                    path=path,
                    line=frame_line(text, int(bad[0])),
                    cure=f"It may belong to another character than {Path(character.path).name}: see --skeleton.",
                )
            worst = max(worst, float(np.max(np.abs(length - 1.0))))
    return worst


def find_character(path: Path, named: Path | None, width: int) -> CharacterDocument:
    """The character of a clip: the one named, else one beside it or in ../characters.

    There it is the one whose name begins the clip's, else the only one that takes `width` numbers a frame, beside the
    clip before elsewhere.

    Raises:
        FileFormatError: if none fits, or several do; the message lists what was seen.
    """
    if named is not None:
        if not named.is_file():
            raise FileFormatError(
                "There is no such character file.", path=named, cure="Check the path after --skeleton."
            )
        return parse_character(named)
    seen: list[CharacterDocument] = []
    for folder in (path.parent, path.parent.parent / "characters"):
        if folder.is_dir():
            seen += [parse_character(p) for p in sorted(folder.iterdir())[:1000] if p != path and _is_character(p)]
    prefixed = sorted(
        (c for c in seen if path.stem.startswith(Path(c.path).stem)), key=lambda c: -len(Path(c.path).stem)
    )
    fitting = [c for c in seen if c.width == width]
    fitting = [c for c in fitting if Path(c.path).parent == path.parent] or fitting
    if prefixed:
        return prefixed[0]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{Path(c.path).name} ({c.width} numbers a frame)" for c in seen[:10]) or "none"
    raise FileFormatError(
        f"A DeepMimic clip needs its character file; this one has {width} numbers a frame. Characters seen: {listed}.",
        path=path,
        cure="Put the character beside the clip, or name it with --skeleton FILE.",
    )


def _is_character(path: Path) -> bool:
    if path.suffix.lower() not in EXTENSIONS or not path.is_file() or path.stat().st_size > 4_000_000:
        return False
    with path.open("rb") as file:
        head = file.read(400)
    return b'"Skeleton"' in head and b'"Frames"' not in head


def describe(path: Path, options: ReadOptions) -> dict[str, Any]:
    """What a motion_imitation clip (no skeleton anywhere) says of itself, and why it cannot be moved.

    Of a character file, what it says beyond its skeleton.

    Raises:
        FileFormatError: if it is neither.
    """
    text, data = load_json(path)
    if isinstance(data, dict) and "Skeleton" in data:
        return {"dialect": "DeepMimic character", "unit_m": options.unit or 1.0, "up": options.up or "y"}
    if not isinstance(data, dict) or "FrameDuration" not in data:
        raise FileFormatError("This is not a motion_imitation clip: it has no 'FrameDuration'.", path=path)
    duration = data["FrameDuration"]
    if type(duration) not in (int, float) or not 0.0 < duration < 1e3:
        raise FileFormatError(
            "'FrameDuration' is not a positive number of seconds.", path=path, text=str(duration), cure="Correct it."
        )
    values = frame_table(path, text, data.get("Frames"), None)
    fps = options.fps or 1.0 / duration
    return {
        "format": NAME,
        "dialect": "motion_imitation",
        "joints": [],
        "end_sites": [],
        "channels": values.shape[1],
        "hinges": max(0, values.shape[1] - 7),
        "frames": len(values),
        "fps": fps,
        "duration_s": (len(values) - 1) / fps,
        "unit_m": 1.0,
        "up": "z",
        "loop": {"wrap": True, "clamp": False}.get(str(data.get("LoopMode", "")).lower()),
        "root_height_m": [float(values[:, 2].min()), float(values[:, 2].max())] if values.shape[1] > 2 else [],
        "clips": [path.stem],
        "reason": (
            "A motion_imitation clip holds root place, root quaternion and joint angles, but no skeleton: "
            "neither bone lengths nor joint axes are known, so it cannot be moved."
        ),
        "evidence": {
            "dialect": Evidence("motion_imitation", 0.95, "keys 'FrameDuration' and 'LoopMode'"),
            "up": Evidence("z", 0.9, "the PyBullet custom: Z up, quaternion xyzw, meters"),
        },
        "warnings": ["No skeleton: this clip can be described and not simulated."],
    }


def _pose(document: DeepMimicDocument) -> tuple[Array, Array]:
    """Translations (F, J, 3) [m] and rotations (F, J, 4) of a clip's numbers; quaternions are scaled to unit length."""
    turn = door_turn(document.up)
    skeleton = skeleton_of(document.character, unit=document.unit, turn=turn)
    values, frames = document.values, len(document.values)
    translations = np.tile(skeleton.offsets, (frames, 1, 1))
    turned = np.tile(skeleton.rest_rotations, (frames, 1, 1))
    column = 1
    for k, joint in enumerate(document.character.joints):
        block = values[:, column : column + joint.size]
        column += joint.size
        rest = skeleton.rest_rotations[k]
        if joint.kind == "root":
            translations[:, 0] = document.unit * rotations.rotate(rest, block[:, :3])
            turned[:, 0] = rotations.multiply(rest, rotations.normalize(block[:, 3:]))
        elif joint.kind == "spherical":
            turned[:, k] = rotations.multiply(rest, rotations.normalize(block))
        elif joint.kind == "revolute":
            half = 0.5 * block[:, 0]
            about_z = np.stack([np.cos(half), np.zeros(frames), np.zeros(frames), np.sin(half)], axis=-1)
            turned[:, k] = rotations.multiply(rest, about_z)
    return translations, turned


def write(motion: Motion, path: Path) -> None:
    """Write a DeepMimic clip for the character it was read with; that file is put beside it where it is not there yet.

    Every value nobody changed is the source's own number. Quaternions take the sign nearest the source or the frame
    before; durations are the differences of the times, the last as the source has it.

    Raises:
        InvalidValue: if the motion was not read from DeepMimic, or turns a joint that its character cannot.
    """
    document = motion.source.document if motion.source else None
    if not isinstance(document, DeepMimicDocument):
        raise InvalidValue(
            "Only a motion read from DeepMimic can be written as DeepMimic: its joints live in a character file. "
            "Write .bvh, .npz or .glb instead."
        )
    if motion.skeleton.names != tuple(j.name for j in document.character.joints):
        raise InvalidValue("The motion's joints are not those of its character file. Write .bvh, .npz or .glb instead.")
    values = _values(motion, document)
    head = "".join(f"{json.dumps(k)}: {json.dumps(v)},\n" for k, v in _header(document, motion).items())
    rows = ",\n".join(f"[{', '.join(map(repr, row))}]" for row in values.tolist())
    beside = _missing_character(document.character, path)
    write_atomically(path, f'{{\n{head}"Frames":\n[\n{rows}\n]\n}}\n')
    if beside is not None:
        write_atomically(beside, document.character.text.encode("utf-8"))


def _header(document: DeepMimicDocument, motion: Motion) -> dict[str, Any]:
    """What stands before the frames: as it was, and the ground the clip was made for."""
    kept = {k: v for k, v in document.header.items() if k != GROUND}
    facts = ground_facts(motion.source.ground if motion.source else None)
    return kept | ({GROUND: facts} if facts else {})


def companion(motion: Motion, path: Path) -> Path | None:
    """The character file that `write` would put beside a clip; None if it lies there already."""
    document = motion.source.document if motion.source else None
    if not isinstance(document, DeepMimicDocument):
        return None
    return _missing_character(document.as_stated().character, path)


def _missing_character(character: CharacterDocument, path: Path) -> Path | None:
    """Where the character of a clip is to be written, None where it lies beside it already."""
    try:
        if find_character(path, None, character.width).text == character.text:
            return None
    except FileFormatError:
        pass
    beside = path.with_name(Path(character.path).name)
    if beside.exists():
        raise InvalidValue(
            f"{beside} holds another character than this clip needs. Write the clip into another folder."
        )
    return beside


def _values(motion: Motion, document: DeepMimicDocument) -> Array:
    """All numbers of a clip, shape (F, C), in file units."""
    frames = motion.frame_count
    has_source = len(document.values) == frames
    values = document.values.copy() if has_source else np.zeros((frames, document.character.width))
    before = _pose(document) if has_source else None
    steps = np.diff(motion.times)
    same_step = np.abs(values[:-1, 0] - steps) < 1e-9
    values[:-1, 0] = np.where(same_step, values[:-1, 0], steps)
    skeleton = skeleton_of(document.character, unit=document.unit, turn=door_turn(document.up))
    column = 1
    for k, joint in enumerate(document.character.joints):
        block = values[:, column : column + joint.size]
        column += joint.size
        local = rotations.multiply(rotations.conjugate(skeleton.rest_rotations[k]), motion.rotations[:, k])
        is_new = np.ones(frames, dtype=bool)
        if before is not None:
            is_new = rotations.angle_between(motion.rotations[:, k], before[1][:, k]) > SAME_ANGLE
        if joint.kind == "root":
            place = (
                rotations.rotate(rotations.conjugate(skeleton.rest_rotations[0]), motion.translations[:, 0])
                / document.unit
            )
            is_moved = np.abs(place - block[:, :3]) * document.unit > SAME_LENGTH
            block[:, :3] = np.where(is_moved, place, block[:, :3]) if has_source else place
        elif np.max(np.abs(motion.translations[:, k] - skeleton.offsets[k])) > 1e-6:
            away = motion.translations[:, k] - skeleton.offsets[k]
            what = "moves by translation"
            if np.max(np.ptp(away, axis=0)) <= 1e-6:
                what = f"sits {np.abs(away).max():.3g} m off the place that the character file gives it"
            raise InvalidValue(
                f"Joint {joint.name!r} {what}, which DeepMimic cannot state. Write .bvh or .glb instead."
            )
        if joint.size in (4, 7):
            quaternion = block[:, -4:]
            guide = quaternion if has_source else rotations.continuous(local)
            sign = np.where(np.sum(local * guide, axis=-1, keepdims=True) < 0.0, -1.0, 1.0)
            quaternion[is_new] = (sign * local)[is_new]
        elif joint.kind == "revolute":
            block[is_new, 0] = _hinge_angles(local, block[:, 0], has_source, joint.name)[is_new]
        elif np.max(rotations.angle_between(local, rotations.IDENTITY)) > 1e-6:
            raise InvalidValue(
                f"Joint {joint.name!r} is fixed in its character and turned in this motion. Write .glb instead."
            )
    return values


def _hinge_angles(local: Array, source: Array, has_source: bool, name: str) -> Array:
    """Angles about z [rad] of turns (F, 4), on the branch nearest the source or the frame before."""
    if np.max(np.hypot(local[:, 1], local[:, 2])) > 1e-6:
        raise InvalidValue(
            f"Hinge {name!r} turns about another axis than its own, which DeepMimic cannot state. Write .glb instead."
        )
    angles = 2.0 * np.arctan2(local[:, 3], local[:, 0])
    if has_source:
        return angles + 2.0 * np.pi * np.round((source - angles) / (2.0 * np.pi))
    first = angles[0] - 2.0 * np.pi * np.round(angles[0] / (2.0 * np.pi))
    return np.unwrap(np.concatenate([[first], angles[1:]]))
