"""The bundled samples: rerun by their script, and as clean as the docs say."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial import ConvexHull

from poise.body import Character
from poise.core import rotations
from poise.core.errors import UnknownName
from poise.core.motion import Motion
from poise.core.units import GRAVITY
from poise.io import load
from poise.phases import flights
from poise.samples import sample_names, sample_path

Array = npt.NDArray[np.float64]

SCRIPT = Path(__file__).parents[1] / "scripts" / "make_samples.py"
NAMES = ("hover_hop", "quadruped", "walk")
ON_GROUND = 2e-5
"""A point lower than this stands [m]: the files print lengths to 1 µm and angles to 1e-4°, 1.5 µm at arm's length."""


def _motion(name: str) -> Motion:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return load(sample_path(name))


def _point(motion: Motion, joint: str, offset: tuple[float, float, float]) -> Array:
    """World path (F, 3) of a point given in a joint's file axes (Y up) [m]."""
    j = motion.skeleton.index(joint)
    positions, orientations = motion.world
    return positions[:, j] + rotations.rotate(orientations[:, j], np.array(offset))


def _soles(motion: Motion) -> dict[str, Array]:
    """Paths of the points a sample stands on."""
    soles: dict[str, Array] = {}
    for site in motion.skeleton.end_sites:
        name = motion.skeleton.names[site.joint]
        if name.endswith(("ToeBase", "Paw")):
            soles[f"{name}.tip"] = motion.end_positions(site)
    for side in ("Left", "Right"):
        if f"{side}Paw" not in motion.skeleton.names:
            soles[f"{side}ToeBase.ball"] = _point(motion, f"{side}ToeBase", (0.0, -0.012, 0.0))
            soles[f"{side}Foot.heel"] = _point(motion, f"{side}Foot", (0.0, -0.075, -0.05))
    return soles


def _stands(path: Array) -> list[slice]:
    """Runs of frames, two or longer, in which a point is on the ground."""
    down = np.concatenate([[False], path[:, 2] < ON_GROUND, [False]])
    edges = np.flatnonzero(np.diff(down))
    return [slice(a, b) for a, b in edges.reshape(-1, 2) if b - a > 1]


def _mass_points(motion: Motion) -> tuple[Array, Array]:
    """Shares (P,) and paths (F, P, 3) of six points a body that weigh and turn as the body does."""
    character = Character.fit(motion, masses="anthropometric")
    positions, orientations = motion.world
    shares, paths = [], []
    for body in character.bodies:
        spread, axes = np.linalg.eigh(0.5 * np.trace(body.inertia) * np.eye(3) - body.inertia)
        arms = axes * np.sqrt(3.0 * np.maximum(spread, 0.0) / body.mass)
        for arm in (*arms.T, *-arms.T):
            shares.append(body.mass / 6.0 / character.mass)
            paths.append(positions[:, body.joint] + rotations.rotate(orientations[:, body.joint], body.com + arm))
    return np.array(shares), np.stack(paths, axis=1)


def test_names() -> None:
    assert sample_names() == NAMES
    assert sample_path("walk.bvh") == sample_path("walk")
    with pytest.raises(UnknownName, match="hover_hop, quadruped, walk"):
        sample_path("run")


def test_the_script_makes_these_files() -> None:
    script = runpy.run_path(str(SCRIPT))
    assert tuple(sorted(script["AUTHORS"])) == NAMES
    for name in NAMES:
        # 2e-4 cm or degrees: two in the last printed digit, for another machine's sine and least squares
        assert script["difference"](script["text"](name), sample_path(name).read_text(encoding="utf-8")) <= 2e-4


def test_a_changed_number_is_a_difference() -> None:
    difference = runpy.run_path(str(SCRIPT))["difference"]
    assert difference("OFFSET 1.0 2.0", "OFFSET 1.0 2.5") == 0.5
    assert difference("JOINT Hips", "JOINT Hip") == np.inf
    assert difference("1.0 2.0", "1.0") == np.inf
    # a full turn is not a difference, a way of 360 cm is one
    head = "CHANNELS 2 Xposition Zrotation MOTION Frames: 2 Frame Time: 0.1"
    assert difference(f"{head} 1.0 180.0 2.0 0.0", f"{head} 1.0 -180.0 2.0 0.0") == 0.0
    assert difference(f"{head} 1.0 180.0 2.0 0.0", f"{head} 1.0 -179.5 2.0 0.0") == 0.5
    assert difference(f"{head} 180.0 0.0 2.0 0.0", f"{head} -180.0 0.0 2.0 0.0") == 360.0


@pytest.mark.parametrize("name", NAMES)
def test_reads_as_meant(name: str) -> None:
    motion = _motion(name)
    source = motion.source
    assert source is not None
    assert (source.unit, source.up, round(source.fps)) == (0.01, "y", 60)
    assert sample_path(name).stat().st_size < 600_000
    assert 4.0 < motion.duration < 8.0


@pytest.mark.parametrize("name", NAMES)
def test_feet_stand_still_and_nothing_is_under_the_ground(name: str) -> None:
    motion = _motion(name)
    soles = _soles(motion)
    steps = 0
    for path in soles.values():
        for stand in _stands(path):
            steps += 1
            assert np.ptp(path[stand, :2], axis=0).max() < 1e-3
    assert steps >= {"walk": 20, "quadruped": 24, "hover_hop": 8}[name]
    lowest = min(p[:, 2].min() for p in (*soles.values(), *np.moveaxis(motion.world[0], 1, 0)))
    assert lowest > -5e-5


@pytest.mark.parametrize(
    ("name", "fastest", "jump"), [("walk", 450, 15), ("quadruped", 1100, 60), ("hover_hop", 950, 40)]
)
def test_no_joint_pops(name: str, fastest: float, jump: float) -> None:
    motion = _motion(name)
    spin = rotations.to_rotation_vector(
        rotations.multiply(rotations.conjugate(motion.rotations[:-1]), motion.rotations[1:])
    )
    speed = np.degrees(np.linalg.norm(spin, axis=-1)) / motion.dt
    assert speed.max() < fastest  # [deg/s]
    # change of the turn from frame to frame [deg]
    assert np.degrees(np.linalg.norm(np.diff(spin, axis=0), axis=-1)).max() < jump


@pytest.mark.parametrize("name", NAMES)
def test_loops_with_its_travel(name: str) -> None:
    motion = _motion(name)
    assert np.degrees(rotations.angle_between(motion.rotations[0], motion.rotations[-1])).max() < 0.1
    moved = motion.translations[-1, 0] - motion.translations[0, 0]
    assert abs(moved[2]) < 1e-5
    assert abs(moved[0]) < 1e-5
    assert -moved[1] == pytest.approx({"walk": 7.06, "quadruped": 7.1, "hover_hop": 1.05}[name], abs=0.02)


def test_walk_changes_feet_like_a_person() -> None:
    soles = _soles(_motion("walk"))
    down = {
        side: np.any([p[:-1, 2] < ON_GROUND for n, p in soles.items() if n.startswith(side)], axis=0)
        for side in ("Left", "Right")
    }
    both, none = down["Left"] & down["Right"], ~down["Left"] & ~down["Right"]
    assert 0.15 < both.mean() < 0.25
    assert not none.any()


def test_walk_keeps_its_zero_moment_point_near_the_feet() -> None:
    motion = _motion("walk")
    share, paths = _mass_points(motion)
    paths = paths[:-1]
    frames, dt = len(paths), motion.dt
    drift = (motion.translations[-1, 0] - motion.translations[0, 0]) / (frames * dt)
    steady = np.arange(frames)[:, None] * dt * drift
    around = paths - steady[:, None]
    waves = 2.0 * np.pi * np.fft.rfftfreq(frames, dt)[:, None, None]
    acceleration = np.fft.irfft(np.fft.rfft(around, axis=0) * -(waves**2), n=frames, axis=0)
    pull = share * (acceleration[..., 2] + GRAVITY)
    moment = pull[..., None] * paths - share[:, None] * acceleration * paths[..., 2:]
    zmp = (moment.sum(axis=1) / pull.sum(axis=1)[:, None])[:, :2]
    soles = _soles(motion)
    outside = np.empty(frames)
    for f in range(frames):
        corners = [
            p[f, :2] + across * np.array([1.0, 0.0])
            for p in soles.values()
            if p[f, 2] < ON_GROUND
            for across in (-0.035, 0.035)
        ]
        # a foot on its heel or its toe tip alone is a line: give it a centimeter
        hull = ConvexHull(np.array([c + np.array([0.0, d]) for c in corners for d in (-0.005, 0.005)]))
        outside[f] = max(0.0, (hull.equations[:, :2] @ zmp[f] + hull.equations[:, 2]).max())
    assert np.median(outside) < 0.01
    assert np.percentile(outside, 90) < 0.08
    assert outside.max() < 0.15


def test_hop_hovers() -> None:
    motion = _motion("hover_hop")
    (flight,) = [f for f in flights(motion) if f.end_s - f.start_s > 0.5]
    assert flight.end_s - flight.start_s > 1.5
    assert flight.gravity < 0.3 * GRAVITY
    share, paths = _mass_points(motion)
    com = np.einsum("b,fbx->fx", share, paths)
    inside = slice(round(flight.start_s * 60) + 1, round(flight.end_s * 60))
    # within 10 cm of its top for most of a second; a real flight of that rise would be there for 0.29 s
    high = com[inside, 2] > com[inside, 2].max() - 0.10
    assert high.sum() / 60.0 > 0.8


def test_hop_leans_where_nobody_could_stand() -> None:
    motion = _motion("hover_hop")
    share, paths = _mass_points(motion)
    com = np.einsum("b,fbx->fx", share, paths)
    soles = np.array(list(_soles(motion).values()))
    stands = (soles[..., 2] < ON_GROUND).all(axis=0)
    forward = np.where(stands, np.min(soles[..., 1], axis=0) - com[:, 1], 0.0)  # it faces −Y
    aside = np.where(stands, com[:, 0] - np.max(soles[..., 0], axis=0), 0.0)
    assert forward.max() > 0.25
    assert aside.max() > 0.3
    # held, not passed through
    assert (forward > 0.25).sum() > 25
    assert (aside > 0.3).sum() > 20
