"""What a file format has to offer: the contract between `poise.io` and its one module per format.

What all formats share is here too: the turn that brings a file's up axis to Z, and the note on the ground that a clip
was made for.
"""

from __future__ import annotations

import importlib
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, UnknownName
from poise.core.motion import Evidence, Ground, Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.io.files import read_head

RECORDED = (".html", ".png", ".gif", ".mp4")
"""Extensions of recordings, which are no motions."""

FORMATS: tuple[str, ...] = (
    "bvh",
    "asf_amc",
    "deepmimic",
    "usd",
    "npz",
    "robot_clip",
    "amass",
    "gltf",
    "mvnx",
    "markers",
    "mjcf",
    "fbx",
)
"""Modules of `poise.io`, one per format, in the order in which they are asked for a file's content."""

ELSEWHERE = {
    ".abc": "Alembic holds moving points and no skeleton. Export the rig as FBX, USD or glTF.",
    ".mvn": "Export MVNX, BVH or FBX from Xsens MVN (File, Export).",
    ".npy": (
        "A .npy holds arrays without names, often of one learning system. Load it there, and give poise.core.motion."
        "Motion its skeleton, times, translations and rotations, or write BVH."
    ),
    ".pkl": "A pickle runs code when it is opened, so Poise never does. Export BVH, glTF or DeepMimic's .txt from it.",
    ".motion": "It is a pickle of PyTorch, and a pickle runs code when it is opened. Export BVH, glTF or npz from it.",
    ".vmd": "Load model and motion in Blender with the mmd_tools add-on, and export .glb.",
    ".anim": "Bake the clip in the program that made it and export FBX.",
    ".htr": "Convert it to BVH in the program that recorded it.",
    ".mot": "OpenSim's .mot holds joint angles of a model of its own; export marker or body places there, or BVH.",
}
"""Formats that are not read, and the way to one that is."""


WITH_SCENES = (".glb", ".gltf", ".vrm", ".vrma", ".usd", ".usda", ".usdc", ".usdz", ".fbx", ".dae", ".blend")
"""Extensions of files that hold whole scenes: they may have several clips, and meshes."""


SAME_UNIT = 1e-9
"""Units this close to each other, relatively, are one [1]."""


CHOOSE_CLIP = "Choose one with --clip NAME or --clip INDEX."
"""Cure of a file with several clips of which none was named."""


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file that the file does not, or says wrongly.

    Example:
        >>> options = poise.io.ReadOptions(unit=0.01, up="z")  # centimeters, Z up

    Attributes:
        skeleton: The skeleton file a motion needs; None for the one beside it.
        clip: Name or index of the clip in a file that holds several.
        unit: Meters per file unit; None to believe the file or guess.
        up: The file's up axis, "x", "y" or "z"; None to believe the file or guess.
        fps: Frame rate of the data [1/s]; None to believe the file.
        frames_from_data: Take the frames that are there where a declared count is wrong.
        height: How tall the figure is [m]; None to believe the unit. `load` turns it into a unit; readers ignore it.
    """

    skeleton: Path | None = None
    clip: str | int | None = None
    unit: float | None = None
    up: str | None = None
    fps: float | None = None
    frames_from_data: bool = False
    height: float | None = None


def given_by_caller(options: ReadOptions) -> dict[str, Evidence]:
    """Evidence for unit, up axis and frame rate where the caller said them."""
    given = {"unit": options.unit, "up": options.up, "fps": options.fps}
    return {name: Evidence(value, 1.0, "given by the caller") for name, value in given.items() if value}


class Format(Protocol):
    """A module that reads one format.

    It may offer more functions: `write(motion, path)`, where the format is written too (to `WRITTEN_EXTENSIONS`,
    where these are not all of `EXTENSIONS`; `NOT_WRITTEN` holds the others, and what to write in their place, of which
    the last of `WRITTEN_EXTENSIONS` is the usual one); `read_skeleton(path, options) -> Skeleton`, for files that hold
    one; `read_rest(path, options) -> Motion`, for a figure at rest with its skin, and
    `describe(path, options) -> dict | None`, for what `poise info` can say of a file that `read` refuses, in fields of
    poise.info/1; `kind(path) -> str`, where it reads several kinds of files. One that
    can write in another unit or up axis offers `write_as(motion, path, *, unit, up)`.
    """

    NAME: str
    EXTENSIONS: tuple[str, ...]

    def matches(self, path: Path, head: bytes) -> bool:
        """True if the first bytes of a file look like this format."""
        ...

    def read(self, path: Path, options: ReadOptions) -> Motion: ...


def module(name: str) -> Format:
    """The module of one format, imported at use."""
    return cast(Format, importlib.import_module(f"poise.io.{name}"))


def format_of(path: Path) -> Format:
    """The format of an existing file, recognized by its content first and its extension second.

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if no format here reads it.
    """
    head = read_head(path)
    suffix = path.suffix.lower()
    if suffix in ELSEWHERE:
        raise FileFormatError(f"{suffix} files are not read.", path=path, cure=ELSEWHERE[suffix])
    if not head:
        raise FileFormatError("The file is empty.", path=path, cure="Get it again from its source.")
    formats = [module(name) for name in FORMATS]
    for candidate in formats:
        if candidate.matches(path, head):
            return candidate
    for candidate in formats:
        if suffix in candidate.EXTENSIONS:
            return candidate
    raise FileFormatError(
        "Unknown format: neither the content nor the extension is one that Poise reads.",
        path=path,
        text=head[:60].decode("ascii", "replace").strip(),
        cure=f"Extensions it reads: {', '.join(known_extensions())}.",
    )


def format_for(path: Path) -> Format:
    """The format in which to write a file of this name.

    Raises:
        UnknownName: if the extension belongs to no format.
        InvalidValue: if it is one that its format only reads.
    """
    suffix = path.suffix.lower()
    for name in FORMATS:
        if suffix in (candidate := module(name)).EXTENSIONS and optional(candidate, "write"):
            if cure := (optional(candidate, "NOT_WRITTEN") or {}).get(suffix):
                raise InvalidValue(f"{suffix} files can be read but not written. {cure}")
            return candidate
    known = ", ".join(known_extensions(written=True))
    if not suffix:
        raise UnknownName(
            f"{str(path)!r} has no extension, which says the format. Give one of {known}. "
            "A folder is written where a folder of clips is read, or all clips of a file (--clip all)."
        )
    recorded = (
        " Pages, pictures and films are written with --record, as of view and simulate." if suffix in RECORDED else ""
    )
    raise UnknownName(f"No format is written to the extension {suffix!r} ({path}). Give one of {known}.{recorded}")


def known_extensions(*, written: bool = False) -> tuple[str, ...]:
    """Every extension some format reads, or writes."""
    formats = [module(name) for name in FORMATS]
    if written:
        kept = [optional(f, "WRITTEN_EXTENSIONS") or f.EXTENSIONS for f in formats if optional(f, "write")]
    else:
        kept = [f.EXTENSIONS for f in formats]
    return tuple(dict.fromkeys(extension for own in kept for extension in own))


def written_ending(suffix: str) -> str:
    """What a clip of this extension is written to: its own, or another of its format where that is only read."""
    for candidate in map(module, FORMATS):
        if suffix.lower() in (optional(candidate, "NOT_WRITTEN") or {}):
            return optional(candidate, "WRITTEN_EXTENSIONS")[-1]
    return suffix


def optional(candidate: Format, name: str) -> Any:
    """One of the functions or constants that a format may have, or None."""
    return getattr(candidate, name, None)


def skeleton_of_file(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton in a file, with or without motion."""
    candidate = format_of(path)
    reader = optional(candidate, "read_skeleton")
    return reader(path, options) if reader else candidate.read(path, options).skeleton


def rest_of_file(path: Path, options: ReadOptions) -> Motion:
    """The figure in a file as one frame at rest, with its skin where its format reads skins."""
    if reader := optional(format_of(path), "read_rest"):
        return reader(path, options)
    skeleton = skeleton_of_file(path, options)
    return Motion(skeleton, np.zeros(1), skeleton.offsets[None], skeleton.rest_rotations[None])


_HALF = np.sqrt(0.5)
_TURNS = {
    "x": np.array([_HALF, 0.0, -_HALF, 0.0]),
    "y": np.array([_HALF, _HALF, 0.0, 0.0]),
    "z": np.array([1.0, 0.0, 0.0, 0.0]),
    "-x": np.array([_HALF, 0.0, _HALF, 0.0]),
    "-y": np.array([_HALF, -_HALF, 0.0, 0.0]),
    "-z": np.array([0.0, 1.0, 0.0, 0.0]),
}
UP_AXES = tuple(_TURNS)
"""Names of axes that may be up: "x" … "-z"."""


def door_turn(up: str) -> Array:
    """Turn from a world whose up axis is `up` to Poise's Z-up world, unit wxyz, shape (4,).

    From Y up it is +90° about x: (x, y, z) → (x, -z, y). From X up it is -90° about y: (x, y, z) → (-z, y, x).

    Raises:
        InvalidValue: if `up` is not one of "x", "y", "z", "-x", "-y", "-z".
    """
    if up.lower() not in _TURNS:
        raise InvalidValue(f"Up axis {up!r} is not one of {', '.join(_TURNS)}. Give one of these to --up.")
    return _TURNS[up.lower()].copy()


def axes_at_door(up: str) -> tuple[str, ...]:
    """What a file whose up axis is `up` calls the world's axes x, y, z, -x, -y and -z."""
    back = rotations.to_matrix(rotations.conjugate(door_turn(up)))
    ways = np.concatenate([back.T, -back.T])
    return tuple(("-" if way.sum() < 0.0 else "") + "xyz"[int(np.argmax(np.abs(way)))] for way in ways)


def turned_at_door(skeleton: Skeleton, turn: Array) -> Skeleton:
    """A skeleton whose file has another up axis, in Poise's world: its root carries the turn (4,), see `door_turn`."""
    offsets, rest = skeleton.offsets.copy(), skeleton.rest_rotations.copy()
    offsets[0], rest[0] = rotations.rotate(turn, offsets[0]), rotations.multiply(turn, rest[0])
    return replace(skeleton, offsets=offsets, rest_rotations=rest)


KINDS = ("flat", "slope", "step", "stairs", "rough")
"""Grounds that are carried along: those that need no file of their own."""
LONGEST = 400
"""No ground takes more letters [1]."""


def ground_facts(ground: Ground | None) -> dict[str, Any] | None:
    """A ground as JSON holds it; None for none, and for one that lives in a file of its own."""
    if ground is None or _kind(ground.spec) not in KINDS:
        return None
    numbers = [float(n) for n in (*ground.origin, ground.heading, ground.height)]
    return {"spec": ground.spec, "origin": numbers[:2], "heading": numbers[2], "height": numbers[3]}


def ground_from(facts: Any) -> Ground | None:
    """The ground that such facts describe; None if they describe none. Nobody vouches for what a file says."""
    try:
        if not isinstance(facts["spec"], str) or len(facts["spec"]) > 100 or _kind(facts["spec"]) not in KINDS:
            return None
        numbers = [float(n) for n in (*facts["origin"], facts["heading"], facts["height"])]
    except (TypeError, ValueError, KeyError, OverflowError):
        return None
    if len(numbers) != 4 or not all(math.isfinite(n) and abs(n) < 1e6 for n in numbers):
        return None
    return Ground(facts["spec"], (numbers[0], numbers[1]), numbers[2], numbers[3])


def ground_noted(animations: list[dict[str, Any]], index: int) -> Ground | None:
    """The ground noted beside one animation of a glTF."""
    extras = animations[index].get("extras") if index < len(animations) else None
    note = extras.get("poise") if isinstance(extras, dict) else None
    return ground_from(note.get("ground")) if isinstance(note, dict) else None


def ground_text(ground: Ground | None) -> str:
    """A ground in one line of plain letters; empty for none."""
    facts = ground_facts(ground)
    return "" if facts is None else json.dumps(facts, separators=(",", ":"))


def ground_of_text(text: str) -> Ground | None:
    """The ground of such a line; None if it is none."""
    if not text or len(text) > LONGEST:
        return None
    try:
        return ground_from(json.loads(text))
    except (ValueError, RecursionError):
        return None


def _kind(spec: str) -> str:
    return spec.partition(":")[0].partition("@")[0]


def file_and_clip(which: str, folder: Path | None = None) -> tuple[Path, str | int | None]:
    """FILE, or FILE@CLIP of a file with several clips: name or index. A file of the whole name goes before."""
    file, at, clip = which.rpartition("@")
    folder = folder or Path()
    if (folder / which).exists() or not (at and (folder / file).exists()):
        return folder / which, None
    return folder / file, int(clip) if clip.isdecimal() else clip
