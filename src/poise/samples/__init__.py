"""Motions that come with Poise: authored by `scripts/make_samples.py`, licensed Apache-2.0 like the rest."""

from __future__ import annotations

from pathlib import Path

from poise.core.errors import UnknownName


def sample_names() -> tuple[str, ...]:
    """Names of the bundled motions, such as "walk"."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("*.bvh")))


def sample_path(name: str) -> Path:
    """File of a bundled motion.

    Example:
        >>> path = poise.sample_path("walk")
        >>> motion = poise.load(path)

    Args:
        name: One of `sample_names()`; the ending ".bvh" may follow.

    Raises:
        UnknownName: if there is no such sample.
    """
    stem = name.removesuffix(".bvh")
    if stem not in sample_names():
        raise UnknownName(f"No sample {name!r} comes with Poise. Samples: {', '.join(sample_names())}.")
    return Path(__file__).parent / f"{stem}.bvh"
