"""What a run of `poise simulate` came to, in a few lines a person reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from poise.cli.app import out
from poise.core.units import GRAVITY

if TYPE_CHECKING:
    from poise.filter.result import SimulationResult

BELIEVABLE = 0.3
"""Root force beyond the clip's own, as a part of body weight (rms), above which a run is cautioned about."""

SUNK = 0.1
"""A point of a figure with legs of 0.82 m that is ever deeper in the ground than this is told [m]."""

FLOATING = 0.1
"""A figure with legs of 0.82 m that is further than this above the ground where it stood is cautioned about [m]."""


def summarize(result: SimulationResult, output: Path | None) -> None:
    """What happened, in a few lines a person reads."""
    d = result.report.data
    deviation, contact, residual = d["deviation"], d["contact"], d["root_residual"]
    weight = GRAVITY * d["source"]["mass"]
    what = "The last round" if output is None else str(output)
    lines = [
        f"{what}: {result.motion.frame_count} frames, {result.motion.skeleton.joint_count} joints, "
        f"simulated at {1.0 / d['dt']:.0f} Hz, {d['step_ms']['median']:.2f} ms a frame "
        f"({d['realtime_factor']:.0f} × real time)",
    ]
    if deviation["joint_angle_max_deg"] < 1e-6 and deviation["root_position_max_m"] < 1e-9:
        lines.append("Nothing disturbed it: the motion is the one that went in.")
        if result.terrain.spec.startswith("rough"):
            lines.append("Rough ground is level within half a meter of the start, and the figure did not leave that.")
    else:
        joints, root = deviation["joint_angle_max_deg"], 100 * deviation["root_position_max_m"]
        sunk, floating = 100 * contact["penetration_p95_m"], 100 * contact["float_p95_m"]
        lines += [
            f"Deviation: joints up to {joints:.1f}°, root up to {root:.1f} cm",
            f"Ground: 95 % of frames within {sunk:.1f} cm of penetration and {floating:.1f} cm of float",
            f"Root force beyond the clip's own: {100 * residual['force_rms_N'] / weight:.0f} % of body weight (rms)",
        ]
    deepest = contact["penetration_max_m"]
    if deepest > SUNK * d["settings"]["leg_scale"]:
        lines.append(f"Caution: at its worst frame a point is {100 * deepest:.0f} cm inside the ground.")
    strain = residual["force_rms_N"] / weight
    if strain > BELIEVABLE:
        lines.append(f"Caution: that much help at the root ({100 * strain:.0f} %) can be seen; expect a marionette.")
    high = contact["float_p95_m"]
    if high > FLOATING * d["settings"]["leg_scale"]:
        lines.append(
            f"Caution: it leaves the ground by {100 * high:.0f} cm; a gentler push or a physicality near 1 keeps it "
            "down."
        )
    if d["events"] and result.terrain.spec.startswith("platform"):
        lines.append("The deck's own way is counted in what the pushes moved.")
    lines += [_told(event) for event in d["events"]]
    for name, count in d["solver"]["conflicts"].items():
        lines.append(f"Gave way in {count} steps: {name}")
    odd = {k: v for k, v in d["solver"]["fallbacks"].items() if v}
    if odd or d["solver"]["failures"]:
        lines.append("Solver: " + ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in odd.items()))
    for line in lines:
        out().print(line, markup=False)


def _told(event: dict[str, Any]) -> str:
    """One push or pull, and what became of it."""
    what = f"{event['kind'].capitalize()} of {event['body']} at {event['start']:.2f} s:"
    if not event["is_felt"]:
        return f"{what} never felt, the run ended before it"
    if event["outcome"] == "fallen":
        return f"{what} it fell"
    back, moved = event["com_back_s"], 100 * event["com_excursion_max_m"]
    after = f"back within {back:.1f} s" if back is not None else "not back before the end"
    stepped = "it stepped, " if event["outcome"] == "stepped" else ""
    return f"{what} {stepped}center of mass moved {moved:.0f} cm, {after}"
