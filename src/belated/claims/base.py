"""Claims: a sentence, where it stands, and a test on results that says whether it holds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import TypeVar

from belated.claims.estimate import Estimate
from belated.claims.evidence import Evidence
from belated.study import Place

T = TypeVar("T", bound="Test")


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
    """A comparison that was made: the estimate, its confidence interval, the range allowed, and what follows."""

    what: str
    value: float
    interval: tuple[float, float]
    allowed: tuple[float, float]
    status: Status
    note: str = ""

    @property
    def margin(self) -> float:
        """How far the interval is from the nearer end of the range, in widths of the interval."""
        (low, high), (least, most) = self.interval, self.allowed
        room = min(low - least, most - high)
        return room / (high - low) if high > low else math.inf

    @property
    def needed(self) -> float:
        """How many times as many runs would decide it, if the estimate were right: the interval shrinks with the square
        root of their number."""
        if self.status is not Status.UNDECIDED:
            return 1.0
        (low, high), ends = self.interval, self.allowed
        inside = ends[0] < self.value < ends[1]
        nearest = min((abs(self.value - end) for end in ends if math.isfinite(end)), default=0.0)
        width = max(high - self.value, self.value - low)
        if not math.isfinite(width) or nearest == 0.0 or (inside and width == 0.0):
            return math.inf
        return (width / nearest) ** 2


@dataclass(frozen=True)
class Judged:
    """What a test says, with the numbers behind it."""

    status: Status
    findings: tuple[Finding, ...]
    note: str = ""

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


def every(comparisons: Sequence[Comparison], risk: float, note: str = "", among: int = 1) -> Judged:
    """All of them must hold. The risk is shared, so that all intervals are right at once with probability 1 - risk;
    ``among`` is the number of choices that were made by looking at the numbers."""
    findings = tuple(compared(one, risk / (len(comparisons) * among)) for one in comparisons)
    return Judged(all_of(finding.status for finding in findings), findings, note)


def some(comparisons: Sequence[Comparison], risk: float, note: str = "", among: int = 1) -> Judged:
    """One of them must hold."""
    findings = tuple(compared(one, risk / (len(comparisons) * among)) for one in comparisons)
    statuses = [finding.status for finding in findings]
    if Status.HOLDS in statuses:
        return Judged(Status.HOLDS, findings, note)
    return Judged(all_of(statuses) if set(statuses) == {Status.FAILS} else Status.UNDECIDED, findings, note)


def all_of(statuses: Iterable[Status]) -> Status:
    """Fails if one does, holds if all do."""
    found = set(statuses)
    if Status.FAILS in found:
        return Status.FAILS
    return Status.UNDECIDED if Status.UNDECIDED in found else Status.HOLDS


class Test(ABC):
    """What to look at in the results of a study. A kind of test is a frozen dataclass; its fields are the keys of a
    claim in a file."""

    @abstractmethod
    def judge(self, evidence: Evidence, risk: float) -> Judged:
        """What the evidence says; wrong with probability ``risk`` at the most."""


TESTS: dict[str, type[Test]] = {}
"""Kinds of tests by name."""


def kind(name: str) -> Callable[[type[T]], type[T]]:
    """List a kind of test under a name."""

    def register(cls: type[T]) -> type[T]:
        TESTS[name] = cls
        return cls

    return register


@dataclass(frozen=True)
class Claim:
    """A sentence, and the test that decides it."""

    sentence: str
    """As it stands in the paper; or of our own."""
    place: str
    """Where it stands."""
    reading: str
    """What exactly is tested: the sentence in numbers."""
    study: str
    """The study whose results decide it."""
    test: Test
    where: Place = field(default_factory=dict)
    """The part of the study that it is about: of an axis one value, or several."""
    each: tuple[str, ...] = ()
    """Axes for each of whose values the claim is judged by itself."""
    confidence: float = 0.999
    own: bool = False
    """Whether the sentence is ours and not the paper's."""
    why: str = ""
    """Why it comes out as it does, where that needs a word."""

    def judge(self, evidence: Evidence, before: Judgement | None = None) -> Judgement:
        """Judge the claim, one case after the other. The risk is shared by all looks at it, so a case that was decided
        ``before``, with fewer runs, stays so."""
        risk = (1.0 - self.confidence) / len(evidence.study.looks())
        part = evidence.within(self.where)
        cases = []
        for number, values in enumerate(product(*(part.study.axis(name).values for name in self.each))):
            if before is not None and before.cases[number].decided:
                cases.append(before.cases[number])
                continue
            place = dict(zip(self.each, values, strict=True))
            shown = part.at(place)
            cases.append(Case(place, self.test.judge(shown, risk), shown.runs))
        return Judgement(self, tuple(cases))


@dataclass(frozen=True)
class Case:
    """A claim at one place, judged with so many runs."""

    place: Place
    judged: Judged
    runs: int

    @property
    def decided(self) -> bool:
        """Whether it holds or fails."""
        return self.judged.status is not Status.UNDECIDED

    @property
    def needed(self) -> float:
        """About how many runs would decide it, if the estimates were right."""
        return self.runs * max((finding.needed for finding in self.judged.findings), default=1.0)


@dataclass(frozen=True)
class Judgement:
    """A claim that was judged, in all its cases."""

    claim: Claim
    cases: tuple[Case, ...]

    @property
    def status(self) -> Status:
        """Holds if it does in all cases, fails if it does in one."""
        return all_of(case.judged.status for case in self.cases)

    @property
    def undecided(self) -> tuple[Case, ...]:
        """The cases that more runs could decide."""
        return tuple(case for case in self.cases if not case.decided)

    @property
    def runs(self) -> int:
        """The most runs that a case took."""
        return max(case.runs for case in self.cases)

    def counted(self, status: Status) -> int:
        """The number of cases with this status."""
        return sum(case.judged.status is status for case in self.cases)
