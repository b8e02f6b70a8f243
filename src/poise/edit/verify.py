"""After an edit, its own check: what was wrong before, what is wrong now, and less of the edit where it did harm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poise.body.character import Character
from poise.check.clip import findings_of
from poise.check.finding import Finding
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.edit.report import Edited
from poise.edit.skin import TORN, skin_stretch

LESS = (0.5, 0.25)
"""Parts of an edit that are tried where all of it brings new findings [1]."""
WORSE = 1.1
"""A finding that was there before is new where it is this many times farther past its threshold [1]."""
MOST_SAID = 3
"""New findings that a note says."""


def verified(
    edited: Edited,
    motion: Motion,
    character: Character | None,
    again: Callable[[float], Edited] | None = None,
    *,
    floor: float | None = None,
    asked: Callable[[Finding], str] | None = None,
) -> Edited:
    """The edit with what a check says before and after it in its report, and a note where it brought new findings.

    `check` in the report has the failing findings `before` and `after`, those that are `new`, those that follow from
    what was `asked` for, and `skin_stretch`: how much longer an edge of the skin gets than it ever was.

    Args:
        edited: The edit.
        motion: What was edited.
        character: Its character; None fits one before and after, as `poise check` does.
        again: The same edit by another amount, 0 … 1, without a check; tried where this one brought new findings.
        floor: Height of the floor, where it was given [m].
        asked: Why a new finding is what the user asked for, and what avoids it; "" where it is not.
    """
    data = edited.report.data
    if edited.motion is motion:
        return edited
    try:
        before, after = (findings_of(m, character, floor=floor) for m in (motion, edited.motion))
    except PoiseError:  # a figure that nothing can be said of
        return edited
    new = new_findings(before, after)
    reasons = {} if asked is None else {f.name: asked(f) for f in new if asked(f)}
    wanted, new = (tuple(f for f in new if (f.name in reasons) is is_asked) for is_asked in (True, False))
    stretch = skin_stretch(motion, edited.motion, data["changed"].get("size", 1.0))
    data["check"] = {
        "before": _listed(before), "after": _listed(after), "new": _listed(new), "asked": _listed(wanted),
        "skin_stretch": stretch,
    }  # fmt: skip
    if data["edit"] != "retime":
        data["notes"] += [
            f"{f.sentence}. Cure that first: {f.cures[0].text}." for f in before if f.fails and f.name == "frame-rate"
        ]
    data["notes"] += list(reasons.values())
    if new:
        less = None if again is None else _least_harm(before, character, floor, again)
        data["notes"].append(_said(new, less))
    if stretch is not None and stretch > TORN:
        data["notes"].append(
            f"An edge of the skin gets longer by {100.0 * stretch:.0f} % of its length than it was anywhere in the "
            "clip: look at the result, or set a smaller --amount or a --budget."
        )
    return edited


def new_findings(before: Sequence[Finding], after: Sequence[Finding]) -> tuple[Finding, ...]:
    """Failing findings that were not there, not even as warnings, or not as bad."""
    was = {(f.name, f.where): f.excess for f in sorted(before, key=lambda f: f.fails)}
    failed = {(f.name, f.where) for f in before if f.fails}
    worst: dict[str, float] = {}  # flights and feet may be counted anew: of a kind, the worst is what counts
    for f in before:
        worst[f.name] = max(f.excess, worst.get(f.name, 0.0))

    def is_new(f: Finding) -> bool:
        if f.name == "frame-rate":  # it was there, and what hid it is gone
            return False
        key = f.name, f.where
        known = was.get(key) if key in failed or f.name == "glitch" else worst.get(f.name)
        return known is None or f.excess > WORSE * known

    return tuple(f for f in after if f.fails and is_new(f))


def _least_harm(
    before: Sequence[Finding], character: Character | None, floor: float | None, again: Callable[[float], Edited]
) -> float | None:
    for amount in LESS:
        try:
            if not new_findings(before, findings_of(again(amount).motion, character, floor=floor)):
                return amount
        except PoiseError:
            continue
    return None


def _listed(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {"name": f.name, "where": f.where, "measure": f.measure, "sentence": f.sentence} for f in findings if f.fails
    ]


def _said(new: Sequence[Finding], less: float | None) -> str:
    words = "; ".join(f.sentence for f in new[:MOST_SAID])
    more = f" (and {len(new) - MOST_SAID} more)" if len(new) > MOST_SAID else ""
    offer = "No part of the edit that was tried avoids it." if less is None else f"--amount {less:g} avoids it."
    return f"The check finds something new in the result: {words}{more}. {offer}"
