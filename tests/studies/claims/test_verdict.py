"""Comparisons, what follows from several of them, and how the risk is shared."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.errors import ConfigurationError
from belated.studies.claims import Finding, Status, Verdict
from belated.studies.claims.base import Comparison, all_hold, any_holds, compared
from belated.studies.claims.evidence import Exact, mean
from strategies import examples
from synthetic import draws

INF = math.inf
HOLDS, FAILS, UNDECIDED = Status.HOLDS, Status.FAILS, Status.UNDECIDED


class Ranged:
    """An estimate whose interval is given; it remembers the risks that it was asked for."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.value = (low + high) / 2
        self.risks: list[float] = []

    def interval(self, risk: float) -> tuple[float, float]:
        self.risks.append(risk)
        return self.low, self.high


IN, OUT, ACROSS = (0.2, 0.3), (2.0, 3.0), (0.5, 1.5)


def below_one(*intervals: tuple[float, float]) -> list[Comparison]:
    return [Comparison(f"number {j}", Ranged(*ends), high=1.0) for j, ends in enumerate(intervals)]


# ---- one comparison ----


@pytest.mark.parametrize(
    ("interval", "allowed", "status"),
    [
        ((1.0, 2.0), (0.0, 3.0), HOLDS),
        ((1.0, 2.0), (-INF, 3.0), HOLDS),
        ((1.0, 2.0), (0.0, INF), HOLDS),
        ((1.0, 2.0), (1.0, 3.0), UNDECIDED),  # the range is open
        ((1.0, 2.0), (0.0, 2.0), UNDECIDED),
        ((1.0, 2.0), (1.5, 3.0), UNDECIDED),
        ((1.0, 2.0), (0.0, 1.5), UNDECIDED),
        ((1.0, 2.0), (1.2, 1.8), UNDECIDED),
        ((1.0, 2.0), (2.0, 3.0), FAILS),
        ((1.0, 2.0), (-1.0, 1.0), FAILS),
        ((1.0, 2.0), (5.0, INF), FAILS),
        ((1.0, 1.0), (0.0, 1.0), FAILS),
        ((1.0, 1.0), (0.9, 1.1), HOLDS),
        ((-INF, INF), (0.0, 1.0), UNDECIDED),
        ((-INF, INF), (-INF, 1.0), UNDECIDED),
        ((-INF, INF), (-INF, INF), UNDECIDED),
    ],
)
def test_a_comparison(interval: tuple[float, float], allowed: tuple[float, float], status: Status) -> None:
    found = compared(Comparison("what", Ranged(*interval), *allowed, "a note"), 0.1)
    assert found.status is status
    assert (found.what, found.interval, found.allowed, found.note) == ("what", interval, allowed, "a note")
    assert found.value == sum(interval) / 2 or math.isinf(interval[0])


def test_no_number_is_undecided() -> None:
    assert compared(Comparison("", Exact(math.nan), high=1.0), 0.1).status is UNDECIDED


@pytest.mark.parametrize(
    ("value", "outside"),
    [(0.5, False), (0.0, True), (1.0, True), (-0.1, True), (1.1, True), (math.nan, True), (1e-300, False)],
)
def test_an_estimate_lies_outside_of_an_open_range(value: float, outside: bool) -> None:
    """Whatever its interval is."""
    for interval in ((-9.0, 9.0), (value, value)):
        assert Finding("", value, interval, (0.0, 1.0), UNDECIDED).outside is outside
    assert not Finding("", 0.5, (-9.0, 9.0), (-INF, INF), UNDECIDED).outside


# ---- several ----


def test_all_of() -> None:
    assert Status.all_of([HOLDS, HOLDS]) is HOLDS
    assert Status.all_of([HOLDS, UNDECIDED, HOLDS]) is UNDECIDED
    assert Status.all_of([UNDECIDED, FAILS, HOLDS]) is FAILS
    assert Status.all_of(iter([FAILS])) is FAILS


@pytest.mark.parametrize(
    ("intervals", "for_every", "for_some"),
    [
        ([IN, IN], HOLDS, HOLDS),
        ([IN, ACROSS], UNDECIDED, HOLDS),
        ([ACROSS, OUT], FAILS, UNDECIDED),
        ([IN, OUT], FAILS, HOLDS),
        ([OUT, OUT], FAILS, FAILS),
        ([ACROSS, ACROSS], UNDECIDED, UNDECIDED),
    ],
)
def test_every_and_some(intervals: list[tuple[float, float]], for_every: Status, for_some: Status) -> None:
    for judge, status in ((all_hold, for_every), (any_holds, for_some)):
        for order in (intervals, intervals[::-1]):
            found = judge(below_one(*order), 0.1, "a note")
            assert (found.status, found.note) == (status, "a note")
            kept = [ends for ends in order if ends == IN] if judge is any_holds and status is HOLDS else order
            assert [finding.interval for finding in found.findings] == kept


@pytest.mark.parametrize("judge", [all_hold, any_holds])
def test_nothing_to_compare_is_an_error(judge: Any) -> None:
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        judge([], 0.1)
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        judge((), 0.1, "a note", choices=3)


def test_where_one_is_enough_the_closest_call_is_among_those_that_hold() -> None:
    found = any_holds(below_one(OUT, (0.5, 0.9), ACROSS, IN), 0.1)
    assert [finding.what for finding in found.findings] == ["number 1", "number 3"]
    assert found.deciding.what == "number 1"


@pytest.mark.parametrize("judge", [all_hold, any_holds])
@pytest.mark.parametrize(("count", "choices"), [(1, 1), (4, 1), (1, 3), (5, 7)])
def test_the_risk_is_shared(judge: Any, count: int, choices: int) -> None:
    comparisons = below_one(*[IN] * count)
    judge(comparisons, 0.1, choices=choices)
    for comparison in comparisons:
        assert isinstance(comparison.estimate, Ranged)
        assert comparison.estimate.risks == [pytest.approx(0.1 / (count * choices))]


def test_what_is_shared_is_wider() -> None:
    x = draws(1.0)
    alone = all_hold([Comparison("", mean(x), low=0.0)], 0.01).findings[0].interval
    shared = all_hold([Comparison("", mean(x), low=0.0)] * 5, 0.01).findings[0].interval
    assert shared == mean(x).interval(0.002)
    assert shared[0] < alone[0] < alone[1] < shared[1]


# ---- which finding decides ----


def finding(interval: tuple[float, float], status: Status, allowed: tuple[float, float] = (0.0, 1.0)) -> Finding:
    return Finding("", sum(interval) / 2, interval, allowed, status)


def test_the_first_that_fails_or_is_undecided_decides() -> None:
    statuses = [HOLDS, UNDECIDED, FAILS, UNDECIDED, FAILS]
    findings = tuple(finding((j, j + 1.0), status) for j, status in enumerate(statuses))
    assert Verdict(FAILS, findings).deciding is findings[2]
    assert Verdict(UNDECIDED, findings).deciding is findings[1]
    assert Verdict(HOLDS, findings).deciding is findings[0]


def test_where_all_hold_the_closest_call_decides() -> None:
    """In widths of the interval: 0.1 from 1 is close for an interval of 0.2, and far for one of 0.01."""
    far, close, narrow = ((0.4, 0.5), (0.7, 0.9), (0.89, 0.9))
    findings = tuple(finding(ends, HOLDS) for ends in (far, close, narrow))
    assert Verdict(HOLDS, findings).deciding is findings[1]


@pytest.mark.parametrize(
    ("interval", "allowed", "margin"),
    [
        ((0.4, 0.6), (0.0, 1.0), 2.0),
        ((0.1, 0.3), (0.0, 1.0), 0.5),
        ((0.1, 0.3), (-INF, 1.0), 3.5),
        ((0.1, 0.3), (-INF, INF), INF),
        ((-0.1, 0.1), (0.0, INF), -0.5),
        ((1.0, 1.0 + 1e-9), (-INF, 2.0), 1e9),
    ],
)
def test_margin(interval: tuple[float, float], allowed: tuple[float, float], margin: float) -> None:
    assert finding(interval, HOLDS, allowed).margin == pytest.approx(margin, rel=1e-6)


@pytest.mark.parametrize(("room", "more"), [(1e-9, 2e-9), (0.5, 1.0), (1.0, 1e6)])
def test_the_margin_of_a_point_at_0_is_a_number(room: float, more: float) -> None:
    """However small a point is, the one with less room is the closer call."""
    for point in (0.0, 1e-300, -1e-250):
        close, far = (finding((point, point), HOLDS, (-INF, point + end)).margin for end in (room, more))
        assert 0.0 < close < far < INF
        assert finding((point, point), HOLDS, (point - room, point + more)).margin == pytest.approx(close)


def test_the_closest_call_among_points_at_0() -> None:
    found = all_hold([Comparison(f"{high:g}", Exact(0.0), high=high) for high in (3.0, 1.0, 2.0)], 0.1)
    assert (found.status, found.deciding.what) == (HOLDS, "1")


POINTS = st.floats(1e-6, 1e6) | st.floats(-1e6, -1e-6)


@examples(200)
@given(POINTS, POINTS, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_the_margins_of_points_are_numbers_in_order(point: float, other: float, room: float, more: float) -> None:
    """Of numbers without chance, the closest call is that with the least room for its size."""
    margins = [
        finding((x, x), HOLDS, allowed).margin
        for x, allowed in (
            (point, (point - room * abs(point), INF)),
            (other, (-INF, other + (room + more) * abs(other))),
            (point, (point - 2 * (room + more) * abs(point), point + room * abs(point))),
        )
    ]
    assert all(math.isfinite(margin) and margin > 0.0 for margin in margins)
    assert margins[0] < margins[1]
    assert margins[0] == pytest.approx(margins[2], rel=1e-6)


def test_a_point_is_further_from_the_end_than_an_interval() -> None:
    found = all_hold(
        [Comparison("point", Exact(0.5), high=1.0), Comparison("close", Exact(0.9), high=1.0), *below_one(IN)], 0.1
    )
    assert found.deciding.what == "number 0"
    assert (
        all_hold([Comparison("far", Exact(0.5), high=1.0), Comparison("close", Exact(0.9), high=1.0)], 0.1).deciding
        == (found.findings[1])
    )
