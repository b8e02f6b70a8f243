"""What a process takes of its machine: threads of numerical libraries, and memory.

Poise's matrices are small: a second thread only makes them slower.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Where numerical libraries look for that number, once, as they are loaded."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3)."""
LARGEST_KEPT = 1 << 25
"""Bytes of an array whose memory is used again by others; the most that glibc allows."""


def prefer_one() -> None:
    """One thread in this process, unless its environment says otherwise; before NumPy is loaded."""
    for name in NAMES:
        os.environ.setdefault(name, "1")


@contextmanager
def one_thread() -> Iterator[None]:
    """Processes that are started meanwhile take one thread each: they share the cores already."""
    before = {name: os.environ.get(name) for name in NAMES}
    os.environ.update(dict.fromkeys(NAMES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def keep_freed_memory() -> None:
    """Undo `MALLOC_TRIM_THRESHOLD_` of the environment: glibc keeps freed memory again, as it does by default.

    A Dask worker gets 64 KiB. Every larger array is then fetched from the system anew, and a clip takes half as long
    again.
    """
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:  # glibc; others have no such call
        mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)
