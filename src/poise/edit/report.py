"""What an edit changed, where and how much, and whether that stays within its budget.

After an edit its own check runs: what was wrong before and after, and whether the skin tears. Where an edit does harm,
less of it is offered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from poise.body.character import Character, fit
from poise.check.clip import figure_on, findings_of
from poise.check.finding import Finding
from poise.check.report import Wanted
from poise.core import rotations
from poise.core.errors import BudgetExceeded, PoiseError
from poise.core.motion import Motion
from poise.core.typing import Array, Index
from poise.edit.budget import Budget
from poise.io.files import json_value, write_json
from poise.phases.points import pelvis

SAME_ANGLE, SAME_LENGTH = 1e-7, 1e-7
"""Below this a frame counts as unchanged [rad], [m]; quaternions know an angle to about 1e-8 rad."""


@dataclass(frozen=True)
class Changes:
    """How one motion differs from another of the same joints and frames.

    Attributes:
        angles: Turn of each joint against what it was, in its parent's frame [rad], shape (F, J).
        root_moved: How far the root moved [m], shape (F,).
        names: The joints.
        root: The joint that carries the body.
    """

    angles: Array
    root_moved: Array
    names: tuple[str, ...]
    root: int

    @classmethod
    def between(cls, before: Motion, after: Motion, root: int = 0) -> Changes:
        """What `after` has that `before` had not."""
        moved = np.linalg.norm(after.world[0][:, root] - before.world[0][:, root], axis=1)
        return cls(rotations.angle_between(before.rotations, after.rotations), moved, before.skeleton.names, root)

    @property
    def frames(self) -> Index:
        """Frames in which anything changed."""
        return np.flatnonzero((self.angles > SAME_ANGLE).any(axis=1) | (self.root_moved > SAME_LENGTH))

    def summary(self) -> dict[str, Any]:
        """As the report has it; angles in degrees."""
        frame, joint = (int(x) for x in np.unravel_index(np.argmax(self.angles), self.angles.shape))
        by_joint = np.degrees(self.angles.max(axis=0))
        is_any = bool(self.angles[frame, joint] > SAME_ANGLE)
        frames = self.frames
        return {
            "joint_angle_max_deg": float(by_joint.max()) if is_any else 0.0,
            "root_position_max_m": _significant(float(self.root_moved.max()), SAME_LENGTH),
            "frames": len(frames),
            "joint": self.names[joint] if is_any else None,
            "joint_frame": frame if is_any else None,
            "root_frame": int(np.argmax(self.root_moved)) if self.root_moved.max() > SAME_LENGTH else None,
            "ranges": ranges(frames),
            "joints_deg": {n: float(a) for n, a in zip(self.names, by_joint) if a > math.degrees(SAME_ANGLE)},
        }

    def seen(self, without: Collection[int] = ()) -> dict[str, float]:
        """The largest changes by the budget's names [rad, m]; "joint" leaves out the root, and joints of `without`."""
        others = np.delete(self.angles, [self.root, *without], axis=1)
        return {
            "joint": float(others.max(initial=0.0)),
            "root": float(self.root_moved.max()),
            "root_turn": float(self.angles[:, self.root].max()),
        }


@dataclass(frozen=True)
class EditReport:
    """The report of one edit, in the fields of `poise.edit/1`.

    Example:
        >>> report = poise.edit.scale(motion, 1.5, verify=False).report
        >>> assert report["edit"] == "scale"

    Attributes:
        data: What `--report` writes.
        motions: Makes the clips at the points of `data["curve"]`, where an edit gives a curve.
    """

    data: dict[str, Any] = field(default_factory=dict)
    motions: Callable[[], tuple[Motion, ...]] = tuple

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as JSON, whole or not at all."""
        write_json(path, self.data)


class Edited(NamedTuple):
    """What an edit gives: the new motion, and what was done to it.

    Example:
        >>> edited = poise.edit.scale(motion, 1.5, verify=False)
        >>> larger, report = edited.motion, edited.report
    """

    motion: Motion
    report: EditReport


def report_of(
    edit: str,
    motion: Motion,
    result: Motion,
    changes: Changes,
    *,
    settings: dict[str, Any],
    before: dict[str, Any],
    after: dict[str, Any],
    kept: dict[str, Any],
    budget: Budget | None,
    amount: float,
    notes: tuple[str, ...] = (),
    character: Character | None = None,
) -> EditReport:
    """The report of an edit that was made.

    Raises:
        BudgetExceeded: if it changed more than the budget allows.
    """
    source = motion.source
    data: dict[str, Any] = {
        "schema": "poise.edit/1",
        "edit": edit,
        "source": {
            "file": source.path if source else None,
            "frames": motion.frame_count,
            "fps": motion.fps,
            "joints": motion.skeleton.joint_count,
        },
        "settings": settings,
        "frames": result.frame_count,
        "duration_s": result.duration,
        "changed": changes.summary(),
        "before": before,
        "after": after,
        "kept": kept,
        "notes": list(notes),
    }
    report = EditReport(json_value(data))
    if budget is not None:
        _require(budget, changes, amount, report, motion, character)
    return report


def _require(
    budget: Budget, changes: Changes, amount: float, report: EditReport, motion: Motion, character: Character | None
) -> None:
    own = budget.joints_of(motion.skeleton, character or fit(motion)) if budget.parts else {}
    seen, limits = changes.seen({j for joints in own.values() for j in joints}), budget.limits
    if not math.isfinite(limits["root_turn"]):
        limits["root_turn"] = limits["joint"]
    for name, joints in own.items():
        seen[name], limits[name] = float(changes.angles[:, joints].max()), budget.parts[name]
    over = {name: seen[name] / max(limits[name], 1e-12) for name in seen if seen[name] > limits[name] * (1.0 + 1e-9)}
    report.data["budget"] = {name: value for name, value in json_value(limits).items() if value is not None}
    if not over:
        return
    worst = max(over, key=lambda name: over[name])
    keeps = rounded_down(amount / over[worst])
    if worst == "root":
        frame = int(np.argmax(changes.root_moved))
        what = f"moves the root {100 * seen[worst]:.3g} cm in frame {frame}"
        allowed = f"{100 * limits[worst]:.3g} cm"
    else:
        taken = {j for joints in own.values() for j in joints} | {changes.root}
        others = [j for j in range(changes.angles.shape[1]) if j not in taken]
        among = [changes.root] if worst == "root_turn" else own.get(worst, others)
        frame, k = (
            int(x) for x in np.unravel_index(np.argmax(changes.angles[:, among]), (len(changes.angles), len(among)))
        )
        what = f"turns {changes.names[among[k]]!r} {math.degrees(seen[worst]):.3g}° in frame {frame}"
        allowed = f"{math.degrees(limits[worst]):.3g}°"
    raise BudgetExceeded(
        f"The edit {what}; the budget allows {allowed}.",
        seen=seen,
        allowed={k: v for k, v in limits.items() if math.isfinite(v)},
        amount=keeps,
        report=report,
    )


def rounded_down(amount: float, digits: int = 3) -> float:
    """To so many digits; zero stays zero."""
    if not amount > 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(amount)) - digits + 1)
    return round(math.floor(amount / unit * (1.0 + 1e-12)) * unit, 12)


def ranges(frames: Index) -> list[list[int]]:
    """Runs of frame numbers as [first, last]."""
    if not len(frames):
        return []
    cuts = np.flatnonzero(np.diff(frames) > 1)
    return [[int(a), int(b)] for a, b in zip(frames[np.r_[0, cuts + 1]], frames[np.r_[cuts, len(frames) - 1]])]


def _significant(value: float, least: float) -> float:
    return value if value > least else 0.0


LESS = (0.5, 0.25)
"""Parts of an edit that are tried where all of it brings new findings [1]."""
WORSE = 1.1
"""A finding that was there before is new where it is this many times farther past its threshold [1]."""
BESIDE = 1.5
"""A glitch within this many frames of an old one counts as the old one: frames between keys blend with it."""
MOST_SAID = 3
"""New findings that a note says."""


def verified(
    edited: Edited,
    motion: Motion,
    character: Character | None,
    again: Callable[[float], Edited] | None = None,
    *,
    floor: float | None = None,
    terrain: str | None = None,
    asked: Callable[[Finding], str] | None = None,
    moments: Array | None = None,
) -> Edited:
    """The edit with what a check says before and after it in its report, and a note where it brought new findings.

    `check` in the report has the failing findings `before` and `after`, those that are `new`, those that follow from
    what was `asked` for, and `skin_stretch`: how much longer an edge of the skin gets than it ever was. Both are judged
    with the same figure on the same floor, so that what an edit leaves alone is not found anew.

    Args:
        edited: The edit.
        motion: What was edited.
        character: Its character; fitted to the source if not given, and scaled where the edit makes it larger.
        again: The same edit by another amount, 0 … 1, without a check; tried where this one brought new findings.
        floor: Height of the floor, where it was given [m].
        terrain: The ground, where it was given, as `Terrain.parse` reads it.
        asked: Why a new finding is what the user asked for, and what avoids it; "" where it is not.
        moments: Which frame of the source each new frame shows [frames], shape (T,), where an edit moves poses in time.
    """
    data = edited.report.data
    if edited.motion is motion:
        return edited

    def find(clip: Motion, figure: Character | None = None) -> tuple[Finding, ...]:
        return findings_of(clip, figure or character, floor=floor, terrain=terrain)

    size = data["changed"].get("size", 1.0)
    try:
        if character is None:
            character = figure_on(motion, Wanted(floor=floor, terrain=terrain))
        larger = character if character is None or size == 1.0 else character.scaled(size)
        before, after = find(motion), find(edited.motion, larger)
    except PoiseError:  # a figure that nothing can be said of
        return edited
    new = new_findings(before, after, moments)
    if moments is not None:
        new = tuple(f for f in new if not turns_as_far(f, motion, edited.motion, moments))
    reasons = {} if asked is None else {f.name: asked(f) for f in new if asked(f)}
    wanted, new = (tuple(f for f in new if (f.name in reasons) is is_asked) for is_asked in (True, False))
    stretch = skin_stretch(motion, edited.motion, size)
    data["check"] = {
        "before": _listed(before),
        "after": _listed(after),
        "new": _listed(new),
        "asked": _listed(wanted),
        "skin_stretch": stretch,
    }
    if data["edit"] != "retime":
        data["notes"] += [
            f"{f.sentence}. Cure that first: {f.cures[0].text}." for f in before if f.fails and f.name == "frame-rate"
        ]
    data["notes"] += list(reasons.values())
    if new:
        less = None if again is None else _least_harm(before, find, again)
        data["notes"].append(_said(new, less))
    if stretch is not None and stretch > TORN:
        data["notes"].append(
            f"An edge of the skin gets {100.0 * stretch:.0f} % longer than it was anywhere in the "
            "clip: look at the result, or set a smaller --amount or a --budget."
        )
    return edited


def new_findings(
    before: Sequence[Finding], after: Sequence[Finding], moments: Array | None = None
) -> tuple[Finding, ...]:
    """Failing findings that were not there, not even as warnings, or not as bad.

    A glitch at a moment that had one is that one, whatever joint it is named after: `moments` as in `verified`; frames
    stay where they are if not given.
    """
    glitches = [span for f in before if f.name == "glitch" for span in f.frames]
    was = {(f.name, f.where): f.excess for f in sorted(before, key=lambda f: f.fails)}
    failed = {(f.name, f.where) for f in before if f.fails}
    worst: dict[str, float] = {}  # flights and feet may be counted anew: of a kind, the worst is what counts
    for f in before:
        worst[f.name] = max(f.excess, worst.get(f.name, 0.0))

    def is_new(f: Finding) -> bool:
        if f.name == "frame-rate":  # it was there, and what hid it is gone
            return False
        if f.name == "glitch" and all(_was_there(s, glitches, moments) for s in f.frames):
            return False
        key = f.name, f.where
        known = was.get(key) if key in failed or f.name == "glitch" else worst.get(f.name)
        return known is None or f.excess > WORSE * known

    return tuple(f for f in after if f.fails and is_new(f))


def _was_there(span: tuple[int, int], known: Sequence[tuple[int, int]], moments: Array | None) -> bool:
    first, last = span if moments is None else (moments[span[0]], moments[span[1]])
    first, last = first - BESIDE, last + BESIDE
    return any(a <= last and b >= first for a, b in known)


def turns_as_far(
    finding: Finding, source: Motion, result: Motion, moments: Array | None = None, slack: float = 1.0
) -> bool:
    """Whether a joint that is too fast in the result turns about as far in a frame of the source, too.

    It may turn `slack` times as far [1]. Only frames of the source that the result shows then count, see `moments` of
    `verified`; all of them if these are not given.
    """
    if finding.name not in ("glitch", "joint-speed") or finding.where not in source.skeleton.names:
        return False
    joint = source.skeleton.names.index(finding.where)
    was, now = (rotations.angle_between(m.rotations[1:, joint], m.rotations[:-1, joint]) for m in (source, result))
    for first, last in finding.frames:
        a, b = 0, len(was)
        if moments is not None:
            a, b = max(0, math.floor(moments[first] - BESIDE)), math.ceil(moments[last] + BESIDE)
        if now[max(0, first - 1) : last + 1].max() > slack * was[a : b + 1].max(initial=0.0) + 1e-9:
            return False
    return bool(finding.frames)


def _least_harm(
    before: Sequence[Finding], find: Callable[[Motion], Sequence[Finding]], again: Callable[[float], Edited]
) -> float | None:
    for amount in LESS:
        try:
            if not new_findings(before, find(again(amount).motion)):
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


HURRIED = 2.0
"""Limbs that speed up this many times as hard as they ever did look driven: time 1.4 times as fast does it [1]."""
HARD = 200.0
"""Below this nobody calls a limb hasty, for a leg of 0.82 m: kicks and leaps of actors reach it [m/s²]."""
BRIEFLY = 0.1
"""Accelerations are rms over this time, so that the noise of one frame does not count [s]."""


def hurried(
    motion: Motion, result: Motion, moments: Array, leg_scale: float = 1.0
) -> tuple[str, dict[str, Any] | None]:
    """What to say of limbs that a shorter time makes too hasty, and its numbers; "" and None where they are not.

    Accelerations are those of joints against the pelvis. Where time runs faster they are compared with what 99 % of
    the source's frames stay below: poses put before a clip are no motion.

    Args:
        motion: F frames, the source.
        result: T frames, edited.
        moments: Time in the source that each new frame shows [s], shape (T,).
        leg_scale: Leg over that of a person [1].
    """
    old, new = _limb_acceleration(motion), _limb_acceleration(result)
    faster = np.gradient(moments, result.times) > 1.01 if result.frame_count > 1 else np.zeros(1, dtype=bool)
    if not len(old) or not len(new) or not faster[1:-1].any():
        return "", None
    before = float(np.percentile(old.max(axis=1), 99.0))
    there = np.where(faster[1:-1, None], new, 0.0)
    frame, joint = (int(x) for x in np.unravel_index(np.argmax(there), there.shape))
    after = float(there[frame, joint])
    if after < HURRIED * before or after < HARD * leg_scale:
        return "", None
    name = result.skeleton.names[joint]
    numbers = {"joint": name, "frame": frame + 1, "before_m_s2": before, "after_m_s2": after}
    return (
        f"Limbs hurry: in less time, {name} speeds up by {after:.0f} m/s² against the pelvis around frame {frame + 1}; "
        f"the clip reached {before:.0f}."
    ), numbers


def _limb_acceleration(motion: Motion) -> Array:
    """Acceleration of each joint against the pelvis, rms over `BRIEFLY` around it [m/s²], shape (F - 2, J)."""
    places, dt = motion.world[0], motion.dt
    apart = places - places[:, [pelvis(motion.skeleton)]]
    squares = (np.diff(apart, n=2, axis=0) ** 2).sum(axis=-1) / dt**4
    width = max(1, round(BRIEFLY / dt))
    if len(squares) < width:
        return squares[:0]
    sums = np.cumsum(np.pad(squares, ((1 + width // 2, width - 1 - width // 2), (0, 0)), mode="edge"), axis=0)
    return np.sqrt(np.maximum(sums[width:] - sums[:-width], 0.0) / width)


TORN = 0.25
"""Skin counts as torn when an edge grows by more than this share of its longest length before [1]."""
MOST_EDGES, MOST_FRAMES = 8000, 80
"""Edges and frames that are measured at most, evenly spread."""
SHORT = 0.3
"""An edge shorter than this part of the median edge counts as that long: slivers stretch at every pose [1]."""


def skin_stretch(before: Motion, after: Motion, size: float = 1.0) -> float | None:
    """Largest growth of a skin edge relative to its longest length before [1]; None without a skin.

    Each edge is compared with its own longest state before or at rest, L(e) = max(l₀(e), max_t l(e, t)), so that
    stretch a clip already has is not a tear: max_e (max_t l'(e, t) / size − L(e)) / L(e).

    Args:
        before, after: The same file's motion before and after an edit; frames may differ in number.
        size: How many times as large the figure was made [1].
    """
    old, new = _longest(before), _longest(after)
    if old is None or new is None:
        return None
    (was, rest), (now, _) = old, new
    was = np.maximum(was, rest)
    return float(((now / size - was) / np.maximum(was, SHORT * np.median(was))).max(initial=0.0))


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
