"""Comparisons of numbers with ranges, and what follows from them: holds, fails, or undecided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from belated.errors import ConfigurationError
from belated.studies.claims.estimate import Estimate


class Status(StrEnum):
    """What the results say about a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """A number that a claim is about, and the open range in which it must lie."""

    what: str
    estimate: Estimate
    low: float = -math.inf
    high: float = math.inf
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """The outcome of a comparison: the estimate, its confidence interval, the range allowed, and what follows."""

    what: str
    value: float
    interval: tuple[float, float]
    allowed: tuple[float, float]
    status: Status
    note: str = ""

    @property
    def outside(self) -> bool:
        """Whether the estimate itself lies outside the range."""
        return not self.allowed[0] < self.value < self.allowed[1]

    @property
    def margin(self) -> float:
        """How far the interval is from the nearer end of the range, in widths of the interval."""
        (low, high), (least, most) = self.interval, self.allowed
        room = min(low - least, most - high)
        return room / max(high - low, 1e-12 * max(abs(low), abs(high), 1e-200))

    @property
    def needed(self) -> float:
        """How many times as many runs would decide it, if the estimate were right: the interval shrinks with the square
        root of their number."""
        if self.status is not Status.UNDECIDED:
            return 1.0
        (low, high), ends = self.interval, self.allowed
        nearest = min((abs(self.value - end) for end in ends if math.isfinite(end)), default=0.0)
        width = max(high - self.value, self.value - low)
        if not math.isfinite(width) or nearest == 0.0:
            return math.inf
        return (width / nearest) ** 2


@dataclass(frozen=True)
class Verdict:
    """What a test says, with the numbers behind it."""

    status: Status
    findings: tuple[Finding, ...]
    note: str = ""
    needed: float = 1.0
    """About how many times as many runs would decide it, if the estimates were right."""

    @property
    def deciding(self) -> Finding:
        """The finding that decides: the first that fails or is undecided; where all hold, the closest call."""
        same = [finding for finding in self.findings if finding.status is self.status]
        return min(same, key=lambda finding: finding.margin) if self.status is Status.HOLDS else same[0]


def compared(comparison: Comparison, risk: float) -> Finding:
    """Holds if the whole interval lies inside the range, fails if all of it lies outside."""
    low, high = comparison.estimate.interval(risk)
    if comparison.low < low and high < comparison.high:
        status = Status.HOLDS
    elif high <= comparison.low or low >= comparison.high:
        status = Status.FAILS
    else:
        status = Status.UNDECIDED
    return Finding(
        comparison.what,
        comparison.estimate.value,
        (low, high),
        (comparison.low, comparison.high),
        status,
        comparison.note,
    )


def all_hold(comparisons: Sequence[Comparison], risk: float, note: str = "", choices: int = 1) -> Verdict:
    """All of them must hold. The risk is shared, so that all intervals are right at once with probability 1 - risk;
    ``choices`` is the number of ways in which the numbers themselves could have chosen what is compared."""
    findings = _compare_all(comparisons, risk, choices)
    failing = [finding.needed for finding in findings if finding.status is Status.UNDECIDED and finding.outside]
    needed = min(failing) if failing else max(finding.needed for finding in findings)
    return Verdict(all_of(finding.status for finding in findings), findings, note, needed)


def all_hold_of(verdicts: Sequence[Verdict]) -> Verdict:
    """All of them must hold; the findings are those of the verdicts that decide."""
    status = all_of(verdict.status for verdict in verdicts)
    deciding = [verdict for verdict in verdicts if verdict.status is status]
    findings = tuple(finding for verdict in deciding for finding in verdict.findings)
    return Verdict(status, findings, "", max(verdict.needed for verdict in deciding))


def any_holds(comparisons: Sequence[Comparison], risk: float, note: str = "", choices: int = 1) -> Verdict:
    """One of them must hold."""
    findings = _compare_all(comparisons, risk, choices)
    holding = tuple(finding for finding in findings if finding.status is Status.HOLDS)
    if holding:
        return Verdict(Status.HOLDS, holding, note)
    open_ones = [finding.needed for finding in findings if finding.status is Status.UNDECIDED]
    if open_ones:
        return Verdict(Status.UNDECIDED, findings, note, min(open_ones))
    return Verdict(Status.FAILS, findings, note)


def _compare_all(comparisons: Sequence[Comparison], risk: float, choices: int) -> tuple[Finding, ...]:
    if not comparisons:
        raise ConfigurationError("there is nothing to compare here.")
    return tuple(compared(one, risk / (len(comparisons) * choices)) for one in comparisons)


def all_of(statuses: Iterable[Status]) -> Status:
    """Fails if one does, holds if all do."""
    unique = set(statuses)
    if Status.FAILS in unique:
        return Status.FAILS
    return Status.UNDECIDED if Status.UNDECIDED in unique else Status.HOLDS
