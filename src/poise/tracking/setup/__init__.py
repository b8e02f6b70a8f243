"""Setting a character up: bodies on bones, limbs, what they do, checks with cures; for pages and scripts alike."""

from __future__ import annotations

from poise.tracking.setup.checks import Check, edited, find_checks
from poise.tracking.setup.model import ACTOR_LIMBS, Setup, begin

__all__ = ["ACTOR_LIMBS", "Check", "Setup", "begin", "edited", "find_checks"]
