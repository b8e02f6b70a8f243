"""Time of the edits of one flight of 30 frames: `python -m benchmarks.edit`.

Process CPU time, the least of many runs, on one core. *correction*: from a clip whose poses are known to the corrected
root, which is what a slider repeats. *whole edit*: with borders, legs, measures before and after, and the report.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
from collections.abc import Callable

import numpy as np

from benchmarks.clips import MOTIONS
from poise.analysis import center_of_mass
from poise.analysis.angular_momentum import Tumble, momentum_between, turns_for
from poise.body import fit
from poise.core import rotations
from poise.edit import ballistic, path_between, spin
from poise.edit.legs import move_root, turn_root
from poise.io import load

FIRST, LAST = 112, 142
"""Thirty frames of the flight of CMU 02_04, a high jump at 120 Hz, 31 joints."""


def least(run: Callable[[], object], times: int = 60) -> float:
    """Least CPU time of a call [ms]; the first one, which may compile, is left out."""
    run()
    taken = []
    for _ in range(times):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return 1000.0 * min(taken)


def rows() -> list[tuple[str, float]]:
    """Each edit and its time [ms]."""
    motion = load(MOTIONS / "asf_amc" / "02_04.amc")
    character = fit(motion, masses="auto")
    clip = motion.frames(np.arange(FIRST - 24, LAST + 25))
    a, b = 24, 24 + LAST - FIRST
    clip.world  # noqa: B018  known before: the clip is on the screen
    com = center_of_mass(clip, character)
    t = clip.times[a : b + 1] - clip.times[a]

    def turn() -> object:
        tumble = Tumble.of(clip, character, a, b)
        seen = momentum_between(tumble)
        turns, _, _ = turns_for(tumble, seen.mean(axis=0), (0,))
        turn = np.tile(rotations.IDENTITY, (clip.frame_count, 1))
        turn[a : b + 1] = turns
        return turn_root(clip, 0, turn, com)

    def move() -> object:
        path = path_between(com[a], com[b], float(t[-1]))
        shift = np.zeros((clip.frame_count, 3))
        shift[a : b + 1] = path.position(t) - center_of_mass(clip, character)[a : b + 1]
        return move_root(clip, 0, shift)

    return [
        ("angular momentum, correction", least(turn)),
        ("angular momentum, whole edit", least(lambda: spin(clip, character, flights=[(a, b)]))),
        ("ballistic, correction", least(move)),
        (
            "ballistic, whole edit, timing kept",
            least(lambda: ballistic(clip, character, flights=[(a, b)], keep="timing")),
        ),
        ("ballistic, whole edit, ends kept", least(lambda: ballistic(clip, character, flights=[(a, b)], gravity=7.0))),
    ]


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print("A flight of 30 frames, 31 joints:")
    for name, milliseconds in rows():
        print(f"  {name:<38}{milliseconds:8.2f} ms")


if __name__ == "__main__":
    main()
