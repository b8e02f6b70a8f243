"""Finds, builds where that must be, and loads the compiled core.

Environment:
    POISE_NATIVE: "skip" runs the NumPy twins; "require" fails where the core cannot be loaded; "plain" takes the
        library for any processor of the kind; a folder's path takes the libraries there and no others.
    POISE_CACHE: Where libraries built on demand are kept when the package's own folder cannot be written.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from poise.native import build

_reason = ""


@functools.cache
def library() -> ctypes.CDLL | None:
    """The loaded core, or None where the NumPy twins run; that is said once, as a warning.

    Raises:
        OSError: if POISE_NATIVE is "require" and there is no core.
    """
    global _reason
    choice = os.environ.get("POISE_NATIVE", "").strip().lower()
    if choice == "skip":
        _reason = "POISE_NATIVE=skip"
        return None
    try:
        return _load("plain" if choice == "plain" else best_level())
    except (OSError, build.BuildFailed) as error:
        _reason = str(error)
    if choice == "require":
        raise OSError(f"POISE_NATIVE=require, but Poise's compiled core cannot be used: {_reason}.")
    warnings.warn(
        f"Poise runs without its compiled core, many times slower: {_reason}. Install a C compiler, or run "
        "`pip install ziglang`, then `python -m poise.native`.",
        stacklevel=2,
    )
    return None


def reason() -> str:
    """Why the NumPy twins run; empty where the compiled core does."""
    library()
    return _reason


def best_level() -> str:
    """The fastest kind of library this processor runs, by what NumPy found."""
    known: Any = np.show_config(mode="dicts")
    known = known.get("SIMD Extensions", {})
    features = {*known.get("baseline", ()), *known.get("found", ())}
    has_avx2 = "X86_V3" in features or {"AVX2", "FMA3"} <= features
    return "avx2" if has_avx2 and "avx2" in build.levels() else "plain"


def _load(level: str) -> ctypes.CDLL:
    name = build.file_name(level)
    for folder in _folders():
        if (folder / name).is_file():
            return ctypes.CDLL(str(folder / name))
    fault = build.BuildFailed("no folder can be written")
    for folder in _folders():
        try:
            build.build(folder)
        except build.BuildFailed as error:
            fault = error
            continue
        return ctypes.CDLL(str(folder / name))
    # nothing can be kept, so it is built for this process alone
    try:
        with tempfile.TemporaryDirectory(prefix="poise-", ignore_cleanup_errors=True) as room:
            build.build(Path(room))
            return ctypes.CDLL(str(Path(room, name)))
    except (OSError, build.BuildFailed):
        raise fault from None


def _folders() -> Iterator[Path]:
    """Where libraries are kept: beside the sources, then in a cache of the user."""
    if os.sep in (choice := os.environ.get("POISE_NATIVE", "")):
        yield Path(choice)
        return
    yield build.BESIDE
    if place := os.environ.get("POISE_CACHE"):
        yield Path(place)
        return
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    try:
        yield Path(home, "poise", "native") if home else Path.home() / ".cache" / "poise" / "native"
    except RuntimeError:  # nobody's home
        return
