"""What findings say, and mistakes that are named."""

from __future__ import annotations

import math

import pytest

from belated.delays import ByReward, DelayLaw, Fixed, Never, PacketLoss, Pareto
from belated.errors import ConfigurationError
from belated.policies import SuccessiveElimination
from belated.problem import Problem
from belated.rewards import Bernoulli
from belated.studies.claims import ClaimTest, Status
from belated.studies.claims.order import Below, Best, NoneBelow, Ratio
from belated.studies.claims.runs import Alike, Eliminates, Even, Flat, Straight
from belated.studies.claims.theorems import Bounded, Level, Tabled
from belated.studies.claims.trends import Crosses, Falls, Increase, Peak, PeakMovesRight, Rises, Slope
from more_trials import bounded, course, evenly_pulled, gone, pulled, tabled
from synthetic import PROBLEM, constant, evidence, grid, result
from trials import square, steps, three, top

RISK = 0.001


@pytest.mark.parametrize(
    ("other", "note"),
    [
        ((3, 3, 5, 6), "the curves cross near d 1.5"),
        ((1, 3, 4.5, 6), "the curves cross near d 1.67"),
        ((3, 3, 3, 4), "the curves cross near d 3"),
        ((5, 5, 5, 6), "the curves do not cross"),
        ((3, 3, 3, 3), "the curves do not cross"),
        ((5, 3, 3, 5), "the curves cross near d 2.5"),
    ],
)
def test_where_curves_cross(other: tuple[float, ...], note: str) -> None:
    """Where A, from above, comes below B."""
    assert Crosses("A", "B", "d", 1, 3).judge(steps(4, 4, 4, 4, other=other, spread=1e-9), RISK).note == note


def test_where_the_peak_is() -> None:
    assert Peak("A", "gap", 0.1, 0.2).judge(top(3), RISK).note == "largest at gap 0.4: 5"
    moves = PeakMovesRight("A", "gap", "tail", 0.0).judge(top(0, 2, 4), RISK)
    assert moves.note == "peak by tail: 0: 0.1, 1: 0.3, 2: 0.5"


@pytest.mark.parametrize(
    ("test", "shown", "what", "note"),
    [
        (Below("A", "B"), constant(A=1, B=2), "A less B", "A 1, B 2"),
        (Below("A", "B", 0.5), steps(1, 1, other=(3, 3)), "d = 0: A less 0.5 x B", "A 1, B 3"),
        (Best("A"), constant(A=1, B=2, C=3), "A less B", "A 1, B 2"),
        (Best("C", among=("A",)), three((4, 4), (2, 2), (3, 3)), "d = 0: C less A", "C 3, A 4"),
        (NoneBelow("A"), constant(A=1, B=2, C=3), "B less 1 x A", "B 2, A 1"),
        (NoneBelow("C", 0.5, ("B",)), three((4, 4), (2, 2), (3, 3)), "d = 0: B less 0.5 x C", "B 2, C 3"),
        (Straight("A"), course("1122"), "A: regret of the second half / of the first", "2 at round 500, 6 at the end"),
        (Ratio("A", "B"), steps(1, 1, other=(3, 3)), "d = 0: A / B", "A 1, B 3"),
        (Ratio("A", "B", pooled=True), steps(1, 3, other=(4, 4)), "mean over all: A / B", "A 2, B 4"),
        (Rises("A", "d"), steps(1, 3), "A: d 1 over d 0", "1 to 3"),
        (Falls("A", "d", 0), steps(3, 1), "A: d 1 less d 0", ""),
        (
            Increase("A", "d", per="arms"),
            square(lambda arms, d: {"A": 100 * d}),
            "arms = 2: A: regret added for each unit of d and arms",
            "1,000 at d 10, 3,000 at 30",
        ),
        (Slope("A", "d", 0, 2), square(lambda arms, d: {"A": d}), "arms = 2: power of d with which A grows", ""),
        (Flat("A"), course("101"), "share of flat stretches in A's curves", ""),
        (Eliminates("A", 1), gone(20), "share of runs in which A eliminates arm 1", "20 of 50 runs"),
        (
            Even("A"),
            evenly_pulled(20),
            "A: pulls of the arm pulled least / most",
            "0.6 arms eliminated on average",
        ),
        (
            Alike("instance", 1, 0.1),
            pulled(0.5, 0.52),
            "A: share of pulls of arm 1, instance p less instance q",
            "0.3 and 0.3",
        ),
        (
            Level(per=("arms", "d")),
            square(lambda arms, d: {"A": d}),
            "arms = 2, d = 10: A: regret / arms d",
            "regret 10",
        ),
        (Level(unit=5.0, average="d"), square(lambda arms, d: {"A": d}), "arms = 2: A: regret / 5", "regret 20"),
        (Level(unit=5.0, unit_name="(gap d)"), constant(A=1), "A: regret / (gap d)", "regret 1"),
        (Bounded(), bounded(0.5), "SE, regret / bound", "1,382 against 2,763 (Theorem 2, a quantile for each arm)"),
        (
            Tabled("setting"),
            tabled("fixed delay", 2, 0.2, Fixed(100)),
            "setting = fixed delay: R_MAB + d over R_MAB + K d",
            "134.5 against 234.5",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ClaimTest) else "",
)
def test_a_finding_says_what_and_how_much(test: ClaimTest, shown: object, what: str, note: str) -> None:
    found = test.judge(shown, RISK).findings[0]  # type: ignore[arg-type]
    assert (found.what, found.note) == (what, note)


# ---- mistakes ----


def test_a_bound_is_of_one_problem() -> None:
    family = evidence(lambda: result({"A": [1.0, 2.0]}), problem=lambda: lambda rng: PROBLEM)
    with pytest.raises(ConfigurationError, match="in this study each run has its own"):
        Bounded().judge(family, RISK)


@pytest.mark.parametrize("setting", ["packet loss", "general, reward-dependent", "no such row"])
def test_a_row_that_compares_nothing(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=f"Table 1 compares nothing for the problem at setting={setting}"):
        Tabled("setting").judge(tabled(setting, 2, 0.2, Fixed(100)), RISK)


@pytest.mark.parametrize(
    ("setting", "gap", "law", "value", "note"),
    [
        ("general, reward-independent", 0.2, Never(), 1.0, "infinite against infinite"),
        ("Pareto delay", 0.2, Pareto(0.0005), 1.0, "infinite against infinite"),
        ("Pareto delay", 0.0, Pareto(0.0005), math.inf, "infinite against 0"),
        ("packet loss", 0.2, PacketLoss(0.0), math.inf, "infinite against 1,000"),
        ("packet loss", 0.2, PacketLoss(1.0), math.inf, "34.54 against 0"),
        ("packet loss", 0.0, PacketLoss(1.0), 1.0, "0 against 0"),
        ("fixed delay", 0.0, Fixed(0), 1.0, "0 against 0"),
    ],
)
def test_nothing_and_infinity_in_table_1(setting: str, gap: float, law: DelayLaw, value: float, note: str) -> None:
    """What is infinite, or 0 against 0, is not below; and nothing is divided by 0."""
    shown = tabled(setting, 2, gap, law)
    Tabled("setting").check(shown.study)
    found = Tabled("setting").judge(shown, RISK)
    assert found.status is Status.FAILS
    assert (found.deciding.value, found.deciding.note) == (value, note)


@pytest.mark.parametrize(
    "other",
    [
        Problem([Bernoulli(0.6), Bernoulli(0.4)], ByReward({0: Fixed(0), 1: Fixed(9)})),
        Problem([Bernoulli(0.6), Bernoulli(0.6)], Fixed(0)),
        Problem([Bernoulli(0.6), Bernoulli(0.4)], Never()),
    ],
    ids=["delays depend on the reward", "the bound is 0", "the bound is infinite"],
)
def test_a_bound_that_no_theorem_gives_is_not_compared(other: Problem) -> None:
    """Theorem 2 is for delays that do not depend on the reward; and of 0 and infinity there is no share."""
    problems = {"a": PROBLEM, "b": other}
    shown = grid(
        lambda law: {"SE": 1e9},
        problem=lambda law: problems[law],
        law=("a", "b"),
        policies=(SuccessiveElimination(confidence="theory"),),
    )
    assert [finding.what for finding in Bounded().judge(shown, RISK).findings] == ["law = a: SE, regret / bound"]
    Bounded().check(shown.study)
    with pytest.raises(ConfigurationError, match="no policy here has a finite bound"):
        Bounded().check(shown.study.within({"law": "b"})[0])
    with pytest.raises(ConfigurationError, match="nothing to compare"):
        Bounded().judge(shown.within({"law": "b"}), RISK)


@pytest.mark.parametrize("value", [-5.0, 0.0, 1e9])
def test_a_ratio_without_ends_allows_any_number(value: float) -> None:
    found = Ratio("A", "B").judge(constant(A=value, B=1.0), RISK)
    assert found.findings[0].allowed == (-math.inf, math.inf)
    assert found.status is Status.HOLDS
    assert Ratio("A", "B", high=2e9).judge(constant(A=value, B=1.0), RISK).status is Status.HOLDS


@pytest.mark.parametrize(
    "test",
    [
        Below("A", "C"),
        Best("C"),
        Best("A", ("C",)),
        NoneBelow("C"),
        Rises("C", "d"),
        Falls("C", "d", 0),
        Eliminates("C", 0),
        Flat("C"),
    ],
)
def test_a_policy_that_is_not_there(test: ClaimTest) -> None:
    with pytest.raises(ConfigurationError, match="no policy 'C'"):
        test.judge(steps(1, 2, other=(1, 2)), RISK)


@pytest.mark.parametrize(
    "test",
    [Rises("A", "gap"), Falls("A", "gap", 0), Slope("A", "gap", 0, 1), Level(average="gap"), Level(largest="gap")],
)
def test_an_axis_that_is_not_there(test: ClaimTest) -> None:
    with pytest.raises(ConfigurationError, match="no axis 'gap'"):
        test.judge(steps(1, 2), RISK)
