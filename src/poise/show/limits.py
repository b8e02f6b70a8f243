"""How large a pack may be (docs/scene_format.md): held by whoever writes one and by whoever reads one."""

from __future__ import annotations

from typing import Any

from poise.core.errors import InvalidValue

MOST_BODIES = 4096
"""Bodies of all tracks together."""

MOST_POSES = 40_000_000
"""Frames times bodies of all tracks together."""

MOST_VERTICES = 4_000_000
"""Vertices of all skins and meshes together."""


def require_within(header: dict[str, Any]) -> None:
    """Refuse a header that describes more than a page should hold.

    Args:
        header: Of a pack.

    Raises:
        InvalidValue: if it has too many bodies, poses or vertices.
    """
    bodies = sum(len(track["bodies"]) for track in header["tracks"])
    frames = 0 if header["times"] is None else int(header["times"]["shape"][0])
    meshes = [skin for track in header["tracks"] for skin in track["skins"]]
    meshes += [shape for track in header["tracks"] for body in track["bodies"] for shape in body["shapes"]]
    meshes += header["terrain"]
    vertices = sum(int(mesh["vertices"]["shape"][0]) for mesh in meshes if "vertices" in mesh)
    for name, seen, most in (
        ("bodies", bodies, MOST_BODIES),
        ("poses (frames times bodies)", frames * bodies, MOST_POSES),
        ("vertices", vertices, MOST_VERTICES),
    ):
        if seen > most:
            raise InvalidValue(
                f"A scene of {seen} {name} is too large for a page; at most {most} are allowed. Show fewer clips "
                "together, a part of them, or a simpler mesh."
            )
