"""Balance

A figure stands on its own feet and is pushed twice. It has only a list of objectives for each step: keep the feet where
they are, bring the center of mass back over them, keep the pose, do not spin, use little torque. One constraint makes
it physical: no external force acts at the root. There is no clip and no filter; any list for `solve_step` is a
controller.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import poise
from poise.physics import Model, State
from poise.step import Contacts, Equal, Objective, Step, solve_step
from poise.step import quantities as y
from standing import standing_figure

Array = npt.NDArray[np.float64]

DT, SECONDS = 1.0 / 100.0, 5.0
SHOVES = ((1.0, (0.0, -160.0, 0.0)), (3.0, (100.0, 0.0, 0.0)))  # start [s] and force [N], for 0.2 s at the chest
WEIGHTS = {"feet": 50.0, "center of mass": 20.0, "pose": 1.0, "spin": 0.02, "effort": 1e-4, "contact": 1e-6}


def stand(character: poise.Character, model: Model, start: Array) -> tuple[Array, Array]:
    """Center of mass over time (T, 3) [m], and the largest root wrench of each step (T,) [N, N m]."""
    state, q, v = State(model).at(start, np.zeros(model.nv)), start, np.zeros(model.nv)
    feet = np.array([i for i, p in enumerate(character.contact_points) if p.part == "foot"])
    up, axes = np.tile([0.0, 0.0, 1.0], (len(feet), 1)), np.tile(np.eye(3), (len(feet), 1, 1))
    ground, chest = (
        state.points[feet] * [1.0, 1.0, 0.0] + [0.0, 0.0, character.floor],
        character.body_index("chest") + 1,
    )
    path, wrenches = [], []
    for k in range(round(SECONDS / DT)):
        state.at(q, v)
        path.append(state.com())
        force = sum((np.array(f) for t, f in SHOVES if t <= k * DT < t + 0.2), np.zeros(3))
        low = state.points[feet, 2] < character.floor + 0.01
        push = state.external_torque(chest, state.data.xipos[chest], force)
        step = Step(state, Contacts(feet[low], up[low]), dt=DT, external=push)
        over = 9.0 * (ground.mean(axis=0) - path[-1]) - 6.0 * state.com_jacobian() @ v
        sole = 400.0 * (ground - state.points[feet]) - 40.0 * state.point_velocities[feet]
        posture = 100.0 * model.difference(q, start, 1.0) - 20.0 * v
        wishes: dict[str, tuple[y.Quantity, Array | float]] = {
            "feet": (y.PointAcceleration(feet, axes), sole.ravel()),
            "center of mass": (y.ComAcceleration("xy"), over[:2]),
            "pose": (y.JointAcceleration((3, None)), posture[3:]),
            "spin": (y.AngularMomentumRate(), -5.0 * state.data.angular_momentum(1)),
            "effort": (y.JointTorque((6, None)), 0.0),
            "contact": (y.ContactCoefficients(), 0.0),
        }
        objectives = [Objective(what, wish, WEIGHTS[name], name) for name, (what, wish) in wishes.items()]
        result = solve_step(step, objectives, [Equal(y.RootWrench(), 0.0)], costs=False)
        wrenches.append(np.abs(result.torque[:6]).max())
        v = v + DT * result.a
        q = model.integrate(q, v, DT)
    return np.array(path), np.array(wrenches)


def check(path: Array, wrenches: Array) -> None:
    """Nothing held the root; each shove was felt and answered within two seconds."""
    assert wrenches.max() < 1e-6
    for start, _ in SHOVES:
        sway = np.linalg.norm(path[round(start / DT) :] - path[round(start / DT) - 1], axis=1)
        assert sway[:60].max() > 0.01 > 2.0 * sway[190]


if __name__ == "__main__":
    path, wrenches = stand(*standing_figure())
    print("Weights:", ", ".join(f"{name} {weight:g}" for name, weight in WEIGHTS.items()))
    print(
        f"The root was held by {wrenches.max():.0e} N; the body swayed {100 * np.ptp(path[90:], axis=0).max():.1f} cm."
    )
    check(path, wrenches)
