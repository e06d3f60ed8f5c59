"""What every registered policy does in a few games, to the last bit, as plain data.

``python transcript.py`` writes it as JSON: run it with and without ``NUMBA_DISABLE_JIT=1`` and compare.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from belated import Bandit, Problem, simulate
from belated.delays import ByReward, Empirical, Fixed, FromScipy, Geometric, LogNormal, Mixture, Never, Pareto, Poisson
from belated.engine.environment import Environment
from belated.policies import Policy
from belated.rewards import Bernoulli, Beta, Categorical, Constant, Uniform
from support.policies import every_variant
from support.problems import choices_of

HORIZON = 160
SEED = 2**65 + 12
COUNTS = ("pulls", "observed", "in_flight", "lost", "eliminated_at")

PLAYERS: list[Policy] = every_variant()


def games() -> list[Problem]:
    """Every law at least once; the gaps of a game differ, so that its curve tells every choice."""
    from scipy.stats import expon

    by_reward = ByReward(lambda reward: Fixed(20) if reward > 0.5 else Geometric(3))
    some = [
        Bernoulli(0.55),
        Beta(2.0, 3.0),
        Uniform(0.1, 0.6),
        Categorical([0.1, 0.25, 1.0], [0.3, 0.5, 0.2]),
        Constant(0.5),
    ]
    late = [
        Pareto(0.5),
        by_reward,
        LogNormal(5.0, 1.0),
        Mixture([(2, Poisson(7)), (1, Never())]),
        Empirical([0, 3, 40], 0.1),
    ]
    many = Problem([Bernoulli(0.3 + 0.0061 * arm) for arm in range(70)], FromScipy(expon(scale=30)))
    return [Problem(some, late), Problem([Bernoulli(0.4), Bernoulli(0.6)], Fixed(12)), many]


def live(problem: Problem, policy: Policy, draws: Environment) -> dict[str, Any]:
    """A live bandit that is told every answer in the order of arrival, then of the pulls."""
    bandit = Bandit([str(arm) for arm in range(problem.arms)], policy, seed=SEED)
    due: dict[int, list[tuple[int, float]]] = {}
    pulls = [0] * problem.arms
    choices = []
    for now in range(1, HORIZON + 1):
        for number, reward in due.pop(now - 1, []):
            bandit.observe(number, reward)
        decision = bandit.choose()
        arm = int(decision.arm)
        reward, delay = draws.pull(arm, pulls[arm], now)
        pulls[arm] += 1
        choices.append(arm)
        if delay is not None:
            due.setdefault(now + delay, []).append((decision.id, reward))
    bounds = [(arm.lower.hex(), arm.upper.hex(), arm.eliminated_at) for arm in bandit.summary()]
    return {"choices": choices, "bounds": bounds}


def simulated(problem: Problem) -> list[dict[str, Any]]:
    """Two runs of the engine for each policy, the first of which is the live bandit's."""
    result = simulate(problem, PLAYERS, horizon=HORIZON, runs=2, seed=SEED, checkpoints=HORIZON, workers=1)
    found = []
    for number in range(len(PLAYERS)):
        counts = {name: getattr(result, name)[number].tolist() for name in COUNTS}
        curves = result.curves[number]
        bits = [value.hex() for value in curves.ravel().tolist()]
        found.append({"choices": choices_of(problem, curves[0]), "curves": bits, **counts})
    return found


def transcript() -> dict[str, Any]:
    """Every game of every policy, in the engine and live; then live bandits that do not know the horizon."""
    told, untold = {}, {}
    for number, problem in enumerate(games()):
        draws = Environment(problem, horizon=HORIZON, seed=SEED, run=0)
        for policy, engine in zip(PLAYERS, simulated(problem), strict=True):
            name = f"game {number}, {policy}"
            told[name] = {"live": live(problem, policy.for_horizon(HORIZON), draws), "simulated": engine}
            if number == 0:
                untold[name] = live(problem, policy, draws)
    return {"told": told, "untold": untold}


if __name__ == "__main__":
    json.dump(transcript(), sys.stdout)
