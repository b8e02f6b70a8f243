"""Ballistic paths: closed forms, what each way of asking has in common, and the fit."""

from __future__ import annotations

import numpy as np
import pytest

from poise.core.errors import InvalidValue
from poise.edit import fit_path, gravity_vector, path_between, path_family, path_from_start, path_to_end

START, END = np.array([0.3, -1.0, 0.9]), np.array([2.0, 0.5, 1.4])


def test_a_path_between_two_points_begins_and_ends_there_and_falls_with_g() -> None:
    path = path_between(START, END, 0.7)
    np.testing.assert_allclose(path.position(0.0), START, atol=1e-15)
    np.testing.assert_allclose(path.end, END, atol=1e-15)
    t = np.linspace(0.0, 0.7, 29)
    second = np.diff(path.position(t), 2, axis=0) / (t[1] - t[0]) ** 2
    np.testing.assert_allclose(second, np.tile([0.0, 0.0, -9.81], (27, 1)), atol=1e-9)
    np.testing.assert_allclose(np.gradient(path.position(t), t, axis=0)[1:-1], path.velocity_at(t)[1:-1], atol=1e-9)


def test_the_same_path_from_its_start_from_its_end_and_between() -> None:
    path = path_between(START, END, 0.7)
    t = np.linspace(0.0, 0.7, 9)
    for other in (
        path_from_start(START, path.velocity, 0.7),
        path_to_end(END, path.end_velocity, 0.7),
        fit_path(t, path.position(t)),
        fit_path(t, path.position(t), gravity=9.81),
    ):
        np.testing.assert_allclose(other.position(t), path.position(t), atol=1e-12)


def test_the_rise_of_a_throw_is_its_upward_speed_squared_over_twice_g() -> None:
    path = path_from_start(START, np.array([1.0, 0.0, 3.0]), 2.0 * 3.0 / 9.81)
    assert path.rise == pytest.approx(3.0**2 / (2 * 9.81), abs=1e-12)
    assert path.end[2] == pytest.approx(START[2], abs=1e-12)


def test_a_family_spans_its_durations_and_all_of_it_meets_at_both_ends() -> None:
    family = path_family(START, END, 0.4, 0.8, 5)
    np.testing.assert_allclose([p.duration for p in family], [0.4, 0.5, 0.6, 0.7, 0.8])
    np.testing.assert_allclose([p.end for p in family], np.tile(END, (5, 1)), atol=1e-14)
    assert np.all(np.diff([p.rise for p in family]) > 0.0)


@pytest.mark.parametrize("up", [(0.0, 1.0, 0.0), (0.0, 0.0, 2.0), (1.0, 1.0, 0.0)])
def test_up_is_any_axis(up: tuple[float, float, float]) -> None:
    axis = np.array(up) / np.linalg.norm(up)
    path = path_between(START, END, 0.5, gravity=1.62, up=np.array(up))
    np.testing.assert_allclose(path.acceleration, -1.62 * axis, atol=1e-15)
    t = np.linspace(0.0, 0.5, 8)
    found = fit_path(t, path.position(t), up=np.array(up))
    np.testing.assert_allclose(found.acceleration, path.acceleration, atol=1e-9)


def test_the_fit_finds_the_gravity_of_a_noisy_path() -> None:
    t = np.linspace(0.0, 0.5, 61)
    noise = np.random.default_rng(1).normal(scale=1e-3, size=(61, 3))
    found = fit_path(t, path_between(START, END, 0.5, gravity=6.0).position(t) + noise)
    assert -found.acceleration[2] == pytest.approx(6.0, abs=0.15)  # noise 1 mm over a sag of 19 cm


def test_what_makes_no_path_is_refused() -> None:
    with pytest.raises(InvalidValue, match="positive time"):
        path_between(START, END, 0.0)
    with pytest.raises(InvalidValue, match="at least 2"):
        path_family(START, END, 0.4, 0.8, 1)
    with pytest.raises(InvalidValue, match="longer"):
        path_family(START, END, 0.8, 0.4, 3)
    with pytest.raises(InvalidValue, match="at least 3"):
        fit_path(np.array([0.0, 1.0]), np.zeros((2, 3)))
    with pytest.raises(InvalidValue, match="no length"):
        gravity_vector(9.81, np.zeros(3))
    with pytest.raises(InvalidValue, match="three finite"):
        path_between(START, np.array([np.nan, 0.0, 0.0]), 0.5)
