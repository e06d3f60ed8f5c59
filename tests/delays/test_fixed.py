"""The same delay every time."""

from __future__ import annotations

from belated.delays import Fixed
from support.laws import DelayCase, step

CASES = [
    DelayCase(Fixed(0), step(0), longest=0),
    DelayCase(Fixed(7), step(7), longest=7),
]
