"""The compiled loops and the state beside MuJoCo's own functions."""

# pyright: reportAttributeAccessIssue=false
# mujoco's own functions are compiled and carry no types
from __future__ import annotations

import mujoco
import numpy as np
import numpy.typing as npt
import pytest

from poise.core.errors import InvalidValue
from poise.physics import Model, State, bodies
from poise.physics.mujoco_backend import Point
from tests.figures import FIGURES, biped, chain, holding_hands, random_state
from tests.oracle import Oracle, moving

Array = npt.NDArray[np.float64]


def close(value: Array, expected: Array) -> bool:
    """Equal but for rounding: the same sums in another order, of values of order 1 … 100."""
    return bool(np.allclose(value, expected, rtol=1e-11, atol=1e-11))


@pytest.fixture(params=list(FIGURES))
def state(request: pytest.FixtureRequest) -> State:
    return random_state(FIGURES[request.param](), seed=11)


def _accelerations(oracle: Oracle, a: Array) -> Array:
    """Spatial accelerations of the bodies by MuJoCo, its upward start against gravity taken out, shape (B, 6)."""
    oracle.d.qacc[:] = a
    mujoco.mj_rnePostConstraint(oracle.m, oracle.d)
    out = oracle.d.cacc.copy()
    out[:, 3:] += oracle.m.opt.gravity
    return out


def test_body_accelerations(state: State) -> None:
    m = state.model
    a = np.random.default_rng(1).normal(size=m.nv)
    out = np.empty((m.body_count, 6))
    bodies.body_accelerations(state.pose, a, out)
    oracle = Oracle(m).of(state)
    assert close(out, _accelerations(oracle, a))
    assert close(state.body_biases, _accelerations(oracle, np.zeros(m.nv)))


def test_points(state: State) -> None:
    m = state.model
    oracle = Oracle(m).of(state)
    for i, point in enumerate(m.points):
        center = oracle.place(point.body, np.array(point.offset))
        place = center - np.array([0.0, 0.0, point.radius])
        jacobian = oracle.jacobians(point.body, place)[0]
        assert close(state.centers[i], center)
        assert close(state.points[i], place)
        assert close(state.point_jacobians[3 * i : 3 * i + 3], jacobian)
        assert close(state.point_velocities[i], jacobian @ state.v)
        assert close(state.point_biases[i], oracle.jacobian_rates(point.body, place)[0] @ state.v)


def test_points_lie_against_the_surface_normal(state: State) -> None:
    m = state.model
    normals = np.random.default_rng(3).normal(size=(m.point_count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    state.touch(normals)
    state.complete()
    assert m.point_radii.any()
    assert close(state.points, state.centers - m.point_radii[:, None] * normals)
    oracle = Oracle(m).of(state)
    for i, body in enumerate(m.point_body):
        jacobian = oracle.jacobians(int(body), state.points[i])[0]
        assert close(state.point_jacobians[3 * i : 3 * i + 3], jacobian)


def test_places_on_bodies(state: State) -> None:
    m = state.model
    oracle = Oracle(m).of(state)
    offset = np.array([0.2, -0.1, 0.3])
    for body in range(1, m.body_count):
        place = state.body_place(body, offset)
        assert close(place, oracle.place(body, offset))
        jacobian = oracle.jacobians(body, place)[0]
        velocity, bias = state.body_point_motion(body, place)
        assert close(state.body_jacobian(body, place), jacobian)
        assert close(velocity, jacobian @ state.v)
        assert close(bias, oracle.jacobian_rates(body, place)[0] @ state.v)


def test_external_force_is_what_mujoco_applies(state: State) -> None:
    oracle = Oracle(state.model).of(state)
    place, force = np.array([0.3, -0.2, 1.1]), np.array([40.0, -25.0, 70.0])
    for body in range(1, state.model.body_count):
        assert close(state.external_torque(body, place, force), oracle.applied(body, place, force))


def test_several_point_forces_add_up(state: State) -> None:
    m = state.model
    forces = np.random.default_rng(4).normal(size=(m.point_count, 3))
    forces[0] = 0.0
    out = np.empty(m.nv)
    bodies.point_torques(state.pose, m.point_body, state.points, forces, out)
    assert close(out, state.point_jacobians.T @ forces.ravel())
    few = np.arange(3) % m.point_count
    torque = np.sum([state.point_jacobians[3 * p + k] for k, p in enumerate(few)], axis=0)
    assert close(state.points_torque(few, np.eye(3)), torque)


def test_center_of_mass_of_each_tree(state: State) -> None:
    oracle = Oracle(state.model).of(state)
    for root in state.model.roots:
        jacobian = np.zeros((3, state.model.nv))
        mujoco.mj_jacSubtreeCom(oracle.m, oracle.d, jacobian, root)
        own = [b for b in range(1, state.model.body_count) if state.model.tree_root[b] == root]
        masses = oracle.m.body_mass[own]
        places = oracle.d.xipos[own]
        rates = [oracle.jacobian_rates(b, oracle.d.xipos[b])[0] @ state.v for b in own]
        assert state.mass(root) == pytest.approx(masses.sum(), rel=1e-14)
        assert close(state.com(root), masses @ places / masses.sum())
        assert close(state.com_jacobian(root), jacobian)
        assert close(state.com_jacobian(root) @ state.v, oracle.d.subtree_linvel[root])
        assert close(state.com_velocity(root), oracle.d.subtree_linvel[root])
        assert close(state.com_bias(root), masses @ np.array(rates) / masses.sum())
        kept = np.array([b not in (own[1], own[3]) for b in own])
        without = state.com_without(root, (own[1], own[3]))
        assert close(without, masses[kept] @ places[kept] / masses[kept].sum())


def test_angular_momentum(state: State) -> None:
    oracle = Oracle(state.model).of(state)
    for root in state.model.roots:
        assert close(state.angular_momentum_rows(root)[0] @ state.v, oracle.d.subtree_angmom[root])
        assert close(state.data.angular_momentum(root), oracle.d.subtree_angmom[root])


def test_mass_matrix_and_bias_are_inverse_dynamics(state: State) -> None:
    oracle, nv = Oracle(state.model).of(state), state.model.nv
    bias = oracle.inverse(np.zeros(nv))
    assert close(state.bias, bias)
    columns = np.array([oracle.inverse(column) - bias for column in np.eye(nv)]).T
    assert np.allclose(state.M, columns, rtol=1e-11, atol=1e-10)
    a = np.random.default_rng(5).normal(size=nv)
    assert close(state.data.inverse_dynamics(a), oracle.inverse(a))


def test_integration_and_difference_are_inverse_to_each_other(state: State) -> None:
    other, _ = moving(state.model, state, np.zeros(state.model.nv), 0.02)
    assert np.allclose(state.model.difference(state.q, other, 0.02), state.v, rtol=1e-12, atol=1e-12)


def test_turning_the_world_turns_the_points_and_nothing_else() -> None:
    model = chain()
    state = random_state(model, seed=12)
    turned_q = state.q.copy()
    turned_q[:3] = [-state.q[1], state.q[0], state.q[2]]
    half = np.sqrt(0.5)
    w, x, y, z = state.q[3:7]
    turned_q[3:7] = half * np.array([w - z, x - y, y + x, z + w])
    turned_v = state.v.copy()
    turned_v[:3] = [-state.v[1], state.v[0], state.v[2]]
    turned = State(model).at(turned_q, turned_v)
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    assert close(turned.points, state.points @ R.T)
    assert close(turned.point_biases, state.point_biases @ R.T)
    assert close(turned.M[3:, 3:], state.M[3:, 3:])
    assert close(turned.bias[3:], state.bias[3:])


def test_two_trees_are_told_apart() -> None:
    model = holding_hands()
    assert len(model.roots) == 2
    assert model.body_name(model.roots[1]) == "b_pelvis"
    first, second = (State(model).mass(root) for root in model.roots)
    assert second == pytest.approx(first + 13.0)
    assert model.body_masses.sum() == pytest.approx(first + second)


def test_state_that_is_not_finite_is_refused_by_name() -> None:
    model = biped()
    state = State(model)
    v = np.zeros(model.nv)
    shin = model.body("left_shin")
    v[model.dof_first[shin]] = np.nan
    with pytest.raises(InvalidValue, match="left_shin"):
        state.at(model.q_rest(), v)
    q = model.q_rest()
    q[-1] = np.inf
    with pytest.raises(InvalidValue, match="tail_tip"):
        state.at(q, np.zeros(model.nv))


def test_model_that_cannot_be_compiled_and_body_that_is_not_there() -> None:
    with pytest.raises(InvalidValue, match="too small or too light"):
        Model("<mujoco><worldbody><body></mujoco>")
    with pytest.raises(InvalidValue, match="Bodies: pelvis"):
        biped().body("wing")


def test_points_keep_their_order() -> None:
    model = chain()
    again = Model(model.xml, [Point("only", 1, (0.0, 0.0, 0.1))])
    assert again.point_count == 1
    assert [p.name for p in model.points] == ["rod0.0", "rod4.1"]
