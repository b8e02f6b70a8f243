"""Balance

A figure stands on its own feet and is pushed twice. It has only a list of objectives for each step: keep the feet where
they are, bring the center of mass back over them, keep the pose, do not spin, use little torque. One constraint makes
it physical: no external force acts at the root. There is no clip and no filter; any list for `solve_step` is a
controller.
"""

from __future__ import annotations

import numpy as np

import poise
from poise.physics import Model, State, model_of
from poise.step import Contacts, Equal, Objective, Step, servo, solve_step
from poise.step import quantities as y

DT, SECONDS = 1.0 / 100.0, 5.0
SHOVES = ((1.0, (0.0, -160.0, 0.0)), (3.0, (100.0, 0.0, 0.0)))  # start [s] and force [N], for 0.2 s at the chest
WEIGHTS = {"feet": 50.0, "center of mass": 20.0, "pose": 1.0, "spin": 0.02, "effort": 1e-4, "contact": 1e-6}


def standing_figure() -> tuple[poise.Character, Model, np.ndarray]:
    """Character, its model, and coordinates in its rest pose, arms hanging as in the walk, shape (nq,)."""
    motion = poise.load(poise.sample_path("walk"))
    character = poise.Character.fit(motion)
    model, q = model_of(character), poise.motion_to_q(character, motion)[0]
    for body in {b for limb in character.limbs if limb.kind != "arm" for b in limb.bodies if b > 0}:
        at = character.q_addresses[body]
        q[at : at + 4] = motion.skeleton.rest_rotations[character.bodies[body].joint]
    q[2] -= State(model).at(q, np.zeros(model.nv)).points[:, 2].min() - character.floor
    return character, model, q


def stand(character: poise.Character, model: Model, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Center of mass over time (T, 3) [m], and the largest root wrench of each step (T,) [N, N m]."""
    state, q, v = State(model).at(start, np.zeros(model.nv)), start, np.zeros(model.nv)
    feet = Contacts.on_floor(state, character.floor).points
    axes, ground = np.tile(np.eye(3), (len(feet), 1, 1)), state.points[feet] * [1.0, 1.0, 0.0]
    ground[:, 2] = character.floor
    path, wrenches = [], []
    for k in range(round(SECONDS / DT)):
        state.at(q, v)
        path.append(state.com())
        force = sum((np.array(f) for t, f in SHOVES if t <= k * DT < t + 0.2), np.zeros(3))
        push = state.external_torque("chest", state.data.xipos[model.body("chest")], force)
        step = Step(state, Contacts.on_floor(state, character.floor, within=0.01), dt=DT, external=push)
        sole, over = (ground - state.points[feet]).ravel(), ground.mean(axis=0) - path[-1]
        bend = model.difference(q, start, 1.0)[3:]
        objectives = [
            servo(step, y.PointAcceleration(feet, axes), sole, frequency=20.0, weight=WEIGHTS["feet"]),
            servo(step, y.ComAcceleration("xy"), over[:2], frequency=3.0, weight=WEIGHTS["center of mass"]),
            servo(step, y.JointAcceleration((3, None)), bend, frequency=10.0, weight=WEIGHTS["pose"]),
            servo(step, y.AngularMomentumRate(), 0.0, frequency=2.5, weight=WEIGHTS["spin"]),
            Objective(y.JointTorque((6, None)), 0.0, WEIGHTS["effort"]),
            Objective(y.ContactCoefficients(), 0.0, WEIGHTS["contact"]),
        ]
        result = solve_step(step, objectives, [Equal(y.RootWrench(), 0.0)], costs=False)
        wrenches.append(np.abs(result.torque[:6]).max())
        v = v + DT * result.a
        q = model.integrate(q, v, DT)
    return np.array(path), np.array(wrenches)


def check(path: np.ndarray, wrenches: np.ndarray) -> None:
    """Nothing held the root; each shove was felt and answered within two seconds."""
    assert wrenches.max() < 1e-6
    for start, _ in SHOVES:
        sway = np.linalg.norm(path[round(start / DT) :] - path[round(start / DT) - 1], axis=1)
        assert sway[:60].max() > 0.01 > 2.0 * sway[190]


if __name__ == "__main__":
    path, wrenches = stand(*standing_figure())
    print("Weights:", WEIGHTS)
    sway = 100 * np.ptp(path[90:], axis=0).max()
    print(f"The root was held by {wrenches.max():.0e} N; the body swayed {sway:.1f} cm.")
    check(path, wrenches)
