"""Where the real clips are, how a test skips without them, and how one leaves further cases to `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poise import Motion, load
from poise.core.skeleton import Skeleton
from poise.samples import sample_names, sample_path

MOTIONS = Path(os.environ.get("POISE_MOTIONS", Path(__file__).parents[1].parent / "shared" / "motions"))

needs_motions = pytest.mark.skipif(
    not MOTIONS.is_dir(),
    reason=f"no captured clips at {MOTIONS}: docs/clips.md names them; set POISE_MOTIONS to the folder that holds them",
)

SAMPLES = sample_names()
"""Clips that every checkout holds: a test of real clips runs on these too, wherever it can."""


@cache
def sample_clip(name: str, seconds: float | None = None) -> Motion:
    """A bundled sample, or its first seconds: read once in a process, for a motion never changes."""
    motion = sample_clip(name).cut(0.0, seconds) if seconds else load(sample_path(name))
    for values in (motion.times, motion.translations, motion.rotations):
        values.setflags(write=False)  # a test that changed it would change it for the next
    return motion


def path_of(name: str | Path) -> Path:
    """A bundled sample by its name, or a captured clip by its path below MOTIONS."""
    return sample_path(str(name)) if str(name) in SAMPLES else MOTIONS / name


def everywhere(names: Iterable[Any]) -> list[Any]:
    """Names for parametrize: samples (and "hop", cut from one) run everywhere, captured clips where they are."""
    return [name if _is_ours(name) else pytest.param(name, marks=needs_motions) for name in names]


def first_cases(count: int, names: str | Sequence[str], cases: Iterable[Any], **rest: Any) -> pytest.MarkDecorator:
    """`parametrize`, but `make test` runs the first so many cases only, and `make test-all` all of them.

    Cases without marks of their own come first: captured clips may not be there.
    """
    made_before = type(pytest.param())
    several = not isinstance(names, str) or "," in names
    made = [c if isinstance(c, made_before) else pytest.param(*c) if several else pytest.param(c) for c in cases]
    short = sorted(range(len(made)), key=lambda k: (bool(made[k].marks), k))[:count]
    marked = [c if k in short else c._replace(marks=(*c.marks, pytest.mark.long)) for k, c in enumerate(made)]
    return pytest.mark.parametrize(names, marked, **rest)


def _is_ours(name: Any) -> bool:
    return str(name) in (*SAMPLES, "hop") or (isinstance(name, Path) and name.parent == sample_path("walk").parent)


def under_a_still_root(clip: Motion) -> Motion:
    """The same clip with a joint above its root, which stays at the origin."""
    own = clip.skeleton
    skeleton = Skeleton(
        ("still", *own.names),
        np.array([-1, *(own.parents + 1)]),
        np.concatenate([np.zeros((1, 3)), own.offsets]),
        np.concatenate([[[1.0, 0.0, 0.0, 0.0]], own.rest_rotations]),
        translating=frozenset({1}),
    )
    first = np.zeros((clip.frame_count, 1, 3))
    turns = np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (clip.frame_count, 1, 1))
    return Motion(
        skeleton=skeleton,
        times=clip.times,
        translations=np.concatenate([first, clip.translations], axis=1),
        rotations=np.concatenate([turns, clip.rotations], axis=1),
    )
