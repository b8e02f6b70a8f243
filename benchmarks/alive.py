"""Do reactions look alive? Measures that tell a body that is hit somewhere from a statue that is carried.

    python -m benchmarks.alive [--set tune|report] [--phases N] [--clips NAME …]

The same impulse meets six places in several phases of a clip. All lengths, forces and times are those of a leg of
0.82 m and 70 kg; the push is 300 N × 0.2 s from the side unless a row says otherwise.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.clips import MOTIONS, lasting
from poise.body import Character, fit
from poise.body.posing import body_positions, joint_deviations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.filter.forces import Push
from poise.filter.preset import load_preset
from poise.filter.report import SimulationResult
from poise.filter.simulate import simulate
from poise.io import load
from poise.phases.travel import direction_of_travel
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.samples import sample_path

Array = npt.NDArray[np.float64]

TUNE = ("walk", "bvh/cmu_motionbuilder/02_01.bvh", "bvh/accad/Female1_A01_Stand.bvh")
"""Clips that settings were chosen on."""
REPORT = (
    "bvh/accad/Female1_B15_WalkTurnAround180.bvh",
    "bvh/other/AV_8Walk_Meredith_HVHA_Rep1.bvh",
    "bvh/cmu_3dsmax/143_40.bvh@60",
    "../motions2/bvh/walk01.bvh",
    "../motions2/bvh/fair1_zombie.bvh",
    "../motions2/asf_amc/11_01.amc",
)
"""Clips that only the report is made on."""
PLACES = ("chest", "pelvis", "head", "hand", "swing", "stance")
FORCE, LASTS, AFTER = 300.0, 0.2, 1.5


@dataclass(frozen=True)
class Scene:
    """A clip that can be pushed: its motion, long enough, its character, and when and along what."""

    name: str
    motion: Motion
    character: Character
    starts: tuple[float, ...]
    ahead: Array

    @property
    def aside(self) -> Array:
        return np.array([-self.ahead[1], self.ahead[0], 0.0])

    def force(self, newtons: float, way: Array) -> tuple[float, float, float]:
        """A force that means the same to figures of any mass [N]."""
        x, y, z = (newtons * self.character.mass / 70.0 * way).tolist()
        return x, y, z


def scene(name: str, phases: int) -> Scene:
    """Load a clip by its path below the clips' folder, or a sample by its name; "@60" gives its true rate."""
    path, _, rate = name.partition("@")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = load(MOTIONS / path if "/" in path else sample_path(path), fps=float(rate) if rate else None)
        character = fit(motion)
    heading = direction_of_travel(motion)
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    first = min(1.0, 0.3 * motion.duration)
    starts = tuple(first + 0.17 * k for k in range(phases))
    return Scene(Path(path).stem, lasting(motion, starts[-1] + LASTS + AFTER + 0.1), character, starts, ahead)


def bodies_at(scene: Scene, reference: SimulationResult, start: float) -> dict[str, str]:
    """Names of the bodies at the six places when a push starts; a figure that stands on both feet swings neither."""
    c, k = scene.character, round(start / reference.report["dt"])
    feet = [role for role in ("left_foot", "right_foot") if role in c.roles]
    height = {role: float(body_positions(c, reference.q[k : k + 1])[0, c.roles[role], 2]) for role in feet}
    feet.sort(key=lambda role: height[role])
    places = {"chest": "chest", "pelvis": "pelvis", "head": "head", "hand": "left_hand"}
    if len(feet) == 2:
        places["stance"] = feet[0]
        if height[feet[1]] - height[feet[0]] > 0.05 * c.leg_length:
            places["swing"] = feet[1]
    return {k: v for k, v in places.items() if v in c.roles}


def react(scene: Scene, pushes: Sequence[Push]) -> SimulationResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return simulate(scene.motion, scene.character, pushes=pushes)


@dataclass(frozen=True)
class Reaction:
    """A pushed run as numbers.

    Attributes:
        run: The run.
        start: Of the push [s].
        ways: Of the bodies' places against the undisturbed ones [m], shape (S, B, 3).
        turns: Of the joints [deg], shape (S, B).
    """

    run: SimulationResult
    start: float
    ways: Array
    turns: Array

    @classmethod
    def of(cls, run: SimulationResult, start: float) -> Reaction:
        c = run.character
        ways = (body_positions(c, run.q) - body_positions(c, run.reference_q)) / c.leg_scale
        return cls(run, start, ways, joint_deviations(c, run.reference_q, run.q))

    def frame(self, seconds: float) -> int:
        """Index of the frame so long after the start of the push."""
        return min(round((self.start + seconds) / self.run.report["dt"]), len(self.ways) - 1)

    @property
    def shape(self) -> Array:
        """Places of the bodies against the pelvis, less the undisturbed ones, below 6 Hz, flat [m]."""
        from scipy.signal import butter, sosfiltfilt  # half a second to import, and tests take only `slide` from here

        against = self.ways[:, 1:] - self.ways[:, :1]
        low = sosfiltfilt(butter(2, 6.0, fs=1.0 / self.run.report["dt"], output="sos"), against, axis=0)
        return low[self.frame(0.0) : self.frame(LASTS + AFTER)]

    @property
    def deviates(self) -> bool:
        return float(self.turns[self.frame(0.0) : self.frame(LASTS + AFTER)].max()) >= 2.0


def differences(reactions: dict[str, Reaction]) -> dict[str, float]:
    """Distance between the shapes of any two reactions over the larger one: 1.4 is unrelated, 0 the same."""
    shapes = {name: r.shape for name, r in reactions.items() if r.deviates}
    out = {}
    for a, b in itertools.combinations(shapes, 2):
        n = min(len(shapes[a]), len(shapes[b]))
        x, y = shapes[a][:n], shapes[b][:n]
        size = max(float(np.sqrt(np.mean(x**2))), float(np.sqrt(np.mean(y**2))))
        out[f"{a}-{b}"] = float(np.sqrt(np.mean((x - y) ** 2))) / size
    return out


def onsets(reaction: Reaction) -> dict[str, float]:
    """Time from the push until each joint that turns by 2° has done 10 % of its largest turn [ms], by body."""
    turns = reaction.turns[reaction.frame(0.0) : reaction.frame(1.0)]
    dt, names = reaction.run.report["dt"], [b.name for b in reaction.run.character.bodies]
    most = turns.max(axis=0)
    return {
        names[b]: 1000.0 * dt * float(np.argmax(turns[:, b] >= 0.1 * most[b]))
        for b in range(len(names))
        if most[b] >= 2.0
    }


def overshoot(reaction: Reaction, body: int) -> float:
    """How far a body goes past its way back from its largest way, as a part of that, along it."""
    own = (reaction.ways[:, body] - reaction.ways[:, 0])[reaction.frame(0.0) : reaction.frame(LASTS + AFTER)]
    k = int(np.argmax(np.linalg.norm(own, axis=1)))
    way = own[k] / max(float(np.linalg.norm(own[k])), 1e-9)
    return max(0.0, -float((own[k:] @ way).min())) / max(float(np.linalg.norm(own[k])), 1e-9)


def roughness(run: SimulationResult) -> tuple[float, float]:
    """Worst joint jerk, and largest joint turn a frame, over those of the source."""
    jerks, steps = [], []
    for q in (run.q, run.reference_q):
        turn = joint_deviations(run.character, q[:-1], q[1:])
        places = body_positions(run.character, q)
        jerks.append(float(np.linalg.norm(np.diff(places - places[:, :1], n=3, axis=0), axis=2).max()))
        steps.append(float(turn.max()))
    return jerks[0] / max(jerks[1], 1e-9), steps[0] / max(steps[1], 1e-9)


def slide(run: SimulationResult) -> float:
    """Most that a point which touches in the source moves along the ground, beyond its own, in one stance [m].

    It touches while it is less than 3 cm above the floor, and above its own place in a clip that is below the floor.
    """
    c, dt = run.character, run.report["dt"]
    state, points = State(model_of(c)), []
    for q in (run.q, run.reference_q):
        rows = []
        for pose in q:
            state.move_to(pose, np.zeros(c.nv))
            state.touch()
            rows.append(state.points.copy())
        points.append(np.array(rows))
    simulated, reference = points
    feet = [i for i, p in enumerate(c.contact_points) if p.part == "foot"]
    worst = 0.0
    for i in feet:
        speed = np.linalg.norm(np.gradient(reference[:, i], dt, axis=0), axis=1)
        low = reference[:, i, 2] - c.floor < 0.03 * c.leg_scale
        ground = np.minimum(c.floor, reference[:, i, 2])
        stands = (speed < 0.2) & low & (simulated[:, i, 2] - ground < 0.03 * c.leg_scale)
        for first, last in _runs(stands):
            own = np.linalg.norm(reference[first:last, i, :2] - reference[first, i, :2], axis=1)
            here = np.linalg.norm(simulated[first:last, i, :2] - simulated[first, i, :2], axis=1)
            worst = max(worst, float((here - own).max()))
    return worst / c.leg_scale


def _runs(flags: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Ends of the runs of truth that last three frames or more, without their first and last frame."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    for first, last in edges.reshape(-1, 2):
        if last - first >= 5:
            yield int(first) + 1, int(last) - 1


def root_force(run: SimulationResult) -> float:
    """Largest root force beyond the clip's own, over the weight."""
    return float(run.report["root_residual"]["force_max_N"]) / (9.81 * run.character.mass)


def flight(force: float = 300.0) -> dict[str, float]:
    """A pose in free flight, pushed: the part of the push's momentum and spin that is gone 0.4 s later."""
    from tests.filter_runs import falling, walk

    motion, character = walk()
    fall = falling(motion, 3.0, 0.75, fps=120.0)
    start, lasts = 0.1, 0.1
    run = simulate(fall, character, pushes=[Push("chest", (0.0, force, 0.0), start, lasts)])
    dt = run.report["dt"]
    model = model_of(character)
    state = State(model)
    momenta = []
    for k in (round((start + lasts) / dt) + 2, round(0.6 / dt)):
        pair = []
        for q in (run.q, run.reference_q):
            v = model.difference(q[k], q[k + 1], dt)
            state.move_to(q[k], v)
            pair.append((character.mass * state.com_jacobian() @ v, state.data.angular_momentum(model.roots[0])))
        momenta.append([pair[0][0][:2] - pair[1][0][:2], pair[0][1] - pair[1][1]])
    (p0, l0), (p1, l1) = momenta
    return {
        "linear": float(np.linalg.norm(p1 - p0) / np.linalg.norm(p0)),
        "spin": float(np.linalg.norm(l1 - l0) / max(float(np.linalg.norm(l0)), 1e-9)),
        "owed": float(np.linalg.norm(p0) / (force * lasts)),
    }


def measure(scene: Scene) -> dict[str, list[float]]:
    """All measures of one clip, by name, one number a phase or pair."""
    out: dict[str, list[float]] = {}

    def put(name: str, *values: float) -> None:
        out.setdefault(name, []).extend(values)

    calm = react(scene, [])
    put("undisturbed_deg", calm.report["deviation"]["joint_angle_max_deg"])
    c = scene.character
    for start in scene.starts:
        places = bodies_at(scene, calm, start)
        runs: dict[str, Reaction] = {}
        for place, body in places.items():
            run = react(scene, [Push(body, scene.force(FORCE, scene.aside), start, LASTS)])
            runs[place] = Reaction.of(run, start)
            jerk, pop = roughness(run)
            put("jerk", jerk)
            put("pop", pop)
            put("slide_cm", 100.0 * slide(run))
            put("root_force", root_force(run))
        put("difference", *differences(runs).values())
        end = {name: float(np.linalg.norm(r.ways[r.frame(LASTS), 0])) for name, r in runs.items()}
        if {"hand", "pelvis"} <= runs.keys():
            put("pelvis_hand_over_hip", end["hand"] / end["pelvis"])
            hand, reaction = c.roles["left_hand"], runs["hand"]
            way = np.linalg.norm(reaction.ways[:, hand] - reaction.ways[:, 0], axis=1)
            put("hit_wrist_cm", 100.0 * float(way[reaction.frame(0.0) : reaction.frame(0.6)].max()))
            put("overshoot", overshoot(reaction, hand))
            times = onsets(reaction)
            put("onset_spread_ms", max(times.values()) - min(times.values()))
        chest = Reaction.of(react(scene, [Push("chest", scene.force(600.0, scene.aside), start, LASTS)]), start)
        if "right_hand" in c.roles:
            way = np.linalg.norm(chest.ways[:, c.roles["right_hand"]] - chest.ways[:, 0], axis=1)
            put("other_wrist_cm", 100.0 * float(way[chest.frame(0.0) : chest.frame(0.6)].max()))
        jerk, pop = roughness(chest.run)
        put("jerk_600", jerk)
        put("slide_600_cm", 100.0 * slide(chest.run))
        down = Reaction.of(react(scene, [Push("chest", scene.force(1000.0, np.array([0.0, 0.0, -1.0])), start)]), start)
        knees = [limb.bodies[1] for limb in c.limbs if limb.kind == "leg" and len(limb.bodies) > 1]
        put("knee_deg", float(down.turns[down.frame(0.0) : down.frame(0.6), knees].max()))
        put("hips_down_cm", -100.0 * float(down.ways[down.frame(0.0) : down.frame(0.6), 0, 2].min()))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", choices=("tune", "report"), default="tune")
    parser.add_argument("--phases", type=int, default=1)
    parser.add_argument("--clips", nargs="*")
    parser.add_argument("--no-flight", action="store_true")
    arguments = parser.parse_args()
    load_preset("recommended")
    every: dict[str, list[float]] = {}
    for name in arguments.clips or (TUNE if arguments.set == "tune" else REPORT):
        began = time.perf_counter()
        try:
            numbers = measure(scene(name, arguments.phases))
        except PoiseError as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        for key, values in numbers.items():
            every.setdefault(key, []).extend(values)
        row = "  ".join(f"{k} {np.median(v):.3g}" for k, v in numbers.items())
        print(f"{Path(name).stem[:24]:24s} {time.perf_counter() - began:.0f} s  {row}", flush=True)
    if not arguments.no_flight:
        for key, value in flight().items():
            every[f"flight_{key}"] = [value]
    print("| measure | median | least | 90 % | largest | count |\n|---|---|---|---|---|---|")
    for key, values in every.items():
        low, ninety, high = min(values), float(np.percentile(values, 90)), max(values)
        print(f"| {key} | {np.median(values):.3g} | {low:.3g} | {ninety:.3g} | {high:.3g} | {len(values)} |")


if __name__ == "__main__":
    main()
