"""Every built-in behavior made from goals, each as a page to play and a strip of stills

Give names to see only some: `python examples/14_behaviors.py step hands`. Each line below says what you would give to
the command line: options of the behavior, pushes, and how long it runs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import poise
from poise.filter.forces import parse_push
from poise.show import record
from poise.synthesis import SynthesisResult, synthesize

HEADLESS = "--headless" in sys.argv
OUT = Path(tempfile.mkdtemp()) if HEADLESS else Path("out")
SHOWN: dict[str, tuple[dict[str, float], list[str], float]] = {
    "balance": ({}, ["chest 150 0 0 @1+0.1", "chest 0 150 0 @3.5+0.1"], 6.0),
    "one-foot": ({}, [], 6.0),
    "step": ({}, ["chest 300 0 0 @0.5+0.1"], 3.0),
    "ice": ({}, ["chest 250 0 0 @0.5+0.1"], 4.0),
    "wall": ({}, ["chest 250 0 0 @1+0.1"], 4.0),
    "dodge": ({}, [], 4.0),
    "hands": ({}, ["chest -60 0 0 @0.5+0.1"], 3.0),
    "reach": ({}, [], 6.0),
    "climb": ({}, [], 12.0),
    "swing": ({}, [], 12.0),
    "cable-car": ({}, [], 10.0),
    "hopper": ({"speed": 0.8}, [], 8.0),
    "run": ({}, [], 8.0),
}
"""Options, pushes and seconds of each behavior."""


def show(name: str) -> SynthesisResult:
    """Run a behavior and draw it."""
    options, pushes, seconds = SHOWN[name]
    result = synthesize(name, options=options, pushes=[parse_push(p) for p in pushes], seconds=seconds)
    scene = poise.scene_of(result)
    times = [seconds * k / 8 for k in range(9)]
    record(scene, OUT / f"{name}.png", times=times)
    if not HEADLESS:
        record(scene, OUT / f"{name}.html")
    return result


def main() -> None:
    """Show what was asked for, all by default."""
    asked = [a for a in sys.argv[1:] if not a.startswith("-")] or (["step"] if HEADLESS else list(SHOWN))
    unknown = [a for a in asked if a not in SHOWN]
    if unknown:
        sys.exit(f"No behavior {unknown[0]!r}. Behaviors: {', '.join(SHOWN)}.")
    OUT.mkdir(exist_ok=True)
    for name in asked:
        result = show(name)
        states = " → ".join(f"{v.name} {v.start:.2f}" for v in result.visits)
        print(f"{name}: {states}; {result.figures[0].outcome}")
        check(result)


def check(result: SynthesisResult) -> None:
    """Nobody holds a figure, and nothing sinks."""
    assert result.report["root_residual_max"]["force_N"] < 1e-6
    assert result.report["penetration_max_m"] < 5e-4
    assert result.report["solver"]["failures"] == 0


if __name__ == "__main__":
    main()
