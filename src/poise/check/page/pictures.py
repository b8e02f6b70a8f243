"""The pictures of one clip."""

from __future__ import annotations

from poise.analysis.analyze import Analysis
from poise.check.air import parabola_height
from poise.check.finding import Finding
from poise.check.page.arc import arc, arc_of
from poise.check.page.strip import strip
from poise.check.page.support import support
from poise.check.report import Pictures

MOST_ARCS = 6
"""Flights drawn of one clip: those that a finding names first, then the longest."""


def pictures_of(clip: Analysis, findings: tuple[Finding, ...]) -> Pictures:
    """Draw a clip, marking what its findings name."""
    bad = [f for finding in findings for f in finding.frames if f[1] - f[0] < 0.7 * clip.motion.frame_count]
    named = {f for finding in findings for f in finding.frames}
    flights = sorted(clip.flights, key=lambda f: ((f.first, f.last) not in named, -f.duration))[:MOST_ARCS]
    arcs = [
        arc(
            arc_of(
                clip.times, clip.com, clip.floor, f.first, f.last, f.gravity_g, parabola_height(f, clip.times),
                any(a <= f.last and b >= f.first for a, b in named if b - a <= f.last - f.first),
            )
        )
        for f in sorted(flights, key=lambda f: f.first)
    ]  # fmt: skip
    areas = [clip.support_polygon(k) for k in range(clip.motion.frame_count)]
    drawn = support(clip.com, clip.support.zmp, clip.support.error, areas) if clip.support.is_loaded.any() else ""
    return Pictures(strip(clip.motion, clip.floor, bad), tuple(arcs), drawn)
