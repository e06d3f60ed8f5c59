"""Results and studies made by hand: numbers with a mean and a spread that are known, and nothing simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, islice, product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.stats as ss

from belated import Problem, Result
from belated.delays import Fixed
from belated.policies import UCB, Policy
from belated.rewards import Bernoulli
from belated.simulation.result import Manifest
from belated.studies.claims import Claim, ClaimTest, Evidence
from belated.studies.study import Axis, Cell, Study

Numbers = npt.NDArray[np.float64]
Means = Callable[..., Mapping[str, float]]

PROBLEM = Problem([Bernoulli(0.6), Bernoulli(0.4)], Fixed(0))
POLICY = UCB()
HORIZON = 1000
RUNS = 50


def draws(mean: float, spread: float = 1.0, runs: int = RUNS, seed: Any = 0) -> Numbers:
    """Numbers whose mean and standard deviation are exactly these, up to rounding. They lie symmetrically about the
    mean, as sums of such numbers do, and so do their intervals."""
    half = np.random.default_rng(seed).standard_normal(runs // 2)
    noise = np.concatenate([half, np.zeros(runs % 2), -half[::-1]])
    return np.asarray(mean + spread * noise / noise.std(ddof=1))


def reach(x: Numbers, risk: float) -> tuple[float, float]:
    """How far the interval of a mean goes to the left and to the right: a second text. Half of the risk is Student's,
    half is for runs beyond those that were drawn."""
    student = float(ss.t.isf(risk / 4, x.size - 1) * x.std(ddof=1)) / math.sqrt(x.size)
    unmet = 1.0 - (risk / 4) ** (1.0 / x.size)
    return student + unmet * float(x.mean() - x.min()), student + unmet * float(x.max() - x.mean())


def stairs(*patterns: str, runs: int = RUNS) -> Numbers:
    """(R, C) curves, the patterns in turn: each digit is what a step adds."""
    return np.array([[int(digit) for digit in row] for row in islice(cycle(patterns), runs)], np.float64).cumsum(axis=1)


def result(
    regret: Mapping[str, npt.ArrayLike],
    *,
    pulls: npt.ArrayLike | None = None,
    eliminated_at: npt.ArrayLike | None = None,
    rounds: Sequence[int] = (),
) -> Result:
    """Of each policy (R,) regret at the horizon, or (R, C) at checkpoints; the counts are (P, R, K). Claims are judged
    by runs: means and standard errors are left out."""

    def record() -> Manifest:
        raise AssertionError("a result made by hand has no manifest")

    given = [np.asarray(values, np.float64) for values in regret.values()]
    curves = np.stack([values if values.ndim == 2 else values[:, None] for values in given])
    count, points = curves.shape[1:]
    nothing, unknown = np.zeros((len(given), count, 2), np.int32), np.full((len(given), points), np.nan)
    return Result(
        labels=list(regret),
        rounds=np.array(rounds or [HORIZON * step // points for step in range(1, points + 1)]),
        mean=unknown,
        stderr=unknown,
        curves=curves,
        final=curves[:, :, -1],
        pulls=nothing if pulls is None else np.asarray(pulls, np.int32),
        observed=nothing,
        in_flight=nothing,
        lost=nothing,
        eliminated_at=nothing - 1 if eliminated_at is None else np.asarray(eliminated_at, np.int32),
        horizon=HORIZON,
        record=record,
    )


def study(
    labels: Sequence[str] = ("A", "B"),
    *,
    problem: Callable[..., Problem] = lambda **_: PROBLEM,
    policies: tuple[Policy, ...] | None = None,
    horizon: int = HORIZON,
    runs: int = RUNS,
    most: int | None = None,
    checkpoints: int | tuple[int, ...] = 1,
    **axes: Sequence[Any],
) -> Study:
    """A study with a cell for every combination of the axes' values."""
    places = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    played = policies or (POLICY,) * len(labels)
    return Study(
        "by hand",
        "",
        tuple(Axis(name, tuple(values)) for name, values in axes.items()),
        tuple(labels),
        tuple(Cell(place, problem(**place), played, horizon) for place in places),
        runs,
        most or runs,
        checkpoints,
    )


def evidence(of: Callable[..., Result], **options: Any) -> Evidence:
    """A study whose result at each place ``of`` makes; the options are those of ``study``."""
    first = study((), **options)
    results = tuple(of(**cell.coordinates) for cell in first.cells)
    return Evidence(study(results[0].labels, checkpoints=results[0].rounds.size, **options), results)


def grid(means: Means, spread: float = 0.1, count: int = RUNS, **options: Any) -> Evidence:
    """Evidence with this mean regret of each policy at each place; all runs differ, by this spread."""
    number = iter(range(1000))

    def of(**place: Any) -> Result:
        return result({label: draws(value, spread, count, next(number)) for label, value in means(**place).items()})

    return evidence(of, **options)


def constant(spread: float = 0.1, count: int = RUNS, **means: float) -> Evidence:
    """One cell with these mean regrets."""
    return grid(lambda: means, spread, count)


def claim(test: ClaimTest, **options: Any) -> Claim:
    return Claim("a sentence", "a place", "a reading", "by hand", test, **options)
