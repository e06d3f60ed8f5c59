"""Read the code of a policy's methods and helpers: what cannot be compiled, and global randomness.

It sees every line, also those that a short game does not reach."""

from __future__ import annotations

import dis
import random
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from belated.policies._mistakes import Location, policy_error

_NO_LIST = "Write a loop that keeps numbers, use state.memory for more, or a tuple of fixed length such as (a, b)."
_OPERATIONS = {
    **dict.fromkeys(("BUILD_LIST", "LIST_APPEND", "LIST_EXTEND"), ("makes a list", _NO_LIST)),
    **dict.fromkeys(("BUILD_MAP", "BUILD_CONST_KEY_MAP", "MAP_ADD"), ("makes a dict", _NO_LIST)),
    **dict.fromkeys(("BUILD_SET", "SET_ADD"), ("makes a set", _NO_LIST)),
    **dict.fromkeys(
        ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "BUILD_STRING"),
        ("makes a string", "Compute with numbers; leave texts out."),
    ),
    "RAISE_VARARGS": (
        "raises an error (or asserts)",
        "Check parameters by a Domain of the field, or in kernel_params; in a formula, return a number for that case.",
    ),
    "PUSH_EXC_INFO": ("has a try", "Test for the case with if, before it goes wrong."),
    **dict.fromkeys(("BEFORE_WITH", "LOAD_SPECIAL"), ("has a with", "Leave it out: formulas use numbers alone.")),
    "IMPORT_NAME": ("imports", "Import at the top of the file."),
    **dict.fromkeys(("STORE_GLOBAL", "DELETE_GLOBAL"), ("changes a global variable", "Keep numbers in state.memory.")),
    **dict.fromkeys(("YIELD_VALUE", "RETURN_GENERATOR"), ("is a generator", "Write a loop in the method itself.")),
    "LOAD_BUILD_CLASS": ("defines a class", "Define it at the top of the file."),
}
"""What numba cannot compile here, since compiled policies allocate no memory."""

_RANDOM = ("random", "numpy.random", "secrets", "time", "datetime", "uuid", "os")
_GENERATORS = (random.Random, np.random.Generator, np.random.RandomState)
_USE_STREAM = (
    "Draw from the policy's own stream: to_unit(word(state.key[0], state.key[1], now, 0)) is uniform on (0, 1), and "
    "further last arguments 1, 2, ... give more of them in a round (from belated.policies import to_unit, word)."
)


def scan(policy: type[Any], functions: Iterable[FunctionType]) -> None:
    """Raise a PolicyError for the first line that cannot be compiled or is not repeatable."""
    for function in functions:
        try:
            _scan_code(function.__code__, function)
            _check_returns(function)
        except _Found as found:
            message, where, advice = found.args
            raise policy_error(f"{policy.__name__}: {message}", where, advice) from None


class _Found(Exception):
    """(what, where, advice)."""


def _check_returns(function: FunctionType) -> None:
    """A function that returns a value returns one in every case: compiled code would go on with garbage."""
    returns: list[tuple[bool, int]] = []  # (whether it is None, line)
    before: Any = None
    for step in dis.get_instructions(function):
        line = step.positions.lineno if step.positions is not None else None
        if step.opname == "RETURN_CONST":
            returns.append((step.argval is None, line or 0))
        elif step.opname == "RETURN_VALUE":
            is_none = before is not None and before.opname == "LOAD_CONST" and before.argval is None
            returns.append((is_none, line or 0))
        before = step
    nothing = [line for is_none, line in returns if is_none]
    if nothing and len(nothing) < len(returns):
        where = Location(
            function.__code__.co_filename, nothing[-1] or function.__code__.co_firstlineno, function.__name__
        )
        raise _Found(f"{function.__name__} returns None in some cases", where, "Return a number in every case.")


def _scan_code(code: CodeType, function: FunctionType) -> None:
    line = code.co_firstlineno
    chain: Any = None  # the module that the last operations named, and what was found in it
    for step in dis.get_instructions(code):
        line = (step.positions.lineno if step.positions is not None else None) or line
        where = Location(code.co_filename, line, function.__name__)
        if step.opname in _OPERATIONS:
            what, advice = _OPERATIONS[step.opname]
            raise _Found(f"{function.__name__} {what}, which compiled code cannot", where, advice)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
            chain = _value_of(step.argval, function)
            _check_value(step.argval, chain, where)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(chain, ModuleType):
            chain = getattr(chain, step.argval, None)
            _check_value(step.argval, chain, where)
        elif step.opname not in ("CACHE", "PUSH_NULL", "PRECALL"):
            chain = None
    for part in code.co_consts:
        if isinstance(part, CodeType):
            _scan_code(part, function)


def _value_of(name: str, function: FunctionType) -> Any:
    """What a function sees by a name; None for what is not there yet, or built in."""
    names, cells = function.__code__.co_freevars, function.__closure__ or ()
    try:
        return cells[names.index(name)].cell_contents if name in names else function.__globals__.get(name)
    except ValueError:
        return None


_SIDE_EFFECTS = ("print", "input", "open", "exec", "eval", "breakpoint")
"""Functions of Python that do more than compute."""


def _check_value(name: str, value: Any, where: Location) -> None:
    if value is None and name in _SIDE_EFFECTS:
        raise _Found(
            f"{where.function} calls {name}, and formulas may only compute",
            where,
            "Leave it out; Result.trace and Bandit.summary show what a policy does, round by round.",
        )
    if type(value).__module__.startswith("numba.") and hasattr(value, "py_func"):
        raise _Found(
            f"{name} is compiled by a decorator of numba, so that nothing in it is checked",
            where,
            f"Remove the decorator of {name}: helpers need none.",
        )
    if isinstance(value, list | dict | set):
        kind = type(value).__name__
        raise _Found(
            f"{name} is a {kind}, and compiled code can read only numbers, tuples and arrays from outside",
            where,
            f"Make a tuple of it, or np.array({name}) outside of the method.",
        )
    module = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", None))
    if isinstance(value, _GENERATORS) or isinstance(getattr(value, "__self__", None), _GENERATORS):
        module = "random"
    if any(module == each or module.startswith(f"{each}.") for each in _RANDOM):
        message = f"{where.function} uses {name}, which is not repeatable: the same seed would give other results"
        raise _Found(message, where, _USE_STREAM)


def reads(functions: Iterable[FunctionType], attribute: str) -> Iterator[Location]:
    """The lines in which functions read an attribute of this name."""
    for function in functions:
        for step in dis.get_instructions(function):
            if step.opname == "LOAD_ATTR" and step.argval == attribute and step.positions is not None:
                yield Location(function.__code__.co_filename, step.positions.lineno or 0, function.__name__)


def divisions(functions: Iterable[FunctionType]) -> Iterator[Location]:
    """The lines in which functions divide."""
    for function in functions:
        for step in dis.get_instructions(function):
            divides = step.opname == "BINARY_OP" and step.argrepr.rstrip("=") in ("/", "//", "%")
            if divides and step.positions is not None:
                yield Location(function.__code__.co_filename, step.positions.lineno or 0, function.__name__)


def has_while(functions: Iterable[FunctionType]) -> bool:
    """Whether a function has a loop that may be endless."""
    for function in functions:
        steps = list(dis.get_instructions(function))
        heads = {step.offset for step in steps if step.opname == "FOR_ITER"}
        if any("JUMP_BACKWARD" in step.opname and step.argval not in heads for step in steps):
            return True
    return False


def none_variables(functions: Iterable[FunctionType]) -> Iterator[tuple[str, Location]]:
    """The variables that are set to None, and where."""
    for function in functions:
        before: Any = None
        for step in dis.get_instructions(function):
            if step.opname == "STORE_FAST" and before.opname == "LOAD_CONST" and before.argval is None:
                line = step.positions.lineno if step.positions is not None else None
                yield str(step.argval), Location(function.__code__.co_filename, line or 0, function.__name__)
            before = step
