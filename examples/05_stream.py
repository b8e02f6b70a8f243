"""Stream

A game does not know the future. The filter takes one pose at a time and answers for the pose before it, so it looks
ahead by one pose only. It estimates contacts from height and downward speed. A push can come at any time, here from a
key that a player might press. Without a push, every pose comes back unchanged.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def stream(character: poise.Character, poses: np.ndarray, dt: float, pressed: set[int]) -> np.ndarray:
    """Poses as the filter answers them; a shove to the left for every pose number at which the key is pressed."""
    filter = poise.QuasiPhysicalFilter(character, dt=dt)
    answers = []
    for number, pose in enumerate(poses):
        if number in pressed:
            filter.push(poise.Push("chest", force=(300.0, 0.0, 0.0), start=filter.time, duration=0.2))
        simulated = filter.step(pose)
        if simulated is not None:  # one call behind
            answers.append(simulated.copy())
    answers.append(filter.flush().copy())
    counts = filter.figure.counts
    print(f"{len(answers)} poses, {counts.solves} solved, {counts.failures} failures")
    return np.array(answers)


def main() -> None:
    """Run calm and shoved, print, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
    character = poise.Character.fit(motion)
    poses = poise.motion_to_q(character, motion)
    calm = stream(character, poses, motion.dt, pressed=set())
    shoved = stream(character, poses, motion.dt, pressed={30})
    moved = np.linalg.norm(shoved[:, :2] - poses[:, :2], axis=1)
    for number in range(0, len(moved), 20):
        bar = "#" * round(200 * moved[number])
        print(f"  {number * motion.dt:4.2f} s  pelvis moved {100 * moved[number]:5.1f} cm {bar}")
    np.savetxt(OUT / "pelvis.csv", np.column_stack([motion.times, moved]), header="time [s], moved [m]", delimiter=",")
    print(f"See {OUT / 'pelvis.csv'}. Settings used:")
    for name, value in poise.load_preset("recommended").settings().items():
        if name.startswith("weights."):
            print(f"  {name:<24}{value:g}")
    check(poses, calm, shoved)


def check(poses: np.ndarray, calm: np.ndarray, shoved: np.ndarray) -> None:
    """Undisturbed: the same poses. Shoved: nothing before the key, then a visible way aside, then back."""
    assert len(calm) == len(poses)
    assert np.abs(calm - poses).max() < 1e-8
    moved = np.linalg.norm(shoved[:, :2] - poses[:, :2], axis=1)
    assert moved[:29].max() < 1e-8
    assert 0.05 < moved.max() < 0.3
    assert moved[-1] < 0.03


if __name__ == "__main__":
    main()
