"""Contact forces, joint torques, pressure and support: against the engine, plain solvers, and statics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import nnls

from poise.analysis import analyze, body_motion, inverse_dynamics, momentum, touching
from poise.analysis.forces import REGULARIZATION, contact_forces
from poise.analysis.support import hulls, polygon_distances, zero_moment_point
from poise.body import fit
from poise.body.character import Character
from poise.core.motion import Motion
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from poise.step.contacts import Contacts
from poise.terrain import Terrain
from tests.clips import sample_clip
from tests.test_analysis_momentum import NO_FILTER, around

Array = npt.NDArray[np.float64]


def held(name: str, frame: int, count: int = 20) -> Motion:
    """One pose of a sample, held."""
    motion = sample_clip(name)
    pose = motion.frames(np.array([frame]))
    return Motion(
        motion.skeleton,
        np.arange(count) / 60.0,
        np.repeat(pose.translations, count, axis=0),
        np.repeat(pose.rotations, count, axis=0),
    )


def double_support(name: str) -> tuple[Motion, Character]:
    """A held pose with many feet on the ground, and its character."""
    motion = sample_clip(name)
    character = fit(motion, masses="auto")
    flags = analyze(motion, character).touch.flags
    return held(name, int(np.argmax(flags.sum(axis=1)))), character


@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_standing_still_the_pressure_is_under_the_center_of_mass(name: str) -> None:
    motion, character = double_support(name)
    analysis = analyze(motion, character)
    weight = character.mass * 9.81
    support = analysis.support
    assert np.allclose(support.zmp[:, :2], analysis.com[:, :2], atol=1e-9)
    assert support.is_loaded.all()
    if (support.error < 0.0).all():  # the pose could stand: the forces found hold it up, by friction if need be
        assert np.allclose(analysis.forces.contact.sum(axis=1), [0.0, 0.0, weight], atol=1e-3 * weight)
        assert np.allclose(support.cop[:, :2], analysis.com[:, :2], atol=1e-3)
        assert np.linalg.norm(analysis.forces.residual_moment, axis=1).max() < 1e-3 * weight


def test_an_upright_figure_stands() -> None:
    motion, character = double_support("walk")
    assert (analyze(motion, character).support.error < 0.0).all()  # so the test above does not skip its branch


def test_torques_are_the_engines_own() -> None:
    source = sample_clip("walk")
    moved, q, v, a = around(source, source.frame_count // 2, 1e-4)
    character = fit(source)
    state = State(model_of(character)).at(q, v)
    wanted = state.data.inverse_dynamics(a)
    bodies = body_motion(moved, character, NO_FILTER)
    ground = Terrain.flat(-50.0)
    touch = touching(moved, character, terrain=ground, airborne=np.ones(3, dtype=np.bool_))
    forces = inverse_dynamics(bodies, momentum(bodies, character), touch, character)
    scale = character.mass * 9.81
    for i, body in enumerate(character.bodies):
        at = character.v_addresses[i]
        local = bodies.turns[1, i].T @ forces.joint_torques[1, i]
        if body.kind == "free":
            assert np.allclose(forces.residual_force[1], wanted[at : at + 3], atol=1e-4 * scale)
            at += 3
        assert body.kind != "hinge"
        assert np.allclose(local, wanted[at : at + 3], atol=1e-4 * scale)


def test_torques_are_the_engines_own_with_contacts_too() -> None:
    source = sample_clip("walk")
    moved, q, v, a = around(source, 30, 1e-4)
    character = fit(source)
    state = State(model_of(character)).at(q, v)
    bodies = body_motion(moved, character, NO_FILTER)
    ground = Terrain.flat(character.floor)
    flags = np.zeros((3, len(character.contact_points)), dtype=np.bool_)
    flags[:, [i for i, p in enumerate(character.contact_points) if p.part == "foot"]] = True
    touch = touching(moved, character, terrain=ground, contacts=flags)
    forces = inverse_dynamics(bodies, momentum(bodies, character), touch, character)
    assert np.linalg.norm(forces.contact[1], axis=1).max() > 10.0
    pushed = np.einsum("pi,pij->j", forces.contact[1], state.point_jacobians.reshape(-1, 3, state.model.nv))
    wanted = state.data.inverse_dynamics(a) - pushed
    scale = character.mass * 9.81
    assert np.allclose(forces.residual_force[1], wanted[:3], atol=1e-4 * scale)
    for i in range(len(character.bodies)):
        at = character.v_addresses[i] + (3 if i == 0 else 0)
        assert np.allclose(bodies.turns[1, i].T @ forces.joint_torques[1, i], wanted[at : at + 3], atol=1e-4 * scale)


@pytest.mark.parametrize(("frames", "count"), [(40, 9), (12, 40)], ids=["a few", "a figure that lies"])
def test_contact_forces_are_the_non_negative_least_squares(frames: int, count: int) -> None:
    rng = np.random.default_rng(3)
    friction, length = 0.7, 0.9
    points = rng.normal(size=(frames, count, 3)) * [0.3, 0.3, 0.05]
    normals = rng.normal(size=(frames, count, 3)) * 0.2 + [0.0, 0.0, 1.0]
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    flags = rng.random((frames, count)) < 0.6
    com = rng.normal(size=(frames, 3)) * 0.1 + [0.0, 0.0, 0.9]
    force = rng.normal(size=(frames, 3)) * 200.0 + [0.0, 0.0, 600.0]
    moment = rng.normal(size=(frames, 3)) * 60.0
    found = contact_forces(points, normals, flags, com, force, moment, friction=friction, length=length)
    for k in range(frames):
        on = np.flatnonzero(flags[k])
        if not len(on):
            assert not found[k].any()
            continue
        V = Contacts(on, normals[k, on], friction).directions()[0]
        arms = np.repeat(points[k, on] - com[k], 4, axis=0)
        W = np.concatenate([V, np.cross(arms, V) / length], axis=1).T
        b = np.concatenate([force[k], moment[k] / length])
        small = REGULARIZATION * (W * W).sum() / W.shape[1]
        x = nnls(np.concatenate([W, np.sqrt(small) * np.eye(W.shape[1])]), np.concatenate([b, np.zeros(W.shape[1])]))[0]
        wanted = (x[:, None] * V).reshape(-1, 4, 3).sum(axis=1)
        assert np.allclose(found[k, on], wanted, atol=1e-5 * np.linalg.norm(b))


def test_at_the_zero_moment_point_the_demanded_force_leaves_no_horizontal_moment() -> None:
    rng = np.random.default_rng(8)
    com, force = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) * 100.0 + [0.0, 0.0, 600.0]
    moment, level = rng.normal(size=(20, 3)) * 50.0, rng.normal(size=20)
    place = zero_moment_point(com, force, moment, level)
    assert np.array_equal(place[:, 2], level)
    assert np.allclose(np.cross(place - com, force)[:, :2], moment[:, :2], atol=1e-9)


def test_hulls_and_distances() -> None:
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(5)
    points, flags = rng.normal(size=(30, 12, 3)), rng.random((30, 12)) < 0.7
    flags[0], flags[1], flags[2] = False, np.arange(12) == 4, np.arange(12) < 2
    hull, counts = hulls(points, flags)
    assert counts[:3].tolist() == [0, 1, 2]
    places = rng.normal(size=(30, 2))
    distance, perimeter = polygon_distances(points, hull, counts, places)
    assert np.isnan(distance[0])
    assert distance[1] == pytest.approx(np.linalg.norm(points[1, 4, :2] - places[1]))
    assert perimeter[2] == pytest.approx(2.0 * np.linalg.norm(points[2, 0, :2] - points[2, 1, :2]))
    for k in range(3, 30):
        on = np.flatnonzero(flags[k])
        plain = ConvexHull(points[k, on, :2])
        assert set(hull[k, : counts[k]].tolist()) == set(on[plain.vertices].tolist())
        assert perimeter[k] == pytest.approx(plain.area)
        level = (plain.equations[:, :2] @ places[k] + plain.equations[:, 2]).max()
        if level < 0.0:
            assert distance[k] == pytest.approx(level)
        else:
            assert distance[k] >= level - 1e-12


def test_forces_do_not_depend_on_where_north_is_or_on_the_size_of_things() -> None:
    motion = sample_clip("walk")
    character = fit(motion, masses="auto")
    first = analyze(motion, character)
    k = 2.5  # lengths by k, times by √k, masses by k³: forces go with k³, gravity stays
    skeleton = replace(
        motion.skeleton,
        offsets=k * motion.skeleton.offsets,
        end_sites=tuple(replace(s, offset=k * s.offset) for s in motion.skeleton.end_sites),
    )
    large = Motion(skeleton, np.sqrt(k) * motion.times, k * motion.translations, motion.rotations)
    bodies = tuple(
        replace(b, offset=k * b.offset, mass=k**3 * b.mass, com=k * b.com, inertia=k**5 * b.inertia)
        for b in character.bodies
    )
    points = tuple(replace(p, offset=k * p.offset, radius=k * p.radius) for p in character.contact_points)
    giant = Character(
        skeleton, bodies, points, character.limbs, character.roles, k * character.leg_length, k * character.floor
    )
    second = analyze(large, giant)
    assert np.array_equal(first.touch.flags, second.touch.flags)
    assert np.array_equal(first.phase, second.phase)
    assert np.allclose(second.forces.contact, k**3 * first.forces.contact, atol=1e-3 * k**3)
    assert np.allclose(second.forces.residual_moment, k**4 * first.forces.residual_moment, atol=1e-3 * k**4)
    assert np.allclose(second.support.error, first.support.error, equal_nan=True, atol=1e-6)


def test_an_analysis_prints_as_one_line() -> None:
    motion = sample_clip("walk", 0.5)
    text = repr(analyze(motion, fit(motion)))
    assert "\n" not in text
    assert f"{motion.frame_count} frames" in text


def test_a_motion_is_fitted_once() -> None:
    motion = sample_clip("walk")
    assert analyze(motion).character is analyze(motion).character
