"""Where the real clips are, and how a test skips without them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MOTIONS = Path(os.environ.get("POISE_MOTIONS", Path(__file__).parents[1].parent / "shared" / "motions"))

needs_motions = pytest.mark.skipif(
    not MOTIONS.is_dir(), reason=f"no real clips at {MOTIONS}; set POISE_MOTIONS to the folder that holds them"
)
