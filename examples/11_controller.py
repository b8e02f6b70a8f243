"""Your own controller: from goals to motion in a few lines, no clip needed

A figure stands, then moves its weight over its left foot and waves, then stands again. Each state of its controller is
a list of goals with weights, and a condition that is true while the state applies. A second state machine, inside one
of the states, waves. The step problem is that of the filter. No external force acts at the root, so only the feet carry
the figure.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.body.posing import body_positions
from poise.goals.conditions import For
from poise.goals.objectives import ComHeight, ComOver, Land, Pose, Reach, Still, Upright
from poise.show import Camera, record
from poise.synthesis import ControlState, Part, StateMachine, SynthesisResult, save_controller, synthesize, table

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
SIDE, HIGH, LOW = 0.35, 1.55, 1.25
"""Where the hand waves: to its side, and between two heights [m]."""


def controller() -> StateMachine:
    """Stand, lean over the left foot while the right hand waves, stand."""
    arm = ("right_shoulder", "right_elbow", "right_hand")
    keep = (Upright(0.1), Upright(0.2, ("pelvis",)), ComHeight(0.3), Pose(0.005, without=arm), Still(0.001), Land(0.2))
    rest = Pose(0.005, only=arm)

    def wave(name: str, height: float, other: str) -> ControlState:
        reach = Reach(1.0, "right_hand", (0.25, -SIDE, height), horizon=0.3)
        return ControlState(name, (reach,), For(0.4), (other,))

    waving = StateMachine("waving", (wave("up", HIGH, "down"), wave("down", LOW, "up")))
    return StateMachine(
        "wave",
        (
            ControlState("stand", (ComOver(0.3), *keep, rest), For(0.5), ("lean",)),
            ControlState(
                "lean", (ComOver(1.0, "left", horizon=0.35), *keep), For(2.0), ("rest",), inside=(Part(waving),)
            ),
            ControlState("rest", (ComOver(0.3), *keep, rest)),
        ),
    )


def main() -> None:
    """Run it, print its table, draw it."""
    machine = controller()
    print(table(machine))
    result = synthesize(machine, seconds=3.0)
    OUT.mkdir(exist_ok=True)
    save_controller(machine, OUT / "wave.toml")
    record(poise.scene_of(result), OUT / "wave.png", times=[0.4, 0.9, 1.3, 1.9, 2.9], camera=Camera("quarter"))
    print(f"See {OUT / 'wave.png'}; {OUT / 'wave.toml'} is the same controller for `poise synthesize`.")
    check(result, body_positions(result.character, result.q)[:, result.character.body_index("right_hand")])


def check(result: SynthesisResult, hand: np.ndarray) -> None:
    """It stands, its weight went to the left, its hand waved, and nobody held it."""
    assert result.report["fell"] is None
    assert [v.name for v in result.visits if " / " not in v.name] == ["stand", "lean", "rest"]
    com = result.trace.com[:, 0]
    assert com[200:250, 1].mean() - com[0, 1] > 0.04, "over the left foot"
    lean = hand[100:250, 2]
    assert lean.min() > 1.1
    assert lean.max() - lean.min() > 0.1, "waves"
    assert result.report["root_residual_max"]["force_N"] < 1e-6
    assert result.report["penetration_max_m"] < 5e-4


if __name__ == "__main__":
    main()
