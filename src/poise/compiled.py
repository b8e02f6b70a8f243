"""What compiled code needs beyond numba's own: tables of arrays, C functions by address, one cache with its callees.

A kernel that takes thirty arrays spends as long on looking at them as on its work, and as long again on being compiled
for them. Those that run in every step take one table of addresses instead: `Table` keeps the arrays alive, and
`light` gives them back inside the kernel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

try:
    from poise.compiler import DraftCompiler, WholeCompiler

    _WHOLE: dict[str, Any] = {"no_cfunc_wrapper": True, "pipeline_class": WholeCompiler}
    _DRAFT: dict[str, Any] = {"no_cfunc_wrapper": True, "no_cpython_wrapper": True, "pipeline_class": DraftCompiler}
except (ImportError, AttributeError):  # a numba of another make: its own compiler takes longer, to the same end
    _WHOLE, _DRAFT = {}, {}


def _call(typingctx: Any, address: Any, words: Any) -> Any:
    """Call the C function at `address` with a tuple of integers: numbers and pointers."""
    count = len(words)
    signature = types.void(address, words)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [word] * count).as_pointer())
        values = [builder.extract_value(args[1], i) for i in range(count)]
        values = [builder.zext(v, word) if v.type.width < 64 else v for v in values]
        builder.call(function, values)
        return context.get_dummy_value()

    return signature, codegen


def _can_cache() -> bool:
    """Whether numba has a folder to keep compiled functions in: this package's own, or one of the user's."""
    try:
        njit(cache=True)(_call)
    except RuntimeError:  # both are read-only; every process compiles for itself
        return False
    return True


KERNEL: dict[str, Any] = {"cache": _can_cache(), "error_model": "numpy", **_WHOLE}
"""Options of every kernel."""
INNER: dict[str, Any] = {"error_model": "numpy", "_nrt": False, **_DRAFT}
"""The same for kernels that only compiled code calls; compiled as a part of their callers, they make no arrays."""
_FREE_SUMS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz"}}
SUMS: dict[str, Any] = {**KERNEL, **_FREE_SUMS}
"""The same where sums may be reordered, which lets them run on vector units; nan and inf keep their meaning."""
INNER_SUMS: dict[str, Any] = {**INNER, **_FREE_SUMS}


class Shared:
    """A kernel that Python calls and compiled code too; for the second it is an inner one."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        inner = INNER_SUMS if "fastmath" in options else INNER
        self.entry: Any = njit(**options)(function)
        self.inner: Any = njit(**inner)(function)
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__

    def __call__(self, *args: Any) -> Any:
        return self.entry(*args)

    @property
    def _numba_type_(self) -> Any:
        """What compiled code takes it for."""
        return self.inner._numba_type_


def shared(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a kernel with these options that compiled code calls too."""
    return lambda function: Shared(function, options)


class Table:
    """Arrays that a kernel takes by address; they must not be replaced while the table is in use.

    Attributes:
        at: Their addresses, shape (n,).
        arrays: The arrays, in the order in which the kernel names them.
    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        for k, array in enumerate(arrays):
            # only our own bug can break this, and it would show as numbers from anywhere
            assert array.flags.c_contiguous, k
            assert array.dtype in (np.float64, np.int64, np.bool_), k
        self.arrays = tuple(arrays)
        self.at = np.array([array.ctypes.data for array in arrays], dtype=np.int64)


call: Any = intrinsic(_call)
"""(address, words) calls the C function there, in compiled code."""


def is_cached(kernel: Any) -> bool:
    """Whether numba's cache holds a kernel as it now is; True where it has no cache to look at."""
    cache = getattr(getattr(getattr(kernel, "entry", kernel), "_cache", None), "_cache_file", None)
    return not hasattr(cache, "_load_index") or bool(cache._load_index())  # pyright: ignore


def calls(kernel: Any, *files: str) -> Any:
    """The kernel, whose place in numba's cache is given up when one of these files changes too.

    By itself numba looks only at the file of a kernel, not at those of the kernels it calls, and would go on using what
    it compiled from their former text.
    """
    cache = getattr(getattr(getattr(kernel, "entry", kernel), "_cache", None), "_cache_file", None)
    if hasattr(cache, "_source_stamp"):
        stamps = [hashlib.sha256(Path(file).read_bytes()).digest() for file in files]
        cache._source_stamp = (cache._source_stamp, *stamps)  # pyright: ignore
    return kernel
