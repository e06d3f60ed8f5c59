"""The scenarios of the demo: three experiments, and visitors simulated by the package's reward and delay laws."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from belated.delays import ByReward, LogNormal, Mixture, Never, Pareto
from belated.delays._base import DelayLaw
from belated.engine.environment import Environment
from belated.problem import Problem
from belated.rewards import Bernoulli
from belated.service.core.spec import Silence

MAX_DELAY = 30 * 86_400
"""Longer delays, in seconds, count as never."""
MEAN_PAUSE = 4.0
"""Mean time in seconds between two visitors of an experiment."""


@dataclass(frozen=True)
class DemoScenario:
    """An experiment and its environment; delays are in seconds."""

    name: str
    arms: tuple[str, ...]
    policy: dict[str, Any] | None
    """None: the default, with or without silence."""
    means: tuple[float, ...]
    delay: DelayLaw
    silence: Silence | None = None
    reports_failure: bool = True
    cancels: float = 0.0
    """The share of decisions that are never shown, and cancelled."""

    @cached_property
    def problem(self) -> Problem:
        """Rewards and delays of the arms."""
        return Problem([Bernoulli(mean) for mean in self.means], self.delay)


def demo_scenarios() -> tuple[DemoScenario, ...]:
    """The three scenarios."""
    checkout = DemoScenario(
        "checkout",
        ("one page", "three steps", "express", "guest first", "with voucher"),
        {"name": "OPSE", "confidence": 1.0},
        (0.46, 0.28, 0.68, 0.38, 0.57),
        ByReward({0: LogNormal(8.0, 1.0), 1: LogNormal(2_400.0, 0.8)}),
    )
    newsletter = DemoScenario(
        "newsletter",
        ("question", "number", "first name", "plain"),
        None,
        (0.34, 0.30, 0.40, 0.24),
        Mixture([(0.72, LogNormal(240.0, 1.0)), (0.13, LogNormal(3_600.0, 0.7)), (0.15, Never())]),
        Silence(1_800.0, 0.0),
        reports_failure=False,
        cancels=0.015,
    )
    rng = np.random.default_rng(24)
    pictures = DemoScenario(
        "front-page",
        tuple(f"picture {number:02d}" for number in range(1, 25)),
        {"name": "Thompson"},
        tuple(float(mean) for mean in np.round(np.sort(rng.uniform(0.08, 0.5, 24)), 3)[rng.permutation(24)]),
        Pareto(0.45, 3.0),
    )
    return checkout, newsletter, pictures


class Visitors:
    """The simulated visitors of a scenario: a function of the seed, the arm and the id of the decision, and so the same
    after a restart."""

    def __init__(self, scenario: DemoScenario, seed: int) -> None:
        self.scenario = scenario
        self._environment = Environment(scenario.problem, horizon=MAX_DELAY, seed=seed, run=0)

    def outcome(self, id: str, arm: int) -> tuple[float, float | None]:
        """(reward, delay in seconds) of a decision; the delay is None if it is never reported."""
        reward, delay = self._environment.pull(arm, zlib.crc32(id.encode()))
        if delay is None or (reward == 0.0 and not self.scenario.reports_failure):
            return reward, None
        return reward, delay + self.chance(id, "moment")  # the fraction of a second

    def is_cancelled(self, id: str) -> bool:
        """Whether a decision is cancelled."""
        return self.chance(id, "cancelled") < self.scenario.cancels

    def chance(self, id: str, what: str) -> float:
        """A pseudorandom number in [0, 1) for anything else."""
        return zlib.crc32(f"{what} {id}".encode()) / 2**32
