"""What is wrong with a policy that numba cannot compile."""

from __future__ import annotations

import re
from pathlib import Path

from belated.errors import InvalidParameter
from belated.policies._base.policy import Policy

_ON_THE_WAY = "Failed in nopython mode pipeline"
"""numba's line for each function, from the first that it was to compile to the one with the mistake."""


def cannot_compile(policy: Policy, error: Exception) -> InvalidParameter:
    """The error for a policy that numba cannot compile."""
    return InvalidParameter(
        f"{type(policy).__name__} cannot be compiled: {_reason(str(error)) or repr(error)}. "
        "Its static methods may use numbers, arrays and functions that numba knows."
    )


def _reason(message: str) -> str:
    """The mistake and its line, from a message of numba's that lists every function on the way to it."""
    text = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    start = max((number + 1 for number, line in enumerate(text) if _ON_THE_WAY in line), default=0)
    lines = [line for line in text[start:] if line]
    if not lines:
        return ""
    reason = lines[0].partition(". Raised from")[0]
    if reason.endswith("found for signature:") and len(lines) > 1:
        reason = f"{reason} {lines[1].removeprefix('>>> ')}"
    for line in lines[1:]:
        if line.startswith("During: Pass "):
            break
        if location := re.fullmatch(r'File "(.*)", line (\d+):', line):
            return f"{reason.rstrip('.')} (line {location[2]} of {Path(location[1]).name})"
    return reason.rstrip(".")
