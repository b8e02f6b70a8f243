"""Several characters in one model, roving points, and contacts between two bodies."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from poise.body.character import ball, figure
from poise.core.errors import InvalidValue
from poise.physics import Model, State, model_of, model_of_scene
from poise.step import Contacts, Equal, Objective, Step, solve_step
from poise.step.quantities import ContactAcceleration, ContactCoefficients, JointTorque, RootWrench
from tests.figures import holding_hands, random_state
from tests.moving import T
from tests.oracle import Oracle, moving

Array = npt.NDArray[np.float64]

BODIES = np.array([3, 0, 17, 3])
"""Where the rovers of the tests sit: two on one body, one on the world, one on the second figure."""


def roving(seed: int = 4, rovers: int = 4) -> State:
    """Two figures holding hands, in a random state, with rovers on `BODIES`."""
    plain = holding_hands()
    state = random_state(Model(plain.xml, plain.points, rovers), seed)
    state.place_rovers(0, BODIES[:rovers], places(seed))
    return state


def places(seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=(len(BODIES), 3))


def test_a_rover_is_a_point_of_its_body() -> None:
    state = roving()
    oracle, first = Oracle(state.model).of(state), state.model.point_count - 4
    for k, body in enumerate(BODIES):
        i, place = first + k, places(4)[k]
        jacobian = oracle.jacobians(int(body), place)[0]
        np.testing.assert_allclose(state.points[i], place, atol=1e-12)
        np.testing.assert_allclose(state.centers[i], place, atol=1e-12)
        np.testing.assert_allclose(state.point_jacobians[3 * i : 3 * i + 3], jacobian, atol=1e-12)
        np.testing.assert_allclose(state.point_velocities[i], jacobian @ state.v, atol=1e-11)
        bias = oracle.jacobian_rates(int(body), place)[0] @ state.v
        np.testing.assert_allclose(state.point_biases[i], bias, atol=1e-10)
        rows, constants = state.point_rows(np.array([i]), np.eye(3)[None])
        np.testing.assert_allclose(rows, jacobian, atol=1e-12)
        np.testing.assert_allclose(constants, bias, atol=1e-10)


def test_a_rover_on_the_world_stands_still() -> None:
    state = roving()
    i = state.model.point_count - 3
    assert state.point_body[i] == 0
    assert not state.point_jacobians[3 * i : 3 * i + 3].any()
    assert not state.point_velocities[i].any()
    assert not state.point_biases[i].any()


def test_placing_before_and_after_touching_is_the_same() -> None:
    after, before = roving(), roving()
    before.move_to(before.q, before.v)
    before.place_rovers(0, BODIES, places(4))
    before.touch()
    for name in ("points", "centers", "point_velocities", "point_biases", "point_jacobians"):
        np.testing.assert_allclose(getattr(before, name), getattr(after, name), atol=1e-11)


def test_rovers_stay_on_their_bodies_when_the_state_moves() -> None:
    state = roving()
    offsets = [Oracle(state.model).of(state).offset(int(b), places(4)[k]) for k, b in enumerate(BODIES)]
    q, v = moving(state.model, state, np.zeros(state.model.nv), 0.1)
    state.at(q, v)
    oracle = Oracle(state.model).of(state)
    for k, (body, offset) in enumerate(zip(BODIES, offsets, strict=True)):
        np.testing.assert_allclose(state.points[state.model.point_count - 4 + k], oracle.place(int(body), offset))


def test_rovers_belong_to_the_state_and_not_to_the_model() -> None:
    one, other = roving(), State(roving().model)
    other.place_rovers(1, np.array([5]), np.zeros((1, 3)))
    assert one.point_body[-4:].tolist() == BODIES.tolist()
    assert not one.model.point_body[-4:].any()
    assert not one.model.point_offsets[-4:].any()
    plain = State(holding_hands())
    assert plain.point_body is plain.model.point_body
    assert plain.point_offsets is plain.model.point_offsets


def test_the_points_of_rovers_are_told_and_old_steps_are_stale() -> None:
    state = roving()
    step = Step(state, dt=0.01)
    count = state.model.point_count
    assert state.place_rovers(2, np.array([1, 2]), np.zeros((2, 3))).tolist() == [count - 2, count - 1]
    with pytest.raises(InvalidValue, match="earlier state"):
        step.require_current()


@pytest.mark.parametrize(("first", "count"), [(3, 2), (-1, 1), (0, 5)])
def test_more_rovers_than_there_are_are_refused(first: int, count: int) -> None:
    state = roving()
    with pytest.raises(InvalidValue, match="this model has 4"):
        state.place_rovers(first, np.ones(count, dtype=np.int64), np.zeros((count, 3)))
    with pytest.raises(InvalidValue, match="zero or more"):
        Model(state.model.xml, (), -1)


def test_several_characters_make_one_model_of_trees_in_order() -> None:
    adult, child, thing = figure(), figure("child"), ball("ball", 0.033, 0.058)
    model = model_of_scene((adult, child, thing), rovers=3)
    assert model.nv == adult.nv + child.nv + 6
    assert model.roots == (1, 1 + len(adult.bodies), 1 + len(adult.bodies) + len(child.bodies))
    assert [model.subtree_masses[r] for r in model.roots] == pytest.approx([adult.mass, child.mass, 0.058])
    assert [model.body_name(r) for r in model.roots] == ["1/Hips", "2/Hips", "3/ball"]
    assert len({p.name for p in model.points}) == model.point_count
    own = [*adult.contact_points, *child.contact_points, *thing.contact_points]
    assert model.point_count == len(own) + 3
    for point, mine in zip(model.points, own, strict=False):
        assert point.name.endswith(f"/{mine.name}")
        assert model.body_name(point.body).endswith(
            f"/{(adult, child, thing)[int(point.name[0]) - 1].bodies[mine.body].name}"
        )
    named = model_of_scene((adult, child), names=("Ann & Co", "Ann & Co"))
    assert [named.body_name(r) for r in named.roots] == ["Ann & Co/Hips", "Ann & Co.2/Hips"]


def test_each_character_moves_in_a_scene_as_it_does_alone() -> None:
    parts = (figure(), figure("child"), ball("ball", 0.2, 3.0))
    states = [random_state(model_of(c), k) for k, c in enumerate(parts)]
    both = State(model_of_scene(parts, rovers=1)).at(
        np.concatenate([s.q for s in states]), np.concatenate([s.v for s in states])
    )
    dof, point = 0, 0
    for k, (state, root) in enumerate(zip(states, both.model.roots, strict=True)):
        dofs, points = slice(dof, dof + state.model.nv), slice(point, point + state.model.point_count)
        np.testing.assert_allclose(both.M[dofs, dofs], state.M, atol=1e-10)
        np.testing.assert_allclose(both.bias[dofs], state.bias, atol=1e-9)
        np.testing.assert_allclose(both.points[points], state.points, atol=1e-12)
        np.testing.assert_allclose(both.com(root), state.com(), atol=1e-12)
        assert not both.M[dofs, dofs.stop :].any(), k
        dof, point = dofs.stop, points.stop


def test_a_scene_needs_characters_and_a_name_for_each() -> None:
    with pytest.raises(InvalidValue, match="no character"):
        model_of_scene(())
    with pytest.raises(InvalidValue, match="2 characters have 1 names"):
        model_of_scene((figure(), figure()), names=("one",))


def test_a_ball_is_a_character() -> None:
    model = model_of(ball("tennis ball", 0.033, 0.058))
    state = State(model).at(np.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]), np.array([4.0, 0.0, 5.0, 0.0, 0.0, 6.0]))
    assert (model.nv, model.point_count, model.body_name(1)) == (6, 1, "tennis ball")
    np.testing.assert_allclose(state.points[0], [1.0, 2.0, 3.0 - 0.033])
    inertia = 0.4 * 0.058 * 0.033**2
    np.testing.assert_allclose(state.M, np.diag([0.058] * 3 + [inertia] * 3), atol=1e-15)
    for radius, mass in ((0.0, 1.0), (0.1, -1.0), (np.nan, 1.0)):
        with pytest.raises(InvalidValue, match="positive"):
            ball("ball", radius, mass)


# --- contacts between bodies


def joined(seed: int, *, kind: str, state: State | None = None) -> Contacts:
    """Rovers 0 and 2 (two figures) touching, and rover 3 against rover 1 (the world); sliding, gripping or plain."""
    state = state or roving(seed)
    first = state.model.point_count - 4
    normals = np.random.default_rng(seed).normal(size=(2, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    slips = np.cross(normals, np.random.default_rng(seed + 1).normal(size=(2, 3)))
    slips /= np.linalg.norm(slips, axis=1, keepdims=True)
    return Contacts(
        np.array([first, first + 3]), normals, np.array([0.7, 0.4]), others=np.array([first + 2, first + 1]),
        grips=np.array([kind in ("grip", "grip and slip"), False]),
        slips=slips * np.array([[kind == "slip"], [kind in ("slip", "grip and slip")]]),
    )  # fmt: skip


KINDS = ("plain", "grip", "slip", "grip and slip")


@pytest.mark.parametrize("kind", KINDS)
def test_one_is_pushed_as_the_other_is_pushed_back(kind: str) -> None:
    state = roving(5)
    contacts = joined(5, kind=kind, state=state)
    step = Step(state, contacts, dt=0.01)
    columns = {"plain": 8, "grip": 10, "slip": 2, "grip and slip": 7}[kind]
    assert step.coefficient_count == columns
    coefficients = 10.0 * np.random.default_rng(6).random(columns)
    forces = step.forces(coefficients)
    expected = np.zeros(state.model.nv)
    for k in range(2):
        for point, sign in ((contacts.points[k], 1.0), (contacts.others[k], -1.0)):  # pyright: ignore
            expected += sign * state.external_torque(int(state.point_body[point]), state.points[point], forces[k])
    np.testing.assert_allclose(coefficients @ step.force_map, expected, atol=1e-10)
    if kind in ("slip", "grip and slip"):
        along = contacts.normals[1] - 0.4 * contacts.slips[1]  # pyright: ignore[reportOptionalSubscript]
        np.testing.assert_allclose(forces[1], coefficients[-1] * along, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_contact_between_bodies_leaves_the_total_momentum_alone(kind: str) -> None:
    """Two points that coincide push each other and keep linear and angular momentum of both figures together."""
    state = roving(7)
    meeting = np.array([0.3, 0.2, 1.1])
    state.place_rovers(0, np.array([3, 0, 17, 3]), np.array([meeting, [5.0, 0.0, 0.0], meeting, meeting + 0.1]))
    contacts = joined(7, kind=kind, state=state)
    force_map = Step(state, contacts, dt=0.01).force_map
    coefficients = 50.0 * np.random.default_rng(8).random(len(force_map))
    coefficients[-(1 if "slip" in kind else 4) :] = 0.0  # the contact with the world, which takes momentum away
    assert np.abs(coefficients @ force_map).max() > 1.0
    # the generalized force of any rigid motion of everything together is the rate of total momentum
    total, model = np.zeros(6), state.model
    for root in model.roots:
        dof = int(model.dof_first[root])
        rotation = state.data.xmat[root].reshape(3, 3)
        force = (coefficients @ force_map)[dof : dof + 3]
        moment = rotation @ (coefficients @ force_map)[dof + 3 : dof + 6]
        total[:3] += force
        total[3:] += moment + np.cross(state.data.xpos[root], force)
    np.testing.assert_allclose(total, 0.0, atol=1e-9)


def test_contact_acceleration_is_the_rate_of_the_relative_velocity() -> None:
    state = roving(9)
    model, count = state.model, state.model.point_count
    points, others = np.array([count - 4, count - 1, 0, count - 3]), np.array([count - 2, count - 3, -1, 2])
    axes = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 3, 3)))[0]
    a = np.random.default_rng(2).normal(size=model.nv)
    rows = ContactAcceleration(points, others, axes).rows(Step(state, dt=0.01))
    here = Oracle(model).of(state)

    def relative(side: float) -> Array:
        oracle = Oracle(model).at(*moving(model, state, a, side))
        out: list[Array] = []
        for k in range(4):
            pair = [int(i) for i in (points[k], others[k]) if i >= 0]
            speeds = [
                oracle.place_velocity(b, here.offset(b, state.points[i]))
                for i in pair
                if (b := int(state.point_body[i]))
            ]
            signs = [1.0 if i == points[k] else -1.0 for i in pair if state.point_body[i]]
            out.append(axes[k] @ sum((s * u for s, u in zip(signs, speeds, strict=True)), np.zeros(3)))
        return np.concatenate(out)

    measured = (relative(T) - relative(-T)) / (2.0 * T)
    np.testing.assert_allclose(rows.on_a @ a + rows.c, measured, atol=1e-6 * np.abs(measured).max())


def test_a_hand_held_by_rovers_stays_where_the_other_holds_it() -> None:
    """A step with two figures in free flight, joined by a grip: the joined points accelerate alike."""
    state = roving(10)
    place = 0.5 * (state.data.xpos[3] + state.data.xpos[17])
    count = state.model.point_count
    points = state.place_rovers(0, np.array([3, 17]), np.stack([place, place]))
    contacts = Contacts(points[:1], np.array([[0.0, 0.6, 0.8]]), others=points[1:], grips=np.array([True]))
    step = Step(state, contacts, dt=0.01)
    held = ContactAcceleration(points[:1], points[1:], np.eye(3)[None])
    result = solve_step(
        step,
        [Objective(JointTorque(), 0.0, 1.0), Objective(ContactCoefficients(), 0.0, 1e-6)],
        [Equal(held, 0.0), Equal(RootWrench(0), 0.0), Equal(RootWrench(1), 0.0)],
    )
    jacobians = state.point_jacobians.reshape(count, 3, -1)[points]
    accelerations = jacobians @ result.a + state.point_biases[points]
    np.testing.assert_allclose(accelerations[0], accelerations[1], atol=1e-7)
    assert np.abs(result.forces).max() > 0.1
