"""How numba compiles Poise's kernels: inner functions are only drafted, callers are optimized once, with all they call.

By itself numba optimizes every function three times over and brings it to machine code, those that only other compiled
functions call too, and looks up the type of `a + b` anew wherever it stands. In a process with a cold cache that is
most of the time a user waits. Nothing here changes what is computed.
"""

from __future__ import annotations

import gc
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import _dynfunc  # pyright: ignore[reportAttributeAccessIssue]
from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_OPERATORS = {getattr(operator, name) for name in operator.__all__}
_LOOKUPS = ("resolve_function_type", "resolve_setitem")
_signatures: dict[tuple[Any, ...], Any] = {}


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


@contextmanager
def _operators_known(context: Any) -> Iterator[None]:
    """Look up the result of an operator on the same types once."""
    known: dict[str, Callable[..., Any]] = {name: getattr(context, name) for name in _LOOKUPS}

    def resolve_function_type(function: Any, args: Any, kws: Any) -> Any:
        name = function.typing_key if isinstance(function, types.Function) else function
        if kws or name not in _OPERATORS:
            return known["resolve_function_type"](function, args, kws)
        key = (name, *args)
        if key not in _signatures:
            _signatures[key] = known["resolve_function_type"](function, args, kws)
        return _signatures[key]

    def resolve_setitem(target: Any, index: Any, value: Any) -> Any:
        key = (operator.setitem, target, index, value)
        if key not in _signatures:
            _signatures[key] = known["resolve_setitem"](target, index, value)
        return _signatures[key]

    context.resolve_function_type, context.resolve_setitem = resolve_function_type, resolve_setitem
    try:
        yield
    finally:
        for name in _LOOKUPS:
            delattr(context, name)


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

    def _compile_core(self) -> Any:
        state = self.state
        if state.library is None:
            name = state.func_id.func_qualname
            state.library = self.library_class(state.targetctx.codegen(), name)
            state.library.enable_object_caching()
        if _LOOKUPS[0] in vars(state.typingctx):
            return super()._compile_core()
        with _operators_known(state.typingctx), _no_collection():
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
