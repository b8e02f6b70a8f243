"""Rigs of odd build: doubled joints, twist bones that carry hands, nameless legs, coat tails, insects, things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from poise.body import fit
from poise.body.anatomy import gather_poses
from poise.body.limbs import find_anatomy
from poise.body.posing import left_out
from poise.core import rotations
from tests.test_limbs import ARMS, LEGS, MOVES, TRUNK, Row, both, figure, limbs


def test_a_joint_that_only_holds_one_more_mesh_leaves_the_leg_its_thigh() -> None:
    doubled = both(("thigh mesh.*", "thigh.*", (0.0, 0.0, 0.0)))
    tips = both(("", "thigh mesh.*", (0.02, 0.0, -0.45)))  # what hangs on the thigh reaches down to the knee
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *doubled], MOVES, ends=tips)))
    assert found["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]
    assert not any(name.endswith("other") for name in found)


def test_a_foot_that_lies_on_its_control_is_the_foot() -> None:
    legs = both(
        ("thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
        ("foot target.*", "shin.*", (-0.01, 0.0, -0.4)),
        ("foot.*", "foot target.*", (0.0, 0.0, 0.0)),
        ("other target.*", "foot target.*", (0.0, 0.0, 0.0)),
    )
    rows = [*TRUNK, *ARMS, *legs]
    skin = [0.0 if "target" in name else 9.0 for name, _, _ in rows]
    ends = both(("", "foot.*", (0.15, 0.0, -0.05)))
    found = limbs(fit(figure(rows, ["thigh.L", "shin.L", "thigh.R"], skin=skin, ends=ends)))
    assert found["right_leg"] == ["thigh.R", "shin.R", "foot.R"]


def test_a_twist_bone_that_carries_the_hand_is_a_link_of_the_arm() -> None:
    arms = both(
        ("shoulder.*", "chest", (0.0, 0.03, 0.1)),
        ("blade.*", "shoulder.*", (0.05, 0.16, 0.02)),
        ("upper.*", "blade.*", (0.0, 0.02, -0.02)),
        *((f"upper twist{n}.*", "upper.*", (0.0, 0.05 * n, 0.0)) for n in range(5)),
        ("lower.*", "upper.*", (0.0, 0.26, 0.0)),
        *((f"lower twist{n}.*", "lower.*", (0.0, 0.04 * n, 0.0)) for n in range(5)),
        ("wrist twist.*", "lower.*", (0.0, 0.23, 0.0)),
        ("wrist.*", "wrist twist.*", (0.0, 0.02, 0.0)),
    )
    ends = both(("", "wrist.*", (0.0, 0.15, 0.0)))
    found = limbs(fit(figure([*TRUNK, *arms, *LEGS], [*MOVES[:8], "lower.L", "wrist.L"], ends=ends)))
    assert found["left_arm"][-3:] == ["upper.L", "lower.L", "wrist.L"]


def test_nameless_arms_that_hang_lower_than_expected_leave_the_figure_its_legs() -> None:
    rows: list[Row] = [
        ("Bone", "", (0.0, 0.0, 1.3)),
        ("Bone.004", "Bone", (0.0, 0.0, -0.4)),
        ("Bone.001", "Bone", (0.0, 0.0, 0.1)),
        ("Bone.002", "Bone.001", (0.0, 0.0, 0.3)),
        *both(
            ("Bone_*.001", "Bone", (0.0, 0.25, 0.0)),
            ("Bone_*.002", "Bone_*.001", (0.0, 0.06, -0.4)),
            ("Bone_*.003", "Bone_*.002", (0.0, 0.0, -0.4)),
            ("Bone.004_*.001", "Bone.004", (0.0, 0.12, -0.07)),
            ("Bone.004_*.002", "Bone.004_*.001", (0.01, 0.0, -0.4)),
            ("Bone.004_*.003", "Bone.004_*.002", (-0.01, 0.0, -0.42)),
        ),
    ]
    found = limbs(fit(figure(rows, ["Bone.004_L.002", "Bone_L.002"])))
    assert found["left_leg"][0] == "Bone.004_L.001"
    assert found["left_arm"][0] == "Bone_L.001"


def test_coat_tails_on_the_hips_are_no_arms() -> None:
    coat = both(
        ("strand.*", "hips", (-0.1, 0.1, 0.1)),
        ("strand.*.001", "strand.*", (-0.1, 0.1, -0.2)),
        ("strand.*.002", "strand.*.001", (-0.05, 0.05, -0.25)),
    )
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *coat], [*MOVES, "strand.L"])))
    assert sum("arm" in name for name in found) == 2
    assert found["left_arm"][0] == "upper_arm.L"


def test_a_spiders_legs_end_at_the_targets_that_hang_on_them() -> None:
    """No skin follows a target, so the last bone seems to end at its own joint, high above the ground."""
    rows: list[Row] = [("root", "", (0.0, 0.0, 0.0)), ("body", "root", (0.0, 0.0, 0.3)), ("tail", "body", (-0.2, 0, 0))]
    for k, ahead in enumerate((0.4, 0.15, -0.1, -0.4)):
        rows += both(
            (f"Bone{k}.*", "body", (0.1 * ahead, 0.05, 0.0)),
            (f"Bone{k}b.*", f"Bone{k}.*", (0.5 * ahead, 0.25, 0.15)),
            (f"Bone{k}c.*", f"Bone{k}b.*", (0.3 * ahead, 0.2, -0.1)),
            (f"Bone{k}goal.*", f"Bone{k}c.*", (0.3 * ahead, 0.1, -0.35)),
        )
    skin = [0.0 if "goal" in name or name == "root" else 9.0 for name, _, _ in rows]
    found = limbs(fit(figure(rows, ["Bone0c.L", "Bone1c.R", "Bone2c.L", "Bone3c.R"], skin=skin)))
    assert sum(name.count("leg") for name in found) == 8, found


def test_an_insects_leg_ends_in_its_tip() -> None:
    rows: list[Row] = [("body", "", (0.0, 0.0, 0.17)), ("head", "body", (0.2, 0.0, 0.02))]
    for n, x in enumerate((0.12, 0.0, -0.12)):
        rows += both(
            (f"leg{n}a.*", "body", (x, 0.08, 0.0)),
            (f"leg{n}b.*", f"leg{n}a.*", (0.0, 0.09, -0.02)),
            (f"leg{n}c.*", f"leg{n}b.*", (0.0, 0.15, 0.1)),
            (f"leg{n}d.*", f"leg{n}c.*", (0.0, 0.09, -0.04)),
            (f"leg{n}e.*", f"leg{n}d.*", (0.0, 0.07, -0.09)),
        )
    tips = [row for n in range(3) for row in both(("", f"leg{n}e.*", (0.0, 0.02, -0.12)))]
    character = fit(figure(rows, [f"leg{n}{part}.L" for n in range(3) for part in "abcde"], ends=tips))
    legs = [names for name, names in limbs(character).items() if "leg" in name]
    assert len(legs) == 6
    assert {names[-1][4] for names in legs} == {"e"}


def test_a_bow_and_a_pair_of_paddles_are_no_figure() -> None:
    def side(letter: str, sign: float) -> list[Row]:
        names = [f"Bow.{n:03}.{letter}" for n in range(1, 9)]
        return [(n, p, (0.0, 0.01, 0.06 * sign)) for n, p in zip(names, ["grip", *names])]

    bow: list[Row] = [("grip", "", (0.0, 0.0, 0.0)), *side("L", 1.0), *side("R", -1.0)]
    paddles: list[Row] = [("table", "", (0.0, 0.0, 0.8))]
    for n, y in enumerate((1.2, -1.2)):
        paddles += [(f"Bone.{n}1", "table", (0.4, y, 0.1)), (f"Bone.{n}2", f"Bone.{n}1", (0.0, 0.0, 0.3))]
        paddles += [(f"Bone.{n}3", f"Bone.{n}2", (0.0, 0.0, 0.3))]
    for rows in (bow, paddles):
        motion = figure(rows, [rows[-1][0]])
        assert not left_out(fit(motion), motion).is_figure


def test_fingers_of_a_hand_alone_have_no_side() -> None:
    rows: list[Row] = [("lHand", "", (0.0, 0.0, 0.0))]
    for n in range(1, 6):
        rows += [
            (f"finger{n}-1.l", "lHand", (0.1, 0.02 * n, 0.0)),
            (f"finger{n}-2.l", f"finger{n}-1.l", (0.05, 0.0, 0.0)),
        ]
        rows += [(f"finger{n}-3.l", f"finger{n}-2.l", (0.03, 0.0, 0.0))]
    assert {name.split(".")[0] for name in limbs(fit(figure(rows, ["finger1-2.l"])))} == {"other"}


@pytest.mark.parametrize("pitch", [0.0, 1.2])
def test_a_fish_weighs_by_its_skin_whatever_it_does(pitch: float) -> None:
    names = [f"Main{n}" for n in range(1, 7)]
    rows = [(n, p, (0.5 * np.cos(pitch), 0.0, 0.5 * np.sin(pitch))) for n, p in zip(names, ["", *names])]
    swimming = figure(rows, ["Main3"], skin=[1.0] * 6)
    fish = replace(swimming, skeleton=replace(swimming.skeleton, skin_volume=0.8))
    assert fit(fish).mass == pytest.approx(100.0)


BEAST: list[Row] = [
    ("ground", "", (0.0, 0.0, 0.0)),
    ("body", "ground", (0.0, 0.0, 0.2)),
    ("spine", "body", (-0.4, 0.0, 0.8)),
    ("spine.001", "spine", (0.4, 0.0, 0.02)),
    ("spine.002", "spine.001", (0.4, 0.0, 0.02)),
    ("spine.003", "spine.002", (0.35, 0.0, 0.03)),
    ("spine.004", "spine.003", (0.2, 0.0, 0.0)),
    ("spine.005", "spine.004", (0.15, 0.0, -0.02)),
    ("tail", "spine", (-0.2, 0.0, -0.05)),
    ("tail.001", "tail", (-0.3, 0.0, -0.2)),
    *both(
        ("thigh.*", "spine", (0.0, 0.15, -0.05)),
        ("shin.*", "thigh.*", (0.08, 0.0, -0.35)),
        ("foot.*", "shin.*", (-0.12, 0.0, -0.35)),
        ("shoulder.*", "spine.002", (0.05, 0.12, -0.05)),
        ("upper_arm.*", "shoulder.*", (0.05, 0.03, -0.2)),
        ("forearm.*", "upper_arm.*", (-0.05, 0.0, -0.3)),
        ("hand.*", "forearm.*", (0.02, 0.0, -0.3)),
        ("pole.*", "body", (1.6, 0.2, 0.0)),
    ),
]


def test_a_beast_is_read_whatever_it_does_and_whatever_a_brush_left_on_its_controls() -> None:
    skin = [0.0 if name in ("ground", "pole.R") else 0.3 if name == "pole.L" else 90.0 for name, _, _ in BEAST]
    ends = [
        ("", "spine.005", (0.1, 0.0, 0.0)),
        *both(("", "foot.*", (0.05, 0.0, -0.1)), ("", "hand.*", (0.05, 0.0, -0.05))),
    ]
    beast = figure(BEAST, ["body", "thigh.L", "shin.L", "upper_arm.R"], skin=skin, ends=ends)
    found = limbs(fit(beast))
    assert found["left_hind_leg"][:3] == ["thigh.L", "shin.L", "foot.L"]
    assert found["right_front_leg"][-1] == "hand.R"
    assert found["neck"][0] in ("spine.003", "spine.004")
    assert fit(beast).bodies[0].name == "spine"


@pytest.mark.parametrize("arm", [0.5, 0.28])
def test_a_steep_trunk_on_front_limbs_as_long_as_legs_is_a_beast(arm: float) -> None:
    rows: list[Row] = [
        ("hips", "", (0.0, 0.0, 0.7)),
        ("spine", "hips", (0.05, 0.0, 0.1)),
        ("chest", "spine", (0.2, 0.0, 0.35)),
        ("head", "chest", (0.1, 0.0, 0.3)),
        ("tail", "hips", (-0.2, 0.0, -0.05)),
        *both(
            ("upperleg.*", "hips", (0.0, 0.15, -0.05)),
            ("lowerleg.*", "upperleg.*", (0.03, 0.0, -0.3)),
            ("foot.*", "lowerleg.*", (-0.03, 0.0, -0.3)),
            ("upperarm.*", "chest", (0.1, 0.15, -0.1)),
            ("lowerarm.*", "upperarm.*", (0.0, 0.0, -arm)),
            ("hand.*", "lowerarm.*", (0.0, 0.0, -arm)),
        ),
    ]
    ends = both(("", "foot.*", (0.1, 0.0, -0.05)), ("", "hand.*", (0.1, 0.0, -0.05)))
    found = limbs(fit(figure(rows, ["head"], ends=ends)))
    assert ("left_front_leg" in found) == (arm == 0.5)
    assert ("left_leg" in found) == (arm != 0.5)


def test_what_lies_inside_a_bone_is_no_limb_whatever_it_is_called() -> None:
    flesh = both(
        ("mid.*", "thigh.*", (0.0, 0.0, -0.15)),
        ("mid1.*", "mid.*", (0.0, 0.005, -0.14)),
        ("*bulge", "upper_arm.*", (0.0, 0.12, 0.01)),
    )
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *flesh], MOVES, ends=both(("", "mid1.*", (0.0, 0.0, -0.2))))))
    assert found["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]
    assert found["right_leg"] == ["thigh.R", "shin.R", "foot.R", "toe.R"]
    assert not any("other" in name for name in found)


def test_a_collar_bone_as_long_as_the_upper_arm_is_known_by_what_follows() -> None:
    arms = both(
        ("chest piece.*", "chest", (0.0, 0.03, 0.1)),
        ("upper arm.*", "chest piece.*", (0.0, 0.22, 0.0)),
        ("forearm.*", "upper arm.*", (0.0, 0.24, 0.0)),
        ("hand.*", "forearm.*", (0.0, 0.1, 0.0)),
    )
    ends = both(("", "hand.*", (0.0, 0.2, 0.0)))
    found = limbs(fit(figure([*TRUNK, *arms, *LEGS], MOVES[:9], ends=ends)))
    assert found["left_arm"] == ["chest piece.L", "upper arm.L", "forearm.L", "hand.L"]


def test_a_tail_that_begins_above_the_pelvis_is_not_lost() -> None:
    rows: list[Row] = [
        ("world", "", (0.0, 0.0, 0.0)),
        ("base", "world", (-0.75, 0.0, 1.2)),
        ("hips", "base", (0.05, 0.0, -0.05)),
        ("spine", "hips", (0.5, 0.0, 0.0)),
        ("chest", "spine", (0.5, 0.0, 0.0)),
        ("neck", "chest", (0.2, 0.0, 0.2)),
        ("head", "neck", (0.3, 0.0, 0.4)),
        ("t1", "base", (-0.05, 0.0, 0.0)),
        ("t2", "t1", (-0.06, 0.0, -0.06)),
        ("t3", "t2", (-0.03, 0.0, -0.09)),
        ("t4", "t3", (0.0, 0.0, -0.1)),
    ]
    for place, hub in (("fore", "chest"), ("hind", "hips")):
        rows += both(
            (f"{place} thigh.*", hub, (0.0, 0.15, -0.1)),
            (f"{place} shin.*", f"{place} thigh.*", (0.02, 0.0, -0.5)),
            (f"{place} foot.*", f"{place} shin.*", (-0.02, 0.0, -0.5)),
        )
    found = limbs(fit(figure(rows, ["fore thigh.L", "hind thigh.R", "t2"])))
    assert found["tail"] == ["t1", "t2", "t3", "t4"]
    assert found["left_hind_leg"][0] == "hind thigh.L"


def test_a_figure_drawn_from_its_chest_has_its_head_at_that_end() -> None:
    rows: list[Row] = [
        ("b", "", (0.0, 0.0, 1.3)),
        ("b1", "b", (0.0, 0.0, 0.1)),
        ("b2", "b1", (0.0, 0.0, 0.25)),
        *both(
            ("a.*", "b", (0.0, 0.25, 0.05)),
            ("aa.*", "a.*", (0.0, 0.2, -0.2)),
            ("aaa.*", "aa.*", (0.0, 0.05, -0.25)),
        ),
        ("c", "b", (0.0, 0.0, -0.4)),
        *both(
            ("d.*", "c", (0.0, 0.12, -0.07)),
            ("dd.*", "d.*", (0.01, 0.0, -0.4)),
            ("ddd.*", "dd.*", (-0.01, 0.0, -0.42)),
        ),
    ]
    character = fit(figure(rows, ["dd.L", "aa.L"]))
    found = limbs(character)
    assert found["neck"] == ["b1", "b2"]
    assert [character.bodies[character.roles[role]].name for role in ("pelvis", "chest", "head")] == ["c", "b", "b2"]


def test_the_skin_of_a_whole_figure_counts_however_many_controls_it_has() -> None:
    body = [*TRUNK, *ARMS, *LEGS]
    doubles: list[Row] = []  # longer than what moves the skin
    for n in range(5):
        doubles += [(f"x{n} {name}", f"x{n} {up}", (1.15 * x, 1.15 * y, 1.15 * z)) for name, up, (x, y, z) in body[1:]]
        doubles.insert(-len(body) + 1, (f"x{n} hips", "hips", (0.0, 0.0, 0.0)))
    rows = [*body, *doubles]
    found = limbs(fit(figure(rows, MOVES, skin=[9.0] * len(body) + [0.0] * len(doubles))))
    assert found["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]
    assert {name for name in found if "leg" in name} == {"left_leg", "right_leg"}


def test_a_thing_that_hangs_beside_the_hand_is_not_the_hand() -> None:
    lens = [("lens", "forearm.R", (0.0, -0.3, 0.0)), ("rim", "lens", (0.0, -0.5, 0.0))]
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *lens], [*MOVES, "hand.R"])))
    assert found["right_arm"] == ["upper_arm.R", "forearm.R", "hand.R"]


def test_a_link_without_skin_before_the_thigh_is_no_leg() -> None:
    legs = both(
        ("piece.*", "hips", (0.0, 0.02, 0.0)),
        ("thigh.*", "piece.*", (0.0, 0.2, -0.05)),
        ("shin.*", "thigh.*", (0.1, 0.0, -0.3)),
        ("foot.*", "shin.*", (-0.15, 0.0, -0.35)),
        ("toe.*", "foot.*", (0.14, 0.0, -0.1)),
    )
    rows = [*TRUNK, *ARMS, *legs]
    skin = [0.0 if "piece" in name else 9.0 for name, _, _ in rows]
    found = limbs(fit(figure(rows, [*MOVES, "piece.L", "piece.R"], skin=skin)))
    assert found["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]


def beast(*more: Row, ends: list[Row], first: Sequence[Row] = ()) -> dict[str, list[str]]:
    """Limbs of a beast on four legs, and what hangs on it: `more` behind its legs in the file, `first` before them."""
    rows: list[Row] = [
        ("hips", "", (-0.6, 0.0, 1.2)),
        ("spine", "hips", (0.5, 0.0, 0.0)),
        ("chest", "spine", (0.5, 0.0, 0.0)),
        *first,
        ("neck", "chest", (0.3, 0.0, 0.3)),
        ("head", "neck", (0.3, 0.0, 0.2)),
    ]
    for hub, place in (("chest", "fore"), ("hips", "hind")):
        rows += both(
            (f"{place} thigh.*", hub, (0.0, 0.15, -0.1)),
            (f"{place} shin.*", f"{place} thigh.*", (0.02, 0.0, -0.5)),
            (f"{place} foot.*", f"{place} shin.*", (-0.02, 0.0, -0.5)),
        )
    return limbs(fit(figure([*rows, *more], ["fore thigh.L", "hind thigh.R"], ends=ends)))


def test_bones_of_the_pelvis_are_no_front_legs() -> None:
    found = beast(*both(("pelvis.*", "hips", (0.0, 0.1, -0.1))), ends=both(("", "pelvis.*", (0.0, 0.1, -0.7))))
    assert {name for name in found if "leg" in name} == {
        f"{s}_{p}_leg" for s in ("left", "right") for p in ("front", "hind")
    }
    assert found["left_front_leg"][0] == "fore thigh.L"


def test_stubs_that_share_the_flesh_of_the_chest_are_not_asked_whether_they_are_legs() -> None:
    stubs = both(("chest flesh.*", "chest", (0.0, 0.12, -0.05)), ("flesh end.*", "chest flesh.*", (0.0, 0.1, -0.3)))
    found = beast(first=stubs, ends=[])
    assert found["left_front_leg"][0] == "fore thigh.L"


def test_limbs_of_one_part_are_known_by_names_written_in_one() -> None:
    parts: list[Row] = [("frog", "", (0.0, 0.0, 0.1)), ("body", "frog", (0.0, 0.0, 0.0))]
    for name, x in (("arm", 0.2), ("leg", -0.2)):
        parts += [(f"left{name}", "frog", (x, 0.15, 0.0)), (f"right{name}", "frog", (x, -0.15, 0.0))]
    tips = [("", name, (0.0, 0.0, -0.1)) for name, _, _ in parts[2:]] + [("", "body", (0.3, 0.0, 0.0))]
    found = limbs(fit(figure(parts, ["body"], ends=tips)))
    assert found["left_front_leg"] == ["leftarm"]
    assert found["left_hind_leg"] == ["leftleg"]


def test_colons_in_a_name_part_its_words_and_are_no_namespace_where_only_the_place_follows() -> None:
    def parted(rows: list[Row]) -> list[Row]:
        """ "thigh.L" becomes "rig:Leg:Left:Upper"."""
        known = {"upper_arm": "Arm:*:Upper", "forearm": "Arm:*:Lower", "thigh": "Leg:*:Upper", "shin": "Leg:*:Lower"}
        new = {f"{k}.{s[0]}": "rig:" + v.replace("*", s) for k, v in known.items() for s in ("Left", "Right")}
        return [(new[name], new.get(parent, parent), offset) for name, parent, offset in rows if name in new]

    ends: list[Row] = [("", "head", (0.0, 0.0, 0.2))]
    for side in ("Left", "Right"):
        ends += [("", f"rig:Leg:{side}:Lower", (0.0, 0.0, -0.4)), ("", f"rig:Arm:{side}:Lower", (0.0, 0.0, -0.3))]
    rows = [("armature", "", (0.0, 0.0, -0.3)), ("hips", "armature", (0.0, 0.0, 1.25)), *TRUNK[1:]]  # below the ground
    found = limbs(fit(figure([*rows, *parted(ARMS), *parted(LEGS)], ["rig:Leg:Left:Upper", "spine"], ends=ends)))
    assert found["left_leg"] == ["rig:Leg:Left:Upper", "rig:Leg:Left:Lower"]
    assert found["right_arm"] == ["rig:Arm:Right:Upper", "rig:Arm:Right:Lower"]


def test_legs_of_one_bone_are_paired_by_their_name_and_lie_apart_by_their_tips() -> None:
    rows: list[Row] = [
        ("body", "", (0.0, 0.0, 0.5)),
        ("trunk", "body", (0.0, 0.0, 0.1)),
        ("head", "body", (0.0, 0.0, 0.5)),
    ]
    rows += [(f"leg{n}", "body", (0.0, 0.0, -0.1)) for n in range(4)]  # all begin in the middle
    ends: list[Row] = [("", f"leg{n}", (0.2 * (n > 1) - 0.1, 0.15 - 0.3 * (n % 2), -0.4)) for n in range(4)]
    found = limbs(fit(figure(rows, ["leg0", "leg2"], ends=[*ends, ("", "head", (0.0, 0.0, 0.3))])))
    assert {names[0] for name, names in found.items() if "leg" in name} == {"leg0", "leg1", "leg2", "leg3"}


def test_heads_beside_a_head_are_no_arms() -> None:
    heads = both(("head two.*", "chest", (0.0, 0.25, 0.1)), ("crown.*", "head two.*", (0.0, 0.05, 0.3)))
    found = limbs(fit(figure([*TRUNK, *heads, *LEGS], MOVES[:8])))
    assert not any("arm" in name for name in found)


def test_a_head_is_a_head_though_it_never_turns_and_lies_where_the_shoulders_do() -> None:
    arms = [(name, parent, (0.0, 0.0, 0.3) if parent == "chest" else at) for name, parent, at in ARMS]
    for shoulders in (ARMS, arms):
        found = limbs(fit(figure([*TRUNK, *shoulders, *LEGS], MOVES)))
        assert found["neck"] == ["head"]


def test_a_skin_far_from_its_bones_makes_nobody_heavy() -> None:
    rows: list[Row] = [
        ("body", "", (0.0, 0.0, 0.5)),
        ("tail", "body", (-0.4, 0.0, 0.0)),
        ("fin", "tail", (-0.3, 0.0, 0.0)),
    ]
    motion = figure(rows, ["tail"], skin=[9.0, 9.0, 9.0])
    masses = [fit(replace(motion, skeleton=replace(motion.skeleton, skin_volume=v))).mass for v in (1e9, 1e-15, None)]
    assert masses[:2] == pytest.approx([masses[2]] * 2)


def test_long_ears_on_a_head_are_no_tail() -> None:
    ears: list[Row] = [(f"crown{n}", f"crown{n - 1}" if n else "head", (0.0, 0.0, 0.35)) for n in range(4)]
    ears += both(("ear.*", "crown3", (0.0, 0.1, 0.1)), ("ear tip.*", "ear.*", (0.0, 0.1, 0.3)))
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *ears], [*MOVES, "crown0", "ear.L"])))
    assert not any("tail" in name for name in found)


def test_a_cloak_longer_than_the_arms_is_no_arm_and_a_sword_no_measure_for_one() -> None:
    arms = both(
        ("shoulder.*", "chest", (0.0, 0.1, 0.15)),
        ("arm.*", "shoulder.*", (0.0, 0.15, 0.0)),
        ("forearm.*", "arm.*", (0.0, 0.15, 0.0)),
        ("hand.*", "forearm.*", (0.0, 0.15, 0.0)),
    )
    cloak = both(
        ("cloak one.*", "chest", (-0.1, 0.15, 0.1)),
        ("cloak two.*", "cloak one.*", (-0.1, 0.0, -0.3)),
        ("cloak three.*", "cloak two.*", (0.0, 0.05, -0.4)),
    )
    sword: list[Row] = [("sword", "hand.R", (0.0, -0.05, 0.0))]
    tips: list[Row] = [*both(("", "hand.*", (0.0, 0.1, 0.0))), ("", "sword", (0.9, 0.0, 0.0))]
    found = limbs(fit(figure([*TRUNK, *arms, *LEGS, *cloak, *sword], [*MOVES[:8], "arm.L", "cloak two.L"], ends=tips)))
    assert found["left_arm"] == ["shoulder.L", "arm.L", "forearm.L", "hand.L"]
    assert found["right_arm"] == ["shoulder.R", "arm.R", "forearm.R", "hand.R"]


def test_wings_alone_are_no_legs() -> None:
    def bird(*names: str) -> list[Row]:
        wings = both((f"{names[0]}*", "body", (0.0, 0.1, 0.1)), (f"{names[1]}*", f"{names[0]}*", (0.0, 0.3, -0.1)))
        return [("body", "", (0.0, 0.0, 0.3)), ("head", "body", (0.2, 0.0, 0.1)), *wings]

    for first, second in (("part_", "wing_"), ("a_", "b_")):
        rows = bird(first, second)
        motion = figure(rows, [], ends=both(("", f"{second}*", (0.0, 0.3, -0.4))))
        beat = 1.2 * np.sin(2.0 * np.pi * motion.times)
        turned = motion.rotations.copy()
        for letter, sign in (("L", 1.0), ("R", -1.0)):
            k = motion.skeleton.index(f"{first}{letter}")
            turned[:, k] = rotations.from_rotation_vector(np.outer(sign * beat, [1.0, 0.0, 0.0]))
        found = limbs(fit(replace(motion, rotations=turned)))
        assert not any("leg" in name for name in found)


def test_arms_of_one_skin_are_a_pair_though_one_holds_something() -> None:
    rows: list[Row] = [*TRUNK[:3], ("n", "chest", (0.0, 0.0, 0.3)), *LEGS]
    rows += [("n1", "chest", (0.0, 0.25, 0.1)), ("n2", "n1", (0.0, 0.2, -0.1))]
    rows += [("n3", "chest", (0.0, -0.25, 0.1)), ("n4", "n3", (0.0, -0.2, -0.1))]
    rows += [(f"n{k}", "n4", (0.25, 0.02 * k, 0.0)) for k in (5, 6, 7)]  # three barrels
    skin = [40.0 if name in ("n1", "n3") else 9.0 for name, _, _ in rows]
    motion = figure(rows, [*MOVES[:8], "n1", "n3"], skin=skin, ends=[("", "n2", (0.0, 0.1, 0.0))])
    found = limbs(fit(motion))
    assert {found["left_arm"][0], found["right_arm"][0]} == {"n1", "n3"}


@pytest.mark.parametrize("turns", [True, False])
@pytest.mark.parametrize("skin", [9.0, 0.0])
def test_a_short_first_bone_with_skin_is_of_the_leg_with_and_without_a_clip(skin: float, turns: bool) -> None:
    legs = both(
        ("link.*", "hips", (0.0, 0.1, -0.05)),
        ("thigh.*", "link.*", (0.0, 0.05, -0.12)),
        ("shin.*", "thigh.*", (0.05, 0.0, -0.4)),
        ("foot.*", "shin.*", (-0.05, 0.0, -0.4)),
    )
    rows = [*TRUNK, *ARMS, *legs]
    moves = ["thigh.L", "shin.L", "thigh.R", *(("link.L", "link.R") if turns else ())]
    painted = [skin if name.startswith("link") else 9.0 for name, _, _ in rows]
    motion = figure(rows, moves, skin=painted, ends=both(("", "foot.*", (0.15, 0.0, -0.05))))
    first = "link.L" if skin else "thigh.L"
    moving, bare = fit(motion), fit(motion.skeleton)
    assert limbs(moving)["left_leg"][0] == limbs(bare)["left_leg"][0] == first
    assert bare.mass == pytest.approx(moving.mass)


def test_a_thigh_whose_flesh_is_painted_to_the_trunk_is_a_thigh() -> None:
    legs = both(
        ("thin.*", "hips", (0.0, 0.35, -0.1)),
        ("knee.*", "thin.*", (0.06, 0.0, -0.3)),
        ("foot.*", "knee.*", (-0.06, 0.0, -0.3)),
        ("toe.*", "foot.*", (0.14, 0.0, -0.1)),
    )
    rows = [*TRUNK, *ARMS, *legs]
    skin = [0.0 if "thin" in name else 9.0 for name, _, _ in rows]
    found = limbs(fit(figure(rows, ["thin.L", "knee.L", "thin.R"], skin=skin)))
    assert found["left_leg"][:3] == ["thin.L", "knee.L", "foot.L"]


def test_a_leg_whose_side_is_mistyped_is_the_twin_of_the_one_with_as_much_skin() -> None:
    names = {"L": ("Lefr one", "Lefr two", "Lefr three"), "R": ("FirstRight1", "FirstRight2", "FirstRight3")}
    rows: list[Row] = [*TRUNK, *ARMS]
    for side, sign, longer in (("L", 1.0, 1.0), ("R", -1.0, 1.2)):
        first, second, third = names[side]
        rows += [(first, "hips", (0.0, 0.1 * sign, -0.05)), (second, first, (0.05, 0.0, -0.42 * longer))]
        rows += [(third, second, (-0.05, 0.0, -0.4))]
    ends: list[Row] = [("", names[side][2], (0.15, 0.0, -0.05)) for side in "LR"]
    motion = figure(rows, ["Lefr one", "Lefr two", "FirstRight1"], skin=[9.0] * len(rows), ends=ends)
    found = limbs(fit(motion))
    assert {found["left_leg"][0], found["right_leg"][0]} == {"Lefr one", "FirstRight1"}


def test_a_leg_that_is_straight_on_one_side_only_has_its_joints_on_both() -> None:
    rows: list[Row] = [*TRUNK, *ARMS]
    for side, sign, bend in (("L", 1.0, 0.2), ("R", -1.0, 0.0)):
        rows += [(f"hind.{side}.001", "hips", (0.0, 0.1 * sign, -0.05))]
        rows += [(f"hind.{side}.002", f"hind.{side}.001", (bend, 0.0, -0.4))]
        rows += [(f"hind.{side}.003", f"hind.{side}.002", (-bend, 0.0, -0.4))]
    ends: list[Row] = [("", f"hind.{side}.003", (0.0, 0.0, -0.15)) for side in "LR"]
    found = limbs(fit(figure(rows, ["hind.L.001", "hind.R.001"], ends=ends)))
    assert len(found["left_leg"]) == len(found["right_leg"]) == 3


def test_a_tracked_head_and_hands_are_no_figure() -> None:
    rows: list[Row] = [
        ("root", "", (0.0, 0.0, 1.0)),
        ("head", "root", (0.0, 0.0, 0.6)),
        ("hand_l", "root", (0.3, 0.3, 0.0)),
    ]
    rows.append(("hand_r", "root", (0.3, -0.3, 0.0)))
    ends: list[Row] = [("", name, (0.0, 0.0, 0.1)) for name in ("head", "hand_l", "hand_r")]
    tracked = fit(figure(rows, ["head", "hand_l"], ends=ends))
    assert not {limb.kind for limb in tracked.limbs} & {"arm", "leg"}
    skinned = fit(figure(rows, ["head", "hand_l"], ends=ends, skin=[90.0, 40.0, 10.0, 10.0]))  # a toy of one body
    assert [limb.kind for limb in skinned.limbs].count("arm") == 2


def test_a_nameless_beast_that_lies_and_is_drawn_from_its_middle_has_four_legs() -> None:
    rows: list[Row] = [
        ("Bone", "", (0.0, 0.0, 0.3)),
        ("Bone.001", "Bone", (-0.1, 0.0, 0.0)),
        ("Bone.002", "Bone.001", (0.4, 0.0, 0.0)),
        ("Bone.003", "Bone.002", (0.3, 0.0, 0.0)),
        ("Bone.004", "Bone.003", (0.2, 0.05, 0.0)),
        ("Bone.005", "Bone.003", (0.2, -0.05, 0.0)),
        ("Bone.006", "Bone", (-0.4, 0.0, 0.0)),
        ("Bone.007", "Bone.006", (-0.3, 0.0, 0.0)),
        ("Bone.008", "Bone.007", (-0.3, 0.0, 0.0)),
    ]
    number = 9
    for hub in ("Bone.002", "Bone.006"):  # it lies on its side: one leg above the other
        for z in (0.05, -0.05):
            names = [f"Bone.{number + n:03}" for n in range(3)]
            rows += [(names[0], hub, (2.0 * z, 0.1, z)), (names[1], names[0], (0.02, 0.25, 0.0))]
            rows += [(names[2], names[1], (-0.02, 0.2, 0.0))]
            number += 3
    found = limbs(fit(figure(rows, ["Bone.003"], ends=[])))
    legs = {name: joints[0] for name, joints in found.items() if name.endswith("leg")}
    assert set(legs.values()) == {"Bone.009", "Bone.012", "Bone.015", "Bone.018"}
    assert {name for name, joint in legs.items() if joint in ("Bone.009", "Bone.012")} == {
        "left_front_leg",
        "right_front_leg",
    }


def test_a_hand_among_the_bones_of_its_sleeve_is_the_hand() -> None:
    """Four loose ends around the wrist make no fan of it."""
    sleeves = both(
        *(
            row
            for n, (x, z) in enumerate([(0.05, 0.0), (-0.05, 0.0), (0.0, 0.05), (0.0, -0.05)])
            for row in (
                (f"sleeve{n}.*", "forearm.*", (x, 0.05, z)),
                (f"hem{n}.*", f"sleeve{n}.*", (0.0, 0.14, 0.0)),
            )
        )
    )
    fingers = both(*((f"finger{n}.*", "hand.*", (0.02 * n, 0.08, 0.0)) for n in range(3)))
    tips = both(*((f"tip{n}.*", f"finger{n}.*", (0.0, 0.04, 0.0)) for n in range(3)))
    found = limbs(fit(figure(TRUNK + ARMS + LEGS + sleeves + fingers + tips, MOVES)))
    assert found["left_arm"] == ["upper_arm.L", "forearm.L", "hand.L"]
    assert found["right_arm"] == ["upper_arm.R", "forearm.R", "hand.R"]
    assert sum("arm" in name for name in found) == 2


def test_a_pair_on_a_side_branch_of_the_trunk_is_no_arms() -> None:
    """Breasts on a bone of their own, with names that nobody knows."""
    breast = [("mune", "spine", (0.09, 0.0, 0.05))]
    pairs = both(
        ("mune.*", "mune", (0.04, 0.08, 0.0)), ("a.*", "mune.*", (0.19, 0.0, 0.0)), ("b.*", "a.*", (0.16, 0.0, 0.0))
    )
    found = limbs(fit(figure(TRUNK + breast + ARMS + LEGS + pairs, MOVES)))
    assert [name for name in found if "arm" in name] == ["left_arm", "right_arm"]
    assert found["left_arm"] == ["upper_arm.L", "forearm.L", "hand.L"]


def test_the_head_goes_along_the_neck_and_not_to_the_nose() -> None:
    ends = both(("", "hand.*", (0.0, 0.1, 0.0)), ("", "toe.*", (0.06, 0.0, 0.0)))
    for front, top in (("headfront", "head_end"), ("nose.x", "HeadTop_End"), ("marker", "crown")):
        rows = [*TRUNK, *ARMS, *LEGS, (front, "head", (0.3, 0.0, 0.0)), (top, "head", (0.02, 0.0, 0.22))]
        character = fit(figure(rows, MOVES, ends=ends))
        head = character.bodies[character.roles["head"]]
        np.testing.assert_allclose(head.capsules[0].end[:2], 0.0, atol=0.02, err_msg=front)
        assert head.capsules[0].end[2] + head.capsules[0].radius == pytest.approx(0.22, abs=0.01), front


def test_a_large_head_touches_the_floor_with_its_crown() -> None:
    rows = [*TRUNK, *ARMS, *LEGS]
    for height, labels in ((0.22, ["head"]), (0.5, ["head", "crown"])):
        character = fit(figure(rows, MOVES, ends=[("", "head", (0.0, 0.0, height))]))
        own = [p for p in character.contact_points if p.part == "head"]
        assert [p.name.split(".")[-1] for p in own] == labels
        assert max(p.offset[2] + p.radius for p in own) == pytest.approx(height, abs=0.02)
        head = character.bodies[character.roles["head"]].capsules[0]
        assert head.start[2] - head.radius == pytest.approx(0.0, abs=0.03)  # it begins at the neck


def test_soles_lie_where_the_skin_of_the_rest_pose_stands() -> None:
    ends = both(("", "hand.*", (0.0, 0.1, 0.0)), ("", "toe.*", (0.06, 0.0, 0.0)))
    plain = figure([*TRUNK, *ARMS, *LEGS], [], ends=ends)
    low = float(plain.skeleton.rest[0][:, 2].min())
    offsets, places = plain.skeleton.offsets.copy(), plain.translations.copy()
    offsets[0, 2] += 0.06 - low  # the lowest joints 6 cm above the ground, as in boots
    places[:, 0, 2] += 0.06 - low
    for sole, floor in ((0.0, 0.0), (None, 0.06)):
        skeleton = replace(plain.skeleton, offsets=offsets, sole=sole)
        character = fit(replace(plain, skeleton=skeleton, translations=places))
        assert character.floor == pytest.approx(floor, abs=0.01)
        for point in (p for p in character.contact_points if p.part == "foot"):
            height = skeleton.rest[0][character.bodies[point.body].joint, 2] + point.offset[2]
            assert height == pytest.approx(floor, abs=0.01), point.name


def test_what_no_bone_moves_hangs_on_no_tail() -> None:
    """Some exporters add a bone at the root for vertices that none moves; its tip is where they lie."""
    rows = [("armature", "", (0.0, 0.0, 0.0)), *((n, p or "armature", at) for n, p, at in (*TRUNK, *ARMS, *LEGS))]
    stray: Row = ("neutral_bone", "armature", (0.0, 0.0, 0.0))
    for count, name in ((2.0, "neutral_bone"), (3.0, "rest")):
        all_rows = [*rows, (name, *stray[1:])]
        skin = [0.0, *(50.0 for _ in rows[1:]), count]
        ends = [*both(("", "toe.*", (0.06, 0.0, 0.0))), ("", name, (-0.8, 0.0, 0.4))]
        found = limbs(fit(figure(all_rows, MOVES, skin=skin, ends=ends)))
        assert not any(name in joints for joints in found.values()), found
        assert {"left_leg", "right_leg", "left_arm", "right_arm"} <= set(found)


def test_wings_are_told_by_the_end_of_their_name() -> None:
    wings = both(
        ("upperwing.*", "spine", (-0.1, 0.1, 0.1)),
        ("middlewing.*", "upperwing.*", (0.0, 0.5, 0.3)),
        ("lowerwing.*", "middlewing.*", (0.0, 0.5, 0.0)),
    )
    found = limbs(fit(figure([*TRUNK, *ARMS, *LEGS, *wings], [*MOVES, "upperwing.L", "upperwing.R"])))
    assert found["left_arm"][-1] == "hand.L"
    assert "upperwing.L" not in [j for name, joints in found.items() if "arm" in name for j in joints]


def test_legs_that_a_robe_hides_are_legs_and_controls_without_skin_are_not() -> None:
    body = [*TRUNK, *ARMS, *LEGS]
    skin = [0.0 if name.split(".")[0] in ("thigh", "shin", "foot", "toe") else 9.0 for name, _, _ in body]
    hidden = limbs(fit(figure(body, MOVES, skin=skin)))
    assert hidden["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]
    controls = both(("leg control.*", "hips", (0.1, 0.2, -0.1)), ("foot target.*", "leg control.*", (0.0, 0.0, -0.6)))
    rows = [*body, *controls]
    shown = limbs(fit(figure(rows, MOVES, skin=[9.0] * (len(rows) - len(controls)) + [0.0] * len(controls))))
    assert shown["left_leg"] == ["thigh.L", "shin.L", "foot.L", "toe.L"]
    assert not any("control" in name or "target" in name for names in shown.values() for name in names)


def test_front_legs_by_name_and_arms_in_the_air() -> None:
    def beast(front: Sequence[str], down: float) -> list[Row]:
        trunk: list[Row] = [("hip", "", (0.0, 0.0, 1.0)), ("chest", "hip", (0.9, 0.0, 0.1))]
        trunk += [("neck", "chest", (0.3, 0.0, 0.2)), ("head", "neck", (0.3, 0.0, 0.1))]
        trunk += [("tail", "hip", (-0.4, 0.0, 0.0)), ("tail1", "tail", (-0.8, 0.0, 0.0))]
        hind = (("thigh.*", "hip", (0.0, 0.2, 0.0)), ("shin.*", "thigh.*", (0.1, 0.0, -0.5)))
        legs = (*hind, ("foot.*", "shin.*", (-0.1, 0.0, -0.45)))
        upper, lower, hand = front
        arms = ((upper, "chest", (0.1, 0.2, -0.1)), (lower, upper, (0.05, 0.0, -0.55 * down)))
        return [*trunk, *both(*legs, *arms, (hand, lower, (-0.05, 0.0, -0.45 * down)))]

    arms = ("upper_arm.*", "forearm.*", "hand.*")
    assert "left_front_leg" in limbs(fit(figure(beast(arms, 1.0)).skeleton))
    assert limbs(fit(figure(beast(arms, 0.77)).skeleton))["left_arm"][-1] == "hand.L"
    assert "left_front_leg" in limbs(fit(figure(beast(("shoulder.*", "frontleg.*", "frontcalf.*"), 0.9)).skeleton))


def test_an_arm_in_pieces_ends_at_its_hand() -> None:
    trunk: list[Row] = [("hips", "", (0.0, 0.0, 0.9)), ("spine", "hips", (0.0, 0.0, 0.3))]
    trunk += [("neck", "spine", (0.0, 0.0, 0.2)), ("head", "neck", (0.0, 0.0, 0.1))]
    legs = (
        ("hip.*", "hips", (0.0, 0.1, 0.0)),
        ("knee.*", "hip.*", (0.0, 0.0, -0.45)),
        ("ankle.*", "knee.*", (0.0, 0.0, -0.4)),
    )
    arms = [("clavicle.*", "spine", (0.0, 0.05, 0.15)), ("shoulder.*", "clavicle.*", (0.0, 0.12, 0.0))]
    arms += [("bicep.*", "shoulder.*", (0.0, 0.13, 0.0)), ("elbow.*", "bicep.*", (0.0, 0.13, 0.0))]
    arms += [("forearm.*", "elbow.*", (0.0, 0.13, 0.0)), ("wrist.*", "forearm.*", (0.0, 0.13, 0.0))]
    found = limbs(fit(figure([*trunk, *both(*legs, *arms)]).skeleton))
    assert found["left_arm"] == ["clavicle.L", "shoulder.L", "elbow.L", "wrist.L"]


def test_arms_beside_wide_wings_are_front_legs() -> None:
    trunk: list[Row] = [("hip", "", (0.0, 0.0, 1.0)), ("chest", "hip", (0.9, 0.0, 0.1))]
    trunk += [("neck", "chest", (0.3, 0.0, 0.2)), ("head", "neck", (0.3, 0.0, 0.1))]
    trunk += [("tail", "hip", (-0.9, 0.0, 0.0)), ("tail1", "tail", (-0.9, 0.0, 0.0)), ("tail2", "tail1", (-0.9, 0, 0))]
    hind = [("thigh.*", "hip", (0.0, 0.2, 0.0)), ("shin.*", "thigh.*", (0.1, 0.0, -0.5))]
    hind += [("foot.*", "shin.*", (-0.1, 0.0, -0.45))]
    front = [("upper_arm.*", "chest", (0.1, 0.2, -0.1)), ("forearm.*", "upper_arm.*", (0.0, 0.0, -0.9))]
    wings = [("w1.*", "chest", (0.0, 0.1, 0.3)), ("w2.*", "w1.*", (0.0, 2.0, 0.5)), ("w3.*", "w2.*", (0.0, 2.0, 0.0))]
    wings += [("w4.*", "w3.*", (0.0, 2.0, 0.0))]
    found = limbs(fit(figure([*trunk, *both(*hind, *front, *wings)]).skeleton))
    assert found["left_front_leg"] == ["upper_arm.L", "forearm.L"]


def test_a_trunk_that_bears_no_limbs_is_no_neck() -> None:
    rows: list[Row] = [("body", "", (0.0, 0.0, 1.0)), ("torso", "body", (0.0, 0.0, 0.4))]
    rows += [("spine_1", "body", (0.0, 0.0, 0.01)), ("spine_2", "spine_1", (0.0, 0.0, 0.25))]
    rows += [("skull", "spine_2", (0.0, 0.0, 0.2)), ("top", "skull", (0.0, 0.0, 0.15))]
    arms = [("arm.*", "torso", (0.0, 0.2, 0.0)), ("lower_arm.*", "arm.*", (0.0, 0.3, 0.0))]
    arms += [("palm.*", "lower_arm.*", (0.0, 0.3, 0.0))]
    legs = [("thigh.*", "body", (0.0, 0.1, 0.0)), ("shin.*", "thigh.*", (0.0, 0.0, -0.5))]
    legs += [("foot.*", "shin.*", (0.0, 0.0, -0.45))]
    found = limbs(fit(figure([*rows, *both(*arms, *legs)]).skeleton))
    assert found["neck"][0] == "skull"


def test_limbs_of_a_nameless_body_that_is_drawn_as_two_halves_at_one_place_are_pairs() -> None:
    rows: list[Row] = [("right half", "", (0.0, 0.0, 0.4)), ("left half", "right half", (0.0, 0.0, 0.0))]
    for half, sign in (("left half", 1.0), ("right half", -1.0)):
        for n, ahead in enumerate((-0.1, 0.35)):
            first = f"bone{len(rows)}"
            rows.append((first, half, (0.0, 0.0, 0.1)))
            rows.append((f"bone{len(rows)}", first, (ahead, (0.4 + 0.05 * n) * sign, 0.0)))
            rows.append((f"bone{len(rows)}", f"bone{len(rows) - 1}", (0.0, 0.2 * sign, -0.5)))
    ends = [("", name, (0.0, 0.0, -0.02)) for name in ("bone4", "bone7", "bone10", "bone13")]
    found = limbs(fit(figure(rows, ["bone3", "bone9"], skin=[9.0] * len(rows), ends=ends)))
    of = {name.split("_")[0]: [] for name in found}
    for name, joints in found.items():
        assert name.endswith("leg")
        of[name.split("_")[0]].append(joints[0])
    assert {tuple(sorted(firsts)) for firsts in of.values()} == {("bone2", "bone5"), ("bone11", "bone8")}


def test_nameless_feelers_that_rise_from_the_top_of_a_figure_are_no_arms() -> None:
    def nameless(text: str) -> str:
        return f"b{sum(ord(c) * 7**k for k, c in enumerate(text))}" if text else ""

    feelers = both(
        ("feeler1.*", "top", (0.0, 0.03, 0.1)),
        ("feeler2.*", "feeler1.*", (0.0, 0.03, 0.2)),
        ("feeler3.*", "feeler2.*", (0.0, 0.02, 0.2)),
    )
    rows = [*TRUNK[:3], ("top", "chest", (0.0, 0.0, 0.3)), *ARMS, *LEGS, *feelers]
    rows = [(nameless(name), nameless(parent), offset) for name, parent, offset in rows]
    found = limbs(fit(figure(rows, [nameless(name) for name in MOVES], skin=[9.0] * len(rows))))
    assert found["left_arm"][:2] == [nameless("upper_arm.L"), nameless("forearm.L")]
    assert nameless("top") in found["neck"]


def test_a_nameless_beast_whose_legs_meet_at_one_joint_stands_on_four_though_it_jumps() -> None:
    rows: list[Row] = [("b", "", (0.0, 0.0, 1.0))]
    for k, (x, y) in enumerate(((0.6, 0.6), (0.6, -0.6), (-0.6, 0.6), (-0.6, -0.6))):
        rows += [(f"b{2 * k}", "b", (x, y, -0.4)), (f"c{2 * k}", f"b{2 * k}", (0.0, 0.0, -0.5))]
    rows += [("d0", "b", (0.0, 0.0, 0.7)), ("d1", "d0", (0.5, 0.0, 0.0))]
    motion = figure(rows, ["d1"], skin=[9.0] * len(rows))
    turned = motion.rotations.copy()
    turned[4:, 0] = rotations.from_rotation_vector(np.array([3.0, 0.0, 0.0]))  # it lies on its back
    found = limbs(fit(replace(motion, rotations=turned)))
    assert {name for name in found if name.endswith("leg")} == {
        f"{side}_{place}_leg" for side in ("left", "right") for place in ("front", "hind")
    }


def test_a_beast_whose_legs_are_named_by_the_viewers_sides_faces_as_its_head() -> None:
    rows: list[Row] = [
        ("root", "", (0.0, 0.0, 0.0)),
        ("back", "root", (0.0, 0.0, 1.0)),
        ("head", "root", (0.6, 0.0, 1.2)),
    ]
    for side, y in (("Left", -0.3), ("Right", 0.3)):
        rows += [(f"{side}FLeg", "root", (0.3, y, 0.4)), (f"{side}BLeg", "root", (-0.3, y, 0.4))]
    ends = [("", row[0], (0.0, 0.0, -0.4)) for row in rows if "Leg" in row[0]]
    skin = [0.0, *[9.0] * (len(rows) - 1)]
    found = limbs(fit(figure(rows, ["head"], skin=skin, ends=[*ends, ("", "head", (0.2, 0.0, 0.0))])))
    assert found["left_front_leg"] == ["LeftFLeg"]


def many_legged(name: str, ahead: float) -> list[Row]:
    """A body with six legs of two bones each, those named `name` and a number, and a branch behind."""
    rows: list[Row] = [("b", "", (0.0, 0.0, 0.4))]
    for n in range(3):
        rows += both(
            (f"{name}{n}*", "b", (0.1 * n - 0.1, 0.1, 0.0)), (f"{name}{n}end*", f"{name}{n}*", (0.0, 0.3, -0.2))
        )
    tail: list[Row] = [(f"t{n}", f"t{n - 1}" if n else "b", (-0.2 * ahead, 0.0, 0.1 * (n > 2))) for n in range(5)]
    return [*rows, *tail]


def test_claws_beside_legs_are_arms_though_they_rest_on_the_ground() -> None:
    claws = both(("arm_base.*", "b", (0.2, 0.1, 0.0)), ("arm_claw.*", "arm_base.*", (0.3, 0.1, -0.2)))
    rows = [*many_legged("leg.", 1.0), *claws]
    ends = [("", row[0], (0.0, 0.0, -0.2)) for row in rows if "end" in row[0] or "claw" in row[0]]
    character = fit(figure(rows, ["t1"], skin=[9.0] * len(rows), ends=ends))
    assert [limb.kind for limb in character.limbs].count("leg") == 6
    assert limbs(character)["left_arm"] == ["arm_base.L", "arm_claw.L"]


@pytest.mark.parametrize("ahead", [1.0, -1.0])
def test_a_nameless_scorpion_faces_its_claws_and_its_tail_is_behind(ahead: float) -> None:
    rows = [
        (name.translate(str.maketrans("LR", "uv")), parent.translate(str.maketrans("LR", "uv")), place)
        for name, parent, place in many_legged("x", ahead)
    ]
    rows += [
        (f"c{n}{k}", f"c{n}{k - 1}" if k else "b", (0.2 * ahead, y * (1 + k), 0.1))
        for n, y in enumerate((0.1, -0.1))
        for k in range(2)
    ]
    ends = [("", row[0], (0.0, 0.0, -0.2)) for row in rows if "end" in row[0]]
    motion = figure(rows, ["t1"], skin=[9.0] * len(rows), ends=ends)
    assert find_anatomy(gather_poses(motion)).forward[0] @ [ahead, 0.0, 0.0] > 0.9
    assert limbs(fit(motion))["tail"][0] == "t0"


def test_a_crook_in_one_hand_is_no_part_of_the_arm() -> None:
    arms = both(("upper_arm.*", "chest", (0.0, 0.2, 0.1)), ("forearm.*", "upper_arm.*", (0.0, 0.28, 0.0)))
    rows = [*TRUNK, *arms, *LEGS, ("crook", "forearm.R", (0.0, -0.2, 0.3))]
    found = limbs(fit(figure(rows, MOVES[:9], skin=[9.0] * len(rows), ends=[("", "forearm.L", (0.0, 0.3, 0.0))])))
    assert found["right_arm"] == ["upper_arm.R", "forearm.R"]


def test_a_nameless_arm_in_pieces_ends_where_its_fingers_begin() -> None:
    arms = both(
        ("b.*", "chest", (0.0, 0.1, 0.1)),
        ("b1.*", "b.*", (0.0, 0.14, 0.0)),
        ("b2.*", "b1.*", (0.02, 0.13, 0.0)),
        ("b3.*", "b2.*", (-0.02, 0.12, 0.0)),
        ("b4.*", "b3.*", (0.02, 0.12, 0.0)),
        *((f"b{n}.*", "b4.*", (0.02 * (n - 6), 0.08, 0.0)) for n in (5, 6, 7)),
    )
    found = limbs(fit(figure([*TRUNK, *arms, *LEGS], [*MOVES[:8], "b2.L", "b4.L"])))
    assert found["left_arm"][-1] == "b4.L"


def test_a_head_without_skin_is_the_head_and_not_the_trunk_beside_it() -> None:
    nose: list[Row] = [("neck", "chest", (0.0, 0.0, 0.15)), ("head", "neck", (0.0, 0.0, 0.1))]
    nose += [("nose0", "neck", (0.2, 0.0, 0.05)), ("nose1", "nose0", (0.2, 0.0, -0.1))]
    rows = [*TRUNK[:3], *nose, *ARMS, *LEGS]
    found = limbs(fit(figure(rows, MOVES, skin=[0.0 if row[0] == "head" else 9.0 for row in rows])))
    assert found["neck"] == ["neck", "head"]


def test_a_nameless_beast_is_drawn_from_the_end_that_bears_its_fleshy_head() -> None:
    rows: list[Row] = [("b", "", (0.0, 0.0, 1.0)), ("c", "b", (-0.6, 0.0, 0.0)), ("c1", "c", (-0.6, 0.0, 0.0))]
    rows += [("n0", "b", (0.1, 0.0, 0.1)), ("n1", "n0", (0.3, 0.0, 0.5)), ("n2", "n1", (0.3, 0.0, -0.1))]
    for hub, kind in (("b", "f"), ("c1", "h")):
        for k, y in enumerate((0.2, -0.2)):
            rows += [(f"{kind}{k}0", hub, (0.0, y, -0.1)), (f"{kind}{k}1", f"{kind}{k}0", (0.05, 0.0, -0.45))]
            rows.append((f"{kind}{k}2", f"{kind}{k}1", (-0.05, 0.0, -0.45)))
    skin = [90.0 if row[0].startswith("n") else 9.0 for row in rows]
    found = limbs(fit(figure(rows, ["n1"], skin=skin)))
    assert found["neck"][0] == "n0"
    assert {found["left_front_leg"][0], found["right_front_leg"][0]} == {"f00", "f10"}
