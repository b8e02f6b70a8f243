"""Edit

A hop hangs in the air for a second and a half. One tool gives its flight as many frames as a fall along its path takes.
The next makes its angular momentum constant, and the last puts its feet firmly on the floor. Every tool takes a motion
and returns a motion with a report of its changes; everything else stays unchanged. On the command line:
`poise edit ballistic hop.bvh -o mended.bvh`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import poise
from poise.core.errors import BudgetExceeded
from poise.edit import Budget, Edited, Scope, ballistic, ground, scale, spin
from poise.show import record
from poise.show.motion_scene import scene_of_edit

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")


def main() -> None:
    """Mend the hop, show what changed, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("hover_hop"))
    character = poise.Character.fit(motion, masses="auto")
    hop = ballistic(motion, character)
    steady = spin(hop.motion, character)
    planted = ground(steady.motion, character)
    giant = scale(planted.motion, 4.0)
    print(f"{'edit':<12}{'frames':>7}{'changed':>9}{'joints':>8}{'root':>9}")
    for name, edited in {"ballistic": hop, "spin": steady, "ground": planted, "scale by 4": giant}.items():
        changed = edited.report["changed"]
        print(
            f"{name:<12}{edited.motion.frame_count:>7}{changed['frames']:>9}{changed['joint_angle_max_deg']:>7.1f}°"
            f"{100 * changed['root_position_max_m']:>6.1f} cm"
        )
    before, after = hop.report["before"]["flights"][0], hop.report["after"]["flights"][0]
    print(f"The flight fell with {before['gravity_g']:.2f} g and falls with {after['gravity_g']:.2f} g.")
    try:
        ballistic(motion, character, keep="timing", budget=Budget.parse("joint 3deg, root 2cm"))
    except BudgetExceeded as refusal:
        print(refusal)
    half = ballistic(motion, character, scope=Scope(amount=0.5))
    print(f"Half of it: {half.report['after']['flights'][0]['gravity_g']:.2f} g.")
    poise.save(planted.motion, OUT / "mended.bvh")
    record(scene_of_edit(motion, planted.motion), OUT / "edit.png", width=200, height=300)
    print(f"See {OUT / 'edit.png'}.")
    check(hop, steady, planted, giant)


def check(hop: Edited, steady: Edited, planted: Edited, giant: Edited) -> None:
    """Each edit reached what it is for and kept what it promised."""
    assert abs(hop.report["after"]["flights"][0]["gravity_g"] - 1.0) < 1e-6
    assert hop.report["kept"]["path_error_max_m"] < 1e-9
    assert steady.report["after"]["flights"][0]["angular_momentum_spread_kg_m2_s"] < 1e-6
    assert steady.report["kept"]["com_path_error_max_m"] < 1e-9
    assert planted.report["after"]["penetration_max_m"] < 0.005
    assert abs(giant.motion.duration / planted.motion.duration - 2.0) < 0.01


if __name__ == "__main__":
    main()
