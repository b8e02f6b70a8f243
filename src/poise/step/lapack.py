"""BLAS and LAPACK for compiled code: addresses from SciPy's tables, passed into kernels as plain integers.

As integers they are arguments, so numba can cache the kernels; as ctypes globals they would force a compile in every
process.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import get_cython_function_address, intrinsic


def addresses() -> tuple[int, int, int]:
    """Addresses of dsyrk, dpotrf and dtrsm, in this process."""
    return (
        get_cython_function_address("scipy.linalg.cython_blas", "dsyrk"),
        get_cython_function_address("scipy.linalg.cython_lapack", "dpotrf"),
        get_cython_function_address("scipy.linalg.cython_blas", "dtrsm"),
    )


@intrinsic
def call(typingctx, address, pointers):  # type: ignore[no-untyped-def]
    """Call the C function at `address` with a tuple of pointers given as integers."""
    count = len(pointers)
    signature = types.void(address, pointers)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        word = ir.IntType(64)
        function = builder.inttoptr(args[0], ir.FunctionType(ir.VoidType(), [word] * count).as_pointer())
        values = [builder.extract_value(args[1], i) for i in range(count)]
        values = [builder.zext(v, word) if v.type.width < 64 else v for v in values]
        builder.call(function, values)
        return context.get_dummy_value()

    return signature, codegen
