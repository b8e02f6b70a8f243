"""How large recordings are and how long they take: `python -m benchmarks.recording`."""

from __future__ import annotations

import argparse
import base64
import time
from dataclasses import replace

import numpy as np

import poise
from poise.core import rotations
from poise.phases.travel import repeat
from poise.show.arrays import unpack
from poise.show.pack import pack
from poise.show.page import BUNDLE, has_page
from poise.show.scene import Scene


def show(name: str, scene: Scene) -> None:
    began = time.process_time()
    data = pack(scene)
    packed = time.process_time() - began
    began = time.process_time()
    seen = unpack(data)
    worst, turned = 0.0, 0.0
    for k, track in enumerate(scene.tracks):
        if track.skinned is None:
            places, turns = seen.poses(k)
            worst = max(worst, float(np.linalg.norm(places - track.positions, axis=2).max()))
            turned = max(turned, float(rotations.angle_between(turns, track.orientations).max()))
    read = time.process_time() - began
    page = BUNDLE.stat().st_size if has_page() else 0
    whole = (page + len(base64.b64encode(data))) / 1e6
    print(
        f"{name:32s}{len(scene.times):6d} frames, {len(scene.tracks[0].character.bodies):3d} bodies, "
        f"{len(scene.tracks)} tracks: pack {len(data) / 1e6:6.3f} MB, page {whole:6.3f} MB, packed in {packed:5.2f} s, "
        f"read in {read:5.2f} s, error {1000 * worst:.3f} mm, {np.degrees(turned):.4f} deg"
    )


def ten_seconds() -> Scene:
    """10 s of a shoved walk over rough ground, its reference as a ghost, analyzed, with plots."""
    walk = poise.load(poise.sample_path("walk"))
    ten = repeat(walk, 2).frames(np.arange(600))
    pushes = [poise.Push("chest", (300.0, 0.0, 0.0), 2.0)]
    return poise.scene_of(poise.simulate(ten, pushes=pushes, terrain=poise.Terrain.rough(0.2, 7)))


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    walk = poise.load(poise.sample_path("walk"))
    character = poise.Character.fit(walk)
    show("10 s, ghost, physics, plots", ten_seconds())
    long = repeat(walk, 46)
    times = np.arange(36_000) / 120.0
    long = replace(long, source=None).resampled(times)
    show("5 min at 120 Hz, physics, plots", poise.scene_of_motion(long, character, name="long walk"))


if __name__ == "__main__":
    main()
