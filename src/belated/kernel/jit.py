"""The only module that configures numba.

``compiled`` makes a function part of the kernel. ``entry`` is a compiled function that Python calls; it is cached on
disk. ``dispatched`` is a kernel function whose body depends on the policy it is called for.

With ``NUMBA_DISABLE_JIT=1`` all three leave plain Python behind, which gives the same bits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

import numba
import numpy as np
from numba import extending, types
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from belated.kernel.cache import PARTS, DiskCache
from belated.kernel.pipeline import KernelFunction, LinkedCompiler

COMPILE_ERRORS = (NumbaError, UnsupportedBytecodeError)
"""What numba raises where it cannot compile a function."""

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config
_extending: Any = extending

JIT = not _config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``."""

SIMULATED = bool(_config.ENABLE_CUDASIM)
"""True under ``NUMBA_ENABLE_CUDASIM=1``: a GPU's threads are played by Python; needs ``NUMBA_DISABLE_JIT=1`` too."""

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_OUTLINED: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True}
_INLINE: dict[str, Any] = {**_OUTLINED, "forceinline": True}


def compiled(function: F) -> F:
    """Make ``function`` part of the kernel: compiled where it is called from compiled code or from Python.

    Division by zero gives inf or NaN in compiled code and an exception in plain Python: kernel code never divides by
    zero."""
    return _kernel_function(function, _INLINE)


def inline(function: F) -> F:
    """``compiled`` for what only compiled code calls: no way in from Python is built, which halves the time to
    compile."""
    return _kernel_function(function, _INLINE)


def merged(function: F) -> F:
    """``inner`` for what is large and called in one place: it becomes part of its caller before that is compiled, so
    that it is not optimised once for itself and again with each caller up to the entry."""
    return _kernel_function(function, {**_INLINE, "inline": "always"})


def outlined(function: F) -> F:
    """``compiled`` for what is large and called in several places or seldom: nothing forces a copy into each of its
    callers. Numba hands that force on from a caller that is copied itself; elsewhere the optimiser decides."""
    return _kernel_function(function, _OUTLINED)


def entry(function: F, owner: type[Any] | None = None) -> F:
    """A compiled function that Python calls, cached on disk; for the policies of one class, if it is given."""
    result: Any = numba.njit(function, **_OPTIONS)
    if JIT:
        result._cache = DiskCache(function, owner)
    return result  # type: ignore[no-any-return]


def _kernel_function(function: F, options: dict[str, Any]) -> F:
    return KernelFunction(function, options) if JIT else function


def _overload(stub: Any, bodies: Callable[..., Any]) -> None:
    """Let compiled code call ``stub`` with the body that ``bodies`` gives for the types of its arguments."""
    options = {**_INLINE, "pipeline_class": LinkedCompiler}
    _extending.overload(stub, jit_options=options, strict=False, target="cpu")(bodies)
    _extending.overload(stub, jit_options=_INLINE, strict=False)(bodies)  # on a GPU


def ignore_overflow() -> Any:
    """A context in which plain Python does not warn that 64-bit arithmetic wraps around, as it must."""
    return nullcontext() if JIT else np.errstate(over="ignore")


def dispatch(stub: F, classes: tuple[type[Any], ...] = ()) -> F:
    """A kernel function whose body is chosen by the type of its first argument, a named tuple.

    The body is the static method of the stub's name of that type, one of ``classes``; or without these, of its
    ``owner``: a policy's ``KernelParams`` are owned by the policy's class. Compiled code is specialised for each type,
    so that the body is inlined; plain Python looks it up. The stub itself gives the signature and the documentation."""
    name = stub.__name__
    expected = list(inspect.signature(stub).parameters)

    def body_of(parameters: Any) -> Callable[..., Any]:
        owner = getattr(parameters, "owner", parameters)
        body = getattr(owner, name)
        found = list(inspect.signature(body).parameters)
        if found != expected:
            raise TypeError(
                f"{owner.__name__}.{name} takes ({', '.join(found)}); the kernel calls it with "
                f"({', '.join(expected)}): name its arguments so."
            )
        return _body(body)

    def plain(parameters: Any, *rest: Any) -> Any:
        owner = getattr(type(parameters), "owner", type(parameters))
        return getattr(owner, name)(parameters, *rest)

    plain.__name__ = plain.__qualname__ = name
    plain.__doc__ = stub.__doc__

    def typed(*arguments: Any) -> Callable[..., Any] | None:
        first = arguments[0]
        return body_of(first.instance_class) if isinstance(first, types.NamedTuple | types.NamedUniTuple) else None

    _overload(plain, typed)
    setattr(plain, PARTS, lambda owner: [(name, getattr(cls, name, None)) for cls in classes or (owner,)])
    return plain  # type: ignore[return-value]


def dispatch_among(*classes: type[Any]) -> Callable[[F], F]:
    """:func:`dispatch` on named tuples of these classes, which hold the bodies themselves."""
    return lambda stub: dispatch(stub, classes)


def _body(function: Any, *arguments: Any) -> Callable[..., Any]:
    """A function as it was written; of one with two bodies that for arguments of these types."""
    if hasattr(function, "typed"):
        return function.typed(*arguments)  # type: ignore[no-any-return]
    return getattr(function, "py_func", function)  # type: ignore[no-any-return]


def select_by_field(field: str, present: F, absent: F) -> F:
    """A kernel function with two bodies: ``present`` where this field of one of its arguments, a named tuple, is an
    array, ``absent`` where it is an empty tuple. Compiled code has one of them alone."""

    def plain(*arguments: Any) -> Any:
        found = any(getattr(getattr(given, field, ()), "ndim", 0) > 0 for given in arguments)
        return (present if found else absent)(*arguments)

    def typed(*arguments: Any) -> Callable[..., Any]:
        named = (types.NamedTuple, types.NamedUniTuple)
        fields = [dict(zip(given.fields, given.types, strict=True)) for given in arguments if isinstance(given, named)]
        found = any(isinstance(given.get(field), types.Array) for given in fields)
        return _body(present if found else absent, *arguments)

    plain.__name__ = plain.__qualname__ = present.__name__
    plain.__doc__ = present.__doc__
    _overload(plain, typed)
    plain.typed = typed  # type: ignore[attr-defined]
    setattr(plain, PARTS, lambda _: [(field, present), ("", absent)])
    return plain  # type: ignore[return-value]


def select_by_flag(fact: str, present: F, absent: F) -> F:
    """A kernel function with two bodies: ``present`` where this attribute of a policy's class, whose ``Parameters`` is
    the first argument, is true, else ``absent``. Compiled code has one of them alone."""

    def plain(policy: Any, *rest: Any) -> Any:
        return (present if getattr(type(policy).owner, fact) else absent)(policy, *rest)

    def typed(policy: Any, *rest: Any) -> Callable[..., Any]:
        return _body(present if getattr(policy.instance_class.owner, fact) else absent, policy, *rest)

    plain.__name__ = plain.__qualname__ = present.__name__
    plain.__doc__ = present.__doc__
    _overload(plain, typed)
    plain.typed = typed  # type: ignore[attr-defined]
    setattr(plain, PARTS, lambda owner: [(fact, present if getattr(owner, fact, False) else absent)])
    return plain  # type: ignore[return-value]


def class_constant(stub: F) -> F:
    """A fact about a policy, true or false: an attribute of its class that compiled code sees as a constant."""
    name = stub.__name__

    def plain(parameters: Any) -> Any:
        return getattr(type(parameters).owner, name)

    def typed(typing: Any, policy: Any) -> Any:
        fact = bool(getattr(policy.instance_class.owner, name))

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_constant(types.boolean, fact)

        return types.boolean(policy), generate

    plain.__name__ = plain.__qualname__ = typed.__name__ = typed.__qualname__ = name
    plain.__doc__ = typed.__doc__ = stub.__doc__
    made: Any = _extending.intrinsic(typed) if JIT else plain
    setattr(made, PARTS, lambda owner: [(name, bool(getattr(owner, name, False)))])
    return made  # type: ignore[no-any-return]
