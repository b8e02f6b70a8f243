"""Log to Rerun

A pushed walk in the viewer of Rerun (https://rerun.io), beside whatever else your program logs there: bones of the
figure and of the clip, the push as an arrow, and how far the chest leaves the clip over time. Needs the package
`rerun-sdk` (`pip install rerun-sdk`). Open the file that this writes with `rerun push.rrd`.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import poise
from poise.body.posing import body_poses
from poise.core.typing import Array, Flags

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
SHOVE = poise.Push("chest", force=(300.0, 0.0, 0.0), start=0.6, duration=0.2)
METERS_PER_NEWTON = 0.002


def rerun() -> Any:
    """The package, or what to do without it."""
    try:
        return import_module("rerun")
    except ImportError as error:
        raise SystemExit("This example logs to Rerun. Install it with: pip install rerun-sdk") from error


def main() -> None:
    """Simulate, log, check."""
    rr = rerun()
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 2.0)
    character = poise.Character.fit(motion)
    result = poise.simulate(motion, character, pushes=[SHOVE])
    file = OUT / "push.rrd"
    rr.init("poise_push")
    rr.save(file)
    rr.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    parents = np.array([body.parent for body in character.bodies])
    chest = character.roles["chest"]
    figure, clip = body_poses(character, result.q)[0], body_poses(character, result.reference_q)[0]
    away = np.linalg.norm(figure[:, chest] - clip[:, chest], axis=1)
    for name, places, color in (("figure", figure, (230, 140, 40)), ("clip", clip, (90, 140, 220))):
        for k, time in enumerate(result.times):
            rr.set_time("time", duration=float(time))
            bones = np.stack([places[k, parents[1:]], places[k, 1:]], axis=1)
            rr.log(name, rr.LineStrips3D(bones, colors=[color], radii=0.02))
    for k, time in enumerate(result.times):
        rr.set_time("time", duration=float(time))
        is_pushed = SHOVE.start <= time < SHOVE.start + SHOVE.duration
        arrow = METERS_PER_NEWTON * np.array([SHOVE.force] if is_pushed else np.zeros((0, 3)))
        rr.log("push", rr.Arrows3D(vectors=arrow, origins=figure[k, [chest]][: len(arrow)]))
        rr.log("chest_from_clip_m", rr.Scalars(away[k]))
    rr.disconnect()
    print(f"{len(result.times)} moments in {file}; open it with: rerun {file}")
    check(file, away, result.times < SHOVE.start)


def check(file: Path, away: Array, is_before: Flags) -> None:
    """The file holds something; until the push the chest is where the clip has it, then it gives way."""
    assert file.stat().st_size > 10_000
    assert away[is_before].max() < 1e-6
    assert away.max() > 0.05


if __name__ == "__main__":
    main()
