"""Write a figure's motion as BVH: Y up, centimeters, Z X Y order."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import Skeleton

Array = npt.NDArray[np.float64]


def _hierarchy(skeleton: Skeleton, joint: int, depth: int) -> list[str]:
    pad = "  " * depth
    offset = " ".join(f"{100.0 * x:.4f}" for x in (skeleton.offsets[joint] if joint else np.zeros(3)))
    channels = "Zrotation Xrotation Yrotation"
    lines = [f"{pad}{'JOINT' if joint else 'ROOT'} {skeleton.names[joint]}", f"{pad}{{", f"{pad}  OFFSET {offset}"]
    lines.append(f"{pad}  CHANNELS " + (f"3 {channels}" if joint else f"6 Xposition Yposition Zposition {channels}"))
    for child in skeleton.children[joint]:
        lines += _hierarchy(skeleton, child, depth + 1)
    for site in skeleton.end_sites:
        if site.joint == joint:
            tip = " ".join(f"{100.0 * x:.4f}" for x in site.offset)
            lines += [f"{pad}  End Site", f"{pad}  {{", f"{pad}    OFFSET {tip}", f"{pad}  }}"]
    return [*lines, f"{pad}}}"]


def channels(translations: Array, local: Array) -> Array:
    """Channel values as the file holds them, shape (F, 3 + 3 J): root [cm], then Z X Y angles [deg], unwrapped."""
    angles = rotations.to_euler("ZXY", local)
    angles = np.degrees(np.unwrap(np.radians(angles), axis=0))
    return np.concatenate([100.0 * translations[:, 0], angles.reshape(len(local), -1)], axis=1)


def text(skeleton: Skeleton, values: Array, fps: int) -> str:
    """The file's text for channel values (F, 3 + 3 J)."""
    lines = [
        "HIERARCHY",
        *_hierarchy(skeleton, 0, 0),
        "MOTION",
        f"Frames: {len(values)}",
        f"Frame Time: {1.0 / fps:.10f}",
    ]
    # + 0.0 turns -0.0 into 0.0
    lines += [" ".join(f"{x:.4f}" for x in np.round(row, 4) + 0.0) for row in values]
    return "\n".join(lines) + "\n"


def write(path: Path, content: str) -> None:
    """Write beside, then rename: a file is never half written."""
    beside = path.with_suffix(".part")
    beside.write_text(content, encoding="utf-8", newline="\n")
    os.replace(beside, path)
