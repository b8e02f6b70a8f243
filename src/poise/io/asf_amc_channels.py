"""From the numbers of an AMC clip to the pose of its skeleton and back, on the source's own Euler branch."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.errors import InvalidValue, MotionWarning
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.typing import Array
from poise.io.asf_amc_frames import AmcDocument
from poise.io.asf_amc_skeleton import AsfBone, skeleton_of, static_euler
from poise.io.door import door_turn

SAME_ANGLE = 2e-8
"""A rotation this close [rad] to the source's (1e-6 degrees) is unchanged: the source's numbers are written."""
SAME_LENGTH = 1e-9
"""The same for translations [m]."""


def _dofs(document: AmcDocument, bone: AsfBone | None) -> tuple[tuple[str, ...], str, Array]:
    """Channels, order of application of the turns, and axis frame of a bone; of the root for None."""
    if bone is None:
        return document.asf.root_dofs, document.asf.root_letters, document.asf.orientation
    return bone.dofs, "".join(d[1] for d in bone.dofs if d[0] == "r").upper(), bone.axis


def pose_of(document: AmcDocument) -> tuple[Array, Array]:
    """Translations (F, J, 3) [m] and rotations (F, J, 4) of a clip's numbers."""
    asf, turn = document.asf, door_turn(document.up)
    skeleton = skeleton_of(asf, unit=document.unit, turn=turn)
    frames = len(document.values)
    translations = np.tile(skeleton.offsets, (frames, 1, 1))
    turned = np.tile(skeleton.rest_rotations, (frames, 1, 1))
    columns = document.columns
    for j, bone in enumerate((None, *asf.bones)):
        name = "root" if bone is None else bone.name
        if name not in columns:
            continue
        values = document.values[:, columns[name]]
        dofs, letters, axis = _dofs(document, bone)
        local = _local_rotation(values, dofs, letters, axis, document.degrees)
        moved = np.zeros((frames, 3))
        for k, dof in enumerate(dofs):
            if dof[0] == "t":
                moved[:, "xyz".index(dof[1])] = document.unit * values[:, k]
        if bone is None:
            translations[:, 0] = rotations.rotate(turn, moved + document.unit * asf.position)
            turned[:, 0] = rotations.multiply(turn, local)
        else:
            turned[:, j] = local
            if j in skeleton.translating:
                translations[:, j] += rotations.rotate(axis, moved)
    return translations, turned


def _local_rotation(values: Array, dofs: tuple[str, ...], letters: str, axis: Array, degrees: bool) -> Array:
    """C R C⁻¹ of a bone's numbers (F, n), shape (F, 4)."""
    angles = (
        np.stack([values[:, dofs.index("r" + c)] for c in letters.lower()], axis=-1)
        if letters
        else np.zeros((len(values), 0))
    )
    turned = static_euler(letters, angles if degrees else np.degrees(angles))
    return rotations.multiply(rotations.multiply(axis, turned), rotations.conjugate(axis))


def values_of(motion: Motion, document: AmcDocument) -> Array:
    """The numbers of all channels, shape (F, C), in file units."""
    frames = motion.frame_count
    has_source = len(document.values) == frames
    source = document.values if has_source else np.zeros((frames, document.values.shape[1]))
    before = pose_of(document) if has_source else None
    turn_back = rotations.conjugate(door_turn(document.up))
    to_unit = 1.0 if document.degrees else np.pi / 180.0
    values = source.copy()
    columns = document.columns
    asf_skeleton = skeleton_of(document.asf, unit=document.unit, turn=door_turn(document.up))
    worst = (0.0, "")
    for j, bone in enumerate((None, *document.asf.bones)):
        name = "root" if bone is None else bone.name
        local, moved = motion.rotations[:, j], motion.translations[:, j] - motion.skeleton.offsets[j]
        dofs, letters, axis = _dofs(document, bone)
        if bone is None:
            local = rotations.multiply(turn_back, local)
            moved = rotations.rotate(turn_back, motion.translations[:, 0]) - document.unit * document.asf.position
        else:
            _check_bone(motion, asf_skeleton, j)
            moved = rotations.rotate(rotations.conjugate(axis), moved)
        if name not in columns:
            loss = float(np.max(rotations.angle_between(local, rotations.IDENTITY)))
            worst = max(worst, (loss, name))
            continue
        block = values[:, columns[name]]
        is_new = np.ones(frames, dtype=bool)
        if before is not None:
            is_new = rotations.angle_between(motion.rotations[:, j], before[1][:, j]) > SAME_ANGLE
        if letters and is_new.any():
            inner = rotations.multiply(rotations.multiply(rotations.conjugate(axis), local), axis)
            guide = _turn_columns(block, dofs, letters) / to_unit
            angles = _angles(inner, letters, guide, is_new, has_source)
            for k, letter in enumerate(letters.lower()):
                column = dofs.index("r" + letter)
                block[is_new, column] = to_unit * angles[is_new, k]
            rebuilt = _local_rotation(block, dofs, letters, axis, document.degrees)
            worst = max(worst, (float(np.max(rotations.angle_between(rebuilt, local))), name))
        for k, dof in enumerate(dofs):
            if dof[0] == "t":
                wanted = moved[:, "xyz".index(dof[1])]
                is_moved = np.abs(wanted - document.unit * block[:, k]) > SAME_LENGTH
                block[:, k] = np.where(is_moved | (not has_source), wanted / document.unit, block[:, k])
    if worst[0] > 1e-6:
        warnings.warn(
            f"The channels of bone {worst[1]!r} cannot state its turn: up to {np.degrees(worst[0]):.3g} degrees "
            "were lost. Write .bvh, .npz or .glb to keep them.",
            MotionWarning,
            stacklevel=3,
        )
    return values


def _check_bone(motion: Motion, skeleton: Skeleton, joint: int) -> None:
    """A bone must start where the .asf says, unless its channels move it."""
    away = float(np.abs(motion.translations[:, joint] - skeleton.offsets[joint]).max())
    if away > 1e-6 and joint not in skeleton.translating:
        raise InvalidValue(
            f"Bone {skeleton.names[joint]!r} starts {away:.3g} m off the place its .asf says, which no .amc states. "
            "Write .bvh, .npz or .glb instead."
        )


def _turn_columns(block: Array, dofs: tuple[str, ...], letters: str) -> Array:
    """The rotation columns of a bone in the order of their application, shape (F, n)."""
    return np.stack([block[:, dofs.index("r" + c)] for c in letters.lower()], axis=-1)


def _angles(turned: Array, letters: str, source: Array, is_new: npt.NDArray[np.bool_], has_source: bool) -> Array:
    """Angles [deg] (F, n) of turns about fixed axes that give `turned` (F, 4).

    The branch is the one nearest `source` (F, n) where that is the source's, else the one nearest the frame before.
    A missing third axis is taken as applied last, and its angle dropped.
    """
    if len(letters) == 1:
        candidates = [np.degrees(2.0 * np.arctan2(turned[:, 1 + "XYZ".index(letters)], turned[:, 0]))[:, None]]
    else:
        order = letters + "".join(c for c in "XYZ" if c not in letters)
        full = rotations.to_euler(order[::-1], turned)[:, ::-1]
        other = np.stack([full[:, 0] + 180.0, 180.0 - full[:, 1], full[:, 2] + 180.0], axis=-1)
        candidates = [full, other]
        if len(letters) == 2:
            small = np.cos(np.radians(full[:, 2:])) >= 0.0
            candidates = [np.where(small, full, other)[:, :2]]
    angles = source.copy()
    if has_source:
        near = np.stack([c + 360.0 * np.round((source - c) / 360.0) for c in candidates])
        best = np.argmin(np.abs(near - source).sum(axis=-1), axis=0)
        angles[is_new] = near[best, np.arange(len(source))][is_new]
        return angles
    guide = np.zeros(len(letters))
    for frame in range(len(turned)):
        near = [c[frame] + 360.0 * np.round((guide - c[frame]) / 360.0) for c in candidates]
        guide = min(near, key=lambda a: float(np.abs(a - guide).sum()))
        angles[frame] = guide
    return angles
