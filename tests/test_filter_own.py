"""Objectives of one's own in the filter, a filter that begins again, and two characters in two threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from poise.body.posing import motion_to_q
from poise.core.errors import InvalidValue
from poise.core.typing import Array
from poise.filter.forces import Push
from poise.filter.reference import ReferenceFrame
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.filter.stream import QuasiPhysicalFilter, step_all
from poise.step import Constraint, Equal, Objective, Quantity, Rows, Step
from poise.step.quantities import JointAcceleration
from tests.filter_runs import walk


@dataclass(frozen=True)
class SpinOfTheHead(Quantity):
    """Angular acceleration of one body about the vertical [rad/s²]: a quantity that Poise does not know."""

    body: int

    def rows(self, step: Step) -> Rows:
        state = step.state
        on_a, b = np.zeros((1, step.nv)), self.body
        while b > 0:
            own = slice(state.model.dof_first[b], state.model.dof_first[b] + state.model.dof_count[b])
            on_a[0, own] = state.data.cdof[own, 2]
            b = int(state.model.parents[b])
        return Rows(on_a, state.body_biases[self.body, 2:3].copy())


def test_an_objective_of_ones_own_joins_the_list() -> None:
    motion, character = walk()
    head = character.body_index("head") + 1
    at = character.q_addresses[head - 1]

    def turned(weight: float, more: float) -> float:
        """Largest turn of the head, of which an objective asks for more than the reference does."""

        def turn(step: Step, reference: ReferenceFrame) -> Sequence[Objective | Constraint]:
            target = reference.angular_accelerations[head, 2:] + more
            return [Objective(SpinOfTheHead(head), target, weight, "spin")]

        result = simulate(motion, character, options=Options(objectives=(turn,)))
        assert result.report["solver"]["failures"] == 0
        assert result.report["settings"]["objectives"] == ["turn"]
        return float(np.abs(result.q - result.reference_q)[:, at : at + 4].max())

    assert turned(0.0, 5.0) < 1e-9
    assert turned(1e3, 0.0) < 1e-9  # it asks for what the reference does: nothing changes
    a_little, much = turned(1.0, 5.0), turned(100.0, 5.0)
    assert 1e-5 < a_little < much


def test_a_constraint_of_ones_own_holds() -> None:
    motion, character = walk(0.6)
    first = character.v_addresses[-1]

    def stiff(step: Step, reference: ReferenceFrame) -> Sequence[Objective | Constraint]:
        return [Equal(JointAcceleration((first, first + 1)), reference.a[first : first + 1], "stiff")]

    shove = Push("chest", (150.0, 0.0, 0.0), 0.1)
    result = simulate(motion, character, pushes=[shove], options=Options(objectives=(stiff,)))
    assert result.report["solver"]["failures"] == 0
    assert result.report["solver"]["primal_residual_max"] <= 1e-9


def _stream(filter_: QuasiPhysicalFilter, poses: Array, push: bool = True) -> Array:
    if push:
        filter_.push(Push("chest", (200.0, 60.0, 0.0), 0.2))
    return np.array([answer for pose in poses if (answer := filter_.step(pose)) is not None])


def _poses() -> tuple[QuasiPhysicalFilter, Array]:
    motion, character = walk()
    poses = motion_to_q(character, motion.resampled(np.arange(0.0, 1.2, 1.0 / 60.0)))
    return QuasiPhysicalFilter(character, 1.0 / 60.0), poses


def test_a_filter_begins_again() -> None:
    filter_, poses = _poses()
    first = _stream(filter_, poses)
    filter_.reset()
    assert filter_.time == 0.0
    assert np.array_equal(_stream(filter_, poses), first)
    filter_.reset()
    assert np.abs(_stream(filter_, poses, push=False) - poses[: len(first)]).max() < 1e-9


def test_many_filters_step_together_as_they_do_alone() -> None:
    alone = [_poses() for _ in range(5)]
    together = [filter_ for filter_, _ in (_poses() for _ in range(5))]
    poses = alone[0][1]
    for k, (filter_, _) in enumerate(alone):
        for one in (filter_, together[k]):
            one.push(Push("chest", (100.0 + 30.0 * k, 60.0, 0.0), 0.1 * k))
    for k in range(30):
        now = [poses[k + shift] for shift in range(5)]
        wanted = [filter_.step(pose) for (filter_, _), pose in zip(alone, now, strict=True)]
        for mine, theirs in zip(step_all(together, now, threads=3), wanted, strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or theirs is None or np.array_equal(mine, theirs)
    with pytest.raises(InvalidValue, match="5 filters and 4 poses"):
        step_all(together, poses[:4])
    with pytest.raises(InvalidValue, match="twice"):
        step_all([together[0], together[0]], poses[:2])
    with pytest.raises(InvalidValue, match="not finite"):  # and the others go on
        step_all(together, [np.full_like(poses[0], np.nan), *poses[31:35]], threads=2)
    assert {filter_.time for filter_ in together[1:]} == {together[0].time + 1.0 / 60.0}


def test_characters_in_threads_do_what_they_do_alone() -> None:
    pairs = [_poses() for _ in range(4)]
    alone = _stream(*_poses())
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pair: _stream(*pair), pairs))
    for answer in together:
        assert np.array_equal(answer, alone)
