"""Ground: height, normal and velocity against differences, closed forms and an independent spline."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import BSpline

from poise.core import rotations
from poise.core.errors import InvalidValue
from poise.terrain import Terrain
from poise.terrain.shapes import Heightfield, Place

RNG = np.random.default_rng(7)
POINTS = RNG.uniform(-15.0, 15.0, (400, 2))
SMOOTH: dict[str, Callable[[], Terrain]] = {
    "flat": Terrain.flat,
    "slope": lambda: Terrain.slope(20.0),
    "down": lambda: Terrain.slope(-35.0),
    "rough": cache(lambda: Terrain.rough(0.3, 4)),
    "rough, slope limit": cache(lambda: Terrain.rough(1.0, 3, 60.0)),
    "platform": lambda: Terrain.platform([[0, 0, 0, 0, 10, -5], [1, 0.5, 0.2, 0.1, -10, 20], [3, 0, 1, 0, 0, 0]]),
}
EVERY = SMOOTH | {"step": lambda: Terrain.step(0.2), "stairs": lambda: Terrain.stairs(0.2, 0.6)}


def placed(terrain: Terrain) -> Terrain:
    return terrain.placed(origin=(1.0, 2.0), heading=0.7, ground=0.3)


@pytest.mark.parametrize("name", SMOOTH)
def test_normal_is_that_of_the_heights(name: str) -> None:
    terrain, e = placed(SMOOTH[name]()), 1e-5
    x_step, y_step = np.array([e, 0.0]), np.array([0.0, e])
    surface = terrain.sample(POINTS, 0.4)
    x = (terrain.heights(POINTS + x_step, 0.4) - terrain.heights(POINTS - x_step, 0.4)) / (2 * e)
    y = (terrain.heights(POINTS + y_step, 0.4) - terrain.heights(POINTS - y_step, 0.4)) / (2 * e)
    normal = np.stack([-x, -y, np.ones_like(x)], axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    # the second derivative of a biquadratic jumps at cell borders: an error of about e times its jump
    np.testing.assert_allclose(surface.normal, normal, atol=5e-4 if "rough" in name else 1e-8)
    np.testing.assert_allclose(np.linalg.norm(surface.normal, axis=1), 1.0, atol=1e-12)


@pytest.mark.parametrize("name", SMOOTH)
def test_height_and_normal_are_continuous(name: str) -> None:
    terrain = placed(SMOOTH[name]())
    line = np.linspace(-12.0, 12.0, 40_001)[:, None] * np.array([math.cos(0.4), math.sin(0.4)])
    surface = terrain.sample(line, 0.4)
    spacing = 24.0 / 40_000
    assert np.abs(np.diff(surface.height)).max() < 10.0 * spacing  # nothing is steeper than 84°
    assert np.abs(np.diff(surface.normal, axis=0)).max() < 100.0 * spacing  # nor bends tighter than 1 cm


def test_heightfield_is_the_tensor_product_spline() -> None:
    heights, spacing = RNG.normal(size=(7, 9)), 0.25
    field = Heightfield(heights, spacing, np.array([-1.0, -0.5]), periodic=False)
    inside = RNG.uniform([-0.7, -0.2], [0.6, 0.6], (200, 2))
    # control value k of a quadratic spline belongs to the middle of its support, the knots k - 3/2 … k + 3/2
    knots = np.arange(-2.0, 12.0) - 0.5
    expected = np.zeros(len(inside))
    for row in range(7):
        for column in range(9):
            wx = BSpline.basis_element(knots[column + 1 : column + 5], extrapolate=False)(
                (inside[:, 0] + 1.0) / spacing
            )
            wy = BSpline.basis_element(knots[row + 1 : row + 5], extrapolate=False)((inside[:, 1] + 0.5) / spacing)
            expected += heights[row, column] * np.nan_to_num(wx) * np.nan_to_num(wy)
    height, _, _ = field.at(inside, Place((0.0, 0.0), 0.0, 0.0), 0.0)
    np.testing.assert_allclose(height, expected, atol=1e-12)


def test_slope_and_placement() -> None:
    terrain = placed(Terrain.slope(20.0))
    start = np.array([[1.0, 2.0]])
    ahead = start + 2.0 * np.array([math.cos(0.7), math.sin(0.7)])
    side = start + 2.0 * np.array([-math.sin(0.7), math.cos(0.7)])
    np.testing.assert_allclose(terrain.heights(start), 0.3, atol=1e-12)
    np.testing.assert_allclose(terrain.heights(ahead), 0.3 + 2.0 * math.tan(math.radians(20.0)), atol=1e-12)
    np.testing.assert_allclose(terrain.heights(side), 0.3, atol=1e-12)


@pytest.mark.parametrize("name", EVERY)
def test_turning_the_clip_turns_the_ground(name: str) -> None:
    shape = EVERY[name]()
    turn = rotations.from_rotation_vector(np.array([0.0, 0.0, 1.1]))
    around = np.hstack([POINTS, np.zeros((len(POINTS), 1))])
    here = shape.placed(origin=(0.0, 0.0), heading=0.2).sample(POINTS, 0.4)
    there = shape.placed(origin=(0.0, 0.0), heading=1.3).sample(rotations.rotate(turn, around)[:, :2], 0.4)
    np.testing.assert_allclose(there.height, here.height, atol=1e-9)
    np.testing.assert_allclose(there.normal, rotations.rotate(turn, here.normal), atol=1e-9)
    np.testing.assert_allclose(there.velocity, rotations.rotate(turn, here.velocity), atol=1e-9)


def test_heading_of_the_user_wins() -> None:
    asked = Terrain.slope(10.0).toward(90.0).placed(origin=(0.0, 0.0), heading=0.3)
    np.testing.assert_allclose(asked.forward, [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(asked.heights(np.array([[0.0, 1.0]])), math.tan(math.radians(10.0)), atol=1e-12)


def test_step_is_a_true_step_a_meter_ahead() -> None:
    terrain = Terrain.step(0.2)
    x = np.array([-5.0, 0.0, 0.999999, 1.0, 50.0])
    surface = terrain.sample(np.stack([x, np.zeros(5)], axis=1))
    np.testing.assert_array_equal(surface.height, [0.0, 0.0, 0.0, 0.2, 0.2])
    np.testing.assert_array_equal(surface.normal, np.tile([0.0, 0.0, 1.0], (5, 1)))
    behind, ahead = terrain.edges(np.array([[0.25, 3.0], [1.5, 0.0]]))
    np.testing.assert_allclose(behind, [np.inf, 0.5])
    np.testing.assert_allclose(ahead, [0.75, np.inf])


def test_stairs_and_their_edges() -> None:
    terrain = Terrain.stairs(0.2, 0.6).placed(origin=(0.0, 5.0), heading=math.pi / 2, ground=1.0)
    y = np.array([4.0, 5.9, 6.1, 6.7, 7.3])
    points = np.stack([np.full(5, 9.0), y], axis=1)
    np.testing.assert_allclose(terrain.heights(points), [1.0, 1.0, 1.2, 1.4, 1.6], atol=1e-12)
    behind, ahead = terrain.edges(points)
    np.testing.assert_allclose(behind, [np.inf, np.inf, 0.1, 0.1, 0.1], atol=1e-12)
    np.testing.assert_allclose(ahead, [2.0, 0.1, 0.5, 0.5, 0.5], atol=1e-12)
    for sign, distance in ((-1.0, behind), (1.0, ahead)):
        near = np.isfinite(distance)
        for side, change in ((0.99999, False), (1.00001, True)):
            there = points[near] + sign * side * distance[near, None] * terrain.forward
            assert ((np.abs(terrain.heights(there) - terrain.heights(points[near])) > 0.1) == change).all()
    assert terrain.treads
    assert not Terrain.slope(5.0).treads
    assert np.isinf(Terrain.slope(5.0).edges(points)).all()


def test_stairs_go_down() -> None:
    x = np.array([0.5, 1.1, 1.7])
    heights = Terrain.stairs(-0.2, 0.6).heights(np.stack([x, x], axis=1))
    np.testing.assert_allclose(heights, [0.0, -0.2, -0.4], atol=1e-12)


@pytest.mark.parametrize(("height", "seed"), [(0.2, 1), (0.2, 2), (1.0, 3)])
def test_rough_ground_has_the_height_asked_for(height: float, seed: int) -> None:
    terrain = Terrain.rough(height, seed)
    field = terrain.grid((0.0, 0.0), 10.0, 0.02)
    assert np.ptp(field) == pytest.approx(height, rel=0.01)  # a grid of 2 cm may miss a peak by a little
    assert field.std() == pytest.approx(0.25 * height, rel=0.1)
    spectrum = np.abs(np.fft.fft2(field[:-1, :-1] - field.mean())) ** 2
    wave = np.fft.fftfreq(len(field) - 1, 0.02)
    number = np.hypot(*np.meshgrid(wave, wave))
    assert 0.85 < math.sqrt((spectrum * number**2).sum() / spectrum.sum()) < 1.25  # waves per meter


def test_rough_ground_is_flat_at_the_start_and_fades_in() -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    terrain = Terrain.rough(0.4, 5)
    assert np.abs(terrain.heights(0.5 * ring)).max() == 0.0
    assert np.abs(terrain.sample(0.5 * ring).normal[:, :2]).max() == 0.0
    assert np.abs(terrain.heights(0.7 * ring)).max() < 0.1 * np.abs(terrain.heights(2.0 * ring)).max()


def test_rough_ground_repeats_and_is_seeded() -> None:
    terrain = Terrain.rough(0.4, 5)
    np.testing.assert_allclose(terrain.heights(POINTS + np.array([20.0, -40.0])), terrain.heights(POINTS), atol=1e-12)
    np.testing.assert_array_equal(Terrain.rough(0.4, 5).heights(POINTS), terrain.heights(POINTS))
    assert np.abs(Terrain.rough(0.4, 6).heights(POINTS) - terrain.heights(POINTS)).max() > 0.1
    # the same on every machine: written down once
    known = [-0.0961, 0.07866, 0.00189]
    places = np.array([[3.0, 0.0], [-2.0, 7.0], [8.0, -5.0]])
    np.testing.assert_allclose(terrain.heights(places), known, atol=1e-4)


def test_rough_ground_obeys_its_slope_limit() -> None:
    terrain = Terrain.rough(1.0, 3, 60.0)
    normal = terrain.sample(RNG.uniform(-10.0, 10.0, (100_000, 2))).normal
    steepest = math.degrees(math.acos(normal[:, 2].min()))
    assert 55.0 < steepest <= 60.0 + 1e-6
    assert np.ptp(terrain.grid((0.0, 0.0), 10.0, 0.05)) > 0.85
    gentle = Terrain.rough(0.5, 1, 10.0).sample(POINTS).normal
    assert math.degrees(math.acos(gentle[:, 2].min())) <= 10.0 + 1e-6


def test_platform_velocity_is_that_of_its_matter() -> None:
    terrain = placed(SMOOTH["platform"]())
    e = 1e-4
    for time in (0.2, 0.7, 1.4, 2.6):
        body = np.hstack([RNG.uniform(-2.0, 2.0, (20, 2)), np.zeros((20, 1))])
        before, now, after = (_matter(terrain, body, t) for t in (time - e, time, time + e))
        surface = terrain.sample(now[:, :2], time)
        np.testing.assert_allclose(surface.height, now[:, 2], atol=1e-12)
        np.testing.assert_allclose(surface.velocity, (after - before) / (2 * e), atol=1e-6)


def _matter(terrain: Terrain, body: np.ndarray, time: float) -> np.ndarray:
    """Where points of a platform are, from its pose and two rotations."""
    pose, _ = terrain.shape.pose(time)  # type: ignore[attr-defined]
    pitch = rotations.from_rotation_vector(np.array([0.0, -pose[3], 0.0]))
    roll = rotations.from_rotation_vector(np.array([pose[4], 0.0, 0.0]))
    heading = rotations.from_rotation_vector(np.array([0.0, 0.0, terrain.heading]))
    local = pose[:3] + rotations.rotate(rotations.multiply(pitch, roll), body)
    return rotations.rotate(heading, local) + np.array([*terrain.origin, terrain.ground])


def test_platform_meets_its_keys_smoothly_and_rests_outside() -> None:
    keys = [[0.5, 0, 0, 0], [1.0, 0.5, 0.2, 0.1], [2.0, 0, 1, 0.4]]
    terrain, point = Terrain.platform(keys), np.zeros((1, 2))
    for time, _, _, z in keys:
        assert terrain.heights(point, time)[0] == pytest.approx(z, abs=1e-12)
    assert np.abs(terrain.sample(point, 0.4).velocity).max() == 0.0
    assert terrain.heights(point, 9.0)[0] == 0.4
    time = np.linspace(0.0, 3.0, 6001)
    speed = np.array([terrain.sample(point, t).velocity[0] for t in time])
    acceleration = np.diff(speed, axis=0) / np.diff(time)[:, None]
    assert np.abs(np.diff(acceleration, axis=0)).max() < 0.01 * np.abs(acceleration).max()  # continuous
    assert not terrain.is_static
    assert Terrain.platform([[0, 0, 0, 0.3]]).is_static


def test_pitch_lifts_the_front_and_roll_the_left() -> None:
    points = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert Terrain.platform([[0, 0, 0, 0, 10, 0]]).heights(points) == pytest.approx([math.tan(math.radians(10)), 0.0])
    assert Terrain.platform([[0, 0, 0, 0, 0, 10]]).heights(points) == pytest.approx([0.0, math.tan(math.radians(10))])


def test_grid_is_what_sample_says() -> None:
    terrain = placed(SMOOTH["rough"]())
    field = terrain.grid((0.5, -0.5), 2.0, 0.5)
    assert field.shape == (9, 9)
    assert field[1, 3] == terrain.heights(np.array([[0.5 - 2.0 + 1.5, -0.5 - 2.0 + 0.5]]))[0]


def test_points_may_be_a_slice() -> None:
    wide = np.hstack([POINTS, POINTS])
    for terrain in (made() for made in SMOOTH.values()):
        np.testing.assert_allclose(terrain.heights(wide[:, :2], 0.4), terrain.heights(POINTS, 0.4), atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Terrain.slope(85.0),
        lambda: Terrain.slope(math.nan),
        lambda: Terrain.stairs(0.2, 0.0),
        lambda: Terrain.step(math.inf),
        lambda: Terrain.rough(-0.1, 1),
        lambda: Terrain.rough(0.1, -1),
        lambda: Terrain.rough(0.1, 1, 90.0),
        lambda: Terrain.platform([[0, 0, 0]]),
        lambda: Terrain.platform([[0, 0, 0, 0], [0, 0, 0, 1]]),
        lambda: Terrain.platform([[0, 0, 0, math.inf]]),
        lambda: Terrain.platform([[0, 2e6, 0, 0]]),
        lambda: Terrain.platform([[0, 0, 0, 0, 85, 0]]),
        lambda: Terrain.flat().placed(origin=(math.nan, 0.0), heading=0.0),
        lambda: Terrain.flat().grid((0.0, 0.0), 100.0, 0.001),
    ],
)
def test_impossible_ground_is_refused(make: Callable[[], Terrain]) -> None:
    with pytest.raises(InvalidValue):
        make()
