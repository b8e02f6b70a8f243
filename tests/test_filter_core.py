"""The filter's compiled core beside its NumPy twins: every call of a run is made by both."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poise
import poise.filter.filter as filter_module
import poise.filter.reference as reference_module
import poise.filter.sensing as routine_module
from poise.body import fit
from poise.body.character import figure
from poise.body.limits import limit_angles as plain_limit_angles
from poise.body.posing import q_to_motion
from poise.core import rotations
from poise.core.motion import Motion
from poise.core.typing import Array
from poise.filter.filter import SimulatedCharacter
from poise.filter.frame import limit_angles
from poise.filter.goal import move_goal
from poise.filter.quasi_physical import Physicality
from poise.filter.reference import ReferenceBuilder, reference_frame
from poise.filter.setup import Options
from poise.filter.stages import DONE, NOT_TRIED, usual_step
from poise.native import Block, library
from poise.native.function import NUMBERS
from poise.physics import model_of
from poise.synthesis.poses import standing
from tests.character_figures import person
from tests.clips import first_cases, sample_clip

pytestmark = pytest.mark.skipif(library() is None, reason="there is no C compiler here")

ROOM = {"room", "wrenches", "H", "f", "wanted", "wanted_heights", "lifts", "form", "squares", "acted"}
"""Room to work in, of which leading parts are used, and what only tells the solver where to start."""
LEGS = ROOM | {"lines", "at", "gaps", "firsts", "seconds", "normals", "holds", "rows", "stopped"}
"""The same of the block "Legs"; `tests/test_alive.py` compares what stands and the rows."""
HELD = {"Pose", "Limbs", "Frame", "MovingGoal", "Legs"}
"""Blocks that others hold, and whose arrays are compared with theirs."""
COUNTED = {"limit_rows": "limit_count", "touching": "touching_count", "normals": "touching_count"}


def _arrays(*blocks: Any) -> dict[str, Array]:
    """All arrays of blocks and of those they hold."""
    out: dict[str, Array] = {}
    for k, block in enumerate(blocks):
        values = vars(block) if isinstance(block, Block) else block._asdict()
        for name, value in values.items():
            if isinstance(value, np.ndarray) and name not in (LEGS if block.kind == "Legs" else ROOM):
                out[f"{k}.{name}"] = value
            elif isinstance(value, Block) and value.kind in HELD:
                out |= {f"{value.kind}.{key}": array for key, array in _arrays(value).items()}
    return out


def _changing(block: Any) -> list[Any]:
    """The block, and those of a step that it holds."""
    return [block, *([block.frame, block.goal] if block.kind == "Stages" else [])]


def _numbers(block: Any) -> dict[tuple[int, str], float]:
    """The numbers of a block, and of those of a step that it holds."""
    blocks = _changing(block) if isinstance(block, Block) else []
    return {(k, name): getattr(one, name) for k, one in enumerate(blocks) for name in NUMBERS[one.kind]}


def _both(function: Any, seen: dict[str, int], every: int = 10) -> Callable[..., Any]:
    """The function, compared with its twin at every so many calls."""

    def wrapped(*blocks: Any) -> Any:
        seen[function.name] = seen.get(function.name, 0) + 1
        if seen[function.name] % every != every // 2:
            return function(*blocks)
        arrays = _arrays(*blocks)
        before, numbers = {name: array.copy() for name, array in arrays.items()}, _numbers(blocks[0])
        answer = function(*blocks)
        fast, found = {name: array.copy() for name, array in arrays.items()}, _numbers(blocks[0])
        frames = [block for block in _changing(blocks[0]) if block.kind == "Frame"]
        counts = [getattr(frames[0], n) for n in set(COUNTED.values())] if frames else []
        for name, array in arrays.items():
            array[:] = before[name]
        for (k, name), number in numbers.items():
            setattr(_changing(blocks[0])[k], name, number)
        assert function.twin(*blocks) == answer
        assert _numbers(blocks[0]) == pytest.approx(found, rel=1e-9, abs=1e-12)
        if counts:
            assert [getattr(frames[0], n) for n in set(COUNTED.values())] == counts
        for name, array in arrays.items():
            field = name.split(".")[-1]
            used = slice(0, getattr(frames[0], COUNTED[field])) if counts and field in COUNTED else slice(None)
            mine, theirs = fast[name][used], array[used]
            # accelerations carry 1 / dt² of the rounding in places
            size = 1.0 + np.abs(np.nan_to_num(theirs)).max(initial=0.0)
            if function.name == "reference_frame" and field == "torque":  # what contacts leave of the whole weight
                size += np.abs(blocks[0].needed).max()
            assert np.allclose(mine, theirs, rtol=0.0, atol=1e-8 * size, equal_nan=True), (function.name, name)
            array[:] = fast[name]
        return answer

    return wrapped


@cache
def _walk(count: int = 130, who: str = "walk") -> tuple[Motion, poise.Character]:
    motion = sample_clip(who).frames(np.arange(count))
    return motion, fit(motion)


@cache
def _standing() -> tuple[Motion, poise.Character]:
    character = figure("adult")
    q = np.repeat(standing(character)[None], 130, axis=0)
    return q_to_motion(character, q, np.arange(130) / 60.0), character


RUNS: dict[str, dict[str, Any]] = {
    "flat, pushed": {},
    "flat, shoved until it steps": {"body": "chest", "harder": 4.0},
    "flat, shoved late in a swing": {"body": "chest", "harder": 4.0, "start": 1.1},  # a foot lands later
    "flat, lifted": {"body": "chest", "harder": 1.0, "upward": 1500.0},
    "slope": {"terrain": "slope:6"},
    "stairs, with a plan": {"terrain": "stairs:0.12,0.35"},
    "stairs, as it comes": {"terrain": "stairs:0.12,0.35", "options": Options(plans_ahead=False)},
    "rough": {"terrain": "rough:0.1,1"},
    "strict": {"options": Options(physicality=Physicality(is_strict=True))},
    "four legs and a tail": {"motion": "quadruped", "harder": 3.0},
    "standing, shoved": {"body": "chest", "harder": 3.5, "motion": "standing"},  # feet are far from home and must wait
}
USUAL = [name for name in RUNS if name not in ("strict", "stairs, as it comes")]


def _run(run: str) -> poise.SimulationResult:
    options = dict(RUNS[run])
    if "terrain" in options:
        options["terrain"] = poise.Terrain.parse(options["terrain"])
    who = options.pop("motion", "walk")
    motion, character = _standing() if who == "standing" else _walk(who=who)
    body = options.pop("body", character.bodies[3].name)
    harder, upward, start = options.pop("harder", 1.0), options.pop("upward", 0.0), options.pop("start", 0.3)
    pushes = [
        poise.Push(body, (150.0 * harder, 60.0 * harder, upward), start),
        poise.Push(body, (0.0, -200.0, 40.0), 0.9),
    ]
    return poise.simulate(motion, character, pushes=pushes, **options)


def _stage_by_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every step go from stage to stage in Python."""
    begin = SimulatedCharacter.begin
    monkeypatch.setattr(SimulatedCharacter, "begin", lambda self, now: begin(self, now) and False)


@first_cases(1, "run", RUNS)
def test_sensing_targets_and_reference_equal_their_twins(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    _stage_by_stage(monkeypatch)
    for name in ("sense", "aim"):
        monkeypatch.setattr(filter_module, name, _both(getattr(filter_module, name), seen))
    for name in ("react", "advance_goal"):
        monkeypatch.setattr(filter_module, name, _both(getattr(filter_module, name), seen, every=3))
    monkeypatch.setattr(routine_module, "hit_velocities", _both(routine_module.hit_velocities, seen, every=3))
    monkeypatch.setattr(reference_module, "reference_frame", _both(reference_module.reference_frame, seen))
    _run(run)
    assert set(seen) == {"sense", "hit_velocities", "react", "advance_goal", "aim", "reference_frame"}
    assert seen.pop("hit_velocities") > 15  # while something pushes
    assert min(seen.values()) > 50


@first_cases(2, "run", USUAL)
def test_all_stages_in_one_call_equal_their_twin(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, int] = {}
    monkeypatch.setattr(filter_module, "usual_step", _both(filter_module.usual_step, seen, every=7))
    _run(run)
    assert seen["usual_step"] > 50


@first_cases(4, "run", USUAL)
def test_all_stages_in_one_call_are_the_stages(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[int] = []
    end = SimulatedCharacter.end

    def noted(self: SimulatedCharacter, now: Any, how_far: int) -> Array:
        reached.append(how_far)
        return end(self, now, how_far)

    monkeypatch.setattr(SimulatedCharacter, "end", noted)
    whole = _run(run)
    with monkeypatch.context() as patch:
        _stage_by_stage(patch)
        parts = _run(run)
    assert np.array_equal(whole.q, parts.q)
    for name in ("solves", "failures", "fallbacks"):
        assert whole.report["solver"][name] == parts.report["solver"][name]
    for name, numbers in whole.report["per_frame"].items():
        assert np.allclose(numbers, parts.report["per_frame"][name], rtol=1e-6, atol=1e-6), name
    count = len(reached) // 2
    assert set(reached[count:]) == {NOT_TRIED}
    least = 0.74
    if run in ("flat, shoved until it steps", "standing, shoved"):  # a foot is on its way back, or may be dragged
        least = 0.55
    assert np.mean([how_far == DONE for how_far in reached[:count]]) > least


@pytest.mark.parametrize("run", ["strict", "stairs, as it comes"])
def test_what_is_unusual_all_the_time_goes_stage_by_stage(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Block] = []
    monkeypatch.setattr(filter_module, "usual_step", lambda stages: calls.append(stages) or usual_step(stages))
    assert _run(run).report["solver"]["solves"] > 100
    assert not calls


def test_a_step_that_stops_half_way_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()

    def stopped(stages: Block) -> int:
        stages.stops_here = next(calls) % 3 == 0  # as where the solver does not get through
        return usual_step(stages)

    whole = _run("rough")
    monkeypatch.setattr(filter_module, "usual_step", stopped)
    assert np.array_equal(_run("rough").q, whole.q)
    assert next(calls) > 50


@first_cases(1, "is_known", [False, True])
def test_contacts_of_a_stream_are_estimated_as_by_the_twin(is_known: bool) -> None:
    motion, character = _walk(80)
    model, seen, found = model_of(character), {}, []
    builder = ReferenceBuilder(model, dt=motion.dt, friction=0.8)
    builder.estimate(character.floor, character.leg_length, 0.2)
    own, rng = builder.actor, np.random.default_rng(2)
    known = np.zeros(model.point_count, dtype=bool)
    for pose in poise.motion_to_q(character, motion):
        v = rng.normal(scale=0.5, size=model.nv) * (1.0 if len(found) % 3 else 0.1)
        known = np.arange(model.point_count) < 1 + len(found) % 2
        touching = (known, np.where(known, 0.0, 0.3)) if is_known else None
        frame = builder.frame(pose, v, np.zeros(model.nv), touching=touching)
        _both(reference_frame, seen, every=1)(own, frame)
        found.append(frame)
    assert not is_known or (found[-1].flags == known).all()
    assert 0.05 < np.mean([frame.flags for frame in found]) < 0.95
    assert np.isinf([frame.times_to_lift for frame in found]).any()
    assert np.isfinite([frame.landings for frame in found]).any()


def test_the_goal_of_a_figure_that_flies_equals_its_twin() -> None:
    motion, character = _walk(40)
    live = poise.QuasiPhysicalFilter(character, dt=motion.dt)
    live.push(poise.Push("chest", (150.0, 60.0, 80.0), 0.1))
    for pose in poise.motion_to_q(character, motion)[:12]:
        live.step(pose)
    figure, seen = live.figure, {}
    frame = figure.problem
    frame.reference.flags[:], frame.reference.torque[2], frame.touching_count = False, 0.0, 0
    assert figure.limbs.hits
    assert not figure.goal.rests
    _both(move_goal, seen, every=1)(figure.goal, frame)
    assert figure.goal.flies
    assert figure.goal.turn[2].any()


def test_limit_angles_equal_the_plain_ones() -> None:
    character = fit(person())
    limits = [b.limits for b in character.bodies if b.limits is not None and b.kind == "ball"]
    assert limits
    rng = np.random.default_rng(4)
    q = rotations.normalize(rng.normal(size=(len(limits), 4)))
    rest, axis, bend = (np.array([getattr(x, name) for x in limits]) for name in ("rest", "axis", "swing_axis"))
    is_hinge = np.zeros(len(limits), dtype=np.bool_)
    side: Array = np.cross(axis, bend)
    for function in (limit_angles, limit_angles.twin):
        out = np.empty((len(limits), 3))
        function(q.ravel(), 4 * np.arange(len(limits)), is_hinge, rest, axis, bend, side, out)
        for i, x in enumerate(limits):
            assert np.allclose(out[i], plain_limit_angles(x, q[i]), rtol=0.0, atol=1e-9)


WHOLE = """
import sys, numpy as np, poise
from poise.native import library
from poise.samples import sample_path
motion = poise.load(sample_path("walk")).cut(0.0, 0.3)
pushes = [poise.Push("chest", (200.0, 60.0, 0.0), 0.1)]
q = [poise.simulate(motion, pushes=pushes, terrain=terrain).q for terrain in (None, poise.Terrain.slope(5.0))]
np.savez(sys.argv[1], *q, has_core=library() is not None)
"""


@pytest.mark.long
def test_a_whole_run_without_the_core_is_the_same(tmp_path: Path) -> None:
    runs = []
    for setting in ("", "skip"):
        to = tmp_path / f"run{setting}.npz"
        environment = {**os.environ, "POISE_NATIVE": setting}
        subprocess.run([sys.executable, "-W", "ignore", "-c", WHOLE, str(to)], check=True, env=environment)
        runs.append(np.load(to))
    assert [bool(run["has_core"]) for run in runs] == [True, False]
    for name in ("arr_0", "arr_1"):
        assert np.abs(runs[0][name] - runs[1][name]).max() < 1e-8
