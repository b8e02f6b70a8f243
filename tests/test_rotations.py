"""Euler angles in every order, at gimbal lock too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from poise.core import rotations

ORDERS = ["".join(o) for o in product("XYZ", repeat=3) if o[0] != o[1] != o[2]]


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_are_scipys(order: str) -> None:
    q = rotations.normalize(np.random.default_rng(0).normal(size=(40, 5, 4)))
    found = rotations.to_euler(order, q)
    assert np.abs(found).max() <= 180.0
    theirs = Rotation.from_quat(q.reshape(-1, 4), scalar_first=True).as_euler(order, degrees=True)
    off = np.abs(found.reshape(-1, 3) - theirs)
    assert np.minimum(off, 360.0 - off).max() < 1e-9


@pytest.mark.parametrize("order", ORDERS)
def test_at_gimbal_lock_the_last_angle_is_zero(order: str) -> None:
    for middle in (0.0, 180.0) if order[0] == order[2] else (90.0, -90.0):
        angles = np.array([[a, middle, b] for a in (-170.0, 0.0, 30.0) for b in (-100.0, 0.0, 77.0)])
        q = rotations.from_euler(order, angles)
        found = rotations.to_euler(order, q)
        assert not found[:, 2].any()
        assert rotations.angle_between(rotations.from_euler(order, found), q).max() < 1e-7


def test_the_turn_about_the_vertical_is_found_beside_a_lean() -> None:
    yaw = np.array([-3.0, -1.0, 0.0, 0.5, 3.0])
    turned = rotations.from_rotation_vector(yaw[:, None] * np.array([0.0, 0.0, 1.0]))
    lean = rotations.from_rotation_vector(np.array([0.4, 0.0, 0.0]))
    np.testing.assert_allclose(rotations.yaw_between(lean, rotations.multiply(turned, lean)), yaw, atol=1e-12)


def test_the_turn_about_the_vertical_of_one_pair_is_that_of_many() -> None:
    first, second = rotations.normalize(np.random.default_rng(1).normal(size=(2, 200, 4)))
    one_by_one = [rotations.yaw_to(a, b) for a, b in zip(first, second)]
    np.testing.assert_allclose(one_by_one, rotations.yaw_between(first, second), atol=1e-12)


def test_the_shortest_turn_between_directions() -> None:
    a = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    b = np.array([[0.0, 4.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
    turns = rotations.between(a, b)
    np.testing.assert_allclose(
        rotations.rotate(turns[:3], a[:3] / [[1.0], [2.0], [3.0]]), b[:3] / [[4.0], [5.0], [1.0]], atol=1e-12
    )
    np.testing.assert_allclose(2.0 * np.arccos(turns[:, 0]), [np.pi / 2.0, 0.0, np.pi, 0.0], atol=1e-7)
    for one, other, turn in zip(a, b, turns):
        assert np.array_equal(rotations.between(one, other), turn)


def test_a_mean_counts_both_signs_of_a_quaternion_as_one_rotation() -> None:
    turns = rotations.from_rotation_vector(np.array([[0.2, 0.0, 0.0], [0.4, 0.0, 0.0], [0.6, 0.0, 0.0]]))
    every = np.stack([turns, turns * [[1.0], [-1.0], [1.0]]], axis=1)
    np.testing.assert_allclose(rotations.mean(every), turns[[1, 1]], atol=1e-12)
