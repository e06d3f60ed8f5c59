"""Laws beside an independent formula for each, from scipy.stats or by hand.

Each law's own test file, tests/rewards/test_NAME.py or tests/delays/test_NAME.py, holds its ``CASES``; the contract
tests collect them from there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from belated.delays import DelayLaw, FromScipy
from belated.delays._base import DELAYS
from belated.registry import Registry
from belated.rewards import RewardLaw
from belated.rewards._base import REWARDS

TESTS = Path(__file__).parents[1]
Reals = npt.NDArray[np.float64]
Cdf = Callable[[Reals], Reals]


class RewardCase(NamedTuple):
    """A reward law and the same distribution from elsewhere: an object with ``cdf`` and ``mean``. An unbounded law is
    drawn through a stated range that clips hardly anything."""

    law: RewardLaw
    truth: Any
    reward_range: tuple[float, float] | None = None


class DelayCase(NamedTuple):
    """A delay law, P(D <= g) for integers g >= 0, P(never), and the longest delay that comes."""

    law: DelayLaw
    cdf: Cdf
    never: float = 0.0
    longest: float = np.inf


class RoundCase(NamedTuple):
    """A delay law that depends on the round, and its distribution in one round: P(D <= g), P(never)."""

    law: DelayLaw
    now: int
    cdf: Cdf
    never: float = 0.0


class Points:
    """A distribution on a few numbers."""

    def __init__(self, values: list[float], probabilities: list[float]) -> None:
        self._values, self._probabilities = values, probabilities

    def cdf(self, x: Reals) -> Reals:
        pairs = zip(self._values, self._probabilities, strict=True)
        return np.sum([p * (np.asarray(x) >= v) for v, p in pairs], axis=0)

    def mean(self) -> float:
        return float(np.dot(self._values, self._probabilities))


def step(at: float, height: float = 1.0) -> Cdf:
    """All mass at one delay."""
    return lambda g: np.where(g >= at, height, 0.0)


def integer_part(law: Any) -> Cdf:
    """The integer part of a continuous variable: P(X < g + 1)."""
    return lambda g: np.asarray(law.cdf(np.asarray(g) + 1.0))


def mixed(*parts: tuple[float, Cdf]) -> Cdf:
    """A weighted sum of distribution functions."""
    return lambda g: np.sum([weight * cdf(g) for weight, cdf in parts], axis=0)


@cache
def _module(package: str, name: str) -> Any:
    """The test module of a law."""
    path = TESTS / package / f"test_{name}.py"
    assert path.is_file(), f"every law has its test file with CASES: {path.relative_to(TESTS.parent)} is missing"
    spec = importlib.util.spec_from_file_location(f"cases_of_{package}_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _modules(registry: Registry[Any]) -> list[Any]:
    homes = [cls.__module__.split(".")[1:] for cls in registry.values()]
    return [_module(package, name) for package, name in homes]


REWARD_CASES: list[RewardCase] = [case for module in _modules(REWARDS) for case in module.CASES]
DELAY_CASES: list[DelayCase] = [case for module in _modules(DELAYS) for case in module.CASES]
ROUND_CASES: list[RoundCase] = [case for module in _modules(DELAYS) for case in getattr(module, "ROUND_CASES", [])]


def example_of(law: type) -> Any:
    """An instance of a built-in law: the first of its cases, or the ``EXAMPLE`` of its test file."""
    module = _module(*law.__module__.split(".")[1:])
    return module.EXAMPLE if hasattr(module, "EXAMPLE") else module.CASES[0].law


def name(case: RewardCase | DelayCase | RoundCase) -> str:
    """A readable id for a test."""
    law = case.law
    if isinstance(case, RoundCase):
        return f"{law!r} in round {case.now}"
    if isinstance(law, FromScipy):
        return f"FromScipy({law.frozen.dist.name}{law.frozen.args or law.frozen.kwds})"
    return repr(law)
