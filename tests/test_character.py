"""A character fitted to hand-built skeletons: limbs, bodies, masses, contact points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise import Push, analyze, load, sample_path, simulate
from poise.body import Character, fit
from poise.body.anthropometry import DE_LEVA, LEAST_SHARE, capsule_inertia, shares_by_length
from poise.body.character import Capsule
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.skeleton import Skeleton
from poise.tracking.retarget import end_body
from tests.character_figures import DOG, PERSON, PERSON_ENDS, dog, motion, nameless, person, skeleton, turned
from tests.clips import first_cases

PARTS = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand", "collar")
ROLES = ("pelvis", "chest", "neck", "head", *(f"{side}_{part}" for side in ("left", "right") for part in PARTS))


def role_joints(character: Character) -> dict[str, int]:
    return {role: character.bodies[i].joint for role, i in character.roles.items()}


def test_person_has_every_role_on_the_right_joint() -> None:
    character = fit(person())
    names = character.skeleton.names
    found = {role: names[j] for role, j in role_joints(character).items()}
    assert set(found) == set(ROLES)
    expected = {"pelvis": "Hips", "chest": "Chest", "neck": "Neck", "head": "Head"}
    joints = ("UpLeg", "Leg", "Foot", "ToeBase", "Arm", "ForeArm", "Hand", "Shoulder")
    for side in ("left", "right"):
        for part, joint in zip(("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand", "collar"), joints):
            expected[f"{side}_{part}"] = side.capitalize() + joint
    assert found == expected


@pytest.mark.parametrize(("figure", "rows"), [(person, PERSON), (dog, DOG)])
def test_names_are_only_a_hint(figure, rows) -> None:
    named, plain = fit(figure()), fit(figure(names=nameless(rows)))
    assert role_joints(plain) == role_joints(named)
    assert [(limb.name, limb.bodies) for limb in plain.limbs] == [(limb.name, limb.bodies) for limb in named.limbs]


def test_front_legs_of_a_dog_are_legs_whatever_they_are_called() -> None:
    character = fit(dog())
    kinds = {limb.name: limb.kind for limb in character.limbs}
    assert kinds == {
        "spine": "spine",
        "left_hind_leg": "leg",
        "right_hind_leg": "leg",
        "left_front_leg": "leg",
        "right_front_leg": "leg",
        "neck": "neck",
        "tail": "tail",
    }
    names = character.skeleton.names
    joints = {role: names[j] for role, j in role_joints(character).items()}
    assert joints["left_front_foot"] == joints["left_hand"] == "left_hand"
    assert joints["right_hind_toe"] == joints["right_toe"] == "right_toe"
    assert joints["left_front_shoulder"] == "left_arm"


def test_left_and_right_of_a_nameless_figure_follow_where_it_faces() -> None:
    names = nameless(PERSON)
    character = fit(person(names=names))
    assert character.skeleton.names[character.bodies[character.roles["left_hand"]].joint] == names["LeftHand"]
    half_turn = motion(person(names=names), {names["Hips"]: np.tile([0.0, 0.0, np.pi], (30, 1))}, frames=30)
    assert role_joints(fit(half_turn)) == role_joints(character)


def test_fingers_and_doubled_hips_are_carried() -> None:
    character = fit(person())
    bodies = {b.name for b in character.bodies}
    assert bodies == set(character.skeleton.names) - {
        "LHipJoint",
        "RHipJoint",
        *(f"{side}Hand{finger}1" for side in ("Left", "Right") for finger in ("Index", "Thumb")),
    }
    assert character.nv == 6 + 3 * (len(bodies) - 1)
    thigh = character.bodies[character.roles["left_hip"]]
    assert character.bodies[thigh.parent].name == "Hips"
    np.testing.assert_allclose(thigh.offset, [0.0, 0.09, -0.05], atol=1e-12)


def test_offsets_follow_a_carried_joint_that_stands_turned() -> None:
    turn = np.tile([0.0, 0.0, 0.5], (40, 1))
    character = fit(motion(person(), {"LHipJoint": turn}, frames=40))
    thigh = character.bodies[character.roles["left_hip"]]
    expected = rotations.rotate(rotations.from_rotation_vector(turn[0]), np.array([0.0, 0.09, -0.05]))
    np.testing.assert_allclose(thigh.offset, expected, atol=1e-12)


def test_bodies_come_depth_first_and_parents_before_children() -> None:
    for character in (fit(person()), fit(dog())):
        last_of_branch = list(range(len(character.bodies)))
        for i in range(len(character.bodies) - 1, 0, -1):
            parent = character.bodies[i].parent
            assert 0 <= parent < i
            last_of_branch[parent] = max(last_of_branch[parent], last_of_branch[i])
        for i, body in enumerate(character.bodies[1:], start=1):
            assert i <= last_of_branch[body.parent], f"{body.name} is outside its parent's branch"


def test_leading_joints_that_only_carry_the_figure_are_skipped() -> None:
    rows = person()
    wrapped = Skeleton(
        names=("Armature", "Root", *rows.names),
        parents=np.concatenate([[-1, 0, 1], rows.parents[1:] + 2]),
        offsets=np.concatenate([np.zeros((2, 3)), rows.offsets]),
        rest_rotations=np.concatenate([np.tile(rotations.IDENTITY, (2, 1)), rows.rest_rotations]),
        end_sites=tuple(type(s)(s.joint + 2, s.offset, s.name) for s in rows.end_sites),
    )
    assert fit(wrapped).bodies[0].name == "Hips"


def test_a_snake_of_joints_is_a_character_without_limbs_that_has_roles_and_points() -> None:
    count = 8
    snake = Skeleton(
        tuple(f"s{n}" for n in range(count)),
        np.arange(-1, count - 1),
        np.array([[0.0, 0.0, 0.05]] + [[0.2, 0.0, 0.0]] * (count - 1)),
        np.tile(rotations.IDENTITY, (count, 1)),
    )
    character = fit(snake)
    assert character.roles["pelvis"] == 0
    assert character.contact_points
    assert character.leg_length > 0.0
    assert all(np.linalg.eigvalsh(b.inertia)[0] > 0.0 for b in character.bodies)


def test_masses_sum_and_scale() -> None:
    assert fit(person()).mass == pytest.approx(70.0, rel=1e-12)
    assert fit(person(), mass=55.5).mass == pytest.approx(55.5, rel=1e-12)
    small, smaller = fit(person(scale=0.5)).mass, fit(person(scale=0.25)).mass
    assert small == pytest.approx(8.0 * smaller, rel=1e-9)
    assert 5.0 < small < 15.0


def test_masses_go_with_bone_length_where_asked_and_by_the_table_for_people_else() -> None:
    by_table, table = fit(person()), fit(person(), masses="anthropometric")
    assert [b.mass for b in by_table.bodies] == [b.mass for b in table.bodies]
    character = fit(person(), masses="length")
    thigh, shin = (character.bodies[character.roles[f"left_{p}"]] for p in ("hip", "knee"))
    assert thigh.mass / shin.mass == pytest.approx(0.42 / 0.40, rel=1e-9)
    assert min(b.mass for b in character.bodies) > 0.002 * character.mass


def test_no_share_is_too_small_and_shares_sum_to_one() -> None:
    shares = shares_by_length([1.0, 2.0, 1e-5])
    assert shares[2] == LEAST_SHARE
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    assert shares[1] == pytest.approx(2.0 * shares[0], rel=1e-12)


def test_masses_of_the_table() -> None:
    character = fit(person(), masses="anthropometric")
    assert character.mass == pytest.approx(70.0, rel=1e-12)

    def share(*roles: str) -> float:
        return sum(character.bodies[character.roles[r]].mass for r in roles) / 70.0

    assert share("left_hip") == pytest.approx(DE_LEVA["thigh"], rel=0.02)
    assert share("right_knee") == pytest.approx(DE_LEVA["shin"], rel=0.02)
    assert share("neck", "head") == pytest.approx(DE_LEVA["head"], rel=0.02)
    assert share("left_foot", "left_toe") == pytest.approx(DE_LEVA["foot"], rel=0.1)


def test_bad_requests_are_refused() -> None:
    with pytest.raises(InvalidValue, match="positive"):
        fit(person(), mass=-3.0)
    with pytest.raises(InvalidValue, match="anthropometric"):
        fit(person(), masses="guess")
    with pytest.raises(InvalidValue, match="for people"):
        fit(dog(), masses="anthropometric")
    with pytest.raises(InvalidValue, match="No motion"):
        fit([])
    with pytest.raises(InvalidValue, match="different skeletons"):
        fit([motion(person(), {}), motion(dog(), {})])


def test_spine_is_three_times_as_strong() -> None:
    character = fit(person())
    strong = {b.name for b in character.bodies if b.strength == 3.0}
    assert strong == {"Spine", "Chest"}
    assert all(b.strength == 1.0 for b in character.bodies if b.name not in strong)


def test_inertia_of_a_ball_and_of_a_thin_rod() -> None:
    at = np.array([0.1, -0.2, 0.3])
    com, inertia = capsule_inertia((Capsule(at, at, 0.05),), 2.0)
    np.testing.assert_allclose(com, at)
    np.testing.assert_allclose(inertia, 0.4 * 2.0 * 0.05**2 * np.eye(3), rtol=1e-12)
    com, inertia = capsule_inertia((Capsule(np.zeros(3), np.array([0.0, 0.0, 1.0]), 1e-4),), 3.0)
    np.testing.assert_allclose(np.diag(inertia), [0.25, 0.25, 0.0], rtol=1e-3, atol=1e-7)


def test_inertia_of_two_balls_is_that_of_a_dumbbell() -> None:
    a, b = np.array([0.5, 0.0, 0.0]), np.array([-0.5, 0.0, 0.0])
    com, inertia = capsule_inertia((Capsule(a, a, 0.1), Capsule(b, b, 0.1)), 4.0)
    np.testing.assert_allclose(com, 0.0, atol=1e-15)
    own = 0.4 * 4.0 * 0.01
    np.testing.assert_allclose(np.diag(inertia), [own, own + 4.0 * 0.25, own + 4.0 * 0.25], rtol=1e-12)


@pytest.mark.parametrize("figure", [person, dog])
def test_soles_touch_the_floor_of_the_rest_pose(figure) -> None:
    character = fit(figure())
    clip = motion(figure(), {}, frames=1)
    positions, orientations = clip.world
    feet = [p for p in character.contact_points if p.part == "foot"]
    assert len({p.body for p in feet}) >= 2
    for p in feet:
        joint = character.bodies[p.body].joint
        at = positions[0, joint] + rotations.rotate(orientations[0, joint], p.offset)
        assert at[2] == pytest.approx(character.floor, abs=1e-9), p.name


def test_a_character_stands_on_the_lower_level_of_a_capture_that_drifts_but_not_where_it_dips() -> None:
    """It stands for 70 of 120 frames 9 cm above the level on which it stands later, or dips by 14 cm for 10 frames."""
    still = motion(person(), {}, frames=120)
    frames = np.arange(120)
    for raise_ in (
        0.09 * np.clip((80 - frames) / 10.0, 0.0, 1.0),
        -0.14 * np.clip(1.0 - np.abs(frames - 60) / 5.0, 0, 1),
    ):
        raised = still.translations.copy()
        raised[:, 0, 2] += raise_
        assert fit(replace(still, translations=raised)).floor == pytest.approx(fit(still).floor, abs=1e-3)


def test_a_foot_has_heel_ball_and_toe_around_it() -> None:
    character = fit(person())
    points = {p.name: p for p in character.contact_points}
    assert {n.split(".", 1)[1] for n in points if n.startswith("LeftFoot")} == {
        "heel.in",
        "heel.out",
        "ball.in",
        "ball.out",
        "toe",
    }
    # the figure faces +X with its left at +Y
    assert points["LeftFoot.heel.out"].offset[1] > 0.02
    assert points["LeftFoot.heel.in"].offset[1] < -0.02
    assert points["RightFoot.heel.out"].offset[1] < -0.02
    assert points["LeftFoot.heel.in"].offset[0] < 0.0 < points["LeftFoot.ball.in"].offset[0]


def test_the_sole_of_a_foot_that_rocks_in_the_clip_is_flat() -> None:
    """Its points stand lowest in different frames; warped by half a millimeter it would stand on two corners."""
    walk = load(sample_path("walk"))
    feet = [j for j, name in enumerate(walk.skeleton.names) if name.endswith("Foot")]
    rocking = np.radians(2.0) * np.sin(2.0 * np.pi * 0.7 * walk.times[:, None, None] + np.arange(6.0).reshape(2, 3))
    tilted = walk.rotations.copy()
    tilted[:, feet] = rotations.multiply(tilted[:, feet], rotations.from_rotation_vector(rocking))
    character = fit(replace(walk, rotations=tilted, source=None))
    for side in ("left_foot", "right_foot"):
        sole = np.array([p.offset for p in character.contact_points if p.body == character.roles[side]])
        assert len(sole) >= 4
        assert np.linalg.svd(sole - sole.mean(axis=0))[1][2] < 1e-9


def test_spheres_on_the_whole_body_have_a_thickness() -> None:
    character = fit(person())
    parts = {p.part for p in character.contact_points}
    assert parts == {"foot", "hand", "knee", "elbow", "head", "trunk"}
    assert all(p.radius > 0.01 for p in character.contact_points if p.part != "foot")
    assert all(p.radius == 0.0 for p in character.contact_points if p.part == "foot")
    assert len({p.name for p in character.contact_points}) == len(character.contact_points) <= 30


def test_leg_length_is_hip_to_sole() -> None:
    character = fit(person())
    # thigh and shin, and the ankle's height over the toe joint's center line
    assert character.leg_length == pytest.approx(0.42 + 0.40 + 0.06, abs=1e-9)


@pytest.mark.parametrize("lift", [0.11, 0.18, 0.3])
def test_a_high_ankle_over_a_straight_leg_has_a_heel(lift: float) -> None:
    """A man whose ankle is at a fifth of his leg, as in a boot, stands on heels; a raptor's bent legs end in paws."""
    boots = tuple((n, p, (at[0], at[1], -lift) if n.endswith("ToeBase") else at) for n, p, at in PERSON)
    booted = fit(skeleton(boots, PERSON_ENDS))
    heels = [p for p in booted.contact_points if ".heel." in p.name]
    assert [p.offset[2] for p in heels] == pytest.approx([-lift] * 4)
    assert booted.leg_length == pytest.approx(0.82 + lift)
    bent = {"Leg": (0.24, -0.34), "Foot": (-0.3, -0.26)}  # ahead and down: knee, ankle
    paws = tuple(
        (n, p, (bent[k][0], at[1], bent[k][1]) if (k := n.removeprefix("Left").removeprefix("Right")) in bent else at)
        for n, p, at in boots
    )
    raptor = fit(skeleton(paws, PERSON_ENDS))
    assert any(".heel." in p.name for p in raptor.contact_points) == (lift < 0.17 * 0.82)


def on_toes(seed: int) -> Skeleton:
    """A figure of random size on bent legs that stands on its toes, its ankles at a quarter to a third of a leg."""
    draw = np.random.default_rng(seed)
    knee, ankle, lift = draw.uniform(0.18, 0.28), -draw.uniform(0.25, 0.33), draw.uniform(0.2, 0.28)
    at = {"Leg": (knee, 0.0, -0.34), "Foot": (ankle, 0.0, -0.26), "ToeBase": (0.14, 0.0, -lift)}
    rows = tuple((n, p, at.get(n.removeprefix("Left").removeprefix("Right"), place)) for n, p, place in PERSON)
    return skeleton(rows, PERSON_ENDS, scale=float(draw.uniform(0.5, 3.0)))


@first_cases(1, "seed", range(4))
def test_the_ankles_of_a_figure_on_its_toes_do_not_touch(seed: int) -> None:
    """An ankle over no heel has a point at the end of its shin; it is no sole."""
    still = motion(on_toes(seed), {}, frames=240)
    character = fit(still)
    ankles = [character.bodies[character.roles[f"{side}_foot"]].joint for side in ("left", "right")]
    shins = [character.roles[f"{side}_knee"] for side in ("left", "right")]
    points = [p for p in character.contact_points if p.part == "ankle"]
    assert [p.body for p in points] == shins
    np.testing.assert_allclose([p.offset for p in points], still.skeleton.offsets[ankles], atol=1e-9)
    assert not any(".heel." in p.name for p in character.contact_points)
    assert all(end_body(character, f"{side}_leg") == character.roles[f"{side}_toe"] for side in ("left", "right"))
    without = replace(character, contact_points=tuple(p for p in character.contact_points if p.part != "ankle"))
    kept = [i for i, p in enumerate(character.contact_points) if p.part != "ankle"]
    told, plain = analyze(still, character), analyze(still, without)
    assert not np.delete(told.touch.carries, kept, axis=1).any()
    assert (told.touch.carries[:, kept] == plain.touch.carries).all()
    assert (told.supports == plain.supports).all()
    undisturbed = simulate(still, character).motion
    np.testing.assert_allclose(undisturbed.world[0], still.world[0], atol=1e-9 * character.leg_scale)


@first_cases(1, "seed, way", [(seed, way) for seed in range(4) for way in ((-1.0, 0.0), (1.0, 0.0), (0.0, 1.0))])
def test_a_figure_on_its_toes_lies_on_its_ankles_when_it_falls(seed: int, way: tuple[float, float]) -> None:
    """The points at the ends of its shins keep them above the floor."""
    still = motion(on_toes(seed), {}, frames=240)
    character = fit(still)
    ankles = [character.bodies[character.roles[f"{side}_foot"]].joint for side in ("left", "right")]
    force, lasts = 14.0 * character.mass * np.array([*way, 0.0]), 0.4 * character.leg_scale**0.5
    push = Push("chest", tuple(force), start=0.3, duration=lasts)
    end = simulate(still, character, pushes=[push]).motion.world[0][-60:]
    assert end[:, 0, 2].min() < 0.5 * still.world[0][0, 0, 2]  # it lies
    assert end[:, ankles, 2].min() - character.floor > 0.01 * character.leg_length


def test_capsules_are_a_person_s() -> None:
    character = fit(person())
    radius = {role: max(c.radius for c in character.bodies[i].capsules) for role, i in character.roles.items()}
    assert radius["left_hip"] > radius["left_knee"] > radius["left_foot"]
    assert radius["left_shoulder"] > radius["left_elbow"] > radius["left_hand"]
    assert 0.07 < radius["head"] < 0.13
    assert all(0.01 < r < 0.16 for r in radius.values())


def test_turning_and_moving_the_world_changes_nothing() -> None:
    steps = np.linspace(0.0, 2.0 * np.pi, 60)
    swing = np.stack([np.zeros(60), 0.4 * np.sin(steps), np.zeros(60)], axis=1)
    clip = motion(person(), {"LeftUpLeg": swing, "RightUpLeg": -swing, "LeftForeArm": 0.5 * swing})
    one, other = fit(clip), fit(turned(clip, 0.7, (3.0, -2.0, 0.0)))
    assert one.roles == other.roles
    assert other.floor == pytest.approx(one.floor, abs=1e-12)
    for a, b in zip(one.bodies, other.bodies):
        np.testing.assert_allclose(b.offset, a.offset, atol=1e-9)
        np.testing.assert_allclose(b.inertia, a.inertia, atol=1e-9)
    for p, r in zip(one.contact_points, other.contact_points):
        np.testing.assert_allclose(r.offset, p.offset, atol=1e-9)


def test_a_motion_keeps_what_was_fitted_to_it_for_each_mass() -> None:
    clip = motion(person(), {})
    fitted = fit(clip)
    assert fit(clip) is fitted
    assert Character.fit(clip) is fitted
    assert fit(clip, mass=40.0).mass == pytest.approx(40.0)
    assert fitted.mass != pytest.approx(40.0)
    assert fit(clip, masses="length") is not fitted
    assert fit(clip.skeleton) is not fitted


def test_fit_is_also_a_method_of_the_class() -> None:
    assert Character.fit(person(), mass=60.0).mass == pytest.approx(60.0)
