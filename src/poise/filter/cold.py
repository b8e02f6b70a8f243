"""The first run on a machine: what every simulation calls is compiled by two processes, since numba uses one thread."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from numba import types

from poise.compiled import is_cached
from poise.filter.reference_kernel import reference
from poise.filter.routine_kernel import see, wish
from poise.step.assemble import assemble
from poise.step.balance import finish
from poise.step.condensed import solve_at

_INTEGERS, _NUMBERS = types.int64[::1], types.float64[::1]
_Kernels = list[tuple[Any, tuple[Any, ...]]]

HERE: _Kernels = [
    (wish, (*[_INTEGERS] * 4, _NUMBERS)),
    (reference, (*[_INTEGERS] * 3, types.float64, types.float64)),
    (assemble, (_INTEGERS, _INTEGERS, _NUMBERS)),
]
BESIDE: _Kernels = [
    (solve_at, (_INTEGERS, _INTEGERS, _INTEGERS)),
    (see, (*[_INTEGERS] * 5, _NUMBERS)),
    (finish, (_INTEGERS, _INTEGERS)),
]
"""Kernels and their arguments, as long to compile as those above."""
_CHILD = "from poise.filter.cold import compile_beside; compile_beside()"


def compile_first() -> None:
    """Compile the largest kernels, half of them in another process, if none of those is in the cache yet.

    Where there is one processor only, or no interpreter to start, they are compiled when they are first called.
    """
    is_alone = (os.cpu_count() or 1) < 2 or not sys.executable or getattr(sys, "frozen", False)
    if is_alone or any(is_cached(kernel) for kernel, _ in HERE + BESIDE):
        return
    nothing = subprocess.DEVNULL
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdin=nothing, stdout=nothing, stderr=nothing) as child:
        try:
            for kernel, arguments in HERE:
                kernel.compile(arguments)
            child.wait()  # what it failed at is compiled when it is called
        except BaseException:
            child.terminate()
            raise


def compile_beside() -> None:
    """What the other process does."""
    for kernel, arguments in BESIDE:
        kernel.compile(arguments)
