"""The summary of `poise synthesize`: what figures did by goals alone, who fell, and how fast they went."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from poise.cli.app import out

if TYPE_CHECKING:
    from poise.synthesis.behaviors import Behavior
    from poise.synthesis.run import SynthesisResult

DEEP = 0.005
"""A point deeper than this in a thing is reported by name [m]."""
FAR_APART = 0.8
"""Feet are far apart above this part of a leg [1]: at 0.25 the weight came over one foot, at 0.9 and 2 it did not."""
SHORT = 0.1
"""A speed that misses what was asked for by more than this part is remarked on [1]."""
GATHERS = 1.5
"""An athlete that can has left the ground by this time, for a leg of 0.82 m [s]."""
PERSON = (1.05, 0.21)
"""How high the center of mass of the built-in grown-up is and how far apart its feet stand, in parts of its leg [1]."""


def summarize_synthesis(result: SynthesisResult, output: Path | None, *, is_live: bool = False) -> None:
    """What happened, in a few lines a person reads; Ctrl-C is how a live run ends."""
    d = result.report.data
    work, sunk = 100.0 * d["contact_work_ratio"], 1000.0 * d["penetration_max_m"]
    lines = [
        f"{output or d['behavior']}: {d['seconds']:.2f} s, {result.motion.skeleton.joint_count} joints, "
        f"{d['step_ms']['median']:.2f} ms a step ({d['realtime_factor']:.1f} × real time)",
        _falls(result),
        *_one_foot(result),
        *_speed(result),
    ]
    if output is not None and len(result.figures) > 1:
        first, *others = (repr(f.name) for f in result.figures)
        lines.append(f"{output} holds {first} alone; {', '.join(others)} can be seen with --record.")
    shown = [s for s in d["states"] if " / " not in s["name"]]
    if len(shown) > 1:
        path = " → ".join(f"{s['name']} {s['start']:.2f}" for s in shown[:8])
        lines.append(f"States [s]: {path}{f' → … ({len(shown)} in all)' if len(shown) > 8 else ''}")
    hands = _supports(result)
    many = "s" if hands != 1 else ""
    torn = sum(x["why"] == "slipped" and x["body"].endswith("_hand") for x in d["losses"])
    cautions = (
        (d["steps_taken"], f"{d['steps_taken']} protective step{'s' if d['steps_taken'] != 1 else ''}"),
        (d["climbed_m"] > 0.01 and not d["swing_max_deg"] > SWINGS, f"climbed {d['climbed_m']:.2f} m"),
        (d["swing_max_deg"] > SWINGS, f"swung up to {d['swing_max_deg']:.0f}°"),
        (hands, f"{hands} grip{many} or support{many} by hand"),
        (torn, f"a hand slipped from what it held {torn} time{'s' if torn != 1 else ''}"),
        (d["hits"], f"hit {len(d['hits'])} times"),
    )
    if some := [caution for is_so, caution in cautions if is_so]:
        lines.append(f"{', '.join(some)}.".capitalize())
    lines.append(
        f"Nobody holds it: root force {d['root_residual_max']['force_N']:.0e} N; penetration {sunk:.2f} mm; "
        f"contacts put in {work:.1f} % of the joints' work; largest torque {d['torque_max_Nm']:.0f} N m"
    )
    if d["slack_used_max"] > 0.0:
        gave = ", ".join(f"{name} by {slack:.3g}" for name, slack in d["slack"].items() if slack > 0.0)
        lines.append(f"What gave way where not all could hold: {gave}.")
    if d["penetration_max_m"] > DEEP and d["penetration_deepest"] is not None:
        deepest = d["penetration_deepest"]
        lines.append(
            f"Deepest: {deepest['body']} of {deepest['figure']!r}, {sunk:.0f} mm in {deepest['object']!r} at "
            f"{deepest['time']:.2f} s."
        )
    for kind, count in d["solver"]["fallbacks"].items():
        lines.append(f"In {count} steps: {kind}")
    if not result.is_complete and not (is_live and d["stopped"] == "interrupted"):
        lines.append(f"Not complete: {d['stopped']}. What was done is kept.")
    for line in lines:
        out().print(line, markup=False)


SWINGS = 15.0
"""Who swings further than this below the hands does not climb [degrees]."""


def _falls(result: SynthesisResult) -> str:
    """Who fell when, or that nobody did; of a run that broke off, as far as it went."""
    if len(result.figures) == 1:
        outcome = result.figures[0].outcome
        if outcome == "did not fall" and result.report["stopped"] not in (None, "interrupted"):
            outcome = "had not fallen"
        return f"{outcome.capitalize()}."
    return f"{', '.join(f'{f.name} {f.outcome}' for f in result.figures)}.".capitalize()


def _one_foot(result: SynthesisResult) -> list[str]:
    """Why a figure that was to stand on one foot did not, if its feet stood too far apart for its legs."""
    from poise.physics import State
    from poise.physics.mujoco_backend import model_of
    from poise.synthesis.behaviors.balance import ONE_FOOT
    from poise.synthesis.poses import SIDES, sole_points

    if result.report["behavior"] != ONE_FOOT.name or any(v.name == "lift" for v in result.visits):
        return []
    who = result.character
    state = State(model_of(who)).at(result.q[0], result.v[0])
    left, right = (state.points[sole_points(who, side), :2].mean(axis=0) for side in SIDES)
    apart = math.dist(left, right)
    if apart < FAR_APART * who.leg_length:
        return []
    return [
        f"Its weight never came over one foot: its feet stand {apart:.2f} m apart, which is far for legs of "
        f"{who.leg_length:.2f} m."
    ]


def failure_of(behavior: Behavior, result: SynthesisResult) -> str:
    """Why an athlete that nothing pushed failed, and how its body differs from the grown-up's; else an empty text."""
    figure = result.figures[0]
    if not behavior.is_athletic or result.pushes:
        return ""
    flights = sum(v.name == "flight" for v in result.visits)
    if figure.outcome != "did not fall":
        what = f"{figure.outcome}, after {flights} flights" if flights != 1 else f"{figure.outcome}, after one flight"
    elif flights == 0 and result.motion.duration > GATHERS * math.sqrt(figure.character.leg_scale):
        what = "never left the ground"
    else:
        return ""
    from poise.physics import State
    from poise.physics.mujoco_backend import model_of
    from poise.synthesis.poses import SIDES, sole_points

    who, leg = figure.character, figure.character.leg_length
    state = State(model_of(who)).at(result.q[0], result.v[0])
    left, right = (state.points[sole_points(who, side)].mean(axis=0) for side in SIDES)
    high = float(state.com(state.model.roots[0])[2] - 0.5 * (left[2] + right[2])) / leg
    apart = math.dist(left[:2], right[:2]) / leg
    return (
        f"{behavior.name} failed: it {what}. For each meter of leg its center of mass is {high:.2f} m high and its "
        f"feet stand {apart:.2f} m apart; the grown-up that the gait was found for: {PERSON[0]} and {PERSON[1]} m."
    )


def _speed(result: SynthesisResult) -> list[str]:
    """How fast the first figure was at last, where its behavior has an option for that."""
    asked, motion = result.report["settings"]["options"].get("speed"), result.motion
    if not isinstance(asked, float) or motion.duration < 1.0:
        return []
    before = int(motion.times.searchsorted(motion.times[-1] - 1.0 - 1e-6))
    way = math.hypot(*(result.q[-1, :2] - result.q[before, :2]).tolist())
    speed = way / float(motion.times[-1] - motion.times[before])
    tempo = math.sqrt(result.character.leg_scale)
    own = f", which is {tempo * asked:.2g} m/s with legs of {result.character.leg_length:.2f} m"
    own = own if abs(tempo - 1.0) > 0.05 else ""
    lacks = 1.0 - speed / (tempo * asked) if asked > 0.0 and result.figures[0].fell is None else 0.0
    short = f"; it is {100.0 * lacks:.0f} % short of that" if lacks > SHORT else ""
    return [f"Speed over the last second: {speed:.2f} m/s; asked for: {asked:g} m/s{own}{short}"]


def _supports(result: SynthesisResult) -> int:
    """How often a hand took hold or leaned on something before its figure fell."""
    count = 0
    for figure in result.figures:
        roles = figure.character.roles
        hands = {figure.character.bodies[roles[r]].name for r in ("left_hand", "right_hand") if r in roles}
        hands |= {"left_hand", "right_hand"}
        for s in result.report["supports"]:
            is_own = s["figure"] == figure.name and s["body"] in hands
            count += is_own and (figure.fell is None or s["time"] < figure.fell)
    return count
