"""The report of a synthesized run. Fields are the contract "poise.synthesize/1"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from poise.filter.forces import Force
from poise.filter.report import Report
from poise.goals.lists import Weights
from poise.goals.state_machine import Visit
from poise.synthesis.recorders import Audit, Energy, Hanging, Trace
from poise.synthesis.records import Hit, Loss, SolverCounts, Support
from poise.synthesis.settings import Settings

STEP = "take step"
"""The state that is a protective step."""


def report_of(
    name: str, audit: Audit, energy: Energy, trace: Trace, hanging: Hanging,
    figures: Sequence[tuple[str, float, float | None, Sequence[Visit]]], *, seconds: float, stuck: int,
    counts: SolverCounts, supports: Sequence[Support], losses: Sequence[Loss], hits: Sequence[Hit],
    pushes: Sequence[Force], engine: Mapping[str, float | str] | None, settings: Settings, weights: Weights,
    wall: float, options: Mapping[str, Any], stopped: str | None,
) -> Report:  # fmt: skip
    """All fields of a run; SI units.

    Args:
        name: The behavior's.
        audit, energy, trace, hanging: Of its steps.
        figures: Name, mass [kg], when it fell [s] and visits of each; the fields without a name are the first one's.
        seconds: How long the motion is [s].
        stuck: Steps in which the first figure's state failed and no other held.
        counts: What the solver did.
        supports, losses, hits, pushes: Events, in order.
        engine: Report of another simulation that moved the figures.
        settings, weights: Of the run.
        wall: How long it took [s].
        options: The behavior's, all of them.
        stopped: Why it ended early, or None.
    """
    t, (_, _, fell, visits) = counts, figures[0]
    steps = 1000.0 * np.array(audit.step_seconds or [0.0])
    median = float(np.median(steps))
    seen = engine or {"name": "poise"}
    contact_work = float(seen.get("contact_work_J", audit.contact_work))
    data: dict[str, Any] = {
        "schema": "poise.synthesize/1",
        "behavior": name,
        "is_literal": settings.is_literal,
        "stopped": stopped,
        "fell": fell,
        "seconds": round(seconds, 9),
        "states": _states(visits),
        "stuck_steps": stuck,
        "figures": {n: {"fell": f, "mass": m, "states": _states(v)} for n, m, f, v in figures},
        "steps_taken": sum(v.name.rpartition(" / ")[2] == STEP for v in visits),
        "climbed_m": hanging.climbed,
        "swing_max_deg": hanging.furthest,
        "swings_deg": list(hanging.swings),
        "supports": [{"figure": s.figure, "body": s.body, "object": s.what, "time": s.time} for s in supports],
        "losses": [
            {"figure": x.figure, "body": x.body, "object": x.what, "time": x.time, "why": x.why} for x in losses
        ],
        "hits": [{**asdict(h), "impulse": h.impulse} for h in hits],
        "pushes": [{"body": p.body, "start": p.start} for p in pushes],
        "root_residual_max": {"force_N": audit.root_force, "moment_Nm": audit.root_moment},
        "engine": seen,
        "cone_violation_max_N": audit.cone,
        "penetration_max_m": seen.get("penetration_max_m", audit.penetration),
        "penetration_deepest": None if audit.deepest is None else asdict(audit.deepest),
        "body_penetration_max_m": seen.get("body_penetration_max_m", audit.overlap),
        "grip_drift_max_m": audit.grip_drift,
        "contact_work_ratio": contact_work / audit.joint_work if audit.joint_work else 0.0,
        "energy": energy.report(fell, settings.dt) if engine is None else None,
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
        "realtime_factor": 1000.0 * settings.dt / median if median else 0.0,
        "settings": {**asdict(settings), "weights": asdict(weights), "options": dict(options)},
    }
    return Report(data)


def _states(visits: Sequence[Visit]) -> list[dict[str, Any]]:
    return [{"name": v.name, "start": v.start, "end": v.end} for v in visits]
