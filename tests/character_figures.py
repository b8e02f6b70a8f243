"""Skeletons built by hand for the character tests: a person, a dog, and what files do to them."""

from __future__ import annotations

import numpy as np

from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Hinge, Skeleton

Place = tuple[float, float, float]
Row = tuple[str, str, Place]

PERSON: tuple[Row, ...] = (
    ("Hips", "", (0.0, 0.0, 0.95)),
    ("Spine", "Hips", (0.0, 0.0, 0.12)),
    ("Chest", "Spine", (0.0, 0.0, 0.2)),
    ("Neck", "Chest", (0.0, 0.0, 0.25)),
    ("Head", "Neck", (0.0, 0.0, 0.1)),
    ("LeftShoulder", "Chest", (0.0, 0.03, 0.18)),
    ("LeftArm", "LeftShoulder", (0.0, 0.14, 0.0)),
    ("LeftForeArm", "LeftArm", (0.0, 0.28, 0.0)),
    ("LeftHand", "LeftForeArm", (0.0, 0.25, 0.0)),
    ("LeftHandIndex1", "LeftHand", (0.0, 0.09, 0.0)),
    ("LeftHandThumb1", "LeftHand", (0.04, 0.03, 0.0)),
    ("RightShoulder", "Chest", (0.0, -0.03, 0.18)),
    ("RightArm", "RightShoulder", (0.0, -0.14, 0.0)),
    ("RightForeArm", "RightArm", (0.0, -0.28, 0.0)),
    ("RightHand", "RightForeArm", (0.0, -0.25, 0.0)),
    ("RightHandIndex1", "RightHand", (0.0, -0.09, 0.0)),
    ("RightHandThumb1", "RightHand", (0.04, -0.03, 0.0)),
    ("LHipJoint", "Hips", (0.0, 0.0, 0.0)),
    ("LeftUpLeg", "LHipJoint", (0.0, 0.09, -0.05)),
    ("LeftLeg", "LeftUpLeg", (0.0, 0.0, -0.42)),
    ("LeftFoot", "LeftLeg", (0.0, 0.0, -0.4)),
    ("LeftToeBase", "LeftFoot", (0.14, 0.0, -0.06)),
    ("RHipJoint", "Hips", (0.0, 0.0, 0.0)),
    ("RightUpLeg", "RHipJoint", (0.0, -0.09, -0.05)),
    ("RightLeg", "RightUpLeg", (0.0, 0.0, -0.42)),
    ("RightFoot", "RightLeg", (0.0, 0.0, -0.4)),
    ("RightToeBase", "RightFoot", (0.14, 0.0, -0.06)),
)
PERSON_ENDS: dict[str, Place] = {
    "Head": (0.0, 0.0, 0.2),
    "LeftHandIndex1": (0.0, 0.08, 0.0),
    "LeftHandThumb1": (0.02, 0.03, 0.0),
    "RightHandIndex1": (0.0, -0.08, 0.0),
    "RightHandThumb1": (0.02, -0.03, 0.0),
    "LeftToeBase": (0.07, 0.0, 0.0),
    "RightToeBase": (0.07, 0.0, 0.0),
}

DOG: tuple[Row, ...] = (
    ("root", "", (0.0, 0.0, 0.5)),
    ("spine0", "root", (0.12, 0.0, 0.02)),
    ("spine1", "spine0", (0.25, 0.0, 0.0)),
    ("neck", "spine1", (0.2, 0.0, 0.1)),
    ("head", "neck", (0.12, 0.0, 0.08)),
    ("left_arm", "spine1", (0.12, 0.07, -0.08)),
    ("left_elbow", "left_arm", (-0.02, 0.0, -0.18)),
    ("left_hand", "left_elbow", (0.02, 0.0, -0.17)),
    ("left_finger", "left_hand", (0.02, 0.0, -0.07)),
    ("right_arm", "spine1", (0.12, -0.07, -0.08)),
    ("right_elbow", "right_arm", (-0.02, 0.0, -0.18)),
    ("right_hand", "right_elbow", (0.02, 0.0, -0.17)),
    ("right_finger", "right_hand", (0.02, 0.0, -0.07)),
    ("tail0", "root", (-0.1, 0.0, 0.02)),
    ("tail1", "tail0", (-0.15, 0.0, -0.05)),
    ("left_thigh", "root", (-0.03, 0.06, -0.05)),
    ("left_shin", "left_thigh", (0.05, 0.0, -0.18)),
    ("left_foot", "left_shin", (-0.1, 0.0, -0.15)),
    ("left_toe", "left_foot", (0.03, 0.0, -0.1)),
    ("right_thigh", "root", (-0.03, -0.06, -0.05)),
    ("right_shin", "right_thigh", (0.05, 0.0, -0.18)),
    ("right_foot", "right_shin", (-0.1, 0.0, -0.15)),
    ("right_toe", "right_foot", (0.03, 0.0, -0.1)),
)
DOG_ENDS: dict[str, Place] = {
    "head": (0.15, 0.0, -0.02),
    "tail1": (-0.15, 0.0, -0.05),
    "left_finger": (0.05, 0.0, 0.0),
    "right_finger": (0.05, 0.0, 0.0),
    "left_toe": (0.05, 0.0, 0.0),
    "right_toe": (0.05, 0.0, 0.0),
}


def skeleton(
    rows: tuple[Row, ...],
    ends: dict[str, Place],
    *,
    names: dict[str, str] | None = None,
    scale: float = 1.0,
    hinges: dict[str, Place] | None = None,
) -> Skeleton:
    """A skeleton whose rest pose has all rotations zero; `names` renames joints, `hinges` gives one-axis joints."""
    order = [r[0] for r in rows]
    renamed = names or {}
    identity = np.tile(rotations.IDENTITY, (len(rows), 1))
    return Skeleton(
        names=tuple(renamed.get(n, n) for n in order),
        parents=np.array([order.index(r[1]) if r[1] else -1 for r in rows]),
        offsets=scale * np.array([r[2] for r in rows]),
        rest_rotations=identity,
        end_sites=tuple(EndSite(order.index(n), scale * np.array(at)) for n, at in ends.items()),
        hinges={order.index(n): Hinge(np.array(axis)) for n, axis in (hinges or {}).items()},
    )


def person(**options: object) -> Skeleton:
    """A person 1.7 m tall in T-pose, facing +X, with fingers and doubled hip joints."""
    return skeleton(PERSON, PERSON_ENDS, **options)  # type: ignore[arg-type]


def dog(**options: object) -> Skeleton:
    """A dog facing +X whose front legs are called arms."""
    return skeleton(DOG, DOG_ENDS, **options)  # type: ignore[arg-type]


def nameless(rows: tuple[Row, ...]) -> dict[str, str]:
    """Names that say nothing."""
    return {r[0]: f"bone{n}" for n, r in enumerate(rows)}


def motion(figure: Skeleton, turns: dict[str, np.ndarray], *, fps: float = 60.0, frames: int = 60) -> Motion:
    """A motion in which some joints turn by rotation vectors [rad] (F, 3) and all else rests."""
    turned = np.tile(figure.rest_rotations, (frames, 1, 1))
    for name, vectors in turns.items():
        turned[:, figure.index(name)] = rotations.from_rotation_vector(vectors)
    places = np.tile(figure.offsets, (frames, 1, 1))
    return Motion(figure, np.arange(frames) / fps, places, turned)


def turned(clip: Motion, heading: float, shift: Place) -> Motion:
    """The clip turned about the vertical by `heading` [rad] and moved by `shift` [m]."""
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, heading]))
    places, turns = clip.translations.copy(), clip.rotations.copy()
    places[:, 0] = rotations.rotate(turn, places[:, 0]) + np.array(shift)
    turns[:, 0] = rotations.multiply(turn, turns[:, 0])
    return Motion(clip.skeleton, clip.times, places, turns, clip.source)
