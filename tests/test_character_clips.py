"""Characters fitted to real clips: who is what, where the floor is, and that the clip lies inside its limits."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from poise.body import Character, fit, limit_angles, load_character
from poise.cli.app import run
from poise.core import rotations
from poise.core.motion import Motion
from poise.filter.simulate import simulate
from poise.io import load, load_skeleton, save
from poise.phases import find_floor
from poise.terrain import Terrain
from tests.clips import MOTIONS, everywhere, first_cases, needs_motions, path_of

HUMAN_IK = ("Hips", "UpLeg", "Leg", "Foot", "ToeBase", "Arm", "ForeArm", "Hand")
MAX = ("Hips", "Hip", "Knee", "Ankle", "Toe", "Shoulder", "Elbow", "Wrist")
SECOND = MOTIONS.with_name("motions2")
SIDES = {"left": "Left", "right": "Right"}


def needs_clips(name: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not (SECOND / name).is_file(), reason=f"no {name}; docs/clips.md says where it is from")


def names(pelvis: str, *parts: str, left: str = "Left{}", right: str = "Right{}") -> dict[str, str]:
    """Expected joint by role from the name of each part and where the side goes."""
    roles = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")
    expected = {"pelvis": pelvis}
    for role, part in zip(roles, parts):
        if part:
            expected[f"left_{role}"] = left.format(part)
            expected[f"right_{role}"] = right.format(part)
    return expected


DEEPMIMIC = names("root", "hip", "knee", "ankle", "", "shoulder", "elbow", "elbow", left="left_{}", right="right_{}")
CMU_ASF = names("root", "femur", "tibia", "foot", "toes", "humerus", "radius", "wrist", left="l{}", right="r{}")
CESIUM = {
    "pelvis": "node 2",
    "left_hip": "node 7",
    "right_hip": "node 3",
    "left_hand": "node 18",
    "left_toe": "node 10",
}
FOX = {
    "pelvis": "b_Hip_01",
    "chest": "b_Spine02_03",
    "head": "b_Head_05",
    "tail": "b_Tail01_012",
    "left_hind_foot": "b_LeftFoot01_017",
    "left_hind_toe": "b_LeftFoot02_018",
    "right_front_foot": "b_RightHand_08",
    "left_front_shoulder": "b_LeftUpperArm_09",
}
DOG = {
    "pelvis": "root",
    "chest": "spine1",
    "head": "head",
    "left_hind_foot": "left_foot",
    "right_front_foot": "right_hand",
    "tail": "tail0",
}

CLIPS: dict[str, dict[str, str]] = {
    "walk": names(*HUMAN_IK),
    "hover_hop": names(*HUMAN_IK),
    "quadruped": {},
    **{f"bvh/accad/Female1_{n}.bvh": names(*HUMAN_IK) for n in (
        "A01_Stand", "A10_LieToCrouch", "B15_WalkTurnAround180", "D6_CartWheel",
    )},
    **{f"bvh/cmu_3dsmax/{n}.bvh": names(*MAX) for n in (
        "131_01", "scaled_131_01", "143_01", "143_04", "143_05", "143_24", "143_31", "143_32", "143_40", "143_41",
    )},
    "bvh/cmu_motionbuilder/02_01.bvh": names(*HUMAN_IK),
    "bvh/cmu_motionbuilder/05_20-mb.bvh": names(*HUMAN_IK),
    "bvh/cmu_daz/05_20-daz.bvh": names(
        "hip", "Thigh", "Shin", "Foot", "", "Shldr", "ForeArm", "Hand", left="l{}", right="r{}"
    ),
    "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh": names(*HUMAN_IK),
    "bvh/other/bvh_example.bvh": names(*HUMAN_IK),
    "nc/dataset-1_walk_normal_002.bvh": names(
        "Hips", "UpperLeg", "LowerLeg", "Foot", "Toes", "UpperArm", "LowerArm", "Hand", left="{}_L", right="{}_R"
    ),
    "nc/dog3d_pace.txt": DOG,
    "asf_amc/02_01.amc": CMU_ASF,
    "asf_amc/02_03.amc": CMU_ASF,
    "asf_amc/02_04.amc": CMU_ASF,
    **{f"deepmimic/humanoid3d_{n}.txt": DEEPMIMIC for n in (
        "walk", "backflip", "crawl", "roll", "spinkick", "getup_facedown",
    )},
    **{f"gltf/Fox.glb#{n}": FOX for n in ("Survey", "Walk", "Run")},
    "gltf/greenman.glb#2_move": {
        "pelvis": "root", "left_hip": "hip_L", "right_knee": "leg_R", "left_hand": "hand_L", "head": "body_up",
    },
    "gltf/cesium_man.gltf": CESIUM,
}  # fmt: skip
GROUND = (
    "bvh/accad/Female1_A10_LieToCrouch.bvh",
    "bvh/accad/Female1_D6_CartWheel.bvh",
    "deepmimic/humanoid3d_crawl.txt",
    "deepmimic/humanoid3d_roll.txt",
    "deepmimic/humanoid3d_getup_facedown.txt",
)


@cache
def clip(name: str) -> Motion:
    file, _, which = name.partition("#")
    return load(path_of(file), clip=which or None)


@cache
def fitted(name: str) -> Character:
    return fit(clip(name))


def world(motion: Motion, character: Character, body: int, offset: np.ndarray) -> np.ndarray:
    positions, orientations = motion.world
    joint = character.bodies[body].joint
    return positions[:, joint] + rotations.rotate(orientations[:, joint], offset)


def heights(motion: Motion, character: Character, parts: tuple[str, ...]) -> np.ndarray:
    """Height over the floor of the lowest contact point of these parts in each frame [m]."""
    low = [
        world(motion, character, p.body, p.offset)[:, 2] - p.radius - character.floor
        for p in character.contact_points
        if p.part in parts
    ]
    return np.min(low, axis=0)


@first_cases(6, "name", everywhere(CLIPS))
def test_every_role_lies_on_the_joint_an_animator_would_name(name: str) -> None:
    character = fitted(name)
    found = {role: character.bodies[i].name for role, i in character.roles.items()}
    assert {role: found.get(role) for role in CLIPS[name]} == CLIPS[name]
    kinds = sorted(limb.kind for limb in character.limbs)
    four = "Fox" in name or "dog" in name or name == "quadruped"
    assert kinds == (["leg"] * 4 + ["neck", "spine", "tail"] if four else ["arm"] * 2 + ["leg"] * 2 + ["neck", "spine"])


@first_cases(6, "name", everywhere([n for n in CLIPS if "#Run" not in n and "#Survey" not in n]))
def test_the_bare_skeleton_gives_the_same_limbs(name: str) -> None:
    motion, character = clip(name), fitted(name)
    bare = fit(motion.skeleton)
    assert {r: bare.bodies[i].joint for r, i in bare.roles.items()} == {
        r: character.bodies[i].joint for r, i in character.roles.items()
    }
    assert bare.leg_length == pytest.approx(character.leg_length, rel=0.12)


@first_cases(6, "name", everywhere(CLIPS))
def test_every_frame_lies_inside_the_limits(name: str) -> None:
    motion, character = clip(name), fitted(name)
    orientations = motion.world[1]
    for body in character.bodies[1:]:
        assert body.limits is not None
        limits = body.limits
        parent = character.bodies[body.parent].joint
        local = rotations.multiply(rotations.conjugate(orientations[:, parent]), orientations[:, body.joint])
        if body.kind == "hinge":
            assert body.axis is not None
            assert body.rest_rotation is not None
            turn = rotations.multiply(rotations.conjugate(body.rest_rotation), local)
            angles = 2.0 * np.arctan2(turn[:, 1:] @ body.axis, turn[:, 0])
            angles = angles - 2.0 * np.pi * np.round((angles - 0.5 * (limits.twist_lower + limits.twist_upper)) / 6.283)
            spare = min(angles.min() - limits.twist_lower, limits.twist_upper - angles.max())
        else:
            angles = limit_angles(limits, local)
            lower = np.array([limits.twist_lower, limits.bend_lower, limits.side_lower])
            upper = np.array([limits.twist_upper, limits.bend_upper, limits.side_upper])
            spare = min((angles - lower).min(), (upper - angles).min())
        assert np.degrees(spare) >= 2.0, body.name


@pytest.mark.parametrize("name", everywhere([n for n in CLIPS if n.startswith("bvh/cmu")]))
def test_cmu_knees_and_elbows_bend_about_one_axis(name: str) -> None:
    character = fitted(name)
    for role in ("left_knee", "right_knee", "left_elbow", "right_elbow"):
        limits = character.bodies[character.roles[role]].limits
        assert limits is not None
        if "daz" in name and "elbow" in role:
            continue  # the Daz release turns its forearms about two axes
        assert np.degrees(limits.side_upper - limits.side_lower) <= 13.0, role
        assert np.degrees(limits.bend_lower) >= -6.0, role
        assert np.degrees(limits.bend_upper) >= 150.0, role


@pytest.mark.parametrize("name", everywhere(CLIPS))
def test_size_and_mass_make_sense(name: str) -> None:
    character = fitted(name)
    shares = np.array([b.mass for b in character.bodies]) / character.mass
    assert shares.min() > 0.002
    assert shares.max() < 0.4
    human = not any(word in name for word in ("Fox", "dog", "greenman", "quadruped"))
    if human:
        assert character.mass == pytest.approx(70.0)
        assert 0.55 < character.leg_length < 1.0
        assert 34 <= character.nv <= 75
    for body in character.bodies:
        values = np.linalg.eigvalsh(body.inertia)
        assert values[0] > 0.0
        assert values[2] < 100.0 * values[0], body.name
        # no capsule is thicker than the figure's leg is long, or thinner than a finger
        assert all(0.008 < c.radius / character.leg_length < 0.5 for c in body.capsules), body.name


@pytest.mark.parametrize(
    "name", everywhere([n for n in CLIPS if n not in GROUND and "Run" not in n and "05_20" not in n])
)
def test_feet_stand_on_the_found_floor(name: str) -> None:
    motion, character = clip(name), fitted(name)
    low = heights(motion, character, ("foot",)) / character.leg_length
    # lowest sole point of a frame, in legs: in the middle of the clip at the floor, seldom deep under it
    assert np.quantile(low, 0.02) > -0.1  # a toy dips below the level of its armature, a capture sinks as it crouches
    assert np.quantile(low, 0.25) < 0.03


@needs_clips("bvh/141_20.bvh")
def test_feet_that_flip_for_some_frames_do_not_lower_the_floor() -> None:
    """Toes point 12 cm down in a tenth of the frames, and an ankle is 2 cm below the feet's median height."""
    motion = load(SECOND / "bvh" / "141_20.bvh")
    assert fit(motion).floor == pytest.approx(find_floor(motion).value, abs=0.03)


@needs_clips("gltf/cyberpunk_Character.glb")
def test_a_leg_without_a_foot_has_a_level_sole_where_it_stands() -> None:
    """Its rest pose is a stride: the soles of that pose are tilted by 6 cm in a clip that stands."""
    motion = load(SECOND / "gltf" / "cyberpunk_Character.glb", clip="Idle_Neutral")
    character = fit(motion)
    places, turns = motion.world
    for side in ("left", "right"):
        body = character.roles[f"{side}_knee"]
        joint = character.bodies[body].joint
        sole = np.array([p.offset for p in character.contact_points if p.body == body and p.part == "foot"])
        heights = (places[0, joint] + rotations.rotate(turns[0, joint], sole))[:, 2]
        assert np.ptp(heights) < 0.025


@pytest.mark.parametrize("name", everywhere(GROUND))
def test_bodies_on_the_ground_touch_it_with_what_touches_it(name: str) -> None:
    motion, character = clip(name), fitted(name)
    everything = heights(motion, character, ("foot", "hand", "knee", "elbow", "head", "trunk"))
    body = heights(motion, character, ("hand", "knee", "elbow", "head", "trunk"))
    # the deepest point of a frame, 95 % of frames: 5 cm; something touches in most frames
    # (in the lie-down a hand sinks 8 cm below the floor that the feet stand on)
    assert np.quantile(everything, 0.05) > (-0.08 if "LieToCrouch" in name else -0.05)
    assert np.quantile(everything, 0.5) < 0.04
    assert np.quantile(body, 0.1) < 0.06


@first_cases(4, "name", everywhere([n for n in CLIPS if "#" not in n]))
def test_size_and_mass_come_from_the_skeleton_not_from_the_part_of_the_clip(name: str) -> None:
    whole, motion = fitted(name), clip(name)
    half = motion.frame_count // 2
    for frames in (np.arange(half), np.arange(half, motion.frame_count)):
        part = fit(motion.frames(frames))
        assert part.leg_length == pytest.approx(whole.leg_length, rel=0.01)
        assert part.mass == pytest.approx(whole.mass, rel=0.01)


def test_a_clip_that_climbs_has_the_feet_of_the_same_figure_on_the_level(tmp_path: Path) -> None:
    motion = clip("walk")
    climb = simulate(motion, terrain=Terrain.stairs(0.17, 0.28)).motion
    save(climb, tmp_path / "stairs.bvh")
    level, again = fitted("walk"), fit(load(tmp_path / "stairs.bvh"))
    assert again.leg_length == pytest.approx(level.leg_length, rel=1e-3)
    places = {p.name: p.offset for p in again.contact_points}
    for point in level.contact_points:
        if point.part == "foot":  # a sole of 25 cm, laid on treads by the filter
            assert np.linalg.norm(places[point.name] - point.offset) < 0.04 * level.leg_length, point.name


@needs_motions
def test_a_crawling_person_has_arms() -> None:
    character = fitted("deepmimic/humanoid3d_crawl.txt")
    assert {limb.name for limb in character.limbs} >= {"left_arm", "right_arm", "left_leg", "right_leg"}
    assert not [limb for limb in character.limbs if "front" in limb.name]


@needs_motions
def test_names_stripped_from_a_walk_change_no_limb() -> None:
    named = fitted("bvh/cmu_3dsmax/143_32.bvh")
    motion = clip("bvh/cmu_3dsmax/143_32.bvh")
    skeleton = motion.skeleton
    silent = type(skeleton)(
        tuple(f"j{n}" for n in range(skeleton.joint_count)),
        skeleton.parents,
        skeleton.offsets,
        skeleton.rest_rotations,
        skeleton.end_sites,
        skeleton.hinges,
        skeleton.translating,
        skeleton.fixed,
    )
    plain = fit(Motion(silent, motion.times, motion.translations, motion.rotations))
    for role in ("left_foot", "right_foot", "left_knee", "left_hand", "right_shoulder", "chest", "pelvis"):
        assert plain.bodies[plain.roles[role]].joint == named.bodies[named.roles[role]].joint, role


@needs_motions
def test_several_clips_widen_each_other() -> None:
    first, second = clip("bvh/cmu_3dsmax/143_32.bvh"), clip("bvh/cmu_3dsmax/143_24.bvh")
    both = fit([first, second])
    one = fitted("bvh/cmu_3dsmax/143_32.bvh")
    thigh, thigh_both = (c.bodies[c.roles["left_hip"]].limits for c in (one, both))
    assert thigh is not None
    assert thigh_both is not None
    assert len(both.bodies) == len(one.bodies)
    kick = thigh_both.bend_upper - thigh_both.bend_lower
    assert kick > thigh.bend_upper - thigh.bend_lower - 1e-9


@needs_motions
def test_a_skeleton_file_alone_is_enough() -> None:
    character = fit(load_skeleton(MOTIONS / "asf_amc" / "02.asf"))
    assert character.bodies[character.roles["left_knee"]].kind == "hinge"
    assert character.bodies[0].name == "root"
    assert 50 <= character.nv <= 60


@needs_motions
def test_command_writes_toml_and_mjcf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = str(MOTIONS / "bvh/accad/Female1_A01_Stand.bvh")
    target = tmp_path / "stander.toml"
    assert run(["character", source, "-o", str(target), "--mass", "61", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["mass_kg"] == pytest.approx(61.0)
    left_leg = told["limbs"]["left_leg"]
    assert (left_leg["kind"], left_leg["joints"]) == ("leg", ["LeftUpLeg", "LeftLeg", "LeftFoot", "LeftToeBase"])
    assert load_character(target).mass == pytest.approx(61.0)
    assert run(["character", source, "-o", str(target)]) == 2
    assert "exists" in capsys.readouterr().err
    assert run(["character", str(target), "-o", str(tmp_path / "stander.xml")]) == 0
    assert "<mujoco" in (tmp_path / "stander.xml").read_text(encoding="utf-8")
    assert run(["character", str(MOTIONS / "asf_amc/02.asf"), "-o", str(tmp_path / "bare.toml")]) == 0
    assert run(["character", str(target), "-o", str(tmp_path / "x.xml"), "--mass", "3"]) == 2
    assert run(["character", source, "-o", str(tmp_path / "x.json")]) == 2
    assert not (tmp_path / "x.json").exists()


@needs_motions
def test_the_first_of_several_clips_is_taken_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `-c` of other commands does; another is named as FILE@CLIP or with --clip."""
    fox = MOTIONS / "gltf" / "Fox.glb"
    assert run(["character", str(fox), "-o", str(tmp_path / "fox.toml")]) == 0
    assert "fitted to clip 'Survey'" in " ".join(capsys.readouterr().err.split())
    assert run(["character", f"{fox}@Walk", "-o", str(tmp_path / "walk.toml")]) == 0
    assert "is fitted to clip" not in capsys.readouterr().err
