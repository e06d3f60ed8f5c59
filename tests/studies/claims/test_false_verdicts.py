"""With the truth on the edge of what a claim allows, a verdict either way is as rare as the risk says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import scipy.stats as ss

from belated import Result
from belated.policies import SuccessiveElimination
from belated.studies.claims import TESTS, ClaimTest, Evidence, Status
from belated.studies.claims.order import Below, Best, NoneBelow, Ratio
from belated.studies.claims.runs import Alike, Eliminates, Even, Flat, FlatStretches, SameSlope, Straight
from belated.studies.claims.theorems import Bounded, Level
from belated.studies.claims.trends import Crosses, Falls, Increase, Peak, PeakMovesRight, Rises, Slope, Steady
from belated.theory import successive_elimination
from synthetic import HORIZON, PROBLEM, Numbers, claim, evidence, result, study

RISK, COUNT, RUNS, MANY = 0.1, 2000, 40, 400
FEWER = {"bounded": 500} | dict.fromkeys(
    (
        "peak moves right",
        "flat stretches",
        "rises",
        "falls",
        "steady",
        "crosses",
        "increase",
        "peak",
        "level",
        "none below",
        "flat",
        "alike",
    ),
    1000,
)
"""Replications of what takes its time."""
BOUND = successive_elimination(PROBLEM, HORIZON).value
Draw = Callable[[np.random.Generator], Evidence]


def limit(risk: float, count: int = COUNT) -> int:
    """More than so many of the replications are wrong with probability 1e-4, if the risk is kept."""
    return int(ss.binom.ppf(1 - 1e-4, count, risk))


def around(means: Callable[..., Mapping[str, float]], spread: float = 0.2, **options: Any) -> Draw:
    """Regrets with these true means, and a spread that is a share of each."""

    places = [cell.coordinates for cell in study((), **options).cells]
    whole = study(tuple(means(**places[0])), **options)

    def draw(rng: np.random.Generator) -> Evidence:
        return Evidence(
            whole,
            tuple(
                result({label: m * rng.normal(1.0, spread, RUNS) for label, m in means(**place).items()})
                for place in places
            ),
        )

    return draw


def curves(of: Callable[[np.random.Generator], Mapping[str, Numbers]]) -> Draw:
    """Of each policy (R, C) what each step adds."""
    return lambda rng: evidence(lambda: result({label: np.cumsum(x, axis=1) for label, x in of(rng).items()}))


def flat_or_not(rng: np.random.Generator) -> Mapping[str, Numbers]:
    """In half of the runs, nine of ten steps are flat, the tenth always rises; so the share is 0.45."""
    rises = np.repeat(rng.random((MANY, 1)) < 0.5, 10, axis=1)
    rises[:, -1] = True
    return {"A": rises.astype(float)}


def stretch_or_not(rng: np.random.Generator) -> Mapping[str, Numbers]:
    """In three of ten runs there is a flat stretch."""
    steps = np.ones((RUNS, 4))
    steps[rng.random(RUNS) < 0.3, 1:3] = 0.0
    return {"A": steps}


def two_slopes(rng: np.random.Generator) -> Mapping[str, Numbers]:
    return {"A": rng.uniform(1.0, 3.0, (RUNS, 4)), "B": rng.uniform(0.5, 1.5, (RUNS, 4))}


def halves(rng: np.random.Generator) -> Mapping[str, Numbers]:
    return {"A": np.repeat([1.0, 1.0, 1.2, 1.2], RUNS).reshape(4, RUNS).T * rng.normal(1.0, 0.3, (RUNS, 4))}


def eliminated(rng: np.random.Generator) -> Evidence:
    rounds = np.where(rng.random((1, RUNS, 2)) < 0.3, 5, -1)
    return evidence(lambda: result({"A": np.ones(RUNS)}, eliminated_at=rounds))


def even_or_not(rng: np.random.Generator) -> Evidence:
    """In three of ten runs, both arms are pulled equally often, else one of them four times as often."""
    pulls = np.where(rng.random((1, MANY, 1)) < 0.3, [500, 500], [800, 200])
    return evidence(lambda: result({"A": np.ones(MANY)}, pulls=pulls))


def shares(rng: np.random.Generator) -> Evidence:
    """Arm 1 has 0.03 more of the pulls at p than at q."""

    def of(instance: str) -> Result:
        pulls = rng.uniform(60 if instance == "p" else 0, 1001, (2, MANY, 2))
        return result({"A": np.ones(MANY), "B": np.ones(MANY)}, pulls=pulls)

    return evidence(of, instance=("p", "q"))


def bounds(rng: np.random.Generator) -> Evidence:
    regret = BOUND * rng.normal(1.0, 0.3, RUNS)
    return evidence(lambda: result({"SE": regret}), policies=(SuccessiveElimination(confidence="theory"),))


D = range(4)
GAPS = tuple(j / 10 for j in range(1, 7))
CASES: list[tuple[str, ClaimTest, Draw]] = [
    ("below", Below("A", "B"), around(lambda: {"A": 1, "B": 1})),
    ("below", Below("A", "B", 0.5), around(lambda d: {"A": 1, "B": 2}, d=D)),
    ("best", Best("A"), around(lambda: {"A": 1, "B": 1, "C": 1, "D": 1})),
    ("best", Best("A", among=("B", "C")), around(lambda d: {"A": 1, "B": 1, "C": 1, "D": 0}, d=(0, 1))),
    ("none below", NoneBelow("A"), around(lambda: {"A": 1, "B": 1, "C": 1, "D": 1})),
    ("none below", NoneBelow("A", 0.5, among=("B",)), around(lambda d: {"A": 2, "B": 1, "C": 0}, d=D)),
    ("ratio", Ratio("A", "B", high=2.0), around(lambda: {"A": 2, "B": 1})),
    ("ratio", Ratio("A", "B", low=2.0, pooled=True), around(lambda d: {"A": 2 * d, "B": d}, d=(1, 2, 3))),
    ("rises", Rises("A", "d", 2.0), around(lambda d: {"A": 2**d}, d=D)),
    ("rises", Rises("A", "d", 8.0, steps=False), around(lambda d: {"A": 2**d}, d=D)),
    ("falls", Falls("A", "d", 1), around(lambda d: {"A": 1}, d=D)),
    ("falls", Falls("A", "d", 3), around(lambda d: {"A": max(d, 1)}, d=D)),
    ("falls", Falls("A", "d", 0), around(lambda d: {"A": 4 - min(d, 2)}, d=D)),
    ("steady", Steady("A", "d", 0.25), around(lambda d: {"A": 1.25 if d else 1}, d=D)),
    ("steady", Steady("A", "d", 0.25), around(lambda d: {"A": 0.75 if d else 1}, d=D)),
    ("crosses", Crosses("A", "B", "d", 1, 2), around(lambda d: {"A": 1, "B": 1}, d=D)),
    ("increase", Increase("A", "d", 0.5, per="k"), around(lambda k, d: {"A": 1 + k * d / 2}, k=(1, 2), d=D)),
    ("peak", Peak("A", "gap", 0.1, 0.5), around(lambda gap: {"A": 1}, gap=GAPS)),
    ("peak", Peak("A", "gap", 0.1, 0.1), around(lambda gap: {"A": 1}, gap=GAPS)),
    ("peak", Peak("A", "gap", 0.3, 0.4), around(lambda gap: {"A": 1}, gap=GAPS)),
    (
        "peak moves right",
        PeakMovesRight("A", "gap", "tail", 0.0),
        around(lambda tail, gap: {"A": 1}, tail=(1, 2), gap=GAPS),
    ),
    ("slope", Slope("A", "d", 0.5, 9.0), around(lambda d: {"A": math.sqrt(d)}, d=(1, 10, 100))),
    ("flat", Flat("A", high=0.45), curves(flat_or_not)),
    ("flat stretches", FlatStretches("A", 1, 2, low=0.3), curves(stretch_or_not)),
    ("same slope", SameSlope("A", "B", 2.0, 9.0), curves(two_slopes)),
    ("straight", Straight("A", high=1.2), curves(halves)),
    ("eliminates", Eliminates("A", 1, high=0.3), eliminated),
    ("even", Even("A", low=0.475), even_or_not),
    ("alike", Alike("instance", 1, 0.03), shares),
    ("level", Level(low=2.0, per=("d",)), around(lambda d: {"A": 2 * d, "B": 2 * d}, d=(1, 2))),
    ("level", Level(low=2.0, average="d"), around(lambda d: {"A": 2.0}, d=D)),
    ("level", Level(low=2.0, largest="d"), around(lambda d: {"A": 2.0, "B": 2.0}, d=D)),
    ("bounded", Bounded(), bounds),
]


def test_every_kind_with_chance_is_tried() -> None:
    assert {name for name, *_ in CASES} == set(TESTS) - {"tabled"}
    for name, test, _ in CASES:
        assert type(test) is TESTS[name]


@pytest.mark.parametrize(("name", "test", "draw"), CASES, ids=[f"{case[0]}-{j}" for j, case in enumerate(CASES)])
@pytest.mark.parametrize("part", [0.4, pytest.param(1.0, marks=pytest.mark.slow)])
def test_on_the_edge(name: str, test: ClaimTest, draw: Draw, part: float) -> None:
    rng = np.random.default_rng(7)
    count = round(part * FEWER.get(name, COUNT))
    found = Counter(test.judge(draw(rng), RISK).status for _ in range(count))
    assert found[Status.HOLDS] <= limit(RISK, count)
    assert found[Status.FAILS] <= limit(RISK, count)


@pytest.mark.parametrize(
    ("second", "wrong"), [(0.3, Status.HOLDS), (0.2, Status.HOLDS), (0.4, Status.FAILS)], ids=["stays", "left", "right"]
)
def test_a_peak_that_is_hard_to_see(second: float, wrong: Status) -> None:
    """From 0.3 it stays, moves left, moves right."""
    peaks = {1: 0.3, 2: second}
    draw = around(lambda tail, gap: {"A": 1.05 if gap == peaks[tail] else 1.0}, tail=(1, 2), gap=GAPS)
    rng = np.random.default_rng(9)
    test = PeakMovesRight("A", "gap", "tail", 0.0)
    found = Counter(test.judge(draw(rng), RISK).status for _ in range(500))
    assert found[wrong] <= limit(RISK, 500)


# ---- claims ----


def grown(rng: np.random.Generator, most: int, d: int = 1) -> Callable[[int], Evidence]:
    """Evidence with so many runs, of which more are the first ones and others. A and B are equally good."""
    runs = [{label: rng.normal(1.0, 1.0, most) for label in "AB"} for _ in range(d)]

    def of(count: int) -> Evidence:
        return evidence(
            lambda d: result({label: x[:count] for label, x in runs[d].items()}), runs=10, most=most, d=range(d)
        )

    return of


@pytest.mark.parametrize("cells", [1, 3])
def test_looking_often_does_not_help(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim is judged with 10, 40, 160 and 640 runs, until it is decided; more often than from 1,600 on."""
    monkeypatch.setattr("belated.studies.study.ENOUGH_RUNS", 10)
    looks = study(runs=10, most=640).interim_looks()
    assert looks == [10, 40, 160, 640]
    rng, count, below = np.random.default_rng(10), 1000, claim(Below("A", "B"), confidence=0.8)
    found: Counter[Status] = Counter()
    for _ in range(count):
        shown, judged = grown(rng, 640, cells), None
        for look in looks:
            judged = below.judge(shown(look), judged)
            if judged.status is not Status.UNDECIDED:
                break
        assert judged is not None
        found[judged.status] += 1
    assert found[Status.HOLDS] <= limit(0.2, count)
    assert found[Status.FAILS] <= limit(0.2, count)
    assert found[Status.FAILS] + found[Status.HOLDS] <= limit(0.2, count)


def test_the_cases_of_a_claim_are_right_all_at_once() -> None:
    """One case that is judged wrongly is too many: the verdict of the claim, and of each case, has its confidence."""
    rng, count, cases = np.random.default_rng(11), 1000, 5
    apart = claim(Below("A", "B"), confidence=1 - RISK, each=("d",))
    found: Counter[Status] = Counter()
    wrong = 0
    for _ in range(count):
        judged = apart.judge(grown(rng, 10, cases)(10))
        found.update(case.verdict.status for case in judged.cases)
        wrong += len(judged.undecided) < cases
    assert wrong <= limit(RISK, count)
    assert found[Status.HOLDS] + found[Status.FAILS] <= limit(RISK / cases, cases * count)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["too low", "too high"])
def test_rare_failures_are_not_overlooked(sign: float) -> None:
    """One run in ten of A is 20 times as bad, so that A is as good as B on average."""
    rng, count, risk = np.random.default_rng(12), 2000, 0.01
    found: Counter[Status] = Counter()
    for _ in range(count):
        regret = rng.normal(1.0, 0.1, 100) + 20.0 * (rng.random(100) < 0.1)
        regrets = {"A": sign * regret, "B": np.full(100, sign * 3.0)}
        found[Below("A", "B").judge(evidence(lambda regrets=regrets: result(regrets)), risk).status] += 1
    assert found[Status.HOLDS] + found[Status.FAILS] <= limit(risk, count)
