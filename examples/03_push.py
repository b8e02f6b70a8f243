"""Push

A walking figure is pushed sideways. With a moving goal (the default when something pushes) its center of mass moves
away like a damped particle and comes back, and the whole body reacts. With a hard goal the root takes most of the
push: the center of mass hardly leaves its path. Without a push, the clip comes back exactly.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import poise
from poise.show import Camera, record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
SHOVE = poise.Push("chest", force=(300.0, 0.0, 0.0), start=0.6, duration=0.2)


def main() -> None:
    """Run, compare, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.6)
    character = poise.Character.fit(motion)
    calm = poise.simulate(motion, character)
    moving = poise.simulate(motion, character, pushes=[SHOVE])
    hard = poise.simulate(motion, character, pushes=[SHOVE], options=poise.Options(goal="com-xy"))
    print(f"{'goal':<8}{'center of mass':>16}{'back after':>12}{'joints up to':>14}{'root force (rms)':>18}")
    for name, result in (("moving", moving), ("hard", hard)):
        event = result.report["events"][0]
        back = "-" if event["com_back_s"] is None else f"{event['com_back_s']:.2f} s"
        share = result.report["root_residual"]["force_rms_N"] / (9.81 * character.mass)
        moved = 100 * event["com_excursion_max_m"]
        print(f"{name:<8}{moved:>13.1f} cm{back:>12}{event['joint_peak_deg']:>13.1f}°{share:>18.1%}")
    strip = OUT / "push.png"
    record(poise.scene_of(moving), strip, width=240, height=360, times=[0.5, 0.8, 1.1, 1.8], camera=Camera("quarter"))
    print(f"See {strip}: blue is the original clip.")
    print("Settings used:")
    for name, value in moving.report["settings"].items():
        if name.startswith(("weights.", "goal.")):
            print(f"  {name:<24}{value:g}")
    check(calm, moving, hard)


def check(calm: poise.SimulationResult, moving: poise.SimulationResult, hard: poise.SimulationResult) -> None:
    """Calm: exact. Moving goal: 5 to 20 cm and back within 2.5 s. Hard goal: on its path, root under 5 degrees."""
    assert calm.report["deviation"]["joint_angle_max_deg"] < 1e-6
    event = moving.report["events"][0]
    assert 0.05 < event["com_excursion_max_m"] < 0.20
    assert event["com_back_s"] is not None
    assert event["com_back_s"] < 2.5
    assert hard.report["events"][0]["com_excursion_max_m"] < 0.2 * event["com_excursion_max_m"]
    assert hard.report["events"][0]["root_peak_deg"] < 5.0


if __name__ == "__main__":
    main()
