"""Claims: cases one by one, looks that share the risk, and what was decided before."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from belated.errors import ConfigurationError
from belated.studies.claims import Case, Claim, ClaimTest, ClaimVerdict, Evidence, Finding, Status, Verdict
from belated.studies.claims.base import TESTS
from belated.studies.claims.order import Below
from synthetic import claim, constant, grid, result, study

HOLDS, FAILS, UNDECIDED = Status.HOLDS, Status.FAILS, Status.UNDECIDED


@dataclass(frozen=True)
class Noted(ClaimTest):
    """Notes what it is shown, and with which risk."""

    seen: list[tuple[Evidence, float]] = field(default_factory=list)

    def judge(self, evidence: Evidence, risk: float) -> Verdict:
        self.seen.append((evidence, risk))
        return Verdict(HOLDS, ())


def pair(a: float, b: float, spread: float = 0.1) -> Evidence:
    return constant(spread, A=a, B=b)


def by_delay(means: dict[int, tuple[float, float]], spread: float = 0.1, **options: Any) -> Evidence:
    return grid(lambda delay: dict(zip("AB", means[delay], strict=True)), spread, delay=tuple(means), **options)


BELOW = claim(Below("A", "B"))


@pytest.mark.parametrize(
    ("evidence", "status"), [(pair(1, 2), HOLDS), (pair(2, 1), FAILS), (pair(1, 2, 20.0), UNDECIDED)]
)
def test_a_claim_holds_fails_or_is_undecided(evidence: Evidence, status: Status) -> None:
    verdict = BELOW.judge(evidence)
    assert verdict.status is status
    assert verdict.claim is BELOW
    assert [(case.coordinates, case.runs, case.verdict.status) for case in verdict.cases] == [({}, 50, status)]


# ---- which part of the study ----


def test_only_the_part_where_it_stands_is_judged() -> None:
    evidence = by_delay({0: (1, 2), 100: (2, 1), 200: (1, 3)})
    for where, status in (({}, FAILS), ({"delay": 0}, HOLDS), ({"delay": [0, 200]}, HOLDS), ({"delay": 100}, FAILS)):
        assert claim(Below("A", "B"), where=where).judge(evidence).status is status


def test_a_place_that_is_not_there() -> None:
    with pytest.raises(ConfigurationError, match="has no value 5; it has 0, 100"):
        claim(Below("A", "B"), where={"delay": 5}).judge(by_delay({0: (1, 2), 100: (1, 2)}))
    with pytest.raises(ConfigurationError, match="no axis 'gap'"):
        claim(Below("A", "B"), each=("gap",)).judge(pair(1, 2))


def test_each_value_is_a_case() -> None:
    test = Noted()
    evidence = grid(lambda arms, d: {"A": arms * d}, arms=(2, 3, 4), d=(1, 10))
    verdict = claim(test, each=("d", "arms"), where={"arms": [2, 4]}).judge(evidence)
    places = [{"d": 1, "arms": 2}, {"d": 1, "arms": 4}, {"d": 10, "arms": 2}, {"d": 10, "arms": 4}]
    assert [case.coordinates for case in verdict.cases] == places
    for place, (shown, _) in zip(places, test.seen, strict=True):
        assert (shown.study.axes, shown.study.cells[0].coordinates) == ((), {})
        assert shown.regret("A", 0).mean() == pytest.approx(place["arms"] * place["d"])


def test_one_case_that_fails_is_enough() -> None:
    evidence = by_delay({0: (1, 2), 100: (2, 1), 200: (1, 1.01)})
    verdict = claim(Below("A", "B"), each=("delay",)).judge(evidence)
    assert [case.verdict.status for case in verdict.cases] == [HOLDS, FAILS, UNDECIDED]
    assert verdict.status is FAILS
    assert [case.coordinates for case in verdict.undecided] == [{"delay": 200}]
    assert [verdict.count(status) for status in Status] == [1, 1, 1, 0]


# ---- looks ----


@pytest.mark.parametrize(
    ("runs", "most", "looks"), [(50, 50, 1), (50, 1600, 1), (50, 1601, 2), (50, 25600, 3), (2000, 32000, 3)]
)
@pytest.mark.parametrize(
    ("each", "where", "cases"),
    [
        ((), {}, 1),
        (("d",), {}, 3),
        (("d", "arms"), {}, 6),
        (("d", "arms"), {"d": [1, 3]}, 4),
        (("arms",), {"d": 2}, 2),
        (("d",), {"d": 2}, 1),
    ],
)
def test_looks_and_cases_share_the_risk(
    runs: int, most: int, looks: int, each: tuple[str, ...], where: dict[str, Any], cases: int
) -> None:
    test = Noted()
    evidence = grid(lambda d, arms: {"A": d}, runs=runs, most=most, d=(1, 2, 3), arms=(2, 4))
    claim(test, confidence=0.99, each=each, where=where).judge(evidence)
    assert [risk for _, risk in test.seen] == [pytest.approx(0.01 / (looks * cases))] * cases


def test_a_case_that_was_decided_keeps_its_share_of_the_risk() -> None:
    """What it did not use is not given to others: whether it was decided hangs on the results."""
    test = Noted()
    evidence = grid(lambda d: {"A": d}, runs=50, most=6400, d=(1, 2, 3))
    noted = claim(test, confidence=0.99, each=("d",))
    cases = tuple(Case({"d": d}, judged(status), 50) for d, status in ((1, HOLDS), (2, UNDECIDED), (3, FAILS)))
    noted.judge(evidence, ClaimVerdict(noted, cases))
    assert [risk for _, risk in test.seen] == [pytest.approx(0.01 / 6)]


def test_more_looks_make_the_interval_wider() -> None:
    once, often = (
        BELOW.judge(grid(lambda: {"A": 1, "B": 2}, runs=50, most=most)).cases[0].verdict.findings[0].interval
        for most in (50, 50_000)
    )
    assert often[0] < once[0] < once[1] < often[1]


def test_a_case_that_was_decided_stays_so() -> None:
    separately = claim(Below("A", "B"), each=("delay",))
    first = separately.judge(by_delay({0: (1, 2), 100: (2, 1), 200: (1, 1.01)}))
    changed = by_delay({0: (2, 1), 100: (1, 2), 200: (1, 2)}, count=200)
    second = separately.judge(changed, first)
    assert [case.verdict.status for case in second.cases] == [HOLDS, FAILS, HOLDS]
    assert second.cases[:2] == first.cases[:2]
    assert [case.runs for case in second.cases] == [50, 50, 200]
    assert (first.runs, second.runs) == (50, 200)
    assert [case.verdict.status for case in separately.judge(changed).cases] == [FAILS, HOLDS, HOLDS]


def test_an_undecided_claim_is_judged_again_as_a_whole() -> None:
    first = BELOW.judge(pair(1, 2, 20.0))
    assert BELOW.judge(pair(2, 1), first).status is FAILS
    assert BELOW.judge(pair(1, 2), first).status is HOLDS


# ---- verdicts ----


def judged(status: Status, needed: float = 1.0) -> Verdict:
    return Verdict(status, (Finding("", 1.0, (0.0, 2.0), (0.5, 9.0), status),), needed=needed)


def test_the_runs_that_a_case_needs() -> None:
    assert Case({}, judged(UNDECIDED, 9.0), 100).needed == pytest.approx(900)
    assert Case({}, judged(HOLDS), 100).needed == 100
    assert Case({}, judged(UNDECIDED, math.inf), 100).needed == math.inf


def test_so_many_runs_decide_a_claim_if_the_estimates_are_right() -> None:
    evidence = by_delay({0: (1, 1.5), 100: (1, 1.2), 200: (1, 9)}, 1.0)
    first = BELOW.judge(evidence).cases[0]
    assert first.needed == pytest.approx(50 * max(finding.needed for finding in first.verdict.findings))
    for times, status in ((0.3, UNDECIDED), (1.2, HOLDS)):  # what allows for runs that were not met shrinks faster
        more = by_delay({0: (1, 1.5), 100: (1, 1.2), 200: (1, 9)}, 1.0, count=int(first.needed * times))
        assert BELOW.judge(more).status is status


def test_a_judgement_counts_its_cases() -> None:
    cases = [Case({}, judged(status), runs) for status, runs in ((HOLDS, 10), (UNDECIDED, 160), (HOLDS, 40))]
    found = ClaimVerdict(BELOW, tuple(cases))
    assert found.status is UNDECIDED
    assert found.runs == 160
    assert (found.count(HOLDS), found.count(FAILS), found.count(UNDECIDED)) == (2, 0, 1)
    assert found.undecided == (cases[1],)
    assert [case.decided for case in cases] == [True, False, True]
    assert ClaimVerdict(BELOW, (cases[0], cases[2])).status is HOLDS


def test_runs_are_those_that_all_cells_of_a_case_have() -> None:
    counts = {0: 30, 1: 90, 2: 60}
    results = tuple(result({"A": [1.0] * count, "B": [2.0] * count}) for count in counts.values())
    evidence = Evidence(study(delay=tuple(counts)), results)
    assert BELOW.judge(evidence).runs == 30
    assert [case.runs for case in claim(Below("A", "B"), each=("delay",)).judge(evidence).cases] == [30, 90, 60]
    assert claim(Below("A", "B"), where={"delay": [1, 2]}).judge(evidence).runs == 60


def test_kinds_are_listed_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("belated.studies.claims.base.TESTS", listed := dict(TESTS))

    class Listed(Noted, kind="noted"):
        pass

    assert listed["noted"] is Listed
    assert "noted" not in TESTS


def test_a_claim_has_a_confidence_of_999_in_1000() -> None:
    assert Claim("", "", "", "", Noted()).confidence == 0.999
