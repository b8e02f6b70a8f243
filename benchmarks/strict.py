"""How far a walk comes on its own feet: `python -m benchmarks.strict`.

Undisturbed walks on flat ground with `--physicality strict`, where no force holds the root. A walk is complete when the
root never turns by more than 40° from the clip's own and never sinks by more than 0.3 legs below it.
Where feet land and how far the center of mass leans was chosen on the walks of `TUNED`; nothing was chosen on those of
`OTHERS`, two-legged figures of which most walk in place, on a floor that moves. Last, pushes of 0.2 s at the
chest from four sides on the bundled walk; nothing was chosen on pushes.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

from benchmarks.alive import scene
from benchmarks.clips import MOTIONS, lasting
from poise.body import fit
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.typing import Array, Flags
from poise.filter.forces import Push
from poise.filter.quasi_physical import Physicality
from poise.filter.report import SimulationResult
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.io import load

MORE = Path(os.environ.get("POISE_MOTIONS_2", MOTIONS.parent / "motions2"))
TUNED: tuple[tuple[Path, str, float | None, str | None], ...] = (
    (MOTIONS, "asf_amc/02_01.amc", None, None),
    (MOTIONS, "bvh/accad/Female1_B15_WalkTurnAround180.bvh", None, None),
    (MOTIONS, "bvh/cmu_3dsmax/143_32.bvh", 60.0, None),
    (MOTIONS, "bvh/cmu_3dsmax/143_40.bvh", 60.0, None),
    (MOTIONS, "bvh/cmu_3dsmax/143_41.bvh", 60.0, None),
    (MOTIONS, "bvh/cmu_motionbuilder/02_01.bvh", None, None),
    (MOTIONS, "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh", None, None),
    (MOTIONS, "deepmimic/humanoid3d_walk.txt", None, None),
    (MOTIONS, "gltf/cesium_man.gltf", None, None),
    (MORE, "bvh/141_25.bvh", 60.0, None),
    (MORE, "bvh/fair1_zombie.bvh", None, None),
    (MORE, "bvh/makehuman_walk1.bvh", None, None),
    (MORE, "bvh/walk01.bvh", None, None),
    (MORE, "deepmimic/walker_0walk_forward.txt", None, None),
)
OTHERS: tuple[tuple[Path, str, float | None, str | None], ...] = (
    (MOTIONS, "bvh/cmu_3dsmax/131_01.bvh", None, None),
    (MORE, "bvh/mhcmu_example.bvh", None, None),
    (MORE, "gltf/KnightCharacter.glb", None, "HumanArmature|Walking"),
    (MORE, "gltf/Med_MovementAdvanced.glb", None, "Rig_Medium|Walking_Backwards"),
    (MORE, "gltf/Med_MovementBasic.glb", None, "Rig_Medium|Walking_A"),
    (MORE, "gltf/Med_MovementBasic.glb", None, "Rig_Medium|Walking_B"),
    (MORE, "gltf/Med_MovementBasic.glb", None, "Rig_Medium|Walking_C"),
    (MORE, "gltf/character.glb", None, "walk"),
    (MORE, "gltf/cyberpunk_Character.glb", None, "CharacterArmature|Walk"),
    (MORE, "gltf/cyberpunk_Enemy_2Legs.glb", None, "CharacterArmature|Walk"),
    (MORE, "gltf/dinosaurs_Velociraptor.glb", None, "Armature|Velociraptor_Walk"),
    (MORE, "gltf/enemy.glb", None, "walk"),
    (MORE, "gltf/lizardman.gltf", None, "walk"),
    (MORE, "gltf/mech_Leela.glb", None, "Walk"),
    (MORE, "gltf/mech_Leela.glb", None, "Walk_Tall"),
)
"""Folder, file, true frame rate [1/s] where the file states another, and clip where it has several."""
TILT, SUNK = np.radians(40.0), 0.3


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    warnings.simplefilter("ignore")
    _walk("tuned on", TUNED)
    _walk("nothing chosen on", OTHERS)
    _pushes()


def _walk(label: str, walks: tuple[tuple[Path, str, float | None, str | None], ...]) -> None:
    """Run the walks, of which file, rate and clip are given, and print how far each comes and how many are complete."""
    print(f"{label}:")
    complete, ran = 0, 0
    for folder, name, rate, clip in walks:
        path = folder / name
        called = f"{path.stem} {clip.split('|')[-1]}" if clip else path.stem
        try:
            motion = load(path, fps=rate, clip=clip)
            character = fit(motion)
            run = simulate(motion, character, options=Options(physicality=Physicality(is_strict=True)))
        except (OSError, PoiseError) as error:
            print(f"{called:40s} not run: {error}")
            continue
        ran += 1
        tilt, falls = _falls(run)
        complete += not falls.any()
        when = f"falls at {run.times[falls.argmax()]:.2f} s of" if falls.any() else "complete,"
        way = np.linalg.norm((run.q - run.reference_q)[:, :2], axis=1)[~falls].max()
        print(
            f"{called:40s} {when} {run.times[-1]:.2f} s; until then at most {100.0 * way:.0f} cm off, "
            f"{np.degrees(tilt[~falls].max()):.0f}° tilted"
        )  # fmt: skip
    print(f"{label}: {complete} of {ran} walks complete ({100.0 * complete / max(ran, 1):.0f} %)")


def _pushes() -> None:
    """Push the bundled walk, and print how many pushes it stays up after, for three seconds."""
    walk = scene("walk", 1)
    motion = lasting(walk.motion, walk.starts[0] + 3.0)
    for newtons in (100.0, 200.0, 300.0):
        up = 0
        for way in (walk.ahead, -walk.ahead, walk.aside, -walk.aside):
            push = Push("chest", walk.force(newtons, way), walk.starts[0], 0.2)
            options = Options(physicality=Physicality(is_strict=True))
            run = simulate(motion, walk.character, pushes=[push], options=options)
            up += not _falls(run)[1].any()
        print(f"walk pushed with {newtons:.0f} N: stays up after {up} of 4 pushes")


def _falls(run: SimulationResult) -> tuple[Array, Flags]:
    """How far the root is turned from the clip's own [rad], and whether it is fallen, at each time, shapes (S,)."""
    tilt = rotations.angle_between(run.reference_q[:, 3:7], run.q[:, 3:7])
    sunk = (run.reference_q - run.q)[:, 2]
    return tilt, (tilt > TILT) | (sunk > SUNK * run.character.leg_length)


if __name__ == "__main__":
    main()
