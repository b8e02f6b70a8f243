"""A glTF of another size: the whole scene under scaled nodes, so that bones, skin and every clip grow together."""

from __future__ import annotations

import copy
from dataclasses import replace

from poise.io.gltf_document import GltfDocument
from poise.io.gltf_tree import node_parents


def sized(document: GltfDocument, factor: float) -> GltfDocument:
    """The file `factor` times as large: above each node without a parent stands a new one that scales it.

    No other number changes: a skinned vertex follows its joints' places in the scene, which the new node scales, and
    clips move the nodes below it. `raw` is empty, since no file has these bytes.
    """
    content = copy.deepcopy(document.json)
    nodes = content["nodes"]
    above: dict[int, int] = {}
    for index, parent in enumerate(node_parents(document)):
        if parent < 0:
            above[index] = len(nodes)
            nodes.append({"name": f"{factor:g} times as large", "scale": [factor] * 3, "children": [index]})
    for scene in content.get("scenes", []):
        if "nodes" in scene:
            scene["nodes"] = [above.get(n, n) for n in scene["nodes"]]
    return replace(document, json=content, raw=b"")
