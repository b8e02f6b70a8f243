"""What the physics leaves out of a motion is told, and comes back with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from poise.body import fit
from poise.body.posing import apply_deviation, left_out, motion_to_q
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from tests.test_io_gltf_hanging import walk


def stretching(by: float) -> Motion:
    """A walk whose left shin grows and shrinks."""
    motion = walk()
    moved = motion.translations.copy()
    foot = motion.skeleton.index("Foot.L")
    moved[:, foot] *= (1.0 + by * np.sin(4.0 * motion.times))[:, None]
    skeleton = replace(motion.skeleton, translating=frozenset({0, foot}))
    return replace(motion, skeleton=skeleton, translations=moved)


def test_a_plain_figure_loses_nothing() -> None:
    motion = walk()
    found = left_out(fit(motion), motion)
    assert (found.carried, found.stretched, found.is_figure, found.sentences) == ((), {}, True, ())


def test_a_stretching_bone_is_told_and_comes_back_exactly() -> None:
    motion = stretching(0.2)
    character = fit(motion)
    found = left_out(character, motion)
    assert list(found.stretched) == ["Foot.L"]
    assert 0.05 < found.stretched["Foot.L"] < 0.17  # up to 0.2 of 0.4 m, from the median
    assert "Foot.L by up to" in found.sentences[0]
    q = motion_to_q(character, motion)
    back = apply_deviation(character, motion, q, q)
    np.testing.assert_array_equal(back.translations, motion.translations)
    assert rotations.angle_between(back.rotations, motion.rotations).max() < 1e-7


def test_a_moving_joint_without_a_body_is_told() -> None:
    motion = walk()
    skeleton = motion.skeleton
    hand = skeleton.index("Hand.L")
    grown = Skeleton(
        (*skeleton.names, "Index1.L"),
        np.append(skeleton.parents, hand),
        np.vstack([skeleton.offsets, [0.0, 0.0, -0.08]]),
        np.vstack([skeleton.rest_rotations, rotations.IDENTITY]),
    )
    curl = rotations.from_rotation_vector(np.outer(np.sin(motion.times), [1.0, 0.0, 0.0]))
    moved = np.concatenate([motion.translations, np.tile([[[0.0, 0.0, -0.08]]], (motion.frame_count, 1, 1))], axis=1)
    with_finger = Motion(grown, motion.times, moved, np.concatenate([motion.rotations, curl[:, None]], axis=1))
    found = left_out(fit(with_finger), with_finger)
    assert found.carried == ("Index1.L",)
    assert "keep their own turns: Index1.L" in found.sentences[0]


def test_a_thing_without_limbs_is_told_to_be_none() -> None:
    skeleton = Skeleton(("cube",), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None].copy())
    motion = Motion(skeleton, np.arange(3) / 30.0, np.zeros((3, 1, 3)), np.tile(rotations.IDENTITY, (3, 1, 1)))
    found = left_out(fit(motion), motion)
    assert not found.is_figure
    assert "may not be a figure" in found.sentences[0]
