"""One short error for a mistake in a policy: what is wrong, the user's file and line, what to write instead.

With ``BELATED_DEBUG=1`` the error that was found first, such as numba's, is kept as its ``__cause__``."""

from __future__ import annotations

import inspect
import linecache
import os
import traceback
from collections.abc import Iterable
from difflib import get_close_matches
from types import CodeType, FunctionType, TracebackType
from typing import Any, NamedTuple

from belated.errors import PolicyError
from belated.own_code import is_own_file

WHAT_IS_ALLOWED = (
    "Static methods of a policy may use numbers, the arrays of state, if, for and while, functions of math, and "
    "functions of your own."
)


TWO_INDICES = (
    "state.memory has two indices, [arm, number], in a formula arm.memory[arm.number, number], and the class declares "
    "memory, how many numbers there are; the other arrays of state have one, [arm]."
)


class Mistake(Exception):
    """Something that a policy must not do, and what to write instead; found where it happens. ``arm`` is the number of
    an arm that does not exist, if that is the mistake."""

    def __init__(self, message: str, advice: str, arm: int | None = None) -> None:
        super().__init__(message)
        self.advice, self.arm = advice, arm


MOST_STEPS = 1_000_000
"""Lines, or uses of arrays, of one call of a method, after which it is taken to be endless."""


def endless(what: str) -> Mistake:
    """The mistake of a method that does not return."""
    return Mistake(
        f"one call {what} and has not returned: probably an endless loop",
        "Make sure that each loop ends, such as by for step in range(100) with a break instead of while.",
    )


class Location(NamedTuple):
    """A line of a user's file."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        source = linecache.getline(self.file, self.line).strip()
        inside = f", in {self.function}" if self.function else ""
        return f'  File "{self.file}", line {self.line}{inside}' + (f"\n    {source}" if source else "")


def policy_error(message: str, location: Location | None, advice: str) -> PolicyError:
    """The error for a mistake at a line."""
    text = f"{message.rstrip('.')}."
    return PolicyError("\n".join([text, *([] if location is None else [str(location)]), advice]))


def raise_from(error: PolicyError, cause: BaseException | None) -> None:
    """Raise the error; with its cause only for those who want to see it."""
    raise error from (cause if os.environ.get("BELATED_DEBUG", "") not in ("", "0") else None)


def missing_arm(error: PolicyError) -> int | None:
    """The number of the arm that does not exist, if the error is about one."""
    return error.__context__.arm if isinstance(error.__context__, Mistake) else None


# ---- where ----


def location_of(function: Any, line: int | None = None) -> Location | None:
    """A line of a function: that of its ``def``, unless another one is given."""
    code = getattr(inspect.unwrap(getattr(function, "py_func", function)), "__code__", None)
    return None if code is None else Location(code.co_filename, line or _def_line(code), code.co_name)


def location_of_class(cls: Any) -> Location | None:
    """The line of ``class``."""
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return None
    line = first + next((number for number, text in enumerate(lines) if text.lstrip().startswith("class ")), 0)
    return Location(inspect.getsourcefile(cls) or "", line)


def _def_line(code: CodeType) -> int:
    """The line of ``def``, below the decorators."""
    for number in range(code.co_firstlineno, code.co_firstlineno + 10):
        if linecache.getline(code.co_filename, number).lstrip().startswith("def "):
            return number
    return code.co_firstlineno


def location_in(trace: TracebackType | None) -> Location | None:
    """The last line of a traceback that is the user's."""
    for frame in reversed(traceback.extract_tb(trace)):
        if is_own_file(frame.filename) and frame.lineno is not None:
            return Location(frame.filename, frame.lineno, frame.name)
    return None


# ---- what ----


def suggestion(name: str, known: Iterable[str]) -> str:
    """The name that was probably meant, as a sentence; "" if there is none."""
    close = get_close_matches(name, list(known), n=1)
    return f"Write {close[0]}." if close else ""


def explain(error: BaseException, policy: type[Any]) -> tuple[str, str]:
    """(what is wrong, what to write instead) for an error of plain Python in a policy's method."""
    if isinstance(error, Mistake):
        return str(error), error.advice
    if isinstance(error, AttributeError):
        return _missing_attribute(error, policy)
    if isinstance(error, ZeroDivisionError | FloatingPointError):
        text = "division by zero" if "divi" in str(error) or "modulo" in str(error) else str(error)
        return (
            f"{text}, which is inf or NaN in compiled code",
            "Write max(x, 1.0) for a count x that may be 0 (before the first feedback), or treat that case first.",
        )
    if isinstance(error, OverflowError):
        return (
            f"{error}: a number too large, such as an exponential or a power, which is inf in compiled code",
            "Write min(x, 700.0) in an exponential, or compute with logarithms.",
        )
    if isinstance(error, ValueError) and str(error).startswith("math "):
        return (
            f"{error}, such as the square root or logarithm of a negative number: NaN in compiled code",
            "Write max(x, 0.0) under a root, max(x, 1.0) in a logarithm of a count, or treat that case first.",
        )
    if isinstance(error, NameError) and error.name == "self":
        advice = "Write policy instead of self: it has the numbers of KernelParams, such as policy.eps."
        return "a static method has no self", advice
    if isinstance(error, NameError):
        return str(error), "Define it, or import it where the policy is defined."
    if isinstance(error, MemoryError):
        return str(error), "Declare less memory: it is needed for each arm, and once more."
    if isinstance(error, IndexError):
        return str(error), TWO_INDICES
    return f"{type(error).__name__}: {error}", WHAT_IS_ALLOWED


def _missing_attribute(error: AttributeError, policy: type[Any]) -> tuple[str, str]:
    fields = getattr(type(error.obj), "_fields", None)
    name = str(error.name)
    if fields is None:
        known = dir(error.obj) if error.obj is not None else []
        return str(error), suggestion(name, known) or WHAT_IS_ALLOWED
    if hasattr(type(error.obj), "owner"):
        known = [field for field in fields if field != "table"]
        message = f"policy.{name} is not among its KernelParams ({', '.join(known) or 'there are none'})"
        return message, suggestion(name, known) or f"Add {name}: float to class KernelParams(NamedTuple) of the policy."
    kind = type(error.obj).__name__.lower()
    return f"{kind}.{name} does not exist", f"{suggestion(name, fields)} There are {', '.join(fields)}.".lstrip()


def code_of(function: Any) -> CodeType | None:
    """The code of a static method or helper, if it is plain Python."""
    body = getattr(function, "py_func", function)
    return body.__code__ if isinstance(body, FunctionType) else None
