"""Which nodes of a glTF scene are joints, and how the nodes above them and their scales are folded in.

A node's place in its parent is T R S. Poise's joints have no scale: with uniform scales, the translation of joint j is
c_p t_j, where c_p is the product of all scales from the scene down to its parent p.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.typing import Array, Flags
from poise.io.gltf_document import GltfDocument
from poise.io.gltf_hanging import Hanging

MAX_JOINTS = 4000
LEAST_SKINNED = 4
"""A figure among other skeletons has at least this many skinned joints."""
MAX_DEPTH = 500
"""No creature has more joints, and none hangs on more ancestors."""

UNIFORM, MOST_UNEVEN = 1e-3, 1.5
"""Scales of the three axes that agree this well, relatively, count as one. Above the skeleton the largest may be so
many times the smallest; then their mean is used [1]."""


@dataclass(frozen=True)
class GltfTree:
    """The joints of a scene and what is above them.

    Attributes:
        nodes: Node index of each joint, parents first.
        parents: Joint index of each joint's parent, -1 for the root.
        names: Name of each joint; "node 7" where the file gives none.
        translations, turns, scales: T, R (wxyz) and S of each joint's node at rest, shapes (J, 3), (J, 4), (J, 3).
        above_place, above_turn, above_scale: The nodes above the root as one move, turn and uniform scale.
        above_mirrors: True if they mirror what is below, too: first of all along x.
        above_names: Their names, from the scene down.
        end_sites: Joint index, node index, place of nodes that Poise wrote as tips of chains.
        beside: Names of other skeletons in the file, which are not read.
        uneven, above_uneven: Names of joints, and of nodes above them, whose scale is not the same along all axes.
        skeleton_parents: Joint each joint hangs on in the skeleton: `parents`, except for detached feet and the like.
        hanging: What was found to hang on another bone than the file says, and why.
        skin: Vertices each joint moves, by weight, shape (J,); None where no skin can be read.
    """

    nodes: tuple[int, ...]
    parents: npt.NDArray[np.int64]
    names: tuple[str, ...]
    translations: Array
    turns: Array
    scales: Array
    above_place: Array
    above_turn: Array
    above_scale: float
    above_mirrors: bool = False
    above_names: tuple[str, ...] = ()
    end_sites: tuple[tuple[int, int, Array], ...] = ()
    uneven: tuple[str, ...] = field(default=())
    beside: tuple[str, ...] = ()
    above_uneven: tuple[str, ...] = ()
    skeleton_parents: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    hanging: tuple[Hanging, ...] = ()
    skin: Array | None = None

    def __post_init__(self) -> None:
        if len(self.skeleton_parents) != len(self.parents):
            object.__setattr__(self, "skeleton_parents", self.parents)

    def with_hanging(self, hanging: tuple[Hanging, ...]) -> GltfTree:
        """The same joints, some of them on other bones, in an order that has both parents before each joint."""
        parents = self.parents.copy()
        for found in hanging:
            parents[found.joint] = found.bone
        order: list[int] = []
        waiting = list(range(len(parents)))
        while waiting:
            ready = next(j for j in waiting if self.parents[j] not in waiting and parents[j] not in waiting)
            waiting.remove(ready)
            order.append(ready)
        place = np.argsort(order)
        found = tuple(replace(h, joint=int(place[h.joint]), bone=int(place[h.bone])) for h in hanging)
        return replace(self.in_order(order), skeleton_parents=_renamed(parents, order), hanging=found)

    def in_order(self, order: list[int]) -> GltfTree:
        """The same tree, its joints listed in another order; nothing of `hanging` is kept."""
        place = np.argsort(order)
        return replace(
            self,
            nodes=tuple(self.nodes[j] for j in order),
            parents=_renamed(self.parents, order),
            names=tuple(self.names[j] for j in order),
            translations=self.translations[order],
            turns=self.turns[order],
            scales=self.scales[order],
            end_sites=tuple((int(place[j]), node, at) for j, node, at in self.end_sites),
            skeleton_parents=np.zeros(0, dtype=np.int64),
            hanging=(),
            skin=None if self.skin is None else self.skin[order],
        )


def _renamed(parents: npt.NDArray[np.int64], order: list[int]) -> npt.NDArray[np.int64]:
    """Parents of the joints in another order, by their new indices."""
    place = np.argsort(order)
    return np.array([-1 if parents[j] < 0 else place[parents[j]] for j in order], dtype=np.int64)


def node_parents(document: GltfDocument) -> list[int]:
    """Parent of each node, -1 for none.

    Raises:
        FileFormatError: if a node has two parents or is its own ancestor.
    """
    nodes = document.items("nodes")
    parents = [-1] * len(nodes)
    for index, node in enumerate(nodes):
        for child in node.get("children", []):
            if not 0 <= child < len(nodes):
                raise document.fault(f"Node {index} has child {child!r}; there are {len(nodes)} nodes.")
            if parents[child] >= 0 or child == index:
                raise document.fault(f"Node {child} has two parents.")
            parents[child] = index
    reached = 0
    stack = [(i, 0) for i, p in enumerate(parents) if p < 0]
    while stack:
        reached += 1
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise document.fault(f"Node {node} has more than {MAX_DEPTH} ancestors.", "Check what was exported.")
        stack += [(child, depth + 1) for child in nodes[node].get("children", [])]
    if reached != len(nodes):
        raise document.fault("The nodes run in a circle.")
    return parents


def animated_nodes(document: GltfDocument) -> set[int]:
    """Every node that some animation turns, moves or scales."""
    targets = [c.get("target", {}) for a in document.items("animations") for c in a.get("channels", [])]
    return {t["node"] for t in targets if "node" in t and t.get("path") in ("translation", "rotation", "scale")}


def humanoid_nodes(document: GltfDocument) -> set[int]:
    """The bones that a VRM, or a VRM animation, names as those of a person. A clip may move few of them, and a figure
    whose parts are meshes on its bones has no skin.
    """
    known: Any = document.json.get("extensions", {})
    named: set[int] = set()
    for key in ("VRMC_vrm_animation", "VRMC_vrm", "VRM"):
        bones = known
        for part in (key, "humanoid", "humanBones"):
            bones = bones.get(part) if isinstance(bones, dict) else None
        found = bones.values() if isinstance(bones, dict) else bones if isinstance(bones, list) else ()
        named |= {n for bone in found if isinstance(bone, dict) and type(n := bone.get("node")) is int}
    return {n for n in named if 0 <= n < len(document.items("nodes"))}


def find_tree(document: GltfDocument) -> GltfTree:
    """The one skeleton of a file: all skins' joints, or without skins the animated nodes, and what lies between.

    Raises:
        FileFormatError: if there is no skeleton, there are several of a size apart, or it is squashed as a
            whole.
    """
    nodes, parents = document.items("nodes"), node_parents(document)
    animated = animated_nodes(document)
    if any(n >= len(nodes) or n < 0 for n in animated):
        raise document.fault(f"An animation moves node {max(animated)}; there are {len(nodes)} nodes.")
    wanted: set[int] = set()
    for skin in document.items("skins"):
        if not skin.get("joints"):
            raise document.fault("A skin has no joints.")
        for joint in skin["joints"]:
            document.item("nodes", joint)
            wanted.add(joint)
    wanted |= _beside(animated, wanted, parents)
    if not wanted:
        # parts of a figure without a skin are meshes themselves; where they are apart, they are a scene around it
        in_one_tree = len({_chain(parents, n)[0] for n in animated}) == 1
        wanted = animated if in_one_tree else {n for n in animated if "mesh" not in nodes[n]} or animated
        # a moving node without parent and children is an expression of a face, a look target or a camera
        wanted = {n for n in wanted if parents[n] >= 0 or nodes[n].get("children")} or wanted
        wanted |= _carried(nodes, wanted) | humanoid_nodes(document)
    if not wanted:
        raise document.fault(
            "There is no skeleton: no skin and no animated node.",
            "Export the armature and its animation with the model.",
        )
    if len(wanted) > MAX_JOINTS:
        raise document.fault(
            f"There are {len(wanted)} joints; up to {MAX_JOINTS} are read.", "Check what was exported."
        )
    chains = {n: _chain(parents, n) for n in wanted}  # from the scene down to the node itself
    chains, beside = _largest(document, chains)
    top = 0
    shortest = min(chains.values(), key=len)
    while top < len(shortest) and all(len(c) > top and c[top] == shortest[top] for c in chains.values()):
        top += 1
    if top == 0:
        roots = sorted({c[0] for c in chains.values()})
        raise document.fault(
            f"There are {len(roots)} skeletons apart: {', '.join(_name(nodes, r) for r in roots[:8])}.",
            "Export one character at a time, or put them under one node.",
        )
    depth = top - 1
    while depth > 0 and any(n in animated for n in shortest[:depth]):
        depth -= 1
    kept = {n for chain in chains.values() for n in chain[depth:]}
    order = _order(document, kept, parents, shortest[depth])
    place = {n: j for j, n in enumerate(order)}
    local = [node_local(document, n) for n in order]
    above = shortest[:depth]
    above_place, above_turn, above_scale, above_mirrors = _fold(document, above)
    tips = [
        (place[parents[n]], n, node_local(document, n)[0])
        for n in range(len(nodes))
        if parents[n] in place and n not in place and _is_tip(nodes[n])
    ]
    scales = np.array([s for _, _, s in local])
    names = tuple(_name(nodes, n) for n in order)
    above_scales = np.array([node_local(document, n)[2] for n in above]).reshape(-1, 3)
    return GltfTree(
        nodes=tuple(order),
        parents=np.array([place.get(parents[n], -1) for n in order], dtype=np.int64),
        names=names,
        translations=np.array([t for t, _, _ in local]),
        turns=np.array([r for _, r, _ in local]),
        scales=scales,
        above_place=above_place,
        above_turn=above_turn,
        above_scale=above_scale,
        above_mirrors=above_mirrors,
        above_names=tuple(_name(nodes, n) for n in above),
        end_sites=tuple(tips),
        uneven=tuple(names[k] for k in np.flatnonzero(~are_even(scales, UNIFORM))),
        beside=beside,
        above_uneven=tuple(_name(nodes, above[k]) for k in np.flatnonzero(~are_even(np.abs(above_scales), UNIFORM))),
    )


def are_even(scales: Array, within: float) -> Flags:
    """Where the scales of the three axes (..., 3) agree, relatively; one axis that is mirrored does not."""
    return np.ptp(scales, axis=-1) <= within * np.abs(scales).max(axis=-1)


def _largest(document: GltfDocument, chains: dict[int, list[int]]) -> tuple[dict[int, list[int]], tuple[str, ...]]:
    """The joints of the one figure among several skeletons, and the names of the others.

    It has twice as many skinned joints as any other, or the others are copies of it, each with a clip of its own.
    """
    nodes = document.items("nodes")
    skinned = {joint for skin in document.items("skins") for joint in skin["joints"]}
    of: dict[int, list[int]] = {}
    for node in sorted(chains):
        of.setdefault(chains[node][0], []).append(node)
    if len(of) < 2:
        return chains, ()
    sizes = {root: sum(n in skinned for n in own) for root, own in of.items()}
    first = max(of, key=lambda root: (sizes[root], -root))
    rest = [root for root in of if root != first]
    names = {root: [_name(nodes, n) for n in own if n in skinned] for root, own in of.items()}
    if sizes[first] < LEAST_SKINNED or any(
        2 * sizes[root] > sizes[first] and names[root] != names[first] for root in rest
    ):
        return chains, ()
    return {n: chains[n] for n in of[first]}, tuple(_name(nodes, root) for root in rest)


def _carried(nodes: list[dict[str, Any]], moved: set[int]) -> set[int]:
    """Bones that a clip does not move themselves: nodes below those it moves that hold nothing but a place."""
    found: set[int] = set()
    waiting = [(n, False) for n in moved]
    while waiting:
        node, is_new = waiting.pop()
        if is_new and (node in found or _OTHER_THAN_PLACE & set(nodes[node]) or _only_places_a_mesh(nodes, node)):
            continue
        if is_new:
            found.add(node)
        waiting += [(child, True) for child in nodes[node].get("children", []) if not _is_tip(nodes[child])]
    return found


_OTHER_THAN_PLACE = {"mesh", "camera", "light", "extensions", "weights"}


def _only_places_a_mesh(nodes: list[dict[str, Any]], node: int) -> bool:
    """Whether a node leads to one mesh and to nothing else: a part of the bone above."""
    while len(below := nodes[node].get("children", [])) == 1 and "mesh" not in nodes[node]:
        node = below[0]
    return "mesh" in nodes[node] and not below


def _beside(animated: set[int], joints: set[int], parents: list[int]) -> set[int]:
    """Animated nodes that are bones though no skin names them: they hang on a joint or on what moves joints.

    A file may hold the skin of a head alone, with the clip of the whole body.
    """
    moved = animated | joints
    above = {a for n in joints for a in _chain(parents, n)} & moved
    return {n for n in animated - joints if above & set(_chain(parents, n)[:-1])}


def _order(document: GltfDocument, kept: set[int], parents: list[int], root: int) -> list[int]:
    """The first skin's own order, else the file's, else depth first: the first that has parents before children."""
    skins = document.items("skins")
    for order in ([n for n in skins[0]["joints"] if n in kept] if skins else [], sorted(kept)):
        place = {n: i for i, n in enumerate(order)}
        if set(order) == kept and order[0] == root and all(place[parents[n]] < place[n] for n in order[1:]):
            return order
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [c for c in reversed(document.items("nodes")[node].get("children", [])) if c in kept]
    return order


def node_local(document: GltfDocument, index: int) -> tuple[Array, Array, Array]:
    """T (3,), R (4,) wxyz and S (3,) of a node at rest; of its matrix, if it has one.

    One that mirrors does so along all three axes: with a uniform scale, any mirror is that and a turn.

    Raises:
        FileFormatError: if a number is missing or not finite, or the matrix shears.
    """
    node = document.item("nodes", index)
    name = _name(document.items("nodes"), index)
    if "matrix" in node:
        matrix = _numbers(document, name, "matrix", node["matrix"], 16).reshape(4, 4).T
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        if scale.min() < 1e-12:
            raise document.fault(f"The matrix of node {name!r} is flat.")
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            scale = -scale
        axes = matrix[:3, :3] / scale
        if np.abs(axes.T @ axes - np.eye(3)).max() > 1e-3:
            raise document.fault(f"The matrix of node {name!r} shears.", "Apply all transforms and export again.")
        return matrix[:3, 3], rotations.from_matrix(axes), scale
    place = _numbers(document, name, "translation", node.get("translation", [0.0, 0.0, 0.0]), 3)
    turn = _numbers(document, name, "rotation", node.get("rotation", [0.0, 0.0, 0.0, 1.0]), 4)
    scale = _numbers(document, name, "scale", node.get("scale", [1.0, 1.0, 1.0]), 3)
    length = float(np.linalg.norm(turn))
    if abs(length - 1.0) > 0.1:
        raise document.fault(f"The rotation of node {name!r} has length {length:.3g}, not 1.")
    return place, rotations.normalize(turn[[3, 0, 1, 2]]), scale


def _numbers(document: GltfDocument, name: str, key: str, values: Any, count: int) -> Array:
    if not isinstance(values, list) or len(values) != count or not all(type(v) in (int, float) for v in values):
        raise document.fault(f"The {key} of node {name!r} is not {count} numbers.")
    if not all(abs(v) < 1e12 for v in values):
        raise document.fault(f"The {key} of node {name!r} holds a number of no sensible size.")
    return np.array(values, dtype=np.float64)


def _fold(document: GltfDocument, above: list[int]) -> tuple[Array, Array, float, bool]:
    """The nodes above the root as one place, turn and uniform scale, and whether they mirror along x before all that.

    An axis is turned round by a negative scale. Two such axes are half a turn about the third, and any mirror is one
    along x with a turn. A turn below a mirror comes out of it as `mirrored` gives it.
    """
    place, turn, scale, mirrors = np.zeros(3), rotations.IDENTITY, 1.0, False
    nodes = document.items("nodes")
    for node in above:
        moved, turned, scaled = node_local(document, node)
        if np.abs(scaled).max() > MOST_UNEVEN * np.abs(scaled).min() or np.abs(scaled).min() <= 0.0:
            raise document.fault(
                f"Node {_name(nodes, node)!r} above the skeleton scales unevenly, by {scaled.tolist()}.",
                "Apply its scale in the program it came from, and export again.",
            )
        signs = np.sign(scaled)
        is_mirror = float(np.prod(signs)) < 0.0
        # diag(signs) = half turn @ diag(-1, 1, 1) if it mirrors, a half turn or nothing if not
        half_turn = rotations.from_matrix(np.diag(signs * [-1.0, 1.0, 1.0] if is_mirror else signs))
        if mirrors:
            moved, turned = mirrored(moved, turned)
            half_turn = mirrored(np.zeros(3), half_turn)[1]
        place = place + scale * rotations.rotate(turn, moved)
        turn = rotations.multiply(turn, rotations.multiply(turned, half_turn))
        scale = scale * float(np.mean(np.abs(scaled)))
        mirrors ^= is_mirror
    return place, turn, scale, mirrors


def mirrored(moved: Array, turned: Array) -> tuple[Array, Array]:
    """Places (..., 3) and turns (..., 4) as a mirror along x shows them."""
    return moved * [-1.0, 1.0, 1.0], turned * [1.0, 1.0, -1.0, -1.0]


def _chain(parents: list[int], node: int) -> list[int]:
    chain = [node]
    while (node := parents[node]) >= 0:
        chain.append(node)
    return chain[::-1]


def _name(nodes: list[dict[str, Any]], index: int) -> str:
    name = nodes[index].get("name")
    return name if isinstance(name, str) and name else f"node {index}"


def _is_tip(node: dict[str, Any]) -> bool:
    extras = node.get("extras")
    return isinstance(extras, dict) and extras.get("poise") == "end_site"
