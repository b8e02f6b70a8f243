"""The compiled core: every function beside its twin, built and found anywhere, and what happens without it."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.analysis.angular_momentum import turned_momentum
from poise.core import rotations
from poise.core.skeleton import place_joints
from poise.goals.polygon import nearest_of_hull
from poise.native import FUNCTIONS, build, compiled, library
from poise.physics import bodies
from poise.terrain.ground import PlacedGround, ground_velocities, sample
from poise.tracking.pulls import carrying_torques, turning_pulls
from tests.clips import first_cases, sample_clip
from tests.figures import FIGURES, random_state

ROOT = Path(__file__).parents[1]


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, encoding="utf-8", check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


needs_core = pytest.mark.skipif(library() is None, reason="there is no C compiler here")


def test_every_declared_function_stands_in_c() -> None:
    for module in pkgutil.walk_packages(poise.__path__, "poise."):
        if not module.name.endswith("__main__") and not re.search(r"samples|\.show\.|_blender", module.name):
            importlib.import_module(module.name)
    text = " ".join(" ".join(path.read_text(encoding="utf-8") for path in sorted(build.SOURCES.glob("*.c"))).split())
    declared = {function.prototype for function in FUNCTIONS if function.__module__.startswith("poise.")}
    assert declared
    missing = [prototype for prototype in declared if f"API {prototype} {{" not in text]
    assert not missing
    # and nothing in C is without a twin
    assert set(re.findall(r"API ([^{;]*\)) \{", text)) == declared


@needs_core
@pytest.mark.parametrize("figure", FIGURES)
def test_loops_over_bodies_equal_their_twins(figure: str) -> None:
    model, rng = FIGURES[figure](), np.random.default_rng(5)
    s = random_state(model, 4)
    points = rng.integers(0, model.point_count, 5)
    own, places, forces = rng.integers(1, model.body_count, 5), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    a, nv, count = rng.normal(size=model.nv), model.nv, model.body_count
    calls = {
        bodies.point_jacobians: ((own, places), [(15, nv)]),
        bodies.point_motion: ((own, places, rng.normal(size=(count, 6))), [(5, 3), (5, 3)]),
        bodies.point_rows: ((points, rng.normal(size=(5, 2, 3))), [(10, nv), (10,)]),
        bodies.point_torques: ((own, places, forces), [(nv,)]),
        bodies.body_accelerations: ((a,), [(count, 6)]),
        bodies.inverse_dynamics: ((a,), [(nv,)]),
        bodies.com_rows: ((model.roots[-1],), [(3, nv), (3,)]),
    }
    for function, (given, shapes) in calls.items():
        fast, plain = [np.full(shape, np.nan) for shape in shapes], [np.full(shape, np.nan) for shape in shapes]
        function(s.pose, *given, *fast)
        function.twin(s.pose, *given, *plain)
        for mine, theirs in zip(fast, plain, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-11, atol=1e-11), function.name


@needs_core
def test_kinematics_equal_the_twin() -> None:
    state = random_state(FIGURES["holding_hands"](), 9)
    rng, names = (
        np.random.default_rng(1),
        ("xpos", "M", "bias", "cvel", "body_biases", "centers", "places", "point_biases"),
    )
    for _ in range(3):
        q = state.model.integrate(state.q, rng.normal(size=state.model.nv), 1.0)
        seen = []
        normals = rng.normal(size=(state.model.point_count, 3))
        for twin in (False, True):
            state.begin(q, rng.normal(size=state.model.nv) if not twin else state.v)
            for function, *more in ((bodies.place,), (bodies.touch, normals), (bodies.mass_and_bias,)):
                (function.twin if twin else function)(state.pose, *more)
            seen.append([getattr(state.pose, name).copy() for name in names])
        for name, mine, theirs in zip(names, *seen, strict=True):
            assert np.allclose(mine, theirs, rtol=1e-11, atol=1e-11), name


@needs_core
@pytest.mark.parametrize("spec", ["slope:7", "stairs:0.15,0.3", "step:0.2", "rough:0.3,1"])
def test_the_ground_equals_the_twin(spec: str) -> None:
    ground = poise.Terrain.parse(spec).placed(origin=(0.3, -0.2), heading=0.7, ground=0.1)
    block, rng = PlacedGround(ground.shape, ground.place).block, np.random.default_rng(2)
    block.numbers[3:12] += 0.0 if ground.place is None or spec != "slope:7" else rng.normal(size=9)
    for function, shapes in ((sample, [(300,), (300, 3)]), (ground_velocities, [(300, 3)])):
        for places in (rng.normal(size=(300, 3)) * 20.0, rng.normal(size=(300, 2)), np.full((300, 2), np.nan)):
            fast, plain = [np.empty(shape) for shape in shapes], [np.empty(shape) for shape in shapes]
            function(block, places, *fast)
            function.twin(block, places, *plain)
            for mine, theirs in zip(fast, plain, strict=True):
                assert np.allclose(mine, theirs, rtol=1e-12, atol=1e-12, equal_nan=True)


@needs_core
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_ground_answers_anywhere(bad: float) -> None:
    for spec in ("slope:7", "stairs:0.15,0.3", "rough:0.3,1", "rough:0.3,1,20"):
        ground = poise.Terrain.parse(spec)
        block = PlacedGround(ground.shape, ground.place).block
        places = np.array([[bad, 0.0], [0.0, -bad], [1e300, 1e300]])
        sample(block, places, np.empty(3), np.empty((3, 3)))
        sample(block, np.empty((0, 2)), np.empty(0), np.empty((0, 3)))


@needs_core
@pytest.mark.parametrize("kind", ["cloud", "line", "twice", "one point", "grid"])
def test_the_nearest_place_of_a_hull_equals_the_twin(kind: str) -> None:
    rng = np.random.default_rng(3)
    for count in (1, 2, 3, 4, 9, 24):
        points = rng.normal(size=(count, 2))
        if kind == "line":
            points = points[:, :1] * np.array([0.25, -0.5])
        elif kind == "twice":
            points = np.concatenate([points, points])
        elif kind == "one point":
            points[:] = points[0]
        elif kind == "grid":
            points = np.round(points)
        for place in (*rng.normal(size=(20, 2)), points[0], points.mean(axis=0)):
            fast, plain = np.empty(2), np.empty(2)
            nearest_of_hull(points, place, fast)
            nearest_of_hull.twin(points, place, plain)
            assert np.allclose(fast, plain, rtol=1e-12, atol=1e-12), (points, place)


@needs_core
def test_pulls_of_tracking_equal_their_twins() -> None:
    rng, bodies = np.random.default_rng(4), np.array([2, 5, 1])
    turns, wanted = (rotations.normalize(rng.normal(size=(n, 4))) for n in (7, 3))
    wanted[0] = -turns[2]  # the same orientation
    fast, plain = np.zeros((6, 3)), np.zeros((6, 3))
    given = bodies, turns, rng.normal(size=(7, 6)), wanted, rng.normal(size=(3, 3)), np.array([400.0, 100.0, 9.0])
    turning_pulls(*given, fast)
    turning_pulls.twin(*given, plain)
    assert np.allclose(fast, plain, rtol=1e-11, atol=1e-11)
    assert not fast[[2, 3, 5]].any()
    carried = rng.integers(1, 7, 9), rng.normal(size=(9, 6)), rng.normal(size=(7, 3)), rng.uniform(1.0, 2.0, 7)
    first, second = np.empty(9), np.empty(9)
    carrying_torques(*carried, first)
    carrying_torques.twin(*carried, second)
    assert np.allclose(first, second, rtol=1e-12, atol=1e-12)


def test_arrays_of_another_kind_are_refused() -> None:
    @compiled("const real x[n], real out[n], word count")
    def unknown_to_the_core(x, out, count):  # type: ignore[no-untyped-def]
        out[:] = x

    FUNCTIONS.pop()
    unknown_to_the_core.__dict__["_call"] = None  # runs the twin
    assert unknown_to_the_core.prototype == ("void unknown_to_the_core(word n, const real *x, real *out, word count)")
    x, out = np.arange(6.0), np.zeros(3)
    unknown_to_the_core(x[::2], out, 1)  # only read: copied
    assert out.tolist() == [0.0, 2.0, 4.0]
    seen: list[tuple[int, ...]] = []
    for core in (None, lambda *given: seen.append(given)):
        unknown_to_the_core.__dict__.update(_call=core)
        unknown_to_the_core.__dict__.pop("_quick")
        for wrong in ((x, out, 1), (x[:3].astype(np.float32), out, 1), (x[:3], x[::2], 1), ([1.0], out, 1)):
            with pytest.raises(TypeError, match=r"unknown_to_the_core: (x|out) is"):
                unknown_to_the_core(*wrong)
    assert not seen
    unknown_to_the_core(x[3:], out, 7)
    assert seen == [(3, x[3:].ctypes.data, out.ctypes.data, 7)]
    unknown_to_the_core(x[:0], out[:0], 8)  # an empty one has an address, too
    assert seen[1][::3] == (0, 8)


USE = """
import numpy as np
from poise.native import library, reason
from poise.step.system import frames
out = np.ones((1, 3, 3))
def ask():
    frames(np.array([[0.0, 0.0, 1.0]]), out)
    return (out != np.eye(3)).any()
print(ask(), ask(), library() is not None, reason())
"""


@first_cases(1, "setting", ["skip", ""])
def test_twins_run_where_nothing_can_be_built_and_it_is_said_once(tmp_path: Path, setting: str) -> None:
    # no compiler, no library, and a folder that is a file: as on a read-only machine
    nowhere = tmp_path / "file"
    nowhere.touch()
    code = f"from poise.native import build; from pathlib import Path; build.BESIDE = Path({str(nowhere)!r})\n{USE}"
    done = run(code, POISE_NATIVE=setting, CC=str(tmp_path / "none"), POISE_CACHE=str(nowhere))
    assert done.stdout.startswith("False False False "), done.stdout + done.stderr
    assert done.stderr.count("without its compiled core") == (0 if setting else 1), done.stderr


@pytest.mark.long
@needs_core
def test_it_is_built_for_a_read_only_installation_too(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.touch()
    start = f"from poise.native import build; from pathlib import Path; build.BESIDE = Path({str(nowhere)!r})\n"
    start += "build.FLAGS, build.levels = (*build.FLAGS, '-O0'), lambda *_: {'plain': ()}\n"  # builds quickly
    cache = tmp_path / "cache"
    assert run(start + USE, POISE_CACHE=str(cache)).stdout.startswith("False False True")
    assert list(cache.glob("core-*"))
    # no writable home either: for this process alone
    assert run(start + USE, POISE_CACHE=str(nowhere)).stdout.startswith("False False True")


def test_a_demand_for_the_core_is_an_error_without_it(tmp_path: Path) -> None:
    code = "from poise.native import build, library; build.file_name = lambda *_: 'none'\n"
    code += "def fail(*_, **__): raise build.BuildFailed('no compiler')\nbuild.build = fail; library()"
    done = run(code, POISE_NATIVE="require", POISE_CACHE=str(tmp_path))
    assert done.returncode != 0
    assert "POISE_NATIVE=require" in done.stderr


@pytest.mark.long
@needs_core
def test_changed_sources_get_another_name_and_old_libraries_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-O0"))  # builds quickly
    first = build.build(tmp_path)
    assert all(path.is_file() for path in first)
    monkeypatch.setattr(build, "fingerprint", lambda: "of other sources")
    second = build.build(tmp_path)
    assert not set(first) & set(second)
    assert sorted(tmp_path.iterdir()) == sorted(second)


@needs_core
@first_cases(1, "level", list(build.levels()))
def test_both_libraries_answer(level: str) -> None:
    done = run(USE, POISE_NATIVE="plain" if level == "plain" else "")
    assert done.stdout.startswith("False False True"), done.stdout + done.stderr


@needs_core
@pytest.mark.parametrize("name", ["walk", "quadruped"])
def test_joints_are_placed_as_by_the_twin(name: str) -> None:
    motion = sample_clip(name)
    fast, plain = ((np.empty_like(motion.translations), np.empty_like(motion.rotations)) for _ in range(2))
    place_joints(motion.skeleton.parents, motion.translations, motion.rotations, *fast)
    place_joints.twin(motion.skeleton.parents, motion.translations, motion.rotations, *plain)
    for ours, theirs in zip(fast, plain, strict=True):
        assert np.allclose(ours, theirs, rtol=0.0, atol=1e-13)


@needs_core
def test_the_momentum_of_a_turned_flight_is_that_of_the_twin() -> None:
    rng = np.random.default_rng(3)
    frames, bodies = 9, 5
    turn, turns = (rotations.normalize(rng.normal(size=(*shape, 4))) for shape in ((frames,), (frames, bodies)))
    turn[3], turns[3] = turn[2], turns[2]  # nothing turns between these two
    half = rng.normal(size=(frames, bodies, 3, 3))
    given = (turn, rng.normal(size=(frames, bodies, 3)), turns, half @ np.swapaxes(half, 2, 3), rng.random(bodies))
    shapes = ((frames - 1, 3), (frames - 1, 3, 3), (frames - 1, 3, 3))
    fast, plain = (tuple(np.full(shape, np.nan) for shape in shapes) for _ in range(2))
    steps = rng.uniform(0.5, 1.5, frames - 1)
    turned_momentum(*given, steps, *fast)
    turned_momentum.twin(*given, steps, *plain)
    for ours, theirs in zip(fast, plain, strict=True):
        assert np.allclose(ours, theirs, rtol=0.0, atol=1e-11)
