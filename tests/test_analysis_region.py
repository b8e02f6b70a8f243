"""The support region on uneven ground: against a plain linear program, and against the ordinary polygon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from poise.analysis import analyze, support
from poise.analysis.region import regions
from poise.body import fit
from poise.step.contacts import Contacts
from poise.terrain import Terrain
from tests.clips import sample_clip


def test_corners_are_those_of_the_linear_program() -> None:
    rng = np.random.default_rng(1)
    frames, count, friction = 30, 8, 0.7
    points = rng.normal(size=(frames, count, 3)) * [0.3, 0.3, 0.1]
    normals = rng.normal(size=(frames, count, 3)) * 0.25 + [0.0, 0.0, 1.0]
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    flags = rng.random((frames, count)) < 0.6
    flags[0], flags[1] = False, np.arange(count) == 2
    place = rng.normal(size=(frames, 3)) * 0.1 + [0.0, 0.0, 0.9]
    force, moment = rng.normal(size=(frames, 3)) * 80.0 + [0.0, 0.0, 700.0], rng.normal(size=(frames, 3)) * 20.0
    force[2] = [900.0, 0.0, 700.0]  # no friction holds that
    force[1] = 700.0 * normals[1, 2] / normals[1, 2, 2]
    corners, counts = regions(points, normals, flags, place, force, moment, friction=friction, tolerance=1e-9)
    assert counts[0] == 0
    assert counts[1] == 1
    assert counts[2] == -1
    for k in range(3, frames):
        on = np.flatnonzero(flags[k])
        V = Contacts(on, normals[k, on], friction).directions()[0]
        m = np.cross(np.repeat(points[k, on] - place[k], 4, axis=0), V)
        shift = np.stack([-m[:, 1], m[:, 0]], axis=1) / force[k, 2]
        for angle in np.linspace(0.0, 6.0, 7):
            u = np.array([np.cos(angle), np.sin(angle)])
            plain = linprog(-(shift @ u), A_eq=V.T, b_eq=force[k])
            assert (plain.status == 0) == (counts[k] > 0)
            if plain.status == 0:
                wanted = -plain.fun + u @ np.array([moment[k, 1], -moment[k, 0]]) / force[k, 2]
                assert (corners[k, : counts[k]] @ u).max() == pytest.approx(wanted, abs=1e-9)


def test_on_flat_ground_it_is_the_ordinary_polygon() -> None:
    motion = sample_clip("walk")
    analysis = analyze(motion, fit(motion, masses="auto"), friction=2.0)
    flat = analysis.support
    uneven = support(
        analysis.momentum.com, analysis.forces, analysis.touch, analysis.character, is_flat=False, friction=2.0
    )
    assert not flat.slips.any()
    assert np.array_equal(uneven.corners > 0, flat.is_loaded)
    # contact points of one frame stand up to a centimeter apart in height: the region sees that, the polygon does not
    level = analysis.touch.points.copy()
    level[:, :, 2] = analysis.floor
    touch = replace(analysis.touch, points=level)
    uneven = support(analysis.momentum.com, analysis.forces, touch, analysis.character, is_flat=False, friction=2.0)
    flat = support(analysis.momentum.com, analysis.forces, touch, analysis.character, friction=2.0)
    assert np.allclose(uneven.distance, flat.distance, atol=2e-4, equal_nan=True)
    assert np.allclose(uneven.radius[flat.is_loaded], flat.radius[flat.is_loaded], atol=2e-4)


def test_on_two_walls_of_a_ditch_the_region_is_wider_than_the_feet() -> None:
    # feet on two steep sides that face each other: they can press against each other, and hold more than they span
    points = np.array([[[-0.3, 0.0, 0.0], [0.3, 0.0, 0.0]]])
    steep = np.array([np.sin(1.0), 0.0, np.cos(1.0)])
    normals = np.array([[steep, steep * [-1.0, 1.0, 1.0]]])
    flags = np.ones((1, 2), dtype=np.bool_)
    place, force, moment = np.array([[0.0, 0.0, 0.8]]), np.array([[0.0, 0.0, 700.0]]), np.zeros((1, 3))
    corners, counts = regions(points, normals, flags, place, force, moment, friction=0.8, tolerance=1e-6)
    wide = corners[0, : counts[0]]
    # one foot presses as steeply as it can, the other as downward as it can, with the same sideways force
    steepest, flattest = 1.0 - np.arctan(0.8), 1.0 + np.arctan(0.8)
    up, down = 1.0 / np.tan(steepest), 1.0 / np.tan(flattest)
    assert wide[:, 0].max() == pytest.approx(0.3 * (up - down) / (up + down), abs=1e-6)
    assert wide[:, 0].max() > 0.3
    assert np.abs(wide[:, 1]).max() < 1e-6


def test_a_walk_up_a_slope_is_tested_against_the_region_of_the_slope() -> None:
    motion = sample_clip("walk")
    character = fit(motion, masses="auto")
    slope = Terrain.slope(12.0).placed(origin=motion.world[0][0, 0, :2], heading=0.0, ground=character.floor)
    along = motion.translations[:, 0, :2] - motion.translations[0, 0, :2]
    lifted = motion.translations.copy()
    lifted[:, 0, 2] += np.tan(np.radians(12.0)) * along[:, 0]
    found = analyze(replace(motion, translations=lifted, source=None), character, terrain=slope)
    assert found.support.is_loaded.mean() > 0.5
    told = found.support.corners[found.support.is_loaded] > 0
    assert told.mean() > 0.9
    k = int(np.argmax(found.support.corners))
    polygon = found.support_polygon(k)
    assert polygon.shape == (found.support.corners[k], 3)
    x, y = polygon[:, 0], polygon[:, 1]
    assert 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) > 0.0  # counterclockwise
