"""How figures begin, and how they stand again after steps: rest poses that lie, feet that are brought up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import poise
import poise.io
from poise.body import fit
from poise.body.character import Character, figure, figure_skeleton
from poise.body.posing import body_positions
from poise.cli.synthesized import summarize_synthesis
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.filter.forces import Push
from poise.goals.goal import Goal
from poise.goals.objectives import Still
from poise.goals.observation import Observation
from poise.goals.state_machine import ControlState, StateMachine
from poise.goals.surroundings import Ball, Scene, floor
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.show.scene import Polygon
from poise.show.synthesis_scene import scene_of_synthesis
from poise.step import Objective
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.poses import places_of, plane_of, sole_points, soles_of, standing, stands, upright
from poise.synthesis.prepared import prepared, soled, steadied
from poise.synthesis.run import SynthesisResult, synthesize, world_of
from poise.synthesis.scene_file import scene_of
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip


def lying(character: Character) -> Character:
    """The same body on a skeleton whose rest pose lies on its face, one leg along the trunk."""
    skeleton = character.skeleton
    turns = skeleton.rest_rotations.copy()
    turns[0] = rotations.from_rotation_vector(np.array([0.0, np.pi / 2.0, 0.0]))
    thigh = character.bodies[character.roles["left_hip"]].joint
    turns[thigh] = rotations.from_rotation_vector(np.array([np.pi, 0.0, 0.0]))
    return replace(character, skeleton=replace(skeleton, rest_rotations=turns))


def foreign(turns: dict[str, tuple[float, float, float]], *, hips_meet: bool = False, seed: int = 3) -> Character:
    """Fitted to a skeleton at rest in another pose, every bone with axes of its own, knees and elbows with all three.

    Args:
        turns: Turn of joints by the end of their name, about the figure's own axes at rest [rad].
        hips_meet: Both hip joints are at the middle of the pelvis, as where a bone for each side begins there.
        seed: Of the axes.
    """
    plain = figure_skeleton()
    names, parents = plain.names, plain.parents.tolist()
    own = np.array([next((t for end, t in turns.items() if name.endswith(end)), (0.0, 0.0, 0.0)) for name in names])
    axes = rotations.normalize(np.random.default_rng(seed).normal(size=(len(names), 4)))
    offsets, rest = plain.offsets.copy(), rotations.from_rotation_vector(own)
    if hips_meet:
        for thigh in (names.index("LeftUpLeg"), names.index("RightUpLeg")):
            offsets[thigh] = 0.0
    for j, parent in enumerate(parents):
        rest[j] = rotations.multiply(rest[j], axes[j])
        if parent >= 0:
            back = rotations.conjugate(axes[parent])
            rest[j], offsets[j] = rotations.multiply(back, rest[j]), rotations.rotate(back, offsets[j])
    tips = tuple(
        replace(site, offset=rotations.rotate(rotations.conjugate(axes[site.joint]), site.offset))
        for site in plain.end_sites
    )
    return fit(replace(plain, offsets=offsets, rest_rotations=rest, end_sites=tips, hinges={}))


BENT = {"UpLeg": (0.0, -1.1, 0.0), "LeftLeg": (0.0, 1.4, 0.0), "RightLeg": (0.0, 1.4, 0.0), "Arm": (0.0, -0.3, 0.0)}
LIES = {"Hips": (0.0, 1.5, 0.0), "LeftUpLeg": (0.9, 0.0, 0.0), "RightUpLeg": (-0.9, 0.0, 0.0)}
SPLAYED = {"LeftUpLeg": (0.2, 0.0, 0.0), "RightUpLeg": (-0.2, 0.0, 0.0)}


@first_cases(1, ("turns", "hips_meet"), [(BENT, False), (LIES, True)], ids=["bent", "lies, hips meet"])
def test_a_foreign_rest_pose_is_stood_up(turns: dict[str, tuple[float, float, float]], hips_meet: bool) -> None:
    own = foreign(turns, hips_meet=hips_meet)
    if hips_meet:  # where the soles are was seen in a clip in which it stands
        own = replace(foreign(SPLAYED, hips_meet=True), skeleton=own.skeleton)
    own = prepared(own)
    model = model_of(own)
    q = standing(own)
    state = State(model).at(q, np.zeros(model.nv))
    places, roles = body_positions(own, q[None])[0], own.roles
    for side, sign in (("left", 1.0), ("right", -1.0)):
        hip, knee, foot = (places[roles[f"{side}_{role}"]] for role in ("hip", "knee", "foot"))
        thigh, shin = ((a - b) / np.linalg.norm(a - b) for a, b in ((knee, hip), (foot, knee)))
        assert thigh @ shin > 0.97, "nearly straight"
        assert (hip - foot)[2] > 0.95 * np.linalg.norm(hip - foot), "plumb"
        assert sign * foot[1] > 0.05
        arm = places[roles[f"{side}_elbow"]] - places[roles[f"{side}_shoulder"]]
        assert arm[2] < -0.9 * np.linalg.norm(arm), "hangs"
    assert places[roles["head"], 2] > places[roles["pelvis"], 2] + 0.4
    soles = state.points[[p.part == "foot" for p in own.contact_points]]
    assert np.ptp(soles[:, 2]) < 0.01, "level"
    assert soles[:, 0].min() < state.com()[0] < soles[:, 0].max()
    result = synthesize("balance", own, seconds=0.6)
    assert result.report["fell"] is None
    assert result.report["penetration_max_m"] < 1e-3


def com_height(character: Character) -> float:
    """Of the center of mass over the soles as the figure begins [m]."""
    model = model_of(character)
    state = State(model).at(standing(character), np.zeros(model.nv))
    return float(state.com(model.roots[0])[2])


def test_a_figure_whose_rest_pose_lies_is_stood_up() -> None:
    own = figure()
    assert com_height(lying(own)) == pytest.approx(com_height(own), abs=0.03)
    result = synthesize("balance", lying(own), seconds=1.0)
    assert result.report["fell"] is None
    assert result.report["penetration_max_m"] < 5e-4


def test_a_rest_pose_that_leans_gives_way_to_the_middle_of_the_clip() -> None:
    own = figure()
    skeleton, turns = own.skeleton, own.skeleton.rest_rotations.copy()
    turns[0] = rotations.from_rotation_vector(np.array([0.0, 0.6, 0.0]))
    leaning = replace(own, skeleton=replace(skeleton, rest_rotations=turns))
    root, top = (places_of(leaning, upright(leaning))[own.roles[role]] for role in ("pelvis", "head"))
    assert (top - root)[2] > 0.97 * np.linalg.norm(top - root)


def test_a_rest_pose_that_stands_is_kept() -> None:
    own = figure()
    turned = upright(own)
    skeleton = own.skeleton
    assert np.allclose(turned[0], skeleton.rest_rotations[0])
    assert stands(own, turned)


@pytest.mark.parametrize("who", ["adult", "child"])
@pytest.mark.parametrize("over", [0.3, 0.5])
def test_the_mass_stands_where_it_is_asked_to(who: str, over: float) -> None:
    own = figure(who)
    model = model_of(own)
    state = State(model).at(standing(own, over=over), np.zeros(model.nv))
    soles = state.points[[p.part == "foot" for p in own.contact_points]]
    heel, toe = soles[:, 0].min(), soles[:, 0].max()
    assert (state.com(model.roots[0])[0] - heel) / (toe - heel) == pytest.approx(over, abs=0.02)
    assert soles[:, 2].min() == pytest.approx(0.0, abs=1e-9)
    assert soles[:, 2].max() < 0.01, "level"


def test_a_figure_that_cannot_stand_is_refused() -> None:
    own = lying(figure())
    shin = own.roles["left_knee"]
    bodies = list(own.bodies)
    bodies[shin] = replace(bodies[shin], offset=0.05 * bodies[shin].offset)
    with pytest.raises(InvalidValue, match="does not stand"):
        world_of(BEHAVIORS["balance"].setup(), replace(own, bodies=tuple(bodies)))


@pytest.mark.long
@needs_motions
def test_a_file_that_keeps_no_pose_in_its_skeleton_stands() -> None:
    own = fit(poise.io.load(MOTIONS / "nc/dataset-1_walk_normal_002.bvh"))
    result = synthesize("balance", own, seconds=1.0, pushes=[Push("chest", (30.0, 0.0, 0.0), 0.2, 0.1)])
    assert result.report["fell"] is None
    assert result.report["penetration_max_m"] < 5e-4
    head, hips = (result.character.body_index(name) for name in ("head", "pelvis"))
    places = body_positions(result.character, result.q)
    assert (places[:, head, 2] - places[:, hips, 2]).min() > 0.4
    assert places[:, hips, 2].min() > 0.8


def crate(ahead: float, height: float) -> Scene:
    """A crate of 60 by 80 cm before the wall of a room."""
    text = f"""schema = "poise.scene/1"
[floor]
[[walls]]
name = "wall"
place = [0.6, 0.0, 1.2]
facing = [-1.0, 0.0, 0.0]
size = [2.0, 2.4]
[[boxes]]
name = "crate"
place = [{ahead}, 0.0, {0.5 * height}]
sides = [0.6, 0.8, {height}]
"""
    return scene_of(text)


def test_a_figure_begins_on_top_of_a_crate_and_leans_on_the_wall_from_there() -> None:
    push = Push("chest", (250.0, 0.0, 0.0), 0.2, 0.1)
    result = synthesize("wall", scene=crate(0.0, 0.4), pushes=[push], seconds=0.9)
    plain = standing(steadied(figure()))
    assert result.q[0, 2] == pytest.approx(plain[2] + 0.4, abs=1e-3)
    assert result.report["fell"] is None
    assert result.report["penetration_max_m"] < 5e-4
    assert {s["object"] for s in result.report["supports"]} == {"wall"}
    feet = [result.character.body_index(f"{side}_foot") for side in ("left", "right")]
    assert body_positions(result.character, result.q)[:, feet, 2].min() > 0.4


def test_half_on_a_crate_or_in_a_high_one_is_refused_and_beside_one_is_the_floor() -> None:
    with pytest.raises(InvalidValue, match="only a part of its feet over 'crate top'"):
        synthesize("balance", scene=crate(0.3, 0.4), seconds=0.01)
    with pytest.raises(InvalidValue, match="begins inside 'crate"):
        synthesize("balance", scene=crate(0.0, 1.0), seconds=0.01)
    beside = synthesize("balance", scene=crate(-0.8, 0.4), seconds=0.01)
    assert beside.q[0, 2] == synthesize("balance", seconds=0.01).q[0, 2]


def feet_apart(result: SynthesisResult, frame: int) -> float:
    """Distance of the feet in a frame [m]."""
    places = body_positions(result.character, result.q[frame : frame + 1])[0]
    left, right = (places[result.character.body_index(f"{side}_foot"), :2] for side in ("left", "right"))
    return float(np.linalg.norm(left - right))


@first_cases(1, ("x", "y"), [(300.0, 0.0), (0.0, 300.0)], ids=["ahead", "aside"])
def test_after_a_protective_step_the_other_foot_is_brought_up(x: float, y: float) -> None:
    result = synthesize("step", seconds=2.6, pushes=[Push("chest", (x, y, 0.0), 0.1, 0.1)])
    assert result.report["fell"] is None
    assert result.report["penetration_max_m"] < 5e-4
    names = [v.name for v in result.visits]
    assert names[-1] == "balance"
    assert "follow" in names
    landed = next(v.end for v in result.visits if v.name == "take step")
    assert feet_apart(result, round(landed / 0.01)) > 0.4
    assert feet_apart(result, len(result.q) - 1) == pytest.approx(feet_apart(result, 0), abs=0.12)


@pytest.mark.long
def test_who_steps_straight_back_does_not_lunge_ahead_afterwards() -> None:
    """The other foot follows at once; it waited in the lunge, and the figure then fell ahead over its own feet."""
    result = synthesize("step", seconds=2.8, pushes=[Push("chest", (-400.0, 0.0, 0.0), 0.2, 0.1)])
    assert result.report["fell"] is None
    names = [v.name for v in result.visits]
    assert names.index("follow") == names.index("take step") + 1
    assert result.visits[-1].start < 2.1, "3.2 s before"


def test_without_a_push_no_foot_is_brought_up() -> None:
    assert {"bring up", "follow"}.isdisjoint(v.name for v in synthesize("step", seconds=1.2).visits)


def test_a_push_says_which_figure_it_means() -> None:
    def owner(body: str) -> tuple[int, str]:
        world = world_of(BEHAVIORS["hands"].setup())
        world.push(Push(body, (1.0, 0.0, 0.0)))
        return world.push_owners[0], world.pushes[0].body

    assert owner("chest") == (0, "chest")
    assert owner("adult.chest") == (1, "chest")
    assert owner("child.chest") == (0, "chest")


@first_cases(1, ("x", "y"), [(400.0, 0.0), (-450.0, 0.0), (0.0, 450.0)], ids=["ahead", "back", "aside"])
def test_hands_go_where_a_figure_falls_to(x: float, y: float) -> None:
    """As the chest comes down, both hands are nearer to the ground than it, on the side it falls to."""
    result = synthesize("balance", seconds=1.6, pushes=[Push("chest", (x, y, 0.0), 0.2, 0.1)])
    assert result.report["fell"] is not None
    assert result.report["penetration_max_m"] < 5e-4
    places = body_positions(result.character, result.q)
    chest, *hands = (result.character.body_index(name) for name in ("chest", "left_hand", "right_hand"))
    k = int(np.argmax(places[:, chest, 2] < 0.45))
    way = np.array([x, y]) / np.hypot(x, y)
    ahead = (places[k, hands, :2] - places[k, chest, :2]) @ way
    assert ahead.max() > 0.1
    assert ahead.mean() > 0.03
    assert places[k, hands, 2].min() < places[k, chest, 2]


def soles_at_start(character: Character) -> np.ndarray:
    """Heights of all sole points as the figure begins [m]."""
    model = model_of(character)
    state = State(model).at(standing(character), np.zeros(model.nv))
    return state.points[[p.part == "foot" for p in character.contact_points], 2]


def strained(character: Character, rise: float) -> Character:
    """The same body with the heel of its right sole so much higher in the foot [m], as a dance on it leaves it."""
    foot = character.roles["right_foot"]
    points = tuple(
        replace(p, offset=p.offset + np.array([0.0, 0.0, rise])) if p.body == foot and ".heel" in p.name else p
        for p in character.contact_points
    )
    return replace(character, contact_points=points)


def test_soles_are_flat_and_alike() -> None:
    own = figure()
    assert soled(own) is own
    odd = strained(own, 0.06)
    assert np.ptp(soles_at_start(odd)) > 0.01
    mended = soled(odd)
    assert np.allclose([p.offset for p in mended.contact_points], [p.offset for p in own.contact_points], atol=1e-9)
    assert np.ptp(soles_at_start(mended)) < 1e-6


def test_a_sole_that_is_not_level_is_laid_on_the_ground() -> None:
    own = figure()
    bodies = list(own.bodies)
    tilt = rotations.to_matrix(rotations.from_rotation_vector(np.array([0.1, 0.2, 0.0])))
    feet = {own.roles[f"{side}_foot"] for side in ("left", "right")}
    points = tuple(replace(p, offset=tilt @ p.offset) if p.body in feet else p for p in own.contact_points)
    for foot in feet:
        toe = next(i for i, b in enumerate(bodies) if b.parent == foot)
        bodies[toe] = replace(bodies[toe], offset=tilt @ bodies[toe].offset)
    assert np.ptp(soles_at_start(soled(replace(own, bodies=tuple(bodies), contact_points=points)))) < 1e-6


@pytest.mark.long
@needs_motions
def test_a_dancer_fitted_to_a_dance_stands() -> None:
    own = fit(poise.io.load(MOTIONS / "bvh/cmu_daz/05_20-daz.bvh"))
    result = synthesize("step", own, seconds=1.5, pushes=[Push("chest", (100.0, 0.0, 0.0), 0.8, 0.1)])
    assert result.report["fell"] is None
    assert {v.name for v in result.visits} == {"balance"}
    assert np.ptp(soles_at_start(result.character)) < 1e-3


def test_every_skeleton_faces_ahead_and_knows_it() -> None:
    own = fit(sample_clip("walk"))
    at_rest = places_of(own, upright(own))
    left = at_rest[own.roles["left_hip"]] - at_rest[own.roles["right_hip"]]
    assert abs(left[1]) < 0.1 * abs(left[0]), "its file's figure looks along −y"
    ways: list[np.ndarray] = []
    seen = StateMachine("see", (ControlState("see", (Still(0.1), Look(ways))),))
    synthesize(seen, own, seconds=0.15, pushes=[Push("chest", (300.0, -300.0, 0.0), 0.0, 0.1)])
    assert ways[0] == pytest.approx([1.0, 0.0], abs=1e-6)
    assert min(way[0] for way in ways) > 0.9, "also while the pelvis tilts"


@dataclass(frozen=True)
class Look(Goal):
    """Wishes nothing, and notes where the pelvis faces."""

    ways: list[np.ndarray]

    def objectives(self, observed: Observation) -> list[Objective]:
        self.ways.append(observed.heading)
        return []


def test_a_figure_in_the_void_falls_and_that_is_all() -> None:
    result = synthesize("step", scene=scene_of('schema = "poise.scene/1"\nfloor = false\n'), seconds=0.3)
    assert result.report["stopped"] is None
    drop = result.trace.com[-1, 0, 2] - result.trace.com[0, 0, 2]
    assert drop == pytest.approx(-0.5 * 9.81 * 0.29 * 0.30, rel=0.02)


def test_a_ball_is_no_support() -> None:
    ball = Ball("ball", (2.0, 1.0, 0.2), (0.0, 0.0, 0.0), 0.0, 0.05, 0.5)
    result = synthesize("balance", scene=replace(floor(), balls=(ball,)), seconds=0.6)
    assert (result.trace.owners == -1).sum() == 1
    carried = result.trace.forces[-1, result.trace.owners == -1]
    assert carried[0, 2] > 0.5, "the ball lies on the floor"
    support = next(o for o in scene_of_synthesis(result).overlays if isinstance(o, Polygon))
    assert np.nanmax(support.vertices[..., 0]) < 0.5


def footless() -> Character:
    """Fitted to a skeleton whose legs end at the shins, as those of figures made of blocks do."""
    plain = figure_skeleton()
    kept = [j for j, name in enumerate(plain.names) if not name.endswith(("Foot", "Toe"))]
    parents = [kept.index(p) if (p := plain.parents.tolist()[j]) in kept else -1 for j in kept]
    sites = tuple(replace(s, joint=kept.index(s.joint)) for s in plain.end_sites if s.joint in kept)
    return Character.fit(
        replace(
            plain, names=tuple(plain.names[j] for j in kept), parents=np.array(parents), offsets=plain.offsets[kept],
            rest_rotations=plain.rest_rotations[kept], end_sites=sites,
        )
    )  # fmt: skip


def test_legs_that_end_at_the_shin_stand_on_soles() -> None:
    character = footless()
    state = State(model_of(character))
    state.at(standing(character), np.zeros(state.model.nv))
    soles = state.points[[k for k, p in enumerate(character.contact_points) if p.part == "foot"]]
    assert np.ptp(soles[:, 2]) < 1e-3
    assert np.ptp(soles[:, 0]) == pytest.approx(0.19, abs=0.04), "as long as a person's"
    result = synthesize("balance", seconds=1.5, character=character)
    assert result.figures[0].fell is None
    assert np.abs(result.trace.com[-1, 0] - result.trace.com[0, 0]).max() < 0.03


def test_a_sole_warped_by_half_a_millimeter_is_pressed_flat() -> None:
    """On two corners of such a sole one foot did not carry a figure: it fell."""
    who = figure("adult")
    assert soled(who) is who
    points, warped = list(who.contact_points), sole_points(who, "left")[0]
    points[warped] = replace(points[warped], offset=points[warped].offset + np.array([0.0, 0.0, 5e-4]))
    flat = soled(replace(who, contact_points=tuple(points)))
    plane = plane_of(soles := soles_of(flat, upright(flat), "left"))
    assert plane is not None
    assert np.abs((soles - plane[0]) @ plane[1]).max() < 1e-9


STRADDLES = {"LeftUpLeg": (np.radians(20.0), 0.0, 0.0), "RightUpLeg": (-np.radians(20.0), 0.0, 0.0)}


def test_legs_that_straddle_at_rest_stand_below_the_hips() -> None:
    """Skeletons of CMU rest with legs 20° apart from the vertical: the weight never came over one foot."""
    who = foreign(STRADDLES)
    state = State(model_of(who)).at(standing(who), np.zeros(who.nv))
    left, right = (state.points[sole_points(who, side), :2].mean(axis=0) for side in ("left", "right"))
    assert np.linalg.norm(left - right) < 0.3
    assert [v.name for v in synthesize("one-foot", who, seconds=2.0).visits] == ["shift", "lift"]


def test_feet_too_far_apart_for_one_foot_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    who = figure("adult")
    result = synthesize("one-foot", who, seconds=0.05)
    summarize_synthesis(result, None)
    assert "apart" not in capsys.readouterr().out
    bodies = [
        replace(b, offset=b.offset * np.array([1.0, 5.0, 1.0]))
        if n in (who.roles["left_hip"], who.roles["right_hip"])
        else b
        for n, b in enumerate(who.bodies)
    ]
    result = synthesize("one-foot", replace(who, bodies=tuple(bodies)), seconds=0.05)
    summarize_synthesis(result, None)
    assert "Its weight never came over one foot: its feet stand 0." in capsys.readouterr().out
