"""Belated's side of the benchmark: task, delay laws and policies, through the public interface."""

from __future__ import annotations

import random
from typing import Any

from belated import Problem, simulate
from belated.delays import (
    ByReward,
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
    Uniform,
)
from belated.policies import (
    POLICIES,
    UCB,
    ImputedUCB,
    OptimisticPessimisticElimination,
    OptimisticUCB,
    PatientBandits,
    PendingUCB,
    PhasedElimination,
    PrefixUCB,
    SuccessiveElimination,
    ThompsonSampling,
)
from belated.rewards import Bernoulli
from task import TASK, spread


def problem(delays: Any = None, arms: int = TASK.arms) -> Any:
    """Return the task's arms, or so many spread alike, with the task's delay or another law."""
    means = TASK.means if arms == TASK.arms else spread(arms)
    return Problem([Bernoulli(mean) for mean in means], Fixed(TASK.delay) if delays is None else delays)


def two_delays() -> Any:
    """Return the task with another delay for one arm, so that feedback does not wait in a ring."""
    delays = [Fixed(TASK.delay + (arm == 0)) for arm in range(TASK.arms)]
    return Problem([Bernoulli(mean) for mean in TASK.means], delays)


def easy() -> Any:
    """Return two arms so far apart that an elimination is soon over."""
    return Problem([Bernoulli(0.25), Bernoulli(0.75)], Fixed(TASK.delay))


def late_successes(reward: float) -> Any:
    """Return a delay law for a reward: what went well is heard of later."""
    return Geometric(400) if reward > 0 else Fixed(0)


def laws() -> dict[str, Any]:
    """Return every delay law of the package, of the task's scale where it has one."""
    from scipy import stats  # slow to import, and nothing else here needs it

    draw = random.Random(0)
    sample = [int(draw.expovariate(1 / TASK.delay)) for _ in range(1000)]
    return {
        "Fixed(200)": Fixed(200),
        "Uniform(0, 400)": Uniform(0, 400),
        "Geometric(200)": Geometric(200),
        "Poisson(200)": Poisson(200),
        "Pareto(1.0)": Pareto(1.0),
        "Pareto(0.2)": Pareto(0.2),
        "LogNormal(200, 1)": LogNormal(200, 1.0),
        "PacketLoss(0.5)": PacketLoss(0.5),
        "Never()": Never(),
        "Mixture of three": Mixture([(0.5, Fixed(0)), (0.3, Geometric(400)), (0.2, Never())]),
        "Empirical(1000 values, never=0.1)": Empirical(sample, never=0.1),
        "FromScipy(expon)": FromScipy(stats.expon(scale=200)),
        "ByReward(table)": ByReward({0.0: Fixed(0), 1.0: Fixed(400)}),
        "ByReward(function)": ByReward(late_successes),
    }


def ucb() -> Any:
    """Return the task's policy."""
    return UCB(confidence=TASK.confidence)


def eliminations() -> dict[str, Any]:
    """Return the policies that must not be slower than UCB."""
    c = TASK.confidence
    return {
        "SE": SuccessiveElimination(confidence=c),
        "PSE": PhasedElimination(confidence=c),
        "OPSE": OptimisticPessimisticElimination(confidence=c),
    }


def limited() -> dict[str, tuple[Any, float]]:
    """Return the policies whose rounds have a limit under a fixed delay, in nanoseconds."""
    c = TASK.confidence
    return {
        "Thompson": (ThompsonSampling(), 120.0),
        "Prefix-UCB": (PrefixUCB(confidence=c), 60.0),
        "Prefix-UCB spread": (PrefixUCB(confidence=c, spread=True), 60.0),
        "Pending-UCB": (PendingUCB(confidence=c), 100.0),
        "Imputed-UCB": (ImputedUCB(confidence=c), 100.0),
        "Imputed-UCB anytime": (ImputedUCB(confidence="anytime"), 100.0),
        "PatientBandits": (PatientBandits(alpha=0.5), 20.0),
    }


def written_in_c() -> list[Any]:
    """Return the policies that have a C program of their own."""
    c = TASK.confidence
    others = [PatientBandits(alpha=0.5), OptimisticUCB(confidence=c), ThompsonSampling()]
    return [*eliminations().values(), *others]


def everything() -> list[Any]:
    """Return one of every policy."""
    required: dict[str, Any] = {"PatientBandits": {"alpha": 0.5}}
    return [cls(**required.get(name, {})) for name, cls in POLICIES.items()]


def play(setting: Any, policies: list[Any], **options: Any) -> Any:
    """Simulate, on one core unless told otherwise."""
    return simulate(setting, policies, **{"seed": 0, "workers": 1, "progress": False, **options})
