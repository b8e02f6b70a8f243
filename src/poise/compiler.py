"""How numba compiles Poise's kernels: inner functions are only drafted, callers are optimized once, with all they call.

By itself numba optimizes every function three times over and brings it to machine code, those that only other compiled
functions call too, and looks up the type of `a + b` anew wherever it stands. In a process with a cold cache that is
most of the time a user waits. Nothing here changes what is computed.

This builds on parts of numba that may change: another numba than those it was tested with is refused, and `compiled`
goes on with numba's own compiler.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.base import BaseContext
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)  # fmt: skip
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)  # fmt: skip

_signatures: dict[tuple[Any, ...], Any] = {}
_sizes: dict[str, int] = {}
_ask, _measure = types.Function.get_call_type, BaseContext.get_abi_sizeof
if not (0, 65) <= numba.version_info.short < (0, 70):
    raise ImportError(f"Numba {numba.__version__} is not one that this was tested with, 0.65 to 0.69")

_STAGES = (
    TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites, ReconstructSSA, NopythonTypeInference,
    PreLowerStripPhis, IRLegalization, AnnotateTypes, NativeLowering, NoPythonBackend,
)  # fmt: skip


class _Whole(JITCodeLibrary):
    """Code of a function and of drafts it calls, optimized in one go."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # the module as a whole is optimized later

    def _optimize_final_module(self) -> None:
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)

    def add_linking_library(self, library: Any) -> None:
        library._ensure_finalized()
        self._linking_libraries.append(library)
        if isinstance(library, _Draft):
            self._linking_libraries += library._linking_libraries  # after it: the linker takes what has been asked for


class _Draft(_Whole):
    """Code as numba writes it, for its callers to take in: neither optimized nor brought to machine code."""

    def finalize(self) -> None:
        self._finalized = True


def _call_type(function: Any, context: Any, args: Any, kws: Any) -> Any:
    """What numba's own function types answer for these arguments, asked once."""
    if kws:
        return _ask(function, context, args, kws)
    key = (function, *args)
    if key not in _signatures:
        _signatures[key] = _ask(function, context, args, kws)
    return _signatures[key]


def _size(context: Any, kind: Any) -> int:
    """Size of a value in memory, computed once."""
    name = str(kind)
    if name not in _sizes:
        _sizes[name] = _measure(context, kind)
    return _sizes[name]


@contextmanager
def _remembering() -> Iterator[None]:
    """Ask once for the type of what a function returns, and for the size of a value."""
    owners: Any = types.Function, BaseContext
    owners[0].get_call_type, owners[1].get_abi_sizeof = _call_type, _size
    try:
        yield
    finally:
        owners[0].get_call_type, owners[1].get_abi_sizeof = _ask, _measure


@contextmanager
def _no_collection() -> Iterator[None]:
    """Look for no circular garbage meanwhile; a compiler makes many objects and leaves few."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class WholeCompiler(Compiler):
    """Of functions that Python calls."""

    library_class = _Whole

    def define_pipelines(self) -> list[Any]:
        """Numba's own stages but those for closures, comprehensions, `with`, array expressions and the like."""
        manager = PassManager("poise")
        for stage in _STAGES:
            manager.add_pass(stage, stage.__name__)
        manager.finalize()
        return [manager]

    def _compile_core(self) -> Any:
        state = self.state
        if state.library is None:
            name = state.func_id.func_qualname
            state.library = self.library_class(state.targetctx.codegen(), name)
            state.library.enable_object_caching()
        if types.Function.get_call_type is _call_type:
            return super()._compile_core()
        with _remembering(), _no_collection():
            return super()._compile_core()


class DraftCompiler(WholeCompiler):
    """Of functions that only compiled code calls."""

    library_class = _Draft

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.flags.no_compile = True

    def _compile_core(self) -> Any:
        done = super()._compile_core()
        # as numba does for functions without a wrapper for Python: there is nothing behind this one
        empty = _dynfunc.make_function(done.fndesc.lookup_module(), done.fndesc.qualname, "", 0, done.environment, ())
        done.target_context.insert_user_function(empty, done.fndesc, [done.library])
        return done._replace(entry_point=empty)
