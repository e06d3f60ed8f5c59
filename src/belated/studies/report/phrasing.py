"""Verdicts in words and as grids, for the page, the Markdown table and the terminal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from belated.formatting import plural, quantity
from belated.studies.claims import Case, ClaimVerdict, Finding, Status
from belated.studies.claims.evidence import in_words

MARKS = {Status.HOLDS: "✓", Status.FAILS: "✗", Status.UNDECIDED: "?"}


def tally(counts: dict[str, int]) -> str:
    """How many claims hold, fail and are undecided.

    >>> tally({"holds": 1, "fails": 3, "undecided": 0})
    '1 holds, 3 fail, 0 undecided'
    """
    holds, fails = counts["holds"], counts["fails"]
    return f"{holds} hold{'s' * (holds == 1)}, {fails} fail{'s' * (fails == 1)}, {counts['undecided']} undecided"


def interval(finding: Finding) -> str:
    """Its confidence interval, or nothing for an exact number."""
    low, high = finding.interval
    if math.isinf(high - low):
        return "any number"
    return "" if low == high else f"{quantity(low)} to {quantity(high)}"


def allowed(finding: Finding) -> str:
    """The range that it must lie in."""
    low, high = finding.allowed
    if low == -math.inf:
        return f"below {quantity(high)}"
    return f"above {quantity(low)}" if high == math.inf else f"{quantity(low)} to {quantity(high)}"


def sentence(finding: Finding) -> str:
    """A finding in a line."""
    between = f" ({interval(finding)})" if interval(finding) else ""
    note = f"; {finding.note}" if finding.note else ""
    return f"{finding.what}: {quantity(finding.value)}{between}, must be {allowed(finding)}{note}"


def summary_line(verdict: ClaimVerdict) -> str:
    """What decides a claim, in a line."""
    if len(verdict.cases) == 1:
        return case_line(verdict.cases[0])
    first = next(case for case in verdict.cases if case.verdict.status is verdict.status)
    counts = ", ".join(f"{status} in {verdict.count(status)}" for status in Status if verdict.count(status))
    return f"{counts} of {len(verdict.cases)} cases; {in_words(first.coordinates)}: {case_line(first)}"


def case_line(case: Case) -> str:
    """What decides a case, in a line."""
    note = f"{case.verdict.note}; " if case.verdict.note else ""
    more = len(case.verdict.findings) - 1
    others = f"; and {plural(more, 'more comparison')}" if more else ""
    return f"{note}{sentence(case.verdict.deciding)}{others}"


@dataclass(frozen=True)
class Grid:
    """A claim judged over two axes: a row for each value of the first, a column for each value of the second."""

    first: str
    second: str
    columns: tuple[Any, ...]
    rows: dict[Any, tuple[Case, ...]]


def grid(verdict: ClaimVerdict) -> Grid | None:
    """The cases of a claim as a grid; None if it is not judged over two axes."""
    if len(verdict.claim.each) != 2:
        return None
    first, second = verdict.claim.each
    values = list(dict.fromkeys(case.coordinates[first] for case in verdict.cases))
    rows = {value: tuple(case for case in verdict.cases if case.coordinates[first] == value) for value in values}
    return Grid(first, second, tuple(case.coordinates[second] for case in rows[values[0]]), rows)
