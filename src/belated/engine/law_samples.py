"""Samples of laws and problems, drawn as the engine draws them."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from belated.delays._base import DelayLaw
from belated.delays.fixed import Fixed
from belated.engine.environment import Environment
from belated.errors import InvalidParameter
from belated.kernel.law_table import BEYOND, NEVER
from belated.problem import Problem
from belated.rewards._base import RewardLaw, in_unit
from belated.rewards.constant import Constant
from belated.rewards.scaled import Scaled
from belated.validation import MAX_HORIZON, Domain, check_integer, check_number, is_number

_HORIZONS = (1 << 14, 1 << 18, 1 << 22, MAX_HORIZON)
"""Tables of laws end at the horizon: the next one is tried if a delay is beyond it."""

Sample = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""(rewards, delays)."""


def sample_problem(problem: Problem, arm: int, n: int, seed: int | None, round: int) -> Sample:
    """(rewards, delays) of n pulls of an arm; delays are inf for never."""
    n = check_integer("n", n, 0, 2**31)
    arm = check_integer("arm", arm, 0, problem.arms - 1)
    now = check_integer("round", round, 1, MAX_HORIZON)
    seed = secrets.randbits(64) if seed is None else seed
    rewards, delays = Environment(problem, horizon=_HORIZONS[0], seed=seed, run=0).pull_many(arm, n, now)
    for horizon in _HORIZONS[1:]:
        if not np.any(delays == BEYOND) or problem.delay_law(arm).longest <= _HORIZONS[0]:
            break
        try:
            rewards, delays = Environment(problem, horizon=horizon, seed=seed, run=0).pull_many(arm, n, now)
        except InvalidParameter:  # a table would be too long: what is beyond it stays there
            break
    return in_unit(rewards, problem.scale), np.where(delays == NEVER, np.inf, delays)


def sample_rewards(law: RewardLaw, n: int, seed: int | None) -> npt.NDArray[np.float64]:
    """n rewards of a law."""
    return sample_problem(_one_arm(law, Fixed(0)), 0, n, seed, 1)[0]


def sample_delays(law: DelayLaw, n: int, seed: int | None, reward: Any, round: int) -> npt.NDArray[np.float64]:
    """n delays of a law, for rewards of a law or for one reward; inf for never."""
    if reward is None and law.depends_on_reward:
        raise InvalidParameter(
            f"{type(law).__name__}: the delay depends on the reward; give sample(n, seed, reward=...) a reward, or a "
            "reward law, or use Problem.sample."
        )
    law_of_reward = as_reward_law(0.0 if reward is None else reward)
    return sample_problem(_one_arm(law_of_reward, law), 0, n, seed, round)[1]


def as_reward_law(reward: Any) -> RewardLaw:
    """A reward law as it is; one reward, in any unit, as the law that always gives it."""
    if isinstance(reward, RewardLaw):
        return reward
    if not is_number(reward):
        raise InvalidParameter(f"reward is {reward!r}; give a reward, or a reward law, such as Bernoulli(0.5).")
    value = check_number("reward", reward, Domain())
    if 0.0 <= value <= 1.0:
        return Constant(value)
    return Scaled(Constant(0.0), value, value + max(1.0, abs(value)))


def _one_arm(reward: RewardLaw, delay: DelayLaw) -> Problem:
    """A problem of one arm. Unbounded rewards need a range, which holds all but a few in a billion."""
    if all(map(math.isfinite, reward.support)):
        return Problem([reward], delay)
    return Problem([reward], delay, reward_range=reward.quantile_range(1.0 - 1e-9))
