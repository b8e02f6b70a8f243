"""Climbing: holds at random, feet that stand on them, limbs that move one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from poise.body.character import Character, ball, figure, hold_points
from poise.core.errors import InvalidValue
from poise.goals.climbing import LIMBS, next_hold
from poise.goals.observation import Observation
from poise.goals.surroundings import Hold, Scene
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.behaviors.climb import NEAREST, START, random_holds
from poise.synthesis.grips import Grips
from poise.synthesis.poses import placed, standing
from poise.synthesis.prepared import limber
from poise.synthesis.run import synthesize, world_of
from poise.synthesis.world import World

UP = np.array([0.0, 0.0, 1.0])


def test_holds_are_random_apart_and_the_same_for_a_seed() -> None:
    first, again, other = (random_holds(seed, 5.0, 1.2, 40.0) for seed in (3, 3, 4))
    assert first == again != other
    places = np.array([h.place for h in first])
    away = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert away.min() >= NEAREST
    assert len(places) > 40
    assert {tuple(h.place[1:]) for h in first[:4]} == set(START.values())


def test_the_wall_is_behind_every_hold() -> None:
    scene = BEHAVIORS["climb"].setup({"height": 5.0, "width": 1.2}).scene
    wall = next(s for s in scene.surfaces if s.name == "wall")
    across, up, normal = wall.frame
    for hold in scene.holds:
        way = np.asarray(hold.place) - np.asarray(wall.origin)
        assert 0.05 < way @ normal < 0.2
        assert abs(way @ across) <= wall.size[0] / 2.0
        assert abs(way @ up) <= wall.size[1] / 2.0


def test_hands_meet_holds_with_their_fingers_and_feet_with_both_sides_of_the_ball() -> None:
    who = figure()
    points = who.contact_points
    for side in ("left", "right"):
        (finger,) = hold_points(who, f"{side}_hand")
        own = [p for p in points if p.body == who.roles[f"{side}_hand"]]
        assert points[finger] is max(own, key=lambda p: float(np.linalg.norm(p.offset)))
        one, two = (points[i].offset for i in hold_points(who, f"{side}_foot"))
        assert abs(one[1] - two[1]) > 0.03, "one on either side"
        assert min(one[0], two[0]) > 0.05, "ahead of the ankle"
    with pytest.raises(InvalidValue, match="no left hand"):
        hold_points(ball("ball", 0.1, 1.0), "left_hand")


def test_hands_and_feet_are_put_on_places_and_no_others_are_promised() -> None:
    who = limber(figure("adult"))
    q = standing(who, knees=0.8, arms=2.2)
    places = {"left_hand": np.array([0.35, 0.2, 1.6]), "right_foot": np.array([0.3, -0.15, 0.4])}
    placed_q = placed(who, q, places)
    model = model_of(who)
    centers = State(model).at(placed_q, np.zeros(model.nv)).centers
    for part, place in places.items():
        assert centers[hold_points(who, part)].mean(axis=0) == pytest.approx(place, abs=0.005)
    with pytest.raises(InvalidValue, match="stays"):
        placed(who, q, {"left_hand": np.array([0.0, 0.2, 4.0]), "left_foot": np.array([0.0, 0.2, 0.0])})


def test_a_foot_stands_on_a_hold_only_from_above_and_leaves_when_it_slips() -> None:
    who = figure("adult")
    model = model_of(who)
    state = State(model).at(standing(who), np.zeros(model.nv))
    soles = hold_points(who, "left_foot")
    middle = state.centers[soles].mean(axis=0)
    radii = model.point_radii

    def standing_on(lower: float, beside: float = 0.0) -> Grips:
        place = middle - (0.04 + lower) * UP + np.array([beside, 0.0, 0.0])
        grips = Grips(Scene((), (Hold("rung", tuple(place.tolist()), 0.04),)), radii)
        grips.stand(0, "left_foot", soles, "rung", state, 0.0)
        return grips

    assert not standing_on(0.005).feet
    assert not standing_on(-0.03).feet
    assert not standing_on(0.0, 0.05).feet
    grips = standing_on(-0.004)
    assert grips.of(0) == {"left_foot": "rung"}
    footing = grips.footing(0.0, 0.01)
    assert footing.gaps(state.centers, radii) == pytest.approx(0.0, abs=1e-9)
    assert footing.normals == pytest.approx(np.tile(UP, (2, 1)))
    grips.feet[0] = replace(grips.feet[0], drift=0.05)
    assert [(f.figure, f.drift) for f in grips.lose(0.0)] == [(0, 0.05)]
    assert len(grips.feet) == 1


def test_a_figure_climbs_hand_and_foot_by_turns() -> None:
    result = synthesize("climb", seconds=4.0, options={"seed": 1})
    report = result.report
    assert report["climbed_m"] > 0.2
    assert report["fell"] is None
    moves = [v.name.removeprefix("move ") for v in result.visits if v.name.startswith("move")]
    assert moves[:4] in (["hand", "foot", "hand", "foot"], ["foot", "hand", "foot", "hand"])
    assert report["grip_drift_max_m"] < 1e-3
    assert report["penetration_max_m"] < 5e-4
    assert report["contact_work_ratio"] < 0.02
    assert report["root_residual_max"]["force_N"] < 1e-6
    assert report["solver"]["failures"] == 0
    assert {s["body"] for s in report["supports"]} <= {*LIMBS, *(b.name for b in result.character.bodies)}


def test_no_foot_leaves_where_the_body_would_swing_like_a_door(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = {"left_hand": (0.32, 1.7), "right_hand": (0.2, 1.6), "left_foot": (0.16, 0.3), "right_foot": (-0.3, 0.4)}

    def pose(character: Character) -> np.ndarray:
        q = standing(character, knees=1.2, elbows=0.9, arms=2.2)
        q[0], q[2] = 0.14, q[2] + 0.3
        return placed(character, q, {part: np.array([0.47, *at]) for part, at in beside.items()})

    setup = BEHAVIORS["climb"].setup()
    world = world_of(replace(setup, roles=(replace(setup.roles[0], pose=pose),)))
    views: list[Observation] = []
    seen = World._observe

    def keep(self: World, *arguments: Any) -> Observation:
        views.append(seen(self, *arguments))
        return views[-1]

    monkeypatch.setattr(World, "_observe", keep)
    world.step()
    choice = next_hold(views[0], "foot")
    assert choice is not None
    assert choice[0] == "right_foot", "the right one alone, half a meter beside the hands, would not hold the body"
