"""A light array type for compiled code: an address and extents; no owner, no strides, no index counted from the end.

Numba's own array is a structure of seven and more values that a kernel takes apart and puts together for each function
it calls, with a count of references and a check for negative indices at each look into it. For the arrays of a step,
which a table keeps alive, that is half of what the compiler does, and none of it is needed.

A light array knows `x[i]`, `x[i, j]`, a row of it as `x[i]`, `x[a:b]` along its first axis, `x.shape`, and assignment
of one number. Nothing is checked: an index must lie inside.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    infer_getattr,
    intrinsic,
    lower_builtin,
    lower_getattr,
    models,
    register_model,
    type_callable,
)

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


class Light(types.Type):
    """Type of a light array in C order."""

    def __init__(self, dtype: Any, ndim: int) -> None:
        self.dtype, self.ndim = dtype, ndim
        super().__init__(f"Light({dtype}, {ndim})")


@register_model(Light)
class _Model(models.StructModel):
    """The address and the extents."""

    def __init__(self, manager: Any, kind: Light) -> None:
        extents = [(f"extent_{k}", types.intp) for k in range(kind.ndim)]
        super().__init__(manager, kind, [("data", types.CPointer(kind.dtype)), *extents])


def _parts(index: Any) -> tuple[Any, ...]:
    return tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)  # pyright: ignore


def _left(array: Any, index: Any) -> int | None:
    """Axes of what an index leaves of a light array; None where that is not for us."""
    if not isinstance(array, Light):
        return None
    parts = _parts(index)
    is_fit = len(parts) <= array.ndim and all(isinstance(part, types.Integer) for part in parts)
    return array.ndim - len(parts) if is_fit else None


@type_callable(operator.getitem)
def _type_of_item(context: Any) -> Any:
    def typer(array: Any, index: Any) -> Any:
        if isinstance(array, Light) and isinstance(index, types.SliceType) and not index.has_step:
            return array
        left = _left(array, index)
        return None if left is None else Light(array.dtype, left) if left else array.dtype

    return typer


@type_callable(operator.setitem)
def _type_of_assignment(context: Any) -> Any:
    def typer(array: Any, index: Any, value: Any) -> Any:
        return types.none(array, index, array.dtype) if _left(array, index) == 0 else None

    return typer


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Light

    def resolve_shape(self, array: Light) -> Any:
        return types.UniTuple(types.intp, array.ndim)


@lower_getattr(Light, "shape")
def _shape(context: Any, builder: Any, kind: Light, array: Any) -> Any:
    out = ir.Constant(ir.ArrayType(_WORD, kind.ndim), ir.Undefined)
    for k in range(kind.ndim):
        out = builder.insert_value(out, builder.extract_value(array, 1 + k), k)
    return out


def _place(context: Any, builder: Any, kind: Light, array: Any, index_type: Any, index: Any) -> Any:
    """Address of the item or row an index means."""
    parts = _parts(index_type)
    values = [builder.extract_value(index, k) for k in range(len(parts))] if index_type is not parts[0] else [index]
    offset = None
    for k in range(kind.ndim):
        if offset is not None:
            offset = builder.mul(offset, builder.extract_value(array, 1 + k), flags=("nsw",))
        if k < len(parts):
            value = context.cast(builder, values[k], parts[k], types.intp)
            offset = value if offset is None else builder.add(offset, value, flags=("nsw",))
    return builder.gep(builder.extract_value(array, 0), [offset], inbounds=True)


def _with(builder: Any, array: Any, data: Any, first: int, kind: Any) -> Any:
    """A light array at another address, with the extents of one from the axis `first` on."""
    out = builder.insert_value(ir.Constant(kind, ir.Undefined), data, 0)
    for k in range(len(kind.elements) - 1):
        out = builder.insert_value(out, builder.extract_value(array, 1 + first + k), 1 + k)
    return out


@lower_builtin(operator.getitem, Light, types.Integer)
@lower_builtin(operator.getitem, Light, types.BaseTuple)
def _item(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, index_type = signature.args
    place = _place(context, builder, kind, args[0], index_type, args[1])
    result = signature.return_type
    if isinstance(result, Light):
        return _with(builder, args[0], place, kind.ndim - result.ndim, context.get_value_type(result))
    return context.unpack_value(builder, result, place)


@lower_builtin(operator.getitem, Light, types.SliceType)
def _slice(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, slice_type = signature.args
    part = context.make_helper(builder, slice_type, value=args[1])
    extent = builder.extract_value(args[0], 1)
    stop = builder.select(builder.icmp_signed("<", part.stop, extent), part.stop, extent)
    data = _place(context, builder, kind, args[0], types.intp, part.start)
    out = builder.insert_value(args[0], data, 0)
    return builder.insert_value(out, builder.sub(stop, part.start), 1)


@lower_builtin(operator.setitem, Light, types.Any, types.Any)
def _assign(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind, index_type, value_type = signature.args
    place = _place(context, builder, kind, args[0], index_type, args[1])
    context.pack_value(builder, value_type, args[2], place)
    return context.get_dummy_value()


def _at(kind: Light) -> Any:
    """An intrinsic (address, *shape) → light array of that type there."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        result = context.get_value_type(signature.return_type)
        data = builder.inttoptr(args[0], result.elements[0])
        out = builder.insert_value(ir.Constant(result, ir.Undefined), data, 0)
        for k, extent in enumerate(args[1:]):
            out = builder.insert_value(out, extent, 1 + k)
        return out

    word = types.intp
    if kind.ndim == 1:

        def one(typingctx: Any, address: Any, n: Any) -> Any:
            return kind(word, word), lower

        return intrinsic(one)
    if kind.ndim == 2:

        def two(typingctx: Any, address: Any, n: Any, m: Any) -> Any:
            return kind(word, word, word), lower

        return intrinsic(two)

    def three(typingctx: Any, address: Any, n: Any, m: Any, k: Any) -> Any:
        return kind(word, word, word, word), lower

    return intrinsic(three)


vector: Any = _at(Light(types.float64, 1))
"""(address, n) → float64 (n,), in compiled code."""
matrix: Any = _at(Light(types.float64, 2))
"""(address, n, m) → float64 (n, m), in compiled code."""
cube: Any = _at(Light(types.float64, 3))
"""(address, n, m, k) → float64 (n, m, k), in compiled code."""
index: Any = _at(Light(types.int64, 1))
"""(address, n) → int64 (n,), in compiled code."""
flags: Any = _at(Light(types.boolean, 1))
"""(address, n) → bool (n,), in compiled code."""


def _light(typingctx: Any, array: Any) -> Any:
    """The light array of an array that is alive elsewhere, or of a light one."""
    if isinstance(array, Light):
        return array(array), lambda context, builder, signature, args: args[0]
    if not isinstance(array, types.Array) or array.layout != "C":
        return None

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = context.make_array(signature.args[0])(context, builder, args[0])
        result = context.get_value_type(signature.return_type)
        out = builder.insert_value(ir.Constant(result, ir.Undefined), given.data, 0)
        for k in range(array.ndim):
            out = builder.insert_value(out, builder.extract_value(given.shape, k), 1 + k)
        return out

    return Light(array.dtype, array.ndim)(array), lower


light: Any = intrinsic(_light)


def _address(typingctx: Any, array: Any) -> Any:
    """The address of an array's first item, an integer."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        is_light = isinstance(kind, Light)
        data = (
            builder.extract_value(args[0], 0) if is_light else context.make_array(kind)(context, builder, args[0]).data
        )
        return builder.ptrtoint(data, _WORD)

    return types.intp(array), lower


address_of: Any = intrinsic(_address)


def _room(typingctx: Any, count: Any) -> Any:
    """A constant number of numbers in the function's own frame, filled with nothing: float64 (count,)."""
    if not isinstance(count, types.IntegerLiteral):
        return None
    kind = Light(types.float64, 1)

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = count.literal_value
        out = ir.Constant(context.get_value_type(kind), ir.Undefined)
        out = builder.insert_value(out, cgutils.alloca_once(builder, ir.DoubleType(), size=size), 0)
        return builder.insert_value(out, ir.Constant(_WORD, size), 1)

    return kind(count), lower


room: Any = intrinsic(prefer_literal=True)(_room)


def _borrow(typingctx: Any, count: Any) -> Any:
    """Any number of numbers, filled with nothing, to be given back by whoever borrowed them: float64 (count,)."""
    kind = Light(types.float64, 1)

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        result = context.get_value_type(kind)
        size = builder.mul(args[0], ir.Constant(_WORD, 8))
        allocate = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_BYTES, [_WORD]), "NRT_Allocate")
        data = builder.call(allocate, [size])
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, data)):
            context.call_conv.return_user_exc(builder, MemoryError, ("no room for what compiled code works with",))
        out = builder.insert_value(ir.Constant(result, ir.Undefined), builder.bitcast(data, result.elements[0]), 0)
        return builder.insert_value(out, args[0], 1)

    return kind(types.intp), lower


borrow: Any = intrinsic(_borrow)


def _give_back(typingctx: Any, borrowed: Any) -> Any:
    """End the use of what was borrowed."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = builder.extract_value(args[0], 0)
        free = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [_BYTES]), "NRT_Free")
        builder.call(free, [builder.bitcast(data, _BYTES)])
        return context.get_dummy_value()

    return types.none(borrowed), lower


give_back: Any = intrinsic(_give_back)


def _kept(typingctx: Any, value: Any) -> Any:
    """Keep a number in the function's own frame; its address, for C functions that want one."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(cgutils.alloca_once_value(builder, args[0]), _WORD)

    return types.intp(value), lower


kept: Any = intrinsic(_kept)


def _choice(sign: str) -> Any:
    """An intrinsic (a, b) → b if b `sign` a else a; numba compiles a function for each use of `max` and `min`."""

    def pick(typingctx: Any, a: Any, b: Any) -> Any:
        kind = types.intp if isinstance(a, types.Integer) and isinstance(b, types.Integer) else types.float64

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            one, two = args
            compare = builder.icmp_signed if kind is types.intp else builder.fcmp_ordered
            return builder.select(compare(sign, two, one), two, one)

        return kind(kind, kind), lower

    return intrinsic(pick)


larger: Any = _choice(">")
smaller: Any = _choice("<")
