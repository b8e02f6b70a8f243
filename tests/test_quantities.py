"""Every quantity, on every figure, beside what is measured."""

from __future__ import annotations

import numpy as np
import pytest

from poise.core.errors import InvalidValue
from poise.step import Objective, Quantity, Step
from poise.step.quantities import (
    AngularMomentumRate,
    BodyAngularAcceleration,
    ComAcceleration,
    ContactCoefficients,
    ContactForce,
    JointTorque,
    RootWrench,
)
from poise.step.system import assemble, form_of, share_matrix
from poise.step.writers import write
from tests.figures import FIGURES, random_contacts, random_state
from tests.moving import MEASURED


def _subclasses(cls: type) -> set[type]:
    return {cls}.union(*(_subclasses(c) for c in cls.__subclasses__()))


QUANTITIES = sorted(
    (c for c in _subclasses(Quantity) - {Quantity} if c.__module__ == "poise.step.quantities"), key=lambda c: c.__name__
)


def _step(figure: str, seed: int) -> Step:
    model = FIGURES[figure]()
    external = 20.0 * np.random.default_rng(seed + 50).normal(size=model.nv)
    return Step(random_state(model, seed), random_contacts(model, seed, 6), dt=0.02, external=external)


def test_every_quantity_can_be_measured() -> None:
    assert set(QUANTITIES) == set(MEASURED)


def test_every_quantity_of_the_library_is_in_one_file() -> None:
    own = {c for c in _subclasses(Quantity) if c.__module__.startswith("poise.")} - {Quantity}
    assert own == set(QUANTITIES)


def test_forces_of_a_step_without_contacts_are_zero() -> None:
    step = Step(random_state(FIGURES["biped"](), 1), None, dt=0.01)
    rows = ContactForce(np.array([0, 2])).rows(step)
    assert rows.on_lambda is not None
    assert rows.on_lambda.shape == (6, 0)
    assert not rows.on_a.any()


def test_damping_counts_the_step_s_own_acceleration() -> None:
    step = _step("biped", 4)
    damping, a = np.linspace(1.0, 9.0, step.nv - 6), np.random.default_rng(5).normal(size=step.nv)
    damped, plain = JointTorque((6, None), damping=damping).rows(step), JointTorque((6, None)).rows(step)
    np.testing.assert_allclose((damped.on_a - plain.on_a) @ a, step.dt * damping * a[6:], atol=1e-12)
    np.testing.assert_array_equal(damped.c, plain.c)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("kind", QUANTITIES, ids=lambda c: c.__name__)
def test_rows_say_what_is_measured(kind: type[Quantity], figure: str) -> None:
    step = _step(figure, seed=1)
    rng = np.random.default_rng(2)
    a, coefficients = 5.0 * rng.normal(size=step.nv), 30.0 * rng.random(step.coefficient_count)
    instances = MEASURED[kind].instances(step)
    assert instances
    for quantity in instances:
        rows = quantity.rows(step)
        assert rows.on_a.shape == (len(rows.c), step.nv)
        if (own := quantity.own_dofs(step)) is not None:
            np.testing.assert_array_equal(rows.on_a, np.eye(step.nv)[slice(*own)])
            assert not rows.c.any()
        value = rows.on_a @ a + rows.c
        if rows.on_lambda is not None:
            assert rows.on_lambda.shape == (len(rows.c), step.coefficient_count)
            value = value + rows.on_lambda @ coefficients
        measured = MEASURED[kind].measured(quantity, step, a, coefficients)
        assert value.shape == measured.shape
        # central differences: 1e-10 of the largest derivative involved
        assert np.abs(value - measured).max() <= 1e-7 * (1.0 + np.abs(measured).max()), quantity


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("kind", QUANTITIES, ids=lambda c: c.__name__)
def test_written_objectives_equal_their_rows(kind: type[Quantity], figure: str) -> None:
    step = _step(figure, seed=4)
    rng = np.random.default_rng(5)
    for quantity in MEASURED[kind].instances(step):
        rows = quantity.rows(step)
        count, n = len(rows.c), step.coefficient_count
        target = rng.normal(size=count)
        weight = rng.random(count)
        if kind is ContactCoefficients:
            continue  # not part of the form
        s = write(step, [Objective(quantity, target, weight)], [])
        assemble(s)
        form, share, nv = form_of(s), share_matrix(s), step.nv
        A, r = rows.on_a, target - rows.c
        X = np.zeros((count, n)) if rows.on_lambda is None else rows.on_lambda
        WA, WX = weight[:, None] * A, weight[:, None] * X
        for mine, plain in (
            (form[:nv, :nv], A.T @ WA),
            (form[:nv, -1], A.T @ (weight * r)),
            (share @ form[nv:, nv:-1] @ share.T, X.T @ WX),
            (share @ form[nv:, -1], X.T @ (weight * r)),
            (share @ form[nv:, :nv], X.T @ WA),
        ):
            assert np.allclose(mine, plain, rtol=1e-12, atol=1e-11 * (1.0 + np.abs(plain).max(initial=0.0))), quantity


def test_a_second_wish_on_turns_joins_the_first() -> None:
    step = _step("biped", seed=4)
    count = 3 * (step.state.model.body_count - 1)
    turning = Objective(BodyAngularAcceleration(), 0.0, np.linspace(1.0, 2.0, count))
    assert (write(step, [turning], []).has_turns, write(step, [turning], []).rows) == (1, 0)
    one, other = (Objective(BodyAngularAcceleration(b), 1.0, 2.0) for b in (2, "right_thigh"))
    s = write(step, [one, other], [])
    assert (s.rows, np.count_nonzero(s.turn_weight)) == (0, 6)
    for pair in ([turning, turning], [one, turning], [turning, one], [one, one]):
        s = write(step, pair, [])
        assert (s.has_turns, s.rows) == (1, 0)
        given = [o for o in pair for _ in ([0] if o is turning else [])]
        weights = sum((np.asarray(o.weight) for o in given), np.zeros(count))
        weights[3:6] += 2.0 * sum(o is one for o in pair)
        assert np.allclose(s.turn_weight[1:].ravel(), weights)
        # the pull of both, against targets 0 and 1
        pull = np.zeros(count)
        pull[3:6] = 2.0 * sum(o is one for o in pair)
        assert np.allclose((s.turn_weight * s.turn_target)[1:].ravel(), pull)
    bad = write(step, [turning, Objective(BodyAngularAcceleration(2), 1.0, np.full(3, -0.5))], [])
    assert np.isnan(bad.turn_weight).any()
    with pytest.raises(InvalidValue, match="body is -1"):
        BodyAngularAcceleration(-1)
    for wrong in (99, "wing"):
        with pytest.raises(InvalidValue, match="pelvis"):
            write(step, [Objective(BodyAngularAcceleration(wrong), 1.0)], [])


def test_quantities_of_one_character_do_not_see_the_other() -> None:
    step = _step("holding_hands", seed=6)
    half = step.nv // 2
    for of, own, foreign in ((0, slice(0, half), slice(half, None)), (1, slice(half, None), slice(0, half))):
        for quantity in (ComAcceleration(of=of), AngularMomentumRate(of=of), RootWrench(of=of)):
            rows = quantity.rows(step)
            assert np.abs(rows.on_a[:, own]).max() > 0.0
            assert not rows.on_a[:, foreign].any(), quantity
