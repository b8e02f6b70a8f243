"""Feet, poles and weapons that a rig keeps on its root: on which bone they hang, and that they come back with it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.body import fit
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton, world_pose
from poise.io.gltf_hanging import Hanging, find_hanging, hang_by_skin, hang_chains, hang_ends, measure, without_circles

JOINTS = (
    ("Root", "", (0.0, 0.0, 0.0)),
    ("Body", "Root", (0.0, 0.0, 0.9)),
    ("Chest", "Body", (0.0, 0.0, 0.35)),
    ("Head", "Chest", (0.0, 0.0, 0.25)),
    *(
        row
        for side, y in (("L", 0.1), ("R", -0.1))
        for row in (
            (f"UpperArm.{side}", "Chest", (0.0, 2.0 * y, 0.1)),
            (f"LowerArm.{side}", "UpperArm." + side, (0.0, 0.0, -0.28)),
            (f"Hand.{side}", "LowerArm." + side, (0.0, 0.0, -0.25)),
            (f"UpperLeg.{side}", "Body", (0.0, y, -0.05)),
            (f"LowerLeg.{side}", "UpperLeg." + side, (0.0, 0.0, -0.42)),
            (f"Foot.{side}", "LowerLeg." + side, (0.0, 0.0, -0.4)),
            (f"Toe.{side}", "Foot." + side, (0.15, 0.0, -0.03)),
        )
    ),
)


def walk(frames: int = 40) -> Motion:
    """A figure in motion, every joint on the bone that carries it."""
    names = [name for name, _, _ in JOINTS]
    parents = np.array([names.index(p) if p else -1 for _, p, _ in JOINTS])
    offsets = np.array([offset for _, _, offset in JOINTS])
    skeleton = Skeleton(tuple(names), parents, offsets, np.tile(rotations.IDENTITY, (len(names), 1)))
    times = np.arange(frames) / 30.0
    moved, turned = np.tile(offsets, (frames, 1, 1)), np.tile(rotations.IDENTITY, (frames, len(names), 1))
    moved[:, 1, 0] = 0.8 * times
    for side, sign in (("L", 1.0), ("R", -1.0)):
        swing = sign * np.sin(2.0 * np.pi * times)
        for part, angle in (
            ("UpperLeg", 0.6 * swing),
            ("LowerLeg", 0.5 + 0.4 * np.cos(2.0 * np.pi * times + sign)),
            ("Foot", 0.3 * swing),
            ("UpperArm", -0.5 * swing),
            ("LowerArm", -0.4 + 0.3 * swing),
            ("Hand", 0.2 * swing),
            ("Toe", 0.1 * swing),
        ):
            turn = np.outer(angle, [0.0, 1.0, 0.0])
            turned[:, names.index(f"{part}.{side}")] = rotations.from_rotation_vector(turn)
    return Motion(skeleton, times, moved, turned)


def as_control_rig(motion: Motion) -> Motion:
    """The same motion as game rigs export it: feet on the root, pole targets beside them."""
    names = (*motion.skeleton.names, "PoleTarget.L", "PoleTarget.R")
    parents = [*motion.skeleton.parents.tolist(), 0, 0]
    places, orientations = motion.world
    poles = np.repeat([[[1.5, 0.1, 0.5], [1.5, -0.1, 0.5]]], motion.frame_count, axis=0)
    moved = np.concatenate([motion.translations, poles], axis=1)
    still = np.tile(rotations.IDENTITY, (motion.frame_count, 2, 1))
    turned = np.concatenate([motion.rotations, still], axis=1)
    for side in "LR":
        foot = names.index(f"Foot.{side}")
        parents[foot] = 0
        moved[:, foot], turned[:, foot] = places[:, foot], orientations[:, foot]
    skeleton = Skeleton(names, np.array(parents), moved[0], np.tile(rotations.IDENTITY, (len(names), 1)))
    return Motion(skeleton, motion.times, moved, turned)


@pytest.fixture
def control_rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.glb"
    poise.save(as_control_rig(walk()), path)
    return path


def test_a_detached_foot_hangs_on_the_shin_that_the_motion_shows(control_rig: Path) -> None:
    motion = poise.load(control_rig)
    skeleton = motion.skeleton
    for side in "LR":
        parent = skeleton.parents[skeleton.index(f"Foot.{side}")]
        assert skeleton.names[parent] == f"LowerLeg.{side}"
    assert motion.source is not None
    found = motion.source.evidence["hangs_on"]
    assert found.value == {"Foot.L": "LowerLeg.L", "Foot.R": "LowerLeg.R"}
    assert "wanders 0.0%" in found.reason
    as_saved = as_control_rig(walk())
    for name in skeleton.names:  # in single precision of the file
        there = as_saved.world[0][:, as_saved.skeleton.index(name)]
        np.testing.assert_allclose(motion.world[0][:, skeleton.index(name)], there, atol=1e-5)


def test_a_control_rig_is_read_as_the_figure_it_moves(control_rig: Path) -> None:
    character = fit(poise.load(control_rig))
    limbs = {limb.name: [character.bodies[b].name for b in limb.bodies] for limb in character.limbs}
    assert limbs["left_leg"] == ["UpperLeg.L", "LowerLeg.L", "Foot.L", "Toe.L"]
    assert limbs["right_arm"] == ["UpperArm.R", "LowerArm.R", "Hand.R"]
    assert character.bodies[character.roles["pelvis"]].name == "Body"
    plain = fit(walk())
    # what lies below the ankle is guessed where a file has no ends of toes
    assert character.leg_length == pytest.approx(plain.leg_length, rel=0.05)


def test_an_unchanged_control_rig_is_written_byte_for_byte(control_rig: Path, tmp_path: Path) -> None:
    poise.save(poise.load(control_rig), tmp_path / "again.glb")
    assert (tmp_path / "again.glb").read_bytes() == control_rig.read_bytes()


def test_a_detached_foot_follows_an_edit_and_comes_back_in_the_files_own_tree(
    control_rig: Path, tmp_path: Path
) -> None:
    motion = poise.load(control_rig)
    skeleton = motion.skeleton
    turned = motion.rotations.copy()
    thigh = skeleton.index("UpperLeg.L")
    turned[:, thigh] = rotations.multiply(turned[:, thigh], rotations.from_rotation_vector(np.array([0.3, 0.0, 0.0])))
    changed = Motion(skeleton, motion.times, motion.translations, turned, motion.source)
    poise.save(changed, tmp_path / "changed.glb")
    again = poise.load(tmp_path / "changed.glb")
    np.testing.assert_allclose(again.world[0], changed.world[0], atol=1e-5)
    # whoever plays the file by its own tree sees the foot at the end of the shin
    tree = again.source.document.tree  # type: ignore[union-attr]
    assert tree.names[tree.parents[tree.names.index("Foot.L")]] == "Root"
    shin, foot = skeleton.index("LowerLeg.L"), skeleton.index("Foot.L")
    apart = np.linalg.norm(again.world[0][:, foot] - again.world[0][:, shin], axis=-1)
    np.testing.assert_allclose(apart, 0.4, atol=1e-5)
    assert np.abs(again.world[0][:, foot] - motion.world[0][:, foot]).max() > 0.1


def test_what_stays_on_the_root_in_every_clip_is_left_there() -> None:
    motion = walk()
    skeleton = motion.skeleton
    rig = measure(*motion.world, skeleton.parents, None, None)
    assert find_hanging(rig) == ()


def test_a_foot_hangs_on_its_shin_though_each_clip_was_baked_with_another_offset() -> None:
    rig = as_control_rig(walk())
    names, parents = rig.skeleton.names, rig.skeleton.parents
    places, orientations = (np.concatenate([part, part]) for part in rig.world)
    clips = np.repeat([0, 1], rig.frame_count)
    for side in "LR":  # in the second clip the ankle sits elsewhere on the shin, as the target's own length said
        shin, foot = names.index(f"LowerLeg.{side}"), names.index(f"Foot.{side}")
        off = rotations.rotate(orientations[clips == 1, shin], np.array([0.35, 0.0, 0.1]))
        places[clips == 1, foot] += off
    named = {names.index(f"Foot.{s}"): names.index(f"LowerLeg.{s}") for s in "LR"}
    found = find_hanging(measure(places, orientations, parents, None, None, clips))
    assert {h.joint: h.bone for h in found} == named


def test_a_foot_that_stood_still_hangs_like_the_other_one() -> None:
    rig = as_control_rig(walk())
    names, parents = rig.skeleton.names, rig.skeleton.parents
    places, orientations = (part.copy() for part in rig.world)
    left, shin = names.index("Foot.L"), names.index("LowerLeg.L")
    for joint in (j for j in range(len(names)) if names[j].endswith(".L")):  # it stands in every frame
        places[:, joint], orientations[:, joint] = places[0, joint], orientations[0, joint]
    seams = np.zeros((len(names), len(names)))
    for foot, bone in ((left, shin), (names.index("Foot.R"), names.index("LowerLeg.R"))):
        seams[foot, bone] = seams[bone, foot] = 5.0
    skin = np.full(len(names), 20.0)
    skin[[n.startswith("Pole") for n in names]] = 0.0
    found = {h.joint: h.bone for h in find_hanging(measure(places, orientations, parents, skin, seams))}
    assert found.get(names.index("Foot.R")) == names.index("LowerLeg.R")
    assert found.get(left) == shin


def test_a_foot_that_its_leg_cannot_reach_hangs_on_the_shin_that_points_at_it() -> None:
    rig = as_control_rig(walk())
    names = rig.skeleton.names
    places, orientations = (part.copy() for part in rig.world)
    seams = np.zeros((len(names), len(names)))
    feet = {names.index(f"Foot.{side}"): names.index(f"LowerLeg.{side}") for side in "LR"}
    for foot, shin in feet.items():  # the target runs away along the leg by up to twice the shin's length
        reach = 1.0 + 2.0 * np.abs(np.sin(0.3 * np.arange(rig.frame_count)))
        away = (reach[:, None] - 1.0) * (places[:, foot] - places[:, shin])
        for joint in rig.skeleton.carried_by(foot):
            places[:, joint] += away
        seams[foot, shin] = seams[shin, foot] = 5.0
    skin = np.full(len(names), 20.0)
    skin[[n.startswith("Pole") for n in names]] = 0.0
    found = find_hanging(measure(places, orientations, rig.skeleton.parents, skin, seams))
    assert {h.joint: h.bone for h in found} == feet
    assert all("points at it" in "; ".join(h.reasons) for h in found)
    # a lamp that a head looks at moves by itself: no skin joins them
    assert find_hanging(measure(places, orientations, rig.skeleton.parents, skin, None)) == ()


def test_no_joint_hangs_in_a_circle_whatever_moves() -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        count = 12
        parents = np.array([-1, *(int(rng.integers(0, j)) for j in range(1, count))])
        moved = np.cumsum(rng.normal(scale=0.1, size=(20, count, 3)), axis=0) * (rng.random((1, count, 1)) < 0.5)
        turned = rotations.normalize(np.tile(rotations.IDENTITY, (20, count, 1)))
        skeleton = Skeleton(tuple("j" * count), parents, moved[0], turned[0])
        places = world_pose(skeleton, moved, turned)
        hung = parents.copy()
        for found in find_hanging(measure(*places, parents, None, None)):
            hung[found.joint] = found.bone
        for joint in range(count):
            steps = 0
            while joint >= 0:
                joint, steps = int(hung[joint]), steps + 1
                assert steps <= count


def test_a_trunk_on_which_a_chain_of_limbs_hangs_does_not_hang_on_one_of_them() -> None:
    # 0 bears the trunk 1 and the chain 2-3 of a leg; motion alone would put the trunk on the leg
    parents = np.array([-1, 0, 0, 2])
    chain, back = Hanging(2, 1, 1.5, ()), Hanging(1, 3, 3.5, ())
    assert without_circles(parents, (chain, back)) == (chain,)
    assert without_circles(parents, (back,)) == (back,)
    assert without_circles(parents, (Hanging(2, 3, 9.0, ()),)) == ()


def test_a_foot_hangs_on_a_shin_without_skin_where_the_other_one_hangs_on_its_own() -> None:
    rig = as_control_rig(walk())
    names, skin = rig.skeleton.names, np.full(len(rig.skeleton.names), 9.0)
    skin[[names.index("LowerLeg.R"), names.index("PoleTarget.L"), names.index("PoleTarget.R")]] = 0.0
    measured = measure(*rig.world, rig.skeleton.parents, skin, None)
    found = {names[h.joint]: names[h.bone] for h in find_hanging(measured)}
    assert found["Foot.L"] == "LowerLeg.L"
    assert found["Foot.R"] == "LowerLeg.R"


def test_joints_all_beside_each_other_hang_as_the_seams_of_their_skin_say() -> None:
    # 1 is the wrist; 2-3-4 and 5-6-7 are fingers, whose skins touch from bone to bone
    parents, seams = np.array([-1, 0, 0, 0, 0, 0, 0, 0]), np.zeros((8, 8))
    for a, b, much in ((1, 2, 9.0), (2, 3, 5.0), (3, 4, 5.0), (1, 5, 9.0), (5, 6, 5.0), (6, 7, 4.0), (2, 5, 1.0)):
        seams[a, b] = seams[b, a] = much
    fingers = [[0.1 * n, y, 0.0] for y in (0.1, -0.1) for n in (1, 2, 3)]
    places = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], *fingers])
    found = {h.joint: h.bone for h in hang_by_skin(parents, seams, places)}
    assert {frozenset(pair) for pair in found.items()} == {
        frozenset(pair) for pair in ((1, 2), (2, 3), (3, 4), (1, 5), (5, 6), (6, 7))
    }
    parents[4] = 3
    assert hang_by_skin(parents, seams, places) == ()  # the file says how its bones hang
    parents[4] = 0
    seams[0, 1:] = seams[1:, 0] = 1.0
    assert hang_by_skin(parents, seams, places) == ()  # the legs of a spider, whose skin goes on in its body's


def test_legs_that_a_file_keeps_beside_the_trunk_hang_on_it_by_their_skin() -> None:
    # 0 bears the trunk 1-2-3, two legs of their own 4-5 and 6-7, and the control 8
    parents, skin = np.array([-1, 0, 1, 2, 0, 4, 0, 6, 0]), np.array([0.0, *[9.0] * 7, 0.0])
    places = np.zeros((9, 3))
    places[1:4] = [(x, 0.0, 0.6) for x in (0.0, 0.3, 0.6)]
    places[4:8] = [(0.1, y, z) for y in (0.1, -0.1) for z in (0.5, 0.2)]
    seams = np.zeros((9, 9))
    sewn = ((1, 2, 9.0), (2, 3, 9.0), (4, 5, 9.0), (6, 7, 9.0), (4, 1, 3.0), (4, 2, 4.0), (6, 1, 4.0), (6, 2, 3.0))
    for a, b, much in sewn:
        seams[a, b] = seams[b, a] = much
    turned = np.tile(rotations.IDENTITY, (30, 9, 1))
    still = measure(np.repeat(places[None], 30, axis=0), turned, parents, skin, seams)
    assert {h.joint: h.bone for h in hang_chains(still, frozenset())} == {4: 1, 6: 1}
    assert hang_chains(still, frozenset({4, 6})) == ()
    moved = np.repeat(places[None], 30, axis=0)
    moved[:, 1:4, 1] += np.linspace(0.0, 1.0, 30)[:, None]  # the trunk leaves one leg where it is
    moved[:, 6:8, 1] += np.linspace(0.0, 1.0, 30)[:, None]
    assert hang_chains(measure(moved, turned, parents, skin, seams), frozenset()) == ()
    near = places - [0.0, 0.0, 0.6]  # the root is the pelvis, though it moves no skin
    near[0] = 0.0
    assert hang_chains(measure(np.repeat(near[None], 30, axis=0), turned, parents, skin, seams), frozenset()) == ()
    skin[0] = 9.0  # the root is a bone of the body
    assert hang_chains(measure(np.repeat(places[None], 30, axis=0), turned, parents, skin, seams), frozenset()) == ()


def test_feet_on_the_root_that_no_clip_moves_hang_on_their_legs_by_their_skin() -> None:
    # 0 is the root on the floor, 1 the pelvis, 2-3-4 and 5-6-7 legs to the ankle, 8 and 9 the feet, each with a control
    parents = np.array([-1, 0, 1, 2, 3, 1, 5, 6, 0, 0, 8, 9])
    skin = np.array([0.5, 40.0, *[9.0] * 6, 12.0, 12.0, 0.0, 0.0])
    places = np.zeros((12, 3))
    places[1] = (0.0, 0.0, 0.95)
    for leg, foot, y in ((2, 8, 0.1), (5, 9, -0.1)):
        places[leg : leg + 3] = [(0.0, y, z) for z in (0.9, 0.5, 0.12)]
        places[[foot, foot + 2]] = [(0.1, y, 0.0), (0.2, y, 0.0)]
    seams = np.zeros((12, 12))
    sewn = ((1, 2, 9.0), (1, 5, 9.0), (2, 3, 9.0), (3, 4, 9.0), (5, 6, 9.0), (6, 7, 9.0), (8, 4, 7.0), (9, 7, 7.0))
    for a, b, much in sewn:
        seams[a, b] = seams[b, a] = much

    def found(seams: np.ndarray) -> dict[int, int]:
        turned = np.tile(rotations.IDENTITY, (1, 12, 1))
        return {h.joint: h.bone for h in hang_ends(measure(places[None], turned, parents, skin, seams), frozenset())}

    assert found(seams) == {8: 4, 9: 7}
    one = seams.copy()
    one[9] = one[:, 9] = 0.0
    assert found(one) == {}  # a single end may be anything
    side_by_side = seams.copy()
    side_by_side[8, 9] = side_by_side[9, 8] = 20.0
    assert found(side_by_side) == {}  # a tail fin in two halves
    held = seams.copy()
    held[0, 8:10] = held[8:10, 0] = 3.0
    assert found(held) == {}  # the root's own skin goes on in them


def test_flat_bones_of_a_figure_beside_controls_hang_from_its_middle() -> None:
    # 0 holds all and 1 to 3 are controls; the hips 4, chest 5, head 6, and limbs of three bones; hands have many bonds
    parents, places = np.zeros(25, dtype=np.int64), np.zeros((25, 3))
    parents[:4] = (-1, 0, 1, 0)
    places[4:7, 2] = (0.9, 1.4, 1.6)
    seams = np.zeros((25, 25))

    def sew(a: int, b: int) -> None:
        seams[a, b] = seams[b, a] = 5.0

    sew(4, 5), sew(5, 6)
    for first, hub, way in ((7, 4, (0.0, 0.1, -0.5)), (10, 4, (0.0, -0.1, -0.5))):
        for n in range(3):
            places[first + n] = places[hub] + np.array(way) * (1, 1, n)
            sew(first + n, first + n - 1 if n else hub)
    for first, sign in ((13, 1.0), (19, -1.0)):
        for n in range(6):  # upper arm, forearm, hand, and fingers on the hand
            places[first + n] = (0.01 * n, sign * (0.2 + 0.28 * min(n, 3)), 1.4)
            sew(first + n, (5, first, first + 1)[n] if n < 3 else first + 2)
    hung = {h.joint: h.bone for h in hang_by_skin(parents, seams, places)}
    assert 4 not in hung  # the hips stay where the file has them
    assert (hung[5], hung[6], hung[13], hung[15], hung[18]) == (4, 5, 5, 14, 15)
    assert not set(hung) & {0, 1, 2, 3}


def test_both_collar_bones_hang_on_the_chest_though_one_hardly_leaves_the_neck() -> None:
    names = ["root", "chest", "neck", "head", *(f"{part}.{side}" for side in "LR" for part in ("collar", "arm"))]
    parents = np.array([-1, 0, 1, 2, 2, 4, 2, 6])
    offsets = np.array(
        [[0, 0, z] for z in (0.9, 0.4, 0.1, 0.2)] + [[0, 0.1, 0.05], [0, 0.3, 0], [0, -0.1, 0.035], [0, -0.3, 0]]
    )
    frames = 40
    turn = 0.6 * np.sin(2.0 * np.pi * np.arange(frames) / 30.0)
    turned = np.tile(rotations.IDENTITY, (frames, 8, 1))
    turned[:, 1] = rotations.from_rotation_vector(np.outer(turn, [1.0, 0.0, 0.0]))
    turned[:, 2] = rotations.from_rotation_vector(np.outer(turn, [0.0, 1.0, 0.0]))  # the head nods
    skeleton = Skeleton(tuple(names), parents, offsets, turned[0])
    places, orientations = (part.copy() for part in world_pose(skeleton, np.tile(offsets, (frames, 1, 1)), turned))
    for k in (4, 5, 6, 7):  # the chest carries both; nodding shows it of the left one, which begins higher
        held = offsets[2] + offsets[k] + (offsets[k - 1] if k % 2 else 0.0)
        places[:, k] = places[:, 1] + rotations.rotate(orientations[:, 1], held)
        orientations[:, k] = orientations[:, 1]
    found = {h.joint: h.bone for h in find_hanging(measure(places, orientations, parents, None, None))}
    assert found == {4: 1, 6: 1}


def test_the_knees_of_a_figure_that_grows_do_not_hang_on_each_other() -> None:
    motion = walk()
    drawn = motion.translations.copy()
    drawn[..., 2] *= np.linspace(1.0, 6.0, motion.frame_count)[:, None]
    places, turned = world_pose(motion.skeleton, drawn, np.tile(rotations.IDENTITY, (*drawn.shape[:2], 1)))
    skin = np.array([0.0 if "Toe" in name else 9.0 for name in motion.skeleton.names])
    found = find_hanging(measure(places, turned, motion.skeleton.parents, skin, None))
    names = motion.skeleton.names
    assert not [h for h in found if names[h.joint][:-1] == names[h.bone][:-1]]


@pytest.mark.parametrize("version", ["VRM", "VRMC_vrm"])
def test_a_vrm_whose_parts_hang_on_bones_without_a_skin_is_a_figure(tmp_path: Path, version: str) -> None:
    places = {"hips": (0, 0.9), "head": (0, 0.6)} | {
        f"{side}{part}": (x, y)
        for side, x in (("left", 0.1), ("right", -0.1))
        for part, y in (("UpperLeg", -0.05), ("LowerLeg", -0.4), ("Foot", -0.4))
    }
    names = list(places)
    below = {"hips": ["head", "leftUpperLeg", "rightUpperLeg"]}
    below |= {
        f"{s}{a}": [f"{s}{b}"] for s in ("left", "right") for a, b in (("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"))
    }
    nodes = [
        {"name": f"bone {name}", "translation": [x if name.endswith("UpperLeg") else 0, y, 0]}
        | ({"children": [names.index(n) for n in below[name]]} if name in below else {})
        for name, (x, y) in places.items()
    ]
    bones: object = {name: {"node": k} for k, name in enumerate(names)}
    if version == "VRM":
        bones = [{"bone": name, "node": k} for k, name in enumerate(names)]
    document = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": nodes}
    path = tmp_path / "figure.gltf"
    path.write_text(json.dumps(document | {"extensions": {version: {"humanoid": {"humanBones": bones}}}}))
    skeleton = poise.load_skeleton(path)
    assert set(skeleton.names) == {f"bone {name}" for name in names}
    path.write_text(json.dumps(document))
    with pytest.raises(poise.FileFormatError, match="no skeleton"):
        poise.load_skeleton(path)


def test_legs_and_trunk_that_begin_at_one_place_meet_on_the_trunk() -> None:
    parents = np.array([-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 8, 8, 0])  # root; legs; trunk, chest, head, arms; belly
    leg = [[0, 0, 0.9], [0, 0.1, -0.4], [0, 0, -0.4]]
    trunk = [[0, 0, 0.9], [0, 0, 0.3], [0, 0, 0.3], [0, 0.3, 0], [0, -0.3, 0]]
    offsets = np.array([[0, 0, 0], *leg, *leg, *trunk, [0, 0, 0.9]], dtype=float)
    offsets[5, 1] = -0.1
    sway = 0.2 * np.sin(2.0 * np.pi * np.arange(40) / 30.0)
    moved = np.tile(offsets, (40, 1, 1))
    moved[:, [1, 4, 7, 12], 0] += sway[:, None]  # they go along with each other, on no bone of the file
    turned = np.tile(rotations.IDENTITY, (40, len(parents), 1))
    for thigh, sign in ((1, 1.0), (4, -1.0)):
        turned[:, thigh] = rotations.from_rotation_vector(np.outer(0.2 * sign * sway, [0.0, 1.0, 0.0]))
    skeleton = Skeleton(tuple(f"bone {n}" for n in range(len(parents))), parents, offsets, turned[0])
    seams = np.zeros((len(parents), len(parents)))
    for a, b, many in ((1, 4, 9.0), (1, 7, 5.0), (4, 7, 5.0), (2, 12, 50.0), (5, 12, 51.0), (7, 12, 20.0)):
        seams[a, b] = seams[b, a] = many
    skin = np.where(np.arange(len(parents)) > 0, 9.0, 0.0)
    poses = world_pose(skeleton, moved, turned)
    found = {h.joint: h.bone for h in find_hanging(measure(*poses, parents, skin, seams))}
    assert found.get(12, 7) not in (2, 5), "a belly that goes on in both thighs"
    skin[12] = 0.0
    found = {h.joint: h.bone for h in find_hanging(measure(*poses, parents, skin, seams))}
    assert (found[1], found[4], found.get(7)) == (7, 7, None)
