"""Follow points

A figure follows five given points, for two hands, two feet and the head: the feet stand, the head sways and dips, the
hands draw circles. Physics decides the rest: no external force acts at the root, and an objective reduces the angular
momentum. There is no clip and no filter, only one list of objectives for `solve_step`.
"""

from __future__ import annotations

import numpy as np

import poise
from poise.physics import Model, State
from poise.step import Contacts, Equal, Objective, Step, solve_step
from poise.step import quantities as y
from standing import standing_figure

DT, SECONDS = 1.0 / 100.0, 4.0
ENDS = {"left_hand": 5.0, "right_hand": 5.0, "left_foot": 40.0, "right_foot": 40.0, "head": 10.0}
WEIGHTS = {**ENDS, "soles": 20.0, "center of mass": 20.0, "pose": 0.3, "spin": 0.05, "contact": 1e-6}


def given(name: str, start: np.ndarray, time: float) -> np.ndarray:
    """Where a point should be [m], shape (3,); all start where they are."""
    turn, fade = 2.0 * np.pi * 0.5 * time, min(1.0, time)
    if name.endswith("hand"):
        side = 1.0 if name == "left_hand" else -1.0
        return start + 0.12 * fade * np.array([side * np.sin(turn), -0.5, 1.0 - np.cos(turn)])
    return start + (fade * np.array([0.05 * np.sin(turn), 0.0, -0.04]) if name == "head" else 0.0)


def follow(character: poise.Character, model: Model, q: np.ndarray) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Largest miss of each point [m], the angular momentum (T, 3) [kg m²/s], and the root wrench of each step (T,)."""
    state, v, start = State(model).at(q, np.zeros(model.nv)), np.zeros(model.nv), q
    bodies = {name: character.body_index(name) + 1 for name in ENDS}
    places = {name: state.data.xpos[body].copy() for name, body in bodies.items()}
    soles = np.array([i for i, p in enumerate(character.contact_points) if p.part == "foot"])
    up = np.tile([0.0, 0.0, 1.0], (len(soles), 1))
    middle = state.points[soles].mean(axis=0)
    miss, spins, wrenches = dict.fromkeys(ENDS, 0.0), [], []
    for k in range(round(SECONDS / DT)):
        state.at(q, v)
        over = 9.0 * (middle - state.com()) - 6.0 * state.com_jacobian() @ v
        flat = -400.0 * (state.points[soles, 2] - character.floor) - 40.0 * state.point_velocities[soles, 2]
        spins.append(state.data.angular_momentum(1))
        wishes: dict[str, tuple[y.Quantity, np.ndarray | float]] = {
            "soles": (y.PointAcceleration(soles, up[:, None]), flat),
            "center of mass": (y.ComAcceleration("xy"), over[:2]),
            "pose": (y.JointAcceleration((3, None)), (40.0 * model.difference(q, start, 1.0) - 13.0 * v)[3:]),
            "spin": (y.AngularMomentumRate(), -5.0 * spins[-1]),
            "contact": (y.ContactCoefficients(), 0.0),
        }
        for name, body in bodies.items():
            here, (speed, _) = state.data.xpos[body].copy(), state.body_point_motion(body, state.data.xpos[body])
            before, now, after = (given(name, places[name], k * DT + t) for t in (-DT, 0.0, DT))
            servo = 400.0 * (now - here) + 40.0 * ((after - before) / (2.0 * DT) - speed)
            wishes[name] = (y.PlaceAcceleration(body, np.zeros(3)), (after - 2.0 * now + before) / DT**2 + servo)
            miss[name] = max(miss[name], float(np.linalg.norm(now - here)))
        low = state.points[soles, 2] < character.floor + 0.01
        step = Step(state, Contacts(soles[low], up[low]), dt=DT)
        objectives = [Objective(what, wish, WEIGHTS[name], name) for name, (what, wish) in wishes.items()]
        result = solve_step(step, objectives, [Equal(y.RootWrench(), 0.0)], costs=False)
        wrenches.append(np.abs(result.torque[:6]).max())
        q, v = model.integrate(q, v + DT * result.a, DT), v + DT * result.a
    return miss, np.array(spins), np.array(wrenches)


def check(miss: dict[str, float], spins: np.ndarray, wrenches: np.ndarray) -> None:
    """Nothing held the root, the feet stood, and the other points were met within a hand's breadth."""
    assert wrenches.max() < 1e-6
    assert max(miss["left_foot"], miss["right_foot"]) < 0.02 < max(miss.values()) < 0.1
    assert np.abs(spins).max() < 3.0


if __name__ == "__main__":
    answer = follow(*standing_figure())
    print("Weights:", ", ".join(f"{name} {weight:g}" for name, weight in WEIGHTS.items()))
    print("Largest miss:", ", ".join(f"{name} {100 * size:.1f} cm" for name, size in answer[0].items()))
    check(*answer)
