"""One step: the fast path beside the readable one, optimality proved anew, closed forms, refusals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import lsq_linear

from poise.core.errors import InvalidValue, StepInfeasible
from poise.physics import State
from poise.step import (
    AtLeast,
    Certificate,
    Constraint,
    Contacts,
    Equal,
    Objective,
    Quantity,
    RelativeWeight,
    Step,
    StepResult,
    Within,
    solve_step,
)
from poise.step.quantities import (
    AngularMomentumRate,
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PlaceAcceleration,
    PointAcceleration,
    RootWrench,
)
from tests.clips import first_cases
from tests.figures import (
    FIGURES,
    FOOT_POINTS,
    biped,
    chain,
    floor_contacts,
    holding_hands,
    pendulum,
    random_contacts,
    random_state,
)

Array = npt.NDArray[np.float64]


def random_step(figure: str, seed: int, contacts: int = 6, *, pushed: bool = True) -> Step:
    model = FIGURES[figure]()
    external = np.random.default_rng(seed).normal(size=model.nv) * 50.0 if pushed else None
    return Step(
        random_state(model, seed),
        random_contacts(model, seed, contacts) if contacts else None,
        dt=0.02,
        external=external,
    )


def _plain(weight: np.ndarray | float | RelativeWeight, step: Step) -> np.ndarray | float:
    """A weight as numbers."""
    return weight.value(step) if isinstance(weight, RelativeWeight) else weight


def desired(step: Step, seed: int) -> list[Objective]:
    """One objective of every kind, with targets drawn at random: a problem with one answer."""
    rng = np.random.default_rng(seed + 1000)
    model = step.state.model
    bodies = model.body_count - 1
    points = np.arange(model.point_count)
    axes = np.tile(np.eye(3), (len(points), 1, 1))
    objectives = [
        Objective(JointTorque(), 30.0 * rng.normal(size=step.nv), 0.02 + 0.1 * rng.random(step.nv)),
        Objective(
            BodyAngularAcceleration(), 5.0 * rng.normal(size=3 * bodies), np.repeat(rng.random(bodies), 3), "pose"
        ),
        Objective(JointAcceleration(), 5.0 * rng.normal(size=step.nv), 0.5 + rng.random(step.nv)),
        Objective(PointAcceleration(points, axes), rng.normal(size=3 * len(points)), 2.0, "ends"),
        Objective(PlaceAcceleration(2, np.array([0.1, 0.0, 0.1])), 1.0, 3.0),
        Objective(AngularMomentumRate(), 0.0, 0.5),
    ]
    if step.coefficient_count:
        objectives.append(Objective(ContactCoefficients(), 5.0 * rng.random(step.coefficient_count), 0.01))
    return objectives


def _value(quantity: Quantity, step: Step, result: StepResult) -> Array:
    rows = quantity.rows(step)
    force = 0.0 if rows.on_lambda is None else rows.on_lambda @ result.coefficients
    return rows.on_a @ result.a + force + rows.c


def _dense(quantity: Quantity, step: Step) -> Array:
    rows = quantity.rows(step)
    on_lambda = np.zeros((len(rows.c), step.coefficient_count)) if rows.on_lambda is None else rows.on_lambda
    return np.concatenate([rows.on_a, on_lambda], axis=1)


def assert_optimal(
    step: Step,
    objectives: Sequence[Objective],
    constraints: Sequence[Constraint],
    result: StepResult,
    tolerance: float = 1e-7,
) -> None:
    """Karush, Kuhn and Tucker's conditions, from the rows of the quantities alone.

    The gradient of the cost must be a combination of the gradients of what binds: any of an equality, only a positive
    one of a bound that is met or of a coefficient at zero.
    """
    size = step.nv + step.coefficient_count
    gradient, curvature, force = np.zeros(size), np.full(size, 1e-12), np.zeros(size)
    for objective in objectives:
        dense = _dense(objective.quantity, step)
        weight = np.broadcast_to(_plain(objective.weight, step), len(dense))
        gradient += dense.T @ (weight * (_value(objective.quantity, step, result) - objective.target))
        force += np.abs(dense.T @ (weight * (_value(objective.quantity, step, result) - objective.target)))
        curvature += weight @ dense**2
    binding: list[Array] = []
    free: list[bool] = []
    for constraint in constraints:
        dense, value = _dense(constraint.quantity, step), _value(constraint.quantity, step, result)
        if isinstance(constraint, Equal):
            assert np.abs(value - constraint.target).max() <= 1e-7 * (1.0 + np.abs(value).max())
            binding += list(dense)
            free += [True] * len(dense)
            continue
        sides = [(dense, value - constraint.lower)]
        if isinstance(constraint, Within):
            sides.append((-dense, constraint.upper - value))
        for rows, room in sides:
            if constraint.weight is not None:
                weight = np.broadcast_to(constraint.weight, len(rows))
                gradient += rows.T @ (weight * np.minimum(room, 0.0))
                curvature += (weight * (room < 0.0)) @ rows**2
            else:
                assert room.min() >= -1e-7 * (1.0 + np.abs(value).max())
                met = np.abs(room) <= 1e-6 * (1.0 + np.abs(value))
                binding += list(rows[met])
                free += [False] * int(met.sum())
    assert result.coefficients.min(initial=0.0) >= 0.0
    for k in np.flatnonzero(result.coefficients <= 1e-9 * (1.0 + result.coefficients.max(initial=0.0))):
        binding.append(np.eye(size)[step.nv + k])
        free.append(False)
    scale = 1.0 / np.sqrt(curvature)
    left = scale * gradient
    if binding:
        normals = np.array(binding) * scale
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        lower = np.where(free, -np.inf, 0.0)
        left = left - normals.T @ lsq_linear(normals.T, left, (lower, np.inf), tol=1e-14).x
    assert np.abs(left).max() <= tolerance * np.abs(scale * force).max()


def _apart(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max() / np.abs(b).max())


CONSTRAINTS: dict[str, Sequence[Constraint]] = {
    "free": [],
    "com": [Equal(ComAcceleration("xy"), np.array([0.3, -0.2]))],
    "com without bodies": [Equal(ComAcceleration("xyz", without=(2, 4)), 0.5)],
    "root wrench": [Equal(RootWrench(), 0.0)],
    "root wrench and com": [Equal(RootWrench(), 0.0), Equal(JointAcceleration((8, 9)), 1.0)],
    "place": [Equal(PlaceAcceleration(3, np.zeros(3)), np.array([1.0, 0.0, -1.0]))],
    "soft bounds": [
        AtLeast(JointAcceleration((6, 12)), 2.0, 40.0),
        Within(JointTorque((6, None)), -20.0, 30.0, 5.0),
        Equal(ComAcceleration("x"), 0.2),
    ],
    "soft bounds that hold anyway": [Within(JointAcceleration(), -1e4, 1e4, 10.0)],
    "hard bounds": [AtLeast(JointAcceleration((6, 12)), 1.0), Within(ComAcceleration("z"), -1.0, 1.5)],
    "hard and soft": [
        AtLeast(JointAcceleration((6, 10)), 1.0),
        Within(JointTorque((6, None)), -30.0, 30.0, 5.0),
        Equal(ComAcceleration("y"), -0.1),
    ],
}


@pytest.mark.parametrize("figure", FIGURES)
@first_cases(10, "name", CONSTRAINTS)
def test_both_paths_agree_and_are_optimal(figure: str, name: str) -> None:
    constraints = CONSTRAINTS[name]
    for seed in range(3):
        step = random_step(figure, seed, contacts=9)
        objectives = desired(step, seed)
        fast = solve_step(step, objectives, constraints)
        plain = solve_step(step, objectives, constraints, readable=True)
        assert plain.solver == "daqp"
        assert "hard" in name or fast.solver == "active set"
        # measured 1e-12 … 1e-10: daqp's own tolerance
        assert _apart(fast.a, plain.a) <= 1e-9
        assert _apart(fast.torque, plain.torque) <= 1e-9
        assert np.abs(fast.forces - plain.forces).max() <= 1e-8 * (1.0 + np.abs(plain.forces).max())
        for result in (fast, plain):
            assert_optimal(step, objectives, constraints, result)
            assert result.certificate.holds()
            assert result.certificate.dynamics <= 1e-9


def test_many_contacts_at_one_place() -> None:
    """Eight points of flat feet and each of them three times: 96 coefficients of rank 12."""
    state = random_state(biped(), seed=3, speed=0.5)
    step = Step(state, floor_contacts([*FOOT_POINTS] * 3), dt=0.02)
    assert step.coefficient_count == 96
    objectives = desired(step, seed=3)
    fast, plain = solve_step(step, objectives), solve_step(step, objectives, readable=True)
    assert np.linalg.matrix_rank(step.force_map, tol=1e-8) <= 12
    assert _apart(fast.a, plain.a) <= 1e-8
    assert_optimal(step, objectives, [], fast)


def test_warm_start_changes_the_time_and_not_the_answer() -> None:
    step = random_step("biped", 5, contacts=9)
    objectives, bounds = desired(step, 5), CONSTRAINTS["soft bounds"]
    cold = solve_step(step, objectives, bounds)
    warm = solve_step(step, objectives, bounds, warm=cold.coefficients > 0.0, warm_bounds=cold.bounds_active)
    wrong = solve_step(step, objectives, bounds, warm=cold.coefficients <= 0.0, warm_bounds=~cold.bounds_active)
    assert warm.solves < cold.solves
    for result in (warm, wrong):
        assert _apart(result.a, cold.a) <= 1e-10


def test_without_contacts() -> None:
    step = random_step("chain", 6, contacts=0)
    objectives = desired(step, 6)
    fast, plain = solve_step(step, objectives), solve_step(step, objectives, readable=True)
    assert _apart(fast.a, plain.a) <= 1e-10
    assert fast.forces.shape == (0, 3)


def test_costs_by_name_add_up_to_the_whole() -> None:
    step = random_step("biped", 7)
    objectives = desired(step, 7)
    for readable in (False, True):
        result = solve_step(step, objectives, readable=readable)
        expected: dict[str, float] = {}
        for o in objectives:
            weight = np.broadcast_to(_plain(o.weight, step), len(o.quantity.rows(step).c))
            cost = float(weight @ (_value(o.quantity, step, result) - o.target) ** 2)
            expected[o.name] = expected.get(o.name, 0.0) + cost
        assert set(result.costs) == set(expected)
        assert result.costs == pytest.approx(expected, rel=1e-9)
    assert not solve_step(step, objectives, costs=False).costs


def test_two_objectives_on_the_coefficients_both_count() -> None:
    step = random_step("biped", 8)
    n = step.coefficient_count
    rest = [o for o in desired(step, 8) if not isinstance(o.quantity, ContactCoefficients)]
    twice = [Objective(ContactCoefficients(), 8.0, 0.3), Objective(ContactCoefficients(), 2.0, 0.1)]
    once = [Objective(ContactCoefficients(), np.full(n, 6.5), 0.4)]
    assert _apart(solve_step(step, rest + twice).a, solve_step(step, rest + once).a) <= 1e-12


def test_certificate_where_every_target_is_zero() -> None:
    """What the residuals are relative to must not be zero with the targets."""
    state = State(biped()).at(biped().q_rest(), np.zeros(biped().nv))
    step = Step(state, floor_contacts(FOOT_POINTS), dt=0.02)
    objectives = [Objective(JointAcceleration(), 0.0), Objective(ContactCoefficients(), 0.0)]
    for constraints in ([Equal(JointAcceleration((0, 3)), 1.0)], [Equal(RootWrench(), 0.0)]):
        result = solve_step(step, objectives, constraints)
        assert np.abs(result.a).max() > 0.0
        assert result.certificate.holds()


def test_result_owns_its_arrays() -> None:
    step = random_step("biped", 9)
    result = solve_step(step, desired(step, 9))
    before = [x.copy() for x in (result.a, result.torque, result.forces, result.coefficients)]
    step.state.at(step.state.model.q_rest(), np.zeros(step.nv))
    solve_step(Step(step.state, step.contacts, dt=0.02), desired(step, 10))
    for kept, now in zip(before, (result.a, result.torque, result.forces, result.coefficients), strict=True):
        assert np.array_equal(kept, now)


# --- physics of the answer


@pytest.mark.parametrize("figure", ["biped", "chain"])
def test_force_balance_and_friction(figure: str) -> None:
    model = FIGURES[figure]()
    for seed in range(4):
        state = random_state(model, seed)
        contacts = floor_contacts(range(min(model.point_count, 8)), friction=0.6)
        push = np.array([80.0, -40.0, 20.0])
        step = Step(state, contacts, dt=0.02, external=state.external_torque(2, state.data.xipos[2], push))
        result = solve_step(step, desired(step, seed), [Equal(ComAcceleration("x"), 0.4)])
        mass = state.mass(1)
        acceleration = state.com_jacobian() @ result.a + state.com_bias()
        forces = result.forces.sum(axis=0) + result.torque[:3] + push + mass * model.gravity
        assert np.abs(mass * acceleration - forces).max() <= 1e-9 * mass * 9.81
        normal, tangent = result.forces[:, 2], np.linalg.norm(result.forces[:, :2], axis=1)
        assert (normal >= 0.0).all()
        assert (tangent <= 0.6 * normal + 1e-9).all()
        assert normal.max() > 1.0


def test_hands_held() -> None:
    """Two figures, nobody's root is pushed by a ghost; what one hand feels the other feels reversed."""
    model = holding_hands()
    state = State(model).at(model.q_rest(), np.zeros(model.nv))
    each = model.point_count // 2
    hands = np.array([8, each + 9])
    assert np.abs(state.points[hands[0]] - state.points[hands[1]]).max() < 1e-12
    points = np.array([*FOOT_POINTS, *(each + k for k in FOOT_POINTS), hands[0]])
    contacts = Contacts(
        points,
        np.tile([0.0, 0.0, 1.0], (len(points), 1)),
        others=np.where(points == hands[0], hands[1], -1),
        grips=points == hands[0],
    )
    push = np.array([0.0, 120.0, 0.0])
    trunk = model.body("a_trunk")
    step = Step(state, contacts, dt=0.02, external=state.external_torque(trunk, state.data.xipos[trunk], push))
    objectives = [
        Objective(JointAcceleration(), 0.0, 10.0),
        Objective(BodyAngularAcceleration(), 0.0, np.repeat(np.ones(model.body_count - 1), 3)),
        Objective(JointTorque(), 0.0, 1e-4),
        Objective(PointAcceleration(points, np.tile(np.eye(3), (len(points), 1, 1))), 0.0, 50.0),
        Objective(ContactCoefficients(), 0.0, 1e-6),
    ]
    constraints = [Equal(RootWrench(of=0), 0.0, "a"), Equal(RootWrench(of=1), 0.0, "b")]
    fast = solve_step(step, objectives, constraints)
    plain = solve_step(step, objectives, constraints, readable=True)
    assert _apart(fast.a, plain.a) <= 1e-7
    assert_optimal(step, objectives, constraints, fast)
    for of in range(2):
        assert np.abs(_value(RootWrench(of=of), step, fast)).max() <= 1e-8
    grip = fast.forces[-1]
    assert np.linalg.norm(grip) > 1.0
    half = len(FOOT_POINTS)
    own = (fast.forces[:half].sum(axis=0) + push + grip, fast.forces[half : 2 * half].sum(axis=0) - grip)
    for root, force in zip(model.roots, own, strict=True):
        mass = state.mass(root)
        acceleration = state.com_jacobian(root) @ fast.a + state.com_bias(root)
        assert np.abs(mass * acceleration - force - mass * model.gravity).max() <= 1e-6
    # the hands stay together as far as both bodies know
    apart = _value(PointAcceleration(hands, np.tile(np.eye(3), (2, 1, 1))), step, fast)
    assert np.abs(apart).max() < 1.0


def test_pendulum_falls_as_the_book_says() -> None:
    length, angle, speed = 0.8, 0.6, 1.5
    state = State(pendulum(length)).at(np.array([angle]), np.array([speed]))
    result = solve_step(Step(state, dt=0.02), [Objective(JointTorque(), 0.0)])
    # a hinge about +y turns the hanging rod forward: the weight turns it back
    assert result.a[0] == pytest.approx(-9.81 / length * np.sin(angle), rel=1e-8)
    assert result.torque[0] == pytest.approx(0.0, abs=1e-10)


def test_free_flight() -> None:
    """No contact, no push, no wrench on the root: the center of mass falls, the angular momentum stays."""
    state = random_state(chain(), seed=13)
    step = Step(state, dt=0.02)
    target = np.random.default_rng(13).normal(size=step.nv)
    result = solve_step(step, [Objective(JointAcceleration(), target)], [Equal(RootWrench(), 0.0)])
    assert np.allclose(_value(ComAcceleration(), step, result), [0.0, 0.0, -9.81], atol=1e-9)
    assert np.abs(_value(AngularMomentumRate(), step, result)).max() <= 1e-10


def test_center_of_pressure_of_a_stance_lies_under_the_center_of_mass() -> None:
    model = biped()
    state = State(model).at(model.q_rest(), np.zeros(model.nv))
    step = Step(state, floor_contacts(FOOT_POINTS), dt=0.02)
    objectives = [
        Objective(JointAcceleration(), 0.0, 100.0),
        Objective(JointTorque((6, None)), 0.0, 1e-6),
        Objective(ContactCoefficients(), 0.0, 1e-8),
    ]
    result = solve_step(step, objectives, [Equal(RootWrench(), 0.0)])
    normal = result.forces[:, 2]
    assert normal.sum() == pytest.approx(state.mass(1) * 9.81, rel=1e-4)
    cop = normal @ state.points[list(FOOT_POINTS), :2] / normal.sum()
    assert np.abs(cop - state.com()[:2]).max() <= 1e-4


# --- refusals


def test_a_step_is_stale_once_its_state_moves() -> None:
    step = random_step("biped", 14)
    step.state.move_to(step.state.q, step.state.v)
    with pytest.raises(InvalidValue, match="earlier state"):
        solve_step(step, desired(step, 14))


@pytest.mark.parametrize("readable", [False, True])
def test_conflicting_constraints_are_named(readable: bool) -> None:
    step = random_step("biped", 15)
    constraints = [Equal(ComAcceleration("x"), 0.0, "stay"), Equal(ComAcceleration("x"), 1.0, "go")]
    with pytest.raises(StepInfeasible, match="stay") as caught:
        solve_step(step, desired(step, 15), constraints, readable=readable)
    assert caught.value.constraints == ("stay", "go")
    assert caught.value.problem is not None
    high, low = AtLeast(ComAcceleration("z"), 2.0, label="high"), Within(ComAcceleration("z"), -1.0, 1.0, label="low")
    with pytest.raises(StepInfeasible, match="high, low"):
        solve_step(step, desired(step, 15), [high, low], readable=readable)


def test_a_body_in_the_air_cannot_steer_its_center_of_mass() -> None:
    step = random_step("biped", 16, contacts=0, pushed=False)
    with pytest.raises(StepInfeasible) as caught:
        solve_step(step, desired(step, 16), [Equal(RootWrench(), 0.0), Equal(ComAcceleration("x"), 1.0)])
    assert caught.value.constraints == ("RootWrench", "ComAcceleration")


def test_objectives_that_leave_a_joint_free_are_refused() -> None:
    step = random_step("biped", 17)
    with pytest.raises(StepInfeasible, match="free"):
        solve_step(step, [Objective(JointAcceleration((6, None)), 0.0), Objective(ContactCoefficients(), 0.0)])


def _with(kind: str, value: float) -> tuple[list[Objective], list[Constraint]]:
    base = [Objective(JointAcceleration(), 0.0), Objective(ContactCoefficients(), 0.0)]
    bad = np.array([0.0, value, 0.0])
    return {
        "target": ([*base, Objective(ComAcceleration(), bad, label="culprit")], []),
        "weight": ([*base, Objective(ComAcceleration(), 0.0, np.array([1.0, value, 1.0]), label="culprit")], []),
        "coefficients": ([base[0], Objective(ContactCoefficients(), value, label="culprit")], []),
        "coefficient weight": ([base[0], Objective(ContactCoefficients(), 0.0, value, label="culprit")], []),
        "normal form": ([*base, Objective(BodyAngularAcceleration(), value, np.ones(45), label="culprit")], []),
        "equal": (base, [Equal(ComAcceleration(), bad, label="culprit")]),
        "soft": (base, [AtLeast(ComAcceleration(), bad, 3.0, label="culprit")]),
        "soft weight": (base, [AtLeast(ComAcceleration(), 0.0, value, label="culprit")]),
        "soft weight, bound holds": (base, [AtLeast(ComAcceleration(), -1e3, value, label="culprit")]),
        "hard": (base, [AtLeast(ComAcceleration(), bad, label="culprit")]),
    }[kind]  # type: ignore[return-value]


@pytest.mark.parametrize("readable", [False, True])
@pytest.mark.parametrize(
    "kind",
    [
        "target",
        "weight",
        "coefficients",
        "coefficient weight",
        "normal form",
        "equal",
        "soft",
        "soft weight",
        "soft weight, bound holds",
        "hard",
    ],
)
def test_numbers_that_are_not_finite_are_refused_by_name(kind: str, readable: bool) -> None:
    step = random_step("biped", 18)
    assert step.state.model.body_count - 1 == 15
    with pytest.raises(InvalidValue, match="culprit"):  # a number where it is given, an array in the step
        solve_step(step, *_with(kind, np.nan), readable=readable)


@pytest.mark.parametrize("kind", ["weight", "coefficient weight", "soft weight", "soft weight, bound holds"])
def test_negative_weights_are_refused_by_name(kind: str) -> None:
    step = random_step("biped", 18)
    with pytest.raises(InvalidValue, match="culprit"):
        solve_step(step, *_with(kind, -1.0))


def test_wrong_shapes_are_refused_by_name() -> None:
    step = random_step("biped", 19)
    with pytest.raises(InvalidValue, match=r"sway.*\(3,\) is needed"):
        solve_step(step, [Objective(ComAcceleration(), np.zeros(2), label="sway")])


def test_a_step_needs_time() -> None:
    with pytest.raises(InvalidValue, match="positive"):
        Step(random_state(chain(), 0), dt=0.0)


def test_certificate_with_a_number_that_is_not_finite_does_not_hold() -> None:
    assert Certificate(1e-9, 1e-9, 1e-9, 1e-9).holds()
    for bad in range(4):
        values = [1e-9] * 4
        values[bad] = np.nan
        assert not Certificate(*values).holds()
    assert not Certificate(1e-9, 1e-3, 1e-9, 0.0).holds()


@pytest.mark.parametrize("figure", FIGURES)
def test_full_program_has_one_answer_whichever_way_it_is_solved(figure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        step = random_step(figure, seed)
        objectives = desired(step, seed)
        constraints = [Within(JointTorque(), -40.0, 40.0), AtLeast(JointAcceleration((0, 2)), -1.0, 5.0)]
        cold = solve_step(step, objectives, constraints, readable=True, costs=False)
        pushes, acts = cold.coefficients > 0.0, cold.bounds_active
        warm = solve_step(step, objectives, constraints, readable=True, warm=pushes, warm_bounds=acts, costs=False)
        wrong = solve_step(step, objectives, constraints, readable=True, warm=~pushes, warm_bounds=~acts, costs=False)
        other = solve_step(step, objectives, constraints, readable=True, warm_bounds=acts[:3], costs=False)
        fast = solve_step(step, objectives, constraints, warm=pushes, warm_bounds=acts, costs=False)
        assert fast.solver == "active set"
        assert warm.solves <= 2
        assert warm.solves < cold.solves or cold.solves <= 2
        with monkeypatch.context() as patched:
            patched.setattr("poise.step.qp.lapack.dpotrf", lambda P, **_: (P, 1))  # as if P were not positive
            whole = solve_step(step, objectives, constraints, readable=True, costs=False)
        for result in (warm, wrong, other, whole, fast):
            assert result.certificate.holds(1e-8)
            scale = 1.0 + np.abs(cold.a).max()
            assert np.abs(result.a - cold.a).max() <= 1e-8 * scale
            assert np.array_equal(result.bounds_active, acts)


def test_motion_that_costs_nothing_is_refused_by_both_paths() -> None:
    """A list that says nothing of a joint has no one answer; an equality that does makes it one again."""
    step = random_step("biped", 0)
    nv = step.state.model.nv
    given = [Objective(JointAcceleration((0, nv - 1)), 0.0, 1.0), Objective(ContactCoefficients(), 0.0, 1e-6)]
    for readable in (False, True):
        with pytest.raises(StepInfeasible, match="leave some motion of the joints free"):
            solve_step(step, given, readable=readable)
    last = [Equal(JointAcceleration((nv - 1, nv)), np.array([2.0]))]
    assert solve_step(step, given, last, readable=True).a[-1] == pytest.approx(2.0)
