"""Generated skeletons with random motion, each fitted, described and pushed, on grounds by turns:
`python -m benchmarks.skeletons`.

Each must end in a result of finite numbers or in one sentence. What fails is named by its number, so that it can be
made again: `--first NUMBER --count 1`.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from tests.generated_skeletons import generated_motion

import poise
from poise.cli.describe import describe_motion
from poise.core.errors import MotionWarning, PoiseError

GROUNDS = ("flat", "slope:15", "stairs:0.17,0.3", "rough:0.3,7", "step:0.06")
"""Which of them a skeleton is pushed on, its number says."""


def run_one(seed: int) -> str:
    """Fit, describe and simulate the skeleton of this number; the sentence of a refusal, empty if there is none.

    Raises:
        AssertionError: if a number is not finite.
        Exception: whatever else must never happen.
    """
    motion = generated_motion(seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.MotionWarning)
            describe_motion(motion, Path(f"{seed}.npz"))
        character = poise.Character.fit(motion)
        numbers = [[*b.offset, *b.com, *b.inertia.ravel(), b.mass] for b in character.bodies]
        assert np.isfinite(numbers).all(), "a body is not finite"
        if motion.frame_count < 3:
            return ""
        force = (2.0 * character.mass, 0.0, 0.0)
        push = poise.Push(character.bodies[0].name, force, start=0.3 * motion.duration, duration=0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", poise.MotionWarning)
            terrain = None if (ground := GROUNDS[seed % len(GROUNDS)]) == "flat" else poise.Terrain.parse(ground)
            result = poise.simulate(motion, character, terrain=terrain, pushes=[push])
        assert np.isfinite(result.motion.rotations).all(), "a rotation is not finite"
        assert np.isfinite(result.motion.translations).all(), "a place is not finite"
    except PoiseError as error:
        return str(error)
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    wanted = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", MotionWarning)  # a reading that is told to be doubtful
    refused: Counter[str] = Counter()
    failed: dict[str, list[int]] = defaultdict(list)
    end, seed = time.monotonic() + wanted.seconds, wanted.first
    while seed < wanted.first + wanted.count and time.monotonic() < end:
        try:
            if sentence := run_one(seed):
                refused[" ".join(sentence.split()[:6])] += 1
        except Exception as error:  # what must never happen is counted, with where it happened
            place = [f for f in traceback.extract_tb(error.__traceback__) if "poise" in f.filename][-1]
            failed[f"{type(error).__name__} {str(error)[:60]} at {place.filename}:{place.lineno}"].append(seed)
        seed += 1
    print(
        f"skeletons {wanted.first} to {seed - 1}: {seed - wanted.first} fitted, described and pushed, "
        f"{sum(refused.values())} refused in words, {sum(map(len, failed.values()))} failed   bar 10000, 0 failed"
    )
    for what, times in refused.most_common(8):
        print(f"  {times} × {what} …")
    for what, seeds in failed.items():
        print(f"  FAILED {len(seeds)} × {what}: {seeds[:5]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
