from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.core.motion import Motion
from poise.show.scene import GHOST, Arrow, Scene, Style, Track, track_of_motion
from poise.terrain import Terrain
from tests.record_figures import sliding_track, stick_figure

TIMES = np.linspace(1.0, 3.0, 5)


def a_scene(**changes: object) -> Scene:
    return replace(Scene(TIMES, (sliding_track(TIMES),), Terrain.flat()), **changes)  # type: ignore[arg-type]


def test_a_pose_between_frames_lies_between_them_and_the_ends_hold() -> None:
    track = sliding_track(TIMES, speed=2.0)
    turned = track.orientations.copy()
    turned[1] = -rotations.from_rotation_vector(np.array([0.0, 0.0, 1.0]))  # the other sign of the same turn
    scene = a_scene(tracks=(replace(track, orientations=turned),))
    positions, orientations = scene.pose(0, 1.25)
    assert positions[0, 0] == pytest.approx(2.5)
    np.testing.assert_allclose(rotations.to_rotation_vector(orientations[0]), [0.0, 0.0, 0.5], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(orientations, axis=-1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(scene.pose(0, -9.0)[0], track.positions[0])
    np.testing.assert_array_equal(scene.pose(0, 99.0)[0], track.positions[-1])


def test_a_force_may_change_over_time() -> None:
    constant = Arrow(0, 0, 1.0, 2.0, np.array([1.0, 2.0, 3.0]), np.zeros(3))
    rising = replace(constant, force=np.linspace(0.0, 4.0, 5)[:, None] * [1.0, 0.0, 0.0])
    scene = a_scene(arrows=(constant, rising))
    np.testing.assert_array_equal(scene.force(constant, 1.3), [1.0, 2.0, 3.0])
    np.testing.assert_allclose(scene.force(rising, 1.25), [0.5, 0.0, 0.0])


def test_a_motion_becomes_a_track_with_its_bodies_on_its_joints() -> None:
    character = stick_figure()
    skeleton = character.skeleton
    turns = np.tile(skeleton.rest_rotations, (3, 1, 1))
    turns[2, 1] = rotations.from_rotation_vector(np.array([0.0, -np.pi / 2, 0.0]))  # left leg forward
    motion = Motion(skeleton, np.arange(3) / 30.0, np.tile(skeleton.offsets, (3, 1, 1)), turns)
    track = track_of_motion(motion, character, name="source", style=GHOST)
    assert (track.name, track.style.kind) == ("source", "ghost")
    np.testing.assert_allclose(track.positions[0, 2], [0.0, 0.12, 0.05], atol=1e-12)
    np.testing.assert_allclose(track.positions[2, 2], [0.75, 0.12, 0.8], atol=1e-12)


def test_scenes_that_do_not_fit_together_are_refused() -> None:
    track = sliding_track(TIMES)
    with pytest.raises(InvalidValue, match="rising"):
        a_scene(times=TIMES[::-1])
    with pytest.raises(InvalidValue, match="at least one track"):
        a_scene(tracks=())
    with pytest.raises(InvalidValue, match="4 frames, the scene 5"):
        a_scene(tracks=(sliding_track(TIMES[:4]),))
    with pytest.raises(InvalidValue, match="names track 1"):
        a_scene(arrows=(Arrow(1, 0, 0.0, 1.0, np.ones(3), np.zeros(3)),))
    with pytest.raises(InvalidValue, match="names body 5"):
        a_scene(arrows=(Arrow(0, 5, 0.0, 1.0, np.ones(3), np.zeros(3)),))
    with pytest.raises(InvalidValue, match="force has shape"):
        a_scene(arrows=(Arrow(0, 0, 0.0, 1.0, np.ones((2, 3)), np.zeros(3)),))
    with pytest.raises(InvalidValue, match="do not fit 5 bodies"):
        Track("short", track.character, track.positions[:, :3], track.orientations[:, :3])
    with pytest.raises(InvalidValue, match="not finite from frame 3"):
        Track(
            "lost",
            track.character,
            np.where(np.arange(5)[:, None, None] >= 3, np.nan, track.positions),
            track.orientations,
        )
    with pytest.raises(InvalidValue, match="'solid' or 'ghost'"):
        Style("glass")
