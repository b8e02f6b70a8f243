"""Point goals

A hand slides along a rail while the figure walks, and stays on it when the figure is pushed away: plausible inverse
kinematics. The place of the hand is one more line of the same problem. Shoulder, spine and legs do what the arm cannot
do, and the push still moves the body. A hard goal holds to the millimeter; a soft one gives way.

Source: [Levine2012]_ section 5 names such constraints as a use of the method. Targets may be constant or move with
time, several hold at once, and goals that contradict each other are reported.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.body.posing import body_positions
from poise.show import Camera, record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
SHOVE = poise.Push("chest", force=(-300.0, 0.0, 0.0), start=1.4, duration=0.2)


def main() -> None:
    """Run free, soft and hard, compare, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.6)
    character = poise.Character.fit(motion)
    free = poise.simulate(motion, character, pushes=[SHOVE])

    hand = body_positions(character, free.reference_q)[:, character.body_index("left_hand")]
    start, end = hand[0], hand[-1]

    def on_rail(time: float) -> np.ndarray:
        """Beside the hip, at the walk's own mean speed."""
        way = start + (end - start) * time / motion.duration
        return np.array([way[0] + 0.08, way[1], 1.0])

    def run(is_hard: bool) -> poise.SimulationResult:
        options = poise.Options(goal_points=(poise.PointGoal("left_hand", on_rail, is_hard=is_hard),))
        return poise.simulate(motion, character, pushes=[SHOVE], options=options)

    results = {"free": free, "soft": run(False), "hard": run(True)}
    rail = np.array([on_rail(t) for t in free.times])
    off = {name: distance(result, rail)[free.times >= 1.0].max() for name, result in results.items()}
    print(f"{'hand':<8}{'off the rail':>14}{'body shoved':>14}{'joints up to':>14}")
    for name, result in results.items():
        event = result.report["events"][0]
        moved = 100 * event["com_excursion_max_m"]
        print(f"{name:<8}{1000 * off[name]:>11.1f} mm{moved:>11.1f} cm{event['joint_peak_deg']:>13.1f}°")
    strip = OUT / "rail.png"
    scenes = [poise.scene_of(results[name], title=name) for name in ("free", "hard")]
    record(scenes, strip, width=240, height=360, times=[1.3, 1.6, 1.9, 2.6], camera=Camera("quarter"))
    print(f"See {strip}. Settings used:")
    for name, value in results["hard"].report["settings"].items():
        if name.startswith("weights.") or name == "goal.point_frequency":
            print(f"  {name:<24}{value:g}")
    check(results, off)


def distance(result: poise.SimulationResult, rail: np.ndarray) -> np.ndarray:
    """How far the left hand is from the rail's point [m], shape (S,)."""
    hand = body_positions(result.character, result.q)[:, result.character.body_index("left_hand")]
    return np.linalg.norm(hand - rail, axis=1)


def check(results: dict[str, poise.SimulationResult], off: dict[str, float]) -> None:
    """The hard goal holds through the shove, the soft one nearly; and the body is still shoved."""
    assert off["free"] > 0.1
    assert off["hard"] < min(0.01, off["soft"]) <= off["soft"] < 0.5 * off["free"]
    assert results["hard"].report["events"][0]["com_excursion_max_m"] > 0.04
    assert results["hard"].report["solver"]["fallbacks"]["goal_soft"] == 0


if __name__ == "__main__":
    main()
