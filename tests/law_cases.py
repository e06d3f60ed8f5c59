"""Every law beside an independent formula for it, from scipy.stats or by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.stats as ss

from belated.delays import (
    DelayLaw,
    Empirical,
    Fixed,
    FromScipy,
    Geometric,
    LogNormal,
    Mixture,
    Never,
    PacketLoss,
    Pareto,
    Poisson,
)
from belated.delays import Uniform as UniformDelay
from belated.rewards import Bernoulli, Beta, Categorical, Constant, RewardLaw, Uniform

Reals = npt.NDArray[np.float64]


class RewardCase(NamedTuple):
    law: RewardLaw
    truth: Any  # frozen distribution of scipy.stats


class DelayCase(NamedTuple):
    law: DelayLaw
    cdf: Callable[[Reals], Reals]  # P(D <= g) for whole g >= 0
    never: float = 0.0
    longest: float = np.inf  # the longest delay that comes


def _points(values: list[float], probabilities: list[float]) -> Any:
    """A distribution on a few numbers."""

    class Points:
        def cdf(self, x: Reals) -> Reals:
            pairs = zip(values, probabilities, strict=True)
            return np.sum([p * (np.asarray(x) >= v) for v, p in pairs], axis=0)

        def mean(self) -> float:
            return float(np.dot(values, probabilities))

    return Points()


REWARD_CASES = [
    RewardCase(Bernoulli(0.3), ss.bernoulli(0.3)),
    RewardCase(Bernoulli(0.0), ss.bernoulli(0.0)),
    RewardCase(Bernoulli(1.0), ss.bernoulli(1.0)),
    RewardCase(Bernoulli(1e-4), ss.bernoulli(1e-4)),
    RewardCase(Categorical([0.0, 0.5, 1.0], [0.2, 0.5, 0.3]), _points([0.0, 0.5, 1.0], [0.2, 0.5, 0.3])),
    RewardCase(Categorical([0.9, 0.1, 0.4, 0.7], [0.1, 0.6, 0.0, 0.3]), _points([0.9, 0.1, 0.7], [0.1, 0.6, 0.3])),
    RewardCase(Categorical([0.25], [1.0]), _points([0.25], [1.0])),
    RewardCase(Beta(2.0, 6.0), ss.beta(2.0, 6.0)),
    RewardCase(Beta(0.3, 0.4), ss.beta(0.3, 0.4)),
    RewardCase(Beta(40.0, 10.0), ss.beta(40.0, 10.0)),
    RewardCase(Uniform(0.0, 1.0), ss.uniform(0.0, 1.0)),
    RewardCase(Uniform(0.2, 0.55), ss.uniform(0.2, 0.35)),
    RewardCase(Constant(0.35), _points([0.35], [1.0])),
]


def _step(at: float, height: float = 1.0) -> Callable[[Reals], Reals]:
    return lambda g: np.where(g >= at, height, 0.0)


def _floor(law: Any) -> Callable[[Reals], Reals]:
    """The integer part of a continuous variable: P(X < g + 1)."""
    return lambda g: np.asarray(law.cdf(np.asarray(g) + 1.0))


def _mixed(*parts: tuple[float, Callable[[Reals], Reals]]) -> Callable[[Reals], Reals]:
    return lambda g: np.sum([weight * cdf(g) for weight, cdf in parts], axis=0)


def _share(sample: list[int], never: float = 0.0) -> Callable[[Reals], Reals]:
    return lambda g: (1 - never) * np.mean(np.asarray(g)[..., None] >= np.array(sample), axis=-1)


SAMPLE = [4, 0, 17, 4, 4, 250, 1000, 3]
NESTED = Mixture([(3, Mixture([(1, Poisson(4)), (1, Never())])), (1, Fixed(20)), (0, Pareto(1)), (4, PacketLoss(0.25))])

DELAY_CASES = [
    DelayCase(Fixed(0), _step(0), longest=0),
    DelayCase(Fixed(7), _step(7), longest=7),
    DelayCase(UniformDelay(3, 12), ss.randint(3, 13).cdf, longest=12),
    DelayCase(UniformDelay(0, 0), _step(0), longest=0),
    DelayCase(UniformDelay(0, 6), ss.randint(0, 7).cdf, longest=6),
    DelayCase(UniformDelay(500, 30_000), ss.randint(500, 30_001).cdf, longest=30_000),
    DelayCase(Geometric(0.0), _step(0), longest=0),
    DelayCase(Geometric(0.3), ss.geom(1 / 1.3, loc=-1).cdf),
    DelayCase(Geometric(20.0), ss.geom(1 / 21, loc=-1).cdf),
    DelayCase(Geometric(3000.0), ss.geom(1 / 3001, loc=-1).cdf),
    DelayCase(Poisson(0.0), _step(0), longest=0),
    DelayCase(Poisson(0.5), ss.poisson(0.5).cdf),
    DelayCase(Poisson(200.0), ss.poisson(200.0).cdf),
    DelayCase(Poisson(19_950.0), ss.poisson(19_950.0).cdf),
    DelayCase(Pareto(1.0), _floor(ss.pareto(1.0))),
    DelayCase(Pareto(0.2), _floor(ss.pareto(0.2))),
    DelayCase(Pareto(2.5, 7.3), _floor(ss.pareto(2.5, scale=7.3))),
    DelayCase(Pareto(0.7, 0.2), _floor(ss.pareto(0.7, scale=0.2))),
    DelayCase(LogNormal(100.0, 1.5), _floor(ss.lognorm(1.5, scale=100.0))),
    DelayCase(LogNormal(0.5, 0.3), _floor(ss.lognorm(0.3, scale=0.5))),
    DelayCase(PacketLoss(0.3), _step(0, 0.3), 0.7, 0),
    DelayCase(PacketLoss(0.0), _step(0, 0.0), 1.0, 0),
    DelayCase(PacketLoss(1.0), _step(0), 0.0, 0),
    DelayCase(Never(), _step(0, 0.0), 1.0, 0),
    DelayCase(Mixture([(1, Fixed(3)), (3, Fixed(9))]), _mixed((0.25, _step(3)), (0.75, _step(9))), longest=9),
    DelayCase(Mixture([(0.7, Geometric(5)), (0.3, Never())]), _mixed((0.7, ss.geom(1 / 6, loc=-1).cdf)), 0.3),
    DelayCase(
        Mixture([(0.5, Pareto(0.5)), (0.5, UniformDelay(2, 5))]),
        _mixed((0.5, _floor(ss.pareto(0.5))), (0.5, ss.randint(2, 6).cdf)),
    ),
    DelayCase(
        NESTED,
        _mixed((3 / 16, ss.poisson(4).cdf), (1 / 8, _step(20)), (1 / 8, _step(0))),
        9 / 16,
    ),
    DelayCase(Empirical(SAMPLE), _share(SAMPLE), longest=1000),
    DelayCase(Empirical(SAMPLE, never=0.35), _share(SAMPLE, 0.35), 0.35, 1000),
    DelayCase(Empirical([5], never=1.0), _step(0, 0.0), 1.0, 0),
    DelayCase(FromScipy(ss.expon(scale=30)), _floor(ss.expon(scale=30))),
    DelayCase(FromScipy(ss.gamma(0.4, scale=50)), _floor(ss.gamma(0.4, scale=50))),
    DelayCase(FromScipy(ss.uniform(2, 8)), ss.randint(2, 10).cdf, longest=9),
    DelayCase(FromScipy(ss.uniform(0.5, 3)), lambda g: np.clip((np.asarray(g) + 0.5) / 3, 0, 1), longest=3),
    DelayCase(FromScipy(ss.poisson(12)), ss.poisson(12).cdf),
    DelayCase(FromScipy(ss.randint(4, 9)), ss.randint(4, 9).cdf, longest=8),
    DelayCase(FromScipy(ss.nbinom(3, 0.1)), ss.nbinom(3, 0.1).cdf),
    DelayCase(FromScipy(ss.poisson(3, loc=0.5)), ss.poisson(3).cdf),
    DelayCase(FromScipy(ss.lomax(0.6, scale=10)), _floor(ss.lomax(0.6, scale=10))),
]


def name(case: RewardCase | DelayCase) -> str:
    """A readable id for a test."""
    law = case.law
    if isinstance(law, FromScipy):
        return f"FromScipy({law.frozen.dist.name}{law.frozen.args or law.frozen.kwds})"
    return repr(law)
