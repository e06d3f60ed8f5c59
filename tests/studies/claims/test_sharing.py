"""Of each kind of test, among how many comparisons the risk is shared: found at the edge between verdicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from belated import Result
from belated.studies.claims import ClaimTest, Evidence, Status
from belated.studies.claims.order import Below, Best, NoneBelow
from belated.studies.claims.theorems import Level
from belated.studies.claims.trends import Crosses, Falls, Peak, PeakMovesRight, Rises, Steady
from synthetic import Numbers, draws, evidence, reach, result

RISK = 0.001
GAPS = (0.1, 0.2, 0.3, 0.4, 0.5)


def same(value: float) -> Numbers:
    return draws(value, 0.0)


def below(noisy: Numbers) -> Evidence:
    """In three cells; two are clear."""
    return evidence(lambda d: result({"A": same(0), "B": same(9) if d else noisy}), d=range(3))


def best(noisy: Numbers) -> Evidence:
    """Two others, two cells; one of the four is unclear."""
    return evidence(lambda d: result({"A": same(1), "B": same(9), "C": same(9) if d else 1 + noisy}), d=range(2))


def crossing(noisy: Numbers) -> Evidence:
    """Four values, three of which count."""
    return evidence(lambda d: result({"A": same((9, 9, 0, -9)[d]) if d else noisy, "B": same(0)}), d=range(4))


def rising(noisy: Numbers) -> Evidence:
    return evidence(lambda d: result({"A": 1 + noisy if d == 1 else same(1 + 9 * d)}), d=range(4))


def falling(noisy: Numbers) -> Evidence:
    """Up to 1 it rises, a little only; then it falls, clearly."""
    return evidence(lambda d: result({"A": noisy if d == 1 else same(-9 * max(d - 1, 0))}), d=range(4))


def level(noisy: Numbers) -> Evidence:
    """Two policies, two numbers of arms, three delays."""

    def of(arms: int, d: int) -> Result:
        unclear = noisy if d == 1 else same(-9)
        return result({"A": same(9), "B": same(9) if arms == 2 else unclear})

    return evidence(of, arms=(2, 3), d=range(3))


def peak(noisy: Numbers) -> Evidence:
    """The top is at 0.1, but 0.3 is near."""
    return evidence(lambda gap: result({"A": {0.1: noisy, 0.3: same(0)}.get(gap, same(-9))}), gap=GAPS)


def moving(noisy: Numbers) -> Evidence:
    """The top moves from 0.1 to 0.3, unless it stays at 0.1."""
    later = {0.1: same(0), 0.3: noisy}

    def of(tail: int, gap: float) -> Result:
        return result({"A": later.get(gap, same(-9)) if tail else same(1 - gap)})

    return evidence(of, tail=(0, 1), gap=GAPS)


@pytest.mark.parametrize(
    ("test", "shown", "comparisons"),
    [
        (Below("A", "B"), below, 3),
        (Best("A"), best, 4),
        (Best("A", among=("C",)), best, 2),
        (NoneBelow("A"), best, 4),
        (NoneBelow("A", among=("C",)), best, 2),
        (Crosses("A", "B", "d", 1, 3), crossing, 3),
        (Rises("A", "d"), rising, 3),
        (Falls("A", "d", 1), falling, 3),
        (Level(low=0.0, policies=("A", "B"), largest="d"), level, 2 * 2 * 3),
        (Level(low=0.0, policies=("B",), largest="d"), level, 2 * 3),
        (Peak("A", "gap", 0.1, 0.2), peak, 3 * 2),
        (Peak("A", "gap", 0.1, 0.1), peak, 4),
        (PeakMovesRight("A", "gap", "tail", 0.0), moving, 2 * 10),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ClaimTest) else "",
)
def test_the_risk_is_shared_by(test: ClaimTest, shown: Callable[[Numbers], Evidence], comparisons: int) -> None:
    edge = reach(draws(0.0), RISK / comparisons)[0]
    assert test.judge(shown(draws(1.001 * edge)), RISK).status is Status.HOLDS
    assert test.judge(shown(draws(0.999 * edge)), RISK).status is Status.UNDECIDED


def test_steady_values_share_it_too() -> None:
    """Against a value without chance, the ratio is a mean."""
    edge = reach(draws(0.0), RISK / 4)[0]
    for times, status in ((1.001, Status.HOLDS), (0.999, Status.UNDECIDED)):
        noisy = draws(12.5 - times * edge)
        found = evidence(lambda d, noisy=noisy: result({"A": noisy if d == 2 else same(10)}), d=range(5))
        assert Steady("A", "d", 0.25).judge(found, RISK).status is status
