"""The report of a synthesized run. Fields are the contract "poise.synthesize/1"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from poise.filter.report import Report
from poise.goals.state_machine import Visit

if TYPE_CHECKING:
    from poise.synthesis.audit import Audit, Energy
    from poise.synthesis.hanging import Hanging
    from poise.synthesis.run import FigureResult
    from poise.synthesis.trace import Trace
    from poise.synthesis.world import World

STEP = "take step"
"""The state that is a protective step."""


def report_of(
    name: str, world: World, audit: Audit, energy: Energy, trace: Trace, hanging: Hanging,
    figures: Sequence[FigureResult], *, wall: float,
    options: Mapping[str, Any], stopped: str | None,
) -> Report:  # fmt: skip
    """All fields of a run; SI units.

    Args:
        name: The behavior's.
        world: At its end.
        audit, energy, trace, hanging: Of its steps.
        figures: What they did; the fields without a name are the first one's.
        wall: How long it took [s].
        options: The behavior's, all of them.
        stopped: Why it ended early, or None.
    """
    t, first = world.tally, figures[0]
    steps = 1000.0 * np.array(audit.step_seconds or [0.0])
    median = float(np.median(steps))
    settings = {**asdict(world.settings), "weights": asdict(world.weights), "options": dict(options)}
    engine = world.mover.report() if world.mover else {"name": "poise"}
    contact_work = float(engine.get("contact_work_J", audit.contact_work))
    data: dict[str, Any] = {
        "schema": "poise.synthesize/1",
        "behavior": name,
        "is_literal": world.settings.is_literal,
        "stopped": stopped,
        "fell": first.fell,
        "seconds": round((len(first.q) - 1) * world.settings.dt, 9),
        "states": _states(first.visits),
        "stuck_steps": world.figures[0].controller.stuck,
        "figures": {f.name: {"fell": f.fell, "mass": f.character.mass, "states": _states(f.visits)} for f in figures},
        "steps_taken": sum(v.name.rpartition(" / ")[2] == STEP for v in first.visits),
        "climbed_m": hanging.climbed,
        "swing_max_deg": hanging.furthest,
        "swings_deg": list(hanging.swings),
        "supports": [{"figure": s.figure, "body": s.body, "object": s.what, "time": s.time} for s in world.supports],
        "losses": [
            {"figure": x.figure, "body": x.body, "object": x.what, "time": x.time, "why": x.why} for x in world.losses
        ],
        "hits": [{**asdict(h), "impulse": h.impulse} for h in world.hits],
        "pushes": [{"body": p.body, "start": p.start} for p in world.pushes],
        "root_residual_max": {"force_N": audit.root_force, "moment_Nm": audit.root_moment},
        "engine": engine,
        "cone_violation_max_N": audit.cone,
        "penetration_max_m": engine.get("penetration_max_m", audit.penetration),
        "penetration_deepest": None if audit.deepest is None else asdict(audit.deepest),
        "body_penetration_max_m": engine.get("body_penetration_max_m", audit.overlap),
        "grip_drift_max_m": audit.grip_drift,
        "contact_work_ratio": contact_work / audit.joint_work if audit.joint_work else 0.0,
        "energy": energy.report(first.fell, world.settings.dt) if world.mover is None else None,
        "torque_max_Nm": audit.torque,
        "effort_max": float(trace.effort[:, 0].max(initial=0.0)),
        "slack_used_max": max(t.slack.values(), default=0.0),
        "slack": dict(t.slack),
        "solver": {
            "name": "daqp",
            "solves": t.solves,
            "failures": t.failures,
            "fallbacks": dict(t.conflicts),
            "rounds": t.rounds,
            "rollbacks": t.rollbacks,
            "primal_residual_max": t.primal,
            "dual_residual_max": t.dual,
            "dynamics_residual_max": t.dynamics,
        },
        "wall_seconds": wall,
        "step_ms": {"median": median, "p99": float(np.percentile(steps, 99))},
        "realtime_factor": 1000.0 * world.settings.dt / median if median else 0.0,
        "settings": settings,
    }
    return Report(data)


def _states(visits: Sequence[Visit]) -> list[dict[str, Any]]:
    return [{"name": v.name, "start": v.start, "end": v.end} for v in visits]
