"""The six ways to make a compiled function, compiled and in plain Python."""

from __future__ import annotations

import gc
from typing import Any, NamedTuple

import numpy as np
import pytest

from belated.kernel import intrinsics, jit
from belated.kernel.jit import JIT, class_constant, compile_for, dispatch, entry, inline, outlined, select
from belated.kernel.pipeline import KernelFunction

NEEDS_JIT = pytest.mark.skipif(not JIT, reason="nothing is compiled")


@inline
def twice(x: Any) -> Any:
    return 2.0 * x


@outlined
def squared(x: Any) -> Any:
    return twice(x) * twice(x) / 4.0


class Circle(NamedTuple):
    radius: float
    table: Any = ()

    @staticmethod
    def area(shape: Any) -> Any:
        return 3.0 * squared(shape.radius)


class Square(NamedTuple):
    side: float
    table: Any = ()

    @staticmethod
    def area(shape: Any) -> Any:
        return squared(shape.side)


class Wrong(NamedTuple):
    side: float

    @staticmethod
    def area(it: Any) -> Any:
        return it.side


@dispatch(among=(Circle, Square))
def area(shape: Any) -> Any:
    """The area of a shape."""


def _looked_up(shape: Any) -> Any:
    return shape.table[0]


lookup = select(field="table", present=_looked_up, absent=area)


class Owner:
    is_large = True
    name = "Owner"

    @staticmethod
    def grow(params: Any, x: Any) -> Any:
        return params.factor * x


class SmallOwner(Owner):
    is_large = False


class Params(NamedTuple):
    factor: float


def params_of(cls: type[Any]) -> Any:
    return type(f"Params of {cls.__name__}", (Params,), {"__slots__": (), "owner": cls})


@dispatch
def grow(params: Any, x: Any) -> Any:
    """Grow."""


@class_constant
def is_large(params: Any) -> Any:
    """Whether it is large."""


def _large(params: Any) -> Any:
    return 100.0


def _small(params: Any) -> Any:
    return 1.0


size = select(flag="is_large", present=_large, absent=_small)


@entry
def entry_of_shapes(shape: Any) -> Any:
    return area(shape), lookup(shape)


@entry
def entry_of_owners(params: Any) -> Any:
    return grow(params, 3.0), is_large(params), size(params)


def test_bodies_are_chosen_by_type() -> None:
    assert entry_of_shapes(Circle(2.0)) == (12.0, 12.0)
    assert entry_of_shapes(Square(2.0)) == (4.0, 4.0)
    assert entry_of_shapes(Square(2.0, np.array([7.0]))) == (4.0, 7.0)
    assert entry_of_owners(params_of(Owner)(2.0)) == (6.0, True, 100.0)
    assert entry_of_owners(params_of(SmallOwner)(2.0)) == (6.0, False, 1.0)
    assert (area.__name__, area.__doc__) == ("area", "The area of a shape.")
    assert (grow.__name__, is_large.__name__) == ("grow", "is_large")


def test_kernel_functions_can_be_called_from_python() -> None:
    assert twice(1.5) == 3.0
    assert squared(3.0) == 9.0
    assert isinstance(twice, KernelFunction) == JIT


@NEEDS_JIT
def test_a_body_with_other_arguments_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Wrong.area takes \(it\); the kernel calls it with \(shape\)"):
        entry_of_shapes(Wrong(1.0))


@NEEDS_JIT
def test_kernel_functions_are_finished_only_as_parts_of_entries() -> None:
    entry_of_shapes(Circle(2.0))
    assert twice.overloads  # type: ignore[attr-defined]
    for compiled in twice.overloads.values():  # type: ignore[attr-defined]
        assert compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name) == 0


@NEEDS_JIT
def test_garbage_is_not_collected_while_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    enabled = []
    before = type(entry_of_owners).compile
    monkeypatch.setattr(type(entry_of_owners), "compile", lambda *args: (enabled.append(gc.isenabled()), before(*args)))

    @entry
    def alone(x: Any) -> Any:
        return x

    assert not jit.is_compiled(alone)
    compile_for(alone, 1.0)
    compile_for(alone, 1.0)  # has code by now
    assert enabled == [False]
    assert gc.isenabled()
    assert jit.is_compiled(alone)


@NEEDS_JIT
def test_a_function_is_called_by_its_address() -> None:
    @entry(by_address=True)
    def add_up(table: Any, first: Any, b: Any, c: Any, d: Any, e: Any, f: Any, last: Any) -> None:
        numbers, out = intrinsics.array_at(table, 0, np.float64), intrinsics.array_at(table, 1, np.int64)
        out[0] = first + last + numbers.shape[0]
        for number in numbers:
            out[1] += np.int64(number)

    @entry
    def call(table: Any) -> None:
        intrinsics.call_at(table, 1, 0, 0, 0, 0, 0, 6)

    numbers, out = np.array([10.0, 20.0, 30.0]), np.zeros(2, np.int64)
    call(intrinsics.table_of(add_up(), numbers, out))
    assert out.tolist() == [10, 60]
    assert add_up() == add_up()


@entry
def views(array: Any, start: Any) -> Any:
    ones = intrinsics.strided_view(array, start, 2, 1)
    step = intrinsics.strided_view(array, start, 2, start)
    table = intrinsics.table_view(array, start, 2, 3)
    ones[0] = 100.0
    return ones.sum(), step.sum(), table[1, 2], table.shape[0], intrinsics.strided_view(array, start, 0, 1).size


def test_views() -> None:
    array = np.arange(10.0)
    assert views(array, 2) == (103.0, 104.0, 7.0, 2, 0)
    assert array[2] == 100.0


@entry
def packed(array: Any, start: Any, word: Any) -> Any:
    intrinsics.write_bytes(array, start, word)
    return intrinsics.byte_count(word)


def test_packed_bytes() -> None:
    for word in (0, 1, 255, 256, 0x010203, 2**56, 2**63 + 1):
        array = np.zeros(16, np.uint8)
        assert packed(array, 3, np.uint64(word)) == len(f"{word:x}") // 2 + len(f"{word:x}") % 2 - (word == 0)
        assert array[3:11].tobytes() == word.to_bytes(8, "little")
        assert not array[11:].any()
