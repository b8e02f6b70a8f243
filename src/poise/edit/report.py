"""What an edit changed, where and how much; and the budget that it keeps or is refused by."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from poise.core import rotations
from poise.core.errors import BudgetExceeded, InvalidValue
from poise.core.motion import Motion
from poise.core.typing import Array, Index

SAME_ANGLE, SAME_LENGTH = 1e-7, 1e-7
"""Below this a frame counts as unchanged [rad], [m]; quaternions know an angle to about 1e-8 rad."""

_LENGTHS = {"m": 1.0, "dm": 0.1, "cm": 0.01, "mm": 0.001}


@dataclass(frozen=True)
class Budget:
    """What an edit may change at most.

    Attributes:
        joint: How far any joint may turn, the root among them unless `root_turn` says otherwise [rad].
        root: How far the root may move [m].
        root_turn: How far the root may turn [rad].
    """

    joint: float = math.inf
    root: float = math.inf
    root_turn: float = math.inf

    def __post_init__(self) -> None:
        for name, value in self.limits.items():
            if math.isnan(value) or value < 0.0:
                raise InvalidValue(f"The budget for {name} is {value}; give zero or more.")

    @property
    def limits(self) -> dict[str, float]:
        """By name, [rad] and [m]."""
        return {"joint": self.joint, "root": self.root, "root_turn": self.root_turn}

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget as a user types it: "joint 3deg, root 2cm"; "root 5deg" is for the root's turn.

        Raises:
            InvalidValue: naming the part that cannot be read.
        """
        found: dict[str, float] = {}
        for part in (p.strip() for p in text.split(",")):
            match = re.fullmatch(r"(joint|root)\s+([0-9.]+(?:e-?\d+)?)\s*(deg|°|rad|m|dm|cm|mm)", part, re.IGNORECASE)
            try:
                number = float(match[2]) if match else math.nan
            except ValueError:
                number = math.nan
            if match is None or math.isnan(number):
                raise InvalidValue(f"Budget {part!r} cannot be read. Write it as 'joint 3deg, root 2cm'.")
            name, unit = match[1].lower(), match[3].lower()
            if unit in _LENGTHS:
                if name == "joint":
                    raise InvalidValue(f"Budget {part!r}: joints turn; give an angle, such as 'joint 3deg'.")
                found["root"] = number * _LENGTHS[unit]
            else:
                angle = number if unit == "rad" else math.radians(number)
                found["joint" if name == "joint" else "root_turn"] = angle
        return cls(**found)


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

    def seen(self) -> dict[str, float]:
        """The largest changes by the budget's names [rad, m]; "joint" leaves the root out."""
        others = np.delete(self.angles, self.root, axis=1)
        return {
            "joint": float(others.max(initial=0.0)),
            "root": float(self.root_moved.max()),
            "root_turn": float(self.angles[:, self.root].max()),
        }


@dataclass(frozen=True)
class EditReport:
    """The report of one edit, in the fields of `poise.edit/1`.

    Attributes:
        data: What `--report` writes.
    """

    data: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    def save(self, path: str | PathLike[str]) -> None:
        """Write it as JSON, whole or not at all."""
        from poise.io.files import write_json

        write_json(path, self.data)


class Edited(NamedTuple):
    """What an edit gives: the new motion, and what was done to it."""

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
    report = EditReport(plain(data))
    if budget is not None:
        _require(budget, changes, amount, report)
    return report


def _require(budget: Budget, changes: Changes, amount: float, report: EditReport) -> None:
    seen, limits = changes.seen(), budget.limits
    if not math.isfinite(limits["root_turn"]):
        limits["root_turn"] = limits["joint"]
    over = {name: seen[name] / max(limits[name], 1e-12) for name in seen if seen[name] > limits[name] * (1.0 + 1e-9)}
    report.data["budget"] = {name: value for name, value in plain(limits).items() if value is not None}
    if not over:
        return
    worst = max(over, key=lambda name: over[name])
    keeps = _rounded_down(amount / over[worst])
    if worst == "root":
        frame = int(np.argmax(changes.root_moved))
        what = f"moves the root {100 * seen[worst]:.3g} cm in frame {frame}"
        allowed = f"{100 * limits[worst]:.3g} cm"
    else:
        angles = (
            changes.angles
            if worst == "root_turn"
            else np.where(np.arange(changes.angles.shape[1]) == changes.root, 0.0, changes.angles)
        )
        joint = changes.root if worst == "root_turn" else int(np.argmax(angles.max(axis=0)))
        frame = int(np.argmax(angles[:, joint]))
        what = f"turns {changes.names[joint]!r} {math.degrees(seen[worst]):.3g}° in frame {frame}"
        allowed = f"{math.degrees(limits[worst]):.3g}°"
    raise BudgetExceeded(
        f"The edit {what}; the budget allows {allowed}.",
        seen=seen,
        allowed={k: v for k, v in limits.items() if math.isfinite(v)},
        amount=keeps,
        report=report,
    )


def _rounded_down(amount: float) -> float:
    """To three digits; zero stays zero."""
    if not amount > 0.0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(amount)) - 2)
    return round(math.floor(amount / unit * (1.0 + 1e-12)) * unit, 12)


def ranges(frames: Index) -> list[list[int]]:
    """Runs of frame numbers as [first, last]."""
    if not len(frames):
        return []
    cuts = np.flatnonzero(np.diff(frames) > 1)
    return [[int(a), int(b)] for a, b in zip(frames[np.r_[0, cuts + 1]], frames[np.r_[cuts, len(frames) - 1]])]


def plain(value: Any) -> Any:
    """The value as JSON has it: lists for arrays, null for what is not finite."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _significant(value: float, least: float) -> float:
    return value if value > least else 0.0
