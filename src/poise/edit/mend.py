"""One edit that does what a check asks for, tool by tool, in the order in which faults hide each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poise.analysis.analyze import Analysis, analyze
from poise.body.character import Character, fit
from poise.check.clip import findings_of
from poise.check.finding import Finding
from poise.core.errors import BudgetExceeded, PoiseError
from poise.core.motion import Motion
from poise.core.units import GRAVITY, HUMAN_LEG
from poise.edit.ballistic import ballistic
from poise.edit.budget import Budget, Scope
from poise.edit.clean import clean
from poise.edit.ground import ground
from poise.edit.repair import repair
from poise.edit.report import Changes, Edited, new_findings, report_of
from poise.edit.retime import retime
from poise.edit.spin import spin
from poise.io.files import json_value
from poise.phases.points import leg_length, pelvis
from poise.phases.travel import find_loop

AMOUNTS = (1.0, 0.5, 0.25)
"""Parts of a tool's edit that are tried, largest first [1]."""
WELL_WITHIN = 0.8
"""Share of the allowed spin that may be left where all of it need not go [1]."""
SMALLEST = 0.05
"""A smaller part of an edit is not worth making [1]."""
RAISED = 0.1
"""A flight of a cycle is made higher or lower by no more than this, for a leg of 0.82 m [m]."""
WHOLE = ("rate", "clean")
"""Tools whose edit is made as a whole or not at all: half a frame rate or half a flip is as wrong as all of it."""


@dataclass(frozen=True)
class Job:
    """What a tool is asked to do.

    Attributes:
        motion: As the tools before it left it.
        character: Whose motion it is; None fits one.
        findings: Those that the tool is for, failing ones.
        scope: Amount, interval and blend.
        budget: What may still change.
        floor: Height of the floor, where it was given [m].
    """

    motion: Motion
    character: Character | None
    findings: tuple[Finding, ...]
    scope: Scope
    budget: Budget | None
    floor: float | None

    @property
    def limits(self) -> dict[str, Any]:
        """What bounds the work of every tool."""
        return {"scope": self.scope, "budget": self.budget}


MOST_NAMED = 3
"""Findings that are left are named with joint and frames, so many of them."""


@dataclass(frozen=True)
class Mender:
    """A tool, and the findings it is for."""

    name: str
    findings: tuple[str, ...]
    work: Callable[[Job], Edited]


def _retimed(job: Job) -> Edited:
    """The same frames at the rate that flights and steps imply."""
    (found, *_) = job.findings
    factor = 1.0 / found.measure
    result = replace(job.motion, times=job.motion.times * (1.0 + (factor - 1.0) * job.scope.amount))
    changes = Changes.between(job.motion, job.motion, pelvis(job.motion.skeleton))
    report = report_of(
        "rate",
        job.motion,
        result,
        changes,
        settings={"fps": job.motion.fps / factor},
        before={"fps": job.motion.fps},
        after={"fps": result.fps},
        kept={},
        budget=None,
        amount=job.scope.amount,
    )
    return Edited(result, report)


def _cleaned(job: Job) -> Edited:
    return clean(job.motion, job.character, **job.limits)


def _grounded(job: Job) -> Edited:
    return ground(job.motion, job.character, floor=job.floor, **job.limits, verify=False)


def _spans(findings: Sequence[Finding], motion: Motion) -> list[tuple[int, int]]:
    """The flights that findings name, as first and last frame: every finding of a flight lies in it."""
    flights = [(f.first, f.last) for f in analyze(motion).flights]
    return [(a, b) for a, b in flights if any(first <= b and last >= a for f in findings for first, last in f.frames)]


def _keeps_length(job: Job) -> bool:
    """Whether flights keep their time and become as high as it needs, not the other way round.

    Those of a cycle do, since what plays it counts on its length; but no flight may become higher or lower by more than
    `RAISED`: |1 − γ| g t² / 8, where γ is its gravity over g and t its time.
    """
    if not find_loop(job.motion).is_cycle:
        return False
    times, size = job.motion.times, leg_length(job.motion.skeleton) / HUMAN_LEG
    flights = [(f.measure, float(times[last] - times[first])) for f in job.findings for first, last in f.frames]
    return all(abs(1.0 - share) * GRAVITY * seconds**2 / 8.0 < RAISED * size for share, seconds in flights)


def _thrown(job: Job) -> Edited:
    """Flights on ballistic paths: with the frames they need where their gravity is wrong, else with their own."""
    keeps_ends = all(f.name == "gravity" for f in job.findings) and not _keeps_length(job)
    keep = "ends" if keeps_ends else "timing"
    flights = _spans(job.findings, job.motion)
    return ballistic(job.motion, job.character, flights=flights, keep=keep, **job.limits, verify=False)


def _spun(job: Job) -> Edited:
    flights = _spans(job.findings, job.motion)
    return spin(job.motion, job.character, flights=flights, **job.limits, verify=False)


def _repaired(job: Job) -> Edited:
    return repair(job.motion, job.character, floor=job.floor, **job.limits, verify=False)


MENDERS: tuple[Mender, ...] = (
    Mender("rate", ("frame-rate",), _retimed),
    Mender("clean", ("glitch",), _cleaned),
    Mender("ground", ("rise", "skate", "penetration", "float"), _grounded),
    Mender("ballistic", ("gravity",), _thrown),
    Mender("ballistic", ("arc", "track", "drift"), _thrown),
    Mender("spin", ("spin",), _spun),
    Mender("repair", ("balance", "gravity", "arc", "track", "drift", "spin"), _repaired),
    Mender("ground", ("rise", "skate", "penetration", "float"), _grounded),
)
"""All tools in their order: the time base first, since every speed hangs on it; then what capture left behind, since it
spoils every other measure; then contacts, flights, and the spin in them; then feet once more, which flights may have
moved. What flights and spin leave is repaired over the whole clip. A new tool is one more line here."""


def mend(
    motion: Motion,
    character: Character | None = None,
    *,
    only: Sequence[str] = (),
    floor: float | None = None,
    scope: Scope | None = None,
    budget: Budget | None = None,
) -> Edited:
    """Do what a check of the motion asks for, within a budget, and keep only what helps.

    Every tool is given the failing findings it is for. What it makes is checked: it is kept if the findings it was for
    are fewer or smaller and nothing new fails; else less of it is tried, and then it is left out with the reason. A
    warning is never acted on.

    Args:
        motion: F frames.
        character: Fitted to the motion if not given, and again to each result.
        only: Names of findings to mend; all where empty.
        floor: Height of the floor [m]; found where not given.
        scope: Amount (of every tool), interval and blend.
        budget: What all tools together may change at most; they do less to keep it.

    Returns:
        The motion and its report: `steps` says tool by tool what it was for and what came of it, `before` and `after`
        hold the findings.

    Example:
        >>> edited = poise.edit.mend(poise.load("walk.bvh"), budget=poise.edit.Budget.parse("joint 3deg"))
        >>> tools = [step["tool"] for step in edited.report["steps"]]
    """
    scope = scope or Scope()
    before = _failing(motion, character, floor)
    now, left = motion, before
    steps: list[dict[str, Any]] = []
    spent = {"joint": 0.0, "root": 0.0, "root_turn": 0.0}
    own = budget.joints_of(motion.skeleton, character or fit(motion)) if budget and budget.parts else {}
    spent |= dict.fromkeys(own, 0.0)
    vain: list[Mender] = []  # since the last change
    for mender in MENDERS:
        wanted = tuple(f for f in left if f.name in mender.findings and (not only or f.name in only))
        if not wanted or mender in vain:
            continue
        job = Job(now, character, wanted, scope, _what_is_left(budget, spent), floor)
        made, after, amount, why = _tried(mender, job, left)
        steps.append(_step(mender, wanted, made, after, amount, why))
        if made is None:
            vain.append(mender)
            continue
        vain.clear()
        now, left = made.motion, after
        for name, value in _seen(made, own).items():
            spent[name] += value
    root = pelvis(motion.skeleton)
    changes = Changes.between(motion, now if now.frame_count == motion.frame_count else motion, root)
    report = report_of(
        "mend",
        motion,
        now,
        changes,
        settings={"amount": scope.amount, "blend_s": scope.blend, "interval": scope.interval, "only": list(only)},
        before={"findings": _listed(before), "frames": motion.frame_count, "duration_s": motion.duration},
        after={"findings": _listed(left), "frames": now.frame_count, "duration_s": now.duration},
        kept={"spent_joint_deg": math.degrees(spent["joint"]), "spent_root_m": spent["root"]},
        budget=None,
        amount=scope.amount,
        notes=_notes(before, left, steps),
    )
    report.data["steps"] = json_value(steps)
    if now.frame_count != motion.frame_count:  # poses moved in time: what the tools changed is what counts
        report.data["changed"] |= {
            "joint_angle_max_deg": math.degrees(max(spent["joint"], spent["root_turn"])),
            "root_position_max_m": spent["root"],
            "joint": _turned_most(steps),
            "frames": now.frame_count,
        }
    return Edited(now, report)


def _failing(motion: Motion, character: Character | None, floor: float | None) -> tuple[Finding, ...]:
    return tuple(f for f in findings_of(motion, character, floor=floor) if f.fails)


def _what_is_left(budget: Budget | None, spent: dict[str, float]) -> Budget | None:
    if budget is None:
        return None
    left = {name: max(0.0, most - spent[name]) for name, most in budget.limits.items()}
    return Budget(**left, parts={name: max(0.0, most - spent.get(name, 0.0)) for name, most in budget.parts.items()})


def _tried(
    mender: Mender, job: Job, left: tuple[Finding, ...]
) -> tuple[Edited | None, tuple[Finding, ...], float, str]:
    """What a tool makes that helps and keeps the budget: as much of it as does; else None, and why."""
    why = ""
    most = job.scope.amount
    for part in _parts(mender, job.findings):
        amount = min(part * job.scope.amount, most)
        if amount < SMALLEST:
            continue
        try:
            made = mender.work(replace(job, scope=replace(job.scope, amount=amount)))
        except BudgetExceeded as error:
            why, most = error.reason, min(most, 0.98 * error.amount)
            if most < SMALLEST:
                return None, left, 0.0, f"{why} Too little of it would be left"
            try:
                made = mender.work(replace(job, scope=replace(job.scope, amount=most)))
                amount = most
            except PoiseError:
                continue
        except PoiseError as error:
            return None, left, 0.0, str(error)
        if made.motion is job.motion:
            return None, left, 0.0, "it found nothing to change"
        try:
            after = _failing(made.motion, job.character, job.floor)
        except PoiseError as error:
            why = str(error)
            continue
        new = new_findings(left, after)
        if mender.name == "rate":  # all that depends on time is judged only now
            new = ()
        elif mender.name == "clean":  # where a joint flips, its speed is not judged
            flipped = {f.where for f in job.findings}
            new = tuple(f for f in new if f.name != "joint-speed" or f.where not in flipped)
        if new:
            why = f"it would bring something new: {new[0].sentence}"
        elif not _is_better(job.findings, after, mender.findings):
            why = next(iter(made.report["notes"]), "it does not help")
        else:
            return made, after, amount, ""
    return None, left, 0.0, why


def _parts(mender: Mender, findings: Sequence[Finding]) -> tuple[float, ...]:
    """Parts of a tool's edit to try; of a turn at first no more than it takes, since feet are far from its axis."""
    if mender.name in WHOLE:
        return AMOUNTS[:1]
    if mender.name == "spin":
        return max(1.0 - WELL_WITHIN * f.threshold / f.measure for f in findings), *AMOUNTS
    return AMOUNTS


def _is_better(wanted: Sequence[Finding], after: Sequence[Finding], names: tuple[str, ...]) -> bool:
    """True if findings of these names are fewer, or as many and smaller."""
    still = [f for f in after if f.name in names]

    def weight(findings: Sequence[Finding]) -> float:
        return sum(math.log(max(f.excess, 1.0)) if math.isfinite(f.excess) else f.measure for f in findings)

    return len(still) < len(wanted) or (len(still) == len(wanted) and weight(still) < 0.95 * weight(wanted))


def _seen(made: Edited, own: dict[str, list[int]]) -> dict[str, float]:
    changed = made.report["changed"]
    root = float(changed["root_position_max_m"] or 0.0)
    joints = {n: math.radians(a) for n, a in changed["joints_deg"].items()}
    names = made.motion.skeleton.names
    top = names[pelvis(made.motion.skeleton)]
    parts = {part: {names[j] for j in indices} for part, indices in own.items()}
    apart = {top}.union(*parts.values())
    return {
        **{part: max((joints.get(n, 0.0) for n in which), default=0.0) for part, which in parts.items()},
        "joint": max((a for n, a in joints.items() if n not in apart), default=0.0),
        "root": root,
        "root_turn": joints.get(top, 0.0),
    }


def _listed(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "name": f.name,
            "where": f.where,
            "measure": f.measure,
            "threshold": f.threshold,
            "frames": [list(s) for s in f.frames],
            "sentence": f.sentence,
        }
        for f in findings
    ]


def _step(
    mender: Mender, wanted: Sequence[Finding], made: Edited | None, after: Sequence[Finding], amount: float, why: str
) -> dict[str, Any]:
    changed = {} if made is None else made.report["changed"]
    return {
        "tool": mender.name,
        "for": sorted({f.name for f in wanted}),
        "done": made is not None,
        "amount": amount,
        "why_not": why,
        "left": sorted({f.name for f in after if f.name in mender.findings}),
        "joint_angle_max_deg": changed.get("joint_angle_max_deg", 0.0),
        "joint": changed.get("joint"),
        "root_position_max_m": changed.get("root_position_max_m", 0.0),
        "notes": [] if made is None else made.report["notes"],
    }


def _turned_most(steps: Sequence[dict[str, Any]]) -> str | None:
    done = [s for s in steps if s["done"] and s["joint"]]
    return max(done, key=lambda s: s["joint_angle_max_deg"])["joint"] if done else None


def _notes(before: Sequence[Finding], left: Sequence[Finding], steps: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    notes: list[str] = []
    if not before:
        return ("A check finds nothing that fails; warnings are left alone.",)
    for step in steps:
        what = ", ".join(step["for"])
        if not step["done"]:
            notes.append(f"{step['tool']} for {what}: left out, since {step['why_not'].rstrip('.')}.")
            continue
        parts = [f"joints up to {step['joint_angle_max_deg']:.1f}°"] * (step["joint_angle_max_deg"] > 0.05)
        parts += [f"root up to {100.0 * step['root_position_max_m']:.1f} cm"] * (step["root_position_max_m"] > 5e-4)
        part = "" if np.isclose(step["amount"], 1.0) else f" (amount {step['amount']:.2g})"
        notes.append(f"{step['tool']} for {what}{part}: {', '.join(parts) or 'poses stay'}.")
        notes += [note for note in step["notes"] if step["tool"] == "ballistic"]  # limbs that hurry
    names = sorted({f.name for f in left})
    notes.append(
        f"{len(before)} failing finding{'s' * (len(before) != 1)} before, {len(left)} after"
        + (f": {', '.join(names)}." if names else ".")
    )
    notes += [f"Left: {f.sentence}.{_cure(f)}" for f in left[:MOST_NAMED]]
    notes += [f"Left: {len(left) - MOST_NAMED} more; poise check lists all."] * (len(left) > MOST_NAMED)
    return tuple(notes)


def _cure(finding: Finding) -> str:
    """The smallest change that would mend it by hand, as a sentence."""
    by_hand = [cure.text for cure in finding.cures if "poise edit" not in cure.text]
    return f" By hand: {by_hand[0]}." if by_hand else ""


@dataclass(frozen=True)
class Cures:
    """Tries the cures that take long: `poise.check.finding.Trials`."""

    def swing(self, clip: Analysis, span: tuple[int, int]) -> tuple[float, float] | None:
        """Swing limbs against the spin of a flight: degrees off steady spin then, and degrees a limb turns; or None."""
        try:
            report = spin(clip.motion, clip.character, flights=[span], by="pose", verify=False).report
        except PoiseError:
            return None
        left, turn = report["after"]["flights"][0]["turn_off_steady_max_deg"], report["changed"]["joint_angle_max_deg"]
        return None if left is None or turn == 0.0 else (left, turn)

    def slower(self, clip: Analysis, factor: float) -> Analysis:
        """The clip played slower."""
        played = retime(clip.motion, clip.character, factor=factor, verify=False).motion
        return analyze(played, clip.character, floor=clip.floor)

    def repaired(self, clip: Analysis) -> tuple[float, float, float, float] | None:
        """Repair the whole clip: force left before and after, largest turn [degrees] and shift [m]; or None."""
        try:
            report = repair(
                clip.motion,
                clip.character,
                terrain=clip.terrain,
                gravity=clip.gravity,
                friction=clip.friction,
                verify=False,
            ).report
        except PoiseError:
            return None
        before, after = report["before"]["force_rms"], report["after"]
        if after["force_rms"] >= before:
            return None
        return before, after["force_rms"], after["joint_change_max_deg"], after["root_change_max_m"]
