"""The bars on behavior: identity, pushes, terrain, endurance. Prints a row per run and the worst of each set."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import poise
from benchmarks.clips import Clip, classify, lasting
from benchmarks.stride import BLOCKED, blocked
from poise.body.posing import body_positions, joint_deviations
from poise.core.errors import PoiseError
from poise.filter.forces import Push
from poise.filter.report import SimulationResult
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.io import load, save
from poise.samples import sample_path
from poise.terrain import Terrain

GENTLE = ("slope:10", "slope:20", "rough:0.2,1", "rough:0.2,2")
STEEP = ("slope:35", "rough:1.0,1,60", "step:0.2", "step:0.5")
STAIRS = ("stairs:0.2,0.6",)
SHOVE = 0.44 * 9.81


@dataclass(frozen=True)
class Row:
    """One run: what was measured, by name."""

    clip: str
    case: str
    values: dict[str, float]
    error: str = ""


def identity(clips: Sequence[Clip]) -> Iterator[Row]:
    """Undisturbed on flat ground, in memory and in the file."""
    for clip in clips:
        run = _run(clip, clip.motion)
        if isinstance(run, str):
            yield Row(clip.name, "flat", {}, run)
            continue
        d = run.report["deviation"]
        yield Row(
            clip.name,
            "flat",
            {
                "joint_deg": d["joint_angle_max_deg"],
                "root_m": d["root_position_max_m"],
                "file": _file_difference(clip, run),
            },
        )


def _file_difference(clip: Clip, run: SimulationResult) -> float:
    """Largest difference of a printed number between the source file and the written one.

    nan where it is not text, or has another rate than its file.
    """
    source = clip.motion.source
    if source is None or Path(source.path).suffix not in {".bvh", ".amc"} or "@" in clip.name:
        return float("nan")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / ("out" + Path(source.path).suffix)
        save(run.motion, out)
        ours, theirs = _numbers(out), _numbers(Path(source.path))
    return float(np.abs(ours - theirs).max()) if ours.shape == theirs.shape else float("inf")


def _numbers(path: Path) -> Any:
    words = path.read_text(encoding="utf-8", errors="replace").split("MOTION")[-1].split()
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return np.array(numbers)


def pushes(clips: Sequence[Clip], *, goal: str, seconds: float = 3.0) -> Iterator[Row]:
    """0.44 body weights for 0.2 s at the chest, four directions at the middle of the clip."""
    for clip in clips:
        if not clip.is_push:
            continue
        start = min(0.5 * clip.motion.duration, 2.0)
        motion = lasting(clip.motion, start + 0.2 + seconds + 0.1)
        for name, direction in (("+x", (1.0, 0.0)), ("-x", (-1.0, 0.0)), ("+y", (0.0, 1.0)), ("-y", (0.0, -1.0))):
            force = SHOVE * clip.character.mass * np.array([*direction, 0.0])
            push = Push("chest", tuple(force.tolist()), start, 0.2)
            run = _run(clip, motion, pushes=[push], options=Options(goal=goal))
            if isinstance(run, str):
                yield Row(clip.name, name, {}, run)
                continue
            event = run.report["events"][0]
            position, angle = pose_error(run, start + 0.2 + seconds)
            scale = clip.character.leg_scale
            yield Row(
                clip.name,
                name,
                {
                    "joint_peak_deg": event["joint_peak_deg"],
                    "root_peak_deg": event["root_peak_deg"],
                    "com_cm": 100.0 * event["com_excursion_max_m"] / scale,
                    "com_back_s": _number(event["com_back_s"]),
                    "recovery_s": _number(event["recovery_s"]),
                    "aligned_cm": 100.0 * position / scale,
                    "aligned_deg": angle,
                    "root_weight": run.report["root_residual"]["force_max_N"] / (9.81 * clip.character.mass),
                },
            )


def pose_error(run: SimulationResult, at: float) -> tuple[float, float]:
    """Root-aligned pose error at a time [s]: mean distance of the joints [m] and mean joint angle [deg]."""
    k = min(round(at / run.report["dt"]), len(run.q) - 1)
    q, reference = run.q[k : k + 1].copy(), run.reference_q[k : k + 1]
    angle = float(joint_deviations(run.character, reference, q)[0, 1:].mean())
    q[:, :7] = reference[:, :7]
    distance = np.linalg.norm(body_positions(run.character, q) - body_positions(run.character, reference), axis=2)
    return float(distance.mean()), angle


def terrain(clips: Sequence[Clip], specs: Sequence[str]) -> Iterator[Row]:
    """Every grounded clip on every ground; `by_leg` are lengths over leg / 0.82 m."""
    for clip in clips:
        if not clip.is_grounded:
            continue
        for spec in specs:
            run = _run(clip, clip.motion, terrain=Terrain.parse(spec))
            if isinstance(run, str):
                yield Row(clip.name, spec, {}, run)
                continue
            contact = run.report["contact"]
            penetration, floating = 100.0 * contact["penetration_p95_m"], 100.0 * contact["float_p95_m"]
            scale = clip.character.leg_scale
            yield Row(
                clip.name,
                spec,
                {
                    "pen_cm": penetration,
                    "float_cm": floating,
                    "pen_cm_by_leg": penetration / scale,
                    "float_cm_by_leg": floating / scale,
                    "blocked_cm_by_leg": 100.0 * blocked(clip, run.terrain) / scale,
                    "joint_deg": run.report["deviation"]["joint_angle_rms_deg"],
                    "off_m": horizontal_miss(run),
                    "root_weight": run.report["root_residual"]["force_rms_N"] / (9.81 * clip.character.mass),
                },
            )


def horizontal_miss(run: SimulationResult) -> float:
    """Largest horizontal distance of any body from its reference [m]; the height follows the ground."""
    off = body_positions(run.character, run.q) - body_positions(run.character, run.reference_q)
    return float(np.linalg.norm(off[..., :2], axis=2).max())


def impossible() -> Iterator[Row]:
    """The sample that no physics allows: pushed and on slopes."""
    clip = classify("hover_hop", load(sample_path("hover_hop")))
    yield from identity([clip])
    yield from pushes([Clip(clip.name, clip.motion, clip.character, True, True)], goal="auto")
    yield from terrain([Clip(clip.name, clip.motion, clip.character, True, True)], ("slope:10", "slope:20"))


def endurance(clips: Sequence[Clip], steps: int, seed: int = 1) -> Iterator[Row]:
    """Random shoves to 1.5 body weights on random ground over all clips, until so many steps are made."""
    random = np.random.default_rng(seed)
    made = 0
    while made < steps:
        clip = clips[int(random.integers(len(clips)))]
        slope = f"slope:{random.uniform(0, 35):.0f}"
        rough = f"rough:{random.uniform(0.1, 0.8):.2f},{random.integers(99)}"
        step = f"step:{random.uniform(0.05, 0.5):.2f}"
        spec = str(random.choice(["flat", slope, rough, step, "stairs:0.2,0.6"]))
        shoves = []
        for start in np.arange(0.2, clip.motion.duration, 0.8):
            force = random.normal(size=3) * [1.0, 1.0, 0.3]
            force *= random.uniform(0.1, 1.5) * 9.81 * clip.character.mass / np.linalg.norm(force)
            body = clip.character.bodies[int(random.integers(len(clip.character.bodies)))].name
            shoves.append(Push(body, tuple(force.tolist()), float(start), 0.2))
        run = _run(clip, clip.motion, terrain=Terrain.parse(spec), pushes=shoves)
        if isinstance(run, str):
            yield Row(clip.name, spec, {"steps": 0.0, "fallbacks": 0.0, "off_m": float("nan")}, run)
            made += clip.motion.frame_count
            continue
        solver = run.report["solver"]
        made += solver["solves"]
        fallbacks = sum(v for k, v in solver["fallbacks"].items() if k != "glitch_carried")
        yield Row(
            clip.name,
            spec,
            {
                "steps": solver["solves"],
                "fallbacks": fallbacks,
                "failures": solver["failures"],
                "off_m": horizontal_miss(run),
            },
        )


def _run(clip: Clip, motion: poise.Motion, **arguments: Any) -> SimulationResult | str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return simulate(motion, clip.character, **arguments)
        except PoiseError as error:
            return f"{type(error).__name__}: {error}"


def _number(value: float | None) -> float:
    return float("inf") if value is None else value


def show(title: str, rows: Iterator[Row], *, every: bool = False) -> list[Row]:
    """Print the rows that failed, the worst value of each column with its run, and how many runs there were."""
    began = time.perf_counter()
    done: list[Row] = []
    for row in rows:
        done.append(row)
        if every or row.error:
            values = "  ".join(f"{k} {v:.3g}" for k, v in row.values.items())
            print(f"    {row.clip:32s} {row.case:16s} {values}{row.error}", flush=True)
    print(
        f"## {title}: {len(done)} runs, {sum(bool(r.error) for r in done)} failed, {time.perf_counter() - began:.0f} s"
    )
    beyond = [f"{r.clip} {r.case}" for r in done if r.values.get("blocked_cm_by_leg", 0.0) > BLOCKED]
    if any("blocked_cm_by_leg" in r.values for r in done):
        print(f"beyond the reach of the clip's own stride, but counted: {', '.join(beyond) or 'none'}")
    names = list(dict.fromkeys(k for r in done for k in r.values))
    print("| measure | median | worst | run |\n|---|---|---|---|")
    for name in names:
        values = [(r.values[name], r) for r in done if name in r.values and not np.isnan(r.values[name])]
        if values:
            worst, run = max(values, key=lambda pair: pair[0])
            print(
                f"| {name} | {np.median([v for v, _ in values]):.3g} | {worst:.3g} | {run.clip} {run.case} |",
                flush=True,
            )
    return done
