"""Read and draw

Read a motion with everything its file says: skeleton, rate, unit and the original channels. Writing it again gives
the same numbers. Then fit a character without parameters: capsules from bones, masses from their lengths, limbs from
geometry. Both are drawn as a strip of stills.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import poise
from poise.show import Camera, record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def main() -> None:
    """Read, fit, write, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk"))
    character = poise.Character.fit(motion)
    frames = f"{motion.frame_count} frames, {motion.duration:.1f} s at {motion.fps:.0f} Hz"
    print(f"{motion.skeleton.joint_count} joints, {frames}")
    print(f"{character.mass:.0f} kg, a leg of {character.leg_length:.2f} m, {character.nv} degrees of freedom")
    for limb in character.limbs:
        bodies = [character.bodies[b] for b in limb.bodies]
        print(f"  {limb.name:<10} {sum(b.mass for b in bodies):5.1f} kg  {', '.join(b.name for b in bodies)}")

    # nothing disturbs it: this is the clip itself, as a run that can be drawn
    result = poise.simulate(motion.cut(0.0, 1.25), character)
    poise.save(result.motion, OUT / "walk_again.bvh")
    strip = OUT / "walk.png"
    record(
        poise.scene_of(result, ghost=False),
        strip,
        width=240,
        height=360,
        times=[0.0, 0.4, 0.8, 1.2],
        camera=Camera("quarter"),
    )
    print(f"See {strip}.")
    print("Settings used:")
    for name, value in result.report["settings"].items():
        if name.startswith("weights."):
            print(f"  {name:<24}{value:g}")
    check(result, strip)


def check(result: poise.SimulationResult, strip: Path) -> None:
    """What was read is what is written, to the last printed digit; and there is a picture."""
    again = poise.load(OUT / "walk_again.bvh")
    assert again.skeleton.names == result.source.skeleton.names
    assert np.abs(again.rotations - result.source.rotations).max() < 1e-9
    assert np.abs(again.translations - result.source.translations).max() < 1e-9
    lines = poise.sample_path("walk").read_text(encoding="utf-8").splitlines()
    rewritten = (OUT / "walk_again.bvh").read_text(encoding="utf-8").splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("Frame Time")) + 1
    assert rewritten[first:] == lines[first : first + again.frame_count]
    with Image.open(strip) as picture:
        assert np.asarray(picture).std() > 5.0, "the picture is empty"


if __name__ == "__main__":
    main()
