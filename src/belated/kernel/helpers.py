"""Helper functions without a decorator: plain functions that a policy's methods call are compiled like ``inline`` ones.

numba compiles a global function only if it is decorated. So the plain functions that a policy's static methods reach by
a name (in their module, in other modules, around them) are made known to numba as kernel functions before the policy is
compiled. Their text stays as it is, and plain Python calls it as before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from belated.kernel.code_key import PARTS, code_digest, names_in, python_of, text_of
from belated.kernel.jit import JIT, inline
from belated.own_code import is_own


def reached_functions(roots: Iterable[Any]) -> Iterator[FunctionType]:
    """All functions outside this package and the libraries that functions reach, these included."""
    waiting = list(roots)
    seen: set[int] = set()
    while waiting:
        body = python_of(waiting.pop())
        if id(body) in seen or not isinstance(body, FunctionType) or not is_own(body):
            continue
        seen.add(id(body))
        yield body
        waiting += [value for _, value in names_in(body) if not hasattr(value, PARTS)]


class SeenCode(NamedTuple):
    """A function, or a value that it sees by a name, as text by which a change is noticed."""

    name: str
    text: str
    function: FunctionType


def seen_code(roots: Iterable[Any]) -> Iterator[SeenCode]:
    """The functions that :func:`reached_functions` gives, and the constants that they see."""
    for function in reached_functions(roots):
        yield SeenCode(function.__name__, f"{function.__name__} {code_digest(function.__code__)}", function)
        for name, value in names_in(function):
            yield SeenCode(name, f"{name} {text_of(name, value)}", function)


def compile_helpers(roots: Iterable[Any], typing: Any = None) -> None:
    """Let compiled code that begins at these functions call plain ones; on a CPU, or where a typing context is for."""
    if not JIT:
        return
    on_cpu = typing is None
    context: Any = cpu_target.typing_context if on_cpu else typing
    with global_compiler_lock:  # another thread may be compiling
        context.refresh()  # so that it knows all overloads
        for function in reached_functions(roots):
            if context._lookup_global(function) is None:
                context.insert_global(function, context.resolve_value_type(_as_helper(function, checks_indices=on_cpu)))


def _as_helper(function: FunctionType, *, checks_indices: bool) -> Any:
    """The function as a kernel function, which lives as long as it does: numba keeps weak references."""
    made = function.__dict__.setdefault(_HELPERS, {})
    if checks_indices not in made:
        made[checks_indices] = inline(function, checks_indices=checks_indices)
    return made[checks_indices]


_HELPERS = "_belated_helpers"
