"""A C function and its NumPy twin under one name.

    @compiled("const real x[n], const real rows[m][n], real out[m]")
    def multiply(x, rows, out):
        '''Fill out = rows x.'''
        out[:] = rows @ x

calls `void multiply(word n, word m, const real *x, const real *rows, real *out)` of the core, and the Python body where
there is no core. Extents stand first in C, in the order in which they appear. `multiply.twin` is the Python body.
A whole block of numbers is one argument, `System *system`; see `fields`.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from poise.native.block import KINDS, address_of
from poise.native.fields import BLOCKS
from poise.native.library import library

FUNCTIONS: list[Function] = []
"""All that were declared; a test compares them with the C sources."""

_ARGUMENT = re.compile(r"(const )?(\w+) (\*?)(\w+)((?:\[\w+\])*)")


class Argument(NamedTuple):
    """One argument: an array with named extents, one number, or a block."""

    name: str
    kind: str
    extents: tuple[str, ...]
    is_const: bool


class Function:
    """Calls the C function of that name, or its twin.

    Arrays are checked; one that is only read and not in C order is copied.

    Args:
        twin: The Python body.
        declaration: Arguments as in C; extents are names or numbers.
        returns: "word", "real" or "void".
    """

    def __init__(self, twin: Callable[..., Any], declaration: str, returns: str) -> None:
        self.twin, self.returns = twin, returns
        self.name = twin.__name__
        self.arguments = tuple(_parse(part) for part in declaration.split(",") if part.strip())
        names = [e for argument in self.arguments for e in argument.extents if not e.isdigit()]
        self.extents = tuple(dict.fromkeys(names))
        self._takes_blocks = all(argument.kind in BLOCKS for argument in self.arguments)
        functools.update_wrapper(self, twin)
        FUNCTIONS.append(self)

    @property
    def prototype(self) -> str:
        """The function in C."""
        parts = [f"word {extent}" for extent in self.extents]
        for name, kind, extents, is_const in self.arguments:
            star = "*" if extents or kind in BLOCKS else ""
            parts.append(f"{'const ' if is_const else ''}{kind} {star}{name}")
        return f"{self.returns} {self.name}({', '.join(parts)})"

    @functools.cached_property
    def _call(self) -> Callable[..., Any] | None:
        loaded = library()
        if loaded is None:
            return None
        function = getattr(loaded, self.name)
        own = [KINDS[x.kind][1] if x.kind in KINDS and not x.extents else ctypes.c_void_p for x in self.arguments]
        function.argtypes = [ctypes.c_int64] * len(self.extents) + own
        function.restype = None if self.returns == "void" else KINDS[self.returns][1]
        return function

    def __call__(self, *args: Any) -> Any:
        """Check the arrays and call.

        Raises:
            TypeError: if an array has another type, order or shape than declared.
        """
        call, extents = self._call, {}
        if call is not None and self._takes_blocks and len(args) == len(self.arguments):
            for argument, value in zip(self.arguments, args):
                if value.kind != argument.kind:
                    raise TypeError(f"{self.name}: {argument.name} is no block {argument.kind}.")
            return call(*[value.address for value in args])
        values: list[Any] = []
        kept: list[Any] = []  # copies live until the call is over
        for argument, value in zip(self.arguments, args, strict=True):
            if argument.kind in BLOCKS:
                if getattr(value, "kind", "") != argument.kind:
                    raise TypeError(f"{self.name}: {argument.name} is no block {argument.kind}.")
                values.append(value.address)
            elif argument.extents:
                value = self._checked(argument, value, extents)
                kept.append(value)
                values.append(address_of(value))
            else:
                values.append(value)
        if call is None:
            return self.twin(*args)
        return call(*(extents[name] for name in self.extents), *values)

    def _checked(self, argument: Argument, array: Any, extents: dict[str, int]) -> Any:
        kind = KINDS[argument.kind][0]
        is_fit = isinstance(array, np.ndarray) and array.dtype == kind and array.ndim == len(argument.extents)
        if is_fit and not array.flags.c_contiguous:
            is_fit, array = argument.is_const, np.ascontiguousarray(array)
        elif is_fit:
            is_fit = argument.is_const or array.flags.writeable
        if is_fit:
            for name, extent in zip(argument.extents, array.shape):
                expected = int(name) if name.isdigit() else extents.setdefault(name, extent)
                is_fit = is_fit and expected == extent
        if not is_fit:
            seen = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
            raise TypeError(
                f"{self.name}: {argument.name} is {seen}; {kind} [{']['.join(argument.extents)}] in C order is needed, "
                f"with {extents}."
            )
        return array


def compiled(declaration: str, returns: str = "void") -> Callable[[Callable[..., Any]], Function]:
    """Join a NumPy twin to the C function of its name; see the head of this file."""
    return lambda twin: Function(twin, declaration, returns)


def _parse(text: str) -> Argument:
    found = _ARGUMENT.fullmatch(text.strip())
    assert found is not None, text
    const, kind, _, name, extents = found.groups()
    assert kind in KINDS or kind in BLOCKS, text
    return Argument(name, kind, tuple(re.findall(r"\w+", extents)), bool(const))
