"""A pose tool with weight: bodies are dragged to places, the rest follows over its feet, and a pose stays."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.body.character import Character, figure
from poise.body.posing import body_positions
from poise.core.errors import InvalidValue, UnknownName
from poise.core.typing import Array
from poise.edit import Poser, pose
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.synthesis.poses import standing
from tests.clips import first_cases, sample_clip


@pytest.fixture(scope="module")
def adult() -> Character:
    return figure("adult")


def com_of(character: Character, q: Array) -> Array:
    return State(model_of(character)).at(q, np.zeros(character.nv)).com(1).copy()


@first_cases(
    1,
    ("places", "closest"),
    [
        ({"right_hand": (0.45, -0.2, 0.12)}, 0.03),  # squats
        ({"left_hand": (0.3, 0.25, 1.95), "right_hand": (0.3, -0.25, 1.95)}, 0.08),  # on its toes
        ({"pelvis": (-0.1, 0.0, 0.55)}, 1e-3),
    ],
)
def test_the_body_follows_with_its_weight_over_its_feet(
    adult: Character, places: dict[str, tuple[float, float, float]], closest: float
) -> None:
    start = standing(adult)
    q, off = pose(adult, start, places)
    assert max(off.values()) < closest
    assert np.linalg.norm((com_of(adult, q[-1]) - com_of(adult, start))[:2]) < 0.03
    points = State(model_of(adult)).at(q[-1], np.zeros(adult.nv)).points
    assert -0.01 < points[:, 2].min() < 0.02, "it sank by 7 cm where what it holds was not lifted"
    places_of = body_positions(adult, q[[0, -1]])
    for foot in ("left_foot", "right_foot"):
        step = np.diff(places_of[:, adult.body_index(foot)], axis=0)[0]
        assert np.linalg.norm(step[:2]) < 0.12
    assert np.abs(np.diff(q, axis=0)).max() < 0.15  # no jump


def test_a_pose_stays_when_it_is_let_go_and_without_drags_nothing_moves(adult: Character) -> None:
    start = standing(adult)
    poser = Poser(adult, start)
    for _ in range(20):
        poser.step()
    assert np.abs(poser.q - start).max() < 1e-3
    poser.drag("left_hand", (0.4, 0.3, 1.2))
    for _ in range(150):
        poser.step()
    assert poser.places["left_hand"] == pytest.approx([0.4, 0.3, 1.2])
    there = poser.q.copy()
    poser.let_go()
    assert not poser.places
    for _ in range(50):
        poser.step()
    assert np.abs(poser.q - there).max() < 0.02
    assert np.abs(poser.q - start).max() > 0.5
    assert poser.time == pytest.approx(2.2)


def test_places_out_of_reach_are_pulled_at_and_end_no_run(adult: Character) -> None:
    start = standing(adult)
    here = body_positions(adult, start[None])[0]
    rng = np.random.default_rng(3)
    for names in (["head", "left_foot"], ["pelvis", "right_hand"], ["chest", "pelvis", "left_hand"]):
        places = {n: here[adult.body_index(n)] + rng.normal(size=3) * 0.6 for n in names}
        q, off = pose(adult, start, places, seconds=1.5)
        assert max(off.values()) > 0.1
        assert np.abs(np.diff(q[:, 7:], axis=0)).max() < 0.2  # 20 rad/s


def test_an_animal_lowers_its_head() -> None:
    motion = sample_clip("quadruped")
    character = Character.fit(motion)
    start = poise.motion_to_q(character, motion)[0]
    x, y, z = body_positions(character, start[None])[0, character.body_index("head")]
    _, off = pose(character, start, {"head": (x, y + 0.1, z - 0.3)})
    assert off["head"] < 1e-3


def test_places_that_make_no_sense_are_refused(adult: Character) -> None:
    poser = Poser(adult, standing(adult))
    with pytest.raises(UnknownName, match="wing"):
        poser.drag("wing", (0.0, 0.0, 1.0))
    for bad in ((0.0, 1.0), (0.0, np.nan, 1.0)):
        with pytest.raises(InvalidValue, match="three finite meters"):
            poser.drag("left_hand", bad)
    with pytest.raises(InvalidValue, match="seconds is 0"):
        pose(adult, standing(adult), {"left_hand": (0.0, 0.0, 1.0)}, seconds=0.0)
