"""Writing glTF: the source's own file with new channels for what changed, or a bare hierarchy of nodes.

Whatever nobody changed stays as it is: other clips, meshes, skins, materials, and the channels of joints that still
move as they did. A motion nobody changed at all is the source's own file, byte for byte where it can be.
"""

from __future__ import annotations

import base64
import copy
import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Flags
from poise.io.files import write_atomically
from poise.io.format import door_turn, ground_facts, ground_noted
from poise.io.gltf_clip import SAME_TIME, sample
from poise.io.gltf_document import GltfDocument, is_glb
from poise.io.gltf_pose import GltfSource, file_pose_of, node_values, nodes_of, to_file_parents

SAME_ANGLE = 2e-8
"""A rotation this close [rad] to the source's counts as unchanged."""
SAME_LENGTH = 1e-9
"""The same for translations [m]."""


def write(motion: Motion, path: Path) -> None:
    """Write a .glb, or a .gltf with its data inside.

    Raises:
        InvalidValue: if the motion came from glTF and no longer has its joints.
    """
    source = motion.source.document if motion.source else None
    if isinstance(source, GltfSource):
        if motion.skeleton.names != source.tree.names:
            raise InvalidValue(
                "The motion's joints are not those of the glTF it was read from. Write .bvh or .npz instead."
            )
        changed = changed_joints(motion, source)
        is_same_kind = (path.suffix.lower() == ".glb") == is_glb(source.file.raw)
        is_moved = ground_noted(source.file.items("animations"), source.clip_index) != (
            motion.source and motion.source.ground
        )
        if (
            source.file.raw
            and not any(changed.values())
            and not is_moved
            and is_same_kind
            and not _has_outside_data(source.file)
        ):
            write_atomically(path, source.file.raw)
            return
    pack = _pack_of(motion)
    write_atomically(path, pack.as_glb() if path.suffix.lower() == ".glb" else pack.as_gltf())


def as_figure(motion: Motion, stretch: float) -> bytes:
    """A .glb for another program: all that the source has, the clip from second 0, its joints those of a skin.

    Its times are multiplied by `stretch`.
    """
    source = motion.source.document if motion.source else None
    pack = _pack_of(motion, from_zero=True)
    if isinstance(source, GltfSource) and source.is_whole and motion.skeleton.names == source.tree.names:
        _others_from_zero(pack, source)
    if not pack.content.get("skins"):
        pack.content["skins"] = [{"joints": list(range(motion.skeleton.joint_count))}]
    whole = GltfDocument(Path(), pack.content, (bytes(pack.data),), b"")
    return Pack.of(stretched(whole, stretch)).as_glb()


def _others_from_zero(pack: Pack, source: GltfSource) -> None:
    """Let what is no joint, as controls of a rig, move with the joints, which begin at second 0 now."""
    animation = pack.content["animations"][source.clip_index]
    file = GltfDocument(Path(), pack.content, (bytes(pack.data),), b"")
    others = [c for c in animation["channels"] if c.get("target", {}).get("node") not in source.tree.nodes]
    times = {i: file.accessor(animation["samplers"][i]["input"])[:, 0] for i in {c["sampler"] for c in others}}
    if any(own[0] < source.clip.start - 1e-6 for own in times.values()):
        return
    made: dict[int, int] = {}
    for index, own in times.items():
        sampler = animation["samplers"][index]
        if sampler["input"] not in made:
            moved = np.maximum(own.astype(np.float64) - source.clip.start, 0.0)
            made[sampler["input"]] = pack.accessor(moved, bounds=True)
        sampler["input"] = made[sampler["input"]]


def stretched(file: GltfDocument, factor: float) -> GltfDocument:
    """The same file with the key times of all animations multiplied."""
    if factor == 1.0:
        return file
    pack, made = Pack.of(file), dict[int, int]()
    for animation in pack.content.get("animations", []):
        for sampler in animation["samplers"]:
            old = sampler["input"]
            if old not in made:
                made[old] = pack.accessor(factor * file.accessor(old)[:, 0].astype(np.float64), bounds=True)
            sampler["input"] = made[old]
    return replace(file, json=pack.content, buffers=(bytes(pack.data),), raw=b"")


def _pack_of(motion: Motion, *, from_zero: bool = False) -> Pack:
    """The source's file with the motion's clip in it, or a hierarchy of nodes alone.

    Args:
        motion: The motion.
        from_zero: Write every joint anew, the first frame at second 0.
    """
    source = motion.source.document if motion.source else None
    if not isinstance(source, GltfSource) or motion.skeleton.names != source.tree.names:
        return _bare(motion)
    pack, changed = Pack.of(source.file), changed_joints(motion, source)
    noted = ground_noted(source.file.items("animations"), source.clip_index)
    if from_zero or any(changed.values()) or noted != (motion.source and motion.source.ground):
        _put_clip(pack, motion, source, changed, from_zero=from_zero)
    return pack


def _has_outside_data(file: GltfDocument) -> bool:
    uris = [b.get("uri", "data:") for b in (*file.items("buffers"), *file.items("images"))]
    return any(not str(u).startswith("data:") for u in uris)


class Pack:
    """A glTF under construction: its JSON and one growing buffer. Other formats are brought into one."""

    def __init__(self, content: dict[str, Any], data: bytes) -> None:
        self.content, self.data = content, bytearray(data)

    @classmethod
    def of(cls, file: GltfDocument) -> Pack:
        """A copy of a file, its buffers joined to one and its images taken in."""
        content = copy.deepcopy(file.json)
        data, starts = bytearray(), []
        for buffer in file.buffers:
            data += bytes(-len(data) % 4)
            starts.append(len(data))
            data += buffer
        for view in content.get("bufferViews", []):
            view["byteOffset"] = view.get("byteOffset", 0) + starts[view["buffer"]]
            view["buffer"] = 0
        pack = cls(content, bytes(data))
        for index, image in enumerate(content.get("images", [])):
            if not str(image.get("uri", "data:")).startswith("data:"):
                try:
                    found, kind = file.image(index)
                except FileFormatError:
                    continue  # a picture that is not there stays a name
                image.pop("uri")
                image |= {"bufferView": pack.view(found), "mimeType": kind}
        return pack

    def view(self, data: bytes) -> int:
        """Index of a new buffer view that holds these bytes."""
        self.data += bytes(-len(self.data) % 4)
        views = self.content.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data)})
        self.data += data
        return len(views) - 1

    def accessor(self, values: npt.NDArray[Any], *, bounds: bool = False) -> int:
        """Index of a new accessor, shape (F,), (F, n) or (F, 16); whole numbers stay so, others in single precision."""
        values = np.ascontiguousarray(values, dtype="<u4" if values.dtype.kind in "iu" else "<f4")
        width = 1 if values.ndim == 1 else values.shape[1]
        entry: dict[str, Any] = {
            "bufferView": self.view(values.tobytes()),
            "componentType": 5125 if values.dtype.kind == "u" else 5126,
            "count": len(values),
            "type": {1: "SCALAR", 16: "MAT4"}.get(width, f"VEC{width}"),
        }
        if bounds:
            entry |= {"min": [float(values.min())], "max": [float(values.max())]}
        accessors = self.content.setdefault("accessors", [])
        accessors.append(entry)
        return len(accessors) - 1

    def channel(self, animation: dict[str, Any], node: int, path: str, times: int, values: Array) -> None:
        """Add a LINEAR channel to an animation; rotations are given wxyz."""
        numbers = rotations.continuous(values)[:, [1, 2, 3, 0]] if path == "rotation" else values
        animation["samplers"].append({"input": times, "interpolation": "LINEAR", "output": self.accessor(numbers)})
        target = {"node": node, "path": path}
        animation["channels"].append({"sampler": len(animation["samplers"]) - 1, "target": target})

    def _finish(self, uri: str | None) -> bytes:
        if self.data:
            buffer: dict[str, Any] = {"byteLength": len(self.data)}
            self.content["buffers"] = [buffer | ({"uri": uri} if uri else {})]
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode(
            "utf-8", "backslashreplace"
        )

    def as_glb(self) -> bytes:
        """The bytes of a GLB."""
        self.data += bytes(-len(self.data) % 4)
        text = self._finish(None)
        text += b" " * (-len(text) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text
        if self.data:
            chunks += struct.pack("<I4s", len(self.data), b"BIN\0") + self.data
        return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks

    def as_gltf(self) -> bytes:
        """The bytes of a .gltf that holds its data as base64."""
        return self._finish("data:application/octet-stream;base64," + base64.b64encode(self.data).decode("ascii"))


def changed_joints(motion: Motion, source: GltfSource) -> dict[str, list[int]]:
    """Joints whose rotation, and whose translation, is no longer what the source's channels give."""
    everything = list(range(motion.skeleton.joint_count))
    if not source.is_whole or motion.frame_count != len(source.clip.times):
        return {"rotation": everything, "translation": everything}
    if not np.array_equal(motion.times, source.clip.times):
        return {"rotation": everything, "translation": everything}
    turns, moves = (found.any(axis=0) for found in _changes(motion, source))
    return {"rotation": np.flatnonzero(turns).tolist(), "translation": np.flatnonzero(moves).tolist()}


def _changes(motion: Motion, source: GltfSource) -> tuple[Flags, Flags]:
    """Which rotations and which translations are no longer what the source's channels give, shapes (F, J)."""
    moved, turned = _as_read(source)
    own_moved, own_turned = to_file_parents(source.tree, motion.translations, motion.rotations)
    is_turned = rotations.angle_between(own_turned, turned) > SAME_ANGLE
    return is_turned, np.abs(own_moved - moved).max(axis=2) > SAME_LENGTH


def keys_between(motion: Motion, source: GltfSource, keys: Array) -> Array:
    """Those of the file's key times (K,) [s] that lie between two neighboring frames of which nobody changed a joint.

    None where the motion has other frames than the source.
    """
    clip = source.clip
    if not source.is_whole or clip.hits_keys or len(clip.times) < 2 or not np.array_equal(motion.times, clip.times):
        return keys[:0]
    is_same = ~np.any(_changes(motion, source), axis=(0, 2))
    at = keys - clip.start
    before = np.clip(np.searchsorted(clip.times, at, side="right") - 1, 0, len(clip.times) - 2)
    share = (at - clip.times[before]) / np.diff(clip.times)[before]
    rounding = 2.0 * np.spacing(np.float32(keys[-1])) / np.median(np.diff(clip.times))
    is_between = np.minimum(share, 1.0 - share) > max(SAME_TIME, min(rounding, 0.2))
    return keys[is_between & is_same[before] & is_same[before + 1]]


def _as_read(source: GltfSource) -> tuple[Array, Array]:
    """Translations and rotations against the file's own parents, as the channels give them."""
    values = node_values(source.tree, source.clip, source.clip.start + source.clip.times)
    return file_pose_of(source.tree, *values, unit=source.unit, up=source.up)


def _put_clip(
    pack: Pack, motion: Motion, source: GltfSource, changed: dict[str, list[int]], *, from_zero: bool
) -> None:
    """Replace the channels of the changed joints in the clip that was read; all from second 0 if they are to be."""
    tree, clip = source.tree, source.clip
    is_kept = source.is_whole and not from_zero
    times = clip.start + motion.times if is_kept else motion.times
    file_times = clip.start + motion.times if source.is_whole else np.full(motion.frame_count, clip.start)
    _, _, scales = node_values(tree, clip, file_times)
    moved, turned = nodes_of(tree, motion.translations, motion.rotations, scales, unit=source.unit, up=source.up)
    animation = pack.content["animations"][source.clip_index]
    had = {(c.node, c.path): c for c in clip.channels}
    written = [("rotation", turned), ("translation", moved)]
    if not is_kept:
        scaled = [j for j, node in enumerate(tree.nodes) if (node, "scale") in had]
        everything = list(range(len(tree.nodes)))
        changed = {"rotation": everything, "translation": everything, "scale": scaled}
        written.append(("scale", scales))
    replaced = {(tree.nodes[j], path) for path, joints in changed.items() for j in joints}
    own_moved, _ = to_file_parents(tree, motion.translations, motion.rotations)
    rest, _ = file_pose_of(tree, tree.translations, tree.turns, tree.scales, unit=source.unit, up=source.up)
    extras = animation.get("extras")
    note = frame_note(motion, has_keys_between=is_kept and not clip.hits_keys)
    animation["extras"] = (extras if isinstance(extras, dict) else {}) | {"poise": note}
    old = animation["channels"]
    animation["channels"] = [
        c for c in old if (c.get("target", {}).get("node"), c.get("target", {}).get("path")) not in replaced
    ]
    at = pack.accessor(times, bounds=True)
    for path, values in written:
        for j in changed[path]:
            node = tree.nodes[j]
            stays = np.abs(own_moved[:, j] - rest[j]).max() <= SAME_LENGTH
            if path == "translation" and stays and (node, path) not in had:
                continue
            _as_parts(pack.content["nodes"][node], tree, j)
            own = had.get((node, path))
            kept = times[:0] if own is None or not is_kept else keys_between(motion, source, own.times)
            if own is None or not len(kept):
                pack.channel(animation, node, path, at, values[:, j])
                continue
            every = np.concatenate([times, kept])
            order = np.argsort(every)
            found = np.concatenate([values[:, j], sample(own, kept)])[order]
            pack.channel(animation, node, path, pack.accessor(every[order], bounds=True), found)
    _drop_unused_samplers(animation)


def frame_note(motion: Motion, *, has_keys_between: bool = False) -> dict[str, Any]:
    """The frames in double precision: their rate [1/s], or their times [s] where they are not evenly spaced.

    Beside them the ground the clip was made for and, where keys stand between the frames, how many frames there are.
    """
    ground = ground_facts(motion.source.ground if motion.source else None)
    count = {"frames": motion.frame_count} if has_keys_between else {}
    return _times(motion) | count | ({"ground": ground} if ground else {})


def _times(motion: Motion) -> dict[str, Any]:
    times = motion.times - motion.times[0]
    if motion.frame_count < 2 or np.abs(times - np.arange(len(times)) * times[-1] / (len(times) - 1)).max() < 1e-9:
        return {"fps": (len(times) - 1) / float(times[-1]) if len(times) > 1 else motion.fps}
    return {"times": times.tolist()}


def _as_parts(node: dict[str, Any], tree: Any, joint: int) -> None:
    """An animated node may have no matrix: put its translation, rotation and scale there instead."""
    if node.pop("matrix", None) is not None:
        node["translation"] = tree.translations[joint].tolist()
        node["rotation"] = tree.turns[joint][[1, 2, 3, 0]].tolist()
        node["scale"] = tree.scales[joint].tolist()


def _drop_unused_samplers(animation: dict[str, Any]) -> None:
    used = sorted({c["sampler"] for c in animation["channels"]})
    place = {old: new for new, old in enumerate(used)}
    animation["samplers"] = [animation["samplers"][i] for i in used]
    for channel in animation["channels"]:
        channel["sampler"] = place[channel["sampler"]]


def _bare(motion: Motion) -> Pack:
    """A file of nodes alone: one per joint, Y up, meters, end sites as marked leaf nodes."""
    skeleton = motion.skeleton
    back = rotations.conjugate(door_turn("y"))
    place, turn = skeleton.offsets.copy(), skeleton.rest_rotations.copy()
    place[0], turn[0] = rotations.rotate(back, place[0]), rotations.multiply(back, turn[0])
    moved, turned = motion.translations.copy(), motion.rotations.copy()
    moved[:, 0] = rotations.rotate(back, moved[:, 0])
    turned[:, 0] = rotations.multiply(back, turned[:, 0])
    nodes: list[dict[str, Any]] = [
        {"name": name, "translation": place[j].tolist(), "rotation": turn[j][[1, 2, 3, 0]].tolist()}
        for j, name in enumerate(skeleton.names)
    ]
    for joint, children in enumerate(skeleton.children):
        if children:
            nodes[joint]["children"] = list(children)
    for site in skeleton.end_sites:
        nodes[site.joint].setdefault("children", []).append(len(nodes))
        nodes.append({"name": site.name, "translation": site.offset.tolist(), "extras": {"poise": "end_site"}})
    clips = motion.source.clips if motion.source else ()
    name = clips[motion.source.clip] if motion.source and len(clips) > motion.source.clip else "motion"
    animation: dict[str, Any] = {"name": name, "channels": [], "samplers": []}
    pack = Pack(
        {
            "asset": {"version": "2.0", "generator": "Poise"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": nodes,
            "animations": [animation],
        },
        b"",
    )
    animation["extras"] = {"poise": frame_note(motion)}
    at = pack.accessor(motion.times - motion.times[0], bounds=True)
    for j in range(skeleton.joint_count):
        pack.channel(animation, j, "rotation", at, turned[:, j])
        if j == 0 or np.abs(motion.translations[:, j] - skeleton.offsets[j]).max() > SAME_LENGTH:
            pack.channel(animation, j, "translation", at, moved[:, j])
    return pack
