"""How many runs would decide what is undecided, and what follows from several verdicts."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_verdict import FAILS, HOLDS, IN, INF, OUT, UNDECIDED, Ranged, below_one, finding

from belated import Result
from belated.studies.claims import Evidence, Finding, Status, Verdict
from belated.studies.claims.base import Comparison, all_hold, all_hold_of, any_holds, compared
from belated.studies.claims.evidence import Proportion, mean
from belated.studies.claims.theorems import Level
from strategies import examples
from synthetic import Numbers, draws, evidence, result

# ---- one finding ----


@pytest.mark.parametrize(
    ("interval", "allowed", "needed"),
    [
        ((0.0, 2.0), (0.5, 9.0), 4.0),  # inside: half of the width is to go
        ((0.0, 2.0), (-9.0, 1.25), 16.0),
        ((0.0, 2.0), (1.5, 9.0), 4.0),  # outside
        ((0.0, 2.0), (-INF, 0.5), 4.0),
        ((0.0, 2.0), (0.9, 1.5), 100.0),  # the nearer end counts
        ((0.0, 2.0), (1.0, 2.0), INF),  # on an end: never
        ((0.0, 2.0), (-INF, INF), INF),
        ((0.0, INF), (-INF, 1.0), INF),
    ],
)
def test_needed(interval: tuple[float, float], allowed: tuple[float, float], needed: float) -> None:
    assert finding(interval, UNDECIDED, allowed).needed == pytest.approx(needed)


@pytest.mark.parametrize("status", [HOLDS, FAILS])
def test_what_is_decided_needs_no_more(status: Status) -> None:
    assert finding((0.0, 2.0), status).needed == 1.0


def test_no_number_needs_runs_without_end() -> None:
    assert Finding("", math.nan, (-INF, INF), (0.0, 1.0), UNDECIDED).needed == INF


# ---- several ----


def with_needs(*needs: float) -> list[Comparison]:
    """Undecided comparisons that need so many times as many runs, those below 0 with an estimate outside; 1 is one that
    holds, 0 one that fails."""
    ends = {1.0: IN, 0.0: OUT}

    def around(need: float) -> tuple[float, float]:
        value, half = (0.5 if need > 0.0 else 1.5), math.sqrt(abs(need)) / 2
        return value - half, value + half

    return below_one(*[ends[need] if need in ends else around(need) for need in needs])


@pytest.mark.parametrize(
    ("needs", "for_every", "for_some"),
    [
        ((4, 9, 2), 9, 2),
        ((4, 1, 9), 9, 1),  # one holds: that is enough, or not
        ((9, 0, 4), 9, 4),
        ((1, 1), 1, 1),
        ((0, 0), 1, 1),
        ((1, 0), 1, 1),
        ((25,), 25, 25),
        ((25, -9, 2, -16), 9, 2),  # one that fails is enough: the first that would
        ((-9, 4), 9, 4),
        ((-4, 9), 4, 4),
        ((-16, -9), 9, 9),
        ((1, -9, 1), 9, 1),
        ((-25,), 25, 25),
        ((-9, 0), 9, 9),
    ],
)
def test_the_slowest_of_all_and_the_fastest_of_some(
    needs: tuple[float, ...], for_every: float, for_some: float
) -> None:
    """Of all, the fastest of those that would fail, if there are such."""
    for order in (needs, needs[::-1]):
        assert all_hold(with_needs(*order), 0.1).needed == pytest.approx(for_every)
        assert any_holds(with_needs(*order), 0.1).needed == pytest.approx(for_some)


def test_an_estimate_on_an_end_says_nothing_of_when_it_is_decided() -> None:
    on_the_end = Comparison("", Ranged(0.0, 2.0), high=1.0)
    assert all_hold([on_the_end, *with_needs(4.0)], 0.1).needed == INF
    assert all_hold([on_the_end, *with_needs(-4.0)], 0.1).needed == pytest.approx(4.0)


def test_a_finding_without_end_among_others() -> None:
    comparisons = [*with_needs(4.0), Comparison("", mean(draws(1.0)), high=1.0)]
    assert all_hold(comparisons, 0.1).needed > 1e20
    assert any_holds(comparisons, 0.1).needed == pytest.approx(4.0)


@pytest.mark.parametrize("allowed", [(0.8, INF), (-INF, 0.8), (0.5, 1.3), (1.2, 3.0)])
def test_so_many_runs_decide_if_the_estimate_is_right(allowed: tuple[float, float]) -> None:
    few, risk = 1600, 0.001
    first = compared(Comparison("", mean(draws(1.0, 3.0, few)), *allowed), risk)
    assert first.status is UNDECIDED
    for times, decided in ((0.8, False), (1.1, True)):
        again = compared(Comparison("", mean(draws(1.0, 3.0, int(few * first.needed * times))), *allowed), risk)
        assert (again.status is not UNDECIDED) == decided


@examples(200)
@given(
    st.integers(1, 200).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
)
def test_an_undecided_finding_needs_more_runs(share: tuple[int, int], low: float, high: float) -> None:
    assume(low < high)
    found = compared(Comparison("", Proportion(*share), low, high), 0.01)
    assert (found.needed >= 1.0) if found.status is UNDECIDED else (found.needed == 1.0)
    assert (found.margin > 0.0) == (found.status is HOLDS)


# ---- several verdicts ----


def verdict(status: Status, needed: float = 1.0, count: int = 2) -> Verdict:
    """One with so many findings."""
    ends = {HOLDS: IN, FAILS: OUT, UNDECIDED: (0.5, 1.5)}[status]
    return Verdict(status, tuple(finding(ends, status) for _ in range(count)), "a note", needed)


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ((HOLDS, HOLDS), HOLDS),
        ((HOLDS, UNDECIDED), UNDECIDED),
        ((UNDECIDED, FAILS, HOLDS), FAILS),
        ((FAILS,), FAILS),
    ],
)
def test_every_verdict_must_hold(statuses: tuple[Status, ...], status: Status) -> None:
    """Shown are the findings of those that decide, in order."""
    given = [verdict(one, count=place + 1) for place, one in enumerate(statuses)]
    found = all_hold_of(given)
    assert found.status is status
    assert found.findings == tuple(f for one in given if one.status is status for f in one.findings)
    assert found.deciding.status is status


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ([(UNDECIDED, 4.0), (UNDECIDED, 9.0), (UNDECIDED, 2.0)], 9.0),
        ([(UNDECIDED, 4.0), (HOLDS, 1.0)], 4.0),
        ([(UNDECIDED, 4.0), (FAILS, 1.0)], 1.0),
        ([(HOLDS, 1.0), (HOLDS, 1.0)], 1.0),
        ([(UNDECIDED, INF), (UNDECIDED, 4.0)], INF),
    ],
)
def test_the_slowest_of_the_verdicts_that_decide(given: list[tuple[Status, float]], needed: float) -> None:
    assert all_hold_of([verdict(*one) for one in given]).needed == needed


# ---- a level that is enough at one value ----


def lines(unclear: dict[int, float], clear: dict[int, float], spread: float = 1.0) -> Evidence:
    """Of A, the means at the values of d with 2 arms and with 3; B is 9 everywhere, without chance."""

    def of(arms: int, d: int) -> Result:
        means = unclear if arms == 2 else clear
        noise: Numbers = draws(means[d], spread if arms == 2 else 0.0, seed=d)
        return result({"A": noise, "B": draws(9.0, 0.0)})

    return evidence(of, arms=(2, 3), d=tuple(unclear))


def test_a_level_passes_on_what_its_lines_need() -> None:
    """The line with two arms is open; the first of its values to be decided decides it."""
    found = Level(low=0.0, largest="d").judge(lines({0: 0.1, 1: 0.2}, {0: -9.0, 1: 9.0}), 0.001)
    assert found.status is UNDECIDED
    assert [finding.what for finding in found.findings] == [f"arms = 2, d = {d}: A: regret / 1" for d in (0, 1)]
    assert found.needed == pytest.approx(min(finding.needed for finding in found.findings))
    assert found.needed == pytest.approx(found.findings[1].needed)
    assert 1.0 < found.needed < found.findings[0].needed


def test_a_level_needs_what_the_slowest_line_needs() -> None:
    def of(arms: int, d: int) -> Result:
        return result({"A": draws({2: 0.1, 3: 0.2}[arms] - d, seed=arms)})

    found = Level(low=0.0, largest="d").judge(evidence(of, arms=(2, 3), d=(0, 9)), 0.001)
    open_ones = [finding for finding in found.findings if finding.status is UNDECIDED]
    assert (found.status, len(found.findings), len(open_ones)) == (UNDECIDED, 4, 2)
    assert found.needed == pytest.approx(open_ones[0].needed)
    assert found.needed > open_ones[1].needed


@pytest.mark.parametrize(("means", "status"), [({0: -9.0, 1: -8.0}, FAILS), ({0: -9.0, 1: 8.0}, HOLDS)])
def test_a_level_shows_the_lines_that_decide(means: dict[int, float], status: Status) -> None:
    found = Level(low=0.0, largest="d").judge(lines(means, {0: -9.0, 1: 9.0}), 0.001)
    assert (found.status, found.needed) == (status, 1.0)
    assert {finding.status for finding in found.findings} == {status}
    shown = [finding.what for finding in found.findings]
    failing = [f"arms = 2, d = {d}: A: regret / 1" for d in (0, 1)]
    holding = [f"arms = {arms}, d = 1: A: regret / 1" for arms in (2, 3)]
    holding += [f"arms = {arms}, d = {d}: B: regret / 1" for arms in (2, 3) for d in (0, 1)]
    assert shown == (failing if status is FAILS else holding)
