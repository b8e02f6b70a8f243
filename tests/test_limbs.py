"""What a bone is, by its skin, its shape and its neighbors: rigs as tools export them, reduced to what is odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from poise.body import Character, fit
from poise.body.anatomy import twins_of
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton

Row = tuple[str, str, tuple[float, float, float]]


def figure(
    rows: Sequence[Row], swings: Sequence[str] = (), skin: Sequence[float] | None = None, ends: Sequence[Row] = ()
) -> Motion:
    """A figure of joints (name, parent, offset), of which some swing; end sites as rows without a name."""
    names = [name for name, _, _ in rows]
    parents = np.array([names.index(parent) if parent else -1 for _, parent, _ in rows])
    offsets = np.array([offset for _, _, offset in rows])
    frames = 40
    times = np.arange(frames) / 30.0
    turned = np.tile(rotations.IDENTITY, (frames, len(rows), 1))
    for n, name in enumerate(swings):
        angle = 0.4 + 0.4 * np.sin(2.0 * np.pi * times + n)
        turned[:, names.index(name)] = rotations.from_rotation_vector(np.outer(angle, [0.0, 1.0, 0.0]))
    skeleton = Skeleton(
        tuple(names),
        parents,
        offsets,
        np.tile(rotations.IDENTITY, (len(rows), 1)),
        tuple(EndSite(names.index(parent), np.array(offset)) for _, parent, offset in ends),
        skin=None if skin is None else np.array(skin),
    )
    return Motion(skeleton, times, np.tile(offsets, (frames, 1, 1)), turned)


def limbs(character: Character) -> dict[str, list[str]]:
    return {limb.name: [character.bodies[b].name for b in limb.bodies] for limb in character.limbs}


def both(*rows: Row) -> list[Row]:
    """Rows for the left side, and mirrored for the right; "*" stands for the side's letter."""
    out: list[Row] = []
    for letter, sign in (("L", 1.0), ("R", -1.0)):
        out += [(n.replace("*", letter), p.replace("*", letter), (x, sign * y, z)) for n, p, (x, y, z) in rows]
    return out


TRUNK: list[Row] = [
    ("hips", "", (0.0, 0.0, 0.95)),
    ("spine", "hips", (0.0, 0.0, 0.2)),
    ("chest", "spine", (0.0, 0.0, 0.2)),
    ("head", "chest", (0.0, 0.0, 0.3)),
]
ARMS = both(
    ("upper_arm.*", "chest", (0.0, 0.2, 0.1)),
    ("forearm.*", "upper_arm.*", (0.0, 0.28, 0.0)),
    ("hand.*", "forearm.*", (0.0, 0.25, 0.0)),
)
LEGS = both(
    ("thigh.*", "hips", (0.0, 0.1, -0.05)),
    ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
    ("foot.*", "shin.*", (-0.01, 0.0, -0.4)),
    ("toe.*", "foot.*", (0.14, 0.0, -0.05)),
)
MOVES = ["thigh.L", "shin.L", "foot.L", "toe.L", "thigh.R", "shin.R", "foot.R", "toe.R", "forearm.L", "hand.L"]


def test_a_bone_in_pieces_is_one_bone() -> None:
    pieces = both(
        ("DEF-thigh.*", "hips", (0.0, 0.1, -0.05)),
        ("DEF-thigh.*.001", "DEF-thigh.*", (0.0, 0.0, -0.21)),
        ("DEF-shin.*", "DEF-thigh.*.001", (0.0, 0.0, -0.21)),
        ("DEF-shin.*.001", "DEF-shin.*", (0.0, 0.0, -0.2)),
        ("DEF-foot.*", "DEF-shin.*.001", (0.0, 0.0, -0.2)),
        ("DEF-toe.*", "DEF-foot.*", (0.14, 0.0, -0.05)),
    )
    moving = [f"DEF-{part}.{side}" for side in "LR" for part in ("thigh", "shin", "foot", "toe")]
    found = fit(figure([*TRUNK, *ARMS, *pieces], moving))
    assert limbs(found)["left_leg"] == ["DEF-thigh.L", "DEF-shin.L", "DEF-foot.L", "DEF-toe.L"]
    plain = fit(figure([*TRUNK, *ARMS, *LEGS], MOVES))
    assert found.leg_length == pytest.approx(plain.leg_length, abs=0.02)


def test_nameless_joints_in_one_line_are_still_joints() -> None:
    rows = [(f"node {n}", "", at) for n, (_, _, at) in enumerate([*TRUNK, *ARMS, *LEGS])]
    old = [name for name, _, _ in (*TRUNK, *ARMS, *LEGS)]
    parents = [parent for _, parent, _ in (*TRUNK, *ARMS, *LEGS)]
    named = [(n, f"node {old.index(p)}" if p else "", at) for (n, _, at), p in zip(rows, parents, strict=True)]
    found = fit(figure(named, [f"node {old.index(m)}" for m in MOVES]))
    assert len(limbs(found)["left_leg"]) == 4


def test_a_piece_of_the_pelvis_before_the_thigh_is_no_leg() -> None:
    plain = fit(figure([*TRUNK, *ARMS, *LEGS], MOVES)).leg_length
    linked = both(
        ("hipjoint.*", "hips", (0.0, 0.0, 0.0)),
        ("thigh.*", "hipjoint.*", (0.0, 0.2, -0.08)),
        ("shin.*", "thigh.*", (0.01, 0.0, -0.42)),
        ("foot.*", "shin.*", (-0.01, 0.0, -0.4)),
        ("toe.*", "foot.*", (0.14, 0.0, -0.05)),
    )
    found = fit(figure([*TRUNK, *ARMS, *linked], MOVES))
    assert limbs(found)["left_leg"][0] == "thigh.L"
    assert found.leg_length == pytest.approx(plain, abs=0.02)


def test_a_control_without_skin_is_no_limb_and_a_foot_named_like_one_is() -> None:
    rows = [*TRUNK, *ARMS, *LEGS, *both(("guide.*", "hips", (0.9, 0.2, 0.3)))]
    rows = [(n.replace("foot", "IK foot"), p.replace("foot", "IK foot"), at) for n, p, at in rows]
    skin = [0.0 if n.startswith("guide") else 50.0 for n, _, _ in rows]
    moving = [m.replace("foot", "IK foot") for m in MOVES]
    with_skin, without = (fit(figure(rows, moving, s)) for s in (skin, None))
    assert limbs(with_skin)["left_leg"] == ["thigh.L", "shin.L", "IK foot.L", "toe.L"]
    assert not any("guide" in body.name for body in with_skin.bodies)
    assert any("guide" in body.name for body in without.bodies)  # nothing else tells what it is


def test_fingers_of_a_size_do_not_make_a_trunk_of_the_arm() -> None:
    palms = both(*((f"claw{n}.*", "hand.*", (0.05 * n - 0.05, 0.4, 0.0)) for n in range(3)))
    found = limbs(fit(figure([*TRUNK, *ARMS, *palms, *LEGS], [*MOVES, "hand.R"])))
    assert found["left_arm"][:2] == ["upper_arm.L", "forearm.L"]
    assert [name for name in found if name.endswith("leg")] == ["left_leg", "right_leg"]


def test_what_a_hand_holds_does_not_shorten_the_arm() -> None:
    rows = [*TRUNK, *ARMS, ("weapon", "hand.R", (0.0, -0.1, 0.0)), *LEGS]
    found = limbs(fit(figure(rows, MOVES, ends=[("", "weapon", (0.0, 0.0, 2.0))])))
    assert found["right_arm"] == ["upper_arm.R", "forearm.R", "hand.R"]


def test_eight_legs_are_eight_legs_and_wings_are_none() -> None:
    body: list[Row] = [("body", "", (0.0, 0.0, 0.4)), ("abdomen", "body", (-0.3, 0.0, 0.05))]
    legs = [
        row
        for n in range(4)
        for row in both(
            (f"leg{n}a.*", "body", (0.12 * n - 0.2, 0.1, 0.0)),
            (f"leg{n}b.*", f"leg{n}a.*", (0.0, 0.3, 0.2)),
            (f"leg{n}c.*", f"leg{n}b.*", (0.0, 0.2, -0.58)),
        )
    ]
    wings = both(("wing.*", "body", (0.0, 0.1, 0.2)), ("wingtip.*", "wing.*", (0.0, 0.5, 0.3)))
    ends = [("", f"leg{n}c.{side}", (0.0, 0.0, -0.02)) for n in range(4) for side in "LR"]
    found = fit(figure([*body, *legs, *wings], [row[0] for row in legs if "b." in row[0]][:2], ends=ends))
    kinds = [limb.kind for limb in found.limbs]
    assert found.mass < 12.0  # 0.9 m tall with its wings, however long its legs are
    assert kinds.count("leg") == 8
    assert kinds.count("arm") == 0


def test_one_far_end_site_does_not_change_who_the_figure_is() -> None:
    ends = [("", "hand.L", (0.0, 0.15, 0.0)), ("", "hand.R", (0.0, -0.15, 0.0)), ("", "head", (0.0, 0.0, 0.2))]
    motion = figure([*TRUNK, *ARMS, *LEGS], MOVES, ends=ends)
    sites = tuple(
        replace(s, offset=20.0 * s.offset) if motion.skeleton.names[s.joint] == "hand.R" else s
        for s in motion.skeleton.end_sites
    )
    spoiled = replace(motion, skeleton=replace(motion.skeleton, end_sites=sites))
    assert limbs(fit(spoiled)) == limbs(fit(motion))


# rigs of other makers, each with what was once read wrongly


def test_hair_on_the_head_is_no_arms() -> None:
    hair = both(("curl.*", "head", (0.0, 0.08, 0.1)), ("curl2.*", "curl.*", (0.0, 0.1, -0.25)))
    rows = [*TRUNK, *ARMS, *LEGS, *both(*[("curl3.*", "curl2.*", (0.0, 0.0, -0.3))])]
    rows[len(TRUNK) + len(ARMS) + len(LEGS) :] = [*hair, *rows[len(TRUNK) + len(ARMS) + len(LEGS) :]]
    found = fit(figure(rows, MOVES))
    assert "arm" in limbs(found)["left_arm"][-1].lower() or "hand" in limbs(found)["left_arm"][-1].lower()
    assert not [name for name in limbs(found) if name.startswith("left_arm.")]


def test_wings_are_no_front_legs() -> None:
    bird = [
        ("hips", "", (0.0, 0.0, 0.5)),
        ("chest", "hips", (0.2, 0.0, 0.05)),
        *both(
            ("thigh.*", "hips", (0.0, 0.06, 0.0)), ("shin.*", "thigh.*", (0.03, 0.0, -0.25)),
            ("foot.*", "shin.*", (-0.03, 0.0, -0.22)), ("wing.*", "chest", (0.0, 0.06, 0.05)),
            ("wing2.*", "wing.*", (0.0, 0.3, 0.0)), ("wing3.*", "wing2.*", (0.0, 0.35, 0.0)),
        ),
        ("neck", "chest", (0.15, 0.0, 0.15)), ("head", "neck", (0.1, 0.0, 0.1)),
        ("tail", "hips", (-0.2, 0.0, 0.0)), ("tail2", "tail", (-0.3, 0.0, 0.0)),
    ]  # fmt: skip
    found = limbs(fit(figure(bird, ["thigh.L", "thigh.R", "wing.L", "wing.R"])))
    assert set(found) >= {"left_leg", "right_leg", "left_other", "right_other"}
    assert not [name for name in found if "front" in name]


def test_a_tail_as_long_as_the_trunk_is_no_twin_of_it() -> None:
    rows = [
        ("body", "", (0.0, 0.0, 0.8)),
        ("back", "body", (-0.2, 0.0, 0.0)), ("tail1", "back", (-0.5, 0.0, 0.0)), ("tail2", "tail1", (-0.6, 0.0, 0.0)),
        ("torso", "body", (0.2, 0.0, 0.0)), ("neck", "torso", (0.5, 0.0, 0.1)), ("head", "neck", (0.6, 0.0, 0.1)),
        *both(
            ("hindleg.*", "body", (-0.2, 0.2, 0.0)), ("hindshin.*", "hindleg.*", (0.05, 0.0, -0.4)),
            ("hindfoot.*", "hindshin.*", (-0.05, 0.0, -0.38)), ("foreleg.*", "body", (0.5, 0.2, 0.0)),
            ("foreshin.*", "foreleg.*", (0.05, 0.0, -0.4)), ("forefoot.*", "foreshin.*", (-0.05, 0.0, -0.38)),
        ),
    ]  # fmt: skip
    found = limbs(fit(figure(rows, ["hindleg.L", "foreleg.R", "neck"])))
    assert found["tail"][-1] == "tail2"
    assert found["neck"][-1] == "head"
    assert len([name for name in found if name.endswith("leg")]) == 4


def test_a_tail_that_swings_aside_at_rest_is_no_twin_of_the_trunk() -> None:
    rows = [
        ("body", "", (0.0, 0.0, 0.8)),
        ("back", "body", (-0.05, 0.25, 0.0)), ("tail1", "back", (-0.5, 0.0, 0.0)), ("tail2", "tail1", (-0.6, 0.0, 0.0)),
        ("torso", "body", (0.2, 0.0, 0.0)), ("neck", "torso", (0.5, 0.0, 0.1)), ("head", "neck", (0.6, 0.0, 0.1)),
        *both(
            ("hindleg.*", "body", (-0.2, 0.2, 0.0)), ("hindshin.*", "hindleg.*", (0.05, 0.0, -0.4)),
            ("hindfoot.*", "hindshin.*", (-0.05, 0.0, -0.38)), ("foreleg.*", "body", (0.5, 0.2, 0.0)),
            ("foreshin.*", "foreleg.*", (0.05, 0.0, -0.4)), ("forefoot.*", "foreshin.*", (-0.05, 0.0, -0.38)),
        ),
    ]  # fmt: skip
    found = limbs(fit(figure(rows, ["hindleg.L", "foreleg.R", "neck"])))
    assert found["tail"][-1] == "tail2"
    assert found["neck"][-1] == "head"


def test_a_face_of_many_bones_moves_with_its_head() -> None:
    face = both(
        ("levator.*", "head", (0.1, 0.02, 0.1)),
        ("levator2.*", "levator.*", (0.28, 0.0, 0.02)),
        ("temporalis.*", "head", (0.1, 0.06, 0.15)),
        ("temporalis2.*", "temporalis.*", (0.28, 0.0, 0.02)),
    )
    oris: list[Row] = [("oris", "head", (0.15, 0.0, 0.02)), ("oris2", "oris", (0.12, 0.0, 0.0))]
    found = limbs(fit(figure([*TRUNK, *face, *oris, *ARMS, *LEGS], MOVES)))
    assert found["neck"] == ["head"]
    assert set(found) == {"spine", "neck", "left_arm", "right_arm", "left_leg", "right_leg"}


def test_a_tall_hat_makes_nobody_heavy_and_an_open_skin_nobody_light() -> None:
    hat: list[Row] = [("", "head", (0.0, 0.0, 1.3))]
    motion = figure([*TRUNK, *ARMS, *LEGS], MOVES, ends=hat)
    by_size = fit(motion).mass
    assert by_size > 300.0
    for volume, mass in ((0.066, 66.0), (9.0, by_size), (1e-3, by_size)):
        worn = replace(motion.skeleton, skin_volume=volume)
        assert fit(replace(motion, skeleton=worn)).mass == pytest.approx(mass)


def test_legs_that_begin_at_one_anchor_are_legs_of_their_own() -> None:
    rows = [("body", "", (0.0, 0.0, 0.3)), ("abdomen", "body", (-0.3, 0.0, 0.0)), ("head", "body", (0.2, 0.0, 0.0)),
            *both(("anchor.*", "body", (0.0, 0.02, 0.0)))]  # fmt: skip
    for n, ahead in enumerate((-0.3, 0.0, 0.3)):
        rows += both(
            (f"leg{n}a.*", "anchor.*", (0.05 * n, 0.05, 0.0)),
            (f"leg{n}b.*", f"leg{n}a.*", (ahead, 0.4, 0.3)),
            (f"leg{n}c.*", f"leg{n}b.*", (ahead, 0.3, -0.58)),
        )
    found = limbs(fit(figure(rows, ["leg0a.L", "leg1a.R"])))
    assert len([name for name in found if "leg" in name]) == 6


def test_a_body_that_hangs_on_the_head_is_simulated() -> None:
    rows: list[Row] = [
        ("root", "", (0.0, 0.0, 0.0)),
        ("head", "root", (0.0, 0.0, 0.1)),
        ("jaw", "head", (0.1, 0.0, 0.0)),
    ]
    for n in range(12):
        rows.append((f"body{n}", f"body{n - 1}" if n else "head", (-0.15, 0.0, 0.0)))
    bodies = [body.name for body in fit(figure(rows, ["body3", "body5"])).bodies]
    assert {f"body{n}" for n in range(12)} <= set(bodies)


def test_one_pose_says_nothing_of_a_link_of_the_pelvis() -> None:
    narrow = both(
        ("thigh.*", "hips", (0.0, 0.02, -0.05)),
        ("shin.*", "thigh.*", (0.01, 0.1, -0.42)),
        ("foot.*", "shin.*", (-0.01, 0.0, -0.4)),
        ("toe.*", "foot.*", (0.14, 0.0, -0.05)),
    )
    walking = figure([*TRUNK, *ARMS, *narrow], MOVES)
    assert limbs(fit(walking.frames(np.arange(1))))["left_leg"][0] == "thigh.L"


def test_the_way_to_the_pelvis_is_no_bone() -> None:
    rows = [("world", "", (0.0, 0.0, 0.0)), ("hips", "world", (7.0, 0.0, 0.9)), *TRUNK[1:], *ARMS, *LEGS]
    assert set(limbs(fit(figure(rows, MOVES)))) >= {"left_leg", "right_leg", "left_arm", "right_arm"}


def test_names_that_differ_in_one_letter_are_twins() -> None:
    names = ["base", "fl1", "fr1", "lwing", "rwing", "arm.L_3", "arm.R_5", "roll", "tail", "LeftArm", "RightArm"]
    found = {names[j]: (side, names[other]) for j, (side, other) in twins_of(names).items()}
    assert found["fl1"] == ("left", "fr1")
    assert found["rwing"] == ("right", "lwing")
    assert found["arm.L_3"] == ("left", "arm.R_5")
    assert not {"base", "roll", "tail"} & set(found)


def test_an_animal_drawn_from_its_shoulders_has_its_hind_legs_behind() -> None:
    rows: list[Row] = [
        ("base", "", (0.0, 0.0, 0.9)),
        ("neck", "base", (0.2, 0.0, 0.2)),
        ("head", "neck", (0.3, 0.0, 0.3)),
        ("rump", "base", (-0.05, 0.0, -0.2)),
    ]
    for name, hub, ahead, low in (("f", "base", 0.1, -0.15), ("b", "rump", -0.75, 0.05)):
        for side, y in (("l", 0.2), ("r", -0.2)):
            rows += [(f"{name}{side}1", hub, (ahead, y, low)), (f"{name}{side}2", f"{name}{side}1", (0.0, 0.0, -0.4))]
    ends = [("", f"{leg}2", (0.0, 0.0, -0.35)) for leg in ("fl", "fr", "bl", "br")]
    found = fit(figure(rows, ["neck"], ends=ends))
    assert limbs(found)["left_front_leg"] == ["fl1", "fl2"]
    assert limbs(found)["right_hind_leg"] == ["br1", "br2"]
    assert found.bodies[found.roles["pelvis"]].name == "rump"
    assert "neck" in limbs(found)


def test_arms_that_hang_beside_a_level_spine_are_no_legs() -> None:
    rows = [(n, p, (0.0, 0.0, 0.0) if n == "spine" else at) for n, p, at in TRUNK]
    rows = [(n, p, (0.02, 0.0, 0.0) if n == "chest" else at) for n, p, at in rows]
    long_arms = [(n, p, (x, 1.7 * y, z) if p.startswith(("upper", "fore")) else (x, y, z)) for n, p, (x, y, z) in ARMS]
    found = limbs(fit(figure([*rows, *long_arms, *LEGS], ["thigh.L", "thigh.R"])))
    assert "left_arm" in found
    assert "left_leg" in found


def test_a_control_of_the_hand_is_no_arm_beside_the_one_with_the_skin() -> None:
    controls = both(("hand_ctrl.*", "chest", (0.0, 0.75, 0.1)), ("shield.*", "hand_ctrl.*", (0.0, 0.3, 0.0)))
    rows = [*TRUNK, *ARMS, *controls, *LEGS]
    skin = [0.0 if n.startswith("hand_ctrl") else 50.0 for n, _, _ in rows]
    found = limbs(fit(figure(rows, [*MOVES, "hand_ctrl.L"], skin)))
    assert found["left_arm"] == ["upper_arm.L", "forearm.L", "hand.L"]


def test_the_skin_of_a_head_alone_hides_no_limb() -> None:
    rows = [*TRUNK, *ARMS, *LEGS]
    found = limbs(fit(figure(rows, MOVES, [80.0 if n == "head" else 0.0 for n, _, _ in rows])))
    assert set(found) >= {"left_leg", "right_leg", "left_arm", "right_arm"}


def test_a_control_that_carries_the_figure_hides_no_limb() -> None:
    rows = [("root", "", (0.0, 0.0, 0.0)), ("hips_ctrl", "root", (0.0, 0.0, 0.95))]
    rows += [("hips", "hips_ctrl", (0.0, 0.0, 0.0)), *TRUNK[1:], *ARMS, *LEGS]
    rows += both(("foot_ctrl.*", "root", (0.0, 0.1, 0.1)), ("knee_ctrl.*", "foot_ctrl.*", (0.6, 0.0, 0.4)))
    assert limbs(fit(figure(rows, MOVES)))["left_leg"][:3] == ["thigh.L", "shin.L", "foot.L"]


def test_a_hand_alone_has_fingers_and_no_arms() -> None:
    rows: list[Row] = [("hand", "", (0.0, 0.0, 0.0))]
    for n, name in enumerate(("thumb", "index", "middle", "ring", "pinky")):
        rows += [(f"{name}1", "hand", (0.06, 0.02 * n, 0.0)), (f"{name}2", f"{name}1", (0.04, 0.0, 0.0))]
        rows.append((f"{name}3", f"{name}2", (0.03, 0.0, 0.0)))
    found = fit(figure(rows, ["index1", "ring2"]))
    assert {limb.kind for limb in found.limbs} == {"other"}
    assert ["index1", "index2", "index3"] in limbs(found).values()


def test_long_legs_make_nobody_too_heavy() -> None:
    legs = [(n, p, (x, y, 1.35 * z) if z < -0.3 else (x, y, z)) for n, p, (x, y, z) in LEGS]
    assert fit(figure([*TRUNK, *ARMS, *legs], MOVES)).mass < 100.0


HIND = both(
    ("Bone_*", "rump", (0.3, 0.0, 0.0)),
    ("Bone_*.001", "Bone_*", (0.0, 0.2, -0.3)),
    ("Bone_*.002", "Bone_*.001", (0.0, 0.0, -0.3)),
    ("Bone_*.003", "Bone_*.002", (0.1, 0.0, -0.1)),
)
FORE = both(
    ("Front_*", "shoulders", (0.1, 0.0, 0.0)),
    ("Front_*.001", "Front_*", (0.0, 0.2, -0.3)),
    ("Front_*.002", "Front_*.001", (0.0, 0.0, -0.3)),
    ("Front_*.003", "Front_*.002", (0.1, 0.0, -0.1)),
)


def test_a_sail_on_the_back_hides_no_front_legs_and_is_no_neck() -> None:
    rows: list[Row] = [
        ("rump", "", (0.0, 0.0, 0.7)),
        ("back", "rump", (0.5, 0.0, 0.0)), ("sail", "back", (0.1, 0.0, 0.6)),
        ("shoulders", "back", (0.4, 0.0, 0.0)), ("sail2", "shoulders", (0.1, 0.0, 0.5)),
        ("throat", "shoulders", (0.3, 0.0, 0.0)), ("head", "throat", (0.3, 0.0, 0.0)),
        ("behind1", "rump", (-0.4, 0.0, 0.0)), ("behind2", "behind1", (-0.6, 0.0, -0.1)),
        ("flap", "rump", (-0.1, 0.0, -0.4)),
        *HIND, *FORE,
    ]  # fmt: skip
    found = limbs(fit(figure(rows, ["Bone_L.001", "Front_R.001"])))
    assert found["left_hind_leg"][-1] == "Bone_L.003"
    assert found["right_front_leg"][-1] == "Front_R.003"
    assert found["neck"] == ["throat", "head"]
    assert found["tail"] == ["behind1", "behind2"]
    assert not {"neck.2", "tail.2"} & set(found)


def test_an_animal_drawn_from_the_middle_of_its_trunk_has_both_ends() -> None:
    rows: list[Row] = [
        ("torso", "", (0.0, 0.0, 0.8)),
        ("loin", "torso", (-0.2, 0.0, 0.0)), ("tail1", "loin", (-0.4, 0.0, 0.0)), ("tail2", "tail1", (-0.5, 0.0, 0.0)),
        ("rump", "loin", (-0.05, 0.0, 0.0)),
        ("breast", "torso", (0.2, 0.0, 0.0)), ("neck", "breast", (0.3, 0.0, 0.2)), ("head", "neck", (0.3, 0.0, 0.1)),
        ("shoulders", "breast", (0.05, 0.0, 0.0)),
        *[(n.replace("Bone", "thigh"), p.replace("Bone", "thigh"), (0.0 if p == "rump" else x, y, z))
          for n, p, (x, y, z) in HIND],
        *[(n.replace("Front", "front_thigh"), p.replace("Front", "front_thigh"), at) for n, p, at in FORE],
    ]  # fmt: skip
    found = fit(figure(rows, ["thigh_L.001", "front_thigh_R.001"]))
    assert limbs(found)["left_hind_leg"][-1] == "thigh_L.003"
    assert limbs(found)["right_front_leg"][-1] == "front_thigh_R.003"
    assert limbs(found)["tail"] == ["tail1", "tail2"]
    assert found.bodies[found.roles["pelvis"]].name == "rump"


def test_wide_wings_leave_a_bird_its_feet_and_a_spine_behind_the_pelvis_is_its_tail() -> None:
    rows: list[Row] = [
        ("spine", "", (0.0, 0.0, 0.5)), ("spine.001", "spine", (-0.15, 0.0, 0.0)),
        ("spine.002", "spine.001", (-0.2, 0.0, 0.0)), ("feather.L", "spine.002", (-0.2, 0.05, 0.0)),
        ("chest", "spine", (0.15, 0.0, 0.05)), ("neck", "chest", (0.15, 0.0, 0.1)), ("head", "neck", (0.1, 0.0, 0.0)),
        *both(
            ("thigh.*", "spine", (0.0, 0.04, -0.02)), ("shin.*", "thigh.*", (-0.02, 0.0, -0.2)),
            ("foot.*", "shin.*", (0.01, 0.0, -0.02)), ("claw.*", "foot.*", (0.04, 0.0, 0.0)),
            ("wing.*", "chest", (0.0, 0.06, 0.05)), ("wing2.*", "wing.*", (0.0, 0.7, 0.0)),
            ("wing3.*", "wing2.*", (0.0, 0.75, 0.0)),
        ),
    ]  # fmt: skip
    found = limbs(fit(figure(rows, ["thigh.L", "thigh.R", "foot.L", "foot.R", "wing.L", "wing.R", "claw.L"])))
    assert found["left_leg"][:3] == ["thigh.L", "shin.L", "foot.L"]
    assert found["tail"] == ["spine.001", "spine.002"]


def test_collar_bones_far_from_the_middle_leave_the_arm_its_hand() -> None:
    far = both(
        ("clavicle.*", "chest", (0.0, 0.25, 0.1)),
        ("upper_arm.*", "clavicle.*", (0.2, 0.02, -0.1)),
        ("forearm.*", "upper_arm.*", (0.0, 0.05, -0.2)),
        ("hand.*", "forearm.*", (0.1, 0.0, -0.05)),
        ("palm.*", "hand.*", (0.1, 0.0, 0.0)),
    )
    found = limbs(fit(figure([*TRUNK, *far, *LEGS], [*MOVES[:-2], "forearm.L", "hand.L", "hand.R", "clavicle.L"])))
    assert found["left_arm"] == ["clavicle.L", "upper_arm.L", "forearm.L", "hand.L"]


def test_a_side_without_a_name_is_the_twin_of_the_one_that_has_it() -> None:
    rows = [*TRUNK, *ARMS, *LEGS]
    rows = [(n.removesuffix(".L"), p.removesuffix(".L"), at) for n, p, at in rows]
    right = {n: f"R_{n[:-2]}" for n, _, _ in rows if n.endswith(".R")}
    rows = [(right.get(n, n), right.get(p, p), at) for n, p, at in rows]
    found = limbs(fit(figure(rows, ["thigh", "shin", "R_thigh", "R_shin", "foot", "R_foot", "R_hand", "hand"])))
    assert found["left_leg"][0] == "thigh"
    assert found["right_arm"] == ["R_upper_arm", "R_forearm", "R_hand"]


def test_a_head_with_feelers_is_a_head() -> None:
    rows: list[Row] = [
        ("body", "", (0.0, 0.0, 0.3)),
        ("head", "body", (0.3, 0.0, 0.1)),
        *both(("feeler.*", "head", (0.1, 0.05, 0.2)), ("feeler2.*", "feeler.*", (0.1, 0.02, 0.3))),
    ]
    for n in range(3):
        rows += both(
            (f"leg{n}a.*", "body", (0.1 * n, 0.05, 0.0)),
            (f"leg{n}b.*", f"leg{n}a.*", (0.0, 0.3, 0.1)),
            (f"leg{n}c.*", f"leg{n}b.*", (0.0, 0.1, -0.38)),
        )
    found = limbs(fit(figure(rows, ["leg0a.L", "leg1a.R"])))
    assert found["neck"] == ["head"]
    assert not [name for name in found if name.startswith("spine")]


def test_a_control_in_the_leg_gives_way_to_the_bone_at_its_place() -> None:
    rows = [
        (n, "target.R" if n == "foot.R" else p, (0.0, 0.0, 0.0) if n == "foot.R" else at)
        for n, p, at in [*TRUNK, *ARMS, *LEGS]
    ]
    at = next(n for n, row in enumerate(rows) if row[0] == "foot.R")
    rows.insert(at, ("target.R", "shin.R", (-0.01, 0.0, -0.4)))
    skin = [0.0 if n.startswith("target") else 50.0 for n, _, _ in rows]
    found = limbs(fit(figure(rows, [*MOVES, "target.R"], skin)))
    assert found["right_leg"][:3] == ["thigh.R", "shin.R", "foot.R"]


def test_a_long_shoulder_before_a_short_arm_is_a_collar() -> None:
    rows = [*TRUNK, *both(("Shoulder_*", "chest", (0.0, 0.12, 0.1)), ("Arm_*", "Shoulder_*", (0.0, 0.12, 0.0)),
            ("ForeArm_*", "Arm_*", (0.0, 0.1, 0.0)), ("Hand_*", "ForeArm_*", (0.0, 0.11, 0.0))), *LEGS]  # fmt: skip
    found = limbs(fit(figure(rows, [*MOVES[:-2], "Arm_L", "ForeArm_L", "Shoulder_L", "Hand_L", "Hand_R"])))
    assert found["left_arm"] == ["Shoulder_L", "Arm_L", "ForeArm_L", "Hand_L"]
