"""How far a walk comes on its own feet: `python -m benchmarks.strict`.

Undisturbed walks on flat ground with `--physicality strict`, where no force holds the root. A walk is complete when the
root never turns by more than 40° from the clip's own and never sinks by more than 0.3 legs below it.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.clips import MOTIONS
from poise.body import fit
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.filter.quasi_physical import Physicality
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.io import load

MORE = Path(os.environ.get("POISE_MOTIONS_2", MOTIONS.parent / "motions2"))
WALKS: tuple[tuple[Path, str, float | None], ...] = (
    (MOTIONS, "asf_amc/02_01.amc", None),
    (MOTIONS, "bvh/accad/Female1_B15_WalkTurnAround180.bvh", None),
    (MOTIONS, "bvh/cmu_3dsmax/143_32.bvh", 60.0),
    (MOTIONS, "bvh/cmu_3dsmax/143_40.bvh", 60.0),
    (MOTIONS, "bvh/cmu_3dsmax/143_41.bvh", 60.0),
    (MOTIONS, "bvh/cmu_motionbuilder/02_01.bvh", None),
    (MOTIONS, "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh", None),
    (MOTIONS, "deepmimic/humanoid3d_walk.txt", None),
    (MOTIONS, "gltf/cesium_man.gltf", None),
    (MORE, "bvh/141_25.bvh", 60.0),
    (MORE, "bvh/fair1_zombie.bvh", None),
    (MORE, "bvh/makehuman_walk1.bvh", None),
    (MORE, "bvh/walk01.bvh", None),
    (MORE, "deepmimic/walker_0walk_forward.txt", None),
)
"""Folder, file and true frame rate [1/s] where the file states another."""
TILT, SUNK = np.radians(40.0), 0.3


def main() -> None:
    warnings.simplefilter("ignore")
    complete, ran = 0, 0
    for folder, name, rate in WALKS:
        try:
            motion = load(folder / name, fps=rate)
            character = fit(motion)
            run = simulate(motion, character, options=Options(physicality=Physicality(is_strict=True)))
        except (OSError, PoiseError) as error:
            print(f"{Path(name).stem:40s} not run: {error}")
            continue
        ran += 1
        tilt = rotations.angle_between(run.reference_q[:, 3:7], run.q[:, 3:7])
        sunk = (run.reference_q - run.q)[:, 2]
        falls = (tilt > TILT) | (sunk > SUNK * character.leg_length)
        complete += not falls.any()
        when = f"falls at {run.times[falls.argmax()]:.2f} s of" if falls.any() else "complete,"
        way = np.linalg.norm((run.q - run.reference_q)[:, :2], axis=1)[~falls].max()
        print(
            f"{Path(name).stem:40s} {when} {run.times[-1]:.2f} s; until then at most {100.0 * way:.0f} cm off, "
            f"{np.degrees(tilt[~falls].max()):.0f}° tilted"
        )  # fmt: skip
    print(f"{complete} of {ran} walks complete ({100.0 * complete / max(ran, 1):.0f} %)")


if __name__ == "__main__":
    main()
