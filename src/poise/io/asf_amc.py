"""ASF/AMC: the capture format of the CMU database; a skeleton file (.asf) and a motion file (.amc) of its channels."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MotionWarning, NoMotion
from poise.core.motion import Evidence, Ground, Motion, Source
from poise.core.skeleton import Skeleton
from poise.io.asf_amc_frames import AmcDocument, parse_amc, pose_of, values_of
from poise.io.asf_amc_skeleton import AsfDocument, parse_asf, skeleton_of
from poise.io.files import write_atomically
from poise.io.format import door_turn, given_by_caller, ground_of_text, ground_text

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "asf_amc"
EXTENSIONS = (".amc", ".asf")
WRITTEN_EXTENSIONS = (".amc",)
NOT_WRITTEN = {".asf": "Write .amc; the .asf is put beside it."}
GROUND_LINE = "# ground "
"""Begins the comment that carries the ground a clip was made for."""
CMU_FPS = 120.0
"""The rate of the CMU captures [1/s]; the files do not say."""


def matches(path: Path, head: bytes) -> bool:
    """True for an .asf or .amc by name, or by the words such a file begins with."""
    return path.suffix.lower() in EXTENSIONS or head.startswith(b"#!OML:ASF") or b":FULLY-SPECIFIED" in head[:400]


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of an .asf file, or of the one an .amc needs."""
    asf = parse_asf(path if path.suffix.lower() == ".asf" else find_skeleton(path, options.skeleton))
    return skeleton_of(asf, unit=options.unit or asf.unit, turn=door_turn(options.up or "y"))


def describe(path: Path, options: ReadOptions) -> dict[str, Any] | None:
    """What an .asf says beyond its skeleton; None for an .amc.

    Raises:
        FileFormatError: with the line, if it is not a complete ASF skeleton.
    """
    if path.suffix.lower() != ".asf":
        return None
    asf = parse_asf(path)
    unit, up = options.unit or asf.unit, options.up or "y"
    return {
        "dialect": "ASF skeleton",
        "unit_m": unit,
        "up": up,
        "evidence": {
            "unit": Evidence(unit, 1.0, "given by the user") if options.unit else _unit_evidence(asf),
            "up": Evidence(up, 1.0, "given by the user") if options.up else _up_evidence(),
        },
    }


def read(path: Path, options: ReadOptions) -> Motion:
    """Read an AMC clip with the ASF skeleton beside it, or the one of `options.skeleton`.

    Raises:
        FileFormatError: with the line, if either file is not what it should be.
    """
    if path.suffix.lower() == ".asf":
        problem = "This file holds a skeleton and no motion."
        raise NoMotion(problem, path=path, motion="for a motion name the .amc clip that moves it")
    asf = parse_asf(find_skeleton(path, options.skeleton))
    document = parse_amc(path, asf)
    unit, up = options.unit or asf.unit, options.up or "y"
    document = replace(document, unit=unit, up=up)
    translations, turned = pose_of(document)
    fps = options.fps or CMU_FPS
    return Motion(
        skeleton=skeleton_of(asf, unit=unit, turn=door_turn(up)),
        times=np.arange(len(document.values)) / fps,
        translations=translations,
        rotations=turned,
        source=Source(
            path=str(path),
            format=NAME,
            dialect="CMU (Vicon BodyBuilder)" if "VICON" in asf.text[:2000].upper() else "Acclaim",
            unit=unit,
            up=up,
            fps=fps,
            document=document,
            evidence=_evidence(asf, document, options),
            warnings=_warnings(asf),
            clips=(path.stem,),
            ground=next(
                (ground_of_text(h[len(GROUND_LINE) :]) for h in document.header if h.startswith(GROUND_LINE)), None
            ),
        ),
    )


def _evidence(asf: AsfDocument, document: AmcDocument, options: ReadOptions) -> dict[str, Evidence]:
    found = {
        "skeleton": Evidence(
            Path(asf.path).name,
            1.0 if options.skeleton else 0.9,
            "the .asf that was named" if options.skeleton else "the .asf beside the clip",
        ),
        "unit": _unit_evidence(asf),
        "up": _up_evidence(),
        "fps": Evidence(
            CMU_FPS, 0.7, "AMC holds no rate; CMU captured at 120 Hz (a few clips at 60): --source-fps overrides"
        ),
        "rest_pose": Evidence("bone directions of the .asf", 1.0, "all channels zero is the pose of the .asf"),
        "angles": Evidence("degrees" if document.degrees else "radians", 1.0, "said by the files"),
    }
    found |= given_by_caller(options)
    if not asf.is_sorted:
        found["joint_order"] = Evidence("hierarchy order", 1.0, "':bonedata' has children before their parents")
    return found


def _unit_evidence(asf: AsfDocument) -> Evidence:
    return Evidence(
        asf.unit,
        0.95 if asf.length == 0.45 else 0.5,
        f"':units length {asf.length:g}' read by the CMU formula, (1 / length) inches",
    )


def _up_evidence() -> Evidence:
    return Evidence("y", 0.9, "ASF files are Y up by custom; nothing in the file says so")


def _warnings(asf: AsfDocument) -> tuple[str, ...]:
    if np.any(asf.position) or rotations.angle_between(asf.orientation, rotations.IDENTITY) > 1e-9:
        return (
            "The .asf gives its root a place or orientation at rest; the clip's root is added to the place and turned "
            "in the orientation's frame, as for a bone. If the clip comes out rotated, set both to zero in the .asf.",
        )
    return ()


def find_skeleton(path: Path, named: Path | None) -> Path:
    """The .asf of an .amc: the one named, else beside it the one whose name the clip's begins with, or the only one.

    Raises:
        FileFormatError: if none is found, or several could be meant.
    """
    if named is not None:
        if not named.is_file():
            raise FileFormatError(
                "There is no such skeleton file.", path=named, cure="Check the path after --skeleton."
            )
        return named
    beside = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".asf")
    named_for = [p for p in beside if _begins(path.stem.lower(), p.stem.lower())]
    if named_for:
        return max(named_for, key=lambda p: len(p.stem))
    if len(beside) == 1:
        return beside[0]
    seen = ", ".join(p.name for p in beside[:10]) if beside else "none"
    raise FileFormatError(
        f"An AMC clip needs its skeleton file, {path.stem.split('_')[0]}.asf; .asf files in this folder: {seen}.",
        path=path,
        cure="Put it beside the clip, or name it with --skeleton FILE.",
    )


def _begins(clip: str, skeleton: str) -> bool:
    """True if a clip's name is its skeleton's, or goes on after it with something that is not a letter or digit."""
    return clip.startswith(skeleton) and not clip[len(skeleton) : len(skeleton) + 1].isalnum()


def write(motion: Motion, path: Path) -> None:
    """Write an AMC clip for the skeleton it was read with; that .asf is put beside it where it is not there yet.

    Every value nobody changed is the source's own number; the others take the Euler branch nearest the source, then
    nearest the previous frame. A turn that the bone's channels cannot state is brought to the nearest they can, and
    a MotionWarning says by how much.

    Raises:
        InvalidValue: if the motion was not read from ASF/AMC, another .asf stands in the way, or its frames are not
            evenly spaced.
    """
    document = motion.source.document if motion.source else None
    if path.suffix.lower() != ".amc" or not isinstance(document, AmcDocument):
        raise InvalidValue(
            f"Only a motion read from ASF/AMC can be written as {path.suffix}: its skeleton lives in the .asf. "
            "Write .bvh, .npz or .glb instead."
        )
    if motion.skeleton.names != ("root", *(b.name for b in document.asf.bones)):
        raise InvalidValue(
            "The motion's joints are not those of the .asf it was read with. Write .bvh, .npz or .glb instead."
        )
    if not motion.is_uniform:
        raise InvalidValue(
            "AMC states no times and these frames are not evenly spaced. Resample: poise convert --fps N, or "
            "save(motion, path, fps=N)."
        )
    if abs(motion.fps - CMU_FPS) > 0.5:
        warnings.warn(
            f"AMC states no frame rate: read {path.name} with --source-fps {motion.fps:g}.", MotionWarning, stacklevel=2
        )
    values = values_of(motion, document)
    beside = _missing_skeleton(document.asf, path)
    write_atomically(path, _text(document, values, motion.source.ground if motion.source else None).encode("utf-8"))
    if beside is not None:
        write_atomically(beside, document.asf.text.encode("utf-8"))


def _text(document: AmcDocument, values: npt.NDArray[np.float64], ground: Ground | None) -> str:
    lines = [line for line in document.header if not line.startswith(GROUND_LINE)]
    if ground_text(ground):
        lines.insert(0, f"{GROUND_LINE}{ground_text(ground)}")
    columns = document.columns
    for frame, row in enumerate(values.tolist()):
        lines.append(str(document.first_frame + frame))
        lines += [f"{name} {' '.join(map(repr, row[columns[name]]))}" for name, _ in document.layout]
    return "\n".join(lines) + "\n"


def companion(motion: Motion, path: Path) -> Path | None:
    """The .asf that `write` would put beside a clip; None if it lies there already."""
    document = motion.source.document if motion.source else None
    return _missing_skeleton(document.as_stated().asf, path) if isinstance(document, AmcDocument) else None


def _missing_skeleton(asf: AsfDocument, path: Path) -> Path | None:
    """Where the skeleton of a clip is to be written, None where it lies beside it already."""
    try:
        found = find_skeleton(path, None)
        if found.read_text(encoding="utf-8", errors="replace") == asf.text:
            return None
    except FileFormatError:
        pass
    beside = path.with_suffix(".asf")
    if beside.exists():
        raise InvalidValue(f"{beside} holds another skeleton than this clip needs. Write the clip into another folder.")
    return beside
