"""Recordings of tracked creatures: `python scripts/show_creatures.py OUT [NAME …]`.

A page (`.html`) and a strip of stills (`.png`) each. Clips come from the folder POISE_MOTIONS and the second set beside
it; a show whose clip is missing is left out, and said. A backward walk is the bundled walk, played backwards.

- `walk`, `turn`, `backward`, `throw`, `sneak`, `dance`: the raptor follows these clips.
- `alien`: the alien walks on its hands.
- `roles`: the alien twice: its tails swing; its tails follow the actor's arms.
- `style`: the raptor twice: sad, and proud.
- `five`: one actor drives raptor, alien, cat, round-headed child and fox at once.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

import poise
from poise.body.character import Character, fit
from poise.core.motion import Motion
from poise.phases.travel import direction_of_travel
from poise.show import record
from poise.show.motion_scene import scene_of_motions
from poise.tracking import parse_roles, track

MOTIONS = Path(os.environ.get("POISE_MOTIONS", "motions"))
CMU = MOTIONS / "bvh" / "cmu_3dsmax"
CLIPS: dict[str, tuple[Path, float | None, tuple[float, float]]] = {
    "turn": (MOTIONS / "bvh" / "accad" / "Female1_B15_WalkTurnAround180.bvh", None, (3.0, 8.0)),
    "throw": (MOTIONS / "bvh" / "other" / "bvh_example.bvh", None, (0.0, 2.4)),
    "sneak": (CMU / "143_41.bvh", 60.0, (1.0, 6.0)),
    "dance": (MOTIONS.parent / "motions2" / "deepmimic" / "humanoid3d_dance_b.txt", None, (0.0, 2.5)),
}
"""File, true rate [1/s], and part [s] of each clip."""
SIDE_BY_SIDE = ("roles", "style", "five")
SHOWS = ("walk", *CLIPS, "backward", "alien", *SIDE_BY_SIDE)


def clip_of(name: str) -> Motion:
    """The actor of a show; the bundled walk where it names no clip."""
    walk = poise.load(poise.sample_path("walk")).cut(0.0, 4.0)
    if name in CLIPS:
        path, fps, part = CLIPS[name]
        return poise.load(path, fps=fps).cut(*part)
    if name == "backward":
        return replace(walk, translations=walk.translations[::-1], rotations=walk.rotations[::-1])
    return walk


def creatures(folder: Path) -> dict[str, tuple[Character, Motion]]:
    """Characters and what they are drawn from: the project's own, and the fox of the Khronos samples."""
    scripts = Path(__file__).parent
    sys.path.insert(0, str(scripts))
    made = runpy.run_path(str(scripts / "make_creatures.py"))
    found = {}
    for name, creature in ((name, build()) for name, build in made["CREATURES"].items() if name not in made["CLIPS"]):
        path = folder / f"{name}.glb"
        made["write"](creature, path)
        found[name] = made["set_up"](creature, path), poise.load(path)
    fox = MOTIONS / "gltf" / "Fox.glb"
    if fox.exists():
        drawn = poise.load(fox, clip="Survey", height=0.7)
        found["fox"] = fit(drawn), drawn
    return found


def show(name: str, all_creatures: Mapping[str, tuple[Character, Motion]]) -> tuple[list[Motion], list[str]]:
    """What moves in a show, from left to right, and what it is called."""
    actor = clip_of(name)
    theirs = fit(actor)
    runs: list[tuple[str, str, str, dict[str, float]]] = [(name, "raptor", "", {})]
    if name == "alien":
        runs = [(name, "alien", "", {})]
    elif name == "roles":
        stingers = "tail<-left_arm, tail_2<-right_arm"
        runs = [("tails swing", "alien", "", {}), ("tails follow the arms", "alien", stingers, {})]
    elif name == "style":
        runs = [("sad", "raptor", "", {"sad": 1.0}), ("proud", "raptor", "", {"proud": 1.0})]
    elif name == "five":
        runs = [(who, who, "", {}) for who in all_creatures]
    out, titles, way = list[Motion](), list[str](), 0.0
    for k, (title, who, roles, style) in enumerate(runs):
        character, drawn = all_creatures[who]
        given = parse_roles(roles, character, theirs)
        result = track(actor, character, actor_character=theirs, roles=given, drawn=drawn, style=style)
        report = result.report
        print(f"{name}, {title}: {'complete' if report['complete'] else 'fell'}, root held in "
              f"{report['fallback_steps']} of {report['steps']} steps")  # fmt: skip
        moved = result.motion.translations.copy()
        way = direction_of_travel(result.motion) if k == 0 else way
        aside = 1.3 * (k - 0.5 * (len(runs) - 1))  # as seen from the front
        moved[:, 0, :2] += aside * np.array([-np.sin(way), np.cos(way)])
        out.append(replace(result.motion, translations=moved))
        titles.append(title)
    return out, titles


def main() -> None:
    """Make the shows that are asked for, or all."""
    parser = argparse.ArgumentParser(description="Record tracked creatures.")
    parser.add_argument("folder", metavar="OUT", type=Path, help="folder for the recordings")
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"default: {', '.join(SHOWS)}")
    wanted = parser.parse_args()
    if unknown := set(wanted.names) - set(SHOWS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; give {', '.join(SHOWS)}.")
    folder = wanted.folder
    folder.mkdir(parents=True, exist_ok=True)
    everybody = creatures(folder)
    for name in wanted.names or SHOWS:
        if name in CLIPS and not CLIPS[name][0].exists():
            print(f"{name}: {CLIPS[name][0]} is missing; left out")
            continue
        motions, titles = show(name, everybody)
        scene = scene_of_motions(motions, names=titles, physics=False)
        record(scene, folder / f"{name}.html")
        width, camera, stills = (720, "front", 4) if name in SIDE_BY_SIDE else (320, "quarter", 8)
        times = np.linspace(0.1, scene.times[-1], stills)
        record(scene, folder / f"{name}.png", width=width, height=320, times=times, camera=camera)


if __name__ == "__main__":
    main()
