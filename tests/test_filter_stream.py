"""The online form: one pose in, one pose out, one call behind."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from poise.body import Character
from poise.body.posing import joint_deviations, motion_to_q
from poise.core.errors import InvalidValue
from poise.filter.forces import Push
from poise.filter.setup import Options
from poise.filter.simulate import simulate
from poise.filter.stream import QuasiPhysicalFilter
from poise.terrain import Terrain
from tests.clips import needs_motions
from tests.filter_runs import clip, walk

Array = npt.NDArray[np.float64]

FORCE = (300.0, 0.0, 0.0)


def poses(name: str, seconds: float) -> tuple[Array, Character]:
    motion, character = walk(seconds) if name == "walk" else clip(name)
    return motion_to_q(character, motion.cut(0.0, seconds)), character


def run(stream: QuasiPhysicalFilter, q: Array) -> Array:
    """All simulated poses, from N calls of step and one of flush."""
    answers = [stream.step(pose) for pose in q]
    assert answers[0] is None
    assert all(answer is not None for answer in answers[1:])
    return np.array([*(np.array(a) for a in answers[1:] if a is not None), stream.flush()])


@pytest.mark.parametrize("name", ["walk", "quadruped", "hover_hop"])
def test_undisturbed_poses_come_back_exactly(name: str) -> None:
    q, character = poses(name, 1.5)
    out = run(QuasiPhysicalFilter(character, 1.0 / 60.0), q)
    assert out.shape == q.shape
    assert joint_deviations(character, q, out).max() <= 1e-9
    assert np.abs(out[:, :3] - q[:, :3]).max() <= 1e-12


@needs_motions
def test_undisturbed_spin_kick() -> None:
    q, character = poses("deepmimic/humanoid3d_spinkick.txt", 2.0)
    out = run(QuasiPhysicalFilter(character, 1.0 / 60.0), q)
    assert joint_deviations(character, q, out).max() <= 1e-9


def test_undisturbed_on_a_platform_at_rest() -> None:
    """The branch for terrain runs, and finds the ground of the clip."""
    q, character = poses("walk", 1.0)
    still = Terrain.platform([[0.0, 0.0, 0.0, 0.0], [10.0, 0.0, 0.0, 0.0]])
    ground = still.placed(origin=(0.0, 0.0), heading=-90.0, ground=character.floor)
    assert not ground.is_flat
    out = run(QuasiPhysicalFilter(character, 1.0 / 60.0, ground), q)
    assert joint_deviations(character, q, out).max() <= 1e-9


def test_one_call_behind() -> None:
    q, character = poses("walk", 0.5)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    for k, pose in enumerate(q):
        answer = stream.step(pose)
        if k == 0:
            assert answer is None
        else:
            assert answer is not None
            assert np.abs(answer - q[k - 1]).max() <= 1e-9
    assert np.abs(stream.flush() - q[-1]).max() <= 1e-9


def test_answers_are_the_caller_s_own() -> None:
    q, character = poses("walk", 0.3)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    given = q.copy()
    kept: list[Array] = []
    for pose in given:
        answer = stream.step(pose)
        pose[:] = 0.0  # a caller may reuse its buffer
        if answer is not None:
            kept.append(answer.copy())
            answer[:] = np.nan
    assert np.abs(np.array(kept) - q[:-1]).max() <= 1e-9


def test_short_streams() -> None:
    q, character = poses("walk", 0.3)
    with pytest.raises(InvalidValue, match="no pose"):
        QuasiPhysicalFilter(character, 1.0 / 60.0).flush()
    for count in (1, 2, 3):
        out = run(QuasiPhysicalFilter(character, 1.0 / 60.0), q[:count])
        assert out.shape == (count, character.nq)
        assert np.abs(out - q[:count]).max() <= 1e-12


def test_a_push_while_it_runs() -> None:
    q, character = poses("walk", 1.5)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    out: list[Array] = []
    for k, pose in enumerate(q):
        if k == 31:
            stream.push(Push("chest", FORCE, stream.time, 0.2))
        if (answer := stream.step(pose)) is not None:
            out.append(answer)
    out.append(stream.flush())
    deviation = joint_deviations(character, q, np.array(out)).max(axis=1)
    first = int(np.flatnonzero(deviation > 1e-6)[0])
    # known after 31 calls, of which 30 were answered: the first pose that can differ is the next to be answered
    assert first == 30
    assert deviation.max() > 2.0


def test_a_pushed_stream_is_like_the_pushed_clip() -> None:
    """They differ in what is known of the contacts to come, not in kind."""
    motion, character = clip("walk")
    motion = motion.cut(0.0, 3.0)
    q = motion_to_q(character, motion)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    stream.push(Push("chest", FORCE, 0.5, 0.2))
    out = run(stream, q)
    run_of_clip = simulate(motion, character, pushes=[Push("chest", FORCE, 0.5, 0.2)]).q
    apart = np.linalg.norm(out[:, :2] - run_of_clip[:, :2], axis=1).max()
    moved = np.linalg.norm(run_of_clip[:, :2] - q[:, :2], axis=1).max()
    assert moved > 0.03
    assert apart <= 0.25 * moved
    assert joint_deviations(character, run_of_clip, out).max() <= joint_deviations(character, q, run_of_clip).max()


def test_contacts_may_be_told() -> None:
    q, character = poses("walk", 1.0)
    count = len(character.contact_points)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    out = [stream.step(pose, flags=np.zeros(count, dtype=np.bool_)) for pose in q]
    assert np.abs(np.array(out[1:]) - q[:-1]).max() <= 1e-9
    last = stream.figure.last
    assert last is not None
    assert not last.reference.flags.any()
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    for pose in q:
        stream.step(pose)
    last = stream.figure.last
    assert last is not None
    assert last.reference.flags.any()


def test_options_reach_the_machine() -> None:
    q, character = poses("walk", 0.6)
    out = []
    for goal in ("com-xy", "moving"):
        stream = QuasiPhysicalFilter(character, 1.0 / 60.0, options=Options(goal=goal))
        stream.push(Push("chest", FORCE, 0.1, 0.2))
        out.append(run(stream, q))
    assert np.abs(out[0][-1, 0] - out[1][-1, 0]) > 0.02


def test_poses_that_cannot_be_used_are_refused() -> None:
    q, character = poses("walk", 0.3)
    stream = QuasiPhysicalFilter(character, 1.0 / 60.0)
    bad = q[0].copy()
    bad[9] = np.nan
    with pytest.raises(InvalidValue, match="finite"):
        stream.step(bad)
    with pytest.raises(InvalidValue, match=str(character.nq)):
        stream.step(q[0][:-1])
    # what was refused left no trace
    assert np.abs(run(stream, q) - q).max() <= 1e-9


def test_rates_at_which_the_gains_are_unstable_are_refused() -> None:
    character = walk()[1]
    with pytest.raises(InvalidValue, match="unstable"):
        QuasiPhysicalFilter(character, 1.0 / 20.0)


@pytest.mark.parametrize(
    "broken",
    [
        lambda q, character: QuasiPhysicalFilter(character, -1.0 / 60.0),
        lambda q, character: QuasiPhysicalFilter(character, 1.0 / 60.0).step(q, flags=np.zeros(3, dtype=np.bool_)),
    ],
    ids=["time step", "flags"],
)
def test_arguments_that_make_no_sense_are_refused(broken: Callable[[Array, Character], object]) -> None:
    q, character = poses("walk", 0.3)
    with pytest.raises(InvalidValue):
        broken(q[0], character)
