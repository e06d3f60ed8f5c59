"""What the checks of tests are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from test_check import ARMS, FAMILY, LINE

from belated.errors import ConfigurationError
from belated.policies import UCB, SuccessiveElimination
from belated.studies.claims.evidence import joined
from belated.studies.claims.order import others
from belated.studies.claims.runs import check_arm, check_evenly_spaced
from belated.studies.claims.theorems import one_problem, proven
from synthetic import PROBLEM, study


@pytest.mark.parametrize(("values", "found"), [((3, 1), [3.0, 1.0]), ((0.5,), [0.5]), ((0, -1, 2.5), [0.0, -1.0, 2.5])])
def test_numbers(values: tuple[Any, ...], found: list[float]) -> None:
    assert study(d=values).numbers("d") == found


def test_one_word_is_no_number() -> None:
    with pytest.raises(ConfigurationError, match=r"'d' has values that are not numbers: 1, ln T\."):
        study(d=(1, "ln T")).numbers("d")


def test_several() -> None:
    LINE.check_several("law")
    with pytest.raises(ConfigurationError, match="'e' has only one value here"):
        study(e=("a",)).check_several("e")


def test_evenly() -> None:
    assert [check_evenly_spaced(study(checkpoints=count)) for count in (2, 7, 1000)] == [2, 7, 1000]


def test_the_shortest_horizon_counts() -> None:
    cells = [study(horizon=horizon).cells[0] for horizon in (20, 5, 10)]
    assert check_evenly_spaced(replace(study(checkpoints=5), cells=tuple(cells))) == 5
    with pytest.raises(ConfigurationError, match=r"from 2 to 5\."):
        check_evenly_spaced(replace(study(checkpoints=6), cells=tuple(cells)))


def test_known_arm() -> None:
    for arm in (0, 1):
        check_arm(ARMS, arm)
    with pytest.raises(ConfigurationError, match="from 0 to 1"):
        check_arm(ARMS, 2)


def test_the_bounds_that_are_proven() -> None:
    """Of UCB there is an order, and of another confidence no theorem."""
    policies = (SuccessiveElimination(confidence="theory"), UCB(confidence="theory"), SuccessiveElimination())
    cell = study(("SE", "UCB", "SE 1"), policies=policies).cells[0]
    assert one_problem(cell) is PROBLEM
    found = proven(cell, ("SE", "UCB", "SE 1"))
    assert list(found) == ["SE"]
    assert found["SE"].value > 0.0
    with pytest.raises(ConfigurationError, match="each run has its own"):
        proven(FAMILY.cells[0], ("A", "B"))


def test_joined() -> None:
    assert joined("a", "", "b", "c") == "a: b: c"
    assert joined("", "") == ""


def test_others() -> None:
    three = study(("A", "B", "C"))
    assert others(three, "B", ()) == ("A", "C")
    assert others(three, "B", ("C", "A")) == ("C", "A")
    with pytest.raises(ConfigurationError, match="compared with itself"):
        others(three, "B", ("C", "B"))
    with pytest.raises(ConfigurationError, match="only the policy 'B'"):
        others(study(("B",)), "B", ())
