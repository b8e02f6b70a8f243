"""Motion files: `load`, `load_skeleton`, `save`; one module per format beside this one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from poise.core.errors import (
    FileFormatError,
    InternalError,
    InvalidValue,
    MissingExtra,
    UnknownName,
    UnreadableFile,
    failed_inside,
    require,
)
from poise.core.motion import Evidence, Motion
from poise.core.skeleton import Skeleton
from poise.core.units import UNITS
from poise.intake.anatomy import height_in_meters, height_of
from poise.intake.reading import doubted
from poise.io.files import all_or_none
from poise.io.format import (
    UP_AXES,
    ReadOptions,
    axes_at_door,
    file_and_clip,
    format_for,
    format_of,
    optional,
    rest_of_file,
    skeleton_of_file,
)
from poise.io.gltf_clip import clips_called
from poise.phases.floor import carrying_larger

__all__ = ["ReadOptions", "load", "load_at_rest", "load_skeleton", "read_options", "resampled_to", "save"]

AnyPath = str | PathLike[str]
MAX_FPS = 100_000.0
"""Largest rate of resampling [1/s]; what 1e9 asks for by mistake would fill the memory."""


def load(
    path: AnyPath,
    *,
    skeleton: AnyPath | None = None,
    clip: str | int | None = None,
    unit: float | str | None = None,
    up: str | None = None,
    fps: float | None = None,
    frames_from_data: bool = False,
    height: float | str | None = None,
) -> Motion:
    """Read a motion from any file Poise knows. What the file leaves open is guessed; `source.evidence` says why.

    Example:
        >>> motion = poise.load("walk.bvh")
        >>> motion = poise.load("walk.bvh", unit="cm", up="y")  # where the file leaves it open

    Args:
        path: The file; FILE@CLIP names a clip of it, too, where no file is called so.
        skeleton: The skeleton file it needs (.asf, DeepMimic character); default the one beside it.
        clip: Name or index of the clip, in a file that holds several.
        unit: Meters per file unit, or one of m, dm, cm, mm, inch, ft, cmu.
        up: The file's up axis: x, y, z, -x, -y or -z.
        fps: Frame rate of the data [1/s], for a file whose label is wrong or missing.
        frames_from_data: Take the frames that are there where the declared count is wrong.
        height: How tall the figure is: meters, or a text such as "1.8m" or "6ft"; its file's unit follows from it.

    Raises:
        UnreadableFile: if there is no such file.
        FileFormatError: if it cannot be read as what it claims to be, or needs one of the arguments above.
        InvalidValue: if an argument cannot be used.
    """
    require(str, PathLike, path=path)
    path = Path(path)
    if "@" in path.name and (parts := file_and_clip(str(path)))[1] is not None:
        if clip is not None:
            raise InvalidValue(f"{path} names a clip, and so does --clip {clip}; give one of them.")
        path, clip = parts
    options = read_options(
        skeleton=skeleton, clip=clip, unit=unit, up=up, fps=fps, frames_from_data=frames_from_data, height=height
    )
    has_size = options.unit is not None or options.height is not None
    with _reading(path):
        motion = _read(path, options)
        motion = doubted(
            motion,
            axes=axes_at_door(motion.source.up if motion.source is not None else "z"),
            given_up=options.up is not None,
            given_size=has_size,
            given_fps=options.fps is not None,
        )
    if (
        options.clip not in (None, 0)
        and motion.source is not None
        and not clips_called(motion.source.clips, options.clip)
    ):
        problem = f"This file holds one motion only; clip {options.clip!r} is not in it."
        raise FileFormatError(problem, path=path, cure="Leave the clip out.")
    return motion


def _read(path: Path, options: ReadOptions) -> Motion:
    """The motion as its format reads it; of the height that was asked for. The ground it carries is sized with it."""
    reader = format_of(path)
    motion = reader.read(path, options)
    source = motion.source
    if source is None:
        return motion
    if options.unit is not None and source.ground is not None:
        noted = reader.read(path, replace(options, unit=None)).source
        assert noted is not None
        motion = carrying_larger(motion, options.unit / noted.unit)
    if options.height is None:
        return motion
    tall = height_of(motion)
    if tall < 1e-9:
        raise InvalidValue("This figure has no height; leave --height (height=...) out.")
    sized = replace(options, unit=source.unit * options.height / tall)
    size = options.height / tall
    del motion, source  # of a long file there is no room for two
    motion = reader.read(path, sized)
    assert motion.source is not None
    stated = Evidence(sized.unit, 1.0, f"the figure is {options.height:g} m tall, as its user says")
    known = replace(motion, source=replace(motion.source, evidence=motion.source.evidence | {"unit": stated}))
    return carrying_larger(known.placed(*motion.world), size)


def load_skeleton(
    path: AnyPath,
    *,
    skeleton: AnyPath | None = None,
    unit: float | str | None = None,
    up: str | None = None,
    height: float | str | None = None,
) -> Skeleton:
    """Read the skeleton of a file, whether or not it holds motion as well; arguments and errors as for `load`.

    Example:
        >>> skeleton = poise.load_skeleton("walk.bvh")
        >>> print(skeleton.names)
    """
    require(str, PathLike, path=path)
    path, options = Path(path), read_options(skeleton=skeleton, unit=unit, up=up, height=height)
    with _reading(path):
        return skeleton_of_file(path, _sized(path, options))


def load_at_rest(
    path: AnyPath,
    *,
    skeleton: AnyPath | None = None,
    unit: float | str | None = None,
    up: str | None = None,
    height: float | str | None = None,
) -> Motion:
    """The figure of a file as one frame at rest, with its skin; arguments and errors as for `load`.

    Example:
        >>> still = poise.io.load_at_rest("walk.bvh")
        >>> print(still.frame_count)
    """
    require(str, PathLike, path=path)
    path, options = Path(path), read_options(skeleton=skeleton, unit=unit, up=up, height=height)
    with _reading(path):
        return rest_of_file(path, _sized(path, options))


def _sized(path: Path, options: ReadOptions) -> ReadOptions:
    """The options with the unit that gives the height they ask for."""
    if options.height is None:
        return options
    tall = height_of(skeleton_of_file(path, replace(options, unit=1.0)))
    if tall < 1e-9:
        raise InvalidValue("This figure has no height; leave --height (height=...) out.")
    return replace(options, unit=options.height / tall)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever goes wrong while a file is read is an error that names the file.

    Readers check what they use and say what is wrong with a file. Any other error is a bug of Poise, and
    its message says so.
    """
    try:
        yield
    except (FileFormatError, UnreadableFile, UnknownName, MissingExtra):
        raise
    except InvalidValue as error:  # a motion's own checks
        raise FileFormatError(str(error), path=path) from error
    except MemoryError as error:
        raise FileFormatError("There is not enough memory to read it.", path=path, cure="Cut it.") from error
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:
        hint = "If the file is damaged, Poise should have said where; exporting it again may help."
        raise InternalError(f"{path}: {failed_inside(error)} {hint}") from error


def save(
    motion: Motion,
    path: AnyPath,
    *,
    fps: float | None = None,
    unit: float | str | None = None,
    up: str | None = None,
) -> None:
    """Write a motion; the extension says in which format. A file is written whole or not at all.

    A motion that was read from the same format keeps its hierarchy, channels and the literal numbers of all
    values that did not change.

    Example:
        >>> poise.save(motion, "copy.bvh", fps=30.0)
        >>> poise.save(motion, "copy.npz")

    Args:
        motion: The motion.
        path: Where to; an existing file is replaced, as Python's own writers do. (The commands ask for --overwrite.)
        fps: Resample to this rate [1/s] first, by C² splines; None keeps the motion's own frames.
        unit: Meters per unit of the new file (a number, or a name as for `load`); None for the source's, or the
            format's custom (BVH: centimeters).
        up: Up axis of the new file; None for the source's, or the format's custom (BVH: y).

    Raises:
        UnknownName: if no format is written to this extension.
        InvalidValue: if the format cannot hold this motion, or fixes its unit and up axis.
    """
    require(str, PathLike, path=path)
    path = Path(path)
    writer = format_for(path)
    motion = _as_stated(motion if fps is None else resampled_to(motion, fps))
    if unit is None and up is None:
        with all_or_none():  # a clip and its skeleton may be two files
            optional(writer, "write")(motion, path)
        return
    wanted = read_options(unit=unit, up=up)
    write_as = optional(writer, "write_as")
    if write_as is None:
        raise InvalidValue(
            f"The format of {path.name} fixes unit and up axis; leave them out. "
            "What the input's are, `load` takes (poise convert: --source-unit, --source-up)."
        )
    with all_or_none():
        write_as(motion, path, unit=wanted.unit, up=wanted.up)


def _as_stated(motion: Motion) -> Motion:
    """The motion with its source's file made as large as it was read, where its format states the unit.

    Else a figure that was read 1.8 m tall (`height`, `unit`) would be written as tall as its file had it.
    """
    source = motion.source
    stated = getattr(source.document, "as_stated", None) if source is not None else None
    if source is None or stated is None:
        return motion
    document = stated()
    return motion if document is source.document else replace(motion, source=replace(source, document=document))


def resampled_to(motion: Motion, fps: float) -> Motion:
    """The motion at a constant rate [1/s] from its first to its last frame; itself if it has that rate already.

    The last frame is kept where it falls on the new grid (to a thousandth of a frame), else the grid ends before it.

    Example:
        >>> slow = poise.io.resampled_to(motion, 30.0)
        >>> assert abs(slow.fps - 30.0) < 1e-6
    """
    rate = _positive("fps", fps)
    if rate > MAX_FPS:
        raise InvalidValue(f"fps is {fps:g}; give at most {MAX_FPS:g}.")
    if motion.is_uniform and abs(motion.fps - rate) < 1e-4 * rate:
        return motion
    count = math.floor(motion.duration * rate + 1e-3) + 1
    return motion.resampled(np.arange(count) / rate)


def read_options(
    *,
    skeleton: AnyPath | None = None,
    clip: str | int | None = None,
    unit: float | str | None = None,
    up: str | None = None,
    fps: float | None = None,
    frames_from_data: bool = False,
    height: float | str | None = None,
) -> ReadOptions:
    """Checked options for a reader; arguments as for `load`.

    Example:
        >>> options = poise.io.read_options(unit="cm", up="z")
        >>> assert options.unit == 0.01

    Raises:
        InvalidValue: naming the argument and what is allowed.
    """
    if up is not None and up.lower() not in UP_AXES:
        raise InvalidValue(f"Up axis {up!r} is not one of {', '.join(UP_AXES)}.")
    if unit is not None and height is not None:
        raise InvalidValue("A unit and a height both say how large the figure is; give one of --unit and --height.")
    return ReadOptions(
        height=None if height is None else height_in_meters(height),
        skeleton=None if skeleton is None else Path(skeleton),
        clip=clip,
        unit=None if unit is None else _meters(unit),
        up=None if up is None else up.lower(),
        fps=None if fps is None else _positive("fps", fps),
        frames_from_data=frames_from_data,
    )


def _meters(unit: float | str) -> float:
    if isinstance(unit, str):
        if unit.lower() in UNITS:
            return UNITS[unit.lower()]
        try:
            unit = float(unit)
        except ValueError:
            raise InvalidValue(f"Unit {unit!r} is not a number of meters and not one of {', '.join(UNITS)}.") from None
    return _positive("unit", unit)


def _positive(name: str, value: float) -> float:
    value = float(value)
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidValue(f"{name} is {value}; it must be a positive number.")
    return value
