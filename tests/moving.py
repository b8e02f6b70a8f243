"""Check by moving: every quantity of the step problem beside what is measured along a motion with acceleration a.

`MEASURED` holds for each class of quantity which instances to try and how to measure one without using its rows. A
quantity of `poise.step.quantities` that has no entry here fails `test_quantities.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from poise.step import Contacts, Quantity, Step
from poise.step.contacts import tangents
from poise.step.quantities import (
    AngularMomentumRate,
    AxisAcceleration,
    BodyAngularAcceleration,
    ComAcceleration,
    ContactAcceleration,
    ContactCoefficients,
    ContactForce,
    JointAcceleration,
    JointTorque,
    PlaceAcceleration,
    PointAcceleration,
    RootWrench,
)
from poise.step.step import checked_points
from tests.oracle import Oracle, moving

Array = npt.NDArray[np.float64]

T = 1e-5
"""Half the time of a central difference [s]: truncation T² and rounding 1e-16 / T are both about 1e-10."""


class Entry(NamedTuple):
    """Instances of a quantity worth trying on a step, and the measured value of one of them."""

    instances: Callable[[Step], list[Any]]
    measured: Callable[[Any, Step, Array, Array], Array]


def rate(step: Step, a: Array, value: Callable[[Oracle], Array]) -> Array:
    """Central difference of a value that MuJoCo measures, along the motion with acceleration a."""
    oracle = Oracle(step.state.model)
    ends = [value(oracle.at(*moving(step.state.model, step.state, a, side))).copy() for side in (T, -T)]
    return (ends[0] - ends[1]) / (2.0 * T)


def trees(step: Step) -> range:
    return range(len(step.state.model.roots))


def contact_forces(contacts: Contacts, coefficients: Array) -> Array:
    """Force of each contact from its own definition: pyramids n ± μ t, grips ± n, ± t."""
    forces, at = np.zeros((contacts.count, 3)), 0
    first, second = tangents(contacts.normals)
    for k in range(contacts.count):
        n, t1, t2 = contacts.normals[k], first[k], second[k]
        if contacts.grips is not None and contacts.grips[k]:
            columns = [n, t1, t2, -n, -t1, -t2]
        else:
            mu = contacts.friction
            columns = [n + mu * t1, n - mu * t1, n + mu * t2, n - mu * t2]
        for column in columns:
            forces[k] += coefficients[at] * column
            at += 1
    assert at == len(coefficients)
    return forces


def joint_torque(step: Step, a: Array, coefficients: Array) -> Array:
    """Inverse dynamics by mj_inverse, contact forces put on with mj_applyFT."""
    state, contacts = step.state, step.contacts
    oracle = Oracle(state.model).of(state)
    torque = oracle.inverse(a) - step.external
    for k, force in enumerate(contact_forces(contacts, coefficients)):
        point = int(contacts.points[k])
        torque -= oracle.applied(int(state.point_body[point]), state.points[point], force)
        other = -1 if contacts.others is None else int(contacts.others[k])
        if other >= 0:
            torque += oracle.applied(int(state.point_body[other]), state.points[other], force)
    return torque


def _com_velocity(quantity: ComAcceleration, step: Step) -> Callable[[Oracle], Array]:
    model = step.state.model
    root = model.roots[quantity.of]
    bodies = [b for b in range(1, model.body_count) if model.tree_root[b] == root and b not in quantity.without]

    def value(oracle: Oracle) -> Array:
        velocities = np.array([oracle.jacobians(b, oracle.d.xipos[b])[0] @ oracle.d.qvel for b in bodies])
        masses = oracle.m.body_mass[bodies]
        return (masses @ velocities)[["xyz".index(c) for c in quantity.axes]] / masses.sum()

    return value


def _root_dofs(quantity: RootWrench, step: Step) -> slice:
    model = step.state.model
    first = int(model.dof_first[model.roots[quantity.of]])
    return slice(first, first + 6)


def _point_rates(quantity: PointAcceleration, step: Step, a: Array) -> Array:
    state = step.state
    here = Oracle(state.model).of(state)
    out: list[Array] = []
    points = state.model.point_indices(checked_points(quantity.points, "points"), "points")
    for axes, point in zip(quantity.axes, points.tolist(), strict=True):
        body = int(state.point_body[point])
        offset = here.offset(body, state.points[point])
        out.append(axes @ rate(step, a, lambda o, body=body, offset=offset: o.place_velocity(body, offset)))
    return np.concatenate(out)


def _relative_rates(quantity: ContactAcceleration, step: Step, a: Array) -> Array:
    state, out = step.state, []
    here = Oracle(state.model).of(state)
    for axes, *pair in zip(quantity.axes, quantity.points, quantity.others, strict=True):
        sides = [np.zeros(3), np.zeros(3)]
        for side, point in enumerate(pair):
            if point >= 0:
                body = int(state.point_body[point])
                offset = here.offset(body, state.points[point])
                sides[side] = rate(step, a, lambda o, body=body, offset=offset: o.place_velocity(body, offset))
        out.append(axes @ (sides[0] - sides[1]))
    return np.concatenate(out)


def _axis_rates(quantity: AxisAcceleration, step: Step, a: Array) -> Array:
    """Rate of the axis's own velocity ω × u."""
    body = step.state.model.body(quantity.body)

    def value(oracle: Oracle) -> Array:
        turn = oracle.jacobians(body, np.zeros(3))[1] @ oracle.d.qvel
        return np.cross(turn, oracle.d.xmat[body].reshape(3, 3) @ quantity.axis)

    measured = rate(step, a, value)
    return measured if quantity.along is None else quantity.along @ measured


def _forces_on_points(quantity: ContactForce, step: Step, coefficients: Array) -> Array:
    forces = contact_forces(step.contacts, coefficients)
    return np.concatenate([forces[step.contacts.points == point].sum(axis=0) for point in quantity.points])


def _joint_rates(quantity: JointAcceleration, step: Step, a: Array) -> Array:
    """Second difference of the coordinates themselves, which needs a longer time than a first difference."""
    model, q, t = step.state.model, step.state.q, 1e-3
    after, before = (moving(model, step.state, a, side)[0] for side in (t, -t))
    measured = (model.difference(q, after, t) - model.difference(before, q, t)) / t
    return measured[slice(*quantity.dofs)] if quantity.along is None else quantity.along @ measured


def _some_pairs(step: Step) -> list[ContactAcceleration]:
    rng = np.random.default_rng(8)
    count = step.state.model.point_count
    points = np.arange(count)
    turned = np.stack([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in points])
    return [
        ContactAcceleration(points, np.where(points % 2 == 0, -1, (points + 1) % count), turned),
        ContactAcceleration(points, points[::-1].copy(), turned[:, :1]),
        ContactAcceleration(points, np.full(count, -1), turned[:, 1:]),
    ]


def _some_axes(step: Step) -> list[PointAcceleration]:
    rng = np.random.default_rng(7)
    points = np.arange(step.state.model.point_count)
    turned = np.stack([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in points])
    return [
        PointAcceleration(points, np.tile(np.eye(3), (len(points), 1, 1))),
        PointAcceleration(points, turned),
        PointAcceleration(points[::-1], turned[:, 2:]),
        PointAcceleration(np.array([1, 1]), turned[:2]),
    ]


MEASURED: dict[type[Quantity], Entry] = {
    ComAcceleration: Entry(
        lambda s: [
            ComAcceleration(axes, of=k, without=without)
            for k in trees(s)
            for axes in ("xyz", "zx")
            for without in ((), (s.state.model.roots[k] + 1, s.state.model.roots[k] + 3))
        ],
        lambda quantity, s, a, _: rate(s, a, _com_velocity(quantity, s)),
    ),
    AngularMomentumRate: Entry(
        lambda s: [AngularMomentumRate(of=k) for k in trees(s)],
        lambda quantity, s, a, _: rate(s, a, lambda o: o.d.subtree_angmom[s.state.model.roots[quantity.of]]),
    ),
    BodyAngularAcceleration: Entry(
        lambda s: [
            BodyAngularAcceleration(),
            BodyAngularAcceleration(3),
            BodyAngularAcceleration(s.state.model.body_name(2)),
        ],
        lambda quantity, s, a, _: rate(
            s,
            a,
            lambda o: np.concatenate(
                [
                    o.jacobians(b, np.zeros(3))[1] @ o.d.qvel
                    for b in (range(1, o.m.nbody) if quantity.body is None else [quantity.index(s)])
                ]
            ),
        ),
    ),
    PlaceAcceleration: Entry(
        lambda s: [PlaceAcceleration(b, np.array([0.1, -0.2, 0.3])) for b in range(1, s.state.model.body_count)],
        lambda quantity, s, a, _: rate(s, a, lambda o: o.place_velocity(quantity.body, quantity.offset)),
    ),
    PointAcceleration: Entry(_some_axes, lambda quantity, s, a, _: _point_rates(quantity, s, a)),
    ContactAcceleration: Entry(_some_pairs, lambda quantity, s, a, _: _relative_rates(quantity, s, a)),
    AxisAcceleration: Entry(
        lambda s: [
            AxisAcceleration(b, np.array([0.48, -0.6, 0.64]), along)
            for b in range(1, s.state.model.body_count)
            for along in (None, np.array([[0.0, 0.6, 0.8]]))
        ],
        lambda quantity, s, a, _: _axis_rates(quantity, s, a),
    ),
    JointAcceleration: Entry(
        lambda s: [
            JointAcceleration(),
            JointAcceleration((6, None)),
            JointAcceleration((3, 7)),
            JointAcceleration(along=np.random.default_rng(3).normal(size=(2, s.nv))),
        ],
        lambda quantity, s, a, _: _joint_rates(quantity, s, a),
    ),
    JointTorque: Entry(
        lambda _: [JointTorque(), JointTorque((6, None)), JointTorque((2, 5))],
        lambda quantity, s, a, coefficients: joint_torque(s, a, coefficients)[slice(*quantity.dofs)],
    ),
    RootWrench: Entry(
        lambda s: [RootWrench(of=k) for k in trees(s)],
        lambda quantity, s, a, coefficients: joint_torque(s, a, coefficients)[_root_dofs(quantity, s)],
    ),
    ContactForce: Entry(
        lambda s: [ContactForce(np.arange(s.state.model.point_count)), ContactForce(np.array([1]))],
        lambda quantity, s, _, coefficients: _forces_on_points(quantity, s, coefficients),
    ),
    ContactCoefficients: Entry(lambda _: [ContactCoefficients()], lambda _, __, ___, coefficients: coefficients),
}
