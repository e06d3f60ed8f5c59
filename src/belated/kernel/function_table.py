"""Compiled code that compiled code calls by its address.

What is large and called by many entries would be compiled again into each of them. Here it is compiled once, cached on
disk, and its address is a number like any other. A *table* goes with the call: where the function is, then where each
array is that it works on and how many numbers it has.

``every`` and ``grid`` are arrays at a place in another one, for code that lays out its memory by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core.ccallback import CFunc
from numba.extending import intrinsic
from numba.np import arrayobj

from belated.kernel.cache import DiskCache
from belated.kernel.compile import uncollected
from belated.kernel.jit import JIT

NUMBERS = 6
"""How many whole numbers such a function is called with, after the table."""

_intrinsic: Any = intrinsic
_arrayobj: Any = arrayobj
_types: Any = types
_callback: Any = CFunc
_OPTIONS = {"error_model": "numpy", "_nrt": False}


def called_by_address(function: Callable[..., None]) -> Callable[[], int]:
    """The address of ``function``, compiled when it is first asked for; its arguments are a table and six whole
    numbers."""
    signature = types.void(_types.CPointer(types.uint64), *([types.int64] * NUMBERS))

    @cache
    def compiled() -> Any:  # kept: the code lives as long as this
        with uncollected():
            callback = _callback(function, (signature.args, signature.return_type), {}, _OPTIONS)
            callback._cache = DiskCache(function)
            callback.compile()
            return callback

    return lambda: int(compiled().address)


def table_of(address: int, *arrays: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    """The table of a function and its arrays, which must outlive it."""
    return np.array([address, *(number for array in arrays for number in (array.ctypes.data, array.size))], np.uint64)


@_intrinsic  # type: ignore[untyped-decorator]
def call_at(typing: Any, table: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    """Call the function of a table with it and six whole numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        numbers = list(arguments[1:])
        kind = ir.FunctionType(ir.VoidType(), [data.type, *(number.type for number in numbers)])
        builder.call(builder.inttoptr(builder.load(data), kind.as_pointer()), [data, *numbers])
        return context.get_dummy_value()

    return types.void(table, *([types.int64] * NUMBERS)), generate


@_intrinsic  # type: ignore[untyped-decorator]
def array_at(typing: Any, table: Any, place: Any, like: Any) -> Any:
    """Array number ``place`` of the table that a function was called with; ``like`` is its type of number."""
    made = types.Array(like.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def number(offset: int) -> Any:
            index = builder.add(builder.shl(arguments[1], arguments[1].type(1)), arguments[1].type(offset))
            return builder.load(builder.gep(arguments[0], [index]))

        array = context.make_array(made)(context, builder)
        item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(like.dtype)))
        _arrayobj.populate_array(
            array,
            data=builder.inttoptr(number(1), array.data.type),
            shape=[number(2)],
            strides=[item],
            itemsize=item,
            meminfo=None,
        )
        return array._getvalue()

    return made(table, types.int64, like), generate


def _sliced(array: Any, start: Any, size: Any, step: Any) -> Any:
    """(array, start, size, step): array[start : start + size * step : step] of a flat array, without the tests that a
    slice makes. The array's own size is not asked."""
    return array[start : start + (size - 1) * step + 1 : step] if size > 0 else array[:0]


def _pointed(typing: Any, array: Any, start: Any, size: Any, step: Any) -> Any:
    apart = getattr(step, "literal_value", None)
    made = types.Array(array.dtype, 1, "C" if apart == 1 else "A")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        distance = arguments[3] if apart is None else context.get_constant(types.intp, apart)
        return _array_from(context, builder, signature, arguments, made, [arguments[2]], [distance])

    return made(array, types.int64, types.int64, types.int64 if apart is None else step), generate


def _gridded(array: Any, start: Any, rows: Any, columns: Any) -> Any:
    """A view of ``rows * columns`` numbers of a flat array, from ``start`` on, as a table."""
    return array[start : start + rows * columns].reshape(rows, columns)


def _pointed_grid(typing: Any, array: Any, start: Any, rows: Any, columns: Any) -> Any:
    made = types.Array(array.dtype, 2, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = context.get_constant(types.intp, 1)
        return _array_from(context, builder, signature, arguments, made, arguments[2:], [arguments[3], one])

    return made(array, types.int64, types.int64, types.int64), generate


def _array_from(
    context: Any, builder: Any, signature: Any, arguments: Any, made: Any, shape: Any, distances: Any
) -> Any:
    """An array of type ``made`` that begins at a place of another one."""
    base = context.make_array(signature.args[0])(context, builder, arguments[0])
    part = context.make_array(made)(context, builder)
    item = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(made.dtype)))
    _arrayobj.populate_array(
        part,
        data=builder.gep(base.data, [arguments[1]]),
        shape=list(shape),
        strides=[builder.mul(item, distance) for distance in distances],
        itemsize=item,
        meminfo=None,
    )
    return part._getvalue()


every: Any = _intrinsic(prefer_literal=True)(_pointed) if JIT else _sliced
grid: Any = _intrinsic(_pointed_grid) if JIT else _gridded
