"""Play problems with the GPU's kernel in numba's simulator, each thread a thread of Python; write the results of the
cases of these names to FILE: ``simulated_gpu.py FILE NAME ...``.

Run by tests/engine/test_gpu.py with NUMBA_ENABLE_CUDASIM=1 and NUMBA_DISABLE_JIT=1."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import scipy.stats as ss

from belated import Problem, Result, simulate
from belated.delays import Batch, ByReward, ByRound, Empirical, Fixed, Geometric, Mixture, Never, PacketLoss, Pareto
from belated.engine.gpu import kernel, launch, layout
from belated.policies import UCB, Arm, EliminationPolicy, OptimisticUCB, State, SuccessiveElimination, policy
from belated.rewards import Bernoulli, Beta, Constant, FromScipy, Scaled
from belated.rewards import Uniform as UniformReward
from belated.simulation import result_builder
from own_policies import Impatient
from support.policies import every_variant

EVERY: list[Any] = every_variant()
WITH_MEMORY = [each for each in EVERY if each.memory > 0]
"""Those with their own statistics for each arm, and PendingUCB for all arms together."""
PLAIN = [each for each in EVERY if isinstance(each, UCB | EliminationPolicy) and each.memory == 0]
"""UCB and elimination."""
TREES = [each for each in EVERY if isinstance(each, UCB | OptimisticUCB)]
BINARY = [Bernoulli(0.2), Bernoulli(0.8), Bernoulli(0.5)]
MANY = [Bernoulli(0.1 + 0.8 * (7 * arm % 11) / 11) for arm in range(70)]
RUNS = 10
"""The last block of threads is not full."""
TREE = {"horizon": 90, "runs": 3}
"""Arms of which each is pulled, and many again."""
OTHERS = [Constant(0.4), Beta(2.0, 3.0), UniformReward(0.1, 0.8)]


@policy
class LateElimination(SuccessiveElimination):
    """An elimination that looks at the round, and keeps its own count of answers."""

    label = "LateElimination"
    memory = 1

    @staticmethod
    def after_feedback(policy: Any, state: State, arm: Any, reward: Any, rank: Any, pulled_at: Any, now: Any) -> Any:
        state.memory[arm, 0] += 1.0 + 0.01 * (now - pulled_at) + 0.001 * rank

    @staticmethod
    def upper(policy: Any, arm: Arm) -> Any:
        return arm.total / max(arm.memory[arm.number, 0], 1.0) + 3.0 / arm.now


@policy
class Balanced(UCB):
    """Pulls the first arm while it has fewer answers than the second: counts are subtracted, and differ by less than
    zero."""

    label = "Balanced"

    @staticmethod
    def choose(policy: Any, state: State, now: Any) -> Any:
        return np.int64(0) if state.observed[0] - state.observed[1] < 0 else np.int64(now % 3)


OWN: list[Any] = [Impatient(), LateElimination(confidence=0.05), Balanced(confidence=1.0)]


def family(rng: np.random.Generator) -> Problem:
    """A problem for each run."""
    return Problem([Bernoulli(float(mean)) for mean in rng.uniform(0.2, 0.8, 3)], Fixed(7))


IN_EUROS = [
    Scaled(Bernoulli(0.3), 0, 80),
    Scaled(Beta(2.0, 3.0), -20, 60),
    FromScipy(ss.norm(30, 8)),
    FromScipy(ss.poisson(25)),
]

CASES: dict[str, tuple[Any, list[Any], dict[str, int]]] = {
    "ring": (Problem(BINARY, Fixed(9)), EVERY, {}),
    "ring, no delay": (Problem(BINARY, Fixed(0)), EVERY, {}),
    "ring, other rewards": (Problem(OTHERS, Fixed(9)), EVERY, {}),
    "ring, a problem for each run": (family, EVERY, {}),
    "ring, counts in 32 bits": (Problem(BINARY, Fixed(4)), EVERY, {"SHORT": 8}),
    "ring, nothing shared": (Problem(BINARY, Fixed(9)), EVERY, {"SHARED_BYTES": 0}),
    "other units": (
        Problem(IN_EUROS, ByReward(lambda euros: Fixed(abs(int(euros)) % 9)), reward_range=(-20, 90)),
        PLAIN[:2] + WITH_MEMORY[:1],
        {},
    ),
    "wheel": (Problem(BINARY, Geometric(8.0)), EVERY, {}),
    "wheel, other rewards": (Problem(OTHERS, Empirical([0, 3, 11], never=0.1)), PLAIN + WITH_MEMORY, {}),
    "wheel, several levels": (Problem(BINARY, Pareto(0.4)), EVERY, {"WHEEL_BITS": 2}),
    "lost": (Problem(BINARY, [PacketLoss(0.5), Never(), Fixed(3)]), PLAIN + WITH_MEMORY, {}),
    "by reward": (Problem(BINARY, ByReward({0.0: Fixed(20), 1.0: Geometric(3.0)})), PLAIN + WITH_MEMORY, {}),
    "mixture": (Problem(BINARY, Mixture([(0.5, Fixed(2)), (0.5, Never())])), PLAIN + WITH_MEMORY, {}),
    "batches": (Problem(BINARY, Mixture([(0.9, Batch(7, offset=3)), (0.1, Never())])), PLAIN + WITH_MEMORY, {}),
    "by round": (
        Problem(OTHERS, ByRound({1: Geometric(8.0), 20: Batch(9), 40: Pareto(0.4)}, drift=True)),
        PLAIN + WITH_MEMORY,
        {"WHEEL_BITS": 2},
    ),
    "by round and reward": (
        Problem(BINARY, ByRound({1: ByReward({0.0: Fixed(20), 1.0: Batch(10)}), 30: Fixed(1)})),
        PLAIN[:1] + WITH_MEMORY[:1],
        {},
    ),
    "several launches": (Problem(BINARY, Fixed(5)), PLAIN[:2] + WITH_MEMORY, {"MOST_RUNS": 8}),
    "a tree of arms": (Problem(MANY, Fixed(5)), TREES + PLAIN[-1:] + WITH_MEMORY, TREE),
    "a tree of arms, nothing shared": (
        Problem(MANY, Geometric(4.0)),
        PLAIN[:1] + WITH_MEMORY,
        {**TREE, "SHARED_BYTES": 0},
    ),
    "own policies, ring": (Problem(BINARY, Fixed(9)), OWN, {}),
    "own policies, wheel": (Problem(BINARY, Geometric(8.0)), OWN, {}),
    "shuffled, ring": (Problem(BINARY, Fixed(9)), PLAIN, {}),
    "shuffled, wheel": (Problem(BINARY, [PacketLoss(0.5), Geometric(8.0), Fixed(3)]), PLAIN + WITH_MEMORY[:1], {}),
    "all threads add to one table": (Problem(BINARY, Fixed(5)), PLAIN[:2], {"PULL_BYTES": 0}),
    "threads share three tables": (Problem(BINARY, Geometric(8.0)), PLAIN[:2], {"PULL_BYTES": 3 * 8 * 4 * 3}),
    "summed up in blocks": (Problem(BINARY, Fixed(5)), PLAIN[:2], {"KEPT_NUMBERS": 1, "BLOCK": 4}),
}
SLOW = {
    "ring, no delay",
    "ring, other rewards",
    "ring, a problem for each run",
    "ring, nothing shared",
    "wheel, other rewards",
    "lost",
    "mixture",
    "by round and reward",
    "a tree of arms, nothing shared",
}
"""Those that differ from another case in little."""
SHUFFLED = "shuffled"
"""Cases of names that begin so are played with shuffled arms."""
FIELDS = ("pull_sums", "mean", "stderr", "final", "curves", "pulls", "observed", "lost", "in_flight", "eliminated_at")


def play(name: str, device: str) -> Result:
    """The result of a case."""
    problem, policies, settings = CASES[name]
    horizon, runs = settings.get("horizon", 48), settings.get("runs", RUNS)
    options = {"checkpoints": [1, 30, 31, 47], "shuffle": name.startswith(SHUFFLED), "device": device}
    return simulate(problem, policies, horizon=horizon, runs=runs, seed=5, **options)


if __name__ == "__main__":
    for module in (layout, launch, kernel):
        module.THREADS = 8  # type: ignore[attr-defined]
    results = {}
    file, *names = sys.argv[1:]
    for name in names:
        settings = CASES[name][2]
        before = {
            key: (module, getattr(module, key))
            for key in settings
            for module in (layout, launch, result_builder)
            if hasattr(module, key)
        }
        for key, (module, _) in before.items():
            setattr(module, key, settings[key])
        result = play(name, "cuda")
        results |= {f"{name}/{field}": getattr(result, field) for field in FIELDS}
        for key, (module, value) in before.items():
            setattr(module, key, value)
    np.savez(file, **results)
