"""Judgements in words, for the page, the Markdown table and the terminal."""

from __future__ import annotations

import math

from belated.formatting import quantity
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
    """Its confidence interval, or nothing for a number without chance."""
    low, high = finding.interval
    if math.isinf(high - low):
        return "any number"
    return "" if low == high else f"{quantity(low)} to {quantity(high)}"


def allowed(finding: Finding) -> str:
    """The range in which it must lie."""
    low, high = finding.allowed
    if low == -math.inf:
        return f"below {quantity(high)}"
    return f"above {quantity(low)}" if high == math.inf else f"{quantity(low)} to {quantity(high)}"


def sentence(finding: Finding) -> str:
    """A finding in a line."""
    between = f" ({interval(finding)})" if interval(finding) else ""
    note = f"; {finding.note}" if finding.note else ""
    return f"{finding.what}: {quantity(finding.value)}{between}, must be {allowed(finding)}{note}"


def summary(judgement: ClaimVerdict) -> str:
    """What decides a claim, in a line."""
    if len(judgement.cases) == 1:
        return of_case(judgement.cases[0])
    first = next(case for case in judgement.cases if case.judged.status is judgement.status)
    counts = ", ".join(f"{status} in {judgement.counted(status)}" for status in Status if judgement.counted(status))
    return f"{counts} of {len(judgement.cases)} cases; {in_words(first.place)}: {of_case(first)}"


def of_case(case: Case) -> str:
    """What decides a case, in a line."""
    note = f"{case.judged.note}; " if case.judged.note else ""
    more = len(case.judged.findings) - 1
    others = f"; and {more:,} more comparison{'s' if more > 1 else ''}" if more else ""
    return f"{note}{sentence(case.judged.deciding)}{others}"
