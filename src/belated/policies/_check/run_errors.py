"""What goes wrong with a policy of one's own later than in the game that is played to check it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from belated.errors import PolicyError
from belated.kernel.code_key import first_line
from belated.kernel.helpers import reached_functions
from belated.own_code import is_own
from belated.policies._base.definition import kernel_methods
from belated.policies._base.policy import Policy
from belated.policies._base.state import State
from belated.policies._check.compile_errors import is_from_compiler, raise_cannot_compile
from belated.policies._check.scan import divisions
from belated.policies._mistakes import Location, location_in, location_of, policy_error, raise_from


@contextmanager
def short_errors(policy: Policy) -> Iterator[None]:
    """Compile and call the code of a policy: one short error if it cannot be compiled, has a wrong index
    or divides by zero."""
    try:
        yield
    except Exception as error:
        if type(policy).is_built_in:
            raise
        if isinstance(error, IndexError):
            raise_from(out_of_bounds(policy, error), error)
        if isinstance(error, ZeroDivisionError):
            raise_from(division_by_zero(policy), error)
        if is_from_compiler(error):
            raise_cannot_compile(policy, error)
        raise


def out_of_bounds(policy: Policy, error: IndexError) -> PolicyError:
    """The error for an index that leaves an array: of compiled code (see :mod:`belated.kernel.pipeline`), or of plain
    Python."""
    return policy_error(
        f"{type(policy).__name__}: an index is out of bounds in a later round",
        _compiled_line(type(policy), error) or location_in(error.__traceback__),
        "If it grows with the round or the rank, size memory by the horizon: def memory(self, arms, horizon), which "
        "returns how many numbers of an arm there are; or use a ring, index % size.",
    )


def _compiled_line(policy: type[Any], error: IndexError) -> Location | None:
    if len(error.args) != 3:
        return None
    module, name, line = error.args
    for function in reached_functions(kernel_methods(policy)):
        if (function.__module__, function.__qualname__) == (module, name):
            return location_of(function, first_line(function.__code__) + line)
    return None


def division_by_zero(policy: Policy) -> PolicyError:
    """The error for a division by zero in compiled code, which does not say where: it names all lines that divide."""
    lines = list(dict.fromkeys(divisions(reached_functions(kernel_methods(type(policy))))))
    others = "".join(f", or line {other.line} in {other.function}" for other in lines[1:4])
    return policy_error(
        f"{type(policy).__name__} divides by zero in a later round: in this line{others}",
        lines[0] if lines else None,
        "Treat the case in which there is nothing to divide by first, or write max(x, 1.0) below the line. "
        "check_policy(..., horizon=T) of belated.testing names the line if it happens by then.",
    )


def no_such_arm(policy: Policy, arms: int) -> PolicyError:
    """The error for a policy whose ``choose`` (or ``committed_arm``) gave an arm that does not exist."""
    return policy_error(
        f"{type(policy).__name__}.choose or .committed_arm gave an arm that does not exist, in a later round",
        location_of(type(policy).choose),
        f"With {arms} arms, return a whole number from 0 to {arms - 1}.",
    )


def not_a_number(policy: Policy) -> PolicyError:
    """The error for a policy that has NaN among its indices, or in its memory, at the end of a run."""
    cls: Any = type(policy)
    own = [method for method in kernel_methods(cls) if is_own(method)]
    return policy_error(
        f"{cls.__name__}: an index, or a number in state.memory, became NaN in a later round",
        location_of(own[0]) if own else None,
        "Look for 0/0, inf - inf, 0 * inf and roots of negative numbers, such as by check_policy(..., horizon=T) of "
        "belated.testing, which names the line if it happens by then.",
    )


SEARCHED = 1024
"""How many numbers of a policy's memory are searched for NaN before each decision of a live bandit: all, one after the
other, so that a large memory costs no more."""


def check_not_nan(policy: Policy, state: State, decisions: int) -> None:
    """Raise an error if an index of a policy that is not built in, or a number in its memory, is NaN; of a large
    memory, those whose turn it is are searched."""
    if type(policy).is_built_in:
        return
    numbers = state.memory.reshape(-1)
    turn = decisions % -(-numbers.size // SEARCHED) if numbers.size > 0 else 0
    part = numbers[turn * SEARCHED : (turn + 1) * SEARCHED]
    if np.isnan(state.score[: state.arms]).any() or np.isnan(part).any():
        raise not_a_number(policy)
