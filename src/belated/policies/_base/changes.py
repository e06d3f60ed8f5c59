"""Whether the code of a policy changed after it was compiled: compiled code goes on as it was.

In a notebook the cell of a helper, or of a constant, may be run again without that of the policy's class."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from belated.kernel.helpers import SeenCode, compile_helpers, seen_code
from belated.kernel.jit import JIT
from belated.policies._base.definition import kernel_methods
from belated.policies._mistakes import location_of, policy_error

_compiled: dict[type[Any], list[SeenCode]] = {}
"""The code of each policy that is not built in, when it was first compiled in this process."""


def prepare_to_compile(policy: type[Any], typing: Any = None) -> None:
    """Let numba compile the helpers of a policy that is not built in (as
    :func:`~belated.kernel.helpers.compile_helpers`), and remember what they are."""
    compile_helpers(kernel_methods(policy), typing)
    if JIT and policy not in _compiled:
        _compiled[policy] = list(seen_code(kernel_methods(policy)))


def unchanged_code(policy: type[Any]) -> tuple[str, ...]:
    """The code of a policy as text; PolicyError if it is not what was compiled."""
    now = list(seen_code(kernel_methods(policy)))
    for before, after in zip_longest(_compiled.get(policy, now), now):
        changed = after or before
        if before is None or after is None or before.text != after.text:
            name = policy.__name__
            raise policy_error(
                f"{changed.name} changed after {name} was compiled, which goes on as it was",
                location_of(changed.function),
                f"Run the cell of class {name} again, or import its file anew: then it is compiled with the change.",
            )
    return tuple(seen.text for seen in now)
