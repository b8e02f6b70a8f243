"""The report for machines: schema poise.check/1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from poise.check.library import Group
from poise.check.profile import Profile
from poise.check.report import ClipReport

SCHEMA = "poise.check/1"


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
                    {"clip": s.clip, "quantity": s.quantity, "value": s.value, "usual": s.usual, "low": s.low,
                     "high": s.high} for s in g.strays
                ],
            }
            for g in groups
        ],
    }  # fmt: skip
