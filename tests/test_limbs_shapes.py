"""Figures of unusual shape: an octopus, props beside the hips, roots on the ground, doubled knees, mistyped names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from poise.body import fit
from poise.body.anatomy import gather_poses
from poise.body.doubt import doubt_of
from poise.body.joint_tree import JointTree
from poise.body.limbs import find_anatomy
from poise.cli.describe import describe_motion
from poise.core.errors import MotionWarning
from poise.intake.anatomy import height_of
from poise.phases.floor import find_floor
from poise.phases.points import body_points, body_tips, far_tips
from tests.test_limbs import ARMS, LEGS, MOVES, TRUNK, Row, both, figure, limbs


def test_all_arms_of_an_octopus_are_limbs() -> None:
    rows: list[Row] = [("root", "", (0.0, 0.0, 0.0)), ("body", "root", (0.0, 0.0, 0.1))]
    names = {0: "front", 1: "fr.L", 2: "sd.L", 3: "bk.L", 4: "back", 5: "bk.R", 6: "sd.R", 7: "fr.R"}
    for n, name in names.items():
        ahead, left = np.cos(n * np.pi / 4.0), np.sin(n * np.pi / 4.0)
        rows += [
            (f"tent_{name}_1", "body", (0.24 * ahead, 0.24 * left, 0.23)),
            (f"tent_{name}_2", f"tent_{name}_1", (0.12 * ahead, 0.12 * left, -0.14)),
        ]
    found = limbs(fit(figure(rows, ["tent_fr.L_1", "tent_back_1"], skin=[100.0] * len(rows))))
    assert len(found) == 8
    assert not {"tail", "neck", "spine"} & set(found)


def test_a_ball_and_a_table_beside_the_hips_are_no_part_of_the_figure() -> None:
    rows: list[Row] = [("rig", "", (0.0, 0.0, 0.0)), ("hips", "rig", (0.0, 0.0, 0.95)), *TRUNK[1:], *ARMS, *LEGS]
    rows += [("ball", "rig", (0.6, 0.5, 0.1)), ("table", "rig", (0.3, -0.9, 0.0)), ("top", "table", (0.0, 0.0, 0.8))]
    skin = [0.0 if name == "rig" else 40.0 for name, _, _ in rows]
    character = fit(figure(rows, MOVES, skin=skin))
    assert character.bodies[0].name == "hips"
    assert not [name for name in limbs(character) if "other" in name or "tail" in name]


def test_a_beast_whose_root_on_the_ground_bears_its_tail_has_four_legs() -> None:
    rows: list[Row] = [
        ("base", "", (0.0, 0.0, 0.0)),
        ("pelvis", "base", (-0.5, 0.0, 1.6)),
        ("belly", "pelvis", (0.5, 0.0, -0.1)),
        ("chest", "belly", (0.6, 0.0, -0.05)),
        ("neck", "chest", (0.3, 0.0, 0.3)),
        ("head", "neck", (0.3, 0.0, 0.3)),
        *both(
            ("BackThigh.*", "pelvis", (0.0, 0.2, -0.1)),
            ("BackCalf.*", "BackThigh.*", (0.05, 0.0, -0.7)),
            ("BackFoot.*", "BackCalf.*", (-0.05, 0.0, -0.7)),
            ("ForeThigh.*", "chest", (0.0, 0.2, -0.1)),
            ("ForeCalf.*", "ForeThigh.*", (0.05, 0.0, -0.6)),
            ("ForeFoot.*", "ForeCalf.*", (-0.05, 0.0, -0.7)),
        ),
        ("pelvis.002", "base", (-0.6, 0.0, 1.65)),
        ("pelvis.003", "pelvis.002", (-0.2, 0.0, -0.4)),
        ("pelvis.004", "pelvis.003", (0.0, 0.0, -0.4)),
    ]
    skin = [0.0 if name == "base" else 40.0 for name, _, _ in rows]
    found = limbs(fit(figure(rows, skin=skin).skeleton))
    assert found["left_hind_leg"] == ["BackThigh.L", "BackCalf.L", "BackFoot.L"]
    assert found["right_front_leg"] == ["ForeThigh.R", "ForeCalf.R", "ForeFoot.R"]
    assert found["tail"] == ["pelvis.002", "pelvis.003", "pelvis.004"]


def test_a_knee_of_two_joints_leaves_the_leg_its_foot() -> None:
    legs = both(
        ("thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("knee up.*", "thigh.*", (0.01, 0.0, -0.42)),
        ("knee down.*", "knee up.*", (0.0, 0.0, -0.08)),
        ("leg target.*", "knee down.*", (-0.01, 0.0, -0.38)),
        ("foot target.*", "leg target.*", (0.0, 0.0, 0.0)),
        ("ankle.*", "foot target.*", (0.0, 0.0, 0.0)),
        ("ball.*", "ankle.*", (0.14, 0.0, -0.05)),
    )
    rows = [*TRUNK, *ARMS, *legs]
    skin = [0.0 if "target" in name else 40.0 for name, _, _ in rows]
    found = limbs(fit(figure(rows, ["thigh.L", "knee up.L", "knee down.L", "ankle.L", "ball.L"], skin=skin)))
    assert found["left_leg"] == ["thigh.L", "knee up.L", "ankle.L", "ball.L"]


def test_a_leg_called_otherwise_on_the_other_side_is_its_twin_by_shape() -> None:
    named = {"thigh.R": "RearThigh.R", "shin.R": "RearCalf.R", "foot.R": "RearAnkle.R"}
    rows = [(named.get(name, name), named.get(parent, parent), at) for name, parent, at in [*TRUNK, *ARMS, *LEGS]]
    found = limbs(fit(figure(rows, ["thigh.L", "shin.L"])))
    assert found["left_leg"][:3] == ["thigh.L", "shin.L", "foot.L"]
    assert found["right_leg"][:3] == ["RearThigh.R", "RearCalf.R", "RearAnkle.R"]


def test_a_thigh_is_one_whatever_it_and_the_next_bone_are_called() -> None:
    legs = both(
        ("hip_*", "hips", (0.0, 0.1, -0.05)),
        ("upper_*", "hip_*", (0.02, 0.0, -0.4)),
        ("ankle_*", "upper_*", (-0.02, 0.0, -0.4)),
        ("foot_*", "ankle_*", (0.12, 0.0, -0.06)),
    )
    found = limbs(fit(figure([*TRUNK, *ARMS, *legs], ["hip_L", "upper_L", "hip_R"])))
    assert found["left_leg"] == ["hip_L", "upper_L", "ankle_L"]


def test_what_is_called_pelvis_before_the_upper_leg_is_a_link() -> None:
    legs = both(
        ("Leg_Pelvis_*", "hips", (0.0, 0.04, 0.05)),
        ("Leg_Upper_*", "Leg_Pelvis_*", (-0.03, 0.08, -0.3)),
        ("Leg_Lower_*", "Leg_Upper_*", (0.08, 0.0, -0.3)),
        ("Leg_Ankle_*", "Leg_Lower_*", (-0.05, 0.0, -0.3)),
        ("Leg_Foot_*", "Leg_Ankle_*", (0.1, 0.0, -0.06)),
    )
    moves = ["Leg_Pelvis_L", "Leg_Upper_L", "Leg_Lower_L", "Leg_Pelvis_R", "Leg_Foot_L", "Leg_Foot_R"]
    found = limbs(fit(figure([*TRUNK, *ARMS, *legs], moves)))
    assert found["left_leg"] == ["Leg_Upper_L", "Leg_Lower_L", "Leg_Ankle_L", "Leg_Foot_L"]


@pytest.mark.parametrize("name", ["leg", "joint"])
def test_four_blocks_under_a_block_are_four_legs(name: str) -> None:
    rows: list[Row] = [("root", "", (0.0, 0.0, 0.0)), ("body", "root", (0.0, 0.0, 0.2))]
    for place, x in (("back", -0.1), ("front", 0.1)):
        for side, y in (("left", 0.06), ("right", -0.06)):
            rows.append((f"{name}-{place}-{side}", "root", (x, y, 0.12)))
    skin = [0.0, *[24.0] * 5]
    found = limbs(fit(figure(rows, skin=skin)))
    legs = [limb for limb in found if limb.endswith("leg")]
    assert len(legs) == (4 if name == "leg" else 0)


def test_a_figure_without_legs_has_its_trunk() -> None:
    skin = [200.0] * len(TRUNK) + [40.0] * len(ARMS)
    character = fit(figure([*TRUNK, *ARMS], ["upper_arm.L", "forearm.R", "hand.L"], skin=skin))
    assert character.bodies[0].name == "hips"
    assert limbs(character)["left_arm"] == ["upper_arm.L", "forearm.L", "hand.L"]


def test_a_short_tail_beside_the_pelvis_is_not_lost() -> None:
    rows: list[Row] = [
        ("root", "", (0.0, 0.0, 1.0)),
        ("hips", "root", (0.01, 0.0, 0.0)),
        *TRUNK[1:],
        *ARMS,
        *LEGS,
        ("stub", "root", (0.0, 0.0, 0.0)),
        ("stub 2", "stub", (-0.25, 0.0, -0.05)),
    ]
    found = limbs(fit(figure(rows, MOVES, skin=[40.0] * len(rows))))
    assert found["tail"] == ["stub", "stub 2"]


SKINNED = [*TRUNK, *ARMS, *LEGS]


def test_what_speaks_against_a_reading_is_one_sentence() -> None:
    motion = figure(SKINNED, MOVES, skin=[40.0] * len(SKINNED))
    poses = gather_poses(motion)
    tree, anatomy = JointTree(poses), find_anatomy(poses)
    assert anatomy.doubt == ""

    def doubt(*chains: object) -> str:
        return doubt_of(tree, anatomy.root, chains, four_legged=False)  # pyright: ignore[reportArgumentType]

    left, right = anatomy.limbs("leg")
    others = [c for c in anatomy.chains if c.kind != "leg"]
    assert "thigh.R, with skin, is part of no limb" in doubt(*others, left)
    short = replace(left, joints=left.joints[:2])
    assert "the left leg ends at shin.L, but its skin goes on" in doubt(*others, short, right)
    assert "are read as an arm, but called a leg" in doubt(*others, replace(left, kind="arm"), right)
    arms = [c for c in others if c.kind == "arm"]
    assert "are read as a leg" in doubt(left, right, *(replace(c, kind="leg") for c in arms))


@pytest.mark.parametrize("has_skin", [True, False])
def test_nameless_ends_of_a_figure_without_legs_are_doubted(has_skin: bool) -> None:
    """A horse of few bones: croup, shoulder, and four limbs of one joint, of which no tip but one is known."""
    rows: list[Row] = [("Bone", "", (0.0, 0.0, 1.0)), ("Bone.001", "Bone", (1.0, 0.0, 0.0))]
    for n, y in ((2, 0.15), (3, -0.15)):
        rows += [(f"Bone.00{n}", "Bone", (0.0, y, -0.1)), (f"Bone.00{2 + n}", "Bone.001", (0.0, y, -0.1))]
    rows.append(("Bone.006", "Bone.004", (0.1, 0.0, -0.8)))
    ends: list[Row] = [] if has_skin else [("", f"Bone.00{n}", (0.0, 0.0, -0.8)) for n in (2, 3, 5)]
    poses = gather_poses(figure(rows, ["Bone.002"], skin=[300.0] * len(rows) if has_skin else None, ends=ends))
    tree = JointTree(poses)
    others = [chain for chain in find_anatomy(poses).chains if chain.kind != "leg"]
    assert "no leg was found, but Bone.00" in doubt_of(tree, 0, others, four_legged=False)
    worm: list[Row] = [
        ("Bone", "", (0.0, 0.0, 0.1)),
        *((f"Bone.{n}", "Bone", (x, 0.0, 0.0)) for n, x in ((1, 1), (2, -1))),
    ]
    tree = JointTree(gather_poses(figure(worm, ["Bone.1"], skin=[300.0] * 3 if has_skin else None)))
    assert doubt_of(tree, 0, [], four_legged=False) == ""


def test_a_doubtful_reading_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("poise.body.limbs.doubt_of", lambda *_: "The limbs may be read wrongly.")
    motion = figure(SKINNED, MOVES, skin=[40.0] * len(SKINNED))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fit(motion)
        assert fit(motion).doubt == "The limbs may be read wrongly."
    assert [str(w.message) for w in heard if w.category is MotionWarning] == ["The limbs may be read wrongly."]
    assert "The limbs may be read wrongly." in describe_motion(motion, Path("figure.npz"))["warnings"]


@pytest.mark.parametrize(("share", "last"), [(40.0, "hand.L"), (1.0, "forearm.L")])
def test_a_hand_with_skin_that_never_turns_ends_its_arm(share: float, last: str) -> None:
    skin = [share if "hand" in name else 40.0 for name, _, _ in SKINNED]
    assert limbs(fit(figure(SKINNED, [n for n in MOVES if "hand" not in n], skin=skin)))["left_arm"][-1] == last


def nameless(rows: Sequence[Row]) -> list[Row]:
    """Rows whose names are numbers, as some exporters leave them."""
    numbers = {name: f"n{k}" for k, (name, _, _) in enumerate(rows)} | {"": ""}
    return [(numbers[name], numbers[parent], offset) for name, parent, offset in rows]


def test_a_nameless_figure_with_feelers_stands_on_its_legs() -> None:
    """Trunk and hips hang on one joint side by side, and the feelers are longer than the limbs."""
    rows: list[Row] = [
        ("middle", "", (0.0, 0.0, 0.32)),
        ("chest", "middle", (0.0, 0.0, 0.3)),
        ("head", "chest", (0.0, 0.0, 0.2)),
        ("hips", "middle", (0.0, 0.0, -0.05)),
        *both(
            ("arm.*", "chest", (0.0, 0.15, 0.0)),
            ("elbow.*", "arm.*", (0.0, 0.02, -0.15)),
            ("hand.*", "elbow.*", (0.01, 0.0, -0.15)),
            ("feeler.*", "head", (0.0, 0.05, 0.2)),
            ("feeler2.*", "feeler.*", (0.0, 0.0, 0.3)),
            ("feeler3.*", "feeler2.*", (0.0, 0.0, 0.3)),
            ("thigh.*", "hips", (0.0, 0.1, 0.0)),
            ("shin.*", "thigh.*", (0.01, 0.0, -0.13)),
            ("foot.*", "shin.*", (-0.01, 0.0, -0.13)),
        ),
    ]
    skin = [20.0 if "feeler" in name else 100.0 for name, _, _ in rows]
    names = [name for name, _, _ in rows]
    motion = figure(nameless(rows), [f"n{names.index('thigh.L')}", f"n{names.index('elbow.L')}"], skin=skin)
    found = {name: [names[int(n[1:])] for n in joints] for name, joints in limbs(fit(motion)).items()}
    assert found["left_leg"] == ["thigh.L", "shin.L", "foot.L"]
    assert found["left_arm"] == ["arm.L", "elbow.L", "hand.L"]
    assert found["neck"] == ["head"]
    assert sum("arm" in name for name in found) == 2


def test_front_legs_on_a_joint_of_their_own_are_found_in_mid_stride() -> None:
    """The shoulders hang on the last joint of the back beside the neck, and the rest pose is a frame of a run."""
    rows: list[Row] = [
        ("croup", "", (0.0, 0.0, 0.6)),
        ("back", "croup", (0.3, 0.0, 0.0)),
        ("neck", "back", (0.2, 0.0, 0.1)),
        ("head", "neck", (0.2, 0.0, 0.1)),
        ("withers", "back", (0.1, 0.0, 0.0)),
        ("tail", "croup", (-0.2, 0.0, 0.0)),
        ("tail2", "tail", (-0.2, 0.0, 0.0)),
    ]
    for of, hub in (("fore", "withers"), ("hind", "croup")):
        for side, sign, sway in (("a", 1.0, 0.3), ("b", -1.0, -0.2)):
            down = [(length * np.sin(sway * k), 0.0, -length * np.cos(sway * k)) for k, length in ((1, 0.2), (2, 0.25))]
            rows += [
                (f"{of}1{side}", hub, (0.0, sign * 0.08, -0.1)),
                (f"{of}2{side}", f"{of}1{side}", down[0]),
                (f"{of}3{side}", f"{of}2{side}", down[1]),
                (f"{of}4{side}", f"{of}3{side}", (0.05, 0.0, -0.02)),
            ]
    names = [name for name, _, _ in rows]
    swings = [f"n{names.index(name)}" for name in ("fore1a", "hind1b", "neck")]
    found = limbs(fit(figure(nameless(rows), swings)))
    legs = {names[int(joints[0][1:])][:4] for name, joints in found.items() if name.endswith("leg")}
    assert legs == {"fore", "hind"}, found


@pytest.mark.parametrize("rise", [0.0, 0.2])
def test_wings_or_tufts_beyond_the_front_legs_leave_them_legs(rise: float) -> None:
    """A nameless beast: the last fork of its trunk bears wings longer than its legs, and a tail that may rise."""
    rows: list[Row] = [
        ("croup", "", (0.0, 0.0, 0.6)),
        ("back", "croup", (0.3, 0.0, 0.0)),
        ("withers", "back", (0.3, 0.0, 0.0)),
        ("neck", "withers", (0.1, 0.0, 0.15)),
        ("crest", "neck", (0.05, 0.0, 0.15)),
        ("head", "crest", (0.15, 0.0, 0.05)),
        ("muzzle", "head", (0.15, 0.0, -0.02)),
        ("tail", "croup", (-0.15, 0.0, rise * 0.6)),
        ("tail2", "tail", (-0.25, 0.0, rise)),
        *both(
            *(
                row
                for of, hub in (("fore", "withers"), ("hind", "croup"))
                for row in (
                    (f"{of}1.*", hub, (0.0, 0.08, -0.1)),
                    (f"{of}2.*", f"{of}1.*", (-0.02, 0.0, -0.2)),
                    (f"{of}3.*", f"{of}2.*", (0.02, 0.0, -0.26)),
                )
            ),
            ("wing1.*", "crest", (-0.1, 0.1, 0.1)),
            ("wing2.*", "wing1.*", (-0.3, 0.2, 0.3)),
            ("wing3.*", "wing2.*", (-0.3, 0.2, 0.2)),
        ),
    ]
    names = [name for name, _, _ in rows]
    motion = figure(nameless(rows), [f"n{names.index(name)}" for name in ("wing1.L", "wing1.R")])
    found = {name: [names[int(n[1:])] for n in joints] for name, joints in limbs(fit(motion)).items()}
    legs = {name.partition("_")[2]: joints[0][:4] for name, joints in found.items() if "leg" in name}
    assert legs == {"front_leg": "fore", "hind_leg": "hind"}, found
    assert not any("arm" in name for name in found), found
    assert found["neck"][:3] == ["neck", "crest", "head"], found
    assert found["tail"] == ["tail", "tail2"], found


def test_ears_of_a_nameless_beast_whose_legs_hang_on_one_joint_are_no_arms() -> None:
    rows: list[Row] = [
        ("middle", "", (0.0, 0.0, 0.6)),
        ("neck", "middle", (0.5, 0.0, 0.1)),
        ("head", "neck", (0.2, 0.0, 0.05)),
        ("nose", "head", (0.2, 0.0, -0.1)),
        *both(
            *(
                row
                for of, ahead, knee in (("fore", 0.3, -0.22), ("hind", -0.3, -0.19))
                for row in (
                    (f"{of}1.*", "middle", (ahead, 0.08, -0.1)),
                    (f"{of}2.*", f"{of}1.*", (-0.02, 0.0, knee)),
                    (f"{of}3.*", f"{of}2.*", (0.02, 0.0, -0.46 - knee)),
                    (f"{of}4.*", f"{of}3.*", (0.5 * (knee + 0.24), 0.0, -0.02)),
                )
            ),
            ("ear1.*", "head", (0.0, 0.05, 0.1)),
            ("ear2.*", "ear1.*", (0.0, 0.05, 0.15)),
        ),
    ]
    names = [name for name, _, _ in rows]
    for swings in ((), ("fore2.L", "fore2.R")):  # with a clip in which a fore leg is lifted, too
        motion = figure(nameless(rows), [f"n{names.index(name)}" for name in swings])
        found = {name: [names[int(n[1:])] for n in joints] for name, joints in limbs(fit(motion)).items()}
        legs = [joints[0][:4] for name, joints in found.items() if "leg" in name]
        assert sorted(legs) == ["fore", "fore", "hind", "hind"], found
        assert not any("arm" in name for name in found), found


def test_last_joints_farther_off_than_the_body_reaches_are_no_part_of_it() -> None:
    ends = both(("toe end.*", "toe.*", (0.06, 0.0, 0.0)), ("finger.*", "hand.*", (0.0, 0.02, 0.0)))
    person = [*TRUNK, *ARMS, *LEGS, *ends, ("top", "head", (0.0, 0.0, 0.12))]
    far = both(("toe end end.*", "toe end.*", (5.98, 0.0, 0.4)), ("finger end.*", "finger.*", (0.0, 2.0, -1.0)))
    plain = figure(person, MOVES)
    for more in (far, [*far, ("top end", "top", (1.0, 0.0, 12.9))], far[:1]):
        odd = figure([*person, *more], MOVES)
        assert height_of(odd) == pytest.approx(height_of(plain))
        assert np.ptp(body_points(odd)[0][..., 2]) == pytest.approx(np.ptp(body_points(plain)[0][..., 2]))
        found, expected = fit(odd), fit(plain)
        assert limbs(found) == limbs(expected)
        assert found.mass == pytest.approx(expected.mass)
        for body, like in zip(found.bodies, expected.bodies, strict=True):
            assert body.mass == pytest.approx(like.mass), body.name


def test_a_long_last_joint_that_moves_skin_is_part_of_the_body() -> None:
    rows = [*TRUNK, *ARMS, *LEGS, ("grip", "hand.R", (0.0, -0.02, 0.0)), ("spear", "grip", (0.0, 0.0, 2.5))]
    bare, skinned = (figure(rows, MOVES, [*[9.0] * (len(rows) - 1), last]) for last in (0.0, 9.0))
    assert far_tips(bare.skeleton) == {len(rows) - 1}
    assert not far_tips(skinned.skeleton)
    low, high = (float(np.ptp(body_points(moving)[0][..., 2])) for moving in (bare, skinned))
    assert high > low + 1.0


def test_an_end_site_that_repeats_the_shank_is_no_sole() -> None:
    """An exporter that does not know how long a foot is writes the bone before it once more: half a leg underground."""
    rows = [*TRUNK, *ARMS, *LEGS[:3], *LEGS[4:7]]
    moves = [name for name in MOVES if "toe" not in name]
    repeated: list[Row] = [("", f"foot.{side}", (-0.01, 0.0, -0.4)) for side in "LR"]
    plain, filled = figure(rows, moves), figure(rows, moves, ends=repeated)
    assert find_floor(filled).value == pytest.approx(find_floor(plain).value)
    assert np.array_equal(body_points(filled)[0], body_points(plain)[0])
    assert height_of(filled) == pytest.approx(height_of(plain))
    found, expected = fit(filled), fit(plain)
    for body, like in zip(found.bodies, expected.bodies, strict=True):
        assert body.mass == pytest.approx(like.mass), body.name
    for point, like in zip(found.contact_points, expected.contact_points, strict=True):
        assert point.offset == pytest.approx(like.offset), point.name


@pytest.mark.parametrize("tip", [(0.4, 0.0, -0.02), (-0.01, 0.0, -0.3), (0.2, 0.0, -0.06)])
def test_an_end_site_ahead_or_of_another_length_is_the_foot_s(tip: tuple[float, float, float]) -> None:
    rows = [*TRUNK, *ARMS, *LEGS[:3], *LEGS[4:7]]
    ends: list[Row] = [("", f"foot.{side}", tip) for side in "LR"]
    skeleton = figure(rows, ends=ends).skeleton
    assert body_tips(skeleton) == skeleton.end_sites


def test_a_shin_that_ends_in_an_end_site_as_long_as_the_thigh_is_a_leg() -> None:
    rows: list[Row] = [
        ("rig", "", (0.0, 0.0, 0.0)),
        ("hips", "rig", (0.0, 0.0, 0.95)),
        *TRUNK[1:],
        *ARMS,
        *LEGS[:2],
        *LEGS[4:6],
    ]
    ends: list[Row] = [("", f"shin.{side}", (0.01, 0.0, -0.42)) for side in "LR"]
    skeleton = figure(rows, ends=ends).skeleton
    assert body_tips(skeleton) == skeleton.end_sites


def test_an_end_site_that_repeats_the_foot_is_that_of_the_toes() -> None:
    legs = both(
        ("thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
        ("foot.*", "shin.*", (-0.01, 0.0, -0.4)),
        ("toe.*", "foot.*", (0.1, 0.0, -0.09)),
    )
    ends: list[Row] = [("", f"toe.{side}", (0.1, 0.0, -0.09)) for side in "LR"]
    skeleton = figure([*TRUNK, *ARMS, *legs], ends=ends).skeleton
    assert body_tips(skeleton) == skeleton.end_sites


def test_a_head_whose_jaw_hangs_beside_its_skull_is_found_without_names() -> None:
    """The neck moves little skin, the skull most; a head that moves most itself ends the neck, whatever hangs on it."""
    bones = [
        ("b0", "chest", (0.0, 0.0, 0.15)),
        ("b1", "b0", (0.0, 0.0, 0.12)),
        ("b2", "b1", (0.02, 0.0, 0.1)),
        ("b3", "b2", (0.05, 0.0, 0.1)),
        ("b4", "b1", (0.16, 0.0, 0.02)),
    ]
    rows: list[Row] = [*TRUNK[:-1], *ARMS, *LEGS, *bones]
    for much, neck in (
        ({"b1": 5.0, "b2": 60.0, "b3": 200.0, "b4": 120.0}, ["b0", "b1", "b2", "b3"]),
        ({"b1": 200.0, "b4": 120.0}, ["b0", "b1"]),
    ):
        found = limbs(fit(figure(rows, MOVES, [much.get(name, 40.0) for name, _, _ in rows])))
        assert found["neck"] == neck


def test_a_fan_of_feathers_that_is_called_a_tail_is_no_spine() -> None:
    feathers = both(*((f"feather {n}.*", "tail fan", (-0.25, 0.02 * n, 0.05)) for n in (1, 2, 3)))
    ends = both(*((f"feather end {n}.*", f"feather {n}.*", (-0.2, 0.01 * n, 0.0)) for n in (1, 2, 3)))
    rows = [*TRUNK, *ARMS, *LEGS, ("tail fan", "hips", (-0.15, 0.0, 0.05)), *feathers, *ends]
    found = limbs(fit(figure(rows, MOVES, [40.0] * len(rows))))
    assert found["tail"] == ["tail fan"]
    assert not any("tail fan" in joints for name, joints in found.items() if "spine" in name)


@pytest.mark.parametrize(("ankle", "count"), [(0.05, 1), (0.2, 2)])
def test_a_foot_reaches_up_to_an_ankle_far_above_its_sole(ankle: float, count: int) -> None:
    """A drawn figure's ankle may be as high as its shank is long: the shank ended in the air."""
    legs = both(
        ("thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
        ("foot.*", "shin.*", (-0.01, 0.0, ankle - 0.45)),
        ("toe.*", "foot.*", (0.14, 0.0, -ankle)),
    )
    character = fit(figure([*TRUNK, *ARMS, *legs]))
    foot = next(body for body in character.bodies if body.name == "foot.L")
    assert len(foot.capsules) == count
    if count == 2:
        shaft = foot.capsules[1]
        assert np.allclose(shaft.start, 0.0)
        assert abs(float(np.linalg.norm(shaft.end)) - ankle) < 0.06


def test_the_spine_above_arms_that_begin_at_the_hips_is_neck_and_head() -> None:
    """Toys are drawn with all limbs on one joint."""
    spine: list[Row] = [(f"spine{n}", f"spine{n - 1}" if n else "hips", (0.0, 0.0, 0.2)) for n in range(4)]
    arms = [(name, "hips" if parent == "chest" else parent, at) for name, parent, at in ARMS]
    arms = [(name, parent, (x, y, 0.5) if parent == "hips" else (x, y, z)) for name, parent, (x, y, z) in arms]
    found = limbs(fit(figure([("hips", "", (0.0, 0.0, 0.95)), *spine, *arms, *LEGS], MOVES)))
    assert found["spine"] == ["spine0", "spine1"]
    assert found["neck"] == ["spine2", "spine3"]
    assert found["left_arm"] == ["upper_arm.L", "forearm.L", "hand.L"]
