"""Strips of stick figures, to look at what the numbers do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from poise.core import rotations
from poise.core.skeleton import Skeleton, world_pose

Array = npt.NDArray[np.float64]

SHADES = {"Left": (214, 84, 60), "Right": (52, 104, 190), "": (60, 60, 66)}


def strip(
    path: Path,
    skeleton: Skeleton,
    translations: Array,
    local: Array,
    frames: list[int],
    *,
    side: bool = True,
    columns: int = 10,
    size: int = 220,
    span: float = 1.9,
) -> None:
    """One panel a frame, seen from the figure's left (`side`) or from the front, each centered on the root."""
    positions, orientations = world_pose(skeleton, translations, local)
    rows = -(-len(frames) // columns)
    image = Image.new("RGB", (columns * size, rows * size), "white")
    draw = ImageDraw.Draw(image)
    scale = size / span
    for n, f in enumerate(frames):
        left, top = (n % columns) * size, (n // columns) * size
        middle = positions[f, 0]

        def at(p: Array, left: int = left, top: int = top, middle: Array = middle) -> tuple[float, float]:
            across = (p[2] - middle[2]) if side else (p[0] - middle[0])
            return left + size / 2 + scale * across, top + size - 18 - scale * p[1]

        ground = top + size - 18
        draw.line([(left, ground), (left + size - 4, ground)], fill=(170, 170, 170))
        for mark in np.arange(np.floor(middle[2] - span), middle[2] + span, 0.25) if side else ():
            x = at(np.array([0.0, 0.0, mark]))[0]
            if left < x < left + size - 4:
                draw.line([(x, ground), (x, ground + 4)], fill=(120, 120, 120))
        bones = [(int(p), positions[f, j], skeleton.names[j]) for j, p in enumerate(skeleton.parents) if p >= 0]
        bones += [
            (
                s.joint,
                positions[f, s.joint] + rotations.rotate(orientations[f, s.joint], s.offset),
                skeleton.names[s.joint],
            )
            for s in skeleton.end_sites
        ]
        order = {"Right": 0, "": 1, "Left": 2}
        kind = lambda name: next((k for k in ("Left", "Right") if name.startswith(k)), "")  # noqa: E731
        for parent, tip, name in sorted(bones, key=lambda b: order[kind(b[2])]):
            draw.line([at(positions[f, parent]), at(tip)], fill=SHADES[kind(name)], width=4)
        draw.text((left + 4, top + 2), str(f), fill=(90, 90, 90))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)
