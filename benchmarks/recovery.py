"""Does a pushed figure stay up, and do its feet go where people's go?

    python -m benchmarks.recovery [--up] [--law] [--falls] [--seed N] [--count N] [--clips NAME …]

Three measures. `--up`: 450 N × 0.2 s on figures that stand and 300 N × 0.2 s on figures that walk, from four sides; the
part that does not fall. `--law`: sideways pushes of 100 ms at ten phases and five sizes while walking; the place of the
next foot against the extrapolated center of mass ξ = r + ṙ / ω, both less the undisturbed walk, as in Hof, Vermerris
and Gjaltema 2010 (people: slope near 1, two steps). `--falls`: 800 to 1300 N × 0.2 s at chest, pelvis and head of the
bundled walk at 60 fps, from any side; by how much energy rises that no force gave, and when all lies still. Lengths,
forces and times are those of a leg of 0.82 m and 70 kg.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.alive import Scene, lasting, react, scene
from poise.body import Character
from poise.body.posing import body_positions, motion_to_q
from poise.core.errors import PoiseError
from poise.filter.forces import Push
from poise.filter.goal import PENDULUM
from poise.filter.report import SimulationResult
from poise.physics import State
from poise.physics.mujoco_backend import model_of

Array = npt.NDArray[np.float64]

WALKS = (
    "walk", "bvh/cmu_motionbuilder/02_01.bvh", "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh",
    "bvh/cmu_3dsmax/143_40.bvh@60",
    "../motions2/bvh/walk01.bvh", "../motions2/bvh/fair1_zombie.bvh", "../motions2/asf_amc/11_01.amc",
    "bvh/cmu_3dsmax/143_32.bvh@60", "deepmimic/humanoid3d_walk.txt", "../motions2/bvh/makehuman_walk1.bvh",
    "bvh/accad/Female1_B15_WalkTurnAround180.bvh",
)  # fmt: skip
"""Clips that walk; those of `benchmarks.alive.TUNE` among them were tuned on."""
SIZES = (60.0, 120.0, 180.0, 240.0, 300.0)
"""Of the pushes of 100 ms [N]."""
SOONEST = 0.3
"""A foot that lands sooner after the push begins has no time to go elsewhere [s]."""
SETTLED = 0.03
"""A push is over when a foot lands so near to where ξ was [m]."""


def standing(walk: Scene, seconds: float = 4.0) -> Scene:
    """The first pose of a clip in which both feet are low, held."""
    c = walk.character
    motion, feet = walk.motion, [c.roles[x] for x in ("left_foot", "right_foot") if x in c.roles]
    places = body_positions(c, motion_to_q(c, motion))[:, feet]
    apart = np.ptp(places[..., 2], axis=1) + 0.3 * np.linalg.norm(np.diff(places[..., :2], axis=1)[:, 0], axis=1)
    k = int(np.argmin(apart[: round(3.0 * motion.fps)]))
    times = np.arange(round(60.0 * seconds)) / 60.0
    held = replace(
        motion,
        times=times,
        translations=np.repeat(motion.translations[k : k + 1], len(times), axis=0),
        rotations=np.repeat(motion.rotations[k : k + 1], len(times), axis=0),
        source=None,
    )
    return replace(walk, motion=held, starts=(0.5,))


def stays_up(scene: Scene, newtons: float) -> list[tuple[str, str]]:
    """Outcome of a push at the chest from each of four sides."""
    out = []
    for name, way in (("ahead", scene.ahead), ("behind", -scene.ahead), ("left", scene.aside), ("right", -scene.aside)):
        run = react(scene, [Push("chest", scene.force(newtons, way), scene.starts[0], 0.2)])
        out.append((name, run.report["events"][0]["outcome"]))
    return out


def capture(run: SimulationResult) -> Array:
    """ξ = r + ṙ / ω of the center of mass, horizontally [m], shape (S, 2)."""
    c, dt = run.character, run.report["dt"]
    state = State(model_of(c))
    com = np.array([state.at(q, np.zeros(c.nv)).com()[:2] for q in run.q])
    return com + np.gradient(com, dt, axis=0) / (PENDULUM / np.sqrt(c.leg_scale))


def landings(run: SimulationResult) -> list[tuple[int, str]]:
    """Frames in which a foot comes down in the source, and which."""
    c = run.character
    state, out = State(model_of(c)), []
    low: dict[str, list[bool]] = {}
    for q in run.reference_q:
        state.move_to(q, np.zeros(c.nv))
        state.touch()
        for role in ("left_foot", "right_foot"):
            own = [i for i, p in enumerate(c.contact_points) if p.part == "foot" and _limb(c, p.body) == role]
            low.setdefault(role, []).append(float(state.points[own, 2].min()) - c.floor < 0.02 * c.leg_scale)
    for role, flags in low.items():
        began = np.flatnonzero(np.diff(np.array(flags, dtype=np.int8)) > 0) + 1
        out += [(int(k), role) for k in began if all(flags[k : k + 6]) and not any(flags[max(0, k - 6) : k])]
    return sorted(out)


def _limb(c: Character, body: int) -> str:
    leg = next((limb for limb in c.limbs if limb.kind == "leg" and body in limb.bodies), None)
    return next((r for r in ("left_foot", "right_foot") if leg is not None and c.roles.get(r) in leg.bodies), "")


def law(walk: Scene) -> tuple[list[tuple[float, float]], list[int]]:
    """ξ against the next foot, both less the undisturbed [m], for every push; and steps until it is over."""
    calm = react(walk, [])
    c, dt = walk.character, calm.report["dt"]
    own = capture(calm)
    steps = [x for x in landings(calm) if x[0] * dt > 0.8]
    if len(steps) < 4:
        return [], []
    first, last = steps[0][0] * dt, steps[2][0] * dt  # a stride
    side = walk.aside[:2]
    pairs: list[tuple[float, float]] = []
    counts: list[int] = []
    for phase in range(10):
        start = first + (last - first) * phase / 10.0
        for k, size in enumerate(SIZES):
            sign = 1.0 if (phase + k) % 2 else -1.0
            run = react(walk, [Push("chest", walk.force(size, sign * walk.aside), start, 0.1)])
            if run.report["events"][0]["outcome"] == "fallen":
                continue
            xi = (capture(run) - own) @ side / c.leg_scale
            feet = [
                (frame, float((body_positions(c, run.q[frame + 3 : frame + 4]) - body_positions(
                    c, run.reference_q[frame + 3 : frame + 4]))[0, c.roles[role], :2] @ side) / c.leg_scale)
                for frame, role in steps if frame * dt > start + SOONEST and frame + 3 < len(run.q)
            ]  # fmt: skip
            if not feet:
                continue
            frame, foot = feet[0]
            pairs.append((float(xi[frame]), foot))
            over = [i for i, (at, place) in enumerate(feet) if abs(place - xi[at]) < SETTLED and abs(xi[at]) < 0.5]
            counts.append(over[0] + 1 if over else len(feet) + 1)
    return pairs, counts


def falls(random: np.random.Generator, count: int) -> None:
    """Energy and rest of falls."""
    walk = scene("walk", 1)
    walk = replace(walk, motion=lasting(walk.motion, 5.0))
    rises: list[float] = []
    late = 0
    for k in range(count):
        size, side = random.uniform(800.0, 1300.0), random.uniform(0.0, 2.0 * np.pi)
        push = Push(("chest", "pelvis", "head")[k % 3], (size * np.cos(side), size * np.sin(side), 0.0), 1.0, 0.2)
        fall = react(walk, [push]).report["fall"]
        if fall is not None:
            rises.append(fall["unexplained_rise_J"])
            late += fall["still_after_s"] is None or fall["still_after_s"] > 3.0
    print(
        f"falls: {len(rises)} of {count} pushes; energy rises by more than 5 J in {sum(r > 5.0 for r in rises)}, most "
        f"{max(rises, default=0.0):.0f} J; {late} still move after 3 s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--up", action="store_true")
    parser.add_argument("--law", action="store_true")
    parser.add_argument("--falls", action="store_true")
    parser.add_argument("--seed", type=int, default=int(np.random.SeedSequence().generate_state(1)[0]))
    parser.add_argument("--count", type=int, default=24, help="pushes of --falls")
    parser.add_argument("--clips", nargs="*", default=WALKS)
    arguments = parser.parse_args()
    if arguments.falls:
        print(f"seed {arguments.seed}")
        falls(np.random.default_rng(arguments.seed), arguments.count)
        return
    both = not (arguments.up or arguments.law)
    outcomes: dict[str, list[str]] = {"standing, 450 N": [], "walking, 300 N": []}
    every: list[tuple[float, float]] = []
    counts: list[int] = []
    for name in arguments.clips:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                walk = scene(name, 1)
                if arguments.up or both:
                    stood, walked = stays_up(standing(walk), 450.0), stays_up(walk, 300.0)
                    outcomes["standing, 450 N"] += [x for _, x in stood]
                    outcomes["walking, 300 N"] += [x for _, x in walked]
                    print(f"{name}: standing {dict(stood)}, walking {dict(walked)}", flush=True)
                if arguments.law or both:
                    walk = scene(name, 12)  # long enough for a stride and what follows
                    pairs, steps = law(walk)
                    every += pairs
                    counts += steps
                    if len(pairs) > 9:
                        print(f"{name}: {_line(pairs, steps)}", flush=True)
        except PoiseError as error:
            print(f"{name}: {type(error).__name__}: {error}")
    for what, ends in outcomes.items():
        if ends:
            up = sum(x != "fallen" for x in ends)
            print(f"{what}: {up} of {len(ends)} stay up, {ends.count('stepped')} by steps")
    if len(every) > 9:
        print(f"all walks: {_line(every, counts)}")


def _line(pairs: list[tuple[float, float]], counts: list[int]) -> str:
    x, y = np.array(pairs).T
    slope, offset = np.polyfit(x, y, 1)
    spread = float(np.std(y - slope * x - offset))
    most = float(np.percentile(counts, 90))
    return (
        f"{len(x)} pushes, slope {slope:.2f}, spread {100.0 * spread:.1f} cm, "
        f"ξ up to {100.0 * np.abs(x).max():.0f} cm, "
        f"steps until it is over: median {np.median(counts):.0f}, 90 % {most:.0f}"
    )


if __name__ == "__main__":
    main()
