"""Performance tracking: an actor drives a character of another shape, whose limbs are support, targeted or free."""

from __future__ import annotations

from poise.tracking.lists import Settings
from poise.tracking.retarget import Role, parse_roles, propose_roles, with_roles
from poise.tracking.run import TrackResult, track
from poise.tracking.tracker import PerformanceTracker

__all__ = [
    "PerformanceTracker",
    "Role",
    "Settings",
    "TrackResult",
    "parse_roles",
    "propose_roles",
    "track",
    "with_roles",
]
