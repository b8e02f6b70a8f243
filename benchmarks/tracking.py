"""Actors on the project's own creatures, clean and with noise: `python -m benchmarks.tracking [--clips TEXT] …`.

Ten clips (walks, turns, sneak, sidestep, gestures, dance) × creatures × noise seeds. Of these clips, settings were
tuned on the other halves of sneaking and sideways alone. Noise is white, in every frame of the actor: 5 mm on the
root, and turns that move the farthest joint below each by 2.5 mm. It needs the second set of motions beside the first.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import runpy
import sys
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clips import MOTIONS
from poise.body import Character, fit
from poise.body.posing import apply_deviation, body_poses, motion_to_q
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.forces import Force, Push
from poise.io import load
from poise.samples import sample_path
from poise.tracking import track
from poise.tracking.lists import settings_of

SECOND = MOTIONS.parent / "motions2"
CMU = MOTIONS / "bvh" / "cmu_3dsmax"
CLIPS: dict[str, tuple[Path, float | None, tuple[float, float] | None]] = {
    "walk, turn": (CMU / "143_32.bvh", 60.0, None),
    "walk": (SECOND / "bvh" / "141_25.bvh", 60.0, None),
    "walk, ASF": (SECOND / "asf_amc" / "11_01.amc", None, None),
    "figure 8": (MOTIONS / "bvh" / "other" / "AV_8Walk_Meredith_HVHA_Rep1.bvh", None, None),
    "sneak, second half": (CMU / "143_41.bvh", 60.0, (9.5, 19.4)),
    "sideways, second half": (CMU / "143_40.bvh", 60.0, (8.0, 16.0)),
    "zombie": (SECOND / "bvh" / "fair1_zombie.bvh", None, None),
    "throw": (MOTIONS / "bvh" / "other" / "bvh_example.bvh", None, None),
    "stylized walk": (CMU / "131_01.bvh", None, None),
    "dance": (SECOND / "deepmimic" / "humanoid3d_dance_b.txt", None, None),
}
"""File, true rate, and part [s] of each clip."""
WALKS: dict[str, tuple[Path, float | None, tuple[float, float] | None]] = {
    "bundled": (Path(str(sample_path("walk"))), None, None),
    "02_01": (MOTIONS / "asf_amc" / "02_01.amc", None, None),
    "B15": (MOTIONS / "bvh" / "accad" / "Female1_B15_WalkTurnAround180.bvh", None, None),
    "walk01": (SECOND / "bvh" / "walk01.bvh", None, None),
    "DeepMimic": (MOTIONS / "deepmimic" / "humanoid3d_walk.txt", None, None),
    "sneak, first half": (CMU / "143_41.bvh", 60.0, (0.0, 9.5)),
    "sideways, first half": (CMU / "143_40.bvh", 60.0, (0.0, 8.0)),
}
"""The same of clips on which settings were chosen, and two more walks."""
JUMPS: dict[str, tuple[Path, float | None, tuple[float, float] | None]] = {
    "run": (CMU / "143_01.bvh", 60.0, None),
    "run, ASF": (MOTIONS / "asf_amc" / "02_03.amc", None, None),
    "run in an 8": (CMU / "143_04.bvh", 60.0, None),
    "jumps": (CMU / "143_05.bvh", 60.0, None),
    "jump, ASF": (MOTIONS / "asf_amc" / "02_04.amc", None, None),
    "hopscotch": (CMU / "143_31.bvh", 60.0, None),
    "hop": (SECOND / "asf_amc" / "HDM_bd_hopBothLegs1hops_001_120.amc", 120.0, None),
    "jumping jacks": (SECOND / "bvh" / "cmu1_jumping_jacks.bvh", None, None),
}
"""The same of clips with flights; nothing was chosen on them."""
PUSHED = 2.0
"""A push of 0.2 s at the chest begins so long after the start [s]."""
PLACE_NOISE, TURN_NOISE = 0.005, 0.0025
"""Of the root, and of the farthest joint that a turn moves [m]."""


def creatures(names: Sequence[str]) -> dict[str, Character]:
    """Characters as `scripts/make_creatures.py` makes them."""
    scripts = Path(__file__).parents[1] / "scripts"
    sys.path.insert(0, str(scripts))
    made: dict[str, Any] = runpy.run_path(str(scripts / "make_creatures.py"))
    found: dict[str, Character] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            creature, path = made["CREATURES"][name](), Path(folder) / f"{name}.glb"
            made["write"](creature, path)
            found[name] = made["set_up"](creature, path)
    return found


def read(path: Path, fps: float | None, part: tuple[float, float] | None) -> Motion:
    """A clip by its file, true rate, and part [s]."""
    return load(path, fps=fps) if part is None else load(path, fps=fps).cut(*part)


def noisy(actor: Character, motion: Motion, seed: int) -> Motion:
    """The motion as a capture system that trembles would give it."""
    random, q = np.random.default_rng(seed), motion_to_q(actor, motion)
    out, count = q.copy(), len(q)
    places = body_poses(actor, q[:1])[0][0]
    for i, body in enumerate(actor.bodies):
        size = TURN_NOISE / max(_reach(actor, places, i), 0.05)
        at = actor.q_addresses[i] + (3 if body.kind == "free" else 0)
        if body.kind == "hinge":
            out[:, at] += random.normal(0.0, size, count)
            continue
        turns = rotations.from_rotation_vector(random.normal(0.0, size, (count, 3)))
        out[:, at : at + 4] = rotations.multiply(out[:, at : at + 4], turns)
    out[:, :3] += random.normal(0.0, PLACE_NOISE, (count, 3))
    return apply_deviation(actor, motion, q, out)


def _reach(actor: Character, places: Array, body: int) -> float:
    """From a joint to the farthest one below it [m]."""
    far = 0.0
    for k in range(body + 1, len(actor.bodies)):
        up = k
        while up > body:
            up = actor.bodies[up].parent
        if up == body:
            far = max(far, float(np.linalg.norm(places[k] - places[body])))
    return far


def main() -> None:
    """Print a row a run, and how many were complete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", default="", help="those whose name holds the text")
    parser.add_argument("--walks", action="store_true", help="walks on which settings were chosen, instead of the ten")
    parser.add_argument("--jumps", action="store_true", help="jumps and runs, instead of the ten")
    parser.add_argument("--push", type=float, default=0.0, help="pushed from four sides, by so much speed [m/s]")
    parser.add_argument("--who", default="raptor,alien,cat,cartoon")
    parser.add_argument("--seeds", default="clean,0,1,2")
    parser.add_argument("--root", default="strict")
    parser.add_argument("--momentum", action="store_true", help="the rate of angular momentum with and without its row")
    parser.add_argument("--ik", action="store_true", help="beside plain inverse kinematics of the same targets (mink)")
    wanted = parser.parse_args()
    warnings.simplefilter("ignore")
    clips = WALKS if wanted.walks else JUMPS if wanted.jumps else CLIPS
    chosen = {name: clip for name, clip in clips.items() if wanted.clips in name}
    if wanted.ik:
        from benchmarks.ik import compare

        compare(creatures(wanted.who.split(",")), {name: read(*clip) for name, clip in chosen.items()}, wanted.root)
        return
    if wanted.momentum:
        momentum(creatures(wanted.who.split(",")), {name: read(*clip) for name, clip in chosen.items()}, wanted.root)
        return
    print(
        "who | clip | seed | complete | held of steps | root N | slip cm/s, while held | into ground mm | "
        "swing cm | step ms | tips"
    )
    done: dict[str, list[bool]] = {}
    for who, character in creatures(wanted.who.split(",")).items():
        for name, clip in chosen.items():
            motion = read(*clip)
            actor = fit(motion)
            for seed in wanted.seeds.split(","):
                given = motion if seed == "clean" else noisy(actor, motion, int(seed))
                kind = "clean" if seed == "clean" else "noisy"
                for side, pushes in pushes_of(character, wanted.push).items():
                    label = f"{who} | {name} | {seed}{side}"
                    try:
                        report = track(given, character, actor_character=actor, root=wanted.root, pushes=pushes).report
                    except PoiseError as error:
                        done.setdefault(kind, []).append(False)
                        print(f"{label} | {error}", flush=True)
                        continue
                    done.setdefault(kind, []).append(report["complete"])
                    print(f"{label} | {row_of(report)}", flush=True)
    for kind, runs in done.items():
        print(f"{kind}: {sum(runs)} of {len(runs)} complete, root {wanted.root}")


def pushes_of(character: Character, speed: float) -> dict[str, list[Force]]:
    """A push of 0.2 s on the chest to each side, by so much speed times the mass [m/s]; one run without any for 0."""
    if not speed:
        return {"": []}
    chest = next((character.roles[r] for r in ("chest", "upper_chest", "spine") if r in character.roles), 0)
    force, body = character.mass * speed / 0.2, character.bodies[chest].name
    sides = {"north": (0.0, 1.0), "south": (0.0, -1.0), "east": (1.0, 0.0), "west": (-1.0, 0.0)}
    return {f", to {side}": [Push(body, (force * x, force * y, 0.0), PUSHED, 0.2)] for side, (x, y) in sides.items()}


def momentum(characters: dict[str, Character], clips: dict[str, Motion], root: str) -> None:
    """Print the rate of the angular momentum (rms) with and without its row in the list, and the tips of free limbs."""
    print("who | clip | complete with, without | rate with, without N m | ratio | tips with")
    ratios: list[float] = []
    for who, character in characters.items():
        own = settings_of(character)
        for name, motion in clips.items():
            actor = fit(motion)
            on, off = (
                track(motion, character, actor_character=actor, root=root, settings=settings).report
                for settings in (own, replace(own, momentum=0.0))
            )
            rates = [report["angular_momentum_rate_rms_N_m"] for report in (on, off)]
            ratio = rates[0] / rates[1]
            if on["complete"] and off["complete"]:
                ratios.append(ratio)
            done = ", ".join("yes" if report["complete"] else "no" for report in (on, off))
            tips = row_of(on).rpartition(" | ")[2]
            print(f"{who} | {name} | {done} | {rates[0]:.1f}, {rates[1]:.1f} | {ratio:.2f} | {tips}", flush=True)
    if ratios:
        print(f"median ratio of the {len(ratios)} that are complete with and without: {np.median(ratios):.2f}")


def row_of(report: dict[str, Any]) -> str:
    """What a run was like; of the tips of free limbs yaw, lag to the trunk and to the base."""
    tips = ", ".join(
        f"{limb} {x['tip_yaw_rms_deg']:.0f}°, {_said(x['lag_to_trunk_s'])} s, {_said(x['lag_to_base_s'])} s"
        for limb, x in report["free_limbs"].items()
    )
    cells = [
        "yes" if report["complete"] else "no",
        f"{report['fallback_steps']} of {report['steps']}",
        f"{report['root_residual']['force_max_N']:.0e}",
        f"{_said(report['stance_slip_p95_m_s'], 100.0)}, {_said(report['held_slip_p95_m_s'], 100.0)}",
        _said(report["penetration_p95_m"], 1000.0),
        _said(report["swing_error_median_m"], 100.0),
        f"{report['step_ms']:.2f}",
        tips,
    ]
    return " | ".join(cells)


def _said(value: float | None, by: float = 1.0) -> str:
    return "–" if value is None else f"{by * value:.2f}"


if __name__ == "__main__":
    main()
