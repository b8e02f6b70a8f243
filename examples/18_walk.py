"""Walk

A controller made from one captured walk leads a figure round corners that no clip goes round. It blends the cycles of
the clip by velocity and phase. A shove changes its velocity; the filter adds what the body does about it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
CORNERS = ((2.5, 0.0), (2.5, 2.0))


def main() -> None:
    """Walk along the corners, then the same with a shove."""
    OUT.mkdir(exist_ok=True)
    examples = poise.locomotion.build([poise.load(poise.sample_path("walk"))])
    print(f"{examples.count} cycles from one clip; walks from {examples.walk:.2f} m/s")
    for note in examples.notes:
        print(f"  {note}")
    calm = poise.locomotion.walk(examples, poise.locomotion.Toward(CORNERS, examples.walk), 20.0)
    poise.save(calm, OUT / "corners.bvh")

    character = poise.Character.fit(examples.motion)
    shove = poise.Push("chest", (0.0, 250.0, 0.0), start=1.5, duration=0.2)
    ahead = poise.locomotion.scripted([(0.0, examples.walk, 0.0, 0.0)])
    shoved = poise.locomotion.walk(examples, ahead, 4.0, pushes=[shove], mass=character.mass)
    result = poise.simulate(shoved, pushes=[shove])
    poise.save(result.motion, OUT / "shoved.bvh")
    weights = poise.load_preset("recommended").settings()
    print(f"See {OUT}. Settings used:")
    for name, value in weights.items():
        if name.startswith("weights."):
            print(f"  {name:<24}{value:g}")
    check(calm, shoved, result.motion)


def check(calm: poise.Motion, shoved: poise.Motion, result: poise.Motion) -> None:
    """It arrives; the shove moves its path aside for good, and the filter follows."""
    there = calm.world[0][-1, 0, :2]
    aside, followed = shoved.world[0][-1, 0, 1], result.world[0][-1, 0, 1]
    print(f"arrived at {there.round(2)}; shoved {aside:.2f} m aside, filtered {followed:.2f} m")
    assert np.linalg.norm(there - CORNERS[-1]) < 0.3
    assert aside > 0.15
    assert abs(followed - aside) < 0.15


if __name__ == "__main__":
    main()
