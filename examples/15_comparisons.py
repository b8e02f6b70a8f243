"""Comparisons

The paper has two comparisons (section 4). Physicality: a walk goes up a step, online, with the torque term at the
paper's weight, at five times this weight, and off. PD control of joints and root, beside the filter: it is tuned on
the walk (`scripts/tune_pd.py`), then used on a sideways walk and on runs (from the folder POISE_MOTIONS).
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.body.posing import body_positions, joint_deviations
from poise.show import record

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
CLIPS = Path(os.environ.get("POISE_MOTIONS", "none")) / "bvh" / "cmu_3dsmax"
KNOB = {"1": poise.Physicality(), "5": poise.Physicality(5.0), "off": poise.Physicality(is_off=True)}
PARTS = {"143_40": (1.0, 4.0), "143_01": (0.0, 1.6), "143_04": (4.0, 7.0)}  # sideways, run, turning run [s]


def main() -> None:
    """Compare, print, draw, check."""
    OUT.mkdir(exist_ok=True)
    walk, knob = poise.load(poise.sample_path("walk")).cut(0.0, 3.0), {}
    print("a step of 30 cm   physicality   arms turned (rms)   root force (rms)")
    for name, value in KNOB.items():
        options = poise.Options(physicality=value, plans_ahead=False)  # as in the paper; a plan spares the arms
        knob[name] = poise.simulate(walk, terrain=poise.Terrain.step(0.3), options=options)
        print(f"{name:>29}{arms(knob[name]):>19.2f}°{knob[name].report['root_residual']['force_rms_N']:>17.0f} N")
    draw(knob, "physicality.png")
    clips, drift = {"walk": walk}, {}
    for name in PARTS if CLIPS.is_dir() else ():  # their label says 120 Hz, their flights 60
        clips[name] = poise.load(CLIPS / f"{name}.bvh", fps=60.0).cut(*PARTS[name])
    print("clip     shove  engine  joints rms     max     root       jitter")
    for name, motion in clips.items():
        for shove in ("no", "yes"):
            pushes = [poise.Push("chest", (300.0, 0.0, 0.0), start=0.6)] if shove == "yes" else []
            pair = {e: poise.simulate(motion, pushes=pushes, options=poise.Options(engine=e)) for e in ("qp", "pd")}
            for engine, result in pair.items():
                most, rms, root, _ = result.report["deviation"].values()
                drift[name, shove, engine], shaking = most, jitter(result)
                numbers = f"{rms:>10.2f}°{most:>7.1f}°{100 * root:>6.1f} cm{shaking:>8.1f} m/s²"
                print(f"{name:<9}{shove:<7}{engine:<6}{numbers}")
            draw(pair, f"pd_{name}_{shove}.png")
    print("Settings used:", poise.load_preset("recommended").weights, poise.load_preset("recommended").pd)
    check(knob, drift)


def draw(results: dict[str, poise.SimulationResult], name: str) -> None:
    """A row for each result."""
    rows = [poise.scene_of(result, title=title) for title, result in results.items()]
    record(rows, OUT / name, width=200, height=300, times=np.array([0.35, 0.5, 0.65, 0.8]) * rows[0].duration)


def arms(result: poise.SimulationResult) -> float:
    """How far the arms' joints deviate [deg], root mean square."""
    bodies = [b for limb in result.character.limbs if limb.kind == "arm" for b in limb.bodies]
    return float(np.sqrt(np.mean(joint_deviations(result.character, result.reference_q, result.q)[:, bodies] ** 2)))


def jitter(result: poise.SimulationResult) -> float:
    """Acceleration of the bodies less the clip's own [m/s²], root mean square."""
    off = body_positions(result.character, result.q) - body_positions(result.character, result.reference_q)
    return float(np.sqrt(np.mean(np.diff(off, 2, axis=0) ** 2))) / result.report["dt"] ** 2


def check(knob: dict[str, poise.SimulationResult], drift: dict[tuple[str, str, str], float]) -> None:
    """Arms react less without the torque term, more with five times of it; the walk's gains fail on other clips."""
    assert arms(knob["off"]) < 0.8 * arms(knob["1"]) < 0.5 * arms(knob["5"])
    assert all(drift[name, "no", "qp"] < 1e-6 for name, _, _ in drift)
    assert all(drift[name, "no", "pd"] > 1.5 * drift["walk", "no", "pd"] for name, _, _ in drift if name != "walk")


if __name__ == "__main__":
    main()
