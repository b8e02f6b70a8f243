"""`poise check`: which faults it catches, which good clips it fails, how long it takes.

`python -m benchmarks.check [planted] [alarms] [time] [--seeds 0-3] [--clips FOLDER]`; all three without a word.

*planted*: the faults of `tests/planted.py`; caught is what fails under the right name with a frame where the fault is.
*alarms*: every clip of both sets that fails, beside what a person saw there; failures nobody has looked at are named.
*time*: all real clips, and peak memory for one clip of 45 s at 120 Hz, each a process of its own. Wall time needs two
free cores; the processor time of all processes together is printed beside it. Memory is POSIX only.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from tests.planted import FAULTS, Planted, analyzed, faults_in, findings, is_caught

import poise
from benchmarks.clips import MOTIONS
from poise.check.air import why_no_flight
from poise.check.clip import check_files, clip_files
from poise.check.profile import load_profile
from poise.check.whole import pace
from poise.core.motion import Motion

OTHERS = MOTIONS.with_name("motions2")
SIXTY = "60 Hz data under a label of 120 Hz, as the manifest says"
FROG = "the body of a drawn run goes down by 27 cm in 0.14 s: 4.4 g"
LOOKED_AT = {
    "humanoid3d_backflip.txt": "both feet slide 12 cm forward as it crouches",
    "humanoid3d_roll.txt": "one frame of the root stands out; the foot slides back as it gets up",
    "131_01.bvh": "thumb flips by half a turn; the wrist turns by 55° in a frame",
    "scaled_131_01.bvh": "as 131_01",
    "Female1_B15_WalkTurnAround180.bvh": "the left thigh flips about its own axis in one frame",
    "143_01.bvh": SIXTY,
    "143_04.bvh": SIXTY,
    "143_05.bvh": SIXTY,
    "143_24.bvh": SIXTY,
    "143_31.bvh": SIXTY,
    "143_32.bvh": SIXTY,
    "143_40.bvh": SIXTY,
    "143_41.bvh": SIXTY,
    "05_20-daz.bvh": "a rest pose in front; the hip stands out in one frame",
    "02_01.bvh": "a rest pose in front",
    "05_20-mb.bvh": "a rest pose in front; the left knee bends forward for three frames",
    "HDM_bd_kickLFront1Reps_001_120.amc": "the standing foot rises 13 cm in the kick, and the body does not fall",
    "141_20.bvh": "the left hip and ankle flip against each other",
    "144_01.bvh": "hips, knees and ankles flip some forty times",
    "Med_MovementBasic.glb#Jump_Full_Long": "hangs in the air, the tips of its feet 6 cm up, for a second",
    "KnightCharacter.glb#Death": "the feet roll through the floor, the skin by 15 cm of legs 1.9 m long",
    "cyberpunk_Character.glb#Kick_Right": "the skin of the standing foot is 8 cm up for half a second",
    "cyberpunk_Enemy_2Legs.glb#Jump": "seven drawn frames that fall with 2.6 g",
    "ultimate_space_Astronaut_FinnTheFrog-transformed.glb#Run": FROG,
    "ultimate_space_Astronaut_FinnTheFrog-transformed.glb#Run_Gun": FROG,
    "ultimate_space_Astronaut_FinnTheFrog-transformed.glb#Run_Gun_Shoot": FROG,
}
"""Clips that fail, and what a person saw in their pictures or numbers that is wrong there."""
GOOD = {
    "Med_MovementBasic.glb#Jump_Full_Short": "a hop that sways by 3 cm; nobody would mind",
    "fair1_zombie.bvh": "a foot comes down on its toes and slides 5 cm as it does: a shuffle",
}
"""Clips that fail and look good: false alarms."""

RUNS = 3
LEAST_FLIGHT = 0.3
"""A flight that faults are planted in lasts so long [s]."""
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024.0, done.returncode)
"""


def measured(*words: str) -> tuple[float, float, float]:
    """Wall time, processor time [s] and the largest process [MB] of one check."""
    began = time.perf_counter()
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "poise", "check", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    wall = time.perf_counter() - began
    busy, peak, code = (float(x) for x in done.stdout.split())
    if code not in (0.0, 1.0):
        raise RuntimeError(f"poise check ended with {code:.0f}")
    return wall, busy, peak


def long_clip(path: Path) -> None:
    """45 s at 120 Hz, 31 joints: a real walk back and forth in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = poise.load(MOTIONS / "bvh" / "cmu_3dsmax" / "143_32.bvh")
        back_and_forth = np.concatenate([np.arange(motion.frame_count), np.arange(motion.frame_count - 2, 0, -1)])
        index = np.resize(back_and_forth, 5400)
        times = np.arange(len(index), dtype=np.float64) * motion.dt
        poise.save(Motion(motion.skeleton, times, motion.translations[index], motion.rotations[index]), path)


def faults_of(folder: Path) -> Planted:
    """The faults, and the clips of a folder that pass a check and that each can be planted in.

    A walk is what has a pace; a flight lasts 0.3 s at least, and is one that a body can make.
    """
    walks, jumps = [], []
    for path in clip_files([folder]):
        name = str(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                clip = analyzed(name)
                passes = not any(f.fails for f in findings(clip.motion))
            except poise.PoiseError as error:
                print(f"   not read: {error}")
                continue
        if passes and pace(clip) is not None:
            walks.append(name)
        elif passes and clip.flights:
            longest = max(clip.flights, key=lambda f: f.duration)
            if longest.duration >= LEAST_FLIGHT and not why_no_flight(clip, longest):
                jumps.append(name)
    print(f"   {len(walks)} walks, {len(jumps)} clips with a flight")
    return faults_in(walks, jumps, jumps)


def planted(seeds: range, folder: Path | None) -> None:
    """Print how many of each planted fault are caught."""
    caught = cases = 0
    print(f"## Planted faults, seeds {seeds.start}–{seeds.stop - 1} (bar 95 %)")
    faults = FAULTS if folder is None else faults_of(folder)
    for number, (fault, (plant, names)) in enumerate(faults.items()):
        missed, count = [], 0
        draws = seeds[:1] if "speed" in fault else seeds  # nothing of these is drawn
        for place, name in enumerate(names):
            for seed in draws:
                try:
                    planted = plant(name, np.random.default_rng([number, place, seed]))
                except LookupError:
                    continue  # no place for it
                count += 1
                if not is_caught(planted):
                    missed.append(f"{Path(name).stem} {seed}")
        caught, cases = caught + count - len(missed), cases + count
        told = f"; missed: {', '.join(missed)}" if missed else ""
        print(f"   {fault:<20} {count - len(missed)} of {count}{told}", flush=True)
    print(f"   all: {caught} of {cases}, {100.0 * caught / max(cases, 1):.1f} %")


def alarms() -> None:
    """Print the clips of both sets that fail, and what a person says of them."""
    reports = check_files(clip_files([MOTIONS, OTHERS]), load_profile("realistic"), jobs=None)
    judged = [r for r in reports if r.verdict in ("pass", "fail")]
    false, unknown, past = 0, 0, set(LOOKED_AT) | set(GOOD)
    print(f"## Clips of both sets that fail, of {len(judged)} (bar: at most 2 % look good)")
    for report in judged:
        if report.verdict == "pass":
            continue
        path = Path(report.file)
        if "nc" in path.parts:
            name = "a clip that may not be named"
        else:
            name = path.name + (f"#{report.clip.rpartition('|')[2]}" if report.clip else "")
        seen = LOOKED_AT.get(name)
        past.discard(name)
        false, unknown = false + (name in GOOD), unknown + (seen is None and name not in GOOD)
        told = f"FALSE: {GOOD[name]}" if name in GOOD else seen or "NOT LOOKED AT YET"
        print(f"   {name}: {', '.join(dict.fromkeys(f.name for f in report.findings if f.fails))}: {told}")
    print(f"   false: {false} of {len(judged)}, {100.0 * false / len(judged):.1f} %; not looked at: {unknown}")
    if past:
        print(f"   these no longer fail; take them out of the lists: {', '.join(sorted(past))}")


def seconds() -> None:
    """Print how long checks take, and how much memory."""
    measured(str(poise.sample_path("walk")))  # warm compile cache
    best = min((measured(str(MOTIONS)) for _ in range(RUNS)), key=lambda m: m[0])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    print(f"## Check of all real clips: {best[0]:.1f} s on {cores} cores, {best[1]:.1f} s of work (bar 8, stretch 4)")
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "page.html")
        drawn = min((measured(str(MOTIONS), "--html", page, "--overwrite") for _ in range(RUNS)), key=lambda m: m[0])
        print(f"   with the page: {drawn[0]:.1f} s, {drawn[1]:.1f} s of work")
        path = Path(folder) / "long.bvh"
        long_clip(path)
        wall, _, peak = measured(str(path))
        print(f"## Check of 45 s at 120 Hz: peak memory {peak:.0f} MB, {wall:.1f} s (bar 400, stretch 250)")


def drawn(text: str) -> range:
    """The seeds of "0-3": the first and one past the last; "7" is that one alone."""
    first, _, end = text.partition("-")
    return range(int(first), int(end) if end else int(first) + 1)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"planted": lambda: planted(drawn(asked.seeds), asked.clips), "alarms": alarms, "time": seconds}
    parser.add_argument("parts", nargs="*", default=list(parts), metavar="PART", help=", ".join(parts))
    parser.add_argument("--seeds", default="0-3", help="first and one past the last seed of planted faults")
    parser.add_argument("--clips", type=Path, help="plant them in the clips of this folder instead")
    asked = parser.parse_args()
    for part in asked.parts:
        if part not in parts:
            parser.error(f"no part {part}. There are: {', '.join(parts)}")
        parts[part]()


if __name__ == "__main__":
    main()
