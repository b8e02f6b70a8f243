"""A walk among rubble, fresh seeds: `python -m benchmarks.world [FILE] [--seeds N]`; the bundled walk by default."""

# pyright: reportAttributeAccessIssue=false
# mujoco carries no types of its functions
from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings

import mujoco
import numpy as np

from poise.body.character import Character
from poise.core.errors import MotionWarning, SimulationDiverged
from poise.core.motion import Motion
from poise.filter.simulate import Live, simulate
from poise.io import load
from poise.samples import sample_path
from poise.world import Clip, World

COUNTS = (0, 20, 40, 60, 150)
"""Pieces of rubble; with none a single ball lies far away."""
STEP = 0.01
"""Length of a step [s]."""
FAR = (
    '<mujoco><worldbody><geom type="plane" size="99 99 1"/><body pos="50 0 0.1"><freejoint/><geom size="0.1"/></body>'
    "</worldbody></mujoco>"
)


def main() -> None:
    """Print a row for every count: medians over the seeds, and the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", default=str(sample_path("walk.bvh")))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=100)
    wanted = parser.parse_args()
    warnings.simplefilter("ignore", MotionWarning)
    motion = load(wanted.file)
    print(f"{wanted.file}, seeds {wanted.first} to {wanted.first + wanted.seeds - 1}; median (worst) over the seeds")
    print(
        f"steps of {1e3 * STEP:g} ms; ratio: over the engine's own mj_step (Newton, elliptic cones) at the same states"
    )
    print(
        "rubble | diverged | contacts | step ms | ratio | residual p95 m/s | penetration p95, max mm | joints rms deg "
        "| root kN"
    )
    for count in COUNTS:
        rows, diverged = [], 0
        for seed in range(wanted.first, wanted.first + (wanted.seeds if count else 1)):
            times: list[float] = []
            plain: list[float] = []
            world = World(f"rubble:{count},{seed}" if count else FAR)

            began: list[float] = []

            def watch(
                _: Live, times: list[float] = times, plain: list[float] = plain, began: list[float] = began,
                world: World = world,
            ) -> None:  # fmt: skip
                now = time.thread_time()
                times += [now - then for then in began]
                plain.append(engine_step(world))
                began[:] = [time.thread_time()]

            try:
                run = simulate(motion, world=world, watch=watch, fps=1.0 / STEP)
            except SimulationDiverged:
                diverged += 1
                continue
            told, data = run.report["scene"], run.report
            rows.append((
                told["contacts_mean"], 1e3 * float(np.median(times)), float(np.median(times) / np.median(plain)),
                told["contact_residual_p95_m_s"],
                1e3 * told["penetration_p95_m"], 1e3 * told["penetration_max_m"],
                data["deviation"]["joint_angle_rms_deg"], 1e-3 * data["root_residual"]["force_max_N"],
            ))  # fmt: skip
        middle, worst = np.median(rows, axis=0), np.max(rows, axis=0)
        numbers = [f"{m:.3g} ({w:.3g})" for m, w in zip(middle, worst)]
        print(f"{count} | {diverged} | " + " | ".join(numbers), flush=True)
    crowd(motion)


def crowd(motion: Motion, count: int = 10, seconds: float = 3.0) -> None:
    """Print what a step takes of figures that walk into each other, from a circle, among 20 pieces of rubble."""
    character, figures = Character.fit(motion), {}
    for k in range(count):
        angle = 2.0 * np.pi * k / count
        place = (3.0 * np.cos(angle), 3.0 * np.sin(angle))
        figures[f"{k}"] = Clip(motion, character, place=place, heading=angle + np.pi + 0.15)
    world, times = World("rubble:20,3", figures=figures, dt=STEP), []
    for _ in range(round(seconds / STEP)):
        began = time.thread_time()
        world.step()
        times.append(time.thread_time() - began)
    told = world.report()
    print(
        f"{count} figures: step {1e3 * np.median(times):.3g} ms (mean {1e3 * np.mean(times):.3g}), "
        f"{STEP / np.mean(times):.2f} of real time, {told['contacts_mean']:.3g} contacts, "
        f"residual p95 {told['contact_residual_p95_m_s']:.2g} m/s"
    )


def engine_step(world: World) -> float:
    """Processor time of the engine's own step at the state of a world, which stays as it is [s]."""
    model, data = world.bodies.engine
    model.opt.timestep, model.opt.solver = STEP, mujoco.mjtSolver.mjSOL_NEWTON
    other = mujoco.MjData(model)
    mujoco.mj_copyData(other, model, data)
    ours = model.opt.disableflags
    model.opt.disableflags = ours & ~int(mujoco.mjtDisableBit.mjDSBL_ISLAND)
    began = time.thread_time()
    mujoco.mj_step(model, other)
    took = time.thread_time() - began
    model.opt.disableflags = ours
    return took


if __name__ == "__main__":
    main()
