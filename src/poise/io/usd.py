"""USD (.usd, .usda, .usdc, .usdz): UsdSkel characters with skin and animations in; the same stage with new keys out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poise.core.motion import Evidence, Motion
from poise.core.skeleton import Skeleton
from poise.io.format import ReadOptions, given_by_caller
from poise.io.gltf import describe_figure, figure_skeleton, read_figure, rest_figure
from poise.io.gltf_pose import skeleton_tree
from poise.io.gltf_tree import GltfTree

if TYPE_CHECKING:
    from poise.io.usd_stage import UsdDocument

NAME = "usd"
WRITTEN_EXTENSIONS = (".usd", ".usda", ".usdc")
NOT_WRITTEN = {".usdz": "Write .usdc, and pack it with usdzip."}
EXTENSIONS = (*WRITTEN_EXTENSIONS, *NOT_WRITTEN)


def matches(path: Path, head: bytes) -> bool:
    """True for a USD layer, and for an archive named .usdz."""
    return head.startswith((b"PXR-USDC", b"#usda")) or (path.suffix.lower() == ".usdz" and head.startswith(b"PK"))


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a stage, with or without animations, at its rest transforms."""
    return figure_skeleton(*_opened(path, options), _without_units(options))


def read_rest(path: Path, options: ReadOptions) -> Motion:
    """A stage as one frame at its rest transforms, with its skin."""
    return rest_figure(*_opened(path, options), _without_units(options), NAME)


def read(path: Path, options: ReadOptions) -> Motion:
    """Read one SkelAnimation: the only one, or the one `options.clip` names.

    Raises:
        FileFormatError: if the stage is damaged, has no figure or animation, or several and none was named.
        MissingExtra: without usd-core.
    """
    file, tree = _opened(path, options)
    motion = read_figure(file, tree, _without_units(options))
    source = motion.source
    assert source is not None
    said = {
        "unit": Evidence(file.unit, 0.9, "metersPerUnit of the stage; 0.01 where it says none"),
        "up": Evidence(file.up, 0.95, "upAxis of the stage"),
        "rest_pose": Evidence(
            "the skeleton's rest transforms", 0.9, "not its bind transforms, which belong to the skin"
        ),
    }
    said |= given_by_caller(options)
    warnings = source.warnings
    if file.beside:
        warnings += (
            f"There are other skeletons in the stage: {', '.join(file.beside[:5])}. They are not read; export them on "
            "their own to work on them.",
        )
    evidence = {k: v for k, v in source.evidence.items() if k != "folded"} | said
    return replace(
        motion,
        source=replace(
            source,
            format=NAME,
            dialect=f"UsdSkel, {file.rate:g} time codes a second",
            unit=file.unit,
            up=file.up,
            evidence=evidence,
            warnings=warnings,
        ),
    )


def describe(path: Path, options: ReadOptions) -> dict[str, Any] | None:
    """What a stage says that `read` refuses because it holds several animations, or none."""
    file, tree = _opened(path, options)
    found = describe_figure(file, tree, _without_units(options))
    return None if found is None else found | {"format": NAME, "dialect": "UsdSkel", "unit_m": file.unit, "up": file.up}


def write(motion: Motion, path: Path) -> None:
    """Write a stage: the source's own with new keys for what changed, or a skeleton with its animation and skin.

    Raises:
        InvalidValue: if the motion came from a stage and no longer has its joints.
        MissingExtra: without usd-core.
    """
    from poise.io.usd_write import write_stage

    write_stage(motion, path)


def write_as(motion: Motion, path: Path, *, unit: float | None, up: str | None) -> None:
    """Write a new stage in another unit or up axis."""
    from poise.io.usd_write import write_new

    write_new(motion, path, unit=unit or 1.0, up=up or "z")


_last: tuple[UsdDocument, GltfTree] | None = None
"""The last stage opened, with its skeleton: clips of one file are often read in a row."""


def _opened(path: Path, options: ReadOptions) -> tuple[UsdDocument, GltfTree]:
    global _last
    from poise.io.usd_stage import open_usd

    known = _last
    file = open_usd(path, unit=options.unit, up=options.up, last=None if known is None else known[0])
    if known is None or file is not known[0]:
        known = file, skeleton_tree(file)
        _last = None if options.unit or options.up else known
    return known


def _without_units(options: ReadOptions) -> ReadOptions:
    """The options for a figure document, which is in meters and Y up."""
    return replace(options, unit=None, up=None)
