"""A C function and its NumPy twin under one name.

    @compiled("const real x[n], const real rows[m][n], real out[m]")
    def multiply(x, rows, out):
        '''Fill out = rows x.'''
        out[:] = rows @ x

calls `void multiply(word n, word m, const real *x, const real *rows, real *out)` of the core, and the Python body where
there is no core. Extents stand first in C, in the order in which they appear. `multiply.twin` is the Python body.
A whole block of numbers is one argument, `System *system`; see `fields`.

Such a block is shared by Python and C: NumPy views on one side, a structure of addresses on the other.
"""

from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from poise.native.fields import BLOCKS, Field
from poise.native.library import library

KINDS: dict[str, tuple[Any, Any]] = {
    "real": (np.dtype(np.float64), ctypes.c_double),
    "word": (np.dtype(np.int64), ctypes.c_int64),
    "flag": (np.dtype(np.bool_), ctypes.c_uint8),
    "int": (np.dtype(np.int32), ctypes.c_int32),
}
"""Type of a number in C: what NumPy and ctypes call it."""


def _structure(name: str) -> Any:
    """The ctypes structure of a block; every entry has eight bytes."""
    entries = [(f.name, KINDS[f.kind][1] if is_number(f) else ctypes.c_void_p) for f in BLOCKS[name]]
    return type(name, (ctypes.Structure,), {"_fields_": entries})


def is_number(field: Field) -> bool:
    """One number in the structure itself."""
    return not field.shape and field.kind in ("real", "word")


STRUCTURES = {name: _structure(name) for name in BLOCKS}
NUMBERS = {name: frozenset(f.name for f in fields if is_number(f)) for name, fields in BLOCKS.items()}


_addressof = ctypes.addressof
_from_buffer: Callable[[Any], Any] = ctypes.c_char.from_buffer


def address_of(array: Any) -> int:
    """Where an array in C order begins; four times as fast as NumPy's own."""
    try:
        return _addressof(_from_buffer(array))
    except (TypeError, ValueError):  # read-only, or empty
        return array.ctypes.data


class Block:
    """Storage of one block, for example "System"; its fields are attributes.

    An array's field is an array, made here or given; another array of the same shape and type may be put in its place.
    Every size is checked here, once, and C takes the addresses as they are. `values` is the structure itself: its
    numbers are reached faster there than as attributes of the block.

    Args:
        kind: Name of the block in `fields.BLOCKS`.
        sizes: Extents by name.
        given: Arrays, blocks and addresses that exist already, by field; other arrays are made, filled with zeros.
    """

    def __init__(self, kind: str, sizes: Mapping[str, int], given: Mapping[str, Any]) -> None:
        structure = STRUCTURES[kind]()
        own = self.__dict__
        own.update(kind=kind, values=structure, address=ctypes.addressof(structure), _names=NUMBERS[kind])
        own["_shapes"] = shapes = {}
        own["addresses"] = {f.name: given[f.name] for f in BLOCKS[kind] if f.kind == "address"}
        unknown = set(given) - {field.name for field in BLOCKS[kind]}
        assert not unknown, unknown
        for field in BLOCKS[kind]:
            if field.shape:
                shape = tuple(math.prod(_extent(e, sizes) for e in part.split("*")) for part in field.shape.split(","))
                shapes[field.name] = shape, KINDS[field.kind][0]
                array = given.get(field.name)
                setattr(self, field.name, np.zeros(shape, dtype=KINDS[field.kind][0]) if array is None else array)
            elif is_number(field):
                setattr(structure, field.name, sizes.get(field.name, 0))
            elif field.kind == "address":
                setattr(structure, field.name, given[field.name])
            else:
                own[field.name] = given[field.name]
                assert given[field.name].kind == field.kind, field.name
                setattr(structure, field.name, given[field.name].address)

    def __getattr__(self, name: str) -> Any:
        """A number of the structure."""
        if name in self.__dict__["_names"]:
            return getattr(self.__dict__["values"], name)
        raise AttributeError(f"The block {self.__dict__['kind']} has no field {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a number, or put another array in the place of one."""
        own = self.__dict__
        if name in own["_names"]:
            setattr(own["values"], name, value)
            return
        if name not in own["_shapes"]:
            own[name] = value  # another block, or what has its address
            setattr(own["values"], name, value.address)
            return
        shape, kind = own["_shapes"][name]
        if value.shape != shape or value.dtype != kind or not value.flags.c_contiguous:
            raise TypeError(f"{own['kind']}.{name} is {kind} {shape} in C order, not {value.dtype} {value.shape}.")
        own[name] = value
        setattr(own["values"], name, address_of(value))

    def __reduce__(self) -> Any:
        raise TypeError("A block holds addresses of this process and cannot be copied or pickled; make a new one.")


def _extent(name: str, sizes: Mapping[str, int]) -> int:
    name = name.strip()
    return int(name) if name.isdigit() else int(sizes[name])


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
        # all that `_slow` looks at, made once
        self._checks = tuple(
            (
                x,
                bool(x.extents),
                x.is_const,
                KINDS[x.kind][0] if x.extents else None,
                tuple(int(e) if e.isdigit() else e for e in x.extents),
            )
            for x in self.arguments
        )
        self._fixed: dict[int | str, int] = {e: e for check in self._checks for e in check[4] if isinstance(e, int)}
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

    @functools.cached_property
    def _quick(self) -> Callable[..., Any]:
        """A call that compares kinds and shapes in one condition, as calls are many and short; the rest is for `_slow`.

        It is made from Python text with one line for each array, as `dataclass` makes its methods.
        """
        if self._call is None:
            return self._slow
        known: dict[str, Any] = {"call": self._call, "slow": self._slow, "addressof": _addressof, "begin": _from_buffer}
        known |= {kind: dtype for kind, (dtype, _) in KINDS.items()}
        given, lines, unfit, values = [f"a{i}" for i in range(len(self.arguments))], [], [], []
        seen: set[str] = set()
        for name, argument in zip(given, self.arguments):
            if argument.kind in BLOCKS:
                unfit.append(f"{name}.kind != {argument.kind!r}")
                values.append(f"{name}.address")
            elif not argument.extents:
                values.append(name)
            else:
                sizes = []
                for number, extent in enumerate(argument.extents):
                    is_new = not extent.isdigit() and extent not in seen
                    sizes.append(f"size_{extent}" if is_new else f"{name}_{number}")
                    seen.add(extent)
                    if not is_new:
                        unfit.append(f"{sizes[-1]} != {extent if extent.isdigit() else 'size_' + extent}")
                lines.append(f"{', '.join(sizes)}, = {name}.shape")
                unfit.append(f"{name}.dtype is not {argument.kind}")
                values.append(f"addressof(begin({name}))")
        every = ", ".join(given)
        body = [
            *lines,
            *([f"if {' or '.join(unfit)}: return slow({every})"] if unfit else []),
            f"values = {', '.join([*(f'size_{extent}' for extent in self.extents), *values])},",
        ]
        text = [f"def quick({every}):", " try:", *(f"  {line}" for line in body)]
        text += [" except (AttributeError, TypeError, ValueError):", f"  return slow({every})", " return call(*values)"]
        exec("\n".join(text), known)
        return known["quick"]

    def __call__(self, *args: Any) -> Any:
        """Check the arrays and call.

        Raises:
            TypeError: if an array has another type, order or shape than declared.
        """
        return self._quick(*args)

    def _slow(self, *args: Any) -> Any:
        """The same for all arrays: it copies what is not in C order, takes empty ones, and says what does not fit."""
        call = self._call
        sizes: dict[int | str, int] = self._fixed.copy()
        values: list[Any] = []
        kept: list[Any] = []  # copies live until the call is over
        for (argument, is_array, is_const, dtype, shape), value in zip(self._checks, args, strict=True):
            if not is_array:
                if argument.kind in BLOCKS:
                    if getattr(value, "kind", "") != argument.kind:
                        raise TypeError(f"{self.name}: {argument.name} is not a block of kind {argument.kind}.")
                    value = value.address
                values.append(value)
                continue
            if not isinstance(value, np.ndarray) or value.dtype != dtype or len(seen := value.shape) != len(shape):
                raise self._unfit(argument, value, sizes)
            for extent, size in zip(shape, seen):
                if sizes.setdefault(extent, size) != size:
                    raise self._unfit(argument, value, sizes)
            try:
                address = _addressof(_from_buffer(value))
            except (TypeError, ValueError):  # not in C order, read-only, or empty
                if not value.flags.c_contiguous and is_const:
                    value = np.ascontiguousarray(value)
                    kept.append(value)
                elif not is_const and not (value.flags.c_contiguous and value.flags.writeable):
                    raise self._unfit(argument, value, sizes) from None
                address = value.ctypes.data
            values.append(address)
        if call is None:
            return self.twin(*args)
        return call(*[sizes[name] for name in self.extents], *values)

    def _unfit(self, argument: Argument, value: Any, sizes: dict[int | str, int]) -> TypeError:
        """What is wrong with an array."""
        seen = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        return TypeError(
            f"{self.name}: {argument.name} is {seen}; {KINDS[argument.kind][0]} [{']['.join(argument.extents)}] in C "
            f"order is needed, with {sizes}."
        )


def compiled(declaration: str, returns: str = "void") -> Callable[[Callable[..., Any]], Function]:
    """Join a NumPy twin to the C function of its name; see the head of this file."""
    return lambda twin: Function(twin, declaration, returns)


def _parse(text: str) -> Argument:
    found = _ARGUMENT.fullmatch(text.strip())
    assert found is not None, text
    const, kind, _, name, extents = found.groups()
    assert kind in KINDS or kind in BLOCKS, text
    return Argument(name, kind, tuple(re.findall(r"\w+", extents)), bool(const))
