"""What compiled code does with memory and words, and Python has no expression for.

*Calls by address*: what is large and called by many entries would be compiled again into each of them. With
``@entry(by_address=True)`` it is compiled once, and its address is a number like any other. It is called with a
*table*: its own address, then the address and size of each array that it works on.

*Views*: arrays at a place in another one, for code that lays out its memory by itself.

*Atomic additions*: into memory that the threads of a GPU share.

*Packed bytes*: a word of 64 bits as a short list of up to eight bytes, none of them 0."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import extending, types
from numba.np import arrayobj

from belated.kernel.code_key import PARTS
from belated.kernel.jit import ADDRESS_ARGUMENTS, JIT

_extending: Any = extending
_arrayobj: Any = arrayobj


def _intrinsic(python: Callable[..., Any], typed: Callable[..., Any], *, literal: bool = False) -> Any:
    """``python`` where nothing is compiled; compiled code has what ``typed`` generates instead."""
    result: Any = _extending.intrinsic(prefer_literal=literal)(typed) if JIT else python
    setattr(result, PARTS, lambda _: [("", python), ("", typed)])
    return result


# ---- calls by address ----


def table_of(address: int, *arrays: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """The table of a function and its arrays, which must outlive it."""
    return np.array([address, *(number for array in arrays for number in (array.ctypes.data, array.size))], np.uint64)


def _no_call(table: Any, *arguments: Any) -> Any:
    """(table, seven integers): call the function of a table."""
    raise NotImplementedError


def _call(typing: Any, table: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        integers = list(arguments[1:])
        function = ir.FunctionType(ir.VoidType(), [data.type, *(integer.type for integer in integers)])
        builder.call(builder.inttoptr(builder.load(data), function.as_pointer()), [data, *integers])
        return context.get_dummy_value()

    return types.void(table, *([types.int64] * ADDRESS_ARGUMENTS)), generate


def _no_array(table: Any, number: Any, dtype: Any) -> Any:
    """(table, number, dtype): array ``number`` of the table that a function was called with."""
    raise NotImplementedError


def _array(typing: Any, table: Any, number: Any, dtype: Any) -> Any:
    result = types.Array(dtype.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def word(offset: int) -> Any:
            index = builder.add(builder.shl(arguments[1], arguments[1].type(1)), arguments[1].type(offset))
            return builder.load(builder.gep(arguments[0], [index]))

        pointer = builder.inttoptr(word(1), context.get_data_type(dtype.dtype).as_pointer())
        return _array_at(context, builder, result, pointer, [word(2)], [context.get_constant(types.intp, 1)])

    return result(table, types.int64, dtype), generate


call_at = _intrinsic(_no_call, _call)
array_at = _intrinsic(_no_array, _array)


# ---- views ----


def _slice(array: Any, start: Any, size: Any, step: Any) -> Any:
    """(array, start, size, step): array[start : start + size * step : step] of a flat array, without the checks of a
    slice."""
    return array[start : start + (size - 1) * step + 1 : step] if size > 0 else array[:0]


def _strided(typing: Any, array: Any, start: Any, size: Any, step: Any) -> Any:
    literal = getattr(step, "literal_value", None)
    result = types.Array(array.dtype, 1, "C" if literal == 1 else "A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        distance = arguments[3] if literal is None else context.get_constant(types.intp, literal)
        pointer = _pointer_into(context, builder, signature, arguments)
        return _array_at(context, builder, result, pointer, [arguments[2]], [distance])

    return result(array, types.int64, types.int64, types.int64 if literal is None else step), generate


def _reshape(array: Any, start: Any, rows: Any, columns: Any) -> Any:
    """(array, start, rows, columns): the numbers of a flat array from ``start`` on, as a table."""
    return array[start : start + rows * columns].reshape(rows, columns)


def _table(typing: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
    result = types.Array(array.dtype, 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        distances = [arguments[3], context.get_constant(types.intp, 1)]
        pointer = _pointer_into(context, builder, signature, arguments)
        return _array_at(context, builder, result, pointer, list(arguments[2:]), distances)

    return result(array, types.int64, types.int64, types.int64), generate


def _pointer_into(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where item ``arguments[1]`` of the array ``arguments[0]`` is."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _array_at(context: Any, builder: Any, array_type: Any, pointer: Any, shape: Any, distances: Any) -> Any:
    """An array that begins at the pointer; distances between items are counted in items."""
    array = context.make_array(array_type)(context, builder)
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(array_type.dtype)))
    _arrayobj.populate_array(
        array,
        data=pointer,
        shape=shape,
        strides=[builder.mul(item, distance) for distance in distances],
        itemsize=item,
        meminfo=None,
    )
    return array._getvalue()


strided_view = _intrinsic(_slice, _strided, literal=True)
table_view = _intrinsic(_reshape, _table)


# ---- atomic additions ----

_adding = threading.Lock()
_begin_adding, _end_adding = _adding.acquire, _adding.release  # a lock itself would leave the code without a key


def _add(table: Any, row: Any, column: Any, number: Any) -> None:
    """(table, row, column, number): add a whole number to one of a table, which other threads add to as well."""
    _begin_adding()
    table[row, column] += table.dtype.type(number)
    _end_adding()


def _add_atomically(typing: Any, table: Any, row: Any, column: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = builder.add(builder.mul(arguments[1], builder.extract_value(array.shape, 1)), arguments[2])
        builder.atomic_rmw("add", builder.gep(array.data, [index]), arguments[3], "monotonic")
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64, table.dtype), generate


atomic_add = _intrinsic(_add, _add_atomically)


# ---- packed bytes ----

BYTE = np.uint64(8)
"""Bits by which a word is shifted to make room for a byte."""
FULL = np.uint64(56)
"""A word that is not 0 when shifted by this many bits has no room for another byte."""


def _bytes_in(word: Any) -> Any:
    """(word): how many bytes it holds."""
    return np.int64(-(-int(word).bit_length() // 8))


def _count(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = arguments[0].type
        bits = builder.sub(integer(71), builder.ctlz(arguments[0], ir.IntType(1)(0)))
        return builder.lshr(bits, integer(3))

    return types.int64(types.uint64), generate


def _write(array: Any, start: Any, word: Any) -> None:
    """(array, start, word): write the eight bytes of a word into an array of bytes, the lowest first (all processors
    that numba supports are little-endian). There must be room."""
    array[start : start + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def _store(typing: Any, array: Any, start: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        target = builder.bitcast(builder.gep(data, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], target, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


byte_count = _intrinsic(_bytes_in, _count)
write_bytes = _intrinsic(_write, _store)
