"""A USD stage as the figure document that Poise works on: prims and joints as nodes, SkelAnimations as clips.

Both formats state a figure as a tree of T R S with keys in single precision, so nothing is lost on the way. A stage of
several layers, an archive and one with instances are flattened to one layer first. Values that are written again go
into that layer.

Source: UsdSkel schemas of OpenUSD. Row vectors there, column vectors here: the sixteen numbers of a matrix are in the
same order in memory.
"""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MissingExtra, install_line
from poise.core.typing import Array
from poise.io.files import read_bytes
from poise.io.format import door_turn
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_tree import MAX_JOINTS
from poise.io.gltf_write import Pack

try:
    Tf, Usd, UsdGeom, UsdSkel, UsdUtils = (
        import_module(f"pxr.{name}") for name in ("Tf", "Usd", "UsdGeom", "UsdSkel", "UsdUtils")
    )
except ImportError as error:
    raise MissingExtra(f"Reading and writing USD needs usd-core: {install_line('usd')}.") from error

from poise.io.usd_skin import add_parts, add_skins

MAX_BYTES = 256_000_000
"""Largest file that is read [bytes]."""
MAX_PRIMS = 200_000
"""Most prims of a stage that are looked through."""
MAX_NUMBERS = 100_000_000
"""Most values of joints over all keys of a stage."""
LARGEST = 1e12
"""No number of a skeleton's transforms is as large as this, in units of its file."""
MEMORY = 2 << 30
"""Memory that opening a stage may take besides twenty times its file's size [bytes]; damaged files ask for any."""
AGAIN = "Export it again, or look at it with usdchecker."
TOO_LARGE = f"It asks for more than {MEMORY >> 30} GB of memory: it is damaged, or holds far more than a figure."


@dataclass(frozen=True)
class UsdDocument(GltfDocument):
    """A USD stage brought into a figure document.

    Attributes:
        layer: The stage as one layer: bytes of a .usda or .usdc file.
        is_own: True if that layer is the file itself.
        targets: What each node is in the stage: the path of its prim, and its joint's token, or "" for the prim itself.
        clips: Path of each clip's SkelAnimation; "" where the clip moves prims only.
        rate: Time codes per second [1/s].
        first: Time code that is second 0 of the document.
        unit: Meters per unit.
        up: Up axis.
        beside: Paths of other skeletons of the stage, which are not read.
        is_read_otherwise: True if unit or up axis were said by the user, and are not those of the stage.
    """

    layer: bytes
    is_own: bool
    targets: tuple[tuple[str, str], ...]
    clips: tuple[str, ...]
    rate: float
    first: float
    unit: float
    up: str
    beside: tuple[str, ...]
    is_read_otherwise: bool


@contextmanager
def quietly(path: Path) -> Iterator[None]:
    """What USD reports as errors become one error of the file; its warnings are not printed.

    Raises:
        FileFormatError: with the first line that USD says.
    """
    delegate = UsdUtils.CoalescingDiagnosticDelegate()
    try:
        yield
    except MemoryError:
        raise FileFormatError(TOO_LARGE, path=path, cure=AGAIN) from None
    except Tf.ErrorException as error:
        said = said_by(error)
        if "std::bad_alloc" in said:
            raise FileFormatError(TOO_LARGE, path=path, cure=AGAIN) from None
        raise FileFormatError(f"USD cannot use this file: {said}.", path=path, cure=AGAIN) from None
    except UnicodeDecodeError:
        raise FileFormatError("A name in it is not UTF-8 text.", path=path, cure=AGAIN) from None
    except TypeError as error:
        if "to_python" not in str(error):
            raise
        raise FileFormatError(f"A value in it is of an unknown kind: {error}.", path=path, cure=AGAIN) from None
    finally:
        delegate.TakeUncoalescedDiagnostics()
        del delegate


_limit = threading.RLock()


@contextmanager
def within_memory(size: int) -> Iterator[None]:
    """Inside, this process may take so much more memory [bytes]; what asks for more gets an error at once.

    Only on Linux, which keeps to the limit and tells what is in use. It holds for all threads of the process.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    with _limit:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if soft != resource.RLIM_INFINITY and soft < used + size:
            yield
            return
        try:
            resource.setrlimit(resource.RLIMIT_AS, (used + size, hard))
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def said_by(error: Exception) -> str:
    """The first line that USD says of an error."""
    try:
        line = str(error).strip().partition("\n")[0].strip()
    except UnicodeDecodeError:  # it quotes bytes of the file
        return "it holds text that is not UTF-8"
    return re.sub(r"^Error in '.*?' at line .*? : ", "", line).strip("'.")[:300].strip()


def open_usd(path: Path, *, unit: float | None, up: str | None, last: UsdDocument | None = None) -> UsdDocument:
    """Open a .usd, .usda, .usdc or .usdz file as a figure document.

    Args:
        path: The file.
        unit: Meters per unit, to be believed instead of the stage's metersPerUnit.
        up: Up axis, to be believed instead of the stage's upAxis.
        last: What was opened before; given back if it is the same file, one layer, read in the same way.

    Raises:
        FileFormatError: if it cannot be read, or holds no figure.
    """
    raw = read_bytes(path, limit=MAX_BYTES)
    if last is not None and last.path == path and last.is_own and last.layer == raw and not (unit or up):
        return last
    with quietly(path), within_memory(MEMORY + 20 * len(raw)):
        stage = Usd.Stage.Open(str(path))
        if stage is None:
            raise FileFormatError("USD cannot open this file.", path=path, cure=AGAIN)
        is_split = _without_instances(path, stage) or len(stage.GetUsedLayers(False)) > 2  # itself, the session
        if is_split or path.suffix.lower() == ".usdz":
            stage, raw = _flattened(stage)
            return _Reading(path, stage, raw, False, unit, up).document()
        return _Reading(path, stage, raw, True, unit, up).document()


def _without_instances(path: Path, stage: Any) -> bool:
    """Make every instance a prim of its own; True if there was one. A session's edits, which no file gets."""
    stage.SetEditTarget(stage.GetSessionLayer())
    had = False
    for _ in range(100):  # instances within instances
        found = []
        for count, prim in enumerate(stage.Traverse()):
            if count > MAX_PRIMS:
                raise FileFormatError(f"The stage has more than {MAX_PRIMS} prims.", path=path, cure="Export less.")
            if prim.IsInstance():
                found.append(prim)
        if not found:
            break
        had = True
        for prim in found:
            prim.SetInstanceable(False)
    return had


def _apply_bindings(stage: Any, prims: list[Any]) -> None:
    """Apply SkelBindingAPI to prims that are bound to a skeleton without it, as older exporters leave them.

    Then OpenUSD also finds an animation that only the meshes of a skeleton name. The edits go to the session
    layer, which is never saved.
    """
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in prims:
        if prim.HasAPI(UsdSkel.BindingAPI) or not any(n.startswith("skel:") for n in prim.GetPropertyNames()):
            continue
        if not prim.IsInstanceProxy() and UsdSkel.BindingAPI.CanApply(prim):
            UsdSkel.BindingAPI.Apply(prim)


def _flattened(stage: Any) -> tuple[Any, bytes]:
    """A stage as one layer, and the bytes of that."""
    layer = stage.Flatten()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flat.usdc"
        layer.Export(str(file))
        return Usd.Stage.Open(layer), file.read_bytes()


class _Reading:
    """One stage on its way into a figure document."""

    def __init__(self, path: Path, stage: Any, layer: bytes, is_own: bool, unit: float | None, up: str | None) -> None:
        self.path, self.stage, self.layer, self.is_own = path, stage, layer, is_own
        stated = float(UsdGeom.GetStageMetersPerUnit(stage)), str(UsdGeom.GetStageUpAxis(stage)).lower()
        self.unit, self.up = unit or stated[0], up or stated[1]
        self.is_read_otherwise = (self.unit, self.up) != stated
        self.rate = float(stage.GetTimeCodesPerSecond())
        if not (math.isfinite(self.unit) and self.unit > 0.0 and math.isfinite(self.rate) and self.rate > 0.0):
            raise self.fault(f"metersPerUnit is {self.unit}, timeCodesPerSecond {self.rate}; both must be positive.")
        turn = rotations.multiply(rotations.conjugate(door_turn("y")), door_turn(self.up))
        top = {"name": "stage", "rotation": turn[[1, 2, 3, 0]].tolist(), "scale": [self.unit] * 3, "children": []}
        self.nodes: list[dict[str, Any]] = [top]
        self.targets: list[tuple[str, str]] = [("/", "")]
        self.node_of: dict[tuple[str, str], int] = {("/", ""): 0}
        content = {
            "asset": {"version": "2.0", "generator": "Poise"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": self.nodes,
            "skins": [],
            "animations": [],
            "meshes": [],
            "materials": [],
        }
        self.pack = Pack(content, b"")
        self.count = 0

    def fault(self, problem: str, cure: str = AGAIN) -> FileFormatError:
        return FileFormatError(problem, path=self.path, cure=cure)

    def document(self) -> UsdDocument:
        prims = list(self.stage.Traverse())
        _apply_bindings(self.stage, prims)
        skeletons = [p for p in prims if p.IsA(UsdSkel.Skeleton)]
        animations = [p for p in prims if p.IsA(UsdSkel.Animation)]
        skeletons.sort(key=lambda p: -len(UsdSkel.Skeleton(p).GetJointsAttr().Get() or ()))
        if skeletons:  # the figure is the one of most joints
            skins = {str(skeletons[0].GetPath()): self._skeleton(skeletons[0])}
            for mesh, index, skin in add_skins(self.pack, [p for p in prims if p.IsA(UsdSkel.Root)], skins):
                self.node((str(mesh.GetPath()), "//skin"), 0, {"name": mesh.GetName(), "mesh": index, "skin": skin})
        else:
            moving = [p for p in prims if p.IsA(UsdGeom.Xformable) and UsdGeom.Xformable(p).GetTimeSamples()]
            if not moving:
                raise self.fault(
                    "There is no figure in it: no UsdSkel skeleton and no prim that moves.",
                    "Export the character with its armature and its animation.",
                )
            for prim in prims:
                if prim.IsA(UsdGeom.Xformable):
                    self._prim(prim)
            for mesh, index in add_parts(self.pack, [p for p in prims if p.IsA(UsdGeom.Mesh)]):
                self.nodes[self._prim(mesh)]["mesh"] = index
        others = {str(UsdSkel.BindingAPI(p).GetInheritedAnimationSource().GetPath()) for p in skeletons[1:]}
        own = str(UsdSkel.BindingAPI(skeletons[0]).GetInheritedAnimationSource().GetPath()) if skeletons else ""
        animations = [
            p for p in animations if skeletons and (str(p.GetPath()) == own or str(p.GetPath()) not in others)
        ]
        first, clips = self._clips(str(skeletons[0].GetPath()) if skeletons else "", animations)
        beside = tuple(str(p.GetPath()) for p in skeletons[1:])
        content, data = self.pack.content, bytes(self.pack.data)
        content["buffers"] = [{"byteLength": len(data)}]
        return UsdDocument(
            self.path,
            content,
            (data,),
            b"",
            self.layer,
            self.is_own,
            tuple(self.targets),
            clips,
            self.rate,
            first,
            self.unit,
            self.up,
            beside,
            self.is_read_otherwise,
        )

    def node(self, key: tuple[str, str], parent: int, values: dict[str, Any]) -> int:
        """Index of a new node."""
        index = self.node_of[key] = len(self.nodes)
        self.nodes.append(values)
        self.targets.append(key)
        self.nodes[parent].setdefault("children", []).append(index)
        return index

    def _prim(self, prim: Any) -> int:
        """The node of a prim, made together with all above it."""
        key = (str(prim.GetPath()), "")
        if key in self.node_of:
            return self.node_of[key]
        above = self._prim(prim.GetParent())
        values: dict[str, Any] = {"name": str(prim.GetName())}
        if prim.IsA(UsdGeom.Xformable):
            values["matrix"] = _numbers(UsdGeom.Xformable(prim).GetLocalTransformation(Usd.TimeCode.EarliestTime()))
        return self.node(key, above, values)

    def _skeleton(self, prim: Any) -> int:
        """The joints of a skeleton as nodes and as a skin; the index of the skin."""
        skeleton, path = UsdSkel.Skeleton(prim), str(prim.GetPath())
        tokens = [str(t) for t in skeleton.GetJointsAttr().Get() or ()]
        if not 0 < len(tokens) <= MAX_JOINTS or len(set(tokens)) < len(tokens):
            raise self.fault(
                f"Skeleton {path} has {len(tokens)} joints; 1 to {MAX_JOINTS} of different names are read."
            )
        parents = list(UsdSkel.Topology(skeleton.GetJointsAttr().Get()).GetParentIndices())
        binds, rest = (_matrices(a.Get()) for a in (skeleton.GetBindTransformsAttr(), skeleton.GetRestTransformsAttr()))
        if not all(np.abs(found).max(initial=0.0) < LARGEST for found in (binds, rest)):
            raise self.fault(f"Skeleton {path} has transforms that are no finite numbers, or far too large.")
        if len(rest) != len(tokens) and len(binds) == len(tokens):
            above = [np.eye(4) if p < 0 else binds[p] for p in parents]
            if any(abs(float(np.linalg.det(a))) < 1e-30 for a in above):
                raise self.fault(f"Skeleton {path} has a bind transform without a size.")
            rest = np.array([b @ np.linalg.inv(a) for b, a in zip(binds, above)])
        if len(rest) != len(tokens):
            raise self.fault(f"Skeleton {path} has {len(tokens)} joints and {len(rest)} rest transforms.")
        names = [str(n) for n in skeleton.GetJointNamesAttr().Get() or ()]
        leaves = [t.rpartition("/")[2] for t in tokens]
        shown = names if len(set(names)) == len(tokens) else leaves if len(set(leaves)) == len(tokens) else tokens
        above = self._prim(prim)
        made: list[int] = []
        for j, token in enumerate(tokens):
            if parents[j] >= j:
                raise self.fault(f"Skeleton {path} lists joint {token!r} before its parent.")
            under = above if parents[j] < 0 else made[parents[j]]
            made.append(self.node((path, token), under, {"name": shown[j], "matrix": _numbers(rest[j])}))
        for token, place in _tips(prim):
            if (path, token) in self.node_of and len(place) == 3:
                name = f"{self.nodes[self.node_of[path, token]]['name']} tip"
                tip = {"name": name, "translation": place, "extras": {"poise": "end_site"}}
                self.node((path, f"{token}//tip"), self.node_of[path, token], tip)
        skin: dict[str, Any] = {"joints": made}
        if len(binds) == len(tokens) and (np.abs(np.linalg.det(binds)) > 1e-30).all():
            skin["inverseBindMatrices"] = self.pack.accessor(np.linalg.inv(binds).reshape(-1, 16))
        self.pack.content["skins"].append(skin)
        return len(self.pack.content["skins"]) - 1

    def _clips(self, skeleton: str, animations: list[Any]) -> tuple[float, tuple[str, ...]]:
        """The clips: one of each SkelAnimation, and of what moves prims. The first time code, and their paths."""
        of_prims = [
            (path, UsdGeom.Xformable(self.stage.GetPrimAtPath(path)))
            for path, token in self.targets
            if not token and path != "/" and self.stage.GetPrimAtPath(path).IsA(UsdGeom.Xformable)
        ]
        moved = [(path, prim, prim.GetTimeSamples()) for path, prim in of_prims if len(prim.GetTimeSamples()) > 1]
        times = [t for p in animations for a in _parts(p).values() for t in a.GetTimeSamples()]
        times += [t for _, _, own in moved for t in own]
        first = min(times, default=0.0)
        first = min(first, 0.0) if math.isfinite(first) else 0.0
        names = [str(p.GetName()) for p in animations]
        paths: list[str] = []
        for prim, name in zip(animations, names):
            path = str(prim.GetPath())
            clip: dict[str, Any] = {"name": name if names.count(name) < 2 else path, "channels": [], "samplers": []}
            self._joint_channels(prim, skeleton, clip, first)
            self._prim_channels(moved, clip, first)
            note = prim.GetCustomDataByKey("poise")
            if isinstance(note, str) and len(note) < 2_000_000:
                clip["extras"] = {"poise": _note(note)}
            if clip["channels"]:
                self.pack.content["animations"].append(clip)
                paths.append(path)
        if not paths and moved:
            name = self.stage.GetDefaultPrim().GetName() if self.stage.GetDefaultPrim() else "motion"
            clip = {"name": str(name), "channels": [], "samplers": []}
            self._prim_channels(moved, clip, first)
            self.pack.content["animations"].append(clip)
            paths.append("")
        return first, tuple(paths)

    def _joint_channels(self, prim: Any, skeleton: str, clip: dict[str, Any], first: float) -> None:
        tokens = [str(t) for t in UsdSkel.Animation(prim).GetJointsAttr().Get() or ()]
        parts = _parts(prim)
        begins = min((t for a in parts.values() for t in a.GetTimeSamples()), default=max(first, 0.0))
        for part, attribute in parts.items():
            codes = attribute.GetTimeSamples() or [begins]
            values = [np.array(attribute.Get(c) if attribute.HasValue() else (), dtype=np.float64) for c in codes]
            self._count(len(codes) * len(tokens), prim)
            if not any(len(v) for v in values):
                continue
            wrong = next((v for v in values if len(v) != len(tokens)), None)
            if wrong is not None:
                raise self.fault(f"{attribute.GetPath()} has {len(wrong)} values for {len(tokens)} joints.")
            numbers = np.array(values)
            at = self.pack.accessor((np.array(codes) - first) / self.rate)
            for k, token in enumerate(tokens):
                if (skeleton, token) in self.node_of:
                    self._channel(clip, self.node_of[skeleton, token], part, at, numbers[:, k])

    def _prim_channels(self, moved: list[Any], clip: dict[str, Any], first: float) -> None:
        for path, prim, codes in moved:
            self._count(len(codes), prim)
            matrices = np.array([np.array(prim.GetLocalTransformation(c)) for c in codes])
            scales = np.linalg.norm(matrices[:, :3, :3], axis=2)
            axes = matrices[:, :3, :3] / np.maximum(scales, 1e-30)[:, :, None]
            off = np.abs(axes @ axes.transpose(0, 2, 1) - np.eye(3)).max()
            if not off <= 1e-3 or np.linalg.det(axes).min() < 0.0:
                raise self.fault(f"Prim {path} is mirrored or sheared.", "Apply its transform and export again.")
            at = self.pack.accessor((np.array(codes) - first) / self.rate)
            turns = rotations.continuous(rotations.from_matrix(axes.transpose(0, 2, 1)))
            parts = {"translation": matrices[:, 3, :3], "rotation": turns[:, [1, 2, 3, 0]], "scale": scales}
            for part, values in parts.items():
                self._channel(clip, self.node_of[path, ""], part, at, values)

    def _channel(self, clip: dict[str, Any], node: int, part: str, at: int, values: Array) -> None:
        values = values[:, :4] if part == "rotation" else values[:, :3]
        clip["samplers"].append({"input": at, "interpolation": "LINEAR", "output": self.pack.accessor(values)})
        clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": part}})
        parts = self.nodes[node]
        if "matrix" in parts:  # an animated node states its parts
            matrix = np.array(parts.pop("matrix")).reshape(4, 4)
            scale = np.linalg.norm(matrix[:3, :3], axis=1) * (-1.0 if np.linalg.det(matrix[:3, :3]) < 0.0 else 1.0)
            axes = matrix[:3, :3].T / np.where(np.abs(scale) > 1e-30, scale, 1e-30)
            if not np.abs(axes.T @ axes - np.eye(3)).max() <= 1e-3:
                raise self.fault(f"{parts['name']!r} is sheared at rest.", "Apply its transform.")
            parts |= {
                "translation": matrix[3, :3].tolist(),
                "rotation": rotations.from_matrix(axes)[[1, 2, 3, 0]].tolist(),
                "scale": scale.tolist(),
            }

    def _count(self, numbers: int, prim: Any) -> None:
        self.count += numbers
        if self.count > MAX_NUMBERS:
            raise self.fault(f"The clips hold more than {MAX_NUMBERS} values ({prim}).", "Export shorter clips.")


def _parts(prim: Any) -> dict[str, Any]:
    """The three attributes of a SkelAnimation, by the name of their channel."""
    animation = UsdSkel.Animation(prim)
    return {
        "translation": animation.GetTranslationsAttr(),
        "rotation": animation.GetRotationsAttr(),
        "scale": animation.GetScalesAttr(),
    }


def _tips(prim: Any) -> list[tuple[str, list[float]]]:
    """Ends of chains that Poise noted beside a skeleton: joint and place in its frame."""
    note = _note(prim.GetCustomDataByKey("poise"))
    found = note.get("end_sites")
    rows = found if isinstance(found, list) else []
    return [
        (str(row[0]), [float(n) for n in row[1]])
        for row in rows
        if isinstance(row, list)
        and len(row) == 2
        and isinstance(row[1], list)
        and all(isinstance(n, int | float) and math.isfinite(n) for n in row[1])
    ]


def _note(text: Any) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _matrices(values: Any) -> Array:
    try:
        return np.array(values if values is not None else (), dtype=np.float64).reshape(-1, 4, 4)
    except (TypeError, ValueError) as error:
        raise InvalidValue("A transform of the stage is not 4 × 4 numbers. Export it again.") from error


def _numbers(matrix: Any) -> list[float]:
    return _matrices([matrix]).reshape(16).tolist()
