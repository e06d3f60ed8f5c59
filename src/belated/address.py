"""Compiled code that compiled code calls by its address.

What is large and called by many entries would be compiled again into each of them. Here it is compiled once, cached on
disk, and its address is a number like any other. A *table* goes with the call: where the function is, then where each
array is that it works on and how many numbers it has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from belated.kernel import cache_folder, kept_in

NUMBERS = 6
"""How many whole numbers such a function is called with, after the table."""

_intrinsic: Any = intrinsic
_arrayobj: Any = arrayobj
_types: Any = types
_cfunc: Any = numba.cfunc


def called_by_address(function: Callable[..., None]) -> Callable[[], int]:
    """The address of ``function``, compiled when it is first asked for; its arguments are a table and six whole
    numbers."""
    signature = types.void(_types.CPointer(types.uint64), *([types.int64] * NUMBERS))

    @cache
    def compiled() -> Any:  # kept: the code lives as long as this
        with kept_in(cache_folder()) as kept:
            return _cfunc(signature, cache=kept, error_model="numpy", _nrt=False)(function)

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
