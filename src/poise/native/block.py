"""A block of numbers that Python and C share: NumPy views on one side, a structure of addresses on the other."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from poise.native.fields import BLOCKS, Field

KINDS: dict[str, tuple[Any, Any]] = {
    "real": (np.dtype(np.float64), ctypes.c_double),
    "word": (np.dtype(np.int64), ctypes.c_int64),
    "flag": (np.dtype(np.bool_), ctypes.c_uint8),
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


def address_of(array: Any) -> int:
    """Where an array in C order begins; four times as fast as NumPy's own."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
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
