"""The fast path against the readable one, step by step over pushed and uneven runs."""

from __future__ import annotations

import argparse

import numpy as np

import poise
import poise.filter.filter as solving
import poise.step
from poise.filter.filter import Given, SimulatedCharacter


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    worst, steps = 0.0, 0
    original = solving.attempt

    def both(step, objectives, constraints, *rest, **options):  # type: ignore[no-untyped-def]
        nonlocal worst, steps
        tried = original(step, objectives, constraints, *rest, **options)
        fast = tried.result
        plain = poise.step.solve_step(step, objectives, constraints, readable=True, costs=False)
        if fast is not None:
            worst = max(worst, float(np.abs(fast.a - plain.a).max() / max(1.0, np.abs(plain.a).max())))
            steps += 1
        return tried

    def begin(self: SimulatedCharacter, now: Given) -> bool:
        """No step in one call of the core, which would not come through `attempt`."""
        usual(self, now)
        return False

    usual = SimulatedCharacter.begin
    solving.attempt, SimulatedCharacter.begin = both, begin
    try:
        motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
        for ground in ("flat", "slope:20", "rough:0.3,1", "stairs:0.2,0.6"):
            push = poise.Push("chest", (0.0, 300.0, 0.0), 1.0, 0.2)
            poise.simulate(motion, terrain=poise.Terrain.parse(ground), pushes=[push])
    finally:
        solving.attempt, SimulatedCharacter.begin = original, usual
    if not steps:
        raise SystemExit("No step was compared: the filter goes another way than `solving.attempt`.")
    print(f"## Fast against readable: {worst:.1e} relative in a over {steps} steps (bar 1e-6, stretch 1e-9)")


if __name__ == "__main__":
    main()
