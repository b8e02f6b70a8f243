"""AMASS archives: turns of the 22 body joints of an SMPL body over time, without the body.

Members: `poses` (F, 66 or more), or `root_orient` (F, 3) and `pose_body` (F, 63), rotation vectors [rad] in the order
of `JOINTS`; `trans` (F, 3) [m], Z up; `mocap_framerate` or `mocap_frame_rate`. Hands and faces are left out.

Where joints are follows from body models that are not free. They are taken from a skeleton that the user names, with
joints of these names at rest in a T, such as an export of the SMPL add-on for Blender; else they are those of a person
of 1.70 m, and a warning says so. No pickle is read: members stored as objects (`gender`) are not opened.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from poise.core import rotations
from poise.core.errors import FileFormatError
from poise.core.motion import Evidence, Motion, Source
from poise.core.skeleton import EndSite, Skeleton, world_pose
from poise.io.format import door_turn, skeleton_of_file
from poise.io.npz import members, some_arrays

if TYPE_CHECKING:
    from poise.io.format import ReadOptions

NAME = "amass"
EXTENSIONS = ()
MEMBERS = ("poses", "root_orient", "pose_body", "trans", "mocap_framerate", "mocap_frame_rate")
RATES = ("mocap_framerate", "mocap_frame_rate")
JOINTS: dict[str, tuple[str, tuple[float, float, float]]] = {
    "pelvis": ("", (0.0, 0.94, 0.0)),
    "left_hip": ("pelvis", (0.085, -0.05, 0.0)),
    "right_hip": ("pelvis", (-0.085, -0.05, 0.0)),
    "spine1": ("pelvis", (0.0, 0.11, -0.02)),
    "left_knee": ("left_hip", (0.01, -0.41, 0.0)),
    "right_knee": ("right_hip", (-0.01, -0.41, 0.0)),
    "spine2": ("spine1", (0.0, 0.13, 0.01)),
    "left_ankle": ("left_knee", (0.0, -0.40, -0.02)),
    "right_ankle": ("right_knee", (0.0, -0.40, -0.02)),
    "spine3": ("spine2", (0.0, 0.06, 0.02)),
    "left_foot": ("left_ankle", (0.02, -0.06, 0.13)),
    "right_foot": ("right_ankle", (-0.02, -0.06, 0.13)),
    "neck": ("spine3", (0.0, 0.21, -0.03)),
    "left_collar": ("spine3", (0.08, 0.12, -0.02)),
    "right_collar": ("spine3", (-0.08, 0.12, -0.02)),
    "head": ("neck", (0.0, 0.09, 0.04)),
    "left_shoulder": ("left_collar", (0.10, 0.03, -0.01)),
    "right_shoulder": ("right_collar", (-0.10, 0.03, -0.01)),
    "left_elbow": ("left_shoulder", (0.27, 0.0, -0.02)),
    "right_elbow": ("right_shoulder", (-0.27, 0.0, -0.02)),
    "left_wrist": ("left_elbow", (0.25, 0.0, 0.0)),
    "right_wrist": ("right_elbow", (-0.25, 0.0, 0.0)),
}
"""Each joint's parent and its place in it for a person of 1.70 m, at rest in a T: x to the left, y up, z ahead [m]."""
TIPS = {
    "left_foot": (0.0, -0.02, 0.07),
    "right_foot": (0.0, -0.02, 0.07),
    "head": (0.0, 0.19, 0.0),
    "left_wrist": (0.17, 0.0, 0.0),
    "right_wrist": (-0.17, 0.0, 0.0),
}
"""Ends of toes, head and hands in those joints [m]."""
AGAIN = "Get it again from the data set."


def matches(path: Path, head: bytes) -> bool:
    """True for an npz with places of the body and rotation vectors of an SMPL body."""
    if path.suffix.lower() != ".npz" or not head.startswith(b"PK"):
        return False
    names = members(path)
    return "trans" in names and ("poses" in names or {"root_orient", "pose_body"} <= names)


def read(path: Path, options: ReadOptions) -> Motion:
    """Read the body of an archive.

    Raises:
        FileFormatError: if arrays are missing or do not fit together, or the named skeleton has other joints.
    """
    arrays = some_arrays(path, MEMBERS)
    trans = arrays["trans"]
    turns = arrays.get("poses")
    if turns is None:
        turns = np.concatenate([arrays["root_orient"], arrays["pose_body"]], axis=1)
    count = len(JOINTS)
    is_table = trans.ndim == turns.ndim == 2 and len(turns) == len(trans)
    if not is_table or trans.shape[1] != 3 or turns.shape[1] < 3 * count:
        problem = f"trans has shape {trans.shape} and the poses {turns.shape}; (F, 3) and (F, {3 * count}) are read."
        raise FileFormatError(problem, path=path, cure=AGAIN)
    rate = next((float(np.ravel(arrays[name])[0]) for name in RATES if name in arrays), None)
    fps = options.fps or rate
    if fps is None or not (np.isfinite(fps) and 0.0 < fps <= 1e5):
        raise FileFormatError("It does not say how many frames a second it has.", path=path, cure="Give --source-fps.")
    skeleton, columns, warnings = _body(path, options)
    unit = options.unit or 1.0
    still = skeleton.offsets[None], skeleton.rest_rotations[None]
    rest = rotations.multiply(rotations.conjugate(door_turn("y")), world_pose(skeleton, *still)[1][0])
    local = np.tile(skeleton.rest_rotations, (len(trans), 1, 1))
    moved = np.repeat(skeleton.offsets[None], len(trans), axis=0)
    vectors = turns[:, : 3 * count].reshape(-1, count, 3)
    for joint, column in columns.items():  # a body's own axes lie like the world's at rest; a skeleton's need not
        above = rest[skeleton.parents[joint]] if joint else rotations.IDENTITY
        turn = rotations.from_rotation_vector(vectors[:, column])
        local[:, joint] = rotations.multiply(rotations.conjugate(above), rotations.multiply(turn, rest[joint]))
    moved[:, 0] = unit * trans  # the pelvis, but for a level shift that is the same in all frames
    times = np.arange(len(trans)) / fps
    known = Evidence(unit, 1.0, "AMASS is in meters" if options.unit is None else "as its user says")
    source = Source(
        str(path),
        NAME,
        "AMASS",
        unit=unit,
        up="z",
        fps=fps,
        evidence={"unit": known},
        warnings=warnings,
        clips=(path.stem,),
    )
    return Motion(skeleton, times, moved, local, source)


def _body(path: Path, options: ReadOptions) -> tuple[Skeleton, dict[int, int], tuple[str, ...]]:
    """The skeleton, the column of each of its joints that is moved, and what a user should know."""
    names = list(JOINTS)
    if options.skeleton is None:
        offsets, rest = np.array([place for _, place in JOINTS.values()]), np.tile(rotations.IDENTITY, (len(names), 1))
        offsets[0], rest[0] = rotations.rotate(door_turn("y"), offsets[0]), door_turn("y")
        parents = np.array([names.index(parent) if parent else -1 for parent, _ in JOINTS.values()])
        tips = tuple(EndSite(names.index(n), np.array(tip), f"{n} end") for n, tip in TIPS.items())
        skeleton = Skeleton(tuple(names), parents, offsets, rest, tips)
        warning = "Bones are those of a person of 1.70 m, since an AMASS archive holds none. --skeleton names its own."
        return skeleton, {k: k for k in range(len(names))}, (warning,)
    given = skeleton_of_file(options.skeleton, options)
    joints_by_name = {_spelled_out(n): j for j, n in enumerate(given.names)}
    missing = [n for n in names if _spelled_out(n) not in joints_by_name]
    if missing:
        problem = f"The skeleton {options.skeleton.name} has no joint {', '.join(missing[:5])}."
        raise FileFormatError(problem, path=path, cure=f"Its joints must be called {', '.join(names[:4])}, …")
    return given, {joints_by_name[_spelled_out(n)]: k for k, n in enumerate(names)}, ()


def _spelled_out(name: str) -> str:
    """A joint's name without case, marks and prefix: "L_Hip", "left_hip" and "m_avg_L_Hip" are the same."""
    parts = [w for w in re.split(r"[^a-z0-9]+", name.lower()) if w not in ("m", "f", "avg")]
    return "".join({"l": "left", "r": "right"}.get(w, w) for w in parts)
