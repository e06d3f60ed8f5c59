"""Claims: a sentence, where it is in the paper, and a test on results that says whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Annotated, Any, TypeVar

from belated.errors import ConfigurationError
from belated.specs.tables import Key, Text, from_table_by_kind
from belated.studies.claims.evidence import Evidence
from belated.studies.claims.verdict import Comparison, Status, Verdict, all_hold, all_of
from belated.studies.study import Coordinates, Study
from belated.validation import Domain

T = TypeVar("T", bound="ClaimTest")


class ClaimTest:
    """What to look at in the results of a study. A kind of test is a frozen dataclass; its fields are the keys of a
    claim in a file."""

    def comparisons(self, evidence: Evidence) -> Iterable[Comparison]:
        """The numbers to compare, all of which must hold; not needed by a test with its own :meth:`judge`."""
        raise NotImplementedError

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        """What the evidence says; wrong with probability ``risk`` at most."""
        return all_hold(list(self.comparisons(evidence)), risk)

    def check(self, study: Study) -> None:
        """Raise an error if the test makes no sense for a study."""


TESTS: dict[str, type[ClaimTest]] = {}
"""Kinds of tests by name."""


def claim_test(name: str) -> Callable[[type[T]], type[T]]:
    """Decorator: list a kind of test under a name."""

    def register(cls: type[T]) -> type[T]:
        TESTS[name] = cls
        return cls

    return register


def _read_test(data: Any, at: str) -> ClaimTest:
    return from_table_by_kind(TESTS, data, at)


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
    test: Annotated[ClaimTest, Key(read=_read_test, give="a table with kind")]
    where: Coordinates = field(default_factory=dict)
    """The part of the study that it is about: one value of an axis, or several."""
    each: tuple[Text, ...] = ()
    """Axes for each of whose values the claim is judged separately."""
    confidence: Annotated[float, Domain(0.5, 1.0, open_low=True, open_high=True)] = 0.999
    own: bool = False
    """Whether the sentence is ours and not the paper's."""
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
        """Holds if all cases hold, fails if one fails."""
        return all_of(case.verdict.status for case in self.cases)

    @property
    def undecided(self) -> tuple[Case, ...]:
        """The cases that more runs could decide."""
        return tuple(case for case in self.cases if not case.decided)

    @property
    def runs(self) -> int:
        """The largest number of runs of a case."""
        return max(case.runs for case in self.cases)

    def count(self, status: Status) -> int:
        """The number of cases with this status."""
        return sum(case.verdict.status is status for case in self.cases)


# ---- shared by the tests ----


def joined(*parts: str) -> str:
    """Parts of a sentence, without the empty ones."""
    return ": ".join(part for part in parts if part)


def check_several(study: Study, axis: str) -> None:
    """Raise an error if an axis has only one value."""
    if len(study.axis(axis).values) < 2:
        raise ConfigurationError(f"the axis {axis!r} has only one value here; give two or more.")


def numbers(study: Study, axis: str) -> list[float]:
    """The values of an axis as numbers; an error if one of them is not a number."""
    values = study.axis(axis).values
    if not all(isinstance(value, int | float) for value in values):
        raise ConfigurationError(f"the axis {axis!r} has values that are not numbers: {', '.join(map(str, values))}.")
    return [float(value) for value in values]
