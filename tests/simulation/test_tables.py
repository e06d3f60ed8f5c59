"""What notebooks and consoles show of results, problems, bandits and differences."""

from __future__ import annotations

import math
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.stats

from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Empirical, Fixed, FromScipy
from belated.errors import InvalidParameter
from belated.policies import UCB, ImputedUCB, SuccessiveElimination
from belated.rewards import Bernoulli
from belated.simulation.difference import Difference
from belated.studies.sweep import sweep


class Cells(HTMLParser):
    """The texts of a table's cells; fails if a tag is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def cells(thing: object) -> list[str]:
    return Cells(thing._repr_html_()).cells  # type: ignore[attr-defined]


BIG = Problem([Bernoulli(mean) for mean in np.linspace(0.1, 0.9, 1000)], Empirical(list(range(5000)), never=0.2))


def test_a_problem() -> None:
    shown = cells(Problem([Bernoulli(0.3), Bernoulli(0.5)], [ByReward({0: Fixed(0), 1: Fixed(30)}), Fixed(7)]))
    assert shown[7:] == [
        *("0", "Bernoulli(0.3)", "ByReward({0: Fixed(0), 1: Fixed(30)})", "0.3", "0.2", "0", "0%"),
        *("1", "Bernoulli(0.5)", "Fixed(7)", "0.5", "0", "7", "0%"),
    ]
    assert "<Problem of 1,000 arms: means from 0.1 to 0.9" in repr(BIG)
    assert len(repr(BIG)) < 120
    assert len(BIG._repr_html_()) < 20_000
    assert "… 988 more …" in cells(BIG)
    small = Problem([Bernoulli(0.5)], Fixed(3))
    assert eval(repr(small)) == small


def test_laws_have_short_reprs() -> None:
    assert repr(Empirical([3, 1], never=0.5)) == "Empirical([1, 3], never=0.5)"
    assert repr(Empirical(range(5000))) == "Empirical(<5,000 delays from 0 to 4,999>)"
    assert repr(FromScipy(scipy.stats.expon(scale=100))) == "FromScipy(expon(scale=100))"


def test_a_result_and_a_difference() -> None:
    result = simulate(
        Problem([Bernoulli(0.3), Bernoulli(0.6)], Fixed(20)),
        [UCB(confidence=1.0), SuccessiveElimination(confidence=1.0)],
        horizon=200,
        runs=10,
    )
    shown = cells(result)
    assert shown[:6] == ["policy", "regret ± s.e.", "5% to 95%", "observed", "in flight", "lost"]
    assert (shown[6], shown[12]) == ("UCB", "SE")
    assert shown[9:12] == ["90.0%", "10.0%", "0%"]
    difference = result.difference("UCB", "SE")
    mean, stderr, runs = difference  # as it was
    assert (mean, stderr) == (difference.mean, difference.stderr)
    assert runs is difference.runs
    assert difference.labels == ("UCB", "SE")
    assert "\n" not in repr(difference)
    assert repr(difference).startswith("<Difference UCB - SE: ")
    low, high = difference.interval(0.9)
    expected = scipy.stats.t.interval(0.9, 9, loc=mean, scale=stderr)
    assert (low, high) == pytest.approx(expected)
    assert Difference.of(np.array([1.0]), ("a", "b")).interval() == (-math.inf, math.inf)
    with pytest.raises(InvalidParameter, match="level is 95"):
        difference.interval(95)
    assert "<b>" not in cells(Difference.of(np.arange(9.0), ("<b>", "&")))[-1]


def test_a_huge_result_is_short() -> None:
    policies = [UCB(confidence=c) for c in np.linspace(0.1, 2.0, 15)]
    result = simulate(Problem([Bernoulli(0.5)] * 50, Fixed(1)), policies, horizon=60, runs=200)
    assert len(repr(result)) < 240
    one = simulate(Problem([Bernoulli(0.5)] * 2, Fixed(1)), UCB(), horizon=20, runs=1)
    assert repr(one).startswith("<Result of 1 run of 20 rounds; ")
    assert "\n" not in repr(result)
    assert len(result._repr_html_()) < 20_000


def test_names_are_escaped() -> None:
    bandit = Bandit(["<script>alert(1)</script>", "a&b"], UCB(confidence=1.0), seed=0)
    first = bandit.choose()
    bandit.choose()
    bandit.observe(first.id, 1.0)
    html = bandit._repr_html_()
    assert "<script" not in html
    shown = cells(bandit)
    assert shown[7:13] == ["<script>alert(1)</script>", "active", "1", "1", "0", "1.000"]
    assert repr(bandit) == "<Bandit of 2 arms, UCB: 2 decisions, 1 pending>"


def test_a_bandit_that_corrects_means() -> None:
    bandit = Bandit(["late", "silent"], ImputedUCB())
    decisions = bandit.choose(40)
    bandit.observe_many([(decision.id, 0.25) for decision in decisions if decision.arm == "late"])
    late, _ = bandit.summary()
    shown = cells(bandit)
    assert shown[5:9] == ["mean", "corrected mean", "dependence", "bounds"]
    assert shown[14:17] == ["0.250", f"{late.corrected_mean:.3f}", f"{late.dependence:.3f}"]
    assert shown[23:26] == ["", "", ""]
    assert "depend on rewards" in bandit._repr_html_()
    other = Bandit(["a"], UCB())
    assert cells(other)[5:7] == ["mean", "bounds"]
    assert "depend on rewards" not in other._repr_html_()


def test_a_sweep() -> None:
    found = sweep(
        lambda delay: Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(delay)),
        list(range(40)),
        UCB(confidence=1.0),
        horizon=20,
        runs=2,
        name="<delay>",
    )
    assert repr(found) == "<Sweep over 40 values of <delay>: UCB; 2 runs each>"
    assert cells(found)[:2] == ["<delay>", "UCB"]
    assert "… 28 more …" in cells(found)
