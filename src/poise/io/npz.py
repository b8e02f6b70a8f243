"""Poise's own file: plain NumPy arrays and a JSON header in a zip, read without pickle and without trust.

Members: `header` (JSON text, schema "poise.motion/1": names, end sites, hinges, source), `times`, `translations`,
`rotations`, `parents`, `offsets`, `rest_rotations`, `end_site_offsets`, `hinge_axes`, `hinge_limits`. SI units, Z up,
quaternions wxyz. Everything in a motion comes back exactly, but for its source's own document.
"""

from __future__ import annotations

import io
import json
import tokenize
import zipfile
import zlib
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import EndSite, Hinge, Skeleton
from poise.io.files import file_size, json_value, parse_json, write_atomically
from poise.io.format import door_turn, ground_facts, ground_from, turned_at_door

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "npz"
EXTENSIONS = (".npz",)
SCHEMA = "poise.motion/1"

MEMBERS = {
    "header": ("U", 0),
    "times": ("f", 1),
    "translations": ("f", 3),
    "rotations": ("f", 3),
    "parents": ("i", 1),
    "offsets": ("f", 2),
    "rest_rotations": ("f", 2),
    "end_site_offsets": ("f", 2),
    "hinge_axes": ("f", 2),
    "hinge_limits": ("f", 2),
}
"""Every member of the file, with the kind of its numbers and its number of axes."""

MAX_INFLATED = 64_000_000
"""A packed file may unpack to this many bytes, or to `MAX_RATIO` times its own size if that is more."""
MAX_RATIO = 20
MOST_UNPACKED = 2_000_000_000
"""No npz of another program unpacks to more [bytes]."""
CURE = "Write the motion again with Poise. Of other programs' npz those of AMASS, mjlab and Isaac Lab are read."


def matches(path: Path, head: bytes) -> bool:
    """True for an npz whose first member is Poise's header; those of other programs have formats of their own."""
    return path.suffix.lower() in EXTENSIONS and head.startswith(b"PK") and b"header.npy" in head[:64]


DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError,
    SyntaxError, tokenize.TokenError,
)  # fmt: skip
"""What a damaged zip raises, or the header of an array in it, which NumPy reads as Python."""


def members(path: Path) -> set[str]:
    """Names of the arrays in an npz of any program; none if it is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError):
        return set()


def some_arrays(path: Path, names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """Those of some arrays that an npz of another program has, as float64 or text.

    Their sizes are checked before anything is unpacked, and no pickle is read.

    Raises:
        FileFormatError: if the zip is damaged, an array is an object, or claims more than a clip can have.
    """
    size = file_size(path)
    found: dict[str, npt.NDArray[Any]] = {}
    cure = "Export it again from the program that made it."
    try:
        with zipfile.ZipFile(path) as archive:
            infos = {i.filename.removesuffix(".npy"): i for i in archive.infolist()}
            wanted = [n for n in infos if n in names]
            total = sum(infos[n].file_size for n in wanted)
            if total > min(MOST_UNPACKED, max(MAX_INFLATED, MAX_RATIO * size)):
                raise FileFormatError(f"It claims to unpack to {total} bytes.", path=path, cure=cure)
            for name in wanted:
                if _is_pickle(archive, infos[name].filename):
                    problem = f"Its array {name!r} is a pickle, which runs code when it is opened."
                    raise FileFormatError(problem, path=path, cure="Save it as an array of numbers.")
                array = np.lib.format.read_array(io.BytesIO(archive.read(infos[name])), allow_pickle=False)
                found[name] = array if array.dtype.kind in "US" else array.astype(np.float64)
    except FileFormatError:
        raise
    except DAMAGED as error:
        raise FileFormatError(f"The zip is damaged: {error}.", path=path, cure=cure) from error
    return found


def _is_pickle(archive: zipfile.ZipFile, name: str) -> bool:
    """Whether an array of an archive is one of Python objects, by its heading."""
    with archive.open(name) as file:
        return b"'descr': '|O'" in file.read(256)


def write(motion: Motion, path: Path) -> None:
    """Write a motion, exactly."""
    skeleton, source = motion.skeleton, motion.source
    hinged = sorted(skeleton.hinges)
    header = {
        "schema": SCHEMA,
        "names": list(skeleton.names),
        "end_sites": [{"joint": e.joint, "name": e.name} for e in skeleton.end_sites],
        "hinges": hinged,
        "translating": sorted(skeleton.translating),
        "fixed": sorted(skeleton.fixed),
        "skin": None if skeleton.skin is None else skeleton.skin.tolist(),
        "skin_volume": skeleton.skin_volume,
        "sole": skeleton.sole,
        "crown": skeleton.crown,
        "mass": skeleton.mass,
        "source": None if source is None else _source_facts(source),
    }
    arrays: dict[str, npt.NDArray[Any]] = {
        "header": np.array(json.dumps(header, ensure_ascii=False)),
        "times": motion.times,
        "translations": motion.translations,
        "rotations": motion.rotations,
        "parents": skeleton.parents.astype(np.int64),
        "offsets": skeleton.offsets,
        "rest_rotations": skeleton.rest_rotations,
        "end_site_offsets": np.array([e.offset for e in skeleton.end_sites]).reshape(-1, 3),
        "hinge_axes": np.array([skeleton.hinges[j].axis for j in hinged]).reshape(-1, 3),
        "hinge_limits": np.array([(skeleton.hinges[j].lower, skeleton.hinges[j].upper) for j in hinged]).reshape(-1, 2),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            data = io.BytesIO()
            np.lib.format.write_array(data, np.asarray(array, order="C"), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0)), data.getvalue())
    write_atomically(path, packed.getvalue())


def _source_facts(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "format": source.format,
        "dialect": source.dialect,
        "unit": source.unit,
        "up": source.up,
        "fps": source.fps,
        "evidence": {k: [json_value(e.value), e.confidence, e.reason] for k, e in source.evidence.items()},
        "warnings": list(source.warnings),
        "clips": list(source.clips),
        "clip": source.clip,
        "loop": source.loop,
        **({"ground": ground} if (ground := ground_facts(source.ground)) else {}),
    }


def read(path: Path, options: ReadOptions) -> Motion:
    """Read a motion that Poise wrote.

    Raises:
        FileFormatError: if the file is cut, altered, of another schema, or claims more than it holds.
    """
    arrays = _unpack(path)
    header = _header(path, arrays["header"])
    try:
        skeleton = Skeleton(
            names=tuple(header["names"]),
            parents=arrays["parents"],
            offsets=arrays["offsets"],
            rest_rotations=arrays["rest_rotations"],
            end_sites=tuple(
                EndSite(int(site["joint"]), offset, str(site["name"]))
                for site, offset in zip(header["end_sites"], arrays["end_site_offsets"], strict=True)
            ),
            hinges={
                int(j): Hinge(axis, float(limits[0]), float(limits[1]))
                for j, axis, limits in zip(header["hinges"], arrays["hinge_axes"], arrays["hinge_limits"], strict=True)
            },
            translating=frozenset(map(int, header["translating"])),
            fixed=frozenset(map(int, header["fixed"])),
            skin=_skin(header.get("skin"), len(header["names"])),
            skin_volume=_size(header, "skin_volume"),
            sole=_size(header, "sole", least=-np.inf),
            crown=_size(header, "crown", least=-np.inf),
            mass=_size(header, "mass"),
        )
        motion = Motion(skeleton, arrays["times"], arrays["translations"], arrays["rotations"])
        motion = replace(motion, source=_source(path, header["source"], motion))
    except (InvalidValue, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileFormatError(f"The parts do not fit together: {error}", path=path, cure=CURE) from error
    _check(path, motion)
    return _as_asked(motion, options)


def _unpack(path: Path) -> dict[str, npt.NDArray[Any]]:
    """All members, after their sizes were found plausible and equal to what their arrays need."""
    size = file_size(path)
    arrays: dict[str, npt.NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            names = [i.filename.removesuffix(".npy") for i in infos]
            if sorted(names) != sorted(MEMBERS):
                strange = [n for n in names if n not in MEMBERS] or [n for n in names if names.count(n) > 1]
                missing = [n for n in MEMBERS if n not in names]
                raise FileFormatError(
                    f"This zip is not Poise's own: missing {missing or 'none'}, not expected {strange[:5] or 'none'}.",
                    path=path,
                    cure=CURE,
                )
            total = sum(i.file_size for i in infos)
            if total > max(MAX_INFLATED, MAX_RATIO * size):
                raise FileFormatError(
                    f"The file has {size} bytes and claims to unpack to {total}; that is not a motion.",
                    path=path,
                    cure=CURE,
                )
            for name, info in zip(names, infos, strict=True):
                with archive.open(info) as member:
                    arrays[name] = _array(path, name, member, info.file_size)
    except FileFormatError:
        raise
    except DAMAGED as error:
        raise FileFormatError(f"The zip is cut off or damaged: {error}", path=path, cure=CURE) from error
    return arrays


def _array(path: Path, name: str, member: IO[bytes], size: int) -> npt.NDArray[Any]:
    """One array, read only after its claimed shape was found to fill just the bytes that are there."""
    kind, axes = MEMBERS[name]
    start = member.read(min(size, 4096))
    opened = io.BytesIO(start)
    version = np.lib.format.read_magic(opened)
    reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if reader is None:
        raise FileFormatError(f"{name} is stored in array format {version}, which is not read.", path=path, cure=CURE)
    shape, fortran, dtype = reader(opened)
    count = int(np.prod([int(n) for n in shape], dtype=object)) if shape else 1
    if dtype.kind != kind or dtype.hasobject or len(shape) != axes or fortran or (kind != "U" and dtype.itemsize != 8):
        raise FileFormatError(
            f"{name} is {dtype} with shape {shape}, which is not what it should be.", path=path, cure=CURE
        )
    if count * dtype.itemsize != size - opened.tell():
        raise FileFormatError(
            f"{name} claims shape {shape}, {count * dtype.itemsize} bytes; {size - opened.tell()} are there.",
            path=path,
            cure=CURE,
        )
    data = start[opened.tell() :] + member.read()
    if len(data) != count * dtype.itemsize:
        raise FileFormatError(f"{name} is cut off.", path=path, cure=CURE)
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))


_LISTS = {"names": str, "end_sites": dict, "hinges": int, "translating": int, "fixed": int}
_KINDS = {str: "text", dict: "objects", int: "whole numbers"}


def _header(path: Path, text: npt.NDArray[Any]) -> dict[str, Any]:
    header = parse_json(path, str(text))
    schema = header.get("schema") if isinstance(header, dict) else None
    if schema != SCHEMA:
        raise FileFormatError(f"The header's schema is {schema!r}; {SCHEMA!r} is read.", path=path, cure=CURE)
    for name, kind in _LISTS.items():
        values = header.get(name)
        if not isinstance(values, list) or not all(type(v) is kind for v in values):
            raise FileFormatError(f"{name!r} in its header is not a list of {_KINDS[kind]}.", path=path, cure=CURE)
    return header


def _source(path: Path, facts: dict[str, Any] | None, motion: Motion) -> Source:
    """Where a motion came from: this file now; what it was before is kept as evidence."""
    if facts is None:
        return Source(str(path), NAME, SCHEMA, unit=1.0, up="z", fps=motion.fps, clips=(path.stem,))
    evidence = {k: Evidence(value, float(sure), str(why)) for k, (value, sure, why) in facts["evidence"].items()}
    if facts["format"] != NAME:
        origin = {k: facts[k] for k in ("path", "format", "dialect", "unit", "up")}
        evidence["origin"] = Evidence(origin, 1.0, "the file this motion was first read from")
    return Source(
        path=str(path),
        format=NAME,
        dialect=SCHEMA,
        unit=1.0,
        up="z",
        fps=float(facts["fps"]),
        evidence=evidence,
        warnings=tuple(map(str, facts["warnings"])),
        clips=tuple(map(str, facts["clips"])),
        clip=int(facts["clip"]),
        loop=facts["loop"],
        ground=ground_from(facts.get("ground")),
    )


def _size(header: dict[str, Any], name: str, least: float = 0.0) -> float | None:
    """A volume, mass or height; None in files that do not say it.

    Raises:
        ValueError: if it is not a finite number, or below the least.
    """
    given = header.get(name)
    if given is None:
        return None
    if type(given) not in (int, float) or not (np.isfinite(given) and given >= least):
        raise ValueError(f"{name} is not a finite number" + (f", {least:g} or more" if np.isfinite(least) else ""))
    return float(given)


def _skin(given: Any, joints: int) -> npt.NDArray[np.float64] | None:
    """Vertices that each joint moves; None in files that do not say it.

    Raises:
        ValueError: if these are not as many numbers as joints, none below zero.
    """
    if given is None:
        return None
    skin = np.array(given, dtype=np.float64)
    if skin.shape != (joints,) or not (np.isfinite(skin).all() and (skin >= 0.0).all()):
        raise ValueError("skin is not one number for each joint")
    return skin


def _check(path: Path, motion: Motion) -> None:
    skeleton = motion.skeleton
    joints = skeleton.joint_count
    used = [*(e.joint for e in skeleton.end_sites), *skeleton.hinges, *skeleton.translating, *skeleton.fixed]
    if any(not 0 <= j < joints for j in used):
        raise FileFormatError(f"It names joint {max(used)} of {joints}.", path=path, cure=CURE)
    tables = {
        "times": motion.times,
        "rest_rotations": skeleton.rest_rotations,
        "end_site_offsets": np.array([e.offset for e in skeleton.end_sites]),
        "hinge_axes": np.array([h.axis for h in skeleton.hinges.values()]),
    }
    for name, values in tables.items():
        if not np.isfinite(values).all():
            raise FileFormatError(f"{name} holds a value that is not finite.", path=path, cure=CURE)
    for name, values in (("rotations", motion.rotations), ("rest_rotations", skeleton.rest_rotations)):
        length = np.linalg.norm(values, axis=-1)
        if np.max(np.abs(length - 1.0)) > 1e-6:
            worst = float(length.flat[int(np.argmax(np.abs(length - 1.0)))])
            raise FileFormatError(f"{name} holds a quaternion of length {worst:.6g}, not 1.", path=path, cure=CURE)
    if any(np.isnan([h.lower, h.upper]).any() or h.lower > h.upper for h in skeleton.hinges.values()):
        raise FileFormatError("hinge_limits holds a range that is not one.", path=path, cure=CURE)


def _as_asked(motion: Motion, options: ReadOptions) -> Motion:
    """The motion with the rate, unit or up axis a caller insists on; untouched without."""
    source = motion.source
    assert source is not None
    if options.fps:
        motion = replace(motion, times=np.arange(motion.frame_count) / options.fps)
        source = replace(source, fps=options.fps)
    if options.unit and options.unit != 1.0:
        scale = options.unit
        motion = replace(motion, skeleton=motion.skeleton.scaled(scale), translations=scale * motion.translations)
        source = replace(source, unit=options.unit)
    if options.up and options.up != "z":
        turn, skeleton = door_turn(options.up), turned_at_door(motion.skeleton, door_turn(options.up))
        moved, turned = motion.translations.copy(), motion.rotations.copy()
        moved[:, 0], turned[:, 0] = rotations.rotate(turn, moved[:, 0]), rotations.multiply(turn, turned[:, 0])
        motion = replace(motion, skeleton=skeleton, translations=moved, rotations=turned)
        source = replace(source, up=options.up)
    return replace(motion, source=source)
