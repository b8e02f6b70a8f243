"""Edits on clips of different rigs: what a check finds anew afterwards, and how far skins stretch more than before.

`python -m benchmarks.edit_rigs [FILE[#CLIP] …] [--edits ground,retime]`: without names, clips of both motion sets, of
rigs as different as can be. A clip is edited by `ground`, `retime` (1.3 times slower), `scale` (1.5 times as tall),
`ballistic`, `spin` and `mend`. A finding is new where it fails and was not there, or was not as bad;
what follows from the edit and is said by it, with what avoids it, is counted apart. A skin is torn
where an edge of it gets more than a quarter longer than in any frame before the edit.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.clips import MOTIONS
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.edit import Edited, ballistic, ground, mend, retime, scale, spin
from poise.edit.report import TORN, skin_stretch
from poise.io import load

LONGEST = 12.0
"""Longer clips are cut [s]."""
EDITS: dict[str, Callable[[Motion], Edited]] = {
    "ground": ground,
    "retime": lambda m: retime(m, factor=1.3),
    "scale": lambda m: scale(m, 1.5),
    "ballistic": ballistic,
    "spin": spin,
    "mend": mend,
}
OTHERS = MOTIONS.with_name("motions2")
RIGS = (
    "motions/bvh/cmu_3dsmax/143_32.bvh", "motions/bvh/cmu_motionbuilder/02_01.bvh",
    "motions/bvh/accad/Female1_D6_CartWheel.bvh", "motions/bvh/other/bvh_example.bvh", "motions/asf_amc/02_03.amc",
    "motions/asf_amc/02_04.amc", "motions/deepmimic/humanoid3d_spinkick.txt", "motions/quadruped/hopturn.txt",
    "motions/gltf/Fox.glb#Run", "motions/gltf/cesium_man.gltf", "motions/gltf/greenman.glb#2_move",
    "motions2/bvh/walk01.bvh", "motions2/bvh/makehuman_walk1.bvh", "motions2/bvh/mhcmu_example.bvh",
    "motions2/bvh/fair1_zombie.bvh", "motions2/bvh/Female1_A11_CrawlForward.bvh", "motions2/bvh/cart.bvh",
    "motions2/asf_amc/HDM_bd_hopBothLegs1hops_001_120.amc", "motions2/asf_amc/11_01.amc",
    "motions2/gltf/KnightCharacter.glb#Run", "motions2/gltf/KnightCharacter.glb#Jump",
    "motions2/gltf/Med_MovementAdvanced.glb#Sneaking", "motions2/gltf/Med_MovementBasic.glb#Jump_Full_Long",
    "motions2/gltf/animals_Bull.glb#Walk", "motions2/gltf/animals_Alpaca.glb#Gallop_Jump",
    "motions2/gltf/boxman.glb#sprint", "motions2/gltf/cyberpunk_Character.glb#Walk",
    "motions2/gltf/cyberpunk_Character.glb#Run", "motions2/gltf/cyberpunk_Enemy_2Legs.glb#Jump",
    "motions2/gltf/dinosaurs_Velociraptor.glb#Velociraptor_Run",
    "motions2/gltf/dinosaurs_Stegosaurus.glb#Stegosaurus_Walk", "motions2/gltf/easy_enemies_Frog.glb#Frog_Jump",
    "motions2/gltf/easy_enemies_Spider.glb#Spider_Walk", "motions2/gltf/mech_Leela.glb#Walk",
    "motions2/gltf/mech_Leela.glb#Jump", "motions2/gltf/lizardman.gltf#walk", "motions2/gltf/Alien_Scolitex.gltf",
    "motions2/gltf/character.glb#walk", "motions2/gltf/enemy.glb#walk",
)  # fmt: skip


def clip_of(name: str) -> Motion:
    """A clip by its path, below the folder of the sets or anywhere, with #CLIP where a file holds several."""
    path, _, clip = name.partition("#")
    path = Path(path) if Path(path).exists() else MOTIONS.parent / path
    key = int(clip) if clip.isdigit() else clip or None
    motion = load(path, clip=key)
    return motion.cut(0.0, LONGEST) if motion.duration > LONGEST else motion


def row(motion: Motion, name: str) -> tuple[list[str], list[str], float | None, str, float]:
    """New findings, those that the edit calls asked for, stretch of the skin, why it was refused, seconds of work."""
    began = time.process_time()
    try:
        edited = EDITS[name](motion)
    except PoiseError as error:
        return [], [], None, str(error), time.process_time() - began
    seconds = time.process_time() - began
    data = edited.report.data
    new, wanted = (
        [f"{f['name']} {f['where']}: {f['sentence']}" for f in data.get("check", {}).get(key, [])]
        for key in ("new", "asked")
    )
    size = data["changed"].get("size", 1.0)
    torn = None if edited.motion is motion else skin_stretch(motion, edited.motion, size)
    return new, wanted, torn, "", seconds


def main() -> None:
    """Print a line for each clip and edit, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", default=list(RIGS))
    parser.add_argument("--edits", default=",".join(EDITS))
    asked = parser.parse_args()
    found, said, torn = (dict.fromkeys(asked.edits.split(","), 0) for _ in range(3))
    clips = 0
    warnings.simplefilter("ignore")
    for file in asked.files:
        try:
            motion = clip_of(file)
        except PoiseError as error:
            print(f"{file}: not read: {error}", flush=True)
            continue
        clips += 1
        print(f"{file}: {motion.frame_count} frames, {motion.skeleton.joint_count} joints", flush=True)
        for name in found:
            new, wanted, stretch, why, seconds = row(motion, name)
            found[name] += bool(new)
            said[name] += bool(wanted)
            torn[name] += stretch is not None and stretch > TORN
            skin = "" if stretch is None else f", skin +{100.0 * stretch:.1f} %"
            print(f"  {name:<10}{seconds:5.1f} s, {len(new)} new{skin}{', refused: ' + why if why else ''}", flush=True)
            for sentence in new:
                print(f"      {sentence}")
            for sentence in wanted:
                print(f"      follows, and the edit says so: {sentence}")
    print(f"{clips} clips; with new findings: {found}; with some that follow and are said: {said};")
    print(f"with torn skins (+{100.0 * TORN:.0f} %): {torn}")


if __name__ == "__main__":
    main()
