"""The compiled core of a step beside its NumPy twins and the readable path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from poise.core.errors import InvalidValue, StepInfeasible
from poise.native import Block
from poise.step import AtLeast, Contacts, Equal, Objective, Quantity, RelativeWeight, Rows, Step, Within, solve_step
from poise.step.contacts import Columns, tangents
from poise.step.quantities import (
    AngularMomentumRate,
    AxisAcceleration,
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    ContactForce,
    JointAcceleration,
    JointTorque,
    PointAcceleration,
    RootWrench,
)
from poise.step.system import (
    CYCLED,
    DEPENDENT,
    NOT_POSITIVE,
    SOLVED,
    answer,
    expect,
    frames,
    least_nonnegative,
    new_system,
    nonnegative,
)
from poise.step.table import write_terms
from poise.step.writers import write
from tests.figures import FIGURES, FOOT_POINTS, LEFT_HAND, biped, floor_contacts, random_contacts, random_state

Lists = tuple[list[Objective], list[Equal | AtLeast | Within]]


class Mirrored(Quantity):
    """The accelerations of two dofs against each other: a quantity that the core does not know.

    Attributes:
        wide: Columns of its rows; those of the step by default.
    """

    def __init__(self, wide: int | None = None) -> None:
        self.wide = wide

    def rows(self, step: Step) -> Rows:
        on_a = np.zeros((2, step.nv if self.wide is None else self.wide))
        on_a[0, [7, 10]] = 1.0, -1.0
        on_a[1, [8, 11]] = 1.0, 1.0
        return Rows(on_a, np.array([0.5, -2.0]))


def _list(step: Step) -> tuple[list[Objective], list[Equal | AtLeast]]:
    points = np.arange(step.state.model.point_count)
    axes = np.tile(np.eye(3), (len(points), 1, 1))
    objectives = [
        Objective(JointTorque(), 0.0, 1.0),
        Objective(BodyAngularAcceleration(), 0.5, np.ones(3 * (step.state.model.body_count - 1))),
        Objective(JointAcceleration((0, 3)), 0.1, 2.0),
        Objective(PointAcceleration(points, axes), 0.0, 3.0),
        Objective(ContactCoefficients(), 0.0, 1e-3),
    ]
    return objectives, [Equal(ComAcceleration("xy"), 0.2), AtLeast(JointAcceleration((6, None)), -0.1, 50.0)]


def test_small_coordinates_beside_large_ones_are_found() -> None:
    rng = np.random.default_rng(3)
    B = rng.normal(size=(12, 8))
    H, f = B.T @ B + 0.1 * np.eye(8), -np.abs(rng.normal(size=8))
    plain, _ = least_nonnegative(H, f, np.zeros(8, dtype=np.bool_))
    units = np.where(np.arange(8) % 2, 1e-7, 1e7)
    for solve in (nonnegative, nonnegative.twin):
        x = np.empty(8)
        solve(np.ascontiguousarray(H * units * units[:, None]), f * units, np.zeros(8, bool), x, np.empty(8 * 14))
        assert (plain[1::2] > 0.0).any()
        assert (plain[::2] > 0.0).any()
        np.testing.assert_allclose(x * units, plain, atol=1e-9)


def test_warm_flags_save_solves_and_change_nothing() -> None:
    model = biped()
    state = random_state(model, 3)
    step = Step(state, floor_contacts(range(model.point_count)), dt=0.02)
    objectives, constraints = _list(step)
    cold = solve_step(step, objectives, constraints)
    warm = solve_step(
        step, objectives, constraints, warm=cold.coefficients > 0.0, warm_bounds=cold.bounds_active
    )  # fmt: skip
    assert cold.bounds_active.any()
    assert (cold.coefficients > 0.0).any()
    assert np.abs(warm.a - cold.a).max() <= 1e-10 * np.abs(cold.a).max()
    assert warm.solves < cold.solves


@pytest.mark.parametrize("figure", FIGURES)
def test_friction_columns_equal_the_plain_ones(figure: str) -> None:
    model = FIGURES[figure]()
    state = random_state(model, 5)
    given = random_contacts(model, 5, 6)
    contacts = Contacts(given.points, given.normals, 0.7)
    directions, owner = contacts.directions()
    fast = contacts.columns(state)
    assert np.allclose(fast[0], directions, rtol=0.0, atol=1e-14)
    assert np.array_equal(fast[1], owner)
    assert np.allclose(fast[2].force_map(), contacts.force_map(state, directions, owner), rtol=0.0, atol=1e-13)


def test_columns_are_few_and_have_the_mean_diagonal_of_the_force_map() -> None:
    state = random_state(biped(), 6)
    weights = np.random.default_rng(7).random(state.model.nv)
    # four points on each foot push through its wrench, one on a hand through its force
    contacts = floor_contacts([*FOOT_POINTS, LEFT_HAND])
    step = Step(state, contacts, dt=0.02)
    assert step.columns.map.shape == (state.model.nv, 6 + 6 + 3)
    mean = np.einsum("ni,i,ni->n", step.force_map, weights, step.force_map).mean()
    assert step.columns.mean_diagonal(weights) == pytest.approx(mean, rel=1e-12)
    assert Columns.plain(step.force_map).mean_diagonal(weights) == pytest.approx(mean, rel=1e-12)


def test_surface_axes_equal_the_plain_ones_also_on_walls() -> None:
    rng = np.random.default_rng(0)
    normals = np.concatenate([rng.normal(size=(40, 3)), np.eye(3), -np.eye(3)])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    first, second = tangents(normals)
    for function in (frames, frames.twin):
        out = np.empty((len(normals), 3, 3))
        function(normals, out)
        assert np.allclose(out, np.stack([first, second, normals], axis=1), rtol=0.0, atol=1e-14)
        function(np.array([[0.0, 0.0, 1.0]]), out[:1])
        assert np.array_equal(out[0], np.eye(3))


def test_nonnegative_finds_what_scipy_finds() -> None:
    rng = np.random.default_rng(1)
    for n, rank in ((4, 4), (12, 6), (40, 10), (64, 12)):
        B = rng.normal(size=(rank, n))
        target = rng.normal(size=rank)
        # a small diagonal makes the answer unique, as in every step
        stacked = np.concatenate([B, 1e-2 * np.eye(n)])
        expected = nnls(stacked, np.concatenate([target, np.zeros(n)]))[0]
        H, f = stacked.T @ stacked, -B.T @ target
        for warm in (np.zeros(n, dtype=np.bool_), expected > 0.0, rng.random(n) < 0.5, np.ones(n, dtype=np.bool_)):
            x, solves = least_nonnegative(H, f, warm)
            plain = np.empty(n)
            assert solves > 0
            assert nonnegative.twin(H, f, warm, plain, None) > 0
            # rounding times the condition number of H, about 1e6
            assert np.abs(x - expected).max() <= 1e-8 * np.abs(expected).max()
            assert np.abs(plain - expected).max() <= 1e-8 * np.abs(expected).max()


def test_of_two_equal_coordinates_that_are_expected_one_is_left_out() -> None:
    rng = np.random.default_rng(2)
    root = np.tril(rng.integers(-1, 2, (20, 20)), -1) + np.diag(rng.integers(1, 3, 20))  # exact: what is left is 0
    C, wanted = (root @ root.T).astype(np.float64), rng.uniform(1.0, 2.0, 20)
    H, f = np.kron(C, np.ones((2, 2))).astype(np.float64), -np.repeat(C @ wanted, 2)
    x, solves = least_nonnegative(H, f, np.ones(40, dtype=np.bool_))
    assert solves == 1
    np.testing.assert_allclose(x.reshape(20, 2).sum(axis=1), wanted, rtol=1e-8)
    assert (x[1::2] == 0.0).all()


def _lists(step: Step, kind: str) -> Lists:
    """Lists of many kinds on a biped: what the filter asks for, and what only rows can say."""
    rng, nv = np.random.default_rng(3), step.nv
    objectives, constraints = _list(step)
    lists: Lists = [*objectives], [*constraints]
    if kind == "relative weight":
        lists[0][4] = Objective(ContactCoefficients(), 2.0, RelativeWeight(1e-3, 0.5 + rng.random(nv)))
        lists[0][0] = Objective(JointTorque(), rng.normal(size=nv), lists[0][4].weight.torque_weight)  # type: ignore[union-attr]
    elif kind == "bounds":
        normals = np.tile([0.0, 0.0, 1.0], (2, 1, 1))
        lists[1].append(AtLeast(PointAcceleration(np.array([0, 3]), normals), 4.0, 60.0))
        lists[1].append(Within(JointAcceleration((8, 12)), -0.2, 0.1, 30.0))
    elif kind == "coupled bounds":
        lists[1].append(Within(JointTorque((6, 12)), -1.0, 1.0, 3.0))
        lists[1].append(AtLeast(JointAcceleration((12, 14)), 0.5, 9.0))
    elif kind == "hard bounds":
        normals = np.tile([0.0, 0.0, 1.0], (2, 1, 1))
        lists[1].append(AtLeast(PointAcceleration(np.array([0, 3]), normals), np.array([4.0, -30.0])))
        lists[1].append(Within(JointTorque((6, 12)), -0.4, 0.3))
        lists[1].append(AtLeast(JointAcceleration((12, 14)), 0.5))
        lists[1].append(AtLeast(JointAcceleration((14, 16)), 0.5, 9.0))
    elif kind == "strict root":
        lists[1][0] = Equal(RootWrench(), 0.0)
        lists[0].append(Objective(AngularMomentumRate(), 0.0, 0.1))
        lists[0].append(Objective(ComAcceleration("xyz", without=(3,)), 0.1, 5.0))
    elif kind == "damped torques":
        torque = JointTorque((6, None), damping=rng.random(nv - 6))
        lists[0][0] = Objective(RootWrench(), 1.0, 2.0)
        lists[0].append(Objective(torque, rng.normal(size=nv - 6), rng.random(nv - 6)))
        lists[1].insert(1, Within(torque, -1.5, rng.random(nv - 6), 8.0))  # before bounds that only rows can say
    elif kind == "whole figure":
        along = rng.normal(size=(2, 3))
        lists[0].append(Objective(AxisAcceleration(4, np.array([0.6, 0.0, 0.8]), along), np.array([0.5, -1.0]), 3.0))
        lists[0].append(Objective(ComAcceleration("yz"), np.array([0.3, 0.1]), 70.0))
        lists[0].append(Objective(AngularMomentumRate(), np.array([1.0, 2.0, -1.0]), 0.1))
    elif kind == "single coefficients":
        lists[0].append(Objective(ContactForce(np.array([0, 1])), 5.0, 1e-3))
    elif kind == "own quantity":
        lists[0].insert(2, Objective(Mirrored(), np.array([3.0, 1.0]), np.array([40.0, 7.0])))
        lists[0].append(Objective(ComAcceleration("yz"), np.array([0.3, 0.1]), 70.0))
    elif kind == "two targets of one torque":
        lists[0].append(Objective(JointTorque((6, 20)), 3.0, 0.5))
        lists[0].append(Objective(JointTorque((6, None), damping=np.full(nv - 6, 2.0)), 1.0, 0.1))
    return lists


KINDS = (
    "plain", "relative weight", "bounds", "coupled bounds", "hard bounds", "strict root", "single coefficients",
    "two targets of one torque", "damped torques", "whole figure", "own quantity",
)  # fmt: skip


@pytest.mark.parametrize("feet", [[], [0], FOOT_POINTS, [*FOOT_POINTS, LEFT_HAND]], ids=len)
@pytest.mark.parametrize("kind", KINDS)
def test_core_equals_its_twin_and_the_readable_path(kind: str, feet: list[int]) -> None:
    if kind == "strict root" and not feet:
        pytest.skip("nothing can push")
    model = biped()
    contacts = replace(floor_contacts(feet), friction=np.linspace(0.4, 1.0, len(feet)))
    step = Step(random_state(model, 21), contacts, dt=0.02, external=np.linspace(-1.0, 1.0, model.nv))
    objectives, constraints = _lists(step, kind)
    plain = solve_step(step, objectives, constraints, readable=True, costs=False)
    results = [solve_step(step, objectives, constraints, costs=False)]
    s = write(step, objectives, constraints)
    expect(s, None, None, None)
    assert answer.twin(s) == SOLVED
    results.append(results[0]._replace(a=s.a, coefficients=s.x[: s.n], torque=s.torque, forces=s.forces[: s.touching]))
    assert s.residuals[:3].max() < 1e-9
    assert s.residuals[4] == pytest.approx(results[0].certificate.dynamics, abs=1e-9)
    assert np.array_equal(s.acting[: s.bounds], results[0].bounds_active)
    assert results[0].solver == "active set"
    if kind == "hard bounds":  # some act and some do not, whatever was expected
        own = slice(-18, -2)
        assert 0 < plain.bounds_active[own].sum() < 16
        for expected in (plain.bounds_active, ~plain.bounds_active):
            again = solve_step(step, objectives, constraints, warm_bounds=expected, costs=False)
            assert np.abs(again.a - plain.a).max() <= 2e-6 * (1.0 + np.abs(plain.a).max())
            assert np.array_equal(again.bounds_active, plain.bounds_active)
    assert results[0].certificate.holds(1e-9)
    assert results[0].certificate.dynamics < 1e-9
    assert np.array_equal(results[0].bounds_active, plain.bounds_active)
    for name in ("a", "torque", "forces", "coefficients"):
        if name == "coefficients" and kind == "single coefficients":
            continue
        core, twin, readable = (getattr(result, name) for result in (*results, plain))
        size = 1.0 + np.abs(readable).max(initial=0.0)
        assert np.abs(core - twin).max(initial=0.0) <= 1e-9 * size, name
        # daqp works to tolerances of its own
        assert np.abs(core - readable).max(initial=0.0) <= 2e-6 * size, name


@pytest.mark.parametrize("is_whole", [True, False], ids=["all arrays as they are", "one array in parts"])
def test_a_list_that_is_kept_is_written_as_one_made_anew(is_whole: bool) -> None:
    """A term that is the same object keeps its row of the table, whatever its arrays hold by then."""
    model, rng = biped(), np.random.default_rng(8)
    state, points = random_state(model, 4), np.arange(model.point_count)
    nv, axes = model.nv, np.tile(np.eye(3), (model.point_count, 1, 1))
    normals = np.ones((model.point_count, 1, 3)) if is_whole else axes[:, 2:]
    turn, torque, effort, lower = (rng.normal(size=k) for k in (3 * model.body_count - 3, nv, nv, len(points)))
    along, coefficients = rng.normal(size=(2, nv)), rng.random((len(points), 4))

    def own() -> Lists:
        weights = np.abs(effort)
        return [
            Objective(RootWrench(), torque[:6], weights[:6]),
            Objective(JointTorque((6, None)), torque[6:], effort[6:] ** 2),
            Objective(BodyAngularAcceleration(), turn, 2.0),
            Objective(JointAcceleration((0, 3)), turn[:3], 2.0),
            Objective(PointAcceleration(points, axes), np.tile(lower, 3), 3.0),
            Objective(ContactCoefficients(is_by_point=True), coefficients, RelativeWeight(1e-3, weights)),
        ], [
            Equal(ComAcceleration("xy"), turn[3:5]),
            AtLeast(PointAcceleration(points, normals), lower, 50.0),
            AtLeast(JointAcceleration(along=along), lower[:2], 40.0),
        ]  # fmt: skip

    kept = own()
    extra = Objective(BodyAngularAcceleration(3), 1.0, 5.0)
    for k in range(6):
        for array in (turn, torque, effort, lower, along, coefficients, axes, normals):
            array[:] = rng.normal(size=array.shape)
        lower[rng.random(len(lower)) < 0.4] = -np.inf if k % 2 else -1.0
        kept[0][4].target[:] = np.tile(np.maximum(lower, -2.0), 3)  # type: ignore[index]
        kept[0][0].weight[:], kept[0][1].weight[:] = np.abs(effort)[:6], effort[6:] ** 2  # type: ignore[index]
        kept[0][5].weight.torque_weight[:] = np.abs(effort)  # type: ignore[union-attr]
        feet = [FOOT_POINTS, [LEFT_HAND], [*FOOT_POINTS, LEFT_HAND], []][k % 4]
        step = Step(state, floor_contacts(feet), dt=0.02)
        more = [extra] if k in (2, 3) else []
        mine = [*kept[0], *more], kept[1]
        anew = own()
        anew[0][4].target[:] = kept[0][4].target  # type: ignore[index]
        results = [solve_step(step, *mine, costs=False)]
        s = write(step, *mine)
        before = {name: array.copy() for name, array in vars(s).items() if isinstance(array, np.ndarray)}
        s.direction_target[: s.directed], s.target[: s.n] = 7.0, 7.0
        for array in (s.J, s.lower, s.torque_weight, s.dof_pull, s.relative_weight):
            array[:] = 7.0
        write_terms.twin(s)
        for name, array in before.items():
            used = (
                slice(s.bounds) if name in ("lower", "bound_weight", "is_given", "bound_axis", "bound_point") else ...
            )
            used = np.flatnonzero(s.is_given[: s.bounds]) if name == "J" else used
            used = slice(s.n) if name == "target" else used
            if name not in ("room", "form", "squares"):
                assert np.array_equal(getattr(s, name)[used], array[used]), name
        results.append(solve_step(Step(state, floor_contacts(feet), dt=0.02), [*anew[0], *more], anew[1], costs=False))
        plain = solve_step(step, *mine, readable=True, costs=False)
        for result in (results[1], plain):
            # daqp works to tolerances of its own
            tolerance = 1e-12 if result is results[1] else 2e-6
            assert np.abs(results[0].a - result.a).max() <= tolerance * np.abs(result.a).max()
            assert np.array_equal(results[0].bounds_active, result.bounds_active)
        other = [*kept[0]]
        other[3] = Objective(other[3].quantity, turn[:3] + 1.0, 9.0)
        found, sought = (solve_step(step, other, kept[1], readable=r, costs=False).a for r in (False, True))
        assert np.abs(found - sought).max() <= 2e-6 * np.abs(sought).max()
        assert len(plain.bounds_active) == np.count_nonzero(lower > -np.inf) + np.count_nonzero(lower[:2] > -np.inf)


@pytest.mark.parametrize("figure", FIGURES)
def test_expected_bounds_and_guess_change_nothing(figure: str) -> None:
    model = FIGURES[figure]()
    step = Step(random_state(model, 2), random_contacts(model, 2, 3), dt=0.02)
    objectives = [Objective(JointTorque(), 0.0, 1.0), Objective(ContactCoefficients(), 0.0, 1e-3)]
    constraints = [AtLeast(JointAcceleration((0, None)), -1.0, 50.0)]
    first = solve_step(step, objectives, constraints)
    for guess in (first.a, np.full(model.nv, -9.0), np.full(model.nv, 9.0)):
        again = solve_step(step, objectives, constraints, guess=guess)
        # rounding times the condition number of the small problem
        assert np.abs(again.a - first.a).max() <= 1e-7 * (1.0 + np.abs(first.a).max())


def test_two_constraints_on_one_motion_are_dependent_and_said_so() -> None:
    step = Step(random_state(biped(), 1), floor_contacts(FOOT_POINTS), dt=0.02)
    objectives, _ = _list(step)
    along = np.random.default_rng(1).normal(size=(2, step.nv))
    for third in (along[0] + along[1], along[0] * (1.0 + 1e-9)):
        twice = [Equal(JointAcceleration(along=np.vstack([along, third])), 0.3)]
        for solver in (answer, answer.twin):
            s = write(step, objectives, twice)
            expect(s, None, None, None)
            assert solver(s) == DEPENDENT
        with pytest.raises(StepInfeasible, match="two hard constraints ask for the same motion"):
            solve_step(step, objectives, twice)


def test_what_leaves_a_motion_free_is_said_so() -> None:
    step = Step(random_state(biped(), 1), dt=0.02)
    with pytest.raises(StepInfeasible, match="leave some motion of the joints free"):
        solve_step(step, [Objective(JointAcceleration((0, 6)), 0.0, 1.0)])


def _arrays(s: Block) -> list[str]:
    given = ("torque_weight", "torque_target", "turn_weight", "turn_target", "dof_weight", "dof_pull", "direction")
    more = ("direction_weight", "direction_target", "G", "g", "J", "lower", "bound_weight", "target", "normals")
    return [name for name in (*given, *more, "external", "guess") if getattr(s, name).size]


@pytest.mark.parametrize("solver", [answer, answer.twin], ids=["core", "twin"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308])
def test_a_fuzzed_step_ends_in_a_status(bad: float, solver: object) -> None:
    assert callable(solver)
    step = Step(random_state(biped(), 21), floor_contacts([*FOOT_POINTS, LEFT_HAND]), dt=0.02)
    rng = np.random.default_rng(0)
    for _ in range(60 if solver is answer else 8):
        s = write(step, *_lists(step, str(rng.choice(["plain", "bounds", "relative weight"]))))
        expect(s, None, None, np.zeros(step.nv))
        array = getattr(s, str(rng.choice(_arrays(s)))).reshape(-1)
        array[rng.integers(0, max(1, array.size // 3), size=2)] = bad
        with np.errstate(all="ignore"):
            assert solver(s) in (SOLVED, NOT_POSITIVE, DEPENDENT, CYCLED)


def test_an_empty_block_is_solved() -> None:
    state = random_state(biped(), 1)
    s = new_system(state, dict.fromkeys(("touching", "n", "c", "k", "bounds", "directed", "rows", "terms"), 0))
    assert answer(s) == NOT_POSITIVE  # no objective
    s.dof_weight[:] = 1.0
    assert answer(s) == SOLVED
    assert not s.a.any()


def test_numbers_of_the_wrong_shape_are_refused_by_name() -> None:
    step = Step(random_state(biped(), 1), floor_contacts([0]), dt=0.02)
    points = PointAcceleration(np.array([0]), np.eye(3)[None])
    for wrong in (Objective(JointTorque(), np.zeros(3)), Objective(points, np.ones(2))):
        with pytest.raises(InvalidValue, match=type(wrong.quantity).__name__):
            solve_step(step, [wrong])
    for wide in (step.nv - 1, step.nv + 1):
        with pytest.raises(InvalidValue, match=rf"Mirrored: rows on accelerations have shape \(2, {wide}\)"):
            solve_step(step, [Objective(Mirrored(wide), 0.0)])


def test_points_that_are_not_there_are_refused_by_name() -> None:
    model = biped()
    state = random_state(model, 1)
    step = Step(state, floor_contacts(FOOT_POINTS), dt=0.02)
    lists, count = _list(step), model.point_count
    axes = np.eye(3)[None]
    with pytest.raises(InvalidValue, match="point -1; points count from 0"):
        PointAcceleration(np.array([-1]), axes)
    for wrong in (count, count + 5, 10**12):
        points = PointAcceleration(np.array([wrong]), axes)
        for objectives, constraints in (
            ([*lists[0], Objective(points, 0.0)], lists[1]),
            (lists[0], [*lists[1], AtLeast(points, 0.0, 1.0)]),
            (lists[0], [*lists[1], Equal(points, 0.0)]),
        ):
            with pytest.raises(InvalidValue, match=f"there is no contact point {wrong}.*0 left"):
                solve_step(step, objectives, constraints)
    for wrong in (-1, count, 10**12):
        with pytest.raises(InvalidValue, match=f"Contacts: there is no contact point {wrong}"):
            Step(state, floor_contacts([wrong]), dt=0.02)


@pytest.mark.parametrize("wrong", [-1, 10**12])
def test_bodies_that_are_not_there_are_refused_by_name(wrong: int) -> None:
    state, zero = random_state(biped(), 1), np.zeros(3)
    for call in (
        lambda: state.body_jacobian(wrong, zero),
        lambda: state.body_point_motion(wrong, zero),
        lambda: state.body_rows(wrong, zero[None]),
        lambda: state.body_velocities(np.array([1, wrong]), np.zeros((2, 3))),
        lambda: state.external_torque(wrong, zero, zero),
        lambda: state.com_rows(wrong),
    ):
        with pytest.raises(InvalidValue, match=f"no body {wrong}.*1 pelvis"):
            call()


def test_a_state_that_is_not_complete_is_refused() -> None:
    model = biped()
    state = random_state(model, 1)
    q, v = state.q.copy(), state.v.copy()
    state.move_to(q, v)
    state.touch()
    step = Step(state, floor_contacts(FOOT_POINTS), dt=0.02)
    for readable in (False, True):
        with pytest.raises(InvalidValue, match="not complete"):
            solve_step(step, [Objective(JointAcceleration(), 0.0)], readable=readable)
    state.complete()
    solve_step(step, [Objective(JointAcceleration(), 0.0)])
