"""BLAS and LAPACK for compiled code: addresses from SciPy's tables, passed into kernels as plain integers.

As integers they are arguments, so numba can cache the kernels; as ctypes globals they would force a compile in every
process. The matrices of a step are small: on two threads they take many times as long as on one, so the kernels limit
the library to one thread while they run and then give back what was set (as `OPENBLAS_NUM_THREADS=1` does for a whole
process). A SciPy built on another BLAS than OpenBLAS keeps its own rules.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import scipy
from llvmlite import ir
from numba import njit, types
from numba.extending import get_cython_function_address, intrinsic
from scipy.linalg import cython_blas  # pyright: ignore[reportAttributeAccessIssue]

from poise.compiled import KERNEL

_THREAD_LIMITS = ("openblas_set_num_threads_local", "scipy_openblas_set_num_threads_local")


def addresses() -> tuple[int, int, int, int, int]:
    """Addresses of dsyrk, dpotrf, dtrsm, OpenBLAS's thread limit (0 if there is none) and dgemm, in this process."""
    return (
        get_cython_function_address("scipy.linalg.cython_blas", "dsyrk"),
        get_cython_function_address("scipy.linalg.cython_lapack", "dpotrf"),
        get_cython_function_address("scipy.linalg.cython_blas", "dtrsm"),
        _thread_limit(),
        get_cython_function_address("scipy.linalg.cython_blas", "dgemm"),
    )


def _thread_limit() -> int:
    """Address of the function that sets the number of threads and returns the one before, or 0."""
    # a library's symbols are found through one that depends on it, on Windows only through itself
    beside = sorted((Path(scipy.__file__).parents[1] / "scipy.libs").glob("*openblas*"))
    for place in (Path(cython_blas.__file__), *beside):
        try:
            library = ctypes.CDLL(str(place))
        except OSError:
            continue
        for name in _THREAD_LIMITS:
            if hasattr(library, name):
                return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    return 0


def _limit_threads(typingctx: Any, address: Any, count: Any) -> Any:
    """Set the number of threads by the C function at `address`; the number before."""
    signature = types.int32(address, types.int32)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number = ir.IntType(32)
        function = builder.inttoptr(args[0], ir.FunctionType(number, [number]).as_pointer())
        return builder.call(function, [args[1]])

    return signature, codegen


limit_threads: Any = intrinsic(_limit_threads)


@njit(cache=KERNEL["cache"])
def set_threads(addresses: tuple[int, ...], count: int) -> int:
    """Limit BLAS to some threads; the number before, or 0 where it has no such limit."""
    return limit_threads(addresses[3], count) if addresses[3] != 0 else 0
