"""A JUnit report: one suite a clip, one case a flaw, as build servers read it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from poise.check.finding import FLAWS, Finding
from poise.check.profile import Profile
from poise.check.report import ClipReport
from poise.check.words import frame_words

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, escaped or not."""


def junit_xml(reports: Sequence[ClipReport], profile: Profile) -> bytes:
    """The report as UTF-8 XML.

    A flaw that fails is a `failure`; one that is only told stands in the case's `system-out`; an unreadable clip is an
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
        "testsuite", name=name, tests=str(len(checked)), failures=str(len(failing)), errors="0", skipped="0",
        time=f"{report.seconds:.3f}",
    )  # fmt: skip
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
        [f"{finding.sentence}{frames}", *(f"  {'or' if k else 'cure'}: {c.text}" for k, c in enumerate(finding.cures))]
    )


def _element(tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, attributes)
    element.text = text
    return element


def _clean(text: str) -> str:
    return _NOT_XML.sub("?", text)
