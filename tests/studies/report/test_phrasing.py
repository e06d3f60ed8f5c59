"""Judgements in words: numbers, ranges, a line for a claim, grids."""

from __future__ import annotations

import math
from typing import Any

import pytest

from belated.formatting import quantity
from belated.studies.claims import Case, Claim, ClaimVerdict, Finding, Status, Verdict
from belated.studies.claims.order import Below
from belated.studies.report import phrasing
from belated.studies.report.phrasing import grid

HOLDS, FAILS, UNDECIDED = Status.HOLDS, Status.FAILS, Status.UNDECIDED
INF = math.inf


def finding(status: Status = HOLDS, **change: Any) -> Finding:
    given: dict[str, Any] = {"value": -2.0, "interval": (-3.0, -1.0), "allowed": (-INF, 0.0), "note": ""}
    return Finding("UCB less SE", status=status, **{**given, **change})


def verdict(*statuses: Status, each: tuple[str, ...] = (), places: Any = None) -> ClaimVerdict:
    """A claim that was judged at several places."""
    claim = Claim("A sentence", "a place", "a reading", "study", Below("UCB", "SE"), each=each)
    places = places or [{"delay": 1000 * number} for number in range(len(statuses))]
    cases = [
        Case(place, Verdict(status, (finding(status),)), 8) for place, status in zip(places, statuses, strict=True)
    ]
    return ClaimVerdict(claim, tuple(cases))


# ---- numbers and lines ----


@pytest.mark.parametrize(
    ("interval", "said"),
    [
        ((-3.0, -1.0), "-3 to -1"),
        ((2.0, 2.0), ""),
        ((0.0, 1234.56), "0 to 1,235"),
        ((-0.0, 0.00012), "0 to 0.00012"),
        ((-INF, INF), "any number"),
    ],
)
def test_an_interval(interval: tuple[float, float], said: str) -> None:
    assert phrasing.interval(finding(interval=interval)) == said


@pytest.mark.parametrize(
    ("allowed", "said"), [((-INF, 0.5), "below 0.5"), ((3.0, INF), "above 3"), ((0.9, 1.1), "0.9 to 1.1")]
)
def test_what_is_allowed(allowed: tuple[float, float], said: str) -> None:
    assert phrasing.allowed(finding(allowed=allowed)) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (0.123456, "0.1235"),
        (-0.123456, "-0.1235"),
        (999.94, "999.9"),
        (999.96, "1,000"),
        (-999.96, "-1,000"),
        (-1234567.8, "-1,234,568"),
        (-2e15, "-2e+15"),
        (INF, "infinite"),
        (-INF, "-infinite"),
        (math.nan, "undefined"),
    ],
)
def test_a_number(value: float, said: str) -> None:
    assert quantity(value) == said


def test_a_finding_in_a_line() -> None:
    assert phrasing.sentence(finding()) == "UCB less SE: -2 (-3 to -1), must be below 0"
    told = phrasing.sentence(finding(UNDECIDED, value=math.nan, interval=(-INF, INF)))
    assert told == "UCB less SE: undefined (any number), must be below 0"
    told = phrasing.sentence(finding(interval=(-2.0, -2.0), note="of 8 runs"))
    assert told == "UCB less SE: -2, must be below 0; of 8 runs"


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((0, 1, 2, 0), "0 hold, 1 fails, 2 undecided"),
        ((1, 0, 0, 1), "1 holds, 0 fail, 0 undecided; 1 is arithmetic"),
        ((21, 2, 0, 3), "21 hold, 2 fail, 0 undecided; 3 are arithmetic"),
    ],
)
def test_a_tally(counts: tuple[int, ...], said: str) -> None:
    assert phrasing.tally(dict(zip(("holds", "fails", "undecided", "arithmetic"), counts, strict=True))) == said


def test_a_case_in_a_line() -> None:
    close = finding(interval=(-3.0, -0.1))
    case = Case({}, Verdict(HOLDS, (finding(), close, finding()), "the curves cross"), 8)
    told = "the curves cross; UCB less SE: -2 (-3 to -0.1), must be below 0; and 2 more comparisons"
    assert phrasing.case_line(case) == told
    two = Case({}, Verdict(FAILS, (finding(), finding(FAILS, value=5.0, interval=(4.0, 6.0)))), 8)
    assert phrasing.case_line(two) == "UCB less SE: 5 (4 to 6), must be below 0; and 1 more comparison"


def test_a_claim_of_several_cases_in_a_line() -> None:
    told = phrasing.summary_line(verdict(HOLDS, FAILS, HOLDS, UNDECIDED, FAILS))
    assert told.startswith("holds in 2, fails in 2, undecided in 1 of 5 cases; delay = 1,000: UCB less SE: -2")
    assert phrasing.summary_line(verdict(UNDECIDED)) == "UCB less SE: -2 (-3 to -1), must be below 0"


def test_every_status_has_a_mark() -> None:
    assert set(phrasing.MARKS) == set(Status)
    assert len(set(phrasing.MARKS.values())) == 4


# ---- grids ----


def test_a_grid_needs_two_axes() -> None:
    assert grid(verdict(HOLDS, FAILS, each=("delay",))) == {}
    assert grid(verdict(HOLDS)) == {}


def test_a_grid() -> None:
    places = [{"c": c, "mean": mean} for c in ("1", "ln T") for mean in (0.3, 0.6, 0.9)]
    statuses = (HOLDS, HOLDS, FAILS, UNDECIDED, FAILS, HOLDS)
    found = grid(verdict(*statuses, each=("c", "mean"), places=places))
    assert {down: list(row) for down, row in found.items()} == {"1": [0.3, 0.6, 0.9], "ln T": [0.3, 0.6, 0.9]}
    assert [case.verdict.status for row in found.values() for case in row.values()] == list(statuses)
