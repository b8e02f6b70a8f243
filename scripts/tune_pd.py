"""How the gains of the baseline (`--engine pd`, section [pd] of the presets) were chosen: a search on the bundled walk.

Two and a half seconds of walk with one shove at the chest; of all gains that keep the root within five centimeters of
the clip, those with the smallest deviation of the joints. The other clips of the comparison were not looked at.

    python scripts/tune_pd.py
"""

from __future__ import annotations

import dataclasses
import itertools

import poise
from poise.filter.preset import PdGains

JOINT = (20.0, 30.0, 40.0, 50.0, 60.0)  # [1/s], up to one over the step of 1/60 s: stiffer is not what a servo can be
ROOT = (5.0, 10.0, 15.0, 20.0)  # [1/s]
DAMPING = (0.7, 1.0, 1.5, 2.0)  # ratio
ROOT_WITHIN = 0.05  # [m]


def main() -> None:
    """Try all gains and print them, best first."""
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 2.5)
    character = poise.Character.fit(motion)
    shove = poise.Push("chest", force=(300.0, 0.0, 0.0), start=1.0, duration=0.2)
    found = []
    for gains in itertools.product(JOINT, ROOT, DAMPING):
        preset = dataclasses.replace(poise.load_preset("recommended"), pd=PdGains(*gains))
        try:
            result = poise.simulate(
                motion, character, preset=preset, pushes=[shove], options=poise.Options(engine="pd")
            )
        except poise.SimulationDiverged:
            continue
        d = result.report["deviation"]
        found.append(
            (d["root_position_max_m"] > ROOT_WITHIN, d["joint_angle_rms_deg"], d["root_position_max_m"], gains)
        )
    for is_far, joints, root, gains in sorted(found):
        print(f"joints {joints:5.2f}°  root {100 * root:4.1f} cm{' (too far)' if is_far else ''}  {gains}")


if __name__ == "__main__":
    main()
