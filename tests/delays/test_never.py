"""Feedback that never comes."""

from __future__ import annotations

from belated.delays import Never
from support.laws import DelayCase, step

CASES = [
    DelayCase(Never(), step(0, 0.0), 1.0, 0),
]
