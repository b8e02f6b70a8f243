"""Time of one filter step: `python -m benchmarks.step [FILE …]`; the bundled samples by default.

Thread CPU time, so that other programs on the machine disturb it less; the bar that travels between machines is the
ratio to MuJoCo's own step on the same bodies in the same pushed states. Each step is the fastest of a few runs of the
same clip, which are equal; what is printed is the median step. The contact band is widened until sixteen
points are active in the median, which is what the bar asks for.
"""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dataclasses
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import poise.filter.filter as filter_module
from poise.body import fit
from poise.body.mjcf import to_mjcf
from poise.body.posing import motion_to_q
from poise.core.errors import MotionWarning
from poise.core.motion import Motion
from poise.filter.filter import SimulatedCharacter
from poise.filter.forces import Push
from poise.filter.preset import load_preset
from poise.filter.reference import ClipSchedule, ReferenceBuilder, ReferenceFrame
from poise.filter.sensing import Given
from poise.filter.setup import Options, OwnTerms
from poise.io import load
from poise.physics.state import velocities
from poise.samples import sample_names, sample_path
from poise.step import Objective, Rows, Step
from poise.step.quantities import BodyAngularAcceleration, Quantity
from poise.terrain import Terrain

ACTIVE = 16
STAGES: list[tuple[Any, str, str]] = [
    (ReferenceBuilder, "frame", "reference side"),
    (SimulatedCharacter, "begin", "inputs written"),
    (filter_module, "usual_step", "all stages, compiled"),
    (SimulatedCharacter, "end", "answer taken over"),
]


class OwnTurn(Quantity):
    """Angular acceleration of one body, by its rows alone, as a user writes a quantity: the core knows nothing of it.

    Attributes:
        body: Index of the body in the model.
    """

    def __init__(self, body: int) -> None:
        self.body = body

    def rows(self, step: Step) -> Rows:
        state, chain = step.state, step.state.model.chain(self.body)
        on_a = np.zeros((3, step.nv))
        on_a[:, chain] = state.data.cdof[chain, :3].T
        return Rows(on_a, state.body_biases[self.body, :3])


def written_by_core(step: Step, reference: ReferenceFrame) -> list[Objective]:
    """One objective of one's own, of a quantity that the core writes: the chest turns as in the reference."""
    body = step.state.model.body_count // 2
    return [Objective(BodyAngularAcceleration(body), reference.angular_accelerations[body], 1.0, "own")]


def written_in_python(step: Step, reference: ReferenceFrame) -> list[Objective]:
    """The same of a quantity of one's own."""
    body = step.state.model.body_count // 2
    return [Objective(OwnTurn(body), reference.angular_accelerations[body], 1.0, "own")]


class Run:
    """A pushed clip, ready to be stepped through."""

    def __init__(
        self, motion: Motion, terrain: str, band: float, *, readable: bool = False, frames: int = 240,
        objectives: tuple[OwnTerms, ...] = (),
    ) -> None:  # fmt: skip
        self.character = fit(motion)
        preset = load_preset("recommended")
        preset = dataclasses.replace(preset, contact=dataclasses.replace(preset.contact, height=band))
        self.dt = 1.0 / 60.0
        frames = min(frames, int(motion.duration / self.dt))
        self.q = motion_to_q(self.character, motion.resampled(self.dt * np.arange(frames, dtype=np.float64)))
        start, floor = motion.world[0][0, 0, :2], self.character.floor
        ground = Terrain.parse(terrain).placed(origin=(float(start[0]), float(start[1])), heading=0.0, ground=floor)
        options = Options(readable=readable, objectives=objectives)
        self.figure = SimulatedCharacter(self.character, preset, ground, options, dt=self.dt, floor=floor)
        self.builder = ReferenceBuilder(self.figure.model, dt=self.dt, friction=options.friction)
        self.v = velocities(self.figure.model, self.q, self.dt)
        self.schedule = ClipSchedule(
            self.builder, self.q, self.v, dt=self.dt, floor=floor, leg_length=self.character.leg_length
        )
        self.engine = mujoco.MjModel.from_xml_string(to_mjcf(self.character, floor=True, timestep=self.dt))

    def times(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Microseconds of each step, of MuJoCo's step in the same state, and the median count of active contacts."""
        weight = 0.44 * self.figure.mass * 9.81
        pushes = [Push("chest", (weight, 0.3 * weight, 0.0), 0.3 + 0.8 * k, 0.2) for k in range(8)]
        data, clock = mujoco.MjData(self.engine), time.thread_time_ns
        own, engine, active = [], [], []
        self.figure.start(self.q[0], self.v[0])
        for k in range(len(self.q) - 1):
            data.qpos[:], data.qvel[:] = self.figure.q, self.figure.v
            began = clock()
            mujoco.mj_step(self.engine, data)
            between = clock()
            a = (self.v[k + 1] - self.v[k]) / self.dt
            reference = self.builder.frame(self.q[k], self.v[k], a, self.schedule.touch(k))
            now = [p for p in pushes if p.is_on(self.figure.time)]
            self.figure.advance(Given(reference, self.q[k + 1], self.v[k + 1], now))
            own.append(clock() - between)
            engine.append(between - began)
            assert self.figure.last is not None
            active.append(self.figure.last.step.contacts.count)
        return np.array(own[5:]) / 1e3, np.array(engine[5:]) / 1e3, float(np.median(active[5:]))


def fastest(motion: Motion, terrain: str, band: float, runs: int = 4) -> tuple[np.ndarray, np.ndarray, float]:
    """`Run.times`, each step the fastest of some equal runs."""
    own, engine, active = Run(motion, terrain, band).times()
    for _ in range(runs - 1):
        again, engine_again, _ = Run(motion, terrain, band).times()
        own, engine = np.minimum(own, again), np.minimum(engine, engine_again)
    return own, engine, active


def band_for(motion: Motion, terrain: str, count: int) -> float:
    """The lowest contact band [m] on a 5 cm grid at which the median step has this many active contacts."""
    for band in np.arange(0.05, 1.2, 0.05):
        if Run(motion, terrain, float(band), frames=90).times()[2] >= count:
            return float(band)
    return 1.2


def stages(run: Run) -> dict[str, float]:
    """Median microseconds of each stage, measured with a clock around it."""
    taken: dict[str, list[int]] = defaultdict(list)

    def clocked(function: Callable[..., Any], label: str) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            began = time.thread_time_ns()
            answer = function(*args, **options)
            taken[label].append(time.thread_time_ns() - began)
            return answer

        return wrapped

    plain = [(owner, name, getattr(owner, name)) for owner, name, _ in STAGES]
    for owner, name, label in STAGES:
        setattr(owner, name, clocked(getattr(owner, name), label))
    try:
        run.times()
    finally:
        for owner, name, function in plain:
            setattr(owner, name, function)
    return {label: float(np.median(taken[label])) / 1e3 for _, _, label in STAGES if taken[label]}


def show(path: Path) -> None:
    """Print the table of one clip."""
    motion = load(path)
    for terrain in ("flat", "rough:0.2,1"):
        band = band_for(motion, terrain, ACTIVE)
        run = Run(motion, terrain, band)
        dofs, limited = run.character.nv, sum(b.limits is not None for b in run.character.bodies)
        own, engine, active = fastest(motion, terrain, band)
        print(f"\n{path.stem}, {terrain}: {dofs} dof, {active:.0f} active contact points, {limited} limited joints")
        ratio = np.median(own) / np.median(engine)
        print(f"  step    {np.median(own):7.0f} µs   p95 {np.percentile(own, 95):5.0f}   bar 100, stretch 75")
        print(f"  mj_step {np.median(engine):7.0f} µs   ratio {ratio:3.1f}   bar 2.5, stretch 1.8")
        for label, taken in stages(run).items():
            print(f"    {label:34s} {taken:6.0f} µs")
        makers = (), (written_by_core,), (written_in_python,)
        runs = [[Run(motion, terrain, band, objectives=made).times()[0] for made in makers] for _ in range(3)]
        none, core, python = np.median(np.min(runs, axis=0), axis=1)  # interleaved
        print(f"  one objective of one's own {core - none:+.0f} µs if the core knows its quantity")
        print(f"  its quantity in Python     {python - core:+.0f} µs more   bar 20")
        slow = Run(motion, terrain, band, readable=True, frames=90).times()[0]
        print(f"  readable {np.median(slow):6.0f} µs   bar 3000, stretch 1000", flush=True)


def main() -> None:
    warnings.simplefilter("ignore", MotionWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    paths = parser.parse_args().files or [sample_path(n) for n in sample_names()]
    Run(load(paths[0]), "rough:0.2,1", 0.05, frames=20).times()  # compile or load compiled code
    for path in paths:
        show(path)


if __name__ == "__main__":
    main()
