"""Time of a step of motion from goals: `python -m benchmarks.goals`.

Everything between one state and the next is counted: contact candidates, observations, lists, all solves of the step,
and its record; nothing listens. Time of the processor; each run is made three times.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

from poise.core.typing import Array
from poise.filter.forces import Push
from poise.synthesis import find_behavior
from poise.synthesis.run import world_of

STEPS, LEFT_OUT = 200, 20
RUNS = (
    ("standing", "balance", None, "bar 1.5, stretch 0.7"),
    ("pushed by 300 N, stepping", "step", Push("chest", (300.0, 0.0, 0.0), 0.5, 0.1), ""),
    ("two figures, standing", "hands", None, "bar 4, stretch 2"),
    (
        "two figures, pushed by 80 N, taking hands",
        "hands",
        Push("chest", (80.0, 0.0, 0.0), 0.5, 0.1),
        "bar 4, stretch 2",
    ),
)


def times(behavior: str, push: Push | None) -> Array:
    """Milliseconds of each step, the first ones left out."""
    world = world_of(find_behavior(behavior).setup(None, is_literal=False))
    if push is not None:
        world.push(push)
    out = []
    for _ in range(STEPS):
        began = time.thread_time()
        world.step()
        out.append(1e3 * (time.thread_time() - began))
    return np.array(out[LEFT_OUT:])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, behavior, push, bar in RUNS:
        every = np.min([times(behavior, push) for _ in range(3)], axis=0)  # the same steps each time
        print(f"{name}: median {np.median(every):.2f} ms, least {every.min():.2f}   {bar}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
