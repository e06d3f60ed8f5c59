"""Claims: a sentence, where it is in the paper, and a test on results that says whether it holds. A test compares
numbers with ranges; what follows is a verdict: holds, fails, or undecided. Claims with the same sentence are tests of
one sentence, and sentences are what is counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import product
from typing import Annotated, ClassVar

from belated.errors import ConfigurationError
from belated.specs.tables import Key, Text, from_table_by_kind
from belated.studies.claims.evidence import Estimate, Evidence, joined
from belated.studies.study import Coordinates, Study
from belated.validation import Domain


class Status(StrEnum):
    """What the results say about a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"
    ARITHMETIC = "arithmetic"
    """True, but by a calculation: no result of a simulation could contradict it."""

    @staticmethod
    def all_of(statuses: Iterable[Status]) -> Status:
        """Fails if one does, holds if all do; arithmetic if all are."""
        unique = set(statuses)
        order = (Status.FAILS, Status.UNDECIDED, Status.HOLDS)
        return next((status for status in order if status in unique), max(unique, default=Status.HOLDS))


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
        nearest = min((abs(self.value - end) for end in self.allowed if math.isfinite(end)), default=0.0)
        width = max(abs(self.value - end) for end in self.interval)
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
    value, allowed = comparison.estimate.value, (comparison.low, comparison.high)
    return Finding(comparison.what, value, (low, high), allowed, status, comparison.note)


def all_hold(comparisons: Sequence[Comparison], risk: float, note: str = "", choices: int = 1) -> Verdict:
    """All of them must hold. The risk is shared, so that all intervals are right at once with probability 1 - risk;
    ``choices`` is the number of ways in which the numbers themselves could have chosen what is compared."""
    findings = _compare_all(comparisons, risk, choices)
    failing = [finding.needed for finding in findings if finding.status is Status.UNDECIDED and finding.outside]
    needed = min(failing) if failing else max(finding.needed for finding in findings)
    return Verdict(Status.all_of(finding.status for finding in findings), findings, note, needed)


def all_hold_of(verdicts: Sequence[Verdict]) -> Verdict:
    """All of them must hold; the findings are those of the verdicts that decide."""
    status = Status.all_of(verdict.status for verdict in verdicts)
    deciding = [verdict for verdict in verdicts if verdict.status is status]
    findings = tuple(finding for verdict in deciding for finding in verdict.findings)
    return Verdict(status, findings, "", max(verdict.needed for verdict in deciding))


def any_holds(comparisons: Sequence[Comparison], risk: float, note: str = "", choices: int = 1) -> Verdict:
    """One of them must hold."""
    findings = _compare_all(comparisons, risk, choices)
    holding = tuple(finding for finding in findings if finding.status is Status.HOLDS)
    if holding:
        return Verdict(Status.HOLDS, holding, note)
    needed = [finding.needed for finding in findings if finding.status is Status.UNDECIDED]
    return Verdict(Status.UNDECIDED if needed else Status.FAILS, findings, note, min(needed, default=1.0))


def _compare_all(comparisons: Sequence[Comparison], risk: float, choices: int) -> tuple[Finding, ...]:
    if not comparisons:
        raise ConfigurationError("there is nothing to compare here.")
    return tuple(compared(one, risk / (len(comparisons) * choices)) for one in comparisons)


# ---- claims and their tests ----


TESTS: dict[str, type[ClaimTest]] = {}
"""Kinds of tests by name."""


class ClaimTest:
    """What to look at in the results of a study. A kind of test is a frozen dataclass; its fields are the keys of a
    claim in a file."""

    arithmetic: ClassVar[bool] = False
    """Whether it compares numbers that are known without a simulation."""

    def __init_subclass__(cls, kind: str = "") -> None:
        if kind:
            TESTS[kind] = cls

    def comparisons(self, evidence: Evidence) -> Iterable[Comparison]:
        """The numbers to compare, all of which must hold; not needed by a test with its own :meth:`judge`."""
        raise NotImplementedError

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        """What the evidence says; wrong with probability ``risk`` at most."""
        return all_hold(list(self.comparisons(evidence)), risk)

    def check(self, study: Study) -> None:
        """Raise an error if the test makes no sense for a study."""


class CellTest(ClaimTest):
    """A test of one number in every cell, which must be between ``low`` and ``high``."""

    low: float
    high: float

    def measure(self, evidence: Evidence, cell: int) -> tuple[str, Estimate, str]:
        """What the number is, the number, and a note."""
        raise NotImplementedError

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        for cell in evidence.cells:
            what, estimate, note = self.measure(evidence, cell)
            yield Comparison(joined(evidence.describe(cell), what), estimate, self.low, self.high, note)


@dataclass(frozen=True)
class Claim:
    """A sentence, and the test that decides it."""

    sentence: Text
    """As it is in the paper; or our own."""
    place: Text
    """Where it is in the paper."""
    reading: Text
    """What exactly is tested: the sentence in numbers."""
    study: str
    """The study whose results decide it."""
    test: Annotated[ClaimTest, Key(read=partial(from_table_by_kind, TESTS), give="a table with kind")]
    where: Coordinates = field(default_factory=dict)
    """The part of the study that it is about: one value of an axis, or several."""
    each: tuple[Text, ...] = ()
    """Axes for each of whose values the claim is judged separately."""
    confidence: Annotated[float, Domain(0.5, 1.0, open_low=True, open_high=True)] = 0.999
    own: bool = False
    """Whether the sentence is ours and not the paper's."""
    variant: Text = ""
    """What distinguishes this test from the others of the sentence, such as a constant of the baseline."""
    why: Text = ""
    """An explanation of the verdict, where one is needed."""

    def judge(self, evidence: Evidence, before: ClaimVerdict | None = None) -> ClaimVerdict:
        """Judge the claim, case by case. The risk is shared by all cases and all interim looks, so a case that was
        decided ``before``, with fewer runs, stays decided."""
        part = evidence.within(self.where)
        coordinates = self.cases(part.study)
        risk = (1.0 - self.confidence) / (len(evidence.study.interim_looks()) * len(coordinates))
        cases = []
        for number, selection in enumerate(coordinates):
            if before is not None and before.cases[number].decided:
                cases.append(before.cases[number])
                continue
            selected = part.at(selection)
            cases.append(Case(selection, self.test.judge(selected, risk), selected.runs))
        return ClaimVerdict(self, tuple(cases))

    def cases(self, part: Study) -> list[Coordinates]:
        """The coordinates at which the claim is judged separately, in the part of the study that it is about."""
        combinations = product(*(part.axis(name).values for name in self.each))
        return [dict(zip(self.each, values, strict=True)) for values in combinations]


@dataclass(frozen=True)
class Case:
    """A claim at some coordinates, judged with a number of runs."""

    coordinates: Coordinates
    verdict: Verdict
    runs: int

    @property
    def decided(self) -> bool:
        """Whether it holds or fails."""
        return self.verdict.status is not Status.UNDECIDED

    @property
    def needed(self) -> float:
        """About how many runs would decide it, if the estimates were right."""
        return self.runs * self.verdict.needed


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim that was judged, in all its cases."""

    claim: Claim
    cases: tuple[Case, ...]

    @property
    def status(self) -> Status:
        """Holds if all cases hold (arithmetic, if its test is), fails if one fails."""
        status = Status.all_of(case.verdict.status for case in self.cases)
        return Status.ARITHMETIC if status is Status.HOLDS and self.claim.test.arithmetic else status

    @property
    def undecided(self) -> tuple[Case, ...]:
        """The cases that more runs could decide."""
        return tuple(case for case in self.cases if not case.decided)

    @property
    def runs(self) -> int:
        """The largest number of runs of a case."""
        return max(case.runs for case in self.cases)

    def count(self, status: Status) -> int:
        return sum(case.verdict.status is status for case in self.cases)


@dataclass(frozen=True)
class SentenceVerdict:
    """A sentence and what all its tests say."""

    sentence: str
    place: str
    own: bool
    tests: tuple[ClaimVerdict, ...]

    @property
    def status(self) -> Status:
        """Holds if all tests do, in all variants; fails if one fails."""
        return Status.all_of(test.status for test in self.tests)

    @property
    def by_variant(self) -> dict[str, Status]:
        """The status of each variant, where the tests are of several."""
        variants = dict.fromkeys(test.claim.variant for test in self.tests if test.claim.variant)
        return {
            variant: Status.all_of(test.status for test in self.tests if test.claim.variant == variant)
            for variant in variants
        }


def by_sentence(verdicts: Iterable[ClaimVerdict]) -> tuple[SentenceVerdict, ...]:
    """The verdicts of an experiment, sentence by sentence."""
    tests: dict[tuple[str, bool], list[ClaimVerdict]] = {}
    for verdict in verdicts:
        tests.setdefault((verdict.claim.sentence, verdict.claim.own), []).append(verdict)
    return tuple(
        SentenceVerdict(sentence, found[0].claim.place, own, tuple(found)) for (sentence, own), found in tests.items()
    )
