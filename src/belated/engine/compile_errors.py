"""What is wrong with a policy that numba cannot compile."""

from __future__ import annotations

import re
from pathlib import Path

from belated.errors import InvalidParameter
from belated.policies._base.policy import Policy

_ON_THE_WAY = "Failed in nopython mode pipeline"
"""Numba says so of each function, from the first that it was to compile to the one with the mistake."""


def cannot_compile(policy: Policy, error: Exception) -> InvalidParameter:
    """The error for a policy that numba cannot compile."""
    return InvalidParameter(
        f"{type(policy).__name__} cannot be compiled: {_mistake(str(error)) or repr(error)}. "
        "Its static methods may use numbers, arrays and functions that numba knows."
    )


def _mistake(message: str) -> str:
    """Of numba's message, which tells of every function on the way to the mistake, the line that names the mistake and
    where it is."""
    told = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", message).splitlines()]
    begin = max((place + 1 for place, line in enumerate(told) if _ON_THE_WAY in line), default=0)
    lines = [line for line in told[begin:] if line]
    if not lines:
        return ""
    reason = lines[0].partition(". Raised from")[0]
    if reason.endswith("found for signature:") and len(lines) > 1:
        reason = f"{reason} {lines[1].removeprefix('>>> ')}"
    for line in lines[1:]:
        if line.startswith("During: Pass "):
            break
        if found := re.fullmatch(r'File "(.*)", line (\d+):', line):
            return f"{reason.rstrip('.')} (line {found[2]} of {Path(found[1]).name})"
    return reason.rstrip(".")
