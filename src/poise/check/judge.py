"""All findings of a clip."""

from __future__ import annotations

from collections.abc import Iterator

from poise.analysis.analyze import Analysis
from poise.analysis.measures import Measures
from poise.analysis.scale import ImpliedScale
from poise.check.air import flight_findings
from poise.check.balance import balance_findings
from poise.check.capture import capture_findings
from poise.check.finding import Finding
from poise.check.ground import ground_findings
from poise.check.known import doubts
from poise.check.profile import Profile
from poise.check.rate import rate_findings
from poise.check.whole import limit_findings, timed_findings


def judge(
    clip: Analysis, quality: Measures, scale: ImpliedScale, profile: Profile,
    *, try_cures: bool = False, is_floor_given: bool = False,
) -> tuple[Finding, ...]:  # fmt: skip
    """Everything a profile has against a clip: failures first, the farthest past its threshold first.

    Where the frame rate itself is wrong, nothing that depends on time is judged: every number would be wrong with it.
    A finding that needs something that is in doubt is a warning.
    """
    unsure = doubts(clip, is_floor_given=is_floor_given)
    every = (unsure.weigh(f) for f in _all(clip, quality, scale, profile, try_cures=try_cures))
    found = [f for f in every if f is not None]
    return tuple(sorted(found, key=lambda f: (not f.fails, -f.excess)))


def _all(
    clip: Analysis, quality: Measures, scale: ImpliedScale, profile: Profile, *, try_cures: bool
) -> Iterator[Finding]:
    yield from capture_findings(clip, profile)
    rate = tuple(rate_findings(clip, profile))
    yield from rate
    yield from ground_findings(clip, profile, is_timed=not rate)
    yield from limit_findings(clip, quality, profile)
    if not rate:
        yield from flight_findings(clip, profile, try_cures=try_cures)
        yield from balance_findings(clip, profile, try_cures=try_cures)
        yield from timed_findings(clip, quality, scale, profile)
