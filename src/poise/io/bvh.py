"""BVH: hierarchy, channels and a table of numbers, in every dialect in use.

A reader reports and never repairs: what it had to guess (unit, up axis, whether position channels replace OFFSET) is
told in `source.evidence`, and the file's own text and numbers are kept for writing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from poise.core.errors import FileFormatError, NoMotion
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import Skeleton
from poise.intake.anatomy import Limb, anatomy_of, simple_name, without_counts
from poise.intake.reading import Custom, read_as
from poise.io.bvh_document import (
    BvhDocument,
    file_pose,
    finite_number,
    parse_hierarchy,
    read_ground,
    skeleton_of,
    through_door,
    with_mark,
)
from poise.io.bvh_table import normalized, read_table
from poise.io.bvh_write import write, write_as
from poise.io.files import file_size
from poise.io.format import ReadOptions

__all__ = ["EXTENSIONS", "NAME", "describe", "matches", "parse", "read", "read_skeleton", "write", "write_as"]

NAME = "bvh"
EXTENSIONS = (".bvh",)
ROOM = 500_000_000
"""Memory that a clip of any file may take [bytes]."""
MOST_TIMES = 10
"""Longer clips may take this many times the size of their file."""
JOINT_BYTES = 112
"""Memory for one joint in one frame: its pose, and where it then is in the world [bytes]."""
MAX_HIERARCHY = 1 << 23
"""The hierarchy ends before this byte."""

_BOM = b"\xef\xbb\xbf"
_MOTION = re.compile(rb"^[ \t]*MOTION[ \t]*$", re.IGNORECASE | re.MULTILINE)
_HEAD = re.compile(
    r"\s*MOTION\s+Frames\s*:[ \t]*(?P<count>\S+)\s+Frame\s*Time\s*:[ \t]*(?P<time>\S+)[ \t]*(\n|$)\s*", re.IGNORECASE
)
AGAIN = "Export the clip anew, or get the file again from its source."


def matches(path: Path, head: bytes) -> bool:
    """True if the first word is HIERARCHY."""
    return head.removeprefix(_BOM).lstrip()[:9].upper() == b"HIERARCHY"


def read(path: Path, options: ReadOptions) -> Motion:
    """Read a BVH file.

    Raises:
        FileFormatError: with line, column and text, if it is not a complete BVH file.
    """
    document = parse(path, options)
    said, noted = with_mark(options, document.head)
    guessed = _guess(document, said)
    is_told = any(given is not None for given in (options.unit, options.up, options.height))
    document = replace(document, unit=guessed.unit, up=guessed.up, adds_offset=guessed.adds_offset, is_told=is_told)
    stands = guessed.stands
    translations, turned = through_door(document, stands.translations, stands.rotations)
    fps = options.fps or 1.0 / document.frame_time
    return Motion(
        skeleton=skeleton_of(document),
        times=np.arange(document.frame_count) / fps,
        translations=translations,
        rotations=turned,
        source=Source(
            path=str(path),
            format=NAME,
            dialect=guessed.dialect,
            unit=guessed.unit,
            up=guessed.up,
            fps=fps,
            document=document,
            evidence=guessed.evidence | noted,
            warnings=guessed.warnings,
            clips=(path.stem,),
            ground=read_ground(document.head),
        ),
    )


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a BVH file, whether or not numbers follow it."""
    if _has_motion(path):
        return read(path, options).skeleton
    document = parse(path, options, needs_motion=False)
    guessed = _guess(document, options)
    return skeleton_of(replace(document, unit=guessed.unit, up=guessed.up))


def describe(path: Path, options: ReadOptions) -> dict[str, Any] | None:
    """What a BVH without motion says beyond its skeleton; None for one with.

    Raises:
        FileFormatError: if the hierarchy is not complete.
    """
    if _has_motion(path):
        return None
    document = parse(path, options, needs_motion=False)
    guessed = _guess(document, options)
    return {
        "dialect": guessed.dialect,
        "channels": document.channel_count,
        "unit_m": guessed.unit,
        "up": guessed.up,
        "evidence": guessed.evidence,
        "warnings": list(guessed.warnings),
    }


def parse(path: Path, options: ReadOptions, *, needs_motion: bool = True) -> BvhDocument:
    """The file as it stands.

    Raises:
        FileFormatError: with line, column and text, if it is not a complete BVH file.
    """
    raw = _front(path)
    front = normalized(raw)
    if not matches(path, front):
        raise FileFormatError(
            "A BVH file begins with the word HIERARCHY.",
            path=path,
            line=1,
            text=front[:60].decode("latin-1").strip(),
            cure="Name the right file, or correct its extension.",
        )
    found = _MOTION.search(front)
    end = found.start() if found else len(front)
    try:
        encoding, text = "utf-8", front[:end].decode("utf-8")
    except UnicodeDecodeError:
        encoding, text = "latin-1", front[:end].decode("latin-1")
    # the byte-order mark is part of the text that is written back, and a blank to whoever reads it
    joints, end_sites = parse_hierarchy(path, text.replace("\ufeff", " ", 1))
    hierarchy = raw[:end].decode(encoding)
    first_line = text.count("\n") + 1
    if found is None:
        if needs_motion:
            problem = "This file holds a skeleton and no motion."
            raise NoMotion(problem, path=path, line=first_line, motion="for the motion get the whole file")
        empty = np.empty((0, sum(len(j.channels) for j in joints)))
        return BvhDocument(
            encoding, hierarchy, "", (0, 0), (0, 0), joints, end_sites, empty, b"", np.zeros(1, np.int64)
        )
    head = _HEAD.match(front[end : end + 4096].decode("latin-1"))
    declared = _count_and_time(path, front[end : end + 4096], head, first_line, options)
    width = sum(len(j.channels) for j in joints)
    if width == 0:
        raise FileFormatError("No joint has a channel; nothing here moves.", path=path, cure=AGAIN)
    assert head is not None
    values, rows, starts = read_table(
        path,
        end + head.end(),
        first_line + head.group().count("\n"),
        width,
        declared,
        options.frames_from_data,
        partial(_require_room, path, len(joints), width),
    )
    return BvhDocument(
        encoding=encoding,
        hierarchy=hierarchy,
        head=raw[end : end + head.end()].decode("latin-1"),
        count_span=head.span("count"),
        time_span=head.span("time"),
        joints=joints,
        end_sites=end_sites,
        values=values,
        rows=rows,
        row_starts=starts,
    )


def _require_room(path: Path, joints: int, width: int, frames: int) -> None:
    """Refuse a file whose short rows would take very much more memory than the file has bytes."""
    needed = frames * (JOINT_BYTES * joints + 16 * width)
    allowed = max(ROOM, MOST_TIMES * file_size(path))
    if needed > allowed:
        raise FileFormatError(
            f"{frames} frames of {joints} joints take about {needed / 1e6:.0f} MB; {allowed / 1e6:.0f} are allowed.",
            path=path,
            cure="Cut it into shorter clips, or leave out joints that never move.",
        )


def _front(path: Path) -> bytes:
    """The bytes that hold the hierarchy and a little more."""
    file_size(path)
    with path.open("rb") as file:
        front = file.read(1 << 16)
        if front.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise FileFormatError("This is UTF-16 text.", path=path, line=1, cure="Save the file as UTF-8.")
        if matches(path, front) and not _MOTION.search(normalized(front)):
            front += file.read(MAX_HIERARCHY - len(front))
        elif len(front) == 1 << 16:
            front += file.read(1 << 12)
    if len(front) == MAX_HIERARCHY and not _MOTION.search(normalized(front)):
        raise FileFormatError(
            f"No MOTION in the first {MAX_HIERARCHY} bytes.", path=path, line=normalized(front).count(b"\n"), cure=AGAIN
        )
    return front


def _has_motion(path: Path) -> bool:
    return _MOTION.search(normalized(_front(path))) is not None


def _count_and_time(path: Path, front: bytes, head: re.Match[str] | None, line: int, options: ReadOptions) -> int:
    """The declared frame count; refuses a frame time that is none."""
    if head is None:
        lines = [t for t in enumerate(front.decode("latin-1").split("\n"), line) if t[1].strip()][1:3]
        wanted = ("Frames:", "Frame Time:")
        for k, word in enumerate(wanted):
            number, text = lines[k] if k < len(lines) else (line + k, "")
            if not re.match(word.replace(" ", r"\s*").replace(":", r"\s*:\s*\S+\s*$"), text.strip(), re.IGNORECASE):
                raise FileFormatError(
                    f"After MOTION, {word!r} and a number are expected here.",
                    path=path,
                    line=number,
                    text=text.strip(),
                    cure=AGAIN,
                )
        raise FileFormatError("The lines after MOTION cannot be read.", path=path, line=line, cure=AGAIN)
    count, time = head["count"], finite_number(head["time"])
    count_line = line + head.group()[: head.start("count")].count("\n")
    time_line = line + head.group()[: head.start("time")].count("\n")
    if not (count.isascii() and count.isdigit() and len(count) < 16):
        raise FileFormatError(
            "The frame count is not a whole number.", path=path, line=count_line, text=count, cure=AGAIN
        )
    if time is None or (not 1e-6 <= time <= 3600.0 and options.fps is None):
        raise FileFormatError(
            "The frame time is not a usable number of seconds.",
            path=path,
            line=time_line,
            text=head["time"],
            cure="Give the rate of the data with --source-fps (fps=...).",
        )
    return int(count)


UP_CUSTOM = {"y": 0.8, "z": 0.18, "x": 0.01, "-y": 0.02}
"""How often a BVH file has which axis up; what is found in pictures often has theirs, which goes down."""
UNIT_CUSTOM = {"cm": 0.55, "m": 0.12, "inch": 0.12, "mm": 0.06, "cmu": 0.03, "dm": 0.03, "ft": 0.01}
"""How often a BVH file is in which unit."""
CMU_UNIT_CUSTOM = UNIT_CUSTOM | {"cmu": 0.5}
CMU_RATES = {0.5: 0.12, 0.25: 0.02, 2.0: 0.02}
"""CMU captured some subjects at 60 Hz; the releases made from it say 120 Hz of all."""


@dataclass(frozen=True)
class Guess:
    """What was taken, and why.

    Attributes:
        unit: Meters per file unit.
        up: Up axis.
        adds_offset: True if the position channels of a child are added to its OFFSET.
        dialect: Which custom, in words.
        evidence: Each answer with its reason.
        warnings: What to ask the user.
        stands: The motion in file units and file axes; its arrays are the caller's to keep.
    """

    unit: float
    up: str
    adds_offset: bool
    dialect: str
    evidence: dict[str, Evidence]
    warnings: tuple[str, ...]
    stands: Motion


def _guess(document: BvhDocument, options: ReadOptions) -> Guess:
    """Everything the file leaves open, with the user's word before any guess."""
    evidence: dict[str, Evidence] = {}
    adds, evidence["positions"] = _meaning_of_positions(document)
    evidence["dialect"] = who = _who_made_it(document)
    as_it_stands = _as_it_stands(replace(document, adds_offset=adds), options.fps)
    is_cmu = who.value.startswith("CMU")
    literal = document.head[slice(*document.time_span)] if document.frame_count else ""
    custom = Custom(
        "BVH files",
        UP_CUSTOM,
        CMU_UNIT_CUSTOM if is_cmu else UNIT_CUSTOM,
        **({"rates": CMU_RATES} if is_cmu and document.frame_count and document.frame_time < 0.0125 else {}),
        stated=_stated(document, literal) if document.frame_count else "",
        given_up=options.up,
        given_unit=options.unit,
        given_fps=options.fps,
    )
    reading = read_as(as_it_stands, custom)
    evidence |= reading.evidence
    evidence["rest_pose"] = _rest_pose(document, "xyz".index(reading.up[-1]), -1.0 if reading.up[0] == "-" else 1.0)
    return Guess(
        unit=reading.unit,
        up=reading.up,
        adds_offset=adds,
        dialect=_dialect(document, who.value, adds),
        evidence=evidence,
        warnings=(*reading.warnings, *_warnings(document)),
        stands=as_it_stands,
    )


def _as_it_stands(document: BvhDocument, fps: float | None) -> Motion:
    """The motion in file units and file axes; the rest pose for a file without one."""
    document = replace(document, unit=1.0, up="z")
    skeleton = skeleton_of(document)
    if not document.frame_count:
        return Motion(skeleton, np.zeros(1), skeleton.offsets[None], skeleton.rest_rotations[None])
    dt = 1.0 / fps if fps else document.frame_time
    times = dt * np.arange(document.frame_count, dtype=np.float64)
    return Motion(skeleton, times, *file_pose(document, document.values))


def _stated(document: BvhDocument, literal: str) -> str:
    fps = 1.0 / document.frame_time
    stated = f"the file says frame time {literal}"
    if abs(fps - round(fps)) > 1e-6 and abs(fps - round(fps)) < 2e-3 * fps:
        return f"{stated}, as it stands; {round(fps)} Hz is meant, as it seems"
    return f"{stated}, as it stands"


# --- who made it -----------------------------------------------------------------------------------------------


def _who_made_it(document: BvhDocument) -> Evidence:
    spelled = [j.name for j in document.joints]
    bare = without_counts(spelled)
    names = set(bare)
    simple_names = dict(zip(map(simple_name, bare), spelled, strict=True))
    every = all(len(j.channels) == 6 for j in document.joints)
    if "LHipJoint" in names and "LeftUpLeg" in names:
        return Evidence("CMU, MotionBuilder release", 0.95, "joints LHipJoint and LeftUpLeg")
    if "LHipJoint" in names and "LeftHip" in names:
        return Evidence("CMU, 3ds Max release", 0.95, "joints LHipJoint and LeftHip")
    if {"lThigh", "lShin", "abdomen"} <= names:
        return Evidence("Daz / Poser", 0.9, "joints abdomen, lThigh and lShin")
    if any(n.startswith("mixamorig") for n in names):
        return Evidence("Mixamo", 0.95, "names begin with 'mixamorig'")
    if "ToSpine" in names:
        return Evidence("ACCAD", 0.8, "joint ToSpine")
    if "joint_Root" in names:
        return Evidence("Bandai Namco", 0.8, "joint joint_Root above the hips")
    if every and {"rightupleg", "hips"} <= simple_names.keys() and any("InHand" in n for n in names):
        return Evidence("Noitom / Perception Neuron", 0.8, "six channels on every joint and InHand joints")
    if biped := next((simple_names[n] for n in simple_names if re.fullmatch(r"bip[0-9]*lthigh", n)), None):
        return Evidence("3ds Max Biped", 0.8, f"joint {biped}")
    if {"lefttoe", "spine2", "leftupleg"} <= simple_names.keys():
        return Evidence("LAFAN1", 0.6, f"joints {simple_names['spine2']} and {simple_names['lefttoe']}")
    if {"leftupleg", "leftleg"} <= simple_names.keys():
        return Evidence("HumanIK names", 0.7, f"joints {simple_names['leftupleg']} and {simple_names['leftleg']}")
    if {"pelvis", "lhip", "lknee"} <= simple_names.keys():
        return Evidence("SMPL names", 0.7, f"joints {simple_names['lhip']} and {simple_names['lknee']}")
    return Evidence("own names", 0.5, "the joints' names follow no scheme known here")


def _dialect(document: BvhDocument, who: str, adds_offset: bool) -> str:
    orders = list(dict.fromkeys(j.order for j in document.joints if j.order))
    moving = sum(bool(j.position_columns) for j in document.joints[1:])
    parts = [who, f"rotations {', '.join(orders) if orders else 'none'}"]
    if moving:
        how = "added to OFFSET" if adds_offset else "in place of OFFSET"
        parts.append(f"positions on {moving} joints besides the root, {how}")
    return "; ".join(parts)


# --- positions -------------------------------------------------------------------------------------------------


def _meaning_of_positions(document: BvhDocument) -> tuple[bool, Evidence]:
    """Whether the position channels of children replace OFFSET or are added to it; the root's always replace it."""
    replaced = added = 0.0
    for joint in document.joints[1:] if document.frame_count else ():
        moving = [(column, axis) for column, axis in joint.position_columns if abs(joint.offset[axis]) > 1e-9]
        if not moving:
            continue
        values = document.values[:, [column for column, _ in moving]]
        offset = np.array([joint.offset[axis] for _, axis in moving])
        away = np.abs(values - offset)
        # one frame on its OFFSET, to the last digit, is no chance: nothing that is added comes there
        stands_on_it = away.max(axis=1).min() < 1e-6 * np.abs(offset).max()
        middle = offset if stands_on_it else np.median(values, axis=0)
        replaced += float(np.abs(middle - offset).sum())
        added += float(np.abs(middle).sum())
    if replaced == added == 0.0:
        return False, Evidence("replace OFFSET", 0.9, "the root's position channels always do; no other joint has any")
    values = f"mean distance from OFFSET {replaced:.3g}, from zero {added:.3g} (file units, summed)"
    confidence = float(max(replaced, added) / (replaced + added))
    if added < replaced:
        return True, Evidence("add to OFFSET", confidence, f"the children's position channels stay near zero: {values}")
    return False, Evidence("replace OFFSET", confidence, f"the children's position channels stay near it: {values}")


# --- rest pose, warnings ---------------------------------------------------------------------------------------


def _rest_pose(document: BvhDocument, axis: int, sign: float) -> Evidence:
    """What "all rotations zero" looks like."""
    anatomy = anatomy_of(skeleton_of(replace(document, unit=1.0, up="z")))
    legs, arms, offsets = anatomy.legs, anatomy.arms, anatomy.skeleton.offsets
    if not legs:
        return Evidence("unknown", 0.2, "no legs were found")

    def slope(chain: Limb) -> float:
        bone = offsets[chain.middle] + offsets[chain.end]
        return float(np.degrees(np.arcsin(sign * bone[axis] / max(float(np.linalg.norm(bone)), 1e-9))))

    leg = min(abs(slope(c)) for c in legs)
    if max(slope(c) for c in legs) > -55.0:
        return Evidence(
            "no pose",
            0.8,
            f"with all rotations zero the legs do not hang down ({leg:.0f}° off the level): "
            "the bones lie along their own axes",
        )
    if not arms:
        return Evidence("standing", 0.6, "with all rotations zero the legs hang down; no arms were found")
    arm = float(np.mean([slope(c) for c in arms]))
    if abs(arm) < 25.0:
        return Evidence("T-pose", 0.9, f"with all rotations zero the arms are level ({arm:+.0f}°)")
    if arm < -65.0:
        return Evidence("arms down", 0.9, f"with all rotations zero the arms hang down ({arm:+.0f}°)")
    if arm < 0.0:
        return Evidence("A-pose", 0.8, f"with all rotations zero the arms slope down ({arm:+.0f}°)")
    return Evidence("arms up", 0.7, f"with all rotations zero the arms are raised ({arm:+.0f}°)")


def _warnings(document: BvhDocument) -> tuple[str, ...]:
    warnings = []
    names = [j.name for j in document.joints]
    twice = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if twice:
        warnings.append(f"Several joints have the same name ({', '.join(twice[:5])}); a name means the first of them.")
    pairs = [j.name for j in document.joints if len(j.order) == 2]
    if pairs:
        warnings.append(f"Joints with two rotation channels are read as ball joints: {', '.join(pairs[:5])}.")
    return tuple(warnings)
