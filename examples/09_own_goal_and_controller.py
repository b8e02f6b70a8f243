"""Your own goal and controller

No clip: a figure stands, moves its weight over its left foot, waves, and stands again. A controller is a state machine;
each state is a list of goals with weights, and a condition that is true while it applies. A machine inside one waves.
One goal is made here: the head looks at the hand. A goal is a dataclass that returns objectives for what it observes.
The step problem is that of the filter, without any external force at the root.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import poise
from poise.body.posing import body_poses
from poise.core import rotations
from poise.goals.conditions import For
from poise.goals.goal import Goal, axis_toward
from poise.goals.objectives import ComHeight, ComOver, Land, Pose, Reach, Still, Upright
from poise.goals.observation import Observation
from poise.show import Camera, record
from poise.step import Objective
from poise.synthesis import ControlState, Part, StateMachine, SynthesisResult, synthesize, table

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


@dataclass(frozen=True)
class LookAt(Goal):
    """The head turns its face to another body of the figure."""

    weight: float
    body: str

    def objectives(self, observed: Observation) -> list[Objective]:
        figure, index = observed.body, observed.body.character.body_index
        head, other = (observed.state.body_place(figure.root + index(name)) for name in ("head", self.body))
        face = np.cross(figure.left_axes[index("head")], figure.up_axes[index("head")])
        there = (other - head) / np.linalg.norm(other - head)
        return [axis_toward(observed, index("head"), face, there, self.weight, 0.2, "look at")]


def controller() -> StateMachine:
    """Stand, lean over the left foot while the right hand waves, stand."""
    arm = ("right_shoulder", "right_elbow", "right_hand")
    keep = (Upright(0.1), Upright(0.2, ("pelvis",)), ComHeight(0.3), Pose(0.005, without=arm), Still(0.001), Land(0.2))
    rest = Pose(0.005, only=arm)

    def wave(name: str, height: float, other: str) -> ControlState:
        return ControlState(name, (Reach(1.0, "right_hand", (0.25, -0.35, height), horizon=0.3),), For(0.4), (other,))

    waving = Part(StateMachine("waving", (wave("up", 1.55, "down"), wave("down", 1.25, "up"))))
    lean, stand = (ComOver(1.0, "left", horizon=0.35), *keep, LookAt(0.3, "right_hand")), (ComOver(0.3), *keep, rest)
    last = (ControlState("lean", lean, For(2.0), ("rest",), inside=(waving,)), ControlState("rest", stand))
    return StateMachine("wave", (ControlState("stand", stand, For(0.5), ("lean",)), *last))


def check(result: SynthesisResult) -> None:
    """It stands, its weight went to the left, its hand waved, its head turned, and nothing held it."""
    assert result.report["fell"] is None
    assert result.report["root_residual_max"]["force_N"] < 1e-6
    assert [v.name for v in result.visits if " / " not in v.name] == ["stand", "lean", "rest"]
    assert result.trace.com[200:250, 0, 1].mean() - result.trace.com[0, 0, 1] > 0.04, "over the left foot"
    places, turns = body_poses(result.character, result.q)
    head, hand = (result.character.body_index(name) for name in ("head", "right_hand"))
    assert np.ptp(places[100:250, hand, 2]) > 0.1, "waves"
    assert np.degrees(rotations.angle_between(turns[240, head], turns[0, head])) > 15.0, "looks"


if __name__ == "__main__":
    print(table(machine := controller()))
    result = synthesize(machine, seconds=3.0)
    OUT.mkdir(exist_ok=True)
    record(poise.scene_of(result), OUT / "wave.png", times=[0.4, 0.9, 1.3, 1.9, 2.9], camera=Camera("quarter"))
    check(result)
