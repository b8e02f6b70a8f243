"""Evidence weighed in one place: what is decided, how sure it is, and that a witness may be mistaken."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
import poise.io
from poise.core import rotations
from poise.core.errors import FileFormatError, InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.core.units import UNITS
from poise.intake import Custom, read_as, weigh
from poise.intake import table as tables
from poise.intake.anatomy import anatomy_of, height_in_meters, height_of, is_hand, without_counts
from poise.intake.figure import Figure
from poise.intake.reading import size_doubt
from poise.io.format import UP_AXES, door_turn, ground_from
from poise.phases import carried_ground, carrying
from poise.samples import sample_path
from poise.terrain import Terrain
from tests.bvh_texts import PERSON, bvh, put, values
from tests.character_figures import dog, person
from tests.clips import MOTIONS, first_cases, needs_motions

ANY_UP = dict.fromkeys(UP_AXES, 1.0)
"""A custom that favors no axis."""
UNITS_OF_BVH = {"cm": 0.55, "m": 0.12, "inch": 0.12, "mm": 0.06, "cmu": 0.03, "dm": 0.03, "ft": 0.01}


def walk() -> Motion:
    return poise.io.load(sample_path("walk"))


def in_file_axes(motion: Motion, up: str, unit: float = 1.0) -> Motion:
    """The motion (Z up, meters) as a file would hold it whose up axis and unit are these."""
    back = rotations.conjugate(door_turn(up))
    translations, turned = motion.translations / unit, motion.rotations.copy()
    translations[:, 0] = rotations.rotate(back, translations[:, 0])
    turned[:, 0] = rotations.multiply(back, turned[:, 0])
    rest = motion.skeleton.rest_rotations.copy()
    rest[0] = rotations.multiply(back, rest[0])
    offsets = motion.skeleton.offsets / unit
    offsets[0] = rotations.rotate(back, offsets[0])
    sites = tuple(replace(s, offset=s.offset / unit) for s in motion.skeleton.end_sites)
    skeleton = replace(motion.skeleton, offsets=offsets, rest_rotations=rest, end_sites=sites)
    return Motion(skeleton, motion.times, translations, turned)


def custom(**given: object) -> Custom:
    return Custom(**{"kind": "files", "up": ANY_UP, "units": UNITS_OF_BVH} | given)  # pyright: ignore[reportArgumentType]


# --- the table -------------------------------------------------------------------------------------------------


def say(witness: str, *likelihood: float) -> tables.Testimony[str]:
    return tables.Testimony(witness, np.array(likelihood), lambda c: f"{witness} of {c}")


def test_the_prior_decides_where_nobody_saw_anything() -> None:
    answer = weigh("ab", np.array([3.0, 1.0]), [None]).ask(str)
    assert answer.value == "a"
    assert answer.confidence == pytest.approx(0.75)
    assert answer.reasons == ()


def test_two_witnesses_outweigh_one_that_is_sure() -> None:
    table = weigh("ab", np.ones(2), [say("sure", 1.0, 0.0), say("first", 0.05, 1.0), say("second", 0.05, 1.0)])
    answer = table.ask(str)
    assert answer.value == "b"
    assert answer.reasons == ("first of b", "second of b")
    assert answer.doubts == ("sure of b",)
    assert "against it: sure of b" in answer.sentence


def test_confidence_is_summed_over_what_the_question_leaves_open() -> None:
    pairs = [("a", 1), ("a", 2), ("b", 1)]
    answer = weigh(pairs, np.array([0.3, 0.3, 0.4]), []).ask(lambda pair: pair[0])
    assert answer.value == "b"  # the single best, not the sum: a reading is taken as a whole
    assert answer.confidence == pytest.approx(0.4)


# --- up --------------------------------------------------------------------------------------------------------


@first_cases(2, "up", UP_AXES)
def test_a_walk_tells_which_way_is_up_without_any_custom(up: str) -> None:
    reading = read_as(in_file_axes(walk(), up), custom())
    assert reading.up == up
    assert reading.evidence["up"].confidence > 0.9


@needs_motions
@pytest.mark.parametrize("up", ["x", "y", "z"])
@first_cases(
    4,
    "name",
    [
        "deepmimic/humanoid3d_crawl.txt",
        "deepmimic/humanoid3d_roll.txt",
        "deepmimic/humanoid3d_getup_facedown.txt",
        "bvh/accad/Female1_D6_CartWheel.bvh",
        "bvh/accad/Female1_A10_LieToCrouch.bvh",
    ],
)
def test_what_does_not_stand_is_not_laid_on_its_side(name: str, up: str) -> None:
    motion = in_file_axes(poise.io.load(MOTIONS / name, up="y"), up)
    assert read_as(motion, custom()).up == up


def test_the_users_axis_wins() -> None:
    assert read_as(in_file_axes(walk(), "y"), custom(given_up="x")).up == "x"


def test_an_axis_nothing_shows_is_the_customs_and_asked_for(tmp_path: Path) -> None:
    motion = poise.io.load(put(tmp_path, bvh(PERSON[:1], values(PERSON[:1]))))
    assert motion.source is not None
    assert motion.source.up == "y"
    one = Motion(motion.skeleton, motion.times, motion.translations, motion.rotations)
    reading = read_as(one, custom(up={"y": 0.5, "z": 0.45}))
    assert reading.up == "y"
    assert any("--up" in w for w in reading.warnings)


# --- unit and rate ---------------------------------------------------------------------------------------------


@first_cases(3, "unit", ["m", "dm", "cm", "mm", "inch", "cmu", "ft"])
def test_every_unit_is_a_candidate(unit: str) -> None:
    even = dict.fromkeys(UNITS, 1.0 / len(UNITS))
    reading = read_as(in_file_axes(walk(), "y", UNITS[unit]), custom(units=even))
    assert reading.unit == UNITS[unit]


@first_cases(1, "unit", ["inch", "dm", "ft"])
def test_a_person_with_a_wrong_rate_is_no_dwarf_in_another_unit(unit: str) -> None:
    hasty = replace(walk(), times=walk().times / 2.0)  # as quick as legs of a quarter of the length
    reading = read_as(in_file_axes(hasty, "y", UNITS[unit]), custom())
    assert reading.unit == UNITS[unit]
    assert reading.evidence["implied_fps"].value == pytest.approx(walk().fps, rel=0.01)


@needs_motions
@first_cases(1, "name", ["143_01", "143_04", "143_05", "143_31", "143_32", "143_40"])
def test_data_of_60_hz_that_are_labeled_120_are_accused(name: str) -> None:
    motion = poise.io.load(MOTIONS / "bvh" / "cmu_3dsmax" / f"{name}.bvh")
    assert motion.source is not None
    assert motion.source.evidence["implied_fps"].value == 60.0
    assert any("--source-fps 60" in w for w in motion.source.warnings)
    cured = poise.io.load(MOTIONS / "bvh" / "cmu_3dsmax" / f"{name}.bvh", fps=60.0)
    assert cured.source is not None
    assert not any("--source-fps" in w for w in cured.source.warnings)


def test_a_walk_at_twice_its_rate_is_told_the_right_one() -> None:
    motion = in_file_axes(walk(), "y")
    motion = replace(motion, times=motion.times / 2.0)
    reading = read_as(motion, custom())
    assert reading.fps == pytest.approx(motion.fps)  # the label stays
    assert reading.evidence["implied_fps"].value == pytest.approx(motion.fps / 2.0, rel=0.01)


def test_a_walk_at_its_own_rate_is_not_accused() -> None:
    reading = read_as(in_file_axes(walk(), "y"), custom())
    assert "implied_fps" not in reading.evidence
    assert not reading.warnings


# --- size ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meters"), [("1.8m", 1.8), ("180cm", 1.8), ("1.8", 1.8), (1.8, 1.8), ("6ft", 1.8288), ("70 in", 1.778)]
)
def test_heights_as_people_write_them(text: str, meters: float) -> None:
    assert height_in_meters(text) == pytest.approx(meters)


@pytest.mark.parametrize("text", ["", "tall", "-1", "0", "nan", "1e9m", "3 parsec"])
def test_no_height(text: str) -> None:
    with pytest.raises(InvalidValue, match="Height"):
        height_in_meters(text)


def test_a_height_is_kept_in_every_format(tmp_path: Path) -> None:
    path = put(tmp_path, bvh(PERSON))
    for name in ("out.bvh", "out.glb", "out.npz"):
        poise.io.save(poise.io.load(path, height="2.5m"), tmp_path / name)
        assert height_of(poise.io.load(tmp_path / name)) == pytest.approx(2.5, rel=1e-6), name
    again = poise.io.load(tmp_path / "out.glb", height="1.7m")  # its own file is made as large, not written as it was
    poise.io.save(again, tmp_path / "again.glb")
    assert height_of(poise.io.load(tmp_path / "again.glb")) == pytest.approx(1.7, rel=1e-6)
    turned = poise.io.load(tmp_path / "out.glb", up="z")
    poise.io.save(turned, tmp_path / "turned.glb")
    assert np.allclose(poise.io.load(tmp_path / "turned.glb").world[0], turned.world[0], atol=1e-6)
    with pytest.raises(InvalidValue, match="unit and a height"):
        poise.io.load(path, unit="cm", height=1.8)


# --- anatomy ---------------------------------------------------------------------------------------------------


def test_legs_are_found_by_shape_where_names_say_nothing(tmp_path: Path) -> None:
    number = {j.name: f"bone{k}" for k, j in enumerate(PERSON)} | {"": ""}
    joints = tuple(j._replace(name=number[j.name], parent=number[j.parent]) for j in PERSON)
    skeleton = poise.io.load(put(tmp_path, bvh(joints))).skeleton
    found = anatomy_of(skeleton)
    assert [skeleton.names[leg.first] for leg in found.legs] == ["bone1", "bone4"]
    assert [skeleton.names[arm.first] for arm in found.arms] == ["bone9", "bone12"]
    assert not found.by_name


def test_numbers_that_an_exporter_counted_joints_with_hide_no_name() -> None:
    skeleton = walk().skeleton
    counted = replace(skeleton, names=tuple(f"{name}_{j}" if j else name for j, name in enumerate(skeleton.names)))
    found = anatomy_of(counted)
    assert found.by_name
    assert found.legs == anatomy_of(skeleton).legs
    assert found.head == anatomy_of(skeleton).head
    own = ("hips", "leg_1", "leg_2", "arm_1")  # the number says which leg it is
    assert without_counts(own) == own


def test_legs_known_by_shape_begin_at_the_hips_though_their_feet_are_long() -> None:
    """A stout animal on its hind legs: thigh 0.24, shin 0.3, foot 0.32 m to its toes."""
    joints = [("a", -1, (0.0, 0.0, 0.55))]
    for y in (0.2, -0.2):
        at = len(joints)
        joints += [("b", 0, (0.0, y, 0.0)), ("c", at, (0.0, 0.0, -0.24)), ("d", at + 1, (-0.1, 0.0, -0.28))]
        joints += [("e", at + 2, (0.32, 0.0, 0.0))]
    joints += [("f", 0, (0.0, 0.0, 0.6))]
    turns = np.tile(rotations.IDENTITY, (len(joints), 1))
    names = tuple(f"{name}{k}" for k, (name, _, _) in enumerate(joints))
    skeleton = Skeleton(names, np.array([p for _, p, _ in joints]), np.array([o for _, _, o in joints]), turns)
    assert [names[leg.first] for leg in anatomy_of(skeleton).legs] == ["b1", "b5"]


def test_a_long_chain_of_joints_is_no_trouble() -> None:
    count = 3000
    skeleton = Skeleton(
        names=tuple(f"j{k}" for k in range(count)),
        parents=np.arange(-1, count - 1),
        offsets=np.tile([0.0, 0.01, 0.0], (count, 1)),
        rest_rotations=np.tile(rotations.IDENTITY, (count, 1)),
    )
    assert anatomy_of(skeleton).leg_length == pytest.approx(0.25 * 0.01 * (count - 1))


# --- the ground a clip carries along ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.bvh", "out.glb", "out.gltf", "out.npz"])
def test_a_clip_carries_its_ground(tmp_path: Path, name: str) -> None:
    motion = poise.io.load(put(tmp_path, bvh(PERSON)))
    made = carrying(motion, Terrain.stairs(0.15, 0.3).placed(origin=(0.5, -1.0), heading=2.0, ground=0.1))
    poise.io.save(made, tmp_path / name)
    again = poise.io.load(tmp_path / name)
    ground = carried_ground(again)
    assert ground is not None
    points = np.random.default_rng(0).normal(size=(20, 2))
    wanted = Terrain.stairs(0.15, 0.3).placed(origin=(0.5, -1.0), heading=2.0, ground=0.1)
    np.testing.assert_allclose(ground.heights(points), wanted.heights(points), atol=1e-6)
    poise.io.save(carrying(again, Terrain.flat()), tmp_path / f"flat_{name}")
    assert carried_ground(poise.io.load(tmp_path / f"flat_{name}")) is None


@needs_motions
@pytest.mark.parametrize("name", ["asf_amc/02_01.amc", "deepmimic/humanoid3d_walk.txt"])
def test_formats_of_their_own_carry_it_too(tmp_path: Path, name: str) -> None:
    motion = poise.io.load(MOTIONS / name)
    made = carrying(motion, Terrain.slope(12.0).toward(30.0).placed(origin=(0.0, 0.0), heading=0.0, ground=0.02))
    poise.io.save(made, tmp_path / Path(name).name)
    assert made.source is not None
    again = poise.io.load(tmp_path / Path(name).name)
    assert again.source is not None
    assert again.source.ground == made.source.ground


@pytest.mark.parametrize(
    "facts",
    [None, 3, [], {}, {"spec": "image:/etc/passwd,1,1", "origin": [0, 0], "heading": 0, "height": 0},
     {"spec": "slope:10", "origin": [0], "heading": 0, "height": 0},
     {"spec": "slope:10", "origin": [0, 1e300], "heading": 0, "height": 0},
     {"spec": ["slope:10"], "origin": [0, 0], "heading": 0, "height": 0}],
)  # fmt: skip
def test_a_ground_that_is_none_is_passed_over(facts: object) -> None:
    assert ground_from(facts) is None


@first_cases(1, "spec", ["slope:12", "stairs:0.12,0.6"])
def test_a_clip_that_was_simulated_on_a_slope_is_judged_on_it(tmp_path: Path, spec: str) -> None:
    from poise.check.clip import check_file
    from poise.check.profile import load_profile
    from poise.check.report import Wanted
    from poise.io import read_options

    made = poise.simulate(walk().cut(0.0, 3.0), terrain=Terrain.parse(spec)).motion
    poise.io.save(made, tmp_path / "made.bvh")
    (report,) = check_file(tmp_path / "made.bvh", load_profile("realistic"), read_options(), Wanted())
    assert not [f.name for f in report.findings if f.name in ("penetration", "float", "frame-rate")]


# --- read for the motion it holds ------------------------------------------------------------------------------


def gltf_of(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A walk as glTF with something changed in its JSON."""
    path = folder / "walk.gltf"
    poise.io.save(walk().cut(0.0, 0.5), path)
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_picture_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = gltf_of(tmp_path, lambda c: c.update(images=[{"uri": "colors.png"}]))
    motion = poise.io.load(path)
    assert motion.source is not None
    assert any("colors.png" in w for w in motion.source.warnings)


def test_a_packed_mesh_is_told(tmp_path: Path) -> None:
    part = {"attributes": {}, "extensions": {"KHR_draco_mesh_compression": {}}}
    motion = poise.io.load(gltf_of(tmp_path, lambda c: c.update(meshes=[{"primitives": [part]}])))
    assert motion.source is not None
    assert any("Draco" in w for w in motion.source.warnings)


@pytest.mark.parametrize(("turn", "up"), [((1, 0, 0, 1), "z"), ((-1, 0, 0, 1), "-z"), ((0, 0, 1, 1), "-x")])
def test_a_figure_that_lies_in_the_axes_of_its_format_is_asked_for(tmp_path: Path, turn: Any, up: str) -> None:
    def lying(content: dict[str, Any]) -> None:
        scene = content["scenes"][0]
        content["nodes"].append({"rotation": (np.array(turn) / math.sqrt(2.0)).tolist(), "children": scene["nodes"]})
        scene["nodes"] = [len(content["nodes"]) - 1]

    def asked(motion: Motion) -> bool:
        assert motion.source is not None
        return any("--up" in w for w in motion.source.warnings)

    path = gltf_of(tmp_path, lying)
    found = poise.io.load(path)
    assert found.source is not None
    assert found.source.up == "y"
    assert [w for w in found.source.warnings if w.endswith(f"give --up {up}.")]
    assert found.source.evidence["up"].confidence < 0.5
    stands = poise.io.load(path, up=up)
    assert not asked(stands)
    assert np.ptp(stands.world[0][0, :, 2]) > 2.0 * np.ptp(found.world[0][0, :, 2])
    assert not asked(poise.io.load(gltf_of(tmp_path, lambda content: None)))


def test_one_who_lies_down_is_asked_no_axis(tmp_path: Path) -> None:
    lies = walk().cut(0.0, 0.5)
    over = rotations.from_rotation_vector(np.array([0.0, -0.5 * math.pi, 0.0]))
    turned, moved = lies.rotations.copy(), lies.translations.copy()
    turned[:, 0], moved[:, 0] = rotations.multiply(over, turned[:, 0]), rotations.rotate(over, moved[:, 0])
    poise.io.save(replace(lies, rotations=turned, translations=moved), tmp_path / "lies.glb")
    found = poise.io.load(tmp_path / "lies.glb")
    assert found.source is not None
    assert not [w for w in found.source.warnings if "--up" in w]


@pytest.mark.parametrize("asked", ["Walk", "walk", "rig|walk", "Wal", 1])
def test_a_clip_is_found_by_the_short_end_of_its_name(tmp_path: Path, asked: str | int) -> None:
    def two(content: dict[str, Any]) -> None:
        content["animations"] = [dict(content["animations"][0], name=f"Rig|{n}") for n in ("Idle", "Walk")]

    motion = poise.io.load(gltf_of(tmp_path, two), clip=asked)
    assert motion.source is not None
    assert motion.source.clip == 1


@pytest.mark.parametrize("asked", ["walking_man", "Walking Man", "walking"])
def test_a_clip_is_found_by_a_part_of_its_name_and_by_file_at_clip(tmp_path: Path, asked: str) -> None:
    def three(content: dict[str, Any]) -> None:
        names = ("Rig|idle|base", "Rig|walking_man|base", "Rig|run|base")
        content["animations"] = [dict(content["animations"][0], name=n) for n in names]

    path = gltf_of(tmp_path, three)
    for motion in (poise.io.load(path, clip=asked), poise.io.load(f"{path}@{asked}")):
        assert motion.source is not None
        assert motion.source.clip == 1
    with pytest.raises(FileFormatError, match=r"Rig\|idle\|base.*Rig\|walking_man\|base.*Rig\|run\|base"):
        poise.io.load(path, clip="base")
    with pytest.raises(FileFormatError, match="no_such"):
        poise.io.load(f"{path}@no_such")


def test_a_walk_above_the_origin_is_told(tmp_path: Path) -> None:
    from poise.cli.describe import describe_motion

    def told(lift: float) -> bool:
        motion = walk()
        translations = motion.translations.copy()
        translations[:, 0, 2] += lift
        found = describe_motion(replace(motion, translations=translations), tmp_path / "walk.bvh")
        return any("m above height 0" in w for w in found["warnings"])

    assert told(0.2)
    assert not told(0.0)


@pytest.mark.parametrize("suffix", ["mvn", "npy", "dae", "fbx", "pkl"])
def test_formats_that_are_not_read_get_the_way_to_one_that_is(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"clip.{suffix}"
    path.write_bytes(b"something")
    with pytest.raises(FileFormatError, match=r"BVH|glb"):
        poise.io.load(path)


def _spread(tips: list[tuple[float, float, float]], first: float) -> Skeleton:
    """A palm from which chains of three joints lead to these places."""
    names, parents, offsets = ["palm"], [-1], [(0.0, 0.0, 0.0)]
    for k, tip in enumerate(tips):
        shares = (first, 0.5 * (1.0 - first), 0.5 * (1.0 - first))
        for n, share in enumerate(shares):
            names.append(f"{k}{n}")
            parents.append(0 if n == 0 else len(names) - 2)
            offsets.append((share * tip[0], share * tip[1], share * tip[2]))
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (len(names), 1))
    return Skeleton(tuple(names), np.array(parents), np.array(offsets), rest)


def test_a_hand_is_known_by_its_shape_and_a_table_is_none() -> None:
    fingers = [(-0.03, 0.17, 0.0), (-0.01, 0.18, 0.0), (0.01, 0.17, 0.0), (0.03, 0.15, 0.0)]
    assert is_hand(_spread([*fingers, (-0.08, 0.09, -0.02)], 0.5))
    assert is_hand(_spread(fingers, 0.5))
    legs = [(x, y, -0.7) for x in (-0.3, 0.3) for y in (-0.3, 0.3)]
    assert not is_hand(_spread(legs, 0.3))
    assert not is_hand(_spread([*legs, (0.0, 0.4, 0.3)], 0.3))
    assert not is_hand(_spread([*fingers[:3], (0.0, -0.1, 0.0)], 0.5))


def test_a_hand_alone_has_the_size_of_a_hand(tmp_path: Path) -> None:
    text = "HIERARCHY\nROOT Hand\n{\nOFFSET 0 0 0\n"
    text += "CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    for n, finger in enumerate(("Thumb", "Index", "Middle", "Ring", "Pinky")):
        for k, length in enumerate((9.0, 4.0, 3.0)):
            text += f"JOINT {finger}{k}\n{{\nOFFSET {2.0 * n - 4.0 if k == 0 else 0.0} {length} 0\n"
            text += "CHANNELS 3 Zrotation Xrotation Yrotation\n"
        text += "End Site\n{\nOFFSET 0 2.5 0\n}\n" + "}\n" * 3
    text += "}\nMOTION\nFrames: 1\nFrame Time: 0.04\n" + " ".join(["0"] * 51) + "\n"
    path = tmp_path / "hand.bvh"
    path.write_text(text)
    motion = poise.load(path)
    assert motion.source is not None
    assert motion.source.unit == UNITS["cm"]
    assert 0.2 < poise.Character.fit(motion).mass < 1.0


def test_legs_that_no_person_has_are_asked_for() -> None:
    reading = read_as(in_file_axes(walk(), "y", 0.01 / 1.7), custom(up={"y": 1.0}, units={"cm": 1.0}))
    assert any("no person's" in warning for warning in reading.warnings)
    assert not read_as(in_file_axes(walk(), "y", 0.01), custom(up={"y": 1.0}, units={"cm": 1.0})).warnings


def test_a_person_with_legs_of_a_child_who_moves_as_a_grown_one_is_asked_for() -> None:
    small = in_file_axes(walk(), "y", 0.01 / 0.55)
    slow, as_child = (replace(small, times=small.times * factor) for factor in (1.35, np.sqrt(0.55)))
    asked, not_asked = (read_as(m, custom(up={"y": 1.0}, units={"cm": 1.0})).warnings for m in (slow, as_child))
    assert any("moves as one does" in warning for warning in asked)
    assert not any("moves as one does" in warning for warning in not_asked)
    given = custom(up={"y": 1.0}, units={"cm": 1.0}, given_unit=0.01)
    assert not any("moves as one does" in warning for warning in read_as(slow, given).warnings)


def test_a_person_who_crawls_is_as_tall_as_one_who_stands() -> None:
    # bones along their own x axes, as some mocap formats write them: the rest pose is none
    rows = [("Hips", -1, (0.0, 0.0, 0.5)), ("Spine", 0, (0.3, 0.0, 0.0)), ("Chest", 1, (0.2, 0.0, 0.0))]
    rows += [("Neck", 2, (0.15, 0.0, 0.0)), ("Head", 3, (0.1, 0.0, 0.0))]
    for side, y in (("Left", 1.0), ("Right", -1.0)):
        rows += [(f"{side}UpLeg", 0, (0.0, 0.1 * y, 0.0)), (f"{side}Leg", len(rows), (0.43, 0.0, 0.0))]
        rows += [(f"{side}Foot", len(rows) - 1, (0.41, 0.0, 0.0))]
        rows += [(f"{side}Arm", 2, (0.0, 0.17 * y, 0.0)), (f"{side}ForeArm", len(rows), (0.29, 0.0, 0.0))]
        rows += [(f"{side}Hand", len(rows) - 1, (0.26, 0.0, 0.0))]
    names, parents, offsets = zip(*rows)
    turned = np.tile(rotations.IDENTITY, (20, len(rows), 1))
    for joint, name in enumerate(names):
        angle = {"UpLeg": 90.0, "Arm": 90.0, "Leg": 90.0}.get(name.removeprefix("Left").removeprefix("Right"), 0.0)
        turned[:, joint] = rotations.from_rotation_vector(np.array([0.0, np.radians(angle), 0.0]))
    skeleton = Skeleton(names, np.array(parents), np.array(offsets), np.tile(rotations.IDENTITY, (len(rows), 1)))
    crawl = Motion(skeleton, np.arange(20) / 30.0, np.tile(offsets, (20, 1, 1)), turned)
    assert 1.6 < height_of(crawl) < 1.9


@needs_motions
def test_a_part_of_a_gallop_is_as_tall_as_all_of_it() -> None:
    """Front feet are in the air in most frames of the part; the height was that of a person stretched out."""
    run = poise.load(MOTIONS / "gltf" / "Fox.glb", clip="Run")
    assert height_of(run.cut(0.0, 0.3)) == pytest.approx(height_of(run))


def test_a_clip_of_glitches_says_nothing_of_its_rate() -> None:
    """Where a third of the frames stand out, falls and steps are not asked."""
    walk = poise.load(sample_path("walk"))
    turned = walk.rotations.copy()
    flip = rotations.from_rotation_vector(np.array([2.0, 0.0, 0.0]))
    turned[5::8, 1:6] = rotations.multiply(turned[5::8, 1:6], flip)
    assert Figure(walk).moves
    assert not Figure(replace(walk, rotations=turned, source=None)).moves


def test_a_figure_with_arms_that_is_smaller_than_anybody_who_walks_is_asked_for_its_size() -> None:
    """A game character of half a meter, in a format that states its unit; a dog may be so small."""
    assert "0.5 m tall" in size_doubt(anatomy_of(person(scale=0.3)), 0.5)
    assert size_doubt(anatomy_of(person(scale=0.5)), 0.85) == ""
    assert size_doubt(anatomy_of(dog()), 0.5) == ""


def test_what_hangs_on_a_joint_beyond_the_skin_is_not_part_of_the_height() -> None:
    names, z = ("hips", "chest", "head", "head_end", "head_end_end"), (0.9, 0.4, 0.2, 0.2, 0.4)
    offsets, turns = np.array([(0.0, 0.0, at) for at in z]), np.tile(rotations.IDENTITY, (5, 1))
    for skin, tall in ((np.array([9.0, 9.0, 9.0, 0.0, 0.0]), 0.8), (None, 1.2)):
        skeleton = Skeleton(names, np.arange(5) - 1, offsets, turns, (), skin=skin)
        assert height_of(skeleton) == pytest.approx(tall)


def test_the_skin_is_part_of_the_height() -> None:
    """A large skull reaches far above its joint, a sole below the toes. A skin drawn in another unit says nothing."""
    offsets, turns = np.array([(0.0, 0.0, at) for at in (0.9, 0.4, 0.2)]), np.tile(rotations.IDENTITY, (3, 1))
    bones = Skeleton(("hips", "chest", "head"), np.arange(3) - 1, offsets, turns, (), skin=np.array([9.0, 9.0, 9.0]))
    assert height_of(bones) == pytest.approx(0.6)
    assert height_of(replace(bones, sole=0.8, crown=1.65)) == pytest.approx(0.85)
    assert height_of(replace(bones, sole=1.0, crown=1.3)) == pytest.approx(0.6), "a skirt alone"
    assert height_of(replace(bones, sole=80.0, crown=165.0)) == pytest.approx(0.6)
    assert height_of(replace(bones, sole=0.8, crown=1.65).scaled(2.0)) == pytest.approx(1.7)


def test_a_head_without_an_end_is_as_high_as_a_persons() -> None:
    """The neck or the head is the last joint of some captures; a joint that is called an end is one."""
    whole = person()
    head, soles = whole.index("Head"), float(whole.rest[0][:, 2].min())
    bare = replace(whole, end_sites=tuple(site for site in whole.end_sites if site.joint != head))
    top = float(bare.rest[0][head, 2]) - soles
    assert height_of(whole) == pytest.approx(top + 0.2)
    for name, above in (("Head", 0.2), ("Neck1", 0.2), ("Head_End", 0.0)):
        names = (*bare.names[:head], name, *bare.names[head + 1 :])
        tall = top + above * anatomy_of(bare).leg_length
        assert height_of(replace(bare, names=names)) == pytest.approx(tall), name
