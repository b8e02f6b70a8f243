"""Weights of goals learned from parts of captured clips, and tried on parts that the search has not seen."""

from __future__ import annotations

import argparse

import poise
from benchmarks.locomotion import MORE
from poise.synthesis.learning import learn

CLIPS = {
    "reach": (("bvh/fair1_dab.bvh", 2.07, 3.6), ("bvh/fair1_dab.bvh", 9.27, 11.27)),
    "walk": ((poise.sample_path("walk"), 0.0, 2.2), ("../motions/asf_amc/02_01.amc", 0.0, 2.8)),
}
"""Learned from, and held out: file, first and last second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    print(f"## Learned weights: CMA-ES, seed {wanted.seed}, {wanted.tries} tries")
    for title, parts in CLIPS.items():
        motion, other = (poise.load(MORE / name).cut(start, end) for name, start, end in parts)
        found = learn(motion, held_out=other, tries=wanted.tries, seed=wanted.seed)
        print(f"{title}: {parts[0]}: {found.before} at the start, {found.after} with the weights found")
        print(f"{title}, held out: {parts[1]}: {found.held_before} at the start, {found.held_after} with them")
        print("   ", ", ".join(f"{name} {value:g}" for name, value in found.weights.items()), flush=True)


if __name__ == "__main__":
    main()
