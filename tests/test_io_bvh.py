"""BVH in: every dialect that is about, and what the real clips say of each other."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import poise.io
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue, UnreadableFile
from poise.core.motion import Motion
from poise.core.skeleton import rest_pose
from poise.core.units import CMU_UNIT, UNITS
from poise.io.bvh_document import BvhDocument
from poise.io.bvh_table import parse_numbers
from tests.bvh_texts import (
    FIGURE,
    PERSON,
    SIX,
    Joint,
    bvh,
    changed,
    hierarchy,
    motion_text,
    put,
    scaled,
    slow_positions,
    values,
    z_up,
)
from tests.clips import MOTIONS, first_cases, needs_motions


def document(motion: Motion) -> BvhDocument:
    assert motion.source is not None
    assert isinstance(motion.source.document, BvhDocument)
    return motion.source.document


def read(folder: Path, text: str | bytes, **options: object) -> Motion:
    return poise.io.load(put(folder, text), **options)  # pyright: ignore[reportArgumentType]


def assert_read_as(motion: Motion, joints: tuple[Joint, ...], table: np.ndarray, unit: float, **how: bool) -> None:
    expected = unit * z_up(slow_positions(joints, table, **how))
    np.testing.assert_allclose(motion.world[0], expected, atol=1e-9)  # sums of a few rounded products


def test_a_plain_file_is_read_as_its_channels_say(tmp_path: Path) -> None:
    motion = read(tmp_path, bvh())
    assert motion.source is not None
    assert motion.skeleton.names == tuple(j.name for j in FIGURE)
    assert (motion.source.unit, motion.source.up, motion.source.format) == (0.01, "y", "bvh")
    assert motion.fps == pytest.approx(1.0 / 0.0333333)
    assert_read_as(motion, FIGURE, values(), 0.01)
    positions, _ = rest_pose(motion.skeleton)
    np.testing.assert_allclose(positions[0], [0.0, 0.0, 0.9], atol=1e-12)  # the root's OFFSET, upright
    np.testing.assert_allclose(positions[3], [0.1, 0.0, 0.9 - 0.87], atol=1e-12)


def test_rotation_orders_differ_from_joint_to_joint(tmp_path: Path) -> None:
    orders = ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"]
    joints = tuple(
        j._replace(channels=" ".join(f"{a}rotation" for a in orders[k % 6])) if j.parent else j
        for k, j in enumerate(FIGURE)
    )
    assert_read_as(read(tmp_path, bvh(joints)), joints, values(joints), 0.01)


def test_six_channels_on_every_joint_replace_offset(tmp_path: Path) -> None:
    joints = tuple(j._replace(channels=SIX) for j in FIGURE)
    motion = read(tmp_path, bvh(joints))
    assert_read_as(motion, joints, values(joints), 0.01)
    assert motion.skeleton.translating == frozenset(range(len(joints)))
    assert motion.source is not None
    assert motion.source.evidence["positions"].value == "replace OFFSET"
    assert motion.source.evidence["positions"].confidence > 0.9


def test_a_joint_that_leaves_its_offset_far_behind_replaces_it(tmp_path: Path) -> None:
    joints = tuple(j._replace(channels=SIX) for j in FIGURE)
    table = values(joints)
    column = 6
    for joint in joints[1:]:  # drawn like a bowstring: on OFFSET in the first frame, near the parent in the others
        share = np.where(np.arange(len(table)) == 0, 1.0, 0.1)
        table[:, column : column + 3] = share[:, None] * np.array(joint.offset)
        column += 6
    motion = read(tmp_path, bvh(joints, table))
    assert motion.source is not None
    assert motion.source.evidence["positions"].value == "replace OFFSET"


def test_six_channels_near_zero_are_added_to_offset(tmp_path: Path) -> None:
    joints = tuple(j._replace(channels=SIX) for j in FIGURE)
    table = values(joints)
    column = 6
    for joint in joints[1:]:
        table[:, column : column + 3] -= joint.offset
        column += 6
    table = table.round(4)
    motion = read(tmp_path, bvh(joints, table))
    assert motion.source is not None
    assert motion.source.evidence["positions"].value == "add to OFFSET"
    assert_read_as(motion, joints, table, 0.01, adds=True)


def test_the_roots_positions_replace_its_offset(tmp_path: Path) -> None:
    joints = changed(FIGURE, "Hips", offset=(11.0, 95.0, -54.0))
    table = values(FIGURE)
    assert_read_as(read(tmp_path, bvh(joints, table)), joints, table, 0.01)


def test_a_missing_position_channel_leaves_the_offset(tmp_path: Path) -> None:
    joints = changed(FIGURE, "Spine", channels="Yposition Zrotation Xrotation Yrotation")
    assert_read_as(read(tmp_path, bvh(joints)), joints, values(joints), 0.01)


@pytest.mark.parametrize("name", ["mixamorig:Hips", "Bip01 Spine.001", "hip-left", "Hüfte", "腰", "a b  c"])
def test_names_may_hold_anything(tmp_path: Path, name: str) -> None:
    joints = tuple(
        j._replace(name=name if j.name == "Spine" else j.name, parent=name if j.parent == "Spine" else j.parent)
        for j in FIGURE
    )
    assert read(tmp_path, bvh(joints)).skeleton.names[7] == name


def test_a_name_in_an_old_encoding_is_kept(tmp_path: Path) -> None:
    text = bvh(changed(FIGURE, "Head", name="Kopfhöhe")).encode("latin-1")
    motion = read(tmp_path, text)
    assert "Kopfhöhe" in motion.skeleton.names
    assert document(motion).encoding == "latin-1"


def test_end_sites_are_kept(tmp_path: Path) -> None:
    motion = read(tmp_path, bvh())
    tips = {motion.skeleton.names[s.joint]: s.offset.tolist() for s in motion.skeleton.end_sites}
    assert tips == {
        "LeftFoot": [0.0, -0.05, 0.15],
        "RightFoot": [0.0, -0.05, 0.15],
        "Head": [0.0, 0.2, 0.0],
        "LeftHand": [0.15, 0.0, 0.0],
    }


def test_a_dummy_root_above_the_hips(tmp_path: Path) -> None:
    joints = (Joint("Armature", "", (0, 0, 0), SIX), *changed(FIGURE, "Hips", parent="Armature"))
    assert_read_as(read(tmp_path, bvh(joints)), joints, values(joints), 0.01)


@pytest.mark.parametrize("unit", ["m", "cm", "inch", "mm", "cmu"])
def test_the_unit_is_guessed_from_the_leg(tmp_path: Path, unit: str) -> None:
    k = 0.01 / UNITS[unit]
    joints = scaled(FIGURE, k)
    table = values(FIGURE)
    table[:, :3] *= k
    motion = read(tmp_path, bvh(joints, table))
    assert motion.source is not None
    assert motion.source.unit == UNITS[unit]
    evidence = motion.source.evidence["unit"]
    assert evidence.confidence > 0.5
    assert "LeftUpLeg – LeftLeg – LeftFoot" in evidence.reason


@pytest.mark.parametrize("size", [0.6, 1.5])
def test_small_and_large_people_are_still_in_centimetres(tmp_path: Path, size: float) -> None:
    motion = read(tmp_path, bvh(scaled(FIGURE, size)))
    assert motion.source is not None
    assert motion.source.unit == 0.01


def test_the_users_unit_wins(tmp_path: Path) -> None:
    for given, metres in (("inch", 0.0254), (0.5, 0.5), ("0.2", 0.2)):
        motion = read(tmp_path, bvh(), unit=given)
        assert_read_as(motion, FIGURE, values(), metres)
    with pytest.raises(InvalidValue, match="inch"):
        read(tmp_path, bvh(), unit="parsec")


def test_z_up_is_seen_and_can_be_said(tmp_path: Path) -> None:
    def turned(v: tuple[float, float, float]) -> tuple[float, float, float]:
        return (v[0], -v[2], v[1])

    joints = tuple(j._replace(offset=turned(j.offset), tip=turned(j.tip) if j.tip else None) for j in FIGURE)
    table = values(joints)
    motion = read(tmp_path, bvh(joints, table))
    assert motion.source is not None
    assert motion.source.up == "z"
    np.testing.assert_allclose(motion.world[0], 0.01 * slow_positions(joints, table), atol=1e-9)
    np.testing.assert_array_equal(motion.skeleton.rest_rotations[0], rotations.IDENTITY)
    forced = read(tmp_path, bvh(joints, table), up="y")
    np.testing.assert_allclose(forced.world[0], 0.01 * z_up(slow_positions(joints, table)), atol=1e-9)


@pytest.mark.parametrize("up", ["y", "z"])
def test_a_figure_of_unknown_names_is_known_by_its_shape(tmp_path: Path, up: str) -> None:
    number = {j.name: f"bone{k}" for k, j in enumerate(PERSON)} | {"": ""}
    joints = tuple(j._replace(name=number[j.name], parent=number[j.parent]) for j in PERSON)
    path = put(tmp_path, bvh(joints))
    poise.io.save(poise.io.load(path, up="y", unit="cm"), tmp_path / "other.bvh", up=up)
    text = (tmp_path / "other.bvh").read_text(encoding="utf-8")
    (tmp_path / "other.bvh").write_text("\n".join(map(str.rstrip, text.splitlines())), encoding="utf-8")  # not noted
    motion = poise.io.load(tmp_path / "other.bvh")
    assert motion.source is not None
    assert (motion.source.up, motion.source.unit) == (up, 0.01)
    assert "by shape thigh and shank (bone1 – bone2 – bone3)" in motion.source.evidence["unit"].reason


def test_a_leg_that_ends_too_soon_is_no_leg(tmp_path: Path) -> None:
    joints = (*FIGURE[:1], Joint("LeftUpLeg", "Hips", (10, -5, 0), tip=(0, -80, 0)))
    motion = read(tmp_path, bvh(joints))
    assert motion.source is not None
    assert "no leg was known by name" in motion.source.evidence["unit"].reason


def test_y_up_is_turned_at_the_root_alone(tmp_path: Path) -> None:
    motion = read(tmp_path, bvh(table=np.zeros((2, 39))))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(motion.rotations[0, 0], [half, half, 0.0, 0.0])
    np.testing.assert_array_equal(motion.rotations[0, 1:], np.tile(rotations.IDENTITY, (11, 1)))
    np.testing.assert_allclose(motion.skeleton.offsets[7], [0.0, 0.25, 0.0])


@pytest.mark.parametrize("literal", [".0083333", "0.008333", "8.3333e-3", "+0.0083333", "1."])
def test_frame_times_are_read_as_they_stand(tmp_path: Path, literal: str) -> None:
    motion = read(tmp_path, hierarchy() + motion_text(values(), time=literal))
    assert motion.dt == pytest.approx(float(literal), rel=1e-12)
    assert document(motion).frame_time == float(literal)
    assert read(tmp_path, hierarchy() + motion_text(values(), time=literal), fps=60.0).dt == pytest.approx(1 / 60)


def test_a_wrong_frame_count_names_both(tmp_path: Path) -> None:
    for declared in (4, 6, 10**12):
        text = hierarchy() + motion_text(values(), frames=declared)
        with pytest.raises(FileFormatError, match=rf"declares {declared} frames and holds 5 rows.*frames_from_data"):
            read(tmp_path, text)
        assert read(tmp_path, text, frames_from_data=True).frame_count == 5


def test_a_cut_row_is_always_an_error(tmp_path: Path) -> None:
    text = bvh().rstrip("\n")
    cut = text[: text.rindex(" ")]
    for options in ({}, {"frames_from_data": True}):
        with pytest.raises(FileFormatError, match=r"last row is cut off: 38 of 39 numbers") as caught:
            read(tmp_path, cut, **options)
        assert caught.value.line == text.count("\n") + 1


@pytest.mark.parametrize("row_end", ["\n", "\r\n", "\r", " \t\r\n\r\n"])
def test_line_ends_blanks_tabs_and_exponents(tmp_path: Path, row_end: str) -> None:
    table = values()
    rows = ["\t".join(f"{x:.10e}" for x in row) for row in table]
    head = hierarchy().replace("\n", row_end)
    text = (
        head + f"MOTION{row_end}Frames:\t5{row_end}Frame Time:\t0.0333333{row_end}" + row_end.join(rows) + row_end * 3
    )
    assert_read_as(read(tmp_path, text), FIGURE, table, 0.01)


def test_mixed_line_ends_and_no_last_one(tmp_path: Path) -> None:
    lines = bvh().rstrip("\n").split("\n")
    text = "".join(line + ("\r\n" if k % 3 else "\n") for k, line in enumerate(lines[:-1])) + lines[-1]
    assert_read_as(read(tmp_path, text), FIGURE, values(), 0.01)


@pytest.mark.parametrize("per_line", [1, 7, 40, 10_000])
def test_frames_wrapped_over_lines_are_read(tmp_path: Path, per_line: int) -> None:
    plain = bvh()
    head, table = plain[: plain.index("Frame Time")], plain[plain.index("Frame Time") :]
    first, *rows = table.split("\n")
    words = " ".join(rows).split()
    wrapped = "\n".join(" ".join(words[k : k + per_line]) for k in range(0, len(words), per_line))
    motion = read(tmp_path, f"{head}{first}\n{wrapped}\n")
    np.testing.assert_array_equal(document(motion).values, document(read(tmp_path, plain)).values)
    poise.io.save(motion, tmp_path / "again.bvh")
    again = poise.io.load(tmp_path / "again.bvh")
    np.testing.assert_array_equal(document(motion).values, document(again).values)


def test_a_number_too_few_in_wrapped_frames_is_an_error(tmp_path: Path) -> None:
    head, _, table = bvh().partition("Frame Time")
    first, _, rows = table.partition("\n")
    with pytest.raises(FileFormatError, match="A row of 1 numbers"):
        read(tmp_path, f"{head}Frame Time{first}\n" + "\n".join(rows.split()[:-1]))


@pytest.mark.parametrize("change", [str.upper, str.lower, str.swapcase])
def test_keywords_in_any_case(tmp_path: Path, change) -> None:
    text = bvh()
    for word in ("HIERARCHY", "ROOT", "JOINT", "End Site", "OFFSET", "CHANNELS", "MOTION", "Frames", "Frame Time"):
        text = text.replace(word, change(word))
    for axis in "XYZ":
        text = text.replace(f"{axis}rotation", change(f"{axis}rotation")).replace(
            f"{axis}position", change(f"{axis}position")
        )
    assert_read_as(read(tmp_path, text), FIGURE, values(), 0.01)


def test_braces_may_share_a_line_and_a_byte_order_mark_may_stand_in_front(tmp_path: Path) -> None:
    text = "\ufeff" + bvh().replace("LeftLeg\n\t\t{", "LeftLeg {")
    assert "LeftLeg {" in text
    motion = read(tmp_path, text)
    assert motion.skeleton.names[2] == "LeftLeg"


def test_joints_with_no_one_or_two_channels(tmp_path: Path) -> None:
    joints = changed(
        changed(changed(FIGURE, "LeftLeg", channels="Xrotation"), "Head", channels=""),
        "Spine",
        channels="Zrotation Yrotation",
    )
    motion = read(tmp_path, bvh(joints))
    assert_read_as(motion, joints, values(joints), 0.01)
    names = motion.skeleton.names
    assert {names[j]: h.axis.tolist() for j, h in motion.skeleton.hinges.items()} == {"LeftLeg": [1.0, 0.0, 0.0]}
    assert [names[j] for j in motion.skeleton.fixed] == ["Head"]
    assert motion.source is not None
    assert any("Spine" in w for w in motion.source.warnings)


def test_a_joint_may_lack_the_channels_line(tmp_path: Path) -> None:
    joints = changed(FIGURE, "Head", channels="")
    text = bvh(joints).replace("\n\t\t\tCHANNELS 0", "")
    assert_read_as(read(tmp_path, text), joints, values(joints), 0.01)


def test_positions_may_stand_after_rotations(tmp_path: Path) -> None:
    joints = changed(FIGURE, "Hips", channels="Yrotation Xrotation Zrotation Zposition Xposition Yposition")
    assert_read_as(read(tmp_path, bvh(joints)), joints, values(joints), 0.01)


def test_rest_pose_is_told(tmp_path: Path) -> None:
    motion = read(tmp_path, bvh())
    assert motion.source is not None
    assert motion.source.evidence["rest_pose"].value == "T-pose"


def test_content_tells_the_format_before_the_extension(tmp_path: Path) -> None:
    path = put(tmp_path, bvh(), "clip.amc")
    motion = poise.io.load(path)
    assert motion.source is not None
    assert motion.source.format == "bvh"


def test_a_bare_skeleton_is_named(tmp_path: Path) -> None:
    path = put(tmp_path, hierarchy())
    with pytest.raises(FileFormatError, match="load_skeleton"):
        poise.io.load(path)
    skeleton = poise.io.load_skeleton(path)
    assert skeleton.names == tuple(j.name for j in FIGURE)
    np.testing.assert_allclose(np.linalg.norm(skeleton.offsets[2]), 0.42)


@pytest.mark.parametrize("suffix", ["fbx", "blend"])
def test_other_programs_files_get_the_line_that_cures(tmp_path: Path, suffix: str) -> None:
    path = put(tmp_path, b"Kaydara", f"clip.{suffix}")
    with pytest.raises(FileFormatError, match=r"blender -b --python-expr .*export_scene\.gltf.*clip\.glb"):
        poise.io.load(path)


def test_no_file_no_folder_no_format(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="no file"):
        poise.io.load(tmp_path / "none.bvh")
    with pytest.raises(UnreadableFile, match="folder"):
        poise.io.load(tmp_path)
    with pytest.raises(FileFormatError, match=r"\.bvh, \.amc"):
        poise.io.load(put(tmp_path, "hello", "notes.md"))


def test_many_numbers_at_once_equal_one_by_one() -> None:
    draw = np.random.default_rng(0)
    words = [
        f"{x:.{d}f}" for x, d in zip(draw.normal(0.0, 10.0 ** draw.integers(-3, 5, 4000)), draw.integers(0, 9, 4000))
    ]
    words += ["-0.0", ".5", "-.5", "5.", "+3", "007", "-0", "123456789012345"]
    parsed = parse_numbers(" \t\n".join(words).encode())
    assert parsed is not None
    expected = np.array([float(w) for w in words])
    np.testing.assert_array_equal(parsed, expected)
    np.testing.assert_array_equal(np.signbit(parsed), np.signbit(expected))
    long = ["0.1234567890123456789", "1e-5", "-2.5E+3"]
    np.testing.assert_array_equal(parse_numbers(" ".join(long).encode()), [float(w) for w in long])
    for bad in ("1.2.3", "1-2", "--1", ".", "-", "1,5", "abc", "0x10"):
        found = parse_numbers(f"1 {bad} 2".encode())
        assert found is None or found.size != 3, bad


@needs_motions
def test_the_same_motion_in_two_units_is_the_same_motion() -> None:
    folder = MOTIONS / "bvh" / "cmu_3dsmax"
    cmu, metres = poise.io.load(folder / "131_01.bvh"), poise.io.load(folder / "scaled_131_01.bvh")
    assert cmu.source is not None
    assert metres.source is not None
    assert (cmu.source.unit, metres.source.unit) == (CMU_UNIT, 1.0)
    assert metres.frame_count == cmu.frame_count + 1
    # the scaled file is printed with six digits and its scaling rounded its angles to about 1e-5 degrees
    np.testing.assert_allclose(metres.world[0][:-1], cmu.world[0], atol=2e-5)


@needs_motions
@pytest.mark.parametrize(
    ("name", "unit", "up", "leg", "dialect"),
    [
        ("bvh/cmu_3dsmax/143_32.bvh", CMU_UNIT, "y", 0.739, "CMU, 3ds Max release"),
        ("bvh/cmu_motionbuilder/02_01.bvh", CMU_UNIT, "y", 0.840, "CMU, MotionBuilder release"),
        ("bvh/cmu_daz/05_20-daz.bvh", 0.01, "y", 0.822, "Daz / Poser"),
        ("bvh/accad/Female1_A10_LieToCrouch.bvh", 0.01, "y", 0.803, "ACCAD"),
        ("bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh", 0.0254, "y", 0.820, "HumanIK names"),
        ("bvh/other/bvh_example.bvh", 0.0254, "z", 0.826, "HumanIK names"),
    ],
)
def test_real_clips_are_known(name: str, unit: float, up: str, leg: float, dialect: str) -> None:
    motion = poise.io.load(MOTIONS / name)
    assert motion.source is not None
    assert (motion.source.unit, motion.source.up) == (unit, up)
    assert motion.source.evidence["dialect"].value == dialect
    assert f"{leg:.2f} m" in motion.source.evidence["unit"].reason


def test_a_biped_is_known_behind_the_numbers_of_an_exporter(tmp_path: Path) -> None:
    lines, count = poise.sample_path("walk").read_text(encoding="utf-8").split("\n"), 0
    for k, line in enumerate(lines):
        if line.strip().startswith("JOINT"):
            lines[k], count = f"{line.replace('LeftUpLeg', 'Bip001_L_Thigh')}_{count}", count + 1
    motion = read(tmp_path, "\n".join(lines))
    assert motion.source is not None
    assert motion.source.evidence["dialect"].value == "3ds Max Biped"
    assert "Bip001_L_Thigh_" in motion.source.evidence["dialect"].reason


def test_a_naming_scheme_is_shown_by_the_names_of_the_file(tmp_path: Path) -> None:
    text = poise.sample_path("walk").read_text(encoding="utf-8")
    for before, after in (("JOINT LeftUpLeg", "JOINT lHip"), ("JOINT LeftLeg", "JOINT lKnee")):
        assert before in text
        text = text.replace(before, after)
    motion = read(tmp_path, text)
    assert motion.source is not None
    assert motion.source.evidence["dialect"].value == "own names"
    motion = read(tmp_path, text.replace("ROOT Hips", "ROOT Pelvis"))
    assert motion.source is not None
    assert motion.source.evidence["dialect"].reason == "joints lHip and lKnee"


@pytest.mark.long
@needs_motions
def test_real_clips_stand_on_the_floor() -> None:
    for path in sorted((MOTIONS / "bvh").rglob("*.bvh")):
        motion = poise.io.load(path)
        lowest, highest = motion.world[0][..., 2].min(), motion.world[0][..., 2].max()
        assert -0.11 < lowest < 0.12, path.name  # the manifest's -0.10 … 0.07, a little wider
        assert 0.7 < highest < 2.25, path.name


@needs_motions
def test_position_channels_on_every_joint_of_a_real_clip() -> None:
    motion = poise.io.load(MOTIONS / "nc" / "dataset-1_walk_normal_002.bvh")
    assert motion.source is not None
    assert len(motion.skeleton.translating) == motion.skeleton.joint_count
    assert motion.source.evidence["positions"].value == "replace OFFSET"
    assert motion.source.evidence["rest_pose"].value == "no pose"
    hips = motion.world[0][:, 1, 2]
    assert 0.85 < hips.min() < hips.max() < 1.0


@needs_motions
def test_a_clip_longer_than_one_piece_has_the_same_numbers(tmp_path: Path) -> None:
    source = (MOTIONS / "bvh" / "cmu_3dsmax" / "143_04.bvh").read_text(encoding="utf-8")
    front, rows = source.split("Frame Time: .0083333\n")
    text = front.replace("1085", str(1085 * 3)) + "Frame Time: .0083333\n" + 3 * (rows.rstrip("\n") + "\n")
    long = read(tmp_path, text)
    once = poise.io.load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_04.bvh")
    np.testing.assert_array_equal(document(long).values[1085:2170], document(once).values)


@first_cases(1, "kind", ["as written", "short numbers", "wrapped"])
def test_a_long_file_takes_less_than_ten_times_its_size_in_memory(kind: str, tmp_path: Path) -> None:
    text = poise.sample_path("walk").read_text()
    head, rows = text.split("MOTION")[0], text.split("MOTION")[1].strip().split("\n")
    frame_time, rows = rows[1], rows[2:]
    if kind == "short numbers":
        rows = [" ".join(f"{float(x):.2f}" for x in row.split()) for row in rows]
    times = 3_000_000 // len("\n".join(rows))
    count = times * len(rows)
    if kind == "wrapped":
        rows = [row.replace(" ", "\n", 30).replace("\n", " ", 29) for row in rows]
    path = tmp_path / "long.bvh"
    path.write_text(f"{head}MOTION\nFrames: {count}\n{frame_time}\n" + ("\n".join(rows) + "\n") * times)
    poise.load(poise.sample_path("walk"))  # what is loaded once is not the file's
    tracemalloc.start()
    try:
        motion = poise.load(path)
        on_reading = tracemalloc.get_traced_memory()[1] / path.stat().st_size
        _ = motion.world
        in_all = tracemalloc.get_traced_memory()[1] / path.stat().st_size
    finally:
        tracemalloc.stop()
    assert motion.frame_count == count
    assert on_reading < 9.0
    assert in_all < 10.0
    short = poise.load(poise.sample_path("walk"))  # a short clip is asked where its joints are while it is read
    tolerance = 2e-3 if kind == "short numbers" else 1e-9
    for ours, its in zip(motion.world, short.world):
        np.testing.assert_allclose(ours[: short.frame_count], its, atol=tolerance)


@pytest.mark.long
def test_many_leaves_take_less_than_ten_times_the_file(tmp_path: Path) -> None:
    """Each End Site is a point like a joint, without numbers of its own in the file."""
    leaf = (
        "JOINT j{0}\n{{\nOFFSET {0} 1 0\nCHANNELS 3 Zrotation Xrotation Yrotation\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}\n"
    )
    channels = "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    head = f"HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\n{channels}" + "".join(leaf.format(k) for k in range(300)) + "}\n"
    values = 30.0 * np.sin(np.arange(200)[:, None] / 15.0 + np.arange(906))
    rows = "\n".join(" ".join(f"{v:.4f}" for v in row) for row in values)
    path = tmp_path / "leaves.bvh"
    path.write_text(f"{head}MOTION\nFrames: 200\nFrame Time: 0.0333333\n{rows}\n")
    poise.load(poise.sample_path("walk"))  # what is loaded once is not the file's
    tracemalloc.start()
    try:
        poise.load(path)
        assert tracemalloc.get_traced_memory()[1] < 9.0 * path.stat().st_size
    finally:
        tracemalloc.stop()
