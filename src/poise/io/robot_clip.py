"""Clips of robots as learning systems keep them: Unitree's CSV, and the npz of mjlab and of Isaac Lab.

None holds the robot: its MJCF is given with --skeleton, or lies beside the clip as the only .xml.

* Unitree (LAFAN1 retargeted): a row a frame, root x y z, quaternion xyzw, hinge angles; 30 frames a second, no heading.
* mjlab: fps, joint_pos, body_pos_w, body_quat_w (wxyz) and velocities; the first body is the root.
* Isaac Lab AMP: fps, dof_names, body_names, dof_positions, body_positions, body_rotations (wxyz) and velocities.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.io.files import read_text
from poise.io.mjcf import Robot, read_robot
from poise.io.npz import members, some_arrays

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "robot"
EXTENSIONS = (".csv",)
UNITREE_FPS = 30.0
"""Frames a second of a CSV, which does not say it."""
MJLAB = ("fps", "joint_pos", "body_pos_w", "body_quat_w")
ISAAC = ("fps", "dof_names", "body_names", "dof_positions", "body_positions", "body_rotations")
AGAIN = "Export it again from the program that made it."


def matches(path: Path, head: bytes) -> bool:
    """True for an npz with the arrays of mjlab or Isaac Lab, and a CSV with a quaternion in its first row."""
    if path.suffix.lower() == ".csv":
        try:
            first = np.array([float(v) for v in head.split(b"\n", 1)[0].split(b",")])
        except ValueError:
            return False
        return len(first) > 7 and abs(float(np.linalg.norm(first[3:7])) - 1.0) < 0.1
    if path.suffix.lower() != ".npz" or not head.startswith(b"PK"):
        return False
    names = members(path)
    return names >= set(MJLAB) or names >= set(ISAAC)


def read_skeleton(path: Path, options: ReadOptions) -> Skeleton:
    """The skeleton of the robot that moves in a clip."""
    return _robot_beside(path, options).skeleton


def read(path: Path, options: ReadOptions) -> Motion:
    """Read a clip of a robot.

    Raises:
        FileFormatError: if the robot is missing or another one, or the file is damaged.
    """
    robot = _robot_beside(path, options)
    if path.suffix.lower() == ".csv":
        dialect, (fps, place, turn, angles) = "Unitree", _csv(path)
    else:
        dialect, (fps, place, turn, angles) = _npz(path, robot)
    fps = options.fps or fps
    if not (np.isfinite(fps) and 0.0 < fps <= 1e5):
        raise FileFormatError(f"Its rate is {fps:g} frames a second.", path=path, cure="Give --source-fps.")
    length = np.linalg.norm(turn, axis=1)
    if not (np.abs(length - 1.0) < 0.1).all():
        frame = int(np.argmax(np.abs(length - 1.0)))
        problem = f"The root's quaternion in frame {frame} has length {length[frame]:.3g}."
        raise FileFormatError(problem, path=path, cure=AGAIN)
    try:
        motion = robot.motion(np.arange(len(place)) / fps, place, turn, angles)
    except InvalidValue as error:
        raise FileFormatError(str(error), path=path, cure="Name its own robot with --skeleton.") from error
    unit = Evidence(1.0, 1.0, "robots are in meters")
    source = Source(str(path), NAME, dialect, unit=1.0, up="z", fps=fps, evidence={"unit": unit}, clips=(path.stem,))
    if dialect == "Unitree" and options.fps is None:
        assumed = Evidence(fps, 0.8, "Unitree's clips have 30 frames a second; the file does not say it")
        source = replace(source, evidence={**source.evidence, "fps": assumed})
    return replace(motion, source=source)


def _robot_beside(path: Path, options: ReadOptions) -> Robot:
    """The robot that was named, or the only MJCF in the folder of the clip."""
    if options.skeleton is not None:
        return read_robot(options.skeleton)
    beside = sorted(p for p in path.parent.iterdir() if p.suffix.lower() == ".xml")
    if len(beside) != 1:
        seen = f"{len(beside)} .xml files lie" if beside else "no .xml file lies"
        raise FileFormatError(
            f"It holds the motion of a robot and not the robot, and {seen} beside it.",
            path=path,
            cure="Name the robot's MJCF with --skeleton ROBOT.xml.",
        )
    return read_robot(beside[0])


def _csv(path: Path) -> tuple[float, Array, Array, Array]:
    lines = read_text(path).splitlines()
    rows = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append(np.array([float(v) for v in line.split(",")]))
        except ValueError as error:
            raise FileFormatError(
                "This is not a row of numbers.",
                path=path,
                line=number,
                text=line[:60],
                cure="A robot's clip has a row a frame: root x y z, quaternion x y z w, joint angles.",
            ) from error
        if len(rows[-1]) != len(rows[0]) or len(rows[0]) < 8:
            problem = f"{len(rows[-1])} numbers are in this row; {max(len(rows[0]), 8)} are expected."
            raise FileFormatError(problem, path=path, line=number, cure=AGAIN)
    if not rows:
        raise FileFormatError("It holds no frame.", path=path, cure=AGAIN)
    table = np.stack(rows)
    return UNITREE_FPS, table[:, :3], table[:, [6, 3, 4, 5]], table[:, 7:]


def _npz(path: Path, robot: Robot) -> tuple[str, tuple[float, Array, Array, Array]]:
    arrays = some_arrays(path, (*MJLAB, *ISAAC))
    try:
        fps = float(np.ravel(arrays["fps"])[0])
        if "dof_names" in arrays:
            known = [str(n) for n in arrays["dof_names"]]
            missing = [n for n in robot.hinge_names if n not in known]
            if missing:
                problem = f"The clip does not move {', '.join(missing[:5])}."
                raise FileFormatError(problem, path=path, cure="Name its own robot with --skeleton.")
            angles = arrays["dof_positions"][:, [known.index(n) for n in robot.hinge_names]]
            bodies = [str(n) for n in arrays["body_names"]]
            root = bodies.index(robot.body_names[0]) if robot.body_names[0] in bodies else 0
            return "Isaac Lab", (fps, arrays["body_positions"][:, root], arrays["body_rotations"][:, root], angles)
        return "mjlab", (fps, arrays["body_pos_w"][:, 0], arrays["body_quat_w"][:, 0], arrays["joint_pos"])
    except (IndexError, ValueError, TypeError) as error:
        raise FileFormatError(f"Its arrays do not fit together: {error}.", path=path, cure=AGAIN) from error
