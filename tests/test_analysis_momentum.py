"""Center of mass, momentum and energy: against the engine, and against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from poise.analysis import analyze, body_motion, center_of_mass, choose_filter, momentum
from poise.analysis.smoothing import LowPass, smooth
from poise.body import fit
from poise.body.character import Body, Character
from poise.body.posing import apply_deviation, motion_to_q
from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.core.skeleton import Skeleton
from poise.io import load
from poise.physics import State
from poise.physics.mujoco_backend import model_of
from tests import analysis_plain
from tests.clips import MOTIONS, first_cases, needs_motions, sample_clip

Array = npt.NDArray[np.float64]
NO_FILTER = LowPass(float("inf"))


def around(motion: Motion, frame: int, step: float) -> tuple[Motion, Array, Array, Array]:
    """Three frames a tiny step apart through one pose, and the state (q, v, a) of the middle one."""
    character = fit(motion)
    model = model_of(character)
    middle = replace(motion.frames(np.array([frame])), source=None)
    q = motion_to_q(character, middle)
    rng = np.random.default_rng(frame)
    v, a = rng.normal(size=model.nv), 3.0 * rng.normal(size=model.nv)
    poses = [
        apply_deviation(character, middle, q, model.integrate(q[0], v * t + 0.5 * a * t * t, 1.0)[None])
        for t in (-step, 0.0, step)
    ]
    moved = Motion(
        motion.skeleton,
        step * np.arange(3.0),
        np.concatenate([p.translations for p in poses]),
        np.concatenate([p.rotations for p in poses]),
    )
    return moved, q[0], v, a


@first_cases(1, "name", ["walk", "quadruped", "hover_hop"])
def test_momentum_is_the_engines_own(name: str) -> None:
    motion = sample_clip(name)
    character = fit(motion)
    step = 1e-4
    moved, q, v, a = around(motion, motion.frame_count // 2, step)
    model = model_of(character)
    state = State(model).at(q, v)
    bodies = body_motion(moved, character, NO_FILTER)
    whole = momentum(bodies, character)
    scale = character.mass
    # central differences over the step err by its square, times third derivatives of a few thousand
    assert np.allclose(whole.com[1], state.com(), atol=1e-9)
    assert np.allclose(whole.linear[1], scale * state.com_jacobian() @ v, atol=1e-5 * scale)
    assert np.allclose(whole.angular[1], state.data.angular_momentum(1), atol=1e-5 * scale)
    assert np.allclose(whole.translational[1] + whole.rotational[1], 0.5 * v @ state.M @ v, rtol=1e-6)
    acceleration = state.com_jacobian() @ a + state.com_bias()
    assert np.allclose(whole.com_acceleration[1], acceleration, atol=1e-4)


def single_body(translations: Array, turns: Array, times: Array) -> tuple[Motion, Character]:
    """A motion of one joint, and a lopsided brick on it."""
    skeleton = Skeleton(("brick",), np.array([-1]), np.zeros((1, 3)), rotations.IDENTITY[None].copy())
    inertia = np.diag([0.4, 0.9, 1.1])
    brick = Body("brick", 0, -1, np.zeros(3), "free", 7.0, np.array([0.1, -0.05, 0.2]), inertia, ())
    character = Character(skeleton, (brick,), (), (), {}, 0.82)
    return Motion(skeleton, times, translations[:, None], turns[:, None]), character


def tumbling(count: int, dt: float) -> tuple[Motion, Character]:
    """A free brick: its center falls, its spin obeys Euler's equations (integrated finely)."""
    inertia = np.diag([0.4, 0.9, 1.1])
    fine = 50
    q, w = rotations.IDENTITY.copy(), np.array([2.0, 3.0, -1.0])
    turns = np.empty((count, 4))
    h = dt / fine

    def rate(spin: Array) -> Array:
        return np.asarray(np.linalg.solve(inertia, -np.cross(spin, inertia @ spin)), dtype=np.float64)

    for k in range(count):
        turns[k] = q
        for _ in range(fine):
            middle = w + 0.5 * h * rate(w)
            q = rotations.normalize(rotations.multiply(q, rotations.from_rotation_vector(h * middle)))
            w = w + h * rate(middle)
    t = dt * np.arange(count, dtype=np.float64)
    center = np.array([0.0, 0.0, 3.0]) + t[:, None] * np.array([1.0, 0.5, 2.0])
    center[:, 2] -= 0.5 * 9.81 * t * t
    offset = np.array([0.1, -0.05, 0.2])
    return single_body(center - rotations.rotate(turns, offset), turns, t)


@first_cases(1, "filter_hz", [None, 20.0])
def test_a_tumbling_body_keeps_its_angular_momentum(filter_hz: float | None) -> None:
    motion, character = tumbling(120, 1.0 / 120.0)
    analysis = analyze(motion, character, filter_hz=filter_hz, floor=-100.0)
    angular = analysis.momentum.angular
    middle = slice(6, -6) if filter_hz else slice(None)  # the filter does bend a spin at the ends, by a little
    assert np.allclose(angular[middle], angular[60], atol=0.003 * np.linalg.norm(angular[60]))
    assert np.allclose(analysis.momentum.com_acceleration, [0.0, 0.0, -9.81], atol=2e-3 if filter_hz is None else 0.1)
    (flight,) = analysis.flights
    assert flight.gravity == pytest.approx(9.81, abs=1e-6)
    assert flight.residual < 1e-9
    assert flight.track_error < 1e-9


def test_a_pendulum_keeps_its_energy() -> None:
    # exact small steps of θ'' = −m g r sin θ / (I + m r²), I about the hinge's axis
    m, r, inertia, g = 7.0, 0.8, 0.9, 9.81
    dt, count, fine = 1.0 / 240.0, 480, 100
    angle, rate, angles = 1.2, 0.0, np.empty(480)
    h = dt / fine
    for k in range(count):
        angles[k] = angle
        for _ in range(fine):  # leapfrog
            rate -= 0.5 * h * m * g * r * np.sin(angle) / (inertia + m * r * r)
            angle += h * rate
            rate -= 0.5 * h * m * g * r * np.sin(angle) / (inertia + m * r * r)
    turns = rotations.from_rotation_vector(angles[:, None] * np.array([0.0, 1.0, 0.0]))
    motion, character = single_body(np.zeros((count, 3)), turns, dt * np.arange(count, dtype=np.float64))
    body = replace(character.bodies[0], com=np.array([0.0, 0.0, -r]))
    character = replace(character, bodies=(body,))
    analysis = analyze(motion, character, filter_hz=None, floor=-100.0)
    whole = analysis.momentum
    energy = whole.translational + whole.rotational + whole.potential
    swing = m * g * r * (1.0 - np.cos(1.2))
    assert np.ptp(energy) < 1e-3 * swing
    # about the hinge, nothing but gravity turns it: the root's residual moment there is zero
    # (the end frames repeat their neighbors' acceleration)
    assert np.abs(analysis.forces.residual_moment[1:-1]).max() < 1e-4 * m * g * r


def test_the_filter_keeps_constant_acceleration_to_the_ends_and_halves_power_at_its_cutoff() -> None:
    t = np.arange(600) / 120.0
    low = choose_filter(8.0, fps=120.0, leg_length=0.82)
    parabola = (1.0 + 2.0 * t - 4.0 * t * t)[:, None]
    assert np.allclose(smooth(low, t, parabola), parabola, atol=1e-7)
    uneven = t + 0.002 * np.sin(17.0 * t)
    parabola = (1.0 + 2.0 * uneven - 4.0 * uneven**2)[:, None]
    assert np.allclose(smooth(low, uneven, parabola), parabola, atol=1e-7)
    assert np.isfinite(smooth(LowPass(1e-6), t, parabola)).all()  # for legs of kilometers
    wave = np.sin(2.0 * np.pi * 8.0 * t)[:, None]
    passed = smooth(low, t, wave)[100:-100]
    gain = passed[:, 0] @ wave[100:-100, 0] / (wave[100:-100, 0] @ wave[100:-100, 0])
    assert gain == pytest.approx(np.sqrt(0.5), abs=1e-3)
    spoiled = parabola.copy()
    spoiled[300] += 5.0
    weights = np.ones(600)
    weights[300] = 0.0
    assert np.allclose(smooth(low, uneven, spoiled, weights), parabola, atol=1e-6)


def test_the_center_of_mass_is_that_of_the_frames_as_they_stand() -> None:
    motion = sample_clip("walk")
    character = fit(motion)
    analysis = analyze(motion, character)
    assert np.array_equal(analysis.com, center_of_mass(motion, character))
    assert np.abs(analysis.com - analysis.momentum.com).max() < 0.01


def test_a_frozen_figure_that_turns_has_its_composite_inertia() -> None:
    pose = sample_clip("walk").frames(np.array([40]))
    times = np.arange(7) / 240.0
    spin = np.array([0.7, -0.4, 1.1])
    turns = rotations.from_rotation_vector(times[:, None] * spin)
    local = np.repeat(pose.rotations, 7, axis=0)
    local[:, 0] = rotations.multiply(turns, local[:, 0])
    place = np.repeat(pose.translations, 7, axis=0)
    place[:, 0] = rotations.rotate(turns, place[:, 0])
    motion = Motion(pose.skeleton, times, place, local)
    analysis = analyze(motion, fit(sample_clip("walk")), filter_hz=None)
    wanted = np.einsum("fij,j->fi", analysis.inertia, spin)
    assert np.allclose(analysis.momentum.angular, wanted, rtol=1e-4, atol=1e-4 * np.linalg.norm(wanted[3]))


@needs_motions
def test_turning_the_world_turns_the_answer() -> None:
    motion = load(MOTIONS / "asf_amc" / "02_04.amc")
    character = fit(motion)
    first = analyze(motion, character)
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.1]))
    translations, turned = motion.translations.copy(), motion.rotations.copy()
    translations[:, 0] = rotations.rotate(turn, translations[:, 0])
    turned[:, 0] = rotations.multiply(turn, turned[:, 0])
    second = analyze(replace(motion, translations=translations, rotations=turned), character)
    assert np.allclose(second.com, rotations.rotate(turn, first.com), atol=1e-9)
    assert np.allclose(second.momentum.angular, rotations.rotate(turn, first.momentum.angular), atol=1e-6)
    assert [f.gravity for f in second.flights] == pytest.approx([f.gravity for f in first.flights])


def test_another_skeletons_character_is_refused() -> None:
    walk, dog = sample_clip("walk"), sample_clip("quadruped")
    with pytest.raises(InvalidValue, match="another skeleton"):
        analyze(walk, fit(dog))


@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_motion_and_momentum_are_those_of_their_definitions(name: str) -> None:
    motion = sample_clip(name)
    uneven = motion.times + 0.2 * motion.dt * np.sin(np.arange(motion.frame_count))
    motion = replace(motion, times=uneven - uneven[0], rotations=motion.rotations * -1.0, source=None)
    character = fit(motion)
    breaks = (1, 3, 40, 41, 100)
    bodies = body_motion(motion, character, NO_FILTER, breaks=breaks)
    plain = analysis_plain.body_motion(motion, character, breaks)
    found = (
        bodies.joints, bodies.turns, bodies.com, bodies.velocities, bodies.accelerations,
        bodies.angular_velocities, bodies.angular_accelerations,
    )  # fmt: skip
    for ours, theirs in zip(found, plain):
        assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-8)
    whole = momentum(bodies, character)
    for field, theirs in analysis_plain.momentum(character, plain).items():
        assert np.allclose(getattr(whole, field), theirs, rtol=1e-8, atol=1e-8), field
