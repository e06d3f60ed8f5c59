"""The reduction from a game without delays to one with packet loss, from the proof of Theorem 4."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from belated.errors import InvalidParameter
from belated.kernel.rng import check_seed
from belated.live.bandit import Bandit
from belated.policies import Policy
from belated.problem import Problem
from belated.theory.bound import check_horizon, check_problem
from belated.validation import Domain, check_number

_LEVEL = Domain(0, 1, open_low=True)


@dataclass(frozen=True)
class ReducedGame:
    """The outcome of one game of a reduction."""

    rounds: int
    """Rounds played without delays: floor(q T / 4)."""
    regret: float
    """Pseudo-regret of the learner without delays over these rounds."""
    lossy_regret: float
    """Pseudo-regret of the learner with packet loss over its T rounds."""
    bad: bool
    """Whether rounds had to be played at the end without loss; the probability is at most exp(-q T / 16)."""


class Reduction:
    """A learner for a game without delays, made from one for packet loss.

    The lossy learner plays T rounds. In each, with probability q, its arm is played in the real game and it observes
    the reward; otherwise the feedback is lost. The real game has floor(q T / 4) rounds. If it has not ended after
    floor(T (1 - q/4)) rounds of the lossy one, all further choices are played in it.

    The rounds of the real game are chosen by coins that do not depend on the arms, so that
    E[regret] <= q E[lossy regret] + 4: a lower bound without delays gives one for packet loss, larger by 1 / q."""

    def __init__(self, policy: Policy, q: float) -> None:
        if not isinstance(policy, Policy):
            raise InvalidParameter(f"reduction: policy is {policy!r}; give a policy, such as UCB().")
        self.policy = policy
        self.q = check_number("reduction: q", q, _LEVEL)

    def play(self, problem: Problem, horizon: int, *, seed: int = 0) -> ReducedGame:
        """Play one game. The delays of the problem are not used.

        Parameters
        ----------
        problem
            The problem.
        horizon
            T of the lossy learner.
        seed
            Determines all random draws.
        """
        check_problem(problem, uses_delays=False)
        total = check_horizon(horizon)
        rng = np.random.default_rng(np.random.SeedSequence(check_seed(seed), spawn_key=(0x5EDC,)))
        arms = [str(arm) for arm in range(problem.arms)]
        bandit = Bandit(arms, self.policy.for_horizon(total), seed=seed, reward_range=problem.scale)
        rounds = math.floor(self.q * total / 4.0)
        in_time = math.floor(total * (1.0 - self.q / 4.0))
        gaps = problem.gaps
        regret = lossy = 0.0
        played = 0
        bad = False
        for now in range(1, total + 1):
            decision = bandit.choose()
            arm = int(decision.arm)
            lossy += float(gaps[arm])
            observed = bool(rng.random() < self.q)
            late = now > in_time and played < rounds
            bad |= late
            if observed:
                bandit.observe(decision.id, _reward(problem, arm, rng))
            if played < rounds and (observed or late):
                regret += float(gaps[arm])
                played += 1
        return ReducedGame(rounds, regret, lossy, bad)

    def __repr__(self) -> str:
        return f"reduction({self.policy!r}, {self.q:g})"


def reduction(policy: Policy, q: float) -> Reduction:
    """Make the learner without delays that plays ``policy`` as if a share 1 - ``q`` of its feedback were lost.

    Parameters
    ----------
    policy
        The policy that plays with packet loss.
    q
        The share of feedback that it observes, a number in (0, 1].

    Examples
    --------
    >>> from belated import Problem
    >>> from belated.delays import Fixed
    >>> from belated.policies import SuccessiveElimination
    >>> from belated.rewards import Bernoulli
    >>> game = reduction(SuccessiveElimination(), 0.5)
    >>> played = game.play(Problem([Bernoulli(0.8), Bernoulli(0.2)], Fixed(0)), 400)
    >>> played.rounds, played.regret <= played.lossy_regret
    (50, True)
    """
    return Reduction(policy, q)


def _reward(problem: Problem, arm: int, rng: np.random.Generator) -> float:
    """Draw a reward of an arm by inverting its distribution function."""
    law = problem.rewards_on_scale[arm]
    u = rng.random()
    if law.atoms is not None:
        total = 0.0
        for value, probability in law.atoms.items():
            total += probability
            if u < total:
                return float(value)
        return float(next(reversed(law.atoms)))
    low, high = problem.scale
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (low, middle) if float(law.cdf(middle)) >= u else (middle, high)
    return high
