"""Joints with weights: build a skeleton in file axes (Y up, Z forward, X left) and measure its center of mass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from poise.core import rotations
from poise.core.skeleton import EndSite, Skeleton, world_pose
from poise.core.units import GRAVITY

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A skeleton whose bones weigh something.

    Attributes:
        skeleton: Joints in file axes [m].
        bones: For each weighed bone its joint, the bone's tip in that joint's frame [m], and its share of the mass.
    """

    skeleton: Skeleton
    bones: tuple[tuple[int, Array, float], ...]


def build(rows: list[tuple[str, str, tuple[float, float, float]]], shares: dict[str, tuple[str, float]]) -> Figure:
    """Figure from rows of (name, parent, offset [m]); a name that starts with "End" closes a chain.

    Args:
        rows: Parents before children; the first row is the root, its parent is "".
        shares: Share of the mass by joint: (joint or end at the bone's tip, share).
    """
    names = [name for name, _, _ in rows if not name.startswith("End")]
    offsets = {name: np.array(offset) for name, _, offset in rows}
    parent = {name: above for name, above, _ in rows}
    skeleton = Skeleton(
        names=tuple(names),
        parents=np.array([names.index(parent[n]) if parent[n] else -1 for n in names]),
        offsets=np.array([offsets[n] for n in names]),
        rest_rotations=np.tile(rotations.IDENTITY, (len(names), 1)),
        end_sites=tuple(
            EndSite(names.index(above), offsets[name]) for name, above, _ in rows if name.startswith("End")
        ),
    )
    bones = tuple((names.index(name), offsets[tip], share) for name, (tip, share) in shares.items())
    return Figure(skeleton, bones)


def pose(figure: Figure, root: Array, turns: dict[str, Array]) -> tuple[Array, Array]:
    """Local translations (F, J, 3) and rotations (F, J, 4) from a root path (F, 3) and rotations by joint name."""
    frames, joints = len(root), figure.skeleton.joint_count
    translations = np.tile(figure.skeleton.offsets, (frames, 1, 1))
    translations[:, 0] = root
    local = np.tile(rotations.IDENTITY, (frames, joints, 1))
    for name, turn in turns.items():
        local[:, figure.skeleton.index(name)] = turn
    return translations, local


def particles(figure: Figure, translations: Array, local: Array) -> tuple[Array, Array]:
    """Masses (P,) and paths (F, P, 3) of two particles a bone: a rod's weight and very nearly its inertia."""
    positions, orientations = world_pose(figure.skeleton, translations, local)
    masses, paths = [], []
    for joint, tip, share in figure.bones:
        # two points at ±L/sqrt(12) from the middle have the inertia of a uniform rod
        for along in (0.5 - 12.0**-0.5, 0.5 + 12.0**-0.5):
            masses.append(0.5 * share)
            paths.append(positions[:, joint] + rotations.rotate(orientations[:, joint], along * tip))
    total = np.array(masses)
    return total / total.sum(), np.stack(paths, axis=1)


def zero_moment_point(masses: Array, paths: Array, accelerations: Array) -> Array:
    """Where the ground's force must act for the particles to move so, shape (F, 3), on the floor at y = 0.

    zmp = Σ m (r (ÿ + g) − r̈ y) / Σ m (ÿ + g), for x and z.
    """
    pull = masses * (accelerations[:, :, 1] + GRAVITY)
    moment = pull[:, :, None] * paths - masses[:, None] * accelerations * paths[:, :, 1:2]
    point = moment.sum(axis=1) / pull.sum(axis=1)[:, None]
    point[:, 1] = 0.0
    return point
