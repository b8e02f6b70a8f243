"""Your own objective in the filter

The filter turns a shoved head with the rest of the body. Here the head keeps the turn it has in the clip: one more line
in the filter's list, written as a function of the step and the reference and passed with `Options`. A servo makes the
line: it draws the head after the undisturbed figure, which it knows from the reference. Where nothing disturbs, it
asks for what the reference does, so the clip still comes back unchanged. The weight says how much it matters.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.body.posing import body_poses
from poise.core import rotations
from poise.filter.reference import ReferenceFrame
from poise.physics import State, model_of
from poise.show import Camera, record
from poise.step import Objective, Step, follow
from poise.step.quantities import BodyAngularAcceleration

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
SHOVE = poise.Push("chest", force=(0.0, 300.0, 0.0), start=0.6, duration=0.2)
WEIGHTS = (0.0, 3.0, 100.0)


def head_turn(result: poise.SimulationResult) -> float:
    """Largest angle between the head and the clip's head in the world [deg]."""
    head = result.character.body_index("head")
    turns = [body_poses(result.character, q)[1][:, head] for q in (result.q, result.reference_q)]
    return float(np.degrees(rotations.angle_between(*turns)).max())


def main() -> None:
    """Run with three weights, compare, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
    character = poise.Character.fit(motion)
    undisturbed = State(model_of(character))

    def run(weight: float, pushes: list[poise.Push]) -> poise.SimulationResult:
        def steady_head(step: Step, reference: ReferenceFrame) -> list[Objective]:
            actor = undisturbed.at(reference.q, reference.v)
            quantity = BodyAngularAcceleration("head")
            return [follow(step, quantity, actor, reference.a, frequency=15.0, weight=weight, label="steady head")]

        return poise.simulate(motion, character, pushes=pushes, options=poise.Options(objectives=(steady_head,)))

    calm = run(WEIGHTS[-1], [])
    results = {weight: run(weight, [SHOVE]) for weight in WEIGHTS}
    print(f"{'weight':>8}{'head turned':>14}{'body shoved':>14}")
    for weight, result in results.items():
        moved = 100 * result.report["events"][0]["com_excursion_max_m"]
        print(f"{weight:>8g}{head_turn(result):>13.1f}°{moved:>11.1f} cm")
    strip = OUT / "steady_head.png"
    scenes = [poise.scene_of(result, title=f"weight {weight:g}") for weight, result in results.items()]
    record(scenes, strip, width=240, height=360, times=[0.5, 0.8, 1.0, 1.3], camera=Camera("quarter"))
    print(f"See {strip}.")
    check(calm, [head_turn(result) for result in results.values()])


def check(calm: poise.SimulationResult, turns: list[float]) -> None:
    """The more it weighs the less the head turns; and an undisturbed clip is unchanged."""
    assert calm.report["deviation"]["joint_angle_max_deg"] < 1e-6
    assert turns[2] < turns[1] < turns[0]
    assert turns[2] < 0.3 * turns[0]


if __name__ == "__main__":
    main()
