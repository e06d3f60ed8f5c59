"""What a test refuses when a file is read, before anything is played: studies in which it makes no sense."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from belated import Problem
from belated.delays import Fixed
from belated.errors import ConfigurationError
from belated.policies import (
    UCB,
    OptimisticPessimisticElimination,
    PhasedElimination,
    SuccessiveElimination,
)
from belated.rewards import Bernoulli
from belated.simulation.result_builder import KEPT_NUMBERS
from belated.studies.claims import TESTS, ClaimTest
from belated.studies.claims.order import Below, Best, NoneBelow, Ratio
from belated.studies.claims.runs import Alike, Eliminates, Even, Flat, FlatStretches, SameSlope, Straight
from belated.studies.claims.theorems import Bounded, Level, Tabled
from belated.studies.claims.trends import Crosses, Falls, Increase, Peak, PeakMovesRight, Rises, Slope, Steady
from belated.studies.study import Study
from synthetic import PROBLEM, study

LINE = study(d=(1, 2, 4), law=("fixed", "Pareto"))
ONE = study(d=(7,), e=(1, 2))
WORDS = "the axis 'law' has values that are not numbers: fixed, Pareto."


def of_arms(arms: int) -> Problem:
    return Problem([Bernoulli(0.6)] + [Bernoulli(0.4)] * (arms - 1), Fixed(0))


def drawn(rng: np.random.Generator) -> Problem:
    """A problem for each run."""
    return PROBLEM


MIXED = (SuccessiveElimination(confidence="theory"), UCB(confidence="theory"))
"""A eliminates arms, B does not."""
ARMS = study(problem=of_arms, policies=MIXED, arms=(3, 2, 5))
FAMILY: Study = study(problem=lambda **_: drawn, policies=MIXED, d=(0, 1))  # type: ignore[arg-type, return-value]
ALONE = study(("A",), d=(0, 1))
TOP = "give a value of d, which has two or more in ascending order."
SETTING = study(problem=lambda setting: PROBLEM, setting=("fixed delay", "packet loss"))


def points(checkpoints: int | tuple[int, ...], **options: Any) -> Study:
    return study(checkpoints=checkpoints, **options)


TOO_MANY = points(4, most=KEPT_NUMBERS // 8 + 1)
"""Of two policies: one run too many for all curves to be kept."""


REFUSED: list[tuple[ClaimTest, Study, str]] = [
    # an axis with one value
    (Rises("A", "d"), ONE, "the axis 'd' has only one value here; give two or more."),
    (Rises("A", "d", steps=False), ONE, "the axis 'd' has only one value"),
    (Steady("A", "d", 0.1), ONE, "the axis 'd' has only one value"),
    (Increase("A", "d"), ONE, "the axis 'd' has only one value"),
    (Slope("A", "d", 0.0, 1.0), ONE, "the axis 'd' has only one value"),
    (PeakMovesRight("A", "e", "d", 0.0), ONE, "the axis 'd' has only one value"),
    (PeakMovesRight("A", "d", "e", 0.0), ONE, "the axis 'd' has only one value"),
    (Falls("A", "d", 7), ONE, f"top is 7; {TOP}"),
    # an axis of words
    (Crosses("A", "B", "law", 0, 1), LINE, WORDS),
    (Falls("A", "law", 0), LINE, WORDS),
    (Increase("A", "law"), LINE, WORDS),
    (Increase("A", "d", per="law"), LINE, WORDS),
    (Peak("A", "law", 0.0, 1.0), LINE, WORDS),
    (PeakMovesRight("A", "law", "d", 0.0), LINE, WORDS),
    (Slope("A", "law", 0.0, 1.0), LINE, WORDS),
    (Level(per=("d", "law")), LINE, WORDS),
    # an axis that is named twice, or divided by where it is 0
    (PeakMovesRight("A", "d", "d", 0.0), LINE, "along and over are both 'd'; give two axes."),
    (Increase("A", "d", per="d"), LINE, "per is 'd'; give another axis than along, with values > 0."),
    (Increase("A", "d", per="e"), study(d=(0, 1), e=(1, 0)), "per is 'e'; give another axis"),
    (Increase("A", "d", per="e"), study(d=(0, 1), e=(-2.5,)), "with values > 0."),
    (Level(per=("d",)), study(d=(0, 1)), "per has 'd', with values <= 0; the regret is divided by them."),
    (Level(per=("d", "e")), study(d=(1, 2), e=(1, -1)), "per has 'e', with values <= 0"),
    (Level(average="d", largest="law"), LINE, "average and largest are both given; give one of them."),
    # nobody to compare with
    (Best("A", among=("B", "A")), LINE, "among has 'A', which would be compared with itself; leave it out."),
    (NoneBelow("B", among=("B",)), LINE, "among has 'B', which would be compared with itself"),
    (Best("A"), ALONE, "the study 'by hand' has only the policy 'A': nothing to compare."),
    (NoneBelow("A"), ALONE, "has only the policy 'A'"),
    # ends that leave nothing to look at
    (Crosses("A", "B", "d", 2, 2), LINE, "low is 2 and high 2; give low < high"),
    (Crosses("A", "B", "d", 4, 1), LINE, "low is 4 and high 1; give low < high"),
    (Crosses("A", "B", "d", 0.5, 2), LINE, "with values of d up to low and from high on."),
    (Crosses("A", "B", "d", 1, 5), LINE, "with values of d up to low and from high on."),
    (Falls("A", "d", 3), LINE, f"top is 3; {TOP}"),
    (Falls("A", "d", 0.5), LINE, f"top is 0.5; {TOP}"),
    (Falls("A", "d", math.inf), LINE, TOP),
    (Falls("A", "d", math.nan), LINE, TOP),
    (Falls("A", "d", 2), study(d=(1, 4, 2)), f"top is 2; {TOP}"),
    (Falls("A", "d", 4), study(d=(4, 2, 1)), TOP),
    (Peak("A", "d", 1, 4), LINE, "from 1 to 4 there are all values of d; give a range with some of them."),
    (Peak("A", "d", 2.5, 3.5), LINE, "from 2.5 to 3.5 there are no values of d"),
    (Slope("A", "d", 0, 1), study(d=(0, 1, 2)), "the axis 'd' has values <= 0, which have no logarithm."),
    (Slope("A", "d", 0, 1), study(d=(3, -1.5)), "has values <= 0"),
    # checkpoints
    (Flat("A"), points(1), "the study 'by hand' has checkpoints = 1; a test of curves needs a number"),
    (Flat("A"), points((500, 1000)), "has checkpoints = (500, 1000); a test of curves"),
    (FlatStretches("A", 1, 2), points(1), "evenly spaced ones, from 2 to 1,000."),
    (SameSlope("A", "B", 0, 1), points((1, 1000)), "evenly spaced ones, from 2 to 1,000."),
    (Straight("A"), points(1), "evenly spaced ones, from 2 to 1,000."),
    (Straight("A"), points((500, 1000)), "evenly spaced ones, from 2 to 1,000."),
    (Flat("A"), points(1001), "evenly spaced ones, from 2 to 1,000."),
    (SameSlope("A", "B", 0, 1), points(8, horizon=7), "has checkpoints = 8; a test of curves needs a number"),
    (Flat("A"), TOO_MANY, "has up to 2,097,153 runs and 4 checkpoints: too many to keep all curves; give fewer."),
    (FlatStretches("A", 1, 1), TOO_MANY, "too many to keep all curves"),
    (SameSlope("A", "B", 0, 1), TOO_MANY, "too many to keep all curves"),
    (Straight("A"), TOO_MANY, "too many to keep all curves"),
    (Straight("A"), points(5), "checkpoints is 5; give an even number, so that one is at T/2."),
    # arms
    (Eliminates("A", 2), ARMS, "arm is 2; give a whole number from 0 to 1."),
    (Eliminates("A", -1), ARMS, "arm is -1; give a whole number from 0 to 1."),
    (Eliminates("A", 2), FAMILY, "arm is 2; give a whole number from 0 to 1."),
    (Eliminates("B", 1), ARMS, "policy is 'B', which never eliminates an arm."),
    (Eliminates("B", 1), FAMILY, "policy is 'B', which never eliminates an arm."),
    (Eliminates("C", 1), ARMS, "the study 'by hand' has no policy 'C'."),
    (Alike("d", 2, 0.1), study(d=(0, 1)), "arm is 2"),
    (Alike("d", 1, 0.1), study(d=(0, 1, 2)), "over is 'd'; give an axis with two values"),
    (Alike("d", 1, 0.1), study(d=(0,)), "over is 'd'; give an axis with two values"),
    (Alike("d", 1, 0.1), study(d=(0, 1), e=(0, 1)), "and say where on all others."),
    # theorems
    (
        Bounded(),
        study(policies=(UCB(confidence="theory"), UCB(confidence="theory"))),
        "no policy here has a finite bound",
    ),
    (
        Bounded(),
        study(("SE",), policies=(SuccessiveElimination(confidence=1.0),)),
        'for policies with confidence = "theory".',
    ),
    (Bounded(), FAMILY, "a bound is for one problem; in this study each run has its own."),
    (Tabled("d"), FAMILY, "a bound is for one problem"),
    (Tabled("setting"), SETTING, "Table 1 compares nothing for the problem at setting=packet loss."),
    (Tabled("d"), study(d=(0,)), "Table 1 compares nothing for the problem at d=0."),
]


@pytest.mark.parametrize(
    ("test", "looked_at", "said"), REFUSED, ids=[f"{type(test).__name__}-{j}" for j, (test, *_) in enumerate(REFUSED)]
)
def test_what_makes_no_sense_is_refused(test: ClaimTest, looked_at: Study, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        test.check(looked_at)


def test_every_kind_that_checks_is_refused_something() -> None:
    """A new check needs a study that it refuses."""
    checking = {cls for cls in TESTS.values() if cls.check is not ClaimTest.check}
    assert {type(test) for test, *_ in REFUSED} == checking
    assert set(TESTS.values()) - checking == {Below, Even, Ratio}


@pytest.mark.parametrize(
    "test",
    [
        Rises("A", "gap"),
        Falls("A", "gap", 1),
        Steady("A", "gap", 0.1),
        Crosses("A", "B", "gap", 0, 1),
        Increase("A", "gap"),
        Increase("A", "d", per="gap"),
        Alike("gap", 1, 0.1),
        Peak("A", "gap", 0, 1),
        PeakMovesRight("A", "gap", "d", 0.0),
        PeakMovesRight("A", "d", "gap", 0.0),
        Slope("A", "gap", 0, 1),
        Level(per=("gap",)),
    ],
)
def test_an_axis_that_is_not_there(test: ClaimTest) -> None:
    with pytest.raises(ConfigurationError, match="no axis 'gap'"):
        test.check(LINE)


# ---- sensible studies ----


@pytest.mark.parametrize(
    ("test", "looked_at"),
    [
        (Below("A", "B"), ONE),
        (Best("A"), FAMILY),
        (Best("A", among=("B",)), ONE),
        (NoneBelow("A"), ONE),
        (NoneBelow("A", among=("B",)), ONE),
        (Ratio("A", "B"), ONE),
        (Even("B"), ARMS),
        (Rises("A", "law"), LINE),
        *[(Falls("A", "d", top), LINE) for top in (1, 2, 4, 2.0)],
        (Falls("A", "d", 0.1 + 0.2), study(d=(0.1, 0.2, 0.3))),
        (Falls("A", "d", 0), study(d=(-1, 0, 1))),
        (Steady("A", "law", 0.1), LINE),
        (Crosses("A", "B", "d", 1, 4), LINE),
        (Crosses("A", "B", "d", 1.5, 1.6), LINE),
        (Increase("A", "d"), LINE),
        (Increase("A", "d", per="e"), study(d=(0, 1), e=(2,))),
        (Peak("A", "d", 1, 2), LINE),
        (Peak("A", "d", 4, 9), LINE),
        (Peak("A", "d", 0.1 + 0.2, 0.3), study(d=(0.1, 0.2, 0.3))),
        (PeakMovesRight("A", "d", "law", 0.0), LINE),
        (Slope("A", "d", 0, 1), study(d=(0.001, 1))),
        *[
            (test, points(2))
            for test in (Flat("A"), FlatStretches("A", 1, 1), SameSlope("A", "B", 0, 1), Straight("A"))
        ],
        (Flat("A"), points(5)),
        (Flat("A"), points(1000)),
        (Flat("A"), points(7, horizon=7)),
        (Flat("A"), points(4, most=KEPT_NUMBERS // 8)),
        (Straight("A"), points(100)),
        (Eliminates("A", 0), ARMS),
        (Eliminates("A", 1), ARMS),
        (Eliminates("A", 1), FAMILY),
        (Eliminates("A", 1), study(policies=(PhasedElimination(), UCB()))),
        (Eliminates("B", 1), study(policies=(UCB(), OptimisticPessimisticElimination()))),
        (Alike("law", 1, 0.1), LINE.within({"d": 2})[0]),
        (Alike("law", 1, 0.1), LINE.at({"d": 2})[0]),
        (Level(), ONE),
        (Level(per=("d", "e")), ONE),
        (Level(average="d"), LINE),
        (Level(largest="law"), LINE),
        (Bounded(), study(policies=(UCB(confidence="theory"), SuccessiveElimination(confidence="theory")))),
        (Tabled("setting"), SETTING.within({"setting": "fixed delay"})[0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, ClaimTest) else "",
)
def test_what_makes_sense_passes(test: ClaimTest, looked_at: Study) -> None:
    test.check(looked_at)


def test_the_part_that_a_claim_is_about_counts() -> None:
    Rises("A", "d").check(LINE)
    with pytest.raises(ConfigurationError, match="'d' has only one value"):
        Rises("A", "d").check(LINE.within({"d": 2})[0])
    with pytest.raises(ConfigurationError, match="no axis 'd'"):
        Rises("A", "d").check(LINE.at({"d": 2})[0])
    Eliminates("A", 2).check(ARMS.within({"arms": [3, 5]})[0])
