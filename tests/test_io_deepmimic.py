"""DeepMimic JSON: its clips, its hinges and durations, writing back, and the dialect that has no skeleton."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion, Source
from poise.io import deepmimic
from poise.io.format import ReadOptions
from tests.clips import MOTIONS, needs_motions


def joint(name: str, kind: str, parent: int, attach: tuple[float, float, float], **more: Any) -> dict[str, Any]:
    place = {f"Attach{c}": v for c, v in zip("XYZ", attach, strict=True)}
    return {"Name": name, "Type": kind, "Parent": parent, **place, **more}


CHARACTER = {
    "Skeleton": {
        "Joints": [
            joint("root", "none", -1, (0.0, 0.0, 50.0)),
            joint("hip", "spherical", 0, (0.0, -0.1, 0.0), AttachThetaX=0.5, AttachThetaZ=0.25),
            joint("knee", "revolute", 1, (0.0, -0.4, 0.0), LimLow0=-3.14, LimHigh0=0.0),
            joint("foot", "fixed", 2, (0.0, -0.4, 0.0), LimLow0=1, LimHigh0=0),
        ]
    },
    "BodyDefs": [
        {"Shape": "sphere", "Mass": 6.0, "AttachX": 0, "AttachY": 0.07, "AttachZ": 0, "Param0": 0.18},
        {"Shape": "capsule", "Mass": 4.0, "AttachX": 0, "AttachY": -0.2, "AttachZ": 0, "Param0": 0.1, "Param1": 0.3},
        {"Shape": "capsule", "Mass": 3.0, "AttachX": 0, "AttachY": -0.2, "AttachZ": 0, "Param0": 0.1, "Param1": 0.3},
        {
            "Shape": "box",
            "Mass": 1,
            "AttachX": 0.045,
            "AttachY": -0.0225,
            "Param0": 0.177,
            "Param1": 0.055,
            "Param2": 0.09,
        },
    ],
}


def frames(count: int = 4) -> list[list[float]]:
    half = 0.05
    root = [[0.1 + 0.01 * k if k < count - 1 else 0.0, 0.1 * k, 0.9, 0.2, 1.0, 0.0, 0.0, 0.0] for k in range(count)]
    hip = [[float(np.cos(half * k)), 0.0, float(np.sin(half * k)), 0.0] for k in range(count)]
    return [[*r, *h, -0.3 * k] for k, (r, h) in enumerate(zip(root, hip, strict=True))]


def folder(tmp_path: Path, clip: Any = None, character: Any = CHARACTER) -> Path:
    (tmp_path / "leg.txt").write_text(json.dumps(character), encoding="utf-8")
    path = tmp_path / "leg_kick.txt"
    text = clip if isinstance(clip, str) else json.dumps({"Loop": "wrap", "Frames": frames()} if clip is None else clip)
    path.write_text(text, encoding="utf-8")
    return path


def source_of(motion: Motion) -> Source:
    assert motion.source is not None
    return motion.source


CLIPS = [  # frames, duration, lowest and highest joint, root height, root path: the manifest's row
    ("deepmimic/humanoid3d_walk", 39, 1.27, 0.05, 1.36, 0.85, 0.87, 1.24),
    ("deepmimic/humanoid3d_backflip", 29, 1.75, 0.04, 1.71, 0.62, 1.18, 1.61),
    ("deepmimic/humanoid3d_crawl", 177, 2.93, -0.06, 0.49, 0.17, 0.40, 1.28),
    ("deepmimic/humanoid3d_roll", 121, 2.02, -0.05, 1.36, 0.10, 0.87, 1.35),
    ("deepmimic/humanoid3d_spinkick", 78, 1.28, 0.04, 1.83, 0.72, 1.11, 0.96),
    ("deepmimic/humanoid3d_getup_facedown", 183, 3.03, -0.02, 1.36, 0.09, 0.88, 0.71),
]
PRIVATE = "nc/dog3d_pace"


@needs_motions
@pytest.mark.parametrize(("name", "count", "seconds", "low", "high", "root_low", "root_high", "travel"), CLIPS)
def test_real_clip_stands_where_it_should(name, count, seconds, low, high, root_low, root_high, travel):
    motion = deepmimic.read(MOTIONS / f"{name}.txt", ReadOptions())
    heights, root = motion.world[0][..., 2], motion.translations[:, 0]
    assert motion.frame_count == count
    assert motion.skeleton.joint_count == 15
    assert motion.duration == pytest.approx(seconds, abs=0.006)
    assert [heights.min(), heights.max()] == pytest.approx([low, high], abs=0.006)
    assert [root[:, 2].min(), root[:, 2].max()] == pytest.approx([root_low, root_high], abs=0.006)
    assert np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1).sum() == pytest.approx(travel, abs=0.006)
    assert source_of(motion).loop is ("getup" not in name)


@needs_motions
@pytest.mark.parametrize("name", [*(c[0] for c in CLIPS), PRIVATE])
def test_write_after_read_returns_the_same_numbers(tmp_path, name):
    motion = deepmimic.read(MOTIONS / f"{name}.txt", ReadOptions())
    deepmimic.write(motion, tmp_path / Path(f"{name}.txt").name)
    again = deepmimic.read(tmp_path / Path(f"{name}.txt").name, ReadOptions())
    assert np.array_equal(source_of(again).document.values, source_of(motion).document.values)
    assert source_of(again).document.header == source_of(motion).document.header
    assert np.array_equal(again.times, motion.times)


def test_a_character_read_in_another_unit_is_written_as_large(tmp_path: Path) -> None:
    motion = poise.load(folder(tmp_path), unit="cm")
    (tmp_path / "small").mkdir()
    poise.save(motion, tmp_path / "small" / "clip.txt")
    again = poise.load(tmp_path / "small" / "clip.txt")
    assert np.allclose(again.world[0], motion.world[0], atol=1e-9)


@needs_motions
def test_varying_durations_are_kept():
    motion = deepmimic.read(MOTIONS / "deepmimic" / "humanoid3d_roll.txt", ReadOptions())
    assert not motion.is_uniform
    assert np.diff(motion.times).max() == pytest.approx(0.032666)


@needs_motions
def test_dog_finds_its_own_character_and_its_toes_reach_the_floor():
    motion = deepmimic.read(MOTIONS / "nc" / "dog3d_pace.txt", ReadOptions())
    lowest = min(motion.end_positions(e)[:, 2].min() for e in motion.skeleton.end_sites)
    assert motion.skeleton.joint_count == 23
    assert abs(lowest) < 0.05  # a paw stands on the floor
    assert abs(motion.translations[:, 0, 1]).max() < 10.0  # the root's attach point (50 m) is not added


@needs_motions
def test_feet_of_the_walk_point_forwards_and_stand_on_the_floor():
    motion = deepmimic.read(MOTIONS / "deepmimic" / "humanoid3d_walk.txt", ReadOptions())
    tip = next(e for e in motion.skeleton.end_sites if motion.skeleton.names[e.joint] == "right_ankle")
    travel = motion.translations[-1, 0] - motion.translations[0, 0]
    toe = motion.end_positions(tip) - motion.world[0][:, tip.joint]
    assert np.median(toe @ travel) > 0.0
    assert 0.0 < motion.end_positions(tip)[:, 2].min() < 0.06


def test_hinge_rest_and_fixed_joint(tmp_path):
    motion = deepmimic.read(folder(tmp_path), ReadOptions())
    skeleton = motion.skeleton
    assert set(skeleton.hinges) == {2}
    assert skeleton.hinges[2].axis == pytest.approx([0.0, 0.0, 1.0])
    assert (skeleton.hinges[2].lower, skeleton.hinges[2].upper) == (-3.14, 0.0)
    assert skeleton.fixed == {3}
    assert not skeleton.offsets[0].any()  # a root's attach point is not used
    about_x = rotations.from_rotation_vector(np.array([0.5, 0.0, 0.0]))
    about_z = rotations.from_rotation_vector(np.array([0.0, 0.0, 0.25]))
    assert rotations.angle_between(skeleton.rest_rotations[1], rotations.multiply(about_z, about_x)) < 1e-12
    assert rotations.to_rotation_vector(motion.rotations[2, 2]) == pytest.approx([0.0, 0.0, -0.6])
    assert motion.translations[1, 0] == pytest.approx([0.1, -0.2, 0.9])  # Y up turned: (x, y, z) → (x, -z, y)
    assert skeleton.end_sites[0].offset == pytest.approx([0.045 + 0.0885, -0.0225, 0.0])
    assert motion.times == pytest.approx([0.0, 0.1, 0.21, 0.33])


def test_changed_values_only(tmp_path):
    motion = deepmimic.read(folder(tmp_path), ReadOptions())
    turned, moved = motion.rotations.copy(), motion.translations.copy()
    turned[2, 2] = rotations.from_rotation_vector(np.array([0.0, 0.0, -0.7]))
    moved[1, 0, 2] += 0.01
    deepmimic.write(replace(motion, rotations=turned, translations=moved), tmp_path / "leg_new.txt")
    again = deepmimic.read(tmp_path / "leg_new.txt", ReadOptions())
    difference = source_of(again).document.values - source_of(motion).document.values
    assert [tuple(p) for p in np.argwhere(difference != 0.0)] == [(1, 2), (2, 12)]
    assert difference[1, 2] == pytest.approx(0.01)
    assert difference[2, 12] == pytest.approx(-0.1)


def test_changed_angle_beyond_a_turn_stays_beyond_it(tmp_path):
    clip = {"Frames": [[*row[:-1], -7.0] for row in frames()]}
    motion = deepmimic.read(folder(tmp_path, clip), ReadOptions())
    turned = motion.rotations.copy()
    turned[2, 2] = rotations.from_rotation_vector(np.array([0.0, 0.0, -7.1]))
    deepmimic.write(replace(motion, rotations=turned), tmp_path / "leg_new.txt")
    again = deepmimic.read(tmp_path / "leg_new.txt", ReadOptions())
    assert source_of(again).document.values[:, -1] == pytest.approx([-7.0, -7.0, -7.1, -7.0])


def test_cut_and_resampled_clips_are_written(tmp_path):
    motion = deepmimic.read(folder(tmp_path), ReadOptions())
    deepmimic.write(motion.frames(np.array([1, 2])), tmp_path / "leg_cut.txt")
    cut = deepmimic.read(tmp_path / "leg_cut.txt", ReadOptions())
    assert cut.times == pytest.approx([0.0, 0.11])
    finer = motion.resampled(np.linspace(0.0, motion.duration, 13))
    deepmimic.write(finer, tmp_path / "leg_fine.txt")
    again = deepmimic.read(tmp_path / "leg_fine.txt", ReadOptions())
    assert rotations.angle_between(again.rotations, finer.rotations).max() < 1e-7
    assert again.times == pytest.approx(finer.times)


def test_what_the_character_cannot_do_is_refused(tmp_path):
    motion = deepmimic.read(folder(tmp_path), ReadOptions())
    sideways = motion.rotations.copy()
    sideways[1, 2] = rotations.from_rotation_vector(np.array([0.1, 0.0, 0.0]))
    with pytest.raises(InvalidValue, match="'knee'"):
        deepmimic.write(replace(motion, rotations=sideways), tmp_path / "out.txt")
    stretched = motion.translations.copy()
    stretched[1, 2, 1] -= 0.1
    with pytest.raises(InvalidValue, match="'knee' moves"):
        deepmimic.write(replace(motion, translations=stretched), tmp_path / "out.txt")
    with pytest.raises(InvalidValue, match="read from DeepMimic"):
        deepmimic.write(replace(motion, source=None), tmp_path / "out.txt")
    assert not (tmp_path / "out.txt").exists()


def test_missing_character_is_named(tmp_path):
    path = folder(tmp_path)
    (tmp_path / "leg.txt").rename(tmp_path / "other.txt")
    assert deepmimic.read(path, ReadOptions()).frame_count == 4  # the only one that takes 13 numbers a frame
    wide = {"Skeleton": {"Joints": CHARACTER["Skeleton"]["Joints"][:2]}}
    (tmp_path / "other.txt").write_text(json.dumps(wide), encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"other\.txt \(12 numbers a frame\).*skeleton"):
        deepmimic.read(path, ReadOptions())


def test_bare_character_is_no_motion(tmp_path):
    folder(tmp_path)
    with pytest.raises(FileFormatError, match="load_skeleton"):
        deepmimic.read(tmp_path / "leg.txt", ReadOptions())
    assert deepmimic.read_skeleton(tmp_path / "leg.txt", ReadOptions()).joint_count == 4


GOOD = {"Loop": "wrap", "Frames": frames()}
TEXT = json.dumps(GOOD, indent=1)


def with_value(frame: int, column: int, value: Any) -> str:
    rows = [list(r) for r in frames()]
    rows[frame][column] = value
    return '{"Loop": "wrap",\n"Frames": [\n' + ",\n".join(json.dumps(r) for r in rows) + "\n]}"


SPOILED = [
    ("", "empty", 1),
    ("  \n", "empty", None),
    ("\x00\x01", "not JSON", 1),
    (TEXT[:-40], "not JSON", None),
    ("[" * 100000, "nested", None),
    ('{"Frames": [[1]], "Frames": [[1]]}', "appears twice", None),
    ('{"Frames": [' + "1.5," * 3_000_000 + "1]}", "at most", None),
    ('{"Frames": []}', "no frame", None),
    ('{"Frames": 7}', "no frame", None),
    ('{"Frames": {"a": [1]}}', "no frame", None),
    ('{"Loop": "wrap"}', "no 'Frames'", None),
    ("[1, 2]", "no 'Frames'", None),
    (with_value(2, 3, "0.2"), "Frame 2 is not a list of numbers", 5),
    (with_value(2, 3, True), "Frame 2 is not a list of numbers", 5),
    (with_value(2, 3, None), "Frame 2 is not a list of numbers", 5),
    (with_value(2, 3, float("nan")), "NaN", None),
    (with_value(2, 3, float("inf")), "Infinity", None),
    (with_value(2, 3, 0.2).replace("0.2,", "1e999,", 1), "too large", None),
    (with_value(2, 3, 10**400), "too large", None),
    (with_value(2, 0, -0.1), "Frame 2 has duration -0.1", 5),
    (with_value(1, 0, 0.0), "Frame 1 has duration 0", 4),
    (with_value(3, 0, -1.0), "Frame 3 has duration", 6),
    (with_value(2, 4, 9.0), "'root' in frame 2 has length", 5),
    (with_value(1, 12, 0.0).replace(", 0.0],\n[", "],\n[", 1), "Frame 1 has 12", 4),
]


@pytest.mark.parametrize(("text", "problem", "line"), SPOILED)
def test_spoiled_clip_is_refused(tmp_path, text, problem, line):
    path = folder(tmp_path, text)
    began = time.process_time()
    with pytest.raises(FileFormatError, match=problem) as caught:
        deepmimic.read(path, ReadOptions(skeleton=tmp_path / "leg.txt"))
    assert time.process_time() - began < 2.0  # the promise to every malformed file
    assert line is None or caught.value.line == line
    assert caught.value.cure


def spoiled_character(**change: Any) -> dict[str, Any]:
    joints = [dict(j) for j in CHARACTER["Skeleton"]["Joints"]]
    joints[2] |= change
    return {"Skeleton": {"Joints": joints}}


@pytest.mark.parametrize(
    ("character", "problem"),
    [
        ({"Skeleton": {}}, "not a DeepMimic character"),
        ({"Skeleton": {"Joints": []}}, "not a DeepMimic character"),
        ({"Skeleton": {"Joints": [3]}}, "not a JSON object"),
        (spoiled_character(Parent=2), "parents come first"),
        (spoiled_character(Parent=-1), "only root"),
        (spoiled_character(Parent=1.0), "hangs on"),
        (spoiled_character(Type="prismatic"), "prismatic"),
        (spoiled_character(AttachX="far"), "not a number"),
        (spoiled_character(AttachX=1e12), "sensible size"),
        (spoiled_character(Name=5), "not a text"),
    ],
)
def test_spoiled_character_is_refused(tmp_path, character, problem):
    path = folder(tmp_path, character=character)
    with pytest.raises(FileFormatError, match=problem) as caught:
        deepmimic.read(path, ReadOptions(skeleton=tmp_path / "leg.txt"))
    assert caught.value.path.endswith("leg.txt")


@needs_motions
def test_clip_without_a_skeleton_is_described_and_refused():
    path = MOTIONS / "quadruped" / "hopturn.txt"
    facts = deepmimic.describe(path, ReadOptions())
    assert facts is not None
    assert (facts["frames"], facts["channels"], facts["hinges"], facts["loop"], facts["up"]) == (91, 19, 12, True, "z")
    assert facts["fps"] == pytest.approx(24.0)
    assert facts["root_height_m"] == pytest.approx([0.26, 0.53], abs=0.006)
    with pytest.raises(FileFormatError, match="no skeleton"):
        deepmimic.read(path, ReadOptions())
