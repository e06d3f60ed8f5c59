"""The six ways to make a compiled function.

===================== =================================================================================================
``inline``            A kernel function that is copied into its callers. ``@inline`` for what is long and
                      called in one place: it becomes part of its caller before types are inferred, which compiles
                      faster. What ``inline`` makes can also be called from Python, where it is compiled on its own.
``outlined``          A kernel function for what is long and called in several places, or seldom: nothing forces a copy
                      into each caller.
``entry``             A function that Python calls, cached on disk; ``entry(function, policy_class)`` for the policies
                      of one class. ``@entry(by_address=True)`` for what compiled code calls by its address (see
                      :mod:`belated.kernel.intrinsics`): compiled once instead of into every entry.
``dispatch``          A kernel function with a body for each policy: the static method of its name in the policy's
                      class. ``@dispatch(among=classes)`` finds it in the class of its first argument, a named tuple.
``select``            A kernel function with two bodies, chosen by types: by whether a field is an array or an empty
                      tuple (``field``), or by a flag of the policy's class (``flag``).
``class_constant``    A flag of the policy's class, which compiled code sees as a constant.
===================== =================================================================================================

Kernel functions are compiled as a part of entries (:mod:`belated.kernel.pipeline`), entries are kept on disk
(:mod:`belated.kernel.cache`). Division by zero gives inf or NaN in compiled code and an exception in plain Python:
kernel code never divides by zero.

With ``NUMBA_DISABLE_JIT=1`` all of them leave plain Python behind, which gives the same bits."""

from __future__ import annotations

import atexit
import gc
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from typing import Any, TypeVar, overload

import numba
import numpy as np
from numba import extending, types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from belated.kernel.cache import DiskCache
from belated.kernel.code_key import PARTS
from belated.kernel.pipeline import KernelFunction, LinkedCompiler
from belated.own_code import is_own

COMPILE_ERRORS = (NumbaError, UnsupportedBytecodeError)
"""What numba raises where it cannot compile a function."""

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config
_extending: Any = extending
_callback: Any = CFunc
_pointer: Any = types.CPointer

JIT = not _config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``."""

SIMULATED = bool(_config.ENABLE_CUDASIM)
"""True under ``NUMBA_ENABLE_CUDASIM=1``: a GPU's threads are played by Python; needs ``NUMBA_DISABLE_JIT=1`` too."""

ADDRESS_ARGUMENTS = 7
"""How many integers a function is called with by its address, after the table of its arrays."""

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_ENTRY: dict[str, Any] = {**_OPTIONS, "no_cfunc_wrapper": True}
_OUTLINED: dict[str, Any] = {**_ENTRY, "no_cpython_wrapper": True}
_INLINE: dict[str, Any] = {**_OUTLINED, "forceinline": True}
_CHECKED: dict[str, Any] = {"boundscheck": True, "error_model": "python"}
_NAMED = (types.NamedTuple, types.NamedUniTuple)


# ---- inline, outlined ----


def inline(function: F, *, checks_indices: bool = False) -> F:
    """Make a kernel function that is copied into its callers. With ``checks_indices`` an index out of bounds raises an
    IndexError (see :mod:`belated.kernel.pipeline`), and a division by zero a ZeroDivisionError; not on a GPU."""
    return _kernel_function(function, {**_INLINE, **(_CHECKED if checks_indices else {})})


def outlined(function: F) -> F:
    """Make a kernel function that the optimiser may leave out of its callers. numba passes
    ``forceinline`` on to what an inlined function calls: this is for what outlined functions and entries call."""
    return _kernel_function(function, _OUTLINED)


def _kernel_function(function: F, options: dict[str, Any]) -> F:
    return KernelFunction(function, options) if JIT else function


# ---- entry ----


@overload
def entry(function: F, policy_class: type[Any] | None = None) -> F: ...
@overload
def entry(*, by_address: bool) -> Callable[[Callable[..., None]], Callable[[], int]]: ...
def entry(function: Any = None, policy_class: type[Any] | None = None, *, by_address: bool = False) -> Any:
    """Make a function that Python calls, cached on disk. With ``by_address``: return a function that gives its address,
    and compiles it when that is first needed; its arguments are a table and ``ADDRESS_ARGUMENTS`` integers."""
    if function is None:
        return _address_of if by_address else entry
    result: Any = numba.njit(function, **_ENTRY)
    if JIT:
        result._cache = DiskCache(function, policy_class)
    return result


def _address_of(function: Callable[..., None]) -> Callable[[], int]:
    arguments = (_pointer(types.uint64), *[types.int64] * ADDRESS_ARGUMENTS)

    @cache
    def compiled() -> Any:  # kept: the code lives as long as this
        callback = _callback(function, (arguments, types.void), {}, _OPTIONS)
        callback._cache = DiskCache(function)
        with without_garbage_collection(), compiling(function):
            callback.compile()
        return callback

    return lambda: int(compiled().address)


_lock = threading.RLock()


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while compiling: numba makes millions of objects that stay, and searching them again and
    again took a seventh to a quarter of the time."""
    with _lock:  # as the compiler itself
        _free_nothing_at_exit()
        enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if enabled:
                gc.enable()


@cache
def _free_nothing_at_exit() -> None:
    """Let the process end without searching those objects once more, which took 0.4 s."""
    atexit.register(gc.freeze)


_now: list[Any] = []


@contextmanager
def compiling(code: Any) -> Iterator[None]:
    """In this context, :func:`now_compiling` gives ``code``."""
    _now.append(code)
    try:
        yield
    finally:
        _now.pop()


def now_compiling() -> Any:
    """What this process compiles or loads at the moment: an entry, what is called by its address, or the key of a
    kernel of the GPU; None if nothing is."""
    return next(iter(_now[-1:]), None)


def compile_for(function: Callable[..., Any], *arguments: Any) -> None:
    """Compile an entry for arguments of these types, or load it, unless it has code in this process."""
    dispatcher: Any = function
    if not is_compiled(function):
        with without_garbage_collection(), compiling(function):
            dispatcher.compile(tuple(dispatcher.typeof_pyval(value) for value in arguments))


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether an entry has code in this process; plain Python needs none."""
    return bool(getattr(function, "overloads", True))


# ---- dispatch, select, class_constant ----


@overload
def dispatch(stub: F) -> F: ...
@overload
def dispatch(*, among: tuple[type[Any], ...]) -> Callable[[F], F]: ...
def dispatch(stub: Any = None, *, among: tuple[type[Any], ...] = ()) -> Any:
    """Make a kernel function whose body is the static method of the stub's name: of the policy's class (the ``owner``
    of the first argument's type), or of that type itself, one of ``among``. The stub gives signature and
    documentation."""
    if stub is None:
        return partial(dispatch, among=among)
    name = stub.__name__
    expected = arguments_of(stub)

    def body_for(first: Any, *_: Any) -> Callable[..., Any] | None:
        if not isinstance(first, _NAMED):
            return None
        owner = _owner(first.instance_class)
        body = getattr(owner, name)
        parameters = arguments_of(body)
        if parameters != expected:
            raise TypeError(
                f"{owner.__name__}.{name} takes ({', '.join(parameters)}); the kernel calls it with "
                f"({', '.join(expected)}): give its arguments these names."
            )
        return _written(body)

    def call(first: Any, *rest: Any) -> Any:
        return getattr(_owner(type(first)), name)(first, *rest)

    setattr(call, ARGUMENTS, expected)
    return _chosen(stub, call, body_for, lambda owner: [(name, getattr(cls, name, None)) for cls in among or (owner,)])


ARGUMENTS = "_belated_arguments"
"""Attribute of a ``dispatch`` function: the names of the arguments that its bodies must have."""


def arguments_of(function: Any) -> list[str]:
    """The names of a function's arguments; of a ``dispatch`` function those that its bodies must have."""
    return list(getattr(function, ARGUMENTS, None) or inspect.signature(function).parameters)


def select(*, present: F, absent: F, field: str = "", flag: str = "") -> F:
    """Make a kernel function that is ``present`` or ``absent``: by whether a field of one of its arguments, all named
    tuples with such a field, is an array; or by a flag of the policy's class, whose ``KernelParams`` come first."""

    def bodies(owner: Any) -> list[tuple[str, Any]]:
        if field:
            return [(field, present), ("", absent)]
        return [(flag, present if getattr(owner, flag, False) else absent)]

    def body_for(*arguments: Any) -> Callable[..., Any]:
        if field:
            is_present = any(isinstance(_field(each, field), types.Array) for each in arguments)
        else:
            is_present = getattr(_owner(arguments[0].instance_class), flag)
        return _written(present if is_present else absent, *arguments)

    def call(*arguments: Any) -> Any:
        if field:
            is_present = any(getattr(getattr(each, field, ()), "ndim", 0) > 0 for each in arguments)
        else:
            is_present = getattr(_owner(type(arguments[0])), flag)
        return (present if is_present else absent)(*arguments)

    return _chosen(present, call, body_for, bodies)


def class_constant(stub: F) -> F:
    """Make a kernel function that gives the flag of the stub's name, of the policy's class, as a constant."""
    name = stub.__name__

    def call(policy: Any) -> Any:
        return getattr(_owner(type(policy)), name)

    def constant(typing: Any, policy: Any) -> Any:
        value = bool(getattr(_owner(policy.instance_class), name))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_constant(types.boolean, value)

        return types.boolean(policy), generate

    for each in (call, constant):
        each.__name__ = each.__qualname__ = name
        each.__doc__ = stub.__doc__
    result: Any = call
    if JIT:
        result = _extending.intrinsic(constant)
        result.__class__ = _Constant
        result.plain = call
    setattr(result, PARTS, lambda owner: [(name, bool(getattr(owner, name, False)))])
    return result  # type: ignore[no-any-return]


class _Constant(_extending._Intrinsic):  # type: ignore[misc]
    """An intrinsic that plain Python can call, too."""

    plain: Any

    def __call__(self, policy: Any) -> Any:
        return self.plain(policy)


_BODY_FOR = "_belated_body_for"
"""Attribute of a function with several bodies: gives that for arguments of these types."""


def _chosen(stub: F, call: Any, body_for: Callable[..., Any], parts: Callable[[Any], Any]) -> F:
    """``call``, named as the stub, which compiled code sees as the body that ``body_for`` gives."""
    call.__name__ = call.__qualname__ = stub.__name__
    call.__doc__ = stub.__doc__
    setattr(call, _BODY_FOR, body_for)
    setattr(call, PARTS, parts)
    options = {**_INLINE, "pipeline_class": LinkedCompiler}
    for more, is_checked in ((_CHECKED, True), ({}, False)):
        overload = _extending.overload(call, jit_options={**options, **more}, strict=False, target="cpu")
        overload(_if_own(body_for, is_checked))
    _extending.overload(call, jit_options=_INLINE, strict=False)(body_for)  # for a GPU
    return call  # type: ignore[no-any-return]


def _if_own(body_for: Callable[..., Any], is_own_body: bool) -> Callable[..., Any]:
    """Gives a body only if it belongs to a user, or only if it does not."""

    def chosen(*arguments: Any) -> Any:
        body = body_for(*arguments)
        return body if body is not None and is_own(body) == is_own_body else None

    return chosen


def _written(function: Any, *arguments: Any) -> Callable[..., Any]:
    """A function as it was written; of one with several bodies that for arguments of these types."""
    if hasattr(function, _BODY_FOR):
        return getattr(function, _BODY_FOR)(*arguments)  # type: ignore[no-any-return]
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


def _owner(cls: Any) -> Any:
    return getattr(cls, "owner", cls)


def _field(argument: Any, name: str) -> Any:
    """The type of a named tuple's field, if it has one of this name."""
    return dict(zip(argument.fields, argument.types, strict=True)).get(name) if isinstance(argument, _NAMED) else None


def ignore_overflow() -> Any:
    """A context in which plain Python does not warn that 64-bit arithmetic wraps around, as it must."""
    return nullcontext() if JIT else np.errstate(over="ignore")
