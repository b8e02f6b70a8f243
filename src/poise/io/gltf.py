"""glTF 2.0 (.glb, .gltf): skeletons with their skins and animations in; the same file with a new animation out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from poise.core.errors import FileFormatError, install_line
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import Skeleton
from poise.intake.anatomy import height_of
from poise.io.format import ReadOptions, given_by_caller, ground_noted
from poise.io.gltf_clip import Clip, choose_clip, clip_names, moving_clips, read_clip
from poise.io.gltf_document import GltfDocument, is_glb, open_gltf
from poise.io.gltf_draco import is_installed, is_packed, unpacked
from poise.io.gltf_pose import GltfSource, node_values, pose_of, settled, skeleton_of, skeleton_tree, with_kept_scales
from poise.io.gltf_tree import GltfTree
from poise.io.gltf_write import write as write

NAME = "gltf"
WRITTEN_EXTENSIONS = (".gltf", ".glb")
NOT_WRITTEN = dict.fromkeys((".vrm", ".vrma"), "Write .glb: it holds the figure, its skin and its clip.")
EXTENSIONS = (*WRITTEN_EXTENSIONS, *NOT_WRITTEN)


def matches(path: Path, head: bytes) -> bool:
    """True for a GLB, or for JSON named .gltf."""
    return is_glb(head) or (path.suffix.lower() == ".gltf" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"))


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of a file, with or without animations, at its nodes' rest."""
    file = open_gltf(path)
    return figure_skeleton(file, skeleton_tree(file), options)


def read(path: Path, options: ReadOptions) -> Motion:
    """Read one animation: the only one, or the one `options.clip` names.

    Raises:
        FileFormatError: if the file is damaged, has no skeleton or animation, or several clips and none was named.
    """
    return read_figure(*_opened(path), options)


def read_figure(file: GltfDocument, tree: GltfTree, options: ReadOptions) -> Motion:
    """One animation of a figure document, wherever that came from; see `read`."""
    index = choose_clip(file, options.clip, frozenset(tree.nodes))
    clip = read_clip(file, index, len(tree.nodes), frozenset(tree.nodes), between=options.fps is None)
    unit, up = options.unit or 1.0, options.up or "y"
    moved, turned, scales = node_values(tree, clip, clip.start + clip.times)
    _refuse_no_scale(file, tree, scales)
    tree = with_kept_scales(tree, scales)
    skeleton = figure_skeleton(file, tree, options)
    translations, turned = pose_of(tree, moved, turned, scales, unit=unit, up=up)
    skeleton, away = settled(skeleton, translations)
    times = np.arange(len(clip.times)) / options.fps if options.fps else clip.times
    fps = (len(times) - 1) / float(times[-1]) if len(times) > 1 else options.fps or clip.fps
    return Motion(
        skeleton=skeleton,
        times=times,
        translations=translations,
        rotations=turned,
        source=Source(
            path=str(file.path),
            format=NAME,
            dialect=_dialect(file),
            unit=unit,
            up=up,
            fps=fps,
            document=GltfSource(file, tree, index, clip, unit, up),
            evidence=_evidence(file, tree, clip, options, fps, away),
            warnings=_warnings(file, tree, scales),
            clips=clip_names(file),
            clip=index,
            ground=ground_noted(file.items("animations"), index),
        ),
    )


_last: tuple[GltfDocument, GltfTree] | None = None
"""The last file opened, with its skeleton. It stays in memory until another is opened: clips of one file are often read
in a row."""


def _opened(path: Path) -> tuple[GltfDocument, GltfTree]:
    """A file and its skeleton, remembered until another is opened; if the file changes, it is read again."""
    global _last
    known = _last
    file = open_gltf(path, None if known is None else known[0])
    if known is None or file is not known[0]:
        known = file, skeleton_tree(file)
        _last = known
    return known


def describe(path: Path, options: ReadOptions) -> dict[str, Any] | None:
    """What a file says that `read` refuses because it holds several clips, or none."""
    return describe_figure(*_opened(path), options)


def describe_figure(file: GltfDocument, tree: GltfTree, options: ReadOptions) -> dict[str, Any] | None:
    """The same of a figure document."""
    names = clip_names(file)
    if len(names) == 1 or (options.clip is not None and names):
        return None
    skeleton = figure_skeleton(file, tree, options)
    own = moving_clips(file, frozenset(tree.nodes))
    clips, faults = _readable(file, tree, own)
    if own and len(faults) == len(own):
        raise faults[0]
    names = tuple(names[i] for i in own)
    unused = [f"One clip cannot be used: {f.problem} {f.cure}".strip() for f in faults]
    return {
        "format": NAME,
        "dialect": _dialect(file),
        "joints": list(skeleton.names),
        "end_sites": [e.name for e in skeleton.end_sites],
        "channels": max((len(c.channels) for c in clips if c), default=0),
        "frames": [len(c.times) if c else 0 for c in clips],
        "fps": [_rate(c) if c else 0.0 for c in clips],
        "duration_s": [float(c.times[-1]) if c else 0.0 for c in clips],
        "unit_m": options.unit or 1.0,
        "up": options.up or "y",
        "height_m": height_of(skeleton),
        "clips": list(names),
        "reason": (
            f"The file holds {len(names)} clips. Choose one with --clip; the end of its name is enough."
            if names
            else "It holds no animation."
        ),
        "warnings": [*_warnings(file, tree, tree.scales[None]), *unused],
    }


def _readable(
    file: GltfDocument, tree: GltfTree, own: Sequence[int]
) -> tuple[list[Clip | None], list[FileFormatError]]:
    """The clips, None for one that is damaged, and what is wrong with those."""
    clips: list[Clip | None] = []
    faults: list[FileFormatError] = []
    for index in own:
        try:
            clips.append(read_clip(file, index, len(tree.nodes), frozenset(tree.nodes)))
        except FileFormatError as error:
            clips.append(None)
            faults.append(error)
    return clips, faults


def read_rest(path: Path, options: ReadOptions) -> Motion:
    """A file as one frame at its nodes' rest; written with other frames it keeps its skin.

    Raises:
        FileFormatError: if the file is damaged or has no skeleton.
    """
    return rest_figure(*_opened(path), options, NAME)


def rest_figure(file: GltfDocument, tree: GltfTree, options: ReadOptions, name: str) -> Motion:
    """A figure document at rest, of the format of this name; see `read_rest`."""
    unit, up = options.unit or 1.0, options.up or "y"
    clip = Clip("clip", (), 0.0, np.zeros(1), "at rest")
    bare = {"name": clip.name, "channels": [], "samplers": []}
    file = replace(file, json=file.json | {"animations": [bare]}, raw=b"")
    skeleton = figure_skeleton(file, tree, options)
    moved, turned = pose_of(tree, tree.translations[None], tree.turns[None], tree.scales[None], unit=unit, up=up)
    skeleton, _ = settled(skeleton, moved)
    document = GltfSource(file, tree, 0, clip, unit, up)
    source = Source(str(file.path), name, _dialect(file), unit, up, clip.fps, document, clips=(clip.name,))
    return Motion(skeleton, np.zeros(1), moved, turned, source)


def figure_skeleton(file: GltfDocument, tree: GltfTree, options: ReadOptions) -> Skeleton:
    """The skeleton of a figure document at its nodes' rest."""
    _refuse_no_scale(file, tree, tree.scales)
    source = GltfSource(file, tree, 0, Clip("", (), 0.0, np.zeros(1), ""), 1.0, "y")
    return skeleton_of(tree, source.meshes, unit=options.unit or 1.0, up=options.up or "y")


def _refuse_no_scale(file: GltfDocument, tree: GltfTree, scales: np.ndarray) -> None:
    """Refuse a joint scaled to nothing, or mirrored along some axes, on which others hang; a last one may vanish.

    One that is mirrored along all three axes is read: a negative scale of its whole limb.
    """
    has_child = np.isin(np.arange(len(tree.nodes)), tree.parents)
    is_even = (scales > 0.0).all(axis=-1) | (scales < 0.0).all(axis=-1)
    bad = (~is_even).reshape(-1, len(tree.nodes)).any(axis=0) & has_child
    if bad.any():
        name = tree.names[int(np.argmax(bad))]
        raise file.fault(f"Joint {name!r} is mirrored or scaled to nothing.", "Apply its scale and export again.")


def _is_there(file: GltfDocument, uri: str) -> bool:
    """True for a picture inside the file, or in a file beside it."""
    try:
        return uri.startswith("data:") or (file.path.parent / unquote(uri)).is_file()
    except (OSError, ValueError):  # a name too long, or no name
        return False


def _dialect(file: GltfDocument) -> str:
    maker, extensions = file.json["asset"].get("generator"), file.json.get("extensionsUsed")
    is_vrm = isinstance(extensions, list) and any(
        name == "VRM" or str(name).startswith("VRMC_vrm") for name in extensions
    )
    kind = "VRM, glTF 2.0" if is_vrm else "glTF 2.0"
    return f"{kind} by {maker}" if isinstance(maker, str) and maker else kind


def _rate(clip: Clip) -> float:
    return (len(clip.times) - 1) / float(clip.times[-1]) if len(clip.times) > 1 else 0.0


def _evidence(
    file: GltfDocument, tree: GltfTree, clip: Clip, options: ReadOptions, fps: float, away: float
) -> dict[str, Evidence]:
    modes = sorted({c.mode for c in clip.channels})
    found = {
        "unit": Evidence(1.0, 0.8, "glTF is in meters by its standard; makers of models do not always keep to it"),
        "up": Evidence("y", 0.95, "glTF is Y up by its standard"),
        "fps": Evidence(fps, 0.9 if clip.hits_keys else 0.5, clip.reason),
        "interpolation": Evidence(modes, 1.0, "of the clip's channels; between keys Poise's frames follow it"),
        "rest_pose": Evidence("the nodes' own transforms", 0.8, "not the bind pose, which belongs to the skin"),
        "joints": Evidence(
            len(tree.nodes),
            1.0,
            "joints of all skins and what lies between" if file.items("skins") else "animated nodes",
        ),
        "end_sites": Evidence(
            "marked by Poise" if tree.end_sites else "where the skin ends", 0.6, "such a file marks no tips of chains"
        ),
    }
    if away > 0.0:
        found["bone_lengths"] = Evidence(
            away, 0.9, f"the clip keeps joints up to {1e3 * away:.3g} mm off their places at rest; its places count"
        )
    if tree.above_names:
        moved = f"scale {tree.above_scale:g}, place {np.round(tree.above_place, 6).tolist()}"
        moved += ", mirrored" if tree.above_mirrors else ""
        found["folded"] = Evidence(
            list(tree.above_names), 1.0, f"nodes above the skeleton: {moved}, in the root's pose"
        )
    if tree.hanging:
        said = {tree.names[h.joint]: tree.names[h.bone] for h in tree.hanging}
        least = min(tree.hanging, key=lambda h: h.odds)
        found["hangs_on"] = Evidence(
            said,
            float(1.0 - np.exp(-max(least.odds, 0.0))),
            f"joints on other bones than the file's parent; of {tree.names[least.joint]!r}, the least sure: "
            + "; ".join(least.reasons),
        )
    if clip.start > 0.0:
        found["start"] = Evidence(clip.start, 1.0, "file time of the first key, which is frame 0 here")
    outside = sum(c.node not in tree.nodes for c in clip.channels) + clip.ignored
    if outside:
        found["other_channels"] = Evidence(
            outside, 1.0, "channels that move no joint; kept when written, not simulated"
        )
    return found | given_by_caller(options)


def _warnings(file: GltfDocument, tree: GltfTree, scales: np.ndarray) -> tuple[str, ...]:
    found = []
    lost = [image["uri"] for image in file.items("images") if not _is_there(file, image.get("uri", "data:"))]
    if lost:
        found.append(f"Pictures that are not there: {', '.join(map(repr, lost[:3]))}. The figure is drawn without.")
    packed = [p for mesh in file.items("meshes") for p in mesh.get("primitives", []) if is_packed(p)]
    closed = [p for p in packed if unpacked(file, p) is None]
    if closed:
        are = "is" if len(closed) == 1 else "are"
        cure = "Export it" if is_installed() else f"To read it, {install_line('draco')}; or export it"
        why = "cannot be unpacked" if is_installed() else "is not read without the package DracoPy"
        found.append(
            f"{len(closed)} of its meshes {are} packed with Draco, which {why}: skeleton and clips are read, the skin "
            f"is not drawn. {cure} without compression."
        )
    if tree.beside:
        found.append(
            f"There are other skeletons in the file: {', '.join(map(repr, tree.beside[:5]))}. They are not "
            "read; export them on their own to work on them."
        )
    if tree.above_uneven:
        found.append(
            f"Nodes above the skeleton scale unevenly: {', '.join(tree.above_uneven[:5])}. The figure is read with the "
            "mean of the three, so it is not stretched as drawn; apply the scale in the program it came from."
        )
    if tree.uneven:
        found.append(
            f"Joints scaled unevenly: {', '.join(tree.uneven[:5])}. Places of joints are as drawn, but bones are not "
            "sheared; apply the scale in the program it came from."
        )
    wander = np.ptp(scales, axis=0).max(axis=1) > 1e-3 * np.abs(scales).max(axis=(0, 2))
    if wander.any():
        names = [tree.names[j] for j in np.flatnonzero(wander)[:5]]
        found.append(
            f"The clip scales joints: {', '.join(names)}. Their children are moved accordingly; they keep their size."
        )
    return tuple(found)
