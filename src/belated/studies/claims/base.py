"""Claims: a sentence, where it stands, and a test on results that says whether it holds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import TypeVar

from belated.studies.claims.evidence import Evidence
from belated.studies.claims.verdict import Status, Verdict, all_of
from belated.studies.study import Place, Study

T = TypeVar("T", bound="ClaimTest")


class ClaimTest(ABC):
    """What to look at in the results of a study. A kind of test is a frozen dataclass; its fields are the keys of a
    claim in a file."""

    @abstractmethod
    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        """What the evidence says; wrong with probability ``risk`` at the most."""

    def check(self, study: Study) -> None:  # noqa: B027  (most tests can look at any study)
        """Raise an error if the test has nothing to look at in a study, or no sense there."""


TESTS: dict[str, type[ClaimTest]] = {}
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
    test: ClaimTest
    where: Place = field(default_factory=dict)
    """The part of the study that it is about: of an axis one value, or several."""
    each: tuple[str, ...] = ()
    """Axes for each of whose values the claim is judged by itself."""
    confidence: float = 0.999
    own: bool = False
    """Whether the sentence is ours and not the paper's."""
    why: str = ""
    """Why it comes out as it does, where that needs a word."""

    def judge(self, evidence: Evidence, before: ClaimVerdict | None = None) -> ClaimVerdict:
        """Judge the claim, one case after the other. The risk is shared by all cases and all looks, so a case that was
        decided ``before``, with fewer runs, stays so."""
        part = evidence.within(self.where)
        places = self.places(part.study)
        risk = (1.0 - self.confidence) / (len(evidence.study.looks()) * len(places))
        cases = []
        for number, place in enumerate(places):
            if before is not None and before.cases[number].decided:
                cases.append(before.cases[number])
                continue
            shown = part.at(place)
            cases.append(Case(place, self.test.judge(shown, risk), shown.runs))
        return ClaimVerdict(self, tuple(cases))

    def places(self, part: Study) -> list[Place]:
        """The places at which the claim is judged by itself, in the part of the study that it is about."""
        values = product(*(part.axis(name).values for name in self.each))
        return [dict(zip(self.each, chosen, strict=True)) for chosen in values]


@dataclass(frozen=True)
class Case:
    """A claim at one place, judged with so many runs."""

    place: Place
    judged: Verdict
    runs: int

    @property
    def decided(self) -> bool:
        """Whether it holds or fails."""
        return self.judged.status is not Status.UNDECIDED

    @property
    def needed(self) -> float:
        """About how many runs would decide it, if the estimates were right."""
        return self.runs * self.judged.needed


@dataclass(frozen=True)
class ClaimVerdict:
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
