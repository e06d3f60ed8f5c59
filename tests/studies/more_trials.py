"""Of the other kinds of tests, about curves, arms and theorems: evidence on which each holds, fails, is left open."""

from __future__ import annotations

import math

import numpy as np

from belated import Problem, Result
from belated.delays import DelayLaw, Fixed, PacketLoss, Pareto
from belated.policies import UCB, SuccessiveElimination
from belated.rewards import Bernoulli
from belated.studies.claims import Evidence
from belated.studies.claims.runs import Alike, Eliminates, Even, Flat, FlatStretches, SameSlope, Straight
from belated.studies.claims.theorems import Bounded, Level, Tabled
from belated.theory import bound_of
from synthetic import HORIZON, PROBLEM, RUNS, constant, draws, evidence, grid, result, stairs
from trials import Trial, square

# ---- the course of a run ----


def course(*patterns: str, runs: int = RUNS, **others: str) -> Evidence:
    """Curves of A, and of other policies."""
    curves = {"A": stairs(*patterns, runs=runs)} | {label: stairs(given, runs=runs) for label, given in others.items()}
    return evidence(lambda: result(curves))


COURSE = [
    Trial(
        "flat",
        Flat("A", 0.3, 0.7),
        (0.5,),
        course("110100", "000100"),
        course("11011", "11111"),
        course("110100", "110100", "100100"),
    ),
    Trial(
        "flat",
        Flat("A", high=0.4),
        (0.25,),
        course("1011", "1101", "0111", "0111"),
        course("10001"),
        course("1001"),
    ),
    Trial(
        "flat",
        Flat("A", high=0.2),
        (0.0,),
        course("1111"),
        course("0001", "0011"),
        course("1111", "1001"),
    ),
    Trial(
        "flat stretches",
        FlatStretches("A", 2, 2, low=0.5),
        (1.0,),
        course("1001001", "0010001"),
        course("1001011", "1000010"),
        course("1001001", "1001011"),
    ),
    Trial(
        "flat stretches",
        FlatStretches("A", 1, 3, high=0.5),
        (0.0,),
        course("1001000", "1111111"),
        course("1000100", "0001111"),
        course("1001000", "0001111"),
    ),
    Trial(
        "same slope",
        SameSlope("A", "B", 0.8, 1.25),
        (1.0,),
        course("2002", "2222", B="2022"),
        course("1111", B="0200"),
        course("1010", "3030", B="2222", runs=8),
    ),
    Trial(
        "straight",
        Straight("A", 0.8, 1.25),
        (1.0,),
        course("1111", "1212"),
        course("1110", "3210"),
        course("1122", "2211", runs=8),
    ),
    Trial("straight", Straight("A", high=0.5), (1 / 3,), course("2110"), course("1122"), course("1120", "2110")),
]


# ---- what became of arms ----


def gone(hits: int) -> Evidence:
    """Arm 1 is eliminated by A in so many of the runs, arm 0 by none, and both by B."""
    rounds = np.full((2, RUNS, 2), -1)
    rounds[0, :hits, 1] = np.arange(hits)
    rounds[1] = 7
    regrets = {"A": np.ones(RUNS), "B": np.ones(RUNS)}
    return evidence(lambda: result(regrets, eliminated_at=rounds), policies=(SuccessiveElimination(),) * 2)


def pulled(first: float, second: float, apart: int = 5) -> Evidence:
    """The shares of pulls of arm 1 by B, at two instances; A pulls it as often at both. There are many runs: of few,
    those that were not met could be a large share."""
    shares, patterns = {"p": first, "q": second}, {"p": [1, 1, -1, -1], "q": [1, -1, 1, -1]}

    def of(instance: str) -> Result:
        noise = apart * np.resize(patterns[instance], 4000)
        pulls = np.stack([noise + 300, noise + round(HORIZON * shares[instance])])
        return result({"A": noise, "B": noise}, pulls=np.stack([HORIZON - pulls, pulls], axis=2))

    return evidence(of, instance=("p", "q"))


def evenly_pulled(hits: int) -> Evidence:
    """In so many of the runs, A pulls all arms 300 times, else one of them never: it was eliminated at once."""
    pulls = np.full((1, 8 * RUNS, 3), 300)
    pulls[0, 8 * hits :, 2] = 0
    rounds = np.where(pulls == 0, 15, -1)
    return evidence(lambda: result({"A": np.ones(8 * RUNS)}, pulls=pulls, eliminated_at=rounds))


COUNTS = [
    Trial("eliminates", Eliminates("A", 1, low=0.8), (1.0,), gone(50), gone(20), gone(40)),
    Trial("eliminates", Eliminates("A", 1, high=0.2), (0.0,), gone(0), gone(40), gone(8)),
    Trial("even", Even("A", low=0.8), (1.0,), evenly_pulled(50), evenly_pulled(20), evenly_pulled(40)),
    Trial("even", Even("A", high=0.5), (0.2,), evenly_pulled(10), evenly_pulled(40), evenly_pulled(25)),
    Trial("alike", Alike("instance", 1, 0.03), (0.0, 0.02), pulled(0.52, 0.5), pulled(0.5, 0.55), pulled(0.53, 0.5)),
    Trial(
        "alike", Alike("instance", 1, 0.03), (0.0, -0.02), pulled(0.5, 0.52), pulled(0.55, 0.5), pulled(0.5, 0.52, 200)
    ),
]


# ---- theorems ----


def bounded(share: float, spread: float = 0.01) -> Evidence:
    """SE with this share of its bound. UCB has an order only, and for c = 1 there is no theorem."""
    policies = (SuccessiveElimination(confidence="theory"), UCB(confidence="theory"), SuccessiveElimination())
    bound = bound_of(policies[0], PROBLEM, HORIZON)
    assert bound is not None
    regrets = {"SE": bound.value * draws(share, spread), "UCB": np.full(RUNS, 1e9), "SE 1": np.full(RUNS, 1e9)}
    return evidence(lambda: result(regrets), policies=policies)


def tabled(setting: str, arms: int, gap: float, law: DelayLaw) -> Evidence:
    problem = Problem([Bernoulli(0.6)] + [Bernoulli(0.6 - gap)] * (arms - 1), law)
    return grid(lambda setting: {"A": 1.0}, problem=lambda setting: problem, setting=(setting,))


R = math.log(HORIZON) / 0.2
"""The regret without delays of one arm with gap 0.2."""

THEOREMS = [
    Trial(
        "level",
        Level(0.1, 0.3, unit=2.0, per=("arms", "d")),
        (0.2,) * 4,
        square(lambda arms, d: {"A": 0.4 * arms * d}),
        square(lambda arms, d: {"A": 0.4 * d}),
        square(lambda arms, d: {"A": 0.6 * arms * d}),
    ),
    Trial(
        "level",
        Level(0.9, 1.1, average="d"),
        (1.0, 1.0, 1.0, 1.0),
        square(lambda arms, d: {"A": d / 20, "B": 2 - d / 20}),
        square(lambda arms, d: {"A": d / 20, "B": d / 10}),
        square(lambda arms, d: {"A": d / 20, "B": 0.1 + d / 20}),
    ),
    Trial(
        "level",
        Level(low=1.0, largest="d"),
        (1.5, 1.5, 1.5, 1.5),
        square(lambda arms, d: {"A": d / 20, "B": 2 - d / 20}),
        square(lambda arms, d: {"A": d / 20, "B": 0.9}),
        square(lambda arms, d: {"A": d / 20, "B": 1.0}),
    ),
    Trial(
        "level", Level(high=1.5, policies=("A",)), (1,), constant(A=1, B=9), constant(A=2, B=1), constant(A=1.5, B=1)
    ),
    Trial("bounded", Bounded(), (0.5,), bounded(0.5), bounded(2.0), bounded(1.0)),
    Trial(
        "tabled",
        Tabled("setting"),
        ((9 * R + 1000) / (9 * R + 10_000), (9 * R + 1000) / (100 + math.sqrt(10) * 1000)),
        tabled("fixed delay", 10, 0.2, Fixed(1000)),
        tabled("fixed delay", 10, 0.01, Fixed(10)),
        None,
    ),
    Trial(
        "tabled",
        Tabled("setting"),
        (2 * R / 500,),
        tabled("packet loss", 2, 0.2, PacketLoss(0.5)),
        tabled("packet loss", 2, 0.2, PacketLoss(0.01)),
        None,
    ),
    Trial(
        "tabled",
        Tabled("setting"),
        (0.0,),
        tabled("general, reward-independent", 2, 0.2, Pareto(0.5)),
        tabled("general, reward-independent", 2, 0.2, Fixed(0)),
        None,
    ),
    Trial(
        "tabled",
        Tabled("setting"),
        (2 * R / 500,),
        tabled("packet loss", 2, 0.2, PacketLoss(0.5)),
        tabled("packet loss", 2, 0.2, PacketLoss(1.0)),
        None,
    ),
]
