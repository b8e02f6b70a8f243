"""Every behavior made from goals, with fresh seeds: how far it gets, and whether its physics holds.

    python -m benchmarks.behaviors [PART …] [--seeds 10] [--seed N]

Parts: stand, hands, swing, climb, cable-car, wall, athletes, engine (MuJoCo's forward simulation moves the figure),
quick (responsiveness over four decades), memory (POSIX only). Random pushes last 0.1 s.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from poise.filter.forces import Push
from poise.synthesis.figure import Settings
from poise.synthesis.run import SynthesisResult, synthesize


class Case(NamedTuple):
    """One run: a behavior with its options and pushes, and how far it got as a number."""

    name: str
    behavior: str
    seconds: float
    got: Callable[[SynthesisResult], float]
    options: dict[str, float]
    pushes: tuple[Push, ...] = ()
    settings: Settings = Settings()


def stood(result: SynthesisResult) -> float:
    """How long the figure stayed up [s]."""
    fell = result.report["fell"]
    return result.report["seconds"] if fell is None else float(fell)


def climbed(result: SynthesisResult) -> float:
    """How high the center of mass rose [m]."""
    return float(result.report["climbed_m"])


def swung(result: SynthesisResult) -> float:
    """The widest swing [deg]."""
    return float(result.report["swing_max_deg"])


def flights(result: SynthesisResult) -> float:
    """How many flights it made, the one from the start included, until it fell."""
    return float(sum(v.name == "flight" for v in result.visits))


def speed(result: SynthesisResult) -> float:
    """Speed ahead over the last 5 s, or zero if it fell [m/s]."""
    ahead, last = result.q[:, 0], round(5.0 / Settings().dt)
    return float(ahead[-1] - ahead[-1 - last]) / 5.0 if result.report["fell"] is None else 0.0


def shove(random: np.random.Generator, low: float, high: float, body: str = "chest") -> Push:
    """A level push of random size [N] and heading, one second after the start."""
    size, heading = random.uniform(low, high), random.uniform(0.0, 2.0 * np.pi)
    return Push(body, (float(size * np.cos(heading)), float(size * np.sin(heading)), 0.0), 1.0, 0.1)


def cases(part: str, random: np.random.Generator, count: int) -> Iterator[Case]:
    """The runs of a part."""
    engine = Settings(engine="mujoco")
    if part == "stand":
        yield Case("60 s", "balance", 60.0, stood, {})
        yield Case("one foot, 30 s", "one-foot", 30.0, stood, {})
    elif part == "hands":
        for _ in range(count):
            yield Case(
                "pushes of 60 … 120 N, 5 s", "hands", 5.0, stood, {}, (shove(random, 60.0, 120.0, "child.chest"),)
            )
    elif part == "swing":
        yield Case("from rest, 14 s [deg]", "swing", 14.0, swung, {})
        yield Case("coordinated, 20 s [deg]", "swing", 20.0, swung, {"coordinated": 1.0})
    elif part == "climb":
        for seed in random.integers(1_000_000, size=count):
            yield Case("30 s [m]", "climb", 30.0, climbed, {"seed": float(seed)})
    elif part == "cable-car":
        yield Case("6 s", "cable-car", 6.0, stood, {})
    elif part == "wall":
        for force in (250.0, 350.0, 400.0):
            yield Case(f"{force:g} N toward it", "wall", 5.0, stood, {}, (Push("chest", (force, 0.0, 0.0), 1.0, 0.1),))
    elif part == "athletes":
        yield Case("in place, 30 s [flights]", "hopper", 30.0, flights, {})
        yield Case("0.8 m/s, 32 s [m/s]", "hopper", 32.0, speed, {"speed": 0.8})
        for asked in (1.0, 1.5, 1.75, 2.0, 2.5, 3.5):
            yield Case(f"{asked:g} m/s, 26 s [flights]", "run", 26.0, flights, {"speed": asked})
            yield Case(f"{asked:g} m/s, 26 s [m/s]", "run", 26.0, speed, {"speed": asked})
        for _ in range(count):
            push = (replace(shove(random, 20.0, 60.0), start=random.uniform(2.0, 4.0)),)
            for delay in (0.0, 0.2):
                for name in ("hopper", "run"):
                    what = f"20 … 60 N, answered after {delay:g} s, 8 s [s]"
                    yield Case(what, name, 8.0, stood, {}, push, Settings(delay=delay))
    elif part == "engine":
        yield Case("MuJoCo, 60 s", "balance", 60.0, stood, {}, (), engine)
        for _ in range(count):
            yield Case("MuJoCo, 50 … 150 N, 5 s", "balance", 5.0, stood, {}, (shove(random, 50.0, 150.0),), engine)
        yield Case("MuJoCo, 250 N", "step", 5.0, stood, {}, (Push("chest", (250.0, 0.0, 0.0), 1.0, 0.1),), engine)
        for force, options in (((250.0, 0.0), {}), ((0.0, 250.0), {}), ((350.0, 0.0), {"wall.distance": 0.8})):
            push = Push("chest", (*force, 0.0), 1.0, 0.1)
            yield Case(f"MuJoCo, {force[0]:g}, {force[1]:g} N", "wall", 5.0, stood, options, (push,), engine)
    elif part == "quick":
        for quick in (0.1, 1.0, 10.0, 100.0):
            push = Push("chest", (60.0, 0.0, 0.0), 1.0, 0.1)
            yield Case(f"responsiveness {quick:g}", "balance", 3.0, stood, {}, (push,), Settings(responsiveness=quick))


def show(part: str, random: np.random.Generator, count: int) -> None:
    """Print a row for the runs of each name: how many, least and median result, the worst of their physics."""
    runs: dict[tuple[str, str], list[tuple[Case, SynthesisResult]]] = {}
    for case in cases(part, random, count):
        result = synthesize(
            case.behavior, pushes=case.pushes, seconds=case.seconds, options=case.options, settings=case.settings
        )
        runs.setdefault((case.behavior, case.name), []).append((case, result))
    for (behavior, name), done in runs.items():
        got = [case.got(result) for case, result in done]
        fell = sum(result.report["fell"] is not None for _, result in done)
        cut = sum(not result.is_complete for _, result in done)

        failures = sum(result.report["solver"]["failures"] for _, result in done)

        def worst(*path: str, of: Sequence[tuple[Case, SynthesisResult]] = done) -> float:
            return max(_at(result.report, path) for _, result in of)

        print(
            f"| {behavior}, {name} | {len(done)} | {min(got):.3g}, {np.median(got):.3g} | {fell}, {cut} "
            f"| {worst('root_residual_max', 'force_N'):.1e} | {worst('cone_violation_max_N'):.1e} "
            f"| {1e3 * worst('grip_drift_max_m'):.2f} | {1e3 * worst('penetration_max_m'):.2f} "
            f"| {1e3 * worst('body_penetration_max_m'):.2f} | {100.0 * worst('contact_work_ratio'):.2f} "
            f"| {worst('energy', 'unexplained_rise_max_J'):.2g} | {failures} |",
            flush=True,
        )


def _at(report: Any, path: Sequence[str]) -> float:
    for name in path:
        report = None if report is None else report[name]  # MuJoCo's simulation has no energy of ours
    return float("nan") if report is None else float(report)


_WORK = """
import sys
from benchmarks.memory import peak_mb
from poise.synthesis.run import synthesize
synthesize(sys.argv[1], seconds=float(sys.argv[2]))
print(peak_mb())
"""


def memory() -> None:
    """Peak memory of long runs, each a process of its own."""
    for behavior, seconds in (("balance", 60.0), ("swing", 60.0), ("reach", 60.0), ("climb", 60.0), ("hands", 60.0)):
        command = [sys.executable, "-c", _WORK, behavior, str(seconds)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        print(f"| {behavior} | {seconds:g} | {float(done.stdout):.0f} |", flush=True)


PARTS = ("stand", "hands", "swing", "climb", "cable-car", "wall", "athletes", "engine", "quick", "memory")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=10, help="random runs of a part")
    fresh = int(np.random.SeedSequence().generate_state(1)[0])
    parser.add_argument("--seed", type=int, default=fresh, help="a fresh one if not given; it is printed")
    wanted = parser.parse_args()
    unknown = sorted(set(wanted.parts) - set(PARTS))
    if unknown:
        parser.error(f"no part {', '.join(unknown)}. There are: {', '.join(PARTS)}")
    print(f"## Behaviors, seed {wanted.seed}")
    print(
        "| run | runs | least, median | fell, incomplete | root N | cones N | grip mm | into things mm "
        "| into bodies mm | contact work % | energy J | failures |\n" + "|---" * 12 + "|"
    )
    for part in wanted.parts:
        if part != "memory":
            show(part, np.random.default_rng([wanted.seed, PARTS.index(part)]), wanted.seeds)
    if "memory" in wanted.parts:
        print("## Peak memory\n| run | s | MB |\n|---|---|---|")
        memory()


if __name__ == "__main__":
    main()
