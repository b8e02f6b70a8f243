"""What a check says of one clip, as plain values. Nothing here needs the physics, so it loads at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from poise.check.finding import Finding
from poise.check.library import Facts
from poise.check.samples import Samples


@dataclass(frozen=True)
class Pictures:
    """Inline SVG: figures, one path per flight, a map of the support ("" where nothing is on the ground)."""

    strip: str
    arcs: tuple[str, ...]
    support: str


@dataclass(frozen=True)
class Wanted:
    """What to make besides the findings, and whose clips they are.

    Attributes:
        pictures: Draw them.
        samples: Keep what statistics are made of.
        character: File of the character that all clips are of; None fits one to each.
    """

    pictures: bool = False
    samples: bool = False
    character: Path | None = None


@dataclass(frozen=True)
class ClipReport:
    """What one clip came out as. It holds plain values only, so that it travels between processes.

    Attributes:
        file: The file as named.
        clip: Which of its clips, or "" where it holds one.
        verdict: "pass", "fail", "unreadable", or "skipped" for a file with a skeleton and no motion.
        findings: What is wrong, failures first, the farthest past its threshold first.
        measures: The fields of poise.check/1 besides findings.
        error: Why it is unreadable.
        notes: What its reader found worth knowing.
        seconds: Time the check took [s].
        facts: What a library is compared by.
        samples: What statistics are made of, where wanted.
        pictures: Drawn, where wanted.
    """

    file: str
    clip: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    measures: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Facts | None = None
    samples: Samples | None = None
    pictures: Pictures | None = None

    @property
    def name(self) -> str:
        """The file, and the clip in it where it holds several."""
        return f"{self.file} [{self.clip}]" if self.clip else self.file

    def as_json(self) -> dict[str, Any]:
        """The clip's entry in poise.check/1."""
        entry: dict[str, Any] = {"file": self.file, "clip": self.clip or None, "verdict": self.verdict}
        if self.verdict == "unreadable":
            return entry | {"error": self.error, "findings": []}
        return entry | _finite(self.measures) | {"findings": [_finite(f.as_json()) for f in self.findings]}


def unreadable(path: Path, reason: str) -> ClipReport:
    """The report of a file that could not be read."""
    return ClipReport(str(path), "", "unreadable", error=" ".join(reason.split()))


def _finite(value: Any) -> Any:
    """The value with what JSON cannot hold as null."""
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
