"""Tracking beside plain inverse kinematics of the same targets: `python -m benchmarks.tracking --ik`; needs mink.

mink gets what the retargeter answers, before feet are held: place and turn of the pelvis and of the ends of limbs, and
the standing pose as posture. Three Gauss-Newton steps a pose, from the pose before. Feet are measured alike for both,
while the tracker says that they stand: the slowest point of a foot tells how it slips.
"""

from __future__ import annotations

import importlib.util
import time
from typing import Any, NamedTuple

import numpy as np

from poise.body import Character
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.physics import State
from poise.tracking.run import RATE, recorded_actor
from poise.tracking.tracker import PerformanceTracker

STEPS = 3
"""Gauss-Newton steps of the inverse kinematics for each pose."""


class Run(NamedTuple):
    """One method on one clip.

    Attributes:
        q: Poses, shape (F, nq).
        milliseconds: Of processor time for each pose, shape (F,).
    """

    q: Array
    milliseconds: Array


class Both(NamedTuple):
    """Tracking, inverse kinematics, and what is measured on both.

    Attributes:
        stands: Contact points of each foot that stands fully, for each pose.
    """

    tracker: PerformanceTracker
    ours: Run
    plain: Run
    stands: list[list[Index]]


def both(character: Character, motion: Motion, root: str) -> Both:
    """Track a motion, and follow the same targets by inverse kinematics."""
    actor = recorded_actor(motion)
    tracker = PerformanceTracker(character, actor.character, root=root, floor=0.0, **actor.since(actor.begin))
    q, spent, stands, rows = list[Array](), list[float](), list[list[Index]](), list[tuple[Array, Array]]()
    for pose in actor.poses[actor.begin :]:
        began = time.thread_time()
        q.append(tracker.step(pose))
        spent.append(1000.0 * (time.thread_time() - began))
        stands.append([foot.points for foot in tracker.feet.values() if foot.stands and foot.share >= 1.0])
        rows.append(_wanted(tracker))
    plain = _inverse_kinematics(tracker, q[0], rows)
    return Both(tracker, Run(np.array(q), np.array(spent)), plain, stands)


def _wanted(tracker: PerformanceTracker) -> tuple[Array, Array]:
    """Places (T, 3) and turns (T, 4) of the targets of the last step, before feet are held."""
    generator = tracker._generator
    assert generator is not None
    rows = generator.motion.rows
    place = rows.x[:, :3].copy()
    place[:, 2] -= generator.retargeter.ratio * (generator.motion.floor - generator.retargeter.theirs.floor)
    return place, rows.turns


def _inverse_kinematics(tracker: PerformanceTracker, first: Array, rows: list[tuple[Array, Array]]) -> Run:
    import mujoco

    mink: Any = importlib.import_module("mink")
    model: Any = mujoco.MjModel.from_xml_string(tracker.model.xml)  # pyright: ignore[reportAttributeAccessIssue]
    tasks: list[Any] = [mink.FrameTask(model.body(1).name, "body", position_cost=1.0, orientation_cost=1.0)]
    for role, body in zip([r for r in tracker.roles if r.actor], tracker.lists.ends.tolist(), strict=True):
        carries = role.kind == "support"
        tasks.append(
            mink.FrameTask(
                model.body(body).name,
                "body",
                position_cost=1.0 if carries else 0.5,
                orientation_cost=0.5 if carries else 0.1,
            )
        )
    posture = mink.PostureTask(model, cost=0.03)
    posture.set_target(tracker.standing)
    configuration = mink.Configuration(model, first)
    q, spent = list[Array](), list[float]()
    for place, turn in rows:
        began = time.thread_time()
        for task, row in zip(tasks, (0, *range(2, len(place))), strict=True):
            task.set_target(mink.SE3(np.concatenate([turn[row], place[row]])))
        for _ in range(STEPS):
            change = mink.solve_ik(configuration, [*tasks, posture], 1.0, "daqp", damping=1e-6, limits=[])
            configuration.integrate_inplace(change, 1.0)
        spent.append(1000.0 * (time.thread_time() - began))
        q.append(configuration.q.copy())
    return Run(np.array(q), np.array(spent))


def measured(run: Run, found: Both) -> tuple[float, float, float]:
    """Slip of standing feet [cm/s] and depth in the ground [mm], 95th percentiles, and median time a pose [ms]."""
    tracker, count = found.tracker, len(found.tracker.character.contact_points)
    state, slips, depths = State(tracker.model), list[float](), list[float]()
    for k in range(1, len(run.q)):
        v = tracker.model.difference(run.q[k - 1], run.q[k], 1.0 / RATE)
        state.at(run.q[k], v)
        depths.append(max(0.0, -float(state.points[:count, 2].min(initial=0.0))))
        for points in found.stands[k]:
            slips.append(float(np.linalg.norm(state.point_velocities[points, :2], axis=1).min()))
    slip = 100.0 * float(np.percentile(slips, 95)) if slips else float("nan")
    return slip, 1000.0 * float(np.percentile(depths, 95)), float(np.median(run.milliseconds))


def compare(characters: dict[str, Character], motions: dict[str, Motion], root: str) -> None:
    """Print a row for each character and clip."""
    if importlib.util.find_spec("mink") is None:
        raise SystemExit("--ik compares with mink, which is not installed: pip install mink")
    print("who | clip | slip cm/s: tracking, mink | into ground mm: tracking, mink | ms a pose: tracking, mink")
    for who, character in characters.items():
        for name, motion in motions.items():
            try:
                found = both(character, motion, root)
            except PoiseError as error:
                print(f"{who} | {name} | {error}", flush=True)
                continue
            ours, plain = (measured(run, found) for run in (found.ours, found.plain))
            cells = [f"{a:.1f}, {b:.1f}" for a, b in zip(ours, plain, strict=True)]
            fell = " | fell" if found.tracker.has_fallen else ""
            print(f"{who} | {name} | {' | '.join(cells)}{fell}", flush=True)
