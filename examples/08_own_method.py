"""Your own method on a clip

A whole method in thirty lines: a figure follows the walk of an actor by its own strength. A list says what follows:
hands, feet and head with their turns, root, pose, center of mass, angular momentum; a servo makes an objective of each,
with the actor's velocity and acceleration as feed-forward. One constraint makes it physical: no external force at the
root. Each line has a share of importance, which `unit_weight` turns into a weight: units differ by orders of magnitude.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import poise
from poise.physics import State, Trajectory, model_of, trajectory
from poise.show import record
from poise.step import Contacts, Equal, Objective, Step, follow, solve_step, unit_weight
from poise.step import quantities as y

OUT = Path(tempfile.mkdtemp()) if "--headless" in sys.argv else Path("out")
DT = 1.0 / 120.0
ENDS = {"left_hand": 1.0, "right_hand": 1.0, "left_foot": 10.0, "right_foot": 10.0, "head": 1.0}
LIST: dict[str, tuple[y.Quantity, float, float]] = {  # what follows, its frequency [rad/s] and its share
    **{name: (y.PlaceAcceleration(name), 20.0, share) for name, share in ENDS.items()},
    **{f"turn of {name}": (y.BodyAngularAcceleration(name), 20.0, 1.0) for name in ENDS},
    "root": (y.JointAcceleration((0, 6)), 5.0, 1.0),
    "pose": (y.JointAcceleration((6, None)), 10.0, 0.1),
    "center of mass": (y.ComAcceleration("xy"), 3.0, 20.0),
    "angular momentum": (y.AngularMomentumRate(), 3.0, 0.1),
}


def method(clip: Trajectory, character: poise.Character, push: tuple[float, float, float]) -> tuple[np.ndarray, float]:
    """Coordinates of every step (F, nq), pushed at the chest [N] from 1 to 1.2 s, and the largest root wrench."""
    model = model_of(character)
    state, actor, q, v = State(model), State(model), clip.q[0], clip.v[0]
    path, wrench, contact = [q], 0.0, y.ContactCoefficients()
    first = Step(state.at(q, v), Contacts.on_floor(state, character.floor), dt=DT)
    weights = {name: row[2] * unit_weight(first, row[0], length=character.leg_length) for name, row in LIST.items()}
    light = 1e-4 * unit_weight(first, contact, length=character.leg_length)
    for k, time in enumerate(clip.times[:-1]):
        state.at(q, v)
        actor.at(clip.q[k], clip.v[k])
        force = np.array(push) if 1.0 <= time < 1.2 else np.zeros(3)
        external = state.external_torque("chest", state.body_place("chest"), force)
        step = Step(state, Contacts.on_floor(state, character.floor), dt=DT, external=external)
        objectives = [
            follow(step, quantity, actor, clip.a[k], frequency=frequency, weight=weights[name], label=name)
            for name, (quantity, frequency, _) in LIST.items()
        ]
        objectives.append(Objective(contact, 0.0, light, "contact"))
        result = solve_step(step, objectives, [Equal(y.RootWrench(), 0.0)], costs=False)
        v = v + DT * result.a
        q = model.integrate(q, v, DT)
        path, wrench = [*path, q], max(wrench, float(np.abs(result.torque[:6]).max()))
    return np.array(path), wrench


def check(off: np.ndarray, wrench: float) -> None:
    """Nothing held the root; the figure follows to a centimeter, is shoved aside, and comes back."""
    assert wrench < 1e-6
    assert off[:120].max() < 0.01 < off.max() < 0.2
    assert off[-1] < 0.02


if __name__ == "__main__":
    motion = poise.load(poise.sample_path("walk")).cut(0.0, 3.0)
    character = poise.Character.fit(motion)
    clip = trajectory(motion, character, DT)
    path, wrench = method(clip, character, push=(0.0, 150.0, 0.0))
    OUT.mkdir(exist_ok=True)
    poise.save(mine := poise.q_to_motion(character, path, DT), OUT / "own_method.bvh")
    record(poise.scene_of_motion(mine), OUT / "own_method.png", times=[0.5, 1.1, 1.3, 2.0])
    off = np.linalg.norm(path[:, :3] - clip.q[:, :3], axis=1)
    print(f"Pelvis off the clip: {100 * off.max():.1f} cm at most; root held by {wrench:.0e} N. See {OUT}.")
    check(off, wrench)
