"""BVH out: what nobody changed is written as it stood, the rest on the branch an animator expects."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise.io
from poise.core import rotations
from poise.core.errors import InvalidValue, MotionWarning, UnknownName
from poise.core.motion import Motion
from poise.core.rotations import branch_angles
from poise.core.skeleton import EndSite, Skeleton, rest_pose
from poise.io.bvh_document import BvhDocument
from poise.io.bvh_write import to_bytes
from poise.samples import sample_path
from tests.bvh_texts import FIGURE, SIX, bvh, changed, hierarchy, motion_text, put, values
from tests.clips import MOTIONS, SAMPLES, everywhere, first_cases, needs_motions

CLIPS = sorted((MOTIONS / "bvh").rglob("*.bvh")) + sorted((MOTIONS / "nc").glob("*.bvh"))


def table(motion: Motion) -> np.ndarray:
    assert motion.source is not None
    assert isinstance(motion.source.document, BvhDocument)
    return motion.source.document.values


def again(motion: Motion, folder: Path, **how: object) -> Motion:
    """The motion written and read again, by name in the same joint order."""
    path = folder / "again.bvh"
    poise.io.save(motion, path, **how)  # pyright: ignore[reportArgumentType]
    assert motion.source is not None
    unit = how.get("unit") or motion.source.unit
    return poise.io.load(path, unit=unit, up=how.get("up") or motion.source.up)  # pyright: ignore[reportArgumentType]


def shaken(motion: Motion, size: float, seed: int = 0) -> Motion:
    """All joints turned and the root moved a little, smoothly over time."""
    draw = np.random.default_rng(seed)
    swing = np.sin(np.linspace(0.0, 6.0, motion.frame_count))[:, None, None]
    turn = rotations.from_rotation_vector(size * swing * draw.normal(size=(1, motion.skeleton.joint_count, 3)))
    moved = motion.translations.copy()
    moved[:, 0] += 0.1 * size * swing[:, 0] * draw.normal(size=3)
    return replace(motion, translations=moved, rotations=rotations.multiply(motion.rotations, turn))


@first_cases(6, "path", everywhere([*map(sample_path, SAMPLES), *CLIPS]), ids=lambda p: p.stem)
def test_an_untouched_clip_is_written_byte_for_byte(path: Path) -> None:
    assert to_bytes(poise.io.load(path)) == path.read_bytes()


@first_cases(4, "path", everywhere([*map(sample_path, SAMPLES), *CLIPS]), ids=lambda p: p.stem)
def test_a_changed_clip_comes_back(path: Path, tmp_path: Path) -> None:
    motion = shaken(poise.io.load(path), 0.3)
    back = again(motion, tmp_path)
    assert back.skeleton.names == motion.skeleton.names
    # six digits of a degree over at most ten joints of a metre
    np.testing.assert_allclose(back.world[0], motion.world[0], atol=2e-7)
    assert (back.fps, back.frame_count) == (motion.fps, motion.frame_count)


def without_mark(text: bytes) -> bytes:
    """A file without the blanks after its frame time, which say unit and axis to Poise."""
    return re.sub(rb"(Frame Time:\s*\S+)[ \t]+(?=\r?\n)", rb"\1", text)


@needs_motions
def test_only_what_changed_is_written_anew(tmp_path: Path) -> None:
    path = MOTIONS / "bvh" / "cmu_motionbuilder" / "02_01.bvh"
    motion = poise.io.load(path)
    turned = motion.rotations.copy()
    turned[100, 5] = rotations.multiply(turned[100, 5], rotations.from_rotation_vector(np.array([0.01, 0.0, 0.0])))
    lines, new = path.read_bytes().split(b"\n"), without_mark(to_bytes(replace(motion, rotations=turned))).split(b"\n")
    different = [k for k, (a, b) in enumerate(zip(lines, new, strict=True)) if a != b]
    assert len(different) == 1
    words = [
        k for k, (a, b) in enumerate(zip(lines[different[0]].split(), new[different[0]].split(), strict=True)) if a != b
    ]
    assert set(words) <= {18, 19, 20}  # joint 5 of a file with six channels on the root and three on the rest
    assert words


def test_noise_below_the_digits_changes_nothing(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh()))
    noisy = replace(
        motion,
        rotations=rotations.multiply(motion.rotations, rotations.from_rotation_vector(np.full((5, 12, 3), 1e-12))),
        translations=motion.translations + 1e-13,
    )
    assert to_bytes(noisy) == bvh().encode()


def test_rates_counts_and_cuts(tmp_path: Path) -> None:
    text = bvh(table=values(frames=9), time=".0083333")
    motion = poise.io.load(put(tmp_path, text))
    part = without_mark(to_bytes(motion.frames(np.arange(2, 6)))).decode()
    assert "Frames: 4\nFrame Time: .0083333\n" in part
    assert part.split("\n")[-5:] == [*text.split("\n")[-8:-4], ""]
    slower = without_mark(to_bytes(poise.io.load(put(tmp_path, text), fps=60.0))).decode()
    assert "Frame Time: 0.0166666667\n" in slower
    assert slower.split("Frame Time")[1].split("\n", 1)[1] == text.split("Frame Time")[1].split("\n", 1)[1]
    counted = poise.io.load(put(tmp_path, bvh(frames=7)), frames_from_data=True)
    assert without_mark(to_bytes(counted)) == bvh().encode()


def test_a_longer_bone_changes_its_offset_alone(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh()))
    offsets, moved = motion.skeleton.offsets.copy(), motion.translations.copy()
    offsets[2] *= 1.5
    moved[:, 2] *= 1.5
    longer = replace(motion, skeleton=replace(motion.skeleton, offsets=offsets), translations=moved)
    new = without_mark(to_bytes(longer)).decode()
    assert new == bvh().replace("OFFSET 0 -42 0", "OFFSET 0.000000 -63.000000 0.000000", 1)


def test_a_joint_that_comes_to_move_gets_channels(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh()))
    moved = motion.translations.copy()
    moved[2:, 9, 0] += 0.05
    with pytest.warns(MotionWarning, match="LeftArm"):
        back = again(replace(motion, translations=moved), tmp_path)
    np.testing.assert_allclose(back.translations, moved, atol=1e-9)
    assert back.skeleton.translating == {0, 9}
    np.testing.assert_array_equal(table(back)[:, :30], table(motion)[:, :30])


def test_added_positions_are_written_as_they_were_read(tmp_path: Path) -> None:
    joints = changed(FIGURE, "Spine", channels=SIX)
    numbers = values(joints)
    column = 6 + 6 * 3
    numbers[:, column : column + 3] -= joints[7].offset
    motion = poise.io.load(put(tmp_path, bvh(joints, numbers.round(4))))
    assert to_bytes(motion) == bvh(joints, numbers.round(4)).encode()
    moved = motion.translations.copy()
    moved[:, 7] += 0.01
    np.testing.assert_allclose(again(replace(motion, translations=moved), tmp_path).translations, moved, atol=1e-9)


def test_joints_of_few_channels_come_back_and_are_widened_only_when_they_must(tmp_path: Path) -> None:
    joints = changed(changed(FIGURE, "LeftLeg", channels="Xrotation"), "Spine", channels="Zrotation Yrotation")
    motion = poise.io.load(put(tmp_path, bvh(joints)))
    bent = motion.rotations.copy()
    bent[:, 2] = rotations.multiply(bent[:, 2], rotations.from_euler("X", np.full((5, 1), 30.0)))
    bent[:, 7] = rotations.multiply(rotations.from_euler("Z", np.full((5, 1), 20.0)), bent[:, 7])
    back = again(replace(motion, rotations=bent), tmp_path)
    assert rotations.angle_between(back.rotations, bent).max() < 3e-8
    assert back.skeleton.hinges.keys() == {2}
    bent[:, 2] = rotations.multiply(bent[:, 2], rotations.from_euler("Y", np.full((5, 1), 10.0)))
    bent[:, 7] = rotations.multiply(bent[:, 7], rotations.from_euler("X", np.full((5, 1), 10.0)))
    with pytest.warns(MotionWarning, match="LeftLeg, Spine"):
        back = again(replace(motion, rotations=bent), tmp_path)
    assert rotations.angle_between(back.rotations, bent).max() < 3e-8


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZXZ", "YZY"])
def test_angles_stay_on_the_sources_branch(order: str) -> None:
    draw = np.random.default_rng(1)
    source = draw.uniform(-400.0, 400.0, (50, 4, 3))
    turned = rotations.from_euler(order, source)
    kept = branch_angles(order, turned, source, np.ones((50, 4), dtype=bool))
    np.testing.assert_allclose(kept, source, atol=1e-6)
    near = branch_angles(order, rotations.from_euler(order, source + 0.5), source, np.ones((50, 4), dtype=bool))
    np.testing.assert_allclose(near, source + 0.5, atol=1e-6)


@pytest.mark.parametrize("order", ["XYZ", "ZYX", "ZXY", "YXZ"])
@pytest.mark.parametrize("middle", [90.0, -90.0])
def test_gimbal_lock_keeps_the_sources_split(order: str, middle: float) -> None:
    source = np.array([[[30.0, middle, 170.0]], [[31.0, middle, 172.0]]])
    turned = rotations.from_euler(order, source)
    found = branch_angles(order, turned, source, np.ones((2, 1), dtype=bool))
    np.testing.assert_allclose(found, source, atol=1e-4)
    assert rotations.angle_between(rotations.from_euler(order, found), turned).max() < 1e-7
    other = rotations.from_euler(order, source + np.array([10.0, 0.0, 0.0]))
    shared = branch_angles(order, other, source, np.ones((2, 1), dtype=bool))
    assert rotations.angle_between(rotations.from_euler(order, shared), other).max() < 1e-7
    np.testing.assert_allclose(np.abs(shared - source)[..., [0, 2]], 5.0, atol=1e-4)  # shared by both, evenly


def test_without_a_source_angles_do_not_jump() -> None:
    path = np.stack(
        [np.linspace(0.0, 900.0, 200), np.linspace(0.0, 170.0, 200), np.linspace(0.0, -500.0, 200)], axis=-1
    )
    found = branch_angles("ZXY", rotations.from_euler("ZXY", path[:, None]), None, None)[:, 0]
    assert np.abs(np.diff(found, axis=0)).max() < 6.0
    np.testing.assert_allclose(found, path, atol=1e-6)


def other_world() -> Motion:
    """Joints out of depth-first order, with rest rotations, a moving joint and an awkward name; from no file."""
    draw = np.random.default_rng(5)
    parents = np.array([-1, 0, 0, 1, 2, 3])
    skeleton = Skeleton(
        names=("root", "a", "b", "a{2}", "b 2", "a3"),
        parents=parents,
        offsets=draw.normal(size=(6, 3)),
        rest_rotations=rotations.normalize(draw.normal(size=(6, 4))),
        end_sites=(EndSite(4, np.array([0.1, 0.2, 0.3]), "tip"),),
    )
    moved = np.tile(skeleton.offsets, (7, 1, 1))
    moved[:, 0] += draw.normal(size=(7, 3))
    moved[:, 4] += 0.1 * draw.normal(size=(7, 3))
    return Motion(skeleton, np.arange(7) / 24.0, moved, rotations.normalize(draw.normal(size=(7, 6, 4))))


@pytest.mark.parametrize("up", ["y", "z", "x"])
def test_a_motion_from_elsewhere_is_written_upright_in_centimetres(tmp_path: Path, up: str) -> None:
    motion = other_world()
    path = tmp_path / "new.bvh"
    with pytest.warns(MotionWarning, match=r"a\{2\}"):
        poise.io.save(motion, path, up=up)
    back = poise.io.load(path, unit="cm", up=up)
    assert back.skeleton.names == ("root", "a", "a_2_", "a3", "b", "b 2")
    place = [back.skeleton.names.index(n.replace("{", "_").replace("}", "_")) for n in motion.skeleton.names]
    np.testing.assert_allclose(back.world[0][:, place], motion.world[0], atol=1e-7)
    np.testing.assert_allclose(rest_pose(back.skeleton)[0][place], rest_pose(motion.skeleton)[0], atol=1e-7)
    np.testing.assert_allclose(
        back.end_positions(back.skeleton.end_sites[1]), motion.end_positions(motion.skeleton.end_sites[0]), atol=1e-7
    )
    assert back.skeleton.translating == {0, 5}
    assert (back.frame_count, back.fps) == (7, pytest.approx(24.0, rel=1e-8))


def test_unit_and_up_axis_of_a_bvh_can_be_changed(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh()))
    assert b"OFFSET 0.00000000 -0.42000000 0.00000000" in to_bytes(motion, unit=1.0)
    for how in ({"unit": 1.0}, {"up": "z"}, {"unit": "inch", "up": "x"}):
        path = tmp_path / "other.bvh"
        poise.io.save(motion, path, **how)  # pyright: ignore[reportArgumentType]
        back = poise.io.load(path)
        assert back.source is not None
        np.testing.assert_allclose(back.world[0], motion.world[0], atol=1e-7)
        assert back.source.up == how.get("up", "y")  # told from the figure, which stands upright in either


@needs_motions
def test_another_rate_keeps_the_path(tmp_path: Path) -> None:
    motion = poise.io.load(MOTIONS / "bvh" / "accad" / "Female1_A01_Stand.bvh")
    back = again(motion, tmp_path, fps=60.0)
    assert back.frame_count == 181
    np.testing.assert_allclose(back.world[0][::2], motion.world[0], atol=1e-4)  # 0.0333333 is not 1/30


def test_what_bvh_cannot_hold_is_refused(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh()))
    times = motion.times.copy()
    times[-1] += 0.01
    with pytest.raises(InvalidValue, match="fps"):
        to_bytes(replace(motion, times=times))
    with pytest.raises(UnknownName, match=r"\.xyz"):
        poise.io.save(motion, tmp_path / "clip.xyz")
    with pytest.raises(InvalidValue, match="fixes unit"):
        poise.io.save(motion, tmp_path / "clip.npz", unit="cm")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "old", "out.bvh")
    motion = poise.io.load(put(tmp_path, bvh()))

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="cannot be written"):
        poise.io.save(motion, path)
    assert path.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["clip.bvh", "out.bvh"]


def test_old_encodings_come_back(tmp_path: Path) -> None:
    text = (hierarchy(changed(FIGURE, "Head", name="Kopfhöhe")) + motion_text(values())).encode("latin-1")
    assert to_bytes(poise.io.load(put(tmp_path, text))) == text


def test_a_part_of_a_resampled_clip_is_written_as_it_is(tmp_path: Path) -> None:
    motion = poise.io.load(sample_path("walk"))
    part = motion.resampled(np.arange(0.0, motion.duration, 0.4 * motion.dt)).cut(1.0, motion.duration)
    poise.io.save(part, tmp_path / "part.bvh")
    back = poise.io.load(tmp_path / "part.bvh")
    assert back.frame_count == part.frame_count
    assert np.abs(back.world[0] - part.world[0]).max() < 1e-6
