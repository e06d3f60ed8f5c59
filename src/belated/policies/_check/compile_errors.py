"""What is wrong with a policy that numba cannot compile."""

from __future__ import annotations

import os
import re
from typing import Any

from belated.errors import PolicyError
from belated.kernel.helpers import reached_functions
from belated.kernel.jit import COMPILE_ERRORS
from belated.own_code import is_own_file
from belated.policies._base.definition import kernel_methods
from belated.policies._base.policy import Policy
from belated.policies._check.scan import none_variables
from belated.policies._mistakes import WHAT_IS_ALLOWED, Location, policy_error, raise_from

_ON_THE_WAY = "Failed in nopython mode pipeline"
"""numba's line for each function, from the first that it was to compile to the one with the mistake."""
_ADVICE = {
    "nrt required": "Compiled policies make no arrays, lists or texts: write a loop with numbers, or use state.memory.",
    "only accept returning of array": "Compiled policies make no arrays: write a loop, or use state.memory.",
    "unsupported numpy function": "Write it as a loop, with functions of math and of belated.policies.",
    "cannot unify": "A variable, or what is returned, must be a number in every case; None is not.",
    "unknown attribute": "Correct the name: see Arm and State in belated.policies, and KernelParams of the policy.",
    "untyped global name": "Make it a number, a tuple, an array or a function.",
    "readonly": "Arrays from outside are constants: write to state.memory.",
    "invalid use of": "numba has no such function for these types: compute with numbers.",
    "no implementation of function": "numba has no such function for these types: compute with numbers.",
}
"""By what numba says, in lower case."""


def raise_cannot_compile(policy: Policy, error: Exception) -> None:
    """Raise the error for a policy that numba cannot compile."""
    raise_from(cannot_compile(policy, error), error)


def cannot_compile(policy: Policy, error: Exception) -> PolicyError:
    """The error for a policy that numba cannot compile."""
    reason, where = _reason(str(error))
    text = reason or repr(error)
    if "OptionalType" in text or "none" in text:
        for name, line in none_variables(reached_functions(kernel_methods(type(policy)))):
            return policy_error(
                f"{type(policy).__name__} cannot be compiled: {name} is None at first, and a number later",
                line,
                f"Begin with a number, such as {name} = 0, or {name} = -1 for none yet.",
            )
    advice = next((advice for start, advice in _ADVICE.items() if start in text.lower()), WHAT_IS_ALLOWED)
    return policy_error(f"{type(policy).__name__} cannot be compiled: {_shortened(text)}", where, advice)


def is_from_compiler(error: Exception) -> bool:
    """Whether an error says that code cannot be compiled; AttributeError: such as np.nothing."""
    return isinstance(error, (*COMPILE_ERRORS, AttributeError)) or type(error).__module__.endswith("core.errors")


def _reason(message: str) -> tuple[str, Location | None]:
    """The mistake and its line, from a message of numba's that lists every function on the way to it."""
    text = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    start = max((number + 1 for number, line in enumerate(text) if _ON_THE_WAY in line), default=0)
    lines = [line for line in text[start:] if line]
    if not lines:
        return "", None
    reason = lines[0].partition(". Raised from")[0]
    if reason.endswith("found for signature:") and len(lines) > 1:
        reason = f"{reason} {lines[1].removeprefix('>>> ')}"
    places: Any = [re.fullmatch(r'File "(.*)", line (\d+):?', line) for line in (*lines, *reversed(text[:start]))]
    places += [re.search(r"\(([^()\s,]*\.py):(\d+)\)|at (.*\.py) \((\d+)\)", line) for line in reversed(text)]
    for found in places:
        if found is not None:
            file, line = (part for part in found.groups() if part is not None)
            if is_own_file(os.path.abspath(file)):
                return reason.rstrip("."), Location(os.path.abspath(file), int(line))
    return reason.rstrip("."), None


def _shortened(text: str, most: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]} ..."
