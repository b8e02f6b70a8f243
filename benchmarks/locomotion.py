"""Walking at velocities asked for: speed reached, sliding of standing feet against the clips' own, time of a retrieval.

Tuned on CMU subject 143 and the fox; all other figures were only measured.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.clips import MOTIONS
from poise.body.character import Character, fit
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.io import load
from poise.locomotion import Locomotion, build, retrieve, scripted, walk
from poise.locomotion.cycles import clips_of, over_ground
from poise.phases.points import pelvis, runs

MORE = MOTIONS.parent / "motions2"
BVH, AMC = MOTIONS / "bvh", MOTIONS / "asf_amc"
ANIMAL = ("Idle", "Walk", "Gallop")
FIGURES: dict[str, tuple[tuple[Path, tuple[str | int | None, ...], float | None], ...]] = {
    "143 (tuned)": tuple((BVH / f"cmu_3dsmax/143_{n}.bvh", (None,), 60.0) for n in ("32", "01", "04", "40")),
    "fox (tuned)": ((MOTIONS / "gltf/Fox.glb", (0, 1, 2), None),),
    "CMU 02": ((AMC / "02_01.amc", (None,), None), (AMC / "02_03.amc", (None,), None)),
    "ACCAD Female1": tuple(
        (BVH / f"accad/Female1_{n}.bvh", (None,), None) for n in ("A01_Stand", "B15_WalkTurnAround180")
    ),
    "figure eight": ((BVH / "other/AV_8Walk_Meredith_HVHA_Rep1.bvh", (None,), None),),
    "cyberpunk": (
        (
            MORE / "gltf/cyberpunk_Character.glb",
            tuple(
                f"CharacterArmature|{n}" for n in ("Idle_Neutral", "Walk", "Run", "Run_Back", "Run_Left", "Run_Right")
            ),
            None,
        ),
    ),
    "bull": ((MORE / "gltf/animals_Bull.glb", tuple(f"AnimalArmature|{n}" for n in ANIMAL), None),),
    "alpaca": ((MORE / "gltf/animals_Alpaca.glb", tuple(f"AnimalArmature|{n}" for n in ANIMAL), None),),
}


def clips(name: str) -> list[Motion]:
    """The clips of a figure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [load(path, clip=clip, fps=rate) for path, names, rate in FIGURES[name] for clip in names]


def slide(motion: Motion, character: Character) -> float:
    """Mean horizontal speed of each foot's slowest point in the middle half of its stances [m/s]; nan without any."""
    clip = clips_of([motion.resampled(np.arange(0.0, motion.duration + 1e-9, 1.0 / 60.0))], character)[0]
    found = []
    positions, orientations = clip.motion.world
    for leg, points in enumerate(clip.feet):
        places = [positions[:, j] + rotations.rotate(orientations[:, j], offset) for j, offset in points]
        pace = np.linalg.norm(np.gradient(np.stack(places), clip.motion.times, axis=1)[..., :2], axis=2).min(axis=0)
        for a, b in runs(clip.legs[:, leg]):
            if a > 0 and b < len(pace) - 1 and b - a >= 4:
                quarter = (b - a) // 4
                found.append(pace[a + quarter : b - quarter + 1])
    return float(np.concatenate(found).mean()) if found else float("nan")


def speed(motion: Motion) -> float:
    """Mean horizontal speed of the pelvis along its way [m/s]."""
    place = motion.world[0][:, pelvis(motion.skeleton), :2]
    return float(np.linalg.norm(np.diff(place, axis=0), axis=1).sum()) / motion.duration


def reached(
    examples: Locomotion, velocity: tuple[float, float, float], settle: float, lasts: float
) -> tuple[float, Motion]:
    """Mean speed along the path of the pelvis, or its turning, over that asked; and the walk without its start."""
    x, y, turn = velocity
    row = (0.0, float(np.hypot(x, y)), float(np.arctan2(y, x)), turn)
    motion = walk(examples, scripted([row]), settle + lasts)
    cut = motion.cut(settle, settle + lasts)
    place = cut.world[0][:, pelvis(cut.skeleton), :2]
    if row[1] == 0.0:
        turns = cut.world[1][:, pelvis(cut.skeleton)]
        yaw = rotations.to_rotation_vector(rotations.multiply(turns[1:], rotations.conjugate(turns[:-1])))[:, 2].sum()
        return float(yaw) / (turn * cut.duration), motion
    # steps sway: the path is that of the mean over a cycle
    count = max(1, round(1.0 / (float(np.median(examples.rates)) * cut.dt)))
    kernel = np.ones(count) / count
    smooth = np.stack([np.convolve(place[:, k], kernel, "valid") for k in range(2)], axis=1)
    length = float(np.linalg.norm(np.diff(smooth, axis=0), axis=1).sum())
    return length / (row[1] * (len(smooth) - 1) * cut.dt), cut


def microseconds(examples: Locomotion, count: int = 3000) -> float:
    """Least time of a retrieval [µs]: other programs only make it longer."""
    best, velocity = np.inf, np.array([examples.walk, 0.0, 0.2])
    for k in range(count):
        begun = time.perf_counter()
        retrieve(examples, velocity, 0.001 * k)
        best = min(best, time.perf_counter() - begun)
    return 1e6 * best


def main() -> None:
    """Print the bars."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", nargs="*", default=list(FIGURES), help="of: " + ", ".join(FIGURES))
    figures = parser.parse_args().figures
    print(f"{'figure':<16}{'cycles':>7}{'retrieval':>11}{'asked':>16}{'reached':>9}{'slide':>8}{'own':>8}{'ratio':>7}")
    for name in figures:
        motions = clips(name)
        try:
            examples = build(motions)
        except PoiseError as error:
            print(f"{name:<16}not built: {error}", flush=True)
            continue
        character = fit(examples.motion)
        grounded = [over_ground(m) for m in motions]
        own = [slide(m, character) for m in grounded]
        goes = np.array([speed(m) for m in grounded]) > 0.3 * examples.walk
        slow, fast, leg = examples.walk, examples.fastest, examples.leg_length
        asked = {
            "walk": (slow, 0.0, 0.0),
            "run": (fast, 0.0, 0.0),
            "between": (0.5 * (slow + fast), 0.0, 0.0),
            "slow": (0.6 * slow, 0.0, 0.0),
            "curve": (slow, 0.0, 0.6 * slow / leg),
            "in place": (0.0, 0.0, 0.6 * slow / leg),
            "aside": (0.0, 0.4 * slow, 0.0),
            "back": (-0.6 * slow, 0.0, 0.0),
        }
        took = microseconds(examples)
        for what, velocity in asked.items():
            part, motion = reached(examples, velocity, 3.0 * leg**0.5, 5.0 * leg**0.5)
            # against the clips' own: running ones for runs, else the calmest that walks
            base = np.nanmax(own) if what in ("run", "between") else np.nanmin(np.array(own)[goes])
            slides = slide(motion, character)
            print(
                f"{name:<16}{examples.count:>7}{took:>8.0f} µs{what:>16}{100 * part:>7.0f} %{slides:>8.3f}{base:>8.3f}"
                f"{slides / base:>7.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
