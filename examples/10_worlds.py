"""Worlds

A figure walks through rubble: loose pieces of wood that it kicks, steps on and trips over. `poise.World` puts bodies
around the figure of a run. What the figure pushes pushes back, by the same list of objectives as everywhere else: the
world asks how its answer changes with a force. Where no body touches the figure, the clip comes back unchanged. A
MuJoCo file instead of "rubble" makes a world of walls, doors, crates and balls.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import poise
from poise.show import Camera, record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
CRATE = """
<mujoco>
  <worldbody>
    <geom name="ground" type="plane" size="100 100 1"/>
    <body name="crate" pos="{x} {y} 0.3"><freejoint/><geom type="box" size="0.3 0.3 0.3" mass="8"/></body>
  </worldbody>
</mujoco>
"""


def main() -> None:
    """Walk through rubble, against a crate and beside a crate; compare, draw, check."""
    OUT.mkdir(exist_ok=True)
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
    character = poise.Character.fit(motion)
    path = poise.motion_to_q(character, motion)[:, :2]
    ahead = path[-1] - path[0]
    in_way, aside = path[0] + 0.6 * ahead, path[0] + 0.6 * ahead + [-ahead[1], ahead[0]]
    scenes = {
        "rubble": "rubble:20,1",
        "crate in the way": CRATE.format(x=in_way[0], y=in_way[1]),
        "crate aside": CRATE.format(x=aside[0], y=aside[1]),
    }
    results = {name: poise.simulate(motion, character, world=poise.World(scene)) for name, scene in scenes.items()}
    print(f"{'world':<18}{'bodies':>7}{'contacts':>10}{'deepest':>10}{'joints (rms)':>14}{'momentum error':>16}")
    for name, result in results.items():
        seen, turned = result.report["scene"], result.report["deviation"]["joint_angle_rms_deg"]
        print(
            f"{name:<18}{seen['bodies']:>7}{seen['contacts_mean']:>10.1f}{1e3 * seen['penetration_max_m']:>7.1f} mm"
            f"{turned:>13.2f}°{seen['momentum_error_max_Ns']:>13.0e} Ns"
        )
    for name in ("rubble", "crate in the way"):
        strip = OUT / f"{name}.png"
        record(poise.scene_of(results[name]), strip, width=240, times=[0.6, 1.4, 2.0, 2.8], camera=Camera("quarter"))
    print(f"See {OUT / 'rubble.png'} and {OUT / 'crate in the way.png'}.")
    check(results)


def check(results: dict[str, poise.SimulationResult]) -> None:
    """What bodies touch reacts, momentum is kept, and what nothing touches is unchanged."""
    for name in ("rubble", "crate in the way"):
        assert results[name].report["deviation"]["joint_angle_rms_deg"] > 0.2, name
        assert results[name].report["scene"]["momentum_error_max_Ns"] < 1e-9, name
    assert results["crate aside"].report["deviation"]["joint_angle_max_deg"] < 1e-6


if __name__ == "__main__":
    main()
