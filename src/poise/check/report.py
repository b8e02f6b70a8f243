"""What a check says of clips: as plain values, as JSON (schema poise.check/1), as JUnit XML.

Nothing here needs the physics, so it loads at once.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from poise.check.finding import FLAWS, Finding, Trials, frame_words
from poise.check.library import Facts, Group, Samples
from poise.check.profile import Profile
from poise.io.files import json_value

if TYPE_CHECKING:
    from poise.analysis.analyze import Analysis

SCHEMA = "poise.check/1"
IN_PART = 0.1
"""A clip in which nothing fails is "in part", not "pass", if a larger share of it is not judged [1]."""
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, escaped or not."""


@dataclass(frozen=True)
class Pictures:
    """Of a clip, for the page: figures as inline SVG, plots as JSON that its script draws."""

    strip: str
    plots: str


Draw = Callable[["Analysis", tuple[Finding, ...]], Pictures]
"""Draws a clip and marks what its findings name: `poise.show.check_page.pictures_of`."""


@dataclass(frozen=True)
class Wanted:
    """What to make besides the findings, and whose clips they are.

    Attributes:
        pictures: Draws them; None leaves them out.
        samples: Keep what statistics are made of.
        character: File of the character that all clips are of; None fits one to each.
        floor: Height of the floor [m]; found where not given.
        is_floor_shared: The floor is that of the other clips of the file, which this one may not stand on.
        terrain: Ground, as `poise simulate --terrain` has it; flat where not given.
        trials: Tries the cures that take long; None only names them.
    """

    pictures: Draw | None = None
    samples: bool = False
    character: Path | None = None
    floor: float | None = None
    is_floor_shared: bool = False
    terrain: str | None = None
    trials: Trials | None = None


class Level(NamedTuple):
    """The floor that was found in a clip.

    Attributes:
        height: Where it lies [m].
        scale: Size of the figure, 1 for a person.
        is_sure: Nothing speaks against it.
    """

    height: float
    scale: float
    is_sure: bool


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
        unjudged: What was not judged at all, and why, in sentences.
        seconds: Time the check took [s].
        facts: What a library is compared by.
        samples: What statistics are made of, where wanted.
        pictures: Drawn, where wanted.
        level: The floor that was found; None where it was said or carried, or nothing was read.
        folder: The folder that holds all files that are checked together; names start below it.
    """

    file: str
    clip: str
    verdict: str
    findings: tuple[Finding, ...] = ()
    measures: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    notes: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Facts | None = None
    samples: Samples | None = None
    pictures: Pictures | None = None
    level: Level | None = None
    folder: str = ""

    @property
    def name(self) -> str:
        """The file as seen from the folder, and the clip in it where it holds several."""
        file = os.path.relpath(self.file, self.folder) if self.folder else self.file
        return f"{file} [{self.clip}]" if self.clip else file

    @property
    def unsupported(self) -> float:
        """Share of the frames in which nothing carries the body, though it does not fly: they are not judged [1]."""
        spans = [span for f in self.findings if f.name == "contacts" for span in f.frames]
        return sum(last - first + 1 for first, last in spans) / max(self.measures.get("frames", 0), 1)

    @property
    def label(self) -> str:
        """What a person reads: the verdict, or "in part" where a clip passes but more than `IN_PART` is not judged."""
        return "in part" if self.verdict == "pass" and self.unsupported > IN_PART else self.verdict

    def as_json(self) -> dict[str, Any]:
        """The clip's entry in poise.check/1."""
        entry: dict[str, Any] = {"file": self.file, "clip": self.clip or None, "verdict": self.verdict}
        if self.verdict == "unreadable":
            return entry | {"error": self.error, "findings": []}
        found = {"unjudged": list(self.unjudged), "unsupported": self.unsupported}
        found |= {"findings": [json_value(f.as_json()) for f in self.findings]}
        return entry | json_value(self.measures) | found


def unreadable(path: Path, reason: str) -> ClipReport:
    """The report of a file that could not be read."""
    return ClipReport(str(path), "", "unreadable", error=" ".join(reason.split()))


def as_json(reports: Sequence[ClipReport], groups: Sequence[Group], profile: Profile) -> dict[str, Any]:
    """All clips, the profile they were held against, and the library they make."""
    limits = {
        name: {
            "min": limit.least if math.isfinite(limit.least) else None,
            "max": limit.most if math.isfinite(limit.most) else None,
            "fail": limit.fails,
            "check": limit.is_checked,
        }
        for name, limit in profile.limits.items()
    }
    return {
        "schema": SCHEMA,
        "profile": {"name": profile.name, "limits": limits},
        "clips": [r.as_json() for r in reports if r.verdict != "skipped"],
        "without_motion": [r.file for r in reports if r.verdict == "skipped"],
        "library": [
            {
                "clips": list(g.clips),
                "strays": [
                    {
                        "clip": s.clip,
                        "quantity": s.quantity,
                        "value": s.value,
                        "usual": s.usual,
                        "low": s.low,
                        "high": s.high,
                    }
                    for s in g.strays
                ],
            }
            for g in groups
        ],
    }


def junit_xml(reports: Sequence[ClipReport], profile: Profile) -> bytes:
    """The report as UTF-8 XML.

    A flaw that fails is a `failure`; a warning stands in the case's `system-out`; an unreadable clip is an
    `error`. Line ends and names are escaped; what XML cannot hold becomes "?".
    """
    root = ElementTree.Element("testsuites", name="poise check")
    totals = [0, 0, 0]
    for report in reports:
        suite = _suite(report, profile)
        for k, key in enumerate(("tests", "failures", "errors")):
            totals[k] += int(suite.get(key, "0"))
        root.append(suite)
    for key, total in zip(("tests", "failures", "errors"), totals):
        root.set(key, str(total))
    root.set("time", f"{sum(r.seconds for r in reports):.3f}")
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def _suite(report: ClipReport, profile: Profile) -> ElementTree.Element:
    name = _clean(report.name)
    checked = [flaw for flaw in FLAWS if profile[flaw].is_checked]
    if report.verdict == "unreadable":
        suite = _element("testsuite", name=name, tests="1", failures="0", errors="1", skipped="0", time="0.000")
        case = _element("testcase", name="readable", classname=name, time="0.000")
        case.append(_element("error", _clean(report.error), message=_clean(report.error), type="unreadable"))
        suite.append(case)
        return suite
    failing = {f.name for f in report.findings if f.fails}
    suite = _element(
        "testsuite",
        name=name,
        tests=str(len(checked)),
        failures=str(len(failing)),
        errors="0",
        skipped="0",
        time=f"{report.seconds:.3f}",
    )
    for flaw in checked:
        found = [f for f in report.findings if f.name == flaw]
        case = _element("testcase", name=flaw, classname=name, time="0.000")
        if found:
            text = _clean("\n".join(_lines(f) for f in found))
            if flaw in failing:
                case.append(_element("failure", text, message=_clean(found[0].sentence), type=flaw))
            else:
                case.append(_element("system-out", text))
        suite.append(case)
    return suite


def _lines(finding: Finding) -> str:
    frames = f" (frames {frame_words(finding.frames)})" if finding.frames else ""
    return "\n".join(
        [
            f"{finding.sentence}{frames}",
            *(f"  {'or' if k else 'cure'}: {c.text}" for k, c in enumerate(finding.cures)),
            *(f"  tried in vain: {t}" for t in finding.tried),
        ]
    )


def _element(tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, attributes)
    element.text = text
    return element


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
