"""ASF/AMC: the CMU clips, their twin in BVH, writing back, and files that are not what they should be."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, MotionWarning
from poise.core.motion import Motion, Source
from poise.io import asf_amc, asf_amc_frames, bvh
from poise.io.format import ReadOptions
from tests.clips import MOTIONS, needs_motions

ASF = """:version 1.10
:units
  mass 1.0
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -1 0
    length 10
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160 20)
           (-70 70)
           (-inf inf)
  end
  begin
    id 2
    name shin
    direction 0 -1 0
    length 8
    axis 0 0 90 XYZ
    dof rx
    limits (-10 170)
  end
  begin
    id 3
    name foot
    direction 0 0 1
    length 2
    axis 10 20 30 XYZ
    dof rx rz
    limits (-45 90)
           (-70 20)
  end
:hierarchy
  begin
    root thigh
    thigh shin
    shin foot
  end
"""

FRAME = """{n}
root 1 {y} 3 10 20 30
thigh 5 {t} -7
shin 40
foot 12 -8
"""

AMC = "#!OML:ASF\n:FULLY-SPECIFIED\n:DEGREES\n" + "".join(
    FRAME.format(n=n, y=17 + 0.25 * n, t=0.5 * n) for n in range(1, 6)
)


def folder(tmp_path: Path, amc: str = AMC, asf: str = ASF) -> Path:
    (tmp_path / "leg.asf").write_text(asf, encoding="utf-8")
    path = tmp_path / "leg_01.amc"
    path.write_text(amc, encoding="utf-8")
    return path


def source_of(motion: Motion) -> Source:
    assert motion.source is not None
    return motion.source


def tips(motion: Motion) -> np.ndarray:
    joints, _ = motion.world
    return np.concatenate([joints, *(motion.end_positions(e)[:, None] for e in motion.skeleton.end_sites)], axis=1)


MANIFEST = [  # frames, lowest and highest joint or tip, root height, root path, all in metres
    ("02_01", 343, -0.00, 1.62, 0.93, 1.00, 3.37),
    ("02_03", 173, -0.02, 1.66, 0.90, 1.05, 3.72),
    ("02_04", 483, 0.03, 2.08, 0.73, 1.47, 0.73),
]


@needs_motions
@pytest.mark.parametrize(("name", "frames", "low", "high", "root_low", "root_high", "travel"), MANIFEST)
def test_real_clip_stands_where_it_should(name, frames, low, high, root_low, root_high, travel):
    motion = asf_amc.read(MOTIONS / "asf_amc" / f"{name}.amc", ReadOptions())
    root = motion.translations[:, 0]
    assert motion.frame_count == frames
    assert motion.fps == pytest.approx(120.0)
    assert motion.skeleton.joint_count == 31
    assert len(motion.skeleton.end_sites) == 7
    heights = tips(motion)[..., 2]
    assert [heights.min(), heights.max()] == pytest.approx([low, high], abs=0.006)  # printed to the centimetre
    assert [root[:, 2].min(), root[:, 2].max()] == pytest.approx([root_low, root_high], abs=0.006)
    assert np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1).sum() == pytest.approx(travel, abs=0.006)


@needs_motions
def test_same_walk_in_amc_and_bvh_agrees_joint_by_joint():
    """Frame k of the AMC is frame k + 1 of the BVH; above the lost thorax bone all differs by just that bone."""
    amc = asf_amc.read(MOTIONS / "asf_amc" / "02_01.amc", ReadOptions())
    other = bvh.read(MOTIONS / "bvh" / "cmu_motionbuilder" / "02_01.bvh", ReadOptions(unit=source_of(amc).unit))
    ours, theirs = amc.world[0], other.world[0][1:]
    unit = source_of(amc).unit
    pairs = {"root": "Hips", "ltibia": "LeftLeg", "lfoot": "LeftFoot", "rtibia": "RightLeg", "rfoot": "RightFoot"}
    pairs |= {"lfemur": "LeftUpLeg", "rfemur": "RightUpLeg", "rtoes": "RightToeBase", "thorax": "Spine1"}
    for a, b in pairs.items():
        gap = np.linalg.norm(ours[:, amc.skeleton.index(a)] - theirs[:, other.skeleton.index(b)], axis=-1)
        assert gap.max() / unit < 1e-4, a
    thorax = next(b for b in source_of(amc).document.asf.bones if b.name == "thorax").length
    for a, b in {"lhumerus": "LeftArm", "lradius": "LeftForeArm", "lwrist": "LeftHand", "rhumerus": "RightArm"}.items():
        gap = np.linalg.norm(ours[:, amc.skeleton.index(a)] - theirs[:, other.skeleton.index(b)], axis=-1)
        assert gap / unit == pytest.approx(thorax, abs=2e-4), a


@needs_motions
@pytest.mark.parametrize("name", ["02_01", "02_03", "02_04"])
def test_write_after_read_returns_the_same_numbers(tmp_path, name):
    motion = asf_amc.read(MOTIONS / "asf_amc" / f"{name}.amc", ReadOptions())
    asf_amc.write(motion, tmp_path / f"{name}.amc")
    again = asf_amc.read(tmp_path / f"{name}.amc", ReadOptions())
    assert source_of(again).document.layout == source_of(motion).document.layout
    assert np.array_equal(source_of(again).document.values, source_of(motion).document.values)
    assert np.array_equal(again.rotations, motion.rotations)


def test_a_skeleton_read_in_another_unit_is_written_as_large(tmp_path: Path) -> None:
    motion = poise.load(folder(tmp_path), unit="m")
    (tmp_path / "large").mkdir()
    poise.save(motion, tmp_path / "large" / "leg_01.amc")
    again = poise.load(tmp_path / "large" / "leg_01.amc")
    assert np.allclose(again.world[0], motion.world[0], atol=1e-9)


@needs_motions
def test_only_changed_values_change_and_stay_on_the_sources_branch(tmp_path):
    motion = asf_amc.read(MOTIONS / "asf_amc" / "02_01.amc", ReadOptions())
    j = motion.skeleton.index("lhumerus")
    turned = motion.rotations.copy()
    turned[100, j] = rotations.multiply(turned[100, j], rotations.from_rotation_vector(np.array([0.01, 0.02, -0.01])))
    moved = replace(motion, rotations=turned)
    asf_amc.write(moved, tmp_path / "02_01.amc")
    again = asf_amc.read(tmp_path / "02_01.amc", ReadOptions())
    difference = source_of(again).document.values - source_of(motion).document.values
    assert set(np.flatnonzero(np.abs(difference).any(axis=1))) == {100}
    assert 0.1 < np.abs(difference).max() < 10.0  # degrees: no jump by half a turn
    assert rotations.angle_between(again.rotations, turned).max() < 1e-7


def test_hinges_ends_and_fixed_bones(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions())
    skeleton = motion.skeleton
    assert skeleton.names == ("root", "thigh", "shin", "foot")
    hinge = skeleton.hinges[2]
    assert hinge.axis == pytest.approx([0.0, 1.0, 0.0], abs=1e-12)  # x of an axis frame turned by 90° about z
    assert np.degrees([hinge.lower, hinge.upper]) == pytest.approx([-10.0, 170.0])
    assert set(skeleton.hinges) == {2}
    assert [e.joint for e in skeleton.end_sites] == [3]
    assert source_of(motion).unit == pytest.approx(0.0254 / 0.45)
    assert skeleton.offsets[2] == pytest.approx([0.0, -10 * source_of(motion).unit, 0.0])
    about = rotations.to_rotation_vector(motion.rotations[0, 2])
    assert np.degrees(about) == pytest.approx([0.0, 40.0, 0.0], abs=1e-9)


def test_place_and_orientation_of_the_root_at_rest(tmp_path):
    asf = ASF.replace("position 0 0 0", "position 1 2 3").replace("orientation 0 0 0", "orientation 0 0 90")
    motion = asf_amc.read(folder(tmp_path, asf=asf), ReadOptions(unit=1.0, up="z"))
    assert motion.translations[0, 0] == pytest.approx([1 + 1, 17.25 + 2, 3 + 3])
    turns = np.radians([10.0, 20.0, 30.0])  # about x, y, z of a frame turned by 90° about z: about y, -x, z
    steps = [rotations.from_rotation_vector(a * np.array(v)) for a, v in zip(turns, np.eye(3)[[1, 0, 2]], strict=True)]
    steps[1] = rotations.conjugate(steps[1])
    expected = rotations.multiply(steps[2], rotations.multiply(steps[1], steps[0]))
    assert rotations.angle_between(motion.rotations[0, 0], expected) < 1e-9
    assert "at rest" in source_of(motion).warnings[0]


def test_changed_angle_beyond_a_turn_stays_beyond_it(tmp_path):
    motion = asf_amc.read(folder(tmp_path, amc=AMC.replace("shin 40", "shin 400")), ReadOptions())
    turned = motion.rotations.copy()
    turned[2, 2] = rotations.multiply(
        turned[2, 2], rotations.from_rotation_vector(np.array([0.0, np.radians(3.0), 0.0]))
    )
    asf_amc.write(replace(motion, rotations=turned), tmp_path / "leg_02.amc")
    document = source_of(asf_amc.read(tmp_path / "leg_02.amc", ReadOptions())).document
    assert document.values[:, document.columns["shin"]][:, 0] == pytest.approx([400, 400, 403, 400, 400])


def test_unit_up_and_rate_can_be_given(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions(unit=0.1, up="z", fps=60.0))
    assert motion.translations[0, 0] == pytest.approx([0.1, 1.725, 0.3])
    assert motion.fps == pytest.approx(60.0)
    assert source_of(motion).evidence["fps"].confidence == 1.0


def test_cut_clip_is_written_with_the_sources_numbers(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions()).frames(np.array([1, 2, 3]))
    asf_amc.write(motion, tmp_path / "leg_02.amc")
    again = asf_amc.read(tmp_path / "leg_02.amc", ReadOptions())
    assert np.array_equal(source_of(again).document.values, source_of(motion).document.values)


def test_resampled_clip_keeps_its_turns(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions())
    finer = motion.resampled(np.linspace(0.0, motion.duration, 9))
    hinges_only = finer.rotations.copy()
    finer = replace(finer, rotations=hinges_only)
    with pytest.warns(MotionWarning, match="--source-fps 240"):
        asf_amc.write(finer, tmp_path / "leg_02.amc")
    again = asf_amc.read(tmp_path / "leg_02.amc", ReadOptions(fps=240.0))
    assert rotations.angle_between(again.rotations, finer.rotations).max() < 1e-6


def test_turn_that_no_channel_states_is_warned_of(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions())
    turned = motion.rotations.copy()
    turned[:, 2] = rotations.from_rotation_vector(np.array([0.2, 0.0, 0.0]))
    with pytest.warns(MotionWarning, match="'shin'"):
        asf_amc.write(replace(motion, rotations=turned), tmp_path / "leg_02.amc")


def test_skeleton_goes_along_into_another_folder(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions())
    (tmp_path / "out").mkdir()
    asf_amc.write(motion, tmp_path / "out" / "new.amc")
    assert (tmp_path / "out" / "new.asf").read_text(encoding="utf-8") == ASF
    assert np.array_equal(asf_amc.read(tmp_path / "out" / "new.amc", ReadOptions()).rotations, motion.rotations)


def test_motion_from_elsewhere_is_refused(tmp_path):
    motion = replace(asf_amc.read(folder(tmp_path), ReadOptions()), source=None)
    with pytest.raises(InvalidValue, match=r"\.bvh, \.npz or \.glb"):
        asf_amc.write(motion, tmp_path / "new.amc")


def test_bones_of_another_length_are_refused(tmp_path):
    motion = asf_amc.read(folder(tmp_path), ReadOptions())
    with pytest.raises(InvalidValue, match="'shin' starts"):
        asf_amc.write(replace(motion, translations=1.5 * motion.translations), tmp_path / "new.amc")


def test_missing_skeleton_is_named(tmp_path):
    path = folder(tmp_path)
    (tmp_path / "leg.asf").rename(tmp_path / "a.asf")
    shutil.copy(tmp_path / "a.asf", tmp_path / "b.asf")
    with pytest.raises(FileFormatError, match=r"a\.asf, b\.asf.*skeleton"):
        asf_amc.read(path, ReadOptions())
    assert asf_amc.read(path, ReadOptions(skeleton=tmp_path / "a.asf")).frame_count == 5


def test_bare_skeleton_is_no_motion(tmp_path):
    folder(tmp_path)
    with pytest.raises(FileFormatError, match="load_skeleton"):
        asf_amc.read(tmp_path / "leg.asf", ReadOptions())
    assert asf_amc.read_skeleton(tmp_path / "leg.asf", ReadOptions()).joint_count == 4


ROOT_3, THIGH_3 = "root 1 17.75 3 10 20 30\n", "thigh 5 1.5 -7\n"
SPOILED_AMC = [
    ("", "No frame", 1),
    ("\x00\x01\x02", "No frame", 1),
    (AMC.replace("shin 40", "shin nan", 1), "not a finite number|first frame", 7),
    (AMC.replace("2\nroot 1 17.5 3 10 20 30", "2\nroot 1 inf 3 10 20 30", 1), "not a finite number", 10),
    (AMC.replace("2\nroot 1 17.5 3 10 20 30", "2\nroot 1 1_0 3 10 20 30", 1), "not a finite number", 10),
    (AMC.replace("2\nroot 1 17.5 3 10 20 30", "2\nroot 1 x 3 10 20 30", 1), "not a finite number", 10),
    (AMC[:-7], "inside frame 5|numbers in frame 5", None),
    (AMC[: AMC.rindex("foot")], "inside frame 5: 3 of 4", None),
    (AMC.replace("3\nroot", "4\nroot"), "Frame 4 follows frame 2", 14),
    (
        AMC.replace("3\nroot 1 17.75 3 10 20 30\nthigh 5 1.5 -7", "3\nthigh 5 1.5 -7\nroot 1 17.75 3 10 20 30"),
        "'root'",
        15,
    ),
    (AMC.replace("thigh 5 0.5 -7", "thigh 5 0.5"), "2 numbers", 6),
    (AMC.replace("shin", "calf"), "'calf'", 7),
    (AMC.replace("shin 40\n", ""), "lacks shin", None),
    (AMC.replace("shin 40\n", "shin 40\nshin 40\n", 1), "twice", 8),
    ("hello\n" + AMC, "comments", 1),
]


@pytest.mark.parametrize(("text", "problem", "line"), SPOILED_AMC)
def test_spoiled_clip_is_refused_at_its_line(tmp_path, text, problem, line):
    with pytest.raises(FileFormatError, match=problem) as caught:
        asf_amc.read(folder(tmp_path, amc=text), ReadOptions())
    assert line is None or caught.value.line == line
    assert caught.value.cure


SPOILED_ASF = [
    ("", "empty"),
    (ASF[:300], "ends inside|without section"),
    (ASF[: ASF.index(":hierarchy")], "without section :hierarchy"),
    (ASF.replace("length 10", "length -10"), "negative"),
    (ASF.replace("length 10", "length ten"), "needs 1 number"),
    (ASF.replace("length 10", "length nan"), "not a finite"),
    (ASF.replace("direction 0 -1 0", "direction 0 -1", 1), "needs 3"),
    (ASF.replace("direction 0 -1 0", "direction 0 -3 0", 1), "length 1"),
    (ASF.replace("dof rx rz", "dof rx l"), "fixed length"),
    (ASF.replace("dof rx rz", "dof rx rx"), "twice"),
    (ASF.replace("    thigh shin\n", "    thigh shin\n    root shin\n"), "two parents"),
    (ASF.replace("    root thigh\n    thigh shin\n", "    thigh shin\n    foot thigh\n"), "circle"),
    (ASF.replace("    shin foot\n", ""), "has no parent"),
    (ASF.replace("shin foot", "shin hand"), "'hand'"),
    (ASF.replace("name shin", "name thigh"), "second time"),
    (ASF.replace("length 0.45", "length 0"), "positive"),
    (ASF.replace("angle deg", "angle turns"), "deg or rad"),
    (ASF.replace("(-10 170)", "(170 -10)"), "limits"),
    (ASF.replace("           (-70 20)\n", ""), "pairs of limits"),
]


@pytest.mark.parametrize(("text", "problem"), SPOILED_ASF)
def test_spoiled_skeleton_is_refused(tmp_path, text, problem):
    with pytest.raises(FileFormatError, match=problem) as caught:
        asf_amc.read(folder(tmp_path, asf=text), ReadOptions())
    assert caught.value.line is not None
    assert caught.value.path.endswith("leg.asf")


def test_large_spoiled_clip_ends_quickly(tmp_path):
    frames = [FRAME.format(n=n, y=17.0, t=1.0) for n in range(1, 20001)]
    frames[-1] = frames[-1].replace("shin 40", "shin forty")
    path = folder(tmp_path, amc=":FULLY-SPECIFIED\n:DEGREES\n" + "".join(frames))
    began = time.process_time()
    with pytest.raises(FileFormatError, match="shin") as caught:
        asf_amc.read(path, ReadOptions())
    assert caught.value.line == 2 + 5 * 19999 + 4
    assert time.process_time() - began < 2.0  # the promise to every malformed file


def test_blocks_of_frames_join_without_a_gap(tmp_path):
    numbers = range(1, 4502)
    head = ":FULLY-SPECIFIED\n:DEGREES\n"
    frames = [FRAME.format(n=n, y=17.0, t=0.01 * n) for n in numbers]
    motion = asf_amc.read(folder(tmp_path, amc=head + "".join(frames)), ReadOptions())
    column = source_of(motion).document.columns["thigh"].start + 1
    assert source_of(motion).document.values[:, column] == pytest.approx(0.01 * np.array(numbers))
    del frames[asf_amc_frames.CHUNK_FRAMES]
    with pytest.raises(FileFormatError, match="Frame 2002 follows frame 2000"):
        asf_amc.read(folder(tmp_path, amc=head + "".join(frames)), ReadOptions())


@pytest.mark.parametrize(
    "make",
    [
        lambda: ":FULLY-SPECIFIED\n1\nroot " + "1 " * 5_000_000,
        lambda: ":FULLY-SPECIFIED\n" + "".join(f"{n}\n" for n in range(1, 500_000)),
        lambda: "#" * 5_000_000 + "\n1\n",
        lambda: " " * 5_000_000,
    ],
    ids=["endless line", "empty frames", "endless header", "blanks"],
)
def test_large_nonsense_ends_quickly(tmp_path, make):
    path = folder(tmp_path, amc=make())
    began = time.process_time()
    with pytest.raises(FileFormatError):
        asf_amc.read(path, ReadOptions())
    assert time.process_time() - began < 2.0  # the promise to every malformed file


def test_children_before_parents_are_sorted_and_said(tmp_path):
    blocks = ASF.split("  begin\n    id")
    swapped = blocks[0] + "  begin\n    id" + blocks[2] + "  begin\n    id" + blocks[1] + "  begin\n    id" + blocks[3]
    motion = asf_amc.read(folder(tmp_path, asf=swapped), ReadOptions())
    assert motion.skeleton.names == ("root", "thigh", "shin", "foot")
    assert "joint_order" in source_of(motion).evidence
