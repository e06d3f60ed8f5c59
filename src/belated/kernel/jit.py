"""The only module that configures numba.

``compiled`` makes a function part of the kernel. ``entry`` is a compiled function that Python calls; it is cached on
disk. ``dispatched`` is a kernel function whose body depends on the policy it is called for.

With ``NUMBA_DISABLE_JIT=1`` all three leave plain Python behind, which gives the same bits.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.extending import intrinsic, overload

COMPILE_ERRORS = (NumbaError, UnsupportedBytecodeError)
"""What numba raises where it cannot compile a function."""

F = TypeVar("F", bound=Callable[..., Any])

_config: Any = numba.config

JIT = not _config.DISABLE_JIT
"""False under ``NUMBA_DISABLE_JIT=1``."""

SIMULATED = bool(_config.ENABLE_CUDASIM)
"""True under ``NUMBA_ENABLE_CUDASIM=1``: a GPU's threads are played by Python; needs ``NUMBA_DISABLE_JIT=1`` too."""

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
_INLINE: Any = {**_OPTIONS, "forceinline": True}
_INNER: Any = {**_INLINE, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


_COMPILED = ("kernel/*.py", "engine/*.py", "engine/gpu/*.py", "policies/*.py", "policies/_base/*.py")
"""The package's files that hold compiled code."""


def compiled(function: F) -> F:
    """Make ``function`` part of the kernel: compiled where it is called from compiled code or from Python.

    Division by zero gives inf or NaN in compiled code and an exception in plain Python: kernel code never divides by
    zero."""
    result: F = numba.njit(function, **_INLINE)
    return result


def inline(function: F) -> F:
    """``compiled`` for what only compiled code calls: no way in from Python is built, which halves the time to
    compile."""
    result: F = numba.njit(function, **_INNER)
    return result


def merged(function: F) -> F:
    """``inner`` for what is large and called in one place: it becomes part of its caller before that is compiled, so
    that it is not optimised once for itself and again with each caller up to the entry."""
    result: F = numba.njit(function, inline="always", **_INNER)
    return result


def outlined(function: F) -> F:
    """``compiled`` for what is large and called in several places or seldom: nothing forces a copy into each of its
    callers. Numba hands that force on from a caller that is copied itself; elsewhere the optimiser decides."""
    result: F = numba.njit(function, **_OPTIONS)
    return result


def entry(function: F) -> F:
    """A compiled function that Python calls, cached on disk and recompiled when any source of the package changes."""
    return _cached(function, cache_folder())


def policy_entry(function: F, name: str) -> F:
    """``entry`` for one of the package's policies. It has a folder of its own, because numba lists all code of a
    function in one file: of two processes that add to it at the same time, one would be forgotten."""
    folder = cache_folder()
    return _cached(function, None if folder is None else folder / name)


def private_entry(function: F, files: set[str], values: set[str]) -> F:
    """``entry`` whose cached code also depends on other files and on values (those of a user's own policy).

    An empty name stands for code that has no file, such as a notebook's: it is compiled anew in every process.
    """
    return _cached(function, private_folder(files, values))


def private_folder(files: set[str], values: set[str]) -> Path | None:
    """Where code is kept that also depends on other files and on values; see :func:`private_entry`."""
    folder = cache_folder()
    if folder is None or "" in files:
        return None
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.encode())
        digest.update(Path(file).read_bytes())
    digest.update("\0".join(sorted(values)).encode())
    return folder / f"own-{digest.hexdigest()[:16]}"


_configuring = threading.Lock()


def _cached(function: F, folder: Path | None) -> F:
    """``function`` compiled, its code kept in ``folder``; without one it is compiled anew in every process."""
    with cache_dir(folder) as kept:
        result: F = numba.njit(function, cache=True, **_OPTIONS) if kept else outlined(function)
    return result


@contextmanager
def cache_dir(folder: Path | None, settings: str = "numba.core.config") -> Iterator[bool]:
    """A context in which numba keeps the code of what is decorated in a folder; whether it can. ``settings`` is the
    module that says where."""
    if folder is None or not _writable(folder):
        yield False
        return
    config: Any = import_module(settings)
    with _configuring:  # the folder is a global setting of numba's, read when a function is decorated
        before = config.CACHE_DIR
        config.CACHE_DIR = str(folder)
        try:
            yield True
        finally:
            config.CACHE_DIR = before


def _writable(folder: Path) -> bool:
    """Whether compiled code can be kept in the folder; numba would else keep it beside the sources, unseen."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def cache_folder() -> Path | None:
    """Where compiled code is kept: ``$BELATED_CACHE_DIR`` or the user's cache, one folder for each state of the
    sources.

    numba looks only at the file of the function it compiles; the hash in the folder's name sees edits in all the
    others."""
    base = os.environ.get("BELATED_CACHE_DIR")
    try:
        root = Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "belated"
        folder = root / source_hash()
        if folder.is_dir():
            os.utime(folder)  # in use
        else:
            _forget_old(root)
    except (OSError, RuntimeError):  # no home, no right
        return None
    return folder


def _forget_old(root: Path) -> None:
    """Remove the compiled code of sources that nobody used for a month."""
    limit = time.time() - 30 * 86400
    for old in root.glob("*") if root.is_dir() else ():
        if old.is_dir() and re.fullmatch("[0-9a-f]{16}", old.name) and old.stat().st_mtime < limit:
            shutil.rmtree(old, ignore_errors=True)


@cache
def source_hash() -> str:
    """Tells one state of the sources with compiled code, and numba's version, from another."""
    digest = hashlib.sha256(numba.__version__.encode())
    package = Path(__file__).parent.parent
    for path in sorted(path for part in _COMPILED for path in package.glob(part)):
        digest.update(path.relative_to(package).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def ignore_overflow() -> Any:
    """A context in which plain Python does not warn that 64-bit arithmetic wraps around, as it must."""
    return nullcontext() if JIT else np.errstate(over="ignore")


def dispatch(stub: F) -> F:
    """A kernel function whose body is chosen by the policy in its first argument.

    The first argument is a policy's ``Parameters`` (a named tuple). Its ``owner``, the policy's class, holds the body
    as a static method of the stub's name. Compiled code is specialised for each policy, so that the body is inlined;
    plain Python looks it up. The stub itself gives the signature and the documentation."""
    name = stub.__name__
    expected = list(inspect.signature(stub).parameters)

    def body_of(parameters: Any) -> Callable[..., Any]:
        body = getattr(parameters.owner, name)
        found = list(inspect.signature(body).parameters)
        if found != expected:
            raise TypeError(
                f"{parameters.owner.__name__}.{name} takes ({', '.join(found)}); the kernel calls it with "
                f"({', '.join(expected)}): name its arguments so."
            )
        return _body(body)

    def plain(parameters: Any, *rest: Any) -> Any:
        return getattr(type(parameters).owner, name)(parameters, *rest)

    plain.__name__ = plain.__qualname__ = name
    plain.__doc__ = stub.__doc__

    def typed(*arguments: Any) -> Callable[..., Any] | None:
        first = arguments[0]
        return body_of(first.instance_class) if isinstance(first, types.NamedTuple | types.NamedUniTuple) else None

    overload(plain, jit_options=_INNER, strict=False)(typed)
    return plain  # type: ignore[return-value]


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
    overload(plain, jit_options=_INNER, strict=False)(typed)
    plain.typed = typed  # type: ignore[attr-defined]
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
    overload(plain, jit_options=_INNER, strict=False)(typed)
    plain.typed = typed  # type: ignore[attr-defined]
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
    made: Any = intrinsic(typed) if JIT else plain
    return made  # type: ignore[no-any-return]
