"""How many threads numerical libraries take. Poise's matrices are small: a second thread only makes them slower."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

NAMES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Where numerical libraries look for that number, once, as they are loaded."""


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
