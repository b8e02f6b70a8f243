"""What `poise synthesize` tells of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from poise.cli.app import out

if TYPE_CHECKING:
    from poise.synthesis.run import SynthesisResult


def summarize(result: SynthesisResult, output: Path | None) -> None:
    """What happened, in a few lines a person reads."""
    d = result.report.data
    work, sunk = 100.0 * d["contact_work_ratio"], 1000.0 * d["penetration_max_m"]
    lines = [
        f"{output or d['behavior']}: {d['seconds']:.2f} s, {result.motion.skeleton.joint_count} joints, "
        f"{d['step_ms']['median']:.2f} ms a step ({d['realtime_factor']:.1f} × real time)",
        f"Fell at {d['fell']:.2f} s." if d["fell"] is not None else "Did not fall.",
    ]
    shown = [s for s in d["states"] if " / " not in s["name"]]
    if len(shown) > 1:
        path = " → ".join(f"{s['name']} {s['start']:.2f}" for s in shown[:8])
        lines.append(f"States [s]: {path}{f' → … ({len(shown)} in all)' if len(shown) > 8 else ''}")
    told = (
        (d["steps_taken"], f"{d['steps_taken']} protective step{'s' if d['steps_taken'] != 1 else ''}"),
        (d["climbed_m"] > 0.01, f"climbed {d['climbed_m']:.2f} m"),
        (d["swing_max_deg"] > 0.5, f"swung up to {d['swing_max_deg']:.0f}°"),
        (d["supports"], f"{len(d['supports'])} grips or supports by hand"),
        (d["hits"], f"hit {len(d['hits'])} times"),
    )
    if some := [words for is_so, words in told if is_so]:
        lines.append(f"{', '.join(some)}.".capitalize())
    lines.append(
        f"Nobody holds it: root force {d['root_residual_max']['force_N']:.0e} N; penetration {sunk:.2f} mm; "
        f"contacts put in {work:.1f} % of the joints' work; largest torque {d['torque_max_Nm']:.0f} N m"
    )
    if d["slack_used_max"] > 0.0:
        lines.append(f"Bounds gave way by up to {d['slack_used_max']:.3g}.")
    for kind, count in d["solver"]["fallbacks"].items():
        lines.append(f"In {count} steps: {kind}")
    if not result.is_complete:
        lines.append(f"Not complete: {d['stopped']}. What was done is kept.")
    for line in lines:
        out().print(line, markup=False)
