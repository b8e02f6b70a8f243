"""What a synthesizer does at its limits: goals out of reach, absurd forces, starts inside things, balls from behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.core.errors import InvalidValue
from poise.filter.forces import Push
from poise.goals.objectives import Reach
from poise.goals.surroundings import Ball, Movement, Scene, Surface
from poise.synthesis.behaviors import BEHAVIORS
from poise.synthesis.run import synthesize, world_of
from poise.synthesis.world import World

WALL = Surface("wall", (0.7, 0.0, 1.2), (-1.0, 0.0, 0.0), (2.0, 2.4))


def test_a_must_that_is_out_of_reach_gives_way_before_the_muscles_do() -> None:
    def ask(world: World) -> None:
        world.figures[0].constraints["far"] = Reach(1.0, "right_hand", (3.0, -0.3, 1.2))

    result = synthesize("balance", seconds=0.4, on_step=ask)
    report = result.report
    assert report["stopped"] is None
    assert report["seconds"] == 0.4
    assert set(report["slack"]) == {"goal: reach"}, "torque limits and ground hold"
    assert report["slack"]["goal: reach"] > 100.0, "of 3 m within 0.1 s nearly all is missed"
    assert report["solver"]["fallbacks"] == {"goals made soft": 39}
    assert report["effort_max"] < 1.0
    hand = [result.motion.world[0][f, result.motion.skeleton.names.index("RightHand")] for f in (0, -1)]
    assert 0.1 < float(hand[1][0] - hand[0][0]) < 0.8, "it goes there, at no more than 2 m/s"


def test_a_must_within_reach_is_met_exactly() -> None:
    def ask(world: World) -> None:
        hand = np.array([0.25, -0.3, 1.1])
        world.figures[0].constraints["near"] = Reach(1.0, "right_hand", tuple(hand.tolist()), horizon=0.3)

    result = synthesize("balance", seconds=1.5, on_step=ask)
    assert result.report["slack"].get("goal: reach", 0.0) < 1e-6
    assert result.report["fell"] is None


def test_an_absurd_push_ends_in_one_sentence_about_it() -> None:
    result = synthesize("step", pushes=[Push("chest", (1e7, 0.0, 0.0), 0.05, 0.1)], seconds=0.5)
    told = result.report["stopped"]
    assert not result.is_complete
    assert "the push of 1e+07 N on chest at 0.05 s came just before: push less hard" in told
    assert not [word for word in ("daqp", "flag", "constraint", "..") if word in told], told
    assert result.report["torque_max_Nm"] < 1000.0, "what could not be followed is not kept"
    assert np.isfinite(result.q).all()


def box(place: tuple[float, float, float], half: float) -> list[Surface]:
    """The six faces of a cube."""
    faces: list[Surface] = []
    for axis in np.concatenate([np.eye(3), -np.eye(3)]):
        x, y, z = (np.array(place) + half * axis).tolist()
        nx, ny, nz = axis.tolist()
        faces.append(Surface(f"box {len(faces)}", (x, y, z), (nx, ny, nz), (2.0 * half, 2.0 * half)))
    return faces


@pytest.mark.parametrize(
    ("scene", "told"),
    [
        (Scene((Surface("floor"), replace(WALL, origin=(0.0, 0.0, 1.2)))), "inside 'wall'"),
        (Scene((Surface("floor", (0.0, 0.0, 1.0)),)), r"inside 'floor': its .* is \d+ mm deep"),
        (Scene((Surface("floor"), *box((0.0, 0.0, 1.5), 2.0))), "inside 'box .*': its .* is [0-9]{3,4} mm deep"),
        (Scene(balls=(Ball("ball", (0.0, 0.0, 1.3), (0.0, 0.0, 0.0), radius=0.1),)), "inside 'ball'"),
    ],
    ids=["wall", "floor", "in a box", "ball"],
)
def test_a_start_inside_a_thing_is_refused(scene: Scene, told: str) -> None:
    with pytest.raises(InvalidValue, match=told):
        world_of(BEHAVIORS["balance"].setup(), scene=scene)


def test_a_ball_that_comes_out_of_a_wall_from_behind_is_not_in_it() -> None:
    """A wall pushes from the side it faces: the ball passes, and nothing counts as deep inside."""
    ball = Ball("ball", (1.4, 0.9, 1.2), (-10.0, 0.0, 0.0), at=0.0, radius=0.1, mass=0.5)
    result = synthesize("balance", scene=Scene((Surface("floor"), WALL), balls=(ball,)), seconds=0.2)
    assert result.balls[0].places[-1, 0] == pytest.approx(1.4 - 10.0 * 0.2, abs=0.01), "nothing slowed it"
    assert result.report["penetration_max_m"] < 1e-3


def test_a_ball_from_the_front_bounces_no_deeper_than_its_skin() -> None:
    ball = Ball("ball", (0.2, 0.9, 1.2), (10.0, 0.0, 0.0), at=0.0, radius=0.1, mass=0.5)
    result = synthesize("balance", scene=Scene((Surface("floor"), WALL), balls=(ball,)), seconds=0.2)
    assert result.balls[0].places[:, 0].max() == pytest.approx(0.6, abs=1e-3)


@pytest.mark.long
def test_what_was_deepest_is_named() -> None:
    """Two walls that close on whoever stands between them: nobody is that thin."""
    ahead, back = (Movement((0.0, 0.1), ((0.0, 0.0, 0.0), (-s * 0.68, 0.0, 0.0))) for s in (1.0, -1.0))
    behind = replace(WALL, name="wall behind", origin=(-0.7, 0.0, 1.2), normal=(1.0, 0.0, 0.0), movement=back)
    scene = Scene((Surface("floor"), replace(WALL, movement=ahead), behind))
    report = synthesize("balance", scene=scene, seconds=0.1).report
    assert report["penetration_max_m"] > 0.01
    deepest = report["penetration_deepest"]
    assert deepest["figure"] == "figure"
    assert deepest["object"] in ("wall", "wall behind")
    assert 0.05 < deepest["time"] < 0.1
