"""Compiled code: its plain twins, its cache across processes, and what it does to the BLAS of the process."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from numba import njit
from scipy.linalg import cython_blas  # pyright: ignore[reportAttributeAccessIssue]
from scipy.optimize import nnls

from poise import light
from poise.body import fit
from poise.body.limits import limit_angles
from poise.compiled import Table
from poise.core import rotations
from poise.filter import kernels as control
from poise.physics import kernels
from poise.step import AtLeast, Contacts, Equal, Objective, Step, UsualProblem, lapack, solve_step
from poise.step.active_set import nonnegative
from poise.step.cones import Columns, frames
from poise.step.contacts import tangents
from poise.step.quantities import (
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    JointAcceleration,
    JointTorque,
    PointAcceleration,
)
from tests.character_figures import person
from tests.figures import FIGURES, FOOT_POINTS, LEFT_HAND, biped, floor_contacts, random_contacts, random_state

Array = npt.NDArray[np.float64]

SIMULATE = """
import json, sys
import poise
from numba.core.dispatcher import Dispatcher
from poise.samples import sample_path

motion = poise.load(sample_path("walk")).frames(range(12))
for terrain in (None, poise.Terrain.slope(5.0)):
    poise.simulate(motion, pushes=[poise.Push("chest", (300.0, 0.0, 0.0), 0.05)], terrain=terrain)
hits = misses = 0
missed = []
for module in [m for name, m in sys.modules.items() if name.startswith("poise.")]:
    for name, thing in vars(module).items():
        thing = getattr(thing, "entry", thing)
        if isinstance(thing, Dispatcher) and thing.__module__ == module.__name__:
            hits += sum(thing.stats.cache_hits.values())
            if thing.stats.cache_misses:
                missed.append(f"{module.__name__}.{name}")
from poise.filter.cold import BESIDE, HERE
other = [kernel.__name__ for kernel, arguments in HERE + BESIDE if list(kernel.overloads) != [arguments]]
print(json.dumps({"hits": hits, "missed": missed, "other": other}))
"""


def _process() -> dict[str, object]:
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", SIMULATE], capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def test_second_process_compiles_nothing() -> None:
    _process()  # fills the cache where it is empty
    second = _process()
    assert second["missed"] == []
    assert isinstance(second["hits"], int)
    assert second["hits"] >= 10  # the kernels that Python calls; those they call come with them
    assert second["other"] == []  # what two processes compile in a first run is what is called


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


def test_blas_keeps_its_number_of_threads() -> None:
    library = ctypes.CDLL(cython_blas.__file__)
    if lapack.addresses()[3] == 0 or not hasattr(library, "scipy_openblas_get_num_threads"):
        pytest.skip("SciPy is built on a BLAS without a thread limit of this kind")
    before = library.scipy_openblas_get_num_threads()
    library.scipy_openblas_set_num_threads(2)
    try:
        if library.scipy_openblas_get_num_threads() != 2:
            pytest.skip("OpenBLAS is held to one thread here")
        step = Step(random_state(biped(), 1), dt=0.02)
        solve_step(step, *_list(step))
        assert library.scipy_openblas_get_num_threads() == 2
        assert lapack.set_threads(lapack.addresses(), 1) == 2
        assert library.scipy_openblas_get_num_threads() == 1
    finally:
        library.scipy_openblas_set_num_threads(before)


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
    assert np.allclose(frames(normals), np.stack([first, second, normals], axis=1), rtol=0.0, atol=1e-14)
    assert np.array_equal(frames(np.array([[0.0, 0.0, 1.0]]))[0], np.eye(3))


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
            x = np.empty(n)
            assert nonnegative(H, f, warm, x) > 0
            # rounding times the condition number of H, about 1e6
            assert np.abs(x - expected).max() <= 1e-8 * np.abs(expected).max()


def test_turned_figure_equals_quaternion_algebra() -> None:
    rng = np.random.default_rng(2)
    bodies = 7
    orientations = rotations.normalize(rng.normal(size=(bodies, 4)))
    speeds, turns = rng.normal(size=(2, bodies, 3))
    sway_share, lean_share = rng.random((2, bodies))
    sway, sway_v, sway_a, lean, lean_v = rng.normal(size=(5, 3))
    sway_share[0] = lean_share[0] = 0.0  # no turn at all
    extra = rotations.from_rotation_vector(sway_share[:, None] * sway + lean_share[:, None] * lean)
    fast = np.empty_like(orientations), np.empty_like(speeds), np.empty_like(turns)
    control.turned_figure(
        sway_share, sway, sway_v, sway_a, lean_share, lean, lean_v, orientations, speeds, turns, *fast
    )  # fmt: skip
    expected_v = rotations.rotate(extra, speeds) + sway_share[:, None] * sway_v + lean_share[:, None] * lean_v
    expected_a = rotations.rotate(extra, turns) + sway_share[:, None] * sway_a
    for mine, plain in zip(fast, (rotations.multiply(extra, orientations), expected_v, expected_a), strict=True):
        assert np.allclose(mine, plain, rtol=0.0, atol=1e-14)


def test_cone_system_and_torques_equal_virtual_work() -> None:
    model = biped()
    state = random_state(model, 8)
    rng = np.random.default_rng(9)
    count = model.point_count
    flags = np.zeros(count, dtype=np.bool_)
    flags[::2] = True
    directions = rng.normal(size=(count, 4, 3))
    root = model.roots[0]
    d = state.data
    needed, length = rng.normal(size=model.nv), 1.7
    H, f, wrenches = np.empty((4 * count, 4 * count)), np.empty(4 * count), np.empty((4 * count, 6))
    n = kernels.cone_system(
        state.points, flags, directions, d.xpos[root], d.xmat[root], needed, 1e-6, length, wrenches, H, f
    )  # fmt: skip
    H, f, index = H[:n, :n], f[:n], np.flatnonzero(flags)
    jacobians = state.point_jacobians.reshape(-1, 3, model.nv)
    # the root's own six rows of Jᵀ V are the wrench of each column: force in the world, moment in the root's axes
    columns = np.concatenate([directions[i] @ jacobians[i] for i in index])
    weighted = columns[:, :6] / [1.0, 1.0, 1.0, length, length, length]
    gram = weighted @ weighted.T
    assert np.allclose(H, gram + 1e-6 * np.trace(gram) / len(gram) * np.eye(len(gram)), rtol=1e-12, atol=1e-12)
    assert np.allclose(f, -weighted @ (needed[:6] / [1.0, 1.0, 1.0, length, length, length]), rtol=1e-12, atol=1e-12)
    x = rng.random(len(f))
    coefficients, left = np.empty((count, 4)), np.empty(model.nv)
    kernels.cone_torques(
        model.point_body, state.points, flags, directions, x, model.tree_root, d.subtree_com, model.parents,
        model.dof_first, model.dof_count, d.cdof, needed, coefficients, left,
    )  # fmt: skip
    assert np.allclose(left, needed - x @ columns, rtol=1e-12, atol=1e-12)
    assert np.array_equal(coefficients[flags].ravel(), x)
    assert not coefficients[~flags].any()


def test_limit_angles_equal_the_plain_ones() -> None:
    character = fit(person())
    limits = [b.limits for b in character.bodies if b.limits is not None and b.kind == "ball"]
    assert limits
    rng = np.random.default_rng(4)
    q = rotations.normalize(rng.normal(size=(len(limits), 4)))
    out = np.empty((len(limits), 3))
    rest, axis, bend = (np.array([getattr(x, name) for x in limits]) for name in ("rest", "axis", "swing_axis"))
    is_hinge = np.zeros(len(limits), dtype=np.bool_)
    side: Array = np.cross(axis, bend)
    control.limit_angles(q.ravel(), 4 * np.arange(len(limits)), is_hinge, rest, axis, bend, side, out)
    for i, x in enumerate(limits):
        assert np.allclose(out[i], limit_angles(x, q[i]), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("has_goal", [True, False])
def test_usual_problem_equals_its_lists(has_goal: bool) -> None:
    model, rng = biped(), np.random.default_rng(10)
    state = random_state(model, 10)
    problem = UsualProblem(state, 0.7, 6)
    for seed, feet in ((11, FOOT_POINTS), (12, [*FOOT_POINTS, LEFT_HAND]), (13, [])):
        other = random_state(model, seed)
        state.at(other.q, other.v)
        contacts = floor_contacts(feet)
        contacts = Contacts(contacts.points, contacts.normals, 0.7)
        problem.touching_count, problem.limit_count, problem.ground_count = len(feet), 4, 2
        problem.touching[: len(feet)], problem.normals[: len(feet)] = contacts.points, contacts.normals
        for weights in (problem.torque_weight, problem.place_weight, problem.point_weight):
            weights[:] = 0.1 + rng.random(weights.shape)
        problem.turn_weight[:] = np.repeat(0.1 + rng.random(model.body_count - 1), 3)
        for target in (
            problem.torque_target, problem.turn_target, problem.place_target, problem.point_target, problem.external,
            problem.coefficient_target, problem.goal, problem.limit_rows, problem.limit_lower, problem.ground_lower,
        ):  # fmt: skip
            target[:] = rng.normal(size=target.shape)
        problem.axes[:] = frames(rotations.rotate(rng.normal(size=(model.point_count, 4)), np.array([0.0, 0.0, 1.0])))
        problem.ground_points[:2], problem.ground_normals[:2] = (0, 3), (0.0, 0.0, 1.0)
        problem.coefficient_share, problem.limit_weight, problem.ground_weight = 1e-3, 40.0, 60.0
        problem.guess[:], problem.has_goal = rng.normal(size=model.nv), has_goal
        status, answer = problem.solve()
        assert status == 0
        assert answer is not None
        step = Step(state, contacts, dt=0.02, external=problem.external)
        for readable, tolerance in ((False, 1e-10), (True, 1e-7)):
            plain = solve_step(step, *problem.lists(step), readable=readable)
            for mine, theirs in ((answer.a, plain.a), (answer.torque, plain.torque), (answer.forces, plain.forces)):
                assert np.abs(mine - theirs).max(initial=0.0) <= tolerance * (1.0 + np.abs(theirs).max(initial=0.0))
            assert np.array_equal(answer.bounds_active, plain.bounds_active)
        assert answer.certificate.holds()
        assert np.array_equal(problem.expected[contacts.points].ravel(), answer.coefficients > 0.0)


PLAIN = """
import sys
sys.modules["poise.compiler"] = None  # as if numba had changed
import numpy as np
from poise import compiled
from poise.step.active_set import nonnegative
assert "pipeline_class" not in {**compiled.KERNEL, **compiled.INNER}
x = np.empty(3)
assert nonnegative(2.0 * np.eye(3), np.array([-2.0, 1.0, -4.0]), np.zeros(3, dtype=np.bool_), x) > 0
assert np.allclose(x, [1.0, 0.0, 2.0], rtol=1e-12), x
"""


def test_kernels_compile_without_a_compiler_of_our_own(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", PLAIN], check=True, env=environment)


def test_arrays_by_address_are_the_arrays() -> None:
    floats, whole, marks = np.arange(24.0), np.arange(5), np.array([True, False, True])
    table = Table([floats, whole, marks])

    @njit
    def inside(at):  # type: ignore[no-untyped-def]
        a, b, c = light.vector(at[0], 24), light.matrix(at[0], 4, 6), light.cube(at[0], 2, 3, 4)
        a[0] = 7.0
        return b[3, 5], c[1, 2, 3], b[0, 0], light.index(at[1], 5)[4], light.flags(at[2], 3)[1]

    assert inside(table.at) == (23.0, 23.0, 7.0, 4, False)
    assert floats[0] == 7.0


def test_light_arrays_are_read_and_written_as_arrays_are() -> None:
    given = np.arange(24.0).reshape(2, 3, 4)
    marks = np.array([True, False, True])

    @njit
    def look(x, marks):  # type: ignore[no-untyped-def]
        x, marks = light.light(x), light.light(marks)
        row, part = x[1, 2], x[1][1:]
        x[0, 1, 2], row[3], part[0, 0], marks[1] = -1.0, -2.0, 7, row[0] > 0.0
        return row[2], part[0, 1], row[1:3][1], x.shape, part.shape, row[2:99].shape[0], row[4:].shape[0], marks[0]

    changed = given.copy()
    assert look(changed, marks) == (22.0, 17.0, 22.0, (2, 3, 4), (2, 4), 2, 0, True)
    expected = given.copy()
    expected[0, 1, 2], expected[1, 2, 3], expected[1, 1, 0] = -1.0, -2.0, 7.0
    assert np.array_equal(changed, expected)
    assert marks.tolist() == [True, True, True]


def test_room_in_compiled_code() -> None:
    @njit
    def squares(n):  # type: ignore[no-untyped-def]
        few, many = light.room(3), light.borrow(n)
        for i in range(n):
            few[i % 3], many[i] = i, i * i
        total = 0.0
        for i in range(n):
            total += many[i]
        light.give_back(many)
        address = light.kept(np.int32(n))
        return total, few[0] + few[1] + few[2], light.index(address, 1)[0] & 0xFFFFFFFF

    assert squares(100) == (328350.0, 97.0 + 98.0 + 99.0, 100)


def test_larger_and_smaller_choose_as_max_and_min_do() -> None:
    @njit
    def choose(a, b):  # type: ignore[no-untyped-def]
        return light.larger(a, b), light.smaller(a, b)

    for a, b in ((1, 2), (2, 1), (1.5, 1), (-0.0, 0.0), (np.inf, 2.0), (np.nan, 1.0), (1.0, np.nan)):
        assert np.array_equal(choose(a, b), (max(a, b), min(a, b)), equal_nan=True)


def test_a_kernel_is_compiled_again_when_what_it_calls_changes(tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(
        "from numba import njit\n@njit(cache=True)\ndef inner(x):\n    return x + 1\n", encoding="utf-8"
    )
    (tmp_path / "outer.py").write_text(
        "import inner as file\nfrom inner import inner\nfrom numba import njit\nfrom poise import compiled\n"
        "@njit(cache=True)\ndef outer(x):\n    return inner(x)\n"
        "outer = compiled.calls(outer, file.__file__)\nprint(outer(1))\n",
        encoding="utf-8",
    )

    def run() -> str:
        return subprocess.run(
            [sys.executable, "outer.py"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert run() == "2"
    text = (tmp_path / "inner.py").read_text(encoding="utf-8").replace("x + 1", "x + 2")
    (tmp_path / "inner.py").write_text(text, encoding="utf-8")
    assert run() == "3"
