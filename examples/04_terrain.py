"""Terrain

The same walk goes up a slope, up stairs and over rough ground. The clip needs no preparation: the ground lifts the
foot targets, landings move onto a tread, and the root follows the ground. The table says how far feet sink into the
ground or hang above it, beyond what the clip itself does.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import poise
from poise.show import Camera, record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
GROUNDS = {
    "slope": poise.Terrain.slope(15.0),
    "stairs": poise.Terrain.stairs(0.15, 0.6),
    "rough": poise.Terrain.rough(0.2, seed=3),
}


def main() -> None:
    """Run on each ground, compare, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 4.1)
    character = poise.Character.fit(motion)
    results = {name: poise.simulate(motion, character, terrain=ground) for name, ground in GROUNDS.items()}
    print(f"{'ground':<8}{'sinks in':>10}{'hangs above':>13}{'joints (rms)':>14}{'climbed':>9}")
    for name, result in results.items():
        contact, deviation = result.report["contact"], result.report["deviation"]
        print(
            f"{name:<8}{100 * contact['penetration_p95_m']:>7.1f} cm{100 * contact['float_p95_m']:>10.1f} cm"
            f"{deviation['joint_angle_rms_deg']:>13.1f}°{climbed(result):>7.2f} m"
        )
    for name, result in results.items():
        times = [0.5, 1.6, 2.8, 4.0]
        record(
            poise.scene_of(result, ghost=False),
            OUT / f"{name}.png",
            width=240,
            height=360,
            times=times,
            camera=Camera("side"),
        )
    print(f"See {', '.join(str(OUT / f'{name}.png') for name in results)}.")
    print("Settings used:")
    for name, value in results["slope"].report["settings"].items():
        if name.startswith(("weights.", "end_effector.", "ground.")):
            print(f"  {name:<28}{value:g}")
    check(results)


def climbed(result: poise.SimulationResult) -> float:
    """How much higher the pelvis ends than the clip's own [m]."""
    return float(result.q[-1, 2] - result.reference_q[-1, 2])


def check(results: dict[str, poise.SimulationResult]) -> None:
    """Feet are on the ground, and the body went up with it."""
    for name in ("slope", "rough"):
        contact = results[name].report["contact"]
        assert contact["penetration_p95_m"] < 0.02, name
        assert contact["float_p95_m"] < 0.03, name
    stairs = results["stairs"].report["contact"]
    assert stairs["penetration_p95_m"] < 0.05
    assert stairs["float_p95_m"] < 0.05
    assert climbed(results["slope"]) > 0.8
    assert climbed(results["stairs"]) > 0.5


if __name__ == "__main__":
    main()
