"""After an edit, its own check: what is wrong before and after, whether a skin tears, less of it where it harms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from poise.body.character import Character
from poise.check.clip import findings_of
from poise.check.finding import Finding
from poise.core import rotations
from poise.core.errors import PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.edit.report import Edited

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


TORN = 0.25
"""Skin that gets longer by more than this part of its length than it ever was, is torn [1]."""
MOST_EDGES, MOST_FRAMES = 8000, 80
"""Edges and frames that are measured at most, evenly spread."""
SHORT = 0.3
"""An edge shorter than this part of the median edge counts as that long: slivers stretch at every pose [1]."""


def skin_stretch(before: Motion, after: Motion, size: float = 1.0) -> float | None:
    """How much longer an edge of the skin gets than before, as a part of its length at rest [1]; None without a skin.

    Each edge is compared with its own longest state before, so that stretch a clip already has is no tear: at most
    max_e (max_t l'(e, t) / size − max_t l(e, t)) / l₀(e).

    Args:
        before, after: The same file's motion before and after an edit; frames may differ in number.
        size: How many times as large the figure was made [1].
    """
    old, new = _longest(before), _longest(after)
    if old is None or new is None:
        return None
    (was, rest), (now, _) = old, new
    rest = np.maximum(rest, SHORT * np.median(rest))
    return float(((now / size - was) / rest).max(initial=0.0))


def _longest(motion: Motion) -> tuple[Array, Array] | None:
    """Each edge's greatest length over the clip, and its length at rest [m], shape (E,)."""
    document = motion.source.document if motion.source else None
    meshes = getattr(document, "meshes", ())
    if not meshes:
        return None
    scales = document.joint_scales  # pyright: ignore[reportOptionalMemberAccess]  # what has meshes has scales
    frames = np.unique(np.linspace(0, motion.frame_count - 1, MOST_FRAMES).astype(np.int64))
    share = MOST_EDGES / max(sum(3 * len(m.indices) for m in meshes), 1)
    positions, turned = (a[frames] for a in motion.world)
    rest_places, rest_turns = (a[None] for a in motion.skeleton.rest)
    most, rest = [], []
    for mesh in meshes:
        edges = _edges(mesh.indices, mesh.positions, share)
        binds = mesh.inverse_binds.copy()
        binds[:, :3] *= scales[:, None, None]
        used, edges = np.unique(edges, return_inverse=True)
        edges = edges.reshape(-1, 2)
        corners = np.c_[mesh.positions[used], np.ones(len(used))]
        joints, weights = mesh.joints[used], mesh.weights[used].astype(np.float64)
        local = np.einsum("vnij,vj->vni", binds[joints][:, :, :3], corners)
        for places, turns, out in ((positions, turned, most), (rest_places, rest_turns, rest)):
            lengths = np.zeros(len(edges))
            for k in range(len(places)):
                carried = places[k][joints] + rotations.rotate(turns[k][joints], local)
                posed = (weights[..., None] * carried).sum(axis=1)
                lengths = np.maximum(lengths, np.linalg.norm(posed[edges[:, 0]] - posed[edges[:, 1]], axis=1))
            out.append(lengths)
    return np.concatenate(most), np.concatenate(rest)


def _edges(triangles: Index, positions: Array, share: float) -> Index:
    """Edges of some triangles, each once, shape (E, 2)."""
    step = max(1, round(1.0 / max(share, 1e-9))) if share < 1.0 else 1
    picked = triangles[::step]
    edges = np.sort(np.concatenate([picked[:, [0, 1]], picked[:, [1, 2]], picked[:, [2, 0]]]), axis=1)
    return np.unique(edges[(positions[edges[:, 0]] != positions[edges[:, 1]]).any(axis=1)], axis=0)
