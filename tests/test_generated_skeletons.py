"""No skeleton breaks a fit: a character with finite numbers for every shape, or one sentence."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise.body import Character, fit
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.skeleton import EndSite, Skeleton
from poise.filter.simulate import simulate
from poise.phases import find_floor
from poise.terrain import Terrain
from tests.generated_skeletons import SHAPES, generated_motion

BATCH = 33


@pytest.mark.parametrize("first", [0, *(pytest.param(n * BATCH, marks=pytest.mark.long) for n in range(1, 8))])
@pytest.mark.filterwarnings("error", "ignore::poise.MotionWarning")  # a reading that is told to be doubtful is sound
def test_every_generated_skeleton_becomes_a_sound_character(first: int) -> None:
    assert BATCH % len(SHAPES) == 0  # every batch holds every shape
    for seed in range(first, first + BATCH):
        _assert_sound(fit(generated_motion(seed)), seed)


def _assert_sound(character: Character, seed: int) -> None:
    for body in character.bodies:
        assert np.isfinite([*body.offset, *body.com]).all(), (seed, body.name)
        low, middle, high = np.linalg.eigvalsh(body.inertia)
        assert low > 0.0, (seed, body.name)
        assert high <= (low + middle) * (1.0 + 1e-9), (seed, body.name)
        if body.limits is not None:
            assert all(np.isfinite(value).all() for value in vars(body.limits).values()), (seed, body.name)
    for point in character.contact_points:
        assert np.isfinite([*point.offset, point.radius]).all(), (seed, point.name)
    assert np.isfinite([character.leg_length, character.floor]).all(), seed
    assert character.leg_length > 0.0, seed


@pytest.mark.parametrize("seed", [200681, 202582])
def test_a_figure_of_hardly_any_size_has_a_floor(seed: int) -> None:
    assert np.isfinite(find_floor(generated_motion(seed)).value)


def test_legs_of_no_length_and_joints_of_no_offset_are_fitted() -> None:
    names = ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot")
    offsets = np.zeros((7, 3))
    offsets[0, 2], offsets[1, 1], offsets[4, 1] = 1.0, 0.5, -0.5
    rest = np.tile(rotations.IDENTITY, (7, 1))
    skeleton = Skeleton(names, np.array([-1, 0, 1, 2, 0, 4, 5]), offsets, rest, (EndSite(3, np.zeros(3)),))
    moved, turned = np.tile(offsets, (3, 1, 1)), np.tile(rest, (3, 1, 1))
    _assert_sound(fit(Motion(skeleton, np.arange(3) / 30.0, moved, turned)), -1)


def test_a_figure_without_feet_goes_up_stairs() -> None:
    offsets = np.array([[0.0, 0.0, 0.5], [0.3, 0.0, 0.0], [0.3, 0.0, 0.0]])
    rest = np.tile(rotations.IDENTITY, (3, 1))
    skeleton = Skeleton(("a", "b", "c"), np.array([-1, 0, 1]), offsets, rest, (EndSite(2, np.array([0.2, 0.0, 0.0])),))
    moved, turned = np.tile(offsets, (9, 1, 1)), np.tile(rest, (9, 1, 1))
    result = simulate(Motion(skeleton, np.arange(9) / 30.0, moved, turned), terrain=Terrain.parse("stairs:0.17,0.3"))
    assert np.isfinite(result.motion.translations).all()


@pytest.mark.parametrize("seed", [740523, 740609])
@pytest.mark.filterwarnings("ignore")
def test_skeletons_that_once_failed(seed: int) -> None:
    """Many legs that lie flat, and a leg of one bone on rising ground."""
    motion = generated_motion(seed)
    character = fit(motion)
    _assert_sound(character, seed)
    push = poise.Push(character.bodies[0].name, (2.0 * character.mass, 0.0, 0.0), 0.3 * motion.duration, 0.1)
    assert np.isfinite(poise.simulate(motion, character, pushes=[push]).motion.rotations).all()
