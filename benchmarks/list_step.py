"""Time of a step of one's own list over a frame of the filter: `python -m benchmarks.list_step`.

The list: no wrench on the root, exactly; the rate of the angular momentum; servos of eight places (hands, feet,
elbows, knees), orientations of all bodies, joint torques and contact coefficients, on the bundled walk as the actor.
State, list, solve and integration are counted; the bar is the ratio to a frame of the filter on the same clip, pushed.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

from benchmarks.step import ACTIVE, Run, band_for, fastest
from poise.core.typing import Array
from poise.io import load
from poise.physics import State
from poise.samples import sample_path
from poise.step import Contacts, Equal, Objective, Step, solve_step
from poise.step import quantities as y

PLACES = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("hand", "elbow", "foot", "knee"))


def times(run: Run) -> Array:
    """Microseconds of each step of the list, from the clip's own states."""
    character, figure = run.character, run.figure
    model, dt = figure.model, run.dt
    state, there = State(model), State(model)
    bodies = [character.body_index(name) + 1 for name in PLACES]
    count = model.body_count - 1
    # what is asked is made once, as in examples/08_own_method.py; how much of it, in every step
    torque, pose, contact, spin = (
        y.JointTorque((6, None)),
        y.BodyAngularAcceleration(),
        y.ContactCoefficients(),
        y.AngularMomentumRate(),
    )
    places, root = [y.PlaceAcceleration(name) for name in PLACES], Equal(y.RootWrench(), 0.0)
    feet = np.array([i for i, p in enumerate(character.contact_points) if p.part == "foot"])
    up = np.tile([0.0, 0.0, 1.0], (len(feet), 1))
    rng, out = np.random.default_rng(0), []
    clock = time.thread_time_ns
    for k in range(60, len(run.q) - 1, 2):
        a = (run.v[k + 1] - run.v[k]) / dt
        reference = run.builder.frame(run.q[k], run.v[k], a, run.schedule.touch(k))
        there.at(run.q[k], run.v[k])
        targets = [there.data.xpos[body].copy() for body in bodies]
        q = model.integrate(run.q[k], 0.02 * rng.normal(size=model.nv), 1.0)
        began = clock()
        state.at(q, run.v[k])
        low = state.points[feet, 2] < figure.floor + 0.05
        step = Step(state, Contacts(feet[low], up[low]), dt=dt)
        turn = reference.angular_accelerations[1:] - 10.0 * (state.data.cvel[1:, :3] - reference.angular_velocities[1:])
        objectives = [
            Objective(torque, reference.torque[6:], 1e-3, "torque"),
            Objective(pose, turn.reshape(3 * count), 1.0, "pose"),
            Objective(contact, 0.0, 1e-6, "contact"),
        ]
        speeds = state.body_velocities(np.array(bodies), state.data.xpos[bodies])
        servos = 400.0 * (np.array(targets) - state.data.xpos[bodies]) - 40.0 * speeds
        objectives += [Objective(place, servo, 5.0, "place") for place, servo in zip(places, servos, strict=True)]
        objectives.append(Objective(spin, -5.0 * state.data.angular_momentum(1), 0.05, "spin"))
        constraints = [root] if step.contacts.count else []
        result = solve_step(step, objectives, constraints, costs=False)
        model.integrate(q, run.v[k] + dt * result.a, dt)
        out.append(clock() - began)
    return np.array(out) / 1e3


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    motion = load(sample_path("walk"))
    band = band_for(motion, "flat", ACTIVE)
    Run(motion, "flat", band, frames=90).times()
    own, frame = times(Run(motion, "flat", band)), fastest(motion, "flat", band, runs=2)[0]
    for _ in range(3):  # interleaved
        own = np.minimum(own, times(Run(motion, "flat", band)))
        frame = np.minimum(frame, fastest(motion, "flat", band, runs=1)[0])
    mine, theirs = np.median(own), np.median(frame)
    print(f"list of {4 + len(PLACES)} objectives with an exact root and angular momentum: {mine:.0f} µs")
    print(f"frame of the filter: {theirs:.0f} µs; ratio {mine / theirs:.2f}   bar 1.5, stretch 1.2")


if __name__ == "__main__":
    main()
