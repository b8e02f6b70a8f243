"""AMASS archives: turns of a body that the archive does not hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.motion import Motion
from poise.io.amass import JOINTS
from poise.io.format import door_turn

UPRIGHT = rotations.to_rotation_vector(door_turn("y")[None])[0]
"""Turn of an SMPL body that stands in a Z-up world [rad]."""


def archive_of(path: Path, *, split: bool = False, frames: int = 40) -> Path:
    """A body that stands and lifts its left leg, knee bent, while its left arm comes down."""
    names, phase = list(JOINTS), np.linspace(0.0, 1.0, frames)
    poses = np.zeros((frames, 22 if split else 52, 3))
    poses[:, 0] = UPRIGHT
    poses[:, names.index("left_hip"), 0] = -0.8 * phase
    poses[:, names.index("left_knee"), 0] = 1.2 * phase
    poses[:, names.index("left_shoulder"), 2] = -1.3 * phase
    poses = poses.reshape(frames, -1)
    trans = np.stack([0.0 * phase, 0.0 * phase, 0.94 + 0.0 * phase], axis=1)
    if split:
        arrays = {"root_orient": poses[:, :3], "pose_body": poses[:, 3:66], "mocap_frame_rate": np.array(60.0)}
    else:
        arrays = {"poses": poses, "mocap_framerate": np.array(120.0), "gender": np.array(b"neutral", dtype=object)}
    np.savez(path, trans=trans, betas=np.zeros(16), **arrays)
    return path


@pytest.mark.parametrize("split", [False, True])
def test_an_archive_moves_a_person(tmp_path: Path, split: bool) -> None:
    motion = poise.load(archive_of(tmp_path / "a.npz", split=split))
    assert motion.fps == pytest.approx(60.0 if split else 120.0)
    places = dict(zip(motion.skeleton.names, motion.world[0][-1]))
    assert places["head"][2] - places["pelvis"][2] > 0.5
    assert places["left_hip"][0] > places["right_hip"][0]  # x to the left, so it faces -y
    assert places["left_knee"][1] < places["left_hip"][1] - 0.2  # lifted ahead
    assert places["left_ankle"][1] > places["left_knee"][1]  # shin back
    assert places["left_wrist"][2] < places["left_shoulder"][2] - 0.3  # arm down
    assert places["right_wrist"][2] == pytest.approx(places["right_shoulder"][2], abs=0.02)
    character = poise.Character.fit(motion)
    assert {limb.name for limb in character.limbs} >= {"left_leg", "right_leg", "left_arm", "right_arm"}
    assert motion.source is not None
    assert "1.70 m" in motion.source.warnings[0]


def test_a_named_skeleton_gives_the_bones_whatever_its_axes(tmp_path: Path) -> None:
    """A skeleton whose joints are turned at rest moves its joints to the same places."""
    path = archive_of(tmp_path / "a.npz")
    own = poise.load(path)
    skeleton = own.skeleton
    chance = np.random.default_rng(0)
    turn = rotations.normalize(chance.normal(size=(skeleton.joint_count, 4)))
    turn[0] = rotations.IDENTITY
    parents = np.maximum(skeleton.parents, 0)
    above = np.where(skeleton.parents[:, None] < 0, rotations.IDENTITY, turn[parents])
    rest = rotations.multiply(rotations.conjugate(above), rotations.multiply(skeleton.rest_rotations, turn))
    offsets = rotations.rotate(rotations.conjugate(above), skeleton.offsets)
    names = tuple("m_avg_" + n.replace("left", "L").replace("right", "R") for n in skeleton.names)
    other = poise.Skeleton(names, skeleton.parents, offsets, rest)
    still = Motion(other, np.zeros(1), offsets[None], rest[None])
    poise.save(still, tmp_path / "body.npz")
    motion = poise.load(path, skeleton=tmp_path / "body.npz")
    assert np.abs(motion.world[0] - own.world[0]).max() < 1e-9


def test_an_archive_that_is_damaged_is_one_sentence(tmp_path: Path) -> None:
    whole = archive_of(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", trans=np.zeros((5, 3)), poses=np.zeros((4, 66)), mocap_framerate=60.0)
    np.savez(tmp_path / "c.npz", trans=np.zeros((5, 3)), poses=np.zeros((5, 66)))
    np.savez(tmp_path / "d.npz", trans=np.array([{}], dtype=object), poses=np.zeros((5, 66)))
    for name, words in (("b", "shape"), ("c", "frames a second"), ("d", "is a pickle")):
        with pytest.raises(poise.FileFormatError, match=words):
            poise.load(tmp_path / f"{name}.npz")
    (tmp_path / "e.npz").write_bytes(whole.read_bytes()[:900])
    with pytest.raises(poise.FileFormatError):
        poise.load(tmp_path / "e.npz")
