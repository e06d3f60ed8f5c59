"""Words of 64 bits as up to eight bytes, none of them 0: a short list that one number holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from belated.kernel.jit import JIT

FULL = np.uint64(56)
"""A word that is not 0 when shifted so far has no room for another byte."""
BYTE = np.uint64(8)

_intrinsic: Any = intrinsic


def _length(word: Any) -> Any:
    """(word): how many bytes it holds."""
    return np.int64(-(-int(word).bit_length() // 8))


def _counted(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        used = builder.sub(kind(71), builder.ctlz(arguments[0], ir.IntType(1)(0)))
        return builder.lshr(used, kind(3))

    return types.int64(types.uint64), generate


def _write(array: Any, place: Any, word: Any) -> None:
    """(array, place, word): write the eight bytes of a word into an array of bytes from ``place`` on, the lowest one
    first, as the processors do that numba is for. Whether there is room is not asked."""
    array[place : place + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)


def _written(typing: Any, array: Any, place: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        goal = builder.bitcast(builder.gep(data, [arguments[1]]), arguments[2].type.as_pointer())
        builder.store(arguments[2], goal, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), generate


length: Any = _intrinsic(_counted) if JIT else _length
write: Any = _intrinsic(_written) if JIT else _write
