"""BVH files built by hand for the tests, and a slow reading of them to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

SIX = "Xposition Yposition Zposition Zrotation Xrotation Yrotation"
THREE = "Zrotation Xrotation Yrotation"


class Joint(NamedTuple):
    name: str
    parent: str
    offset: tuple[float, float, float]
    channels: str = THREE
    tip: tuple[float, float, float] | None = None


FIGURE = (
    Joint("Hips", "", (0, 90, 0), SIX),
    Joint("LeftUpLeg", "Hips", (10, -5, 0)),
    Joint("LeftLeg", "LeftUpLeg", (0, -42, 0)),
    Joint("LeftFoot", "LeftLeg", (0, -40, 0), tip=(0, -5, 15)),
    Joint("RightUpLeg", "Hips", (-10, -5, 0)),
    Joint("RightLeg", "RightUpLeg", (0, -42, 0)),
    Joint("RightFoot", "RightLeg", (0, -40, 0), tip=(0, -5, 15)),
    Joint("Spine", "Hips", (0, 25, 0)),
    Joint("Head", "Spine", (0, 30, 0), tip=(0, 20, 0)),
    Joint("LeftArm", "Spine", (18, 20, 0)),
    Joint("LeftForeArm", "LeftArm", (28, 0, 0)),
    Joint("LeftHand", "LeftForeArm", (25, 0, 0), tip=(15, 0, 0)),
)
"""Most of a small person in centimetres, Y up, in T-pose."""

PERSON = (
    *FIGURE,
    Joint("RightArm", "Spine", (-18, 20, 0)),
    Joint("RightForeArm", "RightArm", (-28, 0, 0)),
    Joint("RightHand", "RightForeArm", (-25, 0, 0), tip=(-15, 0, 0)),
)
"""The whole of it."""


def changed(joints: Sequence[Joint], which: str, **new: object) -> tuple[Joint, ...]:
    """The same joints with another value for one of them."""
    return tuple(j._replace(**new) if j.name == which else j for j in joints)  # pyright: ignore[reportArgumentType]


def scaled(joints: Sequence[Joint], k: float) -> tuple[Joint, ...]:
    def times(v: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        return None if v is None else tuple(k * x for x in v)  # pyright: ignore[reportReturnType]

    return tuple(j._replace(offset=times(j.offset), tip=times(j.tip)) for j in joints)  # pyright: ignore[reportArgumentType]


def channel_names(joints: Sequence[Joint]) -> list[str]:
    return [c for j in joints for c in j.channels.split()]


def hierarchy(joints: Sequence[Joint] = FIGURE) -> str:
    lines = ["HIERARCHY"]

    def block(joint: Joint, depth: int) -> None:
        tab = "\t" * depth
        lines.extend([f"{tab}{'JOINT' if joint.parent else 'ROOT'} {joint.name}", f"{tab}{{"])
        lines.append(f"{tab}\tOFFSET {' '.join(f'{x:.6g}' for x in joint.offset)}")
        lines.append(f"{tab}\tCHANNELS {len(joint.channels.split())} {joint.channels}".rstrip())
        for child in joints:
            if child.parent == joint.name:
                block(child, depth + 1)
        if joint.tip is not None:
            lines.extend(
                [f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\tOFFSET {' '.join(f'{x:.6g}' for x in joint.tip)}"]
            )
            lines.append(f"{tab}\t}}")
        lines.append(f"{tab}}}")

    block(joints[0], 0)
    return "\n".join(lines) + "\n"


def values(joints: Sequence[Joint] = FIGURE, frames: int = 5, seed: int = 0) -> np.ndarray:
    """A wandering root and joints that turn a little, four digits after the point."""
    draw = np.random.default_rng(seed)
    names = channel_names(joints)
    table = draw.uniform(-20.0, 20.0, (frames, len(names)))
    column = 0
    for joint in joints:
        for channel in joint.channels.split():
            if channel.lower().endswith("position"):
                axis = "xyz".index(channel[0].lower())
                table[:, column] = joint.offset[axis] + draw.uniform(-1.0, 1.0, frames)
            column += 1
    return table.round(4)


def motion_text(table: np.ndarray, *, frames: object = None, time: str = "0.0333333") -> str:
    rows = [" ".join(f"{x:.4f}" for x in row) for row in table]
    return f"MOTION\nFrames: {len(table) if frames is None else frames}\nFrame Time: {time}\n" + "\n".join(rows) + "\n"


def bvh(joints: Sequence[Joint] = FIGURE, table: np.ndarray | None = None, **more: object) -> str:
    table = values(joints) if table is None else table
    return hierarchy(joints) + motion_text(table, **more)  # pyright: ignore[reportArgumentType]


def put(folder: Path, text: str | bytes, name: str = "clip.bvh") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def slow_positions(joints: Sequence[Joint], table: np.ndarray, *, adds: bool = False) -> np.ndarray:
    """World positions (F, J, 3) in file units and axes, joint by joint and matrix by matrix."""
    result = np.zeros((len(table), len(joints), 3))
    for f, row in enumerate(table):
        pose: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        column = 0
        for k, joint in enumerate(joints):
            place, turn = np.array(joint.offset, dtype=float), np.eye(3)
            for channel in joint.channels.split():
                axis = "xyz".index(channel[0].lower())
                if channel.lower().endswith("position"):
                    place[axis] = row[column] + (joint.offset[axis] if adds and joint.parent else 0.0)
                else:
                    turn = turn @ about(axis, row[column])
                column += 1
            at, to = pose.get(joint.parent, (np.zeros(3), np.eye(3)))
            pose[joint.name] = (at + to @ place, to @ turn)
            result[f, k] = pose[joint.name][0]
    return result


def about(axis: int, degrees: float) -> np.ndarray:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    turn = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn[i, i] = turn[j, j] = c
    turn[i, j], turn[j, i] = -s, s
    return turn


def z_up(positions: np.ndarray) -> np.ndarray:
    """(x, y, z) of a Y-up file in a Z-up world: (x, -z, y)."""
    return np.stack([positions[..., 0], -positions[..., 2], positions[..., 1]], axis=-1)
